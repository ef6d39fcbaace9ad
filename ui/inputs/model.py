"""Which model: one of the catalogue, a size in billions, or a config.json."""

import os
from collections.abc import Mapping
from typing import Any

import streamlit as st

from sharing.form.choices import model_ids
from sizing.base.errors import InvalidScenario, SizingError, UnknownName
from sizing.base.units import BILLION, MILLION
from sizing.catalog import resolve_model
from sizing.catalog.config_fields import MAX_CONFIG_BYTES
from sizing.catalog.described import about_release
from sizing.catalog.encoders import reject_encoder
from ui import state
from ui.format import as_markdown
from ui.inputs.faults import leave_place
from ui.inputs.widgets import dropdown, segments, text

MAX_CONFIG_MB = MAX_CONFIG_BYTES >> 20
"""What the reader takes, and so what the page offers."""

_FILE, _TEXT, _ID = "config_file", "config_text", "config_id"
"""Keys of the three ways to give a config.json."""

MAX_NAME = 120
"""Characters of a model's name that are kept."""


def draw_model() -> None:
    """The model question; what it needs depends on where the model comes from."""
    segments("model_by", labelled=False)
    match state.value("model_by"):
        case "size":
            text("size_name", "size_b")
        case "config":
            _config()
        case _:
            dropdown("model", accept_new_options=True, placeholder="Type to search")
            _draw_resolved(state.value("model"))


def _draw_resolved(typed: str | None) -> None:
    """What a name that is not one of the catalogue was read as; names to choose from where it could be several."""
    if not typed or typed in model_ids():
        return
    try:
        reject_encoder(typed)
        resolved = resolve_model(typed)
    except InvalidScenario:  # the page says why
        return
    except UnknownName as unknown:
        _draw_nearest(unknown)
        return
    known = "a dense model of the size in its name" if resolved.match == "size" else resolved.model.id
    doubt = as_markdown("".join(f" {sentence}." for sentence in about_release(resolved)))
    st.markdown(f":small[:material/search: “{as_markdown(typed)}” is sized as **{as_markdown(known)}**.{doubt}]")


def _draw_nearest(unknown: UnknownName) -> None:
    question = " Did you mean one of these?" if unknown.nearest else " Try a Hugging Face id, or its config.json."
    st.markdown(f":red[:material/error: :small[“{as_markdown(unknown.name)}” is no model we know.{question}]]")
    for number, near in enumerate(unknown.nearest):
        st.button(
            as_markdown(resolve_model(near).model.id),
            key=f"nearest_model_{number}",
            on_click=state.choose_model,
            args=(resolve_model(near).model.id,),
            help="Takes this model of the catalogue.",
            width="stretch",
        )


def _config() -> None:
    """A config.json by one of three ways; what is wrong with it stands below for as long as it lies there."""
    in_use = st.container()
    upload, paste, fetch = st.tabs(["Upload", "Paste", "Fetch"])
    with upload:
        given = st.file_uploader(
            f"config.json (up to {MAX_CONFIG_MB} MB)",
            type="json",
            max_upload_size=MAX_CONFIG_MB,
            key=_FILE,
            on_change=_from_upload,
            help="The file beside the weights in any Hugging Face repository.",
        )
    with paste:
        st.text_area(
            "Content of config.json",
            key=_TEXT,
            on_change=_from_paste,
            height=120,
            persist_state="session",
            help="Paste the whole file.",
        )
    with fetch:
        _fetch()
    leave_place("model_by")
    fault = state.config_fault()
    if fault is not None and fault.given_by == _FILE and given is None:  # an upload does not come along to other pages
        state.take_back_config()
        fault = None
    config = st.session_state.get(state.CONFIG)
    if config and fault is None:
        in_use.caption(f"In use: {as_markdown(config['name'])}")


def _fetch() -> None:
    st.text_input(
        "Hugging Face id",
        key=_ID,
        max_chars=120,
        on_change=state.take_back_config,
        persist_state="session",
        placeholder="organisation/model",
        help=f"Asks {_endpoint()} when the button is pressed.",
    )
    st.button(
        "Fetch",
        key="config_fetch",
        on_click=_from_hub,
        icon=":material/cloud_download:",
        help="The only request that leaves this machine, and only now.",
    )


def _from_upload() -> None:
    file = st.session_state[_FILE]
    if file is None:
        state.take_back_config()
    elif file.size > MAX_CONFIG_BYTES:
        sentence = f"{file.name} has {file.size / MILLION:.0f} MB, but a config.json has a few KB: upload that file."
        state.refuse_config(sentence, given_by=_FILE)
    else:
        _take(file.getvalue(), file.name, given_by=_FILE, says_which=False)


def _from_paste() -> None:
    pasted = st.session_state[_TEXT]
    if pasted.strip():
        _take(pasted, "pasted config.json", given_by=_TEXT, says_which=False)
    else:
        state.take_back_config()


def _from_hub() -> None:
    from collectors.errors import HubError
    from collectors.huggingface import fetch_config

    wanted = st.session_state[_ID].strip()
    try:
        content = fetch_config(wanted, endpoint=_endpoint(), token=os.environ.get("HF_TOKEN"))
    except HubError as error:
        state.refuse_config(str(error), given_by=_ID)
    else:
        _take(content, wanted, given_by=_ID)


def _take(content: str | bytes, name: str, *, given_by: str, says_which: bool = True) -> None:
    """Check and keep a config.json, given by the widget with this key; ``says_which``: its name is that of the model,
    otherwise what the file itself says stands before it."""
    from sizing.catalog.config_fields import load_config
    from sizing.catalog.config_json import generating, model_from_config

    try:
        config = load_config(content)
        model = generating(model_from_config(config, name=name))
    except SizingError as error:
        state.refuse_config(error.problems[0], given_by=given_by)
    else:
        shown = name if says_which else f"{_kind(config)} {model.params_total / BILLION:.3g}B ({name})"
        state.use_config({"config": config, "name": shown.strip()[:MAX_NAME]})


def _kind(config: Mapping[str, Any]) -> str:
    """What a config.json calls its architecture: "Llama" of "LlamaForCausalLM"; empty where it does not say."""
    classes = config.get("architectures")
    named = classes[0] if isinstance(classes, list) and classes else config.get("model_type", "")
    return named.partition("For")[0][: MAX_NAME // 2] if isinstance(named, str) and named.isprintable() else ""


def _endpoint() -> str:
    """The hub to ask: HF_ENDPOINT, as for every Hugging Face tool."""
    from collectors.huggingface import DEFAULT_ENDPOINT

    return os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT
