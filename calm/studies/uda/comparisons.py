"""
Who preferred what, as arrays: comparisons of named models by named judges, and the embeddings of their answers.

`reading` and `bridge` make `Named` comparisons of files; `arrays` turns them into the `Comparisons` that are trained
on. The judge's own answer to a prompt is that of the model that has the judge's name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from calm.errors import ConfigError
from calm.studies.uda.elo import Floats, Ints, Lanes, lanes
from calm.studies.uda.embeddings import Embed, Vectors

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
    second and its own answer in nats a token, NaN where it is not known. None: nothing of the kind is known.
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

    Args:
        data: the comparisons.
        own: whether the network sees the judge's own answer.
        extra: what it sees beyond the paper's features, of `FEATURES`.

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
        lacking = sorted({data.judges[j] for j in data.judge[data.own < 0]})
        problems.append(
            f"expected the judge's own answer to each prompt, got none for some of {', '.join(map(repr, lacking))}; "
            f"let it answer, too, under the judge's name, or leave own answers out: `calm uda train --without-own`"
        )
    if INSTRUCTION in extra and (data.asked is None or (data.asked < 0).any()):
        problems.append(
            "expected the question of each prompt for the features of the instruction, got none for some; add "
            "text_question to the comparisons, or leave instruction out of --features"
        )
    if PERPLEXITY in extra:
        problems += _unknown_surprise(data, own=own)
    if problems:
        raise ConfigError(problems)


def _unknown_surprise(data: Comparisons, *, own: bool) -> list[str]:
    known = np.zeros((len(data), 3), bool) if data.surprise is None else np.isfinite(data.surprise)
    lacking = ~known[:, : 3 if own else 2].all(axis=1)
    if not lacking.any():
        return []
    judges = ", ".join(repr(data.judges[j]) for j in sorted(set(data.judge[lacking].tolist())))
    columns = "log_perplexity_a and log_perplexity_b" + (", and log_perplexity_own" if own else "")
    return [
        f"expected the judge's log-perplexity of each answer for the features of perplexity, got none for "
        f"{int(lacking.sum())} comparisons of {judges}; add {columns}, run `calm self-preference --perplexity`, or "
        f"leave perplexity out of --features"
    ]


# ------------------------------------------------------------------------------------------------- names to arrays


class Answers:
    """The texts or embeddings met so far, of answers and questions: each once, by its key."""

    def __init__(self) -> None:
        self.contents: dict[Key, Content] = {}

    def put(self, key: Key, content: Content) -> bool:
        """Hold a content, and return whether it is the first under its key, or the same as before."""
        return self.contents.setdefault(key, content) == content


def arrays(named: Sequence[Named], held: Answers, embed: Embed, *, questions: bool = False) -> Comparisons:
    """
    Return named comparisons as arrays.

    Args:
        named: the comparisons, in the order in which they are rated.
        held: the answers, and the questions.
        embed: gives the vectors of the texts; it is not called if all contents are embeddings.
        questions: whether questions are embedded, too.

    Raises:
        ConfigError: an answer that was compared is not held, or embeddings do not fit together.
    """
    prompts = {name: i for i, name in enumerate(dict.fromkeys(c.prompt for c in named))}
    judges = {name: i for i, name in enumerate(dict.fromkeys(c.judge for c in named))}
    models = {name: i for i, name in enumerate(dict.fromkeys(name for c in named for name in (c.first, c.second)))}
    lacking = sorted({key[:2] for c in named for key in (c.one, c.two) if key not in held.contents})
    if lacking:
        shown = "; ".join(f"{key[1]!r} to prompt {key[0]!r}" for key in lacking[:5])
        raise ConfigError(
            f"expected the text or embedding of every answer compared, got none for {len(lacking)}, such as {shown}; "
            f"give them with --answers, or as text_a and text_b"
        )
    wanted = {key for c in named for key in ((c.one, c.two, c.own, c.asked) if questions else (c.one, c.two, c.own))}
    used = [key for key in held.contents if key in wanted]
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
        embeddings=_vectors([held.contents[key] for key in used], embed),
        asked=rows_of([c.asked for c in named]) if questions else None,
        surprise=surprise if np.isfinite(surprise).any() else None,
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
