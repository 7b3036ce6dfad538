"""Records of the tables fourier and spectrogram."""

from __future__ import annotations

from recording import F, I, S, X, record

_INTEGERS = [S(I(1, 2, 3, 4)), S(X((2, 4), "bool"))]
_NORMS = ("forward", "backward", "ortho")
_KIND = {"fft": ("float64", "complex128"), "ifft": ("float64", "complex128"), "rfft": ("float64",), "irfft": ("complex128", "float64"),
         "hfft": ("complex128", "float64"), "ihfft": ("float64",)}  # fmt: skip

# What is transformed lies contiguous in PyTorch's results; NumPy's are laid out like any others.
for _name, _kinds in _KIND.items():
    _first = X((2, 4, 6), _kinds[0])
    _samples = [S(X((2, 4, 6), k)) for k in _kinds] + [
        S(X((3, 5), "float32" if k == "float64" else "complex64")) for k in _kinds
    ]
    _samples += (
        [S(X((2, 4, 6), k), n) for k in _kinds for n in (1, 3, 4, 9, 10)]
        + [S(_first, dim=0, n=3), S(_first, dim=1)]
        + [S(_first, norm=n) for n in _NORMS]
    )
    _samples += _INTEGERS + [S(X((2, 6), layout=layout)) for layout in ("transposed", "sliced", "expanded")]
    _wrong = [
        S(_first, n=0),
        S(_first, n=-1),
        S(_first, dim=5),
        S(_first, norm="x"),
        (X(()),),
        (X(0),),
        S(_first, n=2.0),
        ([1.0],),
        (X(3, "float16"),),
    ]
    if _name in ("rfft", "ihfft"):
        _wrong.append((X(3, "complex64"),))
    record(f"fft.{_name}", _samples, errors=_wrong)
    for _several in (_name + "n", _name + "2"):
        _sizes = [
            S(_first),
            S(_first, s=(3, 4)),
            S(_first, s=(5, 7)),
            S(_first, dim=(0, 2)),
            S(_first, dim=(2, 1)),
            S(_first, s=(-1, 5)),
            S(_first, s=(3,), dim=(1,)),
        ]
        _sizes += [S(X((2, 4, 6), k)) for k in _kinds] + [S(_first, norm=n) for n in _NORMS] + [S(X((4, 6), "int64"))]
        _wrong = [
            S(_first, s=(0, 2)),
            S(_first, s=(2,), dim=(0, 1)),
            S(_first, dim=(0, 0)),
            S(_first, dim=(0, 5)),
            S(_first, norm="x"),
            S(X((2, 4), "float16")),
        ]
        _wrong += (
            [S(X((2, 3), _kinds[0]), s=(2, 2, 2)), S(X((2, 3), _kinds[0]), s=()), (X(()),)]
            if _several.endswith("n") and _name not in ("fft", "ifft")
            else []
        )
        record(f"fft.{_several}", _sizes, errors=_wrong)
record(
    "fft.fftshift", S(X((2, 3, 5))), S(X((4, 5)), 1), S(X((4, 5), "complex128"), (0, 1)), errors=[(X(()),), (X(3), 2)]
)
record("fft.ifftshift", S(X((2, 3, 5))), S(X((4, 5)), 1), errors=[(X(()),)])
_COUNTS = [S(4), S(5), S(1), S(5, 0.3), S(4, dtype="dtype:float64")]
record("fft.fftfreq", _COUNTS, errors=[(-1,), (2.0,), S(4, dtype="dtype:int64")])
record("fft.rfftfreq", _COUNTS, errors=[(2.0,), S(4, dtype="dtype:int64")])

# ----- Spectrograms ---------------------------------------------------------------------------------------------------

_W = X(8, low=0.5, high=1.5)
_YES = {"return_complex": True}
record(
    "stft",
    S(X(30), 8, window=_W, **_YES), S(X((2, 30)), 8, 3, window=_W, **_YES), S(X(30), 8, window=_W, return_complex=False), S(X(30), 8, window=_W, center=False, **_YES),
    S(X(30), 8, win_length=5, window=X(5), **_YES), S(X(30), 8, window=_W, normalized=True, **_YES), S(X(30), 8, window=_W, onesided=False, **_YES),
    S(X(30), 8, window=_W, pad_mode="constant", **_YES), S(X(30, "complex128"), 8, window=_W, pad_mode="constant"), S(X(30), 8, **_YES),
    S(X(30), 8, win_length=4, window=X(4), center=False, align_to_window=True, **_YES), S(X(30, "float32"), 8, window=X(8, "float32"), **_YES),
    errors=[
        S(X(30), 8), S(X(30), 0, **_YES), S(X(30), 100, center=False, **_YES), S(X(30), 8, hop_length=0, **_YES), S(X(30), 8, win_length=9, **_YES),
        S(X(30), 8, window=X(5), **_YES), S(X((2, 3, 30)), 8, **_YES), S(X(30, "int64"), 8, **_YES), S(X(30, "complex128"), 8, onesided=True, pad_mode="constant"),
        S(X(30), 8, align_to_window=True, **_YES),
    ],
)  # fmt: skip
_SPECTRUM = X((5, 16), "complex128")
record(
    "istft",
    S(_SPECTRUM, 8, window=_W), S(X((2, 5, 16), "complex128"), 8, window=_W), S(_SPECTRUM, 8, window=_W, length=40), S(_SPECTRUM, 8, window=_W, length=10),
    S(_SPECTRUM, 8, window=_W, center=False), S(_SPECTRUM, 8, window=_W, normalized=True), S(X((8, 16), "complex128"), 8, window=_W),
    S(X((8, 16), "complex128"), 8, window=_W, return_complex=True), S(_SPECTRUM, 8, win_length=6, window=X(6, low=0.5)), S(_SPECTRUM, 8),
    errors=[
        S(X((5, 16, 2)), 8), S(_SPECTRUM, 16), S(_SPECTRUM, 8, 9), S(_SPECTRUM, 8, win_length=9), S(_SPECTRUM, 8, onesided=False), S(_SPECTRUM, 8, return_complex=True),
        S(_SPECTRUM, 8, window=X(5)), S(_SPECTRUM, 8, window=F([0.0] * 8)), S(X((5, 0), "complex128"), 8),
    ],
)  # fmt: skip
