"""How the ops ``sitemap.*`` of the vectors ask weft, in the forms of crawler-commons and Scrapy."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from urllib.parse import urlsplit

from weft.fetch.sitemaps import (
    Extra,
    Sitemap,
    SitemapEntry,
    in_sitemap_scope,
    parse_sitemap,
    rss_date,
    sniff,
    unpack,
    w3c_date,
)

_PAGE_LIMIT_B = 10_000_000  # what weft keeps of any body by default
_FORMATS = {"urlset": "XML", "rss": "RSS", "atom": "ATOM", "text": "TEXT"}
_CHANGES = {"always", "hourly", "daily", "weekly", "monthly", "yearly", "never"}


def _body(given: dict[str, object]) -> bytes:
    body = given["body"]
    assert isinstance(body, bytes)
    return body


def _parse(given: dict[str, object]) -> object:
    content_type = given.get("content_type")
    url = str(given["url"])
    sitemap = parse_sitemap(_body(given), url, str(content_type) if content_type else None, extensions=True)
    options = given.get("options")
    strict = isinstance(options, dict) and bool(options.get("strict"))
    if sitemap.kind == "index":
        children = [{"loc": child.url, "lastmod": child.lastmod} for child in sitemap.children]
        return {"type": "index", "format": "INDEX", "sitemaps": children}
    if sitemap.kind == "none":
        return None
    urls = [_entry(url, entry) for entry in sitemap.entries]
    return {
        "type": "urlset",
        "format": _FORMATS[sitemap.kind],
        "urls": [entry for entry in urls if entry["valid"] or not strict],
    }


def _entry(sitemap_url: str, entry: SitemapEntry) -> dict[str, object]:
    change = (entry.changefreq or "").lower()
    found: dict[str, object] = {
        "loc": entry.url,
        "lastmod": entry.lastmod,
        "changefreq": change.upper() if change in _CHANGES else None,
        "priority": _priority(entry.priority),
        "valid": in_sitemap_scope(sitemap_url, entry.url),
    }
    extensions: dict[str, list[dict[str, list[str]]]] = {}
    for extra in entry.extras:
        fields = _FORMS.get(extra.kind, _extension)(extra)
        if _REQUIRED.get(extra.kind, frozenset()) <= fields.keys():
            extensions.setdefault("PAGEMAPS" if extra.kind == "pagemap" else extra.kind.upper(), []).append(fields)
    if extensions:
        found["ext"] = extensions
    return found


def _priority(text: str | None) -> float:
    try:
        value = float(text or 0.5)
    except ValueError:
        return 0.5
    return value if 0 <= value <= 1 else 0.5


# --- crawler-commons' form of images, news, videos, links and PageMaps -----------------------------------------------

_LISTS = {"genres", "keywords", "stock_tickers"}
_DATES = {"publication_date", "expiration_date"}
_YES_OR_NO = {"family_friendly", "requires_subscription", "live"}
_RENAMED = {"live": "is_live", "tag": "tags"}
_GENRES = {"Blog", "OpEd", "Opinion", "PressRelease", "Satire", "UserGenerated"}
_MOST_TICKERS = 5
_LONGEST_VIDEO_S = 28_800
_REQUIRED = {"image": {"loc"}, "video": {"thumbnail_loc", "title", "description"}}
_KEPT = {
    "image": {"loc", "caption", "geo_location", "title", "license"},
    "news": {"name", "language", "title", *_LISTS, "publication_date"},
    "video": {
        *("thumbnail_loc", "title", "description", "content_loc", "player_loc", "duration", "rating", "view_count"),
        *("category", "tag", *_DATES, *_YES_OR_NO),
    },
}


def _extension(extra: Extra) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, text, attributes in extra.fields:
        words = " ".join(text.split()) if extra.kind == "video" else text
        if name == "price" and extra.kind == "video":
            found.setdefault("prices", []).append(_price(words, attributes))
        elif name in ("restriction", "platform") and extra.kind == "video":
            side = {"allow": "allowed", "deny": "restricted"}.get(attributes.get("relationship", "").lower())
            if side and words:
                found[f"{side}_{'countries' if name == 'restriction' else 'platforms'}"] = words.split()
        elif name == "gallery_loc" and extra.kind == "video":
            found["gallery_loc"] = [words]
            if attributes.get("title"):
                found["gallery_title"] = [attributes["title"]]
        elif name == "uploader" and extra.kind == "video":
            found["uploader"] = [words]
            if attributes.get("info"):
                found["uploader_info"] = [attributes["info"]]
        elif words and name in _KEPT.get(extra.kind, ()) and (values := _values(name, words)):
            found.setdefault(_RENAMED.get(name, name), []).extend(values)
    return found


def _values(name: str, words: str) -> list[str]:
    if name in _LISTS:
        listed = [word.strip() for word in words.split(",") if word.strip()]
        listed = [word for word in listed if word in _GENRES] if name == "genres" else listed
        return listed[:_MOST_TICKERS] if name == "stock_tickers" else listed
    if name in _YES_OR_NO:
        return [str(words.lower() == "yes" or (name == "family_friendly" and words.lower() != "no")).lower()]
    if name == "duration":
        return [words] if words.isdecimal() and int(words) <= _LONGEST_VIDEO_S else []
    return [_zoned(words)] if name in _DATES else [words]


def _zoned(date: str) -> str:
    """A date as Java prints it: seconds only where they are not zero, and Z for UTC."""
    day, _, clock = date.partition("T")
    time, zone = (clock[:-6], clock[-6:]) if clock[-6:-5] in ("+", "-") else (clock.rstrip("Z") or "00:00", "Z")
    return f"{day}T{time.removesuffix(':00') if time.count(':') == 2 else time}{'Z' if zone == '+00:00' else zone}"


def _price(words: str, attributes: dict[str, str]) -> str:
    try:
        value = f"{float(words):.2f}"
    except ValueError:
        value = "nu"  # what Java's %.2f makes of a missing number
    currency, kind = attributes.get("currency", "null"), attributes.get("type", "own")
    return f"value: {value}, currency: {currency}, type: {kind}, resolution: {attributes.get('resolution', 'null')}"


def _link(extra: Extra) -> dict[str, list[str]]:
    ((_, url, attributes),) = extra.fields
    others = {f"params.{name.rpartition(':')[2]}": [value] for name, value in attributes.items() if name != "href"}
    return {"href": [url]} | others


def _pagemap(extra: Extra) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    values: list[str] = []
    for name, text, attributes in extra.fields:
        if name == "dataobject":
            values = found.setdefault(f"{attributes.get('type', '')}::{attributes.get('id', '')}", [])
        elif name == "attribute":
            values.append(f"{attributes.get('name', 'null')}: {text or attributes.get('value', '')}")
    return found


_FORMS = {"links": _link, "pagemap": _pagemap}


# --- Scrapy's form ---------------------------------------------------------------------------------------------------


def _simple_entry(entry: SitemapEntry) -> dict[str, object]:
    found: dict[str, object] = {"loc": entry.loc}
    texts = {"lastmod": entry.lastmod_text, "changefreq": entry.changefreq, "priority": entry.priority}
    found |= {name: text for name, text in texts.items() if text is not None}
    if entry.alternates:
        found["alternate"] = list(entry.alternates)
    return found


def _parse_simple(given: dict[str, object]) -> object:
    sitemap: Sitemap = parse_sitemap(_body(given), "http://localhost/")
    return {"type": sitemap.root, "entries": [_simple_entry(e) for e in sitemap.children or sitemap.entries]}


def _decode_body(given: dict[str, object]) -> object:
    body = _body(given)
    if sniff(body) == "application/gzip":
        body, problem = unpack(body, _PAGE_LIMIT_B)
        return None if problem else b64encode(body).decode()
    path = urlsplit(str(given["url"])).path
    named = given.get("response_class") == "XmlResponse" or path.endswith((".xml", ".xml.gz"))
    return b64encode(body).decode() if named else None


OPS: dict[str, Callable[[dict[str, object]], object]] = {
    "sitemap.parse": _parse,
    "sitemap.parse_simple": _parse_simple,
    "sitemap.rss_date": lambda given: rss_date(str(given["text"])),
    "sitemap.w3c_date": lambda given: w3c_date(str(given["text"])),
    "sitemap.url_in_scope": lambda given: in_sitemap_scope(str(given["sitemap_base"]), str(given["url"])),
    "sitemap.sniff_mime": lambda given: sniff(_body(given)),
    "sitemap.decode_body": _decode_body,
}
