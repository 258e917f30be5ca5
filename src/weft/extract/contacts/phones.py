"""Telephone numbers of one page, in the form E.164. A fax number is one, too."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote

from weft.extract.contacts.countries import country_of
from weft.extract.contacts.number_words import LABELS, OTHER_NUMBERS
from weft.extract.contacts.source import MARKUP, SCRIPT, Region, Source, Window, pattern
from weft.extract.contacts.words import JOINT, SEAM
from weft.records import Item

if TYPE_CHECKING:
    import re2

PHONE: Final = "phone"
MAX_ITEMS: Final = 10_000
MAX_LOOKED_AT: Final = 20_000  # rows of digits of one page
MAX_TEXT: Final = 4_000  # characters of one line that are searched at once

LINK: Final = "tel"
JSON_LD: Final = "json-ld"
ATTRIBUTE: Final = "attribute"

_GAP = (
    rb"(?:[ ().\-/\t\n\r]|&nbsp;|&#160;|&ndash;|&#8209;|\xc2[\xa0\xad]|\xe2\x80[\x80-\x95\xaf]|\xe2\x88\x92"
    rb"|\xef\xbc[\x88\x89\x8d\x8e]|\xe3\x80\x80|</?(?:b|i|u|a|em|span|strong|font|wbr|nobr|small|tt)(?:\s[^<>]*)?>)"
)
_DIGIT = rb"(?:[0-9]|\xef\xbc[\x90-\x99])"
_SIGNALS = _DIGIT + b"(?:" + _GAP + b"{0,8}" + _DIGIT + rb"){6,}|(?:tel|callto):|telephone|phonenumber|faxnumber"

_CANDIDATE = re.compile(r"[+(0-9](?:[\s().\-–/\x1e\x1f+~x×]{0,6}[0-9]){6,}")
_DIGITS = re.compile(r"\d")
_LABEL = re.compile(
    rf"(?:\b(?:{'|'.join(LABELS)})\b[\s.:：)/–-]*|[☎📞✆📱☏📠]\W*)(?:no\.?|nr\.?|št\.?|n°|number)?[\s.:：(–-]*\Z",
    re.IGNORECASE,
)
_NO_PHONE = re.compile(rf"\b(?:{'|'.join(OTHER_NUMBERS)})\b[\s.:：#)(a-z]{{0,12}}[\s\d.-]{{0,12}}\Z", re.IGNORECASE)
_DATE = re.compile(
    r"(?:19|20)\d\d\s?[-./–]\s?\d{1,2}\s?[-./–]\s?\d{1,2}|\d{1,2}\s?[-./]\s?\d{1,2}\s?[-./]\s?(?:19|20)\d\d"
    r"|(?:19|20)\d\d\s?[-–/]\s?(?:19|20)\d\d"
)
_NORTH_AMERICAN = re.compile(
    r"(?<![\w+.-])(?:1[-. ])?(?:\(\d{3}\)\s?\d{3}[-. ]\d{4}|\d{3}-\d{3}-\d{4}|\d{3}\.\d{3}\.\d{4})(?![\w-]*\d)"
)
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(?:\.\d{3})+\Z")
_IPV4 = re.compile(r"\d{1,3}(?:\.\d{1,3}){3}\Z")
_FACT = re.compile(
    r"""["'](?:telephone|phone|phoneNumber|faxNumber|fax|tel)["']\s*:\s*["']([^"']{5,40})["']""", re.IGNORECASE
)
_TEL = re.compile(r"(?:tel|callto):(?://)?([^\"'<>]{3,40})", re.IGNORECASE)
_CONTACT = re.compile(r"@|mail|\b(?:ext|tel|fax|phone|telefon|tél|teléfono|тел|τηλ)\b", re.IGNORECASE)
_GROUPED = re.compile(r"\d[^\d]+\d")


class Number(NamedTuple):
    """A number in a text, as it is written and as it is dialled."""

    raw: str
    start: int
    e164: str
    country: str


def find_phones(text: str, region: str | None) -> Iterator[Number]:
    """All valid numbers of a text; ``region`` is the country of those that do not name theirs."""
    if sum(1 for _ in _DIGITS.finditer(text)) < 5:
        return
    import phonenumbers

    for match in phonenumbers.PhoneNumberMatcher(text, region or None):
        e164 = phonenumbers.format_number(match.number, phonenumbers.PhoneNumberFormat.E164)
        yield Number(match.raw_string, match.start, e164, phonenumbers.region_code_for_number(match.number) or "")


class _Sighting(NamedTuple):
    number: Number
    obscured: str
    confidence: float
    position: int
    end: int


def phones_of(source: Source, region: str | None = None, host: str = "", domains: tuple[str, ...] = ()) -> list[Item]:
    """The numbers of a page, each once, in the order in which they stand there.

    Without a ``region`` the page tells it: ``host`` is its own, ``domains`` are those of its addresses.
    """
    places = [found.start() for found in islice(_signals().finditer(source.body), MAX_LOOKED_AT)]
    if not places:
        return []
    parts = list(_parts(source, places))
    if not region:
        said = [number.country for part in parts if "+" in part.text for number in _said(part.text)]
        region = country_of(source.body, host, said, domains)
    best: dict[str, _Sighting] = {}
    for part in parts:
        for one in _numbers(source, part, region):
            known = best.get(one.number.e164)
            if known is None and len(best) >= MAX_ITEMS:
                break
            if known is None or one.confidence > known.confidence:
                best[one.number.e164] = one if known is None else one._replace(position=known.position)
    found = sorted(best.values(), key=lambda one: one.position)
    return [
        Item(
            PHONE,
            one.number.e164,
            source.context(one.position, one.end) if one.end > one.position else "",
            one.obscured,
            one.position,
            one.confidence,
        )
        for one in found
    ]


class _Part(NamedTuple):
    """A text that may hold numbers: a line of the page, or what an attribute or a script says."""

    text: str
    obscured: str
    position: int
    end: int
    window: Window | None = None
    start: int = 0  # in the text of the window


@cache
def _signals() -> re2._Regexp[bytes]:
    return pattern(_SIGNALS)


def _parts(source: Source, places: list[int]) -> Iterator[_Part]:
    at = 0
    for region in source.regions:
        inside = []
        while at < len(places) and places[at] < region.end:
            inside.append(places[at])
            at += 1
        if region.sort == MARKUP:
            outside_comments = [place for place in inside if source.comment_at(place) is None]
            for window in source.windows([place for place in outside_comments if _is_seen(source.body, place)], region):
                yield from _of_window(source, window)
        elif inside and region.sort == SCRIPT and b"json" in region.tag.lower():
            yield from _of_facts(source, region)


def _is_seen(body: bytes, place: int) -> bool:
    """Whether a place stands in text, or in a tag that tells of numbers."""
    opened = body.rfind(b"<", max(0, place - 2_048), place)
    if opened < 0 or body.find(b">", opened, place) >= 0:
        return True
    closed = body.find(b">", place, place + 2_048)
    tag = body[opened : closed if closed >= 0 else place + 64].lower()
    return b"tel" in tag or b"callto:" in tag or b"phone" in tag


def _of_window(source: Source, window: Window) -> Iterator[_Part]:
    page = window.page
    start = 0
    for line in page.text.split("\n"):
        if _CANDIDATE.search(line):
            yield _Part(line, "plain", 0, 0, window, start)
        start += len(line) + 1
    for element in page.elements:
        written = element.attributes.lower()
        position, end = source.byte_at(window, element.start), source.byte_at(window, element.end)
        if "tel:" in written or "callto:" in written:
            link = _TEL.search(element.named().get("href", ""))
            if link:
                yield _Part(unquote(link[1]), LINK, position, end)
        elif "telephone" in written and "content" in written:
            yield _Part(element.named().get("content", ""), ATTRIBUTE, position, end)


def _of_facts(source: Source, region: Region) -> Iterator[_Part]:
    text = source.body[region.start : region.end].decode("utf-8", "replace")
    for fact in _FACT.finditer(text):
        at = region.start + len(text[: fact.start(1)].encode())
        yield _Part(fact[1], JSON_LD, at, at)


def _said(text: str) -> Iterator[Number]:
    """The numbers of a text that name their country."""
    return find_phones(text[:MAX_TEXT], None)


def _numbers(source: Source, part: _Part, region: str) -> Iterator[_Sighting]:
    text = part.text.replace(JOINT, "\u2060").replace(SEAM, " ")
    if part.obscured != "plain":
        for number in _of_link(text, region):
            yield _Sighting(number, part.obscured, 0.95, part.position, part.end)
        return
    for start in range(0, len(text), MAX_TEXT):
        piece = text[start : start + MAX_TEXT + 40]
        found = list(find_phones(piece, region)) if _may_have_numbers(piece, region) else []
        if region != "US":
            found.extend(_north_american(piece, found))
        for number in found:
            confidence = _confidence(piece, number, region)
            if confidence:
                window = part.window
                assert window is not None
                at = part.start + start + number.start
                position = source.byte_at(window, window.page.source_at(at))
                end = source.byte_at(window, window.page.source_at(at + len(number.raw)))
                yield _Sighting(number, "plain", confidence, position, end)


def _may_have_numbers(text: str, region: str) -> bool:
    """Whether the matcher, which takes its time, is to look at a text: it has more than dates and IP addresses.

    Without a country only numbers that name theirs can be told.
    """
    for candidate in _CANDIDATE.finditer(text):
        written = candidate[0].strip()
        if not (_DATE.fullmatch(written) or _IPV4.match(written)) and (
            region or "+" in text or written.startswith("00")
        ):
            return True
    return False


def _of_link(text: str, region: str) -> Iterator[Number]:
    """The number that a link or a fact names as one."""
    import phonenumbers

    written = text.strip()
    if written.startswith("00"):
        written = "+" + written[2:]
    for country in dict.fromkeys((region or None, "US" if not region else None)):
        try:
            number = phonenumbers.parse(written, country)
        except phonenumbers.NumberParseException:
            continue
        if phonenumbers.is_valid_number(number):
            e164 = phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)
            yield Number(text, 0, e164, phonenumbers.region_code_for_number(number) or "")
            return


