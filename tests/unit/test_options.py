"""Options: the fields of the specification, units, TOML, secrets, changes on resume, the command line's own words."""

from __future__ import annotations

import argparse
import re
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.cli import arguments
from weft.cli import main as cli
from weft.errors import SpecError
from weft.options import (
    BY_NAME,
    GROUPS,
    OPTIONS,
    crawl_order,
    differences,
    read_spec,
    reference_markdown,
    resume_order,
    spec_of,
    value_in,
    write_spec,
    write_toml,
)
from weft.options.kinds import READERS
from weft.options.suggest import OTHER_WORDS, WEAKENING, changes_between, suggestion
from weft.options.values import read_size, read_time, write_size, write_time
from weft.spec import CrawlSpec

SEED = "https://example.org/"
ROOT = Path(__file__).resolve().parents[2]


def no_warning(message: str) -> None:
    raise AssertionError(f"unexpected warning: {message}")


def spec_from(**arguments: object) -> CrawlSpec:
    """The specification of a command line, options with underscores."""
    named = {name.replace("_", "-"): value for name, value in arguments.items()}
    return crawl_order([SEED], named, warn=no_warning, environment={}).spec


def from_file(path: Path, text: str) -> CrawlSpec:
    path.write_text(text, encoding="utf-8")
    return crawl_order([], {}, config=str(path), warn=no_warning, environment={}).spec


def failure(*words: str) -> str:
    """The message of a wrong command line."""
    with pytest.raises(SpecError) as raised:
        args = arguments.parse("crawl", words)
        assert args is not None
        crawl_order(args.seeds, arguments.options_given(args), config=args.config, warn=lambda _: None, environment={})
    assert raised.value.exit_code == 2
    return str(raised.value)


# ---- the options


def test_every_field_of_the_specification_is_exactly_one_option() -> None:
    fields = {
        f"{section}.{field}"
        for section, value in msgspec.structs.asdict(CrawlSpec()).items()
        if isinstance(value, msgspec.Struct)
        for field in value.__struct_fields__
    }
    paths = [f"{option.section}.{option.field}".removeprefix(".") for option in OPTIONS if option.in_spec]
    assert sorted(paths) == sorted(fields | {"mode"})


def test_every_option_says_what_it_is() -> None:
    for option in OPTIONS:
        assert option.group in GROUPS and len(option.help) > 10, option.name
        assert option.example or option.kind.is_switch, option.name


def test_every_reader_is_the_reader_of_an_option() -> None:
    used = {id(option.kind) for option in OPTIONS}
    assert [name for name, kind in READERS.items() if id(kind) not in used] == []


def test_every_default_reads_back_from_what_is_written() -> None:
    assert spec_from() == msgspec.structs.replace(
        CrawlSpec(), seeds=(SEED,), urls=msgspec.structs.replace(CrawlSpec().urls, normalize=spec_from().urls.normalize)
    )


def test_reference_page_names_every_option() -> None:
    page = reference_markdown()
    assert all(f"`{option.flag}" in page or f", {option.flag}" in page for option in OPTIONS)
    assert "WEFT_AUTH" in page and "WEFT_PROXY" in page
    written = ROOT / "docs" / "options.md"
    assert written.read_text(encoding="utf-8") == page, "write it anew: python tools/write_options.py"


# ---- units


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("100s", 100),
        ("5m", 300),
        ("2h", 7_200),
        ("7d", 604_800),
        ("30", 30),
        ("0.5", 0.5),
        ("250ms", 0.25),
        (" 1 s", 1),
    ],
)
def test_times(text: str, seconds: float) -> None:
    assert read_time(text) == seconds


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("10M", 10_000_000),
        ("1G", 10**9),
        ("1Gi", 1 << 30),
        ("500", 500),
        ("1.5k", 1_500),
        ("10MB", 10**7),
        ("2KiB", 2_048),
    ],
)
def test_sizes(text: str, number: int) -> None:
    assert read_size(text) == number


@pytest.mark.parametrize("text", ["", "fast", "5M", "1w", "-1", "1e3", "5 minutes", "٣s", "nan", "inf", "1" * 100])
def test_a_wrong_time_says_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match=r"100s, 5m, 2h or 7d"):
        read_time(text)


