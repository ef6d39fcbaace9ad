"""What was measured: model, GPU, engine, format and parallelism, filled in from the file and the scenario."""

from typing import Any

import streamlit as st

from collectors.benchmarks import BenchmarkRun, MeasuredSystem, engine_of_tool
from sharing.form.choices import gpu_names, label, labels, model_ids
from sizing.base.deployed import Deployed
from sizing.base.errors import SizingError
from sizing.catalog import resolve_gpu, resolve_model
from sizing.catalog.engines import resolve_engine
from sizing.catalog.precisions import resolve_kv_precision, resolve_precision
from sizing.evidence.layouts import gpus_holding, one_instance
from ui import state
from ui.format import as_markdown, listed

NOT_STATED = "not stated"
OF_SCENARIO = "of the scenario"
_PARALLELISM = ("tp", "pp", "ep", "dp", "gpus")
_NAMES = ("model", "gpu", "engine", "prec", "kv")
_ATTRIBUTE = {"prec": "weight_precision", "kv": "kv_precision"}
_TITLES = {
    "model": "Model",
    "gpu": "GPU",
    "engine": "Engine",
    "prec": "Weight precision",
    "kv": "KV-cache precision",
    "tp": "TP",
    "pp": "PP",
    "ep": "EP",
    "dp": "DP",
    "gpus": "GPUs",
}
_UNITS = {"tp": "GPUs", "pp": "GPUs", "ep": "GPUs", "dp": "ranks", "gpus": "total"}
_HELP = {
    "model": "The model that answered.",
    "gpu": "What it ran on.",
    "engine": "Serving engine.",
    "prec": "Number format of the weights.",
    "kv": "Not stated: calibrates either.",
    "tp": "Tensor parallelism: GPUs that share every layer.",
    "pp": "Pipeline parallelism.",
    "ep": "Expert parallelism.",
    "dp": "Attention data parallelism inside one instance.",
    "gpus": "All that served the load, replicas together.",
}
_MOST = {"tp": 128, "pp": 64, "ep": 128, "dp": 128, "gpus": 100_000}
"""The bounds of ``sizing.scenario.schema.Benchmark``."""

_ORIGIN = "measured_origin"


def _key(name: str) -> str:
    return f"measured_{name}"


def prefill(curve: tuple[BenchmarkRun, ...]) -> None:
    """Fill the fields with what the file says, and with the planned deployment where it does not (for callbacks).

    A name that is not known leaves its field empty: it is for the user to say what it means.
    """
    first, planned = curve[0], _planned()
    stated = {name: getattr(first, _ATTRIBUTE.get(name, name)) for name in (*_NAMES, *_PARALLELISM)}
    otherwise = {
        "model": OF_SCENARIO,
        "gpu": _resolved("gpu", planned.gpu) if planned else "h100_sxm",
        "engine": engine_of_tool(first.tool) or (planned.engine if planned else "vllm"),
        "prec": planned.weight_precision if planned else "bf16",
        "kv": NOT_STATED,
    }
    values: dict[str, Any] = {n: _resolved(n, stated[n]) if stated[n] else otherwise[n] for n in _NAMES}
    moe, fewest = _held_by(values["model"], values["prec"], values["gpu"])
    values |= _parallelism(stated, planned, moe=moe, fewest=fewest)
    for name, value in values.items():
        st.session_state[_key(name)] = value
    st.session_state[_ORIGIN] = {
        "unknown": {n: str(stated[n]) for n, value in values.items() if value is None and stated[n]},
        "assumed": [n for n in ("model", "gpu", "engine", "prec", "tp") if not stated[n]],
        "named": first.model,
    }


def _parallelism(stated: dict[str, Any], planned: Deployed | None, *, moe: bool, fewest: int) -> dict[str, int | None]:
    """TP, PP, EP, DP of one instance, whose weights ``fewest`` GPUs hold, and all GPUs; None for what is beyond all
    bounds."""
    beyond = {n: None for n in _PARALLELISM if (stated[n] or 1) > _MOST[n]}
    tp = stated["tp"] or stated["gpus"] or (planned.tp if planned else 1)
    pp, ep, dp = (stated[name] or 1 for name in ("pp", "ep", "dp"))
    gpus = stated["gpus"] or tp * pp * dp
    tp, ep, dp = one_instance(gpus, tp, pp, ep, dp, moe=moe, fewest=fewest)
    return {"tp": tp, "pp": pp, "ep": ep, "dp": dp, "gpus": gpus} | beyond


