"""Duplicates: equal bodies, near-duplicate texts, and who stands for whom (R13, E18, G7; issue 5, section 1)."""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import sqlite3
import string
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Weft
from hypothesis import given
from hypothesis import strategies as st
from web import HTML, Site, html_page

from weft.cli import main
from weft.demo.server import Served
from weft.judge.likeness import Likeness, band_hashes, bands_of, estimates, signature_similarity
from weft.judge.sketch import (
    EMPTY,
    classic_sketch,
    fast_sketch,
    jaccard,
    kept_text,
    shingles,
    sketcher,
)
from weft.parse.bounds import tree_of
from weft.parse.text import flat_text, plain_text, visible_text

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import kill

WORDS = [
    "".join(random.Random(number).choices(string.ascii_lowercase + "éžш漢", k=number % 7 + 2)) for number in range(900)
]


GOLDEN_SHINGLES = [527997863467987495, 1036916195839264147]
GOLDEN_CLASSIC = [97399570, 75143422, 80172609]
GOLDEN_FAST = [54082, 56777, 58385]


def true_jaccard(one: str, other: str) -> float:
    """The Jaccard index as the definition has it, by sets of texts."""
    sets = []
    for text in (one, other):
        flat = " ".join(text.split())
        sets.append({flat[at : at + 8] for at in range(len(flat) - 7)})
    return len(sets[0] & sets[1]) / len(sets[0] | sets[1]) if all(sets) else 0.0


def text_of(seed: int, words: int, changed: int = 0) -> str:
    """A text; ``changed`` words of it differ from those of the same seed without."""
    draw = random.Random(seed)
    chosen = draw.choices(WORDS, k=words)
    for at in random.Random(-seed).sample(range(words), changed):
        chosen[at] = f"x{at}y"
    return " ".join(chosen)


# ---- sketches


@given(st.text(max_size=60), st.text(max_size=60))
def test_shingles_are_those_of_the_definition(one: str, other: str) -> None:
    """G7: runs of eight characters of the text, whitespace as one space; of any characters whatever."""
    assert jaccard(shingles(one), shingles(other)) == true_jaccard(one, other)
    assert jaccard(shingles(one + other), shingles(f" {one}{other}\n")) == true_jaccard(one + other, one + other)


@pytest.mark.parametrize("alphabet", ["abc ", "abc \u2014", "abc \u0436\u6f22\U0001f600", "\u0436\u6f22 "])
def test_long_texts_have_the_same_shingles(alphabet: str) -> None:
    """G7: many blocks, characters of any width in them and across their edges, few or many."""
    draw = random.Random(4)
    weights = [90 if letter in "abc" else 1 if letter == "\u2014" else 10 for letter in alphabet]
    one = "".join(draw.choices(alphabet, weights, k=40_000))
    other = one[:9_000] + "\u2014x" + one[9_005:12_285] + "zzz" + one[12_288:30_000] + one[:5_000]
    assert 0 < jaccard(shingles(one), shingles(other)) == true_jaccard(one, other) < 1
    for code in (0x100, 0x120, 0x2020, 0x203F, 0x3F, 0x4E20, 0x1F620):  # bytes of them are a space or a question mark
        texts = ["abcdefg" + chr(code + more) for more in (0, 1, 0x100)]
        assert all(jaccard(shingles(a), shingles(b)) == (a == b) for a in texts for b in texts)
    assert jaccard(shingles("abc\u2003\u3000defg h"), shingles(" abc defg\x85\u200ah\u2028")) == 1


