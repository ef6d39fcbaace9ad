"""The mix in words: a sentence of the answer, and lines for a terminal."""

from collections.abc import Iterator, Sequence

from sizing.base.format import count, ms, percent, requests_per_s, usd
from sizing.base.mixed import FleetPart, MixedFleet, PoolsOfTypes, PromptRange
from sizing.catalog.engines import resolve_engine
from sizing.pipelines.text import Named
from sizing.scenario.schema import Scenario

LEAST_SAVED = 0.0005
"""Share of a cost below which another is as much. Chosen: what a percentage in a sentence does not tell apart."""


OF_ONE_FLEET = "These figures are of one fleet for all requests: no mixed fleet is looked for with each change."
BESIDE_ONE_FLEET = "The plan beside it is one fleet for all requests, not the mixed fleet that the answer advises."
MATERIALS_OF_ONE_FLEET = "These are of one fleet for all requests, as the plan; of the mixed fleet see its chapter."


def of_one_fleet(scenario: Scenario) -> str:
    """What is said where inputs are moved, beside figures that keep one fleet; empty where no mix is asked for."""
    return OF_ONE_FLEET if scenario.deployment.mixed > 1 else ""


def sentence(mixed: MixedFleet, named: Named) -> str:
    """What several fleets, and pools on two GPU types, would save, without any amount of money."""
    split, apart = _of_split(mixed, named), mixed.apart
    if mixed.no_pools_of_types:
        labels = " or ".join(resolve_engine(one).label for one in mixed.no_pools_of_types)
        return f"{split} No document says that {labels} hands a KV cache from one GPU type to another."
    if apart is None:
        return split
    if apart.advised and mixed.outcome != "cheaper":
        split = "No split by prompt length costs less."
    return f"{split} {_of_pools(apart, named)}"


def saves(apart: PoolsOfTypes) -> bool:
    """Whether prefill and decode on two GPU types would cost less than the plan: else they are a sentence, no table."""
    return apart.saved_share >= LEAST_SAVED


def _of_pools(apart: PoolsOfTypes, named: Named) -> str:
    """What prefill and decode on two GPU types would save."""
    if not saves(apart):
        return "Prefill and decode on two GPU types would cost no less than the plan."
    less = f"{_both(apart, named)} would cost {percent(apart.saved_share)} less than the plan"
    if apart.advised:
        return f"{less}, and are what is priced."
    return f"{less}, which stays: two pools have to save a tenth, over fast links and in one place."


def _both(apart: PoolsOfTypes, named: Named) -> str:
    """ "Prefill on 16 x H100 SXM and decode on 48 x H20"."""
    prefill, decode = (f"{count(pool.gpus)} x {named(pool.gpu)}" for pool in (apart.prefill, apart.decode))
    return f"Prefill on {prefill} and decode on {decode}"


def deployed_pools(apart: PoolsOfTypes, at: str, named: Named) -> str:
    """What is deployed where both are advised; ``at`` the asked percentile, such as "p95"."""
    latency = f"{at} TTFT {ms(apart.ttft_ms)}, ITL {ms(apart.itl_ms)}"
    return f"{_both(apart, named)}, in {_systems(apart)}: {latency}, simulated with steps as slow as it is sized for."


def _systems(apart: PoolsOfTypes) -> str:
    """ "2 x DGX H100 and 6 x HGX H20"."""
    return " and ".join(f"{count(pool.systems)} x {pool.system}" for pool in (apart.prefill, apart.decode))


def _of_split(mixed: MixedFleet, named: Named) -> str:
    match mixed.outcome:
        case "cheaper":
            saved = percent(mixed.saved_share)
            return f"Split by prompt length, {_split(mixed, named)} cost {saved} less than one fleet for all."
        case "not_cheaper":
            return f"One fleet is cheapest: the best split, {_split(mixed, named)}, {_costs(mixed)}."
        case "one_fleet":
            return "One fleet for all requests is cheapest: no split over several is worth its whole systems."
        case "not_held":
            return f"No split over fleets: {_unserved(mixed.unserved)} no GPU type with a price holds the limits alone."
        case "no_price":
            return "No split over fleets: the price of the planned systems is not known."


def _costs(mixed: MixedFleet) -> str:
    more = -(mixed.saved_share or 0.0)
    return f"costs {percent(more)} more" if more >= LEAST_SAVED else "costs as much"


def _split(mixed: MixedFleet, named: Named) -> str:
    each = [f"{fleet(one, named)} for {requests(one)}" for one in mixed.parts]
    return f"{', '.join(each[:-1])} and {each[-1]}" if len(each) > 1 else each[0]


def fleet(one: FleetPart, named: Named) -> str:
    """ "4 x H100 SXM"."""
    return f"{count(one.deployment.gpus)} x {named(one.deployment.gpu)}"


def requests(one: FleetPart) -> str:
    """ "prompts below 1,200 tokens (50 % of requests)"; "50 % of requests" where all are alike."""
    share = f"{percent(one.share)} of requests"
    return f"prompts {prompts(one.ranges)} ({share})" if one.ranges else share


def prompts(ranges: Sequence[PromptRange]) -> str:
    """ "below 1,200 tokens", "of 1,200 to 4,000 tokens", "from 4,000 tokens on"."""
    return " and ".join(_prompts(one) for one in ranges)


def _prompts(one: PromptRange) -> str:
    low, high = one.from_tokens, one.below_tokens
    if low is None:
        return "of any length" if high is None else f"below {count(high)} tokens"
    return f"from {count(low)} tokens on" if high is None else f"of {count(low)} to {count(high)} tokens"


def _unserved(ranges: Sequence[PromptRange]) -> str:
    return f"for prompts {prompts(ranges)}" if ranges else "for these requests"


def lines(mixed: MixedFleet, named: Named) -> Iterator[str]:
    """The mix for a terminal: a line for each part, then the whole."""
    yield f"Mixed fleet: {sentence(mixed, named)}"
    for one in mixed.parts:
        deployed = one.deployment
        limit = "" if one.latency is None else f", TTFT {ms(one.latency.ttft_ms.at_percentile)}"
        yield (
            f"  {fleet(one, named)} ({count(deployed.systems)} x {deployed.system}): {requests(one)}, "
            f"{requests_per_s(one.rps)}{limit}, {usd(one.usd_per_month)} a month"
        )
    if (apart := mixed.apart) is not None:
        yield (
            f"  Prefill {apart.prefill.layout} on {count(apart.prefill.systems)} x {apart.prefill.system}, decode "
            f"{apart.decode.layout} on {count(apart.decode.systems)} x {apart.decode.system}, {apart.engine}: TTFT "
            f"{ms(apart.ttft_ms)}, ITL {ms(apart.itl_ms)}, {usd(apart.usd_per_month)} a month; on one GPU type "
            f"{usd(apart.same_type_usd_per_month)}"
        )
    if mixed.parts:
        yield (
            f"  together {usd(mixed.usd_per_month)} a month of hardware, one fleet {usd(mixed.one_fleet_usd_per_month)}"
        )