@pytest.mark.parametrize("text", ["", "big", "10X", "-1", "1e9", "10 M B", "9999T", "1" * 100])
def test_a_wrong_size_says_what_is_accepted(text: str) -> None:
    with pytest.raises(ValueError, match=r"10M or 1G"):
        read_size(text)


@given(st.floats(min_value=0, max_value=1e9, allow_nan=False) | st.integers(0, 10**7))
def test_times_round_trip(seconds: float) -> None:
    assert read_time(write_time(float(seconds))) == seconds


@given(st.integers(0, 10**15))
def test_sizes_round_trip(number: int) -> None:
    assert read_size(write_size(number)) == number


# ---- values on the command line


def test_command_line_reaches_the_specification() -> None:
    words = (
        "example.org --max-pages 5 --follow -iframe --max-time=2h -oout --reject a --reject b other.org --no-archive"
    )
    args = arguments.parse("crawl", words.split())
    assert args is not None and args.seeds == ["example.org", "other.org"]
    order = crawl_order(args.seeds, arguments.options_given(args), warn=no_warning, environment={})
    assert order.run.output == "out" and order.spec.limits.max_pages == 5 and order.spec.limits.max_time_s == 7_200
    assert order.spec.scope.reject == ("a", "b") and not order.spec.keep.archive
    assert "iframe" not in order.spec.scope.follow and "a" in order.spec.scope.follow


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ("--max-page 3", "nearest: --max-pages"),
        ("--pictures yes", "unknown option --pictures ("),
        ("--render ever", "'ever' is not no or auto or always"),
        ("--viewport 10x10", "is not WIDTHxHEIGHT, each from 100 to 10000, or mobile"),
        ("-x", "unknown option -x"),
        ("--max-pages", "needs a value, for example --max-pages 1000"),
        ("--max-pages --quiet", "--max-pages needs a value"),
        ("--quiet=yes", "takes no value"),
        ("--max-pages 0", "whole number from 1"),
        ("--max-pages ten", "'ten' is not a whole number"),
        ("--max-pages 1.5", "whole number"),
        ("--max-depth -1", "whole number from 0"),
        ("--workers 100000", "from 1 to 10000"),
        ("--delay 5parsecs", "100s, 5m, 2h or 7d"),
        ("--timeout 0", "out of range"),
        ("--max-size huge", "10M or 1G"),
        ("--order bsf", "nearest: bfs"),
        ("--sitemaps maybe", "yes or no or only"),
        ("--scope hots", "nearest: host"),
        ("--scope suffix:", "not a scope"),
        ("--mode grahp", "nearest: graph"),
        ("--accept (", "regular expression that RE2 takes"),
        ("--accept a(?=b)", "look-ahead"),
        ("--reject [z-a]", "regular expression"),
        ("--follow +lnik", "nearest: link"),
        ("--follow form", "none of kinds of links"),
        ("--follow a,+link", "mixes a full list"),
        ("--header NoColon", "'Name: value'"),
        ("--header Host:x", "belongs to the connection"),
        ("--header A:b\r\nC:d", "control character"),
        ("--user-agent a\nb", "control character"),
        ("--contact a\0b", "control character"),
        ("--allow-net 10.0.0.0/40", "10.0.0.0/8"),
        ("--resolve example.org", "HOST=ADDRESS"),
        ("--resolve *x.org=127.0.0.1", "HOST=ADDRESS"),
        ("--resolve a.org=b.org", "HOST=ADDRESS"),
        ("--nameserver dns.example", "name server"),
        ("--insecure https://example.org", "is not a host"),
        ("--ca /nonexistent/ca.pem", "no such file"),
        ("--cert .", "a folder"),
        ("--cookies /nonexistent", "no such file"),
        ("--cookies /dev/null", "no plain file"),
        ("--auth nobody", "USER:PASSWORD@HOST"),
        ("--proxy ftp://x", "not a URL such as"),
        ("--proxy @/nonexistent", "cannot read"),
        ("--normalize +sort-qery", "sort-query"),
        ("--min-depth 3 --max-depth 2", "nothing would be fetched"),
        ("-c /nonexistent.toml", "cannot read /nonexistent.toml"),
        ("-c .", "is a folder"),
        ("-c Crawler.conf", "cannot read Crawler.conf"),
    ],
)
def test_wrong_values_are_one_clear_sentence(words: str, part: str) -> None:
    """Issue section 10."""
    message = failure(SEED, *words.split(" "))
    assert part in message and "\n" not in message and len(message) < 400


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\0", b"-----BEGIN CERTIFICATE-----\nabc\n"])
def test_files_that_are_something_else(tmp_path: Path, content: bytes) -> None:
    """Issue section 10: said before anything is asked, and not by each page on its own."""
    path = tmp_path / "file"
    path.write_bytes(content)
    assert f"no certificate in {path}" in failure(SEED, "--ca", str(path))
    assert f"no certificate with its key in {path}" in failure(SEED, "--cert", str(path))
    if b"\xff" in content:
        assert "not UTF-8 text" in failure(SEED, "--cookies", str(path))


