"""`calm uda report` of ratings that somebody already has: what is read and said, and one paragraph for each fault."""

import json
from random import Random

import numpy as np
import pytest

from calm.commands.cli import main
from calm.errors import ConfigError
from calm.plugins.uda.matrix import MOST, read_after, read_gold, read_matrix, refuse_foreign
from calm.plugins.uda.ratings import calibration

GOOD = "judge,a,b,c,d\nx,1,2,3,4\ny,2,2.5,-3,1e2\n"
SEMICOLONS = GOOD.replace(",", ";")


def write(folder, text, name="m.csv"):
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        GOOD,
        SEMICOLONS,
        GOOD.replace(",", "\t"),
        "\ufeff" + GOOD.replace("\n", "\r\n") + "\r\n",
        GOOD.replace("judge", ""),
        GOOD.replace("x,1", '"x", 1'),
    ],
)
def test_a_matrix_is_read_with_each_separator(tmp_path, text):
    """Commas, semicolons or tabs, with a byte order mark, blank lines, or no word above the judges."""
    found = read_matrix(write(tmp_path, text))

    assert (found.judges, found.models) == (("x", "y"), ("a", "b", "c", "d"))
    assert found.ratings.tolist() == [[1, 2, 3, 4], [2, 2.5, -3, 100]]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "got an empty file"),
        ("judge\nx\ny\n", "got one column"),
        ("judge,a,b,c\n", "2 judges and 3 models or more, got 0 and 3"),
        ("judge,a,b,c\nx,1,2,3\n", "got 1 and 3"),
        ("judge,a,b\nx,1,2\ny,1,2\n", "got 2 and 2"),
        (GOOD.replace("2.5", ""), "line 3: 'y' has no rating of 'b'"),
        (GOOD.replace(",2.5", ""), "line 3: expected 5 cells as in the first line (a judge and 4 ratings), got 4"),
        (GOOD.replace("2.5", "820,93"), "got 6; add what is missing, and write numbers with a point"),
        (SEMICOLONS.replace("2.5", "820,93"), "got '820,93'; write it with a point"),
        (GOOD.replace("2.5", "NaN"), "line 3: expected a finite number as the rating of 'b', got 'NaN'"),
        (GOOD.replace("2.5", "inf"), "got 'inf'"),
        (GOOD.replace("2.5", "1e300"), "got '1e300'"),
        (GOOD.replace("2.5", "1_000"), "got '1_000'"),
        (GOOD.replace("2.5", "k" * 999), f"got '{'k' * 37}...'"),
        (GOOD.replace("y,", "x,"), "expected judges with names that differ, got 'x' twice (lines 2 and 3)"),
        (GOOD.replace("a,b", "a,a"), "expected models with names that differ, got 'a' twice;"),
        (GOOD.replace("y,", ","), "line 3: expected the name of a judge"),
        (GOOD.replace("a,b", "a,"), "line 1: expected the name of a model"),
        (GOOD.replace("2.5", '"2.5'), "expected CSV, got an error"),
        (b"judge,a\xff\n", "not in UTF-8"),
        ("prompt,judge,model_a,model_b,outcome\np,x,a,b,a\n", "got comparisons; `calm uda train` reads them"),
        ("\n".join(["judge,a,b,c", *(f"j{j},1,2,3" for j in range(MOST[0] + 1))]), f"at most {MOST[0]} judges"),
    ],
)
def test_a_fault_is_one_paragraph(tmp_path, capsys, text, told):
    """The command ends with 4 and says what was expected, what came and where, once."""
    path = write(tmp_path, text)

    assert main(["uda", "report", str(path)]) == 4

    said = capsys.readouterr()
    assert said.out == ""
    assert told in said.err
    assert said.err.startswith(f"calm: {path}: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize("name", ["m.json", "m.xlsx", "gone.csv", "no/m.csv", "."])
def test_other_files_are_refused(tmp_path, name):
    """A record, a spreadsheet, a folder, and what is not there."""
    write(tmp_path, "{}", "m.json")

    with pytest.raises(ConfigError):
        read_matrix(tmp_path / name)


def test_the_matrix_after_is_brought_into_the_order_of_the_first(tmp_path):
    """Rows and columns are found by name; others than before are refused by name."""
    before = read_matrix(write(tmp_path, GOOD))

    turned = read_after(write(tmp_path, "judge,d,c,b,a\ny,4,3,2,1\nx,8,7,6,5\n", "after.csv"), before)
    assert turned.tolist() == [[5, 6, 7, 8], [1, 2, 3, 4]]
    for text, told in (
        (GOOD.replace("y,", "yy,"), "got no judge 'y'"),
        (GOOD + "z,1,2,3,4\n", "got another one, 'z'"),
        (GOOD.replace("d\n", "dd\n"), "got no model 'd': both files must name the same ones; did you mean 'dd'"),
    ):
        with pytest.raises(ConfigError, match=told):
            read_after(write(tmp_path, text, "other.csv"), before)


def test_gold_is_one_row_or_an_object(tmp_path):
    """Both give the same; several rows, or models that nobody rated, are refused."""
    row, table = write(tmp_path, "who;a;b\nhuman;1;2.5\n", "row.csv"), write(tmp_path, GOOD)

    assert read_gold(row) == read_gold(write(tmp_path, '{"a": 1, "b": 2.5}', "g.json")) == {"a": 1, "b": 2.5}
    refuse_foreign(row, read_gold(row), ["b", "c"])
    refuse_foreign(row, None, ["c"])
    with pytest.raises(ConfigError, match="expected one row of true ratings under the names of the models, got 2 rows"):
        read_gold(table)
    with pytest.raises(ConfigError, match="expected true ratings of the models c, d, got ratings of a, b"):
        refuse_foreign(row, read_gold(row), ["c", "d"])


def test_calibration_is_the_line_of_gold_on_ratings():
    """As numpy fits it; a judge that rates all alike has none."""
    rng = Random(3)
    ratings, gold = np.array([[rng.gauss(1200, 100) for _ in range(8)] for _ in range(2)])

    assert calibration(ratings, gold) == pytest.approx(tuple(np.polyfit(ratings, gold, 1)))
    assert calibration(np.full(8, 1200.0), gold) is None


def test_a_matrix_of_judges_that_are_no_models_is_reported_on_one_screen(tmp_path, capsys):
    """Without `--after`: no change, no own ratings; lacking gold is named; the record becomes the same page."""
    rng = Random(1)
    rows = [f"judge-{j},{','.join(f'{rng.gauss(1200, 90):.2f}' for _ in range(10))}" for j in range(10)]
    path = write(tmp_path, "\n".join([f"judge,{','.join(f'm{m}' for m in range(10))}", *rows]))
    gold = write(tmp_path, json.dumps({f"m{m}": m for m in range(9)}), "gold.json")
    record, page = tmp_path / "r.json", tmp_path / "r.html"

    assert main(["uda", "report", str(path), "--gold", str(gold), "--report", str(record), "--report", str(page)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert main(["report", str(record), "-o", str(tmp_path / "again.html")]) == 0

    made = json.loads(record.read_text())
    assert "after" not in made
    assert made["before"]["self_deviation"] == {}
    assert len(made["before"]["calibration_slope"]) == 10
    assert any("'m9'" in warning for warning in made["warnings"])
    assert (tmp_path / "again.html").read_bytes() == page.read_bytes()
    assert len(lines) < 35
    assert max(len(line) for line in lines if not line.startswith(("warning", "shared", "report"))) <= 80


def test_matrices_and_lists_given_to_train_are_refused_once(tmp_path, capsys):
    """Wrong columns of a CSV are one paragraph, which names the command that reads a matrix."""
    answers = write(tmp_path, "prompt,model,txt\np,x,So.\nq,x,No.\n", "answers.csv")
    matrix = write(tmp_path, GOOD)

    assert main(["uda", "train", str(matrix), "--answers", str(answers), "-o", str(tmp_path / "m.safetensors")]) == 4

    said = capsys.readouterr().err.splitlines()
    assert len(said) == 2
    assert "unknown column 'txt'; did you mean 'text'" in said[0]
    assert "`calm uda report`" in said[1]
