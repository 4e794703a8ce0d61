"""
How fast the perturbations are: edited cases a second on one core, and the slowest on long texts.

    python -m benchmarks.perturbations                                           # print the table (about a minute)
    python -m benchmarks.perturbations --peers                                   # with checklist and nlpaug beside it
    python -m benchmarks.perturbations --write docs/measured/perturbation-speed.md

Times are the processor's, not the clock's, so that other work on the machine does not count. `--peers` makes a virtual
environment in a temporary folder and installs the two packages there, as far as they can be had.
"""

from __future__ import annotations

import argparse
import json
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from benchmarks.pages import measured, put
from calm import Answer, Case, Treated
from calm.cases import bundled, language_cases, shaped_cases
from calm.cases.shapes import Part
from calm.core.case import Criterion, Example, Passage, Step, Turn
from calm.core.edits import Edit
from calm.core.reasons import Kind
from calm.core.verdict import Family, Task
from calm.experiment.pairs import aim
from calm.gate.catalogue import Entry, entries

GOAL_PER_SECOND = 20_000
"""Edited cases a second that the median perturbation is to reach at 120 words."""
GOAL_MS = 5.0
"""What no perturbation is to exceed at 10 kB."""
WORDS, LONG = 120, 10_000
ROUNDS, TIMES = 5, 100
"""A perturbation is measured in so many rounds of so many edits (of long texts: one); the best round counts."""
SHOWN = 12

PROSE = (
    "The ferry leaves the old harbour at 9:40 and takes 35 minutes, because the strait is narrow. It does not run on "
    "Sundays. You can buy a ticket on board, but a bicycle costs 4 euros more. However, it is important to note that "
    "the colour of the flag tells you in which of the three lanes the boat will wait. "
)
LIST = "\n\n- First, walk to the pier.\n- Then **wait** for the boat.\n- Pay 12 euros in total.\n\nThe answer is 42."
CODE = (
    "\n\n```python\ndef area(width, height):\n    # multiply both\n    total = width * height\n    return total\n"
    "```\n\nCall it with 2 and 3."
)
PEERS = {
    "checklist": "from checklist.perturb import Perturb as P; edits = {'add_typos': lambda t: P.add_typos(t, 3), "
    "'strip_punctuation': lambda t: t.rstrip('.'), 'contractions': P.contractions}",
    "nlpaug": "import nlpaug.augmenter.char as c, nlpaug.augmenter.word as w; "
    "k, r, s = c.KeyboardAug(), c.RandomCharAug(action='swap'), w.RandomWordAug(action='swap'); "
    "edits = {'KeyboardAug': k.augment, 'RandomCharAug(swap)': r.augment, 'RandomWordAug(swap)': s.augment}",
}
"""Of each other package the rule-made edits that need no model: Python that defines `edits`, run in its environment."""
TIMED = """
import json, sys, time
text = sys.stdin.read()
exec(sys.argv[1])
found = {}
for name, edit in edits.items():
    edit(text)
    count, began = 0, time.process_time()
    while time.process_time() - began < 0.5:
        edit(text)
        count += 1
    found[name] = count / (time.process_time() - began)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True)
class Speed:
    """A perturbation's cases a second at 120 words, and its milliseconds at 10 kB."""

    name: str
    per_second: float
    long_ms: float


@cache
def texts(size: Callable[[str], bool]) -> tuple[str, ...]:
    """Return prose with a list, prose with code and prose, each just long enough."""
    found = []
    for tail in (LIST, CODE, ""):
        text, sentences = "", cycle(PROSE.rstrip(" .").split(". "))
        while not size(f"{text}{tail}"):
            text += f"{next(sentences)}. "
        found.append(f"{text.rstrip()}{tail}")
    return tuple(found)


def at_words(text: str) -> bool:
    """Return whether a text has about as many words as an ordinary answer; a sentence may go beyond."""
    return len(text.split()) >= WORDS - 5


def at_long(text: str) -> bool:
    """Return whether a text has 10 kB."""
    return len(text) >= LONG


