"""
Decision models: the typed questions that are asked about a case, and the verdict in the answers to them.

A `noul` has the answers true and false, a `choice` some options, a `score` levels from low to high. Each answer comes
with its probabilities, and the verdict is read from these. An answer that says one thing and whose probabilities say
another is no verdict.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.case import Framing
from calm.core.edits import Form, Message
from calm.core.reasons import Kind, Reason, Said, because
from calm.core.verdict import Criteria, Refused, Scale, Task, Verdict
from calm.judges.reading.formats import NOTHING, Format
from calm.judges.reading.logprobs import weighed
from calm.judges.reading.marks import View, short
from calm.models.apis import VERDICT, string, table, told
from calm.models.wire import Json, Reply

TYPES: Final[Mapping[Task, tuple[Form, ...]]] = {
    "pairwise": ("choice", "noul"),
    "score": ("score", "choice"),
    "rubric": ("noul", "choice"),
    "rubric-all": ("noul", "choice"),
    "label": ("choice", "noul"),
}
"""The types of question that can ask for the verdict of a task, the usual one first."""
MOST_OPTIONS: Final = 255
"""No server takes more options or levels."""
HALF_DIGIT: Final = 0.005
"""How far a probability may be from its own value: servers round to two digits or more."""


@dataclass(frozen=True, slots=True)
class Option:
    """What an answer can be: its key, what the server is told of it, and the verdict that it stands for ("": none)."""

    key: str
    meaning: str | None
    verdict: str


def faults(form: Format, task: Task, scale: Scale) -> list[str]:
    """Return the problems of asking a decision model for a verdict, a line for each; none if it can be asked."""
    known = TYPES.get(task)
    if known is None:
        able = ", ".join(TYPES)
        return [f"verdict.format: a decision model gives no verdict of the task {task}; it can do {able}"]
    if form.kind not in known:
        return [f"verdict.format: expected {' or '.join(known)} for the task {task}, got {form.kind!r}"]
    if form.kind == "noul":
        if form.values:
            return ["verdict.values: a noul has the answers true and false alone; take them out"]
        classes = scale.classes
        if classes is not None and len(classes.names) != 2:
            return [f"verdict.format: a noul tells two classes apart, got {len(classes.names)}; write 'choice'"]
        return []
    if task == "score" and not form.values and abs(_levels(scale)[-1] - scale.high) > 1e-6:
        return ["verdict.scale: a decision model is asked for levels: expected a step that leads from low to high"]
    count = len(form.values) or (len(_levels(scale)) if task == "score" else 2)
    if not 2 <= count <= MOST_OPTIONS:
        return [f"verdict.scale: expected from 2 to {MOST_OPTIONS} options or levels, got {count}; give a greater step"]
    if form.kind == "score" and NOTHING in form.values.values():
        return [f"verdict.values: a level is a score, so expected no {NOTHING!r} among them; write format = 'choice'"]
    return []


def questions(form: Format, view: View, messages: Sequence[Message], beside: Sequence[str] = ()) -> dict[str, Json]:
    """
    Return the questions of a call by their names: those that stand beside it, then the verdict.

    All criteria of the task rubric-all are asked about in one call, each by a question that is named by its number.
    """
    asked: dict[str, Json] = {f"also_{n}": {"type": "noul", "instructions": one} for n, one in enumerate(beside, 1)}
    instructions = told(messages)
    if view.task != "rubric-all":
        return asked | {VERDICT: _question(form, view, instructions)}
    for number in range(1, len(view.criteria) + 1):
        asked[str(number)] = _question(form, view, f"{instructions}\nThis is about criterion number {number}.")
    return asked


def shown(asked: Mapping[str, Json], messages: Sequence[Message]) -> Message:
    """Return the questions of a call as people read them: what each adds to the instructions, and its options."""
    lines = []
    for name, question in asked.items():
        one = table(question)
        own = string(one.get("instructions")).removeprefix(told(messages)).strip()
        options = json.dumps(one["criteria"], ensure_ascii=False) if "criteria" in one else ""
        lines.append(" ".join(filter(None, (f"{name} ({one.get('type')}):", own, options))))
    return Message("questions", "\n".join(lines))


def _question(form: Format, view: View, instructions: str) -> dict[str, Json]:
    options = _options(form, view)
    if form.kind == "score":
        return {"type": "score", "instructions": instructions, "criteria": [one.meaning for one in options]}
    criteria: dict[str, Json] = {one.key: one.meaning for one in options}
    if form.kind == "noul" and view.task in ("pairwise", "label"):
        instructions = f"{instructions}\nIs this true: {options[0].meaning}"
    return {"type": form.kind, "instructions": instructions, "criteria": criteria}


def _options(form: Format, view: View) -> list[Option]:
    usual = _usual(form, view)
    return _named(form, view, usual) if form.values and form.kind != "noul" else usual


def _usual(form: Format, view: View) -> list[Option]:
    noul, negative = form.kind == "noul", view.framing is Framing.NEGATIVE
    if view.task == "score":
        texts = [f"{value:g}" for value in _levels(view.scale)]
        if form.kind == "score":
            return [Option(str(place), text, text) for place, text in enumerate(texts)]
        return [Option(text, None, text) for text in texts]
    if (classes := view.scale.classes) is not None:
        known = dict(zip(classes.names, classes.meanings or (None,) * len(classes.names), strict=True))
        if not noul:
            return [Option(name, meaning, name) for name, meaning in known.items()]
        best = classes.best()
        both = {"true": best, "false": next(name for name in known if name != best)}
        says = {name: f"{name} ({meaning})" if meaning else name for name, meaning in known.items()}
        return [Option(key, f"The answer is of the class {says[name]}.", name) for key, name in both.items()]
    if view.task == "pairwise":
        (first, second), word = view.labels, "worse" if negative else "better"
        if noul:
            claim = f"Answer {first} is {word} than answer {second}."
            return [Option("true", claim, "0"), Option("false", f"Answer {second} is {word}.", "1")]
        tie = "C" if view.labels == ("A", "B") else "tie"
        two = [Option(label, f"Answer {label} is {word}.", str(n)) for n, label in enumerate(view.labels)]
        return [*two, Option(tie, f"Neither is {word}.", "tie")]
    verb, instead = ("fails", "does not fail") if negative else ("meets", "does not meet")
    yes, no = ("true", "false") if noul else ("yes", "no")
    return [
        Option(yes, f"The answer {verb} the criterion.", "met"),
        Option(no, f"The answer {instead} the criterion.", "unmet"),
    ]


def _named(form: Format, view: View, usual: Sequence[Option]) -> list[Option]:
    meanings = {one.verdict: one.meaning for one in usual}
    means = {"first": "0", "second": "1", NOTHING: ""}
    if view.task in ("rubric", "rubric-all"):
        means |= {"1": "met", "0": "unmet"}
    options = []
    for key, value in form.values.items():
        name = value if isinstance(value, str) else f"{value:g}"
        verdict = means.get(name, name)
        options.append(Option(key, meanings.get(verdict), verdict))
    if form.kind != "score":
        return options
    levels = sorted(options, key=lambda one: float(one.verdict))
    return [Option(str(place), one.key, one.verdict) for place, one in enumerate(levels)]


def _levels(scale: Scale) -> list[float]:
    step = scale.step or 1.0
    return [scale.low + step * place for place in range(math.floor((scale.high - scale.low) / step + 1e-6) + 1)]


def by_answers(reply: Reply, form: Format, view: View) -> Verdict | Reason:
    """Return the verdict in the answers to the questions about a case, or why there is none."""
    answers, options = _answers(reply.text), _options(form, view)
    if view.task != "rubric-all":
        law = _law(answers.get(VERDICT), VERDICT, form, options)
        return weighed(law, view) if isinstance(law, dict) else law
    laws = [_law(answers.get(str(n)), str(n), form, options) for n in range(1, len(view.criteria) + 1)]
    met = "unmet" if view.framing is Framing.NEGATIVE else "met"
    known = {one: law[met] for one, law in zip(view.criteria, laws, strict=True) if isinstance(law, dict)}
    lost = next((law for law in laws if not isinstance(law, dict)), None)
    if lost is not None and not known:
        return lost
    return Criteria({one: known[one] >= 0.5 if one in known else None for one in view.criteria}, known)


def _answers(text: str) -> Mapping[str, object]:
    try:
        return table(json.loads(text))
    except ValueError:
        return {}


def _law(answer: object, name: str, form: Format, options: Sequence[Option]) -> dict[str, float] | Refused | Reason:
    """Return the probability of each verdict that one answer gives, or why it gives none."""
    if answer is None:
        return because(Kind.UNANSWERED, name)
    said, shown = table(answer), Said(short(json.dumps(answer)))
    if said.get("type") == "refusal":
        return Refused(f"the server says that the model declined: {short(said.get('refusal') or 'type=refusal')}")
    if said.get("type") != form.kind:
        return because(Kind.ANSWER_TYPE, name, form.kind, shown)
    given = table(said.get("probabilities")) if form.kind != "noul" else {"true": said.get("noul"), "false": 0.0}
    if set(given) != {one.key for one in options}:
        return because(Kind.ANSWER_OPTIONS, name, shown)
    known = {one.key: p for one in options if (p := _probability(given[one.key])) is not None}
    if form.kind == "noul" and len(known) == 2:
        known["false"] = 1.0 - known["true"]
    total = math.fsum(known.values())
    if len(known) < len(options) or abs(total - 1.0) > HALF_DIGIT * min(len(options), 10):
        return because(Kind.ANSWER_CHANCES, name, shown)
    if not _agrees(said, known, form, options):
        return because(Kind.ANSWER_CONTRADICTED, name, shown)
    law: dict[str, float] = {}
    for one in options:
        law[one.verdict] = law.get(one.verdict, 0.0) + known[one.key] / total
    none = law.pop("", 0.0)
    if none >= max(law.values()):
        return because(Kind.ANSWER_NONE, name)
    return {verdict: weight / (1.0 - none) for verdict, weight in law.items()}


def _probability(value: object) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool) or not -1e-6 <= value <= 1 + 1e-6:
        return None
    return min(max(float(value), 0.0), 1.0)


def _agrees(said: Mapping[str, object], known: Mapping[str, float], form: Format, options: Sequence[Option]) -> bool:
    """Return whether an answer says what its probabilities say: the likeliest option, or the mean of the levels."""
    if form.kind == "noul":
        return True
    if form.kind == "choice":
        return known.get(string(said.get("choice")), -1.0) >= max(known.values()) - 1e-6
    score, legend = said.get("score"), table(said.get("legend"))
    mean = math.fsum(place * known[one.key] for place, one in enumerate(options))
    slack = HALF_DIGIT * (1 + sum(range(len(options))))
    exact = isinstance(score, int | float) and not isinstance(score, bool) and abs(score - mean) <= slack
    texts = {key: text for key, text in legend.items() if isinstance(text, str)}
    return exact and texts in ({}, {one.key: one.meaning for one in options})
