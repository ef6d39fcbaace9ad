"""Speculative decoding of catalogue models: which ship prediction heads or have a published draft, how often its tokens
are right, and which engines run it.

``drafts.csv`` says what each model has, ``speculation.csv`` what was measured. A figure here is an acceptance length:
the mean tokens of one step, drafts that were right and the token that verified them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import MappingProxyType
from typing import Literal

from sizing.catalog.files import typed_rows

DraftMethod = Literal["mtp", "eagle3", "dspark"]
WorkloadKind = Literal["chat", "mixed", "math", "coding", "long_context", "random", "threshold"]

METHOD_LABELS: Mapping[DraftMethod, str] = MappingProxyType(
    {"mtp": "MTP heads", "eagle3": "EAGLE-3", "dspark": "DSpark"}
)
"""Methods as people call them."""

DEPTHS = (1, 3)
"""Draft tokens a step that are considered unasked. Chosen: recipes name 1 (GLM) and 3 (vLLM, SGLang, TensorRT-LLM with
DeepSeek, EAGLE-3 of gpt-oss and Llama); published acceptance hardly grows beyond."""

OF_EASIER = 0.7
"""Accepted drafts of a chat over those of the same draft on code or mathematics, at the lower end of what was published
side by side: Llama 4 Maverick at 3 drafts 0.71 (summaries over code), Llama 3.3 70B at 7 0.72, Qwen3.5-397B 0.87 (both
MT-Bench over code)."""

SPREAD = 0.2
"""Relative distance of accepted drafts from their middle over the traffic of one deployment: 2.73 to 3.69 tokens a step
(Qwen3.5-397B) and 2.19 to 2.80 (GLM-5), both of users; so much at least lies to either side."""

_DIRECT: tuple[WorkloadKind, ...] = ("chat", "mixed")
_EASIER: tuple[WorkloadKind, ...] = ("math", "coding")


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """One published acceptance length of a model's draft at so many draft tokens a step."""

    model: str
    method: DraftMethod
    draft_tokens: int
    acceptance_length: float
    workload: str
    workload_kind: str
    engine: str
    source: str
    date: str


@dataclass(frozen=True, kw_only=True)
class ModelDraft:
    """What one model drafts with.

    ``checkpoint``: of the draft, "" where the model's own holds the heads or none is named. ``acceptance_of``: models
    whose published lengths count for it; none where nothing was published. ``draft_cost``: time of a draft token over
    that of a decode step, as pairs of runs of the model ``cost_of`` say (``speculation_runs.csv``); None where there
    are none. ``engines`` that run it.
    """

    model: str
    method: DraftMethod
    checkpoint: str
    acceptance_of: tuple[str, ...]
    draft_cost: float | None
    cost_of: str
    engines: tuple[str, ...]
    source: str
    date: str


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A draft at one depth, as plans consider it: ``tokens_per_step`` expected, and the ends of what was published.

    ``measured_on``: the model whose figure it is; "" where nothing was published for this one and the lowest of all
    prediction heads counts. ``converted``: from another depth, or from code or mathematics.
    """

    method: DraftMethod
    checkpoint: str
    draft_tokens: int
    tokens_per_step: float
    low: float
    high: float
    workload: str
    measured_on: str
    converted: bool
    draft_cost: float | None
    engines: tuple[str, ...]
    source: str
    date: str

    @property
    def label(self) -> str:
        """The method as people call it."""
        return METHOD_LABELS[self.method]


@cache
def acceptances() -> tuple[Acceptance, ...]:
    """Published acceptance lengths of speculative decoding."""
    return typed_rows("speculation.csv", Acceptance)


@cache
def model_drafts() -> Mapping[str, ModelDraft]:
    """What models draft with, by model: prediction heads of their own, or a published draft."""
    return MappingProxyType({one.model: one for one in typed_rows("drafts.csv", ModelDraft)})


@cache
def drafts_of(model: str) -> tuple[Draft, ...]:
    """The drafts of a model that are considered unasked, by depth; none where nothing is known of it."""
    known = model_drafts().get(model)
    if known is None:
        return ()
    depths = (_at_depth(known, k) if known.acceptance_of else _lowest(known, k) for k in DEPTHS)
    return tuple(one for one in depths if one is not None)


def tokens_of(acceptance: float, draft_tokens: int) -> float:
    """Expected tokens of one step: (1 - a^(k+1)) / (1 - a). Source: Leviathan et al., ICML 2023, equation 1."""
    if acceptance >= 1.0:
        return draft_tokens + 1.0
    return float((1.0 - acceptance ** (draft_tokens + 1)) / (1.0 - acceptance))


def acceptance_of(tokens: float, draft_tokens: int) -> float:
    """The acceptance of every draft token with which a step has so many tokens in the mean: :func:`tokens_of` turned
    round, by bisection; it grows with the acceptance from 1 to k + 1."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if tokens_of(middle, draft_tokens) < tokens else (low, middle)
    return (low + high) / 2.0


