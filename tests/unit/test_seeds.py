"""Start addresses: the SEED rule of DESIGN section 6, and every bad input of the issue's section 10."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.errors import SpecError
from weft.seeds.lists import MAX_LINE_B, Seed, default_folder, read_seeds


def no_warning(message: str) -> None:
    raise AssertionError(f"unexpected warning: {message}")


def only(*texts: str) -> Seed:
    (seed,) = read_seeds(texts, no_warning)
    return seed


@pytest.mark.parametrize(
    ("text", "url", "fallback"),
    [
        ("https://example.org", "https://example.org/", None),
        (" HTTP://Example.ORG:80/a#b ", "http://example.org/a", None),
        ("http:/example.org", "http://example.org/", None),
        ("https:/example.org/a", "https://example.org/a", None),
        ("HTTP:\\\\example.org\\a", "http://example.org/a", None),
        ("https:///example.org/list.txt", "https://example.org/list.txt", None),
        ("example.org", "https://example.org/", "http://example.org/"),
        ("example.org:8080", "https://example.org:8080/", "http://example.org:8080/"),
        ("example.org:80", "http://example.org/", None),
        ("example.org/docs/?a=1", "https://example.org/docs/?a=1", "http://example.org/docs/?a=1"),
        ("localhost", "https://localhost/", "http://localhost/"),
        ("localhost:8000/x.html", "https://localhost:8000/x.html", "http://localhost:8000/x.html"),
        ("127.0.0.1", "https://127.0.0.1/", "http://127.0.0.1/"),
        ("::1", "https://[::1]/", "http://[::1]/"),
        ("[::1]:8080", "https://[::1]:8080/", "http://[::1]:8080/"),
        ("b\u00fccher.example", "https://xn--bcher-kva.example/", "http://xn--bcher-kva.example/"),
    ],
)
def test_urls_and_hosts(text: str, url: str, fallback: str | None) -> None:
    """With :// it is a URL; anything that is no file is a host, https first and then http."""
    seed = only(text)
    assert (seed.url, seed.fallback, seed.source) == (url, fallback, "")


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("ftp://example.org/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("https://", "is not a URL"),
        ("http://exa mple.org/", "is not a URL"),
        ("http://example.org:99999/", "is not a URL"),
        ("http://me:hush@example.org/", "--auth"),
        ("me:hush@example.org", "neither a URL, nor a host"),
        ("mailto:a@b.example", "neither a URL, nor a host"),
        ("javascript:alert(1)", "neither a URL, nor a host"),
        ("http:example.org", "neither a URL, nor a host"),
        ("htp:/example.org", "a URL begins with https:// or http://"),
        ("htp:", "a URL begins with https:// or http://"),
        ("htps:/x", "a URL begins with https:// or http://"),
        ("example.org:", "a URL begins with https:// or http://"),
        ("htp:///example.org", "only http and https"),
        ("http:/me:hush@example.org/", "--auth"),
        ("https:\\\\me:hush@example.org/", "--auth"),
        ("two words", "neither a URL, nor a host"),
        ("http://example.org;4;5;100", "no host in it that can exist"),
        ("", "neither a URL, nor a host"),
        ("?", "neither a URL, nor a host"),
        ("a\0b", "not UTF-8 text"),
        ("http://a.test/b\tc", "control characters"),
        ("a\x1b[2Jb", "not UTF-8 text"),
        ("x" * 5_000, "neither a URL, nor a host"),
        ("missing.txt", "no file of that name"),
        ("lists/missing", "no file of that name"),
        ("./missing", "no file of that name"),
        ("/missing/list", "no file of that name"),
    ],
)
def test_a_bad_seed_is_an_error(text: str, part: str) -> None:
    with pytest.raises(SpecError) as raised:
        read_seeds([text, "https://example.org/"], no_warning)
    assert part in str(raised.value) and raised.value.exit_code == 2 and "\x1b" not in str(raised.value)
    assert "hush" not in str(raised.value) or not text.startswith("http")


def test_no_seed() -> None:
    with pytest.raises(SpecError, match="no seed"):
        read_seeds([], no_warning)


