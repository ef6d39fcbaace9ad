"""Step times from measured kernels: an adapter to NVIDIA's tables (``aiconfigurator-core``), which are optional.

The tables time each operator of a forward pass on real GPUs; the package adds them up. It knows nothing of host time
per step or request, of queues or of memory. Its semantics, read in release 0.12: ``decode_step_latency(b, isl, osl)``
times one step of b sequences *per attention-DP rank* at a context of ``isl + osl // 2 + 1`` tokens;
``mixed_step_latency`` times one step that also carries ``ctx_tokens`` prompt tokens per rank; with pipeline stages all
three answer for the pass through every stage. Milliseconds.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from math import ceil
from threading import Lock
from typing import ClassVar, Protocol

import numpy as np

from sizing.candidates import Candidates, Configuration, Floats
from sizing.catalog.model import Model
from sizing.steps.kernel_configs import Checkpoint, checkpoint
from sizing.steps.kernel_names import BACKENDS, SYSTEMS, Modes, missing, modes
from sizing.steps.times import StepTimes, Traffic

MS = 1e-3  # seconds per millisecond, the unit of the tables
VERSION_SLOT = "current"  # the newest complete collection of each engine; the package rejects plain version numbers
MAX_ENGINES = 4096  # compiled configurations kept; one takes about 10 kB beside the shared tables
SHARED_SEQUENCES = 32  # decoding sequences per rank beside which a prompt's work is measured, see ``_work_s``
PROBE_TOKENS = 64
KNOTS = np.array([1, 2, 3, *(k * 2**n for n in range(2, 11) for k in (1, 1.5)), 2048, 4096], dtype=np.float64)
"""Sequences per rank at which decoding is read: every size that MoE kernels tell apart, then two per doubling."""

_LOADING = Lock()  # the package keeps process-wide caches; one compilation at a time
_EXPECTED = (ValueError, RuntimeError, LookupError, AssertionError, TypeError, AttributeError, ArithmeticError, OSError)
"""What the package raises for a configuration it does not cover; it has no common base class."""
_WITHOUT_MODEL = ("GEMM perf data missing for quant", "missing system flops")
"""Start of messages that hold for every model and parallelism of a GPU, engine and GEMM format."""


class StepTable(Protocol):
    """The calls of ``aiconfigurator_core.sdk.EngineHandle`` that are used, in milliseconds."""

    def predict_prefill_latency(self, bs: int, isl: int, prefix: int = 0) -> float:
        """Prefill of ``bs`` prompts of ``isl`` tokens, ``prefix`` of them cached."""
        ...

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        """One decode step of ``gen_tokens`` sequences per attention-DP rank."""
        ...

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        """One step of ``ctx_tokens`` prompt tokens and ``gen_tokens`` decoding sequences per rank."""
        ...


@dataclass
class _Engine:
    """A compiled configuration, or why there is none; ``reason`` may also tell why it did not answer last time."""

    table: StepTable | None
    reason: str = ""


_ENGINES: OrderedDict[tuple[object, ...], _Engine] = OrderedDict()  # compiled once per process, guarded by _LOADING
_ABSENT: dict[tuple[str, str, str], str] = {}  # (system, backend, GEMM format) without tables -> the package's message


@dataclass(frozen=True)
class KernelTables:
    """Measured kernels as a source of step times. Compiled engines are shared by the process; thread-safe."""

    name: ClassVar[str] = "kernel"

    def available(self) -> bool:
        """Whether the package can be imported on this platform (takes about 0.3 s the first time)."""
        try:
            import aiconfigurator_core.sdk  # noqa: F401
        except ImportError:
            return False
        return True

    def reason(self, model: Model, configuration: Configuration) -> str:
        """Why the tables do not cover ``configuration``; "" when they do."""
        return self._engine(model, configuration).reason

    def times(self, model: Model, candidates: Candidates, traffic: Traffic, concurrency: Floats) -> StepTimes:
        """Decode, prefill and prefill work of every candidate; NaN rows where the tables do not cover it."""
        decode, prefill, work = np.full_like(concurrency, np.nan), *np.full((2, len(candidates)), np.nan)
        for i, row in enumerate(candidates.rows):
            engine = self._engine(model, row)
            if engine.table is None:
                continue
            try:
                times = _row(engine.table, row, traffic, concurrency[i])
            except _EXPECTED as error:
                engine.reason = _sentence(error)
                continue
            engine.reason = ""
            decode[i], prefill[i], work[i] = times
        source = self._source(model, candidates)
        return StepTimes(decode_s=decode, prefill_s=prefill, prefill_work_s=work, source=source)

    def _source(self, model: Model, candidates: Candidates) -> str:
        """Name and release of the tables, and whether another architecture stands in for the model's own."""
        try:
            name = f"kernel tables (aiconfigurator-core {version('aiconfigurator-core')})"
        except PackageNotFoundError:
            return "kernel tables"
        found = checkpoint(model, candidates.rows[0].precision.id) if len(candidates) else None
        return f"{name}, relabelled as {found.relabelled}" if found and found.relabelled else name

    def _engine(self, model: Model, configuration: Configuration) -> _Engine:
        """The compiled engine, from the cache or freshly compiled; the least recently used one makes room."""
        if not self.available():
            return _Engine(None, "kernel tables are not installed on this platform")
        c = configuration
        key = (model, c.gpu.id, c.gpu.custom, c.engine.id, c.precision.id, c.kv_precision, c.tp, c.pp, c.ep, c.dp)
        with _LOADING:
            engine = _ENGINES.pop(key, None) or _build(model, configuration)
            _ENGINES[key] = engine
            if len(_ENGINES) > MAX_ENGINES:
                _ENGINES.popitem(last=False)
        return engine


