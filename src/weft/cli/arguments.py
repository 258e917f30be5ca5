"""Which arguments each command takes, and how the words of a command line become them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from weft.cli.main import COMMANDS
from weft.errors import SpecError

if TYPE_CHECKING:
    from weft.options import Option

EXAMPLES = {
    "crawl": "weft crawl https://example.org --max-pages 1000\n  weft crawl seeds.txt -o news --delay 1s",
    "resume": "weft resume example.org --max-pages 5000",
    "stop": "weft stop example.org",
    "add": "weft add example.org https://example.org/hidden/",
    "status": "weft status example.org --json",
    "pages": (
        "weft pages example.org -o pages.csv\n"
        "  weft pages example.org --fields url,status,title --where 'status >= 400'"
    ),
    "links": "weft links example.org --from-url https://example.org/\n  weft links example.org --broken -o broken.csv",
    "items": "weft items example.org --kind email --unique\n  weft items example.org -o items.csv",
    "extract": (
        "weft extract example.org --extract email,phone\n  weft extract example.org --text --keywords 10"
        "\n  weft extract example.org https://example.org/shop --select 'price=.price::text'"
    ),
    "stats": "weft stats example.org\n  weft stats example.org -o report.html",
    "files": "weft files example.org --to downloads",
    "duplicates": "weft duplicates example.org --threshold 0.9 -o duplicates.csv",
    "show": "weft show example.org https://example.org/ --text",
    "screenshot": "weft screenshot example.org https://example.org/ --to pictures",
    "keywords": "weft keywords example.org https://example.org/about",
    "why": "weft why example.org https://example.org/missing",
    "graph": (
        "weft graph example.org --to graph.gexf\n  weft graph example.org --to sites.svg --level site --with-external"
        "\n  weft graph example.org --to near.csv --where 'depth <= 3' --where \"kind = 'a'\""
    ),
    "diff": "weft diff example.org.old1 example.org --to changes.gexf",
    "rank": "weft rank example.org",
    "simulate": "weft simulate edges.tsv.gz --order bfs,in-links,weft --plot orders.svg",
    "export": (
        "weft export example.org --as wacz --to example.wacz\n"
        "  weft export example.org --as mirror --to copy --rewrite-links"
    ),
    "robots": "weft robots https://example.org/",
    "check": "weft check example.org",
    "import": "weft import example.warc.gz -o example",
    "warc": "weft warc check example.warc.gz",
    "demo": "weft demo",
}

LONG = ("crawl", "resume")
"""The commands whose help tells the usual options only: ``--help all`` tells all."""

PAGE_ADDITIONS = ("text", "markdown", "keywords", "metadata", "measures")
"""What ``weft pages --with`` adds."""

ROBOTS_GROUPS = ("Identity", "Network")
"""The groups of crawl options that ``weft robots`` takes too: it asks a server."""


def parse(command: str, words: Sequence[str]) -> argparse.Namespace | None:
    """The arguments of a command, or None where help was asked for and printed; ``SpecError`` for wrong use."""
    asked = next((word for word in words if word in ("-h", "--help")), None)
    if asked is not None:
        print(help_of(command, whole=words[list(words).index(asked) + 1 :][:1] == ["all"]), end="")
        return None
    parser = parser_of(command)
    options, positionals = _sorted_words(command, parser, words)
    args, superfluous = parser.parse_known_args([*options, "--", *positionals])
    left = [word for word in superfluous if word != "--"]
    if left:
        raise SpecError(f"{command}: {left[0]!r} is one argument too many (see weft {command} --help)")
    return args


def options_given(args: argparse.Namespace) -> dict[str, object]:
    """The crawl options that stand on the command line, by name, as they were written."""
    from weft.options import BY_NAME

    return {name: value for name, value in vars(args).items() if name in BY_NAME}


def parser_of(command: str) -> argparse.ArgumentParser:
    """The argparse parser of one command."""

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> NoReturn:
            raise SpecError(f"{command}: {_reworded(message)} (see weft {command} --help)")

    does = COMMANDS[command]
    parser = Parser(
        prog=f"weft {command}",
        description=does[0].upper() + does[1:] + ("" if does.endswith("?") else "."),
        epilog=f"example:\n  {EXAMPLES[command]}",
        formatter_class=lambda prog: argparse.RawDescriptionHelpFormatter(prog, max_help_position=30, width=110),
        allow_abbrev=False,
    )
    _BUILDERS[command](parser)
    return parser


def help_of(command: str, *, whole: bool) -> str:
    """The help of a command. That of a crawl tells its usual options, and all of them where it is ``whole``."""
    parser = parser_of(command)
    if command in LONG and not whole:
        from weft.options import BY_NAME

        options = [action for action in parser._actions if action.dest in BY_NAME]
        for action in options:
            if not BY_NAME[action.dest].usual:
                action.help = argparse.SUPPRESS
        number = len({action.dest for action in options})
        parser.epilog = f"{parser.epilog}\n\nThese are the usual options. All {number}: {_whole_help(command)}"
    return parser.format_help()


def _whole_help(command: str) -> str:
    return f"weft {command} --help{' all' if command in LONG else ''}"


def _reworded(message: str) -> str:
    """argparse's message as a sentence of ours."""
    required = message.partition("arguments are required: ")[2]
    if required:
        missing = required.split(", ")
        return f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"
    return (
        message.removeprefix("argument ")
        .replace(": invalid choice: ", " is given ")
        .replace("(choose from ", "and takes ")
        .rstrip(")")
    )


