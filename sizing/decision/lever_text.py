"""Levers and formats in words: names, what is changed, why something cannot be."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import get_args

from sizing.base.format import count, percent, usd
from sizing.catalog.precisions import precisions
from sizing.decision.added_up import nim_added_up
from sizing.decision.formats import FormatRow, Formats
from sizing.decision.lever_changes import LeverName, Obstacle
from sizing.decision.levers import LeverRow, LeverStanding
from sizing.decision.nim_text import TOPICS, nim_sentences
from sizing.decision.optimised import Optimised
from sizing.decision.outcome import Outcome
from sizing.decision.text import name_of, shown
from sizing.mixed.text import OF_ONE_FLEET

WORTH_USD = 1.0
"""USD a month from which a difference is told. Chosen: less is rounding."""
MOST_NAMED = 3
"""Levers and formats that a sentence names at most; the table has them all."""

LEVERS: Mapping[LeverName, str] = MappingProxyType(
    {
        "prefix_caching": "Prefix caching",
        "speculative_decoding": "Speculative decoding",
        "disaggregation": "Prefill and decode apart",
        "routing": "Routing by load",
        "shorter_prompts": "Shorter prompts",
        "smaller_model": "Smaller model",
        "sparsity_2_4": "2:4 sparsity",
        "derived": "Published pruned or distilled model",
        "pruned": "Model pruned on your own",
        "static_batching": "Static batching",
    }
)

OBSTACLES: Mapping[Obstacle, str] = MappingProxyType(
    {
        "no_smaller_model": "the catalogue has no smaller model of the family or, published since, of the developer",
        "none_published": "no smaller model made of this one is published with scores, as far as the catalogue knows",
        "architecture": "how a model with experts or with layers of several kinds is pruned is not modelled",
        "size": "not smaller than the model, or too small for its layers and heads",
        "lengths": "the lengths are those of a file",
        "cached": "what is cached would be longer than the prompt",
        "no_kernel": "no engine has had kernels for 2:4-sparse weights on this GPU; vLLM had them on Hopper",
        "experts": "sparse kernels multiply dense layers, and most weights of this model are experts",
        "not_simulated": "simulated for instances that do both, prefill and decode, under arrivals that do not change "
        "with the hour",
    }
)

STANDINGS: Mapping[LeverStanding, str] = MappingProxyType(
    {
        "planned": "with it",
        "undone": "in use; this is without it",
        "simulated": "simulated",
        "not_applicable": "does not apply",
    }
)
RUNS: Mapping[LeverName, str] = MappingProxyType(
    {"sparsity_2_4": "two of every four weights zero", "static_batching": "static instead of in-flight batching"}
)
"""How instances run with the levers that no input of a scenario moves."""


for _words, _type in ((LEVERS, LeverName), (OBSTACLES, Obstacle), (STANDINGS, LeverStanding)):
    assert set(_words) == set(get_args(_type)), _type


def finding(rows: Sequence[LeverRow], written: Callable[[float], str] = usd) -> str:
    """What saves most, or that nothing does and what needs fewer GPUs all the same: one sentence or two."""
    able = [row for row in rows if row.standing != "undone" and row.outcome is not None and row.outcome.feasible]
    saving = sorted((row for row in able if row.usd_saved and row.usd_saved >= WORTH_USD), key=_saved, reverse=True)
    if saving:
        first, *others = (f"{LEVERS[row.name]} ({written(_saved(row))} a month)" for row in saving[:MOST_NAMED])
        return f"Most is saved by {first}{', then ' + ', '.join(others) if others else ''}."
    fewer = [LEVERS[row.name] for row in able if row.gpus_saved and row.gpus_saved > 0]
    return "No lever saves money here: whole systems are bought." + (
        f" Fewer GPUs would do with {' or '.join(fewer)}: room to grow." if fewer else ""
    )


def cheapest_formats(compared: Formats, written: Callable[[float], str] = usd) -> str:
    """The formats that cost least with what that is, and what that of the checkpoint costs more; "" without any."""
    priced = ((row, row.outcome.usd_per_month) for row in compared.rows if row.outcome.feasible)
    known = [(row, cost) for row, cost in priced if cost is not None]
    if not known:
        return ""
    least = min(cost for _, cost in known)
    names = [precisions()[row.precision].label for row, cost in known if cost < least + WORTH_USD]
    others = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    text = f"Least cost, {written(least)} a month: {', '.join(names[:MOST_NAMED])}{others}."
    for row, cost in known:
        if row.native and cost >= least + WORTH_USD:
            more = written(cost - least)
            text += f" {precisions()[row.precision].label}, as published, costs {more} a month more."
    return text


def _saved(row: LeverRow) -> float:
    return row.usd_saved or 0.0


def tried(row: LeverRow) -> str:
    """What a lever changes, or why it does not."""
    if row.obstacle is not None:
        return OBSTACLES[row.obstacle]
    inputs = (_change(one.key, one.value) for one in row.changes)
    return "; ".join([*([RUNS[row.name]] if row.name in RUNS else []), *inputs])


def _change(key: str, value: object) -> str:
    """One key with its value; a model by its name."""
    if key == "model" and isinstance(value, dict):
        return f"model {value['name']}"
    if key == "deployment.speculative_decoding" and isinstance(value, dict):
        return f"{value['draft_tokens']} draft tokens a step, {percent(value['acceptance'])} accepted"
    return f"{name_of(key)} {shown(key, value)}"


def kept_accuracy(row: LeverRow) -> str:
    """What the model that a lever serves keeps of published scores; that it is not known, where the lever makes a model
    of which nothing is published."""
    if row.accuracy:
        each = (f"{one.test} {one.derived_score:g} of {one.score:g} ({percent(one.kept)})" for one in row.accuracy)
        return f"{row.accuracy[0].model}: {'; '.join(each)}"
    made = row.outcome is not None and row.name in ("sparsity_2_4", "pruned")
    return "not known: it would have to be made and tested" if made else ""


def why_not(row: FormatRow) -> str:
    """Why a format does not serve the scenario, and the smallest change with which it does; nothing where it does."""
    return " ".join(filter(None, [row.why_not, row.relaxation]))


def runs_on(row: FormatRow) -> str:
    """Generations that multiply in the format, and those that only store weights in it."""
    native = ", ".join(one.family for one in row.generations if one.multiplies)
    widened = ", ".join(one.family for one in row.generations if not one.multiplies)
    if native and widened:
        return f"{native}; stored only: {widened}"
    return native or f"stored only: {widened}"


def losses(row: FormatRow) -> str:
    """The first published loss, and how many more there are."""
    if not row.losses:
        return "reference" if row.precision in ("bf16", "fp16") else "none published"
    first, more = row.losses[0], len(row.losses) - 1
    rest = f", and {more} more" if more else ""
    return f"{first.loss} ({first.model}, {first.metric}){rest}"


def gain(row: FormatRow) -> tuple[str, str]:
    """Gains in small and large batches: measured where published, else the vendor's grade."""
    one = next(iter(row.speeds), None)
    grade = ("", "") if row.guide is None else (row.guide.small_batch.lower(), row.guide.large_batch.lower())
    if one is None:
        return grade
    measured = (one.batch_1, one.batch_64)
    pairs = zip(grade, measured, strict=True)
    small, large = (
        " ".join(filter(None, [words, f"({x:.2f}x, {one.model})" if x is not None else ""])) for words, x in pairs
    )
    return small, large


