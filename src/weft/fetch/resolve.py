"""Names to addresses, and which addresses may be connected to (promise 7).

``AddressPolicy`` is pure: it says for a host and an address whether a connection may be opened, and is asked twice,
once for every address that a name resolves to and again by the fetcher on the socket about to be opened.
``Resolver`` asks DNS without blocking, once per host and lifetime of the answer, and remembers failures too.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from weft.errors import Cause, SpecError
from weft.records import Failure
from weft.spec import Network

if TYPE_CHECKING:
    import pycares

Outcome = tuple[str, ...] | Failure
Callback = Callable[[str, Outcome], None]

MIN_TTL_S = 5.0
MAX_TTL_S = 3_600.0
NOT_FOUND_TTL_S = 300.0
FAILED_TTL_S = 1.0  # long enough to meet a burst with one query, short enough for the first retry to ask again
SECOND_FAMILY_WAIT_S = 0.5  # how long a name with addresses of one family waits for the other
PRIMING_S = 0.5  # how long the start waits for the names of the seeds
MAX_CACHED = 100_000
MAX_ADDRESSES = 16
MAX_HOSTS_FILE_B = 20_000_000

_KINDS_4: tuple[tuple[IPv4Network, str], ...] = tuple(
    (IPv4Network(net), kind)
    for net, kind in (
        ("0.0.0.0/8", "an unspecified address"),
        ("10.0.0.0/8", "a private address"),
        ("100.64.0.0/10", "a carrier's shared address"),
        ("127.0.0.0/8", "a loopback address"),
        ("169.254.169.254/32", "a cloud's metadata address"),
        ("169.254.0.0/16", "a link-local address"),
        ("168.63.129.16/32", "a cloud's metadata address"),
        ("172.16.0.0/12", "a private address"),
        ("192.0.0.0/24", "a reserved address"),
        ("192.0.2.0/24", "a documentation address"),
        ("192.31.196.0/24", "a reserved address"),
        ("192.52.193.0/24", "a reserved address"),
        ("192.88.99.0/24", "a relay address"),
        ("192.168.0.0/16", "a private address"),
        ("192.175.48.0/24", "a reserved address"),
        ("198.18.0.0/15", "a benchmark address"),
        ("198.51.100.0/24", "a documentation address"),
        ("203.0.113.0/24", "a documentation address"),
        ("224.0.0.0/4", "a multicast address"),
        ("240.0.0.0/4", "a reserved address"),
    )
)
_KINDS_6: tuple[tuple[IPv6Network, str], ...] = tuple(
    (IPv6Network(net), kind)
    for net, kind in (
        ("::/128", "an unspecified address"),
        ("::1/128", "a loopback address"),
        ("64:ff9b:1::/48", "a private translation address"),
        ("100::/64", "a discard address"),
        ("fd00:ec2::254/128", "a cloud's metadata address"),
        ("fd20:ce::254/128", "a cloud's metadata address"),
        ("fc00::/7", "a private address"),
        ("fe80::/10", "a link-local address"),
        ("fec0::/10", "a private address"),
        ("ff00::/8", "a multicast address"),
        ("2001::/23", "a reserved address"),
        ("2001:db8::/32", "a documentation address"),
        ("3fff::/20", "a documentation address"),
    )
)
_GLOBAL_6 = IPv6Network("2000::/3")
_STANDING_IN = tuple(map(IPv6Network, ("::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")))
_ISATAP = (0x00005EFE, 0x02005EFE)
_METADATA = "a cloud's metadata address"
_LINK_LOCAL = "a link-local address"


@lru_cache(maxsize=65_536)
def kind_of(address: str) -> str:
    """What makes an address not public ("a loopback address"), or "" for a public one.

    IPv6 forms that carry an IPv4 address are as public as what they carry.
    """
    if "%" in address:
        return "an address with a zone"
    try:
        parsed = ip_address(address)
    except ValueError:
        return "no address"
    if isinstance(parsed, IPv4Address):
        return _kind_of_4(parsed)
    carried, standing_in = _carried(parsed)
    for inner in carried:
        if kind := _kind_of_4(inner):
            return f"{kind} ({inner}) inside IPv6"
    if standing_in:
        return ""
    for network, kind in _KINDS_6:
        if parsed in network:
            return kind
    return "" if parsed in _GLOBAL_6 else "a reserved address"


def _kind_of_4(address: IPv4Address) -> str:
    for network, kind in _KINDS_4:
        if address in network:
            return kind
    return ""


def _carried(address: IPv6Address) -> tuple[tuple[IPv4Address, ...], bool]:
    """The IPv4 addresses inside an IPv6 address, and whether it stands for them.

    Mapped, compatible, translated, 6to4 and Teredo addresses do; an ISATAP one has a network of its own as well.
    """
    number = int(address)
    low = IPv4Address(number & 0xFFFFFFFF)
    if address.teredo is not None:
        return address.teredo, True
    if address.sixtofour is not None:
        return (address.sixtofour,), True
    if any(address in network for network in _STANDING_IN) and number > 1:  # :: and ::1 are themselves
        return (low,), True
    if (number >> 32) & 0xFFFFFFFF in _ISATAP:
        return (low,), False
    return (), False


def address_of_host(host: str) -> str | None:
    """The address that a host name of a URL is itself, in plain form, or None for a name."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or not (bare[-1].isdigit() or ":" in bare):
        return None
    try:
        return str(ip_address(bare))
    except ValueError:
        return None


