"""Start-up of engines as their logs print it: a table of runs in, weights, KV pool and concurrency of each out.

``python -m sizing memory RUNS.csv --out OUT.csv`` answers with the formulas of the planner, and with the settings of
each run instead of the defaults of the engine: fraction of memory, tokens of a step, sequences, context, version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

from sizing.base.errors import SizingError
from sizing.base.units import GIB, PERCENT
from sizing.catalog import Gpu, Model, resolve_gpu, resolve_model
from sizing.catalog.engines import Engine, in_version, resolve_engine
from sizing.catalog.precisions import named_precision, resolve_kv_precision
from sizing.catalog.resolve import known_model
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.deployments.printed_memory import printed
from sizing.evidence.points import BadCell, Cells, degree, demand, number_in, rows, text, whole
from sizing.question.configuration import Configuration
from sizing.question.speculation import NO_SPECULATION, Speculation, draft_weight_bytes
from sizing.scenario.bounds import MAX_TOKENS

if TYPE_CHECKING:
    import pandas as pd

ANSWERS = (
    "weights_gib",
    "activations_gib",
    "graphs_gib",
    "kv_pool_gib",
    "kv_tokens",
    "max_concurrency",
    "starts",
    "error",
)
REQUIRED = ("model", "gpu")


@dataclass(frozen=True, kw_only=True)
class MemoryRun:
    """One start of an engine: a configuration whose engine has the run's settings, and its context in tokens."""

    model: Model
    configuration: Configuration
    context: int


@dataclass(frozen=True, kw_only=True)
class StartUp:
    """What the engine prints at its start: GiB per GPU, tokens that the cache holds, sequences of the whole context.

    ``starts``: whether one sequence of the whole context fits (vLLM), or any token (engines that cut the context).
    """

    weights_gib: float
    activations_gib: float
    graphs_gib: float
    kv_pool_gib: float
    kv_tokens: int
    max_concurrency: float
    starts: bool


def memory_runs(frame: pd.DataFrame) -> pd.DataFrame:
    """The answers, one row for each run in the same order; ``error`` says why a row has none.

    Raises InvalidPoints when the table lacks a required column.
    """
    import pandas as pd

    demand(REQUIRED, frame.columns)
    answers: list[dict[str, object]] = []
    for cells in rows(frame):
        try:
            lines = start_up(run_of(as_numbers(cells)))
            answers.append(vars(lines) | {"starts": str(lines.starts).lower(), "error": ""})
        except SizingError as error:
            answers.append({"error": str(error)})
    table_of_answers = pd.DataFrame(answers, columns=list(ANSWERS), index=frame.index)
    return table_of_answers.astype({"kv_tokens": "Int64"})


def known_by_size_alone(frame: pd.DataFrame) -> tuple[str, ...]:
    """Names of models of which nothing but the size in the name is known: the rest is that of a like one."""
    names = dict.fromkeys(text(cells, "model") for cells in rows(frame))
    return tuple(name for name in names if name and (known := known_model(name)) and known.match == "size")


_UNITS = re.compile(r"\s*(gib|gb|tokens|%)$", re.IGNORECASE)
_OF_ENGINES = ("auto", "-1", "-", "none", "default")
"""What leaves a setting to the engine."""


def as_numbers(cells: Cells) -> dict[str, object]:
    """The cells with numbers as command lines and logs write them made plain: "32k" (1,000) and "32K" (1,024), "1,024",
    "90 %" and 90, "79.19 GiB"; settings that are left to the engine empty."""
    plain = dict(cells)
    for name in ("util", "total_gib", "max_model_len", "max_num_batched_tokens", "max_num_seqs", "fmt", "kv"):
        value = text(cells, name)
        if value.lower() in _OF_ENGINES:
            plain[name] = ""
        elif name not in ("fmt", "kv") and value:
            plain[name] = _plain(value, share=name == "util")
    if text(cells, "ep").lower() in ("true", "yes", "false", "no"):
        spread = text(cells, "ep").lower() in ("true", "yes")
        plain["ep"] = degree(cells, "tp") * degree(cells, "dp") if spread else 1
    return plain


def _plain(value: str, *, share: bool) -> str:
    """One such number; what is none stays as it is, to be refused where it is read."""
    bare = re.sub(r"(?<=\d),(?=\d{3}(\D|$))", "", _UNITS.sub("", value))
    thousands = re.fullmatch(r"(\d+(?:\.\d+)?)([kK])", bare)
    if thousands:
        return str(float(thousands[1]) * (1000 if thousands[2] == "k" else 1024))
    percent = share and re.fullmatch(r"\d+(\.\d+)?", bare) and (value.endswith("%") or 1.5 < float(bare) <= PERCENT)
    return f"{float(bare) / PERCENT:g}" if percent else bare


