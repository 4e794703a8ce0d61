"""`calm perturb`: show what a perturbation does to a case or a prompt, or list all perturbations."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, get_args

from calm.commands import CASES, DONE, REFUSED, add_command
from calm.core.case import Case, Framing, Presentation, Step, Treated, digest, texts_of_steps
from calm.core.edits import AnyEdit, Edit, Expects, PromptEdit
from calm.core.images import Image
from calm.core.languages import ENGLISH, SERVED
from calm.core.reasons import Kind
from calm.core.verdict import FAMILIES, FAMILY, Family, Task
from calm.errors import FEW, ConfigError, nearest
from calm.experiment.inert import not_spoken
from calm.experiment.pairs import aim
from calm.results.parts import aligned
from calm.results.reports.texts import coloured, differences
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.core.edits import Prompt

SHOWN_CASES = 400
SAMPLES = 60
"""Cases of a language on which an edit is tried."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `perturb`."""
    one = add_command(
        commands,
        "perturb",
        "Show what a perturbation changes, or list all perturbations. The change is shown as a word diff. No judge is "
        "asked.",
        "calm perturb authority.cite_book",
    )
    one.add_argument("name", nargs="?", metavar="NAME", help="authority.cite_book, expand@3, or package.module:name")
    one.add_argument("--list", action="store_true", help="list all perturbations, with those of installed packages")
    one.add_argument("--bias", metavar="BIAS", help="with --list: only those of this bias")
    one.add_argument("--expects", metavar="EXPECTS", help="with --list: only those that expect this")
    one.add_argument(
        "--language", metavar="CODE", help="with --list: only those that are asked about cases in it, such as de or zh"
    )
    one.add_argument(
        "--task", metavar="TASK", help="show cases or a prompt of this task (default: the first that fits)"
    )
    one.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    one.add_argument("--case", metavar="ID", help="which case (default: the first that it applies to)")
    one.add_argument("--seed", type=int, default=0, metavar="I", help="seed of the edit (default 0)")
    one.set_defaults(run=_perturb)


def _perturb(options: argparse.Namespace) -> int:
    if options.list == bool(options.name):
        raise ConfigError("calm perturb: expected either the NAME of a perturbation or --list")
    if options.list:
        return _list(options)
    from calm.gate.catalogue import find_edit

    edit = find_edit(options.name, "judge-model")
    task = _task(options.task, edit.tasks)
    print(printable(f"{edit.label} ({edit.bias}, expects {edit.expects}): {edit.summary}"))
    return _show_prompt(edit, task, options.seed) if isinstance(edit, PromptEdit) else _show_case(edit, task, options)


def _task(wanted: str | None, serves: Sequence[Family]) -> Task:
    tasks: tuple[Task, ...] = get_args(Task)
    if wanted is None:
        return next(task for task in tasks if FAMILY[task] in serves)
    for task in tasks:
        if task == wanted:
            return task
    raise ConfigError(f"--task: unknown task {wanted!r}{nearest(wanted, tasks)}")


# ------------------------------------------------------------------------------------------------------------ the list


def _list(options: argparse.Namespace) -> int:
    from calm.gate.catalogue import entries

    found = list(entries())
    biases = sorted({e.edit.bias for e in found})
    known: dict[str, list[str]] = {"bias": biases, "expects": [str(e) for e in Expects], "task": list(FAMILIES)}
    wanted = {"bias": options.bias, "expects": options.expects, "task": options.task}
    for name, value in wanted.items():
        if value is not None and value not in known[name]:
            raise ConfigError(f"--{name}: there is no such {name}{nearest(value, known[name])}")
    found = [e for e in found if all(v is None or v in _traits(e.edit)[name] for name, v in wanted.items())]
    if options.language is not None:
        samples = _samples(options.language)
        found = [e for e in found if _speaks(e.edit, samples)]
    rows = [(e.call, e.edit.bias, str(e.edit.expects), _tasks(e.edit.tasks), e.edit.summary) for e in found]
    for line in aligned(rows):
        print(line)
    count = len({row[1] for row in rows})
    print(f"{len(rows)} perturbation{'s' * (len(rows) != 1)} of {count} bias{'es' * (count != 1)}")
    return DONE if rows else REFUSED


