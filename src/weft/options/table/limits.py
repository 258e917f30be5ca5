"""Options: where the crawl, and one request, end; budgets against endless sites."""

from __future__ import annotations

import msgspec

from weft.options.option import Option, Section
from weft.options.table.groups import LIMITS, TRAPS
from weft.options.values import optional, place, size, switch, time, whole
from weft.spec import Traps


def limits_options() -> list[Option]:
    limit = Section(LIMITS, "limits").changeable
    return [
        limit("max-pages", "max_pages", optional(whole(1)), "stop after N stored pages (answered 2xx)", "1000"),
        limit("max-time", "max_time_s", optional(time(0.001)), "stop this run after TIME", "2h"),
        limit("max-pages-per-site", "max_pages_per_site", optional(whole(1)), "at most N pages of each site", "500"),
        limit("max-time-per-site", "max_time_per_site_s", optional(time(0.001)), "at most TIME on each site", "1h"),
        limit("timeout", "timeout_s", time(0.001, 86_400), "a whole request, connecting included", "30s"),
        limit("connect-timeout", "connect_timeout_s", time(0.001, 3_600), "connecting alone", "10s"),
        limit(
            "max-size",
            "max_size_b",
            size(),
            "keep at most this much of an answer; robots.txt is read up to 500 KiB",
            "10M",
        ),
        limit("retries", "retries", whole(0, 100), "try again N times after a passing failure", "2"),
        limit(
            "max-redirects",
            "max_redirects",
            whole(0, 100),
            "walk at most N redirects (and refreshes after 0 s) in a row",
            "10",
        ),
        limit(
            "max-links-per-page",
            "max_links_per_page",
            whole(1),
            "keep the first N links of a page, ten times as many where they lead to at most N/2 URLs; those to pages"
            " before images and the like",
            "20000",
        ),
        Option("max-url", "limits.max_url_b", size(64, 1_000_000), LIMITS, "refuse longer URLs (URL_TOO_LONG)", "8192"),
        limit("max-bugs", "max_bugs", whole(0), "stop when weft itself failed on more than N pages", "20"),
        limit("max-memory", "max_memory_b", size(64_000_000), "stay below this much memory", "1G"),
        limit("max-rate", "max_rate_b", optional(size(1_000)), "bytes per second, all requests together", "5M"),
        limit("grace", "grace_s", time(0, 3_600), "let running requests finish this long when stopped", "5s"),
        limit("wait", "wait", switch(), "wait for more URLs (weft add) instead of ending"),
        limit(
            "stop-file",
            "stop_file",
            place(),
            "stop as `weft stop` does when FILE appears, or is touched again after it did",
            "stop.txt",
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
