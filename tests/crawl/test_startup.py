"""Start-up is a feature: what a command loads, what waits for its first use, what is compiled beforehand (issue 4)."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from email.utils import format_datetime, parsedate_to_datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from web import Site

from weft import native
from weft.dates import iso_of_http_date
from weft.lazy import regex

SOURCE = Path(__file__).resolve().parents[2] / "src"

NEVER_IN_A_PLAIN_CRAWL = {
    "rich",  # only a terminal shows a live screen
    "pyarrow", "numpy", "pandas", "scipy", "igraph", "tantivy", "playwright", "nicegui", "psycopg", "ray",
    "aiodns", "pycares",  # only where a name is to be resolved
    "re2",  # only for --accept and --reject
    "brotli", "zstandard",  # only for bodies that are packed so
    "turbohtml.detect",  # only where nothing says which encoding it is
    "ssl", "asyncio.sslproto", "tokenize",  # only stand-ins of them are there (weft.lazy)
    "publicsuffixlist", "difflib", "tomllib", "tempfile", "email.utils", "http.client", "unittest", "pdb",
}  # fmt: skip


def loaded_after(words: list[str]) -> set[str]:
    """The modules of a process that has run a command of weft, without a terminal."""
    program = f"import sys\nfrom weft.cli import main\ncode = main({words!r})\nprint(code, *sys.modules)"
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
    assert {"weft.loop", "pycurl"} <= loaded
    assert ("turbohtml" in loaded) is not native.is_there  # an ordinary page needs no tree where it is read without
    assert not loaded & NEVER_IN_A_PLAIN_CRAWL
    assert not [name for name in loaded if name.startswith(("weft.derive", "weft.demo", "weft.panel", "weft.cluster"))]


@pytest.mark.parametrize("words", [["--version"], ["--help"], ["crawl", "--help"], ["pages", "--help"]])
def test_help_loads_no_part_of_a_crawl(words: list[str]) -> None:
    loaded = loaded_after(words)
    assert not loaded & {"asyncio", "pycurl", "turbohtml", "sqlite3", *NEVER_IN_A_PLAIN_CRAWL}


def test_a_module_that_is_put_off_is_loaded_when_it_is_used() -> None:
    program = """
import sys
from weft.lazy import put_off
with put_off({"ssl": {}, "asyncio.sslproto": {}, "colorsys": {}, "tokenize": {}}):
    import asyncio, colorsys, linecache
    import colorsys as again
    assert colorsys.rgb_to_hls and "colorsys" in sys.modules and again is colorsys
assert not {"ssl", "asyncio.sslproto", "tokenize"} & set(sys.modules)
import ssl
assert asyncio.base_events.ssl is not ssl and asyncio.base_events.ssl.SSLContext is ssl.SSLContext
assert asyncio.sslproto.SSLProtocol and asyncio.sslproto is sys.modules["asyncio.sslproto"]
assert linecache.getline(ssl.__file__, 1) and "tokenize" in sys.modules
try:
    linecache.tokenize.nothing
except AttributeError:
    print("whole")
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "whole\n", done.stderr


