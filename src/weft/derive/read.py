"""Reading a stored crawl: its pages, links and numbers, as streams that never grow with the crawl.

Readers work in short statements, up to the largest visit at their start, so that a running crawl can go on
writing and what is read is one consistent state.
"""

from __future__ import annotations

import sqlite3
from array import array
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from weft.dates import iso_of_ms
from weft.db import explain, open_reader
from weft.errors import HOW_TO_BEGIN, Cause, FolderError, SpecError, WeftError
from weft.folder import Folder
from weft.records import LinkKind, Purpose
from weft.spec import CrawlSpec
from weft.store.schema import VERSION
from weft.url import DEFAULT_RULES, Normalizer, parse, site_of

if TYPE_CHECKING:
    from weft.derive.duplicates.verdicts import Verdict

_CHUNK = 1_000
_PACKS_AT_ONCE = 200
_NAMES_KEPT = 100_000
_KINDS = {kind.value: kind.label for kind in LinkKind}
_SIZE, _HASH, _DIGEST = 21, 23, 36  # where facts of the body stand in a row of _PAGES


class Page(msgspec.Struct, frozen=True, kw_only=True):
    """One URL of a crawl, as `weft pages` shows it. URLs, texts and numbers are None where there are none."""

    url: str
    key: str
    state: str | None
    reason: str | None
    status: int | None
    error: str | None
    truncated: bool
    type: str | None
    encoding: str | None
    language: str | None
    title: str | None
    description: str | None
    canonical: str | None
    found_on: str | None
    redirect_to: str | None
    duplicate_of: str | None
    size: int | None
    size_wire: int | None
    hash: str | None
    depth: int
    attempts: int
    out_links: int
    external_links: int
    in_links: int | None  # None where they were not counted
    fetched_at: str | None
    last_modified: str | None
    server_date: str | None
    response_ms: int | None
    ip: str | None
    http_version: str | None
    noindex: bool
    nofollow: bool
    warc_file: str | None
    warc_offset: int | None


class LinkRow(msgspec.Struct, frozen=True, kw_only=True):
    """One link, as `weft links` shows it. The anchor of a link of a sitemap is the date of change given there."""

    source: str
    target: str
    target_key: str
    kind: str
    anchor: str
    rel: str
    fragment: str
    internal: bool
    followed: bool


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """How far a crawl is, as `weft status --json` shows it."""

    state: str  # running, stopped, done
    stop_reason: str | None
    known: int
    refused: int
    waiting: int
    running: int
    completed: int
    errors: int
    pages: int
    links: int
    items: int
    hosts: int
    bytes: int
    elapsed_s: float
    pages_per_s: float
    bugs: int
    started_at: str | None
    ended_at: str | None
    version: str | None
    folder: str


