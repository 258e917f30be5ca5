"""The compiled parts say what their counterparts in Python say, or leave it to them (issue 4, section 1).

The reader of pages has tests of its own (``test_quick.py``).
"""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import sqlite3
from array import array
from collections.abc import Callable
from html import escape
from typing import cast

import msgspec
import pycurl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft import native
from weft.db import insert
from weft.fetch.cookies import CookieJar
from weft.fetch.http import Outcome, answer
from weft.fetch.http.connections import Connections
from weft.fetch.http.outcome import Outcomes
from weft.fetch.http.transfer import Transfer
from weft.frontier import links as frontier_links
from weft.frontier import runs
from weft.frontier.seen import ADMITTED, FINAL, HOPPED, UNKNOWN, pack, reach
from weft.judge.traps.marks import marks_in_python
from weft.observe import csv_lines
from weft.parse import content
from weft.parse.html import parse_page
from weft.records import Fetched, Lease, Link, LinkKind, Links
from weft.store import cdxj, warc, warc_heads
from weft.url import Resolver
from weft.url.resolving import _shared

pytestmark = pytest.mark.skipif(not native.is_there, reason="weft was set up without a C compiler")

lines = st.lists(
    st.sampled_from(
        [
            b"HTTP/1.1 200 OK\r\n", b"HTTP/1.0 404\r\n", b"HTTP/2 200 \r\n", b"HTTP/1.1 100 Continue\r\n",
            b"ICY 200 OK\r\n", b"Content-Type: text/html\r\n", b"content-length: 5\r\n", b"Content-Length:5 \r\n",
            b"Content-Length: 05\r\n", b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding : chunked\r\n",
            b"X-Odd:\t\xe0 \r\n", b" folded\r\n", b"no colon\r\n", b": no name\r\n", b"N\xc0: x\r\n", b"A: b\n",
            b"A: b\rc\r\n", b"Z: \0\r\n", b"\r\n", b"\n", b"", b"Server: a\r\n", b"SERVER:b\r\n", b"server:\r\n",
            b"Etag: \xe0\r\n", b"ETag: a\r\n", b"Server : a\r\n", b"Server: " + 300 * b"a" + b"\r\n",
            b"HTTP/1.1 400 Bad\r\n", b"Server: nginx\r\n", b"Content-Encoding: gzip\r\n", b"Set-Cookie: a=b\r\n",
            b"Content-Length: 99999999999999999999\r\n",
        ]
    ),
    max_size=6,
)  # fmt: skip


def in_python(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(native, name, None)


def test_digests_are_those_of_hashlib() -> None:
    if native.digest is None or native.digests is None:
        pytest.skip("this processor has no instructions for SHA-1")
    data = hashlib.shake_128(b"weft").digest(9_000)
    for head_b in (0, 1, 55, 56, 63, 64, 65, 127, 128, 300):
        for body_b in (0, 1, 8, 9, 54, 55, 56, 63, 64, 65, 119, 120, 128, 1_000, 8_700):
            head, body = data[:head_b], data[head_b : head_b + body_b]
            both = spelt(head + body)
            assert native.digests(head, body) == (spelt(body), both) and native.digest(head, body) == both


@given(st.lists(st.tuples(*[st.binary(max_size=200) | st.integers(0, 5_000).map(bytes)] * 3), max_size=20))
@example(
    [(bytes(at), bytes(size), bytes(at)) for at in (0, 1, 55, 56, 63, 64, 65) for size in (0, 1, 8, 9, 63, 64, 3_000)]
)
def test_digests_of_many_are_those_of_hashlib(exchanges: list[tuple[bytes, bytes, bytes]]) -> None:
    if native.wide_digests is None:
        pytest.skip("this processor has no wide registers")
    wanted = [(spelt(body), spelt(head + body), spelt(request)) for head, body, request in exchanges]
    assert native.wide_digests(exchanges) == wanted


def test_digests_of_a_group_are_used_where_they_are_right() -> None:
    """A head that is not kept as it is has another digest than the one that was made of it beforehand."""
    said = "http://h.test/", "2026-01-02T03:04:05Z", "", "", "", ("urn:uuid:1", "urn:uuid:2")
    for head in (b"HTTP/1.1 200 OK\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", b"broken"):
        exchange = head, b"body" * 100, b"GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"
        with pytest.MonkeyPatch.context() as monkeypatch:
            in_python(monkeypatch, "digests")
            [digests] = warc.digests_of([exchange])
            assert (digests is None) is (native.wide_digests is None)
        assert warc.exchange_records(*said, *exchange, digests) == warc.exchange_records(*said, *exchange)


def spelt(data: bytes) -> str:
    return "sha1:" + base64.b32encode(hashlib.sha1(data, usedforsecurity=False).digest()).decode()


plain = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=12)
odd = st.one_of(plain, st.text(st.sampled_from("a :\r\n\t\x7f\xe9\u2028\ud800"), max_size=4))
requests = st.one_of(
    st.just(b"GET / HTTP/1.1\r\nHost: h.test\r\n\r\n"),
    st.lists(
        st.sampled_from(
            [b"GET", b" ", b"/", b"x", b" HTTP/1.", b"0", b"1", b"2", b"\r\n", b"A: b\r\n", b":", b"\0", b"\n"]
        ),
        max_size=9,
    ).map(b"".join),
)


