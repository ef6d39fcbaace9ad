"""Sessions as a scenario states them: chats and agents whose prompts grow from turn to turn, and what follows from it.

Lengths and rates of a workload follow from its sessions; how much of a prompt the prefix cache holds follows from the
plan (:mod:`sizing.planning.settled`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from pydantic import Field, ValidationError, model_validator

from sizing.base.units import S_PER_HOUR
from sizing.reuse.sessions import SessionShape, SessionTraffic
from sizing.scenario.bounds import MAX_TOKENS
from sizing.scenario.part import ScenarioPart
from sizing.scenario.traffic import Tokens

DERIVED = "sessions"
"""What stands in place of a trace's name where lengths follow from sessions."""

GROUPS = 200
"""Groups of equally many prompts that stand for the turns of longer sessions."""

ASSUMED_TOKEN_S, ASSUMED_START_S = 0.03, 1.0
"""Seconds a token and before the first that an answer takes before a plan says so: assumed."""

Count = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
MoreTokens = Annotated[float, Field(ge=0, le=MAX_TOKENS, allow_inf_nan=False)]
Seconds = Annotated[float, Field(ge=0, le=604_800, allow_inf_nan=False)]


class Sessions(ScenarioPart):
    """Sessions of ``turns`` requests. The first prompt has ``first_prompt_tokens``, of which the first
    ``shared_prompt_tokens`` (system prompt, tools, a document) are those of other sessions, too: one of so many
    ``shared_prompts``, each as likely. Each later prompt is longer by the answer before it, the user's text and what
    tools gave. Between an answer and the next request a person thinks and tools
    run, in the mean so many seconds.
    """

    turns: int = Field(ge=1, le=5000)
    first_prompt_tokens: Tokens
    user_tokens: MoreTokens = 0.0
    tool_tokens: MoreTokens = 0.0
    answer_tokens: Tokens
    think_time_s: Seconds = 0.0
    tool_time_s: Seconds = 0.0
    shared_prompt_tokens: MoreTokens = 0.0
    shared_prompts: int = Field(default=1, ge=1, le=1_000_000)
    sessions_at_once: Count | None = None
    sessions_per_hour: Count | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Sessions:
        if (self.sessions_at_once is None) == (self.sessions_per_hour is None):
            what = "neither" if self.sessions_at_once is None else "both"
            raise ValueError(f"give exactly one of sessions_at_once or sessions_per_hour (found {what})")
        if self.shared_prompt_tokens >= self.first_prompt_tokens:
            raise ValueError("shared_prompt_tokens must be smaller than first_prompt_tokens, which contains them")
        if self.shared_prompts > 1 and not self.shared_prompt_tokens:
            raise ValueError("shared_prompts needs shared_prompt_tokens: how long each of them is")
        return self

    @property
    def shape(self) -> SessionShape:
        """One session, as the model of reuse takes it."""
        return SessionShape(
            turns=self.turns,
            first_prompt=self.first_prompt_tokens,
            growth=self.user_tokens + self.tool_tokens,
            answer=self.answer_tokens,
            shared=self.shared_prompt_tokens,
            shared_kinds=self.shared_prompts,
            think_s=self.think_time_s,
            tool_s=self.tool_time_s,
        )

    def turns_within(self, context: float) -> int:
        """Turns after which a session still fits in a context window; 0 where the first does not."""
        room = context - self.first_prompt_tokens - self.answer_tokens
        return int(room // (self.shape.growth + self.answer_tokens)) + 1 if room >= 0.0 else 0

    @property
    def assumed_service_s(self) -> float:
        """Seconds that an answer takes before any plan is known."""
        return ASSUMED_START_S + ASSUMED_TOKEN_S * self.answer_tokens

    def traffic(self, service_s: float, growth: float = 1.0) -> SessionTraffic:
        """The sessions as they begin, so many times as many, where an answer takes ``service_s``.

        At once, over the time that one lasts, or by the hour.
        """
        if self.sessions_per_hour is not None:
            per_s = self.sessions_per_hour / S_PER_HOUR
        else:
            per_s = (self.sessions_at_once or 0.0) / self.shape.duration_s(service_s)
        return SessionTraffic(shape=self.shape, sessions_per_s=per_s * growth, service_s=service_s)

    def derived(self) -> dict[str, Any]:
        """The keys of a workload that follow: lengths, and the rate where answers take as long as assumed."""
        turns = np.arange(1.0, self.turns + 1.0)
        if self.turns > GROUPS:
            turns = 0.5 + (np.arange(GROUPS) + 0.5) * self.turns / GROUPS
        prompts = np.minimum(self.shape.prompt(turns), MAX_TOKENS).tolist()
        return {
            "input_tokens": {"trace": DERIVED, "groups": prompts},
            "output_tokens": self.answer_tokens,
            "peak_rps": self.traffic(self.assumed_service_s).requests_per_s,
        }


DERIVED_KEYS = frozenset({"input_tokens", "output_tokens", "peak_rps", "prefix_cached_tokens"})
"""Keys of a workload that follow from its sessions."""

RULED_OUT = ("average_rps", "users", "batch")
"""Other ways to say the load."""


def with_derived(workload: Mapping[str, Any]) -> Mapping[str, Any]:
    """The keys of a workload with those that follow from its ``sessions``.

    Raises ValueError where one of them is given and says something else. Sessions that are wrong in themselves are
    left to their own validation.
    """
    try:
        sessions = Sessions.model_validate(workload["sessions"])
    except ValidationError:
        return {"input_tokens": 1.0, "output_tokens": 1.0, "peak_rps": 1.0, **workload}
    derived = sessions.derived()
    differing = [key for key in derived if not _follows(workload.get(key), derived[key])]
    differing += [key for key in RULED_OUT if workload.get(key) is not None]
    if workload.get("prefix_cached_tokens"):
        differing.append("prefix_cached_tokens")
    if differing:
        names = " and ".join(differing)
        follow = "follows" if len(differing) == 1 else "follow"
        raise ValueError(f"{names} {follow} from sessions: leave {'it' if len(differing) == 1 else 'them'} out")
    return {**workload, **derived}


def _follows(given: Any, derived: Any) -> bool:
    """Whether a key is left out, or is what follows from the sessions as it was written down."""
    return given is None or given == derived or _name_of(given) == DERIVED


def _name_of(length: Any) -> Any:
    return length.get("trace") if isinstance(length, Mapping) else getattr(length, "trace", None)
