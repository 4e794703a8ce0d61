"""Gather the judgments of one judge: equal questions with equal answers become one case, judged several times."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isnan
from pathlib import Path
from typing import Any, Final, Literal

from calm.cases.foreign.records import Faults, case_id
from calm.cases.logs.judgments import ANY, PAIR, Judgment, Log, Scaled, labels_of, scaled, seen
from calm.cases.logs.values import clean, question_in, texts_in, written
from calm.cases.rows import dig
from calm.core.case import Case, digest
from calm.core.verdict import Scale
from calm.errors import ConfigError, nearest

ONLY: Final = "only"
"""The id of an answer that stands alone."""
PLACES: Final = ("a", "b")
"""The ids of the answers of a pair."""
MAPPED: Final = ("question", "answer", "reference", "context", "score", "id")
"""What a user can map to a path of a record, beside `field.NAME` and `tag.NAME`."""
_LONGEST: Final = 80
_MOST: Final = 12
"""So many reasons or names a message lists."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """
    What a user asks for: the judge, the name under which people gave gold, and what words and scores mean.

    `words` holds for a word a number on the scale, or None if it is no verdict. `columns` holds for a field (`MAPPED`,
    `field.NAME`, `tag.NAME`) the path in a record of the log that holds it.
    """

    metric: str | None = None
    gold: str | None = None
    words: Mapping[str, float | None] = field(default_factory=dict)
    scale: Scale | None = None
    columns: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """One verdict on a case: the number of the ask, the verdict (None: the reply could not be read), and the rest."""

    case: str
    repeat: int
    verdict: float | str | None
    judgment: Judgment


@dataclass(frozen=True, slots=True)
class Gathered:
    """The cases of one judge of a log, its verdicts on them, and notes for the user."""

    metric: str
    task: Literal["pairwise", "score"]
    scale: Scale
    model: str
    cases: tuple[Case, ...]
    asks: tuple[Ask, ...]
    notes: tuple[str, ...]


def gathered(log: Log, wanted: Wanted) -> Gathered:
    """
    Return the cases and verdicts of one judge of a log.

    Raises:
        ConfigError: no such judge or several, verdicts that have no place on a scale, or texts that make no case.
    """
    metric = _metric(log, wanted.metric)
    notes = [*log.notes]
    judged = [one for one in log.judgments if one.who == "judge" and one.metric == metric]
    found = [_mapped(_read(one), wanted.columns) for one in judged]
    called = [one for one in found if one.state != "failed"]
    if len(called) < len(found):
        notes.append(f"{len(found) - len(called)} of {len(found)} verdicts are left out: the judge failed")
    said = [one for one in called if all(text.strip() for text in (one.question, *one.answers))]
    left = log.left + Counter({"a verdict on an empty question or an empty answer": len(called) - len(said)})
    if not said:
        got = "empty questions or answers" if called else "failed calls"
        raise ConfigError(f"{', '.join(log.names)}: expected verdicts of {metric}, got {got} alone")
    sizes = {len(one.answers) for one in said}
    if len(sizes) > 1:
        raise ConfigError(f"{metric}: expected verdicts on pairs or on single answers, got both under one name")
    pairs = sizes == {PAIR}
    on = None if pairs else scaled(said, wanted.words, wanted.scale)
    said = _same_fields(_as_shown(said))
    groups: dict[object, list[int]] = {}
    for place, one in enumerate(said):
        groups.setdefault(_about(one), []).append(place)
    names = _names(log, [said[places[0]] for places in groups.values()])
    people = [one for one in log.judgments if one.who == "person" and one.metric in (metric, ANY, wanted.gold)]
    people = [_mapped(one, {k: v for k, v in wanted.columns.items() if k != "score"}) for one in people]
    if wanted.gold is not None and not any(one.metric == wanted.gold for one in people):
        raise ConfigError(_no_gold(log, wanted.gold))
    none = [one for one in people if on is not None and on.words.nothing(one.value)]
    people = [one for one in people if one not in none]
    labels, of_people = labels_of(people, {seen(one) for one in said}, lambda one: _verdict(one, on))
    of_people += [f"{len(none)} verdicts of people are left out: their word is no verdict"] if none else []
    faults = Faults(log.names[0])
    cases: list[Case] = []
    asks: list[Ask] = []
    for places, name in zip(groups.values(), names, strict=True):
        first = said[places[0]]
        case = faults.case(_row(name, first, labels.get(seen(first), {}), on, wanted.columns), places[0] + 1)
        if case is not None:
            cases.append(case)
        for repeat, place in enumerate(places, 1):
            verdict = _verdict(said[place], None) if on is None else on.values[place]
            asks.append(Ask(name, repeat, verdict, said[place]))
    faults.settle()
    notes += [*(() if on is None else on.notes), *of_people, *([f"left out: {_counted(left)}"] if left else [])]
    notes += _said_of(log, metric, wanted, cases, asks)
    if lost := Counter(str(gold) for one in said if (gold := _lost(one, on, wanted.columns)) is not None):
        named = ", ".join(f"{value!r} ({count})" for value, count in lost.most_common(_MOST))
        notes.append(f"no gold, as it has no place on the scale of the judge: {named}")
    models = Counter(one.model for one in said if one.model)
    if len(models) > 1:
        notes.append(f"several models judged: {', '.join(f'{m} ({n})' for m, n in models.most_common(_MOST))}")
    model = models.most_common(1)[0][0] if models else ""
    scale = Scale() if on is None else on.scale
    return Gathered(metric, "pairwise" if pairs else "score", scale, model, tuple(cases), tuple(asks), tuple(notes))


def _metric(log: Log, wanted: str | None) -> str:
    known = Counter(one.metric for one in log.judgments if one.who == "judge")
    names = ", ".join(f"{name} ({number})" for name, number in known.most_common(_MOST))
    where = ", ".join(log.names)
    if not known:
        why = "; ".join(filter(None, [*log.notes, _counted(log.left)])) or "no record"
        raise ConfigError(f"{where}: expected verdicts of a judge, got none ({why})")
    if wanted is not None and wanted not in known:
        raise ConfigError(f"--metric: expected one of {names}, got {wanted!r}{nearest(wanted, list(known))}")
    if wanted is None and len(known) > 1:
        raise ConfigError(
            f"{where}: expected --metric NAME, as the log holds verdicts of {len(known)} judges: {names}; "
            "each is a judge of its own"
        )
    return wanted or next(iter(known))


def _read(one: Judgment) -> Judgment:
    """Return a judgment as one without a verdict, where its value is nothing, or is no number."""
    nothing = one.value is None or (isinstance(one.value, float) and isnan(one.value))
    return replace(one, value=None, state="unread") if nothing and one.state == "said" else one


def _no_gold(log: Log, wanted: str) -> str:
    known = Counter(one.metric for one in log.judgments if one.who == "person")
    names = ", ".join(f"{name} ({number})" for name, number in known.most_common(_MOST)) or "none"
    return f"--gold: expected the name of verdicts by people ({names}), got {wanted!r}{nearest(wanted, list(known))}"


def _mapped(one: Judgment, columns: Mapping[str, str]) -> Judgment:
    if not columns:
        return one
    held = {name: _at(one.row, path) for name, path in columns.items()}
    changes: dict[str, Any] = {}
    if "question" in held:
        changes["question"] = question_in(held["question"]) if held["question"] is not None else ""
    if "answer" in held and len(one.answers) == 1:
        changes["answers"] = (written(held["answer"]),)
    if "reference" in held:
        changes["reference"] = written(held["reference"]) or None
    if "context" in held:
        changes["context"] = texts_in(held["context"])
    if held.get("id") is not None:
        changes["item"] = written(held["id"])
    own = {name.removeprefix("field."): written(v) for name, v in held.items() if name.startswith("field.") and v}
    return replace(one, **changes, fields={**one.fields, **own})


def _at(row: Mapping[str, object], path: str) -> object:
    if path in row:
        return row[path]
    return dig(row, *(int(step) if step.isdecimal() else step for step in path.split(".")))


def _same_fields(said: Sequence[Judgment]) -> list[Judgment]:
    """Return judgments without fields that are the same in all: what every prompt says belongs to the prompt."""
    kept = {
        name
        for one in said
        for name in one.fields
        if name != "rubric" or len({other.fields.get(name) for other in said}) > 1
    }
    return [replace(one, fields={k: v for k, v in one.fields.items() if k in kept}) for one in said]


FORMS: Final[tuple[Callable[[Sequence[str]], str], ...]] = (
    "\n\n".join,
    "\n".join,
    " ".join,
    lambda texts: json.dumps(list(texts), ensure_ascii=False),
    lambda texts: str(list(texts)),
    lambda texts: "\n".join(f"- {text}" for text in texts),
)
"""How tools put several retrieved texts into one prompt."""


def _as_shown(said: Sequence[Judgment]) -> list[Judgment]:
    """
    Return judgments whose context is a field, in the form in which all prompts hold it, if there is one.

    Without such a form the passages stay apart: they are those of the case.
    """
    shown = [one for one in said if one.prompt and one.context]
    form = next(
        (form for form in FORMS if all(any(form(one.context) in t.text for t in one.prompt) for one in shown)), None
    )
    if form is None or not shown:
        return list(said)
    return [
        replace(one, context=(), fields={"context": form(one.context), **one.fields}) if one.context else one
        for one in said
    ]


def _about(one: Judgment) -> object:
    return one.question, one.answers, one.reference, one.context, tuple(sorted(one.fields.items()))


def _names(log: Log, firsts: Sequence[Judgment]) -> list[str]:
    """Return an id for each case: its own in the log, with a digest where several share it."""
    stem = Path(log.names[0]).name
    items = Counter(_item(one) for one in firsts)
    names = []
    for place, one in enumerate(firsts, 1):
        item = _item(one)
        held = {"question": one.question, "answers": list(one.answers), "reference": one.reference}
        if item and items[item] == 1:
            names.append(item)
        elif item:
            names.append(f"{item}-{digest('judged', repr(_about(one)))[:8]}")
        else:
            names.append(case_id(stem, place, held))
    return names


def _item(one: Judgment) -> str:
    name = "".join(letter for letter in " ".join(one.item.split()) if letter.isprintable())
    return name.replace("~", "-").lstrip("! ")[:_LONGEST].strip()


def _verdict(one: Judgment, on: Scaled | None) -> float | str | None:
    """Return the value of a verdict on a scale; of a pair, which answer it prefers."""
    if on is not None:
        return on.on(one.value)
    return PLACES[one.value] if isinstance(one.value, int) and one.state == "said" else None


def _lost(one: Judgment, on: Scaled | None, columns: Mapping[str, str]) -> object:
    """Return the gold at the path that a user named, where it has no place on the scale; None for nothing lost."""
    value = _at(one.row, columns["score"]) if "score" in columns and on is not None else None
    return value if value not in (None, "") and on is not None and on.on(value) is None else None


def _row(
    name: str, one: Judgment, gold: Mapping[str, float | str], on: Scaled | None, columns: Mapping[str, str]
) -> dict[str, object]:
    ids = PLACES if len(one.answers) == PAIR else (ONLY,)
    authors = [*(author or None for author in one.authors), *[None] * len(ids)]
    row: dict[str, object] = {
        "id": name,
        "question": clean(one.question),
        "answers": [
            {"id": id_, "text": clean(text)} | ({} if author is None else {"author": author})
            for id_, text, author in zip(ids, one.answers, authors, strict=False)
        ],
        "reference": clean(one.reference or "") or None,
        "fields": {key: clean(text) for key, text in one.fields.items()},
        **({"context": [clean(text) for text in one.context]} if one.context else {}),
        "labels": dict(gold),
        "tags": {
            key.removeprefix("tag."): written(_at(one.row, path))
            for key, path in columns.items()
            if key.startswith("tag.") and _at(one.row, path) is not None
        },
    }
    if "score" in columns and on is not None and (value := on.on(_at(one.row, columns["score"]))) is not None:
        row |= {"scores": {ONLY: value}, "labels": {}}
    return row


def _counted(left: Counter[str]) -> str:
    return "; ".join(f"{number} x {reason}" for reason, number in left.most_common(_MOST))


def _said_of(log: Log, metric: str, wanted: Wanted, cases: Sequence[Case], asks: Sequence[Ask]) -> list[str]:
    """Return notes about the cases: what could not be read, and whether there is gold."""
    notes = []
    unread = sum(ask.judgment.state == "unread" for ask in asks)
    if unread:
        notes.append(f"{unread} of {len(asks)} replies held no verdict: they count as unreadable")
    if tools := len({ask.case for ask in asks if ask.judgment.tools}):
        notes.append(f"in {tools} of {len(cases)} cases tools were used: their calls and replies are left out")
    gold = sum(1 for case in cases if case.better or case.scores or case.annotations)
    others = Counter(one.metric for one in log.judgments if one.who == "person") - Counter({metric: 10**9, ANY: 10**9})
    if not gold and others and wanted.gold is None:
        names = ", ".join(f"{name} ({number})" for name, number in others.most_common(_MOST))
        notes.append(f"people gave verdicts under other names: {names}; take them as gold with --gold NAME")
    elif not gold:
        notes.append(
            "no case has gold, so agreement is not tested: map a path of the log to it with --map score=PATH, or write "
            "scores into the cases"
        )
    elif gold < len(cases):
        notes.append(f"{len(cases) - gold} of {len(cases)} cases have no gold")
    most = Counter(ask.case for ask in asks).most_common(1)
    if most and most[0][1] == 1:
        notes.append("each case was judged once, so whether the judge agrees with itself is not tested")
    return notes
