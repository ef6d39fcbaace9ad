"""How wide intervals are for what nobody measured, by hand."""

import numpy as np
import pandas as pd
import pytest

from calibration.extrapolations import GROUPS_AT_LEAST, factor, learnt, of_extrapolation, quantile, wider_without
from sizing.catalog.measured import FEWEST
from sizing.evidence.extrapolation import EXTRAPOLATIONS

METRICS = ("ttft", "itl", "e2e", "throughput")


def left_out(
    far: dict[str, list[float]], scheme: str = "gpu", name: str = "new_gpu", column: str = "gpu"
) -> pd.DataFrame:
    """Scores by group, in every metric."""
    rows = [(group, value) for group, values in far.items() for value in values]
    parts = []
    for metric in METRICS:
        frame = pd.DataFrame(
            {
                **dict.fromkeys(EXTRAPOLATIONS, 0.0),
                "gpu": "h100_sxm",
                "generation": "hopper",
                "engine": "vllm",
                "configuration": "one",
                "layout": "",
                "mode": "fixed_concurrency",
                "metric": metric,
                "scheme": scheme,
                "id": [str(n) for n in range(len(rows))],
                "unit": [f"{group}{n}" for n, (group, _) in enumerate(rows)],
                "far": [value for _, value in rows],
            }
        )
        parts.append(frame.assign(**{name: 1.0, column: [group for group, _ in rows]}))
    return pd.concat(parts, ignore_index=True)


def spread(end: float) -> list[float]:
    """Ten measurements, of which eight lie at or below ``end``."""
    return [end / 2] * 7 + [end, 3 * end, 4 * end]


def test_four_of_five_measurements_of_four_of_five_groups_and_one_more_lie_inside() -> None:
    """Of nine GPUs with eight of ten scores at or below 1, 2, ... 9: of them and one more eight lie at or below 8."""
    rows = left_out({f"gpu{n}": spread(float(n)) for n in range(1, 10)})
    assert learnt(rows)["new_gpu"].factors["itl"] == pytest.approx(8.0)
    assert learnt(rows)["new_gpu"].groups == 9


def test_groups_that_were_easy_make_nothing_narrower() -> None:
    assert learnt(left_out({f"gpu{n}": [0.1] * FEWEST for n in range(9)}))["new_gpu"].factors["itl"] == 1.0


def test_too_few_groups_are_not_learnt_from() -> None:
    few = {f"gpu{n}": spread(2.0) for n in range(GROUPS_AT_LEAST - 1)}
    part = of_extrapolation(left_out(few), "new_gpu")
    assert np.isinf(factor(part[part["metric"] == "itl"]))
    assert learnt(left_out(few))["new_gpu"].by_rule == METRICS


def test_groups_of_few_measurements_count_for_nothing() -> None:
    rows = left_out({**{f"gpu{n}": spread(2.0) for n in range(9)}, "rare": [9.0] * (FEWEST - 1)})
    assert "rare" not in set(of_extrapolation(rows, "new_gpu")["group"])


def test_what_was_not_learnt_is_as_wide_as_a_generation_and_half_learnt_as_a_gpu() -> None:
    known = [
        left_out({f"{name}{n}": spread(end) for n in range(9)}, name, f"new_{name}", name)
        for name, end in (("gpu", 2.0), ("generation", 3.0))
    ]
    layouts = left_out({f"c{n}": [1.5] for n in range(9)}, "layout", "tensor_apart", "configuration")
    found = learnt(pd.concat([*known, layouts[layouts["metric"] == "throughput"]], ignore_index=True))
    assert found["pipeline"].factors["itl"] == 3.0
    assert (found["tensor_apart"].factors["throughput"], found["tensor_apart"].factors["itl"]) == (1.5, 2.0)
    assert found["tensor_apart"].by_rule == ("ttft", "itl", "e2e")


def test_superchips_whose_link_is_not_stated_say_nothing_of_pcie() -> None:
    rows = left_out({f"c{n}": [1.5] for n in range(9)}, "layout", "tensor_apart", "configuration")
    assert len(of_extrapolation(rows.assign(gpu="l40s"), "tensor_apart")) == len(rows)
    assert len(of_extrapolation(rows.assign(gpu="gh200"), "tensor_apart")) == 0


def test_a_gpu_is_judged_by_what_the_others_say() -> None:
    """One GPU five times as far as the others, which by these alone would lie outside."""
    rows = left_out({**{f"gpu{n}": spread(1.0) for n in range(9)}, "odd": spread(5.0)})
    odd = rows[rows["gpu"] == "odd"]
    assert wider_without(rows, odd, "gpu")["new_gpu"]["itl"] == 1.0
    nine = {f"gpu{n}": spread(1.0) for n in range(3)} | {f"odd{n}": spread(5.0) for n in range(3)}
    assert wider_without(left_out(nine), left_out({"gpu0": spread(1.0)}), "gpu")["new_gpu"]["itl"] == 5.0


def test_weights_say_where_a_quantile_lies() -> None:
    """Scores 1 and 2 weigh 1 each and 3 weighs 8: half of the weight is reached at 3."""
    assert quantile(np.array([3.0, 1.0, 2.0]), np.array([8.0, 1.0, 1.0]), 0.5) == 3.0
    assert quantile(np.array([3.0, 1.0, 2.0]), np.array([8.0, 1.0, 1.0]), 0.2) == 2.0
