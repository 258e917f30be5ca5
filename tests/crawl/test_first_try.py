"""A first try that failed does not block the right one: its folder is set aside where no answer was ever stored."""

from __future__ import annotations

import contextlib
import socket
import sqlite3
from collections.abc import Callable

from command import Weft
from web import Site

QUICK = ("--delay", "0", "--sitemaps", "no", "--retries", "0")


def refusing_url() -> str:
    """An address on loopback at which nobody listens."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{bound.getsockname()[1]}/"


def test_a_try_without_any_answer_is_set_aside(site: Site, weft: Weft) -> None:
    site.page("/")
    assert weft("crawl", refusing_url(), "-o", "out", *QUICK).code == 1
    run = weft("crawl", site.url, "-o", "out", *QUICK, "--max-depth", "3")
    assert run.code == 0, run.stderr
    assert "the earlier try in out never got an answer: it is set aside as out.old1" in run.stderr
    assert site.asked("/") == 1 and (weft.folder / "out.old1" / "crawl.db").is_file()
    assert weft("pages", "out", "--format", "csv").stdout.count("\n") == 2


def test_the_same_again_goes_on_with_the_first_try(site: Site, weft: Weft) -> None:
    words = ("crawl", refusing_url(), "-o", "out", *QUICK)
    assert weft(*words).code == 1 and weft(*words).code == 1
    assert not (weft.folder / "out.old1").exists()


def test_a_try_that_was_prepared_and_never_began_is_set_aside(site: Site, weft: Weft) -> None:
    site.page("/")
    assert weft("crawl", refusing_url(), "-o", "out", *QUICK).code == 1
    for path in (weft.folder / "out" / "crawl.db", *(weft.folder / "out" / "warc").iterdir()):
        path.unlink()
    run = weft("crawl", site.url, "-o", "out", *QUICK)
    assert run.code == 0 and "set aside as out.old1" in run.stderr


def test_an_answer_of_any_status_keeps_a_folder(site: Site, weft: Weft) -> None:
    """What was stored is another crawl, and is not moved without being asked for."""
    gone = site.page("/gone", status=404)
    site.page("/")
    assert weft("crawl", gone, "-o", "out", *QUICK).code == 1
    run = weft("crawl", site.at("/"), "-o", "out", *QUICK)
    assert run.code == 2 and "holds a crawl with another specification" in run.stderr and "--fresh" in run.stderr
    assert not (weft.folder / "out.old1").exists()


def test_an_archive_whose_database_is_lost_keeps_a_folder(site: Site, weft: Weft) -> None:
    site.page("/")
    site.page("/a")
    assert weft("crawl", site.at("/"), "-o", "out", *QUICK).code == 0
    (weft.folder / "out" / "crawl.db").unlink()
    assert weft("crawl", site.at("/a"), "-o", "out", *QUICK).code == 2


def test_a_try_that_still_runs_is_not_set_aside(site: Site, weft: Weft) -> None:
    site.page("/")
    with contextlib.closing(socket.socket()) as silent:  # connections are taken by the system, and nobody answers
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        running = weft.start("crawl", f"http://127.0.0.1:{silent.getsockname()[1]}/", "-o", "out", *QUICK)
        with silent.accept()[0]:
            run = weft("crawl", site.url, "-o", "out", *QUICK)
            assert run.code == 2 and "a crawl is running in out" in run.stderr
            weft.kill(running)
            running.wait(60)


def test_two_ports_of_one_host_are_two_folders(sites: Callable[..., Site], weft: Weft) -> None:
    for site in (sites(), sites()):
        site.page("/")
        assert weft("crawl", site.url, *QUICK).code == 0
        folder = weft.folder / f"127.0.0.1_{site.port}"
        with contextlib.closing(sqlite3.connect(folder / "crawl.db")) as database:
            assert database.execute("SELECT count(*) FROM seed").fetchone() == (1,)
