"""The demo: a made-up web on loopback is crawled, killed half-way, gone on with, and compared with its answer key."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

from weft.crawl.events import Observer
from weft.demo.invented import TRAP_PREFIX, Entry, InventedWeb
from weft.demo.server import Asked, Served, environment, serve_invented
from weft.derive.check import check_folder
from weft.derive.read import Page, StoredCrawl
from weft.derive.why import Story, story_of
from weft.errors import Cause, FolderError, Reason
from weft.folder import Folder
from weft.options import read_spec, spec_of
from weft.ports import silent
from weft.records import State, StopReason
from weft.run.session import Plan, Run, plan_crawl, plan_resume
from weft.text.human import counted

HOSTS = 4
PAGES = 260
KILL_AT_PAGES = 60
KILL_WITHIN_S = 8.0
POLL_S = 0.02
SECOND_LOOK = (Reason.PATH_REPEATS, Reason.ENDLESS_SITE, Reason.SESSION_IDS)
"""Refusals that make a good example for `weft why`, the best first."""

TRAPS = frozenset(
    {
        Reason.PATH_REPEATS, Reason.PATH_TOO_DEEP, Reason.QUERY_REPEATS, Reason.QUERY_TOO_LONG, Reason.QUERY_VARIANTS,
        Reason.SLASH_ALIASES, Reason.SPELLINGS, Reason.SESSION_IDS, Reason.CALENDAR, Reason.CHAIN_TOO_LONG,
        Reason.ENDLESS_SITE, Reason.HOSTS_PER_DOMAIN, Reason.DUPLICATES_ONLY,
    }
)  # fmt: skip


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """What the demo shows; also what `weft demo --json` prints."""

    folder: str
    stop_reason: str
    elapsed_s: float
    pages: int
    links: int
    hosts: int
    bytes: int
    killed_at: int | None  # pages stored when the first run was killed; None: it was done before that
    asked_twice: int
    expected: int  # URLs of the answer key
    missing: list[str]
    unexpected: list[str]
    statuses: dict[str, int]
    sitemaps: int
    only_in_sitemaps: int  # pages that no link leads to
    languages: int
    encodings: int
    duplicates: int
    nofollow: int  # URLs known only by links that are not to be followed
    robots_refused: int
    refused: dict[str, int]
    errors: dict[str, int]
    warc_files: list[str]
    warc_records: int
    warc_b: int
    problems: dict[str, int]  # what `weft check` finds wrong, by kind
    why_url: str | None
    why: str | None

    @property
    def complete(self) -> bool:
        return not self.missing and not self.unexpected and not self.problems

    @property
    def traps(self) -> dict[str, int]:
        """The refusals that end endless things, the most frequent first."""
        return {name: number for name, number in self.refused.items() if name in TRAPS}


def run_demo(folder: Path, observers: list[Observer], say: Callable[[str], None]) -> tuple[StopReason, Facts]:
    """Crawls the made-up web into the folder, which must be new. The web is gone when this returns, however it ends."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise FolderError(f"{folder} is there already: name a new folder with -o")
    web = InventedWeb(2024, HOSTS, PAGES, traps=True)
    started = time.monotonic()
    with _refusing_port() as port, serve_invented(web, process=True, record=True) as served:
        gone = f"http://gone.{web.suffix}:{port}/"
        plan = _plan(served, gone, folder)
        say(f"{HOSTS} hosts, an endless part on each; the crawl begins")
        killed_at = _run_until_killed(plan.folder)
        if killed_at is not None:
            say(f"killed at {counted(killed_at, 'page')}, to show that it can go on; it goes on")
        reason = Run(_resumed(plan)).go(observers, None)
        elapsed_s = time.monotonic() - started
    return reason, _facts(plan.folder, reason, served, killed_at, elapsed_s)


def _plan(served: Served, gone: str, folder: Path) -> Plan:
    """Small trap budgets, because the whole web is small; no delay, because it is our own."""
    options: dict[str, object] = {
        "scope": f"suffix:{served.web.suffix}", "resolve": [served.resolve], "delay": 0, "per_host": 4, "retries": 1,
        "max_depth": 10, "trap_endless_site_pages": 100, "trap_duplicates_only": 15, "trap_spellings": 40,
    }  # fmt: skip
    return plan_crawl(spec_of([*served.seeds, gone], options), str(folder), fresh=False, warn=_ignore)


