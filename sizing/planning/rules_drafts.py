"""What a plan that counts on speculative decoding says of it: what it saves, and what it rests on."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sizing.base.format import count, significant
from sizing.base.result import Fix, PlanWarning
from sizing.question.speculation import Speculation
from sizing.search.all_deployments import AllDeployments
from sizing.search.deployments import Deployments, comes_before


def about_drafts(drafts: Speculation, gpus: int, every: AllDeployments) -> Iterator[PlanWarning]:
    """Drafts that nobody asked for: what the same promises take without them, and what to measure.

    ``gpus`` of the plan; ``every`` deployment that the plan chose from.
    """
    if drafts.draft is None:
        return
    plain, tokens = _first_without(every), drafts.draft_tokens
    without = "no deployment holds the limits" if plain is None else f"{count(int(plain.gpus[0]))} GPUs would be needed"
    low, high = drafts.fewer_and_more
    yield PlanWarning(
        code="speculative_decoding",
        severity="info",
        source=f"{drafts.draft.source}, {drafts.draft.date}",
        message=f"{count(gpus)} GPUs suffice because each step guesses {tokens} token{'s' if tokens > 1 else ''} ahead "
        f"(speculative decoding, {drafts.draft.label}) and is taken to yield {significant(drafts.tokens_per_step)}; by "
        f"what was published it may be {significant(low)} to {significant(high)}, and less at high load. Without, by "
        f"estimate, {without}. Measure how often guesses are right on your own traffic.",
        fix=Fix(key="deployment.speculation", value="off", label="Plan without speculative decoding"),
    )


def _first_without(every: AllDeployments) -> Deployments | None:
    """The deployment that would come first if none had drafts; None where only drafts hold the limits."""
    best: Deployments | None = None
    for kind in every.kinds:
        plain = np.flatnonzero(kind.evaluated.candidates.draft_tokens[kind.rows] == 0)
        if not len(plain):
            continue
        one = kind.take(np.array([kind.first(plain)]))
        best = one if best is None or comes_before(one, best) else best
    return best
