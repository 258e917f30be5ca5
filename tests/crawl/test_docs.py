"""The documentation is whole and true: nothing undocumented, no dead links, examples that run (STYLE section 8)."""

from __future__ import annotations

import csv
import logging
import re
import shlex
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ROOT, Weft
from web import Response, Site

from weft import __version__, native
from weft.cli.main import COMMANDS, DONE, FAILED, INTERRUPTED, WRONG_USE
from weft.crawl.logs import COMMON_FIELDS, ERROR_FIELDS, RunLog
from weft.db.schema import VERSION
from weft.derive.items.rows import ItemRow
from weft.derive.read import LinkRow, Page, Status
from weft.errors import (
    LINK_REASONS,
    POLICIES,
    STALLS_MAX,
    BugError,
    Cause,
    FolderError,
    PartError,
    Reason,
    SpecError,
    StoreError,
)
from weft.records import LinkKind, State, StopReason
from weft.spec import FOLLOWED_KINDS

DOCS = ROOT / "docs"


def doc(name: str) -> str:
    return (DOCS / name).read_text()


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one of the same or a higher level."""
    found = re.search(rf"^(#+) {re.escape(title)}.*?$(.*?)(?=^#{{1,6}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title!r}"
    return found[2]


def rows(text: str) -> list[list[str]]:
    """The cells of all table rows, headings and rules left out."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]
    rules = [number for number, line in enumerate(lines) if set(line) <= set("|-: ")]
    return [row for number, row in enumerate(cells) if number not in rules and number + 1 not in rules]


def names(cell: str) -> list[str]:
    """The words in code style of a cell."""
    return re.findall(r"`([^`]+)`", cell)


def documented(text: str) -> list[str]:
    return [name for row in rows(text) for name in names(row[0])]


# --- nothing undocumented, nothing documented that is not there


def test_every_command_is_documented() -> None:
    assert list(COMMANDS) == re.findall(r"^## weft (\w+)$", doc("commands.md"), re.MULTILINE)
    told = section((ROOT / "README.md").read_text(), "Commands").partition("`weft COMMAND")[0]
    readme = [words.split()[1] for words in re.findall(r"`(weft [^`]+)`", told)]
    assert sorted(readme) == sorted(COMMANDS)


def test_every_cause_is_documented_with_its_policy() -> None:
    table = {names(row[0])[0]: row for row in rows(section(doc("outcomes.md"), "Causes"))}
    assert list(table) == [cause.value for cause in Cause]
    for cause, policy in POLICIES.items():
        told = ["yes" if flag else "no" for flag in (policy.retried, policy.passing, policy.condemns_origin)]
        assert table[cause.value][2:] == [*told[:2], "in the end" if policy.stalls else told[2]], cause
    assert f"more than {STALLS_MAX} requests" in " ".join(doc("outcomes.md").split())


def test_every_reason_is_documented_with_its_option() -> None:
    from weft.derive.explanations import OPTIONS as OPTION_OF

    table = {names(row[0])[0]: row for row in rows(section(doc("outcomes.md"), "Reasons"))}
    assert list(table) == [reason.value for reason in Reason]
    for reason in Reason:
        assert table[reason.value][2] == ("link" if reason in LINK_REASONS else "URL"), reason
        assert names(table[reason.value][3]) == ([f"--{OPTION_OF[reason]}"] if reason in OPTION_OF else []), reason


def test_states_stop_reasons_and_exit_codes_are_documented() -> None:
    text = doc("outcomes.md")
    assert documented(section(text, "States")) == [state.value for state in State]
    stops = {names(row[0])[0]: row[2] for row in rows(section(text, "Stop reasons"))}
    assert stops == {reason: str(reason.exit_code) for reason in StopReason} | {StopReason.KILLED: ""}
    codes = {row[0] for row in rows(section(text, "Exit codes"))}
    errors = (SpecError, FolderError, StoreError, BugError, PartError)
    assert (
        codes
        == {str(code) for code in (DONE, FAILED, WRONG_USE, INTERRUPTED)}
        >= {str(error.exit_code) for error in errors}
    )


@pytest.mark.parametrize(
    ("title", "kind"),
    [("weft pages", Page), ("weft links", LinkRow), ("weft items", ItemRow), ("weft status", Status)],
)
def test_every_field_is_documented(title: str, kind: type[Page | LinkRow | ItemRow | Status]) -> None:
    fields = documented(section(doc("fields.md"), title))
    assert sorted(fields) == sorted(kind.__struct_fields__)
    assert len(fields) == len(set(fields))


