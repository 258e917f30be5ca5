"""weft beside other crawlers: the same pages from the same nginx in one run, each set up as its documentation advises.

    bench/compare                         installs the peers where they are missing, runs all, prints the table
    bench/compare --only weft wget2       these alone
    bench/compare --packages postgresql-doc-15 --runs 1

The pages are those of Debian packages, behind a robots.txt that forbids a part of each. What had to be found is known
from a walk of its own (``pages_to_find``), what was asked is read from nginx' log, and CPU (user and system time of all
processes, start-up included) and memory from the kernel. The programs take turns, so that all meet the same machine in
the same mood; compare ratios, not seconds.

The peers live in environments of their own in ``.venv-peers`` (``--place``); wget2 and HTTrack are Debian packages,
which are installed where this runs as root. Nothing here asks another address than 127.0.0.1.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin, urlsplit

from process import ROOT, SCRIPT, Cost, command_of, cost_of, environment, need_nginx, teller, use_source_tree

use_source_tree()

import nginx  # noqa: E402 - found only now

PACKAGES = ("python3.11-doc", "postgresql-doc-15", "libboost1.74-doc")
FORBIDDEN = {
    "python3.11-doc": "/whatsnew/",
    "postgresql-doc-15": "/release",
    "libboost1.74-doc": "/accumulators/",
    "a folder": "/private/",
}
"""The part of each package that its robots.txt forbids; of others, nothing."""

PEERS = ROOT / "bench" / "peers"


# --- who takes part


@dataclass(frozen=True)
class Crawler:
    """One program of the comparison."""

    name: str
    stores: str
    packages: tuple[str, ...] = ()  # of Python, in an environment of its own
    script: str = ""  # in bench/peers
    debian: str = ""
    words: Callable[[str, Sequence[str]], list[str]] | None = None  # folder and seeds to the words of a program
    exits: tuple[int, ...] = (0,)

    def command(self, place: Path, folder: str, seeds: Sequence[str]) -> list[str]:
        if self.words is not None:
            return self.words(folder, seeds)
        return [str(_python(place, self)), str(PEERS / self.script), folder, *seeds]


def _weft_words(weft: Sequence[str]) -> Callable[[str, Sequence[str]], list[str]]:
    options = ["--workers", "64", "--per-host", "16", "--delay", "0", "--processes", "1", "--sitemaps", "no", "--quiet"]
    return lambda folder, seeds: [*weft, "crawl", *seeds, "-o", f"{folder}/crawl", *options]


def _wget2_words(folder: str, seeds: Sequence[str]) -> list[str]:
    # Left to itself it fetches images, scripts and style sheets too; 0 is no bound for the depth.
    kept_out = "--ignore-tags=img,link,script,style,object,embed,source,video,audio,input,body/background"
    return ["wget2", "-r", "--level=0", "--max-threads=16", kept_out, "-nv", "--progress=none", "-P", folder, *seeds]


def _httrack_words(folder: str, seeds: Sequence[str]) -> list[str]:
    # -s2: robots.txt always; -p1: HTML only; -c16: connections; -A0, -%c0: no limits of its own on a local server.
    limits = ["--disable-security-limits", "-c16", "-A0", "-%c0", "-r9999", "-%v0"]
    stay = ["-*", *(f"+{urlsplit(seed).netloc}/*" for seed in seeds)]
    return ["httrack", *seeds, *stay, "-O", folder, "-s2", "-p1", "-q", "-I0", *limits]


def crawlers(weft: Sequence[str]) -> list[Crawler]:
    """All that can be compared, weft first."""
    return [
        Crawler(
            "weft", "every answer (WARC), every link with its anchor, all facts (SQLite), logs; resumable",
            words=_weft_words(weft),
        ),
        Crawler(
            "Scrapy, CrawlSpider", "URL, status and title (JSON lines)", ("scrapy", "uvloop", "selectolax"),
            "scrapy_crawlspider.py",
        ),
        Crawler(
            "Scrapy, lean on uvloop", "URL, status, number of links and title (lines)",
            ("scrapy", "uvloop", "selectolax"), "scrapy_lean.py",
        ),
        Crawler(
            "Crawlee for Python", "URL and title (a JSON file each), the queue", ("crawlee[parsel]",),
            "crawlee_parsel.py",
        ),
        Crawler("wget2", "the bodies as files", debian="wget2", words=_wget2_words, exits=(0, 8)),  # 8: some were 404
        Crawler("HTTrack", "the bodies as files, links rewritten", debian="httrack", words=_httrack_words),
        Crawler(
            "aiohttp + selectolax by hand", "URL, status, title, links with anchors (lines)",
            ("aiohttp", "selectolax", "uvloop"), "aiohttp_selectolax.py",
        ),
    ]  # fmt: skip


def _environment_of(place: Path, crawler: Crawler) -> Path:
    return place / "".join(letter if letter.isalnum() else "-" for letter in crawler.packages[0].partition("[")[0])


def _python(place: Path, crawler: Crawler) -> Path:
    return _environment_of(place, crawler) / "bin" / "python"


def install(crawler: Crawler, place: Path, say: Callable[[str], None]) -> str:
    """Makes a crawler ready; why it cannot take part, or nothing."""
    if crawler.debian and shutil.which(crawler.debian) is None:
        say(f"installing {crawler.debian} ...")
        words = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", crawler.debian]
        if os.geteuid() != 0 or subprocess.run(words, capture_output=True, check=False).returncode:
            return f"not installed: apt-get install {crawler.debian}"
    if crawler.packages and not (_environment_of(place, crawler) / "ready").exists():
        say(f"installing {', '.join(crawler.packages)} ...")
        folder = _environment_of(place, crawler)
        folder.parent.mkdir(parents=True, exist_ok=True)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "-q", *crawler.packages]
        for words in ([sys.executable, "-m", "venv", "--clear", str(folder)], pip):
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                return f"could not be installed: {done.stderr.strip().splitlines()[-1:]}"
        (folder / "ready").touch()
    return ""


def version_of(crawler: Crawler, place: Path) -> str:
    """The version as the program, or its package, tells it."""
    if crawler.packages:
        names = [package.partition("[")[0] for package in crawler.packages]
        ask = "import sys; from importlib.metadata import version; print(*(f'{n} {version(n)}' for n in sys.argv[1:]))"
        used = names if crawler.script != "scrapy_crawlspider.py" else names[:1]
        words = [str(_python(place, crawler)), "-c", ask, *used]
    elif crawler.debian:
        words = ["dpkg-query", "-W", "-f", "${Package} ${Version}", crawler.debian]
    else:
        words = crawler.command(place, "", [])
        words = [*words[: words.index("crawl")], "--version"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=environment())
    return done.stdout.strip() or "version unknown"


# --- what is crawled


class Package(NamedTuple):
    """A served package: where a crawl begins, what it must find there, and what it must not ask for."""

    name: str
    server: nginx.Nginx
    seed: str
    pages: frozenset[str]  # paths
    forbidden: str  # a prefix of paths; empty: nothing


@contextlib.contextmanager
def served(packages: Mapping[str, nginx.Documentation], place: Path) -> Iterator[list[Package]]:
    """The packages on servers of their own, each with a robots.txt."""
    with contextlib.ExitStack() as running:
        found = []
        for name, documentation in packages.items():
            folder = place / name
            folder.mkdir()
            for entry in Path(documentation.folder).iterdir():
                (folder / entry.name).symlink_to(entry)
            forbidden = FORBIDDEN.get(name, "")
            (folder / "robots.txt").unlink(missing_ok=True)
            (folder / "robots.txt").write_text(f"User-agent: *\nDisallow: {forbidden}\n", encoding="ascii")
            server = running.enter_context(nginx.Nginx(folder))
            pages = pages_to_find(server, documentation.start, forbidden)
            found.append(Package(name, server, server.at(documentation.start), pages, forbidden))
        yield found


_REFERENCES = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}


class _Links(HTMLParser):
    """The references of a document, as its author wrote them."""

    def __init__(self) -> None:
        super().__init__()
        self.base = ""
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = _REFERENCES.get(tag) or ("href" if tag == "base" else "")
        for name, value in attrs:
            if wanted and name == wanted and value is not None:
                if tag == "base":
                    self.base = self.base or value
                else:
                    self.found.append(value.strip())


def pages_to_find(server: nginx.Nginx, start: str, forbidden: str) -> frozenset[str]:
    """The paths of all HTML pages that links lead to from the start, by a walk that shares nothing with any crawler."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    origin = server.at("")
    pages: set[str] = set()
    seen, queue = {start}, deque([start])
    while queue:
        path = queue.popleft()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        links, base = [], origin + path
        if answer.status in (301, 302):
            links = [answer.headers["Location"]]
        elif answer.status == 200 and answer.headers.get_content_type() == "text/html":
            pages.add(path)
            reader = _Links()
            reader.feed(body.decode("utf-8", "replace"))
            links, base = reader.found, urljoin(base, reader.base)
        for link in links:
            target = _path_in(origin, base, link)
            if target is not None and target not in seen and not (forbidden and target.startswith(forbidden)):
                seen.add(target)
                queue.append(target)
    connection.close()
    return frozenset(pages)


