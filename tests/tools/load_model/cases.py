"""The cases in which the analytic load model is held against the simulator, and one comparison of both."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from sizing.base.units import MS_PER_S
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import table
from sizing.question.configuration import Configuration
from sizing.question.understand import Question, understand
from sizing.queueing.capacity import at_percentile, at_rate
from sizing.replay.offered_load import OfferedLoad
from sizing.replay.simulate import simulate_deployment
from sizing.scenario import Scenario
from sizing.search.replicas import as_replica, lengths_of
from sizing.search.screen import Evaluated, evaluate
from sizing.simulator.arrivals import Arrivals
from sizing.simulator.fleet import Fleet
from sizing.simulator.stability import largest_stable_rps

QUANTILES = (50, 95, 99)
"""Percentiles compared."""
KEYS = tuple(f"{metric} p{q}" for metric, q in product(("TTFT", "ITL"), QUANTILES))
"""What is compared, milliseconds each."""
WIDE = 3.0
"""p95 over p50 of the lengths that vary: some prompts are far longer than most, as in chats with documents."""
SEED = 1
"""Seed of every simulation, so that a report can be made again."""

Latencies = dict[str, float]
"""Milliseconds by :data:`KEYS`."""


@dataclass(frozen=True)
class Case:
    """A model on a configuration, with mean prompt and output lengths in tokens."""

    model: str
    gpu: str
    engine: str
    precision: str
    tp: int
    dp: int
    isl: int
    osl: int

    @property
    def configuration(self) -> Configuration:
        """What one instance runs on; experts are spread over all attention-DP ranks."""
        precision = precisions()[self.precision]
        return Configuration(
            gpu=gpus()[self.gpu],
            engine=engines()[self.engine],
            precision=precision,
            kv_precision="fp8" if precision.is_narrow else "fp16",
            tp=self.tp,
            ep=self.dp,
            dp=self.dp,
        )

    @property
    def name(self) -> str:
        """The case as the report names it."""
        row, model = self.configuration, self.model.rpartition("/")[2]
        unit = f"{self.engine} {self.precision} {row.parallelism}"
        return f"{model}, {row.gpu.name}, {unit}, {self.isl}/{self.osl}"

    def evaluated(self, varies: bool) -> tuple[Question, Evaluated]:
        """The question, its lengths fixed or lognormal, and its only candidate."""
        lengths = [{"p50": n, "p95": n * WIDE} if varies else n for n in (self.isl, self.osl)]
        question = question_of(self.model, self.gpu, *lengths)
        return question, evaluate(question, table([self.configuration]))


CASES = (
    Case("meta-llama/Meta-Llama-3-8B", "h100_sxm", "vllm", "bf16", 1, 1, 1000, 200),
    Case("meta-llama/Meta-Llama-3-8B", "h100_sxm", "vllm", "bf16", 1, 1, 3000, 500),
    Case("meta-llama/Meta-Llama-3-8B", "h100_sxm", "trtllm", "fp8", 1, 1, 3500, 500),
    Case("meta-llama/Meta-Llama-3-8B", "l40s", "vllm", "fp8", 1, 1, 1500, 300),
    Case("meta-llama/Meta-Llama-3-8B", "a100_sxm_80g", "vllm", "bf16", 1, 1, 500, 500),
    Case("meta-llama/Meta-Llama-3-70B", "h100_sxm", "vllm", "fp8", 4, 1, 3000, 400),
    Case("meta-llama/Meta-Llama-3-70B", "h200_sxm", "sglang", "fp8", 2, 1, 2000, 500),
    Case("meta-llama/Meta-Llama-3-70B", "h100_sxm", "trtllm", "bf16", 8, 1, 8000, 300),
    Case("openai/gpt-oss-120b", "h100_sxm", "vllm", "mxfp4", 1, 1, 2000, 500),
    Case("deepseek-ai/DeepSeek-R1", "h200_sxm", "sglang", "fp8", 8, 1, 2000, 1000),
    Case("deepseek-ai/DeepSeek-R1", "b200_sxm", "trtllm", "nvfp4", 1, 8, 4000, 1000),
    Case("openai/gpt-oss-120b", "h100_sxm", "vllm", "mxfp4", 1, 4, 2000, 500),
)


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One case at one share of its load: latencies, analytic and simulated; ``stable`` are both capacities."""

    case: str
    varies: bool
    load: float
    analytic: Latencies
    simulated: Latencies
    stable: tuple[float, float] = (np.nan, np.nan)


def question_of(model: str, gpu: str, isl: object, osl: object) -> Question:
    """The question of a model with these lengths, without limits; steps as long as expected, as they are simulated and
    as measured runs lie around them."""
    scenario = Scenario.model_validate(
        {
            "model": model,
            "workload": {"input_tokens": isl, "output_tokens": osl, "peak_rps": 1},
            "limits": {"ttft_ms": None, "itl_ms": None},
            "deployment": {"gpus": [gpu]},
        }
    )
    return understand(scenario).as_expected()


def at_loads(
    question: Question, evaluated: Evaluated, name: str, varies: bool, *, loads: tuple[float, ...], requests: int
) -> Iterator[Compared]:
    """One instance at shares of the smaller of both capacities, as far as the simulator carries them."""
    row = evaluated.candidates.rows[0]
    fleet, lengths = Fleet(replicas=(as_replica(question, row),)), lengths_of(question)
    stable = (float(evaluated.capacity.stable_rps[0]), largest_stable_rps(fleet, lengths))
    for load in loads:
        rate = load * min(stable)
        traffic = OfferedLoad(
            stream=Arrivals(rate_rps=rate).stream(lengths, requests / rate, SEED),
            expected=requests,
            duration_s=requests / rate,
            lengths=lengths,
            stationary=True,
            notes=(),
        )
        result = simulate_deployment(fleet, traffic, question.limits, name=row.label)
        if result.ttft_ms is None or result.itl_ms is None:
            continue
        pairs = product((("TTFT", result.ttft_ms), ("ITL", result.itl_ms)), QUANTILES)
        yield Compared(
            case=name,
            varies=varies,
            load=load,
            stable=stable,
            analytic=analytic(evaluated, rate),
            simulated={f"{metric} p{q}": latency.at(q).value for (metric, latency), q in pairs},
        )


def analytic(evaluated: Evaluated, rate_rps: float) -> Latencies:
    """Latencies of the only candidate at a rate, by the analytic load model."""
    position = at_rate(evaluated.state.rps, np.array([rate_rps]))
    latencies: Latencies = {}
    for q in QUANTILES:
        there = at_percentile(evaluated.state, q)
        latencies[f"TTFT p{q}"] = float(position.of(there.ttft_s)[0]) * MS_PER_S
        latencies[f"ITL p{q}"] = float(position.of(there.itl_s)[0]) * MS_PER_S
    return latencies