def _samples(language: str) -> list[Case]:
    """
    Return some pairs and single answers in a language.

    Raises:
        ConfigError: there are none in it.
    """
    from calm.cases import bundled, language_cases
    from calm.core.order import LANGUAGE

    if language == ENGLISH:
        return [case for task in get_args(Task) for case in bundled(task)[:SAMPLES]]
    found = [c for t in get_args(Task) for c in language_cases(t, []) or [] if c.tags[LANGUAGE] == language][:SAMPLES]
    if not found:
        raise ConfigError(
            f"--language: expected one of {', '.join(SERVED)}, got {language!r}{nearest(language, SERVED)}"
        )
    return found


def _speaks(edit: AnyEdit, cases: Sequence[Case]) -> bool:
    """Return whether an edit is asked about one of some cases, or adds no words to their texts where it does not."""
    if isinstance(edit, PromptEdit):
        return True
    tried = [(aimed, edit.apply(aimed, 0)) for aimed in (_aimed(case, edit) for case in cases)]
    made = [(aimed, edited) for aimed, edited in tried if edited is not None]
    return any(not_spoken(edit, aimed, edited) is None for aimed, edited in made)


def _traits(edit: AnyEdit) -> dict[str, tuple[str, ...]]:
    return {"bias": (edit.bias,), "expects": (str(edit.expects),), "task": edit.tasks}


def _tasks(tasks: Sequence[Family]) -> str:
    return "all" if tuple(tasks) == FAMILIES else ",".join(tasks)


# ------------------------------------------------------------------------------------------------------------- a case


def _show_case(edit: Edit, task: Task, options: argparse.Namespace) -> int:
    from calm.cases import bundled, read_files

    cases = bundled(task) if not options.cases else _served(edit, read_files(options.cases, task=options.task and task))
    if options.case is not None:
        by_id = {c.id: c for c in cases}
        if options.case not in by_id:
            known = nearest(options.case, by_id, FEW)
            raise ConfigError(f"--case: there is no case {options.case!r} among {len(cases)}{known}")
        cases = [by_id[options.case]]
    for case in cases[:SHOWN_CASES]:
        aimed = _aimed(case, edit)
        for variant in edit.choices(aimed, options.seed):
            edited = variant.apply(aimed, options.seed)
            if edited is not None:
                _compare(aimed, edited, variant)
                if reason := not_spoken(variant, aimed, edited):
                    print(printable(f"note: a run does not ask about it: {reason}"))
                return DONE
    where = f"case {cases[0].id!r}" if len(cases) == 1 else f"any of {len(cases[:SHOWN_CASES])} cases"
    why = "" if edit.lacking is Kind.APPLIES_NOT else f", as {edit.unfit(_aimed(cases[0], edit))}"
    print(printable(f"it does not apply to {where}{why}"))
    return REFUSED


def _served(edit: Edit, cases: Sequence[Case]) -> Sequence[Case]:
    """
    Return those of some cases that a judge of a task that the edit serves can be asked about.

    Raises:
        ConfigError: there are none.
    """
    found = [case for case in cases if not _families(case).isdisjoint(edit.tasks)]
    if not found:
        count = len(cases[0].answers)
        fit = ", ".join(task for task in FAMILIES if task in _families(cases[0]))
        raise ConfigError(
            f"--cases: {edit.label} serves {', '.join(edit.tasks)}, and a case with {count} answer{'s' * (count != 1)} "
            f"is for {fit}; take other cases, or another perturbation"
        )
    return found


def _families(case: Case) -> frozenset[Family]:
    """Return the tasks of which a judge can be asked about a case, by the number of its answers."""
    known: dict[int, frozenset[Family]] = {
        1: frozenset(("score", "rubric", "label")),
        2: frozenset(("pairwise", "listwise")),
    }
    return known.get(len(case.answers), frozenset(("listwise",)))


