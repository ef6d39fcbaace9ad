"""Export, beside Save: a report of what is on the page as a file, built when it is asked for."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import streamlit as st
from pydantic import ValidationError

from sharing.audit import Act, record
from sharing.author import SYSTEM_USER
from sharing.document import file_stem
from sharing.errors import SharingError
from sharing.formats import FORMATS
from sharing.library.records import NAME_LENGTH
from sharing.report.content import Released
from sharing.report.prices import has_own_prices
from sizing.base.errors import SizingError
from sizing.decision.outcome import Answers
from sizing.scenario.schema import Scenario
from ui import state
from ui.access import actor
from ui.currency import Currency
from ui.library.exported import exported
from ui.shell import chosen_currency, draw_download, draw_problems, progress_bar, refreshed
from ui.state import FormAnswer

_PLANNING = "Planning what moves the answer"
_BUILT, _PROBLEM, _ANSWERS = "export_built", "export_problem", "export_answers"

PRICES: Mapping[Released, str] = {
    Released.NOTHING: "No prices",
    Released.LIST_PRICES: "List prices",
    Released.OWN_PRICES: "My own prices",
}


@dataclass(frozen=True, kw_only=True)
class ExportRequest:
    """What a file is to be made of; as long as it stays the same, the file that was built is offered."""

    scenario: str
    suffix: str
    released: Released
    customer: str
    customer_logo: bytes
    author: str
    currency: Currency


@dataclass(frozen=True, kw_only=True)
class Built:
    """A file with what it was made of."""

    wanted: ExportRequest
    name: str
    content: bytes


def draw_export() -> None:
    """A button that opens the few questions of a report."""
    popover = st.popover(
        "Export",
        icon=":material/description:",
        key="export",
        on_change="rerun",
        help="A report to send: the answer, its reasons, cost and evidence; or the manifests that deploy the plan.",
    )
    if not popover.open:
        return
    with popover:
        answer = state.outcome().answer
        if answer is None:
            st.caption("The inputs have no answer yet: correct them, then export.")
        elif answer.provisional:
            st.caption("The plan is still an estimate: the simulator is being prepared. Open this again in a moment.")
        else:
            refreshed(_draw, None)(answer)  # building leaves the rest of the page as it is
            st.divider()
            draw_manifests(answer, key="export_manifests")


def _draw(answer: FormAnswer) -> None:
    try:
        scenario = state.with_costs(answer.scenario)
    except ValidationError:
        draw_problems(["The constants typed on Cost cannot be: change them there, then export."])
        return
    wanted = _questions(scenario)
    if st.button("Build", key="export_build", type="primary", help="Takes a few seconds."):
        _build(answer, scenario, wanted)
    built: Built | None = st.session_state.get(_BUILT)
    if problem := st.session_state.get(_PROBLEM):
        draw_problems([problem])
    elif built is not None and built.wanted == wanted:
        mime = FORMATS[wanted.suffix].mime
        size = f"{max(len(built.content) / 1000, 1):,.0f} kB"
        st.download_button(
            f"Download {built.name}",
            built.content,
            built.name,
            mime,
            key="export_download",
            on_click="ignore",
            icon=":material/download:",
            help=f"{FORMATS[wanted.suffix].label}, {size}.",
        )


def _questions(scenario: Scenario) -> ExportRequest:
    suffix = st.selectbox(
        "Format",
        list(FORMATS),
        key="export_format",
        format_func=lambda suffix: FORMATS[suffix].label,
        persist_state="session",
        help="A web page opens in any browser, offline, and prints. Excel computes on when inputs change.",
    )
    choices = offered(scenario)
    released = st.radio(
        "Prices shown",
        choices,
        index=choices.index(Released.LIST_PRICES),
        key="export_prices",
        format_func=PRICES.__getitem__,
        horizontal=True,
        help="With list prices the scenario is planned again without prices, discounts and constants of your own.",
    )
    customer, author = _people()
    logo = st.file_uploader(
        "Customer's logo",
        type=["png", "jpg", "jpeg"],
        key="export_logo",
        help="Stands on the first page; without one the customer's name does.",
    )
    return ExportRequest(
        scenario=scenario.model_dump_json(),
        suffix=suffix,
        released=released,
        customer=customer,
        customer_logo=logo.getvalue() if logo else b"",
        author=author,
        currency=chosen_currency(),
    )


def _people() -> tuple[str, str]:
    """Ask for whom the report is, and who makes it."""
    customer = st.text_input(
        "For",
        value=str(st.session_state.get("save_customer", "")),
        key="export_customer",
        max_chars=NAME_LENGTH,
        help="The customer.",
        persist_state="session",
    )
    author = st.text_input(
        "By",
        value="" if actor().name == SYSTEM_USER else actor().name,
        key="export_author",
        max_chars=NAME_LENGTH,
        help="Who answers for it.",
        persist_state="session",
    )
    return customer.strip(), author.strip()


def _build(answer: FormAnswer, scenario: Scenario, wanted: ExportRequest) -> None:
    """Make the file, with a bar meanwhile. What goes wrong is a sentence."""
    from sharing.formats.source import source_of

    st.session_state.pop(_BUILT, None)
    st.session_state.pop(_PROBLEM, None)
    try:
        with progress_bar(_PLANNING) as progress:
            source = source_of(
                answer.at_costs(scenario.costs),
                released=wanted.released,
                made_at=datetime.now(UTC).replace(microsecond=0),
                author=wanted.author,
                customer=wanted.customer,
                customer_logo=wanted.customer_logo,
                money=wanted.currency,
                answers=_answers(wanted.scenario),
                progress=progress,
            )
        with st.spinner("Writing the file"):
            content = FORMATS[wanted.suffix].write(source)
        record(Act.EXPORTED, actor(), f"report {wanted.suffix}")
    except (SharingError, SizingError) as error:
        st.session_state[_PROBLEM] = str(error)
    else:
        name = f"{file_stem(scenario.name)}{wanted.suffix}"
        st.session_state[_BUILT] = Built(wanted=wanted, name=name, content=content)


def _answers(scenario: str) -> Answers:
    """What was planned for a file of the same scenario before, so that its next format waits for the writing alone."""
    kept: tuple[str, Answers] | None = st.session_state.get(_ANSWERS)
    if kept is None or kept[0] != scenario:
        kept = st.session_state[_ANSWERS] = (scenario, Answers())
    return kept[1]


def offered(scenario: Scenario) -> list[Released]:
    """What can be chosen: own prices only where there are some."""
    own = has_own_prices(scenario)
    return [kind for kind in PRICES if own or kind is not Released.OWN_PRICES]


def draw_manifests(answer: FormAnswer, *, key: str = "get_manifests") -> None:
    """A button that makes and downloads them; none where the plan deploys nothing."""
    if answer.plan.deployment is None:
        return
    draw_download(
        "Manifests (zip)",
        exported("manifests", lambda: manifests_zip(answer)),
        f"{file_stem(answer.scenario.name)}-manifests.zip",
        "application/zip",
        key=key,
        icon="deployed_code",
        help="Kubernetes, Helm, KServe, llm-d, Dynamo, Compose, alerts, dashboard, benchmarks: with the arguments that "
        "the plan assumed; README.md in it says what was left out and why. No prices are in it.",
    )


def manifests_zip(answer: FormAnswer) -> bytes:
    """All files of the plan; the same answer makes the same bytes."""
    from sharing.manifests import manifests, zipped

    return zipped(manifests(answer))
