"""Reads and writes the values of options: units, words, texts, files. Lists are in ``lists``.

A ``Kind`` reads what a person wrote, on the command line or in a TOML file, into the value that ``CrawlSpec``
holds, and writes it back in a form that reads the same. Wrong values raise ``ValueError`` with a sentence that
says what is accepted; who asked adds the place.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from weft.options.checks import nearest, shown
from weft.spec import Record, SitePace
from weft.text.patterns import regex

Value = str | int | float | bool | tuple[str, ...] | tuple[SitePace, ...] | tuple[Record, ...] | None
"""What a field of the specification can hold."""

Plain = str | int | float | bool | list[str] | dict[str, dict[str, str | int | float]]
"""What the TOML writer can write."""

MAX_TEXT = 10_000
"""Characters in one value. Longer ones are a mistake, and would be carried in every record of the crawl."""

MAX_WHOLE = 10**15

TIMES = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
DECIMAL_SIZES = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY_SIZES = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40}

TIMES_ACCEPTED = "a time such as 0.5, 100s, 5m, 2h or 7d (a bare number is seconds)"
FRACTIONS_ACCEPTED = "a number from 0 to 1 such as 0.99"
SIZES_ACCEPTED = "a size in bytes such as 500000, 10M or 1G (powers of 1000), or 1Gi (powers of 1024)"

_NUMBER = r"(\d{1,15}(?:\.\d{0,9})?|\.\d{1,9})"
_TIME = regex(_NUMBER + r" ?(ms|s|m|h|d|)", re.ASCII)
_SIZE = regex(_NUMBER + r" ?([kmgt]i?|)b?", re.ASCII | re.IGNORECASE)
_FRACTION = regex(r"\d{1,3}(?:\.\d{0,15})?|\.\d{1,15}", re.ASCII)
_WHOLE = regex(r"\d{1,16}", re.ASCII)
_CONTROL = regex(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Context(msgspec.Struct, frozen=True):
    """Where a value is read: what relative names are relative to, and what it stands on."""

    folder: Path
    below: Value = None  # the value that holds without this one: `+link` adds to it
    check_files: bool = True


class Kind(msgspec.Struct, frozen=True):
    """How one sort of value is read and written."""

    accepts: str
    metavar: str | None  # None: a switch, which takes no value
    read: Callable[[object, Context], Value]
    write: Callable[[Value], Plain]
    many: bool = False  # may be given more than once

    @property
    def is_switch(self) -> bool:
        return self.metavar is None

    @property
    def names_file(self) -> bool:
        """Whether the value is the name of a file or folder."""
        return self.metavar is not None and self.metavar.startswith(("FILE", "FOLDER"))


# ---- numbers with units


def read_time(raw: object) -> float:
    """Seconds, to the millisecond."""
    if isinstance(raw, bool) or not isinstance(raw, str | int | float):
        raise ValueError(f"{shown(raw)} is not {TIMES_ACCEPTED}")
    if isinstance(raw, str):
        match = _TIME.fullmatch(raw.strip())
        if match is None:
            raise ValueError(f"{shown(raw)} is not {TIMES_ACCEPTED}")
        return round(float(match[1]) * TIMES[match[2] or "s"], 3)
    if not math.isfinite(raw) or raw < 0:
        raise ValueError(f"{shown(raw)} is not {TIMES_ACCEPTED}")
    return float(raw)


def write_time(value: Value) -> Plain:
    assert isinstance(value, int | float)
    for unit in ("d", "h", "m"):
        if value and value % TIMES[unit] == 0:
            return f"{value / TIMES[unit]:.0f}{unit}"
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return f"{text}s" if float(text) == value else float(value)


def read_size(raw: object) -> int:
    """Bytes. K, M, G and T are powers of 1000; Ki, Mi, Gi and Ti of 1024."""
    if isinstance(raw, int) and not isinstance(raw, bool):
        raw = str(raw)
    match = _SIZE.fullmatch(raw.strip()) if isinstance(raw, str) else None
    if match is None:
        raise ValueError(f"{shown(raw)} is not {SIZES_ACCEPTED}")
    unit = match[2].capitalize()
    size = float(match[1]) * (BINARY_SIZES if unit.endswith("i") else DECIMAL_SIZES)[unit]
    if size > MAX_WHOLE:
        raise ValueError(f"{shown(raw)} is more than any machine has; give {SIZES_ACCEPTED}")
    return int(match[1]) if not unit and match[1].isdigit() else round(size)


def write_size(value: Value) -> Plain:
    assert isinstance(value, int)
    for unit, factor in reversed((BINARY_SIZES | DECIMAL_SIZES).items()):
        if unit and value >= factor and value % factor == 0:
            return f"{value // factor}{unit}"
    return value


def _in_range(number: float, low: float, high: float, write: Callable[[Value], Plain]) -> None:
    if not low <= number <= high:
        raise ValueError(f"{write(number)} is out of range: {write(low)} to {write(high)} is accepted")


def time(low: float = 0.0, high: float = 3_650 * 86_400.0) -> Kind:
    """A length of time in seconds."""

    def read(raw: object, _context: Context) -> Value:
        seconds = read_time(raw)
        _in_range(seconds, low, high, write_time)
        return seconds

    return Kind(TIMES_ACCEPTED, "TIME", read, write_time)


def size(low: int = 1, high: int = MAX_WHOLE) -> Kind:
    """A number of bytes."""

    def read(raw: object, _context: Context) -> Value:
        number = read_size(raw)
        _in_range(number, low, high, write_size)
        return number

    return Kind(SIZES_ACCEPTED, "SIZE", read, write_size)


def whole(low: int = 0, high: int = MAX_WHOLE) -> Kind:
    """A whole number."""
    accepts = f"a whole number from {low}" + (f" to {high}" if high < MAX_WHOLE else "")

    def read(raw: object, _context: Context) -> Value:
        if isinstance(raw, str) and _WHOLE.fullmatch(raw.strip()):
            raw = int(raw)
        if isinstance(raw, bool) or not isinstance(raw, int) or not low <= raw <= high:
            raise ValueError(f"{shown(raw)} is not {accepts}")
        return raw

    return Kind(accepts, "N", read, _as_it_is)


def read_fraction(raw: object) -> float:
    """A number from 0 to 1."""
    number = float(raw) if isinstance(raw, str) and _FRACTION.fullmatch(raw.strip()) else raw
    if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number <= 1:
        raise ValueError(f"{shown(raw)} is not {FRACTIONS_ACCEPTED}")
    return float(number)


def fraction() -> Kind:
    """A number from 0 to 1."""

    def read(raw: object, _context: Context) -> Value:
        return read_fraction(raw)

    def write(value: Value) -> Plain:
        assert isinstance(value, float)
        return value

    return Kind(FRACTIONS_ACCEPTED, "SHARE", read, write)


def optional(kind: Kind, word: str = "none") -> Kind:
    """The same, or a word that stands for no value of one's own."""

    def read(raw: object, context: Context) -> Value:
        if isinstance(raw, str) and raw.strip().lower() == word:
            return None
        try:
            return kind.read(raw, context)
        except ValueError as error:
            raise ValueError(f"{error}, or the word {word}") from None

    def write(value: Value) -> Plain:
        return word if value is None else kind.write(value)

    return Kind(f"{kind.accepts}, or {word}", kind.metavar, read, write)


