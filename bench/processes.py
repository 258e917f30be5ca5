"""What several processes give: the rate of a crawl with N of them beside that with one, for many hosts and for one.

    python bench/processes.py                     2 processes beside 1, five runs of each and of the limit, taking turns
    python bench/processes.py --processes 4 --runs 3 --one postgresql-doc-15

Pages are Debian's documentation, served by nginx on the same machine. The web server takes CPU that weft could have
had, so the rate is pages / (wall - the server's CPU / cores). The ratio is that of the medians; the runs take turns.
Each line says how many cores weft and the server had: where others use the machine, the ratio says little.

What the machine itself allows is measured too: N whole crawls with one process each, at once, which share nothing but
the machine. No division of one crawl can do better than these.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from process import (
    SCRIPT,
    Cost,
    command_of,
    cost_of,
    cpu_s_of,
    environment,
    family_of,
    need_nginx,
    teller,
    use_source_tree,
)

use_source_tree()

import nginx  # noqa: E402  # it lies in the tests' folder

TARGET = 1.7
ONE = "libboost1.74-doc"
MANY = tuple(name for name in nginx.DOCUMENTATION if name != "nodejs-doc")  # its pages are megabytes each


@dataclass(frozen=True)
class Run:
    """One crawl, or several at once."""

    processes: int  # of each
    crawls: int
    pages: int  # of all, as is the rest
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

    def run(self, processes: int, crawls: int = 1) -> Run:
        """One crawl with so many processes, or several such crawls side by side."""
        before_s, began_s = _cpu_of_family(self._server.pid), time.perf_counter()
        with ThreadPoolExecutor(crawls) as threads:
            costs = list(threads.map(lambda number: self._crawl(processes, number), range(crawls)))
        wall_s = time.perf_counter() - began_s
        server_s = _cpu_of_family(self._server.pid) - before_s
        pages, cpu_s = (
            sum(_pages_in(self._folder(number)) for number in range(crawls)),
            sum(cost.cpu_s for cost in costs),
        )
        return Run(processes, crawls, pages, wall_s, cpu_s, server_s, pages / (wall_s - server_s / cores()))

    def _folder(self, number: int) -> Path:
        return self._place / f"crawl{number}"

    def _crawl(self, processes: int, number: int) -> Cost:
        folder = self._folder(number)
        shutil.rmtree(folder, ignore_errors=True)
        seeds = [self._server.at(nginx.DOCUMENTATION[name].start, host_of(name)) for name in self._web.packages]
        words = [*self._weft, "crawl", *seeds, "-o", str(folder), "--resolve", "*.test=127.0.0.1", *self._options]
        log = self._place / f"log{number}"
        cost = cost_of([*words, "--processes", str(processes), "--quiet"], log, self._env)
        if cost.exit_code != 0:
            sys.exit(f"exit code {cost.exit_code}: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        return cost


def host_of(package: str) -> str:
    return f"{package.replace('.', '-')}.test"


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _cpu_of_family(pid: int | None) -> float:
    """CPU seconds that a process and all below it have used so far."""
    return 0.0 if pid is None else sum(map(cpu_s_of, family_of(pid)))


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
        bench = Bench(web, server, command_of(args.weft, SCRIPT), options, Path(name))
        bench.run(args.processes)  # compiles, and fills the caches
        for _ in range(args.runs):
            for processes, crawls in ((1, 1), (args.processes, 1), (1, args.processes)):
                runs.append(bench.run(processes, crawls))
                say(line_of(runs[-1]))
    rates = {
        kind: statistics.median(run.rate for run in runs if kind_of(run) == kind) for kind in set(map(kind_of, runs))
    }
    one, several, apart = rates[1, 1], rates[args.processes, 1], rates[1, args.processes]
    ratio, limit = several / one, apart / one
    verdict = "met" if ratio >= TARGET else "MISSED"
    say(
        f"{web.name}: {several:,.0f} pages/s with {args.processes} processes, {one:,.0f} with 1:"
        f" {ratio:.2f} times (goal with 2 on 2 cores: {TARGET}, {verdict});"
        f" {args.processes} crawls with nothing in common, at once: {limit:.2f} times"
    )
    return {"web": web.name, "ratio": ratio, "limit": limit, "runs": [vars(run) for run in runs]}


def kind_of(run: Run) -> tuple[int, int]:
    return run.processes, run.crawls


def line_of(run: Run) -> str:
    who = f"{run.crawls} crawls" if run.crawls > 1 else f"{run.processes} processes"
    cores_used = (run.cpu_s + run.server_s) / run.wall_s
    return (
        f"{who}: {run.pages:,} pages in {run.wall_s:.2f} s, {1000 * run.cpu_s / run.pages:.3f} CPU seconds per 1,000,"
        f" web server {run.server_s:.2f} s, {run.rate:,.0f} pages/s, {cores_used:.2f} cores"
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
    need_nginx()
    there = [name for name in args.many if Path(nginx.DOCUMENTATION[name].folder).is_dir()]
    webs = [Web(f"many hosts ({len(there)})", tuple(there)), Web(f"one host ({args.one})", (args.one,))]
    chosen = [web for web, kind in zip(webs, ("many", "one"), strict=True) if args.only in (None, kind)]
    need_nginx([name for web in chosen for name in web.packages or MANY])
    found = [measure(web, args, teller(args.json)) for web in chosen]
    if args.json:
        print(json.dumps({"cores": cores(), "goal": TARGET, "webs": found}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
