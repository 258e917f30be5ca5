"""E-mail addresses, phone numbers and profiles in social networks, as pages have them (E24, E25).

``contacts_of`` reads one page. It builds no tree: a pass over the bytes finds the places where a contact may be, and
only the few hundred bytes around these are read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from weft.extract.contacts.emails import EMAIL, emails_of
from weft.extract.contacts.social import SOCIAL, profiles_of
from weft.extract.contacts.source import Source
from weft.records import Item

__all__ = ["EMAIL", "KINDS", "PHONE", "SOCIAL", "SURE", "contacts_of"]

PHONE: Final = "phone"
KINDS: Final = (EMAIL, PHONE, SOCIAL)

SURE: Final = 0.5
"""From this confidence on an item is shown without being asked for."""


def contacts_of(
    source: bytes, kinds: Collection[str], *, host: str = "", region: str | None = None, links: Iterable[str] = ()
) -> list[Item]:
    """The contacts of some kinds on a page, each value once, in the order of the page.

    ``source`` is HTML in UTF-8, ``host`` where it is from, ``links`` are its links as URLs. ``region`` is the country
    of numbers that do not name theirs; without one, the page tells it.
    """
    page = Source(source)
    found: list[Item] = []
    if EMAIL in kinds:
        found.extend(emails_of(page))
    if PHONE in kinds:
        from weft.extract.contacts.phones import phones_of  # loads the metadata of all countries

        emails = found if EMAIL in kinds or region else emails_of(page)
        domains = tuple({item.value.partition("@")[2] for item in emails if item.confidence >= SURE})
        found.extend(phones_of(page, region, host, domains))
    if SOCIAL in kinds:
        found.extend(profiles_of(links))
    return found
