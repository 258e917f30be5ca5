"""Fixtures of the whole suite: real servers on loopback, the command line as a user runs it, and no leaks."""

from __future__ import annotations

import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import nginx
import pytest
from command import ROOT, Weft
from hypothesis import HealthCheck, settings
from web import Authority, NameServer, Site

LEAK_WAIT_S = float(os.environ.get("LEAK_WAIT_S", "30"))
"""How long a thread, process or socket may take to end after its test."""

# The same examples on every run, however slow the machine is; `./test --hypothesis-profile=search` looks further.
settings.register_profile("search", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("weft", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("weft")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--second-try", action="store_true", help="name the tests that pass: they failed before")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Names the unsteady tests, which failed first and pass now."""
    if config.getoption("--second-try"):
        for report in terminalreporter.getreports("passed"):
            if report.when == "call":
                terminalreporter.line(f"unsteady: {report.nodeid}", yellow=True)


# --- tiers

TESTS = ROOT / "tests"
QUICK = ("unit", "property")
"""The folders whose tests need no server and no other program."""


def _tier_of(item: pytest.Item | pytest.Module) -> str:
    """The folder of a test, or of a file of tests; empty for one that lies elsewhere."""
    return item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks each test with its folder: ``-m "not real"``."""
    for item in items:
        if tier := _tier_of(item):
            item.add_marker(tier)


@pytest.fixture(scope="module", autouse=True)
def quick_tests_stay_inside(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fails the tests of a quick folder that start a program or a server, also by a fixture of their module."""
    with pytest.MonkeyPatch.context() as patch:
        if _tier_of(request.node) in QUICK:
            patch.setattr(subprocess.Popen, "__init__", _refuse)
            patch.setattr(socket.socket, "bind", _refuse)
        yield


def _refuse(*_: object, **__: object) -> None:
    pytest.fail("a test of tests/unit or tests/property starts a program or a server: it belongs in another folder")


# --- leaks

_LONG_LIVED: set[int] = set()
"""Processes that belong to the session and not to one test."""


def _children() -> set[int]:
    """The process ids of our children, from /proc; empty where there is none."""
    found: set[int] = set()
    for task in Path("/proc/self/task").glob("*/children"):
        try:
            found.update(int(pid) for pid in task.read_text().split())
        except OSError:
            continue  # the thread ended while we looked
    return found - _LONG_LIVED


def _sockets() -> set[str]:
    found = set()
    for handle in Path("/proc/self/fd").glob("*"):
        try:
            place = str(handle.readlink())
        except OSError:
            continue
        if place.startswith("socket:"):
            found.add(place)
    return found


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fails a test that leaves a thread, a child process or an open socket behind."""
    threads, children, sockets = set(threading.enumerate()), _children(), _sockets()
    yield
    left: list[str] = []
    deadline = time.monotonic() + LEAK_WAIT_S
    while time.monotonic() < deadline:
        left = [f"thread {thread.name}" for thread in set(threading.enumerate()) - threads if thread.is_alive()]
        left += [f"process {pid}" for pid in _children() - children]
        left += sorted(_sockets() - sockets)
        if not left:
            return
        time.sleep(0.02)
    pytest.fail(f"left behind: {', '.join(left)}")


# --- servers


@pytest.fixture
def site(no_leaks: None) -> Iterator[Site]:
    """A web server on loopback that serves what the test tells it to."""
    with Site() as running:
        yield running
    assert not running.faults, f"the test server itself failed: {running.faults!r}"


@pytest.fixture
def sites(no_leaks: None) -> Iterator[Callable[..., Site]]:
    """Makes further sites, on other addresses and ports; all are closed at the end."""
    running: list[Site] = []

    def make(address: str = "127.0.0.1", host: str | None = None) -> Site:
        running.append(Site(address, host=host).start())
        return running[-1]

    yield make
    for one in running:
        one.close()
    faults = [fault for one in running for fault in one.faults]
    assert not faults, f"the test server itself failed: {faults!r}"


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """A certificate authority for tests; its ``certificate`` is what `--ca` takes."""
    if not Authority.available():
        pytest.skip("the openssl command is not installed")
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def tls_site(authority: Authority, no_leaks: None) -> Iterator[Callable[[str], Site]]:
    """Makes running HTTPS sites of the kinds in `web.TLS_KINDS`."""
    running: list[Site] = []

    def make(kind: str = "good", host: str = "secure.test") -> Site:
        running.append(authority.site(kind, host).start())
        return running[-1]

    yield make
    for one in running:
        one.close()


@pytest.fixture
def names(no_leaks: None) -> Iterator[NameServer]:
    """A DNS server on loopback."""
    with NameServer() as running:
        yield running


@pytest.fixture
def invented(no_leaks: None) -> Iterator[Callable[..., object]]:
    """Makes invented webs and serves them: ``invented(seed, hosts, pages)`` gives a `weft.demo.server.Served`."""
    from contextlib import ExitStack

    from weft.demo.invented import InventedWeb
    from weft.demo.server import Served, serve_invented

    with ExitStack() as running:

        def make(seed: int = 1, hosts: int = 3, pages: int = 60, *, record: bool = True, **settings: object) -> Served:
            web = InventedWeb(seed, hosts, pages, **settings)  # type: ignore[arg-type]
            return running.enter_context(serve_invented(web, record=record))

        yield make


@pytest.fixture(scope="session")
def nginx_docs() -> Iterator[Callable[[str], nginx.Nginx]]:
    """Gives the nginx that serves the pages of a Debian package; it runs until the end of the session."""
    running: dict[str, nginx.Nginx] = {}

    def serve(package: str) -> nginx.Nginx:
        if package not in running:
            if nginx.program() is None:
                pytest.skip("nginx is not installed")
            place = nginx.DOCUMENTATION[package]
            if not Path(place.folder).is_dir():
                pytest.skip(f"the Debian package {package} is not installed")
            running[package] = nginx.Nginx(place.folder).start()
            pid = running[package].pid
            assert pid is not None
            _LONG_LIVED.add(pid)
        return running[package]

    yield serve
    for one in running.values():
        one.stop()


@pytest.fixture
def nginx_folder(no_leaks: None) -> Iterator[Callable[..., nginx.Nginx]]:
    """Serves any folder by nginx: ``nginx_folder(path)`` or ``nginx_folder({"a.test": path})``."""
    running: list[nginx.Nginx] = []

    def serve(folders: Path | Mapping[str, Path | str], *, gzip: bool = False) -> nginx.Nginx:
        if nginx.program() is None:
            pytest.skip("nginx is not installed")
        running.append(nginx.Nginx(folders, gzip=gzip).start())
        return running[-1]

    yield serve
    for one in running:
        one.stop()


# --- the command line


@pytest.fixture
def weft(tmp_path: Path, no_leaks: None) -> Iterator[Weft]:
    """Runs the command line: ``weft("crawl", site.url, "-o", "out", timeout=30).code``."""
    with Weft(tmp_path) as runner:
        yield runner
