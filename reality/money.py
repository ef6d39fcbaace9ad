"""What a running deployment costs per token, from the price of its GPUs."""

from __future__ import annotations

from collectors.reading.observation import Observation
from sizing.base.units import S_PER_HOUR
from sizing.prices.cost import usd_per_million


def usd_per_million_output_tokens(observed: Observation, usd_per_gpu_hour: float) -> float | None:
    """USD of a million output tokens at the rate of the window: GPUs x price / (tokens/s x 3600) x 10^6.

    None where the GPUs or the rate are not known, and where nothing is generated.
    """
    gpus, rate = observed.number("gpus"), observed.number("generation_tokens_per_s")
    if not gpus or rate is None:
        return None
    return usd_per_million(gpus * usd_per_gpu_hour, rate * S_PER_HOUR)
