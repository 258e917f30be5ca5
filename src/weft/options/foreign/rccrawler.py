"""RCCrawler's ``settings.ini`` as it is (R18): its 23 keys read into the options of a crawl.

There is no section header, texts stand in quotes and may wrap over lines, blanks may follow anything. Relative names
are relative to the file's folder. The list of sites is ``hosts.txt`` beside it, unless seeds are named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from weft.errors import SpecError
from weft.options.checks import shown
from weft.options.sites import settings_of
from weft.options.suggest import hint
from weft.options.toml import Given, SpecFile, text_of

if TYPE_CHECKING:
    from weft.seeds.hosts import HostLine

HOSTS_FILE = "hosts.txt"

ROLES = {
    "ApplicationManager": "manager",
    "DataManager": "store",
    "DownloadingThread": "downloader",
    "ParsingThread": "parser",
    "RoutineThread": "routine",
    "UrlAnalyzingThread": "analyser",
    "RobotsTxtClass": "robots",
    "ApplicationFinishers": "finisher",
    "ResultUnloaders": "unloader",
}
"""The role that a class of the user's own has (R4), named as MODULE:NAME or FILE.py:NAME."""

SINGLE = {
    "ApplicationManager": ("TextFileAM",),
    "DataManager": ("BMICDM",),
    "DownloadingThread": ("DT0",),
    "ParsingThread": ("PT0",),
    "RoutineThread": ("RT0",),
    "UrlAnalyzingThread": ("EmptyUAT",),
    "RobotsTxtClass": ("OnlyDisallowRobotsTxt",),
}
"""The classes that one key can name: each is a part of weft (docs/rccrawler.md)."""

SEVERAL = {
    "ApplicationFinishers": ("WorkIsDoneAF", "TimeoutAF", "StopFileAF"),
    "ResultUnloaders": ("GephiSiteGraphRU", "TestRU"),
}
COUNTS = {
    "ParsingThreadsCount": 1,
    "DownloadingThreadPDChunkSizeMultiplier": 1,
    "ParsingThreadPDChunkSize": 1,
    "DownloadingThreadSleepTime": 0,
    "ParsingThreadSleepTime": 0,
    "RoutineThreadSleepTime": 0,
    "TimeoutSeconds": 1,
}
"""Whole numbers, and the least that makes sense."""

FLAGS = ("DisplayCommonLog", "DisplayErrorLog", "SaveDuplicates")
NAMES = ("CommonLogFile", "ErrorLogFile", "ResultFolder", "StopFile")
KEYS = (*SINGLE, *SEVERAL, *COUNTS, *FLAGS, *NAMES)

_MAX_NUMBER = 10**9
_MAX_WRAPPED = 20
_KEY = re.compile(r"([A-Za-z][A-Za-z0-9_.-]*)[ \t]*=(.*)", re.DOTALL)
_HEADER = re.compile(r"\[general\]", re.IGNORECASE)
_FENCE = re.compile(r"`{3,}\w*")  # a file taken from a printed page may have brought its frame


class Entry(NamedTuple):
    """A key as somebody wrote it, and on which line."""

    value: str
    line: int


class Settings:
    """The keys of one file, each read by its kind; ``SpecError`` tells file, line and reason."""

    def __init__(self, path: Path, entries: Mapping[str, Entry]) -> None:
        self._path = path
        self._entries = entries

    def given(self, key: str, raw: object) -> Given:
        """A value for an option, with the place that it comes from."""
        line = self._entries[key].line if key in self._entries else 0
        return Given(raw, f"{self._path}:{line}: {key}", self._path.parent)

    def names(self, key: str) -> tuple[str, ...]:
        """The classes that a key names, all of them known or the user's own; without the key those that are known."""
        known = SINGLE.get(key) or SEVERAL[key]
        entry = self._entries.get(key)
        if entry is None:
            return known
        named = tuple(name for part in entry.value.split(",") if (name := part.strip()))
        if not named:
            raise self._wrong(key, f"names no class; known are {', '.join(known)}")
        if key in SINGLE and len(named) > 1:
            raise self._wrong(key, f"names {len(named)} classes, and takes one")
        for name in named:
            if name not in known and ":" not in name:
                own = "a part of your own is MODULE:NAME"
                raise self._wrong(key, f"there is no {shown(name)}; known are {', '.join(known)}; {own}")
        return named

    def own(self) -> list[tuple[str, str]]:
        """The user's own parts: which key names them, and ROLE=MODULE:NAME."""
        return [(key, f"{role}={name}") for key, role in ROLES.items() for name in self.names(key) if ":" in name]

    def number(self, key: str) -> int | None:
        """The number that a key gives; None without the key."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if not re.fullmatch(r"\d{1,12}", entry.value, re.ASCII) or int(entry.value) > _MAX_NUMBER:
            raise self._wrong(key, f"{shown(entry.value)} is not a whole number from {COUNTS[key]} to {_MAX_NUMBER}")
        if int(entry.value) < COUNTS[key]:
            raise self._wrong(key, f"{entry.value} is less than {COUNTS[key]}")
        return int(entry.value)

    def flag(self, key: str) -> bool | None:
        """Whether a key is on; None without the key."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        if entry.value.lower() not in ("0", "1", "true", "false"):
            raise self._wrong(key, f"{shown(entry.value)} is not 0 or 1")
        return entry.value.lower() in ("1", "true")

    def name(self, key: str) -> str | None:
        """The file or folder that a key names; None without the key."""
        entry = self._entries.get(key)
        if entry is not None and not entry.value:
            raise self._wrong(key, "names nothing")
        return None if entry is None else entry.value

    def _wrong(self, key: str, reason: str) -> SpecError:
        return SpecError(f"{self._path}:{self._entries[key].line}: {key}: {reason}")


