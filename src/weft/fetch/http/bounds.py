"""How much at once: bytes a second, open files."""

from __future__ import annotations

from pathlib import Path

RESERVED_DESCRIPTORS = 48  # database, archive, logs, DNS, the event loop itself


class Rate:
    """A bucket of bytes that fills at a steady rate; a tenth of a second's worth may be spent at once."""

    def __init__(self, rate_b: int) -> None:
        self._rate_b = max(1, rate_b)
        self._burst_b = max(self._rate_b // 10, 1)
        self._left_b = float(self._burst_b)
        self._at_s: float | None = None
        self.spent = False

    def spend(self, size_b: int, now_s: float) -> bool:
        """Take bytes out; False where none are left."""
        self._fill(now_s)
        self._left_b -= size_b
        self.spent = self._left_b < 0
        return not self.spent

    def refill(self, now_s: float) -> bool:
        """Whether there is something to spend again."""
        self._fill(now_s)
        self.spent = self._left_b < 0
        return not self.spent

    def wait_s(self, now_s: float) -> float:
        """How long until there is."""
        return min(max(-self._left_b / self._rate_b, 0.005), 5.0)

    def _fill(self, now_s: float) -> None:
        if self._at_s is not None:
            self._left_b = min(self._left_b + (now_s - self._at_s) * self._rate_b, self._burst_b)
        self._at_s = now_s


def descriptor_budget() -> int:
    """How many connections may be open at once under this process's limit for open files."""
    try:
        import resource
    except ImportError:
        return 1_000
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return 20_000
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        used = 16
    return max(1, min(soft - used - RESERVED_DESCRIPTORS, 20_000) if soft > 160 else (soft - used) // 3)
