"""Images, documents and other files beside pages: which are asked for, how they are kept, what is told of them."""

from __future__ import annotations

import csv
import io
import json
import random
import sqlite3
import struct
import subprocess
import zipfile
import zlib
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from command import Weft
from until import wait_until
from web import Response, Site

from weft.crawl.document_reading import DocumentProcess
from weft.demo.server import Served

QUICK = ("--delay", "0", "--per-host", "8", "--quiet")


def png(width: int, height: int, extra: bytes = b"") -> bytes:
    """A black picture of this size, with so many bytes behind it."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    lines = zlib.compress(b"\0" * (width + 1) * height)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", lines) + chunk(b"IEND", b"") + extra


def rows(folder: Path, query: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(f"{(folder / 'crawl.db').as_uri()}?mode=ro", uri=True)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()


def images(folder: Path) -> list[tuple[object, ...]]:
    return rows(folder, "SELECT url, page, alt, type, size, hash, width, height FROM image ORDER BY url, page")


def documents(folder: Path) -> list[tuple[object, ...]]:
    return rows(folder, "SELECT url, page, type, size, hash FROM file ORDER BY url, page")


def crawl(weft: Weft, *words: str) -> Path:
    ended = weft("crawl", *words, "-o", "out", "--fresh", *QUICK)
    assert ended.code == 0, ended.stderr
    checked = weft("check", "out")
    assert checked.code == 0, checked.stdout
    return weft.folder / "out"


def test_images_of_every_form_and_none_that_stands_in_the_page(site: Site, weft: Weft) -> None:
    """G5, and the forms of issue 22: src, srcset, picture, lazy ones, posters, icons, og:image, styles."""
    names = ["src", "srcset", "source", "lazy", "lazyset", "poster", "icon", "og", "style", "sheet"]
    for number, name in enumerate(names, start=1):
        site.file(f"/{name}.png", png(number, number), "image/png")
    site.file("/font.woff", b"wOFF", "font/woff")
    site.page(
        "/",
        head='<link rel="shortcut icon" href="/icon.png"><meta property="og:image" content="/og.png">'
        "<style>@font-face { src: url(/font.woff) } body { background: url('/sheet.png') }</style>",
        body='<img src="/src.png" srcset="/srcset.png 2x" alt="a  picture"><img data-src="/lazy.png">'
        '<picture><source srcset="/source.png"><img src="data:image/png;base64,iVBORw0KGgo="></picture>'
        '<img data-srcset="/lazyset.png 1x"><video poster="/poster.png"></video>'
        '<p style="background-image: url(/style.png)"></p>',
    )
    found = images(crawl(weft, site.at("/"), "--images"))
    assert {str(row[0]).rpartition("/")[2]: row[6:] for row in found} == {
        f"{name}.png": (number, number) for number, name in enumerate(names, start=1)
    }
    assert {row[2] for row in found if str(row[0]).endswith(("/src.png", "/srcset.png"))} == {"a picture"}
    assert site.asked("/font.woff") == 0


def test_a_row_for_each_page_and_bytes_that_are_kept_once(site: Site, weft: Weft) -> None:
    """G5: the bytes may be kept once. T11: files are no pages."""
    picture = png(30, 40, bytes(1_000))
    site.file("/a.png", picture, "image/png")
    site.page("/", ["/two"], body='<img src="/a.png" alt="A">')
    site.page("/two", body='<img src="/a.png" alt="B"><img src="/a.png">')
    folder = crawl(weft, site.at("/"), "--images")
    assert [(row[1], row[2], row[4]) for row in images(folder)] == [
        (site.at("/"), "A", len(picture)),
        (site.at("/two"), "B", len(picture)),
    ]
    assert site.asked("/a.png") == 1
    pages = weft("pages", "out", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["url"] for line in pages] == [site.at("/"), site.at("/two")]
    assert json.loads(weft("status", "out", "--json").stdout)["pages"] == 2
    site.file("/a.png", png(30, 40, bytes(200_000)), "image/png")
    site.page("/two", body='<img src="/a.png"><p style="background: url(/a.png)"></p>')
    crawl(weft, site.at("/"), "--images")
    numbers = json.loads(weft("stats", "out", "--json").stdout)["all"]
    assert (numbers["images_without_alt"], numbers["large_images"]) == (1, 2)


def test_types_are_told_by_content(site: Site, weft: Weft) -> None:
    """E22: an image that is a page, a document that lies about its type."""
    site.file("/really.gif", png(3, 3), "image/gif")
    site.file("/page.png", b"<!doctype html><a href=/secret>x</a>", "image/png")
    site.file("/lies.pdf", b"<!doctype html><a href=/secret>x</a>", "application/pdf")
    site.file("/get?id=1", b"%PDF-1.4\n%%EOF\n", "application/pdf")
    site.page("/", ["/lies.pdf", "/get?id=1"], body='<img src="/really.gif"><img src="/page.png">')
    folder = crawl(weft, site.at("/"), "--images", "--documents")
    assert [(row[0], row[3]) for row in images(folder)] == [(site.at("/really.gif"), "image/png")]
    assert [(row[0], row[2]) for row in documents(folder)] == [
        (site.at("/get?id=1"), "application/pdf"),
        (site.at("/lies.pdf"), "text/html"),
    ]
    assert site.asked("/secret") == 0
    assert json.loads(weft("status", "out", "--json").stdout)["pages"] == 1


def test_no_file_is_kept_in_part(site: Site, weft: Weft) -> None:
    """A file past its bound keeps its row with type, size as told, and cause."""
    site.file("/told.png", png(3, 3, bytes(300_000)), "image/png")
    site.respond("/untold.png", Response(png(3, 3, bytes(300_000)), 200, "image/png", {"Connection": "close"}))
    site.file("/large.pdf", b"%PDF-1.4" + bytes(60_000), "application/pdf")
    site.page("/", ["/large.pdf", "/get?id=1"], body='<img src="/told.png">')
    site.file("/get?id=1", b"%PDF-1.4" + bytes(60_000), "application/pdf")
    folder = crawl(
        weft, site.at("/"), "--images", "--documents", "--max-file-size", "100k", "--max-size", "20k"
    )  # fmt: skip
    (row,) = rows(folder, "SELECT type, size, hash, width, error FROM image")
    assert row == ("image/png", len(png(3, 3)) + 300_000, None, None, "FILE_TOO_LARGE")
    assert [row[3] for row in documents(folder)] == [60_008, 60_008]  # the bound of pages is not theirs
    raised = weft("resume", "out", "--max-file-size", "1M", "--quiet")
    assert raised.code == 0, raised.stderr
    assert rows(folder, "SELECT width, error FROM image") == [(3, None)]


def test_what_a_page_shows_comes_from_any_host_and_what_it_links_keeps_the_scope(site: Site, weft: Weft) -> None:
    """Robots and politeness of each host hold; of a host of images no sitemap is read."""
    for host in ("other.test", "closed.test", "127.0.0.1"):
        site.file("/x.png", png(2, 2), "image/png", host=host)
        site.file("/x.pdf", b"%PDF-1.4\n", "application/pdf", host=host)
    site.robots("User-agent: *\nDisallow: /x.png\n", host="closed.test")
    resolve = ("--resolve", "*.test=127.0.0.1")
    others = [site.at(f"/x.{ending}", host) for host in ("other.test", "closed.test") for ending in ("png", "pdf")]
    site.page(
        "/",
        [url for url in others if url.endswith(".pdf")],
        body="".join(f'<img src="{url}">' for url in others if url.endswith(".png")),
    )
    folder = crawl(weft, site.at("/"), "--images", "--documents", *resolve)
    assert [row[0] for row in images(folder)] == [site.at("/x.png", "other.test")]
    assert documents(folder) == []
    assert site.asked("/x.png", "closed.test") == 0 and site.asked("/sitemap.xml", "other.test") == 0
    assert images(crawl(weft, site.at("/"), "--images", "--embeds", "scope", *resolve)) == []


def test_an_image_that_is_linked_like_a_page_is_one(site: Site, weft: Weft) -> None:
    """Whatever is met first: a page stays a page, and what only images show is never read for links."""
    site.page("/", ["/a"], body='<img src="/late"><img src="/only">')
    site.page("/a", ["/b"])
    site.page("/b", ["/late"])
    site.page("/late", ["/behind"])
    site.page("/only", ["/never"])
    site.page("/behind")
    crawl(weft, site.at("/"), "--images")
    pages = [json.loads(line) for line in weft("pages", "out", "--format", "jsonl").stdout.splitlines()]
    assert {page["url"]: page["depth"] for page in pages} == {
        site.at("/"): 0, site.at("/a"): 1, site.at("/b"): 2, site.at("/late"): 3, site.at("/behind"): 4,
    }  # fmt: skip
    assert site.asked("/never") == 0 and site.asked("/only") == 1


def test_redirects_of_files_are_followed(site: Site, weft: Weft) -> None:
    site.redirect("/old.png", "/new")
    site.file("/new", png(5, 6), "image/png")
    site.page("/", body='<img src="/old.png">')
    (row,) = images(crawl(weft, site.at("/"), "--images"))
    assert (row[0], row[6:]) == (site.at("/old.png"), (5, 6))


def test_files_do_not_count_as_pages(site: Site, weft: Weft) -> None:
    """--max-pages and --max-pages-per-site are for pages: those that are stored have all their files."""
    for number in range(6):
        site.page(f"/{number}", [f"/{number + 1}"], body=f'<img src="/{number}.png">')
        site.file(f"/{number}.png", png(number + 1, 1), "image/png")
    for limit in ("--max-pages", "--max-pages-per-site"):
        folder = crawl(weft, site.at("/0"), "--images", limit, "2")
        assert [row[0] for row in images(folder)] == [site.at("/0.png"), site.at("/1.png")]
    folder = crawl(weft, site.at("/0"), "--images", "--max-files", "3")
    assert len(images(folder)) == 3
    assert weft("resume", "out", "--max-files", "5", "--quiet").code == 0
    assert len(images(folder)) == 5


def test_other_files_by_their_extensions(site: Site, weft: Weft) -> None:
    site.file("/a.zip", b"PK\x03\x04" + bytes(30), "application/zip")
    site.file("/b.mp3", b"ID3\x03", "audio/mpeg")
    site.page("/", ["/a.zip", "/c.pdf"], body='<audio src="/b.mp3"></audio>')
    folder = crawl(weft, site.at("/"), "--files", "zip,.MP3")
    assert [row[0] for row in documents(folder)] == [site.at("/a.zip"), site.at("/b.mp3")]
    assert site.asked("/c.pdf") == 0


def test_files_are_written_under_safe_names(site: Site, weft: Weft) -> None:
    """T11: a name tells nothing to a shell or a file system; one body is one file."""
    picture = png(2, 2)
    shown = ("/%2e%2e%2fetc%2fpasswd.png", "/con.png", "/a%00b.png", "/copy.png?x=1", "/" + "n" * 400 + ".png")
    for path in shown:
        site.file(path, picture if path.startswith("/co") else png(2, 2, path.encode()), "image/png")
    site.page("/", body="".join(f'<img src="{path}" alt="=1+1">' for path in shown))
    crawl(weft, site.at("/"), "--images")
    ended = weft("files", "out", "--to", "files")
    assert ended.code == 0, ended.stderr
    with (weft.folder / "files/files.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert {row["url"] for row in table} == {site.at(path) for path in shown}
    assert {row["alt"] for row in table} == {"'=1+1"}
    written = [path for path in (weft.folder / "files").rglob("*") if path.is_file() and path.suffix == ".png"]
    assert len(written) == 4 == len({row["path"] for row in table})
    assert all(path.parent == weft.folder / "files/127.0.0.1" and path.name.isascii() for path in written)
    by_path = {row["path"]: row["url"] for row in table}
    for path in written:
        url = by_path[path.relative_to(weft.folder / "files").as_posix()]
        assert path.read_bytes() == weft("show", "out", url, "--body").out
    again = weft("files", "out", "--to", "files")
    assert again.code == 0 and sorted((weft.folder / "files").rglob("*.png")) == sorted(written)
    (weft.folder / "own").mkdir()
    (weft.folder / "own/letter.txt").write_text("mine")
    assert weft("files", "out", "--to", "own").code == 2


@pytest.mark.parametrize("processes", ["1", "2"])
def test_images_and_documents_equal_the_key(weft: Weft, invented: Callable[..., Served], processes: str) -> None:
    served = invented(seed=12, hosts=3, pages=150, traps=False)
    words = ("--resolve", served.resolve, "--images", "--documents", "--processes", processes)
    folder = crawl(weft, *served.seeds, *words)
    assert told(folder) == key_of(served)


def told(folder: Path) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    return (
        {(row[0], row[1], row[4], row[6], row[7]) for row in images(folder)},
        {(row[0], row[1], row[2], row[3]) for row in documents(folder)},
    )


def key_of(served: Served) -> tuple[set[tuple[object, ...]], set[tuple[object, ...]]]:
    web = served.web
    pages = [url for url, entry in web.expected().items() if entry.status == 200]
    shown = {
        (image, page, len(web.answer(image).body), *size)
        for page in pages
        for image, size in web.shown(page).items()
        if web.answer(image).status == 200
    }
    linked = {
        (url, page, "application/pdf", len(web.answer(url).body))
        for page in pages
        for url in web.linked_documents(page)
    }
    return shown, linked


@pytest.mark.parametrize("processes", ["1", "2"])
def test_kills_change_nothing(weft: Weft, invented: Callable[..., Served], processes: str) -> None:
    """Must show 2: equal to the key after five random kills."""
    served = invented(seed=13, hosts=2, pages=100, traps=False)
    words = ["--resolve", served.resolve, "--images", "--documents", "--processes", processes, *QUICK]
    draw = random.Random(5)
    database = weft.folder / "out/crawl.db"
    for number in range(5):
        before = visits(database)
        running = weft.start("crawl", *served.seeds, "-o", "out", *words, "--delay", "0.01", "--per-host", "1")
        wanted = before + draw.randrange(5, 40)
        wait_until(partial(is_past, database, wanted, running), f"the moment of kill {number}")
        weft.kill(running)
        running.communicate()
    ended = weft("resume", "out", "--quiet", "--delay", "0", "--per-host", "8")
    assert ended.code == 0, ended.stderr
    assert told(weft.folder / "out") == key_of(served)
    assert weft("check", "out").code == 0


def is_past(database: Path, wanted: int, running: subprocess.Popen[bytes]) -> bool:
    """Whether so many visits are committed, or the crawl has ended."""
    return visits(database) >= wanted or running.poll() is not None


def visits(database: Path) -> int:
    """How many visits are committed."""
    try:
        ((count,),) = rows(database.parent, "SELECT count(*) FROM visit")
    except sqlite3.Error:
        return 0
    return int(str(count))


def office(parts: dict[str, str]) -> bytes:
    """An archive of these files."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in {"[Content_Types].xml": "<Types/>", **parts}.items():
            archive.writestr(name, text)
    return target.getvalue()


