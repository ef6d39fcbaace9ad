"""Speculative decoding of one instance: how many tokens a step emits, what drafts cost, and what drafting holds."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sizing.base.arrays import Floats
from sizing.base.format import counted
from sizing.catalog.drafts import Draft, acceptance_of, drafts_of, model_drafts, tokens_of
from sizing.catalog.model import Model
from sizing.catalog.precisions import WIDE_BYTES

ASKED_COST = 0.05
"""Time of a draft token over that of a decode step where a scenario does not say: below that for drafts about a hundred
times smaller (Leviathan et al., ICML 2023, section 3.6)."""

PUBLISHED_COST = 0.15
"""The same of published drafts, where there are no runs of the model itself: what is left of the time that 15 published
pairs of runs with and without drafts took, once the rows that verify are counted (``speculation_runs.csv``): kernels of
the draft, sampling and hand-over. The median of the six models is 0.15."""

COST_DOUBT = 0.13
"""Half the width of the interval of that cost, in decode steps: four of five runs of the first five models lie so near
to 0.15, and as many of one model at different loads so near to its own."""

DRAFT_MATRICES = 16
"""Parameters of the layer of an EAGLE-3 draft, as squares of the hidden size: 12 of its MLP at 4 times the width, 2 of
grouped attention and 2 of the input from three layers. NVIDIA's for Llama 3.3 70B has 3.2 billion with embeddings and
head: 16 h^2 + 2 V h = 3.17."""

LONGEST_PROMPT = 32_000.0
"""Mean prompt tokens up to which drafts are considered unasked. Beyond, acceptance falls with the context: 1.57 tokens
a step of 3 drafts at 32,000 (sglang issue 30763), a loss on the whole (vllm issue 47602)."""


@dataclass(frozen=True, kw_only=True)
class Speculation:
    """Speculative decoding: ``draft_tokens`` proposed per step, each accepted with probability ``acceptance``.

    ``draft_cost`` is the time of one draft token relative to a decode step of the model itself. Without draft tokens a
    step is an ordinary one. ``weight_bytes`` is what the draft's weights take of an instance's memory, ``kv_share`` its
    KV cache over that of the model. ``draft``: what it was published for; None where it was asked for.
    """

    draft_tokens: int = 0
    acceptance: float = 0.0
    draft_cost: float = ASKED_COST
    weight_bytes: float = 0.0
    kv_share: float = 0.0
    draft: Draft | None = None

    @property
    def tokens_per_step(self) -> float:
        """Expected tokens of one step: (1 - a^(k+1)) / (1 - a). Source: Leviathan et al., ICML 2023, equation 1."""
        return tokens_of(self.acceptance, self.draft_tokens)

    @property
    def rows_per_sequence(self) -> float:
        """Rows of one decoding sequence in a step: 1, or drafts and the token that verifies them."""
        return self.draft_tokens + 1.0

    @property
    def fewer_and_more(self) -> tuple[float, float]:
        """Tokens a step at the low and at the high end of what was published; the expected ones where it was asked."""
        expected = self.tokens_per_step
        return (expected, expected) if self.draft is None else (self.draft.low, self.draft.high)

    @property
    def doubt(self) -> tuple[float, float]:
        """Time of a token over the expected one at the fast and at the slow end: of what was published of acceptance,
        and of the cost of a draft, both at once by the sum of the squares of their logarithms. (1, 1) as asked."""
        if self.draft is None:
            return 1.0, 1.0
        expected, whole = self.tokens_per_step, 1.0 + self.draft_tokens * self.draft_cost
        of_tokens = (math.log(self.draft.high / expected), math.log(expected / self.draft.low))
        ends = max(self.draft_cost - COST_DOUBT, 0.0), self.draft_cost + COST_DOUBT
        of_cost = [abs(math.log((1.0 + self.draft_tokens * cost) / whole)) for cost in ends]
        fast, slow = (math.hypot(*both) for both in zip(of_tokens, of_cost, strict=True))
        return math.exp(-fast), math.exp(slow)

    @property
    def label(self) -> str:
        """In a name: ", 3 draft tokens (MTP heads)"; "" without drafts."""
        if not self.draft_tokens:
            return ""
        method = "" if self.draft is None else f" ({self.draft.label})"
        return f", {counted(self.draft_tokens, 'draft token')}{method}"

    def step_s(self, decode_s: Floats, more_s: Floats) -> Floats:
        """Duration of a step: decode x (1 + k x cost of a draft token) + what the rows of the drafts add, in s.

        Source: Leviathan et al., ICML 2023, theorem 3.8 (k c + 1), whose verification is free of charge; here its rows
        are paid for.
        """
        return np.asarray(decode_s * (1.0 + self.draft_tokens * self.draft_cost) + more_s)


NO_SPECULATION = Speculation()
"""An ordinary step for every token."""


def asked_for(model: Model, *, draft_tokens: int, acceptance: float, draft_cost: float) -> Speculation:
    """Speculative decoding as a scenario asks for it; memory as the draft that is known of the model takes, if any."""
    known = model_drafts().get(model.id)
    return Speculation(
        draft_tokens=draft_tokens,
        acceptance=acceptance,
        draft_cost=draft_cost,
        weight_bytes=draft_weight_bytes(model, known.method) if known else 0.0,
        kv_share=1.0 / model.layers if known else 0.0,
    )


@lru_cache(maxsize=64)
def published(model: Model) -> tuple[Speculation, ...]:
    """What a model can draft with by what was published, one for each depth that is considered."""
    return tuple(_as_published(model, draft) for draft in drafts_of(model.id))


def _as_published(model: Model, draft: Draft) -> Speculation:
    return Speculation(
        draft_tokens=draft.draft_tokens,
        acceptance=acceptance_of(draft.tokens_per_step, draft.draft_tokens),
        draft_cost=PUBLISHED_COST if draft.draft_cost is None else draft.draft_cost,
        weight_bytes=draft_weight_bytes(model, draft.method),
        kv_share=1.0 / model.layers,
        draft=draft,
    )


def draft_weight_bytes(model: Model, method: str) -> float:
    """Weights of a draft: prediction heads are one layer of the model in its published format, embeddings and head
    shared; a draft of its own is one dense layer with a head, in 16 bit, the embedding shared (vLLM 0.26.0,
    v1/spec_decode/eagle.py; see :data:`DRAFT_MATRICES`)."""
    table = float(model.vocab_size * model.hidden_size)
    if method == "mtp":
        return (model.params_total - model.params_embedding - table) / model.layers * model.published_format.bytes
    return (DRAFT_MATRICES * float(model.hidden_size) ** 2 + table) * WIDE_BYTES
