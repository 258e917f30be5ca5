"""Filters in the words of SQL (`depth <= 3 and site like '%.org'`), judged by a private SQLite that holds nothing else.

An expression never reaches the crawl's database: rows are put into a table in memory, and an authorizer lets the
expression read that table's columns and call harmless functions, and nothing more. What it reads tells whether it
speaks of nodes or of links.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from weft.derive.graph.model import Value
from weft.derive.read import PackedLink
from weft.errors import SpecError
from weft.records import LinkKind

EDGE_COLUMNS = ("kind", "anchor", "rel", "fragment", "nofollow", "weight")
_KINDS = {kind.value: kind.label for kind in LinkKind}
_FUNCTIONS = frozenset(
    {
        "abs", "coalesce", "glob", "ifnull", "iif", "instr", "length", "like", "lower", "ltrim", "max", "min", "nullif",
        "regexp", "replace", "round", "rtrim", "substr", "substring", "trim", "typeof", "unicode", "upper",
    }
)  # fmt: skip
_MOST_LENGTH = 10_000
_LONGEST_TEXT = 1_000_000


class Filter:
    """One expression over rows with named columns. ``SpecError`` where it cannot be understood."""

    def __init__(self, expression: str, columns: Sequence[str]) -> None:
        self._expression = expression
        self.read: set[str] = set()
        self._own = True
        self._selects = 0
        self._db = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_TEXT)
        self._db.setlimit(sqlite3.SQLITE_LIMIT_EXPR_DEPTH, 100)
        self._db.create_function("regexp", 2, _matches, deterministic=True)
        names = ", ".join(f'"{name}"' for name in columns)
        self._db.execute(f"CREATE TABLE row({names})")
        self._insert = f"INSERT INTO row VALUES({', '.join('?' * len(columns))})"
        self._query = f"SELECT rowid FROM row WHERE (\n{expression}\n)"
        self._db.set_authorizer(self._authorize)
        self.passing([])

    def passing(self, rows: Iterable[Sequence[Value]]) -> set[int]:
        """The places, from 0, of the rows that pass."""
        self._db.execute("DELETE FROM row")
        self._db.executemany(self._insert, rows)
        self._own, self._selects = False, 0
        try:
            return {number - 1 for (number,) in self._db.execute(self._query).fetchall()}
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
            raise SpecError(f"--where {self._expression!r}: {_reworded(error)}") from error
        finally:
            self._own = True

    def close(self) -> None:
        self._db.close()

    def _authorize(self, action: int, first: str | None, second: str | None, _: object, __: object) -> int:
        if self._own:
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_SELECT:
            self._selects += 1
            return sqlite3.SQLITE_OK if self._selects == 1 else sqlite3.SQLITE_DENY
        if action == sqlite3.SQLITE_READ and first == "row":
            self.read.add((second or "").lower())
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FUNCTIONS:
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_DENY


def _matches(pattern: object, text: object) -> bool | None:
    """Whether a regular expression (RE2) is found in the text."""
    if pattern is None or text is None:
        return None
    return _compiled(str(pattern)).search(str(text)) is not None


@lru_cache(maxsize=100)
def _compiled(pattern: str) -> Any:
    import re2

    settings = re2.Options()
    settings.log_errors = False
    return re2.compile(pattern, settings)


def _reworded(error: Exception) -> str:
    text = str(error)
    if "not authorized" in text or "prohibited" in text:
        return "only columns, values, and simple functions are allowed"
    if "user-defined function" in text:
        return "the regular expression cannot be read"
    return text


class EdgeFilter:
    """Filters over links: those that name `weight` judge edges, after links were merged; the others single links."""

    def __init__(self, filters: Sequence[Filter]) -> None:
        self._before = [one for one in filters if "weight" not in one.read]
        self._after = [one for one in filters if "weight" in one.read]

    def links(self, links: list[tuple[int, PackedLink]]) -> list[tuple[int, PackedLink]]:
        """The links that pass."""
        for one in self._before:
            passing = one.passing([_row(link) for _, link in links])
            links = [link for number, link in enumerate(links) if number in passing]
        return links

    def edges(self, edges: list[tuple[int, int, str, int]]) -> list[tuple[int, int, str, int]]:
        """The edges (target, weight, anchor, kind) that pass."""
        for one in self._after:
            passing = one.passing([(_KINDS.get(kind), anchor, None, None, None, n) for _, n, anchor, kind in edges])
            edges = [edge for number, edge in enumerate(edges) if number in passing]
        return edges


def _row(link: PackedLink) -> tuple[Value, ...]:
    nofollow = "nofollow" in link.rel.lower().split()
    return _KINDS.get(link.kind), link.anchor, link.rel, link.fragment, nofollow, None


class Filters(NamedTuple):
    """Filters by what they speak of."""

    nodes: list[Filter]
    groups: list[Filter]
    edges: list[Filter]


def row_filters(expressions: Sequence[str], columns: Sequence[str]) -> list[Filter]:
    """Filters over rows of one kind, as `weft pages` has them."""
    filters = []
    for expression in expressions:
        _require_readable(expression)
        try:
            filters.append(Filter(expression, columns))
        except SpecError as error:
            raise _told([error], [(columns, "they")]) from error
    return filters


def _require_readable(expression: str) -> None:
    if len(expression) > _MOST_LENGTH or "\x00" in expression:
        raise SpecError(f"--where: an expression of {len(expression):,} characters cannot be read")


def filters_of(expressions: Sequence[str], node_columns: Sequence[str], group_columns: Sequence[str] = ()) -> Filters:
    """Filters over pages, groups of pages, and links, as the columns that they name tell; groups come first."""
    kinds = [(node_columns, "pages"), (EDGE_COLUMNS, "links")]
    if group_columns:
        kinds.insert(0, (group_columns, "nodes"))
    found: dict[str, list[Filter]] = {"pages": [], "nodes": [], "links": []}
    for expression in expressions:
        _require_readable(expression)
        troubles: list[SpecError] = []
        for columns, kind in kinds:
            try:
                found[kind].append(Filter(expression, columns))
                break
            except SpecError as error:
                troubles.append(error)
        else:
            raise _told(troubles, kinds)
    return Filters(found["pages"], found["nodes"], found["links"])


def _told(troubles: Sequence[SpecError], kinds: Sequence[tuple[Sequence[str], str]]) -> SpecError:
    """The error that helps most: what is wrong beside the columns, or else which columns there are."""
    for trouble in troubles:
        if "no such column" not in str(trouble):
            return trouble
    known = "; ".join(f"{kind} have {', '.join(columns)}" for columns, kind in kinds)
    return SpecError(f"{troubles[0]} ({known})")
