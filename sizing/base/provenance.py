"""Where the numbers of an answer come from, as a value; :mod:`sizing.planning.sentences` puts it into words."""

from typing import Annotated, Literal

from sizing.base.choices import DecidedBy, NotSimulated
from sizing.base.quantity import Result, quantity

StepSourceKind = Literal["roofline", "kernel_tables", "calibration", "carried_over", "measured"]


class StepSource(Result):
    """What the durations of engine steps come from."""

    kind: Annotated[
        StepSourceKind,
        quantity(
            "Kind",
            help="roofline; kernel_tables: NVIDIA's tables and the roofline together; calibration: corrected by an "
            "imported benchmark; carried_over: corrected by what that benchmark says of its neighbours; measured: a "
            "measured record in place of step times.",
        ),
    ]
    name: Annotated[str, quantity("Name", help="The source by name, with its version, weights or calibration points.")]


class Provenance(Result):
    """What the numbers of one deployment come from."""

    step_times: Annotated[StepSource, quantity("Step times from", help="Source of the durations of engine steps.")]
    load_model: Annotated[
        DecidedBy, quantity("Latency from", help="simulation, the analytic load model, or a measured record.")
    ] = "analytic"
    requests: Annotated[
        int | None,
        quantity(
            "Requests simulated",
            "requests",
            "finished",
            "Requests behind the simulated capacity, of one instance or of those simulated together; none where "
            "capacity is analytic or measured.",
        ),
    ] = None
    not_simulated: Annotated[
        NotSimulated | None,
        quantity(
            "Why not simulated",
            help="estimate: nothing but the estimate was asked for; offline: there is no latency to simulate; "
            "not_confirmed: no candidate that was simulated surely met the limits; work_limit: simulating takes more "
            "work than an answer may. None where the numbers are simulated or measured.",
        ),
    ] = None
