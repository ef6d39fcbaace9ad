"""The traffic as measured, planned anew: what it would take against the plan and against what runs, in systems and
money."""

from reality.compare import Planned
from reality.diagnosis.actions import usd_per_month
from reality.diagnosis.result import Diagnosis, OfferedAction, Replanned
from sizing.base.format import count, usd
from sizing.base.result import Plan
from sizing.planning.answered import Answer


def with_new_plan(diagnosis: Diagnosis, planned: Planned, anew: Answer) -> Diagnosis:
    """The diagnosis with the answer to its scenario as measured, and the action to shift to it where it is another
    deployment than what runs."""
    replanned = _replanned(planned, anew)
    update: dict[str, object] = {"replanned": replanned}
    shift = _shift(diagnosis, planned, replanned)
    if shift is not None:
        kept = tuple(one for one in diagnosis.actions if one.kind != "none")
        update["actions"] = (*kept, shift)
    return diagnosis.model_copy(update=update)


def _replanned(planned: Planned, anew: Answer) -> Replanned:
    plan, before = anew.plan, planned.answer.plan
    new, old = plan.deployment, before.deployment
    label = (
        ""
        if new is None
        else " + ".join(
            f"{count(kind.instances)} x {row.label}" for kind, row in zip(new.kinds, anew.chosen, strict=False)
        )
    )
    now, then = _month(plan), _month(before)
    return Replanned(
        answer=plan.answer,
        deployment=label,
        same_configuration=new is not None and planned.row is not None and anew.chosen[-1].label == planned.row.label,
        instances=None if new is None else new.instances,
        gpus=None if new is None else new.gpus,
        system="" if new is None else new.system,
        systems=None if new is None else new.systems,
        usd_per_month=now,
        more_instances=None if new is None or old is None else new.instances - old.instances,
        more_gpus=None if new is None or old is None else new.gpus - old.gpus,
        more_systems=None if new is None or old is None else new.systems - old.systems,
        more_usd_per_month=None if now is None or then is None else now - then,
    )


def _month(plan: Plan) -> float | None:
    return None if plan.cost is None else plan.cost.hardware_usd_per_month


def _shift(diagnosis: Diagnosis, planned: Planned, one: Replanned) -> OfferedAction | None:
    """Another configuration that carries this traffic; none where it is the one that runs, whose number of replicas is
    an action already."""
    load, row = diagnosis.load_rps, planned.row
    if one.same_configuration or one.instances is None or one.gpus is None or not load or row is None:
        return None
    serving = next(
        (action.replicas - action.change for action in diagnosis.actions if action.replicas is not None), None
    )
    now = None if serving is None else usd_per_month(planned, serving)
    more = None if now is None or one.usd_per_month is None else one.usd_per_month - now
    money = "" if more is None else f", {usd(abs(more))} a month {'more' if more > 0 else 'less'} than what runs"
    return OfferedAction(
        kind="resize",
        replicas=one.instances,
        gpus=one.gpus,
        change=one.instances - (serving or one.instances),
        subject=one.deployment,
        capacity_within_limits_rps=None,
        enough=True,
        usd_per_month=more,
        weight=None,
        why=f"Planned anew, this traffic takes {one.deployment} ({one.systems} x {one.system}){money}. Shift to it.",
    )
