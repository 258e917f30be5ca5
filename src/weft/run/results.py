"""What a run leaves for its user when it ends, however it ends (R3, R6): graphs of sites, and what own parts make."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec

from weft.errors import SpecError, StoreError
from weft.folder import Folder
from weft.plugins import LoadedPlugins
from weft.ports import Progress
from weft.spec import RESULT_IN_FOLDER, CrawlSpec


class SiteResult(msgspec.Struct, frozen=True):
    """The graph of one site in numbers."""

    site: str
    pages: int
    links: int  # between its pages
    external: int  # to other sites


def result_folder(spec: CrawlSpec, folder: Folder) -> Path | None:
    """Where the graphs go; None: nowhere."""
    graphs = spec.keep.graphs
    return folder.result if graphs == RESULT_IN_FOLDER else Path(graphs) if graphs else None


def write_results(spec: CrawlSpec, folder: Folder, progress: Progress) -> list[SiteResult]:
    """Writes the graph of every site with a page or a start address, each file whole or not at all.

    An older file is replaced. Nothing where no graphs are wanted, and before a first page could be asked.
    ``StoreError`` where they cannot be written: the crawl itself is stored all the same.
    """
    if not folder.db.is_file():
        return []
    _write_repository(spec, folder, progress)
    try:
        results = list(_results(spec, folder, progress)) if _wants_graphs(spec) else []
        _unload_own(spec, folder)
        return results
    except SpecError as error:
        raise StoreError(f"the graphs cannot be written: {error}") from error
    except OSError as error:
        raise StoreError(f"the graphs cannot be written: {error.strerror or error}") from error


def check_repository(spec: CrawlSpec, folder: Folder) -> None:
    """Raises ``SpecError`` where the copies of pages cannot go: before a crawl that would not leave them."""
    if spec.keep.repository is not None:
        from weft.derive.export.target import refuse_folder

        refuse_folder(Path(spec.keep.repository), folder, "files.tsv", force=True)


def _write_repository(spec: CrawlSpec, folder: Folder, progress: Progress) -> None:
    """The copies of all pages and their index (T6, T7), in the place of those of the last run."""
    if spec.keep.repository is None:
        return
    from weft.derive.export import Choice, export_crawl
    from weft.derive.read import StoredCrawl

    try:
        with StoredCrawl(folder.path) as crawl:
            export_crawl(crawl, "mirror", spec.keep.repository, Choice(force=True), progress)
    except SpecError as error:
        raise StoreError(f"the copies of pages cannot be written: {error}") from error


def _wants_graphs(spec: CrawlSpec) -> bool:
    return spec.keep.graphs is not None or spec.keep.graph_summary


def _unload_own(spec: CrawlSpec, folder: Folder) -> None:
    """The user's own unloaders (R4), each with the stored crawl and the folder for results."""
    unloaders = LoadedPlugins(spec.plugins.parts).all("unloader")
    if not unloaders:
        return
    from weft.derive.read import StoredCrawl

    target = result_folder(spec, folder) or folder.result
    target.mkdir(parents=True, exist_ok=True)
    with StoredCrawl(folder.path) as crawl:
        for unload in unloaders:
            unload(crawl, target)


def _results(spec: CrawlSpec, folder: Folder, progress: Progress) -> Iterator[SiteResult]:
    from weft.derive.graph import Choice, Merged, site_graphs
    from weft.derive.graph.write import write_each_site
    from weft.derive.read import StoredCrawl

    choice = Choice(merged=Merged.KEEP if spec.keep.graph_duplicates else Merged.YES)
    target = result_folder(spec, folder)
    with StoredCrawl(folder.path) as crawl:
        if target is None:
            graphs = site_graphs(crawl, choice, progress)
        else:
            written = write_each_site(crawl, target, choice, force=True, progress=progress)
            graphs = ((site, graph) for site, graph, _ in written)
        for site, graph in graphs:
            span = graph.numbers
            external = sum(graph.degrees.external[span.start : span.stop])
            yield SiteResult(site, graph.node_count, graph.edge_count, external)
