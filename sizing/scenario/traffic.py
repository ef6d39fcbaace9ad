"""How long requests are and when they arrive, as a scenario file says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from sizing.base.errors import BrokenRule
from sizing.scenario.bounds import MAX_CV, MAX_TOKENS
from sizing.scenario.part import ScenarioPart

Tokens = Annotated[float, Field(ge=1, le=MAX_TOKENS, allow_inf_nan=False)]


class LengthSpread(ScenarioPart):
    """A length that varies between requests, given by two percentiles; read as lognormal."""

    p50: Tokens
    p95: Tokens

    @model_validator(mode="after")
    def _ordered(self) -> LengthSpread:
        if self.p95 < self.p50:
            raise BrokenRule("p95_is_not_shorter", "p95 must not be smaller than p50")
        return self

    @property
    def typical(self) -> float:
        """What is cached of every one is shorter: the median, below the mean of a lognormal length."""
        return self.p50


class LengthTrace(ScenarioPart):
    """Lengths of real requests: ``groups`` are the means of equally many requests each, shortest first.

    The file loader fills them in from the trace; so a scenario needs no second file once it has been read.
    """

    trace: str = Field(min_length=1, max_length=300)
    groups: list[Tokens] = Field(default_factory=list, max_length=1000)

    @model_validator(mode="after")
    def _was_read(self) -> LengthTrace:
        if not self.groups:
            raise ValueError("a trace is read from beside a scenario file; here give groups, or p50 and p95")
        if self.groups != sorted(self.groups):
            raise ValueError("groups must grow")
        return self

    @property
    def typical(self) -> float:
        """What is cached of every one is shorter: the smaller of median and mean."""
        return min(self.p50, sum(self.groups) / len(self.groups))

    def _at(self, share: float) -> float:
        return self.groups[min(int(share * len(self.groups)), len(self.groups) - 1)]

    @property
    def p50(self) -> float:
        """Half of the requests are shorter."""
        return self._at(0.50)

    @property
    def p95(self) -> float:
        """95 % of the requests are shorter."""
        return self._at(0.95)


def _length_form(value: object) -> str:
    if isinstance(value, LengthTrace) or (isinstance(value, Mapping) and "trace" in value):
        return "[trace]"
    return "[spread]" if isinstance(value, Mapping | LengthSpread) else "[tokens]"


# A tag per form, chosen by looking at the value: an error then speaks of the form that was meant, and only of that.
Length = Annotated[
    Annotated[Tokens, Tag("[tokens]")]
    | Annotated[LengthSpread, Tag("[spread]")]
    | Annotated[LengthTrace, Tag("[trace]")],
    Discriminator(_length_form),
]


class GammaArrivals(ScenarioPart):
    """Arrivals burstier (cv > 1) or smoother (cv < 1) than Poisson: gamma-distributed gaps."""

    cv: Annotated[float, Field(ge=0, le=MAX_CV, allow_inf_nan=False)]


class Gamma(ScenarioPart):
    """Wrapper so that the file reads ``arrivals: {gamma: {cv: 2}}``."""

    gamma: GammaArrivals


class Profile(ScenarioPart):
    """Relative load of the 24 hours of a day; the busiest hour is the peak."""

    profile: list[Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]] = Field(min_length=24, max_length=24)

    @model_validator(mode="after")
    def _some_load(self) -> Profile:
        if max(self.profile) <= 0:
            raise BrokenRule("some_hour_has_load", "at least one of the 24 hours must be above 0")
        return self


class BurstArrivals(ScenarioPart):
    """On and off periods of random (exponential) length, means in s; ``share_on`` of all requests come in the on ones.

    The rate asked for is the mean over both.
    """

    on_s: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
    off_s: Annotated[float, Field(gt=0, le=86_400, allow_inf_nan=False)]
    share_on: Annotated[float, Field(gt=0, le=1, allow_inf_nan=False)] = 1.0

    @model_validator(mode="after")
    def _really_bursts(self) -> BurstArrivals:
        if self.share_on < self.on_s / (self.on_s + self.off_s):
            raise ValueError("share_on must be at least on_s / (on_s + off_s): the on periods are the busy ones")
        return self


class Burst(ScenarioPart):
    """Wrapper so that the file reads ``arrivals: {bursts: {on_s: 30, off_s: 90}}``."""

    bursts: BurstArrivals


class TraceArrivals(ScenarioPart):
    """Arrivals of real requests: mean rate in consecutive windows, and the coefficient of variation of the gaps.

    The file loader fills them in from the trace.
    """

    trace: str = Field(min_length=1, max_length=300)
    window_s: Annotated[float, Field(gt=0, le=1e7, allow_inf_nan=False)] = 60.0
    rps: list[Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)]] = Field(default_factory=list, max_length=3000)
    cv: Annotated[float, Field(ge=0, le=MAX_CV, allow_inf_nan=False)] = 1.0

    @model_validator(mode="after")
    def _was_read(self) -> TraceArrivals:
        if not self.rps or max(self.rps) <= 0:
            raise ValueError("a trace is read from beside a scenario file; here give rps, the rate in each window")
        return self


def _arrivals_form(value: object) -> str | None:
    if value == "poisson":
        return "[word]"
    for key, kind in (("gamma", Gamma), ("profile", Profile), ("bursts", Burst), ("trace", TraceArrivals)):
        if isinstance(value, kind) or (isinstance(value, Mapping) and key in value):
            return f"[{key}]"
    return None


Arrivals = Annotated[
    Annotated[Literal["poisson"], Tag("[word]")]
    | Annotated[Gamma, Tag("[gamma]")]
    | Annotated[Profile, Tag("[profile]")]
    | Annotated[Burst, Tag("[bursts]")]
    | Annotated[TraceArrivals, Tag("[trace]")],
    Discriminator(
        _arrivals_form,
        custom_error_type="unknown_form",
        custom_error_message="must be poisson, {gamma: {cv: 2}}, {profile: [24 hourly values]}, "
        "{bursts: {on_s: 30, off_s: 90}} or {trace: file.csv}",
    ),
]
