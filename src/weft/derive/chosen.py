"""The rows and the fields that a user chooses: ``--where EXPRESSION`` and ``--fields NAME,NAME``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from types import NoneType
from typing import TypeVar, get_args, get_type_hints

import msgspec

from weft.derive.rows import batches
from weft.derive.table import Column
from weft.errors import SpecError

_ROWS_AT_ONCE = 1_000
_TEXT_WIDTH = 24

Row = TypeVar("Row", bound=msgspec.Struct)


def rows_where(rows: Iterable[Row], kind: type[Row], expressions: Sequence[str]) -> Iterable[Row]:
    """The rows for which every expression is true. ``SpecError`` at once where one cannot be understood."""
    if not expressions:
        return rows
    from weft.derive.graph.where import row_filters

    filters = row_filters(expressions, kind.__struct_fields__)

    def passing() -> Iterator[Row]:
        for batch in batches(rows, _ROWS_AT_ONCE):
            for one in filters:
                places = one.passing([msgspec.structs.astuple(row) for row in batch])
                batch = [row for number, row in enumerate(batch) if number in places]
            yield from batch

    return passing()


def field_names(text: str, kind: type[msgspec.Struct]) -> list[str]:
    """The names of fields in ``--fields``, each once; ``SpecError`` for one that the rows do not have."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        if name not in kind.__struct_fields__:
            known = ", ".join(kind.__struct_fields__)
            raise SpecError(f"--fields: there is no field {name!r} (there are {known})")
    if not names:
        raise SpecError("--fields needs the name of a field, for example --fields url,status,title")
    return names


def only_fields(
    rows: Iterable[msgspec.Struct], kind: type[msgspec.Struct], names: Sequence[str]
) -> tuple[Iterator[msgspec.Struct], type[msgspec.Struct], list[Column]]:
    """The rows with these fields only, in this order; their type, and the columns of their table."""
    hints = get_type_hints(kind)
    narrow = msgspec.defstruct("Row", [(name, hints[name]) for name in names], frozen=True)
    made = (narrow(*[getattr(row, name) for name in names]) for row in rows)
    return made, narrow, [_column(name, hints[name]) for name in names]


def _column(name: str, annotation: object) -> Column:
    """Texts that may be long share the room of the table; numbers stand at the right."""
    types = {one for one in get_args(annotation) if one is not NoneType} or {annotation}
    if types & {int, float}:
        return Column(name, (name,), _TEXT_WIDTH, right=True)
    return Column(name, (name,))
