"""What the crawl learns of a lease that ended: about its site, its scope, its cookies, and what follows."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from weft.crawl.conclude import decide
from weft.crawl.site_requests import SiteRequests
from weft.crawl.tick import BatchEntry
from weft.errors import POLICIES, STALLS_MAX, Cause
from weft.ports import AnswerJudge, Clocks, CookieStore, SiteState, Store
from weft.records import NOTHING_FOLLOWS, PAGE, Concluded, Decision, Ended, Processed, Purpose
from weft.spec import Limits


class Learning:
    """Learns of one lease after the other, in the order in which they ended."""

    def __init__(
        self, limits: Limits, clocks: Clocks, judge: AnswerJudge, store: Store, site_requests: SiteRequests,
        jar: CookieStore | None, key_of: Callable[[str], str],
    ) -> None:  # fmt: skip
        self._limits = limits
        self._clocks = clocks
        self._judge = judge
        self._store = store
        self._site_requests = site_requests
        self._jar = jar
        self._key_of = key_of

    def learn(self, ended: Ended) -> tuple[BatchEntry, SiteState | None]:
        """All that follows from a lease that ended, ready for the tick; and the site that it was given for."""
        processed, done, lease = ended.processed, ended.processed.done, ended.processed.done.lease
        facts = done.facts
        if ended.successor is not None:
            self._clocks.promoted(ended.successor)
        visit = self._store.next_visit()
        if done.cookies and self._jar is not None:
            self._jar.store(lease.url, done.cookies, facts.started_ms / 1000)
        if lease.purpose is Purpose.RESOURCE:  # the page that loads it waits for it, and nobody else
            return BatchEntry(_without_answer(processed), NOTHING_FOLLOWS, visit, facts), None
        # a page that was rendered has only now stopped to ask for things
        answer_s = (facts.response_ms or 0) / 1000 if processed.rendering is None else 0.0
        site = self._clocks.ended(lease, answer_s, facts.status)
        decision = decide(done, self._limits, site.slow_answers, self._key_of)
        self._note_manners(done, site, decision)
        entries: tuple[tuple[str, str], ...] = ()
        if lease.purpose is PAGE:
            self._learn_of_page(done)
        elif lease.purpose.is_queued:
            if facts.hash is not None:
                self._store.body_seen(facts.hash)
        elif lease.purpose is Purpose.ROBOTS:
            assert processed.answer is not None
            self._site_requests.robots(lease, processed.answer)
        else:
            facts, entries = self._site_requests.sitemap(processed, decision)
        return BatchEntry(_without_answer(processed), decision, visit, facts, entries), site

    def _note_manners(self, done: Concluded, site: SiteState, decision: Decision) -> None:
        """How the site answered: it may rest, or be given up after too many failures in a row."""
        lease, cause = done.lease, done.facts.cause
        if done.state == "C":
            site.answered(is_slow=done.is_slow)
        elif cause is not None:
            policy = POLICIES[Cause(cause)]
            if policy.condemns_origin or policy.stalls:
                site.failed(1 if policy.retried else self._limits.retries + 1)
        if decision.rest_s:
            self._clocks.rest(lease.site, decision.rest_s)
        if done.condemns is not None and lease.purpose is not Purpose.ROBOTS:
            # pages and sitemaps are counted together
            bearable = STALLS_MAX if POLICIES[done.condemns].stalls else self._limits.retries
            if site.failures > bearable:
                self._site_requests.give_up(lease, done.condemns)

    def _learn_of_page(self, done: Concluded) -> None:
        facts, lease = done.facts, done.lease
        if facts.redirect_to is not None and lease.depth == 0:
            self._judge.seed_redirects_to(done.links.targets[0], lease.url)
        if facts.hash is not None:
            known = facts.hash if self._store.body_seen(facts.hash) else None
            self._judge.fetched(lease.url, lease.site, known)


def _without_answer(processed: Processed) -> Processed:
    """The body of a site request need not wait for the tick."""
    if processed.answer is None:
        return processed
    return msgspec.structs.replace(processed, answer=None)
