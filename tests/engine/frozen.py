"""
What calm makes of fixed cases and edits, and `frozen.json`, which holds what it made of them.

    python -m tests.engine.frozen        # name the families of edits and the biases that have no row yet
    python -m tests.engine.frozen --add  # add their rows; no existing row of an edit changes

A row of the default gate takes in the findings of new biases, if all its other keys are those that they were.
"""

import json
import sys
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from calm.cases import bundled
from calm.core.case import digest
from calm.core.edits import Edit
from calm.gate.catalogue import entries, known_biases, name_of
from calm.results.audit import RUN
from tests.suites.gate import run_gate

FILE = Path(__file__).with_name("frozen.json")
FROZEN = json.loads(FILE.read_text("utf-8"))
TASKS = ("pairwise", "score", "rubric", "listwise", "label")


def edits():
    """Return, by family, how many edits it has, and a digest of their names and of what they make."""
    cases = [case.with_order("frozen") for task in TASKS for case in bundled(task)[:2]]
    families = defaultdict(list)
    for entry in sorted(entries(), key=lambda one: one.key):
        copies = [] if not isinstance(entry.edit, Edit) else [_identity_of(entry.edit, case) for case in cases]
        about = entry.call, name_of(entry.edit), repr(entry.edit), *copies
        families[entry.key.partition(".")[0]].append(digest(*about))
    return {family: [len(found), digest(*found)[:16]] for family, found in families.items()}


def _identity_of(edit, case):
    copy = edit.rewrite(case.treat(case.answers[-1].id if case.answers else None), Random(7))
    return None if copy is None else copy.identity()


def with_new(frozen):
    """Return what is frozen, with a row for each family of edits and each bias that has none, and what is new."""
    new = {family: row for family, row in edits().items() if family not in frozen["edits"]}
    names = known_biases() - {*frozen["biases"]}
    kept = {"edits": dict(sorted({**frozen["edits"], **new}.items())), "biases": sorted({*frozen["biases"], *names})}
    return {**frozen, **kept}, [*new, *sorted(names)]


def gate(task):
    """Return the bias, and the test with the key, of each finding of the default gate."""
    with TemporaryDirectory() as folder:
        found = run_gate(f"planted:task={task},noise=0.02", Path(folder), "--calm-sample=6").results["findings"]
    return [(one["bias"], f"{one['node']} {one['key']}") for one in found]


def row_of(findings, without=()):
    """Return how many keys the findings have, the first and a digest of all, but for some biases and keys."""
    keys = sorted(key for bias, key in findings if bias not in without and key not in without)
    return [len(keys), keys[0], digest(*keys)]


def gates_with(gates, names):
    """
    Return the rows of some gates with the findings of new biases; a `ValueError` if any other key changed.

    A new bias may bring a key of the whole run with it: ` run/net_robustness`, where no suite has claimed that so far.
    """
    found = {task: gate(task) for task in gates}
    whole = {task: [key for bias, key in found[task] if bias == RUN] for task in gates}
    brought = {
        task: [new for n in range(len(keys) + 1) for new in combinations(keys, n)] for task, keys in whole.items()
    }
    changed = [
        task for task, row in gates.items() if row not in (row_of(found[task], {*names, *new}) for new in brought[task])
    ]
    if changed:
        raise ValueError(f"other keys of the default gate changed, too: {', '.join(changed)}")
    return {task: row_of(findings) for task, findings in found.items()}


def written(frozen):
    """Return the text of the file: a line for each row."""
    parts = []
    for name, rows in frozen.items():
        lines = [f"{json.dumps(key)}: {json.dumps(row)}" for key, row in rows.items()] if isinstance(rows, dict) else []
        lines = lines or [json.dumps(row) for row in rows]
        first, last = "{}" if isinstance(rows, dict) else "[]"
        body = ",\n".join(f"    {line}" for line in lines)
        parts.append(f"  {json.dumps(name)}: {first}\n{body}\n  {last}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


def main(add):
    """Name what has no row, and add it if that is wanted."""
    frozen, new = with_new(FROZEN)
    if add and new:
        frozen["gates"] = gates_with(frozen["gates"], {*frozen["biases"]} - {*FROZEN["biases"]})
        FILE.write_text(written(frozen), "utf-8")
    print(f"{'added' if add else 'without a row'}: {', '.join(new) or 'nothing'}")


if __name__ == "__main__":
    main("--add" in sys.argv[1:])
