"""How hard whole tables of candidates are to predict: the scales of :func:`stratum_interval`, column by column.

A search asks for thousands of configurations at once, of which each has the same few facts as others: those of its GPU,
engine and formats are looked up once a unit, those of its parallelism are compared as columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import get_args

import numpy as np

from sizing.base.arrays import Counts, Flags, Floats
from sizing.catalog.measured import measured, well_measured
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates, linked_gpus
from sizing.evidence.cases import LayoutKind, architecture, case_of
from sizing.evidence.extrapolation import EXTRAPOLATIONS, extrapolated, extrapolations
from sizing.evidence.uncertainty import MEASURES, as_slow_as, beyond, strata, stratum_keys, weights
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic


@dataclass(frozen=True, kw_only=True)
class Unmeasured:
    """What nobody measured of each candidate, (C,) each: its parallelism, its format and itself by the engine on the
    GPU, any model of its shape, the engine on the GPU.

    ``unlike``: what of it is unlike anything measured, by names of
    :data:`sizing.evidence.extrapolation.EXTRAPOLATIONS`.
    """

    configuration: Flags
    format: Flags
    deployment: Flags
    model: bool
    platform: Flags
    unlike: Mapping[str, Flags]

    @classmethod
    def of(cls, model: Model, candidates: Candidates) -> Unmeasured:
        """What nobody measured of a model on the candidates; no load changes it."""
        of_units = candidates.per_unit(("unmeasured", architecture(model)), lambda unit: _of_unit(model, unit))
        facts = of_units.reshape(len(candidates.units), len(_FACTS))[candidates.unit] > 0
        known = dict(zip(_FACTS, facts.T, strict=True))
        joined = candidates.column(linked_gpus)
        laid_out: dict[str, Flags] = {
            "pipeline": candidates.pp > 1,
            "tensor_apart": candidates.tp > joined,
            "expert_apart": candidates.ep > joined,
            "attention_dp": candidates.dp > 1,
        }
        return cls(
            configuration=_unmeasured_layouts(model, candidates, known["format"]),
            format=known["format"],
            deployment=known["deployment"],
            model=architecture(model) not in measured("models"),
            platform=known["platform"],
            unlike={name: known[name] & laid_out.get(name, known[name]) for name in EXTRAPOLATIONS},
        )


_FACTS = ("format", "deployment", "platform", *EXTRAPOLATIONS)
"""What is looked up of a unit, in this order."""


def scales(metric: str, new: Unmeasured, traffic: Traffic, apart: Floats, *, slow: bool) -> Floats:
    """The scale of the ``slow`` or the fast end of the interval of ``decode`` or ``prefill`` times of every candidate,
    as many in flight as possible, (C,); ``apart`` (C,): log ratio of measured kernels and roofline, NaN for the
    roofline alone."""
    name, mode = MEASURES[metric]
    weight, loads = weights(name), np.array([[np.nan, traffic.input_tokens, traffic.output_tokens]])
    loads = as_slow_as(mode, loads) if slow else loads
    log_scale = (
        weight["new_configuration"] * new.configuration
        + weight["new_format"] * new.format
        + weight["new_deployment"] * new.deployment
        + weight["new_model"] * new.model
        + weight["new_platform"] * new.platform
        + weight["apart"] * np.round(np.nan_to_num(apart), 2)
        + weight["beyond"] * float(beyond(mode, loads)[0])
    )
    return np.asarray(np.exp(log_scale) * _widenings(name, new))


def unit_logarithm(metric: str, confidence: float) -> float:
    """Logarithm of the factor on ``decode`` or ``prefill`` times at a confidence, for a case of scale 1."""
    key = next(key for key in stratum_keys(*MEASURES[metric]) if key in strata())
    return float(np.log(strata()[key].interval("").factor_at(confidence)))


def _of_unit(model: Model, unit: Configuration) -> Counts:
    """What nobody measured of GPU, engine and formats, 1 each, as :data:`_FACTS`; of layouts, whether each would be
    new."""
    case = replace(case_of(model, unit), layouts=get_args(LayoutKind))
    unlike = extrapolated(case)
    return np.array(
        [
            case.format not in measured("formats"),
            case.deployment not in measured("deployments"),
            case.platform not in well_measured("platforms"),
            *(name in unlike for name in EXTRAPOLATIONS),
        ],
        dtype=np.int64,
    )


def _unmeasured_layouts(model: Model, candidates: Candidates, unmeasured_format: Flags) -> Flags:
    """Whether nobody measured the model in this parallelism, (C,): nobody did in a format that nobody measured."""
    new = np.ones(len(candidates), dtype=np.bool_)
    formats: dict[int, str] = {}
    for i in np.flatnonzero(~unmeasured_format):
        row, unit = candidates.rows[i], int(candidates.unit[i])
        known = formats.get(unit) or formats.setdefault(unit, case_of(model, row).format)
        new[i] = f"{known}; {row.parallelism}" not in measured("configurations")
    return new


def _widenings(metric: str, new: Unmeasured) -> Floats:
    """How many times as far the ends lie because of what nobody measured, (C,)."""
    squares = {name: one.factors[metric] ** 2 - 1.0 for name, one in extrapolations().items()}
    added = sum((squares[name] * there for name, there in new.unlike.items()), np.zeros(len(new.format)))
    return np.sqrt(1.0 + added)
