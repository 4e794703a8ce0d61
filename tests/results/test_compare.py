"""Two runs side by side: differences with intervals, flips, keys of one run only, provenance, the terminal."""

import json
from dataclasses import replace

import pytest

from calm.core.claims import Outcome
from calm.core.measures import gain, net_robustness
from calm.core.reasons import reason_of
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.results.audit import Audit, Limit
from calm.results.compare import Flip, compare, render_text
from calm.results.pairing import pooled
from calm.results.records import Change, trials_of
from calm.statistics.intervals import padded_t
from tests.results.test_baseline import (
    BOOK,
    JUDGE,
    PLEA,
    biased,
    by_key,
    change,
    rehashed,
    sound,
    ticked,
    turned,
    without,
)

NET = "authority/net_robustness/cite"


def test_a_run_compared_with_itself_shows_no_change():
    """Differences of exactly zero, no flips, nothing else."""
    found = compare(sound(), sound())

    assert {m.difference.value for m in found.moved} == {0.0}
    assert (found.only_old, found.only_new, found.flips, found.changes) == ((), (), (), ())
    assert render_text(found, 120).split("\n") == [
        "Nothing got worse, none got better; no verdict flipped",
        "Replies without a verdict: 0 of 2,000 clean, 0 of 800 inert, 0 of 1,000 edited in each run",
        "8 claims are the same in both runs",
    ]


def test_a_difference_is_paired_case_by_case():
    """New less old of the measure itself, with the padded t of the case values on each side."""
    values = {}
    for run, sign in ((sound(), -1), (biased(), 1)):
        for row in trials_of(by_key(run.findings)[BOOK], Scale()).rows:
            if row.room:
                values.setdefault(row.case, []).append(sign * gain.per_case(row, Scale()))
    rises = [sum(both) for both in values.values() if len(both) == 2]

    found = {m.key: m for m in compare(sound(), biased()).moved}[BOOK].difference

    assert found.value == pytest.approx(sum(rises) / len(rises))
    assert (found.low, found.high) == pytest.approx(padded_t(rises, -2, 2, 0.05))
    assert 150 < found.n == len(rises) < 200


def test_more_is_shown_as_more_whatever_is_good():
    """A robustness that fell has a negative difference, and is worse by as much."""
    found = {m.key: m for m in compare(sound(), biased()).moved}

    fell, rose = found[NET], found[BOOK]
    assert fell.difference.value == pytest.approx(
        fell.new.value - fell.old.value, abs=0.03
    )  # of the same cases, which may be fewer
    assert fell.difference.value < 0 < fell.difference.worse == -fell.difference.value
    assert 0 < rose.difference.value == rose.difference.worse


def test_the_worst_comes_first():
    """Outcomes that fell before others, the worst of them first; then by how much worse the value is."""
    keys = [m.key for m in compare(sound(), biased()).moved]

    assert set(keys[:2]) == {NET, BOOK}


def test_keys_of_one_run_are_named():
    """Probes that went, and probes that came."""
    found = compare(without(sound(), PLEA), without(sound(), BOOK))

    assert [[one.key for one in found] for found in (found.only_old, found.only_new)] == [[BOOK], [PLEA]]


@pytest.mark.parametrize(
    ("old", "new", "way"),
    [
        (Outcome.PASS, Outcome.FAIL, -1),
        (Outcome.UNDECIDED, Outcome.FAIL, -1),
        (Outcome.PASS, Outcome.UNDECIDED, -1),
        (Outcome.PASS, Outcome.NOT_TESTED, -1),
        (Outcome.FAIL, Outcome.PASS, 1),
        (Outcome.FAIL, Outcome.UNDECIDED, 0),
        (Outcome.FAIL, Outcome.NOT_TESTED, 0),
        (Outcome.FAIL, Outcome.INCOMPLETE, 0),
        (Outcome.FAIL, Outcome.OBSERVED, 0),
        (Outcome.UNDECIDED, Outcome.PASS, 0),
    ],
)
def test_an_outcome_says_which_way_only_where_it_can(old, new, way):
    """Fewer cases or a test that did not run make no judge better; a claim that failed or is not proven is worse."""
    found = compare(change(sound(), PLEA, outcome=old), change(sound(), PLEA, outcome=new))

    assert [m.way for m in found.moved if m.key == PLEA] == [way]


