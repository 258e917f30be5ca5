"""Links, facts and directives of pages (G2, E17, E21, E22, R9; issue 3 section 7, classes "content" and "urls")."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from time import process_time

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_html import OPS

from weft import native
from weft.native import pure
from weft.parse.attributes import srcset_urls
from weft.parse.bounds import memory_bound, tree_of
from weft.parse.directives import header_links, language_of, parse_refresh, robots_directives, x_robots_directives
from weft.parse.html import Headers, Reading, parse_page
from weft.parse.text import visible_text
from weft.parse.xhtml import as_html
from weft.records import Link, LinkKind, Parsed

VECTORS = Path(__file__).parents[3] / "shared" / "vectors"
FILES = ("html_encoding.jsonl", "html_links.jsonl", "html_misc.jsonl")
DIFFERENT = {
    "html/misc/00111": "one tag with 50,000 attributes, its first http-equiv empty: for a browser no refresh",
}
URL = "http://h.test/dir/page?q"


@pytest.fixture(autouse=True, params=["compiled", "tree"])
def way(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every page is read both ways: by the compiled reader, where there is one, and by its tree alone."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "tree":
            patch.setattr(native, "read", pure.read)
        yield


@cache
def vectors(name: str) -> list[dict[str, object]]:
    with (VECTORS / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the test vectors are not at ../shared/vectors")
@pytest.mark.parametrize("name", FILES)
def test_vectors(name: str) -> None:
    """At least 98 of 100 agree, and every one that does not is known."""
    wrong = []
    for case in vectors(name):
        given_ = case["input"]
        assert isinstance(given_, dict)
        decoded = {key[:-4]: b64decode(value) for key, value in given_.items() if key.endswith("_b64")}
        if OPS[str(case["op"])]({**given_, **decoded}) != case["expected"]:
            wrong.append(str(case["id"]))
    assert set(wrong) == {case["id"] for case in vectors(name)} & set(DIFFERENT)
    assert len(wrong) <= 0.02 * len(vectors(name))


def page(markup: str | bytes, url: str = URL, content_type: str = "text/html; charset=utf-8") -> Parsed:
    return parse_page(markup.encode() if isinstance(markup, str) else markup, url, content_type)


def links(markup: str | bytes, url: str = URL) -> list[tuple[str, str]]:
    return [(LinkKind(link.kind).label, link.target) for link in page(markup, url).links]


@pytest.mark.parametrize(
    ("markup", "expected"),
    [
        ("<a href=x>y</a>", [("a", "http://h.test/dir/x")]),
        ("<a name=x>y</a><a>z</a>", []),
        ("<a href=''>y</a>", [("a", URL)]),
        ("<a href>y</a>", [("a", URL)]),
        ("<a href='#top'>y</a>", [("a", URL)]),
        ("<a href='?r'>y</a>", [("a", "http://h.test/dir/page?r")]),
        ("<a href=' /a\tb\nc\r '>y</a>", [("a", "http://h.test/abc")]),
        ("<a href='//other.test:80/../x'>y</a>", [("a", "http://other.test/x")]),
        ("<a href='\\\\other.test\\x'>y</a>", [("a", "http://other.test/x")]),
        ("<A HREF=x HREF=y>y</A>", [("a", "http://h.test/dir/x")]),
        ("<a href='x&amp;y&copy=1'>y</a>", [("a", "http://h.test/dir/x&y&copy=1")]),
        ("<a href='a\0b'>y</a>", [("a", "http://h.test/dir/a%EF%BF%BDb")]),
        ("<a href='http://h.test/\r\nX: y'>y</a>", [("a", "http://h.test/X:%20y")]),
        ("<a href='mailto:a@b.c'>y</a>", [("a", "mailto:a@b.c")]),
        ("<a href='tel:+1'>y</a><a href='JavaScript:f()'>y</a>", [("a", "tel:+1"), ("a", "javascript:f()")]),
        ("<a href='Data:text/html,x'>y</a><a href='blob:x'>y</a>", [("a", "data:text/html,x"), ("a", "blob:x")]),
        ("<a href='about:blank'>y</a><script src='blob:x'></script><embed src='data:,x'>", []),
        ("<a href='ftp://f.test/x'>y</a>", [("a", "ftp://f.test/x")]),
        ("<map><area href=x alt=y><area alt=z></map>", [("area", "http://h.test/dir/x")]),
        ("<link rel=stylesheet href=s.css>", [("style", "http://h.test/dir/s.css")]),
        ("<link rel='Alternate StyleSheet' href=s.css>", [("style", "http://h.test/dir/s.css")]),
        (
            "<link rel=next href=2><link rel=icon href=i>",
            [("link", "http://h.test/dir/2"), ("link", "http://h.test/dir/i")],
        ),
        ("<link rel=sitemap href=/s.xml>", [("link", "http://h.test/s.xml")]),
        ("<link rel=canonical href=/c>", [("canonical", "http://h.test/c")]),
        ("<link rel=next href=''>", []),
        ("<frameset><frame src=f></frameset>", [("frame", "http://h.test/dir/f")]),
        ("<iframe src=f></iframe><iframe></iframe>", [("iframe", "http://h.test/dir/f")]),
        ("<iframe src='about:blank'></iframe>", []),
        (
            "<base href=/b/><a href=1>y</a>"
            "<iframe srcdoc='&lt;a href=2&gt;&lt;p onclick=&quot;location=&#39;3&#39;&quot;&gt;' src=4></iframe>"
            "<a href=5>y</a>",
            [
                ("a", "http://h.test/b/1"),
                ("a", "http://h.test/b/2"),
                ("onclick", "http://h.test/b/3"),
                ("iframe", "http://h.test/b/4"),
                ("a", "http://h.test/b/5"),
            ],
        ),
        (
            "<iframe srcdoc='&lt;base href=/in/&gt;&lt;a href=1&gt;'></iframe><frame srcdoc='&lt;a href=x&gt;'>"
            "<a href=2>y</a>",
            [("a", "http://h.test/in/1"), ("a", "http://h.test/dir/2")],
        ),
        (
            "<iframe srcdoc='&lt;iframe srcdoc=&quot;&amp;lt;a href=x>&quot; src=y>'>",
            [("iframe", "http://h.test/dir/y")],
        ),
        ("<form action=f><input></form><form></form>", [("form", "http://h.test/dir/f")]),
        ("<meta http-equiv=refresh content='0; url=r'>", [("refresh", "http://h.test/dir/r")]),
        ("<meta http-equiv=refresh content='5'>", []),
        ("<noscript><meta http-equiv=refresh content='0; url=r'></noscript>", [("refresh", "http://h.test/dir/r")]),
        ("<img src=i alt=z>", [("image", "http://h.test/dir/i")]),
        ("<img src='data:image/png;base64,AA'><img src=''>", []),
        ("<image src=i>", [("image", "http://h.test/dir/i")]),
        ("<img srcset='a 1x, b 2x'>", [("image", "http://h.test/dir/a"), ("image", "http://h.test/dir/b")]),
        ("<picture><source srcset=a><img></picture>", [("image", "http://h.test/dir/a")]),
        ("<input type=IMAGE src=i><input src=j>", [("image", "http://h.test/dir/i")]),
        ("<script src=s.js></script><script>1</script>", [("script", "http://h.test/dir/s.js")]),
        ("<video src=v poster=p></video>", [("media", "http://h.test/dir/v"), ("image", "http://h.test/dir/p")]),
        (
            "<audio><source src=v><track src=t></audio>",
            [("media", "http://h.test/dir/v"), ("media", "http://h.test/dir/t")],
        ),
        ("<embed src=e><object data=o></object>", [("embed", "http://h.test/dir/e"), ("embed", "http://h.test/dir/o")]),
        ("<applet code=a.class></applet>", [("embed", "http://h.test/dir/a.class")]),
        ("<blockquote cite=x>q</blockquote><body background=b>", []),
        (
            "<svg><a href=x>y</a><a xlink:href=z>y</a></svg>",
            [("a", "http://h.test/dir/x"), ("a", "http://h.test/dir/z")],
        ),
        (
            "<svg><image xlink:href=i /><script href=s /></svg>",
            [("image", "http://h.test/dir/i"), ("script", "http://h.test/dir/s")],
        ),
        ("<a xlink:href=x>y</a>", []),
        ("<template><a href=x>y</a><base href=/b/></template><a href=z>y</a>", [("a", "http://h.test/dir/z")]),
        ("<template><template><a href=x></a></template></template><a href=z>y</a>", [("a", "http://h.test/dir/z")]),
        ("<div><template shadowrootmode=open><a href=x>y</a></template></div>", [("a", "http://h.test/dir/x")]),
        ("<noscript><a href=x>y</a></noscript>", [("a", "http://h.test/dir/x")]),
        ("<!-- <a href=x>y</a> --><script>'<a href=x>'</script><textarea><a href=x></textarea>", []),
        ("<title><a href=x></title><style><a href=x></style><a href=z>y</a>", [("a", "http://h.test/dir/z")]),
        (
            "<table><a href=x>y</a><tr><td><a href=z>y</a></table>",
            [("a", "http://h.test/dir/x"), ("a", "http://h.test/dir/z")],
        ),
        ("<a href=x>y<a href=z>y", [("a", "http://h.test/dir/x"), ("a", "http://h.test/dir/z")]),
        ("<p onclick=\"location.href='x'\">y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p ONCLICK='document.location = \"x\";'>y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p onclick=\"window.location='x'; return false\">y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p onclick=\"window.location.assign( 'x' )\">y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p onclick=\"location.replace('x')\">y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p onclick=\"window.open('x','w')\">y</p>", [("onclick", "http://h.test/dir/x")]),
        ("<p onclick=\"self.document.location.href='a\\/b\\u0041'\">y</p>", [("onclick", "http://h.test/dir/a/bA")]),
        ("<p onclick=\"location.href='x?id=' + id\">y</p>", []),
        ("<p onclick=\"if (location.href == 'x') f()\">y</p>", []),
        ("<p onclick=\"mylocation='x'; my.location='x'; xhr.open('GET')\">y</p>", []),
        (
            "<a href=a onclick=\"location='b'\">y</a><a href=c>y</a>",
            [("a", "http://h.test/dir/a"), ("onclick", "http://h.test/dir/b"), ("a", "http://h.test/dir/c")],
        ),
        (
            "<template><p onclick=\"location='x'\"><a href=y></a></template><a href=z>y</a>",
            [("a", "http://h.test/dir/z")],
        ),
    ],
)
def test_links(markup: str, expected: list[tuple[str, str]]) -> None:
    """G2, E21: links of every kind, in document order, as a browser without scripts has them."""
    assert links(markup) == expected


def test_link_fields() -> None:
    markup = """<a href="x#frag" rel="NoFollow  ugc">  one
        <b>two</b>\xa0three </a><a href=i><img alt=" pic " src=p></a><a href=e></a>
        <a href=s>seen<script>unseen</script><style>unseen</style></a><area href=m alt=map>
        <link rel=Next title=T href=n><a href=k rel="External,NoFollow">"""
    found = {link.target.rpartition("/")[2]: link for link in page(markup).links}
    assert found["x"] == Link("http://h.test/dir/x", LinkKind.A, "one two three", "nofollow ugc", "frag")
    assert [found[name].anchor for name in ("i", "p", "e", "s", "m", "n")] == ["pic", "pic", "", "seen", "map", "T"]
    assert found["n"].rel == "next" and found["k"].rel == "external nofollow"
    assert all(type(link.kind) is int for link in found.values())


def test_bounded_texts() -> None:
    long = page(
        f"<title>{'t ' * 9_000}</title><meta name=description content='{'d' * 9_000}'><a href=x>{'ab ' * 900}</a>"
    )
    assert (len(long.title or ""), len(long.description or ""), len(long.links[0].anchor)) == (2_000, 2_000, 500)
    assert len(page(f"<a href='javascript:{'x' * 9_000}'>y</a>").links[0].target) == 2_000


@pytest.mark.parametrize(
    ("markup", "base", "target"),
    [
        ("<base href=/b/><a href=x>y</a>", "http://h.test/b/", "http://h.test/b/x"),
        ("<base href='https://o.test'><a href=x>y</a>", "https://o.test/", "https://o.test/x"),
        ("<base target=t><base href=/b/><base href=/c/><a href=x>y</a>", "http://h.test/b/", "http://h.test/b/x"),
        ("<a href=x>y</a><body><p><base href=/b/>", "http://h.test/b/", "http://h.test/b/x"),
        ("<a href='http://['>y</a><a href=x>y</a><base href=/b/>", "http://h.test/b/", "http://h.test/b/x"),
        ("<link rel=canonical href=x><base href=/b/>", "http://h.test/b/", "http://h.test/b/x"),
        ("<base href='javascript:1'><a href=x>y</a>", None, "http://h.test/dir/x"),
        ("<base href='data:,x'><base href=/b/><a href=x>y</a>", None, "http://h.test/dir/x"),
        ("<base href='ftp://f.test/b/'><a href=x>y</a>", "ftp://f.test/b/", "ftp://f.test/b/x"),
        ("<base href='file:///C:/b/'><base href=/b/><a href=x>y</a>", "file:///C:/b/", "file:///C:/b/x"),
        ("<base href='mailto:x'><a href=x>y</a><a href='#f'>y</a>", "mailto:x", "mailto:x"),
        ("<base href='http://['><a href=x>y</a>", None, "http://h.test/dir/x"),
        ("<!-- <base href=/b/> --><a href=x>y</a>", None, "http://h.test/dir/x"),
        ("<svg><base href=/b/></svg><a href=x>y</a>", None, "http://h.test/dir/x"),
        (f"<base href='/{'b' * 100_000}/'><a href=x>y</a>", None, "http://h.test/dir/x"),
    ],
)
def test_base(markup: str, base: str | None, target: str) -> None:
    """G2: resolved by the first base with an href, wherever it stands."""
    found = page(markup)
    assert (found.base, [link.target for link in found.links]) == (base, [target])
    assert found.canonical == (target if "canonical" in markup else None)


def test_fragments_are_written_as_in_urls() -> None:
    """Those that a browser would encode, of whatever reference, beside plain ones."""
    markup = (
        b'<a href="#a b">1</a><a href="x#&quot;y&quot; ">2</a><a href="x#plain">3</a><img src="i#c d"><a href="#">4</a>'
    )
    assert [(link.target, link.fragment) for link in parse_page(markup, URL, "text/html").links] == [
        (URL, "a%20b"),
        ("http://h.test/dir/x", "%22y%22"),
        ("http://h.test/dir/x", "plain"),
        ("http://h.test/dir/i", "c%20d"),
        (URL, ""),
    ]


def test_a_fragment_with_a_base_belongs_to_the_base() -> None:
    assert page("<base href=/b/><a href='#f'>y</a>").links[0][::4] == ("http://h.test/b/", "f")


def test_queries_are_in_the_encoding_of_the_page() -> None:
    markup = "<a href='/é?é=&euro;'>y</a>".encode("latin-1")
    assert page(markup, content_type="text/html; charset=iso-8859-1").links[0].target == "http://h.test/%C3%A9?%E9=%80"
    assert page("<a href='?é'>é</a>".encode("utf-16"), content_type="text/html").links[0][:3:2] == (
        "http://h.test/dir/page?%C3%A9",
        "é",
    )


def test_unresolvable_links_are_counted() -> None:
    found = page("<a href='http://['>y</a><img src='http://a b/'><a href=x>y</a>")
    assert len(found.links) == 1
    assert found.problem == "links that cannot be resolved: 2"


def test_too_many_links_are_cut() -> None:
    links = [b"<a href=%d>y</a>" % n for n in range(50)]
    found = parse_page(
        b"".join(links) + b"<meta name=robots content=nofollow>", URL, "text/html", reading=Reading(max_links=20)
    )
    assert (len(found.links), found.links_cut, found.nofollow) == (20, True, True)
    assert not parse_page(b"".join(links[:20]), URL, "text/html", reading=Reading(max_links=20)).links_cut


@pytest.mark.parametrize(
    ("pages", "links", "kept"),
    [
        (10, 150, 150),  # the index of a manual: many links, few pages
        (10, 500, 200),
        (11, 150, 20),
        (40, 150, 20),
    ],
)
def test_links_to_the_same_pages_are_kept_up_to_ten_times_as_many(pages: int, links: int, kept: int) -> None:
    index = b"".join(b"<a href=/%d#%d>%d</a>" % (n % pages, n, n) for n in range(links))
    last = b"<a href=/last>last</a><area href=/area><svg><a xlink:href=/drawn>d</a></svg>"
    found = parse_page(index + last, URL, "text/html", reading=Reading(max_links=20))
    assert (len(found.links), found.links_cut) == (kept + 3 if kept == links else kept, kept != links)
    assert [link.fragment for link in found.links][:kept] == [str(n) for n in range(kept)]
    if kept == links:
        assert [link.target for link in found.links][kept:] == [f"http://h.test/{n}" for n in ("last", "area", "drawn")]


def test_a_late_base_leaves_the_room_for_links_to_the_same_pages() -> None:
    index = b"".join(b"<a href=%d#%d>%d</a>" % (n % 10, n, n) for n in range(150))
    found = parse_page(index + b"<base href=/b/>", URL, "text/html", reading=Reading(max_links=20))
    assert (len(found.links), found.links_cut) == (150, False)
    assert {link.target for link in found.links} == {f"http://h.test/b/{n}" for n in range(10)}


@pytest.mark.parametrize(
    "crowd",
    [
        b"<img srcset='" + b", ".join(b"/i%d.png 2x" % n for n in range(90)) + b"'>",
        b"".join(b"<img src=/i%d.png>" % n for n in range(90)),
        b"".join(b"<link rel=preload href=/p%d.js><script src=/s%d.js></script>" % (n, n) for n in range(45)),
        b"".join(b"<form action=/f%d></form><object data=/o%d></object>" % (n, n) for n in range(45)),
    ],
)
def test_links_to_pages_come_before_images(crowd: bytes) -> None:
    """What crowds a page cannot hide its links: those to pages stay, in order, and the first of the others."""
    pages = b"".join(b"<a href=/%d><img src=/own.png alt=%d></a>" % (n, n) for n in range(15))
    more = b"<iframe src=/frame></iframe><map><area href=/area></map><b onclick=\"location='/code'\">x</b>"
    found = parse_page(b"<a href=/first>f</a>" + crowd + pages + more, URL, "text/html", reading=Reading(max_links=30))
    assert (len(found.links), found.links_cut) == (30, True)
    wanted = ["/first", *(f"/{n}" for n in range(15)), "/frame", "/area", "/code"]
    led = [link for link in found.links if link.kind in (1, 2, 4, 5, 6, 7)]
    assert [link.target.removeprefix("http://h.test") for link in led] == wanted
    assert [link.anchor for link in led[1:16]] == [str(n) for n in range(15)]
    only = parse_page(
        b"<a href=/first>f</a>" + crowd + b"<a href=x>y</a>" * 50, URL, "text/html", reading=Reading(max_links=30)
    )
    assert [link.kind for link in only.links] == [1] * 30


def test_facts() -> None:
    found = page(
        """<html lang=en-GB><title> A
        &amp; B </title><title>C</title><svg><title>D</title></svg><meta name=Description content=" what  it is ">
        <meta name=description content=other><link rel=canonical href=/c#f><link rel=canonical href=/d>"""
    )
    assert (found.type, found.encoding, found.language, found.title) == ("text/html", "utf-8", "en-GB", "A & B")
    assert (found.description, found.canonical, found.base) == ("what it is", "http://h.test/c", None)
    assert not found.noindex and not found.nofollow and not found.problem
    assert page("<svg><title>D</title></svg>").title is None
    assert page("<meta http-equiv=content-language content='de, en'>").language == "de"
    assert [
        parse_page(start, URL, headers=Headers(content_language="fr, en")).language
        for start in (b"<p>", b"<html lang=sl>")
    ] == [
        "fr",
        "sl",
    ]


