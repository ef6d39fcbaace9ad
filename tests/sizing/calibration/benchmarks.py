"""Benchmarks made up from predictions."""

from typing import Any

import pandas as pd

from sizing import Scenario
from sizing.calibration.benchmark import calibrated_configuration
from sizing.calibration.calibrated import CalibratedConfiguration
from sizing.evidence.predict import predict_points
from sizing.question.understand import understand
from sizing.steps.mixture import mixture
from tests.sizing.asking import LLAMA_70B, raw

LOADS = (4, 32, 128)
H100 = {"gpus": ["h100_sxm"], "engines": ["vllm"], "precisions": ["fp8"], "tp": [4], "pp": [1]}


def predicted_itl_ms() -> pd.DataFrame:
    """What the uncalibrated engine expects of a closed loop at ``LOADS``."""
    row = {
        "model": LLAMA_70B,
        "gpu": "h100_sxm",
        "gpus": 4,
        "tp": 4,
        "engine": "vllm",
        "weight_precision": "fp8",
        "kv_precision": "fp8",
        "isl": 1000,
        "osl": 1000,
        "mode": "fixed_concurrency",
    }
    return predict_points(pd.DataFrame([{**row, "concurrency_or_batch": load} for load in LOADS]), mixture())


def benchmark(factor: float = 1.0, **changes: Any) -> dict[str, Any]:
    """A curve that is ``factor`` times as slow as predicted."""
    found = predicted_itl_ms()
    points = [
        {
            "mode": "fixed_concurrency",
            "concurrency": load,
            "input_tokens": 1000,
            "output_tokens": 1000,
            "itl_ms": factor * itl,
            "ttft_ms": factor * ttft,
        }
        for load, itl, ttft in zip(LOADS, found["itl_ms"], found["ttft_ms"], strict=True)
    ]
    return {
        "source": "test run",
        "gpu": "H100 SXM",
        "engine": "vllm",
        "weight_precision": "fp8",
        "tp": 4,
        "points": points,
        **changes,
    }


def calibrated(factor: float = 1.0, **changes: Any) -> CalibratedConfiguration | None:
    scenario = Scenario.model_validate(raw(LLAMA_70B, benchmark=benchmark(factor, **changes)))
    return calibrated_configuration(understand(scenario))
