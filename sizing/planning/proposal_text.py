"""What is said of a proposal: its name, what it is made of, what speaks for it and what it gives up."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sizing.base.choices import ProposalName
from sizing.base.deployed import Deployed
from sizing.base.format import counted, significant
from sizing.base.result import Plan, Proposal
from sizing.planning.answer import NO_ROOM, chance_in_words
from sizing.planning.sentences import systems_named

NAMES: Mapping[ProposalName, str] = MappingProxyType(
    {"lowest_cost": "Lowest cost", "balanced": "Balanced", "resilient": "Resilient"}
)
"""What each proposal is called where it is shown."""

Written = Callable[[float], str]
"""An amount in USD as it is written: in a currency, or as it is."""


def balanced_of(plan: Plan) -> Proposal | None:
    """The proposal that is the plan itself; None where there are no proposals."""
    return next((one for one in plan.proposals if one.name == "balanced"), None)


def is_the_plan(one: Proposal, balanced: Proposal) -> bool:
    """Whether a proposal deploys what the plan does."""
    alike = one.deployment.model_copy(update={"redundancy": balanced.deployment.redundancy})
    return alike == balanced.deployment


def made_of(deployed: Deployed) -> str:
    """ "2 x DGX H200: 16 GPUs", and how many of these run the model where that is fewer."""
    used = f", {deployed.gpus:,} in use" if deployed.idle_gpus else ""
    gpus = counted(deployed.gpus_bought, "GPU")
    return f"{systems_named(deployed.systems, deployed.system)}: {gpus}{used}"


def chance(one: Proposal) -> str:
    """ "91 %", or that nothing is known of it."""
    known = one.probability_within_limits
    return "as measured" if known is None else chance_in_words(known)


def room(one: Proposal) -> str:
    """How many times the planned load it carries as surely as asked: "1.4 times", "hardly any"; where instances stand
    by, while all run, too: "1.4 times, 2.1 while all run"."""
    if one.headroom is None:
        return "as measured"
    if one.headroom < 1.0:
        return f"none ({significant(one.headroom, 2)} times)"
    room = "hardly any" if one.headroom < NO_ROOM else f"{significant(one.headroom)} times"
    kinds = [kind.instances / (kind.instances - kind.spare_instances) for kind in one.deployment.kinds]
    more = one.headroom * min(kinds)
    return room if min(kinds) == 1.0 else f"{room}, {significant(more, 2)} while all run"


PREFERRED_FOR = "such as room for the KV cache, a simpler layout or what is known to run"
"""What a plan may cost more for than another that is as sure (:mod:`sizing.search.preferences`)."""


def gives_up(one: Proposal, balanced: Proposal, written: Written | None) -> str:
    """What a customer gives up who takes this proposal, in a sentence; ``written``: None where no money is shown."""
    match one.name:
        case "lowest_cost":
            if is_the_plan(one, balanced):
                return "Nothing that costs clearly less is as likely as not enough."
            saved = _saved(one, balanced, written)
            if one.headroom is not None and one.headroom >= 1.0:
                return f"Gives up what the plan is preferred for, {PREFERRED_FOR},{saved}: it is as sure as was asked."
            return f"Gives up being sure{saved}: as likely as not or better, it is enough."
        case "balanced":
            return _without_redundancy(one.deployment)
        case "resilient":
            if is_the_plan(one, balanced) and not one.deployment.survives_a_system:
                return "Nothing was found that survives the loss of a system: this is the plan."
            if is_the_plan(one, balanced):
                return "The plan survives the loss of a system already."
            return f"Gives up money{_more(one, balanced, written)}: the limits hold with its fullest system lost."


def _without_redundancy(deployed: Deployed) -> str:
    """What becomes of the plan when a system is lost."""
    if deployed.survives_a_system:
        lost = "system" if deployed.redundancy == "none" else deployed.redundancy
        return f"It keeps the limits with a whole {lost} lost, as asked."
    if deployed.systems == 1:
        what = "one instance in one system" if deployed.instances == 1 else "everything in one system"
        return f"Gives up redundancy: {what}, so that nobody is answered while it is down."
    return "Gives up redundancy: while a system is down, the peak does not fit within the limits."


def _difference(one: Proposal, other: Proposal) -> float | None:
    if one.hardware_usd_per_month is None or other.hardware_usd_per_month is None:
        return None
    return one.hardware_usd_per_month - other.hardware_usd_per_month


def _more(one: Proposal, balanced: Proposal, written: Written | None) -> str:
    """ ", $4,570 a month more", or the systems where no money is shown."""
    usd = _difference(one, balanced)
    if written is not None and usd is not None:
        return f", {written(usd)} a month more" if usd > 0.0 else ""
    return f", {one.systems:,} systems instead of {balanced.systems:,}"


def _saved(one: Proposal, balanced: Proposal, written: Written | None) -> str:
    """ " to save $1,530 a month"."""
    usd = _difference(balanced, one)
    return f" to save {written(usd)} a month" if written is not None and usd is not None else ""
