"""
Which models are related, and whether a judge is related to the makers of its test.

A family is a line of models by one maker (gpt, claude, gemma). `calm.core.names` says when two names mean the
same. A family that is not known counts as unknown, never as unrelated.

A user states families of authors who are no judges: `human=human`, or a file of such lines as TOML or CSV.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from calm.core.files import MOST_SETTINGS, quote, read_bytes, read_toml
from calm.core.names import (
    plain,
    same_model,
    spelling,
    value_for,
)
from calm.errors import ConfigError, EstimateError

PREFIXES: Mapping[str, str] = {
    "alpaca": "llama",
    "baize": "llama",
    "bard": "gemini",
    "chat-bison": "gemini",
    "chatglm": "glm",
    "chatgpt": "gpt",
    "claude": "claude",
    "code-llama": "llama",
    "codellama": "llama",
    "command": "command",
    "davinci": "gpt",
    "deepseek": "deepseek",
    "dolly": "eleuther",
    "doubao": "doubao",
    "falcon": "falcon",
    "fastchat-t5": "t5",
    "flan-t5": "t5",
    "gemini": "gemini",
    "gemma": "gemma",
    "glm": "glm",
    "gpt": "gpt",
    "gpt-j": "eleuther",
    "gpt-neo": "eleuther",
    "gpt-neox": "eleuther",
    "gpt4-x": "llama",
    "gpt4all": "llama",
    "gpt4all-j": "eleuther",
    "grok": "grok",
    "guanaco": "llama",
    "koala": "llama",
    "llama": "llama",
    "meta-llama": "llama",
    "ministral": "mistral",
    "mistral": "mistral",
    "mixtral": "mistral",
    "mpt": "mpt",
    "nous-hermes": "llama",
    "nova": "nova",
    "o1": "gpt",
    "o3": "gpt",
    "o4": "gpt",
    "oasst": "eleuther",
    "palm": "gemini",
    "phi": "phi",
    "pythia": "eleuther",
    "qwen": "qwen",
    "qwq": "qwen",
    "rwkv": "rwkv",
    "sonar": "sonar",
    "stablelm": "stablelm",
    "starling": "mistral",
    "t5": "t5",
    "text-davinci": "gpt",
    "text_davinci": "gpt",
    "tulu": "llama",
    "vicuna": "llama",
    "wizardlm": "llama",
    "wizardlm-2-7b": "mistral",
    "wizardlm-2-8x22b": "mistral",
    "yi": "yi",
    "zephyr": "mistral",
}
"""
The beginning of a model's name, and its family; the longest one counts.

A model that others fine-tuned is of the family of its weights (`docs/explanation/self-preference.md`).
"""

_BASE: Final = re.compile(
    r"(?:^|[-_])(falcon|gemma|glm|gpt-j|gpt-neox|llama|mistral|mixtral|mpt|phi|pythia|qwen|rwkv|t5|yi)(?![a-z])"
)
"""Weights that others fine-tune: the first of them that the name of a known line says decides (zephyr-7b-gemma)."""

TAUGHT: Final[Mapping[str, str]] = {
    "alpaca": "gpt",
    "baize": "gpt",
    "deepseek-r1-distill": "deepseek",
    "dolly-v1": "gpt",
    "falcon-40b-instruct": "gpt",
    "falcon-7b-instruct": "gpt",
    "fastchat-t5": "gpt",
    "gpt4-x": "gpt",
    "gpt4all": "gpt",
    "koala": "gpt",
    "mpt-30b-chat": "gpt",
    "mpt-7b-chat": "gpt",
    "nous-hermes": "gpt",
    "rwkv-4-raven": "gpt",
    "stablelm-tuned": "gpt",
    "starling": "gpt",
    "tulu": "gpt",
    "vicuna": "gpt",
    "wizardlm": "gpt",
    "zephyr": "gpt",
}
"""The beginning of the name of a model that was tuned on another family's outputs, and that family."""

UNKNOWN: Final = "unknown"
"""The family of an author whose family is unknown: related to no author for sure, and perhaps to any."""
ALL_OTHERS: Final = "*"
"""Where families are stated, the name for every author whose family is neither stated nor shown by the name."""


