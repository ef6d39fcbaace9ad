"""Closed loops on prefill and decode instances: by hand from plain step times, and as rows of a table."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sizing.evidence.expected import front_end
from sizing.evidence.layouts import Instances
from sizing.evidence.point_table import point_table
from sizing.evidence.points import points_of
from sizing.evidence.pools import disaggregated_concurrency, of_prompts
from sizing.evidence.predict import predict_points
from sizing.evidence.protocols import FULL_SHARE, STARTING, FrontEnd
from sizing.evidence.published import evidence_frame
from sizing.steps.efficiency import REFERENCE_YEAR
from sizing.steps.mixture import mixture
from sizing.steps.times import StepTimes
from tests.tools.load_model.published import published

ROW = {
    "engine": "dynamo-sglang",
    "model": "deepseek-ai/DeepSeek-R1",
    "weight_precision": "fp8",
    "gpu": "h200_sxm",
    "gpus": 24,
    "isl": 4000,
    "osl": 1001,
    "mode": "fixed_concurrency",
    "concurrency_or_batch": 64,
}
AT_ONCE = FrontEnd(request_s=np.zeros((1, 1)), prompt_token_s=0.0, first_token_steps=np.zeros((1, 1)))


class Constant:
    """Steps of 20 ms and 0.1 ms for each sequence, prompts of 0.5 s that occupy an instance for 0.4 s."""

    name = "by hand"

    def point_times(self, points, concurrency):
        ones = np.ones(len(concurrency))
        steps = 0.020 + 0.0001 * concurrency
        return StepTimes(decode_s=steps, prefill_s=0.5 * ones, prefill_work_s=0.4 * ones, source=self.name)


def points(**cells):
    found, errors = points_of(pd.DataFrame([{**ROW, **cells}]))
    assert errors == {}
    return found


def two_and_four(concurrency):
    """Two prefill instances of four GPUs and four decode instances of four."""
    for point in points(gpu="b200_sxm", concurrency_or_batch=concurrency):
        sizes = point.configuration.tp, point.instances, point.prefill.configuration.tp, point.prefill.count
        if sizes == (4, 4.0, 4, 2.0):
            return point_table([point])
    raise AssertionError


def test_few_requests_wait_for_no_one():
    """8 requests, 2 on each decode instance at most: 20.2 ms x 1,000 gaps and half a second of prefill."""
    table = two_and_four(8)
    moved = disaggregated_concurrency(table, AT_ONCE, Constant())
    itl = moved.itl_s.item()
    assert 0.0201 < itl < 0.0202
    first = STARTING * 7 * 0.4 / 2  # what eight that begin together wait on two instances
    assert moved.ttft_s.item() == pytest.approx(0.5 + first, abs=0.05), "and moving the KV cache"
    assert moved.rps.item() * 4 == pytest.approx(FULL_SHARE * 8 / moved.e2e_s.item())


def test_what_prefill_cannot_let_through_waits_there():
    """Two instances let 2 / 0.4 s = 5 requests/s through, however many wait: n decode on each of four instances where
    n = 5 / 4 x 1,000 x (20 ms + 0.1 ms x n), which is 28.57; of 4,000 requests all others wait for a first token."""
    found = disaggregated_concurrency(two_and_four(4000), AT_ONCE, Constant())
    assert found.rps.item() * 4 == pytest.approx(FULL_SHARE * 5.0)
    assert found.itl_s.item() == pytest.approx(0.020 + 0.0001 * 28.57, rel=0.01)
    assert found.ttft_s.item() == pytest.approx((4000 - 4 * 28.57) / 5.0, rel=0.01)


@pytest.mark.parametrize("concurrency", [4, 64, 256, 2048])
def test_requests_in_flight_are_those_that_wait_and_those_that_decode(concurrency):
    """Little's law over the whole system."""
    found = disaggregated_concurrency(two_and_four(concurrency), AT_ONCE, Constant())
    assert found.rps.item() * 4 / FULL_SHARE * found.e2e_s.item() == pytest.approx(concurrency)
    assert found.e2e_s.item() == pytest.approx(found.ttft_s.item() + 1000 * found.itl_s.item())


def test_every_split_uses_all_gpus_and_holds_the_weights():
    """DeepSeek-R1 in FP8 takes five H200 at least."""
    found = points()
    assert {p.gpus for p in found} == {24.0}
    assert min(p.configuration.gpus for p in found) == min(p.prefill.configuration.gpus for p in found) == 8
    assert {(p.instances, p.prefill.count) for p in found} >= {(1.0, 2.0), (2.0, 1.0), (1.0, 1.0)}


def test_prefill_instances_are_points_of_their_own():
    some = points()[:3]
    table = of_prompts(some)
    assert [p.configuration for p in table.points] == [p.prefill.configuration for p in some]
    assert all(p.prefill is None for p in table.points)


