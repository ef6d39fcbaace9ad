import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.steps.efficiency import REFERENCE_YEAR
from sizing.steps.kernel_times import covered
from sizing.steps.mixture import NONE, Trust, mixed, mixture, source_in_words, trust
from sizing.steps.times import StepTimes
from tests.sizing.steps.test_kernel_times import DENSE, QWEN, TRAFFIC, configuration, models, table

HALF = Trust(share=0.5, reach=1e9)


def steps(*decode: list[float]) -> StepTimes:
    alone = np.ones(len(decode))
    return StepTimes(decode_s=np.array(decode, dtype=float), prefill_s=alone, prefill_work_s=alone, source="x")


def test_equal_trust_is_the_geometric_mean_of_decode_steps_and_leaves_prompts_alone():
    found = mixed(steps([1.0]), np.array([[4.0]]), HALF)
    assert found.times.decode_s[0, 0] == pytest.approx(2.0)
    assert found.times.prefill_s[0] == found.times.prefill_work_s[0] == 1.0
    assert found.weight[0] == pytest.approx(0.5)
    assert found.apart[0] == found.times.apart[0] == pytest.approx(np.log(4.0))


def test_trust_halves_at_its_reach():
    one = Trust(share=0.6, reach=0.5)
    assert one.weight(np.array([0.0, 0.5, 5.0])) == pytest.approx([0.6, 0.3, 0.6 / 101])


def test_without_an_answer_of_the_tables_the_roofline_stands_alone():
    found = mixed(steps([1.0, 2.0], [1.0, 2.0]), np.array([[4.0, 8.0], [4.0, np.nan]]), HALF)
    np.testing.assert_allclose(found.times.decode_s, [[2.0, 4.0], [1.0, 2.0]])
    assert (found.weight[1], found.apart[1]) == (0.0, 0.0)
    assert np.isnan(found.times.apart[1])


def test_the_weight_of_a_configuration_does_not_depend_on_what_is_asked_of_it():
    """Apart by log 4 and log 1 where told, by log 2 where asked: root mean square of the told ones."""
    found = mixed(steps([1.0, 1.0, 1.0]), np.array([[2.0, 4.0, 1.0]]), Trust(share=0.5, reach=1.0), leading=1)
    assert found.times.decode_s.shape == (1, 1)
    assert found.apart[0] == pytest.approx(np.log(4.0) / np.sqrt(2.0))
    assert found.times.decode_s[0, 0] == pytest.approx(2.0 ** (0.5 / (1.0 + np.log(4.0) ** 2 / 2.0)))


def test_no_trust_is_the_roofline():
    found = mixed(steps([1.0]), np.array([[2.0]]), NONE)
    assert found.times.decode_s[0, 0] == 1.0
    assert found.weight[0] == 0.0


@given(
    st.lists(st.floats(1e-3, 1.0), min_size=2, max_size=6),
    st.lists(st.floats(1e-3, 1.0), min_size=6, max_size=6),
    st.floats(0.05, 0.95),
    st.floats(0.1, 2.0),
)
def test_mixed_times_lie_between_both_and_grow_with_concurrency(ours, theirs, share, reach):
    base, kernel = np.sort(ours), np.sort(theirs[: len(ours)])
    found = mixed(steps(list(base)), kernel[None, :], Trust(share=share, reach=reach)).times.decode_s[0]
    assert (np.diff(found) >= -1e-12).all()
    assert (found >= np.minimum(base, kernel) * (1 - 1e-9)).all()
    assert (found <= np.maximum(base, kernel) * (1 + 1e-9)).all()


def test_the_source_names_both_with_their_weights():
    assert source_in_words("tables", "roofline (x)", 0.62) == "kernel+roofline: 62 % tables, 38 % roofline (x)"


@pytest.mark.parametrize("year", [REFERENCE_YEAR, REFERENCE_YEAR - 1.5])
def test_older_software_slows_the_tables_as_it_slows_the_roofline(year):
    """Both as many times as slow, so that they are as far apart in any year."""
    model, row = models()[QWEN], configuration("h200_sxm", "vllm", "fp8", "fp8")
    load = np.array([[1.0, 16.0, 64.0]])
    now, then = (mixture().of_year(y).mixed(model, table([row]), TRAFFIC, load) for y in (REFERENCE_YEAR, year))
    assert then.weight[0] == pytest.approx(now.weight[0])
    assert (then.times.decode_s >= now.times.decode_s).all()


def test_a_configuration_without_measured_kernels_is_the_roofline():
    row = table([configuration()])
    found = mixture().mixed(models()[DENSE], row, TRAFFIC, np.array([[1.0, 8.0]]))
    alone = mixture().base.times(models()[DENSE], row, TRAFFIC, np.array([[1.0, 8.0]]))
    np.testing.assert_array_equal(found.times.decode_s, alone.decode_s)
    assert not len(covered(models()[DENSE], row))


def test_the_committed_trust_is_possible():
    assert 0.0 < trust().share < 1.0
    assert 0.1 < trust().reach < 3.0