@given(
    url=odd, ip=odd, truncated=st.sampled_from(["", "length", "a\nb"]), request=requests, body=st.binary(max_size=99),
    head=st.one_of(st.just(b"HTTP/1.1 200 OK\r\n\r\n"), lines.map(b"".join)),
)  # fmt: skip
@example("http://h.test/", "127.0.0.1", "", b"GET / HTTP/1.1\r\n\r\n", b"", b"HTTP/1.1 200 OK\r\n\r\n")
@example("http://h.test/", "", "length", b"", b"<p>" * 999, b"HTTP/1.0 404\r\nContent-Length: 2997\r\n\r\n")
def test_records_are_written_alike(url: str, ip: str, truncated: str, request: bytes, body: bytes, head: bytes) -> None:
    for protocol in ("", "h2"):
        ids = "urn:uuid:1", "urn:uuid:2"
        said = url, "2026-01-02T03:04:05Z", ip, protocol, truncated, ids, head, body, request
        found = warc.exchange_records(*said)
        with pytest.MonkeyPatch.context() as monkeypatch:
            for name in ("digests", "digest", "exchange", "is_sound_answer"):  # one after the other is left to Python
                in_python(monkeypatch, name)
                assert warc.exchange_records(*said) == found


def test_a_plain_exchange_needs_no_python() -> None:
    assert native.exchange is not None
    texts = "http://h.test/a", "2026-01-02T03:04:05Z", "::1", "", "", ("urn:uuid:1", "urn:uuid:2")
    digests = "sha1:A", "sha1:B", "sha1:C"
    head, request = b"HTTP/1.1 200 OK\r\n\r\n", b"GET /a HTTP/1.1\r\nHost: h.test\r\n\r\n"
    assert native.exchange(*texts, head, b"body", request, digests) is not None
    if native.digests is not None:
        assert native.exchange(*texts, head, b"body", request, None) is not None
    for broken in (
        b"get / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.2\r\n\r\n",
        b"GET  HTTP/1.1\r\n\r\n",
        request[:-1],
        request + b"x",
    ):
        assert native.exchange(*texts, head, b"body", broken, digests) is None
    for broken in (head[:-1], head + b"x", b"HTTP/2 200\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"):
        assert native.exchange(*texts, broken, b"body", request, digests) is None


@pytest.mark.parametrize(
    ("at", "wrong"),
    [(0, b"u"), (5, ("urn:uuid:1",)), (5, None), (5, (1, 2)), (6, "head"), (8, None)],
)
def test_an_exchange_of_other_things_is_an_error(at: int, wrong: object) -> None:
    assert native.exchange is not None
    said: list[object] = ["u", "d", "", "", "", ("1", "2"), b"HTTP/1.1 200 OK\r\n\r\n", b"", b"", None]
    said[at] = wrong
    with pytest.raises(TypeError):
        native.exchange(*said)
    with pytest.raises(TypeError):
        native.exchange(*said[:-1])


heads = st.lists(
    st.sampled_from(
        [
            b"<meta ", b"<META\n", b"<meta", b"</meta ", b"<metadata ", b"charset=", b"CHARSET = ", b"utf-8", b"koi8-r",
            b"http-equiv=", b"content-type", b"Content-Type", b"content=", b'"', b"'", b" ", b"\t", b"/", b">", b"=",
            b";", b"<!--", b"-->", b"<!-->", b"<!DOCTYPE html>", b"<?xml ?>", b"<title>", b"</", b"<", b"<a href='x'>",
            b"text/html; charset=utf-8", b"charset", b"\0", b"\xe9", b"<!", b"x",
            b'<meta http-equiv="Content-Type" content="text/html; charset=iso-8859-1" />', b'<meta charset="">',
            b'<meta name="viewport" content="a=b">', b"<meta charset=x charset=y>", b"-", b"\x0b",
        ]
    ),
    max_size=12,
).map(b"".join)  # fmt: skip


