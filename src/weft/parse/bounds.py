"""A tree of any document, in bounded time and memory.

The tree builder is linear, and never deeper than 512, but for what the HTML standard itself asks of it:

- formatting elements that are never closed are made again, attributes and all, in every later block: 60 KB of
  ``<font ...>`` and ``<p>`` can become gigabytes. To find that out beforehand costs as much as parsing, so memory
  is bounded instead while a large document is parsed; past the bound it is parsed again with those tags renamed, so
  that they mean nothing and the links between them stay;
- the attributes of every further ``<html>`` and ``<body>`` are compared with all those of the first. In large
  documents those further tags are renamed beforehand, where they are long.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import msgspec

from weft.text.patterns import regex

if TYPE_CHECKING:
    import turbohtml

try:
    import resource
except ImportError:  # no such limits on this system
    resource = None  # type: ignore[assignment]

SMALL_B: Final = 32_768
"""A document up to this size is parsed without further ado: the worst takes about a second."""

ROOT_CHECK_B: Final = 131_072
"""From this size on, html and body tags are counted."""

_SPARE_B = 256 << 20  # memory that parsing may take in any case,
_SPARE_PER_B = 24  # and for each byte of the document
_MAX_ROOT_TAGS_B = 16_384  # all html and body tags together
_SAMPLE_STEP_B = 16_384
_SAMPLE_B = 512

_ATTRIBUTES = rb"""(?:[^>=]++|=[\t\n\f\r ]*+(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z))?+)*+"""
_ROOT = regex(rb"<([bBhH][oOtT][dDmM][yYlL])(?=[\s/>])")
_REST_OF_TAG = regex(_ATTRIBUTES)
_FORMATTING = regex(
    rb"<(/?(?:b|big|code|em|font|i|nobr|s|small|strike|strong|tt|u|a(?=[\s/][^>]{2048}))(?=[\s/>]))", re.IGNORECASE
)


class Tree(msgspec.Struct, frozen=True):
    """A parsed document, and what had to be done to it beforehand ("" in nearly every case)."""

    document: turbohtml.Document
    problem: str


def tree_of(body: bytes, encoding: str) -> Tree | None:
    """The tree of a document as browsers without scripts see it; None where no bound could be kept.

    ``encoding`` is compatible with ASCII. Declarative shadow roots stay templates, marked by their attribute.
    """
    if len(body) <= SMALL_B:
        return Tree(_parse(body, encoding), "")
    problem = ""
    if len(body) > ROOT_CHECK_B and _has_long_roots(body):
        body, problem = _with_one_root(body), "further html and body tags left out"
    for attempt in (_as_it_is, _without_formatting, _first_part_without_formatting):
        candidate, note = attempt(body)
        try:
            with memory_bound(_SPARE_B + _SPARE_PER_B * len(candidate)):
                return Tree(_parse(candidate, encoding), "; ".join(filter(None, (problem, note))))
        except MemoryError:
            continue
    return None


def _parse(body: bytes, encoding: str) -> turbohtml.Document:
    import turbohtml

    return turbohtml.parse(body, encoding=encoding, positions=False, allow_declarative_shadow_roots=False)


def _as_it_is(body: bytes) -> tuple[bytes, str]:
    return body, ""


def _without_formatting(body: bytes) -> tuple[bytes, str]:
    return _FORMATTING.sub(_renamed, body), "formatting tags left out: parsing them took too much memory"


def _first_part_without_formatting(body: bytes) -> tuple[bytes, str]:
    part, note = _without_formatting(body[: len(body) // 8])
    return part, f"{note}; only the first eighth parsed"


def _renamed(match: re.Match[bytes]) -> bytes:
    tag = match[1]
    return b"</x-" + tag[1:] if tag.startswith(b"/") else b"<x-" + tag


def _has_long_roots(body: bytes) -> bool:
    """Whether html and body tags take so much of the document that merging their attributes would be slow.

    Samples tell: it takes tens of kilobytes of such tags to take a second, and the whole is worth a look only where
    one of the samples is.
    """
    if not any(_is_in_root(body, at) for at in range(_SAMPLE_STEP_B, len(body), _SAMPLE_STEP_B)):
        return False
    total = count = end = 0
    for match in _ROOT.finditer(body):
        if match.start() >= end:  # else inside the attributes of another; scanning them again could be quadratic
            rest = _REST_OF_TAG.match(body, match.end())
            end = rest.end() if rest else match.end()
            total += end - match.start()
            count += 1
    return count > 1 and total > _MAX_ROOT_TAGS_B


def _is_in_root(body: bytes, at: int) -> bool:
    """Whether a sample of the document has an html or body tag in it, or lies within one."""
    end = at + _SAMPLE_B
    if _ROOT.search(body, at, end):
        return True
    if body.find(b">", at, end) >= 0:
        return False
    return _ROOT.match(body, max(0, body.rfind(b"<", 0, end))) is not None


def _with_one_root(body: bytes) -> bytes:
    """The document with the first html and the first body tag only; the others are renamed."""
    seen: set[bytes] = set()

    def renamed(match: re.Match[bytes]) -> bytes:
        name = match[1].lower()
        if name not in seen:
            seen.add(name)
            return match[0]
        return b"<x-" + name

    return _ROOT.sub(renamed, body)


_limit_lock = threading.Lock()  # the limit is the process's, so two threads must not set it crosswise


@contextmanager
def memory_bound(spare_b: int = _SPARE_B) -> Iterator[None]:
    """A stretch in which the process may take so much more memory; past it, allocation fails with MemoryError.

    Without effect where the system has no such limit.
    """
    size_b = _address_space_b()
    if not size_b:
        yield
        return
    with _limit_lock:
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        bounds = [bound for bound in (size_b + spare_b, soft, hard) if bound != resource.RLIM_INFINITY]
        resource.setrlimit(resource.RLIMIT_AS, (min(bounds), hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


def _address_space_b() -> int:
    """The size of the process's address space, or 0 where it cannot be told."""
    if resource is None:
        return 0
    try:
        descriptor = os.open("/proc/self/statm", os.O_RDONLY)
    except OSError:
        return 0
    try:
        return int(os.read(descriptor, 64).split(None, 1)[0]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0
    finally:
        os.close(descriptor)