def _path_in(origin: str, base: str, link: str) -> str | None:
    """The path with query that a link leads to, if it stays on the origin."""
    try:
        url = urldefrag(urljoin(base, link)).url
    except ValueError:
        return None
    return url[len(origin) :] if url.startswith(f"{origin}/") else None


# --- measuring


class Measure(NamedTuple):
    """One run of one crawler."""

    cost: Cost
    found: int
    wanted: int
    forbidden: int  # requests that robots.txt forbids
    requests: int
    disk_b: int

    @property
    def cpu_per_1000(self) -> float:
        return 1000 * self.cost.cpu_s / max(1, self.found)


def measure(crawler: Crawler, packages: Sequence[Package], place: Path, peers: Path) -> Measure | str:
    """Runs a crawler over all packages; what it cost and found, or why that says nothing."""
    folder, log = place / "output", place / "log"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    log.write_bytes(b"")
    before = {package.name: len(package.server.log()) for package in packages}
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1"}
    words = crawler.command(peers, str(folder), [package.seed for package in packages])
    env = {**environment(), **({} if crawler.name == "weft" else nowhere), "HOME": str(place)}
    if crawler.name != "weft":
        env.pop("PYTHONPATH", None)
    cost = cost_of(words, log, env)
    if cost.exit_code not in crawler.exits:
        said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return f"exit code {cost.exit_code}: {said[-1] if said else 'nothing said'}"
    found = wanted = forbidden = requests = 0
    for package in packages:
        lines = package.server.log()[before[package.name] :]
        got = {line.path for line in lines if line.status in (200, 304)}
        found += len(got & package.pages)
        wanted += len(package.pages)
        requests += len(lines)
        forbidden += sum(1 for line in lines if package.forbidden and line.path.startswith(package.forbidden))
    disk_b = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Measure(cost, found, wanted, forbidden, requests, disk_b)


