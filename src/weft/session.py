"""Starting a crawl, or going on with one: what `weft crawl`, `weft resume` and the Python API share."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from weft.assemble import open_crawl, run_crawl
from weft.loop import Crawl, Observer, StopReason
from weft.errors import SpecError
from weft.folder import Folder
from weft.options import differences, read_spec, seeds_differ, write_spec
from weft.seeds import Seed, default_folder, read_seeds
from weft.spec import CrawlSpec

Warn = Callable[[str], None]
_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


class Plan:
    """A crawl and the folder it works in, checked and ready to be opened."""

    def __init__(self, spec: CrawlSpec, folder: Folder, seeds: Sequence[Seed], *, limits_changed: bool) -> None:
        self.spec = spec
        self.folder = folder
        self.seeds = seeds
        self.limits_changed = limits_changed


def plan_crawl(spec: CrawlSpec, output: str | None, *, fresh: bool, warn: Warn) -> Plan:
    """A new crawl, or an old one gone on with where the specification agrees; ``SpecError`` says what differs."""
    seeds = read_seeds(spec.seeds, warn) if spec.seeds else []
    folder = Folder(Path(output or default_folder(seeds[0])))
    if folder.exists and fresh:
        with folder.lock():
            aside = folder.set_aside()
        warn(f"the earlier crawl is kept in {aside}")
    if folder.exists and folder.spec.is_file():
        return _go_on(spec, folder, seeds)
    folder.make()
    write_spec(folder.spec, spec)  # first of all, so that a crawl killed at its first instant can be resumed
    return Plan(spec, folder, seeds, limits_changed=False)


def plan_resume(spec: CrawlSpec, folder: Folder, warn: Warn) -> Plan:
    """The crawl of a folder with the limits given now."""
    old = read_spec(folder.spec)
    seeds = [] if folder.db.is_file() and _is_seeded(folder) else read_seeds(spec.seeds, warn)
    write_spec(folder.spec, spec)
    return Plan(spec, folder, seeds, limits_changed=_limits_changed(old, spec))


def _go_on(spec: CrawlSpec, folder: Folder, seeds: Sequence[Seed]) -> Plan:
    old = read_spec(folder.spec)
    differing = [str(difference) for difference in differences(old, spec)]
    if seeds_differ(old, spec):
        differing.append("the seeds are others (weft add gives a crawl more URLs)")
    if differing:
        raise SpecError(
            f"{folder.path} holds a crawl with another specification: {'; '.join(differing)}."
            f" Go on as it was with `weft resume {folder.path}`, or start anew with --fresh or another -o"
        )
    if not spec.seeds:
        import msgspec

        spec = msgspec.structs.replace(spec, seeds=old.seeds)
    write_spec(folder.spec, spec)
    return Plan(spec, folder, seeds, limits_changed=_limits_changed(old, spec))


def _limits_changed(old: CrawlSpec, new: CrawlSpec) -> bool:
    return old.limits != new.limits or old.scope != new.scope


def _is_seeded(folder: Folder) -> bool:
    from weft.db import open_reader
    from weft.store.schema import VERSION

    reader = open_reader(folder.db, VERSION)
    try:
        return reader.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchone() is not None and (
            reader.execute("SELECT 1 FROM meta WHERE name = 'seeded'").fetchone() is not None
        )
    finally:
        reader.close()


def run_plan(plan: Plan, observers: list[Observer], began: Callable[[Crawl], None] | None = None) -> StopReason:
    """Runs the crawl on an event loop of its own, with signals: once stops cleanly, twice at once."""

    async def main() -> StopReason:
        async with open_crawl(plan.spec, plan.folder, plan.seeds, observers, limits_changed=plan.limits_changed) as crawl:
            loop = asyncio.get_running_loop()
            for name in _SIGNALS:
                if hasattr(signal, name):
                    try:
                        loop.add_signal_handler(getattr(signal, name), crawl.stop)
                    except (NotImplementedError, RuntimeError):  # no such signals here, or not the main thread
                        break
            if began is not None:
                began(crawl)
            return await run_crawl(crawl)

    return asyncio.run(main())
