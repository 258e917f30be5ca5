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


def cause(outcome: Outcome | None) -> Cause | None:
    return outcome.cause if isinstance(outcome, Failure) else None


def test_a_loopback_seed_is_found_under_its_names() -> None:
    async def work(resolver: Resolver) -> None:
        assert resolver.cached("localhost") == ("127.0.0.1", "::1")
        assert resolver.cached("sub.localhost") == ("127.0.0.1", "::1")
        assert resolver.cached("127.0.0.1") == ("127.0.0.1",)
        assert cause(resolver.cached("127.0.0.2")) is Cause.ADDRESS_REFUSED

    run(work, Network(), seeds=("localhost",))


def test_the_memory_for_names_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.fetch.resolve.resolver.MAX_CACHED", 10)

    async def work(resolver: Resolver) -> None:
        for number in range(50):
            assert resolver.cached(f"1.1.1.{number}") == (f"1.1.1.{number}",)
        assert len(resolver._cache) == 10

    run(work, Network())


@pytest.mark.parametrize("text", ["dns.test", "1.2.3.4:0", "1.2.3.4:x", "[::1]:99999", "", "1.2.3.4:5:6"])
def test_name_servers_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(SpecError, match="--nameserver"):
        Resolver(Network(nameserver=(text,)), AddressPolicy(Network()))


def test_a_hosts_file_that_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_hosts_file(str(tmp_path / "none")) == {}
    assert read_hosts_file(str(tmp_path)) == {}