def test_no_seed() -> None:
    assert "no seed" in failure("--max-pages", "3")


def test_words_of_later_pieces_are_unknown() -> None:
    later = "db collection"
    for name in later.split():
        assert f"unknown option --{name} " in failure(SEED, f"--{name}", "x")


@given(
    st.sampled_from([option for option in OPTIONS if not option.kind.is_switch and not option.secret]),
    st.text(max_size=40),
)
@settings(max_examples=300)
def test_no_text_breaks_an_option(option: object, text: str) -> None:
    """Whatever is written, it is a value or a SpecError."""
    name = option.name  # type: ignore[attr-defined]
    try:
        spec = crawl_order([SEED], {name: [text]}, warn=no_warning, environment={}).spec
    except SpecError:
        return
    tomllib.loads(write_toml(spec))


def test_normal_forms() -> None:
    spec = spec_from(
        allow_net=["10.1.2.3/8"],
        resolve=["*.Test=127.0.0.1", "B\u00dcCHER.example=::1", "*=192.0.2.1"],
        nameserver=["127.0.0.1:5353", "::1"],
        insecure=["Example.ORG:8443"],
        scope="suffix:.GOV.si",
        header=["x-a:1", "X-A:  2"],
    )
    assert spec.network.allow_net == ("10.0.0.0/8",)
    assert spec.network.resolve == ("*.test=127.0.0.1", "xn--bcher-kva.example=::1", "*=192.0.2.1")
    assert spec.network.nameserver == ("127.0.0.1:5353", "::1") and spec.network.insecure == ("example.org:8443",)
    assert spec.scope.scope == "suffix:gov.si" and spec.identity.headers == ("x-a: 1", "X-A: 2")


def test_modes_are_presets_below_what_is_given() -> None:
    """R8-R12 for graph, E20 for email; options beside them win."""
    graph = spec_from(mode="graph")
    assert graph.scope.html_only and graph.scope.same_scheme and graph.scope.sitemaps == "no"
    assert graph.scope.follow == ("a", "redirect")
    assert spec_from(mode="graph", follow=["+area"]).scope.follow == ("a", "area", "redirect")
    assert spec_from(mode="graph", sitemaps="yes").scope.sitemaps == "yes"
    assert spec_from(mode="email").urls.drop_query and not spec_from().urls.drop_query


# ---- TOML


