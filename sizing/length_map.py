"""GPUs needed over prompt and output length: where the answer tips over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sizing.checks import number_between
from sizing.errors import SizingError
from sizing.quantity import Result, quantity
from sizing.question import Question, at_lengths, understand
from sizing.ranking import order
from sizing.scenario.schema import Deployment, Scenario
from sizing.screen import all_configurations, evaluate, size

MAX_TOKENS = 10_000_000.0
MAX_CELLS = 1_024
STEPS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the asked length that a map shows unless others are asked for."""


class LengthCell(Result):
    """The smallest answer for one pair of lengths on one kind of GPU."""

    input_tokens: float = quantity("ISL", "tokens", "asked", "Mean prompt length.")
    output_tokens: float = quantity("OSL", "tokens", "asked", "Mean output length.")
    gpus: int | None = quantity("GPUs", "GPUs", "instances x GPUs per instance", "None when nothing serves it.")
    systems: int | None = quantity("Systems", "systems", "whole systems", "None when nothing serves it.")
    configuration: str = quantity("Deployment", help="GPU, engine, precision and parallelism of one instance.")
    reason: str = quantity("Reason", help="Why nothing serves these lengths; empty otherwise.")


class LengthMap(Result):
    """GPUs needed for every pair of lengths, rows by prompt length."""

    gpu: str = quantity("GPU", help="Catalogue id of the accelerator.")
    input_tokens: tuple[float, ...] = quantity("Prompt lengths", "tokens", "asked", "Of the rows.")
    output_tokens: tuple[float, ...] = quantity("Output lengths", "tokens", "asked", "Of the columns.")
    rows: tuple[tuple[LengthCell, ...], ...] = quantity("Cells", help="One row per prompt length.")


def gpus_over_lengths(
    scenario: Scenario, gpu: str, isl_values: Sequence[float], osl_values: Sequence[float]
) -> LengthMap:
    """GPUs that a plan on ``gpu`` alone would use at each pair of mean lengths; load and limits as asked.

    The spread of the lengths and the cached share of the prompt stay as they are. Raises InvalidScenario, and
    SizingError for a GPU that is not considered, a length that is not a number of tokens, or more than 1,024 cells.
    """
    prompts = tuple(number_between("Prompt length", v, 0, MAX_TOKENS, exclude_low=True) for v in isl_values)
    outputs = tuple(number_between("Output length", v, 0, MAX_TOKENS, exclude_low=True) for v in osl_values)
    if len(prompts) * len(outputs) > MAX_CELLS:
        raise SizingError(f"A map holds at most {MAX_CELLS:,} cells, not {len(prompts) * len(outputs):,}.")
    question = understand(on_gpu(scenario, gpu))
    rows = tuple(tuple(_cell(at_lengths(question, i, o)) for o in outputs) for i in prompts)
    return LengthMap(gpu=gpu, input_tokens=prompts, output_tokens=outputs, rows=rows)


def around(scenario: Scenario) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Prompt and output lengths around those of the scenario, up to eight times shorter and longer."""
    traffic = understand(scenario).traffic
    prompts, outputs = (tuple(n * step for step in STEPS) for n in (traffic.input_tokens, traffic.output_tokens))
    return prompts, tuple(n for n in outputs if n >= 1)


def on_gpu(scenario: Scenario, gpu: str) -> Scenario:
    """The scenario with one GPU considered. Raises SizingError when it considers that GPU by no name."""
    question = understand(scenario)
    if gpu not in {g.id for g in question.gpus}:
        raise SizingError(f"{gpu} is not among the GPUs considered.")
    own = [g for g in scenario.deployment.custom_gpus if g.id == gpu]
    narrowed: Deployment = scenario.deployment.model_copy(update={"gpus": [gpu], "custom_gpus": own})
    return scenario.model_copy(update={"deployment": narrowed})


def _cell(question: Question) -> LengthCell:
    traffic = question.traffic
    lengths: dict[str, Any] = {"input_tokens": traffic.input_tokens, "output_tokens": traffic.output_tokens}
    window = question.model.max_context
    if window and traffic.input_tokens + traffic.output_tokens > window:
        return _unserved(lengths, f"Beyond the context window of {window:,} tokens.")
    evaluated = evaluate(question, all_configurations(question))
    sized = size(question, evaluated)
    if not len(sized.index):
        return _unserved(lengths, "No load meets the limits." if len(evaluated) else "Does not fit in memory.")
    best = int(order(sized, evaluated, question.scenario.deployment.objective)[0])
    return LengthCell.model_construct(
        **lengths, gpus=int(sized.gpus[best]), systems=int(sized.systems[best]),
        configuration=evaluated.candidates.rows[sized.index[best]].label, reason="",
    )


def _unserved(lengths: dict[str, Any], reason: str) -> LengthCell:
    return LengthCell(**lengths, gpus=None, systems=None, configuration="", reason=reason)

