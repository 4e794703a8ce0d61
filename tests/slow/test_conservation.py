"""At every place and in every way a run can break, alone and with workers: no record calls it green."""

import shutil

from tests.pytest_plugin.breaking import ACTS, LAST, OUTPUTS, PLACES, WRITES, green_before, greens, plant
from tests.pytest_plugin.conftest import Project


def test_no_break_leaves_a_green_record(tmp_path):
    """Only who ends pytest with status 0 after the last decision leaves a green run behind: that one was green."""
    first = Project(tmp_path)
    first.write("test_zzz.py", LAST)
    assert first.run_alone(*WRITES).returncode == 0
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in OUTPUTS:
        shutil.copy(tmp_path / name, kept / name)
    wrong = []
    for place in PLACES:
        for act in ACTS:
            for options in ((), ("-n2",)):
                folder = tmp_path / "run"
                folder.mkdir()
                project = Project(folder)
                plant(project, place, act)
                green_before(project, kept)
                status = project.run_alone(*WRITES, *options).returncode
                green = greens(folder)
                if green and not (act == "ends pytest" and status == 0):
                    wrong.append((place, act, options, status, green))
                print(place, "|", act, *options, "|", status, *green, flush=True)
                shutil.rmtree(folder)
    assert wrong == []