def test_file_gives_options_and_seeds_and_the_command_line_wins(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        '\ufeffseeds = ["https://a.example/"]\r\nmax-pages = 10\r\ndelay = "2s"\r\nsitemaps = false\r\nwait = true\r\n'
        'header = ["A: 1", "B: 2"]\r\nfollow = "+link"\r\naccept = "x"\r\ntimeout = 7.5\r\n',
        encoding="utf-8",
        newline="",
    )
    args = arguments.parse("crawl", ["-c", str(path), "--max-pages", "20", "--no-wait", "--header", "b: 3"])
    assert args is not None
    spec = crawl_order(
        args.seeds, arguments.options_given(args), config=args.config, warn=no_warning, environment={}
    ).spec
    assert spec.seeds == ("https://a.example/",) and spec.limits.max_pages == 20 and spec.politeness.delay_s == 2
    assert spec.scope.sitemaps == "no" and not spec.limits.wait and spec.identity.headers == ("A: 1", "b: 3")
    assert "link" in spec.scope.follow and spec.scope.accept == ("x",) and spec.limits.timeout_s == 7.5


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ('seeds = ["x"]\n\nmax-page = 3\n', 3, "unknown key 'max-page' (nearest: max-pages)"),
        ('seeds = ["x"]\nmax_pages = 3\n', 2, "nearest: max-pages"),
        ("sedes = 3\n", 1, "nearest: seeds"),
        ('contact = """\nmax-page = 1\n"""\n"max-page" = 1\n', 4, "unknown key"),
        ("[limits]\nmax-pages = 3\n", 1, "without sections"),
        ("limits.max-pages = 3\n", 1, "without sections"),
        ('seeds = ["x"]\nmax-pages = "many"\n', 2, "max-pages: 'many' is not a whole number"),
        ("max-pages = 1.5\n", 1, "whole number"),
        ("max-pages = true\n", 1, "whole number"),
        ("a = 1\n\n\nmax-time = '5 parsecs'\n", 1, "unknown key 'a'"),
        ("\n\n\nmax-time = '5 parsecs'\n", 4, "max-time: '5 parsecs' is not a time"),
        ("max-size = 1.5\n", 1, "max-size"),
        ("wait = 1\n", 1, "true or false"),
        ("accept = 3\n", 1, "list of texts"),
        ("accept = [\n 'a',\n '(',\n]\n", 1, "accept: '(' is not a regular expression"),
        ("seeds = [1]\n", 1, "list of texts"),
        ("seeds = [\n", 1, "not valid TOML"),
        ("a = 1\nb =\n", 2, "not valid TOML"),
        ("max-pages = 1\nmax-pages = 2\n", 2, "not valid TOML"),
        ("contact = 1979-05-27\n", 1, "is not a text"),
        ("delay = nan\n", 1, "is not a time"),
    ],
)
def test_a_wrong_file_is_told_with_file_and_line(tmp_path: Path, text: str, line: int, part: str) -> None:
    """A typo is an error with file, line and the nearest valid name (DESIGN section 6)."""
    path = tmp_path / "wrong.toml"
    with pytest.raises(SpecError) as raised:
        from_file(path, text)
    assert str(raised.value).startswith(f"{path}:{line}: ") and part in str(raised.value)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"a = '\xff'", b"\x00", b"[" * 100_000])
def test_a_file_that_is_no_toml(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x.toml"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=r"x\.toml:1: not"):
        crawl_order([], {}, config=str(path), warn=no_warning, environment={})


def test_files_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    (tmp_path / "jar.txt").write_text("")
    (tmp_path / "list.txt").write_text(SEED)
    spec = from_file(tmp_path / "a.toml", 'seeds = ["list.txt", "example.org"]\ncookies = "jar.txt"\n')
    assert spec.network.cookies == str(tmp_path / "jar.txt")
    assert spec.seeds == (str(tmp_path / "list.txt"), "example.org")


def some_values() -> st.SearchStrategy[CrawlSpec]:
    """Specifications with many fields away from their defaults."""
    line = st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1, max_size=30).map(str.strip).filter(bool)
    seconds = st.floats(0.001, 3_600).map(lambda number: round(number, 6))
    options: dict[str, st.SearchStrategy[object]] = {
        "max_pages": st.none() | st.integers(1, 10**9),
        "max_time": st.none() | seconds,
        "delay": seconds,
        "max_size": st.integers(1, 10**12),
        "user_agent": line,
        "contact": line,
        "reject": st.lists(st.sampled_from([r"\.php$", '"', "a\\\\b", "\U0001f578"]), max_size=3),
        "header": st.lists(line.map(lambda value: f"X-{len(value)}: {value}"), max_size=3),
        "follow": st.lists(st.sampled_from(["a", "link", "canonical", "redirect"]), min_size=1),
        "normalize": st.sampled_from(["+sort-query", "-percent-decode", "none", "all", "+slash-add"]),
        "mode": st.sampled_from(["none", "graph", "email"]),
        "no_archive": st.booleans(),
        "ignore_robots": st.booleans(),
        "per_ip": st.none() | st.integers(1, 99),
        "trap_query_size": st.integers(0, 10**6),
        "allow_net": st.lists(st.sampled_from(["10.0.0.0/8", "::1"]), max_size=2),
    }
    return st.fixed_dictionaries({}, optional=options).map(lambda chosen: spec_of([SEED], chosen))


