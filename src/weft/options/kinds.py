"""The kind of value that an option takes: told by the type and unit of its field, or by the reader of its type."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from types import UnionType
from typing import get_args

from weft.options import checks
from weft.options.lists import choice, own_parts, rules_of_urls, several, several_extensions, several_headers
from weft.options.records import extract_records
from weft.options.sites import site_paces
from weft.options.values import Kind, Value, file, fraction, optional, place, size, switch, text, time, whole, word
from weft.records import LinkKind
from weft.spec import ON_SCREEN, RESULT_IN_FOLDER, About, Reader


def _link_kinds() -> Sequence[str]:
    """The kinds of links that can be followed: forms are never sent, and documents are read when a run is over."""
    return [kind.label for kind in LinkKind if kind not in (LinkKind.FORM, LinkKind.DOCUMENT)]


READERS: dict[str, Kind] = {
    "addresses": several("HOST=ADDRESS", checks.resolution, "HOST=ADDRESS"),
    "blocked types": choice("TYPES", checks.blocked_types, "types of what pages load"),
    "certificate with key": file(checks.certificate_with_key),
    "certificates": file(checks.certificates),
    "contacts": choice("KINDS", lambda: ("email", "phone", "social"), "the kinds of contacts"),
    "credentials": several("USER:PASSWORD@HOST", checks.credentials, "USER:PASSWORD@HOST"),
    "expressions": several("RE", checks.regular_expression, "a regular expression (RE2)"),
    "extensions": several_extensions(),
    "file name": place(),
    "folder": text("DIR", accepts="the name of a folder"),
    "headers": several_headers(),
    "hosts": several("HOST", checks.host_with_port, "a host, or host:port"),
    "links": choice("KINDS", _link_kinds, "kinds of links"),
    "log": place(check=checks.log_to_go_on_with),
    "log or screen": place(ON_SCREEN, check=checks.words_to_go_on_with),
    "name servers": several("ADDRESS", checks.nameserver, "the address of a name server"),
    "named expressions": several("NAME=REGEX", checks.named_expression, "a name and a regular expression"),
    "named paths": several("NAME=XPATH", checks.named_xpath, "a name and an XPath"),
    "named selectors": several("NAME=CSS", checks.named_selector, "a name and a CSS selector"),
    "networks": several("CIDR", checks.network, "a network such as 10.0.0.0/8"),
    "parts": own_parts(),
    "proxy": optional(text("URL", checks.proxy, "the URL of a proxy")),
    "records": extract_records(),
    "region": text("XX", checks.country, "the two letters of a country"),
    "result": optional(place(RESULT_IN_FOLDER)),
    "rules": rules_of_urls(),
    "scope": text("WHERE", checks.scope, "host, domain, seed-domain, path, free or suffix:NAME"),
    "sites": site_paces(),
    "text": text("TEXT"),
    "text file": file(checks.text_file),
    "texts": several("TEXT", str, "a text on one line"),
    "viewport": text("WxH|mobile", checks.viewport, "WIDTHxHEIGHT, or mobile"),
    "wait for": text("CSS|SECONDS"),
    "who": text("WHO"),
}
"""What texts and lists can be, by the names that types of the specification use."""


def kind_of(name: str, type_: object, default: Value, about: About, reader: Reader | None) -> Kind:
    """The kind of value of a field: ``int`` and ``float`` by the unit at the end of its name."""
    if reader is not None:
        return READERS[reader.name]
    if isinstance(type_, UnionType):
        (bare,) = (part for part in get_args(type_) if part is not type(None))
        return optional(_plain(name, bare, default, about), about.none)
    return _plain(name, type_, default, about)


def _plain(name: str, type_: object, default: Value, about: About) -> Kind:
    bounds = {key: bound for key, bound in (("low", about.low), ("high", about.high)) if bound is not None}
    if type_ is bool:
        return switch(means=not default)
    if type_ is int:
        whole_bounds = {key: int(bound) for key, bound in bounds.items()}
        return size(**whole_bounds) if name.endswith("_b") else whole(**whole_bounds)
    if type_ is float:
        return time(**bounds) if name.endswith("_s") else fraction()
    if isinstance(type_, type) and issubclass(type_, StrEnum):
        return word(type_)
    raise TypeError(f"the type of the field {name} has no Reader, and {type_} does not say how it is read")
