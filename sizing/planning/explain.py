"""Each figure of the answer followed from the inputs to the formula to the source."""

from collections.abc import Iterator
from dataclasses import dataclass

from sizing.base.deployed import Deployed, PerInstance
from sizing.base.format import count, ms, percent, requests_per_s, significant
from sizing.base.latency_and_cost import Business, Cost, Latencies
from sizing.base.result import Explained
from sizing.base.units import BILLION, GB, MS_PER_S, TRILLION
from sizing.catalog.precisions import compute_flops, wide_flops
from sizing.planning.arithmetic import duration_step, entry, instances_steps, latency_step, number, step, systems_steps
from sizing.planning.explain_cost import explain_money
from sizing.planning.explain_memory import explain_memory
from sizing.question.configuration import Configuration
from sizing.question.understand import Question

LOAD_SOURCE = (
    "Little (1961); Pollaczek-Khinchine; Kelly (1979); Halfin and Whitt (1981): module sizing.queueing.steady_state"
)


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What a plan states of its deployment, to be explained.

    ``configurations`` and ``instances`` are those of instances that do both, or of prefill and of decode.
    ``step_times`` names the source of the step times; ``simulated`` requests of one instance are behind the latencies,
    0 where these are analytic.
    """

    question: Question
    configurations: tuple[Configuration, ...]
    deployed: Deployed
    instances: tuple[PerInstance, ...]
    latency: Latencies
    cost: Cost
    business: Business
    step_times: str
    simulated: int = 0

    @property
    def row(self) -> Configuration:
        """The configuration of the instances that generate answers."""
        return self.configurations[-1]

    @property
    def one(self) -> PerInstance:
        """An instance that generates answers."""
        return self.instances[-1]

    def load_source(self, source: str = LOAD_SOURCE) -> str:
        """Source of a figure of the load model; where it was counted, the formula is how the model puts it together."""
        if not self.simulated:
            return source
        counted = f"{self.simulated:,} requests simulated (module sizing.simulator)"
        return f"{counted}; the formula is that of the screen: {source}"


def explain(stated: Stated) -> Iterator[Explained]:
    """Every public figure of instances that do both."""
    yield explain_demand(stated.question)
    yield from _counts(stated)
    yield from explain_memory(stated.row, stated.one, stated.question.model, stated.question.traffic)
    yield from _speed(stated)
    yield from explain_latency(stated)
    yield from explain_money(stated.question, stated.deployed, stated.cost, stated.business)


def explain_demand(question: Question) -> Explained:
    """The load that is sized for."""
    demand = question.demand
    rate = requests_per_s(demand.sustained_rps)
    return entry(
        "peak_rps", rate, demand.how, step("", demand.arithmetic, rate), source="module sizing.scenario.demand"
    )


def explain_chance(stated: Stated, chance: str) -> Explained:
    """How surely the limits hold, as the answer says it: no arithmetic for a calculator, but where it comes from."""
    return entry(
        "probability_within_limits",
        chance,
        "chance that steps are no slower than those at which the planned instances just carry the peak within every "
        f"limit; asked: {percent(stated.question.confidence)}",
        source="errors of predictions of published benchmarks that the fit had not seen: modules "
        "sizing.search.caution and sizing.evidence.uncertainty; how often it held: docs/ACCURACY.md",
    )


def _counts(stated: Stated) -> Iterator[Explained]:
    row, deployed, one, peak = stated.row, stated.deployed, stated.one, stated.question.demand.sustained_rps
    yield entry(
        "instances",
        count(deployed.instances),
        "ceil(peak / requests/s per instance) + spares",
        *instances_steps("", peak, one.max_rps, deployed.spare_instances, deployed.instances),
        source="module sizing.search.screen",
    )
    yield entry(
        "gpus",
        count(deployed.gpus),
        "instances x TP x PP x DP",
        step("", f"{deployed.instances} x {row.tp} x {row.pp} x {row.dp}", count(deployed.gpus)),
        source="definition",
    )
    each, kept = deployed.gpus_bought // deployed.systems, deployed.redundancy
    yield entry(
        "systems",
        count(deployed.systems),
        f"ceil(instances / instances per system), whole systems: {deployed.system} has {each} GPUs",
        *systems_steps(deployed.instances, row.gpus, each, deployed.systems, deployed.spare_instances, kept),
        source="module sizing.prices.packing",
    )
    yield entry(
        "max_rps",
        requests_per_s(one.max_rps),
        "largest rate at which every limit holds, x utilisation cap",
        step(
            "largest stable rate x share of it at which the first limit is reached",
            f"{number(one.stable_rps)} x {number(one.max_rps / one.stable_rps)}",
            requests_per_s(one.max_rps),
        ),
        source=stated.load_source(),
    )
    if deployed.batch_limit is not None:
        yield _batch_limit(row, deployed.batch_limit, one)


def _batch_limit(row: Configuration, limit: int, one: PerInstance) -> Explained:
    """The cap on requests in flight: what it is, where it is set and what it does."""
    documented = row.engine.batch_source or "no such setting is documented for this engine"
    return entry(
        "batch_limit",
        count(limit),
        "concurrency at which the gap between tokens reaches its limit; the best of a few around it. "
        f"{significant(one.concurrency)} requests are in flight on average, a burst waits for a slot instead of "
        "slowing down every answer",
        step(
            f"{row.engine.batch_option or 'Requests in flight'} of an attention-DP rank x ranks",
            f"{number(limit / row.dp)} x {row.dp}",
            count(limit),
        ),
        source=f"module sizing.search.batch_limits; {documented}",
    )


def _speed(stated: Stated) -> Iterator[Explained]:
    row, one, traffic = stated.row, stated.one, stated.question.traffic
    if one.decode_step_ms is not None:
        yield explain_decode_step(stated, one.decode_step_ms)
    if one.prefill_ms is not None:
        yield explain_prefill(stated, row, one.prefill_ms)
    per_gpu = f"{significant(one.output_tokens_per_s_per_gpu)} tokens/s"
    yield entry(
        "output_tokens_per_s_per_gpu",
        per_gpu,
        "requests/s per instance x OSL / GPUs per instance",
        step(
            "requests/s of an instance x output tokens / its GPUs",
            f"{number(one.rps)} x {number(traffic.output_tokens)} / {row.gpus}",
            per_gpu,
        ),
        source="definition",
    )


def explain_decode_step(stated: Stated, decode_ms: float) -> Explained:
    """Explains a decode step from the memory that it reads at least to what it takes."""
    row, one = stated.row, stated.one
    read_gb, bandwidth = one.weights_gb + one.kv_used_gb, row.gpu.memory_bandwidth / GB
    least_ms = read_gb / (row.gpus * bandwidth) * MS_PER_S
    drafts = row.speculation.draft_tokens
    return entry(
        "decode_step_ms",
        ms(decode_ms),
        "sum over operators of max(FLOP / rate, bytes / bandwidth) + collectives + fixed times"
        + (", x (1 + draft tokens x their cost) + rows of the drafts" if drafts else ""),
        duration_step(
            "weights and KV in use (GB of 10^9 bytes), read once by all GPUs at the datasheet's bandwidth (GB/s)",
            f"({number(one.weights_gb)} + {number(one.kv_used_gb)}) / ({row.gpus} x {number(bandwidth)}) x 1,000",
            least_ms,
            4,
        ),
        duration_step(
            f"x what kernels reach of it, arithmetic, launches and collectives with {significant(one.concurrency)} "
            "sequences; experts that no token needs are not read",
            f"{number(least_ms)} x {number(decode_ms / least_ms)}",
            decode_ms,
        ),
        source=stated.step_times,
    )


def explain_prefill(stated: Stated, row: Configuration, prefill_ms: float) -> Explained:
    """Explains a prefill from the arithmetic of a prompt at the datasheet's rate to what it takes."""
    model, tokens = stated.question.model, stated.question.traffic.new_tokens
    flops = compute_flops(row.gpu, row.precision) or wide_flops(row.gpu)
    encodes, adapts = stated.question.traffic.media.of_request, row.adapters.number
    beside = "".join((", encoding of images and sound" if encodes else "", ", adapters" if adapts else ""))
    least_ms = 2.0 * model.params_per_token * tokens / (row.gpus * flops) * MS_PER_S
    return entry(
        "prefill_ms",
        ms(prefill_ms),
        "2 x active parameters x prompt tokens / matrix rate + attention + collectives",
        duration_step(
            "2 x active parameters (billions) x prompt tokens over the TFLOPS of all GPUs, as on the datasheet",
            f"2 x {number(model.params_per_token / BILLION)} x 10^9 x {number(tokens)} / ({row.gpus} x "
            f"{number(flops / TRILLION)} x 10^12) x 1,000",
            least_ms,
            4,
        ),
        duration_step(
            f"x what kernels reach of it, attention, launches and collectives{beside}",
            f"{number(least_ms)} x {number(prefill_ms / least_ms)}",
            prefill_ms,
        ),
        source=stated.step_times,
    )


