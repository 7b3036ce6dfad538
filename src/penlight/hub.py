"""torch.hub: weights from URLs, and models from a directory with a `hubconf.py`."""

from __future__ import annotations

import builtins
import hashlib
import os
import re
import sys
import tempfile
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from typing import Any, BinaryIO

from .kernels.lazy import lazy_import

_serialization = lazy_import(globals(), "_serialization", ".serialization")


__all__ = ["download_url_to_file", "get_dir", "help", "list", "load", "load_state_dict_from_url", "set_dir"]

_dir: builtins.list[str | None] = [None]


HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")


def get_dir() -> str:
    """The directory of downloads: `$TORCH_HOME/hub`, by default `~/.cache/torch/hub`.

    Returns:
        the path of the directory.

    >>> torch.hub.get_dir().endswith("hub")
    True
    """
    if _dir[0] is not None:
        return _dir[0]
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Set the directory of downloads.

    Args:
        d: the directory; `~` is expanded.

    Returns:
        None

    >>> before = torch.hub.get_dir()
    >>> torch.hub.set_dir("/tmp/models")
    >>> torch.hub.get_dir()
    '/tmp/models'
    >>> torch.hub.set_dir(before)
    """
    _dir[0] = os.path.expanduser(d)


# ----- Progress -------------------------------------------------------------------------------------------------------


class _Faketqdm:
    """A progress bar with the methods that downloads use, for when the package tqdm is not installed.

    Args:
        total: the number of steps
        disable: print nothing
        unit: the name of a step

    >>> from penlight.hub import _Faketqdm
    >>> with _Faketqdm(total=4, disable=True) as bar:
    ...     bar.update(3)
    >>> bar.n
    3
    """

    def __init__(
        self, total: int | None = None, disable: bool = False, unit: Any = None, *args: Any, **kwargs: Any
    ) -> None:
        self.total, self.disable, self.n = total, disable, 0

    def update(self, n: int) -> None:
        """Advance by `n` steps."""
        self.n += n
        if not self.disable:
            sys.stderr.write(f"\r{100 * self.n / self.total:.1f}%" if self.total else f"\r{self.n} bytes")
            sys.stderr.flush()

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Without effect."""

    def close(self) -> None:
        """End the line."""
        if not self.disable:
            sys.stderr.write("\n")

    def __enter__(self) -> _Faketqdm:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


def __getattr__(name: str) -> Any:
    """`tqdm`, which programs import from here: the package's, or `_Faketqdm` if it is not installed."""
    if name != "tqdm":
        raise AttributeError(f"module 'torch.hub' has no attribute '{name}'")
    try:
        from tqdm import tqdm  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        return _Faketqdm
    return tqdm


