"""A diagnosis in words: the headline, and what a terminal shows."""

import math
from collections.abc import Sequence
from typing import assert_never

from reality.diagnosis.causes import FRONT_END, Cause
from reality.diagnosis.result import CauseRow, Diagnosis, LimitRow, OfferedAction, Replanned
from sizing.base.format import count, counted, ms, percent, requests_per_s, significant, usd

SHORT = {"ttft_ms": "TTFT", "tpot_ms": "TPOT", "itl_ms": "ITL", "e2e_ms": "E2E"}
"""What a latency is called in a sentence."""

MOST_OF_GAP = 1.25
"""Times the gap from which a share is no part of it: other differences make up for it."""
INTAKE = "API server, tokenizer or gateway"
"""What may take requests in."""

NAMES: dict[Cause, str] = {
    "load": "the load",
    "prompts": "prompt lengths",
    "outputs": "output lengths",
    "cache_hits": "prefix cache hits",
    "burstiness": "bursts",
    "replicas": "the number of replicas",
    "kv_cache": "the size of the KV cache",
    "batch_limit": "the batch limit",
    "routing": "uneven routing",
    "slow_gpu": "a slow replica",
    "weights": "the weight format",
    "engine": "the engine's speed",
    "unexplained": "not explained",
}
"""What a cause is called."""


def limit_in_words(row: LimitRow) -> str:
    """ "p95 TPOT 55.8 ms breaks the 50 ms limit since 21:52 UTC"."""
    name = f"p{row.percentile:g} {SHORT[row.quantity]}"
    if row.measured is None:
        return f"{name} is not known ({row.reason})"
    if row.verdict == "met":
        return f"{name} {ms(row.measured)} keeps the {ms(row.limit)} limit"
    if row.verdict == "unclear":
        return f"{name} {ms(row.measured)} cannot be told from the {ms(row.limit)} limit ({row.reason})"
    since = f" since {row.broken_since[11:16]} UTC" if row.broken_since else ""
    where = f" ({row.reason})" if row.reason else ""
    return f"{name} {ms(row.measured)}{where} breaks the {ms(row.limit)} limit{since}"


def cause_in_words(row: CauseRow, gap_ms: float) -> str:
    """ "Cause: replica 3 is gone, 13.7 of 14.8 ms"; where other differences make up for it, that and what is left."""
    if row.cause == "unexplained":
        return f"No cause can be seen of {significant(row.share_ms)} of {significant(gap_ms)} ms"
    seen = _gone(row).removesuffix(": ") or described(row)
    if 0.0 <= row.share_ms / (gap_ms or math.inf) <= MOST_OF_GAP and gap_ms:
        return f"Cause: {seen}, {significant(row.share_ms)} of {significant(gap_ms)} ms"
    share, left = (f"{'+' if one > 0.0 else ''}{significant(one)} ms" for one in (row.share_ms, gap_ms))
    if row.share_ms * gap_ms > 0.0:
        return f"Cause: {seen}, {share}, of which other differences leave {left}"
    return f"Largest difference to the plan: {seen}, {share}; with all others {left}"


def _gone(row: CauseRow) -> str:
    """ "vllm-3 is gone since 13:30 UTC (XID 79 on its GPU): " of a replica that is missing and known by name."""
    if row.cause != "replicas" or not row.subject:
        return ""
    why = f" ({row.why})" if row.why else ""
    return f"{row.subject} {'are' if ', ' in row.subject else 'is'} gone{_since(row)}{why}: "


def _since(row: CauseRow) -> str:
    return f" since {row.since[11:16]} UTC" if row.since else ""


