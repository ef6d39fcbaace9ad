"""What would help, and what each would give by the same engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from reality.compare import Planned
from reality.diagnosis.capacity import PromisedLimits, largest_load, ordinary, replicas_needed
from reality.diagnosis.causes import Cause, CauseDifference
from reality.diagnosis.result import ActionKind, LimitVerdict, OfferedAction, Recalibration
from reality.diagnosis.worlds import Circumstances, Worlds
from reality.step_times import milliseconds
from sizing.base.format import count, counted, percent, requests_per_s
from sizing.base.units import HOURS_PER_MONTH
from sizing.queueing.balancing import balanced, shares

ROOM = 1.0
"""Times the measured load that must be within the limits for an action to be enough."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Situation:
    """What actions are chosen from: how it runs now and as measured, what differs, whether the limits are kept.

    ``load_rps``: as measured, which is said and compared; ``now`` has the plan's where they differ by noise alone.
    """

    planned: Planned
    load_rps: float
    now: Circumstances
    differences: tuple[CauseDifference, ...]
    main: Cause | None
    state: LimitVerdict
    capacity: float | None
    recalibration: Recalibration | None

    @property
    def rush_rps(self) -> float | None:
        """What replicas have to carry so that the window would have kept its limits; None where that is the mean."""
        if self.state != "broken" or not self.now.profile:
            return None
        return self.load_rps * max(self.now.profile) * len(self.now.profile) / sum(self.now.profile)

    def difference(self, cause: Cause) -> CauseDifference | None:
        """How plan and measurement differ by a cause; None where they do not."""
        return next((one for one in self.differences if one.cause == cause), None)


@dataclass(frozen=True, kw_only=True)
class Advice:
    """The actions, most useful first, and the ordinary replicas that the load needs (None: no number is enough)."""

    actions: tuple[OfferedAction, ...]
    needed: int | None


def advise(situation: Situation, worlds: Worlds, promise: PromisedLimits) -> Advice:
    """Actions against what was found, and how many replicas the traffic needs."""
    now = situation.now
    even = ordinary(now, now.replicas)
    differs = any(value != 1.0 for value in (*now.shares, *now.slowness))
    alike = largest_load(worlds, even, promise) if differs else situation.capacity
    rush = situation.rush_rps
    needed = replicas_needed(worlds, now if rush is None else replace(now, rps=rush), promise, alike)
    adviser = _Adviser(situation, worlds, promise)
    actions = [one for make in (*_remedies(adviser),) if (one := make()) is not None]
    resize = adviser.resize(needed)
    if resize is not None and any(one.kind == "restore" and one.replicas == resize.replicas for one in actions):
        resize = None if any(one.enough and one.change for one in actions) else resize
    actions += [one for one in (resize, adviser.recalibrate()) if one is not None]
    if not actions:
        actions = [adviser.nothing(needed)]
    return Advice(actions=tuple(_ordered(actions, situation)), needed=needed)


def _ordered(actions: Sequence[OfferedAction], situation: Situation) -> list[OfferedAction]:
    """What answers the main cause first; of what does not help by itself none before what does. While a limit is
    broken, another plan comes after what keeps it."""
    first = _FIRST[situation.main or "unexplained"]
    if first == "drain" and not any(one.kind == first and one.enough for one in actions):
        first = "rebalance" if any(one.kind == "rebalance" and one.enough for one in actions) else first
    if first == "recalibrate" and (situation.state == "broken" or _since(situation) is not None):
        first = "restore"
    return sorted(actions, key=lambda one: (one.kind != first, not one.enough, one.kind == "recalibrate"))


def _since(situation: Situation) -> CauseDifference | None:
    """The steps of all replicas, where these take longer since a moment that is known."""
    slower = situation.difference("engine")
    return slower if slower is not None and slower.since_s is not None and slower.measured > 1.0 else None


_FIRST: dict[Cause, ActionKind] = {
    "load": "resize",
    "prompts": "resize",
    "outputs": "resize",
    "cache_hits": "restore",
    "burstiness": "resize",
    "replicas": "restore",
    "kv_cache": "restore",
    "batch_limit": "raise_batch_limit",
    "routing": "rebalance",
    "slow_gpu": "drain",
    "weights": "restore",
    "engine": "recalibrate",
    "unexplained": "resize",
}
"""The action that answers a cause."""