@pytest.mark.parametrize(
    ("markup", "noindex", "nofollow"),
    [
        ("<meta name=robots content=noindex>", True, False),
        ("<META NAME=ROBOTS CONTENT='NoIndex, NOFOLLOW'>", True, True),
        ("<meta name=robots content=none>", True, True),
        ("<meta name=robots content='noindex nofollow'>", True, True),
        ("<meta name=robots content='noarchive, noindex nofollow'>", True, True),
        ("<meta name=robots content='max-image-preview: none'>", False, False),
        ("<meta name=robots content='max-image-preview : none; nofollow'>", False, True),
        ("<meta name=robots content='all, index, follow'>", False, False),
        ("<meta name=robots content=follow><meta name=robots content=nofollow>", False, True),
        ("<meta name=WEFT content=nofollow>", False, True),
        ("<meta name=otherbot content=none>", False, False),
        ("<meta name=robots content='unavailable_after: 25 Jun 2010 15:00:00 PST'>", False, False),
        ("<meta name=robots>", False, False),
        ("<template><meta name=robots content=none></template>", False, False),
        ("<body><p>late<meta name=robots content=noindex>", True, False),
    ],
)
def test_robots_meta(markup: str, noindex: bool, nofollow: bool) -> None:
    """E17."""
    found = page(markup)
    assert (found.noindex, found.nofollow) == (noindex, nofollow)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (["noindex"], (True, False)),
        (["weft: nofollow"], (False, True)),
        (["WEFT:none"], (True, True)),
        (["otherbot: noindex, nofollow"], (False, False)),
        (["otherbot: noindex", "nofollow"], (False, True)),
        (["noindex, otherbot: nofollow"], (True, False)),
        (["otherbot: noindex, weft: nofollow"], (False, True)),
        (["unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"], (True, False)),
        (["unavailable_after: Wednesday, 01 Jan 20 15:00:00 GMT, nofollow"], (False, True)),
        (["max-snippet:-1, nofollow"], (False, True)),
        (["max-image-preview: none"], (False, False)),
        (["max-snippet: -1, weft: max-image-preview: none, nofollow"], (False, True)),
        (["", ",,:,"], (False, False)),
    ],
)
def test_x_robots_tag(values: list[str], expected: tuple[bool, bool]) -> None:
    """E17: also on what is no HTML."""
    assert x_robots_directives(values, ("weft",))[:2] == expected
    found = parse_page(b"%PDF-1.4", URL, "application/pdf", Headers(values))
    assert (found.type, found.noindex, found.nofollow, found.encoding) == ("application/pdf", *expected, None)


