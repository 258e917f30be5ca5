"""Names to addresses, and the wall around private ones (promise 7, issue 3 section 6)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

import pycares
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from web import NameServer

from weft.errors import Cause, SpecError
from weft.fetch.resolve import AddressPolicy, Outcome, Pins, Resolver, address_of_host, kind_of, read_hosts_file
from weft.records import Failure
from weft.spec import Network

pycares.Channel(servers=["127.0.0.1"]).close()  # starts its thread, which serves the whole process, before any test

# --- which addresses are public

PUBLIC = ["1.1.1.1", "93.184.216.34", "8.8.8.8", "172.32.0.1", "100.128.0.1", "2606:2800:220:1::1", "2a00:1450::5",
          "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2002:808:808::1"]  # fmt: skip
NOT_PUBLIC = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "169.254.1.1",
    "169.254.169.254", "168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.168.0.1",
    "198.18.0.1", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "fc00::1", "fd00:ec2::254", "fe80::1", "fe80::1%eth0", "fec0::1", "ff02::1", "2001:db8::1", "100::1",
    "::ffff:127.0.0.1", "::ffff:7f00:1", "::127.0.0.1", "::ffff:0:127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b::a00:1",
    "64:ff9b:1::8.8.8.8", "2002:7f00:1::1", "2002:a9fe:a9fe::", "2001:0:7f00:1::", "2001:0:808:808::80ff:fffe",
    "2606:2800::5efe:10.0.0.1", "fe80::5efe:8.8.8.8", "4000::1", "5f00::1", "not an address", "", "127.1", "1.2.3.4%1",
]  # fmt: skip


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_may_be_connected_to(address: str) -> None:
    assert kind_of(address) == ""
    assert AddressPolicy(Network()).refusal("example.org", address) is None


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_no_other_address_may(address: str) -> None:
    """Promise 7: private, loopback, link-local, metadata, however wrapped."""
    assert kind_of(address) != ""
    assert AddressPolicy(Network()).refusal("example.org", address) is not None


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=300)
def test_what_is_global_to_the_standard_library_and_what_we_allow_agree(number: int) -> None:
    address = IPv4Address(number)
    if kind_of(str(address)) == "":
        assert address.is_global and not address.is_multicast
    wrapped = IPv6Address(int(IPv6Address("::ffff:0:0")) + number)
    assert bool(kind_of(str(wrapped))) == bool(kind_of(str(address)))


@given(st.integers(0, 2**128 - 1))
@settings(max_examples=300)
def test_ipv6_that_we_allow_is_global_to_the_standard_library(number: int) -> None:
    address = IPv6Address(number)
    if kind_of(str(address)) == "" and not address.sixtofour and not address.teredo:
        assert address.is_global or number >> 96 == 0 or address.ipv4_mapped


# --- what the user allows


def test_a_pin_allows_exactly_its_address_for_its_host() -> None:
    policy = AddressPolicy(Network(resolve=("a.test=127.0.0.1", "*.b.test=10.0.0.1")), ["a.test"])
    assert policy.refusal("a.test", "127.0.0.1") is None
    assert policy.refusal("x.b.test", "10.0.0.1") is None
    assert policy.refusal("a.test", "127.0.0.2") is not None
    assert policy.refusal("b.test", "10.0.0.1") is not None
    assert policy.refusal("127.0.0.1", "127.0.0.1") is not None
    assert not policy.learn_seed("a.test", ["127.0.0.1"])
    assert policy.refusal("other.test", "127.0.0.1") is not None


def test_allowed_networks_are_exactly_those() -> None:
    policy = AddressPolicy(Network(allow_net=("10.0.0.0/8", "fd00::/8")), ["127.0.0.1", "localhost"])
    assert policy.refusal("in.test", "10.1.2.3") is None
    assert policy.refusal("in.test", "fd00::1") is None
    assert policy.refusal("out.test", "1.1.1.1") is None
    assert policy.refusal("127.0.0.1", "127.0.0.1") is not None
    assert policy.refusal("in.test", "192.168.0.1") is not None
    assert policy.refusal("in.test", "fe80::1%1") is not None
    assert not policy.learn_seed("localhost", ["127.0.0.1"])


def test_private_seeds_open_exactly_their_addresses() -> None:
    policy = AddressPolicy(Network(), ["127.0.0.1", "[::1]", "Intranet.test."])
    assert policy.refusal("127.0.0.1", "127.0.0.1") is None
    assert policy.refusal("anything.test", "::1") is None
    assert policy.refusal("127.0.0.2", "127.0.0.2") is not None
    assert policy.learn_seed("intranet.test", ["10.0.0.5", "fd00::5"])
    assert policy.refusal("wiki.test", "10.0.0.5") is None
    assert not policy.learn_seed("intranet.test", ["10.0.0.6"])  # only the first answer counts: no rebinding
    assert policy.refusal("intranet.test", "10.0.0.6") is not None


def test_a_seed_that_is_on_the_web_opens_no_private_address() -> None:
    """Promise 7: one private address among public ones is what a name of somebody else's would say."""
    policy = AddressPolicy(Network(), ["seed.test"])
    assert not policy.learn_seed("seed.test", ["1.1.1.1", "127.0.0.1"])
    assert policy.refusal("seed.test", "127.0.0.1") is not None
    assert policy.refusal("seed.test", "1.1.1.1") is None
    assert not policy.learn_seed("seed.test", ["127.0.0.1"])  # nor later
    assert policy.refusal("seed.test", "127.0.0.1") is not None


