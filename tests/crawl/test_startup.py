"""Start-up is a feature: what a command loads, what waits for its first use, what is compiled beforehand (issue 4)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from web import Site

from weft import native
from weft.text.patterns import regex

SOURCE = Path(__file__).resolve().parents[2] / "src"

NEVER_IN_A_PLAIN_CRAWL = {
    "rich",  # only a terminal shows a live screen
    "pyarrow", "numpy", "pandas", "scipy", "igraph", "tantivy", "playwright", "nicegui", "psycopg", "ray",
    "pycares",  # only where a name is to be resolved
    "re2",  # only for --accept and --reject
    "phonenumbers", "weft.extract",  # only for --extract and the like
    "weft.fetch.decode", "brotli", "zstandard",  # only for bodies that are packed
    "turbohtml.detect",  # only where nothing says which encoding it is
    "publicsuffixlist", "difflib", "tomllib", "tempfile", "email.utils", "http.client", "unittest", "pdb",
}  # fmt: skip


def loaded_after(words: list[str]) -> set[str]:
    """The modules of a process that has run a command of weft, without a terminal."""
    program = f"import sys\nfrom weft.cli.main import main\ncode = main({words!r})\nprint(code, *sys.modules)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=True,
    )  # fmt: skip
    code, *modules = done.stdout.splitlines()[-1].split()
    assert code == "0", done.stderr
    return set(modules)


def test_a_crawl_of_one_page_loads_only_what_it_needs(site: Site, tmp_path: Path) -> None:
    site.page("/", links=["/a?b=c", "/d.pdf"])
    words = ["crawl", site.at("/"), "--delay", "0", "--max-pages", "1", "-o", str(tmp_path / "crawl")]
    loaded = loaded_after(words)
    assert {"weft.crawl.loop", "pycurl"} <= loaded
    assert ("turbohtml" in loaded) is not native.is_compiled  # an ordinary page needs no tree where it is read without
    assert not loaded & NEVER_IN_A_PLAIN_CRAWL
    assert not [name for name in loaded if name.startswith(("weft.derive", "weft.demo", "weft.panel", "weft.cluster"))]


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["crawl", "--help"], ["pages", "--help"]])
def test_help_loads_no_part_of_a_crawl(words: list[str]) -> None:
    loaded = loaded_after(words)
    assert not loaded & {"asyncio", "pycurl", "turbohtml", "sqlite3", *NEVER_IN_A_PLAIN_CRAWL}


def ended(program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """What became of weft, run as a program after some Python has been."""
    start = "import runpy, sys, atexit\n" + program + "\nrunpy.run_module('weft', run_name='__main__')"
    return subprocess.run(
        [sys.executable, "-P", "-c", start, *words],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_a_program_that_leaves_at_once_leaves_nothing_undone() -> None:
    done = ended("atexit.register(print, 'at its end', end='')\nprint('before', end=' ')", "--version")
    assert done.returncode == 0 and done.stdout.startswith("before weft ") and done.stdout.endswith("at its end")
    assert ended("", "no-such-command").returncode == 2
    outlives = "lambda: (threading.main_thread().join(), print('waited for'))"
    thread = f"import threading\nthreading.Thread(target={outlives}).start()"
    assert ended(thread, "--version").stdout.endswith("waited for\n")


def test_parts_of_the_users_own_see_the_end_of_python(site: Site, tmp_path: Path) -> None:
    site.page("/")
    own = tmp_path / "own.py"
    own.write_text(
        f"kept = open({str(tmp_path / 'kept')!r}, 'w')\ndef unload(crawl, folder): kept.write('all of it')\n"
    )
    words = ["crawl", site.at("/"), "--delay", "0", "--quiet", "-o", str(tmp_path / "crawl")]
    done = ended("", *words, "--part", f"unloader={own}:unload")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "kept").read_text() == "all of it"


@pytest.mark.parametrize("text", ["a1b22", b"a1b22"])
def test_a_lazy_pattern_is_a_pattern(text: str | bytes) -> None:
    digits = regex(r"(\d+)B?") if isinstance(text, str) else regex(rb"(\d+)B?")
    twice = [digits.search(text), digits.search(text)]  # type: ignore[call-overload]
    assert [found[1] for found in twice] == [text[1:2]] * 2
    assert digits.groups == 1 and len(digits.findall(text)) == 2  # type: ignore[call-overload]
    with pytest.raises(AttributeError):
        _ = digits.__deepcopy_nothing__  # type: ignore[attr-defined]
