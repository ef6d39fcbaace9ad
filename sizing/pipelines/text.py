"""The stages in words: a sentence of the answer, and lines for a terminal."""

from collections.abc import Callable, Iterator

from sizing.base.format import count, kilowatts, ms, significant, usd
from sizing.base.pipeline import Pipeline, StageSystems

Named = Callable[[str], str]
"""What an accelerator is called, by its id."""


def sentence(pipeline: Pipeline, named: Named) -> str:
    """Which stages run on which GPUs and what they add, without any amount of money."""
    kinds = [one.stage for one in pipeline.stages]
    stages = kinds[0] if len(kinds) == 1 else f"{', '.join(kinds[:-1])} and {kinds[-1]}"
    where = " and ".join(f"{count(one.gpus)} x {named(one.gpu)}" for one in pipeline.systems)
    idle = sum(one.idle_used for one in pipeline.systems)
    of_idle = f", {'all' if idle == pipeline.gpus else count(idle)} of them idle otherwise" if idle else ""
    if idle and pipeline.gpus == 1:
        of_idle = ", which stands idle otherwise"
    verb, adds = ("runs", "adds") if len(kinds) == 1 else ("run", "add")
    doubt = "" if all(one.validated for one in pipeline.stages) else " (estimates that are not validated)"
    return (
        f"Beside the language model, {stages} {verb} on {where}{of_idle}, and {adds} {ms(pipeline.latency_ms)} on "
        f"average{doubt}."
    )


def bought(one: StageSystems, named: Named) -> str:
    """How many GPUs of a type run stages, and what they come in."""
    parts = [f"{count(one.idle_used)} idle in the language model's systems"] if one.idle_used else []
    parts += [f"{count(one.systems)} x {one.system}"] if one.systems else []
    return f"{count(one.gpus)} x {named(one.gpu)}: {', '.join(parts)}"


def lines(pipeline: Pipeline) -> Iterator[str]:
    """The stages for a terminal, one a line, then the whole."""
    yield "Pipeline (stages beside the language model)"
    for one in pipeline.stages:
        validated = "measured" if one.basis == "measured" else "validated" if one.validated else "not validated"
        yield (
            f"  {one.stage:8} {one.model} on {count(one.gpus)} x {one.gpu}: {significant(one.items_per_s)} items/s of "
            f"{significant(one.rate.value)} per GPU, {ms(one.latency_ms)}, {usd(one.usd_per_month)} a month, "
            f"{validated}"
        )
    yield from (f"  {bought(one, str)}" for one in pipeline.systems)
    power = "power unknown" if pipeline.power_kw_whole is None else kilowatts(pipeline.power_kw_whole)
    yield (
        f"  {'whole':8} TTFT {ms(pipeline.ttft_ms)}, E2E {ms(pipeline.e2e_ms)} (stages + median of the language "
        f"model), {usd(pipeline.usd_per_month_whole)} a month of hardware with the language model, {power}"
    )
    yield from (f"  Note: {note}" for note in pipeline.notes)