def test_what_is_put_off_does_all_that_it_does_otherwise() -> None:
    program = """
import sys
before = {"inspect", *sys.modules}  # typing_extensions, which only tests have installed, takes it
from weft.lazy import HARDLY_USED, loading
with loading():
    import asyncio, msgspec, pycurl
asyncio.run(asyncio.sleep(0))
assert not set(HARDLY_USED) & set(sys.modules) - before, set(HARDLY_USED) & set(sys.modules) - before

async def main():
    loop = asyncio.get_running_loop()
    assert await loop.run_in_executor(None, len, "abc") == await asyncio.to_thread(len, "abc") == 3
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "print(5)", stdout=asyncio.subprocess.PIPE)
    assert (await process.communicate())[0] == b"5\\n"
    done, _ = await asyncio.wait([asyncio.create_task(asyncio.sleep(0))], return_when=asyncio.FIRST_EXCEPTION)
    assert len(done) == 1
    loop.call_soon(lambda: 1 / 0)
    await asyncio.sleep(0)

asyncio.run(main(), debug=True)
import concurrent.futures, logging, platform, subprocess, traceback, uuid
for name, known in HARDLY_USED.items():
    module = __import__(name, fromlist=["x"])
    assert all(getattr(module, part) == value for part, value in known.items() if isinstance(value, int | str)), name
assert platform.system() == HARDLY_USED["platform"]["system"]()
assert asyncio.tasks.concurrent.futures.Future is concurrent.futures.Future
assert msgspec.json.decode(msgspec.json.encode(uuid.UUID(int=7)), type=uuid.UUID).int == 7
assert pycurl.AsyncCurlMulti() is not None
asyncio.log.logger.debug("not shown")
logging.basicConfig(level=logging.DEBUG, format="%(name)s: %(message)s")
asyncio.base_events.logger.debug("shown: %d", 1)
print("whole")
"""
    done = subprocess.run(
        [sys.executable, "-P", "-c", program],
        env={**os.environ, "PYTHONPATH": str(SOURCE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "whole\n", done.stderr
    assert "Exception in callback" in done.stderr and "ZeroDivisionError" in done.stderr
    assert "not shown" not in done.stderr and "asyncio: shown: 1" in done.stderr


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


BUNDLE = "crawl.*.bundle"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of weft's source, so that what is done to it hurts nobody."""
    return Path(shutil.copytree(SOURCE, tmp_path / "src", ignore=shutil.ignore_patterns("*.bundle")))


def crawled_by_the_script(tree: Path, site: Site, folder: Path, before: str = "") -> str:
    """What a program says that runs a crawl as the script does; its last words: whether it came from a bundle."""
    program = f"""
import runpy, sys, atexit
{before}
def tell():
    loaders = {{name: type(getattr(module, "__loader__", None)) for name, module in sys.modules.items()}}
    found = [name for name, loader in loaders.items() if loader.__name__ == "_Loader"]
    print("weft.loop" in found)
atexit.register(tell)
runpy.run_path({str(tree / "weft" / "__main__.py")!r}, run_name="__main__")
"""
    command = [sys.executable, "-P", "-S", "-c", program, "crawl", site.at("/"), "--delay", "0", "--quiet"]
    done = subprocess.run(
        [*command, "-o", str(folder)],
        env={**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": ""},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_bundle_is_used_until_something_changes(site: Site, tmp_path: Path, tree: Path) -> None:
    site.page("/", links=["/a"])
    number = iter(range(100))

    def loaded(before: str = "") -> bool:
        said = crawled_by_the_script(tree, site, tmp_path / f"crawl{next(number)}", before)
        return said.split()[-1] == "True"

    assert not loaded() and loaded() and loaded()
    (bundle,) = (tree / "weft" / "__pycache__").glob(BUNDLE)
    whole = bundle.read_bytes()

    source = tree / "weft" / "loop.py"
    source.write_text(source.read_text() + "\nprint('edited')\n")
    assert "edited" in crawled_by_the_script(tree, site, tmp_path / "edited")
    assert "edited" in crawled_by_the_script(tree, site, tmp_path / "and again")
    assert loaded()

    (tree / "weft" / "dates").mkdir()  # a package goes before a module of the same name
    (tree / "weft" / "dates" / "__init__.py").write_text((tree / "weft" / "dates.py").read_text() + "\nprint('new')\n")
    assert "new" in crawled_by_the_script(tree, site, tmp_path / "new")
    assert loaded()

    assert not loaded("sys.path.append('/elsewhere')")

    (tree / "nt.py").write_text("print('not missed any more')\n")  # what Windows has, and ntpath tries to load
    for name in ("found", "found again"):
        assert "not missed any more" in crawled_by_the_script(tree, site, tmp_path / name)

    for broken in (b"", b"x", whole[:4], whole[: len(whole) // 1000], b"\x10" + bytes(2000)):
        bundle.write_bytes(broken)
        assert not loaded() and loaded()
    bundle.write_bytes(bundle.read_bytes()[:-1_000_000])  # as after a power cut
    assert loaded()
    bundle.unlink()
    bundle.mkdir()  # what cannot be read or written is done without
    assert not loaded() and not loaded()
    assert not list(bundle.parent.glob("*.bundle.*"))


def test_modules_of_a_bundle_are_as_others(site: Site, tmp_path: Path, tree: Path) -> None:
    site.page("/")
    look = """
def look():
    import weft.loop, weft.url, inspect
    for module in (weft.loop, weft.url):
        print(module.__file__, module.__cached__, module.__package__, getattr(module, "__path__", None))
        print(module.__spec__.has_location, module.__spec__.parent, len(inspect.getsource(module)))
        print(module.__loader__.get_code(module.__name__) is not None, module.__loader__.path)
atexit.register(look)
"""
    said = [crawled_by_the_script(tree, site, tmp_path / f"crawl{number}", look) for number in range(2)]
    plain, bundled = (text.splitlines() for text in said)
    assert plain[0].endswith("False") and bundled[0].endswith("True")
    assert plain[1:] == bundled[1:] and len(plain) == 7


@pytest.mark.parametrize("text", ["a1b22", b"a1b22"])
def test_a_lazy_pattern_is_a_pattern(text: str | bytes) -> None:
    digits = regex(r"(\d+)B?") if isinstance(text, str) else regex(rb"(\d+)B?")
    twice = [digits.search(text), digits.search(text)]  # type: ignore[call-overload]
    assert [found[1] for found in twice] == [text[1:2]] * 2
    assert digits.groups == 1 and len(digits.findall(text)) == 2  # type: ignore[call-overload]
    with pytest.raises(AttributeError):
        _ = digits.__deepcopy_nothing__  # type: ignore[attr-defined]


@given(st.datetimes(datetime(1900, 1, 1), datetime(9999, 1, 1)))
def test_http_dates_are_read_as_the_library_reads_them(moment: datetime) -> None:
    """T8: the usual form takes a short way, all others the long one, with the same result."""
    text = format_datetime(moment.replace(microsecond=0, tzinfo=UTC), usegmt=True)
    slow = parsedate_to_datetime(text).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert iso_of_http_date(text) == iso_of_http_date(text.replace("GMT", "+0000")) == slow


@pytest.mark.parametrize(
    ("text", "iso"),
    [
        ("Sun, 06 Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sun, 06 Nov 1994 10:49:37 +0200", "1994-11-06T08:49:37Z"),
        ("Sun, 31 Feb 1994 08:49:37 GMT", None),
        ("Sun, 06 Nov 1994 25:49:37 GMT", None),
        ("Sun, 06 Nov 1994 08:49:3x GMT", None),
        ("Sun, ٠٦ Nov 1994 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("yesterday", None),
        ("", None),
        (None, None),
    ],
)
def test_odd_http_dates(text: str | None, iso: str | None) -> None:
    assert iso_of_http_date(text) == iso
