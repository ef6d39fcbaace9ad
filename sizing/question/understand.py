"""A scenario with every name resolved and every unit turned into seconds, tokens and requests per second."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import numpy as np

from sizing.base.errors import InvalidScenario, SizingError
from sizing.base.units import PERCENT
from sizing.catalog import gpus, resolve_gpu, resolve_model
from sizing.catalog.config_json import generating, model_from_config
from sizing.catalog.encoders import reject_encoder
from sizing.catalog.engines import resolve_engine
from sizing.catalog.from_size import model_from_size
from sizing.catalog.gpu import Gpu
from sizing.catalog.measured import measurements
from sizing.catalog.model import Model
from sizing.catalog.precisions import Precision, precisions, resolve_kv_precision, resolve_precision
from sizing.catalog.slices import has_slice, slice_of
from sizing.question.adapters import adapters_of
from sizing.question.benchmark import ResolvedBenchmark, is_of_model, resolve_benchmark
from sizing.question.configuration import Allowed
from sizing.question.length_distributions import LengthDistribution, distribution_of
from sizing.question.limits import LatencyLimits
from sizing.question.media import Media, media_of
from sizing.question.named_model import assumed
from sizing.question.own_gpu import accelerator_name, gpu_of
from sizing.question.prices import prices_of
from sizing.question.reused import CacheState, Reused, cache_routing, reused_by_sessions, reused_by_trace
from sizing.question.speculation import NO_SPECULATION, Speculation, asked_for
from sizing.question.traffic import Traffic, Variability
from sizing.scenario.bounds import MAX_CV
from sizing.scenario.demand import Demand, of_sessions, peak_demand
from sizing.scenario.model_asked import ModelConfig, ModelSize
from sizing.scenario.prices import Prices
from sizing.scenario.schema import Deployment, Scenario, Workload
from sizing.scenario.traffic import Burst, Gamma, TraceArrivals

T = TypeVar("T")

EXPECTED = 0.5
"""The confidence at which steps take as long as predicted: reality is as often faster as slower."""

MOST_DISPERSION = float(MAX_CV**2)
"""Largest index of dispersion of bursts: that of the largest coefficient of variation."""


LONGEST_SHARE = 0.999
"""Share of prompts, and of answers, that the context must hold. Chosen: a longer one is refused by the engine."""

CONTEXT_STEP = 1024
"""Contexts are rounded up to this many tokens. Chosen: a number that a person reads."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What the engine works on. ``assumptions`` collects what was assumed where the scenario does not say.

    ``benchmark`` is that of the scenario, unless it is of another model or a measured record makes it needless.
    ``confidence``: chance with which what is planned is to suffice, at :data:`EXPECTED` as likely as not. ``reused``:
    what the prefix cache holds, where it follows from sessions or a trace and not from
    what was typed. ``system``: the id of the only system that GPUs come in, where it is there already; None: whatever
    they can be had in.
    """

    scenario: Scenario
    model: Model
    demand: Demand
    traffic: Traffic
    prompt: LengthDistribution
    output: LengthDistribution
    variability: Variability
    limits: LatencyLimits
    gpus: tuple[Gpu, ...]
    allowed: Allowed
    prices: Prices
    gpu_prices: dict[str, float]
    assumptions: tuple[str, ...]
    confidence: float
    benchmark: ResolvedBenchmark | None = None
    reused: Reused | None = None
    system: str | None = None

    def as_expected(self) -> Question:
        """The same with steps as long as expected: what is said of a deployment, whatever caution it is sized with."""
        return replace(self, confidence=EXPECTED)

    def served_context(self, draft_tokens: int = 0) -> int:
        """Tokens of the longest request that is let in, with its drafts; never more than the model can."""
        share = np.array([LONGEST_SHARE])
        longest = float(self.prompt.at(share)[0] + self.output.at(share)[0]) + draft_tokens
        context = math.ceil(longest / CONTEXT_STEP) * CONTEXT_STEP
        return min(context, self.model.max_context or context)

    def gpu_name(self, gpu_id: str) -> str:
        """What an accelerator is called: one of the scenario's own, or of the catalogue; else its id."""
        return accelerator_name(gpu_id, self.scenario)

    @property
    def longest_tokens(self) -> float:
        """Prompt and output at their 95th percentile; those of the last turn of a session."""
        sessions = self.scenario.workload.sessions
        return self.prompt.p95 + self.output.p95 if sessions is None else sessions.shape.longest


def understand(scenario: Scenario) -> Question:
    """Resolve names and units. Raises InvalidScenario with one sentence per unknown name or impossible value."""
    return with_caches(_resolved(scenario), None)