def test_another_limit_makes_no_judge_better():
    """It fails by the old limit and passes by a wider one, at the same value."""
    strict = change(sound(), PLEA, outcome=Outcome.FAIL)
    loose = change(sound(), PLEA, outcome=Outcome.PASS, claim=replace(by_key(sound().findings)[PLEA].claim, limit=0.5))

    found = compare(strict, loose)
    assert (found.worse, found.better, len(found.unclear)) == ((), (), 1)


def test_what_fails_in_the_new_run_alone_is_counted():
    """In the headline, and with its outcome beside its key."""
    found = compare(without(biased(), BOOK), biased())

    assert "1 that fails is new" in found.headline
    assert f"  {BOOK}  FAIL" in render_text(found).splitlines()


def test_a_case_flips_by_its_most_frequent_verdict_and_once_a_probe():
    """The two claims of a probe hold the same trials."""
    arms = [{r.case: r.perturbed for r in by_key(run.findings)[BOOK].trials} for run in (sound(), biased())]
    good, bad = ({c for c, arm in arms[i].items() if set(arm) == {word}} for i, word in enumerate(("good", "bad")))

    found = [f for f in compare(sound(), biased()).flips if f.key.startswith("authority/")]

    assert len({f.case for f in found}) == len(found) > 50
    assert good & bad <= {f.case for f in found if (f.old, f.new) == ("good", "bad")}


def test_a_tie_among_verdicts_is_no_flip():
    """Which of two equally frequent verdicts came first says nothing."""
    one = by_key(sound().findings)[PLEA]
    rows = [replace(one.trials[0], perturbed=("good", "bad")), replace(one.trials[1], perturbed=("bad", "bad"))]
    before = change(sound(), PLEA, trials=tuple(replace(r, perturbed=("good", "good")) for r in rows))
    after = change(sound(), PLEA, trials=tuple(rows))

    assert compare(before, after).flips == (Flip("c001", PLEA, "good", "bad", rows[1].edit, rows[1].hash),)


def test_cases_with_another_edit_are_left_out():
    """They are counted, and cannot flip."""
    found = {m.key: m for m in compare(sound(), rehashed(sound(), PLEA, 30)).moved}[PLEA]

    assert (found.difference.n, found.left_out) == (170, 30)


def together(audit):
    """Return a run with the claims about all of its probes."""
    return replace(audit, findings=(*audit.findings, *pooled(audit.findings, Scale(), "pairwise", {})))


def test_a_claim_about_the_whole_run_is_compared_by_the_rows_of_all_its_probes():
    """The change of the mean over the rows of four probes, with its interval."""
    found = {m.key: m for m in compare(together(sound()), together(biased())).moved}["run/net_robustness"]

    assert (found.old.outcome, found.new.outcome) == (Outcome.PASS, Outcome.UNDECIDED)
    assert found.difference.value == pytest.approx(found.new.value - found.old.value, abs=0.01)
    assert found.difference.low < found.difference.high < 0
    assert found.difference.n == 200


def test_a_claim_about_the_whole_run_takes_the_rows_of_whichever_claim_has_most():
    """Where one claim of a probe was decided early, another one's rows stand for the probe, by their own measure."""
    early = by_key(biased().findings)[NET]
    rows = early.trials[:120]
    kept = trials_of(replace(early, trials=rows), Scale())
    cells, _ = net_robustness.values(kept)
    stopped = change(biased(), NET, trials=rows, value=1 - sum(cells) / len(cells))

    found = {m.key: m for m in compare(together(sound()), together(stopped)).moved}["run/net_robustness"]

    assert found.why == ""
    assert found.difference.high < 0


def test_of_what_got_worse_alike_the_whole_run_comes_first():
    """What all probes show together says most."""
    fallen = change(together(sound()), "run/net_robustness", outcome=Outcome.FAIL)
    fallen = change(fallen, PLEA, outcome=Outcome.FAIL)

    assert [m.key for m in compare(together(sound()), fallen).moved[:2]] == ["run/net_robustness", PLEA]