@pytest.mark.parametrize(
    "cells",
    [
        {"engine": "sglang", "gpus": 8},  # one server
        {"tp": 8},  # as stated
        {"engine": "dynamo-trtllm", "gpu": "mi300x"},  # not on this family
        {"mode": "offline_max_throughput"},
    ],
)
def test_only_closed_loops_that_leave_it_open_are_split(cells):
    found = points(**cells)
    assert not any(p.prefill or p.open_split for p in found)


@pytest.mark.parametrize("gpus", [16, 24])
def test_replicas_compete_where_no_orchestrator_is_named(gpus):
    """Two servers or three: one instance over both is one of the choices."""
    found = points(engine="sglang", gpus=gpus)
    assert {p.configuration.tp for p in found if not p.prefill} == ({8, 16} if gpus == 16 else {8})
    assert any(p.prefill for p in found)
    assert all(p.prefill for p in points(gpus=gpus))


def test_the_answer_names_the_instances_and_is_less_sure():
    split, stated = (
        predict_points(pd.DataFrame([{**ROW, **cells}])).iloc[0]
        for cells in ({"gpus": 16}, {"engine": "sglang", "gpus": 16, "tp": 8})
    )
    assert "prefill and decode instances not stated: " in split["source"]
    assert "not stated" not in stated["source"]
    widths = [row["itl_ms_high"] / row["itl_ms_low"] for row in (split, stated)]
    assert widths[0] > widths[1]


def test_a_run_under_an_orchestrator_that_is_not_split_says_so():
    """Offline, and with a TP."""
    rows = [{**ROW, "gpus": 16, "tp": 8}, {**ROW, "gpus": 16, "mode": "offline_max_throughput"}]
    assert predict_points(pd.DataFrame(rows))["source"].str.endswith("prefill and decode in the same instances").all()


def test_more_gpus_serve_no_fewer():
    rows = [{**ROW, "gpus": 8 * n, "concurrency_or_batch": 512} for n in (2, 3, 4, 6, 9)]
    served = predict_points(pd.DataFrame(rows))["output_tokens_per_s"].to_numpy()
    assert (np.diff(served) > 0).all()


def test_a_closed_loop_of_pools_is_that_of_the_pools_of_a_plan():
    """Published runs, with the split that they state: the load model of plans and this protocol give one answer. Its
    rate is lower by the idle slots at the end of a run; few runs, next to what memory holds, differ by more."""
    itl, rate = [], []
    for run in list(published())[::5]:
        frame = evidence_frame().loc[[run.row]].assign(tp=np.nan)
        (first, *_), _ = points_of(frame)
        narrow = "fp8" if first.configuration.precision.is_narrow else "fp16"
        base = replace(first.configuration, kv_precision=narrow)
        kinds = [
            Instances(configuration=replace(base, tp=tp, ep=ep, dp=dp), count=float(count))
            for count, tp, ep, dp in (run.prefill, run.decode)
        ]
        prefill, decode = kinds
        point = replace(first, configuration=decode.configuration, instances=decode.count, prefill=prefill)
        table = point_table([replace(point, software_year=REFERENCE_YEAR)])
        found = disaggregated_concurrency(table, front_end(table, mixture()), mixture())
        itl.append(found.itl_s.item() * 1e3 / run.predicted[0])
        rate.append(found.rps.item() * decode.count * first.output_tokens / run.predicted[1])
    assert len(itl) > 40
    assert np.median(itl) == pytest.approx(1.0, abs=0.03)
    assert np.median(rate) == pytest.approx(FULL_SHARE, abs=0.03)
    assert np.quantile(np.abs(np.log(itl)), 0.8) < 0.1


def test_any_number_of_gpus_is_split():
    """A billion, as a slip of the finger has it: in time, and most of them serve."""
    found = points(gpus=10**9)
    assert 0 < len(found) < 5_000
    assert all(0.98e9 < p.gpus <= 1e9 for p in found)
    assert predict_points(pd.DataFrame([{**ROW, "gpus": 10**9}]))["itl_ms"].item() > 0


def test_a_prompt_is_moved_over_the_network_beyond_one_domain():
    """DeepSeek-R1's cache of 4,000 tokens: within 8 GPUs of one server over NVLink, of two servers over 50 GB/s."""
    both = [points(gpus=n, gpu="b200_sxm", concurrency_or_batch=1) for n in (8, 16)]
    found = []
    for each in both:
        alike = next(p for p in each if p.configuration.tp == p.prefill.configuration.tp == 4)
        one = replace(alike, instances=1.0, prefill=replace(alike.prefill, count=alike.gpus / 4 - 1))
        found.append(disaggregated_concurrency(point_table([one]), AT_ONCE, Constant()))
    assert found[0].ttft_s.item() < found[1].ttft_s.item()
