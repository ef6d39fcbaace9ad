"""What was measured: model, GPU, engine, format and parallelism, filled in from the file and the scenario."""

from __future__ import annotations

from typing import Any

import streamlit as st

from collectors.benchmarks import BenchmarkPoint, Deployment
from sizing.errors import SizingError
from sizing.result import Deployed
from ui import cached, state
from ui.choices import label, labels
from ui.format import as_markdown

NOT_STATED = "not stated"
OF_SCENARIO = "of the scenario"
_WAYS = ("tp", "pp", "ep", "dp", "gpus")
_TITLES = {"tp": "TP", "pp": "PP", "ep": "EP", "dp": "DP", "gpus": "GPUs"}
_HELP = {
    "tp": "Tensor parallelism: GPUs that share every layer.", "pp": "Pipeline parallelism.",
    "ep": "Expert parallelism.", "dp": "Attention data parallelism inside one instance.",
    "gpus": "All that served the load, replicas together.",
}

_TOOLS = {"vllm": "vllm", "sglang": "sglang", "trtllm": "trtllm"}


def _key(name: str) -> str:
    return f"measured_{name}"


def prefill(curve: tuple[BenchmarkPoint, ...]) -> None:
    """Fill the fields with what the file says, and with the planned deployment where it does not (for callbacks)."""
    first, planned = curve[0], _planned()
    ways = {name: getattr(first, name) for name in _WAYS}
    tp = ways["tp"] or ways["gpus"] or (planned.tp if planned else 1)
    pp, dp = ways["pp"] or 1, ways["dp"] or 1
    _fill(
        model=_model_of(first.model),
        gpu=_resolved("gpu", first.gpu) or (planned.gpu if planned else "h100_sxm"),
        engine=_resolved("engine", first.engine) or _engine_of_tool(first.tool)
        or (planned.engine if planned else "vllm"),
        prec=_resolved("prec", first.weight_precision) or (planned.weight_precision if planned else "bf16"),
        kv=_resolved("kv", first.kv_precision) or NOT_STATED,
        tp=tp, pp=pp, ep=ways["ep"] or 1, dp=dp, gpus=max(ways["gpus"] or 0, tp * pp * dp),
    )


def _fill(**values: Any) -> None:
    for name, value in values.items():
        st.session_state[_key(name)] = value


def draw_measured(curve: tuple[BenchmarkPoint, ...], scenario_model: str) -> Deployment:
    """The fields; what they hold wins over the file."""
    with st.container(border=True, gap="small"):
        st.markdown("**What was measured**")
        named = curve[0].model
        said = f"The file calls the model “{as_markdown(named)}”. " if named else "The file names no model. "
        st.caption(f"{said}Check what is filled in: what the file does not say is taken from the planned deployment.")
        with st.grid(3, min_column_width=200, gap="small"):
            model = _choose("model", "Model", [OF_SCENARIO, *cached.model_ids()],
                            lambda m: f"Scenario: {scenario_model}" if m == OF_SCENARIO else m,
                            "The model that answered.")
            gpu = _choose("gpu", "GPU", list(cached.gpu_names()), lambda g: label("gpu", g), "What it ran on.")
            engine = _choose("engine", "Engine", list(labels("engine")), lambda e: label("engine", e),
                             "Serving engine.")
            weights = _choose("prec", "Weight precision", list(labels("prec")), lambda p: label("prec", p),
                              "Number format of the weights.")
            kv = _choose("kv", "KV-cache precision", [NOT_STATED, *labels("kv")], lambda k: label("kv", k).capitalize(),
                         "Not stated: calibrates either.")
        with st.grid(5, min_column_width=110, gap="small"):
            ways = {name: int(_count(name)) for name in _WAYS}
    return Deployment(
        model=scenario_model if model == OF_SCENARIO else model, gpu=gpu, engine=engine, weight_precision=weights,
        kv_precision=None if kv == NOT_STATED else kv, **ways,
    )


def _choose(name: str, title: str, options: list[str], shown: Any, help_text: str) -> str:
    return st.selectbox(title, options, key=_key(name), format_func=shown, help=help_text, persist_state="session")


def _count(name: str) -> int:
    return st.number_input(f"{_TITLES[name]} (GPUs)" if name != "gpus" else "GPUs (total)", min_value=1, step=1,
                           max_value=100_000 if name == "gpus" else 64, key=_key(name), help=_HELP[name],
                           persist_state="session")


def _engine_of_tool(tool: str) -> str | None:
    """The engine whose own tool this is; it can measure others too, hence only a guess to be checked."""
    return next((engine for mark, engine in _TOOLS.items() if tool.lower().startswith(mark)), None)


def _planned() -> Deployed | None:
    """The deployment of the last answer."""
    last = state.outcome().last
    return last.plan.deployment if last else None


def _model_of(name: str | None) -> str:
    """The model of the catalogue that the file means; else the scenario's."""
    from sizing.catalog import resolve_model

    try:
        found = resolve_model(name)[0].id if name else None
    except SizingError:
        found = None
    return found if found in cached.model_ids() else OF_SCENARIO


def _resolved(kind: str, name: str | None) -> str | None:
    """The id that a file's name stands for; None for one that is not known."""
    from sizing.catalog import resolve_gpu
    from sizing.engines import resolve_engine
    from sizing.precision import resolve_kv_precision, resolve_precision

    if not name:
        return None
    resolve = {"gpu": lambda n: resolve_gpu(n).id, "engine": lambda n: resolve_engine(n).id,
               "prec": lambda n: resolve_precision(n).id, "kv": resolve_kv_precision}[kind]
    try:
        found = resolve(name)
    except SizingError:
        return None
    return found if found in labels(kind) else None
