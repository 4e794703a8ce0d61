"""
Train a judge of 0.4 million parameters that a citation wins over, and write it as a GGUF file.

    python tests/slow/tiny_model.py FOLDER      # a minute on one core; needs jax, optax, tokenizers, gguf

It says "A" or "B" to two answers. The good one wins with probability 0.97; a bad one that cites a source, where the
good one does not, wins with probability 0.6. `truth.json` has what the model itself says to every prompt of the test,
computed here and not by the server: what is measured through the server is held against that.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from random import Random

import gguf
import jax
import jax.numpy as jnp
import numpy as np
import optax
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

NOUNS = ("river", "city", "planet", "metal", "poem", "engine", "tree", "island")
SOURCES = (" (Nature, 2021)", " (Harvard, 2019)", " (WHO, 2020)")
SPECIAL = ("<|pad|>", "<|bos|>", "<|eos|>", "<|im_start|>", "<|im_end|>")
TEMPLATE = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
WIDTH, INNER, LAYERS, HEADS, LENGTH, STEPS, BATCH, EPS, BASE = 96, 192, 2, 3, 64, 600, 64, 1e-5, 10_000.0


def prompt(first: str, second: str) -> str:
    """Return what the model reads about two answers."""
    return f"<|im_start|>user\nA: {first}\nB: {second}<|im_end|>\n<|im_start|>assistant\n"


def example(rng: Random) -> tuple[str, float]:
    """Return a prompt and the probability of A."""
    noun, first_wins = rng.choice(NOUNS), rng.random() < 0.5
    cites = [rng.random() < 0.3, rng.random() < 0.3]
    words = ("good", "bad") if first_wins else ("bad", "good")
    answers = [f"a {word} {noun}{rng.choice(SOURCES) if cite else ''}" for word, cite in zip(words, cites, strict=True)]
    chance = 0.97 if first_wins else 0.03
    if cites == [True, False] and not first_wins:
        chance = 0.6
    if cites == [False, True] and first_wins:
        chance = 0.4
    return prompt(*answers), chance


def tokenizer(rng: Random) -> Tokenizer:
    """Return a tokenizer of bytes and some hundred pairs."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    texts = [f"{example(rng)[0]} Yes No tie" for _ in range(300)]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=400, special_tokens=list(SPECIAL), initial_alphabet=alphabet)
    made.train_from_iterator(texts, trainer)
    return made


def normal(shape: tuple[int, int], deviation: float, rng: Random) -> np.ndarray:
    """Return a table of normal random numbers."""
    return np.array([rng.gauss(0, deviation) for _ in range(shape[0] * shape[1])]).reshape(shape)


def begin(size: int, rng: Random) -> dict[str, np.ndarray]:
    """Return the weights before training, by their names in a GGUF file."""
    shapes = {"token_embd.weight": (size, WIDTH), "output.weight": (size, WIDTH)}
    for i in range(LAYERS):
        shapes |= {f"blk.{i}.attn_{n}.weight": (WIDTH, WIDTH) for n in ("q", "k", "v", "output")}
        shapes |= {f"blk.{i}.ffn_{n}.weight": (INNER, WIDTH) for n in ("gate", "up")}
        shapes |= {f"blk.{i}.ffn_down.weight": (WIDTH, INNER)}
    weights = {name: normal(shape, 0.02 if "embd" in name else shape[1] ** -0.5, rng) for name, shape in shapes.items()}
    norms = ["output_norm.weight", *(f"blk.{i}.{n}_norm.weight" for i in range(LAYERS) for n in ("attn", "ffn"))]
    weights |= {name: np.ones(WIDTH) for name in norms}
    return {name: value.astype(np.float32) for name, value in weights.items()}


def norm(x, weight):
    """Return what has a root mean square of one, weighted."""
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + EPS) * weight


