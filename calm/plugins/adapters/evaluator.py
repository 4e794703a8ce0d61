"""What an adapter makes of an object of its tool: which parts of a case it is passed, and how it is called."""

from __future__ import annotations

import importlib
import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Final

from calm.core.case import Case
from calm.core.files import json_of
from calm.core.verdict import Scale, Task
from calm.errors import ConfigError
from calm.judges.blind import READABLE
from calm.models.wire import Json

SHARE: Final = Scale(0.0, 1.0)
QUESTION, ANSWER, SECOND, REFERENCE, TURN = "question", "answer", "second answer", "reference", "question and answer"
"""Parts of a case that are passed; any other one is the name of a field."""
CONTEXTS: Final = frozenset({"context", "contexts", "retrieval_context", "retrieved_contexts", "reference_contexts"})
"""Names under which tools take the texts that an answer was to be based on: the field `context` is all of them."""
_READS: Final = {QUESTION: "question", ANSWER: "answers", SECOND: "answers", REFERENCE: "reference"}
_USUAL: Final[Mapping[str, str]] = {
    **dict.fromkeys(("input", "inputs", "user_input", "question", "query"), QUESTION),
    **dict.fromkeys(("output", "outputs", "actual_output", "response", "answer", "prediction"), ANSWER),
    **dict.fromkeys(("expected", "expected_output", "reference", "reference_outputs", "ground_truth"), REFERENCE),
}


@dataclass(frozen=True, slots=True)
class Evaluator:
    """
    An object of another tool, as it is asked.

    `passes` says which part of a case is passed under which name; those in `optional` may be missing in a case.
    `call` gets the values by these names, and returns a verdict or a value that means one, or an awaitable of it.
    `release` is the name and version of its package. `notes` say in what it differs here from how it runs in its own
    tool, one sentence each. `description` is what a report says of it besides. `fingerprint` changes whenever its
    verdicts can, where that does not follow from its requests.
    """

    release: str
    task: Task
    scale: Scale
    passes: Mapping[str, str]
    call: Callable[[Mapping[str, Any]], object | Awaitable[object]]
    asynchronous: bool
    optional: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()
    description: Mapping[str, Json] = field(default_factory=dict)
    fingerprint: str | None = None

    @property
    def reads(self) -> tuple[str, ...]:
        """The parts of a case that reach it, as a judge's code declares them."""
        needed = {_READS.get(part, "fields") for part in self.passes.values()}
        needed |= {"context"} & set(self.passes.values())
        return tuple(name for name in READABLE if name in needed)

    def values(self, case: Case) -> dict[str, Any]:
        """
        Return what is passed about a case, by name.

        Raises:
            ConfigError: the case lacks it.
        """
        found: dict[str, Any] = {}
        for name, part in self.passes.items():
            value = _value(case, name, part)
            if value is not None:
                found[name] = value
            elif name not in self.optional:
                where = {REFERENCE: "a `reference`", SECOND: "two answers"}.get(part, f"`fields` with {part!r}")
                raise ConfigError(f"case {case.id}: expected {where}, which the judge is passed as {name!r}, got none")
        return found

    def sample(self) -> Case:
        """Return a case that has all that is passed."""
        from calm.core.case import Answer

        fields = {part: "It stands here." for part in self.passes.values() if part not in _READS}
        count = 2 if self.task == "pairwise" else 1
        answers = tuple(Answer("AB"[place], f"It is {'four' if place == 0 else 'five'}.") for place in range(count))
        return Case("sample", "What is two and two?", answers, reference="The sum is four, as counted.", fields=fields)


def part_for(name: str) -> str:
    """
    Return the part of a case that is passed under a name; a field of that name if no other one is usual.

    >>> part_for("user_input"), part_for("expected_output"), part_for("retrieved_contexts"), part_for("criteria")
    ('question', 'reference', 'context', 'criteria')
    """
    return "context" if name in CONTEXTS else _USUAL.get(name, name)


def listed(text: str) -> list[str]:
    """
    Return a field as the list of texts that it holds: a JSON list of texts, or the one text.

    >>> listed('["a", "b"]'), listed("a")
    (['a', 'b'], ['a'])
    """
    try:
        found: object = json_of(text)
    except ValueError:
        found = None
    if isinstance(found, list) and all(isinstance(one, str) for one in found):
        return found
    return [text]


def package(name: str, extra: str, spec: str) -> ModuleType:
    """
    Return a package that an adapter needs.

    Raises:
        ConfigError: it is not installed, or cannot be imported.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise ConfigError(_broken(spec, name, error)) from error
        from calm.core.releases import install

        raise ConfigError(
            f"--calm-judge {spec}: the package {name.partition('.')[0]!r} is not installed in this environment; "
            f"install it here: {install(extra)}"
        ) from error
    except Exception as error:  # whatever its import does
        raise ConfigError(_broken(spec, name, error)) from error


def release_of(distribution: str) -> str:
    """Return the name and the version of an installed package."""
    return f"{distribution} {version(distribution)}"


def installed(name: str) -> bool:
    """Return whether a package is installed."""
    return find_spec(name) is not None


def _broken(spec: str, name: str, error: Exception) -> str:
    return f"--calm-judge {spec}: importing {name} failed: {type(error).__name__}: {error}; does it work without calm?"


def _value(case: Case, name: str, part: str) -> object:
    answers = case.shown
    if part == QUESTION:
        return case.question
    if part == ANSWER:
        return answers[0].text
    if part == SECOND:
        return answers[1].text if len(answers) > 1 else None
    if part == REFERENCE:
        return case.reference
    own = case.fields.get(name, case.fields.get(part))
    if own is None and part == "context" and case.context:
        return json.dumps([passage.text for passage in case.context], ensure_ascii=False)
    return own


def made(found: object, spec: str) -> object:
    """
    Return what a class or a function without arguments makes.

    Raises:
        ConfigError: it cannot be made so.
    """
    try:
        return found()  # type: ignore[operator]  # the caller found out that it can be called
    except Exception as error:  # whatever the user's code does
        raise ConfigError(
            f"--calm-judge {spec}: {getattr(found, '__name__', found)!r} could not be made without arguments "
            f"({type(error).__name__}: {error}); make the object in your module and give its name"
        ) from error
