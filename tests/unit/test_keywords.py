"""Keywords (E23): the formula of docs/text.md, places, styles, sizes, stop words and forms of words."""

from __future__ import annotations

from turbohtml import parse

from weft.extract.keywords import Keyword, Words, keywords_of
from weft.extract.main_text import MainText, read_main_text


def keywords(
    body: str, *, title: str = "", metas: tuple[str, ...] = (), language: str = "en", number: int = 20
) -> dict[str, Keyword]:
    element = parse(f"<body>{body}").select_one("body")
    assert element is not None
    found = keywords_of(Words.of_element(element), title, metas, language, number)
    return {keyword.word: keyword for keyword in found}


def test_the_weight_is_the_weighted_density_in_percent() -> None:
    """Of ten words three are "spider": 100 * 3 / 10."""
    found = keywords("<p>spider and the spider or a spider thread is here</p>")
    assert found["spider"] == Keyword("spider", 30.0, 3)
    assert found["thread"] == Keyword("thread", 10.0, 1)
    assert set(found) == {"spider", "thread"}


def test_places_weigh() -> None:
    found = keywords(
        "<h1>alpha</h1><h2>beta</h2><h4>gamma</h4><p>delta</p>" + "<p>the the the the the the</p>",
        title="epsilon epsilon", metas=("zeta",),
    )  # fmt: skip
    weights = {word: keyword.weight for word, keyword in found.items()}
    assert weights == {"alpha": 40.0, "beta": 30.0, "gamma": 20.0, "delta": 10.0, "epsilon": 50.0, "zeta": 20.0}
    assert found["epsilon"].count == 0


def test_style_and_size_weigh() -> None:
    found = keywords(
        """<p><b>alpha</b> <i><b>beta</b></i> <span style="text-decoration: underline">gamma</span> <small>delta</small>
        <font size="+2">epsilon</font> <span style="font-size: 24px">zeta</span>
        <span style="FONT-SIZE:small">eta</span> <big><strong>theta</strong></big>
        iota <span style="font-weight:bold">kappa</span></p>"""
    )
    weights = {word: keyword.weight for word, keyword in found.items()}
    assert weights == {
        "alpha": 15.0, "beta": 15.0, "gamma": 15.0, "delta": 5.0, "epsilon": 15.0, "zeta": 15.0, "eta": 5.0,
        "theta": 22.5, "iota": 10.0, "kappa": 15.0,
    }  # fmt: skip


def test_forms_of_a_word_are_one_shown_as_most_often_written() -> None:
    found = keywords("<p>Crawlers crawlers crawler NASA Nasa NASA</p>")
    assert found["crawlers"].count == 3
    assert found["NASA"].count == 3
    slovene = keywords("<p>V mestu so mesta, in mesto je mesto.</p>", language="sl")
    assert slovene["mesto"].count == 4


def test_stop_words_numbers_and_single_letters_are_none() -> None:
    assert set(keywords("<p>the of and 2026 42 x in C++ 3D go</p>")) == {"C++", "3D"}
    assert set(keywords("<p>je bil in na crawler</p>", language="sl-SI")) == {"crawler"}
    assert set(keywords("<p>и в не паук</p>", language="ru")) == {"паук"}
    assert set(keywords("<p>και το αράχνη</p>", language="el")) == {"αράχνη"}


def test_chinese_is_read_in_pairs_and_japanese_by_its_scripts() -> None:
    assert "蜘蛛" in keywords("<p>蜘蛛网络爬虫和蜘蛛</p>", language="zh")
    assert "クローラー" in keywords("<p>このクローラーは速い。クローラー</p>", language="ja")


def test_navigation_and_scripts_have_no_keywords() -> None:
    found: MainText = read_main_text(
        parse("<title>t</title><nav>zeppelin zeppelin</nav><script>zeppelin()</script><p>turbine turbine</p>"),
        "https://web.test/a", language="en", keywords=10,
    )  # fmt: skip
    assert [keyword.word for keyword in found.keywords or ()] == ["turbine"]


def test_the_number_is_a_bound() -> None:
    body = "<p>" + " ".join(f"word{letter}" for letter in "abcdefgh")
    assert len(keywords(body, number=3)) == 3