@given(heads, st.integers(0, 40), st.sampled_from([0, 30, 1_024]))
@example(b"<", 0, 1_024)
@example(b"<meta charset=a\0b>", 0, 1_024)
def test_labels_of_encodings_are_found_alike(head: bytes, start: int, limit: int) -> None:
    assert native.meta_label is not None
    assert native.meta_label(head, start, limit) == content._meta_label(head, start, limit)


rows = st.lists(
    st.tuples(st.integers(0, 1 << 55), st.sampled_from(list(LinkKind)), st.text(max_size=12), st.text(max_size=3))
)


@given(rows)
@example([(1, LinkKind.A, '"\\\x00\x1f\x7f é\U0001f600', "#")])
def test_links_are_packed_as_msgspec_would(found: list[tuple[int, LinkKind, str, str]]) -> None:
    """As a page brings them: kinds in a header, texts of every kind in the anchors and fragments of its links."""
    markup = "".join(
        f'<a href="x#{escape(fragment)}" rel="{kind.name}">{escape(anchor)}</a>' for _, kind, anchor, fragment in found
    )
    quick, plain = (
        parse_page(markup.encode("utf-8", "replace"), "http://h.test/", "text/html; charset=utf-8") for _ in "ab"
    )
    infos, offered = [row[0] for row in found], bytearray(len(row[2]) % 2 for row in found)
    for links in (quick.links, plain.links):
        links.kinds.update({at: kind.value for at, (_, kind, _, _) in enumerate(found) if kind is not LinkKind.A})
    plain.links.unpack()
    if len(plain.links) == len(found):
        packed = [frontier_links.packed_links(links, infos, offered) for links in (quick.links, plain.links)]
        assert msgspec.json.decode(packed[0]) == msgspec.json.decode(packed[1])


def test_links_that_are_packed_are_links_like_others() -> None:
    markup = b"<a href=a rel=nofollow>one</a><img src=i alt='a &quot;b&quot;'><a href=b#c>two</a><a href='d#e f'></a>"
    links = parse_page(markup, "http://h.test/", "text/html").links
    assert links.ends and not links.anchors
    assert links.bare(0) == Link("http://h.test/a", LinkKind.A.value, "", "nofollow")
    assert list(links) == [
        Link("http://h.test/a", LinkKind.A.value, "one", "nofollow"),
        Link("http://h.test/i", LinkKind.IMAGE.value, 'a "b"'),
        Link("http://h.test/b", LinkKind.A.value, "two", "", "c"),
        Link("http://h.test/d", LinkKind.A.value, "", "", "e%20f"),
    ]
    again = msgspec.msgpack.decode(
        msgspec.msgpack.encode(parse_page(markup, "http://h.test/", "text/html").links), type=Links
    )
    assert again.ends and list(again) == list(links)
    again.add("http://h.test/z", LinkKind.A.value, "last")
    assert len(again) == 5 and again[4].anchor == "last" and again[2].fragment == "c"


