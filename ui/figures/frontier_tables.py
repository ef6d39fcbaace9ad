"""Latency against throughput as tables: every operating point, and every measurement with its source."""

from collections.abc import Sequence

import pandas as pd

from sizing.base.format import rounded
from sizing.evidence.sources import source_day, source_url
from sizing.explore.frontier import OperatingPoints
from sizing.explore.measured_points import MeasuredPoint
from ui.figures.frontier_axes import AXES, percentile_of
from ui.figures.frontier_marks import range_end, source_of
from ui.format import known


def frontier_table(shown: OperatingPoints) -> pd.DataFrame:
    """Every point of every curve, by GPU and growing x; the range is that of the quantity that is drawn upwards."""
    p, up = percentile_of(shown), AXES[shown.y].title
    rows = [
        {
            "GPU": curve.gpu_name,
            "Deployment": point.configuration,
            "Within the limits": point.feasible,
            "Best of all": point.best,
            "Requests in flight": rounded(point.concurrency),
            "Requests/s of one (decode) instance": rounded(point.rps),
            "Output tokens/s per user": rounded(point.expected.tokens_per_s_per_user),
            f"{p} TTFT (ms)": rounded(point.expected.ttft_ms),
            f"{p} ITL (ms)": rounded(point.expected.itl_ms),
            f"{p} E2E (ms)": rounded(point.expected.e2e_ms),
            AXES["output_tokens_per_s_per_gpu"].title: rounded(point.expected.output_tokens_per_s_per_gpu),
            AXES["usd_per_million_output_tokens"].title: known(point.expected.usd_per_million_output_tokens),
            AXES["usd_per_million_output_tokens_at_full_load"].title: known(
                point.expected.usd_per_million_output_tokens_at_full_load
            ),
            AXES["output_tokens_per_s_per_kw"].title: known(point.expected.output_tokens_per_s_per_kw),
            f"{up}, 80 % from": range_end(point, shown.y, min),
            f"{up}, 80 % to": range_end(point, shown.y, max),
        }
        for curve in shown.curves
        for point in (*curve.points, *curve.beyond)
    ]
    return pd.DataFrame(rows)


def measured_table(measured: Sequence[MeasuredPoint]) -> pd.DataFrame:
    """The measurements with their sources."""
    return pd.DataFrame(
        [
            {
                "Measured": m.configuration,
                "Model": m.model,
                "Prompt (tokens)": round(m.input_tokens),
                "Output (tokens)": round(m.output_tokens),
                "Requests in flight": m.concurrency,
                "Output tokens/s per user": rounded(m.tokens_per_s_per_user),
                "Mean TTFT (ms)": known(m.ttft_ms),
                "Output tokens/s per GPU": rounded(m.output_tokens_per_s_per_gpu),
                "Distance": rounded(m.distance, 2),
                "Source": source_of(m),
                "Link": source_url(m.source_link),
                "Date": source_day(m.source_date),
                "Engine of (year)": round(m.software_year, 1),
            }
            for m in measured
        ]
    )
