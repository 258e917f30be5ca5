"""Site requests: what the answers for robots.txt and sitemaps mean, and which requests they lead to."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from weft.errors import Cause
from weft.ports import AskAgain, Learnt, RobotsFiles, SitemapFiles, SitemapJudge, SiteQueue
from weft.records import Decision, Facts, Failure, Fetched, Lease, Processed
from weft.text.human import counted, human_span
from weft.url import origin_of

Entries = tuple[tuple[str, str], ...]
"""URLs of a sitemap, each with the date of its last change, or ""."""


class SiteRequests:
    """Reads the answers for site requests, and sends further ones where they lead."""

    def __init__(
        self,
        queue: SiteQueue,
        robots: RobotsFiles,
        sitemaps: SitemapFiles,
        judge: SitemapJudge,
        *,
        reads_sitemaps: bool,
    ) -> None:
        self._queue = queue
        self._robots = robots
        self._sitemaps = sitemaps
        self._judge = judge
        self._reads_sitemaps = reads_sitemaps
        self._for_frames: set[str] = set()  # origins outside the crawl, met in frames of rendered pages
        self._notes: list[str] = []  # facts that whoever runs the crawl should know of a site

    def robots(self, lease: Lease, answer: Fetched | Failure) -> None:
        """One request for a robots.txt has ended: it is asked for again, or its origin may be asked for pages."""
        site_id = self._robots.waiting_site(lease.origin)
        match self._robots.answered(lease, answer, self._site_of):
            case AskAgain(lease=again, rest_s=rest_s):
                self._queue.rest(again.site, rest_s)
                self._queue.site_request(again, first=True)
            case Learnt() as learnt:
                self._take_delay(learnt, site_id)
                is_crawled = learnt.origin not in self._for_frames and self._judge.has_pages(learnt.origin)
                if learnt.cause is None and self._reads_sitemaps and is_crawled:
                    for url in learnt.sitemaps or (f"{learnt.origin}/sitemap.xml",):
                        self._queue_sitemap(url, site_id, None)
                self._queue.release(site_id)

    def give_up(self, lease: Lease, cause: Cause) -> None:
        """The origin of a lease does not answer: its pages are refused for this cause for a while."""
        self._robots.give_up(origin_of(lease.url), lease.site, cause)

    def ask_robots_for_frame(self, lease: Lease) -> None:
        """robots.txt of an origin that frames of rendered pages come from. Outside the crawl it names no sitemaps."""
        if not self._judge.covers(lease.url):
            self._for_frames.add(lease.origin)
        self._queue.site_request(lease, first=True)

    def _take_delay(self, learnt: Learnt, site_id: int) -> None:
        granted_s = self._queue.set_delay(site_id, learnt.delay_s)
        if learnt.delay_s is not None and learnt.delay_s > granted_s:
            asked, granted = human_span(learnt.delay_s), human_span(granted_s)
            self._notes.append(f"robots.txt of {learnt.origin} asks for {asked}, capped to {granted} (Crawl-delay)")

    def sitemap(self, processed: Processed, decision: Decision) -> tuple[Facts, Entries]:
        """One request for a sitemap has ended: its facts and entries. Its children are queued."""
        done, answer = processed.done, processed.answer
        lease, facts = done.lease, done.facts
        if not isinstance(answer, Fetched) or decision.retry_s is not None:
            if done.condemns is not None:
                self._queue.reads_later(lease.site)
            if decision.retry_s is not None:
                self._queue.try_later(self._sitemaps.again(lease), decision.retry_s)
            else:
                self._sitemaps.end(lease, facts.cause, 0)
            return facts, ()
        if facts.redirect_to is not None:
            self._sitemaps.end(lease, None, 0)
            self._queue_sitemap(facts.redirect_to, lease.site, lease.page)
            return facts, ()
        entries: Entries = ()
        if 200 <= answer.status < 300:
            facts, entries = self._read(lease, facts, answer)
        self._sitemaps.end(lease, None, len(entries))
        return facts, entries

    def _read(self, lease: Lease, facts: Facts, answer: Fetched) -> tuple[Facts, Entries]:
        from weft.fetch.sitemaps import parse_sitemap  # many expressions to compile, and many crawls meet no sitemap

        found = parse_sitemap(answer.body, lease.url, answer.header("content-type"), truncated=answer.truncated)
        for child in found.children:
            self._queue_sitemap(child.url, lease.site, lease.page)
        if found.is_cut:
            number = counted(len(found.entries) + len(found.children), "entry")
            self._notes.append(f"sitemap {lease.url}: {found.problem}, {number} so far count")
        media_type = "application/xml" if found.kind in ("urlset", "index") else facts.type
        facts = msgspec.structs.replace(facts, type=media_type, detail=found.problem or None)
        return facts, tuple((entry.url, entry.lastmod or "") for entry in found.entries)

    def ask_sitemap(self, lease: Lease) -> None:
        """Puts a sitemap into the queue; where only start addresses are asked, it waits for a run that lets more in."""
        if self._judge.admits_from_sitemap(lease.url):
            self._queue.site_request(lease)
        else:
            self._sitemaps.put_off(lease)

    def _queue_sitemap(self, url: str, asking_site: int, parent: int | None) -> None:
        """A sitemap is read where it belongs to the crawl: on the site that names it, or inside the scope."""
        site_id = self._site_of(url)
        if site_id is None or (site_id != asking_site and not self._judge.covers(url)):
            return
        lease = self._sitemaps.add(url, site_id, parent)
        if lease is not None:
            self.ask_sitemap(lease)

    def _site_of(self, url: str) -> int | None:
        """The site of the next step of a site request; None where nobody may ask there."""
        return self._queue.site_id_of(url) if self._judge.is_askable(url) else None

    def flush(self, name: Callable[[str], int]) -> None:
        """Writes what was learnt, inside a transaction. ``name`` gives the id of a URL's text."""
        for lease, refusal in self._queue.refused_site_requests():
            self._sitemaps.end(lease, refusal.cause.value, 0)
        self._sitemaps.flush(name)
        self._robots.flush()

    def take_notes(self) -> tuple[str, ...]:
        """The notes since the last call."""
        notes, self._notes = tuple(self._notes), []
        return notes
