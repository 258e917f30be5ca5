"""Options: how gently sites are asked, and who we say we are."""

from __future__ import annotations

from weft.options.option import Option
from weft.options.sites import site_paces
from weft.options.table.groups import IDENTITY, PACE
from weft.options.values import optional, several_headers, switch, text, time, whole, word


def pace_options() -> list[Option]:
    return [
        Option(
            "workers",
            "politeness.workers",
            whole(1, 10_000),
            PACE,
            "N requests at once, all sites together",
            "64",
            may_change=True,
        ),
        Option(
            "processes",
            "politeness.processes",
            optional(whole(1, 256), "auto"),
            PACE,
            "N processes that ask and read; auto: one, and as many as there are cores once one is busy all the time",
            "2",
            may_change=True,
        ),
        Option(
            "delay",
            "politeness.delay_s",
            time(0, 86_400),
            PACE,
            "between two requests to a site, start to start",
            "0.5s",
            may_change=True,
        ),
        Option(
            "per-host",
            "politeness.per_host",
            whole(1, 10_000),
            PACE,
            "N requests at once to a site",
            "1",
            may_change=True,
        ),
        Option(
            "site",
            "politeness.sites",
            site_paces(),
            PACE,
            "what one site has of its own: per-host, delay, max-depth; may be given many times",
            "'www.example.org per-host=4 delay=250ms max-depth=3'",
            may_change=True,
        ),
        Option(
            "per-ip",
            "politeness.per_ip",
            optional(whole(1, 10_000), "auto"),
            PACE,
            "N requests at once to an address; auto: 16 to public ones, no bound for private ones",
            "16",
            may_change=True,
        ),
        Option(
            "ip-delay",
            "politeness.ip_delay_s",
            time(0, 86_400),
            PACE,
            "between two requests to an address",
            "0.1s",
            may_change=True,
        ),
        Option(
            "max-crawl-delay",
            "politeness.max_crawl_delay_s",
            time(0, 30 * 86_400),
            PACE,
            "obey Crawl-delay of robots.txt up to TIME",
            "30s",
            may_change=True,
        ),
        Option(
            "pace",
            "politeness.pace",
            word("fixed", "auto"),
            PACE,
            "auto: leave a site alone for as long as it took to answer, and longer after 429 and 503; never faster "
            "than the delay",
            "auto",
            may_change=True,
        ),
        Option(
            "max-wait",
            "politeness.max_wait_s",
            time(0),
            PACE,
            "end (exit 3) when no site may be asked for longer than TIME",
            "60s",
            may_change=True,
        ),
        Option(
            "ignore-robots",
            "politeness.ignore_robots",
            switch(),
            PACE,
            "do not ask robots.txt: for your own servers only",
        ),
    ]


def identity_options() -> list[Option]:
    return [
        Option(
            "user-agent",
            "identity.user_agent",
            text("TEXT"),
            IDENTITY,
            "the User-Agent header; empty: weft's own. Its first word is looked for in robots.txt",
            "'mybot/1.0'",
            may_change=True,
        ),
        Option(
            "contact",
            "identity.contact",
            text("WHO"),
            IDENTITY,
            "who runs this crawl: an address or a page that sites can turn to",
            "crawl@example.org",
            may_change=True,
        ),
        Option(
            "header",
            "identity.headers",
            several_headers(),
            IDENTITY,
            "one more header in every request; may be given many times",
            "'Accept-Language: sl'",
            may_change=True,
        ),
    ]
