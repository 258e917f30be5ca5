"""A made-up web as a graph, exactly as a crawl of it meets its links."""

from __future__ import annotations

from collections import deque

from weft.demo.invented import FOLLOWED, InventedWeb
from weft.demo.invented.nouns import BINARY
from weft.derive.simulate.graph import Edges, PageGraph
from weft.errors import SpecError
from weft.ports import Progress, silent

INVENTED = "InventedWeb:"
PAGES, HOSTS = 20_000, 3


def invented_graph(source: str, progress: Progress = silent) -> PageGraph:
    """``InventedWeb:SEED``, ``InventedWeb:SEED:PAGES`` or ``InventedWeb:SEED:PAGES:HOSTS``, from its front pages."""
    try:
        given = [int(number) for number in source.removeprefix(INVENTED).split(":")]
        seed, pages, hosts = [*given, *(0, PAGES, HOSTS)[len(given) :]]
        web = InventedWeb(seed, hosts, pages)
    except ValueError as error:
        raise SpecError(f"{source} is no made-up web (InventedWeb:SEED:PAGES:HOSTS, whole numbers): {error}") from error
    return graph_of_web(web, source, progress)


def graph_of_web(web: InventedWeb, title: str, progress: Progress = silent) -> PageGraph:
    """The pages that a crawl with scope host asks, and the links that it follows."""
    edges = Edges()
    redirects: set[tuple[int, int]] = set()
    refused: set[int] = set()
    queue = deque(web.seeds())
    met = set(queue)
    while queue:
        url = queue.popleft()
        source = edges.node(url)
        if _is_private(web, url):
            refused.add(source)
            continue
        entry = web.entry(url)
        if entry is not None and entry.nofollow:
            continue
        for link in web.links(url):
            if not _is_followed(web, link.target, link.kind, link.rel):
                continue
            edges.add(url, link.target)
            if link.kind == "redirect":
                redirects.add((source, edges.node(link.target)))
            if link.target not in met:
                met.add(link.target)
                queue.append(link.target)
        progress("making the web", len(met) - len(queue), 0)
    return edges.graph(title, web.seeds(), frozenset(redirects), frozenset(refused))


def _is_followed(web: InventedWeb, target: str, kind: str, rel: str) -> bool:
    place = web.place(target)
    if place is None or kind not in FOLLOWED or "nofollow" in rel:
        return False
    return not place[1].endswith(BINARY)


def _is_private(web: InventedWeb, url: str) -> bool:
    """Whether robots.txt forbids a page."""
    place = web.place(url)
    return place is not None and place[1].startswith("/private/") and not place[1].startswith("/private/open/")