CORE = '<p xmlns:dc="dc"><dc:title>A  plan</dc:title><dc:creator>Ana Novak</dc:creator></p>'
SLIDE = '<s xmlns:a="a"><a:p><a:r><a:t>slide {}</a:t></a:r></a:p></s>'


def pdf(pages: int) -> bytes:
    """A PDF with a title and a number of pages, each with its number."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(pages))
    objects = [
        "<</Type/Catalog/Pages 2 0 R>>",
        f"<</Type/Pages/Kids[{kids}]/Count {pages}>>",
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    for number in range(pages):
        text = f"BT /F 12 Tf 20 100 Td (page {number}) Tj ET"
        objects.append(
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents {5 + 2 * number} 0 R"
            "/Resources<</Font<</F 3 0 R>>>>>>"
        )
        objects.append(f"<</Length {len(text)}>>stream\n{text}\nendstream")
    objects.append("<</Title(A report)/Author(Ana Novak)>>")
    body, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        places.append(len(body))
        body += f"{number} 0 obj{content}endobj\n"
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    size = len(objects) + 1
    tail = f"trailer<</Root 1 0 R/Info {len(objects)} 0 R/Size {size}>>\nstartxref\n{len(body)}\n%%EOF\n"
    return f"{body}xref\n0 {size}\n0000000000 65535 f \n{table}{tail}".encode()


def test_what_documents_say(site: Site, weft: Weft) -> None:
    """Title, author, pages, text; a bomb and a broken file cost themselves only; a long PDF is read whole."""
    words = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    paragraph = '<d xmlns:w="w"><w:p><w:r><w:t>Hello </w:t></w:r><w:r><w:t>there</w:t></w:r></w:p><w:p/></d>'
    bomb = office({"word/document.xml": "<d>" + " " * 150_000_000 + "</d>"})
    slides = {f"ppt/slides/slide{number}.xml": SLIDE.format(number) for number in (1, 2, 10)}
    site.file("/a.docx", office({"word/document.xml": paragraph, "docProps/core.xml": CORE}), words)
    site.file("/b.pptx", office({**slides, "docProps/core.xml": CORE}), "application/octet-stream")
    site.file("/c.pdf", pdf(2_000), "application/pdf")
    site.file("/d.docx", bomb, words)
    site.file("/e.pdf", b"%PDF-1.4\nnothing\n", "application/pdf")
    site.file("/f.docx", b"\x89PNG\r\n\x1a\n", words)
    site.page("/", [f"/{name}" for name in ("a.docx", "b.pptx", "c.pdf", "d.docx", "e.pdf", "f.docx")])
    folder = crawl(weft, site.at("/"), "--documents")
    found = {
        str(row[0]).rpartition("/")[2]: row[1:]
        for row in rows(folder, "SELECT url, title, author, pages, text, error FROM file")
    }
    assert found["a.docx"] == ("A plan", "Ana Novak", None, "Hello there", None)
    assert found["b.pptx"] == ("A plan", "Ana Novak", 3, "slide 1\nslide 2\nslide 10", None)
    assert found["c.pdf"][:3] == ("A report", "Ana Novak", 2_000)
    assert str(found["c.pdf"][3]).splitlines() == [f"page {number}" for number in range(2_000)]
    assert "larger than" in str(found["d.docx"][4]) and "cannot be read" in str(found["e.pdf"][4])
    assert "f.docx" not in found  # it is an image, by its content


RELATIONS = (
    '<Relationships xmlns="r"><Relationship Id="a" Type="http://x/relationships/hyperlink" Target="{}"'
    ' TargetMode="External"/><Relationship Id="b" Type="http://x/relationships/hyperlink" Target="#here"/>'
    '<Relationship Id="c" Type="http://x/relationships/image" Target="http://x/no.png" TargetMode="External"/>'
    "</Relationships>"
)


def linking_pdf(targets: list[str]) -> bytes:
    """A PDF of two pages that both link to these."""
    links = "".join(
        f"<</Type/Annot/Subtype/Link/Rect[0 0 9 9]/A<</S/URI/URI({target})>>>>" for target in [*targets, targets[0]]
    )
    page = f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Annots[{links}]>>"
    objects = ["<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R 4 0 R]/Count 2>>", page, page]
    body = "%PDF-1.4\n" + "".join(f"{number} 0 obj{content}endobj\n" for number, content in enumerate(objects, 1))
    return f"{body}trailer<</Root 1 0 R/Size 5>>\n%%EOF\n".encode()


def test_links_inside_documents(site: Site, weft: Weft) -> None:
    """They are links of the file, of a kind of their own; known pages and new addresses; nothing is asked for them."""
    site.page("/", ["/a.pdf", "/b.docx", "/c.odt", "/d.pptx", "/e.pdf", "/f.docx", "/page"])
    site.page("/page")
    inside = {
        "a.pdf": [site.at("/page"), site.at("/deep/../other"), "http://elsewhere.test/x", "mailto:ana@brook.si"],
        "b.docx": [site.at("/other")],
        "c.odt": [site.at("/page")],
        "d.pptx": [site.at("/slide"), site.at("/other")],
        "e.pdf": [],
    }
    site.file("/a.pdf", linking_pdf(inside["a.pdf"]), "application/pdf")
    word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    relations = {"word/_rels/document.xml.rels": RELATIONS.format(inside["b.docx"][0])}
    site.file("/b.docx", office({"word/document.xml": "<d/>", **relations}), word)
    content = (
        f'<d xmlns:text="t" xmlns:xlink="http://www.w3.org/1999/xlink"><text:a xlink:href="{site.at("/page")}"/></d>'
    )
    site.file("/c.odt", office({"content.xml": content}), "application/vnd.oasis.opendocument.text")
    slides = {f"ppt/slides/slide{number}.xml": SLIDE.format(number) for number in (1, 2)}
    for number, target in enumerate(inside["d.pptx"], start=1):
        slides[f"ppt/slides/_rels/slide{number}.xml.rels"] = RELATIONS.format(target)
    show = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
    site.file("/d.pptx", office(slides), show)
    site.file("/e.pdf", pdf(1), "application/pdf")
    site.file("/f.docx", office({"word/document.xml": "<d/>", "word/_rels/document.xml.rels": "<broken"}), word)
    folder = crawl(weft, site.at("/"), "--documents")
    inside["a.pdf"][1] = site.at("/other")
    for name, targets in inside.items():
        listed = [
            json.loads(line) for line in weft("links", folder, "--from-url", site.at(f"/{name}")).stdout.splitlines()
        ]
        assert [row["target"] for row in listed] == targets, name
        assert {row["kind"] for row in listed} <= {"document"}
        assert not any(row["followed"] for row in listed)
    counts = rows(folder, "SELECT url, links FROM file WHERE error IS NULL")
    known = {name: len(targets) for name, targets in inside.items()}
    assert {str(url).rpartition("/")[2]: count for url, count in counts} == {**known, "f.docx": None}
    assert site.asked("/other") == site.asked("/slide") == 0
    assert weft("check", folder).code == 0, weft("check", folder).stdout
    resumed = weft("resume", folder)
    assert resumed.code == 0, resumed.stderr
    assert weft("check", folder).code == 0
    assert json.loads(weft("status", folder, "--json").stdout)["waiting"] == 0


def test_an_address_in_a_document_may_become_a_page(site: Site, weft: Weft) -> None:
    """A later run that finds it on a page asks for it, once."""
    site.page("/", ["/a.pdf", "/page"])
    site.page("/page", ["/other"])
    site.page("/other")
    site.file("/a.pdf", linking_pdf([site.at("/other")]), "application/pdf")
    folder = crawl(weft, site.at("/"), "--documents", "--max-pages", "1")
    assert rows(folder, "SELECT links FROM file") == [(1,)]
    assert site.asked("/other") == site.asked("/page") == 0
    assert weft("resume", folder, "--max-pages", "none").code == 0
    assert site.asked("/other") == site.asked("/a.pdf") == 1
    leads_to = rows(folder, "SELECT to_page IS NOT NULL FROM link WHERE kind = 'document'")
    assert leads_to == [(1,)]
    assert weft("check", folder).code == 0


def test_a_document_that_takes_too_long_or_too_much_costs_only_itself() -> None:
    slow = DocumentProcess(time_s=0.0)
    with closing(slow):
        assert "within 0 s" in str(slow.read(pdf(1), "application/pdf").problem)
    with closing(DocumentProcess(memory_b=150_000_000)) as small:
        swollen = office({"word/document.xml": "<d>" + "<p/>" * 20_000_000 + "</d>"})
        assert small.read(swollen, "application/vnd.openxmlformats-officedocument.x").problem
        assert small.read(pdf(1), "application/pdf").pages == 1


def test_all_that_a_page_needs_to_be_seen(site: Site, weft: Weft) -> None:
    """--assets: style sheets with their url() and @import, scripts, fonts, images, each from its own place."""
    needed = ("/css/a.css", "/css/b.css", "/css/c.css", "/app.js", "/css/f.woff2", "/own.woff", "/bg.png", "/img.png")
    site.file(
        "/css/a.css",
        b"@import 'b.css'; @import url(c.css) print; /* url(/no.png) */\n"
        b"@font-face { src: url('f.woff2') format('woff2') } body { background: url(\"../bg.png\") } "
        b"i { background: url(data:image/png;base64,aaaa) }",
        "text/css",
    )
    site.file("/css/b.css", b"@import 'a.css';", "text/css")
    site.file("/css/c.css", b"", "text/css")
    site.file("/app.js", b"1", "text/javascript")
    for path in ("/css/f.woff2", "/own.woff"):
        site.file(path, b"wOF2", "font/woff2")
    for path in ("/bg.png", "/img.png"):
        site.file(path, png(4, 4), "image/png")
    site.page(
        "/",
        head='<link rel="stylesheet" href="/css/a.css"><style>@font-face { src: url(/own.woff) }</style>',
        body='<script src="/app.js"></script><img src="/img.png"><audio src="/no.mp3"></audio><a href="/no.zip">z</a>',
    )
    folder = crawl(weft, site.at("/"), "--assets")
    stored = {str(row[0]) for row in rows(folder, "SELECT url FROM image UNION SELECT url FROM file")}
    assert stored == {site.at(path) for path in needed}
    assert not any(site.asked(path) for path in ("/no.png", "/no.mp3", "/no.zip"))
    assert [row[1] for row in images(folder)] == [site.at("/css/a.css"), site.at("/")]