class Relation(StrEnum):
    """How a judge is related to a model."""

    SAME_MODEL = "same model"
    DERIVED = "derived model"
    """One was made from the other by fine-tuning or distillation, as the user or `TAUGHT` says."""
    SAME_FAMILY = "same family"
    UNRELATED = "unrelated"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Leak:
    """
    A relation of the judge to the maker of a part of its test: `role`, `model`, `relation`.

    `judge` is its name where several are tested.
    """

    role: str
    model: str
    relation: Relation
    judge: str = ""

    def __str__(self) -> str:
        judge = self.judge or "the judge"
        if self.relation is Relation.UNKNOWN:
            return f"{self.role}: it is not known whether {judge} is related to {self.model}; name the families"
        if self.relation is Relation.DERIVED:
            why = "one was tuned on outputs of the other's family, so they may share a taste"
            return f"{self.role}: {self.model} and {judge}: {why}"
        return f"{self.role}: made by {self.model}, {self.relation} as {judge}; its taste may leak into the data"


def family_of(model: str, families: Mapping[str, str] | None = None) -> str | None:
    """
    Return the family of a model: as `families` says under any of its names, else by its name; None if unknown.

    `families` may say that it is `UNKNOWN`.

    >>> family_of("vendor/gpt-4o-mini"), family_of("house-model"), family_of("house-model", {"house-model": "qwen"})
    ('gpt', None, 'qwen')
    """
    stated = value_for(model, families or {})
    if stated is not None:
        return None if spelling(stated) == UNKNOWN else spelling(stated)
    line, base = _by_beginning(model, PREFIXES), _BASE.search(plain(model))
    return line if line is None or base is None else PREFIXES[base[1]]


def _by_beginning(model: str, known: Mapping[str, str]) -> str | None:
    name = plain(model)
    starts = [p for p in known if re.match(rf"{re.escape(p)}(?![a-z])", name)]
    return known[max(starts, key=len)] if starts else None


def families_of(
    models: Iterable[str], families: Mapping[str, str] | None = None, *, option: str = ""
) -> dict[str, str]:
    """
    Return the family of each model; `option` is the one with which the user can name it.

    Raises `EstimateError` that names all models of unknown family: taking them for unrelated would hide a bias.

    >>> families_of(["gemma-3-4b", "gpt-5"])
    {'gemma-3-4b': 'gemma', 'gpt-5': 'gpt'}
    """
    found = {model: family_of(model, families) for model in models}
    unknown = [model for model, family in found.items() if family is None]
    if unknown:
        fix = 'name it with family = "..." under [judge] of the model\'s file'
        if option:
            added, gone = quote(",".join(f"{m}={m}" for m in unknown)), quote(f"{ALL_OTHERS}={UNKNOWN}")
            fix = (
                f"add {option} {added} (write the family after each =), or {option} {gone} to leave "
                "their answers out (authors alone: a judge needs a family)"
            )
        raise EstimateError(f"expected the family of every author and judge, got none for {', '.join(unknown)}; {fix}")
    return {model: family for model, family in found.items() if family is not None}


def relation(
    judge: str,
    model: str,
    families: Mapping[str, str] | None = None,
    derived: Sequence[tuple[str, str]] = (),
) -> Relation:
    """
    Return how two models are related; `derived` lists pairs of which one was made from the other.

    >>> relation("gpt-4o-2024-08-06", "openai/gpt-4o").value, relation("gpt-5", "gpt-4o").value
    ('same model', 'same family')
    >>> relation("gpt-5", "house-model").value, relation("gpt-5", "vicuna-13b").value
    ('unknown', 'derived model')
    """
    if same_model(judge, model):
        return Relation.SAME_MODEL
    if any({plain(a), plain(b)} == {plain(judge), plain(model)} for a, b in derived):
        return Relation.DERIVED
    if plain(judge) == plain(model):
        return Relation.SAME_FAMILY
    ours, theirs = family_of(judge, families), family_of(model, families)
    if ours == theirs and ours is not None:
        return Relation.SAME_FAMILY
    if any(family and family == _by_beginning(one, TAUGHT) for family, one in ((ours, model), (theirs, judge))):
        return Relation.DERIVED
    return Relation.UNKNOWN if None in (ours, theirs) else Relation.UNRELATED


