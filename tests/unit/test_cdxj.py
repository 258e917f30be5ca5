"""The index of the archive has the keys that replay tools look for, sorted, whole or not at all."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import StoreError
from weft.store.warc import cdxj
from weft.store.warc.cdxj import CdxRow, cdxj_line, surt_key, write_cdxj

NOW_MS = int(datetime(2026, 1, 2, 3, 4, 5, 678_000, tzinfo=UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://example.org/", "org,example)/"),
        ("http://www.example.org/Path/?b=2&a=1", "org,example)/path?a=1&b=2"),
        ("https://www2.example.org:443/a//b/../c/", "org,example)/a/c"),
        ("http://example.org:8080/x?y", "org,example:8080)/x?y"),
        ("https://example.org:80/", "org,example:80)/"),
        ("http://127.0.0.1:8000/x", "1,0,0,127:8000)/x"),
        ("http://[2001:db8::1]:8080/x", "2001:db8::1:8080)/x"),
        ("http://user:pw@example.org./a/./b#c", "org,example)/a/b"),
        ("http://example.org/%C3%BC?q=%C3%9C%2520&Q=A", "org,example)/%c3%bc?q=%c3%9c%20&q=a"),
        ("http://example.org/?", "org,example)/"),
        ("http://example.org/?a&b=&a=&a=1", "org,example)/?a&a=&a=1&b="),
        ("http://example.org/?a=1&jsessionid=0123456789abcdef0123456789abcdef&b=2", "org,example)/?a=1&b=2"),
        ("http://example.org/(S(4hqa0555fwsecu455xqckv45))/m.aspx", "org,example)/m.aspx"),
        ("http://example.org/a%23b", "org,example)/a%23b"),
    ],
)
def test_surt_keys(url: str, key: str) -> None:
    """The keys that pywb's own indexer gives these URLs."""
    assert surt_key(url) == key


@given(st.text(max_size=80), st.text(max_size=30))
@settings(max_examples=200)
def test_any_row_is_one_line(tail: str, mime: str) -> None:
    row = ("http://example.org/" + tail, NOW_MS, mime, None, "sha1:ABC", 1, 2, "x.warc.gz")
    line = cdxj_line(row)
    assert line.count(b"\n") == 1 and line.endswith(b"}\n") and line.isascii()
    key, stamp, fields = line.split(b" ", 2)
    assert key.startswith(b"org,example)/") and stamp == b"20260102030405"
    assert json.loads(fields)["digest"] == "ABC"


def test_fast_and_careful_keys_agree() -> None:
    rng = random.Random(5)
    parts = ["a", "B", "/", ".", "..", "~", "?", "&", "=", "-", "1", "x=2", "sid=", "//", ";", "+", "www."]
    for _ in range(3_000):
        url = "http://Www1.example.org:80/" + "".join(rng.choices(parts, k=rng.randrange(12)))
        assert surt_key(url) == cdxj._careful_surt_key(url), url


def test_hostile_escapes_end_soon() -> None:
    assert surt_key("http://e.org/" + "%3" * 4000 + "%35").startswith("org,e)/")
    assert surt_key("http://e.org/" + "%25" * 4000 + "41").startswith("org,e)/")


def rows(number: int) -> Iterator[CdxRow]:
    rng = random.Random(7)
    for n in range(number):
        url = f"http://host{rng.randrange(50)}.example/{rng.randrange(10**6)}"
        yield (url, NOW_MS + 1000 * n, "text/html", 200, "sha1:X", n, n, "f.warc.gz")


def test_cdxj_is_sorted_with_little_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Any number of rows: runs on disk, merged by eight, few descriptors, nothing left behind."""
    monkeypatch.setattr(cdxj, "_RUN_B", 4_000)
    path = tmp_path / "index.cdxj"
    assert write_cdxj(rows(5_000), path) == 5_000
    lines = path.read_bytes().splitlines(keepends=True)
    assert lines == sorted(map(cdxj_line, rows(5_000)))
    assert [entry.name for entry in tmp_path.iterdir()] == ["index.cdxj"]
    assert write_cdxj([], path) == 0
    assert path.read_bytes() == b""


def test_cdxj_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "index.cdxj"
    write_cdxj(rows(10), path)
    before = path.read_bytes()

    def failing() -> Iterator[CdxRow]:
        yield from rows(5)
        raise KeyError("the database went away")

    with pytest.raises(KeyError):
        write_cdxj(failing(), path)
    assert path.read_bytes() == before
    with pytest.raises(StoreError, match="cannot write"):
        write_cdxj(rows(1), tmp_path / "missing" / "index.cdxj")
