"""weft check, and every reading command on folders that are damaged (issue 3, sections 2 and 10; promises 1 and 10)."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
import stored
from command import Weft, call
from stored import Stored
from until import wait_until
from web import Site

Damage = Callable[[Path], None]


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("check"))


@pytest.fixture
def folder(crawled: Stored, tmp_path: Path) -> Path:
    """A copy that may be damaged."""
    shutil.copytree(crawled.folder, tmp_path / "crawl")
    return tmp_path / "crawl"


def report_of(folder: Path) -> dict[str, object]:
    run = call("check", folder, "--json")
    report = json.loads(run.stdout)
    assert isinstance(report, dict)
    assert run.code == (0 if report["consistent"] else 1)
    return report


def kinds_of(folder: Path) -> set[str]:
    counts = report_of(folder)["counts"]
    assert isinstance(counts, dict)
    return set(counts)


def sql(*statements: str) -> Damage:
    def damage(folder: Path) -> None:
        with sqlite3.connect(folder / "crawl.db") as db:
            for statement in statements:
                db.execute(statement)
        db.close()

    return damage


def warc_of(folder: Path) -> Path:
    """The first of the WARC files."""
    return min((folder / "warc").glob("*.warc.gz"))


# ---- whole folders ---------------------------------------------------------------------------------------------


def test_a_crawl_is_consistent(crawled: Stored) -> None:
    report = report_of(crawled.folder)
    assert report["consistent"] is True, report
    assert report["counts"] == {}
    assert report["warc_files"] == 1
    assert report["pages"] == 26
    run = call("check", crawled.folder)
    assert (run.code, "is consistent" in run.stdout) == (0, True)


def test_one_of_a_thing_is_told_as_one(site: Site, weft: Weft) -> None:
    """A crawl with one page, one link that is broken, one domain: no command says "1 pages"."""
    site.page("/", ["/gone"])
    home = site.at("/")
    told = [weft("crawl", home, "-o", "c", "--delay", "0", "--sitemaps", "no").stderr]
    (weft.folder / "list.txt").write_text(f"{home}\n{home}\nno url\n")
    for words in (
        ("check", "c"),
        ("status", "c"),
        ("stats", "c", "--html", "report.html", "--against", "list.txt"),
        ("graph", "c", "--to", "page.svg"),
        ("graph", "c", "--level", "directory", "--to", "directory.svg"),
        ("graph", "c", "--per-site", "graphs"),
        ("graph", "c", "--without", home),
        ("add", "c", site.at("/more")),
        ("why", "c", home),
        ("show", "c", home),
        ("robots", home),
    ):
        run = weft(*words)
        assert run.code in (0, 1), (words, run.stderr)
        told.append(f"{words}: {run.stdout}{run.stderr}")
    told += [(weft.folder / name).read_text() for name in ("report.html", "page.svg", "directory.svg")]
    found = re.findall(r"(?<![\w.,:;/-])1 (?:[a-z]+ )?(?!ms\b|was\b|is\b)[A-Za-z]+s\b.{0,40}", "\n".join(told))
    assert not found


def test_a_crawl_whose_site_requests_were_redirected_is_consistent(site: Site, weft: Weft) -> None:
    """Where robots.txt and a sitemap moved to is no link of a page."""
    site.page("/")
    site.redirect("/robots.txt", "/rules")
    site.file("/rules", f"Sitemap: {site.at('/old.xml')}\n".encode(), "text/plain")
    site.redirect("/old.xml", "/new.xml")
    site.file("/new.xml", f"<urlset><url><loc>{site.at('/found')}</loc></url></urlset>".encode(), "text/xml")
    site.page("/found")
    assert weft("crawl", site.url, "-o", "c", "--delay", "0", "--quiet").code == 0
    assert site.asked("/found") == 1
    assert kinds_of(weft.folder / "c") == set()


def test_a_crawl_without_archive_is_consistent(tmp_path: Path) -> None:
    report = report_of(stored.make(tmp_path, "--no-archive").folder)
    assert report["consistent"] is True, report
    assert report["warc_records"] == 0


def test_a_resumed_crawl_is_consistent(weft: Weft, site: Site) -> None:
    """Promise 1: after kills and resumes nothing is missing; between them `check` tells notes, not problems."""
    for number in range(40):
        site.page(f"/{number}", [f"/{number * 2 + 1}", f"/{number * 2 + 2}"], delay_s=0.02)
    process = weft.start("crawl", site.at("/0"), "-o", "out", "--delay", "0", "--quiet")
    wait_until(lambda: len(site.requests) >= 15, "the fifteenth request")
    weft.kill(process)
    process.wait(60)
    killed = call("check", weft.folder / "out", "--json")
    assert killed.code in (0, 2), killed.stdout  # 2: not even begun
    if killed.code == 0:
        assert json.loads(killed.stdout)["problems"] == []
    run = weft("resume", "out", "--quiet")
    assert run.code == 0, run.stderr
    report = report_of(weft.folder / "out")
    assert report["consistent"] is True, report
    assert report["pages"] == 81


def test_a_running_crawl_is_refused(weft: Weft, site: Site) -> None:
    site.page("/", ["/slow"])
    site.page("/slow", delay_s=600.0)
    process = weft.start("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet")
    wait_until(lambda: site.asked("/slow"), "the slow page")
    run = call("check", weft.folder / "out")
    assert run.code == 2
    assert "a crawl is running" in run.stderr
    weft.kill(process)
    process.wait(60)


# ---- what is wrong ---------------------------------------------------------------------------------------------


def cut_warc(folder: Path) -> None:
    path = warc_of(folder)
    os.truncate(path, path.stat().st_size // 2)


def flip_warc(folder: Path, what: bytes = b"to a</a>") -> None:
    """One byte, of a payload by default, is another; the file is packed again, so that only digests can tell."""
    path = warc_of(folder)
    data = bytearray(gzip.decompress(path.read_bytes()))
    place = data.index(what)
    data[place] ^= 1
    members = [b"WARC/1.1" + part for part in bytes(data).split(b"WARC/1.1")[1:]]
    path.write_bytes(b"".join(gzip.compress(member) for member in members))


def garble_warc(folder: Path) -> None:
    path = warc_of(folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 200] = random.Random(1).randbytes(200)
    path.write_bytes(data)


def grow_warc(folder: Path) -> None:
    with warc_of(folder).open("ab") as file:
        file.write(gzip.compress(b"more"))


def spoil_index(folder: Path) -> None:
    index = folder / "warc" / "index.cdxj"
    lines = index.read_bytes().splitlines(keepends=True)
    index.write_bytes(b"".join([lines[0].replace(b'"status":"', b'"status":"9'), *lines[1:]]))


def shorten_index(folder: Path) -> None:
    index = folder / "warc" / "index.cdxj"
    index.write_bytes(b"".join(index.read_bytes().splitlines(keepends=True)[1:]))


def shuffle_index(folder: Path) -> None:
    index = folder / "warc" / "index.cdxj"
    index.write_bytes(b"".join(reversed(index.read_bytes().splitlines(keepends=True))))


def add_warc(folder: Path) -> None:
    shutil.copy(warc_of(folder), folder / "warc" / "weft-00009-20260101000000-00001.warc.gz")


A = "(SELECT id FROM url WHERE text LIKE '%/a')"
OF_A = f"WHERE page = {A} AND purpose = 0"
LAST = "WHERE visit = (SELECT max(visit) FROM link_pack)"


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (sql(f"UPDATE page SET visit = NULL WHERE id = {A}"), "PAGE_WITHOUT_VISIT"),
        (sql(f"UPDATE page SET visit = 999 WHERE id = {A}"), "PAGE_WITHOUT_VISIT"),
        (sql(f"UPDATE page SET visit = visit - 1 WHERE id = {A}"), "PAGE_WITHOUT_VISIT"),
        (sql(f"UPDATE page SET state = 'R' WHERE id = {A}"), "PAGE_RUNNING"),
        (sql(f"UPDATE page SET state = 'X' WHERE id = {A}"), "PAGE_STATE"),
        (sql(f"UPDATE page SET state = NULL WHERE id = {A}"), "PAGE_STATE"),
        (sql(f"UPDATE page SET site = 99 WHERE id = {A}"), "PAGE_WITHOUT_SITE"),
        (sql(f"UPDATE page SET key = (SELECT text FROM url WHERE text LIKE '%/b') WHERE id = {A}"), "PAGE_TWICE"),
        (sql(f"DELETE FROM page WHERE id = {A}"), "URL_WITHOUT_PAGE"),
        (sql(f"DELETE FROM url WHERE id = {A}"), "PAGE_WITHOUT_URL"),
        (sql(f"DELETE FROM url WHERE id = {A}"), "LINK_WITHOUT_URL"),
        (sql("UPDATE seen SET fingerprints = zeroblob(length(fingerprints))"), "URL_NOT_FINDABLE"),
        (sql(f"UPDATE visit SET warc = NULL {OF_A}"), "PAGE_WITHOUT_RECORD"),
        (sql(f"UPDATE visit SET warc = 7 {OF_A}"), "VISIT_WITHOUT_RECORD"),
        (sql(f"UPDATE visit SET warc_offset = warc_offset + 1 {OF_A}"), "VISIT_WITHOUT_RECORD"),
        (sql(f"UPDATE visit SET digest = 'sha1:X' {OF_A}"), "RECORD_OTHER"),
        (sql(f"UPDATE visit SET revisit = 1 {OF_A}"), "RECORD_OTHER"),
        (sql(f"UPDATE visit SET revisit = 1 {OF_A}"), "REVISIT_OF_NOTHING"),
        (sql(f"UPDATE visit SET page = 999 {OF_A}"), "VISIT_WITHOUT_PAGE"),
        (sql(f"UPDATE link_pack SET links = '[[1,1,1' {LAST}"), "LINKS_UNREADABLE"),
        (sql(f"UPDATE link_pack SET links = '[[1,99,1]]' {LAST}"), "LINKS_UNREADABLE"),
        (sql(f"UPDATE link_pack SET links = '[[99999,1,1]]' {LAST}"), "LINK_WITHOUT_URL"),
        (sql(f"DELETE FROM link_pack {LAST}"), "LINK_COUNT"),
        (sql(f"UPDATE link_pack SET visit = 9999 {LAST}"), "LINKS_WITHOUT_VISIT"),
        (sql("UPDATE counter SET value = value + 1 WHERE name = 'completed'"), "COUNTER"),
        (sql("UPDATE counter SET value = value + 1 WHERE name = 'links'"), "COUNTER"),
        (sql("UPDATE warc SET committed_b = committed_b + 1"), "WARC_SHORT"),
        (cut_warc, "WARC_SHORT"),
        (cut_warc, "VISIT_WITHOUT_RECORD"),
        (lambda folder: warc_of(folder).unlink(), "WARC_MISSING"),
        (flip_warc, "RECORD_DIGEST"),
        (garble_warc, "RECORD_DAMAGED"),
        (grow_warc, "WARC_LONG"),
        (add_warc, "WARC_UNLISTED"),
        (spoil_index, "INDEX"),
        (shorten_index, "INDEX"),
        (shuffle_index, "INDEX"),
        (lambda folder: (folder / "warc" / "index.cdxj").unlink(), "INDEX"),
        (lambda folder: (folder / "crawl.toml").write_text("nonsense = 1\n"), "SPECIFICATION"),
    ],
)  # fmt: skip
def test_every_damage_is_found(folder: Path, damage: Damage, kind: str) -> None:
    damage(folder)
    assert kind in kinds_of(folder)
    run = call("check", folder)
    assert run.code == 1
    assert f"{kind}: " in run.stdout
    assert "is NOT consistent" in run.stdout


@pytest.mark.parametrize(
    ("damage", "kind"),
    [
        (sql("UPDATE item SET page = 999"), "ITEM_WITHOUT_PAGE"),
        (sql("UPDATE item SET visit = 999"), "ITEM_WITHOUT_VISIT"),
        (sql("UPDATE item SET visit = (SELECT id FROM visit WHERE page IS NULL)"), "ITEM_WITHOUT_VISIT"),
        (sql("UPDATE item SET visit = (SELECT visit FROM page WHERE id <> item.page)"), "ITEM_WITHOUT_VISIT"),
        (sql("DELETE FROM item"), "COUNTER"),
    ],
)
def test_items_belong_to_a_visit_of_their_page(
    site: Site, weft: Weft, tmp_path: Path, damage: Damage, kind: str
) -> None:
    site.page("/", body='<p>ana@brook.si</p><a href="/a">a</a>')
    site.page("/a")
    weft("crawl", site.at("/"), "--delay", "0", "--extract", "email", "-o", "crawl")
    folder = tmp_path / "crawl"
    assert report_of(folder)["items"] == 1
    assert kinds_of(folder) == set()
    damage(folder)
    assert kind in kinds_of(folder)


def test_records_with_and_without_digests_of_their_blocks(site: Site, weft: Weft, tmp_path: Path) -> None:
    """What `--block-digest` adds is proved where it is; a resume may change it, as an older version's folder has it."""
    site.page("/", links=["/a"])
    site.page("/a")
    weft("crawl", site.at("/"), "--delay", "0", "--max-pages", "1", "--block-digest", "-o", "crawl")
    weft("resume", "crawl", "--max-pages", "none", "--no-block-digest")
    folder = tmp_path / "crawl"
    first, second = (gzip.decompress(path.read_bytes()) for path in sorted((folder / "warc").glob("*.warc.gz")))
    assert first.count(b"WARC-Block-Digest: sha1:") == first.count(b"WARC/1.1\r\n") > 2
    assert b"WARC-Payload-Digest: sha1:" in second and b"WARC-Block-Digest" not in second
    assert kinds_of(folder) == set()
    flip_warc(folder, b"Accept:")  # in the head of a request, of which only its block's digest tells
    assert "RECORD_DIGEST" in kinds_of(folder)


