"""``tiny_model.py FOLDER``: a Llama of three layers, random weights and its tokenizer. Run with the Python of vLLM."""

import json
import sys
from pathlib import Path

VOCABULARY = 2048
"""Entries of the tokenizer."""
HIDDEN, LAYERS, HEADS = 512, 3, 8
"""Shape of the model. Chosen: because a processor, also one without AVX-512, carries some requests per second of it."""
CONTEXT = 4096
"""Longest sequence in tokens."""

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": HIDDEN,
    "intermediate_size": 3 * HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "num_key_value_heads": HEADS // 2,
    "head_dim": HIDDEN // HEADS,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": CONTEXT,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "hidden_act": "silu",
    "bos_token_id": 1,
    "eos_token_id": 2,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
TOKENIZER = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "bos_token": "<s>",
    "eos_token": "</s>",
    "unk_token": "<unk>",
    "model_max_length": CONTEXT,
}


def write(folder: Path) -> None:
    """Configuration and tokenizer; the engine invents the weights (--load-format dummy)."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers  # type: ignore[import-not-found]

    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = Tokenizer(models.BPE(unk_token=None))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<unk>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator((f"request number {i} asks for latency and throughput" for i in range(3000)), trainer)
    # Every number the engine may draw must stand for a text.
    tokenizer.add_tokens([f"token{i}" for i in range(tokenizer.get_vocab_size(), VOCABULARY)])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps(TOKENIZER))
    (folder / "generation_config.json").write_text(json.dumps({"bos_token_id": 1, "eos_token_id": 2}))
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
