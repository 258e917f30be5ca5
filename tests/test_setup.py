"""Set-up: ``./weft`` on a fresh machine, ``./test``, ``pip install .`` (issue section 1).

The scripts run in a copy of the project whose lock file is empty: an environment is then made without any network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
NATIVE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "weft_native"};
PyMODINIT_FUNC PyInit_weft_native(void) { return PyModule_Create(&definition); }
"""
TOOLS = ("sh", "dirname", "basename", "readlink", "cat", "cksum", "mkdir", "rm", "grep", "tail", "printf", "env")


def fresh_clone(folder: Path) -> Path:
    """A copy of the scripts and the source, with a lock file that asks for nothing."""
    folder.mkdir()
    for name in ("weft", "test"):
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tools", folder / "tools")
    (folder / "src" / "weft").mkdir(parents=True)
    for name in ("__init__.py", "__main__.py", "cli.py", "streams.py"):
        shutil.copy2(ROOT / "src" / "weft" / name, folder / "src" / "weft" / name)
    (folder / "src" / "native").mkdir()
    (folder / "src" / "native" / "module.c").write_text(NATIVE)
    (folder / "requirements.lock").write_text("# nothing\n")
    return folder


def run(*words: str | Path, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "XDG_CACHE_HOME")}
    return subprocess.run(
        [str(word) for word in words], cwd=cwd, env=clean | environment, capture_output=True, text=True, timeout=300
    )


def environments(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def path_with_only(folder: Path, *tools: str) -> str:
    """A folder for PATH that holds just these programs."""
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        if found and not (folder / tool).exists():
            (folder / tool).symlink_to(found)
    return str(folder)


QUICK_PYTHON = """#!/bin/sh
# A Python whose environments get a pip that does nothing, or fails: making a real one takes seconds.
[ "$1 $2" = "-m venv" ] || exec "{python}" "$@"
"{python}" -m venv --without-pip "$3" || exit 1
packages=$("$3/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
mkdir "$packages/pip"
echo 'import sys; sys.exit("no-such" in open(sys.argv[-1]).read() and "ERROR: no-such")' >"$packages/pip/__main__.py"
"""


@pytest.fixture
def quick_path(tmp_path: Path) -> str:
    """A PATH on which the only Python is a quick one."""
    folder = Path(path_with_only(tmp_path / "quick", *TOOLS))
    (folder / "python3.13").write_text(QUICK_PYTHON.format(python=sys.executable))
    (folder / "python3.13").chmod(0o755)
    return str(folder)


def test_first_use_makes_the_environment_once(tmp_path: Path) -> None:
    """With the real venv and pip: one line of progress, and then none; from any folder, through a symbolic link."""
    clone = fresh_clone(tmp_path / "a clone with blanks")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "weft.py").write_text("raise SystemExit('this file is not weft')\n")
    (elsewhere / "link").symlink_to(Path("..") / clone.name / "weft")
    first = run(clone / "weft", "--version", cwd=elsewhere)
    assert (first.returncode, first.stdout[:5]) == (0, "weft ") and first.stderr.count("\n") == 1
    second = run("./link", "--version", cwd=elsewhere, PYTHONHOME="/of/another/python")
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")
    assert len(environments(clone / ".env")) == 1


def test_the_systems_own_python_comes_first(tmp_path: Path, quick_path: str) -> None:
    """One of a version manager, first on the PATH, is often built without optimisations: a crawl costs more on it."""
    fit = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    if not Path("/usr/bin/python3").exists() or subprocess.run(["/usr/bin/python3", "-c", fit], check=False).returncode:
        pytest.skip("this system has no Python of its own that would do")
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=f"{quick_path}:/usr/bin").returncode == 0
    (made,) = (clone / ".env").iterdir()
    assert "home = /usr/bin\n" in (made / "pyvenv.cfg").read_text()


def test_modules_are_compiled_at_the_set_up(tmp_path: Path, quick_path: str) -> None:
    """Also for users who keep Python from writing bytecode: every start would take a second without it."""
    clone = fresh_clone(tmp_path / "clone")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0
    assert {path.name.partition(".")[0] for path in (clone / "src" / "weft" / "__pycache__").iterdir()} >= {"cli"}


