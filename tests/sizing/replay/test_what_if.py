"""Departures from the plan: static batching, an instance that fails and returns, a window that is too small."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from sizing import plan
from sizing.base.errors import InvalidScenario
from sizing.cli import main
from sizing.replay.simulate import simulate
from sizing.replay.what_if import WhatIf, failure_text
from sizing.scenario.schema import Scenario
from tests.sizing.asking import LLAMA_8B

HARDWARE = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["bf16"], "tp": [1]}


def asked(peak_rps: float = 40.0, deployment: Any = None, **workload: Any) -> Scenario:
    lengths = {"input_tokens": 1000, "output_tokens": 200, "peak_rps": peak_rps, **workload}
    return Scenario.model_validate(
        {
            "model": LLAMA_8B,
            "workload": lengths,
            "limits": {"ttft_ms": 1000, "itl_ms": 40},
            "deployment": {**HARDWARE, **(deployment or {})},
        }
    )


def test_a_failure_is_felt_while_it_lasts_and_over_soon_after() -> None:
    calm, failing = simulate(asked(), hours=0.5), simulate(asked(), hours=0.5, what_if=WhatIf(fail_minutes=5))
    one = failing.failure
    assert calm.failure is None
    assert (one.start_s, one.end_s) == (600.0, 900.0)
    assert one.instances_left == failing.instances - 1 == calm.instances - 1
    assert one.started_again == failing.failed_over > 0
    assert failing.finished == failing.requests == calm.requests
    assert one.ttft_meanwhile_ms > one.ttft_before_ms
    assert one.stable_rps_left == pytest.approx(failing.largest_stable_rps * one.instances_left / failing.instances)
    assert f"{one.started_again} requests start again" in failure_text(one)


def test_a_system_takes_all_of_its_instances_with_it() -> None:
    """Four systems of eight GPUs, of which one may fail: a quarter of the instances is down at once."""
    scenario = asked(peak_rps=300.0, deployment={"redundancy": "system"})
    found = simulate(scenario, hours=0.2, what_if=WhatIf(fail_minutes=4, fails="system"))
    deployed, one = plan(scenario, brief=True).deployment, found.failure
    assert one.instances_lost == -(-deployed.instances // deployed.systems) > 1
    assert (
        one.instances_left == deployed.instances - one.instances_lost >= deployed.instances - deployed.spare_instances
    )
    assert one.meets_limits
    assert f"A system with {one.instances_lost} instances fails" in failure_text(one)


def test_without_another_instance_everything_waits_until_it_returns() -> None:
    found = simulate(asked(peak_rps=2.0), hours=1.0, what_if=WhatIf(fail_minutes=10))
    assert found.instances == 1
    assert found.failure.longest_queue > 2.0 * 600 * 0.8
    down = found.series.waiting[1200:1800]
    rate = np.diff(down).mean() / found.series.bin_s
    assert rate == pytest.approx(2.0, rel=0.15), "while it is down, the queue grows by what arrives"
    assert list(down) == sorted(down)
    assert found.failure.recovered_after_s > 0
    assert "there is no other" in failure_text(found.failure)


def test_a_failure_is_judged_by_the_requests_of_its_own_time() -> None:
    """Five minutes of a day without any instance: 0.3 % of the requests, which no percentile of the day sees."""
    day = simulate(asked(peak_rps=0.5), hours=24, what_if=WhatIf(fail_minutes=5))
    assert day.ttft_ms.at_percentile.value < 1000, "p95 of the whole day keeps the limit of 1 s"
    assert day.failure.requests == pytest.approx(0.5 * 300, rel=0.3)
    assert 60_000 < day.failure.ttft_ms <= 310_000
    assert not day.failure.meets_limits
    assert day.meets_limits is False
    assert "over the whole run every limit is met, but while an instance is down one is broken" in day.answer
    assert failure_text(day.failure).endswith("a limit is broken.")


def test_with_a_spare_that_carries_all_a_failure_breaks_nothing() -> None:
    spared = simulate(asked(5.0, {"spare_instances": 2}), hours=0.5, what_if=WhatIf(fail_minutes=5))
    assert spared.failure.meets_limits
    assert spared.meets_limits
    assert "every limit is met, while an instance is down, too" in spared.answer


def test_a_spare_carries_the_load_of_the_failed_one() -> None:
    spared = simulate(asked(deployment={"spare_instances": 1}), hours=0.5, what_if=WhatIf(fail_minutes=5))
    bare = simulate(asked(), hours=0.5, what_if=WhatIf(fail_minutes=5))
    assert spared.instances == bare.instances + 1
    assert spared.failure.ttft_meanwhile_ms < bare.failure.ttft_meanwhile_ms


def test_a_failure_that_never_ends_in_time_is_refused() -> None:
    with pytest.raises(InvalidScenario, match="can fail for up to 15 of the 30 minutes simulated, not for 20"):
        simulate(asked(), hours=0.5, what_if=WhatIf(fail_minutes=20))


def test_static_batching_is_worse_than_in_flight_and_says_what_it_carries() -> None:
    spread = {"output_tokens": {"p50": 100, "p95": 800}}
    in_flight = simulate(asked(peak_rps=10, **spread), hours=0.3)
    static = simulate(asked(peak_rps=10, **spread), hours=0.3, what_if=WhatIf(static_batching=True))
    assert "static batching" in static.deployment
    assert static.largest_stable_rps < 0.7 * in_flight.largest_stable_rps
    assert static.verdict == "unstable" or static.ttft_ms.at(50).value > in_flight.ttft_ms.at(50).value


@pytest.mark.parametrize("routing", ["random", "round_robin", "weighted", "least_loaded", "prefix_aware"])
def test_the_routing_of_the_scenario_is_simulated(routing: str) -> None:
    found = simulate(asked(deployment={"routing": routing}), hours=0.1)
    assert found.routing == routing, "in the words of the scenario"


def test_what_the_context_window_does_not_hold_is_refused_in_the_words_of_the_plan() -> None:
    too_long = asked(input_tokens=20_000)
    refused = simulate(too_long)
    assert refused.verdict == "infeasible"
    assert refused.ttft_ms is None
    assert refused.answer
    assert plan(too_long).answer.startswith(refused.answer)
    measured = too_long.model_copy(
        update={
            "measured": type(too_long)
            .model_validate({**too_long.model_dump(), "measured": {"system": "dgx_h100", "rps_per_system": 5}})
            .measured
        }
    )
    by_record = plan(measured)
    assert not by_record.feasible
    assert by_record.answer.startswith(refused.answer)


def test_requests_beyond_the_window_are_said_where_lengths_vary() -> None:
    said = simulate(asked(input_tokens={"p50": 2000, "p95": 9000}), hours=0.1).notes
    assert any("the model cannot serve the longest requests" in note for note in said)


def test_the_command_line_takes_both(tmp_path: Path, capsys: Any) -> None:
    path = tmp_path / "case.yaml"
    path.write_text(yaml.safe_dump(asked().model_dump(mode="json", exclude_defaults=True)))
    assert main(["simulate", str(path), "--hours", "0.2", "--fail-minutes", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["failure"]["end_s"] == pytest.approx(240 + 120)
    assert main(["simulate", str(path), "--hours", "0.2", "--fail-minutes", "2"]) == 0
    assert "Failure       One instance fails after 4 minutes, for 2 minutes" in capsys.readouterr().out
    assert main(["simulate", str(path), "--hours", "0.1", "--batching", "static"]) == 0
    assert "static batching" in capsys.readouterr().out
    assert main(["simulate", str(path), "--hours", "0.2", "--fail-minutes", "20"]) == 2
    assert "its return is to be seen" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["simulate", str(path), "--fail-minutes", "-1"])
