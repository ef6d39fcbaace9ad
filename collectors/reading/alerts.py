"""What an operator should look at although the deployment answers: one sentence per concern, worst first."""

from __future__ import annotations

from collectors.reading.health import FEW_REQUESTS, FULL_KV
from collectors.reading.observation import Observation, State

ERRORS_FROM = 0.01
"""Share of requests that fail from which it is a concern; 99 % is the loosest objective in use for such services."""

ABORTS_FROM = 0.05
GROWTH_FROM_PER_S = 0.05
LATE_SCRAPES = 2.5
"""Scrape intervals after which the newest sample counts as late."""


def alerts(observed: Observation) -> tuple[str, ...]:
    """Concerns beyond the reasons of the state; none for an observation without values."""
    if observed.state in (State.NO_DATA, State.STALE, State.UNREACHABLE):
        return ()
    return (*_errors(observed), *_load(observed), *_gpus(observed), *_age(observed))


def _errors(observed: Observation) -> list[str]:
    found = []
    ratio, failed = observed.number("error_ratio"), observed.number("failed_rps")
    if ratio is not None and ratio >= ERRORS_FROM and (failed or 0.0) * observed.window_s >= 1:
        found.append(f"{ratio:.1%} of the requests fail ({failed:.2g} a second).")
    aborted, arrivals = observed.number("aborted_rps"), observed.number("arrivals_rps")
    many = arrivals is not None and arrivals * observed.window_s >= FEW_REQUESTS
    if aborted is not None and arrivals is not None and many and aborted >= ABORTS_FROM * arrivals:
        found.append(
            f"About {aborted / arrivals:.0%} of the requests end early: given up by their clients, or lost "
            "with an engine that restarted."
        )
    return found


def _load(observed: Observation) -> list[str]:
    if observed.state is State.SATURATED:
        return []  # the reasons of the state say it
    found = []
    growth, waiting = observed.number("waiting_growth_per_s"), observed.number("waiting_max")
    if growth is not None and growth >= GROWTH_FROM_PER_S and waiting is not None and waiting >= 1:
        found.append(f"The queue grows by {growth:.2g} requests/s; up to {waiting:.3g} wait.")
    preempted, kv = observed.number("preemptions_per_s"), observed.number("kv_usage_max")
    if preempted:
        found.append(f"Requests are preempted ({preempted:.2g}/s): the KV cache ran out, their prefill is repeated.")
    elif kv is not None and kv >= FULL_KV:
        found.append(f"The KV cache reached {kv:.0%}.")
    return found


def _gpus(observed: Observation) -> list[str]:
    found = []
    for key, one, many in (
        ("gpus_with_xid", "GPU shows an XID error", "GPUs show an XID error"),
        ("gpus_throttled", "GPU is slowed down", "GPUs are slowed down"),
        ("ecc_uncorrected", "uncorrected memory error", "uncorrected memory errors"),
    ):
        number = observed.number(key)
        told = next((note for note in observed.notes if "slowed down" in note), "") if key == "gpus_throttled" else ""
        if number:
            found.append(told or f"{number:g} {one if number == 1 else many}.")
    return found


def _age(observed: Observation) -> list[str]:
    age, interval = observed.age_s, observed.scrape_interval_s
    if age is None or interval is None or age <= LATE_SCRAPES * interval:
        return []
    return [f"The newest sample is {age:.0f} s old; they come every {interval:.0f} s."]
