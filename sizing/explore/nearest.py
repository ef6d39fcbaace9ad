"""The measurements nearest to a planned deployment: published ones, and the scenario's own benchmark."""

from sizing.base.deployed import Deployed
from sizing.base.format import count
from sizing.catalog import gpus
from sizing.evidence.cases import NEAR_WORDS
from sizing.evidence.published import Near, measurements_alike, nearest
from sizing.evidence.sources import SOURCES
from sizing.explore.measured_points import own_measurements
from sizing.planning.answered import Answer
from sizing.planning.spread import intervals_of
from sizing.question.configuration import Configuration, deployed_configuration


def nearest_rows(answer: Answer, number: int) -> tuple[Near, ...]:
    """Measurements nearest to the deployment of a plan at its lengths and load; none without a deployment, or for an
    accelerator outside the catalogue."""
    plan, question = answer.plan, answer.question
    if plan.deployment is None or plan.per_instance is None or plan.deployment.gpu not in gpus():
        return ()
    row = deployed_configuration(plan.deployment, gpus()[plan.deployment.gpu])
    return nearest(
        question.model,
        row,
        concurrency=max(plan.per_instance.concurrency, 1.0),
        count=number,
        input_tokens=question.traffic.input_tokens,
        output_tokens=question.traffic.output_tokens,
    )


def narrowed_by(answer: Answer) -> str:
    """Which published rows make the intervals of a plan narrower than those of an unmeasured deployment, in a sentence;
    empty where none do."""
    plan, question = answer.plan, answer.question
    if plan.deployment is None or plan.deployment.gpu not in gpus():
        return ""
    row = deployed_configuration(plan.deployment, gpus()[plan.deployment.gpu])
    near = intervals_of(question, "decode", [row])[0].near
    if near == "none":
        return ""
    rows = measurements_alike(question.model, row)
    sources = dict.fromkeys(SOURCES[m.source].label if m.source in SOURCES else m.source for m in rows)
    what = f"{count(len(rows))} published measurements of {NEAR_WORDS[near]}"
    return f"The 80 % interval is narrower for {what} ({', '.join(sources)})."


def own_rows(answer: Answer, number: int) -> tuple[Near, ...]:
    """The points of the scenario's own benchmark nearest to the load of a plan; none where the plan is of another
    deployment than it measured."""
    one, deployed = answer.plan.per_instance, answer.plan.deployment
    if answer.scenario.benchmark is None or one is None or deployed is None:
        return ()
    near = own_measurements(answer.question, max(one.concurrency, 1.0))
    return tuple(n for n in near[:number] if _is(deployed, n.measurement.configuration))


def _is(deployed: Deployed, row: Configuration) -> bool:
    """Whether a configuration is the deployment of a plan, whatever its KV-cache format."""
    planned = (
        deployed.gpu,
        deployed.engine,
        deployed.weight_precision,
        deployed.tp,
        deployed.pp,
        deployed.ep,
        deployed.dp,
    )
    return planned == (row.gpu.id, row.engine.id, row.precision.id, row.tp, row.pp, row.ep, row.dp)
