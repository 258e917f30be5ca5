"""What a rendered page says: its tree in the place of the one that was received, and what that has changed."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from weft.records import LinkKind, Links, Parsed, Rendered, Rendering

Read = Callable[[str, str], Parsed]
"""(HTML, URL) -> what it says."""


def as_rendered(received: Parsed, rendered: Rendered, url: str, read: Read, max_links: int) -> Parsed:
    """The page as it was rendered; as it was received, where it could not be.

    Links of shadow roots and frames follow those of the page, and then those that its scripts went to.
    """
    rendering = Rendering(
        requests=rendered.requests, took_ms=rendered.took_ms, links=len(received.links), note=rendered.note or None,
        refused="\n".join(rendered.refused) or None,
    )  # fmt: skip
    if not rendered.html:
        return msgspec.structs.replace(received, rendering=rendering)
    page = read(rendered.html, url)
    links, texts = Links.of(page.links), [page.text]
    for base, part in rendered.parts:
        inside = read(part, base)
        texts.append(inside.text)
        for link in inside.links:
            links.add(*link)
    for route in rendered.routes:
        links.add(route, LinkKind.ONCLICK.value)
    cut = page.links_cut or len(links) > max_links
    if len(links) > max_links:
        links.keep_first(max_links)
    text = "\n".join(filter(None, texts))
    rendering = msgspec.structs.replace(
        rendering, links=len(links), new_links=len(set(links.targets) - set(received.links.targets)),
        new_text=max(0, len(text) - len(received.text)),
    )  # fmt: skip
    return msgspec.structs.replace(
        page, type=received.type, encoding=received.encoding, links=links, links_cut=cut, text=text, rendering=rendering
    )
