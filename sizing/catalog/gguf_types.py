"""The types in which llama.cpp writes the weights of a GGUF file: bits of layers, embeddings and head.

``gguf_types.csv``: ``published_bits`` are those of all weights of Llama 3.1 8B (8.03 billion, 525 million each of
embeddings and head). Types with one block keep its bits in ``layer_bits``; of those that mix blocks they are what is
left of the published size, with embeddings and head as ``llama_tensor_get_type_impl`` in llama.cpp's
src/llama-quant.cpp stores them (read at 007dbbf, 2026-11-30). A head that is shared with the
embeddings has the bits of a head.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType
from typing import Any

from sizing.catalog.files import typed_rows

GROUP = "gguf"
"""All these formats in tables of what engines read."""
USUAL_TYPE = "Q4_K_M"
"""What is loaded where a tag or a repository names no type: models of Ollama's library whose tag says a size alone,
``hf.co/USER/REPO`` in Ollama, and ``-hf USER/REPO`` of llama.cpp's server (its README: "quant is optional,
case-insensitive, default to Q4_K_M"; Hugging Face's Hub docs on Ollama: "By default, the Q4_K_M quantization scheme is
used", both read 2026-11-30). Models that were added to Ollama's library before mid-2024 have Q4_0, 6 % less."""


@dataclass(frozen=True, kw_only=True)
class GgufType:
    """A type of GGUF files; ``file_type`` is its number (``llama_ftype``), ``names`` are others in names of files."""

    type: str
    file_type: int
    bits: int
    layer_bits: float
    embedding_bits: float
    head_bits: float
    published_bits: float | None
    names: tuple[str, ...]
    source: str
    date: str

    @property
    def precision(self) -> str:
        """Its id among the weight formats: ``q5_k_m``."""
        return self.type.lower()

    @property
    def of_precision(self) -> dict[str, Any]:
        """What it says of its weight format, by the names of the fields."""
        return {
            "gguf_type": self.type,
            "bits": self.bits,
            "bytes": self.layer_bits / 8,
            "embedding_bytes": self.embedding_bits / 8,
            "ends_bytes": self.head_bits / 8,
            "checkpoint_marks": (self.precision, *self.names),
        }


@cache
def gguf_types() -> Mapping[str, GgufType]:
    """All types by name, widest first."""
    return MappingProxyType({row.type: row for row in typed_rows("gguf_types.csv", GgufType)})


@cache
def type_named(name: str) -> GgufType | None:
    """The type that a file, a tag or a tool calls so, case aside; None where none is."""
    wanted = name.lower()
    return next((one for one in gguf_types().values() if wanted in (one.precision, *one.names)), None)


def formats_of(names: Iterable[str]) -> tuple[str, ...]:
    """Ids of weight formats as tables name them, with those of :data:`GROUP` for that."""
    all_types = tuple(one.precision for one in gguf_types().values())
    return tuple(each for name in names for each in (all_types if name == GROUP else (name,)))
