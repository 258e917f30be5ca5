"""Folders of earlier versions: each was killed half way, and is opened, resumed and exported by this version."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import old_folder
import pytest
from command import call, run_weft
from web import Site

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
        words = ("crawl", old_folder.SEED, "-o", "new", "--proxy", proxy, "--delay", "0", *old_folder.OPTIONS)
        ended = run_weft(*words, cwd=tmp_path)
        assert ended.code == 0, ended.stderr
    assert pages(folder) == pages(tmp_path / "new")
    assert links(folder) == links(tmp_path / "new")
    assert call("check", folder).code == 0
    for name in ("graph.gexf", "graph.csv"):
        assert call("graph", folder, "--to", tmp_path / name).code == 0
