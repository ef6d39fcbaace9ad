"""What the plan assumed and what is measured, as two sets of circumstances, and in which of them they really differ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq

from collectors.questions.deployments import ObservedDeployment
from collectors.questions.details import Details
from collectors.questions.devices import Device
from collectors.questions.xids import LostReplica
from collectors.reading.observation import Observation
from reality.compare import Planned
from reality.diagnosis.arrivals import Pattern, differs, pattern_of
from reality.diagnosis.causes import FIELDS, Cause, CauseDifference
from reality.diagnosis.fitting import FARTHEST
from reality.diagnosis.slow_replicas import ReplicaSlowness, fleet_of, follows_speed, places_of
from reality.diagnosis.worlds import Circumstances, Worlds
from reality.lengths import fits_planned, from_histogram, from_plan, is_as_stated, shared_prefix
from reality.sampling import variation
from sizing.base.arrays import Floats
from sizing.base.format import count
from sizing.base.units import MS_PER_S
from sizing.catalog.precisions import KV_CACHE_TYPES, precisions
from sizing.deployments.candidates import support_of
from sizing.question.configuration import Configuration
from sizing.question.length_distributions import LengthDistribution

SURE = 3.0
"""Standard errors from which a difference is one."""
LEAST_LOAD, LEAST_LENGTH, LEAST_HITS, LEAST_KV = 0.04, 0.04, 0.03, 0.10
"""Differences below which nothing is called different: of the load and of mean lengths, relative; of the hit rate, in
parts of the prompt; of the KV cache, relative, which the plan itself does not know better."""
SAME_KV = 0.06
"""Relative difference of the KV cache from that of another weight format up to which it is that format's."""
SAME_SLOWNESS = 0.005
"""How closely the logarithm of the slowness of a replica is looked for."""
REFINING_REQUESTS = 5_000
"""Requests of a run of one replica."""
LEAST_QUEUED = 5
"""Scrapes with requests waiting below which a limit on the batch is not inferred."""
FLAT_SHARE = 0.5
"""Share of these with as many running as ever, from which there is a limit."""
KV_FULL = 0.93
"""KV use from which it, and not a limit, keeps requests waiting."""
TOO_MANY = 4.0
"""Times as many requests at once as run or may run, from which counters contradict latencies. Chosen: no batch limit
that somebody raised, and no window with a restart in it, comes near."""
IMPOSSIBLE = (
    "The counters contradict the latencies: so many tokens at such gaps would take more requests at once than the "
    "replicas can run. Check that nothing rewrites, adds up or resets these metrics between engine and source."
)
MOST_NAMED = 3
"""Replicas that are named."""
LEAST_BATCH = 0.95
"""Share of the planned limit of the batch from which a lower one is another."""


@dataclass(frozen=True, kw_only=True)
class ObservedWorlds:
    """Both sets of circumstances; ``differences`` without the engine, which is fitted to what they leave over."""

    planned: Circumstances
    measured: Circumstances
    differences: tuple[CauseDifference, ...]
    fleet: ReplicaSlowness
    pattern: Pattern | None
    assumed: tuple[str, ...] = ()

    def mixed(self, causes: frozenset[str]) -> Circumstances:
        """The plan with what ``causes`` changed as it is measured."""
        names = [name for cause, fields in FIELDS.items() if cause in causes for name in fields]
        if "slow_gpu" in causes and not any(d.cause == "routing" for d in self.differences):
            names.append("shares")  # a balancer gives slower replicas less: that belongs to their slowness
        return replace(self.planned, **{name: getattr(self.measured, name) for name in names})


def seen_of(
    planned: Planned, observed: Observation, deployed: ObservedDeployment, details: Details, worlds: Worlds
) -> ObservedWorlds | str:
    """What differs; a sentence where it cannot be told because nothing arrived, or the plan deploys nothing."""
    row, deployment = planned.row, planned.answer.plan.deployment
    if row is None or deployment is None:
        return planned.why_not
    rps = observed.number("arrivals_rps")
    if rps is None:
        return "The deployment does not report how many requests arrive: nothing can be concluded about a cause."
    if rps <= 0:
        return "No request arrived in the window: choose another window (--at, --window)."
    if _impossible(observed, worlds, row, deployment.instances):
        return IMPOSSIBLE
    reader = _Reader(planned, row, observed, deployed, details, worlds)
    return reader.seen(rps, deployment.instances)


