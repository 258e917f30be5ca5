"""What a crawl costs: CPU seconds per 1,000 pages with everything stored, beside a plain loop of the same parts.

    python bench/crawl.py                 three Debian documentation packages served by nginx: 5,500 pages
    python bench/crawl.py --profile       where the time goes, stage by stage (needs py-spy)
    python bench/crawl.py --instructions  instructions instead of seconds, the same in every run (needs valgrind)
    python bench/crawl.py --invented 20000    an invented web instead: for memory, and where there is no nginx

weft and the floor (`floor.py`: fetch, parse, resolve, keep nothing) take turns, so that both meet the same machine in
the same mood; the ratio of the two is what can be compared between machines. CPU is user and system time of all of
weft's processes from before the interpreter starts, read from the kernel when they have ended.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from process import (
    ROOT,
    SCRIPT,
    WEFT,
    Cost,
    command_of,
    cost_of,
    environment,
    need_nginx,
    reading,
    teller,
    use_source_tree,
)

use_source_tree()

PACKAGES = ("python3.11-doc", "postgresql-doc-15", "libboost1.74-doc")
TARGET_CPU_S = 0.45
TARGET_RATIO = 1.5
RATE_HZ = 250
SHOWN = 25


@dataclass(frozen=True)
class Web:
    """What is crawled."""

    name: str
    seeds: list[str]
    options: list[str] = field(default_factory=list)
    address: str = ""  # where all its hosts live, if their names do not say so


@contextlib.contextmanager
def debian_web(packages: Sequence[str], gzip: bool) -> Iterator[Web]:
    """The pages of Debian packages, each on a server of its own, as plain static files."""
    import nginx

    need_nginx(packages, otherwise=", or use --invented 5000")
    with contextlib.ExitStack() as running:
        seeds = []
        for name in packages:
            place = nginx.DOCUMENTATION[name]
            seeds.append(running.enter_context(nginx.Nginx(place.folder, gzip=gzip)).at(place.start))
        yield Web(" + ".join(packages), seeds)


@contextlib.contextmanager
def invented_web(pages: int) -> Iterator[Web]:
    """A made-up web of so many ordinary pages, served by a process of its own."""
    from weft.demo.invented import InventedWeb
    from weft.demo.server import serve_invented

    with serve_invented(InventedWeb(1, 5, pages), process=True) as served:
        yield Web(f"an invented web of {pages:,} pages", served.seeds, ["--resolve", served.resolve], "127.0.0.1")


# --- measuring


@dataclass(frozen=True)
class Measure:
    """One run of weft or of the floor over the whole web."""

    cpu_s: float
    wall_s: float
    peak_b: int
    pages: int  # HTML pages answered 200: what all figures are per
    requests: int
    links: int
    disk_b: int = 0

    @property
    def cpu_per_1000(self) -> float:
        return 1000 * self.cpu_s / self.pages

    @property
    def pages_per_s(self) -> float:
        return self.pages / self.wall_s


class Bench:
    """Measures weft and the floor on one web, again and again."""

    def __init__(self, web: Web, weft: list[str], options: Sequence[str], place: Path, gzip: bool) -> None:
        self.web = web
        self._weft = weft
        self._options = list(options)
        self._place = place
        self._gzip = gzip
        self._log = place / "log"
        self._urls = place / "urls"
        self._env = environment(place / "bytecode")

    def warm_up(self) -> None:
        """Lets Python compile what both use, so that the first run is like the others."""
        weft_words, floor_words = self.words(self._place / "warm"), self._floor_words(1)
        self._checked(cost_of([*weft_words, "--max-pages", "1"], self._log, self._env))
        self._urls.write_text(self.web.seeds[0], encoding="utf-8")
        self._checked(cost_of(floor_words, self._log, self._env))

    def words(self, folder: Path) -> list[str]:
        return [*self._weft, "crawl", *self.web.seeds, "-o", str(folder), *self.web.options, *self._options, "--quiet"]

    def weft(self) -> Measure:
        folder = self._place / "crawl"
        shutil.rmtree(folder, ignore_errors=True)
        cost = self._checked(cost_of(self.words(folder), self._log, self._env))
        pages = self._note_urls(folder)
        with reading(folder) as database:
            links = database.execute("SELECT value FROM counter WHERE name = 'links'").fetchone()[0]
            requests = database.execute("SELECT count(*) FROM visit").fetchone()[0]
        disk_b = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        return Measure(cost.cpu_s, cost.wall_s, cost.peak_b, pages, requests, links, disk_b)

    def _note_urls(self, folder: Path) -> int:
        """Leaves what weft has asked for to the floor; how many of those are pages."""
        with reading(folder) as database:
            urls = [row[0] for row in database.execute(_ASKED)]
            self._urls.write_text("\n".join(urls), encoding="utf-8")
            return int(database.execute(_PAGES).fetchone()[0])

    def floor(self, of: Measure, per_host: int) -> Measure:
        """The same URLs by the plain loop; ``of`` tells how many of them were pages."""
        self._log.write_bytes(b"")
        cost = self._checked(cost_of(self._floor_words(per_host), self._log, self._env))
        found = json.loads(self._log.read_text(encoding="utf-8"))
        self._log.write_bytes(b"")
        return Measure(cost.cpu_s, cost.wall_s, cost.peak_b, of.pages, found["pages"], found["links"])

    def _floor_words(self, per_host: int) -> list[str]:
        words = [sys.executable, str(ROOT / "bench" / "floor.py"), str(self._urls), "--per-host", str(per_host)]
        words += ["--gzip"] if self._gzip else []
        return words + (["--address", self.web.address] if self.web.address else [])

    def _checked(self, cost: Cost) -> Cost:
        if cost.exit_code != 0:
            sys.exit(f"exit code {cost.exit_code}: {self._log.read_text(encoding='utf-8', errors='replace')[-2000:]}")
        return cost

    def profile(self, py_spy: str, native: bool) -> Counter[str]:
        """Samples of one crawl by stack (frames from the outermost to the innermost, joined by ``;``)."""
        folder, raw = self._place / "crawl", self._place / "profile"
        shutil.rmtree(folder, ignore_errors=True)
        words = [py_spy, "record", "--rate", str(RATE_HZ), "--format", "raw", "--output", str(raw)]
        words += ["--native"] if native else []
        ended = subprocess.run([*words, "--", *self.words(folder)], env=self._env, capture_output=True, check=False)
        if not raw.exists():
            sys.exit(f"py-spy failed: {ended.stderr.decode(errors='replace')[-1000:]}")
        stacks: Counter[str] = Counter()
        for line in raw.read_text(encoding="utf-8", errors="replace").splitlines():
            stack, _, samples = line.rpartition(" ")
            stacks[stack] += int(samples)
        return stacks

    def instructions(self, valgrind: str, per_host: int) -> dict[str, float]:
        """Millions of instructions per page: of weft, of the floor; and of weft's start, which no page adds to."""
        counter = [valgrind, "--tool=callgrind", "--callgrind-out-file=/dev/null"]
        folder, slow = self._place / "crawl", ["--timeout", "600"]
        start = self._counted(
            [*counter, *self.words(self._place / "start"), *slow, "--max-depth", "0", "--sitemaps", "no"]
        )
        whole = self._counted([*counter, *self.words(folder), *slow])
        pages = self._note_urls(folder)
        floor = self._counted([*counter, *self._floor_words(per_host)])
        self._urls.write_text(self.web.seeds[0], encoding="utf-8")
        floor_start = self._counted([*counter, *self._floor_words(per_host)])
        return {
            "pages": pages,
            "start": start / 1e6,
            "weft": (whole - start) / 1e6 / pages,
            "floor": (floor - floor_start) / 1e6 / pages,
            "ratio": (whole - start) / (floor - floor_start),
        }

    def _counted(self, words: list[str]) -> int:
        self._log.write_bytes(b"")
        self._checked(cost_of(words, self._log, self._env))
        said = self._log.read_text(encoding="utf-8", errors="replace")
        found = re.search(r"Collected : (\d+)", said)
        return int(found[1]) if found else sys.exit(f"valgrind counted nothing: {said[-500:]}")


