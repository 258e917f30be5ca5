"""Questions to DNS: c-ares on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from weft.errors import Cause, SpecError
from weft.fetch.resolve.addresses import address_of_host
from weft.records import Failure

if TYPE_CHECKING:
    import pycares

Outcome = tuple[str, ...] | Failure
Callback = Callable[[str, Outcome], None]

MIN_TTL_S = 5.0
MAX_TTL_S = 3_600.0
NOT_FOUND_TTL_S = 300.0
FAILED_TTL_S = 1.0  # long enough to meet a burst with one query, short enough for the first retry to ask again
SECOND_FAMILY_WAIT_S = 0.5  # how long a name with addresses of one family waits for the other
MAX_ADDRESSES = 16
TRIES = 3
PATIENT_TRIES = 6  # each waits twice as long as the one before; the deadline of the question ends them
ALONE_MOST = 16  # at once


def parse_nameserver(text: str) -> str:
    """A name server in the form c-ares wants; ``ADDRESS`` or ``ADDRESS:PORT``, IPv6 with a port in brackets."""
    bare, port = text.strip(), ""
    if address_of_host(bare) is None:
        bare, _, port = bare.rpartition(":")
    address = address_of_host(bare)
    if address is None or (port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536)):
        raise SpecError(f"--nameserver {text!r}: the form is ADDRESS or ADDRESS:PORT")
    shown = f"[{address}]" if ":" in address else address
    return f"{shown}:{port}" if port else shown


class Question:
    """One host on its way through DNS: the answers for both families, and who waits for them."""

    def __init__(self, host: str, callback: Callback, finished: Callable[[Question], None]) -> None:
        self.host = host
        self.name = host.lower().removesuffix(".")
        self.callbacks = [callback]
        self._finished = finished
        self._open = {4, 6}
        self._found: dict[int, list[str]] = {4: [], 6: []}
        self._ttl_s = MAX_TTL_S
        self._trouble = ""
        self._deadline: asyncio.TimerHandle | None = None
        self._over = False

    def begin(self, timeout_s: float) -> None:
        self._deadline = asyncio.get_running_loop().call_later(timeout_s, self._late, "no answer in time")

    def wants(self, family: int) -> bool:
        return not self._over and family in self._open

    def cancel(self) -> None:
        self._over = True
        if self._deadline is not None:
            self._deadline.cancel()

    def answer(self, family: int, addresses: list[str], ttl_s: float, trouble: str) -> None:
        """Take what DNS says for one family; ``trouble`` is empty where the name just has no such address."""
        if not self.wants(family):
            return
        self._open.discard(family)
        self._found[family] = addresses
        if addresses:
            self._ttl_s = min(self._ttl_s, ttl_s)
        self._trouble = self._trouble or trouble
        loop = asyncio.get_running_loop()
        if not self._open:
            self._late("")
        elif addresses:
            self.cancel()
            self._over = False
            self._deadline = loop.call_later(SECOND_FAMILY_WAIT_S, self._late, "")

    def outcome(self) -> tuple[Outcome, float]:
        """What came of it, and for how long that holds. IPv4 first: it is the better kept road."""
        addresses = tuple(dict.fromkeys(self._found[4] + self._found[6]))[:MAX_ADDRESSES]
        if addresses:
            return addresses, min(max(self._ttl_s, MIN_TTL_S), MAX_TTL_S)
        if self._trouble:
            return Failure(Cause.DNS_FAILED, f"{self.name[:253]}: {self._trouble}"), FAILED_TTL_S
        return Failure(Cause.DNS_NOT_FOUND, f"{self.name[:253]}: no such name, or no address"), NOT_FOUND_TTL_S

    def _late(self, trouble: str) -> None:
        if self._over:
            return
        self.cancel()
        self._trouble = self._trouble or trouble
        # Never from inside c-ares: those who are called may ask again.
        asyncio.get_running_loop().call_soon(self._finished, self)


class Dns:
    """c-ares on the running event loop, without its own thread.

    c-ares waits for a name about as long as the names before it took, 0.25 s where those were quick, and takes no
    answer to an earlier try: among quick names a slow one would never be found. So names that it gave up are asked by
    another one, which knows nothing of the quick ones and tries longer.

    And where one reply cannot be read, it gives up all names that are under way. Those are asked again each by one of
    its own, so that a name with such replies harms no other.
    """

    def __init__(
        self, nameservers: Sequence[str], timeout_s: float, tries: int = TRIES, first: Dns | None = None
    ) -> None:
        import pycares

        self._cares = pycares
        self._loop = asyncio.get_running_loop()
        self._nameservers = nameservers
        self._timeout_s = timeout_s
        self._is_patient = tries > TRIES
        self._first = first  # the one that made this one, and asks again what it gives up
        self._patient: Dns | None = None
        self._unread: deque[tuple[Question, int]] = deque()  # to be asked alone
        self._alone: set[Dns] = set()
        self._sockets: dict[int, tuple[bool, bool]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        per_try_s = timeout_s / 2 if self._is_patient else max(0.25, min(2.0, timeout_s / 4))
        self._channel = pycares.Channel(
            timeout=per_try_s, tries=tries, servers=nameservers or None, sock_state_cb=self._socket_changed
        )

    def ask(self, question: Question) -> None:
        question.begin(self._timeout_s)
        for family in (4, 6):
            self._ask(question, family)

    def _ask(self, question: Question, family: int) -> None:
        if self._closed or not question.wants(family):
            return
        # A name without a dot may be one of the local domain's.
        ask = self._channel.query if "." in question.name else self._channel.search
        record = self._cares.QUERY_TYPE_A if family == 4 else self._cares.QUERY_TYPE_AAAA
        try:
            ask(question.name, record, callback=_Taker(question, family, self._takes_up))
        except (self._cares.AresError, ValueError) as error:  # a name that cannot be asked
            question.answer(family, [], 0.0, "" if _is_bad_name(error) else str(error))
            self._takes_up(question, family, 0)
        self._arm()

    def _takes_up(self, question: Question, family: int, errno: int) -> bool:
        """Whether a question that ended with this error, or with none, is asked again in another way."""
        first = self._first or self
        if first._closed:
            return True
        if self in first._alone:
            self._loop.call_soon(first._was_alone, self)  # never from inside c-ares
            return False
        if _is_unread(errno):
            first._unread.append((question, family))
            self._loop.call_soon(first._ask_alone)
            return True
        if self._is_patient or not _is_timeout(errno):
            return False
        if self._patient is None:
            self._patient = Dns(self._nameservers, self._timeout_s, PATIENT_TRIES, self)
        self._loop.call_soon(self._patient._ask, question, family)
        return True

    def _ask_alone(self) -> None:
        while self._unread and len(self._alone) < ALONE_MOST and not self._closed:
            question, family = self._unread.popleft()
            if question.wants(family):
                alone = Dns(self._nameservers, self._timeout_s, TRIES, self)
                self._alone.add(alone)
                alone._ask(question, family)

    def _was_alone(self, alone: Dns) -> None:
        if alone in self._alone:
            self._alone.discard(alone)
            alone.close()
            self._ask_alone()

    def close(self) -> None:
        """Cancel what is asked and leave the loop. c-ares closes its sockets from a thread of its own."""
        self._closed = True
        for other in (*self._alone, *filter(None, (self._patient,))):
            other.close()
        for fd in list(self._sockets):
            self._loop.remove_reader(fd)
            self._loop.remove_writer(fd)
        self._sockets.clear()
        if self._timer is not None:
            self._timer.cancel()
        self._channel.cancel()
        self._channel.close()

    def _socket_changed(self, fd: int, readable: bool, writable: bool) -> None:
        if self._closed:
            return
        was_readable, was_writable = self._sockets.pop(fd, (False, False))
        if readable or writable:
            self._sockets[fd] = (readable, writable)
        if readable != was_readable:
            if readable:
                self._loop.add_reader(fd, self._ready, fd, False)
            else:
                self._loop.remove_reader(fd)
        if writable != was_writable:
            if writable:
                self._loop.add_writer(fd, self._ready, fd, True)
            else:
                self._loop.remove_writer(fd)

    def _ready(self, fd: int, writable: bool) -> None:
        if self._closed:
            return
        if writable:
            self._channel.process_write_fd(fd)
        else:
            self._channel.process_read_fd(fd)
        self._arm()

    def _arm(self) -> None:
        """Wake at c-ares' next deadline, which it only acts on when called."""
        if self._timer is None and self._sockets:
            wait_s: float = self._channel.timeout(1.0)  # type: ignore[no-untyped-call]
            self._timer = self._loop.call_later(max(0.02, min(wait_s or 1.0, 1.0)), self._tick)

    def _tick(self) -> None:
        self._timer = None
        if not self._closed:
            bad = self._cares.ARES_SOCKET_BAD
            self._channel.process_fd(bad, bad)
            self._arm()


