"""Three proposals to decide between: lowest cost, the plan, and the plan that survives the loss of a system."""

from sharing.report.answer import layout
from sharing.report.content import Block, Bullets, Cell, Column, Section, Table
from sharing.report.money import amounts
from sharing.report.names import engine_name, gpu_name, precision_name
from sharing.report.subject import ReportSubject
from sizing.base.deployed import Deployed
from sizing.base.format import counted
from sizing.base.result import Proposal
from sizing.planning.left_out import other_bases
from sizing.planning.proposal_text import NAMES, balanced_of, chance, gives_up, made_of, room


def proposals(subject: ReportSubject) -> Section | None:
    """The chapter; None where nothing keeps the limits."""
    balanced = balanced_of(subject.plan)
    if balanced is None:
        return None
    written = subject.written if subject.shows_money else None
    items = tuple(f"{NAMES[one.name]}. {gives_up(one, balanced, written)}" for one in subject.plan.proposals)
    blocks: tuple[Block, ...] = (_table(subject), Bullets(items=items))
    return Section(key="proposals", title="Three proposals", blocks=blocks)


def _table(subject: ReportSubject) -> Table:
    money = (amounts("Hardware a month"),) if subject.shows_money else ()
    columns = (
        Column(label="Proposal"),
        Column(label="Systems"),
        Column(label="Runs"),
        *money,
        Column(label="Limits hold at the peak"),
        Column(label="Room to grow"),
    )
    confidence = subject.plan.confidence
    note = "The plan of this document is the balanced one."
    if confidence is not None:
        note += f" Room to grow: how many times the planned load is carried with a chance of {confidence:g} %."
    if subject.shows_money:
        bases = other_bases([one.deployment for one in subject.plan.proposals], subject.question)
        note = " ".join(filter(None, [note, bases]))
    rows = tuple(_row(subject, one) for one in subject.plan.proposals)
    return Table(title="Lowest cost, balanced and resilient", columns=columns, rows=rows, note=note)


def _row(subject: ReportSubject, one: Proposal) -> tuple[Cell, ...]:
    usd = one.hardware_usd_per_month
    money = ((None if usd is None else subject.money.of(usd)),) if subject.shows_money else ()
    return NAMES[one.name], made_of(one.deployment), _runs(one.deployment, subject), *money, chance(one), room(one)


def _runs(deployed: Deployed, subject: ReportSubject) -> str:
    """ "3 instances (TP2) in FP8 on vLLM, H100 SXM"."""
    instances = counted(deployed.instances, "instance")
    format_and_engine = f"{precision_name(deployed.weight_precision)} on {engine_name(deployed.engine)}"
    return f"{instances} ({layout(deployed)}), {format_and_engine}, {gpu_name(deployed.gpu, subject.question)}"
