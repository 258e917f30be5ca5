"""Whether a crawl's folder is consistent: the database with itself, with the archive, and with the index.

Everything streams: memory does not grow with the crawl, but for a byte for each URL where ids have gaps. A crawl that
was killed is consistent by design; what its resume will tidy up is told as a note and not as a problem.
"""

from __future__ import annotations

from weft.derive.check.folder import check_folder
from weft.derive.check.report import Problem, Report

__all__ = ["Problem", "Report", "check_folder"]
