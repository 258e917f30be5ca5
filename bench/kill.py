"""Kills a crawl at random moments, resumes it until it ends by itself, and compares it with one left in peace.

    python bench/kill.py --runs 50

Each run crawls the same web into a new folder and is killed (SIGKILL) several times: while it starts, while it works,
while it ends. Afterwards

* pages, links and numbers must equal those of the undisturbed crawl,
* by the server's own log, nothing that was committed may have been asked again, and nothing twice between two kills,
* every WARC record must be sound, and belong to exactly one visit.

Exit code 0 if every run is equal, else 1. ``--seed`` and ``--only`` repeat a run (up to the luck of timing).
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from process import command_of, start, use_source_tree

use_source_tree()

LIVES_MAX = 60
LIFE_S = 300.0
SETTLE_S = 0.05  # what a killed process had sent reaches the server's log within this
EARLY_S = 0.45  # interpreter, imports, folder, database, seeds
SHOWN = 12
VOLATILE = ("fetched_at", "server_date", "response_ms", "warc_file", "warc_offset", "found_on")
NUMBERS = ("known", "refused", "waiting", "running", "completed", "errors", "pages", "links", "hosts", "bytes", "bugs")


@dataclass(frozen=True)
class Web:
    """A web under test: where to begin, and the URLs that its server was asked for, in order, from a number on."""

    name: str
    seeds: list[str]
    options: list[str]
    asked: Callable[[int], list[str]]


@contextlib.contextmanager
def invented_web(seed: int, hosts: int, pages: int) -> Iterator[Web]:
    """A made-up web with redirects, copies, robots.txt, sitemaps and broken pages, served by this process."""
    from weft.demo.invented import InventedWeb
    from weft.demo.server import serve_invented

    with serve_invented(InventedWeb(seed, hosts, pages), record=True) as served:

        def asked(first: int) -> list[str]:
            return [f"http://{one.host}:{served.port}{one.path}" for one in served.requests[first:]]

        yield Web(f"an invented web of {pages} pages", served.seeds, ["--resolve", served.resolve], asked)


@contextlib.contextmanager
def debian_web(package: str) -> Iterator[Web]:
    """The pages of a Debian documentation package, served by nginx."""
    import nginx

    place = nginx.DOCUMENTATION[package]
    if nginx.program() is None:
        sys.exit("nginx is not installed: apt-get install nginx")
    if not Path(place.folder).is_dir():
        sys.exit(f"the pages of {package} are not installed: apt-get install {package}")
    with nginx.Nginx(place.folder) as server:

        def asked(first: int) -> list[str]:
            return [server.at(one.path) for one in server.log()[first:]]

        yield Web(package, [server.at(place.start)], [], asked)


# --- what a crawl has found


@dataclass(frozen=True)
class Result:
    """All that must not depend on kills: by URL and by source page, and the numbers of `weft status`."""

    pages: dict[str, dict[str, object]]
    links: dict[str, list[tuple[object, ...]]]
    numbers: dict[str, object]


def result_of(folder: Path) -> Result:
    from weft.derive.read import StoredCrawl

    pages: dict[str, dict[str, object]] = {}
    links: dict[str, list[tuple[object, ...]]] = {}
    with StoredCrawl(folder) as crawl:
        for page in crawl.pages(everything=True):
            fields = {name: getattr(page, name) for name in page.__struct_fields__ if name not in VOLATILE}
            assert page.key not in pages, f"two pages have the key {page.key}"
            pages[page.key] = fields
        for link in crawl.links():
            row = tuple(getattr(link, name) for name in link.__struct_fields__ if name != "source")
            links.setdefault(link.source, []).append(row)
        status = crawl.status()
    numbers = {name: getattr(status, name) for name in (*NUMBERS, "state", "stop_reason")}
    return Result(pages, links, numbers)


def differences(one: Result, other: Result) -> list[str]:
    """What differs, a line each; the first result is the undisturbed one."""
    found = [
        f"{name}: {one.numbers[name]!r} became {other.numbers[name]!r}"
        for name in one.numbers
        if one.numbers[name] != other.numbers[name]
    ]
    for key in sorted(one.pages.keys() | other.pages.keys()):
        before, after = one.pages.get(key), other.pages.get(key)
        if before is None or after is None:
            found.append(f"page {key} is {'new' if before is None else 'missing'}: {_short(before or after)}")
        elif before != after:
            fields = [f"{name} {before[name]!r} -> {after[name]!r}" for name in before if before[name] != after[name]]
            found.append(f"page {key}: {', '.join(fields)}")
    for source in sorted(one.links.keys() | other.links.keys()):
        if one.links.get(source) != other.links.get(source):
            found.append(f"links of {source}: {_link_difference(one.links.get(source), other.links.get(source))}")
    return found


def _short(page: dict[str, object] | None) -> str:
    names = ("url", "state", "reason", "status", "error", "depth")
    return ", ".join(f"{name} {page[name]!r}" for name in names if page is not None and page[name] is not None)


def _link_difference(one: list[tuple[object, ...]] | None, other: list[tuple[object, ...]] | None) -> str:
    if one is None or other is None:
        return f"{len(one or ())} became {len(other or ())}"
    for number, (before, after) in enumerate(itertools.zip_longest(one, other)):
        if before != after:
            return f"the one at {number} was {before}, is {after}"
    return "none"


# --- what the folder says between two lives


def final_urls(folder: Path) -> set[str]:
    """The URLs that are done for good by what is committed: they must not be asked again."""
    path = folder / "crawl.db"
    if not path.exists() or path.stat().st_size == 0:
        return set()
    # Read as the next run will find it, without touching it: opening the file itself would tidy up after the kill.
    with tempfile.TemporaryDirectory(prefix="weft-kill-") as place:
        for name in ("crawl.db", "crawl.db-wal"):
            if (folder / name).exists():
                shutil.copyfile(folder / name, Path(place) / name)
        with contextlib.closing(sqlite3.connect(Path(place) / "crawl.db")) as database:
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'visit'").fetchone() is None:
                return set()
            return {row[0] for row in database.execute(_FINAL)}


_FINAL = """
SELECT u.text FROM visit v JOIN url u ON u.id = v.url LEFT JOIN page p ON p.id = v.page AND v.purpose = 0
     LEFT JOIN sitemap s ON s.url = v.url AND v.purpose = 2