def test_headers_with_links() -> None:
    found = parse_page(
        b"<base href=/b/><a href=x>y</a>",
        URL,
        "text/html",
        Headers(
            link=[
                '</c>; rel="canonical", <n?a,b>; title="a, b"; rel=next',
                "<s>;rel=stylesheet",
                "<q>; rel=x; anchor=/o",
            ],
            refresh="3; url=r",
        ),
    )
    assert [(LinkKind(link.kind).label, link.target, link.anchor, link.rel) for link in found.links] == [
        ("canonical", "http://h.test/c", "", "canonical"),
        ("link", "http://h.test/dir/n?a,b", "a, b", "next"),
        ("style", "http://h.test/dir/s", "", "stylesheet"),
        ("refresh", "http://h.test/dir/r", "", ""),
        ("a", "http://h.test/b/x", "y", ""),
    ]
    assert found.canonical == "http://h.test/c"
    assert parse_page(PDF, URL, None, Headers(link=["</c>; rel=canonical"])).canonical == "http://h.test/c"
    assert len(list(header_links(["<x>;rel=a," * 5_000]))) == 100
    assert [link.title for link in header_links([r'<x>; title="a\"b', '<y>; title="a\\"b"'])] == ["", 'a"b']
    # a target that never ends is looked for once: 64 KB of "<" took a quarter of a minute
    assert [link.reference for link in header_links(["<a <b>; rel=next", *["<" * 65_536] * 4])] == ["b"]


