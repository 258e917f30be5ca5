"""Crawls that render: links that only scripts make, each request once, and nothing that the crawl's rules forbid."""

from __future__ import annotations

import json
import os
import sqlite3
import struct
import zlib
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import chromium
import pytest
from command import Weft
from until import wait_until
from web import NameServer, Request, Response, Site

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


def test_texts_of_rendered_pages_afterwards(weft: Weft, site: Site) -> None:
    """`weft extract --text` reads the pages as their scripts left them, as a crawl with --text does."""
    wrote = " ".join(["The loom stands in the attic, and nobody has seen the shuttle."] * 5)
    script = f"document.querySelector('main').insertAdjacentHTML('beforeend', '<p>{wrote}</p>')"
    site.page("/", body=f"<main><h1>Looms</h1></main><script>{script}</script><a href=/by/hand>x</a>")
    site.page("/by/hand", body="<p>Warp and weft.</p>")
    texts = "SELECT u.text, t.text, t.markdown, t.keywords FROM text t JOIN visit v ON v.id = t.visit"
    query = f"{texts} JOIN url u ON u.id = v.url ORDER BY u.text"
    for name, words in (("kept", ("--keywords", "5")), ("bare", ())):
        run = weft("crawl", site.url, "-o", name, *FAST, *RENDER, *words)
        assert run.code == 0, run.stderr
    run = weft("extract", "bare", "--keywords", "5")
    assert run.code == 0, run.stderr
    found = rows(weft.folder / "bare", query)
    assert found == rows(weft.folder / "kept", query)
    assert wrote in str(found[0][1])


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


def test_scripts_see_the_cookies_of_the_crawl(weft: Weft, site: Site) -> None:
    """A gate in a script is passed once: the next page sees its cookie, and need not load itself anew."""
    gate = "if (!document.cookie.includes('passed=yes')) { document.cookie = 'passed=yes'; location.reload(); }"
    made = "else document.body.insertAdjacentHTML('beforeend', '<a href=/made>x</a>')"
    for path, links in (("/", ["/second"]), ("/second", []), ("/made", [])):
        site.page(path, links, body=f"<script>{gate} {made}</script>")
    assert weft("crawl", site.url, "-o", "out", *FAST, "--per-host", "1", *RENDER).code == 0
    assert [site.asked(path) for path in ("/", "/second", "/made")] == [2, 1, 1]


def test_endless_answers_and_names_that_lead_home_cost_nothing_but_themselves(
    weft: Weft, site: Site, names: NameServer
) -> None:
    """What a page loads is cut at --max-size; names of private addresses are not connected to."""
    port = site.url.rpartition(":")[2].strip("/")
    site.misbehave("/endless", "endless_body")
    script = f"""Promise.allSettled([fetch('/endless').then((r) => r.arrayBuffer()).then((b) => b.byteLength),
        fetch('http://home.test:{port}/secret'), fetch('http://localhost:{port}/secret')])
        .then((all) => {{ document.title = all.map((one) => one.value || 'none').join(); }})"""
    site.page("/", body=f"<script>{script}</script>")
    site.page("/secret")
    names.add("home.test", "127.0.0.1")
    place = ("--nameserver", f"127.0.0.1:{names.port}", "--resolve", "www.test=127.0.0.1")
    run = weft("crawl", f"http://www.test:{port}/", "-o", "out", *FAST, *RENDER, "--max-size", "1M", *place)
    assert run.code == 0, run.stderr
    assert "<title>1000000,none,none</title>" in weft("show", "out", f"http://www.test:{port}/", "--rendered").stdout
    assert site.asked("/secret") == 0


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


# --- auto

ENHANCED = "<script src=/enhance.js></script>"
"""Runs on every page and adds nothing that counts."""


