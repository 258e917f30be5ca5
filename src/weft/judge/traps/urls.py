"""What one URL tells by itself: repeats, session ids, dates, its shape. Pure, and linear in its length."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from weft.errors import Reason
from weft.text.patterns import regex

_LONGEST_CYCLE = 12  # segments; longer ones end by PATH_TOO_DEEP

Problem = tuple[Reason, str]


def split_url(url: str) -> tuple[str, str, str]:
    """Origin, path and query of a serialised http(s) URL; the query without its mark."""
    start = url.find("/", 8)
    if start < 0:
        return url, "/", ""
    mark = url.find("?", start)
    if mark < 0:
        return url[:start], url[start:], ""
    return url[:start], url[start:mark], url[mark + 1 :]


# ---- repeats -----------------------------------------------------------------------------------------------------


def path_problem(path: str, repeats: int, deepest: int) -> Problem | None:
    """PATH_TOO_DEEP or PATH_REPEATS, with what was seen; None for an ordinary path. 0 switches either off."""
    if path.count("/") < 3 and "%25" not in path:
        return None
    segments = path.strip("/").split("/")
    if "" in segments:
        segments = [segment for segment in segments if segment]
    if deepest and len(segments) > deepest:
        return Reason.PATH_TOO_DEEP, f"{len(segments)} segments, more than --trap-path-segments {deepest}"
    if not repeats:
        return None
    if len(set(segments)) < len(segments):
        repeated = _repeated(segments, repeats)
        if repeated:
            return Reason.PATH_REPEATS, f"{repeated} (--trap-path-repeats {repeats})"
    if "%25" in path and _encoded_again(path, repeats):
        return Reason.PATH_REPEATS, f"percent-encoded {repeats} times over (--trap-path-repeats {repeats})"
    return None


def query_problem(query: str, repeats: int, longest_b: int) -> Problem | None:
    """QUERY_TOO_LONG or QUERY_REPEATS, with what was seen; None for an ordinary query. 0 switches either off."""
    if longest_b and len(query) > longest_b:
        return Reason.QUERY_TOO_LONG, f"{len(query)} bytes, more than --trap-query-size {longest_b}"
    if not repeats:
        return None
    pairs = _with_one_mark(query)
    repeated = _repeated_parameters(pairs, repeats) if pairs.count("&") + 1 >= repeats else ""
    if not repeated and _NESTING.search(query):
        repeated = _nested(query, repeats)
    return (Reason.QUERY_REPEATS, f"{repeated} (--trap-query-repeats {repeats})") if repeated else None


def _repeated(segments: Sequence[str], times: int) -> str:
    """Says which segments come again and again; "" if none does so more often than honest paths have it."""
    count = len(segments)
    for length in range(1, min(_LONGEST_CYCLE, count // 2) + 1):
        matched = 0
        for index in range(length, count):
            matched = matched + 1 if segments[index] == segments[index - length] else 0
            if matched < length:
                continue
            cycle = segments[index - length + 1 : index + 1]
            if matched >= length * (_needed(cycle, times) - 1):
                return f"{'/'.join(cycle)[:60]} {matched // length + 1} times in a row"
    words = Counter(segment for segment in segments if len(segment) > 1 and not segment.isdigit())
    name, most = max(words.items(), key=lambda item: item[1], default=("", 0))
    return f"{name[:60]} {most} times" if most > times else ""


def _needed(cycle: Sequence[str], times: int) -> int:
    """How often a cycle must come to be a trap: numbers (/1/1/1, dates) and single letters repeat in honest paths."""
    if all(segment.isdigit() for segment in cycle):
        return 2 * times
    return times + 2 if len(cycle) == 1 and len(cycle[0]) == 1 else times


def _encoded_again(text: str, times: int) -> bool:
    """Whether a character is: ``%252520`` is a space three times over, ``%2525-`` a percent sign twice."""
    return re.search(rf"%(?:25){{{max(1, times - 1)}}}[0-9A-Fa-f]{{2}}", text) is not None


def _with_one_mark(query: str) -> str:
    """The query with ``&`` between all its parameters, where some have ``;`` (``?C=N;O=D``) or ``&amp;``."""
    return query.replace("&amp;", "&").replace(";", "&") if ";" in query else query


def _repeated_parameters(query: str, times: int) -> str:
    """Says which parameter comes too often: with one value ``times`` times, with any value twice as often."""
    pairs = query.split("&")
    if len(set(pairs)) < len(pairs):
        counted = Counter(pair for pair in pairs if pair)
        pair, most = max(counted.items(), key=lambda item: item[1], default=("", 0))
        if most >= times:
            return f"{pair[:60]} {most} times"
    if len(pairs) >= 2 * times:
        name, most = Counter(pair.partition("=")[0] for pair in pairs).most_common(1)[0]
        if most >= 2 * times:
            return f"the parameter {name[:60]} {most} times"
    return ""


_NESTING = regex(r"[/?%]")
_INNER_URL = regex(r"https?(?:%(?:25)*3A|:)(?:%(?:25)*2F|/)", re.IGNORECASE)
_INNER_QUERY = regex(r"(?:%(?:25)*3F|\?)[^&=?%]{1,64}(?:%(?:25)*3D|=)", re.IGNORECASE)
_SLASH = regex(r"%(?:25)*2F|/", re.IGNORECASE)


def _nested(query: str, times: int) -> str:
    """Says what lies inside itself: a URL in a URL in a URL, a query in a query, a path that repeats."""
    encoded = "%" in query
    if (encoded or "/" in query) and len(_INNER_URL.findall(query)) >= times:
        return f"a URL inside a URL {times} times"
    if (encoded or "?" in query) and len(_INNER_QUERY.findall(query)) >= times:
        return f"a query inside a query {times} times"
    if "%25" in query and _encoded_again(query, times):
        return f"percent-encoded {times} times over"
    if query.count("/") + query.count("2F") + query.count("2f") >= times - 1:
        for pair in query.split("&"):
            segments = [segment for segment in _SLASH.split(pair.partition("=")[2]) if segment]
            repeated = _repeated(segments, times) if len(set(segments)) < len(segments) else ""
            if repeated:
                return repeated
    return ""


# ---- shape -------------------------------------------------------------------------------------------------------

_VALUE = regex(r"=[^&]*")


def shape_of(path: str, query: str) -> str:
    """What stays the same from one page of a made-up series to the next.

    Numbers, slugs and tokens (whatever is not letters only), the last segment and all values become ``#``; plain words
    of the path and the names of parameters stay.
    """
    slash = path.endswith("/") and len(path) > 1
    *folders, _ = (path[:-1] if slash else path).split("/")
    shape = "/".join([folder if folder.isalpha() else "#" for folder in folders])
    return f"{shape}{'//' if slash else '/'}?{_VALUE.sub('=#', query)}" if query else f"{shape}{'//' if slash else '/'}"


def series_of(path: str, query: str, other_path: str, other_query: str) -> str:
    """What two URLs of one shape have in common: the series in which one follows the other."""
    folders = zip(path.split("/"), other_path.split("/"), strict=False)
    values = zip(query.split("&"), other_query.split("&"), strict=False)
    return f"{'/'.join(a if a == b else '#' for a, b in folders)}?{'&'.join(a if a == b else '#' for a, b in values)}"


def group_of(url: str) -> str:
    """The part of its site that a URL belongs to: its first folder, or its first segment if a query follows."""
    start = url.find("/", 8) + 1
    if not start:
        return ""
    mark = url.find("?", start)
    end = url.find("/", start, mark) if mark >= 0 else url.find("/", start)
    if end < 0:
        return url[start : min(mark, start + 64)] if 0 <= mark < len(url) - 1 else ""
    return url[start : min(end, start + 64)]


# ---- session ids -------------------------------------------------------------------------------------------------

_SESSION_IN_PATH = regex(
    r";[a-z_]{0,20}(?:sid|sess|token)[a-z_]{0,20}=[^/;?]*|/\([A-Z]\([^)/]{8,200}\)\)", re.IGNORECASE
)
_SESSION_IN_QUERY = regex(
    r"(?:^|[&;])(?:"
    # a name that says so, with a value that is no small number (?session=12 of a conference is none)
    r"(?:(?:[a-z]{1,12}[_.-]|php|j|cf|ci|my|user)?sess(?:ion)?[_.-]?(?:id|key|token|hash)?|cftoken|zenid|oscsid)=[^&;]{6,}"
    r"|(?:phpsessid|jsessionid|aspsessionid[a-z]{0,12})=[^&;]+"
    # where a visitor came from, and what is only there to get past a cache
    r"|(?:utm_[a-z_]{1,20}|gclid|dclid|fbclid|msclkid|yclid|igshid|mc_[ce]id|_ga|_gl)=[^&;]*"
    r"|(?:_|cb|cachebust(?:er)?|nocache|rnd|rand(?:om)?)=(?:0?\.?[0-9]{6,}|(?=[^&;]*[0-9])[0-9a-z_.~%-]{8,})"
    # a name that may say so, with a value that looks like a token: letters and digits mixed, or long
    r"|(?:s|[a-z_]{0,20}sid|token|auth|nonce|ticket|s_id)=(?:(?=[^&;]*[0-9])(?=[^&;]*[a-z])[0-9a-z_.~%-]{8,}|[0-9a-z_.~%-]{24,})"
    r")(?=[&;]|$)",
    re.IGNORECASE,
)


def without_session(url: str) -> str:
    """The URL with its session id taken out; the URL itself where it has none."""
    origin, path, query = split_url(url)
    if ";" in path or "(" in path:
        path = _SESSION_IN_PATH.sub("", path)
    if query:
        query = _SESSION_IN_QUERY.sub("", query)
    bare = f"{origin}{path}?{query}" if query else f"{origin}{path}"
    return url if len(bare) == len(url) else bare


_TOKEN = regex(r"(?=[0-9a-z]*[0-9])(?=[0-9a-z]*[a-z])[0-9a-z]{5,}|[0-9]{6,}", re.IGNORECASE)


def without_tokens(url: str) -> str:
    """The path and query with ``#`` for whatever looks like a token: letters and digits mixed, long numbers."""
    _, path, query = split_url(url)
    return _TOKEN.sub("#", f"{path}?{query}")


