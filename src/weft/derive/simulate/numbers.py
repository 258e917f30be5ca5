"""Numbers by page, as files have them: ``page<TAB>number`` a line, or CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from math import isfinite
from pathlib import Path

from weft.derive.simulate.sources import opened
from weft.errors import SpecError


def numbers_from(path: Path, *, positive: bool = False) -> dict[str, float]:
    """The number of each page; whole numbers stay whole. ``SpecError`` names the line that cannot be read.

    A first line whose second column is no number is a header. ``positive``: numbers of 0 and less are refused.
    """
    if not path.is_file():
        raise SpecError(f"{path} is no file")
    found: dict[str, float] = {}
    for at, fields in _rows(path):
        if len(fields) < 2 or not fields[0]:
            raise SpecError(f"{path}: line {at} has no page and number")
        number = _number(fields[1])
        if number is None:
            if at == 1:
                continue
            raise SpecError(f"{path}: line {at}: {fields[1]!r} is no number")
        if not isfinite(number):
            raise SpecError(f"{path}: line {at}: {fields[1]} is no number to count with")
        if positive and number <= 0:
            raise SpecError(f"{path}: line {at}: {fields[1]} is not above 0, as a rank must be")
        found[fields[0]] = number
    if not found:
        raise SpecError(f"{path} has no numbers")
    return found


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    with opened(path) as file:
        is_csv = path.name.lower().removesuffix(".gz").endswith(".csv")
        if not is_csv:
            for at, line in enumerate(file, 1):
                if line.strip() and not line.startswith("#"):
                    yield at, line.rstrip("\r\n").split("\t")
            return
        rows = csv.reader(file)
        for fields in rows:
            if fields:
                yield rows.line_num, fields


def _number(text: str) -> float | None:
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return None