def _impossible(observed: Observation, worlds: Worlds, row: Configuration, instances: int) -> bool:
    """Whether more requests would have to run at once than can: by Little's law as many as tokens are generated in the
    mean time between two of one answer."""
    tokens, gap = observed.number("generation_tokens_per_s"), observed.distribution("tpot_ms").mean
    if not tokens or not gap:
        return False
    replicas = max(observed.number("replicas") or 0.0, instances)
    most = max(observed.number("running_max") or 0.0, worlds.planned(row).max_sequences)
    return tokens * gap / MS_PER_S > TOO_MANY * replicas * most


class _Reader:
    """Reads one observation cause by cause."""

    def __init__(
        self,
        planned: Planned,
        row: Configuration,
        observed: Observation,
        deployed: ObservedDeployment,
        details: Details,
        worlds: Worlds,
    ) -> None:
        self.question, self.row, self.worlds = planned.answer.question, row, worlds
        self.observed, self.deployed, self.details = observed, deployed, details
        self.differences: list[CauseDifference] = []
        self.assumed: list[str] = []

    def seen(self, rps: float, instances: int) -> ObservedWorlds:
        question = self.question
        requests = max(rps * max(self.observed.window_s - (self.observed.scrape_interval_s or 0.0), 1.0), 1.0)
        prompt, prompt_now = self._lengths("prompts", "input_tokens", question.prompt, rps, requests)
        output, output_now = self._lengths("outputs", "output_tokens", question.output, rps, requests)
        hits = self._planned_hits(prompt)
        pattern = pattern_of(self.details.counts, self.details.count_step_s)
        peak, cv = question.demand.sustained_rps, math.sqrt(question.variability.arrivals)
        plan = Circumstances(
            rps=peak,
            prompt=prompt,
            output=output,
            hits=hits,
            cv=cv,
            profile=(),
            profile_step_s=self.observed.window_s / 10.0,
            replicas=instances,
            row=replace(self.row, batch_limit=None),
            kv_scale=1.0,
            batch_limit=self.row.batch_limit,
            shares=(),
            slowness=(),
        )
        self._count("load", peak, rps, "requests/s", LEAST_LOAD, SURE * cv / math.sqrt(requests))
        now_hits = self._hits(hits)
        now = replace(plan, rps=rps if self._has("load") else peak, prompt=prompt_now, output=output_now, hits=now_hits)
        now = self._bursts(now, pattern, question.variability.arrivals)
        now = self._deployment(now, instances)
        fleet = self._fleet(now)
        shares = fleet.shares if self._has("routing") or self._has("slow_gpu") else (1.0,) * len(fleet.names)
        now = replace(now, shares=shares, slowness=fleet.slowness)
        plan = replace(plan, shares=(1.0,) * len(shares), slowness=(1.0,) * len(shares))
        return ObservedWorlds(
            planned=plan,
            measured=now,
            differences=tuple(self.differences),
            fleet=fleet,
            pattern=pattern,
            assumed=tuple(self.assumed),
        )

    def _has(self, cause: Cause) -> bool:
        return any(one.cause == cause for one in self.differences)

    def _count(self, cause: Cause, planned: float, measured: float, unit: str, least: float, noise: float) -> None:
        if abs(measured / planned - 1.0) > max(least, noise):
            error = noise / SURE / abs(measured / planned - 1.0)
            self.differences.append(
                CauseDifference(cause=cause, planned=planned, measured=measured, unit=unit, error=error)
            )

    def _lengths(
        self, cause: Cause, name: str, planned: LengthDistribution, rps: float, requests: float
    ) -> tuple[Floats, Floats]:
        """Lengths as planned and as measured. The planned shape is taken where the buckets do not contradict it, and
        the measured one for both where they contradict nothing that the plan states. ``requests``: how many stand
        behind a mean that no histogram counts."""
        distribution = self.observed.distribution(name)
        mean = self._mean_length(name, rps)
        as_planned = from_plan(planned, None)
        if mean is None:
            self.assumed.append(f"{name.split('_')[0].capitalize()} lengths as planned: they are not reported.")
            return as_planned, as_planned
        ratio = mean / float(as_planned.mean())
        fits = fits_planned(distribution, as_planned * ratio)
        histogram = None if fits else from_histogram(distribution)
        if histogram is not None and is_as_stated(distribution, planned, ratio):
            as_planned = np.maximum(histogram / ratio, 1.0)
            fits = True
            spread = "Prompts are" if cause == "prompts" else "Answers are"
            self.assumed.append(f"{spread} spread around their mean as measured, which the plan leaves open.")
        count = distribution.count or requests
        noise = SURE * math.sqrt((variation(distribution.buckets) or 1.0) / count)
        off = abs(ratio - 1.0) > max(LEAST_LENGTH, noise)
        if not off and (fits or histogram is None):
            return as_planned, as_planned
        now = np.maximum(as_planned * ratio, 1.0) if fits or histogram is None else histogram
        self.differences.append(
            CauseDifference(
                cause=cause,
                planned=float(as_planned.mean()),
                measured=mean,
                unit="tokens",
                error=min(noise / SURE / max(abs(ratio - 1.0), LEAST_LENGTH), 1.0),
                words="" if off else "longer and shorter ones than planned around the same mean",
            )
        )
        return as_planned, now

    def _mean_length(self, name: str, rps: float) -> float | None:
        """The mean of a length, from tokens and requests a second where nothing else tells it."""
        tokens = self.observed.number("prompt_tokens_per_s" if name == "input_tokens" else "generation_tokens_per_s")
        mean = self.observed.distribution(name).mean
        return tokens / rps if mean is None and tokens else mean

    def _planned_hits(self, prompt: Floats) -> float:
        """The planned hit rate. How much of all prompts a first part of so many tokens is depends on the shape of their
        lengths: between that of the plan and another one that it leaves open, what is measured is as planned."""
        tokens, measured = self.question.traffic.cached_tokens, self.observed.number("prefix_hit_ratio")
        ends = sorted(planned_share(tokens, each) for each in (prompt, from_plan(self.question.prompt, None)))
        return ends[-1] if measured is None else min(max(measured, ends[0]), ends[1])

    def _hits(self, planned: float) -> float:
        measured = self.observed.number("prefix_hit_ratio")
        if measured is None:
            self.assumed.append("Prefix hit rate as planned: it is not reported.")
            return planned
        if abs(measured - planned) <= LEAST_HITS:
            return planned
        self.differences.append(
            CauseDifference(
                cause="cache_hits",
                planned=planned,
                measured=measured,
                unit="share of prompt tokens",
                error=min(0.01 / abs(measured - planned), 1.0),
            )
        )
        return measured

    def _bursts(self, now: Circumstances, pattern: Pattern | None, planned: float) -> Circumstances:
        if pattern is None:
            self.assumed.append("Arrivals as bursty as planned: the window has too few scrapes to tell.")
            return now
        if not differs(pattern, planned):
            return now
        self.differences.append(
            CauseDifference(
                cause="burstiness",
                planned=planned,
                measured=pattern.dispersion,
                unit="variance over mean of arrivals",
                error=pattern.error_of_share(planned),
                words="the load changed within the window" if pattern.profile else "",
            )
        )
        cv = math.sqrt(pattern.dispersion) if pattern.dispersion > planned else now.cv
        return replace(now, cv=cv, profile=pattern.profile)

    def _deployment(self, now: Circumstances, instances: int) -> Circumstances:
        live = self.observed.number("replicas")
        replicas = max(int(live), len(self.details.replicas)) if live else instances  # one scrape may have failed
        if not live:
            self.assumed.append("As many replicas as planned: the source does not show them.")
        if replicas != instances:
            lost = self.details.lost[: max(instances - replicas, 0)]  # of all that went within a day, the last
            self.differences.append(
                CauseDifference(
                    cause="replicas",
                    planned=float(instances),
                    measured=float(replicas),
                    subject=", ".join(one.name for one in lost[:MOST_NAMED]) or None,
                    since_s=max((one.since_s for one in lost), default=None),
                    words=_errors_of(lost),
                )
            )
        now = self._memory(replace(now, replicas=replicas))
        return self._batch(now)

    def _memory(self, now: Circumstances) -> Circumstances:
        """KV cache and weight format: a cache of another size is that of another format where one explains it."""
        types = {kv.cache_type for kv in self.deployed.kv}
        running = next((name for name, known in KV_CACHE_TYPES.items() if types & set(known)), None)
        blocks = [kv.blocks * kv.block_tokens for kv in self.deployed.kv if kv.blocks and kv.block_tokens]
        tokens = self.observed.number("kv_capacity_tokens") or min(blocks, default=None)
        row = now.row
        if running is not None and running != row.kv_precision:
            row = replace(row, kv_precision=running)
            self.differences.append(
                CauseDifference(cause="weights", planned=0.0, measured=0.0, words=f"the KV cache is kept as {running}")
            )
            now = replace(now, row=row)
        if not tokens:
            self.assumed.append("KV cache of the planned size: it is not reported.")
            return now
        ratio = tokens / max(self.worlds.printed_tokens(row), 1.0)
        if abs(math.log(ratio)) <= LEAST_KV:
            return now
        other = None if self._has("weights") else self._format_of(tokens)
        if other is not None:
            self.differences.append(
                CauseDifference(
                    cause="weights",
                    planned=self.worlds.printed_tokens(row),
                    measured=tokens,
                    unit="tokens of KV cache",
                    words=f"{other.precision.plain_label} in place of {row.precision.plain_label}",
                )
            )
            return replace(now, row=other)
        self.differences.append(
            CauseDifference(cause="kv_cache", planned=tokens / ratio, measured=tokens, unit="tokens of KV cache")
        )
        return replace(now, kv_scale=ratio)

    def _format_of(self, tokens: float) -> Configuration | None:
        """The configuration in another weight format that leaves a KV cache of this size, the widest of several."""
        near = []
        for precision in precisions().values():
            row = replace(self.row, precision=precision)
            if precision.bytes == self.row.precision.bytes:
                continue
            if precision.named_only and not self.row.precision.gguf_type:
                continue
            if support_of(self.question.model, row).status == "no":
                continue
            printed = self.worlds.printed_tokens(row)
            if printed > 0 and abs(math.log(tokens / printed)) <= SAME_KV:
                near.append((abs(math.log(tokens / printed)), row))
        return min(near, key=lambda one: one[0])[1] if near else None

    def _batch(self, now: Circumstances) -> Circumstances:
        """The limit of the batch: a flat top of running requests while others wait and the KV cache is not full."""
        replicas = self.details.replicas
        tops = [one.running_max for one in replicas if one.running_max is not None]
        base = self.worlds.replica(now.row, float(now.prompt.mean()), float(now.output.mean()))
        limit = min(base.max_sequences, now.batch_limit or base.max_sequences)
        if not tops:
            return now
        queued, flat = sum(one.queued for one in replicas), sum(one.flat for one in replicas)
        top = round(max(tops))
        full = (self.observed.number("kv_usage_max") or 0.0) >= KV_FULL
        lower = queued >= LEAST_QUEUED and flat >= FLAT_SHARE * queued and not full and 1 <= top < LEAST_BATCH * limit
        higher = now.batch_limit is not None and top > now.batch_limit / LEAST_BATCH
        if not lower and not higher:
            return now
        self.differences.append(
            CauseDifference(cause="batch_limit", planned=float(limit), measured=float(top), unit="requests a replica")
        )
        return replace(now, batch_limit=top if lower else None)

    def _fleet(self, now: Circumstances) -> ReplicaSlowness:
        base = self.worlds.replica(now.row, float(now.prompt.mean()), float(now.output.mean()))
        cached = float(shared_prefix(now.prompt, now.hits).mean())
        fleet = fleet_of(
            self.details.replicas,
            self.details.devices,
            base,
            context=float(now.prompt.mean() + now.output.mean() / 2.0),
            prompt=float(now.prompt.mean()) - cached,
            window_s=self.observed.window_s,
        )
        fleet = self._refined(fleet, now)
        if fleet.slow:
            worst = max(fleet.slowness)
            by_slowness = sorted(zip(fleet.slowness, fleet.names, strict=True), reverse=True)
            slow = [name for slowness, name in by_slowness if slowness != 1.0]
            others = f" and {len(slow) - MOST_NAMED} more" if len(slow) > MOST_NAMED else ""
            self.differences.append(
                CauseDifference(
                    cause="slow_gpu",
                    planned=1.0,
                    measured=worst,
                    unit="times the step time of its peers",
                    error=min(fleet.error / abs(worst - 1.0), 1.0),
                    subject=", ".join(slow[:MOST_NAMED]) + others,
                    words=self._slowed_down(slow, fleet.throttled),
                )
            )
        if fleet.uneven and not (fleet.slow and follows_speed(fleet)):
            share, name = max(zip(fleet.shares, fleet.names, strict=True))
            self.differences.append(
                CauseDifference(
                    cause="routing", planned=1.0, measured=share, unit="times an even share", error=0.05, subject=name
                )
            )
        return fleet

    def _slowed_down(self, slow: Sequence[str], throttled: Sequence[Device]) -> str:
        """ "GPU node0/4 hardware thermal slowdown" of the GPUs of slow replicas; "" where none says so."""
        places = {place for one in self.details.replicas if one.name in slow for place in places_of(one)}
        own = [device for device in throttled if (device.pod or device.host) in places]
        named = [f"{one.name} {', '.join(one.harmful_causes) or _clock_of(one)}".rstrip() for one in own]
        if not named:
            return ""
        more = f" and {len(named) - MOST_NAMED} more" if len(named) > MOST_NAMED else ""
        return f"GPU{'s' if len(named) > 1 else ''} {'; '.join(named[:MOST_NAMED])}{more}"

    def _refined(self, fleet: ReplicaSlowness, now: Circumstances) -> ReplicaSlowness:
        """The same with the slowness of slow replicas from runs: how many times as long steps must take, under the
        share of the load that each has, for its mean gap, over the same of its ordinary peers."""
        gaps = {one.name: one.gap_s * MS_PER_S for one in self.details.replicas if one.gap_s}
        ordinary = [i for i, slow in enumerate(fleet.slowness) if slow == 1.0 and fleet.names[i] in gaps]
        if not fleet.slow or not ordinary:
            return fleet
        share = sum(fleet.shares[i] for i in ordinary) / len(ordinary)
        usual = self._factor(now, share, sum(gaps[fleet.names[i]] for i in ordinary) / len(ordinary))
        slowness = list(fleet.slowness)
        for i, slow in enumerate(fleet.slowness):
            if slow == 1.0 or usual is None:
                continue
            own = self._factor(now, fleet.shares[i], gaps[fleet.names[i]])
            if own is not None and own > usual:
                slowness[i] = own / usual
        return replace(fleet, slowness=tuple(slowness))

    def _factor(self, now: Circumstances, share: float, gap_ms: float) -> float | None:
        """How many times as long the steps of a replica with a share of the load, relative to an even one, must take
        for its mean gap; None where no factor within reason does."""
        rps = now.rps * share / now.replicas

        def missing(log_factor: float) -> float:
            one = replace(now, rps=rps, replicas=1, shares=(1.0,), slowness=(math.exp(log_factor),))
            return math.log(self.worlds.run(one, requests=REFINING_REQUESTS).mean_ms("tpot_ms") / gap_ms)

        if missing(-FARTHEST) > 0.0 or missing(FARTHEST) < 0.0:
            return None
        return math.exp(float(brentq(missing, -FARTHEST, FARTHEST, xtol=SAME_SLOWNESS)))


def _clock_of(one: Device) -> str:
    clock = one.values.get("sm_clock")
    return f"at {count(clock)} MHz" if clock else ""


def _errors_of(lost: Sequence[LostReplica]) -> str:
    """ "XID 79 on its node"; "" where nothing shows why."""
    codes = sorted({code for one in lost for code in one.xids})
    if not codes:
        return ""
    where = "node" if any(one.on_node for one in lost) else "GPU"
    owner = "its" if len(lost) == 1 else "their"
    return f"XID {', '.join(map(str, codes))} on {owner} {where}{'' if len(lost) == 1 else 's'}"


def planned_share(cached_tokens: float, prompt: Floats) -> float:
    """Share of prompt tokens that a cached first part of so many tokens has."""
    cached = min(cached_tokens, float(prompt.max()) - 1.0)
    return float(np.clip(prompt - 1.0, 0.0, cached).mean() / prompt.mean())
