"""Long prompts of a plan: what an instance holds, what context parallelism would, and how far step times are tried."""

from collections.abc import Iterator
from functools import lru_cache

from sizing.base.format import count, significant
from sizing.base.result import PlanWarning
from sizing.catalog.model import Model
from sizing.deployments.candidates import table
from sizing.deployments.memory import memory_fit
from sizing.question.configuration import Configuration
from sizing.question.understand import Question

LONG = 65_536
"""Tokens of prompt and answer from which on these rules speak. Chosen: half of what was the usual window of 2024."""

MOST = 2**24
"""Tokens up to which the longest that fits is looked for. Chosen: beyond every window of the catalogue."""

KEPT_LONGEST = 64
"""Instances whose longest request is kept: it takes two dozen looks at memory, and no load takes part in it."""

SPLITS_CONTEXT = {
    "vllm": "--decode-context-parallel-size",
    "nim": "--decode-context-parallel-size",
    "sglang": "--dcp-size",
}
"""Engines that split keys and values of a sequence over the ranks of a TP group, with the setting (arguments of vLLM
0.33.0 and SGLang 0.5.23)."""

SPLITS_PROMPTS = {
    "vllm": ("--prefill-context-parallel-size", "of MLA models alone, on so many times as many GPUs"),
    "nim": ("--prefill-context-parallel-size", "of MLA models alone, on so many times as many GPUs"),
    "sglang": ("--attn-cp-size with --enable-prefill-cp", "on the GPUs of a TP group"),
}
"""Engines that compute the tokens of one prompt on several ranks, with the setting, and where (vLLM since model runner
v2: vllm/config/vllm.py refuses other attention, read in 0.28; SGLang docs, prefill context parallelism, 2026-11)."""

MEASURED_SHARE = (0.75, 0.9)
"""What prompts of 32,768 to 1,048,576 tokens took over what is predicted here, in ten published runs on H20 and H200
(LMSYS, 2026-01-15; llm-d, 2026-07 and -08; Mooncake, 2026-07); a test holds it against them."""


def about_long_context(question: Question, row: Configuration) -> Iterator[PlanWarning]:
    """Rules about long prompts; nothing where they are short."""
    if question.longest_tokens < LONG:
        return
    fits, window = longest(question.model, row), question.model.max_context
    holds = f"one request of up to {count(fits)} tokens"
    if window:
        whole = f"a request as long as the window of the model, {count(window)} tokens"
        holds = whole if fits >= window else f"{holds}; the window of the model is {count(window)}"
    yield PlanWarning(
        code="longest_context",
        severity="info",
        source="memory model",
        message=f"The KV cache of an instance holds {holds}.",
    )
    copies = kept_copies(question.model, row.tp)
    if copies >= 2.0 and row.engine.id in SPLITS_CONTEXT:
        setting = f"{SPLITS_CONTEXT[row.engine.id]} {int(copies)}"
        yield PlanWarning(
            code="context_parallelism",
            severity="info",
            source="vLLM blog, 2026-08-07, decode context parallelism",
            message=f"TP{row.tp} keeps every key and value {significant(copies)} times. Decode context parallelism "
            f"({row.engine.label}: {setting}) keeps them once, so that an instance holds up to {significant(copies)} "
            "times as many tokens; it is not planned here. Published: 3.3 times the tokens/s of Kimi-K2.6 on 8 B200, "
            "where the KV cache had been full.",
        )
    yield from _split_prompts(question.model, row)
    low, high = MEASURED_SHARE
    yield PlanWarning(
        code="long_prompts",
        severity="info",
        source="LMSYS blog, 2026-01-15; llm-d blog, 2026-07-22 and 2026-08-15; Mooncake docs, 2026-07-15",
        message=f"Prompts this long took {significant(low)} to {significant(high)} of the predicted time in published "
        f"runs on Hopper: the prediction is on the safe side.",
    )


def _split_prompts(model: Model, row: Configuration) -> Iterator[PlanWarning]:
    """That an engine could compute one prompt on several ranks, which is not planned; nothing where it cannot."""
    if row.engine.id not in SPLITS_PROMPTS or (row.engine.id != "sglang" and model.attention != "mla"):
        return
    setting, where = SPLITS_PROMPTS[row.engine.id]
    yield PlanWarning(
        code="prefill_context_parallelism",
        severity="info",
        source="vLLM 0.28, vllm/config/vllm.py; SGLang docs, prefill context parallelism; ROCm/ATOM pull request 1220",
        message=f"{row.engine.label} can share one prompt among GPUs ({setting}, {where}); it is not planned here. On "
        "N times as many GPUs the first token comes after 1/N of the time at best; on the same GPUs it saves what each "
        "of them computes again. Published: TTFT 35 to 43 % shorter on the same 8 MI308 (DeepSeek-V4, AMD's ATOM).",
    )


@lru_cache(maxsize=KEPT_LONGEST)
def longest(model: Model, row: Configuration) -> int:
    """The largest whole number of tokens of which an instance holds one request, :data:`MOST` at most."""
    one = table([row])

    def fits(tokens: int) -> bool:
        return bool(memory_fit(model, one, float(tokens)).fits[0])

    low, high = 0, MOST
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def kept_copies(model: Model, tp: int) -> float:
    """How many times a TP group holds each key and value: TP over the KV heads it can split, all of a latent vector."""
    if model.attention == "mla":
        return float(tp)
    return max(tp / (model.full_kv_heads or model.kv_heads), 1.0)
