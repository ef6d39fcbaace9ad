import numpy as np
import pytest
import yaml

from calibration.fit_efficiency import FITTED, Fit, _slopes, efficiency_yaml, heavy_tailed, layout, solve
from calibration.fit_targets import targets
from sizing.catalog.files import read_yaml
from sizing.catalog.gpu_families import gpu_families
from sizing.evidence.published import evidence_frame
from sizing.steps.efficiency import efficiencies, from_mapping

SHARES = ("matrix_16", "matrix_8", "matrix_4", "memory_16", "memory_8", "memory_4", "kv", "attention", "link")


@pytest.fixture(scope="module")
def fit():
    return efficiencies()


def test_shares_of_the_datasheet_are_possible(fit):
    for name, family in fit.families.items():
        for share in SHARES:
            assert 0.05 <= getattr(family, share) <= 1.0, f"{share} of {name}"
        processor = name in gpu_families() and gpu_families()[name].processor
        assert 0.3 <= family.layer <= (50.0 if processor else 3.0)


def test_fixed_times_are_sane(fit):
    for name, engine in fit.engines.items():
        assert 0.7 <= engine.scale <= 1.5, name
        assert 1e-4 <= engine.step_s <= 5e-3, name
        assert 5e-6 <= engine.layer_s <= 2e-4, name
        assert 0 <= engine.sequence_s <= 5e-5, name
        assert 0 <= engine.request_s <= 0.3, name
        assert -0.2 <= engine.ageing <= 0.6, name
        # That of TensorRT-LLM, which was compiled ahead from the start, did not fall: a tenth a year is its noise.
        assert -0.1 <= engine.host_ageing <= 2.0, name
    assert 1e-6 <= fit.common.collective_s <= fit.common.pcie_collective_s <= 1e-4
    assert 0.3 <= fit.common.weight_only <= 1.0
    assert 0.1 <= fit.common.evenness <= 10.0


def test_the_file_says_when_and_on_what_it_was_fitted(fit):
    said = read_yaml("efficiency.yaml")["fitted"]
    assert said["rows"] > 6000
    assert f"{said['rows']:,} published measurements" in fit.note


def test_an_unknown_family_and_engine_are_the_default(fit):
    assert fit.device("nobody") is fit.families["default"]
    assert fit.overhead("nobody") is fit.engines["default"]
    assert fit.platform("vllm", "nobody").device == 1.0


def test_the_fit_is_deterministic_and_its_file_reads_back():
    """Of a few rows and evaluations: more of either repeat what these have done."""
    rows = np.arange(0, len(evidence_frame()), 60)
    tables = [t for t in targets(efficiencies(), rows) if t.mode in FITTED]
    names = layout(tables)
    first, second = (solve(tables, Fit(names, np.zeros(len(names.slots))), evaluations=4) for _ in range(2))
    assert np.any(first.vector)
    assert np.array_equal(first.vector, second.vector)
    text = efficiency_yaml(first.efficiencies, len(rows))
    assert text == efficiency_yaml(second.efficiencies, len(rows))
    read = from_mapping(yaml.safe_load(text))
    assert set(read.engines) == {"default", *names.engines}


def test_slopes_of_slots_moved_together_are_those_of_each():
    """Two departures that bear on rows of their own and a default that bears on all, with a prior each."""
    first = np.array([True, True, False, False])

    def objective(part):
        errors = np.where(first, part[1], 3.0 * part[2]) ** 2 + part[0]
        return np.concatenate([errors, heavy_tailed(part)])

    at = np.array([0.5, 1.0, -2.0])
    found = _slopes(objective, at, [[(0, np.ones(4, bool))], [(1, first), (2, ~first)]])
    by_hand = np.zeros((7, 3))
    by_hand[:4, 0] = 1.0
    by_hand[:2, 1] = 2.0 * 1.0
    by_hand[2:4, 2] = 2.0 * 9.0 * -2.0
    for i in range(3):
        by_hand[4 + i, i] = (heavy_tailed(at[i] + 1e-6) - heavy_tailed(at[i] - 1e-6)) / 2e-6
    assert found == pytest.approx(by_hand, abs=1e-5)


def test_a_large_departure_costs_little_more_than_a_medium_one():
    assert heavy_tailed(np.array([0.01])) == pytest.approx([0.01], rel=1e-3)
    assert heavy_tailed(np.array([-8.0])) ** 2 == pytest.approx(np.log(65.0))
    assert heavy_tailed(np.array([-8.0])) < 0
