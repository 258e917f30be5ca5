"""weft pages: the pages of a crawl, one object each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import msgspec

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


def _pages(crawl: StoredCrawl, args: argparse.Namespace) -> tuple[Iterable[msgspec.Struct], type[msgspec.Struct]]:
    """The rows with the fields that ``--with`` adds, and their type."""
    rows: Iterable[Page] = crawl.pages(everything=args.all)
    if not args.additions:
        return rows, Page
    from weft.cli.arguments import PAGE_ADDITIONS
    from weft.derive.additions import additions_of, pages_with

    kind: type[Page] = Page
    names = additions_of(args.additions, PAGE_ADDITIONS)
    if "measures" in names:
        from weft.derive.graph.kept import MeasuredPage, measured_pages, require_measures

        require_measures(crawl)
        rows, kind = measured_pages(crawl, crawl.pages(everything=args.all)), MeasuredPage
        names.remove("measures")
    return pages_with(crawl, rows, kind, names) if names else (rows, kind)


def run(args: argparse.Namespace) -> int:
    with StoredCrawl(args.folder) as crawl:
        rows, kind = _pages(crawl, args)
        rows = rows_where(rows, kind, args.where)
        if args.fields is None:
            write_rows(rows, kind, COLUMNS, asked=args.format, file=args.to_file, folder=crawl.folder)
        else:
            chosen, narrow, columns = only_fields(rows, kind, field_names(args.fields, kind))
            write_rows(chosen, narrow, columns, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
