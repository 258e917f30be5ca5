"""Start addresses: URLs, hosts, and files of them.

The rule (DESIGN section 6): with ``://`` it is a URL; a regular file is a list, a line each; anything else is a host,
asked by https and then by http, even if a folder has that name. ``http:/host`` is a URL too, as browsers have it. A
file that begins like a list of sites (R1, ``weft.seeds.hosts``) is one: each line is then a site with its own settings,
and a wrong line is an error.
"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import msgspec

from weft.errors import SpecError
from weft.seeds.hosts import HostLine, can_be_resolved, host_lines, looks_like_one, meaning_of
from weft.spec import SitePace
from weft.text.patterns import regex
from weft.url import host_of, parse, site_of

MAX_LINE_B = 16_384
"""A longer line is no URL that weft would ask."""

SHOWN_WARNINGS = 20
TOO_LONG = "\ufffd"
"""Stands for a line past the bound."""

LIST_SUFFIXES = frozenset(
    {".txt", ".lst", ".list", ".csv", ".tsv", ".urls", ".seeds", ".dat", ".toml", ".json", ".jsonl", ".conf", ".ini"}
)
"""No host ends like this: a name that does and is no file is a list that is missing."""

_WEB_SCHEME = regex(r"\s*https?:[/\\]", re.IGNORECASE)
_OUTSIDE_TEXT = regex(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


class Seed(msgspec.Struct, frozen=True):
    """One start address. ``fallback`` is asked where ``url`` does not answer."""

    url: str
    fallback: str | None
    source: str  # the file, or "" for the command line
    line: int  # in the file; on the command line the position, from 1


def read_seeds(args: Sequence[str], warn: Callable[[str], None]) -> list[Seed]:
    """The seeds that the arguments name, each URL once, in order; ``SpecError`` where there are none to use.

    A bad line of a file is left out with a warning; a bad argument is an error.
    """
    seeds: dict[str, Seed] = {}
    for position, text in enumerate(args, start=1):
        found = _seeds_of_file(Path(text), warn) if _is_list(text) else [_seed_of_argument(text, position)]
        for seed in found:
            seeds.setdefault(seed.url, seed)
    if not seeds:
        raise SpecError("no seed: give a URL, a host or a file of them, for example: weft crawl https://example.org")
    return list(seeds.values())


def default_folder(seed: Seed) -> str:
    """The folder that a crawl gets by itself: the host of its first seed, as a safe file name.

    A port that is not the usual one of the scheme follows behind it: ``127.0.0.1_8080``.
    """
    host = host_of(seed.url)
    name = re.sub(r"[^0-9A-Za-z._-]", "_", host.strip("[]")).lstrip(".-") or "crawl"
    port = site_of(seed.url).removeprefix(host).removeprefix(":")
    return f"{name}_{port}" if port else name


def seed_of(text: str, source: str = "", line: int = 0) -> Seed:
    """The seed that one text names, a URL or a host; ``ValueError`` says what is wrong with it."""
    text = text.strip()
    if "\ufffd" in text or not text.isprintable():
        raise ValueError("is too long, or has control characters or bytes in it that are not UTF-8 text")
    if _names_scheme(text):
        return Seed(_checked_url(text), None, source, line)
    https, http = (_url_of_host(scheme, text) for scheme in ("https", "http"))
    if re.search(r":0*80$", text.partition("/")[0]):  # the port of http: https would not be answered there
        return Seed(http, None, source, line)
    return Seed(https, http, source, line)


def _names_scheme(text: str) -> bool:
    """Whether it is a URL: with ``://``, or a scheme of the web before fewer, more or other slashes (WHATWG)."""
    return "://" in text or _WEB_SCHEME.match(text) is not None


def _is_list(text: str) -> bool:
    try:
        return not _names_scheme(text) and Path(text).is_file()
    except (OSError, ValueError):  # a name too long for a file, or with NUL in it
        return False


def _seed_of_argument(text: str, position: int) -> Seed:
    try:
        _refuse_missing_file(text)
        return seed_of(text, "", position)
    except ValueError as error:
        raise SpecError(f"the seed {quoted(text)} {error}") from None


def _refuse_missing_file(text: str) -> None:
    """Raises for what was meant as a file: a folder, a path, a name that ends like a list."""
    if _names_scheme(text):
        return
    first = text.partition("/")[0]
    looks_like_path = "/" in text and ("." not in first.strip(".") and first != "localhost" and ":" not in first)
    if not looks_like_path and Path(text).suffix.lower() not in LIST_SUFFIXES and not text.endswith("\\"):
        return
    try:
        if Path(text).is_dir():
            raise ValueError("is a folder; a list of seeds is a file with a URL or host on each line")
        exists = Path(text).exists()
    except OSError:
        exists = False
    raise ValueError("is no regular file" if exists else "is no URL, and there is no file of that name")


