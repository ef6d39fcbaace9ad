"""What must hold for every scenario, checked on random ones with the real engine."""

import json
import os

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sizing.catalog.precisions import precisions
from tests.commands import run_process
from tests.sizing.asking import ALL, LLAMA_8B, LLAMA_70B, answer, ask, gpus_that_serve, raw

MODELS = st.sampled_from(
    [
        LLAMA_8B,
        LLAMA_70B,
        "google/gemma-3-27b-it",
        "mistralai/Mixtral-8x7B-Instruct-v0.1",
        "openai/gpt-oss-120b",
        "Qwen/Qwen3-30B-A3B",
    ]
)
HARDWARE = st.sampled_from(["h100_sxm", "a100_sxm_80g", "b200_sxm", "mi300x", "l40s", "h200_sxm"])
RATES = st.floats(0.01, 500)
PROMPTS, OUTPUTS = st.integers(10, 7000), st.integers(1, 1500)
TTFT, ITL = st.floats(50, 20_000), st.floats(5, 500)
MODES = st.sampled_from(["streaming", "streaming", "sequential", "offline"])


@st.composite
def scenarios(draw, **fixed):
    """The keys of a realistic scenario on one or two GPU types."""
    workload = {
        "input_tokens": draw(PROMPTS),
        "output_tokens": draw(OUTPUTS),
        "peak_rps": draw(RATES),
        "mode": draw(MODES),
        "arrivals": {"gamma": {"cv": draw(st.sampled_from([0.5, 1.0, 2.0]))}},
    }
    limits = {
        "ttft_ms": draw(TTFT),
        "itl_ms": draw(ITL),
        "e2e_ms": draw(st.none() | st.floats(500, 120_000)),
        "percentile": draw(st.sampled_from([50, 90, 95, 99])),
    }
    deployment = {
        "gpus": draw(st.lists(HARDWARE, min_size=1, max_size=2, unique=True)),
        "spare_instances": draw(st.integers(0, 2)),
        "max_utilization": draw(st.sampled_from([0.6, 0.9, 1.0])),
        "location": draw(st.sampled_from(["on_prem", "cloud"])),
    }
    return raw(draw(MODELS), workload=workload, limits=limits, deployment={**deployment, **fixed})


def having(keys, section, **values):
    return {**keys, section: {**keys[section], **values}}


def cost(found):
    """Cost of a plan; infinite when nothing serves or no price is known."""
    return (
        float("inf")
        if found.cost is None or found.cost.hardware_usd_per_month is None
        else found.cost.hardware_usd_per_month
    )


@given(keys=scenarios(objective="gpus"), factor=st.floats(1, 5))
def test_more_requests_never_need_fewer_gpus(keys, factor):
    less, more = (answer(having(keys, "workload", peak_rps=keys["workload"]["peak_rps"] * f)) for f in (1, factor))
    assert less.feasible == more.feasible
    if less.feasible:
        assert more.deployment.gpus >= less.deployment.gpus


@given(keys=scenarios(location="on_prem"), factor=st.floats(1, 5), gpu=HARDWARE)
def test_more_requests_never_need_fewer_gpus_of_a_type_when_cost_decides(keys, factor, gpu):
    keys = having(keys, "deployment", gpus=[gpu])
    less, more = (answer(having(keys, "workload", peak_rps=keys["workload"]["peak_rps"] * f)) for f in (1, factor))
    if less.feasible:
        assert more.deployment.gpus >= less.deployment.gpus
        assert more.deployment.gpus_bought >= less.deployment.gpus_bought


@given(keys=scenarios(), factor=st.floats(1, 5))
def test_more_requests_never_cost_less(keys, factor):
    less, more = (answer(having(keys, "workload", peak_rps=keys["workload"]["peak_rps"] * f)) for f in (1, factor))
    assert cost(more) >= cost(less) * (1 - 1e-9)


