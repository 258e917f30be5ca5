"""Finds the parts of a site that are made up as one reads them (tarpits).

A web that people made folds back on itself: pages are linked from more than one place, and many lead nowhere new.
A tarpit is a tree: every page brings new links, and nothing deeper is ever linked twice. So a sample of the URLs that
a site's pages brought is watched for a while. A part of the site is endless if practically none of its URLs is met
again on another page (links back to ancestors, between the children of one page, and inside of one small folder, which
relative links make for nothing, do not count), and practically every one of its pages brings new ones of a part that
is endless, too, and more than one on average: what goes on page by page is a chain, which has a bound of its own.

A maze whose names are put together of few words (``/maze/able/acid``, ``?q=able+acid``) meets itself by chance, as a
large web of people does. But there most pages bring a word of their own; here ever new URLs consist of the same ones.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from math import sqrt

from weft.judge.traps.urls import group_of, split_url, without_tokens
from weft.text.patterns import regex

PARTS = 32  # parts of a site told apart by name; all others are one
OTHERS = "*"
SAMPLE = 2_048  # URLs watched
ENOUGH = 200  # URLs watched in a site, below which nothing is concluded
MET_AGAIN = 0.005  # at most this share met again: endless
FRUITFUL = 0.95  # at least this share of pages with new links: endless
GROWTH = 1.1  # at least so many new URLs a page: lists side by side, each page with the next one, are no tree
SMALL = 16  # at most so many of the URLs watched lie in a folder that is small
MIXED_MET_AGAIN = 0.4  # at most this share of mixtures: of a set that has an end, more are met again by then
URLS_PER_WORD = 3  # at least so many of the URLs watched for each of their words: mixtures of few words
URLS_PER_NUMBER = 30  # the same where they have numbers: books have chapters, but more of them
URLS_PER_PAGE = 8  # at least so many of the URLs watched are the same but for their tokens: a site of tokens
HEALTHY = 0.05  # at least this share met again, in every part: no need to watch on


class _Part:
    """What is counted for one part of a site in one span."""

    __slots__ = ("again", "brought", "children", "fruitful", "mixed", "pages", "watched")

    def __init__(self) -> None:
        self.pages = self.fruitful = self.watched = self.again = 0
        self.mixed = False  # its URLs are mixtures of few words
        self.brought: dict[str, int] = {}  # how many of its pages brought new URLs of that part
        self.children: dict[str, int] = {}  # and how many URLs these were

    @property
    def is_fruitful(self) -> bool:
        return _are_most(self.fruitful, self.pages)

    @property
    def is_tree(self) -> bool:
        return self.is_fruitful and self.again <= self.watched * (MIXED_MET_AGAIN if self.mixed else MET_AGAIN)

    def led_into(self, names: Collection[str]) -> int:
        """At least how many of its pages brought new URLs of these parts: not less than of one, or of no other."""
        elsewhere = sum(pages for name, pages in self.brought.items() if name not in names)
        return max(self.fruitful - elsewhere, *[self.brought.get(name, 0) for name in names])


class _Watched:
    """A URL that is waited for: how deep it lies, who found it, in which part."""

    __slots__ = ("depth", "finder", "part")

    def __init__(self, depth: int, finder: str, part: _Part) -> None:
        self.depth, self.finder, self.part = depth, finder, part


class SiteWatch:
    """Watches one site, in spans that double: the first ends after ``span`` pages."""

    def __init__(self, pages: int, span: int) -> None:
        self._names: set[str] = set()
        self.turn = 0  # of those who watch many sites: when it was used last
        self.is_of_tokens = False  # what was endless last differs by tokens: few pages are behind many URLs
        self._begin(pages, span)

    def _begin(self, start: int, span: int) -> None:
        self._sample_from = start + span // 10
        self._sample_to = start + span // 2
        self._end = start + span
        self._parts: dict[str, _Part] = {}
        self.sample: dict[str, _Watched] = {}  # the URLs that are watched, if any
        self._awaited: dict[str, _Watched] = {}  # those of the sample that were not met again yet
        self._folders: dict[str, int] = {}  # how many of the sample lie in each
        self._healthy = False

    @property
    def names(self) -> frozenset[str]:
        """The parts told apart by name: those of the pages that were read first."""
        return frozenset(self._names)

    def page(
        self, url: str, depth: int, pages: int, new: Sequence[str], known: Sequence[str], may_sample: bool
    ) -> list[str]:  # fmt: skip
        """Takes in what a page linked to; the parts that have just turned out to be endless.

        ``pages`` counts the pages of the site, this one included. Without ``may_sample`` this span concludes nothing.
        """
        if self._healthy and len(self._names) >= PARTS and pages < self._end:
            return []  # nothing of this span is asked for any more
        group = group_of(url)
        if len(self._names) < PARTS:
            self._names.add(group)
        part = self._part(group)
        part.pages += 1
        if new:
            part.fruitful += 1
            names = [self._name(group_of(target)) for target in new]
            for name in names:
                part.children[name] = part.children.get(name, 0) + 1
            for name in {*names}:
                part.brought[name] = part.brought.get(name, 0) + 1
        if not self._healthy:
            if self._awaited:
                self._meet(url, depth, known)
            if self._sample_from <= pages < self._sample_to:
                if may_sample:
                    self._draw(url, depth, new)
            elif self.sample and pages % 64 == 0 and self._is_healthy():
                self._healthy, self.sample, self._awaited, self._folders = True, {}, {}, {}
        if pages < self._end:
            return []
        endless = [] if self._healthy else self._endless()
        if endless:
            self.is_of_tokens = URLS_PER_PAGE * len({*map(without_tokens, self.sample)}) <= len(self.sample)
        self._begin(pages, pages)
        return endless

    def _name(self, group: str) -> str:
        return group if group in self._names else OTHERS

    def _part(self, group: str) -> _Part:
        name = self._name(group)
        part = self._parts.get(name)
        if part is None:
            part = self._parts[name] = _Part()
        return part

    def _draw(self, url: str, depth: int, new: Sequence[str]) -> None:
        for target in new[: SAMPLE - len(self.sample)]:
            part = self._part(group_of(target))
            part.watched += 1
            folder = _folder_of(target)
            self._folders[folder] = self._folders.get(folder, 0) + 1
            self.sample[target] = self._awaited[target] = _Watched(depth + 1, url, part)

    def _meet(self, url: str, depth: int, known: Sequence[str]) -> None:
        own = self.sample.get(url)
        parent = own.finder if own is not None else None
        for target in self._awaited.keys() & known:
            met = self._awaited[target]
            if met.depth < depth or met.finder == url or met.finder == parent:
                continue
            folder = _folder_of(target)
            if self._folders[folder] <= SMALL and url.startswith(folder) and met.finder.startswith(folder):
                continue
            del self._awaited[target]
            met.part.again += 1

    def _is_healthy(self) -> bool:
        if not all(part.again >= part.watched * HEALTHY for part in self._parts.values() if part.watched >= 20):
            return False
        whole = self._whole()
        return not whole.mixed and not any(part.mixed for part in self._parts.values())

    def _whole(self) -> _Part:
        """All parts together, after those that are mixtures have been found."""
        whole = _Part()
        for part in self._parts.values():
            whole.pages += part.pages
            whole.fruitful += part.fruitful
            whole.watched += part.watched
            whole.again += part.again
        for part in self._parts.values():
            part.mixed = (
                part.watched >= 2 * ENOUGH
                and part.is_fruitful
                and _are_mixtures(url for url, watched in self.sample.items() if watched.part is part)
            )
        if whole.is_fruitful and _are_mixtures(self.sample):
            whole.mixed = True
            for part in self._parts.values():
                part.mixed = True
        return whole

    def _endless(self) -> list[str]:
        whole = self._whole()
        if whole.watched < ENOUGH:
            return []
        if whole.is_tree:
            share, enough = 100, 0
        else:  # then only a large part may be judged by itself
            share, enough = 8, 2 * ENOUGH
        trees = {
            name: part
            for name, part in self._parts.items()
            if part.pages * share >= whole.pages and part.watched >= enough and part.is_tree
        }
        while True:  # what only brings pages of parts that end, ends
            ending = [name for name, part in trees.items() if not _are_most(part.led_into(trees), part.pages)]
            if not ending:
                return sorted(trees) if _growth(trees) >= GROWTH else []
            for name in ending:
                del trees[name]


def _are_most(count: int, pages: int) -> bool:
    """Whether so many of these pages are FRUITFUL, or would be but for chance: two deviations of their number."""
    return count >= pages * FRUITFUL - 2 * sqrt(pages * FRUITFUL * (1 - FRUITFUL))


def _growth(trees: dict[str, _Part]) -> float:
    """How many new URLs of these parts a page of them brought."""
    pages = sum(part.pages for part in trees.values())
    return sum(part.children.get(name, 0) for part in trees.values() for name in trees) / pages if pages else 0.0


_WORD = regex(r"(?:[0-9a-z]|%[89a-f][0-9a-f])+")
_OTHER_BYTE = regex(r"%[0-7][0-9a-f]")
_DIGIT = regex(r"[0-9](?<!%.)(?<!%..)")


def _are_mixtures(urls: Iterable[str]) -> bool:
    """Whether URLs are many for the words they consist of. With numbers they must be far more."""
    counts, words = [0, 0], (set[str](), set[str]())
    for url in urls:
        _, path, query = split_url(url)
        text = _OTHER_BYTE.sub(" ", f"{path} {query}".lower())
        numbered = _DIGIT.search(text) is not None
        counts[numbered] += 1
        words[numbered].update(_WORD.findall(text))
    return any(
        count >= 2 * ENOUGH and count >= per_word * len(known)
        for count, per_word, known in zip(counts, (URLS_PER_WORD, URLS_PER_NUMBER), words, strict=True)
    )


def _folder_of(url: str) -> str:
    """The folder that a URL lies in, with its slash: ``/a/`` for ``/a/b`` and ``/a/b/``."""
    path = url.partition("?")[0]
    return path[: path.rfind("/", 0, len(path) - 1) + 1]
