"""The vectors of others' test suites, all files through ``conformance.handle`` (issue "Must show" 4)."""

from __future__ import annotations

import base64
import codecs
import importlib
import json
import re
from functools import cache
from pathlib import Path

import pytest
from conformance import handle, op_named

ROOT = Path(__file__).resolve().parents[2]
VECTORS = ROOT.parent / "shared" / "vectors"
FLOORS = {
    "robots_allowed.jsonl": 0.995,  # three ask for /robots.txt itself, and want it forbidden
    "robots_real.jsonl": 1.0,
    "url_same.jsonl": 1.0,
    # Below the floor of all by one or two cases on which weft differs on purpose:
    "robots_other.jsonl": 0.96,  # 401 and 403 are asked for twice, once by the old rule and once by RFC 9309
    "sitemap_parse.jsonl": 0.95,
    "url_resolve.jsonl": 0.97,
}
FLOOR = 0.98
WEB_FLOOR = 0.99
"""Of the URLs of url_whatwg with http and https."""

FILES = sorted(path.name for path in VECTORS.glob("*.jsonl"))

Case = dict[str, object]


def cases(name: str) -> list[Case]:
    with (VECTORS / name).open(encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@cache
def differences() -> dict[str, str]:
    """The cases on which weft differs on purpose, by id, with the reason: each stands beside the tests of its part."""
    found: dict[str, str] = {}
    for path in sorted(Path(__file__).parent.glob("*_*.py")):
        for name in re.findall(r"^(DIFFERENCES|DIFFERENT)\b", path.read_text(encoding="utf-8"), re.MULTILINE):
            found |= getattr(importlib.import_module(path.stem), name)
    return found


def same_encoding(one: object, other: object) -> bool:
    """Encodings are compared as such: the suites write one under several names."""
    if one is None or other is None:
        return one is other
    try:
        return codecs.lookup(str(one)) == codecs.lookup(str(other))
    except LookupError:
        return str(one).lower() == str(other).lower()


def agrees(case: Case) -> bool:
    given, expected = case["input"], case["expected"]
    assert isinstance(given, dict)
    answer = handle(str(case["op"]), given)
    if case["op"] == "url.same_resource":  # the votes of others beside the class are no part of the answer
        assert isinstance(expected, dict) and isinstance(answer, dict)
        return bool(answer["class"] == expected["class"])
    if case["op"] in ("html.sniff_encoding", "http.content_type_charset"):
        return same_encoding(answer, expected)
    if isinstance(expected, dict) and isinstance(answer, dict):  # the suites leave some facts open
        return expected.items() <= answer.items()
    return answer == expected


@pytest.mark.skipif(not FILES, reason="the test vectors are not at ../shared/vectors")
@pytest.mark.parametrize("name", FILES)
def test_vectors(name: str) -> None:
    """Each file is at or above its floor, each difference has a reason, and no reason is kept that is not needed."""
    everything = cases(name)
    wrong = [str(case["id"]) for case in everything if not agrees(case)]
    share = 1 - len(wrong) / len(everything)
    assert share >= FLOORS.get(name, FLOOR), f"{share:.2%} of {name}; wrong: {wrong[:20]}"
    assert set(wrong) <= set(differences()), "a difference without a reason"
    ids = {str(case["id"]) for case in everything}
    assert not (set(differences()) & ids) - set(wrong), "listed as different, and is not: take it off the list"


@pytest.mark.skipif(not FILES, reason="the test vectors are not at ../shared/vectors")
def test_vectors_of_the_web() -> None:
    web = [case for case in cases("url_whatwg.jsonl") if "http" in str(case["tags"])]
    assert sum(map(agrees, web)) / len(web) >= WEB_FLOOR


@pytest.mark.skipif(not FILES, reason="the test vectors are not at ../shared/vectors")
def test_every_op_is_known() -> None:
    for op in sorted({str(case["op"]) for name in FILES for case in cases(name)}):
        assert callable(op_named(op))


def test_an_unknown_op_is_a_lookup_error() -> None:
    with pytest.raises(LookupError, match=r"contacts\.nothing"):
        handle("contacts.nothing", {})


def test_bytes_arrive_decoded_too() -> None:
    """``x_b64`` is handed over as it is and, decoded, as ``x``."""
    assert handle("robots.allowed", {"robots_b64": "", "agent": "weft", "url": "http://example.org/"}) is True


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_PAGE = {"html_b64": _b64("<a href=/a>x</a><a href=/B>y</a>"), "url": "http://h/"}
_REFRESH_IN_SCRIPT = _b64("<script>'<meta http-equiv=refresh content=\"1;url=/x\">'</script>")
_ROBOTS = _b64("Sitemap: /s.xml\nSitemap: /s.xml")


@pytest.mark.parametrize(
    ("op", "given", "expected"),
    [
        ("html.links.scrapy", {**_PAGE, "args": ["'a'"]}, ["http://h/a"]),
        ("html.links.scrapy", {**_PAGE, "options": {"allow": "re.compile('b', re.IGNORECASE)"}}, ["http://h/B"]),
        ("html.links.scrapy", {**_PAGE, "options": {"allow": "(re.compile('b'),)"}}, []),
        ("html.links.scrapy", {**_PAGE, "options": {"attrs": "None"}, "encoding": None}, []),
        ("html.meta_refresh", {"html_b64": _REFRESH_IN_SCRIPT, "url": "http://h/"}, [None, None]),
        (
            "html.meta_refresh",
            {"html_b64": _REFRESH_IN_SCRIPT, "url": "http://h/", "options": {"ignore_tags": ["noscript"]}},
            [1.0, "http://h/x"],
        ),
        (
            "html.base_url",
            {"html_b64": "PGJhc2UgaHJlZj0iL6MiPg==", "url": "http://h/", "encoding": "latin-1"},
            "http://h/%C2%A3",
        ),
        ("http.x_robots_tag", {"x_robots_tag": None}, {"noindex": False, "nofollow": False, "nocache": False}),
        ("http.x_robots_tag", {"x_robots_tag": "NONE"}, {"noindex": True, "nofollow": True, "nocache": True}),
        ("robots.sitemaps", {"robots_b64": _ROBOTS}, ["/s.xml", "/s.xml"]),
        ("robots.sitemaps", {"robots_b64": _ROBOTS, "base_url": "http://h"}, ["http://h/s.xml"]),
        ("url.resolve", {"base": "http://h/a#f", "ref": ""}, "http://h/a#f"),
        ("url.resolve", {"base": None, "ref": "http://h/a"}, "http://h/a"),
    ],
)
def test_options_and_shapes_of_the_input(op: str, given: dict[str, object], expected: object) -> None:
    """What the recorded cases have rarely: options left out, as another type, or by the place of the argument."""
    answer = handle(op, given)
    assert ([link["url"] for link in answer] if op == "html.links.scrapy" else answer) == expected  # type: ignore[attr-defined]
