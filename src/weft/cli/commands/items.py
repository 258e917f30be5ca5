"""weft items: what a crawl was made for, a row per value and page, or per value."""

from __future__ import annotations

import argparse

from weft.cli.main import tell
from weft.derive.items.rows import Wanted, items_of, row_type
from weft.derive.read import StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError
from weft.text.human import counted

COLUMNS = (
    Column("kind", ("kind",), 10),
    Column("value", ("value",)),
    Column("sure", ("confidence",), 4, right=True),
    Column("form", ("obscured",), 10, may_go=2),
    Column("pages", ("pages",), 5, right=True, may_go=1),
    Column("page", ("page",)),
    Column("context", ("context",), may_go=3),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        if args.forget is not None:
            return _forget(crawl, args.forget)
        wanted = Wanted(tuple(args.kind), args.placeholders, args.unique)
        kind = row_type(crawl, wanted)
        rows = items_of(crawl, wanted, kind)
        write_rows(rows, kind, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0


def _forget(crawl: StoredCrawl, expression: str) -> int:
    from weft.derive.items.forget import forget
    from weft.store.items import forget_pattern

    try:
        forget_pattern(expression)
    except ValueError as error:
        raise SpecError(f"--forget: {error}") from None
    with crawl.folder.lock():
        count = forget(crawl, expression)
    tell(
        f"{counted(count, 'item')} forgotten, and kept out from now on; the archive still has the pages"
        " on which they stand"
    )
    return 0
