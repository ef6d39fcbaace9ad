"""The hand-written part of the accuracy report: its text (``accuracy_notes.md``), and obstacles to what was asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

TEXT = Path(__file__).with_name("accuracy_notes.md")
TABLES = "<!-- tables -->"


def notes(**facts: object) -> tuple[str, str]:
    """The text before and after the tables; ``{name}`` stands for a fact."""
    before, after = TEXT.read_text(encoding="utf-8").split(TABLES)
    for name, value in facts.items():
        before = before.replace(f"{{{name}}}", str(value))
    return before.strip(), after.strip()


OBSTACLES: Mapping[str, str] = MappingProxyType(
    {
        "Closed-loop ITL": "engines treat models one by one, which sizes in a config.json do not tell",
        "Closed-loop E2E": "as ITL, and all but two sources of it are one benchmark of two models",
        "Closed-loop output tokens/s": "as ITL, and nearly all of it is one benchmark of two models",
        "Offline output tokens/s": "what fills the batch of a tuned run is not published",
        "Prefill of static batches": "all of it is software of 2023 and 2024, on four models",
        "Open-loop TTFT p50": "11 good rows just below capacity, where 5 % of capacity is a factor of two in TTFT",
        "Open-loop TTFT p99": "11 good rows just below capacity, where 5 % of capacity is a factor of two in TTFT",
    }
)
"""Why a target may not be met, by its name; said only where it is not."""