def row_of(crawler: Crawler, version: str, measures: Sequence[Measure], ours: float | None) -> dict[str, object]:
    """One line of the table: medians, and the spread of what matters."""
    costs = [one.cpu_per_1000 for one in measures]
    cpu = statistics.median(costs)
    return {
        "name": crawler.name,
        "version": version,
        "found": min(one.found for one in measures),
        "wanted": measures[0].wanted,
        "forbidden": max(one.forbidden for one in measures),
        "requests": statistics.median_low([one.requests for one in measures]),
        "cpu_per_1000": cpu,
        "least": min(costs),
        "most": max(costs),
        "ratio": cpu / ours if ours else None,
        "pages_per_s": statistics.median(one.found / one.cost.wall_s for one in measures),
        "peak_mb": max(one.cost.peak_b for one in measures) / 1e6,
        "disk_mb": statistics.median(one.disk_b for one in measures) / 1e6,
        "stores": crawler.stores,
    }


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows in Markdown."""
    lines = [
        "| | pages found | robots.txt | CPU s per 1,000 pages | times weft | pages/s | peak MB | stores |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        robots = "obeyed" if not row["forbidden"] else f"{row['forbidden']} forbidden requests"
        ratio = f"{row['ratio']:.1f}" if row["ratio"] else "-"
        lines.append(
            f"| {row['name']} | {row['found']:,} of {row['wanted']:,} | {robots}"
            f" | {row['cpu_per_1000']:.2f} ({row['least']:.2f} to {row['most']:.2f}) | {ratio}"
            f" | {row['pages_per_s']:,.0f} | {row['peak_mb']:.0f} | {row['stores']} |"
        )
    return "\n".join(lines)


def compared(args: argparse.Namespace, say: Callable[[str], None]) -> dict[str, object]:
    """Runs all in turns, and says who could not take part."""
    chosen = [
        one for one in crawlers(command_of(args.weft, SCRIPT)) if not args.only or any(w in one.name for w in args.only)
    ]
    missing = {one.name: why for one in chosen if (why := install(one, args.place, say))}
    chosen = [one for one in chosen if one.name not in missing]
    found: dict[str, list[Measure]] = {one.name: [] for one in chosen}
    # pip has compiled the peers; a tree that Python may not write to would be compiled at every start.
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(ROOT / "src")], check=False, capture_output=True)
    with tempfile.TemporaryDirectory(prefix="weft-compare-") as name, served(_documentation(args), Path(name)) as webs:
        say(f"{sum(len(web.pages) for web in webs):,} pages to find in {', '.join(web.name for web in webs)}")
        for number in range(1, args.runs + 1):
            for crawler in chosen:
                if crawler.name in missing:
                    continue
                one = measure(crawler, webs, Path(name), args.place)
                if isinstance(one, str):
                    missing[crawler.name] = one
                    say(f"run {number}, {crawler.name}: {one}")
                    continue
                found[crawler.name].append(one)
                say(
                    f"run {number}, {crawler.name}: {one.cpu_per_1000:.2f} CPU s per 1,000 pages,"
                    f" {one.found:,} of {one.wanted:,} pages, {one.requests:,} requests, {one.cost.wall_s:.1f} s"
                )
    ours = statistics.median(one.cpu_per_1000 for one in found["weft"]) if found.get("weft") else None
    rows = [
        row_of(one, version_of(one, args.place), found[one.name], ours)
        for one in chosen
        if found[one.name] and one.name not in missing
    ]
    say("\n" + table(rows) + "\n\n" + "; ".join(str(row["version"]) for row in rows))
    for who, why in missing.items():
        say(f"{who}: {why}")
    return {"rows": rows, "missing": missing}


def _documentation(args: argparse.Namespace) -> dict[str, nginx.Documentation]:
    if args.folder:
        return {"a folder": nginx.Documentation(str(args.folder), "/")}
    need_nginx(args.packages)
    return {name: nginx.DOCUMENTATION[name] for name in args.packages}


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", nargs="+", default=list(PACKAGES), metavar="NAME", help="Debian packages")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="a folder of HTML files instead")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only crawlers with one of these words in their name")
    parser.add_argument("--runs", type=int, default=3, help="how often each is run (default: 3)")
    parser.add_argument("--place", type=Path, default=ROOT / ".venv-peers", help="where the peers are installed")
    parser.add_argument("--weft", metavar="COMMAND", help="another weft than that of this tree")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    args = arguments(given)
    need_nginx()
    found = compared(args, teller(args.json))
    if args.json:
        print(json.dumps(found))
    return 0 if found["rows"] else 1


if __name__ == "__main__":
    raise SystemExit(main())
