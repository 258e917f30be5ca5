"""``python -m weft``, and the program of the script ``./weft``."""

from __future__ import annotations

from weft.cli.main import main
from weft.run.signals import leave

if __name__ == "__main__":
    leave(main())
