"""weft pages and weft links: right values, every format, streams (DESIGN section 6; E14, R3, R13, R15)."""

from __future__ import annotations

import csv
import io
import json
import os
import sqlite3
import subprocess
import sys
from collections import Counter
from pathlib import Path

import made_crawl
import msgspec
import pytest
import stored
from command import Weft, call
from hypothesis import given
from hypothesis import strategies as st
from stored import Stored
from web import Line, Request, Site, html_page, sized

from weft.derive.broken import broken_counts, broken_words
from weft.derive.read import LinkRow, Page, StoredCrawl
from weft.derive.table import Column, write_table
from weft.text.safe import cell, in_json, shown, shown_text


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("rows"))


def pages_of(crawled: Stored, *options: str) -> dict[str, dict[str, object]]:
    run = call("pages", crawled.folder, *options)
    assert run.code == 0, run.stderr
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    found = {str(row["url"]).removeprefix(crawled.url): row for row in rows}
    assert len(found) == len(rows), "a URL came twice"
    return found


def links_of(crawled: Stored, *options: str) -> list[dict[str, object]]:
    run = call("links", crawled.folder, *options)
    assert run.code == 0, run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_pages_have_the_documented_fields(crawled: Stored) -> None:
    """DESIGN section 6: the table of fields, and what was tried and nothing else."""
    pages = pages_of(crawled)
    assert set(pages) == {
        "/", "/a", "/b", "/deep", "/deeper", "/dup1", "/dup2", "/old", "/missing", "/%7euser", "/gz", "/bin", "/reset",
        "/odd", "/evil", "/hinted", "/noindex", "/mapped",
    }  # fmt: skip
    for page in pages.values():
        assert set(page) == set(Page.__struct_fields__)


def test_pages_values(crawled: Stored) -> None:
    """E14, R13, R15: states, statuses, duplicates, redirects, depths and where each was found."""
    pages = pages_of(crawled)
    start, a, dup1, dup2 = pages["/"], pages["/a"], pages["/dup1"], pages["/dup2"]
    assert (start["state"], start["status"], start["depth"], start["found_on"]) == ("C", 200, 0, None)
    assert (a["depth"], a["found_on"], a["title"]) == (1, crawled.url + "/", "A")
    assert a["canonical"] == crawled.url + "/a"
    assert (pages["/missing"]["state"], pages["/missing"]["status"], pages["/missing"]["error"]) == ("C", 404, None)
    assert pages["/old"]["status"] == 301
    assert pages["/old"]["redirect_to"] == crawled.url + "/a"
    assert pages["/reset"]["state"] == "E"
    assert pages["/reset"]["status"] is None
    assert pages["/reset"]["error"] in ("CONNECTION_LOST", "INCOMPLETE_BODY")
    assert dup1["duplicate_of"] is None
    assert dup2["duplicate_of"] == dup1["url"]
    assert dup1["hash"] == dup2["hash"]
    assert len(str(dup1["hash"])) == 16
    assert (pages["/deeper"]["depth"], pages["/deeper"]["found_on"]) == (3, crawled.url + "/deep")
    assert pages["/gz"]["size"] == len(stored.GZIPPED)
    assert int(str(pages["/gz"]["size_wire"])) < len(stored.GZIPPED)
    assert pages["/noindex"]["noindex"] is True
    assert pages["/noindex"]["nofollow"] is True
    assert pages["/mapped"]["found_on"] == crawled.url + "/sitemap.xml"
    assert str(start["fetched_at"]).endswith("Z")
    assert start["type"] == "text/html"
    assert pages["/bin"]["type"] == "application/octet-stream"


