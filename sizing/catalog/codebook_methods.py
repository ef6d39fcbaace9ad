"""Methods whose weights are codes of tables, or of any number of bits: AQLM, VPTQ, SpQR, ExLlama.

Sources: transformers.utils.quantization_config 5.24 and its documentation of VPTQ, read 2026-11-30; Vahe1994/SpQR,
inference_lib/src/spqr_quant/inference.py.
"""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

from sizing.catalog.config_fields import checked_number
from sizing.catalog.weight_schemes import Quantisation, Scheme, Section, bits_of, group_of, weights_of_bits

_CODED_WEIGHTS, _CODE_BYTES = 16, 8
"""Weights of a word of SpQR and its bytes: 16 of 3 bit with their scale and zero of 3 bit in 64 bits."""
_TILE_BYTES = 8 / 256
"""Bytes a weight of the 16-bit scales and zeros of SpQR's tiles of 16 x 16."""
_OUTLIER_BYTES, _OFFSET_BYTES = 4, 4
"""Bytes of an outlier of SpQR, place and value together, and of the offset of a row."""
_MOST_LAYERS = 50_000


def aqlm(section: Section) -> Quantisation:
    """AQLM: codes of so many bits for each group of weights."""
    bits, books, group = (
        checked_number(key, section.get(key, unsaid), 1, 1024)
        for key, unsaid in (("nbits_per_codebook", 16), ("num_codebooks", 1), ("in_group_size", 8))
    )
    return Quantisation(main=weights_of_bits(min(8.0, max(1.0, bits * books / group))))


def exllama(section: Section) -> Quantisation:
    """EXL2, EXL3: any number of bits on average, those of the head apart."""
    bits, head = (checked_number(key, section.get(key, 4), 1, 16) for key in ("bits", "head_bits"))
    return Quantisation(
        main=weights_of_bits(min(bits, 8.0)), head=weights_of_bits(min(head, 8.0)) if head <= 8 else None
    )


def vptq(section: Section) -> Quantisation:
    """VPTQ: for each vector of weights a code of log2(centroids) bits, and one for what is left of it.

    Modules are named one by one in ``config_for_layers``, or by the ends of their names in ``shared_layer_config``.
    """
    parts = [section.get(key) for key in ("shared_layer_config", "config_for_layers")]
    layers = [item for part in parts if isinstance(part, Mapping) for item in list(part.items())[:_MOST_LAYERS]]
    listed = tuple((str(name), _vptq_scheme(one)) for name, one in layers if isinstance(one, Mapping))
    if not listed:
        note = "quantization_config says VPTQ without the codes of its layers: taken as 2-bit weights"
        return Quantisation(main=weights_of_bits(2), notes=(note,))
    main = Counter(scheme for _, scheme in listed).most_common(1)[0][0]
    return Quantisation(main=main, holds="listed", listed=listed)


def _vptq_scheme(layer: Section) -> Scheme:
    """Bits a weight = (log2 centroids + log2 centroids of the rest) / vector; 16-bit tables are spread over weights."""
    vector, codes, rest = (_last(layer, key) for key in ("vector_lens", "num_centroids", "num_res_centroids"))
    if vector < 1 or codes < 2:
        return weights_of_bits(2)
    bits = (math.log2(codes) + (math.log2(rest) if rest > 1 else 0.0)) / vector
    scheme = weights_of_bits(min(8.0, max(1.0, bits)))
    weights = _count(layer.get("in_features")) * _count(layer.get("out_features"))
    tables = 2.0 * vector * (codes + max(rest, 0.0)) * max(1.0, _count(layer.get("group_num")))
    return Scheme(precision=scheme.precision, bytes=bits / 8 + (tables / weights if weights else 0.0))


def _last(layer: Section, key: str) -> float:
    """The last of a pair, which is that of ordinary weights; the first is of outliers. -1 stands for none."""
    value = layer.get(key)
    return _count(value[-1] if isinstance(value, list) and value else value)


def _count(value: Any) -> float:
    """A whole number of a file; 0 for anything else and for -1."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 40 else 0.0


def spqr(section: Section) -> Quantisation:
    """SpQR: words of 16 weights with their scales, and outliers, whose number stands in ``shapes``."""
    shapes = section.get("shapes")
    counts = Counter[str]()
    for name, shape in list(shapes.items())[:_MOST_LAYERS] if isinstance(shapes, Mapping) else ():
        counts[str(name).removesuffix(".shape").rpartition(".")[2]] += int(_last({"shape": shape}, "shape"))
    words = counts["dense_weights"]
    if not words:
        main = weights_of_bits(min(8.0, bits_of(section) or 3.0), group_of(section))
        if main.precision != "int3_wo":
            return Quantisation(main=main)
        each = _CODE_BYTES / _CODED_WEIGHTS + _TILE_BYTES
        note = "quantization_config says SpQR without shapes: its outliers are not counted"
        return Quantisation(main=Scheme(precision=main.precision, bytes=each), notes=(note,))
    total = words * _CODE_BYTES + counts["col_vals"] * _OUTLIER_BYTES + counts["row_offsets"] * _OFFSET_BYTES
    return Quantisation(main=Scheme(precision="int3_wo", bytes=total / (words * _CODED_WEIGHTS)))
