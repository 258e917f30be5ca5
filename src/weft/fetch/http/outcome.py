"""What an ended transfer was: an answer of any status, decoded, or a failure with its cause."""

from __future__ import annotations

from collections.abc import Callable

import pycurl

from weft.errors import Cause
from weft.fetch.cookies import Cookies
from weft.fetch.http.answer import (
    Head,
    ends_without_goodbye,
    is_whole,
    parse_head,
    promises_too_much,
    wishes_certificate,
)
from weft.fetch.http.causes import Progress, cause_of
from weft.fetch.http.connections import Connections
from weft.fetch.http.transfer import Transfer
from weft.records import Failure, Fetched

Outcome = Fetched | Failure


class Outcomes:
    """See the module. ``connections`` is told what came over which, ``spend`` how many bytes heads have."""

    def __init__(
        self, jar: Cookies | None, epoch_ms: Callable[[], int], connections: Connections,
        spend: Callable[[int], None] | None,
    ) -> None:  # fmt: skip
        self._jar = jar
        self._epoch_ms = epoch_ms
        self._connections = connections
        self._spend = spend

    def of(self, transfer: Transfer, code: int, message: str) -> Outcome:
        """What came of a transfer that libcurl ended with this code; only before the handle leaves libcurl's hands."""
        note = ""
        if transfer.early or (transfer.heard is not None and code == 0 and transfer.came_too_early()):
            self._connections.distrust(transfer)
            return self.failure(transfer, Cause.BAD_ANSWER, "an answer that had come before it was asked for")
        if code == 0 or transfer.cut:
            head = parse_head(transfer.head)
            if head is None:
                return self.failure(transfer, Cause.BAD_ANSWER, "no status line and headers that could be read")
        else:
            progress = transfer.progress()
            head = parse_head(transfer.head) if progress.head_complete else None
            if head is not None and ends_without_goodbye(message, head):
                note = "the server closed the connection without ending TLS"
            elif head is not None and code == pycurl.E_OPERATION_TIMEDOUT and is_whole(head, transfer.held_b):
                note = "whole by its length, but the server left the connection open"
            else:
                return self.failure(transfer, *_cause(transfer, code, message, progress))
        wire = transfer.body[0] if len(transfer.body) == 1 else b"".join(transfer.body)
        if head.status == 400 and wishes_certificate(head, wire):
            return self.failure(transfer, Cause.TLS_CLIENT_CERTIFICATE, "answered 400: no client certificate was sent")
        return self._fetched(transfer, head, wire, note)

    def _fetched(self, transfer: Transfer, head: Head, wire: bytes, note: str) -> Outcome:
        body, truncated = wire, transfer.cut
        names = dict(head.headers)
        if not truncated and promises_too_much(names.get("content-length", ""), head):
            return self.failure(transfer, Cause.INCOMPLETE_BODY, "the body is shorter than its Content-Length")
        if wire and "content-encoding" in names:
            from weft.fetch.decode import decode_body  # only where a body is packed

            encodings = [value for name, value in head.headers if name == "content-encoding"]
            body, cut, problem = decode_body(wire, encodings, transfer.max_size_b)
            truncated = truncated or cut
            note = "; ".join(filter(None, (note, problem)))
        if head.version == "2":
            self._connections.multiplexed.add(transfer.curl.getinfo(pycurl.ACTIVESOCKET))
        elif transfer.lease.url.startswith("https:"):
            self._connections.answered(transfer)
        if self._jar is not None and "set-cookie" in names:
            cookies = [value for name, value in head.headers if name == "set-cookie"]
            self._jar.store(transfer.lease.url, cookies, self._epoch_ms() / 1000)
        if self._spend is not None:
            self._spend(len(head.raw))
        return Fetched(
            status=head.status,
            head=head.raw,
            headers=head.headers,
            wire=wire,
            body=body,
            truncated=truncated,
            started_ms=transfer.started_ms,
            response_ms=transfer.response_ms(),
            ip=transfer.ip,
            http_version=head.version,
            note=note,
        )

    def failure(self, transfer: Transfer, cause: Cause, detail: str) -> Failure:
        """That a transfer failed, and how long it took."""
        return Failure(
            cause,
            _printable(detail),
            started_ms=transfer.started_ms,
            response_ms=max(self._epoch_ms() - transfer.started_ms, 0),
            ip=transfer.ip,
        )


def never_begun(transfer: Transfer, error: Exception) -> Failure:
    """The failure of a transfer that libcurl did not even take."""
    code = error.args[0] if isinstance(error, pycurl.error) and error.args else None
    cause = cause_of(code, str(error), Progress()) if isinstance(code, int) else Cause.BUG
    return Failure(cause, _printable(str(error)), started_ms=transfer.started_ms)


def _cause(transfer: Transfer, code: int, message: str, progress: Progress) -> tuple[Cause, str]:
    if code == pycurl.E_COULDNT_CONNECT and transfer.refusal:
        return Cause.ADDRESS_REFUSED, transfer.refusal
    if code == pycurl.E_COULDNT_CONNECT and transfer.trouble:
        return Cause.CONNECT_FAILED, transfer.trouble
    if code == pycurl.E_ABORTED_BY_CALLBACK and transfer.sendings > 1:
        return Cause.CONNECTION_LOST, "a connection that was used before closed without an answer"
    if transfer.probing and transfer.saw_certificate_wish and not transfer.head:
        return Cause.TLS_CLIENT_CERTIFICATE, message
    return cause_of(code, message, progress), message


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text[:300])
