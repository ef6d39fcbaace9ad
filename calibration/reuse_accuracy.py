"""Hit rates of the model of reuse beside a replay that keeps every cache block by block, as docs/accuracy/reuse.csv.

``python -m calibration.reuse_accuracy TRACE`` reads the Mooncake conversation trace (Apache-2.0; FAST25 release), also
as lines ``[time, input, output, session, [blocks]]``.
"""

import csv
import gzip
import json
import sys
from collections import OrderedDict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sizing.base.arrays import Counts
from sizing.base.choices import CacheRouting
from sizing.reuse.block_trace import SEED, BlockTrace, hit_curve

TABLE = Path(__file__).parent.parent / "docs" / "accuracy" / "reuse.csv"
BLOCK_TOKENS = 512
CAPACITIES = tuple(BLOCK_TOKENS * blocks for blocks in (1_000, 4_000, 16_000, 64_000))
REPLICAS = (1, 4, 8)
FEWEST_FOLLOWED = 2
"""Blocks that a replica must hold of a prompt to be followed: the first is everybody's."""


def replayed(
    trace: BlockTrace,
    replicas: int,
    routing: CacheRouting,
    capacity_tokens: float,
    followed_from: int = FEWEST_FOLLOWED,
) -> float:
    """Share of prompt tokens found when each replica keeps an LRU list of blocks, decided request by request.

    Prefix-aware with a look at the load: the replica that holds the most leading blocks, at least
    ``followed_from``, of several the one with the fewest tokens so far; else that of all.
    """
    room = int(capacity_tokens / replicas // trace.block_tokens)
    caches = [OrderedDict[int, None]() for _ in range(replicas)]
    carried, hits = np.zeros(replicas), 0.0
    assigned = _assigned(trace, replicas, routing)
    for request, prompt in enumerate(trace.prompts.tolist()):
        blocks = trace.blocks[trace.starts[request] : trace.starts[request + 1]].tolist()
        held = [_leading(cache, blocks) for cache in caches] if assigned is None else []
        followed = max(held, default=0) >= followed_from
        able = [r for r in range(replicas) if not followed or held[r] == max(held)]
        chosen = min(able, key=lambda r: carried[r]) if assigned is None else int(assigned[request])
        cache = caches[chosen]
        hits += min(_leading(cache, blocks) * trace.block_tokens, prompt)
        carried[chosen] += prompt
        for block in reversed(blocks):
            cache.pop(block, None)
            cache[block] = None
        while len(cache) > room:
            cache.popitem(last=False)
    return hits / float(trace.prompts.sum())


def _leading(cache: OrderedDict[int, None], blocks: list[int]) -> int:
    return next((place for place, block in enumerate(blocks) if block not in cache), len(blocks))


def _assigned(trace: BlockTrace, replicas: int, routing: CacheRouting) -> Counts | None:
    """The replica of each request by a generator of its own; None where the caches decide."""
    if routing == "prefix_aware":
        return None
    draws = np.random.default_rng(SEED + 1).integers(0, replicas, len(trace))
    return draws if routing == "random" else draws[trace.sessions]


def compared(trace: BlockTrace) -> Iterator[dict[str, Any]]:
    """A row for each routing, number of replicas and capacity: hits in percent by the model and by the replay."""
    routings: tuple[CacheRouting, ...] = ("random", "session_affinity", "prefix_aware")
    for routing in routings:
        for replicas in REPLICAS:
            curve = hit_curve(trace, replicas, routing)
            for capacity in CAPACITIES:
                model, replay = float(curve.at(capacity)), replayed(trace, replicas, routing, capacity)
                yield {
                    "routing": routing,
                    "replicas": replicas,
                    "capacity_tokens": capacity,
                    "model_percent": round(100.0 * model, 2),
                    "replay_percent": round(100.0 * replay, 2),
                }


def read(path: Path) -> BlockTrace:
    """The trace in a file of JSON lines, compressed or not: Mooncake's own keys, or lists."""
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    rows = [json.loads(line) for line in text.splitlines()]
    pairs = [(r[1], r[4]) if isinstance(r, list) else (r["input_length"], r["hash_ids"]) for r in rows]
    return BlockTrace.of([prompt for prompt, _ in pairs], [blocks for _, blocks in pairs], BLOCK_TOKENS)


def main(path: str) -> None:
    """Write the table."""
    rows = list(compared(read(Path(path))))
    with TABLE.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    largest = max(abs(row["model_percent"] - row["replay_percent"]) for row in rows)
    print(f"{TABLE.name}: {len(rows)} rows, largest difference {largest:.2f} points.")


if __name__ == "__main__":
    main(sys.argv[1])
