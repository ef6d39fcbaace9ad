"""How an engine computes with narrow weights: multiplied as they are, or widened to 16 bit first."""

from sizing.catalog.engines import Engine
from sizing.catalog.gpu import Gpu
from sizing.catalog.precisions import WIDE_BYTES, Precision, compute_flops, wide_flops
from sizing.catalog.support_rows import UNLISTED, FormatMode, SupportFact, by_format


def execution(engine: Engine, gpu: Gpu, precision: Precision) -> FormatMode:
    """In which mode the engine runs the format on the GPU: weight-only where the matrix units lack the format, or where
    the engine is stated to widen it all the same; experts, where dense layers differ from them."""
    if precision.bytes >= WIDE_BYTES:
        return "native"
    if compute_flops(gpu, precision) in (0.0, wide_flops(gpu)):
        return "weight_only"
    stated = format_fact(engine.id, engine.built_on, gpu.generation, precision.id, True)
    return "weight_only" if stated.entry == "weight_only" else "native"


def format_fact(engine: str, built_on: str, generation: str, precision: str, moe: bool) -> SupportFact:
    """What is stated of a format, by the engine's own rows first, then by those of the engine that it is built on."""
    facts = by_format()
    fact = facts.get((engine, generation, precision, moe))
    if fact is None and built_on:
        fact = facts.get((built_on, generation, precision, moe))
    return fact or UNLISTED
