"""torch.mtia, which is refused when it is used. Penlight runs on the CPU."""

from __future__ import annotations

from penlight._refused import refuse

__getattr__ = refuse(__name__, "Penlight runs on the CPU.", "Use device='cpu'.")


def is_available() -> bool:
    """False: Penlight runs on the CPU."""
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialise."""
    return False


def device_count() -> int:
    """0: Penlight runs on the CPU."""
    return 0


def manual_seed(seed: int) -> None:
    """Accepted and without effect."""
    int(seed)


manual_seed_all = manual_seed
