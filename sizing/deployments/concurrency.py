"""How many sequences run at once where the KV cache limits them, and what evictions make an engine compute again.

The cache of an engine that evicts is full of what its sequences have now, not of what they will have; one that never
evicts keeps room for whole answers. Bytes are per GPU, arrays have one entry per candidate (C,).
"""

from dataclasses import dataclass, fields

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.deployments.memory import MemoryFit, kv_of_sequence, memory_fit
from sizing.question.traffic import Traffic
from sizing.reuse.in_flight import InCommon

NEARLY_CACHED = 0.9
"""Sequences at once, as a share of those that the KV cache holds in the mean, up to which next to nothing is evicted.
From simulations of 10 to 150 whole sequences, prompts of 200 to 4,000 tokens and a limit on the sequences at once: at
0.9 of the cache 0 to 6 % of an answer is computed again where answers vary, at 1.05 40 to 75 %."""


@dataclass(frozen=True, kw_only=True)
class RunningFit(MemoryFit):
    """Memory per GPU, and the sequences that one instance runs at once (``max_concurrency``).

    ``held_per_sequence``: KV cache of one in flight, mean over its life, beside what they hold ``together``;
    ``cached``: how many of them the KV cache of the instance holds; ``evictions``: of each request, while more wait
    than it holds. All (C,).
    """

    held_per_sequence: Floats
    together: Floats
    cached: Floats
    evictions: Floats

    @property
    def recomputed(self) -> Floats:
        """Prompts that each request computes again when all places are taken, (C,)."""
        return self.evictions * evicted_share(self.max_concurrency, self.cached)


def evicted_share(at_once: Floats, cached: Floats) -> Floats:
    """Part of the evictions of a full KV cache with ``at_once`` sequences in one that holds ``cached``: none where a
    limit on the sequences keeps it from being full (:data:`NEARLY_CACHED`), all when it is, and linear between."""
    taken = at_once / np.maximum(cached, 1.0)
    return np.asarray(np.clip((taken - NEARLY_CACHED) / (1.0 - NEARLY_CACHED), 0.0, 1.0))


def running_fit(model: Model, candidates: Candidates, traffic: Traffic) -> RunningFit:
    """Memory of every candidate with the sequences that it runs at once; none where not one of full length fits.

    What prompts have in common is held once on each rank, and by no sequence.
    """
    memory = memory_fit(model, candidates, traffic.resident_kv_tokens)
    common = common_bytes(model, candidates, traffic)
    held = held_bytes(model, candidates, traffic, memory.kv_per_sequence) - common
    room, whole = memory.kv_available - memory.kv_in_flight, memory.kv_per_sequence - common
    together = together_bytes(traffic.in_common, common, room, held, whole)
    of_rank = sequences_at_once(room - together, held, whole)
    cached = of_rank * candidates.dp
    scheduled = candidates.column(lambda r: r.engine.sequences(r.gpu)) * candidates.dp
    known = {f.name: getattr(memory, f.name) for f in fields(MemoryFit)}
    return RunningFit(
        **known | {"max_concurrency": np.minimum(cached, scheduled)},
        held_per_sequence=held,
        together=together,
        cached=cached,
        evictions=evictions(candidates, traffic, of_rank),
    )


def common_bytes(model: Model, candidates: Candidates, traffic: Traffic) -> Floats:
    """KV cache per GPU of what one prompt has in common with others, (C,): what so many tokens more than a prompt would
    take, so that of windows that a prompt fills already nothing counts."""
    if traffic.in_common.tokens <= 0.0:
        return np.zeros(len(candidates))
    longer = kv_of_sequence(model, candidates, traffic.input_tokens + traffic.in_common.tokens)
    return longer - kv_of_sequence(model, candidates, traffic.input_tokens)


def together_bytes(common: InCommon, of_one: Floats, room: Floats, held: Floats, whole: Floats) -> Floats:
    """KV cache per GPU of what those have in common that fill ``room`` bytes, (C,), ``of_one`` what one has.

    The more run, the more different beginnings there are, and the less room is left: their number is where both agree,
    found by halving.
    """
    a_token = of_one / max(common.tokens, 1.0)
    fewest, most = (sequences_at_once(room - a_token * common.held[end], held, whole) for end in (-1, 0))
    while (most - fewest > 1.0).any():
        middle = (fewest + most) / 2.0
        fit = sequences_at_once(room - a_token * common.held_by(middle), held, whole) >= middle
        fewest, most = np.where(fit, middle, fewest), np.where(fit, most, middle)
    return np.asarray(a_token * common.held_by(fewest))


def held_bytes(model: Model, candidates: Candidates, traffic: Traffic, whole: Floats) -> Floats:
    """KV cache per GPU that a sequence in flight takes, in the mean over its life; ``whole``: at its full length.

    bytes(p) + share x (bytes(w) - bytes(p)), p its prompt, w its full length, share the part of its answer that it has
    in the mean or that is kept free for it (:attr:`sizing.catalog.engines.Engine.answer_held`). Between a prompt and
    the full length the bytes are taken to lie on a line, as in the simulation. Every token of an answer is generated
    once, evicted or not, so that the mean over decode steps is that of lengths spread evenly from p to w.
    """
    share = candidates.column(lambda r: r.engine.answer_held)
    if not (share < 1.0).any():
        return whole
    prompt = kv_of_sequence(model, candidates, traffic.input_tokens)
    return np.where(share < 1.0, prompt + share * (whole - prompt), whole)


def sequences_at_once(available: Floats, held: Floats, whole: Floats) -> Floats:
    """Sequences of ``held`` bytes in the mean in ``available`` bytes: floor((available - whole / 2) / held + 1 / 2).

    The next of them is admitted when there is room for it: so half of a sequence of full length stays free in the mean.
    The same as floor(available / whole) where whole sequences are reserved. 0 where not one of full length fits.
    """
    full = np.maximum(whole, 1.0)
    at_once = np.floor((available - full / 2.0) / np.maximum(held, 1.0) + 0.5)
    return np.where(available >= full, np.maximum(at_once, 1.0), 0.0)


def evictions(candidates: Candidates, traffic: Traffic, at_once: Floats) -> Floats:
    """How often each request is evicted while more wait than the KV cache holds: max(OSL - N, 0) / ISL, with N
    ``at_once`` in the KV cache of a rank, ISL the part of a prompt that others do not hold, too.

    An engine that admits a request once its prompt fits fills all room with prompts; then a token that is generated
    needs room that an eviction makes, the newest sequence going first, which has little more than its prompt. OSL
    tokens are generated from one end of an answer to the next, which lets prompts in; those of the next step, one of
    each sequence, have room by then. 0 where room is kept for answers to come: with evenly spread
    lengths as many tokens are freed as are generated. Validity: against the simulator, ``docs/LOAD_MODEL.md``.
    """
    greedy = candidates.column(lambda r: float(r.engine.evicts and r.engine.promises.of_new == 0.0))
    own = max(traffic.input_tokens - traffic.in_common.tokens, 1.0)
    return greedy * np.maximum(traffic.output_tokens - at_once, 0.0) / own
