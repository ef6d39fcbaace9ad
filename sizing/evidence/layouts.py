"""From the GPUs and degrees of parallelism of a benchmark to instances: which layouts a row states or leaves open."""

import math
from dataclasses import dataclass, replace
from itertools import product

from sizing.catalog import Gpu, Model
from sizing.catalog.precisions import Precision
from sizing.catalog.weights import weight_bytes
from sizing.deployments.kv_transfer import supports
from sizing.question.configuration import Configuration

TUNED_TP = (1, 2, 4, 8, 16)
"""Tensor parallelism that is tried where a row leaves it open: what nodes of up to 16 GPUs divide into."""

WEIGHT_SHARE_AT_MOST = 0.8
"""Weights may fill this share of memory when the layout is not stated. Chosen: because KV cache needs the rest."""


SPREAD_OVER = (2, 4, 8, 16, 32, 48, 64)
"""Attention-DP ranks that are tried where a row leaves open how it spreads the experts: what published runs have."""

SERVER_GPUS = 8
"""GPUs of a server, which a closed loop without a stated layout uses as one instance."""

PREFILL_SIZES = 2
"""Sizes of prefill instances that are tried, from the fewest GPUs that hold the weights. Chosen: because prompts are
computed at the most tokens/s per GPU on few of them."""

MOST_SPLITS = 64
"""Numbers of prefill instances of one size that are tried at most. Chosen: because 1 / 64 more or fewer changes no
rate by more than measurements repeat."""


@dataclass(frozen=True, kw_only=True)
class Instances:
    """A number of instances of one configuration."""

    configuration: Configuration
    count: float

    @property
    def gpus(self) -> float:
        """GPUs of all of them."""
        return self.count * self.configuration.gpus


@dataclass(frozen=True, kw_only=True)
class InstanceLayout:
    """Instances that serve a run; with ``prefill`` ones beside them that compute prompts, they decode alone."""

    served_by: Instances
    prefill: Instances | None = None


def stated_layout(gpus: int, tp: int, pp: int, ep: int, dp: int, model: Model, base: Configuration) -> InstanceLayout:
    """GPUs beyond one instance are replicas; see :func:`one_instance`."""
    fewest = gpus_holding(model, base.precision, base.gpu)
    tp, ep, dp = one_instance(gpus, tp, pp, ep, dp, moe=model.is_moe, fewest=fewest)
    instance = replace(base, tp=tp, pp=pp, ep=ep, dp=dp)
    return InstanceLayout(served_by=Instances(configuration=instance, count=max(gpus / instance.gpus, 1.0)))


def gpus_holding(model: Model, precision: Precision, gpu: Gpu) -> int:
    """The fewest GPUs whose memory holds the weights alone."""
    return math.ceil(weight_bytes(model, precision) / gpu.memory_bytes)


def one_instance(gpus: int, tp: int, pp: int, ep: int, dp: int, *, moe: bool, fewest: int = 1) -> tuple[int, int, int]:
    """TP, EP and DP of one instance, from what a benchmark states; ``fewest`` GPUs hold its weights.

    DP counts ranks of one instance when experts are spread over them, else replicas. They are spread over them by a
    stated EP, and where a rank alone would be too small for the weights. A TP that already counts the DP ranks (TP x
    PP = GPUs) is divided by them: attention-DP, as ``--enable-dp-attention`` of SGLang has it, in which a model with
    experts splits them over all ranks.
    """
    if dp > 1 and tp * pp >= gpus and tp % dp == 0:
        tp //= dp
        ep = max(ep, tp * dp)
    if moe and dp > 1 and tp * pp < fewest <= tp * pp * dp:
        ep = max(ep, tp * dp)
    if not (moe and ep > 1):
        dp = 1
    return tp, min(ep, tp * dp) if moe else 1, dp


def open_layouts(
    gpus: int, pp: int, ep: int, model: Model, base: Configuration, *, tuned: bool
) -> list[InstanceLayout]:
    """Without a TP: all GPUs of one node, or every TP that fits where the submitter ``tuned`` the whole run."""
    fitting = [t for t in TUNED_TP if t * pp <= gpus and gpus % (t * pp) == 0 and model.heads % t == 0]
    room = WEIGHT_SHARE_AT_MOST * base.gpu.memory_bytes
    fitting = [t for t in fitting if weight_bytes(model, base.precision) <= room * t * pp] or fitting[-1:]
    fitting = fitting or [1]
    if not tuned:
        whole = [t for t in fitting if t * pp == gpus]
        fitting = whole or fitting[:1]
    each = [replace(base, tp=t, pp=pp, ep=min(ep, t) if model.is_moe else 1) for t in fitting]
    return [InstanceLayout(served_by=Instances(configuration=one, count=gpus / one.gpus)) for one in each]


def closed_loop_layouts(gpus: int, ep: int, model: Model, base: Configuration, *, apart: bool) -> list[InstanceLayout]:
    """Without a TP: prefill and decode instances where they are run ``apart``; all GPUs of one server as one instance;
    else either of them, or replicas of any TP."""
    split, alike = split_layouts(gpus, model, base), open_layouts(gpus, 1, ep, model, base, tuned=False)
    if split and apart:
        return split
    if not split or (gpus <= SERVER_GPUS and alike[0].served_by.count == 1):
        return alike
    return [*open_layouts(gpus, 1, ep, model, base, tuned=True), *split]


def split_layouts(gpus: int, model: Model, base: Configuration) -> list[InstanceLayout]:
    """Every split of the GPUs into prefill instances and decode instances of one kind each that leaves none over: by TP
    or, with experts, attention-DP; of many GPUs some splits, which may leave a few. None where the engine does not
    serve so."""
    if not supports(base):
        return []
    fewest = gpus_holding(model, base.precision, base.gpu)
    tensor = [replace(base, tp=t) for t in TUNED_TP if fewest <= t < gpus and model.heads % t == 0]
    ranks = [replace(base, dp=n, ep=n) for n in SPREAD_OVER if model.is_moe and fewest <= n < gpus]
    out = []
    for prefill in (*tensor[:PREFILL_SIZES], *ranks[:PREFILL_SIZES]):
        most = gpus // prefill.gpus
        counts = range(1, most + 1) if most <= MOST_SPLITS else [most * k // MOST_SPLITS for k in range(1, MOST_SPLITS)]
        for count, decode in product(counts, (*tensor, *ranks)):
            number, left = divmod(gpus - count * prefill.gpus, decode.gpus)
            if number and (not left or most > MOST_SPLITS):
                served_by = Instances(configuration=decode, count=float(number))
                out.append(
                    InstanceLayout(served_by=served_by, prefill=Instances(configuration=prefill, count=float(count)))
                )
    return out
