"""What is asked and what not, before any request: the reasons of DESIGN section 6 in their order."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import Reason, SpecError
from weft.judge.admit import BAD_PORTS, FILE_EXTENSIONS, FILES, PAGE_EXTENSIONS, PAGES, Admission, extension_of
from weft.ports import Parent
from weft.records import ADMITTED, LinkKind
from weft.spec import CrawlSpec, Limits, Scope, Traps

SEED = "https://example.org/"
PARENT = Parent(SEED, 0, 0)


def admission(*seeds: str, limits: Limits | None = None, traps: Traps | None = None, **scope: object) -> Admission:
    spec = CrawlSpec(scope=Scope(**scope), limits=limits or Limits(), traps=traps or Traps())  # type: ignore[arg-type]
    return Admission(spec, seeds or (SEED,), 2025)


def reason(judge: Admission, url: str, parent: Parent | None = PARENT) -> Reason | None:
    return judge.judge_url(url, 1, parent).reason


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://example.org/a", None),
        ("http://example.org/a", None),
        ("mailto:someone@example.org", Reason.NOT_HTTP),
        ("javascript:void(0)", Reason.NOT_HTTP),
        ("ftp://example.org/a", Reason.NOT_HTTP),
        ("file:///etc/passwd", Reason.NOT_HTTP),
        ("data:text/html,x", Reason.NOT_HTTP),
        ("https://user:secret@example.org/a", Reason.HAS_CREDENTIALS),
        ("https://user@example.org/a", Reason.HAS_CREDENTIALS),
        ("https://example.org/~me@home", None),
        ("https://example.org/" + "a" * 9_000, Reason.URL_TOO_LONG),
        ("https://example.org:25/", Reason.BAD_PORT),
        ("https://example.org:8443/", Reason.OUT_OF_SCOPE),
        ("https://www.example.org/", Reason.OUT_OF_SCOPE),
        ("https://example.org/x.PDF", Reason.NOT_A_PAGE),
        ("https://example.org/a/b/a/b/a/b/", Reason.PATH_REPEATS),
    ],
)
def test_reasons(url: str, expected: Reason | None) -> None:
    assert reason(admission(), url) is expected


def test_the_order_of_reasons() -> None:
    """Where several hold, the first of the documented order is told."""
    judge = admission(same_scheme=True, reject=("bad",), accept=("good",), limits=Limits(max_url_b=100))
    long = "a" * 200
    steps = [
        (f"ftp://user@other.org:25/{long}/bad.pdf", Reason.NOT_HTTP),
        (f"http://user@other.org:25/{long}/bad.pdf", Reason.HAS_CREDENTIALS),
        (f"http://other.org:25/{long}/bad.pdf", Reason.URL_TOO_LONG),
        ("http://other.org:25/bad.pdf", Reason.BAD_PORT),
        ("http://other.org/bad.pdf", Reason.OUT_OF_SCOPE),
        ("http://example.org/bad.pdf", Reason.OTHER_SCHEME),
        ("https://example.org/bad.pdf", Reason.REJECTED),
        ("https://example.org/a/a/a/x.pdf", Reason.NOT_ACCEPTED),
        ("https://example.org/good/a/a/a/x.pdf", Reason.NOT_A_PAGE),
        ("https://example.org/good/ab/ab/ab", Reason.PATH_REPEATS),
        ("https://example.org/good", None),
    ]
    assert [(url, reason(judge, url)) for url, _ in steps] == steps


def test_reject_wins_and_seeds_pass_accept() -> None:
    """DESIGN section 6."""
    judge = admission(
        "https://example.org/start.pdf", "https://example.org/hidden", accept=("/news/",), reject=("hidden", "x$")
    )
    assert reason(judge, "https://example.org/start.pdf", None) is None
    assert reason(judge, "https://example.org/hidden", None) is Reason.REJECTED
    assert reason(judge, "https://example.org/news/1") is None
    assert reason(judge, "https://example.org/news/x") is Reason.REJECTED
    assert reason(judge, "https://example.org/other") is Reason.NOT_ACCEPTED
    assert judge.judge_url("https://example.org/news/x", 1, PARENT).detail == "x$"


def test_seeds_pass_the_traps_and_the_suffix() -> None:
    seed = "https://elsewhere.org/a/b/a/b/a/b/"
    judge = admission(seed, scope="suffix:gov.si")
    assert reason(judge, seed, None) is None
    assert reason(judge, "https://elsewhere.org/x") is Reason.OUT_OF_SCOPE
    assert judge.judge_waiting(seed, 1) is ADMITTED


def test_a_bad_port_is_asked_where_a_seed_names_it() -> None:
    judge = admission("http://example.org:6000/", scope="domain")
    assert reason(judge, "http://example.org:6000/x") is None
    assert reason(judge, "http://www.example.org:6000/x") is Reason.BAD_PORT
    assert {22, 25, 6667, 10080} <= BAD_PORTS and not {80, 443, 8080, 8443, 3000} & BAD_PORTS


def test_links_of_another_protocol_are_ignored_where_asked() -> None:
    """R12."""
    judge = admission(same_scheme=True, scope="domain")
    assert reason(judge, "http://example.org/x") is Reason.OTHER_SCHEME
    assert reason(judge, "https://example.org/x") is None
    assert reason(judge, "http://www.example.org/x") is Reason.OTHER_SCHEME, (
        "a site no seed names goes by the linking page"
    )
    assert reason(judge, "http://www.example.org/x", Parent("http://www.example.org/", 1, 0)) is None
    assert reason(admission(), "http://example.org/x") is None


def test_the_site_that_a_seed_redirects_to_belongs() -> None:
    """DESIGN section 6: scope host plus the host that a seed itself redirects to; kept over a resume."""
    judge = admission()
    assert reason(judge, "https://www.example.org/") is Reason.OUT_OF_SCOPE
    judge.seed_redirects_to("https://www.example.org/start", SEED)
    judge.seed_redirects_to("https://www.example.org/other", SEED)
    judge.seed_redirects_to("https://example.org/own", SEED)
    judge.seed_redirects_to("ftp://files.example.org/", SEED)
    judge.seed_redirects_to("https://user@cross.example.org/", SEED)
    assert reason(judge, "https://www.example.org/") is None
    assert judge.new_sites() == ["www.example.org"]
    assert judge.new_sites() == []
    later = admission()
    later.allow_site("www.example.org")
    assert reason(later, "https://www.example.org/") is None
    assert later.covers("https://www.example.org/x") and "www.example.org" in later.describe()


def test_a_seed_that_moves_to_https_takes_its_protocol_along() -> None:
    judge = admission("http://example.org/", same_scheme=True)
    judge.seed_redirects_to("https://example.org/", SEED)
    assert reason(judge, "https://example.org/x") is None
    names = judge.new_sites()
    later = admission("http://example.org/", same_scheme=True)
    for name in names:
        later.allow_site(name)
    assert reason(later, "https://example.org/x") is None


def test_seeds_may_be_added_later() -> None:
    """`weft add`."""
    judge = admission()
    assert reason(judge, "https://more.org/x") is Reason.OUT_OF_SCOPE
    judge.add_seed("https://more.org/")
    assert reason(judge, "https://more.org/x") is None


def test_path_scope_looks_at_every_path() -> None:
    judge = admission("https://example.org/docs/index.html", scope="path")
    assert [reason(judge, f"https://example.org/{path}") for path in ("docs/x", "blog/x", "docs/y")] == [
        None,
        Reason.OUT_OF_SCOPE,
        None,
    ]


@pytest.mark.parametrize(
    ("path", "extension"),
    [
        ("/a.pdf", "pdf"),
        ("/a.PDF?x=1", "pdf"),
        ("/a.tar.gz", "gz"),
        ("/page.html.gz", "gz"),
        ("/a.pdf;jsessionid=1", "pdf"),
        ("/", ""),
        ("", ""),
        ("/a", ""),
        ("/a.pdf/", ""),
        ("/a.pdf/b", ""),
        ("/a?file=b.pdf", ""),
        ("/.zip", ""),
        ("/v1.2", ""),
        ("/john.livingstone", ""),
        ("/wiki/File:Map.png", ""),
        ("/a.b-c", ""),
        ("/a.", ""),
        ("/x.mp3", "mp3"),
        ("/a.html", "html"),
    ],
)
def test_extensions(path: str, extension: str) -> None:
    """E22, DESIGN section 6: by the last path segment only; never the host (`example.zip`) nor the query."""
    url = f"https://example.zip{path}"
    assert extension_of(url, url.find("/", 8)) == extension


def test_files_are_no_pages() -> None:
    judge = admission()
    files = ("a.jpg", "a.zip", "a.mp4", "a.docx", "a.woff2", "a.exe", "a.css", "a.html.gz", "A.ISO")
    assert {reason(judge, SEED + name) for name in files} == {Reason.NOT_A_PAGE}
    pages = (
        "a",
        "a.html",
        "a.php",
        "a.xml",
        "a.json",
        "a.txt",
        "a.md",
        "Node.js",
        "example.com",
        "wiki/File:A.jpg",
        "a.jpg/",
    )
    assert {name: reason(judge, SEED + name) for name in pages} == dict.fromkeys(pages)
    assert not FILE_EXTENSIONS & PAGE_EXTENSIONS


def test_html_only_follows_page_extensions_alone() -> None:
    """R8: links to files with other extensions are not followed (mode graph)."""
    judge = admission(html_only=True)
    assert {reason(judge, SEED + name) for name in ("a.txt", "a.xml", "a.js", "a.pdf")} == {Reason.NOT_A_PAGE}
    pages = ("", "a", "a/", "a.html", "a.HTM", "a.aspx", "a.php?x=y.txt", "v1.2")
    assert {reason(judge, SEED + name) for name in pages} == {None}


def test_links_by_kind_nofollow_depth_and_hops() -> None:
    """R2, E17, DESIGN section 6: these reasons belong to the link; another one may bring its target in."""
    judge = admission(max_depth=2, limits=Limits(max_redirects=10))
    a, image, redirect, sitemap = (
        LinkKind.A.value,
        LinkKind.IMAGE.value,
        LinkKind.REDIRECT.value,
        LinkKind.SITEMAP.value,
    )
    assert judge.judge_link(a, "", False, 2, 0, SEED, SEED) is ADMITTED
    assert judge.judge_link(image, "nofollow", True, 9, 99, SEED, SEED).reason is Reason.KIND_NOT_FOLLOWED
    assert judge.judge_link(a, "noopener NoFollow", False, 9, 0, SEED, SEED).reason is Reason.NOFOLLOW
    assert judge.judge_link(a, "", True, 1, 0, SEED, SEED).reason is Reason.NOFOLLOW
    assert judge.judge_link(a, "nofollowers", False, 1, 0, SEED, SEED) is ADMITTED
    assert judge.judge_link(redirect, "", True, 1, 1, SEED, SEED) is ADMITTED
    assert judge.judge_link(sitemap, "", True, 1, 0, SEED, SEED) is ADMITTED
    assert judge.judge_link(a, "", False, 3, 0, SEED, SEED).reason is Reason.TOO_DEEP
    assert judge.judge_link(redirect, "", False, 0, 10, SEED, SEED) is ADMITTED
    assert judge.judge_link(redirect, "", False, 0, 11, SEED, SEED).reason is Reason.TOO_MANY_REDIRECTS
    follows = admission(follow=("a", "link"), follow_nofollow=True)
    assert follows.judge_link(a, "nofollow", True, 9, 0, SEED, SEED) is ADMITTED
    assert follows.judge_link(LinkKind.LINK.value, "", False, 9, 0, SEED, SEED) is ADMITTED
    assert follows.judge_link(LinkKind.FRAME.value, "", False, 9, 0, SEED, SEED).reason is Reason.KIND_NOT_FOLLOWED


def test_wrong_specifications_are_errors() -> None:
    with pytest.raises(SpecError, match=r"did you mean canonical\?"):
        admission(follow=("cannonical",))
    with pytest.raises(SpecError, match="--reject"):
        admission(reject=("(",))


def test_hosts_that_the_user_named_have_no_budget() -> None:
    """E20: a thousand seeds below one domain are no trap."""
    seeds = [f"https://h{n}.example.org/" for n in range(30)]
    for scope in ("host", "domain"):
        judge = admission(*seeds, scope=scope, traps=Traps(hosts_per_domain=3))
        assert {reason(judge, f"{seed}x") for seed in seeds} == {None}
    assert [reason(judge, f"https://new{n}.example.org/") for n in range(4)] == [
        None,
        None,
        None,
        Reason.HOSTS_PER_DOMAIN,
    ]


def test_trap_budgets_survive_a_restart() -> None:
    first, second = (admission(traps=Traps(slash_aliases=1)) for _ in range(2))
    assert reason(first, "https://example.org/a//b") is None
    assert reason(first, "https://example.org/a///b") is None
    second.load(first.dump())
    assert reason(second, "https://example.org/a////b") is Reason.SLASH_ALIASES


def test_what_is_learnt_refuses_what_waits() -> None:
    judge = admission(traps=Traps(duplicates_only=2))
    assert not judge.is_suspect(1)
    for n in range(16):
        judge.fetched(f"https://example.org/x/{n}", 1, 7)
        judge.linked(f"https://example.org/x/{n}", 1, 1, [], [SEED])
    assert judge.is_suspect(1)
    assert judge.judge_waiting("https://example.org/x/9", 1).reason is Reason.DUPLICATES_ONLY
    assert judge.chain_of("https://example.org/x/9", Parent("https://example.org/x/8", 4, 2)) == 3


@given(st.text(max_size=80))
def test_any_text_gets_a_verdict(text: str) -> None:
    """Hostile input never raises."""
    judge = admission(scope="domain")
    for url in (text, f"http:{text}", f"https://{text}", f"https://example.org/{text}"):
        assert judge.judge_url(url, 1, PARENT).reason in (None, *Reason)


def test_the_documentation_names_every_rule_and_extension() -> None:
    """STYLE section 8: an undocumented setting or reason fails the tests; defaults are the ones that run."""
    text = (Path(__file__).parents[2] / "docs/traps.md").read_text(encoding="utf-8")
    words = " ".join(text.split())
    for name in Traps.__struct_fields__:
        option = "query-size" if name == "query_b" else name.replace("_", "-")
        assert f"| `--trap-{option}` | {getattr(Traps(), name)} |" in text, name
    elsewhere = {Reason.NOT_A_URL, Reason.SITE_PAGES, Reason.SITE_TIME, Reason.MAX_FILES}
    assert [reason for reason in Reason if f"`{reason}`" not in text and reason not in elsewhere] == []
    for kind, extensions in FILES.items():
        assert f"- {kind}: {extensions}" in words
    assert PAGES in words
