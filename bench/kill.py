"""Kills a crawl at random moments, resumes it until it ends by itself, and compares it with one left in peace.

    python bench/kill.py --runs 50

Each run crawls the same web into a new folder and is killed (SIGKILL) several times: while it starts, while it works,
while it ends. Afterwards

* pages, links and numbers must equal those of the undisturbed crawl,
* by the server's own log, nothing that was committed may have been asked again, and nothing twice between two kills,
* every WARC record must be sound, and belong to exactly one visit.

With ``--processes N --kill-workers`` single workers are killed too, while the crawl goes on.

Exit code 0 if every run is equal, else 1. ``--seed`` and ``--only`` repeat a run (up to the luck of timing).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from equal import Result, archive_faults, differences, final_urls, result_of
from process import children_of, command_of, need_nginx, start, teller, use_source_tree

use_source_tree()

LIVES_MAX = 60
LIFE_S = 300.0
SETTLE_S = 0.05  # what a killed process had sent reaches nginx's log within this
EARLY_S = 0.45  # interpreter, imports, folder, database, seeds
FROZEN_S = 1.2
SHOWN = 12
INTERRUPTED = 3
SIGNALS = {"kill": signal.SIGKILL, "term": signal.SIGTERM, "int": signal.SIGINT, "hup": signal.SIGHUP}
WAYS = (*SIGNALS, "file", "stop", "freeze", "worker")
# 130: Ctrl-C before there was a crawl to stop
CUT_SHORT = frozenset({INTERRUPTED, 130, *(-number for number in SIGNALS.values())})


@dataclass(frozen=True)
class Web:
    """A web under test: where to begin, and the URLs that its server was asked for, in order, from a number on.

    ``settle`` returns when all that a process had sent, before it died, is among them.
    """

    name: str
    seeds: list[str]
    options: list[str]
    asked: Callable[[int], list[str]]
    settle: Callable[[], None]


@contextlib.contextmanager
def invented_web(seed: int, hosts: int, pages: int) -> Iterator[Web]:
    """A made-up web with redirects, copies, robots.txt, sitemaps and broken pages, served by this process."""
    from weft.demo.invented import InventedWeb
    from weft.demo.server import serve_invented

    with serve_invented(InventedWeb(seed, hosts, pages), record=True) as served:

        def asked(first: int) -> list[str]:
            return [f"http://{one.host}:{served.port}{one.path}" for one in served.requests[first:]]

        def settle() -> None:
            # one loop serves all: the first answer says that it saw what was there, the second that it read it
            for _ in range(2):
                with socket.create_connection(("127.0.0.1", served.port)) as line:
                    line.sendall(b"NONE / HTTP/1.1\r\n\r\n")
                    while line.recv(4_096):
                        pass

        yield Web(f"an invented web of {pages} pages", served.seeds, ["--resolve", served.resolve], asked, settle)


@contextlib.contextmanager
def debian_web(package: str) -> Iterator[Web]:
    """The pages of a Debian documentation package, served by nginx."""
    import nginx

    need_nginx([package])
    place = nginx.DOCUMENTATION[package]
    with nginx.Nginx(place.folder) as server:

        def asked(first: int) -> list[str]:
            return [server.at(one.path) for one in server.log()[first:]]

        yield Web(package, [server.at(place.start)], [], asked, lambda: time.sleep(SETTLE_S))


# --- one run


class Moment(NamedTuple):
    """When a life ends: ``wait_s`` seconds after the server was asked for this share of all URLs.

    Of kind ``start`` it is seconds after its birth; the share only says after which other kills it comes.
    """

    name: str
    how: str
    wait_s: float
    share: float = 0.0


def moments(chance: random.Random, whole_s: float, kills: int, ways: Sequence[str]) -> list[Moment]:
    """Where a run's kills strike: two while it works at least, the others also while it starts and while it ends."""
    kinds = ["share", "share", *chance.choices(("start", "time", "share", "end"), (30, 20, 20, 30), k=kills - 2)]
    drawn: list[Moment] = []
    for kind in kinds:
        how = chance.choice(ways)
        if kind == "start":
            drawn.append(Moment(kind, how, chance.uniform(0.0, EARLY_S), chance.choice((0.0, 0.0, 0.5, 1.0))))
        elif kind == "time":
            drawn.append(Moment(kind, how, chance.uniform(0.2, max(0.4, 0.6 * whole_s))))
        elif kind == "share":
            drawn.append(Moment(kind, how, chance.uniform(0.0, 0.05), chance.random()))
        else:
            drawn.append(Moment(kind, how, chance.uniform(0.0, 0.35), 1.0))
    return sorted(drawn, key=lambda moment: moment.share)  # a smaller share would be reached at once after a larger


