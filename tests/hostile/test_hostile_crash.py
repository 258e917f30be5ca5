"""Kills, signals, full disks, few descriptors, double starts, dying servers: nothing lost or doubled (T8, E4)."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from command import Weft
from until import wait_until
from web import NameServer, Request, Response, Site, html_page

from weft.cli.main import main
from weft.derive.read import StoredCrawl

QUICK = ("--delay", "0", "--per-host", "4", "--sitemaps", "no", "--quiet")


def tree(site: Site, pages: int = 60, delay_s: float = 0.0) -> set[str]:
    """A site whose every page links to the three behind it; the paths of all."""
    paths = ["/"] + [f"/p{n}" for n in range(1, pages)]
    for number, path in enumerate(paths):
        site.page(path, [paths[n] for n in range(3 * number + 1, min(3 * number + 4, pages))], delay_s=delay_s)
    return set(paths)


def stored(folder: Path) -> dict[str, tuple[str | None, int | None]]:
    with StoredCrawl(folder) as crawl:
        return {page.url: (page.state, page.status) for page in crawl.pages()}


def assert_whole(weft: Weft, site: Site, paths: set[str], name: str = "out") -> None:
    """Every page is there once, in the database and in the archive, and the folder is consistent."""
    pages = stored(weft.folder / name)
    assert pages == {site.at(path): ("C", 200) for path in paths}
    check = weft("check", name)
    assert check.code == 0, check.stdout + check.stderr


def wait_for(site: Site, requests: int) -> None:
    wait_until(lambda: len(site.requests) >= requests, f"request {requests}")


def finish(process: subprocess.Popen[bytes], limit_s: float = 120.0) -> tuple[int, str]:
    _, stderr = process.communicate(timeout=limit_s)
    return process.returncode, stderr.decode(errors="replace")


def wait_until_delivered(process: subprocess.Popen[bytes]) -> None:
    """Until no signal is pending: two that are would be delivered as one."""
    status = Path(f"/proc/{process.pid}/status")
    wait_until(lambda: re.search(r"^ShdPnd:\s+0+$", status.read_text(), re.MULTILINE), "that the signal was delivered")


# --- signals


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signal_stops_cleanly(site: Site, weft: Weft, name: str) -> None:
    """Issue 3, 2: one signal ends the run, exit 3; what was fetched is stored, the rest comes with a resume."""
    paths = tree(site, 120)
    site.let(12)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--grace", "60")
    wait_for(site, 13)
    process.send_signal(getattr(signal, name))
    site.let()
    code, stderr = finish(process)
    assert code == 3 and "Traceback" not in stderr, (code, stderr)
    asked = Counter(site.paths())
    kept = stored(weft.folder / "out")
    assert {site.at(path) for path in asked if path != "/robots.txt"} == set(kept)
    assert 0 < len(kept) < len(paths)
    status = weft("status", "out", "--json").stdout.replace(" ", "")
    assert '"state":"stopped"' in status and '"stop_reason":"stopped"' in status and '"running":0' in status, status
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, paths)
    assert max(Counter(path for path in site.paths() if path != "/robots.txt").values()) == 1


def test_second_signal_ends_at_once(site: Site, weft: Weft) -> None:
    """Issue 3, 2: twice means now, even while an answer is awaited; that page is asked again by the resume."""
    site.page("/", ["/slow", "/a"])
    site.page("/a")
    site.page("/slow", delay_s=600.0)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--timeout", "1h", "--grace", "1h")
    wait_for(site, 4)
    process.send_signal(signal.SIGINT)
    wait_until_delivered(process)
    time.sleep(0.3)
    assert process.poll() is None  # it waits for the slow page
    process.send_signal(signal.SIGINT)
    code, stderr = finish(process)
    assert code == 3 and "Traceback" not in stderr, (code, stderr)
    site.page("/slow")
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, {"/", "/slow", "/a"})


def test_grace_time_ends(site: Site, weft: Weft) -> None:
    """Issue 3, 2: a server that never answers does not keep a stopped crawl alive."""
    site.page("/", ["/hang"])
    site.misbehave("/hang", "hang_before_answer")
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--timeout", "60s", "--grace", "1")
    wait_for(site, 3)
    process.terminate()
    code, stderr = finish(process)
    assert code == 3, stderr
    assert stored(weft.folder / "out")[site.at("/")] == ("C", 200)


def test_what_ends_within_the_grace_is_kept_at_once(site: Site, weft: Weft) -> None:
    """Promise 1: a stopped crawl that waits for its last page, and is killed then, has the others."""
    site.page("/", ["/late", "/hang"])
    site.page("/late")
    site.misbehave("/hang", "hang_before_answer")
    site.let(2)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--per-host", "2", "--timeout", "1h", "--grace", "1h")
    wait_for(site, 4)
    process.send_signal(signal.SIGINT)
    wait_until_delivered(process)
    site.let()
    wait_until(lambda: stored(weft.folder / "out").get(site.at("/late")) == ("C", 200), "the late page in the database")
    assert process.poll() is None  # it waits for the other one
    process.kill()
    finish(process)
    site.page("/hang")
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, {"/", "/late", "/hang"})
    assert site.asked("/late") == 1


@pytest.mark.parametrize("way", ["file", "command"])
def test_stop_file_and_command(site: Site, weft: Weft, way: str) -> None:
    """Issue 3, 2: a file STOP in the folder and `weft stop` do the same as Ctrl-C once."""
    paths = tree(site, 60)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--grace", "1")
    wait_for(site, 7)
    if way == "file":
        (weft.folder / "out" / "STOP").touch()
    else:
        assert weft("stop", "out").code == 0
    code, stderr = finish(process)
    assert code == 3 and not (weft.folder / "out" / "STOP").exists(), (code, stderr)
    site.let()
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, paths)


def test_killed_again_and_again(site: Site, weft: Weft) -> None:
    """Promise 1: SIGKILL at any moment, many times: in the end the same pages, few of them asked twice."""
    paths = tree(site, 80, delay_s=0.02)
    for kill in range(5):
        process = weft.start("crawl", site.url, "-o", "out", *QUICK)
        time.sleep((0.2, 0.45, 0.6, 0.8, 1.2)[kill])
        process.kill()
        process.wait(60)
    told = weft("status", "out", "--json")
    assert "Traceback" not in told.stderr and '"state":"running"' not in told.stdout.replace(" ", ""), told
    begun = (weft.folder / "out" / "crawl.toml").exists()  # else this machine is so slow that no kill met a crawl
    run = weft("resume", "out", "--quiet") if begun else weft("crawl", site.url, "-o", "out", *QUICK)
    assert run.code == 0, run.stderr
    assert_whole(weft, site, paths)
    assert max(Counter(site.paths()).values()) <= 8


def test_killed_before_anything(site: Site, weft: Weft) -> None:
    """DESIGN section 6: crawl.toml is written first, so a crawl killed at its first instant can be resumed."""
    paths = tree(site, 5)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_until((weft.folder / "out" / "crawl.toml").exists, "crawl.toml")
    process.kill()
    process.wait(60)
    shutil.rmtree(weft.folder / "out" / "warc", ignore_errors=True)
    (weft.folder / "out" / "crawl.db").unlink(missing_ok=True)
    for rest in ("-wal", "-shm"):
        (weft.folder / "out" / f"crawl.db{rest}").unlink(missing_ok=True)
    told = weft("status", "out")
    assert told.code == 2 and "has not begun: start it with `weft resume out`" in told.stderr, told
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, paths)


# --- disks


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts small file systems, where we may."""
    mounted: list[Path] = []

    def mount(size_kib: int) -> Path:
        place = tmp_path / "disk"
        place.mkdir(exist_ok=True)
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "weft-test", str(place)],
            capture_output=True,
            check=False,
        )
        if done.returncode != 0:
            pytest.skip(f"no file system can be mounted here: {done.stderr.decode().strip()}")
        mounted.append(place)
        return place

    yield mount
    for place in mounted:
        subprocess.run(["umount", "-l", str(place)], capture_output=True, check=False)


