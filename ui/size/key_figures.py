"""The figures of the answer, each with its limit or range and an explanation."""

from collections.abc import Iterator
from datetime import UTC, date, datetime
from typing import NamedTuple

import streamlit as st

from sharing.report.answer import gpu_span
from sizing.base.choices import is_rented
from sizing.base.deployed import Deployed, PerInstance
from sizing.base.format import UNKNOWN, count, counted, interval, kilowatts, ms, requests_per_s, significant, usd
from sizing.base.latency_and_cost import Cost, Latency
from sizing.base.result import Plan
from sizing.economics.dates import AGES, DOUBTFUL, age_of
from sizing.planning.answer import chance_in_words
from sizing.planning.answered import Answer
from sizing.planning.sentences import split_text, systems_named
from sizing.scenario.schema import Scenario
from ui.format import as_markdown
from ui.shell import draw_figure
from ui.size.explain import explain_popover

_PER_ROW, _NARROWEST = 4, 130
"""Figures in a row, and the width in pixels below which they wrap. Chosen: "1,234 to 5,678 ms" fits on one line."""


_PRESENTED = 240
"""The same in the large type of a presentation."""


class PlanFigure(NamedTuple):
    """One figure: ``name`` is its entry in ``Plan.explained``; ``within`` is None where there is no limit.

    ``short`` is the label on a button, where the label itself is too long for it. ``also`` are further entries whose
    values stand in the note or the help.
    """

    name: str
    label: str
    value: str
    note: str
    help: str
    within: bool | None = None
    short: str = ""
    also: tuple[str, ...] = ()


def draw_key_figures(answer: Answer, *, explained: bool = True) -> None:
    """GPUs, systems, latency against its limit, output tokens/s per GPU, cost and power."""
    figures = list(key_figures(answer, datetime.now(UTC).date()))
    grid = st.grid(_PER_ROW, min_column_width=_NARROWEST if explained else _PRESENTED, gap="small", border=True)
    for number, figure in enumerate(figures, start=1):
        fills_the_row = number == len(figures) and number % _PER_ROW == _PER_ROW - 1
        with grid.cell(column_span=2 if fills_the_row else 1):
            _draw(figure)
            if explained:
                label = figure.short or figure.label
                explain_popover(answer, figure.name, label=label, meaning=figure.help, also=figure.also)


def key_figures(answer: Answer, on: date) -> Iterator[PlanFigure]:
    """The figures of a plan, the most asked for first; ``on`` is the day by which prices are old."""
    plan, scenario = answer.plan, answer.scenario
    deployed = plan.deployment
    if deployed is None:
        return
    yield PlanFigure(
        "gpus",
        "GPUs",
        count(deployed.gpus),
        with_coverage(gpu_span(plan.gpus_low, plan.gpus_high)) + _kinds(deployed),
        "GPUs that run the model, spares included, and the range that 80 % of such estimates fall in.",
    )
    if plan.probability_within_limits is not None:
        yield PlanFigure(
            "probability_within_limits",
            "Chance that the limits hold",
            chance_in_words(plan.probability_within_limits, more_than=">"),
            _expected(plan),
            "At the planned peak with the planned GPUs, given how far such predictions are off. How sure it has to "
            "be is an assumption of the form.",
            short="chance",
        )
    yield PlanFigure(
        "systems",
        "Systems",
        count(deployed.systems),
        whole_systems(deployed, scenario),
        f"Whole systems to buy or rent. They run {_instances(deployed)}; an instance is a copy of the model.",
    )
    yield from _latencies(answer)
    if plan.cost:
        yield from _of_cost(plan.cost, on)
    if plan.per_instance:
        yield _rate(plan.per_instance, deployed)


def _of_cost(cost: Cost, on: date) -> Iterator[PlanFigure]:
    """Money and power; ``on`` is the day by which prices are old."""
    yield PlanFigure(
        "usd_per_month",
        "Hardware per month",
        usd(cost.hardware_usd_per_month),
        _of_price(cost) + _age(cost, on),
        "The hardware alone: what power, support and staff add, and other ways to pay, are on Cost. "
        + _per_million(cost),
        short="cost",
        also=("usd_per_million_output_tokens", "usd_per_million_output_tokens_at_full_load"),
    )
    yield PlanFigure(
        "power_kw",
        "Power",
        kilowatts(cost.power_kw, estimated=cost.power_from == "rule", about=False),
        {"listed": "whole systems, listed", "rule": "whole systems, estimated by rule"}.get(cost.power_from, ""),
        "Whole systems at their maximum: GPUs, CPUs, memory, network and fans. Where a system lists none, by rule "
        "from the TDP of its GPUs.",
    )


def _expected(plan: Plan) -> str:
    """What was asked, and how many GPUs are expected to be enough, where that is fewer."""
    chance = f"asked: {plan.confidence:g} %"
    if plan.deployment is None or plan.gpus_expected is None or plan.gpus_expected >= plan.deployment.gpus:
        return chance
    return f"{chance}; {counted(plan.gpus_expected, 'GPU')} expected to be enough"


def whole_systems(deployed: Deployed, scenario: Scenario) -> str:
    """What is bought or rented, and how much of it the model uses: "2 x p5.48xlarge, 16 GPUs rented, 12 used"."""
    how = "rented" if is_rented(scenario.deployment.location) else "bought"
    idle = deployed.gpus_bought > deployed.gpus
    used = f", {count(deployed.gpus)} used" if idle else ""
    gpus = counted(deployed.gpus_bought, "GPU")
    return f"{systems_named(deployed.systems, deployed.system)}, {gpus} {how}{used}"