def read_settings(path: Path) -> SpecFile:
    """The options that a settings.ini stands for, or ``SpecError`` with file, line and reason."""
    settings = Settings(path, dict(_entries(path, text_of(path))))
    own = settings.own()
    numbers = {key: settings.number(key) for key in COUNTS}
    flags = {key: settings.flag(key) for key in FLAGS}
    finishers, unloaders = settings.names("ApplicationFinishers"), settings.names("ResultUnloaders")
    raw: dict[str, tuple[str, object]] = {"mode": ("ApplicationManager", "graph")}
    if "WorkIsDoneAF" not in finishers:
        raw["wait"] = ("ApplicationFinishers", True)
    if "TimeoutAF" in finishers and numbers["TimeoutSeconds"] is not None:
        raw["max-time"] = ("TimeoutSeconds", numbers["TimeoutSeconds"])
    if "StopFileAF" in finishers:
        raw["stop-file"] = ("StopFile", settings.name("StopFile") or "stop.txt")
    raw["graphs"] = ("ResultFolder", settings.name("ResultFolder") or "result")
    if "GephiSiteGraphRU" not in unloaders:
        raw["graphs"] = ("ResultUnloaders", "none")
    raw["graph-summary"] = ("ResultUnloaders", "TestRU" in unloaders)
    raw["graph-duplicates"] = ("SaveDuplicates", bool(flags["SaveDuplicates"]))
    for key, option in (("CommonLogFile", "common-log"), ("ErrorLogFile", "error-log")):
        if settings.name(key) is not None:
            raw[option] = (key, settings.name(key))
    raw["log"] = ("DisplayCommonLog", _LOGS[bool(flags["DisplayCommonLog"]), bool(flags["DisplayErrorLog"])])
    seeds: tuple[str, ...] = (HOSTS_FILE,) if (path.parent / HOSTS_FILE).is_file() else ()
    managers = [(key, part) for key, part in own if part.startswith("manager=")]
    if managers:
        hosts = _managed(path, managers[0][1])
        seeds = tuple(host.url for host in hosts)
        raw["site"] = (managers[0][0], {host.pace.site: settings_of(host.pace) for host in hosts})
        own = [one for one in own if one not in managers]
    if own:
        raw["part"] = (own[0][0], [part for _, part in own])
    return SpecFile(path, {option: settings.given(*value) for option, value in raw.items()}, seeds, ())


def _managed(path: Path, part: str) -> list[HostLine]:
    """The sites that a manager of the user's own makes of hosts.txt (R4)."""
    from weft.plugins import LoadedPlugins, located
    from weft.seeds.hosts import host_lines

    beside = path.parent / HOSTS_FILE
    lines = text_of(beside).splitlines() if beside.is_file() else []
    try:
        manage = LoadedPlugins([located(part, path.parent)]).one("manager")
    except ValueError as error:
        raise SpecError(f"{path}: ApplicationManager: {error}") from None
    assert manage is not None
    return list(host_lines(Path(f"{path}: ApplicationManager"), enumerate(map(str, manage(lines)), start=1)))


_LOGS = {(True, True): "screen", (True, False): "common", (False, True): "error", (False, False): "files"}


def _entries(path: Path, text: str) -> Iterator[tuple[str, Entry]]:
    """Every key with its value, quotes and wrapping taken off."""
    by_lower = {key.lower(): key for key in KEYS}
    found: dict[str, int] = {}
    lines = iter(enumerate(text.split("\n"), start=1))
    for number, line in lines:
        stripped = line.strip()
        if not stripped or stripped[0] in "#;" or _HEADER.fullmatch(stripped) or _FENCE.fullmatch(stripped):
            continue
        match = _KEY.fullmatch(stripped)
        if match is None:
            reason = "there are no sections" if stripped[0] == "[" else "it is not of the form Key = value"
            raise SpecError(f"{path}:{number}: {shown(stripped)}: {reason}")
        key = by_lower.get(match[1].lower())
        if key is None:
            raise SpecError(f"{path}:{number}: unknown key {shown(match[1])}{hint(match[1], KEYS)}")
        if key in found:
            raise SpecError(f"{path}:{number}: {key} stands on line {found[key]} already")
        found[key] = number
        try:
            value = _value(match[2].strip(), lambda: next(lines, (0, ""))[1].strip())
        except ValueError as error:
            raise SpecError(f"{path}:{number}: {key}: {error}") from None
        if not value.isprintable():
            raise SpecError(f"{path}:{number}: {key}: {shown(value)} has control characters in it")
        yield key, Entry(value, number)


def _value(text: str, next_line: Callable[[], str]) -> str:
    """A value; a text in quotes goes on over the next lines until its closing quote."""
    if not text.startswith('"'):
        return re.sub(r"\s+[#;].*", "", text).strip()
    inside = text[1:]
    for _ in range(_MAX_WRAPPED):
        value, closing, rest = inside.partition('"')
        if closing:
            if rest.strip() and rest.strip()[0] not in "#;":
                raise ValueError(f"{shown(rest.strip())} stands behind the closing quote")
            return value.strip()
        line = next_line()
        if not line or _KEY.fullmatch(line):
            break
        inside = f"{inside.rstrip()} {line}"
    raise ValueError("the quote that opens here is never closed")
