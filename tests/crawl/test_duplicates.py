"""Duplicates: equal bodies, near-duplicate texts, and who stands for whom (R13, E18, G7; issue 5, section 1)."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import kill
import pytest
from command import Weft
from drawn_texts import text_of, true_jaccard
from web import HTML, Site, html_page

from weft.demo.server import Served

# ---- crawls


def rows_of(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def crawl_options(served: Served) -> list[str]:
    return ["--resolve", served.resolve, "--delay", "0", "--per-host", "16", "--near-duplicates", "0.99"]


def test_the_planted_duplicates_are_found(invented: Callable[..., Served], weft: Weft) -> None:
    """R13, E18, G7: exact and near duplicates equal the key, neither more nor fewer; pages and `why` say so."""
    served = invented(seed=9, hosts=3, pages=400)
    assert weft("crawl", *served.seeds, "-o", "out", *crawl_options(served)).code == 0
    depth = {url: entry.depth for url, entry in served.web.expected().items()}

    def first(urls: tuple[str, ...]) -> str:
        return min(urls, key=lambda url: (depth[url] or 0, url))

    exact = {url: first(group) for group in served.web.duplicates() for url in group if url != first(group)}
    near = {max(pair, key=lambda url: (depth[url] or 0, url)): first(pair) for pair in served.web.near_duplicates()}
    assert len(exact) > 20 and len(near) > 20
    rows = rows_of(weft("duplicates", "out").stdout)
    assert {row["page"]: row["duplicate_of"] for row in rows if row["kind"] == "exact"} == exact
    assert {row["page"]: row["duplicate_of"] for row in rows if row["kind"] == "near"} == near
    assert all(row["similarity"] == 1 for row in rows if row["kind"] == "exact")
    assert all(0.99 <= row["similarity"] < 1 for row in rows if row["kind"] == "near")  # type: ignore[operator]
    pages = rows_of(weft("pages", "out").stdout)
    assert {page["url"]: page["duplicate_of"] for page in pages if page["duplicate_of"]} == {**exact, **near}
    some = next(iter(near))
    told = weft("why", "out", some).stdout
    assert "it is a near-duplicate: its text is 99." in told and near[some] in told
    assert "its body is that of" in weft("why", "out", next(iter(exact))).stdout
    assert weft("check", "out").code == 0


def test_without_sketches_and_without_an_archive_it_is_the_same(invented: Callable[..., Served], weft: Weft) -> None:
    """Issue 5: `weft duplicates` on any stored crawl: with sketches, from the archive alone, or without one."""
    served = invented(seed=9, hosts=2, pages=150)
    words = ["--resolve", served.resolve, "--delay", "0", "--per-host", "16"]
    assert weft("crawl", *served.seeds, "-o", "with", *words, "--near-duplicates", "0.99").code == 0
    assert weft("crawl", *served.seeds, "-o", "plain", *words).code == 0
    assert weft("crawl", *served.seeds, "-o", "bare", *words, "--near-duplicates", "0.99", "--no-archive").code == 0
    for asked in (("--threshold", "0.99"), ("--threshold", "0.9", "--pairs"), ("--threshold", "0.99", "--similarity",
                  "signature")):  # fmt: skip
        expected = weft("duplicates", "with", *asked).stdout
        assert expected.count('"near"') >= 5 and expected.count('"exact"') >= 5
        assert sorted(weft("duplicates", "plain", *asked).stdout.splitlines()) == sorted(expected.splitlines())
        assert sorted(weft("duplicates", "bare", *asked).stdout.splitlines()) == sorted(expected.splitlines())
    told = {page["url"] for page in rows_of(weft("pages", "plain").stdout) if page["duplicate_of"]}
    assert told == {row["page"] for row in rows_of(weft("duplicates", "plain").stdout) if row["kind"] == "exact"}


def near_site(site: Site) -> dict[str, str]:
    """A row of texts, each a little different from the one before; empty pages; the same text in other markup."""
    words = text_of(3, 400).split()
    texts = {}
    for number in range(6):
        words[number * 40 : number * 40 + 12] = [f"new{number}{at}" for at in range(12)]
        texts[f"/row/{number}"] = " ".join(words)
    for path, text in texts.items():
        site.page(path, body=f"<p>{text}</p>")
    site.page("/empty/1", title="one", body="<script>1</script>")
    site.page("/empty/2", title="two", body="<script>2</script>")
    site.page("/markup", title="other", body=f"<div><b>{texts['/row/0']}</b></div>")
    site.page("/", links=[*texts, "/empty/1", "/empty/2", "/markup"])
    return texts


def test_clusters_are_no_chains(site: Site, weft: Weft) -> None:
    """Issue 5: each member is near its representative; nothing is merged by way of a third page; empty pages are
    near nothing; what is shown is the true index."""
    texts = near_site(site)
    assert weft("crawl", site.url, "-o", "out", "--delay", "0").code == 0
    rows = rows_of(weft("duplicates", "out", "--threshold", "0.85").stdout)
    found = {str(row["page"]).removeprefix(site.url): row for row in rows}
    assert not {path for path in found if path.startswith("/empty")}
    paths = sorted(["/markup", *texts])
    texts["/markup"] = texts["/row/0"]
    standing: list[str] = []
    for path in paths:
        near = [other for other in standing if true_jaccard(texts[path], texts[other]) >= 0.85]
        if near:
            assert found[path]["duplicate_of"] == site.at(near[0])
            assert found[path]["similarity"] == pytest.approx(true_jaccard(texts[path], texts[near[0]]), abs=0.01)
        else:
            assert path not in found
            standing.append(path)
    assert 2 <= len(standing) < len(paths) - 1, "the row is cut into several clusters"
    pairs = rows_of(weft("duplicates", "out", "--threshold", "0.85", "--pairs").stdout)
    assert {(row["duplicate_of"], row["page"]) for row in pairs} == {
        (site.at(one), site.at(other))
        for at, other in enumerate(paths)
        for one in paths[:at]
        if true_jaccard(texts[one], texts[other]) >= 0.85
    }


def test_equal_fingerprints_are_checked_on_the_bytes(site: Site, weft: Weft) -> None:
    """E18: where fingerprints are equal, the pages themselves are compared; other compression is no difference."""
    body = html_page("same", body="<p>the same</p>" * 60)
    other = html_page("like", body="<p>the SAME</p>" * 60)
    assert len(body) == len(other)
    site.page("/", links=["/a", "/b", "/c"])
    site.file("/a", body, HTML)
    site.file("/b", gzip.compress(body), HTML, headers={"Content-Encoding": "gzip"})
    site.file("/c", other, HTML)
    assert weft("crawl", site.url, "-o", "out", "--delay", "0").code == 0
    exact = [(row["page"], row["duplicate_of"]) for row in rows_of(weft("duplicates", "out").stdout)]
    assert exact == [(site.at("/b"), site.at("/a"))]
    db = sqlite3.connect(weft.folder / "out" / "crawl.db")
    (known,) = db.execute("SELECT hash FROM document WHERE url LIKE '%/a'").fetchone()
    with db:  # as if somebody had made them collide
        db.execute("UPDATE visit SET hash = ? WHERE id = (SELECT visit FROM page p JOIN url u ON u.id = p.id"
                   " WHERE u.text LIKE '%/c')", (known,))  # fmt: skip
    db.close()
    assert [(row["page"], row["duplicate_of"]) for row in rows_of(weft("duplicates", "out").stdout)] == exact
    told = {page["url"]: page["duplicate_of"] for page in rows_of(weft("pages", "out").stdout)}
    assert told[site.at("/c")] is None and told[site.at("/b")] == site.at("/a")


def test_links_of_duplicates_by_a_setting(site: Site, weft: Weft) -> None:
    """G7: a duplicate's links are not extracted, as a setting; by default they are followed."""
    body = html_page("same", links=["next"], body="<p>the same</p>" * 60)
    site.page("/", links=["/a/", "/b/"])
    site.file("/a/", body, HTML)
    site.file("/b/", body, HTML)
    site.page("/a/next")
    site.page("/b/next")
    words = ["--delay", "0", "--workers", "1"]
    assert weft("crawl", site.url, "-o", "all", *words).code == 0
    assert weft("crawl", site.url, "-o", "few", *words, "--skip-duplicates", "exact").code == 0
    assert {site.at("/a/next"), site.at("/b/next")} <= {row["url"] for row in rows_of(weft("pages", "all").stdout)}
    pages = {row["url"]: row for row in rows_of(weft("pages", "few", "--all").stdout)}
    assert pages[site.at("/a/next")]["state"] == "C"
    assert pages[site.at("/b/next")]["reason"] == "ON_DUPLICATE"
    assert "--skip-duplicates exact" in weft("why", "few", site.at("/b/next")).stdout