# ----- Files ----------------------------------------------------------------------------------------------------------


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Download a file. The target is written completely or not at all.

    Args:
        url: the URL of the file.
        dst: the path to write it to.
        hash_prefix: the beginning of its SHA-256; other contents are refused.
        progress: whether to show the progress.

    Returns:
        None

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source, target = pathlib.Path(folder, "source"), pathlib.Path(folder, "target")
    ...     _ = source.write_text("weights")
    ...     torch.hub.download_url_to_file(source.as_uri(), str(target), progress=False)
    ...     target.read_text()
    'weights'
    """
    from urllib.request import Request, urlopen

    dst = os.path.expanduser(dst)
    folder = os.path.dirname(dst) or "."
    part = tempfile.NamedTemporaryFile(  # noqa: SIM115  (it is closed before it is renamed)
        dir=folder, prefix=os.path.basename(dst) + ".", suffix=".partial", delete=False
    )
    try:
        with part, urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source:
            digest = _copy(source, part, int(source.headers.get("Content-Length") or 0), progress)
        if hash_prefix is not None and not digest.startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest}")')
        os.replace(part.name, dst)
    finally:
        if os.path.exists(part.name):
            os.remove(part.name)


def _copy(source: Any, target: BinaryIO | Any, size: int, progress: bool) -> str:
    """Copy a stream and show the progress; returns the SHA-256 of the content."""
    digest = hashlib.sha256()
    with _Faketqdm(size, not progress) as bar:
        while block := source.read(1 << 17):
            target.write(block)
            digest.update(block)
            bar.update(len(block))
    return digest.hexdigest()


_download_url_to_file = download_url_to_file


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Load a file written by `torch.save` from a URL. It is downloaded once and kept in `model_dir`.

    Args:
        url: the URL of the file.
        model_dir: the directory to keep it in; None for `checkpoints` in `get_dir()`.
        map_location: as for `torch.load`.
        progress: whether to show the progress.
        check_hash: whether to compare the file's SHA-256 with the name, which ends in a hyphen and its first digits.
        file_name: the name of the local file; None for the one in the URL.
        weights_only: as for `torch.load`.

    Returns:
        the saved object.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "weights.pt")
    ...     torch.save({"w": torch.ones(2)}, path)
    ...     torch.hub.load_state_dict_from_url(path.as_uri(), model_dir=folder)
    {'w': tensor([1., 1.])}
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = file_name or os.path.basename(urlparse(url).path)
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found.group(1) if found else None, progress)
    return _serialization.load(path, map_location=map_location, weights_only=weights_only)


# ----- Models -----------------------------------------------------------------------------------------------------------


def _hubconf(repo_or_dir: str, source: str) -> Any:
    """The `hubconf.py` of a directory, as a module."""
    if source not in ("github", "local"):
        raise ValueError(f'Unknown source: "{source}". Allowed values: "github" | "local".')
    if source == "github":
        raise NotImplementedError(
            f"torch.hub of GitHub repositories is not available: Penlight does not fetch and run code. Clone {repo_or_dir} "
            'and give its directory with source="local"'
        )
    path = os.path.join(os.path.expanduser(repo_or_dir), "hubconf.py")
    if not os.path.exists(path):
        raise FileNotFoundError(f"[Errno 2] No such file or directory: '{path}'")
    sys.path.insert(0, os.path.dirname(path))
    try:
        spec = spec_from_file_location("hubconf", path)
        assert spec is not None and spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(os.path.dirname(path))
    return module


def _entry(module: Any, model: str) -> Any:
    if not isinstance(model, str):
        raise ValueError("Invalid input: model should be a string of function name")
    missing = [name for name in getattr(module, "dependencies", ()) if not _importable(name)]
    if missing:
        raise RuntimeError(f"Missing dependencies: {', '.join(missing)}")
    found = getattr(module, model, None)
    if found is None or not callable(found):
        raise RuntimeError(f"Cannot find callable {model} in hubconf")
    return found


def _importable(name: str) -> bool:
    return name == "torch" or find_spec(name) is not None


def load(
    repo_or_dir: str, model: str, *args: Any, source: str = "github", trust_repo: Any = "check",
    force_reload: bool = False, verbose: bool = True, skip_validation: bool = False, **kwargs: Any,
) -> Any:  # fmt: skip
    """Call an entry of a directory's `hubconf.py` (`source="local"`); repositories on GitHub are refused.

    Args:
        repo_or_dir: the directory.
        model: the name of the entry.
        *args: the arguments of the entry.
        source: "local"; "github" is refused.
        trust_repo, force_reload, verbose, skip_validation: accepted; a directory is read as it is.
        **kwargs: the keyword arguments of the entry.

    Returns:
        the result of the entry.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = "def linear(width):\\n    'A layer.'\\n    import penlight\\n    return penlight.nn.Linear(width, 1)"
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text(program)
    ...     torch.hub.load(folder, "linear", 3, source="local")
    Linear(in_features=3, out_features=1, bias=True)
    """
    return _entry(_hubconf(repo_or_dir, source.lower()), model)(*args, **kwargs)


def list(
    github: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check",
    verbose: bool = True,
) -> builtins.list[str]:  # fmt: skip
    """The entries of a repository; here the repository must be a directory.

    Args:
        github: the directory.
        force_reload, skip_validation, trust_repo, verbose: accepted; a directory is read as it is.

    Returns:
        their names.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = "def linear(width):\\n    'A layer.'\\n    import penlight\\n    return penlight.nn.Linear(width, 1)"
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text(program)
    ...     torch.hub.list(folder)
    ['linear']
    """
    module = _hubconf(github, "local" if os.path.isdir(github) else "github")
    return [name for name in dir(module) if callable(getattr(module, name)) and not name.startswith("_")]


def help(
    github: str, model: str, force_reload: bool = False, skip_validation: bool = False, trust_repo: Any = "check"
) -> Any:
    """The docstring of an entry of a repository; here the repository must be a directory.

    Args:
        github: the directory.
        model: the name of the entry.
        force_reload, skip_validation, trust_repo: accepted; a directory is read as it is.

    Returns:
        the docstring.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     program = "def linear(width):\\n    'A layer.'\\n    import penlight\\n    return penlight.nn.Linear(width, 1)"
    ...     _ = pathlib.Path(folder, "hubconf.py").write_text(program)
    ...     torch.hub.help(folder, "linear")
    'A layer.'
    """
    return _entry(_hubconf(github, "local" if os.path.isdir(github) else "github"), model).__doc__


def urlparse(url: str) -> Any:
    """The parts of a URL."""
    from urllib.parse import urlparse as parse

    return parse(url)


def _get_torch_home() -> str:
    """The directory that contains the hub directory."""
    return os.path.dirname(get_dir()) if os.path.basename(get_dir()) == "hub" else get_dir()
