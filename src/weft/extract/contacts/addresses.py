"""E-mail addresses in visible text, in all the ways in which people write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from weft.extract.contacts.domains import MAX_LOCAL, domain_of_labels
from weft.extract.contacts.words import (
    BARE_DOT,
    BLANK,
    BRACKETED_A,
    BRACKETED_AT,
    BRACKETED_DOT,
    DECORATED_AT,
    DECORATED_DOT,
    JOINT,
    NO_HOSTS,
    ROLES,
    SEAM,
    SIGN_START,
    SIGN_WORD,
    STOP_WORDS,
)

PLAIN: Final = "plain"
SPACED: Final = "spaced"
AT_DOT: Final = "at-dot"
SPLIT: Final = "split"
GROUP: Final = "group"
REVERSED: Final = "reversed"


class Address(NamedTuple):
    """An address in a text: how it was written, how sure it is, and from where to where it stands."""

    value: str
    obscured: str
    confidence: float
    start: int
    end: int


_SIGN_BEFORE = 72  # a sign may stand so far before a place of interest: "info at uni dot si" is known by its dot,
_SIGN_BEHIND = 48  # and so far behind it
_MAX_LEFT = 140  # characters before the sign that are looked at
_MAX_RIGHT = 300  # and behind it
_MAX_GROUP = 20  # names in braces before one sign

_ATOM = rf"[A-Za-z0-9_+'~&{JOINT}-]"
_LABEL = rf"(?:[^\W_]|[{JOINT}-])"
_WORD_DOT = (
    rf"{BLANK}*+(?:{BRACKETED_DOT}){BLANK}*+|{BLANK}*+(?:{DECORATED_DOT}){BLANK}*+"
    rf"|(?:\s{SEAM}*+|{SEAM}++)(?:{BARE_DOT})(?:{SEAM}*+\s|{SEAM}++)"
)
_LOCAL_DOT = rf"{SEAM}*+\.{SEAM}*+|{_WORD_DOT}"
_DOMAIN_DOT = rf"{SEAM}*+\.{SEAM}*+|\s{SEAM}*+\.{SEAM}*+\s|{_WORD_DOT}"

_LOCAL = re.compile(rf"(?:{_ATOM}++(?:{_LOCAL_DOT}))*+{_ATOM}++\.?(?P<gap>{BLANK}*+)\Z", re.IGNORECASE)
_ANY_LOCAL = re.compile(rf"[\w.+{JOINT}-]{{1,64}}+(?P<gap>{SEAM}*+)\Z")
_LABELS = re.compile(rf"(?P<gap>{BLANK}*+)(?P<labels>{_LABEL}++(?:(?:{_DOMAIN_DOT}){_LABEL}++)*+)", re.IGNORECASE)
_LABEL_AT = re.compile(rf"{_LABEL}++")
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+'~&-]+\Z")
_PLAIN_DOMAIN = re.compile(r"(?:[A-Za-z0-9-]+\.)+[A-Za-z]{2,}(?=[\s<>\"',;)?]|\Z)")
_DOMAIN_DOTS = re.compile(_DOMAIN_DOT, re.IGNORECASE)
_DOT_WITHIN = re.compile(_LOCAL_DOT, re.IGNORECASE)

_SIGN = re.compile(
    rf"{SIGN_START}(?:(?P<plain>(?<=@))|(?P<bracketed>{BRACKETED_AT})|(?P<a>{BRACKETED_A})|(?P<decorated>{DECORATED_AT}))",
    re.IGNORECASE,
)
_WORD_SIGN = re.compile(rf"[\s{SEAM}](?:(?P<word>{SIGN_WORD})|(?P<bare>at))(?=[\s{SEAM}])", re.IGNORECASE)
_GLUED_SIGN = re.compile(r"A(?<=[a-z0-9]A)(?P<glued>T)(?=[a-z])")
_GROUP = re.compile(r"[{\[(<]([\w.+-]+(?:\s*[,;|/]\s*[\w.+-]+)+)[}\])>]\s*\Z")
_NAMES = re.compile(r"[\w.+-]+")
_ALONE = re.compile(r"[A-Za-z0-9_+.-]{1,64}@[A-Za-z0-9.-]{3,253}\Z")
_SPELT = re.compile(rf"(?:{SEAM}++[\w.@+-]){{3,}}{SEAM}")  # every letter in an element of its own

_LABEL_BEFORE = re.compile(
    r"(?:mail|contact|kontakt|pošta|posta|courriel|correo|address|adres|naslov|почта|mél|mel|пошта|write to|pišite na)"
    r"[\s\x1f]*[:：=–-]?[\s\x1f]*\Z",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(r"[\s\x1f\x1e•*·|,;:(-]*(?:e-?mail|mail|email address|contact)?[\s\x1f\x1e:]*", re.IGNORECASE)
_TEMPLATE = re.compile(
    r"(?:first[._-]?(?:name)?[._-]?(?:last|sur)[._-]?(?:name)?|vorname[._-]?nachname|name[._-]surname|prenom[._-]?nom|"
    r"ime[._-]?priimek|nombre[._-]?apellidos?|nome[._-]?cognome|imie[._-]?nazwisko|initials?[._-]?(?:sur|last)name|"
    r"fornavn[._-]?etternavn|förnamn[._-]?efternamn|voornaam[._-]?achternaam|(?:your|user)[._-]?(?:e?mail|name|id)|"
    r"x{3,}|[fi]\.?(?:last|sur)name|username|first|last|lastname|surname|nachname)\Z",
    re.IGNORECASE,
)
_MADE_UP = re.compile(r"(?:you|yourname|name|user|username|email|someone|somebody|test|john\.?doe|jan\.?kowalski)\Z")
_MADE_UP_HOSTS: Final = frozenset(
    {
        "domain.com",
        "mail.com",
        "host.com",
        "domain.xxx",
        "domain.tld",
        "server.com",
        "isp.com",
        "provider.com",
        "site.com",
    }
)
_MESSAGE_ID = re.compile(
    r"\d[0-9a-f]{7}\.[0-9a-f]{1,8}\Z|(?=[\w.+-]{18})(?:[0-9a-f.-]{18,}|(?=(?:[^0-9]*[0-9]){8}).*|ca[\w+=-]{25,})\Z",
    re.IGNORECASE,
)
_IN_URL = re.compile(r":/{1,2}[^\s/]*\Z")  # what follows is who logs in there
_PHONE_BEFORE = re.compile(r"\+?[\d-]{7,}(?=[A-Za-z])")
_JUNK = re.compile(r"[._-]?(?:no-?spam|remove-?this|delete-?this|antispam|nospamplease)[._-]?", re.IGNORECASE)


def addresses_in(text: str, places: Sequence[int] = ()) -> Iterator[Address]:
    """All addresses in a text, in their order; with ``places`` only those whose sign stands near one of them."""
    if _ALONE.match(text):  # as most attributes have them
        name, _, domain = text.partition("@")
        if domain_of_labels(domain.split(".")) == domain.lower() and _name(name) == name.lower():
            yield _weighed(name.lower(), domain.lower(), PLAIN, 0.97, 0, len(text))
            return
    if SEAM in text:
        text = _SPELT.sub(lambda match: match[0].replace(SEAM, JOINT), text)
    end = 0
    for sign in _signs(text, places):
        if sign.start() < end:
            continue
        for found in _around(text, sign, end):
            yield found
            end = max(end, found.end)


def _signs(text: str, places: Sequence[int]) -> Iterator[re.Match[str]]:
    if not places:
        yield from _signs_between(text, 0, len(text))
        return
    start = end = 0
    for place in places:
        if place - _SIGN_BEFORE > end:
            yield from _signs_between(text, start, end)
            start = place - _SIGN_BEFORE
        end = place + _SIGN_BEHIND
    yield from _signs_between(text, start, end)


def _signs_between(text: str, start: int, end: int) -> list[re.Match[str]]:
    found = list(_SIGN.finditer(text, start, end))
    others = [*_WORD_SIGN.finditer(text, start, end), *_GLUED_SIGN.finditer(text, start, end)]
    return sorted([*found, *others], key=re.Match.start) if others else found


class _Domain(NamedTuple):
    name: str
    end: int
    gap: str
    has_words: bool  # a dot is written as a word, or between blanks
    has_seams: bool


def _around(text: str, sign: re.Match[str], floor: int) -> list[Address]:
    """The addresses of one sign: mostly one or none, several where names stand in braces before it."""
    kind = sign.lastgroup or ""
    domain = _domain_after(text, sign.end(), kind)
    if domain is None:
        reversed_one = _reversed_around(text, sign) if kind == "plain" else None
        return [reversed_one] if reversed_one else []
    left = text[max(floor, sign.start() - _MAX_LEFT) : sign.start()]
    group = _GROUP.search(left) if kind != "bare" else None
    if group:
        names = _NAMES.findall(group[1])[:_MAX_GROUP]
        return [
            Address(f"{name.strip('.').lower()}@{domain.name}", GROUP, 0.85, sign.start() - len(group[0]), domain.end)
            for name in names
        ]
    local = _LOCAL.search(left) or (None if domain.name.isascii() else _ANY_LOCAL.search(left))
    if local is None:
        return []
    gap = local["gap"]
    spelt = local[0][: len(local[0]) - len(gap)]
    if "\n" in gap if kind == "plain" else gap.count("\n") + domain.gap.count("\n") > 1:
        return []
    name = _name(spelt)
    start = sign.start() - len(local[0])
    if not name or not _may_begin(text, start) or not _may_end(text, domain.end, name):
        return []
    obscured, confidence = _kind_of(kind, spelt, gap, domain)
    if obscured == SPACED and _blanks(gap) and _blanks(domain.gap):
        evidence = _evidence(text, start, name, domain) if name in STOP_WORDS else confidence
    elif kind in ("bare", "glued") or (obscured == SPACED and _blanks(gap)):
        evidence = _evidence(text, start, name, domain)
    else:
        evidence = confidence
    return [_weighed(name, domain.name, obscured, min(confidence, evidence), start, domain.end)] if evidence else []


def _blanks(gap: str) -> str:
    """The blanks around a sign, without the marks of elements."""
    return gap.replace(SEAM, "").replace(JOINT, "")


def _domain_after(text: str, at: int, kind: str) -> _Domain | None:
    """The domain that follows a sign."""
    plain = _PLAIN_DOMAIN.match(text, at, at + _MAX_RIGHT) if kind == "plain" else None
    if plain:
        labels = plain[0].split(".")
        name = domain_of_labels(labels)
        if len(name) == len(plain[0]):
            return _Domain(name, plain.end(), "", False, False)
    found = _LABELS.match(text, at, at + _MAX_RIGHT)
    if found is None:
        return None
    begin = found.start("labels")
    pieces = list(_label_spans(text, begin, found.end()))
    name = domain_of_labels([text[start:end].replace(JOINT, "") for start, end in pieces])
    if not name:
        return None
    count = name.count(".") + 1
    start, end = pieces[count - 1]
    last = name.rpartition(".")[2]
    end = start + _length_of(text[start:end], len(last))
    dots = [text[pieces[i][1] : pieces[i + 1][0]] for i in range(count - 1)]
    has_words = any(dot.strip(SEAM) != "." for dot in dots)
    has_seams = any(SEAM in dot for dot in dots) or JOINT in text[begin:end]
    return _Domain(name, end, found["gap"], has_words, has_seams)


def _label_spans(text: str, begin: int, end: int) -> Iterator[tuple[int, int]]:
    """From where to where the labels stand; the words for dots between them are none."""
    at = begin
    while at < end:
        label = _LABEL_AT.match(text, at, end)
        if label is None:
            return
        yield label.span()
        dot = _DOMAIN_DOTS.match(text, label.end(), end)
        if dot is None:
            return
        at = dot.end()


def _length_of(written: str, count: int) -> int:
    """How many characters of a text have so many that take room."""
    for at, char in enumerate(written):
        if not count:
            return at
        count -= char != JOINT
    return len(written)


def _name(spelt: str) -> str:
    """The part before the sign, as a mail server would read it; "" if it cannot be one."""
    name = spelt
    if not _PLAIN_NAME.match(spelt):
        name = _DOT_WITHIN.sub(".", spelt).replace(JOINT, "").replace(SEAM, "")
    phone = _PHONE_BEFORE.match(name)
    if phone:
        name = name[phone.end() :]
    name = name.strip(".'&~-").removeprefix("u003c").removeprefix("u003e").lower()
    return name if name and len(name) <= MAX_LOCAL and ".." not in name else ""


def _may_begin(text: str, start: int) -> bool:
    """Whether an address can begin there: not after a handle's sign, in a URL, or inside a word."""
    before = text[start - 1 : start]
    if before in ("@", "＠", "\\", "="):
        return before == "="
    if before in (":", "/") and _IN_URL.search(text[max(0, start - 80) : start]):
        return False
    if before.isalpha():  # a letter outside ASCII: of a name that mail hardly knows, unless its script has no blanks
        return ord(before) >= 0x0E00 or "Ͱ" <= before <= "ӿ"
    return True


