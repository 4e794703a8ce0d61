"""
Write a model of 0.3 million random weights that vLLM serves: `python tests/slow/vllm_model.py FOLDER [SEED]`.

It says nothing that means anything; what it is held to say (a schema, a choice) it says. Needs torch and transformers.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

TEMPLATE = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}assistant:"
LONGEST = 8192


def main(folder: str, seed: str = "1") -> None:
    """Write the tokenizer and the weights."""
    bytes_of = Tokenizer(models.BPE())
    bytes_of.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_of.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["<pad>", "<end>"], initial_alphabet=alphabet)
    bytes_of.train_from_iterator(["Which answer is better? The first one. [[A]] [[B]]"], trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bytes_of, eos_token="<end>", pad_token="<pad>")
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    torch.manual_seed(int(seed))
    width = {"hidden_size": 128, "intermediate_size": 256, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 32}  # vLLM takes no head of 16 on a CPU
    ends = {"eos_token_id": 1, "pad_token_id": 0, "bos_token_id": 1}
    config = LlamaConfig(vocab_size=len(tokenizer), max_position_embeddings=LONGEST, **width, **heads, **ends)
    LlamaForCausalLM(config).save_pretrained(folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
