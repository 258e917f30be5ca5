"""Options: what is kept, parts of one's own, and one run."""

from __future__ import annotations

from weft.options.checks import log_to_go_on_with
from weft.options.option import Option, Section
from weft.options.table.groups import PARTS, RUN, STORE
from weft.options.values import (
    Context,
    Kind,
    Value,
    as_list,
    lines_of,
    optional,
    place,
    size,
    switch,
    text,
    time,
    whole,
    word,
)
from weft.spec import ON_SCREEN, RESULT_IN_FOLDER


def store_options() -> list[Option]:
    store = Section(STORE, "keep").changeable
    return [
        Option(
            "no-archive", "keep.archive", switch(means=False), STORE, "keep the data only, no answers in WARC files"
        ),
        store("warc-size", "warc_file_b", size(1_000), "begin a new WARC file past this size", "1G"),
        store("block-digest", "block_digest", switch(), "write WARC-Block-Digest into every WARC record"),
        store(
            "graphs",
            "graphs",
            optional(place(RESULT_IN_FOLDER)),
            "whenever a run ends, write the graph of each site into FOLDER, HOST.gexf; auto: into `result` in the "
            "crawl's folder",
            "graphs",
        ),
        store(
            "graph-duplicates",
            "graph_duplicates",
            switch(),
            "keep duplicates as nodes of these graphs too, without edges",
        ),
        store("graph-summary", "graph_summary", switch(), "whenever a run ends, tell pages and links of each site"),
        store(
            "common-log",
            "common_log",
            place(check=log_to_go_on_with),
            "the CSV file with a line for every visit; empty: logs/common.csv in the crawl's folder",
            "visits.csv",
        ),
        store(
            "error-log",
            "error_log",
            place(check=log_to_go_on_with),
            "the CSV file with a line for every failure; empty: logs/error.csv in the crawl's folder",
            "failures.csv",
        ),
        store(
            "repository",
            "repository",
            place(),
            "whenever a run ends, write a copy of each page into FOLDER/HOST/PATH, and index.txt",
            "copies",
        ),
        store(
            "log-file",
            "log_file",
            place(ON_SCREEN, check=log_to_go_on_with),
            "tell in this file what the crawl does, in words; screen: on the screen",
            "crawl.log",
        ),
        store("log-level", "log_level", whole(0, 2), "how much --log-file tells: 0 quiet, 1 verbose, 2 debug", "2"),
        Section(STORE, "recrawl").changeable(
            "period",
            "period_s",
            optional(time(1)),
            "ask all pages again, each TIME after the last start; `weft crawl` with the same options does it when due",
            "72h",
        ),
    ]


def parts_options() -> list[Option]:
    return [
        Option(
            "part",
            "plugins.parts",
            own_parts(),
            PARTS,
            "call a function of your own: as manager, analyser, downloader, parser, robots, store, routine, finisher "
            "or unloader; may be given many times",
            "finisher=my_parts.py:enough",
        ),
    ]


def own_parts() -> Kind:
    """Parts of the user's own; the names of files are made absolute."""

    def read(raw: object, context: Context) -> Value:
        from weft.plugins import located

        return tuple(dict.fromkeys(located(line, context.folder) for line in lines_of(raw) or ()))

    return Kind("ROLE=MODULE:NAME or ROLE=FILE.py:NAME", "ROLE=MODULE:NAME", read, as_list, many=True)


def run_options() -> list[Option]:
    return [
        Option(
            "output",
            "run.output",
            text("DIR", accepts="the name of a folder"),
            RUN,
            "the crawl's folder (default: the first seed's host)",
            "example",
            short="-o",
        ),
        Option("fresh", "run.fresh", switch(), RUN, "set an older crawl of that folder aside and start anew"),
        Option("quiet", "run.quiet", switch(), RUN, "show errors only", may_change=True),
        Option(
            "watch", "run.watch", switch(), RUN, "stay, and do every pass of --period when it is due", may_change=True
        ),
        Option(
            "log",
            "run.log",
            word("files", "screen", "common", "error"),
            RUN,
            "show the lines of the logs too: screen for both, common or error for one",
            "screen",
            may_change=True,
        ),
    ]