def with_coverage(span: str) -> str:
    """A range with the share of estimates that it holds; nothing for none."""
    return f"{span} in 8 of 10 cases" if span else ""


def parallelism(deployed: Deployed) -> str:
    """How one instance is spread over its GPUs: "8 GPUs (TP4 PP2)"; both kinds where prefill and decode run apart."""
    if deployed.pools:
        prefill, decode = deployed.pools
        return (
            f"{count(prefill.instances)} prefill x {split_text(prefill)}, "
            f"{count(decode.instances)} decode x {split_text(decode)}"
        )
    return split_text(deployed)


def _kinds(deployed: Deployed) -> str:
    """The GPUs of either kind, where prefill and decode run apart."""
    if not deployed.pools:
        return ""
    prefill, decode = deployed.pools
    return f"; {count(prefill.gpus)} prefill + {count(decode.gpus)} decode"


def _draw(figure: PlanFigure) -> None:
    colour = {True: ":green[{}]", False: ":red[{}]", None: "{}"}[figure.within]
    with st.container(gap=None):
        draw_figure(figure.label, figure.value)
        if figure.note:
            st.markdown(f":small[{colour.format(as_markdown(figure.note))}]")


def _instances(deployed: Deployed) -> str:
    if deployed.pools:
        return parallelism(deployed)
    limit = "" if deployed.batch_limit is None else f", batch limit {count(deployed.batch_limit)}"
    return f"{counted(deployed.instances, 'instance')} of {parallelism(deployed)}{limit}"


def _of_capacity(rps: float, max_rps: float) -> str:
    return f"{significant(rps)} of {requests_per_s(max_rps)}"


def _rate(one: PerInstance, deployed: Deployed) -> PlanFigure:
    loads = [
        f"a {kind} instance at {_of_capacity(pool.rps, pool.max_rps)}"
        for kind, pool in zip(("prefill", "decode"), deployed.pools or (), strict=False)
    ] or [f"one instance at {_of_capacity(one.rps, one.max_rps)}"]
    return PlanFigure(
        "output_tokens_per_s_per_gpu",
        "Output tokens/s per GPU",
        significant(one.output_tokens_per_s_per_gpu),
        ", ".join(loads),
        "At the peak load; below: the load of one instance, and what it could take within the limits.",
        short="tokens/s",
    )


def _latencies(answer: Answer) -> Iterator[PlanFigure]:
    """TTFT and ITL, and E2E where it is limited or the reader waits for it."""
    plan, scenario = answer.plan, answer.scenario
    if plan.latency is None:
        return
    limits = scenario.limits
    wanted = [
        ("ttft_ms", "TTFT", plan.latency.ttft_ms, limits.ttft_ms),
        ("itl_ms", "ITL", plan.latency.itl_ms, limits.itl_ms),
    ]
    if limits.e2e_ms is not None or scenario.workload.mode != "streaming":
        wanted.append(("e2e_ms", "E2E", plan.latency.e2e_ms, limits.e2e_ms))
    for name, words, value, limit in wanted:
        label = f"p{limits.percentile:g} {words}"
        if value.at_percentile is None and (median := value.at(50.0)) is not None:
            label, value = f"Median {words}", value.model_copy(update={"at_percentile": median})
        yield PlanFigure(name, label, ms(value.at_percentile), *_against(value, limit))


def _against(value: Latency, limit: float | None) -> tuple[str, str, bool | None]:
    spread = (
        "No interval is known."
        if value.low is None
        else (
            f"80 % range: {interval(value.low, value.high, 'ms')}."
            if value.high is not None
            else f"80 % above {ms(value.low)}; the queue could grow without end."
        )
    )
    if limit is None or value.at_percentile is None:
        return "no limit" if limit is None else f"limit {ms(limit)}, {UNKNOWN} whether it holds", spread, None
    within = value.at_percentile <= limit
    return f"{'within' if within else 'above'} {ms(limit)}", spread, within


def _of_price(cost: Cost) -> str:
    """What the price is of, and the range its sources give."""
    if (
        cost.hardware_usd_per_month is None
        or cost.hardware_usd_per_month_low is None
        or cost.hardware_usd_per_month_high is None
    ):
        return ""
    what = "complete systems" if cost.system_usd is not None else "rented instances"
    priced = {"asked": f"{what}, own price", "listed": f"{what}, listed", "rule": what}
    low, high = cost.hardware_usd_per_month_low, cost.hardware_usd_per_month_high
    spread = f", {usd(low)} to {usd(high)}" if low < high else ""
    return f"{priced[cost.priced_by]}{spread}"


def _age(cost: Cost, on: date) -> str:
    """That a price of the catalogue, or a dated one of the scenario, is older than 90 days, or may be."""
    if cost.hardware_usd_per_month is None or (cost.priced_by == "asked" and not cost.price_dates):
        return ""
    age = age_of(cost.price_dates, on)
    return f"; price {AGES[age]}" if age in DOUBTFUL else ""


def _per_million(cost: Cost) -> str:
    """What the hardware comes to per million output tokens, on such days and at full load."""
    each, full = cost.usd_per_million_output_tokens, cost.usd_per_million_output_tokens_at_full_load
    if each is None or full is None:
        return ""
    return (
        f"It comes to {usd(each)} per million output tokens at the tokens of such a day, every day of the month; at "
        f"full load, as if the peak lasted day and night, to {usd(full)}."
    )
