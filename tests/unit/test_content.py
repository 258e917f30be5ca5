"""Media types, encodings and decoding (issue 3 section 7 and the class "content" of section 10; R8, E22)."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.parse.content import (
    charset_of,
    decode,
    encoding_named,
    field_that_counts,
    is_html,
    media_type,
    sniff_encoding,
)

PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
PDF = b"%PDF-1.7\n%\xe2\xe3\xcf\xd3"
PAGE = b"<!DOCTYPE html><title>x</title>"

ENCODINGS = [
    *("utf-8", "ibm866", "koi8-r", "koi8-u", "macintosh", "windows-874", "x-mac-cyrillic", "gbk", "gb18030", "big5"),
    *("euc-jp", "iso-2022-jp", "shift_jis", "euc-kr", "replacement", "utf-16be", "utf-16le", "x-user-defined"),
    *(f"iso-8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, "8-i", 10, 13, 14, 15, 16)),
    *(f"windows-125{page}" for page in range(9)),
]


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("text/html", PAGE, "text/html"),
        ("Text/HTML; charset=utf-8", PAGE, "text/html"),
        ("text/html;charset=utf-8, text/html", PAGE, "text/html"),
        ("application/xhtml+xml", PAGE, "application/xhtml+xml"),
        ("text/html", b"", "text/html"),
        ("text/html", b"just words", "text/html"),
        ("text/html", b"BM is how this page starts", "text/html"),
        ("text/html", PNG, "image/png"),
        ("text/html", PDF, "application/pdf"),
        ("text/html", b"PK\x03\x04\x14\x00", "application/zip"),
        ("text/html", gzip.compress(PAGE, mtime=0), "application/gzip"),
        ("text/html", b"GIF89a\x01\x00\x01\x00", "image/gif"),
        ("text/html", b"\xff\xd8\xff\xe0\x00\x10JFIF", "image/jpeg"),
        ("text/html", b"RIFF\x24\x00\x00\x00WEBPVP8 ", "image/webp"),
        ("text/html", b"\x00\x00\x00\x20ftypisom\x00\x00\x02\x00", "video/mp4"),
        ("text/html", b'<?xml version="1.0"?>\n<!-- c --><rss version="2.0">', "application/rss+xml"),
        ("text/html", b'<feed xmlns="http://www.w3.org/2005/Atom">', "application/atom+xml"),
        ("text/html", b"<p>How to write &lt;rss></p><rss>", "text/html"),
        ("application/xhtml+xml", PNG, "image/png"),
        ("text/plain", b"plain words", "text/plain"),
        ("text/plain", PAGE, "text/plain"),
        ("text/plain", b"\xff\xfea\x00b\x00", "text/plain"),
        ("text/plain", b"bin\x00\x01\x02ary", "application/octet-stream"),
        ("text/plain", PNG, "image/png"),
        ("image/png", PAGE, "image/png"),
        ("application/pdf", PAGE, "application/pdf"),
        ("application/octet-stream", PAGE, "application/octet-stream"),
        (None, PAGE, "text/html"),
        (None, b"\n\n  <HTML LANG=en>", "text/html"),
        (None, b"\xef\xbb\xbf<!-- page -->", "text/html"),
        (None, b"<html", "text/plain"),
        (None, b"<?xml version='1.0'?><urlset>", "text/xml"),
        (None, b"<?xml version='1.0'?><!DOCTYPE html><html xmlns='x'>", "application/xhtml+xml"),
        (None, b"<?xml version='1.0'?><rss>", "application/rss+xml"),
        (None, PDF, "application/pdf"),
        (None, PNG, "image/png"),
        (None, b"BM\x36\x00\x00\x00", "image/bmp"),
        (None, b"", "text/plain"),
        (None, b"words", "text/plain"),
        (None, b"\x00\x01\x02\x03", "application/octet-stream"),
        ("", PAGE, "text/html"),
        ("*/*", PAGE, "text/html"),
        ("unknown/unknown", PDF, "application/pdf"),
        ("nonsense", PAGE, "text/html"),
        ("text/", PAGE, "text/html"),
        ("text/html" + "x" * 5_000, PAGE, "text/html"),
        ("\r\ntext/css ;x", PAGE, "text/css"),
    ],
)
def test_media_type(header: str | None, body: bytes, expected: str) -> None:
    """R8, E22: header first, told apart from what the bytes prove it is not."""
    assert media_type(header, body) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([], None),
        (["nonsense"], "nonsense"),
        (["text/plain", "text/html; charset=koi8-r"], "text/html; charset=koi8-r"),
        (["text/html", "*/*", "nonsense", ""], "text/html"),
        (["*/*", ""], "*/*"),
    ],
)
def test_of_several_fields_the_last_counts(fields: list[str], expected: str | None) -> None:
    """Fetch, extract a MIME type: the last that names a type."""
    assert field_that_counts(fields) == expected


def test_is_html() -> None:
    assert is_html("text/html") and is_html("application/xhtml+xml")
    assert not is_html("text/plain") and not is_html("application/xml") and not is_html("")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("", None),
        ("text/html", None),
        ("text/html; charset=UTF-8", "utf-8"),
        ("text/html;charset=ISO-8859-1", "windows-1252"),
        ("text/html; Charset='x'", None),
        ('text/html; charset="koi8-r"', "koi8-r"),
        ("text/html; charset= koi8-r ", "koi8-r"),
        ('text/html; charset= "koi8-r"', None),
        ("text/html; charset = koi8-r", None),
        ("text/html; charset=nonsense", None),
        ("text/html; charset=nonsense; charset=gb2312", "gbk"),
        ("text/html; a=b; charset=shift-jis", "shift_jis"),
        ("text/html; charset=utf-7", None),
        ('text/html; charset="koi8\\-r"', "koi8-r"),
        ('text/html; a="\\"; charset=koi8-r"; charset=utf-8', "utf-8"),
        ("text/html; charset=tis-620", "windows-874"),
        ("text/html; charset=" + "x" * 10_000, None),
    ],
)
def test_charset_of(header: str | None, expected: str | None) -> None:
    assert charset_of(header) == expected


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        (b"\xef\xbb\xbf<meta charset=koi8-r>", "windows-1251", "utf-8"),
        (b"\xff\xfe<\x00", None, "utf-16le"),
        (b"\xfe\xff\x00<", "utf-8", "utf-16be"),
        (b"<meta charset=koi8-r>", "windows-1251", "windows-1251"),
        (b"<meta charset=koi8-r>", "utf-7", "koi8-r"),
        (b"<meta charset=koi8-r>", None, "koi8-r"),
        (b"<meta/charset=koi8-r>", None, "koi8-r"),
        (b"<META HTTP-EQUIV=Content-Type CONTENT='text/html; charset=koi8-r'>", None, "koi8-r"),
        (b"<meta content='text/html; charset=\"koi8-r\"' http-equiv=content-type>", None, "koi8-r"),
        (b"<meta content='charset koi8-r; charset=koi8-r' http-equiv=content-type>", None, "koi8-r"),
        (b"<meta charset=nonsense><meta charset=koi8-r>", None, "koi8-r"),
        (b"<meta charset=utf-16be>", None, "utf-8"),
        (b"<meta charset=x-user-defined>", None, "windows-1252"),
        (b"<meta charset=iso-2022-kr>", None, "replacement"),
        (b"<!-- <meta charset=koi8-r> -->x", None, "windows-1252"),
        (b"<!--><meta charset=koi8-r> -->", None, "koi8-r"),
        (b"<meta charset='koi8-r", None, "windows-1252"),
        (b"</meta charset=koi8-r>", None, "windows-1252"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", None, "koi8-r"),
        (b'<?xml version="1.0" encoding = "KOI8-R" ?><meta charset=big5>', None, "big5"),
        (b'<?xml version="1.0" encoding="koi8-r"?>', "windows-1251", "windows-1251"),
        (b'<?xml encoding="utf-16"?>', None, "utf-8"),
        (b'<?xml encoding="nonsense"?>', None, "windows-1252"),
        (b'<?xml encoding="koi8-r', None, "windows-1252"),
        (b' <?xml encoding="koi8-r"?>', None, "windows-1252"),
        (b"<? <meta charset=a> <meta charset=koi8-r>", None, "koi8-r"),
        (b"<p>" + b"x" * 3_000 + b"<meta charset=koi8-r>", None, "koi8-r"),
        (b"<p>" + b"x" * 90_000 + b"<meta charset=koi8-r>", None, "windows-1252"),
        (b"plain", None, "windows-1252"),
        (b"", None, "windows-1252"),
        ("žluťoučký kůň".encode(), None, "utf-8"),
        ("žluťoučký kůň".encode()[:-1], None, "utf-8"),
        ("Съешь ещё этих мягких французских булок".encode("windows-1251"), None, "windows-1251"),
        ("いろはにほへと ちりぬるを わかよたれそ".encode("shift_jis"), None, "shift_jis"),
        ("いろはにほへと ちりぬるを".encode("iso-2022-jp"), None, "iso-2022-jp"),
        ("garçon, déjà vu, où êtes-vous".encode("windows-1252"), None, "windows-1252"),
    ],
)
def test_sniff_encoding(body: bytes, header: str | None, expected: str) -> None:
    """Mark, header, meta, then detection: the order of the standard."""
    assert sniff_encoding(body, header) == expected


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("euc-kr", "아파치 웹서버 문서는 사용자가 읽을 수 있는 형식으로 제공된다. "),
        ("shift_jis", "この文書は最新版の翻訳ではありません。変更された内容を確認してください。 "),
        ("euc-jp", "この文書は最新版の翻訳ではありません。変更された内容を確認してください。 "),
        ("gbk", "本文档介绍了如何安装和配置服务器以及常见的问题。 "),
        ("big5", "本文件說明如何安裝及設定伺服器以及常見的問題。 "),
    ],
)
def test_detection_is_not_misled_by_the_end_of_what_it_reads(encoding: str, text: str) -> None:
    """A long page is known by a part of it, wherever that ends: within a character, too."""
    words = (text * 1_000).encode(encoding)
    found = {sniff_encoding(b"<title>x</title><p>" + b"x" * shift + words, None) for shift in range(8)}
    assert found == {encoding}


@pytest.mark.parametrize(
    ("body", "header", "expected"),
    [
        (b"<html/>", None, "utf-8"),
        (b"<html/>", "koi8-r", "koi8-r"),
        (b"<?xml version='1.0' encoding='iso-8859-2'?><html/>", None, "iso-8859-2"),
        ("<html>\u017e</html>".encode(), None, "utf-8"),
        ("<html><p>x</p></html>".encode("utf-16-be"), None, "utf-16be"),
    ],
)
def test_xml_that_names_no_encoding_is_utf_8(body: bytes, header: str | None, expected: str) -> None:
    assert sniff_encoding(body, header, "application/xhtml+xml") == expected


@pytest.mark.parametrize(
    ("body", "encoding", "expected"),
    [
        (b"\xef\xbb\xbfa\xffb", "utf-8", "a\ufffdb"),
        (b"\xff\xfea\x00", "utf-16le", "a"),
        (b"\x00\xd8", "utf-16le", "\ufffd"),
        (b"\x80\x81\xe9", "windows-1252", "€\x81é"),
        (b"anything", "replacement", "\ufffd"),
        (b"a\x80\xff", "x-user-defined", "a\uf780\uf7ff"),
        ("𠀀".encode("gb18030"), "gb18030", "𠀀"),
        (b"\x87\x40", "big5", "\u43f0"),
        (b"\xa4", "koi8-u", "є"),
        (b"caf\xc3\xa9", "nonsense", "café"),
    ],
)
def test_decode(body: bytes, encoding: str, expected: str) -> None:
    assert decode(body, encoding) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_encoding_of_the_standard(encoding: str) -> None:
    assert encoding_named(encoding) == encoding
    text = decode(bytes(range(256)) * 3, encoding)
    text.encode("utf-8")
    if encoding not in ("utf-16be", "utf-16le", "replacement"):
        assert "<a href=" in decode(b"<a href=", encoding)


@given(st.binary(max_size=400), st.text(max_size=60) | st.none(), st.sampled_from(ENCODINGS) | st.text(max_size=20))
@settings(max_examples=150)
def test_nothing_raises(body: bytes, header: str | None, encoding: str) -> None:
    """Hostile bytes and headers have a type, an encoding and a text."""
    media = media_type(header, body)
    assert media == media.lower() and "/" in media and ";" not in media
    charset_of(header)
    assert encoding_named(sniff_encoding(body, encoding)) == sniff_encoding(body, encoding)
    decode(body, encoding).encode("utf-8")


def test_a_bomb_before_the_meta() -> None:
    """The search for a late meta is bounded like all parsing."""
    bomb = b"<p>" + b"".join(b"<font a b c d e f g h z=%d>" % i for i in range(512)) + b"<p>x" * 9_000
    assert sniff_encoding(bomb + b"<meta charset=koi8-r>", None) in ("koi8-r", "windows-1252")
    assert sniff_encoding(zlib.compress(bomb), None)
