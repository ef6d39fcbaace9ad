"""One worked example for somebody who believes nothing: the plan of a customer, every number followed by hand.

The text stands in ``example.md``: ``{steps:name}`` are the steps of an explained figure of the plan, every other name
is a number of the scenario or of its plan.
"""

import re
from collections.abc import Mapping
from functools import cache, partial
from pathlib import Path

from sizing.base.format import count, interval, ms
from sizing.base.result import Explained
from sizing.catalog import gpus
from sizing.methodology.accuracy import accuracy_figures
from sizing.methodology.content import MethodologyChapter, Prose
from sizing.planning.answered import Answer
from sizing.planning.plan import plan
from sizing.scenario.schema import Scenario

TEXT = Path(__file__).with_name("example.md")
SCENARIO: Mapping[str, object] = {
    "name": "Assistant for employees",
    "model": "meta-llama/Llama-3.3-70B-Instruct",
    "workload": {
        "input_tokens": 3000,
        "output_tokens": 300,
        "users": {"daily_users": 5000, "requests_per_user": 3, "hours": 8, "peak_to_mean": 2},
    },
    "limits": {"ttft_ms": 2000, "itl_ms": 100, "percentile": 99},
    "deployment": {"gpus": ["h100_sxm"], "location": "on_prem"},
}
"""The customer of the example, as a scenario file has it."""

_STEPS = re.compile(r"\{steps:(\w+)\}")


def example() -> MethodologyChapter:
    """The chapter, computed by the engine."""
    return MethodologyChapter(
        slug="example",
        title="A worked example",
        intro="One customer's question from the inputs to the invoice, with every number in between.",
        prose=_prose(),
        in_document=False,
    )


@cache
def _prose() -> tuple[Prose, ...]:
    """The text with the numbers of the plan. Raises KeyError for a name that the plan does not have."""
    answer = Answer.of(Scenario.model_validate(SCENARIO), partial(plan, alternatives=0))
    explained = {one.name: one for one in answer.plan.explained}
    text = _STEPS.sub(lambda mark: _steps(explained[mark.group(1)]), TEXT.read_text(encoding="utf-8"))
    parts = text.format_map(_numbers(answer)).split("\n## ")
    return tuple(
        Prose(title=title, markdown=markdown.strip())
        for title, _, markdown in (part.removeprefix("## ").partition("\n") for part in parts)
    )


def _steps(explained: Explained) -> str:
    """The steps of a figure as a list under its value."""
    value = explained.value.replace("$", "\\$")
    lines = "".join(f"\n    - `{one}`" for one in explained.steps)
    return f"- **{_LABELS[explained.name]}: {value}**{lines}"


_LABELS = {
    "peak_rps": "Requests per second at the busiest time",
    "weights_gb": "Weights",
    "kv_gb": "Memory left for the KV cache",
    "kv_per_sequence_gb": "KV cache of one conversation",
    "max_concurrency": "Conversations at once",
    "decode_step_ms": "One step, which gives every conversation its next token",
    "prefill_ms": "Reading one prompt",
    "max_rps": "Rate of one instance within the limits",
    "instances": "Instances",
    "gpus": "GPUs that carry the load",
    "systems": "Systems to buy",
    "ttft_ms": "Until the first word",
    "itl_ms": "Between two tokens of an answer",
    "e2e_ms": "Until the last word",
    "usd_per_month": "Hardware per month",
    "usd_per_million_output_tokens": "Cost per million output tokens, at the tokens of a day",
    "usd_per_million_output_tokens_at_full_load": "The same at full load",
}


def _numbers(answer: Answer) -> Mapping[str, object]:
    """What the text mentions beside the steps."""
    scenario, planned = answer.scenario, answer.plan
    users, simulated = scenario.workload.users, planned.provenance.requests if planned.provenance else None
    assert users is not None
    assert isinstance(scenario.workload.input_tokens, float)
    assert isinstance(scenario.workload.output_tokens, float)
    return {
        "users": users.daily_users,
        "per_user": users.requests_per_user,
        "hours": users.hours,
        "ratio": users.peak_to_mean,
        "model": str(scenario.model).rpartition("/")[2],
        "isl": scenario.workload.input_tokens,
        "osl": scenario.workload.output_tokens,
        "percentile": f"{scenario.limits.percentile:g}",
        "ttft_limit": ms(scenario.limits.ttft_ms),
        "gpu": gpus()[scenario.deployment.gpus[0]].name,
        "answer": planned.answer.replace("$", "\\$"),
        "rows": count(accuracy_figures()["rows"]),
        "requests": count(simulated),
        "confidence": planned.how_sure,
        "gpus": f"{count(planned.gpus_low)} or more"
        if planned.gpus_high is None
        else interval(planned.gpus_low, planned.gpus_high),
    }
