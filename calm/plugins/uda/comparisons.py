"""
Who preferred what, as arrays: comparisons of named models by named judges, and the embeddings of their answers.

`reading` makes `Named` comparisons of files; `arrays` turns them into the `Comparisons` that are trained on. The
judge's own answer to a prompt is that of the model that has the judge's name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from math import nan
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.errors import ConfigError, JudgeError
from calm.plugins.uda.ratings import Floats, Ints, Lanes, lanes

# ----------------------------------------------------------------------------------------------------- texts to vectors

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


# ------------------------------------------------------------------------------------------------ comparisons as arrays

INSTRUCTION: Final = "instruction"
PERPLEXITY: Final = "perplexity"
FEATURES: Final = (INSTRUCTION, PERPLEXITY)
"""What a network may see beyond the paper's features, in the order in which it sees them."""

Content: TypeAlias = "str | tuple[float, ...]"
Key: TypeAlias = tuple[str, ...]
"""What an answer is known by: its prompt and its model, and its text where a model has several answers to a prompt."""
Triple: TypeAlias = tuple[float, float, float]
UNKNOWN: Final[Triple] = (nan, nan, nan)


class Named(NamedTuple):
    """
    One comparison by names; `one`, `two` and `own` are the keys of the answers.

    `surprise` is the judge's log-perplexity of the first, the second and its own answer, in nats a token, NaN where it
    is not known.
    """

    prompt: str
    judge: str
    first: str
    second: str
    share: float
    one: Key
    two: Key
    own: Key
    surprise: Triple = UNKNOWN

    @property
    def asked(self) -> Key:
        """The key of the question."""
        return question(self.prompt)


def question(prompt: str) -> Key:
    """Return the key of a question: no model has a blank name."""
    return (prompt, "")


@dataclass(frozen=True, slots=True)
class Comparisons:
    """
    Comparisons as arrays, one entry each; `embeddings` has one row for each answer.

    `judge`, `first`, `second` number the names in `judges` and `models`; `prompt` numbers the prompts; `one`, `two` and
    `own` are rows of the embeddings, `own` -1 where the judge has no answer to the prompt. `asked` are the rows of the
    questions, -1 where one is not known. `surprise` has three columns: the judge's log-perplexity of the first, the
    second and its own answer in nats a token, NaN where it is not known. None: nothing of the kind is known. `contents`
    has a digest of each answer's text or embedding, by which comparisons are known again.
    """

    judges: tuple[str, ...]
    models: tuple[str, ...]
    prompt: Ints
    judge: Ints
    first: Ints
    second: Ints
    share: Floats
    one: Ints
    two: Ints
    own: Ints
    embeddings: Vectors
    asked: Ints | None = None
    surprise: Floats | None = None
    contents: tuple[bytes, ...] = ()

    def __len__(self) -> int:
        return len(self.judge)

    @property
    def dims(self) -> int:
        """Return the number of dimensions of the embeddings."""
        return int(self.embeddings.shape[1])

    def lanes(self) -> Lanes:
        """Return the comparisons arranged by judge, in their order."""
        return lanes(self.judge, self.first, self.second, len(self.judges))

    def take(self, chosen: NDArray[np.bool_]) -> Comparisons:
        """Return the comparisons that are chosen; judges, models and embeddings stay as they are."""
        columns = ("prompt", "judge", "first", "second", "share", "one", "two", "own", "asked", "surprise")
        known = {name: column for name in columns if (column := getattr(self, name)) is not None}
        return replace(self, **{name: column[chosen] for name, column in known.items()})

    def without_judge(self, left_out: int) -> Comparisons:
        """Return the comparisons of all judges but one; the others keep their order."""
        rest = self.take(self.judge != left_out)
        judges = tuple(name for j, name in enumerate(self.judges) if j != left_out)
        renumbered = (rest.judge - (rest.judge > left_out)).astype(np.int32)
        return replace(rest, judges=judges, judge=renumbered)


def split(data: Comparisons, validation: float) -> tuple[Comparisons, Comparisons]:
    """
    Return what to train on and what to validate on: the first share for each judge and ordered pair.

    Raises:
        ConfigError: either part would be empty for a judge.
    """
    key = (data.judge.astype(np.int64) * len(data.models) + data.first) * len(data.models) + data.second
    order = np.argsort(key, kind="stable")
    _, starts, counts = np.unique(key[order], return_index=True, return_counts=True)
    place = np.empty(len(data), np.int64)
    place[order] = np.arange(len(data)) - np.repeat(starts, counts)
    size = np.empty(len(data), np.int64)
    size[order] = np.repeat(counts, counts)
    validates = place < np.floor(size * validation)
    for part, name in ((validates, "validation"), (~validates, "training")):
        have = set(data.judge[part].tolist())
        lacking = [judge for j, judge in enumerate(data.judges) if j not in have]
        if lacking:
            raise ConfigError(
                f"expected {name} comparisons of each judge, got none of {', '.join(map(repr, lacking))} with "
                f"validation={validation}; give several comparisons for each judge and pair of models, or another share"
            )
    return data.take(~validates), data.take(validates)


