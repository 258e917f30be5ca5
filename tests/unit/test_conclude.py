"""What an answer means (crawl/conclude.py): pure functions, and records that nobody changes afterwards."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from pathlib import Path

import msgspec
import pytest

import weft
from weft import records
from weft.crawl.conclude import conclude, conclude_failure, decide, is_shown, target_of
from weft.errors import Cause
from weft.records import Concluded, Decision, Failure, Fetched, Lease, Link, LinkKind, Links, Parsed, Purpose
from weft.spec import Limits

PAGE = Lease(page=7, url="http://a.test/a", site=1)


def answered(status: int, body: bytes = b"", **headers: str) -> Fetched:
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Fetched(status, b"HTTP/1.1 ...\r\n\r\n", pairs, body, body, False, 1_700_000_000_000, 12, "127.0.0.1", "1.1")


def concluded(lease: Lease, answer: Fetched, parsed: Parsed | None = None) -> Concluded:
    parsed = parsed or Parsed("")
    return conclude(lease, answer, answer.first_values(), target_of(lease, answer), parsed)


def same_key(url: str) -> str:
    return url.rstrip("/")


def test_all_records_are_frozen_but_links() -> None:
    structs = [one for _, one in inspect.getmembers(records, inspect.isclass) if issubclass(one, msgspec.Struct)]
    changeable = {one.__name__ for one in structs if one is not msgspec.Struct and not one.__struct_config__.frozen}
    assert changeable == {"Links"}


def test_a_conclusion_is_told_from_the_answer_alone() -> None:
    """Asked twice it is the same, and what it was told from is as it was."""
    links = Links.of([Link("http://a.test/b", LinkKind.A.value, "b")])
    answer, parsed = answered(200, b"<p>", content_type="text/html"), Parsed("text/html", title="T", links=links)
    one, two = concluded(PAGE, answer, parsed), concluded(PAGE, answer, parsed)
    assert msgspec.json.encode(one) == msgspec.json.encode(two)
    assert (one.state, one.is_stored_2xx, one.follows) == ("C", True, Decision())
    assert (one.facts.status, one.facts.title, one.facts.size, list(one.links)) == (200, "T", 3, list(links))


def test_links_of_an_error_page_are_none_of_the_site() -> None:
    links = Links.of([Link("http://a.test/b", LinkKind.A.value, "b")])
    assert not list(concluded(PAGE, answered(404, b"<p>"), Parsed("text/html", links=links)).links)


def test_a_redirect_is_one_link() -> None:
    done = concluded(PAGE, answered(302, b"moved", location="/b#part"))
    assert list(done.links) == [Link("http://a.test/b", LinkKind.REDIRECT.value, fragment="part")]
    assert done.facts.redirect_to == "http://a.test/b" and done.facts.hash is None
    sitemap = concluded(Lease(page=1, url=PAGE.url, site=1, purpose=Purpose.SITEMAP), answered(302, location="/b"))
    assert not list(sitemap.links) and sitemap.facts.redirect_to == "http://a.test/b"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (answered(200), True),
        (answered(200, b"x"), True),
        (answered(404), False),
        (answered(404, b"x"), True),
        (answered(302, b"x"), True),
        (answered(302, b"x", location="/b"), False),
    ],
)
def test_what_a_browser_would_show_is_read(answer: Fetched, shown: bool) -> None:
    assert is_shown(answer, target_of(PAGE, answer)) is shown


def test_a_cookie_and_the_same_address_again_are_a_second_request() -> None:
    done = concluded(PAGE, answered(302, location="/a", set_cookie="a=1"))
    assert done.follows == Decision(again_at=PAGE.url) and not done.follows.is_final
    tired = msgspec.structs.replace(PAGE, hops=3)
    assert concluded(tired, answered(302, location="/a", set_cookie="a=1")).follows == Decision()


@pytest.mark.parametrize(
    ("attempt", "slow_answers", "headers", "decision"),
    [
        (1, 0, {}, Decision(retry_s=1.0, rest_s=1.0)),
        (2, 2, {}, Decision(retry_s=4.0, rest_s=4.0)),
        (1, 0, {"retry_after": "7"}, Decision(retry_s=7.0, rest_s=7.0)),
        (3, 0, {}, Decision(rest_s=1.0)),
    ],
)
def test_a_site_that_wants_rest_gets_it(
    attempt: int, slow_answers: int, headers: dict[str, str], decision: Decision
) -> None:
    lease = msgspec.structs.replace(PAGE, attempt=attempt)
    done = concluded(lease, answered(429, **headers))
    assert done.is_slow and decide(done, Limits(), slow_answers, same_key) == decision


def test_a_redirect_within_a_key_is_the_same_page() -> None:
    done = concluded(PAGE, answered(301, location="/a/"))
    assert decide(done, Limits(), 0, same_key) == Decision(again_at="http://a.test/a/")
    assert decide(done, Limits(), 0, str) == Decision()


def test_failures_follow_the_table_of_policies() -> None:
    limits = Limits(retries=1)
    first = conclude_failure(PAGE, Failure(Cause.READ_TIMEOUT, "slow"), limits)
    last = conclude_failure(msgspec.structs.replace(PAGE, attempt=2), Failure(Cause.READ_TIMEOUT), limits)
    assert first.state == "E" and first.follows.retry_s is not None and first.facts.detail == "slow"
    assert last.follows.is_final and last.condemns is Cause.READ_TIMEOUT
    refused = conclude_failure(PAGE, Failure(Cause.CONNECT_REFUSED), Limits(retries=0))
    assert refused.follows.is_final and refused.condemns is Cause.CONNECT_REFUSED


def test_weft_crawl_stays_the_function() -> None:
    """The package of the same name is imported by everything, and never takes its place."""
    for found in pkgutil.iter_modules(importlib.import_module("weft.crawl").__path__):
        importlib.import_module(f"weft.crawl.{found.name}")
    from weft.crawl.loop import Loop

    assert inspect.isasyncgenfunction(weft.crawl) and Loop.__module__ == "weft.crawl.loop"
    assert Path(inspect.getfile(Loop)).name == "loop.py"
