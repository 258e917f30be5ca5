"""robots.txt: RFC 9309 in full, Google's matcher beyond it, and files made to hurt (G6, R7, E17, promise 3)."""

from __future__ import annotations

import gzip
import re
import sqlite3

import pytest
from conformance import handle
from hypothesis import given, settings
from hypothesis import strategies as st
from ops_robots import path_of
from vectors import answer_to, vectors

from weft.clock import Clock
from weft.db.schema import TABLES
from weft.errors import Cause
from weft.fetch.robots import (
    ALLOW_ALL,
    DISALLOW_ALL,
    MAX_BODY_B,
    MAX_PIECES,
    MAX_WILD,
    LineKind,
    Meaning,
    Robots,
    RuleSet,
    meaning_of_status,
    product_token,
)
from weft.fetch.robots.gate import FRESH_MS, RobotsGate
from weft.ports import Ask, Hold, Learnt, Pass, Refuse
from weft.records import Fetched
from weft.spec import CrawlSpec
from weft.store.origins import StoredOrigins

_ITSELF = "/robots.txt itself: by RFC 9309, section 2.2.2 it is always allowed, and a crawl asks for it"
DIFFERENT = {
    "robots/allowed/00217": _ITSELF,
    "robots/allowed/00223": _ITSELF,
    "robots/allowed/00227": _ITSELF,
    "robots/other/00129": "401: legacy; RFC 9309, section 2.3.1.3 allows all on any 4xx, and newer cases ask for that",
    "robots/other/00130": "403: the same",
}


def agrees(got: object, expected: object) -> bool:
    """Suites differ in which of the three facts of a status they state: those that are stated must hold."""
    if isinstance(got, dict) and isinstance(expected, dict):
        return expected.items() <= got.items()
    return got == expected


@pytest.mark.parametrize("name", ["robots_allowed.jsonl", "robots_real.jsonl", "robots_other.jsonl"])
def test_vectors(name: str) -> None:
    """Google's, crawler-commons', Protego's, reppy's and others' own cases (G6)."""
    wrong = {str(case["id"]) for case in vectors(name) if not agrees(answer_to(case), case["expected"])}
    known = {str(case["id"]) for case in vectors(name)} & DIFFERENT.keys()
    assert wrong == known


def test_cases_may_begin_in_the_middle_of_a_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """The body of a real robots.txt is known from the public cases too."""
    monkeypatch.setattr("ops_robots._bodies", {})
    later = [case for case in vectors("robots_real.jsonl") if "body_b64" not in str(case["input"])][-5:]
    assert later and [answer_to(case) for case in later] == [case["expected"] for case in later]


def rules(text: str, agent: str = "weft") -> RuleSet:
    return Robots.parse(text.encode()).rules_for(agent)


def allowed(text: str, path: str, agent: str = "weft") -> bool:
    return rules(text, agent).check(path).allowed


class TestGroups:
    def test_own_group_replaces_the_group_of_all(self) -> None:
        """RFC 9309, section 2.2.1 (R7)."""
        text = "User-agent: *\nDisallow: /a\n\nUser-agent: weft\nDisallow: /b\n"
        assert allowed(text, "/a") and not allowed(text, "/b")
        assert not allowed(text, "/a", "other") and allowed(text, "/b", "other")

    def test_groups_of_one_token_are_merged_whatever_its_case(self) -> None:
        text = "User-agent: WEFT/2.0\nDisallow: /a\nUser-agent: x\nDisallow: /x\nUser-agent: Weft\nDisallow: /b\n"
        assert not allowed(text, "/a") and not allowed(text, "/b") and allowed(text, "/x")

    def test_token_is_matched_whole(self) -> None:
        assert allowed("User-agent: we\nDisallow: /\nUser-agent: weft-news\nDisallow: /", "/a")

    def test_other_lines_do_not_end_a_group(self) -> None:
        """Section 2.2.4."""
        text = "User-agent: weft\nSitemap: /s\nNoise: 1\nCrawl-delay: 2\nUser-agent: x\nDisallow: /a\n"
        assert not allowed(text, "/a") and not allowed(text, "/a", "x")

    def test_rules_before_any_group_bind_nobody(self) -> None:
        assert allowed("Disallow: /\nUser-agent: x\nDisallow: /", "/a")

    def test_empty_group_allows_all(self) -> None:
        assert allowed("User-agent: *\nDisallow: /\nUser-agent: weft", "/a")


