"""The widgets that choose a source and one of its deployments, and the form for one of the viewer's own."""

from dataclasses import dataclass
from typing import Any

import streamlit as st

from collectors.errors import InvalidSource
from sizing.base.format import counted
from ui import state
from ui.format import as_markdown, bullets
from ui.shell import draw_problems
from ui.shell.notes import draw_wrong_in_link, meant_in_link
from ui.sources import known as sources
from ui.sources.known import Broken, KnownSource, Listing, Origin
from ui.sources.reading import deployments_of

SOURCE, DEPLOYMENT = "source", "deployment"
ALL = "All deployments"
_WIDTH = 300
"""Width of the choices, in pixels: names of sources are long."""
_CONNECT, _FORM = "connect", "own_source"
_PROBLEMS = "own_source_problems"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The chosen source, or one deployment of it."""

    known: KnownSource
    deployment: str | None = None
    pending: bool = False
    """Whether the source has not yet said which deployments it has."""

    @property
    def title(self) -> str:
        """What it is called on the page."""
        return f"{self.known.name}: {self.deployment}" if self.deployment else self.known.name

    @property
    def link(self) -> dict[str, str]:
        """Its part of a link. A typed source is known by its name in this session only."""
        return {SOURCE: self.known.name} | ({DEPLOYMENT: self.deployment} if self.deployment else {})


def pick(*, deployments: bool = True) -> Picked:
    """Draw the choice of a source, and of a deployment where a source has several; say what is wrong with files."""
    known_sources = sources.listing()
    names = [known.name for known in known_sources.sources]
    # A typed one always stands in the address: should its server be lost, the next one names what went with it.
    at_first = next(known.name for known in known_sources.sources if known.origin is not Origin.TYPED)
    kept = state.linked(SOURCE, {name: name for name in names}, default=at_first)
    _say_what_is_unknown()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", width="content"):
        name = st.selectbox(
            "Source",
            names,
            key=SOURCE,
            **kept,
            required=True,
            width=_WIDTH,
            help="Files of the sources folder, addresses given on this page, and the built-in demo.",
        )
        known = known_sources.named(name) or known_sources.sources[0]
        picked = pick_deployment(known) if deployments else Picked(known=known)
        _draw_more(known, known_sources)
    return picked


def pick_deployment(known: KnownSource) -> Picked:
    """Choose among the deployments of a source; nothing is drawn for one that has a single one."""
    answer = deployments_of(known)
    listed = answer.good or ()
    if len(listed) < 2:
        return Picked(known=known, pending=answer.pending and answer.good is None)
    by_name = {one.name: one for one in listed}
    names = [*by_name, ALL]
    kept = state.linked(DEPLOYMENT, {name: name for name in names}, default=names[0])
    draw_wrong_in_link(DEPLOYMENT, "deployment of this source")
    name = st.selectbox(
        "Deployment",
        names,
        key=DEPLOYMENT,
        **kept,
        required=True,
        width=_WIDTH,
        help="One per model and namespace. All: their sum, which no plan is about.",
    )
    if name not in by_name:
        return Picked(known=known, deployment=ALL)
    return Picked(known=known.within(by_name[name].labels), deployment=name)


def _say_what_is_unknown() -> None:
    """A link to a source that this dashboard does not have."""
    for wanted in state.wrong_in_link(SOURCE):
        st.warning(
            f"This dashboard has no source “{as_markdown(wanted[:80])}”: addresses typed on this page are known "
            f"to their own session only. Another source is shown.{meant_in_link(SOURCE, [wanted])}",
            icon=":material/link:",
        )


def _draw_more(known: KnownSource, known_sources: Listing) -> None:
    with st.popover(
        "Connect",
        icon=":material/add_link:",
        key=_CONNECT,
        on_change="rerun",
        help="Read an address of your own, for this session.",
    ):
        if sources.may_type():
            _draw_form()
        else:
            st.markdown("Addresses cannot be typed here: this dashboard reads the files of its sources folder.")
    if known.origin is Origin.TYPED:
        st.button(
            "Forget",
            key="forget_source",
            icon=":material/close:",
            on_click=sources.forget_typed,
            args=(known,),
            help="Take this source, and its credentials, out of this session.",
        )
    if known_sources.broken:
        _draw_broken(known_sources.broken)


def _draw_broken(broken: tuple[Broken, ...]) -> None:
    with st.popover(f"{counted(len(broken), 'file')} cannot be used", icon=":material/error:"):
        for one in broken:
            problems = bullets(one.problems)
            st.markdown(f"**{as_markdown(one.file)}**\n{problems}")


def _draw_form() -> None:
    """URL, model and credentials of a source; what is wrong stands by the button, and what was typed stays."""
    with st.form(_FORM, border=False):
        st.radio(
            "What answers there",
            ["Prometheus", "Metrics pages"],
            key="connect_kind",
            horizontal=True,
            help="A Prometheus-compatible API (Prometheus, Thanos, Mimir, VictoriaMetrics), or /metrics "
            "pages of engines and GPU exporters, read every 5 s.",
        )
        st.text_area(
            "URL; several metrics pages: one per line",
            key="connect_urls",
            height=90,
            placeholder="http://prometheus:9090",
            help="Read by this server, not by your browser.",
        )
        st.text_input(
            "Model name (optional)",
            key="connect_model",
            placeholder="meta-llama/Llama-3.3-70B-Instruct",
            help="Selects one deployment, by the model label of its engine.",
        )
        st.text_input("Name (optional)", key="connect_name", help="What it is called in the choice of sources.")
        with st.expander("Credentials (optional, kept in this session only)", icon=":material/key:"):
            st.text_input("User name", key="connect_user")
            st.text_input("Password", key="connect_password", type="password")
            st.text_input("Bearer token", key="connect_token", type="password")
            st.text_input("Tenant (X-Scope-OrgID)", key="connect_tenant")
        draw_problems(st.session_state.pop(_PROBLEMS, ()))
        st.form_submit_button("Connect", type="primary", on_click=_add, icon=":material/add_link:")


def _add() -> None:
    """Keep what was typed; a problem is a sentence in the form."""
    text = {
        name: str(st.session_state.get(f"connect_{name}") or "").strip()
        for name in ("kind", "urls", "model", "name", "user", "password", "token", "tenant")
    }
    try:
        name = sources.add_typed(_raw(text))
    except InvalidSource as error:
        st.session_state[_PROBLEMS] = error.problems
        return
    st.session_state[SOURCE] = name
    st.session_state.pop(DEPLOYMENT, None)
    st.session_state[_CONNECT] = False
    for secret in ("password", "token"):
        st.session_state[f"connect_{secret}"] = ""


def _raw(text: dict[str, str]) -> dict[str, Any]:
    """The keys of a source file from the fields of the form."""
    urls = text["urls"].split()
    if not urls:
        raise InvalidSource(["URL: is empty; write http://host:port."])
    auth: dict[str, str] = {}
    for key, field in (("username", "user"), ("password", "password"), ("token", "token")):
        if text[field]:
            auth[key] = text[field]
    endpoint: dict[str, Any] = {"auth": auth} if auth else {}
    if text["tenant"]:
        endpoint["headers"] = {"X-Scope-OrgID": text["tenant"]}
    if text["kind"] == "Metrics pages":
        kind = {"scrape": {"targets": urls, **endpoint}}
    elif len(urls) > 1:
        raise InvalidSource(["URL: a Prometheus has one address; several are for metrics pages."])
    else:
        kind = {"prometheus": {"url": urls[0], **endpoint}}
    host = urls[0].split("://")[-1].split("/")[0].rpartition("@")[2]
    name = text["name"] or ", ".join(filter(None, [host, text["model"]]))
    raw: dict[str, Any] = {"name": name[:200] or "live", **kind}
    return raw | ({"selector": {"model_name": text["model"]}} if text["model"] else {})
