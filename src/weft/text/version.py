"""The version of weft, for every module that tells it."""

from __future__ import annotations

__version__ = "0.1.0"
