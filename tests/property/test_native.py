"""The compiled parts say what their counterparts in Python say, or leave it to them (issue 4, section 1).

The reader of pages has tests of its own (``test_quick.py``).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from html import escape

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from weft import native
from weft.crawl.logs import csv_lines
from weft.frontier import links as frontier_links
from weft.frontier import runs
from weft.frontier.seen import ADMITTED, FINAL, HOPPED, UNKNOWN, pack, reach
from weft.native import pure
from weft.parse.html import parse_page
from weft.records import Link, LinkKind, Links
from weft.url import Resolver
from weft.url.resolving import _shared

pytestmark = pytest.mark.skipif(not native.is_compiled, reason="weft was set up without a C compiler")


def in_python(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(native, name, getattr(pure, name))


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
    assert native.meta_label(head, start, limit) == pure.meta_label(head, start, limit)


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
    infos = memoryview(array("Q", [row[0] for row in found]))
    offered = bytearray(len(row[2]) % 2 for row in found)
    for links in (quick.links, plain.links):
        links.kinds.update({at: kind.value for at, (_, kind, _, _) in enumerate(found) if kind is not LinkKind.A})
    plain.links.unpack()
    if len(plain.links) == len(found):
        packed = [frontier_links.packed_links(links, infos, offered) for links in (quick.links, plain.links)]
        assert msgspec.json.decode(packed[0]) == msgspec.json.decode(packed[1])
        with pytest.MonkeyPatch.context() as monkeypatch:
            in_python(monkeypatch, "pack_links")
            assert frontier_links.packed_links(quick.links, infos, offered) == packed[0]


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
            found = frontier_links.PageSite(prefix).external_links(some)
            in_python(patched, "count_external")
            assert frontier_links.PageSite(prefix).external_links(some) == found


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
    """Which of them may bring their targets in, what is known of them, and where to look closer."""
    links = Links.of(found)
    for by_kind in (bytes(17), bytes([*range(17)]), b"\1" * 99):
        recalled = frontier_links.recalled(known, links, by_kind, heeds_nofollow, reach(depth))
        assert list(recalled[1]) == [known.get(text, UNKNOWN) for text in links.targets]
        with pytest.MonkeyPatch.context() as monkeypatch:
            in_python(monkeypatch, "recall")
            assert frontier_links.recalled(known, links, by_kind, heeds_nofollow, reach(depth)) == recalled


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
    rows: list[tuple[object, ...]] = [("a", None, 5, True), ("=b", "x,y", 'q"r', "")]
    assert native.csv_lines(rows) == 'a,,5,true\n\'=b,"x,y","q""r",\n'
    assert native.csv_lines([("a", "\n")]) is None and native.csv_lines([("a", "é")]) is None


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
        "",
        "/",
        "//",
        "///",
        "//h.test",
        "//h.test/",
        "//www.a-b.test/",
        "http:",
        "http:/",
        "http://",
        "https://h.test",
        "https://h.test/",
        "http://h.test//",
        "HTTP://h.test/",
        "http://H.test/",
        "http://h.test:80/",
        "https://h.test:8/",
        "http://h1.test/",
        "http://1.2.3.4/",
        "http://1.2/",
        "http://h.0x1/",
        "http://h.1a/",
        "http://h.a1/",
        "https://xn--a/",
        "http://xn--bcher-kva.test/",
        "http://a--b.test/",
        "http://-a.test/",
        "http://a-.test/",
        "http://a..b/",
        "http://.a/",
        "http://a./",
        "http://a_b.test/",
        "http://u@h.test/",
        "http://localhost/",
        f"http://{'a' * 63}.test/",
        f"http://{'a' * 64}.test/",
        f"http://{'a.' * 130}test/",
        "ftp://h.test/",
        "http://h.test\\",
        "http://é.test/",
        "https:///h.test/",
    ]
)


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
    resolver.resolved.clear()
    _shared._entries = 0
    return resolver


@given(
    known=st.lists(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=300), max_size=4),
    others=st.lists(st.integers(0, (1 << 64) - 1), max_size=200),
)
def test_filters_are_the_same(known: list[list[int]], others: list[int]) -> None:
    """What a filter holds, and lets through, does not depend on who fills and who asks it: filters are stored."""
    filters = [runs.empty_filter(len(some)) for some in known]
    for words, some in zip(filters, known, strict=True):
        native.fill_filter(words, array("Q", some))
    asked = [*others, *(one for some in known for one in some)]
    passed = native.filter_hits(asked, filters)
    with pytest.MonkeyPatch.context() as patch:
        in_python(patch, "filter_hits")
        in_python(patch, "fill_filter")
        for words, some in zip(filters, known, strict=True):
            again = runs.empty_filter(len(some))
            native.fill_filter(again, array("Q", some))
            assert again == words
        assert native.filter_hits(asked, filters) == passed
    assert all(set(some) <= set(through) for some, through in zip(known, passed, strict=True))


@given(
    st.lists(st.dictionaries(st.integers(0, 9) | st.integers(0, (1 << 64) - 1), st.integers(1, 1 << 40)), max_size=9)
)
def test_runs_are_merged_alike(parts: list[dict[int, int]]) -> None:
    sorted_parts = [(array("Q", sorted(part)), array("Q", [part[one] for one in sorted(part)])) for part in parts]
    merged = runs.merged(sorted_parts)
    with pytest.MonkeyPatch.context() as patch:
        in_python(patch, "merge_sorted")
        assert runs.merged(sorted_parts) == merged
    everything = {one: number for part in parts for one, number in part.items()}
    assert dict(zip(*merged, strict=True)) == everything and list(merged[0]) == sorted(everything)


@pytest.mark.parametrize(
    "call",
    [
        lambda: native.pack_links(bytes(8), 1, 1, {}, b"", b"", b""),
        lambda: native.pack_links(bytes(8), 1, 1, {}, b"\1", b"", b"\1\0\0\0"),
        lambda: native.pack_links(bytes(16), 1, 1, {}, b"\1\1", b"12", b"\2\0\0\0\1\0\0\0"),
        lambda: native.pack_links(["x"], 1, 1, {}, b"\1", b"", bytes(4)),
        lambda: native.pack_links(bytes(8), 1, 1, {"x": 1}, b"\1", b"", bytes(4)),
        lambda: native.pack_links(bytes(8), 1, 1, {}, [1], b"", bytes(4)),
        lambda: native.recall({}, ["x"], {}, 1, b"\1", {}, 1, 1),
        lambda: native.recall({}, ["x"], {0: "x"}, 1, b"\1\1", {}, 1, 1),
        lambda: native.recall({}, ["x"], {}, 1, b"\1\1", {0: 1}, 1, 1),
        lambda: native.recall({}, ["x"], {}, 1, b"\1\1", {"x": "y"}, 1, 1),
        lambda: native.recall({}, [{}], {}, 1, b"\1\1", {}, 1, 1),
        lambda: native.recall({"x": "y"}, ["x"], {}, 1, b"\1\1", {}, 1, 1),
        lambda: native.recall({}, ("x",), {}, 1, b"\1\1", {}, 1, 1),
        lambda: native.count_external([1], "", ""),  # type: ignore[list-item]
        lambda: native.filter_hits((1,), []),  # type: ignore[arg-type]
        lambda: native.filter_hits(["x"], [array("Q", [0, 0])]),  # type: ignore[list-item]
        lambda: native.filter_hits([1], [array("Q", [0, 0, 0])]),
        lambda: native.filter_hits([1], [1]),  # type: ignore[list-item]
        lambda: native.fill_filter(array("Q"), array("Q", [1])),
        lambda: native.fill_filter(array("Q", [0, 0]), [1]),  # type: ignore[arg-type]
        lambda: native.merge_sorted(()),  # type: ignore[arg-type]
        lambda: native.merge_sorted([1]),  # type: ignore[list-item]
        lambda: native.merge_sorted([(array("Q", [1]), array("Q"))]),
        lambda: native.merge_sorted([(array("Q", [1]), array("Q", [1])), (b"1", b"1")]),  # type: ignore[list-item]
    ],
)
def test_wrong_arguments_are_errors(call: Callable[[], object]) -> None:
    with pytest.raises((TypeError, ValueError, IndexError)):
        call()
