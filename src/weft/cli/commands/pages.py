"""weft pages: the pages of a crawl, one object each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from weft.derive.chosen import field_names, only_fields, rows_where
from weft.derive.read import Page, StoredCrawl
from weft.derive.rows import write_rows
from weft.derive.table import Column

COLUMNS = (
    Column("state", ("state",), 5),
    Column("http", ("status",), 4, right=True),
    Column("error or reason", ("error", "reason"), 18),
    Column("type", ("type",), 16, may_go=2),
    Column("size", ("size",), 9, right=True, may_go=3),
    Column("depth", ("depth",), 5, right=True, may_go=5),
    Column("in", ("in_links",), 6, right=True, may_go=1),
    Column("url", ("url",)),
    Column("title", ("title",), may_go=4),
)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        rows: Iterable[Page] = crawl.pages(everything=args.all)
        kind: type[Page] = Page
        if args.with_measures:
            from weft.derive.graph.kept import MeasuredPage, measured_pages, require_measures

            require_measures(crawl)
            rows, kind = measured_pages(crawl, crawl.pages(everything=args.all)), MeasuredPage
        rows = rows_where(rows, kind, args.where)
        if args.fields is None:
            write_rows(rows, kind, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
        else:
            chosen, narrow, columns = only_fields(rows, kind, field_names(args.fields, kind))
            write_rows(chosen, narrow, columns, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
