"""The HTML operations of the public vectors, answered by weft's own parts.

Some vectors were recorded from the calls of other libraries, options and all. What an option asks for is done here, on
top of weft's tree, encodings, resolving and directives; it is no part of weft.
"""

from __future__ import annotations

import ast
import codecs
import re
from collections.abc import Callable, Iterable, Iterator
from typing import cast

import turbohtml
from turbohtml import Document, Element, Namespace

from weft import url as weft_url
from weft.parse.content import charset_of, encoding_named, sniff_encoding
from weft.parse.directives import Directives, parse_refresh, robots_directives, x_robots_directives

Input = dict[str, object]

_RAW_ATTRIBUTES = {
    **dict.fromkeys(("a", "area", "base", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "frame", "iframe", "img", "input", "script", "source", "track", "video"), "src"),
    "form": "action",
    "object": "data",
}
_PYTHON_CODECS = {"big5": "big5hkscs", "euc-kr": "cp949", "gbk": "gb18030", "shift_jis": "cp932"}
_PYTHON_CODECS |= {"macintosh": "mac-roman", "x-mac-cyrillic": "mac-cyrillic", "iso-8859-8-i": "iso8859-8"}
_PYTHON_CODECS |= {"windows-874": "cp874"}


def op_sniff_encoding(given: Input) -> object:
    return sniff_encoding(_bytes(given, "body"), cast("str | None", given.get("http_charset")))


def op_content_type_charset(given: Input) -> object:
    """By the name of Python's codec; None where Python has none (x-user-defined, replacement)."""
    name = charset_of(cast("str | None", given["content_type"]))
    try:
        return codecs.lookup(_PYTHON_CODECS.get(name, name)).name if name else None
    except LookupError:
        return None


def op_raw_links(given: Input) -> object:
    document = turbohtml.parse(_bytes(given, "html"), encoding="utf-8", scripting=bool(given.get("scripting")))
    links = []
    in_template = 0
    for element in document.iter_elements():
        attribute = _RAW_ATTRIBUTES.get(element.tag)
        value = element.attr(attribute) if attribute else None
        if value is not None:
            links.append({"tag": element.tag, "attr": attribute, "value": value, "in_template": in_template > 0})
        in_template = max(0, in_template - 1)
        if element.tag == "template" and element.namespace is Namespace.HTML and not in_template:
            in_template = sum(1 for _ in element.iter_elements())
    return links


def op_meta_refresh(given: Input) -> object:
    """What everybody is told: a refresh for browsers without scripts is none, unless ``ignore_tags`` says otherwise."""
    options = _options(given)
    extra = [*_list(given.get("extra")), *_list(options.get("encoding"))]
    ignored = _set(options.get("ignore_tags", ("script", "noscript")))
    body = _bytes(given, "html")
    for tag in {"script", "noscript"} - ignored:
        body = re.sub(rb"(?i)(</?)(?=%b\b)" % tag.encode(), rb"\1x-", body)
    encoding = _encoding_named(extra[0]) if extra else None
    document = _document(body, encoding)
    for element in document.iter_elements("meta"):
        if any(element.closest(tag) for tag in ignored):
            continue
        if (element.attr("http-equiv") or "").strip().lower() == "refresh":
            refresh = parse_refresh(element.attr("content") or "")
            if refresh and refresh.url:
                base = _base_url(document, str(given["url"]), encoding or "utf-8")
                return [_delay_as_written(element), _resolve(base, refresh.url, encoding or "utf-8")]
    return [None, None]


def _delay_as_written(meta: Element) -> float:
    """With its fraction, which the suite behind this op keeps; browsers wait whole seconds."""
    found = re.match(r"\s*([0-9]*\.?[0-9]*)", meta.attr("content") or "")
    return float(found[1]) if found and found[1].strip(".") else 0.0


def op_base_url(given: Input) -> object:
    encoding = _encoding_named(cast("str | None", given.get("encoding"))) or "utf-8"
    return _base_url(_document(_bytes(given, "html"), encoding), str(given["url"]), encoding)


def op_meta_refresh_content(given: Input) -> object:
    refresh = parse_refresh(str(given["content"]))
    if refresh is None:
        return None
    url = refresh.url and re.sub(r"[\t\n\r]", "", refresh.url)
    return {"delay": refresh.delay_s, "url": url}


