"""Rows as a table on a terminal: as wide as it is, without columns that are empty, URLs with their ends."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

import msgspec

from weft.text.safe import shown

_ROOM = 32  # for a URL to say something
_LEAST_WIDTH = 8
_LONGEST_CELL = 2_000


class Column(NamedTuple):
    """A column of the table. ``width``: the most that it takes; 0: it shares what the others leave.

    ``fields`` are tried in turn, and the first that is not None is shown. Where there is no room, the columns that
    ``may_go`` are left out, the least first.
    """

    name: str
    fields: tuple[str, ...]
    width: int = 0
    right: bool = False
    may_go: int = 0


class _Place(NamedTuple):
    """A column that is shown: which of the cells of a row it has, and how wide it is."""

    cell: int
    column: Column
    width: int


def write_table(
    batches: Iterable[Sequence[msgspec.Struct]], columns: Sequence[Column], out: IO[bytes], *, bold: bool
) -> None:
    """Writes the rows, a batch at a time, below the names of the columns that have something to show.

    Where a later batch fills a column that was empty so far, the names come again, with that column.
    """
    import shutil

    width = shutil.get_terminal_size().columns
    filled: set[int] = set()
    places: list[_Place] = []
    for rows in batches:
        cells = [[_cell(row, column) for column in columns] for row in rows]
        now = {number for number in range(len(columns)) if any(line[number] for line in cells)}
        if not places or not now <= filled:
            filled |= now
            places = _fitting([_needed(columns[number], number, cells) for number in sorted(filled)], width)
            out.write(_heading(places, bold))
        out.write("".join(f"{_line(line, places)}\n" for line in cells).encode("utf-8", "replace"))
        out.flush()
    if not places:
        out.write(_heading([_Place(number, column, len(column.name)) for number, column in enumerate(columns)], bold))


def _cell(row: msgspec.Struct, column: Column) -> str:
    values = (getattr(row, field) for field in column.fields)
    value: object = next((value for value in values if value is not None), "")
    if isinstance(value, bool):
        return "yes" if value else ""
    return shown(str(value)[:_LONGEST_CELL])


def _needed(column: Column, number: int, cells: Sequence[Sequence[str]]) -> _Place:
    """The column as wide as its cells need."""
    from rich.cells import cell_len

    longest = max((cell_len(line[number]) for line in cells), default=0)
    width = max(len(column.name), min(longest, column.width or longest))
    return _Place(number, column, width)


def _fitting(places: Sequence[_Place], width: int) -> list[_Place]:
    """The columns that a terminal of this width has room for: those that must stay, then what fits, the best first."""
    chosen = [place for place in places if not place.column.may_go]
    for place in sorted(places, key=lambda one: -one.column.may_go):
        if place.column.may_go:
            more = sorted([*chosen, place])
            if _is_roomy(_shared_out(more, width)):
                chosen = more
    return [place._replace(width=given) for place, given in _shared_out(chosen, width)]


def _shared_out(places: Sequence[_Place], width: int) -> list[tuple[_Place, int]]:
    """How wide each column gets: those without a width of their own share what the others leave."""
    room = width - sum(place.width for place in places if place.column.width) - 2 * (len(places) - 1)
    sharing = sorted((place for place in places if not place.column.width), key=lambda place: place.width)
    given = {}
    for number, place in enumerate(sharing):  # the narrowest first: what it does not need is for the others
        given[place.cell] = min(place.width, max(_LEAST_WIDTH, room // (len(sharing) - number)))
        room -= given[place.cell]
    return [(place, given.get(place.cell, place.width)) for place in places]


def _is_roomy(shares: Sequence[tuple[_Place, int]]) -> bool:
    """Whether every column that shares room got what it needs, or enough to say something."""
    return all(given >= min(place.width, _ROOM) for place, given in shares)


def _heading(places: Sequence[_Place], bold: bool) -> bytes:
    names = {place.cell: place.column.name for place in places}
    line = _line([names.get(number, "") for number in range(max(names, default=-1) + 1)], places)
    return (f"\x1b[1m{line}\x1b[0m\n" if bold else f"{line}\n").encode()


def _line(cells: Sequence[str], places: Sequence[_Place]) -> str:
    """One line, its cells cut or filled to their widths as a terminal measures them."""
    from rich.cells import cell_len, set_cell_size

    fitted = []
    for place in places:
        text, width = cells[place.cell], place.width
        length = cell_len(text)
        if length > width:
            # what tells one URL from others of its site stands at its end
            end = text[-(2 * width // 3) :] if text.startswith("http") and text.isascii() else ""
            fitted.append(f"{set_cell_size(text, width - 1 - len(end))}\u2026{end}")
        else:
            filling = " " * (width - length)
            fitted.append(filling + text if place.column.right else text + filling)
    return "  ".join(fitted).rstrip()
