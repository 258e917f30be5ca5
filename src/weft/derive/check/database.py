"""The database with itself: every row that another one names is there, and the counters tell what the tables hold."""

from __future__ import annotations

import sqlite3

import msgspec

from weft.derive.check.checked import Checked
from weft.derive.check.report import MOST_TOLD
from weft.derive.read import PackedLink
from weft.errors import Cause, Reason
from weft.frontier.runs import ids_of, look_up
from weft.records import LinkKind, Purpose
from weft.store.warc.losses import LOST_RECORD
from weft.text.human import counted

_CHUNK = 5_000
_STATES = {"W": "waiting", "R": "running", "C": "completed", "E": "errors", None: "refused"}


def is_sound(checked: Checked) -> bool:
    """Whether the database file itself is whole; what is inside a damaged one is not looked at."""
    checked.progress("the database file", 0, 0)
    checked.db.set_progress_handler(lambda: checked.progress("the database file", 0, 0), 5_000_000)
    try:
        found = [row[0] for row in checked.db.execute(f"PRAGMA integrity_check({MOST_TOLD})")]
    except sqlite3.DatabaseError as error:
        found = [str(error)]
    finally:
        checked.db.set_progress_handler(None, 0)
    for text in found:
        if text != "ok":
            checked.problem("DATABASE", f"{checked.folder.db.name}: {text}")
    return found == ["ok"]


def check_urls(checked: Checked) -> None:
    """Every URL is found by its hash: else it could be fetched a second time, and `weft why` would not know it.

    What is newer than the runs of the seen-set is found without them.
    """
    checked.report.urls = total = checked.count("SELECT count(*) FROM url")
    if not checked.crawl.has_runs:
        return
    upto, after = checked.count("SELECT max(upto) FROM seen_run"), 0
    query = "SELECT id, text FROM url WHERE id > ? AND id <= ? ORDER BY id LIMIT ?"
    while rows := checked.db.execute(query, (after, upto, _CHUNK)).fetchall():
        checked.progress("URLs", after, total)
        after = rows[-1][0]
        left = {checked.crawl.fingerprint_of(text): (number, text) for number, text in rows}
        for (run,) in checked.db.execute("SELECT id FROM seen_run ORDER BY entries DESC").fetchall():
            for found in look_up(checked.db, run, left):
                del left[found]
        for number, text in left.values():
            checked.problem("URL_NOT_FINDABLE", f"URL {number}, {text}: not in the seen-set")
    for _, chunk, ids in checked.rows("the seen-set", _SEEN, 0):
        assert isinstance(chunk, bytes) and isinstance(ids, bytes)
        named = msgspec.json.encode(ids_of(chunk, ids)).decode()
        for (number,) in checked.db.execute(_SEEN_WITHOUT_URL, (named,)):
            checked.problem("URL_NOT_FINDABLE", f"the seen-set names URL {number}, which does not exist")


def check_pages(checked: Checked) -> None:
    """Every page has its URL, its site and one state; an answered one has its visit."""
    checked.report.pages = total = checked.count("SELECT count(*) FROM page")
    reasons = set(Reason)
    has_roles = checked.count("SELECT count(*) FROM pragma_table_info('page') WHERE name = 'role'")
    role = "p.role" if has_roles else "0"  # of folders of an earlier schema
    for page, state, reason, url, other, site, visit, status, purpose, visit_page, warc, cause, checks in checked.rows(
        "pages", _PAGES.format(role=role), total
    ):
        name = url if url is not None else f"page {page}"
        if url is None or other:
            checked.problem("PAGE_WITHOUT_URL", f"{name}: its URL does not exist")
        if site is None:
            checked.problem("PAGE_WITHOUT_SITE", f"{name}: its site does not exist")
        if state not in _STATES:
            checked.problem("PAGE_STATE", f"{name}: there is no state {state!r}")
        has_both = state is not None and reason is not None and not checks
        if (state is None and reason is None) or has_both or (reason is not None and reason not in reasons):
            checked.problem("PAGE_STATE", f"{name}: state {state!r} with reason {reason!r}")
        if state == "C" and (visit is None or status is None or visit_page != page or purpose not in _QUEUED):
            checked.problem("PAGE_WITHOUT_VISIT", f"{name}: it is completed and has no visit that was answered")
        elif state == "C" and checked.archived and warc is None and not checks and cause != Cause.FILE_TOO_LARGE:
            checked.problem("PAGE_WITHOUT_RECORD", f"{name}: its answer is not in the archive")
        elif state == "R" and not checked.killed:
            checked.problem("PAGE_RUNNING", f"{name}: it is marked as running, and no crawl runs")
    checked.some("URL_WITHOUT_PAGE", _URL_WITHOUT_PAGE, "URL {0}, {1}: its page does not exist")
    checked.some("PAGE_TWICE", _PAGE_TWICE, "{0}: {1} pages have this key")
    running = checked.count("SELECT count(*) FROM page WHERE state = 'R'")
    if running and checked.killed:
        checked.report.notes.append(
            f"the crawl was killed with {counted(running, 'page')} under way; weft resume asks again"
        )


