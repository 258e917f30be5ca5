"""The documentation: every option is there, no link is dead, lines can be read."""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from command import ROOT

from weft.cli.arguments import parse, parser_of
from weft.cli.main import COMMANDS
from weft.options import BY_NAME, OPTIONS, reference_markdown

DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def doc(name: str) -> str:
    return (DOCS / name).read_text()


def section(text: str, title: str) -> str:
    """What stands below a heading, up to the next one of the same or a higher level."""
    found = re.search(rf"^(#+) {re.escape(title)}.*?$(.*?)(?=^#{{1,6}} |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found is not None, f"there is no section {title!r}"
    return found[2]


def test_every_option_is_documented() -> None:
    """docs/options.md is made from the fields of weft.spec."""
    assert doc("options.md").strip() == reference_markdown().strip(), (
        "docs/options.md is not what reference_markdown() gives"
    )
    for option in OPTIONS:
        assert f"{option.flag}" in doc("options.md")


def test_options_named_anywhere_exist() -> None:
    flags = {flag for command in COMMANDS for action in parser_of(command)._actions for flag in action.option_strings}
    flags |= {"--version", "--quick"}  # the latter of ./test
    for page in PAGES:
        text = re.sub(
            r"^    python bench/.*$", "", page.read_text(), flags=re.MULTILINE
        )  # they have options of their own
        for flag in re.findall(r"(?<![\w-])--[a-z][\w-]*[a-z0-9](?![\w-])", text):
            assert flag in flags, f"{page.name} names {flag}, which no command takes"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_of_a_command_is_documented(command: str) -> None:
    """Options of a crawl have their own page; the flags that a command has beside them are told with it."""
    text = section(doc("commands.md"), f"weft {command}")
    crawl_flags = {flag for option in OPTIONS for flag in (option.flag, option.short)}
    for action in parser_of(command)._actions:
        shared = action.dest in BY_NAME and command in ("crawl", "resume", "robots")
        alike = "-o" in action.option_strings  # the introduction of the page tells that --to and --output are the same
        for flag in ["-o"] if alike else action.option_strings:
            if flag not in ("-h", "--help") and not (
                shared or (flag in crawl_flags and command in ("crawl", "resume"))
            ):
                assert f"{flag}" in text, f"weft {command} {flag} is not documented"
    for word in re.findall(r"(?<![\w-])-{1,2}[a-z][\w-]*", section_usage(text)):
        flags = {flag for action in parser_of(command)._actions for flag in action.option_strings}
        assert word in flags, f"weft {command} does not take {word}"


def section_usage(text: str) -> str:
    return next(line for line in text.splitlines() if line.startswith("    weft "))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_dead_links(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        place = (page.parent / file).resolve() if file else page
        assert place.is_file(), f"{page.name} links to {target}, which is not there"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", place.read_text(), re.MULTILINE)
            slugs = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in slugs, f"{page.name} links to {target}, and there is no such heading"


def test_every_page_is_reached_from_the_readme() -> None:
    reached, queue = set(), [ROOT / "README.md"]
    while queue:
        page = queue.pop()
        if page in reached or not page.is_file():
            continue
        reached.add(page)
        links = re.findall(r"\]\(([^)\s#]+\.md)", page.read_text())
        queue += [(page.parent / link).resolve() for link in links if "://" not in link]
    assert not set(PAGES) - reached


def test_nobody_is_told_to_install_a_stranger() -> None:
    """The distribution is called weft-crawler; the name weft belongs to another one."""
    told = re.compile(r"pip3? install [^`\n]*(?<![\w./-])weft(?!-crawler|[\w/.])")
    for page in [*PAGES, *(ROOT / "src" / "weft").rglob("*.py"), ROOT / "pyproject.toml", ROOT / "weft"]:
        assert not told.search(page.read_text()), page
    assert told.search("pip install weft") and told.search("pip install 'weft[graph]'")
    assert not told.search("pip install 'weft-crawler[graph]'") and not told.search("pip install .")


def test_readme_is_one_screen_and_lines_are_readable() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 80
    for page in PAGES:
        for line in page.read_text().splitlines():
            assert len(line) <= 124 or line.startswith(("|", "    ")), f"{page.name}: {line[:60]}..."


def test_the_modules_that_the_architecture_names_are_there() -> None:
    source = ROOT / "src" / "weft"
    parts = doc("architecture.md").partition("## The parts")[2].partition("\n## ")[0].strip()
    for paragraph in parts.split("\n\n"):
        station = re.match(r"\*\*(\w+)\*\*", paragraph)
        place = source / station[1] if station else source
        named = re.findall(r"[`*]([a-z_]+\.py|[a-z_]+/)[`*]", paragraph)
        missing = [name for name in named if not list(place.rglob(name.rstrip("/"))) and not (source / name).exists()]
        assert not missing, f"{missing} named in: {paragraph[:60]}..."


def commands_in(text: str) -> Iterator[list[str]]:
    """The commands in indented or fenced blocks, as words, without comments."""
    for line in re.findall(r"^ {4}(?:\$ )?(?:\./)?(weft .+|test.*)$", text, re.MULTILINE):
        yield shlex.split(line, comments=True)


def test_readme_commands_are_understood(capsys: pytest.CaptureFixture[str]) -> None:
    """Every command line of the README is one that the program takes; those that need no network are run below."""
    found = list(commands_in((ROOT / "README.md").read_text()))
    assert ["weft", "demo"] in found and ["test"] in found and len(found) >= 5
    for words in found:
        if words[0] == "weft":
            assert isinstance(parse(words[1], words[2:]), argparse.Namespace)
