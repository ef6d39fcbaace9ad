"""Configurations compiled by the package of the kernel tables, or why it has none."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from calibration.kernel_configs import checkpoint
from calibration.kernel_names import Modes, missing, modes
from sizing.catalog.model import Model
from sizing.question.configuration import Configuration

VERSION_SLOT = "current"  # the newest complete collection of each engine; the package rejects plain version numbers
PROBE_TOKENS = 64
"""Context of the one step that shows whether the tables cover a configuration. Chosen: because any number does."""

EXPECTED = (ValueError, RuntimeError, LookupError, AssertionError, TypeError, AttributeError, ArithmeticError, OSError)
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


_ABSENT: dict[tuple[str, str, str], str] = {}  # (system, backend, GEMM format) without tables -> the package's message


def available() -> bool:
    """Whether the package can be imported (takes about 0.3 s the first time)."""
    try:
        import aiconfigurator_core.sdk  # noqa: F401
    except ImportError:
        return False
    return True


def compiled(model: Model, configuration: Configuration) -> StepTable | str:
    """The compiled engine in the first of the possible number formats that compiles and answers, or what is not in the
    tables: GPU and engine, architecture, or number formats."""
    if reason := missing(configuration):
        return reason
    written = checkpoint(model, configuration.precision.id)
    if written is None:
        return f"architecture of {model.id} is not in the kernel tables"
    reasons: list[str] = []
    for formats in modes(model, configuration, nvfp4_checkpoint=written.is_nvfp4):
        engine = _try(written.folder, configuration, formats)
        if not isinstance(engine, str):
            return engine
        reasons.append(engine)
    if all(reason.startswith(_WITHOUT_MODEL) for reason in reasons):
        label = configuration.precision.label
        return f"precision {label} is not in the kernel tables for this GPU, engine and kind of model"
    return f"this model and parallelism are not in the kernel tables: {reasons[0]}"


def _try(folder: str, configuration: Configuration, formats: Modes) -> StepTable | str:
    """The engine in these formats, or why the tables do not have it."""
    place = (configuration.gpu.kernel_tables, configuration.engine.kernel_tables, formats.gemm or "")
    if place in _ABSENT:
        return _ABSENT[place]
    try:
        with _quiet():
            table = _compile(folder, configuration, formats)
            _probe(table)
    except EXPECTED as error:
        reason = sentence(error)
        if formats.gemm and reason.startswith(_WITHOUT_MODEL):
            _ABSENT[place] = reason
        return reason
    return table


def _compile(folder: str, configuration: Configuration, formats: Modes) -> StepTable:
    """One engine; the experts' TP x EP must equal the attention's TP x DP (also where a dense model has no experts)."""
    from aiconfigurator_core.sdk import EngineHandle

    c = configuration
    table: StepTable = EngineHandle.compile(
        folder,
        c.gpu.kernel_tables,
        c.engine.kernel_tables,
        backend_version=VERSION_SLOT,
        tp_size=c.tp,
        pp_size=c.pp,
        attention_dp_size=c.dp,
        moe_ep_size=c.ep,
        moe_tp_size=c.tp * c.dp // c.ep,
        gemm_quant_mode=formats.gemm,
        moe_quant_mode=formats.moe,
        kvcache_quant_mode=formats.kvcache,
        fmha_quant_mode=formats.fmha,
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


def sentence(error: Exception) -> str:
    """The first clause of the package's message, without paths and keys."""
    text = str(error).removeprefix("perf database error: ")
    for end in (" at /", " { ", ";", "\n"):
        text = text.split(end, 1)[0]
    return text.strip().rstrip(".") or type(error).__name__
