"""What-ifs on the hardware of the plan, and odd columns, in words."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import get_args

from sizing.base.format import count, counted, requests_per_s, usd
from sizing.decision.added_up import read_alike
from sizing.decision.keep_hardware import Kept, MovedInput, QuestionName
from sizing.decision.odd import Odd, Side
from sizing.decision.outcome import Outcome
from sizing.decision.text import gpu_name, in_words, precision_name
from sizing.economics.fleet_text import Money

QUESTIONS: Mapping[QuestionName, str] = MappingProxyType(
    {
        "twice_the_load": "Twice the load",
        "longer_answers": "Answers half as long again",
        "tighter_limits": "Latency limits a quarter tighter",
        "server_fails": "One server fails at the peak",
        "fewer_cache_hits": "A fifth fewer cache hits",
    }
)

INPUTS: Mapping[MovedInput, tuple[str, str]] = MappingProxyType(
    {
        "load": ("Load", "requests/s"),
        "input_tokens": ("Prompt length", "tokens"),
        "output_tokens": ("Output length", "tokens"),
        "ttft_ms": ("TTFT limit", "ms"),
        "itl_ms": ("ITL limit", "ms"),
        "e2e_ms": ("E2E limit", "ms"),
        "cached": ("Cached part of the prompt", "tokens"),
    }
)
"""Names and units of the inputs that can be moved; a load that users were counted for has another unit."""
assert set(QUESTIONS) == set(get_args(QuestionName))
assert set(INPUTS) == set(get_args(MovedInput))


def same_in_words(kept: Kept) -> str:
    """How many of the plan's own GPUs it takes: "7 instead of 4 H100 SXM"."""
    if not kept.same.feasible:
        return "the same hardware cannot serve it within the limits"
    now, then, gpu = kept.now, kept.same, kept.now.gpu_name
    before = count(now.systems) if now.system == then.system else _bought(now)
    systems = "" if _bought(now) == _bought(then) else f", in {_bought(then)} instead of {before}"
    if now.gpus == then.gpus:
        same = f"the same {count(now.gpus)} {gpu} are enough" if now.gpus != 1 else f"the same {gpu} is enough"
    else:
        same = f"{count(then.gpus)} instead of {count(now.gpus)} {gpu}"
    return f"{same}{systems}{', in another layout' if kept.relaid else ''}"


def _kind(one: Outcome) -> tuple[str, str, str]:
    return one.gpu, one.engine, one.precision


def _bought(one: Outcome) -> str:
    return f"{count(one.systems)} x {one.system}"


def more_in_words(then: Outcome, now: Outcome, money: Money = usd) -> str:
    """What one answer costs more a month than another; empty where that is not known."""
    if now.usd_per_month is None or then.usd_per_month is None:
        return ""
    more = then.usd_per_month - now.usd_per_month
    if read_alike(now.usd_per_month, then.usd_per_month):
        return "at the same cost"
    return f"{money(abs(more))} a month {'more' if more > 0 else 'less'}"


def kept_sentence(kept: Kept, money: Money = usd) -> str:
    """The answer on the same hardware in one sentence."""
    words, more = same_in_words(kept), more_in_words(kept.same, kept.now, money)
    first = f"{words[0].upper()}{words[1:]}{f', {more}' if more else ''}."
    if not kept.relaxation:
        return " ".join(filter(None, [first, kept.why_not]))
    return f"{first} {kept.why_not} Smallest change that would let it: {kept.relaxation}"


def other_sentence(kept: Kept, money: Money = usd) -> str:
    """What another choice would be, in one sentence."""
    if kept.moved_scenario.measured is not None:
        return "What was measured holds for its own hardware alone."
    if kept.other is None:
        return (
            "No other choice is better."
            if kept.same.feasible
            else "Nothing else that the scenario allows serves it, either."
        )
    more = more_in_words(kept.other, kept.same, money)
    if _kind(kept.other) == _kind(kept.same):
        layout = f"In another layout {count(kept.other.gpus)} {kept.other.gpu_name} would do"
        return f"{layout}{f', {more} than that' if more else ''}."
    return f"Another choice would be {in_words(kept.other, money)}{f': {more} than that' if more else ''}."


def odd_sentence(odd: Odd) -> str:
    """Why narrower weights need more GPUs than wider ones."""
    one, other = odd.one, odd.other
    reasons = [f"{_carries(one)}, {_carries(other, short=True)}"]
    if odd.widened:
        gpu, format_ = gpu_name(one.deployed.gpu), precision_name(one.deployed.weight_precision)
        reasons.insert(
            0,
            f"on {gpu} weights in {format_} are widened to 16 bit before they are multiplied, so that prompts take "
            "longer, and answers in progress wait for them",
        )
    equal = " Both take as many systems, so that they cost the same." if odd.costs_as_much else ""
    return (
        f"{one.name} needs {counted(one.deployed.gpus, 'GPU')} where {other.name} needs {count(other.deployed.gpus)}: "
        f"{'; '.join(reasons)}.{equal}"
    )


def _carries(side: Side, *, short: bool = False) -> str:
    gpus = counted(side.gpus_per_instance, "GPU")
    if short:
        return f"one of {gpus} in {precision_name(side.deployed.weight_precision)} {requests_per_s(side.max_rps)}"
    return f"an instance of {gpus} carries {requests_per_s(side.max_rps)} (limited by {side.limited_by})"
