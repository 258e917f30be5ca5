"""The report in a real headless Chromium: light and dark, wide and narrow, by mouse and by keyboard."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import chromium
import made_crawl
import pytest
import stored
from chromium import Chromium
from command import call
from evil import crawl_evil

if chromium.program() is None:
    pytest.skip("Chromium is not installed (apt-get install chromium)", allow_module_level=True)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Reports of a small site with every outcome, of a hostile one, of 5,600 made-up pages, and of nothing."""
    folder = tmp_path_factory.mktemp("reports")
    crawls = {
        "small": stored.make(folder).folder,
        "evil": crawl_evil(folder),
        "large": made_crawl.make(folder / "large", 5_600, sites=9, links=8),
        "none": made_crawl.make(folder / "none", 0),
    }
    for name, crawl in crawls.items():
        run = call("stats", crawl, "--html", folder / f"{name}.html")
        assert run.code == 0, run.stderr
    return {name: folder / f"{name}.html" for name in crawls}


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    with Chromium() as running:
        yield running


def quiet(browser: Chromium, file: Path) -> None:
    """Nothing was asked of any network, and nothing went wrong."""
    assert browser.asked == [file.absolute().as_uri()]
    assert browser.said == []


def colours_in(png: bytes) -> set[bytes]:
    """The colours of a screenshot: enough to tell a picture from an empty sheet."""
    place, width, packed = 8, 0, b""
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place : place + 8])
        content = png[place + 8 : place + 8 + length]
        if kind == b"IHDR":
            width, depth, colour = *struct.unpack(">I", content[:4]), content[8], content[9]
            assert depth == 8 and colour in (2, 6)
            size = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += content
        place += length + 12
    raw = zlib.decompress(packed)
    step = width * size + 1
    return {
        raw[row + 1 + at : row + 1 + at + size]
        for row in range(0, len(raw), step)
        for at in range(0, step - 1, size * 3)
    }


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_every_window_and_theme(browser: Chromium, reports: dict[str, Path], width: int, dark: bool) -> None:
    """It fits the window, has the colours of the theme, enough contrast everywhere, and says nothing to anybody."""
    browser.open(reports["small"], width=width, height=800, dark=dark)
    browser.frames()
    quiet(browser, reports["small"])
    assert browser.run("document.documentElement.scrollWidth") <= width
    light = sum(json.loads(browser.run(BACKGROUND)))
    assert (light < 150) is dark
    faint = json.loads(browser.run(CONTRAST))
    assert faint == [], f"too faint to read: {faint[:5]}"
    assert len(colours_in(browser.screenshot())) > 20


@pytest.mark.parametrize("width", [1280, 390])
def test_labels_below_columns_stand_on_one_line(browser: Chromium, reports: dict[str, Path], width: int) -> None:
    """Each is whole, on one line, and touches no other one."""
    browser.open(reports["large"], width=width, height=800)
    lists = json.loads(browser.run(LABELS))
    assert sum(map(len, lists)) >= 10
    for labels in lists:
        assert all(label["height"] < 24 for label in labels), labels
        for one, other in pairwise(labels):
            assert one["right"] <= other["left"], labels


LABELS = """JSON.stringify([...document.querySelectorAll(".cols")].map((list) =>
  [...list.querySelectorAll(".l > span:not(.unseen)")].map((label) => {
    const { left, right, height } = label.getBoundingClientRect();
    return { words: label.textContent, left, right, height };
  })))"""


BACKGROUND = "JSON.stringify(getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number))"
CONTRAST = """(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = parts(getComputedStyle(e).backgroundColor);
      if (c.length < 4 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const found = [];
  const words = "h1, h2, h3, p, a, th, td, dt, dd b, dd span, li span, small, button, label, summary, figcaption span";
  for (const e of document.querySelectorAll(words)) {
    if (!e.textContent.trim() || !e.checkVisibility() || e.matches(".zero, .none, .unseen")) continue;
    const one = light(parts(getComputedStyle(e).color)), two = light(behind(e));
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    if (ratio < 4.5) found.push([e.tagName, e.className, e.textContent.slice(0, 30), ratio]);
  }
  return JSON.stringify(found);
})()"""