def test_the_worst_variant_of_each_run_is_named():
    """Where it is another one there is no difference of its cases."""
    key = "authority/worst_gain/books"
    (name,) = {r.edit for r in by_key(turned().findings)[key].trials}
    rows = tuple(replace(r, edit="cite_other") for r in by_key(turned().findings)[key].trials)

    same = {m.key: m for m in compare(turned(), turned()).moved}[key]
    other = {m.key: m for m in compare(turned(), change(turned(), key, trials=rows)).moved}[key]
    shown = render_text(compare(turned(), change(turned(), key, claim=Limit("<=", 0.4))), 300)

    assert (same.difference.value, same.variant) == (0.0, name)
    assert f"worst variant {name}, limit 0.30 -> 0.40" in shown
    assert (other.difference, other.why) == (None, f"the worst variant is cite_other now and was {name}")


def test_what_else_differs_is_listed():
    """Judge, prompt, parameters, cases, seed, repeats and the version of calm."""
    judge = replace(JUDGE, prompt_sha256="a" * 12 + "b" * 52, parameters={"temperature": 0.7, "top_p": 1})
    other = replace(sound(), judge=judge, seed=1, repeats="2+2", calm="0.2.0", cases={"n": 199, "sha256": "c" * 64})

    found = compare(sound(), other).changes

    assert found == (
        Change("judge prompt sha256", "a" * 64, "a" * 12 + "b" * 52),
        Change("parameters.temperature", "0.0", "0.7"),
        Change("cases", "200", "199"),
        Change("seed", "0", "1"),
        Change("repeats", "2+1", "2+2"),
        Change("calm", "0.1.0", "0.2.0"),
        Change("parameters.top_p", "none", "1"),
    )


def test_what_cannot_be_compared_says_why():
    """Not measured, or too few cases with the same edit, or a record that contradicts itself."""
    untested = change(sound(), PLEA, value=None, outcome=Outcome.NOT_TESTED)
    forged = change(sound(), PLEA, value=0.5)

    why = [
        {m.key: m.why for m in compare(sound(), o).moved}[PLEA]
        for o in (untested, rehashed(sound(), PLEA, 199), forged)
    ]

    assert why[:2] == ["measured in the old run alone", "fewer than two cases have the same edit in both runs"]
    assert "where it says 0.5" in why[2]


def test_an_older_record_compares_by_its_outcomes():
    """It has no inert words; what the clean arm alone says compares as before."""
    body = json.loads(json.dumps(sound().to_json()))
    body["schema"] = "calm-results/1"
    for row in (row for finding in body["findings"] for row in finding["trials"]):
        for name in ("inert", "floor", "cluster", "places"):
            del row[name]

    found = {m.key: m for m in compare(Audit.from_json(body), sound()).moved}

    assert (found[PLEA].difference, found[PLEA].old.outcome) == (None, found[PLEA].new.outcome)
    assert "was compared with neutral words in one of the two runs" in found[PLEA].why
    assert found["consistency/consistency_rate"].difference.value == 0.0


def test_a_comparison_is_plain_aligned_and_short():
    """Sections with their counts, columns below each other, no line too wide, and a count of the rest."""
    text = render_text(compare(sound(), biased()), 90, lines=5)

    lines = text.split("\n")
    assert max(map(len, lines)) <= 90
    first = lines.index("Got worse (2)") + 1
    columns = {line.index(" -> ") for line in lines[first : first + 4 : 2]}
    assert len(columns) == 1
    assert any(line.startswith("  and ") and line.endswith(" more") for line in lines)
    assert "PASS -> " in lines[first]


def test_an_interval_is_never_cut():
    """A claim that is wider than the terminal takes a second line, and without a width each has one."""
    found = compare(sound(), biased())
    change = "+0.27 [+0.17, +0.36], n=183, 17 left out"

    narrow, whole = (render_text(found, width).split("\n") for width in (60, None))

    assert f"    0.02 -> 0.29, {change}" in narrow
    assert max(map(len, narrow)) <= 60
    assert any(line.startswith(f"  {BOOK} ") and line.endswith(change) for line in whole)


