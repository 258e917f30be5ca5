"""How a program is loaded: without the garbage collector."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def loading() -> Iterator[None]:
    """Keeps the garbage collector off while modules are loaded.

    Modules stay until the program ends. To look through them again and again takes a tenth of the start.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()  # else the first look, at all that was loaded, would come at once
        gc.enable()
