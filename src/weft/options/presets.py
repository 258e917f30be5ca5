"""What the modes set."""

from __future__ import annotations

from weft.options.values import Value
from weft.spec import RESULT_IN_FOLDER, Mode, Sitemaps

PRESETS: dict[Mode, dict[str, Value]] = {
    # R2, R8, R9, R11, R12: pages by <a> of their own site only; a redirect leads to the page that takes its place.
    # R3, R6: a graph of each site whenever a run ends. R14: every rule of the list.
    Mode.GRAPH: {
        "html-only": True,
        "same-scheme": True,
        "same-site": True,
        "follow": ("a", "redirect"),
        "sitemaps": Sitemaps.NO,
        "graphs": RESULT_IN_FOLDER,
        "normalize": (
            "scheme-host-case",
            "default-port",
            "dot-segments",
            "fragment",
            "ip-to-host",
            "percent-case",
            "percent-decode",
            "double-slashes",
            "slash-add",
            "empty-parameters",
            "sort-query",
            "empty-query",
        ),
    },
    Mode.EMAIL: {"drop-query": True, "extract": ("email",)},  # E20, E25
}
"""What ``--mode`` sets. Options given beside it win."""