@pytest.mark.parametrize("prefix", ["http://h.test/", "https://h.test/", "http://u:p@h.test/"])
def test_links_elsewhere_are_counted_alike(prefix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    targets = [
        "http://h.test/a", "https://h.test/", "http://h.test:81/", "http://x.h.test/a@b", "mailto:a@h.test",
        "http://é.test/", "http://u@h.test/", "http://x.test", "httpx:", "",
    ]  # fmt: skip
    for some in (targets, targets[:6], targets[:3]):
        with monkeypatch.context() as patched:
            found = frontier_links.Home(prefix).external_links(some)
            patched.setattr(frontier_links, "count_external", None)
            assert frontier_links.Home(prefix).external_links(some) == found


pieces = st.sampled_from(
    ["/", "//", "a", "b", "A", "..", ".", ";", "(", "+", ",", "|", "=", "%2b", "%2C", "%7c", "%25", "%", "?", "é", "%2",
     "x" * 60]
)  # fmt: skip


@given(
    st.lists(pieces, max_size=40), st.sampled_from(["http://h.test", "https://h", "http://é", ""]), st.integers(0, 40)
)
@example(["/a"] * 2, "http://h.test", 25)
@example([f"/{number}" for number in range(33)], "http://h.test", 99)
def test_urls_have_the_same_marks(path: list[str], origin: str, most: int) -> None:
    assert native.url_marks is not None
    url = origin + "".join(path)
    assert native.url_marks(url, most) == marks_in_python(url, most)


texts = st.sampled_from(["http://h.test/a", "http://h.test/b?c=d", "http://h.test", "mailto:é@h.test", "", "é", "\0"])
facts = st.builds(
    pack, st.integers(1, 99), st.integers(0, 9), st.sampled_from([0, ADMITTED, FINAL, HOPPED, ADMITTED | HOPPED])
)


found_links = st.builds(
    Link, texts, st.sampled_from([1, 1, 3, 10, 12]), st.just(""),
    st.sampled_from(["", "", "nofollow", "next", "nofollows", "ugc\xa0nofollow", "\ud800 nofollow"]),
)  # fmt: skip


@given(st.dictionaries(texts, facts), st.lists(found_links), st.integers(0, 9), st.booleans())
def test_links_are_known_alike(known: dict[str, int], found: list[Link], depth: int, heeds_nofollow: bool) -> None:
    """Which of them may bring their targets in, what is known of them, and which were known before."""
    links = Links.of(found)
    for by_kind in (bytes(17), bytes([*range(17)]), b"\1" * 99):
        recalled = frontier_links.recalled(known, links, by_kind, heeds_nofollow, reach(depth))
        offered, infos, places = recalled
        assert list(infos) == [known.get(text, UNKNOWN) for text in links.targets]
        for prefix in ("http://h.test/", "é", ""):
            asked = frontier_links.KnownLinks(links.targets, infos, offered, prefix, 50)
            with pytest.MonkeyPatch.context() as monkeypatch:
                monkeypatch.setattr(frontier_links, "recall", None)
                monkeypatch.setattr(frontier_links, "known_links", None)
                in_python = frontier_links.recalled(known, links, by_kind, heeds_nofollow, reach(depth))
                assert in_python == (offered, list(infos), places)
                again = frontier_links.KnownLinks(links.targets, in_python[1], offered, prefix, 50)
                assert list(asked) == list(again)


@given(lines)
@example([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n"])
def test_heads_are_taken_apart_alike(head: list[bytes]) -> None:
    found = answer.parse_head(head)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "parse_head")
        assert answer.parse_head(head) == found


def test_a_clean_head_needs_no_python() -> None:
    assert native.parse_head is not None and native.is_sound_answer is not None
    head = [b"HTTP/1.1 200 OK\r\n", b"Content-Length: 3\r\n", b"X-A: b \r\n", b"\r\n"]
    assert native.parse_head(head) == (b"".join(head), 200, "1.1", (("content-length", "3"), ("x-a", "b")))
    assert native.is_sound_answer(b"".join(head), 3) and not native.is_sound_answer(b"".join(head), 4)


class EndedTransfer:
    """What is known of a transfer that libcurl has ended."""

    heard, early, cut = None, False, False
    started_ms, max_size_b, addresses, ip = 1_700_000_000_000, 1_000, ("192.0.2.1",), "192.0.2.1"
    lease = Lease(1, "http://h.test/", 1)
    response_ms = Transfer.response_ms

    def __init__(self, head: list[bytes], body: list[bytes], took_us: int, before_us: int) -> None:
        self.head, self.body = head, body
        self.curl = self
        self.tell = self.getinfo
        self._times = {pycurl.TOTAL_TIME_T: took_us, pycurl.PRETRANSFER_TIME_T: before_us}

    def getinfo(self, what: int) -> int:
        return self._times.get(what, 7)


def outcome_of(ended: EndedTransfer) -> Outcome:
    jar = CookieJar()
    outcomes = Outcomes(jar, lambda: 1_700_000_001_000, Connections(), None)
    return outcomes.of(cast(Transfer, ended), 0, "")


bodies = st.lists(
    st.sampled_from([b"", b"a", 40 * b"bc", gzip.compress(b"text"), b"No required SSL certificate was sent"]),
    max_size=3,
)


@given(lines.map(lambda head: [*head, b"\r\n"]), bodies, st.integers(0, 10**7), st.integers(0, 10**7))
@example([b"HTTP/1.1 200 OK\r\n", b"A: b\r\n", b"\r\n"], [b"x"], 5_999, 1_000)
@example([b"HTTP/1.1 400 Bad\r\n", b"Server: nginx\r\n", b"\r\n"], [b"No required SSL certificate was sent"], 1, 0)
@example([b"HTTP/1.1 200 OK\r\n", b"Content-Encoding: gzip\r\n", b"\r\n"], [gzip.compress(b"text")], 1, 0)
@example([b"HTTP/1.1 200 OK\r\n", b"Content-Length: 99999999999999999999\r\n", b"\r\n"], [b"x"], 1, 0)
def test_answers_are_read_alike(head: list[bytes], body: list[bytes], took_us: int, before_us: int) -> None:
    ended = EndedTransfer(head, body, took_us, before_us)
    found = outcome_of(ended)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "fetched")
        in_python(monkeypatch, "parse_head")
        assert outcome_of(ended) == found


def test_an_ordinary_answer_needs_no_python() -> None:
    assert native.fetched is not None
    head = [b"HTTP/1.1 200 OK\r\n", b"Content-Length: 3\r\n", b"\r\n"]
    found = native.fetched(Fetched, head, [b"ab", b"c"], 5, 9_999, 2_000, "192.0.2.1")
    assert found == Fetched(
        200, b"".join(head), (("content-length", "3"),), b"abc", b"abc", False, 5, 7, "192.0.2.1", "1.1"
    )
    packed = [head[0], b"Content-Encoding: gzip\r\n", b"\r\n"]
    assert native.fetched(Fetched, packed, [b""], 5, 1, 0, "") == native.parse_head(packed)  # type: ignore[misc]
    assert native.fetched(Fetched, [b"ICY 200 OK\r\n", b"\r\n"], [], 5, 1, 0, "") is None
    for wrong in (
        [Fetched, head, [b"a", "b"], 5, 1, 0, ""],
        [Fetched, head, None, 5, 1, 0, ""],
        [Fetched, head, [], 5],
    ):
        with pytest.raises(TypeError):
            native.fetched(*wrong)


@given(lines, st.integers(0, 6))
def test_heads_are_kept_alike(head: list[bytes], body_b: int) -> None:
    raw = b"".join(head)
    found = warc_heads.kept_response_head(raw, body_b)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "is_sound_answer")
        assert warc_heads.kept_response_head(raw, body_b) == found


