"""The ops of ``contacts.jsonl``: e-mail addresses and phone numbers in text and in HTML."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from weft.extract.contacts import EMAIL, PHONE, SURE, contacts_of
from weft.extract.contacts.addresses import PLAIN, addresses_in
from weft.extract.contacts.domains import is_reserved
from weft.extract.contacts.phones import find_phones
from weft.parse.content import decode, sniff_encoding
from weft.records import Item

Input = dict[str, object]


def op_deobfuscate(given: Input) -> object:
    return list(dict.fromkeys(found.value for found in addresses_in(str(given["text"]))))


def op_looks_like_obfuscated_email(given: Input) -> object:
    return any(found.obscured != PLAIN for found in addresses_in(str(given["text"])))


def op_extract_string(given: Input) -> object:
    return _contacts(str(given["html"]).encode(), cast("str | None", given.get("region")))


def op_extract(given: Input) -> object:
    """The encoding is told by the bytes alone; addresses in reserved names are asked for, too."""
    body = given["html"]
    assert isinstance(body, bytes)
    encoding = sniff_encoding(body, None)
    source = body if encoding == "utf-8" else decode(body, encoding).encode()
    return _contacts(source, cast("str | None", given.get("region")))


def op_find_phones(given: Input) -> object:
    found = find_phones(str(given["text"]), cast("str | None", given.get("region")))
    return [{"raw": number.raw, "start": number.start, "e164": number.e164} for number in found]


def _contacts(source: bytes, region: str | None) -> dict[str, list[str]]:
    items = [item for item in contacts_of(source, (EMAIL, PHONE), region=region) if _is_shown(item)]
    return {
        "emails": [item.value for item in items if item.kind == EMAIL],
        "phones": [item.value for item in items if item.kind == PHONE],
    }


def _is_shown(item: Item) -> bool:
    return item.confidence >= SURE or (item.kind == EMAIL and is_reserved(item.value.partition("@")[2]))


OPS: dict[str, Callable[[Input], object]] = {
    "contacts.deobfuscate": op_deobfuscate,
    "contacts.looks_like_obfuscated_email": op_looks_like_obfuscated_email,
    "contacts.extract_string": op_extract_string,
    "contacts.extract": op_extract,
    "contacts.find_phones": op_find_phones,
}
