"""Turns what the form holds into the dictionary that :class:`sizing.scenario.Scenario` validates."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from sharing.form.fields import FIELDS
from sharing.form.lengths import length_tokens, prompt
from sharing.form.problems import FieldFault, UnreadableInput, faults_of
from sharing.form.trace import TraceInUse
from sharing.form.typed import Values, needed, optional, parsed, part_of
from sizing.base.choices import Mode
from sizing.base.units import HOURS_PER_DAY
from sizing.scenario.schema import Scenario

OWN_GPU = "own_accelerator"
"""Id of the accelerator typed into the form."""


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

    Raises UnreadableInput with one sentence for a field that cannot be read. Ranges are the scenario's business.
    """
    return {
        "schema_version": 1,
        **part_of(values, ""),
        "model": _model(values, config, config_fault),
        "workload": _workload(values) | _of_trace(values, trace),
        "limits": _limits(values),
        "deployment": _deployment(values),
        "adapters": part_of(values, "adapters") or None,
        "measured": _measured(values) if values["meas"] else None,
        "benchmark": benchmark,
        "prices": _prices(values) | dict(price_book or {}),
    }


def _prices(values: Values) -> dict[str, Any]:
    """Own prices, each with the one system or GPU that it is of; a measured record names the system, too."""
    prices = part_of(values, "prices")
    for price, of, kind in (("usd_system", "usd_of", "system"), ("usd_hour", "usd_gpu", "GPU")):
        said_elsewhere = len(values["gpu"]) == 1 or (kind == "system" and values["meas"])
        if prices[FIELDS[price].leaf] is not None and not values[of] and not said_elsewhere:
            short = f"{FIELDS[price].label}: choose the {kind} that costs this"
            raise UnreadableInput(f"{short}.", short=short, instead={price: ""})
    return prices


def _model(values: Values, config: Mapping[str, Any] | None, config_fault: str) -> Any:
    match values["model_by"]:
        case "size":
            return part_of(values, "model")
        case "config":
            if config_fault:
                raise UnreadableInput(config_fault, instead={"model_by": "size", "size_b": "1"})
            if config is None:
                raise UnreadableInput(
                    "No config.json was given yet: upload, paste or fetch one, or choose a model from the "
                    "catalogue. (A link does not carry a config.json.)",
                    short="No config.json was given yet",
                    instead={"model_by": "size", "size_b": "1"},
                    empty=True,
                )
            return dict(config)
        case _:
            if not values["model"]:
                raise UnreadableInput(
                    "No model is chosen: pick one from the catalogue or type its Hugging Face id.",
                    short="No model is chosen",
                    instead={"model": "", "model_by": "size", "size_b": "1"},
                )
            return values["model"]


def _workload(values: Values) -> dict[str, Any]:
    if values["load"] == "sessions":
        return part_of(values, "workload") | {
            "sessions": part_of(values, "workload.sessions"),
            "arrivals": _arrivals(values),
            "mode": mode_of(values),
        }
    isl = prompt(values).total if values["compose"] else length_tokens(values, "isl")
    return part_of(values, "workload") | {
        "input_tokens": _spread(values, isl, "isl95"),
        "output_tokens": _spread(values, length_tokens(values, "osl"), "osl95"),
        "users": part_of(values, "workload.users") or None,
        "batch": part_of(values, "workload.batch") or None,
        "prefix_cached_tokens": _cached(values, isl),
        "images": _images(values),
        "arrivals": _arrivals(values),
        "mode": mode_of(values),
    }


def _images(values: Values) -> dict[str, Any] | None:
    """Images of a request; none where their number is empty."""
    number = optional(values, "pics")
    if number is None:
        return None
    return {"per_request": number, "width": needed(values, "pics_w"), "height": needed(values, "pics_h")}


def mode_of(values: Values) -> Mode:
    """How answers are waited for: nobody waits for a batch."""
    mode: Mode = values["mode"]
    return "offline" if values["load"] == "batch" else mode


def _of_trace(values: Values, trace: TraceInUse | None) -> dict[str, Any]:
    """The keys of the workload that a trace in use decides."""
    if trace is None or values["load"] == "sessions":
        return {}
    return {key: given for key, given in trace.workload.items() if trace.stands(key, values)}


