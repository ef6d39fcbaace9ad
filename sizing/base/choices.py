"""What a scenario may choose from and an answer may say, each choice by the word that files and JSON have for it."""

from __future__ import annotations

from typing import Literal

Mode = Literal["streaming", "sequential", "offline"]
"""How answers are consumed: token by token, as a whole, or not awaited by anybody."""

Routing = Literal["random", "round_robin", "weighted", "least_loaded", "prefix_aware"]
"""How a front end spreads requests over instances."""

Objective = Literal["cost", "gpus", "latency", "energy"]
"""What deployments are ranked by."""

Location = Literal["on_prem", "cloud", "hybrid"]
"""Where hardware may be: bought, rented, or either."""

Serving = Literal["aggregated", "disaggregated"]
"""Prefill and decode in the same instances, or in pools of their own."""

StepTimesFrom = Literal["roofline", "kernel"]
"""Where step times that were not measured come from: the roofline alone, or with NVIDIA's kernel tables."""

BenchmarkMode = Literal["fixed_concurrency", "fixed_rate", "offline"]
"""How a benchmark loads the engine: so many requests at once, so many a second, or all at the start."""

Severity = Literal["info", "warning", "error"]
"""How much a warning matters."""

DecidedBy = Literal["simulation", "analytic", "measured"]
NotSimulated = Literal["estimate", "offline", "not_confirmed", "work_limit"]
"""Where instances and percentiles come from: a discrete-event simulation, the analytic load model, or a record."""

PriceCovers = Literal["complete", "gpus_only", "unknown"]
"""What the price of a system is for: all of it, or its GPUs without chassis, CPU, memory and network."""
