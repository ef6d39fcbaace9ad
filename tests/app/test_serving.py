"""Disaggregated serving and batch limits in the form, the figures, the tabs and on Explore."""

from streamlit.testing.v1 import AppTest

from tests.app.pages_text import answer, problems

TABS = ("Alternatives", "Why", "Throughput or latency", "Simulate", "Memory", "Export")


def test_pools_are_asked_for_and_shown_on_every_tab(size: AppTest) -> None:
    size.multiselect(key="serving").set_value(["disaggregated"]).run()
    assert " prefill + " in answer(size)
    assert not problems(size)
    for tab in TABS:
        size.session_state["view"] = tab
        size.run()
        assert not size.exception, tab


def test_choosing_a_deployment_of_pools_keeps_both_kinds(size: AppTest) -> None:
    size.multiselect(key="serving").set_value(["disaggregated"]).run()
    size.session_state["view"] = "Throughput or latency"
    size.run()
    size.button(key="use_trade").click().run()
    assert not size.exception
    assert size.multiselect(key="serving").value == ["disaggregated"]
    assert " prefill + " in answer(size)
    size.button(key="all_hardware").click().run()
    assert size.multiselect(key="serving").value == []


def test_batch_limits_are_read_and_a_bad_one_is_one_sentence(size: AppTest) -> None:
    size.text_input(key="batch").set_value("16, 32").run()
    assert not problems(size)
    size.text_input(key="batch").set_value("many").run()
    assert any("Batch limits" in p for p in problems(size))


def test_explore_shows_pools_and_says_how_they_are_drawn(size: AppTest) -> None:
    size.multiselect(key="serving").set_value(["disaggregated"]).run()
    size.switch_page("pages/explore.py").run()
    assert not size.exception
    assert any("Pools of prefill and decode instances" in c.value for c in size.caption)
