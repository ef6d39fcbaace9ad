"""The roofline's efficiencies, fitted to published measurements."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import least_squares

from calibration.fit_parameters import Parameters, parameters, record_fields
from calibration.fit_targets import FIRST_TOKEN_MODES, FITTED, FitTargets
from calibration.yaml_lines import flow_mapping
from sizing.base.arrays import Floats
from sizing.evidence.closed_loop import runs
from sizing.evidence.expected import front_end
from sizing.evidence.open_loop import fixed_rate, largest_stable_rps
from sizing.evidence.points import CLOSED_LOOP
from sizing.steps.efficiency import Efficiencies
from sizing.steps.roofline import Roofline

SCATTER = 0.30
"""Scale of an error in the objective: model error and noise together; chosen by leave-one-model-out score."""

CAUTION_WEIGHT = 0.4
"""Weight of rows of quality ``caution`` relative to ``good`` ones."""

PROMPTS_ALONE = 10
"""Times as many tokens in as out make a burst one of prompts. Chosen: because work on them is then most of its time."""

EVALUATIONS, WARM_EVALUATIONS = 40, 8
"""Evaluations of a fit from the prior, and of one from a fit to nearly the same rows, at most. Chosen: because the
objective changes by less than its noise afterwards."""


FITTED_ON = "2026-11-30"
"""Day of the fit; a constant, so that the same evidence gives the same files."""


Progress = Callable[[str], None]
"""Called with one line of text after each step."""


@dataclass(frozen=True)
class OutsideSteps:
    """What the rows of a mode take to the first token inside the engine, by simulation, seconds (C,): ``engine_s``, and
    ``step_s`` more for each decode step of others; ``observed``: logarithms of their TTFT, NaN where a row does not
    tell what passes outside of the engine."""

    engine_s: Floats
    step_s: Floats
    observed: Floats


@dataclass(frozen=True)
class Fit:
    """A fitted parameter vector and its layout; by mode, what closed and open loops take to the first token, and the
    trust in sources: None before they are known."""

    parameters: Parameters
    vector: Floats
    first_tokens: Mapping[str, OutsideSteps] | None = None
    trust: dict[str, dict[str, Floats]] | None = None

    @property
    def efficiencies(self) -> Efficiencies:
        """The efficiencies this vector stands for."""
        return self.parameters.efficiencies(self.vector)


def layout(tables: Sequence[FitTargets]) -> Parameters:
    """A parameter vector for the families, engines and pairs of them that the evidence holds."""
    labels = [t.labels for t in tables]
    families = sorted({f for x in labels for f in x["family"]})
    engines = sorted({e for x in labels for e in x["engine"]} - {"default"})
    pairs = sorted({f"{e} on {f}" for x in labels for e, f in zip(x["engine"], x["family"], strict=True)})
    return parameters(families, engines, [p for p in pairs if not p.startswith("default")])


def sweep_of(labels: pd.DataFrame) -> pd.Series:
    """The sweep that each row belongs to: one configuration of one source."""
    return labels["source"] + labels["architecture"] + labels["gpu"] + labels["engine"] + labels["precision"]


def row_weights(table: FitTargets, metric: str) -> Floats:
    """Square roots of weights: by quality, and 1 / sqrt(rows) within a sweep, so that none outvotes the others.

    Of bursts those of long prompts and short answers count, which are prefill at saturation; the others are left to be
    predicted: how their answers vary in length, which no row states, decides as much as step times.
    """
    labels = table.labels
    group = sweep_of(labels)
    seen = np.isfinite(table.observed[metric])
    count = group[seen].value_counts()
    size = group.map(count).fillna(1.0).to_numpy(dtype=np.float64)
    quality = np.where(labels["quality"] == "good", 1.0, CAUTION_WEIGHT)
    left = labels["burst"] & (table.points.prompt < PROMPTS_ALONE * table.points.output)[:, 0]
    return np.where(left, 0.0, np.sqrt(quality / np.sqrt(size)))


TYPICAL_ERROR = 0.10
"""Median log error of a source up to which its rows count in full. Chosen: because re-runs of one benchmark and small
differences of set-up spread about so much."""


def source_weights(tables: Sequence[FitTargets], fit: Efficiencies) -> dict[str, dict[str, Floats]]:
    """Square roots of weights by mode and metric: (typical error / median error of the source)^2, at most 1.

    A robust loss over whole sources: one whose rows no setting of the physics explains (few prompts, settings that are
    not stated) says less of the engine.
    """
    out: dict[str, dict[str, Floats]] = {}
    for table in tables:
        predicted = table.predicted(fit)
        for metric, observed in table.observed.items():
            size = pd.Series(np.abs(predicted[metric] - observed)).groupby(table.labels["source"]).transform("median")
            typical = np.nan_to_num(size.to_numpy(), nan=1.0)
            out.setdefault(table.mode, {})[metric] = np.minimum(TYPICAL_ERROR / np.maximum(typical, 1e-9), 1.0)
    return out


def solve(
    tables: Sequence[FitTargets],
    start: Fit,
    *,
    keep: dict[str, np.ndarray] | None = None,
    evaluations: int = EVALUATIONS,
) -> Fit:
    """Robust least squares of log errors plus the priors. ``keep`` masks points by mode (cross-validation)."""
    steps = _solve(tables, start, keep, evaluations)
    return steps if steps.first_tokens is None else _solve_front_end(tables, steps, keep)


SHORTEST_S = 1e-4
"""A time to the first token at least, so that it has a logarithm whatever is tried."""

FEW_IN_FLIGHT = 8.0
"""Requests in flight up to which a mean TTFT tells the time before the first token. Chosen: because with more of them
the queue of the run's start, which medians leave out, is most of it."""

