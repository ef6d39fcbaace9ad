"""Sessions of several turns: how much of each prompt an LRU prefix cache still holds, by the tokens it has room for.

What a turn leaves in the cache stays there for the characteristic time T of the cache, unless it is asked for again
earlier: T is the time in which the cache is filled once. A turn finds its history when it comes before that. Source:
Che, Tung, Wang, "Hierarchical web caching systems" (IEEE JSAC, 2002); why it is so exact: Fricker, Robert, Roberts, "A
versatile and accurate approximation for LRU cache performance" (ITC, 2012). Tested against exact replays.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Flags, Floats
from sizing.base.choices import CacheRouting
from sizing.reuse.in_flight import InCommon, beginnings

MOST_TURNS_SHOWN = 48
"""Turns of a session that are told apart; of more, as many evenly spaced ones stand for all but the first."""

MOST_VISITS = 48
"""Turns back to which a replica that was chosen at random is looked at for what it still holds. Chosen: further back
there is hardly any history that a prompt of a session of so many turns shares."""

SHORTEST_S, LONGEST_S = 1e-6, 1e9
"""Characteristic times that are looked for: what is shorter holds nothing, and what lasts 30 years is held for ever."""


@dataclass(frozen=True, kw_only=True)
class SessionShape:
    """One session: ``turns`` prompts, the first of ``first_prompt`` tokens, each later one longer by ``growth`` tokens
    of the user and of tools and by the ``answer`` before it. ``shared`` tokens begin every prompt of a session, one of
    so many ``shared_kinds`` of texts.

    ``think_s`` and ``tool_s``: mean seconds between an answer and the next prompt, each exponentially distributed.
    """

    turns: int
    first_prompt: float
    growth: float
    answer: float
    shared: float
    think_s: float
    tool_s: float
    shared_kinds: int = 1

    @property
    def longest(self) -> float:
        """Tokens of the last prompt and its answer."""
        return float(self.prompt(np.array([self.turns]))[0]) + self.answer

    @property
    def gap_s(self) -> float:
        """Mean seconds between an answer and the next prompt."""
        return self.think_s + self.tool_s

    @property
    def gap_variance(self) -> float:
        """Variance of the same, s^2."""
        return self.think_s**2 + self.tool_s**2

    def prompt(self, turn: Floats) -> Floats:
        """Tokens of the prompt of each turn, counted from 1."""
        return np.asarray(self.first_prompt + (turn - 1.0) * (self.growth + self.answer))

    def duration_s(self, service_s: float) -> float:
        """Seconds from the first prompt to the last answer, each of which takes ``service_s``."""
        return self.turns * service_s + (self.turns - 1) * self.gap_s

    def told_apart(self) -> tuple[Floats, Floats]:
        """Turns that stand for all, and the share of requests of each, which add up to 1; the first is itself."""
        if self.turns <= MOST_TURNS_SHOWN:
            return np.arange(1.0, self.turns + 1.0), np.full(self.turns, 1.0 / self.turns)
        parts = MOST_TURNS_SHOWN - 1
        later = 1.0 + (np.arange(parts) + 0.5) * (self.turns - 1) / parts + 0.5
        shares = np.append(1.0 / self.turns, np.full(parts, (1.0 - 1.0 / self.turns) / parts))
        return np.append(1.0, later), shares


@dataclass(frozen=True, kw_only=True)
class SecondTier:
    """Where KV cache goes beside the first tier, which it holds a copy of: ``capacity`` tokens of all replicas.

    ``of_all``: every replica loads from all of it. A history of n tokens is there after ``start_s + n x token_s``;
    to compute them takes ``computed_token_s`` each.
    """

    capacity: float
    of_all: bool
    start_s: float
    token_s: float
    computed_token_s: float

    @property
    def pays_from(self) -> float | None:
        """Tokens of a history from which on loading is the faster; None where computing always is."""
        faster = self.computed_token_s - self.token_s
        return self.start_s / faster if faster > 0.0 else None

    def saves(self, tokens: Floats) -> Floats:
        """Tokens that need not be computed where so many are loaded: those beyond what is computed in the time that
        loading takes, none where computing is the faster."""
        loading = np.where(tokens > 0.0, self.start_s + tokens * self.token_s, 0.0)
        return np.maximum(tokens - loading / self.computed_token_s, 0.0)


@dataclass(frozen=True, kw_only=True, eq=False)
class PromptRows:
    """Kinds of requests with the ``share`` of each (N,): ``prompt``, ``output`` and ``cached`` tokens, and whether they
    are the first of a session."""

    share: Floats
    prompt: Floats
    output: Floats
    cached: Floats
    first: Flags
    loaded: Floats
    """Tokens that are loaded from a second tier; of these ``cached`` counts what loading saves."""

    @property
    def loaded_share(self) -> float:
        """Share of all prompt tokens that are loaded from a second tier."""
        return float((self.share @ self.loaded) / (self.share @ self.prompt))

    @property
    def hit_share(self) -> float:
        """Share of all prompt tokens that the cache holds."""
        return float((self.share @ self.cached) / (self.share @ self.prompt))

    @property
    def mean_cached(self) -> float:
        """Cached tokens of a mean request."""
        return float(self.share @ self.cached)


@dataclass(frozen=True, kw_only=True)
class SessionTraffic:
    """Sessions of one shape that begin ``sessions_per_s`` times a second, each request answered in ``service_s``."""

    shape: SessionShape
    sessions_per_s: float
    service_s: float = 0.0

    @property
    def at_once(self) -> float:
        """Mean number of sessions that have begun and not ended (Little's law)."""
        return self.sessions_per_s * self.shape.duration_s(self.service_s)

    @property
    def requests_per_s(self) -> float:
        """Mean number of prompts a second."""
        return self.sessions_per_s * self.shape.turns

    @property
    def working_set(self) -> float:
        """Tokens of all sessions at once, running or waiting for their next turn, each text that they share counted
        once.

        A turn of k leaves P(k) + answer tokens until the next prompt: rate x sum over turns of tokens x time.
        """
        turn, share = self.shape.told_apart()
        own = self.shape.prompt(turn) - self.shape.shared
        idle = np.where(turn < self.shape.turns, self.shape.gap_s, 0.0)
        held = own * self.service_s + (own + self.shape.answer) * idle
        return self.requests_per_s * float(share @ held) + self.shape.shared * self.shape.shared_kinds

    @property
    def running(self) -> float:
        """Tokens of the requests that are being answered, without what they share: rate x time x tokens."""
        turn, share = self.shape.told_apart()
        own = self.shape.prompt(turn) - self.shape.shared + self.shape.answer / 2.0
        return self.requests_per_s * self.service_s * float(share @ own)

    def in_common(self, replicas: int, routing: CacheRouting) -> InCommon:
        """What requests in flight at one replica begin with together: where the routing looks for prefixes, one of its
        part of the texts."""
        apart = replicas if routing == "prefix_aware" else 1
        return beginnings(self.shape.shared, max(self.shape.shared_kinds / apart, 1.0))

    def rows(
        self, capacity: float, replicas: int, routing: CacheRouting, second: SecondTier | None = None
    ) -> PromptRows:
        """What is cached of each prompt when the caches of all replicas hold ``capacity`` tokens, running requests'
        included.

        Routing by session or by prefix makes one cache of all, but for what sessions share: of one text for all, each
        replica has a copy, of many texts routing by prefix keeps each in one. At random a turn meets the cache of the
        turn before with chance 1 / n, of the one before that with (1 / n) (1 - 1 / n), and so on, each of which holds
        the history up to its own turn. What the first tier does not hold any more, a ``second`` one may.
        """
        caches = self._caches(capacity, replicas, routing)
        held_s = caches.characteristic_s()
        if second is None:
            return caches.rows(held_s)
        beyond = self._caches(max(second.capacity, capacity), replicas, "prefix_aware" if second.of_all else routing)
        return caches.rows(held_s, second, beyond.characteristic_s())

    def kept_s(self, capacity: float, replicas: int, routing: CacheRouting) -> float:
        """Seconds for which such caches keep what nobody asks for."""
        return self._caches(capacity, replicas, routing).characteristic_s()

    def _caches(self, capacity: float, replicas: int, routing: CacheRouting) -> _Caches:
        copies = max(replicas / self.shape.shared_kinds, 1.0) if routing == "prefix_aware" else replicas
        return _Caches(self, replicas if routing == "random" else 1, capacity, replicas, copies)


@dataclass(frozen=True)
class _Caches:
    """The caches of ``replicas`` that hold ``capacity`` tokens in all; ``spread``: over how many of them the turns of
    one session fall at random; ``copies``: in how many a text that sessions share is asked for."""

    traffic: SessionTraffic
    spread: int
    capacity: float
    replicas: int
    copies: float

    @property
    def _chances(self) -> Floats:
        """Chance (M,) that the latest visit of a session to a cache is 1, 2, ... turns ago."""
        visits = np.arange(min(max(self.traffic.shape.turns - 1, 1), MOST_VISITS))
        return np.asarray((1.0 / self.spread) * (1.0 - 1.0 / self.spread) ** visits)

    def _within(self, seconds: float) -> tuple[Floats, Floats]:
        """Chance (M,) that 1, 2, ... turns later comes within so many seconds, and the mean of the shorter of both."""
        shape, service = self.traffic.shape, self.traffic.service_s
        visits = np.arange(1.0, len(self._chances) + 1.0)
        mean, variance = visits * shape.gap_s + (visits - 1.0) * service, visits * shape.gap_variance
        if shape.gap_variance <= 0.0:
            return (mean <= seconds).astype(np.float64), np.minimum(mean, seconds)
        form, scale = mean**2 / variance, variance / mean
        from scipy.special import gammainc  # the reading of a scenario does not wait for it

        chance = gammainc(form, seconds / scale)
        return chance, mean * gammainc(form + 1.0, seconds / scale) + seconds * (1.0 - chance)

    def _held(self, seconds: float) -> float:
        """Tokens that caches hold which keep everything for so many seconds."""
        turn, share = self.traffic.shape.told_apart()
        chances, (_, shorter) = self._chances, self._within(seconds)
        own = self.traffic.shape.prompt(turn) + self.traffic.shape.answer - self.traffic.shape.shared
        left = np.minimum(np.floor(self.traffic.shape.turns - turn + 0.5), len(chances)).astype(np.intp)
        until_next = np.append(0.0, np.cumsum(chances * shorter))[left]
        never = 1.0 - np.append(0.0, np.cumsum(chances))[left]
        held = self.traffic.requests_per_s * float(share @ (own * (until_next + never * seconds)))
        shape = self.traffic.shape
        texts = shape.shared * shape.shared_kinds * self.copies * self._shared_held(seconds)
        return held + self.traffic.running + texts

    def characteristic_s(self) -> float:
        """Seconds for which the caches keep what nobody asks for: where what they hold in that time fills them."""
        from scipy.optimize import brentq  # takes as long to load as all else that a scenario needs

        room = self.capacity
        if self._held(SHORTEST_S) >= room:
            return 0.0
        if self._held(LONGEST_S) <= room:
            return LONGEST_S
        ends = math.log(SHORTEST_S), math.log(LONGEST_S)
        return math.exp(float(brentq(lambda log_s: self._held(math.exp(log_s)) - room, *ends, xtol=1e-6)))

    def rows(self, held_s: float, second: SecondTier | None = None, second_held_s: float = 0.0) -> PromptRows:
        """The kinds of requests: each turn with each history that it may meet, in the first tier or in a ``second``
        that keeps it for ``second_held_s``, or with the shared part alone."""
        shape = self.traffic.shape
        turn, share = shape.told_apart()
        ago = np.arange(1, len(self._chances) + 1)
        began = ago < turn[:, None] - 0.25
        met = np.where(began, self._chances * self._within(held_s)[0], 0.0)
        history = shape.prompt(turn[:, None] - ago) + shape.answer
        known, shared = self._shared_held(held_s), shape.shared
        loaded = np.zeros_like(met)
        if second is not None:
            loaded = np.where(began, self._loaded(met, held_s, second, second_held_s), 0.0)
            history_saves = shared + second.saves(np.maximum(history - shared, 0.0))
        else:
            history_saves = history
        lost = 1.0 - met.sum(axis=1) - loaded.sum(axis=1)
        apart = np.column_stack([met, loaded, lost * known, lost * (1.0 - known)])
        alone = np.repeat([[shared, 0.0]], len(turn), axis=0)
        cached = np.hstack([np.maximum(history, shared), np.maximum(history_saves, shared), alone])
        from_second = np.hstack([0.0 * history, np.maximum(history - shared, 0.0), 0.0 * alone])
        prompt = np.broadcast_to(shape.prompt(turn)[:, None], apart.shape)
        weight = share[:, None] * apart
        some = weight > 0.0
        return PromptRows(
            share=weight[some],
            prompt=prompt[some],
            output=np.full(int(some.sum()), shape.answer),
            cached=np.minimum(cached, prompt - 1.0)[some],
            first=np.broadcast_to(turn[:, None] < 1.5, apart.shape)[some],
            loaded=from_second[some],
        )

    def _loaded(self, met: Floats, held_s: float, second: SecondTier, second_held_s: float) -> Floats:
        """Chance (turns, M) that a history is no longer in the first tier, but in the second: there the latest one
        of all where it is of all replicas, else that of the same replica."""
        later = self._within(second_held_s)[0]
        if not second.of_all:
            return np.asarray(self._chances * np.maximum(later - self._within(held_s)[0], 0.0) + 0.0 * met)
        latest = np.zeros_like(met)
        latest[:, 0] = np.maximum(1.0 - met.sum(axis=1), 0.0) * later[0]
        return latest

    def _shared_held(self, seconds: float) -> float:
        """Chance that a cache which keeps everything for so many seconds still has the text that a session shares.

        1 - e^(-rate x (seconds + time of an answer)), with the rate at which one cache is asked for one text, which
        stays while it is in use; one text of all is touched with every prompt, so that only prompts as long as the
        cache evict it.
        """
        turn, share = self.traffic.shape.told_apart()
        fits = float(share @ (self.traffic.shape.prompt(turn) <= self.capacity / self.replicas))
        if self.traffic.shape.shared_kinds == 1:
            return fits
        per_s = self.traffic.requests_per_s / (self.traffic.shape.shared_kinds * self.copies)
        return -math.expm1(-per_s * (seconds + self.traffic.service_s)) * fits