def test_hostile_pages_do_nothing(browser: Chromium, reports: dict[str, Path]) -> None:
    """Promise 9, where it counts: no script of theirs runs, nothing of theirs is an element, nothing is fetched."""
    browser.open(reports["evil"])
    browser.frames()
    browser.run("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
    browser.run("document.getElementById('map').focus()")
    for _ in range(8):
        browser.key("n", "n")
    browser.frames()
    assert browser.run("typeof window.pwned") == "undefined"
    assert browser.run("document.querySelectorAll('img, iframe, script').length") == 2
    assert browser.run("document.getElementById('map-page').textContent").strip()
    quiet(browser, reports["evil"])


def test_policy_stops_what_would_get_in(browser: Chromium, reports: dict[str, Path]) -> None:
    """Even markup that got into the page could run nothing and load nothing."""
    browser.open(reports["small"])
    browser.run("""(() => {
      const image = document.createElement("img");
      image.src = "http://127.0.0.1:9/x";
      document.body.append(image);
      const script = document.createElement("script");
      for (const write of [
        () => { document.body.insertAdjacentHTML("beforeend", "<b onclick='window.pwned = 1' id=bad>x</b>"); },
        () => { script.text = "window.pwned = 1"; document.body.append(script); },
        () => { window.eval("window.pwned = 1"); },
      ]) {
        try { write(); } catch (error) { window.refused = (window.refused || 0) + 1; }
      }
      document.getElementById("bad")?.click();
    })()""")
    browser.frames()
    assert browser.run("typeof window.pwned") == "undefined"
    assert browser.run("window.refused") == 3
    assert any("127.0.0.1:9" in words and "Content Security Policy" in words for words in browser.said)


def test_tables_sort_and_filter(browser: Chromium, reports: dict[str, Path]) -> None:
    browser.open(reports["large"])

    def column(part: str, number: int) -> list[Any]:
        found = browser.run(
            f"JSON.stringify([...document.querySelector('#{part} table.sortable').tBodies[0].rows]"
            f".filter((row) => !row.hidden).map((row) => row.cells[{number}].textContent))"
        )
        return list(json.loads(found))

    def press(part: str, number: int) -> None:
        browser.run(f"document.querySelector('#{part} table').tHead.rows[0].cells[{number}].firstChild.click()")

    press("sites", 0)
    assert column("sites", 0) == sorted(column("sites", 0)) and len(column("sites", 0)) == 9
    press("sites", 0)
    assert column("sites", 0) == sorted(column("sites", 0), reverse=True)
    press("sites", 7)
    links = [int(value.replace(",", "")) for value in column("sites", 7)]
    assert links == sorted(links, reverse=True)
    heading = "document.querySelector('#sites table.sortable').tHead.rows[0].cells[7]"
    assert browser.run(f"{heading}.getAttribute('aria-sort')") == "descending"
    before = column("broken", 0)
    browser.run(
        "for (const box of document.querySelectorAll('#broken .filter')) {"
        " box.value = 'S3.test'; box.dispatchEvent(new Event('input')); }"
    )
    after = column("broken", 0)
    assert 0 < len(after) < len(before) and all("s3.test" in value for value in after if "s3" in value)
    quiet(browser, reports["large"])


def test_map_draws_moves_and_finds(browser: Chromium, reports: dict[str, Path]) -> None:
    """5,000 pages: drawn, moved, zoomed, searched, hovered, chosen; every step paints a frame."""
    browser.open(reports["large"])
    browser.run("document.getElementById('map').scrollIntoView({block: 'center', behavior: 'instant'})")
    browser.frames()
    assert browser.run("weftMap.nodes") == 5_000
    first = browser.screenshot()
    assert len(colours_in(first)) > 20
    box = json.loads(browser.run("JSON.stringify(document.getElementById('map').getBoundingClientRect())"))
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    frames = browser.run("weftMap.frames")
    browser.mouse("mousePressed", x, y, button="left", clickCount=1)
    for number in range(20):
        browser.mouse("mouseMoved", x + 5 * number, y + 2 * number, button="left", buttons=1)
        browser.frames(1)
    browser.mouse("mouseReleased", x + 95, y + 38, button="left", clickCount=1)
    browser.frames()
    assert browser.run("weftMap.frames") >= frames + 15
    assert browser.screenshot() != first, "dragging moves the map"

    browser.run("document.getElementById('map-all').click()")
    browser.run(
        "const find = document.getElementById('map-find'); find.value = 'PAGE 123';"
        " find.dispatchEvent(new Event('input'))"
    )
    browser.frames()
    assert "found: 11" in browser.run("document.getElementById('map-page').textContent")  # 123, 1230 to 1239
    browser.run("document.querySelector('#map-page button').click()")
    browser.frames()
    assert browser.run("document.querySelector('#map-page h4').textContent") == "Page 123"
    browser.mouse("mouseMoved", x, y)
    browser.frames()
    assert not browser.run("document.getElementById('map-tip').hidden")
    assert "Page 123" in browser.run("document.getElementById('map-tip').textContent")
    for scheme in ("status", "site", "in", "depth"):
        browser.run(f"window.kind = document.getElementById('map-colour'); kind.value = '{scheme}'")
        browser.run("kind.dispatchEvent(new Event('change'))")
        assert browser.run("document.querySelectorAll('#map-key .key').length") >= 2
    browser.run("document.getElementById('map-links').click()")
    browser.frames()
    quiet(browser, reports["large"])


def test_keyboard_reaches_everything(browser: Chromium, reports: dict[str, Path]) -> None:
    """Tab gets to every control in the order of the page; the map obeys keys; the theme and the domains switch."""
    browser.open(reports["small"])
    seen: list[str] = []
    for _ in range(400):
        browser.key("Tab")
        seen.append(
            browser.run(
                "document.activeElement.id || document.activeElement.className || document.activeElement.tagName"
            )
        )
        if browser.run("document.activeElement === document.body"):
            break
    order = [
        name for name in seen if name in ("theme", "map-find", "map-colour", "map-links", "map-in", "map-all", "map")
    ]
    assert order == ["theme", "map-find", "map-colour", "map-links", "map-in", "map-all", "map"]
    assert "scroll" in seen, "tables that scroll can be reached"
    browser.run("document.getElementById('map').focus()")
    frames = browser.run("weftMap.frames")
    for name, words in (("ArrowLeft", ""), ("+", "+"), ("-", "-"), ("0", "0"), ("n", "n"), ("p", "p")):
        browser.key(name, words)
        browser.frames(1)
    assert browser.run("weftMap.frames") > frames
    assert browser.run("document.querySelector('#map-page h4').textContent")
    browser.key("Escape")
    assert browser.run("document.getElementById('map-page').textContent") == ""
    browser.run("document.getElementById('theme').click(); document.getElementById('theme').click()")
    assert browser.run("getComputedStyle(document.documentElement).colorScheme") == "dark"
    browser.open(reports["large"])
    assert browser.run("document.querySelector('.choice.seen').checkVisibility()")
    browser.run("document.querySelector('input[value=all]').click()")
    assert not browser.run("document.querySelector('.choice.seen').checkVisibility()")
    assert browser.run("document.querySelector('.choice.all').checkVisibility()")


def test_without_script_and_on_paper(browser: Chromium, reports: dict[str, Path]) -> None:
    """Numbers, charts and tables need no script; printing works, and prints on white whatever the theme."""
    browser.open(reports["small"], script=False)
    words = browser.call("DOM.getOuterHTML", nodeId=browser.call("DOM.getDocument", depth=-1)["root"]["nodeId"])[
        "outerHTML"
    ]
    assert "Broken links" in words and "The map needs JavaScript" in words
    browser.open(reports["small"], dark=True)
    browser.frames()
    pdf = browser.pdf()
    assert pdf.startswith(b"%PDF") and len(pdf) > 20_000
    browser.open(reports["none"])
    quiet(browser, reports["none"])