FAR_FROM_FULL = 0.7
"""Share of the largest stable rate up to which the TTFT of an open loop tells it. Chosen: because the queue is most of
it beyond, which depends on the capacity."""


def with_front_end(tables: Sequence[FitTargets], fit: Fit) -> Fit:
    """The fit with the times before the first token that TTFT leaves. What the engine takes is simulated with the
    front end of the priors, so that requests come in the middle of steps, and that is taken off again."""
    first = {t.mode: _first_tokens(t, fit.efficiencies) for t in tables if t.mode in FIRST_TOKEN_MODES}
    return _solve_front_end(tables, replace(fit, first_tokens=first), None)


def _first_tokens(table: FitTargets, fit: Efficiencies) -> OutsideSteps:
    """The rows of one mode: what they take without a step of others, and with one."""
    points = table.points
    taken = front_end(points, Roofline(fit)).taken_s(points.lengths)[:, 0]
    sources = [Roofline(replace(fit, common=replace(fit.common, first_token_steps=steps))) for steps in (0.0, 1.0)]
    if table.mode == CLOSED_LOOP:
        medians = np.isfinite(table.median_first_token)
        runs_of = [np.array([(run.ttft_s, run.ttft_p50_s) for run in runs(points, one)]) for one in sources]
        without, with_one = (np.where(medians, each[:, 1], each[:, 0]) for each in runs_of)
        few = (points.concurrency <= FEW_IN_FLIGHT)[:, 0]
        observed = np.where(medians, table.median_first_token, np.where(few, table.observed["ttft"], np.nan))
        observed = np.where(_in_cohorts(table), np.nan, observed)
    else:
        without, with_one = (fixed_rate(points, one).ttft_s[:, 0] for one in sources)
        share = points.rate_rps[:, 0] / largest_stable_rps(points, Roofline(fit))
        observed = np.where(share <= FAR_FROM_FULL, table.observed["ttft"], np.nan)
    return OutsideSteps(engine_s=without - taken, step_s=with_one - without, observed=observed)