_PAGES = """
SELECT count(*) FROM page p JOIN visit v ON v.id = p.visit WHERE v.status = 200 AND v.type LIKE '%html%'
"""
_ASKED = """
SELECT u.text FROM visit v JOIN url u ON u.id = v.url WHERE v.purpose = 0 AND v.status IS NOT NULL ORDER BY v.id
"""


# --- where the time goes

STAGES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("sqlite", ("libsqlite3", "_sqlite", "sqlite3", "weft/db/connection.py")),
    ("curl", ("libcurl", "pycurl", "weft/fetch/")),
    (
        "warc",
        (
            "isal",
            "igzip",
            "weft/store/warc",
            "weft/store/warc/archive.py",
            "weft/store/warc/cdxj.py",
            "hashlib",
            "libcrypto",
        ),
    ),
    ("parse", ("turbohtml", "weft/parse/")),
    ("url", ("weft/url/", "can_ada", "url_py", "idna")),
    ("frontier", ("weft/frontier/", "weft/judge/")),
    ("store", ("weft/store/",)),
    ("start-up", ("importlib", "<frozen", "weft/cli/main.py", "weft/options/")),
    ("loop", ("weft/crawl/", "weft/workers/", "weft/run/", "weft/cli/screen.py", "asyncio")),
)