cells = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(max_size=8),
    st.text(alphabet='=+-@ab ,"\'\r\n\x1b\x7f\u202e\uff1d\ud800', max_size=6), st.sampled_from(LinkKind),
)  # fmt: skip


@given(st.lists(st.lists(cells, max_size=4).map(tuple), max_size=3))
@example([("",)])
@example([()])
@example([("=1+1", '"a", b', 2**63, 2**63 - 1), (True, False, None, -1)])
def test_lines_of_the_logs_are_written_alike(rows: list[tuple[object, ...]]) -> None:
    found = csv_lines(rows)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "csv_lines")
        assert csv_lines(rows) == found


def test_plain_lines_of_the_logs_need_no_python() -> None:
    assert native.csv_lines is not None
    rows: list[tuple[object, ...]] = [("a", None, 5, True), ("=b", "x,y", 'q"r', "")]
    assert native.csv_lines(rows) == 'a,,5,true\n\'=b,"x,y","q""r",\n'
    assert native.csv_lines([("a", "\n")]) is None and native.csv_lines([("a", "é")]) is None


stored = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(max_size=8),
    st.binary(max_size=8),
)  # fmt: skip


@given(st.integers(1, 3).flatmap(lambda width: st.lists(st.tuples(*[stored] * width), max_size=12)), st.integers(1, 5))
@example([(None, True, False)], 1)
@example([], 1)
def test_rows_are_stored_alike(rows: list[tuple[object, ...]], at_once: int) -> None:
    def table() -> list[tuple[object, ...]]:
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            columns = ", ".join("abc"[: len(rows[0]) if rows else 1])
            connection.execute(f"CREATE TABLE t({columns})")
            insert(connection, f"t({columns})", rows, at_once)
            return connection.execute("SELECT * FROM t ORDER BY rowid").fetchall()

    found = repr(table())  # tells 1 from 1.0, and 0.0 from -0.0
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "bindable")
        assert repr(table()) == found


