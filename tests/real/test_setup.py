"""Set-up: ``./weft`` on a fresh machine, ``./test``, ``pip install .`` (issue section 1).

The scripts run in a copy of the project whose lock file is empty, and pip asks no index: an environment is then made
without any network.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from until import wait_until

from weft.extras import EXTRAS

ROOT = Path(__file__).resolve().parents[2]
NATIVE = """
#include <Python.h>
static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "weft_native"};
PyMODINIT_FUNC PyInit_weft_native(void) { return PyModule_Create(&definition); }
"""
TOOLS = ("sh", "dirname", "readlink", "cp", "mv", "mkdir", "rm", "chmod", "grep", "tail")
SETTING_UP = "weft: setting up for the first use, or after a change (once, under a minute) ..."
NOT_COMPILED = "weft: there is no C compiler, or there are no headers of Python: weft works, and takes twice the CPU"
PROJECT = """
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "weft-clone"
version = "1"

[tool.setuptools.packages.find]
where = ["src"]
"""
EXTENSION = """
[[tool.setuptools.ext-modules]]
name = "weft_native"
sources = ["src/native/module.c"]
optional = true
"""
PACKAGES = sysconfig.get_path("purelib")
COMPILERS = ("cc", "as", "ld", (sysconfig.get_config_var("CC") or "cc").split()[0])


def fresh_clone(folder: Path, *, native: str = "") -> Path:
    """A copy of the scripts and of the source, with a lock file that asks for nothing, and perhaps a module in C."""
    (folder / "src" / "native").mkdir(parents=True)
    for name in ("weft", "test", "README.md"):
        shutil.copy2(ROOT / name, folder / name)
    shutil.copytree(ROOT / "src" / "weft", folder / "src" / "weft", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "src" / "native" / "module.c").write_text(native)
    (folder / "pyproject.toml").write_text(PROJECT + (EXTENSION if native else ""))
    (folder / "requirements.lock").write_text("# nothing\n")
    return folder


def run(*words: str | Path, cwd: Path, user: int | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "XDG_CACHE_HOME")}
    return subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=clean | {"PIP_NO_INDEX": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=300,
        user=user,
    )


def path_with_only(folder: Path, *tools: str) -> str:
    """A folder for PATH that holds just these programs."""
    folder.mkdir(exist_ok=True)
    for tool in tools:
        found = shutil.which(tool)
        if found and not (folder / tool).exists():
            (folder / tool).symlink_to(found)
    return str(folder)


QUICK_PYTHON = """#!/bin/sh
# A Python whose environments use the pip and setuptools of this one: to install its own takes seconds.
[ "$1 $2" = "-m venv" ] || exec "{python}" "$@"
shift 2
"{python}" -m venv --without-pip "$@" || exit 1
for packages; do :; done
echo "{packages}" >"$(echo "$packages"/lib/python*/site-packages)/quick.pth"
"""


def quick_path_at(folder: Path, *tools: str, python: str = sys.executable, packages: str = PACKAGES) -> str:
    """A PATH on which the only Python is a quick one."""
    path_with_only(folder, *TOOLS, *tools)
    (folder / "python3.13").write_text(QUICK_PYTHON.format(python=python, packages=packages))
    (folder / "python3.13").chmod(0o755)
    return str(folder)


@pytest.fixture
def quick_path(tmp_path: Path) -> str:
    return quick_path_at(tmp_path / "quick")


def stamp_of(clone: Path) -> int:
    """The time of the environment's last set-up."""
    return (clone / ".venv" / "made").stat().st_ctime_ns


def test_first_use_makes_the_environment_once(tmp_path: Path, quick_path: str) -> None:
    """One line of progress, and then none; from any folder, through a symbolic link; whatever lies in that folder."""
    clone = fresh_clone(tmp_path / "a clone with blanks")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("weft", "os", "runpy"):
        (elsewhere / f"{name}.py").write_text("raise SystemExit('this file is not weft')\n")
    (elsewhere / "link").symlink_to(Path("..") / clone.name / "weft")
    first = run(clone / "weft", "--version", cwd=elsewhere, PATH=quick_path)
    assert (first.returncode, first.stdout[:5]) == (0, "weft "), first.stderr
    assert first.stderr.splitlines() == [SETTING_UP, NOT_COMPILED]
    made = stamp_of(clone)
    second = run("./link", "--version", cwd=elsewhere, PATH=quick_path, PYTHONHOME="/of/another/python")
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")
    assert stamp_of(clone) == made


