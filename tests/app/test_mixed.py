"""A mixed fleet on Size: asked for in the form, shown beside the plan, and wrong numbers said at the field."""

from streamlit.testing.v1 import AppTest

from tests.app.pages_text import answer, problems
from tests.sizing.mixed import pools
from ui.size.mixed import pools_table


def test_a_mixed_fleet_is_asked_for_and_shown(size: AppTest) -> None:
    assert not any("Mixed fleet" in one.value for one in size.markdown)
    size.text_input(key="mixed").set_value("2").run()
    assert not problems(size)
    assert not size.exception
    assert any("Mixed fleet" in one.value for one in size.markdown)
    assert "fleet" in answer(size)
    size.text_input(key="mixed").set_value("9").run()
    assert any("Fleets" in one for one in problems(size))


def test_pools_on_two_gpu_types_are_drawn_as_a_table() -> None:
    apart = pools.answer().plan.mixed
    assert apart.apart is not None
    shown = pools_table(apart.apart, str)
    assert list(shown["gpus"]) == ["64 x h100_sxm", "136 x h20"]
    assert list(shown["pool"]) == ["prefill", "decode"]