def test_a_killed_crawl_has_notes_and_no_problems(folder: Path) -> None:
    """What the resume tidies up is no damage: R, bytes past the commit, files that were never committed."""
    sql(
        "UPDATE run SET ended_ms = NULL, stop_reason = NULL",
        f"UPDATE page SET state = 'R' WHERE id = {A}",
        "UPDATE counter SET value = value + 1 WHERE name = 'running'",
        "UPDATE counter SET value = value - 1 WHERE name = 'completed'",
    )(folder)
    grow_warc(folder)
    add_warc(folder)
    report = report_of(folder)
    assert report["consistent"] is True, report
    notes = report["notes"]
    assert isinstance(notes, list)
    assert len(notes) == 3


def test_output_is_bounded(folder: Path) -> None:
    sql("DELETE FROM seen")(folder)
    report = report_of(folder)
    counts, problems = report["counts"], report["problems"]
    assert isinstance(counts, dict)
    assert isinstance(problems, list)
    assert counts["URL_NOT_FINDABLE"] > 20
    assert len(problems) == 20
    assert "more of this kind" in call("check", folder).stdout


# ---- folders that cannot be read -------------------------------------------------------------------------------

COMMANDS: list[tuple[str, ...]] = [
    ("status",),
    ("pages",),
    ("links",),
    ("show", "http://example.org/"),
    ("why", "http://example.org/"),
    ("check",),
    ("add", "http://example.org/"),
]


