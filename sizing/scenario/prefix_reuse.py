"""How much of its prompts a trace says was in earlier ones, from the hashes of their blocks (``hash_ids``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from sizing.base.format import percent

BLOCK_TOKENS = (512, 16, 32, 64, 128, 256, 1024)
"""Tokens of a block: 512 in traces of Mooncake, 16 in those of Bailian; AIPerf's and Dynamo's state one when they are
replayed."""

MOST_BLOCKS = 20_000_000
"""Different blocks that are kept. Chosen: 2 GB of text name as many, and they take up about 1 GB."""


class PrefixReuse:
    """Counts, in the order of requests, the leading blocks of each prompt that an earlier prompt had, too."""

    def __init__(self) -> None:
        self._seen: set[Any] = set()
        self._sizes = dict.fromkeys(BLOCK_TOKENS, 0)
        """Requests whose number of blocks is that of their prompt, by tokens of a block."""
        self._requests = self._tokens = self._reused_blocks = self._blocks = 0

    def add(self, prompts: Iterable[float], hashes: Iterable[object]) -> None:
        """Requests in order: tokens of each prompt, and the list of its blocks, anything else for one without."""
        for prompt, blocks in zip(prompts, hashes, strict=True):
            if not isinstance(blocks, list) or not all(isinstance(one, int | str) for one in blocks):
                continue
            self._requests += 1
            self._tokens += int(prompt)
            self._blocks += len(blocks)
            for size in BLOCK_TOKENS:
                self._sizes[size] += len(blocks) == -(-int(prompt) // size)
            self._reused_blocks += self._known(blocks)
            if len(self._seen) < MOST_BLOCKS:
                self._seen.update(blocks)

    def _known(self, blocks: Sequence[Any]) -> int:
        return next((place for place, block in enumerate(blocks) if block not in self._seen), len(blocks))

    def notes(self, name: str) -> Iterator[str]:
        """What the hashes say, in sentences; none without any."""
        if not self._blocks:
            return
        size = max(BLOCK_TOKENS, key=lambda one: self._sizes[one])
        fitting = self._sizes[size]
        if fitting < self._requests:
            yield (
                f"{name}: {self._requests - fitting:,} of {self._requests:,} requests have more or fewer blocks than "
                f"their prompts in blocks of {size}."
            )
        share = min(self._reused_blocks * size / max(self._tokens, 1), 1.0)
        yield (
            f"{name}: {percent(share)} of the prompt tokens were in an earlier prompt (hash_ids, blocks of {size}). A "
            "cache without limit would hold them, a real one holds fewer: none is counted as cached until you say so."
        )