@dataclass
class Run:
    """What one disturbed crawl came to."""

    number: int
    kills: list[str] = field(default_factory=list)
    wall_s: float = 0.0
    asked: int = 0
    asked_twice: int = 0
    lost_at_once: int = 0  # answers not yet committed at a kill, at most
    again: list[str] = field(default_factory=list)  # what was asked twice without need
    faults: list[str] = field(default_factory=list)


class Victim:
    """Crawls one web again and again, each time into a new folder below ``place``."""

    def __init__(self, web: Web, weft: list[str], options: Sequence[str], place: Path, life_s: float = LIFE_S) -> None:
        self.web = web
        self.place = place
        self._life_s = life_s  # no life is longer: it hangs
        self._weft = weft
        self._options = [*web.options, *options]
        self.log = place / "weft.log"
        self.requests_at_once = 0  # what a worker may take with it, besides what it has not reported yet

    def words(self, folder: Path) -> list[str]:
        """What a user would type: crawl at first, resume as soon as there is a crawl."""
        if (folder / "crawl.toml").exists():
            return [*self._weft, "resume", str(folder), "--quiet"]
        return [*self._weft, "crawl", *self.web.seeds, "-o", str(folder), *self._options, "--quiet"]

    def undisturbed(self, folder: Path) -> tuple[Result, list[str], float]:
        """The crawl left in peace: its result, what it asked, how long it took."""
        before = len(self.web.asked(0))
        began = time.monotonic()
        code = start(self.words(folder), self.log).wait(LIFE_S)
        whole_s = time.monotonic() - began
        if code != 0:
            sys.exit(f"the undisturbed crawl ended with exit code {code}: {self.said()}")
        return result_of(folder), self.web.asked(before), whole_s

    def said(self) -> str:
        text = self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""
        return text[-2_000:].strip()

    def disturbed(self, folder: Path, run: Run, planned: list[Moment], peace: list[str]) -> None:
        """Lives and dies until the crawl ends by itself; notes what was asked twice."""
        wanted = set(peace)
        often = {url for url, times in Counter(peace).items() if times > 1}
        first = born = len(self.web.asked(0))
        done: set[str] = set()
        began = time.monotonic()
        for _ in range(LIVES_MAX):
            code = self._live(folder, planned, first, wanted, run)
            asked = self.web.asked(born)
            born += len(asked)
            again = sorted((set(asked) & done) - often)
            if again:
                run.again.append(f"{len(again)} URLs were asked again although they were committed: {again[:3]}")
            twice = [url for url, times in Counter(asked).items() if times > 1 and url not in often]
            lost_with_workers = self.requests_at_once * sum(kill.startswith("worker") for kill in run.kills)
            if len(twice) > lost_with_workers:
                run.again.append(f"{len(twice)} URLs were asked twice in one life: {twice[:3]}")
            if code == 0:
                break
            if code not in CUT_SHORT:
                run.faults.append(f"a life ended with exit code {code}: {self.said()[-600:]}")
                break
            done = final_urls(folder)
            lost = set(asked) - done - often
            run.lost_at_once = max(run.lost_at_once, len(lost))
            if lost and code == INTERRUPTED:
                run.faults.append(f"{len(lost)} URLs were asked and not kept by a clean stop: {sorted(lost)[:3]}")
        else:
            run.faults.append(f"it did not end within {LIVES_MAX} lives")
        run.wall_s = time.monotonic() - began
        everything = Counter(self.web.asked(first))
        run.asked = len(everything)
        run.asked_twice = sum(1 for url, times in everything.items() if times > 1 and url not in often)
        if "Traceback" in self.said():
            run.faults.append(f"it broke: {self.said()}")

    def _live(self, folder: Path, planned: list[Moment], first: int, wanted: set[str], run: Run) -> int:
        """One life, to the next moment that is planned or to its own end; its exit code."""
        born = time.monotonic()
        process = start(self.words(folder), self.log)
        try:
            while planned:
                moment = planned.pop(0)
                code = self._wait(process, moment, first, wanted)
                if code is not None:
                    return code
                run.kills.append(f"{moment.how} {moment.name} {time.monotonic() - born:.2f}")
                if self._strike(process, moment, folder):
                    break
            return process.wait(self._life_s)
        except subprocess.TimeoutExpired:
            run.faults.append(f"a life did not end within {self._life_s:.0f} s")
            self._signal(process, signal.SIGKILL)
            return process.wait()
        finally:
            self.web.settle()

    def _strike(self, process: subprocess.Popen[bytes], moment: Moment, folder: Path) -> bool:
        """Does what was planned; whether the life ends by it."""
        if moment.how == "worker":
            workers = workers_of(process.pid)
            if workers:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(random.choice(workers), signal.SIGKILL)
        elif moment.how == "freeze":
            self._signal(process, signal.SIGSTOP)
            time.sleep(FROZEN_S)
            self._signal(process, signal.SIGCONT)
        elif moment.how == "file":
            if not (folder / "crawl.db").exists():
                return False
            (folder / "STOP").touch()
        elif moment.how == "stop":
            start([*self._weft, "stop", str(folder)], Path(os.devnull)).wait(LIFE_S)
            return process.poll() is not None or (folder / "STOP").exists()
        else:
            self._signal(process, SIGNALS[moment.how])
        return moment.how not in ("freeze", "worker")

    def _signal(self, process: subprocess.Popen[bytes], number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)

    def _wait(self, process: subprocess.Popen[bytes], moment: Moment, first: int, wanted: set[str]) -> int | None:
        """Waits for the moment of a kill; the exit code, if the process ended before."""
        if moment.name != "start":
            missing = len(wanted) - int(moment.share * len(wanted))
            left = set(wanted)
            while len(left) > missing:
                new = self.web.asked(first)
                first += len(new)
                left.difference_update(new)
                try:
                    return process.wait(0.01)
                except subprocess.TimeoutExpired:
                    continue
        try:
            return process.wait(moment.wait_s)
        except subprocess.TimeoutExpired:
            return None


