"""What several processes give: the rate of a crawl with N of them beside that with one, for many hosts and for one.

    python bench/processes.py                     2 processes beside 1, five runs of each, taking turns
    python bench/processes.py --processes 4 --runs 3 --one postgresql-doc-15

Pages are Debian's documentation, served by nginx on the same machine. The web server takes CPU that weft could have
had, so the rate is pages / (wall - the server's CPU / cores). The ratio is that of the medians; the runs take turns.
Each line says how many cores weft and the server had: where others use the machine, the ratio says little.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from process import Cost, command_of, cost_of, environment, use_source_tree

use_source_tree()

import nginx  # noqa: E402  # it lies in the tests' folder

TARGET = 1.7
ONE = "libboost1.74-doc"
MANY = tuple(name for name in nginx.DOCUMENTATION if name != "nodejs-doc")  # its pages are megabytes each


@dataclass(frozen=True)
class Run:
    """One crawl."""

    processes: int
    pages: int
    wall_s: float
    cpu_s: float
    server_s: float
    rate: float  # pages / (wall - server / cores)


@dataclass(frozen=True)
class Web:
    """What is crawled: documentation packages, each a host."""

    name: str
    packages: tuple[str, ...]


class Bench:
    """Crawls one web from one nginx, again and again."""

    def __init__(self, web: Web, server: nginx.Nginx, weft: list[str], options: Sequence[str], place: Path) -> None:
        self._web = web
        self._server = server
        self._weft = weft
        self._options = list(options)
        self._place = place
        self._env = environment(place / "bytecode")

    def run(self, processes: int) -> Run:
        folder = self._place / "crawl"
        shutil.rmtree(folder, ignore_errors=True)
        seeds = [self._server.at(nginx.DOCUMENTATION[name].start, host_of(name)) for name in self._web.packages]
        words = [*self._weft, "crawl", *seeds, "-o", str(folder), "--resolve", "*.test=127.0.0.1", *self._options]
        before_s = _cpu_of_family(self._server.pid)
        cost = self._checked(
            cost_of([*words, "--processes", str(processes), "--quiet"], self._place / "log", self._env)
        )
        server_s = _cpu_of_family(self._server.pid) - before_s
        pages = _pages_in(folder)
        rate = pages / (cost.wall_s - server_s / cores())
        return Run(processes, pages, cost.wall_s, cost.cpu_s, server_s, rate)

    def _checked(self, cost: Cost) -> Cost:
        if cost.exit_code != 0:
            said = (self._place / "log").read_text(encoding="utf-8", errors="replace")
            sys.exit(f"exit code {cost.exit_code}: {said[-2000:]}")
        return cost


def host_of(package: str) -> str:
    return f"{package.replace('.', '-')}.test"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_of_family(pid: int | None) -> float:
    """CPU seconds that a process and its children have used so far."""
    if pid is None:
        return 0.0
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return sum(map(_cpu_of, [str(pid), *children]))


def _cpu_of(pid: str) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _pages_in(folder: Path) -> int:
    from weft.derive.read import StoredCrawl

    with StoredCrawl(folder) as stored:
        return stored.status().pages


def measure(web: Web, args: argparse.Namespace, say: Callable[[str], None]) -> dict[str, object]:
    """The runs of one web, and the ratio of their rates."""
    options = ["--delay", "0", "--workers", str(args.workers), "--per-host", str(args.per_host), *args.option]
    folders = {host_of(name): nginx.DOCUMENTATION[name].folder for name in web.packages}
    runs: list[Run] = []
    with tempfile.TemporaryDirectory(prefix="weft-processes-") as name, nginx.Nginx(folders) as server:
        bench = Bench(web, server, command_of(args.weft), options, Path(name))
        bench.run(args.processes)  # compiles, and fills the caches
        for _ in range(args.runs):
            for processes in (1, args.processes):
                runs.append(bench.run(processes))
                say(line_of(runs[-1]))
    rates = {n: statistics.median(run.rate for run in runs if run.processes == n) for n in (1, args.processes)}
    ratio = rates[args.processes] / rates[1]
    verdict = "met" if ratio >= TARGET else "MISSED"
    say(
        f"{web.name}: {rates[args.processes]:,.0f} pages/s with {args.processes} processes, {rates[1]:,.0f} with 1:"
        f" {ratio:.2f} times (goal with 2 on 2 cores: {TARGET}, {verdict})"
    )
    return {"web": web.name, "ratio": ratio, "runs": [vars(run) for run in runs]}


def line_of(run: Run) -> str:
    return (
        f"{run.processes} processes: {run.pages:,} pages in {run.wall_s:.2f} s, {1000 * run.cpu_s / run.pages:.3f} CPU"
        f" seconds per 1,000, web server {run.server_s:.2f} s, {run.rate:,.0f} pages/s,"
        f" {(run.cpu_s + run.server_s) / run.wall_s:.2f} cores"
    )


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--processes", type=int, default=2, help="beside 1 (default: 2)")
    parser.add_argument("--runs", type=int, default=5, help="of each (default: 5)")
    parser.add_argument("--many", nargs="*", default=list(MANY), metavar="PACKAGE", help="the hosts of the first web")
    parser.add_argument("--one", default=ONE, metavar="PACKAGE", help=f"the host of the second (default: {ONE})")
    parser.add_argument("--only", choices=("many", "one"), help="just one of the two")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--option", action="append", default=[], help="one more word for `weft crawl`")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    if nginx.program() is None:
        sys.exit("nginx is not installed: apt-get install nginx")
    there = [name for name in args.many if Path(nginx.DOCUMENTATION[name].folder).is_dir()]
    webs = [Web(f"many hosts ({len(there)})", tuple(there)), Web(f"one host ({args.one})", (args.one,))]
    chosen = [web for web, kind in zip(webs, ("many", "one"), strict=True) if args.only in (None, kind)]
    missing = [name for web in chosen for name in web.packages if not Path(nginx.DOCUMENTATION[name].folder).is_dir()]
    if missing or not all(web.packages for web in chosen):
        sys.exit(f"not installed: apt-get install {' '.join(missing or MANY)}")
    found = [measure(web, args, _to_stderr if args.json else _to_stdout) for web in chosen]
    if args.json:
        print(json.dumps({"cores": cores(), "goal": TARGET, "webs": found}))
    return 0


def _to_stdout(text: str) -> None:
    print(text, flush=True)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