def mixed_site(site: Site, *, pages: int, scripted: int) -> set[str]:
    """Pages of five templates; those of one of them have their links by script alone. Gives all paths but the start."""
    kinds = {kind: [f"/{kind}/{number}" for number in range((pages - 2 * scripted) // 4)] for kind in "abcd"}
    shops = [f"/shop/{number}" for number in range(scripted)]
    hidden = [f"/item/{number}" for number in range(scripted)]
    site.file("/enhance.js", b"document.body.dataset.ready = Date.now(); console.log('ready')", "text/javascript")
    site.file("/shop.js", b"""fetch('/api' + location.pathname).then((r) => r.json()).then((url) => {
        const a = document.getElementById('shop').appendChild(document.createElement('a'));
        a.href = url; a.textContent = 'item'; })""", "text/javascript")  # fmt: skip
    site.serve("/api/shop/*", lambda request: _json(f"/item/{request.path.rpartition('/')[2]}"))
    for kind, paths in kinds.items():
        for path, following in zip(paths, [*paths[1:], paths[0]], strict=True):
            site.page(path, [following], body=f'<main class="{kind}"><p>text</p></main>{ENHANCED}')
    for path in shops:
        site.page(path, body=f'<div id=shop></div>{ENHANCED}<script src="/shop.js"></script>')
    for path in hidden:
        site.page(path, body="<p>no script here</p>")
    every = [*(path for paths in kinds.values() for path in paths), *shops]
    site.page("/", every)
    return {path.lstrip("/") for path in (*every, *hidden)}


def _json(value: object) -> Response:
    return Response(json.dumps(value).encode(), content_type="application/json")


@pytest.mark.parametrize("scripted", [0, 100])
def test_auto_renders_the_templates_that_need_it_and_loses_nothing(weft: Weft, site: Site, scripted: int) -> None:
    """Within its bound: the pages that need it, ten of each template, and two in a hundred; each request once."""
    wanted = mixed_site(site, pages=2_000, scripted=scripted)
    auto = ("--render", "auto", *RENDER[2:])
    run = weft("crawl", site.url, "-o", "out", *FAST, "--per-host", "16", "--workers", "32", *auto)
    assert run.code == 0, run.stderr
    out = weft.folder / "out"
    assert paths_of(out) - {""} == wanted
    templates = rows(out, "SELECT samples, gained, skipped, late FROM template")
    assert len(templates) == 4 + bool(scripted)
    (rendered,) = rows(out, "SELECT count(*) FROM rendering")[0]
    assert int(str(rendered)) <= scripted + 10 * len(templates) + 2_000 // 50 * 2
    assert max(Counter(request.path for request in site.requests).values()) == 1
    assert f"{rendered:,} pages, it brought links or text to {scripted}" in weft("stats", "out").stdout
    assert "taken as they are received" in weft("why", "out", site.at("/a/1")).stdout
    if scripted:
        assert "so the others are rendered, too" in weft("why", "out", site.at("/shop/1")).stdout


def test_auto_goes_on_with_what_it_has_learnt_after_a_kill(weft: Weft, site: Site) -> None:
    wanted = mixed_site(site, pages=400, scripted=40)
    auto = (*FAST, "--per-host", "16", "--workers", "32", "--render", "auto", *RENDER[2:])
    for number, at in enumerate((60, 160)):
        process = weft.start(*(("resume", "out") if number else ("crawl", site.url, "-o", "out", *auto)))
        wait_until(partial(_has_completed, weft.folder / "out", at), f"{at} pages")
        weft.kill(process)
        process.wait(30)
    assert weft("resume", "out").code == 0
    assert paths_of(weft.folder / "out") - {""} == wanted
    shop = rows(weft.folder / "out", "SELECT gained = samples, skipped FROM template WHERE example LIKE '%/shop/%'")
    assert shop == [(1, 0)]


# --- pictures


def test_screenshots_are_taken_from_the_archive_alone(weft: Weft, site: Site) -> None:
    """In full length, with the scripts, styles and data that the crawl has stored; nobody is asked."""
    site.page("/", ["/plain"], head='<link rel=stylesheet href="/red.css">', body='<script src="/tall.js"></script>')
    site.page("/plain")
    site.file("/red.css", b"html { background: #f00 }", "text/css")
    site.file("/tall.js", b"""fetch('/height').then((r) => r.text()).then((h) => {
        document.body.style.height = h + 'px'; document.body.style.margin = 0; })""", "text/javascript")  # fmt: skip
    site.file("/height", b"3000", "text/plain")
    assert weft("crawl", site.url, "-o", "out", *FAST, *RENDER, "--viewport", "800x600").code == 0
    asked = len(site.requests)
    run = weft("screenshot", "out", "--all", "--to", "pictures", *RENDER[2:])
    assert run.code == 0, run.stderr
    assert len(site.requests) == asked
    listed = (weft.folder / "pictures" / "screenshots.csv").read_text().splitlines()
    assert listed[0] == "url,file,note" and len(listed) == 3
    url, name, _ = listed[1].split(",")
    assert url == site.at("/")
    width, height, first = _png((weft.folder / "pictures" / name).read_bytes())
    assert width == 800 and 3000 <= height < 3100 and first == (255, 0, 0)
    one = weft("screenshot", "out", site.at("/plain"), "--to", "one", "--format", "webp", *RENDER[2:])
    (picture,) = (weft.folder / "one").glob("*.webp")
    assert one.code == 0 and picture.read_bytes()[:4] == b"RIFF"
    assert weft("screenshot", "out", "--to", "x").code == 2
    assert "is no page of the crawl" in weft("screenshot", "out", site.at("/none"), "--to", "x", *RENDER[2:]).stderr


def _png(content: bytes) -> tuple[int, int, tuple[int, ...]]:
    """Width, height and the last pixel of the last row, which no text covers."""
    width, height, _, colour = struct.unpack(">IIBB", content[16:26])
    place, packed = 8, b""
    while place < len(content):
        length, kind = struct.unpack(">I4s", content[place : place + 8])
        packed += content[place + 8 : place + 8 + length] if kind == b"IDAT" else b""
        place += length + 12
    size = 3 if colour == 2 else 4
    step = width * size + 1
    raw = zlib.decompress(packed)
    assert len(raw) == step * height
    rows = bytearray(step)
    for number in range(height):
        rows = _unfiltered(raw[number * step : (number + 1) * step], rows, size)
    return width, height, tuple(rows[-size:][:3])


def _unfiltered(row: bytes, above: bytearray, size: int) -> bytearray:
    """A row of a PNG without its filter (PNG specification, section 9)."""
    made = bytearray(row)
    for at in range(1, len(row)):
        left = made[at - size] if at > size else 0
        up, corner = above[at], above[at - size] if at > size else 0
        estimate = left + up - corner
        nearest = min((left, up, corner), key=lambda one: abs(estimate - one))
        made[at] = (row[at] + (0, left, up, (left + up) // 2, nearest)[row[0]]) & 255
    return made
