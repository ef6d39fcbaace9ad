"""The answer for the stages beside the language model: their GPUs, rates, latency and cost, and those of the whole."""

from __future__ import annotations

from typing import Annotated, Literal

from sizing.base.quantity import Estimate, Result, quantity

StageBasis = Literal["estimate", "measured"]


class StagePlan(Result):
    """One stage: what it runs on, what it carries and what a request spends in it."""

    stage: Annotated[str, quantity("Stage", help="embed, rerank, guard, speech or other.")]
    model: Annotated[str, quantity("Model", help="The model, or that the stage is a record of one's own.")]
    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    gpus: Annotated[
        int, quantity("GPUs", "GPUs", "ceil(GPU share)", "GPUs that run it; stages that share one each count it.")
    ]
    gpu_share: Annotated[
        float,
        quantity("GPU share", "GPUs", "items/s / (rate x utilisation)", "GPUs that the load takes, parts included."),
    ]
    items_per_s: Annotated[
        float, quantity("Items/s", "items/s", "requests/s x items per request", "At the sustained rate of the peak.")
    ]
    rate: Annotated[
        Estimate,
        quantity(
            "Rate of a GPU",
            "items/s",
            "full batch / time of a full batch",
            "What a GPU does at most, with an 80 % interval; of a measured record the record.",
        ),
    ]
    utilization: Annotated[
        float, quantity("Utilisation", "", "sum over stages of batches/s x time", "Of the GPUs that it runs on.")
    ]
    batch: Annotated[float, quantity("Batch", "items", "fewest that keep the utilisation", "Items served at once.")]
    delay_ms: Annotated[float, quantity("Batching delay", "ms", "as asked", "What the batcher waits for company.")]
    wait_ms: Annotated[
        float,
        quantity("Wait", "ms", "sum(lambda S^2) / (2 (1 - rho)) + collecting", "Mean wait for a batch and the GPU."),
    ]
    compute_ms: Annotated[float, quantity("Compute", "ms", "time of the batch", "Of the batch a request is in.")]
    latency_ms: Annotated[
        float, quantity("Latency", "ms", "batching delay + wait + compute", "Mean time of a request in the stage.")
    ]
    usd_per_month: Annotated[
        float | None,
        quantity("Cost", "USD/month", "share of what is bought for it", "Hardware; none where no price is known."),
    ]
    basis: Annotated[
        StageBasis,
        quantity("Basis", help="estimate: roofline of the engine's prefill; measured: a record of one's own."),
    ]
    validated: Annotated[
        bool,
        quantity("Validated", help="Whether published measurements, or the record, say how far it is to be trusted."),
    ]
    how_sure: Annotated[str, quantity("How sure", help="What the rate rests on, in one sentence.")]


class StageSystems(Result):
    """What is bought or rented for the stages of one GPU type."""

    gpu: Annotated[str, quantity("GPU", help="Catalogue id of the accelerator.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "first fit by time and memory", "GPUs that run stages.")]
    idle_used: Annotated[
        int, quantity("Idle GPUs used", "GPUs", "", "Of them those that the language model's systems leave idle.")
    ]
    system: Annotated[str, quantity("System", help="What is bought or rented beside; empty where nothing is.")]
    systems: Annotated[int, quantity("Systems", "systems", "ceil(GPUs / GPUs per system)", "Whole systems.")]
    power_kw: Annotated[
        float | None, quantity("Power", "kW", "systems x power budget", "Of what is bought or rented; None: not known.")
    ]
    usd_per_month: Annotated[
        float | None, quantity("Cost", "USD/month", "systems x USD/h x 730", "None where no price is known.")
    ]


class Pipeline(Result):
    """The stages, and the whole with the language model."""

    stages: Annotated[tuple[StagePlan, ...], quantity("Stages", help="In the order in which a request passes them.")]
    systems: Annotated[tuple[StageSystems, ...], quantity("Systems", help="What the stages run on, by GPU type.")]
    gpus: Annotated[int, quantity("GPUs", "GPUs", "sum over types", "GPUs that run stages.")]
    latency_ms: Annotated[float, quantity("Latency of the stages", "ms", "sum over stages", "Mean, one after another.")]
    ttft_ms: Annotated[
        float | None,
        quantity("TTFT of the whole", "ms", "stages + median TTFT", "From the request to the first token."),
    ]
    e2e_ms: Annotated[
        float | None, quantity("E2E of the whole", "ms", "stages + median E2E", "From the request to the last token.")
    ]
    power_kw: Annotated[
        float | None, quantity("Power of the stages", "kW", "sum over types", "None where one is not known.")
    ]
    power_kw_whole: Annotated[
        float | None, quantity("Power of the whole", "kW", "stages + language model", "Language model included.")
    ]
    usd_per_month: Annotated[
        float | None, quantity("Cost of the stages", "USD/month", "sum over types", "None where a price is not known.")
    ]
    usd_per_month_whole: Annotated[
        float | None,
        quantity("Cost of the whole", "USD/month", "stages + language model", "Hardware, language model included."),
    ]
    notes: Annotated[tuple[str, ...], quantity("Notes", help="What a careful architect would point out.")]
    assumptions: Annotated[tuple[str, ...], quantity("Assumptions", help="What the figures rest on.")]

    def without_money(self) -> Pipeline:
        """The same without any amount."""
        unpriced = {"usd_per_month": None}
        return self.model_copy(
            update=unpriced
            | {
                "usd_per_month_whole": None,
                "stages": tuple(one.model_copy(update=unpriced) for one in self.stages),
                "systems": tuple(one.model_copy(update=unpriced) for one in self.systems),
            }
        )