def test_a_folder_of_that_name_leaves_it_a_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``weft crawl example.org`` twice in the same place: the first one made a folder of that name."""
    monkeypatch.chdir(tmp_path)
    Path("example.org").mkdir()
    assert only("example.org").url == "https://example.org/"
    Path("lists").mkdir()
    for name in (f"{tmp_path}/lists", "lists/", "./lists"):
        with pytest.raises(SpecError, match="is a folder"):
            read_seeds([name], no_warning)


@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_a_file_is_a_list(tmp_path: Path, bom: bytes) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(
        bom
        + b"https://a.example/#top\r\n\r\n# a comment\n  b.example   # with a remark\nhttps://a.example/\nhttps://c.example/x"
    )
    seeds = read_seeds([str(path), "https://c.example/x", "d.example"], no_warning)
    assert [(seed.url, seed.line) for seed in seeds] == [
        ("https://a.example/", 1),
        ("https://b.example/", 4),
        ("https://c.example/x", 6),
        ("https://d.example/", 3),
    ]
    assert seeds[0].source == str(path) and seeds[1].fallback == "http://b.example/"


def test_a_file_of_windows_in_utf_16(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("https://a.example/\r\nb.example\r\n", encoding="utf-16")
    assert [seed.url for seed in read_seeds([str(path)], no_warning)] == ["https://a.example/", "https://b.example/"]


def test_one_bad_line_is_told_with_its_number_and_the_others_go_on(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(
        b"https://a.example/\nno url at all\nftp://b.example/\nhttp://c.example;4;5;100\nhttp://d.example/\xe9\nhttps://e.example/"
    )
    warnings: list[str] = []
    assert [seed.url for seed in read_seeds([str(path)], warnings.append)] == [
        "https://a.example/",
        "https://e.example/",
    ]
    assert [warning.removeprefix(f"{path}:")[:3] for warning in warnings] == ["2: ", "3: ", "4: ", "5: "]
    assert "'no url at all' is neither a URL, nor a host" in warnings[0]


def test_many_bad_lines_do_not_flood_the_screen(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("https://a.example/\n" + "no url\n" * 1_000)
    warnings: list[str] = []
    read_seeds([str(path)], warnings.append)
    assert len(warnings) == 21 and "1000 lines" in warnings[-1]


def test_a_line_without_end_is_one_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(
        b"https://a.example/" + b"a" * 10 * MAX_LINE_B + b"\nhttps://b.example/\nhttps://c.example/" + b"b" * 99_999
    )
    warnings: list[str] = []
    assert [(seed.url, seed.line) for seed in read_seeds([str(path)], warnings.append)] == [("https://b.example/", 2)]
    assert len(warnings) == 2 and all(len(warning) < 300 for warning in warnings)


@pytest.mark.parametrize(
    ("content", "part"),
    [
        (b"", "it is empty"),
        (b"\n\n# nothing\n\xef\xbb\xbf", "no line that is"),
        (b"# nothing\n\r\n", "it is empty"),
        (b"no url\nnone here either", "no line that is a URL or a host"),
        (b"\x7fELF\x01\x01\x00\x00", "is binary"),
        (b"https://a.example/\n\x00\x01\x02", "is binary"),
        (b"\xff\xfe\x00\xd8\x00\xd8", "is binary"),
    ],
)
def test_a_file_without_seeds(tmp_path: Path, content: bytes, part: str) -> None:
    path = tmp_path / "seeds.txt"
    path.write_bytes(content)
    with pytest.raises(SpecError, match=part) as raised:
        read_seeds([str(path)], lambda _: None)
    assert str(path) in str(raised.value)


def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "seeds.txt"
    path.write_text("https://a.example/")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    with pytest.raises(SpecError, match="cannot read the seeds file"):
        read_seeds([str(path)], no_warning)


@pytest.mark.parametrize(
    ("text", "folder"),
    [
        ("https://www.example.org:8080/a", "www.example.org_8080"),
        ("https://www.example.org:443/a", "www.example.org"),
        ("http://[::1]:8080/", "__1_8080"),
        ("[::1]:80", "__1"),
        ("http://../", "crawl"),
        ("http://.git/", "git"),
        ("http://127.0.0.1:9/", "127.0.0.1_9"),
        ("https://127.0.0.1:80/", "127.0.0.1_80"),
    ],
)
def test_the_folder_of_a_crawl_is_the_host_of_its_first_seed(text: str, folder: str) -> None:
    assert default_folder(only(text)) == folder


@given(st.text(max_size=60) | st.text(alphabet="ab.:/@[]#?%\\ \t-", max_size=20))
def test_no_text_breaks_it(text: str) -> None:
    """Whatever is typed, it is a seed of http or https, or a SpecError."""
    try:
        seeds = read_seeds([text], lambda _: None)
    except SpecError:
        return
    assert all(seed.url.startswith(("http://", "https://")) and seed.url.isascii() for seed in seeds)


@given(st.binary(max_size=200))
def test_no_file_breaks_it(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "seeds"
    path.write_bytes(content)
    try:
        seeds = read_seeds([str(path)], lambda _: None)
    except SpecError:
        return
    assert seeds and all(seed.source == str(path) for seed in seeds)