_SEPARATORS = regex(r"[+,|]|%2[bc]|%7c", re.IGNORECASE)


def mixture_of(path: str, query: str) -> tuple[str, Sequence[str]] | None:
    """What is put together of three parts or more, or of two parameters: what it is a mixture for, and the parts.

    ``/list?a=1&b=2``, ``/list?tags=a,b,c``, ``/tags/a+b+c``, ``/list/colour=red/size=9/sort=up``.
    """
    query = _with_one_mark(query)
    if "&" in query:
        return path, query.split("&")
    if query:
        name, _, value = query.partition("=")
        parts = _SEPARATORS.split(value)
        return (f"{path}?{name}", parts) if len(parts) >= 3 else None
    at = path.rfind("/", 0, len(path) - 1) + 1
    parts = _SEPARATORS.split(path[at:].rstrip("/"))
    if len(parts) >= 3:
        return path[:at], parts
    if path.count("=") >= 3:
        segments = path.strip("/").split("/")
        parts = [segment for segment in segments if "=" in segment]
        return ("/".join(s for s in segments if "=" not in s), parts) if len(parts) >= 3 else None
    return None


# ---- spellings ---------------------------------------------------------------------------------------------------


def is_alias(path: str) -> bool:
    """Whether a path is spelled as only mistakes and traps spell it: ``//``, or a segment that ends in ``..`` or ``;``.

    A URL inside the path (``/web/2019/http://example.org/``) is none, nor a name that ends in a dot.
    """
    if "//" in path and path.count("//") > path.count("://"):
        return True
    return path.endswith(("..", ";")) or "../" in path or ";/" in path


