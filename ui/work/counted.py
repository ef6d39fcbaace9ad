"""Plans on a server: the limits of its settings, and what was asked among the figures of the process."""

from collections.abc import Iterator
from functools import cache

from prometheus_client import Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from sharing.settings import Settings
from ui.observed.figures import register
from ui.work.plans import plans

ASKED, ENDED, WORKERS = "sizing_plans", "sizing_workers_ended", "sizing_workers"
WAITING, LONG_WAITING = "sizing_plans_waiting", "sizing_simulations_waiting"


def serve(settings: Settings) -> None:
    """Keep to the settings of a server, and count in its figures; workers start with :meth:`Plans.start`."""
    plans().keep_to(settings)
    _counted()


@cache
def _counted() -> None:
    """The counters, made once in a process."""
    register(PlansCollector())


class PlansCollector(Collector):
    """What was asked of the plans of this process, as a collector of Prometheus's client."""

    def collect(self) -> Iterator[Metric]:
        """All of it, which costs nothing."""
        counts, (wanted, prepared) = plans().counts, plans().workers
        meaning = (
            "Plans asked for, simulations, and what Explore works out: computed, kept from before, or shared with a "
            "session that asked at the same time."
        )
        by_answer = CounterMetricFamily(ASKED, meaning, labels=["answer"])
        for answer, number in (("computed", counts.computed), ("kept", counts.kept), ("shared", counts.shared)):
            by_answer.add_metric([answer], number)
        ended = CounterMetricFamily(ENDED, "Worker processes that ended.", labels=["why"])
        ended.add_metric(["died"], counts.ended_workers)
        ended.add_metric(["time limit"], counts.given_up)
        workers = GaugeMetricFamily(WORKERS, "Worker processes.", labels=["are"])
        workers.add_metric(["wanted"], wanted)
        workers.add_metric(["prepared"], prepared)
        yield from (by_answer, ended, workers)
        of_plans, of_long = plans().queued
        yield GaugeMetricFamily(WAITING, "Plans in the queue.", value=of_plans)
        yield GaugeMetricFamily(LONG_WAITING, "Simulations in the queue.", value=of_long)