@pytest.mark.parametrize("words", [30, 300, 1_500])
def test_the_error_of_sketches_is_that_of_theory(words: int) -> None:
    """Issue 5: the fast sketch errs no more than 250 classic functions do, for short texts and long ones."""
    squares: dict[str, list[float]] = {"fast": [], "classic": []}
    bound: list[float] = []
    for seed in range(40 if words < 1_000 else 12):
        one, other = text_of(seed, words), text_of(seed, words, changed=max(1, words * (seed % 8 + 1) // 40))
        truth = true_jaccard(one, other)
        bound.append(truth * (1 - truth) / 250)
        for kind, dtype in (("fast", "<u2"), ("classic", "<u4")):
            make = sketcher(kind)
            first = np.frombuffer(make(one), dtype).astype(dtype[1:])
            second = np.frombuffer(make(other), dtype).astype(dtype[1:])
            told, _ = estimates(first, second[np.newaxis])
            squares[kind].append((float(told[0]) - truth) ** 2)
    assert np.mean(squares["fast"]) < 1.3 * np.mean(bound)
    assert np.mean(squares["classic"]) < 2 * np.mean(bound)


def test_sketches_are_the_same_everywhere() -> None:
    """G7: the same functions for all pages of a crawl and its resumes; so they may never change."""
    text = "The quick brown fox jumps over the lazy dog. Žluťoučký kůň 漢字."
    assert shingles(text)[:2].tolist() == GOLDEN_SHINGLES
    assert np.frombuffer(classic_sketch(text), "<u4")[:3].tolist() == GOLDEN_CLASSIC
    fast = np.frombuffer(fast_sketch(text), "<u2")
    assert fast[fast != EMPTY][:3].tolist() == GOLDEN_FAST
    assert len(fast_sketch(text)) == 1024 and len(classic_sketch(text)) == 1000


def test_texts_without_a_shingle_have_no_sketch() -> None:
    """G7: empty pages are no duplicates of each other."""
    for text in ("", "   \n\t ", "1234567", " 123 45 "):
        assert fast_sketch(text) == classic_sketch(text) == b""
        assert jaccard(shingles(text), shingles(text)) == 0
    assert fast_sketch("12345678") and jaccard(shingles("12345678"), shingles(" 12345678 ")) == 1


def test_a_text_kept_beside_its_sketch() -> None:
    text = text_of(1, 200) + "\ud800"
    for kind, plain in (("fast", fast_sketch), ("classic", classic_sketch)):
        data = sketcher(kind, with_text=True)(text)
        assert data.startswith(plain(text)) and kept_text(data, kind) == text
        assert kept_text(plain(text), kind) is None and kept_text(plain(text) + b"damaged", kind) is None
        assert sketcher(kind, with_text=True)("short") == b""


def test_the_measure_of_the_seed() -> None:
    """G7: the Jaccard index of the two signatures as sets; its worked example is 246 of 254."""
    one = np.arange(250, dtype=np.uint32)
    other = np.concatenate((np.arange(246), np.arange(1_000, 1_004))).astype(np.uint32)
    assert signature_similarity(one, other) == pytest.approx(0.968503937007874, abs=1e-15)
    bands = bands_of(Likeness(0.968503937007874, "classic", "signature"))
    assert bands is not None
    first, second = band_hashes(np.stack([one, other]), bands).T
    assert (first == second).any(), "a pair at the threshold has a band in common, always"


@pytest.mark.parametrize("minhash", ["fast", "classic"])
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0])
def test_bands_miss_hardly_anything(threshold: float, minhash: str) -> None:
    """Issue 5: no pair above the threshold missed more often than 1 in 100."""
    bands = bands_of(Likeness(threshold, minhash))
    assert bands is not None
    assert (1 - threshold**bands.rows) ** bands.count < 0.001
    assert bands_of(Likeness(0.0, minhash)) is None, "there every two texts are compared"


# ---- texts


def test_the_fast_text_is_the_visible_text() -> None:
    """The text that sketches are made of has the characters that `weft show --text` shows."""
    tags = re.findall(
        r"\w+",
        """p div ul ol li table tr td th b a span pre select option textarea h1 script style title template iframe
        object form fieldset legend br hr q ruby rp rt dl dt dd details summary blockquote noscript datalist noembed""",
    )

    def some(draw: random.Random, depth: int) -> str:
        parts = []
        for _ in range(draw.randint(1, 4)):
            if depth > 4 or draw.random() < 0.5:
                parts.append(draw.choice(["a", "bb ", " ", "\n", "&amp;", "é", "漢字", "&nbsp;", "<!--c-->"]))
            else:
                tag = draw.choice(tags)
                parts.append(f"<{tag}>{some(draw, depth + 1)}</{tag}>")
        return "".join(parts)

    for seed in range(600):
        page = some(random.Random(seed), 0).encode()
        assert "".join(plain_text(page, HTML).split()) == "".join(visible_text(page, HTML).split()), page
    blocks = b"<ul><li>one<li>two</ul><table><tr><td>a<td>b<tr><td>c</table><p>x<br>y</p><ol><li>first</ol>"
    assert plain_text(blocks, HTML).split() == ["one", "two", "a", "b", "c", "x", "y", "first"]
    assert plain_text(b"plain  words", "text/plain") == "plain  words" and plain_text(b"%PDF", "application/pdf") == ""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param("<table><tr><td>" + "x" * 20_000 + "<td>b" + "<tr><td>y<td>z" * 5_000, id="wide-cell"),
        pytest.param("<blockquote>a" * 3_000, id="quotations"),
        pytest.param("<ul><li>a" * 3_000, id="lists"),
        pytest.param("<table><tr><td>a" * 400, id="tables"),
        pytest.param("<object>a" * 3_000, id="objects"),
    ],
)
def test_no_page_blows_the_text_up(page: str) -> None:
    """Promise 6: layout, indentation and grids of hostile tables add nothing."""
    tree = tree_of(page.encode(), "utf-8")
    assert tree is not None and len(flat_text(tree.document)) < 2 * len(page)


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


def test_the_same_after_kills(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """DESIGN section 2: with kills and resumes the duplicates, near ones too, are those of an undisturbed crawl."""
    code = kill.main(["--runs", "1", "--kills", "4", "--seed", "8", "--pages", "150", "--hosts", "2",
                      "--option=--near-duplicates", "--option=0.99"])  # fmt: skip
    assert code == 0, capsys.readouterr().out


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


@pytest.mark.parametrize("threshold", ["1.01", "-0.1", "nan", "x", "", "1e3"])
def test_a_threshold_that_is_none(threshold: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 5, section 5: a threshold outside 0..1 is wrong use, told in one sentence."""
    for words in (["duplicates", "out", "--threshold", threshold], ["crawl", "x.test", "--near-duplicates", threshold]):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and "0 to 1" in told


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
