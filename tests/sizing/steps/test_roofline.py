"""What the roofline adds for unusual layers, and how software ages it."""

import itertools
from dataclasses import replace
from types import MappingProxyType

import numpy as np
import pytest

from sizing.catalog import gpus, models, resolve_model
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.steps.attention import pair_s
from sizing.steps.efficiency import Efficiencies, efficiencies
from sizing.steps.hardware import hardware
from sizing.steps.rates import rates
from sizing.steps.roofline import (
    Roofline,
    activations_s,
    all_reduce_s,
    all_to_all_s,
    communication_s,
    decode_step_s,
    head_s,
    roofline,
    sampling_s,
)
from sizing.steps.shape import shape_of
from sizing.steps.times import StepTimes

TRAFFIC = Traffic(input_tokens=2000, output_tokens=500)
MINIMAX = "MiniMaxAI/MiniMax-M2.5"
LLAMA = "meta-llama/Meta-Llama-3.1-8B"


def configuration(
    tp: int, gpu: str = "h200_sxm", precision: str = "fp8", dp: int = 1, engine: str = "vllm"
) -> Configuration:
    return Configuration(
        gpu=gpus()[gpu],
        engine=engines()[engine],
        precision=precisions()[precision],
        kv_precision="fp16",
        tp=tp,
        ep=dp,
        dp=dp,
    )


@pytest.mark.parametrize(("tp", "collectives"), [(1, 0), (2, 62), (8, 62)])
def test_norms_over_all_heads_cost_a_collective_a_layer(tp, collectives):
    """62 layers of MiniMax-M2.5, each with one all-reduce of a few bytes: its latency alone."""
    model, fit = models()[MINIMAX], efficiencies()
    row = table([configuration(tp)])
    with_norms, without = (
        roofline().times(m, row, TRAFFIC, np.array([[8.0]])).decode_s.item()
        for m in (model, replace(model, norm_collectives=0))
    )
    engine = fit.overhead("vllm")
    latency = fit.common.collective_s * engine.collective * (max(tp, 2) / 2) ** fit.common.collective_growth
    device = engine.scale * fit.platform("vllm", "hopper").device
    assert with_norms - without == pytest.approx(collectives * latency * device)


def test_olmo_gathers_queries_and_keys_apart():
    assert models()["allenai/OLMo-2-1124-7B-Instruct"].norm_collectives == 2 * 32
    assert models()["MiniMaxAI/MiniMax-M3"].norm_collectives == 0, "its norms are per head"


def test_old_matrices_are_slower_by_their_own_ageing():
    """A family whose matrix arithmetic ages at log 2 a year: its prompts of a year ago are bound by half the rate."""
    fit = efficiencies()
    row, model = table([configuration(1, "l40s", "bf16")]), models()["meta-llama/Meta-Llama-3.1-8B"]

    def work_s(year: float, ageing: float) -> float:
        family = replace(fit.device("ada"), wide_ageing=ageing)
        changed = replace(fit, families=MappingProxyType({**fit.families, "ada": family}))
        return float(Roofline(changed, year).times(model, row, TRAFFIC, np.array([[1.0]])).prefill_work_s[0])

    assert work_s(2026.0, 0.0) == pytest.approx(work_s(2026.0, np.log(2.0)))
    assert 1.6 < work_s(2025.0, np.log(2.0)) / work_s(2025.0, 0.0) <= 2.0, "all but attention"


def prefill_work_s(fit: Efficiencies, gpu: str, precision: str, year: float) -> float:
    row = table([configuration(1, gpu, precision)])
    return float(Roofline(fit, year).times(models()[LLAMA], row, TRAFFIC, np.array([[1.0]])).prefill_work_s[0])