def check_links(checked: Checked) -> None:
    """Each pack of links can be read, and names URLs that exist."""
    newest = checked.count("SELECT coalesce(max(id), 0) FROM url")
    exists = _existing_ids(checked, newest) if newest != checked.report.urls else None
    total, links = checked.count("SELECT count(*) FROM link_pack"), 0
    decode, kinds = msgspec.json.Decoder(list[PackedLink]).decode, {kind.value for kind in LinkKind}
    for visit, pack, out_links, detail in checked.rows("links", _PACKS, total):
        try:
            found = decode(str(pack))
        except (msgspec.DecodeError, UnicodeError) as error:
            checked.problem("LINKS_UNREADABLE", f"the links of visit {visit}: {error}")
            continue
        links += len(found) if detail != LOST_RECORD else 0
        wrong = [
            link for link in found if not 0 < link.target <= newest or (exists is not None and not exists[link.target])
        ]
        if wrong:
            checked.problem(
                "LINK_WITHOUT_URL", f"a link of visit {visit} leads to URL {wrong[0].target}, which does not exist"
            )
        if any(link.kind not in kinds for link in found):
            checked.problem("LINKS_UNREADABLE", f"the links of visit {visit}: there is no such kind of link")
        if out_links is None:
            checked.problem("LINKS_WITHOUT_VISIT", f"the links of visit {visit}: there is no such visit")
        elif out_links != len(found):
            checked.problem("LINK_COUNT", f"visit {visit} says {out_links} links and has {len(found)}")
    checked.some("LINK_COUNT", _WITHOUT_PACK, "visit {0} says {1} links and has none")
    checked.report.links = links


def _existing_ids(checked: Checked, newest: int) -> bytearray:
    """For each id up to the newest whether a URL has it; needed only where some are left out."""
    exists = bytearray(newest + 1)
    for (number,) in checked.rows(
        "URLs", "SELECT id FROM url WHERE id > :after ORDER BY id LIMIT :most", checked.report.urls
    ):
        exists[int(str(number))] = 1
    return exists


def check_visits(checked: Checked) -> None:
    """Every visit has its URL, and that of a page its page."""
    checked.report.visits = checked.count("SELECT count(*) FROM visit")
    checked.some("VISIT_WITHOUT_URL", _VISIT_WITHOUT_URL, "visit {0}: its URL does not exist")
    checked.some("VISIT_WITHOUT_PAGE", _VISIT_WITHOUT_PAGE, "visit {0}: its page does not exist")


def check_items(checked: Checked) -> None:
    """Every item has its page, and the visit of that page that found it."""
    if not checked.has_table("item"):
        return
    checked.report.items = total = checked.count("SELECT count(*) FROM item")
    for item, value, page, is_known, visit, visit_page in checked.rows("items", _ITEMS, total):
        name = f"item {item}, {value}"
        if not is_known:
            checked.problem("ITEM_WITHOUT_PAGE", f"{name}: its page {page} does not exist")
        if visit_page is None:
            checked.problem("ITEM_WITHOUT_VISIT", f"{name}: visit {visit} of a page does not exist")
        elif visit_page != page:
            checked.problem("ITEM_WITHOUT_VISIT", f"{name}: visit {visit} is not one of its page")


