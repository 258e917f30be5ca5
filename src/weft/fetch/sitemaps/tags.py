"""XML cut into tags and text, without an XML parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from weft.fetch.sitemaps.found import MAX_TAG_B, MAX_TEXT_B, WINDOW_B

ENTITY = re.compile(r"&(?:(amp|lt|gt|quot|apos)|#(\d{1,7})|#[xX]([0-9A-Fa-f]{1,6}));")
OWN_ENTITY = re.compile(r"&[A-Za-z_:][\w:.-]{0,64};")
_NAMED: Final = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ATTRIBUTE = re.compile(r"(?<![\w:.-])([\w:.-]{1,64})\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_DOCTYPE_END = re.compile(rb"\]\s*>")


def character(found: re.Match[str]) -> str:
    """What one of XML's five entities or a character reference stands for."""
    named, decimal, hexadecimal = found.groups()
    if named:
        return _NAMED[named]
    code = int(decimal) if decimal else int(hexadecimal, 16)
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


def pieces_of(body: bytes) -> Iterator[tuple[bytes, list[bytes]]]:
    """The markup in batches: text that goes on, then pieces ``tag>text``.

    Comments and DOCTYPE are left out, CDATA is text. A batch is about WINDOW_B long: memory does not follow the body.
    """
    at, end = 0, len(body)
    while at < end:
        special = body.find(b"<!", at)
        stop = end if special < 0 else special
        while at < stop:
            cut = min(at + WINDOW_B, stop)
            if cut < stop:
                before = body.rfind(b"<", at + 1, cut)
                behind = body.find(b"<", cut, stop) if before < 0 else before
                cut = stop if behind < 0 else behind
            text, *pieces = body[at:cut].split(b"<")
            yield text, pieces
            at = cut
        if special >= 0:
            at, literal = _past_special(body, special)
            yield literal, []


def _past_special(body: bytes, at: int) -> tuple[int, bytes]:
    """Where what begins with ``<!`` ends, and its literal text if it is CDATA. Unclosed, it swallows the rest."""
    if body.startswith(b"<!--", at):
        close = body.find(b"-->", at + 4)
        return (len(body) if close < 0 else close + 3), b""
    if body.startswith(b"<![CDATA[", at):
        close = body.find(b"]]>", at + 9)
        stop = len(body) if close < 0 else close
        literal = body[at + 9 : min(stop, at + 9 + MAX_TEXT_B + 1)].replace(b"&", b"&amp;").replace(b"<", b"&lt;")
        return (len(body) if close < 0 else close + 3), literal
    close = body.find(b">", at)
    subset = body.find(b"[", at, close if close >= 0 else len(body))
    if subset >= 0:
        found = _DOCTYPE_END.search(body, subset)
        close = found.end() - 1 if found else -1
    return (len(body) if close < 0 else close + 1), b""


def split_name(tag: bytes) -> tuple[str, str]:
    """Prefix and local name of a tag, in lower case."""
    words = tag[:256].split(None, 1)
    name = words[0].rstrip(b"/").decode("utf-8", "replace").lower() if words else ""
    prefix, _, local = name.rpartition(":")
    return prefix, local


def attributes_of(tag: bytes) -> dict[str, str]:
    found = _ATTRIBUTE.findall(tag[:MAX_TAG_B].decode("utf-8", "replace"))
    return {name.lower(): ENTITY.sub(character, double or single).strip() for name, double, single in found}