def explain_latency(
    stated: Stated,
    *,
    ttft: str = "front end + running and planned steps + prompt queue + slot queue + prefill beside decoding",
    itl: str = "",
) -> Iterator[Explained]:
    """The three latencies; formulas of TTFT and ITL may be those of disaggregated pools."""
    question, one, latency, source = stated.question, stated.one, stated.latency, stated.load_source()
    p, gaps = f"p{question.limits.percentile:g}", max(question.traffic.output_tokens - 1, 0)
    each, prompt_ms = stated.row.speculation.tokens_per_step, stated.instances[0].prefill_ms or 0.0
    first, gap, whole = (each.at_percentile for each in (latency.ttft_ms, latency.itl_ms, latency.e2e_ms))
    if first is not None:
        what = f"prefill of one mean prompt, then front end, waiting, longer prompts and sharing at {p}"
        steps = latency_step(what, number(prompt_ms), prompt_ms, first)
        yield entry("ttft_ms", f"{p} {ms(first)}", ttft, steps, source=source)
    if gap is not None:
        step_ms = one.decode_step_ms or 0.0
        formula = itl or f"decode step{' / tokens a step' if each > 1 else ''} + interruptions by prompts / (OSL - 1)"
        what = f"decode step{' / tokens a step' if each > 1 else ''}, then what prompts and busier moments add at {p}"
        known = f"{number(step_ms)} / {number(each)}" if each > 1 else number(step_ms)
        yield entry("itl_ms", f"{p} {ms(gap)}", formula, latency_step(what, known, step_ms / each, gap), source=source)
    medians = latency.ttft_ms.at(50.0), latency.itl_ms.at(50.0)
    if whole is not None and medians[0] is not None and medians[1] is not None:
        what = f"median TTFT + gaps x median ITL, then what slower and longer requests add at {p}"
        known = f"{number(medians[0])} + {number(gaps)} x {number(medians[1])}"
        total = latency_step(what, known, medians[0] + gaps * medians[1], whole)
        yield entry("e2e_ms", f"{p} {ms(whole)}", "TTFT + (OSL - 1) x ITL", total, source=source)
