"""weft graph: the web graph of a crawl, in the forms that people's tools read."""

from __future__ import annotations

import argparse

import msgspec

from weft.cli.machine import print_json
from weft.cli.main import tell, warn
from weft.cli.progress import ShownProgress
from weft.derive.graph import Choice, Level, Merged, form_of, graph_of, page_graph, write_graph
from weft.derive.graph.build import picture_graph
from weft.derive.graph.pages import PageGraph
from weft.derive.graph.write import PICTURES, files_of, refuse_targets, write_each_site
from weft.derive.read import StoredCrawl
from weft.derive.rows import FORMATS as ROW_FORMATS
from weft.derive.rows import write_rows
from weft.derive.table import Column
from weft.errors import FolderError, SpecError, StoreError
from weft.ports import Progress
from weft.text.human import counted

LOST_COLUMNS = (
    Column("depth", ("depth",), 5, right=True),
    Column("url", ("url",)),
    Column("title", ("title",), may_go=1),
)


class Written(msgspec.Struct, frozen=True, kw_only=True):
    """What was written, as ``--json`` shows it."""

    nodes: int
    edges: int
    files: list[str]


def run(args: argparse.Namespace) -> int:
    _take_urls(args)
    if args.to_file and args.per_site:
        raise SpecError("graph: --to FILE or --per-site FOLDER, not both")
    if args.without:
        return _what_if(args)
    if not (args.to_file or args.per_site or args.measures):
        raise SpecError("graph: say where to: --to FILE.gexf, or --per-site FOLDER")
    choice = _choice(args)
    if choice.dynamic:
        _want_gexf(args)
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        if args.per_site:
            written = _write_sites(crawl, choice, args, progress)
        elif args.to_file:
            written = _write_one(crawl, choice, args, progress)
        else:
            written = _measure(crawl, choice, progress)
    if args.json:
        print_json(written)
    else:
        files = written.files
        several = f"{counted(len(files), 'file')} in {args.per_site}" if args.per_site else ", ".join(files)
        tell(f"{counted(written.nodes, 'node')}, {counted(written.edges, 'edge')} in {several}")
    return 0


def _want_gexf(args: argparse.Namespace) -> None:
    """Raises ``SpecError`` where ``--dynamic`` would say nothing: only GEXF has a place for times, and only pages."""
    form = form_of(args.to_file, args.format) if args.to_file else args.format or "gexf"
    if form != "gexf" or (args.level or "page") != "page":
        raise SpecError("graph: --dynamic is for pages in GEXF: give it with --to FILE.gexf, without --level")


def _write_sites(crawl: StoredCrawl, choice: Choice, args: argparse.Namespace, progress: Progress) -> Written:
    nodes = edges = 0
    files: list[str] = []
    form = args.format or "gexf"
    for _, graph, paths in write_each_site(
        crawl, args.per_site, choice, form=form, force=args.force, progress=progress
    ):
        nodes, edges = nodes + graph.node_count, edges + graph.edge_count
        files += map(str, paths)
    return Written(nodes=nodes, edges=edges, files=files)


def _write_one(crawl: StoredCrawl, choice: Choice, args: argparse.Namespace, progress: Progress) -> Written:
    form = form_of(args.to_file, args.format)
    refuse_targets(files_of(args.to_file, form), crawl.folder, args.force)  # before the work, not after it
    chosen = args.level is None and form in PICTURES
    graph = (picture_graph if chosen else graph_of)(crawl, choice, progress)
    if isinstance(graph, PageGraph) and _is_whole(choice):
        try:
            _keep_measures(crawl, graph, progress)
        except (FolderError, StoreError) as error:  # the file is what was asked for first
            warn(f"the measures are not kept in the database: {error}")
    paths = write_graph(graph, args.to_file, crawl.folder, form=form, force=args.force, progress=progress)
    return Written(nodes=graph.node_count, edges=graph.edge_count, files=[str(path) for path in paths])


def _measure(crawl: StoredCrawl, choice: Choice, progress: Progress) -> Written:
    if not _is_whole(choice):
        raise SpecError("graph: --measures without --to keeps those of all pages: other options want --to FILE")
    graph = page_graph(crawl, choice, progress)
    _keep_measures(crawl, graph, progress)
    return Written(nodes=graph.node_count, edges=graph.edge_count, files=[str(crawl.folder.db)])


def _is_whole(choice: Choice) -> bool:
    """Whether it is the graph whose measures are kept: all pages, merged as ever."""
    return choice == Choice(measures=True)


def _keep_measures(crawl: StoredCrawl, graph: PageGraph, progress: Progress) -> None:
    from weft.derive.graph.kept import keep_measures

    keep_measures(crawl, graph, progress)


def _take_urls(args: argparse.Namespace) -> None:
    """Further URLs of --without stand among the positionals, before or after the folder."""
    words = [args.folder, *args.more]
    folders = [word for word in words if "://" not in word]
    if args.more and (not args.without or len(folders) != 1):
        raise SpecError(f"graph: {args.more[0]!r} is one argument too many (see weft graph --help)")
    if folders:
        args.folder = folders[0]
    args.without += [word for word in words if "://" in word and word != args.folder]


def _what_if(args: argparse.Namespace) -> int:
    """Which pages would be lost without some others."""
    from weft.derive.graph.without import Lost, WhatIf

    if args.per_site or (args.level or "page") != "page" or args.multi:
        raise SpecError("graph: --without is about pages of the whole crawl: not with --per-site, --level or --multi")
    choice = _choice(args)
    with StoredCrawl(args.folder) as crawl, ShownProgress() as progress:
        if args.to_file:
            refuse_targets(files_of(args.to_file, form_of(args.to_file, args.format)), crawl.folder, args.force)
        graph = page_graph(crawl, choice, progress)
        found = WhatIf(graph, args.without, progress)
        if args.to_file:
            found.mark()
            write_graph(graph, args.to_file, crawl.folder, form=args.format, force=args.force, progress=progress)
        told = f"{len(found.lost):,} of {counted(graph.node_count, 'page')} could not be reached"
        tell(f"without {', '.join(args.without)}: {told}")
        if not args.to_file:
            asked = args.format if args.format in ROW_FORMATS else None
            write_rows(found.pages(), Lost, LOST_COLUMNS, asked=asked, file=None, folder=crawl.folder)
    return 0


def _choice(args: argparse.Namespace) -> Choice:
    return Choice(
        level=Level(args.level or Level.PAGE),
        merged=Merged(args.merged),
        canonical=args.canonical,
        all_types=args.nodes == "all",
        self_loops=args.self_loops,
        multi=args.multi,
        external=args.with_external,
        dynamic=args.dynamic,
        where=tuple(args.where),
        measures=args.measures,
    )