def test_link_kinds_and_log_fields_are_documented() -> None:
    told = section(doc("fields.md"), "weft links").partition("Kinds:")[2]
    kinds, _, followed = told.partition("Followed by default:")
    assert names(kinds) == [kind.label for kind in LinkKind]
    assert names(followed.partition(";")[0]) == list(FOLLOWED_KINDS)
    logs = section(doc("fields.md"), "logs/common.csv and logs/error.csv")
    for field in (*COMMON_FIELDS, *ERROR_FIELDS):
        assert f"`{field}`" in logs


def test_python_names_are_documented() -> None:
    import weft
    from weft.derive.read import StoredCrawl

    text = doc("python.md")
    for name in weft.__all__:
        assert f"weft.{name}" in text, f"weft.{name} is not documented"
    members = {names(row[0])[0].partition("(")[0] for row in rows(section(text, "Reading"))}
    for member in members:
        assert hasattr(StoredCrawl, member)


# --- links and words


# --- the database


def tables_of(connection: sqlite3.Connection) -> dict[str, list[str]]:
    found = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall()
    return {name: [row[1] for row in connection.execute(f"PRAGMA table_info({name})")] for (name,) in found}


def test_every_table_and_column_is_documented() -> None:
    from weft.db.schema import MIGRATIONS

    connection = sqlite3.connect(":memory:")
    for migrate in MIGRATIONS:
        migrate(connection)
    text = doc("database.md")
    told: dict[str, list[str]] = {}
    for heading in re.findall(r"^### (.+)$", text, re.MULTILINE):
        columns = documented(section(text, heading))
        for name in names(heading):
            told[name] = columns
            assert "(stable" in heading or "(internal" in heading
    actual = tables_of(connection)
    assert told.keys() == actual.keys()
    for name, columns in actual.items():
        assert sorted(told[name]) == sorted(columns), name
    assert f"{0x77656674:#x}" in text and VERSION >= 1
    connection.close()


def example_queries() -> list[str]:
    return re.findall(r"```sql\n(.*?)```", doc("database.md"), re.DOTALL)


def small_web(site: Site) -> None:
    """A web in which every example query has something to find."""
    site.page(
        "/", links=["/a", "/b", "/copy", "/old", "/gone", "/report.pdf", "http://other.test/", "mailto:a@example.org"]
    )
    site.page("/a", links=["/", "/b"])
    site.page("/b", title="another")
    site.respond("/copy", Response(body=b"<html><title>the same bytes</title><a href='/same'>x</a></html>"))
    site.respond("/same", Response(body=b"<html><title>the same bytes</title><a href='/same'>x</a></html>"))
    site.redirect("/old", "/older")
    site.redirect("/older", "/a")


@pytest.fixture
def crawled(site: Site, weft: Weft, tmp_path: Path) -> Path:
    small_web(site)
    run = weft("crawl", site.url, "-o", "out", "--delay", "0", "--quiet")
    assert run.code == 0, run.stderr
    return tmp_path / "out"


def test_example_queries_run_and_find(crawled: Path, site: Site) -> None:
    """docs/database.md: at least five example queries (issue section 8), each run over a real crawl."""
    queries = example_queries()
    assert len(queries) >= 5
    connection = sqlite3.connect(f"file:{crawled / 'crawl.db'}?mode=ro", uri=True)
    for query in queries:
        found = connection.execute(query.replace("http://example.org/", site.at("/"))).fetchall()
        assert found, f"finds nothing: {query}"
    broken = connection.execute(queries[0]).fetchall()
    assert {(row[0], row[2], row[3]) for row in broken} == {(site.at("/"), site.at("/gone"), 404)}
    assert connection.execute(queries[2]).fetchone()[0] == 2
    chain = connection.execute(next(query for query in queries if "RECURSIVE" in query)).fetchone()
    assert chain == (site.at("/old"), 2, site.at("/a"), 200)
    assert connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
    connection.close()


def test_visits_of_site_requests_belong_to_no_page(crawled: Path) -> None:
    """As docs/database.md says: a join of visit and page gives visits of pages only."""
    connection = sqlite3.connect(f"file:{crawled / 'crawl.db'}?mode=ro", uri=True)
    assert connection.execute("SELECT count(*) FROM visit WHERE purpose <> 0").fetchone()[0] > 0
    assert connection.execute("SELECT count(*) FROM visit WHERE purpose <> 0 AND page IS NOT NULL").fetchone()[0] == 0
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    connection.close()


# --- examples


def commands_in(text: str) -> Iterator[list[str]]:
    """The commands in indented or fenced blocks, as words, without comments."""
    for line in re.findall(r"^ {4}(?:\$ )?(?:\./)?(weft .+|test.*)$", text, re.MULTILINE):
        yield shlex.split(line, comments=True)


