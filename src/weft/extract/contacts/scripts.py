"""The strings that a script joins: enough of JavaScript to read the addresses that are hidden in it.

Nothing is run. Strings, variables with strings in them, and the usual ways to join, turn and decode these are
understood; anything else stands for an unknown string.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final
from urllib.parse import unquote

from weft.extract.contacts.ciphers import base64_text, rot13, shuffled, typo3

MAX_SCRIPT: Final = 65_536  # characters of one script that are read
MAX_STRING: Final = 20_000
MAX_STRINGS: Final = 2_000

UNKNOWN: Final = "\x00"

_TOKEN = re.compile(
    r"""(?P<comment>/\*(?:(?!\*/).)*+(?:\*/|\Z)|(?<![:"'\\])//[^\n]*+)"""
    r"""|(?P<string>"(?:[^"\\\n]|\\.)*+"|'(?:[^'\\\n]|\\.)*+'|`(?:[^`\\]|\\.)*+`)"""
    r"""|(?P<number>\d[\w.]*+)|(?P<name>[A-Za-z_$][\w$]*+)|(?P<sign>\+=|[^\s\w])""",
    re.DOTALL,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|u\{([0-9a-fA-F]{1,6})\}|(\r\n|.))", re.DOTALL)
_SIMPLE: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
_DECODERS: Final = frozenset({"unescape", "decodeURIComponent", "decodeURI"})


def strings_of(script: str) -> Iterator[str]:
    """The strings that a script makes, joined ones first as they come; each may be a part of a later one."""
    reader = _Reader(script[:MAX_SCRIPT])
    seen: set[str] = set()
    for found in reader.read():
        if len(seen) >= MAX_STRINGS:
            return
        if found not in seen and len(found) > 5:
            seen.add(found)
            yield found


def literal(written: str) -> str:
    """The text of a string literal without its quotes."""
    return _ESCAPE.sub(_escaped, written) if "\\" in written else written


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code:
        number = int(code, 16)
        return chr(number) if number < 0x110000 else ""
    return _SIMPLE.get(match[4], match[4])


class _Reader:
    """Reads a script token by token; expressions it understands become strings."""

    def __init__(self, script: str) -> None:
        self._kinds: list[str] = []
        self._words: list[str] = []
        for token in _TOKEN.finditer(script):
            kind = token.lastgroup or ""
            if kind != "comment":
                self._kinds.append(kind)
                self._words.append(token[0])
        self._at = 0
        self._known: dict[str, str] = {}
        self._lists: dict[str, list[str]] = {}

    def read(self) -> Iterator[str]:
        while self._at < len(self._kinds):
            at = self._at
            if self._kinds[at] == "name" and self._word(at + 1) in ("=", "+=") and self._word(at + 2) != "=":
                yield from self._assignment(at)
            elif self._begins(at):
                value, _ = self._sum(0)
                if value.strip(UNKNOWN):
                    yield value
            if self._at <= at:
                self._at = at + 1
        if "ml" in self._known and "mi" in self._known:
            yield unquote(shuffled(self._known["ml"], self._known["mi"]))

    def _assignment(self, at: int) -> Iterator[str]:
        name, adds = self._words[at], self._words[at + 1] == "+="
        self._at = at + 2
        if not self._begins(self._at):
            return
        value, parts = self._sum(0)
        if parts is not None:
            self._lists[name] = parts
        if adds:
            value = (self._known.get(name, "") + value)[:MAX_STRING]
        self._known[name] = value
        if value.strip(UNKNOWN):
            yield value

    def _begins(self, at: int) -> bool:
        kind, word = self._kind(at), self._word(at)
        return kind == "string" or word in ("[", "(") or (kind == "name" and (word in self._known or self._is_call(at)))

    def _is_call(self, at: int) -> bool:
        word = self._word(at)
        return word in ("String", "atob") or word in _DECODERS or (word == "window" and self._word(at + 2) == "atob")

    def _kind(self, at: int) -> str:
        return self._kinds[at] if at < len(self._kinds) else ""

    def _word(self, at: int) -> str:
        return self._words[at] if at < len(self._words) else ""

    def _sum(self, depth: int) -> tuple[str, list[str] | None]:
        """The terms from here on that are joined by plus signs; a list, where that is all there is."""
        total: list[str] = []
        parts: list[str] | None = None
        while True:
            value, parts = self._term(depth)
            total.append(value)
            if self._word(self._at) != "+":
                break
            self._at += 1
        if len(total) > 1:
            parts = None
        return "".join(total)[:MAX_STRING], parts

    def _term(self, depth: int) -> tuple[str, list[str] | None]:
        kind, word = self._kind(self._at), self._word(self._at)
        parts: list[str] | None = None
        self._at += 1
        if kind == "string":
            value = literal(word[1:-1])
        elif word == "(" and depth < 8:
            value, parts = self._sum(depth + 1)
            self._close(")")
        elif word == "[" and depth < 8:
            parts = self._several("]", depth)
            value = ",".join(parts)
        elif kind == "name":
            value, parts = self._named(word, depth)
        else:
            return UNKNOWN, None
        return self._turned(value, parts, depth)

    def _named(self, word: str, depth: int) -> tuple[str, list[str] | None]:
        if word == "window" and self._word(self._at) == ".":
            word = self._word(self._at + 1)
            self._at += 2
        if word == "String" and self._word(self._at + 1) == "fromCharCode":
            self._at += 3
            numbers = self._several(")", depth)
            codes = [int(number, 0) for number in numbers if re.fullmatch(r"\d{1,7}|0[xX][0-9a-fA-F]{1,6}", number)]
            return "".join(chr(code) for code in codes if code < 0x110000), None
        if word in _DECODERS and self._word(self._at) == "(":
            self._at += 1
            return unquote("".join(self._several(")", depth))), None
        if word == "atob" and self._word(self._at) == "(":
            self._at += 1
            return base64_text("".join(self._several(")", depth))), None
        return self._known.get(word, UNKNOWN), self._lists.get(word)

    def _several(self, closing: str, depth: int) -> list[str]:
        """The terms up to a closing sign."""
        values: list[str] = []
        while self._at < len(self._kinds) and self._word(self._at) != closing and len(values) < MAX_STRINGS:
            if self._word(self._at) in (",", ";", "}"):
                if self._word(self._at) != ",":
                    break
                self._at += 1
                continue
            if self._kind(self._at) == "number":
                values.append(self._word(self._at))
                self._at += 1
                continue
            at = self._at
            values.append(self._sum(depth + 1)[0])
            if self._at <= at:
                self._at = at + 1
        self._close(closing)
        return values

    def _close(self, closing: str) -> None:
        if self._word(self._at) == closing:
            self._at += 1

    def _turned(self, value: str, parts: list[str] | None, depth: int) -> tuple[str, list[str] | None]:
        """What calls and places behind a term make of it."""
        if parts is not None and self._word(self._at) == "[" and self._kind(self._at + 1) == "number":
            place = self._word(self._at + 1)
            self._at += 2
            self._close("]")
            return (parts[int(place)] if place.isdigit() and int(place) < len(parts) else UNKNOWN), None
        while self._word(self._at) == "." and self._kind(self._at + 1) == "name" and self._word(self._at + 2) == "(":
            method = self._word(self._at + 1)
            self._at += 3
            if method == "replace":
                value = self._replaced(value, depth)
                continue
            arguments = self._several(")", depth)
            first = arguments[0] if arguments else ""
            if method == "split":
                parts = value.split(first) if first else list(value)
            elif method == "reverse" and parts is not None:
                parts = parts[::-1]
            elif method == "join":
                value, parts = first.join(parts if parts is not None else [value])[:MAX_STRING], None
            elif method == "concat":
                value = (value + "".join(arguments))[:MAX_STRING]
            elif method not in ("toString", "trim", "toLowerCase", "valueOf"):
                return UNKNOWN, None
        return value, parts

    def _replaced(self, value: str, depth: int) -> str:
        """The value after ``replace(/x/g, "y")`` or ``replace("x", "y")``; other patterns change nothing."""
        if self._word(self._at) == "/":
            old = ""
            self._at += 1
            while self._at < len(self._kinds) and self._word(self._at) not in ("/", ";"):
                old += self._word(self._at)
                self._at += 1
            self._at += 1
            flags = self._word(self._at) if self._kind(self._at) == "name" else ""
            self._at += bool(flags)
            arguments = self._several(")", depth)
            if re.fullmatch(r"\[a-zA-Z\]", old):
                return rot13(value)
            old = old[1:-1] if re.fullmatch(r"\[[^\]^-]\]", old) else old
            plain = re.sub(r"\\(.)", r"\1", old)
            if len(arguments) == 1 and plain and not re.search(r"(?<!\\)[\[\](){}|*+?.^$]", old):
                return value.replace(plain, arguments[0])[:MAX_STRING]
            return value
        arguments = self._several(")", depth)
        return (
            value.replace(arguments[0], arguments[1], 1)[:MAX_STRING] if len(arguments) == 2 and arguments[0] else value
        )


_CALL = re.compile(
    r"(?P<name>[\w$.]+)\s*\(\s*(?P<arguments>(?:'[^']*'|\"[^\"]*\")(?:\s*,\s*(?:'[^']*'|\"[^\"]*\"|\w+))*)\s*\)"
)
_ARGUMENT = re.compile(r"'([^']*)'|\"([^\"]*)\"")
_MAIL_WORD = re.compile(r"mail|cloak|crypt|antispam|spam|(?:^|\.)mt$|addr", re.IGNORECASE)


def calls_of(code: str) -> Iterator[list[str]]:
    """The texts that are given to functions whose names tell of mail: ``sendMail('info', 'uni.si')``."""
    for call in _CALL.finditer(code[:MAX_STRING]):
        if _MAIL_WORD.search(call["name"]):
            yield [literal(unescape(double or single)) for single, double in _ARGUMENT.findall(call["arguments"])]


def deciphered(arguments: list[str]) -> str:
    """The link in the first argument that is one once it is deciphered."""
    for argument in arguments:
        text = typo3(argument) or (rot13(argument) if argument.lower().startswith("znvygb:") else "")
        if text:
            return text
    return ""
