"""What an operator should look at: each alert with its threshold, none twice, none from what is unknown."""

import pytest

from collectors.reading.alerts import alerts
from collectors.reading.observation import Observation, State, unknown_distributions, unknown_numbers
from collectors.reading.remarks import Names, RemarkKind, remark


def observed(state: State = State.OK, **numbers: float) -> Observation:
    return Observation(
        name="t",
        state=state,
        at_s=1e9,
        window_s=300,
        age_s=numbers.pop("age_s", 5.0),
        scrape_interval_s=15.0,
        numbers=unknown_numbers() | numbers,
        distributions=unknown_distributions(),
    )


CASES = [
    ({"error_ratio": 0.02, "failed_rps": 0.1}, "2 % of the requests fail (0.1 a second)."),
    ({"arrivals_rps": 2.0, "aborted_rps": 0.2}, "About 10 % of the requests end early: given up by"),
    ({"waiting_growth_per_s": 0.1, "waiting_max": 12.0}, "The queue grows by 0.1 requests/s; up to 12 wait."),
    ({"preemptions_per_s": 0.2, "kv_usage_max": 0.99}, "Requests are preempted (0.2/s)"),
    ({"kv_usage_max": 0.97}, "The KV cache reached 97 %."),
    ({"ecc_uncorrected": 1.0}, "1 uncorrected memory error."),
    ({"age_s": 60.0}, "The newest sample is 60 s old; they come every 15 s."),
]


@pytest.mark.parametrize(("numbers", "sentence"), CASES, ids=lambda v: str(v)[:40])
def test_each_alert_is_one_sentence(numbers: dict[str, float], sentence: str) -> None:
    (alert,) = alerts(observed(**numbers))
    assert alert.sentence.startswith(sentence)


@pytest.mark.parametrize(
    "numbers",
    [
        {},
        {"error_ratio": 0.005, "failed_rps": 0.1},
        {"error_ratio": 1.0, "failed_rps": 0.001},
        {"arrivals_rps": 0.01, "aborted_rps": 0.01},
        {"waiting_growth_per_s": 0.1, "waiting_max": 0.0},
        {"kv_usage_max": 0.9},
        {"preemptions_per_s": 0.0, "gpus_with_xid": 0.0},
        {"age_s": 20.0},
    ],
)
def test_what_is_normal_or_too_little_is_none(numbers: dict[str, float]) -> None:
    assert alerts(observed(**numbers)) == ()


def test_gpus_in_trouble_are_named() -> None:
    said = remark(
        RemarkKind.GPUS_SLOWED_DOWN, gpus=2, which=Names(("a/0", "a/1")), causes=Names(("hardware slowdown",))
    )
    (alert,) = alerts(observed(gpus_throttled=2.0).model_copy(update={"remarks": (said,)}))
    assert alert.sentence == "2 GPUs are slowed down (a/0, a/1): hardware slowdown."


@pytest.mark.parametrize("state", [State.NO_DATA, State.STALE, State.UNREACHABLE])
def test_nothing_is_said_about_what_is_not_known(state: State) -> None:
    assert alerts(observed(state, gpus_with_xid=1.0)) == ()


def test_a_saturated_deployment_is_not_told_twice() -> None:
    assert alerts(observed(State.SATURATED, preemptions_per_s=1.0, kv_usage_max=1.0)) == ()
