"""The compiled reader says of a page what its tree says, or leaves it to the tree (src/native; issue 4, section 1).

Where the two could differ, each case is named; others are made of pieces (hypothesis), and of the pages of the manuals
that are installed here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft import native
from weft.native import pure
from weft.parse.html import Reading, parse_page
from weft.parse.quick import QuickPage
from weft.records import Parsed
from weft.url import resolving

pytestmark = pytest.mark.skipif(not native.is_compiled, reason="weft was set up without a C compiler")

URL = "http://h.test/dir/page.html"
MANUALS = Path("/usr/share/doc")
MAX_MANUALS = 400
TAKEN, LEFT = True, False


def ways(body: bytes, content_type: str = "text/html; charset=utf-8", max_links: int = 20_000) -> tuple[bool, Parsed]:
    """Whether the reader took the page, and what it says both ways, which must be the same."""
    answers: list[tuple[bytes, bytes] | None] = []
    compiled = native.read

    def read(*args: object) -> tuple[bytes, bytes] | None:
        answers.append(compiled(*args))
        return answers[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "read", read)
        patch.setattr(resolving, "_shared", resolving._SharedReferences())
        found = parse_page(body, URL, content_type, reading=Reading(max_links=max_links))
        found.links.unpack()
        patch.setattr(native, "read", pure.read)
        patch.setattr(resolving, "_shared", resolving._SharedReferences())  # what one has found the other must not know
        assert found == parse_page(body, URL, content_type, reading=Reading(max_links=max_links))
    return answers[-1:] not in ([], [None]), found


def anchors(body: bytes) -> list[str]:
    return ways(body)[1].links.anchors


CASES: dict[str, tuple[str | bytes, bool]] = {
    "nothing": ("", TAKEN),
    "no tags": ("a < b & c", TAKEN),
    "relations": (
        "<link rel=next href=1 title=' a  b '><link rel=NEXT href=2><link rel=next href=3><link href=4>"
        "<link rel='' href=5><a rel=next href=6>c</a><a rel='no,Follow' href=7>d</a><a rel=next href=8>e</a>"
        f"<link rel={'x' * 33} href=9><link rel={'x' * 34} href=10><link rel=&eacute; href=11>"
        f"<a rel={'x' * 201} href=12>f</a>",
        TAKEN,
    ),
    "a relation longer than is kept": (f"<link rel={'x' * 201} href=1>", LEFT),
    "ends of what was opened last, and of others": (
        "<a href=1><em>a</EM></a><a href=2><b>c</b >d</a><a href=3><code><span>e</span></code></a>"
        "<my{e><a href=4>f</a></my[e><i><table><tr><td></i><a href=5>g</a></table></i><blink2><q>h</q></blink2>",
        TAKEN,
    ),
    "an ordinary page": (
        "<!doctype html><html lang=en><head><base href=/b/><title>T &amp; t</title><meta name=robots content=noindex>"
        "<link rel=canonical href=/c></head><body><p><a href=x rel='NoFollow, ugc'>x <b>y</b></a>"
        "<ul><li><a href=#f>z</a><li><img src=i alt='an image'></ul><table><tr><td><a href=t>t</table>",
        TAKEN,
    ),
    # links
    "a link in a link": ("<a href=1>x<a href=2>y</a>z", TAKEN),
    "a link in a link in a block": ("<a href=1>x<div><a href=2>y</a></div>z", LEFT),
    "a link that a paragraph ends": ("<p><a href=1>x</p>y", LEFT),
    "a link that a cell ends": ("<table><td><a href=1>x<td>y</table>z", TAKEN),
    "a link around a table": ("<a href=1>x<table> <tr> <td>y</table>z</a>", TAKEN),
    "text in a table": ("<a href=1>x<table>y<tr><td>z</table></a>", LEFT),
    "an anchor without a reference": ("<a name=n>x<div><a href=1>y</a></div></a>", TAKEN),
    "formatting misnested in a link": ("<a href=1><b>x<i>y</b>z</i></a>", LEFT),
    "others misnested in a link": ("<ruby><a href=1><em><ruby></em></ruby>x", LEFT),
    "formatting around a link ends in it": ("<b><a href=1>x</b>y</a>", LEFT),
    "an end tag of nothing in a link": ("<a href=1>x</span>y</a>", LEFT),
    "an end tag of nothing in a block in a link": ("<a href=1><div>x</span></p></div>y</a>", TAKEN),
    "an end tag of formatting in a link": ("<a href=1>x</b>y</a>", LEFT),
    "formatting that a block in a link ends": ("<a href=1><div><b>x</div>y</b>z</a>", TAKEN),
    "options in a link": ("<option><a href=1><option>x</option></option>y", LEFT),
    "an option around an anchor": ("<option><a><option></a></option><a href=1></option>x", LEFT),
    "an option around a link": ("<n><form><option><a href=1></option>x", LEFT),
    "a heading in an anchor in a heading": ("<h1><a><h1></h1><a href=1></h1>x", LEFT),
    "others that formatting ends": ("<b><q></b><i></q><a href=1></i>x", LEFT),
    "others that an anchor ends": ("<a><q></a><span></q><a href=1></span>x", LEFT),
    "a heading in another in a heading": ("<h1><q><h1></h1><a href=1></q>x", LEFT),
    "an object in a cell": ("<a href=1><table><td><object></table>x<a href=2>y</a>", LEFT),
    "an object": ("<object data=d><a href=1>x</object>y", TAKEN),
    "a script in a link": ("<a href=1>x<script>y</script></a>", LEFT),
    "pre in a link": ("<a href=1>x<pre>\ny</pre></a>", LEFT),
    "an image names a link": ("<a href=1> <img src=i alt='x  y'><img alt=z></a><img alt=n>", TAKEN),
    "an image out of the web": ("<a href=mailto:m@h.test><img alt=x></a><a href='http://['><img alt=y></a>", TAKEN),
    "a description longer than an anchor": (f"<a href=1><img alt='x{' ' * 900}y'></a>", LEFT),
    "an anchor cut behind a space": (f"<a href=1>{'x' * 499} {'y' * 99}</a>", TAKEN),
    "an anchor cut in two": (f"<a href=1>{'x' * 499}\u4e2d\U0001f600y</a>", TAKEN),
    # tables and forms
    "tables in tables": ("<table><tr><td><table><td>x</table><a href=1>y</a></table>", TAKEN),
    "a table in a table's row": ("<table><tr><table><td><a href=1>x</a>", TAKEN),
    "hidden fields and forms in tables": ("<table><form action=f><input type=hidden><tr><td><a href=1>x", TAKEN),
    "a field in a table": ("<table><input><td><a href=1>x", LEFT),
    "columns": ("<table><col><col><caption>x</caption><tr><th><a href=1>y", TAKEN),
    "parts of tables outside of them": ("<td><a href=1>x</tr></a></table>y", TAKEN),
    "a form in a form": ("<form action=f><form action=g></form><a href=1>x</form>y</a>", TAKEN),
    "a form ends around a link": ("<form><a href=1>x</form>y</a>", TAKEN),
    "a form of a table in a form": ("<form><table></form><form></table></form><a href=q>x</form>y</a>", TAKEN),
    "a choice": ("<select><option>x<option selected>y</select><a href=1>z", TAKEN),
    "a link in a choice": ("<select><option><a href=1>x</select>", LEFT),
    # doctypes decide whether a table ends a paragraph
    "a table in a paragraph": ("<!doctype html><p>x<table></table><a href=1>y</p>z", TAKEN),
    "a table in a paragraph of old": ("<p>x<table></table><a href=1>y</p>z", LEFT),
    "a doctype behind an end tag": ("</p><!doctype html><p><table></table><a href=1>x</p>y", LEFT),
    "a second doctype": ("<!doctype x><!doctype html><p><table></table><a href=1>x</p>y", LEFT),
    # text
    "references": ("<a href='?a&amp;b&copy=2&notit;'>&eacute; &eacute &notit; &#x80; &#0 &#xD800 &#; &fjlig;&", TAKEN),
    "newlines": ("<a href='a\rb\r\nc&#13;'>x\r\ny\rz</a>", TAKEN),
    "a byte of zero": ("<a href=1>x\0y</a>", LEFT),
    "a byte order mark": ("\ufeff<!doctype html><p><table></table><a href=1>x</p>y", TAKEN),
    "bytes that are no characters": (b"<a href='\xff\xe4\xb8'>\xc3 \xff</a>", TAKEN),
    "a character cut in two by a tag": (b"<a href=1>\xc3<b>\xa9</b></a>", LEFT),
    "comments": ("<a href=1>a<!-->b<!--->c<!-- > --!>d<!----!>e<!x>f<?y>g</>h</ z>i<![CDATA[j]]>k<!-- l", TAKEN),
    "tags that are cut": ("<a href=1>x</a><a href='2", TAKEN),
    "raw text": ("<title>a</titl>b</TITLE ><style><a href=1></style><textarea><a href=2></textarea><a href=3>x", TAKEN),
    "a script in a comment in a script": ("<script><!--<script></script><a href=1>--></script><a href=2>x", LEFT),
    "a comment in a script": ("<script><!-- x </script><a href=1>y --></a>", TAKEN),
    "attributes of all sorts": ("<a/href=1 href=2 = =x 'y\"=z HREF=3 a='>' b=\">\" c=>x</a>", TAKEN),
    "too many attributes": (f"<a href=1 {' '.join(f'a{i}' for i in range(90))}>x", LEFT),
    # what else a page says
    "languages": ("<html xml:lang=fr><p><html lang=de lang=en>", TAKEN),
    "a late base": ("<a href=1>x</a><base href=/b/>", LEFT),
    "a base for nothing": ("<base href=page.html><a href=1>x</a><base href=/b/>", TAKEN),
    "a refresh": ("<meta http-equiv='&#114;efresh' content='0;url=r'><meta name=Description content=' d '>", TAKEN),
    "no scripts in the head": ("<head><noscript><link href=1 rel=stylesheet></noscript></head><a href=2>x", TAKEN),
    "no scripts, and a body": ("<head><noscript><a href=1>x</a></noscript>", LEFT),
    "code that leads nowhere": ("<p onclick=\"toggle(&quot;x&quot;)\"><a href=1 onclick>x</a>", TAKEN),
    "code that leads somewhere": ("<p onclick=\"&#108;ocation='o'\">x", LEFT),
    "a drawing": ("<a href=1>x<svg><g><title>t</title><path d=p /></g></svg>y</a>", TAKEN),
    "a drawing with a link": ("<svg><a href=1>x</a></svg>", LEFT),
    "a drawing that is cut": ("<a href=1><svg></", LEFT),
    "a frame with a document": ("<iframe src=f srcdoc='<a href=1>x</a>'></iframe>", LEFT),
    "a frame": ("<iframe src=f title=t><a href=1></iframe>", TAKEN),
    "a template": ("<template><a href=1>x</a></template>", LEFT),
    "frames": ("<frameset><frame src=1></frameset>", LEFT),
    "elements with long names": ("<my-element-of-a-long-name><a href=1>x</MY-element-of-a-long-name>y", LEFT),
    "a long name in a link": ("<a href=1><my-element-of-a-long-name>x</MY-element-of-a-long-name>y", TAKEN),
    # bounds of the tree
    "too deep": ("<div>" * 600 + "<a href=1>x", LEFT),
    "too deep by others": ("<span></q>" * 700 + "<a href=1>x<i>y</a>z", LEFT),
    "too deep by others around blocks": ("<span><div></span></div>" * 600 + "<a href=1>x", LEFT),
    "too deep by formatting": ("".join(f"<div><font size={i}></div>" for i in range(600)) + "<a href=1>x", LEFT),
    "too deep by formatting in others": ("".join(f"<q><b a{i}></q>" for i in range(600)) + "x<a href=1>x", LEFT),
    "too deep by headings": ("<h1><q>" * 300 + "<a href=1>x", LEFT),
    "too deep by what formatting ends": ("<b><q></b><span></q>" * 600 + "<a href=1>x", LEFT),
    "formatting in too many blocks": ("<b>" + "<div>" * 9 + "</b><a href=1>x</b>y", LEFT),
    "formatting again in every block": (
        "<p>" + "".join(f"<u a{i}={'x' * 200}>" for i in range(150)) + "<p>x" * 5_000,
        LEFT,
    ),
    "html and body tags of a large page": ("<body a=b>" * 20_000 + "<a href=1>x", LEFT),
    "a long body tag that begins before two samples of a large page": (
        "<html><p>" + f"{'x' * 147_000}<body a='".ljust(147_556, "y") + ">" + "y" * 40_000 + "'>z",
        LEFT,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_cases(name: str) -> None:
    markup, taken = CASES[name]
    assert ways(markup.encode() if isinstance(markup, str) else markup)[0] == taken


def test_more_links_than_are_kept() -> None:
    for body in (b"<a href=1>x</a>" * 9, b"<img src=i srcset='j,k l'>" * 9, b"<area href=1>" * 9, b"<link href=1>" * 9):
        for max_links in (1, 8, 9, 10):
            ways(body, max_links=max_links)
    assert ways(b"<a href=1>x</a>" * 9, max_links=9)[0] == TAKEN
    assert ways(b"<a href=1>x</a>" * 9, max_links=8)[0] == LEFT


@pytest.mark.parametrize("encoding", ["windows-1252", "shift_jis", "gb18030", "iso-2022-jp", "koi8-r", "utf-16le"])
def test_other_encodings(encoding: str) -> None:
    body = "<title>\u042f</title><a href='\u042f?\u042f#\u042f'>\u042f <b>y</b></a>".encode(encoding, "replace")
    taken, found = ways(body, f"text/html; charset={encoding}")
    assert taken and len(found.links) == 1


TAGS = [
    "a", "a", "a", "b", "i", "em", "font", "span", "q", "my-element", "p", "div", "ul", "ol", "li", "dl", "dd", "dt",
    "h1", "h2", "pre", "button", "form", "table", "tbody", "tr", "td", "th", "caption", "col", "colgroup", "select",
    "option", "object", "noscript", "svg", "g", "title", "textarea", "script", "style", "iframe", "img", "input",
    "br", "hr", "html", "head", "body", "base", "link", "meta", "template", "nobr", "frameset",
]  # fmt: skip
ATTRIBUTES = [
    "href=1", "href='y#f'", "href=#f", 'href="?a&amp;b&copy=c"', "href", "href=mailto:m", "href='http://['", "src=s",
    "srcset='s,t'", "alt=z", "alt=''", "rel=nofollow", "rel=canonical", "lang=en", "xml:lang=de", "type=hidden",
    "type=image", "name=robots", "content=noindex", "http-equiv=refresh", "content='0;r'", "onclick=x()",
    "onclick=\"location='o'\"", "action=f", "data=d", "/", "=", '"', "'",
]  # fmt: skip
TEXTS = [
    *("x", "y z", " ", "\n", "\r", "\xe9", "\u4e2d", "\ufeff", "&amp;", "&eacute", "&notit;", "&#128;", "&#", "&", "<"),
    *("</", "<!-- c -->", "<!-->", "<!", "<?x>", "</>", "<![CDATA[x]]>", "<!doctype html>", "<!doctype x>", "<a"),
    *("<script><!--<script>", "<title>t</title>", "<svg><title>s</title></svg>", "\x0b", "\x1f", "\0", "w" * 300),
]
pieces = st.one_of(
    st.sampled_from(TAGS).flatmap(
        lambda tag: st.lists(st.sampled_from(ATTRIBUTES), max_size=2).map(lambda said: f"<{' '.join([tag, *said])}>")
    ),
    st.sampled_from([f"<{tag}>" for tag in TAGS]),
    st.sampled_from([f"</{tag}>" for tag in TAGS]),
    st.sampled_from(["<a href=1>", "<a href=2>", "</a>", "</a>", "x", "y"]),
    st.sampled_from(TEXTS),
)


@settings(max_examples=1_500)
@given(st.sampled_from(["", "<!doctype html>", "<!doctype html><html><body>"]), st.lists(pieces, max_size=25))
def test_any_pieces(start: str, markup: list[str]) -> None:
    ways((start + "".join(markup)).encode())


@settings(max_examples=500)
@given(st.lists(st.one_of(pieces.map(str.encode), st.binary(max_size=4)), max_size=12), st.integers(0, 60))
def test_any_bytes(parts: list[bytes], cut: int) -> None:
    body = b"<a href=1>" + b"".join(parts)
    ways(body[: max(0, len(body) - cut)])


def manuals() -> list[Path]:
    """Some pages of the manuals that are installed, the same ones every time."""
    found = [path for path in MANUALS.glob("*/**/*.htm*") if path.is_file()]
    return sorted(found, key=lambda path: hashlib.sha1(bytes(path), usedforsecurity=False).digest())[:MAX_MANUALS]


def test_manuals() -> None:
    """Nearly all real pages are ordinary."""
    pages = [path.read_bytes()[:200_000] for path in manuals()]
    if len(pages) < 20:
        pytest.skip("no manuals are installed in /usr/share/doc")
    taken = [ways(body, "text/html")[0] for body in pages]
    assert sum(taken) > 0.9 * len(taken)
    for body in pages[::20]:
        for size_b in range(0, min(len(body), 6_000), 611):
            ways(body[:size_b], "text/html")


def test_a_failure_of_python_passes_through(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("no")

    said = {
        "target_of": "<a href='n n'>", "learnt": "<a href=n>", "encoded_fragment": "<a href='#n n'>",
        "take": "<area>", "rebase": "<base href=b>", "add_srcset": "<img srcset=s>",
        "add_by_rel": "<link rel=canonical href=c>", "take_title": f"<title>{1_001 * 'x'}",
        "take_language": "<html lang=x>",
    }  # fmt: skip
    for name, markup in said.items():
        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(QuickPage, name, fail)
            patch.setattr(resolving, "_shared", resolving._SharedReferences())
            parse_page(f"<p>{markup}".encode(), URL, "text/html")


def test_anchors_are_cut_at_the_same_place() -> None:
    assert anchors(f"<a href=1>{'x' * 499} {'y' * 99}</a>".encode()) == ["x" * 499]


def test_spaces_of_all_kinds_are_collapsed() -> None:
    """Every character that Python splits at, those around them, and what is no character at all."""
    spaces = [chr(code) for code in range(0x110000) if chr(code).isspace()]
    for code in sorted({ord(space) + step for space in spaces for step in (-1, 0, 1)} | {0xD7FF, 0xE000, 0x1F600}):
        text = f"{chr(code)}x{chr(code)} {chr(code)}\xe9\u20ac{chr(code)}"
        if code > 0x20 and chr(code) not in "<&":
            assert anchors(f"<a href=1>{text}</a><img src=i alt='{text}'>".encode()) == [" ".join(text.split())] * 2
    for broken in (b"\xc2", b"\xe2\x80", b"\xc0\xa0", b"\xe0\x80\xa0", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xff"):
        ways(b"<a href=1> " + broken + b" x</a><a href=2>" + broken)


def test_a_reference_has_a_meaning_of_its_own_in_every_directory() -> None:
    """However many were met before, and in whatever order: in few places they push each other out."""
    references = [f"{'../' * (number % 3)}page{number}.html" for number in range(3_000)]
    markup = "".join(f"<a href={reference}>x</a>" for reference in references).encode()
    bases = ["http://h.test/a/b/c/", "http://h.test/a/b/d/", "https://h.test/a/b/c/"]
    for base in bases * 2:
        links = parse_page(b"<p>" + markup, base + "page", "text/html").links
        assert links.targets == [urljoin(base, reference) for reference in references]
        links = parse_page(f"<base href={base}>".encode() + markup, "http://other.test/", "text/html").links
        assert links.targets == [urljoin(base, reference) for reference in references]
