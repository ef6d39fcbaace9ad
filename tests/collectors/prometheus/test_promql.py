"""Writing PromQL: whatever stands in a label value, it stays a label value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.backends.scrape.promql.parse import parse
from collectors.backends.scrape.promql.tree import Selector
from collectors.prometheus.promql import MAX_POINTS, duration, matcher, matchers, quoted, regex_quoted, step_for


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_categories=["Cs"])))
def test_label_value_survives_quoting(value: str) -> None:
    tree = parse(f"up{{{matcher('job', value)}}}")
    assert isinstance(tree, Selector)
    assert [(m.label, m.value) for m in tree.matchers] == [("job", value)]


@given(st.lists(st.text(min_size=1, max_size=20), min_size=2, max_size=4, unique=True), st.text(max_size=20))
def test_alternation_matches_exactly_its_values(values: list[str], other: str) -> None:
    tree = parse(f"up{{{matcher('job', values)}}}")
    assert isinstance(tree, Selector)
    assert all(tree.matchers[0].matches(v) for v in values)
    assert tree.matchers[0].matches(other) == (other in values)


def test_injection_stays_inside_the_quotes() -> None:
    evil = '"} or vector(1) # \\'
    assert matcher("model_name", evil) == r'model_name="\"} or vector(1) # \\"'


@pytest.mark.parametrize("label", ["a-b", "1a", "", 'a="x",b', "é"])
def test_label_names_are_checked(label: str) -> None:
    with pytest.raises(ValueError, match="label name"):
        matcher(label, "x")


def test_several_values_become_an_anchored_alternation() -> None:
    assert matchers({"a": "x", "b": ["1.0", "y|z"]}) == r'a="x",b=~"1\\.0|y\\|z"'
    assert regex_quoted("a.b") == r"a\.b"
    assert quoted("\n") == r'"\n"'


@given(st.floats(min_value=1, max_value=400 * 86400), st.floats(min_value=0.1, max_value=600))
def test_step_keeps_to_the_points(span: float, interval: float) -> None:
    step = step_for(span, interval_s=interval)
    assert step >= interval
    assert span / step <= MAX_POINTS


def test_durations() -> None:
    assert (duration(300), duration(0.25), duration(7.5)) == ("300s", "250ms", "7500ms")
    with pytest.raises(ValueError, match="above 0"):
        duration(0)
