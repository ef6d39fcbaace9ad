"""GPUs needed over prompt and output length: where the answer tips over.

Every cell is decided as a plan for its lengths is, by simulation, so that Size gives the same answer for a cell.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Annotated

from sizing.base.checks import number_between
from sizing.base.errors import SizingError
from sizing.base.quantity import Result, quantity
from sizing.planning.sentences import beyond_context
from sizing.planning.settled import counted_on
from sizing.question.understand import Question, at_lengths, understand
from sizing.scenario.bounds import MAX_TOKENS
from sizing.scenario.schema import Deployment, Scenario
from sizing.search.decide import decide, estimate
from sizing.search.serving import screened

MAX_CELLS = 144
"""Cells of a map at most. Chosen: because a cell takes as long as a plan, and 12 by 12 some seconds."""
STEPS = (1 / 8, 1 / 4, 1 / 2, 1.0, 2.0, 4.0, 8.0)
"""Multiples of the lengths of the scenario that a map shows unless others are given."""
SEED = 0
"""Seed of the simulations: that of a plan unless another is asked for."""

Heard = Callable[[float], bool]
"""What hears how far the work has come, as a share, and says whether to go on."""


class LengthCell(Result):
    """The smallest answer for one pair of lengths on one kind of GPU."""

    input_tokens: Annotated[float, quantity("ISL", "tokens", "asked", "Mean prompt length.")]
    output_tokens: Annotated[float, quantity("OSL", "tokens", "asked", "Mean output length.")]
    gpus: Annotated[
        int | None, quantity("GPUs", "GPUs", "instances x GPUs per instance", "None when nothing serves it.")
    ]
    systems: Annotated[int | None, quantity("Systems", "systems", "whole systems", "None when nothing serves it.")]
    configuration: Annotated[
        str, quantity("Deployment", help="GPU, engine, precision and parallelism of its instances.")
    ]
    reason: Annotated[str, quantity("Reason", help="Why nothing serves these lengths; empty otherwise.")]


RowOf = Callable[[float, Sequence[float]], tuple[LengthCell, ...]]
"""The cells of prompts of one length, at each length of the answers."""


class LengthMap(Result):
    """GPUs needed for every pair of lengths, rows by prompt length."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    gpu_name: Annotated[
        str, quantity("GPU name", help="What the accelerator is called; of one's own, as the scenario names it.")
    ]
    input_tokens: Annotated[tuple[float, ...], quantity("Prompt lengths", "tokens", "asked", "Of the rows.")]
    output_tokens: Annotated[tuple[float, ...], quantity("Output lengths", "tokens", "asked", "Of the columns.")]
    rows: Annotated[tuple[tuple[LengthCell, ...], ...], quantity("Cells", help="One row per prompt length.")]

    @property
    def falls_somewhere(self) -> bool:
        """Whether a longer answer needs fewer GPUs than a shorter one anywhere."""
        every = (pairwise(cell.gpus for cell in row) for row in self.rows)
        return any(b < a for row in every for a, b in row if a is not None and b is not None)


def gpus_over_lengths(
    scenario: Scenario,
    gpu: str,
    isl_values: Sequence[float],
    osl_values: Sequence[float],
    progress: Heard = lambda share: True,
    row_of: RowOf | None = None,
) -> LengthMap:
    """GPUs that a plan on ``gpu`` alone uses at each pair of mean lengths; load and limits as asked.

    The spread of the lengths and the cached share of the prompt stay as they are. ``progress`` hears how far it is;
    ``row_of`` works out the rows where that is done elsewhere. Raises InvalidScenario, and SizingError for a GPU that
    is not considered, a length that is not a number of tokens, more than :data:`MAX_CELLS` cells, or once it is told to
    stop.
    """
    prompts = tuple(number_between("Prompt length", v, 0, MAX_TOKENS, exclude_low=True) for v in isl_values)
    outputs = tuple(number_between("Output length", v, 0, MAX_TOKENS, exclude_low=True) for v in osl_values)
    if len(prompts) * len(outputs) > MAX_CELLS:
        raise SizingError(f"A map holds at most {MAX_CELLS:,} cells, not {len(prompts) * len(outputs):,}.")
    name = understand(on_gpu(scenario, gpu)).gpu_name(gpu)
    row_of, rows = row_of or rows_on(scenario, gpu), []
    for n, prompt in enumerate(prompts):
        if not progress(n / len(prompts)):
            raise SizingError("The map was not finished, because nobody waited for it.")
        rows.append(row_of(prompt, outputs))
    return LengthMap(gpu=gpu, gpu_name=name, input_tokens=prompts, output_tokens=outputs, rows=tuple(rows))


def rows_on(scenario: Scenario, gpu: str) -> RowOf:
    """What works out the rows of a map on one GPU. Raises SizingError as :func:`gpus_over_lengths`."""
    question = counted_on(understand(on_gpu(scenario, gpu)))
    return lambda prompt, outputs: tuple(_cell(at_lengths(question, prompt, output)) for output in outputs)


def around(scenario: Scenario) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Prompt and output lengths around those of the scenario, up to eight times shorter and longer."""
    traffic = understand(scenario).traffic
    prompts, outputs = (tuple(n * step for step in STEPS) for n in (traffic.input_tokens, traffic.output_tokens))
    return prompts, tuple(n for n in outputs if n >= 1)


def on_gpu(scenario: Scenario, gpu: str) -> Scenario:
    """The scenario with that GPU only. Raises SizingError when it does not consider the GPU."""
    question = understand(scenario)
    if gpu not in {g.id for g in question.gpus}:
        raise SizingError(f"{gpu} is not among the GPUs considered.")
    own = [g for g in scenario.deployment.custom_gpus if g.id == gpu]
    narrowed: Deployment = scenario.deployment.model_copy(update={"gpus": [gpu], "custom_gpus": own})
    return scenario.model_copy(update={"deployment": narrowed})


def _cell(question: Question) -> LengthCell:
    """The plan for these lengths."""
    window = question.model.max_context
    if window and beyond_context(question):
        return _unserved(question, f"Beyond the context window of {window:,} tokens.")
    seen = screened(question)
    decided = estimate(seen) if question.scenario.workload.mode == "offline" else decide(seen, SEED)
    chosen = decided.shortlist(0)
    if not chosen:
        return _unserved(question, "No load meets the limits." if len(seen.base) else "Does not fit in memory.")
    one, traffic = decided.every[chosen[0]], question.traffic
    return LengthCell(
        input_tokens=traffic.input_tokens,
        output_tokens=traffic.output_tokens,
        gpus=int(decided.every.gpus[chosen[0]]),
        systems=one.systems,
        configuration=one.label,
        reason="",
    )


def _unserved(question: Question, reason: str) -> LengthCell:
    traffic = question.traffic
    return LengthCell(
        input_tokens=traffic.input_tokens,
        output_tokens=traffic.output_tokens,
        gpus=None,
        systems=None,
        configuration="",
        reason=reason,
    )