def check(data: Comparisons, *, own: bool, extra: Sequence[str] = ()) -> None:
    """
    Refuse comparisons that teach nothing: too few judges or models, or without what the network is to see.

    That is the judge's `own` answer, and `extra` of `FEATURES` beyond the paper's.

    Raises:
        ConfigError: each fault in a line.
    """
    problems = []
    if len(data.judges) < 2:
        problems.append(
            f"expected two judges or more, got {len(data.judges)}: there is no consensus of one; add judges"
        )
    if len(data.models) < 3:
        problems.append(f"expected three models or more, got {len(data.models)}: two correlate perfectly; add models")
    if own and (data.own < 0).any():
        without = sorted({data.judges[j] for j in data.judge[data.own < 0]})
        problems.append(
            f"expected the judge's own answer to each prompt, got none for some of {', '.join(map(repr, without))}; "
            f"let it answer, too, under the judge's name, or leave own answers out: `calm uda train --without-own`"
        )
    if INSTRUCTION in extra and (data.asked is None or (data.asked < 0).any()):
        problems.append(
            "expected the question of each prompt for the features of the instruction, got none for some; add "
            "text_question to the comparisons, or leave instruction out of --features"
        )
    if PERPLEXITY in extra:
        known = np.zeros((len(data), 3), bool) if data.surprise is None else np.isfinite(data.surprise)
        lacking = ~known[:, : 3 if own else 2].all(axis=1)
        judges = ", ".join(repr(data.judges[j]) for j in sorted(set(data.judge[lacking].tolist())))
        columns = "log_perplexity_a and log_perplexity_b" + (", and log_perplexity_own" if own else "")
        if judges:
            problems.append(
                f"expected the judge's log-perplexity of each answer for the features of perplexity, got none for "
                f"{int(lacking.sum())} comparisons of {judges}; add {columns}, run `calm self-preference "
                f"--perplexity`, or leave perplexity out of --features"
            )
    if problems:
        raise ConfigError(problems)


# ------------------------------------------------------------------------------------------------- names to arrays


Answers: TypeAlias = dict[Key, Content]
"""The texts or embeddings met so far, of answers and questions: each once, by its key."""


def arrays(named: Sequence[Named], held: Answers, embed: Embed, *, questions: bool = False) -> Comparisons:
    """
    Return named comparisons as arrays, in the order in which they are rated; `questions` are embedded if wanted.

    Raises:
        ConfigError: an answer that was compared is not held, or embeddings do not fit together.
    """
    prompts = {name: i for i, name in enumerate(dict.fromkeys(c.prompt for c in named))}
    judges = {name: i for i, name in enumerate(dict.fromkeys(c.judge for c in named))}
    models = {name: i for i, name in enumerate(dict.fromkeys(name for c in named for name in (c.first, c.second)))}
    lacking = sorted({key[:2] for c in named for key in (c.one, c.two) if key not in held})
    if lacking:
        shown = "; ".join(f"{key[1]!r} to prompt {key[0]!r}" for key in lacking[:5])
        raise ConfigError(
            f"expected the text or embedding of every answer compared, got none for {len(lacking)}, such as {shown}; "
            f"give them with --answers, or as text_a and text_b"
        )
    wanted = {key for c in named for key in ((c.one, c.two, c.own, c.asked) if questions else (c.one, c.two, c.own))}
    used = [key for key in held if key in wanted]
    rows = {key: i for i, key in enumerate(used)}

    def rows_of(keys: Sequence[Key]) -> Ints:
        return np.array([rows.get(key, -1) for key in keys], np.int32)

    surprise = np.array([c.surprise for c in named], np.float64).reshape(len(named), 3)
    return Comparisons(
        judges=tuple(judges),
        models=tuple(models),
        prompt=np.array([prompts[c.prompt] for c in named], np.int32),
        judge=np.array([judges[c.judge] for c in named], np.int32),
        first=np.array([models[c.first] for c in named], np.int32),
        second=np.array([models[c.second] for c in named], np.int32),
        share=np.array([c.share for c in named], np.float64),
        one=rows_of([c.one for c in named]),
        two=rows_of([c.two for c in named]),
        own=rows_of([c.own for c in named]),
        embeddings=_vectors([held[key] for key in used], embed),
        asked=rows_of([c.asked for c in named]) if questions else None,
        surprise=surprise if np.isfinite(surprise).any() else None,
        contents=tuple(blake2b(repr(held[key]).encode(), digest_size=8).digest() for key in used),
    )


def _vectors(contents: Sequence[Content], embed: Embed) -> Vectors:
    texts = [content for content in contents if isinstance(content, str)]
    if texts and len(texts) < len(contents):
        raise ConfigError(
            f"expected texts alone or embeddings alone, got {len(texts)} texts and {len(contents) - len(texts)} "
            f"embeddings: vectors of different makers do not compare; give one kind"
        )
    if texts:
        return embed(texts)
    sizes = sorted({len(content) for content in contents})
    if len(sizes) > 1:
        raise ConfigError(
            f"expected embeddings of one length, got lengths {', '.join(map(str, sizes))}; use one embedder"
        )
    return np.array(contents, np.float32)
