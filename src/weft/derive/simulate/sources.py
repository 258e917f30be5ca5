"""Where graphs come from: crawl folders, and files of edges in the forms that other tools write."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from weft.derive.simulate.graph import Edges, PageGraph
from weft.derive.simulate.xml_files import read_gexf, read_graphml
from weft.errors import SpecError
from weft.extras import need
from weft.ports import Progress, silent

_HEADERS = {("source", "target"), ("from", "to"), ("src", "dst"), ("from_url", "to_url"), ("page", "link")}
_EVERY = 100_000
_VERTEX = re.compile(r'\s*(\d+)\s+(?:"((?:[^"\\]|\\.)*)"|(\S+))')


def graph_from(source: str, progress: Progress = silent) -> PageGraph:
    """The graph that a word of the command line names; ``SpecError`` says which file and line cannot be read."""
    path = Path(source)
    if path.is_dir():
        from weft.derive.simulate.crawled import crawled_graph

        return crawled_graph(path, progress)
    if not path.is_file():
        raise SpecError(f"{source} is no file and no folder")
    edges = Edges()
    _reader_of(path)(path, edges, progress)
    return edges.graph(source)


def _reader_of(path: Path) -> Callable[[Path, Edges, Progress], None]:
    name = path.name.lower().removesuffix(".gz")
    for ending, reader in _READERS.items():
        if name.endswith(ending):
            return reader
    known = ", ".join(_READERS)
    raise SpecError(f"{path} has no ending of a graph: there are {known}, and .gz behind each of them but .parquet")


@contextmanager
def opened(path: Path) -> Iterator[IO[str]]:
    """The lines of a file, unpacked where it is gzip; ``SpecError`` where it is no text or is damaged."""
    unpack = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path, "rt", encoding="utf-8") if unpack else path.open(encoding="utf-8") as file:
            yield file
    except UnicodeDecodeError as error:
        raise SpecError(f"{path} is not UTF-8: {error}") from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise SpecError(f"{path} cannot be unpacked: {error}") from error


def _read_tsv(path: Path, edges: Edges, progress: Progress) -> None:
    """``source<TAB>target`` a line; further columns are left out, and so are lines that begin with #."""
    add, may_be_header = edges.add, True
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            fields = line.rstrip("\r\n").split("\t")
            if len(fields) > 1 and fields[0] and fields[1] and line[0] != "#" and not may_be_header:
                add(fields[0], fields[1])
                if not number % _EVERY:
                    progress("reading links", number, 0)
            elif line[0] != "#" and line.strip():
                may_be_header = _first(fields, edges, path, number) and may_be_header
    progress("reading links", 1, 1)


def _first(fields: list[str], edges: Edges, path: Path, number: int) -> bool:
    """Takes in a row that may be a header; False: no later row is one."""
    if len(fields) < 2 or not fields[0] or not fields[1]:
        raise SpecError(f"{path}: line {number} is no link (source and target): {fields[0][:60]!r}")
    if (fields[0].lower(), fields[1].lower()) not in _HEADERS:
        edges.add(fields[0], fields[1])
    return False


def _read_csv(path: Path, edges: Edges, progress: Progress) -> None:
    """``source,target`` a row, as CSV quotes it."""
    may_be_header = True
    with opened(path) as file:
        rows = csv.reader(file)
        try:
            for fields in rows:
                if not fields or fields[0].startswith("#"):
                    continue
                if may_be_header or len(fields) < 2 or not fields[0] or not fields[1]:
                    may_be_header = _first(fields, edges, path, rows.line_num)
                else:
                    edges.add(fields[0], fields[1])
                if not rows.line_num % _EVERY:
                    progress("reading links", rows.line_num, 0)
        except csv.Error as error:
            raise SpecError(f"{path}: line {rows.line_num}: {error}") from error


def _read_parquet(path: Path, edges: Edges, progress: Progress) -> None:
    """The columns ``source`` and ``target``, else the first two."""
    need("parquet")
    import pyarrow
    import pyarrow.parquet

    try:
        table = pyarrow.parquet.ParquetFile(path)
    except (pyarrow.ArrowInvalid, OSError) as error:
        raise SpecError(f"{path} is no Parquet: {error}") from error
    names = table.schema_arrow.names
    columns = ["source", "target"] if {"source", "target"} <= set(names) else names[:2]
    if len(columns) < 2:
        raise SpecError(f"{path} has no two columns, source and target")
    done = 0
    for batch in table.iter_batches(columns=columns):
        ends = [batch.column(name).to_pylist() for name in columns]
        for row, (source, target) in enumerate(zip(*ends, strict=True), done + 1):
            if source is None or target is None:
                raise SpecError(f"{path}: row {row} is no link: its {columns[source is not None]} is null")
            edges.add(str(source), str(target))
        done += batch.num_rows
        progress("reading links", done, table.metadata.num_rows)


def _read_pajek(path: Path, edges: Edges, progress: Progress) -> None:
    """Pajek: *Vertices with names, then *Arcs, *Edges (both ways), *Arcslist or *Edgeslist."""
    names: dict[str, str] = {}
    section = ""
    with opened(path) as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if not words or words[0].startswith("%"):
                continue
            if words[0].startswith("*"):
                section = words[0].lower()
            elif section == "*vertices":
                vertex = _VERTEX.match(line)
                if vertex is None:
                    raise SpecError(f"{path}: line {number} is no vertex: {line.strip()[:60]!r}")
                names[vertex[1]] = vertex[2] if vertex[2] is not None else vertex[3]
            elif section in ("*arcs", "*edges", "*arcslist", "*edgeslist"):
                targets = words[1:] if section.endswith("list") else words[1:2]
                if not targets or not {words[0], *targets} <= names.keys():
                    raise SpecError(f"{path}: line {number} is no link between vertices: {line.strip()[:60]!r}")
                _join(edges, names[words[0]], (names[word] for word in targets), both=section.startswith("*edges"))
            if not number % _EVERY:
                progress("reading links", number, 0)


def _join(edges: Edges, source: str, targets: Iterable[str], *, both: bool) -> None:
    for target in targets:
        edges.add(source, target)
        if both:
            edges.add(target, source)


_READERS: dict[str, Callable[[Path, Edges, Progress], None]] = {
    ".tsv": _read_tsv,
    ".txt": _read_tsv,
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".graphml": read_graphml,
    ".gexf": read_gexf,
    ".net": _read_pajek,
}
