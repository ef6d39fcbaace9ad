"""What the library keeps of a diagnosis once a person accepts it."""

from datetime import datetime

from reality.diagnosis.result import Diagnosis
from sharing.bonds.records import LearnedCalibration
from sharing.errors import InvalidEntry


def calibration_of(diagnosis: Diagnosis) -> LearnedCalibration:
    """The step times that a diagnosis offers. Raises InvalidEntry, which says why there are none."""
    one, measured = diagnosis.recalibration, diagnosis.as_measured
    if one is None:
        raise InvalidEntry(
            "Nothing can be accepted: fewer than three windows can be judged. Read a source that holds some hours, or "
            "choose a shorter window."
        )
    if not one.offered or one.since is None or one.until is None or measured is None or measured.benchmark is None:
        raise InvalidEntry(f"Nothing can be accepted: {one.why}")
    return LearnedCalibration(
        source=diagnosis.source,
        basis=one.basis,
        since=datetime.fromisoformat(one.since),
        until=datetime.fromisoformat(one.until),
        window_s=diagnosis.window_s,
        windows=one.windows,
        decode=one.factor_decode,
        prefill=one.factor_prefill,
        front=one.factor_fixed,
        covariance=one.covariance,
        sequence_ms=one.sequence_ms,
        sequence_covariance=one.sequence_covariance,
        benchmark=measured.benchmark.model_dump_json(),
    )
