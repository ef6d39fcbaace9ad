"""What the load of a plan means in a day."""

from dataclasses import replace

from sizing.base.format import requests_per_s
from sizing.base.latency_and_cost import Business
from sizing.question.understand import Question
from sizing.scenario.business import in_business_terms
from sizing.scenario.demand import Demand


def business_of(question: Question) -> Business:
    """Requests, users and tokens of a day with the load that is sized for.

    A measured record says what a system carries, so an unknown day is filled with that rate, as NVIDIA's "LLM inference
    sizing" does (70.7 x 3600 x 8 h = 2.04 M requests); any other has a busiest time.
    """
    demand, traffic = question.demand, question.traffic
    if question.scenario.measured is not None and demand.day_assumed:
        demand = replace(demand, mean_to_peak=1.0)
    return in_business_terms(demand.sustained_rps, traffic.input_tokens, traffic.output_tokens, demand)


def load_in_words(demand: Demand) -> str:
    """The load that is sized for: "31 requests/s at the peak"; of an average with the burst a second may bring;
    of what nobody waits for without a peak."""
    sustained = requests_per_s(demand.sustained_rps)
    if demand.requests_per_user is None:
        return f"{sustained}, worked off evenly"
    if demand.peak_rps <= demand.sustained_rps:
        return f"{sustained} at the peak"
    return f"{sustained} on average (in bursts of one second {requests_per_s(demand.peak_rps)})"