def _north_american(text: str, found: list[Number]) -> Iterator[Number]:
    """Numbers written as only North America writes them: ``(650) 723-1234``."""
    for match in _NORTH_AMERICAN.finditer(text):
        if not any(number.start < match.end() and match.start() < number.start + len(number.raw) for number in found):
            for number in find_phones(match[0], "US"):
                yield number._replace(start=match.start() + number.start)


def _confidence(text: str, number: Number, region: str) -> float:
    """How sure it is that digits are a telephone number; 0 where they are something else."""
    before = text[max(0, number.start - 40) : number.start]
    raw = number.raw.strip()
    if (
        _DATE.search(raw)
        or _IPV4.match(raw)
        or before[-1:] in ("$", "€", "£", "#", "_", "=", "@")
        or _has_decimals(text, number)
    ):
        return 0
    is_international = raw.startswith(("+", "(+", "00", "++"))
    if _LABEL.search(before):
        return 0.97 if is_international else 0.95
    if _NO_PHONE.search(before):
        return 0
    if is_international:
        return 0.95
    digits = sum(char.isdigit() for char in raw)
    if not _GROUPED.search(raw):
        is_long = 9 <= digits <= 11
        return 0.6 if is_long and (raw.startswith("0") or _CONTACT.search(text)) else 0.3
    if (not raw.startswith(("0", "(")) and digits < 8) or _THOUSANDS.match(raw):
        return 0.4
    return 0.85


def _has_decimals(text: str, number: Number) -> bool:
    """Whether the digits go on as a decimal number or an identifier does."""
    end = number.start + len(number.raw)
    return bool(re.match(r"[.,:/-]?\d", text[end : end + 2])) or bool(
        re.search(r"\d[.,:]\Z", text[: number.start][-2:])
    )
