"""What comes of site requests: the rules of a robots.txt, the sitemaps that it or another sitemap names, their
entries.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from weft.crawl.conclude import Concluded
from weft.fetch.site import AskAgain, Learnt
from weft.records import Failure, Fetched
from weft.text.human import counted, human_span
from weft.url import site_of

if TYPE_CHECKING:
    from weft.crawl.build import Parts

Entries = list[tuple[str, str]]  # URLs of a sitemap, each with the date of its last change, or ""


class SiteRequests:
    """Reads what site requests brought, and sends further ones where they lead."""

    def __init__(self, parts: Parts, note: Callable[[str], None]) -> None:
        """``note`` takes what whoever runs the crawl should know of a site."""
        self._parts = parts
        self._note = note
        self._entries: list[tuple[Concluded, Entries]] = []

    def take_entries(self) -> list[tuple[Concluded, Entries]]:
        """The entries of the sitemaps that were read since the last call."""
        entries, self._entries = self._entries, []
        return entries

    def robots(self, done: Concluded) -> None:
        """One request for a robots.txt has ended: it is asked for again, or its origin may be asked for pages."""
        parts, lease = self._parts, done.lease
        site_id = parts.rules.waiting_site(lease.origin)
        match parts.rules.answered(lease, _answer_of(done), self._site_of):
            case AskAgain(lease=again, rest_s=rest_s):
                site = parts.frontier.site(again.site)
                parts.frontier.schedule.rest(site, rest_s, parts.clock.seconds())
                parts.frontier.site_request(site.name, again, first=True)
            case Learnt() as learnt:
                granted_s = parts.frontier.set_delay(site_id, learnt.delay_s)
                if learnt.delay_s is not None and learnt.delay_s > granted_s:
                    asked, granted = human_span(learnt.delay_s), human_span(granted_s)
                    self._note(f"robots.txt of {learnt.origin} asks for {asked}, capped to {granted} (Crawl-delay)")
                asks_here = learnt.origin not in parts.frames_only  # else it is asked for the frames of others alone
                if asks_here and learnt.cause is None and parts.spec.scope.sitemaps != "no":
                    for url in learnt.sitemaps or (f"{learnt.origin}/sitemap.xml",):
                        self._queue_sitemap(url, site_id, None)
                parts.frontier.release(site_id)

    def sitemap(self, done: Concluded) -> None:
        """One request for a sitemap has ended: its entries are kept for the tick, its children queued."""
        parts, lease, answer = self._parts, done.lease, _answer_of(done)
        if isinstance(answer, Failure) or done.retry_s is not None:
            if done.condemns is not None:
                parts.frontier.site(lease.site).reads_later = True
            if done.retry_s is not None:
                parts.frontier.try_later(parts.sitemaps.again(lease), done.retry_s)
            else:
                parts.sitemaps.end(lease, done.visit.cause, 0)
            return
        if done.visit.redirect_to is not None:
            parts.sitemaps.end(lease, None, 0)
            self._queue_sitemap(done.visit.redirect_to, lease.site, lease.page)
            return
        entries: Entries = []
        if 200 <= answer.status < 300:
            found = parts.parse_sitemap(answer.body, lease.url, answer.header("content-type"), answer.truncated)
            entries = [(entry.url, entry.lastmod or "") for entry in found.entries]
            for child in found.children:
                self._queue_sitemap(child.url, lease.site, lease.page)
            done.visit.type = "application/xml" if found.kind in ("urlset", "index") else done.visit.type
            done.visit.detail = found.problem or None
            if found.is_cut:
                number = counted(len(found.entries) + len(found.children), "entry")
                self._note(f"sitemap {lease.url}: {found.problem}, {number} so far count")
        parts.sitemaps.end(lease, None, len(entries))
        if entries:
            self._entries.append((done, entries))

    def _queue_sitemap(self, url: str, asking_site: int, parent: int | None) -> None:
        """A sitemap is read where it belongs to the crawl: on the site that names it, or inside the scope."""
        parts = self._parts
        site_id = self._site_of(url)
        if site_id is None or (site_id != asking_site and not parts.judge.covers(url)):
            return
        lease = parts.sitemaps.add(url, site_id, parent)
        if lease is not None:
            parts.ask_sitemap(lease)

    def _site_of(self, url: str) -> int | None:
        """The site of a site request's next step; None where nobody may ask there."""
        parts = self._parts
        return parts.frontier.discovery.site_names.id_of(site_of(url)) if parts.judge.is_askable(url) else None


def _answer_of(done: Concluded) -> Fetched | Failure:
    """The answer of a site request, which is read here."""
    assert done.answer is not None
    done_answer, done.answer = done.answer, None  # its body need not wait for the tick
    return done_answer
