"""A crawl folder from other crawlers' files: the same program, with answers from WARC files, not the network (E3).

The crawl begins at the first page of the files and follows links to whatever else is in them. A page that no link leads
to is a further start address. Nothing is asked, and no page that is not in the files is one of the crawl.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from weft.crawl.build import add_seeds
from weft.errors import FolderError, SpecError
from weft.folder import Folder
from weft.options import write_spec
from weft.ports import Progress
from weft.run.session import Plan, Run
from weft.seeds.lists import Seed
from weft.spec import CrawlSpec, Keep, Limits, Match, Politeness, Scope, Sitemaps, Traps
from weft.store.listed import ListedAnswers
from weft.store.warc.answers import WarcAnswers
from weft.store.warc.foreign import Problem
from weft.text.safe import shown

ARCHIVES = (".warc", ".warc.gz", ".wacz")
DOCUMENTS, LINKS = (".jsonl", ".ndjson"), (".csv",)
Source = WarcAnswers | ListedAnswers
_ROUNDS = 20  # start addresses that are found one by one; what is left then is given at once
_LARGEST_B = 1 << 30


class Imported(msgspec.Struct, frozen=True, kw_only=True):
    """What an import made, as ``--json`` shows it."""

    folder: str
    pages: int
    links: int
    records: dict[str, int]
    problems: list[str]


def import_files(files: Sequence[Path], target: Path, progress: Progress) -> Imported:
    """Makes a crawl of files; ``SpecError`` where a file is none that can be read, or the folder is not free."""
    endings = (*ARCHIVES, *DOCUMENTS, *LINKS)
    for path in files:
        if not path.name.lower().endswith(endings):
            raise SpecError(f"{path}: an import takes files that end in {', '.join(endings)}")
        if not path.is_file():
            raise FolderError(f"cannot read {path}: there is no such file")
    archives = [path.name.lower().endswith(ARCHIVES) for path in files]
    if any(archives) and not all(archives):
        raise SpecError("an import takes archives, or tables of pages and links, not both at once")
    folder = Folder(target)
    if folder.exists:
        raise FolderError(f"{target} holds a crawl: name a new folder with -o")
    folder.make()
    with TemporaryDirectory(prefix=".import-", dir=target) as work, _answers(files, Path(work), progress) as answers:
        first = next(answers.urls(), None)
        if first is None:
            told = "; ".join(_told(answers)[:3])
            raise SpecError(f"there is no answer of the web in these files{f' ({told})' if told else ''}")
        write_spec(folder.spec, CrawlSpec(seeds=(first,)))  # what a resume asks the network for, it asks politely
        plan = Plan(_spec_of(answers, first), folder, [Seed(first, None, "", 0)], limits_changed=False, answers=answers)
        done = _run_all(plan, answers, progress)
        return Imported(
            folder=str(target), pages=done[0], links=done[1], records=dict(sorted(answers.counts.items())),
            problems=_told(answers),
        )  # fmt: skip


def _run_all(plan: Plan, answers: Source, progress: Progress) -> tuple[int, int]:
    """Runs until every URL of the files is a page or was refused; pages and links stored."""
    urls = answers.urls()
    rounds = 0
    while True:
        progress("reading answers", rounds, 0)
        run = Run(plan)
        run.go([], None)
        rounds += 1
        left = list(islice(_unknown(plan.folder, urls), 1 if rounds < _ROUNDS else None))
        if not left:
            return run.progress.pages, run.progress.links
        add_seeds(plan.spec, plan.folder, [(url, None) for url in left])
        plan = Plan(plan.spec, plan.folder, [], limits_changed=False, answers=answers)


def _unknown(folder: Folder, urls: Iterator[str]) -> Iterator[str]:
    """The next URLs of the files that are neither pages nor sitemaps."""
    from weft.derive.read import StoredCrawl

    with StoredCrawl(folder.path) as crawl:
        sitemaps = crawl.sitemaps()
        for url in urls:
            if url not in sitemaps and crawl.page_id(url) is None:
                yield url


def _spec_of(answers: Source, first: str) -> CrawlSpec:
    """The specification of an import: all that the files hold, as fast as they are read."""
    is_ours = answers.software.startswith("weft/") and answers.has_all_robots
    free = dict.fromkeys(Traps.__struct_fields__, 0)
    return CrawlSpec(
        seeds=(first,),
        scope=Scope(scope="free", match=Match.NAME, sitemaps=Sitemaps.YES if is_ours else Sitemaps.NO),
        limits=Limits(retries=0, max_size_b=_LARGEST_B, max_url_b=1_000_000),
        politeness=Politeness(
            processes=1, delay_s=0.0, per_host=64, ignore_robots=not is_ours, max_crawl_delay_s=0.0, max_wait_s=0.0
        ),
        traps=Traps(**free),
        keep=Keep(),
    )


@contextmanager
def _answers(files: Sequence[Path], work: Path, progress: Progress) -> Iterator[Source]:
    answers: Source = WarcAnswers(work) if files[0].name.lower().endswith(ARCHIVES) else ListedAnswers(work)
    try:
        for number, path in enumerate(files):
            progress(f"reading {path.name}", number, len(files))
            if isinstance(answers, WarcAnswers):
                _add_archive(answers, path, work / f"wacz{number}")
            elif path.name.lower().endswith(LINKS):
                answers.add_links(path)
            else:
                answers.add_documents(path)
        yield answers
    except OSError as error:
        raise FolderError(f"cannot read {error.filename or files[0]}: {error.strerror or error}") from error
    finally:
        answers.close()


def _add_archive(answers: WarcAnswers, path: Path, work: Path) -> None:
    if not path.name.lower().endswith(".wacz"):
        answers.add(path, path.name)
        return
    for inner in _unzipped(path, work):
        answers.add(inner, f"{path.name}: {inner.name}")


def _unzipped(path: Path, work: Path) -> Iterator[Path]:
    """The WARC files of a WACZ, under names of our own: those in a ZIP may be any."""
    work.mkdir()
    try:
        with zipfile.ZipFile(path) as zipped:
            names = [name for name in zipped.namelist() if name.lower().endswith((".warc", ".warc.gz"))]
            for number, name in enumerate(names):
                inner = work / f"{number}.warc{'.gz' if name.lower().endswith('.gz') else ''}"
                with zipped.open(name) as source, inner.open("wb") as target:
                    shutil.copyfileobj(source, target)
                yield inner
    except zipfile.BadZipFile as error:
        raise FolderError(f"{path} is no sound WACZ file: {error}") from error


def _told(answers: Source) -> list[str]:
    return [_words(name, problem) for name, problem in answers.problems]


def _words(name: str, problem: Problem) -> str:
    return shown(f"{name} at {problem.offset}: {problem.kind}: {problem.detail}")
