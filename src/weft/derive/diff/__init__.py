"""What changed between two crawls: pages and links added, gone, changed, moved."""

from __future__ import annotations

from weft.derive.diff.compare import Change, Comparison, Counts
from weft.derive.diff.graph import ChangeGraph

__all__ = ["Change", "ChangeGraph", "Comparison", "Counts"]
