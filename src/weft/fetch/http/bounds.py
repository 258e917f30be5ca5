"""How much at once: bytes a second, open files."""

from __future__ import annotations

import contextlib
from pathlib import Path

from weft.errors import WeftError

RESERVED_DESCRIPTORS = 48  # database, archive, logs, DNS, the event loop itself
NEEDED_DESCRIPTORS = 20  # with fewer not even one connection is left
MAX_CONNECTIONS = 20_000


class Rate:
    """A bucket of bytes that fills at a steady rate; a tenth of a second's worth may be spent at once."""

    def __init__(self, rate_b: int) -> None:
        self._rate_b = max(1, rate_b)
        self._burst_b = max(self._rate_b // 10, 1)
        self.left_b = float(self._burst_b)
        self.at_s: float | None = None
        self.spent = False

    def spend(self, size_b: int, now_s: float) -> bool:
        """Take bytes out; False where none are left."""
        self._fill(now_s)
        self.left_b -= size_b
        self.spent = self.left_b < 0
        return not self.spent

    def refill(self, now_s: float) -> bool:
        """Whether there is something to spend again."""
        self._fill(now_s)
        self.spent = self.left_b < 0
        return not self.spent

    def wait_s(self, now_s: float) -> float:
        """How long until there is."""
        return min(max(-self.left_b / self._rate_b, 0.005), 5.0)

    def _fill(self, now_s: float) -> None:
        if self.at_s is not None:
            self.left_b = min(self.left_b + (now_s - self.at_s) * self._rate_b, self._burst_b)
        self.at_s = now_s


def make_room_for_files(*, raise_limit: bool) -> None:
    """Makes sure that a crawl can open its files; ``WeftError`` says where the system allows too few.

    ``raise_limit``: the limit is raised to what the system lets this process have, which is for a program of its own
    to do, and not for a part of somebody else's.
    """
    limits = _limits()
    if limits is None:
        return
    soft, hard = limits
    wanted = MAX_CONNECTIONS + 2 * RESERVED_DESCRIPTORS
    if raise_limit and 0 <= soft < wanted:
        import resource

        soft = wanted if hard < 0 else min(hard, wanted)
        with contextlib.suppress(OSError, ValueError):  # not allowed after all: the old limit holds
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        soft, hard = _limits() or (soft, hard)
    if 0 <= soft < NEEDED_DESCRIPTORS:
        raise WeftError(
            f"only {soft} files may be open at once here, and a crawl needs {NEEDED_DESCRIPTORS}:"
            " raise the limit, for example with `ulimit -n 1024`"
        )


def descriptor_budget() -> int:
    """How many connections may be open at once under this process's limit for open files."""
    limits = _limits()
    if limits is None:
        return 1_000
    soft, _ = limits
    if soft < 0:  # without bound
        return MAX_CONNECTIONS
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        used = 16
    return max(1, min(soft - used - RESERVED_DESCRIPTORS, MAX_CONNECTIONS) if soft > 160 else (soft - used) // 3)


def _limits() -> tuple[int, int] | None:
    """The limits for open files, as they hold and as far as they can be raised; -1: none. None: no such system."""
    try:
        import resource
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = resource.RLIM_INFINITY
    return (-1 if soft == endless else soft, -1 if hard == endless else hard)
