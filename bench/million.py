"""A large crawl for real, over loopback: does the last page cost what the first did?

Crawls an invented web of so many pages with everything stored, and reads from the kernel, stretch by stretch, CPU,
memory (proportional, of all processes) and open files. On the way the crawl is killed with SIGKILL and resumed. At the
end it times ``status`` and ``why``, and watches the memory of ``pages`` and ``links`` as they print everything.

    python bench/million.py                  # a million pages: 25 GB of disk, an hour
    python bench/million.py --pages 20000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from process import (
    command_of,
    cost_of,
    cpu_s_of,
    environment,
    family_of,
    reading,
    start,
    teller,
    use_source_tree,
    working_folder,
)

HOSTS = 50
STRETCHES = 10


@dataclass(frozen=True)
class Moment:
    """What a crawl had used at one moment, all its processes together."""

    pages: int
    cpu_s: float
    memory_b: int
    files: int


def moment_of(pid: int, pages: int) -> Moment:
    cpu_s, memory_b, files = 0.0, 0, 0
    for one in family_of(pid):
        with contextlib.suppress(OSError, ValueError, IndexError):
            cpu_s += cpu_s_of(one)
            rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
            memory_b += int(rollup[rollup.index("\nPss:") + 5 :].split()[0]) * 1024
            files += sum(1 for _ in Path(f"/proc/{one}/fd").iterdir())
    return Moment(pages, cpu_s, memory_b, files)


class Watch:
    """One run of weft, looked at as it goes on."""

    def __init__(self, words: Sequence[str], folder: Path, log: Path) -> None:
        self._folder = folder
        self._child = start(words, log, environment(folder.with_name("bytecode")))
        self.began = time.perf_counter()

    @property
    def is_running(self) -> bool:
        return self._child.poll() is None

    @property
    def exit_code(self) -> int:
        return self._child.wait()

    def counted(self, what: str) -> int:
        """A number of the database; 0 while there is none."""
        try:
            with reading(self._folder) as db:
                row = db.execute(what).fetchone()
                return int(row[0] or 0) if row is not None else 0
        except sqlite3.Error:
            return 0

    def moment(self) -> Moment:
        return moment_of(self._child.pid, self.counted("SELECT value FROM counter WHERE name = 'completed'"))

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()


def stretches(watch: Watch, first: int, last: int, step: int) -> Iterator[Moment]:
    """A moment at the start, and one whenever so many more pages are in, until the last or the end of the crawl."""
    yield watch.moment()
    wanted = first + step
    while watch.is_running:
        now = watch.moment()
        if now.pages >= wanted and now.files:  # without, it ended while it was looked at
            yield now
            wanted = now.pages + step
            if now.pages >= last:
                return
        time.sleep(0.25)


def crawl(words: Sequence[str], again: Sequence[str], folder: Path, pages: int, say: Say) -> dict[str, object]:
    """Crawls to the end, with a kill on the way; what each stretch cost."""
    step = max(1, pages // STRETCHES)
    log = folder.with_name("log")
    say(f"{'pages':>12}{'CPU s/1,000':>14}{'MB':>8}{'files':>8}")
    watch = Watch(words, folder, log)
    rows = told(stretches(watch, 0, pages * 6 // 10, step), say)
    watch.kill()
    before = watch.counted("SELECT max(id) FROM visit")
    watch = Watch(again, folder, log)
    while watch.is_running and watch.counted("SELECT max(id) FROM visit") <= before:
        time.sleep(0.01)
    ready_s = time.perf_counter() - watch.began
    say(f"killed with {before:,} visits; resumed, and a page of the new run is in the database after {ready_s:.2f} s")
    rows += told(stretches(watch, watch.moment().pages, pages * 9, step), say)
    if watch.exit_code != 0:
        raise SystemExit(f"weft ended with {watch.exit_code}: {log.read_text()[-2000:]}")
    return {"stretches": rows, "ready_s": ready_s}


def told(moments: Iterator[Moment], say: Say) -> list[dict[str, float]]:
    rows = []
    before = next(moments)
    for now in moments:
        cost = (now.cpu_s - before.cpu_s) / max(1, now.pages - before.pages) * 1000
        rows.append({"pages": now.pages, "cpu_per_1000": cost, "memory_mb": now.memory_b / 1e6, "files": now.files})
        say(f"{now.pages:>12,}{cost:>14.3f}{now.memory_b / 1e6:>8.0f}{now.files:>8}")
        before = now
    return rows


def asked(weft: Sequence[str], folder: Path, say: Say) -> dict[str, float]:
    """Seconds of the quick commands, memory of the long ones."""
    with reading(folder) as db:
        (known,) = db.execute("SELECT text FROM url WHERE id = (SELECT max(id) / 2 FROM url)").fetchone()
    log, env = folder.with_name("log"), environment(folder.with_name("bytecode"))
    found: dict[str, float] = {}
    for name, words in (
        ("status", ["status", str(folder), "--json"]),
        ("why known", ["why", str(folder), known, "--json"]),
        ("why unseen", ["why", str(folder), f"{known.rstrip('/')}-nobody-links-to-this", "--json"]),
    ):
        cost_of([*weft, *words], log, env)  # once for the caches of the system
        cost = cost_of([*weft, *words], log, env)
        found[f"{name} s"] = cost.wall_s
        found[f"{name} cpu s"] = cost.cpu_s
        say(f"{name:>12}: {cost.wall_s:.2f} s, {cost.cpu_s:.2f} s of CPU")
    for name in ("pages", "links"):
        began = time.perf_counter()
        with subprocess.Popen([*weft, name, str(folder)], stdout=subprocess.PIPE, env=env) as child:
            assert child.stdout is not None
            lines = sum(block.count(b"\n") for block in iter(lambda: child.stdout.read(1 << 20), b""))
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        found[f"{name} mb"], found[f"{name} s"] = used.ru_maxrss / 1024, time.perf_counter() - began
        say(f"{name:>12}: {lines:,} lines, {found[f'{name} mb']:.0f} MB at most, {found[f'{name} s']:.0f} s")
    return found


Say = Callable[[str], None]


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=1_000_000, help="how many (default: a million)")
    parser.add_argument("--option", action="append", default=[], help="one more word for weft crawl, may be repeated")
    parser.add_argument("--folder", type=Path, help="where to work (default: a temporary folder); emptied at the end")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    use_source_tree()
    from weft.demo.invented import InventedWeb
    from weft.demo.server import serve_invented

    say = teller(args.json)
    place = working_folder("weft-million-", args.folder)
    weft, folder = command_of(args.weft), place / "crawl"
    try:
        with serve_invented(InventedWeb(1, HOSTS, args.pages), process=True) as served:
            polite = ["--delay", "0", "--workers", "64", "--per-host", "16", "--quiet", *args.option]
            words = [*weft, "crawl", *served.seeds, "-o", str(folder), "--resolve", served.resolve, *polite]
            found = crawl(words, [*weft, "resume", str(folder), "--quiet"], folder, args.pages, say)
        found |= asked(weft, folder, say)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    rows = found["stretches"]
    assert isinstance(rows, list)
    if len(rows) > 1:
        ratio = rows[-1]["cpu_per_1000"] / rows[0]["cpu_per_1000"]
        say(f"CPU per page in the last stretch: {ratio:.2f} of the first")
        found["ratio"] = ratio
    if args.json:
        print(json.dumps(found))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
