"""Names asked of a DNS server on loopback: lifetimes, failures, addresses that are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pycares
import pytest
from web import NameServer

from weft.errors import Cause
from weft.fetch.resolve import AddressPolicy, Outcome, Resolver
from weft.records import Failure
from weft.spec import Network

pycares.Channel(servers=["127.0.0.1"]).close()  # starts its thread, which serves the whole process, before any test


class Now:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def run(
    work: Callable[[Resolver], Awaitable[None]], network: Network, seeds: tuple[str, ...] = (), **more: object
) -> None:
    async def main() -> None:
        resolver = Resolver(network, AddressPolicy(network, seeds), **more)  # type: ignore[arg-type]
        try:
            async with asyncio.timeout(20):
                await work(resolver)
        finally:
            await resolver.close()

    asyncio.run(main())


def at(names: NameServer, *networks: str) -> Network:
    return Network(nameserver=(f"{names.address}:{names.port}",), allow_net=networks)


def cause(outcome: Outcome | None) -> Cause | None:
    return outcome.cause if isinstance(outcome, Failure) else None


def test_names_are_asked_once_and_remembered_by_their_lifetime(names: NameServer) -> None:
    """Issue 6: asynchronous, cached by TTL, one query for all who ask at once."""
    names.add("a.test", "1.1.1.1", "2606:2800:220:1::1", ttl_s=60)
    now = Now()

    async def work(resolver: Resolver) -> None:
        assert resolver.cached("a.test") is None
        found = await asyncio.gather(*(resolver.resolve("a.test") for _ in range(50)))
        assert set(found) == {("1.1.1.1", "2606:2800:220:1::1")}
        assert sorted(names.queries) == [("a.test", "A"), ("a.test", "AAAA")]
        now.s += 59
        assert resolver.cached("a.test") == found[0]
        now.s += 2
        assert resolver.cached("a.test") is None

    run(work, at(names), seconds=now)


def test_lifetimes_have_a_floor_and_a_ceiling(names: NameServer) -> None:
    names.add("short.test", "1.1.1.1", ttl_s=0)
    names.add("long.test", "1.1.1.1", ttl_s=10_000_000)
    now = Now()

    async def work(resolver: Resolver) -> None:
        for host in ("short.test", "long.test"):
            await resolver.resolve(host)
        now.s += 4.9
        assert resolver.cached("short.test") == ("1.1.1.1",)
        now.s += 0.2
        assert resolver.cached("short.test") is None
        now.s += 3_590
        assert resolver.cached("long.test") == ("1.1.1.1",)
        now.s += 10
        assert resolver.cached("long.test") is None

    run(work, at(names), seconds=now)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("nxdomain", Cause.DNS_NOT_FOUND),
        ("empty", Cause.DNS_NOT_FOUND),
        ("servfail", Cause.DNS_FAILED),
        ("refused", Cause.DNS_FAILED),
        ("silent", Cause.DNS_FAILED),
        ("garbage", Cause.DNS_FAILED),
    ],
)
def test_failures_are_told_apart_and_remembered(kind: str, expected: Cause, names: NameServer) -> None:
    names.fail("x.test", kind)

    async def work(resolver: Resolver) -> None:
        outcome = await resolver.resolve("x.test")
        assert cause(outcome) is expected
        asked = len(names.queries)
        assert resolver.cached("x.test") == outcome
        await resolver.resolve("x.test")
        assert len(names.queries) == asked

    run(work, at(names), timeout_s=1.0, seconds=Now())


def test_a_failure_that_may_pass_is_asked_again_before_the_first_retry(names: NameServer) -> None:
    names.fail("x.test", "servfail")
    now = Now()

    async def work(resolver: Resolver) -> None:
        await resolver.resolve("x.test")
        now.s += 1.1
        assert resolver.cached("x.test") is None

    run(work, at(names), timeout_s=1.0, seconds=now)


def test_a_slow_name_is_found_among_quick_ones(names: NameServer) -> None:
    """Issue 4, 4: slow name servers cost their own hosts time, and not the hosts themselves."""
    names.add("*.test", "1.1.1.1")
    names.wait("*.test", 0.01)
    names.add("slow.test", "1.1.1.1")
    names.wait("slow.test", 1.1)

    async def work(resolver: Resolver) -> None:
        for number in range(8):
            await resolver.resolve(f"h{number}.test")
        assert await resolver.resolve("slow.test") == ("1.1.1.1",)

    run(work, at(names))


def test_aliases_are_followed(names: NameServer) -> None:
    names.alias("www.test", "real.test")
    names.add("real.test", "1.1.1.1")

    async def work(resolver: Resolver) -> None:
        assert await resolver.resolve("www.test") == ("1.1.1.1",)

    run(work, at(names))


def test_one_family_is_enough(names: NameServer) -> None:
    names.add("four.test", "1.1.1.1")
    names.add("six.test", "2606:2800:220:1::1")

    async def work(resolver: Resolver) -> None:
        assert await resolver.resolve("four.test") == ("1.1.1.1",)
        assert await resolver.resolve("six.test") == ("2606:2800:220:1::1",)

    run(work, at(names))


def test_a_reply_that_cannot_be_read_harms_no_other_name(names: NameServer) -> None:
    """Issue 3, 10: names that are under way when somebody's garbage comes are found all the same."""
    good = [f"good{number}.test" for number in range(40)]
    for host in good:
        names.add(host, "1.1.1.1")
        names.wait(host, 0.1)
    names.fail("bad.test", "garbage")

    async def work(resolver: Resolver) -> None:
        *found, bad = await asyncio.gather(*map(resolver.resolve, (*good, "bad.test")))
        assert found == [("1.1.1.1",)] * len(good)
        assert cause(bad) is Cause.DNS_FAILED

    run(work, at(names))