def _solve_front_end(tables: Sequence[FitTargets], fit: Fit, keep: dict[str, np.ndarray] | None) -> Fit:
    """Least squares over what passes before the first token: TTFT = engine + steps x time of one + request + prompt
    tokens x time of one; medians where they are published, since a mean holds what engines compile at their first
    requests and the queue of the start."""
    free = fit.parameters.first_token
    departs = _departing(fit.parameters)[free]
    parts, first = [], fit.first_tokens or {}
    for table in (t for t in tables if t.mode in first):
        one = first[table.mode]
        used = np.isfinite(one.observed) & np.isfinite(one.step_s) & (True if keep is None else keep[table.mode])
        rows = np.flatnonzero(used)
        weight = row_weights(table, "ttft") / SCATTER
        parts.append((table.points.take(rows), one.engine_s[rows], one.step_s[rows], one.observed[rows], weight[rows]))

    def whole(part: Floats) -> Fit:
        vector = fit.vector.copy()
        vector[free] = part
        return replace(fit, vector=vector)

    def objective(part: Floats) -> Floats:
        now, errors = Roofline(whole(part).efficiencies), []
        for points, engine_s, step_s, observed, weight in parts:
            front = front_end(points, now)
            taken = front.taken_s(points.lengths)[:, 0] + front.first_token_steps[:, 0] * step_s
            errors.append((np.log(np.maximum(engine_s + taken, SHORTEST_S)) - observed) * weight)
        return np.concatenate([robust(np.concatenate(errors)), np.where(departs, heavy_tailed(part), part)])

    return whole(least_squares(objective, fit.vector[free], max_nfev=EVALUATIONS, xtol=1e-4, ftol=1e-4).x)


def _in_cohorts(table: FitTargets) -> np.ndarray:
    """Runs of equal answers on engines whose prompts share steps with decoding sequences: how many of them stay
    together, which nobody publishes, decides their TTFT."""
    return (table.points.equal & ~table.points.facts.prompts_apart & (table.points.concurrency > 1.0))[:, 0]


def _departing(names: Parameters) -> np.ndarray:
    """Which slots are departures of a family, engine or pair."""
    return np.array([s.member != "default" for s in names.slots])


@dataclass(frozen=True)
class _Part:
    """Points that bear on a fit, and by metric the weights of their errors, 0 where nothing counts."""

    table: FitTargets
    weights: Mapping[str, Floats]

    def errors(self, fit: Efficiencies) -> Floats:
        """Weighted errors of all metrics, one after the other."""
        predicted = self.table.predicted(fit)
        each = (
            ((predicted[metric] - self.table.observed[metric])[weight > 0.0], weight[weight > 0.0])
            for metric, weight in self.weights.items()
        )
        return np.concatenate([error * weight / SCATTER for error, weight in each])

    def members(self) -> pd.DataFrame:
        """Family, engine and pair of every error."""
        rows = np.concatenate([np.flatnonzero(weight > 0.0) for weight in self.weights.values()])
        labels = self.table.labels.iloc[rows]
        pair = labels["engine"] + " on " + labels["family"]
        return pd.DataFrame({"families": labels["family"], "engines": labels["engine"], "platforms": pair})


def _parts(tables: Sequence[FitTargets], start: Fit, keep: dict[str, np.ndarray] | None) -> list[_Part]:
    """Everything that step times are fitted to. Bursts are apart: they are read at many loads, others at one."""
    parts = []
    for table in (t for t in tables if t.mode in FITTED):
        kept = np.ones(len(table.points), bool) if keep is None else keep[table.mode]
        weights = {}
        for metric in FITTED[table.mode]:
            trusted = row_weights(table, metric) * (start.trust[table.mode][metric] if start.trust else 1.0)
            weights[metric] = np.where(kept & np.isfinite(table.observed[metric]), trusted, 0.0)
        bursts, counts = table.labels["burst"].to_numpy(), np.max(list(weights.values()), axis=0) > 0.0
        for rows in (np.flatnonzero(counts & ~bursts), np.flatnonzero(counts & bursts)):
            if len(rows):
                parts.append(_Part(table.take(rows), {metric: weight[rows] for metric, weight in weights.items()}))
    return parts