def _resumed(plan: Plan) -> Plan:
    return plan_resume(read_spec(plan.folder.spec), plan.folder, _ignore)


def _ignore(_message: str) -> None:
    """There is nothing in this web to warn of."""


@contextmanager
def _refusing_port() -> Iterator[int]:
    """A port on loopback where every connection is refused: it is bound and nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield int(bound.getsockname()[1])


def _run_until_killed(folder: Folder) -> int | None:
    """Starts the crawl in a process of its own and kills it; the pages it had stored, None if it was done before."""
    command = [sys.executable, "-P", "-m", "weft", "resume", str(folder.path), "--quiet"]
    with subprocess.Popen(command, env=environment(), stdin=subprocess.DEVNULL, start_new_session=True) as child:
        try:
            deadline = time.monotonic() + KILL_WITHIN_S
            while child.poll() is None and _stored_pages(folder) < KILL_AT_PAGES and time.monotonic() < deadline:
                time.sleep(POLL_S)
        finally:
            child.kill()
    return _stored_pages(folder) if child.returncode < 0 else None


def _stored_pages(folder: Folder) -> int:
    with suppress(FolderError), StoredCrawl(folder.path) as crawl:
        return crawl.status().pages
    return 0


# ---- what came of it -------------------------------------------------------------------------------------------


def _facts(folder: Folder, reason: StopReason, served: Served, killed_at: int | None, elapsed_s: float) -> Facts:
    key = served.web.expected()
    with StoredCrawl(folder.path) as crawl:
        status = crawl.status()
        pages = list(crawl.pages(everything=True))
        sitemaps = crawl.sitemaps_read()
        example = _example(pages)
        why = _in_a_sentence(story_of(crawl, example)) if example is not None else None
        report = check_folder(crawl, silent)
    answered = {page.url for page in pages if page.state == State.COMPLETED}  # each of them answers in this web
    ours = {url for url in answered if served.web.place(url) is not None and TRAP_PREFIX not in url}
    statuses = Counter(page.status for page in pages if page.status is not None)
    refused = Counter(page.reason for page in pages if page.reason is not None)
    errors = Counter(page.error for page in pages if page.error is not None)
    return Facts(
        folder=str(folder.path),
        stop_reason=reason.value,
        elapsed_s=round(elapsed_s, 1),
        pages=status.pages,
        links=status.links,
        hosts=status.hosts,
        bytes=status.bytes,
        killed_at=killed_at,
        asked_twice=_asked_twice(served.requests),
        expected=len(key),
        missing=sorted(key.keys() - answered),
        unexpected=sorted(ours - key.keys()),
        statuses={str(code): number for code, number in sorted(statuses.items())},
        sitemaps=sitemaps,
        only_in_sitemaps=_orphans(key, answered),
        languages=len({page.language for page in pages if page.language}),
        encodings=len({page.encoding for page in pages if page.encoding}),
        duplicates=sum(page.duplicate_of is not None for page in pages),
        nofollow=refused[Reason.NOFOLLOW.value],
        robots_refused=errors.pop(Cause.ROBOTS_DISALLOWED.value, 0),
        refused=dict(refused.most_common()),
        errors=dict(errors.most_common()),
        warc_files=sorted(path.name for path in folder.warc.glob("*.warc.gz")),
        warc_records=report.warc_records,
        warc_b=report.warc_bytes,
        problems=report.counts,
        why_url=example,
        why=why,
    )


def _asked_twice(requests: list[Asked]) -> int:
    """How many pages the server was asked for more than once: those under way when the crawl was killed."""
    counts = Counter(
        (asked.host, asked.path) for asked in requests if asked.path != "/robots.txt" and "sitemap" not in asked.path
    )
    return sum(number > 1 for number in counts.values())


def _orphans(key: dict[str, Entry], answered: set[str]) -> int:
    return sum(entry.role == "orphan" and url in answered for url, entry in key.items())


def _example(pages: list[Page]) -> str | None:
    """A refused URL worth asking about: the shortest one of the most telling reason there is."""
    for reason in SECOND_LOOK:
        urls = [page.url for page in pages if page.reason == reason.value]
        if urls:
            return min(urls, key=lambda url: (len(url), url))
    return None


def _in_a_sentence(story: Story) -> str:
    return story.because[0] if story.because else story.outcome
