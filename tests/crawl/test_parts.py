"""Parts of the user's own, each in its role, named in settings.ini or by `--part` (R4)."""

from __future__ import annotations

from pathlib import Path

import pytest
from command import Weft
from test_rccrawler import ANY_TEST, SETTINGS, graph, set_up
from web import Site

from weft.errors import SpecError
from weft.plugins import ROLES, LoadedPlugins, check_parts, split_part

PARTS = '''
"""Parts of a user's own: one for each role."""
import csv
from pathlib import Path

HERE = Path(__file__).parent


def manager(lines):
    return [line.replace("HOST", "one.test") for line in lines]


def analyser(url):
    return "/unwanted" not in url


class Downloader:
    """Delegates to weft's own, and notes what is asked."""

    def __call__(self, fetcher):
        start = fetcher.start

        def noted(lease, addresses):
            with (HERE / "asked.txt").open("a") as file:
                file.write(lease.url + "\\n")
            start(lease, addresses)

        fetcher.start = noted
        return fetcher


def parser(body, url, content_type, parsed):
    from weft.records import Link
    import msgspec
    extra = [Link(url.rstrip("/") + "/made-up", 1, "made up")] if url.endswith("/") else []
    return msgspec.structs.replace(parsed, links=[*parsed.links, *extra])


def robots(url, robots_txt, allowed):
    return allowed or "except for us" in robots_txt


def store(built_in):
    write = built_in.write

    def noted(visits, *others):
        (HERE / "stored.txt").open("a").close()
        return write(visits, *others)

    built_in.write = noted
    return built_in


class Routine:
    def __init__(self):
        self.count = 0

    def __call__(self, rows):
        self.count += len(rows)
        (HERE / "routine.txt").write_text(f"{self.count} {rows[-1].url}")


def finisher(progress):
    return progress.pages >= 3


class Unloader:
    def __call__(self, crawl, folder):
        with (folder / "pages.csv").open("w", newline="") as file:
            csv.writer(file).writerows([page.url, page.status] for page in crawl.pages())


def broken(*_):
    raise RuntimeError("no good")


NOT_CALLABLE = 7
'''


@pytest.fixture
def place(site: Site, tmp_path: Path) -> Path:
    """Files for a small site, and a module with a part for each role beside them."""
    site.page("/", ["/a", "/unwanted", "/private"], host="one.test")
    for path in ("/a", "/unwanted", "/private", "/made-up"):
        site.page(path, host="one.test")
    site.robots("User-agent: *\nDisallow: /private # except for us\n", host="one.test")
    folder = set_up(tmp_path / "rc", [f"http://one.test:{site.port};1;3;0"])
    (folder / "my_parts.py").write_text(PARTS)
    return folder


def settings(**changed: str) -> str:
    """The example with other classes."""
    text = SETTINGS
    for key, value in changed.items():
        begin = text.index(f"{key} = ")
        end = text.index('"', text.index('"', begin) + 1) + 1
        text = f'{text[:begin]}{key} = "{value}"{text[end:]}'
    return text


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_part_for_each_class_of_the_settings(site: Site, weft: Weft, place: Path, processes: str) -> None:
    """R4: every class of settings.ini can be the user's own, beside those that are known."""
    (place / "hosts.txt").write_text(f"http://HOST:{site.port};1;3;0\n")
    (place / "settings.ini").write_text(
        settings(
            ApplicationManager="my_parts:manager",
            UrlAnalyzingThread="my_parts.py:analyser",
            DownloadingThread="my_parts:Downloader",
            ParsingThread="my_parts:parser",
            RobotsTxtClass="my_parts:robots",
            DataManager="my_parts:store",
            RoutineThread="my_parts:Routine",
            ResultUnloaders="GephiSiteGraphRU,my_parts:Unloader",
        )
    )
    run = weft("crawl", "-c", "settings.ini", "--processes", processes, *ANY_TEST, cwd=place)
    assert run.code == 0, run.stderr
    assert sorted(site.paths("one.test")) == ["/", "/a", "/made-up", "/private", "/robots.txt"]
    assert graph(place / "result", "one.test")[0] == {"/", "/a", "/made-up", "/private"}
    assert len((place / "asked.txt").read_text().splitlines()) == 5 and (place / "stored.txt").exists()
    assert (place / "routine.txt").read_text().startswith("5 http://one.test")
    assert len((place / "result" / "pages.csv").read_text().splitlines()) == 4
    assert "REJECTED" in weft("why", f"one.test_{site.port}", site.at("/unwanted", "one.test"), cwd=place).stdout