@given(spec=some_values())
@settings(max_examples=60)
def test_crawl_toml_round_trips(spec: CrawlSpec, tmp_path_factory: pytest.TempPathFactory) -> None:
    """crawl.toml is the specification as it ran, every default written out: reading it gives the same."""
    path = tmp_path_factory.getbasetemp() / "crawl.toml"
    path.write_text(write_toml(spec), encoding="utf-8")
    assert read_spec(path) == spec
    written = tomllib.loads(path.read_text(encoding="utf-8"))
    assert set(written) == {o.name for o in OPTIONS if o.in_spec and not o.secret} | {"seeds"}
    assert differences(spec, read_spec(path)) == []


def test_written_file_has_a_comment_for_each_group() -> None:
    text = write_toml(spec_from())
    assert all(f"# {group}: " in text for group in GROUPS if group != "Run")


def test_python_callers_use_the_same_names() -> None:
    spec = spec_of([SEED], {"max_pages": 3, "delay": 0, "reject": ["x"], "max_time": None, "max_size": "1M"})
    assert spec.limits.max_pages == 3 and spec.limits.max_time_s is None and spec.limits.max_size_b == 10**6
    with pytest.raises(SpecError, match="nearest: max_pages"):
        spec_of([SEED], {"max_page": 3})


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("crawl a --exclude x", "--reject"), ("crawl a --deny x", "--reject"), ("crawl a --include x", "--accept"),
        ("crawl a --allow x", "--accept"), ("crawl a --concurrency 4", "--workers"),
        ("crawl a --threads 4", "--workers"), ("crawl a --rate 1", "--delay"), ("crawl a --depth 2", "--max-depth"),
        ("crawl a --level 2", "--max-depth"), ("crawl a --limit 9", "--max-pages"),
        ("crawl a --report x", "weft stats --html"), ("crawl a --list", "weft pages"), ("list a", "pages"),
        ("report a", "weft stats --html"), ("links a --from x", "--from-url"), ("crawl a --dealy 1", "--delay"),
        ("crawl a --max_page 1", "--max-pages"), ("crawl a --workres=3", "--workers"), ("stast a", "stats"),
        ("pages a --feilds url", "--fields"),
    ],
)  # fmt: skip
def test_words_of_other_crawlers_and_misspellings_are_understood(
    words: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words.split()) == 2
    assert f"(nearest: {meant}; weft " in capsys.readouterr().err


@pytest.mark.parametrize("word", ["--insecur", "--insecre", "--ignore-robot", "--ingore-robots", "--allow-nets"])
def test_nobody_is_led_to_an_option_that_weakens_safety(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["crawl", "a", word, "x"]) == 2
    assert capsys.readouterr().err == f"weft: unknown option {word} (weft crawl --help all lists all)\n"
    assert suggestion(word, ["--reject"]) is None


@given(st.text("abcde-", max_size=12))
def test_what_is_suggested_is_near_or_a_word_of_others(word: str) -> None:
    known = [option.flag for option in OPTIONS]
    meant = suggestion(word, known)
    if meant is not None and word.lstrip("-") not in OTHER_WORDS:
        assert changes_between(word.lstrip("-"), meant.lstrip("-")) <= 2


def test_words_of_others_lead_somewhere() -> None:
    """Each is no option of ours, and what it stands for is."""
    flags = {flag.lstrip("-") for name in cli.COMMANDS for flag in arguments.parser_of(name)._option_string_actions}
    crawl = {flag.lstrip("-") for flag in arguments.parser_of("crawl")._option_string_actions}
    for word, meant in OTHER_WORDS.items():
        assert word not in crawl and not OTHER_WORDS.keys() & {meant} and meant not in WEAKENING
        assert meant in flags or meant.removeprefix("weft ").split()[0] in cli.COMMANDS, word


# ---- secrets


