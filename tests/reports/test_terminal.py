"""What a terminal shows of a run: one screen, the worst first, and nothing twice."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, counted, listed
from calm.results.audit import Limit
from calm.results.endings import Ending, State
from calm.results.reports.terminal import LOG, OTHERS, Screen, shown, whole
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import finding, sample

SCREEN = Screen(100, 24)
WRITTEN = [Path("out/results.json"), Path("out/report.html")]


def failed(bias, measure="gain", value=0.4, **changes):
    """Return a finding that failed."""
    more = {"measure": measure, "claim": Limit("<=", 0.15), "outcome": Outcome.FAIL, "value": value, **changes}
    return finding(key=f"{bias}/{measure}", bias=bias, **more)


def told(audit, screen=SCREEN, **options):
    """Return the lines of a screen as it breaks them."""
    lines = shown(audit, screen, **{"written": WRITTEN, "green": False, **options})
    return [one.text for one in lines], sum(map(screen.rows, lines))


def of(*findings, **changes):
    return replace(sample(), **{"findings": findings, "tests": (), "faults": (), **changes})


def test_findings_stand_by_bias_the_worst_first_and_a_bias_is_named_once():
    """A line for each, in columns; the rates of a probe stand once, and are explained once."""
    audit = of(failed("verbosity", value=0.2), failed("authority", value=0.6), failed("authority", "worst_gain"))

    lines, _ = told(audit)

    table = [line for line in lines if "FAIL" in line]
    assert [line.split()[0] for line in table] == ["authority", "FAIL", "verbosity"]
    assert len({line.index("FAIL") for line in table}) == 1
    assert "<= 0.15" in table[0]
    assert [line.count("RR 0.96 CR 0.97") for line in table] == [1, 0, 1]
    assert sum(line.startswith("RR, CR: ") for line in lines) == 1


@pytest.mark.parametrize("height", [24, 40, 10])
@pytest.mark.parametrize("width", [100, 80, 60])
def test_a_run_fits_the_screen_whatever_failed(width, height):
    """Fifty biases, a hundred lost tests, notes and hunts: what is left out is counted, and nothing is wider."""
    many = [failed(f"bias-{i}", f"measure{j}", 0.9 - i / 100) for i in range(50) for j in range(3)]
    where = "/usr/lib/python3/site-packages/calm/suites"
    lost = tuple(Ending(f"{where}/test_{i}.py::test", State.CRASHED, because(Kind.CUT_SHORT)) for i in range(100))
    audit = of(*many, tests=lost)
    screen = Screen(width, height)

    lines, rows = told(audit, screen, hunts=["calm hunt judge.toml"] * 9)

    assert rows <= screen.room
    assert rows + OTHERS + 1 <= max(height, 20)
    assert "bias-0" in " ".join(lines)
    assert any("more: " in line for line in lines)
    assert any(re.fullmatch(r"\d+ more reasons, 9 smallest examples, 1 note: -v shows all", line) for line in lines)
    assert "site-packages" not in " ".join(lines)


def test_a_low_screen_shows_the_worst_claim_of_each_bias():
    """The others of the bias are counted beside it."""
    audit = of(*(failed(f"bias-{i}", f"measure{j}") for i in range(6) for j in range(4)))

    lines, _ = told(audit)

    assert [sum(f"bias-{i} " in line for line in lines) for i in range(6)] == [1] * 6
    assert sum(line.endswith("+3 more") for line in lines) == 6


def test_why_something_is_incomplete_is_said_in_words_and_once():
    """A cap stopped two claims."""
    why = because(Kind.NOT_IN_RUN)
    lost = [
        failed("authority", name, None, low=None, high=None, outcome=Outcome.INCOMPLETE, n=0, reason=str(why))
        for name in ("gain", "net_robustness")
    ]

    lines, _ = told(of(*lost))

    assert lines.count(f"incomplete: {why} (2 claims)") == 1


def test_what_many_red_rows_leave_no_room_for_is_counted():
    """Why something is incomplete, the notes, and what was not tested: one line says how much of it there is."""
    rows = [failed(f"bias-{i}") for i in range(9)]
    none = [
        finding(key=f"no-{i}/gain", bias=f"nothing-{i}", outcome=Outcome.NOT_TESTED, reason="why") for i in range(5)
    ]
    lost = [failed(f"bias-{i}", "worst_gain", None, outcome=Outcome.INCOMPLETE, reason=f"r{i}") for i in range(4)]
    notes = tuple(because(Kind.FEW_CLUSTERS, 60, i) for i in (7, 8))
    audit = of(*rows, *none, *lost)

    lines, rows = told(replace(audit, run=replace(audit.run, notes=notes)), Screen(100, 20), green=False)

    assert any(re.fullmatch(r"\d more reasons?, 2 notes, 5 not tested: -v shows all", line) for line in lines)
    assert rows <= Screen(100, 20).room


def test_a_log_is_cut_nowhere():
    """What reads it breaks lines itself; there are no more of them."""
    why = "too few for this one: " + ", ".join(f"reason {i}" for i in range(60))
    audit = of(failed("authority", reason=why), finding(outcome=Outcome.NOT_TESTED, reason="why " * 60))

    lines, rows = told(audit, Screen(LOG, 24))

    assert rows == len(lines) <= Screen(LOG, 24).room
    assert any(line.endswith(f"; {why}") for line in lines)
    assert not any("..." in line for line in lines)


def test_what_a_cap_stopped_is_said_once_with_a_count():
    """The counts of cases and the worst variants differ; and an interval that is all that can be is not shown."""
    capped = because(Kind.CAPPED, "--calm-max-calls 200")
    lost = [failed(f"b{i}", value=1.0, low=-1.0, high=1.0, outcome=Outcome.INCOMPLETE, n=2, lost=58) for i in range(3)]
    lost = [
        replace(one, reason=listed([because(Kind.WORST, 3, f"v{i}"), counted({capped: 50 + i})]))
        for i, one in enumerate(lost)
    ]

    lines, _ = told(of(*lost))

    assert [line for line in lines if "cap" in line] == [f"incomplete: {capped} (3 claims)"]
    assert sum("n=2 of 60: 58 lost" in line for line in lines) == 3
    assert not any("[" in line for line in lines)


def test_an_interrupted_run_says_so_first_and_claims_nothing():
    """Neither "0 of 0 biases" nor "proven"."""
    ends = Ending("a", State.DECIDED), Ending("b", State.NOT_RUN, because(Kind.NOT_BEGUN))
    audit = of(finding(key="consistency/readable_rate", bias="consistency"), tests=ends)
    audit = replace(audit, faults=(because(Kind.INTERRUPTED),))

    lines, _ = told(audit)

    assert lines[0].startswith("interrupted when 1 of 2 tests had decided something; 0 of 1 controls decided")
    assert "0 of 0" not in lines[0]
    assert "all" not in lines[0]


def test_a_green_run_shows_what_is_proven_of_all_probes():
    """The claims about the run and about agreement, and no other that passed."""
    audit = of(
        finding(key="run/gain", bias="run", measure="gain"),
        finding(key="agreement/kappa", bias="agreement", measure="kappa"),
        finding(),
    )

    lines, _ = told(audit, green=True)

    assert sorted(line.split()[0] for line in lines if " PASS " in line) == ["agreement", "all"]


def test_all_of_a_run_names_each_claim_by_its_key():
    """What -v shows: the same words as the reports."""
    lines = [one.text for one in whole(of(failed("authority"), finding()))]

    assert any(line.startswith("authority/gain: FAIL gain <= 0.15: measured 0.40") for line in lines)


@pytest.mark.parametrize("text", HOSTILE[:12])
def test_no_text_of_a_run_acts_on_a_terminal(text):
    """Lines are cut and escaped."""
    for one in shown(hostile_audit(text), SCREEN, [text], WRITTEN, green=False):
        assert "\x1b" not in one.text
        assert "\n" not in one.text or not one.whole
