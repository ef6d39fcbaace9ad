"""The executive summary: the answer, the figures that a customer looks for first, and what to know about them."""

from collections.abc import Iterator
from datetime import date

from sharing.report.asked import length_text, limits_text
from sharing.report.content import Block, Bullets, Column, Fact, Facts, Paragraph, Released, Section, Table
from sharing.report.prices import has_own_prices
from sharing.report.subject import ReportSubject
from sizing.base.deployed import Deployed
from sizing.base.format import count, counted, interval, kilowatts, ms, requests_per_s, significant
from sizing.base.latency_and_cost import Latency
from sizing.base.result import AnswerPart, Plan
from sizing.base.units import BILLION
from sizing.catalog.files import DATA_DATE
from sizing.economics.dates import AGES, STALE_AFTER_DAYS
from sizing.planning.answer import NO_ROOM, hardware_price
from sizing.planning.business import load_in_words
from sizing.planning.sentences import split_text, systems_named
from sizing.question.configuration import parallelism_text
from sizing.question.media import pictures_text

RELEASED = {
    Released.NOTHING: "Prices and costs are not part of this report.",
    Released.LIST_PRICES: "Prices are list prices: negotiated prices and discounts are not part of this report, and "
    "the deployment is the one that list prices lead to.",
    Released.OWN_PRICES: "Prices are those of the scenario where it states them, list prices otherwise.",
}
"""Which prices stand behind a report, in a sentence."""

FIRST: tuple[AnswerPart, ...] = ("bought", "serves", "cost", "infeasible", "mixed", "pipeline")
"""Sentences of the answer that a reader sees first; the others are points below its figures."""

MOST_WARNINGS = 3
"""Warnings that the summary repeats."""

HOLDS = {True: "within", False: "above"}


def answer(subject: ReportSubject) -> Section:
    """The chapter "Executive summary"."""
    sentences = tuple(_sentences(subject))
    first = tuple(text for about, text in sentences if about in FIRST) or tuple(text for _, text in sentences)
    blocks: list[Block] = [Paragraph(text=" ".join(first))]
    if facts := tuple(_facts(subject)):
        blocks.append(Facts(facts=facts))
    if subject.plan.deployment is not None:
        blocks.append(_asked(subject))
    if points := (*(text for _, text in sentences if text not in first), *_warnings(subject)):
        blocks += [Paragraph(text="What to know before deciding:"), Bullets(items=points)]
    if subject.plan.deployment is not None:
        blocks.append(_next_steps(subject))
    blocks.append(Paragraph(text=_released(subject)))
    return Section(key="answer", title="Executive summary", blocks=tuple(blocks))


def _asked(subject: ReportSubject) -> Table:
    """The question in brief: the plan holds for it alone."""
    workload, day, model = subject.scenario.workload, subject.plan.business, subject.question.model
    at_peak = load_in_words(subject.question.demand)
    users = "" if workload.mode == "offline" else f", {counted(day.daily_users, 'user')}"
    rows = (
        ("Model", f"{model.id}, {significant(model.params_total / BILLION)} billion parameters"),
        ("Load", f"{at_peak}; {counted(day.requests_per_day, 'request')} a day{users}"),
        ("Prompts and answers", f"{length_text(workload.input_tokens)}; {length_text(workload.output_tokens)}"),
        *_beside_text(subject),
        ("Promise", limits_text(subject.scenario.limits, workload.mode)),
    )
    return Table(title="What it has to do", columns=(Column(label="Asked"), Column(label="Value")), rows=rows)


def _beside_text(subject: ReportSubject) -> Iterator[tuple[str, str]]:
    """What requests bring beside text, and the adapters that they ask for."""
    if media := subject.question.traffic.media.of_request:
        yield "Beside the text", " and ".join(pictures_text(one) for one in media)
    if adapters := subject.scenario.adapters:
        yield "Adapters", f"{count(adapters.number)} of rank {adapters.rank} at most"


def _warnings(subject: ReportSubject) -> Iterator[str]:
    """What speaks against the plan, in the words of its warnings; notes stand in the chapter on risks."""
    grave = [one for one in subject.plan.warnings if one.severity != "info"]
    yield from (one.message for one in sorted(grave, key=lambda one: one.severity != "error")[:MOST_WARNINGS])


def _next_steps(subject: ReportSubject) -> Table:
    """What confirms the plan before it is ordered."""
    vendor, money = "Vendor, purchasing", subject.shows_money
    quoted = "A quotation of the systems, their rack units, power and delivery"
    columns = (Column(label="Next step"), Column(label="Who"), Column(label="Why"))
    rows = [
        (
            "Confirm load, lengths and limits",
            "Customer",
            "they move the answer most; the chapter on sensitivity says how far",
        ),
        (quoted, vendor, "list prices and maximum power are budgets" if money else "maximum power is a budget"),
        (
            "Measure one instance with the customer's own requests",
            "Architect",
            "replaces the estimate by a measurement",
        ),
    ]
    return Table(title="Before the order", columns=columns, rows=tuple(rows))


def _released(subject: ReportSubject) -> str:
    """Which prices stand behind the report; and that others chose the deployment, where a reader sees none."""
    if subject.released is Released.NOTHING and has_own_prices(subject.sized.scenario):
        return f"{RELEASED[Released.NOTHING]} The deployment was chosen with prices that are not shown."
    rate = ""
    if subject.shows_money and subject.money.rate:
        rate = f" Amounts are converted at {subject.money.rate}{_age_of_rate(subject)}."
    return f"{RELEASED[subject.released]}{rate}"


