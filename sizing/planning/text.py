"""The plan as text, for a terminal."""

from collections.abc import Iterator

from commandline.percentiles import name_of
from sizing.base.deployed import Deployed
from sizing.base.format import a_month, count, counted, ms, requests_per_s, usd
from sizing.base.latency_and_cost import Latency
from sizing.base.result import Plan
from sizing.mixed.text import lines as mix_lines
from sizing.pipelines.text import lines as stage_lines
from sizing.planning.proposal_text import NAMES, balanced_of, chance, gives_up, made_of, room

_ALTERNATIVES = "Alternatives (latency at the asked percentile; estimates of the analytic load model, unless simulated)"


def _deployed(d: Deployed) -> str:
    """What is deployed, both kinds of instances where prefill and decode run apart."""
    runs = f"{d.gpu} {d.engine} {d.weight_precision}"
    names = ("prefill ", "decode ") if d.pools else ("",)
    kinds = zip(names, d.kinds, strict=True)
    parts = [f"{p.instances} {name}x {runs} TP{p.tp} PP{p.pp} EP{p.ep} DP{p.dp}" for name, p in kinds]
    limit = "" if d.batch_limit is None else f", batch limit {d.batch_limit}"
    return " + ".join(parts) + limit + and_drafts(d)


def and_drafts(deployed: Deployed) -> str:
    """ ", 1 draft token a step" of what guesses tokens ahead; nothing of what does not."""
    drafts = deployed.speculation
    if drafts is None:
        return ""
    return f", {counted(drafts.draft_tokens, 'draft token')} a step"


def why_no_alternatives(plan: Plan) -> str:
    """What a plan that lists no other deployment knows of others: not always that there is none."""
    if plan.decided_by == "measured":
        return "No other deployment was looked for: a measured record says what this one carries."
    if plan.deployment and plan.deployment.pools and plan.decided_by == "simulation":
        return "No other deployment is listed: those that only an estimate ranks above these pools are left out."
    return "No other deployment meets the limits with the hardware considered."


def _percentiles(one: Latency) -> str:
    return ", ".join(f"{name_of(percent)} {ms(one.at(percent))}" for percent in one.percents())


def _proposals(plan: Plan) -> Iterator[str]:
    """The proposals to decide between, two lines each."""
    balanced = balanced_of(plan)
    if balanced is None:
        return
    yield "Proposals"
    for one in plan.proposals:
        yield (
            f"  {NAMES[one.name]:12} {made_of(one.deployment)}, {a_month(one.hardware_usd_per_month)}; limits hold "
            f"{chance(one)}, room to grow {room(one)}"
        )
        yield f"  {'':12} {gives_up(one, balanced, usd)}"
    yield ""


def _assumed(plan: Plan) -> Iterator[str]:
    """What was assumed, one line each: also another model that stands for the one asked for."""
    if plan.assumptions:
        yield from ("", "Assumed", *(f"  {assumption}" for assumption in plan.assumptions))


def as_text(plan: Plan) -> str:
    """The plan for a terminal: answer, figures, warnings, alternatives, excluded."""
    lines = [plan.answer, ""]
    if plan.deployment and plan.latency and plan.per_instance:
        d = plan.deployment
        lines += [
            f"Deployment    {_deployed(d)} on {d.systems} x {d.system}",
            f"Capacity      {requests_per_s(plan.per_instance.max_rps)} per instance",
            f"Limited by    {plan.limited_by}",
            f"TTFT          {_percentiles(plan.latency.ttft_ms)}",
            f"ITL           {_percentiles(plan.latency.itl_ms)}",
            f"E2E           {_percentiles(plan.latency.e2e_ms)}",
            f"Cost          {a_month(plan.cost.hardware_usd_per_month if plan.cost else None)}",
            f"How sure      {plan.how_sure}",
            f"Source        {plan.source}",
            "",
        ]
    if plan.reuse is not None:
        lines += ["Prefix caches", *(f"  {sentence}" for sentence in plan.reuse.says), ""]
    lines += _proposals(plan)
    if plan.mixed:
        lines += [*mix_lines(plan.mixed, str), ""]
    if plan.pipeline:
        lines += [*stage_lines(plan.pipeline), ""]
    lines += [f"{w.severity.capitalize()}: {w.message}" for w in plan.warnings]
    lines += [*_assumed(plan)]
    if plan.alternatives:
        lines += ["", _ALTERNATIVES]
        lines += [
            f"  {count(a.deployment.gpus):>5} GPU{'s' if a.deployment.gpus > 1 else ' '}: {_deployed(a.deployment)}, "
            f"TTFT {ms(a.ttft_ms)}, ITL {ms(a.itl_ms)}, {a_month(a.hardware_usd_per_month)}"
            f"{', simulated' if a.decided_by == 'simulation' else ''}"
            for a in plan.alternatives
        ]
    if plan.excluded:
        lines += ["", "Excluded"]
        lines += [f"  {e.gpu:20} {e.reason} Relax: {e.relaxation}" for e in plan.excluded]
    return "\n".join(lines)
