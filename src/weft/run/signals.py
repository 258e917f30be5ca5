"""The surroundings that a command was started in: streams that are closed or go away, signals to end.

Nothing of that may harm a crawl: it goes on where nobody can see it any more, and is stopped as one is that is seen.
"""

from __future__ import annotations

import atexit
import os
import sys
from io import BufferedWriter, FileIO, TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal
    from typing import NoReturn

    from _typeshed import ReadableBuffer
else:
    import _signal as signal  # the same without its enumerations, which take longer to load than all of this

_STANDARD = (0, 1, 2)


class _Screen(FileIO):
    """Where messages go. What cannot be shown, because the terminal or the reader is gone, is not shown."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BlockingIOError:
            raise
        except OSError:
            return memoryview(data).nbytes


def settle_in() -> None:
    """Makes this process fit for whatever it was started in; to be called once, by the program itself."""
    for descriptor in _STANDARD:  # else the next file to be opened would take the place of a closed one
        try:
            os.fstat(descriptor)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it stays open for good
    seen = sys.stderr
    encoding, errors = ("utf-8", "backslashreplace") if seen is None else (seen.encoding, seen.errors)
    screen = BufferedWriter(_Screen(2, "w", closefd=False))
    sys.stderr = TextIOWrapper(screen, encoding, errors, line_buffering=True)


def end_by_signals(code: int) -> None:
    """The signals that end programs end a command with this exit code, tidily.

    Not by KeyboardInterrupt: one that passes through code made from text while modules are loaded ends Python by the
    signal in the end, even if it was caught.
    """

    def end(_number: int, _frame: object) -> NoReturn:
        raise SystemExit(code)

    for number in ending_signals():
        signal.signal(number, end)


def ignore_signals() -> None:
    """The exit code is decided: who presses Ctrl-C once more while Python tidies up does not change it."""
    for number in ending_signals():
        signal.signal(number, signal.SIG_IGN)


def leave(code: int) -> NoReturn:
    """Ends this process with an exit code, once all that waits for the end of a program is done.

    Python would take everything apart first, object by object, for as long as it takes to load half of weft. That is
    left out where nobody can tell: not for parts of the user's own, which may count on it, nor for one who watches.
    """
    plugins = sys.modules.get("weft.plugins")
    if (
        (plugins is None or not plugins.is_in_use())
        and sys.getprofile() is None
        and sys.gettrace() is None
        and _is_alone()
    ):
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        except (OSError, ValueError):  # what Python makes of it is told by Python
            pass
    sys.exit(code)


def _is_alone() -> bool:
    """Whether no thread is left to be waited for."""
    threading = sys.modules.get("threading")
    return threading is None or threading.active_count() == 1


def ending_signals() -> list[int]:
    """What ends a command and stops a crawl; not a hang-up that whoever started it has ignored (nohup)."""
    found = {name: getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)}
    return [one for name, one in found.items() if name != "SIGHUP" or signal.getsignal(one) != signal.SIG_IGN]
