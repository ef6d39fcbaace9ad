"""Step times learned from windows at different loads of an independent simulation, and nothing from equal ones."""

import pytest

from reality.diagnosis.diagnose import diagnose, read_for_diagnosis
from reality.diagnosis.result import Recalibration
from tests.tools.deployment_truth import StepTimes, run
from tests.tools.diagnosis_cases import NOW, WINDOW_S, backend_of, ground


def learned(decode: float, prefill: float, profile: tuple[float, ...]) -> Recalibration | None:
    given = ground("llama-8b-l40s")
    steps = given.world.steps
    slower = StepTimes(
        base=steps.base * decode,
        sequence=steps.sequence * decode,
        context=steps.context * decode,
        prompt=steps.prompt * prefill,
    )
    history = run(given.world.changed(steps=slower, profile=profile, seconds=len(profile) * WINDOW_S))
    backend, source = backend_of(history, given)
    limits = given.planned.answer.question.limits
    reading = read_for_diagnosis(limits, source, backend=backend, at_s=NOW, clock=lambda: NOW)
    return diagnose(given.planned, reading).recalibration


@pytest.mark.parametrize(("decode", "prefill"), [(1.35, 1.1), (0.7, 0.8)])
def test_factors_are_found_from_three_loads(decode: float, prefill: float) -> None:
    found = learned(decode, prefill, (0.3, 0.6, 0.45))
    assert found.identifiable
    assert found.factor_decode == pytest.approx(decode, rel=0.06)
    assert found.factor_prefill == pytest.approx(prefill, rel=0.2)
    assert found.error_after < 0.06 < found.error_before


def test_equal_loads_teach_nothing() -> None:
    found = learned(1.35, 1.1, (0.5, 0.5, 0.5))
    assert not found.identifiable
    assert (found.factor_decode, found.factor_prefill) == (1.0, 1.0)
    assert found.error_after == found.error_before


def test_one_window_is_not_enough() -> None:
    assert learned(1.35, 1.1, (0.5,)) is None
