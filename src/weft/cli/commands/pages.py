"""weft pages: the pages of a crawl, one object each."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

import msgspec

from weft.derive.chosen import field_names, only_fields, rows_where
from weft.derive.read import Page, StoredCrawl
from weft.derive.read.versions import Version, versions_of
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import SpecError

COLUMNS: tuple[Column, ...] = (
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


VERSION_COLUMNS = (
    Column("fetched", ("fetched_at",), 24),
    Column("http", ("status",), 4, right=True),
    Column("error", ("error",), 18),
    Column("changed", ("changed",), 7),
    Column("url", ("url",)),
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
    if args.versions and (args.all or args.additions):
        raise SpecError("pages: --versions is about attempts: not with --all or --with")
    with StoredCrawl(args.folder) as crawl:
        rows, kind = (versions_of(crawl), Version) if args.versions else _pages(crawl, args)
        columns = VERSION_COLUMNS if args.versions else COLUMNS
        rows = rows_where(rows, kind, args.where)
        if args.fields is None:
            write_rows(rows, kind, columns, asked=args.format, file=args.to_file, folder=crawl.folder)
        else:
            chosen, narrow, few = only_fields(rows, kind, field_names(args.fields, kind))
            write_rows(chosen, narrow, few, asked=args.format, file=args.to_file, folder=crawl.folder)
    return 0
