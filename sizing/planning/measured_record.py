"""What a measured record of one system says: systems = ceil(peak / measured requests/s), and the latencies measured."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sizing.base.constants import constant
from sizing.base.deployed import Deployed, PerInstance
from sizing.base.errors import InvalidScenario, UnknownName
from sizing.base.latency_and_cost import NO_LATENCY, Latencies, Latency
from sizing.base.provenance import Provenance, StepSource
from sizing.base.units import MS_PER_S
from sizing.catalog import gpus, resolve_gpu, resolve_system
from sizing.catalog.engines import engines
from sizing.catalog.gpu import Gpu
from sizing.catalog.precisions import precisions
from sizing.deployments.candidates import enumerate_for, table
from sizing.deployments.concurrency import running_fit
from sizing.planning.aggregated import deployed_as
from sizing.planning.shared_fields import memory_gb
from sizing.prices.hardware import HardwareOption, offers_of
from sizing.question.configuration import Configuration
from sizing.question.understand import Question
from sizing.scenario.schema import Measured
from sizing.search.screen import instances_needed, reserve_of

REPEATABILITY = constant("measurement_repeatability")


@dataclass(frozen=True)
class Missed:
    """A limit that the record does not meet: what was measured, and the limit, in ms."""

    name: str
    value_ms: float
    limit_ms: float


@dataclass(frozen=True)
class Record:
    """A measured record applied to a question. Raises InvalidScenario for an unknown system when first looked at."""

    question: Question
    measured: Measured

    @cached_property
    def _system(self) -> tuple[HardwareOption, Gpu]:
        return _system(self.question, self.measured)

    @property
    def option(self) -> HardwareOption:
        """The measured system as something to buy."""
        return self._system[0]

    @property
    def gpu(self) -> Gpu:
        """The GPU on which the record was measured."""
        return self._system[1]

    def systems(self, factor: float = 1.0) -> int:
        """Systems for the peak, spares included, if the measured rate were ``factor`` times as high."""
        return self._working(factor) + self.standing_by(factor)

    def _working(self, factor: float = 1.0) -> int:
        """Systems that the peak takes."""
        rate = self.measured.rps_per_system * self.question.scenario.deployment.max_utilization * factor
        return int(instances_needed(self.question.demand.peak_rps, np.array([rate]))[0])

    def standing_by(self, factor: float = 1.0) -> int:
        """Systems beyond those: the spares that the scenario asks for, or what may fail as a whole."""
        reserve = reserve_of(self.question)
        return max(reserve.spares, {"none": 0, "system": 1, "site": self._working(factor)}[reserve.redundancy])

    @property
    def systems_range(self) -> tuple[int, int]:
        """Systems if the measurement repeats at the upper and at the lower end of what is usual."""
        return self.systems(1 + REPEATABILITY), self.systems(1 - REPEATABILITY)

    @property
    def tp(self) -> int:
        """GPUs of an instance: as the scenario says, where that divides a system, else the whole system."""
        named = self.question.scenario.deployment.tp
        return named[0] if named and self.option.gpus % named[0] == 0 else self.option.gpus

    @cached_property
    def row(self) -> Configuration:
        """The configuration behind the record as far as the scenario says; an instance per system otherwise."""
        gpu, tp = self.gpu, self.tp
        possible = enumerate_for(self.question.model, gpu, self.question.allowed)
        return next((r for r in possible if r.tp == tp and r.gpus == tp), None) or Configuration(
            gpu=gpu,
            engine=engines()["trtllm"],
            precision=precisions()["bf16" if gpu.supports_bf16 else "fp16"],
            kv_precision="fp16",
            tp=tp,
        )

    def deployed(self) -> Deployed:
        """The systems of the measured kind that carry the load, with the spare instances that the scenario asks for."""
        each = self.option.gpus // self.tp
        instances, spares = self.systems() * each, self.standing_by() * each
        redundancy = self.question.scenario.deployment.redundancy
        return deployed_as(self.row, self.option, instances, min(spares, instances), self.systems(), redundancy)

    def provenance(self) -> Provenance:
        """The record stands for step times and load model alike."""
        name = f"measured: {self.measured.source or 'record entered in the scenario'}"
        return Provenance(step_times=StepSource(kind="measured", name=name), load_model="measured")

    def latency(self) -> Latencies:
        """The measured values; E2E = TTFT + (OSL - 1) x ITL where both are given."""
        ttft, itl = self.measured.ttft_ms, self.measured.itl_ms
        gaps = max(self.question.traffic.output_tokens - 1.0, 0.0)
        e2e = ttft + gaps * itl if ttft is not None and itl is not None else None
        return Latencies(ttft_ms=_one(ttft), itl_ms=_one(itl), e2e_ms=_one(e2e))

    def missed(self) -> list[Missed]:
        """Every limit that the record does not meet."""
        limits, latency = self.question.limits, self.latency()
        each = (
            ("TTFT", latency.ttft_ms.at_percentile, limits.ttft_s),
            ("ITL", latency.itl_ms.at_percentile, limits.itl_s),
            ("E2E", latency.e2e_ms.at_percentile, limits.e2e_s),
        )
        return [Missed(n, v, limit * MS_PER_S) for n, v, limit in each if v is not None and v > limit * MS_PER_S]

    def per_instance(self) -> PerInstance:
        """Rates from the record, memory from the architecture at the number format shown."""
        question, row, deployed = self.question, self.row, self.deployed()
        fit = running_fit(question.model, table([row]), question.traffic)
        each = self.systems() / deployed.instances
        rps = question.demand.peak_rps / max(deployed.instances - deployed.spare_instances, 1)
        e2e = self.latency().e2e_ms.at_percentile
        concurrency = rps * e2e / MS_PER_S if e2e is not None else 0.0
        tokens_per_s = rps * question.traffic.output_tokens
        return PerInstance(
            max_rps=self.measured.rps_per_system * each * question.scenario.deployment.max_utilization,
            stable_rps=self.measured.rps_per_system * each,
            rps=rps,
            concurrency=concurrency,
            max_concurrency=int(fit.max_concurrency[0]),
            **memory_gb(question, fit, 0, row, concurrency),
            output_tokens_per_s=tokens_per_s,
            output_tokens_per_s_per_gpu=tokens_per_s / row.gpus,
            prefill_share=None,
            decode_step_ms=self.measured.itl_ms,
            prefill_ms=None,
        )


def _system(question: Question, record: Measured) -> tuple[HardwareOption, Gpu]:
    """The measured system as something to buy, and its GPU."""
    try:
        named = resolve_system(record.system)
    except UnknownName as error:
        raise InvalidScenario.at("measured.system", error) from None
    gpu = next((g for g in question.gpus if g.id == named.gpu_id), None) or gpus().get(named.gpu_id)
    gpu = gpu or resolve_gpu(named.gpu_id)
    offers = offers_of(question, gpu)
    option = next((o for o in offers if o.id == named.id), None)
    if option is None:  # rented: the instance type with as many GPUs stands for the measured system
        option = next((o for o in offers if o.gpus == named.gpus), offers[0])
    return option, gpu


def _one(value: float | None) -> Latency:
    """One measured value for every percentile; nothing where it was not measured."""
    if value is None:
        return NO_LATENCY
    return Latency(
        percentiles=(value,) * len(Latency.percents()),
        at_percentile=value,
        low=value * (1 - REPEATABILITY),
        high=value * (1 + REPEATABILITY),
    )
