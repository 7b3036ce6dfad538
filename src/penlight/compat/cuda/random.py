"""torch.cuda's generators: seeds are accepted, and there is no state."""

from __future__ import annotations

from . import (
    get_rng_state_all as get_rng_state_all,
    manual_seed as manual_seed,
    manual_seed_all as manual_seed_all,
    seed as seed,
    seed_all as seed_all,
    set_rng_state as set_rng_state,
    set_rng_state_all as set_rng_state_all,
)
