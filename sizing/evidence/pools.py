"""Closed loops on prefill and decode instances: what a disaggregated run measures.

B requests are always in flight. A prompt is computed by one of P prefill instances, its KV cache moves to one of D
decode instances, and a request that finds all prefill instances busy waits there, so that decode instances see no more
than these let through (mean-value analysis of two stations; Splitwise, Patel et al., ISCA 2024).
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.deployments.kv_transfer import (
    inside_bytes_per_s,
    largest_share,
    network_bytes_per_s,
    prompt_kv_bytes,
    transfer_s,
)
from sizing.evidence.point_table import AnySource, PointTable, alike, point_table, step_times
from sizing.evidence.points import Point
from sizing.evidence.protocols import FULL_SHARE, STARTING, Expected, FrontEnd, without_percentiles

LOADS = 16
"""Numbers of sequences, from one to all that are offered, at which decode steps are read. Chosen: because steps are
nearly linear between two of them."""


def of_prompts(points: Sequence[Point]) -> PointTable:
    """The prefill instances of points that have some."""
    return point_table(
        [
            replace(p, configuration=p.prefill.configuration, instances=p.prefill.count, prefill=None)
            for p in points
            if p.prefill
        ]
    )


def disaggregated_concurrency(points: PointTable, front: FrontEnd, source: AnySource) -> Expected:
    """Mean times, and rates per decode instance, columns (C, 1); ``points`` are those of the decode instances.

    rate = min(P / work, C / (T + (OSL - 1) x ITL)) with T what a prompt takes from request to first token, its transfer
    and share of the starting burst among it; n = rate x (OSL - 1) x ITL / D sequences on each decode instance, ITL =
    decode(n), at most as many as memory holds. TTFT = C / rate - (OSL - 1) x ITL: who does not decode waits.
    """
    prompts, decoding = of_prompts(points.points), np.minimum(points.concurrency, points.fits)
    instances, others = points.instances, prompts.instances
    offered = np.array([[max(p.concurrency, 1.0)] for p in points.points])
    alone = step_times(prompts, np.ones_like(offered), source)
    sizes = np.geomspace(1.0, np.maximum(decoding[:, 0], 1.0), LOADS, axis=1)
    decode_s = step_times(points, sizes, source).decode_s
    work = alone.work_s(np.ones_like(offered), prompts.lengths.held)
    queued = STARTING * (offered - 1.0)
    own = front.taken_s(prompts.lengths) + alone.prefill_s[:, None] + _moved_s(points)
    own = own + queued * work / others
    answering = points.lengths.gaps * decode_s
    rate = np.minimum(others / work, offered / (own + answering))
    n = _balanced(sizes, rate * answering / instances)
    itl = np.array([[np.interp(each, x, y)] for each, x, y in zip(n, sizes, decode_s, strict=True)])
    answering = points.lengths.gaps * itl
    rate = np.minimum(np.minimum(others / work, offered / (own + answering)), decoding * instances / answering)
    ttft = offered / rate - answering
    return without_percentiles(ttft, itl, ttft + answering, FULL_SHARE * rate / instances)


def _balanced(sizes: Floats, supplied: Floats) -> Floats:
    """Sequences (C,) on an instance at which as many are supplied as decode; ``supplied`` (C, K) grows slower than
    ``sizes``."""
    spare = np.minimum.accumulate(supplied - sizes, axis=1)
    return np.array([np.interp(0.0, -x, y) for x, y in zip(spare, sizes, strict=True)])


def _moved_s(points: PointTable) -> Floats:
    """What moving the KV cache of a prompt takes, (C, 1): over the link within one domain, else over the network."""
    moved = np.zeros((len(points), 1))
    for index in alike([(p.model.id, p.input_tokens) for p in points.points]):
        first, some = points.points[index[0]], points.candidates.take(index)
        cached = prompt_kv_bytes(first.model, some, first.input_tokens)
        links = np.array([_link(points.points[i]) for i in index])
        moved[index, 0] = transfer_s(cached, largest_share(first.model, some), links)
    return moved


def _link(point: Point) -> float:
    """Bytes/s of a GPU between the instances of a point."""
    gpu = point.configuration.gpu
    return inside_bytes_per_s(gpu) if point.gpus <= gpu.domain_gpus else network_bytes_per_s(gpu)
