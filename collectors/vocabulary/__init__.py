"""What every engine and GPU exporter calls the same quantity: names, units, traps and versions, as data."""

from collectors.vocabulary.detect import engine_vocabularies, engine_vocabulary, gpu_vocabularies
from collectors.vocabulary.schema import Concept, EngineVocabulary, GpuVocabulary, MetricCandidate