def workers_of(pid: int) -> list[int]:
    """The worker processes of a running crawl: the children of its fork server."""
    return [worker for fork_server in children_of(pid) for worker in children_of(fork_server)]


def check_faults(weft: list[str], folder: Path, log: Path) -> list[str]:
    """What `weft check` says."""
    code = start([*weft, "check", str(folder)], log).wait(LIFE_S)
    if code == 0:
        return []
    said = log.read_text(encoding="utf-8", errors="replace")[-800:].strip()
    return [f"weft check ends with exit code {code}: {said}"]


# --- the command line


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=50, help="how many disturbed crawls (default: 50)")
    parser.add_argument("--kills", type=int, default=5, help="at most so many kills a run (default: 5)")
    parser.add_argument(
        "--how",
        nargs="+",
        choices=WAYS,
        default=["kill"],
        help="what happens at the moments: signals, a file STOP, `weft stop`, SIGSTOP and SIGCONT, SIGKILL for a worker"
        " (default: kill)",
    )
    parser.add_argument("--seed", type=int, default=1, help="of the moments, and of the invented web")
    parser.add_argument("--only", type=int, help="repeat just this run")
    parser.add_argument("--site", choices=("invented", "nginx"), default="invented")
    parser.add_argument("--pages", type=int, default=600, help="of the invented web (default: 600)")
    parser.add_argument("--hosts", type=int, default=3, help="of the invented web (default: 3)")
    parser.add_argument("--package", default="postgresql-doc-15", help="what nginx serves")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--delay", default="0")
    parser.add_argument(
        "--option", action="append", default=[], help="one more word for `weft crawl`, as --option=WORD"
    )
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--kill-workers", action="store_true", help="kill single workers at half of the moments")
    parser.add_argument("--no-check", action="store_true", help="leave `weft check` out")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the crawls of runs that differ here")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    say = teller(args.json)
    options = ["--delay", args.delay, "--workers", str(args.workers), "--per-host", str(args.per_host), *args.option]
    options += ["--processes", str(args.processes), "--grace", "1m"]  # a stop is clean, however busy the machine is
    if args.kill_workers:
        args.how = [*args.how, *["worker"] * len(args.how)]
    weft = command_of(args.weft)
    site = invented_web(args.seed, args.hosts, args.pages) if args.site == "invented" else debian_web(args.package)
    runs: list[Run] = []
    with site as web, tempfile.TemporaryDirectory(prefix="weft-kill-") as name:
        victim = Victim(web, weft, options, Path(name))
        victim.requests_at_once = 2 * args.workers
        calm = Path(name) / "undisturbed"
        peace, asked, whole_s = victim.undisturbed(calm)
        faults = archive_faults(calm) + ([] if args.no_check else check_faults(weft, calm, victim.log))
        if faults:
            sys.exit("the undisturbed crawl is not sound: " + "; ".join(faults[:SHOWN]))
        say(
            f"{web.name}, undisturbed: {whole_s:.1f} s, {len(asked):,} requests,"
            f" {len(peace.pages):,} URLs known, {sum(map(len, peace.links.values())):,} links"
        )
        for number in [args.only] if args.only is not None else range(1, args.runs + 1):
            run = one_run(victim, weft, number, args, peace, asked, whole_s)
            runs.append(run)
            say(line_of(run))
            for fault in run.faults[:SHOWN]:
                say(f"    {fault}")
            if len(run.faults) > SHOWN:
                say(f"    and {len(run.faults) - SHOWN} more")
    bad = [run.number for run in runs if run.faults]
    say(summary_of(runs, bad, args.seed))
    if args.json:
        print(
            json.dumps(
                {
                    "site": web.name,
                    "seed": args.seed,
                    "equal": len(runs) - len(bad),
                    "runs": [vars(run) for run in runs],
                }
            )
        )
    return 1 if bad else 0


