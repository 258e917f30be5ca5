"""One request at a time to many servers at once: libcurl on the event loop, every limit, every failure a ``Cause``.

There is no task per page. ``Fetcher.start`` hands a lease to libcurl's multi interface; when transfers end, their
outcomes lie in ``Fetcher.finished`` and ``on_finished`` is called once for the batch. All sockets of libcurl stand in
one epoll set, whose descriptor is the only one that the event loop watches: a reader per socket costs three times the
CPU. Redirects are answers here; nobody follows them in this module.

What keeps answers with their URLs: a transfer takes its bytes from one connection that libcurl hands to it alone; a
connection with bytes left over after a body is closed by libcurl, one that talks or closes while it idles is shut by us
before it can be used again (``watch.silence``: libcurl looks once a second at most); inside TLS, which reads ahead so
that nobody sees bytes wait, what came in is compared with what was read (``Connections.answered``,
``Transfer.came_too_early``); and the address is pinned for each transfer by CONNECT_TO, so that a connection is used
again only for the same host at the same address. libcurl's own resolver is never asked.
"""

from __future__ import annotations

from weft.fetch.http.bounds import Rate, descriptor_budget
from weft.fetch.http.causes import CAUSE_BY_NUMBER, CAUSES, Progress, cause_of
from weft.fetch.http.fetcher import Fetcher
from weft.fetch.http.headers import user_agent_of
from weft.fetch.http.outcome import Outcome

__all__ = [
    "CAUSES",
    "CAUSE_BY_NUMBER",
    "Fetcher",
    "Outcome",
    "Progress",
    "Rate",
    "cause_of",
    "descriptor_budget",
    "user_agent_of",
]
