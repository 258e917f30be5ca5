"""Cookies stay with the origin that set them (promise 8)."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.fetch import cookies
from weft.fetch.cookies import CookieJar, CookieRow, parse_cookie_date, parse_set_cookie

NOW = 1_800_000_000.0
URL = "https://www.example.org/dir/page?x=/y/"


def jar_with(*lines: str, url: str = URL) -> CookieJar:
    jar = CookieJar()
    jar.store(url, lines, NOW)
    return jar


def test_a_cookie_goes_back_where_it_came_from_and_nowhere_else() -> None:
    """Promise 8: not to another scheme, port, parent, child or neighbour, whatever Domain says."""
    jar = jar_with("id=1; Path=/; Domain=example.org")
    assert jar.header_for("https://www.example.org/", NOW) == "id=1"
    for url in (
        "http://www.example.org/",
        "https://www.example.org:8443/",
        "https://example.org/",
        "https://a.www.example.org/",
        "https://other.org/",
        "https://xwww.example.org/",
        "https://www.example.org.evil.test/",
    ):
        assert jar.header_for(url, NOW) is None


@pytest.mark.parametrize(
    "line",
    [
        "a=1; Domain=other.org", "a=1; Domain=ample.org", "a=1; Domain=org", "a=1; Domain=.org",
        "a=1; Domain=sub.www.example.org", "", "=", ";", " ; Path=/",
        "__Host-a=1; Secure; Path=/x", "__Host-a=1; Path=/", "__host-a=1; Secure; Path=/; Domain=www.example.org",
        "__Secure-a=1", "=__Secure-a=1", "a=\x01", "a=1\x00; Path=/", "a" * 4_097 + "=1", "a=" + "b" * 4_096,
        "x" * 100_000,
    ],
)  # fmt: skip
def test_cookies_that_are_refused(line: str) -> None:
    assert jar_with(line).header_for("https://www.example.org/dir/page", NOW) is None


@pytest.mark.parametrize(
    ("line", "header"),
    [
        ("a=1", "a=1"), ("a = 1 ; HttpOnly", "a=1"), ("a=b=c", "a=b=c"), ("alone", "alone"), ("=alone", "alone"),
        ("a=", "a="), ('a="q; r"', 'a="q'), ("a=1; Domain=.example.org", "a=1"), ("a=1; Domain=", "a=1"),
        ("__Host-a=1; Secure; Path=/", "__Host-a=1"), ("__Secure-a=1; Secure", "__Secure-a=1"),
        ("a=1; Max-Age=60", "a=1"), ("a=1; Expires=nonsense", "a=1"), ("a=1; Max-Age=x; SameSite=None", "a=1"),
        ("a=1; Max-Age=99999999999999999999999", "a=1"), ("a=\xe9\xff", "a=\xe9\xff"), ("a=1; path=relative", "a=1"),
    ],
)  # fmt: skip
def test_cookies_that_are_kept(line: str, header: str) -> None:
    assert jar_with(line).header_for("https://www.example.org/dir/page", NOW) == header


def test_plain_http_sets_no_secure_cookie() -> None:
    assert jar_with("a=1; Secure", url="http://www.example.org/").header_for("http://www.example.org/", NOW) is None


@pytest.mark.parametrize(
    ("cookie_path", "path", "sent"),
    [
        ("/", "/", True), ("/", "/a/b", True), ("/a", "/a", True), ("/a", "/a/", True), ("/a", "/a/b?c", True),
        ("/a", "/ab", False), ("/a/", "/a", False), ("/a/", "/a/b", True), ("/A", "/a", False), ("/a", "/", False),
        ("/a", "/?/a", False),
    ],
)  # fmt: skip
def test_paths(cookie_path: str, path: str, sent: bool) -> None:
    jar = jar_with(f"a=1; Path={cookie_path}")
    assert (jar.header_for(f"https://www.example.org{path}", NOW) is not None) is sent


def test_without_a_path_the_folder_of_the_request_counts() -> None:
    jar = jar_with("a=1")
    assert jar.header_for("https://www.example.org/dir/other", NOW) == "a=1"
    assert jar.header_for("https://www.example.org/", NOW) is None
    assert jar_with("a=1", url="https://www.example.org/page").header_for("https://www.example.org/", NOW) == "a=1"


def test_longer_paths_come_first_then_older_cookies() -> None:
    jar = jar_with("c=1; Path=/", "b=1; Path=/dir", "a=1; Path=/", "c=2; Path=/")
    assert jar.header_for(URL, NOW) == "b=1; c=2; a=1"


def test_cookies_end() -> None:
    jar = jar_with("a=1; Max-Age=10", "b=1; Expires=Fri, 15 Jan 2027 08:00:30 GMT", "c=1; Max-Age=5; Expires=x")
    assert jar.header_for(URL, NOW) == "a=1; b=1; c=1"
    assert jar.header_for(URL, NOW + 7) == "a=1; b=1"
    assert jar.header_for(URL, NOW + 12) == "b=1"
    assert jar.header_for(URL, NOW + 40) is None


@pytest.mark.parametrize("end", ["Max-Age=0", "Max-Age=-1", "Expires=Thu, 01 Jan 1970 00:00:00 GMT"])
def test_cookies_are_taken_back(end: str) -> None:
    jar = jar_with("a=1; Path=/", f"a=; Path=/; {end}")
    assert jar.header_for(URL, NOW) is None
    assert jar.dump() == [CookieRow("https://www.example.org", "/", "a", None, None)]


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0), ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777.0),
        ("Sun Nov  6 08:49:37 1994", 784_111_777.0), ("06 nov 69 8:9:7", 3_150_950_947.0),
        ("32 Jan 2020 00:00:00", None), ("1 Jan 1600 00:00:00", None), ("1 Jan 2020 24:00:00", None), ("", None),
        ("tomorrow", None),
    ],
)  # fmt: skip
def test_dates(text: str, at: float | None) -> None:
    assert parse_cookie_date(text) == at


@given(st.text(max_size=300), st.sampled_from([URL, "http://[::1]:8080/", "http://a/"]))
@settings(max_examples=300)
def test_any_line_is_taken_or_refused_and_what_is_sent_is_one_line(line: str, url: str) -> None:
    parse_cookie_date(line)
    row = parse_set_cookie(line, url, NOW)
    jar = CookieJar()
    jar.store(url, [line], NOW)
    header = jar.header_for(url, NOW)
    if row is None:
        assert header is None
    if header is not None:
        assert not any(c in header for c in "\r\n\0;") and header == header.strip(" \t")


def test_everything_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    jar = CookieJar()
    for number in range(300):
        jar.store(URL, [f"n{number}=1; Path=/"], NOW)
    header = jar.header_for(URL, NOW)
    assert header is not None and header.count("=") == 50 and "n299=1" in header
    assert len(jar.dump()) == 300
    monkeypatch.setattr(cookies, "MAX_ORIGINS", 10)
    for number in range(50):
        jar.store(f"https://h{number}.test/", ["a=1"], NOW)
    assert jar.header_for("https://h49.test/", NOW) == "a=1"
    assert jar.header_for("https://h0.test/", NOW) is None
    monkeypatch.setattr(cookies, "MAX_TOTAL_B", 20_000)
    for number in range(50):
        jar.store(f"https://h{number}.test/", ["a=" + "x" * 4_000], NOW)
    assert jar._size_b <= 20_000


def test_what_is_sent_is_bounded() -> None:
    jar = jar_with(*(f"n{number}={'x' * 1_000}" for number in range(50)))
    header = jar.header_for(URL, NOW)
    assert header is not None and len(header) <= cookies.MAX_HEADER_B


def test_rows_go_to_the_database_and_come_back() -> None:
    jar = jar_with("a=1; Path=/", "b=2; Path=/; Max-Age=10")
    rows = jar.dump()
    assert jar.dump() == []
    again = CookieJar()
    again.load(rows, NOW)
    assert again.header_for(URL, NOW) == "a=1; b=2"
    assert again.dump() == []
    late = CookieJar()
    late.load(rows, NOW + 60)
    assert late.header_for(URL, NOW + 60) == "a=1"


NETSCAPE = """# Netscape HTTP Cookie File
#HttpOnly_.example.org\tTRUE\t/\tFALSE\t0\tall\t1

