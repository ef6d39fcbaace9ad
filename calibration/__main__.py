"""``make calibrate``: from the published measurements to everything that is fitted, and how good it is.

Writes ``calibration/kernels.yaml`` (priors from measured kernels), ``sizing/data/efficiency.yaml`` (the roofline),
``mixture.yaml`` (trust in kernel tables), ``intervals.yaml`` (conformal intervals), ``accuracy.json`` (figures) and
``docs/ACCURACY.md`` (the report, with its picture). Deterministic; fetches kernel tables (``aisimulate``) once. Step
times by measured kernels are those of ``sizing/data/kernel_times.npz`` (``python -m calibration.distil_steps``).
"""

import argparse
import sys
from collections.abc import Sequence

import pandas as pd

from calibration.accuracy_figures import OBSTACLES, SHOWN, figures, spot_check
from calibration.accuracy_report import intervals_yaml, one_line_each, write_report
from calibration.capacity_at_limits import held_out_capacity
from calibration.capacity_intervals import capacity_line, compared_ranges, with_ranges
from calibration.crossvalidate import refits
from calibration.distil_kernels import distil
from calibration.distil_steps import read_new
from calibration.fit_efficiency import Progress, efficiency_yaml, fit_all
from calibration.fit_mixture import kernel_times, mixture_yaml, unseen_steps
from calibration.fit_targets import FitTargets, open_splits, targets
from calibration.held_intervals import IntervalCalibration, calibration, checked
from calibration.held_out import held_out_errors
from calibration.interval_figures import compared
from calibration.kernel_tables import NoTables
from calibration.learning_curve import learning_curve
from calibration.memory_accuracy import memory_figures
from calibration.open_loop_intervals import open_loops_checked
from calibration.open_splits import split_errors, split_line, split_records
from calibration.runs_at_limits import runs_at_limits
from sizing.catalog.files import DATA_DIR, read_yaml
from sizing.catalog.measured import fitted_intervals, measured, measurements, well_measured
from sizing.evidence.extrapolation import extrapolations
from sizing.evidence.uncertainty import (
    capacity_exponents,
    difficulties,
    open_split_factors,
    ranges,
    strata,
    stratum_interval,
    weights,
)
from sizing.steps.efficiency import Efficiencies, efficiencies, from_mapping
from sizing.steps.mixture import Mixture, Trust, trust
from sizing.steps.roofline import Roofline

READERS = (
    *(trust, strata, weights, fitted_intervals, measured, measurements, well_measured, ranges),
    *(difficulties, extrapolations, stratum_interval),
    *(capacity_exponents, open_split_factors),
)
"""What remembers the content of the files that are written."""


def _read_kernels(say: Progress) -> None:
    """What the kernel tables say of new models, and the priors that they give."""
    read_new()
    say("put the new models of the catalogue to the kernel tables")
    try:
        distil()
        say("distilled the measured kernels")
    except NoTables as error:
        say(f"{error} Their committed figures are used.")


def _write(tables: Sequence[FitTargets], fit: Efficiencies, trusted: Trust, intervals: IntervalCalibration) -> None:
    """What ships, but for intervals that build on these."""
    rows = sum(len(t.points) for t in tables)
    for name, text in (
        ("efficiency.yaml", efficiency_yaml(fit, rows)),
        ("mixture.yaml", mixture_yaml(trusted, rows)),
        ("intervals.yaml", intervals_yaml(tables, intervals)),
    ):
        (DATA_DIR / name).write_text(text, encoding="utf-8")
    for reader in READERS:
        reader.cache_clear()


def calibrate(say: Progress = print) -> None:
    """Fit, hold out, write. Raises RuntimeError without the kernel tables where a model was not put to them yet."""
    _read_kernels(say)
    tables = targets(efficiencies())
    rows = sum(len(t.points) for t in tables)
    fit = fit_all(tables)
    say(f"fitted {len(fit.vector)} parameters on {rows:,} rows")
    without = refits(tables, fit, say)
    kernel = kernel_times(tables, fit.efficiencies)
    say("read the kernel tables for every row")
    held_out = held_out_errors(tables, kernel, fit, without)
    errors = held_out.errors
    open_loops = open_loops_checked(errors, tables, without, held_out.without)
    with_ends = pd.concat([checked(errors), open_loops], ignore_index=True)
    say("worked out held-out errors and intervals")
    curve = learning_curve(tables, kernel, unseen_steps(tables, kernel, fit.efficiencies, without), fit)
    say("drew the learning curve")
    intervals = calibration(errors)
    _write(tables, fit.efficiencies, held_out.whole.trust, intervals)
    split = split_errors(open_splits(fit.efficiencies), held_out.whole, without, held_out.without)
    say("predicted the closed loops whose split is left open")
    at_limits = held_out_capacity(runs_at_limits(), held_out.whole, without, held_out.without)
    capacity, forms = with_ranges(at_limits), [*compared(errors), *compared_ranges(at_limits)]
    with (DATA_DIR / "intervals.yaml").open("a", encoding="utf-8") as file:
        file.write(split_line(split) + capacity_line(capacity))
    fitted_intervals.cache_clear()
    say("planned every run that was measured at its limits")
    shipped = Mixture(Roofline(from_mapping(read_yaml("efficiency.yaml"))), trust())
    seen = [t for t in tables if t.mode == SHOWN[0][0]]
    published = errors[~errors["derived"]]
    spot, known = spot_check(seen, shipped), intervals.extrapolations
    all_figures = figures(published, capacity, with_ends, known, forms, curve, rows, spot, OBSTACLES)
    all_figures["open_split"] = split_records(split)
    all_figures["memory"] = memory_figures()
    (DATA_DIR / "accuracy.json").write_text(one_line_each(all_figures), encoding="utf-8")
    write_report(all_figures)


def main() -> int:
    """Calibrate. Exit code 0, 2 without the kernel tables where they are needed."""
    argparse.ArgumentParser(prog="python -m calibration", description=(__doc__ or "").partition("\n")[0]).parse_args()
    try:
        calibrate()
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
