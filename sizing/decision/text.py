"""Comparisons in words: names of inputs, the driver in one sentence, a table for a terminal and in Markdown."""

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from sizing.base.choices import RANKED_BY
from sizing.base.format import ALL_DIGITS, count, counted, ms, significant, usd, with_noun
from sizing.base.markdown import as_line
from sizing.catalog import gpus
from sizing.catalog.engines import engines
from sizing.catalog.payment_terms import ASSUMED
from sizing.catalog.precisions import precisions
from sizing.decision.added_up import LEAST_DIFFERENCE, comparison_added_up
from sizing.decision.comparison import Compared, Comparison, undercut_by
from sizing.decision.outcome import Outcome
from sizing.economics.fleet_text import Money

NAMES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "model": ("model", ""),
        "workload.users.daily_users": ("daily users", "users"),
        "workload.users.requests_per_user": ("requests per user", "requests"),
        "workload.users.hours": ("hours a day", "h"),
        "workload.users.peak_to_mean": ("peak over mean", "times"),
        "workload.peak_rps": ("peak load", "requests/s"),
        "workload.average_rps": ("average load", "requests/s"),
        "workload.batch.documents_per_month": ("documents a month", "documents"),
        "workload.batch.requests_per_document": ("requests per document", "requests"),
        "workload.batch.deadline_days": ("deadline", "days"),
        "workload.batch.hours_per_day": ("working window", "h a day"),
        "workload.batch.days_per_week": ("days of a week", "days"),
        "workload.sessions.sessions_at_once": ("sessions at once", "sessions"),
        "workload.sessions.sessions_per_hour": ("sessions an hour", "sessions"),
        "workload.sessions.turns": ("turns of a session", "turns"),
        "workload.sessions.first_prompt_tokens": ("first prompt", "tokens"),
        "workload.sessions.shared_prompt_tokens": ("prompt that all sessions share", "tokens"),
        "workload.sessions.shared_prompts": ("texts that sessions share", "texts"),
        "workload.sessions.user_tokens": ("user's text a turn", "tokens"),
        "workload.sessions.tool_tokens": ("results of tools a turn", "tokens"),
        "workload.sessions.answer_tokens": ("answer of a turn", "tokens"),
        "workload.sessions.think_time_s": ("time to think", "s"),
        "workload.sessions.tool_time_s": ("time of tools", "s"),
        "workload.input_tokens": ("prompt length", "tokens"),
        "workload.output_tokens": ("output length", "tokens"),
        "workload.prefix_cached_tokens": ("cached part of the prompt", "tokens"),
        "workload.images.per_request": ("images per request", "images"),
        "workload.images.width": ("width of an image", "pixels"),
        "workload.images.height": ("height of an image", "pixels"),
        "workload.pages": ("scanned pages per request", "pages"),
        "workload.audio_seconds": ("sound per request", "s"),
        "adapters.number": ("adapters", "adapters"),
        "adapters.rank": ("rank of the adapters", ""),
        "adapters.popularity": ("popularity of the adapters (Zipf exponent)", ""),
        "adapters.resident": ("adapters resident per instance", "adapters"),
        "adapters.targets": ("adapted layers", ""),
        "adapters.load_gbs": ("loading of adapters", "GB/s"),
        "workload.growth_percent": ("growth", "%"),
        "workload.peak_percentile": ("seconds that the peak covers", "%"),
        "workload.arrivals": ("arrivals", ""),
        "workload.mode": ("mode", ""),
        "limits.ttft_ms": ("TTFT limit", "ms"),
        "limits.itl_ms": ("ITL limit", "ms"),
        "limits.e2e_ms": ("E2E limit", "ms"),
        "limits.percentile": ("percentile", ""),
        "deployment.gpus": ("GPU types", ""),
        "deployment.engines": ("engines", ""),
        "deployment.precisions": ("weight formats", ""),
        "deployment.kv_precisions": ("KV-cache formats", ""),
        "deployment.location": ("location", ""),
        "deployment": ("place, GPU, format and engine", ""),
        "deployment.confidence": ("how sure", "%"),
        "deployment.objective": ("ranked by", ""),
        "deployment.serving": ("serving", ""),
        "deployment.tp": ("tensor parallelism", "GPUs"),
        "deployment.pp": ("pipeline parallelism", "GPUs"),
        "deployment.ep": ("expert parallelism", "GPUs"),
        "deployment.dp": ("attention data parallelism", "ranks"),
        "deployment.batch_limits": ("batch limits", "requests"),
        "deployment.measured_gpus_only": ("only GPU types with published benchmarks", ""),
        "deployment.accurate_formats_only": ("only formats that keep accuracy", ""),
        "deployment.step_times": ("step times from", ""),
        "deployment.routing": ("routing", ""),
        "deployment.speculation": ("published drafts", ""),
        "deployment.speculative_decoding.draft_tokens": ("draft tokens a step", "tokens"),
        "deployment.speculative_decoding.acceptance": ("acceptance of draft tokens", ""),
        "deployment.speculative_decoding.draft_cost": ("cost of a draft token", "decode steps"),
        "deployment.spare_instances": ("spare instances", "instances"),
        "deployment.redundancy": ("what may fail", ""),
        "deployment.max_utilization": ("utilisation cap", ""),
        "deployment.memory_fraction": ("GPU memory that the engine may use", ""),
        "deployment.slice": ("slice of a GPU", ""),
        "deployment.mixed": ("fleets for one load, at most", ""),
        "deployment.weights_from": ("weights read from", ""),
        "deployment.weights_gb_per_s": ("storage bandwidth", "GB/s"),
        "deployment.weights_loader": ("weights loaded by", ""),
        "deployment.standby": ("instances not needed wait", ""),
        "deployment.kv_offload.tier": ("second tier for the KV cache", ""),
        "deployment.kv_offload.gib_per_gpu": ("size of the second tier", "GiB per GPU"),
        "deployment.kv_offload.gbs_per_gpu": ("bandwidth of the second tier", "GB/s per GPU"),
        "deployment.kv_offload.latency_ms": ("latency of the second tier", "ms"),
        "deployment.kv_offload.usd_per_gib": ("price of the second tier", "USD/GiB"),
        **{
            f"deployment.{role}.{degree}": (f"{words} of {role} instances", unit)
            for role in ("prefill", "decode")
            for degree, words, unit in (
                ("tp", "tensor parallelism", "GPUs"),
                ("pp", "pipeline parallelism", "GPUs"),
                ("ep", "expert parallelism", "GPUs"),
                ("dp", "attention data parallelism", "ranks"),
            )
        },
        "workload.prefix_reuse.trace": ("trace of the prefix cache", ""),
        "workload.prefix_reuse.capacity_tokens": ("tokens that the caches hold", ""),
        "workload.prefix_reuse.hit_shares": ("hits at these sizes", ""),
        "workload.prefix_reuse.session_hit_shares": ("hits where sessions stay with an instance", ""),
        "workload.prefix_reuse.requests_at_once": ("requests at once", "requests"),
        "workload.prefix_reuse.different_shares": ("part of their tokens that differs", ""),
        "workload.prefix_reuse.reused_share": ("part of prompts that comes again", ""),
        "prices.depreciation_years": ("depreciation", "years"),
        "prices.system_usd": ("price of a system", "USD"),
        "prices.gpu_hour_usd": ("price of a GPU-hour", "USD"),
        "prices.rent_percent": ("prices of rented instances", "% of now"),
        "costs.electricity_usd_per_kwh": ("electricity", "USD/kWh"),
        "costs.pue": ("PUE", ""),
        "costs.power_utilization": ("share of maximum power at work", ""),
        "costs.idle_power_share": ("share of maximum power when idle", ""),
        "costs.switches_percent": ("switches, share of servers", "%"),
        "costs.storage_percent": ("storage, share of servers", "%"),
        "costs.support_percent_per_year": ("support a year", "%"),
        "costs.capital_charge_percent_per_year": ("capital charge a year", "%"),
        "costs.colocation_usd_per_kw_month": ("colocation", "USD/kW/month"),
        "costs.licence_usd_per_gpu_year": ("licence per GPU and year", "USD"),
        "costs.licence_usd_per_gpu_hour": ("licence per GPU-hour", "USD"),
        "costs.staff_usd_per_month": ("staff a month", "USD"),
        "costs.staff_rented_usd_per_month": ("staff of rented instances a month", "USD"),
        "costs.discount_percent_per_year": ("discount rate", "% a year"),
        "costs.residual_percent": ("residual value", "% of the purchase"),
        "costs.leave_out": ("parts left out", ""),
        "costs.ramp_up_months": ("ramp-up", "months"),
        "costs.growth_percent_per_year": ("growth of the load", "% a year"),
        **{f"costs.{name}": (words, "%") for name, words in ASSUMED.items()},
        "costs.burst_start_up_minutes": ("start-up time of rented instances", "minutes"),
        "costs.carbon_g_per_kwh": ("carbon of electricity", "g/kWh"),
        "costs.region": ("region", ""),
        "costs.facility": ("where systems stand", ""),
        "costs.licence": ("licences", ""),
        "costs.purchase": ("payment term", ""),
        "costs.hybrid_base": ("base of a hybrid", ""),
        "costs.cloud_provider": ("cloud provider", ""),
        "costs.cloud_region": ("cloud region", ""),
        "costs.spot_interruption_percent": ("cost of spot interruptions", "%"),
        "costs.spot_interrupted_percent_per_month": ("spot instances taken back a month", "%"),
        "costs.spot_zones": ("zones of spot instances", "zones"),
        "costs.spot_held_percent": ("time that spot instances hold", "%"),
        "costs.routing.percent": ("requests sent elsewhere", "%"),
        "costs.routing.model": ("model for requests sent elsewhere", ""),
        **{
            f"costs.{place}api.{key}": (f"{words}{behind}", unit)
            for place, behind in (("", ""), ("routing.", " for requests sent elsewhere"))
            for key, words, unit in (
                ("provider", "API provider", ""),
                ("model", "API model", ""),
                ("input_usd_per_mtok", "API price of input", "USD per million tokens"),
                ("cached_input_usd_per_mtok", "API price of cached input", "USD per million tokens"),
                ("output_usd_per_mtok", "API price of output", "USD per million tokens"),
            )
        },
        "prices.system": ("system with a price of its own", ""),
        "prices.gpu": ("GPU with a price of its own", ""),
        "prices.listed.systems": ("listed prices of systems", ""),
        "prices.listed.gpu_hours": ("listed prices of GPU-hours", ""),
        "prices.negotiated.systems": ("negotiated prices of systems", ""),
        "prices.negotiated.gpu_hours": ("negotiated prices of GPU-hours", ""),
    }
)
"""Names and units of scenario keys; one without a name is called by its key."""

