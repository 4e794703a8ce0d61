"""
The key `labels` of a case: what each of several people said of it.

| a label | what it says | on |
|---|---|---|
| a text | the id of the better answer, or `tie` | pairs |
| a text | the class of the only answer | classes |
| a number | the score of the only answer | scores |
| an object of answers | the score of each, or for each the truth of its criteria | answers of several authors |
| an object of criteria | the truth of each criterion of the only answer | rubrics |
| a list | all answers from best to worst; an inner list holds ties | lists |
| null | this person did not label the case | all |

People are named by the keys of an object, or by their place in a list, from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TypeAlias

from calm.core.annotations import Annotation
from calm.core.case import TIE
from calm.errors import nearest

Fault: TypeAlias = Callable[[str, str], None]
"""Note a fault: the field, then what was expected, what came and how to fix it."""

MOST_PEOPLE = 50
"""More people than this on one case take too long: each is compared with each other one."""


def annotations_of(value: object, ids: Sequence[str], criteria: Sequence[str], fault: Fault) -> dict[str, Annotation]:
    """
    Return what each person said, by name; a person whose label is null is left out.

    `ids` are those of the answers, `criteria` those of the criteria. Each label that cannot be is a fault.
    """
    if value is None:
        return {}
    people: dict[str, object]
    if isinstance(value, list):
        people = {str(place): one for place, one in enumerate(value, start=1)}
    elif isinstance(value, dict):
        people = value
    else:
        fault("labels", "expected an object of people and their labels, or a list of labels; write {...} or [...]")
        return {}
    if len(people) > MOST_PEOPLE:
        fault("labels", f"expected at most {MOST_PEOPLE} people, got {len(people)}; write one case a line")
        return {}
    found: dict[str, Annotation] = {}
    for person, label in people.items():
        at = f"labels.{person}" if person.isprintable() and len(person) <= 60 else "labels"
        if not person.strip() or not person.isprintable():
            fault("labels", f"expected the name of a person, got {person[:60]!r}; write a printable one")
        elif label not in (None, {}, []) and (one := _annotation(label, at, ids, criteria, fault)) is not None:
            found[person] = one
    return found


def _annotation(label: object, at: str, ids: Sequence[str], criteria: Sequence[str], fault: Fault) -> Annotation | None:
    if isinstance(label, str) and len(ids) == 1:
        if _is_class(label):
            return Annotation(label=label)
        fault(
            at,
            f"expected a class, a score or the truth of criteria, got the text {label[:60]!r}; write the name of a "
            "class, or a number without quotes",
        )
        return None
    if isinstance(label, str):
        if label in ids or (label == TIE and len(ids) > 1):
            return Annotation(better=label)
        fault(at, f"expected an answer's id or 'tie', got {label[:60]!r}{nearest(label, [*ids, TIE])}")
        return None
    if isinstance(label, list):
        return _order(label, at, ids, fault)
    if isinstance(label, dict):
        return _of_answers(label, at, ids, criteria, fault)
    score = _score(label)
    if score is None:
        fault(at, f"expected a label, got {_shown(label)}; write a text, a number, an object, a list or null")
    elif len(ids) != 1:
        fault(at, f"expected an object with the score of each answer, got one number for {len(ids)}; name them")
    else:
        return Annotation(scores={ids[0]: score})
    return None


def _is_class(label: str) -> bool:
    """Return whether a text can be the name of a class: a tie needs two answers, and a number in quotes is a score."""
    if label == TIE:
        return False
    try:
        float(label)
    except ValueError:
        return bool(label.strip()) and label.isprintable() and label[0] not in "~!"
    return False


def _of_answers(
    label: Mapping[str, object], at: str, ids: Sequence[str], criteria: Sequence[str], fault: Fault
) -> Annotation | None:
    if len(ids) == 1 and ids[0] not in label:
        truths = _truths(label, at, ids, criteria, fault)
        return None if truths is None else Annotation(met={ids[0]: truths})
    scores: dict[str, float] = {}
    met: dict[str, dict[str, bool]] = {}
    for key, said in label.items():
        if key not in ids:
            fault(at, f"expected an answer's id, got {key[:60]!r}{nearest(key, ids)}")
            return None
        score = _score(said)
        if isinstance(said, dict):
            truths = _truths(said, f"{at}.{key}", (), criteria, fault)
            if truths is None:
                return None
            met[key] = truths
        elif score is None:
            fault(f"{at}.{key}", f"expected a score or the truth of criteria, got {_shown(said)}; write a number")
            return None
        else:
            scores[key] = score
    return Annotation(scores=scores, met=met)


def _truths(
    label: Mapping[str, object], at: str, ids: Sequence[str], criteria: Sequence[str], fault: Fault
) -> dict[str, bool] | None:
    for key, true in label.items():
        if key not in criteria:
            known = [*criteria, *ids]
            fault(at, f"expected the id of a criterion or of the answer, got {key[:60]!r}{nearest(key, known)}")
            return None
        if not isinstance(true, bool):
            fault(f"{at}.{key}", f"expected true or false, got {_shown(true)}; say if it is met")
            return None
    return {key: true is True for key, true in label.items()}


def _order(label: Sequence[object], at: str, ids: Sequence[str], fault: Fault) -> Annotation | None:
    groups = [tuple(one) if isinstance(one, list) else (one,) for one in label]
    names = [name for group in groups for name in group]
    if not all(isinstance(name, str) for name in names) or sorted(map(str, names)) != sorted(ids):
        fault(at, f"expected all {len(ids)} answers once, from best to worst, got {_shown(list(label))}; name each id")
        return None
    return Annotation(order=tuple(tuple(str(name) for name in group) for group in groups if group))


def _score(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if isfinite(number) else None


def _shown(value: object) -> str:
    return repr(value)[:60]


def label_of(one: Annotation, ids: Sequence[str]) -> object:
    """Return an annotation as a case file holds it; `annotations_of` reads it back equal."""
    if one.better is not None:
        return one.better
    if one.label is not None:
        return one.label
    if one.order:
        return [group[0] if len(group) == 1 else list(group) for group in one.order]
    if len(ids) == 1 and one.scores:
        return one.scores[ids[0]]
    if len(ids) == 1:
        return dict(one.met[ids[0]])
    return {**one.scores, **{answer: dict(truths) for answer, truths in one.met.items()}}
