"""A measured record of one system replaces the model's prediction: the plan that says so."""

from collections.abc import Iterator

from sizing.base.format import count, counted, ms, requests_per_s, significant
from sizing.base.result import Excluded, Explained, MadeFor, Plan, PlanWarning
from sizing.calibration.benchmark import calibration_note
from sizing.planning import answer, assumptions, rules
from sizing.planning.arithmetic import duration_step, entry, number, step
from sizing.planning.business import business_of
from sizing.planning.compose import of_every_plan
from sizing.planning.exclusion_reasons import article
from sizing.planning.explain import explain_demand
from sizing.planning.explain_cost import explain_money
from sizing.planning.measured_record import REPEATABILITY, Record
from sizing.planning.proposals import of_record, with_deployment
from sizing.planning.rules_hardware import about_purchase
from sizing.planning.second_opinion import no_opinion
from sizing.planning.sentences import beyond_context, source_of
from sizing.prices.cost import cost_of
from sizing.question.understand import Question

AS_MEASURED = (
    "Measured latencies hold at the measured rate or below; the record gives one value, shown for every percentile."
)


def measured_plan(question: Question, *, second_opinion: bool = False) -> Plan:
    """The answer from a measured operating point: "2.4 requests/s per DGX H100" gives 13 systems for 31 requests/s.

    systems = ceil(peak / (requests/s per system x utilisation cap)) + spares; latencies are those measured, which hold
    at the measured rate or below. Source: NVIDIA sizing deck, worked example 1. Raises InvalidScenario for an unknown
    system.
    """
    assert question.scenario.measured is not None
    record = Record(question, question.scenario.measured)
    provenance, deployed, business = record.provenance(), record.deployed(), business_of(question)
    per_s = question.demand.sustained_rps * question.traffic.output_tokens
    cost = cost_of(record.option, record.systems(), per_s, business.output_tokens_per_day)
    (low, high), beyond = record.systems_range, beyond_context(question)
    every_sentence = (answer.of_record(_sentence(record)), *answer.redundancy(deployed))
    if not record.missed():
        every_sentence = (*every_sentence, answer.costs(cost))
    if beyond:
        every_sentence = (answer.nothing(f"{beyond} By the measured record alone:"), *every_sentence)
    measured = Plan(
        answer=answer.joined(every_sentence),
        sentences=every_sentence,
        feasible=not record.missed() and not beyond,
        deployment=deployed,
        per_instance=record.per_instance(),
        latency=record.latency(),
        gpus_low=low * record.option.gpus,
        gpus_high=high * record.option.gpus,
        cost=cost,
        limited_by="the measured rate per system",
        warnings=_warnings(record),
        assumptions=_assumed(record),
        source=source_of(provenance),
        decided_by=provenance.load_model,
        provenance=provenance,
        confidence=None,
        probability_within_limits=None,
        gpus_expected=None,
        how_sure=f"Repeating a benchmark gives rates within {_repeats()} (median of repeated public runs).",
        alternatives=(),
        trade_off=(),
        excluded=_excluded(record),
        load_curve=(),
        explained=(*_explained(record), *explain_money(question, deployed, cost, business)),
        **of_every_plan(question, business, no_opinion() if second_opinion else None),
    )
    return _with_proposals(question, measured.marked(MadeFor(question.scenario)))


def _with_proposals(question: Question, planned: Plan) -> Plan:
    """The plan of a record with its proposals."""
    if question.scenario.deployment.redundancy != "none":
        return of_record(planned, planned)
    return of_record(planned, measured_plan(with_deployment(question, redundancy="system")))


def _repeats() -> str:
    """How far repeated measurements differ, in percent, such as "5 %"."""
    return f"{significant(REPEATABILITY * 100, 2)} %"


def _assumed(record: Record) -> tuple[str, ...]:
    """What the record does not say."""
    named, instances = record.question.scenario.deployment.tp, record.option.gpus // record.tp
    split = (
        f"Each system runs {counted(instances, 'instance')} of TP{record.tp}."
        if named and record.tp == named[0]
        else "The record does not say how a system is split into instances: shown as one instance per system."
    )
    return (
        *record.question.assumptions,
        *calibration_note(record.question),
        f"{split} Engine and number format shown are not part of the record.",
        *assumptions.measured(record.question),
        AS_MEASURED,
    )