class TestMatching:
    def test_longest_wins_and_allow_wins_ties(self) -> None:
        """Section 2.2.2."""
        text = "User-agent: *\nDisallow: /a/\nAllow: /a/b\nDisallow: /t\nAllow: /t\n"
        assert not allowed(text, "/a/c") and allowed(text, "/a/bc") and allowed(text, "/t")

    @pytest.mark.parametrize(
        ("pattern", "path", "matches"),
        [
            ("/*.php$", "/a/b.php", True),
            ("/*.php$", "/a/b.php?x", False),
            ("/*.php$", "/b.php/c.php", True),
            ("/a*b*c", "/a-b-c-d", True),
            ("/a*b*c", "/a-c-b", False),
            ("/a*$", "/abc", True),
            ("*/x", "/a/x", True),
            ("/a$b", "/a$bc", True),
            ("/ab*ab$", "/ab", False),
            ("/%7Ejoe/", "/~joe/a", True),
            ("/~joe/", "/%7ejoe/a", True),
            ("/a%2fb", "/a%2Fb", True),
            ("/a%2fb", "/a/b", False),
            ("/f-%2A.html", "/f-*.html", True),
            ("/f-%2A.html", "/f-x.html", False),
            ("/f-%24", "/f-$", True),
            ("/f-%24", "/f-", False),
            ("/caf\u00e9", "/caf%C3%A9", True),
            ("/a b", "/a%20b", True),
            ("/vol\u00e0", "/vol%C3%A0", True),
            ("/vol\u00e0", "/vol%C3%A9", False),
            ("/\u0421\u0421\u0421\u0420", "/%D0%A1%D0%A1%D0%A1%D0%9F", False),
            ("/\u0145", "/%C5%84", False),
            ("/{id}", "/%7Bid%7D", True),
            ("/?q={id}", "/?q={id}", True),
            ("/100%", "/100%", True),
            ("admin", "/admin", False),
            ("https://site.example/admin", "/admin", False),
            ("/Admin", "/admin", False),
        ],
    )
    def test_patterns(self, pattern: str, path: str, matches: bool) -> None:
        """Sections 2.2.2 and 2.2.3: specials, percent-encoding, case."""
        assert allowed(f"User-agent: *\nDisallow: {pattern}", path) is not matches

    @pytest.mark.parametrize(
        ("pattern", "path", "matches"),
        [
            ("/%62%61%7A", "/baz", False),
            ("/%62%61%7a", "/%62%61%7A", True),
            ("/baz", "/%62%61%7A", True),
            ("/*%7Ejoe$", "/a/%7ejoe", True),
            ("/*%7Ejoe$", "/a/~joe", False),
            ("/a%2fb", "/a%2Fb", True),
            ("/caf\u00e9", "/caf%c3%a9", True),
        ],
    )
    def test_an_allow_with_needless_escapes_holds_as_written(self, pattern: str, path: str, matches: bool) -> None:
        """Where RFC 9309 and Google's own tests differ, the stricter reading holds for both kinds of rule."""
        assert allowed(f"User-agent: *\nDisallow: /\nAllow: {pattern}", path) is matches

    def test_bytes_of_letters_are_no_blanks(self) -> None:
        """The A0 and 85 that end letters such as a-grave in UTF-8 neither end a value nor cut a word in two."""
        assert not allowed("User-agent: *\nDisallow /\u00e0/b", "/%C3%A0/b")
        assert not allowed("User-agent: *\nDisallow: /\nAllow: /vol\u00e0", "/vol%C3%A9")

    def test_verdict_names_line_and_rule(self) -> None:
        """What ``weft why`` shows (promise 11)."""
        verdict = rules("# hello\r\nUser-agent: *\r\n\r\nDisallow: /private/ # no\r\n").check("/private/x")
        assert verdict == (False, 4, "Disallow: /private/")
        assert rules("User-agent: *\nDisallow: /a").check("/b") == (True, None, "")

    def test_robots_txt_itself_is_always_allowed(self) -> None:
        text = "User-agent: *\nDisallow: /"
        assert allowed(text, "/robots.txt") and DISALLOW_ALL.check("/robots.txt").allowed
        given = {"robots": text.encode(), "agent": "weft", "url": "http://example.org/robots.txt"}
        assert handle("robots.allowed", given) is True
        assert handle("robots.allowed", given | {"url": "http://example.org/"}) is False

    def test_all_or_nothing(self) -> None:
        assert ALLOW_ALL.check("/a").allowed and not DISALLOW_ALL.check("/a").allowed

    def test_index_page_stands_for_its_folder(self) -> None:
        text = "User-agent: *\nDisallow: /\nAllow: /docs/index.html"
        assert allowed(text, "/docs/") and not allowed(text, "/docs/a")


