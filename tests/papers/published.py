"""The published figures, read from `tests/papers/data/`."""

import csv
import json
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"


def rows(name):
    """Return the rows of a CSV file as dictionaries of text."""
    with (DATA / name).open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def by(name, key):
    """Return the rows of a CSV file by one of their columns."""
    return {row[key]: row for row in rows(name)}


def matrix(name):
    """Return the column names, row names and numbers of a printed matrix."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        head, *lines = list(csv.reader(file))
    return head[1:], [line[0] for line in lines], np.array([[float(cell) for cell in line[1:]] for line in lines])


def expected():
    """Return the figures of the authors' own tables of the rubric paper, by judge."""
    return json.loads((DATA / "rubric_ifeval_expected.json").read_text("utf-8"))


def pairwise_signs(generators):
    """Return the judges of the pairwise mode, and their signs [judges, generators, generators, instances]."""
    found = rows("rubric_ifeval_pwc.csv")
    judges = list(dict.fromkeys(row["judge"] for row in found))
    n = len(found[0]["outcomes"])
    signs = np.zeros((len(judges), len(generators), len(generators), n), dtype=np.int8)
    value = {"X": 1, "T": 0, "Y": -1}
    for row in found:
        j, x, y = judges.index(row["judge"]), generators.index(row["gen_x"]), generators.index(row["gen_y"])
        line = np.array([value[letter] for letter in row["outcomes"]], dtype=np.int8)
        signs[j, x, y], signs[j, y, x] = line, -line
    return judges, signs