def op_robots_meta(given: Input) -> object:
    directives = Directives()
    for element in _document(_bytes(given, "html"), None).iter_elements("meta"):
        content = element.attr("content") or ""
        if (element.attr("name") or "").lower() == "robots":
            directives |= robots_directives(content)
        if (element.attr("http-equiv") or "").lower() == "pragma" and "no-cache" in content.lower():
            directives |= Directives(nocache=True)
    return directives._asdict()


def op_x_robots_tag(given: Input) -> object:
    """In the suite behind this op ``none`` of the header forbids copies too; that of a meta element does not."""
    values = _list(given["x_robots_tag"])
    directives = x_robots_directives(values, ("weft",))
    words = {word.strip().lower() for value in values for word in value.split(",")}
    return (directives | Directives(nocache=directives.noindex and "none" in words))._asdict()


def op_links_scrapy(given: Input) -> object:
    """The links that another crawler's link extractor finds with the given options."""
    positional = zip(_SCRAPY_ARGUMENTS, cast("list[object]", given.get("args") or []), strict=False)
    options = {name: _literal(value) for name, value in positional} | _options(given)
    encoding = _encoding_named(cast("str | None", given.get("encoding"))) or "utf-8"
    document = turbohtml.parse(_bytes(given, "html"), encoding=encoding)
    page = str(given["url"])
    base = _base_url(document, page, encoding)
    links = []
    seen = set()
    for element, value in _values(document, options):
        url = _resolve(base, value, encoding)
        process = _PROCESSES.get(str(options.get("process_value")).split(" at ")[0])
        if process is not None and url is not None:
            url = process(value, lambda ref: _resolve(page, ref, encoding))
        if url is None or not _allowed(url, element.text, options):
            continue
        if options.get("canonicalize"):
            url = _canonical(url)
        if options.get("unique", True) and url in seen:
            continue
        seen.add(url)
        rel = (element.attr("rel") or "").replace(",", " ").split()
        links.append({"url": url, "text": element.text, "fragment": "", "nofollow": "nofollow" in rel})
    return links


def _goto_page(value: str, resolve: Callable[[str], str | None]) -> str | None:
    match = re.search(r"javascript:goToPage\('(.*?)'", value)
    return resolve(match[1]) if match else None


_SCRAPY_ARGUMENTS = (
    *("allow", "deny", "allow_domains", "deny_domains", "restrict_xpaths", "tags", "attrs", "canonicalize", "unique"),
    *("process_value", "deny_extensions", "restrict_css", "strip", "restrict_text", "deny_tags", "deny_attrs"),
)

# A function cannot be recorded; this is the one that the recorded test defines.
_PROCESSES = {"<function TestLxmlLinkExtractor.test_process_value.<locals>.process_value": _goto_page}

_IGNORED_EXTENSIONS = frozenset(
    """7z 7zip bz2 rar tar gz xz zip mng pct bmp gif jpg jpeg png pst psp tif tiff ai drw dxf eps ps svg cdr ico webp
    mp3 wma ogg wav ra aac mid au aiff 3gp asf asx avi mov mp4 mpg qt rm swf wmv m4a m4v flv webm xls xlsm xlsx xltm
    xltx potm potx ppt pptm pptx pps doc docb docm docx dotm dotx odt ods odg odp css pdf exe bin rss dmg iso apk jar
    sh rb js hta bat cpl msi msp py tar.gz""".split()  # noqa: SIM905
)


def _values(document: Document, options: dict[str, object]) -> Iterator[tuple[Element, str]]:
    tags, attributes = _set(options.get("tags", ("a", "area"))), _set(options.get("attrs", ("href",)))
    no_tags, no_attributes = _set(options.get("deny_tags", ())), _set(options.get("deny_attrs", ()))
    for element in _elements(document, options):
        if ("*" not in tags and element.tag not in tags) or element.tag in no_tags:
            continue
        for name in list(element.attrs):
            if ("*" in attributes or name in attributes) and name not in no_attributes:
                yield element, element.attr(name) or ""


def _elements(document: Document, options: dict[str, object]) -> Iterable[Element]:
    regions = [
        e for path in _list(options.get("restrict_xpaths", ())) for e in cast("list[Element]", document.xpath(path))
    ]
    regions += [e for selector in _list(options.get("restrict_css", ())) for e in document.select(selector)]
    if "restrict_xpaths" not in options and "restrict_css" not in options:
        return document.iter_elements()
    return [element for region in regions for element in region.iter_elements(include_self=True)]


