"""The bench is tested before it judges: servers do on the wire what they say, and the answer key is exact.

Issue 3, section 11; STYLE section 7.
"""

from __future__ import annotations

import contextlib
import http.client
import re
import socket
import ssl
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import nginx
import pytest
from second_reader import read
from web import ANSWER, MISBEHAVIOURS, POISON, TLS_KINDS, Authority, NameServer, Response, Site, gzip_bomb_pieces

from weft.demo.invented import InventedWeb
from weft.demo.server import Served, serve_invented

TESTS = Path(__file__).resolve().parents[1]


def ask(url: str, *, total_s: float = 60.0, limit_b: int = 300_000) -> bytes:
    """What a server sends to one GET, until it closes, the time is over, or it has sent enough."""
    parts = urlsplit(url)
    target = parts.path + (f"?{parts.query}" if parts.query else "")
    received, deadline = b"", time.monotonic() + total_s
    with socket.create_connection((parts.hostname or "", parts.port or 80), timeout=total_s) as line:
        try:
            line.sendall(f"GET {target} HTTP/1.1\r\nHost: {parts.netloc}\r\nConnection: close\r\n\r\n".encode())
            while len(received) < limit_b and (left := deadline - time.monotonic()) > 0:
                line.settimeout(left)
                if not (piece := line.recv(65_536)):
                    break
                received += piece
        except OSError:
            pass
    return received


