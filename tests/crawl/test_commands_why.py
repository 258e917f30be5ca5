"""weft why and weft show: the story of a URL and its stored page (promise 11; issue 3, section 2; E3, E14)."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from pathlib import Path

import pytest
import stored
from command import Weft, call
from stored import Stored
from web import Site

from weft.derive.explanations import CAUSES, OPTIONS, REASONS
from weft.derive.read import StoredCrawl
from weft.errors import Cause, Reason
from weft.options import BY_NAME


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("why"))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Stored:
    return stored.make(tmp_path_factory.mktemp("bare"), "--no-archive", "--ignore-robots")


def why(crawled: Stored, path: str) -> dict[str, object]:
    run = call(
        "why",
        crawled.folder,
        path if "://" in path or path.startswith(("mailto:", "data:")) else crawled.url + path,
        "--json",
    )
    assert run.code == 0, run.stderr
    story = json.loads(run.stdout)
    assert isinstance(story, dict)
    return story


def said(story: dict[str, object]) -> str:
    because = story["because"]
    assert isinstance(because, list)
    return "\n".join(because)


def part(story: dict[str, object], name: str) -> dict[str, object]:
    found = story[name]
    assert isinstance(found, dict), (name, found)
    return found


# ---- why -------------------------------------------------------------------------------------------------------


def test_every_reason_and_cause_has_its_words() -> None:
    """Promise 11: there is no refusal that `why` cannot put into words, and each option named exists."""
    assert set(REASONS) == set(Reason)
    assert set(CAUSES) == set(Cause)
    assert set(OPTIONS.values()) <= set(BY_NAME)


def test_a_fetched_page(crawled: Stored) -> None:
    story = why(crawled, "/a")
    assert (story["outcome"], story["state"], story["status"], story["seen"]) == ("fetched", "C", 200, True)
    found = part(story, "found")
    assert (found["on"], found["kind"], found["anchor"], found["depth"]) == (crawled.url + "/", "a", "to a", 1)
    assert str(found["at"]).endswith("Z")
    assert "--scope host" in said(story)
    attempts = story["attempts"]
    assert isinstance(attempts, list)
    assert [(attempt["status"], attempt["attempt"]) for attempt in attempts] == [(200, 1)]
    body = part(story, "body")
    assert (crawled.folder / "warc" / str(body["warc_file"])).is_file()
    robots = part(story, "robots")
    assert (robots["allowed"], robots["line"], robots["status"]) == (True, None, 200)


def test_a_seed(crawled: Stored) -> None:
    found = part(why(crawled, "/"), "found")
    assert (found["kind"], found["source"], found["depth"], found["on"]) == ("seed", "command line", 0, None)


def test_found_in_a_sitemap(crawled: Stored) -> None:
    found = part(why(crawled, "/mapped"), "found")
    assert (found["on"], found["kind"], found["depth"]) == (crawled.url + "/sitemap.xml", "sitemap", 1)


def test_a_redirect_and_a_duplicate(crawled: Stored) -> None:
    assert why(crawled, "/old")["redirect_to"] == crawled.url + "/a"
    second = why(crawled, "/dup2")
    assert second["duplicate_of"] == crawled.url + "/dup1"
    assert second["same_body"] == 1


def test_another_spelling(crawled: Stored) -> None:
    """How it was rewritten to its key and by which rules (R14); also for spellings never seen."""
    story = why(crawled, "/%7euser")
    rewritten = story["rewritten"]
    assert isinstance(rewritten, list)
    assert [step["rule"] for step in rewritten] == ["percent-case", "percent-decode"]
    assert rewritten[-1]["after"] == story["key"] == crawled.url + "/~user"
    for spelling in ("/~user", "/%7Euser"):
        other = why(crawled, spelling)
        assert other["page_url"] == crawled.url + "/%7euser"
        assert other["outcome"] == "fetched"


@pytest.mark.parametrize(
    ("path", "reason", "words", "option"),
    [
        ("http://elsewhere.test/x", "OUT_OF_SCOPE", "elsewhere.test", "--scope host"),
        ("/x/x/x/x/x/page", "PATH_REPEATS", "5 times in a row", "--trap-path-repeats 3"),
        ("/doc.pdf", "NOT_A_PAGE", ".pdf", None),
        ("/secret", "NOFOLLOW", "rel=nofollow", "--follow-nofollow (off)"),
        ("/unfollowed", "NOFOLLOW", "/noindex says nofollow", "--follow-nofollow (off)"),
        ("/logo.png", "KIND_NOT_FOLLOWED", "--follow +image", "--follow"),
        ("/deepest", "TOO_DEEP", "its depth is 4, and 3 is allowed", "--max-depth 3"),
    ],
)
def test_a_refused_url(crawled: Stored, path: str, reason: str, words: str, option: str | None) -> None:
    """Which rule refused it, with its numbers, and the option that changes it."""
    story = why(crawled, path)
    assert (story["outcome"], story["state"], story["reason"]) == ("refused", None, reason)
    assert words in said(story)
    assert str(story["option"]).startswith(option) if option else story["option"] is None
    assert part(story, "found")["on"]


def test_a_forbidden_url_names_the_line(crawled: Stored) -> None:
    """The line of robots.txt, by its number and its text."""
    story = why(crawled, "/private/x")
    assert (story["outcome"], story["error"]) == ("failed", "ROBOTS_DISALLOWED")
    assert "line 3: Disallow: /private" in said(story)
    robots = part(story, "robots")
    assert (robots["allowed"], robots["line"], robots["text"]) == (False, 3, "Disallow: /private")


def test_a_failed_url(crawled: Stored) -> None:
    story = why(crawled, "/reset")
    assert story["outcome"] == "failed"
    assert str(story["error"]) in said(story)
    attempts = story["attempts"]
    assert isinstance(attempts, list)
    assert attempts[0]["error"] == story["error"]


def test_urls_that_are_no_pages(crawled: Stored) -> None:
    mail = why(crawled, "mailto:me@example.org")
    assert mail["reason"] == "NOT_HTTP"
    found = part(mail, "found")
    assert (found["on"], found["kind"], found["depth"]) == (crawled.url + "/", "a", 1)
    long = why(crawled, stored.LONG_DATA)
    assert (long["reason"], part(long, "found")["on"]) == ("NOT_HTTP", crawled.url + "/b")
    assert why(crawled, "/sitemap.xml")["outcome"] == "recorded"
    assert "1 URL;" in said(why(crawled, "/sitemap.xml"))
    assert why(crawled, "/robots.txt")["outcome"] == "recorded"


def test_a_sitemap_that_is_not_there(site: Site, weft: Weft) -> None:
    """/sitemap.xml is asked where robots.txt names none: an answer without URLs is not called one that was read."""
    site.page("/")
    assert weft("crawl", site.at("/"), "-o", "out", "--delay", "0", "--quiet").code == 0
    assert "asked, and no URLs are in its answer" in weft("why", "out", site.at("/sitemap.xml")).stdout


def test_a_url_never_seen(crawled: Stored) -> None:
    """'never seen', what would become of it, and the nearest known URLs."""
    story = why(crawled, "/deper")
    assert (story["outcome"], story["seen"]) == ("unknown", False)
    assert "never seen" in said(story)
    assert "would be admitted" in said(story)
    nearest = story["nearest"]
    assert isinstance(nearest, list)
    assert nearest[0] == crawled.url + "/deeper"
    assert "would be refused: OUT_OF_SCOPE" in said(why(crawled, "http://other.test/"))
    assert "robots.txt would refuse it" in said(why(crawled, "/private/y"))
    assert "line 3" in said(why(crawled, "/private/y"))
    assert "would be refused: PATH_REPEATS" in said(why(crawled, "/y/y/y/y/y/"))
    with_slash = why(crawled, "/deep/")["nearest"]
    assert isinstance(with_slash, list)
    assert with_slash[0] == crawled.url + "/deep"


def test_a_sibling_site_is_near(crawled: Stored) -> None:
    port = crawled.url.rpartition(":")[2]
    assert why(crawled, f"http://127.0.0.2:{port}/")["nearest"] == [crawled.url + "/"]


def test_no_url(crawled: Stored) -> None:
    run = call("why", crawled.folder, "not a url")
    assert run.code == 2
    assert "is no URL" in run.stderr


def test_the_story_for_people_is_safe(crawled: Stored, tmp_path: Path) -> None:
    """Promise 9: anchors come from the web."""
    for path in ("/a", "/old", "/private/x", "/secret", "/never/seen", "/reset", "/~user", "/dup2"):
        run = call("why", crawled.folder, crawled.url + path)
        assert run.code == 0
        assert run.stdout.startswith(crawled.url + path)
        assert all(line.isprintable() for line in run.stdout.splitlines())


def test_ignored_robots_are_told(bare: Stored) -> None:
    story = why(bare, "/private/x")
    assert story["outcome"] == "fetched"
    assert story["body"] is None


def test_waiting_and_killed(crawled: Stored, tmp_path: Path) -> None:
    """Pages that wait, and those that were under way when the crawl was killed."""
    folder = tmp_path / "copy"
    copy(crawled.folder, folder)
    with sqlite3.connect(folder / "crawl.db") as db:
        db.execute("UPDATE page SET state = 'W' WHERE id = (SELECT id FROM url WHERE text LIKE '%/a')")
        db.execute("UPDATE page SET state = 'R' WHERE id = (SELECT id FROM url WHERE text LIKE '%/b')")
        reset = "(SELECT id FROM url WHERE text LIKE '%/reset')"
        db.execute(f"UPDATE page SET state = 'W', retry_ms = 1800000000000 WHERE id = {reset}")
    db.close()
    moved = Stored(folder, crawled.url)
    assert why(moved, "/a")["outcome"] == "waiting"
    assert "killed" in said(why(moved, "/b"))
    assert "tried again" in said(why(moved, "/reset"))
    assert "2027-01-15" in said(why(moved, "/reset"))


def copy(source: Path, target: Path) -> None:
    import shutil

    shutil.copytree(source, target)


def test_a_story_without_its_specification(crawled: Stored, tmp_path: Path) -> None:
    """crawl.toml is gone or wrong: what the database knows is told all the same."""
    folder = tmp_path / "copy"
    copy(crawled.folder, folder)
    for content in (None, "scope = 7 nonsense\n"):
        if content is None:
            (folder / "crawl.toml").unlink()
        else:
            (folder / "crawl.toml").write_text(content)
        assert why(Stored(folder, crawled.url), "/a")["outcome"] == "fetched"
        assert why(Stored(folder, crawled.url), "/secret")["reason"] == "NOFOLLOW"
        assert why(Stored(folder, crawled.url), "/never")["seen"] is False


# ---- show ------------------------------------------------------------------------------------------------------


def test_show_summary(crawled: Stored) -> None:
    run = call("show", crawled.folder, crawled.url + "/a")
    assert run.code == 0
    assert run.stdout.splitlines()[0] == crawled.url + "/a"
    assert "C, 200" in run.stdout
    assert "warc/weft-" in run.stdout


def test_show_body_is_byte_for_byte(crawled: Stored) -> None:
    """E3: the repository holds full pages; content encodings are taken off, binaries stay as they are."""
    assert call("show", crawled.folder, crawled.url + "/gz", "--body").out == stored.GZIPPED
    assert call("show", crawled.folder, crawled.url + "/bin", "--body").out == stored.BINARY


def test_show_body_of_a_revisit_record(crawled: Stored) -> None:
    """A payload that is stored once is found from both its pages."""
    bodies = [call("show", crawled.folder, f"{crawled.url}/dup{n}", "--body").out for n in (1, 2)]
    assert bodies[0] == bodies[1]
    assert stored.SAME.encode() in bodies[0]


def test_show_headers_and_text(crawled: Stored) -> None:
    head = call("show", crawled.folder, crawled.url + "/gz", "--headers").out
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Encoding: gzip\r\n" in head
    assert head.endswith(b"\r\n\r\n")
    text = call("show", crawled.folder, crawled.url + "/gz", "--text").stdout
    assert "packed text" in text
    assert "<p>" not in text


def test_show_what_never_answered(crawled: Stored) -> None:
    for option in ("--headers", "--body", "--text"):
        run = call("show", crawled.folder, crawled.url + "/reset", option)
        assert run.code == 1
        assert "never answered" in run.stderr
    assert call("show", crawled.folder, crawled.url + "/reset").code == 0
    never = call("show", crawled.folder, crawled.url + "/secret", "--body")
    assert (never.code, "never asked" in never.stderr) == (1, True)


def test_show_an_unknown_url(crawled: Stored) -> None:
    run = call("show", crawled.folder, crawled.url + "/deper")
    assert run.code == 1
    assert crawled.url + "/deeper" in run.stderr
    assert run.stdout == ""


def test_show_without_an_archive(bare: Stored) -> None:
    run = call("show", bare.folder, bare.url + "/a", "--body")
    assert run.code == 1
    assert "--no-archive" in run.stderr
    assert call("show", bare.folder, bare.url + "/a", "--headers").out.startswith(b"HTTP/1.1 200")


def test_a_terminal_gets_no_binary_and_no_control_characters(weft: Weft, crawled: Stored) -> None:
    """Promise 9, on a real terminal."""
    code, seen = weft.on_a_terminal("show", crawled.folder, crawled.url + "/bin", "--body")
    assert code == 1
    assert "is no text" in seen
    code, seen = weft.on_a_terminal("show", crawled.folder, crawled.url + "/evil", "--body")
    assert code == 0
    assert "evil" in seen
    assert "\x1b[31m" not in seen
    assert "\u202e" not in seen
    code, seen = weft.on_a_terminal("pages", crawled.folder)
    assert seen.split()[0].endswith("state")
    assert "\x1b[31m" not in seen


def test_what_the_seen_set_has_not_taken_in_yet(crawled: Stored, tmp_path: Path) -> None:
    """A running crawl writes its seen-set in runs: what is newer is found as well, alone and among others."""
    folder = tmp_path / "crawl"
    shutil.copytree(crawled.folder, folder)
    urls = [f"{crawled.url}/", f"{crawled.url}/a", f"{crawled.url}/a#top", f"{crawled.url}/nobody", f"{crawled.url}/a"]
    with StoredCrawl(folder) as crawl:
        before = crawl.find_all(urls)
        assert crawl.find_all([]) == []
    with contextlib.closing(sqlite3.connect(folder / "crawl.db")) as database, database:
        assert database.execute("DELETE FROM seen_run").rowcount
        database.execute("DELETE FROM seen")
    with StoredCrawl(folder) as crawl:
        assert crawl.find_all(urls) == before == [crawl.find(url) for url in urls]
    assert [place is not None for place in before] == [True, True, True, False, True]
