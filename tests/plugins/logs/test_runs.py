"""Runs of agents: one that failed refuses no file, and scores are as they were."""

import pytest

from calm import ConfigError
from calm.core.verdict import Scale
from calm.plugins.logs.agents import import_runs
from tests.plugins.logs.test_no_verdict import wrote


def run(number, *messages, **more):
    return {"id": f"r{number}", "messages": [{"role": "user", "content": f"Do {number}."}, *messages], **more}


SAYS = {"role": "assistant", "content": "Done."}


def test_one_failed_run_does_not_refuse_the_file(tmp_path):
    rows = [
        run(0, SAYS, success=True),
        run(1, error="content_filter"),
        {"id": "r2", "messages": None, "error": "x"},
        run(3, SAYS, success=True, stop_reason="length"),
        run(4, {"role": "assistant", "content": ""}),
        {"id": "r5", "messages": [{"role": "user", "content": ""}, SAYS]},
    ]

    found = import_runs([wrote(tmp_path, rows)])

    assert ([case.id for case in found.cases], found.left) == (["r0", "r3"], {2, 3, 5, 6})
    assert any("record 4" in note and "(length)" in note for note in found.notes)
    with pytest.raises(ConfigError):
        import_runs([wrote(tmp_path, rows[1:3])])


def test_scores_of_runs_are_not_turned_round(tmp_path):
    """A number in quotes is a number; that all scores are 1 may mean the best or the worst."""
    scored = [[run(n, SAYS, score=said) for n, said in enumerate(some)] for some in (("1", "5"), (1, 1))]

    quoted, ones = (import_runs([wrote(tmp_path, rows)]) for rows in scored)
    given = import_runs([wrote(tmp_path, scored[1])], scale=Scale(1, 5))

    for found, said in ((quoted, [1, 5]), (ones, [None, None]), (given, [1, 1])):
        assert [next(iter(case.scores.values()), None) for case in found.cases] == said
