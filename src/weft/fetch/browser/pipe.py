"""A Chromium process, and the DevTools protocol over two pipes of it: no port is open, nobody else can drive it."""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

_READS_FROM, _WRITES_TO = 3, 4  # the numbers that Chromium expects its two pipes at
_ABOVE = 16  # the pipes are moved out of the way of these numbers
_PIECE_B = 1 << 20
_END_S = 10.0
_HOMES = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "TMPDIR")


class BrowserGone(Exception):
    """The browser has ended, or was ended, before it answered."""


class CommandFailed(Exception):
    """The browser refused a command of the protocol."""


OnEvent = Callable[[str, str, dict[str, Any]], None]
"""Is told of an event: the session (empty: the browser's own), the name, the values."""


class Chromium:
    """A running browser. Its profile is a folder that is removed at the end; the process ends with this object."""

    def __init__(self, make_command: Callable[[str], Sequence[str]], on_event: OnEvent) -> None:
        self._make_command = make_command
        self._on_event = on_event
        self._number = 0
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._rest: list[bytes] = []
        self._log = ""
        self.pid = 0
        self.gone = False

    async def __aenter__(self) -> Self:
        self._loop = asyncio.get_running_loop()
        self._profile = tempfile.TemporaryDirectory(prefix="weft-browser-", ignore_cleanup_errors=True)
        try:
            down, self._up = self._spawn()
        except BaseException:
            self._profile.cleanup()
            raise
        os.set_blocking(self._up, False)
        self._loop.add_reader(self._up, self._read)
        self._down, _ = await self._loop.connect_write_pipe(asyncio.Protocol, os.fdopen(down, "wb", 0))
        return self

    def _spawn(self) -> tuple[int, int]:
        """Starts the process; our ends of the pipes that lead to it and from it."""
        command = list(self._make_command(f"{self._profile.name}/profile"))
        down_end, down = _pipe()
        up, up_end = _pipe()
        log = os.open(f"{self._profile.name}/log", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        files = ((nothing, 0), (nothing, 1), (log, 2), (down_end, _READS_FROM), (up_end, _WRITES_TO))
        try:
            self.pid = os.posix_spawn(
                command[0],
                command,
                {**os.environ, **dict.fromkeys(_HOMES, self._profile.name)},
                file_actions=[(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in files],
                setsid=True,
            )
        except OSError:
            os.close(down)
            os.close(up)
            raise
        finally:
            for ours in {ours for ours, _ in files}:
                os.close(ours)
        return down, up

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()
        if not self._down.is_closing():  # it is, where the browser ended first
            self._down.abort()
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        await asyncio.to_thread(_wait_for, self.pid)
        await asyncio.to_thread(self._profile.cleanup)

    # ---- the protocol ----------------------------------------------------------------------------------------

    def send(self, method: str, session: str = "", **values: Any) -> asyncio.Future[dict[str, Any]]:
        """Sends a command; the future has its result, or raises ``CommandFailed`` or ``BrowserGone``."""
        answer: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        answer.add_done_callback(_heard)
        if self.gone:
            answer.set_exception(BrowserGone(method))
            return answer
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": values}
        if session:
            message["sessionId"] = session
        self._waiting[self._number] = answer
        self._down.write(msgspec.json.encode(message) + b"\0")
        return answer

    async def call(self, method: str, session: str = "", **values: Any) -> dict[str, Any]:
        """The result of a command."""
        return await self.send(method, session, **values)

    def _read(self) -> None:
        try:
            piece = os.read(self._up, _PIECE_B)
        except BlockingIOError:
            return
        except OSError:
            piece = b""
        if not piece:
            self._end()
            return
        while (at := piece.find(b"\0")) >= 0:
            raw, piece = b"".join((*self._rest, piece[:at])), piece[at + 1 :]
            self._rest.clear()
            self._heed(msgspec.json.decode(raw))
        if piece:
            self._rest.append(piece)

    def _heed(self, message: Mapping[str, Any]) -> None:
        number = message.get("id")
        if number is None:
            self._on_event(message.get("sessionId", ""), message["method"], message.get("params", {}))
            return
        answer = self._waiting.pop(number, None)
        if answer is None or answer.done():
            return
        if "error" in message:
            answer.set_exception(CommandFailed(message["error"].get("message", "")))
        else:
            answer.set_result(message["result"])

    def _end(self) -> None:
        """Nothing more comes: whoever waits for an answer is told."""
        if self.gone:
            return
        self.gone = True
        self._loop.remove_reader(self._up)
        os.close(self._up)
        waiting, self._waiting = self._waiting, {}
        for answer in waiting.values():
            if not answer.done():
                answer.set_exception(BrowserGone("the browser is gone"))
        self._on_event("", "gone", {})

    def last_words(self) -> str:
        """What the browser wrote to its log, shortened: why it did not start."""
        with suppress(OSError):
            return Path(self._profile.name, "log").read_text(errors="replace")[-2_000:]
        return ""


def pids_of(session: int) -> list[int]:
    """The processes of a browser, by the session that its first process leads; none that has ended."""
    found = []
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        with suppress(OSError, ValueError, IndexError):
            fields = Path(entry.path, "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) == session and fields[0] != "Z":
                found.append(int(entry.name))
    return found


def _pipe() -> tuple[int, int]:
    """The two ends of a pipe, with numbers that are in nobody's way."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, _ABOVE) for end in ends)
    for end in ends:
        os.close(end)
    return moved[0], moved[1]


def _wait_for(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, 0)


def _heard(answer: asyncio.Future[dict[str, Any]]) -> None:
    """Nobody has to wait for the answer of a command: one that failed unheard is no fault."""
    if not answer.cancelled():
        answer.exception()
