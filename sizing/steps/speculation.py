"""Speculative decoding: a small model guesses several tokens, one step of the large one checks them all."""

from dataclasses import replace

import numpy as np

from sizing.base.arrays import Floats
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.question.speculation import Speculation
from sizing.steps.attention import decode_attention_s
from sizing.steps.hardware import hardware
from sizing.steps.rates import Rates, rates
from sizing.steps.roofline import activations_s, communication_s, head_s, matrices_s, roofline
from sizing.steps.shape import Number, Shape, shape_of
from sizing.steps.times import StepTimes


def rows_s(shape: Shape, speed: Rates, rows: Floats, fullest: float | Floats = 1.0) -> Floats:
    """Matrices of layers, collectives and activations of one pass over ``rows`` rows, what grows with them in a step,
    in s; without the output head, which prompts have but a row of.

    ``fullest``: rows of the fullest attention-DP rank over those of an even one.
    """
    at = np.maximum(rows, 1.0)
    own = at * fullest
    moved = communication_s(shape, speed, own) + activations_s(shape, speed, own)
    return np.asarray(speed.scale * (matrices_s(shape, speed, at, own) + moved))


def own_rows_s(shape: Shape, speed: Rates, rows: Floats) -> Floats:
    """The part of :func:`rows_s` that each attention-DP rank does for its own rows: all but the routed experts."""
    own = np.maximum(rows, 1.0)
    dense = matrices_s(shape, speed, np.zeros_like(own), own)
    return np.asarray(speed.scale * (dense + communication_s(shape, speed, own) + activations_s(shape, speed, own)))


def verification_s(shape: Shape, speed: Rates, sequences: Floats, speculation: Speculation, context: Number) -> Floats:
    """What verifying drafts adds to a decode step of so many sequences at a mean ``context``, in s.

    rows(b (k + 1)) - rows(b) + b (attention(k + 1) - attention(1)) with b = B / PP: the queries of a sequence share the
    KV cache that is read, and each computes its scores.
    """
    each, queries = sequences / speed.pp, speculation.rows_per_sequence
    scores = decode_attention_s(shape, speed, context, queries) - decode_attention_s(shape, speed, context)
    more, own = np.maximum(each * queries, 1.0), np.maximum(each, 1.0)
    heads = speed.scale * (head_s(shape, speed, more) - head_s(shape, speed, own))
    rows = rows_s(shape, speed, more) - rows_s(shape, speed, own) + heads
    return np.asarray(rows + speed.scale * scores * np.maximum(each, 1.0))


def speculated(
    times: StepTimes, model: Model, candidates: Candidates, concurrency: Floats, context: float
) -> StepTimes:
    """Step times with the drafts of each candidate; its step then emits several tokens
    (``StepTimes.tokens_per_step``). ``context``: tokens that a sequence attends to in the mean.

    Whatever the source of the decode step is, the rows of the drafts are those of the roofline.
    """
    drafting = np.flatnonzero(candidates.draft_tokens)
    if not len(drafting):
        return times
    each = [candidates.rows[i].speculation for i in drafting]
    number = np.array([id(kind) for kind in each])  # few objects: comparing what they hold takes longer than all else
    decode_s, tokens = times.decode_s.copy(), np.ones(len(candidates))
    for kind in {id(kind): kind for kind in each}.values():
        index = drafting[number == id(kind)]
        at = concurrency[index]
        decode_s[index] = kind.step_s(decode_s[index], _more_s(model, candidates.take(index), at, kind, context))
        tokens[index] = kind.tokens_per_step
    return replace(times, decode_s=decode_s, tokens_per_step=tokens)


def _more_s(
    model: Model, candidates: Candidates, concurrency: Floats, speculation: Speculation, context: float
) -> Floats:
    """What verifying drafts adds to the decode steps of candidates, by the roofline."""
    source = roofline()
    speed = rates(candidates, hardware(candidates), source.fit, source.software_year)
    return verification_s(shape_of(model), speed, concurrency, speculation, context)