class _Taker:
    """Takes one record type's answer from c-ares; ``takes_up`` is told how it ended, and may take the question."""

    def __init__(self, question: Question, family: int, takes_up: Callable[[Question, int, int], bool]) -> None:
        self._question = question
        self._family = family
        self._takes_up = takes_up

    def __call__(self, result: pycares.DNSResult | None, errno: int | None) -> None:
        if self._takes_up(self._question, self._family, errno or 0):
            return
        if result is None:
            self._question.answer(self._family, [], 0.0, _trouble(errno or 0))
            return
        wanted = 1 if self._family == 4 else 28  # A, AAAA (RFC 1035, RFC 3596)
        addresses = [record.data.addr for record in result.answer if record.type == wanted]  # type: ignore[union-attr]
        plain = [address for address in map(address_of_host, addresses[:MAX_ADDRESSES]) if address]
        self._question.answer(self._family, plain, min((r.ttl for r in result.answer), default=MIN_TTL_S), "")


def _trouble(errno: int) -> str:
    """What DNS failed with, or "" where it answered that there is nothing."""
    from pycares import errno as codes

    if errno in (codes.ARES_ENOTFOUND, codes.ARES_ENODATA, codes.ARES_EBADNAME, codes.ARES_ENONAME):
        return ""
    return str(codes.strerror(errno))


def _is_timeout(errno: int) -> bool:
    from pycares import errno as codes

    return bool(errno == codes.ARES_ETIMEOUT)


def _is_unread(errno: int) -> bool:
    from pycares import errno as codes

    return bool(errno == codes.ARES_EBADRESP)


def _is_bad_name(error: Exception) -> bool:
    return bool(error.args) and isinstance(error.args[0], int) and not _trouble(error.args[0])