PDF = b"%PDF-1.4"


@pytest.mark.parametrize("content_type", ["image/png", "application/pdf", "text/plain", "application/xml", "text/css"])
def test_what_is_no_page_has_no_links(content_type: str) -> None:
    """E22, R8."""
    found = page("<a href=x>y</a><meta name=robots content=none>", content_type=content_type)
    assert found == Parsed(type=content_type)
    assert parse_page(b"\x89PNG\r\n\x1a\n<a href=x>", URL, "text/html").type == "image/png"


def test_refresh_of_odd_forms() -> None:
    assert parse_refresh("99999999999999999999; url=x") == (999_999_999, "x")
    assert parse_refresh("0; url='x' y") == (0, "x")
    assert parse_refresh(".5; x") == (0, "x")
    assert parse_refresh("1; url=") == (1, None)
    assert parse_refresh("") is parse_refresh("x; url=y") is parse_refresh("٣; url=x") is None


def test_srcset() -> None:
    assert list(srcset_urls(" a 1x, b,c 2x,, d(1,2) (x, y) 3w, e")) == ["a", "b,c", "d(1,2)", "e"]
    assert list(srcset_urls("data:image/png;base64,AA== 1x, f")) == ["data:image/png;base64,AA==", "f"]
    assert list(srcset_urls("  , ,")) == list(srcset_urls("")) == []


