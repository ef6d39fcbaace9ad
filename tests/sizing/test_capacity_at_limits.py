"""Capacity at the limits: what is taken from MLPerf Server runs, and that the plan's own physics answers."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pandas as pd
import pytest

import sizing
from calibration.capacity_at_limits import capacity_of, held_out_capacity, judged, largest_rate, question_of
from calibration.capacity_figures import OF_RUN, TODAY, capacity_records, configuration_records, run_records
from calibration.capacity_intervals import AT_LIMITS, compared_ranges, exponents, ranged, with_ranges
from calibration.capacity_reliability import reliability_at_limits, wilson
from calibration.capacity_svg import capacity_svg
from calibration.crossvalidate import Refit
from calibration.fit_efficiency import Fit
from calibration.interval_forms import FORMS
from calibration.runs_at_limits import MLPERF_LIMITS, mlperf_runs, runs_at_limits, series_runs
from sizing.evidence.published import evidence_frame
from sizing.evidence.uncertainty import capacity_exponents
from sizing.methodology.accuracy import accuracy_figures
from sizing.scenario import Scenario
from sizing.steps.efficiency import REFERENCE_YEAR, efficiencies
from sizing.steps.mixture import Mixture, mixture
from sizing.steps.roofline import Roofline

RENEW = "run `make calibrate` and commit what it writes"
RUNS = mlperf_runs()
FOUND = pd.DataFrame(
    {
        "software": OF_RUN,
        "scheme": ["fit", "fit", "model", "model"],
        "row": [1, 2, 1, 2],
        "benchmark": "llama2-70b",
        "model": "a/b",
        "gpu": "h100_sxm",
        "engine": "trtllm",
        "precision": "fp8",
        "layout": "TP2",
        "gpus": [8, 8, 8, 8],
        "measured_rps": [100.0, 80.0, 100.0, 80.0],
        "planned_rps": [110.0, 80.0, 50.0, 0.0],
        "gpus_needed": [8.0, 8.0, 16.0, np.nan],
        "rps_low": [90.0, 85.0, 40.0, 0.0],
        "rps_high": [120.0, 99.0, 60.0, 0.0],
        "gpus_low": [6.0, 7.0, 12.0, np.nan],
        "gpus_high": [12.0, 10.0, 20.0, np.nan],
    }
)


def test_limits_are_those_of_the_benchmark() -> None:
    assert {run.benchmark for run in RUNS} == {"llama2-70b", "llama2-70b-interactive", "mixtral-8x7b"}
    assert all(run.limits == MLPERF_LIMITS[run.benchmark] for run in RUNS)
    assert MLPERF_LIMITS["llama2-70b-interactive"].itl_ms == 40.0


def test_the_rate_is_what_was_offered_or_follows_from_tokens() -> None:
    by_row = {run.row: run for run in RUNS}
    assert by_row[3104].rate_rps == 73.66
    cells = evidence_frame().loc[3291]
    assert by_row[3291].rate_rps == pytest.approx(cells["output_tokens_per_s"] / cells["osl"])


def test_runs_that_were_not_taken_to_their_limits_say_nothing_of_capacity() -> None:
    """p99 TTFT 488 of 2000 ms, p99 TPOT 84 of 200 ms; and a system of four nodes with the GPUs of one."""
    assert not {3237, 3449} & {run.row for run in RUNS}


def test_of_a_series_the_highest_rate_that_was_kept_up_with_counts() -> None:
    """ITL of 10, 11 and 15 ms at 1, 2 and 4 requests/s; at 8 the queue grows: 4/s within 15 ms, TTFT 80 ms at p50."""
    assert _series([10.0, 11.0, 15.0, 30.0]) == [(4.0, 80.0, 15.0, 50.0)]


def test_a_series_whose_latency_hardly_rose_says_nothing() -> None:
    assert _series([10.0, 11.0, 12.0, 30.0]) == []


def _series(itl_ms: list[float]) -> list[tuple[float, float | None, float, float]]:
    one = evidence_frame().loc[[6343]].assign(quality="good", source="a")
    rates = [1.0, 2.0, 4.0, 8.0]
    frame = pd.concat([one] * len(rates), ignore_index=True).assign(
        source_url_or_repo_path=[f"results/rate-{rate}.json" for rate in rates],
        request_rate_rps=rates,
        requests_per_s=[1.0, 2.0, 3.9, 6.0],
        itl_ms_mean=itl_ms,
        ttft_ms_p50=80.0,
    )
    found = [(run.rate_rps, run.limits) for run in series_runs(frame)]
    return [(rate, limits.ttft_ms, limits.itl_ms, limits.percentile) for rate, limits in found]


@pytest.mark.parametrize("true", [0.02, 3.0, 90.0])
def test_the_largest_rate_is_found_from_any_guess(true: float) -> None:
    found = largest_rate(lambda rps: rps <= true, 3.0)
    assert true / 1.01 <= found <= true


def test_no_rate_is_found_where_none_holds() -> None:
    assert largest_rate(lambda rps: False, 3.0) == 0.0


@pytest.mark.parametrize("row", [3140, 3397, 3225])
def test_the_answer_is_that_of_the_plan(row: int) -> None:
    """The plan with GPU, engine, formats and parallelism fixed needs as many GPUs for the measured rate; its range may
    round to one instance more or fewer, since caps on the batch are chosen for another peak here."""
    run = next(run for run in RUNS if run.row == row)
    found = capacity_of(run, mixture())
    scenario = question_of(run).scenario.model_dump()
    scenario["deployment"] |= {
        "engines": [found.row.engine.id],
        "precisions": [found.row.precision.id],
        "kv_precisions": [found.row.kv_precision],
        "tp": [found.row.tp],
        "pp": [1],
    }
    plan = sizing.plan(Scenario.model_validate(scenario))
    today = replace(run, software_year=REFERENCE_YEAR)
    answer = ranged(judged([today], mixture()), capacity_exponents()).iloc[0]
    assert plan.deployment.gpus == answer["gpus_needed"]
    ends = (answer["gpus_low"], answer["gpus_high"])
    assert (plan.gpus_low, plan.gpus_high) == pytest.approx(ends, abs=found.row.gpus)


def test_a_run_is_judged_by_the_fit_that_has_not_seen_it() -> None:
    """Steps half as fast in the fit without Mixtral: its runs alone lose capacity."""
    fit = efficiencies()
    halved = {k: replace(v, matrix_8=v.matrix_8 / 2, memory_8=v.memory_8 / 2) for k, v in fit.families.items()}
    without = cast(Fit, SimpleNamespace(efficiencies=replace(fit, families=halved)))
    some = [next(r for r in RUNS if r.benchmark == name) for name in ("llama2-70b", "mixtral-8x7b")]
    refit = Refit(scheme="model", name="47B, 32 layers", fit=without, held={}, group={})
    every = held_out_capacity(some, mixture(), [refit], [Mixture(Roofline(without.efficiencies), mixture().trust)])
    found = every[every["software"] == TODAY]
    seen, unseen = (found[found["scheme"] == s]["planned_rps"].to_numpy() for s in ("fit", "model"))
    order = found[found["scheme"] == "model"]["benchmark"].tolist()
    assert unseen[order.index("llama2-70b")] == seen[0]
    assert unseen[order.index("mixtral-8x7b")] < 0.8 * seen[1]


def test_older_software_carries_less_than_that_of_today() -> None:
    """A run of 2024 planned like for like, and as if it were installed now."""
    run = next(r for r in RUNS if r.benchmark == "llama2-70b" and r.software_year < 2025.0)
    then, now = judged([run, replace(run, software_year=REFERENCE_YEAR)], mixture())["planned_rps"]
    assert 0.5 * now < then < now


def _at_ends(measured: list[float]) -> pd.DataFrame:
    """A configuration per run; planned 100 requests/s on 8 GPUs, 200 with the fast end of the steps and 50 with the
    slow one."""
    frame = pd.DataFrame({"measured_rps": measured, "layout": [str(n) for n in range(len(measured))]})
    names = dict.fromkeys(("benchmark", "model", "gpu", "engine", "precision"), "a")
    rates = {"planned_rps": 100.0, "fast_rps": 200.0, "slow_80_rps": 50.0, "slow_rps": 50.0, "slow_95_rps": 50.0}
    ends = {**rates, "layout_gpus": 2, "gpus_needed": 8.0, "gpus": 8}
    return frame.assign(scheme="unseen", software=OF_RUN, **names, **ends)


def test_the_range_is_as_wide_as_reality_lies_far_by_its_step_times() -> None:
    """More than a tenth of 20 runs lies at 100 x 2^1.5, half as far again as the fast end, and more than a tenth at
    100 / 2^0.5, half as far as the slow one. Where every run is as planned, so is the range."""
    ends = exponents(_at_ends([100.0 / 2**0.5] * 4 + [100.0] * 12 + [100.0 * 2**1.5] * 4))
    assert (ends["low_factor"], ends["high_factor"]) == (1.5, 0.5)
    assert set(exponents(_at_ends([100.0] * 20)).values()) == {0.0}


def test_what_was_called_is_judged_by_other_configurations_and_sources() -> None:
    """Of three sources each has 20 configurations: 14 as planned, 4 at half of it and 2 at an eighth. By the others
    what is called 80 % is half of the plan, and 95 % an eighth; what is called 90 % is an eighth, too, but for the
    runs that lie there themselves: without one of them nine of ten and one more lie at half. Of a source far below all
    others nothing holds by these."""
    runs = pd.concat([_at_ends([100.0] * 14 + [50.0] * 4 + [12.5] * 2).assign(source=name) for name in "abc"])
    rates = {"slow_80_rps": 50.0, "slow_rps": 25.0, "slow_95_rps": 12.5}
    runs = runs.assign(layout=[str(n) for n in range(len(runs))], **rates).reset_index(drop=True)
    records = {record["called_pct"]: record for record in reliability_at_limits(runs)}
    assert [records[called]["held"] for called in (50, 80, 90, 95)] == [42, 54, 54, 60]
    assert records[80]["held_pct"] == records[80]["held_by_configuration_pct"] == 90.0
    assert records[80]["held_low_pct"] < 90.0 < records[80]["held_high_pct"]
    odd = runs.assign(measured_rps=runs["measured_rps"].where(runs["source"] != "c", 1.0))
    assert {r["called_pct"]: r["held_other_sources_pct"] for r in reliability_at_limits(odd)}[95] == 66.7


def test_the_interval_of_a_share_is_wilsons() -> None:
    """9 of 10: Wilson's interval is 0.596 to 0.982."""
    assert wilson(9, 10) == pytest.approx((0.596, 0.982), abs=0.001)


