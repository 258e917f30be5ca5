"""weft import: a crawl of files that others have fetched is the crawl of the site they were fetched from (E3)."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
from base64 import b32encode
from hashlib import sha1
from pathlib import Path

import pytest
from command import call
from stored import Stored, make
from web import Site

from weft.cli.main import WRONG_USE

SELDOM_EQUAL = ("fetched_at", "response_ms", "warc_file", "warc_offset", "ip")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return make(tmp_path_factory.mktemp("import"))


def rows(folder: Path, command: str) -> list[dict[str, object]]:
    ended = call(command, folder, "--format", "jsonl")
    assert ended.code == 0, ended.stderr
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    return [{name: value for name, value in row.items() if name not in SELDOM_EQUAL} for row in found]


def by_json(found: list[dict[str, object]]) -> list[str]:
    return sorted(json.dumps(row) for row in found)


def imported(tmp_path: Path, *files: Path) -> dict[str, object]:
    ended = call("import", *files, "-o", tmp_path / "made", "--json")
    assert ended.code == 0, ended.stderr
    made: dict[str, object] = json.loads(ended.stdout)
    assert not list((tmp_path / "made").glob(".import-*"))
    checked = call("check", tmp_path / "made")
    assert checked.code == 0, checked.stdout
    return made


@pytest.mark.parametrize("form", ["folder", "warc", "wacz"])
def test_an_import_of_our_own_is_the_same_crawl(stored: Stored, tmp_path: Path, form: str) -> None:
    """Its site is gone: nothing could be asked. Depths, failures, duplicates and links are those of the crawl."""
    files = list((stored.folder / "warc").glob("*.warc.gz"))
    if form != "folder":
        files = [tmp_path / f"x.{'warc.gz' if form == 'warc' else 'wacz'}"]
        assert call("export", stored.folder, "--as", form, "--to", files[0]).code == 0
    imported(tmp_path, *files)
    assert by_json(rows(tmp_path / "made", "pages")) == by_json(rows(stored.folder, "pages"))
    links = rows(stored.folder, "links")
    for row in links:
        if row["target_error"] == "ROBOTS_DISALLOWED":  # it was never asked, so the files do not know it
            row["target_error"], row["followed"] = None, False
    assert by_json(rows(tmp_path / "made", "links")) == by_json(links)
    for path in ("/gz", "/dup2", "/evil"):
        url = f"{stored.url}{path}"
        assert call("show", tmp_path / "made", url, "--body").out == call("show", stored.folder, url, "--body").out


def record(kind: str, url: str, block: bytes, *more: str, media: str = "application/http") -> bytes:
    lines = ["WARC/1.0", f"WARC-Type: {kind}", "WARC-Date: 2020-01-01T00:00:00Z", "WARC-Record-ID: <urn:x>", *more]
    lines += [f"WARC-Target-URI: {url}"] if url else []
    lines += [f"Content-Type: {media}", f"Content-Length: {len(block)}", "", ""]
    return "\r\n".join(lines).encode() + block + b"\r\n\r\n"


def answer(body: bytes, *lines: str) -> bytes:
    return "\r\n".join(["HTTP/1.1 200 OK", "Content-Type: text/html", *lines, "", ""]).encode() + body


BODY = b"<title>one</title><a href=/two>two</a><a href=/gone>gone</a><a href=http://other.test/>other</a>"
DIGEST = f"WARC-Payload-Digest: sha1:{b32encode(sha1(BODY).digest()).decode()}"
RECORDS = [
    record("warcinfo", "", b"software: other\r\n", media="application/warc-fields"),
    record("response", "dns:a.test", b"a.test. 1 IN A 127.0.0.1", media="text/dns"),
    record("request", "<http://a.test/>", b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n"),
    record("response", "<http://a.test/>", answer(BODY), DIGEST),
    record("response", "http://a.test/robots.txt", answer(b"User-agent: *\nDisallow: /\n")),
    record("metadata", "http://a.test/", b"via: nothing\r\n", media="application/warc-fields"),
    record(
        "response", "http://a.test/two",
        answer(b"12\r\n<title>two</title>\r\n0\r\n\r\n", "Transfer-Encoding: chunked"),
    ),
    record("revisit", "http://a.test/copy", b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", DIGEST),
    record("resource", "http://a.test/alone", b"<title>alone</title>", media="text/html"),
]  # fmt: skip


@pytest.mark.parametrize("form", ["by records", "as a whole", "plain", "one cut"])
def test_what_other_programs_write(tmp_path: Path, form: str) -> None:
    file = tmp_path / ("x.warc" if form == "plain" else "x.warc.gz")
    if form == "plain":
        file.write_bytes(b"".join(RECORDS))
    elif form == "as a whole":
        file.write_bytes(gzip.compress(b"".join(RECORDS)))
    else:
        file.write_bytes(b"".join(map(gzip.compress, RECORDS)))
    if form == "one cut":
        file.write_bytes(file.read_bytes()[:-20])
    made = imported(tmp_path, file)
    assert len(made["problems"]) == (form == "one cut")
    titles = {str(row["url"]): (row["title"], row["depth"], row["status"]) for row in rows(tmp_path / "made", "pages")}
    expected = {
        "http://a.test/": ("one", 0, 200), "http://a.test/two": ("two", 1, 200), "http://a.test/copy": ("one", 0, 200),
    }  # fmt: skip
    if form != "one cut":
        expected["http://a.test/alone"] = ("alone", 0, 200)
    assert titles == expected
    links = {str(row["target"]): row["followed"] for row in rows(tmp_path / "made", "links")}
    assert links == {"http://a.test/two": True, "http://a.test/gone": False, "http://other.test/": False}
    assert call("why", tmp_path / "made", "http://a.test/gone").code == 0


@pytest.mark.skipif(shutil.which("wget") is None, reason="wget is not installed")
def test_what_wget_fetched_gives_the_same_graph(site: Site, tmp_path: Path) -> None:
    site.page("/", ["/a", "/b/", "/missing"], title="start")
    site.page("/a", ["/", "/b/"], title="a")
    site.page("/b/", ["/a", "/old"], title="b")
    site.redirect("/old", "/a", 301)
    site.file("/pic.png", b"x", "image/png")
    command = ["wget", "-q", "-r", "-l", "inf", "--warc-file=wget", "--no-warc-digests", site.at("/")]
    subprocess.run(command, cwd=tmp_path, check=False, timeout=300)
    assert call("crawl", site.at("/"), "-o", tmp_path / "own", "--delay", "0", "--quiet").code == 0
    asked = len(site.requests)
    imported(tmp_path, tmp_path / "wget.warc.gz")
    assert len(site.requests) == asked
    graphs = []
    for name in ("own", "made"):
        to = tmp_path / f"{name}.csv"
        assert call("graph", tmp_path / name, "--to", to).code == 0
        edges = (tmp_path / f"{name}.edges.csv").read_text().splitlines()
        nodes = {
            line.split(",")[0]: line.split(",")[1] for line in (tmp_path / f"{name}.nodes.csv").read_text().splitlines()
        }
        graphs.append({(nodes[edge.split(",")[0]], nodes[edge.split(",")[1]]) for edge in edges[1:]})
    assert graphs[0] == graphs[1]
    assert len(graphs[0]) >= 5


def test_documents_are_pages(tmp_path: Path) -> None:
    documents = [
        {"url": "http://a.test/1", "title": "Owls & <others>", "text": "# Night\n\nOwls see.\n\nAnd fly.", "more": 1},
        {"url": "http://a.test/2", "text": "no title"},
        {"url": "no url", "text": "x"},
    ]
    lines = [*(json.dumps(row) for row in documents), "no json", ""]
    (tmp_path / "docs.jsonl").write_text("\n".join(lines))
    made = imported(tmp_path, tmp_path / "docs.jsonl")
    assert (made["pages"], len(made["problems"])) == (2, 2)
    assert {row["url"]: row["title"] for row in rows(tmp_path / "made", "pages")} == {
        "http://a.test/1": "Owls & <others>",
        "http://a.test/2": None,
    }
    text = call("show", tmp_path / "made", "http://a.test/1", "--text").stdout
    assert [line for line in text.splitlines() if line] == ["Night", "Owls see.", "And fly."]


def test_links_are_a_graph(tmp_path: Path) -> None:
    edges = [
        ("http://a.test/", "http://a.test/x"),
        ("http://a.test/x", "http://b.test/"),
        ("http://c.test/", "http://a.test/"),
    ]
    (tmp_path / "edges.csv").write_text("source,target\n" + "".join(f"{one},{two}\n" for one, two in edges))
    assert imported(tmp_path, tmp_path / "edges.csv")["pages"] == 4
    assert {(row["source"], row["target"]) for row in rows(tmp_path / "made", "links")} == set(edges)
    assert all(row["followed"] for row in rows(tmp_path / "made", "links"))


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("x.txt", b"", ".warc.gz"),
        ("x.warc", b"", "no answer of the web"),
        ("x.warc", b"junk", "NO_RECORD"),
        ("x.wacz", b"junk", "no sound WACZ"),
    ],
)
def test_what_cannot_be_imported_is_told(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    ended = call("import", tmp_path / name, "-o", tmp_path / "made")
    assert (ended.code, said in ended.stderr) == (WRONG_USE, True), ended.stderr


def test_a_folder_that_holds_a_crawl_is_left_alone(stored: Stored, tmp_path: Path) -> None:
    (tmp_path / "x.warc").write_bytes(b"".join(RECORDS))
    ended = call("import", tmp_path / "x.warc", "-o", stored.folder)
    assert (ended.code, "holds a crawl" in ended.stderr) == (WRONG_USE, True)
    assert call("import", tmp_path / "x.warc").code == WRONG_USE