@pytest.mark.parametrize(("precision", "ages"), [("bf16", False), ("fp8", True), ("int4_awq", True)])
def test_plain_16_bit_products_do_not_age_with_the_engine(precision, ages):
    """They are the vendor's library in every engine; its kernels for other formats, and attention, are its own.

    A prompt of the 8B model is 2 x 7.0e9 x 2,000 FLOP in matrices beside attention of 32 layers x 2,000^2 / 2 x
    4 x 4,096: 4 %. An engine that ages by log 2 a year doubles that part alone.
    """
    fit = efficiencies()
    vllm = replace(fit.overhead("vllm"), ageing=np.log(2.0), host_ageing=0.0)
    still = replace(fit, engines=MappingProxyType({**fit.engines, "vllm": replace(vllm, ageing=0.0)}))
    aged = replace(fit, engines=MappingProxyType({**fit.engines, "vllm": vllm}))
    ratio = prefill_work_s(aged, "h100_sxm", precision, 2025.0) / prefill_work_s(still, "h100_sxm", precision, 2025.0)
    if ages:
        assert ratio > 1.75
    else:
        assert 1.01 < ratio < 1.15
    assert prefill_work_s(aged, "h100_sxm", precision, 2026.0) == prefill_work_s(still, "h100_sxm", precision, 2026.0)


@pytest.mark.parametrize(("tp", "ep"), [(1, 1), (8, 1), (8, 8)])
def test_a_gpu_moves_the_whole_rows_of_its_experts(tp, ep):
    """gpt-oss-120b, 1,000 tokens: 36 layers x 2,880 x 2 bytes x (8 for residual sums and norms + passes x 4 experts,
    which expert parallelism shares out and tensor parallelism does not), and what lies between the products over TP."""
    model = models()["openai/gpt-oss-120b"]
    shape, row = shape_of(model), table([replace(configuration(tp), ep=ep)])
    speed = rates(row, hardware(row), efficiencies(), 2026.0)
    state = 36 * 2880 * 2 * (8.0 + speed.expert_passes * 4 / ep)
    used = shape.dense + shape.experts * 4 / 128
    between = speed.activation_passes * used / 2880 * 2 / tp
    moved = activations_s(shape, speed, np.array([[1000.0]]))[0, 0]
    assert moved * speed.wide_memory[0, 0] == pytest.approx(1000.0 * (state + between))
    assert used / 2880 / 36 == pytest.approx(15.2 * 2880, rel=0.02)  # 3.2 of attention, 4 experts of 3


@pytest.mark.parametrize("tp", [1, 2, 4, 8])
def test_an_all_reduce_takes_the_faster_of_one_shot_and_two(tp):
    """Few bytes are read from all t - 1 others at once, many in two shots of (t - 1) / t each, two GPUs in one."""
    row = table([configuration(tp)])
    speed = rates(row, hardware(row), efficiencies(), 2026.0)
    small, large = 1e4, 1e9
    few, many = (all_reduce_s(speed, np.array([[n]]))[0, 0] for n in (small, large))
    alone = speed.collective_s[0, 0] if tp > 1 else 0.0
    assert few == pytest.approx(alone + (tp - 1) * small / speed.link[0, 0])
    wire = 2.0 * (tp - 1) / tp * large / speed.link[0, 0]
    assert many == pytest.approx(alone + wire + (speed.two_shot_s[0, 0] if tp > 2 else 0.0))


def test_falcon_reduces_once_a_layer():
    """80 layers of Falcon 180B: attention and MLP are added before one all-reduce; Llama 2 70B has two in each."""
    assert shape_of(models()["tiiuae/falcon-180B"]).all_reduces == 80
    assert shape_of(models()["meta-llama/Llama-2-70b-hf"]).all_reduces == 160
    assert shape_of(models()["tiiuae/Falcon3-7B-Instruct"]).all_reduces == 2 * 28, "built like Llama"


@pytest.mark.parametrize(("ranks", "remote"), [(2, 0.99609375), (8, 4.594733)])
def test_a_token_goes_once_to_each_rank_of_its_experts(ranks, remote):
    """8 experts of DeepSeek-R1: 1 - (1/2)^8 of one other rank, 7 x (1 - (7/8)^8) of seven; 2 x 7,168 x 2 bytes each."""
    row = table([configuration(1, dp=ranks)])
    shape, speed = shape_of(models()["deepseek-ai/DeepSeek-R1"]), rates(row, hardware(row), efficiencies(), 2026.0)
    one, two = (all_to_all_s(shape, speed, np.array([[n]]))[0, 0] for n in (1000.0, 2000.0))
    assert (two - one) * speed.link[0, 0] == pytest.approx(1000.0 / ranks * remote * 2 * 7168 * 2)
    assert 2 * one - two == pytest.approx(2 * speed.collective_s[0, 0])


