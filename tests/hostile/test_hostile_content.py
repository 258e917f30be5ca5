"""Bombs, wrong encodings and charsets, monstrous and malformed markup in a real crawl (E2, R15).

Issue 3, sections 7 and 10; DESIGN, promises 5 and 6.
"""

from __future__ import annotations

import gzip
import random
import re
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import brotli  # type: ignore[import-untyped, unused-ignore]
import pytest
import zstandard
from hostile import (
    FAST,
    HOST,
    Visited,
    assert_healthy,
    at_host,
    crawl,
    judge_kind,
    kinds_of,
    lay_out,
)
from web import HTML, Response, Site, brotli_bomb, html_page, raw_deflate

# Its links lead to itself under other queries, so it is crawled alone, to depth 1.
KINDS = kinds_of("content", "many_links")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    with Site() as site:
        for kind in KINDS:
            site.misbehave(f"/{kind}", kind, host=HOST)
        lay_out(site, [f"/{kind}" for kind in KINDS])
        options = (*FAST, "--timeout", "30s", *at_host(site))
        return Visited(site, crawl(tmp_path_factory.mktemp("kinds"), [site.at("/", HOST)], *options, check=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_honestly(kinds: Visited, kind: str) -> None:
    judge_kind(kind, kinds.site.at(f"/{kind}", HOST), f"/{kind}", kinds.crawled, kinds.site)
    assert kinds.site.asked(f"/{kind}") == 1


def test_the_crawl_of_all_kinds_is_healthy(kinds: Visited) -> None:
    assert_healthy(kinds.crawled, kinds.site)
    assert kinds.crawled.peak_b < 700 << 20


def test_a_hundred_thousand_links_are_cut_at_the_bound(tmp_path: Path, site: Site) -> None:
    site.misbehave("/many_links", "many_links", host=HOST)
    lay_out(site, ["/many_links"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, "--timeout", "30s", "--max-depth", "1", *at_host(site))
    assert_healthy(crawled, site)
    page = crawled.page(site.at("/many_links", HOST))
    assert (page.status, page.title, page.out_links) == (200, "monster", 20_000)
    assert "more than 20000 links" in crawled.details[page.url]
    assert len(site.requests) == 11


# --- documents


class Document(NamedTuple):
    body: bytes
    content_type: str | None
    title: str | None  # "" none at all, None not judged
    encoding: str | None
    headers: dict[str, str]


DOCUMENTS: dict[str, Document] = {}
CZECH = "Žluťoučký kůň"
RUSSIAN = "Привет мир, это страница на русском языке"
JAPANESE = "これは日本語のページです。テスト用の文章を書きます"


def document(
    name: str,
    body: bytes | str,
    title: str | None = None,
    *,
    type: str | None = HTML,
    encoding: str | None = None,
    **headers: str,
) -> None:
    content = body.encode() if isinstance(body, str) else body
    DOCUMENTS[name] = Document(content, type, title, encoding, {k.replace("_", "-"): v for k, v in headers.items()})


def text(title: str, encoding: str, head: str = "", more: str = "") -> bytes:
    page = f"<!doctype html><html><head>{head}<title>{title}</title></head><body><p>{title} {more}</p></body></html>"
    return page.encode(encoding)


def _charsets() -> None:
    plain = "text/html"
    document("utf16be_header", text(CZECH, "utf-16-be"), CZECH, type="text/html; charset=utf-16be", encoding="utf-16be")
    document("utf16le_unmarked", text(CZECH, "utf-16-le"), CZECH, type=plain, encoding="utf-16le")
    document("utf16be_unmarked", text(CZECH, "utf-16-be"), CZECH, type=plain, encoding="utf-16be")
    document("utf16_marked", b"\xfe\xff" + text(CZECH, "utf-16-be"), CZECH, type="text/html; charset=utf-16")
    document("utf16_said_utf8", text(CZECH, "utf-8"), "", type="text/html; charset=utf-16")
    document("utf32_marked", b"\xff\xfe\0\0" + text(CZECH, "utf-32-le"), None, type=plain)
    document("meta_utf16_is_utf8", text(CZECH, "utf-8", "<meta charset=utf-16>"), CZECH, type=plain, encoding="utf-8")
    late = f"<!--{'x' * 3_000}--><meta charset=windows-1250>"
    document("meta_late", text(CZECH, "windows-1250", late), CZECH, type=plain, encoding="windows-1250")
    hidden = "<!-- <meta charset=windows-1251> --><p title='<meta charset=big5>'></p><meta charset=utf-8>"
    document("meta_hidden", text(CZECH, "utf-8", hidden), CZECH, type=plain)
    http = '<meta http-equiv=Content-Type content="text/html; charset=iso-8859-2">'
    document("meta_http_equiv", text(CZECH, "iso-8859-2", http), CZECH, type=plain, encoding="iso-8859-2")
    reverse = '<meta content="text/html; charset=iso-8859-2" http-equiv="content-type">'
    document("meta_reversed", text(CZECH, "iso-8859-2", reverse), CZECH, type=plain, encoding="iso-8859-2")
    document("meta_unknown", text(CZECH, "utf-8", "<meta charset=klingon>"), CZECH, type=plain, encoding="utf-8")
    xml = b'<?xml version="1.0" encoding="iso-8859-2"?>'
    document("xml_declaration", xml + text(CZECH, "iso-8859-2"), CZECH, type="application/xhtml+xml")
    document("mark_wins", b"\xef\xbb\xbf" + text(CZECH, "utf-8"), CZECH, type="text/html; charset=iso-8859-2")
    wrong = text(CZECH, "iso-8859-2", "<meta charset=utf-8>")
    document("header_wins", wrong, CZECH, type="text/html; charset=iso-8859-2", encoding="iso-8859-2")
    for name, type_ in {
        "label_utf8": "text/html; charset=utf8",
        "label_quotes": "text/html; charset='utf-8'",
        "label_twice": "text/html; charset=utf-8; charset=iso-8859-1",
        "label_tight": "text/html;charset=UTF-8",
        "label_listed": "text/html, text/html; charset=utf-8",
    }.items():
        document(name, text(CZECH, "utf-8"), CZECH, type=type_, encoding="utf-8")
    document("sjis_header", text(JAPANESE, "shift_jis"), JAPANESE, type="text/html; charset=Shift_JIS")
    document("sjis_guessed", text(JAPANESE, "shift_jis", more=JAPANESE * 5), JAPANESE, type=plain)
    document("eucjp_guessed", text(JAPANESE, "euc_jp", more=JAPANESE * 5), JAPANESE, type=plain)
    document("iso2022_meta", text(JAPANESE, "iso2022_jp", "<meta charset=iso-2022-jp>"), JAPANESE, type=plain)
    document("gb18030", text("中文网页的标题", "gb18030"), "中文网页的标题", type="text/html; charset=gb2312")
    document("big5", text("中文網頁標題", "big5"), "中文網頁標題", type="text/html; charset=big5")
    document("euckr", text("한국어 페이지", "euc_kr"), "한국어 페이지", type="text/html; charset=ks_c_5601-1987")
    document("cp1251_guessed", text(RUSSIAN, "cp1251", more=RUSSIAN * 5), RUSSIAN, type=plain)
    document("koi8_guessed", text(RUSSIAN, "koi8_r", more=RUSSIAN * 5), RUSSIAN, type=plain)
    document("latin1_is_1252", b"<title>\x93q\x94</title>", "“q”", type="text/html; charset=iso-8859-1")
    document("label_huge", text("x", "ascii"), "x", type="text/html; charset=" + "a" * 50_000)
    document("type_huge", text("x", "ascii"), "x", type="text/html; " + "a=b; " * 20_000)
    document("overlong", b"<title>a\xc0\xbcscript\xc0\xbe</title>", "a\ufffd\ufffdscript\ufffd\ufffd")
    document("half_characters", "<title>a&#xD800;&#0;&#x110000;&#x1F600;b</title>", "a\ufffd\ufffd\ufffd😀b")
    document("no_characters", "<title>\ufffe\uffff</title>", "\ufffe\uffff")
    lone = b"\xff\xfe" + "<title>x".encode("utf-16-le") + b"\x00\xd8" + "y</title>".encode("utf-16-le")
    document("utf16_half_pair", lone, "x\ufffdy", type=plain)
    document("utf16_odd_length", b"\xff\xfe" + text("odd", "utf-16-le") + b"A", "odd", type=plain)


def _encodings() -> None:
    page = text("packed", "utf-8")
    zipped = gzip.compress(page)
    document("gzip_said_deflate", zipped, "packed", Content_Encoding="deflate")
    document("deflate_said_gzip", zlib.compress(page), None, Content_Encoding="gzip")
    document("brotli_said_gzip", brotli.compress(page), None, Content_Encoding="gzip")
    document("gzip_unsaid", zipped, "")
    document("gzip_twice_said_once", gzip.compress(zipped), "", Content_Encoding="gzip")
    document("brotli_in_gzip", gzip.compress(brotli.compress(page)), "packed", Content_Encoding="br, gzip")
    document("zstd", zstandard.compress(page), "packed", Content_Encoding="zstd")
    for number, nonsense in enumerate(("UTF-8", "text/html", "*", "compress", "gzip," * 5_000, ",,,", "sdch")):
        document(f"nonsense_{number}", page, "packed", Content_Encoding=nonsense)
    extra = b"\xff\xff" + b"e" * 65_535 + b"n" * 100 + b"\0" + b"c" * 100 + b"\0"
    tail = zlib.crc32(page).to_bytes(4, "little") + len(page).to_bytes(4, "little")
    head = b"\x1f\x8b\x08\x1c\0\0\0\0\0\xff"
    document("gzip_long_head", head + extra + raw_deflate(page) + tail, "packed", Content_Encoding="gzip")
    document("gzip_head_only", head, "", Content_Encoding="gzip")
    members = b"".join(gzip.compress(bytes([letter])) for letter in page) + gzip.compress(b"") * 2_000
    document("gzip_members", members, "packed", Content_Encoding="gzip")
    document("brotli_garbage", b"\xff" * 1_000, "", Content_Encoding="br")
    document("zstd_garbage", b"\x28\xb5\x2f\xfd" + b"\xff" * 1_000, "", Content_Encoding="zstd")
    document(
        "zstd_window",
        zstandard.ZstdCompressor(level=1, write_content_size=False).compress(page),
        "packed",
        Content_Encoding="zstd",
    )


def _types() -> None:
    page = text("typed", "utf-8")
    document("zip_as_html", b"PK\x03\x04" + b"\0" * 1_000, "")
    document("noise_as_html", random.Random(2).randbytes(300_000))
    document("type_list", page, "", type="text/plain, text/html")
    document("type_upper", page, "typed", type="TEXT/HTML")
    document("type_odd", page, "typed", type="text/html;;;;;;charset==utf-8")
    document("type_empty", page, "typed", type="")
    document("type_multipart", page, "", type="multipart/x-mixed-replace; boundary=x")
    document("rss_as_html", "<?xml version='1.0'?><rss><channel><title>feed</title></channel></rss>", "")
    broken = b'<html xmlns="http://www.w3.org/1999/xhtml"><title>xhtml</title><p>open<br><a href=/yes-xhtml>x</html>'
    document("xhtml_broken", broken, "xhtml", type="application/xhtml+xml")
    closed = "<script src='/no-script'/><style/><base target='x'/>"
    rest = "<p/><textarea/><iframe src='/yes-closed'/><![CDATA[ 1 > 0 <a href='/no-text'>]]><a href='/yes-rest'/>"
    xhtml = f"<html xmlns='http://www.w3.org/1999/xhtml'><head>{closed}<title>xhtml</title></head><body>{rest}</body></html>"
    document("xhtml_closed", xhtml, "xhtml", type="application/xhtml+xml")
    document("xhtml_utf16", xhtml.encode("utf-16"), "xhtml", type="application/xhtml+xml")
    document("html_closed", "<title>open</title><script src='/no-script'/><a href='/no-code'/>", "open")


def _markup() -> None:
    """/yes-... is followed, /no-... is not."""
    document("svg_title", "<svg><title>no</title></svg><title>yes</title>", "yes")
    document("two_titles", "<title>one</title><title>two</title>", "one")
    document("frames", "<title>f</title><frameset><frame src=/yes-frame><frame src='javascript:x'></frameset>", "f")
    document(
        "iframe", "<title>f</title><iframe src=/yes-iframe></iframe><iframe srcdoc='<a href=/yes-srcdoc>'></iframe>"
    )
    document("noscript", "<title>n</title><noscript><a href=/yes-noscript>x</a></noscript>", "n")
    document("upper", "<TITLE>up</TITLE><A HREF=/yes-upper>x</A>", "up")
    document("unquoted", "<title>u</title><a/href=/yes-slash>y</a><a href = '/yes-blanks' >z</a>", "u")
    document("twice", "<title>d</title><a href=/yes-first href=/no-second>x</a>", "d")
    document("quote_missing", '<title>m</title><a href="/x>x</a><p>"</p><a href="/yes-after">y</a>', "m")
    document("plaintext", "<title>p</title><a href=/yes-before>x</a><plaintext><a href=/no-plain>y</a>", "p")
    document("raw_text", "<title>x</title><xmp><a href=/no-xmp></xmp><textarea><a href=/no-area></textarea>", "x")
    document("cdata", "<title>c</title><svg><![CDATA[<a href=/no-cdata>]]></svg>", "c")
    document("area", "<title>a</title><map><area href=/yes-map></map>", "a")
    document("shadow", "<title>s</title><div><template shadowrootmode=open><a href=/yes-shadow>x</a></template></div>")
    document("template", "<title>s</title><template><a href=/no-template>x</a></template>", "s")
    document("foster", "<title>t</title><table><a href=/yes-foster>x</a><tr><td></table>", "t")
    document("nested", "<title>n</title><a href=/yes-outer>o<a href=/yes-inner>i</a></a>", "n")
    document(
        "svg_link", "<title>m</title><svg><a xlink:href=/yes-xlink><text>x</text></a></svg><mi href=/no-math>", "m"
    )
    refresh = (
        "<meta http-equiv=refresh content=\"0;URL='/yes-refresh'\"><meta http-equiv=REFRESH content='5 /yes-other'>"
    )
    document("refresh", f"<title>r</title>{refresh}", "r")
    document("nul_in_markup", "<title>a\0b</title>\0<a href='/yes-nul'>x</a>", "a\ufffdb")
    document(
        "form", "<title>f</title><form action=/no-form><input name=q></form><form method=post action=/no-post>", "f"
    )
    document("image", "<title>i</title><img src=/no-image><link rel=stylesheet href=/no-style><script src=/no-script>")
    document("prefetch", "<title>p</title><link rel=prefetch href=/no-prefetch><link rel=next href=/no-next>", "p")
    document("nofollow", "<title>n</title><a rel='x NoFollow' href=/no-follow>x</a>", "n")


def _monsters() -> None:
    begin = "<title>monster</title>"
    for name, body in {
        "refresh_digits": f"<meta http-equiv=refresh content='{'9' * 1_000_000};url=/yes-digits'>",
        "onclick": f'<b onclick="location.href=\'/yes-onclick\'">x</b><b onclick="{"location=" * 100_000}">y</b>',
        "srcset": f"<img srcset='{',' * 1_000_000}'><img srcset='{'a 1x,' * 200_000}'>",
        "svg_deep": "<svg>" * 100_000 + "<a href=/yes-deep>x</a>",
        "math_deep": "<math><mi>" * 50_000,
        "a_deep": "<a href=/yes-again>" * 50_000,
        "font_in_p": "".join(f"<font a{n}=1><p>" for n in range(5_000)),
        "b_then_p": "<b>" * 20_000 + "<p>" * 20_000,
        "template_deep": "<template>" * 50_000,
        "select_deep": "<select><option>" * 50_000,
        "forms": "<form action=/no-form><input>" * 20_000,
        "less_than": "<" * 2_000_000,
        "comments": "<!--" * 500_000,
        "attribute_name": f"<p {'x' * 2_000_000}>",
        "tag_name": f"<{'x' * 2_000_000}>",
        "tags": "".join(f"<x{n}>" for n in range(200_000)),
        "entity": f"&{'a' * 1_000_000};",
        "bodies": "".join(f"<body a{n}=1>" for n in range(50_000)),
        "definitions": "<dd><dt>" * 100_000,
        "lists": "<ul><li>" * 100_000,
        "cells": "<table><td>" * 50_000,
        "nobr": "<nobr><div>" * 30_000,
        "crossed": "<i><b>" * 10_000 + "</i></b>" * 10_000,
        "closed": "</p>" * 500_000,
        "anchor": f"<a href=/yes-anchor>{'word ' * 1_000_000}</a>",
        "base": f"<base href='/{'b' * 1_000_000}/'><a href=x>1</a><a href=/yes-base>2</a>",
        "language": f"<html lang='{'x' * 1_000_000}'>",
        "description": f"<meta name=description content='{'y' * 3_000_000}'>",
        "canonicals": "<link rel=canonical href=/no-canonical>" * 20_000,
        "robots": f"<meta name=robots content='{'noarchive,' * 100_000}'>",
    }.items():
        document(f"monster_{name}", begin + body, "monster")
    document("monster_doctype", f"<!DOCTYPE {'x' * 2_000_000}>{begin}", "monster")


_charsets()
_encodings()
_types()
_markup()
_monsters()


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Visited:
    with Site() as site:
        site.serve(lambda request: Response(html_page(request.path), 200 if "yes-" in request.path else 404))
        site.file("/robots.txt", b"", "text/plain")
        for name, one in DOCUMENTS.items():
            site.file(f"/{name}", one.body, one.content_type, headers=one.headers, host=HOST)
        lay_out(site, [f"/{name}" for name in DOCUMENTS])
        options = (*FAST, "--timeout", "30s", *at_host(site))
        return Visited(site, crawl(tmp_path_factory.mktemp("docs"), [site.at("/", HOST)], *options, check=True))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_every_document_is_read_as_browsers_do(documents: Visited, name: str) -> None:
    page = documents.crawled.page(documents.site.at(f"/{name}", HOST))
    wanted = DOCUMENTS[name]
    assert (page.state, page.status, page.truncated) == ("C", 200, False), documents.crawled.details[page.url]
    assert wanted.title is None or (page.title or "") == wanted.title, page
    assert wanted.encoding in (None, page.encoding), page
    assert len(page.title or "") <= 2_000 and len(page.description or "") <= 2_000


def test_links_are_found_where_links_are(documents: Visited) -> None:
    asked = set(documents.site.paths())
    named = {word for one in DOCUMENTS.values() for word in _words(one.body)}
    wanted = {f"/{word}" for word in named if word.startswith("yes-")}
    assert len(wanted) > 20 and wanted <= asked, wanted - asked
    assert sum(word.startswith("no-") for word in named) > 5
    assert not [path for path in asked if "/no-" in path]


def _words(body: bytes) -> set[str]:
    return {found.decode() for found in re.findall(rb"(?:yes|no)-[a-z]+", body)}


def test_the_crawl_of_all_documents_is_healthy(documents: Visited) -> None:
    assert_healthy(documents.crawled, documents.site)
    assert documents.crawled.peak_b < 700 << 20


# --- sizes


def test_error_pages_that_are_alike_are_told_alike_and_others_are_not(tmp_path: Path, site: Site) -> None:
    """A server's error page is read once, and every broken link has what it says; another one says something else."""
    same = b"<!doctype html><html lang=de><title>nicht da</title><a href=/never>x</a>"
    own = b"<!doctype html><title>own</title><link rel=canonical href=?c>"
    for number in range(3):
        site.file(f"/same/{number}", same, HTML, status=404, host=HOST)
        site.file(f"/own/{number}", own, HTML, status=410, host=HOST)
    site.file("/told", same, HTML, status=404, headers={"X-Robots-Tag": "noindex"}, host=HOST)
    site.file("/plain", same, "text/plain", status=404, host=HOST)
    paths = [f"/{kind}/{number}" for number in range(3) for kind in ("same", "own")] + ["/told", "/plain"]
    lay_out(site, paths)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, "--workers", "1", *at_host(site))
    assert_healthy(crawled, site)
    found = {path: crawled.page(site.at(path, HOST)) for path in paths}
    for number in range(3):
        one = found[f"/same/{number}"]
        assert (one.status, one.type, one.title, one.language, one.noindex) == (
            404,
            "text/html",
            "nicht da",
            "de",
            False,
        )
        assert found[f"/own/{number}"].canonical == site.at(f"/own/{number}?c", HOST)
    assert found["/told"].noindex and found["/plain"].title is None
    assert not site.asked("/never")  # the links of an error page are no links of the site


def test_what_is_larger_than_max_size_is_cut_there_and_its_kept_part_is_used(tmp_path: Path, site: Site) -> None:
    """--max-size holds for the bytes on the wire and for those unpacked; to the byte."""
    limit = 50_000

    def page(size: int) -> bytes:
        start = b"<!doctype html><title>size</title><a href=/early>early</a>"
        end = b"<a href=/late>late</a>"
        return start + b" " * (size - len(start) - len(end)) + end

    for name, size in {"exact": limit, "one_more": limit + 1, "more": 3 * limit}.items():
        site.file(f"/{name}", page(size), HTML, host=HOST)
        site.file(f"/{name}.gzip", gzip.compress(page(size)), HTML, headers={"Content-Encoding": "gzip"}, host=HOST)
    noise = gzip.compress(page(limit)[:100] + random.Random(1).randbytes(200_000).hex().encode(), 1)
    site.file("/noise", noise, HTML, headers={"Content-Encoding": "gzip"}, host=HOST)
    for path in ("/early", "/late"):
        site.page(path, host=HOST)
    names = ["exact", "exact.gzip", "one_more", "one_more.gzip", "more", "more.gzip", "noise"]
    lay_out(site, [f"/{name}" for name in names])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, "--max-size", str(limit), "--accept", "/", *at_host(site))
    assert_healthy(crawled, site)
    found = {name: crawled.page(site.at(f"/{name}", HOST)) for name in names}
    for name in ("exact", "one_more", "more"):
        for one in (found[name], found[f"{name}.gzip"]) if f"{name}.gzip" in found else (found[name],):
            assert (one.state, one.title, one.truncated, one.size) == ("C", "size", name != "exact", limit), one
    assert found["noise"].truncated and found["noise"].title == "size"
    assert found["noise"].size is not None and found["noise"].size <= limit
    assert site.asked("/early") == 1 and site.asked("/late") == 1  # late stands whole in "exact" only


def test_many_bombs_at_once_stay_within_memory(tmp_path: Path, site: Site) -> None:
    """Promise 5: eight bombs that unpack at the same time are not all held unpacked."""
    bomb = brotli_bomb()
    paths = [f"/bomb/{number}" for number in range(8)]
    for path in paths:
        site.file(path, bomb, HTML, headers={"Content-Encoding": "br"}, host=HOST)
    lay_out(site, paths)
    options = (*FAST, "--per-host", "16", "--timeout", "60s", "--max-memory", "500M", *at_host(site))
    crawled = crawl(tmp_path, [site.at("/", HOST)], *options)
    assert_healthy(crawled, site)
    found = Counter(
        (crawled.page(site.at(path, HOST)).truncated, crawled.page(site.at(path, HOST)).size) for path in paths
    )
    assert found == {(True, 10_000_000): len(paths)}
    assert crawled.peak_b < 500_000_000