def test_a_changed_lock_and_a_lost_python_make_it_again(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0
    (made,) = environments(clone / ".env")

    (clone / "requirements.lock").write_text("# nothing new\n")
    changed = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert changed.returncode == 0 and changed.stderr.count("\n") == 1 and len(environments(clone / ".env")) == 2

    (clone / "requirements.lock").write_text("# nothing\n")
    for name in (clone / ".env" / made / "bin").glob("python*"):  # its Python was taken off the machine
        name.unlink()
        name.symlink_to("/nonexistent/python")
    mended = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert mended.returncode == 0 and mended.stdout.startswith("weft ") and len(environments(clone / ".env")) == 2


def test_compiled_parts_come_with_the_environment(tmp_path: Path) -> None:
    """Where there is a C compiler and Python's headers; a changed source makes another environment."""
    if not shutil.which("cc") or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("there is no C compiler, or no headers of Python")
    clone = fresh_clone(tmp_path / "a clone with blanks")
    quick = Path(path_with_only(tmp_path / "quick", *TOOLS, "uname", "cc", "as", "ld"))
    (quick / "python3.13").write_text(QUICK_PYTHON.format(python=sys.executable))
    (quick / "python3.13").chmod(0o755)
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=str(quick))
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    (made,) = (clone / ".env").glob("*/lib/python*/site-packages/weft_native.so")
    (clone / "src" / "native" / "module.c").write_text("this is no C")
    broken = run(clone / "weft", "--version", cwd=tmp_path, PATH=str(quick))
    assert (broken.returncode, broken.stdout) == (0, done.stdout)
    assert [made] == list((clone / ".env").glob("*/lib/python*/site-packages/weft_native.so"))
    assert len(environments(clone / ".env")) == 2