def of_ranks(dp: int, traffic: Traffic = TRAFFIC) -> StepTimes:
    row = table([configuration(1, dp=dp)])
    return roofline().times(models()["deepseek-ai/DeepSeek-R1"], row, traffic, np.array([[8.0]]))


def test_work_of_a_prompt_on_ranks_by_hand():
    """DeepSeek-R1: experts work for every rank's prompts, the rest of a prompt is that of its own rank."""
    model, row = models()["deepseek-ai/DeepSeek-R1"], table([configuration(1, dp=8)])
    source, shape = roofline(), shape_of(model)
    speed = rates(row, hardware(row), source.fit, source.software_year)
    found = of_ranks(8)
    experts = 2.0 * shape.experts * shape.routed * speed.imbalance / (8.0 * speed.expert_matrix[0, 0]) * 2000.0
    own = (found.stall_s[0] / (1.0 - 1.0 / 8.0)) / speed.scale[0, 0]
    assert found.prefill_work_s[0] == pytest.approx(speed.scale[0, 0] * (experts + own / 8.0))
    dense = 2.0 * shape.dense / speed.matrix[0, 0] * 2000.0
    pairs = shape.full_layers * 2000.0 * (1000.0 + speed.query_pairs) * pair_s(shape, speed)[0, 0]
    chunks = 2000.0 / 8192.0  # of one prompt on each of eight ranks
    rows = np.array([[8 * 8192.0]])
    moved = chunks * (communication_s(shape, speed, rows) + activations_s(shape, speed, rows))[0, 0]
    assert own == pytest.approx(dense + pairs + moved)


def test_a_step_takes_as_long_as_its_fullest_rank():
    """Alone it stalls the others by the whole; 10 prompts a step on 8 ranks are more even, full ranks wholly so."""
    times = of_ranks(8)
    held = np.array([[4.0]])
    lone, some, full = (times.work_s(np.array([[n]]), held)[0, 0] for n in (1e-9, 10.0, 32.0))
    assert lone == pytest.approx(times.prefill_work_s[0] + times.stall_s[0])
    assert times.prefill_work_s[0] < some < lone
    assert full == pytest.approx(times.prefill_work_s[0], rel=0.05)
    one = of_ranks(1)
    assert np.all(one.stall_s == 0.0)
    assert one.work_s(np.array([[0.1, 5.0]]), held).tolist() == [[one.prefill_work_s[0]]]


@pytest.mark.parametrize("name", ["deepseek-ai/DeepSeek-R1", "openai/gpt-oss-120b", "Qwen/Qwen3-235B-A22B"])
def test_more_ranks_never_make_a_prompt_dearer_and_its_stall_is_less_than_a_prompt_on_one(name):
    """Ranks that are all at work beat fewer; alone, a prompt takes as long as one on every rank at most."""
    model = models()[name]
    sources = [
        roofline().times(model, table([configuration(1, dp=dp)]), TRAFFIC, np.array([[8.0]])) for dp in (1, 2, 4, 8)
    ]
    work = [t.prefill_work_s[0] for t in sources]
    assert all(b < a for a, b in itertools.pairwise(work))
    assert all(t.stall_s[0] < (ways - 1) * t.prefill_work_s[0] for t, ways in zip(sources[1:], (2, 4, 8), strict=True))


def test_a_prompt_longer_than_the_budget_of_its_rank_is_prefilled_in_chunks():
    """Every rank has a budget of its own (8,192 tokens): another one does not help."""
    short, long = (of_ranks(8, Traffic(input_tokens=n, output_tokens=500)).prefill_s[0] for n in (8000, 16_000))
    assert long > 2.0 * short