def test_what_is_not_known_is_null(weft: Weft, site: Site) -> None:
    """docs/fields.md: no type of a body that is none, no address behind a proxy; of two types the last counts."""
    site.page("/", ["/nothing", "/typed", "/two"])
    site.file("/nothing", b"", None)
    site.file("/typed", b"", "text/html")

    async def two_types(line: Line, request: Request) -> bool:
        await line.send(sized(html_page("two"), "Content-Type: text/html; charset=koi8-r", content_type="text/plain"))
        return True

    site.behave("/two", two_types)
    run = weft(
        "crawl", site.at("/", "behind.test"), "-o", "out", "--proxy", site.url, "--delay", "0", "--sitemaps", "no"
    )
    assert run.code == 0, run.stderr
    rows = [json.loads(line) for line in weft("pages", "out").stdout.splitlines()]
    types = {row["url"].rpartition("/")[2]: (row["type"], row["encoding"], row["ip"]) for row in rows}
    assert types["nothing"] == (None, None, None)
    assert types["typed"][0] == "text/html"
    assert types["two"] == ("text/html", "koi8-r", None)


def test_two_spellings_are_one_page(crawled: Stored) -> None:
    """R14: identity is not request: asked as found first, known by its key, both links count."""
    page = pages_of(crawled)["/%7euser"]
    assert page["key"] == crawled.url + "/~user"
    assert page["in_links"] == 2


def test_all_shows_refused_ones_with_their_reason(crawled: Stored) -> None:
    """`--all`: every URL known, also the refused ones with their `reason`."""
    pages = pages_of(crawled, "--all")
    assert pages["/private/x"]["error"] == "ROBOTS_DISALLOWED"
    assert pages["/private/x"]["state"] == "E"
    reasons = {path: page["reason"] for path, page in pages.items() if page["state"] is None}
    assert reasons["http://elsewhere.test/x"] == "OUT_OF_SCOPE"
    assert reasons["/x/x/x/x/x/page"] == "PATH_REPEATS"
    assert reasons["/doc.pdf"] == "NOT_A_PAGE"
    assert reasons["/secret"] == "NOFOLLOW"
    assert reasons["/unfollowed"] == "NOFOLLOW"
    assert reasons["/logo.png"] == "KIND_NOT_FOLLOWED"
    assert reasons["/deepest"] == "TOO_DEEP"
    status = json.loads(call("status", crawled.folder, "--json").stdout)
    assert len(pages) == status["known"]


def test_links_in_order_with_their_fields(crawled: Stored) -> None:
    """R3: every link of every page, in order; kinds, internal and followed as DESIGN section 6 says."""
    links = links_of(crawled, "--from-url", crawled.url + "/")
    assert all(set(link) == set(LinkRow.__struct_fields__) for link in links)
    anchors = [link["anchor"] for link in links if link["kind"] == "a"]
    assert anchors[1:4] == ["to a", "/b", "/a#part"]
    by_target = {str(link["target"]).removeprefix(crawled.url): link for link in links}
    assert by_target["/a"]["followed"] is True
    assert by_target["/a"]["fragment"] == "part"  # the last of the two
    assert by_target["http://elsewhere.test/x"]["internal"] is False
    assert by_target["http://elsewhere.test/x"]["followed"] is False
    assert by_target["mailto:me@example.org"]["followed"] is False
    assert by_target["/logo.png"]["kind"] == "image"
    assert by_target["/secret"]["rel"] == "nofollow"
    assert by_target["/secret"]["followed"] is False
    assert by_target["/~user"]["target_key"] == by_target["/%7euser"]["target_key"] == crawled.url + "/~user"


def test_in_links_are_the_rows_of_links(crawled: Stored) -> None:
    """What `pages` counts is what `links` lists, sitemaps and redirects included."""
    listed = Counter(str(link["target_key"]) for link in links_of(crawled))
    for page in pages_of(crawled, "--all").values():
        assert page["in_links"] == listed[str(page["key"])], page["url"]


def test_out_links_are_the_rows_of_links(crawled: Stored) -> None:
    listed = Counter(str(link["source"]) for link in links_of(crawled))
    external = Counter(
        str(link["source"])
        for link in links_of(crawled)
        if not link["internal"] and str(link["target"]).startswith("http")
    )
    for page in pages_of(crawled).values():
        assert page["out_links"] == listed[str(page["url"])], page["url"]
        assert page["external_links"] == external[str(page["url"])], page["url"]


