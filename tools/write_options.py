"""Writes anew what is made from the fields of src/weft/spec.py: docs/options.md, and the types for
Python in src/weft/options/crawl_options.py.

python tools/write_options.py
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "src"))

from weft.options import keywords_module, reference_markdown  # noqa: E402

if __name__ == "__main__":
    (ROOT / "docs" / "options.md").write_text(reference_markdown(), encoding="utf-8")
    (ROOT / "src" / "weft" / "options" / "crawl_options.py").write_text(keywords_module(), encoding="utf-8")