def test_columns_are_taken_replaced_and_scaled_together():
    row = table([configuration(1), configuration(1, dp=4), configuration(1, dp=8)])
    model, grid = models()["deepseek-ai/DeepSeek-R1"], np.ones((3, 2))
    times = roofline().times(model, row, TRAFFIC, grid)
    assert times.ranks.tolist() == [1.0, 4.0, 8.0]
    some = times.take(np.array([2, 0]))
    assert some.ranks.tolist() == [8.0, 1.0]
    assert some.stall_s.tolist() == [times.stall_s[2], 0.0]
    plain = StepTimes(decode_s=grid, prefill_s=np.ones(3), prefill_work_s=np.ones(3), source="plain")
    assert plain.take(np.array([1])).stall_s == 0.0
    mixed = plain.replaced(np.array([1]), times.take(np.array([1])))
    assert mixed.ranks.tolist() == [1.0, 4.0, 1.0]
    assert mixed.stall_s.tolist() == [0.0, times.stall_s[1], 0.0]
    doubled = times.scaled(np.ones(3), np.full(3, 2.0))
    assert doubled.stall_s.tolist() == (2.0 * times.stall_s).tolist()


def test_the_gain_of_balanced_ranks_is_of_the_published_size():
    """DeepSeek V3 on 8 GB200, DP 8, 803 tokens in and 3,653 out: 25,664 tokens/s as prompts come, 34,140 with prompts
    held back until all ranks have one, 39,552 if all ranks were even (TensorRT-LLM tech blog 10)."""
    row = Configuration(
        gpu=gpus()["gb200"],
        engine=engines()["trtllm"],
        precision=precisions()["nvfp4"],
        kv_precision="fp8",
        tp=1,
        ep=8,
        dp=8,
    )
    traffic, grid = Traffic(input_tokens=803, output_tokens=3653), np.geomspace(200, 8000, 40)[None, :]
    times = roofline().times(models()["deepseek-ai/DeepSeek-R1"], table([row]), traffic, grid)  # of the same shape

    def rate(work_s):
        return (grid / (times.decode_s + grid * work_s / 3653.0))[0]

    uneven = rate(times.work_s(grid / 3653.0, np.array([[8192.0 / 803.0]])))
    even = rate(times.prefill_work_s[:, None])
    here = int(np.abs(even - 39_552.0).argmin())
    assert 1.1 < even[here] / uneven[here] < 39_552 / 25_664


def test_launching_a_prompts_kernels_hides_behind_its_arithmetic():
    """A step with a prompt lasts as long as computing all that is in it or as launching 32 layers of kernels, whichever
    is longer."""
    fit = efficiencies()
    row = table([configuration(1, "h100_sxm", "bf16")])
    model, slow = resolve_model("meta-llama/Meta-Llama-3-8B-Instruct").model, 0.001

    def at(launch: float, prompt: float):
        engine = replace(fit.overhead("vllm"), eager=launch / fit.overhead("vllm").layer_s)
        of = Roofline(replace(fit, engines=MappingProxyType({**fit.engines, "vllm": engine})))
        return of.times(model, row, Traffic(input_tokens=prompt, output_tokens=1), np.array([[1.0]]))

    speed = rates(row, hardware(row), fit, 2026.0)
    launch = 32 * slow * speed.scale[0, 0]
    short, long = at(slow, 64), at(slow, 8000)
    assert short.prompt_step_s[0, 0] == pytest.approx(launch - short.prefill_work_s[0] - short.decode_s[0, 0])
    assert long.prompt_step_s[0, 0] < 0.0, "the weights are streamed for the decoding sequence anyway"
    assert at(0.0, 8000).prefill_s[0] == long.prefill_s[0]
    assert at(0.0, 64).prefill_s[0] < short.prefill_s[0]


def speed_of(row: Configuration, year: float = 2026.0, **common: float):
    """Shape of Llama 3.1 8B and rates of one configuration; ``common``: fitted numbers that are others."""
    fit = efficiencies()
    candidates = table([row])
    return shape_of(models()[LLAMA]), rates(
        candidates, hardware(candidates), replace(fit, common=replace(fit.common, **common)), year
    )


