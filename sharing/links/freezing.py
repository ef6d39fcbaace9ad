"""From a version in the library to the report that a link shows, and how today's answer differs from it."""

from dataclasses import dataclass
from datetime import datetime

from sharing.library.records import Version
from sharing.report.addresses import cleared
from sharing.report.answer import answer, answer_text
from sharing.report.build import Progress, build_report
from sharing.report.content import Fact, Facts, Released, Report, Section
from sharing.report.subject import subject_of
from sizing.base.version import ENGINE_VERSION
from sizing.catalog import data_version
from sizing.planning.answered import Answer, Planner


def frozen(
    version: Version,
    released: Released,
    *,
    made_at: datetime,
    author: str,
    planner: Planner | None = None,
    progress: Progress | None = None,
) -> Report:
    """The report of a version as it is computed now. Raises UnreadableVersion, SizingError."""
    scenario = version.scenario()
    customer = version.project.customer if version.project else ""
    subject = subject_of(Answer.of(scenario, planner), released, planner=planner)
    return build_report(subject, made_at=made_at, author=author, customer=customer, progress=progress)


@dataclass(frozen=True, kw_only=True)
class FrozenFigure:
    """One figure as it was stored and as it is computed now; empty where it is not in one of them."""

    label: str
    stored: str
    today: str


@dataclass(frozen=True, kw_only=True)
class Today:
    """The answer of today beside the stored one, with the versions behind it."""

    answer: str
    figures: tuple[FrozenFigure, ...]
    engine_version: str
    data_version: str

    @property
    def differing(self) -> int:
        """How many figures of today's answer differ from the stored one."""
        return sum(one.stored != one.today for one in self.figures)


def today(report: Report, version: Version, *, planner: Planner | None = None) -> Today:
    """What a stored report would say if it were made now, with the same money released.

    Raises UnreadableVersion, SizingError.
    """
    subject = subject_of(Answer.of(version.scenario(), planner), report.released, planner=planner)
    stored = _facts(next((section for section in report.sections if section.key == "answer"), None))
    now = _facts(answer(subject))
    figures = (
        FrozenFigure(label=label, stored=stored.get(label, ""), today=now.get(label, "")) for label in stored | now
    )
    return Today(
        answer=cleared(answer_text(subject)),
        figures=tuple(figures),
        engine_version=ENGINE_VERSION,
        data_version=data_version(),
    )


def _facts(section: Section | None) -> dict[str, str]:
    blocks = section.blocks if section else ()
    facts: list[Fact] = [fact for block in blocks if isinstance(block, Facts) for fact in block.facts]
    return {fact.label: fact.value for fact in facts}