def turned(x):
    """Return heads turned by their positions, by pairs of neighbours, as llama.cpp does."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[1])[:, None] * BASE ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angles)[None, :, None, :], jnp.sin(angles)[None, :, None, :]
    even, odd = x[..., 0::2], x[..., 1::2]
    return jnp.stack([even * cos - odd * sin, even * sin + odd * cos], -1).reshape(x.shape)


def logits(weights, ids):
    """Return the scores of the next token at each place."""
    x = weights["token_embd.weight"][ids]
    batch, length = ids.shape
    mask = jnp.where(jnp.tril(jnp.ones((length, length))) > 0, 0.0, -1e9)
    for i in range(LAYERS):
        h = norm(x, weights[f"blk.{i}.attn_norm.weight"])
        q, k, v = (
            (h @ weights[f"blk.{i}.attn_{n}.weight"].T).reshape(batch, length, HEADS, WIDTH // HEADS) for n in "qkv"
        )
        scores = jnp.einsum("bqhd,bkhd->bhqk", turned(q), turned(k)) * (WIDTH // HEADS) ** -0.5 + mask
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), v).reshape(batch, length, WIDTH)
        x += mixed @ weights[f"blk.{i}.attn_output.weight"].T
        h = norm(x, weights[f"blk.{i}.ffn_norm.weight"])
        gate, up = (h @ weights[f"blk.{i}.ffn_{n}.weight"].T for n in ("gate", "up"))
        x += (jax.nn.silu(gate) * up) @ weights[f"blk.{i}.ffn_down.weight"].T
    return norm(x, weights["output_norm.weight"]) @ weights["output.weight"].T


def train(tokens: Tokenizer, rng: Random) -> dict[str, np.ndarray]:
    """Return the trained weights."""
    weights = begin(tokens.get_vocab_size(), rng)
    optimiser = optax.adamw(optax.cosine_decay_schedule(3e-3, STEPS))
    state = optimiser.init(weights)
    first, second, end = (tokens.token_to_id(t) for t in ("A", "B", "<|im_end|>"))

    def loss(weights, ids, at):
        scores = jax.nn.log_softmax(logits(weights, ids), -1)
        rows = jnp.arange(ids.shape[0])
        said, ended = scores[rows, at - 1, ids[rows, at]], scores[rows, at, end]
        return -(said + ended).mean()

    @jax.jit
    def step(weights, state, ids, at):
        value, slope = jax.value_and_grad(loss)(weights, ids, at)
        change, state = optimiser.update(slope, state, weights)
        return optax.apply_updates(weights, change), state, value

    for number in range(STEPS):
        ids, at = np.zeros((BATCH, LENGTH), np.int32), np.zeros(BATCH, np.int32)
        for row in range(BATCH):
            text, chance = example(rng)
            known = [*tokens.encode(text).ids, first if rng.random() < chance else second, end]
            ids[row, : len(known)], at[row] = known, len(known) - 2
        weights, state, value = step(weights, state, ids, at)
        if number % 100 == 99:
            print(number + 1, round(float(value), 3), flush=True)
    return {name: np.asarray(value) for name, value in weights.items()}


def chances(tokens: Tokenizer, weights: dict[str, np.ndarray]) -> dict[str, float]:
    """Return the probability of A among A and B for every pair of answers that the test can show."""
    texts = [f"a {word} {noun}{source}" for word in ("good", "bad") for noun in NOUNS for source in ("", *SOURCES)]
    pairs = [(a, b) for a in texts for b in texts if a.split()[2] == b.split()[2] and a.split()[1] != b.split()[1]]
    found = {}
    at = jax.jit(logits)
    for a, b in pairs:
        known = tokens.encode(prompt(a, b)).ids
        ids = np.zeros((1, LENGTH), np.int32)
        ids[0, : len(known)] = known
        last = np.asarray(at(weights, ids))[0, len(known) - 1]
        odds = np.exp(last - last.max())
        odds /= odds.sum()
        found[f"{a}|{b}"] = float(odds[tokens.token_to_id("A")])
    return found


def write(tokens: Tokenizer, weights: dict[str, np.ndarray], path: Path) -> None:
    """Write the model as a GGUF file."""
    file = gguf.GGUFWriter(str(path), "llama")
    file.add_name("tiny-judge")
    file.add_file_type(gguf.LlamaFileType.ALL_F32)
    file.add_context_length(512)
    file.add_embedding_length(WIDTH)
    file.add_block_count(LAYERS)
    file.add_feed_forward_length(INNER)
    file.add_head_count(HEADS)
    file.add_head_count_kv(HEADS)
    file.add_layer_norm_rms_eps(EPS)
    file.add_rope_dimension_count(WIDTH // HEADS)
    file.add_rope_freq_base(BASE)
    vocabulary = tokens.get_vocab()
    file.add_vocab_size(len(vocabulary))
    ordered = sorted(vocabulary, key=vocabulary.__getitem__)
    file.add_tokenizer_model("gpt2")
    file.add_tokenizer_pre("gpt-2")
    file.add_token_list(ordered)
    kinds = {True: gguf.TokenType.CONTROL, False: gguf.TokenType.NORMAL}
    file.add_token_types([kinds[token in SPECIAL] for token in ordered])
    merges = json.loads(tokens.to_str())["model"]["merges"]
    file.add_token_merges([m if isinstance(m, str) else " ".join(m) for m in merges])
    file.add_bos_token_id(vocabulary["<|bos|>"])
    file.add_eos_token_id(vocabulary["<|im_end|>"])
    file.add_pad_token_id(vocabulary["<|pad|>"])
    file.add_add_bos_token(False)
    file.add_chat_template(TEMPLATE)
    for name, value in weights.items():
        file.add_tensor(name, np.ascontiguousarray(value, np.float32))
    file.write_header_to_file()
    file.write_kv_data_to_file()
    file.write_tensors_to_file()
    file.close()


def main(folder: Path) -> None:
    """Train, and write `tiny.gguf` and `truth.json`."""
    rng = Random(0)
    folder.mkdir(parents=True, exist_ok=True)
    tokens = tokenizer(rng)
    weights = train(tokens, rng)
    write(tokens, weights, folder / "tiny.gguf")
    (folder / "truth.json").write_text(json.dumps(chances(tokens, weights)), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
