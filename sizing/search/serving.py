"""What a plan chooses from: every deployment that serves a question, of both kinds, in one ranking."""

from dataclasses import dataclass
from functools import cached_property

from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, considers_aggregated, fewest_aggregated, smallest_aggregated
from sizing.search.all_deployments import AllDeployments
from sizing.search.batch_limits import with_batch_limits
from sizing.search.disaggregated import PoolPairs, disaggregated, fewest_disaggregated
from sizing.search.drafted import with_drafts
from sizing.search.pools import Pools, smallest_pools
from sizing.search.screen import Evaluated, evaluate_all


@dataclass(frozen=True, kw_only=True, eq=False)
class Screened:
    """All that the analytic screen knows of a question: the configurations that fit, and the deployments of them.

    ``base`` are the candidates as they are. ``together`` are deployments whose instances do both, with a cap on the
    batch where it helps; ``pools``, where there are any, those that split prefill and decode. All of them are as small
    as the limits allow.
    """

    question: Question
    base: Evaluated
    together: Aggregated
    pools: tuple[PoolPairs, ...]

    @cached_property
    def deployments(self) -> AllDeployments:
        """Every deployment, of both kinds."""
        return AllDeployments((self.together, *self.pools))


def screened(question: Question, base: Evaluated | None = None, *, plain: bool = False) -> Screened:
    """What a question can be served by, from ``base``, or from every configuration that is considered.

    ``plain`` leaves out batch limits and pools: what is there without, in a fraction of the time.
    """
    if base is None:
        base = with_drafts(question, evaluate_all(question))
    if plain:
        return with_smallest(question, base, base, None)
    return with_smallest(question, base, with_batch_limits(question, base), smallest_pools(question, base))


def with_smallest(question: Question, base: Evaluated, evaluated: Evaluated, pools: Pools | None) -> Screened:
    """As :func:`screened`, once it is known what batch limits and pools give."""
    return Screened(
        question=question,
        base=base,
        together=smallest_aggregated(question, evaluated),
        pools=() if pools is None else (disaggregated(question, pools),),
    )


def fewest_gpus(question: Question, base: Evaluated, *, plain: bool = False) -> tuple[int, str] | None:
    """GPUs of the smallest that :func:`screened` has, spares counted, and its label; None where nothing serves.

    Without systems and prices, which take longer than the count.
    """
    if plain:
        return fewest_aggregated(question, base)
    evaluated = with_batch_limits(question, base) if considers_aggregated(question) else base
    smallest = (fewest_aggregated(question, evaluated), fewest_disaggregated(question, base))
    return min((one for one in smallest if one), key=lambda one: one[0], default=None)
