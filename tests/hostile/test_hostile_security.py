"""What stays at home: cookies, credentials; and what the web cannot do to terminals, logs, exports (promises 8, 9)."""

from __future__ import annotations

import base64
import csv
import gzip
import io
import json
import os
import re
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Weft
from hostile import crawl
from hostile_b import ALL_TEST_HOSTS, requests_of
from until import wait_until
from web import Authority, Line, Request, Response, Site, html_page

FAST = (*ALL_TEST_HOSTS, "--delay", "0", "--per-host", "1", "--sitemaps", "no")
EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[31m\u202egnp.exe\u2066\x9b5n\x00\r\nfake line\x7f"
FORMULAS = ('=HYPERLINK("http://x","y")', "+1+cmd|' /C calc'!A0", "-2+3", "@SUM(1)", "\t=1", "\r=1")
CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def cookies_of(requests: list[Request]) -> list[str]:
    return [value for request in requests if (value := request.header("cookie"))]


# --- cookies and credentials


def test_cookies_stay_with_their_host(site: Site, sites: Callable[..., Site], tmp_path: Path) -> None:
    """Promise 8: a cookie goes to the origin that set it: no other host, port, parent or child; bad ones to nobody."""
    other_port = sites()
    wishes = (
        "own=1; Path=/",
        "parent=1; Domain=a.test; Path=/",
        "suffix=1; Domain=test",
        "strange=1; Domain=b.test",
        "dot=1; Domain=.a.test",
        "secure=1; Secure",
        "__Host-x=1; Path=/",
        "__Secure-x=1",
        "path=1; Path=/deep",
        "gone=1; Max-Age=0",
        "old=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT",
        "script=1; HttpOnly",
        "smuggled=1\x01bad",
        "big=" + "x" * 9_000,
    )

    def home(_request: Request) -> Response:
        return Response(
            html_page(
                "home",
                [
                    "/again",
                    "/deep/x",
                    site.at("/", "a.test"),
                    site.at("/", "sub.www.a.test"),
                    site.at("/", "b.test"),
                    other_port.at("/", "www.a.test"),
                    "/go",
                ],
            )
        )

    async def setting(line: Line, request: Request) -> bool:
        body = home(request).body
        head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + "".join(f"Set-Cookie: {wish}\r\n" for wish in wishes)
        await line.send(head.encode("latin-1") + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
        return True

    site.behave("/", setting, host="www.a.test")
    site.redirect("/go", site.at("/landed", "b.test"), host="www.a.test")
    for one in (site, other_port):
        one.serve(lambda request: Response(html_page(request.path), 200 if request.path != "/robots.txt" else 404))
    crawled = crawl(tmp_path, [site.at("/", "www.a.test")], *FAST, "--scope", "free", "--order", "bfs")
    assert crawled.code == 0 and not site.refused
    own = [request.header("cookie") or "" for request in requests_of(site, "www.a.test") if request.path == "/again"]
    assert own and "own=1" in own[0] and "script=1" in own[0]
    assert not re.search(r"secure=1|__Host-|__Secure-|path=1|gone|old=|strange|\x01|\x00|big=", own[0]), own
    assert "path=1" in (next(r for r in requests_of(site, "www.a.test") if r.path == "/deep/x").header("cookie") or "")
    for host in ("a.test", "sub.www.a.test", "b.test"):
        assert requests_of(site, host), host
        assert cookies_of(requests_of(site, host)) == [], host
    assert other_port.requests and cookies_of(other_port.requests) == []


def test_no_cookies(site: Site, tmp_path: Path) -> None:
    """DESIGN section 6: --no-cookies sends none back."""
    site.page("/", ["/a"], headers={"Set-Cookie": "x=1"})
    site.page("/a")
    assert crawl(tmp_path, [site.url], *FAST, "--no-cookies").code == 0
    assert site.asked("/a") == 1 and cookies_of(site.requests) == []


def test_secrets_stay_home(site: Site, sites: Callable[..., Site], weft: Weft, tmp_path: Path) -> None:
    """Promise 8: passwords, cookie files and secret headers go to their own origin only, and into no file."""
    elsewhere = sites(host="elsewhere.test")
    (tmp_path / "jar").write_text(
        f"# Netscape HTTP Cookie File\nhome.test\tFALSE\t/\tFALSE\t{int(time.time()) + 9_999}\tticket\tcookie-s3cret\n"
    )
    (tmp_path / "password").write_text(f"joe:pass-s3cret@home.test:{site.port}")
    site.page(
        "/",
        [
            "/a",
            site.at("/x", "sub.home.test"),
            elsewhere.at("/x"),
            "/go",
            elsewhere.at("/y").replace("://", "://u:link-s3cret@"),
        ],
        host="home.test",
    )
    site.page("/a", host="home.test")
    site.redirect("/go", elsewhere.at("/landed"), host="home.test")
    site.page("/x", host="sub.home.test")
    for path in ("/x", "/landed"):
        elsewhere.page(path)
    run = weft(
        "crawl",
        site.at("/", "home.test"),
        "-o",
        "out",
        *FAST,
        "--scope",
        "free",
        "--auth",
        "@password",
        "--cookies",
        "jar",
        "--header",
        "Authorization: Bearer header-s3cret",
        "--header",
        "X-Team: crawl",
    )
    assert run.code == 0, run.stderr
    token = base64.b64encode(b"joe:pass-s3cret").decode()
    home = requests_of(site, "home.test")
    assert all(request.header("authorization") == f"Basic {token}" for request in home), [
        r.header("authorization") for r in home
    ]
    assert all("cookie-s3cret" in (request.header("cookie") or "") for request in home)
    strangers = [*requests_of(site, "sub.home.test"), *elsewhere.requests]
    assert {request.path for request in strangers} >= {"/x", "/landed"} and not elsewhere.asked("/y")
    for request in strangers:
        assert (
            request.header("authorization") is None
            and request.header("cookie") is None
            and request.header("referer") is None
        )
        assert request.header("x-team") == "crawl"
    assert all(request.header("referer") is None for request in home)
    found = [
        (path.name, secret)
        for path in sorted((tmp_path / "out").rglob("*"))
        if path.is_file()
        for secret in _secrets_in(path, token)
    ]
    assert found == [], found
    told = run.stdout + run.stderr + weft("status", "out").stdout + weft("pages", "out", "--all").stdout
    assert "pass-s3cret" not in told and "cookie-s3cret" not in told


def _secrets_in(path: Path, token: str) -> list[str]:
    content = path.read_bytes()
    if path.suffix == ".gz":
        content = gzip.decompress(content)
    secrets = ("pass-s3cret", "header-s3cret", token, base64.b64encode(b"pass-s3cret").decode().rstrip("="))
    found = [secret for secret in secrets if secret.encode() in content]
    if path.name != "crawl.db" and not path.name.startswith(
        "crawl.db"
    ):  # the jar is kept with the crawl, for the resume
        found += ["cookie-s3cret"] if b"cookie-s3cret" in content else []
    return found


def test_a_password_for_a_host_is_for_its_seeds(
    site: Site, sites: Callable[..., Site], weft: Weft, tmp_path: Path
) -> None:
    """Promise 8: a host without a port is meant as the seeds name it; another port of it is another origin."""
    other = sites()
    site.page("/", [other.at("/x", "home.test")], host="home.test")
    other.page("/x")
    (tmp_path / "password").write_text("joe:pass-s3cret@home.test")
    words = (*FAST, "--scope", "free", "--auth", "@password", "--quiet")
    assert weft("crawl", site.at("/", "home.test"), "-o", "out", *words).code == 0
    token = base64.b64encode(b"joe:pass-s3cret").decode()
    assert {request.header("authorization") for request in site.requests} == {f"Basic {token}"}
    assert other.asked("/x") and {request.header("authorization") for request in other.requests} == {None}


def test_credentials_in_links(site: Site, tmp_path: Path) -> None:
    """Promise 8: user names in links and redirects are nobody's to send."""
    site.page("/", [site.at("/x").replace("://", "://joe:pw@"), "/go", "/ok"])
    site.redirect("/go", site.at("/y").replace("://", "://joe:pw@"))
    for path in ("/x", "/y", "/ok"):
        site.page(path)
    assert crawl(tmp_path, [site.url], *FAST).code == 0
    assert site.asked("/ok") == 1
    assert all(request.header("authorization") is None and "@" not in request.target for request in site.requests)


def test_nobody_logs_in(site: Site, tmp_path: Path) -> None:
    """Promise 8: a 401 gets no answer, no matter which scheme it names."""
    challenges = ('Basic realm="x"', "Negotiate", "NTLM", 'Digest realm="x", nonce="y"')
    site.page("/", [f"/{number}" for number in range(len(challenges))])
    for number, challenge in enumerate(challenges):
        site.page(f"/{number}", status=401, headers={"WWW-Authenticate": challenge})
    assert crawl(tmp_path, [site.url], *FAST).code == 0
    for number in range(len(challenges)):
        assert site.asked(f"/{number}") == 1
    assert all(request.header("authorization") is None for request in site.requests)


def test_https_to_http(authority: Authority, tls_site: Callable[..., Site], site: Site, tmp_path: Path) -> None:
    """Promise 8: nothing of a TLS origin goes out in the clear, not even to the same host."""
    secure = tls_site("good", "secure.test")
    secure.page("/", [site.at("/plain", "secure.test"), "/a"], headers={"Set-Cookie": "ticket=1; Path=/"})
    secure.page("/a")
    site.page("/plain", host="secure.test")
    crawled = crawl(tmp_path, [secure.at("/")], *FAST, "--ca", str(authority.certificate), "--scope", "domain")
    assert crawled.code == 0
    assert cookies_of(secure.requests) == ["ticket=1"]
    assert site.asked("/plain") == 1 and cookies_of(site.requests) == []
    assert all(request.header("referer") is None for request in [*secure.requests, *site.requests])


# --- what is shown and written


def _evil_site(site: Site) -> None:
    links = [
        ("/a\u202e", EVIL),
        *((f"/f{n}", formula) for n, formula in enumerate(FORMULAS)),
        ("/../../../../etc/passwd", "x"),
        ("/%00%1b[2J", "x"),
    ]
    site.respond(
        "/", Response(html_page(EVIL, links, head=f'<meta name="description" content="{EVIL}">')), host="evil.test"
    )
    for number, formula in enumerate(FORMULAS):
        site.respond(
            f"/f{number}",
            Response(html_page(formula, head=f"<meta name=\"description\" content='{formula}'>")),
            host="evil.test",
        )
    site.respond("/%00%1b[2J", Response(html_page("nul")), host="evil.test")
    site.misbehave("/a%E2%80%AE", "short_body", host="evil.test")

    async def odd(line: Line, _request: Request) -> bool:
        await line.send(
            b"HTTP/1.1 200 \x1b[31mOK\x07\r\nX-Evil: \x1b]0;owned\x07\r\n"
            b"Content-Type: text/html;\x1b[2J\r\nContent-Length: 2\r\n\r\nhi"
        )
        return True

    site.behave("/etc/passwd", odd, host="evil.test")


def test_terminal_is_safe(site: Site, weft: Weft) -> None:
    """Promise 9: no escape sequence, bidi mark or line break of the web reaches a terminal."""
    _evil_site(site)
    start = site.at("/", "evil.test")
    run = weft("crawl", start, "-o", "out", *FAST, "--log", "screen", "--retries", "0")
    assert run.code == 0
    outputs = [run.stderr, run.stdout]
    for words in (
        ("status", "out"),
        ("pages", "out", "--format", "table", "--all"),
        ("links", "out", "--format", "table"),
        ("why", "out", start),
        ("why", "out", start + "/nothing\x1b[2J"),
        ("robots", start, *ALL_TEST_HOSTS),
        ("check", "out"),
        ("crawl", "http://\x1b[2J/"),
        ("pages", "\x1b[2Jout"),
    ):
        shown = weft(*words)
        outputs += [shown.stdout, shown.stderr]
    for what in ("--headers", "--text", "--body"):
        for url in (start, site.at("/etc/passwd", "evil.test")):
            outputs.append(_shown(weft, "show", "out", url, what))
    outputs.append(_shown(weft, "pages", "out", "--all"))
    outputs.append(_shown(weft, "links", "out"))
    outputs.append(weft("crawl", start, "-o", "out\u202e", *FAST, "--max-pages", "1").stderr)
    for output in outputs:
        assert not CONTROL.search(output.replace("\r\n", "\n")), repr(output[:3_000])
        assert "fake line\n" not in output.replace("… fake line", ""), output
    for file in ("common.csv", "error.csv"):
        log = (weft.folder / "out" / "logs" / file).read_text()
        assert not CONTROL.search(log)


def _shown(weft: Weft, *words: str) -> str:
    """What a command shows on a terminal, without the colours that are its own."""
    return re.sub(r"\x1b\[[0-9;]*m", "", weft.on_a_terminal(*words)[1])


def test_text_through_a_pipe_steers_no_terminal(site: Site, weft: Weft) -> None:
    """Promise 9: `weft show --text | head` ends at a terminal too; marks of direction are part of a text."""
    site.page("/", body="<p>\x1b]0;owned\x07\x1b[2J\x9b5n red\u200f\u05d0\x7f</p>\n<pre>a\tb\nc</pre>")
    assert weft("crawl", site.url, "-o", "out", *FAST, "--quiet").code == 0
    text = weft("show", "out", site.url, "--text").stdout
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text), text
    assert "red\u200f\u05d0" in text and "\\u001b" in text


def test_exports_are_safe(site: Site, weft: Weft) -> None:
    """Promise 9: no cell of a CSV begins a formula; JSON lines are lines; what was there can still be told."""
    _evil_site(site)
    assert weft("crawl", site.at("/", "evil.test"), "-o", "out", *FAST, "--retries", "0", "--quiet").code == 0
    for words in (("pages", "out", "--all"), ("links", "out")):
        text = weft(*words, "--format", "csv").stdout
        rows = list(csv.reader(io.StringIO(text)))
        assert len({len(row) for row in rows}) == 1
        for cell in (cell for row in rows[1:] for cell in row):
            assert not cell.startswith(("=", "+", "@", "\t", "\r")) and not re.match(r"-\D", cell), cell
            assert not CONTROL.search(cell), cell
        lines = weft(*words, "--format", "jsonl").stdout.splitlines()
        assert len(lines) == len(rows) - 1
        assert all(isinstance(json.loads(line), dict) for line in lines)
        assert not re.search("[\x00-\x1f]", "".join(lines))
    for file in ("common.csv", "error.csv"):
        with (weft.folder / "out" / "logs" / file).open(newline="") as log:
            for row in csv.reader(log):
                assert not any(cell.startswith(("=", "+", "@", "\t", "\r")) for cell in row), row
    assert weft("graph", "out", "--to", "graph.json").code == 0
    graph = (weft.folder / "graph.json").read_text(encoding="utf-8")
    assert not CONTROL.search(graph) and "\\u202e" in graph and len(json.loads(graph)["nodes"]) > 1
    titles = {json.loads(line)["title"] for line in weft("pages", "out", "--format", "jsonl").stdout.splitlines()}
    assert '=HYPERLINK("http://x","y")' in titles


@pytest.mark.parametrize("seed", ["http://127.0.0.1:1/../../x", "http://127.0.0.1:1/a?b=../../c"])
def test_folder_names(weft: Weft, seed: str) -> None:
    """Promise 9: the folder of a crawl lies here, whatever its address is called; nothing is written elsewhere."""
    before = {entry.name for entry in weft.folder.parent.iterdir()}
    weft("crawl", seed, "--retries", "0", "--quiet")
    made = [entry.name for entry in weft.folder.iterdir()]
    assert len(made) == 1 and re.fullmatch(r"[\w.\-\[\]]+", made[0]), made
    assert {entry.name for entry in weft.folder.parent.iterdir()} == before


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_nothing_is_written_through_links(site: Site, weft: Weft, kind: str) -> None:
    """Promise 9: a folder of somebody else's leads no byte into the user's other files, and keeps nobody waiting."""
    site.page("/", ["/a", "/b"])
    for path in ("/a", "/b"):
        site.page(path)
    assert weft("crawl", site.url, "-o", "out", *FAST, "--quiet", "--max-pages", "1").code == 0
    precious = weft.folder / "precious"
    precious.write_bytes(b"precious\n" * 1_000)
    archive = next((weft.folder / "out" / "warc").glob("*.warc.gz")).name
    names = ["lock", "parsing", "warc/index.cdxj.new", "logs/common.csv", "logs/error.csv", "logs/weft.log"]
    for name in [*names, f"warc/{archive}"] if kind == "link" else names:
        place = weft.folder / "out" / name
        before = place.read_bytes() if place.exists() else None
        place.unlink(missing_ok=True)
        if kind == "link":
            place.symlink_to(precious)
        else:
            os.mkfifo(place)
        run = weft("resume", "out", "--quiet", "--max-pages", "1")
        assert precious.read_bytes() == b"precious\n" * 1_000, name
        if name in names:
            assert run.code == 2 and "weft would write through it" in run.stderr, (name, run)
            place.unlink()
            if before is not None:
                place.write_bytes(before)
    assert weft("resume", "out", "--quiet", "--max-pages", "none").code == 0
    assert site.asked("/a") == site.asked("/b") == 1


@pytest.mark.parametrize("option", ["common-log", "error-log"])
def test_no_log_is_written_on_a_file_that_is_none(site: Site, weft: Weft, option: str) -> None:
    """Promise 9: neither a slip nor the specification in somebody else's folder adds the web's URLs to a file."""
    site.page("/", ["/$(touch owned)"])
    precious = weft.folder / "precious.sh"
    precious.write_text("echo precious\n")
    run = weft("crawl", site.url, "-o", "out", *FAST, f"--{option}", "precious.sh")
    assert run.code == 2 and "precious.sh is there, and is no log of weft's" in run.stderr
    assert not site.requests and not (weft.folder / "out").exists()
    for _ in range(2):  # a log of its own is gone on with
        assert weft("crawl", site.url, "-o", "out", *FAST, "--quiet", "--fresh", f"--{option}", "log.csv").code == 0
    specification = weft.folder / "out" / "crawl.toml"
    specification.write_text(specification.read_text().replace("/log.csv", "/precious.sh"))
    run = weft("resume", "out")
    assert run.code == 2 and "is no log of weft's" in run.stderr
    assert precious.read_text() == "echo precious\n"


@pytest.mark.parametrize("precious", [None, b""])
def test_no_database_is_made_through_a_link(site: Site, weft: Weft, precious: bytes | None) -> None:
    """Promise 9: a folder that is ready for a crawl makes no file elsewhere, and fills none."""
    site.page("/")
    place = weft.folder / "elsewhere"
    if precious is not None:
        place.write_bytes(precious)
    (weft.folder / "out").mkdir()
    (weft.folder / "out" / "crawl.db").symlink_to(place)
    run = weft("crawl", site.url, "-o", "out", *FAST)
    assert run.code == 2 and "weft would write through it" in run.stderr
    assert not site.requests
    assert (place.read_bytes() if place.exists() else None) == precious


def test_a_database_may_lie_elsewhere(site: Site, weft: Weft) -> None:
    """A crawl whose database was moved to another disk, with a link in its place, goes on."""
    site.page("/", ["/a"])
    site.page("/a")
    assert weft("crawl", site.url, "-o", "out", *FAST, "--quiet", "--max-pages", "1").code == 0
    database = (weft.folder / "out" / "crawl.db").rename(weft.folder / "moved.db")
    (weft.folder / "out" / "crawl.db").symlink_to(database)
    assert weft("resume", "out", "--quiet", "--max-pages", "none").code == 0
    assert site.asked("/a") == 1


def test_no_port_is_opened(site: Site, weft: Weft) -> None:
    """Issue 3, 10: weft listens on nothing while it runs."""
    site.page("/", ["/slow"])
    site.page("/slow")
    site.let(2)
    process = weft.start("crawl", site.url, "-o", "out", "--delay", "0", "--sitemaps", "no")
    wait_until(lambda: site.asked("/slow"), "the slow page")
    inodes = set()
    for handle in Path(f"/proc/{process.pid}/fd").iterdir():
        try:
            place = str(handle.readlink())
        except OSError:
            continue
        if place.startswith("socket:["):
            inodes.add(place[8:-1])
    listening = []
    for table, states in (("tcp", ("0A",)), ("tcp6", ("0A",)), ("udp", ("07",)), ("udp6", ("07",))):
        for line in Path(f"/proc/{process.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[9] in inodes and fields[3] in states:
                listening.append((table, fields[1]))
    site.let()
    process.wait(120)
    assert inodes and listening == []


def test_headers_cannot_be_injected(weft: Weft, site: Site) -> None:
    """Issue 3, 10: options of the user that would break a request are refused in a sentence."""
    site.page("/")
    for words in (
        ("--header", "X: a\r\nY: b"),
        ("--user-agent", "a\r\nb: c"),
        ("--contact", "a\nb"),
        ("--header", "no colon"),
        ("--header", "Host: x"),
    ):
        run = weft("crawl", site.url, "-o", "out", *words)
        assert run.code == 2 and run.stderr.startswith("weft: ") and "Traceback" not in run.stderr, (words, run)
    assert site.requests == []
