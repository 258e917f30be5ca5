"""A real nginx on a free loopback port, serving folders as they are: the judge of exact page sets and of speed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

from web import free_port

START_S = 60.0


@dataclass(frozen=True)
class Documentation:
    """Where a Debian package keeps its pages, the path a crawl starts at, and how many pages it must find there."""

    folder: str
    start: str
    pages: int | None = None


DOCUMENTATION = {
    "python-django-doc": Documentation("/usr/share/doc/python-django-doc/html", "/", 692),
    "postgresql-doc-15": Documentation("/usr/share/doc/postgresql-doc-15/html", "/", 1_170),
    "octave-doc": Documentation("/usr/share/doc/octave/octave.html", "/", 508),
    "nodejs-doc": Documentation("/usr/share/doc/nodejs/api", "/", 65),
    "harden-doc": Documentation("/usr/share/doc/harden-doc/html", "/en-US/index.html", 89),
    "debian-handbook": Documentation("/usr/share/doc/debian-handbook/html", "/en-US/index.html", 127),
    "installation-guide-amd64": Documentation("/usr/share/doc/installation-guide-amd64", "/en/index.html", 84),
    "debian-faq": Documentation("/usr/share/doc/debian/FAQ", "/", 18),
    "debian-policy": Documentation("/usr/share/doc/debian-policy/policy.html", "/", 26),
    "python3.11-doc": Documentation("/usr/share/doc/python3.11/html", "/"),
    "libboost1.74-doc": Documentation("/usr/share/doc/libboost1.74-doc/doc/html", "/"),
    "openjdk-17-doc": Documentation("/usr/share/doc/openjdk-17-jre-headless/api", "/"),
    "linux-doc-6.1": Documentation("/usr/share/doc/linux-doc-6.1/html", "/"),
    "ghc-doc": Documentation("/usr/share/doc/ghc-doc/html", "/"),
}


class Access(NamedTuple):
    """One line of the access log."""

    time_epoch: float
    host: str
    method: str
    path: str
    status: int
    size_b: int
    user_agent: str


def program() -> str | None:
    """The path of nginx, or None; it is often outside the PATH of ordinary users."""
    return shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/sbin")


class Nginx:
    """An nginx that serves one folder, or several by host name (``{"a.test": folder}``; ``""`` is every other name)."""

    def __init__(self, folders: Path | str | Mapping[str, Path | str], *, gzip: bool = False, workers: int = 1) -> None:
        self.folders = dict(folders) if isinstance(folders, Mapping) else {"": folders}
        self.gzip = gzip
        self.workers = workers
        self.port = free_port()
        self._place: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return self.at("")

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def at(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    def start(self) -> Self:
        """The server, listening."""
        found = program()
        if found is None:
            raise RuntimeError("nginx is not installed")
        self._place = tempfile.TemporaryDirectory(prefix="weft-nginx-")
        place = Path(self._place.name)
        configuration = place / "nginx.conf"
        configuration.write_text(self._configuration(place), encoding="utf-8")
        command = [found, "-p", str(place), "-c", str(configuration), "-e", str(place / "error.log")]
        self._process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        self._wait_until_open()
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(START_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None
        if self._place is not None:
            self._place.cleanup()
            self._place = None

    def log(self) -> list[Access]:
        """The requests answered so far, in the order of their ends."""
        if self._place is None:
            return []
        lines = (Path(self._place.name) / "access.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return [_access(line) for line in lines]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _wait_until_open(self) -> None:
        process = self._process
        assert process is not None
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline:
            if process.poll() is not None:
                said = process.stderr.read().decode(errors="replace") if process.stderr else ""
                self.stop()
                raise RuntimeError(f"nginx did not start: {said.strip()}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.02)
        self.stop()
        raise RuntimeError("nginx did not open its port")

    def _configuration(self, place: Path) -> str:
        user = "user root;" if os.geteuid() == 0 else ""  # the folders of tests are often closed to others
        temporary = "\n".join(
            f"  {kind}_temp_path {place}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        return (
            f"{user}\ndaemon off;\nworker_processes {self.workers};\npid {place}/nginx.pid;\n"
            f"events {{ worker_connections 1024; }}\nhttp {{\n{temporary}\n{TYPES}\n"
            "  log_format bench '$msec\\t$host\\t$request_method\\t$request_uri\\t$status\\t$body_bytes_sent\\t"
            "$http_user_agent';\n"
            f"  access_log {place}/access.log bench;\n  sendfile on;\n  tcp_nopush on;\n  keepalive_requests 100000;\n"
            f"  gzip {'on' if self.gzip else 'off'};\n  gzip_types *;\n"
            + "".join(map(self._server, self.folders.items()))
            + "}\n"
        )

    def _server(self, item: tuple[str, Path | str]) -> str:
        name, folder = item
        listen = f"listen 127.0.0.1:{self.port}{'' if name else ' default_server'};"
        named = f"server_name {name};" if name else "server_name _;"
        return f'  server {{ {listen} {named} root "{folder}"; index index.html; absolute_redirect off; }}\n'


TYPES = """  types {
    text/html html htm shtml; text/css css; text/xml xml; image/gif gif; image/jpeg jpeg jpg; application/javascript js;
    text/plain txt; image/png png; image/svg+xml svg svgz; image/webp webp; image/x-icon ico; application/json json;
    application/pdf pdf; application/zip zip; font/woff woff; font/woff2 woff2; application/xhtml+xml xhtml;
  }
  default_type application/octet-stream;"""


def _access(line: str) -> Access:
    when, host, method, path, status, size, agent = line.split("\t", 6)
    return Access(float(when), host, method, path, int(status), int(size), agent)
