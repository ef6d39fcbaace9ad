"""From what the form holds to the dictionary that :class:`sizing.scenario.Scenario` validates."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sharing.form.fields import FIELDS
from sharing.form.lengths import length_tokens, prompt
from sharing.form.numbers import times
from sharing.form.problems import BadInput
from sharing.form.trace import TraceInUse
from sharing.form.typed import Values, needed, optional, parsed
from sizing.base.units import HOURS_PER_DAY

OWN_GPU = "own_accelerator"
"""Id of the accelerator typed into the form."""

_DEGREE = re.compile(r"([TPED]P)(\d{1,3})", re.IGNORECASE)


def to_scenario(
    values: Values,
    *,
    config: Mapping[str, Any] | None = None,
    config_fault: str = "",
    benchmark: Mapping[str, Any] | None = None,
    price_book: Mapping[str, Any] | None = None,
    trace: TraceInUse | None = None,
) -> dict[str, Any]:
    """The scenario that the form describes; ``config``, ``benchmark`` and ``trace`` are the files that were
    given, ``config_fault`` what is wrong with the config.json that was given last, ``price_book`` the lists of prices.

    Raises BadInput with one sentence for a field that cannot be read. Ranges are the scenario's business.
    """
    return {
        "schema_version": 1,
        "name": str(values["name"]).strip() or "Untitled scenario",
        "model": _model(values, config, config_fault),
        "workload": _workload(values) | _of_trace(values, trace),
        "limits": _limits(values),
        "deployment": _deployment(values),
        "measured": _measured(values) if values["meas"] else None,
        "benchmark": benchmark,
        "prices": _prices(values) | dict(price_book or {}),
    }


def _prices(values: Values) -> dict[str, Any]:
    """Own prices, each with the one system or GPU that it is of; a measured record names the system, too."""
    named = {FIELDS[key].leaf: values[key] or None for key in ("usd_of", "usd_gpu")}
    amounts = _numbers(values, "usd_system", "usd_hour")
    for price, of, kind in (("usd_system", "usd_of", "system"), ("usd_hour", "usd_gpu", "GPU")):
        said_elsewhere = len(values["gpu"]) == 1 or (kind == "system" and values["meas"])
        if amounts[FIELDS[price].leaf] is not None and not values[of] and not said_elsewhere:
            short = f"{FIELDS[price].label}: choose the {kind} that costs this"
            raise BadInput(f"{short}.", short=short, instead={price: ""})
    return named | amounts | {"depreciation_years": needed(values, "years")}


def _model(values: Values, config: Mapping[str, Any] | None, config_fault: str) -> Any:
    match values["model_by"]:
        case "size":
            name = str(values["size_name"]).strip() or "Unnamed model"
            return {"name": name, "params_b": needed(values, "size_b")}
        case "config":
            if config_fault:
                raise BadInput(config_fault, instead={"model_by": "size", "size_b": "1"})
            if config is None:
                raise BadInput(
                    "No config.json was given yet: upload, paste or fetch one, or choose a model from the "
                    "catalogue. (A link does not carry a config.json.)",
                    short="No config.json was given yet",
                    instead={"model_by": "size", "size_b": "1"},
                    empty=True,
                )
            return dict(config)
        case _:
            if not values["model"]:
                raise BadInput(
                    "No model is chosen: pick one from the catalogue or type its Hugging Face id.",
                    short="No model is chosen",
                    instead={"model": "", "model_by": "size", "size_b": "1"},
                )
            return values["model"]


def _workload(values: Values) -> dict[str, Any]:
    isl = prompt(values).total if values["compose"] else length_tokens(values, "isl")
    load = {"rps": _peak, "average": _average, "users": _users, "batch": _batch}[values["load"]]
    return {
        "input_tokens": _spread(values, isl, "isl95"),
        "output_tokens": _spread(values, length_tokens(values, "osl"), "osl95"),
        **load(values),
        "growth_percent": optional(values, "growth") or 0.0,
        "prefix_cached_tokens": _cached(values, isl),
        "arrivals": _arrivals(values),
        "mode": mode_of(values),
    }


def mode_of(values: Values) -> str:
    """How answers are waited for: nobody waits for a batch."""
    return "offline" if values["load"] == "batch" else str(values["mode"])


def _of_trace(values: Values, trace: TraceInUse | None) -> dict[str, Any]:
    """The keys of the workload that a trace in use decides."""
    return {key: given for key, given in trace.workload.items() if trace.stands(key, values)} if trace else {}


def _arrivals(values: Values) -> str | dict[str, Any]:
    cv, hours = optional(values, "cv"), str(values["profile"]).strip()
    if hours and cv is not None:
        both = "Burstiness of arrivals and load by hour are both filled in"
        raise BadInput(f"{both}: empty one of them.", short=both, instead={"profile": "", "cv": ""})
    if hours:
        return {"profile": hourly_values(hours)}
    return "poisson" if cv in (None, 1.0) else {"gamma": {"cv": cv}}


def hourly_values(text: str) -> list[float]:
    """24 values from text, apart by spaces, semicolons or commas. Raises BadInput."""
    words = [word for word in re.split(r"[;,\s]+", text.strip()) if word]
    if len(words) != HOURS_PER_DAY:
        needs = f"Load by hour needs {HOURS_PER_DAY:.0f} values"
        raise BadInput(
            f"{needs}, from midnight on; {len(words)} were entered.",
            short=f"{needs} ({len(words)} were entered)",
            instead={"profile": ""},
        )
    return [parsed("profile", word) for word in words]


def _spread(values: Values, length: float, p95_key: str) -> float | dict[str, float]:
    p95 = optional(values, p95_key)
    return length if p95 is None else {"p50": length, "p95": p95}


def _peak(values: Values) -> dict[str, Any]:
    return {"peak_rps": needed(values, "rps")}


def _average(values: Values) -> dict[str, Any]:
    return {"average_rps": needed(values, "avg"), "peak_percentile": needed(values, "avg_pct")}


def _users(values: Values) -> dict[str, Any]:
    return {
        "users": {
            "daily_users": needed(values, "users"),
            "requests_per_user": needed(values, "per_user"),
            "hours": needed(values, "hours"),
            "peak_to_mean": needed(values, "p2m"),
        }
    }


def _batch(values: Values) -> dict[str, Any]:
    """A deadline that is left empty is the whole month."""
    numbers = {FIELDS[key].leaf: needed(values, key) for key in ("docs_month", "per_doc", "window", "week")}
    days = optional(values, "deadline")
    return {"batch": numbers if days is None else numbers | {FIELDS["deadline"].leaf: days}}


def _cached(values: Values, isl: float) -> float:
    text = str(values["cached"]).strip()
    if text.endswith("%"):
        share = parsed("cached", text.removesuffix("%"))
        if not 0 <= share < 100:
            must_be = "Prompt found in the prefix cache must be at least 0 % and less than 100 % of the prompt"
            raise BadInput(
                f"{must_be}; {text} was entered.", short=f"{must_be} ({text} was entered)", instead={"cached": ""}
            )
        return isl * share / 100
    return optional(values, "cached") or 0.0


def _limits(values: Values) -> dict[str, Any]:
    """The limits that count: all of them while streaming, E2E when the reader waits for the end, none offline."""
    counted = {"streaming": ("ttft", "itl", "e2e"), "sequential": ("e2e",), "offline": ()}[mode_of(values)]
    unlimited = {"ttft_ms": None, "itl_ms": None, "e2e_ms": None}
    return unlimited | _numbers(values, *counted) | {"percentile": needed(values, "pct")}


def _deployment(values: Values) -> dict[str, Any]:
    chosen = [gpu for gpu in values["gpu"] if gpu != OWN_GPU or values["own"]]
    own = [_own_gpu(values)] if values["own"] and (not chosen or OWN_GPU in chosen) else []
    return {
        "gpus": chosen,
        "engines": list(values["engine"]),
        "precisions": list(values["prec"]),
        "kv_precisions": list(values["kv"]),
        **{key: list(values[key]) for key in ("tp", "pp", "ep", "dp")},
        "serving": list(values["serving"]),
        "prefill": _layout(values, "pre"),
        "decode": _layout(values, "dec"),
        "batch_limits": _counts(values, "batch"),
        "custom_gpus": own,
        "measured_gpus_only": values["proven"],
        "accurate_formats_only": values["accurate"],
        "location": values["where"],
        "spare_instances": _whole(values, "spare"),
        "memory_fraction": _share(values, "mem"),
        "max_utilization": times(needed(values, "util"), FIELDS["util"].scale),
        "confidence": values["confidence"],
        "objective": values["obj"],
        "step_times": values["steps"],
        "routing": values["route"],
        "speculation": values["drafts"],
        "speculative_decoding": _speculation(values) if values["spec"] else None,
    }


def _share(values: Values, key: str) -> float | None:
    """A share typed in per cent; None where the field is empty."""
    typed = optional(values, key)
    return None if typed is None else times(typed, FIELDS[key].scale)


def _layout(values: Values, key: str) -> dict[str, int] | None:
    """Degrees of parallelism from text such as "TP4 PP2"."""
    words = str(values[key]).split()
    degrees = [_DEGREE.fullmatch(word) for word in words]
    if not all(degrees):
        short = f"{FIELDS[key].label}: “{str(values[key]).strip()[:40]}” is no parallelism"
        raise BadInput(f"{short}; enter for example {FIELDS[key].example}.", short=short, instead={key: ""})
    return {degree[1].lower(): int(degree[2]) for degree in degrees if degree} or None


def _speculation(values: Values) -> dict[str, Any]:
    shares = {key: times(needed(values, key), FIELDS[key].scale) for key in ("accept", "draft_cost")}
    return {"draft_tokens": _whole(values, "draft"), **{FIELDS[key].leaf: share for key, share in shares.items()}}


def _own_gpu(values: Values) -> dict[str, Any]:
    required = {key: needed(values, key) for key in ("own_mem", "own_bw", "own_fp16")}
    rates = ("own_bf16", "own_fp8", "own_int8", "own_fp4")
    further = {key: optional(values, key) for key in (*rates, "own_link", "own_watts", "own_usd")}
    named = {FIELDS[key].leaf: number for key, number in (required | further).items()}
    stated = further["own_link"] and str(values["own_domain"]).strip()
    linked = {"domain_gpus": _whole(values, "own_domain")} if stated else {}
    return {"id": OWN_GPU, "name": str(values["own_name"]).strip() or "Own accelerator", **linked, **named}


def _measured(values: Values) -> dict[str, Any]:
    if not values["m_sys"]:
        short = "The measured record names no system"
        instead = {"m_sys": "", "meas": False}
        raise BadInput(f"{short}: choose the system the benchmark ran on.", short=short, instead=instead, empty=True)
    return {
        "system": values["m_sys"],
        "rps_per_system": needed(values, "m_rps"),
        **_numbers(values, "m_ttft", "m_itl"),
        "source": str(values["m_source"]).strip(),
    }


def _numbers(values: Values, *keys: str) -> dict[str, float | None]:
    """Optional numbers by the last part of their scenario key."""
    return {FIELDS[key].leaf: optional(values, key) for key in keys}


def _whole(values: Values, key: str, *, default: int = 0) -> int | float:
    """A whole number as an int; anything else is left for the scenario to refuse."""
    number = optional(values, key)
    return default if number is None else int(number) if number == int(number) else number


def _counts(values: Values, key: str) -> list[int | float]:
    """Whole numbers separated by commas; anything else is left for the scenario to refuse."""
    parts = [part.strip() for part in re.split(r"[,;]", str(values[key])) if part.strip()]
    numbers = [parsed(key, part) for part in parts]
    return [int(number) if number == int(number) else number for number in numbers]
