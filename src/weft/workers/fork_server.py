"""The fork server: a small process that has loaded what workers need and forks one whenever the crawl wants it.

A worker inherits nothing of the crawl, no lock, no socket, no thread: the fork server is forked before there are any,
or is a fresh interpreter. So a worker that died is replaced in milliseconds. Nobody outlives the crawl: the fork server
ends when its socket closes or its parent dies, however it dies, and takes the workers with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Sequence

from weft.workers.messages import pair

_ORDER = struct.Struct("<i")  # the number of the worker that is wanted; its socket comes with it
_NEWS = struct.Struct("<iii")  # the worker's number, its process, how it ended (ALIVE: it was started)
ALIVE = -1
Work = Callable[[socket.socket, list[int]], None]
CLOSE_S = 1.0
_PR_SET_PDEATHSIG = 1
_PROGRAM = """
import gc, sys
sys.path[:] = {path!r}
gc.disable()  # while modules are loaded
import weft.workers.worker
from weft.workers.fork_server import keep
gc.freeze()
gc.enable()
keep({fd})
"""
_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # meant for the crawl, which ends us in its own time


class ForkServer:
    """The crawl's side: forks workers, and knows which process is which.

    ``fork``: from this process as it is now, which costs milliseconds; only where it has nothing yet that a worker must
    not inherit (``is_bare``). Else it is a fresh interpreter.
    """

    def __init__(self, *, fork: bool = False) -> None:
        ours, theirs = pair()
        self._control = ours
        self.pids: dict[int, int] = {}  # worker -> its process
        self.deaths: dict[int, int] = {}  # worker -> its wait status
        with theirs:
            self._process = _by_fork(ours, theirs) if fork else _by_interpreter(theirs)
        ours.setblocking(False)

    @property
    def pid(self) -> int:
        return self._process.pid

    def fileno(self) -> int:
        return self._control.fileno()

    def fork(self, number: int, shared: Sequence[int] = ()) -> socket.socket | None:
        """Our end of a new worker's socket; None where the fork server itself is gone. The worker gets ``shared``
        too.
        """
        ours, theirs = pair()
        with theirs:
            try:
                given = [theirs.fileno(), *shared]
                socket.send_fds(self._control, [_ORDER.pack(number)], given)
            except OSError:
                ours.close()
                return None
        return ours

    def hear(self) -> bool:
        """Takes in the news of starts and deaths; False where the fork server is gone."""
        try:
            data = self._control.recv(_NEWS.size * 64)
        except BlockingIOError:
            return True
        except OSError:
            return False
        for number, pid, status in _NEWS.iter_unpack(data[: len(data) // _NEWS.size * _NEWS.size]):
            if status == ALIVE:
                self.pids[number] = pid
            else:
                self.pids.pop(number, None)
                self.deaths[number] = status
        return bool(data)

    def close(self) -> None:
        """Ends the fork server and all that it has forked. A second call does nothing."""
        if self._control.fileno() < 0:
            return
        self._control.close()
        try:
            self._process.wait(CLOSE_S)  # it waits for its workers, so that what they used is counted
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class _Forked:
    """A child by fork, with what of ``Popen`` is needed here."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._over = False

    def wait(self, timeout: float | None = None) -> None:
        deadline_s = None if timeout is None else time.monotonic() + timeout
        while not self._over:
            self._over = os.waitpid(self.pid, 0 if deadline_s is None else os.WNOHANG)[0] != 0
            if not self._over:
                if deadline_s is not None and time.monotonic() > deadline_s:
                    raise subprocess.TimeoutExpired("fork server", timeout or 0.0)
                time.sleep(0.001)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)


def is_bare() -> bool:
    """Whether this process has no thread and no event loop: whatever it has, a worker may inherit."""
    if sys.platform != "linux" or threading.active_count() > 1:
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def _by_fork(ours: socket.socket, theirs: socket.socket) -> _Forked:
    crawl = os.getpid()
    pid = os.fork()
    if pid:
        return _Forked(pid)
    try:
        ours.close()
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        keep(theirs.detach(), crawl)
    except BaseException:  # the border of the process
        traceback.print_exc()
    finally:
        os._exit(1)


def _by_interpreter(theirs: socket.socket) -> subprocess.Popen[bytes]:
    program = _PROGRAM.format(path=sys.path, fd=theirs.fileno())
    command = [sys.executable, "-P", "-c", program]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=(theirs.fileno(),))


def keep(fd: int, crawl: int | None = None) -> None:
    """The life of the fork server process: forks a worker for each order until the crawl is gone."""
    die_with_parent(crawl)
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    control = socket.socket(fileno=fd)
    control.set_inheritable(False)
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    from weft.workers.worker import work

    children: dict[int, int] = {}  # process -> worker
    try:
        while True:
            ready, _, _ = select.select([control, woken], [], [])
            if woken in ready:
                with contextlib.suppress(BlockingIOError):
                    woken.recv(4096)
            _reap(children, control)
            if control in ready and not _fork_worker(children, control, (woken, wakes), work):
                return
    except (BrokenPipeError, ConnectionResetError):  # the crawl is gone
        pass
    except BaseException:  # the border of the process: what is wrong is told, and not only that workers end
        traceback.print_exc()
    finally:
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in children:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        os._exit(0)


def _fork_worker(
    children: dict[int, int],
    control: socket.socket,
    ours: tuple[socket.socket, socket.socket],
    work: Work,
) -> bool:
    """Forks a worker for one order; False where the crawl is gone."""
    data, fds, _, _ = socket.recv_fds(control, _ORDER.size, 2)
    if not data:
        return False
    if not fds:  # lost on their way: the crawl finds its end of the socket closed, and orders anew
        return True
    (number,) = _ORDER.unpack(data)
    fork_server = os.getpid()
    pid = os.fork()
    if pid == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        die_with_parent(fork_server)
        for end in (control, *ours):
            end.close()
        _live(work, socket.socket(fileno=fds[0]), fds[1:])
    for fd in fds:
        os.close(fd)
    children[pid] = number
    control.sendall(_NEWS.pack(number, pid, ALIVE))
    return True


def _live(work: Work, end: socket.socket, shared: list[int]) -> None:
    """A worker's life; never returns."""
    code = 1
    try:
        work(end, shared)
        code = 0
    except BaseException:  # the border of the process: the crawl sees it end and takes its jobs back
        traceback.print_exc()
    finally:
        os._exit(code)


def _reap(children: dict[int, int], control: socket.socket) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        number = children.pop(pid, None)
        if number is not None:
            control.sendall(_NEWS.pack(number, pid, status))


def die_with_parent(parent: int | None = None) -> None:
    """Has the system kill this process when its parent dies; other systems than Linux have only the closed socket."""
    expected = parent if parent is not None else os.getppid()
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != expected or expected == 1:
        os._exit(1)