def heavy(site: Site, pages: int = 40) -> set[str]:
    """Pages that do not shrink when they are packed."""
    paths = {"/"} | {f"/p{n}" for n in range(1, pages)}
    site.page("/", [f"/p{n}" for n in range(1, pages)])
    for number in range(1, pages):
        site.page(f"/p{number}", body=f"<p>{os.urandom(24_000).hex()}</p>")
    return paths


def test_full_disk(site: Site, weft: Weft, tiny_disk: Callable[[int], Path]) -> None:
    """Promise 10: a full disk stops the crawl at once with a sentence, exit 1; after room was made it goes on."""
    disk = tiny_disk(900)
    paths = heavy(site)
    run = weft("crawl", site.url, "-o", disk / "out", *QUICK)
    assert run.code == 1, (run.code, run.stderr)
    assert "Traceback" not in run.stderr and "bug in weft" not in run.stderr and run.stderr.count("\n") <= 3, run.stderr
    assert "full" in run.stderr or "space" in run.stderr, run.stderr
    assert stop_reason(weft, disk / "out") == "disk full"
    subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
    again = weft("resume", disk / "out", "--quiet")
    assert again.code == 0, again.stderr
    pages = stored(disk / "out")
    assert pages == {site.at(path): ("C", 200) for path in paths}
    assert weft("check", disk / "out").code == 0