def test_gpus_at_the_ends_follow_from_the_rates_there() -> None:
    """An instance carries 25 requests/s on 2 GPUs. 100 take 100 / (25 x 2^1.5) = 1.41, so 2 instances at the fast end
    and 100 / (25 / 2) = 8 at the slow one."""
    one = ranged(_at_ends([100.0]), {"low_factor": 1.5, "high_factor": 1.0}).iloc[0]
    assert (one["gpus_low"], one["gpus_high"]) == (4.0, 16.0)
    assert (one["rps_low"], one["rps_high"]) == pytest.approx((50.0, 100.0 * 2**1.5))


def test_a_range_does_not_learn_from_its_own_configuration() -> None:
    """A run at 16 times the planned rate, four times as far away as the fast end, among others as planned: by those it
    takes the 128 GPUs that it was planned with; the others may take one instance of 2 GPUs, by that run."""
    wide = with_ranges(_at_ends([100.0] * 12 + [1600.0]).assign(gpus_needed=128.0))
    assert wide["gpus_low"].iloc[-1] == 128.0
    assert wide["gpus_low"].iloc[0] == 2.0


def test_the_forms_of_the_range_are_compared_on_what_is_unseen() -> None:
    """Twelve runs as planned and one far above, which no form of the others' runs can hold; as many seen in the fit,
    which count for nothing."""
    runs = _at_ends([100.0] * 12 + [1600.0])
    compared = compared_ranges(pd.concat([runs, runs.assign(scheme="fit", measured_rps=1.0)], ignore_index=True))
    assert [record["form"] for record in compared] == list(FORMS)
    for record in compared:
        assert (record["mode"], record["rows"], record["configurations"]) == (AT_LIMITS, 13, 13)
        assert (
            record["inside_80_pct"] == record["inside_80_by_configuration_pct"] == pytest.approx(100 * 12 / 13, abs=0.1)
        )
    assert max(record["width_80_pct"] for record in compared) > 0


