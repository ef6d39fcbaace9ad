"""A configuration as a replica of the simulator: engine defaults, the KV cache that memory leaves, step times."""

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sizing.catalog.model import Model
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Configuration
from sizing.question.traffic import Traffic
from sizing.simulator.fleet import Replica
from sizing.simulator.step_grid import StepGrid, roofline_grid
from sizing.steps.extras import Extras, extras_of
from sizing.steps.roofline import Roofline, roofline

SMALLEST_SLOPE = 1e-6
"""Bytes that a token adds, over the mean of a sequence's, at least. Chosen: where nothing grows (windows that are full,
recurrent state alone) tokens still have to be counted, and so few change nothing."""

KEPT_CACHES = 128
"""KV caches in tokens that are kept in memory: those of the configurations that some plans simulate."""


class KvTokens(NamedTuple):
    """A KV cache in tokens: all of it, what a sequence holds of it whatever its length, and the bytes that a token adds
    on each GPU."""

    capacity: float
    of_sequence: float
    token_bytes: float


def configured_replica(
    model: Model, row: Configuration, traffic: Traffic, *, source: Roofline | None = None
) -> Replica:
    """A configuration as a replica, for requests of the mean lengths of ``traffic``.

    What they have in common is in the KV cache of each rank once, as much as those have that fill it.

    Pipeline stages and attention-DP ranks take a token budget each; DP ranks a full set of sequences each. Step times
    are those of ``source``, the committed roofline unless given.
    """
    speculation, engine = row.speculation, row.engine
    source = source or roofline()
    fit = source.fit
    kv, common = kv_tokens(model, row, traffic), traffic.in_common
    own = traffic.input_tokens + engine.answer_held * traffic.output_tokens + kv.of_sequence - common.tokens
    once = common.held_of(common.requests_in(kv.capacity / row.dp, own)) * row.dp
    sequences = min(engine.sequences(row.gpu) * row.dp, row.batch_limit or engine.sequences(row.gpu) * row.dp)
    extras = extras_of(model, table([row]), traffic)
    grid = roofline_grid(model, row, sequences, source=source)
    return Replica(
        grid=grid if extras is None else with_extras_of_row(grid, extras, traffic.new_tokens),
        max_sequences=sequences,
        token_budget=max(float(engine.budget(row.gpu) * row.pp * row.dp), sequences * speculation.rows_per_sequence),
        kv_tokens=max(kv.capacity - once, float(engine.block_tokens)),
        sequence_tokens=kv.of_sequence - common.tokens,
        block_tokens=float(engine.block_tokens),
        speculation=speculation,
        reserve_output=not engine.evicts,
        promises=engine.promises,
        prompts_apart=engine.memory.prompts_apart,
        request_s=fit.overhead(engine.surrogate).request_s + (0.0 if extras is None else float(extras.wait_s[0])),
        prompt_token_s=fit.common.prompt_token_s,
        first_token_steps=source.first_token_steps(engine, model),
    )


def with_extras_of_row(grid: StepGrid, extras: Extras, new_tokens: float) -> StepGrid:
    """The grid of a row with what its requests take beside their tokens: longer steps, and engine time that is spread
    over the tokens of a mean prompt."""
    slower = float(extras.slower[0])
    longer = grid if slower == 1.0 else grid.stretched(slower, slower)
    return replace(longer, token_s=longer.token_s + float(extras.work_s[0]) / max(new_tokens, 1.0))


@lru_cache(maxsize=KEPT_CACHES)
def kv_tokens(model: Model, row: Configuration, traffic: Traffic) -> KvTokens:
    """The KV cache of a configuration in tokens of a sequence that grows from its prompt to its full length.

    bytes(n) = bytes(p) + (n - p) x slope, the line through the memory of a prompt and of a whole sequence in flight, p
    and w tokens in whole blocks: exact for full attention, and at both ends for windows and recurrent state. So there
    are KV available / slope tokens, less what windows keep of prompts in flight, and a sequence has bytes(p) / slope -
    p beside its own.
    """
    block = float(row.engine.block_tokens)
    prompt = math.ceil(traffic.input_tokens / block) * block
    whole = max(math.ceil(traffic.resident_kv_tokens / block) * block, prompt + block)
    fit = memory_fit(model, table([row, row]), np.array([prompt, whole], dtype=np.float64))
    at_prompt, at_end = fit.kv_per_sequence.tolist()
    slope = max((at_end - at_prompt) / (whole - prompt), SMALLEST_SLOPE * max(at_end, 1.0) / whole)
    available = float(fit.kv_available[1] - fit.kv_in_flight[1])
    capacity = max(available / slope * row.dp, block)
    return KvTokens(capacity=capacity, of_sequence=max(at_prompt / slope - prompt, 0.0), token_bytes=slope)