def no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


def a_file(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.write_text("no folder")


def empty_folder(folder: Path) -> None:
    shutil.rmtree(folder)
    folder.mkdir()


def zero_bytes(folder: Path) -> None:
    (folder / "crawl.db").write_bytes(b"")


def garbage(folder: Path) -> None:
    (folder / "crawl.db").write_bytes(random.Random(2).randbytes(100_000))


def header_only(folder: Path) -> None:
    os.truncate(folder / "crawl.db", 4096)


def other_program(folder: Path) -> None:
    (folder / "crawl.db").unlink()
    with sqlite3.connect(folder / "crawl.db") as db:
        db.execute("CREATE TABLE bookmarks(url TEXT)")
    db.close()


def newer(folder: Path) -> None:
    sql("PRAGMA user_version = 99")(folder)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (no_folder, "start one with `weft crawl URL -o FOLDER`"),
        (a_file, "is a file, not the folder of a crawl"),
        (empty_folder, "holds no crawl (there is no crawl.db in it): name the folder of a crawl"),
        (zero_bytes, "has not begun"),
        (garbage, "is damaged"),
        (header_only, "is damaged"),
        (other_program, "another program's database"),
        (newer, "newer weft"),
    ],
    ids=lambda value: value.__name__ if callable(value) else "",
)
def test_a_folder_that_cannot_be_read_is_one_sentence(
    folder: Path, damage: Damage, words: str, command: tuple[str, ...]
) -> None:
    """Issue 3, section 10: a clear sentence on stderr, exit code 2."""
    damage(folder)
    run = call(command[0], folder, *command[1:])
    if damage is header_only and command[0] == "check" and run.code == 1:
        assert "DATABASE" in run.stdout
        return
    assert run.code == 2, run
    assert run.out == b""
    assert words in run.stderr, run.stderr
    assert run.stderr.startswith("weft: ")
    assert run.stderr.count("\n") == 1


