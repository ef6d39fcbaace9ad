"""Why a GPU cannot serve the scenario, and the smallest change that would let it."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from sizing.base.arrays import ROUNDING, Floats
from sizing.base.format import memory, ms, percent
from sizing.base.result import Excluded, Fix
from sizing.base.units import GB, MS_PER_S
from sizing.catalog.gpu import Gpu
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates, support_of, table_for
from sizing.deployments.memory import MemoryFit, memory_fit
from sizing.planning.unsupported import LOSSY, RESTRICTIONS, lossy
from sizing.question.configuration import Allowed, Configuration
from sizing.question.understand import EXPECTED, Question
from sizing.scenario.costs import Rent
from sizing.search.screen import Evaluated, most_gpus

LIMIT_NAMES = (
    ("ttft_s", "TTFT", "limits.ttft_ms"),
    ("itl_s", "ITL", "limits.itl_ms"),
    ("e2e_s", "E2E", "limits.e2e_ms"),
)

SHORTEST_PROMPT = 0.1
"""Share of a prompt below which shortening it is not proposed. Chosen: less would be another task, not a relaxation."""

FITS_WITH_ROOM = 0.95
"""Share of the longest prompt that would just fit which is proposed. Chosen: memory is an estimate, too."""

HIGHEST_FRACTION = 0.95
"""Share of a GPU's memory that operators give an engine at most. Chosen: what published runs set that need the room
(gpu_memory_utilization 0.95 in ``calibration/memory_runs.csv``)."""

KEPT = 256
"""GPUs whose configurations that fit are kept. Chosen: a question looks at some ten, each with three restrictions."""

RELAXED_BY = 1.02
"""Room above the unloaded latency, so that the relaxed limit leaves some capacity. Chosen: little, as the smallest
relaxation is shown."""


def article(name: str) -> str:
    """ "A TTFT limit", "An ITL limit"."""
    return "An" if name[0] in "EI" else "A"


def not_offered(question: Question, gpu: Gpu) -> Excluded:
    """It cannot be bought, or not for a data centre, or not rented where the scenario asks for it."""
    if gpu.consumer and not question.scenario.deployment.gpus:
        return Excluded(
            gpu=gpu.id,
            closest="",
            reason="Its driver's licence forbids use in a data centre.",
            relaxation="Choose it under GPUs to have it considered all the same.",
        )
    if question.scenario.deployment.location == "cloud":
        return _not_rented_there(question.scenario.costs.rent, gpu)
    return Excluded(
        gpu=gpu.id,
        closest="",
        reason="It is not sold: it exists only in its provider's cloud.",
        relaxation="Rent it: choose the cloud.",
        fix=Fix(key="deployment.location", value="cloud", label="Run in the cloud"),
    )


def _not_rented_there(rent: Rent, gpu: Gpu) -> Excluded:
    """The provider or region that is asked for has no instance with it."""
    key, value = ("cloud_provider", rent.provider) if rent.provider is not None else ("cloud_region", rent.region)
    by = "" if rent.provider is None else f" by {rent.provider}"
    place = "" if rent.region is None else f" in {rent.region}"
    return Excluded(
        gpu=gpu.id,
        closest="",
        reason=f"The catalogue has no instance with it{by}{place}.",
        relaxation=f"Rent it elsewhere, without costs.{key} {value}, or enter your price (prices.listed.gpu_hours).",
    )


def unknown(gpu: Gpu) -> Excluded:
    """Its datasheet leaves out what step times need."""
    return Excluded(
        gpu=gpu.id,
        closest="",
        reason="Its datasheet rate, bandwidth or memory is not known, so nothing is estimated.",
        relaxation="Describe it as a custom accelerator with memory, bandwidth and 16-bit TFLOPS.",
    )


def apart(gpu: Gpu, most: int) -> Excluded:
    """What it is rented in holds too few GPUs for the asked parallelism, and no fabric joins several of them."""
    return Excluded(
        gpu=gpu.id,
        closest="",
        reason=f"What it is offered in holds {most} GPU{'s' if most > 1 else ''} at most, and no RDMA network between "
        "several is known: an instance of the model cannot span two.",
        relaxation=f"Split the model over {most} GPU{'s' if most > 1 else ''} at most, or choose another GPU.",
    )


def too_small(question: Question, candidates: Candidates, fit: MemoryFit) -> Excluded:
    """The weights, or one sequence beside them, exceed the memory of every configuration."""
    traffic = question.traffic
    needed = fit.needed
    best = int(np.argmin(needed - fit.usable))
    row, gpu = candidates.rows[best], candidates.rows[best].gpu
    at_best, usable, whole = (
        memory(size / GB, gpu.memory_bytes / GB) for size in (needed[best], fit.usable[best], gpu.memory_bytes)
    )
    reason = f"Needs {at_best} per GPU at best, {usable} of the {whole} of {gpu.name} are usable."
    if (with_more := _told_more(question, row, reason)) is not None:
        return with_more
    tight = fit.weights + fit.activations + fit.overhead < fit.usable
    if tight.any():
        longest = int(
            max_tokens(question, fit.usable - fit.weights - fit.activations - fit.overhead, fit.kv_per_sequence)
        )
        prompt = math.floor((longest - traffic.output_tokens) * FITS_WITH_ROOM)
        prompt -= math.ceil(traffic.media.tokens)
        if prompt > max(traffic.cached_tokens, SHORTEST_PROMPT * traffic.input_tokens):
            return Excluded(
                gpu=gpu.id,
                closest=row.label,
                reason=reason,
                relaxation=f"Prompts of at most {prompt:,} tokens.",
                fix=Fix(key="workload.input_tokens", value=prompt, label=f"Shorten the prompt to {prompt:,} tokens"),
            )
    return _narrower(question, row, reason)


def _told_more(question: Question, row: Configuration, reason: str) -> Excluded | None:
    """Where the engine alone keeps too much back: the setting that makes it fit, and what is advised; else None."""
    own = replace(question.allowed, memory_fraction=None)
    if question.allowed.memory_fraction and (rows := _fitting(question, row.gpu, own)):
        return Excluded(
            gpu=row.gpu.id,
            closest=rows[0].label,
            reason=reason,
            relaxation="Leave the share of GPU memory to the engine.",
            fix=Fix(key="deployment.memory_fraction", value=None, label="Leave the share of memory to the engine"),
        )
    own_share = 0.0 if row.gpu.visible_setting else row.memory_fraction(question.model)
    if (question.allowed.memory_fraction or own_share) >= HIGHEST_FRACTION:
        return None
    with_more = _fitting(question, row.gpu, replace(own, memory_fraction=HIGHEST_FRACTION))
    rows = [one for one in with_more if one.engine.memory.fraction_of != "static"]  # whose steps run in what is left
    if not rows:
        return None
    fit = min(rows, key=lambda one: (one.gpus, support_of(question.model, one).status != "supported"))
    wider = _fitting(question, row.gpu, replace(own, tp=(), pp=(), ep=(), dp=()))
    more = min((one.gpus for one in wider), default=0)
    advised = f"; {more} GPUs are advised" if more > fit.gpus else ""
    share, by = percent(HIGHEST_FRACTION), f" (set {row.gpu.visible_setting})" if row.gpu.visible_setting else ""
    return Excluded(
        gpu=row.gpu.id,
        closest=fit.label,
        reason=reason,
        relaxation=f"Possible with {share} of GPU memory for the engine{by}, which leaves hardly any room{advised}.",
        fix=Fix(key="deployment.memory_fraction", value=HIGHEST_FRACTION, label=f"Let the engine use {share}"),
    )


def max_tokens(question: Question, free: Floats, per_sequence: Floats) -> float:
    """Tokens of one sequence that fit into the free memory of the roomiest configuration, in proportion."""
    tokens = question.traffic.resident_kv_tokens
    return float(np.max(free / np.maximum(per_sequence, 1.0)) * tokens)


def _narrower(question: Question, row: Configuration, reason: str) -> Excluded:
    """Propose to lift the one restriction without which it would fit, else all of them, else more memory."""
    allowed = question.allowed
    near = partial(Excluded, gpu=row.gpu.id, closest=row.label, reason=reason)
    if allowed.precisions and (names := _fitting(question, row.gpu, allowed.lifted("precisions"))):
        new = names[0].precision
        return near(
            relaxation=f"Allow {new.label}.",
            fix=Fix(key="deployment.precisions", value=[*allowed.precisions, new.id], label=f"Allow {new.label}"),
        )
    left_out = lossy(question.model, allowed, row.gpu)
    if left_out and (rows := _fitting(question, row.gpu, replace(allowed, accuracy="any"))):
        made_for = next((one for one in rows if row.gpu.family in one.engine.only_families), rows[0])
        return near(relaxation=f"Allow {made_for.precision.label}.", fix=LOSSY)
    for name, what in RESTRICTIONS:
        if getattr(allowed, name) and _fitting(question, row.gpu, allowed.lifted(name)):
            fix = Fix(key=f"deployment.{name}", value=[], label=f"Consider every {what}")
            return near(relaxation=f"Leave {what} open.", fix=fix)
    if _fitting(question, row.gpu, allowed.lifted(*(name for name, _ in RESTRICTIONS))):
        return near(relaxation="Leave engine, precision, KV precision, TP, PP, EP and DP open.")
    return near(relaxation="Choose a GPU with more memory, or spread the model over more servers than are considered.")


def _fitting(question: Question, gpu: Gpu, allowed: Allowed) -> list[Configuration]:
    """Configurations that would fit in memory if ``allowed`` held, in what the GPU is sold or rented in."""
    most = most_gpus(question, gpu)
    fit = _that_fit(question.model, gpu, allowed, question.traffic.resident_kv_tokens)
    return [row for row in fit if row.gpus <= most]


@lru_cache(maxsize=KEPT)
def _that_fit(model: Model, gpu: Gpu, allowed: Allowed, tokens: float) -> tuple[Configuration, ...]:
    """Those in whose memory a sequence of so many tokens fits, in whatever systems."""
    every = table_for(model, gpu, allowed)
    return tuple(every.rows[i] for i in np.flatnonzero(memory_fit(model, every, tokens).fits))


def no_pools(question: Question, gpu: Gpu, rows: Sequence[Configuration]) -> Excluded:
    """Aggregated serving would do, but only pools are wanted."""
    reason = "No split into prefill and decode instances holds the limits, the transfer of the KV cache included."
    if question.traffic.output_tokens < 2:
        reason = "Answers of one token leave nothing to decode apart."
    elif not any(r.gpu.family in r.engine.disaggregated for r in rows):
        reason = "None of the engines considered is documented to run prefill and decode apart on it."
    fix = Fix(key="deployment.serving", value=[], label="Consider aggregated serving too")
    return Excluded(gpu=gpu.id, closest="", reason=reason, relaxation="Allow aggregated serving.", fix=fix)


def too_slow(question: Question, evaluated: Evaluated, index: NDArray[np.intp]) -> Excluded:
    """Even an idle instance misses a limit: report the configuration that misses by least."""
    nearest = np.lexsort((evaluated.candidates.gpus[index], np.round(evaluated.capacity.excess[index], 3)))
    best = int(index[nearest[0]])
    row = evaluated.candidates.rows[best]
    misses = []
    for attribute, name, key in LIMIT_NAMES:
        limit = getattr(question.limits, attribute)
        idle = float(getattr(evaluated.latencies, attribute)[best, 0])
        if idle > limit:
            misses.append((name, key, idle * MS_PER_S, limit * MS_PER_S))
    p = f"p{question.limits.percentile:g}"
    missed = " and ".join(f"{p} {n} is {ms(idle)} (limit {ms(limit)})" for n, _, idle, limit in misses)
    sure = (
        ""
        if question.confidence == EXPECTED
        else f", at step times slow enough to be {percent(question.confidence)} sure"
    )
    reason = f"Even without load, {missed}{sure}."
    relaxed = [(n, k, two_digits_up(idle * RELAXED_BY)) for n, k, idle, _ in misses]
    words = " and ".join(f"{n} limit of {ms(v)}" for n, _, v in relaxed)
    label = f"Relax to {words}" if len(relaxed) == 1 else "Relax these limits"
    first, *also = (Fix(key=key, value=value, label=label) for _, key, value in relaxed)
    fix = first.model_copy(update={"also": tuple(also)})
    return Excluded(gpu=row.gpu.id, closest=row.label, reason=reason, relaxation=f"{article(words)} {words}.", fix=fix)


def two_digits_up(value: float) -> float:
    """``value`` rounded up to two significant digits: a limit a person would write."""
    unit = 10.0 ** (math.floor(math.log10(value)) - 1)
    return round(math.ceil(value / unit - ROUNDING) * unit, 6)
