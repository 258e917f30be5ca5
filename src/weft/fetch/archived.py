"""A fetcher that asks files instead of the network: an import is a crawl over what others have fetched (E3)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence

import msgspec

from weft.fetch.decode import decode_body
from weft.ports import Answers
from weft.records import Failure, Fetched, Lease

AT_ONCE = 64


class ArchivedFetcher:
    """Lays answers into ``finished`` as ``Fetcher`` does; nothing is ever under way."""

    running = 0
    throttled = False
    max_parallel = AT_ONCE

    def __init__(self, answers: Answers, max_size_b: int) -> None:
        self.finished: deque[tuple[Lease, Fetched | Failure]] = deque()
        self.on_finished: Callable[[], None] | None = None
        self.request_head = answers.request_head
        self._answers = answers
        self._max_size_b = max_size_b

    def start(self, lease: Lease, addresses: Sequence[str]) -> None:
        """Reads the answer of a URL, and unpacks it as it is done with answers of the network."""
        answer = self._answers.answer(lease)
        if isinstance(answer, Fetched):
            decoded = decode_body(answer.wire, answer.header_values("content-encoding"), self._max_size_b)
            answer = msgspec.structs.replace(
                answer, body=decoded.body, truncated=answer.truncated or decoded.truncated, note=decoded.problem
            )
        self.finished.append((lease, answer))
        if self.on_finished is not None:
            asyncio.get_running_loop().call_soon(self.on_finished)

    def cancel_all(self) -> list[Lease]:
        """Nothing is under way."""
        return []
