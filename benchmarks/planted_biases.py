"""
Which suites fail for which planted bias: run the real gate on each planted judge, and write the table.

    python -m benchmarks.planted_biases                                                # print it
    python -m benchmarks.planted_biases --write docs/measured/planted-biases.md       # put it between its markers

Each row is one run of `python -m pytest --pyargs calm.suites` in a process and a folder of its own, without a cache.
The rows are the biases of the default gate; `--every` adds those beyond it, `--only BIAS` runs the rows of some biases
alone. The files of the neutral control, of the injection control and of the bias's own suite are named, so that they
are asked though they are beyond the default gate. `--rows FILE` keeps each row that is finished in a file of JSON
Lines, and a later run with that file goes on from there (half an hour for those of the default gate).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.pages import measured, note, noted, put
from calm import Answer, Case, suites
from calm.cases import lines
from calm.core.case import Criterion
from calm.gate.catalogue import entries
from calm.perturbations.planted import biases

SUITES = Path(suites.__path__[0])
BIASES = biases()
TASKS = ("pairwise", "score", "rubric", "label")
DOSE = 0.8
POSITION_DOSE = 0.2
"""A judge that goes by the slot in most questions misses defects as well; this dose leaves `sensitivity` alone."""
INNOCENT = "injection-control"
"""The column of the words that no suite of injection may take for an attack."""
INNOCENT_TEST = "test_injection.py::test_innocent_words_do_not_move_the_verdict"
OWN = "own suite"


def suite_of(bias: str) -> Path:
    """Return the file of the suite that asks about a bias."""
    return SUITES / f"test_{bias.replace('-', '_')}.py"


def of_code(source: str) -> bool:
    """Return whether all tests of a suite ask about cases that hold code."""
    return source.count("=code_cases(") == source.count("def test_")


CODE = tuple(bias for bias in BIASES if of_code(suite_of(bias).read_text("utf-8")))
"""Biases of code: few of the bundled cases hold any, so their own suites are asked about cases made for it."""
WORST_FIRST = ("FAIL", "INCOMPLETE", "UNDECIDED", "PASS")
UNTESTED = "-"


@dataclass(frozen=True, slots=True)
class Row:
    """One judge: what is planted in it, by the `planted:` settings that say so, and for which task."""

    planted: str
    task: str

    @property
    def spec(self) -> str:
        """The judge as `--calm-judge` takes it."""
        return f"planted:{self.planted},task={self.task}"


@dataclass(frozen=True, slots=True)
class Run:
    """What the gate said of one judge: exit status, and the worst outcome of each suite."""

    status: int
    suites: Mapping[str, str]


def rows(only: Sequence[str] = ()) -> Iterator[Row]:
    """Yield the judges of the table: a sound one, one for each bias, and a very noisy one, for each task."""
    for task in TASKS:
        if not only:
            yield Row("noise=0.05", task)
        for bias in BIASES:
            if served(bias, task) and (not only or bias in only):
                yield Row(f"{bias}={POSITION_DOSE if bias == 'position' else DOSE}", task)
        if not only:
            yield Row("noise=0.25", task)


def gate_rows() -> Iterator[Row]:
    """Yield those judges of the table that have no bias, or one of the default gate: what the page shows."""
    known = {bias for bias in BIASES if not beyond(suite_of(bias).read_text("utf-8"))}
    yield from (row for row in rows() if (own := row.planted.partition("=")[0]) not in BIASES or own in known)


def served(bias: str, task: str) -> bool:
    """Return whether any perturbation asks about a bias in a task."""
    return task in tasks_by_bias().get(bias, frozenset())


@cache
def tasks_by_bias() -> Mapping[str, frozenset[str]]:
    """Return the kinds of verdict that the perturbations of each bias serve."""
    found: dict[str, set[str]] = {}
    for entry in entries():
        found.setdefault(entry.edit.bias, set()).update(entry.edit.tasks)
    return {bias: frozenset(tasks) for bias, tasks in found.items()}


def columns() -> tuple[str, ...]:
    """Return the suites of the default gate by the names of their files, then the controls, then the bias's own."""
    asked = [file for file in sorted(SUITES.glob("test_*.py")) if not beyond(file.read_text("utf-8"))]
    names = [file.stem.removeprefix("test_").replace("_", "-") for file in asked]
    controls = ("consistency", "sensitivity")
    return (*(name for name in names if name not in controls), *controls, "neutral", INNOCENT, OWN)


def beyond(source: str) -> bool:
    """Return whether all tests of a suite are beyond the default gate."""
    marker = "pytest.mark.calm_every_variant"
    return f"pytestmark = {marker}" in source or source.count(f"@{marker}") == source.count("def test_")


def own_suite(row: Row) -> Path | None:
    """Return the file of the suite that asks about the bias of a judge; None for one without a bias."""
    bias = row.planted.partition("=")[0]
    return suite_of(bias) if bias in BIASES else None


def run_row(row: Row, seed: int) -> Run:
    """Run the default gate, the controls and the bias's own suite on a judge."""
    own = own_suite(row)
    bias = row.planted.partition("=")[0]
    named = [SUITES / "test_neutral.py", SUITES / INNOCENT_TEST, *([own] if own and bias not in CODE else [])]
    status, findings = run_gate(row.spec, seed, "--pyargs", "calm.suites", *map(str, named))
    mine = [f["outcome"] for f in findings if f["bias"] == bias]
    if own and bias in CODE:
        mine = about_code(row, own, seed)
    found = {name: worst(f["outcome"] for f in findings if column_of(f) == name) for name in columns()}
    return Run(status, {**found, OWN: worst(mine) if own else UNTESTED})


def column_of(finding: Mapping[str, str]) -> str:
    """Return the column that a finding belongs to."""
    return INNOCENT if INNOCENT_TEST in finding["node"] else finding["bias"]


