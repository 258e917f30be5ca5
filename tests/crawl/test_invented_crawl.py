"""A crawl of an invented web equals its key: pages, depths, links in order, duplicates (R2, R3, R13, E17, G6)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from command import Weft

from weft.demo.server import Served


def rows(weft: Weft, *command: str) -> list[dict[str, object]]:
    ended = weft(*command)
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.mark.parametrize("workers", [1, 64])
def test_pages_links_and_duplicates_equal_the_key(weft: Weft, invented: Callable[..., Served], workers: int) -> None:
    served = invented(seed=11, hosts=4, pages=400, traps=False)
    ended = weft(
        "crawl", *served.seeds, "-o", "out", "--resolve", served.resolve, "--delay", "0", "--per-host", "8",
        "--workers", str(workers), "--quiet",
    )  # fmt: skip
    assert ended.code == 0, ended.stderr
    wanted = served.web.expected()
    pages = {str(page["url"]): page for page in rows(weft, "pages", "out")}
    assert {url: page["status"] for url, page in pages.items()} == {url: entry.status for url, entry in wanted.items()}
    assert {url: page["depth"] for url, page in pages.items()} == {url: entry.depth for url, entry in wanted.items()}
    titles = {
        url: page["title"] for url, page in pages.items() if page["status"] == 200 and page["type"] == "text/html"
    }
    assert titles == {url: wanted[url].title for url in titles}

    links: dict[str, list[tuple[object, ...]]] = {}
    for link in rows(weft, "links", "out"):
        if link["kind"] != "sitemap":
            links.setdefault(str(link["source"]), []).append((link["target"], link["kind"]))
    key = {url: [(link.target, link.kind) for link in served.web.links(url)] for url in wanted}
    assert links == {url: found for url, found in key.items() if found}

    same = {frozenset(group) for group in served.web.duplicates()}
    groups: dict[str, set[str]] = {}
    for url, page in pages.items():
        if page["duplicate_of"] is not None:
            groups.setdefault(str(page["duplicate_of"]), {str(page["duplicate_of"])}).add(url)
    assert {frozenset(group) for group in groups.values()} == {
        frozenset(group & pages.keys()) for group in same if len(group & pages.keys()) > 1
    }