GPU_CHANGE = "Change in GPUs"
"""Head of a column of :func:`gpu_change`."""

MORE_FOR_LESS = "More GPUs that cost less in all are of a cheaper type, or stand in cheaper systems."
"""The note beside a row that saves money with more GPUs."""


def name_of(key: str) -> str:
    """An input as people call it."""
    return NAMES.get(key, (key, ""))[0]


_PLURAL = re.compile(r"(?<=[A-Za-z]{3})s\b")
"""The s of the word that a unit counts; "ms" and "GB/s" have none."""


def unit_of(key: str) -> str:
    """The unit of an input; empty where it has none."""
    return NAMES.get(key, ("", ""))[1]


def shown(key: str, value: Any) -> str:
    """A value of an input with its unit."""
    if value is None:
        return "none"
    if key == "deployment.objective" and value in RANKED_BY:
        return RANKED_BY[value]
    if key == "model":
        return str(value)
    if named := _CALLED.get(key):
        return ", ".join(map(named, value)) or "all"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        number, unit = count(value) if abs(value) >= 1000 else significant(value), unit_of(key)
        # Units stand in the plural, as axes have them: "requests/s", "decode steps".
        return f"{number} {_PLURAL.sub('', unit, count=1) if number == '1' else unit}".rstrip()
    if isinstance(value, list | tuple):
        return ", ".join(str(v) for v in value) or "all"
    if isinstance(value, dict):
        return ", ".join(f"{k} {shown('', v)}" for k, v in value.items())
    return str(value).replace("_", " ")


