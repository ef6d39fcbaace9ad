"""What a file is: which kind of model its ``architectures`` name, and which other files are taken for a config.json."""

import re
from collections.abc import Mapping
from typing import Any

from commandline.foreign_text import shown
from sizing.base.errors import InvalidModelConfig
from sizing.catalog.config_fields import ConfigFields
from sizing.catalog.model import ModelKind
from sizing.catalog.model_families import family, model_families

_CLASS_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
"""A Python class; a hundred characters are twice the longest that vLLM 0.33.0 registers."""

_GENERATING = re.compile(r"(ForCausalLM|(?<!With)LMHeadModel|ForConditionalGeneration)$")
_READS_BOTH_WAYS = re.compile(r"(ForMaskedLM|EncoderModel|EncoderForMaskedLM)$|Bidirec|BiModel")
"""Classes whose tokens attend to what follows them, of any family: nothing can be generated token by token."""
_SCORING = re.compile(
    r"(ForSequenceClassification|ForTokenClassification|RewardModel|ForReward|RewardModelWithGating|ForQuestionAnswering|ForRanking|ForRetrieval)$"
)
_DECODER_BODY = re.compile(
    r"^(Llama|Mistral|Mixtral|Qwen2|Qwen3|Gemma|Gemma2|Gemma3Text|Phi3|NVEmbed|OPT|GPTNeoX|Cohere)Model$"
)
"""Bodies of decoders without an output head, under which embedders are published (e5-mistral-7b-instruct). Not every
class of that ending: BLOOM and ChatGLM are published under theirs and generate."""
_NO_LANGUAGE_CLASS = re.compile(r"For(Image|Audio|Video|Object|Depth|Semantic|Instance|CTC|XVector|TimeSeries|MaskGen)")


def class_name(fields: ConfigFields) -> str:
    """The class that loads the whole checkpoint, encoders included; "" where the file names none that could be one."""
    listed = fields.outer.get("architectures")
    first = listed[0] if isinstance(listed, list) and listed else ""
    return first if isinstance(first, str) and _CLASS_NAME.fullmatch(first) else ""


def model_kind(fields: ConfigFields) -> ModelKind:
    """Decoder, encoder or both: by the class, by ``is_encoder_decoder``, by whether attention is causal, by family."""
    name, families, kind = class_name(fields), model_families(), family(fields)
    if name.endswith("EncoderModel") and not fields.outer.get("decoder"):
        return "encoder"
    outer = str(fields.outer.get("model_type", "")).lower()
    if fields.raw("is_encoder_decoder") is True or {kind, outer} & families.encoder_decoders:
        return "encoder_decoder"
    generates = bool(_GENERATING.search(name)) or fields.raw("is_decoder") is True
    # With an output head (PaliGemma) the prompt alone is read both ways.
    both_ways = fields.raw("use_bidirectional_attention") is True and not generates
    if _READS_BOTH_WAYS.search(name) or both_ways or fields.raw("is_causal") is False:
        return "encoder"
    return "encoder" if kind in families.encoders and not generates else "decoder"


def has_output_head(fields: ConfigFields) -> bool:
    """Whether the class has a matrix that gives a token its probability: embedders and rerankers have none."""
    return not (scores_or_embeds(class_name(fields)) or model_kind(fields) == "encoder")


def scores_or_embeds(name: str) -> bool:
    """Whether a class is a decoder's body under a head that scores, or under none."""
    return bool(_SCORING.search(name) or _DECODER_BODY.match(name))


def about_kind(fields: ConfigFields, kind: ModelKind) -> list[str]:
    """What the kind means for the numbers, one sentence each."""
    if kind == "encoder":
        return ["an encoder: nothing is generated, and no keys and values are kept"]
    if kind == "encoder_decoder":
        return [
            "an encoder-decoder: the decoder caches its own keys and values per generated token, and as many again per "
            "token of the input for its cross-attention, which are not in the figure"
        ]
    if not has_output_head(fields):
        return [
            f"{class_name(fields)} scores or embeds: computed like a decoder, without output head, nothing is generated"
        ]
    return []