WHERE (v.purpose = 0 AND p.state IN ('C', 'E')) OR (v.purpose = 1 AND v.status < 500)
     OR (v.purpose = 2 AND s.state IN ('C', 'E'))
"""


def archive_faults(folder: Path) -> list[str]:
    """What is wrong with the WARC files and their index: each visit has its record, each record its visit."""
    from weft.errors import FolderError
    from weft.store.warc import read_record

    faults: list[str] = []
    places: dict[str, set[int]] = {}
    answers = 0
    with contextlib.closing(sqlite3.connect(f"{(folder / 'crawl.db').as_uri()}?mode=ro", uri=True)) as database:
        for (check,) in database.execute("PRAGMA integrity_check").fetchall():
            if check != "ok":
                faults.append(f"crawl.db: {check}")
        for url, status, digest, file, offset, length in database.execute(_RECORDS):
            places.setdefault(file, set()).add(offset)
            answers += status is not None
            try:
                record = read_record(folder / "warc" / file, offset, length)
            except FolderError as error:
                faults.append(str(error))
                continue
            if record.headers.get("WARC-Target-URI") != url:
                faults.append(f"{file}:{offset} is of {record.headers.get('WARC-Target-URI')}, not of {url}")
            if digest is not None and record.headers.get("WARC-Payload-Digest") != digest:
                faults.append(f"{file}:{offset} has another digest than the visit of {url}")
        unarchived = database.execute(
            "SELECT count(*) FROM page p JOIN visit v ON v.id = p.visit WHERE p.state = 'C' AND v.warc IS NULL"
        ).fetchone()[0]
        listed = {row[0] for row in database.execute("SELECT file FROM warc")}
    if unarchived:
        faults.append(f"{unarchived} completed pages have no record")
    on_disk = {path.name for path in (folder / "warc").glob("*.warc.gz")}
    if on_disk != listed:
        faults.append(f"WARC files on disk and in the database differ: {sorted(on_disk ^ listed)}")
    for file in sorted(on_disk):
        faults += _scan_faults(folder / "warc" / file, places.get(file, set()))
    index = (folder / "warc" / "index.cdxj").read_bytes().splitlines()
    entries = [line for line in index if not line.startswith(b"!")]
    if entries != sorted(entries):
        faults.append("index.cdxj is not sorted")
    if len(entries) != answers:
        faults.append(f"index.cdxj has {len(entries)} lines for {answers} answers")
    return faults


_RECORDS = """
SELECT u.text, v.status, v.digest, w.file, v.warc_offset, v.warc_length FROM visit v JOIN url u ON u.id = v.url
     JOIN warc w ON w.id = v.warc
