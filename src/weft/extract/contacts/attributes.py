"""E-mail addresses in the attributes of elements: links, encoded and divided ones, facts for machines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Final, NamedTuple
from urllib.parse import unquote

from weft.extract.contacts.addresses import Address, addresses_in
from weft.extract.contacts.ciphers import base64_text, cloudflare, rot13, typo3
from weft.extract.contacts.domains import domain_of_labels
from weft.extract.contacts.scripts import calls_of, deciphered, strings_of

MAILTO: Final = "mailto"
ENTITY: Final = "entity"
PERCENT: Final = "percent"
CLOUDFLARE: Final = "cloudflare"
ROT13: Final = "rot13"
CIPHER: Final = "cipher"
SCRIPT: Final = "script"
ATTRIBUTE: Final = "attribute"

_MAX_VALUE = 65_536
_IGNORED: Final = frozenset(
    {
        "placeholder",
        "src",
        "srcset",
        "data-src",
        "data-srcset",
        "class",
        "style",
        "id",
        "pattern",
        "for",
        "poster",
        "rel",
    }
    | {"integrity", "nonce", "d", "viewbox", "data-placeholder", "sizes", "imagesrcset"}
)
_LABELS: Final = frozenset({"title", "alt", "aria-label", "content", "summary"})
_PROTECTED = re.compile(r"email-protection#([0-9a-f]{6,})", re.IGNORECASE)
_FIRST_HALF = re.compile(
    r"data-(?:[\w-]*-)?(?:user|username|name|local|u|account|mailbox|login|id|first|before|part1|part-1|m|lp|box|recipient|to)\Z"
)
_SECOND_HALF = re.compile(
    r"data-(?:[\w-]*-)?(?:domain|host|hostname|d|server|site|website|after|part2|part-2|at|dom|provider|second)\Z"
)
_LAST_PART = re.compile(r"data-(?:[\w-]*-)?(?:tld|ext|suffix|zone|top|part3|part-3|t)\Z")
_LOCAL = re.compile(r"[A-Za-z0-9_+'-]+(?:\.[A-Za-z0-9_+'-]+)*\Z")
_TAG = re.compile(r"<[^<>]*>")


class Recipient(NamedTuple):
    """An address found in a value, and how it was written there."""

    value: str
    obscured: str
    confidence: float


def recipients(tag: str, attributes: dict[str, str], written: str) -> Iterator[Recipient]:
    """The addresses that the attributes of one element hold; ``written`` is how they stand in the source."""
    code = attributes.get("data-cfemail")
    if code:
        yield from _as(addresses_in(cloudflare(code)), CLOUDFLARE, 0.98)
    yield from _halves(attributes)
    for name, value in attributes.items():
        if name in _IGNORED or len(value) < 4 or name == "data-cfemail":
            continue
        value = value[:_MAX_VALUE]
        if name in ("href", "action", "xlink:href", "data-href", "formaction"):
            yield from _of_link(value, written)
        elif name.startswith("on"):
            yield from of_code(value)
        elif name == "data-mailto-token":
            yield from _of_link(typo3(value), written, CIPHER)
        elif name.startswith("data-") and "mail" in name:
            yield from _of_mail_data(value)
        else:
            yield from _of_text(tag, name, value, attributes)


def of_code(code: str) -> Iterator[Recipient]:
    """The addresses that a piece of JavaScript makes."""
    for arguments in calls_of(code):
        link = deciphered(arguments)
        if link:
            yield from _of_link(link, link, CIPHER)
        elif len(arguments) >= 2 and "@" not in "".join(arguments):
            yield from _joined(arguments, 0.7)
    for text in strings_of(code):
        if "@" not in text and "&#" not in text and "%40" not in text:
            continue
        text = text.replace("\x00", "\n")
        if "&" in text:
            text = unescape(text)
        if "%40" in text:
            text = unquote(text)
        yield from _as(addresses_in(_TAG.sub("\n", text).replace('"', "\n")), SCRIPT, 0.9)
        for link in re.findall(r"mailto:([^\"'<>\s?]+)", text, re.IGNORECASE):
            yield from _as(addresses_in(link), SCRIPT, 0.92)


def _of_link(value: str, written: str, obscured: str = MAILTO) -> Iterator[Recipient]:
    """The addresses that a reference holds."""
    start = value.lstrip()[:11].lower()
    if start.startswith("mailto:"):
        if obscured == MAILTO:
            obscured = PERCENT if "%40" in written else ENTITY if "&#" in written or "&commat" in written else MAILTO
        yield from mail_link(value.strip()[7:], obscured)
    elif start.startswith("javascript:"):
        yield from of_code(unquote(value.strip()[11:]))
    elif start.startswith("znvygb:"):
        yield from _of_link(rot13(value.strip()), written, ROT13)
    else:
        code = _PROTECTED.search(value)
        if code:
            yield from _as(addresses_in(cloudflare(code[1])), CLOUDFLARE, 0.98)
        elif "://" not in value and value.count("@") == 1 and "/" not in value:  # <a href="info@example.com">
            yield from _as(addresses_in(unquote(value)), MAILTO, 0.8)


def mail_link(rest: str, obscured: str = MAILTO) -> Iterator[Recipient]:
    """The recipients of a ``mailto:`` link (RFC 6068): before the parameters, and in to, cc and bcc."""
    path, _, query = rest.partition("?")
    if not query and "&" in path:
        path, _, query = path.partition("&")
    lists = [path]
    for parameter in query.split("&"):
        name, _, value = parameter.partition("=")
        if name.strip().lower().removeprefix("amp;") in ("to", "cc", "bcc"):
            lists.append(value)
    for one in lists:
        text = unquote(unquote(one) if "%25" in one else one)
        yield from _as(addresses_in(re.sub(r"[,;]", "\n", text)), obscured, 0.97)


def _halves(attributes: dict[str, str]) -> Iterator[Recipient]:
    """Addresses in two or three attributes: ``data-user="info" data-domain="uni.si"``, also written backwards."""
    if sum(name.startswith("data-") for name in attributes) < 2:
        return
    first = next((value for name, value in attributes.items() if _FIRST_HALF.match(name)), "")
    second = next((value for name, value in attributes.items() if _SECOND_HALF.match(name)), "")
    last = next((value for name, value in attributes.items() if _LAST_PART.match(name)), "")
    if first and second and "@" not in first + second:
        yield from _joined([first, second, *([last] if last else [])], 0.85)


def _joined(parts: list[str], confidence: float) -> Iterator[Recipient]:
    """The address whose name is the first part and whose domain the others make."""
    name, *others = (part.strip() for part in parts[:3])
    for first, rest in ((name, others), (name[::-1], [part[::-1] for part in reversed(others)])):
        for domain in dict.fromkeys((rest[0].removeprefix("@"), ".".join(part.strip(".@") for part in rest if part))):
            labels = domain.split(".")
            if _LOCAL.match(first) and len(labels) > 1 and domain_of_labels(labels) == domain.lower():
                yield Recipient(f"{first}@{domain}".lower(), ATTRIBUTE, confidence)
                return


def _of_mail_data(value: str) -> Iterator[Recipient]:
    """The addresses in an attribute that is called after mail: plain, or in one of the usual ciphers."""
    text = unquote(value) if "%40" in value else value
    if text.lower().startswith("mailto:"):
        text = text[7:]
    plain = list(_as(addresses_in(text), ATTRIBUTE, 0.9))
    if plain and plain[0].confidence > 0.5:
        yield from plain
        return
    for decoded, obscured in (
        (rot13(text), ROT13),
        (base64_text(text), CIPHER),
        (text[::-1], CIPHER),
        (cloudflare(text), CIPHER),
        (typo3(text).removeprefix("mailto:"), CIPHER),
    ):
        found = list(_as(addresses_in(decoded), obscured, 0.9))
        if found:
            yield from found
            return


def _of_text(tag: str, name: str, value: str, attributes: dict[str, str]) -> Iterator[Recipient]:
    """The addresses in what an attribute says to people or machines."""
    if "@" not in value and not (name in _LABELS and re.search(r"\bat\b|\bAT\b", value)):
        return
    if name == "content":
        fact = " ".join((attributes.get("itemprop", ""), attributes.get("property", ""), attributes.get("name", "")))
        confidence = 0.95 if "mail" in fact else 0.8
    elif name == "value":
        confidence = 0.6 if tag in ("input", "option", "button") else 0.7
    elif name in _LABELS:
        confidence = 0.85
    else:
        confidence = 0.6
    for found in addresses_in(value):
        if found.confidence >= 0.8 or found.confidence < 0.5:
            yield Recipient(found.value, ATTRIBUTE, min(found.confidence, confidence))


def _as(found: Iterator[Address], obscured: str, confidence: float) -> Iterator[Recipient]:
    """Addresses that stand in some other form; what their writing lets doubt stays in doubt."""
    for one in found:
        kept = confidence if one.confidence >= 0.7 else min(one.confidence, confidence)
        yield Recipient(one.value, obscured, kept)