def _remedies(adviser: _Adviser) -> tuple[Callable[[], OfferedAction | None], ...]:
    return (
        adviser.restore,
        adviser.restore_clocks,
        adviser.restore_speed,
        adviser.restore_hits,
        adviser.restore_memory,
        adviser.drain,
        adviser.rebalance,
        adviser.raise_batch_limit,
    )


class _Adviser:
    def __init__(self, situation: Situation, worlds: Worlds, promise: PromisedLimits) -> None:
        self._given, self._worlds, self._promise = situation, worlds, promise
        row = situation.planned.row
        self._gpus = row.gpus if row is not None else 1

    def _action(
        self,
        kind: ActionKind,
        after: Circumstances,
        why: str,
        *,
        subject: str | None = None,
        weight: float | None = None,
    ) -> OfferedAction:
        given = self._given.now
        carried = largest_load(self._worlds, after, self._promise)
        change = after.replicas - given.replicas
        return OfferedAction(
            kind=kind,
            replicas=after.replicas,
            gpus=after.replicas * self._gpus,
            change=change,
            subject=subject,
            capacity_within_limits_rps=carried,
            enough=carried is not None and carried >= ROOM * self._to_carry,
            usd_per_month=usd_per_month(self._given.planned, change),
            weight=weight,
            why=why + self._effect(carried),
        )

    @property
    def _to_carry(self) -> float:
        return self._given.rush_rps or self._given.load_rps

    def _effect(self, carried: float | None) -> str:
        load = requests_per_s(self._given.load_rps)
        if carried is None:
            return " Even then no load is within the limits."
        enough = "enough" if carried >= ROOM * self._to_carry else "not enough"
        return f" Then {requests_per_s(carried)} are within the limits: {enough} for the load of {load}."

    def restore(self) -> OfferedAction | None:
        """Bring back the replicas that are missing; None where none are."""
        missing = self._given.difference("replicas")
        if missing is None or missing.measured >= missing.planned:
            return None
        lost = round(missing.planned - missing.measured)
        named = ", ".join(filter(None, (missing.subject, missing.words)))
        which = f" ({named})" if named else ""
        what = f"{count(lost)} of {count(missing.planned)} planned replicas {'is' if lost == 1 else 'are'} gone{which}."
        after = replace(self._given.now, replicas=round(missing.planned))
        return self._action("restore", after, f"{what} Restore what is missing.", subject=missing.subject)

    def drain(self) -> OfferedAction | None:
        """A slow replica out of the load: what waits for it is the tail of all."""
        slow, now = self._given.difference("slow_gpu"), self._given.now
        kept = [pair for pair in zip(now.shares, now.slowness, strict=True) if pair[1] == 1.0]
        if slow is None or slow.subject is None or not kept:
            return None
        gone = len(now.slowness) - len(kept)
        after = ordinary(now, max(now.replicas - gone, 1))
        what = f"{_slower(slow, gone)} Drain {_it(gone)} and have the GPUs looked at."
        one = self._action("drain", after, what, subject=slow.subject)
        one = one.model_copy(update={"usd_per_month": None})  # what is drained stays paid for
        return one if one.enough else self._replaced(one, gone)

    def _replaced(self, drained: OfferedAction, gone: int) -> OfferedAction:
        """The same with others in place of what is drained, where only that is enough."""
        now = self._given.now
        carried = largest_load(self._worlds, ordinary(now, now.replicas), self._promise)
        if carried is None or carried < ROOM * self._to_carry:
            return drained
        place = "another in its place" if gone == 1 else "others in their place"
        return drained.model_copy(
            update={
                "replicas": now.replicas,
                "gpus": now.replicas * self._gpus,
                "change": 0,
                "capacity_within_limits_rps": carried,
                "enough": True,
                "why": f"{drained.why} With {place} {requests_per_s(carried)} are: enough.",
            }
        )

    def restore_clocks(self) -> OfferedAction | None:
        """The GPUs of all replicas at their own speed again."""
        slow, now = self._given.difference("slow_gpu"), self._given.now
        if slow is None or slow.subject is not None:
            return None
        after = replace(now, decode=now.decode / slow.measured, prefill=now.prefill / slow.measured)
        what = (
            f"The GPUs of all replicas are slowed down: steps take {slow.measured:.2f} times as long as planned. "
            "Restore their clocks (cooling, power)."
        )
        return self._action("restore", after, what)

    def restore_speed(self) -> OfferedAction | None:
        """What ran before a moment from which all steps take longer."""
        slower, now = _since(self._given), self._given.now
        if slower is None or slower.since_s is None:
            return None
        after = replace(now, decode=now.decode / slower.measured, prefill=now.prefill / slower.measured)
        when = f"{datetime.fromtimestamp(slower.since_s, UTC):%H:%M} UTC"
        what = (
            f"Steps of all replicas take {slower.measured:.2f} times as long as planned since {when}: see what changed "
            "then (image, engine options, drivers, clocks, neighbours) and take it back."
        )
        return self._action("restore", after, what, subject=f"what ran before {when}")

    def restore_hits(self) -> OfferedAction | None:
        """The planned hit rate of the prefix cache."""
        fewer, now = self._given.difference("cache_hits"), self._given.now
        if fewer is None or fewer.measured >= fewer.planned:
            return None
        what = (
            f"{percent(fewer.measured)} of prompt tokens come from the prefix cache, {percent(fewer.planned)} were "
            "planned: see whether it is on, requests of one prefix reach one replica, and prompts still begin alike."
        )
        return self._action("restore", replace(now, hits=fewer.planned), what, subject="the prefix cache hits")

    def restore_memory(self) -> OfferedAction | None:
        """The planned weight format, or the planned size of the KV cache."""
        now, row = self._given.now, self._given.planned.row
        other, smaller = self._given.difference("weights"), self._given.difference("kv_cache")
        if other is not None and row is not None:
            what = f"{other.words[:1].upper()}{other.words[1:]}: serve in the planned format."
            after = replace(now, row=replace(row, batch_limit=None), kv_scale=1.0)
            action = self._action("restore", after, what, subject="the planned format")
            better = action.capacity_within_limits_rps or 0.0
            return action if better > (self._given.capacity or 0.0) else None
        if smaller is None or smaller.measured >= smaller.planned:
            return None
        what = (
            f"The KV cache of a replica holds {count(smaller.measured)} tokens, {count(smaller.planned)} were planned: "
            "see what else takes its memory, and which part of it the engine may use."
        )
        return self._action("restore", replace(now, kv_scale=1.0), what, subject="the size of the KV cache")

    def rebalance(self) -> OfferedAction | None:
        """Shares of the load as the replicas are fast: even ones where they are alike."""
        uneven, slow, now = self._given.difference("routing"), self._given.difference("slow_gpu"), self._given.now
        speeds = [1.0 / one for one in now.slowness] + [1.0] * (now.replicas - len(now.slowness))
        differ = slow is not None and slow.subject is not None and len(set(speeds)) > 1
        if not differ:
            return None if uneven is None else self._share_evenly(uneven)
        assert slow is not None
        each = balanced(speeds)
        weight = min(speeds) / max(speeds)
        number = sum(one != 1.0 for one in now.slowness)
        what = (
            f"{_slower(slow, number)} Give {_it(number)} {percent(weight)} of the peers' weight: equal weights leave "
            f"{percent(each.lost_evenly)} of the capacity of all unused."
        )
        by_speed = tuple(shares(speeds))
        after = replace(now, shares=by_speed, slowness=tuple(1.0 / one for one in speeds))
        return self._action("rebalance", after, what, subject=slow.subject, weight=weight)

    def _share_evenly(self, uneven: CauseDifference) -> OfferedAction:
        what = f"{uneven.subject} gets {uneven.measured:.2f} times an even share of the load."
        after = replace(self._given.now, shares=(1.0,) * len(self._given.now.slowness))
        return self._action("rebalance", after, f"{what} Share it evenly.")

    def raise_batch_limit(self) -> OfferedAction | None:
        """The batch limit of the plan."""
        limited = self._given.difference("batch_limit")
        if limited is None or limited.measured >= limited.planned:
            return None
        row = self._given.planned.row
        option = row.engine.batch_option if row is not None else ""
        named = f" ({option})" if option else ""
        what = (
            f"Requests wait while never more than {count(limited.measured)} run on a replica and KV cache is free: "
            f"that looks like a limit of the batch{named}, {count(limited.planned)} were planned."
        )
        after = replace(self._given.now, batch_limit=round(limited.planned))
        return self._action("raise_batch_limit", after, f"{what} Raise it.")

    def resize(self, needed: int | None) -> OfferedAction | None:
        """Another number of replicas for this traffic; nothing where the present one is right."""
        now = self._given.now
        if needed is None or needed == now.replicas:
            return None
        if needed < now.replicas and self._given.state != "met":
            return None
        after = ordinary(now, needed)
        more = needed - now.replicas
        what = f"{count(abs(more))} {'more' if more > 0 else 'fewer'}" if more else ""
        rush = self._given.rush_rps
        when = "" if rush is None else f" in its busiest part ({requests_per_s(rush)})"
        why = f"This traffic needs {counted(needed, 'replica')}{when}, {what} than serve now."
        planned = self._given.planned.answer.question.demand.sustained_rps
        if more < 0 and self._given.load_rps < planned:
            why += f" The plan is for {requests_per_s(planned)}: keep what that takes if such load comes back."
        return self._action("resize", after, why)

    def recalibrate(self) -> OfferedAction | None:
        """Plan with the step times that were learned."""
        learned, now = self._given.recalibration, self._given.now
        if learned is None or not learned.offered:
            return None
        more = (
            f", and {milliseconds(learned.sequence_ms)} ms more for each running sequence"
            if learned.sequence_ms
            else ""
        )
        why = (
            f"Decode steps take {learned.factor_decode:.2f} and prompts {learned.factor_prefill:.2f} times as long as "
            f"planned{more}. {learned.why} Plan with these step times."
        )
        return OfferedAction(
            kind="recalibrate",
            replicas=now.replicas,
            gpus=now.replicas * self._gpus,
            change=0,
            subject=None,
            capacity_within_limits_rps=self._given.capacity,
            enough=None,
            usd_per_month=None,
            weight=None,
            why=why,
        )

    def nothing(self, needed: int | None) -> OfferedAction:
        """Nothing to do, or nothing that is known to help."""
        now, state = self._given.now, self._given.state
        return OfferedAction(
            kind="none",
            replicas=now.replicas,
            gpus=now.replicas * self._gpus,
            change=0,
            subject=None,
            capacity_within_limits_rps=self._given.capacity,
            enough=None if state == "unclear" else state == "met",
            usd_per_month=None,
            weight=None,
            why=_why_nothing(state, needed, now.replicas),
        )


