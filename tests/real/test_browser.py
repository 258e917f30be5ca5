"""The browser that renders pages: it has no network, finds what scripts make, and survives what pages do to it."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import chromium
import msgspec
import pytest

from weft.errors import SpecError
from weft.fetch.browser.pipe import pids_of
from weft.fetch.browser.pool import Pool
from weft.fetch.browser.program import check_sandbox, command_of, find_browser
from weft.fetch.browser.tab import PageLost
from weft.fetch.browser.values import PageRequest, Settings
from weft.records import Fetched, Rendered

if chromium.program() is None:
    pytest.skip("Chromium is not installed (apt-get install chromium)", allow_module_level=True)

SITE = "http://a.test/"
QUICK = Settings(quiet_s=0.3, wait_s=6.0)
MEMORY_B = 1 << 30


class Web:
    """Answers by the table of a test, and the log of what was asked."""

    def __init__(self, pages: Mapping[str, str | bytes], headers: tuple[tuple[str, str], ...] = ()) -> None:
        self._pages = pages
        self._headers = headers
        self.asked: list[PageRequest] = []

    async def answer(self, request: PageRequest) -> Fetched | None:
        self.asked.append(request)
        path = request.url.removeprefix(SITE.rstrip("/"))
        found = self._pages.get(path)
        if found is None:
            return None
        body = found.encode() if isinstance(found, str) else found
        kind = "text/javascript" if path.endswith(".js") else "text/html; charset=utf-8"
        headers = (("content-type", kind), *self._headers)
        return Fetched(200, b"", headers, body, body, False, 0, 0, "", "1.1")

    @property
    def urls(self) -> list[str]:
        return [request.url for request in self.asked]


def pool_of(settings: Settings = QUICK, tabs: int = 2, max_process_b: int = MEMORY_B) -> Pool:
    return Pool(lambda profile: command_of(find_browser(), profile, sandbox=False), settings, tabs, max_process_b)


def render(page: str | bytes, settings: Settings = QUICK, **more: str) -> tuple[Rendered, Web]:
    """One page of a site, whose further addresses are given without their slash and ``.js`` as ``_js``."""
    web = Web({"/": page, **{f"/{name.replace('_', '.')}": text for name, text in more.items()}})

    async def run() -> Rendered:
        async with pool_of(settings) as pool:
            return await pool.render("a.test", SITE, web.answer)

    return asyncio.run(run()), web


# --- no network


@pytest.fixture
def listeners() -> Iterator[tuple[int, Callable[[], list[str]]]]:
    """A port on loopback with a listener for TCP and one for UDP, and what either of them heard."""
    heard: list[str] = []
    tcp = socket.create_server(("127.0.0.1", 0))
    port = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", port))
    tcp.settimeout(0.05)
    udp.settimeout(0.05)
    done = threading.Event()

    def listen() -> None:
        while not done.is_set():
            try:
                tcp.accept()[0].close()
                heard.append("tcp")
            except TimeoutError:
                pass
            try:
                udp.recv(2_000)
                heard.append("udp")
            except TimeoutError:
                pass

    thread = threading.Thread(target=listen)
    thread.start()
    yield port, lambda: list(heard)
    done.set()
    thread.join()
    tcp.close()
    udp.close()


LEAKS = """<!doctype html><link rel=preconnect href="http://127.0.0.1:PORT">
<link rel=dns-prefetch href="//localhost:PORT">
<link rel=prefetch href="http://127.0.0.1:PORT/p"><img src="http://127.0.0.1:PORT/i.png">
<iframe src="http://127.0.0.1:PORT/f"></iframe><video src="http://127.0.0.1:PORT/v"></video>
<script type=speculationrules>{"prefetch": [{"urls": ["http://127.0.0.1:PORT/s"], "eagerness": "immediate"}]}</script>
<script>
const place = '127.0.0.1:PORT';
const lines = [];
const tried = (name, promise) => promise.catch((error) => lines.push(name)).finally(() => lines.push(name));
tried('fetch', fetch('http://' + place + '/x', {mode: 'no-cors'}));
tried('post', fetch('http://localhost:PORT/x', {mode: 'no-cors', method: 'POST', body: 'a=b'}));
navigator.sendBeacon('http://' + place + '/b', 'x');
new WebSocket('ws://' + place + '/w');
new EventSource('http://' + place + '/e');
try { new WebTransport('https://' + place + '/t'); } catch (error) {}
const peer = new RTCPeerConnection({iceServers: [
  {urls: ['stun:' + place]},
  {urls: ['turn:' + place + '?transport=udp', 'turn:' + place + '?transport=tcp'], username: 'a', credential: 'b'}]});
