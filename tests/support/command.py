"""The command line in tests: weft in a process of its own, as a user runs it, or in the process of the test."""

from __future__ import annotations

import io
import os
import pty
import re
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Self

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Run:
    """How a command ended; ``out`` is its standard output as bytes."""

    code: int
    out: bytes
    stderr: str

    @property
    def stdout(self) -> str:
        return self.out.decode(errors="replace")


class Weft:
    """Runs ``weft`` as a user does: in a process of its own, from a folder of its own.

    Called, it waits for the end; `start` leaves the process running, for signals and kills. Nothing outlives the test.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environment = {name: value for name, value in os.environ.items() if not name.upper().endswith("_PROXY")}
        self.environment |= {
            "PYTHONPATH": str(ROOT / "src"),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NO_COLOR": "1",
            "COLUMNS": "160",
        }
        self._running: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __call__(
        self,
        *arguments: str | Path,
        timeout: float = 300.0,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> Run:
        process = self.start(
            *arguments, cwd=cwd, env=env, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE
        )
        try:
            stdout, stderr = process.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            self.kill(process)
            stdout, stderr = process.communicate()
            pytest.fail(
                f"weft {' '.join(map(str, arguments))} did not end within {timeout} s\n"
                f"stdout: {_tail(stdout)}\nstderr: {_tail(stderr)}"
            )
        return Run(process.returncode, stdout, stderr.decode(errors="replace"))

    def start(
        self,
        *arguments: str | Path,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        stdin: int = subprocess.DEVNULL,
        stdout: int | IO[bytes] = subprocess.PIPE,
        stderr: int | IO[bytes] = subprocess.PIPE,
        limit: tuple[int, int] | None = None,
        limit_max: int | None = None,
    ) -> subprocess.Popen[bytes]:
        """A running ``weft``, at the head of a process group of its own.

        ``limit`` is a resource and how much of it there is; ``limit_max`` how much weft may ask the system for.
        """
        limited = None if limit is None else partial(resource.setrlimit, limit[0], (limit[1], limit_max or limit[1]))
        wanted = processes_wanted(arguments) if arguments[:1] == ("crawl",) else []
        process = subprocess.Popen(
            [sys.executable, "-m", "weft", *map(str, arguments), *wanted],
            cwd=cwd or self.folder,
            env={**self.environment, **(env or {})},
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            start_new_session=True,
            preexec_fn=limited,
        )
        self._running.append(process)
        return process

    def watch(self, process: subprocess.Popen[bytes], limit_s: float = 300.0) -> int:
        """The most memory, in bytes, that a process had before it ended; after so many seconds it is killed."""
        peak_b, deadline = 0, time.monotonic() + limit_s
        while process.poll() is None:
            peak_b = max(peak_b, peak_of(process.pid))
            if time.monotonic() > deadline:
                self.kill(process)
                pytest.fail(f"weft did not end within {limit_s} s")
            time.sleep(0.02)
        return peak_b

    def on_a_terminal(self, *arguments: str | Path) -> tuple[int, str]:
        """The exit code of a command, and all that a terminal got from it."""
        ours, theirs = pty.openpty()
        process = self.start(*arguments, stdout=theirs, stderr=theirs)
        os.close(theirs)
        shown = b""
        while piece := _read_terminal(ours):
            shown += piece
        os.close(ours)
        return process.wait(300), shown.decode(errors="replace")

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """SIGKILL for the process and all it started."""
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def close(self) -> None:
        for process in self._running:
            if process.poll() is None:
                self.kill(process)
            process.wait(60)
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()


def _read_terminal(handle: int) -> bytes:
    try:
        return os.read(handle, 65_536)
    except OSError:  # the other side is closed
        return b""


def _tail(text: bytes) -> str:
    return text[-4_000:].decode(errors="replace")


def run_weft(*arguments: str | Path, cwd: Path) -> Run:
    """How a command ended, in a process of its own."""
    with Weft(cwd) as weft:
        return weft(*arguments)


def call(*arguments: str | Path) -> Run:
    """Runs a command in this process: twenty times as fast as a process of its own."""
    from weft.cli.main import main

    raw, err = io.BytesIO(), io.StringIO()
    out = io.TextIOWrapper(raw, encoding="utf-8", write_through=True)
    with redirect_stdout(out), redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    out.flush()
    return Run(code, raw.getvalue(), err.getvalue())


def processes_wanted(words: Sequence[object]) -> list[str]:
    """``--processes`` for a crawl that does not say it, as WEFT_TEST_PROCESSES has it: all tests with several."""
    wanted = os.environ.get("WEFT_TEST_PROCESSES")
    return ["--processes", wanted] if wanted and "--processes" not in words else []


def peak_of(pid: int) -> int:
    """The most memory that a process had so far, in bytes; 0 where it cannot be told: it is gone, or there is no /proc.

    Its own, not the memory of the process that started it, which the kernel counts as well.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except OSError:
        return 0
    return int(found[1]) * 1024 if found else 0
