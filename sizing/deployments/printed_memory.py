"""What an engine prints when it starts: its pool for keys and values, the tokens and the sequences that it holds."""

from dataclasses import dataclass

import numpy as np

from sizing.base.arrays import Columns, Floats
from sizing.catalog.model import Model
from sizing.deployments.candidates import Candidates
from sizing.deployments.kv_cache import in_flight_tokens, tokens_by_blocks
from sizing.deployments.memory import kv_of_sequence, memory_fit


@dataclass(frozen=True, kw_only=True)
class Printed(Columns):
    """Of each candidate, (C,): bytes of the pool of keys and values on a GPU, less than nothing where weights and steps
    exceed the memory; the tokens of that pool and its sequences of the whole context, of each data-parallel rank.
    """

    kv_pool: Floats
    kv_tokens: Floats
    max_concurrency: Floats


def printed(model: Model, candidates: Candidates, context: float) -> Printed:
    """The lines of a start with that context in tokens.

    vLLM counts sequences of the whole context, each with the tokens of all steps in flight that layers with a window
    keep, and prints as many contexts of tokens; before 0.21 it printed its blocks over the groups of layers. SGLang
    prints the tokens of its pool of keys and values, beside which recurrent states have one of their own.
    """
    fit = memory_fit(model, candidates, context)
    pool = fit.usable - fit.weights - fit.activations - fit.overhead
    whole = kv_of_sequence(model, candidates, context, in_flight_tokens(candidates))
    held = np.maximum(pool, 0.0) / np.maximum(whole, 1.0)
    by_contexts = candidates.column(
        lambda r: float(r.engine.memory.fraction_of == "whole" and not r.engine.memory.tokens_by_blocks)
    )
    own = candidates.column(lambda r: r.engine.memory.state_pool or 0.0)
    keys = pool / (1.0 + own) if model.linear_layers and model.full_layers else pool
    blocks = tokens_by_blocks(model, candidates, np.maximum(keys, 0.0))
    tokens = np.where(by_contexts > 0, held * context, blocks)
    return Printed(kv_pool=keys, kv_tokens=np.floor(tokens), max_concurrency=held)
