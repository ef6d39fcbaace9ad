"""What a running deployment costs per token, from the price of its GPUs."""

from dataclasses import dataclass

from collectors.reading.observation import Observation
from sizing.base.units import HOURS_PER_MONTH, MILLION, S_PER_HOUR
from sizing.economics.mix import ways_of_answer
from sizing.planning.answered import Answer
from sizing.prices.cost import usd_per_million


@dataclass(frozen=True, kw_only=True)
class PlannedCost:
    """What a plan costs with everything provisioned, and an API for its tokens, in USD; None where not known."""

    usd_per_hour: float | None
    usd_per_million_tokens: float | None
    api: str
    api_usd_per_million_tokens: float | None


def planned_cost(answer: Answer) -> PlannedCost:
    """What the answer advises, a mixed fleet too, and an API per million tokens, prompts and answers together, over
    the day of the plan.

    Raises InvalidScenario where nothing serves the scenario.
    """
    ways = ways_of_answer(answer)
    chosen, month, prices = ways.by_name[ways.chosen](1.0), ways.month, ways.prices
    tokens = month.input_tokens + month.output_tokens
    usd = chosen.usd_per_month.value if chosen.known else None
    return PlannedCost(
        usd_per_hour=None if usd is None else usd / HOURS_PER_MONTH,
        usd_per_million_tokens=usd_per_million(usd, month.requests * tokens),
        api="" if prices is None else prices.name,
        api_usd_per_million_tokens=None if prices is None else prices.of_request(month) / tokens * MILLION,
    )


def planned_usd_per_million_output_tokens(observed: Observation, usd_per_hour: float) -> float | None:
    """USD of a million output tokens of a plan that costs ``usd_per_hour``, at the rate of the window: a plan is paid
    whether it is used or not. None where the rate is not known, and where nothing is generated."""
    rate = observed.number("generation_tokens_per_s")
    return usd_per_million(usd_per_hour, rate * S_PER_HOUR) if rate else None


def usd_per_million_output_tokens(observed: Observation, usd_per_gpu_hour: float) -> float | None:
    """USD of a million output tokens at the rate of the window: GPUs x price / (tokens/s x 3600) x 10^6.

    None where the GPUs or the rate are not known, and where nothing is generated.
    """
    gpus, rate = observed.number("gpus"), observed.number("generation_tokens_per_s")
    if not gpus or rate is None:
        return None
    return usd_per_million(gpus * usd_per_gpu_hour, rate * S_PER_HOUR)
