"""Replicas that reported within a day and do no more: since when, and which XID error what was their GPU shows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.prometheus.answers import Labels
from collectors.prometheus.promql import duration, matchers
from collectors.queries.query import GROUPED, of_source
from collectors.questions.asking import Asking
from collectors.reading.gpu_join import former_of, places_of_replica
from collectors.reading.gpu_values import per_device
from collectors.reading.layout import replica_name
from collectors.reading.topology import presence
from collectors.units import S_PER_DAY
from collectors.vocabulary.expressions import Scope

LOOK_BACK_S, STEP_S = S_PER_DAY, 300.0
"""How far back replicas that are gone are looked for, and how exactly it is known when they went."""


@dataclass(frozen=True, kw_only=True)
class LostReplica:
    """A replica that is gone: the moment of its last sample, and codes of XID errors on its GPUs (``on_node``: on any
    GPU of its node, as nothing says which was its own)."""

    name: str
    since_s: float
    xids: tuple[int, ...] = ()
    on_node: bool = False


def lost_replicas(asking: Asking) -> tuple[LostReplica, ...]:
    """Replicas that had data within a day and have none now, the last to go first."""
    series = presence(asking.topology.choices, asking.scope)
    if series is None or not asking.by:
        return ()
    seen = f"max_over_time(timestamp({series})[{duration(LOOK_BACK_S)}:{duration(STEP_S)}])"
    query = of_source("d_seen", f"max by ({', '.join(asking.by)}) ({seen})", weight=GROUPED)
    live = {replica_name(labels) for labels in asking.topology.layout.live}
    gone = [(labels, at_s) for labels, at_s in asking.vectors([query])["d_seen"] if replica_name(labels) not in live]
    if not gone:
        return ()
    codes, on_node = _xids(asking, [labels for labels, _ in gone])
    return tuple(
        LostReplica(
            name=replica_name(labels),
            since_s=at_s,
            xids=tuple(sorted({code for place in places_of_replica(labels) for code in codes.get(place, ())})),
            on_node=on_node,
        )
        for labels, at_s in sorted(gone, key=lambda one: -one[1])
    )


def _xids(asking: Asking, gone: Sequence[Labels]) -> tuple[Mapping[str, set[int]], bool]:
    """The codes by pod or host of the GPUs that replicas had, and whether it is by host."""
    gpus = asking.topology.gpus
    vocabulary = gpus.vocabulary
    concept = vocabulary.concepts.get("xid") if vocabulary else None
    former = None if vocabulary is None else former_of(gpus, vocabulary, gone)
    if vocabulary is None or concept is None or former is None:
        return {}, False
    label, own = next(iter(former)), ", ".join(vocabulary.device_labels)
    everywhere = Scope(window_s=asking.scope.window_s, spelling=gpus.spelling)
    had = f"max by ({own}, {label}) (last_over_time({gpus.sign}{{{matchers(former)}}}[{duration(LOOK_BACK_S)}]))"
    shown = f"max by ({own}) ({per_device(concept.use[0], everywhere)}) > 0"
    queries = [of_source("d_had", had, weight=GROUPED), of_source("d_xid", shown, weight=GROUPED)]
    answers = asking.vectors(queries)

    def device(labels: Labels) -> tuple[str, ...]:
        return tuple(labels.get(name, "") for name in vocabulary.device_labels)

    shown_by = {device(labels): int(code) for labels, code in answers["d_xid"]}
    codes: dict[str, set[int]] = {}
    for labels, _ in answers["d_had"]:
        if (code := shown_by.get(device(labels))) is not None:
            codes.setdefault(labels.get(label, ""), set()).add(code)
    return codes, label in vocabulary.host_labels