def _checked_url(text: str) -> str:
    url = parse(text)
    if url is None:
        raise ValueError("is not a URL that can be read")
    if not url.startswith(("http://", "https://")):
        raise ValueError("is not a web address: only http and https can be crawled")
    if "@" in url.split("/", 3)[2]:
        raise ValueError("has credentials in it: give them with --auth instead")
    if not can_be_resolved(host_of(url)):
        raise ValueError("has no host in it that can exist")
    return url


def _url_of_host(scheme: str, text: str) -> str:
    """``scheme://host/`` for a host with its port and path, if any; ValueError for what is none."""
    first, slash, path = text.partition("/")
    with suppress(ValueError):
        first = f"[{ipaddress.IPv6Address(first)}]"
    if first.endswith(":"):  # no port behind it: a scheme, and no host
        raise ValueError("is neither a URL, nor a host, nor a file: a URL begins with https:// or http://")
    if not first or re.search(r"[\s\\?#@;,=<>\"'|]", first):
        raise ValueError("is neither a URL, nor a host, nor a file")
    url = parse(f"{scheme}://{first}{slash}{path}")
    if url is None or not can_be_resolved(host_of(url)):
        raise ValueError("is neither a URL, nor a host, nor a file")
    return url


def _seeds_of_file(path: Path, warn: Callable[[str], None]) -> list[Seed]:
    hosts = hosts_of_file(path)
    if hosts:
        return list({host.url: Seed(host.url, None, str(path), host.number) for host in hosts}.values())
    try:
        with path.open("rb") as stream:
            return _seeds_of_lines(path, _lines(path, stream), warn)
    except OSError as error:
        raise SpecError(f"cannot read the seeds file {path}: {error.strerror or error}") from None


def site_paces(args: Sequence[str], *, wanted: bool = False) -> dict[str, SitePace]:
    """What the lists of sites among the arguments say of their sites (R1); ``wanted``: another list is an error."""
    lists = [Path(text) for text in args if _is_list(text)]
    return {host.pace.site: host.pace for path in lists for host in hosts_of_file(path, wanted=wanted)}


def hosts_of_file(path: Path, *, wanted: bool = False) -> list[HostLine]:
    """The sites of a list of sites; none of a list of URLs, unless a list of sites is ``wanted``."""
    try:
        with path.open("rb") as stream:
            first = next((text for _, line in _lines(path, stream) if (text := meaning_of(line))), "")
            if not wanted and not looks_like_one(first):
                return []
            stream.seek(0)
            return list(host_lines(path, _lines(path, stream)))
    except OSError as error:
        raise SpecError(f"cannot read the seeds file {path}: {error.strerror or error}") from None


def _seeds_of_lines(path: Path, lines: Iterator[tuple[int, str]], warn: Callable[[str], None]) -> list[Seed]:
    seeds: dict[str, Seed] = {}
    bad = 0
    for number, line in lines:
        text = meaning_of(line)
        if not text:
            continue
        try:
            seed = seed_of(text, str(path), number)
            seeds.setdefault(seed.url, seed)
        except ValueError as error:
            bad += 1
            if bad <= SHOWN_WARNINGS:
                warn(f"{path}:{number}: {quoted(text)} {error}; left out")
    if bad > SHOWN_WARNINGS:
        warn(f"{path}: {bad} lines in all are neither URLs nor hosts and were left out")
    if not seeds:
        what = "no line that is a URL or a host" if bad else "no seeds in it: it is empty"
        raise SpecError(f"the seeds file {path} has {what}")
    return list(seeds.values())


def _lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    """The lines of a text file with their numbers; its start tells what it is."""
    start = stream.peek(4_096)[:4_096] if hasattr(stream, "peek") else b""
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        yield from _utf16_lines(path, stream)
        return
    if _OUTSIDE_TEXT.search(start):
        raise SpecError(f"the seeds file {path} is binary; a text file with a URL or host on each line is needed")
    number = 0
    while line := stream.readline(MAX_LINE_B):
        number += 1
        while not line.endswith(b"\n") and (rest := stream.readline(MAX_LINE_B)):
            line = line[:MAX_LINE_B].ljust(MAX_LINE_B) + rest[-1:]
        if len(line) > MAX_LINE_B:
            yield number, TOO_LONG
        else:
            yield (number, line.decode("utf-8-sig" if number == 1 else "utf-8", "replace"))


def _utf16_lines(path: Path, stream: BinaryIO) -> Iterator[tuple[int, str]]:
    if os.fstat(stream.fileno()).st_size > 100_000_000:
        raise SpecError(f"the seeds file {path} is in UTF-16 and too large; convert it to UTF-8")
    try:
        yield from enumerate(stream.read().decode("utf-16").splitlines(), start=1)
    except UnicodeDecodeError:
        raise SpecError(
            f"the seeds file {path} is binary; a text file with a URL or host on each line is needed"
        ) from None


def quoted(text: str) -> str:
    """What somebody gave as a seed, for a message: not too long, and without a password that may be in it."""
    if _names_scheme(text) and "@" in text:
        text = re.sub(r"[/\\]+[^/\\]*@", "//...@", text)
    whole = repr(text)
    return whole if len(whole) <= 100 else f"{whole[:97]}..."
