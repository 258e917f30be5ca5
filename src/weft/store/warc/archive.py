"""The answers themselves, as WARC: which record each visit becomes, and where it lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial

from weft.errors import Cause
from weft.records import (
    CHECK,
    NOT_MODIFIED,
    NOWHERE,
    RENDERED_TYPE,
    Concluded,
    Failure,
    Fetched,
    FilePosition,
    Lease,
    Place,
)
from weft.store.visits import StoredBody
from weft.store.warc.writer import Exchange, RevisitOf, WarcWriter, payload_digest

REVISIT_MIN_B = 256  # below it the record that refers is larger than what it saves


FindBody = Callable[[int, str], StoredBody | None]
"""The committed answer with this hash and digest, or None."""


class WarcArchive:
    """Writes one exchange, or one metadata record for a failure, per visit."""

    def __init__(self, writer: WarcWriter, find_body: FindBody, request_head: Callable[[Lease], bytes]) -> None:
        self._writer = writer
        self._find_body = find_body
        self._request_head = request_head

    def keep(self, done: Concluded, answer: Fetched | Failure) -> Place:
        """Puts an answer into the archive's buffer; where its record lies."""
        lease, facts = done.lease, done.facts
        moment = _moment(facts.started_ms // 1000)
        if lease.purpose is CHECK:
            return NOWHERE
        match answer:
            case Failure(cause=Cause.BUG):
                return NOWHERE
            case Failure(cause=cause, detail=detail):
                return self._writer.write_metadata(lease.url, moment, {"cause": cause.value, "detail": detail})
            case Fetched() if facts.cause == Cause.FILE_TOO_LARGE.value:  # a file is not kept in part
                return NOWHERE
            case Fetched():
                same_as = None
                if facts.hash is not None and len(answer.wire) >= REVISIT_MIN_B:
                    same_as = partial(self._same_payload, facts.hash)
                exchange = Exchange(
                    lease.url,
                    moment,
                    self._request_head(lease),
                    answer.head,
                    answer.wire,
                    answer.ip,
                    answer.http_version,
                    "length" if answer.truncated else None,
                    is_unchanged=answer.status == NOT_MODIFIED and lease.is_conditional,
                )
                return self._writer.write_exchange(exchange, same_as)

    def keep_rendered(self, done: Concluded, html: str) -> Place:
        """Puts a page as its scripts left it into the archive's buffer; where its record lies."""
        moment = _moment(done.facts.started_ms // 1000)
        block = html.encode("utf-8", "replace")
        return self._writer.write_conversion(done.lease.url, moment, block, RENDERED_TYPE)

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

    def keep(self, done: Concluded, answer: Fetched | Failure) -> Place:
        if done.facts.hash is None or not isinstance(answer, Fetched):
            return NOWHERE
        return Place(digest=payload_digest(answer.body))

    def keep_rendered(self, done: Concluded, html: str) -> Place:
        return NOWHERE

    def flush(self) -> None:
        return

    def positions(self) -> Mapping[str, FilePosition]:
        return {}

    def close(self) -> None:
        return