@given(rate=RATES, factor=st.floats(1, 10), model=MODELS)
def test_more_requests_never_cost_less_over_all_hardware(rate, factor, model):
    less, more = (ask(model, workload={"peak_rps": rate * f}) for f in (1, factor))
    assert cost(more) >= cost(less) * (1 - 1e-9)


@given(keys=scenarios(), limit=st.sampled_from(["ttft_ms", "itl_ms", "e2e_ms"]), factor=st.floats(0.05, 1))
def test_a_tighter_limit_is_never_cheaper(keys, limit, factor):
    given_limit = keys["limits"][limit] or 60_000.0
    loose, tight = (answer(having(keys, "limits", **{limit: given_limit * f})) for f in (1, factor))
    assert loose.feasible or not tight.feasible
    assert cost(tight) >= cost(loose) * (1 - 1e-9)


@given(keys=scenarios(), low=st.floats(50, 99), more=st.floats(0, 0.9))
def test_a_higher_percentile_is_never_cheaper(keys, low, more):
    loose, tight = (answer(having(keys, "limits", percentile=p)) for p in (low, low + more))
    assert cost(tight) >= cost(loose) * (1 - 1e-9)


@pytest.mark.parametrize("length", ["input_tokens", "output_tokens"])
@given(keys=scenarios(objective="gpus", engines=["vllm"]), more=st.integers(0, 5000))
def test_a_longer_prompt_or_answer_never_needs_fewer_gpus(length, keys, more):
    short, long = (answer(having(keys, "workload", **{length: keys["workload"][length] + n})) for n in (0, more))
    assert short.feasible or not long.feasible
    if long.feasible:
        assert long.deployment.gpus >= short.deployment.gpus


@given(keys=scenarios(), other=HARDWARE)
def test_another_allowed_gpu_never_makes_the_best_cost_worse(keys, other):
    """Where both have prices of the same kind: otherwise complete systems give way to bare GPUs, which is said."""
    few = answer(keys)
    many = answer(having(keys, "deployment", gpus=[*keys["deployment"]["gpus"], other]))
    assert many.feasible or not few.feasible
    assume(few.feasible and few.cost.hardware_usd_per_month is not None)
    assert cost(many) <= cost(few) * (1 + 1e-9)


@given(keys=scenarios())
def test_a_plan_keeps_its_limits_and_carries_the_peak(keys):
    found = answer(keys)
    assume(found.feasible)
    d, one, latency, limits = found.deployment, found.per_instance, found.latency, keys["limits"]
    mode = keys["workload"]["mode"]
    asked = {"streaming": ("ttft_ms", "itl_ms", "e2e_ms"), "sequential": ("e2e_ms",), "offline": ()}[mode]
    for name in asked:
        single = name == "itl_ms" and keys["workload"]["output_tokens"] <= 1
        if limits[name] is not None and not single:
            assert getattr(latency, name).at_percentile <= limits[name] * (1 + 1e-6)
    assert (d.instances - d.spare_instances) * one.max_rps >= found.peak_rps * (1 - 1e-9)
    assert one.max_rps <= keys["deployment"]["max_utilization"] * one.stable_rps * (1 + 1e-9)
    assert d.gpus <= d.gpus_bought


@given(keys=scenarios())
def test_the_numbers_of_a_plan_are_ordered(keys):
    found = answer(keys)
    assume(found.feasible)
    for latency in (found.latency.ttft_ms, found.latency.itl_ms, found.latency.e2e_ms):
        if latency is found.latency.itl_ms and latency.at(50) is None:
            assert keys["workload"]["output_tokens"] == 1  # one token has no gap to the next
            continue
        assert 0 <= latency.at(50) <= latency.at(95) <= latency.at(99)
        assert latency.low <= latency.at_percentile
        assert latency.high is None or latency.at_percentile <= latency.high
    assert 1 <= found.gpus_low <= found.deployment.gpus
    assert found.gpus_high is None or found.deployment.gpus <= found.gpus_high
    one, deployed = found.per_instance, found.deployment
    each = deployed.tp * deployed.pp * deployed.dp  # of a decode instance where prefill and decode run apart
    parts = one.weights_gb + one.kv_gb + one.activations_gb + one.overhead_gb
    assert parts <= one.memory_per_gpu_gb * each * (1 + 1e-9)
    assert 0 <= one.kv_used_gb <= one.kv_gb