def test_links_of_near_duplicates_by_a_setting(site: Site, weft: Weft) -> None:
    """G7: the same for near-duplicates, where it is asked for; across a stop and a resume; chains do not grow."""
    text = text_of(5, 1_500)
    site.page("/", links=[f"/{number}/" for number in range(4)])
    for number in range(4):
        other = text if number < 3 else text_of(6, 1_500)
        site.file(f"/{number}/", html_page("same", links=["next"], body=f"<p>{other} number {number}</p>"), HTML)
        site.page(f"/{number}/next")
    words = ["--delay", "0", "--workers", "1", "--near-duplicates", "0.95", "--skip-duplicates", "near"]
    assert weft("crawl", site.url, "-o", "out", *words, "--max-pages", "2").code == 0
    assert weft("resume", "out", "--max-pages", "100").code == 0
    pages = {row["url"]: row for row in rows_of(weft("pages", "out", "--all").stdout)}
    assert [pages[site.at(f"/{number}/next")]["reason"] for number in range(4)] == [
        None, "ON_DUPLICATE", "ON_DUPLICATE", None,
    ]  # fmt: skip
    assert pages[site.at("/2/")]["duplicate_of"] == site.at("/0/")
    refused = weft("crawl", site.url, "--skip-duplicates", "near")
    assert refused.code == 2 and "--near-duplicates" in refused.stderr