class TestLines:
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    def test_line_ends(self, end: str) -> None:
        text = end.join(["User-agent: *", "", "Disallow: /a", "Disallow: /b"])
        assert rules(text).check("/b").line == 4

    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
    def test_encodings(self, encoding: str) -> None:
        body = "User-agent: *\nDisallow: /caf\u00e9\nSitemap: http://a.example/s.xml\n".encode(encoding)
        robots = Robots.parse(body)
        assert not robots.rules_for("weft").check("/caf%C3%A9").allowed
        assert robots.sitemaps == ("http://a.example/s.xml",)

    def test_packed_without_a_word(self) -> None:
        """Promise 3: what a server forgot to name is no leave to ask everything."""
        body = gzip.compress(b"User-agent: *\nDisallow: /a\n" + b"#" * (3 * MAX_BODY_B))
        robots = Robots.parse(body)
        assert not robots.rules_for("weft").check("/a").allowed
        assert [line.kind for line in robots.explain_lines("weft")][:2] == [LineKind.GROUP, LineKind.DISALLOW]
        assert Robots.parse(b"\x1f\x8bUser-agent: *\nDisallow: /a\n").rules_for("weft").check("/b").allowed

    @pytest.mark.parametrize(
        "key", ["disallow", "DISALLOW", "dissallow", "dissalow", "disalow", "diasllow", "disallaw"]
    )
    def test_misspellings(self, key: str) -> None:
        assert not allowed(f"useragent: *\n{key}: /a", "/a")

    def test_missing_colon(self) -> None:
        assert not allowed("User-agent *\nDisallow /a", "/a")
        assert allowed("User-agent *\nDisallow /a b", "/a")

    def test_sitemap_lines_are_kept_raw_and_in_order(self) -> None:
        """G6."""
        text = "Sitemap: /a.xml\nsitemap:http://b.example/\nSite-map: //c.example\nSitemap http://d.example/s\nSitemap:"
        expected = ("/a.xml", "http://b.example/", "//c.example", "http://d.example/s")
        assert Robots.parse(text.encode()).sitemaps == expected


class TestDelay:
    @pytest.mark.parametrize(
        ("value", "seconds"),
        [("10", 10.0), ("0.5", 0.5), ("1,5", 1.5), (".5", 0.5), ("3 seconds", 3.0), ("0", 0.0), ("x", None)]
        + [(value, None) for value in ("-1", "", "nan", "one")]
        + [("9" * 5000, 1e9)],
    )
    def test_values(self, value: str, seconds: float | None) -> None:
        """E17."""
        assert rules(f"User-agent: *\nCrawl-delay: {value}").crawl_delay_s == seconds

    def test_binds_only_the_agents_right_above(self) -> None:
        text = (
            "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nCrawl-delay: 2\nUser-agent: *\nDisallow: /x\nCrawl-delay: 3"
        )
        assert [rules(text, agent).crawl_delay_s for agent in ("a", "b", "c")] == [1.0, 2.0, 3.0]

    def test_longest_counts(self) -> None:
        text = "User-agent: weft\nCrawl-delay: 9\nDisallow: /a\nUser-agent: weft\nCrawl-delay: 4"
        assert rules(text).crawl_delay_s == 9.0

    def test_own_group_without_delay_has_none(self) -> None:
        assert (
            rules("User-agent: *\nCrawl-delay: 5\nDisallow: /a\nUser-agent: weft\nDisallow: /b").crawl_delay_s is None
        )


@pytest.mark.parametrize(
    ("statuses", "meaning"),
    [
        ([200, 203, 299], Meaning.PARSE),
        ([400, 401, 403, 404, 410, 418, 429, 451, 499], Meaning.ALLOW_ALL),
        ([0, 101, 301, 302, 307, 500, 502, 503, 504, 599, 999], Meaning.UNREACHABLE),
    ],
)
def test_status(statuses: list[int], meaning: Meaning) -> None:
    """Promise 3: 4xx allows, 5xx and unreachable disallows, an endless redirect too."""
    assert {meaning_of_status(status) for status in statuses} == {meaning}


def test_product_token() -> None:
    assert product_token("weft/1.0 (+https://example.org)") == "weft"
    assert product_token("my_bot-x 2") == "my_bot-x" and product_token("2bot") == ""


