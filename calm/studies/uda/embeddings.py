"""Texts to vectors: hashed words of our own without a model, sentence-transformers, or a server's endpoint."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.errors import ConfigError, JudgeError

Vectors: TypeAlias = NDArray[np.float32]

DIMS = 64
MAX_DIMS = 8192
BATCH = 128
"""Texts sent to a server in one request."""
_WORD = re.compile(r"\w+|[^\w\s]")
_WEIGHTS: Mapping[str, float] = {"word": 1.0, "pair": 0.5, "grams": 0.5, "shape": 1.0}


class Embed(Protocol):
    """Turns texts into vectors, one row each."""

    @property
    def name(self) -> str:
        """Return its name in the model file, as vectors of two makers cannot be compared."""
        ...

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        ...


@dataclass(frozen=True, slots=True)
class HashedWords:
    """
    Words, pairs of words, runs of four characters and the text's shape, projected by a hash: no model, always the same.

    Each feature adds the square root of its count to every dimension with a sign that its hash gives (a random
    projection, Achlioptas 2003), so cosines are roughly those of the counts. Rows have norm 1. It sees wording and
    layout, not meaning.
    """

    dims: int = DIMS

    @property
    def name(self) -> str:
        """Return the specification that makes this one again."""
        return f"hashed:{self.dims}"

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        known: dict[str, NDArray[np.float32]] = {}
        return np.stack([self._one(text, known) for text in texts])

    def _one(self, text: str, known: dict[str, NDArray[np.float32]]) -> NDArray[np.float32]:
        counts: dict[tuple[str, str], int] = {}
        for part in _parts(text):
            counts[part] = counts.get(part, 0) + 1
        total = np.zeros(self.dims, np.float64)
        for (kind, word), count in counts.items():
            name = f"{kind}:{word}"
            signs = known.get(name)
            if signs is None:
                signs = known[name] = self._signs(name)
            total += signs * (_WEIGHTS[kind] * count**0.5)
        norm = float(np.sqrt(total @ total))
        return (total / norm if norm else total).astype(np.float32)

    def _signs(self, name: str) -> NDArray[np.float32]:
        raw = b"".join(
            blake2b(name.encode("utf-8", "surrogatepass"), digest_size=64, salt=block.to_bytes(2, "little")).digest()
            for block in range(-(-self.dims // 512))
        )
        bits = np.unpackbits(np.frombuffer(raw, np.uint8))[: self.dims]
        return bits.astype(np.float32) * 2 - 1


def _parts(text: str) -> Iterator[tuple[str, str]]:
    words = _WORD.findall(text.casefold())
    for i, word in enumerate(words):
        yield "word", word
        if i:
            yield "pair", f"{words[i - 1]} {word}"
    joined = " ".join(words)
    for i in range(len(joined) - 3):
        yield "grams", joined[i : i + 4]
    for line in text.splitlines():
        if line.strip():
            yield "shape", line.lstrip()[0] if not line.lstrip()[0].isalnum() else "line"
    yield "shape", f"length {len(words).bit_length()}"


@dataclass(frozen=True, slots=True)
class SentenceTransformer:
    """A model of the library sentence-transformers, which has to be installed; it is loaded at the first text."""

    model: str

    @property
    def name(self) -> str:
        """Return the specification that makes this one again."""
        return f"sentence-transformers:{self.model}"

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        from importlib import import_module

        try:
            library = import_module("sentence_transformers")
        except ImportError as error:
            raise ConfigError(
                f"expected the library sentence-transformers for {self.name}, got: {error}; install it with "
                f"`pip install sentence-transformers`, or use hashed:{DIMS} or openai:MODEL"
            ) from error
        try:
            loaded = library.SentenceTransformer(self.model)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"expected a model that sentence-transformers can load, got {self.model!r}: {error}"
            ) from error
        return _checked(loaded.encode(list(texts), convert_to_numpy=True), len(texts), self.name)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """
    A server that speaks the embeddings API of OpenAI; the key comes from `OPENAI_API_KEY`.

    Without `base_url` it is the address that the SDK takes, `OPENAI_BASE_URL` or OpenAI's own.
    """

    model: str
    base_url: str | None = None

    @property
    def name(self) -> str:
        """Return the specification that makes this one again; the address is not part of it."""
        return f"openai:{self.model}"

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return one row for each text."""
        import openai

        try:
            with openai.OpenAI(base_url=self.base_url) as client:
                rows: list[Sequence[float]] = []
                for at in range(0, len(texts), BATCH):
                    some = list(texts[at : at + BATCH])
                    reply = client.embeddings.create(model=self.model, input=some, encoding_format="float")
                    if sorted(item.index for item in reply.data) != list(range(len(some))):
                        raise JudgeError(
                            f"expected {len(some)} embeddings from {self.name}, got {len(reply.data)}; check that the "
                            f"server speaks the embeddings API"
                        )
                    rows += [item.embedding for item in sorted(reply.data, key=lambda item: item.index)]
        except openai.APIError as error:
            raise JudgeError(
                f"expected embeddings from {self.name}, got: {error.message}; check model and address"
            ) from error
        except openai.OpenAIError as error:  # no key
            raise ConfigError(f"expected a client for {self.name}, got: {error}") from error
        if len({len(row) for row in rows}) > 1:
            raise JudgeError(f"expected embeddings of one length from {self.name}, got several; check the server")
        return _checked(np.array(rows, np.float32), len(texts), self.name)


def _checked(found: NDArray[np.float32], texts: int, name: str) -> Vectors:
    rows = np.asarray(found, np.float32)
    if rows.ndim != 2 or rows.shape[0] != texts or not rows.shape[1] or not np.isfinite(rows).all():
        raise JudgeError(f"expected {texts} rows of finite numbers from {name}, got an array of shape {rows.shape}")
    return rows


def embedder(specification: str, *, base_url: str | None = None) -> Embed:
    """
    Return the embedder of a specification: `hashed[:DIMS]`, `sentence-transformers:MODEL` or `openai:MODEL`.

    Raises:
        ConfigError: another specification, or a number of dimensions out of range.
    """
    kind, _, rest = specification.partition(":")
    makers: Mapping[str, Callable[[str], Embed]] = {
        "sentence-transformers": SentenceTransformer,
        "openai": lambda model: Endpoint(model, base_url),
    }
    if kind == "hashed":
        dims = int(rest) if rest.isascii() and rest.isdigit() and len(rest) < 6 else 0 if rest else DIMS
        if not 1 <= dims <= MAX_DIMS:
            raise ConfigError(f"expected hashed:DIMS with 1 to {MAX_DIMS} dimensions, got {specification!r}")
        return HashedWords(dims)
    if kind not in makers or not rest:
        raise ConfigError(
            f"expected an embedder hashed[:DIMS], sentence-transformers:MODEL or openai:MODEL, got {specification!r}"
        )
    return makers[kind](rest)
