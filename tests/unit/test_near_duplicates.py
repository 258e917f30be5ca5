"""Shingles, sketches and the measures of near-duplicates (G7)."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from drawn_texts import text_of, true_jaccard
from hypothesis import given
from hypothesis import strategies as st
from web import HTML

from weft.cli.main import main
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
from weft.spec import MinHash, Similarity

GOLDEN_SHINGLES = [527997863467987495, 1036916195839264147]
GOLDEN_CLASSIC = [97399570, 75143422, 80172609]
GOLDEN_FAST = [54082, 56777, 58385]


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
        for kind, dtype in ((MinHash.FAST, "<u2"), (MinHash.CLASSIC, "<u4")):
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
    for kind, plain in ((MinHash.FAST, fast_sketch), (MinHash.CLASSIC, classic_sketch)):
        data = sketcher(kind, with_text=True)(text)
        assert data.startswith(plain(text)) and kept_text(data, kind) == text
        assert kept_text(plain(text), kind) is None and kept_text(plain(text) + b"damaged", kind) is None
        assert sketcher(kind, with_text=True)("short") == b""


def test_the_measure_of_the_seed() -> None:
    """G7: the Jaccard index of the two signatures as sets; its worked example is 246 of 254."""
    one = np.arange(250, dtype=np.uint32)
    other = np.concatenate((np.arange(246), np.arange(1_000, 1_004))).astype(np.uint32)
    assert signature_similarity(one, other) == pytest.approx(0.968503937007874, abs=1e-15)
    bands = bands_of(Likeness(0.968503937007874, MinHash.CLASSIC, Similarity.SIGNATURE))
    assert bands is not None
    first, second = band_hashes(np.stack([one, other]), bands).T
    assert (first == second).any(), "a pair at the threshold has a band in common, always"


@pytest.mark.parametrize("minhash", list(MinHash))
@pytest.mark.parametrize("threshold", [0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 1.0])
def test_bands_miss_hardly_anything(threshold: float, minhash: MinHash) -> None:
    """Issue 5: no pair above the threshold missed more often than 1 in 100."""
    bands = bands_of(Likeness(threshold, minhash))
    assert bands is not None
    assert (1 - threshold**bands.rows) ** bands.count < 0.001
    assert bands_of(Likeness(0.0, minhash)) is None, "there every two texts are compared"


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


@pytest.mark.parametrize("threshold", ["1.01", "-0.1", "nan", "x", "", "1e3"])
def test_a_threshold_that_is_none(threshold: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Issue 5, section 5: a threshold outside 0..1 is wrong use, told in one sentence."""
    for words in (["duplicates", "out", "--threshold", threshold], ["crawl", "x.test", "--near-duplicates", threshold]):
        assert main(words) == 2
        told = capsys.readouterr().err
        assert told.count("\n") == 1 and "0 to 1" in told
