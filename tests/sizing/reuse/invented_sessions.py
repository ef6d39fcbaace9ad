"""Sessions with random gaps as the requests of a trace, to be replayed block by block."""

import heapq

import numpy as np

from sizing.reuse.block_trace import BlockTrace
from sizing.reuse.sessions import SessionShape

BLOCK = 128


def as_trace(shape: SessionShape, sessions_per_s: float, seconds: float) -> BlockTrace:
    """Requests of Poisson sessions of one shape over so many seconds."""
    rng = np.random.default_rng(1)
    begins = np.cumsum(rng.exponential(1.0 / sessions_per_s, int(seconds * sessions_per_s)))
    waiting = [(float(at), number, 1) for number, at in enumerate(begins)]
    heapq.heapify(waiting)
    prompts, hashes = [], []
    while waiting:
        at, number, turn = heapq.heappop(waiting)
        prompt = float(shape.prompt(np.array([float(turn)]))[0])
        shared, blocks = int(shape.shared // BLOCK), int(prompt // BLOCK)
        hashes.append([b if b < shared else (number, b) for b in range(blocks)])
        prompts.append(prompt)
        if turn < shape.turns:
            gap = sum(float(rng.exponential(mean)) for mean in (shape.think_s, shape.tool_s) if mean)
            heapq.heappush(waiting, (at + gap, number, turn + 1))
    return BlockTrace.of(prompts, hashes, BLOCK)