def _allowed(url: str, text: str, options: dict[str, object]) -> bool:
    if not url.startswith(("http://", "https://", "ftp://", "file://")):
        return False
    allow, deny = _list(options.get("allow", ())), _list(options.get("deny", ()))
    if (allow and not any(re.search(p, url) for p in allow)) or any(re.search(p, url) for p in deny):
        return False
    inside, outside = _list(options.get("allow_domains", ())), _list(options.get("deny_domains", ()))
    if (inside and not _is_of(url, inside)) or _is_of(url, outside):
        return False
    texts = _list(options.get("restrict_text", ()))
    if texts and not any(re.search(p, text) for p in texts):
        return False
    denied = options.get("deny_extensions")
    extensions = _IGNORED_EXTENSIONS if denied is None else {e.removeprefix(".") for e in _list(denied)}
    path = weft_url.path_of(url).partition("?")[0].lower()
    return not any(path.endswith("." + extension) for extension in extensions)


def _is_of(url: str, domains: list[str]) -> bool:
    host = weft_url.host_of(url)
    return any(host == domain.lower() or host.endswith("." + domain.lower()) for domain in domains)


def _canonical(url: str) -> str:
    """The URL with its query sorted and its fragment gone."""
    head, mark, query = url.partition("#")[0].partition("?")
    return head + mark + "&".join(sorted(query.split("&")))


def _document(body: bytes, encoding: str | None) -> Document:
    """The tree as browsers with scripts see it."""
    name = _encoding_named(encoding)
    return turbohtml.parse(body, encoding=name or sniff_encoding(body, "utf-8"), scripting=True)


def _base_url(document: Document, url: str, encoding: str) -> str:
    for element in document.iter_elements("base"):
        reference = element.attr("href")
        if reference is not None and element.namespace is Namespace.HTML and element.closest("template") is None:
            return _resolve(url, reference, encoding) or url
    return url


def _resolve(base: str, reference: str, encoding: str) -> str | None:
    if not base:
        return weft_url.parse(reference)
    return weft_url.resolve(base, reference, encoding)


def _bytes(given: Input, name: str) -> bytes:
    value = given[name]
    assert isinstance(value, bytes)
    return value


def _encoding_named(label: str | None) -> str | None:
    """The WHATWG name of an encoding that the suites call by its WHATWG label or by that of Python's codec."""
    if not label:
        return None
    try:
        return encoding_named(label) or encoding_named(codecs.lookup(label).name)
    except LookupError:
        return None


def _options(given: Input) -> dict[str, object]:
    return {name: _literal(value) for name, value in cast("dict[str, object]", given.get("options") or {}).items()}


def _literal(value: object) -> object:
    """The value of which the suite recorded ``repr``; one without a value of its own stays as it is written."""
    if not isinstance(value, str):
        return value
    try:
        return ast.literal_eval(_Patterns().visit(ast.parse(value.strip(), mode="eval")))
    except (ValueError, SyntaxError):
        return value


class _Patterns(ast.NodeTransformer):
    """Puts the text of a pattern in the place of ``re.compile(text, flags)``."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        text, *flags = node.args
        if ast.unparse(node.func) != "re.compile" or not isinstance(text, ast.Constant):
            return node
        ignore_case = "(?i)" if "IGNORECASE" in "".join(map(ast.unparse, flags)) else ""
        return ast.Constant(f"{ignore_case}{text.value}")


def _list(value: object) -> list[str]:
    if value is None or isinstance(value, (list, tuple, set)):
        return [str(item) for item in value or ()]
    return [str(value)]


def _set(value: object) -> frozenset[str]:
    return frozenset(_list(value))


OPS: dict[str, Callable[[Input], object]] = {
    "html.sniff_encoding": op_sniff_encoding,
    "http.content_type_charset": op_content_type_charset,
    "html.raw_links": op_raw_links,
    "html.links.scrapy": op_links_scrapy,
    "html.meta_refresh": op_meta_refresh,
    "html.base_url": op_base_url,
    "html.meta_refresh_content": op_meta_refresh_content,
    "html.robots_meta": op_robots_meta,
    "http.x_robots_tag": op_x_robots_tag,
}
