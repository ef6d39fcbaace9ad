"""A report written by hand: every kind of block, long names, missing values and texts that a spreadsheet could run."""

from datetime import UTC, datetime

from sharing.report.content import (
    Bullets,
    Chart,
    ChartSeries,
    Column,
    Draws,
    Fact,
    Facts,
    Mark,
    Paragraph,
    Released,
    Report,
    Section,
    Table,
)
from tests.inert import TYPED

EVIL = " ".join([*TYPED, "$a$ :red[b]"])
"""What a page must not obey."""
LONG_NAME = "Nemotron-Ultra-253B-Instruct-FP8-Dynamic-Quantised-For-The-Internal-Assistant-Of-The-Customer"
FORMULAS = ("=cmd|' /C calc'!A0", "+1+1", "@SUM(A1)", "-2+3", '=HYPERLINK("http://example.org","x")')

ANSWER = Section(
    key="answer",
    title="The answer",
    blocks=(
        Paragraph(text="One DGX H200 is enough; all 8 GPUs carry the load, as 4 instances of 2 GPUs each."),
        Facts(
            facts=(
                Fact(label="GPUs", value="8 H200", note="6 to 12 in 8 of 10 such cases"),
                Fact(label="p95 TTFT", value="557 ms", note="limit 1 s"),
                Fact(label="Cost", value="$6,650 a month", note="list prices"),
                Fact(label="Power", value="10.2 kW"),
            )
        ),
    ),
)
LATENCY = Section(
    key="latency",
    title="Latency and memory: what a user waits for [p95/p99]",
    blocks=(
        Chart(
            title="TTFT over the load",
            draws="line",
            x_label="requests/s",
            y_label="ms",
            x=(5.0, 10.0, 20.0, 25.0),
            series=(
                ChartSeries(name="p95", values=(210.0, 260.0, 557.0, None), low=(180.0, 220.0, 400.0, None)),
                ChartSeries(name="p50", values=(100.0, 110.0, 180.0, 240.0)),
            ),
            marks=(Mark(label="limit", axis="y", at=1000.0), Mark(label="planned", axis="x", at=20.0)),
            note="Simulated.",
        ),
        Chart(
            title="Memory of a GPU",
            draws="stacked",
            x_label="",
            y_label="GB",
            x=("GPU",),
            series=(ChartSeries(name="weights", values=(20.3,)), ChartSeries(name="KV cache", values=(110.9,))),
        ),
    ),
)
ALTERNATIVES = Section(
    key="alternatives",
    title="Alternatives",
    blocks=(
        Table(
            title="Other deployments",
            columns=(
                Column(label="Deployment"),
                Column(label="GPUs", holds="number", digits=0),
                Column(label="Cost", unit="USD/month", holds="money", digits=0),
                Column(label="p95 TTFT", unit="ms", holds="number"),
            ),
            rows=(
                *(
                    (f"{LONG_NAME} on {n} x H100", 8 * n, 6650.5 * n if n % 5 else None, 557.3 / n)
                    for n in range(1, 31)
                ),
                *((text, 1, 2.0, 3.0) for text in FORMULAS),
            ),
            note="All that meet the limits.",
        ),
    ),
)
COST = Section(
    key="cost",
    title="Cost over 36 months",
    blocks=(
        Chart(
            title="Cost by month",
            draws="line",
            x_label="month",
            y_label="USD",
            x=tuple(float(month) for month in range(1, 37)),
            series=(
                ChartSeries(name="own systems", values=tuple(6650.0 * month for month in range(1, 37))),
                ChartSeries(name="rented", values=tuple(9797.0 * month for month in range(1, 37))),
            ),
        ),
        Chart(
            title="Parts",
            draws="bar",
            x_label="",
            y_label="USD/month",
            x=("servers", "power", "staff"),
            series=(
                ChartSeries(name="own", values=(5358.0, 1292.0, 0.0), low=(5000.0, 800.0, 0.0), high=(6e3, 2e3, 0.0)),
            ),
        ),
    ),
)
SENSITIVITY = Section(
    key="sensitivity",
    title="Sensitivity",
    blocks=(
        Paragraph(text="What moves the answer most."),
        Chart(
            title="Cost a month at both ends of each input",
            draws="tornado",
            x_label="",
            y_label="USD/month",
            x=("Requests per second", "Length of prompts in tokens", "Price of electricity"),
            series=(
                ChartSeries(name="low end", values=(3325.0, 5000.0, 6500.0)),
                ChartSeries(name="high end", values=(13300.0, 9000.0, 6900.0)),
            ),
            base=6650.0,
        ),
    ),
)
RISKS = Section(
    key="risks",
    title="Risks",
    blocks=(
        Bullets(items=("One system is a single point of failure.", "<script>alert(1)</script> stays text.", *FORMULAS)),
        Facts(facts=tuple(Fact(label=f"Risk {n}", value=f"{n} of 10", note=LONG_NAME) for n in range(7))),
    ),
)
GLOSSARY = Section(
    key="glossary",
    title="Glossary",
    blocks=(
        Table(
            title="Terms",
            columns=(Column(label="Term"), Column(label="Meaning")),
            rows=tuple((f"Term {n}", f"What it means, number {n}. " * 6) for n in range(40)),
        ),
    ),
)


