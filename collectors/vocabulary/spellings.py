"""How the names of engines and exporters are written: the one table of beginnings that other software gives them.

An engine writes ``vllm:num_requests_running``. Ray Serve and KServe put a word before it; routers, gateways and stores
that normalise names turn the colon into an underscore (sglang-router and SMG ``/engine_metrics``, OpenTelemetry
collectors, Dynamo before 2026 the other way round for ``trtllm:``). All of it is a beginning and a separator.
"""

from collectors.vocabulary.schema import EngineVocabulary, GpuVocabulary

Spelling = tuple[str, str] | None
"""What of a name is replaced by what; None is the engine's own way."""

BEFORE_ENGINES = ("", "ray_", "kserve_")
"""Words before the prefix of an engine: none, Ray Serve LLM, KServe and Open Data Hub."""
BEFORE_EXPORTERS = ("", "amd_")
"""The same of a GPU exporter: AMD's has MetricsFieldPrefix, and its documentation suggests ``amd_``."""
SEPARATORS = (":", "_")
"""Between the name of an engine and that of a metric."""


def respelled(name: str, spelling: Spelling) -> str:
    """``name`` in the spelling of the source."""
    return name.replace(*spelling) if spelling else name


def spellings(vocabulary: EngineVocabulary | GpuVocabulary) -> list[Spelling]:
    """Every way the names of an engine or exporter are written, its own first."""
    own = vocabulary.prefix
    if not own:
        return [None]
    if isinstance(vocabulary, GpuVocabulary):
        written = [before + own for before in BEFORE_EXPORTERS]
    elif own[-1] in SEPARATORS and own[:-1].isalnum():
        written = [before + own[:-1] + mark for before in BEFORE_ENGINES for mark in SEPARATORS]
    else:
        written = []
    others = [text for text in dict.fromkeys((*written, *vocabulary.spellings)) if text != own]
    return [None, *((own, text) for text in others)]
