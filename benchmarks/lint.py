"""
What `calm lint` finds in a folder of prompts, by rule, and how much of it a person judged to be a false alarm.

    python -m benchmarks.lint FOLDER
    python -m benchmarks.lint FOLDER --findings findings.csv     # fill its column `judged` with "true" or "false"
    python -m benchmarks.lint FOLDER --judged findings.csv

Each .txt, .jinja and .md of the folder is a prompt. A file `index.csv` beside them may say more of each: `file`, `task`
(one of calm's, or "label" for a verdict in words on one answer) and `slots`, such as `output=answer;ideal=reference`.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

from calm.core import verdict
from calm.core.verdict import Task
from calm.errors import ConfigError
from calm.plugins.lint.linting import RULES, Finding, lint
from calm.plugins.lint.page import Role
from calm.plugins.lint.subject import subject_of

TASKS: Mapping[str, Task | None] = {**{task: task for task in verdict.TASKS}, "label": "rubric", "": None}
ROLES: Mapping[str, Role] = {role: role for role in get_args(Role)}
ENDS = (".txt", ".jinja", ".md")
COLUMNS = ("file", "line", "rule", "message", "judged")


def found_in(folder: Path, names: list[str]) -> tuple[dict[str, tuple[Finding, ...]], list[str], list[str]]:
    """Return the findings by file, the files that hold no prompt, and those that are not in English."""
    index = folder / "index.csv"
    rows = {row["file"]: row for row in csv.DictReader(index.open(encoding="utf-8"))} if index.is_file() else {}
    findings: dict[str, tuple[Finding, ...]] = {}
    refused, foreign = [], []
    for path in sorted(folder.iterdir()):
        if path.suffix not in ENDS or (names and path.name not in names):
            continue
        row = rows.get(path.name, {})
        slots = (pair.split("=", 1) for pair in (row.get("slots") or "").split(";") if pair)
        roles = {name: ROLES[role] for name, role in slots}
        try:
            result = lint([subject_of(path, TASKS[row.get("task") or ""], roles)])
        except ConfigError as error:
            refused.append(str(error))
            continue
        findings[path.name] = result.findings
        foreign += [] if result.english else [path.name]
    return findings, refused, foreign


def main() -> None:
    """Print the counts as a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", type=Path, help="a file that names the prompts to look at, one a line")
    parser.add_argument("--findings", type=Path, help="write each finding to this CSV file, to be judged")
    parser.add_argument("--judged", type=Path, help="the same file, judged")
    options = parser.parse_args()
    names = options.only.read_text("utf-8").split() if options.only else []
    findings, refused, foreign = found_in(options.folder, names)
    if options.findings:
        with options.findings.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            for name, found in findings.items():
                writer.writerows((name, one.place.line, one.rule.id, one.words, "") for one in found)
    judged: dict[tuple[str, str], list[str]] = defaultdict(list)
    if options.judged:
        for row in csv.DictReader(options.judged.open(encoding="utf-8")):
            judged[row["file"], row["rule"]].append(row["judged"].strip().lower())
    counts: Counter[str] = Counter()
    false: Counter[str] = Counter()
    unjudged = 0
    for name, found in findings.items():
        for one in found:
            counts[one.rule.id] += 1
            verdicts = judged[name, one.rule.id]
            false[one.rule.id] += "false" in verdicts
            unjudged += not any(verdicts)
    print(f"{len(findings)} prompts, {sum(map(bool, findings.values()))} with findings\n")
    print("| rule | severity | findings | false alarms |\n|---|---|---|---|")
    for rule in RULES.values():
        if counts[rule.id]:
            shown = false[rule.id] if options.judged else "not judged"
            print(f"| `{rule.id}` | {rule.severity} | {counts[rule.id]} | {shown} |")
    print(f"| all | | {sum(counts.values())} | {sum(false.values()) if options.judged else 'not judged'} |")
    if options.judged and unjudged:
        print(f"\n{unjudged} findings were not judged")
    for text in [*refused, *(f"{name}: not in English: rules of wording were left out" for name in foreign)]:
        print(f"\n{text}")


if __name__ == "__main__":
    main()