def test_verdicts_of_a_crawl_that_went_on(site: Site, weft: Weft) -> None:
    """What was stored at the end of a run is not told of a later state: readers find it out anew."""
    near_site(site)
    assert weft("crawl", site.url, "-o", "out", "--delay", "0", "--near-duplicates", "0.85").code == 0
    whole = weft("pages", "out", "--format", "csv").stdout
    shutil.copytree(weft.folder / "out", weft.folder / "killed")
    db = sqlite3.connect(weft.folder / "killed" / "crawl.db")
    with db:
        db.execute("DELETE FROM near_duplicate WHERE page % 2")
        db.execute("UPDATE meta SET value = '[1,0.85,\"fast\",\"jaccard\"]' WHERE name = 'near_duplicates'")
    db.close()
    assert weft("pages", "killed", "--format", "csv").stdout == whole


def test_forms_of_the_output(site: Site, weft: Weft) -> None:
    """Issue 5: jsonl, csv and parquet; a crawl without duplicates gives valid empty files."""
    near_site(site)
    assert weft("crawl", site.url, "-o", "out", "--delay", "0").code == 0
    assert weft("duplicates", "out", "--threshold", "0.85", "--to", "rows.csv").code == 0
    lines = (weft.folder / "rows.csv").read_text().splitlines()
    assert lines[0] == "page,duplicate_of,similarity,kind" and len(lines) > 2
    parquet = pytest.importorskip("pyarrow.parquet")
    assert weft("duplicates", "out", "--threshold", "0.85", "--to", "rows.parquet").code == 0
    assert parquet.read_table(weft.folder / "rows.parquet").num_rows == len(lines) - 1
    assert weft("duplicates", "out", "--threshold", "1", "--format", "csv").stdout == lines[0] + "\n"
    everything = rows_of(weft("duplicates", "out", "--threshold", "0", "--pairs").stdout)
    assert len(everything) == 8 * 7 / 2, "every two pages that have a text"


def test_the_same_after_kills(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """DESIGN section 2: with kills and resumes the duplicates, near ones too, are those of an undisturbed crawl."""
    code = kill.main(["--runs", "1", "--kills", "4", "--seed", "8", "--pages", "150", "--hosts", "2",
                      "--option=--near-duplicates", "--option=0.99"])  # fmt: skip
    assert code == 0, capsys.readouterr().out
