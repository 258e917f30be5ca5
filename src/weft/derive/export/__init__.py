"""A crawl in the forms that other programs have, one module a form (E3, T6, T7).

Every form is written beside its target and gets its name when it is whole. Rows are read in short steps, so memory
does not grow with the crawl, and a crawl that runs is not held up.
"""

from __future__ import annotations

from weft.derive.export.model import FORMS, Choice, Written
from weft.derive.export.write import export_crawl

__all__ = ["FORMS", "Choice", "Written", "export_crawl"]