"""


def _scan_faults(path: Path, known: set[int]) -> list[str]:
    """Reads a WARC file from its begin to its end, as any other program would."""
    if importlib.util.find_spec("warcio") is None:
        return []
    from warcio.archiveiterator import ArchiveIterator

    faults: list[str] = []
    found: set[int] = set()
    try:
        with path.open("rb") as file:
            records = ArchiveIterator(file, check_digests=True)
            for record in records:
                offset = records.get_record_offset()
                if record.rec_type in ("response", "revisit", "metadata"):
                    found.add(offset)
                record.content_stream().read()
                if record.digest_checker.passed is False:
                    faults.append(f"{path.name}:{offset}: {record.digest_checker.problems}")
    except Exception as error:  # whatever another program's reader says is a finding
        faults.append(f"{path.name}: {type(error).__name__}: {error}")
    if found != known:
        faults.append(
            f"{path.name}: {len(found - known)} records of no visit, {len(known - found)} visits of no record"
        )
    return faults


# --- one run


class Moment(NamedTuple):
    """When a life ends: ``wait_s`` seconds after the server was asked for this share of all URLs.

    Of kind ``start`` it is seconds after its birth; the share only says after which other kills it comes.
    """

    name: str
    wait_s: float
    share: float = 0.0


def moments(chance: random.Random, whole_s: float, kills: int) -> list[Moment]:
    """Where a run's kills strike: two while it works at least, the others also while it starts and while it ends."""
    kinds = ["share", "share", *chance.choices(("start", "time", "share", "end"), (30, 20, 20, 30), k=kills - 2)]
    drawn: list[Moment] = []
    for kind in kinds:
        if kind == "start":
            drawn.append(Moment(kind, chance.uniform(0.0, EARLY_S), chance.choice((0.0, 0.0, 0.5, 1.0))))
        elif kind == "time":
            drawn.append(Moment(kind, chance.uniform(0.2, max(0.4, 0.6 * whole_s))))
        elif kind == "share":
            drawn.append(Moment(kind, chance.uniform(0.0, 0.05), chance.random()))
        else:
            drawn.append(Moment(kind, chance.uniform(0.0, 0.35), 1.0))
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
    faults: list[str] = field(default_factory=list)


class Victim:
    """Crawls one web again and again, each time into a new folder below ``place``."""

    def __init__(self, web: Web, weft: list[str], options: Sequence[str], place: Path) -> None:
        self.web = web
        self.place = place
        self._weft = weft
        self._options = [*web.options, *options]
        self.log = place / "weft.log"

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
            moment = planned.pop(0) if planned else None
            code = self._live(folder, moment, first, wanted, run)
            asked = self.web.asked(born)
            born += len(asked)
            again = sorted((set(asked) & done) - often)
            if again:
                run.faults.append(f"{len(again)} URLs were asked again although they were committed: {again[:3]}")
            twice = [url for url, times in Counter(asked).items() if times > 1 and url not in often]
            if twice:
                run.faults.append(f"{len(twice)} URLs were asked twice in one life: {twice[:3]}")
            if code is not None:
                if code != 0:
                    run.faults.append(f"a life ended with exit code {code}: {self.said()[-600:]}")
                break
            done = final_urls(folder)
            run.lost_at_once = max(run.lost_at_once, len(set(asked) - done))
        else:
            run.faults.append(f"it did not end within {LIVES_MAX} lives")
        run.wall_s = time.monotonic() - began
        everything = Counter(self.web.asked(first))
        run.asked = len(everything)
        run.asked_twice = sum(1 for url, times in everything.items() if times > 1 and url not in often)

    def _live(self, folder: Path, moment: Moment | None, first: int, wanted: set[str], run: Run) -> int | None:
        """One life; its exit code, or None where it was killed."""
        born = time.monotonic()
        process = start(self.words(folder), self.log)
        try:
            if moment is None:
                return process.wait(LIFE_S)
            code = self._wait(process, moment, first, wanted)
            if code is not None:
                return code
        except subprocess.TimeoutExpired:
            run.faults.append(f"a life did not end within {LIFE_S:.0f} s")
        lived_s = time.monotonic() - born
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
        if code != -signal.SIGKILL:
            return code  # it ended in the very moment
        run.kills.append(f"{moment.name if moment else 'late'} {lived_s:.2f}")
        time.sleep(SETTLE_S)
        return None

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
    parser.add_argument("--seed", type=int, default=1, help="of the moments, and of the invented web")
    parser.add_argument("--only", type=int, help="repeat just this run")
    parser.add_argument("--site", choices=("invented", "nginx"), default="invented")
    parser.add_argument("--pages", type=int, default=600, help="of the invented web (default: 600)")
    parser.add_argument("--hosts", type=int, default=3, help="of the invented web (default: 3)")
    parser.add_argument("--package", default="postgresql-doc-15", help="what nginx serves")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--delay", default="0")
    parser.add_argument("--no-check", action="store_true", help="leave `weft check` out")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--keep", metavar="DIR", type=Path, help="keep the crawls of runs that differ here")
    parser.add_argument("--json", action="store_true", help="one JSON object at the end")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    say = _to_stderr if args.json else _to_stdout
    options = ["--delay", args.delay, "--workers", str(args.workers), "--per-host", str(args.per_host)]
    weft = command_of(args.weft)
    site = invented_web(args.seed, args.hosts, args.pages) if args.site == "invented" else debian_web(args.package)
    runs: list[Run] = []
    with site as web, tempfile.TemporaryDirectory(prefix="weft-kill-") as name:
        victim = Victim(web, weft, options, Path(name))
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
    victim.disturbed(folder, run, moments(chance, whole_s, chance.randint(2, max(2, args.kills))), asked)
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


def _to_stdout(text: str) -> None:
    print(text, flush=True)


def _to_stderr(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
