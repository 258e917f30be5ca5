"""What the machine gives: processors, and memory taken by all of a crawl's processes."""

from __future__ import annotations

import contextlib
import gc
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import msgspec

from weft import native
from weft.spec import CrawlSpec

_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores() -> int:
    """How many processors this process may use at once."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        quota, period = _QUOTA.read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return cores
    return cores if quota == "max" else max(1, min(cores, round(int(quota) / int(period))))


def memory_b(others: Iterable[int], bound_b: float) -> int:
    """Memory of this process and of others, what they share counted once; 0 where the system does not tell.

    Less than ``bound_b`` need not be exact: it may have what they share once for each. That is known at once, where for
    an exact count the system looks at every page of memory that a process has.
    """
    pids = [os.getpid(), *others]
    resident_b = sum(map(_resident_b, pids))
    return resident_b if resident_b < bound_b else sum(map(_proportional_b, pids))


def share_of_memory(spec: CrawlSpec, processes: int) -> CrawlSpec:
    """The specification for one of so many processes: what answers may hold at once is divided among them."""
    limits = msgspec.structs.replace(spec.limits, max_memory_b=spec.limits.max_memory_b // processes)
    return msgspec.structs.replace(spec, limits=limits)


def settle_memory() -> None:
    """What is loaded now stays, and what pages take and free is kept for the next.

    Pages make no cycles worth looking for every few hundred objects.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 100)
    native.keep_freed_memory()


def give_memory_back() -> None:
    """Lets the system have what was freed, which the C library keeps otherwise; does nothing where there is no way."""
    import ctypes  # only when memory is short

    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)


def _resident_b(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_bytes().split()[1]) * mmap.PAGESIZE
    except OSError:  # no such process any more, or no such file here
        return 0


def _proportional_b(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # no such process any more, or no such file here
        return 0
    return 0
