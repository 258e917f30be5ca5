"""Crawls that render: links that only scripts make, each request once, and nothing that the crawl's rules forbid."""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import chromium
import pytest
from command import Weft
from until import wait_until
from web import Request, Response, Site

if chromium.program() is None:
    pytest.skip("Chromium is not installed (apt-get install chromium)", allow_module_level=True)

FAST = ("--delay", "0", "--per-host", "4", "--sitemaps", "no", "--grace", "1")
RENDER = ("--render", "always", *(("--browser-sandbox", "no") if os.geteuid() == 0 else ()))

ROUTER = """
const routes = {"/": ["/router/a", "/router/b"]};
const App = {
  render(path) {
    const list = document.createElement("ul");
    for (const href of routes[path] || []) {
      const item = list.appendChild(document.createElement("li")).appendChild(document.createElement("a"));
      item.href = href; item.textContent = href;
      item.addEventListener("click", (e) => { e.preventDefault(); history.pushState({}, "", href); App.render(href); });
    }
    document.getElementById("app").replaceChildren(list);
  },
};
addEventListener("DOMContentLoaded", () => App.render("/"));
"""

WAYS = {
    "/router": '<div id=app></div><script src="/router.js"></script>',
    "/onclick": """<button onclick="location.href='/by/onclick'">x</button>""",
    "/went": "<script>setTimeout(() => { document.location = '/by/location'; }, 50)</script>",
    "/scroll": """<div style="height:4000px"></div><script>let n = 0; addEventListener('scroll', () => {
        if (!n++) document.body.insertAdjacentHTML('beforeend', '<a href=/by/scroll>x</a>'); })</script>""",
    "/shadow": """<x-menu></x-menu><script>customElements.define('x-menu', class extends HTMLElement {
        connectedCallback() {
          this.attachShadow({mode: 'open'}).innerHTML = '<a href=/by/shadow>x</a>'; } })</script>""",
    "/frames": """<iframe id=f></iframe><script>
        document.getElementById('f').srcdoc = '<a href=/by/frame>x</a>'</script>""",
    "/delayed": """<script>setTimeout(() => document.body.insertAdjacentHTML('beforeend',
        '<a href=/by/delay>x</a>'), 600)</script>""",
    "/template": """<template id=t><a href=/by/template>x</a></template><div id=d></div><script>
        document.getElementById('d').append(document.getElementById('t').content.cloneNode(true))</script>""",
    "/fetched": """<script>fetch('/api/list.json', {headers: {'X-Asked': 'by script'}}).then((r) => r.json()).then(
        (list) => { document.body.innerHTML += list.map((u) => '<a href=' + u + '>x</a>').join(''); })</script>""",
    "/posted": """<script>fetch('/api/search', {method: 'POST', body: JSON.stringify({q: 'weft'}),
        headers: {'Content-Type': 'application/json'}}).then((r) => r.text()).then(
        (u) => document.body.insertAdjacentHTML('beforeend', '<a href=' + u + '>x</a>'))</script>""",
    "/module": '<script type=module src="/module.js"></script>',
    "/button": """<button type=button id=b>x</button><script>document.getElementById('b').addEventListener('click',
        () => { location.href = '/by/button'; })</script>""",
    "/pushed": "<script>history.pushState({}, '', '/by/pushed')</script>",
}
FOUND = {
    "/router/a", "/router/b", "/by/onclick", "/by/location", "/by/scroll", "/by/shadow", "/by/frame", "/by/delay",
    "/by/template", "/by/fetch", "/by/post", "/by/module", "/by/button", "/by/pushed", "/by/gate",
}  # fmt: skip


def script_site(site: Site) -> None:
    """A site whose links are made by scripts alone, each in its own way; the log of it is the answer key."""
    for path, body in WAYS.items():
        site.page(path, body=body)
    for path in FOUND:
        site.page(path)
    site.page("/", [*WAYS, "/gate"])
    site.file("/router.js", ROUTER.encode(), "text/javascript")
    site.file("/module.js", b"import {href} from './deep.js'; const a = document.createElement('a'); a.href = href;"
              b" document.body.append(a);", "text/javascript")  # fmt: skip
    site.file("/deep.js", b"export const href = '/by/module';", "text/javascript")

    def listed(request: Request) -> Response:
        asked = request.header("X-Asked") == "by script"
        return Response(json.dumps(["/by/fetch"] if asked else []).encode(), content_type="application/json")

    def searched(request: Request) -> Response:
        right = request.method == "POST" and json.loads(request.body) == {"q": "weft"}
        return Response(b"/by/post" if right else b"/wrong", content_type="text/plain")

    def gate(request: Request) -> Response:
        if "passed=yes" in (request.header("Cookie") or ""):
            return Response(b"<!doctype html><title>/gate</title><a href=/by/gate>x</a>")
        return Response(b"<!doctype html><script>document.cookie = 'passed=yes'; location.reload()</script>")

    site.serve("/api/list.json", listed)
    site.serve("/api/search", searched)
    site.serve("/gate", gate)


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{folder / 'crawl.db'}?mode=ro", uri=True) as connection:
        return connection.execute(query).fetchall()