www.example.org\tFALSE\t/dir\tTRUE\t1900000000\tsecure\tčaj
old.example.org\tFALSE\t/\tFALSE\t1\tgone\t1
plain.test\tFALSE\t/\tFALSE\t0\tempty
"""


def test_the_users_file_speaks_for_its_domains() -> None:
    jar = CookieJar()
    jar.load_file(NETSCAPE)
    assert jar.header_for("http://example.org/", NOW) == "all=1"
    assert jar.header_for("http://a.b.example.org:81/", NOW) == "all=1"
    assert (
        jar.header_for("https://www.example.org/dir/", NOW) == "secure=" + "čaj".encode().decode("latin-1") + "; all=1"
    )
    assert jar.header_for("http://www.example.org/dir/", NOW) == "all=1"
    assert jar.header_for("http://old.example.org/", NOW) == "all=1"
    assert jar.header_for("http://plain.test/", NOW) == "empty="
    assert jar.header_for("http://sub.plain.test/", NOW) is None
    assert jar.header_for("http://notexample.org/", NOW) is None
    assert jar.header_for("http://org/", NOW) is None
    assert jar.dump() == []


@pytest.mark.parametrize("suffix", ["co.uk", "github.io", "test"])
def test_the_users_file_speaks_for_no_public_suffix(suffix: str) -> None:
    """RFC 6265bis 5.7: the hosts below it belong to strangers; a host of that very name is one's own."""
    jar = CookieJar()
    jar.load_file(f".{suffix}\tTRUE\t/\tFALSE\t0\tticket\t1\n")
    assert jar.header_for(f"http://a.{suffix}/", NOW) is None
    assert jar.header_for(f"http://{suffix}/", NOW) == "ticket=1"


def test_a_site_may_change_and_take_back_a_cookie_of_the_file() -> None:
    jar = CookieJar()
    jar.load_file(NETSCAPE)
    jar.store("http://example.org/", ["all=2; Path=/"], NOW)
    assert jar.header_for("http://example.org/", NOW) == "all=2"
    assert jar.header_for("http://www.example.org/", NOW) == "all=1"
    jar.store("http://www.example.org/", ["all=; Path=/; Max-Age=0"], NOW)
    assert jar.header_for("http://www.example.org/", NOW) is None


@pytest.mark.parametrize(
    "line",
    [
        "no tabs", "a.test\tTRUE\t/\tFALSE\t0", "a.test\tYES\t/\tFALSE\t0\tn\tv", "a.test\tTRUE\trel\tFALSE\t0\tn\tv",
        "\tTRUE\t/\tFALSE\t0\tn\tv", "a.test\tTRUE\t/\tFALSE\tnever\tn\tv", "a.test\tTRUE\t/\tFALSE\t0\tn\tv;w",
        "a.test\tTRUE\t/\tFALSE\t0\tn\t" + "v" * 5_000, "\x00\x01\x02",
    ],
)  # fmt: skip
def test_a_bad_line_of_the_file_is_named(line: str) -> None:
    with pytest.raises(SpecError, match=r"my\.txt, line 3"):
        CookieJar().load_file(f"# one\n\n{line}\n", "my.txt")
