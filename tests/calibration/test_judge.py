"""The judge: errors, coverage and what is hidden from who is judged."""

import numpy as np
import pandas as pd
import pytest

from calibration.judge import judged, table
from sizing.evidence.predict import predict_points

ROW = {
    "source": "a",
    "notes": "",
    "model": "meta-llama/Llama-3.1-8B-Instruct",
    "gpu": "h100_sxm",
    "engine": "vllm",
    "weight_precision": "bf16",
    "kv_precision": "",
    "gpus": "1",
    "tp": "1",
    "pp": "",
    "ep": "",
    "dp": "",
    "isl": "1000",
    "osl": "200",
    "mode": "fixed_concurrency",
    "concurrency_or_batch": "8",
}
MEASURED = ("ttft_ms_mean", "ttft_ms_p50", "ttft_ms_p99", "itl_ms_mean", "itl_ms_p50", "itl_ms_p99", "e2e_ms_mean")


def measured(*factors: float) -> pd.DataFrame:
    """Runs whose ITL is so many times the predicted one, one of each source."""
    itl = float(predict_points(pd.DataFrame([ROW]))["itl_ms"][0])
    rows = [
        ROW | dict.fromkeys((*MEASURED, "output_tokens_per_s"), "") | {"itl_ms_mean": f"{itl * factor}", "source": name}
        for name, factor in zip("abcdef", factors, strict=False)
    ]
    return pd.DataFrame(rows, dtype=object)


def test_errors_are_of_predictions_and_intervals_hold_or_not():
    rows = judged(measured(1.0, 0.5, 10.0))
    assert np.exp(rows["log"]).tolist() == pytest.approx([1.0, 2.0, 0.1], rel=1e-6)
    assert rows["within"].tolist() == [1.0, 0.0, 0.0]
    (line,) = table(rows).to_dict("records")
    assert (line["rows"], line["configurations"], line["sources"]) == (3, 3, 3)
    assert line["median error %"] == pytest.approx(90.0, rel=1e-6)
    assert line["within 80 % interval"] == pytest.approx(100 / 3)
    assert np.isnan(line["worst quarter of sources"])  # no source has enough rows for a share


def test_who_is_judged_sees_nothing_of_what_was_measured(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "calibration.judge.predict_points", lambda frame: seen.append(set(frame)) or predict_points(frame)
    )
    judged(measured(1.0))
    assert not seen[0] & {*MEASURED, "output_tokens_per_s", "source", "notes"}
