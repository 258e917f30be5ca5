"""The invented web and its answer key, without a server."""

from __future__ import annotations

import base64
import codecs
import gzip
import re
import tracemalloc
import xml.etree.ElementTree as ElementTree
from collections import Counter, defaultdict
from html import unescape
from urllib.parse import unquote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from second_reader import read
from web import ANSWER, MISBEHAVIOURS, TLS_KINDS

from weft.demo.invented import FAMILIES, MAIL_FORMS, PHONE_FORMS, InventedWeb
from weft.errors import Cause


def test_every_expectation_is_a_known_outcome() -> None:
    known = {cause.value for cause in Cause} | {ANSWER}
    assert len(MISBEHAVIOURS) >= 60
    for kind, expected in {**MISBEHAVIOURS, **TLS_KINDS}.items():
        assert expected.outcomes and expected.outcomes <= known, kind
        assert expected.why, kind


WEB = InventedWeb(7, hosts=2, pages=500, port=8_080, traps=True)
ENTRIES = list(WEB.entries())


def test_the_key_agrees_with_the_answers() -> None:
    """Status, type, title, language, noindex and nofollow of every address."""
    assert len({entry.url for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        answer = WEB.answer(entry.url)
        assert (answer.status, answer.content_type.partition(";")[0]) == (entry.status, entry.type), entry
        assert WEB.entry(entry.url) == entry
        if entry.type == "text/html":
            reader, text = read(WEB, entry.url)
            assert reader.title == entry.title, entry
            said = dict(answer.headers).get("X-Robots-Tag", "") + reader.robots
            assert ("noindex" in said, "nofollow" in said) == (entry.noindex, entry.nofollow), entry
            if entry.language:
                assert f'lang="{entry.language}"' in text
            if entry.encoding:
                assert entry.encoding in answer.content_type + text[:300]


def test_every_page_is_reached_at_its_depth() -> None:
    """R2: the level is the least number of clicks, from the links alone."""
    key = {entry.url: entry for entry in ENTRIES if entry.depth is not None}
    walked = WEB.expected()
    assert walked == key
    alone = WEB.expected([WEB.url(1)])
    assert alone == {url: entry for url, entry in key.items() if url.startswith(WEB.base(1) + "/")}
    without = WEB.expected(sitemaps=False)
    assert {entry.role for url, entry in key.items() if url not in without} == {"orphan"}
    assert max(entry.depth or 0 for entry in walked.values()) <= 5
    shallow = WEB.expected(max_depth=1)
    assert shallow == {url: entry for url, entry in key.items() if (entry.depth or 0) <= 1}
    everything = WEB.expected([WEB.url(0)], scope="free")
    assert set(everything) == set(key)
    greedy = WEB.expected(obey_robots=False, follow_nofollow=True)
    assert set(greedy) - set(key) == {entry.url for entry in ENTRIES if entry.role in ("private", "nofollow", "behind")}


def test_duplicates_are_exactly_the_groups() -> None:
    """E18, R13: same bytes if and only if the key says so."""
    same: defaultdict[bytes, set[str]] = defaultdict(set)
    for entry in ENTRIES:
        if entry.status == 200 and entry.type == "text/html":
            same[WEB.answer(entry.url).body].add(entry.url)
    assert {frozenset(group) for group in same.values() if len(group) > 1} == {
        frozenset(group) for group in WEB.duplicates()
    }


def test_near_duplicates_are_near_and_others_are_far() -> None:
    """G7: shingles of eight characters, at least 0.99 alike."""

    def shingles(url: str) -> set[str]:
        text = " ".join("".join(read(WEB, url)[0].text).split())
        return {text[at : at + 8] for at in range(len(text) - 7)}

    pairs = list(WEB.near_duplicates())
    assert len(pairs) > 20
    for one, other in pairs:
        a, b = shingles(one), shingles(other)
        assert 0.99 <= len(a & b) / len(a | b) < 1
    far = [shingles(one) for one, _ in pairs[:20]]
    assert all(len(a & b) / len(a | b) < 0.7 for at, a in enumerate(far) for b in far[:at])


def test_robots_and_sitemaps() -> None:
    """G6: disallowed areas, Crawl-delay, an index, gzip; orphans are in sitemaps only."""
    web = InventedWeb(7, 3, 900, crawl_delays=(0, 1, 5))
    assert ["Crawl-delay" in web.robots(host) for host in range(3)] == [False, True, True]
    assert "Crawl-delay: 5\n" in web.robots(2) and "Disallow: /private/\n" in web.robots(0)
    listed = set()
    for place, urls in web.sitemaps(1).items():
        body = web.answer(place).body
        document = ElementTree.fromstring(gzip.decompress(body) if place.endswith(".gz") else body)
        assert [loc.text for loc in document.iter("{http://www.sitemaps.org/schemas/sitemap/0.9}loc")] == urls
        listed.update(urls)
    orphans = {entry.url for entry in web.entries(1, ["orphan"])}
    assert orphans and orphans <= listed
    linked = {link.target for entry in web.entries(1) for link in web.links(entry.url)}
    assert not orphans & linked
    assert set(web.disallowed(1)) <= linked and all("/private/" in url for url in web.disallowed(1))


def test_planted_addresses_are_on_their_pages() -> None:
    """E24, E25: every form is there, and undone it gives the value."""
    web = InventedWeb(7, hosts=2, pages=1_500)
    forms: Counter[str] = Counter()
    for entry in web.entries(roles=["page"]):
        text = read(web, entry.url)[1]
        for item in web.planted(entry.url):
            forms[item.form] += 1
            assert _undone(item.form, text, item.value), item
    assert set(MAIL_FORMS) | set(PHONE_FORMS) <= set(forms)


def _undone(form: str, text: str, value: str) -> bool:
    """Whether a page has a value in a form, by reading the form backwards; of others whether its parts are there."""
    if value.startswith("+"):
        return value[1:] in re.sub(r"[^0-9]", "", text)
    user, _, domain = value.partition("@")
    match form:
        case "cloudflare":
            codes = (bytes.fromhex(code) for code in re.findall(r'data-cfemail="(\w+)"', text))
            return value in [bytes(letter ^ code[0] for letter in code[1:]).decode() for code in codes]
        case "entities" | "hex_entities" | "mailto_encoded":
            return value in unquote(unescape(text))
        case "char_codes":
            return ", ".join(str(ord(letter)) for letter in value) in text
        case "rot13":
            return value.replace("@", "[at]") in codecs.encode(text, "rot13")
        case "base64":
            return base64.b64encode(value.encode()).decode() in text
        case "reversed":
            return value[::-1] in text
    return user in text and re.search(r".{1,45}".join(map(re.escape, domain.split("."))), unescape(text)) is not None


def test_traps_can_be_switched_off() -> None:
    front = WEB.url(0)
    entries = [link.target for link in WEB.links(front) if "/trap/" in link.target]
    assert len(entries) == 3 and WEB.trap_prefixes == ("/trap/",)
    for url in entries:
        seen = set()
        for _ in range(30):
            assert WEB.answer(url).status == 200 and url not in seen
            seen.add(url)
            reader, _ = read(WEB, url)
            assert reader.links == [tuple(link) for link in WEB.links(url)]
            url = WEB.links(url)[-1].target
    plain = InventedWeb(7, 3, 900, port=8_080)
    assert not plain.trap_prefixes and plain.answer(entries[0]).status == 404
    assert not any("/trap/" in link.target for link in plain.links(front))


@settings(max_examples=60)
@given(st.integers(0, 2**40), st.integers(1, 40), st.integers(0, 3_000), st.data())
def test_pages_are_pure_functions_of_seed_and_url(seed: int, hosts: int, more: int, data: st.DataObject) -> None:
    """Any size, any order: the same seed gives the same bytes, and every link of a page is known to the key."""
    pages = hosts + more
    web, again = InventedWeb(seed, hosts, pages), InventedWeb(seed, hosts, pages)
    assert sum(web.size(host) for host in range(hosts)) == pages
    host = data.draw(st.integers(0, hosts - 1))
    number = data.draw(st.integers(0, web.size(host) - 1))
    url = next(entry.url for at, entry in enumerate(web.entries(host, ["page"])) if at == number)
    assert web.answer(url) == again.answer(url) and web.answer(url).status == 200
    for link in again.links(url):
        if link.target.startswith("http") and link.kind in ("a", "area", "iframe", "onclick", "canonical"):
            entry = web.entry(link.target)
            assert entry is not None
            assert entry.depth is None or entry.depth <= web.level(number) + 1


@settings(max_examples=200)
@given(st.text(max_size=60))
def test_any_path_has_an_answer(path: str) -> None:
    answer = WEB.answer_at(0, "/" + path)
    assert answer.status == 404 or WEB.entry(WEB.url(0, "/" + path)) is not None


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_wrong_members_of_families_do_not_exist(family: str) -> None:
    prefix, suffix = FAMILIES[family].prefix, FAMILIES[family].suffix
    for number in ("", "-1", "007", "99999999", "1e3", f"{FAMILIES[family].offset + 1}"):
        assert WEB.answer_at(0, f"{prefix}{number}{suffix}").status == 404


def test_editions_differ_in_some_pages() -> None:
    """E10: an eighth of the pages changes, with its ETag and Last-Modified."""
    older, newer = (InventedWeb(3, 2, 400, edition=edition) for edition in (1, 2))
    changed = 0
    for entry in older.entries(roles=["page"]):
        a, b = older.answer(entry.url), newer.answer(entry.url)
        assert (a.body == b.body) == (dict(a.headers)["ETag"] == dict(b.headers)["ETag"])
        changed += a.body != b.body
    assert 20 < changed < 90


def test_a_million_pages_cost_nothing() -> None:
    """STYLE section 7: no disk, no memory that grows."""
    tracemalloc.start()
    try:
        web = InventedWeb(1, 100, 1_000_000)
        for number in range(0, 9_999, 50):
            url = web.url(99, web.name(99, number)[0])
            assert web.answer(url).status == 200 and web.entry(url) is not None
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 20_000_000
    assert web.level(9_999) == 4


def test_webs_that_cannot_be_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one host"):
        InventedWeb(1, 0, 5)
    with pytest.raises(ValueError, match="page on each"):
        InventedWeb(1, 10, 5)