@pytest.mark.parametrize(("tp", "others"), [(2, 1.0), (4, 3.0), (8, 7.0)])
def test_a_collective_over_pcie_takes_the_steps_of_a_ring(tp, others):
    """No engine has an all-reduce of its own for more than two GPUs there; over NVLink it hardly grows."""
    _, pcie = speed_of(configuration(tp, "rtx_4090", "bf16"), pcie_growth=1.0)
    _, pair = speed_of(configuration(2, "rtx_4090", "bf16"), pcie_growth=1.0)
    assert pcie.collective_s.item() == pytest.approx(others * pair.collective_s.item())
    _, nvlink = speed_of(configuration(tp, "h100_sxm", "bf16"), collective_growth=0.2)
    _, two = speed_of(configuration(2, "h100_sxm", "bf16"), collective_growth=0.2)
    assert nvlink.collective_s.item() == pytest.approx((tp / 2) ** 0.2 * two.collective_s.item())


def test_consumer_cards_reach_each_other_through_host_memory():
    cards = {name: hardware(table([configuration(2, name, "bf16")])).link.item() for name in ("rtx_4090", "l40s")}
    each = {name: gpus()[name].pcie_bytes_per_s for name in cards}
    assert cards == {"rtx_4090": each["rtx_4090"] / 2, "l40s": each["l40s"]}


def test_host_time_of_sequences_hides_behind_the_gpu_since_engines_overlap_both():
    """Llama 3.1 8B with 64 sequences: of today's engines their host time adds nothing, of those of 2024 all of it; of
    so many that the host takes longer than the GPU, what is left."""
    context, batch = 500.0, np.array([[64.0]])
    for year, seen in ((2026.0, 0.0), (2024.5, 1.0)):
        shape, speed = speed_of(configuration(1, "h100_sxm", "bf16"), year)
        idle = replace(speed, sequence_s=np.zeros((1, 1)))
        more = decode_step_s(shape, speed, batch, context) - decode_step_s(shape, idle, batch, context)
        assert more.item() == pytest.approx(seen * 64 * speed.sequence_s.item())
    shape, speed = speed_of(configuration(1, "h100_sxm", "bf16"))
    slow = replace(speed, sequence_s=np.array([[0.001]]))
    assert decode_step_s(shape, slow, batch, context).item() == pytest.approx(0.064 + speed.step_s.item())


def test_the_sampler_passes_over_the_logits_of_every_sequence():
    """128,256 logits of 4 bytes, ten times: 5.1 MB a sequence at the bandwidth of 16-bit weights, on each of two GPUs,
    and 2 us for the second."""
    shape, speed = speed_of(configuration(2, "h100_sxm", "bf16"), sampling_passes=10.0, rank_sequence_s=2e-6)
    by_hand = 10 * 128_256 * 4 / speed.wide_memory.item() + 2e-6
    assert sampling_s(shape, speed).item() == pytest.approx(by_hand)


def test_a_prompt_has_one_row_of_the_output_head():
    """Gemma's head of 262,144 entries would be a third of the work on every prompt token."""
    model = models()["google/gemma-3-1b-it"]
    row = table([configuration(1, "h100_sxm", "bf16")])
    shape, speed = shape_of(model), rates(row, hardware(row), efficiencies(), 2026.0)
    one = head_s(shape, speed, 1.0).item()
    assert head_s(shape, speed, 4000.0).item() > 10 * one
    whole, without = (
        roofline().at_rates(s, speed, 4000.0, 0.0, 4000.0, np.array([[1.0]])).prefill_s.item()
        for s in (shape, replace(shape, head=0.0))
    )
    assert whole - without == pytest.approx((speed.scale * one).item())


def test_short_prompts_hide_behind_weights_that_are_streamed_anyway():
    """A prompt of 64 tokens costs less in a step that decodes than its arithmetic alone; one that has a step of its own
    streams the weights for itself."""
    traffic, load = Traffic(input_tokens=64, output_tokens=200), np.array([[8.0]])
    shared, apart = (
        roofline().times(models()[LLAMA], table([configuration(1, "h100_sxm", "bf16", engine=engine)]), traffic, load)
        for engine in ("vllm", "sglang")
    )
    assert -shared.prefill_work_s.item() < shared.prompt_step_s.item() < 0.0
    assert apart.prompt_step_s.item() > 0.8 * apart.decode_s.item()
