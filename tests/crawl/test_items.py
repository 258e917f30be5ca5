"""Items of crawls equal the web's own key, after kills too; they are listed, found again, forgotten (E24, P6)."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Weft
from web import Site

import weft as weft_package
from weft.demo.server import Served

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import kill

CONTACTS = ["--extract", "email,phone"]

STAFF = """<html lang="sl"><body><h1>Zaposleni</h1><p>Ana: ana.novak (at) brook.si, 01 479 81 12</p>
<p><a href="mailto:info@brook.si">pišite</a> ali <a href="https://github.com/brook">koda</a></p><p>x@example.com</p>
<div class="product"><h2>Stol</h2><b class="price">1.234,50 €</b><a href="/stol">več</a><i class="tag">a</i>
<i class="tag">b</i></div><div class="product"><h2>Miza</h2></div>
<p>Climate
change is here.</p></body></html>"""


def rows(weft: Weft, *command: str | Path) -> list[dict[str, object]]:
    ended = weft(*command)
    assert ended.code == 0, ended.stderr
    return [json.loads(line) for line in ended.stdout.splitlines()]


@pytest.fixture
def staff(site: Site) -> Site:
    site.page("/", body=STAFF + '<a href="/more">m</a>')
    site.page("/more", body="<html><body>info@brook.si</body></html>")
    site.page("/gone", body="<html><body>gone@brook.si</body></html>", status=404)
    return site


def crawled(weft: Weft, site: Site, *options: str) -> Path:
    ended = weft("crawl", site.url, "-o", "out", "--delay", "0", "--sitemaps", "no", *options)
    assert ended.code == 0, ended.stderr
    return weft.folder / "out"


# --- the key


@pytest.mark.parametrize("processes", ["1", "2"])
def test_items_equal_the_key(weft: Weft, invented: Callable[..., Served], processes: str) -> None:
    """Every planted address and number is found with its page, and nothing else; so does a later extraction."""
    served = invented(seed=21, hosts=3, pages=900, traps=False)
    words = ["--resolve", served.resolve, "--delay", "0", "--per-host", "8", "--processes", processes, "--quiet"]
    assert weft("crawl", *served.seeds, "-o", "out", *words, *CONTACTS).code == 0
    key = Counter(
        (url, item.kind, item.value)
        for url, entry in served.web.expected().items()
        if entry.status == 200
        for item in served.web.planted(url)
    )
    found = rows(weft, "items", "out")
    assert Counter((str(item["page"]), str(item["kind"]), str(item["value"])) for item in found) == key
    assert len({item.form for url in served.web.expected() for item in served.web.planted(url)}) > 45
    before = rows(weft, "items", "out", "--placeholders")
    assert weft("extract", "out", *CONTACTS).code == 0
    assert rows(weft, "items", "out", "--placeholders") == before


@pytest.mark.parametrize("processes", ["1", "2"])
def test_items_are_the_same_after_kills(capsys: pytest.CaptureFixture[str], processes: str) -> None:
    words = ["--runs", "1", "--kills", "5", "--seed", "9", "--pages", "200", "--hosts", "2", "--processes", processes]
    code = kill.main([*words, "--option=--extract", "--option=email,phone"])
    assert code == 0, capsys.readouterr().out


# --- the list


def test_a_row_for_each_value_and_page_or_for_each_value(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff, *CONTACTS, "--region", "SI")
    listed = [(item["kind"], item["value"], item["pages"]) for item in rows(weft, "items", folder)]
    assert listed == [
        ("email", "ana.novak@brook.si", 1),
        ("email", "info@brook.si", 2),
        ("phone", "+38614798112", 1),
        ("email", "info@brook.si", 2),
    ]
    once = rows(weft, "items", folder, "--unique", "--kind", "email")
    assert [(item["value"], item["pages"]) for item in once] == [("ana.novak@brook.si", 1), ("info@brook.si", 2)]
    everything = rows(weft, "items", folder, "--placeholders", "--kind", "email", "--unique")
    assert [item["value"] for item in everything] == ["ana.novak@brook.si", "info@brook.si", "x@example.com"]
    assert json.loads(weft("status", folder, "--json").stdout)["items"] == 5


def test_pages_that_were_not_found_have_no_items(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff, *CONTACTS)
    assert "gone@brook.si" not in weft("items", folder).stdout


def test_mode_email_is_a_crawler_of_addresses(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff, "--mode", "email")
    assert {item["kind"] for item in rows(weft, "items", folder)} == {"email"}
    assert 'extract = ["email"]' in (folder / "crawl.toml").read_text()


def test_a_crawl_without_items_lists_none(weft: Weft, staff: Site) -> None:
    assert rows(weft, "items", crawled(weft, staff)) == []


# --- what people define themselves


OWN = [
    *("--pattern", "price=(?P<amount>[0-9.,]+) €", "--pattern", 'codes@html=class="(tag)"'),
    *("--select", "heading=h2::text", "--select", "more=.product a::attr(href)", "--xpath", "top=string(//b[@class])"),
    *("--find", "climate CHANGE", "--record", 'product each=.product title=h2 "price=.price -> number, required"'),
]


def test_fields_of_ones_own(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff, *OWN)
    found: dict[str, list[dict[str, object]]] = {}
    for item in rows(weft, "items", folder):
        found.setdefault(str(item["kind"]), []).append(item)
    values = {kind: [item["value"] for item in items] for kind, items in found.items()}
    assert values == {
        "price": ["1.234,50 €"], "codes": ['class="tag"', 'class="tag"'], "heading": ["Stol", "Miza"],
        "more": [staff.at("/stol")], "top": ["1.234,50 €"], "find": ["climate CHANGE"], "product": ["Stol"],
    }  # fmt: skip
    assert found["price"][0]["amount"] == "1.234,50" and found["product"][0]["title"] == "Stol"
    assert "here" in str(found["find"][0]["context"])
    csv = weft("items", folder, "--kind", "product", "--format", "csv").stdout.splitlines()
    assert csv[0].endswith(",noindex,title,price") and csv[1].endswith(",false,Stol,1234.5")


def test_records_of_a_file(weft: Weft, staff: Site) -> None:
    spec = weft.folder / "shop.toml"
    spec.write_text(
        f'seeds = ["{staff.url}"]\ndelay = 0\nsitemaps = "no"\n[extract]\nkinds = ["email"]\n[extract.product]\n'
        'each = ".product"\ntitle = "h2"\nprice = { css = ".price", type = "number" }\n'
        'tags = { css = ".tag", many = true }\nlink = "a::attr(href)"\n'
    )
    assert weft("crawl", "-c", spec, "-o", "out").code == 0
    product, table = rows(weft, "items", "out", "--kind", "product")
    assert (product["price"], product["tags"], product["link"]) == (1234.5, ["a", "b"], staff.at("/stol"))
    assert table["title"] == "Miza" and "price" not in table
    assert rows(weft, "items", "out", "--kind", "email")
    assert weft("resume", "out").code == 0  # what crawl.toml says is understood


def test_finds_are_shown_while_the_crawl_runs(weft: Weft, staff: Site) -> None:
    ended = weft("crawl", staff.url, "-o", "out", "--delay", "0", "--sitemaps", "no", "--find", "climate change")
    assert f"found 'climate change' on {staff.at('/')}" in ended.stderr


@pytest.mark.parametrize(
    ("option", "value", "because"),
    [
        ("--pattern", "a=(b", "missing )"),
        ("--pattern", "b", "NAME=REGEX"),
        ("--pattern", "a=(?=x)", "RE2"),
        ("--pattern", "email=x", "weft's own kind"),
        ("--select", "a=b[", "no CSS selector"),
        ("--xpath", "a=//[", "no XPath"),
        ("--record", "a title=h2", "each"),
        ("--record", "a each=.p b=[", "b: "),
        ("--record", "a each=.p 'b=h2 -> nonsense'", "no type"),
        ("--region", "XZ", "no country"),
        ("--extract", "mail", "nearest: email"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(
    weft: Weft, staff: Site, option: str, value: str, because: str
) -> None:
    ended = weft("crawl", staff.url, "-o", "out", option, value)
    assert ended.code == 2 and option in ended.stderr and because in ended.stderr
    assert not staff.paths() and not (weft.folder / "out").exists()


# --- from Python


def listed(items: list[weft_package.ItemRow]) -> list[dict[str, object]]:
    """Items of a page as rows, without what is told of other pages."""
    return [{name: value for name, value in msgspec.to_builtins(item).items() if name != "pages"} for item in items]


def of_page(weft: Weft, folder: Path, url: str) -> list[dict[str, object]]:
    """What `weft items` lists of a page."""
    found = rows(weft, "items", folder)
    return [{name: value for name, value in row.items() if name != "pages"} for row in found if row["page"] == url]


def test_items_of_a_page(weft: Weft, staff: Site) -> None:
    """From the table: each page's as `weft items` lists them, with fields of one's own; sure ones only."""
    folder = crawled(weft, staff, *CONTACTS, *OWN)
    with weft_package.open(folder) as stored:
        found = {page.url: page.items for page in stored.pages()}
    for url, items in found.items():
        assert listed(items) == of_page(weft, folder, url), url
    start = found[staff.at("/")]
    assert [item.value for item in start if item.kind == "email"] == ["ana.novak@brook.si", "info@brook.si"]
    assert next(item.price for item in start if item.kind == "product") == 1234.5
    assert all(item.pages is None for item in start)


def test_items_of_a_page_while_the_crawl_runs(weft: Weft, staff: Site) -> None:
    folder = weft.folder / "out"
    words = {"folder": folder, "delay": 0.0, "sitemaps": "no", "extract": "email"}
    found = {page.url: page.items for page in weft_package.crawl_sync(staff.url, **words)}
    assert [item.value for item in found[staff.at("/")]] == ["ana.novak@brook.si", "info@brook.si"]
    assert found[staff.at("/")][0].obscured == "at-dot"


def test_items_of_a_page_that_nobody_looked_for(weft: Weft, staff: Site) -> None:
    """They are found when they are asked for; what was to be forgotten is not."""
    folder = crawled(weft, staff)
    with weft_package.open(folder) as stored:
        page = stored.page(staff.at("/"))
        assert page is not None
        values = [(item.kind, item.value) for item in page.items]
        assert ("email", "ana.novak@brook.si") in values
        assert ("social", "https://github.com/brook") in values
        assert ("email", "x@example.com") not in values
    assert rows(weft, "items", folder) == []  # nothing was stored
    assert weft("items", folder, "--forget", "novak").code == 0
    with weft_package.open(folder) as stored:
        page = stored.page(staff.at("/"))
        assert page is not None and page.items == []


# --- a stored crawl


def test_extraction_over_a_stored_crawl(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff)
    asked = len(staff.paths())
    assert weft("extract", folder, *CONTACTS, "--region", "SI", *OWN).code == 0
    again = rows(weft, "items", folder, "--placeholders")
    other = weft.folder / "other"
    words = ["--delay", "0", "--sitemaps", "no", *CONTACTS, "--region", "SI", *OWN]
    assert weft("crawl", staff.url, "-o", other, *words).code == 0
    volatile = ("first_seen", "last_seen")
    assert [{name: item[name] for name in item if name not in volatile} for item in again] == [
        {name: item[name] for name in item if name not in volatile}
        for item in rows(weft, "items", other, "--placeholders")
    ]
    assert weft("extract", folder, "--extract", "email").code == 0
    assert (
        rows(weft, "items", folder, "--placeholders") != [] and len(staff.paths()) > asked
    )  # by the second crawl only


def test_trying_a_selector_stores_nothing(weft: Weft, staff: Site) -> None:
    folder = crawled(weft, staff)
    shown = rows(weft, "extract", folder, staff.at("/"), "--select", "h=h2::text")
    assert [item["value"] for item in shown] == ["Stol", "Miza"]
    assert rows(weft, "items", folder) == []
    assert weft("extract", folder, staff.at("/none"), "--select", "h=h2").code == 1


def test_nothing_to_extract_is_wrong_use(weft: Weft, staff: Site) -> None:
    ended = weft("extract", crawled(weft, staff))
    assert ended.code == 2 and "nothing to extract" in ended.stderr


def test_a_crawl_without_an_archive_has_nothing_to_extract_from(weft: Weft, staff: Site) -> None:
    ended = weft("extract", crawled(weft, staff, "--no-archive"), *CONTACTS)
    assert ended.code == 2 and "--no-archive" in ended.stderr


def test_what_is_forgotten_stays_out(weft: Weft, staff: Site) -> None:
    """Out of the list, out of the contexts of others, and out of what is found again and later."""
    folder = crawled(weft, staff, *CONTACTS, "--region", "SI")
    assert "ana.novak" in weft("items", folder).stdout
    assert weft("items", folder, "--forget", "ANA.novak").code == 0
    assert "ana.novak" not in weft("items", folder, "--placeholders").stdout
    assert weft("extract", folder).code == 0
    assert "ana.novak" not in weft("items", folder, "--placeholders").stdout
    assert "info@brook.si" in weft("items", folder).stdout
    staff.page("/new", body="<html><body>ana.novak@brook.si bor@brook.si</body></html>")
    assert weft("add", folder, staff.at("/new")).code == 0
    assert weft("resume", folder).code == 0
    assert "bor@brook.si" in weft("items", folder).stdout and "ana.novak" not in weft("items", folder).stdout
    assert weft("items", folder, "--forget", "(").code == 2


def test_more_items_than_are_kept_are_told(weft: Weft, site: Site) -> None:
    site.page("/", body=" ".join(f"u{number}@brook{number}.si" for number in range(10_100)))
    folder = crawled(weft, site, "--extract", "email")
    assert len(rows(weft, "items", folder)) == 10_000
    assert "more than 10,000 items of kind email" in weft("show", folder, site.at("/")).stdout