def paths_of(folder: Path, state: str = "C") -> set[str]:
    found = rows(folder, f"SELECT url FROM document WHERE state = '{state}'")
    return {str(url).split("/", 3)[3] for (url,) in found}


def test_links_that_only_scripts_make(weft: Weft, site: Site) -> None:
    """All are found, each request reached the server once, and each is a visit with its place in the archive."""
    script_site(site)
    run = weft("crawl", site.url, "-o", "out", *FAST, *RENDER, "--scroll", "1", "--click")
    assert run.code == 0, run.stderr
    out = weft.folder / "out"
    assert {path.lstrip("/") for path in FOUND} <= paths_of(out)
    asked = Counter((request.method, request.path) for request in site.requests)
    assert asked.pop(("GET", "/gate")) == 2  # the page loads itself anew
    assert set(asked.values()) == {1}, asked
    visits = rows(out, "SELECT u.text, v.warc, v.purpose FROM visit v JOIN url u ON u.id = v.url")
    assert len(visits) == len(site.requests)
    assert all(warc is not None for _, warc, _ in visits)
    check = weft("check", "out")
    assert check.code == 0, check.stdout + check.stderr
    page = site.at("/fetched")
    assert "/by/fetch" in weft("show", "out", page, "--rendered").stdout
    assert "/by/fetch" not in weft("show", "out", page, "--body").stdout


def test_a_crawl_that_is_killed_and_resumed_finds_the_same(weft: Weft, site: Site) -> None:
    """Killed at three moments, the crawl ends with the pages and links of one that was never disturbed."""
    script_site(site)
    more = (*FAST, *RENDER, "--scroll", "1", "--click")
    for number, at in enumerate((4, 9, 14)):
        command = ("resume", "out") if number else ("crawl", site.url, "-o", "out", *more)
        process = weft.start(*command)
        wait_until(partial(_has_completed, weft.folder / "out", at), f"{at} pages")
        weft.kill(process)
        process.wait(30)
    assert weft("resume", "out").code == 0
    out = weft.folder / "out"
    assert {path.lstrip("/") for path in FOUND} <= paths_of(out)
    assert weft("crawl", site.url, "-o", "calm", *more).code == 0
    links = "SELECT u.text, l.target, l.kind, l.anchor FROM link l JOIN page_url u ON u.page = l.from_page"
    assert sorted(rows(out, links)) == sorted(rows(weft.folder / "calm", links))
    assert weft("check", "out").code == 0


def test_robots_and_addresses_hold_for_what_pages_load(weft: Weft, site: Site, sites: Callable[..., Site]) -> None:
    """Frames are asked where robots.txt allows documents, scripts everywhere, and no private address ever."""
    other = sites()
    other.robots("User-agent: *\nDisallow: /closed\n")
    for path in ("/open", "/closed"):
        other.page(path, body="<p>frame</p>")
    other.file("/closed.js", b"document.title = 'ran'", "text/javascript")
    private = sites("127.0.0.2")
    private.page("/secret")
    site.robots("User-agent: *\nDisallow: /mine/closed\n")
    site.page("/mine/open")
    site.redirect("/away", private.at("/secret"))
    frames = [other.at("/open"), other.at("/closed"), "/mine/open", "/mine/closed", private.at("/secret")]
    scripts = f"fetch('{private.at('/secret')}', {{mode: 'no-cors'}}); fetch('/away', {{mode: 'no-cors'}})"
    inside = "".join(f'<iframe src="{url}"></iframe>' for url in frames)
    site.page("/", body=f'{inside}<script src="{other.at("/closed.js")}"></script><script>{scripts}</script>')
    run = weft("crawl", site.url, "-o", "out", *FAST, *RENDER, "--max-depth", "0", "--allow-net", "127.0.0.1/32")
    assert run.code == 0, run.stderr
    assert sorted(set(other.paths())) == ["/closed.js", "/open", "/robots.txt"]
    assert private.requests == []
    assert {"/mine/open"} <= set(site.paths()) and "/mine/closed" not in site.paths()
    refused = rows(weft.folder / "out", "SELECT count(*) FROM visit WHERE cause = 'ADDRESS_REFUSED' AND purpose = 3")
    assert refused[0][0] >= 2
    assert "ran" in weft("show", "out", site.at("/"), "--rendered").stdout


