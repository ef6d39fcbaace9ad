"""Which model: one of the catalogue, a size in billions, or a config.json."""

from __future__ import annotations

import json
from typing import Any

import streamlit as st

from sizing.errors import SizingError
from ui import state
from ui.inputs.widgets import dropdown, segments, text

MAX_CONFIG_BYTES = 2_000_000
"""The largest published config.json is about 100 KB."""


def draw_model() -> None:
    """The model question; what it needs depends on where the model comes from."""
    segments("model_by", labelled=False)
    match state.values()["model_by"]:
        case "size":
            text("size_name", "size_b")
        case "config":
            _config()
        case _:
            dropdown("model", accept_new_options=True, placeholder="Type to search")


def _config() -> None:
    given = st.session_state.get(state.CONFIG)
    st.caption(f"In use: {given['name']}" if given else "No config.json yet.")
    upload, paste, fetch = st.tabs(["Upload", "Paste", "Fetch"])
    with upload:
        st.file_uploader("config.json (up to 2 MB)", type="json", key="config_file", on_change=_from_upload,
                         help="The file beside the weights in any Hugging Face repository.")
    with paste:
        st.text_area("Content of config.json", key="config_text", on_change=_from_paste, height=120,
                     persist_state="session", help="Paste the whole file.")
    with fetch:
        st.text_input("Hugging Face id", key="config_id", max_chars=120, persist_state="session",
                      placeholder="organisation/model", help="Needs a connection to the configured endpoint.")
        st.button("Fetch", key="config_fetch", on_click=_from_hub, icon=":material/cloud_download:")
    if problem := st.session_state.pop("config_problem", ""):
        st.error(problem, icon=":material/error:")


def _from_upload() -> None:
    file = st.session_state["config_file"]
    if file is None:
        return
    if file.size > MAX_CONFIG_BYTES:
        _refuse(f"{file.name} has {file.size / 1e6:.0f} MB; a config.json is a few KB. Upload the file of that name.")
        return
    _take(file.getvalue(), file.name)


def _from_paste() -> None:
    pasted = st.session_state["config_text"]
    if pasted.strip():
        _take(pasted.encode(), "pasted config.json")


def _from_hub() -> None:
    from collectors.huggingface import HuggingFaceError, fetch_config

    wanted = st.session_state["config_id"].strip()
    try:
        _keep(fetch_config(wanted), wanted)
    except HuggingFaceError as error:
        _refuse(str(error))


def _take(content: bytes, name: str) -> None:
    """Check and keep a config.json given as text."""
    if len(content) > MAX_CONFIG_BYTES:
        _refuse("That is too long for a config.json, which is a few KB. Paste that file only.")
        return
    try:
        config = json.loads(content)
    except (ValueError, RecursionError):
        _refuse(f"{name} is not valid JSON: give the whole config.json, from the first brace to the last.")
        return
    _keep(config, name)


def _keep(config: Any, name: str) -> None:
    from sizing.catalog.config_json import model_from_config

    try:
        model_from_config(config, name=name)
    except SizingError as error:
        _refuse(str(error))
        return
    st.session_state[state.CONFIG] = {"config": config, "name": name[:120]}


def _refuse(problem: str) -> None:
    st.session_state["config_problem"] = problem