# ---- switches, words, texts


def switch(*, means: bool = True) -> Kind:
    """On or off. ``means`` is what the field holds when the switch is on: ``--no-archive`` makes it false."""

    def read(raw: object, _context: Context) -> Value:
        if not isinstance(raw, bool):
            raise ValueError(f"{shown(raw)} is not true or false")
        return raw is means

    def write(value: Value) -> Plain:
        return value is means

    return Kind("true or false", None, read, write)


def word(words: type[StrEnum]) -> Kind:
    """One of a few words. Where yes and no are among them, true and false are read as such."""
    by_text: dict[str, StrEnum] = {member.value: member for member in words}
    accepts = " or ".join(by_text)

    def read(raw: object, _context: Context) -> Value:
        if isinstance(raw, bool) and "yes" in by_text:
            raw = "yes" if raw else "no"
        if not isinstance(raw, str) or raw not in by_text:
            hint = f" (nearest: {nearest(raw, words)})" if isinstance(raw, str) else ""
            raise ValueError(f"{shown(raw)} is not {accepts}{hint}")
        return by_text[raw]

    return Kind(accepts, "|".join(by_text), read, _as_it_is)


def text(metavar: str, check: Callable[[str], str] | None = None, accepts: str = "a text on one line") -> Kind:
    """One line of text; the empty one means not set."""

    def read(raw: object, _context: Context) -> Value:
        line = one_line(raw)
        if not line:
            return None
        return check(line) if check else line

    return Kind(accepts, metavar, read, _empty_for_none)


def file(check: Callable[[Path], None] | None = None) -> Kind:
    """The absolute path of a file that can be read; the empty text means not set. ``check`` looks into it."""
    accepts = "the name of a file that can be read"

    def read(raw: object, context: Context) -> Value:
        name = one_line(raw)
        if not name:
            return None
        path = Path(os.path.abspath(context.folder / Path(name).expanduser()))
        if context.check_files:
            if not path.is_file():
                what = "a folder" if path.is_dir() else "no plain file" if path.exists() else "no such file"
                raise ValueError(f"{what}: {path}")
            if not os.access(path, os.R_OK):
                raise ValueError(f"not allowed to read {path}")
            if check is not None:
                check(path)
        return str(path)

    return Kind(accepts, "FILE", read, _empty_for_none)


def place(word: str = "", check: Callable[[Path], None] | None = None) -> Kind:
    """The absolute path of a file or folder that need not exist; the empty text means not set. ``word`` stays one.

    ``check`` looks at what is there.
    """

    def read(raw: object, context: Context) -> Value:
        name = one_line(raw)
        if not name or name == word:
            return name or None
        path = os.path.abspath(context.folder / Path(name).expanduser())
        if check is not None and context.check_files:
            check(Path(path))
        return path

    metavar = f"FOLDER|{word}" if word else "FILE"
    return Kind(f"the name of a folder, or {word}" if word else "the name of a file", metavar, read, _empty_for_none)


def one_line(raw: object) -> str:
    """A stripped text without control characters, or ValueError."""
    if not isinstance(raw, str):
        raise ValueError(f"{shown(raw)} is not a text")
    if len(raw) > MAX_TEXT:
        raise ValueError(f"the text has {len(raw)} characters; at most {MAX_TEXT} are accepted")
    line = raw.strip(" \t")
    if not line.isprintable() and _CONTROL.search(line):
        raise ValueError(f"{shown(raw)} has a control character or a line end in it; one line of text is accepted")
    return line


def _as_it_is(value: Value) -> Plain:
    assert isinstance(value, str | int)
    return value


def _empty_for_none(value: Value) -> Plain:
    return "" if value is None else _as_it_is(value)