def test_what_are_no_rows_is_refused() -> None:
    assert native.bindable is not None
    assert native.bindable([(1, "a"), (True, "b"), ()], 2) == [[1, "a", 1, "b"], []]
    for rows, together, error in (([[1]], 1, TypeError), ([(1,)], 0, ValueError), (((1,),), 1, TypeError)):
        with pytest.raises(error):
            native.bindable(rows, together)  # type: ignore[arg-type]


segments = st.sampled_from(
    [
        "a",
        "b.html",
        "..",
        ".",
        "",
        "...",
        "%2e",
        "x,y",
        "a:b",
        "ab:c",
        ":",
        "C:",
        "%41",
        "a%",
        "%2",
        "é",
        "..a",
        ".b",
        "a=1",
        "~u",
        "a b",
        "^",
        "|",
        "\\",
    ]
)
queries = st.sampled_from(["", "?", "?a=1", "?a=%20", "?x:y", "?a/../b", "?q?r", "?it's", "#", "#x", "#x y", "?a#b"])
bases = st.sampled_from(
    [
        "http://h.test/", "http://h.test/a/b/c.html", "https://u:p@h.test:81/a/b/?q=/x/..", "http://h.test/a//b",
        "http://[::1]:8/x/y", "http://h.test/?a=b/c", "http://h.test/C:/x", "http://h.test/a%5Eb/c",
        "http://xn--a/b", "mailto:a@b.test", "file:///a/b", "http://h.test/ab:c/d",
    ]
)  # fmt: skip
befores = st.sampled_from(
    [
        "", "/", "//", "///", "//h.test", "//h.test/", "//www.a-b.test/", "http:", "http:/", "http://", "https://h.test",
        "https://h.test/", "http://h.test//", "HTTP://h.test/", "http://H.test/", "http://h.test:80/", "https://h.test:8/",
        "http://h1.test/", "http://1.2.3.4/", "http://1.2/", "http://h.0x1/", "http://h.1a/", "http://h.a1/",
        "https://xn--a/", "http://xn--bcher-kva.test/", "http://a--b.test/", "http://-a.test/", "http://a-.test/",
        "http://a..b/", "http://.a/", "http://a./", "http://a_b.test/", "http://u@h.test/", "http://localhost/",
        f"http://{'a' * 63}.test/", f"http://{'a' * 64}.test/", f"http://{'a.' * 130}test/", "ftp://h.test/",
        "http://h.test\\", "http://é.test/", "https:///h.test/",
    ]
)  # fmt: skip


@given(bases, st.lists(segments, max_size=5), queries, befores)
def test_references_lead_to_the_same_place(base: str, path: list[str], behind: str, before: str) -> None:
    reference = before + "/".join(path) + behind
    found = fresh(base).resolve(reference)
    with pytest.MonkeyPatch.context() as monkeypatch:
        in_python(monkeypatch, "resolve")
        assert fresh(base).resolve(reference) == found


def fresh(base: str) -> Resolver:
    """A resolver that has met nothing yet."""
    resolver = Resolver(base)
    resolver.meanings.clear()
    _shared._entries = 0
    return resolver


hosts = st.sampled_from(
    [
        "h.test", "www.h.test", "www2.h.test:8080", "h.test:80", "h.test:443", "127.0.0.1:81", "H.test", "www.",
        "www..a.b", ".h.test", "h..test", "h.test.", "h:", ":80", "h:8x", "[::1]:8", "u:p@h.test", "h_1.test",
        "xn--nxasmq6b", "é.test", "a%2eb", "", "www1", "www.www.x", "-",
    ]
)  # fmt: skip
tails = st.sampled_from(
    [
        "a", "B.html", "..", ".", "/", "...", "%41", "x,y", "é", ".b", "a.", "~u", "_", " ", "?", "?Q=1", "&b=2", "&a",
        "#x", "sid=", "sessionID", "?CFID=4", "it's", '"', "\\", "\0", ":", ";", "+", "=",
    ]
)  # fmt: skip
odd_texts = st.sampled_from(["text/html", "", "a b", "é", 'a"b', "a\\b", "a\nb", "\x7f", "x" * 512, "x" * 513])


