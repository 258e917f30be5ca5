"""What weft graph works with: nodes that are merged, expressions, texts in XML."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from weft.derive.graph.merging import united
from weft.derive.graph.where import Filter
from weft.errors import SpecError
from weft.text.safe import in_xml


@given(st.integers(1, 30).flatmap(lambda n: st.tuples(st.just(n), st.lists(st.tuples(*[st.integers(0, n - 1)] * 2)))))
def test_merging_gives_every_node_one_representative(case: tuple[int, list[tuple[int, int]]]) -> None:
    """Whatever pairs there are, rings too: a representative stands for itself, and the result is stable."""
    size, pairs = case
    parent = united(size, pairs)
    assert all(parent[parent[node]] == parent[node] for node in range(size))
    assert list(parent) == list(united(size, pairs))
    touched = {node for pair in pairs for node in pair}
    assert all(parent[node] == node for node in range(size) if node not in touched)


@given(st.text(st.characters(codec=None), max_size=200))
def test_any_text_fits_into_xml(text: str) -> None:
    from xml.etree import ElementTree

    document = f'<a b="{in_xml(text)}">{in_xml(text)}</a>'.encode()
    element = ElementTree.fromstring(document)
    assert element.text == (element.attrib["b"] or None)


@given(st.text(max_size=60))
def test_no_expression_does_anything_but_judge(expression: str) -> None:
    try:
        one = Filter(expression, ("depth", "url"))
    except SpecError:
        return
    assert one.passing([(1, "a")]) <= {0}
    one.close()
