"""One observation of one deployment: its state with reasons, and every value with what it was read from."""

from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from collectors.prometheus.histograms import HistogramQuantiles
from collectors.queries.live_numbers import NUMBERS
from collectors.reading.remarks import Remark, RemarkKind

DISTRIBUTIONS = {
    "ttft_ms": "ttft",
    "itl_ms": "itl",
    "tpot_ms": "tpot",
    "e2e_ms": "e2e",
    "queue_ms": "queue",
    "prefill_ms": "prefill",
    "decode_ms": "decode",
    "input_tokens": "input_tokens",
    "output_tokens": "output_tokens",
}
"""Every distribution of an observation with the concept it is read from."""


class State(StrEnum):
    """How far the numbers can be trusted."""

    OK = "ok"
    NO_DATA = "no_data"
    STALE = "stale"
    PARTIAL = "partial"
    UNREACHABLE = "unreachable"
    SATURATED = "saturated"


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Mapped(_Frozen):
    """What a quantity was read from: expression to copy, unit of the source, trap, whether the name was verified."""

    query: str
    unit: str
    versions: str = ""
    verified: bool = False
    trap: str = ""
    at_finish: bool = False
    overridden: bool = False


class MissingQuantity(_Frozen):
    """A quantity without data, and why."""

    quantity: str
    reason: str


class ObservedReplica(_Frozen):
    """One replica now: its labels and its share."""

    labels: dict[str, str]
    running: float | None = None
    waiting: float | None = None
    kv_usage: float | None = None
    generation_tokens_per_s: float | None = None


class Observation(_Frozen):
    """One deployment over one window. ``causes`` explain the state; ``remarks`` say what to know about the numbers;
    ``warnings`` come from the server. ``numbers`` and ``distributions`` always hold every key; None is unknown."""

    name: str
    state: State
    causes: tuple[Remark, ...] = ()
    remarks: tuple[Remark, ...] = ()
    warnings: tuple[str, ...] = ()
    at_s: float
    window_s: float
    covered_s: float | None = None
    age_s: float | None = None
    scrape_interval_s: float | None = None
    engine: str | None = None
    engine_variant: str | None = None
    gpu_exporter: str | None = None
    numbers: dict[str, float | None]
    distributions: dict[str, HistogramQuantiles]
    replicas: tuple[ObservedReplica, ...] = ()
    mapping: dict[str, Mapped] = {}
    missing: tuple[MissingQuantity, ...] = ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The causes as sentences."""
        return tuple(cause.sentence for cause in self.causes)

    @property
    def notes(self) -> tuple[str, ...]:
        """The remarks as sentences."""
        return tuple(note.sentence for note in self.remarks)

    def has(self, *kinds: RemarkKind) -> bool:
        """Whether a cause or a remark is of one of the kinds."""
        return any(each.kind in kinds for each in (*self.causes, *self.remarks))

    def rejecting(self, quantity: str) -> Remark | None:
        """The cause that says that the server rejects the query of a quantity, where it does."""
        rejections = (cause for cause in self.causes if cause.kind is RemarkKind.QUERIES_REJECTED)
        return next((cause for cause in rejections if quantity in cause.names("quantities")), None)

    def number(self, key: str) -> float | None:
        """One number; None when unknown. Raises KeyError for a key that no observation has."""
        return self.numbers[key]

    def distribution(self, key: str) -> HistogramQuantiles:
        """One distribution. Raises KeyError for a key that no observation has."""
        return self.distributions[key]

    def as_json(self) -> dict[str, Any]:
        """The contract of ``python -m collectors read --json``: numbers and distributions together under values."""
        plain = self.model_dump(mode="json", exclude={"numbers", "distributions", "at_s", "causes", "remarks"})
        at = datetime.fromtimestamp(self.at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        values: dict[str, Any] = {**self.numbers, **{k: d.model_dump() for k, d in self.distributions.items()}}
        return {
            "schema_version": 1,
            "name": plain.pop("name"),
            "state": plain.pop("state"),
            "at": at,
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            **plain,
            "values": values,
        }


def unknown_numbers() -> dict[str, float | None]:
    """A value for every number of an observation, each unknown."""
    return dict.fromkeys(NUMBERS)


def unknown_distributions() -> dict[str, HistogramQuantiles]:
    """A value for every distribution of an observation, each unknown."""
    return {key: HistogramQuantiles() for key in DISTRIBUTIONS}


def without_data(*, name: str, state: State, cause: Remark, at_s: float, window_s: float, **known: Any) -> Observation:
    """An observation that knows no value, only why."""
    return Observation(
        name=name,
        state=state,
        causes=(cause,),
        at_s=at_s,
        window_s=window_s,
        numbers=unknown_numbers(),
        distributions=unknown_distributions(),
        **known,
    )
