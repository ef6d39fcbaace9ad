"""How fast an error budget may burn before somebody is told, over which pairs of windows."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Burn:
    """An alert: the budget burns ``factor`` times as fast as it may over both windows."""

    factor: float
    long: str
    short: str
    severity: str


BURNS = (
    Burn(factor=14.4, long="1h", short="5m", severity="page"),
    Burn(factor=6.0, long="6h", short="30m", severity="page"),
    Burn(factor=3.0, long="1d", short="2h", severity="ticket"),
    Burn(factor=1.0, long="3d", short="6h", severity="ticket"),
)
"""Google SRE workbook, chapter 5: 2 % of a month's budget in an hour, 5 % in six hours, 10 % in a day and in three."""

LEAST_REQUESTS = 100
"""Requests of the long window below which nothing is alerted. Chosen: a slow request of a few is no burning budget."""

WINDOWS = tuple(dict.fromkeys(window for burn in BURNS for window in (burn.short, burn.long)))
"""Every window of the alerts, as PromQL writes it."""
