"""weft crawl: start a crawl, or go on with one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from weft.cli.arguments import options_given
from weft.cli.main import warn
from weft.cli.running import run_passes
from weft.options import crawl_order
from weft.run.session import plan_crawl

if TYPE_CHECKING:
    import argparse


def run(args: argparse.Namespace) -> int:
    order = crawl_order(args.seeds, options_given(args), config=args.config, warn=warn)
    plan = plan_crawl(order.spec, order.run.output, fresh=order.run.fresh, warn=warn)
    return run_passes(plan, order.run)