def _resolved(scenario: Scenario) -> Question:
    """The same with the cached part that was typed."""
    if not isinstance(scenario, Scenario):  # callers in notebooks have no type checker
        raise InvalidScenario(
            [
                f"What is asked must be a scenario, as of sizing.load_scenario, or an answer, as of sizing.Answer.of, "
                f"not something of type {type(scenario).__name__}."
            ]
        )
    problems = _Problems()
    model, about_model, named_precision = problems.collect(lambda: _model(scenario), "model") or (None, (), None)
    chosen = _gpus(scenario, problems)
    allowed, about_ranks = _without_dense_ranks(_allowed(scenario, named_precision, problems), model)
    allowed, about_format = _with_published_format(allowed, model)
    demand = problems.collect(lambda: peak_demand(scenario.workload), "workload")
    benchmark, about_benchmark = problems.collect(lambda: _benchmark(scenario, model, chosen), "benchmark") or (
        None,
        (),
    )
    prices = problems.collect(lambda: prices_of(scenario, chosen), "prices")
    if problems.sentences or model is None or demand is None or prices is None:
        raise InvalidScenario(problems.sentences, problems.paths)
    prompt, output, media = _lengths(scenario.workload, model)
    traffic, variability, about_lengths = _traffic(scenario, prompt, output, media)
    return Question(
        scenario=scenario,
        model=model,
        demand=demand,
        traffic=traffic,
        prompt=prompt,
        output=output,
        variability=variability,
        limits=_limits(scenario, traffic),
        gpus=chosen,
        allowed=replace(allowed, speculation=_asked_drafts(scenario, model), adapters=adapters_of(scenario.adapters)),
        prices=prices,
        gpu_prices={g.id: g.price_usd for g in scenario.deployment.custom_gpus if g.price_usd is not None},
        assumptions=(*about_model, *about_ranks, *about_format, demand.how, *about_lengths, *about_benchmark),
        confidence=scenario.deployment.confidence / PERCENT,
        benchmark=benchmark,
    )


def _lengths(workload: Workload, model: Model) -> tuple[LengthDistribution, LengthDistribution, Media]:
    """Prompts with the tokens of images and sound, answers, and these images and sound."""
    prompt, output = (distribution_of(length) for length in (workload.input_tokens, workload.output_tokens))
    media = media_of(workload, model)
    return prompt.longer(media.tokens) if media.tokens else prompt, output, media


def with_caches(question: Question, state: CacheState | None) -> Question:
    """The question with what caches in such a ``state`` hold of its sessions or of its trace, and the rate of sessions;
    None before any plan. One whose cached part was typed as it is."""
    workload, way = question.scenario.workload, cache_routing(question.scenario.deployment.routing)
    demand = question.demand
    if workload.sessions is not None:
        service_s = workload.sessions.assumed_service_s if state is None else state.service_s
        reused = reused_by_sessions(workload.sessions, way, demand.growth_factor, state)
        demand = of_sessions(workload, workload.sessions, service_s)
    elif workload.prefix_reuse is not None:
        lengths = question.prompt, question.output
        reused = reused_by_trace(workload.prefix_reuse, lengths, demand.sustained_rps, way, state)
    else:
        return question
    assumptions = tuple(demand.how if one == question.demand.how else one for one in question.assumptions)
    return replace(
        question,
        traffic=replace(question.traffic, cached_tokens=reused.rows.mean_cached, in_common=reused.in_common),
        demand=demand,
        assumptions=assumptions,
        variability=replace(question.variability, prompt=reused.new_variation),
        reused=reused,
    )


def _asked_drafts(scenario: Scenario, model: Model) -> Speculation:
    """Speculative decoding as a scenario asks for it of every instance."""
    decoding = scenario.deployment.speculative_decoding
    return asked_for(model, **decoding.model_dump()) if decoding else NO_SPECULATION


def model_of(scenario: Scenario) -> Model:
    """The model alone. Raises SizingError for one that is not known."""
    return _model(scenario)[0]


def at_lengths(question: Question, input_tokens: float, output_tokens: float) -> Question:
    """The question with other mean lengths; their spread and the cached share of the prompt stay as they are. Of
    sessions the same part of every prompt is cached then.
    """
    before = question.traffic
    longer = input_tokens / before.input_tokens
    traffic = replace(
        before,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cached_tokens=before.cached_tokens * longer,
        in_common=before.in_common.scaled(longer),
    )
    return replace(
        question,
        prompt=question.prompt.scaled(longer),
        output=question.output.scaled(output_tokens / before.output_tokens),
        traffic=traffic,
        limits=_limits(question.scenario, traffic),
        reused=None,
    )


