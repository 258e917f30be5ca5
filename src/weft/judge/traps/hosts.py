"""Hosts without number below one domain (HOSTS_PER_DOMAIN)."""

from __future__ import annotations

from xxhash import xxh3_64_digest

from weft.errors import Reason
from weft.judge.traps.ledger import Ledger
from weft.judge.traps.urls import Problem
from weft.url import domain_of, host_of

_KNOWN_ORIGINS = 20_000


class Hosts:
    """See the module. ``trusted`` are the hosts that the user named, ``known`` the origins admitted lately.

    ``suffix`` is the domain suffix that a crawl is about: the names right below it are domains of their own.
    """

    def __init__(self, limit: int, suffix: str) -> None:
        self._limit = limit
        self._suffix = suffix
        self.ledger = Ledger("h", 4_000)
        self.trusted: set[str] = set()
        self.known: set[str] = set()

    def problem(self, url: str, origin: str) -> Problem | None:
        """What is said against an origin that is not among the ``known``; else it is from now on."""
        limit = self._limit
        if not limit:
            return None
        if len(self.known) >= _KNOWN_ORIGINS:
            self.known.clear()  # a cache: what is true is in the ledger
        host = host_of(url)
        domain = self._domain(host)
        if host not in self.trusted and host not in (domain, f"www.{domain}"):
            hosts = self.ledger.blob(domain)
            mark = xxh3_64_digest(host.encode())
            at = hosts.find(mark)
            while at > 0 and at % len(mark):  # the end of one mark and the start of the next
                at = hosts.find(mark, at + 1)
            if at < 0:
                if len(hosts) >= 8 * limit:
                    return (
                        Reason.HOSTS_PER_DOMAIN,
                        f"{limit} hosts below {domain[:80]} (--trap-hosts-per-domain {limit})",
                    )
                self.ledger.put(domain, hosts + mark)
        self.known.add(origin)
        return None

    def _domain(self, host: str) -> str:
        if self._suffix and host.endswith(f".{self._suffix}"):
            label = host[: -len(self._suffix) - 1].rpartition(".")[2]
            return f"{label}.{self._suffix}"
        return domain_of(host)