HOSTILE = {
    "one pattern of stars": b"User-agent: *\nDisallow: /" + b"*a" * 300_000,
    "patterns of stars": b"User-agent: *\n" + b"".join(b"Disallow: /x*a*a*a*%d*b$\n" % i for i in range(25_000)),
    "a million lines": b"\n" * 1_000_000,
    "many agents, many rules": b"".join(b"User-agent: a%s\n" % (b"b" * (i % 300)) for i in range(3_000))
    + b"Disallow: /x\nCrawl-delay: 3\n" * 6_000,
    "junk": bytes(range(256)) * 2_000,
    "zeros": b"\0" * 600_000,
    "a page": b"<!DOCTYPE html><html><body>" + b"<p>Disallow: / is what I say</p>\r\n" * 20_000,
    "one line": b"Disallow: /" + b"a" * 600_000,
    "colons": b":" * 600_000,
    "escapes": b"User-agent: *\nDisallow: /" + b"%41%zz" * 90_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_read(name: str) -> None:
    """Issue 3, section 10: huge and odd robots.txt files cost little and raise nothing."""
    robots = Robots.parse(HOSTILE[name])
    verdict = robots.rules_for("weft").check("/" + "a" * 2_000)
    assert verdict.allowed
    assert robots.rules_for("weft").check("/").allowed


def test_too_many_wildcards_are_taken_strictly() -> None:
    """A bound on the work of each check never allows more than the file does."""
    lines = [f"Disallow: /w/*{i}x" for i in range(MAX_WILD)]
    check = rules("\n".join(["User-agent: *", *lines, "Disallow: /late/*.php$", "Allow: /late/*ok.php$"])).check
    assert check("/w/other").allowed and not check("/w/7x").allowed
    assert not check("/late/a.php").allowed and not check("/late/ok.php").allowed and check("/else").allowed


def test_patterns_of_many_wildcards_each_are_bounded_together() -> None:
    """Two thousand lines of a hundred stars each took a fiftieth of a second for every URL of the site."""
    stars = "*a" * 100
    lines = [f"Disallow: /{name}/{stars}{i}$" for name in ("early", "late") for i in range(MAX_PIECES // 100)]
    check = rules("\n".join(["User-agent: *", *lines])).check
    assert check("/early/" + "a" * 200).allowed and not check("/early/" + "a" * 200 + "7").allowed
    assert not check("/late/x").allowed and check("/else").allowed
    assert rules(f"User-agent: *\nDisallow: /{'*a' * 8_000}b").check("/" + "a" * 8_100).allowed  # one line means itself


def test_only_the_first_500_kib_count_and_no_half_rule() -> None:
    """Promise 3; half a rule would be another rule."""
    start = b"User-agent: *\nDisallow: /early\n"
    filler = b"#" * (MAX_BODY_B - len(start) - 1 - len(b"Disallow: /l")) + b"\n"
    body = start + filler + b"Disallow: /late\nDisallow: /later\n"
    for cut in (body, body[:MAX_BODY_B]):
        check = Robots.parse(cut).rules_for("weft").check
        assert not check("/early").allowed and check("/late").allowed and check("/l").allowed


class TestExplained:
    TEXT = (
        "\ufeff# our rules\nUser-agent: *\nDisallow: /all\n\nUser-agent: weft\nDisallow: /a\nAllow:\nDisallow: x\n"
        "Crawl-delay: 3\nSitemap: http://a.example/s\nHost: a\njust words here\nUser-agent: other\nDisallow: /b"
    )

    def test_every_line_has_a_meaning(self) -> None:
        """``weft robots URL`` tells line by line what weft makes of it (issue 3, section 2)."""
        lines = Robots.parse(self.TEXT.encode()).explain_lines("weft")
        assert [line.line for line in lines] == list(range(1, 15))
        kinds = " ".join(line.kind for line in lines[:8])
        assert kinds == "comment group disallow blank group disallow allow disallow"
        kinds = " ".join(line.kind for line in lines[8:])
        assert kinds == "crawl-delay sitemap ignored ignored group disallow"
        assert [line.line for line in lines if line.applies] == [5, 6, 9, 10]
        assert all(line.note for line in lines if line.kind not in (LineKind.BLANK, LineKind.COMMENT))

    def test_agrees_with_the_rules(self) -> None:
        robots = Robots.parse(self.TEXT.encode())
        for agent in ("weft", "other", "nobody"):
            explained = {
                line.line
                for line in robots.explain_lines(agent)
                if line.applies and line.kind in (LineKind.ALLOW, LineKind.DISALLOW)
            }
            assert explained == {rule.line for rule in robots.rules_for(agent).rules if rule.pattern[0] in "/*"}

    def test_says_what_is_past_the_bound(self) -> None:
        last = Robots.parse(b"#\n" * MAX_BODY_B).explain_lines("weft")[-1]
        assert last.kind is LineKind.IGNORED and "500 KiB" in last.note


LINES = st.sampled_from(
    (
        *("User-agent: *", "User-agent: weft", "User-agent: x", "Crawl-delay: 2", "Sitemap: /s", "# note", "", "noise"),
        *("Disallow: /", "Disallow: /a", "Allow: /a", "Disallow: /a*b", "Disallow:", "Allow: /*$", "Disallow: *b$"),
        "Allow: /%61b",
    )
)
PATHS = st.text("/ab%61$*?", max_size=8).map(lambda text: "/" + text)


@settings(max_examples=200)
@given(st.lists(LINES, max_size=14), PATHS)
def test_agrees_with_a_plain_reading_of_the_rfc(lines: list[str], path: str) -> None:
    """The fast matcher against patterns as regular expressions, all tried on both spellings, the longest taken."""
    found = Robots.parse("\n".join(lines).encode()).rules_for("weft")
    spellings = (path, path.replace("%61", "a"))
    matching = [
        rule
        for rule in found.rules
        if any(re.match(as_expression(rule.pattern), spelling, re.DOTALL) for spelling in spellings)
    ]
    best = max(matching, key=lambda rule: (len(rule.pattern), rule.allow), default=None)
    assert found.check(path).allowed is (best is None or best.allow)


def as_expression(pattern: str) -> str:
    anchored = pattern.endswith("$")
    pieces = (pattern[:-1] if anchored else pattern).split("*")
    return ".*".join(map(re.escape, pieces)) + (r"\Z" if anchored else "")


@settings(max_examples=200)
@given(st.binary(max_size=400), st.text(max_size=30))
def test_any_bytes_are_read(body: bytes, path: str) -> None:
    robots = Robots.parse(body)
    robots.rules_for("weft").check(path)
    robots.explain_lines("weft")


def test_paths_of_the_vectors() -> None:
    assert path_of("http://a.example?x=1#y") == "/?x=1" and path_of("//a.example/b") == "/b" and path_of("") == "/"


def test_a_file_that_asks_nothing_of_us_allows_all() -> None:
    assert ALLOW_ALL.allows_all and not DISALLOW_ALL.allows_all and not RuleSet(besides=DISALLOW_ALL).allows_all
    for text, expected in (
        (b"", True),
        (b"User-agent: other\nDisallow: /", True),
        (b"User-agent: *\nDisallow: /a", False),
    ):
        assert Robots.parse(text).rules_for_us("weft").allows_all is expected, text


def test_an_origin_that_forbids_nothing_passes_as_long_as_that_is_known() -> None:
    """For a day, or until it is given up; and no other origin with it."""
    now_s = 1_000.0
    connection = sqlite3.connect(":memory:")
    connection.executescript(TABLES)
    rules = RobotsGate(StoredOrigins(connection), CrawlSpec(), Clock(mono=lambda: now_s))

    def learn(url: str, status: int, body: bytes) -> None:
        asked = rules.check(url, 1)
        assert isinstance(asked, Ask) and isinstance(rules.check(url, 1), Hold)
        answer = Fetched(status, b"", (), body, body, False, 0, 0, "", "1.1")
        assert isinstance(rules.answered(asked.lease, answer, lambda _: 1), Learnt)

    open_page, closed_page = "http://h.test/a", "http://h.test.closed.test/a"
    learn(open_page, 404, b"")
    learn(closed_page, 200, b"User-agent: *\nDisallow: /a")
    for _ in range(2):
        assert isinstance(rules.check(open_page, 1), Pass)
        assert isinstance(rules.check(closed_page, 1), Refuse)
        assert isinstance(rules.check("https://h.test/a", 1), Ask | Hold)
    now_s += FRESH_MS / 1000
    learn(open_page, 404, b"")
    assert isinstance(rules.check(open_page, 1), Pass)
    rules.give_up("http://h.test", 1, Cause.CONNECT_FAILED)
    assert isinstance(rules.check(open_page, 1), Refuse)
