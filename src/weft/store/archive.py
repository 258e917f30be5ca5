"""The answers themselves, as WARC: which record each visit becomes, and where it lies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from weft.errors import Cause
from weft.records import Failure, Fetched, Lease, Visit
from weft.store.sql import SqlStore
from weft.store.warc import RevisitOf, WarcWriter, payload_digest

REVISIT_MIN_B = 256  # below it the record that refers is larger than what it saves


class Archive:
    """Writes one exchange, or one metadata record for a failure, per visit."""

    def __init__(self, writer: WarcWriter, store: SqlStore, request_head: Callable[[Lease], bytes]) -> None:
        self._writer = writer
        self._store = store
        self._request_head = request_head

    def keep(self, lease: Lease, visit: Visit, answer: Fetched | Failure, maybe_known: bool) -> None:
        """Puts the answer into the archive's buffer and its place into the visit."""
        moment = datetime.fromtimestamp(visit.started_ms / 1000, UTC)
        match answer:
            case Failure(cause=cause, detail=detail):
                if cause is Cause.BUG:
                    return
                place = self._writer.write_metadata(lease.url, moment, {"cause": cause.value, "detail": detail})
            case Fetched():
                visit.digest = payload_digest(answer.wire)
                revisit = self._same_payload(visit, answer, maybe_known)
                visit.revisit = revisit is not None
                place = self._writer.write_exchange(
                    lease.url,
                    moment,
                    self._request_head(lease),
                    answer.head,
                    answer.wire,
                    answer.ip,
                    answer.http_version,
                    "length" if answer.truncated else None,
                    revisit,
                    digest=visit.digest,
                )
        visit.warc, visit.warc_offset, visit.warc_length = self._store.warc_id(place.file), place.offset, place.length

    def _same_payload(self, visit: Visit, answer: Fetched, maybe_known: bool) -> RevisitOf | None:
        """The committed record that a revisit record may name."""
        if not maybe_known or visit.hash is None or visit.digest is None or len(answer.wire) < REVISIT_MIN_B:
            return None
        stored = self._store.stored_body(visit.hash, visit.digest)
        if stored is None:
            return None
        return RevisitOf(stored.url, datetime.fromtimestamp(stored.started_ms / 1000, UTC), stored.digest)

    def flush(self) -> None:
        self._writer.flush()

    def positions(self) -> Mapping[str, tuple[int, bool]]:
        return self._writer.positions()

    def close(self) -> None:
        self._writer.close()


class NoArchive:
    """`--no-archive`: data only."""

    def keep(self, lease: Lease, visit: Visit, answer: Fetched | Failure, maybe_known: bool) -> None:
        return

    def flush(self) -> None:
        return

    def positions(self) -> Mapping[str, tuple[int, bool]]:
        return {}

    def close(self) -> None:
        return
