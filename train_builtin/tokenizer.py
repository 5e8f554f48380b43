"""The built-in pair's tokenizer: byte-level BPE with single digits, and its chat template.

Decoding restores any encoded text exactly. `mlx_lm.load` and transformers read it from local files alone.
"""

import json
from itertools import islice
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from train_builtin.corpus import training_conversations

VOCAB_SIZE = 2048
CONVERSATIONS = 20_000
"""Conversations to learn the merges from."""
CONTEXT = 2048
"""Tokens of prompt and answer together."""
PAD, SYSTEM, USER, ASSISTANT, END = SPECIAL = (
    "<|pad|>",
    "<|system|>",
    "<|user|>",
    "<|assistant|>",
    "<|end|>",
)
"""Ids 0 to 4."""
CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message['role'] not in ['system', 'user', 'assistant'] -%}"
    "{{- raise_exception('unknown role ' + message['role']) -}}"
    "{%- endif -%}"
    "{{- '<|' + message['role'] + '|>' + message['content'] + '<|end|>' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}"
)


def train_tokenizer(seed: int) -> Tokenizer:
    """Learn the merges from the training conversations."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCAB_SIZE,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = (
        message["content"]
        for drawn in islice(training_conversations(seed), CONVERSATIONS)
        for message in drawn.messages()
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def save_tokenizer(tokenizer: Tokenizer, folder: Path) -> None:
    """Write tokenizer.json and tokenizer_config.json."""
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"), pretty=False)
    config = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "eos_token": END,
        "pad_token": PAD,
        "additional_special_tokens": [SYSTEM, USER, ASSISTANT],
        "clean_up_tokenization_spaces": False,
        "model_max_length": CONTEXT,
        "chat_template": CHAT_TEMPLATE,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0] if arguments else "build/train/tokenizer")
    trained = train_tokenizer(seed=0)
    save_tokenizer(trained, folder)
    print(f"{trained.get_vocab_size()} tokens in {folder}")