def test_links_tell_what_became_of_their_targets(crawled: Stored) -> None:
    """`target_status` and `target_error` are those of `weft pages`; null where the target was never asked."""
    pages = {page["key"]: page for page in pages_of(crawled, "--all").values()}
    for link in links_of(crawled):
        page = pages.get(link["target_key"], {"status": None, "error": None})
        assert (link["target_status"], link["target_error"]) == (page["status"], page["error"]), link
    by_target = {str(link["target"]).removeprefix(crawled.url): link for link in links_of(crawled)}
    assert (by_target["/missing"]["target_status"], by_target["/missing"]["target_error"]) == (404, None)
    assert by_target["/private/x"]["target_error"] == "ROBOTS_DISALLOWED"
    assert by_target["http://elsewhere.test/x"]["target_status"] is None


def test_broken_links(weft: Weft, site: Site) -> None:
    """One row a holder and target: 4xx, 5xx and no answer; robots.txt, what was never asked and redirects are none."""
    site.robots("User-agent: *\nDisallow: /private\n")
    site.page("/", ["/gone", "/gone#part", "/%7Egone", "/~gone", "/a", "/moved", "/private", "http://elsewhere.test/"])
    site.page("/a", ["/gone", "/down", "/reset", "/"])
    site.redirect("/moved", "/lost", 301)
    site.page("/down", status=500)
    site.misbehave("/reset", "reset_mid_body")
    run = weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--retries", "0")
    assert run.code == 0, run.stderr
    rows = [json.loads(line) for line in weft("links", "out", "--broken").stdout.splitlines()]
    found = [tuple(str(row[name]).removeprefix(site.at("")) for name in ("source", "target")) for row in rows]
    expected = {
        ("/", "/gone"), ("/", "/%7Egone"), ("/a", "/gone"), ("/a", "/down"), ("/a", "/reset"), ("/moved", "/lost")
    }  # fmt: skip
    assert len(found) == len(expected) and set(found) == expected
    assert broken_counts(weft.folder / "out") == (5, 3)
    assert run.stderr.splitlines()[-1] == "weft: 5 broken targets on 3 pages: weft links out --broken"
    statistics = json.loads(weft("stats", "out", "--json").stdout)
    assert statistics["broken_pages"] == 5
    to_gone = weft("links", "out", "--broken", "--to-url", site.at("/gone")).stdout.splitlines()
    assert [json.loads(line)["source"] for line in to_gone] == [site.at("/"), site.at("/a")]
    assert weft("links", "out", "--broken", "--to-url", site.at("/a")).stdout == ""
    documented = sqlite3.connect(weft.folder / "out" / "crawl.db").execute(documented_query("Broken links"))
    assert sorted(row[:3] for row in documented) == sorted(
        (row["source"], row["anchor"], row["target"]) for row in rows
    )
    whole = weft("links", "out", "--broken", "--from-url", site.at("/moved")).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in whole] == ["redirect"]


def documented_query(title: str) -> str:
    """The query below these words in docs/database.md."""
    text = (stored.ROOT / "docs" / "database.md").read_text()
    return text.partition(title)[2].partition("```sql\n")[2].partition("```")[0]


def test_a_crawl_without_broken_links_says_nothing_of_them(weft: Weft, site: Site) -> None:
    site.page("/", ["/private", "/a"])
    site.page("/a")
    site.robots("User-agent: *\nDisallow: /private\n")
    run = weft("crawl", site.at("/"), "-o", "out", "--delay", "0")
    assert run.code == 0 and "broken" not in run.stderr
    assert weft("links", "out", "--broken").stdout == "" and broken_counts(weft.folder / "out") == (0, 0)
    status = json.loads(weft("status", "out", "--json").stdout)
    assert (status["errors"], status["robots_refused"], status["completed"], status["known"]) == (0, 1, 2, 3)
    assert "0 errors" in run.stderr and weft("check", "out").code == 0


