"""What would help, and what each would give by the same engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

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
    actions += [one for one in (resize, adviser.recalibrate()) if one is not None]
    if not actions:
        actions = [adviser.nothing(needed)]
    first = _FIRST[situation.main or "unexplained"]
    if first == "drain" and not any(one.kind == first and one.enough for one in actions):
        first = "rebalance" if any(one.kind == "rebalance" and one.enough for one in actions) else first
    order = sorted(actions, key=lambda one: (one.kind != first, not one.enough, one.kind == "recalibrate"))
    return Advice(actions=tuple(order), needed=needed)


_FIRST: dict[Cause, ActionKind] = {
    "load": "resize",
    "prompts": "resize",
    "outputs": "resize",
    "cache_hits": "resize",
    "burstiness": "resize",
    "replicas": "restore",
    "kv_cache": "resize",
    "batch_limit": "raise_batch_limit",
    "routing": "rebalance",
    "slow_gpu": "drain",
    "weights": "resize",
    "engine": "recalibrate",
    "unexplained": "resize",
}
"""The action that answers a cause."""


def _remedies(adviser: _Adviser) -> tuple[Callable[[], OfferedAction | None], ...]:
    return adviser.restore, adviser.restore_clocks, adviser.drain, adviser.rebalance, adviser.raise_batch_limit


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
        return one if one.enough else one.model_copy(update={"why": one.why + self._replaced(gone)})

    def _replaced(self, gone: int) -> str:
        """What as many ordinary replicas as there are now carry, where it is enough."""
        now = self._given.now
        carried = largest_load(self._worlds, ordinary(now, now.replicas), self._promise)
        if carried is None or carried < ROOM * self._to_carry:
            return ""
        place = "another in its place" if gone == 1 else "others in their place"
        return f" With {place} {requests_per_s(carried)} are."

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
            why=_why_nothing(state, needed),
        )


def _slower(slow: CauseDifference, number: int) -> str:
    """ "The steps of vllm-1 take 1.48 times as long as those of its peers."."""
    most = "" if number == 1 else "up to "
    whose = "its" if number == 1 else "their"
    return f"The steps of {slow.subject} take {most}{slow.measured:.2f} times as long as those of {whose} peers."


def _it(number: int) -> str:
    return "it" if number == 1 else "them"


def _why_nothing(state: LimitVerdict, needed: int | None) -> str:
    if state == "met":
        right = "the number of replicas is right" if needed is not None else "how many replicas it takes is not known"
        return f"Every limit holds and {right}."
    if needed is None:
        return "No number of these replicas keeps the limits with this traffic: plan anew with it."
    if state == "broken":
        return "By the plan's engine this number of replicas is right: look for what it does not know of."
    return "Nothing, until the limits can be judged: by the plan's engine this number of replicas is right."


def usd_per_month(planned: Planned, replicas: int) -> float | None:
    """Cost of so many replicas of the plan, by its cost over its replicas; None where no price is known."""
    plan = planned.answer.plan
    if plan.cost is None or plan.cost.usd_per_hour is None or plan.deployment is None:
        return None
    return plan.cost.usd_per_hour * HOURS_PER_MONTH / plan.deployment.instances * replicas
