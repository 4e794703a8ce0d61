"""
CALM's protocol on judges of ours: its figures of each bias, beside the robustness rates that the paper prints.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pages import measured, put
from calm import suites
from calm.plugins.papers.protocol import KEY

PRINTED = Path(__file__).parent.parent / "tests" / "papers" / "data" / "calm_table4.csv"
PROTOCOL = Path(suites.__path__[0]) / "papers" / "test_calm.py"
JUDGES = (
    "lexical",
    "planted:noise=0.05",
    "planted:authority=0.4,noise=0.02",
    "planted:position=0.2,verbosity=0.3,bandwagon=0.2,sentiment=0.2,noise=0.05",
)
ROWS = {
    "position": "Pos",
    "verbosity": "Ver",
    "compassion-fade": "Com",
    "bandwagon": "Ban",
    "distraction": "Dst",
    "fallacy-oversight": "Fal",
    "authority": "Aut",
    "sentiment": "Sen",
    "diversity": "Div",
    "chain-of-thought": "",
    "refinement-aware": "",
}
"""The biases, and the column of the paper's Table 4 (empty: it prints no robustness rate)."""


@dataclass(frozen=True, slots=True)
class Run:
    """What one judge came to: CALM's figures as its record holds them."""

    judge: str
    figures: Mapping[str, Any]

    def of(self, bias: str) -> Mapping[str, Any]:
        """Return the figures of a bias."""
        return next((one for one in self.figures["biases"] if one["bias"] == bias), {})

    def rates(self, bias: str) -> str:
        """Return RR and CR of a bias."""
        return " / ".join(shown(self.of(bias).get(name)) for name in ("robustness_rate", "consistency_rate"))

    def right(self, bias: str) -> str:
        """Return the accuracies before and after the edit."""
        return " / ".join(shown(self.of(bias).get(name)) for name in ("accuracy", "accuracy_hacked"))


def shown(number: object) -> str:
    """
    Return a rate in three digits, as the paper prints it, or a dash.

    >>> shown(0.9), shown({"value": 0.5, "n": 10}), shown(None)
    ('0.900', '0.500', '-')
    """
    value = number.get("value") if isinstance(number, Mapping) else number
    return f"{value:.3f}" if isinstance(value, int | float) else "-"


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
        body = json.loads(results.read_text("utf-8"))
    return Run(judge, body["extras"][KEY])


def tables(runs: Sequence[Run], sample: int) -> str:
    """Return our rates beside the printed ones, and what is measured otherwise, as Markdown."""
    with PRINTED.open(encoding="utf-8", newline="") as file:
        printed = list(csv.DictReader(file))
    names = [f"{row['judge']} (printed)" for row in printed]
    lines = [
        f"{sample} bundled pairs, 2+1 asks.",
        "Ours are RR / CR of the same cases. The printed columns are RR of the paper's Table 4: models of 2024, the",
        "authors' data, perturbations written by a model. **They are not claimed**: nothing here runs those models.",
        "",
        f"| bias | {' | '.join(f'`{r.judge}`' for r in runs)} | {' | '.join(names)} |",
        f"|---{'|---' * (len(runs) + len(printed))}|",
    ]
    for name, column in ROWS.items():
        theirs = [row[column] if column else "-" for row in printed]
        lines.append(f"| {name} | {' | '.join(r.rates(name) for r in runs)} | {' | '.join(theirs)} |")
    for label, column in (("CR, fact-related data", "CR_FR"), ("CR, alignment data", "CR_Al")):
        blank = " | ".join("-" for _ in runs)
        lines.append(f"| {label} | {blank} | {' | '.join(row[column] for row in printed)} |")
    lines += ["", f"| measured | {' | '.join(f'`{r.judge}`' for r in runs)} |", f"|---{'|---' * len(runs)}|"]
    measured: dict[str, Callable[[Run], str]] = {
        "BIS: CR - mean RR": lambda r: shown(r.figures["intensity"].get("all")),
        **{f"{name}: Acc / Acc_hack": partial(Run.right, bias=name) for name, column in ROWS.items() if column},
        "chain-of-thought: Acc_ori / Acc_CoT": partial(Run.right, bias="chain-of-thought"),
        "chain-of-thought: AIR": lambda r: shown(r.figures.get("reasoning")),
        "fallacy-oversight: broken steps that were noticed, net": lambda r: shown(
            r.of("fallacy-oversight").get("detection")
        ),
    }
    lines += [f"| {name} | {' | '.join(get(r) for r in runs)} |" for name, get in measured.items()]
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
        put(options.write, "calm-protocol", text, measured())


if __name__ == "__main__":
    main()