def in_words(outcome: Outcome, money: Money = usd) -> str:
    """What would be ordered; ``money`` writes amounts."""
    if not outcome.feasible:
        return "nothing serves it within the limits"
    cost = "price unknown" if outcome.usd_per_month is None else f"{money(outcome.usd_per_month)} a month"
    return f"{count(outcome.gpus)} x {outcome.gpu_name}, {precision_name(outcome.precision)}, {cost}"


def gpu_change(saved: int | None) -> str:
    """How many GPUs more or fewer than now, ``saved`` being how many fewer; empty where one of both is not known."""
    if saved is None:
        return ""
    return f"{count(abs(saved))} {'fewer' if saved > 0 else 'more'}" if saved else "as many"


def driver_sentence(one: Compared, first: str, money: Money = usd) -> str:
    """The largest driver of the difference to the first scenario in one sentence; ``money`` writes amounts."""
    if not one.outcome.feasible:
        return f"{one.name}: nothing serves it within the limits."
    if not one.drivers:
        return f"{one.name} and {first} ask for the same."
    largest = one.drivers[0]
    if one.usd_more is not None and abs(one.usd_more) < LEAST_DIFFERENCE:
        return f"{one.name}: costs as much as {first}{_more_in_use(one.gpus_more)}."
    if one.usd_more is not None:
        total, part = _signed(one.usd_more, money), _of(largest.usd_per_month, one.usd_more, money)
    elif one.gpus_more == 0:
        return f"{one.name}: needs as many GPUs as {first}."
    elif one.gpus_more is not None:
        total, part = _signed(one.gpus_more, None), _of(largest.gpus, one.gpus_more, None)
    else:
        return f"{one.name}: the difference to {first} is not known."
    others = len(one.drivers) - 1
    if part is None:
        why = "which input drives it cannot be told, because nothing serves some mixtures of both"
        return f"{one.name}: {total} than {first}; {why}."
    if not others:
        return f"{one.name}: {total} than {first}."
    rest = "the other input" if others == 1 else f"the other {count(others)} inputs"
    return f"{one.name}: {total} than {first}; {part} with {name_of(largest.key)}, the rest with {rest}."


