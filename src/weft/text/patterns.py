"""Regular expressions that are compiled at their first use."""

from __future__ import annotations

import re
from typing import AnyStr, cast


def regex(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled at its first use.

    Python compiles them in Python: all of weft's would be a tenth of the start of a crawl, and most meet no page that
    needs them. What nearly every page needs is compiled by ``re`` as ever.
    """
    return cast("re.Pattern[AnyStr]", _Pattern(pattern, flags))


class _Pattern:
    """Stands for a pattern; each method is kept as its own attribute once it was asked for."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text = text
        self._flags = flags
        self._compiled: re.Pattern[str] | re.Pattern[bytes] | None = None

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # copying and pickling ask for what patterns do not have
            raise AttributeError(name)
        if self._compiled is None:
            self._compiled = re.compile(self._text, self._flags)
        found = getattr(self._compiled, name)
        setattr(self, name, found)
        return found