@pytest.mark.parametrize("keep", [0.3, 0.6, 0.9])
def test_a_truncated_database_never_shows_a_traceback(folder: Path, keep: float) -> None:
    """Cut anywhere: each command ends with what it can, or with one sentence."""
    path = folder / "crawl.db"
    os.truncate(path, int(path.stat().st_size * keep))
    for command in COMMANDS:
        run = call(command[0], folder, *command[1:])
        assert run.code in (0, 1, 2), (command, run)
        assert "a bug in weft" not in run.stderr, (command, run.stderr)
        assert run.stderr.count("\n") <= 2
    assert call("check", folder).code in (1, 2)


def test_random_damage_never_shows_a_traceback(folder: Path) -> None:
    """Bytes overwritten at random places of the database: a sentence, never a bug."""
    original = (folder / "crawl.db").read_bytes()
    rng = random.Random(3)
    for _ in range(6):
        data = bytearray(original)
        for _ in range(8):
            at = rng.randrange(100, len(data) - 64)
            data[at : at + 64] = rng.randbytes(64)
        (folder / "crawl.db").write_bytes(data)
        for command in COMMANDS:
            run = call(command[0], folder, *command[1:])
            assert "a bug in weft" not in run.stderr, (command, run.stderr)
            assert run.code in (0, 1, 2)


@pytest.mark.parametrize("most", ["20", "1"], ids=["done", "too many"])
def test_answers_that_met_a_bug_are_consistent(site: Site, weft: Weft, tmp_path: Path, most: str) -> None:
    """The answer is archived, the visit has the cause BUG and no status: nothing is wrong with the folder."""
    (tmp_path / "broken.py").write_text(
        "def read(body, url, kind, parsed):\n    assert body != b'bad'\n    return parsed\n"
    )
    site.page("/", ["/a", "/b", "/c"])
    for path in ("/a", "/b", "/c"):
        site.file(path, b"bad", "text/html")
    run = weft(
        "crawl", site.at("/"), "-o", "out", "--delay", "0", "--part", "parser=broken.py:read", "--max-bugs", most
    )
    assert run.code == (0 if most == "20" else 1), run.stderr
    if run.code:
        assert "`weft status out` tells where they are described" in run.stderr
        assert "FROM bug" in weft("status", "out").stdout
    found = [json.loads(line) for line in weft("pages", "out").stdout.splitlines()]
    assert {row["error"] for row in found if row["url"] != site.at("/")} == {"BUG"}
    report = weft("check", "out")
    assert (report.code, report.stderr) == (0, ""), report.stdout