def test_robots_refusals_of_an_older_crawl_are_counted_when_it_goes_on(weft: Weft, site: Site) -> None:
    """An older weft counted them as errors."""
    site.page("/", ["/private", "/a"])
    site.page("/a")
    site.robots("User-agent: *\nDisallow: /private\n")
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0").code == 0
    with sqlite3.connect(weft.folder / "out" / "crawl.db") as db:
        db.execute("DELETE FROM counter WHERE name IN ('forbidden', 'broken', 'asked')")
    assert weft("check", "out").code == 0
    assert json.loads(weft("status", "out", "--json").stdout)["errors"] == 1
    assert weft("resume", "out").code == 0
    status = json.loads(weft("status", "out", "--json").stdout)
    assert (status["errors"], status["robots_refused"]) == (0, 1)


def test_counting_holders_is_left_to_the_command_where_it_takes_long(tmp_path: Path) -> None:
    """The last line of a large and quick crawl reads no links."""
    folder = made_crawl.make(tmp_path / "made", 200)
    with StoredCrawl(folder) as crawl:
        rows = list(crawl.links(broken=True))
    targets, pages = len({row.target for row in rows}), len({row.source for row in rows})
    told = f"{targets} broken targets on {pages} pages: weft links {folder} --broken"
    assert targets == 10 and broken_words(folder, 2_000, 1.0) == told
    assert broken_words(folder, 100_000_000, 1.0) == f"there are broken pages: weft links {folder} --broken"


def test_fields_and_where(crawled: Stored, tmp_path: Path) -> None:
    """`--fields` in its order, in every form; `--where` as of `weft graph`, several of them all."""
    run = call("pages", crawled.folder, "--fields", "url,status,title", "--where", "status >= 400")
    rows = [json.loads(line) for line in run.stdout.splitlines()]
    pages = [page for page in pages_of(crawled).values() if int(str(page["status"] or 0)) >= 400]
    assert [list(row) for row in rows] == [["url", "status", "title"]] * len(pages) and pages
    assert rows == [{name: page[name] for name in ("url", "status", "title")} for page in pages]
    both = call("pages", crawled.folder, "--where", "depth = 1", "--where", "url like '%/dup_'", "--fields", "url")
    assert [json.loads(line)["url"][-4:] for line in both.stdout.splitlines()] == ["dup1", "dup2"]
    assert call("pages", crawled.folder, "--fields", "depth,url", "-o", tmp_path / "x.csv").code == 0
    assert (tmp_path / "x.csv").read_text().splitlines()[:2] == ["depth,url", f"0,{crawled.url}/"]
    flags = call("pages", crawled.folder, "--where", "noindex", "--fields", "url").stdout
    assert flags == f'{{"url":"{crawled.url}/noindex"}}\n'


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--fields", "url,stauts"), "there is no field 'stauts'"),
        (("--fields", ","), "needs the name of a field"),
        (("--where", "stauts = 1"), "no such column: stauts"),
        (("--where", "kind = 'a'"), "no such column: kind"),
        (("--where", "(select 1)"), "only columns, values, and simple functions"),
    ],
)
def test_fields_and_expressions_that_are_none(crawled: Stored, options: tuple[str, str], said: str) -> None:
    run = call("pages", crawled.folder, *options)
    assert (run.code, run.stdout) == (2, "") and said in run.stderr


@pytest.mark.parametrize("command", ["pages", "links", "duplicates", "graph", "stats"])
@pytest.mark.parametrize("flag", ["-o", "--to", "--output"])
def test_a_file_of_an_unknown_form_is_refused(crawled: Stored, tmp_path: Path, command: str, flag: str) -> None:
    """-o, --to and --output name a file alike; its ending is its form."""
    run = call(command, crawled.folder, flag, tmp_path / "x.xlsx")
    assert run.code == 2 and not list(tmp_path.iterdir())
    assert "x.xlsx ends in .xlsx" in run.stderr and ".csv" in run.stderr
    assert call(command, crawled.folder, flag, tmp_path / "x.csv").code == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv"}


def test_links_to_a_page(crawled: Stored) -> None:
    """`--to-url` takes any spelling of the page."""
    every = [link for link in links_of(crawled) if link["target_key"] == crawled.url + "/~user"]
    assert links_of(crawled, "--to-url", crawled.url + "/~user") == every
    assert links_of(crawled, "--to-url", crawled.url + "/%7Euser") == every
    assert len(every) == 2
    redirects = [link for link in links_of(crawled, "--to-url", crawled.url + "/a") if link["kind"] == "redirect"]
    assert [link["source"] for link in redirects] == [crawled.url + "/old"]


