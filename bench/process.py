"""weft as a process of its own: how it is started, what it cost, where the benchmarks find the other parts."""

from __future__ import annotations

import contextlib
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WEFT = [sys.executable, "-m", "weft"]
"""The command of this source tree. ``--weft`` of the benchmarks names another one, to compare two versions."""
SCRIPT = [str(ROOT / "weft")]
"""The same as people start it: what comes before Python, and makes it start sooner, belongs to what a crawl costs."""


def use_source_tree() -> None:
    """Lets the benchmarks import weft and the servers of its tests from this tree, installed or not."""
    for folder in ("tests/support", "src"):
        if str(ROOT / folder) not in sys.path:
            sys.path.insert(0, str(ROOT / folder))


def environment(bytecode: Path | None = None) -> dict[str, str]:
    """The environment for weft: this source tree, no proxy, plain output.

    ``bytecode`` is a folder for compiled modules. An installed program has them; a source tree on a machine where
    Python may not write them would be compiled again at every start, which is not what is measured.
    """
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    if bytecode is not None:
        kept.pop("PYTHONDONTWRITEBYTECODE", None)
        kept["PYTHONPYCACHEPREFIX"] = str(bytecode)
    return {**kept, "PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1"}


def teller(json: bool) -> Callable[[str], None]:
    """Says something to people; on stderr where the output is JSON, for machines."""

    def say(text: str) -> None:
        print(text, file=sys.stderr if json else sys.stdout, flush=True)

    return say


def command_of(text: str | None, own: Sequence[str] = WEFT) -> list[str]:
    """The words of ``--weft``; without it, the command of this tree."""
    return shlex.split(text) if text else list(own)


def start(words: Sequence[str], log: Path, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """A running command at the head of a process group of its own; what it says is appended to ``log``."""
    with log.open("ab") as file:
        return subprocess.Popen(
            words, env=env or environment(), stdin=subprocess.DEVNULL, stdout=file, stderr=file, start_new_session=True
        )


def working_folder(prefix: str, inside: Path | None) -> Path:
    """An empty folder, inside one that is made if need be; by default where the system has its temporary ones."""
    if inside is not None:
        inside.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=prefix, dir=inside))


class Cost(NamedTuple):
    """What a command used, of itself and of all processes that it waited for."""

    exit_code: int
    cpu_s: float  # user and system
    wall_s: float
    peak_b: int  # the largest of its processes
    waited_s: float = 0.0  # how long it could have run and another program had the processor

    @property
    def own_s(self) -> float:
        """The time on a clock that stands still while other programs keep this one from running."""
        return self.wall_s - self.waited_s


def cost_of(words: Sequence[str], log: Path, env: dict[str, str] | None = None) -> Cost:
    """Runs a command to its end. Start-up is in the figures: they begin before the interpreter does."""
    began = time.perf_counter()
    child = start(words, log, env)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    wall_s = time.perf_counter() - began
    waited_s = _waited_s(child.pid)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)  # Popen must not wait for it again
    unit_b = 1 if sys.platform == "darwin" else 1024
    return Cost(child.returncode, used.ru_utime + used.ru_stime, wall_s, used.ru_maxrss * unit_b, waited_s)


def _waited_s(pid: int) -> float:
    """How long the process stood in the queue for a processor (its first thread); 0 where the system does not tell."""
    try:
        return int(Path(f"/proc/{pid}/schedstat").read_bytes().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def children_of(pid: int) -> list[int]:
    """The processes that a process, by any of its threads, has started and not yet buried."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            found += [int(word) for word in (task / "children").read_text(encoding="ascii").split()]
    return found


def family_of(pid: int) -> list[int]:
    """The process and all below it."""
    found = [pid]
    for parent in found:
        found += children_of(parent)
    return found


def cpu_s_of(pid: int) -> float:
    """CPU seconds, user and system, that a running process has used so far; ``OSError`` where it is gone."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def reading(folder: Path) -> contextlib.closing[sqlite3.Connection]:
    """The database of a crawl, read-only, to be left with ``with``."""
    return contextlib.closing(sqlite3.connect(f"{(folder / 'crawl.db').absolute().as_uri()}?mode=ro", uri=True))


def need_nginx(packages: Sequence[str] = (), *, otherwise: str = "") -> None:
    """Ends the program, saying what to install, where nginx or the pages of a Debian package are not there."""
    import nginx

    if nginx.program() is None:
        sys.exit(f"nginx is not installed: apt-get install nginx{otherwise}")
    unknown = [name for name in packages if name not in nginx.DOCUMENTATION]
    if unknown:
        sys.exit(f"unknown package {unknown[0]}; known are: {', '.join(nginx.DOCUMENTATION)}")
    missing = [name for name in packages if not Path(nginx.DOCUMENTATION[name].folder).is_dir()]
    if missing:
        sys.exit(f"not installed: apt-get install {' '.join(missing)}")
