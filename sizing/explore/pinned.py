"""A scenario in which one deployment alone is considered."""

from typing import Any

from sizing.base.deployed import Deployed, Drafts
from sizing.explore.operating_point import OperatingPoint
from sizing.scenario.schema import Layout, Scenario, SpeculativeDecoding


def pinned_to(chosen: Deployed | OperatingPoint, scenario: Scenario) -> Scenario:
    """``scenario`` with the GPU, engine, formats and parallelism of ``chosen`` alone."""
    limit = getattr(chosen, "batch_limit", None)
    pinned: dict[str, Any] = {
        "gpus": [chosen.gpu],
        "engines": [chosen.engine],
        "precisions": [chosen.weight_precision],
        "kv_precisions": [chosen.kv_precision],
        **{name: sorted({getattr(kind, name) for kind in chosen.kinds}) for name in ("tp", "pp", "ep", "dp")},
        "serving": [chosen.serving],
        **_layouts_of_pools(chosen),
        "batch_limits": [] if limit is None else [limit],
        **_drafts(chosen.speculation if isinstance(chosen, Deployed) else None),
    }
    return scenario.model_copy(update={"deployment": scenario.deployment.model_copy(update=pinned)})


def _drafts(drafts: Drafts | None) -> dict[str, Any]:
    """Speculative decoding as one deployment has it: as published, as asked for, or off.

    Published drafts are considered as before: written down as asked for, their acceptance would be known for certain.
    """
    if drafts is None:
        return {"speculative_decoding": None, "speculation": "off"}
    if drafts.method:
        return {"speculative_decoding": None, "speculation": "auto"}
    of_all = SpeculativeDecoding(
        draft_tokens=drafts.draft_tokens, acceptance=drafts.acceptance, draft_cost=drafts.draft_cost
    )
    return {"speculative_decoding": of_all}


def _layouts_of_pools(chosen: Deployed | OperatingPoint) -> dict[str, Layout | None]:
    """How prefill and decode instances are laid out; none where instances do both."""
    if chosen.serving == "aggregated":
        return {"prefill": None, "decode": None}
    layouts = (Layout(**{name: getattr(kind, name) for name in Layout.model_fields}) for kind in chosen.kinds)
    return dict(zip(("prefill", "decode"), layouts, strict=True))
