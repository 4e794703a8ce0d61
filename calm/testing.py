"""`check_perturbation(edit)`: the contract of a perturbation, for the tests of whoever writes one."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from random import Random
from time import perf_counter

from calm.core.case import Answer, Case, Criterion, Example
from calm.core.checks import verify
from calm.core.edits import Edit, Expects
from calm.core.validation import refusal
from calm.core.verdict import Family
from calm.errors import CalmError

PROSE = (
    "The ferry leaves at 9:40 and takes 35 minutes, because the strait is narrow. It does not run on Sundays. "
    "You can buy a ticket on board, but a bicycle costs 4 euros more."
)
TEXTS = (
    "",
    " ",
    "Yes.",
    PROSE,
    f"{PROSE}\n\n- First, walk to the pier.\n- Then wait.\n\nThe answer is 42.",
    "```python\nx = 1  # one\nprint(x)\n```\n\nIt prints 1.",
    "| a | b |\n|---|---|\n| 1 | 2 |\n\nThe table has 2 columns.",
    "We have $x^2 = 9$, so \\(x = 3\\) or \\(x = -3\\). The answer is \\boxed{3}.",
    "On 3 May 2021 Mr. Müller said that he and his wife didn't like the colour of the café; I do not know why. "
    "There were three of them, and it is important to note that she paid $1,200 in order to leave.",
    'Like so:\n\n```python\ndef area(width, height):\n    """Return the area."""\n    # multiply both\n'
    "    return width * height\n```\n\nCall it with 2 and 3.",
    "So:\n\n```python\ndef double(value):\n    twice = 2 * value  # or a sum\n    return twice\n```\n\nThat is all.",
    "It was so on 3 May 2021, too. He takes the ferry to the café at noon. Of course he doesn't run home, and it is "
    "basically a short way. He walks.",
    "Паром уходит в полдень. Το πλοίο φεύγει στις 12.",
    "Great 🎉👩‍👩‍👧 news, it works!",
    "התשובה היא 7. זה פשוט. هذا صحيح.",
    "\ud800 half a pair, \x00 a zero, \u202e turned round.",
)
"""Texts that an edit must come through: empty, prose, lists, code, tables, formulas, emoji, right to left, broken."""
LONG = 100_000
SLOW_S = 5.0
"""No edit of a text of 100 kB takes as long as this, on any machine: the time of one that is not linear."""


def check_perturbation(edit: Edit, cases: Sequence[Case] | None = None) -> None:
    """
    Check that an edit keeps to what every edit has to, on sample cases of each task that it serves and on your own.

    It is a function of the case and the seed alone and leaves its argument as it was; it returns a changed case or
    None; it keeps the gold labels, the ids, and the truth of criteria that a program can verify, unless it expects
    WORSE, and then it says which answer it harmed; it comes through empty, long and hostile texts; and it applies to
    one case at least.

    Raises:
        AssertionError: with a line for each fault.
    """
    faults = list(dict.fromkeys(_faults(edit, cases)))
    if faults:
        raise AssertionError(f"{edit!r} breaks the contract of perturbations:\n" + "\n".join(f"- {f}" for f in faults))


def _faults(edit: Edit, cases: Sequence[Case] | None) -> Iterator[str]:
    if not isinstance(edit, Edit):
        yield f"expected a perturbation, got {type(edit).__name__}: decorate the function with @perturbation(...)"
        return
    if not edit.summary and not edit.variants:
        yield "its function has no docstring: its first line is what reports and `calm perturb --list` show"
    if not edit.source and not edit.variants:
        yield "it names no source: a paper, a project, or your own"
    applied = 0
    for case in (*_samples(edit.tasks), *(_aimed(edit, case) for case in cases or ())):
        found = yield from _on(edit, case)
        applied += found
    if not applied:
        yield "it applies to none of the cases: it returned None for all of them"


def _on(edit: Edit, case: Case) -> Generator[str, None, int]:
    before = deepcopy(case)
    where = f"case {case.id} ({len(case.answers)} answers)"
    applied = 0
    for variant in edit.variants or (edit,):
        began = perf_counter()
        try:
            made: object = variant(case, Random(1))
            if made is not None and not isinstance(made, Case):
                yield f"{where}: expected a case or None, got {type(made).__name__}"
                continue
            first, again = variant.apply(case, 1), variant.apply(case, 1)
        except CalmError as error:
            yield str(error)
            continue
        except Exception as error:  # noqa: BLE001 - whatever an edit raises is a fault of it
            yield f"{where}: {type(error).__name__}: {error}"
            continue
        if perf_counter() - began > SLOW_S:
            yield f"{where}: three edits took longer than {SLOW_S:g} seconds: its time is not linear in the text"
        if case != before:
            yield f"{where}: it changed its argument; return a copy, as case.edit(...) does"
        if first != again:
            yield f"{where}: two runs with one seed differ; draw from the `rng` that it is given, and from nothing else"
        if first is None:
            continue
        applied += 1
        yield from _kept(variant, case, first, where)
    return applied


def _kept(edit: Edit, before: Case, after: Case, where: str) -> Iterator[str]:
    if edit.expects is Expects.WORSE:
        if after.damaged is None:
            yield f"{where}: it expects WORSE and does not say which answer it harmed: use case.damage(id, change)"
        return
    if edit.expects not in (Expects.SAME, Expects.NOT_BETTER):
        return
    for name in ("better", "scores", "met", "reference"):
        if getattr(before, name) != getattr(after, name):
            yield f"{where}: it expects {edit.expects} and changed {name}"
    if {a.id for a in before.answers} - {a.id for a in after.answers}:
        yield f"{where}: it took an answer away"
    elif (why := refusal(edit, before, after)) is not None:
        yield f"{where}: {why}"


def _aimed(edit: Edit, case: Case) -> Case:
    """Return a case of the user's with the answer to treat, as the engine chooses it where there is a gold label."""
    ids = [a.id for a in case.answers]
    weaker = next((i for i in ids if i != case.better), ids[0])
    better = case.better if case.better in ids else ids[0]
    target = case.target or (better if edit.expects is Expects.WORSE else weaker)
    return replace(case, target=target, order=case.order or tuple(ids))


