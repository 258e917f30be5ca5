"""Which sites are under watch for parts without an end, and what the watches found (ENDLESS_SITE)."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from weft.errors import Reason
from weft.judge.traps.endless import OTHERS, SiteWatch
from weft.judge.traps.ledger import Ledger, mark_of
from weft.judge.traps.urls import Problem, group_of, without_tokens

WATCHED_SITES = 1_000
SAMPLED_SITES = 64  # sites of which URLs are watched at the same time: what costs memory
TOKENS = 3  # URLs of a page with other tokens that are still asked after the site was found out
PAGES_BEHIND_TOKENS = 500  # and of how many pages
_MARK_B = 16
STALE = 100_000  # pages read since a site was last seen, after which its watch may end


class Watches:
    """See the module. ``found`` is kept in the ledger ``endless``, the watches themselves start anew."""

    def __init__(self, span: int, suspects: set[int]) -> None:
        self._span = span
        self._suspects = suspects
        self.endless = Ledger("e", 20_000)
        self.pages = Ledger("n", 50_000)
        self.behind_tokens = Ledger("t", 20_000)  # by site: how many pages, one more; by page: its URLs
        self.found: dict[int, tuple[frozenset[str], frozenset[str]]] = {}  # by site: endless; told apart by name
        self._watches: dict[int, SiteWatch] = {}  # the one used last is the last one
        self._turn = 0
        self._sampling: set[int] = set()

    def problem(self, url: str, site_id: int) -> Problem | None:
        """What is said against a URL of a site in ``found``."""
        parts, told_apart = self.found[site_id]
        group = group_of(url)
        if group in parts or (OTHERS in parts and group not in told_apart):
            if self._is_behind_tokens(url, site_id):
                return None
            return Reason.ENDLESS_SITE, f"this part of the site has no end (--trap-endless-site-pages {self._span})"
        return None

    def _is_behind_tokens(self, url: str, site_id: int) -> bool:
        """Whether a URL is one of the first of a page that was not met yet since its site of tokens was found out.

        A session id in every link makes a site endless, and its pages are still not that many.
        """
        pages = self.behind_tokens.number(str(site_id))
        if not pages:
            return False
        key = f"{site_id} {mark_of(without_tokens(url))}"
        urls, mark = self.behind_tokens.blob(key), mark_of(url).encode()
        if mark in (urls[at : at + _MARK_B] for at in range(0, len(urls), _MARK_B)):
            return True
        if len(urls) >= TOKENS * _MARK_B or (not urls and pages > PAGES_BEHIND_TOKENS):
            return False
        if not urls:
            self.behind_tokens.add(str(site_id))
        self.behind_tokens.put(key, urls + mark)
        return True

    def learn(self, url: str, site_id: int, depth: int, new: Sequence[str], known: Sequence[str]) -> None:
        """Takes in the links of a page within its site."""
        pages = self.pages.add(str(site_id))
        watch = self._watch(site_id, pages)
        if watch is None:
            return
        sampling = self._sampling
        may_sample = site_id in sampling or len(sampling) < SAMPLED_SITES
        endless = watch.page(url, depth, pages, new, known, may_sample)
        if watch.sample:
            sampling.add(site_id)
        else:
            sampling.discard(site_id)
        if endless:
            before, _ = self.found.get(site_id, (frozenset(), frozenset()))
            parts = before.union(endless)
            self.found[site_id] = (parts, watch.names)
            self.endless.put(str(site_id), msgspec.json.encode((sorted(parts), sorted(watch.names))))
            self._suspects.add(site_id)
            if watch.is_of_tokens and str(site_id) not in self.behind_tokens:
                self.behind_tokens.put(str(site_id), 1)

    def _watch(self, site_id: int, pages: int) -> SiteWatch | None:
        """The watch of a site, which is now the one used last; None while too many others are at work."""
        self._turn += 1
        watch = self._watches.pop(site_id, None)
        if watch is None:
            if len(self._watches) >= WATCHED_SITES:
                oldest = next(iter(self._watches))
                if self._watches[oldest].turn > self._turn - STALE:
                    return None
                del self._watches[oldest]
                self._sampling.discard(oldest)
            # what was counted before a resume does not shorten the watch
            watch = SiteWatch(pages - 1, self._span)
        watch.turn = self._turn
        self._watches[site_id] = watch
        return watch

    def take_up(self) -> None:
        """After the ledgers were loaded: what is known of before may refuse what waits."""
        for key in self.endless:
            parts, told_apart = msgspec.json.decode(self.endless.blob(key), type=tuple[list[str], list[str]])
            self.found[int(key)] = (frozenset(parts), frozenset(told_apart))
        self._suspects.update(self.found)