def _limits(scenario: Scenario, traffic: Traffic) -> LatencyLimits:
    """The limits that apply; an answer of one token has no gap between tokens that a limit could hold for."""
    limits = LatencyLimits.of(scenario.limits, scenario.workload.mode)
    return replace(limits, itl_s=math.inf) if traffic.output_tokens <= 1 else limits


class _Problems:
    """Collects the sentences of everything that could not be resolved, so that all are reported at once."""

    def __init__(self) -> None:
        self.sentences: list[str] = []
        self.paths: list[str] = []

    def collect(self, resolve: Callable[[], T], path: str) -> T | None:
        """The result of ``resolve``, or None with the problem noted; ``path`` leads to the keys that it is about."""
        try:
            return resolve()
        except InvalidScenario as invalid:
            self.sentences.extend(invalid.problems)
            self.paths.extend(own or path for own in invalid.paths)
        except SizingError as error:
            self.sentences.append(str(error))
            self.paths.append(path)
        return None


def _model(scenario: Scenario) -> tuple[Model, tuple[str, ...], Precision | None]:
    """The model asked for, what was assumed about it, and the weight format that its name tells."""
    form = scenario.model
    if isinstance(form, ModelSize):
        known = form.model_dump(exclude={"name", "params_b"}, exclude_none=True)
        model = model_from_size(form.name, form.params_b, **known)
    elif isinstance(form, ModelConfig):
        model = generating(model_from_config(form.config, name=form.name))
    else:
        reject_encoder(form)
        resolved = resolve_model(form)
        return resolved.model, assumed(resolved), resolved.precision
    return model, model.assumptions, None


def _benchmark(
    scenario: Scenario, model: Model | None, chosen: tuple[Gpu, ...]
) -> tuple[ResolvedBenchmark | None, tuple[str, ...]]:
    """The benchmark of the scenario, if it counts: a measured record replaces the prediction, calibrated or not."""
    given = scenario.benchmark
    if given is None or scenario.measured is not None or model is None:
        return None, ()
    if not is_of_model(given, model):
        return None, (f"The imported benchmark is of {given.model}, not of {model.id}: it is not used.",)
    return resolve_benchmark(given, model, tuple(g for g in chosen if g.custom)), ()


def _gpus(scenario: Scenario, problems: _Problems) -> tuple[Gpu, ...]:
    """The accelerators considered: those named, all of the catalogue when none is, and every custom one beside them."""
    custom = {card.id: gpu_of(card) for card in scenario.deployment.custom_gpus}
    named = scenario.deployment.gpus or _unnamed(scenario)
    resolved = [custom.get(name) or problems.collect(partial(resolve_gpu, name), "deployment.gpus") for name in named]
    whole = list(dict.fromkeys([g for g in resolved if g is not None] + list(custom.values())))
    return _sliced(scenario, whole, problems) if scenario.deployment.slice else tuple(whole)


def _sliced(scenario: Scenario, cards: Sequence[Gpu], problems: _Problems) -> tuple[Gpu, ...]:
    """The slice of each card that the scenario asks for; unnamed, of those that can be cut so."""
    name = scenario.deployment.slice
    tried = cards if scenario.deployment.gpus else [card for card in cards if has_slice(card, name)] or list(cards)[:1]
    cut = [problems.collect(partial(slice_of, card, name), "deployment.slice") for card in tried]
    return tuple(one for one in cut if one is not None)


def unmeasured_gpus(question: Question) -> tuple[Gpu, ...]:
    """Accelerators that the scenario leaves out because nobody published benchmarks of them."""
    deployment = question.scenario.deployment
    if deployment.gpus or not deployment.measured_gpus_only:
        return ()
    return tuple(g for g in gpus().values() if not g.named_only and g.id not in measurements("gpus"))


def _unnamed(scenario: Scenario) -> list[str]:
    """What is considered when no accelerator is named: the catalogue without what has to be, or what benchmarks were
    published of."""
    usual = [gpu_id for gpu_id, gpu in gpus().items() if not gpu.named_only]
    return [g for g in usual if g in measurements("gpus") or not scenario.deployment.measured_gpus_only]