class PackedLink(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A link as the table ``link_pack`` keeps it; ``target`` is the id of a URL."""

    target: int
    kind: int
    offered: int
    anchor: str = ""
    rel: str = ""
    fragment: str = ""


class _Target(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Just the target of a packed link: what stands behind it is skipped, not read."""

    target: int


class Place(NamedTuple):
    """Where a URL is known: the id of its text, and of its page (None: it was never a page of the crawl)."""

    url: int
    page: int | None
    by_key: bool  # known by another spelling only


class _Name(NamedTuple):
    text: str
    key: str
    page: int | None
    admitted: bool


class StoredCrawl:
    """A crawl on disk, running or not. Use as a context manager, or close it.

    Leaving it by an error of SQLite raises ``FolderError`` instead, which says in a sentence what is damaged.
    """

    def __init__(self, path: str | Path) -> None:
        self.folder = Folder(Path(path))
        self.folder.require()
        if self.folder.db.stat().st_size == 0:
            raise FolderError(self._not_begun())
        self._db = open_reader(self.folder.db, VERSION)
        try:
            begun = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'page'").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            self.close()
            said = explain(error, self.folder.db) if isinstance(error, sqlite3.Error) else f"it is damaged ({error})"
            raise FolderError(said) from error
        if begun is None:
            self.close()
            raise FolderError(self._not_begun())

    def _not_begun(self) -> str:
        if self.folder.spec.is_file():
            return f"the crawl in {self.folder.path} has not begun: start it with `weft resume {self.folder.path}`"
        return f"{self.folder.path} holds no crawl ({self.folder.db.name} is empty): {HOW_TO_BEGIN}"

    def __enter__(self) -> StoredCrawl:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        self.close()
        if isinstance(error, sqlite3.Error):
            raise FolderError(explain(error, self.folder.db)) from error
        if isinstance(error, UnicodeDecodeError):  # of a message of SQLite about damage
            raise FolderError(f"{self.folder.db} is damaged ({error})") from error

    def close(self) -> None:
        self._db.close()

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
        return Normalizer(
            (urls.normalize or DEFAULT_RULES) + (("drop-query",) if urls.drop_query else ()),
            msgspec.json.decode(known[0], type=dict[str, str]) if known is not None else {},
        )

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
        if self.folder.is_running():
            state, reason = "running", None
        elif rows and ended is None:
            state, reason = "stopped", "killed"
        elif reason == "min-depth" or (reason in ("done", "failed") and not numbers["waiting"]):
            state = "done"
        else:  # also a crawl that was done and was given more URLs since
            state = "stopped"
        if state != "running":  # what a killed run held waits again
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
        newest = self.newest_visit()
        in_links = self._in_links(newest)
        warcs = dict(self._db.execute("SELECT id, file FROM warc").fetchall())
        from weft.derive.duplicates.verdicts import Verdicts, near_verdicts

        verdicts = Verdicts(self, near_verdicts(self))
        last = 0
        while rows := self._db.execute(_PAGES, {"newest": newest, "after": last, "most": _CHUNK}).fetchall():
            last = rows[-1][0]
            shared = self._shared_bodies(rows)
            for row in rows:
                if everything or row[-1] is not None or (row[2] == "E" and row[4] != Cause.ROBOTS_DISALLOWED.value):
                    count = in_links[row[0]] if row[0] < len(in_links) else 0
                    verdict = verdicts.of(row[0], row[_HASH], row[_SIZE], row[_DIGEST], alone=row[_HASH] not in shared)
                    yield _page(row, newest, count, warcs, verdict.url if verdict is not None else None)

    def page(self, url: str) -> Page | None:
        """One page by its URL, in any spelling of it; None if it is not known. In-links are not counted."""
        page = self.page_id(url)
        return None if page is None else self.page_by_id(page)

    def page_by_id(self, page: int) -> Page | None:
        """One page by its id in the database; None if there is none. In-links are not counted."""
        newest = self.newest_visit()
        row = self._db.execute(_PAGES, {"newest": newest, "after": page - 1, "most": 1}).fetchone()
        if row is None or row[0] != page:
            return None
        warcs = dict(self._db.execute("SELECT id, file FROM warc").fetchall())
        verdict = self.verdict_on(page)
        return _page(row, newest, None, warcs, verdict.url if verdict is not None else None)

    def verdict_on(self, page: int) -> Verdict | None:
        """Which page stands for this one, and how alike they are; None for a page that stands for itself.

        Near-duplicates are told as the crawl stored them at its end.
        """
        from weft.derive.duplicates.verdicts import Verdicts, stored_verdicts

        row = self._db.execute(_BODY_OF, (page,)).fetchone()
        return None if row is None else Verdicts(self, stored_verdicts(self)).of(*row)

    def _shared_bodies(self, rows: list[tuple[Any, ...]]) -> set[int]:
        """Those hashes among the rows that more than one visit has: only they need a representative."""
        hashes = msgspec.json.encode([row[_HASH] for row in rows if row[_HASH] is not None]).decode()
        return {row[0] for row in self._db.execute(_SHARED, (hashes,))}

    def newest_visit(self) -> int:
        """The id of the newest visit: what is read up to it is one consistent state."""
        return self._scalar("SELECT coalesce(max(id), 0) FROM visit")

    def _in_links(self, newest: int) -> array[int]:
        """For each page id, how many links lead to it: four bytes a URL, whatever the number of links."""
        counts = array("I", bytes(4 * (self._scalar("SELECT coalesce(max(id), 0) FROM url") + 1)))
        size = len(counts)
        for _, visit, _, links in self.packs(newest):
            for target in self._targets(links, visit):
                if target < size:
                    counts[target] += 1
        for alias, page in self.aliases():
            if alias < size and 0 < page < size:
                counts[page] += counts[alias]
        return counts

    def aliases(self) -> Iterator[tuple[int, int]]:
        last = 0
        query = "SELECT id, page FROM url WHERE id > ? AND page > 0 ORDER BY id LIMIT ?"
        while rows := self._db.execute(query, (last, _CHUNK)).fetchall():
            last = rows[-1][0]
            yield from rows

    # ---- one URL ---------------------------------------------------------------------------------------------

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
            upto = self._scalar("SELECT coalesce(max(upto), 0) FROM seen_run")  # first: runs only grow
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
        return self._scalar("SELECT count(*) FROM sqlite_master WHERE name = 'seen_run'") > 0

    def page_id(self, url: str) -> int | None:
        """The id of the page that a URL belongs to; None where it is not known as a page."""
        place = self.find(url)
        return None if place is None else place.page

    @cached_property
    def _hash_seed(self) -> int:
        return self._scalar("SELECT value FROM meta WHERE name = 'hash_seed'")

    def fingerprint_of(self, text: str) -> int:
        """The seen-set's own name for a text."""
        from weft.frontier.seen import fingerprint_of

        return fingerprint_of(text, self._hash_seed)

    # ---- links -----------------------------------------------------------------------------------------------

    def links(self, *, source: str | None = None, target: str | None = None) -> Iterator[LinkRow]:
        """Every link of every page, page by page in the order of their visits; of one page, or to one page."""
        from_page, to_page = self._named(source), self._named(target)
        newest = self.newest_visit()
        names: dict[int, _Name] = {}
        wanted = self._spellings(to_page) if to_page is not None else None
        for source_url, visit, _, pack in self.packs(newest, from_page):
            if wanted is not None and wanted.isdisjoint(self._targets(pack, visit)):
                continue
            links = self._decoded(pack, visit)
            if len(names) > _NAMES_KEPT:
                names.clear()
            self._learn_names(names, {link.target for link in links})
            site = site_of(source_url)
            for link in links:
                name = names.get(link.target)
                if name is None or link.kind not in _KINDS:
                    raise FolderError(self._damaged_links(visit))
                if wanted is not None and link.target not in wanted:
                    continue
                yield LinkRow(
                    source=source_url, target=name.text, target_key=name.key, kind=_KINDS[link.kind],
                    anchor=link.anchor, rel=link.rel, fragment=link.fragment,
                    internal=name.text.startswith(("http://", "https://")) and site_of(name.text) == site,
                    followed=bool(link.offered and name.admitted),
                )  # fmt: skip

    def packed_links(self, visit: int) -> list[PackedLink]:
        """The links that a visit found, as they are stored."""
        row = self._db.execute("SELECT links FROM link_pack WHERE visit = ?", (visit,)).fetchone()
        return [] if row is None else self._decoded(row[0], visit)

    def _named(self, url: str | None) -> int | None:
        if url is None:
            return None
        page = self.page_id(url)
        if page is None:
            raise WeftError(
                f"{url} is no page known in {self.folder.path} (weft why {self.folder.path} URL tells more)"
            )
        return page

    def packs(self, newest: int, page: int | None = None) -> Iterator[tuple[str, int, int | None, str]]:
        """(url, visit, page, packed links) of the newest visit of every page, and of sitemaps."""
        last = 0
        query = _PACKS if page is None else _PACK_OF_PAGE
        values = {"newest": newest, "page": page, "most": _PACKS_AT_ONCE}
        while rows := self._db.execute(query, {**values, "after": last}).fetchall():
            last = rows[-1][1]
            yield from rows

    def _spellings(self, page: int) -> set[int]:
        """The ids of all URLs that are this page."""
        return {page, *(row[0] for row in self._db.execute("SELECT id FROM url WHERE page = ?", (page,)))}

    def _targets(self, links: str, visit: int) -> list[int]:
        try:
            return [link.target for link in _decode_targets(links)]
        except msgspec.DecodeError as error:
            raise FolderError(self._damaged_links(visit)) from error

    def _decoded(self, links: str, visit: int) -> list[PackedLink]:
        try:
            return _decode_links(links)
        except msgspec.DecodeError as error:
            raise FolderError(self._damaged_links(visit)) from error

    def _damaged_links(self, visit: int) -> str:
        more = f"weft check {self.folder.path} tells more"
        return f"{self.folder.db} is damaged: the links of visit {visit} cannot be read ({more})"

    def _learn_names(self, names: dict[int, _Name], ids: set[int]) -> None:
        """Adds for each URL id that is new: its text, its key, its page, and whether that was admitted."""
        unknown = [number for number in ids if number not in names]
        if unknown:
            rows = self._db.execute(_NAMES, (msgspec.json.encode(sorted(unknown)).decode(),))
            names.update((row[0], _Name(row[1], row[2], row[3], row[4] is not None)) for row in rows)

    def _scalar(self, query: str) -> int:
        row = self._db.execute(query).fetchone()
        if row is None or not isinstance(row[0], int):
            raise FolderError(f"{self.folder.db} is damaged: {query!r} finds nothing")
        return row[0]


def _page(
    row: tuple[Any, ...], newest: int, in_links: int | None, warcs: dict[int, str], duplicate_of: str | None
) -> Page:
    (
        _, visited, state, reason, page_cause, depth, attempts, key, own, asked, found_on, status, cause, truncated,
        media, encoding, language, title, description, canonical, redirect_to, size, size_wire, body_hash, out_links,
        external_links, started_ms, last_modified, server_date, response_ms, ip, http_version, noindex, nofollow, warc,
        warc_offset, _, _,
    ) = row  # fmt: skip
    if visited is not None and visited > newest:  # it was visited since we began: then it waited
        state = "W"
    return Page(
        url=asked or own, key=key or own, state=state, reason=reason, status=None if state == "E" else status,
        error=None if state == "C" else page_cause or cause, truncated=bool(truncated), type=media, encoding=encoding,
        language=language, title=title, description=description, canonical=canonical, found_on=found_on,
        redirect_to=redirect_to, duplicate_of=duplicate_of, size=size, size_wire=size_wire,
        hash=None if body_hash is None else f"{body_hash & (1 << 64) - 1:016x}", depth=depth, attempts=attempts,
        out_links=out_links or 0, external_links=external_links or 0, in_links=in_links, fetched_at=_iso(started_ms),
        last_modified=last_modified, server_date=server_date, response_ms=response_ms, ip=ip, http_version=http_version,
        noindex=bool(noindex), nofollow=bool(nofollow), warc_file=warcs.get(warc), warc_offset=warc_offset,
    )  # fmt: skip


def _iso(epoch_ms: int | None) -> str | None:
    """The same as ``iso_of_ms``, for many instants of the same days: a million rows feel the difference."""
    if epoch_ms is None:
        return None
    day, rest = divmod(epoch_ms, 86_400_000)
    minutes, ms = divmod(rest, 60_000)
    return f"{_date(day)}T{minutes // 60:02d}:{minutes % 60:02d}:{ms // 1000:02d}.{ms % 1000:03d}Z"


@lru_cache(maxsize=128)
def _date(day: int) -> str:
    return (iso_of_ms(day * 86_400_000) or "")[:10]


_decode_links = msgspec.json.Decoder(list[PackedLink]).decode
_decode_targets = msgspec.json.Decoder(list[_Target]).decode

# The visit that counts is the page's newest, or, where that came after we began, its newest before.
COUNTED_VISIT = f"""CASE WHEN p.visit <= :newest THEN p.visit WHEN p.visit IS NOT NULL THEN
    (SELECT max(w.id) FROM visit w WHERE w.page = p.id AND w.id <= :newest AND w.purpose = {Purpose.PAGE.value}) END"""
_PAGES = f"""
SELECT p.id, p.visit, p.state, p.reason, p.cause, p.depth, p.attempts, p.key, o.text, u.text, f.text, v.status, v.cause,
       v.truncated, v.type, v.encoding, v.language, v.title, v.description, v.canonical, v.redirect_to, v.size,
       v.size_wire,
       CASE WHEN v.status BETWEEN 200 AND 299 THEN v.hash END, v.out_links, v.external_links, v.started_ms,
       v.last_modified, v.server_date, v.response_ms, v.ip, v.http_version, v.noindex, v.nofollow, v.warc,
       v.warc_offset, v.digest, v.id
FROM page p JOIN url o ON o.id = p.id LEFT JOIN url u ON u.id = p.url
     LEFT JOIN visit v ON v.id = {COUNTED_VISIT}
     LEFT JOIN visit fv ON fv.id = p.found_in LEFT JOIN url f ON f.id = fv.url
WHERE p.id > :after ORDER BY p.id LIMIT :most
"""
_SHARED = "SELECT v.hash FROM json_each(?) j JOIN visit v ON v.hash = j.value GROUP BY v.hash HAVING count(*) > 1"
_BODY_OF = """
SELECT p.id, v.hash, v.size, v.digest FROM page p JOIN visit v ON v.id = p.visit
WHERE p.id = ? AND v.status BETWEEN 200 AND 299
"""
_PACKS = f"""
SELECT u.text, l.visit, v.page, l.links FROM link_pack l JOIN visit v ON v.id = l.visit JOIN url u ON u.id = v.url
WHERE l.visit > :after AND l.visit <= :newest
      AND (v.purpose = {Purpose.SITEMAP.value} OR (SELECT {COUNTED_VISIT} FROM page p WHERE p.id = v.page) = v.id)
ORDER BY l.visit LIMIT :most
"""
_PACK_OF_PAGE = """
SELECT u.text, l.visit, v.page, l.links FROM page p JOIN link_pack l ON l.visit = p.visit JOIN visit v ON v.id = l.visit
     JOIN url u ON u.id = v.url WHERE p.id = :page AND l.visit > :after
"""
_NAMES = """
SELECT t.id, t.text, coalesce(p.key, o.text, t.text), nullif(coalesce(t.page, t.id), 0), p.state FROM json_each(?) j
     JOIN url t ON t.id = j.value LEFT JOIN page p ON p.id = coalesce(t.page, t.id) LEFT JOIN url o ON o.id = p.id
"""
