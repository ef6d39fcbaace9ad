"""Obstacles to what was asked, for the accuracy report; its hand-written text is ``sizing.methodology.accuracy``'s."""

from collections.abc import Mapping
from types import MappingProxyType

TWO_MODELS = "as ITL; nine in ten rows are one benchmark (InferenceMAX, now InferenceX) of two models"
JUST_BELOW = "few good rows; just below capacity 5 % of it are a factor of 1.5 in TTFT"
BURSTS = "170 rows are bursts, all of one source, some 20 % slower than predicted; the others stand below"

OBSTACLES: Mapping[str, str] = MappingProxyType(
    {
        "Capacity at the limits": "the farthest are the H100 NVL and one GH200",
        "The same planned with software of today": "AMD submissions of 2024 and early 2025 served far less than today",
        "Closed-loop ITL": "engines are tuned model by model, which the sizes in a config.json do not show",
        "Closed-loop E2E": TWO_MODELS,
        "Closed-loop output tokens/s": TWO_MODELS,
        "Offline output tokens/s": BURSTS,
        "Offline output tokens/s but for bursts": "engines of 2024 in many versions",
        "Prefill of static batches": "all 296 rows are of quality caution, by software of 2023 and 2024",
        "Open-loop TTFT p50": JUST_BELOW,
        "Open-loop TTFT p99": JUST_BELOW,
    }
)
"""Why a target may not be met, by its name; said only where it is not."""
