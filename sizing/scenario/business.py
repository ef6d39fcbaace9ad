"""A request rate in the words of the people who pay: requests, users and tokens a day."""

from sizing.base.checks import number_between
from sizing.base.latency_and_cost import Business
from sizing.base.units import S_PER_HOUR
from sizing.scenario.bounds import MAX_RPS, MAX_TOKENS
from sizing.scenario.demand import Demand


def in_business_terms(rps: float, input_tokens: float, output_tokens: float, demand: Demand) -> Business:
    """What a deployment that holds ``rps`` requests/s at its peak serves in a day.

    ``requests = rps x mean-to-peak x 3600 x hours``; ``users = requests / requests per user``; ``tokens = requests x
    length``. ``rps`` is the mean of the busiest time. Where only a peak was given, mean-to-peak is that of users when
    nobody says, so that the users shown ask for that peak when they are entered. Lengths are mean tokens per request.
    Raises SizingError for a rate or length that is not positive and finite. Source: NVIDIA "LLM inference sizing",
    70.7 x 3600 x 8 h = 2.04 M requests, 679 k users at 3 requests each (its peak lasts all day: mean-to-peak 1).
    """
    rps = number_between("Requests/s", rps, 0.0, MAX_RPS, exclude_low=True)
    isl = number_between("Input tokens", input_tokens, 0.0, MAX_TOKENS, exclude_low=True)
    osl = number_between("Output tokens", output_tokens, 0.0, MAX_TOKENS, exclude_low=True)
    requests = rps * demand.mean_to_peak * S_PER_HOUR * demand.hours
    return Business(
        requests_per_day=requests,
        daily_users=None if demand.requests_per_user is None else requests / demand.requests_per_user,
        input_tokens_per_day=requests * isl,
        output_tokens_per_day=requests * osl,
        hours=demand.hours,
        requests_per_user=demand.requests_per_user,
        peak_to_mean=1.0 / demand.mean_to_peak,
        growth=demand.growth_factor - 1.0,
    )
