"""A trace with block hashes in the form: its reuse goes into the scenario until the fields say something else."""

import json
from pathlib import Path

from sharing.form.presets import defaults
from sharing.form.read import to_scenario
from sharing.form.trace import in_use
from sizing.scenario.schema import Scenario
from sizing.scenario.trace import read_trace


def test_the_reuse_of_a_trace_counts_until_a_cached_part_is_typed(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    lines = [
        {"timestamp": 400 * k, "input_length": 1024 + 512 * (k // 9), "output_length": 90, "hash_ids": blocks}
        for k in range(90)
        for blocks in [[0, *(100 * (1 + k % 9) + b for b in range(1 + k // 9))]]
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    trace = in_use(read_trace(path))
    values = defaults() | dict(trace.filled)
    counted = Scenario.model_validate(to_scenario(values, trace=trace)).workload
    assert counted.prefix_reuse.hit_share(1e9, 1, "prefix_aware") > 0.5
    typed = Scenario.model_validate(to_scenario(values | {"cached": "100"}, trace=trace)).workload
    assert typed.prefix_reuse is None
    assert typed.prefix_cached_tokens == 100
