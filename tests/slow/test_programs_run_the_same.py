"""Programs that an edit of code has changed are compiled and run: they print what they printed before."""

import shutil
import subprocess

import pytest

from calm.perturbations import code_comments, code_style
from tests.perturbations.programs import PROGRAMS
from tests.perturbations.test_foreign_code import COMMENTS, RENAMING, edited

RUN = {
    "java": ("Main.java", ["javac", "Main.java"], ["java", "-cp", ".", "Main"]),
    "cpp": ("main.cpp", ["g++", "-std=c++17", "-o", "main", "main.cpp"], ["./main"]),
    "javascript": ("main.js", ["node", "--check", "main.js"], ["node", "main.js"]),
    "go": ("main.go", ["go", "vet", "main.go"], ["go", "run", "main.go"]),
}
EDITS = (*COMMENTS, *RENAMING, code_style.add_dead_code, code_style.strip_comments, code_comments.log_tests)


def printed(folder, marked, source):
    """Return what a program prints."""
    name, built, ran = RUN[marked]
    (folder / name).write_text(source, "utf-8")
    subprocess.run(built, cwd=folder, check=True, capture_output=True, timeout=120)
    return subprocess.run(ran, cwd=folder, check=True, capture_output=True, timeout=120, text=True).stdout


@pytest.mark.parametrize("marked", PROGRAMS)
def test_a_program_prints_what_it_printed_before(tmp_path, marked):
    """After each edit, and after all of them one upon the other."""
    if shutil.which(RUN[marked][1][0]) is None:
        pytest.skip(f"{RUN[marked][1][0]} is not installed")
    before = printed(tmp_path, marked, PROGRAMS[marked])
    whole = PROGRAMS[marked]
    for edit in EDITS:
        assert printed(tmp_path, marked, edited(edit, marked, PROGRAMS[marked])) == before, edit
        whole = edited(edit, marked, whole) or whole

    assert before.strip()
    assert printed(tmp_path, marked, whole) == before