def _build(model: Model, configuration: Configuration) -> _Engine:
    """Compile, or say what is not in the tables: GPU and engine, architecture, or number formats."""
    reason = missing(configuration)
    if reason:
        return _Engine(None, reason)
    found = checkpoint(model, configuration.precision.id)
    if found is None:
        return _Engine(None, f"architecture of {model.id} is not in the kernel tables")
    return _compile_first(model, configuration, found)


def _compile_first(model: Model, configuration: Configuration, found: Checkpoint) -> _Engine:
    """The first of the possible number formats that compiles and answers, else the reason of the first."""
    reasons: list[str] = []
    for formats in modes(model, configuration, nvfp4_checkpoint=found.is_nvfp4):
        table = _try(found.folder, configuration, formats, is_moe=model.is_moe)
        if not isinstance(table, str):
            return _Engine(table)
        reasons.append(table)
    asked = f"precision {configuration.precision.label} with {configuration.kv_precision.upper()} KV cache"
    return _Engine(None, ": ".join((f"{asked} is not in the kernel tables", *reasons[:1])))


def _try(folder: str, configuration: Configuration, formats: Modes, *, is_moe: bool) -> StepTable | str:
    """The engine in these formats, or why the tables do not have it."""
    place = (SYSTEMS[configuration.gpu.id], BACKENDS[configuration.engine.id], formats.gemm or "")
    if place in _ABSENT:
        return _ABSENT[place]
    try:
        with _quiet():
            table = _compile(folder, configuration, formats, is_moe=is_moe)
            _probe(table)
    except _EXPECTED as error:
        reason = _sentence(error)
        if formats.gemm and reason.startswith(_WITHOUT_MODEL):
            _ABSENT[place] = reason
        return reason
    return table


