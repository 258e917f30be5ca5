"""Crawls of hostile sites: runs weft as a user does and lets the server's log and the stored crawl judge together."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from web import ANSWER, MISBEHAVIOURS, POISON, Expectation, Site, html_page

from weft.derive.read import LinkRow, Page, StoredCrawl, Status
from weft.errors import Cause

ROOT = Path(__file__).resolve().parent.parent
HOST = "hostile.test"
"""The name under which sites are crawled: a public-looking host that `--resolve` leads to loopback."""

FAST = ("--delay", "0", "--per-host", "8", "--retries", "0", "--timeout", "2s", "--sitemaps", "no")
GOOD = tuple(f"/good/{number}" for number in range(8))
GROUP_OF = {kind: expected.group for kind, expected in MISBEHAVIOURS.items()}


@dataclass
class Crawled:
    """A crawl that ended: how, and all that it stored."""

    code: int
    stderr: str
    seconds: float
    status: Status
    pages: dict[str, Page]  # every URL known, by its text
    links: list[LinkRow] = field(default_factory=list)
    peak_b: int = 0  # the largest resident size of the process

    def page(self, url: str) -> Page:
        assert url in self.pages, f"{url} is not known; known are {sorted(self.pages)[:50]}"
        return self.pages[url]

    def targets(self, source: str) -> list[str]:
        return [link.target for link in self.links if link.source == source]


def crawl(
    folder: Path, seeds: Sequence[str], *options: str, limit_s: float = 40.0, read_links: bool = False
) -> Crawled:
    """One crawl by the command line, ended by itself; all it knows is read back."""
    place = folder / "crawl"
    environment = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
    environment |= {"PYTHONPATH": str(ROOT / "src"), "NO_COLOR": "1", "COLUMNS": "160"}
    command = [sys.executable, "-m", "weft", "crawl", *seeds, "-o", str(place), "--quiet", *options]
    began = time.monotonic()
    with (folder / "stderr").open("w+b") as noise:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=noise, stderr=noise, start_new_session=True
        )
        try:
            code, peak_b = _wait(process, began + limit_s)
        except TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(10)
            noise.seek(0)
            raise AssertionError(f"the crawl did not end within {limit_s} s: {noise.read()[-4_000:]!r}") from None
        noise.seek(0)
        stderr = noise.read().decode(errors="replace")
    seconds = time.monotonic() - began
    with StoredCrawl(place) as stored:
        pages = {page.url: page for page in stored.pages(everything=True)}
        links = list(stored.links()) if read_links else []
        return Crawled(code, stderr, seconds, stored.status(), pages, links, peak_b)


def _wait(process: subprocess.Popen[bytes], deadline: float) -> tuple[int, int]:
    """The exit code and the peak memory of a process; ``TimeoutError`` past the deadline."""
    peak_b = 0
    while process.poll() is None:
        peak_b = max(peak_b, _peak_b(process.pid))
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)
    return process.returncode, peak_b


def _peak_b(pid: int) -> int:
    """The most memory a process had so far; 0 where it cannot be told (it is gone, or there is no /proc)."""
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0


def at_host(site: Site, host: str = HOST) -> tuple[str, str]:
    """The options that lead a public-looking name to the site."""
    return ("--resolve", f"{host}={site.address}")


def lay_out(site: Site, kinds: Iterable[str], *, host: str = HOST, target: str = "") -> dict[str, str]:
    """A home page, good pages, and the misbehaving paths between them: {kind: URL}."""
    urls = {kind: site.misbehave(f"/{kind}", kind, host=host, target=target) for kind in kinds}
    bad = list(urls.values())
    places: list[str] = []
    every = max(1, len(bad) // len(GOOD))
    good = iter(GOOD)
    for at, url in enumerate(bad):
        if at % every == 0:
            places.extend(next(good, ()) and [GOOD[min(at // every, len(GOOD) - 1)]])
        places.append(url)
    places.extend(GOOD)
    site.page("/", places, host=host)
    for path in GOOD:
        site.page(path, host=host)
    return urls


def outcome_of(page: Page) -> str:
    """The word that an `Expectation` uses for what was stored."""
    return ANSWER if page.state == "C" else str(page.error)


def faults_of(kind: str, url: str, path: str, crawled: Crawled, site: Site) -> list[str]:
    """What is wrong with the record of one kind, judged by its `Expectation`; empty where all is well."""
    expected = MISBEHAVIOURS[kind]
    page = crawled.pages.get(url)
    if page is None:
        return [f"{kind}: not known at all"]
    faults = []
    name = outcome_of(page)
    if name not in expected.outcomes:
        faults.append(f"{kind}: {name}, status {page.status}, expected {sorted(expected.outcomes)}")
    if page.state == "C":
        if page.error is not None:
            faults.append(f"{kind}: an answer with the error {page.error}")
        if expected.status not in (None, page.status):
            faults.append(f"{kind}: status {page.status}, expected {expected.status}")
        if expected.truncated not in (None, page.truncated):
            faults.append(f"{kind}: truncated {page.truncated}, expected {expected.truncated}")
        wanted = None if expected.title is None else expected.title.replace("{path}", path)
        if wanted is not None and (page.title or "") != wanted:
            faults.append(f"{kind}: title {(page.title or '')[:80]!r}, expected {wanted!r}")
    elif page.status is not None:
        faults.append(f"{kind}: state {page.state} with status {page.status}")
    if page.state not in ("C", "E"):
        faults.append(f"{kind}: state {page.state}, reason {page.reason}")
    if POISON in (page.title or ""):
        faults.append(f"{kind}: took bytes that belong to nobody")
    faults += [f"{kind}: {path + suffix} was not asked" for suffix in expected.asks if not site.asked(path + suffix)]
    faults += [f"{kind}: {path + suffix} was asked" for suffix in expected.never if site.asked(path + suffix)]
    return faults


def assert_good_pages(crawled: Crawled, site: Site, host: str = HOST) -> None:
    """All good pages are there, with their own titles and bodies, asked once; and nothing was taken from a stray answer."""
    for path in ("/", *GOOD):
        page = crawled.page(site.at(path, host))
        assert (page.state, page.status, page.title) == ("C", 200, path), (path, page)
        assert site.asked(path, host) == 1, (path, site.asked(path, host))
    poisoned = [page.url for page in crawled.pages.values() if POISON in (page.title or "")]
    assert not poisoned, f"stray answers were stored for {poisoned}"


def assert_no_bug(crawled: Crawled) -> None:
    """No page met a fault of weft's own."""
    bugs = [(page.url[:200], page.error) for page in crawled.pages.values() if page.error == Cause.BUG]
    assert not bugs and crawled.status.bugs == 0, bugs


def assert_clean(site: Site) -> None:
    """Every request was plain HTTP, GET, without anything that a page had smuggled into it."""
    assert not site.refused, f"sent what is no HTTP: {site.refused}"
    for request in list(site.requests):
        assert request.method == "GET" and not request.body, request
        names = Counter(name.lower() for name, _ in request.headers)
        assert names["host"] == 1 and max(names.values()) == 1, request
        assert not {"x-injected", "referer", "authorization", "proxy-authorization"} & set(names), request
        assert re.fullmatch(r"/[\x21-\x7e]*", request.target), request.target


def at_most(site: Site, requests: int) -> None:
    assert len(site.requests) <= requests, Counter(site.paths()).most_common(10)


def kinds_of(*groups: str) -> list[str]:
    return [kind for kind, expected in MISBEHAVIOURS.items() if expected.group in groups]
