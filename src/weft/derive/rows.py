"""Rows as jsonl, csv, parquet or a table, a bounded number of them in memory at a time.

A file appears under its name only when it is whole; an older file of that name is replaced at that moment and not
before. jsonl and csv are valid UTF-8 whatever the web sent; csv holds no formulas, a table no control characters, and
in jsonl those are escapes, so that reading gives exactly what was stored.
"""

from __future__ import annotations

import csv
import io
import os
import sys
import types
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar, get_args, get_origin, get_type_hints

import msgspec

from weft.derive.table import Column, write_table
from weft.errors import SpecError, WeftError
from weft.extras import need
from weft.folder import Folder
from weft.text.safe import cell, in_json

if TYPE_CHECKING:
    import pyarrow

FORMATS = ("jsonl", "csv", "parquet", "table")
ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet"}
_BATCH = 1_000
_LINES_AT_ONCE = 500
_ROW_GROUP = 20_000

Row = TypeVar("Row", bound=msgspec.Struct)
Thing = TypeVar("Thing")


def format_of(asked: str | None, file: str | None) -> str:
    """The form of the output: as asked; else by the file's ending; else a table on a terminal, jsonl elsewhere.

    A file without an ending is jsonl. ``SpecError`` with the endings there are, where it has another one.
    """
    if asked is not None:
        return asked
    if file is None:
        return "table" if sys.stdout.isatty() else "jsonl"
    ending = Path(file).suffix.lower()
    if ending and ending not in ENDINGS:
        raise SpecError(f"{file} ends in {ending}, which is no form of a list: there are {', '.join(ENDINGS)}")
    return ENDINGS.get(ending, "jsonl")


def write_rows(
    rows: Iterable[Row],
    kind: type[Row],
    columns: Sequence[Column],
    *,
    asked: str | None,
    file: str | None,
    folder: Folder,
) -> None:
    """Writes all rows to the file, or to the standard output; ``SpecError`` where that cannot be."""
    form = format_of(asked, file)
    if form == "parquet":
        need("parquet")
        if file is None and sys.stdout.isatty():
            raise SpecError("parquet is no text: write it to a file with -o FILE")
    with output(file, folder) as out:
        match form:
            case "jsonl":
                _write_jsonl(rows, out)
            case "csv":
                _write_csv(rows, kind, out)
            case "parquet":
                _write_parquet(rows, kind, out)
            case _:
                bold = file is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
                write_table(batches(rows, _LINES_AT_ONCE), columns, out, bold=bold)


def batches(rows: Iterable[Thing], size: int) -> Iterator[list[Thing]]:
    """The rows in lists of this size; the last one may be shorter."""
    iterator = iter(rows)
    while batch := list(islice(iterator, size)):
        yield batch


# ---- where it goes ---------------------------------------------------------------------------------------------


@contextmanager
def output(file: str | None, folder: Folder) -> Iterator[IO[bytes]]:
    """A stream of bytes: the standard output, or a file that gets its name at the end, if all went well."""
    if file is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    refuse_target(path, folder)
    if path.exists() and not path.is_file():  # a device or a pipe: there is nothing to rename
        with path.open("wb") as stream:
            yield stream
        return
    path = path.resolve()  # a symbolic link stays one
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        stream = part.open("wb")
    except OSError as error:
        raise SpecError(f"{path} cannot be written: {error.strerror}") from error
    try:
        with stream:
            yield stream
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WeftError(f"{file} cannot be written: {error.strerror or error}") from error
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def refuse_target(path: Path, folder: Folder) -> None:
    """Raises ``SpecError`` for a file that cannot be written, or that is the crawl's own."""
    if path.is_dir():
        raise SpecError(f"{path} is a folder: name a file")
    if not path.parent.is_dir():
        raise SpecError(f"{path} cannot be written: there is no folder {path.parent}")
    if folder.owns(path):
        raise SpecError(f"{path} belongs to the crawl itself: name another file")


# ---- the forms -------------------------------------------------------------------------------------------------


def _write_jsonl(rows: Iterable[Row], out: IO[bytes]) -> None:
    encode = msgspec.json.Encoder().encode_lines
    for batch in batches(rows, _BATCH):
        out.write(in_json(encode(batch)))


def _write_csv(rows: Iterable[Row], kind: type[Row], out: IO[bytes]) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(kind.__struct_fields__)
    for batch in chain([[]], batches(rows, _BATCH)):
        writer.writerows([[cell(value) for value in msgspec.structs.astuple(row)] for row in batch])
        out.write(text.getvalue().encode("utf-8"))
        text.seek(0)
        text.truncate()


def _write_parquet(rows: Iterable[Row], kind: type[Row], out: IO[bytes]) -> None:
    import pyarrow
    from pyarrow import parquet

    schema = _schema(kind)
    with parquet.ParquetWriter(out, schema, compression="zstd") as writer:
        for batch in batches(rows, _ROW_GROUP):
            values = zip(*map(msgspec.structs.astuple, batch), strict=True)
            columns = [pyarrow.array(column, field.type) for column, field in zip(values, schema, strict=True)]
            writer.write_batch(pyarrow.record_batch(columns, schema=schema), row_group_size=_ROW_GROUP)


def _schema(kind: type[Row]) -> pyarrow.Schema:
    import pyarrow

    plain = {str: pyarrow.string(), int: pyarrow.int64(), bool: pyarrow.bool_(), float: pyarrow.float64()}
    fields = []
    for name, annotation in get_type_hints(kind).items():
        members: tuple[Any, ...] = get_args(annotation) if get_origin(annotation) is types.UnionType else (annotation,)
        base = next(member for member in members if member is not types.NoneType)
        fields.append(pyarrow.field(name, plain[base], nullable=types.NoneType in members))
    return pyarrow.schema(fields)
