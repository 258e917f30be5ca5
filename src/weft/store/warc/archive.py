"""The answers themselves, as WARC: which record each visit becomes, and where it lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Protocol

from weft.errors import Cause
from weft.records import Failure, Fetched, FilePosition, Lease, Rendering, Visit
from weft.store.visits import StoredBody
from weft.store.warc.writer import Exchange, RevisitOf, WarcWriter, payload_digest

REVISIT_MIN_B = 256  # below it the record that refers is larger than what it saves


class Kept(Protocol):
    """What the archive reads and fills in: a lease, its visit, and the name of the file that holds its record."""

    lease: Lease
    visit: Visit
    rendering: Rendering | None
    warc: str


FindBody = Callable[[int, str], StoredBody | None]
"""The committed answer with this hash and digest, or None."""


class Archive:
    """Writes one exchange, or one metadata record for a failure, per visit."""

    def __init__(self, writer: WarcWriter, find_body: FindBody, request_head: Callable[[Lease], bytes]) -> None:
        self._writer = writer
        self._find_body = find_body
        self._request_head = request_head

    def keep(self, group: Sequence[tuple[Kept, Fetched | Failure]]) -> None:
        """Puts answers into the archive's buffer, and the place of each into its visit."""
        for kept, answer in group:
            self._keep(kept, answer)

    def _keep(self, kept: Kept, answer: Fetched | Failure) -> None:
        lease, visit = kept.lease, kept.visit
        moment = _moment(visit.started_ms // 1000)
        match answer:
            case Failure(cause=cause, detail=detail):
                if cause is Cause.BUG:
                    return
                place = self._writer.write_metadata(lease.url, moment, {"cause": cause.value, "detail": detail})
            case Fetched():
                same_as = None
                if visit.hash is not None and len(answer.wire) >= REVISIT_MIN_B:
                    same_as = partial(self._same_payload, visit.hash)
                exchange = Exchange(
                    lease.url,
                    moment,
                    self._request_head(lease),
                    answer.head,
                    answer.wire,
                    answer.ip,
                    answer.http_version,
                    "length" if answer.truncated else None,
                )
                place = self._writer.write_exchange(exchange, same_as)
                visit.digest, visit.revisit = place.digest, place.is_revisit
                if kept.rendering is not None and answer.rendered is not None and answer.rendered.html:
                    self._keep_rendered(kept.rendering, lease.url, moment, answer.rendered.html)
        kept.warc, visit.warc_offset, visit.warc_length = place.file, place.offset, place.length

    def _keep_rendered(self, rendering: Rendering, url: str, moment: datetime, html: str) -> None:
        """The page as its scripts left it, behind the answer that it was made of."""
        place = self._writer.write_conversion(url, moment, html.encode("utf-8", "replace"), "text/html; charset=utf-8")
        rendering.file, rendering.warc_offset, rendering.warc_length = place.file, place.offset, place.length

    def _same_payload(self, body_hash: int, digest: str) -> RevisitOf | None:
        """The committed record that a revisit record may name."""
        stored = self._find_body(body_hash, digest)
        if stored is None:
            return None
        return RevisitOf(stored.url, _moment(stored.started_ms // 1000), stored.digest)

    def flush(self) -> None:
        self._writer.flush()

    def positions(self) -> Mapping[str, FilePosition]:
        return self._writer.positions()

    def close(self) -> None:
        self._writer.close()


@lru_cache(maxsize=64)
def _moment(epoch_s: int) -> datetime:
    """A second of the crawl: WARC dates have no finer grain, and a second has many answers."""
    return datetime.fromtimestamp(epoch_s, UTC)


class NoArchive:
    """`--no-archive`: data only. The digest is that of the decoded body: it tells equal bodies that are not kept."""

    def keep(self, group: Sequence[tuple[Kept, Fetched | Failure]]) -> None:
        for kept, answer in group:
            if kept.visit.hash is not None and isinstance(answer, Fetched):
                kept.visit.digest = payload_digest(answer.body)

    def flush(self) -> None:
        return

    def positions(self) -> Mapping[str, FilePosition]:
        return {}

    def close(self) -> None:
        return