def reject_other_files(config: Mapping[str, Any]) -> None:
    """Recognise the files people confuse with a model's config.json."""
    if not config:
        raise InvalidModelConfig("config.json is empty: paste or upload the whole file of the model.")
    for is_other, what in _OTHER_FILES:
        if is_other(config):
            raise InvalidModelConfig(f"This is {what}: use config.json of the model itself.")
    fields = ConfigFields(config)
    kind, name = family(fields), class_name(fields)
    outer, others = str(config.get("model_type", "")).lower(), model_families().no_language
    alone = len(fields.sections) == 1
    if {outer, kind} & others or (alone and _NO_LANGUAGE_CLASS.search(name)):
        what = f"model_type “{shown(outer or kind)}”" if {outer, kind} & others else f"the class {shown(name)}"
        raise InvalidModelConfig(f"config.json says {what}, which is no language model: choose one that reads text.")
    if {outer, kind} & model_families().diffusion or _DIFFUSION_CLASS.match(name):
        raise InvalidModelConfig(
            f"config.json is of a diffusion language model ({shown(outer or name)}), which writes the tokens of a "
            "block in several passes: such models are not sized yet; name one that writes token by token."
        )
    if {outer, kind} & model_families().not_counted:
        raise InvalidModelConfig(
            f"config.json says model_type “{shown(outer or kind)}”, whose layers are not understood: give the size of "
            "the model instead."
        )
    loops = next((key for key in _LOOPS if type(fields.raw(key)) is int and fields.raw(key) > 1), None)
    if loops or (fields.whole("loop_num_passes") or 1) > 1:
        raise InvalidModelConfig(
            f"This model runs some layers several times ({loops or 'loop_num_passes'}): such models are not sized yet; "
            "name one whose layers run once."
        )


_DIFFUSION_CLASS = re.compile(r"(LLaDA|Dream|SDAR)[A-Z\d]?\w*(Model|ModelLM|ForCausalLM)$")
"""Classes of diffusion language models, whose files may say no model_type."""
_LOOPS = ("num_loops", "loop_num", "total_ut_steps", "n_recurrent_loops", "num_recurrent_loops", "mean_recurrence")
"""How often layers run: Nanbeige 4.2, IQuest-Coder, Ouro, Dory, Huginn. Each pass keeps keys and values of its own."""


def _is_tokenizer(config: Mapping[str, Any]) -> bool:
    words = "tokenizer_class" in config or "added_tokens_decoder" in config or "added_tokens" in config
    return words and "model_type" not in config and "hidden_size" not in config


def _is_generation(config: Mapping[str, Any]) -> bool:
    settings = {"do_sample", "temperature", "top_p", "top_k", "max_new_tokens", "_from_model_config", "max_length"}
    return bool(settings & config.keys()) and not {"model_type", "architectures", "dim"} & config.keys()


_OTHER_FILES = (
    (lambda c: "peft_type" in c or "lora_alpha" in c, "the configuration of a LoRA adapter (peft_type)"),
    (
        lambda c: "_class_name" in c or "_diffusers_version" in c,
        "the configuration of a diffusion pipeline (_class_name)",
    ),
    (_is_tokenizer, "a tokenizer configuration (tokenizer_class)"),
    (_is_generation, "a generation_config.json (sampling settings)"),
    (
        lambda c: (
            "model_type" not in c
            and bool({"image_processor_type", "feature_extractor_type", "processor_class"} & c.keys())
        ),
        "the configuration of a preprocessor (processor_class)",
    ),
    (lambda c: isinstance(c.get("weight_map"), Mapping), "the index of the weight files (weight_map)"),
    (
        lambda c: isinstance(c.get("quantization"), Mapping) and "producer" in c and "model_type" not in c,
        "an hf_quant_config.json (quantization)",
    ),
    (
        lambda c: {"bits", "group_size"} <= c.keys() and "model_type" not in c and "hidden_size" not in c,
        "a quantize_config.json (bits, group_size)",
    ),
    (lambda c: any(str(key).startswith("general.") for key in c), "the metadata of a GGUF file (general.architecture)"),
    (
        lambda c: "speculators_config" in c or "eagle_config" in c,
        "the configuration of a draft model (speculators_config)",
    ),
)
"""A test, and what a file that passes it is."""
