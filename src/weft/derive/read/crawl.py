"""A stored crawl: opened, asked for its numbers, pages and links, and closed."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import msgspec

from weft.db.connection import explain, open_reader
from weft.db.schema import VERSION, lend_views
from weft.derive.read.links import decoded, links_of, packs_of
from weft.derive.read.model import LinkRow, PackedLink, Page, Place, Status
from weft.derive.read.pages import page_of, pages_of, verdict_on
from weft.errors import HOW_TO_BEGIN, NO_URL, Cause, FolderError, SpecError
from weft.folder import Folder, not_begun
from weft.records import RunState, StopReason
from weft.spec import CrawlSpec
from weft.text.dates import iso_of_ms
from weft.url import DEFAULT_RULES, Normalizer, parse

if TYPE_CHECKING:
    from weft.derive.duplicates.verdicts import Verdict

_CHUNK = 1_000


class StoredCrawl:
    """A crawl on disk, running or not. Use as a context manager, or close it.

    Leaving it by an error of SQLite raises ``FolderError`` instead, which says in a sentence what is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = Folder(Path(path))
        self.folder.require()
        if self.folder.db.stat().st_size == 0:
            raise self._not_begun()
        self._db = open_reader(self.folder.db, VERSION, lend_views)
        self._is_open, self._thread = True, get_ident()
        try:
            begun = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'page'").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            said = explain(error, self.folder.db) if isinstance(error, sqlite3.Error) else f"it is damaged ({error})"
            raise FolderError(said) from error
        if begun is None:
            self.close()
            raise self._not_begun()

    def _not_begun(self) -> FolderError:
        if self.folder.spec.is_file():
            return not_begun(self.folder.path)
        return FolderError(f"{self.folder.path} holds no crawl ({self.folder.db.name} is empty): {HOW_TO_BEGIN}")

    def __enter__(self) -> StoredCrawl:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, sqlite3.Error):
            raise FolderError(explain(error, self.folder.db)) from error
        if isinstance(error, UnicodeDecodeError):  # of a message of SQLite about damage
            raise FolderError(f"{self.folder.db} is damaged ({error})") from error

    def close(self) -> None:
        self._is_open = False
        self._db.close()

    @contextmanager
    def at_hand(self) -> Iterator[StoredCrawl]:
        """This crawl, or, where it is closed or belongs to another thread, the same opened for once."""
        if self._is_open and self._thread == get_ident():
            yield self
        else:
            with StoredCrawl(self.folder.path) as crawl:
                yield crawl

    @property
    def connection(self) -> sqlite3.Connection:
        """The read-only connection, for queries of one's own."""
        return self._db

    @cached_property
    def spec(self) -> CrawlSpec:
        """The specification as it ran, without secrets; ``SpecError`` where crawl.toml is gone or damaged."""
        from weft.options import read_spec

        return read_spec(self.folder.spec)

    @cached_property
    def normalizer(self) -> Normalizer:
        """The rules under which URLs of this crawl are one page; the default ones where crawl.toml cannot be read."""
        try:
            urls = self.spec.urls
        except (SpecError, OSError):
            return Normalizer(DEFAULT_RULES)
        known = self._db.execute("SELECT value FROM meta WHERE name = 'ip_hosts'").fetchone()
        return Normalizer.of(urls, msgspec.json.decode(known[0], type=dict[str, str]) if known is not None else {})

    # ---- numbers ---------------------------------------------------------------------------------------------

    def status(self) -> Status:
        counters = dict(self._db.execute("SELECT name, value FROM counter").fetchall())
        runs = self._db.execute("SELECT started_ms, ended_ms, stop_reason, version, active_ms FROM run ORDER BY id")
        rows = runs.fetchall()
        started, ended, reason, version, _ = rows[-1] if rows else (None, None, None, None, 0)
        elapsed_s = sum(row[4] for row in rows) / 1000
        names = (
            "known", "refused", "waiting", "running", "completed", "errors", "pages", "links", "items", "hosts",
            "bytes", "bugs",
        )  # fmt: skip
        numbers = {name: counters.get(name, 0) for name in names}
        if (asked := counters.get("asked")) is None:  # an earlier version did not count them
            asked = self._db.execute("SELECT count(*) FROM site WHERE first_access_ms IS NOT NULL").fetchone()[0]
        numbers["hosts"] = asked
        numbers["robots_refused"] = counters.get("forbidden", 0)  # an earlier version counted them as errors
        numbers["errors"] -= numbers["robots_refused"]
        if self.folder.is_running():
            state, reason = RunState.RUNNING, None
        elif ended is None:  # or was never noted: killed before anything was asked
            state, reason = RunState.STOPPED, reason or StopReason.KILLED.value
        elif reason == StopReason.MIN_DEPTH or (
            reason in (StopReason.DONE, StopReason.FAILED) and not numbers["waiting"]
        ):
            state = RunState.DONE
        else:  # also a crawl that was done and was given more URLs since
            state = RunState.STOPPED
        if state is not RunState.RUNNING:  # what a killed run held waits again
            numbers["waiting"] += numbers["running"]
            numbers["running"] = 0
        return Status(
            state=state, stop_reason=reason, elapsed_s=round(elapsed_s, 3),
            pages_per_s=round(numbers["pages"] / elapsed_s, 2) if elapsed_s else 0.0, started_at=iso_of_ms(started),
            ended_at=iso_of_ms(ended), version=version, folder=str(self.folder.path), **numbers,
        )  # fmt: skip

    # ---- pages -----------------------------------------------------------------------------------------------

    def pages(self, *, everything: bool = False) -> Iterator[Page]:
        """Every URL that was tried, in the order they were found; ``everything``: every URL known."""
        return pages_of(self, everything)

    def page(self, url: str) -> Page | None:
        """One page by its URL, in any spelling of it; None if it is not known. In-links are not counted."""
        page = self.page_id(url)
        return None if page is None else self.page_by_id(page)

    def page_by_id(self, page: int) -> Page | None:
        """One page by its id in the database; None if there is none. In-links are not counted."""
        return page_of(self, page)

    def never_asked(self) -> Iterator[Page]:
        """The pages that ended without a visit of their own, because their site or its robots.txt does not answer."""
        last = 0
        while rows := self._db.execute(_NEVER_ASKED, (last, Cause.ROBOTS_DISALLOWED.value)).fetchall():
            last = rows[-1][0]
            yield from (page for (number,) in rows if (page := self.page_by_id(number)) is not None)

    def has_answers(self) -> bool:
        """Whether an answer is stored, of any status."""
        return bool(self.scalar("SELECT EXISTS(SELECT 1 FROM visit WHERE status IS NOT NULL)"))

    def sitemaps_read(self) -> int:
        """How many sitemap files were read."""
        return self.scalar("SELECT count(*) FROM sitemap WHERE state = 'C'")

    def verdict_on(self, page: int) -> Verdict | None:
        """Which page stands for this one, and how alike they are; None for a page that stands for itself.

        Near-duplicates are told as the crawl stored them at its end.
        """
        return verdict_on(self, page)

    def newest_visit(self) -> int:
        """The id of the newest visit: what is read up to it is one consistent state."""
        return self.scalar("SELECT coalesce(max(id), 0) FROM visit")

    def newest_url(self) -> int:
        """The id of the newest URL: no page, and no target of a link, has a larger one."""
        return self.scalar("SELECT coalesce(max(id), 0) FROM url")

    def aliases(self) -> Iterator[tuple[int, int]]:
        last = 0
        query = "SELECT id, page FROM url WHERE id > ? AND page > 0 ORDER BY id LIMIT ?"
        while rows := self._db.execute(query, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            yield from rows

    def sitemaps(self) -> set[str]:
        """The URLs of all sitemaps that are known."""
        return {row[0] for row in self._db.execute(_SITEMAPS)}

    # ---- one URL ---------------------------------------------------------------------------------------------

    def whole_url(self, text: str) -> str:
        """The URL that a text means: itself, or where it is a path and the crawl has one site, that path there.

        A site counts that answered with a page. ``SpecError`` for a text that is neither.
        """
        url = parse(text)
        if url is None and text.startswith("/"):
            sites = self._db.execute("SELECT id FROM site WHERE pages > 0 LIMIT 2").fetchall()
            page = self._db.execute(_NEWEST_PAGE, sites[0]).fetchone() if len(sites) == 1 else None
            url = parse(urljoin(page[0], text)) if page is not None else None
        if url is None:
            raise SpecError(f"{text!r} {NO_URL}")
        return url

    def find(self, url: str) -> Place | None:
        """Where a URL is known, by its own text or, failing that, by its key; None if it never was."""
        return self.find_all([url])[0]

    def find_all(self, urls: Sequence[str]) -> list[Place | None]:
        """The same for several at once, which in a running crawl costs hardly more than one."""
        texts = [parse(url) or url for url in urls]
        places = {text: Place(*row, by_key=False) for text, row in self._by_text(texts).items()}
        keys = {text: self.normalizer.key(text) for text in texts if text not in places}
        rows = self._by_key(keys.values())
        rows = self._by_text([key for text, key in keys.items() if key != text and key not in rows]) | rows
        places |= {text: Place(*rows[key], by_key=True) for text, key in keys.items() if key in rows}
        return [places.get(text) for text in texts]

    def _by_text(self, texts: Collection[str]) -> dict[str, tuple[int, int | None]]:
        return self._found(texts, 0, "SELECT text, id, nullif(coalesce(page, id), 0) FROM url WHERE text")

    def _by_key(self, keys: Collection[str]) -> dict[str, tuple[int, int | None]]:
        return self._found(keys, 1, "SELECT key, id, id FROM page WHERE key")

    def _found(self, texts: Collection[str], kind: int, query: str) -> dict[str, tuple[int, int | None]]:
        """By the runs of the seen-set; what is newer than all of them is looked through, once for all."""
        from weft.frontier.runs import look_everywhere
        from weft.frontier.seen import fingerprint_of

        found: dict[str, tuple[int, int | None]] = {}
        upto = 0
        if self.has_runs:
            upto = self.scalar("SELECT coalesce(max(upto), 0) FROM seen_run")  # first: runs only grow
            for text in texts:
                for number in look_everywhere(self._db, fingerprint_of(text, self._hash_seed + kind)):
                    row = self._db.execute(f"{query} = ? AND id = ?", (text, number)).fetchone()
                    if row is not None:
                        found[text] = row[1:]
        left = [text for text in texts if text not in found]
        if left:
            newer = f"{query} IN (SELECT value FROM json_each(?)) AND id > ? ORDER BY id DESC"
            rows = self._db.execute(newer, (msgspec.json.encode(left).decode(), upto))
            found.update((text, (number, page)) for text, number, page in rows)
        return found

    @cached_property
    def has_runs(self) -> bool:
        """Not in a crawl of an older version that was not resumed since."""
        return self.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'seen_run'") > 0

    @cached_property
    def has_texts(self) -> bool:
        """Whether the database may hold main texts: not in a crawl of an older version that was not resumed since."""
        return self.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'text'") > 0

    def page_id(self, url: str) -> int | None:
        """The id of the page that a URL belongs to; None where it is not known as a page."""
        place = self.find(url)
        return None if place is None else place.page

    @cached_property
    def _hash_seed(self) -> int:
        return self.scalar("SELECT value FROM meta WHERE name = 'hash_seed'")

    def fingerprint_of(self, text: str) -> int:
        """The seen-set's own name for a text."""
        from weft.frontier.seen import fingerprint_of

        return fingerprint_of(text, self._hash_seed)

    # ---- links -----------------------------------------------------------------------------------------------

    def links(self, *, source: str | None = None, target: str | None = None, broken: bool = False) -> Iterator[LinkRow]:
        """Every link of every page, page by page in the order of their visits; of one URL, or to one.

        ``broken``: only links to broken pages, and of each page only the first link to each of them.
        """
        return links_of(self, source, target, broken)

    def packed_links(self, visit: int) -> list[PackedLink]:
        """The links that a visit found, as they are stored."""
        row = self._db.execute("SELECT links FROM link_pack WHERE visit = ?", (visit,)).fetchone()
        return [] if row is None else decoded(self, row[0], visit)

    def packs(self, newest: int, source: Place | None = None) -> Iterator[tuple[str, int, int | None, str]]:
        """(url, visit, page, packed links) of the newest visit of every page, and of sitemaps; or of one URL."""
        return packs_of(self, newest, source)

    def scalar(self, query: str) -> int:
        """The one whole number that a query finds; ``FolderError`` where it finds none."""
        row = self._db.execute(query).fetchone()
        if row is None or not isinstance(row[0], int):
            raise FolderError(f"{self.folder.db} is damaged: {query!r} finds nothing")
        return row[0]


_SITEMAPS = "SELECT u.text FROM sitemap s JOIN url u ON u.id = s.url"
_NEWEST_PAGE = """
SELECT u.text FROM visit v JOIN page p ON p.id = v.page JOIN url u ON u.id = v.url
WHERE p.site = ? AND v.status BETWEEN 200 AND 299 ORDER BY v.id DESC LIMIT 1
"""


_NEVER_ASKED = """SELECT id FROM page WHERE id > ? AND state = 'E' AND visit IS NULL AND cause <> ?
ORDER BY id LIMIT 1000"""
