"""The six questions, with the answers of the scenario as a customer reads them."""

from collections.abc import Iterator, Mapping

from sharing.report.asked import length_text, limits_text
from sharing.report.content import Block, Chart, ChartSeries, Column, Section, Table
from sharing.report.names import gpu_name
from sharing.report.subject import ReportSubject
from sizing.base.choices import RANKED_BY, Location, Mode
from sizing.base.format import UNKNOWN, count, percent, requests_per_s, significant, with_noun
from sizing.base.units import BILLION
from sizing.scenario.demand import hourly

WHERE: Mapping[Location, str] = {
    "on_prem": "in a data centre of one's own",
    "cloud": "rented in the cloud",
    "hybrid": "owned and rented",
}
MODES: Mapping[Mode, str] = {
    "streaming": "tokens are shown as they are made",
    "sequential": "whole answers are needed",
    "offline": "nobody waits for an answer",
}
HOURS = 24
MOST_LISTED = 12
"""GPU types that are named one by one."""


def questions(subject: ReportSubject) -> Section:
    """The chapter "The six questions"."""
    columns = (Column(label="Question"), Column(label="Answer"), Column(label="Note"))
    table = Table(title="What was asked", columns=columns, rows=tuple(_rows(subject)))
    blocks: list[Block] = [table, _day(subject)]
    if profile := _profile(subject):
        blocks.append(profile)
    return Section(key="questions", title="The six questions", blocks=tuple(blocks))


def _rows(subject: ReportSubject) -> Iterator[tuple[str, str, str]]:
    demand, workload = subject.question.demand, subject.scenario.workload
    model = subject.question.model
    active = "" if not model.is_moe else f", {significant(model.params_per_token / BILLION)} billion active"
    window = f"; context of {count(model.max_context)} tokens" if model.max_context else ""
    size = f"{significant(model.params_total / BILLION)} billion parameters{active}{window}"
    yield "Which model?", model.id, size
    cached = subject.question.traffic.cached_tokens
    where = "from earlier requests" if subject.question.reused is None else "in the mean, by the plan's own KV cache"
    note = f"{count(cached)} of them cached {where}" if cached else "none of them cached"
    yield "How long are the prompts?", length_text(workload.input_tokens), note
    yield "How long are the answers?", length_text(workload.output_tokens), ""
    yield "How much load at the busiest time?", requests_per_s(demand.sustained_rps), demand.how
    yield "How fast must it be?", limits_text(subject.scenario.limits, workload.mode), MODES[workload.mode]
    place = WHERE[subject.scenario.deployment.location]
    yield (
        "Which GPUs may serve it?",
        _gpus(subject),
        f"{place}; ranked by {RANKED_BY[subject.scenario.deployment.objective]}",
    )


def _gpus(subject: ReportSubject) -> str:
    record = subject.scenario.measured
    if record is not None:
        return f"those of the measured system, {record.system}"
    considered = subject.question.gpus
    if not subject.scenario.deployment.gpus or len(considered) > MOST_LISTED:
        return f"{count(len(considered))} types of the catalogue"
    return ", ".join(gpu_name(gpu.id, subject.question) for gpu in considered) or UNKNOWN


def _day(subject: ReportSubject) -> Table:
    """What the load is in a day."""
    day = subject.plan.business
    rows = [
        ("Requests a day", day.requests_per_day),
        *([] if day.daily_users is None else [("Daily users", day.daily_users)]),
        ("Input tokens a day", day.input_tokens_per_day),
        ("Output tokens a day", day.output_tokens_per_day),
    ]
    growth = f", growth of {percent(day.growth)} included" if day.growth else ""
    each = (
        ""
        if day.requests_per_user is None
        else f", {with_noun(significant(day.requests_per_user), 'request')} per user"
    )
    return Table(
        title="What that is in a day",
        columns=(Column(label="What"), Column(label="Number", holds="number")),
        rows=tuple(rows),
        note=f"A day of {with_noun(f'{day.hours:g}', 'hour')}, {_course(day.peak_to_mean)}{each}{growth}.",
    )


def _course(peak_to_mean: float) -> str:
    """How the load runs over a day."""
    return (
        "as busy all the time"
        if peak_to_mean == 1.0
        else f"its busiest time {significant(peak_to_mean)} times the mean"
    )


def _profile(subject: ReportSubject) -> Chart | None:
    """The load over the hours of a day, where the scenario says it."""
    shape = hourly(subject.scenario.workload)
    if shape is None or len(shape) != HOURS:
        return None
    busiest, peak = max(shape), subject.plan.sustained_rps
    return Chart(
        title="Load over the day",
        draws="bar",
        x_label="Hour",
        y_label="Requests/s",
        x=tuple(str(hour) for hour in range(HOURS)),
        series=(ChartSeries(name="Requests/s", values=tuple(peak * each / busiest for each in shape)),),
    )