def _aimed(case: Case, edit: Edit) -> Treated:
    """Return a case with the answer that the edit treats, as the experiment chooses it without a pilot."""
    found = aim(case.with_order("shown"), edit.expects)
    assert isinstance(found, Treated), "only a pilot can be unreadable"
    return found


def _compare(before: Treated, after: Treated, edit: Edit) -> None:
    print(printable(f"case {before.id}, {edit.label}, treated answer: {after.target}"), end="\n\n")
    if before.shown and [a.id for a in before.shown] != [a.id for a in after.shown]:
        _line("order", ", ".join(a.id for a in before.shown), ", ".join(a.id for a in after.shown))
    _line("question", before.question, after.question)
    old = {a.id: a for a in before.answers}
    for answer in after.answers:
        source = old.get(answer.id) or old.get(str(before.target))
        earlier = source.text if source else ""
        mark = " (treated)" if answer.id == after.target else ""
        _line(f"answer {answer.id}{mark}", earlier, answer.text)
        if after.history(answer) != (before.history(source) if source else ()):
            _line(f"history of {answer.id}", "", "\n".join(after.history(answer)))
        if answer.steps or (source and source.steps):
            _line(f"steps of {answer.id}", _steps(source.steps if source else ()), _steps(answer.steps))
        if answer.images or (source and source.images):
            _line(f"images of {answer.id}", _images(source.images if source else ()), _images(answer.images))
    if before.images or after.images:
        _line("images", _images(before.images), _images(after.images))
    for name, told in (("turns", _turns), ("context", _context)):
        if getattr(before, name) or getattr(after, name):
            _line(name, told(before), told(after))
    presented = (f.name for f in fields(Presentation) if f.name not in ("order", "drafts"))
    for name in ("reference", "criteria", "fields", *presented):
        left, right = getattr(before, name), getattr(after, name)
        if left != right:
            _line(name, _text(left), _text(right))


def _turns(case: Case) -> str:
    return "\n".join(f"{turn.role}: {turn.text}" for turn in case.turns)


def _context(case: Case) -> str:
    return "\n".join(f"[{passage.id}] {passage.text}" for passage in case.context)


def _steps(steps: Iterable[Step]) -> str:
    return "\n".join(" | ".join(texts_of_steps([step])) for step in steps)


def _images(images: Iterable[Image]) -> str:
    return "\n".join(image.shown for image in images)


def _text(value: object) -> str:
    if isinstance(value, Framing):
        return str(value)
    if isinstance(value, dict):
        return "\n".join(f"{key}: {text}" for key, text in value.items())
    return "\n".join(map(str, value)) if isinstance(value, tuple) else str(value or "")


# ----------------------------------------------------------------------------------------------------------- a prompt


def _show_prompt(edit: PromptEdit, task: Task, seed: int) -> int:
    from calm.judges.prompts import bundled

    prompt = bundled(task, "brackets")
    case = Case(digest("prompt", task)[:8], "", ()).treat(None)
    for variant in edit.choices(case, seed):
        edited = variant.apply(prompt, case, seed)
        if edited is not None:
            print(printable(f"the bundled prompt of task {task}, {variant.label}"), end="\n\n")
            for name, left, right in _messages(prompt, edited):
                _line(name, left, right)
            return DONE
    print(f"it does not apply to the bundled prompt of task {task}")
    return REFUSED


def _messages(before: Prompt, after: Prompt) -> Iterator[tuple[str, str, str]]:
    count = max(len(before.messages), len(after.messages))
    for i in range(count):
        left = before.messages[i] if i < len(before.messages) else None
        right = after.messages[i] if i < len(after.messages) else None
        roles = " -> ".join(dict.fromkeys(m.role for m in (left, right) if m is not None))
        yield f"message {i + 1} ({roles})", left.text if left else "", right.text if right else ""


# ------------------------------------------------------------------------------------------------------------ the diff


def _line(name: str, before: str, after: str) -> None:
    print(printable(f"-- {name}{'' if before != after else ' (unchanged)'}"))
    text = printable(after, keep="\n") if before == after else differences(before, after, colour=coloured())
    for line in text.split("\n"):
        print(f"   {line}")
