"""Which page stands for another one: by its body, and where the crawl asks for it by its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import msgspec

from weft.derive.duplicates.bodies import Bodies
from weft.derive.read import StoredCrawl
from weft.errors import SpecError
from weft.ports import Progress, silent
from weft.spec import Duplicates as Settings

EXACT, NEAR = "exact", "near"
STORED_AS = "near_duplicates"  # the row of ``meta`` that says what the table near_duplicate was made from


class Verdict(NamedTuple):
    """The page that stands for another one, how alike they are, and whether by bytes or by text."""

    page: int
    url: str
    similarity: float
    kind: str


class NearVerdict(NamedTuple):
    """The page that stands for a near-duplicate."""

    page: int
    similarity: float


class Verdicts:
    """Tells for any page of a crawl which one stands for it.

    ``near`` are the near-duplicates by the ids of their pages, as ``near_verdicts`` and ``stored_verdicts`` give them.
    """

    def __init__(self, crawl: StoredCrawl, near: Mapping[int, NearVerdict]) -> None:
        self._crawl = crawl
        self._near = near
        self._bodies = Bodies(crawl)

    def of(
        self, page: int, body_hash: int | None, size: int | None, digest: str | None, *, alone: bool = False
    ) -> Verdict | None:
        """The verdict on a page with this body; None for a page that stands for itself.

        ``alone``: it is known that no other page has this body. A representative is nobody's duplicate: a copy of a
        page that is near another belongs to that other one.
        """
        if body_hash is None:
            return None
        same = None if alone else self._bodies.representative(body_hash, size, digest)
        near = self._near.get(page if same is None else same.page)
        if near is not None:
            row = self._crawl.connection.execute(_URL, (near.page,)).fetchone()
            return Verdict(near.page, row[0], near.similarity, NEAR) if row is not None else None
        return None if same is None or same.page == page else Verdict(same.page, same.url, 1.0, EXACT)


def near_verdicts(crawl: StoredCrawl, progress: Progress = silent) -> Mapping[int, NearVerdict]:
    """The near-duplicates of a crawl: those it stored at its end, or where it went on since, found out anew."""
    settings = settings_of(crawl)
    if settings.near is None:
        return {}
    stored = _current(crawl, settings)
    if stored is not None:
        return stored
    found = find_near(crawl, settings, progress)
    return {page: NearVerdict(other, similarity) for page, other, similarity in found}


def stored_verdicts(crawl: StoredCrawl) -> Mapping[int, NearVerdict]:
    """The near-duplicates that the crawl stored at its end; nothing where it went on since."""
    settings = settings_of(crawl)
    return (_current(crawl, settings) if settings.near is not None else None) or {}


def find_near(crawl: StoredCrawl, settings: Settings, progress: Progress) -> Iterator[tuple[int, int, float]]:
    """(page, representative, similarity) by ids, from the texts; numpy is loaded only here."""
    from weft.derive.duplicates.find import Duplicates
    from weft.judge.likeness import Likeness

    like = Likeness(settings.near or 0.0, settings.sketch, settings.similarity)
    return Duplicates(crawl, like, progress).near_pages()


def settings_of(crawl: StoredCrawl) -> Settings:
    """What the crawl was told of duplicates; the defaults where crawl.toml cannot be read."""
    try:
        return crawl.spec.duplicates
    except (SpecError, OSError):
        return Settings()


def stamp_of(crawl: StoredCrawl, settings: Settings) -> str:
    """What verdicts depend on: the visits so far, and the settings that decide."""
    values = [crawl.newest_visit(), settings.near, settings.sketch, settings.similarity]
    return msgspec.json.encode(values).decode()


def _current(crawl: StoredCrawl, settings: Settings) -> Mapping[int, NearVerdict] | None:
    db = crawl.connection
    row = db.execute("SELECT value FROM meta WHERE name = ?", (STORED_AS,)).fetchone()
    return _StoredNear(crawl) if row is not None and row[0] == stamp_of(crawl, settings) else None


class _StoredNear(Mapping[int, NearVerdict]):
    """The table near_duplicate, looked up row by row."""

    def __init__(self, crawl: StoredCrawl) -> None:
        self._db = crawl.connection

    def __getitem__(self, page: int) -> NearVerdict:
        row = self._db.execute("SELECT duplicate_of, similarity FROM near_duplicate WHERE page = ?", (page,)).fetchone()
        if row is None:
            raise KeyError(page)
        return NearVerdict(*row)

    def __iter__(self) -> Iterator[int]:
        return (row[0] for row in self._db.execute("SELECT page FROM near_duplicate ORDER BY page"))

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM near_duplicate").fetchone()
        return int(count)


_URL = "SELECT text FROM page_url WHERE page = ?"