@pytest.mark.parametrize(
    "words",
    [["--processes", "1"], ["--processes", "2"], ["--processes", "2", "--near-duplicates", "0.9"]],
    ids=["alone", "beside a worker", "by workers"],
)
def test_filled_by_others(site: Site, weft: Weft, tiny_disk: Callable[[int], Path], words: list[str]) -> None:
    """Others leave no byte: the run is known as one that the full disk ended, and the resume as one after a kill."""
    disk = tiny_disk(6_000)
    paths = heavy(site)

    def fill(request: Request) -> Response:
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4_096))
        return Response(b"<p>late</p>")

    site.serve("/p20", fill)
    run = weft("crawl", site.url, "-o", disk / "out", *QUICK, *words)
    assert run.code == 1 and "Traceback" not in run.stderr, (run.code, run.stderr)
    assert stop_reason(weft, disk / "out") == "disk full"
    shown = weft("status", disk / "out").stdout
    assert "stopped (disk full)" in shown, shown
    (disk / "filler").unlink()
    site.page("/p20", body="<p>late</p>")
    again = weft("resume", disk / "out", "--quiet")
    assert again.code == 0, again.stderr
    assert stored(disk / "out") == {site.at(path): ("C", 200) for path in paths}
    assert stop_reason(weft, disk / "out") == "done" and weft("check", disk / "out").code == 0


def stop_reason(weft: Weft, folder: Path) -> str:
    return str(json.loads(weft("status", folder, "--json").stdout)["stop_reason"])


def test_full_from_the_start(site: Site, weft: Weft, tiny_disk: Callable[[int], Path]) -> None:
    """Promise 10: no room even for the first tables."""
    disk = tiny_disk(12)
    site.page("/")
    run = weft("crawl", site.url, "-o", disk / "out", *QUICK)
    assert (
        run.code in (1, 2)
        and run.stderr.startswith("weft: ")
        and "Traceback" not in run.stderr
        and "bug" not in run.stderr
    ), (run.code, run.stderr)


def test_full_before_it_begins(site: Site, weft: Weft, tiny_disk: Callable[[int], Path]) -> None:
    """Promise 10: no room for the specification: the sentence names the folder, and what to do."""
    disk = tiny_disk(900)
    site.page("/")
    with pytest.raises(OSError), (disk / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4_096))
    run = weft("crawl", site.url, "-o", disk / "out", *QUICK)
    assert run.code == 1 and run.stderr.count("\n") == 1, run
    assert f"the disk is full: {disk / 'out'} cannot be written. Make room" in run.stderr and not site.requests, run
    (disk / "filler").unlink()
    assert weft("crawl", site.url, "-o", disk / "out", *QUICK).code == 0


def test_an_index_that_cannot_be_written(site: Site, weft: Weft) -> None:
    """Promise 10: a run whose index is not there has not ended; the next one makes it. So with a kill."""
    paths = tree(site, 12)
    assert weft("crawl", site.url, "-o", "out", *QUICK, "--max-pages", "3").code == 0
    index = weft.folder / "out" / "warc" / "index.cdxj"
    index.unlink()
    (index / "in the way").mkdir(parents=True)
    run = weft("resume", "out", "--max-pages", "none", "--quiet")
    assert run.code == 1 and "index.cdxj" in run.stderr and run.stderr.count("\n") == 1, run
    shutil.rmtree(index)
    assert '"stop_reason":"killed"' in weft("status", "out", "--json").stdout
    check = weft("check", "out")
    assert check.code == 0, check.stdout
    assert weft("resume", "out", "--quiet").code == 0
    assert index.is_file()
    assert_whole(weft, site, paths)


@pytest.mark.parametrize("limit_b", [400_000])
def test_quota(site: Site, weft: Weft, limit_b: int) -> None:
    """Promise 10: a quota on files is no crash; the resume with more of it is complete."""
    paths = heavy(site, 30)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, limit=(resource.RLIMIT_FSIZE, limit_b))
    code, stderr = finish(process)
    assert code in (1, 2), (code, stderr)
    assert "Traceback" not in stderr and "bug in weft" not in stderr and stderr.startswith("weft: "), stderr
    again = weft(
        "resume" if (weft.folder / "out" / "crawl.toml").exists() else "crawl",
        *(["out"] if (weft.folder / "out" / "crawl.toml").exists() else [site.url, "-o", "out"]),
        "--quiet",
    )
    assert again.code == 0, again.stderr
    assert_whole(weft, site, paths)