def test_summaries_count_what_cannot_be_served_as_an_error() -> None:
    seen, unseen = capacity_records(FOUND)
    assert (seen["median_pct"], seen["gpus_over_used"], seen["inside_80_pct"]) == (5.0, 1.0, 100.0)
    assert (unseen["median_pct"], unseen["gpus_over_used"], unseen["inside_80_pct"]) == (75.0, 2.0, 0.0)
    assert (seen["rate_inside_80_pct"], unseen["rate_inside_80_pct"]) == (50.0, 0.0)
    (only,) = configuration_records(FOUND)
    assert (only["rows"], only["planned_over_measured"]) == (2, 0.25)
    assert [r["scheme"] for r in run_records(FOUND)] == ["model", "model"]
    assert run_records(FOUND)[1]["gpus_needed"] is None


def test_the_picture_has_a_point_per_run_that_is_served() -> None:
    picture = capacity_svg(run_records(FOUND), "Planned against measured.")
    assert picture.count("<circle") == 1 + 1  # with the one of the legend
    assert "<title>Planned against measured.</title>" in picture
    assert "prefers-color-scheme" in picture


def test_the_code_reproduces_the_recorded_capacities() -> None:
    """Some runs are planned again by the committed fit: a change of the engine that moves its capacity shows here."""
    recorded = accuracy_figures()["capacity_check"]
    by_row = {run.row: run for run in runs_at_limits()}
    planned = judged([by_row[row] for row in recorded["rows"]], mixture())["planned_rps"].tolist()
    # the search stops at 1 %, and the committed parameters have three digits
    assert planned == pytest.approx(recorded["planned_rps"], rel=0.03), RENEW
