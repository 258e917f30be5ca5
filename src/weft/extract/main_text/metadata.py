"""What a page says of itself beside its text: title, author, date, and the records made for machines.

JSON-LD comes first, then OpenGraph and the like, then microdata, then the page as readers see it: the more a fact was
made for machines, the less often it is something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final, cast

import msgspec
from turbohtml import Document, Element

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]

MAX_FACT: Final = 1_000
"""The most characters of one fact."""

MAX_RECORDS_B: Final = 262_144
"""The most bytes of JSON-LD and OpenGraph that are kept of a page."""

_MAX_NODES: Final = 2_000
_ARTICLE: Final = re.compile(r"(?:Article|BlogPosting|Report|Review)$")
_OTHER: Final = re.compile(
    r"(?:Product|ItemList|CollectionPage|SearchResultsPage|FAQPage|QAPage|DiscussionForumPosting)$"
)
_ARTICLE_ITEMS: Final = '[itemtype$="Article"],[itemtype$="BlogPosting"]'
_AUTHOR_META: Final = ("author", "article:author", "dc.creator", "dcterms.creator", "parsely-author", "sailthru.author")
_DATE_META: Final = (
    "article:published_time",
    "og:published_time",
    "datepublished",
    "parsely-pub-date",
    "sailthru.date",
    "dc.date",
    "dc.date.issued",
    "dcterms.created",
    "dcterms.date",
    "pubdate",
    "publishdate",
    "date",
)
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?\s?(?:Z|[+-]\d\d:?\d\d)?)?")


class Kind(Enum):
    """What a page says that it is."""

    UNKNOWN = auto()
    ARTICLE = auto()
    OTHER = auto()
    """Something else: a product, a list, a forum."""


class Metadata(msgspec.Struct, frozen=True):
    """What a page says of itself. Texts are empty where the page says nothing."""

    title: str = ""
    author: str = ""
    published: str = ""
    """As the page writes it, ISO 8601, mostly with a time and its offset."""
    description: str = ""
    descriptions: tuple[str, ...] = ()
    """The meta description and the meta keywords, where they are there."""
    json_ld: tuple[Json, ...] = ()
    opengraph: dict[str, str] = {}
    kind: Kind = Kind.UNKNOWN


def metadata_of(document: Document) -> Metadata:
    """The facts of a page. Reads the tree as it is before anything is removed."""
    json_ld = _json_ld(document)
    meta = _meta_of(document)
    opengraph = {name: content for name, content in meta.items() if name.startswith(("og:", "article:", "twitter:"))}
    nodes = list(_nodes_of(json_ld))
    article = next((node for node in nodes if _has_type(node, _ARTICLE)), {})
    return Metadata(
        title=_first([_text(article.get("headline")), meta.get("og:title"), meta.get("twitter:title")])
        or _seen(document, "h1")
        or _seen(document, "title"),
        author=_first([", ".join(_names(article.get("author"))), *(_name(meta.get(key)) for key in _AUTHOR_META)])
        or _author_seen(document),
        published=_first([_date(_text(article.get("datePublished"))), *(_date(meta.get(key)) for key in _DATE_META)])
        or _date_seen(document),
        description=_first([meta.get("og:description"), meta.get("description"), _text(article.get("description"))]),
        descriptions=tuple(meta[name] for name in ("description", "keywords") if name in meta),
        json_ld=json_ld,
        opengraph=opengraph,
        kind=_kind_of(document, nodes, meta.get("og:type", "").lower()),
    )


def _kind_of(document: Document, nodes: list[dict[str, Json]], opengraph_type: str) -> Kind:
    if opengraph_type.startswith(("product", "og:product")) or any(_has_type(node, _OTHER) for node in nodes):
        return Kind.OTHER
    if opengraph_type in ("article", "og:article", "news") or any(_has_type(node, _ARTICLE) for node in nodes):
        return Kind.ARTICLE
    return Kind.ARTICLE if len(document.select(_ARTICLE_ITEMS)) == 1 else Kind.UNKNOWN


def _has_type(node: dict[str, Json], wanted: re.Pattern[str]) -> bool:
    kinds = node.get("@type")
    return any(
        isinstance(kind, str) and wanted.search(kind) for kind in (kinds if isinstance(kinds, list) else [kinds])
    )


def _json_ld(document: Document) -> tuple[Json, ...]:
    """The records of JSON-LD that can be read, up to the bound."""
    found: list[Json] = []
    size_b = 0
    for script in document.select('script[type="application/ld+json" i]'):
        text = script.text.strip().removesuffix(";")
        size_b += len(text)
        if size_b > MAX_RECORDS_B:
            break
        try:
            found.append(cast(Json, msgspec.json.decode(text)))
        except (msgspec.DecodeError, RecursionError):
            continue
    return tuple(found)


def _meta_of(document: Document) -> dict[str, str]:
    """The first content of each ``<meta>`` with a name, in lower case."""
    found: dict[str, str] = {}
    for meta in document.iter_elements("meta"):
        name = (meta.attr("property") or meta.attr("name") or "").strip().lower()
        content = meta.attr("content")
        if name and content and len(found) < _MAX_NODES:
            found.setdefault(name[:100], _line(content))
    return found


def _nodes_of(records: Iterable[Json]) -> Iterator[dict[str, Json]]:
    """The nodes of JSON-LD, those of a graph and main entities too, in their order."""
    waiting = list(records)[::-1]
    for _ in range(_MAX_NODES):
        if not waiting:
            return
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node[::-1])
        elif isinstance(node, dict):
            yield node
            waiting.extend(node[key] for key in ("mainEntity", "@graph") if isinstance(node.get(key), dict | list))


def _names(value: Json) -> list[str]:
    """The names of people or organisations, each once."""
    if isinstance(value, list):
        found = [name for each in value[:20] for name in _names(each)]
        return list(dict.fromkeys(found))
    if isinstance(value, dict):
        value = value.get("name")
        if isinstance(value, list):
            return _names(value)
    name = _name(_text(value))
    return [name] if name else []


def _name(text: str | None) -> str:
    """A name, without the word before it; an address is none."""
    name = _line(text or "")
    return "" if name.startswith(("http://", "https://", "/", "@")) else name.removeprefix("By ").removeprefix("by ")


def _date(text: str | None) -> str:
    found = _DATE.search(text or "")
    return found[0].replace(" ", "T", 1) if found else ""


def _author_seen(document: Document) -> str:
    for element in document.select('[itemprop="author"],[rel="author"],[class~="byline-name"],[class~="author-name"]')[
        :5
    ]:
        named = element.select_one('[itemprop="name"]') or element
        name = _name(named.attr("content") or named.text)
        if 0 < len(name) <= 100:
            return name
    return ""


def _date_seen(document: Document) -> str:
    for element in document.select('[itemprop="datePublished"],time[datetime]')[:5]:
        date = _date(element.attr("content") or element.attr("datetime") or element.text)
        if date:
            return date
    return ""


def _seen(document: Document, tag: str) -> str:
    element = document.select_one(tag)
    return _line(element.text) if isinstance(element, Element) else ""


def _text(value: Json) -> str:
    return _line(value) if isinstance(value, str) else ""


def _first(values: Iterable[str | None]) -> str:
    return next((value for value in values if value), "")


def _line(text: str) -> str:
    return " ".join(text[: 4 * MAX_FACT].split())[:MAX_FACT]
