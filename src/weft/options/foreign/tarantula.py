"""Tarantula's ``Crawler.conf`` as it is (T1): its keys read into the options of a crawl.

Keys are written in any case and end with ``;``. Lists stand in braces, their last comma is optional. Backslashes are
plain characters. A section is opened by its name in angle brackets and need not be closed; it groups keys, no more.
Relative names are relative to the file's folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from weft.errors import SpecError
from weft.options.checks import regular_expression, shown
from weft.options.suggest import hint
from weft.options.toml import Given, SpecFile, text_of
from weft.spec import ON_SCREEN

SECTIONS = (
    "crawler-options",
    "logging",
    "log-options",
    "recrawling-options",
    "multithreading-options",
)
SCOPES = {
    "free-spanning": "free",
    "domain-scope": "seed-domain",
    "host-scope": "host",
    "path-scope": "path",
}
LISTS = ("starting-points", "accept-list", "reject-list")
TEXTS = ("scope", "traversal-algorithm", "repository", "log-file")
NUMBERS = {
    "max-page-number": None,  # 0 and less: no limit
    "log-level": (0, 2),
    "period": (0, 1_000_000),
    "number-of-threads": (1, 10_000),
    "processes": (1, 256),
}
"""Whole numbers, with the least and the largest that make sense."""

KEYS = (*LISTS, *TEXTS, *NUMBERS)

_LARGEST = 10**12
_HOUR_S = 3_600
_SECTION = re.compile(r"</?\s*([A-Za-z-]+)\s*>")
_KEY = re.compile(r"([A-Za-z][A-Za-z-]*)\s*=\s*")
_NUMBER = re.compile(r"[+-]?\d{1,13}", re.ASCII)
_WORD = re.compile(r"[^\s;,#{}\"<>=]+")
_FENCE = re.compile(r"`{3,}\w*")  # a file taken from a printed page may have brought its frame


class Entry(NamedTuple):
    """The value of a key: texts of a list, or one text; and the line of the key, and of each text."""

    values: tuple[tuple[str, int], ...]
    is_list: bool
    line: int


class _Reader:
    """Goes through the text from left to right; knows the line for what is wrong there."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._at = 0

    def entries(self) -> Iterator[tuple[str, Entry]]:
        """Every key with its value, in the order of the file."""
        while self._skip():
            if self._text[self._at] == "<":
                self._section()
            elif fence := _FENCE.match(self._text, self._at):
                self._at = fence.end()
            else:
                yield self._entry()

    def wrong(self, reason: str, at: int | None = None) -> SpecError:
        return SpecError(f"{self._path}:{self._line(self._at if at is None else at)}: {reason}")

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, at) + 1

    def _skip(self) -> bool:
        """Goes past white space and comments; whether anything is left."""
        while self._at < len(self._text):
            character = self._text[self._at]
            if character == "#":
                end = self._text.find("\n", self._at)
                self._at = len(self._text) if end < 0 else end
            elif character.isspace():
                self._at += 1
            else:
                return True
        return False

    def _section(self) -> None:
        found = _SECTION.match(self._text, self._at)
        if found is None:
            raise self.wrong(f"{shown(self._rest_of_line())} is no section: write <crawler-options>")
        if found[1].lower() not in SECTIONS:
            raise self.wrong(f"unknown section <{found[1]}>{hint(found[1].lower(), SECTIONS)}")
        self._at = found.end()

    def _entry(self) -> tuple[str, Entry]:
        start = self._at
        found = _KEY.match(self._text, self._at)
        if found is None:
            raise self.wrong(f"{shown(self._rest_of_line())} is not of the form key = value;")
        key = found[1].lower()
        if key not in KEYS:
            raise self.wrong(f"unknown key {shown(found[1])}{hint(key, KEYS)}")
        self._at = found.end()
        if not self._skip():
            raise self.wrong(f"{key} has no value", start)
        is_list = self._text[self._at] == "{"
        values = self._list(key) if is_list else (self._value(key),)
        if not self._skip() or self._text[self._at] != ";":
            raise self.wrong(f"the value of {key} does not end with ;", max(start, self._at - 1))
        self._at += 1
        return key, Entry(values, is_list, self._line(start))

    def _list(self, key: str) -> tuple[tuple[str, int], ...]:
        start = self._at
        self._at += 1
        values: list[tuple[str, int]] = []
        while self._skip():
            if self._text[self._at] == "}":
                self._at += 1
                return tuple(values)
            values.append(self._value(key))
            if self._skip() and self._text[self._at] == ",":
                self._at += 1
            elif self._at < len(self._text) and self._text[self._at] != "}":
                raise self.wrong(f"{key}: a comma is missing before {shown(self._rest_of_line())}")
        raise self.wrong(f"the list of {key} that begins here is never closed", start)

    def _value(self, key: str) -> tuple[str, int]:
        """A text in quotes, up to the next quote; or a bare word."""
        line = self._line(self._at)
        if self._text[self._at] != '"':
            found = _WORD.match(self._text, self._at)
            if found is None:
                raise self.wrong(f"{key}: {shown(self._rest_of_line())} is no value")
            self._at = found.end()
            return found[0], line
        end = self._text.find('"', self._at + 1)
        value = self._text[self._at + 1 : end]
        if end < 0 or "\n" in value:
            raise self.wrong(f"{key}: the quote that opens here is never closed")
        if not value.isprintable():
            raise self.wrong(f"{key}: {shown(value)} has control characters in it")
        self._at = end + 1
        return value, line

    def _rest_of_line(self) -> str:
        return self._text[self._at :].partition("\n")[0].strip()