def _age_of_rate(subject: ReportSubject) -> str:
    """That the exchange rate is older than prices may be, on the day of the catalogue, as prices in a report are."""
    on = subject.money.rate_on
    if on is None or (date.fromisoformat(DATA_DATE) - on).days <= STALE_AFTER_DAYS:
        return ""
    return f", {AGES['stale']}: take the rate of the day before you order"


def answer_text(subject: ReportSubject) -> str:
    """The answer of the plan, its price in the currency of the report."""
    return " ".join(text for _, text in _sentences(subject))


def _sentences(subject: ReportSubject) -> Iterator[tuple[AnswerPart, str]]:
    cost = subject.plan.cost
    for one in subject.plan.sentences:
        if one.about == "cost" and cost is not None and cost.hardware_usd_per_month is not None:
            yield one.about, hardware_price(cost, subject.written(cost.hardware_usd_per_month))
        else:
            yield one.about, one.text


def _facts(subject: ReportSubject) -> Iterator[Fact]:
    plan = subject.plan
    if plan.deployment is None:
        return
    deployed = plan.deployment
    yield Fact(label="GPUs", value=count(deployed.gpus), note=gpu_range(plan.gpus_low, plan.gpus_high))
    systems = systems_named(deployed.systems, deployed.system)
    yield Fact(label="Systems", value=count(deployed.systems), note=systems)
    yield from _latencies(subject)
    yield from _throughput(plan)
    yield from _money(subject)
    if plan.cost is not None and plan.cost.power_kw is not None:
        power = kilowatts(plan.cost.power_kw, estimated=plan.cost.power_from == "rule")
        yield Fact(label="Power", value=power, note="whole systems at their maximum")


def gpu_span(low: int | None, high: int | None) -> str:
    """The range that 80 % of such estimates fall in; empty where it is not known."""
    if low is None:
        return ""
    return f"{count(low)} or more" if high is None else interval(low, high)


def gpu_range(low: int | None, high: int | None) -> str:
    """The same with what it means: "2 to 4 in 8 of 10 cases"."""
    return f"{span} in 8 of 10 cases" if (span := gpu_span(low, high)) else ""


def _latencies(subject: ReportSubject) -> Iterator[Fact]:
    now, limits = subject.plan.latency, subject.scenario.limits
    if now is None:
        return
    limited = {"TTFT": limits.ttft_ms, "ITL": limits.itl_ms, "E2E": limits.e2e_ms}
    for name, value in (("TTFT", now.ttft_ms), ("ITL", now.itl_ms), ("E2E", now.e2e_ms)):
        if value.at_percentile is not None:
            note = against(value, limited[name])
            yield Fact(label=f"{subject.at} {name}", value=ms(value.at_percentile), note=note)


def against(value: Latency, limit: float | None) -> str:
    """ "within the limit of 2 s", "no limit"."""
    if limit is None or value.at_percentile is None:
        return "no limit"
    return f"{HOLDS[value.at_percentile <= limit]} the limit of {ms(limit)}"


def _throughput(plan: Plan) -> Iterator[Fact]:
    each = plan.per_instance
    if each is not None:
        rate = significant(each.output_tokens_per_s_per_gpu)
        kind = "decode instance" if plan.per_prefill_instance is not None else "instance"
        note = f"{significant(each.rps)} of {requests_per_s(each.max_rps)} per {kind}"
        yield Fact(label="Output tokens/s per GPU", value=rate, note=note)
    if plan.headroom is not None:
        note = "beyond the planned load" if plan.headroom < NO_ROOM else "the planned load"
        note += "" if plan.headroom_is_simulated else ", by estimate"
        value = f"{significant(plan.headroom)} times" if plan.headroom >= NO_ROOM else "hardly any"
        yield Fact(label="Room for growth", value=value, note=note)


def _money(subject: ReportSubject) -> Iterator[Fact]:
    """Hardware alone as the plan has it, and all costs as the chapter on cost has them."""
    hardware, cost = subject.plan.cost, subject.cost
    if not subject.shows_money or hardware is None:
        return
    yield Fact(
        label="Hardware a month",
        value=subject.written(hardware.hardware_usd_per_month),
        note="rented" if hardware.system_usd is None else "before power and operation",
    )
    if cost is not None and cost.usd_per_month is not None:
        low, high = subject.money.written(cost.low), subject.money.written(cost.high)
        note = f"at least {low}" if cost.high is None else f"{low} to {high}"
        yield Fact(label="All costs a month", value=subject.money.written(cost.usd_per_month), note=note)


def instances(deployed: Deployed) -> str:
    """ "3 instances of one GPU", "2 prefill instances of 4 GPUs (TP4), one decode instance of 8 GPUs (TP8)"."""
    names = ("prefill ", "decode ") if deployed.pools else ("",)
    return ", ".join(
        f"one {name}instance of {split_text(one)}"
        if one.instances == 1
        else f"{count(one.instances)} {name}instances of {split_text(one)}"
        for name, one in zip(names, deployed.kinds, strict=True)
    )


def layout(deployed: Deployed) -> str:
    """How the GPUs of an instance share the model: "TP8"; of both kinds where they are apart."""
    return " + ".join(parallelism_text(one) for one in deployed.kinds)