class Pins:
    """The user's ``--resolve HOST=ADDRESS`` table: exact names first, then the longest ``*.suffix``."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._exact: dict[str, tuple[str, ...]] = {}
        self._suffix: dict[str, tuple[str, ...]] = {}
        for line in lines:
            host, address = _parse_pin(line)
            table, key = (self._suffix, host[1:]) if host.startswith("*") else (self._exact, host)
            if address not in table.get(key, ()):
                table[key] = (*table.get(key, ()), address)

    def __bool__(self) -> bool:
        return bool(self._exact or self._suffix)

    def addresses(self, host: str) -> tuple[str, ...]:
        """The addresses pinned for a host, or nothing."""
        if not self:
            return ()
        host = host.removesuffix(".")
        if exact := self._exact.get(host):
            return exact
        at = host.find(".")
        while self._suffix and at >= 0:
            if found := self._suffix.get(host[at:]):
                return found
            at = host.find(".", at + 1)
        return self._suffix.get("", ())


def _parse_pin(line: str) -> tuple[str, str]:
    host, equals, text = line.partition("=")
    host, text = host.strip().lower().removesuffix("."), text.strip()
    address = address_of_host(text)
    if not equals or not host or address is None:
        raise SpecError(f"--resolve {line!r}: the form is HOST=ADDRESS, for example *.test=127.0.0.1")
    if "*" in host and host != "*" and (not host.startswith("*.") or "*" in host[1:]):
        raise SpecError(f"--resolve {line!r}: a * stands only at the start, as in *.example.org")
    return host, address


class AddressCheck(Protocol):
    """The last word before a connection is opened."""

    def refusal(self, host: str, address: str) -> str | None:
        """Why a host may not be asked at an address, or None where it may."""


class AddressPolicy:
    """Decides which addresses may be connected to; everything public may.

    Others only where the user said so: by ``--resolve`` for that host and address, by ``--allow-net``, or, without
    ``--allow-net``, by seeds that are such hosts themselves: then exactly the addresses of the seeds.
    """

    def __init__(self, network: Network, seed_hosts: Iterable[str] = ()) -> None:
        self.pins = Pins(network.resolve)
        self._networks = tuple(_parse_network(text) for text in network.allow_net)
        self._seeds_waiting: set[str] = set()
        self._trusted: set[str] = set()
        for host in () if self._networks else seed_hosts:
            if address := address_of_host(host):
                self._trusted.add(address)
            else:
                self._seeds_waiting.add(host.lower().removesuffix("."))

    def learn_seed(self, host: str, addresses: Iterable[str]) -> bool:
        """Trust the addresses that a seed's name has the first time it resolves; True where that changed anything.

        Later answers are not trusted: a name that moves inside is the attack. Nor is a metadata address, which
        nobody reaches by a name in good faith.
        """
        if host not in self._seeds_waiting:
            return False
        self._seeds_waiting.discard(host)
        if self.pins.addresses(host):  # the pin allows the address for this host alone
            return False
        before = len(self._trusted)
        kinds = {address: kind_of(address) for address in addresses}
        self._trusted.update(a for a, kind in kinds.items() if kind and kind not in (_METADATA, _LINK_LOCAL))
        return len(self._trusted) > before

    def refusal(self, host: str, address: str) -> str | None:
        """Why a host may not be asked at an address, or None where it may."""
        kind = kind_of(address)
        if not kind or address in self._trusted or address in self.pins.addresses(host):
            return None
        if self._networks and kind not in ("no address", "an address with a zone"):
            parsed = ip_address(address)
            if any(parsed in network for network in self._networks):
                return None
        return f"{address} is {kind}"


def _parse_network(text: str) -> IPv4Network | IPv6Network:
    try:
        return ip_network(text.strip(), strict=False)
    except ValueError:
        raise SpecError(f"--allow-net {text!r}: no network, the form is 10.0.0.0/8 or fd00::/8") from None


class Resolver:
    """Names to the addresses that may be connected to, remembered by their time to live.

    ``cached`` is the hot path and never waits. ``request`` asks and calls back later, from the event loop; however
    many ask for a host at once, DNS is asked once. Behind a proxy names are the proxy's business: every host has
    the empty tuple of addresses.
    """

    def __init__(
        self,
        network: Network,
        policy: AddressPolicy,
        *,
        seconds: Callable[[], float] = time.monotonic,
        timeout_s: float = 10.0,
        hosts_file: str = "/etc/hosts",
    ) -> None:
        self._policy = policy
        self._proxied = network.proxy is not None
        self._nameservers = tuple(_parse_nameserver(text) for text in network.nameserver)
        self._seconds = seconds
        self._timeout_s = timeout_s
        self._hosts_file = hosts_file
        self._hosts: dict[str, tuple[str, ...]] | None = None
        self._cache: OrderedDict[str, tuple[float, Outcome]] = OrderedDict()
        self._asking: dict[str, _Question] = {}
        self._dns: _Dns | None = None

    def cached(self, host: str) -> Outcome | None:
        """The addresses of a host, or why there are none; None: not known (any more), so ``request`` it."""
        entry = self._cache.get(host)
        if entry is not None:
            if entry[0] > self._seconds():
                self._cache.move_to_end(host)
                return entry[1]
            del self._cache[host]
        if self._proxied:
            return ()
        addresses = self._without_dns(host.lower().removesuffix("."))
        return None if addresses is None else self._keep(host, addresses, MAX_TTL_S)

    def request(self, host: str, callback: Callback) -> None:
        """Find the addresses of a host and call back with them, later, from the event loop."""
        known = self.cached(host)
        if known is not None:
            asyncio.get_running_loop().call_soon(callback, host, known)
            return
        question = self._asking.get(host)
        if question is not None:
            question.callbacks.append(callback)
            return
        question = self._asking[host] = _Question(host, callback, self._finish)
        if self._dns is None:
            self._dns = _Dns(self._nameservers, self._timeout_s)
        self._dns.ask(question)

    async def resolve(self, host: str) -> Outcome:
        """The same as ``request`` for those who can wait."""
        answer: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()

        def settle(_: str, outcome: Outcome) -> None:
            if not answer.done():
                answer.set_result(outcome)

        self.request(host, settle)
        return await answer

    async def prime(self, seed_hosts: Iterable[str]) -> None:
        """Resolve the seeds' hosts now, so that what they are trusted for does not depend on whose turn comes first.

        Nobody waits long for a name server that does not answer: it costs its own hosts their time, not all others.
        """
        left = set(seed_hosts)
        all_known = asyncio.Event()

        def resolved(host: str, _: Outcome) -> None:
            left.discard(host)
            if not left:
                all_known.set()

        for host in sorted(left):
            self.request(host, resolved)
        if left:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PRIMING_S):
                    await all_known.wait()

    async def close(self) -> None:
        """End all questions; those who asked are not called any more."""
        for question in self._asking.values():
            question.cancel()
        self._asking.clear()
        if self._dns is not None:
            self._dns.close()
            self._dns = None

    def _without_dns(self, host: str) -> tuple[str, ...] | None:
        """What can be said of a host without asking anybody: pins, addresses, localhost, the hosts file."""
        if pinned := self._policy.pins.addresses(host):
            return pinned
        if address := address_of_host(host):
            return (address,)
        if host == "localhost" or host.endswith(".localhost"):  # RFC 6761: never asked of DNS
            return ("127.0.0.1", "::1")
        if self._hosts is None:
            self._hosts = read_hosts_file(self._hosts_file)
        return self._hosts.get(host)

    def _keep(self, host: str, found: Outcome, ttl_s: float) -> Outcome:
        outcome = found if isinstance(found, Failure) else self._allowed(host.lower().removesuffix("."), found)
        self._cache[host] = (self._seconds() + ttl_s, outcome)
        if len(self._cache) > MAX_CACHED:
            self._cache.popitem(last=False)
        return outcome

    def _allowed(self, host: str, addresses: tuple[str, ...]) -> Outcome:
        if self._policy.learn_seed(host, addresses):
            self._forget_refusals()
        refusals = [self._policy.refusal(host, address) for address in addresses]
        allowed = tuple(a for a, refusal in zip(addresses, refusals, strict=True) if refusal is None)
        if allowed:
            return allowed
        return Failure(Cause.ADDRESS_REFUSED, "; ".join(refusal for refusal in refusals if refusal)[:500])

    def _forget_refusals(self) -> None:
        for host, (_, outcome) in list(self._cache.items()):
            if isinstance(outcome, Failure) and outcome.cause is Cause.ADDRESS_REFUSED:
                del self._cache[host]

    def _finish(self, question: _Question) -> None:
        self._asking.pop(question.host, None)
        outcome = self._keep(question.host, *question.outcome())
        for callback in question.callbacks:
            callback(question.host, outcome)


def read_hosts_file(path: str) -> dict[str, tuple[str, ...]]:
    """The names of a hosts file with their addresses; nothing where it cannot be read."""
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as file:
            text = file.read(MAX_HOSTS_FILE_B)
    except OSError:
        return {}
    found: dict[str, tuple[str, ...]] = {}
    for line in text.splitlines():
        fields = line.partition("#")[0].split()
        address = address_of_host(fields[0]) if len(fields) > 1 else None
        if address is None:
            continue
        for name in fields[1:]:
            name = name.lower().removesuffix(".")
            if address not in found.get(name, ()):
                found[name] = (*found.get(name, ()), address)
    return found


def _parse_nameserver(text: str) -> str:
    """A name server in the form c-ares wants; ``ADDRESS`` or ``ADDRESS:PORT``, IPv6 with a port in brackets."""
    bare, port = text.strip(), ""
    if address_of_host(bare) is None:
        bare, _, port = bare.rpartition(":")
    address = address_of_host(bare)
    if address is None or (port and not (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65_536)):
        raise SpecError(f"--nameserver {text!r}: the form is ADDRESS or ADDRESS:PORT")
    shown = f"[{address}]" if ":" in address else address
    return f"{shown}:{port}" if port else shown


class _Question:
    """One host on its way through DNS: the answers for both families, and who waits for them."""

    def __init__(self, host: str, callback: Callback, finished: Callable[[_Question], None]) -> None:
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

    def cancel(self) -> None:
        self._over = True
        if self._deadline is not None:
            self._deadline.cancel()

    def answer(self, family: int, addresses: list[str], ttl_s: float, trouble: str) -> None:
        """Take what DNS says for one family; ``trouble`` is empty where the name just has no such address."""
        if self._over or family not in self._open:
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


class _Dns:
    """c-ares on the running event loop, without its own thread."""

    def __init__(self, nameservers: Sequence[str], timeout_s: float) -> None:
        import pycares

        self._cares = pycares
        self._loop = asyncio.get_running_loop()
        self._timeout_s = timeout_s
        self._sockets: dict[int, tuple[bool, bool]] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False
        per_try_s = max(0.25, min(2.0, timeout_s / 4))
        self._channel = pycares.Channel(
            timeout=per_try_s, tries=3, servers=nameservers or None, sock_state_cb=self._socket_changed
        )

    def ask(self, question: _Question) -> None:
        question.begin(self._timeout_s)
        # A name without a dot may be one of the local domain's.
        ask = self._channel.query if "." in question.name else self._channel.search
        for family, record in ((4, self._cares.QUERY_TYPE_A), (6, self._cares.QUERY_TYPE_AAAA)):
            try:
                ask(question.name, record, callback=_Taker(question, family))
            except (self._cares.AresError, ValueError) as error:  # a name that cannot be asked
                question.answer(family, [], 0.0, "" if _is_bad_name(error) else str(error))
        self._arm()

    def close(self) -> None:
        """Cancel what is asked and leave the loop. c-ares closes its sockets from a thread of its own."""
        self._closed = True
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
    """Takes one record type's answer from c-ares."""

    def __init__(self, question: _Question, family: int) -> None:
        self._question = question
        self._family = family

    def __call__(self, result: pycares.DNSResult | None, errno: int | None) -> None:
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


def _is_bad_name(error: Exception) -> bool:
    return bool(error.args) and isinstance(error.args[0], int) and not _trouble(error.args[0])