def report(**changes: object) -> Report:
    """The report, with ``changes``."""
    made = Report(
        title="=1+1 Acme: assistant for claims",
        customer="Acme AG",
        author="A. Architect",
        made_at=datetime(2026, 11, 22, 16, 0, tzinfo=UTC),
        engine_version="2.0.0",
        data_version="abc123",
        data_date="2026-11-20",
        released=Released.LIST_PRICES,
        answer="One DGX H200 (8 x H200 SXM 141GB) is enough; all 8 GPUs carry the load. "
        "$6,650 a month for the hardware alone, before power and operation.",
        sections=(ANSWER, LATENCY, ALTERNATIVES, COST, SENSITIVITY, RISKS, GLOSSARY),
    )
    return made.model_copy(update=changes)


def evil_chart(draws: Draws = "line", name: str = EVIL) -> Chart:
    """A chart whose every text is ``name``."""
    series = (ChartSeries(name=name, values=(1.0, None, 3.0), low=(0.5, None, 2.0), high=(2.0, None, 4.0)),)
    marks = (Mark(label=name, axis="y", at=2.0),)
    return Chart(
        title=name, draws=draws, x_label=name, y_label=name, x=("a", name, "c"), series=series, marks=marks, base=1.0
    )  # fmt: skip


def evil_report(text: str = EVIL) -> Report:
    """A small report of every kind of block, whose every text is or holds ``text``."""
    columns = (Column(label=text), Column(label="Cost", unit="USD", holds="money", digits=2), Column(label="n"))
    blocks = (
        Paragraph(text=text),
        Bullets(items=(text, "two")),
        Facts(
            facts=(
                Fact(label=text, value="8", note=text),
                Fact(label="TTFT", value="1.2\N{NO-BREAK SPACE}s"),
                Fact(label="Name", value=text),
            )
        ),
        Table(title=text, columns=columns, rows=((text, 1234.5, 0.123456), ("b", None, 3)), note=text),
        Table(title="Figures", columns=(Column(label="Part"), Column(label="GB")), rows=(("b", 1.5), ("c", None))),
        evil_chart(name=text),
    )
    return Report(
        title=text,
        customer=text,
        made_at=datetime(2026, 11, 22, 9, 30, tzinfo=UTC),
        engine_version="9.8",
        data_version="d7",
        data_date="2026-11-01",
        released=Released.NOTHING,
        answer=f"8 GPUs. {text}",
        sections=(Section(key="answer", title=text, blocks=blocks), Section(key="two", title="Second", blocks=())),
    )