def as_text(one: Optimised) -> str:
    """A paragraph for each lever, then NIM beside open source."""
    lines = [f"The plan: {_bought(one.plan)}", *([OF_ONE_FLEET] if one.mix_left_out else []), ""]
    for row in one.levers:
        lines += [*_lever(row), ""]
    lines += ["NIM beside open source", *(f"  {sentence}" for sentence in nim_sentences(nim_added_up(one.nim)))]
    for fact in one.nim.facts:
        lines += [
            f"  {TOPICS[fact.topic]}: NIM {fact.nim}; open source {fact.open_source} ({fact.source}, {fact.date})"
        ]
    return "\n".join(lines)


def _bought(outcome: Outcome) -> str:
    if not outcome.feasible:
        return "nothing serves it within the limits"
    cost = "cost unknown" if outcome.usd_per_month is None else f"{usd(outcome.usd_per_month)} a month, all costs"
    return f"{count(outcome.gpus or 0)} x {outcome.gpu_name}, {outcome.engine}, {outcome.precision}; {cost}"


def _lever(row: LeverRow) -> Iterator[str]:
    yield f"{LEVERS[row.name]} ({STANDINGS[row.standing]}): {tried(row)}"
    if row.outcome is not None:
        yield f"  {_bought(row.outcome)}"
    if accuracy := kept_accuracy(row):
        yield f"  Accuracy: {accuracy}"
    if row.standing != "not_applicable":
        yield f"  {row.basis} ({row.source}, {row.date})"
