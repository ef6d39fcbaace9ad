"""What is said of the prefix caches of a plan."""

import math
from collections.abc import Iterator
from typing import assert_never

from sizing.base.choices import Routing
from sizing.base.format import count, large, ms, percent, usd, with_noun
from sizing.base.result import AnswerSentence
from sizing.base.reuse_result import Reuse, ReuseTier, SavingName
from sizing.base.units import MS_PER_S

ABOUT = {
    "prefix_aware_routing": "Routing by prefix",
    "host_memory_offload": "128 GiB of host memory a GPU as a second tier",
    "twice_the_memory": "Twice the KV cache",
    "everything_held": "Caches that held everything",
}
"""How a sentence on a saving begins."""


def answer_sentence(reuse: Reuse) -> AnswerSentence:
    """What the answer says of the caches."""
    held = f"The prefix caches hold {percent(reuse.hit_share)} of the prompt tokens"
    if reuse.second_tier is not None:
        held = f"Prefix caches and second tier save computing {percent(reuse.hit_share)} of the prompt tokens"
    return AnswerSentence(about="reuse", text=f"{held}, computed from the plan's own KV cache and routing.")


def sentences(reuse: Reuse, routing: Routing, replicas: int) -> Iterator[str]:
    """Everything that is said of the caches, what would save last."""
    what = (
        "The prompts that come again have"
        if reuse.sessions_at_once is None
        else f"{with_noun(large(reuse.sessions_at_once), 'session')} at once are"
    )
    turns = reuse.gap_s is not None and reuse.gap_s > 0.0
    yield (
        f"{what} a working set of {large(reuse.working_set_tokens)} tokens; the KV cache holds "
        f"{large(reuse.kv_capacity_tokens)}, of which running requests leave {large(reuse.kv_idle_tokens)} for what "
        f"{'waits for its next turn' if turns else 'comes again'}."
    )
    if reuse.kept_s is not None and reuse.gap_s is not None:
        then = f"; the next turn comes after {ms(reuse.gap_s * MS_PER_S)} in the mean" if turns else ""
        yield f"What nobody asks for stays for {ms(reuse.kept_s * MS_PER_S)}{then}."
    if replicas > 1:
        yield from _routed(routing, replicas, reuse.sessions_at_once, turns=turns)
    first, later = reuse.ttft_first_turn_ms, reuse.ttft_later_turns_ms
    if first is not None and later is not None:
        kinds = ("first turns", "later ones") if reuse.gap_s is not None else ("prompts not found", "the others")
        ttft = f"{ms(first.at_percentile)} of {kinds[0]} and {ms(later.at_percentile)} of {kinds[1]}"
        yield f"At the asked percentile TTFT is {ttft}."
    if reuse.second_tier is not None:
        yield from _tier(reuse.second_tier)
    for saving in reuse.savings:
        yield saving.says
    yield BOUNDS if reuse.gap_s is not None else BOUNDS_OF_TRACE
    yield NOT_VALIDATED


def _routed(routing: Routing, replicas: int, sessions: float | None, *, turns: bool) -> Iterator[str]:
    """What a routing without a look at prefixes means for the caches of several instances."""
    match routing:
        case "prefix_aware":
            return
        case "session_affinity":
            yield "Each session stays with one instance; what several share is kept by every instance that has them."
            if sessions:
                more = percent(math.sqrt((replicas - 1.0) / sessions))
                yield f"By chance one instance in six has {more} more sessions than the mean, which is not counted."
        case "random" | "round_robin" | "weighted" | "least_loaded":
            what = (
                f"one in {count(replicas)} turns meets the instance that has the turn before"
                if turns
                else f"each of {count(replicas)} instances keeps what it was asked itself"
            )
            yield f"Requests are routed without a look at prefixes: {what}."
        case unknown:
            assert_never(unknown)


BOUNDS = (
    "Held against exact replays within 3 points; sessions are taken as alike, with gaps spread as random events are: "
    "longer pauses and compaction of the history hit less. Proposals and alternatives are held against the same share."
)

NOT_VALIDATED = (
    "Against published runs, what routing gains in tokens/s was off by 1 and 27 % (two runs), what a second tier gains "
    "by 10 % in the median (seven runs of two sources). TTFT turn by turn was off by 21 and 26 % "
    "in the medians of two sources, of which one states no rate of its store."
)
"""How far published runs were met, and what was not: docs/TRAFFIC.md, docs/accuracy/turns.csv."""

BOUNDS_OF_TRACE = (
    "Hits are those of LRU caches that replay the blocks of the trace, within 3 points of a replay of every decision; "
    "what requests in flight have in common takes room once, as much as that many requests in a row have."
)


TIERS = {"host_memory": "host memory", "ssd": "drives", "shared_store": "a shared store"}
"""What second tiers are called."""


def _tier(second: ReuseTier) -> Iterator[str]:
    """What a second tier holds, how fast that is there, when it pays and what it costs."""
    name = TIERS[second.tier]
    yield (
        f"The second tier, {name}, holds {large(second.capacity_tokens)} tokens; {percent(second.loaded_share)} of the "
        "prompt tokens are loaded from it."
    )
    if second.loaded_tokens:
        yield (
            f"A history of {large(second.loaded_tokens)} tokens is loaded in {ms(second.load_ms)} and computed in "
            f"{ms(second.computed_ms)}; what loading takes counts as computing."
        )
    if second.pays_from_tokens is None:
        yield f"Loading from {name} never is the faster: it saves nothing."
    else:
        yield f"It pays from {large(second.pays_from_tokens)} tokens of history on."
    yield (
        "The tier has no price here: give usd_per_gib under deployment.kv_offload."
        if second.purchase_usd is None
        else f"The tier costs {usd(second.purchase_usd)} to buy, which the cost does not contain."
    )


def saving_text(name: SavingName, hit_share: float, instances: int | None, replicas: int) -> str:
    """What one change would hold, and how many instances would do instead of ``replicas``, where fewer would."""
    held = f"{ABOUT[name]} would hold {percent(hit_share)}"
    if instances is None or instances >= replicas:
        return f"{held}."
    return f"{held}: about {count(instances)} instead of {count(replicas)} instances would do, by estimate."
