"""The public test vectors, where they lie beside this repository."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from conformance import handle

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"


def answer_to(case: dict[str, object]) -> object:
    """What weft says to a case, in the form of what is expected."""
    given = case["input"]
    assert isinstance(given, dict)
    return handle(str(case["op"]), given)


@cache
def vectors(name: str) -> list[dict[str, object]]:
    """The cases of one file; without it the test is skipped."""
    path = VECTORS / name
    if not path.exists():
        pytest.skip(f"the public vectors are not here: {path}")
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