def _slower(slow: CauseDifference, number: int) -> str:
    """ "The steps of vllm-1 take 1.48 times as long as those of its peers."."""
    most = "" if number == 1 else "up to "
    whose = "its" if number == 1 else "their"
    seen = f" ({slow.words})" if slow.words else ""
    return f"The steps of {slow.subject} take {most}{slow.measured:.2f} times as long as those of {whose} peers{seen}."


def _it(number: int) -> str:
    return "it" if number == 1 else "them"


def _why_nothing(state: LimitVerdict, needed: int | None, serving: int) -> str:
    if state == "met":
        right = "the number of replicas is right" if needed is not None else "how many replicas it takes is not known"
        return f"Every limit holds and {right}."
    if needed is None:
        return "No number of these replicas keeps the limits with this traffic: plan anew with it."
    if state == "broken":
        return "By the plan's engine this number of replicas is right: look for what it does not know of."
    right = "this number of replicas is right" if needed == serving else f"this load takes {counted(needed, 'replica')}"
    return f"Nothing, until the limits can be judged: by the plan's engine {right}."


def usd_per_month(planned: Planned, replicas: int) -> float | None:
    """Cost of so many replicas of the plan, by its cost over its replicas; None where no price is known."""
    plan = planned.answer.plan
    if plan.cost is None or plan.cost.usd_per_hour is None or plan.deployment is None:
        return None
    return plan.cost.usd_per_hour * HOURS_PER_MONTH / plan.deployment.instances * replicas