def test_a_finisher_ends_the_run_and_a_resume_knows_it(site: Site, weft: Weft, place: Path) -> None:
    """R4, R6: a run ended by the user's finisher has its results; the part is in crawl.toml, as a file's full name."""
    for number in range(40):
        site.page("/" if not number else f"/{number}", [f"/{number + 1}"], host="one.test")
    words = ("--part", "finisher=my_parts.py:finisher", "--mode", "graph", "--workers", "1", *ANY_TEST)
    run = weft("crawl", "hosts.txt", "-o", "out", *words, cwd=place)
    assert run.code == 0 and "a finisher of --part ended it" in run.stderr, run.stderr
    pages = len(graph(place / "out" / "result", "one.test")[0])
    assert 3 <= pages < 10 and f'finisher={place}/my_parts.py:finisher"' in (place / "out" / "crawl.toml").read_text()
    assert '"stop_reason":"finisher"' in weft("status", "out", "--json", cwd=place).stdout
    assert weft("resume", "out", cwd=place.parent).code == 2, "there is no such folder here"
    assert weft("resume", "out", cwd=place).code == 0


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("finisher=my_parts.py:missing", "there is no missing in"),
        ("finisher=my_parts.py:NOT_CALLABLE", "cannot be called: NOT_CALLABLE is of type int"),
        ("finisher=nowhere.py:x", "there is no file"),
        ("finisher=no_such_module_at_all:x", "cannot be loaded: ModuleNotFoundError"),
        ("ender=my_parts.py:finisher", "'ender' is no role of a part: there are manager, analyser"),
        ("finisher", "not of the form ROLE=MODULE:NAME"),
    ],
)
def test_wrong_parts_are_told_in_a_sentence(weft: Weft, place: Path, part: str, reason: str) -> None:
    run = weft("crawl", "hosts.txt", "-o", "out", "--part", part, *ANY_TEST, cwd=place)
    assert run.code == 2 and reason in run.stderr and run.stderr.count("\n") == 1, run.stderr
    assert not (place / "out").exists()


@pytest.mark.parametrize("role", ["analyser", "finisher", "routine", "robots", "unloader"])
def test_a_part_that_fails_stops_the_crawl_by_its_name(weft: Weft, place: Path, role: str) -> None:
    run = weft("crawl", "hosts.txt", "-o", "out", "--part", f"{role}=my_parts.py:broken", *ANY_TEST, cwd=place)
    assert run.code == 1 and f"{role}=" in run.stderr and "RuntimeError: no good" in run.stderr, run.stderr
    assert weft("check", "out", cwd=place).code == 0


def test_a_parser_that_fails_is_a_bug_of_its_page(site: Site, weft: Weft, place: Path) -> None:
    run = weft("crawl", "hosts.txt", "-o", "out", "--part", "parser=my_parts.py:broken", *ANY_TEST, cwd=place)
    assert run.code == 1 and site.asked("/", "one.test") == 1
    assert '"error":"BUG"' in weft("pages", "out", "--all", "--format", "jsonl", cwd=place).stdout


def test_nothing_is_run_that_lies_in_a_crawls_folder(weft: Weft, place: Path) -> None:
    """A folder of somebody else's is gone on with, and its files are not code."""
    assert weft("crawl", "hosts.txt", "-o", "out", *ANY_TEST, cwd=place).code == 0
    (place / "my_parts.py").rename(place / "out" / "my_parts.py")
    specification = place / "out" / "crawl.toml"
    text = specification.read_text()
    assert "part = []" in text
    for name in ("my_parts.py", "my_parts", f"{place}/out/my_parts.py"):
        specification.write_text(text.replace("part = []", f'part = ["unloader={name}:Unloader"]'))
        for words in (("resume", "out"), ("add", "out", "http://one.test/more")):
            run = weft(*words, cwd=place)
            assert run.code == 2 and "lies in the crawl's own folder" in run.stderr, run.stderr
    (place / "beside.py").write_text((place / "out" / "my_parts.py").read_text())
    specification.write_text(text.replace("part = []", 'part = ["unloader=../beside.py:Unloader"]'))
    run = weft("resume", "out", cwd=place)
    assert run.code == 2 and "does not name its file in full" in run.stderr, run.stderr
    package = place / "out" / "packed"
    package.mkdir()
    (place / "out" / "my_parts.py").rename(package / "parts.py")
    specification.write_text(text.replace("part = []", 'part = ["unloader=packed.parts:Unloader"]'))
    run = weft("resume", ".", cwd=place / "out")  # by python -m weft, which finds packages in the present folder
    assert run.code == 2 and "lies in the crawl's own folder" in run.stderr, run.stderr


def test_no_function_of_pythons_own_is_a_part(weft: Weft, place: Path) -> None:
    """The URLs of somebody else's folder are led into no command."""
    assert weft("crawl", "hosts.txt", "-o", "out", *ANY_TEST, cwd=place).code == 0
    specification = place / "out" / "crawl.toml"
    text = specification.read_text()
    for name in ("os:system", "subprocess:getoutput", "builtins:exec", "os.path:exists"):
        specification.write_text(text.replace("part = []", f'part = ["analyser={name}"]'))
        run = weft("resume", "out", cwd=place)
        assert run.code == 2 and "is none of your own" in run.stderr, run.stderr


def test_roles_and_names() -> None:
    assert [split_part(f"{role}=a.b:C")[1:] for role in ROLES] == [("a.b", "C")] * 9
    assert LoadedPlugins(["unloader=os.path:join"]).all("unloader")[0]("a", "b") == "a/b"
    with pytest.raises(SpecError, match="there is no nothing in msgspec"):
        check_parts(["unloader=msgspec:nothing"], Path("crawl"))