def test_a_start_runs_no_other_program(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    done = run("/bin/sh", clone / "weft", "--version", cwd=tmp_path, PATH=str(nothing))
    assert (done.returncode, done.stderr) == (0, "")


def test_the_systems_own_python_comes_first(tmp_path: Path, quick_path: str) -> None:
    """One of a version manager, first on the PATH, is often built without optimisations: a crawl costs more on it."""
    fit = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))"
    if not Path("/usr/bin/python3").exists() or subprocess.run(["/usr/bin/python3", "-c", fit], check=False).returncode:
        pytest.skip("this system has no Python of its own that would do")
    clone = fresh_clone(tmp_path / "clone")
    run(clone / "weft", "--version", cwd=tmp_path, PATH=f"{quick_path}:/usr/bin")
    assert "home = /usr/bin\n" in (clone / ".venv" / "pyvenv.cfg").read_text()


def test_modules_are_compiled(tmp_path: Path, quick_path: str) -> None:
    """Also for users who keep Python from writing bytecode: every start would take a second without it."""
    clone = fresh_clone(tmp_path / "clone")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path, PYTHONDONTWRITEBYTECODE="1")
    assert done.returncode == 0
    assert list((clone / "src" / "weft" / "cli").glob("__pycache__/*.pyc"))


@pytest.mark.parametrize(
    ("name", "newer"), [("requirements.lock", True), ("pyproject.toml", False), ("src/native/module.c", True)]
)
def test_a_change_makes_the_environment_again(tmp_path: Path, quick_path: str, name: str, newer: bool) -> None:
    """A change is another time of the file, also an older one: an archive that was unpacked over the folder."""
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0
    time_ns = (clone / name).stat().st_mtime_ns + (1 if newer else -1) * 3_600 * 10**9
    os.utime(clone / name, ns=(time_ns, time_ns))
    changed = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert changed.returncode == 0 and SETTING_UP in changed.stderr
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).stderr == ""


