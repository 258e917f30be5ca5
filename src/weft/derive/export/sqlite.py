"""Pages and links as plain tables of one SQLite file: the rows and columns of `weft pages` and `weft links` (E1)."""

from __future__ import annotations

from pathlib import Path
from types import NoneType
from typing import get_args, get_type_hints

import msgspec

from weft.derive.export.model import Chosen
from weft.derive.export.scratch import Scratch, scratch
from weft.derive.export.tables import links_of_pages
from weft.derive.read import LinkRow, Page
from weft.derive.rows import batches

_AT_ONCE = 1_000
_INDICES = (
    "CREATE INDEX pages_url ON pages(url)",
    "CREATE INDEX pages_status ON pages(status)",
    "CREATE INDEX links_source ON links(source)",
    "CREATE INDEX links_target ON links(target)",
)
_TYPES = {str: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL"}


def write_sqlite(chosen: Chosen, path: Path) -> int:
    """Writes the tables `pages` and `links`; how many pages there are."""
    visits = bytearray(chosen.newest + 1)
    count = 0
    with scratch(path) as made:
        insert = _table(made, "pages", Page)
        for batch in batches(chosen.pages("writing pages"), _AT_ONCE):
            count += len(batch)
            for page in batch:
                visits[page.ids[1] or 0] = 1
            made.executemany(insert, map(msgspec.structs.astuple, batch))
        insert = _table(made, "links", LinkRow)
        for rows in batches(links_of_pages(chosen, visits), _AT_ONCE):
            made.executemany(insert, map(msgspec.structs.astuple, rows))
        chosen.progress("making indices", 0, 0)
        for statement in _INDICES:
            made.execute(statement)
        made.execute("COMMIT")
    return count


def _table(made: Scratch, name: str, kind: type[msgspec.Struct]) -> str:
    """Makes the table of rows of a kind; the statement that fills it."""
    columns = [f'"{field}" {_column_type(hint)}' for field, hint in get_type_hints(kind).items()]
    made.execute(f"CREATE TABLE {name}({', '.join(columns)})")
    return f"INSERT INTO {name} VALUES({', '.join('?' * len(columns))})"


def _column_type(hint: type) -> str:
    base = next((one for one in get_args(hint) if one is not NoneType), hint)
    return _TYPES[base] + ("" if get_args(hint) else " NOT NULL")
