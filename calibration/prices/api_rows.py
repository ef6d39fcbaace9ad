"""From an offer of the map to a row of ``api_prices.csv``: whose weights it serves, and whether it may price them.

The rules are data with their sources: ``sizing/data/api_offers.yaml``.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from calibration.prices.api_map import MapOffer
from sizing.base.units import BILLION
from sizing.catalog import models
from sizing.catalog.checkpoint_names import parse
from sizing.catalog.facts import OfferUse
from sizing.catalog.files import Row, read_yaml
from sizing.catalog.resolve import known_model

OWN_NAME = ("id", "name", "release")
"""Ways in which a name leads to a model that make it this very model, a dated release of it included."""

COLUMNS = (
    "provider",
    "model",
    "catalogue_model",
    "input_usd_per_mtok",
    "output_usd_per_mtok",
    "cached_input_usd_per_mtok",
    "deprecation_date",
    "open_weights",
    "use",
    "use_note",
    "provider_price_page",
    "date",
    "source",
)
SOURCE = "litellm {version}, model_prices_and_context_window (BerriAI, MIT)"

_VENDOR = re.compile(r"^(?:[a-z][a-z0-9-]*\.)+(?=[a-z])")
_DASHED = re.compile(r"(?<=\d)-(?=\d(?:-|$))")
"""The point of a generation as some hosts write it: ``glm-5-1``."""
_REVISION = re.compile(r"(-v\d+)?:\d+$|@\d{3,}$")


@dataclass(frozen=True, kw_only=True)
class ServedModel:
    """The model of the catalogue that an offer serves, and whether its name is the model's own."""

    model: str
    own_name: bool


def api_rows(offers: Sequence[MapOffer], version: str, day: str) -> list[Row]:
    """Rows of ``api_prices.csv`` for the offers of open-weight models of the catalogue and of closed models, but those
    that are retired on the ``day`` of the download."""
    sold = [offer for offer in offers if not offer.retired_on or offer.retired_on > day]
    made = [row for offer in sold if (row := _row(offer, SOURCE.format(version=version), day))]
    return sorted(made, key=lambda row: (row["open_weights"] == "False", row["provider"], row["model"]))


def _row(offer: MapOffer, source: str, day: str) -> Row | None:
    served = served_model(offer.model)
    if served is None and not _is_closed_model(offer):
        return None
    use, note = judged(offer, served)
    values = {
        "provider": offer.provider,
        "model": offer.model,
        "catalogue_model": served.model if served else "",
        "input_usd_per_mtok": _usd(offer.input_usd),
        "output_usd_per_mtok": _usd(offer.output_usd),
        "cached_input_usd_per_mtok": "" if offer.cached_input_usd is None else _usd(offer.cached_input_usd),
        "deprecation_date": offer.retired_on,
        "open_weights": str(served is not None),
        "use": use,
        "use_note": note,
        "provider_price_page": offer.page,
        "date": day,
        "source": source,
    }
    return {column: values[column] for column in COLUMNS}


def _usd(price: float) -> str:
    """USD per million tokens as text: the map gives them per token, in binary fractions."""
    return f"{price:.9g}"


def judged(offer: MapOffer, served: ServedModel | None) -> tuple[OfferUse, str]:
    """Whether an offer may price its model, and why not."""
    rules = _rules()
    if offer.provider in rules["closed"]:
        return "no", rules["closed"][offer.provider]
    if offer.provider in rules["unconfirmed"]:
        return "check", rules["unconfirmed"][offer.provider]
    if served is None:
        return "check", "closed model: priced only where it is named"
    words = set(re.split(r"[^a-z0-9.]+", offer.model.lower()))
    if words & set(rules["not_full"]):
        return "check", "no full offer: spot capacity, or the draft of another model"
    if _is_placeholder(offer, served):
        return "check", "the price of a smaller class: a placeholder"
    if offer.model in rules["looked_at"]:
        return "yes", rules["looked_at"][offer.model]
    return ("yes", "") if served.own_name else ("check", "another checkpoint of the architecture")


def _is_placeholder(offer: MapOffer, served: ServedModel) -> bool:
    size = models()[served.model].params_total / BILLION
    return any(
        offer.provider == one["provider"]
        and size > one["up_to_b"]
        and all(math.isclose(usd, one["usd"]) for usd in (offer.input_usd, offer.output_usd))
        for one in _rules()["classes"]
    )


@cache
def served_model(name: str) -> ServedModel | None:
    """The model behind a provider's name for it; None where the catalogue does not have it."""
    spellings = tuple(dict.fromkeys(_spellings(name)))
    if name in _rules()["names"]:
        return ServedModel(model=_rules()["names"][name], own_name=True)
    known = ((s, known_model(s)) for s in spellings)
    served = [
        ServedModel(
            model=one.model.id, own_name=one.match in OWN_NAME or _is_own_but_for_format(spelling, one.model.id)
        )
        for spelling, one in known
        if one is not None and one.match != "size"
    ]
    return next((one for one in served if one.own_name), served[0] if served else None)


def _is_own_but_for_format(spelling: str, model_id: str) -> bool:
    """Whether a name is that of the model without the weight format that its id ends with."""
    return parse(spelling).key() == parse(model_id).key("format")


def _spellings(name: str) -> Iterator[str]:
    """A provider's name for a model, with less and less of what the provider adds to it."""
    marks = "|".join(map(re.escape, _rules()["serving_marks"]))
    bare = name.rpartition("/")[2]
    for spelling in (name, bare, _VENDOR.sub("", bare.lower())):
        yield spelling
        without = _REVISION.sub("", spelling)
        yield without
        unmarked = re.sub(rf"[-:]({marks})$", "", without, flags=re.IGNORECASE)
        yield unmarked
        yield _DASHED.sub(".", unmarked)


def _is_closed_model(offer: MapOffer) -> bool:
    """Whether a vendor offers a model of its own that is not of the catalogue, for text by the token."""
    rules = _rules()
    if offer.provider not in rules["closed_models"] or any(word in offer.model for word in rules["no_chat_words"]):
        return False
    return not any(word.kind == "release" for word in parse(offer.model).words) and not re.search(
        r"\d{4}-\d\d-\d\d|-\d{8}$", offer.model
    )


@cache
def _rules() -> Mapping[str, Any]:
    return MappingProxyType(read_yaml("api_offers.yaml"))