def one_run(
    victim: Victim,
    weft: list[str],
    number: int,
    args: argparse.Namespace,
    peace: Result,
    asked: list[str],
    whole_s: float,
) -> Run:
    chance = random.Random(f"{args.seed} {number}")
    folder = victim.place / f"run{number}"
    victim.log.unlink(missing_ok=True)
    run = Run(number)
    victim.disturbed(folder, run, moments(chance, whole_s, chance.randint(2, max(2, args.kills)), args.how), asked)
    run.faults += run.again
    if not run.faults:
        run.faults += differences(peace, result_of(folder)) + archive_faults(folder)
        if not args.no_check:
            run.faults += check_faults(weft, folder, victim.log)
    if run.faults and args.keep is not None:
        kept = args.keep / f"seed{args.seed}-run{number}"
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(folder, kept)
        if victim.log.exists():
            shutil.copyfile(victim.log, kept.with_suffix(".log"))
    shutil.rmtree(folder, ignore_errors=True)
    return run


def line_of(run: Run) -> str:
    verdict = "equal" if not run.faults else f"{len(run.faults)} FAULTS"
    return (
        f"run {run.number:3}: {verdict}, {len(run.kills)} kills ({', '.join(run.kills)} s), {run.wall_s:.1f} s,"
        f" {run.asked_twice} of {run.asked:,} URLs asked twice"
    )


def summary_of(runs: list[Run], bad: list[int], seed: int) -> str:
    kills = sum(len(run.kills) for run in runs)
    twice = sum(run.asked_twice for run in runs)
    lost = max((run.lost_at_once for run in runs), default=0)
    text = (
        f"{len(runs) - len(bad)} of {len(runs)} runs equal the undisturbed crawl; {kills} kills,"
        f" {twice:,} URLs asked twice, at most {lost:,} answers not committed at a kill"
    )
    return text if not bad else f"{text}\nrepeat with: --seed {seed} --only {bad[0]} --keep DIR"


if __name__ == "__main__":
    raise SystemExit(main())