def test_language_tags() -> None:
    assert [language_of(tag) for tag in ("en", "zh-Hant-TW", "en_US", " de ")] == ["en", "zh-Hant-TW", "en-US", "de"]
    assert not any(language_of(tag) for tag in (None, "", "<script>", "e n", "x" * 100, "en-", "\ud800"))


def test_visible_text() -> None:
    markup = b"""<head><title>t</title><meta charset=utf-8></head><h1>H</h1>in <b>line</b><p>one<br>two <!-- c -->
      three<script>s</script><style>s</style><template>s</template></p>tail<table><tr><td>a<td>b<tr><td>c</table>
      <ul><li>x<li>y</ul><pre>k\n  l</pre><div>d</div>e<noscript>n</noscript><select><option>o<option>p</select>"""
    assert visible_text(markup, "text/html").split("\n") == [
        *("H", "in line", "one", "two three", "tail", "a b", "c", "x", "y", "k", "l", "d", "en", "o", "p")
    ]
    assert visible_text(b"<a>\xe9", "text/plain; charset=latin1") == "<a>é"
    assert visible_text(b"\x89PNG\r\n\x1a\n", "image/png") == ""
    assert visible_text("<p>é".encode("utf-16"), "text/html") == "é"


@pytest.mark.parametrize(
    ("xhtml", "html"),
    [
        ("<script src=\"a\"/><p  class='b' />", "<script src=\"a\"></script><p  class='b'></p>"),
        ("<br/><IMG src='x' /><svg:rect/>", "<br/><IMG src='x' /><svg:rect></svg:rect>"),
        ("<![CDATA[1 < 2 && <b>]]>]]>", "1 &lt; 2 &amp;&amp; &lt;b&gt;]]>"),
        ("<!-- <p/> --><?x <p/> ?><a title='<p/>'>", "<!-- <p/> --><?x <p/> ?><a title='<p></p>'>"),  # no XML either
        ("<a href=x/><p/ ><p a/>", "<a href=x/><p/ ><p a/>"),  # not well-formed: HTML's rules
        ("<p/><!-- <p/>", "<p></p><!-- <p/>"),
    ],
)
def test_xhtml_as_html(xhtml: str, html: str) -> None:
    assert as_html(xhtml.encode()).decode() == html


