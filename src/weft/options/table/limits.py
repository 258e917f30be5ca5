"""Options: where the crawl, and one request, end; budgets against endless sites."""

from __future__ import annotations

import msgspec

from weft.options.option import Option
from weft.options.table.groups import LIMITS, TRAPS
from weft.options.values import optional, place, size, switch, time, whole
from weft.spec import Traps


def limits_options() -> list[Option]:
    return [
        Option(
            "max-pages",
            "limits.max_pages",
            optional(whole(1)),
            LIMITS,
            "stop after N stored pages (answered 2xx)",
            "1000",
            may_change=True,
        ),
        Option(
            "max-time",
            "limits.max_time_s",
            optional(time(0.001)),
            LIMITS,
            "stop this run after TIME",
            "2h",
            may_change=True,
        ),
        Option(
            "max-pages-per-site",
            "limits.max_pages_per_site",
            optional(whole(1)),
            LIMITS,
            "at most N pages of each site",
            "500",
            may_change=True,
        ),
        Option(
            "max-time-per-site",
            "limits.max_time_per_site_s",
            optional(time(0.001)),
            LIMITS,
            "at most TIME on each site",
            "1h",
            may_change=True,
        ),
        Option(
            "timeout",
            "limits.timeout_s",
            time(0.001, 86_400),
            LIMITS,
            "a whole request, connecting included",
            "30s",
            may_change=True,
        ),
        Option(
            "connect-timeout",
            "limits.connect_timeout_s",
            time(0.001, 3_600),
            LIMITS,
            "connecting alone",
            "10s",
            may_change=True,
        ),
        Option(
            "max-size",
            "limits.max_size_b",
            size(),
            LIMITS,
            "keep at most this much of an answer",
            "10M",
            may_change=True,
        ),
        Option(
            "retries",
            "limits.retries",
            whole(0, 100),
            LIMITS,
            "try again N times after a passing failure",
            "2",
            may_change=True,
        ),
        Option(
            "max-redirects",
            "limits.max_redirects",
            whole(0, 100),
            LIMITS,
            "walk at most N redirects in a row",
            "10",
            may_change=True,
        ),
        Option(
            "max-links-per-page",
            "limits.max_links_per_page",
            whole(1),
            LIMITS,
            "keep the first N links of a page; those that lead to pages before images and the like",
            "20000",
            may_change=True,
        ),
        Option("max-url", "limits.max_url_b", size(64, 1_000_000), LIMITS, "refuse longer URLs (URL_TOO_LONG)", "8192"),
        Option(
            "max-bugs",
            "limits.max_bugs",
            whole(0),
            LIMITS,
            "stop when weft itself failed on more than N pages",
            "20",
            may_change=True,
        ),
        Option(
            "max-memory",
            "limits.max_memory_b",
            size(64_000_000),
            LIMITS,
            "stay below this much memory",
            "1G",
            may_change=True,
        ),
        Option(
            "max-rate",
            "limits.max_rate_b",
            optional(size(1_000)),
            LIMITS,
            "bytes per second, all requests together",
            "5M",
            may_change=True,
        ),
        Option(
            "grace",
            "limits.grace_s",
            time(0, 3_600),
            LIMITS,
            "let running requests finish this long when stopped",
            "5s",
            may_change=True,
        ),
        Option(
            "wait", "limits.wait", switch(), LIMITS, "wait for more URLs (weft add) instead of ending", may_change=True
        ),
        Option(
            "stop-file",
            "limits.stop_file",
            place(),
            LIMITS,
            "stop as `weft stop` does when FILE appears, or is touched again after it did",
            "stop.txt",
            may_change=True,
        ),
    ]


def traps_options() -> list[Option]:
    """A row per field of ``Traps``; the text is the field's own description."""
    names = {"query_b": "trap-query-size"}
    options = []
    for field in msgspec.structs.fields(Traps):
        meta = next((m for m in getattr(field.type, "__metadata__", ()) if isinstance(m, msgspec.Meta)), msgspec.Meta())
        kind = size(0) if field.name.endswith("_b") else whole(0)
        name = names.get(field.name, f"trap-{field.name.replace('_', '-')}")
        summary = meta.description or f"the budget {field.name}"
        options.append(Option(name, f"traps.{field.name}", kind, TRAPS, summary, str(field.default)))
    return options