def _solve(tables: Sequence[FitTargets], start: Fit, keep: dict[str, np.ndarray] | None, evaluations: int) -> Fit:
    """Least squares over all but the times of the front end; these stay as they are."""
    parts, free = _parts(tables, start, keep), ~start.parameters.first_token

    def whole(vector: Floats) -> Floats:
        full = start.vector.copy()
        full[free] = vector
        return full

    def objective(vector: Floats) -> Floats:
        fit = start.parameters.efficiencies(whole(vector))
        errors = np.concatenate([part.errors(fit) for part in parts])
        return np.concatenate([robust(errors), np.where(departs, heavy_tailed(vector), vector)])

    departs = _departing(start.parameters)[free]
    touched = _touched(start.parameters, free, parts)

    def slopes(vector: Floats) -> Floats:
        return _slopes(objective, vector, touched)

    solved = least_squares(objective, start.vector[free], slopes, max_nfev=evaluations, xtol=1e-4, ftol=1e-4)
    return replace(start, vector=whole(solved.x))


def _touched(names: Parameters, free: np.ndarray, parts: Sequence[_Part]) -> list[list[tuple[int, np.ndarray]]]:
    """Slots that can be moved at once, each with the rows it bears on: departures of different families (engines,
    pairs) in one field share no row. Rows are those of the objective, without the priors."""
    rows = pd.concat([part.members() for part in parts])
    together: dict[tuple[str, str, bool], list[tuple[int, np.ndarray]]] = {}
    for index, slot in enumerate(s for s, is_free in zip(names.slots, free, strict=True) if is_free):
        departure = slot.member != "default"
        mine = (rows[slot.group] == slot.member).to_numpy() if departure else np.ones(len(rows), dtype=bool)
        together.setdefault((slot.group, slot.field, departure), []).append((index, mine))
    return list(together.values())


def _slopes(
    objective: Callable[[Floats], Floats], part: Floats, touched: Sequence[Sequence[tuple[int, np.ndarray]]]
) -> Floats:
    """Jacobian of the objective by forward differences, a third of the evaluations of one per slot (Curtis, Powell,
    Reid 1974). The last rows are the priors: one each."""
    now = objective(part)
    rows = len(now) - len(part)
    out = np.zeros((len(now), len(part)))
    step = np.sqrt(np.finfo(float).eps) * np.where(part < 0, -1.0, 1.0) * np.maximum(np.abs(part), 1.0)
    for slots in touched:
        moved = part.copy()
        for index, _ in slots:
            moved[index] += step[index]
        change = objective(moved) - now
        for index, mine in slots:
            out[:rows, index][mine] = change[:rows][mine] / (moved[index] - part[index])
            out[rows + index, index] = change[rows + index] / (moved[index] - part[index])
    return out


def robust(error: Floats) -> Floats:
    """Residuals whose squares are the Cauchy loss log(1 + e^2): beyond the usual scatter an error says that something
    else was measured than is modelled, and bends the fit less the larger it is."""
    return np.asarray(np.sign(error) * np.sqrt(np.log1p(error**2)))


def heavy_tailed(departure: Floats) -> Floats:
    """Residuals whose squares are the loss log(1 + d^2) of a Cauchy prior: a family or engine that is unlike the others
    departs at little cost, instead of moving the default that unseen ones get."""
    return np.asarray(np.sign(departure) * np.sqrt(np.log1p(departure**2)))


def efficiency_yaml(fit: Efficiencies, rows: int) -> str:
    """The file that ships: rounded to three digits, one line per family, engine or pair."""
    note = f"fitted {FITTED_ON} on {rows:,} published measurements"
    lines = [
        "# Efficiencies of the roofline: what share of the datasheet rates real kernels reach, and fixed times.",
        "# Written by `make calibrate` (calibration/fit_efficiency.py); names: sizing/steps/efficiency.py.",
        f"fitted: {{date: {FITTED_ON}, rows: {rows}, note: '{note}'}}",
    ]
    for title, records in (("families", fit.families), ("engines", fit.engines), ("platforms", fit.platforms)):
        lines.append(f"{title}:")
        lines += [f"  {name}: {flow_mapping(record_fields(record))}" for name, record in records.items()]
    lines.append(f"common: {flow_mapping(record_fields(fit.common))}")
    return "\n".join(lines) + "\n"


def fit_all(tables: Sequence[FitTargets]) -> Fit:
    """The fit on everything, from the priors' centres."""
    names = layout(tables)
    start = Fit(names, np.zeros(len(names.slots)))
    first = solve(tables, start)
    return with_front_end(tables, solve(tables, replace(start, trust=source_weights(tables, first.efficiencies))))