@pytest.mark.parametrize(
    "piece", ["<", "<a ", "<a a='1' ", "<!--", "<![CDATA[", "<?", "<a a='", "<a/>", "<a" + 99 * " "]
)
def test_xhtml_takes_no_time(piece: str) -> None:
    began = process_time()
    as_html(piece.encode() * (4_000_000 // len(piece)) + b"/>")
    assert process_time() - began < 5


def test_the_text_of_xhtml() -> None:
    assert visible_text(b"<title/><p>a<script/>b<![CDATA[<c>]]></p>", "application/xhtml+xml") == "ab<c>"


def test_a_parser_that_fails_is_a_fact_about_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(body: bytes, encoding: str) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("weft.parse.tree.tree_of", fail)
    found = parse_page(b"<template></template><a href=x>", URL, "text/html", Headers(["noindex"]))
    assert (found.problem, found.noindex, len(found.links)) == ("parser failed: RuntimeError: broken", True, 0)


def is_plain(found: Parsed) -> bool:
    """Whether a record can go anywhere: into JSON, a database, a line of output."""
    msgspec.json.encode(found)
    texts = [text for link in found.links for text in (link.target, link.anchor, link.rel, link.fragment)]
    return all("\n" not in text and text.encode() is not None for text in texts)


PIECES = [
    *("<a href=x>", '<a href="#é">', "</a>", "<b>", "</b>", "<p>", "<table>", "<td>", "<svg>", "</svg>", "<math>"),
    *("<template>", "</template>", "<base href=/b/>", "<title>", "</title>", "<script>", "</script>", "<select>"),
    *("<option>", "<form>", "</form>", "<img src=i srcset='a,b 1x'>", "&#xD800;", "&#0;", "&amp", "<!--", "-->"),
    *("<meta name=robots content=none>", "<link rel=canonical href=c>", "<p onclick=\"location='x'\">", "\0", "é"),
    *("<a href='http://['>", "<a href='\ud7ff\ue000'>", "<", "<!", "</", "<?", "<html lang=x>", "<body a>"),
]
MARKUP = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=30).map("".join)


@given(MARKUP, st.sampled_from([None, "text/html", "text/html; charset=utf-16", "text/html; charset=gbk"]))
@settings(max_examples=200)
def test_any_markup_is_parsed(markup: str, content_type: str | None) -> None:
    """Soup never raises, and what comes out is plain."""
    assert is_plain(parse_page(markup.encode("utf-8", "surrogatepass"), URL, content_type))
    visible_text(markup.encode("utf-8", "surrogatepass"), "text/html").encode()


@given(st.binary(max_size=300), st.text(max_size=40), st.text(max_size=40))
@settings(max_examples=100)
def test_any_bytes_and_headers(body: bytes, header: str, other: str) -> None:
    found = parse_page(b"<html>" + body, URL, header, Headers([other], [f"<{header}>; rel={other}", other], header))
    assert is_plain(found)
    robots_directives(other)


def repeat(piece: str, size_b: int) -> bytes:
    return (piece * (size_b // len(piece))).encode()


MONSTERS: dict[str, Callable[[int], bytes]] = {
    "nested divs": lambda n: repeat("<div>", n),
    "nested tables": lambda n: repeat("<table><tr><td>", n),
    "nested formatting": lambda n: repeat("<b><i>", n),
    "adoption agency": lambda n: repeat("<b><i><p></b>", n),
    "adoption agency on links": lambda n: repeat("<a href=x><b><div></a>", n),
    "formatting again in every block": lambda n: "".join(f"<font size={i}><p>" for i in range(n // 19)).encode(),
    "formatting with attributes": lambda n: (
        ("<p>" + "".join(f"<u {'x y z ' * 3}{i}>" for i in range(500))).encode() + repeat("<p>x", n)
    ),
    "nested links": lambda n: repeat("<a href=x>", n),
    "nested links in objects": lambda n: repeat("<a href=x><object>", n),
    "nested links in svg": lambda n: b"<svg>" + repeat("<a href=x>", n),
    "nested svg": lambda n: repeat("<svg><foreignObject>", n),
    "nested selects": lambda n: repeat("<select><option>", n),
    "nested templates": lambda n: repeat("<template>", n),
    "nested lists": lambda n: repeat("<ul><li>", n),
    "foster parents": lambda n: b"<table>" + repeat("<b>x", n),
    "attributes": lambda n: b"<a href=x " + b" ".join(b"a%d" % i for i in range(n // 8)) + b">y</a>",
    "attributes of two bodies": lambda n: b" ".join(
        [b"<body", *(b"a%d" % i for i in range(n // 18)), b"><body", *(b"b%d" % i for i in range(n // 18)), b">"]
    ),
    "attributes of many bodies": lambda n: b"".join(b"<body a%d=b>" % i for i in range(n // 16)),
    "one attribute": lambda n: b"<a href='" + repeat("x", n) + b"'>y</a>",
    "one word": lambda n: b"<a href=y>" + repeat("x", n),
    "less-than": lambda n: repeat("<", n),
    "comments": lambda n: repeat("<!-- -- >", n),
    "entities": lambda n: repeat("&CounterClockwiseContourIntegra", n),
    "NULs": lambda n: b"<p>" + repeat("\0", n),
    "links": lambda n: repeat("<a href=/x>y</a>", n),
    "srcset": lambda n: b"<img srcset='" + repeat("a 1x,", n) + b"'>",
    "onclick": lambda n: b'<p onclick="' + repeat("location.href=' ", n) + b'">',
    "onclicks": lambda n: repeat("<p onclick=\"location='x'\">", n),
    "bases": lambda n: b"<base href='/" + b"b" * 9_000 + b"/'>" + repeat("<a href=x>", n),
    "scripts": lambda n: b"<a href=x>" + repeat("<script></script>", n),
    "refreshes": lambda n: repeat("<meta http-equiv=refresh content='0;x'>", n),
}


@pytest.mark.parametrize("name", MONSTERS)
def test_monsters(name: str) -> None:
    """Issue 3 section 7: a page that would break or stall the parser costs bounded time, memory, depth."""
    found = parse_page(MONSTERS[name](1_000_000), URL, "text/html; charset=utf-8")
    assert len(found.links) <= 200_000
    assert is_plain(found)


@pytest.mark.parametrize("name", ["nested divs", "formatting again in every block", "links", "attributes", "less-than"])
def test_monsters_of_full_size(name: str) -> None:
    assert is_plain(parse_page(MONSTERS[name](10_000_000), URL, "text/html; charset=utf-8"))


def test_links_survive_what_is_left_out() -> None:
    bomb = b"<body>" + MONSTERS["formatting again in every block"](1_000_000)
    found = parse_page(b"<a href=first>1</a>" + bomb + b"<a href=last>2</a>", URL, "text/html; charset=utf-8")
    assert [link.target.rpartition("/")[2] for link in found.links] == ["first", "last"]
    assert "formatting tags left out" in found.problem
    bomb = MONSTERS["attributes of many bodies"](1_000_000)
    found = parse_page(b"<html lang=de><body><a href=first>1</a>" + bomb, URL, "text/html; charset=utf-8")
    assert (len(found.links), found.language, found.problem) == (1, "de", "further html and body tags left out")


def test_memory_is_bounded_only_while_parsing() -> None:
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_AS)
    with pytest.raises(MemoryError), memory_bound(50 << 20):
        bytearray(500 << 20)
    assert resource.getrlimit(resource.RLIMIT_AS) == before
    assert len(bytearray(100 << 20)) == 100 << 20
    tree = tree_of(b"<p>" * 100_000, "utf-8")
    assert tree is not None and not tree.problem
