"""The command line: which command, which exit code, and what is said where it failed.

Each command is ``run(args) -> int`` in ``weft.cli.commands.NAME`` and is imported only when it is called. Imports stand
inside the functions that need them: ``weft --version`` takes as long as Python itself.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "crawl": "start a crawl, or go on with one",
    "resume": "go on with a stopped crawl",
    "stop": "stop a running crawl cleanly",
    "add": "give a crawl more URLs",
    "status": "how far a crawl is",
    "pages": "the pages of a crawl, one object each",
    "links": "the links of a crawl",
    "items": "the addresses, numbers and other finds of a crawl",
    "extract": "look for addresses and other finds in a stored crawl",
    "stats": "the numbers of a crawl, and a report to look at",
    "files": "write the stored images, documents and other files into a folder",
    "duplicates": "pages with the same content, or nearly the same",
    "show": "one stored page",
    "screenshot": "pictures of stored pages",
    "keywords": "the words that a stored page is about",
    "why": "why a URL was or was not fetched",
    "graph": "the web graph for Gephi, Pajek, networkx and others, or as a picture",
    "diff": "what changed from one crawl to another",
    "rank": "score the pages of a crawl: PageRank, HITS, in-links, path cost",
    "simulate": "which pages an order of crawling would fetch first, on any graph",
    "export": "the crawl as WARC, WACZ, Parquet, sitemap, index file, mirror, SQLite",
    "robots": "what weft makes of a robots.txt, line by line",
    "check": "is everything in a crawl's folder consistent?",
    "import": "make a crawl of other crawlers' WARC and WACZ files",
    "warc": "is a WARC or WACZ file of any program sound?",
    "demo": "crawl a small made-up web and show it",
}

DONE, FAILED, WRONG_USE, INTERRUPTED = 0, 1, 2, 3


def main(argv: Sequence[str] | None = None) -> int:
    """The exit code of a command: 0 done, 1 failed, 2 wrong use or specification, 3 interrupted.

    Without ``argv`` it is the program itself, and answers for the streams and signals of its process.
    """
    if argv is not None:
        return _main(argv)
    from weft.run.signals import end_by_signals, ignore_signals, settle_in

    settle_in()
    end_by_signals(INTERRUPTED)
    try:
        return _main(sys.argv[1:])
    finally:
        ignore_signals()


def _main(argv: Sequence[str]) -> int:
    words = list(argv)
    if words[:1] in (["--version"], ["-V"]):
        from weft.text.version import __version__

        print(f"weft {__version__}")
        return DONE
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # pages have letters that not every terminal has
    try:
        code = _dispatch(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_output()
        return DONE
    except Exception as error:  # the border: whatever happened, the user gets a sentence
        return _failed(error)


def tell(message: str) -> None:
    """Tells the user something on stderr, in a line that says who speaks; what is asked for goes to stdout."""
    from weft.text.safe import shown

    print(f"weft: {shown(message)}", file=sys.stderr)


def warn(message: str) -> None:
    """Tells the user something that does not stop the command."""
    tell(f"warning: {message}")


def _failed(error: Exception) -> int:
    """The exit code of an exception, which is told in one sentence."""
    import os

    from weft.errors import WeftError

    if isinstance(error, WeftError):
        sentence = str(error)
    elif isinstance(error, OSError):
        _abandon_output()
        place = f": {error.filename}" if error.filename else ""
        sentence = f"{error.strerror or error}{place}"
        if isinstance(error, FileNotFoundError) and not _is_somewhere():
            sentence = "the folder you are in does not exist any more: go to another one, and try again"
    elif isinstance(error, MemoryError):
        sentence = "there is not enough memory: make some free, or allow more (ulimit -v, the limit of a container)"
    else:
        sentence = f"a bug in weft: {type(error).__name__}: {error} (WEFT_DEBUG=1 shows where)"
    if os.environ.get("WEFT_DEBUG"):
        import traceback

        traceback.print_exception(error)
    tell(sentence)
    return error.exit_code if isinstance(error, WeftError) else FAILED


def _is_somewhere() -> bool:
    """Whether the current folder exists."""
    from pathlib import Path

    try:
        return Path.cwd().exists()
    except OSError:
        return False


def _abandon_output() -> None:
    """Points stdout at nothing, so that Python's own flush at the end does not fail once more."""
    import os

    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (OSError, ValueError, AttributeError):
        return


def _dispatch(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help") or words == ["help"]:
        print(overview(), file=sys.stdout if words else sys.stderr)
        return DONE if words else WRONG_USE
    if words[0] == "help":
        words = [words[1], "--help", *words[2:]]
    command, rest = words[0], words[1:]
    if command not in COMMANDS:
        raise _unknown_command(command)
    import importlib

    from weft.cli.loading import loading

    with loading():
        from weft.cli.arguments import parse

        args = parse(command, rest)
        if args is None:
            return DONE
        run = importlib.import_module(f"weft.cli.commands.{command}").run
    code: int = run(args)
    return code


def overview() -> str:
    """The help of ``weft`` itself."""
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(
        [
            "usage: weft COMMAND ...",
            "",
            "A web crawler that keeps every page and every link, and can stop and go on at any moment.",
            "",
            *lines,
            "",
            "`weft COMMAND --help` tells the options; `weft demo` shows what it can do; `weft --version`.",
            "example: weft crawl https://example.org --max-pages 100",
        ]
    )


def _unknown_command(command: str) -> Exception:
    from weft.errors import SpecError
    from weft.options.suggest import suggestion

    if "://" in command or "." in command:
        return SpecError(f"unknown command {command!r}; to crawl it: weft crawl {command}")
    meant = suggestion(command, COMMANDS)
    told = f"nearest: {meant}; " if meant is not None else ""
    return SpecError(f"unknown command {command!r} ({told}weft --help lists all)")