@given(keys=scenarios(), low=st.floats(0.1, 1), more=st.floats(0, 0.9))
def test_a_higher_utilisation_cap_never_needs_more(keys, low, more):
    caps = (low, min(low + more, 1.0))
    careful, bold = (answer(having(keys, "deployment", max_utilization=c)) for c in caps)
    assert careful.feasible == bold.feasible
    assert cost(bold) <= cost(careful) * (1 + 1e-9)


@given(keys=scenarios(engines=["vllm"], tp=[4], pp=[1]), spares=st.integers(0, 5), gpu=HARDWARE)
def test_spares_add_exactly(keys, spares, gpu):
    one = having(keys, "deployment", gpus=[gpu], precisions=["bf16"], spare_instances=0)
    none, some = (answer(having(one, "deployment", spare_instances=n)) for n in (0, spares))
    assume(none.feasible)
    same = [(p.deployment.dp, p.deployment.ep, p.deployment.serving) for p in (none, some)]
    if same[0] == same[1] and same[0][2] == "aggregated":
        assert some.deployment.instances == none.deployment.instances + spares
        assert some.deployment.spare_instances == spares
        assert some.per_instance == none.per_instance


@given(keys=scenarios())
def test_considered_gpus_are_ranked_or_excluded(keys):
    found = answer(keys, ALL)
    excluded = {e.gpu for e in found.excluded}
    assert gpus_that_serve(found).isdisjoint(excluded)
    assert gpus_that_serve(found) | excluded == set(keys["deployment"]["gpus"])
    assert found.feasible == bool(gpus_that_serve(found))


@given(keys=scenarios(engines=["vllm"]), precision=st.sampled_from(["fp8", "nvfp4", "int4_awq", "int8_wo"]))
def test_narrower_weights_never_take_more_memory(keys, precision):
    assert precisions()[precision].bytes < precisions()["bf16"].bytes
    asked = having(keys, "deployment", gpus=["b200_sxm"], tp=[4], pp=[1], ep=[1])
    wide, narrow = (answer(having(asked, "deployment", precisions=[p])) for p in ("bf16", precision))
    assume(wide.feasible and narrow.feasible)
    assert narrow.per_instance.weights_gb < wide.per_instance.weights_gb
    assert narrow.per_instance.kv_per_sequence_gb <= wide.per_instance.kv_per_sequence_gb
    if narrow.deployment.batch_limit is None:  # a cap is a choice, not a lack of memory
        assert narrow.per_instance.max_concurrency >= wide.per_instance.max_concurrency


@given(keys=scenarios())
def test_the_same_question_gets_the_same_bytes(keys):
    assert answer(keys, 10).model_dump_json() == answer(json.loads(json.dumps(keys)), 10).model_dump_json()


def in_a_fresh_process(keys, tmp_path, seed, *options):
    """What the command line prints for a scenario, in a process of its own with another hash seed."""
    (tmp_path / "asked.json").write_text(json.dumps(keys))
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = run_process(
        "sizing", "plan", tmp_path / "asked.json", "--json", "--alternatives", 10, *options, env=environment
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


@pytest.mark.parametrize("seed", [pytest.param("0", marks=pytest.mark.slow), "1"])
def test_a_fresh_process_gives_the_same_bytes(tmp_path, seed):
    keys = raw("Qwen/Qwen3-30B-A3B", workload={"peak_rps": 7})
    assert in_a_fresh_process(keys, tmp_path, seed, "--analytic") == answer(keys, 10).model_dump_json(indent=2)


def test_a_simulated_plan_is_the_same_in_every_process(tmp_path):
    keys = raw("Qwen/Qwen3-30B-A3B", workload={"peak_rps": 7})
    assert in_a_fresh_process(keys, tmp_path, "0") == in_a_fresh_process(keys, tmp_path, "1")
