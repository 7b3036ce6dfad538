"""How far a long run is."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterable

EVERY = 2000  # cases between two lines


def follow(what: str, findings: Iterable[str | None]) -> int:
    """Go through the findings of a run, None for a case without one, and print them.

    How many cases are done is printed now and then, and in the end, also when the run is stopped by Ctrl-C or SIGTERM.

    Returns:
        The number of cases with a finding.
    """
    done = count = 0
    began = time.monotonic()

    def state() -> str:
        spent = time.monotonic() - began
        return f"{done} {what}, {count} failures, {spent:.0f} s, {1000 * spent / max(done, 1):.1f} ms each"

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for found in findings:
            done += 1
            if found is not None:
                count += 1
                print(found, flush=True)
            if done % EVERY == 0:
                print(f"... {state()}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print("stopped")
    print(state(), flush=True)
    return count