def _samples(tasks: Sequence[Family]) -> Iterator[Case]:
    texts = (*TEXTS, (PROSE + " ") * (LONG // (len(PROSE) + 1)))
    several = {"pairwise": 2, "listwise": 4}
    for task in tasks:
        for number, text in enumerate(texts):
            case = _case(f"{task}-{number}", several.get(task, 1), text, rubric=task == "rubric")
            yield case
            if case.better is not None and len(text) < LONG / 2:  # some edits treat the better answer
                yield replace(case, id=f"{case.id}-better", better="a0", target="a1")


def _case(name: str, count: int, text: str, *, rubric: bool) -> Case:
    others = ("It leaves at 10 and takes an hour.", "There is no ferry.", "Ask the harbour master about it.")
    answers = tuple(Answer(f"a{i}", t) for i, t in enumerate((text, *others)[:count]))
    case = Case(name, "When does the ferry leave?", answers, reference=PROSE, target="a0")
    if count > 1:
        order = tuple(a.id for a in answers)
        drawn = tuple(Random(name).sample(order, len(order)))
        examples = tuple(Example("Is it far?", ("Yes.", "No."), label) for label in "AB")
        return replace(case, better="a1", order=drawn, examples=examples)
    if rubric:
        check = {"kind": "max_words", "value": 60}
        criteria = (Criterion("c1", "It names a time."), Criterion("c2", "It has few words.", check=check))
        return replace(case, criteria=criteria, met={"a0": {"c1": True, "c2": verify(check, text)}})
    return replace(case, scores={"a0": 6.0})
