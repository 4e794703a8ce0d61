"""
CALM's protocol on judges of ours: the robustness and consistency rate of each bias, beside what the paper prints.

    python -m benchmarks.calm_protocol                                           # print the tables
    python -m benchmarks.calm_protocol --judge judge.toml                        # the same for a judge of yours
    python -m benchmarks.calm_protocol --write docs/reference/calm-protocol.md

Each judge is one run of `pytest suites/papers`: 2+1 asks, 200 bundled cases. The printed rates are those of models of
2024 on the authors' data; nothing here claims to give them again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import calm
from benchmarks.pages import put

PRINTED = Path(__file__).parent.parent / "tests" / "papers" / "data" / "calm_table4.csv"
PROTOCOL = Path(calm.__file__).parent / "suites" / "papers" / "test_calm.py"
JUDGES = (
    "lexical",
    "planted:noise=0.05",
    "planted:authority=0.4,noise=0.02",
    "planted:position=0.2,verbosity=0.3,bandwagon=0.2,sentiment=0.2,noise=0.05",
)
OPEN, CLOSE = "<!-- generated: calm-protocol -->", "<!-- end: calm-protocol -->"
ROWS = {
    "position": ("position/robustness_rate/swap", "Pos"),
    "verbosity": ("verbosity/robustness_rate", "Ver"),
    "compassion-fade": ("compassion-fade/robustness_rate/name_models", "Com"),
    "bandwagon": ("bandwagon/robustness_rate", "Ban"),
    "distraction, the weaker answer's author": ("distraction/robustness_rate/hobby_note", "Dst"),
    "distraction, the better answer's author": ("distraction/robustness_rate/hobby_note_on_better", "Dst"),
    "fallacy-oversight (a high rate: not noticed)": ("fallacy-oversight/robustness_rate/fallacy_in_place", "Fal"),
    "authority": ("authority/robustness_rate", "Aut"),
    "sentiment, the weaker answer": ("sentiment/robustness_rate", "Sen"),
    "sentiment, the better answer": ("sentiment/robustness_rate/feeling_in_better", "Sen"),
    "diversity": ("diversity/robustness_rate/identity_note", "Div"),
    "chain-of-thought": ("chain-of-thought/robustness_rate/solve_first", ""),
    "refinement-aware": ("refinement-aware/robustness_rate", ""),
}
"""What a row is called, the key of its finding, and the column of the paper's Table 4."""
OTHERS = {
    "fallacy-oversight: broken steps that were noticed, net": "fallacy-oversight/net_detection/fallacy",
    "chain-of-thought: accuracy gained by solving first": "chain-of-thought/accuracy_gain/solve_first",
    "self-enhancement: favour of own answers beyond that of others": "calm/self_preference_excess",
}


@dataclass(frozen=True, slots=True)
class Run:
    """What one judge came to: its findings by key."""

    judge: str
    findings: Mapping[str, Mapping[str, object]]

    def rates(self, key: str) -> str:
        """Return RR and CR of a finding."""
        found = self.findings.get(key, {})
        return " / ".join(shown(found.get(name)) for name in ("robustness_rate", "consistency_rate"))

    def value(self, key: str) -> str:
        """Return the value of a finding, or why there is none."""
        found = self.findings.get(key, {})
        if found.get("value") is not None:
            return shown(found["value"])
        return str(found.get("reason", "not asked")).partition(" (")[0].partition(";")[0]


def shown(number: object) -> str:
    """
    Return a rate in three digits, as the paper prints it, or a dash.

    >>> shown(0.9), shown(None)
    ('0.900', '-')
    """
    return f"{number:.3f}" if isinstance(number, int | float) else "-"


def run(judge: str, sample: int) -> Run:
    """
    Ask a judge by the protocol, in a process and a folder of its own.

    Raises:
        RuntimeError: the run wrote no results; the message holds its output.
    """
    with TemporaryDirectory() as folder:
        results = Path(folder) / "results.json"
        spec = str(Path(judge).absolute()) if judge.endswith(".toml") else judge
        options = [f"--calm-judge={spec}", f"--calm-sample={sample}", f"--calm-results={results}", "--calm-cache=off"]
        command = [sys.executable, "-m", "pytest", str(PROTOCOL), "-q", "--tb=no", "-p", "no:cacheprovider"]
        done = subprocess.run(
            [*command, *options], cwd=folder, env=dict(os.environ), capture_output=True, text=True, check=False
        )
        if not results.exists():
            raise RuntimeError(f"{judge}: expected results, got:\n{done.stdout}{done.stderr}")
        findings = json.loads(results.read_text("utf-8"))["findings"]
    return Run(judge, {f["key"]: f for f in findings})


def tables(runs: Sequence[Run], sample: int) -> str:
    """Return our rates beside the printed ones, and what is measured otherwise, as Markdown."""
    with PRINTED.open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    names = [f"{row['judge']} (printed)" for row in printed]
    lines = [
        f"Made by `python -m benchmarks.calm_protocol`: calm {calm.__version__}, {sample} bundled pairs, 2+1 asks.",
        "Ours are RR / CR of the same cases. The printed columns are RR of the paper's Table 4: models of 2024, the",
        "authors' data, perturbations written by a model. **They are not claimed**: nothing here runs those models.",
        "",
        f"| bias | {' | '.join(f'`{r.judge}`' for r in runs)} | {' | '.join(names)} |",
        f"|---{'|---' * (len(runs) + len(printed))}|",
    ]
    for name, (key, column) in ROWS.items():
        theirs = [row[column] if column else "-" for row in printed]
        lines.append(f"| {name} | {' | '.join(r.rates(key) for r in runs)} | {' | '.join(theirs)} |")
    for label, column in (("CR, fact-related data", "CR_FR"), ("CR, alignment data", "CR_Al")):
        blank = " | ".join("-" for _ in runs)
        lines.append(f"| {label} | {blank} | {' | '.join(row[column] for row in printed)} |")
    lines += ["", f"| measured | {' | '.join(f'`{r.judge}`' for r in runs)} |", f"|---{'|---' * len(runs)}|"]
    lines += [f"| {name} | {' | '.join(r.value(key) for r in runs)} |" for name, key in OTHERS.items()]
    return "\n".join(lines)


def main() -> None:
    """Run the judges, then print the tables or write them into a page."""
    parser = argparse.ArgumentParser(description="CALM's protocol on judges of ours.")
    parser.add_argument("--judge", action="append", default=[], help="as --calm-judge takes it (repeatable)")
    parser.add_argument("--sample", type=int, default=200, help="at most so many cases (default 200)")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="a page with the markers of these tables")
    options = parser.parse_args()
    text = tables([run(judge, options.sample) for judge in options.judge or JUDGES], options.sample)
    if options.write is None:
        print(text)
    else:
        put(options.write, OPEN, f"\n{text}\n", CLOSE)


if __name__ == "__main__":
    main()
