"""Main texts and keywords of a crawl (E14, E23): kept while it runs, read afterwards, the same either way."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from command import Weft, call
from until import wait_until
from web import HTML, Site

import weft
from weft.demo.server import Served
from weft.derive.texts import main_text_of

MARKED = sorted(Path(__file__).resolve().parents[1].glob("support/marked_pages/*.html"))
NEWS = "/article-news.html"
WITH = "text,markdown,keywords,metadata"


@pytest.fixture
def pages(site: Site) -> Site:
    """A site with the marked pages, a text and a picture."""
    site.page("/", links=[*(f"/{path.name}" for path in MARKED), "/notes.txt", "/dot"])
    for path in MARKED:
        site.file(f"/{path.name}", path.read_bytes(), HTML)
    site.file("/notes.txt", b"The loom stands in the attic, and nobody has seen the shuttle.", "text/plain")
    site.file("/dot", b"\x89PNG\r\n\x1a\n", "image/png")
    return site


def crawl_of(pages: Site, folder: Path, *options: str) -> Path:
    run = call("crawl", pages.url, "-o", folder, "--delay", "0", "--quiet", *options)
    assert run.code == 0, run.stderr
    return folder


def rows_of(folder: Path, names: str = WITH) -> dict[str, dict[str, str | None]]:
    run = call("pages", folder, "--with", names)
    assert run.code == 0, run.stderr
    return {row["url"]: row for row in map(json.loads, run.stdout.splitlines())}


def test_texts_are_the_same_kept_or_read_afterwards(pages: Site, tmp_path: Path, weft: Weft) -> None:
    kept = crawl_of(pages, tmp_path / "kept", "--text", "--keywords", "10")
    bare = crawl_of(pages, tmp_path / "bare")
    run = weft("crawl", pages.url, "-o", "two", "--delay", "0", "--keywords", "10", "--processes", "2", timeout=60)
    assert run.code == 0, run.stderr
    found = rows_of(kept)
    fields = ("text", "markdown", "keywords", "text_language", "headline", "author", "published", "article", "json_ld")
    for other in (bare, tmp_path / "two"):
        others = rows_of(other)
        assert set(others) == set(found)
        for url, row in found.items():
            for field in fields:
                assert row[field] == others[url][field], (url, field)
    news = found[pages.at(NEWS)]
    assert (news["headline"], news["author"], news["article"]) == (
        "Council keeps the old tram", "Mara Lindqvist, Tom Ferris", "yes",
    )  # fmt: skip
    assert news["keywords"] is not None
    assert news["keywords"].startswith("tram, council")
    assert found[pages.at("/notes.txt")]["text"] == found[pages.at("/notes.txt")]["markdown"]
    assert found[pages.at("/article-plain.html")]["text_language"] == "sl"  # it does not say so itself
    assert not found[pages.at("/dot")]["text"]


def test_the_database_has_a_row_for_each_text(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "kept", "--text")
    with sqlite3.connect(folder / "crawl.db") as db:
        rows = db.execute(
            "SELECT d.url, t.title, t.language, t.is_article, t.keywords FROM text t JOIN visit v ON v.id = t.visit"
            " JOIN document d ON d.id = v.page"
        ).fetchall()
        texts = db.execute("SELECT count(*) FROM visit WHERE purpose = 0 AND status = 200 AND type LIKE 'text/%'")
        assert len(rows) == texts.fetchone()[0] > len(MARKED)
    db.close()
    assert (pages.at(NEWS), "Council keeps the old tram", "en", 1, None) in rows


def texts_of(folder: Path) -> dict[str, tuple[str, str]]:
    """URL, text and keywords of each page with a text; empty where there is no database yet."""
    try:
        with closing(sqlite3.connect(f"file:{folder / 'crawl.db'}?mode=ro", uri=True)) as db:
            rows = db.execute(
                "SELECT u.text, t.text, t.keywords FROM text t JOIN visit v ON v.id = t.visit"
                " JOIN url u ON u.id = v.url"
            ).fetchall()
    except sqlite3.Error:
        return {}
    assert len({url for url, *_ in rows}) == len(rows), "a text came twice"
    return {url: (text, keywords) for url, text, keywords in rows}


def text_rows(folder: Path) -> dict[str, tuple[object, ...]]:
    """URL and all columns of each row of the table of texts."""
    with closing(sqlite3.connect(folder / "crawl.db")) as db:
        rows = db.execute(
            "SELECT u.text, t.text, t.markdown, t.language, t.title, t.author, t.published, t.description,"
            " t.is_article, t.records, t.keywords FROM text t JOIN visit v ON v.id = t.visit JOIN url u ON u.id = v.url"
        ).fetchall()
    return {url: tuple(columns) for url, *columns in rows}


def test_a_stored_crawl_gets_the_texts_of_a_crawl_that_asked_for_them(pages: Site, tmp_path: Path) -> None:
    """By `weft extract`: also pages that are no text, are empty, or not found, are as if asked while crawling."""
    pages.file("/empty", b"", HTML)
    pages.page("/gone", body="<p>Nobody lives here any more.</p>", status=404)
    pages.page("/", links=[*(f"/{path.name}" for path in MARKED), "/notes.txt", "/dot", "/empty", "/gone"])
    kept = crawl_of(pages, tmp_path / "kept", "--text", "--keywords", "10")
    bare = crawl_of(pages, tmp_path / "bare")
    asked = len(pages.paths())
    run = call("extract", bare, "--text", "--keywords", "10")
    assert run.code == 0, run.stderr
    assert text_rows(bare) == text_rows(kept)
    assert len(text_rows(bare)) > len(MARKED)
    assert f"has {len(text_rows(bare))} texts now" in run.stderr
    assert len(pages.paths()) == asked
    assert call("check", bare).code == 0
    assert call("extract", kept, "--text").code == 0  # fewer keywords than the crawl keeps are not kept
    assert text_rows(kept) == text_rows(bare)
    assert call("extract", kept).code == 0  # what the crawl was made for
    assert text_rows(kept) == text_rows(bare)


def test_texts_of_a_stored_crawl_on_all_cores(invented: Callable[..., Served], weft: Weft) -> None:
    """Of more pages than one process takes at once, together with items."""
    served = invented(seed=7, hosts=2, pages=150)
    words = ["--resolve", served.resolve, "--delay", "0"]
    wanted = ["--keywords", "5", "--extract", "email"]
    assert weft("crawl", *served.seeds, "-o", "kept", *words, *wanted).code == 0
    assert weft("crawl", *served.seeds, "-o", "bare", *words).code == 0
    run = weft("extract", "bare", *wanted)
    assert run.code == 0, run.stderr
    bare, kept = (text_rows(weft.folder / name) for name in ("bare", "kept"))
    assert bare == kept
    assert len(bare) > 64
    status = [json.loads(weft("status", name, "--json").stdout)["items"] for name in ("bare", "kept")]
    assert status[0] == status[1] > 0
    assert weft("check", "bare").code == 0


def test_texts_are_not_shown_by_extract(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "bare")
    run = call("extract", folder, pages.at(NEWS), "--text")
    assert run.code == 2
    assert "--markdown" in run.stderr
    run = call("extract", folder)
    assert run.code == 2
    assert "nothing to extract" in run.stderr


@pytest.mark.parametrize("processes", ["1", "2"])
def test_texts_survive_kills(invented: Callable[..., Served], weft: Weft, processes: str) -> None:
    """After any number of kills each text is there once, as in the undisturbed crawl."""
    served = invented(seed=7, hosts=2, pages=150)
    words = ["--resolve", served.resolve, "--keywords", "5", "--processes", processes]
    assert weft("crawl", *served.seeds, "-o", "whole", "--delay", "0", *words).code == 0
    folder = weft.folder / "killed"
    for texts in (3, 20, 45):
        running = weft.start("crawl", *served.seeds, "-o", "killed", "--delay", "5ms", *words)
        wait_until(lambda least=texts: len(texts_of(folder)) >= least, f"{texts} texts")
        running.kill()
        running.wait()
    assert weft("resume", "killed", "--delay", "0").code == 0
    whole = texts_of(weft.folder / "whole")
    assert texts_of(folder) == whole
    assert len(whole) > 60
    assert weft("check", "killed").code == 0


def test_the_index_of_documents_tells_their_places(pages: Site, tmp_path: Path) -> None:
    """E14: status, place in the repository, statistics, URL and title; a URL that was never asked has its URL only."""
    folder = crawl_of(pages, tmp_path / "crawl", "--max-depth", "0")
    query = "SELECT status, title, out_links, warc_file, warc_offset, warc_length FROM document WHERE url = ?"
    with sqlite3.connect(folder / "crawl.db") as db:
        start = db.execute(query, (pages.url + "/",)).fetchone()
        waiting = db.execute(query, (pages.at(NEWS),)).fetchone()
    db.close()
    assert start[:3] == (200, "/", len(MARKED) + 2)
    assert (folder / "warc" / start[3]).stat().st_size >= start[4] + start[5] > 0
    assert waiting == (None,) * 6


def test_texts_are_kept_without_an_archive(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "bare", "--text", "--no-archive")
    assert call("show", folder, NEWS, "--markdown").stdout.startswith("# Council keeps the old tram\n")
    assert "keeps no bodies" in call("keywords", folder, NEWS).stderr  # none were asked for, and none can be read now


def test_show_markdown(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "bare")
    run = call("show", folder, NEWS, "--markdown")
    assert run.code == 0
    assert f"[A report of last autumn]({pages.at('/2025/report')})" in run.stdout
    assert "Comments" not in run.stdout
    assert "is no text" in call("show", folder, "/dot", "--markdown").stderr
    assert call("show", folder, NEWS, "--markdown", "--text").code == 2


def test_keywords_of_a_page(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "kept", "--keywords", "3")
    run = call("keywords", folder, NEWS, "--number", "2")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    assert [row["word"] for row in rows] == ["tram", "council"]
    assert set(rows[0]) == {"word", "weight", "count"}
    assert len(call("keywords", folder, NEWS, "--number", "7").stdout.splitlines()) == 7  # more than were kept
    assert call("keywords", folder, NEWS, "--number", "0").code == 2
    assert call("keywords", folder, "/nowhere").code == 1
    assert "no text" in call("keywords", folder, "/dot").stderr


def test_pages_with_an_unknown_addition(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "bare")
    run = call("pages", folder, "--with", "text,tekst")
    assert run.code == 2
    assert "'tekst' (there are text, markdown, keywords, metadata, measures)" in run.stderr
    run = call("pages", folder, "--with", "keywords", "--fields", "url,keywords", "-o", tmp_path / "k.csv")
    assert run.code == 0, run.stderr
    assert (tmp_path / "k.csv").read_text().splitlines()[0] == "url,keywords"


def test_extraction_may_not_change_on_resume(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "bare")
    run = call("resume", folder, "--text")
    assert run.code == 2
    assert "--text cannot be changed on resume" in run.stderr


def test_from_python(pages: Site, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    for page in weft.crawl_sync(pages.url, folder=folder, delay=0.0, max_depth=1, text=True):
        if page.url != pages.at(NEWS):
            continue
        assert page.markdown.startswith("# Council keeps the old tram")
        assert page.main_text.metadata.author == "Mara Lindqvist, Tom Ferris"
        assert page.main_text.language == "en"
        assert [keyword.word for keyword in page.keywords(2)] == ["tram", "council"]
        assert [link.target for link in page.links][:2] == [pages.at("/news"), pages.at("/sport")]
        titles = [(link.text, link.attr("href")) for link in page.select(".most-read a")]
        assert titles == [("Ferry timetable for spring", pages.at("/1")), ("A seal in the canal", pages.at("/2"))]
        with pytest.raises(weft.WeftError, match="is no CSS selector"):
            page.select("a[")
        break
    with weft.open(folder) as stored:
        picture = stored.page(pages.at("/dot"))
        if picture is not None and picture.status == 200:
            assert (picture.markdown, picture.select("a"), picture.keywords()) == ("", [], [])


def test_a_crawl_of_an_earlier_version_has_no_texts_yet(pages: Site, tmp_path: Path) -> None:
    folder = crawl_of(pages, tmp_path / "old", "--text")
    with sqlite3.connect(folder / "crawl.db") as db:
        db.execute("DROP TABLE text")
    db.close()
    with weft.open(folder) as stored:
        page = stored.page(pages.at(NEWS))
        assert page is not None
        assert page.markdown.startswith("# Council keeps the old tram")
        assert not stored.has_texts
        assert main_text_of(stored, 10**9) is None
