"""What requests in flight have in common: engines hold a block once, however many of them use it.

Of N requests that each begin with one of K texts, K (1 - (1 - 1 / K)^N) begin differently. Of a trace the different
tokens of N requests in a row are counted: its working set (Denning and Schwartz, "Properties of the working-set model",
CACM 1972). Source: Kwon et al., "Efficient memory management for large language model serving with PagedAttention"
(SOSP 2023), section 4.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Floats

MOST_AT_ONCE = 2.0**20
"""Requests in flight up to which beginnings are counted. Chosen: more than any instance runs."""

HALVINGS = 40
"""Times that an interval is halved in which a number of requests lies: to less than one of them."""


@dataclass(frozen=True, kw_only=True)
class InCommon:
    """What requests have in common: of ``tokens`` of each, so many ``at_once`` (S,) have ``held`` (S,) in all."""

    tokens: float
    at_once: tuple[float, ...]
    held: tuple[float, ...]

    def held_by(self, requests: Floats) -> Floats:
        """Tokens in the KV cache that so many requests have in common."""
        return np.asarray(np.interp(requests, self.at_once, self.held))

    def held_of(self, requests: float) -> float:
        """The same of one number of requests."""
        return float(np.interp(requests, self.at_once, self.held))

    def scaled(self, factor: float) -> InCommon:
        """The same with texts so many times as long."""
        return InCommon(
            tokens=self.tokens * factor, at_once=self.at_once, held=tuple(one * factor for one in self.held)
        )

    def requests_in(self, room: float, each: float) -> float:
        """Requests that fill ``room`` tokens, each with ``each`` beside what is in common: N x each + held(N)."""
        low, high = 0.0, max(room / max(each, 1.0), 1.0)
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            fits = middle * each + self.held_of(middle) <= room
            low, high = (middle, high) if fits else (low, middle)
        return low


NOTHING_IN_COMMON = InCommon(tokens=0.0, at_once=(1.0,), held=(0.0,))


def different(kinds: float, drawn: Floats) -> Floats:
    """Different ones among so many drawn of equally likely ``kinds``, in the mean: K (1 - (1 - 1 / K)^N)."""
    return np.asarray(kinds * (1.0 - (1.0 - 1.0 / kinds) ** drawn))


def beginnings(tokens: float, kinds: float) -> InCommon:
    """Requests that begin with one of so many ``kinds`` of texts of ``tokens``."""
    if kinds <= 1.0:
        return InCommon(tokens=tokens, at_once=(1.0,), held=(tokens,))
    counts = np.exp2(np.arange(0.0, 2.0 * np.log2(MOST_AT_ONCE) + 1.0) / 2.0)
    return InCommon(
        tokens=tokens, at_once=tuple(counts.tolist()), held=tuple((tokens * different(kinds, counts)).tolist())
    )


def of_windows(at_once: Sequence[float], shares: Sequence[float], prompt: float) -> InCommon:
    """From the ``shares`` of the tokens of so many prompts in a row, ``prompt`` long in the mean, that differ.

    What one more request of the longest row adds is its own: the rest they have in common. Rows whose share is that of
    shorter ones are longer than the trace could tell.
    """
    longer = np.append(True, np.diff(shares) < 0.0) if len(shares) else np.zeros(0, dtype=np.bool_)
    counts, known = (np.asarray(one, dtype=np.float64)[longer] for one in (at_once, shares))
    if len(counts) < 2:
        return NOTHING_IN_COMMON
    differ = counts * prompt * known
    own = float(np.clip((differ[-1] - differ[-2]) / (counts[-1] - counts[-2]), 0.0, prompt))
    held = np.maximum.accumulate(np.maximum(differ - counts * own, 0.0))
    return InCommon(tokens=prompt - own, at_once=tuple(counts.tolist()), held=tuple(held.tolist()))