def test_read_only_place(site: Site, weft: Weft, tiny_disk: Callable[[int], Path]) -> None:
    """Issue 3, 10: a folder that cannot be written, new or old: a sentence, exit 2, nothing asked."""
    disk = tiny_disk(4_000)
    site.page("/")
    assert weft("crawl", site.url, "-o", disk / "old", *QUICK).code == 0
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    asked = len(site.requests)
    for words in (
        ("crawl", site.url, "-o", disk / "new"),
        ("resume", disk / "old"),
        ("crawl", site.url, "-o", disk / "old"),
    ):
        run = weft(*words, *QUICK[:0], "--quiet")
        assert (
            run.code in (1, 2)
            and run.stderr.startswith("weft: ")
            and "Traceback" not in run.stderr
            and "bug in weft" not in run.stderr
        ), (words, run)
    assert len(site.requests) == asked
    assert weft("pages", disk / "old").code == 0, weft("pages", disk / "old").stderr
    assert weft("status", disk / "old").code == 0


@pytest.mark.parametrize("harm", ["middle", "cut", "text"])
def test_damaged_database(site: Site, weft: Weft, harm: str) -> None:
    """Issue 3, 10: a damaged crawl.db is told in a sentence, exit 2 or 1; its WARC files are left alone."""
    tree(site, 30)
    assert weft("crawl", site.url, "-o", "out", *QUICK).code == 0
    file = weft.folder / "out" / "crawl.db"
    content = bytearray(file.read_bytes())
    if harm == "middle":
        content[4_096:] = os.urandom(len(content) - 4_096)
    elif harm == "cut":
        del content[len(content) // 2 :]
    else:
        content = bytearray(b"this is not a database\n" * 500)
    for rest in ("-wal", "-shm"):
        (weft.folder / "out" / f"crawl.db{rest}").unlink(missing_ok=True)
    file.write_bytes(content)
    archives = {path.name: path.read_bytes() for path in (weft.folder / "out" / "warc").glob("*.warc.gz")}
    commands = [
        ("resume", "out"),
        ("status", "out"),
        ("pages", "out"),
        ("check", "out"),
        ("links", "out"),
        ("why", "out", site.url),
        ("add", "out", site.at("/x")),
    ]
    for words in commands if harm == "middle" else commands[:2]:
        run = weft(*words)
        assert "Traceback" not in run.stderr and "bug in weft" not in run.stderr, (words, run)
        assert run.code in (1, 2) and run.stderr.startswith("weft: "), (words, run)
    assert {path.name: path.read_bytes() for path in (weft.folder / "out" / "warc").glob("*.warc.gz")} == archives


# --- two at once, few descriptors


def test_double_start(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a second crawl in the folder of a running one is told so, exit 2, and harms nothing."""
    paths = tree(site, 60)
    site.let(4)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--timeout", "1h")
    wait_for(site, 5)
    for words in (
        ("crawl", site.url, "-o", "out", *QUICK),
        ("resume", "out"),
        ("crawl", site.url, "-o", "out", "--fresh", *QUICK),
    ):
        run = weft(*words)
        assert run.code == 2 and "running" in run.stderr, run
    site.let()
    code, stderr = finish(process)
    assert code == 0, stderr
    assert_whole(weft, site, paths)
    assert max(Counter(site.paths()).values()) == 1


def test_a_lock_file_that_is_removed(site: Site, weft: Weft) -> None:
    """Issue 3, 10: who takes the lock file for a leftover and removes it still cannot start a second crawl."""
    paths = tree(site)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_for(site, 7)
    (weft.folder / "out" / "lock").unlink()
    for words in (("crawl", site.url, "-o", "out", *QUICK), ("resume", "out", "--quiet")):
        second = weft(*words)
        assert second.code == 2 and "a crawl is running" in second.stderr, second
    assert '"running"' in weft("status", "out", "--json").stdout
    site.let()
    code, stderr = finish(process)
    assert code == 0, stderr
    assert_whole(weft, site, paths)


def test_strange_things_in_the_folder(site: Site, weft: Weft) -> None:
    """Issue 3, 10: what others put where signals are left stops nothing and breaks nothing."""
    paths = tree(site)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_for(site, 7)
    (weft.folder / "out" / "STOP").mkdir()
    added = weft.folder / "out" / "added"
    (added / "folder.txt").mkdir(parents=True)
    (added / "binary.txt").write_bytes(b"\xff\xfe\x00")
    (added / "words.txt").write_text("no url\nftp://x.test/\nhttp://\n")
    site.let()
    code, stderr = finish(process)
    assert code == 0, stderr
    assert_whole(weft, site, paths)
    again = weft("resume", "out", "--quiet")
    assert again.code == 0, again.stderr


def test_ten_starts_at_once(site: Site, weft: Weft) -> None:
    """Issue 3, 10: of many that start together one crawls; every page is asked once."""
    paths = tree(site, 20, delay_s=0.1)
    processes = [weft.start("crawl", site.url, "-o", "out", *QUICK) for _ in range(6)]
    codes = sorted(finish(process)[0] for process in processes)
    assert codes[0] == 0 and set(codes) <= {0, 2}, codes
    assert_whole(weft, site, paths)
    assert max(Counter(path for path in site.paths() if path != "/robots.txt").values()) == 1


@pytest.mark.parametrize("descriptors", [24, 40])
def test_few_descriptors(site: Site, weft: Weft, descriptors: int) -> None:
    """Issue 3, 10: a low limit of open files makes the crawl narrower, not wrong."""
    paths = tree(site, 20)
    hosts = [f"h{n}.test" for n in range(30)]
    seeds = [site.url, *(site.at("/", host) for host in hosts)]
    words = ("-o", "out", *QUICK, "--resolve", "*.test=127.0.0.1")
    process = weft.start("crawl", *seeds, *words, limit=(resource.RLIMIT_NOFILE, descriptors))
    code, stderr = finish(process)
    if code == 2 and descriptors < 40:
        assert stderr.startswith("weft: ") and "Traceback" not in stderr, stderr  # too few to work with, and it says so
        return
    assert code == 0, (code, stderr)
    pages = stored(weft.folder / "out")
    assert {state for state, _ in pages.values()} == {"C"}
    assert len(pages) == 31 * len(paths)


# --- servers and names that die


def test_server_goes_away_and_comes_back(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a server that is gone is tried again, given up for now, and had by the resume; nothing twice."""
    paths = tree(site, 30)
    site.let(10)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--retries", "1")
    wait_for(site, 11)
    site.stop()
    site.let()
    code, stderr = finish(process)
    assert code in (0, 3) and "Traceback" not in stderr, (code, stderr)
    pages = stored(weft.folder / "out")
    assert {state for state, _ in pages.values()} >= {"C", "E"}
    done = {url for url, (state, _) in pages.items() if state == "C"}
    site.start()
    again = weft("resume", "out", "--quiet")
    assert again.code == 0, again.stderr
    assert_whole(weft, site, paths)
    twice = {site.at(path) for path, times in Counter(site.paths()).items() if times > 1}
    assert not twice & done


def test_server_comes_back_in_time(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a short absence costs nothing."""
    paths = tree(site, 30)
    site.let(10)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK, "--retries", "8")
    wait_for(site, 11)
    site.stop()
    site.let()
    time.sleep(0.6)
    site.start()
    code, stderr = finish(process)
    assert code == 0, stderr
    assert_whole(weft, site, paths)


def test_names_die(site: Site, names: NameServer, weft: Weft) -> None:
    """Issue 3, 10: a name server that dies is a recorded cause; known hosts go on; a resume mends it."""
    names.add("one.test", "127.0.0.1")
    names.add("two.test", "127.0.0.1")
    for host in ("one.test", "two.test"):
        site.page("/", ["/a"], host=host)
        site.page("/a", host=host)
    site.page("/", [site.at("/", "two.test"), "/a", "/b"], host="one.test")
    site.page("/b", host="one.test")
    site.let(1)  # robots.txt
    process = weft.start(
        "crawl",
        site.at("/", "one.test"),
        "-o",
        "out",
        *QUICK,
        "--scope",
        "free",
        "--nameserver",
        f"127.0.0.1:{names.port}",
        "--allow-net",
        "127.0.0.0/8",
        "--retries",
        "0",
    )
    wait_for(site, 2)
    names.stop()
    site.let()
    code, stderr = finish(process)
    assert code == 0, stderr
    pages = stored(weft.folder / "out")
    assert pages[site.at("/b", "one.test")] == ("C", 200)
    assert pages[site.at("/", "two.test")][0] == "E"
    names.start()
    again = weft("resume", "out", "--quiet")
    assert again.code == 0, again.stderr
    assert stored(weft.folder / "out")[site.at("/a", "two.test")] == ("C", 200)


def test_clock_set_back(site: Site, weft: Weft) -> None:
    """Issue 3, 10: the machine's clock was set back since the last run: nothing waits for the future."""
    paths = tree(site, 7)
    site.let(4)
    process = weft.start("crawl", site.url, "-o", "out", "--delay", "0.3", "--sitemaps", "no", "--quiet")
    wait_for(site, 5)
    process.terminate()
    site.let()
    assert finish(process)[0] == 3
    database = sqlite3.connect(weft.folder / "out" / "crawl.db")
    with database:
        ahead = 40 * 86_400 * 1000
        database.execute("UPDATE meta SET value = value + ? WHERE name = 'last_tick_ms'", (ahead,))
        database.execute("UPDATE site SET next_access_ms = next_access_ms + ?", (ahead,))
        database.execute("UPDATE origin SET fetched_ms = fetched_ms + ?", (ahead,))
        database.execute("UPDATE page SET retry_ms = retry_ms + ? WHERE retry_ms IS NOT NULL", (ahead,))
    database.close()
    run = weft("resume", "out", "--quiet")
    assert run.code == 0, run
    assert_whole(weft, site, paths)


def test_broken_archive_tail(site: Site, weft: Weft) -> None:
    """Promise 1: bytes behind what was committed are cut off; files nobody knows are removed; the archive is whole."""
    paths = tree(site, 30)
    site.let(24)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_for(site, 25)
    process.kill()
    process.wait(60)
    site.let()
    archives = sorted((weft.folder / "out" / "warc").glob("*.warc.gz"))
    with archives[-1].open("ab") as file:
        file.write(os.urandom(5_000))
    stray = archives[-1].name.replace("-00001.warc.gz", "-00009.warc.gz")
    (weft.folder / "out" / "warc" / stray).write_bytes(b"\x1f\x8b" + os.urandom(100))
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, paths)


def test_bodies_while_dying(site: Site, weft: Weft) -> None:
    """Promise 1: a connection that dies inside a body is no page; the retry brings it whole."""
    turns = Counter[str]()

    def answer(request: Request) -> Response:
        turns[request.path] += 1
        body = html_page(request.path, body="x" * 5_000)
        if turns[request.path] == 1:
            return Response(body, headers={"Content-Length": str(len(body) + 700), "Connection": "close"})
        return Response(body)

    site.page("/", ["/d1", "/d2", "/d3"])
    for path in ("/d1", "/d2", "/d3"):
        site.serve(path, answer)
    run = weft("crawl", site.url, "-o", "out", *QUICK, "--timeout", "3s")
    assert run.code == 0, run.stderr
    assert_whole(weft, site, {"/", "/d1", "/d2", "/d3"})
    assert {path: turns[path] for path in ("/d1", "/d2", "/d3")} == {"/d1": 2, "/d2": 2, "/d3": 2}


def test_closed_streams(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a terminal that goes away, or a reader that leaves, does not end a crawl or show a trace."""
    paths = tree(site, 20)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK[:-1])
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    process.stderr.close()
    process.wait(120)
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, paths)
    reader = subprocess.run(
        f"{sys.executable} -m weft pages out | head -1",
        shell=True,
        cwd=weft.folder,
        env=weft.environment,
        capture_output=True,
        check=False,
    )
    assert reader.stdout.count(b"\n") == 1 and b"Traceback" not in reader.stderr and reader.stderr == b"", reader.stderr


@pytest.mark.parametrize("harm", ["reader", "full", "closed"])
def test_a_screen_that_is_gone(site: Site, weft: Weft, harm: str) -> None:
    """Promise 10: a crawl that nobody can see any more goes on to its end: only its store may stop it."""
    paths = tree(site)
    ending = {"reader": "2>&1 | head -n 1", "full": "2>/dev/full", "closed": "<&- >&- 2>&-"}[harm]
    words = " ".join(["crawl", site.url, "-o", "out", *QUICK[:-1], "--log", "screen"])
    script = f"({sys.executable} -m weft {words}; echo $? >code) {ending}"
    subprocess.run(["sh", "-c", script], cwd=weft.folder, env=weft.environment, timeout=300, check=False)
    assert (weft.folder / "code").read_text() == "0\n"
    assert '"state":"done"' in weft("status", "out", "--json").stdout
    assert_whole(weft, site, paths)


def test_a_hang_up_that_is_ignored(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a crawl behind nohup outlives its terminal; a plain one is stopped by it."""
    paths = tree(site)
    site.let(6)
    command = ["nohup", sys.executable, "-m", "weft", "crawl", site.url, "-o", "out", *QUICK]
    with subprocess.Popen(
        command, cwd=weft.folder, env=weft.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        wait_for(site, 7)
        process.send_signal(signal.SIGHUP)
        site.let()
        code, stderr = finish(process)
    assert code == 0, stderr
    assert_whole(weft, site, paths)


def test_impatient_people(site: Site, weft: Weft) -> None:
    """Issue 3, 2: who presses Ctrl-C again and again gets the same exit code as for twice, whenever it arrives."""
    tree(site)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_for(site, 7)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        time.sleep(0.005)
    code, stderr = finish(process)
    assert code == 3 and not stderr, (code, stderr)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_before_anything(weft: Weft, name: str) -> None:
    """DESIGN section 6: interrupted is exit 3 also for a command that is still being loaded."""
    program = (
        "import os, signal, sys; from weft.cli import main as cli\n"
        f"cli._dispatch = lambda *_: exec('os.kill(os.getpid(), signal.{name})', globals()) or 0\n"
        "sys.exit(cli.main())"
    )
    run = subprocess.run([sys.executable, "-c", program], env=weft.environment, capture_output=True, check=False)
    assert (run.returncode, run.stderr) == (3, b"")


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_behind_the_crawl(site: Site, weft: Weft, name: str) -> None:
    """DESIGN section 6: and for one whose crawl has ended, while results are still being written."""
    site.page("/")
    unloader = f"import os, signal\ndef unload(crawl, folder): os.kill(os.getpid(), signal.{name})\n"
    (weft.folder / "own.py").write_text(unloader)
    run = weft("crawl", site.url, "-o", "out", *QUICK, "--part", "unloader=own.py:unload")
    assert (run.code, run.stderr) == (3, "")
    assert '"state":"done"' in weft("status", "out", "--json").stdout


def test_output_that_is_closed(site: Site, weft: Weft) -> None:
    """Issue 3, 10: commands that are started without an output say nothing, and say it well."""
    site.page("/")
    assert weft("crawl", site.url, "-o", "out", *QUICK).code == 0
    for words in ("pages out", "links out --format csv", "status out", "check out", f"show out {site.url} --body"):
        command = f"exec {sys.executable} -m weft {words} >&-"
        run = subprocess.run(
            ["sh", "-c", command], cwd=weft.folder, env=weft.environment, capture_output=True, timeout=120, check=False
        )
        assert (run.returncode, run.stderr) == (0, b""), (words, run)


def test_a_database_that_is_removed(site: Site, weft: Weft) -> None:
    """Promise 10: what is written into a file that nobody can open any more is not said to be stored."""
    tree(site, 60)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", *QUICK)
    wait_for(site, 7)
    (weft.folder / "out" / "crawl.db").unlink()
    site.let()
    code, stderr = finish(process)
    assert code == 1 and "crawl.db is gone" in stderr and "Traceback" not in stderr, (code, stderr)


@pytest.mark.parametrize("harm", ["removed", "emptied"])
def test_a_database_that_is_lost(site: Site, weft: Weft, harm: str) -> None:
    """Promise 10: a crawl that begins anew because its database is lost leaves what is in its WARC files alone."""
    paths = tree(site, 12)
    assert weft("crawl", site.url, "-o", "out", *QUICK).code == 0
    kept: set[bytes] = set()
    for words in (("resume", "out"), ("crawl", site.url, "-o", "out", *QUICK)):
        kept |= {path.read_bytes() for path in (weft.folder / "out" / "warc").glob("*.warc.gz")}
        database = weft.folder / "out" / "crawl.db"
        database.unlink()
        if harm == "emptied":
            database.touch()
        run = weft(*words)
        assert run.code == 0 and "crawl.db is gone or empty, so the crawl begins anew" in run.stderr, run
        assert kept <= {path.read_bytes() for path in (weft.folder / "out" / "warc").glob("*.warc.gz")}
        assert_whole(weft, site, paths)
    assert len(kept) == 2
    again = weft("resume", "out")
    assert again.code == 0 and "gone" not in again.stderr, again


def test_a_specification_that_is_empty(site: Site, weft: Weft) -> None:
    """Issue 3, 10: a crawl.toml with nothing in it is not taken for a crawl with every default."""
    paths = tree(site, 12)
    command = ("crawl", site.url, "-o", "out", *QUICK, "--max-pages", "4")
    assert weft(*command).code == 0
    asked = len(site.requests)
    specification = weft.folder / "out" / "crawl.toml"
    specification.write_text("# nothing\n", encoding="utf-8")
    for words in (("resume", "out"), command):
        run = weft(*words)
        assert run.code == 2 and "crawl.toml is empty" in run.stderr and run.stderr.count("\n") == 1, run
    assert weft("check", "out").code == 1 and len(site.requests) == asked
    specification.unlink()
    assert weft(*command[:-1], "none").code == 0
    assert_whole(weft, site, paths)


def test_a_path_that_is_too_long(site: Site, weft: Weft) -> None:
    """Issue 3, 10: what SQLite cannot open for its long name is told as that."""
    site.page("/")
    run = weft("crawl", site.url, "-o", "/".join(["long" * 50] * 4), *QUICK)
    assert run.code == 2 and "too long a path" in run.stderr and run.stderr.count("\n") == 1, run
    assert not site.requests


def test_no_memory(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 4, 3: what the system refuses is no bug of ours."""

    def run(*_: object) -> int:
        raise MemoryError

    monkeypatch.setattr("weft.cli.commands.status.run", run)
    assert main(["status", "out"]) == 1
    assert capsys.readouterr().err.startswith("weft: there is not enough memory")


@pytest.mark.parametrize("processes", ["1", "2"])
@pytest.mark.parametrize("harm", ["removed", "moved"])
def test_an_archive_that_is_gone(site: Site, weft: Weft, harm: str, processes: str) -> None:
    """Promise 10: bytes for a file that nobody can open any more stop the crawl; a resume brings all pages back."""
    paths = tree(site)
    site.let(6)
    process = weft.start("crawl", site.url, "-o", "out", "--processes", processes, *QUICK)
    wait_for(site, 7)
    archive = weft.folder / "out" / "warc"
    assert any(archive.iterdir())
    if harm == "removed":
        shutil.rmtree(archive)
    else:
        archive.rename(weft.folder / "elsewhere")
    site.let(20)
    code, stderr = finish(process)
    assert code == 1 and "is gone: somebody has removed or moved it" in stderr, (code, stderr)
    assert "Traceback" not in stderr and len(site.requests) < 60, stderr
    site.let()
    run = weft("resume", "out", "--quiet")
    assert run.code == 0, run.stderr
    assert_whole(weft, site, paths)


@pytest.mark.parametrize("limit", ["--max-pages", "--max-pages-per-site"])
@pytest.mark.parametrize("harm", ["removed", "cut"])
def test_lost_pages_count_once(site: Site, weft: Weft, limit: str, harm: str) -> None:
    """Promise 1: what is asked again because its record is lost counts once, and no limit stands in its way."""
    tree(site)
    assert weft("crawl", site.url, "-o", "out", *QUICK, limit, "10").code == 0
    before = weft("status", "out", "--json").stdout
    kept = stored(weft.folder / "out")
    archive = next((weft.folder / "out" / "warc").glob("*.warc.gz"))
    content = archive.read_bytes()
    archive.unlink()
    if harm == "cut":
        archive.write_bytes(content[: len(content) // 2])
    run = weft("resume", "out", "--quiet")
    assert run.code == 0, run.stderr
    after = weft("status", "out", "--json").stdout
    numbers = re.compile(r'"(?:known|completed|pages|links|waiting|refused)":\s*\d+')
    assert numbers.findall(after) == numbers.findall(before)
    assert stored(weft.folder / "out") == kept and len(kept) == 10
    check = weft("check", "out")
    assert check.code == 0, check.stdout


def test_copies_of_a_lost_body(site: Site, weft: Weft) -> None:
    """Promise 1: pages whose bodies were stored with another page are asked again, when that one's record is lost."""
    site.page("/", ["/a", "/b", "/c"])
    for path in ("/a", "/b", "/c"):
        site.page(path, title="one body for all")
    for limit in ("2", "3", "none"):  # each run has a file of its own
        assert weft("crawl", site.url, "-o", "out", *QUICK, "--per-host", "1", "--max-pages", limit).code == 0
    first = min((weft.folder / "out" / "warc").glob("*.warc.gz"))
    first.unlink()
    assert weft("resume", "out", "--quiet").code == 0
    assert_whole(weft, site, {"/", "/a", "/b", "/c"})
    bodies = {weft("show", "out", site.at(path), "--body").stdout for path in ("/a", "/b", "/c")}
    assert len(bodies) == 1 and "one body for all" in bodies.pop()


def test_a_folder_that_is_gone(site: Site, weft: Weft) -> None:
    """Issue 3, 10: run from a folder that was removed, it says so in a sentence."""
    site.page("/")
    command = f'mkdir gone && cd gone && rmdir ../gone && exec {sys.executable} -m weft crawl {site.url} -o "$1"'
    for place in (weft.folder / "there", "here"):
        run = subprocess.run(
            ["sh", "-c", command, "sh", str(place)],
            cwd=weft.folder, env=weft.environment, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert run.returncode in (1, 2) and run.stderr.count("\n") == 1, run
        assert "the folder you are in does not exist any more" in run.stderr, run.stderr
    assert not site.requests


def test_a_terminal_without_the_letters(site: Site, weft: Weft) -> None:
    """Promise 9: letters that an output cannot show are escaped; the command does not fail on them."""
    site.page("/", ["/é"], title="Žena č")
    site.page("/%C3%A9", title="ž")
    assert weft("crawl", site.url, "-o", "out", *QUICK).code == 0
    for words in (
        ("why", "out", site.at("/é")),
        ("pages", "out"),
        ("status", "out"),
        ("links", "out"),
        ("stats", "out"),
    ):
        run = weft(*words, env={"PYTHONIOENCODING": "ascii"})
        assert run.code == 0 and not run.stderr, (words, run)
