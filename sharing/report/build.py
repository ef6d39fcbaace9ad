"""A report from a scenario and its plan: every figure is that of the plan, its cost and its decision analysis."""

from collections.abc import Callable
from datetime import datetime

from sharing.report.addresses import without_internal_addresses
from sharing.report.alternatives import alternatives
from sharing.report.answer import answer, answer_text
from sharing.report.assumptions import assumptions, sources
from sharing.report.content import Report, Section
from sharing.report.cost import cost
from sharing.report.evidence import evidence, formulas
from sharing.report.glossary import glossary
from sharing.report.latency import latency
from sharing.report.materials import materials
from sharing.report.mixed import mixed
from sharing.report.pipeline import pipeline
from sharing.report.proposals import proposals
from sharing.report.questions import questions
from sharing.report.risks import excluded, risks
from sharing.report.sensitivity import sensitivity
from sharing.report.subject import ReportSubject
from sizing.catalog import data_date
from sizing.decision.outcome import Answers
from sizing.planning.business import load_in_words
from sizing.scenario.schema import Scenario

CHAPTERS: tuple[Callable[[ReportSubject], Section | None], ...] = (
    *(answer, proposals, materials, questions, latency, mixed, pipeline, alternatives, cost),
)
"""Chapters before the sensitivity, which takes most of the time; one that has nothing to say is None."""

AFTERWARDS: tuple[Callable[[ReportSubject], Section | None], ...] = (
    *(risks, assumptions, evidence, excluded, sources, formulas),
)
"""Chapters behind it; from the evidence on they are the appendix."""

UNNAMED = Scenario.model_fields["name"].default
"""What a scenario is called that nobody has named."""

Progress = Callable[[int, int], None]
"""Told how many of all steps are done."""


def title_of(subject: ReportSubject) -> str:
    """The name of the scenario; of one without, the model with its load."""
    name = subject.scenario.name.strip()
    if name not in ("", UNNAMED):
        return name
    model = subject.question.model.id.rpartition("/")[2]
    return f"{model}, {load_in_words(subject.question.demand)}"


def build_report(
    subject: ReportSubject,
    *,
    made_at: datetime,
    author: str = "",
    customer: str = "",
    answers: Answers | None = None,
    progress: Progress | None = None,
) -> Report:
    """The report of what is released of a scenario and its plan.

    ``answers``: plans of the sensitivity that are known already.
    """
    moved = sensitivity(subject, answers or Answers(), progress)
    drawn = [*(chapter(subject) for chapter in CHAPTERS), moved, *(chapter(subject) for chapter in AFTERWARDS)]
    sections = tuple(section for section in drawn if section is not None)
    report = Report(
        title=title_of(subject),
        customer=customer,
        author=author,
        made_at=made_at,
        engine_version=subject.plan.engine_version,
        data_version=subject.plan.data_version,
        data_date=data_date(),
        currency=subject.money.code,
        released=subject.released,
        answer=answer_text(subject),
        sections=sections,
    )
    terms = glossary(report)
    return without_internal_addresses(report.model_copy(update={"sections": (*sections, terms)}))