_ODD_MARKS = regex(r"//+|(?:\.\.|;)+(?=/|$)")


def without_alias(path: str) -> str:
    """The path as it would be spelled without mistakes, whatever its ``is_alias``."""
    return _ODD_MARKS.sub(lambda found: "/" if found[0][0] == "/" else "", path)


# ---- dates -------------------------------------------------------------------------------------------------------


class Date(NamedTuple):
    """What a calendar page is about; month and day are 0 where the URL does not say."""

    year: int
    month: int
    day: int

    def holds(self, other: Date) -> bool:
        """Whether the other date is this one or lies in it."""
        return self.year == other.year and self.month in (0, other.month) and self.day in (0, other.day)


_NAMES = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_MONTHS = {name: number for number, name in enumerate(_NAMES.split("|"), 1)}
_MONTH = rf"(?:\d{{1,2}}|w\d{{1,2}}|(?:{_NAMES})[a-z]{{0,6}})"
_YEAR = r"(?:1[89]|2[01])\d\d"
_INDEX_PAGE = regex(r"/(?:(?:index|default)\.\w{2,5})?$")
_SUFFIX = regex(r"\.[a-z]{2,5}$")
_YEAR_FIRST = regex(rf"(?:^|[/_=-])({_YEAR})(?:([/_.-])({_MONTH})(?:[/_.-](\d{{1,2}}))?)?$", re.IGNORECASE)
_YEAR_LAST = regex(rf"(?:^|[/_=-])(?:(\d{{1,2}})[/_.-])?({_MONTH})([/_.-])({_YEAR})$", re.IGNORECASE)
_COMPACT = regex(rf"(?:^|[/_=-])({_YEAR})([01]\d)([0-3]\d)?$")
_CALENDAR_WORD = regex(r"cal|date|day|month|week|year|agenda|event|diary|schedule|termin|kalend", re.IGNORECASE)
_DATE_NAME = regex(
    r"(?:^|[_.-])(?:date|day|month|week|cal|calendar|start|from|on|time|ym|dt|d|m|w|when)$", re.IGNORECASE
)
_YEAR_NAME = regex(r"(?:^|[_.-])(?:y|yr|yyyy|year|jahr|annee|ano|anno|rok|leto|god)$", re.IGNORECASE)
_MONTH_NAME = regex(r"(?:^|[_.-])(?:m|mo|mon|mm|month|monat|mois|mes|mese|w|week|kw)$", re.IGNORECASE)
_DAY_NAME = regex(r"(?:^|[_.-])(?:d|dd|day|tag|jour|dia|giorno|den)$", re.IGNORECASE)
_DIGITS = regex(r"\d")
_YEAR_DIGITS = regex(_YEAR)
_WITH_YEAR = 48  # a date ends in the last 24 characters before index.html, its suffix, and a slash


