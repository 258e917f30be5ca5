"""Answers the cases of the test vectors: ``handle(op, input)`` asks weft and returns the form of ``expected``.

It may be imported from anywhere, as a module or by its path: it finds the ops and weft's source itself.
"""

from __future__ import annotations

import base64
import importlib
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

_HERE = Path(__file__).resolve().parent
for _folder in (_HERE.parent / "src", _HERE / "support"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

MODULES = ("ops_url", "ops_robots", "ops_sitemap", "ops_html", "ops_http", "ops_contacts")

Op = Callable[[dict[str, object]], object]


def handle(op: str, input: Mapping[str, object]) -> object:
    """What weft answers to one case; ``LookupError`` for an op that it does not know."""
    return op_named(op)(with_bytes(input))


@cache
def op_named(name: str) -> Op:
    """The op of a name. The module called after its first word is asked first, and often no other is imported."""
    home = f"ops_{name.partition('.')[0]}"
    for module in sorted(MODULES, key=lambda module: module != home):
        found: dict[str, Op] = importlib.import_module(module).OPS
        if name in found:
            return found[name]
    raise LookupError(f"unknown op {name!r}")


def with_bytes(input: Mapping[str, object]) -> dict[str, object]:
    """The same with every ``NAME_b64`` also decoded under ``NAME``."""
    decoded = dict(input)
    for key, value in input.items():
        if key.endswith("_b64") and isinstance(value, str):
            decoded[key.removesuffix("_b64")] = base64.b64decode(value)
        elif isinstance(value, dict):
            decoded[key] = with_bytes(value)
    return decoded