def test_readme_example_gives_what_the_readme_says(site: Site, weft: Weft, tmp_path: Path) -> None:
    """The crawl of the README, of a page like example.org's on loopback; times, ports and schemes apart."""
    site.respond(
        "/",
        Response(body=b'<title>Example Domain</title><p><a href="https://iana.org/domains/example">Learn more</a></p>'),
    )
    readme = section((ROOT / "README.md").read_text(), "A crawl")
    home = f"http://example.org:{site.port}"
    outputs = []
    for words in commands_in(readme):
        where = (
            ["--resolve", "example.org=127.0.0.1", "--delay", "0", "-o", "example.org"] if words[1] == "crawl" else []
        )
        run = weft(*(word.replace("https://example.org", home) for word in words[1:]), *where)
        assert run.code == 0, run.stderr
        outputs += [*run.stdout.splitlines(), *run.stderr.splitlines()]
    told = [line[4:] for line in readme.splitlines() if line.startswith("    ") and not line.startswith("    $")]
    plain = "\n".join(outputs).replace(home, "https://example.org").replace(f":{site.port}", "")
    assert told == [line for line in told if blurred(line) in {blurred(line) for line in plain.splitlines()}]


def blurred(line: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\d+\.\d+ s", "-", line)


def test_python_examples_are_python(crawled: Path, site: Site) -> None:
    """The reading example runs as it stands, on a real crawl; the others are compiled (tests/test_api.py runs such)."""
    examples = re.findall(r"^( *)```python\n(.*?)```", doc("python.md"), re.DOTALL | re.MULTILINE)
    assert len(examples) >= 3
    for indent, code in examples:
        body = "".join(line[len(indent) :] for line in code.splitlines(keepends=True))
        wrapped = "async def main():\n" + "".join(f"    {line}" for line in body.splitlines(keepends=True))
        compile(wrapped if "async with" in body else body, "docs/python.md", "exec")
    reading = next(code for _, code in examples if code.startswith("with weft.open"))
    code = reading.replace('"example.org"', repr(str(crawled))).replace("https://example.org/", site.at("/"))
    exec(compile(f"import weft\n{code}", "docs/python.md", "exec"), {})


def test_logs_have_the_fields_documented(crawled: Path) -> None:
    with (crawled / "logs" / "common.csv").open(newline="") as file:
        assert next(csv.reader(file)) == list(COMMON_FIELDS)


def test_each_run_leaves_its_words_in_the_log(weft: Weft, site: Site) -> None:
    """DESIGN, section 2: how it began and how it ended, shown or not."""
    site.page("/", links=["/a"])
    assert weft("crawl", site.url, "-o", "out", "--delay", "0", "--max-pages", "1", "--ignore-robots").code == 0
    assert weft("resume", "out", "--max-pages", "none", "--quiet").code == 0
    lines = (weft.folder / "out" / "logs" / "weft.log").read_text(encoding="utf-8").splitlines()
    begins = f"weft {__version__} begins{'' if native.is_compiled else ', without its compiled parts'}"
    ignored = "robots.txt is ignored (--ignore-robots): make sure that you may"
    assert [re.sub(r".* waiting\): ", "", line.partition("Z ")[2]) for line in lines] == [
        *(begins, ignored, "--max-pages is reached; go on with: weft resume out --max-pages ..."),
        *(begins, ignored, "nothing is left to fetch"),
    ]
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z ", line) for line in lines)


def test_a_log_that_cannot_be_written_is_told_once(weft: Weft, site: Site) -> None:
    site.page("/")
    broken = weft.folder / "out" / "logs" / "weft.log"
    broken.mkdir(parents=True)
    run = weft("crawl", site.url, "-o", "out", "--delay", "0", "--quiet")
    assert run.code == 0
    assert run.stderr == f"weft: warning: {Path('out', 'logs', 'weft.log')} cannot be written: Is a directory\n"


def test_the_log_of_a_run_has_the_lines_of_every_logger_while_it_lasts(tmp_path: Path) -> None:
    log = logging.getLogger("weft.workers")
    before = log.getEffectiveLevel()
    with RunLog(tmp_path / "weft.log", pytest.fail):
        log.info("a line\nand its end")
        log.warning("%d workers", 3)
        log.debug("not this one")
    log.warning("nor this one")
    assert log.getEffectiveLevel() == before
    lines = [line.partition("Z ")[2] for line in (tmp_path / "weft.log").read_text().splitlines()]
    assert lines == ["a line\\u000aand its end", "warning: 3 workers"]
