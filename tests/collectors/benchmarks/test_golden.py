"""What the importers make of every sample, written down: a change shows as a diff. RENEW_GOLDEN=1 writes it anew."""

import json
import os
from dataclasses import asdict, is_dataclass
from datetime import datetime

from collectors.benchmarks import BenchmarkFileError, read_benchmark


def plain(value: object) -> object:
    """Without what is not stated, floats to nine digits: short to read, and the same on every machine."""
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        value = value | value.get("percentiles", {}) | {"percentiles": None}
        found = {key: plain(item) for key, item in value.items()}
        return {key: item for key, item in found.items() if item not in (None, [], {})}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return float(f"{value:.9g}") if isinstance(value, float) else value


def test_golden(samples):
    found = {}
    for path in sorted(samples.rglob("*")):
        name = path.relative_to(samples).as_posix()
        if path.is_dir() or name in ("README.md", "golden.json"):
            continue
        try:
            found[name] = plain(read_benchmark(path.read_bytes(), name))
        except BenchmarkFileError as error:
            found[name] = {"refused": str(error)}
    golden = samples / "golden.json"
    if os.environ.get("RENEW_GOLDEN"):
        golden.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    assert found == json.loads(golden.read_text())
