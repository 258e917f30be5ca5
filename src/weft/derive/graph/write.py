"""Graphs into files: the form by the name's ending; a file appears under its name only when all of it is there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO
from zlib import crc32

from weft.derive.graph.build import site_graphs
from weft.derive.graph.model import Choice, Graph
from weft.derive.graph.pages import PageGraph
from weft.derive.graph.paint import write_png, write_svg
from weft.derive.graph.text_forms import write_csv, write_dot, write_json, write_pajek, write_parquet
from weft.derive.graph.xml_forms import write_gexf, write_graphml
from weft.derive.read import StoredCrawl
from weft.derive.rows import refuse_target
from weft.errors import SpecError, WeftError
from weft.extras import need
from weft.folder import Folder
from weft.ports import Progress, silent
from weft.url import host_of_site

_ONE: dict[str, Callable[[Graph, IO[bytes], Progress], None]] = {
    "gexf": write_gexf,
    "graphml": write_graphml,
    "net": write_pajek,
    "dot": write_dot,
    "json": write_json,
    "png": write_png,
    "svg": write_svg,
}
PICTURES = ("png", "svg")
_TWO: dict[str, Callable[[Graph, IO[bytes], IO[bytes], Progress], None]] = {
    "csv": write_csv,
    "parquet": write_parquet,
}
FORMS = (*_ONE, *_TWO)
_LONGEST_NAME = 200


def form_of(file: str | Path, asked: str | None = None) -> str:
    """The form that a file's name asks for; ``SpecError`` with those there are, where it asks for none."""
    form = asked or Path(file).suffix.removeprefix(".").lower()
    if form not in FORMS:
        known = ", ".join(f".{name}" for name in FORMS)
        said = f"ends in .{form}" if form else "has no ending"
        raise SpecError(f"{file} {said}, which is no form of a graph: there are {known}")
    if form == "parquet":
        need("parquet")
    elif form in PICTURES:
        need("graph")
    return form


def files_of(file: str | Path, form: str) -> tuple[Path, ...]:
    """The files that are written: two tables, of nodes and of edges, for csv and parquet."""
    path = Path(file)
    if form not in _TWO:
        return (path,)
    stem = path.with_suffix("") if path.suffix.removeprefix(".").lower() == form else path
    return tuple(stem.with_name(f"{stem.name}.{part}.{form}") for part in ("nodes", "edges"))


def write_graph(
    graph: Graph, file: str | Path, folder: Folder, *, form: str | None = None, force: bool = False,
    progress: Progress = silent,
) -> tuple[Path, ...]:  # fmt: skip
    """Writes a graph whole or not at all. Returns the files."""
    form = form_of(file, form)
    paths = files_of(file, form)
    refuse_targets(paths, folder, force)
    with whole_files(paths) as streams:
        if form in _TWO:
            _TWO[form](graph, streams[0], streams[1], progress)
        else:
            _ONE[form](graph, streams[0], progress)
    return paths


def write_sites(
    crawl: StoredCrawl, target: str | Path, choice: Choice | None = None, *, form: str = "gexf", force: bool = False,
    progress: Progress = silent,
) -> list[Path]:  # fmt: skip
    """Writes a graph for every site with a page or a start address into a folder, named after its host (R3).

    Returns the files. Where a host has several ports, the names of all but the first have the port too.

    RCCrawler's SaveDuplicates is ``Choice(merged=Merged.KEEP)``: duplicates stay as nodes, without edges.
    """
    written = write_each_site(crawl, target, choice, form=form, force=force, progress=progress)
    return [file for _, _, files in written for file in files]


def write_each_site(
    crawl: StoredCrawl, target: str | Path, choice: Choice | None = None, *, form: str = "gexf", force: bool = False,
    progress: Progress = silent,
) -> Iterator[tuple[str, PageGraph, tuple[Path, ...]]]:  # fmt: skip
    """The same, site by site: (site, graph, files), when the files are there."""
    form_of(f"x.{form}")
    folder = Path(target)
    if folder.exists() and not folder.is_dir():
        raise SpecError(f"{folder} is a file: name a folder")
    choice = choice or Choice()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SpecError(f"{folder} cannot be made: {error.strerror}") from error
    if not force:
        _refuse_existing(crawl, folder, form)
    hosts: set[str] = set()
    for site, graph in site_graphs(crawl, choice, progress):
        host = host_of_site(site)
        file = folder / f"{file_name(site if host in hosts else host)}.{form}"
        hosts.add(host)
        yield site, graph, write_graph(graph, file, crawl.folder, form=form, force=force, progress=progress)


_SITES_WRITTEN = """
SELECT name FROM site WHERE pages > 0 OR id IN (SELECT p.site FROM seed s JOIN page p ON p.id = s.page) ORDER BY id
"""


def _refuse_existing(crawl: StoredCrawl, folder: Path, form: str) -> None:
    """Raises ``SpecError`` where a site's file is there already: before the first is written, not after some."""
    for (site,) in crawl.connection.execute(_SITES_WRITTEN).fetchall():
        for path in files_of(folder / f"{file_name(host_of_site(site))}.{form}", form):
            if path.exists():
                raise SpecError(f"{path} exists: --force replaces it")


def file_name(site: str) -> str:
    """A name for a site's file that every file system takes; sites that differ have names that differ."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", site).lstrip(".-")  # nor one that a program takes for an option
    if not name or len(name) > _LONGEST_NAME or "_" in site or site[0] in ".-":
        return f"{name[:_LONGEST_NAME] or '_'}-{crc32(site.encode('utf-8', 'replace')):08x}"
    return name


def refuse_targets(paths: tuple[Path, ...], folder: Folder, force: bool) -> None:
    """Raises ``SpecError`` for what cannot be written, and for what is there already, unless ``force``."""
    for path in paths:
        refuse_target(path, folder)
        if path.exists() and not force and not _is_device(path):
            raise SpecError(f"{path} exists: --force replaces it")


def _is_device(path: Path) -> bool:
    """A device or a pipe: there is nothing to rename."""
    return path.exists() and not path.is_file()


@contextmanager
def whole_files(paths: tuple[Path, ...]) -> Iterator[list[IO[bytes]]]:
    """Streams into files that get their names at the end, all of them, if all went well."""
    real = [path if _is_device(path) else path.resolve() for path in paths]  # a symbolic link stays one
    parts = [path if _is_device(path) else path.with_name(f".{path.name[-200:]}.{os.getpid()}.part") for path in real]
    try:
        with ExitStack() as open_files:
            streams: list[IO[bytes]] = [open_files.enter_context(part.open("wb", buffering=1 << 20)) for part in parts]
            yield streams
        for path, part in zip(real, parts, strict=True):
            if part != path:
                part.replace(path)
    except BaseException as error:
        for path, part in zip(real, parts, strict=True):
            if part != path:
                part.unlink(missing_ok=True)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise WeftError(f"{paths[0]} cannot be written: {error.strerror or error}") from error
        raise
