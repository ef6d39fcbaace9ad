"""What cannot be is not a measurement: counts, means and rates below 0 are unknown."""

from collectors.backends.backend import Vectors
from collectors.prometheus.answers import Bucket, Sample
from collectors.prometheus.histograms import HistogramQuantiles, distribution
from collectors.queries.query import QuantityPart, Subject
from collectors.reading.engine_values import engine_numbers
from collectors.vocabulary.expressions import Scope

BUCKETS = (Bucket(low=0.0, high=1.0, count=2.0), Bucket(low=1.0, high=2.0, count=1.0))


def test_a_distribution_of_fewer_than_no_observations_is_none() -> None:
    assert distribution(BUCKETS, rate_sum=-3.0, rate_count=-2.0, window_s=60.0, scale=1.0) == HistogramQuantiles()


def test_a_mean_of_positive_quantities_is_not_below_0() -> None:
    made = distribution(BUCKETS, rate_sum=-3.0, rate_count=3.0, window_s=60.0, scale=1.0)
    assert (made.mean, made.count) == (None, 180.0)
    assert made.at("p50").value is not None


def test_a_rate_below_0_is_unknown_and_a_queue_may_shrink() -> None:
    def sample(value: float) -> tuple[Sample, ...]:
        return (Sample(labels={}, time_s=0.0, value=value),)

    subjects = (Subject("running"), Subject("finished"), Subject("waiting", QuantityPart.GROWTH))
    vectors = Vectors(samples={subject: sample(-5.0) for subject in subjects})
    numbers = engine_numbers(vectors, {}, Scope(window_s=60.0, step_s=15.0))
    assert (numbers.get("running"), numbers.get("finished_rps")) == (None, None)
    assert numbers["waiting_growth_per_s"] == -5.0
