"""Names to addresses, and which addresses may be connected to (promise 7).

``AddressPolicy`` is pure: it says for a host and an address whether a connection may be opened, and is asked twice,
once for every address that a name resolves to and again by the fetcher on the socket about to be opened.
``Resolver`` asks DNS without blocking, once per host and lifetime of the answer, and remembers failures too.
"""

from __future__ import annotations

from weft.fetch.resolve.addresses import AddressCheck, AddressPolicy, Pins, address_of_host, kind_of
from weft.fetch.resolve.dns import Outcome
from weft.fetch.resolve.resolver import Resolver, read_hosts_file

__all__ = [
    "AddressCheck", "AddressPolicy", "Outcome", "Pins", "Resolver", "address_of_host", "kind_of", "read_hosts_file",
]  # fmt: skip
