"""Folders of earlier versions: each was killed half way, and is opened, resumed and exported by this version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import old_folder
import pytest
from command import call, run_weft
from web import Site

import weft

VERSIONS = sorted(path.stem for path in old_folder.FOLDERS.glob("*.zip"))
CHANGES = {"fetched_at", "response_ms", "server_date", "warc_file", "warc_offset", "attempts"}
"""Fields of a page that differ between two crawls of the same site."""


@pytest.fixture(params=VERSIONS)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    shutil.unpack_archive(old_folder.FOLDERS / f"{request.param}.zip", tmp_path)
    return tmp_path / "crawl"


def pages(folder: Path) -> dict[str, dict[str, object]]:
    rows = [json.loads(line) for line in call("pages", folder, "--all", "--format", "jsonl").stdout.splitlines()]
    return {row["url"]: {name: row[name] for name in row.keys() - CHANGES} for row in rows}


def links(folder: Path) -> list[str]:
    return sorted(call("links", folder, "--format", "jsonl").stdout.splitlines())


def test_there_is_a_folder_of_the_version_before_the_tree_was_laid_out_anew() -> None:
    assert "e63372e" in VERSIONS


def test_a_killed_crawl_of_an_earlier_version_can_be_read(folder: Path) -> None:
    status = json.loads(call("status", folder, "--json").stdout)
    assert (status["state"], status["stop_reason"]) == ("stopped", "killed")
    assert status["pages"] > 0 and status["waiting"] > 0
    assert call("show", folder, old_folder.SEED).code == 0
    assert "fetched" in call("why", folder, old_folder.SEED).stdout


def test_a_killed_crawl_of_an_earlier_version_ends_as_one_of_this_version(folder: Path, tmp_path: Path) -> None:
    with Site() as site:
        proxy = old_folder.serve(site)
        ended = run_weft("resume", folder, "--proxy", proxy, "--delay", "0", "--quiet", cwd=tmp_path)
        assert ended.code == 0, ended.stderr
        site.clear_log()
        for place in (folder, "new"):  # what the folder says of its crawl is still the same order
            words = ("crawl", old_folder.SEED, "-o", place, "--proxy", proxy, "--delay", "0", *old_folder.OPTIONS)
            ended = run_weft(*words, cwd=tmp_path)
            assert ended.code == 0, ended.stderr
            assert site.asked("/") == (place == "new")
    assert pages(folder) == pages(tmp_path / "new")
    assert links(folder) == links(tmp_path / "new")
    assert call("check", folder).code == 0
    assert call("stats", folder).code == call("duplicates", folder).code == 0


def test_a_killed_crawl_of_an_earlier_version_can_be_exported(folder: Path, tmp_path: Path) -> None:
    for command, name in (("pages", "pages.csv"), ("pages", "pages.parquet"), ("links", "links.csv")):
        assert call(command, folder, "-o", tmp_path / name).code == 0
        assert (tmp_path / name).stat().st_size > 0
    for name in ("graph.gexf", "graph.csv"):
        assert call("graph", folder, "--to", tmp_path / name).code == 0
    with weft.open(folder) as stored:
        assert stored.spec.seeds == (old_folder.SEED,) and any(page.title for page in stored.pages())
        query = "SELECT count(*) FROM page_url WHERE text = ?"
        assert stored.connection.execute(query, (old_folder.SEED,)).fetchone() == (1,)