def test_a_lost_python_makes_the_environment_again(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0
    for name in (clone / ".venv" / "bin").glob("python*"):  # its Python was taken off the machine
        name.unlink()
        name.symlink_to("/nonexistent/python")
    mended = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert mended.returncode == 0 and mended.stdout.startswith("weft "), mended.stderr


def test_a_set_up_that_is_killed_is_begun_anew(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    environment = os.environ | {"PATH": quick_path, "PIP_NO_INDEX": "1"}
    process = subprocess.Popen(
        [clone / "weft", "--version"], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    wait_until(lambda: (clone / ".venv" / "making").exists(), "the packages are being installed")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL and not (clone / ".venv" / "made").exists()
    (clone / ".venv" / "left behind").touch()
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert done.returncode == 0 and done.stdout.startswith("weft "), done.stderr
    assert not (clone / ".venv" / "left behind").exists() and stamp_of(clone)


def test_compiled_parts_come_with_the_environment(tmp_path: Path) -> None:
    """Where there is a C compiler and Python's headers; without them, and with broken sources, weft does without."""
    if not shutil.which("cc") or not Path(sysconfig.get_path("include"), "Python.h").exists():
        pytest.skip("there is no C compiler, or no headers of Python")
    clone = fresh_clone(tmp_path / "a clone with blanks", native=NATIVE)
    path = quick_path_at(tmp_path / "quick", *COMPILERS)
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=path)
    assert (done.returncode, done.stderr) == (0, f"{SETTING_UP}\n")
    (made,) = (clone / "src").glob("weft_native.*.so")
    (clone / "src" / "native" / "module.c").write_text("this is no C")
    broken = run(clone / "weft", "--version", cwd=tmp_path, PATH=path)
    assert (broken.returncode, broken.stdout) == (0, done.stdout) and NOT_COMPILED in broken.stderr
    assert not made.exists()


def test_two_users_at_once(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    crowd = [
        subprocess.Popen(
            [clone / "weft", "--version"],
            env=os.environ | {"PATH": quick_path, "PIP_NO_INDEX": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for process in crowd:
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0 and out.startswith("weft "), err
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).stderr == ""


def test_a_folder_that_cannot_be_written_to(tmp_path: Path, quick_path: str) -> None:
    """The environment goes to the user's cache."""
    clone = fresh_clone(tmp_path / "clone")
    (clone / ".venv").write_text("a file stands where the folder would be: as good as not writable, for root too")
    places = {"PATH": quick_path, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = run(clone / "weft", "--version", cwd=tmp_path, **places)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "cache" / f"weft{clone}" / ".venv" / "made").is_dir()
    again = run(clone / "weft", "--version", cwd=tmp_path, **places)
    assert (again.returncode, again.stderr) == (0, "")


@pytest.mark.skipif(os.getuid() != 0 or not Path("/usr/bin/python3").exists(), reason="only root can be somebody else")
def test_a_tree_of_somebody_else() -> None:
    """Installed by root, used by others: nothing is written into the tree, and the compiled parts are there."""
    nobody = 65_534
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        clone = fresh_clone(folder / "clone", native=NATIVE)
        before = sorted(clone.rglob("*"))
        (folder / "cache").mkdir()
        os.chown(folder / "cache", nobody, nobody)
        for pattern in ("pip*", "setuptools*", "_distutils_hack"):
            for package in Path(PACKAGES).glob(pattern):
                shutil.copytree(package, folder / "packages" / package.name)
        python = "/usr/bin/python3"  # the one of the tests may be out of reach
        path = quick_path_at(folder / "quick", *COMPILERS, python=python, packages=str(folder / "packages"))
        places = {"PATH": path, "XDG_CACHE_HOME": str(folder / "cache"), "HOME": str(folder)}
        done = run(clone / "weft", "--version", cwd=folder, user=nobody, **places)
        assert (done.returncode, done.stderr) == (0, f"{SETTING_UP}\n")
        again = run(clone / "weft", "--version", cwd=folder, user=nobody, **places)
        assert (again.returncode, again.stdout, again.stderr) == (0, done.stdout, "")
        assert sorted(clone.rglob("*")) == before
        assert [*(folder / "cache").rglob("weft_native.*.so")]


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


def test_a_failed_set_up_is_told_and_tried_again(tmp_path: Path, quick_path: str) -> None:
    clone = fresh_clone(tmp_path / "clone")
    lock = clone / "requirements.lock"
    lock.write_text("no-such-package==1\n")
    done = run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path)
    assert done.returncode != 0 and done.stdout == "" and "the set-up failed: ERROR: " in done.stderr
    assert "no-such-package" in done.stderr and not (clone / ".venv" / "made").exists()
    lock.write_text("# nothing\n")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0


@pytest.mark.parametrize("script", ["weft", "test", ".ci/run"])
def test_scripts_are_plain_shell(script: str) -> None:
    path = ROOT / script
    assert os.access(path, os.X_OK) and path.read_text().startswith("#!/bin/sh\n")
    subprocess.run(["sh", "-n", path], check=True)
    if shutil.which("shellcheck"):
        done = run("shellcheck", path, cwd=ROOT)
        assert done.returncode == 0, done.stdout


def test_weft_runs_from_wherever_it_is_called(tmp_path: Path, quick_path: str) -> None:
    """The folder of the script, told without asking anybody where it is plain: always the same environment."""
    clone = fresh_clone(tmp_path / "a clone with [blanks] *")
    (tmp_path / "linked").symlink_to(clone)
    ways = [
        (clone, "./weft"), (clone, clone / "weft"), (clone / "src", "../weft"), (tmp_path, f"{clone.name}/weft"),
        (tmp_path, tmp_path / "linked" / "weft"), (tmp_path, f"{tmp_path}/./linked/../{clone.name}/weft"),
    ]  # fmt: skip
    said = [run(script, "--version", cwd=folder, PATH=quick_path) for folder, script in ways]
    assert all(done.returncode == 0 and done.stdout.startswith("weft ") for done in said), said
    assert SETTING_UP in said[0].stderr and not any(done.stderr for done in said[1:])
    assert run("sh", "weft", "--version", cwd=clone, PATH=f"{clone}:{quick_path}").stdout == said[0].stdout


# --- extras

ASKS_FOR_TINY = """
from weft import extras
from weft.cli.main import main
extras.EXTRAS["tiny"] = extras.Extra("tests", ("tiny_module",))
def run():
    extras.need("tiny")
    import tiny_module
    print(tiny_module.__name__)
    return 0
import weft.cli.main
weft.cli.main._dispatch = lambda *_: run()
raise SystemExit(main([]))
"""


def wheel_at(folder: Path) -> Path:
    """A wheel with one module, made by hand: all that pip wants of it."""
    path = folder / "tiny-1-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("tiny_module.py", "")
        archive.writestr("tiny-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1\n")
        archive.writestr("tiny-1.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("tiny-1.dist-info/RECORD", "tiny_module.py,,\n")
    return path


@pytest.fixture
def asks_for_tiny(tmp_path: Path, quick_path: str) -> Path:
    """A clone, set up, of which every command needs the extra ``tiny``."""
    clone = fresh_clone(tmp_path / "clone")
    assert run(clone / "weft", "--version", cwd=tmp_path, PATH=quick_path).returncode == 0
    (clone / "src" / "weft" / "__main__.py").write_text(ASKS_FOR_TINY)
    (clone / "requirements-tiny.lock").write_text(f"{wheel_at(tmp_path)}\n")
    return clone


def test_an_extra_comes_at_its_first_use(asks_for_tiny: Path, tmp_path: Path) -> None:
    first = run(asks_for_tiny / "weft", "graph", cwd=tmp_path)
    assert (first.returncode, first.stdout) == (0, "tiny_module\n"), first.stderr
    assert first.stderr == "weft: installing the extra tiny (tests), once ...\n"
    second = run(asks_for_tiny / "weft", "graph", cwd=tmp_path)
    assert (second.returncode, second.stdout, second.stderr) == (0, "tiny_module\n", "")
    (asks_for_tiny / "requirements-tiny.lock").write_text("no-such-package==1\n")  # another version of weft wants more
    changed = run(asks_for_tiny / "weft", "graph", cwd=tmp_path)
    assert changed.returncode == 2 and changed.stdout == "" and changed.stderr.count("\n") == 2
    assert "weft: the extra tiny (tests) could not be installed: ERROR: No matching" in changed.stderr


def test_two_commands_want_an_extra_at_once(asks_for_tiny: Path, tmp_path: Path) -> None:
    crowd = [
        subprocess.Popen([asks_for_tiny / "weft", "graph"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    for process in crowd:
        out, err = process.communicate(timeout=300)
        assert (process.returncode, out) == (0, "tiny_module\n"), err
    assert run(asks_for_tiny / "weft", "graph", cwd=tmp_path).stderr == ""


def test_an_extra_that_was_cut_short_comes_whole(asks_for_tiny: Path, tmp_path: Path) -> None:
    process = subprocess.Popen([asks_for_tiny / "weft", "graph"], stderr=subprocess.PIPE, start_new_session=True)
    assert process.stderr is not None and process.stderr.readline().startswith(b"weft: installing")
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    done = run(asks_for_tiny / "weft", "graph", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "tiny_module\n"), done.stderr


def test_an_extra_is_named_where_weft_was_installed_by_pip(asks_for_tiny: Path, tmp_path: Path) -> None:
    python, source = asks_for_tiny / ".venv" / "bin" / "python", str(asks_for_tiny / "src")
    done = run(python, "-P", "-m", "weft", "graph", cwd=tmp_path, PYTHONPATH=source)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "weft: the extra tiny (tests) is missing: pip install 'weft-crawler[tiny]'\n"


# --- the project


def test_ci_calls_test_and_nothing_else() -> None:
    lines = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line and not line.startswith("#")]
    assert len(lines) == 1 and "/../test" in lines[0]


def pins_of(path: Path) -> dict[str, str]:
    """The packages of a lock file with their versions; nothing else stands there, as where they come from."""
    pins = {}
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            match = re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.+!]+)", line)
            assert match, f"{path.name}: {line}"
            pins[match[1].lower().replace("_", "-")] = match[2]
    return pins


def wanted_by(requirements: list[str]) -> set[str]:
    return {re.split(r"[<>=!~\[ ;]", line)[0].lower() for line in requirements}


def test_locks_pin_everything() -> None:
    """All that pyproject.toml asks for is there, each extra in a lock file of its own; a package has one version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    together = pins_of(ROOT / "requirements.lock")
    assert wanted_by(project["dependencies"]) <= set(together)
    extras = project["optional-dependencies"]
    assert set(extras) == set(EXTRAS)
    for name, requirements in extras.items():
        assert wanted_by(requirements) <= set(pins_of(ROOT / f"requirements-{name}.lock")) | set(together)
    for name in (*extras, "dev"):
        for package, version in pins_of(ROOT / f"requirements-{name}.lock").items():
            assert together.setdefault(package, version) == version, package


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
    assert "weft = weft.cli.main:main" in entry_points and "weft/py.typed" in names
    if shutil.which("cc") and Path(sysconfig.get_path("include"), "Python.h").exists():
        assert [name for name in names if name.startswith("weft_native.")]
    modules = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "weft").rglob("*.py")}
    assert modules <= set(names)