def stage_of(stack: str) -> str:
    """The stage a sample belongs to: that of the innermost frame that tells."""
    for frame in reversed(stack.split(";")):
        for stage, marks in STAGES:
            if any(mark in frame for mark in marks):
                return stage
    return "other"


_LINE = re.compile(r":\d+(?=\)$)")  # a function is one entry, whichever of its lines was met


def report_profile(stacks: Counter[str], say: Callable[[str], None]) -> dict[str, float]:
    """Prints the share of each stage, and its functions."""
    whole = sum(stacks.values()) or 1
    stages: Counter[str] = Counter()
    functions: dict[str, Counter[str]] = {}
    for stack, samples in stacks.items():
        stage = stage_of(stack)
        stages[stage] += samples
        functions.setdefault(stage, Counter())[_LINE.sub("", stack.rpartition(";")[2])] += samples
    for stage, samples in stages.most_common():
        say(f"{100 * samples / whole:5.1f} %  {stage}")
        for function, part in functions[stage].most_common(6):
            if part / whole >= 0.004:
                say(f"           {100 * part / whole:5.1f} %  {function}")
    return {stage: samples / whole for stage, samples in stages.items()}


# --- the command line


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--packages", nargs="+", default=list(PACKAGES), metavar="NAME", help="Debian packages to serve"
    )
    parser.add_argument("--invented", type=int, metavar="PAGES", help="an invented web of so many pages instead")
    parser.add_argument("--runs", type=int, default=3, help="how often each is measured (default: 3)")
    parser.add_argument("--gzip", action="store_true", help="let nginx compress")
    parser.add_argument("--workers", type=int, default=64)
    parser.add_argument("--per-host", type=int, default=16)
    parser.add_argument("--option", action="append", default=[], help="one more word for weft crawl, may be repeated")
    parser.add_argument("--no-floor", action="store_true", help="measure weft alone")
    parser.add_argument("--profile", action="store_true", help="sample one crawl with py-spy instead")
    parser.add_argument("--native", action="store_true", help="with --profile: look into C libraries too")
    parser.add_argument("--instructions", action="store_true", help="count instructions with valgrind instead (slow)")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    options = ["--delay", "0", "--workers", str(args.workers), "--per-host", str(args.per_host), "--processes", "1"]
    options += args.option
    site = invented_web(args.invented) if args.invented else debian_web(args.packages, args.gzip)
    with site as web, tempfile.TemporaryDirectory(prefix="weft-bench-") as name:
        own = WEFT if args.profile or args.instructions else SCRIPT  # tools look into one process
        bench = Bench(web, command_of(args.weft, own), options, Path(name), args.gzip)
        say = teller(args.json)
        bench.warm_up()
        if args.profile:
            shares = report_profile(bench.profile(_program("py-spy"), args.native), say)
            found: dict[str, object] = {"web": web.name, "stages": shares}
        elif args.instructions:
            found = {"web": web.name, **bench.instructions(_program("valgrind"), args.per_host)}
            say(
                f"{web.name}: {found['weft']:.2f} million instructions per page, {found['floor']:.2f} of the floor,"
                f" ratio {found['ratio']:.2f}; {found['start']:,.0f} million to start"
            )
        else:
            found = measured(bench, args.runs, None if args.no_floor else args.per_host, say)
    if args.json:
        print(json.dumps(found))
    return 0


