"""Replicas that hold requests and answer nothing: hung, not slow. What waits for them is in no latency."""

from collections.abc import Sequence

from collectors.questions.details import Details, ReplicaDetails
from reality.diagnosis.result import CauseRow, OfferedAction
from sizing.base.format import count, counted

SHORTEST_S = 300.0
"""Window from which no answer at all is a sign. Chosen: some engines count tokens at the end of a request."""


def hung_of(details: Details, window_s: float) -> tuple[ReplicaDetails, ...]:
    """Replicas where requests ran all the time and no token came, while others answered."""
    answering = [one for one in details.replicas if one.first_tokens_rps]
    if window_s < SHORTEST_S or not answering:
        return ()
    silent = [one for one in details.replicas if one.first_tokens_rps == 0.0 and not one.gaps]
    return tuple(one for one in silent if (one.running or 0.0) >= 1.0)


def lost_share(details: Details, hung: Sequence[ReplicaDetails]) -> float:
    """Share of all arrivals that goes to replicas that answer nothing."""
    every = sum(one.arrivals_rps or 0.0 for one in details.replicas)
    return sum(one.arrivals_rps or 0.0 for one in hung) / every if every > 0.0 else 0.0


def in_words(hung: Sequence[ReplicaDetails]) -> str:
    """ "server-0 answers nothing: 96 requests run and 3,913 wait there, no token came in the window."."""
    running, waiting = (round(sum(getattr(one, name) or 0.0 for one in hung)) for name in ("running", "waiting"))
    answer = "answers" if len(hung) == 1 else "answer"
    wait = f" and {count(waiting)} wait" if waiting else ""
    run = f"{counted(running, 'request')} {'runs' if running == 1 and not waiting else 'run'}"
    return f"{names_of(hung)} {answer} nothing: {run}{wait} there, no token came in the window."


def names_of(hung: Sequence[ReplicaDetails]) -> str:
    """The names of the replicas that hang."""
    return ", ".join(one.name for one in hung)


def as_cause(hung: Sequence[ReplicaDetails], quantity: str, instances: int, live: int) -> CauseRow:
    """Replicas that do not serve, as a cause: they add nothing to the latency of the requests that are answered."""
    return CauseRow(
        cause="replicas",
        quantity=quantity,
        share_ms=0.0,
        low=0.0,
        high=0.0,
        subject=names_of(hung),
        since=None,
        planned=float(instances),
        measured=float(live - len(hung)),
        unit="",
        why=in_words(hung),
    )


def as_action(hung: Sequence[ReplicaDetails], live: int, gpus: int) -> OfferedAction:
    """The advice to restart them."""
    return OfferedAction(
        kind="restore",
        replicas=live,
        gpus=live * gpus,
        change=len(hung),
        subject=names_of(hung),
        capacity_within_limits_rps=None,
        enough=None,
        usd_per_month=None,
        weight=None,
        why=f"{in_words(hung)} Restart {'it' if len(hung) == 1 else 'them'}; then diagnose again.",
    )