def test_private_answers_are_left_out_or_refused(names: NameServer) -> None:
    """Promise 7: a public name that leads inside is refused; of several addresses the public ones are used."""
    names.add("inside.test", "10.0.0.1", "::1")
    names.add("mixed.test", "127.0.0.1", "1.1.1.1")

    async def work(resolver: Resolver) -> None:
        outcome = await resolver.resolve("inside.test")
        assert cause(outcome) is Cause.ADDRESS_REFUSED
        assert isinstance(outcome, Failure) and "10.0.0.1 is a private address" in outcome.detail
        assert await resolver.resolve("mixed.test") == ("1.1.1.1",)

    run(work, at(names), seeds=("public.test",))


def test_a_name_that_moves_inside_is_refused(names: NameServer) -> None:
    """DNS rebinding: public at first, private a lifetime later; the same for a seed."""
    now = Now()
    for host in ("rebind.test", "seed.test"):
        names.rotate(host, ["1.1.1.1"], ["127.0.0.1"], ttl_s=0)

    async def work(resolver: Resolver) -> None:
        for host in ("rebind.test", "seed.test"):
            assert await resolver.resolve(host) == ("1.1.1.1",)
        now.s += 6
        for host in ("rebind.test", "seed.test"):
            assert cause(await resolver.resolve(host)) is Cause.ADDRESS_REFUSED
        assert cause(await resolver.resolve("127.0.0.1")) is Cause.ADDRESS_REFUSED

    run(work, at(names), seeds=("seed.test",), seconds=now)


def test_a_private_seed_opens_its_address_for_hosts_refused_before(names: NameServer) -> None:
    for host in ("seed.test", "wiki.test"):
        names.add(host, "10.0.0.5")

    async def work(resolver: Resolver) -> None:
        assert cause(await resolver.resolve("wiki.test")) is Cause.ADDRESS_REFUSED
        await resolver.prime(["seed.test"])
        assert await resolver.resolve("wiki.test") == ("10.0.0.5",)

    run(work, at(names), seeds=("seed.test",))


def test_what_needs_no_dns_is_known_at_once(names: NameServer, tmp_path: Path) -> None:
    hosts = tmp_path / "hosts"
    hosts.write_text(
        "# comment\n1.1.1.1 One.test uno.test # more\n::1 one.test\nnonsense\n1.0.0.1 one.test\n\xff\n", "latin-1"
    )
    network = Network(nameserver=at(names).nameserver, resolve=("pinned.test=127.0.0.9",))

    async def work(resolver: Resolver) -> None:
        assert resolver.cached("8.8.8.8") == ("8.8.8.8",)
        assert resolver.cached("[2606:2800:220:1::1]") == ("2606:2800:220:1::1",)
        assert resolver.cached("one.test") == ("1.1.1.1", "1.0.0.1")
        assert resolver.cached("UNO.test.") == ("1.1.1.1",)
        assert resolver.cached("pinned.test") == ("127.0.0.9",)
        for host in ("localhost", "a.localhost", "LOCALHOST.", "127.0.0.1"):
            assert cause(resolver.cached(host)) is Cause.ADDRESS_REFUSED
        assert names.queries == []

    run(work, network, hosts_file=str(hosts))


@pytest.mark.parametrize(
    "host", ["a" * 300, "a..b", ".", "", "x" * 64 + ".test", "a b.test", "\0.test", "é.test", "*.test"]
)
def test_names_that_are_none_fail_and_raise_nothing(host: str, names: NameServer) -> None:
    async def work(resolver: Resolver) -> None:
        assert isinstance(await resolver.resolve(host), Failure)

    run(work, at(names), timeout_s=2.0)


def test_behind_a_proxy_nobody_is_asked(names: NameServer) -> None:
    network = Network(nameserver=at(names).nameserver, proxy="http://127.0.0.1:3128")

    async def work(resolver: Resolver) -> None:
        assert resolver.cached("anything.test") == ()
        assert await resolver.resolve("10.0.0.1") == ()
        assert names.queries == []

    run(work, network)


def test_many_names_at_once(names: NameServer) -> None:
    names.add("*.many.test", "1.1.1.1")

    async def work(resolver: Resolver) -> None:
        hosts = [f"h{number}.many.test" for number in range(200)]
        found = await asyncio.gather(*(resolver.resolve(host) for host in hosts))
        assert set(found) == {("1.1.1.1",)}

    run(work, at(names))


def test_closing_with_questions_open_is_quiet(names: NameServer) -> None:
    names.fail("x.test", "silent")
    called: list[object] = []

    async def work(resolver: Resolver) -> None:
        resolver.request("x.test", lambda host, outcome: called.append(outcome))
        await asyncio.sleep(0)
        await resolver.close()
        await asyncio.sleep(0.4)
        assert called == []

    run(work, at(names), timeout_s=0.3)
