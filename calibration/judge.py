"""``python -m calibration.judge POINTS.csv``: how far the product is from measurements that its fit has not seen.

Every row is answered as a table that a user hands in: without its source, its notes and all that was measured. Errors
are of rows; how often the 80 % interval holds also of configurations (those of one source that differ in load and
lengths alone count as one, since they err alike) and of sources, of which the worst quarter is told apart.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from calibration.fit_targets import OBSERVED, observed_logs
from sizing.base.errors import SizingError
from sizing.base.units import PERCENT
from sizing.evidence.point_file import read_points
from sizing.evidence.points import MODES
from sizing.evidence.predict import predict_points
from sizing.evidence.published import with_lengths_as_sent

ANSWERS = {
    "ttft": "ttft_ms",
    "itl": "itl_ms",
    "e2e": "e2e_ms",
    "throughput": "output_tokens_per_s",
    "ttft_p99": "ttft_ms_p99",
    "itl_p99": "itl_ms_p99",
}
"""Metric -> the column that answers it."""

HIDDEN = (
    *(column for columns in OBSERVED.values() for column in columns),
    *("total_tokens_per_s", "requests_per_s", "notes", "quality"),
    *("source", "source_url_or_repo_path", "source_date_or_version"),
)
"""What a row does not say when it is asked."""

CONFIGURATION = ["source", "model", "gpu", "engine", "weight_precision", "kv_precision", "gpus", "tp", "pp", "ep", "dp"]
FEWEST = 5
"""Rows of a source of which a share is told."""
HEAD = (
    *(
        "mode",
        "metric",
        "rows",
        "answered %",
        "median error %",
        "p90 %",
        "predicted / measured",
        "within 80 % interval",
    ),
    *("by configuration", "worst quarter of sources", "configurations", "sources"),
)


def judged(measured: pd.DataFrame) -> pd.DataFrame:
    """One row per row and metric that was measured, of lengths as sent: mode, metric, source, configuration, ``log`` of
    predicted over measured (NaN: no answer), and whether that lies ``within`` the interval (NaN: there is none)."""
    answers = predict_points(measured.drop(columns=[c for c in HIDDEN if c in measured.columns]))
    figures = [c for columns in OBSERVED.values() for c in columns]
    measured = measured.assign(**{c: pd.to_numeric(measured[c], errors="coerce") for c in figures})
    configuration = measured.groupby(CONFIGURATION, dropna=False).ngroup()
    parts = []
    for mode in MODES:
        of_mode = (measured["mode"] == mode).to_numpy()
        for metric, logs in observed_logs(measured[of_mode], mode).items():
            column, scale = ANSWERS[metric], 1.0 if metric == "throughput" else 1e-3
            of_rows = answers.loc[of_mode]
            value = np.log(pd.to_numeric(of_rows[column]).to_numpy(float) * scale)
            part = pd.DataFrame({"mode": mode, "metric": metric, "log": value - logs})
            part["source"], part["configuration"] = (
                measured["source"][of_mode].to_numpy(),
                configuration[of_mode].to_numpy(),
            )
            if f"{column}_low" in of_rows:
                low, high = (np.log(of_rows[f"{column}_{end}"].to_numpy(float) * scale) for end in ("low", "high"))
                part["within"] = np.where(np.isfinite(low), (low <= logs) & ~(logs > high), np.nan)
            parts.append(part[np.isfinite(logs)])
    return pd.concat(parts, ignore_index=True)


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Errors and coverage by mode and metric."""
    groups = rows.groupby(["mode", "metric"])
    return pd.DataFrame([{"mode": name[0], "metric": name[1], **_figures(part)} for name, part in groups])


def _figures(part: pd.DataFrame) -> dict[str, object]:
    error = PERCENT * np.expm1(part["log"].dropna()).abs()
    covered = part.dropna(subset=["within"]) if "within" in part else part.iloc[:0]
    by_source = covered.groupby("source")["within"].agg(["mean", "size"])
    enough = by_source.loc[by_source["size"] >= FEWEST, "mean"]
    by_configuration = covered.groupby("configuration")["within"].mean()
    values = (
        *(len(part), PERCENT * len(error) / len(part), error.median(), error.quantile(0.9)),
        *(np.exp(part["log"].median()), PERCENT * covered["within"].mean(), PERCENT * by_configuration.mean()),
        *(PERCENT * enough.quantile(0.25), part["configuration"].nunique(), part["source"].nunique()),
    )
    return dict(zip(HEAD[2:], values, strict=True))


def main() -> int:
    """Print the table as Markdown. Exit code 0, 2 where the file cannot be read."""
    parser = argparse.ArgumentParser(prog="python -m calibration.judge", description=__doc__)
    parser.add_argument("points", type=Path, help="the columns of a table for predict, and what came out")
    given = parser.parse_args()
    try:
        rows = judged(with_lengths_as_sent(read_points(given.points)))
    except SizingError as error:
        print(error, file=sys.stderr)
        return 2
    print("|" + "|".join(HEAD) + "|\n" + "|---" * len(HEAD) + "|")
    for line in table(rows).to_dict("records"):
        cells = (f"{value:.3g}" if isinstance(value, float) else str(value) for value in line.values())
        print("|" + "|".join(cells) + "|")
    return 0


if __name__ == "__main__":
    sys.exit(main())
