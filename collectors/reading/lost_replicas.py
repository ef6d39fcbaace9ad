"""Replicas that report no more: which targets of a deployment are down, and what became of those before the window."""

from collections.abc import Sequence
from dataclasses import dataclass

from collectors.backends.backend import Vectors
from collectors.prometheus.promql import duration, matchers
from collectors.queries.query import GROUPED, Group, Query, Subject, of_source
from collectors.queries.ttl import FIRST
from collectors.reading.gpu_join import FLEET_GPUS, GpuJoin
from collectors.reading.gpu_values import FORMER_XIDS, per_device, places_of
from collectors.reading.layout import LOOK_BACK_S, ReplicaLayout, replica_name
from collectors.reading.remarks import Ago, Names, Remark, RemarkKind, remark
from collectors.reading.topology import Topology
from collectors.vocabulary.expressions import Scope

DOWN = Subject("down", group=Group.SOURCE)
ANSWERING = Subject("answering", group=Group.SOURCE)


def former_queries(topology: Topology) -> list[Query]:
    """The XID errors of GPUs that replicas had which report no more, where there are such."""
    expression = former_xids(topology.gpus, window_s=topology.scope.window_s)
    if expression is None or topology.gpus.devices > FLEET_GPUS:
        return []
    return [Query(expression=expression, subject=FORMER_XIDS, unit="code", weight=GROUPED, ttl=FIRST)]


def former_xids(gpus: GpuJoin, *, window_s: float) -> str | None:
    """The XID errors of GPUs that replicas had which report no more: a pod that is gone no longer labels its GPU."""
    vocabulary = gpus.vocabulary
    concept = vocabulary.concepts.get("xid") if vocabulary else None
    if vocabulary is None or concept is None or not gpus.former:
        return None
    own = ", ".join(vocabulary.device_labels)
    had = f"last_over_time({gpus.sign}{{{matchers(gpus.former)}}}[{duration(LOOK_BACK_S)}])"
    everywhere = Scope(window_s=window_s, spelling=gpus.spelling)
    device = f"max by ({', '.join(places_of(vocabulary))}) ({per_device(concept.use[0], everywhere)})"
    return f"({device} > 0) and on ({own}) max by ({own}) ({had})"


def target_queries(layout: ReplicaLayout) -> list[Query]:
    """Which targets of the jobs of the deployment are down, and how many answer."""
    replicas = (*layout.known, *(labels for labels, _ in layout.past))
    jobs = sorted({labels["job"] for labels in replicas if labels.get("job")})
    if not jobs:
        return []
    up = f"up{{{matchers({'job': jobs})}}}"
    answering = f"count by (job) ({up} == 1)"
    return [of_source(DOWN.quantity, f"{up} == 0"), of_source(ANSWERING.quantity, answering, weight=GROUPED, ttl=FIRST)]


def _down(answer: Vectors, layout: ReplicaLayout, *, dedicated: bool) -> list[str]:
    """Targets that are down and surely of this deployment: those that reported for it within the last hour, and those
    of jobs in which everything that answers is of it."""
    own: dict[str, set[str]] = {}
    for labels in layout.live:
        own.setdefault(labels.get("job", ""), set()).add(labels.get("instance", ""))
    answering = {s.labels.get("job", ""): s.value for s in answer.of(ANSWERING)}
    sure = {job for job, instances in own.items() if dedicated or answering.get(job, 0) <= len(instances)}
    mine = {(labels.get("job", ""), labels.get("instance", "")) for labels in layout.lost_labels}
    down = [(s.labels.get("job", ""), s.labels.get("instance", "")) for s in answer.of(DOWN)]
    return sorted({target for job, target in down if job in sure or (job, target) in mine})


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Replicas of the last hour that report no more, beyond those that stopped within the window.

    ``dead`` are surely lost; ``fewer`` may have been scaled down; ``down`` are further targets of the deployment that
    do not answer.
    """

    dead: Remark | None = None
    fewer: Remark | None = None
    down: tuple[str, ...] = ()


def lost_replicas(answer: Vectors, layout: ReplicaLayout, *, at_s: float, dedicated: bool) -> Lost:
    """What became of replicas that stopped before the window.

    A target that is down, or an XID error on what was its GPU, says that one is lost.
    """
    down = _down(answer, layout, dedicated=dedicated)
    targets = {replica_name(labels): labels.get("instance", "") for labels in layout.lost_labels}
    dead = [name for name in layout.gone if targets.get(name) in down or answer.of(FORMER_XIDS)]
    rest = [name for name in layout.gone if name not in dead]
    live = layout.replicas + len(layout.lost)
    fewer = bool(rest) and layout.most is not None and live + len(dead) < layout.most
    codes = sorted({f"{one.value:g}" for one in answer.of(FORMER_XIDS)})
    xids = f", and what was its GPU shows XID {', '.join(codes)}" if codes else ""
    return Lost(
        dead=remark(RemarkKind.REPLICAS_DOWN, **_since(dead, layout, at_s), xids=xids) if dead else None,
        fewer=remark(RemarkKind.REPLICAS_FEWER, **_since(rest, layout, at_s), live=live, most=layout.most)
        if fewer
        else None,
        down=tuple(name for name in down if name not in {targets.get(one) for one in dead}),
    )


def _since(names: Sequence[str], layout: ReplicaLayout, at_s: float) -> dict[str, object]:
    """Which replicas, and how long ago the last of them reported."""
    ago = Ago(at_s - max(layout.gone[name] for name in names))
    return {"replicas": Names(names, most=3, counted=True), "ago": ago}
