"""The items of a stored crawl as rows: one for each value and page, or one for each value (E24)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from keyword import iskeyword
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from weft.derive.read import StoredCrawl
from weft.derive.read.model import COUNTED_VISIT
from weft.spec import Harvest
from weft.text.dates import iso_of_ms

if TYPE_CHECKING:
    from weft.extract.extractor import Extractor

SURE = 0.5
"""Items with less confidence are shown only when they are asked for."""

_CHUNK = 200

FieldValue = str | int | float | list[str | int | float] | None


class ItemRow(msgspec.Struct, frozen=True, kw_only=True):
    """One item, as `weft items` shows it. Items with fields of their own have a column more for each."""

    value: str
    kind: str
    page: str
    context: str
    obscured: str
    position: int
    confidence: float
    first_seen: str | None
    last_seen: str | None
    pages: int | None  # None where they were not counted
    noindex: bool


class Wanted(NamedTuple):
    """Which items: of some kinds (none named: of all), sure ones only, each value once."""

    kinds: tuple[str, ...] = ()
    doubtful: bool = False
    unique: bool = False


class _Stored(NamedTuple):
    """A row of the table, with what is told of its visit."""

    page: int
    visit: int
    kind: str
    value: str
    context: str
    obscured: str
    position: int
    confidence: float
    fields: str | None
    url: str
    started_ms: int
    noindex: bool
    counted: int | None


class _Sum(NamedTuple):
    """What all pages together say of one value."""

    pages: int
    first_ms: int
    last_ms: int


def row_type(crawl: StoredCrawl, wanted: Wanted) -> type[ItemRow]:
    """The row with a column for every field that the wanted items have; a name that is taken gets a ``_`` behind it."""
    if not _has_items(crawl):
        return ItemRow
    names = crawl.connection.execute(
        f"SELECT DISTINCT f.key FROM item i, json_each(i.fields) f WHERE i.fields IS NOT NULL {_of_kinds(wanted)}"
        " ORDER BY i.id",
        wanted.kinds,
    )
    return _row_with(tuple(dict.fromkeys(_column_of(name) for (name,) in names)))


@cache
def _row_with(columns: tuple[str, ...]) -> type[ItemRow]:
    """The row with these columns more."""
    if not columns:
        return ItemRow
    made = msgspec.defstruct(
        "FieldsRow",
        [(column, FieldValue, None) for column in columns],
        bases=(ItemRow,),
        frozen=True,
        kw_only=True,
        omit_defaults=True,
    )
    assert issubclass(made, ItemRow)
    return made


def items_of(crawl: StoredCrawl, wanted: Wanted, kind: type[ItemRow]) -> Iterator[ItemRow]:
    """The rows, page by page in the order in which the pages were found; with ``unique`` in that of their values."""
    make = _maker(kind)
    if not _has_items(crawl):
        return
    if wanted.unique:
        yield from _unique(crawl, wanted, make)
        return
    pages = _page_counts(crawl, wanted)
    for of_page in _pages(crawl, wanted):
        seen = _seen_on_page(of_page)
        for one in of_page:
            if one.visit == one.counted and (wanted.doubtful or one.confidence >= SURE):
                first_ms, last_ms = seen[one.kind, one.value]
                yield make(one, _Sum(pages.get((one.kind, one.value), 1), first_ms, last_ms))


def items_of_page(crawl: StoredCrawl, page: int, visit: int) -> list[ItemRow]:
    """The sure items that a visit of a page found; on how many other pages they stand is not counted.

    Where a crawl looked for no items and has none, the contacts of the page are looked for now.
    """
    of_page = _stored_of(crawl, page) if _has_items(crawl) else []
    if not of_page and not _has_looked(crawl):
        of_page = _found_now(crawl, page, visit)
    sure = [one for one in of_page if one.visit == visit and one.confidence >= SURE]
    names = [name for one in sure if one.fields for name in msgspec.json.decode(one.fields)]
    make = _maker(_row_with(tuple(dict.fromkeys(map(_column_of, names)))))
    seen = _seen_on_page(of_page)
    rows = (make(one, _Sum(1, *seen[one.kind, one.value])) for one in sure)
    return [msgspec.structs.replace(row, pages=None) for row in rows]


def _stored_of(crawl: StoredCrawl, page: int) -> list[_Stored]:
    values = {"page": page, "newest": crawl.newest_visit()}
    return [_Stored(*row) for row in crawl.connection.execute(_ITEMS_OF_PAGE, values)]


def _has_looked(crawl: StoredCrawl) -> bool:
    """Whether items were looked for, while crawling or afterwards, or were to be forgotten."""
    return crawl.spec.harvest.is_wanted or (
        _has_items(crawl) and crawl.scalar("SELECT EXISTS(SELECT 1 FROM item) OR EXISTS(SELECT 1 FROM forgotten)") > 0
    )


def _found_now(crawl: StoredCrawl, page: int, visit: int) -> list[_Stored]:
    """The contacts of a page. ``WeftError`` where its body cannot be had."""
    from weft.derive.items.again import extract_page  # only where the table has nothing to give

    url, started_ms, noindex = crawl.connection.execute(_VISIT, (visit,)).fetchone()
    return [
        _Stored(
            page=page, visit=visit, kind=item.kind, value=item.value, context=item.context, obscured=item.obscured,
            position=item.position, confidence=item.confidence, fields=item.fields or None, url=url,
            started_ms=started_ms, noindex=bool(noindex), counted=visit,
        )
        for item in extract_page(crawl, page, _contacts()).items
    ]  # fmt: skip


@cache
def _contacts() -> Extractor:
    """What looks for addresses, numbers and profiles."""
    from weft.extract.extractor import Extractor
    from weft.parse.source import READING

    return Extractor(Harvest(kinds=("email", "phone", "social")), READING)


def _has_items(crawl: StoredCrawl) -> bool:
    """Not in a crawl of an older version that was not resumed since."""
    return crawl.scalar("SELECT count(*) FROM sqlite_master WHERE name = 'item'") > 0


def _unique(crawl: StoredCrawl, wanted: Wanted, make: Callable[[_Stored, _Sum], ItemRow]) -> Iterator[ItemRow]:
    best: dict[tuple[str, str], _Stored] = {}
    sums: dict[tuple[str, str], _Sum] = {}
    for of_page in _pages(crawl, wanted):
        seen = _seen_on_page(of_page)
        counted: set[tuple[str, str]] = set()
        for one in of_page:
            key = one.kind, one.value
            if one.visit != one.counted or (one.confidence < SURE and not wanted.doubtful):
                continue
            first_ms, last_ms = seen[key]
            known = sums.get(key)
            if known is None:
                best[key], sums[key] = one, _Sum(1, first_ms, last_ms)
            else:
                sums[key] = _Sum(
                    known.pages + (key not in counted), min(known.first_ms, first_ms), max(known.last_ms, last_ms)
                )
                if one.confidence > best[key].confidence:
                    best[key] = one
            counted.add(key)
    for key in sorted(best):
        yield make(best[key], sums[key])


def _seen_on_page(of_page: Sequence[_Stored]) -> dict[tuple[str, str], tuple[int, int]]:
    """When each value was first and last seen on a page."""
    seen: dict[tuple[str, str], tuple[int, int]] = {}
    for one in of_page:
        first_ms, last_ms = seen.get((one.kind, one.value), (one.started_ms, one.started_ms))
        seen[one.kind, one.value] = min(first_ms, one.started_ms), max(last_ms, one.started_ms)
    return seen


def _page_counts(crawl: StoredCrawl, wanted: Wanted) -> dict[tuple[str, str], int]:
    """On how many pages the values stand that stand on more than one."""
    rows = crawl.connection.execute(
        "SELECT i.kind, i.value, count(DISTINCT i.page) FROM item i JOIN page p ON p.id = i.page AND p.visit = i.visit"
        f" WHERE true {_of_kinds(wanted)} GROUP BY i.kind, i.value HAVING count(DISTINCT i.page) > 1",
        wanted.kinds,
    )
    return {(kind, value): count for kind, value, count in rows}


def _pages(crawl: StoredCrawl, wanted: Wanted) -> Iterator[list[_Stored]]:
    """The items of each page that has any, those of all its visits."""
    newest, last = crawl.newest_visit(), 0
    kinds = {f"kind{at}": kind for at, kind in enumerate(wanted.kinds)}
    query = _ITEMS.format(kinds=f"AND i.kind IN ({', '.join(f':{name}' for name in kinds)})" if kinds else "")
    while True:
        values = {"after": last, "newest": newest, "most": _CHUNK, **kinds}
        rows = [_Stored(*row) for row in crawl.connection.execute(query, values)]
        if not rows:
            return
        last = rows[-1].page
        for _, of_page in groupby(rows, key=itemgetter(0)):
            yield list(of_page)


def _of_kinds(wanted: Wanted) -> str:
    return f"AND i.kind IN ({', '.join('?' * len(wanted.kinds))})" if wanted.kinds else ""


def _maker(kind: type[ItemRow]) -> Callable[[_Stored, _Sum], ItemRow]:
    own = frozenset(kind.__struct_fields__)

    def make(one: _Stored, total: _Sum) -> ItemRow:
        fields: dict[str, Any] = msgspec.json.decode(one.fields) if one.fields else {}
        more = {column: value for name, value in fields.items() if (column := _column_of(name)) in own}
        return kind(
            value=one.value, kind=one.kind, page=one.url, context=one.context, obscured=one.obscured,
            position=one.position, confidence=one.confidence, first_seen=iso_of_ms(total.first_ms),
            last_seen=iso_of_ms(total.last_ms), pages=total.pages, noindex=bool(one.noindex), **more,
        )  # fmt: skip

    return make


def _column_of(name: str) -> str:
    """The column of a field: its name, where no other column has that."""
    column = "".join(char if char.isalnum() else "_" for char in name)
    if column in ItemRow.__struct_fields__ or not column.isidentifier() or iskeyword(column):
        return f"{column}_" if column.isidentifier() else f"field_{column}"
    return column


_ITEM = f"""
SELECT i.page, i.visit, i.kind, i.value, i.context, i.obscured, i.position, i.confidence, i.fields,
       coalesce(u.text, o.text), v.started_ms, v.noindex, {COUNTED_VISIT}"""
_JOINED = """
     JOIN page p ON p.id = i.page JOIN visit v ON v.id = i.visit JOIN url o ON o.id = p.id
     LEFT JOIN url u ON u.id = p.url"""
# A chunk takes whole pages: all items of those among the next pages that have any.
_ITEMS = f"""{_ITEM}
FROM (SELECT DISTINCT page AS id FROM item WHERE page > :after ORDER BY page LIMIT :most) n
     JOIN item i ON i.page = n.id {_JOINED}
WHERE i.visit <= :newest {{kinds}} ORDER BY i.page, i.id
"""
_ITEMS_OF_PAGE = f"{_ITEM} FROM item i {_JOINED} WHERE i.page = :page AND i.visit <= :newest ORDER BY i.id"
_VISIT = "SELECT u.text, v.started_ms, v.noindex FROM visit v JOIN url u ON u.id = v.url WHERE v.id = ?"