def get(
    site: Site, path: str, *, host: str | None = None, method: str = "GET", **headers: str
) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers by a client we did not write."""
    line = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
    try:
        line.request(method, path, headers={"Host": host or f"127.0.0.1:{site.port}", **headers})
        answer = line.getresponse()
        return answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()}
    finally:
        line.close()


# --- Site


def test_pages_links_redirects_files_and_robots(site: Site) -> None:
    site.page("/", links=["/a", ("/b?x=1&y=2", "b & c")])
    site.redirect("/old", "/a", 301)
    site.file("/x.png", b"\x89PNG", "image/png")
    site.robots("User-agent: *\nDisallow: /no\n")
    status, body, headers = get(site, "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<title>/</title>" in body and b'<a href="/b?x=1&amp;y=2">b &amp; c</a>' in body
    assert get(site, "/old")[0] == 301 and get(site, "/old")[2]["location"] == "/a"
    assert get(site, "/x.png")[1:] == (b"\x89PNG", get(site, "/x.png")[2])
    assert b"Disallow: /no" in get(site, "/robots.txt")[1]
    assert get(site, "/nowhere")[0] == 404


def test_keep_alive_serves_many_requests_on_one_line(site: Site) -> None:
    for name in "abc":
        site.page(f"/{name}")
    line = http.client.HTTPConnection("127.0.0.1", site.port, timeout=300)
    for name in "abc":
        line.request("GET", f"/{name}")
        assert f"<title>/{name}</title>".encode() in line.getresponse().read()
    line.close()
    assert [request.connection for request in site.requests] == [1, 1, 1]
    assert site.paths() == ["/a", "/b", "/c"] and len(site.gaps()) == 2 and min(site.gaps()) >= 0


def test_hosts_are_told_apart_by_name(site: Site) -> None:
    site.page("/", title="everyone")
    site.page("/", title="only a", host="a.test")
    assert b"only a" in get(site, "/", host=f"A.test:{site.port}")[1]
    assert b"everyone" in get(site, "/", host="b.test")[1]
    assert [request.host for request in site.requests] == ["a.test", "b.test"]
    assert site.at("/x", "a.test") == f"http://a.test:{site.port}/x"


def test_dynamic_answers_head_and_conditional_requests(site: Site) -> None:
    """T5 needs servers that honour If-None-Match and If-Modified-Since."""
    site.serve("/echo/*", lambda request: Response(request.path.encode(), headers={"X-Method": request.method}))
    site.page("/tagged", headers={"ETag": '"1"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})
    assert get(site, "/echo/a/b?c")[1] == b"/echo/a/b?c"
    status, body, headers = get(site, "/echo/x", method="HEAD")
    assert (status, body, headers["x-method"], headers["content-length"]) == (200, b"", "HEAD", "7")
    assert get(site, "/tagged", **{"If-None-Match": '"1"'})[0] == 304
    assert get(site, "/tagged", **{"If-None-Match": '"2"'})[0] == 200
    assert get(site, "/tagged", **{"If-Modified-Since": "Mon, 01 Jan 2024 00:00:00 GMT"})[0] == 304


def test_goes_away_and_comes_back_on_the_same_port(site: Site) -> None:
    """Issue 3, section 10: a server that goes away and comes back."""
    site.page("/")
    port = site.port
    assert get(site, "/")[0] == 200
    site.stop()
    with pytest.raises(ConnectionRefusedError):
        get(site, "/")
    site.start()
    assert site.port == port and get(site, "/")[0] == 200 and len(site.requests) == 2


def test_the_log_sees_parallel_requests_and_bad_ones(site: Site) -> None:
    site.page("/slow", delay_s=0.2)
    lines = [socket.create_connection(("127.0.0.1", site.port)) for _ in range(3)]
    for line in lines:
        line.sendall(b"GET /slow HTTP/1.1\r\nHost: s.test\r\nConnection: close\r\n\r\n")
    for line in lines:
        while line.recv(65_536):
            pass
        line.close()
    assert site.parallel_max("s.test") == 3 == site.parallel_max()
    with socket.create_connection(("127.0.0.1", site.port)) as line:
        line.sendall(b"GET /x y HTTP/1.1\r\nHost: s.test\r\n\r\n")
        assert line.recv(100).startswith(b"HTTP/1.1 400")
    assert site.refused == ["GET /x y HTTP/1.1"]


# --- misbehaviour


@pytest.mark.parametrize("group", sorted({expected.group for expected in MISBEHAVIOURS.values()}))
def test_every_kind_can_be_served_and_leaves_the_site_well(site: Site, group: str) -> None:
    """Each kind is asked once by a plain socket; the site answers well afterwards and had no error of its own."""
    site.drip_pause_s = 0.05
    site.page("/after")
    kinds = [kind for kind, expected in MISBEHAVIOURS.items() if expected.group == group]
    for number, kind in enumerate(kinds):
        url = site.misbehave(f"/k{number}", kind)
        if kind not in ("refused", "backlog_full", "plain_on_https"):
            slow = MISBEHAVIOURS[kind].timeout or kind == "dies_on_reuse"
            answers = MISBEHAVIOURS[kind].outcomes == {ANSWER}
            received = ask(url, total_s=0.15 if slow and not answers else 60.0, limit_b=1 if slow else 50_000)
            if answers:
                assert received.startswith(b"HTTP/1."), kind
    assert b"<title>/after</title>" in get(site, "/after")[1]


def test_cut_bodies_are_cut_and_long_ones_are_long(site: Site) -> None:
    head, _, body = ask(site.misbehave("/short", "short_body")).partition(b"\r\n\r\n")
    assert int(re.search(rb"Content-Length: (\d+)", head)[1]) == len(body) + 50  # type: ignore[index]
    long = ask(site.misbehave("/long", "long_body_is_answer"))
    assert long.count(b"HTTP/1.1 200 OK") == 2 and POISON.encode() in long
    assert ask(site.misbehave("/chunk", "missing_last_chunk"))[-5:] != b"0\r\n\r\n"
    assert ask(site.misbehave("/gone", "reset_before_answer")) == b""


def test_resets_are_resets(site: Site) -> None:
    url = urlsplit(site.misbehave("/x", "reset_mid_body"))
    with socket.create_connection((url.hostname or "", url.port or 0), timeout=300) as line:
        line.sendall(b"GET /x HTTP/1.1\r\nHost: x\r\n\r\n")
        with pytest.raises(ConnectionResetError):
            while line.recv(65_536):
                pass


def test_bombs_explode(site: Site) -> None:
    """Ten megabytes become ten gigabytes; nobody holds them."""
    head, piece, times = gzip_bomb_pieces()
    unpack = zlib.decompressobj(31)
    assert b"<title>bomb</title>" in unpack.decompress(head)
    assert len(unpack.decompress(piece)) == 1 << 20 and len(unpack.decompress(piece)) == 1 << 20
    assert times << 20 > 10 * 10**9 and len(piece) * times < 12 * 10**6
    nested = ask(site.misbehave("/nested", "gzip_bomb_nested")).partition(b"\r\n\r\n")[2]
    assert len(nested) < 60_000 and zlib.decompressobj(31).decompress(nested, 100).startswith(b"\x1f\x8b")


def test_kinds_that_pass_answer_well_in_the_end(site: Site) -> None:
    """T8, promise 4: Retry-After in seconds and as a date."""
    url = site.misbehave("/busy", "retry_429_date")
    first, second = ask(url), ask(url)
    assert first.startswith(b"HTTP/1.1 429") and re.search(rb"Retry-After: \w{3}, \d\d \w{3} \d{4} .* GMT", first)
    assert second.startswith(b"HTTP/1.1 200")


def test_traps_always_bring_new_pages(site: Site) -> None:
    """E20: following the last link of each page of a trap never comes to an end."""
    for kind in (
        "trap_calendar",
        "trap_deep_path",
        "trap_numbers",
        "trap_session",
        "trap_random",
        "trap_growing_query",
    ):
        url, seen = site.misbehave(f"/{kind}", kind), set()
        for _ in range(20):
            assert url not in seen, kind
            seen.add(url)
            links = re.findall(rb'href="([^"]+)"', ask(url))
            url = urljoin(url, links[-1].decode().replace("&amp;", "&"))


def test_a_second_port_for_servers_that_are_bad_from_the_start(site: Site) -> None:
    url = site.misbehave("/first", "speaks_first")
    parts = urlsplit(url)
    assert parts.port != site.port
    with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=300) as line:
        assert line.recv(100).startswith(b"HTTP/1.1 200")
    with pytest.raises(ConnectionRefusedError):
        ask(site.misbehave("/r", "refused"))


def test_a_full_backlog_does_not_accept(site: Site) -> None:
    parts = urlsplit(site.misbehave("/b", "backlog_full"))
    with socket.socket() as line:
        line.settimeout(0.3)
        with pytest.raises(TimeoutError):
            line.connect(("127.0.0.1", parts.port or 0))


# --- TLS and names


@pytest.mark.parametrize("kind", sorted(TLS_KINDS))
def test_tls_sites_are_what_they_say(authority: Authority, tls_site: Callable[[str], Site], kind: str) -> None:
    """G11 and section 6: a bad certificate is a cause of its own."""
    site = tls_site(kind)
    site.page("/")
    assert site.url == f"https://secure.test:{site.port}"

    def fetch(context: ssl.SSLContext) -> bytes:
        raw = socket.create_connection(("127.0.0.1", site.port), timeout=300)
        with raw, context.wrap_socket(raw, server_hostname="secure.test") as line:
            line.sendall(b"GET / HTTP/1.1\r\nHost: secure.test\r\nConnection: close\r\n\r\n")
            return line.recv(65_536)

    trusting = ssl.create_default_context(cafile=str(authority.certificate))
    if kind == "good":
        assert b"200 OK" in fetch(trusting)
    elif kind == "client_certificate":
        with pytest.raises((ssl.SSLError, ConnectionError)):
            assert fetch(trusting)
        mine = authority.client()
        trusting.load_cert_chain(mine.certificate, mine.key)
        assert b"200 OK" in fetch(trusting)
        assert authority.bundle(mine).read_text().count("BEGIN") == 2
    else:
        with pytest.raises(ssl.SSLCertVerificationError):
            fetch(trusting)


def lookup(server: NameServer, name: str, kind: int = 1) -> tuple[int, list[str]]:
    """Answer code and addresses of one DNS question."""
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\0"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(0.3)
        line.sendto(
            struct.pack("!HHHHHH", 77, 0x100, 1, 0, 0, 0) + labels + struct.pack("!HH", kind, 1),
            (server.address, server.port),
        )
        answer = line.recv(4_096)
    flags, _, count = struct.unpack_from("!HHH", answer, 2)
    at, found = 12 + len(labels) + 4, []
    for _ in range(count if flags & 15 == 0 else 0):
        at += 2 if answer[at] >= 0xC0 else answer.index(b"\0", at) - at + 1
        record, _, _, size = struct.unpack_from("!HHIH", answer, at)
        data = answer[at + 10 : at + 10 + size]
        at += 10 + size
        if record == kind:
            found.append(socket.inet_ntop(socket.AF_INET6 if kind == 28 else socket.AF_INET, data))
    return flags & 15, found


def test_names_move_vanish_and_fail(names: NameServer) -> None:
    """Promise 7: DNS may change its mind between two questions."""
    names.add("a.test", "127.0.0.1", "::1")
    names.add("*.wild.test", "127.0.0.2")
    names.rotate("rebind.test", ["93.184.216.34"], ["127.0.0.1"])
    names.alias("alias.test", "a.test")
    for kind in ("nxdomain", "servfail", "silent", "garbage", "empty"):
        names.fail(f"{kind}.test", kind)
    assert lookup(names, "a.test") == (0, ["127.0.0.1"]) and lookup(names, "a.test", 28) == (0, ["::1"])
    assert lookup(names, "x.y.wild.test") == (0, ["127.0.0.2"])
    assert [lookup(names, "rebind.test")[1] for _ in range(3)] == [["93.184.216.34"], ["127.0.0.1"], ["127.0.0.1"]]
    assert lookup(names, "alias.test") == (0, ["127.0.0.1"])
    assert lookup(names, "nxdomain.test")[0] == 3 == lookup(names, "unknown.test")[0]
    assert lookup(names, "servfail.test")[0] == 2 and lookup(names, "empty.test") == (0, [])
    with pytest.raises(TimeoutError):
        lookup(names, "silent.test")
    assert ("a.test", "AAAA") in names.queries
    names.stop()
    names.start()
    assert lookup(names, "a.test") == (0, ["127.0.0.1"])


# --- the invented web


WEB = InventedWeb(7, hosts=2, pages=500, port=8_080, traps=True)
ENTRIES = list(WEB.entries())


def test_the_links_of_the_key_are_the_links_in_the_html() -> None:
    """Target, kind, anchor, rel, fragment, and their order, by another parser."""
    kinds: Counter[str] = Counter()
    for entry in ENTRIES:
        if entry.type != "text/html" or entry.status != 200:
            continue
        reader, _ = read(WEB, entry.url)
        keyed = [tuple(link) for link in WEB.links(entry.url)]
        assert reader.links == keyed, entry.url
        kinds.update(kind for _, kind, *_ in keyed)
    for entry in ENTRIES:
        if entry.role in ("redirect", "loop"):
            (link,) = WEB.links(entry.url)
            assert link.target == urljoin(entry.url, dict(WEB.answer(entry.url).headers)["Location"])
    for kind in (
        "a",
        "area",
        "iframe",
        "onclick",
        "refresh",
        "form",
        "image",
        "style",
        "script",
        "canonical",
        "link",
        "media",
        "embed",
    ):
        assert kinds[kind], kind


# --- its server


def exchange(port: int, *asks: tuple[str, str, str]) -> list[tuple[int, bytes]]:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    answers = []
    for method, host, path in asks:
        line.request(method, path, headers={"Host": host})
        answer = line.getresponse()
        answers.append((answer.status, answer.read()))
    line.close()
    return answers


def test_the_server_stands_pipelining_pieces_and_nonsense(invented: Callable[..., Served]) -> None:
    served = invented(5, 2, 40)
    tag = dict(served.web.answer_at(0, "/").headers)["ETag"]
    with socket.create_connection(("127.0.0.1", served.port), timeout=300) as line:
        whole = b"GET / HTTP/1.1\r\nHost: h0.weft.test\r\nIf-None-Match: " + tag.encode() + b"\r\n\r\n"
        for piece in (
            whole[:9],
            whole[9:] + whole,
            b"GET / HTTP/1.1\r\nHost: h0.weft.test\r\nConnection: close\r\n\r\n",
        ):
            line.sendall(piece)
            time.sleep(0.01)
        received = b""
        while piece := line.recv(65_536):
            received += piece
    assert received.count(b"HTTP/1.1 304") == 2 and received.count(b"HTTP/1.1 200 OK") == 1
    for nonsense in (b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"\xff" * 70_000, b"GET x HTTP/1.1\r\n\r\n"):
        with socket.create_connection(("127.0.0.1", served.port), timeout=300) as line:
            line.sendall(nonsense)
            with contextlib.suppress(ConnectionResetError):
                assert line.recv(65_536)[:10] in (b"HTTP/1.1 4", b"")


# --- nginx, and the fixtures themselves


def test_nginx_serves_a_folder(nginx_folder: Callable[..., nginx.Nginx], tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<title>front</title>")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.txt").write_text("text")
    server = nginx_folder(tmp_path)
    answers = exchange(
        server.port,
        ("GET", "x.test", "/"),
        ("GET", "x.test", "/deep/a.txt"),
        ("GET", "x.test", "/deep"),
        ("GET", "x", "/no"),
    )
    assert [status for status, _ in answers] == [200, 200, 301, 404] and answers[0][1] == b"<title>front</title>"
    assert [(access.host, access.path, access.status) for access in server.log()][:2] == [
        ("x.test", "/", 200),
        ("x.test", "/deep/a.txt", 200),
    ]


def test_nginx_serves_documentation(nginx_docs: Callable[[str], nginx.Nginx]) -> None:
    server = nginx_docs("debian-policy")
    assert nginx_docs("debian-policy") is server
    ((status, body),) = exchange(server.port, ("GET", "127.0.0.1", nginx.DOCUMENTATION["debian-policy"].start))
    assert status == 200 and b"<title>" in body


LEAKS = {
    "thread": "import threading, time\ndef test_leak(): threading.Thread(target=time.sleep, args=(1,)).start()\n",
    "process": "import subprocess, pytest\nheld = []\ndef test_leak(): held.append(subprocess.Popen(['sleep', '1']))\n",
    "socket": "import socket\nheld = []\ndef test_leak(): held.append(socket.socket())\n",
}


@pytest.mark.parametrize("kind", sorted(LEAKS))
def test_leaks_fail(kind: str, tmp_path: Path) -> None:
    """STYLE section 7: leaks fail."""
    (tmp_path / "test_it.py").write_text(LEAKS[kind])
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
        "test_it.py",
    ]
    places = (TESTS, TESTS / "support", TESTS.parent / "src")
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False,
        env={"PYTHONPATH": ":".join(map(str, places)), "PATH": "/usr/bin:/bin", "LEAK_WAIT_S": "0.2"},
    )  # fmt: skip
    assert run.returncode == 1 and f"left behind: {kind}" in run.stdout, run.stdout + run.stderr


@pytest.mark.parametrize("process", [False, True])
def test_the_invented_web_is_served(process: bool) -> None:
    """Virtual hosts, keep-alive, HEAD, 404, and the server's own log, in a thread and in a process."""
    with serve_invented(InventedWeb(5, 3, 90), process=process, record=True) as served:
        assert served.seeds[0] == f"http://h0.weft.test:{served.port}/" and served.resolve == "*.weft.test=127.0.0.1"
        answers = exchange(
            served.port,
            ("GET", f"h1.weft.test:{served.port}", "/"),
            ("HEAD", "h1.weft.test", "/"),
            ("GET", "h2.weft.test", "/nothing"),
            ("GET", "elsewhere.test", "/"),
        )
        assert answers[0] == (200, served.web.answer_at(1, "/").body) and answers[1] == (200, b"")
        assert [status for status, _ in answers[2:]] == [404, 404]
    assert [(asked.host, asked.method, asked.status) for asked in served.requests] == [
        ("h1.weft.test", "GET", 200),
        ("h1.weft.test", "HEAD", 200),
        ("h2.weft.test", "GET", 404),
        ("elsewhere.test", "GET", 404),
    ]
    assert len(served.gaps("h1.weft.test")) == 1