def _sentence(record: Record) -> str:
    """What the record lets the systems carry, or the limit that it does not meet."""
    needed, (low, high), latency = record.systems(), record.systems_range, record.latency()
    name = f"{count(needed)} x {record.option.name}"
    peak = requests_per_s(record.question.demand.peak_rps)
    missed = record.missed()
    if missed:
        return (
            f"The measured record does not meet the {missed[0].name} limit ({ms(missed[0].value_ms)}, limit "
            f"{ms(missed[0].limit_ms)}): at its rate, {name} would carry {peak}. Relax the limit or measure at a "
            "lower rate."
        )
    ttft = f" with TTFT {ms(latency.ttft_ms.at_percentile)}" if latency.ttft_ms.at_percentile is not None else ""
    e2e = f", E2E {ms(latency.e2e_ms.at_percentile)}" if latency.e2e_ms.at_percentile is not None else ""
    sure = f"{low} to {high} systems" if low != high else counted(high, "system")
    return (
        f"{name} ({counted(needed * record.option.gpus, 'GPU')}) serve {peak}{ttft}{e2e}, as measured; {sure} if "
        f"the measurement repeats within {_repeats()}."
    )


def _warnings(record: Record) -> tuple[PlanWarning, ...]:
    misses = (
        PlanWarning(
            code="measured_misses_limit",
            severity="error",
            source="measured record",
            message=f"Measured {one.name} {ms(one.value_ms)} is above the limit of {ms(one.limit_ms)}.",
        )
        for one in record.missed()
    )
    purchase = about_purchase(record.question, record.deployed(), record.option)
    return (*misses, *rules.about_model(record.question), *(w for w in purchase if w.code != "idle_gpus"))


def _excluded(record: Record) -> tuple[Excluded, ...]:
    return tuple(
        Excluded(
            gpu=record.gpu.id,
            closest="measured record",
            reason=f"Measured {one.name} {ms(one.value_ms)} (limit {ms(one.limit_ms)}).",
            relaxation=f"{article(one.name)} {one.name} limit of {ms(one.value_ms)}.",
        )
        for one in record.missed()
    )


def _explained(record: Record) -> Iterator[Explained]:
    """Figures of the record, and what follows from them."""
    question, measured, needed, latency = record.question, record.measured, record.systems(), record.latency()
    spares, cap = record.standing_by(), question.scenario.deployment.max_utilization
    source, rate, each = source_of(record.provenance()), measured.rps_per_system, record.option.gpus
    carried, peak = rate * cap, question.demand.peak_rps
    yield explain_demand(question)
    yield entry(
        "systems",
        count(needed),
        "ceil(peak / (measured requests/s per system x utilisation cap)) + spares",
        step("requests/s of a system x utilisation cap", f"{number(rate)} x {cap:g}", number(carried)),
        step("systems for the peak", f"{number(peak)} / {number(carried)}", number(peak / carried)),
        step("whole systems + spares", f"ceil({number(peak / carried)}) + {spares}", count(needed)),
        source=source,
    )
    yield entry(
        "gpus",
        count(needed * each),
        "systems x GPUs per system",
        step("", f"{needed} x {each}", count(needed * each)),
        source="catalogue: systems.csv",
    )
    yield entry("max_rps", requests_per_s(rate), "measured, per system", source=source)
    yield entry("ttft_ms", ms(latency.ttft_ms.at_percentile), "measured", source=source)
    yield entry("itl_ms", ms(latency.itl_ms.at_percentile), "measured", source=source)
    yield entry("e2e_ms", ms(latency.e2e_ms.at_percentile), "TTFT + (OSL - 1) x ITL", *_e2e(record), source=source)


def _e2e(record: Record) -> Iterator[str]:
    """TTFT and all gaps, where both were measured."""
    measured, latency = record.measured, record.latency().e2e_ms.at_percentile
    if measured.ttft_ms is not None and measured.itl_ms is not None and latency is not None:
        gaps = max(record.question.traffic.output_tokens - 1, 0)
        yield duration_step("", f"{number(measured.ttft_ms)} + {number(gaps)} x {number(measured.itl_ms)}", latency)
