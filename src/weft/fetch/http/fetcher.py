"""The fetcher: many transfers at once, each ended by exactly one outcome."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import socket
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pycurl

from weft.errors import Cause
from weft.fetch.cookies import Cookies
from weft.fetch.http.bounds import Rate, descriptor_budget
from weft.fetch.http.connections import Connections
from weft.fetch.http.handles import BUFFER_B, Handles
from weft.fetch.http.headers import RequestHeaders
from weft.fetch.http.outcome import Outcome, Outcomes, never_begun
from weft.fetch.http.transfer import NO_LEASE, Terms, Transfer
from weft.fetch.http.watch import EpollWatch, LoopWatch, Watch, copy_of
from weft.fetch.resolve import AddressCheck
from weft.records import Fetched, Lease
from weft.spec import CrawlSpec
from weft.url import host_of, origin_of, parse, site_of

MAX_ADDRESSES_TRIED = 4
TAKEN_AT_ONCE = 8
LARGE_B = 1 << 20
FULL_PAUSE_S = 0.01
LOOK_EVERY_S = 0.5  # after those that take longer
KEPT_CONNECTIONS = 1_024  # sites take turns: a connection is kept until its site is asked again

WATCH_KIND = EpollWatch if hasattr(select, "epoll") else LoopWatch

_UNCLEAR_TLS = ("handshake failure", "unexpected eof", "SSL_ERROR_SYSCALL", "reset")


class Fetcher:
    """Asks URLs, as many at once as it is given, and lays their outcomes into ``finished``.

    ``start`` takes a lease and the addresses that the resolver allowed for its host (none behind a proxy). Each
    started lease comes back exactly once: in ``finished``, or from ``cancel_all``. Start at most ``max_parallel`` at
    once, and none while ``throttled``. Use as an async context manager; two fetchers share nothing.
    """

    def __init__(
        self,
        spec: CrawlSpec,
        policy: AddressCheck,
        *,
        jar: Cookies | None = None,
        seed_origins: Iterable[str] = (),
        epoch_ms: Callable[[], int] | None = None,
        rate: Rate | None = None,
        is_file_type: Callable[[str], bool] | None = None,
    ) -> None:
        self.finished: deque[tuple[Lease, Outcome]] = deque()
        self.on_finished: Callable[[], None] | None = None
        self.policy = policy
        self.max_size_b = spec.limits.max_size_b
        self.max_file_b = spec.files.max_file_size_b
        self.is_file_type = is_file_type
        self.proxied = spec.network.proxy is not None
        self.http_version = pycurl.CURL_HTTP_VERSION_2TLS if spec.network.http2 else pycurl.CURL_HTTP_VERSION_1_1
        self.held_b = 0
        self.tight = False
        self._network = spec.network
        self._limits = spec.limits
        self._timeout_s = spec.limits.timeout_s
        jar = jar if spec.network.keep_cookies else None
        origins = frozenset(seed_origins) or frozenset(origin_of(url) for url in map(parse, spec.seeds) if url)
        self._seed_hosts = frozenset(host_of(f"{origin}/") for origin in origins)
        self._epoch_ms = epoch_ms or (lambda: time.time_ns() // 1_000_000)
        self._headers = RequestHeaders(spec, jar, origins, self._epoch_ms)
        self.request_head = self._headers.shown_head
        self._insecure = frozenset(spec.network.insecure)
        budget = descriptor_budget()
        self.max_parallel = max(1, min(spec.politeness.workers, budget))
        self._max_connections = max(1, min(budget, max(KEPT_CONNECTIONS, 4 * self.max_parallel)))
        self._rate = rate or (Rate(spec.limits.max_rate_b) if spec.limits.max_rate_b else None)
        self.is_metered = self._rate is not None
        self._handles = Handles(spec.network, spec.identity)
        self.new_handle, self.session_cache = self._handles.new, self._handles.session_cache
        self._connections = Connections()
        self.before_sending, self._in_good_order = self._connections.before_sending, self._connections.in_good_order
        self._multiplexed, self._fickle = self._connections.multiplexed, self._connections.fickle
        self._stalling = self._connections.stalling
        spend = self._spend if self._rate is not None else None
        self._outcomes = Outcomes(jar, self._epoch_ms, self._connections, spend)
        self._outcome = self._outcomes.of
        largest_b = max(self.max_size_b, self.max_file_b if spec.files.has_any else 0)
        self.max_held_b = max(spec.limits.max_memory_b // 4, 2 * largest_b)
        self._max_waiting_b = spec.limits.max_memory_b // 16
        self._large_waits = False
        self._favoured: Transfer | None = None
        self._paused: deque[Transfer] = deque()
        self._running: dict[Transfer, None] = {}
        self._free: dict[bool, list[Transfer]] = {False: [], True: []}  # without and with a certificate
        self._transfers: dict[Any, Transfer] = {}  # by libcurl's handle
        self._hurried = spec.politeness.delay_s == 0
        self._closed = False
        self._soon = False
        self._waits_ms: deque[int] = deque(maxlen=1)  # what libcurl's timer was set to last, until that is heeded
        self._deadline_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_s = 0.0
        self._resume: asyncio.Handle | None = None
        self._look: asyncio.TimerHandle | None = None

    async def __aenter__(self) -> Fetcher:
        self._loop = asyncio.get_running_loop()
        self._watch: Watch = WATCH_KIND(self._loop, self._on_ready, self._on_unasked)
        multi = self._multi = pycurl.CurlMulti()
        self._add, self._remove, self._act = multi.add_handle, multi.remove_handle, multi.socket_action
        multi.setopt(pycurl.M_SOCKETFUNCTION, self._watch.changed)
        multi.setopt(pycurl.M_TIMERFUNCTION, self._waits_ms.append)
        multi.setopt(pycurl.M_MAXCONNECTS, self._max_connections)
        multi.setopt(pycurl.M_MAX_TOTAL_CONNECTIONS, self._max_connections)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @property
    def running(self) -> int:
        """How many transfers are under way."""
        return len(self._running)

    @property
    def throttled(self) -> bool:
        """True while the bandwidth that the user allows is spent: what is started now would only wait."""
        return self._rate is not None and self._rate.spent

    def start(self, lease: Lease, addresses: Sequence[str]) -> None:
        """Begin one request. Its outcome comes through ``finished``, never from inside this call."""
        certified = self._network.cert is not None and self._is_seed_host(host_of(lease.url))
        free = self._free[certified]
        transfer = free.pop() if free else self._new_transfer(certified)
        transfer.lease = lease
        transfer.started_ms = self._epoch_ms()
        now_s = time.monotonic()
        transfer.deadline_s = now_s + self._timeout_s
        self._running[transfer] = None
        if self._look is None:
            self._look = self._loop.call_later(LOOK_EVERY_S, self._look_after_long_ones)
        if len(addresses) != 1 or self.proxied:
            addresses = () if self.proxied else self._in_good_order(addresses, now_s)[:MAX_ADDRESSES_TRIED]
        try:
            if not addresses and not self.proxied:
                raise ValueError("no address to connect to")
            transfer.begin(tuple(addresses))
            self._launch(transfer, self._timeout_s)
            if not self._soon:  # else it is heeded then
                self._heed_timer()
        except (pycurl.error, ValueError, TypeError) as error:  # UnicodeEncodeError is a ValueError
            self._loop.call_soon(self._give_up, transfer, error)

    def _new_transfer(self, certified: bool) -> Transfer:
        transfer = Transfer(self, certified)
        self._transfers[transfer.curl] = transfer
        return transfer

    def cancel_all(self) -> list[Lease]:
        """End every transfer at once; their leases come back and will not appear in ``finished``."""
        leases = []
        for transfer in list(self._running):
            leases.append(transfer.lease)
            self._release(transfer)
        self._heed_timer()
        return leases

    async def close(self) -> None:
        """Cancel what runs and give everything back. A second call does nothing."""
        if self._closed:
            return
        self.cancel_all()
        self._closed = True
        for timer in (self._timer, self._resume, self._look):
            if timer is not None:
                timer.cancel()
        self._multi.close()
        self._watch.close()
        for free in self._free.values():
            for transfer in free:
                transfer.curl.close()
            free.clear()
        self._transfers.clear()
        self._handles.close()

    # What transfers ask of their fetcher.

    def socket_opened(self, fd: int) -> None:
        os.set_inheritable(fd, False)
        if self._rate is not None:
            with contextlib.suppress(OSError), copy_of(fd) as copy:
                copy.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_B)  # else the kernel reads ahead
        self._connections.opened(fd)
        self._watch.fresh(fd)

    def _on_unasked(self, fd: int) -> None:
        """Close a connection that talks while nobody asks, or that the server has left.

        Not one of HTTP/2: its streams are numbered, so nothing can be taken for the wrong answer, and it talks while
        idle. Nor that of a paused transfer.
        """
        if fd in self._multiplexed or any(other.curl.getinfo(pycurl.ACTIVESOCKET) == fd for other in self._paused):
            return
        self._connections.shut(fd)

    def account(self, size_b: int) -> None:
        """Note bytes taken in at a rate or past the memory for bodies: transfers may have to wait."""
        if self.held_b > self.max_held_b:
            self.tight = True
        self._spend(size_b)

    def must_wait(self, transfer: Transfer) -> bool:
        """Whether a transfer has to pause; it goes on by itself when there is room again.

        When memory is short, one transfer is favoured and goes on, so that there is always an end.
        """
        if self.throttled or (self.held_b > self.max_held_b and self._favoured not in (None, transfer)):
            self._paused.append(transfer)
            return True
        if self.held_b > self.max_held_b:
            self._favoured = transfer
        elif not self.throttled:
            self.tight = False
        return False

    # The event loop's calls.

    def _heed_timer(self) -> None:
        """See to it that libcurl is called when it wants to be: after whatever may have set its timer.

        libcurl sets it twice for each request, and forbids to be called from there.
        """
        if self._closed or not self._waits_ms:
            return
        wait_ms = self._waits_ms.pop()
        if wait_ms == 0:
            if not self._soon:
                self._soon = True
                self._loop.call_soon(self._on_kick)
            return
        if wait_ms < 0:
            self._deadline_s = None
            return
        at_s = self._deadline_s = time.monotonic() + wait_ms / 1000
        if self._timer is None or self._timer_s > at_s:
            self._arm(at_s)

    def _arm(self, at_s: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_at(at_s, self._on_deadline)
        self._timer_s = at_s

    def _on_deadline(self) -> None:
        self._timer = None
        if self._closed or self._deadline_s is None:
            return
        if self._deadline_s > time.monotonic() + 0.0005:  # it was moved since: cheaper than a new timer each time
            self._arm(self._deadline_s)
            return
        self._deadline_s = None
        self._on_kick()

    def _on_kick(self) -> None:
        """Run what is due. Sockets first: what has arrived is not late, however long we were away."""
        self._soon = False
        if self._closed:
            return
        act = self._act
        for fd, mask in self._watch.ready():
            act(fd, mask)
        act(pycurl.SOCKET_TIMEOUT, 0)
        self._drain()

    def _on_ready(self) -> None:
        if self._closed:
            return
        act = self._act
        for fd, mask in self._watch.ready():
            act(fd, mask)
        self._drain()

    def _drain(self) -> None:
        """Take the ended transfers from libcurl and say so, once for all of them.

        Where large bodies wait to be taken, the other transfers stay as they came: packed, a bomb is small.
        """
        before = len(self.finished)
        transfers = self._transfers
        queued = 1
        while queued and not (self._large_waits and self._is_full()):
            queued, done, failed = self._multi.info_read(TAKEN_AT_ONCE)
            for curl in done:
                self._settle(transfers[curl], 0, "")
            for curl, code, message in failed:
                self._settle(transfers[curl], code, message)
        self._heed_timer()
        if len(self.finished) > before and self.on_finished is not None:
            self.on_finished()

    def _is_full(self) -> bool:
        """Whether the outcomes that wait hold so much that no more are laid beside them now, but in a moment."""
        outcomes = [outcome for _, outcome in self.finished]
        waiting_b = sum(len(one.body) + len(one.wire) for one in outcomes if isinstance(one, Fetched))
        self._large_waits = waiting_b > self._max_waiting_b
        if self._large_waits and not self._soon:
            self._soon = True
            self._loop.call_later(FULL_PAUSE_S, self._on_kick)
        return self._large_waits

    def _settle(self, transfer: Transfer, code: int, message: str) -> None:
        if code and self._tries_again(transfer, code, message):
            return
        lease = transfer.lease
        if code == pycurl.E_OPERATION_TIMEDOUT or self._stalling:
            self._note_reuse(transfer, code)
        outcome: Outcome
        try:
            outcome = self._outcome(transfer, code, message)
        except Exception as error:  # a lease that did not come back would keep the crawl waiting for ever
            outcome = self._outcomes.failure(transfer, Cause.BUG, f"{type(error).__name__}: {error}")
        self._release(transfer)
        self.finished.append((lease, outcome))
        if isinstance(outcome, Fetched) and len(outcome.body) > LARGE_B:
            self._large_waits = True

    def _note_reuse(self, transfer: Transfer, code: int) -> None:
        """Remember what came of a request on a connection that was used before."""
        curl = transfer.curl
        if curl.getinfo(pycurl.NUM_CONNECTS) or not curl.getinfo(pycurl.REQUEST_SIZE):
            return
        if code == 0 or (code == pycurl.E_OPERATION_TIMEDOUT and not transfer.head):
            self._connections.reused(transfer.lease.url, answered=code == 0)

    def _give_up(self, transfer: Transfer, error: Exception) -> None:
        """End a transfer that libcurl did not even take."""
        if self._closed or transfer not in self._running:
            return
        failure = never_begun(transfer, error)
        lease = transfer.lease
        self._release(transfer)
        self._heed_timer()
        self.finished.append((lease, failure))
        if self.on_finished is not None:
            self.on_finished()

    def _look_after_long_ones(self) -> None:
        """End the transfers that bring in more than any answer within the bounds: their time-out may be far away."""
        self._look = None
        if self._closed or not self._running:
            return
        self._look = self._loop.call_later(LOOK_EVERY_S, self._look_after_long_ones)
        began_before_s = time.monotonic() - LOOK_EVERY_S
        before = len(self.finished)
        for transfer in list(self._running):
            if transfer.deadline_s - self._timeout_s > began_before_s:
                break  # so did all others
            if transfer.floods():
                lease = transfer.lease
                failure = self._outcomes.failure(transfer, Cause.BAD_ANSWER, "far more came in than headers and a body")
                self._release(transfer)
                self.finished.append((lease, failure))
        self._heed_timer()
        if len(self.finished) > before and self.on_finished is not None:
            self.on_finished()

    # One transfer's course.

    def _launch(self, transfer: Transfer, left_s: float) -> None:
        """Hand a transfer to libcurl, aimed at the first of its addresses; each gets its part of the time."""
        lease = transfer.lease
        lines = self._headers.lines(lease)
        usual = (
            lines is self._headers.plain
            and left_s == self._timeout_s
            and not (lease.attempt > 1 or transfer.renewed or self._fickle or self._insecure)
        )
        if not usual or transfer.usual_for != transfer.addresses:
            transfer.usual_for = None
            transfer.agree(self._terms(transfer, lines, left_s))
            transfer.usual_for = transfer.addresses if usual else None
        self._add(transfer.curl)
        transfer.added = True

    def _terms(self, transfer: Transfer, lines: list[bytes], left_s: float) -> Terms:
        connect_s = min(self._limits.connect_timeout_s, left_s) / (len(transfer.addresses) or 1)
        url = transfer.lease.url
        alone = transfer.renewed or (bool(self._fickle) and origin_of(url) in self._fickle)
        return Terms(
            lines,
            bool(self._insecure) and (host_of(url) in self._insecure or site_of(url) in self._insecure),
            transfer.ip,
            int(connect_s * 1000) or 1,
            int(left_s * 1000) or 1,
            alone or transfer.lease.attempt > 1,  # what failed may have failed because the connection was old
            alone,
        )

    def _tries_again(self, transfer: Transfer, code: int, message: str) -> bool:
        """Whether the transfer goes on: at the next address, on a new connection, or to learn what a server wishes."""
        if transfer.head or time.monotonic() >= transfer.deadline_s:
            return False
        if not transfer.renewed and self._is_unsent(transfer, code):
            transfer.renewed = True
            return self._relaunch(transfer)
        unconnected = code == pycurl.E_COULDNT_CONNECT or (
            code == pycurl.E_OPERATION_TIMEDOUT
            and transfer.curl.getinfo(pycurl.CONNECT_TIME_T) == 0
            and transfer.curl.getinfo(pycurl.REQUEST_SIZE) == 0
        )
        if unconnected and not self.proxied:
            self._connections.mark_dead(transfer.addresses[0], time.monotonic())
            if len(transfer.addresses) > 1:
                transfer.addresses = transfer.addresses[1:]
                return self._relaunch(transfer)
        elif code == pycurl.E_SSL_CONNECT_ERROR and not transfer.probing and any(w in message for w in _UNCLEAR_TLS):
            transfer.listen(True)  # TLS 1.2 has no word of its own for "no certificate given"
            return self._relaunch(transfer)
        return False

    def _is_unsent(self, transfer: Transfer, code: int) -> bool:
        """Whether a request was lost with the connections that were kept, and may go out on a new one at once.

        It may where it could not be sent: all of these were shut, from this side or from the other. Where the server
        closes one without a word while the request is on its way, it has been asked: another attempt follows, and only
        the last, which has none, goes out once more, if there is no delay between requests that this would break; with
        one, the closing is seen in time.
        """
        if code == pycurl.E_ABORTED_BY_CALLBACK:
            return transfer.sendings > 1 and self._hurried and transfer.lease.attempt > self._limits.retries
        return code == pycurl.E_SEND_ERROR or (
            transfer.sendings == 0 and code in (pycurl.E_RECV_ERROR, pycurl.E_GOT_NOTHING)
        )

    def _relaunch(self, transfer: Transfer) -> bool:
        self._remove(transfer.curl)
        transfer.added = False
        transfer.clear()
        try:
            self._launch(transfer, max(transfer.deadline_s - time.monotonic(), 0.001))
        except pycurl.error as error:
            self._loop.call_soon(self._give_up, transfer, error)
        return True

    def _release(self, transfer: Transfer) -> None:
        del self._running[transfer]
        if transfer.added:
            self._remove(transfer.curl)
            transfer.added = False
        transfer.clear()
        transfer.lease = NO_LEASE
        if self._favoured is transfer:
            self._favoured = None
        if self._paused:
            self._paused = deque(other for other in self._paused if other is not transfer)
            if not self.throttled and self._resume is None:
                self._resume = self._loop.call_soon(self._go_on)
        self._free[transfer.certified].append(transfer)

    def _is_seed_host(self, host: str) -> bool:
        """Whether a host is one of the seeds' or below it: the only ones that get the client certificate."""
        return any(
            host == seed_host or host.endswith(f".{seed_host.removeprefix('www.')}") for seed_host in self._seed_hosts
        )

    # Waiting for bandwidth and for memory.

    def _spend(self, size_b: int) -> None:
        if self._rate is not None and not self._rate.spend(size_b, time.monotonic()):
            self._wait_for_rate()

    def _wait_for_rate(self) -> None:
        self.tight = True
        if self._resume is None and self._rate is not None:
            self._resume = self._loop.call_later(self._rate.wait_s(time.monotonic()), self._go_on)

    def _go_on(self) -> None:
        """Let paused transfers go on, one after the other, as far as there is room."""
        self._resume = None
        if self._closed:
            return
        if self._rate is not None and not self._rate.refill(time.monotonic()):
            self._wait_for_rate()
            return
        for _ in range(len(self._paused)):
            if self.throttled or not self._paused:
                break
            transfer = self._paused.popleft()
            with contextlib.suppress(pycurl.error):  # its time was over meanwhile: libcurl tells of its end
                transfer.curl.pause(pycurl.PAUSE_CONT)
        self._drain()
