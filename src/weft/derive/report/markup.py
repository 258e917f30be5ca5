"""HTML built from values: what is not ``Html`` is text, and stays text whatever is in it."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from weft.text.safe import in_xml, shown

_LONGEST_TEXT = 300
_LONGEST_URL = 2_000


class Html(str):
    """Markup that we wrote ourselves."""

    __slots__ = ()


def text(value: str, most: int = _LONGEST_TEXT) -> Html:
    """Text as text: no markup, no control characters, nothing that turns the line around; cut if it is long."""
    return Html(in_xml(value if len(value) <= most else f"{value[:most]}\u2026"))


def tag(name: str, *children: Html | str | int | Iterable[Html] | None, **attributes: str | int | None) -> Html:
    """An element. Attributes that are None are left out; ``class_`` is class, ``data_v`` is data-v."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{in_xml(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{written}>{join(children)}</{name}>")


def join(children: Iterable[Html | str | int | Iterable[Html] | None]) -> Html:
    """Everything one after the other; strings become text."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Html):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(text(child))
        elif isinstance(child, int):
            parts.append(f"{child:,}")
        else:
            parts.extend(child)
    return Html("".join(parts))


def link(url: str, shown_as: str | None = None) -> Html:
    """A URL of the crawl, to be followed only by who clicks it, and without telling where from."""
    words = tag("bdi", text(shown_as if shown_as is not None else url, 160))
    if not url.startswith(("http://", "https://")) or len(url) > _LONGEST_URL:
        return words
    return tag(
        "a", words, href=url, rel="noopener noreferrer nofollow", target="_blank", title=shown(url[:_LONGEST_TEXT])
    )


def json_block(identity: str, value: object) -> Html:
    """Values for the script, in a block that no content can end."""
    encoded = msgspec.json.encode(value).decode()
    for character in "<>&\u2028\u2029":
        encoded = encoded.replace(character, f"\\u{ord(character):04x}")
    return Html(f'<script type="application/json" id="{identity}">{encoded}</script>')