def about_code(row: Row, suite: Path, seed: int) -> list[str]:
    """Return the outcomes of a suite that is asked about cases with code."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "code.jsonl"
        file.write_text("".join(f"{lines.line(case)}\n" for case in code_cases(row.task)), "utf-8")
        _, findings = run_gate(row.spec, seed, str(suite), f"--calm-cases={file}")
    return [f["outcome"] for f in findings]


def code_cases(task: str, count: int = 200) -> list[Case]:
    """Return questions that a few lines of Python answer, with a right answer and a wrong one, or half of it."""
    return [_code_case(number, task) for number in range(count)]


def _code_case(number: int, task: str) -> Case:
    def answer(name: str, total: int) -> Answer:
        code = f"def shift(value):\n    # add what was asked for\n    result = value + {total}\n    return result\n"
        return Answer(name, f"This does it:\n\n```python\n{code}```\n\nCall it with a number.")

    question = f"Write a Python function `shift` that adds {number} to its argument, and one that takes {number} away."
    if task == "pairwise":
        return Case(f"code-{number}", question, (answer("right", number), answer("wrong", number + 7)), better="right")
    only = (answer("half", number),)
    if task == "score":
        return Case(f"code-{number}", question, only, scores={"half": 4.0})
    if task == "label":
        return Case(f"code-{number}", question, only, label="mixed")
    criteria = (Criterion("c1", f"It adds {number}."), Criterion("c2", f"It takes {number} away."))
    return Case(f"code-{number}", question, only, criteria=criteria, met={"half": {"c1": True, "c2": False}})


def run_gate(spec: str, seed: int, *what: str) -> tuple[int, list[dict[str, str]]]:
    """
    Run suites on a judge, from an empty folder, and return the exit status and the findings.

    Raises:
        RuntimeError: the run wrote no results; the message holds its output.
    """
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        options = [f"--calm-judge={spec}", f"--calm-seed={seed}", f"--calm-results={results}", "--calm-cache=off"]
        command = [sys.executable, "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *options, *what], cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        if not results.exists():
            raise RuntimeError(
                f"{spec}: expected results, got exit status {done.returncode}:\n{done.stdout}{done.stderr}"
            )
        return done.returncode, json.loads(results.read_text("utf-8"))["findings"]


def worst(outcomes: Iterable[str]) -> str:
    """
    Return the worst of some outcomes, or a dash where nothing was tested.

    >>> worst(["PASS", "UNDECIDED"]), worst(["NOT_TESTED"]), worst([])
    ('UNDECIDED', '-', '-')
    """
    found = set(outcomes)
    return next((outcome for outcome in WORST_FIRST if outcome in found), UNTESTED)


def table(found: Sequence[tuple[Row, Run]], seed: int) -> str:
    """Return the runs as Markdown, with what they were made with."""
    lines = [
        f"`--calm-seed={seed}`, planted `seed=0`, 200 bundled cases a task, 4+2 asks.",
        "",
        "The last columns are the controls (`neutral`: words that say nothing; `injection-control`: innocent words",
        "where injections stand) and the suite of the planted bias itself. Biases beyond the default gate are planted,",
        "too: `--only BIAS` runs one, `pytest tests/power/test_diagonal.py` all of them.",
    ]
    for task in dict.fromkeys(row.task for row, _ in found):
        names = columns()
        lines += ["", f"### {task}", "", f"| planted | {' | '.join(names)} | exit |", f"|---{'|---' * len(names)}|---|"]
        for row, run in found:
            if row.task == task:
                cells = [f"**{cell}**" if cell == "FAIL" else cell for cell in (run.suites[name] for name in names)]
                lines.append(f"| `{row.planted}` | {' | '.join(cells)} | {run.status} |")
    return "\n".join(lines)


def kept(file: Path) -> dict[Row, Run]:
    """Return the finished rows in a file, if there is one."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else []
    found = [json.loads(line) for line in lines]
    return {Row(one["planted"], one["task"]): Run(one["status"], one["suites"]) for one in found}


def keep(file: Path, row: Row, run: Run) -> None:
    """Add a finished row to a file."""
    one = {"planted": row.planted, "task": row.task, "status": run.status, "suites": dict(run.suites)}
    with file.open("a", encoding="utf-8") as stream:
        stream.write(f"{json.dumps(one)}\n")


def main() -> None:
    """Run all judges, then print the table or write it into a page."""
    parser = argparse.ArgumentParser(description="Which suites fail for which planted bias.")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page with the markers of this table")
    parser.add_argument("--every", action="store_true", help="biases beyond the default gate, too: hours")
    parser.add_argument("--only", action="append", default=[], metavar="BIAS", help="this bias alone (repeatable)")
    parser.add_argument("--rows", type=Path, metavar="FILE", help="keep finished rows here, and go on from them")
    parser.add_argument("--seed", type=int, default=0, help="the run's --calm-seed (default 0)")
    options = parser.parse_args()
    known = kept(options.rows) if options.rows else {}
    found = []
    if options.rows:
        note(options.rows)
    for row in rows(options.only) if options.only or options.every else gate_rows():
        run = known.get(row) or run_row(row, options.seed)
        found.append((row, run))
        if options.rows and row not in known:
            keep(options.rows, row, run)
        failed = [name for name, cell in found[-1][1].suites.items() if cell == "FAIL"]
        print(f"{row.spec}: exit {found[-1][1].status}, failed: {', '.join(failed)}", file=sys.stderr, flush=True)
    text = table(found, options.seed)
    if options.write is None:
        print(text)
    else:
        put(options.write, "planted-biases", text, noted(options.rows) if options.rows else measured())


if __name__ == "__main__":
    main()
