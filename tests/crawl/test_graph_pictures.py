"""Pictures of the graph are whole, labelled, safe, and say what they leave out (issue 5)."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from command import ROOT, call
from PIL import Image
from stored import EVIL_TITLE, Stored, make

from weft.derive.graph import scene
from weft.derive.graph.scene import Disc, _box, _labels, _overlap, width_of

sys.path.insert(0, str(ROOT / "bench"))
from graph import Sizes
from graph import make as make_large

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return make(tmp_path_factory.mktemp("pictures"))


def drawn(crawl: Path, target: Path, *options: str) -> ElementTree.Element:
    ended = call("graph", crawl, "--to", target, *options)
    assert ended.code == 0, ended.stderr
    return ElementTree.parse(target).getroot()


def words(root: ElementTree.Element) -> list[str]:
    return [text.text or "" for text in root.iter(f"{SVG}text")]


def test_every_page_of_a_small_crawl_is_drawn_and_named(stored: Stored, tmp_path: Path) -> None:
    root = drawn(stored.folder, tmp_path / "graph.svg")
    discs = list(root.iter(f"{SVG}circle"))
    told = re.search(r"^(\d+) pages and (\d+) edges", " ".join(words(root)[1:2]))
    assert told is not None and len(discs) == int(told[1]) and len(list(root.iter(f"{SVG}path"))) == int(told[2])
    assert {"start", "twin", "packed", "A", "B"} <= set(words(root))
    assert {link.attrib["href"] for link in root.iter(f"{SVG}a")} >= {f"{stored.url}/", f"{stored.url}/a"}


def test_what_the_web_wrote_is_only_words(stored: Stored, tmp_path: Path) -> None:
    drawn(stored.folder, tmp_path / "graph.svg")
    text = (tmp_path / "graph.svg").read_text()
    assert "\x1b" not in text and "\u202e" not in text and EVIL_TITLE not in text
    allowed = {"svg", "title", "rect", "g", "path", "polygon", "a", "circle", "text"}
    assert {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(text).iter()} <= allowed
    assert "javascript:" not in text and "onload" not in text


def test_a_png_is_a_picture_of_something(stored: Stored, tmp_path: Path) -> None:
    ended = call("graph", stored.folder, "--to", tmp_path / "graph.png")
    assert ended.code == 0, ended.stderr
    with Image.open(tmp_path / "graph.png") as picture:
        picture.load()
        assert picture.size == (1600, 1200)
        colors = picture.convert("RGB").getcolors(1 << 24) or []
    assert len(colors) > 100 and max(colors)[1] == (255, 255, 255)


@pytest.mark.parametrize(("pages", "said"), [(400, "the 250 with most links"), (4_500, "sites with")])
def test_large_graphs_say_what_is_shown(tmp_path: Path, pages: int, said: str) -> None:
    make_large(tmp_path / "crawl", Sizes(pages, pages * 8))
    root = drawn(tmp_path / "crawl", tmp_path / "graph.svg")
    assert said in words(root)[1]
    assert 0 < len(list(root.iter(f"{SVG}circle"))) <= 250


def test_the_largest_discs_are_named_where_all_is_crowded() -> None:
    """Names stand on smaller discs rather than nowhere, and never on larger ones or on each other."""
    chance = random.Random(5)
    radii = sorted((chance.uniform(4, 26) for _ in range(200)), reverse=True)
    discs = [Disc(chance.uniform(500, 900), chance.uniform(400, 700), radius, (0, 0, 0), "", "") for radius in radii]
    names = [f"a name of a page {number}" for number in range(200)]
    texts = {text.words: text for text in _labels(discs, names)}
    named = [number for number in range(4) if names[number] in texts]
    assert named == [0, 1, 2, 3]
    boxes = []
    for number in named:
        text = texts[names[number]]
        width = width_of(text.words, text.size)
        left = text.x - width * {"start": 0.0, "middle": 0.5, "end": 1.0}[text.anchor]
        box = (left, text.y - text.size, left + width, text.y + text.size * 0.3)
        assert not any(_overlap(box, _box(discs[larger], 1.0)) for larger in range(number))
        assert not any(_overlap(box, other) for other in boxes)
        boxes.append(box)


def test_nothing_can_be_drawn_too(stored: Stored, tmp_path: Path) -> None:
    root = drawn(stored.folder, tmp_path / "graph.svg", "--where", "depth < 0")
    assert words(root)[1].startswith("0 pages and 0 edges")
    assert call("graph", stored.folder, "--to", tmp_path / "one.png", "--where", "depth = 0").code == 0


def test_the_same_crawl_has_the_same_picture(stored: Stored, tmp_path: Path) -> None:
    drawn(stored.folder, tmp_path / "one.svg")
    drawn(stored.folder, tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_sites_that_no_link_joins_have_their_own_part_of_the_picture() -> None:
    """R1: lists of sites are the common case. Each part has room by its size, and none reaches into another."""
    sizes, edges, first = [60, 20, 5, 1, 1], [], 0
    for size in sizes:
        edges += [(first, first + n, 1) for n in range(1, size)]
        first += size
    places = scene._placed(sum(sizes), edges)
    boxes = []
    for size in sizes:
        part, places = places[:size], places[size:]
        across, down = zip(*part, strict=True)
        boxes.append((min(across), min(down), max(across), max(down)))
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert 0 < left <= right < scene.WIDTH and 0 < top <= bottom < scene.HEIGHT
        for other in boxes[:number]:
            assert left > other[2] or right < other[0] or top > other[3] or bottom < other[1]
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
    assert areas[0] > areas[1] > areas[2] > areas[3] == 0
