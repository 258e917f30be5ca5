"""The command line in a process of its own: streams that are closed, files, what a start loads."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from web import Authority

from weft.cli import arguments
from weft.errors import SpecError
from weft.options import (
    OPTIONS,
    crawl_order,
)

SEED = "https://example.org/"
ROOT = Path(__file__).resolve().parents[2]


def no_warning(message: str) -> None:
    raise AssertionError(f"unexpected warning: {message}")


def failure(*words: str) -> str:
    """The message of a wrong command line."""
    with pytest.raises(SpecError) as raised:
        args = arguments.parse("crawl", words)
        assert args is not None
        crawl_order(args.seeds, arguments.options_given(args), config=args.config, warn=lambda _: None, environment={})
    assert raised.value.exit_code == 2
    return str(raised.value)


def test_examples_are_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, authority: Authority) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cookies.txt").write_text("")
    Path("ca.pem").write_bytes(authority.certificate.read_bytes())
    own = authority.issue("me.test", ["me.test"])
    Path("me.pem").write_bytes(own.certificate.read_bytes() + own.key.read_bytes())
    Path("proxy.txt").write_text("http://proxy.example:3128\n")
    Path("script.js").write_text("0\n")
    Path("passwords.txt").write_text("me:secret@example.org\n")
    for option in OPTIONS:
        if option.example:
            args = arguments.parse("crawl", [SEED, option.flag, option.example.strip("'")])
            assert args is not None
            crawl_order(args.seeds, arguments.options_given(args), warn=no_warning, environment={})


def test_a_locked_key_is_told(tmp_path: Path, authority: Authority) -> None:
    own = authority.issue("locked.test", ["locked.test"])
    words = ["openssl", "pkey", "-in", str(own.key), "-aes256", "-passout", "pass:word"]
    locked = subprocess.run(words, capture_output=True, check=True, timeout=300).stdout
    path = tmp_path / "me.pem"
    path.write_bytes(own.certificate.read_bytes() + locked)
    assert "a password locks the key" in failure(SEED, "--cert", str(path))


def test_version_imports_almost_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); from weft.cli.main import main; code = main(['--version']); "
        "print(*sorted(set(sys.modules) - before)); sys.exit(code)"
    )
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    version, imported = done.stdout.splitlines()
    assert version.startswith("weft ") and set(imported.split()) <= {"__future__", *FIRST}


def test_a_closed_pipe_is_quiet() -> None:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "weft", "crawl", "--help"], env=environment, stdout=closed, stderr=subprocess.PIPE
        )
    assert (done.returncode, done.stderr) == (0, b"")


def test_a_full_disk_behind_the_output_is_told() -> None:
    full = Path("/dev/full")
    if not (full.exists() and stat.S_ISCHR(full.stat().st_mode)):
        pytest.skip("no /dev/full here")
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    with full.open("wb") as output:
        done = subprocess.run(
            [sys.executable, "-m", "weft", "--help"], env=environment, stdout=output, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1 and done.stderr.startswith("weft: ") and done.stderr.count("\n") == 1


SOURCE = Path(__file__).resolve().parents[2] / "src"
FIRST = {"weft", "weft.cli", "weft.cli.main", "weft.crawl", "weft.text", "weft.text.version"}
"""What every start loads of weft."""

HEAVY = (
    "rich",
    "pyarrow",
    "asyncio",
    "pycurl",
    "turbohtml",
    "msgspec",
    "sqlite3",
    "re2",
    "url_py",
    "argparse",
)


def loaded_by(*arguments: str) -> set[str]:
    program = (
        "import contextlib, io, sys\n"
        "from weft.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n"
        f"    code = main({list(arguments)!r})\n"
        "assert code == 0, code\n"
        "print(*sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-P", "-c", program],
        env={"PYTHONPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    return set(done.stdout.split())


@pytest.mark.parametrize("arguments", [("--version",), ("--help",), ("help",)])
def test_start_up_loads_nothing_heavy(arguments: tuple[str, ...]) -> None:
    """Without site-packages even, so what is missing there cannot be loaded by accident."""
    loaded = loaded_by(*arguments)
    assert not loaded & set(HEAVY)
    assert {name for name in loaded if name.startswith("weft")} <= FIRST


def test_importing_weft_loads_nothing_else() -> None:
    program = "import sys, weft; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(SOURCE)}, capture_output=True, text=True, timeout=300
    )
    loaded = set(done.stdout.split())
    assert "weft" in loaded and not loaded & {"weft.api", "weft.errors", "msgspec", "pycurl", "asyncio"}


def test_weft_does_without_them() -> None:
    code = "from weft import native; print(native.is_compiled, native.read.__module__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "WEFT_PURE_PYTHON": "1"},
        capture_output=True,
    )
    assert done.stdout == b"False weft.native.pure\n", done.stderr


NEW_FIELD = """    patience_s: Annotated[float, About("wait so long for nothing", low=1, high=60)] = 2.5
    grace_s:"""
USES_OF_IT = """
from weft.options import keywords_module, read_spec, reference_markdown, spec_of, write_toml
from weft.cli.arguments import help_of, parse
from pathlib import Path

args = parse("resume", ["x", "--patience", "3s"])
assert vars(args)["patience"] == "3s" and "--patience TIME" in help_of("crawl", whole=True)
spec = spec_of(["http://a.test/"], {"patience": "1m"})
assert spec.limits.patience_s == 60.0 and 'patience = "1m"' in write_toml(spec)
Path("crawl.toml").write_text(write_toml(spec))
assert read_spec(Path("crawl.toml")) == spec
assert "| `--patience TIME` | `2.5s` | yes | wait so long for nothing" in reference_markdown()
assert "    patience: float | str" in keywords_module()
try:
    spec_of([], {"patience": 61})
except Exception as error:
    print(error)
"""


def test_a_field_is_all_that_an_option_needs(tmp_path: Path) -> None:
    """Issue 21, section 4: command line, TOML, Python and manual are made from it."""
    shutil.copytree(ROOT / "src" / "weft", tmp_path / "weft", ignore=shutil.ignore_patterns("__pycache__"))
    spec = tmp_path / "weft" / "spec.py"
    spec.write_text(spec.read_text(encoding="utf-8").replace("    grace_s:", NEW_FIELD, 1), encoding="utf-8")
    words = [sys.executable, "-P", "-c", USES_OF_IT]
    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "patience: 61s is out of range: 1s to 1m is accepted\n"