def measured(bench: Bench, runs: int, per_host: int | None, say: Callable[[str], None]) -> dict[str, object]:
    """Measures in turns, prints the table, and returns what is in it."""
    wefts: list[Measure] = []
    floors: list[Measure] = []
    for number in range(1, runs + 1):
        wefts.append(bench.weft())
        text = f"run {number}: weft {wefts[-1].cpu_per_1000:.3f}"
        if per_host is not None:
            floors.append(bench.floor(wefts[-1], per_host))
            text += f", floor {floors[-1].cpu_per_1000:.3f}"
        say(f"{text} CPU seconds per 1,000 pages")
    first = wefts[0]
    say(f"\n{bench.web.name}: {first.pages:,} pages, {first.requests:,} requests, {first.links:,} links stored\n")
    rows = [row_of("weft", wefts)] + ([row_of("floor", floors)] if floors else [])
    say(f"{'':8}{'CPU s/1,000 pages':>28}{'pages/s':>10}{'wall s':>9}{'peak MB':>9}{'disk MB':>9}")
    for row in rows:
        spread = f"{row['cpu_per_1000']:.3f} ({row['least']:.3f} to {row['most']:.3f})"
        say(
            f"{row['name']:8}{spread:>28}{row['pages_per_s']:>10,.0f}{row['wall_s']:>9.2f}"
            f"{row['peak_mb']:>9.0f}{row['disk_mb']:>9.0f}"
        )
    found: dict[str, object] = {"web": bench.web.name, "pages": first.pages, "requests": first.requests, "rows": rows}
    if floors:
        ratios = [one.cpu_s / other.cpu_s for one, other in zip(wefts, floors, strict=True)]
        found |= {"ratio": statistics.median(ratios), "ratio_least": min(ratios), "ratio_most": max(ratios)}
        ratio = statistics.median(ratios)
        say(
            f"\nratio to the floor: {ratio:.2f} ({min(ratios):.2f} to {max(ratios):.2f}),"
            f" target: at most {TARGET_RATIO}: {'met' if ratio <= TARGET_RATIO else 'MISSED'}"
        )
    met = statistics.median(one.cpu_per_1000 for one in wefts) <= TARGET_CPU_S
    say(f"target: at most {TARGET_CPU_S:.2f} CPU seconds per 1,000 pages: {'met' if met else 'MISSED'}")
    return found | {"target": TARGET_CPU_S, "met": met, "target_ratio": TARGET_RATIO}


def row_of(name: str, measures: list[Measure]) -> dict[str, object]:
    """One line of the table: medians, and the spread of what matters."""
    costs = [one.cpu_per_1000 for one in measures]
    return {
        "name": name,
        "cpu_per_1000": statistics.median(costs),
        "least": min(costs),
        "most": max(costs),
        "pages_per_s": statistics.median(one.pages_per_s for one in measures),
        "wall_s": statistics.median(one.wall_s for one in measures),
        "peak_mb": max(one.peak_b for one in measures) / 1e6,
        "disk_mb": max(one.disk_b for one in measures) / 1e6,
    }


def _program(name: str) -> str:
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        sys.exit(f"{name} is not installed ({'pip' if name == 'py-spy' else 'apt-get'} install {name})")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
