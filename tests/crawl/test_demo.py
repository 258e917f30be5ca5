"""weft demo (issue section 1): a made-up web crawled with everything switched on, in a few lines, without a network."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import subprocess
import sys
import time
import uuid
from pathlib import Path

import msgspec
import pytest
from command import Weft

from weft.cli.commands.demo import lines_of
from weft.demo.run import Facts


def processes_with(mark: str) -> list[str]:
    """The command lines of all processes whose environment has a mark in it."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (place / "environ").read_bytes():
                found.append((place / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        except OSError:
            continue  # it ended while we looked, or is not ours
    return found


def gone_within(mark: str, seconds: float) -> list[str]:
    """What is left of the processes after at most so many seconds."""
    deadline = time.monotonic() + seconds
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def test_demo_shows_that_it_works(weft: Weft, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed half-way and resumed, it has every page of the answer key; all kinds of refusals and errors are there."""
    mark = uuid.uuid4().hex
    run = weft("demo", "--json", "-o", "shown", timeout=300, env={"WEFT_TEST_MARK": mark})
    assert run.code == 0, run.stderr
    assert run.stderr == ""
    assert gone_within(mark, 60) == []
    facts = msgspec.json.decode(run.stdout, type=Facts)
    assert facts.complete and facts.expected > 300 and facts.stop_reason == "done"
    assert facts.pages > 300 and facts.links > 3_000 and facts.hosts == 5
    assert {"200", "301", "404", "410", "500"} <= facts.statuses.keys()
    assert facts.errors == {"CONNECT_REFUSED": 1}
    assert {"PATH_REPEATS", "SESSION_IDS", "NOFOLLOW", "NOT_A_PAGE"} <= facts.refused.keys()
    assert min(facts.duplicates, facts.robots_refused, facts.nofollow, facts.only_in_sitemaps, facts.sitemaps) > 0
    assert facts.languages > 3 and facts.encodings > 3
    assert facts.warc_records > facts.pages and facts.problems == {} and facts.warc_files
    assert facts.why is not None and facts.why.startswith("PATH_REPEATS")
    shown_in_lines(facts)
    monkeypatch.setenv("WEFT_COMMAND", "./weft")  # as the script says that it was called
    assert f"  ./weft pages {facts.folder}" in lines_of(facts)
    is_a_crawl(weft, tmp_path / "shown", facts)


def shown_in_lines(facts: Facts) -> None:
    """About ten lines, none too long for a terminal, and what to try next."""
    lines = list(lines_of(facts))
    summary = lines[: lines.index("")]
    assert 10 <= len(summary) <= 12
    assert all(len(line) <= 100 for line in summary)
    text = "\n".join(lines)
    for wanted in (
        "SIGKILL" if facts.killed_at is not None else "before it could be killed",
        "answer key",
        "robots.txt",
        "nofollow",
        "traps",
        "CONNECT_REFUSED",
        "WARC",
        "why",
        "the body of another page",
    ):
        assert wanted in text
    assert f"weft pages {facts.folder}" in text


def is_a_crawl(weft: Weft, folder: Path, facts: Facts) -> None:
    """The commands that the demo tells to try work."""
    status = json.loads(weft("status", folder, "--json").stdout)
    assert (status["state"], status["pages"]) == ("done", facts.pages)
    assert facts.why_url is not None
    why = weft("why", folder, facts.why_url)
    assert why.code == 0 and "PATH_REPEATS" in why.stdout
    assert len(weft("pages", folder).stdout.splitlines()) >= facts.pages
    report = weft("stats", folder, "--html", folder.parent / "report.html")
    assert report.code == 0 and "</html>" in (folder.parent / "report.html").read_text()
    assert weft("graph", folder, "--to", folder.parent / "web.gexf").code == 0
    connection = sqlite3.connect(folder / "crawl.db")
    asked = connection.execute("SELECT DISTINCT ip FROM visit WHERE ip IS NOT NULL").fetchall()
    connection.close()
    assert asked == [("127.0.0.1",)], "the demo needs no network"


def test_demo_refuses_a_folder_that_is_there(weft: Weft, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    (tmp_path / "file").write_text("keep me too")
    for name in ("mine", "file"):
        run = weft("demo", "-o", name)
        assert run.code == 2 and "name a new folder" in run.stderr and "Traceback" not in run.stderr
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["letter.txt"]


def test_files_of_the_user_are_no_part_of_it(weft: Weft) -> None:
    """Issue 3, 1: ./weft works from any folder, whatever lies there, and so do the processes that it starts."""
    for name in ("weft.py", "argparse.py", "json.py"):
        (weft.folder / name).write_text("raise SystemExit('this file is not of weft')\n")
    command = [sys.executable, "-P", "-m", "weft", "demo", "--quiet"]
    run = subprocess.run(
        command, cwd=weft.folder, env=weft.environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert (run.returncode, run.stderr) == (0, ""), run


@pytest.mark.parametrize(("number", "moment"), [(signal.SIGINT, b"begins"), (signal.SIGTERM, b"goes on")])
def test_demo_ends_with_all_it_started(weft: Weft, number: signal.Signals, moment: bytes) -> None:
    """Interrupted in its first or in its second run, it leaves no server and no crawl behind."""
    mark = uuid.uuid4().hex
    process = weft.start("demo", "-o", "cut", env={"WEFT_TEST_MARK": mark})
    assert process.stderr is not None
    lines: list[bytes] = []
    while not lines or (lines[-1] and moment not in lines[-1]):
        lines.append(process.stderr.readline())
    process.send_signal(number)
    assert process.wait(120) in (0, 3), lines
    assert gone_within(mark, 60) == []


def test_the_refused_port_refuses() -> None:
    from weft.demo.run import _refusing_port

    with _refusing_port() as port, socket.socket() as client, pytest.raises(ConnectionRefusedError):
        client.connect(("127.0.0.1", port))