def leaks(
    judge: str,
    makers: Mapping[str, Iterable[str]],
    families: Mapping[str, str] | None = None,
    derived: Sequence[tuple[str, str]] = (),
) -> tuple[Leak, ...]:
    """
    Return every way in which a judge is, or may be, related to a maker of its test: preference leakage.

    `makers` maps a role ("answers", "perturbations", "gold labels", "questions") to the models behind it; people and
    programs are left out. A judge that is related to the writer of the data scores that writer's students higher (arXiv
    2502.01534: same model, inheritance, same family). An unknown relation is returned, too.

    >>> [str(one) for one in leaks("gpt-5", {"gold labels": ["gpt-4o"], "answers": ["claude-opus"]})]
    ['gold labels: made by gpt-4o, same family as the judge; its taste may leak into the data']
    """
    found = [
        Leak(role, model, relation(judge, model, families, derived))
        for role, models in sorted(makers.items())
        for model in sorted(set(models))
    ]
    return tuple(leak for leak in found if leak.relation is not Relation.UNRELATED)


COLUMNS = ("name", "family")
"""The columns of a CSV file."""


def stated(parts: Iterable[str], option: str) -> dict[str, str]:
    """
    Return the family of each name that `NAME=FAMILY` or a file gives; the last word on a name counts.

    Args:
        parts: pairs, and files that end in .toml or .csv; several of them with commas between.
        option: how the user gave them, for messages.

    Raises:
        ConfigError: neither a pair nor such a file, or a file with a fault; all of them are named.

    >>> stated(["human=human,x=y", "vendor/m=1=m"], "--family")
    {'human': 'human', 'x': 'y', 'vendor/m=1': 'm'}
    """
    found: dict[str, str] = {}
    problems: list[str] = []
    for part in filter(None, (one.strip() for several in parts for one in several.split(","))):
        try:
            if part.endswith((".toml", ".csv")):
                found |= _file(Path(part))
                continue
            name, sign, family = (piece.strip() for piece in part.rpartition("="))
            if not sign or not name or not family:
                raise ConfigError(f"expected NAME=FAMILY or a file that ends in .toml or .csv, got {part!r}")
            found[name] = family
        except ConfigError as error:
            problems += [f"{option}: {problem}" for problem in error.problems]
    if problems:
        raise ConfigError(problems)
    return found


def _file(path: Path) -> dict[str, str]:
    if path.suffix == ".toml":
        body = read_toml(path, "a file of families")
        table = body.get("families", body) if set(body) <= {"families"} else body
        good = isinstance(table, Mapping) and table and all(isinstance(v, str) and v.strip() for v in table.values())
        if not good or not isinstance(table, Mapping):
            raise ConfigError(
                f'{path}: expected lines such as "gpt-4o" = "gpt", alone or below [families], got another form'
            )
        return {name: family.strip() for name, family in table.items()}
    try:
        text = read_bytes(path, MOST_SETTINGS).decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: expected a file of families, which is UTF-8 text, got {error}") from error
    return _csv(path, text)


def _csv(path: Path, text: str) -> dict[str, str]:
    rows = csv.reader(io.StringIO(text, newline=""))
    head = tuple(cell.strip().lower() for cell in next(rows, []))
    if head != COLUMNS:
        raise ConfigError(f"{path}:1: expected the columns name,family, got {','.join(head) or 'nothing'}")
    found: dict[str, str] = {}
    try:
        for row in rows:
            cells = [cell.strip() for cell in row]
            if any(cells) and (len(cells) != len(COLUMNS) or not all(cells)):
                raise ConfigError(f"{path}:{rows.line_num}: expected a name and its family, got {','.join(cells)!r}")
            found |= {cells[0]: cells[1]} if any(cells) else {}
    except csv.Error as error:
        raise ConfigError(f"{path}:{rows.line_num}: expected CSV, got {error}") from error
    return found
