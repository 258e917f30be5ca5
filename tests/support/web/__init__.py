"""A real web on loopback for tests: `Site` answers well, `Site.misbehave` answers in every bad way we could think of.

Nothing here knows weft, and no HTTP library stands between a test and the wire: each answer is written as bytes on a
socket. A site runs in a thread of its own, so that a crawl may run in the test's process or in another one.

    site.page("/", links=["/a"]); site.page("/a"); site.redirect("/old", "/a")
    url = site.misbehave("/bad", "reset_mid_body")      # MISBEHAVIOURS["reset_mid_body"] says what is right then
    site.requests                                       # the server's own log: the judge of politeness

A page's title is its own path unless a test says otherwise, so an answer that was given to the wrong URL shows.
"""

from __future__ import annotations

from importlib import import_module

from web.content import brotli_bomb, gzip_bomb_pieces, raw_deflate
from web.kinds import ANSWER, CHUNKED, LAST, MISBEHAVIOURS, Expectation, chunked, head_of, poison_answer, sized
from web.names import NameServer
from web.redirects import PRIVATE_PLACES
from web.server import HTML, POISON, Behaviour, Line, Request, Response, Site, Tls, answer_bytes, free_port, html_page
from web.tls import TLS_KINDS, Authority

__all__ = [
    "ANSWER",
    "CHUNKED",
    "HTML",
    "LAST",
    "MISBEHAVIOURS",
    "POISON",
    "PRIVATE_PLACES",
    "TLS_KINDS",
    "Authority",
    "Behaviour",
    "Expectation",
    "Line",
    "NameServer",
    "Request",
    "Response",
    "Site",
    "Tls",
    "answer_bytes",
    "brotli_bomb",
    "chunked",
    "free_port",
    "gzip_bomb_pieces",
    "head_of",
    "html_page",
    "poison_answer",
    "raw_deflate",
    "sized",
]

for _module in ("wire", "slow", "content", "redirects", "addresses", "robots", "traps", "connections"):
    import_module(f"web.{_module}")  # each adds its kinds to MISBEHAVIOURS