def draw_measured(curve: tuple[BenchmarkRun, ...], scenario_model: str) -> MeasuredSystem | None:
    """The fields; what they hold wins over the file. None while one of them is empty."""
    with st.container(border=True, gap="small"):
        st.markdown("**What was measured**")
        _say_where_from()
        with st.grid(3, min_column_width=200, gap="small"):
            model = _choose(
                "model", [OF_SCENARIO, *model_ids()], lambda m: f"Scenario: {scenario_model}" if m == OF_SCENARIO else m
            )
            gpu = _choose("gpu", list(gpu_names()), lambda g: label("gpu", g))
            engine = _choose("engine", list(labels("engine")), lambda e: label("engine", e))
            weights = _choose("prec", list(labels("prec")), lambda p: label("prec", p))
            kv = _choose("kv", [NOT_STATED, *labels("kv")], lambda k: label("kv", k).capitalize())
        with st.grid(5, min_column_width=110, gap="small"):
            parallelism = {name: _count(name) for name in _PARALLELISM}
        if None in (model, gpu, engine, weights, kv, *parallelism.values()):
            return None
    return MeasuredSystem(
        model=scenario_model if model == OF_SCENARIO else model,
        gpu=gpu,
        engine=engine,
        weight_precision=weights,
        kv_precision=None if kv == NOT_STATED else kv,
        tp=parallelism["tp"],
        pp=parallelism["pp"],
        ep=parallelism["ep"],
        dp=parallelism["dp"],
        gpus=parallelism["gpus"],
    )


def _say_where_from() -> None:
    """What the file says, what it does not, and what it says that is not known here."""
    origin = st.session_state.get(_ORIGIN, {"unknown": {}, "assumed": [], "named": None})
    empty = {n: stated for n, stated in origin["unknown"].items() if st.session_state.get(_key(n)) is None}
    if empty:
        named = listed([f"{_word(n)} “{as_markdown(stated[:80])}”" for n, stated in empty.items()])
        many = len(empty) > 1
        st.warning(
            f"The file says {named}, which {'are' if many else 'is'} not known here: choose what "
            f"{'they are' if many else 'it is'} to compare.",
            icon=":material/warning:",
        )
    elif missing := [_word(n) for n in (*_NAMES, *_PARALLELISM) if st.session_state.get(_key(n)) is None]:
        st.warning(f"Say {listed(missing)} to compare.", icon=":material/warning:")
    named = f"The file calls the model “{as_markdown(origin['named'])}”. " if origin["named"] else ""
    assumed = [_word(n) for n in origin["assumed"]]
    filled_in = f"Not in the file, and filled in from the scenario and its plan: {listed(assumed)}. " if assumed else ""
    st.caption(f"{named}{filled_in}Check all of it: it decides what is compared and calibrated.")


def _word(name: str) -> str:
    """A field inside a sentence."""
    title = _TITLES[name]
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def _choose(name: str, options: list[str], shown: Any) -> str | None:
    empty = st.session_state.get(_key(name)) is None
    return st.selectbox(
        _TITLES[name],
        options,
        key=_key(name),
        format_func=shown,
        help=_HELP[name],
        index=None if empty else 0,
        placeholder="Choose",
        persist_state="session",
    )


def _count(name: str) -> int | None:
    empty = st.session_state.get(_key(name)) is None
    return st.number_input(
        f"{_TITLES[name]} ({_UNITS[name]})",
        min_value=1,
        step=1,
        max_value=_MOST[name],
        key=_key(name),
        value=None if empty else "min",
        help=_HELP[name],
        persist_state="session",
    )


def _planned() -> Deployed | None:
    """The deployment of the last answer."""
    last = state.outcome().last
    return last.plan.deployment if last else None


def _held_by(chosen: str | None, precision: str | None, gpu: str | None) -> tuple[bool, int]:
    """Whether the model that was measured is a mixture of experts, and the fewest GPUs that hold it; 1: not known."""
    model = state.model() if chosen in (None, OF_SCENARIO) else resolve_model(chosen).model
    if model is None or precision is None or gpu is None:
        return model is not None and model.is_moe, 1
    return model.is_moe, gpus_holding(model, resolve_precision(precision), resolve_gpu(gpu))


def _resolved(kind: str, name: str) -> str | None:
    """The id that a file's name stands for; None for one that is not known. ``dynamo-`` names an orchestrator."""
    resolve = {
        "model": lambda n: resolve_model(n).model.id,
        "gpu": lambda n: resolve_gpu(n).id,
        "engine": lambda n: resolve_engine(n.lower().removeprefix("dynamo-")).id,
        "prec": lambda n: resolve_precision(n).id,
        "kv": resolve_kv_precision,
    }[kind]
    try:
        identifier = resolve(name)
    except SizingError:
        wanted = state.model() if kind == "model" else None
        return OF_SCENARIO if wanted and wanted.id == name else None
    return identifier if identifier in (model_ids() if kind == "model" else labels(kind)) else None