def test_third_parties_are_left_out_where_the_user_wants_it(weft: Weft, site: Site) -> None:
    site.file("/s.js", b"document.title = 'other'", "text/javascript", host="cdn.other.test")
    site.file("/s.js", b"document.body.id = 'own'", "text/javascript", host="cdn.own.test")
    port = site.url.rpartition(":")[2].strip("/")
    scripts = "".join(
        f'<script src="http://{host}:{port}/s.js"></script>' for host in ("cdn.other.test", "cdn.own.test")
    )
    site.page("/", body=scripts, host="www.own.test")
    names = ("--resolve", "*.test=127.0.0.1")
    run = weft("crawl", f"http://www.own.test:{port}/", "-o", "out", *FAST, *RENDER, *names, "--third-party", "no")
    assert run.code == 0, run.stderr
    assert "/s.js" in site.paths("cdn.own.test") and site.paths("cdn.other.test") == []


def test_secrets_and_cookies_reach_their_origin_only(weft: Weft, site: Site, sites: Callable[..., Site]) -> None:
    """--header, --auth and the jar hold for the requests of scripts as for those of the crawl."""
    other = sites()
    other.serve("/api", lambda request: Response(b"1", headers={"Access-Control-Allow-Origin": "*"}))
    site.serve("/api", lambda request: Response(b"1", headers={"Set-Cookie": "from=api"}))
    site.page("/", body=f"<script>fetch('/api').then(() => fetch('/api')); fetch('{other.at('/api')}')</script>",
              headers={"Set-Cookie": "session=1"})  # fmt: skip
    place = site.url.partition("://")[2].strip("/")
    run = weft(
        "crawl", site.url, "-o", "out", *FAST, *RENDER, "--auth", f"me:secret@{place}", "--header", "X-Mine: yes"
    )
    assert run.code == 0, run.stderr
    first, second = (request for request in site.requests if request.path == "/api")
    assert first.header("Cookie") == "session=1" and set((second.header("Cookie") or "").split("; ")) == {
        "session=1", "from=api",
    }  # fmt: skip
    assert (first.header("Authorization") or "").startswith("Basic ") and first.header("X-Mine") == "yes"
    (there,) = (request for request in other.requests if request.path == "/api")
    assert there.header("Cookie") is None and there.header("Authorization") is None


def test_a_page_the_browser_cannot_render_is_kept_as_it_was_received(weft: Weft, site: Site) -> None:
    site.page("/", ["/bad", "/good"])
    site.page("/bad", ["/behind"], body="<script>const a = []; for (;;) a.push(new Uint8Array(1e7).fill(7));</script>")
    site.page("/good", body="<script>document.body.insertAdjacentHTML('beforeend', '<a href=/made>x</a>')</script>")
    for path in ("/behind", "/made"):
        site.page(path)
    run = weft("crawl", site.url, "-o", "out", *FAST, *RENDER, "--max-memory", "600M")
    assert run.code == 0, run.stderr
    assert paths_of(weft.folder / "out") == {"", "bad", "good", "behind", "made"}
    told = weft("show", "out", site.at("/bad"), "--rendered")
    assert told.code == 1 and "could not render" in told.stderr
    assert site.asked("/bad") == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has no sandbox")
def test_root_is_refused_before_anything_is_asked(weft: Weft, site: Site) -> None:
    run = weft("crawl", site.url, "-o", "out", "--render", "always")
    assert run.code == 2 and "--browser-sandbox no" in run.stderr and run.stderr.count("\n") == 1
    assert site.requests == [] and not (weft.folder / "out").exists()


def test_without_a_browser_one_sentence_says_what_to_install(weft: Weft, site: Site) -> None:
    run = weft("crawl", site.url, "-o", "out", *RENDER, env={"PATH": str(weft.folder)})
    assert run.code == 2 and "apt install chromium" in run.stderr and run.stderr.count("\n") == 1
    assert site.requests == []


def _has_completed(folder: Path, pages: int) -> bool:
    try:
        return int(str(rows(folder, "SELECT count(*) FROM page WHERE state = 'C'")[0][0])) >= pages
    except sqlite3.Error:  # it has only begun
        return False