def _allowed(scenario: Scenario, named_precision: Precision | None, problems: _Problems) -> Allowed:
    """The restrictions of the scenario with names resolved; where it names no format, that of the checkpoint's name."""
    deployment = scenario.deployment

    def ids(key: str, names: list[str], resolve: Callable[[str], str]) -> tuple[str, ...]:
        resolved = (problems.collect(partial(resolve, name), f"deployment.{key}") for name in names)
        return tuple(i for i in resolved if i is not None)

    return Allowed(
        engines=ids("engines", deployment.engines, lambda n: resolve_engine(n).id),
        precisions=ids("precisions", deployment.precisions, lambda n: resolve_precision(n).id)
        or ((named_precision.id,) if named_precision else ()),
        accuracy="kept" if deployment.accurate_formats_only else "any",
        kv_precisions=ids("kv_precisions", deployment.kv_precisions, resolve_kv_precision),
        tp=tuple(deployment.tp),
        pp=tuple(deployment.pp),
        ep=tuple(deployment.ep),
        dp=tuple(deployment.dp),
        pools=_pool_layouts(deployment),
        gpus_named=bool(deployment.gpus),
        memory_fraction=deployment.memory_fraction,
    )


def _pool_layouts(deployment: Deployment) -> tuple[tuple[int, int, int, int], ...]:
    """The layouts named for prefill and decode instances, where nothing else is served by them."""
    if deployment.allows("aggregated"):
        return ()
    named = (deployment.prefill, deployment.decode)
    return tuple((one.tp, one.pp, one.ep, one.dp) for one in named if one is not None)


def _without_dense_ranks(allowed: Allowed, model: Model | None) -> tuple[Allowed, tuple[str, ...]]:
    """The allowed ranks of attention data parallelism: of a dense model they are instances, which a plan counts."""
    if model is None or model.is_moe or not allowed.dp:
        return allowed, ()
    note = "Data-parallel ranks of a dense model are instances of their own, and are counted as such."
    return replace(allowed, dp=()), (note,)


def _with_published_format(allowed: Allowed, model: Model | None) -> tuple[Allowed, tuple[str, ...]]:
    """The formats allowed and, where all of several are wider than the one that the model is published in, that one.

    Several formats are a choice, made for models published wider than this one: nobody would convert its weights up to
    get there. A single format is a decision and is left alone.
    """
    several = [precisions()[name] for name in allowed.precisions]
    if model is None or len(several) < 2:
        return allowed, ()
    published = model.published_format
    if any(one.bytes <= published.bytes for one in several):
        return allowed, ()
    note = f"{published.label} is considered too: the model is published in it."
    return replace(allowed, precisions=(*allowed.precisions, published.id)), (note,)


def _traffic(
    scenario: Scenario, prompt: LengthDistribution, output: LengthDistribution, media: Media
) -> tuple[Traffic, Variability, tuple[str, ...]]:
    """Mean lengths and variabilities of the workload, and what was assumed about them."""
    prompt_variation, output_variation = prompt.variation, output.variation
    arrivals, about_arrivals = arrival_variability(scenario.workload)
    about = []
    if prompt_variation == 0.0 and output_variation == 0.0:
        about.append("Every request has the mean prompt and output length; give p50 and p95 to let them vary.")
    about.extend(about_arrivals)
    traffic = Traffic(
        input_tokens=prompt.mean,
        output_tokens=output.mean,
        cached_tokens=scenario.workload.prefix_cached_tokens,
        output_variation=output_variation,
        media=media,
    )
    variability = Variability(arrivals=arrivals, prompt=prompt_variation, output=output_variation)
    return traffic, variability, tuple(about)


def arrival_variability(workload: Workload) -> tuple[float, tuple[str, ...]]:
    """Squared coefficient of variation of the gaps between arrivals, and what was assumed about them.

    On/off bursts count by their index of dispersion over long times: 1 + 2 p (1 - p) (r1 - r0)^2 t / r with p the share
    of on time, r1, r0 and r the rates on, off and overall, t = on x off / (on + off) (Fischer and Meier-Hellstern, "The
    MMPP cookbook", 1993); 400 at most, which is a coefficient of 20.
    """
    arrivals = workload.arrivals
    if isinstance(arrivals, Gamma):
        return arrivals.gamma.cv**2, ()
    if isinstance(arrivals, TraceArrivals):
        note = f"Gaps between arrivals vary as in {arrivals.trace}: coefficient of variation {arrivals.cv:.2g}."
        return arrivals.cv**2, (note,)
    if isinstance(arrivals, Burst):
        bursts = arrivals.bursts
        whole = bursts.on_s + bursts.off_s
        share = bursts.on_s / whole
        contrast = bursts.share_on / share - (1.0 - bursts.share_on) / (1.0 - share)
        relaxation = bursts.on_s * bursts.off_s / whole
        rate = peak_demand(workload).sustained_rps
        spread = 1.0 + 2.0 * share * (1.0 - share) * contrast**2 * relaxation * rate
        return min(spread, MOST_DISPERSION), ("Every instance sees the bursts of the whole load.",)
    return 1.0, ("Requests arrive at random and independently of each other (Poisson).",)
