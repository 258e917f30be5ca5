"""A crawl without a network: over a made-up web, judged as the real one is, counting requests."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from urllib.parse import urljoin

from xxhash import xxh3_64_intdigest

from weft.errors import LINK_REASONS, Reason
from weft.judge.traps import TrapBook
from weft.ports import Parent
from weft.spec import Traps

YEAR = 2025

Web = Callable[[str], tuple[str, Sequence[str]] | None]
"""What a URL answers: its text (two pages with the same text and the same references are duplicates), and its
references. None: 404."""


class Walk:
    """Follows every link, breadth-first or depth-first, until nothing is left or ``cap`` pages were asked."""

    def __init__(self, web: Web, book: TrapBook, start: str, dfs: bool) -> None:
        self.book = book
        self.fetched: list[str] = []
        self.reasons: dict[str, Reason] = {}
        self.depths = {start: 0}
        self._chains = {start: 0}
        self._web, self._dfs = web, dfs
        self._queue = deque([start])
        self._sites: dict[str, int] = {}
        self._bodies: set[int] = set()
        self._again: deque[str] = deque()
        self._targets: dict[str, list[str]] = {}  # kept for depth-first walks: offered again when a page comes nearer

    @property
    def refused(self) -> Counter[Reason]:
        return Counter(self.reasons.values())

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def run(self, cap: int) -> Walk:
        while self._queue and len(self.fetched) < cap:
            url = self._queue.pop() if self._dfs else self._queue.popleft()
            site = self._site(url)
            verdict = self.book.judge_waiting(url, site)
            if verdict.reason is not None:
                self.reasons[url] = verdict.reason
                continue
            self.fetched.append(url)
            answer = self._web(url)
            if answer is None:
                continue
            text, references = answer
            body = xxh3_64_intdigest("\n".join((text, *references)).encode())
            self.book.fetched(url, site, body if body in self._bodies else None)
            self._bodies.add(body)
            targets = list(dict.fromkeys(_absolute(url, references)))
            self._offer(url, targets, learn=True)
            if self._dfs:
                self._targets[url] = targets
        return self

    def _site(self, url: str) -> int:
        return self._sites.setdefault(url[: url.index("/", 8)], len(self._sites) + 1)

    def _offer(self, url: str, targets: list[str], learn: bool) -> None:
        parent = Parent(url, self.depths[url], self._chains[url])
        prefix = url[: url.index("/", 8) + 1]
        site = self._site(url)
        new, known, nearer = [], [], []
        for target in targets:
            inside = target.startswith(prefix)
            if target in self.depths:
                if inside:
                    known.append(target)
                if self._dfs and parent.depth + 1 < self.depths[target]:
                    self.depths[target] = parent.depth + 1
                    nearer.append(target)
                continue
            if self.reasons.get(target, Reason.TOO_DEEP) not in LINK_REASONS:
                continue
            verdict = self.book.judge(target, site if inside else self._site(target), parent)
            if verdict.reason is not None:
                self.reasons[target] = verdict.reason
                continue
            self.reasons.pop(target, None)
            self.depths[target] = parent.depth + 1
            self._chains[target] = self.book.chain_of(target, parent)
            self._queue.append(target)
            if inside:
                new.append(target)
        if learn:
            self.book.linked(url, site, parent.depth, new, known)
        for target in nearer:
            if target in self._targets:
                self._again.append(target)
                if len(self._again) == 1:
                    self._offer_again()

    def _offer_again(self) -> None:
        """What lies behind pages that came nearer, without recursion."""
        while self._again:
            url = self._again[0]
            self._offer(url, self._targets[url], learn=False)
            self._again.popleft()


def walk(
    web: Web, start: str = "http://t.test/", *, traps: Traps | None = None, cap: int = 20_000, dfs: bool = False,
    book: TrapBook | None = None,
) -> Walk:  # fmt: skip
    """What a whole crawl from one address asks and refuses."""
    return Walk(web, book or TrapBook(traps or Traps(), YEAR), start, dfs).run(cap)


def _absolute(url: str, references: Sequence[str]) -> list[str]:
    """The references resolved; those that begin with a slash, as nearly all do, without the cost of a parser."""
    origin = url[: url.index("/", 8)]
    return [
        origin + reference if reference[:1] == "/" and reference[:2] != "//" else urljoin(url, reference)
        for reference in references
    ]
