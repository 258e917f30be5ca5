"""weft export: every form is whole, says what the crawl holds, and is read by programs that are not ours."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZIP_STORED, ZipFile

import pytest
from command import call
from hypothesis import given
from hypothesis import strategies as st
from index_reader import read_index
from stored import EVIL_TITLE, ODD_TITLE, Stored, make
from warcio.archiveiterator import ArchiveIterator
from web import HTML, Site, html_page

from weft.cli.main import FAILED, WRONG_USE
from weft.derive.export import sitemap
from weft.derive.export.names import Names, md5_path, path_for
from weft.derive.export.rewrite import css_with
from weft.derive.export.scratch import scratch

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # fastwarc warns of its own old names while it loads
    from fastwarc.warc import ArchiveIterator as FastIterator

WACZ = Path(__file__).resolve().parents[2] / ".venv-wacz" / "bin" / "python"
PARQUET = pytest.importorskip("pyarrow.parquet")


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return make(tmp_path_factory.mktemp("export"), "--contact", "crawl@example.org")


def export(stored: Stored, form: str, to: Path, *options: str) -> dict[str, object]:
    ended = call("export", stored.folder, "--as", form, "--to", to, "--json", *options)
    assert ended.code == 0, ended.stderr
    written: dict[str, object] = json.loads(ended.stdout)
    assert not list(to.parent.glob(".*.part"))
    return written


def rows(stored: Stored, command: str) -> list[dict[str, object]]:
    ended = call(command, stored.folder, "--format", "jsonl")
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


def answered(stored: Stored) -> list[dict[str, object]]:
    return [page for page in rows(stored, "pages") if page["status"] == 200]


# --- WARC


def records(path: Path) -> list[tuple[str, str | None]]:
    """Type and URL of every record, as warcio reads them; fails on a digest that is wrong."""
    found = []
    with path.open("rb") as stream:
        for record in ArchiveIterator(stream, check_digests="raise"):
            record.content_stream().read()
            found.append((record.rec_type, record.rec_headers.get_header("WARC-Target-URI")))
    return found


def test_one_warc_holds_every_record_of_the_archive(stored: Stored, tmp_path: Path) -> None:
    file = tmp_path / "all.warc.gz"
    export(stored, "warc", file, "--operator", "me", "--description", "a test")
    kept = [one for path in (stored.folder / "warc").glob("*.warc.gz") for one in records(path)]
    assert Counter(records(file)) - Counter({("warcinfo", None): 1}) == Counter(
        one for one in kept if one[0] != "warcinfo"
    )
    with file.open("rb") as stream:
        first = next(iter(ArchiveIterator(stream)))
        assert first.rec_type == "warcinfo"
        assert first.rec_headers.get_header("WARC-Filename") == "all.warc.gz"
        said = first.content_stream().read().decode()
    for line in ("operator: me", "contact: crawl@example.org", "description: a test", "robots: obey"):
        assert f"{line}\r\n" in said
    with file.open("rb") as stream:
        assert sum(record.verify_payload_digest() for record in FastIterator(stream, parse_http=True)) >= 10


def test_warc_of_chosen_pages_holds_what_they_refer_to(stored: Stored, tmp_path: Path) -> None:
    """Of two equal pages the second is a revisit record: it comes with the record that has the body."""
    file = tmp_path / "some.warc.gz"
    export(stored, "warc", file, "--where", "url like '%/dup2'")
    answers = {(kind, url.rpartition("/")[2]) for kind, url in records(file) if url is not None and kind != "request"}
    assert answers == {("response", "dup1"), ("revisit", "dup2")} or answers == {("response", "dup2")}


def test_warc_split_by_size(stored: Stored, tmp_path: Path) -> None:
    written = export(stored, "warc", tmp_path / "part.warc.gz", "--warc-size", "1k")
    files = sorted(tmp_path.glob("part-*.warc.gz"))
    assert len(files) == written["files"] > 1
    assert files[0].name == "part-00001.warc.gz"
    assert not (tmp_path / "part.warc.gz").exists()
    whole = tmp_path / "whole.warc.gz"
    export(stored, "warc", whole)
    assert Counter(one for file in files for one in records(file) if one[0] != "warcinfo") == Counter(
        one for one in records(whole) if one[0] != "warcinfo"
    )
    again = call("export", stored.folder, "--as", "warc", "--to", tmp_path / "part.warc.gz", "--warc-size", "1k")
    assert (again.code, "--force" in again.stderr) == (WRONG_USE, True)


# --- WACZ


def test_wacz_is_what_its_package_says(stored: Stored, tmp_path: Path) -> None:
    file = tmp_path / "site.wacz"
    export(stored, "wacz", file)
    with ZipFile(file) as zipped:
        assert zipped.testzip() is None
        package = zipped.read("datapackage.json")
        digest = json.loads(zipped.read("datapackage-digest.json"))
        assert digest["hash"] == f"sha256:{hashlib.sha256(package).hexdigest()}"
        listed = json.loads(package)["resources"]
        assert {one["path"] for one in listed} | {"datapackage.json", "datapackage-digest.json"} == set(
            zipped.namelist()
        )
        for one in listed:
            content = zipped.read(one["path"])
            assert one["bytes"] == len(content)
            assert one["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert zipped.getinfo("archive/data.warc.gz").compress_type == ZIP_STORED
        index = gzip.decompress(zipped.read("indexes/index.cdx.gz")).decode().splitlines()
        warc = zipped.read("archive/data.warc.gz")
        pages = [json.loads(line) for line in zipped.read("pages/pages.jsonl").splitlines()]
    assert index == sorted(index)
    for line in index:
        fields = json.loads(line.split(" ", 2)[2])
        start = int(fields["offset"])
        record = gzip.decompress(warc[start : start + int(fields["length"])])
        assert f"WARC-Target-URI: {fields['url']}\r\n".encode() in record
        assert fields["filename"] == "data.warc.gz"
    assert pages[0]["format"] == "json-pages-1.0"
    assert {page["url"] for page in pages[1:]} == {
        page["url"] for page in answered(stored) if page["type"] == "text/html"
    }
    stamps = {(line.split(" ", 2)[1], json.loads(line.split(" ", 2)[2])["url"]) for line in index}
    for page in pages[1:]:
        assert (re.sub(r"\D", "", page["ts"]), page["url"]) in stamps
    assert "packed text" in next(page["text"] for page in pages[1:] if page["url"].endswith("/gz"))


def test_wacz_is_valid_for_py_wacz(stored: Stored, tmp_path: Path) -> None:
    if not WACZ.exists():
        pytest.skip("py-wacz is not installed (./test installs it)")
    file = tmp_path / "site.wacz"
    export(stored, "wacz", file)
    command = [str(WACZ), "-c", "from wacz.main import main; raise SystemExit(main())", "validate", "-f", str(file)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "Validation succeeded" in ended.stdout


# --- the index file


def test_index_file_line_by_line(stored: Stored, tmp_path: Path) -> None:
    """Every page that was answered with 2xx, and of each its accepted links in their order (T7)."""
    file = tmp_path / "index.txt"
    export(stored, "index", file)
    entries = {entry.url: entry for entry in read_index(file)}
    pages = answered(stored)
    assert set(entries) == {page["url"] for page in pages}
    links: dict[object, list[tuple[object, str]]] = {}
    for link in rows(stored, "links"):
        if link["followed"]:
            links.setdefault(link["source"], []).append((link["target_key"], " ".join(str(link["anchor"]).split())))
    for page in pages:
        entry = entries[str(page["url"])]
        assert (entry.key, entry.encoding) == (page["key"], page["encoding"])
        assert (entry.modified, entry.date) == (page["last_modified"], page["server_date"])
        assert entry.links == links.get(page["url"], [])
    titles = {entry.title for entry in entries.values()}
    assert {ODD_TITLE, EVIL_TITLE, None} <= titles
    assert {entry.type for entry in entries.values()} == {"html", "octet-stream"}


def test_index_keeps_quotes_backslashes_and_lines_in_order(site: Site, tmp_path: Path) -> None:
    title = 'she said "\\n", \\ and\tleft'
    site.file("/", html_page("x", ["/a.htm"]).replace(b"<title>x</title>", f"<title>{title}</title>".encode()), HTML)
    site.file("/a.htm", b"plain", "text/html", headers={"Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT"})
    assert call("crawl", site.at("/"), "-o", tmp_path / "c", "--delay", "0", "--quiet").code == 0
    export(Stored(tmp_path / "c", site.url), "index", tmp_path / "index.txt")
    start, other = sorted(read_index(tmp_path / "index.txt"), key=lambda entry: entry.url)
    assert start.title == 'she said "\\n", \\ and left'
    assert (other.type, other.modified, other.title) == ("html", "1994-11-06T08:49:37Z", None)


# --- tables


def test_tables_have_the_rows_of_the_commands(stored: Stored, tmp_path: Path) -> None:
    export(stored, "parquet", tmp_path / "p")
    export(stored, "jsonl", tmp_path / "j")
    export(stored, "sqlite", tmp_path / "x.db")
    for name in ("pages", "links"):
        expected = rows(stored, name)
        assert PARQUET.read_table(tmp_path / "p" / f"{name}.parquet").to_pylist() == expected
        lines = (tmp_path / "j" / f"{name}.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == expected
        connection = sqlite3.connect(tmp_path / "x.db")
        connection.row_factory = sqlite3.Row
        assert [dict(row) for row in connection.execute(f"SELECT * FROM {name} ORDER BY rowid")] == expected
        connection.close()
    texts = {row["url"]: row["text"] for row in PARQUET.read_table(tmp_path / "p" / "text.parquet").to_pylist()}
    assert "packed text" in texts[f"{stored.url}/gz"]


def test_markdown_has_the_main_text_and_where_it_is_from(site: Site, tmp_path: Path) -> None:
    words = "A paragraph of the article, which is long enough to be one. " * 20
    body = f"<article><h1>Of owls</h1><p>{words}</p><p>It is <b>late</b>.</p></article>"
    site.file("/", html_page('an "owl"', [], body=body), HTML)
    assert call("crawl", site.at("/"), "-o", tmp_path / "c", "--delay", "0", "--quiet").code == 0
    export(Stored(tmp_path / "c", site.url), "markdown", tmp_path / "m")
    _, line = (tmp_path / "m" / "files.tsv").read_text().splitlines()
    url, path = line.split("\t")
    assert (url, path.endswith("/index.html.md")) == (site.at("/"), True)
    _, front, text = (tmp_path / "m" / path).read_text().split("---\n", 2)
    facts = {name: json.loads(value) for name, value in (fact.split(": ", 1) for fact in front.splitlines())}
    assert facts["url"] == site.at("/")
    assert {"title", "fetched_at"} <= set(facts)
    assert "A paragraph of the article" in text
    assert "**late**" in text


def test_items_are_a_table(site: Site, tmp_path: Path) -> None:
    site.file("/", html_page("x", ["/a"], body="<p>write to ann@stadtbibliothek.de</p>"), HTML)
    site.file("/a", html_page("a", [], body="<p>write to bob@stadtbibliothek.de</p>"), HTML)
    options = ("--delay", "0", "--quiet", "--extract", "email")
    assert call("crawl", site.at("/"), "-o", tmp_path / "c", *options).code == 0
    stored = Stored(tmp_path / "c", site.url)
    export(stored, "parquet", tmp_path / "p")
    export(stored, "jsonl", tmp_path / "j", "--where", "url like '%/a'")
    items = PARQUET.read_table(tmp_path / "p" / "items.parquet").to_pylist()
    assert items == rows(stored, "items")
    assert {item["value"] for item in items} == {"ann@stadtbibliothek.de", "bob@stadtbibliothek.de"}
    chosen = [json.loads(line) for line in (tmp_path / "j" / "items.jsonl").read_text().splitlines()]
    assert [item["value"] for item in chosen] == ["bob@stadtbibliothek.de"]


def test_chosen_pages_and_their_links_only(stored: Stored, tmp_path: Path) -> None:
    export(stored, "sqlite", tmp_path / "x.db", "--where", "url like '%/a'", "--where", "depth = 1")
    connection = sqlite3.connect(tmp_path / "x.db")
    assert connection.execute("SELECT url FROM pages").fetchall() == [(f"{stored.url}/a",)]
    assert connection.execute("SELECT DISTINCT source FROM links").fetchall() == [(f"{stored.url}/a",)]
    connection.close()


# --- sitemaps

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"


def located(path: Path) -> list[str]:
    raw = path.read_bytes()
    tree = ElementTree.fromstring(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return [element.text or "" for element in tree.iter(f"{SITEMAP}loc")]


def test_sitemaps_by_protocol(stored: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sitemap, "MOST_URLS", 5)
    export(stored, "sitemap", tmp_path / "all")
    maps = [tmp_path / "all" / url.rpartition("/")[2] for url in located(tmp_path / "all" / "sitemap.xml")]
    assert set(maps) | {tmp_path / "all" / "sitemap.xml"} == set((tmp_path / "all").iterdir())
    sizes = [len(located(path)) for path in maps]
    assert len(sizes) > 1
    assert max(sizes) == 5
    urls = [url for path in maps for url in located(path)]
    html = [page for page in answered(stored) if page["type"] == "text/html"]
    assert sorted(urls) == sorted(str(page["url"]) for page in html)


def test_indexable_leaves_out_what_search_engines_do(stored: Stored, tmp_path: Path) -> None:
    export(stored, "sitemap", tmp_path / "map", "--indexable")
    (name,) = (tmp_path / "map").glob("*.gz")
    urls = {url.removeprefix(stored.url) for url in located(name)}
    assert "/a" in urls
    assert "/noindex" not in urls
    assert len(urls & {"/dup1", "/dup2"}) == 1


# --- the mirror

segments = st.one_of(
    st.sampled_from(
        ["", "a", "A", "index.html", "con", "NUL.txt", "%2e%2e", "..", "x" * 300, "a.", "a ", "~", "%00", "files.tsv"]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="/?#"), max_size=12),
)
urls = st.builds(
    lambda host, folders, query: f"http://{host}/{'/'.join(folders)}{query}",
    st.sampled_from(["a.test", "a.test:81", "[::1]", "index.txt", "nul"]),
    st.lists(segments, max_size=5),
    st.sampled_from(["", "?", "?a=b&c=/../d", "?" + "q" * 400]),
)


@given(st.lists(urls, unique=True, max_size=30), st.sampled_from(["", ".html"]), st.booleans())
def test_names_are_safe_and_of_one_url_each(many: list[str], ending: str, by_digest: bool) -> None:
    with scratch() as database:
        names = Names(database)
        for number, url in enumerate(many):
            names.add(number, url, md5_path(url) if by_digest else path_for(url, ending))
        names.settle()
        places = list(names.places())
    assert [place.url for place in places] == many
    paths = [place.path.casefold() for place in places]
    assert len(set(paths)) == len(paths)
    folders = {"/".join(path.split("/")[:depth]) for path in paths for depth in range(1, path.count("/") + 1)}
    assert not folders & set(paths)
    for place in places:
        assert len(place.path) <= 1_300
        for part in place.path.split("/"):
            assert 0 < len(part) <= 255
            assert part.isascii() and part.isprintable() and not set(part) & set('<>:"|?*\\')
            assert part not in (".", "..") and part[-1] not in ". "
            assert part.partition(".")[0].lower() not in ("con", "nul")


def test_names_as_the_description_of_tarantula_has_them() -> None:
    assert path_for("http://www.ics.forth.gr/index.html") == "www.ics.forth.gr/index.html"
    assert path_for("http://www.ics.forth.gr/") == "www.ics.forth.gr/index.html"
    assert path_for("https://a.test/b/c.php?d=e/f") == "a.test/b/c.php%3Fd=e%2Ff"
    assert path_for("https://a.test/b/c.php?d", ".html") == "a.test/b/c.php%3Fd.html"
    assert len(md5_path("http://a.test/")) == len(md5_path("http://a.test/" + "x" * 500)) == 35


def test_mirror_has_every_body_as_it_was(stored: Stored, tmp_path: Path) -> None:
    export(stored, "mirror", tmp_path / "m")
    lines = (tmp_path / "m" / "files.tsv").read_text().splitlines()
    assert lines[0] == "url\tpath"
    files = dict(line.split("\t") for line in lines[1:])
    assert set(files) == {page["url"] for page in answered(stored)}
    for url, path in files.items():
        body = call("show", stored.folder, url, "--body")
        assert (tmp_path / "m" / path).read_bytes() == body.out, url
    listed = {str(path.relative_to(tmp_path / "m")) for path in (tmp_path / "m").rglob("*") if path.is_file()}
    assert listed == {*files.values(), "files.tsv", "index.txt"}
    assert {entry.url for entry in read_index(tmp_path / "m" / "index.txt")} == set(files)


def test_rewritten_links_lead_to_files(stored: Stored, tmp_path: Path) -> None:
    written = export(stored, "mirror", tmp_path / "m", "--rewrite-links")
    files = dict(line.split("\t") for line in (tmp_path / "m" / "files.tsv").read_text().splitlines()[1:])
    start = tmp_path / "m" / files[f"{stored.url}/"]
    links = re.findall(r'href="([^"]*)"', start.read_text(encoding="utf-8-sig"))
    inner = [link for link in links if "://" not in link and not link.startswith(("mailto:", "data:"))]
    assert len(inner) > 8
    for link in inner:
        assert (start.parent / link.partition("#")[0]).is_file(), link
    assert "a.html#part" in links
    missing = (tmp_path / "m" / "missing.tsv").read_text().splitlines()
    assert len(missing) - 1 == written["missing"]
    assert f"{stored.url}/\t{stored.url}/missing" in missing


def test_styles_are_rewritten_as_browsers_read_them() -> None:
    style = '@import "a.css"; @import url( b.css ); p{background:url("x\\"y.png")} q{b:url(d\\a e)} r{c:url()}'
    seen: list[str] = []

    def lead(url: str) -> str | None:
        seen.append(url)
        return f"to/{len(seen)}"

    changed = css_with(style, lead)
    assert seen[:3] == ["a.css", "b.css", 'x"y.png']
    assert '@import "to/1"; @import url("to/2");' in changed
    assert "url()" in changed


# --- what cannot be, and what is left when it fails


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--as", "wacs", "--to", "x"], "wacz"),
        (["--as", "warc", "--to", "x.zip"], ".warc.gz"),
        (["--as", "warc"], "--to"),
        (["--as", "mirror", "--to", "x", "--indexable"], "sitemap"),
        (["--as", "index", "--to", "none/x"], "no folder"),
        (["--as", "jsonl", "--to", "x", "--where", "nonsense = 1"], "nonsense"),
        (["--as", "warc", "--to", "x.warc.gz", "--warc-size", "tiny"], "--warc-size"),
    ],
)
def test_wrong_use_is_told_before_anything_is_made(
    stored: Stored, tmp_path: Path, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ended = call("export", stored.folder, *arguments)
    assert ended.code == WRONG_USE
    assert said in ended.stderr
    assert not list(tmp_path.iterdir())


def test_only_exports_are_replaced(stored: Stored, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    ended = call("export", stored.folder, "--as", "mirror", "--to", mine, "--force")
    assert (ended.code, "files.tsv" in ended.stderr) == (WRONG_USE, True)
    assert (mine / "thesis.txt").read_text() == "years of work"
    export(stored, "jsonl", tmp_path / "j")
    assert call("export", stored.folder, "--as", "jsonl", "--to", tmp_path / "j").code == WRONG_USE
    export(stored, "jsonl", tmp_path / "j", "--force", "--where", "url like '%/a'")
    assert len((tmp_path / "j" / "pages.jsonl").read_text().splitlines()) == 1
    for place in (stored.folder, stored.folder.parent, stored.folder / "warc"):
        assert call("export", stored.folder, "--as", "jsonl", "--to", place, "--force").code == WRONG_USE


@pytest.fixture
def cut(stored: Stored, tmp_path: Path) -> Iterator[Stored]:
    """The same crawl with half an archive."""
    import shutil

    copy = tmp_path / "copy"
    shutil.copytree(stored.folder, copy)
    for path in (copy / "warc").glob("*.warc.gz"):
        os.truncate(path, path.stat().st_size // 2)
    yield Stored(copy, stored.url)


def test_a_damaged_archive_leaves_no_half_file(cut: Stored, tmp_path: Path) -> None:
    for form, name in (("warc", "x.warc.gz"), ("wacz", "x.wacz")):
        ended = call("export", cut.folder, "--as", form, "--to", tmp_path / name)
        assert (ended.code, "damaged" in ended.stderr) == (WRONG_USE, True)
        assert [path.name for path in tmp_path.iterdir()] == ["copy"]


def test_a_crawl_without_archive_says_so(site: Site, tmp_path: Path) -> None:
    site.page("/", [])
    assert call("crawl", site.at("/"), "-o", tmp_path / "c", "--delay", "0", "--quiet", "--no-archive").code == 0
    for form, name in (("warc", "x.warc.gz"), ("mirror", "m")):
        ended = call("export", tmp_path / "c", "--as", form, "--to", tmp_path / name)
        assert (ended.code, "--no-archive" in ended.stderr) == (WRONG_USE, True)
    export(Stored(tmp_path / "c", site.url), "jsonl", tmp_path / "j")
    assert not (tmp_path / "j" / "text.jsonl").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process")
def test_a_file_that_cannot_grow_leaves_nothing(stored: Stored, tmp_path: Path) -> None:
    import resource
    import signal

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (33_000, hard))
    try:
        ended = call("export", stored.folder, "--as", "sqlite", "--to", tmp_path / "x.db")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert ended.code == FAILED
    assert not list(tmp_path.iterdir())
