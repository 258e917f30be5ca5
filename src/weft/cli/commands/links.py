"""weft links: the links of a crawl, in order; of one page, to one page, or to broken pages."""

from __future__ import annotations

import argparse

from weft.derive.read import LinkRow, StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column

COLUMNS = (
    Column("kind", ("kind",), 9),
    Column("followed", ("followed",), 8, may_go=2),
    Column("target is", ("target_status", "target_error"), 17, may_go=3),
    Column("source", ("source",)),
    Column("target", ("target",)),
    Column("anchor", ("anchor",), may_go=1),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        rows = crawl.links(source=args.from_url, target=args.to_url, broken=args.broken)
        write_rows(rows, LinkRow, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
