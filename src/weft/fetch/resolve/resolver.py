"""Names to the addresses that may be connected to, remembered."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from weft.errors import Cause
from weft.fetch.resolve.addresses import AddressPolicy, address_of_host
from weft.fetch.resolve.dns import (
    MAX_TTL_S,
    Callback,
    Dns,
    Outcome,
    Question,
    parse_nameserver,
)
from weft.records import Failure
from weft.spec import Network

PRIMING_S = 0.5  # how long the start waits for the names of the seeds
MAX_CACHED = 100_000
MAX_HOSTS_FILE_B = 20_000_000


class Resolver:
    """Names to the addresses that may be connected to, remembered by their time to live.

    ``cached`` is the hot path and never waits. ``request`` asks and calls back later, from the event loop; however
    many ask for a host at once, DNS is asked once. Behind a proxy names are the proxy's business, and where nothing
    is to be looked up (an import) nobody's: every host has the empty tuple of addresses.
    """

    def __init__(
        self,
        network: Network,
        policy: AddressPolicy,
        *,
        seconds: Callable[[], float] = time.monotonic,
        timeout_s: float = 10.0,
        hosts_file: str = "/etc/hosts",
        looks_up: bool = True,
    ) -> None:
        self._policy = policy
        self._proxied = network.proxy is not None or not looks_up
        self._nameservers = tuple(parse_nameserver(text) for text in network.nameserver)
        self._seconds = seconds
        self._timeout_s = timeout_s
        self._hosts_file = hosts_file
        self._hosts: dict[str, tuple[str, ...]] | None = None
        self._cache: OrderedDict[str, tuple[float, Outcome]] = OrderedDict()
        self._asking: dict[str, Question] = {}
        self._dns: Dns | None = None

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
        question = self._asking[host] = Question(host, callback, self._finish)
        if self._dns is None:
            self._dns = Dns(self._nameservers, self._timeout_s)
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

    def add_seeds(self, hosts: Iterable[str]) -> None:
        """Hosts that the user names while the crawl runs: their addresses may be connected to from now on."""
        for host in hosts:
            self._policy.add_seed(host)
        self._forget_refusals()

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

    def _finish(self, question: Question) -> None:
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
