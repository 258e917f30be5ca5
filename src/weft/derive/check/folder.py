"""A folder checked as a whole."""

from __future__ import annotations

from weft.derive.check.archive import check_archive
from weft.derive.check.checked import Checked
from weft.derive.check.database import (
    check_counters,
    check_items,
    check_links,
    check_pages,
    check_urls,
    check_visits,
    is_sound,
)
from weft.derive.check.index import check_index
from weft.derive.check.report import Report
from weft.derive.read import StoredCrawl
from weft.errors import FolderError, SpecError
from weft.ports import Progress
from weft.text.human import command


def check_folder(crawl: StoredCrawl, progress: Progress) -> Report:
    """The report on a crawl that does not run; ``FolderError`` where it does."""
    if crawl.folder.is_running():
        raise FolderError(
            f"a crawl is running in {crawl.folder.path}, and what runs changes:"
            f" stop it first with `{command('stop', crawl.folder.path)}`"
        )
    checked = Checked(crawl, progress)
    if is_sound(checked):
        _check_all(checked)
    if crawl.folder.is_running():
        raise FolderError(
            f"a crawl was started in {crawl.folder.path} while it was checked: what was found says nothing"
        )
    return checked.report


def _check_all(checked: Checked) -> None:
    try:
        checked.archived = checked.crawl.spec.keep.archive
    except (SpecError, OSError) as error:
        checked.problem("SPECIFICATION", f"{checked.folder.spec.name} cannot be read: {error}")
    last = checked.db.execute("SELECT ended_ms FROM run ORDER BY id DESC LIMIT 1").fetchone()
    checked.killed = last is not None and last[0] is None
    check_urls(checked)
    check_pages(checked)
    check_links(checked)
    check_visits(checked)
    check_items(checked)
    check_counters(checked)
    check_archive(checked)
    if checked.archived and not checked.killed and last is not None:
        check_index(checked)
