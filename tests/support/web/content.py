"""Misbehaviour in content: bombs, wrong encodings, types and charsets, hostile markup."""

from __future__ import annotations

import functools
import gzip
import random
import zlib
from collections.abc import Callable

from web.kinds import ANSWER, add_kind, at_path, head_of, own_page, raw_kind, sized, wire_kind
from web.server import HTML, Line, Request, Site, html_page

# --- content: compression

MIB = 1 << 20


def _gzip_head() -> bytes:
    return b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"


@functools.cache
def mebibyte_of(letter: bytes) -> bytes:
    """Deflate of a megabyte of one byte that may be repeated inside one stream: about a kilobyte."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    deflate.compress(b"x")
    deflate.flush(zlib.Z_FULL_FLUSH)
    return deflate.compress(letter * MIB) + deflate.flush(zlib.Z_FULL_FLUSH)


def bomb_head(content: bytes) -> bytes:
    """The beginning of a gzip member that blocks may follow."""
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return _gzip_head() + deflate.compress(content) + deflate.flush(zlib.Z_FULL_FLUSH)


@functools.cache
def gzip_bomb_pieces(mebibytes: int = 10_240) -> tuple[bytes, bytes, int]:
    """The head, the piece and how often it is sent: ten megabytes that become ten gigabytes in one gzip member."""
    return bomb_head(html_page("bomb")), mebibyte_of(b"\0"), mebibytes


@functools.cache
def _nested_gzip_bomb() -> bytes:
    head, piece, times = gzip_bomb_pieces(2_048)
    return gzip.compress(head + piece * times, 9, mtime=0)


@functools.cache
def brotli_bomb() -> bytes:
    import brotli  # type: ignore[import-untyped]

    squeeze = brotli.Compressor(quality=1)
    pieces = [squeeze.process(html_page("bomb"))] + [squeeze.process(bytes(MIB)) for _ in range(512)]
    return b"".join([*pieces, squeeze.finish()])


@functools.cache
def _zstd_bomb() -> bytes:
    import zstandard

    squeeze = zstandard.ZstdCompressor(level=1).compressobj()
    pieces = [squeeze.compress(html_page("bomb"))] + [squeeze.compress(bytes(MIB)) for _ in range(512)]
    return b"".join([*pieces, squeeze.flush()])


def _bomb(kind: str, encoding: str, make: Callable[[], bytes], why: str) -> None:
    async def behave(line: Line, request: Request) -> bool:
        await line.send(sized(make(), f"Content-Encoding: {encoding}"))
        return True

    add_kind(kind, at_path(behave), "content", (ANSWER,), why, status=200, truncated=True, title="bomb")


@wire_kind("gzip_bomb", (ANSWER,), "10 MB on the wire, 10 GB unpacked", group="content", status=200, truncated=True)
async def _gzip_bomb(line: Line, request: Request) -> bool:
    head, piece, times = gzip_bomb_pieces()
    await line.send(head_of("Content-Encoding: gzip", f"Content-Length: {len(head) + len(piece) * times}") + head)
    for _ in range(times // 64):
        await line.send(piece * 64)
    return True


_bomb("gzip_bomb_nested", "gzip, gzip", _nested_gzip_bomb, "a bomb in a bomb: 20 KB on the wire, 2 GB unpacked")
_bomb("deflate_bomb", "deflate", lambda: bomb_head(html_page("bomb"))[10:] + mebibyte_of(b"\0") * 64, "64 MB, raw")
_bomb("brotli_bomb", "br", brotli_bomb, "512 MB in brotli")
_bomb("zstd_bomb", "zstd", _zstd_bomb, "512 MB in zstd")


def squash(body: bytes) -> bytes:
    return gzip.compress(body, mtime=0)


def raw_deflate(body: bytes) -> bytes:
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    return deflate.compress(body) + deflate.flush()


def _encoded(kind: str, encoding: str, pack: Callable[[bytes], bytes], why: str, *, judged: bool = True) -> None:
    raw_kind(
        kind,
        (ANSWER,),
        lambda body: sized(pack(body), f"Content-Encoding: {encoding}"),
        why,
        group="content",
        end="keep",
        status=200,
        judged=judged,
    )


def _times(pack: Callable[[bytes], bytes], count: int) -> Callable[[bytes], bytes]:
    return lambda body: functools.reduce(lambda inner, _: pack(inner), range(count), body)


_encoded("gzip_says_plain", "gzip", lambda body: body, "says gzip, is plain")
_encoded(
    "gzip_truncated",
    "gzip",
    lambda body: squash(body + random.Random(1).randbytes(9_000).hex().encode())[:-600],
    "gzip without its end: the part that is there is used",
)
_encoded("gzip_bad_crc", "gzip", lambda body: squash(body)[:-8] + b"\0" * 8, "gzip with a wrong checksum")
_encoded("gzip_garbage_after", "gzip", lambda body: squash(body) + b"garbage after the end", "bytes after the gzip")
_encoded("gzip_two_members", "gzip", lambda body: squash(body[:100]) + squash(body[100:]), "two gzip members are one")
_encoded(
    "gzip_corrupt",
    "gzip",
    lambda body: squash(body)[:40] + b"\xff" * 200,
    "gzip that breaks in the middle",
    judged=False,
)
_encoded("gzip_empty", "gzip", lambda body: b"", "says gzip, is empty", judged=False)
_encoded("x_gzip", "x-gzip", squash, "the old name")
_encoded("gzip_upper_case", "GZIP", squash, "upper case")
_encoded("encoding_none", "none", lambda body: body, "an encoding called none")
_encoded("encoding_identity", "identity", lambda body: body, "an encoding that is none")
_encoded("encoding_unknown", "x-martian", lambda body: body, "an encoding nobody knows")
_encoded("encoding_empty", "", lambda body: body, "an empty encoding")
_encoded("deflate_zlib", "deflate", zlib.compress, "deflate as the RFC has it")
_encoded("deflate_raw", "deflate", raw_deflate, "deflate as Microsoft had it")
_encoded("brotli_is_gzip", "br", squash, "says br, is gzip", judged=False)
_encoded("gzip_stacked", "gzip, gzip, gzip", _times(squash, 3), "packed three times")
_encoded("gzip_stacked_deep", ", ".join(["gzip"] * 40), _times(squash, 40), "packed forty times", judged=False)
raw_kind(
    "gzip_said_twice",
    (ANSWER,),
    lambda body: sized(squash(body), "Content-Encoding: gzip", "Content-Encoding: gzip"),
    "packed once, said twice",
    group="content",
    end="keep",
    status=200,
    judged=False,
)

# --- content: types, charsets, markup

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c6360f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


def _content(
    kind: str,
    content: Callable[[str], bytes] | bytes,
    why: str,
    content_type: str | None = HTML,
    title: str | None = None,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
) -> None:
    """A kind that is well-formed HTTP around a bad body."""

    def install(site: Site, path: str, host: str | None, target: str) -> None:
        body = content if isinstance(content, bytes) else content(path)
        site.file(path, body, content_type, host=host)
        for suffix in asks:
            site.page(path + suffix, host=host)

    add_kind(kind, install, "content", (ANSWER,), why, status=200, title=title, asks=asks, never=never)


def _wrap(inside: str | bytes, title: str = "monster") -> bytes:
    inner = inside.encode() if isinstance(inside, str) else inside
    return f"<!doctype html><html><head><title>{title}</title></head><body>".encode() + inner + b"</body></html>"


def _monster(
    kind: str,
    inside: Callable[[str], str] | str | bytes,
    why: str,
    asks: tuple[str, ...] = (),
    never: tuple[str, ...] = (),
) -> None:
    """A kind whose page has a good head, with ``monster`` as title, around something bad."""

    def page(path: str) -> bytes:
        return _wrap(inside(path) if callable(inside) else inside)

    _content(kind, page, why, title="monster", asks=asks, never=never)


_content("png_as_html", PNG, "says html, is a picture", title="")
_content("html_as_png", own_page, "says picture, is html", "image/png", title="")
_content("html_as_text", own_page, "says text, is html", "text/plain", title="")
_content("html_as_octets", own_page, "says bytes, is html", "application/octet-stream")
_content("html_as_json", b'{"a": "<a href=/never>x</a>"}', "JSON with markup inside", "application/json", title="")
_content("no_type", own_page, "no content type at all", None, title="{path}")
_content("nonsense_type", own_page, "a content type that is none", "a/b/c;;; charset")
_content("pdf_as_html", b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n1 0 obj<<>>endobj\n%%EOF", "says html, is a PDF", title="")
_content("empty_body", b"", "nothing", title="")
_content("blank_body", b" \n\t " * 1_000, "only white space", title="")
_content("charset_wrong", "<title>caf\xe9</title><p>\xe9t\xe9".encode("latin-1"), "says utf-8, is latin-1")
_content("charset_unknown", own_page, "a charset nobody knows", "text/html; charset=klingon-8", title="{path}")
_content("charset_empty", own_page, "an empty charset", "text/html; charset=", title="{path}")
_content("charset_quoted", own_page, "a charset in quotes and blanks", 'text/html; Charset=" UTF-8 "', title="{path}")
_content(
    "charset_utf7",
    b"<title>u7</title>+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "UTF-7 is never believed",
    "text/html; charset=utf-7",
    title="u7",
)
_content(
    "charset_meta_conflict", html_page("conflict", charset="iso-8859-1"), "header and meta disagree", title="conflict"
)
_content("utf16_bom", "\ufeff<title>sixteen</title>".encode("utf-16-le"), "UTF-16, header says UTF-8", title="sixteen")
_content(
    "utf16_no_bom",
    "<!doctype html><title>sixteen</title>".encode("utf-16-le"),
    "UTF-16 in the header only",
    "text/html; charset=utf-16le",
    title="sixteen",
)
_content("double_bom", b"\xef\xbb\xbf\xef\xbb\xbf<title>bom</title>", "two byte order marks", title="bom")
_content(
    "invalid_utf8", b"<title>ok</title><p>\xff\xfe\xc0\xaf\xed\xa0\x80\xf5\x80", "bytes that are no UTF-8", title="ok"
)
_content("nul_bytes", b"<tit\0le>x</title>\0\0<title>nul</title>" + b"\0" * 5_000, "NULs in the markup")
_monster("deep_nesting", "<div>" * 200_000, "200,000 nested elements")
_monster("deep_inline", "<b><i><a>" * 20_000 + "</p>" * 20_000, "formatting elements to rebuild")
_monster("nested_tables", "<table><tr><td>" * 20_000, "20,000 nested tables")
_monster("many_attributes", "<p " + " ".join(f"a{n}=1" for n in range(100_000)) + ">", "100,000 attributes")
_monster("huge_attribute", '<a title="' + "x" * 3_000_000 + '" href="-leaf">leaf</a>', "3 MB of attribute")
_content("huge_title", _wrap("", "t" * 1_000_000), "a title of a megabyte")
_monster("huge_text", "word " * 400_000, "2 MB of one line")
_monster(
    "many_links", lambda path: "".join(f'<a href="{path}?n={n}#f">{n}</a>' for n in range(100_000)), "100,000 links"
)
_monster("entity_flood", "&amp;&#x41;&notanentity;&" * 100_000, "400,000 entities")
_content(
    "xml_entities",
    b'<?xml version="1.0"?><!DOCTYPE html [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">'
    b'<!ENTITY c SYSTEM "file:///etc/passwd">]><html xmlns="http://www.w3.org/1999/xhtml"><head><title>xml</title>'
    b"</head><body>&b;&c;</body></html>",
    "entities in XHTML are not resolved",
    "application/xhtml+xml",
    title="xml",
)
_content("unclosed_comment", b"<title>open</title><!-- " + b"-" * 1_000_000, "a comment without end", title="open")
_content(
    "unclosed_script", b"<title>open</title><script>" + b"<!--<script>" * 100_000, "a script without end", title="open"
)
_content("unclosed_tag", b"<title>open</title><a href='" + b"x" * 500_000, "a tag without end", title="open")
_content("unclosed_title", b"<title>" + b"x" * 500_000, "a title without end")
_monster(
    "many_bases",
    lambda path: f"<base href='{path}-b/'>" + "<base href='http://never.test/'>" * 50 + "<a href='leaf'>leaf</a>",
    "the first base counts",
    asks=("-b/leaf",),
)
_monster(
    "base_javascript",
    lambda path: f"<base href='javascript:1'><a href='{path}-leaf'>leaf</a>",
    "a base that is no address",
    asks=("-leaf",),
)
_monster(
    "base_data",
    lambda path: f"<base href='data:text/html,x'><a href='{path}-leaf'>leaf</a>",
    "a base of another scheme",
    asks=("-leaf",),
)
_content(
    "terminal_title",
    b"<title>\x1b]0;owned\x07\x1b[31mred\x1b[2J\r\nsecond\xe2\x80\xaeline</title>",
    "terminal escapes in the title",
)
_content(
    "csv_title",
    b"<title>=cmd|' /C calc'!A0,\"x\"</title><p>@SUM(1)",
    "a formula as title",
    title="=cmd|' /C calc'!A0,\"x\"",
)
_content(
    "markup_title",
    b"<title>&lt;script&gt;alert(1)&lt;/script&gt;</title>",
    "markup as title",
    title="<script>alert(1)</script>",
)
_monster("iframe_self", lambda path: f"<iframe src='{path}'></iframe><frame src='{path}?'>", "frames of itself")
_monster("refresh_self", lambda path: f"<meta http-equiv=refresh content='0;url={path}'>", "refreshes to itself")
_monster(
    "links_in_comments",
    lambda path: (
        f"<!-- <a href='{path}-no'>x</a> --><script>'<a href={path}-no>'</script>"
        f"<template><a href='{path}-no'>t</a></template><textarea><a href='{path}-no'></textarea>"
        f"<a href='{path}-leaf'>leaf</a>"
    ),
    "links where no links are",
    asks=("-leaf",),
    never=("-no",),
)