def _may_end(text: str, end: int, name: str) -> bool:
    """Whether an address can end there: code and places in repositories go on otherwise."""
    after = text[end : end + 1]
    if after in ("@", "(") and text[end + 1 : end + 2] != " ":
        return after == "(" and not text[end + 1 : end + 2].isidentifier() and text[end + 1 : end + 2] != ")"
    if after == ":":
        return name != "git" and re.match(r":[\w.~-]+/|:\d+\b(?!\s*\d)", text[end : end + 80]) is None
    return not (after == "/" and name == "git")


def _kind_of(kind: str, spelt: str, gap: str, domain: _Domain) -> tuple[str, float]:
    """How an address was written, and how sure that makes it."""
    words = domain.has_words or not (
        _PLAIN_NAME.match(spelt) or all(dot.strip(SEAM + JOINT) == "." for dot in _DOT_WITHIN.findall(spelt))
    )
    if kind == "plain":
        if _blanks(gap + domain.gap):
            if words:
                return AT_DOT, 0.9
            return (SPLIT, 0.85) if "\n" in domain.gap and not _blanks(gap) else (SPACED, 0.85)
        if words:
            return AT_DOT, 0.93
        is_split = gap or domain.gap or domain.has_seams or SEAM in spelt or JOINT in spelt
        return (SPLIT, 0.92) if is_split else (PLAIN, 0.97)
    return AT_DOT, {"bracketed": 0.95, "a": 0.8, "decorated": 0.88, "word": 0.85, "bare": 0.9, "glued": 0.75}[kind]


