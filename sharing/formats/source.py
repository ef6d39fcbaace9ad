"""What a file of a report is made from."""

from dataclasses import dataclass, field
from datetime import datetime

from sharing.formats.brand import Brand, check_logo, configured_brand
from sharing.report.build import Progress, build_report
from sharing.report.content import Released, Report
from sharing.report.money import Dollars, ReportCurrency
from sharing.report.subject import subject_of
from sizing.decision.outcome import Answers
from sizing.planning.answered import Answer


@dataclass(frozen=True, kw_only=True)
class ReportSource:
    """A report with the answer behind it, with no more money in it than is released; ``money``: the currency of the
    report. ``customer_logo``: a PNG or JPEG; without one the customer's name stands in its place."""

    answer: Answer
    report: Report
    brand: Brand
    money: ReportCurrency = field(default_factory=Dollars)
    customer_logo: bytes = b""


def source_of(
    answer: Answer,
    *,
    released: Released,
    made_at: datetime,
    author: str = "",
    customer: str = "",
    money: ReportCurrency | None = None,
    answers: Answers | None = None,
    progress: Progress | None = None,
    brand: Brand | None = None,
    customer_logo: bytes = b"",
) -> ReportSource:
    """The report of an answer and everything that its files are made from; ``answers`` as for :func:`build_report`.

    At list prices the scenario is planned again where that differs. ``brand``: that of
    the configuration if left out. Raises InvalidScenario where the scenario cannot be planned without its own prices,
    BadBrand for its file, and for a ``customer_logo`` that no format can hold.
    """
    if customer_logo:
        check_logo(customer_logo, "The customer's logo")
    subject = subject_of(answer, released, money=money)
    report = build_report(
        subject, made_at=made_at, author=author, customer=customer, answers=answers, progress=progress
    )
    return ReportSource(
        answer=subject.answer,
        report=report,
        brand=configured_brand() if brand is None else brand,
        money=subject.money,
        customer_logo=customer_logo,
    )