def run_of(cells: Cells) -> MemoryRun:
    """One row as a run. Raises BadCell or UnknownName with one sentence."""
    name = text(cells, "model")
    if not name:
        raise BadCell("model is empty")
    named = resolve_model(name)
    stated = text(cells, "fmt")
    precision = named_precision(stated).precision if stated else named.weight_format
    gpu = _gpu(text(cells, "gpu"), number_in(cells, "total_gib", at_least=1.0))
    engine = _engine(cells, named.model)
    degrees = _degrees(cells, named.model, engine)
    tp, pp, ep, dp = (degrees.get(name, 1) for name in ("tp", "pp", "ep", "dp"))
    configuration = Configuration(
        gpu=gpu,
        engine=engine,
        precision=precision,
        kv_precision=resolve_kv_precision(text(cells, "kv") or "auto"),
        speculation=_speculation(text(cells, "spec"), named.model),
        tp=tp,
        pp=pp,
        ep=ep,
        dp=dp,
    )
    context = whole(cells, "max_model_len") or named.model.max_context or MAX_TOKENS
    return MemoryRun(model=named.model, configuration=configuration, context=min(context, MAX_TOKENS))


def _degrees(cells: Cells, model: Model, engine: Engine) -> dict[str, int]:
    """TP, PP, DP and EP of one instance. Raises BadCell where they do not go with the model or the GPUs.

    GPUs beyond one instance are replicas, and so are the data-parallel ranks of a model without experts; experts are
    split over those of one instance (vLLM, with and without EP). SGLang counts the ranks of its attention within TP.
    """
    tp, pp, dp, ep = (degree(cells, key) for key in ("tp", "pp", "dp", "ep"))
    gpus = whole(cells, "gpus")
    within = engine.memory.engine == "sglang" and dp > 1 and tp % dp == 0 and gpus in (None, tp * pp)
    ranks = 1 if within else dp
    if gpus and not text(cells, "tp"):
        tp = gpus // (pp * ranks) or 1
    if gpus and gpus % (tp * pp * ranks):
        raise BadCell(f"gpus is {gpus}, which TP{tp} x PP{pp} x DP{ranks} does not divide")
    tp = tp // dp if within else tp
    if model.heads % tp:
        raise BadCell(f"tp is {tp}, which does not divide the {model.heads} attention heads")
    if pp > model.layers:
        raise BadCell(f"pp is {pp}, more than the {model.layers} layers")
    apart = engine.memory.engine == "sglang" and not within  # replicas behind one address
    dp = 1 if apart or not model.is_moe else dp
    return {"tp": tp, "pp": pp, "dp": dp, "ep": min(ep, tp * dp) if model.is_moe else 1}


NO_DRAFT_MODEL = ("", "-", "no", "none", "off", "false", "0", "ngram", "suffix", "prompt_lookup")
"""What says that no weights draft tokens: nothing does, or what has been written before."""


def _speculation(name: str, model: Model) -> Speculation:
    """The drafts that a run names: "mtp3" are prediction heads with three tokens a step, others a draft of its own."""
    if re.sub(r"[-_]?\d+$|[\[\]]", "", name.lower()) in NO_DRAFT_MODEL:
        return NO_SPECULATION
    method = "mtp" if re.search("mtp|nextn", name.lower()) else "eagle"
    tokens = re.search(r"\d+$", name)
    return Speculation(
        draft_tokens=int(tokens[0]) if tokens else 1,
        weight_bytes=draft_weight_bytes(model, method),
        kv_share=1.0 / model.layers,
    )


EAGER = ("true", "t", "1", "1.0", "yes", "y", "on", "enforce_eager", "enforce-eager")
"""What says that no graphs are captured."""


@cache
def _gpu(name: str, visible_gib: float | None) -> Gpu:
    """The GPU, with the memory that the run saw where it says so."""
    if not name:
        raise BadCell("gpu is empty")
    gpu = resolve_gpu(name)
    return gpu if visible_gib is None else replace(gpu, visible_bytes=visible_gib * GIB)


def _engine(cells: Cells, model: Model) -> Engine:
    """The engine of the run's version with its settings; defaults where a cell is empty."""
    today = resolve_engine(text(cells, "engine") or "vllm")
    engine = in_version(today, text(cells, "version"), no_older_than=model.release_date)
    memory = engine.memory
    fraction = number_in(cells, "util", at_least=0.01, at_most=1.0)
    if fraction is not None:
        memory = replace(memory, fraction=fraction)
    if text(cells, "eager").lower().lstrip("-") in EAGER:
        memory = replace(memory, graphs_counted=False)
    budget, sequences = whole(cells, "max_num_batched_tokens"), whole(cells, "max_num_seqs")
    return replace(
        engine,
        memory=memory,
        token_budget=((0.0, budget),) if budget else engine.token_budget,
        max_sequences=((0.0, sequences),) if sequences else engine.max_sequences,
    )


def start_up(run: MemoryRun) -> StartUp:
    """What the engine prints when it starts; it does where one sequence of the whole context fits."""
    candidates, context = table([run.configuration]), float(run.context)
    fit, lines = memory_fit(run.model, candidates, context), printed(run.model, candidates, context)
    held = float(lines.max_concurrency[0])
    return StartUp(
        weights_gib=float(fit.weights[0]) / GIB,
        activations_gib=float(fit.activations[0]) / GIB,
        graphs_gib=float(fit.graphs[0]) / GIB,
        kv_pool_gib=float(lines.kv_pool[0]) / GIB,
        kv_tokens=int(lines.kv_tokens[0]),
        max_concurrency=held,
        starts=held >= 1.0 if run.configuration.engine.memory.fraction_of == "whole" else lines.kv_tokens[0] > 0,
    )