def test_two_users_at_once(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    crowd = [
        subprocess.Popen(
            [clone / "weft", "--version"],
            env=os.environ | {"PATH": quick_path},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in crowd:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and out.startswith("weft "), err
    assert len(environments(clone / ".env")) == 1  # and nothing half built beside it


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, quick_path: str) -> None:
    """Installed by somebody else: the environment goes to the user's cache."""
    clone = fresh_clone(tmp_path / "clone")
    (clone / ".env").write_text("a file stands where the folder would be: as good as not writable, for root too")
    places = {"PATH": quick_path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = run(clone / "weft", "--version", cwd=tmp_path, **places)
    assert done.returncode == 0 and len(environments(tmp_path / "cache" / "weft")) == 1
    again = run(clone / "weft", "--version", cwd=tmp_path, **places)
    assert (again.returncode, again.stderr) == (0, "")


def test_no_python_is_told_in_one_sentence(tmp_path: Path) -> None:
    clone = fresh_clone(tmp_path / "clone")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=path_with_only(tmp_path / "bin", *TOOLS))
    assert done.returncode != 0 and done.stdout == ""
    assert done.stderr.count("\n") == 1 and "Python 3.11 or newer is needed" in done.stderr


def test_an_old_python_or_one_without_venv_is_told(tmp_path: Path) -> None:
    clone = fresh_clone(tmp_path / "clone")
    bin_folder = path_with_only(tmp_path / "bin", *TOOLS)
    python = Path(bin_folder, "python3")
    python.write_text("#!/bin/sh\nexit 1\n")  # an older one, or a stub that only fails
    python.chmod(0o755)
    assert "Python 3.11 or newer is needed" in run(clone / "weft", cwd=tmp_path, PATH=bin_folder).stderr
    python.write_text('#!/bin/sh\ncase "$2" in *venv*) exit 1 ;; esac\nexit 0\n')
    assert "python3 has no venv module" in run(clone / "weft", cwd=tmp_path, PATH=bin_folder).stderr


def test_a_failed_set_up_leaves_nothing_behind(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    (clone / "requirements.lock").write_text("no-such-package==1\n")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert done.returncode != 0 and "the set-up failed: ERROR: no-such" in done.stderr and done.stdout == ""
    assert environments(clone / ".env") == []


def test_extras_that_cannot_be_had_are_told_and_do_no_harm(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    (clone / "requirements-extras.lock").write_text("no-such-package==1\n")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert done.returncode == 0 and done.stdout.startswith("weft ")
    assert "are not to be had: ERROR: no-such" in done.stderr and len(environments(clone / ".env")) == 1
    again = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert again.stderr == "" and again.stdout == done.stdout


@pytest.mark.parametrize("script", ["weft", "test", "tools/environment", ".ci/run"])
def test_scripts_are_plain_shell(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK) and path.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", path], check=True)
    subprocess.run(["sh", "-n", ROOT / "tools" / "made"], check=True)  # which they read


def test_weft_runs_from_wherever_it_is_called(tmp_path: Path, quick_path: str) -> None:
    """The folder of the script, told without asking anybody where it is plain: always the same environment."""
    clone = fresh_clone(tmp_path / "a clone with [blanks] *")
    (tmp_path / "linked").symlink_to(clone)
    ways = [
        (clone, "./weft"), (clone, clone / "weft"), (clone / "src", "../weft"), (tmp_path, f"{clone.name}/weft"),
        (tmp_path, tmp_path / "linked" / "weft"), (tmp_path, f"{tmp_path}/./linked/../{clone.name}/weft"),
    ]  # fmt: skip
    for folder, script in ways:
        done = run(script, "--version", cwd=folder, PATH=quick_path)
        assert done.returncode == 0 and done.stdout.startswith("weft "), (script, done.stderr)
    assert len(environments(clone / ".env")) == 1
    assert run("sh", "weft", "--version", cwd=clone, PATH=f"{clone}:{quick_path}").stdout == done.stdout


def test_ci_calls_test_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == 1 and "/../test" in lines[0]


def test_locks_pin_everything() -> None:
    """Every package with its version, nothing about where it comes from; all that pyproject.toml asks for is there."""
    pinned = set()
    for name in ("requirements.lock", "requirements-extras.lock", "requirements-dev.lock"):
        for line in (ROOT / name).read_text().splitlines():
            if line and not line.startswith("#") and line != "-r requirements.lock":
                match = re.fullmatch(r"([A-Za-z0-9._-]+)==[A-Za-z0-9.+!]+", line)
                assert match, f"{name}: {line}"
                pinned.add(match[1].lower().replace("_", "-"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    wanted = project["dependencies"] + extras["parquet"] + extras["graph"]
    assert {re.split(r"[<>=!~]", line)[0].lower() for line in wanted} <= pinned


def test_all_compiled_parts_are_named() -> None:
    (extension,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["ext-modules"]
    named = {*extension["sources"], *extension["depends"]}
    assert named == {str(path.relative_to(ROOT)) for path in (ROOT / "src" / "native").iterdir()}


def test_the_wheel_brings_the_command(tmp_path: Path) -> None:
    """``pip install .`` gives the same ``weft`` command."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy2(ROOT / "pyproject.toml", source)
    shutil.copy2(ROOT / "LICENSE", source)
    (source / "README.md").write_text("weft\n")
    build = "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])"
    pytest.importorskip("setuptools", minversion="77", reason="setuptools 77 builds the wheel")
    done = run(sys.executable, "-c", build, tmp_path, cwd=source)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("weft_crawler-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (entry_points,) = (archive.read(name).decode() for name in names if name.endswith("entry_points.txt"))
        (metadata,) = (archive.read(name).decode() for name in names if name.endswith("/METADATA"))
        (licence,) = (archive.read(name) for name in names if name.endswith("/LICENSE"))
    assert {"Name: weft-crawler", "License-Expression: Apache-2.0"} <= set(metadata.splitlines())
    assert licence == (ROOT / "LICENSE").read_bytes() and b"Apache License" in licence
    assert "weft = weft.cli:main" in entry_points and "weft/py.typed" in names
    if shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists():
        assert [name for name in names if name.startswith("weft_native.")]
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "weft").rglob("*.py")}
    assert modules <= set(names)