def described(row: CauseRow) -> str:
    """What is seen of a cause, in half a sentence."""
    planned, measured = row.planned, row.measured
    if row.cause == "unexplained":
        return row.why
    if planned is None or measured is None:
        return NAMES[row.cause]
    ratio = measured / planned if planned else 0.0
    match row.cause:
        case "load":
            return f"{requests_per_s(measured)} arrive, {requests_per_s(planned)} were planned"
        case "prompts" | "outputs":
            what = "prompts" if row.cause == "prompts" else "answers"
            if row.why:
                return f"{what} are {row.why}"
            return f"{what} have {count(measured)} tokens in the mean, {count(planned)} were planned"
        case "cache_hits":
            return f"{percent(measured)} of prompt tokens come from the prefix cache, {percent(planned)} were planned"
        case "burstiness":
            return row.why or f"arrivals vary {significant(ratio)} times as much as planned"
        case "replicas":
            return f"{_gone(row)}{count(measured)} of {count(planned)} planned replicas serve"
        case "kv_cache":
            return f"the KV cache holds {count(measured)} tokens, {count(planned)} were planned"
        case "batch_limit":
            return f"no more than {count(measured)} requests run on a replica, up to {count(planned)} were planned"
        case "routing":
            return f"{row.subject} gets {significant(measured)} times an even share of the load"
        case "engine" if row.subject == FRONT_END:
            return _taken_in(measured, planned, row.why)
        case "slow_gpu" | "engine":
            who = row.subject or (
                "all replicas, whose GPUs are slowed down," if row.cause == "slow_gpu" else "the engine"
            )
            allowed = ", which the plan's interval allows" if row.why.startswith("within") else ""
            take, seen = "take" if ", " in who else "takes", _seen_on(row)
            return f"{who} {take} {significant(measured)} times {_than(row)}{seen}{_since(row)}{allowed}"
        case "weights":
            return row.why or "weights are in another format than planned"
        case unknown:
            assert_never(unknown)


def _taken_in(measured_ms: float, planned_ms: float, why: str) -> str:
    """ "requests take 458 ms before the engine has them, 12 ms were planned (front end: ...)"."""
    before = f"requests take {ms(measured_ms)} before the engine has them, {ms(planned_ms)} were planned"
    return f"{before} (front end: {', '.join(filter(None, (INTAKE, why)))})"


def _seen_on(row: CauseRow) -> str:
    """ " (GPU node0/4 hardware thermal slowdown)" of a slow replica whose GPUs say why."""
    return f" ({row.why})" if row.cause == "slow_gpu" and row.subject and row.why else ""


def _than(row: CauseRow) -> str:
    if row.subject is None:
        return "the planned step time"
    return f"the step time of {'their' if ', ' in row.subject else 'its'} peers"


def action_in_words(actions: Sequence[OfferedAction]) -> str:
    """ "Restore llm-3, or 4 replicas"; of what is not enough by itself, what it takes beside it."""
    offered = [one for one in actions if one.kind != "none"]
    enough = [one for one in offered if one.enough is not False]
    if not offered:
        return ""
    if offered[0] in enough:
        text = ", or ".join(_in_words(one) for one in enough[:2])
    elif beside := next((one for one in enough if one.kind == "resize"), None):
        text = f"{_in_words(offered[0])}, which alone is not enough, and grow to {_in_words(beside)}"
    elif enough:
        text = ", or ".join(_in_words(one) for one in enough[:2])
    else:
        text = f"{_in_words(offered[0])}, which alone is not enough"
    return f" {text[0].upper()}{text[1:]}."


def _in_words(one: OfferedAction) -> str:
    """ "drain llm-2 and put another in its place"."""
    match one.kind:
        case "restore":
            return f"restore {one.subject or ('what is missing' if one.change else 'the clocks of the GPUs')}"
        case "drain":
            several = ", " in (one.subject or "")
            place = "others in their" if several else "another in its"
            return f"drain {one.subject}" + ("" if one.change else f" and put {place} place")
        case "rebalance":
            if one.subject is None or one.weight is None:
                return "share the load evenly"
            whose = "their" if ", " in one.subject else "its"
            return f"give {one.subject} {percent(one.weight)} of the weight of {whose} peers"
        case "raise_batch_limit":
            return "raise the batch limit"
        case "resize":
            number = counted(one.replicas or 0, "replica")
            return f"{number} while the load is this low, {count(-one.change)} fewer" if one.change < 0 else number
        case "recalibrate":
            return "plan with the learned step times"
        case "none":
            return ""
        case unknown:
            assert_never(unknown)


