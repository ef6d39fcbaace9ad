"""Compiled: LRU stack distances of the blocks of prompts, from which one pass gives the hits of every cache size.

A cache of C blocks that evicts the least recently used one holds a block exactly when at most C different blocks were
touched since and with it. Source: Mattson, Gecsei, Slutz, Traiger, "Evaluation techniques for storage hierarchies"
(IBM Systems Journal, 1970); counted with a binary indexed tree (Fenwick, 1994).
"""

import numpy as np

from sizing.base.arrays import Counts
from sizing.base.compiled import compiled_entry

NEVER = np.iinfo(np.int64).max
"""Distance of a block that no earlier prompt had at its place, or that follows one which none had."""


@compiled_entry
def _measure(blocks: Counts, starts: Counts, last: Counts, tree: Counts, distances: Counts) -> None:
    """Fill ``distances``; ``last`` (different blocks,) and ``tree`` (touches + 1,) are scratch, zero at the start.

    All blocks of a prompt are looked up before any is touched. They are touched from the last to the first, so that the
    end of a prompt is evicted before its beginning, as engines free them (vLLM, KVCacheManager.free).
    """
    size, touched, held = len(tree) - 1, 0, 0
    for request in range(len(starts) - 1):
        begin, end = starts[request], starts[request + 1]
        farthest = 0
        for place in range(begin, end):
            at = last[blocks[place]]
            if at == 0 or farthest == NEVER:
                farthest = NEVER
            else:  # blocks whose last touch is not before that of this one
                older, i = 0, at - 1
                while i > 0:
                    older += tree[i]
                    i -= i & -i
                farthest = max(farthest, held - older)
            distances[place] = farthest
        for place in range(end - 1, begin - 1, -1):
            block = blocks[place]
            i = last[block]
            if i > 0:
                held -= 1
            while 0 < i <= size:
                tree[i] -= 1
                i += i & -i
            touched += 1
            last[block] = i = touched
            held += 1
            while i <= size:
                tree[i] += 1
                i += i & -i


def stack_distances(blocks: Counts, starts: Counts) -> Counts:
    """Blocks that a cache must hold so that each block of each prompt is found with all before it, shape (N,).

    ``blocks`` (N,): numbers from 0, of one prompt after the other; ``starts`` (R + 1,): where each begins, and the
    end. :data:`NEVER` where no cache would have it.
    """
    distances = np.empty(len(blocks), dtype=np.int64)
    different = int(blocks.max(initial=-1)) + 1
    _measure(
        np.ascontiguousarray(blocks, dtype=np.int64),
        np.ascontiguousarray(starts, dtype=np.int64),
        np.zeros(different, dtype=np.int64),
        np.zeros(len(blocks) + 1, dtype=np.int64),
        distances,
    )
    return distances
