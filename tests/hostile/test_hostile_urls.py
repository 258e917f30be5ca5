"""Addresses in pages: resolved as browsers do, nothing smuggled into a request, no other scheme opened (R14).

Issue 3, sections 3 and 10.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hostile import (
    FAST,
    GOOD,
    HOST,
    Crawled,
    Lured,
    assert_healthy,
    at_host,
    crawl,
    crawl_kinds,
    judge_kind,
    kinds_of,
    lay_out,
)
from web import HTML, Response, Site, html_page

from weft.derive.read import StoredCrawl
from weft.derive.why import story_of

KINDS = kinds_of("urls")


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> Lured:
    return crawl_kinds(tmp_path_factory.mktemp("kinds"), KINDS, "elsewhere.test", "*.test")


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_recorded_honestly(kinds: Lured, kind: str) -> None:
    asked = Counter(kinds.site.paths())
    judge_kind(kind, kinds.site.at(f"/{kind}", HOST), f"/{kind}", kinds.crawled, kinds.site)
    assert all(count == 1 for path, count in asked.items() if path.startswith(f"/{kind}"))


def test_the_crawl_of_all_kinds_is_healthy(kinds: Lured) -> None:
    assert_healthy(kinds.crawled, kinds.site)
    assert kinds.other.connections == 0 and {request.host for request in kinds.site.requests} == {HOST}
    assert all(link.target.isascii() and link.target.isprintable() for link in kinds.crawled.links)


# --- one reference, one request target


def references(authority: str) -> dict[str, str | None]:
    """Each reference, as it stands in the attribute, with what is asked for it; None: nothing is.

    The page is /dir/page. A number tells them apart.
    """
    port = authority.rpartition(":")[2]
    return {
        "/u1 a": "/u1%20a",
        "  /u2  ": "/u2",
        "/u3\ta": "/u3a",
        "/u4\n\r\na": "/u4a",
        '/u5"q': "/u5%22q",
        "/u6<b>": "/u6%3Cb%3E",
        "/u7`": "/u7%60",
        "/u8{}": "/u8%7B%7D",
        "/u9|": "/u9|",
        "/u10^": "/u10%5E",
        "/u11'": "/u11'",
        "/u12\\a": "/u12/a",
        "\\u13\\b": "/u13/b",
        "/u14%": "/u14%",
        "/u15%zz": "/u15%zz",
        "/u16é": "/u16%C3%A9",
        "/u17?é": "/u17?%C3%A9",
        "/u18?a b": "/u18?a%20b",
        "/u19?'": "/u19?%27",
        '/u20?"<>': "/u20?%22%3C%3E",
        "/u21?`{}|^\\": "/u21?`{}|^\\",
        "/u22#frag": "/u22",
        "/u23?#": "/u23?",
        "/u24?": "/u24?",
        "/u25/./a/../b": "/u25/b",
        "/u26/%2e/a/%2E%2e/b": "/u26/b",
        "/u27/..;/b": "/u27/..;/b",
        "/u28/.": "/u28/",
        "/u29/a/..": "/u29/",
        "/../../u30": "/u30",
        "/u31//x": "/u31//x",
        "u32": "/dir/u32",
        "./u33": "/dir/u33",
        "../u34": "/u34",
        "../../../u35": "/u35",
        "?u36": "/dir/page?u36",
        f"//{authority}/u37": "/u37",
        f"///{authority}/u38": "/u38",
        f"http://{authority}/u39": "/u39",
        "http:u40": "/dir/u40",
        "http:/u41": "/u41",
        "http:../u42": "/u42",
        "HTTP:u43": "/dir/u43",
        f"HTTP://{authority.upper()}/u44": "/u44",
        f"http://{HOST}:0{port}/u45": "/u45",
        f"http://%68ostile.test:{port}/u46": "/u46",
        f"http://\uff48ostile.test:{port}/u47": "/u47",
        f"http://hos\u00adtile.test:{port}/u48": "/u48",
        f"http://hostile。test:{port}/u49": "/u49",
        f"http:\\\\{authority}\\u50": "/u50",
        f"http://{authority}\\u51": "/u51",
        f"http://{authority}?u52": "/?u52",
        f"http://user@{authority}/u53": None,
        f"http://user:pw@{authority}/u54": None,
        f"http://@{authority}/u55": "/u55",
        f"http://:@{authority}/u56": "/u56",
        "/u57\0x": "/u57%EF%BF%BDx",
        "/u58\x01x": "/u58%01x",
        "\x01 /u59 \x1f": "/u59",
        "/u60\x7f": "/u60%7F",
        "/u61\u200b": "/u61%E2%80%8B",
        "/u62\u3000": "/u62%E3%80%80",
        "/u63\u202e": "/u63%E2%80%AE",
        "/u64😀": "/u64%F0%9F%98%80",
        "/u65%0d%0aX-Injected:1": "/u65%0d%0aX-Injected:1",
        "/u66?%0d%0aX-Injected:1": "/u66?%0d%0aX-Injected:1",
        "/u67%00": "/u67%00",
        "/u68;a=b;c": "/u68;a=b;c",
        "/u69,": "/u69,",
        "/u70!$&'()*+,;=:@": "/u70!$&'()*+,;=:@",
        "/u71?a=1&b=2": "/u71?a=1&b=2",
        "/u72?copy=1&copy=2": "/u72?copy=1&copy=2",
        "/u73%7Ea": "/u73%7Ea",
        "/u74%41": "/u74%41",
        "/u75/%2f": "/u75/%2f",
        "/u76/%252e%252e/x": "/u76/%252e%252e/x",
        "/u77?q=http://x/../y": "/u77?q=http://x/../y",
        "javascript:/u78": None,
        "java\nscript:/u79": None,
        " javascript:/u80": None,
        "\x01javascript:/u81": None,
        "data:text/html,/u82": None,
        "file:///u83": None,
        "file:u84": None,
        f"ftp://{HOST}/u85": None,
        f"gopher://{HOST}/u86": None,
        f"view-source:http://{authority}/u87": None,
        f"feed:http://{authority}/u88": None,
        f"blob:http://{authority}/u89": None,
        f"ws://{authority}/u90": None,
        "wss:u91": None,
        "https:u92": None,  # no host
        "x-y+z.1:/u93": None,
        "mailto:u94": None,
        "tel:u95": None,
        "about:u96": None,
        "urn:u97": None,
        f"http://{authority}:{port}/u98": None,
        f"http://{HOST}:99999/u99": None,
        f"http://{HOST}:{port}x/u100": None,
        f"http://{HOST}.:{port}/u101": None,
        f"http://{HOST}%00:{port}/u102": None,
        f"http://{HOST}%0d%0a:{port}/u103": None,
        f"http://{HOST} :{port}/u104": None,
        f"http://{HOST}\t:{port}/u105": "/u105",
        f"http://ho\nstile.test:{port}/u106": "/u106",
        f"http://{HOST}@evil.test:{port}/u107": None,
        f"http://evil.test:{port}#@{authority}/u108": None,
        f"http://evil.test:{port}\\@{authority}/u109": None,
        f"http://{authority}&@evil.test:{port}/u110": None,
        f"//evil.test:{port}/u111": None,
        f"/\\evil.test:{port}/u112": None,
        f"\\/evil.test:{port}/u113": None,
        f"/\t/evil.test:{port}/u114": None,
        f"http:///evil.test:{port}/u115": None,
        f"http://{HOST}.evil.test:{port}/u116": None,
        f"http://evil-{HOST}:{port}/u117": None,
        "/u118" + "x" * 7_000: "/u118" + "x" * 7_000,
        "/u119?" + "q" * 900: "/u119?" + "q" * 900,
        "/u120" + "x" * 9_000: None,
        "/u121/%2e%2e%2f%2e%2e%2fetc/passwd": "/u121/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/u122/..%5c..%5cx": "/u122/..%5c..%5cx",
        "/u123/...": "/u123/...",
        "/u124/....//x": "/u124/....//x",
        "/u125%u0041": "/u125%u0041",
        "/u126+": "/u126+",
        "/u127%20": "/u127%20",
        "/u128%c3%a9": "/u128%c3%a9",
        "/u129[]": "/u129[]",
        "/u130?[]": "/u130?[]",
        "./u131:x": "/dir/u131:x",
        "u132/": "/dir/u132/",
        ";u133": "/dir/;u133",
        "/u134/\u00a0": "/u134/%C2%A0",
        f"http://{HOST}:25/u135": None,
        f"http://{HOST}:6000/u136": None,
        f"http://{HOST}:0/u137": None,
        f"http://{HOST}:/u138": None,  # port 80: another site
        "/u139//../x": "/u139/x",
        "/u140/a/b/../../..//c": "//c",
        "/u141\u0301": "/u141%CC%81",
        "/u142/%": "/u142/%",
        "/u143?%E9%ff": "/u143?%E9%ff",
        "/u144?q=<script>alert(1)</script>": "/u144?q=%3Cscript%3Ealert(1)%3C/script%3E",
        "/u145?;rm -rf /;`id`$(id)|cat": "/u145?;rm%20-rf%20/;`id`$(id)|cat",
        "/u146/con/nul/aux.": "/u146/con/nul/aux.",
    }


MARKED = {
    "&#x2F;u201": "/u201",
    "&sol;u202": "/u202",
    "/u203&amp;x": "/u203&x",
    "/u204&NewLine;x": "/u204x",
    "/u205&Tab;x": "/u205x",
    "/u206&#0;x": "/u206%EF%BF%BDx",
    "&#106;avascript:/u207": None,
    "/u208?a=1&amp;lt;": "/u208?a=1&lt;",
    "/u209?a&lt=1": "/u209?a&lt=1",
    "/u210?a&ltx": "/u210?a&ltx",
    "/u211?a&lt;b": "/u211?a%3Cb",
    "/u212?a&copy;b": "/u212?a%C2%A9b",
    "/u213?a&not-one;b": "/u213?a%C2%AC-one;b",
    "/u214&#13;&#10;X-Injected: 1": "/u214X-Injected:%201",
    "&Tab;java&NewLine;script:/u215": None,
    "/u216&#xD800;": "/u216%EF%BF%BD",
}
"""References with character references in them, as they stand in the markup."""


@pytest.fixture(scope="module")
def resolved(tmp_path_factory: pytest.TempPathFactory) -> Lured:
    with Site() as site, Site() as other:
        found = references(f"{HOST}:{site.port}")
        items = [f'<p><a href="{html.escape(reference)}">x</a>' for reference in found]
        items += [f'<p><a href="{reference}">x</a>' for reference in MARKED]
        body = ("<!doctype html><meta charset=utf-8><title>/dir/page</title>" + "\n".join(items)).encode()
        site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
        # the last one is no text at all
        site.file("/dir/page", body + b'<a href="/u301\xed\xa0\x80\xff">x</a>', HTML, host=HOST)
        lay_out(site, ["/dir/page"])
        options = (*FAST, *at_host(site, HOST, f"{HOST}.", "evil.test", "*.evil.test", f"evil-{HOST}"))
        folder = tmp_path_factory.mktemp("resolved")
        return Lured(site, crawl(folder, [site.at("/", HOST)], *options, read_links=True), other)


def _cases() -> dict[str, str | None]:
    return references(f"{HOST}:99") | MARKED


@pytest.mark.parametrize("reference", _cases(), ids=lambda reference: re.findall(r"u\d+", reference)[-1])
def test_every_reference_leads_where_browsers_go(resolved: Lured, reference: str) -> None:
    asked = Counter(resolved.site.paths())
    target = _cases()[reference]
    if target is not None:
        assert asked[target] == 1, f"{target} was asked {asked[target]} times"
        return
    number = re.findall(r"u\d+", reference)[-1]
    stray = [path for path in asked if re.search(rf"{number}(?!\d)", path)]
    assert not stray, f"asked as {stray}"


def test_nothing_else_is_asked(resolved: Lured) -> None:
    assert_healthy(resolved.crawled, resolved.site)
    wanted = {target for target in _cases().values() if target is not None}
    wanted |= {"/", "/robots.txt", *GOOD, "/dir/page", "/u301%EF%BF%BD%EF%BF%BD%EF%BF%BD%EF%BF%BD"}
    assert set(resolved.site.paths()) == wanted
    assert {request.host for request in resolved.site.requests} == {HOST}
    hosts = {request.header("host") for request in resolved.site.requests}
    assert hosts == {f"{HOST}:{resolved.site.port}"}


def test_refused_addresses_say_why(resolved: Lured) -> None:
    reasons = Counter(page.reason for page in resolved.crawled.pages.values() if page.state is None)
    for reason in ("URL_TOO_LONG", "HAS_CREDENTIALS", "BAD_PORT", "OUT_OF_SCOPE"):
        assert reasons[reason], reasons
    recorded = {link.target.partition(":")[0] for link in resolved.crawled.links if not link.followed}
    assert {"javascript", "mailto", "tel", "file", "ftp"} <= recorded, recorded


# --- pages of other encodings, and their bases


def _paths_of(crawled: Crawled, site: Site, *left_out: str) -> set[str]:
    assert_healthy(crawled, site)
    return set(site.paths()) - {"/", "/robots.txt", *GOOD, *left_out}


def test_queries_are_written_in_the_encoding_of_their_page(tmp_path: Path, site: Site) -> None:
    """WHATWG URL, "query state": legacy encodings in queries, UTF-8 in paths, entities for what cannot be written."""

    def page(name: str, encoding: str, *links: str) -> None:
        body = f"<meta charset={encoding}>" + "".join(f"<a href='{link}'>x</a>" for link in links)
        site.file(f"/{name}", body.encode(encoding, "replace"), f"text/html; charset={encoding}", host=HOST)

    site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
    page("latin", "windows-1252", "/l1é?é", "/l2?&#x20AC;", "/l3?&#x017D;luť", "/l4?&#x4E2D;")
    page("cyrillic", "windows-1251", "/c1?я", "/c2/я?a=b")
    page("japanese", "shift_jis", "/j1?日", "/j2/日")
    page("wide", "utf-16-le", "/w1?é")
    lay_out(site, ["/latin", "/cyrillic", "/japanese", "/wide"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site))
    assert _paths_of(crawled, site, "/latin", "/cyrillic", "/japanese", "/wide") == {
        "/l1%C3%A9?%E9",
        "/l2?%80",
        "/l3?%8Elu?",  # what the page's own encoding could not hold was a question mark before it was sent
        "/l4?%26%2320013%3B",
        "/c1?%FF",
        "/c2/%D1%8F?a=b",
        "/j1?%93%FA",
        "/j2/%E6%97%A5",
        "/w1?%C3%A9",
    }


BASES = {
    "none": ("", "/b/none-x"),
    "folder": ("<base href='/f/'>", "/f/folder-x"),
    "file": ("<base href='/f/file'>", "/f/file-x"),
    "relative": ("<base href='sub/'>", "/b/sub/relative-x"),
    "up": ("<base href='../'>", "/up-x"),
    "two": ("<base href='/first/'><base href='/second/'>", "/first/two-x"),
    "target_first": ("<base target=_top><base href='/first/'>", "/first/target_first-x"),
    "empty": ("<base href=''>", "/b/empty-x"),
    "query": ("<base href='/f/g?h#i'>", "/f/query-x"),
    "javascript": ("<base href='javascript:1'><base href='/late/'>", "/b/javascript-x"),
    "data": ("<base href='data:,x'>", "/b/data-x"),
    "broken": ("<base href='http://'>", "/b/broken-x"),
    "other_host": ("<base href='http://elsewhere.test/'>", None),
    "private": ("<base href='http://127.0.0.1:{port}/'>", None),
    "credentials": ("<base href='http://user:word@{authority}/'>", None),
    "in_comment": ("<!-- <base href='/no/'> -->", "/b/in_comment-x"),
    "in_template": ("<template><base href='/no/'></template>", "/b/in_template-x"),
    "in_svg": ("<svg><base href='/no/'></svg>", "/b/in_svg-x"),
    "upper": ("<BASE HREF=/f/>", "/f/upper-x"),
    "slashes": ("<base href='//{authority}/f/'>", "/f/slashes-x"),
    "blanks": ("<base href='  /f/\n'>", "/f/blanks-x"),
    "after": ("", "/late/after-x"),
}
"""name: what stands in the head, and what the link NAME-x is then."""


def test_bases(tmp_path: Path, site: Site) -> None:
    authority = f"{HOST}:{site.port}"
    for name, (head, _) in BASES.items():
        head = head.replace("{authority}", authority).replace("{port}", str(site.port))
        after = "<base href='/late/'>" if name == "after" else ""
        body = f"<!doctype html><head>{head}</head><a href='{name}-x'>x</a>{after}"
        site.file(f"/b/{name}", body.encode(), HTML, host=HOST)
    site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
    lay_out(site, [f"/b/{name}" for name in BASES])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site, HOST, "elsewhere.test"))
    asked = _paths_of(crawled, site, *(f"/b/{name}" for name in BASES))
    assert asked == {target for _, target in BASES.values() if target is not None}
    assert {request.host for request in site.requests} == {HOST}


# --- one page under many spellings, and names


def test_spellings_of_one_page_are_one_page(tmp_path: Path, site: Site) -> None:
    """The default rules merge what is the same for every server, and ask once; the first spelling found is asked."""
    authority = f"{HOST}:{site.port}"
    spellings = [
        "/one",
        "/one#a",
        "/./one",
        "/x/../one",
        "/one#",
        f"http://{authority}/one",
        f"HTTP://{authority.upper()}/one",
        f"//{authority}/one",
        " /one ",
        "/o\nne",
        "/%6Fne",
        "/on%65",
        "\\one",
    ]
    site.page("/all", spellings, host=HOST)
    site.serve(lambda request: Response(html_page("one"), 404 if request.path == "/robots.txt" else 200))
    lay_out(site, ["/all"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site))
    assert _paths_of(crawled, site, "/all") == {"/one"}
    assert site.asked("/one") == 1


def test_international_names(tmp_path: Path, sites: Callable[..., Site]) -> None:
    """Names as IDNA has them (UTS 46, not transitional); what is no name is asked nowhere."""
    site = sites()
    names = {
        "bücher.test": "xn--bcher-kva.test",
        "BÜCHER2.test": "xn--bcher2-3ya.test",
        "faß.test": "xn--fa-hia.test",
        "日本.test": "xn--wgv71a.test",
        "пример.test": "xn--e1afmkfd.test",
        "a\u200db.test": None,
        "a\u202eb.test": None,
        "-a-.test": "-a-.test",
        "a_b.test": "a_b.test",
        "a..test": "a..test",
        "a b.test": None,
        "a%20b.test": None,
        "a%2Fb.test": None,
        "a%3A80.test": None,
    }
    links = [f"http://{name}:{site.port}/" for name in names]
    site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
    lay_out(site, links)
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, "--scope", "free", *at_host(site, "*.test", HOST))
    assert_healthy(crawled, site)
    assert {request.host for request in site.requests} - {HOST} == {name for name in names.values() if name}


def test_every_kind_of_link_is_told_apart(tmp_path: Path, site: Site) -> None:
    """DESIGN 6: the kinds that are followed, and those that are recorded only."""
    followed = {
        "a": "<a href=/k/a>x</a>",
        "area": "<map><area href=/k/area></map>",
        "iframe": "<iframe src=/k/iframe></iframe>",
        "refresh": "<meta http-equiv=refresh content='9;url=/k/refresh'>",
        "onclick": "<b onclick=\"location='/k/onclick'\">x</b>",
    }
    recorded = {
        "link": "<link rel=next href=/k/link>",
        "canonical": "<link rel=canonical href=/k/canonical>",
        "form": "<form action=/k/form></form>",
        "image": "<img src=/k/image>",
        "script": "<script src=/k/script></script>",
        "style": "<link rel=stylesheet href=/k/style>",
        "media": "<video src=/k/media></video>",
        "embed": "<embed src=/k/embed>",
    }
    body = "".join((*followed.values(), *recorded.values()))
    site.file("/kinds", f"<!doctype html><body>{body}".encode(), HTML, host=HOST)
    site.serve(lambda request: Response(html_page(request.path), 404 if request.path == "/robots.txt" else 200))
    lay_out(site, ["/kinds"])
    crawled = crawl(tmp_path, [site.at("/", HOST)], *FAST, *at_host(site), read_links=True)
    assert _paths_of(crawled, site, "/kinds") == {f"/k/{kind}" for kind in followed}
    source = site.at("/kinds", HOST)
    found = {link.kind: (link.target, link.followed) for link in crawled.links if link.source == source}
    wanted = {kind: (site.at(f"/k/{kind}", HOST), kind in followed) for kind in (*followed, *recorded)}
    assert found == wanted


@pytest.mark.parametrize("words", [("--reject", "."), ("--max-url", "64")])
def test_seeds_that_are_refused(site: Site, tmp_path: Path, words: tuple[str, ...]) -> None:
    """DESIGN section 6: a crawl that may ask none of its seeds has failed, and does not say that it is done."""
    seed = site.at(f"/{'long' * 20}")
    crawled = crawl(tmp_path, [seed], *words)
    assert (crawled.code, crawled.status.stop_reason, site.requests) == (1, "failed", [])
    assert [page.reason for page in crawled.pages.values()] in (["REJECTED"], ["URL_TOO_LONG"])
    with StoredCrawl(tmp_path / "crawl") as stored:
        story = story_of(stored, seed)
    assert story.seen and story.outcome == "refused" and story.reason in ("REJECTED", "URL_TOO_LONG")
