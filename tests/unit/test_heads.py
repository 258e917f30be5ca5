"""Heads of answers and of requests: status lines, headers, what libcurl says of its failures."""

from __future__ import annotations

import pycurl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import Cause, SpecError
from weft.fetch.http import Fetcher, Progress, cause_of, user_agent_of
from weft.fetch.http.answer import final_head, parse_head
from weft.fetch.resolve import AddressPolicy
from weft.spec import CrawlSpec, Identity


def test_numbers_nobody_knows_are_a_bug_and_no_exception() -> None:
    assert cause_of(12_345, "", Progress()) is Cause.BUG


@pytest.mark.parametrize(
    ("progress", "cause"),
    [
        (Progress(), Cause.CONNECT_TIMEOUT),
        (Progress(sent=True), Cause.FIRST_BYTE_TIMEOUT),
        (Progress(sent=True, answered=True), Cause.READ_TIMEOUT),
    ],
)
def test_a_timeout_says_where_it_was(progress: Progress, cause: Cause) -> None:
    assert cause_of(pycurl.E_OPERATION_TIMEDOUT, "timed out", progress) is cause


def test_the_default_user_agent_names_weft_and_the_contact() -> None:
    assert user_agent_of(Identity(contact="me@example.org")).startswith("weft/")
    assert "me@example.org" in user_agent_of(Identity(contact="me@example.org"))
    assert user_agent_of(Identity(user_agent="mybot/1.0", contact="x")) == "mybot/1.0"


@pytest.mark.parametrize(
    "line", ["Host: other", "no colon", ": empty", "X-A: a\r\nX-B: b", "Content-Length: 5", "X: \0"]
)
def test_headers_that_cannot_be_sent_are_refused(line: str) -> None:
    spec = CrawlSpec(identity=Identity(headers=(line,)))
    with pytest.raises(SpecError):
        Fetcher(spec, AddressPolicy(spec.network))


def test_the_final_head_is_found_between_interim_answers_and_trailers() -> None:
    lines = [
        b"HTTP/1.1 100 Continue\n", b"\n", b"HTTP/1.1 103 Early\r\n", b"Link: x\r\n", b"\r\n",
        b"HTTP/1.1 200 OK\r\n", b"A: 1\r\n", b"B: two\r\n", b"\t three\r\n", b"C : a\rb\n", b"\r\n",
        b"HTTP/1.1 500 trailer\r\n", b"X-Trailer: 1\r\n", b"\r\n",
    ]  # fmt: skip
    head = parse_head(lines)
    assert head is not None
    assert head.raw == b"HTTP/1.1 200 OK\r\nA: 1\r\nB: two\r\n\t three\r\nC : a b\r\n\r\n"
    assert (head.status, head.version) == (200, "1.1")
    assert head.headers == (("a", "1"), ("b", "two three"), ("c", "a b"))


@pytest.mark.parametrize(
    ("line", "status", "version"),
    [
        (b"HTTP/2 200 \r\n", 200, "2"),
        (b"HTTP/1.0 999 Denied\r\n", 999, "1.0"),
        (b"HTTP/1.1 404\r\n", 404, "1.1"),
        (b"HTTP/1.1\t200\tOK\r\n", 200, "1.1"),
        (b"HTTP/1.1 99 Low\r\n", None, ""),
        (b"HTTP/1.1 2000 OK\r\n", None, ""),
        (b"HTTP/1.1 101 Switching\r\n", None, ""),
        (b"HTTP/1.1\r\n", None, ""),
        (b"ICY 200 OK\r\n", None, ""),
    ],
)
def test_status_lines(line: bytes, status: int | None, version: str) -> None:
    head = parse_head([line, b"\r\n"])
    assert (None if head is None else head.status) == status
    assert head is None or head.version == version


_LINES = [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 100 C\n", b"\r\n", b"\n", b" f\r\n", b"a: b\r\n"]


@given(st.lists(st.sampled_from(_LINES) | st.binary(max_size=20)))
@settings(max_examples=200)
def test_any_lines_make_a_clean_head_or_none(lines: list[bytes]) -> None:
    head = parse_head(lines)
    assert head is None or final_head(lines) is not None
    if head is not None:
        assert head.raw.endswith(b"\r\n\r\n") and head.raw.count(b"\r\n\r\n") == 1
        assert head.raw.count(b"\r") == head.raw.count(b"\n") == head.raw.count(b"\r\n")
        assert 200 <= head.status <= 999
        assert all(name == name.lower() and "\r" not in value and "\n" not in value for name, value in head.headers)