@pytest.mark.parametrize("url", ["mailto:me@example.org", "data:text/html,"])
def test_links_to_what_can_be_no_page(crawled: Stored, url: str) -> None:
    """Who links to an address: what `links` shows as a target, `--to-url` takes."""
    every = [link for link in links_of(crawled) if str(link["target"]).startswith(url)]
    assert len(every) == 1
    assert links_of(crawled, "--to-url", str(every[0]["target"])) == every


def test_links_of_a_sitemap(crawled: Stored) -> None:
    """What `links` shows as a source, `--from-url` takes; robots.txt is known, and has no links."""
    sitemap = crawled.url + "/sitemap.xml"
    every = [link for link in links_of(crawled) if link["source"] == sitemap]
    assert [link["target"] for link in every] == [crawled.url + "/mapped"]
    assert links_of(crawled, "--from-url", sitemap) == every
    assert links_of(crawled, "--from-url", sitemap, "--to-url", crawled.url + "/mapped") == every
    assert links_of(crawled, "--from-url", sitemap, "--to-url", crawled.url + "/a") == []
    assert links_of(crawled, "--from-url", crawled.url + "/robots.txt") == []


def test_links_of_a_sitemap_that_is_also_a_page(site: Site, weft: Weft) -> None:
    site.page("/", ["/sitemap.xml"])
    site.page("/sitemap.xml", ["/a"])  # read as a sitemap it names nothing, as a page it has a link
    site.page("/a")
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet").code == 0
    found = weft("links", "out", "--from-url", site.at("/sitemap.xml")).stdout.splitlines()
    assert [json.loads(line)["kind"] for line in found] == ["a"]


def test_links_of_an_unknown_page(crawled: Stored) -> None:
    run = call("links", crawled.folder, "--from-url", crawled.url + "/never", "--format", "csv")
    assert run.code == 1
    assert run.stdout == ""
    assert "is not known" in run.stderr
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("words", ["links {0} --from-url {1}", "show {0} {1}", "why {0} {1}"])
def test_a_path_is_a_url_where_there_is_one_site(crawled: Stored, tmp_path: Path, words: str) -> None:
    """/a means that page in a crawl of one site; in one of several it is no URL, and neither is a word."""
    by_path, by_url = (call(*words.format(crawled.folder, at).split()) for at in ("/a", crawled.url + "/a"))
    assert by_path.code == 0 and by_path.out == by_url.out != b""
    several = made_crawl.make(tmp_path / "several", 20, sites=2)
    with sqlite3.connect(several / "crawl.db") as db:
        db.execute("UPDATE site SET pages = 1")
    for folder, text in ((several, "/a"), (crawled.folder, "a")):
        run = call(*words.format(folder, text).split())
        said = f"weft: {text!r} is no URL: give it whole, with https:// or http://\n"
        assert (run.code, run.stdout, run.stderr) == (2, "", said)


def test_csv_is_the_same_rows_without_formulas(crawled: Stored) -> None:
    """Promise 9: what the web sends never becomes code: no cell begins a formula, no cell breaks a line."""
    run = call("pages", crawled.folder, "--format", "csv", "--all")
    rows = list(csv.DictReader(io.StringIO(run.stdout)))
    pages = pages_of(crawled, "--all")
    assert [row["url"] for row in rows] == [page["url"] for page in pages.values()]
    assert len(run.stdout.splitlines()) == len(rows) + 1
    titles = {row["url"].removeprefix(crawled.url): row["title"] for row in rows}
    assert titles["/odd"] == "'" + stored.ODD_TITLE
    assert "\x1b" not in run.stdout
    assert "\u202e" not in run.stdout
    assert {row["noindex"] for row in rows} == {"true", "false"}
    assert {row["status"] for row in rows} >= {"200", "404", ""}


