"""A configuration as a replica of the simulator: engine defaults, the KV cache that memory leaves, step times."""

from __future__ import annotations

import math

from sizing.catalog.model import Model
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Configuration
from sizing.simulator.fleet import Replica
from sizing.simulator.step_grid import roofline_grid
from sizing.steps.roofline import Roofline, roofline


def configured_replica(model: Model, row: Configuration, tokens: float, *, source: Roofline | None = None) -> Replica:
    """A configuration as a replica, for sequences of ``tokens`` tokens in the mean, prompt and answer.

    KV tokens = sequences of mean length that fit x their tokens in whole blocks, which is exact for full attention.
    Pipeline stages and attention-DP ranks take a token budget each; DP ranks a full set of sequences each. Step times
    are those of ``source``, the committed roofline unless given.
    """
    speculation, engine = row.speculation, row.engine
    fit = (source or roofline()).fit
    memory = memory_fit(model, table([row]), tokens)
    block = float(engine.block_tokens)
    held = math.ceil(tokens / block) * block
    per_rank = float(memory.kv_available[0] / max(float(memory.kv_per_sequence[0]), 1.0))
    sequences = min(engine.sequences(row.gpu) * row.dp, row.batch_limit or engine.sequences(row.gpu) * row.dp)
    return Replica(
        grid=roofline_grid(model, row, sequences, source=source),
        max_sequences=sequences,
        token_budget=max(float(engine.budget(row.gpu) * row.pp * row.dp), sequences * speculation.rows_per_sequence),
        kv_tokens=max(per_rank * held * row.dp, block),
        block_tokens=block,
        speculation=speculation,
        reserve_output=not engine.evicts,
        request_s=fit.overhead(engine.surrogate).request_s,
        prompt_token_s=fit.common.prompt_token_s,
    )
