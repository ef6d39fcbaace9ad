"""What a plan chooses from: every deployment that serves a question, of both kinds, in one ranking."""

from __future__ import annotations

from dataclasses import dataclass

from sizing.deployments.candidates import Candidates
from sizing.question.understand import Question
from sizing.search.aggregated import Aggregated, fewest_aggregated, smallest_aggregated, wanted
from sizing.search.batch_limits import with_batch_limits
from sizing.search.deployments import AllDeployments
from sizing.search.disaggregated import Disaggregated, disaggregated, fewest_disaggregated
from sizing.search.pools import Pools
from sizing.search.pools_search import smallest_pools
from sizing.search.screen import Evaluated, all_configurations, evaluate


@dataclass(frozen=True, kw_only=True, eq=False)
class Screened:
    """All that the analytic screen knows of a question: every configuration, those that fit, the deployments of them.

    ``base`` are the candidates as they are, ``evaluated`` those with a cap on the batch where it helps. ``together``
    are deployments whose instances do both; ``pools``, where there are any, those that split prefill and decode.
    """

    question: Question
    everything: Candidates
    base: Evaluated
    evaluated: Evaluated
    together: Aggregated
    pools: tuple[Disaggregated, ...]

    @property
    def deployments(self) -> AllDeployments:
        """Every deployment, of both kinds."""
        return AllDeployments((self.together, *self.pools))


def screened(question: Question) -> Screened:
    """Every configuration that is considered, evaluated by the analytic load model; caps on the batch where useful."""
    everything = all_configurations(question)
    base = evaluate(question, everything)
    evaluated = with_batch_limits(question, base)
    pools = smallest_pools(question, base)
    return Screened(
        question=question,
        everything=everything,
        base=base,
        evaluated=evaluated,
        together=smallest_aggregated(question, evaluated),
        pools=() if pools is None else (disaggregated(question, pools),),
    )


def deployments(question: Question, base: Evaluated, *, plain: bool = False) -> AllDeployments:
    """Deployments in as few instances as the limits allow: of ``base``, with batch limits where they help, then pools.

    ``plain`` leaves both out: what is there without a cap and without pools, in a fraction of the time.
    """
    if plain:
        return deployments_of(question, base, None)
    return deployments_of(question, with_batch_limits(question, base), smallest_pools(question, base))


def deployments_of(question: Question, evaluated: Evaluated, pools: Pools | None) -> AllDeployments:
    """As :func:`deployments`, once what batch limits and pools give is known."""
    together = smallest_aggregated(question, evaluated)
    return AllDeployments((together,) if pools is None else (together, disaggregated(question, pools)))


def fewest_gpus(question: Question, base: Evaluated, *, plain: bool = False) -> tuple[int, str] | None:
    """GPUs of the smallest of :func:`deployments`, spares counted, and its label; None where nothing serves.

    Without systems and prices, which take longer than the count.
    """
    if plain:
        return fewest_aggregated(question, base)
    evaluated = with_batch_limits(question, base) if wanted(question) else base
    smallest = (fewest_aggregated(question, evaluated), fewest_disaggregated(question, base))
    return min((one for one in smallest if one), key=lambda one: one[0], default=None)
