"""The last line of a run, and its exit code: seeds without a page, sites cut, crawls that were done before."""

from __future__ import annotations

import re

import pytest
from command import Run, Weft
from web import Site

QUICK = ("--delay", "0", "--sitemaps", "no")


def last_line(run: Run) -> str:
    """What the run said last, without the numbers in front."""
    return re.sub(r".* waiting\): ", "", run.stderr.splitlines()[-1])


@pytest.mark.parametrize("status", [404, 401, 500])
def test_a_start_page_that_is_none_is_told_and_fails(site: Site, weft: Weft, status: int) -> None:
    url = site.page("/gone", ["/a"], status=status)
    for words in (("crawl", url, "-o", "out", *QUICK, "--retries", "0"), ("resume", "out")):
        run = weft(*words)
        assert run.code == 1
        assert last_line(run) == f"no seed gave a page: {url} answered {status} (weft why out {url} tells more)"


def test_one_start_page_of_several_that_is_none_is_told(site: Site, weft: Weft) -> None:
    gone, there = site.page("/gone", status=404), site.page("/")
    run = weft("crawl", there, gone, "-o", "out", *QUICK)
    assert run.code == 0
    told = f"nothing is left to fetch; 1 of 2 seeds gave no page: {gone} answered 404 (weft why out {gone} tells more)"
    assert last_line(run) == told


def test_a_start_page_that_redirects_gives_what_it_leads_to(site: Site, weft: Weft) -> None:
    site.page("/there")
    moved = site.redirect("/moved", "/there", 301)
    lost = site.redirect("/lost", "/nowhere", 301)
    site.page("/nowhere", status=404)
    run = weft("crawl", moved, "-o", "out", *QUICK)
    assert (run.code, last_line(run)) == (0, "nothing is left to fetch")
    run = weft("crawl", lost, "-o", "other", *QUICK)
    assert run.code == 1 and last_line(run).startswith(f"no seed gave a page: {lost} answered 301 (")


def test_a_host_that_answers_by_http_alone_has_given_its_page(site: Site, weft: Weft) -> None:
    """https is asked first, and fails: the seed's fallback is what counts."""
    site.page("/", host="plain.test")
    pinned = ("--resolve", "plain.test=127.0.0.1")
    run = weft("crawl", f"plain.test:{site.port}", "-o", "out", *QUICK, *pinned, "--retries", "0")
    assert (run.code, last_line(run)) == (0, "nothing is left to fetch"), run.stderr


def test_a_crawl_that_was_done_says_when_and_how_to_start_anew(site: Site, weft: Weft) -> None:
    words = ("crawl", site.page("/"), "-o", "out", *QUICK)
    assert last_line(weft(*words)) == "nothing is left to fetch"
    for again in (words, ("resume", "out")):
        run = weft(*again)
        assert run.code == 0
        assert re.fullmatch(r"done on \d{4}-\d\d-\d\d \d\d:\d\d; --fresh starts anew", last_line(run)), run.stderr
    assert site.asked("/") == 1


def test_a_limit_of_sites_that_was_reached_is_said(site: Site, weft: Weft) -> None:
    site.page("/", [f"/{number}" for number in range(5)])
    for number in range(5):
        site.page(f"/{number}")
    run = weft("crawl", site.url, "-o", "out", *QUICK, "--max-pages-per-site", "2")
    told = "--max-pages-per-site is reached, 4 URLs of 1 site are left out; go on with: weft resume out "
    assert (run.code, last_line(run)) == (0, f"{told}--max-pages-per-site ...")
    run = weft("resume", "out", "--max-pages-per-site", "none")
    assert (run.code, last_line(run)) == (0, "nothing is left to fetch")


def test_broken_links_are_counted_behind_the_last_line(site: Site, weft: Weft) -> None:
    """Targets, and the pages that hold them; what robots.txt forbids was not asked, and is none of them."""
    site.robots("User-agent: *\nDisallow: /no\n")
    site.page("/", ["/a", "/gone", "/no"])
    site.page("/a", ["/gone", "/lost"])
    site.page("/gone", status=404)
    site.misbehave("/lost", "reset_before_answer")
    run = weft("crawl", site.url, "-o", "out", *QUICK, "--retries", "0")
    assert run.code == 0
    said, broken = run.stderr.splitlines()[-2:]
    assert "1 error, 1 refused by robots.txt, 0 waiting): nothing is left to fetch" in said
    assert broken == "weft: 2 broken targets on 2 pages: weft links out --broken"
    assert weft("check", "out").code == 0, "the counters are what the tables hold"