def test_parquet_is_the_same_rows(crawled: Stored, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for command, kind in (("pages", Page), ("links", LinkRow)):
        run = call(command, crawled.folder, "--format", "parquet", "-o", tmp_path / "x.parquet")
        assert run.code == 0, run.stderr
        table = parquet.read_table(tmp_path / "x.parquet")
        assert table.column_names == list(kind.__struct_fields__)
        lines = call(command, crawled.folder).stdout.splitlines()
        assert table.to_pylist() == [json.loads(line) for line in lines]


def test_parquet_without_pyarrow_is_one_sentence(weft: Weft, crawled: Stored, tmp_path: Path) -> None:
    (tmp_path / "hidden").mkdir()
    (tmp_path / "hidden" / "pyarrow.py").write_text("raise ImportError('not here')\n")
    path = f"{tmp_path / 'hidden'}{os.pathsep}{weft.environment['PYTHONPATH']}"
    run = weft("pages", crawled.folder, "--format", "parquet", "-o", "x.parquet", env={"PYTHONPATH": path})
    assert run.code == 2
    assert "weft-crawler[parquet]" in run.stderr
    assert not (weft.folder / "x.parquet").exists()


def test_a_file_appears_whole_and_replaces_an_older_one(crawled: Stored, tmp_path: Path) -> None:
    target = tmp_path / "pages.jsonl"
    target.write_text("older\n")
    assert call("pages", crawled.folder, "--to", target).code == 0
    assert [json.loads(line)["state"] for line in target.read_text().splitlines()].count("E") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["pages.jsonl"]


def test_the_name_of_a_file_chooses_the_format(crawled: Stored, tmp_path: Path) -> None:
    assert call("links", crawled.folder, "-o", tmp_path / "links.csv").code == 0
    assert (tmp_path / "links.csv").read_text().startswith("source,target,")


def test_a_file_that_fails_leaves_the_older_one(crawled: Stored, tmp_path: Path) -> None:
    """No half file under the final name, and the older one stays."""
    target = tmp_path / "links.jsonl"
    target.write_text("older\n")
    assert call("links", crawled.folder, "--to-url", crawled.url + "/never", "-o", target).code == 1
    assert target.read_text() == "older\n"
    assert [path.name for path in tmp_path.iterdir()] == ["links.jsonl"]


@pytest.mark.parametrize("target", ["{folder}", "{folder}/crawl.db", "{folder}/warc/x.jsonl", "nowhere/x.jsonl"])
def test_targets_that_cannot_be(crawled: Stored, target: str) -> None:
    before = (crawled.folder / "crawl.db").stat().st_size
    run = call("pages", crawled.folder, "--to", target.format(folder=crawled.folder))
    assert run.code == 2
    assert run.stderr.startswith("weft: ")
    assert (crawled.folder / "crawl.db").stat().st_size == before


def test_a_device_is_written_to_as_it_is(crawled: Stored) -> None:
    assert call("pages", crawled.folder, "--to", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()


def test_a_table_is_bounded_and_safe(crawled: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """Promise 9: no control character of a page reaches the terminal."""
    monkeypatch.setenv("COLUMNS", "120")
    run = call("pages", crawled.folder, "--format", "table")
    lines = run.stdout.splitlines()
    assert lines[0].split()[:2] == ["state", "http"]
    assert len(lines) == 19
    assert all(len(line) <= 120 for line in lines)
    assert "\x1b" not in run.stdout
    assert "\u202e" not in run.stdout
    assert all(len(line) <= 120 for line in call("links", crawled.folder, "--format", "table").stdout.splitlines())


def test_a_narrow_table_shows_urls(crawled: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """What matters least is left out, and a long URL keeps its end: it tells the pages of a site apart."""
    monkeypatch.setenv("COLUMNS", "80")
    lines = call("pages", crawled.folder, "--all", "--format", "table").stdout.splitlines()
    assert lines[0].split() == ["state", "http", "error", "or", "reason", "size", "depth", "url"]
    assert all(len(line) <= 80 for line in lines)
    pages = [json.loads(line) for line in call("pages", crawled.folder, "--all").stdout.splitlines()]
    shown = [line.split()[-1] for line in lines[1:]]
    for page, told in zip(pages, shown, strict=True):
        start, _, end = told.partition("\u2026")
        assert page["url"].startswith(start) and page["url"].endswith(end) and (end or told == page["url"])


def test_a_table_leaves_empty_columns_out(crawled: Stored, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no row has takes no room, until a row has it."""
    monkeypatch.setenv("COLUMNS", "200")
    lines = call("pages", crawled.folder, "--where", "status = 200", "--format", "table").stdout.splitlines()
    assert "error or reason" not in lines[0] and "title" in lines[0]
    assert "error or reason" in call("pages", crawled.folder, "--format", "table").stdout.splitlines()[0]
    out = io.BytesIO()
    columns = (Column("url", ("url",)), Column("number", ("status",), 6, right=True))
    few = [msgspec.defstruct("Row", ["url", "status"])(url, status) for url, status in (("a", None), ("b", 404))]
    write_table([few[:1], few[1:]], columns, out, bold=False)
    assert out.getvalue().decode().splitlines() == ["url", "a", "url  number", "b       404"]


def test_a_reader_that_leaves_ends_it_quietly(weft: Weft, crawled: Stored) -> None:
    """`weft links | head -1`: no message, exit 0."""
    process = weft.start("links", crawled.folder, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    _, stderr = process.communicate(timeout=300)
    assert stderr == b""
    assert process.returncode == 0


def test_no_rows_is_no_error(tmp_path: Path) -> None:
    """A crawl of nothing still has its header and its schema."""
    from weft.derive.rows import write_rows
    from weft.folder import Folder

    for form in ("jsonl", "csv", "table"):
        rows: list[Page] = []
        write_rows(rows, Page, (), asked=form, file=str(tmp_path / form), folder=Folder(tmp_path / "none"))
    assert (tmp_path / "jsonl").read_bytes() == b""
    assert (tmp_path / "csv").read_text().count("\n") == 1


def test_memory_stays_flat(weft: Weft, tmp_path: Path) -> None:
    """`pages` and `links` stream: ten times the pages, the same memory (but for four bytes a URL)."""
    if not sys.platform.startswith("linux"):
        pytest.skip("peak memory is read from /proc")
    peaks = []
    for count in (1_000, 12_000):
        folder = tmp_path / str(count)
        synthetic(folder, count)
        with StoredCrawl(folder):
            pass
        script = (
            "import sys, resource; from weft.cli.main import main\n"
            f"code = main(['links', {str(folder)!r}, '-o', '/dev/null'])\n"
            f"code = code or main(['pages', {str(folder)!r}, '--to', '/dev/null'])\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss); sys.exit(code)"
        )
        run = subprocess.run([sys.executable, "-c", script], env=weft.environment, capture_output=True, check=True)
        peaks.append(int(run.stdout) / 1024)
    assert peaks[1] < peaks[0] + 25, peaks


def synthetic(folder: Path, count: int) -> None:
    """A crawl of ``count`` pages with ten links each, written without crawling."""
    import msgspec

    from weft.db.connection import open_writer
    from weft.db.schema import MIGRATIONS
    from weft.folder import Folder
    from weft.options import spec_of, write_spec

    place = Folder(folder)
    place.make()
    write_spec(place.spec, spec_of(["http://big.test/"], {"no_archive": True}))
    database = open_writer(place.db, MIGRATIONS)
    with database.transaction() as db:
        db.execute("INSERT INTO meta VALUES('hash_seed', 1), ('seeded', 1)")
        db.execute("INSERT INTO site(id, name) VALUES(1, 'big.test')")
        numbers = range(1, count + 1)
        db.executemany(
            "INSERT INTO url VALUES(?, ?, NULL)", [(n, f"http://big.test/section/page-{n}.html") for n in numbers]
        )
        db.executemany(
            "INSERT INTO page(id, site, state, depth, priority, attempts, visit) VALUES(?, 1, 'C', 1, 1, 1, ?)",
            [(n, n) for n in numbers],
        )
        db.executemany(
            "INSERT INTO visit(id, page, url, purpose, attempt, started_ms, status, title, out_links, hash)"
            " VALUES(?, ?, ?, 0, 1, 1700000000000, 200, ?, 10, ?)",
            [(n, n, n, "title " * 10, n) for n in numbers],
        )
        packs = (
            (n, msgspec.json.encode([[(n * 7 + k) % count + 1, 1, 1, "anchor"] for k in range(10)])) for n in numbers
        )
        db.executemany("INSERT INTO link_pack VALUES(?, ?)", ((n, pack.decode()) for n, pack in packs))
    database.close()


def test_a_crawl_that_goes_on_while_it_is_read(tmp_path: Path) -> None:
    """DESIGN section 4: an export reads up to the largest visit at its start."""
    from weft.db.connection import open_writer
    from weft.db.schema import MIGRATIONS

    synthetic(tmp_path / "c", 1_500)
    database = open_writer(tmp_path / "c" / "crawl.db", MIGRATIONS)
    with database.transaction() as db:  # one page was tried once and waits, one was never tried
        db.execute("UPDATE page SET state = 'W' WHERE id IN (1400, 1450)")
        db.execute("UPDATE page SET visit = NULL WHERE id = 1450")
        db.execute("DELETE FROM visit WHERE id = 1450")
    with StoredCrawl(tmp_path / "c") as crawl:
        reading = crawl.pages()
        first = next(reading)
        with database.transaction() as db:
            columns = "id, page, url, purpose, attempt, started_ms, status"
            db.execute(f"INSERT INTO visit({columns}) VALUES(2000, 1400, 1400, 0, 2, 5, 200)")
            db.execute(f"INSERT INTO visit({columns}) VALUES(2001, 1450, 1450, 0, 1, 5, 200)")
            db.execute("UPDATE page SET state = 'C', visit = id + 600 WHERE id = 1400")
            db.execute("UPDATE page SET state = 'C', visit = 2001 WHERE id = 1450")
        rest = {page.url: page for page in reading}
    database.close()
    assert first.url.endswith("page-1.html")
    assert len(rest) == 1_498
    assert rest["http://big.test/section/page-1400.html"].state == "W"
    assert "http://big.test/section/page-1450.html" not in rest


TEXTS = st.text(st.characters(exclude_categories=()), max_size=60)


@given(TEXTS)
def test_text_is_safe_whatever_it_holds(text: str) -> None:
    """Promise 9, for every character there is, lone surrogates too."""
    for made in (shown(text), str(cell(text))):
        assert made.encode("utf-8").decode() == made
        assert len(made.splitlines()) <= 1
        assert not any(ord(character) < 32 or 127 <= ord(character) < 160 for character in made)
    assert not str(cell(text)).startswith(("=", "+", "-", "@", "\t", "\r"))
    assert "\x1b" not in shown_text(text)
    assert shown_text("a\n\tb\r\nc") == "a\n\tb\nc"


# --- JSON


@given(st.text())
def test_json_reads_back_the_same_and_steers_no_terminal(text: str) -> None:
    """Promise 9: what a terminal obeys or turns is an escape in jsonl, and no reader sees a difference."""
    value = [text, "\x7f\x9b31m\u202e\u2066\u200f\u2028\ufeff"]
    if any(0xD800 <= ord(char) <= 0xDFFF for char in text):
        return
    written = in_json(json.dumps(value, ensure_ascii=False).encode())
    assert json.loads(written) == value
    assert shown(written.decode()) == written.decode()


def test_titles_in_jsonl_are_whole_and_harmless(weft: Weft, tmp_path: Path) -> None:
    title = "a\x7fb\u009b31mc\u202ed\u2066e"
    with Site() as site:
        site.page("/", title=title)
        assert weft("crawl", site.url, "-o", "out", "--sitemaps", "no").code == 0
    for words in (("pages", "out", "--format", "jsonl"), ("why", "out", f"{site.url}/", "--json")):
        run = weft(*words)
        assert run.code == 0 and shown(run.stdout.rstrip("\n")) == run.stdout.rstrip("\n"), run.stdout
    (page,) = map(json.loads, weft("pages", "out", "--format", "jsonl").stdout.splitlines())
    assert page["title"] == title
