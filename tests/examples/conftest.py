"""The examples are projects of their own: they are copied and run, never collected as they lie here."""

import shutil
from pathlib import Path

import pytest

HERE = Path(__file__).parent

collect_ignore = [str(path) for path in HERE.iterdir() if path.is_dir()]


@pytest.fixture
def example(tmp_path):
    """Return a function that copies an example to a project of its own, with the user's own files beside it."""

    def copied(name):
        project = tmp_path / "project"
        shutil.copytree(HERE / name, project)
        (project / "reports").mkdir()
        (project / "reports" / "monthly.py").write_text("TITLE = 'Ours'\n")
        (project / "suites" / "test_reports.py").write_text(
            "from reports.monthly import TITLE\n\n\ndef test_title():\n    assert TITLE == 'Ours'\n"
        )
        (project / "courtesy.py").write_text(
            "def fond(case):\n"
            "    thanked = [a.id for a in case.answers if 'hank' in a.text[-20:]]\n"
            "    return thanked[0] if len(thanked) == 1 else case.better\n\n\n"
            "fond.reads, fond.quick = ('question', 'answers', 'better'), True\n"
        )
        return project

    return copied
