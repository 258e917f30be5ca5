"""RCCrawler's settings.ini, key by key."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from command import ROOT
from hypothesis import given
from hypothesis import strategies as st
from rccrawler_files import SETTINGS

from weft.errors import SpecError
from weft.options import crawl_order
from weft.options.foreign.rccrawler import KEYS, read_settings

"""The example of the description, blanks at the ends of lines and the wrapped text included."""


def silence(message: str) -> None:
    raise AssertionError(f"unexpected warning: {message}")


def set_up(folder: Path, hosts: Iterable[str], settings: str = SETTINGS) -> Path:
    """A folder with both files, as a user of RCCrawler has it."""
    folder.mkdir(exist_ok=True)
    (folder / "settings.ini").write_text(settings)
    (folder / "hosts.txt").write_text("".join(f"{line}\n" for line in hosts))
    return folder


def options_of(folder: Path, settings: str, hosts: str = "http://one.test;4;3;10\n") -> dict[str, object]:
    place = set_up(folder / "rc", hosts.splitlines(), settings)
    order = crawl_order([], {}, config=str(place / "settings.ini"), warn=silence, environment={})
    spec = order.spec
    return {
        "seeds": spec.seeds, "mode": spec.mode, "time": spec.limits.max_time_s, "wait": spec.limits.wait,
        "stop": spec.limits.stop_file, "graphs": spec.keep.graphs, "duplicates": spec.keep.graph_duplicates,
        "summary": spec.keep.graph_summary, "logs": (spec.keep.common_log, spec.keep.error_log), "show": order.run.log,
        "robots": not spec.politeness.ignore_robots,
    }  # fmt: skip


def test_every_key_has_its_meaning(tmp_path: Path) -> None:
    """R18: names are relative to the file; 23 keys."""
    place = tmp_path / "rc"
    assert options_of(tmp_path, SETTINGS) == {
        "seeds": (str(place / "hosts.txt"),), "mode": "graph", "time": 240_000.0, "wait": False,
        "stop": str(place / "stop.txt"), "graphs": str(place / "result"), "duplicates": True, "summary": True,
        "logs": (str(place / "logs/common_log.csv"), str(place / "logs/error_log.csv")), "show": "screen",
        "robots": True,
    }  # fmt: skip
    assert len(KEYS) == 23 and all(f"{key} = " in SETTINGS for key in KEYS)


@pytest.mark.parametrize(
    ("old", "new", "name", "value"),
    [
        ("WorkIsDoneAF,  \nTimeoutAF,StopFileAF", "WorkIsDoneAF", "time", None),
        ("WorkIsDoneAF,  \nTimeoutAF,StopFileAF", "WorkIsDoneAF", "stop", None),
        ("WorkIsDoneAF,  \nTimeoutAF,StopFileAF", "TimeoutAF", "wait", True),
        ('"GephiSiteGraphRU,TestRU"', '"TestRU"', "graphs", None),
        ('"GephiSiteGraphRU,TestRU"', "GephiSiteGraphRU ; only this", "summary", False),
        ('"result"', '"/srv/graphs"', "graphs", "/srv/graphs"),
        ("DisplayCommonLog = 1", "displaycommonlog=0", "show", "error"),
        ("DisplayErrorLog = 1", "DisplayErrorLog = false", "show", "common"),
        ("SaveDuplicates = 1", "; SaveDuplicates = 1", "duplicates", False),
        ("TimeoutSeconds = 240000", "TimeoutSeconds = 5 # short", "time", 5.0),
        ("ApplicationManager", "\ufeff[General]\n\n# begin\nApplicationManager", "mode", "graph"),
        ("\n", "\r\n", "stop", "stop.txt"),
        ("ParsingThreadPDChunkSize", "```\n\n```\nParsingThreadPDChunkSize", "time", 240_000.0),
    ],
)
def test_changes_of_the_settings(tmp_path: Path, old: str, new: str, name: str, value: object) -> None:
    found = options_of(tmp_path, SETTINGS.replace(old, new))[name]
    assert found == value or found == str(tmp_path / "rc" / str(value))


@pytest.mark.parametrize(
    ("old", "new", "line", "reason"),
    [
        ('"BMICDM"', '"MySqlDM"', 4, "DataManager: there is no 'MySqlDM'; known are BMICDM"),
        ("StopFileAF", "PageCountAF", 2, "known are WorkIsDoneAF, TimeoutAF, StopFileAF"),
        ('"DT0"', '"DT0,DT1"', 5, "DownloadingThread: names 2 classes"),
        ('"PT0"', '""', 6, "ParsingThread: names no class"),
        ("ParsingThreadsCount = 2", "ParsingThreadsCount = two", 7, "'two' is not a whole number"),
        ("ParsingThreadsCount = 2", "ParsingThreadsCount = 0", 7, "0 is less than 1"),
        ("ParsingThreadsCount = 2", "ParsingThreadsCount 2", 7, "not of the form Key = value"),
        ("ParsingThreadsCount = 2", "ParsingThreadCount = 2", 7, "nearest: ParsingThreadsCount"),
        ("RoutineThread =", "ParsingThread =", 8, "ParsingThread stands on line 6 already"),
        ("DisplayCommonLog = 1", "DisplayCommonLog = maybe", 18, "'maybe' is not 0 or 1"),
        ('"result"', '""', 22, "ResultFolder: names nothing"),
        ('"result"', '"result', 22, "the quote that opens here is never closed"),
        ('"result"', '"result" "more"', 22, "stands behind the closing quote"),
        ('"stop.txt"', '"stop.txt', 24, "the quote that opens here is never closed"),
        ("TimeoutSeconds = 240000", "TimeoutSeconds = 99999999999", 21, "is not a whole number"),
        ("SaveDuplicates = 1", "[Results]", 23, "there are no sections"),
        ('"result"', '"res\x07ult"', 22, "control characters"),
    ],
)
def test_wrong_settings_are_told_with_file_line_and_reason(
    tmp_path: Path, old: str, new: str, line: int, reason: str
) -> None:
    with pytest.raises(SpecError) as raised:
        options_of(tmp_path, SETTINGS.replace(old, new))
    assert str(raised.value).startswith(f"{tmp_path / 'rc' / 'settings.ini'}:{line}: ") and reason in str(raised.value)
    assert raised.value.exit_code == 2


@given(st.text(alphabet='AaPT0=" \n,;#[]`1-', max_size=80) | st.text(max_size=40))
def test_no_settings_break_it(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "settings.ini"
    path.write_text(text, encoding="utf-8", errors="surrogatepass", newline="")
    try:
        file = read_settings(path)
    except SpecError as error:
        assert str(error).startswith(f"{path}:")
        return
    assert file.given["mode"].raw == "graph"


def test_the_example_is_the_one_of_the_description() -> None:
    """Where the description is at hand, the text above is what it prints."""
    places = [ROOT.parent / "shared" / "seeds", ROOT / "shared" / "seeds"]
    found = [path for place in places for path in place.glob("001_*.txt")]
    if not found:
        pytest.skip("the description is not here")
    printed = found[0].read_text()
    begin, end = printed.index("ApplicationManager = "), printed.index('StopFile = "stop.txt"')
    assert [line for line in printed[begin:end].splitlines() if line.strip("` ")] == SETTINGS.splitlines()[:-1]