def test_a_seed_that_comes_later_opens_its_addresses_once() -> None:
    """Promise 7: `weft add` to a crawl that runs; a seed named again is not asked anew what it may open."""
    policy = AddressPolicy(Network(), ["seed.test"])
    assert not policy.learn_seed("seed.test", ["1.1.1.1"])
    policy.add_seed("127.0.0.2")
    policy.add_seed("Later.test.")
    policy.add_seed("seed.test")
    assert policy.refusal("127.0.0.2", "127.0.0.2") is None
    assert policy.learn_seed("later.test", ["10.0.0.5"])
    assert policy.refusal("later.test", "10.0.0.5") is None
    assert not policy.learn_seed("seed.test", ["10.0.0.6"])
    assert policy.refusal("seed.test", "10.0.0.6") is not None
    bound = AddressPolicy(Network(allow_net=("10.0.0.0/8",)))
    bound.add_seed("127.0.0.2")
    assert bound.refusal("127.0.0.2", "127.0.0.2") is not None


def test_a_name_never_opens_the_metadata_service() -> None:
    policy = AddressPolicy(Network(), ["seed.test"])
    policy.learn_seed("seed.test", ["169.254.169.254", "fd00:ec2::254"])
    assert policy.refusal("seed.test", "169.254.169.254") is not None
    assert policy.refusal("seed.test", "fd00:ec2::254") is not None


@pytest.mark.parametrize("line", ["a.test", "=127.0.0.1", "a=b", "a*.test=1.1.1.1", "*.*.test=1.1.1.1", "a=1.1.1.1.1"])
def test_pins_that_are_none_are_refused(line: str) -> None:
    with pytest.raises(SpecError, match="--resolve"):
        Pins([line])


def test_pins_prefer_the_exact_and_the_longest() -> None:
    pins = Pins(
        ["*=9.9.9.9", "*.test=1.1.1.1", "*.a.test=2.2.2.2", "x.a.test=3.3.3.3", "x.a.test=[::3]", "[::5]=5.5.5.5"]
    )
    assert pins.addresses("x.a.test") == ("3.3.3.3", "::3")
    assert pins.addresses("y.a.test.") == ("2.2.2.2",)
    assert pins.addresses("a.test") == ("1.1.1.1",)
    assert pins.addresses("test") == ("9.9.9.9",)
    assert pins.addresses("[::5]") == ("5.5.5.5",)
    assert Pins([]).addresses("a.test") == ()


@pytest.mark.parametrize(
    ("host", "address"),
    [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("[0:0::1]", "::1"), ("a.test", None), ("1.2.3", None), ("", None)],
)
def test_hosts_that_are_addresses(host: str, address: str | None) -> None:
    assert address_of_host(host) == address


# --- resolving


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


def test_a_loopback_seed_is_found_under_its_names() -> None:
    async def work(resolver: Resolver) -> None:
        assert resolver.cached("localhost") == ("127.0.0.1", "::1")
        assert resolver.cached("sub.localhost") == ("127.0.0.1", "::1")
        assert resolver.cached("127.0.0.1") == ("127.0.0.1",)
        assert cause(resolver.cached("127.0.0.2")) is Cause.ADDRESS_REFUSED

    run(work, Network(), seeds=("localhost",))


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


def test_the_memory_for_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.fetch.resolve.resolver.MAX_CACHED", 10)

    async def work(resolver: Resolver) -> None:
        for number in range(50):
            assert resolver.cached(f"1.1.1.{number}") == (f"1.1.1.{number}",)
        assert len(resolver._cache) == 10

    run(work, Network())


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


@pytest.mark.parametrize("text", ["dns.test", "1.2.3.4:0", "1.2.3.4:x", "[::1]:99999", "", "1.2.3.4:5:6"])
def test_name_servers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--nameserver"):
        Resolver(Network(nameserver=(text,)), AddressPolicy(Network()))


def test_a_hosts_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_hosts_file(str(tmp_path / "none")) == {}
    assert read_hosts_file(str(tmp_path)) == {}
