"""weft add: give a crawl more URLs, whether it runs or not."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.cli.main import tell, warn
from weft.derive.read import StoredCrawl
from weft.errors import FolderError, SpecError
from weft.folder import Folder
from weft.seeds.lists import Seed, read_seeds, site_paces
from weft.spec import SitePace
from weft.text.human import command, counted

_LOOKED_AT = 100


def run(args: argparse.Namespace) -> int:
    folder = Folder(Path(args.folder))
    with StoredCrawl(folder.path):  # whatever is wrong with the folder is told first
        pass
    seeds, paces = read_seeds(args.seeds, warn), site_paces(args.seeds)
    if folder.is_running():
        told = _leave(folder, seeds, paces)
    else:
        try:
            told = _add(folder, seeds, paces)
        except FolderError:
            if not folder.is_running():  # else it was started just now
                raise
            told = _leave(folder, seeds, paces)
    tell(told)
    return 0


def _leave(folder: Folder, seeds: Sequence[Seed], paces: Mapping[str, SitePace]) -> str:
    """Leaves the URLs for the crawl that runs, which takes them at its next tick; what is told of it."""
    if paces:
        raise SpecError(
            f"a list of sites with settings of their own cannot be given to a crawl that runs: stop it with"
            f" `{command('stop', folder.path)}`, add the list, and go on with `{command('resume', folder.path)}`"
        )
    folder.leave_added((seed.url, seed.fallback) for seed in seeds)
    return f"{counted(len(seeds), 'URL')} left for the crawl that runs in {folder.path}"


def _add(folder: Folder, seeds: Sequence[Seed], paces: Mapping[str, SitePace]) -> str:
    """Adds the URLs to the queue of a crawl that does not run; what is told of it."""
    from weft.run.session import add_to_stopped

    new = add_to_stopped(folder, seeds, paces)
    _warn_of_refused(folder, [seed.url for seed in seeds[:_LOOKED_AT]])
    known = f" ({len(seeds) - new:,} known already)" if new < len(seeds) else ""
    return f"{counted(new, 'URL')} added{known}; go on with: {command('resume', folder.path)}"


def _warn_of_refused(folder: Folder, urls: list[str]) -> None:
    with StoredCrawl(folder.path) as crawl:
        for url in urls:
            page = crawl.page(url)
            if page is not None and page.state is None:
                warn(f"{url} is not asked all the same: {page.reason} ({command('why', folder.path, url)} tells more)")