def _compile(folder: str, configuration: Configuration, formats: Modes, *, is_moe: bool) -> StepTable:
    """One engine; the experts' TP x EP must equal the attention's TP x DP."""
    from aiconfigurator_core.sdk import EngineHandle

    c = configuration
    experts = {"moe_ep_size": c.ep, "moe_tp_size": c.tp * c.dp // c.ep} if is_moe else {}
    table: StepTable = EngineHandle.compile(
        folder, SYSTEMS[c.gpu.id], BACKENDS[c.engine.id], backend_version=VERSION_SLOT, tp_size=c.tp, pp_size=c.pp,
        attention_dp_size=c.dp, **experts, gemm_quant_mode=formats.gemm, moe_quant_mode=formats.moe,
        kvcache_quant_mode=formats.kvcache, fmha_quant_mode=formats.fmha,
    )
    return table


def _probe(table: StepTable) -> None:
    """Ask one of each kind: a missing table shows only when it is read."""
    table.decode_step_latency(1, PROBE_TOKENS, 1)
    table.predict_prefill_latency(1, PROBE_TOKENS)
    table.mixed_step_latency(PROBE_TOKENS, 1, PROBE_TOKENS, 1)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the package's remarks on fallback rows while it loads, and only then."""
    logger = logging.getLogger("aiconfigurator_core")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)


def _sentence(error: Exception) -> str:
    """The first clause of the package's message, without paths and keys."""
    text = str(error).removeprefix("perf database error: ")
    for end in (" at /", " { ", ";", "\n"):
        text = text.split(end, 1)[0]
    return text.strip().rstrip(".") or type(error).__name__


def _row(table: StepTable, row: Configuration, traffic: Traffic, concurrency: Floats) -> tuple[Floats, float, float]:
    """Decode (K,), prefill and prefill work of one candidate in seconds.

    A pass carries B / PP sequences, of which an attention-DP rank decodes B / (PP x DP); the table's time is that of
    the pass through all stages, as in the roofline.
    """
    ways = row.pp * row.dp
    decode = _decode_s(table, concurrency / ways, traffic.decode_context)
    chunks = _chunks(traffic, row.engine.budget(row.gpu))
    alone = sum(table.predict_prefill_latency(1, before + n, before) for n, before in chunks) * MS
    return decode, alone, _work_s(table, chunks) / ways


def _decode_s(table: StepTable, sequences: Floats, context: float) -> Floats:
    """Time of one decode step in seconds for ``sequences`` per rank, shape (K,); below one sequence it is that of one.

    Linear between ``KNOTS``. No batch takes longer than a larger one, to which an engine could pad it: this levels
    kernels that were measured slower at a small batch.
    """
    top = max(float(sequences.max(initial=1.0)), KNOTS[-1])
    knots = np.append(KNOTS, 2.0 * top) if top > KNOTS[-1] else KNOTS
    tokens = max(round(context) - 1, 1)  # the package adds osl // 2 + 1 with osl = 1
    read = np.array([table.decode_step_latency(int(b), tokens, 1) for b in knots]) * MS
    return np.asarray(np.interp(sequences, knots, np.minimum.accumulate(read[::-1])[::-1]), dtype=np.float64)


def _chunks(traffic: Traffic, budget: int) -> list[tuple[int, int]]:
    """(new tokens, tokens before them) of each step of one prompt: equal parts within the engine's token budget."""
    new, cached = max(round(traffic.new_tokens), 1), max(round(traffic.cached_tokens), 0)
    parts = ceil(new / budget)
    ends = [new * i // parts for i in range(parts + 1)]
    return [(end - start, cached + start) for start, end in pairwise(ends)]


def _work_s(table: StepTable, chunks: list[tuple[int, int]]) -> float:
    """Engine time in seconds that one prompt adds to steps that decode anyway, before dividing by PP x DP.

    Per chunk: mixed step with ``SHARED_SEQUENCES`` decoding sequences - the same step without the chunk, plus attention
    to the tokens before it (prefill with them cached - prefill without). 32 sequences are the middle of the usual load:
    from 8 to 128 the work of 2,000 tokens changes by 5 % for dense models and 20 % for MoE, whose experts a larger
    batch has read already. Never below zero.
    """
    b = SHARED_SEQUENCES
    work = 0.0
    for n, before in chunks:
        work += table.mixed_step_latency(n, b, n, 1) - table.decode_step_latency(b, n, 1)
        if before:
            work += table.predict_prefill_latency(1, before + n, before) - table.predict_prefill_latency(1, n)
    return max(work, 0.0) * MS
