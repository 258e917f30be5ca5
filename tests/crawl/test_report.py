"""weft stats --html: one file, no network, nothing the web sent becomes markup (issue 5 section 4; promise 9)."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import made_crawl
import pytest
import stored
from command import call
from evil import crawl_evil
from hypothesis import given, settings
from hypothesis import strategies as st
from stored import Stored

from weft.derive.report.domains import heat_of, matrix, picture, shown_domains
from weft.derive.report.markup import Html, json_block, link, tag, text
from weft.derive.report.sitemap import MOST_PAGES, Spot, disc_of, packed


class Elements(HTMLParser):
    """Every start tag with its attributes, and what stands in scripts and styles."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": []}
        self._open: str | None = None
        self.words = ""
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._open = tag if tag in self.raw else None
        if self._open:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        if self._open:
            self.raw[self._open][-1] += data
        else:
            self.words += data


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("report"))


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crawl_evil(tmp_path_factory.mktemp("hostile"))


def report_of(folder: Path, file: Path, *options: str | Path) -> str:
    run = call("stats", folder, "--html", file, *options)
    assert run.code == 0, run.stderr
    return file.read_text(encoding="utf-8")


# --- nothing but itself, nothing but text


@pytest.mark.parametrize("which", ["crawled", "evil"])
def test_report_is_one_closed_file(which: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """No resource from anywhere, no inline handler or style, two scripts and one style, each known by its hash."""
    place = request.getfixturevalue(which)
    document = report_of(place if isinstance(place, Path) else place.folder, tmp_path / "r.html")
    parsed = Elements(document)
    names = [name for name, _ in parsed.found]
    assert names.count("script") == 2 and names.count("style") == 1
    assert not {"iframe", "object", "embed", "img", "form", "base", "video", "audio", "source"} & set(names)
    for name, attributes in parsed.found:
        assert not any(key.startswith("on") or key in ("src", "style", "srcset", "action") for key in attributes), (
            attributes
        )
        target = attributes.get("href")
        if target is not None:
            assert target.startswith(("http://", "https://", "#")) or (name == "link" and target == "data:,")
        if name == "a" and target is not None and not target.startswith("#"):
            assert "noreferrer" in (attributes["rel"] or "") and "noopener" in (attributes["rel"] or "")
    policy = next(a["content"] for n, a in parsed.found if n == "meta" and a.get("http-equiv"))
    assert policy is not None and "default-src 'none'" in policy and "unsafe" not in policy
    for content in (parsed.raw["script"][1], parsed.raw["style"][0]):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    for content in parsed.raw["style"]:
        assert "url(" not in content and "@import" not in content
    assert json.loads(parsed.raw["script"][0])["x"]


def test_hostile_words_stay_words(evil: Path, tmp_path: Path) -> None:
    """Titles, anchors and URLs are shown as they are written; what would turn or end a line is made visible."""
    document = report_of(evil, tmp_path / "r.html")
    assert "<script>window.pwned" not in document and 'onerror="' not in document
    assert not re.search("[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069\u200f\u2028]", document)
    parsed = Elements(document)
    assert '"><img src=x onerror="window.pwned=1">' in parsed.words
    titles = json.loads(parsed.raw["script"][0])["title"]
    assert "</script><script>window.pwned=1</script>" in titles
    assert any("\\u202e" in title for title in titles)


@given(st.text(), st.text())
def test_any_text_is_text(words: str, more: str) -> None:
    """Whatever is put in comes out of a parser as one text, and as one attribute."""
    parsed = Elements(tag("p", words, title=more))
    assert [name for name, _ in parsed.found] == ["p"]
    assert len(parsed.found[0][1]) == 1
    assert Elements(text(words)).found == []
    assert Elements(link("http://a.test/" + more.replace(" ", ""), words)).found[0][0] in ("a", "bdi")


@settings(max_examples=40)
@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_value_ends_its_block(value: object) -> None:
    try:
        block = json_block("data", value)
    except UnicodeEncodeError:
        return  # halves of characters: the callers make them visible first
    assert block.count("<") == 2 and json.loads(Elements(block).raw["script"][0]) == json.loads(json.dumps(value))


def test_javascript_links_are_no_links() -> None:
    assert "<a" not in link("javascript:alert(1)") and "<a" not in link("data:text/html,x")
    assert isinstance(link("http://a.test/"), Html)


# --- the file


def test_target_that_exists_needs_force(crawled: Stored, tmp_path: Path) -> None:
    file = tmp_path / "r.html"
    file.write_text("mine")
    run = call("stats", crawled.folder, "--html", file)
    assert run.code == 2 and "--force" in run.stderr and file.read_text() == "mine"
    assert "<!doctype html>" in report_of(crawled.folder, file, "--force")
    assert [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_targets_that_cannot_be_written(crawled: Stored, tmp_path: Path) -> None:
    """A folder, a folder that is not there, a file of the crawl itself: one sentence, exit code 2, nothing written."""
    for target in (
        tmp_path,
        tmp_path / "no" / "r.html",
        crawled.folder / "crawl.db",
        crawled.folder / "warc" / "r.html",
    ):
        run = call("stats", crawled.folder, "--html", target, "--force")
        assert run.code == 2 and len(run.stderr.splitlines()) == 1, run.stderr
    assert list(tmp_path.iterdir()) == []


def test_report_and_machine_output_at_once(crawled: Stored, tmp_path: Path) -> None:
    run = call("stats", crawled.folder, "--json", "--html", tmp_path / "r.html")
    assert run.code == 0 and json.loads(run.stdout)["all"]["pages"] > 0
    assert (tmp_path / "r.html").is_file()


def test_full_disk_leaves_no_half_file(crawled: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is under the final name is whole, or what was there before."""
    from weft.derive.report import page

    def fails(*_: object) -> object:
        raise OSError(28, "No space left on device")

    file = tmp_path / "r.html"
    file.write_text("older")
    monkeypatch.setattr(page, "map_of", fails)
    run = call("stats", crawled.folder, "--html", file, "--force")
    assert run.code == 1 and "No space left" in run.stderr
    assert file.read_text() == "older" and [path.name for path in tmp_path.iterdir()] == ["r.html"]


def test_empty_crawl_has_a_report(tmp_path: Path) -> None:
    made_crawl.make(tmp_path / "none", 0)
    document = report_of(tmp_path / "none", tmp_path / "r.html")
    assert Elements(document).found and "nothing was asked yet" in document


def test_numbers_of_the_report_are_those_of_the_statistics(crawled: Stored, tmp_path: Path) -> None:
    found = json.loads(call("stats", crawled.folder, "--json").stdout)
    words = Elements(report_of(crawled.folder, tmp_path / "r.html")).words
    for number in (found["all"]["pages"], found["all"]["links"], found["all"]["broken_links"]):
        assert f"{number:,}" in words
    for page in found["broken"]:
        assert page["url"] in words


def test_what_a_crawl_lacks_has_no_part(crawled: Stored, tmp_path: Path) -> None:
    """One site that links nowhere else has no part about domains; broken links come before charts of speed."""
    one = made_crawl.make(tmp_path / "one", 100)
    several = made_crawl.make(tmp_path / "several", 100, sites=3)
    parts = {}
    for name, folder in (("one", one), ("several", several), ("crawled", crawled.folder)):
        assert call("stats", folder, "-o", tmp_path / f"{name}.html").code == 0
        text = (tmp_path / f"{name}.html").read_text()
        parts[name] = re.findall(r'<section[^>]* id="([a-z]+)"', text)
        assert parts[name].index("broken") < parts[name].index("time") and parts[name].index("broken") == 1
    assert "domains" not in parts["one"] and "domains" in parts["several"]
    small = (tmp_path / "crawled.html").read_text()  # one site that links to another, which was not asked
    assert "domains" in parts["crawled"] and "Links to all that is known" in small
    assert "Links to what was visited" not in small and 'name="domains"' not in small


def test_comparison_is_in_the_report(crawled: Stored, tmp_path: Path) -> None:
    (tmp_path / "list").write_text(f"{crawled.url}/a\n{crawled.url}/never\n")
    document = report_of(crawled.folder, tmp_path / "r.html", "--against", tmp_path / "list")
    assert "Beside another crawler" in document and f"{crawled.url}/never" in document


# --- the map and the domains


def test_large_crawl_is_drawn_in_part(tmp_path: Path) -> None:
    """5,000 pages are drawn, the nearest to the start; every line joins pages that are drawn."""
    made_crawl.make(tmp_path / "big", MOST_PAGES + 700, sites=7, links=6)
    parsed = Elements(report_of(tmp_path / "big", tmp_path / "r.html"))
    data = json.loads(parsed.raw["script"][0])
    count = len(data["x"])
    assert count == MOST_PAGES and data["pages"] == MOST_PAGES + 700
    assert all(
        len(data[name]) == count for name in ("y", "site", "path", "title", "depth", "status", "parent", "size", "out")
    )
    assert max(data["depth"]) <= 4 and min(data["parent"]) == -1 and max(data["parent"]) < count
    assert all(0 <= goal < count for goals in data["out"] for goal in goals)
    assert len({*zip(data["x"], data["y"], strict=True)}) == count, "two pages lie in one place"
    assert sum(map(len, data["out"])) <= 60_000
    assert f"{MOST_PAGES:,} of {MOST_PAGES + 700:,} pages are drawn, of 7 sites" in parsed.words


def test_many_sites_fill_the_map_and_the_table_of_domains(tmp_path: Path) -> None:
    """G9: where there are more sites than can be drawn, all the room is for those that are, with all their links."""
    sites, pages = 180, 5_400
    crawl = made_crawl.make(tmp_path / "wide", pages, sites=sites, links=10)
    run = call("stats", crawl, "--json", "--html", tmp_path / "r.html")
    data = json.loads(Elements((tmp_path / "r.html").read_text()).raw["script"][0])
    assert len(data["sites"]) == 150 and len(data["x"]) == 150 * pages // sites
    largest = json.loads(run.stdout)
    names = [site["site"] for site in largest["sites"][:36]]
    told = {(link["source"], link["target"]): link["known"] for link in largest["domains"]["links"]}
    links = [json.loads(line) for line in call("links", crawl, "--from-url", f"http://{names[0]}/").stdout.splitlines()]
    assert largest["domains"]["pairs"] > 2 * len(told), "not all pairs are told"
    assert links and all((names[0], name) in told for name in {row["target"].split("/")[2] for row in links} & {*names})


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 40)), min_size=1, max_size=200))
def test_pages_of_a_disc_lie_apart_and_inside(rows: list[tuple[int, int]]) -> None:
    spots = [Spot(number + 1, 1, depth, min(parent, number)) for number, (depth, parent) in enumerate(rows)]
    place, radius = disc_of(spots)
    assert place.keys() == {spot.page for spot in spots}
    assert all(math.hypot(x, y) <= radius for x, y in place.values())
    points = sorted(place.values())
    assert len({(round(x, 6), round(y, 6)) for x, y in points}) == len(points)


@settings(max_examples=30)
@given(st.lists(st.floats(5, 300), min_size=1, max_size=40))
def test_discs_touch_none(radii: list[float]) -> None:
    circles = packed(sorted(radii, reverse=True))
    assert len(circles) == len(radii)
    for number, (x, y, r) in enumerate(circles):
        for px, py, pr in circles[:number]:
            assert math.hypot(x - px, y - py) >= r + pr - 0.5


def test_domain_picture_and_table_name_every_pair() -> None:
    """G9: a line for every pair that links; the table has the number, and shades by it."""
    weights = {("a.test", "b.test"): 12, ("b.test", "a.test"): 1, ("a.test", "a.test"): 500, ("a.test", "c.test"): 3}
    names = shown_domains(weights, ["a.test"])
    assert names == ["a.test", "b.test", "c.test"]
    drawing = picture(weights, names, frozenset({"a.test", "b.test"}), frozenset({"a.test"}))
    assert drawing.count('class="tie ') == 3 and drawing.count('class="domain"') == 3
    assert "a.test \u2192 b.test: 12 links" in drawing and drawing.count("\u2605") == 1
    assert drawing.count("unseen-domain") == 1
    table = Elements(matrix(weights, names, "links"))
    assert "500" in table.words and [a.get("class") for n, a in table.found if n == "td"].count("own") == 2
    assert [heat_of(number, 12) for number in (1, 3, 12)] == [0, 3, 6]


def test_domain_names_from_the_web_stay_text() -> None:
    name = "<script>x</script>.test"
    weights = {(name, "b.test"): 1}
    for html in (picture(weights, [name, "b.test"], frozenset(), frozenset()), matrix(weights, [name, "b.test"], "x")):
        assert "<script" not in html