def test_secrets_come_from_four_places_and_are_never_written(tmp_path: Path) -> None:
    """DESIGN section 6: environment, @FILE, a prompt; on the command line with a warning; never in crawl.toml."""
    (tmp_path / "pw").write_text("# mine\nu:tellme1@example.org\n\nv:tellme2@other.org:8443\n")
    warnings: list[str] = []

    def spec_with(raw: str | None, environment: dict[str, str]) -> CrawlSpec:
        given = {"auth": [raw]} if raw else {}
        return crawl_order(
            [SEED], given, warn=warnings.append, environment=environment, ask=lambda prompt: "w:tellme3@example.org"
        ).spec

    by_file = spec_with(f"@{tmp_path / 'pw'}", {})
    by_prompt = spec_with("-", {})
    by_environment = spec_with(
        None, {"WEFT_AUTH": "x:tellme4@example.org", "WEFT_PROXY": "http://p:tellme5@proxy:3128"}
    )
    assert warnings == []
    by_command_line = spec_with("y:tell@me6@example.org", {})
    assert len(warnings) == 1 and "WEFT_AUTH" in warnings[0] and "tell" not in warnings[0]
    assert by_file.network.auth == ("u:tellme1@example.org", "v:tellme2@other.org:8443")
    assert by_prompt.network.auth == ("w:tellme3@example.org",)
    assert by_environment.network.proxy == "http://p:tellme5@proxy:3128"
    assert by_command_line.network.auth == ("y:tell@me6@example.org",)
    for spec in (by_file, by_prompt, by_environment, by_command_line):
        assert "tell" not in write_toml(spec) and "auth" in spec.secrets


def test_headers_that_are_credentials_are_withheld_too() -> None:
    spec = spec_from(header=["Authorization: Bearer tellme", "cookie: a=tellme", "X-Plain: yes"])
    text = write_toml(spec)
    assert "tellme" not in text and "X-Plain: yes" in text and spec.secrets == ("header",)


def test_messages_never_repeat_a_secret() -> None:
    for words in (
        "--auth hush",
        "--auth :hush@x",
        "--auth a:hush@/",
        "--proxy gopher://a:hush@x",
        "--proxy http://a:hush@x:99999",
    ):
        assert "hush" not in failure(SEED, *words.split())


def test_resume_wants_the_secrets_again(tmp_path: Path) -> None:
    """A crawl behind a proxy does not silently go on without it."""
    spec = crawl_order([SEED], {}, warn=no_warning, environment={"WEFT_PROXY": "http://proxy:3128"}).spec
    write_spec(tmp_path / "crawl.toml", spec)
    with pytest.raises(SpecError, match=r"give again --proxy \(by WEFT_PROXY"):
        resume_order(tmp_path, {}, warn=no_warning, environment={})
    again = resume_order(tmp_path, {}, warn=no_warning, environment={"WEFT_PROXY": "http://proxy:3128"}).spec
    assert again == spec
    without = resume_order(tmp_path, {"proxy": "none"}, warn=no_warning, environment={}).spec
    assert without.network.proxy is None and without.secrets == ()
    assert [str(difference) for difference in differences(spec, without)] == ["--proxy was given and is now not given"]


def test_a_crawl_toml_as_specification_wants_the_secrets_too(tmp_path: Path) -> None:
    spec = crawl_order([SEED], {}, warn=no_warning, environment={"WEFT_AUTH": "a:b@example.org"}).spec
    write_spec(tmp_path / "crawl.toml", spec)
    with pytest.raises(SpecError, match="give again --auth"):
        crawl_order([], {}, config=str(tmp_path / "crawl.toml"), warn=no_warning, environment={})


# ---- resume


def test_limits_pace_and_workers_change_on_resume_and_scope_does_not(tmp_path: Path) -> None:
    """DESIGN section 6."""
    old = spec_from(max_pages="10", reject=["x"])
    write_spec(tmp_path / "crawl.toml", old)
    order = resume_order(
        tmp_path, {"max-pages": "none", "delay": "1s", "workers": "3", "quiet": True}, warn=no_warning, environment={}
    )
    assert order.run.quiet and order.spec.limits.max_pages is None and order.spec.politeness.workers == 3
    assert order.spec.scope == old.scope and order.spec.seeds == old.seeds and differences(old, order.spec) == []
    with pytest.raises(SpecError, match="--scope cannot be changed on resume"):
        arguments.parse("resume", [str(tmp_path), "--scope", "free"])
    changed = differences(old, spec_from(scope="domain", drop_query=True, max_pages="99"))
    assert [difference.option.name for difference in changed] == ["scope", "reject", "drop-query"]
    assert str(changed[0]) == "--scope was host and is now domain"


