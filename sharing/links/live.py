"""A live link: the inputs of a scenario as parameters of the Size page (docs/LINKS.md)."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from sharing.errors import InvalidEntry
from sharing.form.cost_words import COST_CHOICES, in_words
from sharing.form.fields import FIELDS
from sharing.form.left_behind import keys_not_held
from sharing.form.link import VERSION, Parameters, from_parameters, link_to, to_parameters
from sharing.form.link_versions import LINK_VERSION
from sharing.form.presets import defaults
from sharing.form.write import from_scenario
from sharing.report.addresses import cleared
from sizing import Scenario
from sizing.scenario.model_asked import ModelConfig

BASE = "http://localhost:8501"
"""Where the dashboard answers as it is started by ``make run``."""


@dataclass(frozen=True, kw_only=True)
class LiveLink:
    """The address, and the keys of the scenario that it does not carry, own prices among them."""

    address: str
    left_out: tuple[str, ...]


def live_link(scenario: Scenario, page: str) -> LiveLink:
    """The link to a scenario's inputs on the page at this address. Raises InvalidEntry for a model in a file."""
    if isinstance(scenario.model, ModelConfig):
        raise InvalidEntry("The model is a config.json, which no link carries: send the scenario as a file.")
    parameters = to_parameters(from_scenario(scenario))
    read, costs = defaults() | from_parameters(parameters).values, in_words(scenario.costs)
    address = link_to(page, {VERSION: [LINK_VERSION]} | without_addresses(parameters) | costs)
    carried = {f"costs.{COST_CHOICES[key]}" for key in costs}
    return LiveLink(address=address, left_out=tuple(key for key in keys_not_held(scenario, read) if key not in carried))


def without_addresses(parameters: Parameters) -> dict[str, list[str]]:
    """The parameters with every address inside a network out of the texts that users typed."""
    typed = {key for key, field in FIELDS.items() if field.kind == "text"}
    return {key: [cleared(text) if key in typed else text for text in texts] for key, texts in parameters.items()}


def page_at(base: str, page: str) -> str:
    """The address of a page. Raises InvalidEntry."""
    try:
        parts = urlsplit(base)
        is_address = parts.scheme in {"http", "https"} and bool(parts.hostname) and not parts.query + parts.fragment
    except ValueError:
        is_address = False
    if not is_address:
        raise InvalidEntry(f"{base[:80]} is not where a dashboard answers: give for example {BASE}.")
    return f"{base.rstrip('/')}/{page}"
