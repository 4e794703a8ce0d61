"""Small runs of the commands, with judges in Python: what each of them calls is noted by a profiler."""

from __future__ import annotations

import cProfile
import json
import pstats
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from calm.commands.cli import main

Made = TypeVar("Made")

JUDGES = '''"""Three judges of three families; each errs in its own way, and likes its own answers a little."""

from hashlib import sha256

from calm import Preferred


def share(*parts):
    """Return a number in [0, 1) that hangs on the parts alone."""
    return int.from_bytes(sha256(repr(parts).encode()).digest()[:6], "big") / 2**48


class Judge:
    """A judge of one kind of verdict; the texts of an author begin with its name."""

    quick = True
    reads = ("question", "answers", "criteria")

    def __init__(self, name, task, sure=False):
        self.sure = sure
        self.name, self.task, self.fingerprint = name, task, f"{name}-{task}-{sure}"
        self.scale = {"low": 0, "high": 1} if task == "points" else {"low": 1, "high": 5}

    def worth(self, question, text):
        """Return how good an answer looks, in [0, 1]."""
        met = sum(word in text.split() for word in ("one", "two", "three")) / 3
        return 0.6 * met + 0.3 * share(self.name, question, text) + 0.1 * text.startswith(self.name)

    def __call__(self, case):
        """Return a verdict of the kind of the task."""
        worth = [self.worth(case.question, answer.text) for answer in case.answers]
        if self.task == "pairwise":
            best = case.answers[worth[1] > worth[0]].id
            shares = {a.id: (1 + w) / (2 + sum(worth)) for a, w in zip(case.answers, worth)}
            return Preferred(best, probabilities=shares) if self.sure else best
        if self.task in ("rubric", "rubric-all"):
            text = case.answers[0].text
            return {c.id: c.id in text or share(self.name, text, c.id) < 0.3 for c in case.criteria}
        return worth[0] if self.task == "points" else 1 + round(4 * worth[0])


for _task in ("pairwise", "score", "rubric", "rubric_all", "points"):
    for _name in ("alpha", "beta", "gamma"):
        globals()[f"{_name}_{_task}"] = Judge(_name, _task.replace("_", "-"))
        globals()[f"{_name}_sure"] = Judge(_name, "pairwise", sure=True)
'''
GATE = """import cProfile, sys, pytest
profile = cProfile.Profile(subcalls=False, builtins=False)
profile.runcall(pytest.main, sys.argv[2:])
profile.dump_stats(sys.argv[1])
"""
"""Runs pytest and writes down, to the file that is named first, what it calls."""
AUTHORS = ("alpha", "beta", "gamma")
QUESTIONS = 40


def answers(place: int) -> list[dict[str, object]]:
    """Return the answers of all authors to a question: what is met is named in the text."""
    found = []
    for number, author in enumerate(AUTHORS):
        met = [name for bit, name in enumerate(("one", "two", "three")) if (place * 7 + number * 5) >> bit & 1]
        found.append({"id": f"a{number}", "text": f"{author}: {' '.join(met)} {place}", "author": author})
    return found


def case(place: int) -> dict[str, object]:
    """Return a question with the answers of all authors, people's orders of them, and the truth of its criteria."""
    given = answers(place)
    criteria = [
        {"id": name, "text": f"Says {name}" + ", and why" * bit} for bit, name in enumerate(("one", "two", "three"))
    ]
    met = {str(a["id"]): {str(c["id"]): str(c["id"]) in str(a["text"]).split() for c in criteria} for a in given}
    best = sorted((str(a["id"]) for a in given), key=lambda name: -sum(met[name].values()))
    labels = {"ann": best, "ben": best, "eva": best[::-1]}
    about = {"id": f"q{place:02}", "question": f"Question {place}?", "answers": given, "labels": labels}
    return {**about, "criteria": criteria, "met": met}


def write_inputs(folder: Path) -> None:
    """Write the judges and the cases."""
    folder.joinpath("three.py").write_text(JUDGES, "utf-8")
    lines = [json.dumps(case(place)) for place in range(QUESTIONS)]
    folder.joinpath("cases.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def own(task: str, *options: str) -> list[str]:
    """Return the arguments of `calm self-preference` for the judges of a task."""
    judges = [f"three:{name}_{task}" for name in AUTHORS]
    families = [f"--family={name}={name}" for name in AUTHORS]
    out = ["--cases", "cases.jsonl", "-o", f"{task}.json", "--report", f"{task}.html"]
    return ["self-preference", *judges, *families, *out, *options]


def gate(folder: Path, judge: str, results: str) -> set[str]:
    """Let the suite of CALM's protocol ask a judge, in a process of its own; return what it called there."""
    profile = folder / f"{results}.prof"
    command = [sys.executable, "-c", GATE, str(profile), "-q", "-p", "no:cacheprovider"]
    given = ["--pyargs", "calm.suites.papers", f"--calm-judge={judge}", f"--calm-results={results}", "--calm-sample=12"]
    subprocess.run([*command, *given], cwd=folder, capture_output=True, check=False, timeout=300)
    return _names(pstats.Stats(str(profile)))


def called(*arguments: str) -> tuple[int, set[str]]:
    """Run a command; return its status and what it called in this thread, as "module:function" below `calm`."""
    return profiled(lambda: main(list(arguments)))


def profiled(work: Callable[[], Made]) -> tuple[Made, set[str]]:
    """Return what some work makes, and what it calls in this thread."""
    profile = cProfile.Profile(subcalls=False, builtins=False)
    made = profile.runcall(work)
    return made, _names(pstats.Stats(profile))


def _names(stats: pstats.Stats) -> set[str]:
    """Return the functions of calm in a profile, each as "module:function" below `calm`."""
    names = set()
    for file, _, function in stats.stats:  # type: ignore[attr-defined]
        parts = Path(file).with_suffix("").parts
        if "calm" in parts:
            below = parts[len(parts) - parts[::-1].index("calm") :]
            names.add(f"{'.'.join(below).removesuffix('.__init__')}:{function}")
    return names