class Conf:
    """The keys of one file, each read by its kind; ``SpecError`` tells file, line and reason."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries: dict[str, Entry] = {}
        reader = _Reader(path, text_of(path))
        for key, entry in reader.entries():
            if key in self._entries:
                earlier = self._entries[key].line
                raise SpecError(f"{path}:{entry.line}: {key} stands on line {earlier} already")
            if entry.is_list != (key in LISTS):
                wanted = "a list in braces" if key in LISTS else "one value, not a list"
                raise SpecError(f"{path}:{entry.line}: {key} takes {wanted}")
            self._entries[key] = entry

    def given(self, key: str, raw: object) -> Given:
        """A value for an option, with the place that it comes from."""
        line = self._entries[key].line if key in self._entries else 1
        return Given(raw, f"{self._path}:{line}: {key}", self._path.parent)

    def texts(self, key: str) -> tuple[str, ...]:
        """The texts of a list, each once; none without the key."""
        entry = self._entries.get(key)
        return tuple(dict.fromkeys(value for value, _ in entry.values)) if entry is not None else ()

    def expressions(self, key: str) -> tuple[str, ...]:
        """The regular expressions of a list, each of them readable."""
        entry = self._entries.get(key)
        for expression, line in entry.values if entry is not None else ():
            try:
                regular_expression(expression)
            except ValueError as error:
                raise SpecError(f"{self._path}:{line}: {key}: {error}") from None
        return self.texts(key)

    def text(self, key: str) -> str | None:
        """The text of a key; None without it."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        value = entry.values[0][0].strip()
        if not value:
            raise SpecError(f"{self._path}:{entry.line}: {key} names nothing")
        return value

    def word(self, key: str, known: tuple[str, ...]) -> str | None:
        """One of the words that a key takes, in any case; None without the key."""
        value = self.text(key)
        if value is not None and value.lower() not in known:
            told = f"{shown(value)} is not known{hint(value.lower(), known)}; there are {', '.join(known)}"
            raise SpecError(f"{self._path}:{self._entries[key].line}: {key}: {told}")
        return None if value is None else value.lower()

    def number(self, key: str) -> int | None:
        """The whole number of a key; None without it."""
        value = self.text(key)
        if value is None:
            return None
        where = f"{self._path}:{self._entries[key].line}: {key}"
        if not _NUMBER.fullmatch(value) or abs(int(value)) > _LARGEST:
            raise SpecError(f"{where}: {shown(value)} is not a whole number")
        bounds = NUMBERS[key]
        if bounds is not None and not bounds[0] <= int(value) <= bounds[1]:
            raise SpecError(f"{where}: {value} is not from {bounds[0]} to {bounds[1]}")
        return int(value)


def read_conf(path: Path) -> SpecFile:
    """The options that a Crawler.conf stands for, or ``SpecError`` with file, line and reason."""
    conf = Conf(path)
    raw: dict[str, tuple[str, object]] = {"match": ("accept-list", "name"), "sitemaps": ("starting-points", "no")}
    raw["exact-scope"] = ("scope", True)
    for key, option in (("accept-list", "accept"), ("reject-list", "reject")):
        if conf.expressions(key):
            raw[option] = (key, list(conf.expressions(key)))
    scope = conf.word("scope", tuple(SCOPES))
    raw["scope"] = ("scope", SCOPES[scope or "domain-scope"])
    raw["order"] = ("traversal-algorithm", conf.word("traversal-algorithm", ("bfs", "dfs")) or "bfs")
    pages = conf.number("max-page-number")
    if pages is not None and pages > 0:
        raw["max-pages"] = ("max-page-number", pages)
    raw["repository"] = ("repository", conf.text("repository") or "./repository")
    log_file, level = conf.text("log-file"), conf.number("log-level")
    if log_file is not None or level is not None:
        raw["log-file"] = ("log-file", ON_SCREEN if (log_file or "").lower() == ON_SCREEN else log_file or "log")
        raw["log-level"] = ("log-level", 1 if level is None else level)
    period = conf.number("period")
    if period:
        raw["period"] = ("period", period * _HOUR_S)
    for key, option in (("number-of-threads", "workers"), ("processes", "processes")):
        if conf.number(key) is not None:
            raw[option] = (key, conf.number(key))
    seeds = conf.texts("starting-points")
    return SpecFile(path, {option: conf.given(*value) for option, value in raw.items()}, seeds, ())
