"""Records: an element of the page each, with fields that selectors find inside of it (``[extract.NAME]``, E24)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import msgspec

from weft.extract.texts import Pattern, pattern
from weft.records import Item
from weft.spec import Field, Record
from weft.text.selectors import Resolve, Selector, css, xpath

if TYPE_CHECKING:
    from turbohtml import Document, Element

FieldValue = str | int | float | list[str | int | float]

_NUMBER = re.compile(r"-?\d[\d.,'\s\u00a0\u202f]*")


class FieldReader(msgspec.Struct, frozen=True):
    """One field, ready to be read from an element."""

    field: Field
    reader: Selector | Pattern

    def read(self, element: Element, resolve: Resolve) -> FieldValue | None:
        """The value, of the type asked for; None where there is none, or none of that type."""
        found = [value for text in self._texts(element, resolve) if (value := self._typed(text, resolve)) is not None]
        if self.field.many:
            return found
        return found[0] if found else None

    def _texts(self, element: Element, resolve: Resolve) -> Iterator[str]:
        if isinstance(self.reader, Pattern):
            yield from (item.value for item in self.reader.items(element.text))
        elif self.field.type == "html":
            yield from self.reader.markup(element)
        else:
            yield from self.reader.values(element, resolve)

    def _typed(self, text: str, resolve: Resolve) -> str | int | float | None:
        if self.field.type in ("number", "integer"):
            number = number_of(text)
            return int(number) if number is not None and self.field.type == "integer" else number
        if self.field.type == "url":
            return resolve(text) if text else None
        return text or None


class RecordReader(msgspec.Struct, frozen=True):
    """One sort of records, ready to be read from pages."""

    name: str
    each: Selector
    fields: tuple[FieldReader, ...]

    def items(self, document: Document, resolve: Resolve) -> Iterator[Item]:
        """A record for every element that has all required fields."""
        for at, element in enumerate(document.select(self.each.what)):
            values = {one.field.name: one.read(element, resolve) for one in self.fields}
            if any(one.field.required and values[one.field.name] in (None, []) for one in self.fields):
                continue
            if not self.fields:
                values = {"text": " ".join(element.text.split())}
            first = next((value for value in values.values() if value not in (None, [])), "")
            yield Item(self.name, str(first)[:10_000], "", "plain", at, 1.0, msgspec.json.encode(values).decode())


def record_reader(record: Record) -> RecordReader:
    """The reader of a record whose selectors can be used."""
    return RecordReader(record.name, css(record.each), tuple(FieldReader(one, _reader(one)) for one in record.fields))


def _reader(field: Field) -> Selector | Pattern:
    if field.how == "xpath":
        return xpath(field.what)
    return pattern(field.name, field.what) if field.how == "pattern" else css(field.what)


def number_of(text: str) -> float | None:
    """The first number of a text, whatever its signs are: ``1.234,50``, ``1,234.50``, ``1 234``."""
    found = _NUMBER.search(text)
    if found is None:
        return None
    digits = re.sub(r"[\s'\u00a0\u202f]", "", found[0]).rstrip(".,")
    point, comma = digits.rfind("."), digits.rfind(",")
    if point >= 0 and comma >= 0:
        decimal = "." if point > comma else ","
        digits = digits.replace("," if decimal == "." else ".", "").replace(decimal, ".")
    elif comma >= 0:
        digits = digits.replace(",", "") if re.fullmatch(r"-?\d{1,3}(?:,\d{3})+", digits) else digits.replace(",", ".")
    elif re.fullmatch(r"-?\d{1,3}(?:\.\d{3}){2,}", digits):
        digits = digits.replace(".", "")
    try:
        return float(digits)
    except ValueError:
        return None