def headline(
    rows: Sequence[LimitRow],
    worst: LimitRow | None,
    main: CauseRow | None,
    gap_ms: float | None,
    *,
    load: float | None,
    capacity: float | None,
    actions: Sequence[OfferedAction],
) -> str:
    """The finding: limits, cause, what it holds, what to do."""
    broken = [row for row in rows if row.verdict == "broken"]
    unclear = [row for row in rows if row.verdict == "unclear"]
    if broken:
        first = worst if worst is not None and worst in broken else broken[0]
        others = [row for row in broken if row is not first]
        text = ". ".join(limit_in_words(row) for row in (first, *others)) + "."
    elif unclear:
        text = ". ".join(limit_in_words(row) for row in unclear) + "."
    else:
        text = "Every limit holds: " + ", ".join(limit_in_words(row) for row in rows) + "."
    if main is not None and gap_ms is not None:
        text += f" {cause_in_words(main, gap_ms)}."
    elif broken:
        text += " No difference to the plan explains it." if gap_ms is not None else ""
    if load is not None:
        text += _room(load, capacity, broken=bool(broken))
    return text + (action_in_words(actions) if broken or any(one.kind == "resize" for one in actions) else "")


def _room(load: float, capacity: float | None, *, broken: bool) -> str:
    if capacity is None:
        return f" No load is within the limits as it runs; the load is {requests_per_s(load)}." if broken else ""
    return f" It holds {requests_per_s(capacity)} within the limits, the load is {requests_per_s(load)}."


def _more_or_less(usd_per_month: float) -> str:
    return f"{usd(abs(usd_per_month))} a month {'more' if usd_per_month > 0 else 'less'} than what serves now"


def _money(given: Diagnosis) -> list[str]:
    """What this traffic takes against the plan, by the replicas of the plan and planned anew."""
    lines, anew = [], given.replanned
    if given.gap_replicas:
        more = given.gap_usd_per_month
        cost = "" if more is None else f", {usd(abs(more))} a month"
        which = "more" if given.gap_replicas > 0 else "fewer"
        lines.append(f"Against the plan, for this load: {counted(abs(given.gap_replicas), 'replica')} {which}{cost}")
    if anew is not None:
        more = anew.more_usd_per_month
        cost = "" if not more else f" {usd(abs(more))} a month {'more' if more > 0 else 'less'}."
        lines.append(f"{against_the_plan(anew)}{cost}")
    return lines


def against_the_plan(one: Replanned) -> str:
    """ "Planned anew for this traffic: 5 x ...; 2 systems more than planned."."""
    if one.instances is None:
        return f"Planned anew for this traffic: {one.answer}"
    parts = (_more(one.more_systems, "system"), _more(one.more_gpus, "GPU"))
    text = ", ".join(part for part in parts if part) or "as many systems and GPUs as planned"
    return f"Planned anew for this traffic: {one.deployment}; {text}."


def _more(number: int | None, what: str) -> str:
    if not number:
        return ""
    which = "more" if number > 0 else "fewer"
    return f"{count(abs(number))} {what}{'' if abs(number) == 1 else 's'} {which} than planned"


def as_text(given: Diagnosis) -> str:
    """The diagnosis for a terminal."""
    lines = [
        given.headline,
        "",
        f"{given.scenario} against {given.source}, {significant(given.window_s)} s until {given.at}",
    ]
    lines += [f"Reason        {reason}" for reason in given.reasons if reason not in given.headline]
    if given.limits:
        lines += ["", f"{'Limit':16} {'limit':>10} {'measured':>10} {'80 % interval':>22} {'within':>9}  verdict"]
    for row in given.limits:
        low, high = ("" if end is None else ms(end) for end in (row.low, row.high))
        ends = "" if row.low is None else f"{low} to {high or chr(8734)}"
        lines.append(
            f"p{row.percentile:g} {SHORT[row.quantity]:12} {ms(row.limit):>10} "
            f"{'' if row.measured is None else ms(row.measured):>10} {ends:>22} "
            f"{'' if row.attainment is None else percent(row.attainment):>9}  {row.verdict}"
        )
    if given.causes:
        lines += ["", f"{'Cause':28} {'ms':>9} {'80 % interval':>22}"]
    for one in given.causes:
        ends = f"{significant(one.low)} to {significant(one.high)}"
        lines.append(f"{NAMES[one.cause]:28} {significant(one.share_ms):>9} {ends:>22}  {described(one)}")
    lines += ["", *(f"Action: {one.why}" for one in given.actions)]
    lines += [f"Cost: {_more_or_less(one.usd_per_month)}" for one in given.actions[:1] if one.usd_per_month]
    lines += _money(given)
    if given.recalibration is not None:
        lines.append(f"Step times: {given.recalibration.why}")
    return "\n".join([*lines, *(f"Assumed: {text}" for text in given.assumptions)])
