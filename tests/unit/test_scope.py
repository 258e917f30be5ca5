"""Scopes (T2, G3, R12; DESIGN section 6) and the expressions of --accept and --reject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.judge.scope import Patterns, ScopeRule, make_scope, suffix_of
from weft.spec import Scope

T2_SEEDS = [
    "http://foo1.domain.com/foo/a.htm",
    "http://foo2.foo1.domain.com/b.htm",
    "http://foo3.foo1.domain.com/c/d/e/f.htm",
]


def rule(scope: str, *seeds: str) -> ScopeRule:
    return make_scope(Scope(scope=scope), seeds)


def covered(scope: ScopeRule, *urls: str) -> list[bool]:
    return [scope.covers(url) for url in urls]


def test_host_is_the_union_of_the_seeds_sites() -> None:
    """R12: subdomains are other sites, so is another port; http and https are one on their default ports."""
    scope = rule("host", "https://example.org/a/b", "http://other.org:8080/")
    assert covered(scope, "http://example.org/", "https://example.org/x", "http://other.org:8080/y") == [True] * 3
    assert (
        covered(scope, "http://www.example.org/", "https://example.org:8443/", "http://other.org/", "http://org/")
        == [False] * 4
    )
    scope.allow_site("www.example.org")
    assert scope.covers("https://www.example.org/")
    assert scope.describe() == "host: example.org, other.org:8080, www.example.org"


def test_host_scope_of_the_seed_example() -> None:
    """T2 (003:86-95): the seeds-hosts-set."""
    scope = rule("host", *T2_SEEDS)
    assert (
        covered(scope, "http://foo1.domain.com/", "http://foo2.foo1.domain.com/x", "http://foo3.foo1.domain.com/")
        == [True] * 3
    )
    assert covered(scope, "http://domain.com/", "http://foo4.foo1.domain.com/") == [False] * 2


def test_seed_domain_scope_of_the_seed_example() -> None:
    """T2 (003:77-84): the seeds-domains-set of the example is foo1.domain.com."""
    scope = rule("seed-domain", *T2_SEEDS)
    assert scope.describe() == "seed-domain: foo1.domain.com"
    assert (
        covered(scope, "http://foo1.domain.com/", "http://foo9.foo1.domain.com/", "https://a.b.foo1.domain.com:81/")
        == [True] * 3
    )
    assert covered(scope, "http://domain.com/", "http://foo2.domain.com/", "http://xfoo1.domain.com/") == [False] * 3


def test_seed_domain_never_collapses_into_a_public_suffix() -> None:
    """T2: github.io is a host and a public suffix: the pages below it belong to others."""
    scope = rule("seed-domain", "https://github.io/", "https://a.github.io/")
    assert covered(scope, "https://github.io/x", "https://a.github.io/", "https://www.a.github.io/") == [True] * 3
    assert not scope.covers("https://b.github.io/")
    assert scope.describe() == "seed-domain: a.github.io, github.io"
    scope.allow_site("elsewhere.org")
    assert not scope.covers("https://elsewhere.org/")


def test_domain_is_each_seeds_registrable_domain() -> None:
    scope = rule("domain", "https://www.example.co.uk/x", "http://127.0.0.1:8000/", "https://me.github.io/")
    assert (
        covered(
            scope, "http://example.co.uk/", "https://a.b.example.co.uk:9/", "http://127.0.0.1/", "https://me.github.io/"
        )
        == [True] * 4
    )
    assert (
        covered(scope, "https://other.co.uk/", "https://co.uk/", "https://you.github.io/", "http://127.0.0.2/")
        == [False] * 4
    )
    scope.allow_site("www.example.com:8080")
    assert scope.covers("http://shop.example.com/")


def test_path_is_below_each_seeds_folder() -> None:
    """T2 (003:95-97): a seed at depth 1 stands for its whole host."""
    scope = rule(
        "path", "http://www.sample.com/path/index.html?x=/y/", "http://other.com/index.html", "http://third.com/a/b/"
    )
    assert (
        covered(scope, "http://www.sample.com/path/", "https://www.sample.com/path/x/y", "http://other.com/any/thing")
        == [True] * 3
    )
    assert covered(scope, "http://third.com/a/b/c", "http://third.com/a/b/") == [True] * 2
    outside = (
        "http://www.sample.com/",
        "http://www.sample.com/paths",
        "http://www.sample.com/path",
        "http://third.com/a/",
        "http://x.com/path/",
    )
    assert covered(scope, *outside) == [False] * 5
    scope.allow_site("sample.com")
    assert covered(scope, "http://sample.com/path/a", "http://third.com/a/") == [True, False]


def test_free_covers_all() -> None:
    assert covered(rule("free", "http://a.b/"), "http://c.d/", "https://[::1]:9/") == [True, True]


def test_suffix_covers_its_hosts() -> None:
    """G3: `.gov.si`, subdomains being sites of their own."""
    for text in ("suffix:gov.si", "suffix:.gov.si", "suffix:GOV.SI", "suffix: gov.si."):
        scope = rule(text, "http://evem.gov.si/")
        assert covered(scope, "http://gov.si/", "https://a.b.gov.si:81/x", "http://evem.gov.si/") == [True] * 3
        assert covered(scope, "http://xgov.si/", "http://gov.si.example.org/", "http://si/") == [False] * 3
        assert scope.describe() == "suffix:gov.si"
    assert suffix_of(Scope(scope="suffix:пример.рф")) == "xn--e1afmkfd.xn--p1ai"
    assert suffix_of(Scope()) == ""


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("hots", "did you mean host?"),
        ("", "is not known"),
        ("suffix:", "is no domain suffix"),
        ("suffix:a/b", "is no domain suffix"),
        ("suffix:10.0.0.1", "is no domain suffix"),
        ("suffix:a:80", "is no domain suffix"),
        ("host:x", "only suffix:NAME takes a name"),
        ("suffix:a b", "is no domain suffix"),
        ("suffix:user@x", "is no domain suffix"),
    ],
)
def test_a_wrong_scope_is_an_error_with_advice(text: str, says: str) -> None:
    with pytest.raises(SpecError, match=says.replace("?", r"\?")):
        rule(text)


@given(
    st.lists(
        st.sampled_from(["a.b.example.org", "b.example.org", "example.org", "github.io", "x.github.io", "co.uk"]),
        min_size=1,
    )
)
def test_a_seed_is_always_in_its_own_scope(hosts: list[str]) -> None:
    seeds = [f"http://{host}/d/e.html" for host in hosts]
    for name in ("host", "domain", "seed-domain", "path", "free"):
        scope = rule(name, *seeds)
        assert all(scope.covers(seed) for seed in seeds)
        assert scope.describe() == rule(name, *seeds).describe()


def test_expressions_are_searched() -> None:
    patterns = Patterns("reject", ("/private/", r"\.(php|asp)\b", "(?i)LOGIN"))
    assert patterns.found_in("http://a.b/private/x") == "/private/"
    assert patterns.found_in("http://a.b/x.php?y") == r"\.(php|asp)\b"
    assert patterns.found_in("http://a.b/login") == "(?i)LOGIN"
    assert patterns.found_in("http://a.b/public") is None
    assert not Patterns("accept", ())


@pytest.mark.parametrize("expression", ["(", "[z-a]", "a{2,1}", "*", r"(?=x)", r"\1", "(?P<n>a", "x{1001}"])
def test_a_bad_expression_is_an_error_that_shows_it(expression: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Issue 3 section 10: a bad regular expression."""
    with pytest.raises(SpecError) as raised:
        Patterns("accept", ("ok", expression))
    assert repr(expression) in str(raised.value) and "--accept" in str(raised.value)
    assert capfd.readouterr() == ("", ""), "the library says nothing by itself"


def test_expressions_take_linear_time() -> None:
    """Would not come to an end in an engine that backtracks."""
    assert Patterns("reject", ("(a+)+$",)).found_in("http://a.b/" + "a" * 5_000 + "!") is None
