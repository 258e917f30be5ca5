"""weft: a web crawler that keeps every page and every link.

    import weft

    async for page in weft.crawl("https://example.org", max_pages=100):
        print(page.url, page.title)

    with weft.open("example.org") as stored:
        for link in stored.links():
            print(link.source, link.target)

Only what ``__all__`` names is public; it is loaded when it is first used, so that `weft --version` stays quick.
"""

from __future__ import annotations

from weft.text.version import __version__

__all__ = [
    "Cause", "CrawlOptions", "ItemRow", "Keyword", "LinkRow", "MainText", "Page", "Reason", "Status", "StoredCrawl",
    "WeftError", "__version__", "crawl", "crawl_sync", "open",
]  # fmt: skip

TYPE_CHECKING = False
if TYPE_CHECKING:
    from weft.api import crawl, crawl_sync, open
    from weft.derive.items.rows import ItemRow
    from weft.derive.read import LinkRow, Page, Status, StoredCrawl
    from weft.errors import Cause, Reason, WeftError
    from weft.extract.keywords import Keyword
    from weft.extract.main_text import MainText
    from weft.options.crawl_options import CrawlOptions

_MODULES = {
    "Cause": "errors", "CrawlOptions": "options.crawl_options", "ItemRow": "derive.items.rows",
    "Keyword": "extract.keywords",
    "LinkRow": "derive.read", "MainText": "extract.main_text", "Page": "derive.read", "Reason": "errors",
    "Status": "derive.read", "StoredCrawl": "derive.read", "WeftError": "errors", "crawl": "api", "crawl_sync": "api",
    "open": "api",
}  # fmt: skip

# The package weft.crawl is loaded before anything else, and its name given back: later the import system would put it
# in the place of the function ``weft.crawl``.
from weft import crawl as _package  # noqa: E402 - before ``__getattr__``, which would answer for it

del crawl, _package


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'weft' has no attribute {name!r}")
    import importlib

    return getattr(importlib.import_module(f"weft.{_MODULES[name]}"), name)