def samples(edit: Edit, size: Callable[[str], bool]) -> Iterator[Treated]:
    """Yield cases for each kind of verdict that a perturbation serves."""
    counts = {"pairwise": 2, "listwise": 4}
    for task in edit.tasks:
        for number, text in enumerate(texts(size)):
            plain = sample(f"{task}-{number}", counts.get(task, 1), text, task)
            yield plain
            yield with_parts(plain, text)


def with_parts(case: Treated, text: str) -> Treated:
    """Return a case with a conversation, passages and runs before it, each as long as a text in all."""
    said = [part for part in re.split(r"(?<=\.)\s", text) if part.strip()]
    turns = tuple(Turn("assistant" if i % 2 else "user", part) for i, part in enumerate(said[: len(said) // 2 * 2]))
    context = tuple(Passage(f"p{i}", part) for i, part in enumerate(said, 1))
    failed = '{"error": "the strait is closed"}'
    steps = tuple(
        Step(part, "ask_harbour", json.dumps({"number": i}), failed if i % 3 == 1 else json.dumps({"said": part}))
        for i, part in enumerate(said)
    )
    cited = f" See [{context[0].id}], and [{context[-1].id}]."
    answers = tuple(replace(answer, text=f"{answer.text}{cited}", steps=steps) for answer in case.answers)
    return replace(case, answers=answers, turns=turns, context=context)


def sample(name: str, count: int, text: str, task: Family) -> Treated:
    """Return a case whose treated answer, and the one that is better than it, have a text."""
    others = (text.replace("9:40", "8:15"), "There is no ferry, as far as I know.", "Ask the harbour master about it.")
    answers = tuple(Answer(f"a{i}", t) for i, t in enumerate((text, *others)[:count]))
    case = Case(name, "When does the ferry leave?", answers, reference=PROSE, fields={"context": PROSE}).treat("a0")
    if count > 1:
        order = tuple(a.id for a in answers)
        examples = tuple(Example("Is it far?", ("Yes.", "No."), label) for label in "AB")
        return replace(case, better="a1").present(order=order, examples=examples)
    if task == "label":
        return replace(case, label="mixed").present(order=("a0",))
    if task == "rubric":
        criteria = (Criterion("c1", "It names a time."), Criterion("c2", "It names a price."))
        return replace(case, criteria=criteria, met={"a0": {"c1": True, "c2": True}}).present(order=("a0",))
    return replace(case, scores={"a0": 6.0}).present(order=("a0",))


def speed(entry: Entry) -> Speed | None:
    """Return how fast a perturbation of cases is; None for one that applies to no sample, or to prompts."""
    edit = entry.edit
    if not isinstance(edit, Edit):
        return None
    if edit.lacking is Kind.NO_TRANSLATION:
        edit = getattr(import_module(f"calm.perturbations.{entry.module}"), entry.name)(shipped("pairwise"))
    longs = list(samples(edit, at_long))
    short = next((case for case in (*samples(edit, at_words), *shipped_for(edit)) if applies(edit, case)), None)
    if short is None:
        return None
    longs += [grown(short)]
    return Speed(entry.key, 1 / seconds(edit, short, TIMES), 1000 * max(seconds(edit, case, 1) for case in longs))


@cache
def shipped(task: Task) -> list[Case]:
    """Return some bundled cases of a task, and of those with turns, with passages, with steps and in languages."""
    usual = bundled(task)
    parts: tuple[Part, ...] = ("turns", "context", "steps")
    more = [*(shaped_cases(part, task, usual) for part in parts), language_cases(task, usual), usual]
    return [case for cases in more for case in (cases or ())[:60]]


def shipped_for(edit: Edit) -> Iterator[Treated]:
    """Yield the cases that ship, as a run would hand them to a perturbation."""
    aimed = (aim(case, edit.expects) for family in edit.tasks for case in shipped(family))
    yield from (case for case in aimed if isinstance(case, Treated))


def grown(case: Treated) -> Treated:
    """Return a case with longer answers, and more turns, passages and steps: each part 10 kB in all, or none."""
    times = [LONG // max(1, len(str(part))) + 1 for part in (case.turns, case.context, case.answers[0].steps)]
    turns, context = case.turns * times[0], case.context * times[1]
    answers = tuple(replace(a, text=f"{a.text}\n\n{texts(at_long)[0]}", steps=a.steps * times[2]) for a in case.answers)
    named = tuple(replace(passage, id=f"{passage.id}-{i}" if i else passage.id) for i, passage in enumerate(context))
    return replace(case, answers=answers, turns=turns, context=named)


def applies(edit: Edit, case: Treated) -> bool:
    """Return whether a perturbation changes a case."""
    return edit(case, Random(1)) is not None


def seconds(edit: Edit, case: Treated, times: int) -> float:
    """Return the seconds of the processor that a perturbation of a case takes: the best of some rounds."""
    rng = Random(1)
    best = float("inf")
    for _ in range(ROUNDS):
        began = process_time()
        for _ in range(times):
            edit(case, rng)
        best = min(best, (process_time() - began) / times)
    return best


def peers() -> list[tuple[str, float | None]]:
    """Return the edits a second of other packages at the same text; None for a package that cannot be had."""
    text = texts(at_words)[0]
    found: list[tuple[str, float | None]] = []
    with TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        python = str(Path(folder) / "bin" / "python")
        for package, source in PEERS.items():
            installed = subprocess.run(
                [python, "-m", "pip", "install", "-q", package], capture_output=True, text=True, check=False
            )
            done = subprocess.run(
                [python, "-c", TIMED, source], input=text, capture_output=True, text=True, cwd=folder, check=False
            )
            if done.returncode:
                print(f"{package}: cannot be had here:\n{installed.stderr or done.stderr}", file=sys.stderr)
                found.append((package, None))
                continue
            rates = json.loads(done.stdout.splitlines()[-1])
            found += [(f"{package} `{name}`", rate) for name, rate in rates.items()]
    return found


def table(found: Sequence[Speed], others: Sequence[tuple[str, float | None]]) -> str:
    """Return the figures as Markdown, with what they were made with."""
    middle = median(s.per_second for s in found)
    slow = [s for s in found if s.long_ms > GOAL_MS]
    length = len(texts(at_words)[0].split())
    lines = [
        f"{platform.machine()}, one core, the processor's time.",
        "",
        "| figure | goal | measured |",
        "|---|---|---|",
        f"| perturbed cases a second, {length} words, median of {len(found)} | {GOAL_PER_SECOND:,} | {middle:,.0f} |",
        f"| perturbations above {GOAL_MS:g} ms at 10 kB | 0 | {len(slow)} |",
        "",
        f"The slowest {SHOWN} at 10 kB:",
        "",
        "| perturbation | ms at 10 kB | cases a second at 120 words |",
        "|---|---|---|",
    ]
    worst = sorted(found, key=lambda s: -s.long_ms)[:SHOWN]
    lines += [f"| `{s.name}` | {s.long_ms:.2f} | {s.per_second:,.0f} |" for s in worst]
    if others:
        lines += [
            "",
            "Rule-made edits of other packages on the same text:",
            "",
            "| edit | texts a second |",
            "|---|---|",
        ]
        lines += [
            f"| {name} | {'cannot be installed here' if rate is None else f'{rate:,.0f}'} |" for name, rate in others
        ]
    return "\n".join(lines)


def main() -> None:
    """Measure, print or write."""
    parser = argparse.ArgumentParser(description="How fast the perturbations are.")
    parser.add_argument("--peers", action="store_true", help="beside checklist and nlpaug, in a temporary environment")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page with the markers of this table")
    parser.add_argument("--only", metavar="NAME", help="the perturbations whose name holds this")
    options = parser.parse_args()
    chosen = [e for e in entries() if (options.only or "") in e.key]
    timed = [(e, speed(e)) for e in chosen]
    found = [s for _, s in timed if s is not None]
    left = [f"`{e.key}`" for e, s in timed if s is None and isinstance(e.edit, Edit)]
    text = table(found, peers() if options.peers else ())
    prompts = len(chosen) - len(found) - len(left)
    text += f"\n\nNot measured: {prompts} edits of prompts"
    text += f", and what applies to none of the texts: {', '.join(left)}." if left else "."
    if options.write is None:
        print(text)
    else:
        put(options.write, "perturbation-speed", text, measured())


if __name__ == "__main__":
    main()
