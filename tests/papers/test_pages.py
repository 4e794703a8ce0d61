"""The pages on papers and on self-preference hold what the commands write."""

import json
from pathlib import Path

from benchmarks import calm_protocol, fair_judges, pages, papers, self_preference

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_papers_is_up_to_date():
    """`python -m benchmarks.papers --write docs/measured/papers.md` would change nothing."""
    assert papers.main(["--check", str(DOCS / "measured" / "papers.md")]) == 0


def test_the_table_of_estimators_has_every_row_and_column():
    """Each estimator and each kind of judge; the figures themselves are asserted in the slow lane."""
    block = pages.block(DOCS / "measured" / "self-preference.md", "self-preference")
    lines = [line for line in block.splitlines() if line.startswith("| ")]

    named = [line.split(" | ")[0].removeprefix("| ") for line in lines]

    fair, planted = ([kind.name for kind in kinds] for kinds in (self_preference.FAIR, self_preference.KINDS))
    methods, corrected = ([m.name for m in group] for group in (self_preference.METHODS, self_preference.CORRECTED))
    assert named == ["estimator", *methods, "corrected estimator", *corrected]
    assert lines[0] == f"| estimator | {' | '.join(fair)} |"
    assert lines[len(methods) + 1] == f"| corrected estimator | {' | '.join(planted)} |"


def test_the_table_of_fair_judges_has_every_row():
    """Each setting; the figures themselves are asserted in the slow lane."""
    block = pages.block(DOCS / "measured" / "self-preference.md", "self-preference-limits")
    lines = [line for line in block.splitlines() if line.startswith("| ")]

    named = [line.split(" | ")[0].removeprefix("| ") for line in lines]

    assert named == ["judge", *(one.name for one in fair_judges.ALL)]


def test_a_part_of_the_table_of_calms_protocol_is_measured_again(pytester):
    """One judge and two biases stand for all, which each night measures: RR and CR, Acc and Acc_hack."""
    options = ["--calm-judge=lexical", "--calm-sample=200", "--calm-results=found.json", "--calm-cache=off"]
    page = DOCS / "reference" / "calm-protocol.md"
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in pages.block(page, "calm-protocol").splitlines()]
    shown = {row[0]: row[1] for row in rows if len(row) > 1}

    pytester.runpytest_inprocess("--pyargs", "calm.suites.papers", *options, "-k", "Verbosity or Fallacy")

    told = json.loads((pytester.path / "found.json").read_text("utf-8"))
    run = calm_protocol.Run("lexical", told["extras"][calm_protocol.KEY])
    for bias in ("verbosity", "fallacy-oversight"):
        assert run.rates(bias) == shown[bias]
        assert run.right(bias) == shown[f"{bias}: Acc / Acc_hack"]
    assert told["run"]["calls"]["made"] > 0
