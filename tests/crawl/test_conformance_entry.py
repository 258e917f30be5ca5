"""The entry of the test vectors, from outside of the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("how", ["by path", "as a module", "as a neighbour"])
def test_it_is_imported_from_anywhere(how: str, tmp_path: Path) -> None:
    """An acceptance run imports the file by whatever way it likes, with nothing on the path."""
    programs = {
        "by path": f"""
import importlib.util
spec = importlib.util.spec_from_file_location("conformance", {str(ROOT / "tests" / "conformance.py")!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
handle = module.handle""",
        "as a module": f"import sys; sys.path.insert(0, {str(ROOT)!r}); from tests.conformance import handle",
        "as a neighbour": f"import sys; sys.path.insert(0, {str(ROOT / 'tests')!r}); from conformance import handle",
    }
    program = programs[how] + "\nprint(handle('url.resolve', {'base': 'http://a/b/c', 'ref': 'd'}))"
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "http://a/b/d\n"