def _arrivals(values: Values) -> str | dict[str, Any]:
    cv, hours = optional(values, "cv"), str(values["profile"]).strip()
    if hours and cv is not None:
        both = "Burstiness of arrivals and load by hour are both filled in"
        raise UnreadableInput(f"{both}: empty one of them.", short=both, instead={"profile": "", "cv": ""})
    if hours:
        return {"profile": hourly_values(hours)}
    return "poisson" if cv in (None, 1.0) else {"gamma": {"cv": cv}}


def hourly_values(text: str) -> list[float]:
    """24 values from text, apart by spaces, semicolons or commas. Raises UnreadableInput."""
    words = [word for word in re.split(r"[;,\s]+", text.strip()) if word]
    if len(words) != HOURS_PER_DAY:
        needs = f"Load by hour needs {HOURS_PER_DAY:.0f} values"
        raise UnreadableInput(
            f"{needs}, from midnight on; {len(words)} were entered.",
            short=f"{needs} ({len(words)} were entered)",
            instead={"profile": ""},
        )
    return [parsed("profile", word) for word in words]


def _spread(values: Values, length: float, p95_key: str) -> float | dict[str, float]:
    p95 = optional(values, p95_key)
    return length if p95 is None else {"p50": length, "p95": p95}


def _cached(values: Values, isl: float) -> float:
    text = str(values["cached"]).strip()
    if text.endswith("%"):
        share = parsed("cached", text.removesuffix("%"))
        if not 0 <= share < 100:
            must_be = "Prompt found in the prefix cache must be at least 0 % and less than 100 % of the prompt"
            raise UnreadableInput(
                f"{must_be}; {text} was entered.", short=f"{must_be} ({text} was entered)", instead={"cached": ""}
            )
        return isl * share / 100
    return optional(values, "cached") or 0.0


def _limits(values: Values) -> dict[str, Any]:
    """The limits, those left out that do not count where the reader waits for the end, or where nobody waits."""
    left_out = {"streaming": (), "sequential": ("ttft", "itl"), "offline": ("ttft", "itl", "e2e")}[mode_of(values)]
    return part_of({**values, **dict.fromkeys(left_out, "")}, "limits")


def _deployment(values: Values) -> dict[str, Any]:
    chosen = [gpu for gpu in values["gpu"] if gpu != OWN_GPU or values["own"]]
    own = [_own_gpu(values)] if values["own"] and (not chosen or OWN_GPU in chosen) else []
    drafts = part_of(values, "deployment.speculative_decoding")
    offload = part_of(values, "deployment.kv_offload")
    return part_of(values, "deployment") | {
        "gpus": chosen,
        "custom_gpus": own,
        "speculative_decoding": drafts or None,
        "kv_offload": offload or None,
    }


def _own_gpu(values: Values) -> dict[str, Any]:
    """The accelerator of one's own; how many are linked says nothing where there is no link."""
    stated = part_of(values, "deployment.custom_gpus")
    if not stated["link_gbs"]:
        stated["domain_gpus"] = None
    return {"id": OWN_GPU, **stated}


def _measured(values: Values) -> dict[str, Any]:
    if not values["m_sys"]:
        short = "The measured record names no system"
        instead = {"m_sys": "", "meas": False}
        raise UnreadableInput(
            f"{short}: choose the system the benchmark ran on.", short=short, instead=instead, empty=True
        )
    return part_of(values, "measured")


def faults(values: Values, **files: Any) -> tuple[FieldFault, ...]:
    """Every field that cannot be used; nothing where all can. ``files`` as for ``to_scenario``.

    A field that cannot be read is replaced, so that those behind it are read too.
    """
    known: list[FieldFault] = []
    blamed: set[str] = set()
    while True:
        try:
            Scenario.model_validate(to_scenario(values, **files))
        except UnreadableInput as bad:
            if not bad.fault.fields <= blamed:
                known.append(bad.fault)
            blamed |= bad.fault.fields
            if all(values[key] == value for key, value in bad.instead.items()):
                break
            values = {**values, **bad.instead}
            continue
        except ValidationError as error:
            known += [fault for fault in faults_of(error) if not fault.fields & blamed]
        break
    return tuple(known)
