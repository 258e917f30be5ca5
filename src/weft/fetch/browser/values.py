"""What a page asks for, and what comes of it once it is rendered."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from weft.records import Fetched


class PageRequest(msgspec.Struct, frozen=True):
    """One request that a page makes. The browser waits for its answer."""

    url: str  # without its fragment
    kind: str  # document, script, stylesheet, image, media, font, xhr, fetch, ... in lower case, as DevTools has them
    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    load: int = 0  # of the page itself: 1 for the first, more where it loads itself anew; 0 for what it loads


Answer = Callable[[PageRequest], Awaitable[Fetched | None]]
"""Gives the answer of a request; None: the request fails."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How pages are rendered."""

    wait_s: float = 10.0  # at most, until the page is read
    quiet_s: float = 1.0  # how long load, requests and tree have to be quiet
    wait_for: str = ""  # a CSS selector, or seconds
    script: str = ""  # the user's own, run when the page is quiet
    scroll: int = 0
    click: bool = False
    width: int = 1280
    height: int = 900
    mobile: bool = False
    blocked: frozenset[str] = frozenset(("image", "media", "font"))
    max_size_b: int = 10_000_000
    max_requests: int = 1_000
    max_frames: int = 100
    shot: str = ""  # png, webp: a picture of the whole page is taken
