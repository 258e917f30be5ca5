"""How far the code of one page is spread, from "robots.txt is answered" to "the page is stored".

    python bench/steps.py
    python bench/steps.py --list

A crawl of one page with three links runs under ``sys.setprofile``. A change of module is a call from one module of weft
to another; it crosses packages where these lie in different packages. A tick before the page is read is left out: it
depends on how busy the machine is. ``--list`` names the calls in their order.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from process import use_source_tree

use_source_tree()

MARKS = (
    ("weft.fetch.robots.file", "Robots.__init__"),  # robots.txt is answered
    ("weft.parse.html", "parse_page"),
    ("weft.store.visits", "SqlStore.write"),  # the page is stored
)
"""The functions whose returns, in this order, are the beginning, the middle and the end."""

TICK = ("weft.crawl.loop", "Loop._store_batch")


class Steps:
    """Counts calls from module to module, between the first and the last of ``MARKS``."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str]] = []  # from module, to module, name of the function
        self._modules: list[str] = []  # of the functions of weft that are being called
        self._passed = 0  # how many of the marks
        self._early_ticks = 0  # that are being called

    @property
    def is_over(self) -> bool:
        return self._passed == len(MARKS)

    def __call__(self, frame: FrameType, event: str, _argument: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if self.is_over or event not in ("call", "return") or not module.startswith("weft."):
            return
        name = frame.f_code.co_qualname
        if event == "call":
            before = self._modules[-1] if self._modules else module
            if (module, name) == TICK and self._passed < 2:
                self._early_ticks += 1
            if self._passed and not self._early_ticks and before != module:
                self.calls.append((before, module, name))
            self._modules.append(module)
            return
        if self._modules:
            self._modules.pop()
        if (module, name) == TICK and self._early_ticks:
            self._early_ticks -= 1
        if (module, name) == MARKS[self._passed]:
            self._passed += 1

    def numbers(self) -> dict[str, int]:
        modules = {module for before, after, _ in self.calls for module in (before, after)}
        across = sum(_package(before) != _package(after) for before, after, _ in self.calls)
        return {"changes of module": len(self.calls), "modules": len(modules), "across packages": across}


def _package(module: str) -> str:
    return module.split(".")[1]


def measured() -> Steps:
    """The steps of the only page of a site."""
    from web import Site

    from weft.cli.main import main as weft

    steps = Steps()
    with tempfile.TemporaryDirectory(prefix="weft-steps-") as folder, Site() as site:
        site.robots("User-agent: *\nDisallow: /private\n")
        site.page("/", ["/private", "http://elsewhere.test/", "/#part"])
        words = ["crawl", site.at("/"), "-o", str(Path(folder, "crawl")), "--quiet", "--sitemaps", "no", "--delay", "0"]
        sys.setprofile(steps)
        try:
            code = weft([*words, "--processes", "1"])
        finally:
            sys.setprofile(None)
    if code or not steps.is_over:
        sys.exit(f"the crawl ended with {code}, or its page was never stored")
    return steps


def main(given: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true", help="name the calls in their order")
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    args = parser.parse_args(given)
    steps = measured()
    if args.list:
        for before, after, name in steps.calls:
            print(f"{'  ' if _package(before) == _package(after) else '* '}{before} -> {after}.{name}")
    print(json.dumps(steps.numbers()) if args.json else ", ".join(f"{n} {what}" for what, n in steps.numbers().items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
