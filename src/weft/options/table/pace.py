"""Options: how gently sites are asked, and who we say we are."""

from __future__ import annotations

from weft.options.option import Option, Section
from weft.options.sites import site_paces
from weft.options.table.groups import IDENTITY, PACE
from weft.options.values import optional, several_headers, switch, text, time, whole, word


def pace_options() -> list[Option]:
    pace = Section(PACE, "politeness").changeable
    return [
        pace("workers", "workers", whole(1, 10_000), "N requests at once, all sites together", "64"),
        pace(
            "processes",
            "processes",
            optional(whole(1, 256), "auto"),
            "N processes that ask and read; auto: one, and as many as there are cores once one is busy all the time",
            "2",
        ),
        pace("delay", "delay_s", time(0, 86_400), "between two requests to a site, start to start", "0.5s"),
        pace("per-host", "per_host", whole(1, 10_000), "N requests at once to a site", "1"),
        pace(
            "site",
            "sites",
            site_paces(),
            "what one site has of its own: per-host, delay, max-depth; may be given many times",
            "'www.example.org per-host=4 delay=250ms max-depth=3'",
        ),
        pace(
            "per-ip",
            "per_ip",
            optional(whole(1, 10_000), "auto"),
            "N requests at once to an address; auto: 16 to public ones, no bound for private ones",
            "16",
        ),
        pace("ip-delay", "ip_delay_s", time(0, 86_400), "between two requests to an address", "0.1s"),
        pace(
            "max-crawl-delay",
            "max_crawl_delay_s",
            time(0, 30 * 86_400),
            "obey Crawl-delay of robots.txt up to TIME",
            "30s",
        ),
        pace(
            "pace",
            "pace",
            word("fixed", "auto"),
            "auto: leave a site alone for as long as it took to answer, and longer after 429 and 503; never faster "
            "than the delay",
            "auto",
        ),
        pace("max-wait", "max_wait_s", time(0), "end (exit 3) when no site may be asked for longer than TIME", "60s"),
        Option(
            "ignore-robots",
            "politeness.ignore_robots",
            switch(),
            PACE,
            "do not ask robots.txt: for your own servers only",
        ),
    ]


def identity_options() -> list[Option]:
    identity = Section(IDENTITY, "identity").changeable
    return [
        identity(
            "user-agent",
            "user_agent",
            text("TEXT"),
            "the User-Agent header; empty: weft's own. Its first word, and weft, are looked for in robots.txt",
            "'mybot/1.0'",
        ),
        identity(
            "contact",
            "contact",
            text("WHO"),
            "who runs this crawl: an address or a page that sites can turn to",
            "crawl@example.org",
        ),
        identity(
            "header",
            "headers",
            several_headers(),
            "one more header in every request; may be given many times",
            "'Accept-Language: sl'",
        ),
    ]
