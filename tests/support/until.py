"""Waiting for what another process or thread does, with an end: on a machine that is loaded, not on a clock."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], object], what: str, *, seconds: float = 120.0) -> None:
    """Returns when the condition holds; fails the test, with what was waited for, where it does not come about."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what} did not come about within {seconds:g} s"
        time.sleep(0.005)
