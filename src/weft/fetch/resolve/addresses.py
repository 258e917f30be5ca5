"""Which addresses may be connected to (promise 7): pure, and asked twice."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Protocol

from weft.errors import SpecError
from weft.spec import Network

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
        self._seeds_learnt: set[str] = set()
        self._trusted: set[str] = set()
        for host in seed_hosts:
            self.add_seed(host)

    def add_seed(self, host: str) -> None:
        """Let a seed open its addresses: at once where it is one, else those of its name's next answer, once."""
        if self._networks:
            return
        if address := address_of_host(host):
            self._trusted.add(address)
        elif (name := host.lower().removesuffix(".")) not in self._seeds_learnt:
            self._seeds_waiting.add(name)

    def learn_seed(self, host: str, addresses: Iterable[str]) -> bool:
        """Trust the addresses that a seed's name has the first time it resolves; True where that changed anything.

        Later answers are not trusted: a name that moves inside is the attack. Nor are private addresses beside public
        ones: that name is on the web. Nor is a metadata address, which nobody reaches by a name in good faith.
        """
        if host not in self._seeds_waiting:
            return False
        self._seeds_waiting.discard(host)
        self._seeds_learnt.add(host)
        if self.pins.addresses(host):  # the pin allows the address for this host alone
            return False
        before = len(self._trusted)
        kinds = {address: kind_of(address) for address in addresses}
        if all(kinds.values()):
            self._trusted.update(a for a, kind in kinds.items() if kind not in (_METADATA, _LINK_LOCAL))
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
