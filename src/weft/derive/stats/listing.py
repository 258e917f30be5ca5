"""Reading another crawler's list of pages: plain lines, CSV with a column of addresses, or JSON lines."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import msgspec

from weft.errors import SpecError

COLUMNS = ("url", "address", "loc", "link", "page", "uri", "source url", "final url", "key")
"""Names that other crawlers give to the column of addresses, the best first."""

_LONGEST = 100_000
_A_URL = re.compile(r"https?://", re.IGNORECASE)


def urls_in(path: Path) -> Iterator[str]:
    """The entries of a list, in order, as they are written. ``SpecError`` where the file cannot be read."""
    try:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            yield from _urls(file, path)
    except OSError as error:
        raise SpecError(f"the list {path} cannot be read: {error.strerror}") from error


def _urls(file: TextIO, path: Path) -> Iterator[str]:
    lines = _lines(file)
    first = next((line for line in lines if line.strip() and not line.startswith("#")), None)
    if first is None:
        return
    if first.lstrip().startswith("{"):
        yield from _json_lines(first, lines, path)
        return
    column = None if _A_URL.match(first.lstrip(" \t\"'")) else _column(first)
    if column is None:
        yield from (_bare(line) for line in _with(first, lines) if line.strip() and not line.startswith("#"))
        return
    place, separator = column
    csv.field_size_limit(_LONGEST)
    try:
        for row in csv.reader(lines, delimiter=separator):
            if len(row) > place and row[place].strip():
                yield row[place].strip()
    except csv.Error as error:
        raise SpecError(f"the list {path} is no CSV that can be read: {error}") from error


def _lines(file: TextIO) -> Iterator[str]:
    """Lines, the rest of one that is far too long left out: a list of one endless line must not fill the memory."""
    while line := file.readline(_LONGEST):
        yield line
        while not line.endswith("\n") and (line := file.readline(_LONGEST)):
            continue


def _with(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _bare(line: str) -> str:
    """The entry of a plain line; of a line of several columns, the first that is an address."""
    text = line.strip()
    for separator in ("\t", ";", ","):
        if separator in text and (_A_URL.match(text) is None or separator == "\t" or f"{separator}http" in text):
            cells = [cell.strip(" \"'") for cell in text.split(separator)]
            found = next((cell for cell in cells if _A_URL.match(cell)), None)
            if found is not None:
                return found
    return text.strip('"')


def _column(header: str) -> tuple[int, str] | None:
    """Which column has the addresses, and what separates columns; None where the line is no header."""
    for separator in (",", ";", "\t", "|"):
        names = [name.strip(" \"'\r\n").lower() for name in header.split(separator)]
        for wanted in COLUMNS:
            if wanted in names and (len(names) > 1 or separator == ","):
                return names.index(wanted), separator
    return None


def _json_lines(first: str, rest: Iterator[str], path: Path) -> Iterator[str]:
    for number, line in enumerate(_with(first, rest), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(line)
        except msgspec.DecodeError as error:
            raise SpecError(f"the list {path}, line {number} or later, is no JSON: {error}") from error
        if isinstance(row, dict):
            found = next((row[name] for name in COLUMNS if isinstance(row.get(name), str)), None)
            if found is not None:
                yield str(found)