def _crawl(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("seeds", nargs="*", metavar="SEED", help="a URL, a host, or a file of them, one a line")
    files = "read options and seeds from a TOML file, RCCrawler's settings.ini, or Tarantula's Crawler.conf"
    parser.add_argument("-c", "--config", metavar="FILE", help=files)
    _add_options(parser, lambda option: True)


def _resume(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _add_options(parser, lambda option: option.may_change)


def _stop(parser: argparse.ArgumentParser) -> None:
    _folder(parser)


def _add(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    parser.add_argument("seeds", nargs="+", metavar="URL", help="a URL, a host, or a file of them, one a line")


def _status(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _json(parser)


def _pages(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _format(parser)
    parser.add_argument("--all", action="store_true", help="every URL known, the refused ones too, with their reason")
    more = f"with more fields: {', '.join(PAGE_ADDITIONS)} (measures: those of weft graph --measures)"
    parser.add_argument("--with", dest="additions", metavar="NAME,...", default="", help=more)
    parser.add_argument("--versions", action="store_true", help="every attempt at each page, and what had changed")
    parser.add_argument("--fields", metavar="NAME,...", help="only these fields, in this order")
    where = "only pages for which it is true; may be given many times"
    parser.add_argument("--where", action="append", default=[], metavar="EXPRESSION", help=where)
    _to_file(parser)


def _links(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _format(parser)
    parser.add_argument("--from-url", metavar="URL", help="only links of this page or sitemap")
    parser.add_argument("--to-url", metavar="URL", help="only links to this URL")
    broken = "only links to pages that answered 4xx or 5xx, or not at all: a row for each holder and target"
    parser.add_argument("--broken", action="store_true", help=broken)
    _to_file(parser)


def _items(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _format(parser)
    about = "only items of this kind: email, phone, social, find, or a name of yours; may be given many times"
    parser.add_argument("--kind", action="append", default=[], metavar="NAME", help=about)
    parser.add_argument("--unique", action="store_true", help="a row for each value, not for each value and page")
    about = "also items of confidence below 0.5: addresses of example.com and the like, and doubtful ones"
    parser.add_argument("--placeholders", action="store_true", help=about)
    about = "remove all items that the regular expression matches, and keep them out of this crawl for good"
    parser.add_argument("--forget", metavar="PATTERN", help=about)
    _to_file(parser)


def _extract(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    about = "only show what this page has; nothing is stored"
    parser.add_argument("url", nargs="?", metavar="URL", help=about)
    parser.add_argument("-c", "--config", metavar="FILE", help="read what to extract from a TOML file")
    _format(parser)
    _to_file(parser)
    _add_options(parser, lambda option: option.section in ("harvest", "extract"))


def _stats(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="one JSON object, for machines")
    form.add_argument("--csv", action="store_true", help="rows of table, site, name, value")
    parser.add_argument("--html", metavar="FILE", help="write a report to look at: one file, no network needed")
    _file(parser, "write to FILE, in the form of its ending: .json, .csv, .html")
    parser.add_argument("--force", action="store_true", help="replace a report that exists")
    parser.add_argument("--against", metavar="LIST", help="compare with another crawler's list of pages, a URL a line")


def _duplicates(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _format(parser)
    about = "from 0 to 1: how alike the texts of near-duplicates are at least (default: as crawled, else 0.99)"
    parser.add_argument("--threshold", metavar="SHARE", help=about)
    parser.add_argument("--pairs", action="store_true", help="every two pages, not each with its representative")
    parser.add_argument(
        "--minhash", choices=("fast", "classic"), help="how candidates are found (default: as crawled, else fast)"
    )
    about = "how alike two texts are: the Jaccard index of their shingles, or of their signatures (default: as crawled)"
    parser.add_argument("--similarity", choices=("jaccard", "signature"), help=about)
    _to_file(parser)


def _files(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    about = "the folder to write into: new, empty, or of an earlier `weft files`"
    parser.add_argument("-o", "--to", "--output", dest="to", metavar="FOLDER", required=True, help=about)


def _show(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _url(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--headers", action="store_true", help="the status line and headers as received")
    what.add_argument("--body", action="store_true", help="the body, decoded, byte for byte")
    what.add_argument("--text", action="store_true", help="the visible text")
    what.add_argument("--rendered", action="store_true", help="the page as its scripts left it (--render), in UTF-8")
    what.add_argument("--markdown", action="store_true", help="the main text as Markdown")


def _screenshot(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    parser.add_argument("url", metavar="URL", nargs="?", help="a page of the crawl")
    parser.add_argument("--all", action="store_true", help="all HTML pages that were answered well")
    parser.add_argument("--to", metavar="FOLDER", required=True, help="write pictures and a list of them there")
    parser.add_argument("--format", choices=("png", "webp"), default="png", help="their form (default: png)")
    parser.add_argument("--browser", metavar="PATH", help="the Chromium to start")
    without = "no: without the sandbox, as root has to"
    parser.add_argument("--browser-sandbox", choices=("yes", "no"), help=without)


def _keywords(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _url(parser)
    parser.add_argument("--number", metavar="N", default="20", help="at most N words (default: 20)")
    _format(parser)
    _to_file(parser)


def _why(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _url(parser)
    _json(parser)


def _graph(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    parser.add_argument("more", nargs="*", metavar="URL", help="further URLs of --without")
    forms = ".gexf, .graphml, .net, .csv, .parquet, .dot, .json, .png, .svg"
    add = parser.add_argument
    _file(parser, f"write to FILE, in the form of its ending: {forms}")
    add("--format", metavar="FORM", help="the form, whatever the ending (with --per-site: default gexf)")
    add("--per-site", metavar="FOLDER", help="a file for each site, named after its host, with its internal links")
    add("--level", choices=("page", "site", "domain", "directory"), help="what a node is (default: page)")
    kept = "redirects and duplicates: one node (yes), nodes of their own (no), duplicates without edges (keep)"
    add("--merged", choices=("yes", "no", "keep"), default="yes", help=kept)
    add("--canonical", action="store_true", help="merge pages into the one they name as canonical")
    add("--nodes", choices=("html", "all"), default="html", help="HTML pages answered 200, or any 2xx answer")
    add("--with-external", action="store_true", help="also what links lead to outside the crawl")
    add("--self-loops", action="store_true", help="also links of a node to itself")
    add("--multi", action="store_true", help="every link an edge, instead of one edge with a weight")
    add("--dynamic", action="store_true", help="when pages and links were found, in GEXF")
    without = "which pages could not be reached if this one were not there; may be given many times"
    add("--without", action="append", default=[], metavar="URL", help=without)
    measures = "PageRank, HITS, betweenness, components, cores, communities, distances: in the file and in crawl.db"
    add("--measures", action="store_true", help=measures)
    where = "only nodes, or links, for which it is true; may be given many times"
    add("--where", action="append", default=[], metavar="EXPRESSION", help=where)
    add("--force", action="store_true", help="replace files that exist")
    _json(parser)


def _diff(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="the folder of the older crawl")
    parser.add_argument("new", metavar="NEW", help="the folder of the newer crawl")
    _json(parser)
    _format(parser)
    parser.add_argument("--only", choices=("pages", "links"), help="list only these")
    summary = "the list (.jsonl, .csv, .parquet), or the graph of both, coloured by what changed (.gexf, .graphml, ...)"
    parser.add_argument(
        "-o", "--to", "--output", dest="files", action="append", default=[], metavar="FILE", help=summary
    )
    parser.add_argument("--force", action="store_true", help="replace a graph that exists")


def _rank(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _json(parser)


def _simulate(parser: argparse.ArgumentParser) -> None:
    sources = "a crawl's folder, a file of links (.tsv, .csv, .parquet, .graphml, .gexf, .net), or InventedWeb:SEED"
    parser.add_argument("graph", metavar="GRAPH", help=sources)
    add = parser.add_argument
    orders = (
        "bfs, dfs, path-cost, in-links, opic, pagerank, large-sites-first, random, score:FILE, weft, or a class of"
        " your own as FILE.py:NAME; several with commas between them"
    )
    add("--order", action="append", required=True, metavar="NAMES", help=orders)
    seeds = "start addresses, with commas between them, or a file (default: the crawl's, else the page with most links)"
    add("--seeds", action="append", default=[], metavar="PAGES", help=seeds)
    by = "what importance is: pagerank, in-links, or a file with page<TAB>number a line"
    add("--by", default="pagerank", metavar="WHAT", help=f"{by} (default: pagerank)")
    ranks = "the ranks of path-cost: a file with page<TAB>rank a line, or the folder of an earlier crawl"
    add("--ranks", metavar="FILE", help=ranks)
    at = "after which percentages of the reachable pages (default: 1,5,10,20,50)"
    add("--at", default="1,5,10,20,50", metavar="PERCENTS", help=at)
    add("--best", default="10", metavar="PERCENT", help="how many pages are the best ones (default: 10)")
    _json(parser)
    add("--csv", metavar="FILE", help="write the numbers to FILE")
    add("--trace", metavar="FILE", help="write each step to FILE, as jsonl: page, parent, cost of edge and path")
    add("--trace-frontier", action="store_true", help="with --trace: the pages that wait at each step, too")
    add("--goal", metavar="EXPRESSION", help="look for pages for which it is true, over page, rank and path_cost")
    add("--goals", metavar="K", help="end the search and the trace with goal number K")
    add("--plot", metavar="FILE", help="draw the curves: .png, .svg or .html")
    add("--repeat", default="1", metavar="N", help="N runs, all but the first from a start address drawn by lot")
    add("--random-seed", default="0", metavar="N", help="for all that is drawn by lot (default: 0)")


def _export(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    add = parser.add_argument
    forms = "warc, wacz, index, sqlite (a file); mirror, parquet, sitemap, jsonl, markdown (a folder)"
    add("--as", dest="form", required=True, metavar="FORM", help=forms)
    _file(parser, "write to PATH: a file, or a new folder")
    where = "only pages for which it is true, in the words of SQL; may be given many times"
    add("--where", action="append", default=[], metavar="EXPRESSION", help=where)
    add("--force", action="store_true", help="replace an export that exists")
    add("--warc-size", metavar="SIZE", help="warc: begin a new file past SIZE, NAME-00001.warc.gz and so on")
    add("--operator", metavar="WHO", help="warc, wacz: who ran the crawl (default: its --contact)")
    add("--description", metavar="TEXT", help="warc, wacz: what the crawl is about")
    add("--indexable", action="store_true", help="sitemap: without noindex, duplicate and non-canonical pages")
    add("--rewrite-links", action="store_true", help="mirror: links lead to the files, to be browsed from disk")
    names = "mirror: host/path, or md5 for names of one length (default: path)"
    add("--names", choices=("path", "md5"), help=names)
    _json(parser)


def _robots(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL")
    _json(parser)
    _add_options(parser, lambda option: option.group in ROBOTS_GROUPS or option.name == "timeout")


def _check(parser: argparse.ArgumentParser) -> None:
    _folder(parser)
    _json(parser)


def _import(parser: argparse.ArgumentParser) -> None:
    files = "archives: .warc, .warc.gz, .wacz; or tables: .jsonl (url, title, text), .csv (source, target)"
    parser.add_argument("files", nargs="+", metavar="FILE", help=files)
    parser.add_argument("-o", "--output", "--to", metavar="DIR", help="make the crawl in DIR, a new folder")
    _json(parser)


def _warc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", metavar="check", help="check: is every record whole, and what its digests say?")
    parser.add_argument("files", nargs="+", metavar="FILE", help="a WARC file, packed or not, or a WACZ file")
    _json(parser)


def _demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o", "--output", "--to", metavar="DIR", help="keep the crawl in DIR (default: a temporary folder)"
    )
    parser.add_argument("--quiet", action="store_true", help="show errors only")
    _json(parser)


_BUILDERS: dict[str, Callable[[argparse.ArgumentParser], None]] = {
    "crawl": _crawl,
    "resume": _resume,
    "stop": _stop,
    "add": _add,
    "status": _status,
    "pages": _pages,
    "links": _links,
    "items": _items,
    "extract": _extract,
    "stats": _stats,
    "duplicates": _duplicates,
    "files": _files,
    "show": _show,
    "screenshot": _screenshot,
    "keywords": _keywords,
    "why": _why,
    "graph": _graph,
    "diff": _diff,
    "rank": _rank,
    "simulate": _simulate,
    "export": _export,
    "robots": _robots,
    "check": _check,
    "import": _import,
    "warc": _warc,
    "demo": _demo,
}


def _folder(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", metavar="DIR", help="the folder of a crawl")


def _url(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help="whole, or in a crawl of one site its path: /about")


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")


def _format(parser: argparse.ArgumentParser) -> None:
    formats = ("jsonl", "csv", "parquet", "table")
    parser.add_argument(
        "--format", choices=formats, help="the form of the output (default: a table on a terminal, else jsonl)"
    )


def _to_file(parser: argparse.ArgumentParser) -> None:
    summary = "write to FILE (.jsonl, .csv, .parquet); an older FILE is replaced when the new one is whole"
    _file(parser, summary)


def _file(parser: argparse.ArgumentParser, summary: str) -> None:
    parser.add_argument("-o", "--to", "--output", dest="to_file", metavar="FILE", help=summary)


def _add_options(parser: argparse.ArgumentParser, wanted: Callable[[Option], bool]) -> None:
    """Adds the options of a crawl, in groups; only those that are given appear in the result."""
    from weft.options import GROUPS, OPTIONS, opposite

    for group, title in GROUPS.items():
        members = [option for option in OPTIONS if option.group == group and wanted(option)]
        section = parser.add_argument_group(f"{group} ({title})") if members else parser
        for option in members:
            flags = [option.short, option.flag] if option.short else [option.flag]
            summary = option.help.replace("%", "%%")
            add = partial(section.add_argument, dest=option.name, default=argparse.SUPPRESS)
            if option.kind.is_switch:
                add(*flags, action="store_true", help=summary)
                add(opposite(option), action="store_false", help=argparse.SUPPRESS)
            else:
                default = _written(option)
                shown = f"{summary} (default: {default})" if default else summary
                add(*flags, action="append" if option.kind.many else "store", metavar=option.kind.metavar, help=shown)


def _written(option: Option) -> str:
    if option.name == "normalize":  # its default is long, and its module is not needed for help
        return ""
    value = option.kind.write(option.default)
    return ",".join(value) if isinstance(value, list | dict) else str(value).replace("%", "%%")


def _sorted_words(command: str, parser: argparse.ArgumentParser, words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Options as single words (``--name=value``) and positionals, apart.

    So seeds may stand anywhere, a value may begin with a dash (``--follow -iframe``), and an unknown option is named
    before anything else is looked at.
    """
    takes_value = {flag: action.nargs != 0 for action in parser._actions for flag in action.option_strings}
    options: list[str] = []
    positionals: list[str] = []
    rest = list(reversed(words))
    while rest:
        word = rest.pop()
        if word == "--":
            positionals += reversed(rest)
            break
        if not word.startswith("-") or word == "-":
            positionals.append(word)
            continue
        flag, equals, value = _split(word)
        if flag not in takes_value:
            raise _unknown_option(command, flag, takes_value)
        if not takes_value[flag]:
            if equals:
                raise SpecError(f"{flag} takes no value, and was given {value!r}")
            options.append(flag)
            continue
        if not equals:
            if not rest or _split(rest[-1])[0] in takes_value or rest[-1] == "--":
                raise SpecError(f"{flag} needs a value{_example(flag)}")
            value = rest.pop()
        options.append(f"{flag}={value}" if flag.startswith("--") else f"{flag}{value}")
    return options, positionals


def _split(word: str) -> tuple[str, str, str]:
    """Flag, "=" if a value is attached, and the value: of ``--name=value`` and ``-ovalue``."""
    if word.startswith("--"):
        return word.partition("=")
    return word[:2], "=" if len(word) > 2 else "", word[2:].removeprefix("=")


def _example(flag: str) -> str:
    from weft.options import BY_NAME

    option = BY_NAME.get(flag.removeprefix("--"))
    return f", for example {flag} {option.example}" if option and option.example else ""


def _unknown_option(command: str, flag: str, known: Mapping[str, bool]) -> SpecError:
    from weft.options import BY_NAME
    from weft.options.suggest import suggestion

    if command == "resume" and flag.removeprefix("--") in BY_NAME:
        return SpecError(f"{flag} cannot be changed on resume; weft crawl --fresh starts the crawl anew")
    meant = suggestion(flag, [name for name in known if name.startswith("--")])
    told = f"nearest: {meant}; " if meant is not None else ""
    return SpecError(f"unknown option {flag} ({told}{_whole_help(command)} lists all)")