def test_what_may_change() -> None:
    for name in (
        "max-pages",
        "max-depth",
        "max-time",
        "delay",
        "workers",
        "per-host",
        "timeout",
        "auth",
        "proxy",
        "quiet",
    ):
        assert BY_NAME[name].may_change, name
    for name in ("scope", "accept", "reject", "normalize", "drop-query", "follow", "mode", "order", "ignore-robots"):
        assert not BY_NAME[name].may_change, name


def test_a_folder_with_a_crawl_needs_no_seed(tmp_path: Path) -> None:
    write_spec(tmp_path / "crawl.toml", spec_from())
    order = crawl_order([], {"output": str(tmp_path)}, warn=no_warning, environment={})
    assert order.spec.seeds == ()
    with pytest.raises(SpecError, match="no seed"):
        crawl_order([], {"output": str(tmp_path), "fresh": True}, warn=no_warning, environment={})


# ---- commands


@pytest.mark.parametrize("command", list(cli.COMMANDS))
def test_every_command_has_help_with_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"usage: weft {command}" in shown and f"example:\n  weft {command}" in shown
    assert "?." not in shown


@pytest.mark.parametrize("command", ["crawl", "resume"])
def test_help_tells_the_usual_options_and_all_of_them_when_asked(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Issue 21, section 4."""

    def told(*words: str) -> tuple[set[str], int]:
        assert cli.main(list(words)) == 0
        shown = capsys.readouterr().out
        return {
            option.name for option in OPTIONS if re.search(rf"^  .*{option.flag}\b(?!-)", shown, re.MULTILINE)
        }, len(shown.splitlines())

    possible = {option.name for option in OPTIONS if command == "crawl" or option.may_change}
    usual = {option.name for option in OPTIONS if option.usual}
    assert len(usual) == 15
    names, lines = told(command, "--help")
    assert names == usual & possible and lines < 60
    for words in ([command, "--help", "all"], [command, "x", "-h", "all"], ["help", command, "all"]):
        assert told(*words)[0] == possible


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["crwal"], "unknown command 'crwal' (nearest: crawl"),
        (["https://example.org"], "weft crawl https://example.org"),
        (["status"], "DIR is missing"),
        (["status", "a", "b"], "'b' is one argument too many"),
        (["why", "a"], "URL is missing"),
        (["why"], "DIR and URL are missing"),
        (["pages", "a", "--format", "cvs"], "--format is given 'cvs' and takes"),
        (["pages", "a", "--jsno"], "unknown option --jsno"),
        (["show", "a", "b", "--body", "--text"], "not allowed with"),
        (["crawl", "\x1b[31mred\u202e", "--nope"], "unknown option --nope"),
    ],
)
def test_wrong_use_ends_with_two(words: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(words) == 2
    shown = capsys.readouterr().err
    assert shown.startswith("weft: ") and part in shown and shown.count("\n") == 1 and "\x1b" not in shown


def test_without_a_command_the_overview_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main([]) == 2 and "usage: weft" in capsys.readouterr().err
    assert cli.main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(f"  {command} " in shown for command in cli.COMMANDS)
    assert cli.main(["help", "why"]) == 0 and "usage: weft why" in capsys.readouterr().out


def test_control_characters_of_others_stay_text(capsys: pytest.CaptureFixture[str]) -> None:
    """Promise 9."""
    cli.warn("a\x1b[2J\u202eb\u00e9")
    assert capsys.readouterr().err == "weft: warning: a\\u001b[2J\\u202eb\u00e9\n"


def test_words_of_the_other_commands() -> None:
    args = arguments.parse("links", ["d", "--from-url", "a", "--to-url", "b", "--format", "csv"])
    assert args is not None and (args.folder, args.from_url, args.to_url, args.format) == ("d", "a", "b", "csv")
    args = arguments.parse("pages", ["--all", "d", "--to", "x.csv"])
    assert args is not None and args.all and args.to_file == "x.csv"
    args = arguments.parse("robots", ["https://a.test/", "--resolve", "a.test=127.0.0.1"])
    assert args is not None and arguments.options_given(args) == {"resolve": ["a.test=127.0.0.1"]}
    args = arguments.parse("add", ["d", "a", "--", "-b"])
    assert isinstance(args, argparse.Namespace) and args.seeds == ["a", "-b"]


def test_values_are_found_by_option() -> None:
    spec = spec_from(max_pages="7")
    assert value_in(spec, BY_NAME["max-pages"]) == 7