@given(
    st.sampled_from(["http://", "https://", "HTTP://", "ftp://", ""]),
    hosts,
    st.lists(tails, max_size=6).map("".join),
    st.integers(0, 300_000_000_000_000) | st.integers(-5, 5) | st.sampled_from([951_782_399_999, 4_107_542_400_000]),
    odd_texts,
    st.sampled_from([None, 0, 200, 999]),
    st.sampled_from(["sha1:", "", "sha1", "sha256:"]).flatmap(lambda kind: odd_texts.map(lambda text: kind + text)),
    st.integers(0, 1 << 80) | st.integers(0, 99),
    odd_texts,
)
def test_lines_of_the_index_are_alike(
    scheme: str, host: str, tail: str, epoch_ms: int, mime: str, status: int | None, digest: str, number: int, file: str
) -> None:
    for slash in "/", "":
        row = (scheme + host + slash + tail, epoch_ms, mime, status, digest, number, number, file)
        found = native.cdxj_line(row) if native.cdxj_line else None
        assert found is None or found == cdxj._careful_line(row)


def test_a_plain_line_of_the_index_needs_no_python() -> None:
    row = ("https://www.H.test/A/b.html?C=d".lower(), 1_767_323_045_678, "", 200, "sha1:X", 1, 20, "f.warc.gz")
    line = b'test,h)/a/b.html?c=d 20260102030405 {"url":"https://www.h.test/a/b.html?c=d","mime":"unk","status":"200",'
    line += b'"digest":"X","length":"1","offset":"20","filename":"f.warc.gz"}\n'
    assert native.cdxj_line is not None and native.cdxj_line(row) == line
    long = ("http://h.test/" + "a" * 4_083, *row[1:])
    assert native.cdxj_line(long) is None and native.cdxj_line((long[0][:-1], *row[1:])) is not None


@given(
    known=st.lists(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=300), max_size=4),
    others=st.lists(st.integers(0, (1 << 64) - 1), max_size=200),
)
def test_filters_are_the_same(known: list[list[int]], others: list[int]) -> None:
    """What a filter holds, and lets through, does not depend on who fills and who asks it: filters are stored."""
    filters = [runs.empty_filter(len(some)) for some in known]
    for words, some in zip(filters, known, strict=True):
        runs.fill(words, array("Q", some))
    asked = [*others, *(one for some in known for one in some)]
    passed = runs.sifted(asked, filters)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "sift", None)
        patch.setattr(native, "fill_filter", None)
        for words, some in zip(filters, known, strict=True):
            again = runs.empty_filter(len(some))
            runs.fill(again, array("Q", some))
            assert again == words
        assert runs.sifted(asked, filters) == passed
    assert all(set(some) <= set(through) for some, through in zip(known, passed, strict=True))


@given(
    st.lists(st.dictionaries(st.integers(0, 9) | st.integers(0, (1 << 64) - 1), st.integers(1, 1 << 40)), max_size=9)
)
def test_runs_are_merged_alike(parts: list[dict[int, int]]) -> None:
    sorted_parts = [(array("Q", sorted(part)), array("Q", [part[one] for one in sorted(part)])) for part in parts]
    merged = runs.merged(sorted_parts)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(native, "merge_sorted", None)
        assert runs.merged(sorted_parts) == merged
    everything = {one: number for part in parts for one, number in part.items()}
    assert dict(zip(*merged, strict=True)) == everything and list(merged[0]) == sorted(everything)


TEXTS: list[list[str]] = [[], [], [], []]


