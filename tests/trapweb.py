"""A crawl without a network: breadth-first over a made-up web, judged as the real one is, counting requests."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from typing import NamedTuple
from urllib.parse import urljoin

from weft.judge.traps import TrapBook
from weft.ports import Parent
from weft.spec import Traps
YEAR = 2025

Web = Callable[[str], tuple[str, Sequence[str]] | None]
"""What a URL answers: its body without its links (two pages with the same one and the same references are
duplicates), and its references. None: 404."""


class Walk(NamedTuple):
    fetched: dict[str, int]  # URL to depth, in the order asked
    refused: Counter[str]
    book: TrapBook
    left: int  # waiting when the cap ended the walk


def walk(
    web: Web, start: str = "http://t.test/", *, traps: Traps | None = None, cap: int = 20_000, dfs: bool = False,
    book: TrapBook | None = None,
) -> Walk:  # fmt: skip
    """Follows every link until nothing is left or ``cap`` pages were asked."""
    book = book or TrapBook(traps or Traps(), YEAR)
    known = {start}
    queue: deque[tuple[str, int, int]] = deque([(start, 0, 0)])
    fetched: dict[str, int] = {}
    refused: Counter[str] = Counter()
    sites: dict[str, int] = {}
    bodies: set[int] = set()
    while queue and len(fetched) < cap:
        url, depth, chain = queue.pop() if dfs else queue.popleft()
        prefix = url[: url.index("/", 8) + 1]
        site_id = sites.setdefault(prefix, len(sites) + 1)
        if book.is_suspect(site_id):
            verdict = book.judge_waiting(url, site_id)
            if verdict.reason is not None:
                refused[verdict.reason] += 1
                continue
        fetched[url] = depth
        answer = web(url)
        if answer is None:
            continue
        body, references = answer
        digest = hash((body, *references))
        book.fetched(url, site_id, digest in bodies)
        bodies.add(digest)
        parent = Parent(url, depth, chain)
        new, old = [], []
        for target in dict.fromkeys(_absolute(url, prefix, references)):
            inside = target.startswith(prefix)
            if target in known:
                if inside:
                    old.append(target)
                continue
            there = site_id if inside else sites.setdefault(target[: target.index("/", 8) + 1], len(sites) + 1)
            verdict = book.judge(target, there, parent)
            if verdict.reason is not None:
                refused[verdict.reason] += 1
                continue
            known.add(target)
            queue.append((target, depth + 1, book.chain_of(target, parent)))
            if inside:
                new.append(target)
        book.linked(url, site_id, depth, new, old)
    return Walk(fetched, refused, book, len(queue))


def _absolute(url: str, prefix: str, references: Sequence[str]) -> list[str]:
    """The references resolved; those that begin with a slash, as nearly all do, without the cost of a parser."""
    return [
        prefix + reference[1:] if reference[:1] == "/" and reference[:2] != "//" else urljoin(url, reference)
        for reference in references
    ]