def at_depth(tokens: float, draft_tokens: int, depth: int) -> float:
    """Tokens a step at ``depth`` drafts, of ``tokens`` published at more: by the acceptance that is the same for all.

    Later drafts are right less often, so that the first few are better than that: it errs low.
    """
    return tokens if depth == draft_tokens else tokens_of(acceptance_of(tokens, draft_tokens), depth)


def _at_depth(known: ModelDraft, depth: int) -> Draft | None:
    """The lowest that was published for a chat; where only code or mathematics were, :data:`OF_EASIER` of it."""
    usable = _published(known, depth)
    direct, easier = (_nearest(usable, kinds) for kinds in (_DIRECT, _EASIER))
    if not direct and not easier:
        return None
    share = 1.0 if direct else OF_EASIER
    stated = {one: share * (_length(one, depth) - 1.0) for one in direct or easier}
    lowest = min(stated, key=stated.__getitem__)
    accepted, most = stated[lowest], max(_length(one, depth) for one in usable) - 1.0
    return Draft(
        method=known.method,
        checkpoint=known.checkpoint,
        draft_tokens=depth,
        tokens_per_step=1.0 + accepted,
        low=1.0 + (1.0 - SPREAD) * accepted,
        high=min(1.0 + max(most, (1.0 + SPREAD) * accepted), depth + 1.0),
        workload=lowest.workload,
        measured_on=lowest.model,
        converted=not direct or lowest.draft_tokens != depth,
        draft_cost=known.draft_cost,
        engines=known.engines,
        source=lowest.source,
        date=lowest.date,
    )


def _published(known: ModelDraft, depth: int) -> list[Acceptance]:
    """What was published of its draft at ``depth`` or more drafts, but at long contexts, on random tokens, or what a
    test lets pass: of these each says less than users will see."""
    counted = _DIRECT + _EASIER
    return [
        one
        for one in acceptances()
        if one.model in known.acceptance_of and one.method == known.method
        if one.draft_tokens >= depth and one.workload_kind in counted
    ]


def _nearest(published: Sequence[Acceptance], kinds: Sequence[WorkloadKind]) -> list[Acceptance]:
    """The records of some kinds of workload with the fewest drafts: nothing is converted that was measured."""
    of_kinds = [one for one in published if one.workload_kind in kinds]
    fewest = min((one.draft_tokens for one in of_kinds), default=0)
    return [one for one in of_kinds if one.draft_tokens == fewest]


def _length(one: Acceptance, depth: int) -> float:
    return at_depth(one.acceptance_length, one.draft_tokens, depth)


def _lowest(known: ModelDraft, depth: int) -> Draft | None:
    """The lowest of all models with the same method, for one of which nothing was published."""
    others = (one for one in model_drafts().values() if one.method == known.method and one.acceptance_of)
    stated = [one for one in (_at_depth(other, depth) for other in others) if one is not None]
    if not stated:
        return None
    return replace(
        min(stated, key=lambda one: one.tokens_per_step),
        checkpoint=known.checkpoint,
        high=max(one.high for one in stated),
        measured_on="",
        converted=True,
        draft_cost=known.draft_cost,
        engines=known.engines,
    )


@dataclass(frozen=True, kw_only=True)
class DraftedRun:
    """A published pair of runs with and without drafts: tokens/s of a user, or of all, with over without."""

    model: str
    gpu: str
    engine: str
    weight_precision: str
    tp: int
    method: DraftMethod
    draft_tokens: int
    tokens_per_step: float
    concurrency: float
    input_tokens: float
    output_tokens: float
    speedup: float
    notes: str
    source: str
    date: str


@cache
def drafted_runs() -> tuple[DraftedRun, ...]:
    """Published pairs of runs with and without speculative decoding."""
    return typed_rows("speculation_runs.csv", DraftedRun)