def test_what_was_measured_in_neither_run_has_no_values():
    """An outcome that changed without a measured value is shown, and no value of nothing."""
    old = change(sound(), PLEA, value=None, outcome=Outcome.NOT_TESTED)
    new = change(sound(), PLEA, value=None, outcome=Outcome.INCOMPLETE)

    line = next(line for line in render_text(compare(old, new), None).split("\n") if PLEA in line)

    assert line.split() == [PLEA, "NOT_TESTED", "->", "INCOMPLETE", "measured", "in", "neither", "run"]


def test_runs_of_judges_with_other_tasks_are_refused():
    """A gain of pairs and one of scores share a name alone."""
    scores = replace(sound(), judge=replace(JUDGE, name="b", task="score"))

    with pytest.raises(ConfigError, match=r"task='pairwise' \(old\) and 'b' with task='score' \(new\)"):
        compare(sound(), scores)


def other_cases(audit, change):
    """Return a run whose rows are about other cases."""
    rows = {f.key: tuple(change(row) for row in f.trials) for f in audit.findings}
    return replace(audit, findings=tuple(replace(f, trials=rows[f.key]) for f in audit.findings))


@pytest.mark.parametrize(
    "new",
    [
        other_cases(sound(), lambda row: replace(row, case=f"x{row.case}")),
        other_cases(sound(), lambda row: replace(row, hash="0" * 16)),
        replace(sound(), findings=()),
        replace(sound(), findings=tuple(replace(f, key=f"x{f.key}") for f in sound().findings)),
    ],
    ids=["other cases", "other texts", "no claims", "other claims"],
)
def test_runs_with_nothing_in_common_are_refused(new):
    """Else "nothing got worse" would be said of runs of which nothing was compared."""
    for old, now in ((sound(), new), (new, sound())):
        with pytest.raises(ConfigError, match="nothing can be compared"):
            compare(old, now)


def test_another_judge_and_cases_that_are_gone_are_in_the_comparison():
    """As data, and in the headline."""
    few = other_cases(biased(), lambda row: row)
    few = replace(
        few,
        judge=replace(few.judge, fingerprint="0" * 64, model="another"),
        cases={"n": 199, "sha256": "d" * 64},
        findings=tuple(replace(f, trials=tuple(r for r in f.trials if r.case != "c000")) for f in few.findings),
    )

    found = compare(sound(), few)

    assert found.gone == ("c000",)
    assert len(found.other_judge) == 1
    assert "another" in found.headline
    assert "c000" in found.headline


def test_a_limit_that_changed_is_shown():
    """A claim that passes now because it asks for less."""
    looser = change(sound(), PLEA, claim=Limit(">=", 0.5))

    assert "limit 0.90 -> 0.50" in render_text(compare(sound(), looser), 200)


def test_nothing_in_a_file_is_obeyed_by_the_terminal():
    """Control characters, line ends and marks of direction are written as escapes."""
    evil = "\x1b[31mx\r\n\u202e"
    one = replace(by_key(sound().findings)[PLEA], key=f"a{evil}", reason=reason_of(evil))
    judge = replace(JUDGE, model=evil)
    rows = tuple(replace(r, case=f"{r.case}{evil}", perturbed=(evil, evil)) for r in one.trials)
    before = replace(
        sound(), findings=(replace(one, trials=tuple(replace(r, case=f"{r.case}{evil}") for r in one.trials)),)
    )
    after = replace(sound(), judge=judge, findings=(replace(one, trials=rows), replace(one, key=f"b{evil}")))

    text = render_text(compare(before, after), 300)

    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\\x1b[31mx\\r\\n\\u202e" in text
    assert "Verdicts that flipped (200)" in text


def test_rubrics_compare_with_their_points():
    """Codes of criteria are shown as JSON."""
    row = ticked().findings[0].trials[0]
    one = ticked().findings[0]
    flipped = replace(row, perturbed=({"kind": False, "short": False},) * 2)
    steady = replace(row, perturbed=({"kind": True, "short": True},) * 2)
    before, after = (replace(ticked(), findings=(replace(one, trials=(r,)),)) for r in (steady, flipped))

    text = render_text(compare(before, after))

    assert '{"kind": true, "short": true} -> {"kind": false, "short": false}' in text