peer.createDataChannel('x');
peer.createOffer().then((offer) => peer.setLocalDescription(offer));
const text = "fetch('http://" + place + "/w').catch(() => 0).then(() => postMessage(1))";
new Worker(URL.createObjectURL(new Blob([text]))).onmessage = () => lines.push('worker');
setTimeout(() => { document.title = 'tried ' + lines.length; }, 2500);
</script>"""


def test_no_connection_and_no_packet_leaves_the_browser(listeners: tuple[int, Callable[[], list[str]]]) -> None:
    """Whatever a page tries, TCP or UDP: the listeners hear nothing, and what could be paused came to us."""
    port, heard = listeners
    settings = Settings(wait_s=8.0, quiet_s=1.0, wait_for="4")
    rendered, web = render(LEAKS.replace("PORT", str(port)), settings)
    assert heard() == []
    assert "<title>tried" in rendered.html  # the scripts ran to their end
    assert {f"http://127.0.0.1:{port}/x", f"http://127.0.0.1:{port}/f", f"http://127.0.0.1:{port}/w"} <= set(web.urls)
    assert f"ws://127.0.0.1:{port}/w" in rendered.refused
    assert f"http://127.0.0.1:{port}/e" in rendered.refused


def test_nothing_of_this_machine_is_read(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    page = f"""<!doctype html><iframe src="file://{secret}"></iframe><iframe src="chrome://version"></iframe>
    <a href="file://{secret}">f</a><script>
    location.href = 'chrome://crash'; window.open('file://{secret}');
    fetch('file://{secret}').then((r) => r.text()).then((t) => document.title = t).catch(() => document.title = 'no');
    </script>"""
    rendered, web = render(page)
    assert "the secret" not in rendered.html + "".join(text for _, text in rendered.parts)
    assert "<title>no</title>" in rendered.html
    assert web.urls == [SITE]


# --- what scripts make


def test_frames_workers_popups_shadow_roots_and_routes() -> None:
    page = """<!doctype html><body><script src=/s.js></script><script type=module src=/m.js></script>
    <iframe src=/f></iframe><iframe srcdoc="<a href=/inside>x</a>"></iframe><script>
    history.pushState({}, '', '/pushed'); window.open('/popup');
    const host = document.createElement('div'); document.body.append(host);
    host.attachShadow({mode: 'open'}).innerHTML = '<a href=/shadow>s</a>';
    new Worker('/w.js').onmessage = (e) => document.body.insertAdjacentHTML('beforeend', e.data);
    setTimeout(() => { location.href = '/went'; }, 100);
    setTimeout(() => document.body.insertAdjacentHTML('beforeend', '<a href=/late>l</a>'), 250);
    </script>"""
    rendered, web = render(
        page,
        s_js="document.write('<a href=/written>w</a>')",
        m_js="import {link} from '/m2.js'; document.body.insertAdjacentHTML('beforeend', link)",
        m2_js="export const link = '<a href=/module>m</a>'",
        w_js="postMessage('<a href=/worker>w</a>')",
        f="<a href=/frame>f</a>",
    )
    for link in ("/written", "/module", "/worker", "/late"):
        assert f'href="{link}"' in rendered.html
    parts = "".join(text for _, text in rendered.parts)
    for link in ("/shadow", "/frame", "/inside"):
        assert f'href="{link}"' in parts
    assert set(rendered.routes) == {f"{SITE}pushed", f"{SITE}popup", f"{SITE}went"}
    assert sorted(web.urls) == sorted(f"{SITE}{path}" for path in ("", "s.js", "m.js", "m2.js", "w.js", "f"))
    assert [request.url for request in web.asked if request.load] == [SITE]


def test_scrolling_and_clicking() -> None:
    page = """<!doctype html><body><button id=b type=button>more</button>
    <div style="height:3000px"></div><script>
    document.querySelector('#b').addEventListener('click', () => { location.href = '/clicked'; });
    let n = 0;
    addEventListener('scroll', () => { if (n < 5) document.body.insertAdjacentHTML('beforeend',
      '<a href=/s' + (++n) + '>x</a><div style="height:3000px"></div>'); });
    </script>"""
    still, _ = render(page)
    assert "/s1" not in still.html.partition("</script>")[2] and still.routes == ()
    moved, _ = render(page, msgspec.structs.replace(QUICK, scroll=2, click=True))
    assert 'href="/s2"' in moved.html and 'href="/s5"' not in moved.html
    assert moved.routes == (f"{SITE}clicked",)


def test_waiting_for_an_element_and_a_script_of_the_users_own() -> None:
    script = "setTimeout(() => document.body.append(document.createElement('nav')), 1500)"
    page = f"<!doctype html><body><script>{script}</script>"
    assert "<nav>" not in render(page)[0].html
    assert "<nav>" in render(page, msgspec.structs.replace(QUICK, wait_for="nav"))[0].html
    own = "document.title = await Promise.resolve('mine');"
    assert "<title>mine</title>" in render(page, msgspec.structs.replace(QUICK, script=own))[0].html


def test_a_site_keeps_nothing_from_page_to_page_and_sites_share_nothing() -> None:
    page = """<!doctype html><body><script>
    document.title = [document.cookie, localStorage.length, sessionStorage.length].join();
    document.cookie = 'a=b'; localStorage.a = 1; sessionStorage.a = 1;</script>"""

    async def run() -> list[Rendered]:
        web = Web({"/": page})
        async with pool_of(tabs=1) as pool:
            return [await pool.render(site, SITE, web.answer) for site in ("a.test", "a.test", "b.test")]

    for rendered in asyncio.run(run()):
        assert "<title>,0,0</title>" in rendered.html


# --- what pages do to the browser


KEPT = "<!doctype html><a href=/kept>x</a>"
HOSTILE = {
    "spins": "while (true) {}",
    "spins later": "setTimeout(() => { while (true) {} }, 100)",
    "asks": "for (let i = 0; i < 50; i++) { alert(i); confirm(i); prompt(i); print(); }",
    "holds": """addEventListener('beforeunload', (e) => { e.preventDefault(); return 'stay'; });
        setInterval(() => { location.href = '/x' + Math.random(); }, 1)""",
    "pops up": "setInterval(() => window.open('/p' + Math.random()), 5)",
    "downloads": "document.querySelector('a').download = 'x'; document.querySelector('a').click()",
    "frames": """for (let i = 0; i < 10000; i++) {
        const f = document.createElement('iframe'); f.src = '/f' + i; document.documentElement.append(f); }""",
    "asks without end": "setInterval(() => fetch('/f' + Math.random()), 1)",
    "grows": """setInterval(() => document.body.insertAdjacentHTML('beforeend', '<p>more</p>'.repeat(100)), 5)""",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_costs_nothing_but_itself(name: str) -> None:
    """The page is read as far as it came, or given up; the next one is rendered as if nothing had been."""
    web = Web({"/": f"{KEPT}<script>{HOSTILE[name]}</script>", "/good": "<!doctype html><title>good</title>"})

    async def run() -> tuple[str, Rendered]:
        settings = msgspec.structs.replace(QUICK, wait_s=3.0, max_requests=200, max_frames=20)
        async with pool_of(settings, tabs=1) as pool:
            try:
                html = (await pool.render("a.test", SITE, web.answer)).html
            except PageLost as lost:
                html = str(lost)
            return html, await pool.render("a.test", f"{SITE}good", web.answer)

    html, good = asyncio.run(run())
    assert 'href="/kept"' in html or name in ("spins", "frames"), html[:200]
    assert "<title>good</title>" in good.html
    assert sum(url.startswith(f"{SITE}f") for url in web.urls) <= 2 * 200


@pytest.mark.parametrize(
    "script",
    [
        "const a = []; while (true) a.push(new Array(1e5).fill({}));",
        "const a = []; while (true) a.push(new Uint8Array(1e7).fill(7));",
    ],
)
def test_a_page_that_takes_all_memory_is_ended(script: str) -> None:
    web = Web({"/": f"<!doctype html><script>{script}</script>", "/good": "<!doctype html><title>good</title>"})

    async def run() -> Rendered:
        async with pool_of(tabs=1, max_process_b=400_000_000) as pool:
            with pytest.raises(PageLost):
                await pool.render("a.test", SITE, web.answer)
            return await pool.render("a.test", f"{SITE}good", web.answer)

    assert "<title>good</title>" in asyncio.run(run()).html


def test_a_browser_that_is_killed_is_replaced() -> None:
    web = Web({"/": "<!doctype html><title>good</title>"})

    async def run() -> int:
        async with pool_of(tabs=2) as pool:
            first = pool.pids()
            os.kill(min(first), signal.SIGKILL)
            found = await asyncio.gather(*(pool.render("a.test", SITE, web.answer) for _ in range(3)))
            assert all("<title>good</title>" in one.html for one in found)
            assert not set(first) & set(pool.pids())
            return min(pool.pids())

    group = asyncio.run(run())
    deadline = time.monotonic() + 30
    while pids_of(group) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert pids_of(group) == []


# --- whether there is one


def test_without_a_browser_one_sentence_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        SpecError, match=r"there is none on this machine: install it .*apt install chromium.*--browser PATH"
    ):
        find_browser()
    with pytest.raises(SpecError, match="--browser nowhere: there is no such program"):
        find_browser("nowhere")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has no sandbox")
def test_root_has_to_say_that_there_is_no_sandbox() -> None:
    check_sandbox(False)
    with pytest.raises(SpecError, match="--browser-sandbox no"):
        check_sandbox(True)
