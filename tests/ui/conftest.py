"""A hand-made plan: Llama 3 8B on H100, 2000 in and 200 out, 70.7 requests/s (worked example 4 of the sizing deck)."""

import pytest

from sizing.base.deployed import Deployed, PerInstance
from sizing.base.latency_and_cost import Business, Cost, Latencies, Latency
from sizing.base.provenance import Provenance, StepSource
from sizing.base.result import AnswerSentence, Candidate, Explained, LoadPoint, Plan, PlanWarning
from sizing.scenario.schema import Limits

STABLE_RPS = 10.2


COST = Cost(
    basis="list price of DGX H100 over 5 years",
    system_usd=400_000,
    purchase_usd=400_000,
    usd_per_hour=9.13,
    hardware_usd_per_month=6_667,
    hardware_usd_per_month_low=5_000,
    hardware_usd_per_month_high=8_000,
    priced_by="listed",
    usd_per_million_output_tokens=0.538,
    usd_per_million_output_tokens_at_full_load=0.179,
    power_kw=10.2,
    source="catalogue, 2026",
)
BUSINESS = Business(
    requests_per_day=2_036_160,
    daily_users=678_720,
    input_tokens_per_day=4.07e9,
    output_tokens_per_day=4.07e8,
    hours=8,
    requests_per_user=3,
    peak_to_mean=1.0,
    growth=0.0,
)
INSTANCES = Explained(
    name="Instances",
    value="8 instances",
    formula="ceil(peak requests/s / requests/s per instance) + spares",
    numbers="ceil(70.7 / 9.1) + 0 = 8",
    source="sizing.plan",
)


def deployed(gpu: str = "h100_sxm", *, tp: int = 1, instances: int = 8) -> Deployed:
    gpus = instances * tp
    systems = -(-gpus // 8)
    return Deployed(
        gpu=gpu,
        engine="vllm",
        weight_precision="fp8",
        kv_precision="fp8",
        tp=tp,
        pp=1,
        ep=1,
        dp=1,
        instances=instances,
        spare_instances=0,
        gpus=gpus,
        system="dgx_h100",
        systems=systems,
        gpus_bought=8 * systems,
    )


def latency(asked: float) -> Latency:
    return Latency(p50=0.6 * asked, p95=asked, p99=1.3 * asked, low=0.8 * asked, high=1.25 * asked, at_percentile=asked)


def load_point(rps: float) -> LoadPoint:
    """An M/M/1-like curve that blows up at ``STABLE_RPS``."""
    slow = 1 / (1 - rps / STABLE_RPS)
    ttft, itl = 120 + 60 * slow, 9 + 2.2 * slow
    return LoadPoint(
        rps=rps,
        concurrency=rps * (ttft + 199 * itl) / 1000,
        ttft_ms=ttft,
        itl_ms=itl,
        e2e_ms=ttft + 199 * itl,
        output_tokens_per_s_per_gpu=200 * rps,
    )


def candidate(gpu: str, tp: int, instances: int, e2e_ms: float, usd: float | None) -> Candidate:
    return Candidate(
        deployment=deployed(gpu, tp=tp, instances=instances),
        max_rps=9.1,
        ttft_ms=0.1 * e2e_ms,
        itl_ms=0.9 * e2e_ms / 199,
        e2e_ms=e2e_ms,
        output_tokens_per_s_per_gpu=14140 / (tp * instances),
        gpus_low=tp * instances - 1,
        gpus_high=tp * instances + 2,
        hardware_usd_per_month=usd,
        power_kw=10.2,
        limited_by="TTFT limit",
        source="roofline",
        provenance=Provenance(step_times=StepSource(kind="roofline", name="roofline")),
    )


PLANNED = load_point(70.7 / 8)
PER_INSTANCE = PerInstance(
    max_rps=9.1,
    stable_rps=STABLE_RPS,
    rps=70.7 / 8,
    concurrency=PLANNED.concurrency,
    max_concurrency=256,
    memory_per_gpu_gb=80.0,
    weights_gb=9.1,
    kv_gb=58.4,
    kv_per_sequence_gb=0.144,
    activations_gb=2.9,
    overhead_gb=1.6,
    free_gb=54.1,
    kv_used_gb=4.3,
    output_tokens_per_s=1767.5,
    output_tokens_per_s_per_gpu=1767.5,
    prefill_share=0.41,
    decode_step_ms=11.3,
    prefill_ms=46.0,
)


def hand_made_plan() -> Plan:
    curve = tuple(load_point(0.1 + 10.0 * i / 60) for i in range(61))
    ttft, itl, e2e = (latency(v) for v in (PLANNED.ttft_ms, PLANNED.itl_ms, PLANNED.e2e_ms))
    sentence = AnswerSentence(about="bought", text="One 8-GPU system is enough; all 8 GPUs carry the load.")
    return Plan(
        answer=sentence.text,
        sentences=(sentence,),
        feasible=True,
        peak_rps=70.7,
        sustained_rps=70.7,
        deployment=deployed(),
        per_instance=PER_INSTANCE,
        latency=Latencies(ttft_ms=ttft, itl_ms=itl, e2e_ms=e2e),
        gpus_low=7,
        gpus_high=10,
        cost=COST,
        business=BUSINESS,
        limited_by="TTFT limit",
        warnings=(PlanWarning(code="tight", severity="warning", message="97 % of the capacity is used."),),
        assumptions=("All lengths are equal to their mean.",),
        source="roofline",
        provenance=Provenance(step_times=StepSource(kind="roofline", name="roofline")),
        confidence=90.0,
        probability_within_limits=0.93,
        gpus_expected=8,
        how_sure="80 % sure that 7 to 10 GPUs suffice (roofline, 41 measured points nearby).",
        alternatives=(candidate("l40s", 1, 26, 6200.0, None), candidate("a100_sxm_80g", 1, 16, 5100.0, 9_000.0)),
        trade_off=(
            candidate("h100_sxm", 1, 8, PLANNED.e2e_ms, 6_667.0),
            candidate("h100_sxm", 2, 6, 3900.0, 13_300.0),
            candidate("b200_sxm", 1, 14, 2900.0, None),
            candidate("h100_sxm", 4, 5, 2600.0, 20_000.0),
        ),
        excluded=(),
        load_curve=curve,
        explained=(INSTANCES,),
        cross_check=None,
        engine_version="0.1.0",
        data_version="2026-11-20-0123456789",
    )


@pytest.fixture
def plan() -> Plan:
    return hand_made_plan()


@pytest.fixture
def nothing_fits(plan: Plan) -> Plan:
    """A plan without a deployment."""
    return plan.model_copy(
        update={
            "feasible": False,
            "deployment": None,
            "per_instance": None,
            "latency": None,
            "gpus_low": None,
            "gpus_high": None,
            "cost": None,
            "trade_off": (),
            "load_curve": (),
            "alternatives": (),
            "explained": (),
        }
    )


@pytest.fixture
def limits() -> Limits:
    return Limits(ttft_ms=1000, itl_ms=50, e2e_ms=None, percentile=95)