def date_of(path: str, query: str) -> Date | None:
    """The date that a URL consists of, beside words: what a calendar links to. None for every other URL.

    ``/news/2019/03/14/the-title`` and ``?id=7&date=2019-03-14`` are pages of their own and no calendar.
    """
    if query:
        return _date_in_query(query) if _DIGITS.search(query) else None
    if not _YEAR_DIGITS.search(path[-_WITH_YEAR:]) or not _DIGITS.search(path[-40:]):
        return None  # most URLs end here
    text = path[:-1] if path.endswith("/") else path
    if text.endswith(("l", "p", "x", "m")):  # .html, .php, .aspx, .htm and index pages
        text = _SUFFIX.sub("", _INDEX_PAGE.sub("", text))
    tail = text[-24:]
    if not _YEAR_DIGITS.search(tail):
        return None
    return _date_at_end(tail, named=_CALENDAR_WORD.search(text) is not None)


def date_of_url(url: str) -> Date | None:
    """``date_of`` its path and query."""
    if "?" not in url and not _YEAR_DIGITS.search(url[-_WITH_YEAR:]):
        return None  # as for most, and at once
    _, path, query = split_url(url)
    return date_of(path, query)


def date_within(path: str, query: str) -> Date | None:
    """The date that a URL consists of or holds, with at most two names behind it: ``/2024/05/17/add``."""
    date = date_of(path, query)
    if date is not None or not _DIGITS.search(path[-60:] + query):
        return date
    for pair in query.split("&")[:8]:
        name, _, value = pair.partition("=")
        if _DIGITS.search(value) and (found := _date_value(name, value)) and found.month:
            return found
    folder = path
    for _ in range(2):
        folder = folder.rstrip("/").rpartition("/")[0]
        if (found := date_of(folder, "")) is not None and found.month:
            return found
    return None


def _date_at_end(text: str, named: bool) -> Date | None:
    """``named``: something says that this is a date; without it, numbers may be a topic and its page."""
    first = _YEAR_FIRST.search(text)
    if first and first[3]:
        year, mark, month, day = first.groups()
        return _date(year, month, day) if named or day or mark != "/" or len(month) > 1 else None
    last = _YEAR_LAST.search(text)
    if last:
        day, month, mark, year = last.groups()
        return _date(year, month, day) if named or day or mark != "/" or len(month) > 1 else None
    compact = _COMPACT.search(text) if named else None
    if compact:
        return _date(*compact.groups())
    return Date(int(first[1]), 0, 0) if first else None


def _date(year: str, month: str, day: str | None) -> Date | None:
    """None where the numbers are no date. Month 0 is taken too: half the calendars in the wild count from it."""
    if month.isdigit():
        number = int(month)
        if number > 12:
            return None
    else:  # weeks come after the months, so that both can be told apart
        number = _MONTHS.get(month[:3].lower()) or 100 + int(month[1:])
    return Date(int(year), number or 12, int(day or 0)) if int(day or 0) <= 31 else None


def _date_in_query(query: str) -> Date | None:
    whole: Date | None = None
    year, month, day = "", "", ""
    pairs = query.split("&")
    if len(pairs) > 8:
        return None
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not _DIGITS.search(value):
            if len(value) >= 12:
                return None
        elif _YEAR_NAME.search(name) and value.isdigit() and len(value) == 4:
            year = value
        elif value.isdigit() and len(value) <= 2 and _MONTH_NAME.search(name):
            month = value if name[:1] not in "wWkK" else f"w{value}"
        elif value.isdigit() and len(value) <= 2 and _DAY_NAME.search(name):
            day = value
        elif found := _date_value(name, value):
            whole = whole or found  # of two, as in ?from=2024-05-01&to=2024-05-08, the first
        else:
            return None
    if whole is None and year:
        return _date(year, month, day) if month else Date(int(year), 0, 0)
    return whole


def _date_value(name: str, value: str) -> Date | None:
    named = _DATE_NAME.search(name) is not None
    if value.isdigit() and 9 <= len(value) <= 13 and named:
        moment = time.gmtime(int(value) if len(value) <= 11 else int(value) // 1000)
        return Date(moment.tm_year, moment.tm_mon, moment.tm_mday)
    found = _date_at_end(_SLASH.sub("-", value[:40]), named)
    return found if found and (found.month or named) else None