def check_counters(checked: Checked) -> None:
    """The counters, by which limits end a crawl, are what the tables hold."""
    kept = dict(checked.db.execute("SELECT name, value FROM counter").fetchall())
    states = dict(checked.db.execute("SELECT state, count(*) FROM page GROUP BY state").fetchall())
    held = {name: states.get(state, 0) for state, name in _STATES.items()}
    held |= {
        "known": checked.report.pages,
        "hosts": checked.count("SELECT count(*) FROM site"),
        "pages": checked.count(_STORED_PAGES),
        "links": checked.report.links,
        "bytes": checked.count("SELECT sum(size_wire) FROM visit"),
        "bugs": checked.count("SELECT count(*) FROM bug"),
    }
    if checked.has_table("item"):
        held["items"] = checked.report.items
    if "asked" in kept:  # an earlier version did not keep these
        held |= {
            "asked": checked.count("SELECT count(*) FROM site WHERE first_access_ms IS NOT NULL"),
            "forbidden": checked.count(f"SELECT count(*) {_FORBIDDEN}"),
            "broken": states.get("E", 0) - checked.count(f"SELECT count(*) {_FORBIDDEN}") + checked.count(_ERROR_PAGES),
        }
    for name, number in held.items():
        if kept.get(name, 0) != number:
            checked.problem("COUNTER", f"the counter {name} is {kept.get(name, 0):,}, and the tables hold {number:,}")


_QUEUED = frozenset(purpose.value for purpose in Purpose if purpose.is_queued)
_PAGES = """
SELECT p.id, p.state, p.reason, o.text, p.url IS NOT NULL AND u.id IS NULL, s.id, p.visit, v.status, v.purpose, v.page,
       v.warc, v.cause, {role} = 4
FROM page p LEFT JOIN url o ON o.id = p.id LEFT JOIN url u ON u.id = p.url LEFT JOIN site s ON s.id = p.site
     LEFT JOIN visit v ON v.id = p.visit
WHERE p.id > :after ORDER BY p.id LIMIT :most
"""
_SEEN = "SELECT id, fingerprints, ids FROM seen WHERE id > :after ORDER BY id LIMIT :most / 50"
_SEEN_WITHOUT_URL = "SELECT j.value FROM json_each(?) j LEFT JOIN url u ON u.id = j.value WHERE u.id IS NULL"
_URL_WITHOUT_PAGE = """
SELECT u.id, u.text FROM url u LEFT JOIN page p ON p.id = coalesce(u.page, u.id)
WHERE u.page IS NOT 0 AND p.id IS NULL LIMIT 1000
"""
_PAGE_TWICE = """
SELECT coalesce(p.key, u.text) AS name, count(*) FROM page p JOIN url u ON u.id = p.id
GROUP BY name HAVING count(*) > 1 LIMIT 1000
"""
_STORED_PAGES = f"""
SELECT count(*) FROM visit
WHERE purpose = {Purpose.PAGE.value} AND status BETWEEN 200 AND 299 AND detail IS NOT '{LOST_RECORD}'
"""
_FORBIDDEN = f"FROM page WHERE state = 'E' AND cause = '{Cause.ROBOTS_DISALLOWED.value}'"
_ERROR_PAGES = "SELECT count(*) FROM page p JOIN visit v ON v.id = p.visit WHERE p.state = 'C' AND v.status >= 400"
_ITEMS = """
SELECT i.id, i.value, i.page, p.id IS NOT NULL, i.visit, v.page
FROM item i LEFT JOIN page p ON p.id = i.page LEFT JOIN visit v ON v.id = i.visit
WHERE i.id > :after ORDER BY i.id LIMIT :most
"""
_PACKS = """
SELECT l.visit, l.links, v.out_links, v.detail FROM link_pack l LEFT JOIN visit v ON v.id = l.visit
WHERE l.visit > :after ORDER BY l.visit LIMIT :most
"""
_WITHOUT_PACK = """
SELECT v.id, v.out_links FROM visit v LEFT JOIN link_pack l ON l.visit = v.id
WHERE v.out_links > 0 AND l.visit IS NULL LIMIT 1000
"""
_VISIT_WITHOUT_URL = "SELECT v.id FROM visit v LEFT JOIN url u ON u.id = v.url WHERE u.id IS NULL LIMIT 1000"
_VISIT_WITHOUT_PAGE = f"""
SELECT v.id FROM visit v LEFT JOIN page p ON p.id = v.page
WHERE v.purpose IN ({", ".join(map(str, sorted(_QUEUED)))}) AND p.id IS NULL LIMIT 1000
"""
