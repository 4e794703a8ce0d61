"""Wordings: the same question in other words, of the judge's prompt or of the criteria of a case."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Final, Literal, TypeAlias

from calm.core.case import Case, digest
from calm.core.edits import PromptEdit
from calm.core.files import read_json
from calm.core.templates import Prompt
from calm.errors import ConfigError, nearest
from calm.models.wire import Judge, Rewordable
from calm.perturbations import bundled_prompt, judge_prompt

Kind: TypeAlias = Literal["base", "prompt", "criterion"]

PROMPTS: Final[tuple[PromptEdit, ...]] = (
    bundled_prompt.rephrase,
    judge_prompt.give_persona,
    judge_prompt.append_sentence,
    bundled_prompt.define_terms,
    judge_prompt.prepend_sentence,
    judge_prompt.forbid_bias,
    bundled_prompt.instruct_last,
    judge_prompt.system_as_user,
    bundled_prompt.double_tags,
    bundled_prompt.commit_first,
    bundled_prompt.instruct_first,
    bundled_prompt.shout_tags,
)
"""Edits that ask for the same verdict in the same form; those of the bundled prompts apply to no other."""
FRAMES: Final = (
    "Find out whether this is so: {}",
    "The point to check is this: {}",
    "What has to hold: {}",
    "See whether the following applies: {}",
)
"""What is written around a criterion without a given paraphrase. It changes no word of the criterion."""
_FIELDS: Final = ("prompt", "criteria")


@dataclass(frozen=True, slots=True)
class Paraphrases:
    """
    What a person wrote in other words: passages of the judge's prompt, and criteria.

    Each of `prompt` maps passages to what stands in their place. `criteria` maps the text of a criterion to others.
    """

    prompt: tuple[Mapping[str, str], ...] = ()
    criteria: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Wording:
    """
    One way to put the question: a judge, and what it does to the criteria of a case (None: nothing).

    `reword` returns None for a case that it does not change.
    """

    name: str
    kind: Kind
    judge: Judge
    reword: Callable[[Case], Case | None] | None = None

    def shown(self, case: Case) -> Case | None:
        """Return the case as this wording shows it, or None where it changes nothing."""
        return case if self.reword is None else self.reword(case)


def wordings_of(
    judge: Judge, cases: Sequence[Case], own: Paraphrases, *, prompts: int, criteria: int, seed: int
) -> tuple[Wording, ...]:
    """
    Return the judge's own wording, and so many others of its prompt and of the criteria, as far as there are any.

    Those that a person wrote go first. A judge without a prompt that calm can reword has none of the first kind, one
    that is shown no criteria none of the second.

    Raises:
        ConfigError: a person's passage or criterion that occurs nowhere.
    """
    _refuse_strangers(cases, own)
    found = [Wording("as it is", "base", judge), *_prompts(judge, own, prompts, seed)]
    held = [case for case in cases if case.criteria]
    for number in range(criteria if held and judge.traits.recorded is None else 0):
        one = _criteria(judge, own, number)
        first = one.shown(held[0])
        if first is not None and judge.sees(first) != judge.sees(held[0]):
            found.append(one)
    return tuple(found)


def _prompts(judge: Judge, own: Paraphrases, most: int, seed: int) -> list[Wording]:
    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        if own.prompt:
            raise ConfigError(f"{judge.name} has no prompt that calm can reword: leave `prompt` out of the paraphrases")
        return []
    found: list[Wording] = []
    for number, passages in enumerate(own.prompt, 1):
        edited = judge_prompt.paraphrase(passages)(prompt, Random(seed))
        missing = [text for text in passages if not any(text in one.text for one in prompt.messages)]
        if missing or edited is None:
            told = missing[0] if missing else next(iter(passages))
            raise ConfigError(f"prompt paraphrase {number}: the judge's prompt holds no such passage: {told!r}")
        found.append(_with(judge, f"paraphrase {number}", edited))
    for edit in PROMPTS:
        if len(found) >= most:
            break
        edited = edit(prompt, Random(digest("diagnose", seed, edit.label)))
        if edited is not None and edited != prompt:
            found.append(_with(judge, edit.label, edited))
    return found[:most]


def _with(judge: Rewordable, name: str, prompt: Prompt) -> Wording:
    return Wording(name, "prompt", judge.with_prompt(prompt))


def _criteria(judge: Judge, own: Paraphrases, number: int) -> Wording:
    def reword(case: Case) -> Case | None:
        if not case.criteria:
            return None
        texts = (_other(own.criteria.get(one.text, ()), one.text, number) for one in case.criteria)
        reworded = tuple(replace(one, text=text) for one, text in zip(case.criteria, texts, strict=True))
        return replace(case, criteria=reworded)

    return Wording(f"criteria {number + 1}", "criterion", judge, reword)


def _other(written: Sequence[str], text: str, number: int) -> str:
    return written[number] if number < len(written) else FRAMES[(number - len(written)) % len(FRAMES)].format(text)


def _refuse_strangers(cases: Sequence[Case], own: Paraphrases) -> None:
    known = {one.text for case in cases for one in case.criteria}
    strange = [text for text in own.criteria if text not in known]
    if strange:
        raise ConfigError(
            f"paraphrases: criteria: no case has the criterion {strange[0]!r}{nearest(strange[0], sorted(known))}; "
            "write it as the cases do"
        )


def read_paraphrases(path: Path) -> Paraphrases:
    """
    Read a file of paraphrases: `{"prompt": [{PASSAGE: OTHER}], "criteria": {TEXT: [OTHER, ...]}}`, each part optional.

    Raises:
        ConfigError: it cannot be read, or holds something else; the message says where.
    """
    body = read_json(path, f"a file of paraphrases: JSON with {' and '.join(_FIELDS)}")
    if not isinstance(body, dict):
        raise ConfigError(f"{path}: expected an object with {' and '.join(_FIELDS)}, got {type(body).__name__}")
    problems = [f"{path}: unknown field {one!r}{nearest(one, _FIELDS)}" for one in body if one not in _FIELDS]
    prompt, criteria = body.get("prompt", []), body.get("criteria", {})
    if not isinstance(prompt, list) or not all(_texts(one) for one in prompt):
        problems.append(f"{path}: prompt: expected a list of objects that map a passage to its paraphrase, both texts")
    if not isinstance(criteria, dict) or not all(_list(one) for one in criteria.values()):
        problems.append(f"{path}: criteria: expected an object that maps the text of a criterion to a list of others")
    if not problems and not prompt and not criteria:
        problems.append(f"{path}: it holds no paraphrase: give {' or '.join(_FIELDS)}")
    if problems:
        raise ConfigError(problems)
    return Paraphrases(tuple(dict(one) for one in prompt), {text: tuple(others) for text, others in criteria.items()})


def _texts(one: object) -> bool:
    return isinstance(one, dict) and bool(one) and all(isinstance(text, str) and text.strip() for text in one.values())


def _list(one: object) -> bool:
    return isinstance(one, list) and bool(one) and all(isinstance(text, str) and text.strip() for text in one)