@pytest.mark.parametrize(
    "call",
    [
        lambda: native.pack_links and native.pack_links(bytes(8), 1, 1, {}, b"", b"", b""),
        lambda: native.pack_links and native.pack_links(bytes(8), 1, 1, {}, b"\1", b"", b"\1\0\0\0"),
        lambda: native.pack_links and native.pack_links(bytes(16), 1, 1, {}, b"\1\1", b"12", b"\2\0\0\0\1\0\0\0"),
        lambda: native.pack_links and native.pack_links(["x"], 1, 1, {}, b"\1", b"", bytes(4)),
        lambda: native.pack_links and native.pack_links(bytes(8), 1, 1, {"x": 1}, b"\1", b"", bytes(4)),
        lambda: native.pack_links and native.pack_links(bytes(8), 1, 1, {}, [1], b"", bytes(4)),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1", {}, 1, 1, None),
        lambda: native.recall and native.recall({}, ["x"], {0: "x"}, 1, b"\1\1", {}, 1, 1, None),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {0: 1}, 1, 1, None),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {"x": "y"}, 1, 1, None),
        lambda: native.recall and native.recall({}, [{}], {}, 1, b"\1\1", {}, 1, 1, None),
        lambda: native.recall and native.recall({"x": "y"}, ["x"], {}, 1, b"\1\1", {}, 1, 1, None),
        lambda: native.recall and native.recall({}, ("x",), {}, 1, b"\1\1", {}, 1, 1, None),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {}, 1, 1, 1),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {}, 1, 1, (b"", bytearray(256), TEXTS)),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {}, 1, 1, (bytes(4), bytearray(256), [])),
        lambda: native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {}, 1, 1, (bytes(4), bytearray(9), TEXTS)),
        lambda: (
            native.recall and native.recall({}, ["x"], {}, 1, b"\1\1", {}, 1, 1, (b"\2\0\0\0", bytearray(160), TEXTS))
        ),
        lambda: native.put_shared and native.put_shared(bytes(160), TEXTS, "x", 1),  # type: ignore[arg-type]
        lambda: native.put_shared and native.put_shared(bytearray(160), [[]], "x", 1),  # type: ignore[arg-type]
        lambda: native.put_shared and native.put_shared(bytearray(260), TEXTS, "x", 1),  # type: ignore[arg-type]
        lambda: native.put_shared and native.put_shared(bytearray(160), TEXTS, 1, 1),  # type: ignore[arg-type]
        lambda: native.places_of and native.places_of(bytearray(64), []),  # type: ignore[arg-type]
        lambda: native.places_of and native.places_of(bytearray(160), [1]),  # type: ignore[arg-type,list-item]
        lambda: native.texts_at and native.texts_at(b"\1\0\0\0", TEXTS, []),
        lambda: native.texts_at and native.texts_at(bytes(4), TEXTS, []),
        lambda: native.texts_at and native.texts_at(bytes(4), [[]], ["x"]),
        lambda: native.known_links and native.known_links(["x"], b"", b"\1", 1, 1, 1, ""),
        lambda: native.known_links and native.known_links(["x"], bytes(8), b"", 1, 1, 1, ""),
        lambda: native.known_links and native.known_links(["x"], ["y"], b"\1", 1, 1, 1, ""),
        lambda: native.known_links and native.known_links([1], b"\1" + bytes(7), b"\1", 1, 0, 1, ""),
        lambda: native.wide_digests and native.wide_digests(((b"", b"", b""),)),  # type: ignore[arg-type]
        lambda: native.wide_digests and native.wide_digests([b"x"]),  # type: ignore[list-item]
        lambda: native.wide_digests and native.wide_digests([(b"", b"")]),  # type: ignore[list-item]
        lambda: native.wide_digests and native.wide_digests([(b"", b"", "")]),  # type: ignore[list-item]
        lambda: native.count_external and native.count_external([1], "", ""),  # type: ignore[list-item]
        lambda: native.url_marks and native.url_marks("http://h.test/"),  # type: ignore[call-arg]
        lambda: native.url_marks and native.url_marks("http://h.test/", "x"),  # type: ignore[arg-type]
        lambda: native.url_marks and native.url_marks(b"http://h.test/", 1),  # type: ignore[arg-type]
        lambda: native.url_marks and native.url_marks("http://h.test/\ud800", 1),
        lambda: native.sift and native.sift((1,), []),  # type: ignore[arg-type]
        lambda: native.sift and native.sift(["x"], [array("Q", [0, 0])]),  # type: ignore[list-item]
        lambda: native.sift and native.sift([1], [array("Q", [0, 0, 0])]),
        lambda: native.sift and native.sift([1], [1]),  # type: ignore[list-item]
        lambda: native.fill_filter and native.fill_filter(array("Q"), array("Q", [1])),
        lambda: native.fill_filter and native.fill_filter(array("Q", [0, 0]), [1]),  # type: ignore[arg-type]
        lambda: native.merge_sorted and native.merge_sorted(()),  # type: ignore[arg-type]
        lambda: native.merge_sorted and native.merge_sorted([1]),  # type: ignore[list-item]
        lambda: native.merge_sorted and native.merge_sorted([(array("Q", [1]), array("Q"))]),
        lambda: native.merge_sorted and native.merge_sorted([(array("Q", [1]), array("Q", [1])), (b"1", b"1")]),  # type: ignore[list-item]
        lambda: native.cdxj_line and native.cdxj_line(("http://h.test/",)),
        lambda: native.exchange and native.exchange("url"),
        lambda: native.exchange and native.exchange(*[""] * 9, b"", b"", b"", b""),
        lambda: native.exchange and native.exchange(*[""] * 10, b"", "", b""),
    ],
)
def test_wrong_arguments_are_errors(call: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)):
        call()
