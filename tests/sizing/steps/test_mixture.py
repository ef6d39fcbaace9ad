import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sizing.steps.mixture import StepTrust, Trust, Trusts, aged, mixed, source_in_words, trusts
from sizing.steps.times import StepTimes

HALF = StepTrust(decode=Trust(share=0.5, reach=1e9), prompt=Trust(share=0.5, reach=1e9))


def steps(decode, prefill=1.0, work=0.5, launch=0.0, stall=0.0):
    return StepTimes(
        decode_s=np.atleast_2d(np.array(decode, dtype=float)),
        prefill_s=np.array([prefill]),
        prefill_work_s=np.array([work]),
        prompt_step_s=np.array([launch]),
        stall_s=np.array([stall]),
        source="x",
    )


def test_equal_trust_is_the_geometric_mean():
    found = mixed(steps([1.0], 2.0, 3.0, 0.2), steps([4.0], 8.0, 12.0), HALF)
    assert found.times.decode_s[0, 0] == pytest.approx(2.0)
    assert found.times.prefill_s[0] == pytest.approx(4.0)
    assert found.times.prefill_work_s[0] == pytest.approx(6.0)
    assert found.times.prompt_step_s[0] == pytest.approx(0.1), "the tables count launches as work"
    assert found.weight[0] == pytest.approx(0.5)
    assert found.apart[0] == pytest.approx(np.log(4.0))


def test_the_share_of_the_work_for_which_ranks_wait_is_that_of_the_roofline():
    """Half of 3 s waits in the roofline, so half of the 6 s of both."""
    found = mixed(steps([1.0], work=3.0, stall=1.5), steps([4.0], work=12.0, stall=0.1), HALF)
    assert found.times.stall_s[0] == pytest.approx(3.0)


def test_trust_halves_at_its_reach():
    trust = Trust(share=0.6, reach=0.5)
    assert trust.weight(np.array([0.0, 0.5, 5.0])) == pytest.approx([0.6, 0.3, 0.6 / 101])


@pytest.mark.parametrize("hole", [{"decode": [np.nan]}, {"prefill": np.nan}, {"work": np.nan}, {"work": 0.0}])
def test_without_an_answer_of_the_tables_the_roofline_stands_alone(hole):
    found = mixed(steps([1.0]), steps(**({"decode": [2.0]} | hole)), HALF)
    assert found.times.decode_s[0, 0] == 1.0
    assert found.times.prefill_s[0] == 1.0
    assert (found.weight[0], found.apart[0]) == (0.0, 0.0)


def test_no_trust_is_the_roofline():
    found = mixed(steps([1.0]), steps([2.0]), trusts().none().of(True))
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
    trust = Trust(share=share, reach=reach)
    found = mixed(steps(base), steps(kernel), StepTrust(decode=trust, prompt=trust)).times.decode_s[0]
    assert (np.diff(found) >= -1e-12).all()
    assert (found >= np.minimum(base, kernel) * (1 - 1e-9)).all()
    assert (found <= np.maximum(base, kernel) * (1 + 1e-9)).all()


def test_older_software_slows_the_tables_as_it_slows_the_roofline():
    found = aged(steps([2.0], 4.0, 6.0, stall=3.0), steps([1.2], 1.5, 1.0), steps([1.0], 1.0, 0.5))
    assert found.decode_s[0, 0] == pytest.approx(2.4)
    assert found.prefill_s[0] == pytest.approx(6.0)
    assert found.prefill_work_s[0] == pytest.approx(12.0)
    assert found.stall_s[0] == pytest.approx(6.0)


def test_the_source_names_both_with_their_weights():
    assert source_in_words("tables", "roofline (x)", 0.62) == "kernel+roofline: 62 % tables, 38 % roofline (x)"


def test_dense_models_and_mixtures_of_experts_have_their_own_trust_row_by_row():
    dense, moe = (StepTrust(decode=Trust(share=s, reach=1e9), prompt=Trust(share=s, reach=1e9)) for s in (0.5, 1.0))
    both = Trusts(dense=dense, moe=moe, modes=frozenset())
    base, kernel = steps([1.0, 1.0]), steps([4.0, 4.0])
    found = mixed(base, kernel, both.of(np.array([False, True])))
    np.testing.assert_allclose(found.times.decode_s[:, 0], [2.0, 4.0])  # sqrt(1 x 4), and the tables alone
    np.testing.assert_allclose(found.weight, [0.5, 1.0])
    alone = mixed(steps([1.0]), steps([4.0]), both.of(True))
    assert alone.times.decode_s[0, 0] == pytest.approx(4.0)


def test_committed_trust_is_possible():
    found = trusts()
    for one in (found.dense.decode, found.dense.prompt, found.moe.decode, found.moe.prompt):
        assert 0.0 < one.share < 1.0
        assert 0.1 < one.reach < 3.0
    assert found.modes <= {"static_batch", "fixed_concurrency", "offline_max_throughput", "fixed_rate"}