def _first_label(domain: _Domain) -> str:
    return domain.name.partition(".")[0]


def _evidence(text: str, start: int, name: str, domain: _Domain) -> float:
    """How sure it is that a bare "at" between words stands for the sign; 0 if it does not."""
    if (
        name in STOP_WORDS
        or _first_label(domain) in NO_HOSTS
        or _first_label(domain).isdigit()
        or not name[0].isalnum()
    ):
        return 0
    line_start = text.rfind("\n", 0, start) + 1
    line_end = text.find("\n", domain.end)
    before, after = text[line_start:start], text[domain.end : len(text) if line_end < 0 else line_end]
    if domain.has_words:
        return 0.9
    if _LABEL_BEFORE.search(before):
        return 0.88
    if _LINE_LABEL.fullmatch(before) and not after.strip(" .,;)|\x1f\x1e"):
        return 0.85
    if any(char in "._0123456789" for char in name) or (name in ROLES and not before.strip()):
        return 0.7
    return 0


def _reversed_around(text: str, sign: re.Match[str]) -> Address | None:
    """An address written from right to left: where only its mirror image has a real top-level domain."""
    left = re.search(r"[A-Za-z0-9.-]+\Z", text[max(0, sign.start() - _MAX_LEFT) : sign.start()])
    right = re.match(r"[A-Za-z0-9._+-]+", text[sign.end() : sign.end() + _MAX_LEFT])
    if left is None or right is None or text[sign.end() + right.end() : sign.end() + right.end() + 1] == "@":
        return None
    domain = domain_of_labels(left[0][::-1].split("."))
    if domain != left[0][::-1].lower().strip(".") or not _name(right[0][::-1]):
        return None
    name = _name(right[0][::-1])
    return _weighed(name, domain, REVERSED, 0.7, sign.start() - len(left[0]), sign.end() + right.end())


def _weighed(name: str, domain: str, obscured: str, confidence: float, start: int, end: int) -> Address:
    """An address with its doubts: templates, identifiers of messages, words against robots within it."""
    if _TEMPLATE.match(name) or (_MADE_UP.match(name) and domain in _MADE_UP_HOSTS):
        confidence = min(confidence, 0.3)
    elif _MESSAGE_ID.match(name) or domain == "mail.gmail.com":
        confidence = min(confidence, 0.35)
    cleaned = _JUNK.sub("", name)
    labels = [label for label in domain.split(".") if not _JUNK.fullmatch(label)]
    if cleaned and (cleaned != name or len(labels) < domain.count(".") + 1) and len(labels) > 1:
        return Address(f"{cleaned}@{'.'.join(labels)}", AT_DOT, min(confidence, 0.7), start, end)
    return Address(f"{name}@{domain}", obscured, confidence, start, end)