def undercut_sentence(comparison: Comparison) -> str:
    """Why another GPU type costs less than the plan's choice; empty where none does."""
    cheaper = undercut_by(comparison)
    if not cheaper:
        return ""
    names = ", ".join(dict.fromkeys(one.outcome.gpu_name for one in cheaper))
    first = comparison.scenarios[0]
    return (
        f"{names} costs less here although {first.name} may have it, too: a plan chooses hardware by its price alone, "
        f"and with power and operation the order is another. To size with it, choose {names} as the GPU type."
    )


def gpu_name(gpu_id: str) -> str:
    """The name of a GPU of the catalogue; another one stands for itself."""
    known = gpus().get(gpu_id)
    return gpu_id if known is None else known.name


def precision_name(precision: str) -> str:
    """The label of a weight format."""
    known = precisions().get(precision)
    return precision if known is None else known.label


def engine_name(engine: str) -> str:
    """The label of an engine."""
    known = engines().get(engine)
    return engine if known is None else known.label


_CALLED: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"deployment.gpus": gpu_name, "deployment.engines": engine_name, "deployment.precisions": precision_name}
)
"""How the catalogue calls what these inputs list."""


def _more_in_use(gpus: int | None) -> str:
    """GPUs that make no difference to the cost, as those of systems that are bought in any case."""
    if not gpus:
        return ""
    return f", with {counted(abs(gpus), 'fewer GPU' if gpus < 0 else 'more GPU')} in use"


def _of(part: float | None, whole: float, money: Money | None) -> str | None:
    """What of a ``whole`` difference one input brings, of GPUs where no ``money`` writes it: a part of it, or what goes
    the other way."""
    if part is None:
        return None
    amount = with_noun(significant(abs(part)), "GPU") if money is None else money(abs(part))
    if part * whole >= 0:
        return f"{amount} of it comes"
    return f"{amount} {'less' if part < 0 else 'more'} comes"


def _signed(more: float, money: Money | None) -> str:
    amount = counted(abs(more), "GPU") if money is None else f"{money(abs(more))} a month"
    return f"{amount} {'less' if more < 0 else 'more'}"


def as_markdown(comparison: Comparison) -> str:
    """The comparison as Markdown tables."""
    comparison = comparison_added_up(comparison)
    names = [as_line(one.name) for one in comparison.scenarios]
    head = [f"| | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    inputs = [
        f"| {name_of(d.key)} | {' | '.join(as_line(shown(d.key, v)) for v in d.values)} |"
        for d in comparison.differences
    ]
    answers = [f"| {label} | {' | '.join(cells)} |" for label, cells in _answers(comparison)]
    return "\n".join(
        [
            "## Inputs that differ",
            "",
            *head,
            *inputs,
            "",
            "## Answers",
            "",
            *head,
            *answers,
            "",
            *map(as_line, driver_sentences(comparison)),
        ]
    )


def as_text(comparison: Comparison) -> str:
    """The comparison for a terminal."""
    comparison = comparison_added_up(comparison)
    lines = ["Inputs that differ"]
    lines += [f"  {name_of(d.key)}: {' | '.join(shown(d.key, v) for v in d.values)}" for d in comparison.differences]
    lines += ["", "Answers", f"  {' | '.join(one.name for one in comparison.scenarios)}"]
    lines += [f"  {label}: {' | '.join(cells)}" for label, cells in _answers(comparison)]
    return "\n".join([*lines, "", *driver_sentences(comparison)])


def _answers(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Rows of answers: a label, and a cell for every scenario."""
    outcomes = [one.outcome for one in comparison.scenarios]
    return [
        ("Answer", [in_words(o, _in_full) for o in outcomes]),
        ("All costs a month", [_in_full(o.usd_per_month) for o in outcomes]),
        ("more than the first", [_in_full(one.usd_more) for one in comparison.scenarios]),
        ("Systems", [count(o.systems) for o in outcomes]),
        ("GPUs bought", [count(o.gpus_bought) for o in outcomes]),
        ("TTFT", [ms(o.ttft_ms) for o in outcomes]),
        ("ITL", [ms(o.itl_ms) for o in outcomes]),
        ("Power, kW", [significant(o.power_kw) for o in outcomes]),
    ]


def driver_sentences(comparison: Comparison) -> list[str]:
    """Of each scenario but the first, what drives its difference to that; amounts in full, as they were added up."""
    first = comparison.scenarios[0].name
    return [driver_sentence(one, first, _in_full) for one in comparison.scenarios[1:]]


def _in_full(amount: float | None) -> str:
    """An amount that was rounded to add up."""
    return usd(amount, ALL_DIGITS)
