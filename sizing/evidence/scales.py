"""How hard whole tables of candidates are to predict: the scales of :func:`stratum_interval`, column by column.

A search asks for thousands of configurations at once, of which each has the same few facts as others: those of its GPU,
engine and formats are looked up once a unit, those of its parallelism are compared as columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sizing.base.arrays import Flags, Floats
from sizing.catalog.measured import measured, well_measured
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.evidence.cases import LayoutKind, architecture, case_of
from sizing.evidence.extrapolation import extrapolated, extrapolations
from sizing.evidence.uncertainty import MEASURES, as_slow_as, beyond, strata, stratum_keys, weights
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic


def scales(metric: str, model: Model, candidates: Candidates, traffic: Traffic, apart: Floats, *, slow: bool) -> Floats:
    """The scale of the ``slow`` or the fast end of the interval of ``decode`` or ``prefill`` times of every candidate,
    as many in flight as possible, (C,); ``apart`` (C,): log ratio of measured kernels and roofline, NaN for the
    roofline alone."""
    name, mode = MEASURES[metric]
    weight, loads = weights(name), np.array([[np.nan, traffic.input_tokens, traffic.output_tokens]])
    loads = as_slow_as(mode, loads) if slow else loads
    near = _known(model, candidates)
    new_model = architecture(model) not in measured("models")
    new_platform = _of_units(candidates, lambda u: case_of(model, u).platform not in well_measured("platforms"))
    log_scale = (
        weight["new_configuration"] * ~near["configuration"]
        + weight["new_format"] * ~near["format"]
        + weight["new_deployment"] * ~near["deployment"]
        + weight["new_model"] * new_model
        + weight["new_platform"] * new_platform
        + weight["apart"] * np.round(np.nan_to_num(apart), 2)
        + weight["beyond"] * float(beyond(mode, loads)[0])
    )
    return np.asarray(np.exp(log_scale) * _widenings(name, model, candidates))


def unit_logarithm(metric: str, confidence: float) -> float:
    """Logarithm of the factor on ``decode`` or ``prefill`` times at a confidence, for a case of scale 1."""
    key = next(key for key in stratum_keys(*MEASURES[metric]) if key in strata())
    return float(np.log(strata()[key].interval("").factor_at(confidence)))


def _of_units(candidates: Candidates, fact: Callable[[Configuration], bool]) -> Flags:
    """A fact of GPU, engine and formats, for every candidate, (C,)."""
    return np.array([fact(unit) for unit in candidates.units], dtype=np.bool_)[candidates.unit]


def _known(model: Model, candidates: Candidates) -> dict[str, Flags]:
    """Whether the model was measured by the engine on the GPU, in the format, and in the parallelism, (C,) each."""
    cases = [case_of(model, unit) for unit in candidates.units]
    known = {
        "deployment": np.array([case.deployment in measured("deployments") for case in cases])[candidates.unit],
        "format": np.array([case.format in measured("formats") for case in cases])[candidates.unit],
    }
    laid_out = np.zeros(len(candidates), dtype=np.bool_)
    for i in np.flatnonzero(known["format"]):
        laid_out[i] = case_of(model, candidates.rows[i]).configuration in measured("configurations")
    return {**known, "configuration": laid_out}


def _widenings(metric: str, model: Model, candidates: Candidates) -> Floats:
    """How many times as far the ends lie because of what nobody measured, (C,)."""
    squares = {name: one.factors[metric] ** 2 - 1.0 for name, one in extrapolations().items()}
    of_one_gpu = (extrapolated(case_of(model, _on_one_gpu(unit))) for unit in candidates.units)
    added = np.array([sum(squares[name] for name in names) for names in of_one_gpu])[candidates.unit]
    joined = candidates.column(_joined)
    laid_out: dict[LayoutKind, Flags] = {
        "pipeline": candidates.pp > 1,
        "tensor_apart": candidates.tp > joined,
        "expert_apart": candidates.ep > joined,
        "attention_dp": candidates.dp > 1,
    }
    platforms = [case_of(model, unit).platform for unit in candidates.units]
    for kind, there in laid_out.items():
        unknown = np.array([f"{kind} by {platform}" not in well_measured("layouts") for platform in platforms])
        added = added + squares[kind] * (there & unknown[candidates.unit])
    return np.sqrt(1.0 + added)


def _joined(row: Configuration) -> float:
    """GPUs that fast links join."""
    return float(row.gpu.domain_gpus if row.gpu.has_fast_link else 1)


def _on_one_gpu(row: Configuration) -> Configuration:
    """The same on a single GPU, of which no parallelism is new."""
    return replace(row, tp=1, pp=1, ep=1, dp=1)
