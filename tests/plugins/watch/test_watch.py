"""Watching: a history holds all runs or says that it does not; alarms come of drift, and hardly ever without."""

import json
from dataclasses import replace
from hashlib import sha256
from math import fsum
from random import Random

import pytest

from calm.cases.generate import generate
from calm.core.verdict import Criteria, Preferred, Ranking, Refused, Scale, Score, Tie, Unreadable
from calm.errors import ConfigError
from calm.plugins.watch.alarm import LOOKS, Promise
from calm.plugins.watch.comparison import compare
from calm.plugins.watch.history import (
    History,
    Reference,
    Run,
    agreement,
    anchors_of,
    held,
    read_history,
    said,
    verdict_in,
    with_run,
)
from calm.plugins.watch.report import in_words

PAIRS = list(generate("pairwise", 60, 1))
REFERENCE = Reference("judge", "f-1", "pairwise", 2, Promise())
SCALE = Scale()


def other(case):
    """Return the answer that is not the better one."""
    return next(answer.id for answer in case.answers if answer.id != case.better)


def asked(cases, number, errs, asks=2, seed=0):
    """Return a run of a judge that errs with a probability on each case."""
    rng = Random(f"{seed} {number}")
    rows = []
    for case in cases:
        wrong = errs(case) if callable(errs) else errs
        rows.append(tuple(said(Preferred(other(case) if rng.random() < wrong else case.better)) for _ in range(asks)))
    return Run(number, f"2026-01-{number:03}", anchors_of(cases), tuple(rows))


def first_alarm(runs, cases=PAIRS):
    """Return the number of the first run that raises an alarm, with what was found there; None if none does."""
    for count in range(1, len(runs) + 1):
        found = compare(runs[:count], cases, SCALE, Promise())
        if found.alarm:
            return count, found
    return None


# --------------------------------------------------------------------------------------------------------------- alarms


def test_a_judge_that_does_not_move_raises_no_alarm():
    """Seeds are fixed: chance has no part in it."""
    assert first_alarm([asked(PAIRS, number, 0.1) for number in range(1, 31)]) is None


def test_one_that_repeats_itself_all_day_is_no_drift_either():
    """Both asks of a run say the same, another day perhaps something else: runs are compared, not asks."""
    runs = [asked(PAIRS, number, 0.2, asks=1) for number in range(1, 31)]

    assert first_alarm([replace(run, verdicts=tuple(row * 2 for row in run.verdicts)) for run in runs]) is None


def test_a_sudden_drift_is_reported_as_a_fall():
    """From run 16 on a fifth of the verdicts is turned over; noise is .05 before and after."""
    moved = {case.id for case in PAIRS[::5]}

    def errs(case):
        return 0.95 if case.id in moved else 0.05

    runs = [asked(PAIRS, number, 0.05 if number < 16 else errs) for number in range(1, 26)]
    number, found = first_alarm(runs)

    assert 16 <= number <= 18
    assert {sign.test for sign in found.signs if sign.raised} <= {"moved", "down"}
    assert {one.id for one in found.figures.moved[:6]} <= moved
    assert -0.26 < found.figures.favour.value < -0.1
    assert found.figures.gold[1] - found.figures.gold[0] == pytest.approx(found.figures.favour.value)
    assert found.mix.cases == pytest.approx(0)


def test_a_change_that_makes_up_for_itself_is_reported_too():
    """As many verdicts move to the better answer as away from it: the mean stays, and the test `moved` sees it."""
    wrong = {case.id for case in PAIRS[:20]}
    later = {case.id for case in PAIRS[10:30]}

    def errs(now):
        return lambda case: 0.97 if case.id in now else 0.03

    runs = [asked(PAIRS, number, errs(wrong if number < 16 else later)) for number in range(1, 26)]
    number, found = first_alarm(runs)

    assert 16 <= number <= 18
    assert {sign.test for sign in found.signs if sign.raised} == {"moved"}


def test_a_slow_drift_is_reported():
    """From .05 to .45 over 40 runs."""
    runs = [asked(PAIRS, number, 0.05 + 0.01 * max(0, number - 10)) for number in range(1, 51)]

    assert 15 < first_alarm(runs)[0] < 50


def test_replies_that_cannot_be_read_are_a_drift():
    """Half of them from run 13 on; before, all could be read."""
    runs = [asked(PAIRS, number, 0.05) for number in range(1, 15)]
    silent = said(Unreadable("no verdict"))
    broken = [
        replace(run, verdicts=tuple((silent,) * 2 if i % 2 else row for i, row in enumerate(run.verdicts)))
        if run.number > 12
        else run
        for run in runs
    ]
    number, found = first_alarm(broken)

    assert number == 13
    assert found.readable == 0.5
    assert found.readable_before == 1.0


def test_runs_with_an_alarm_are_in_no_reference():
    """A judge that moved stays reported, run after run; one that came back is not reported any more."""
    runs = [asked(PAIRS, number, 0.05) for number in range(1, 13)]
    away = [replace(asked(PAIRS, number, 0.8), alarm=True) for number in range(13, 43)]
    still = compare([*runs, *away], PAIRS, SCALE, Promise())
    back = compare([*runs, *away, asked(PAIRS, 43, 0.05)], PAIRS, SCALE, Promise())

    assert still.alarm
    assert still.figures.favour.value < -0.6
    assert not back.alarm
    assert back.earlier_alarms == tuple(range(13, 43))


def test_the_first_run_is_compared_with_nothing():
    """And the second with one."""
    runs = [asked(PAIRS, number, 0.05) for number in (1, 2)]

    assert compare(runs[:1], PAIRS, SCALE, Promise()).signs == ()
    assert {sign.look for sign in compare(runs, PAIRS, SCALE, Promise()).signs} == {LOOKS[0]}


# ---------------------------------------------------------------------------------------------- what could raise one


def turned_at_the_end(anchors, count, window):
    """Return what is found in the last of so many runs, if all anchors turn over in the last `window` of them."""
    cases = PAIRS[:anchors]
    runs = [asked(cases, number, float(number > count - window)) for number in range(1, count + 1)]
    return compare(runs, cases, SCALE, Promise())


@pytest.mark.parametrize("count", [2, 3, 4, 5, 8, 12])
def test_with_so_many_anchors_a_drift_can_raise_an_alarm_and_with_one_less_none_can(count):
    """The number that is told is the least: all anchors turn over at once, in the last 1, 3 or 9 runs."""
    windows = [window for window in (1, 3, 9) if window < count]
    least = turned_at_the_end(3, count, 1).reach.least

    assert any(turned_at_the_end(least, count, window).alarm for window in windows)
    assert all(turned_at_the_end(least, count, window).reach.possible for window in windows)
    assert not any(turned_at_the_end(least - 1, count, window).alarm for window in windows)
    assert not any(turned_at_the_end(least - 1, count, window).reach.possible for window in windows)


@pytest.mark.parametrize("anchors", [3, 5, 8, 10])
def test_few_anchors_raise_an_alarm_from_the_run_on_that_is_told(anchors):
    """The first run tells in which one: a judge that turns over completely raises none before."""
    quiet = compare([asked(PAIRS[:anchors], 1, 0.0)], PAIRS[:anchors], SCALE, Promise())
    told = in_words(quiet, REFERENCE)
    first = quiet.reach.first

    assert f"with {anchors} anchors, no drift of any size can raise an alarm in run 2; that takes 19 anchors" in told
    assert f"one can in run {first} at the soonest" in told
    assert any(turned_at_the_end(anchors, first, window).alarm for window in (1, 3, 9) if window < first)
    assert not any(turned_at_the_end(anchors, count, w).alarm for count in range(2, first) for w in (1, 3) if w < count)


def test_a_run_in_which_no_alarm_was_possible_does_not_speak_of_noise():
    """Three anchors that all turn over: no figure may look like a test that was passed."""
    found = turned_at_the_end(3, 4, 1)
    told = in_words(found, REFERENCE)

    assert "no alarm, and none was possible: too few anchors for so few runs" in told or "no alarm yet" in told
    assert "with 3 anchors, no drift of any size can raise an alarm today" in told
    assert "would have raised the alarm" not in told
    assert "own noise could" not in told


def test_the_shift_that_is_told_raises_the_alarm_and_a_smaller_one_does_not():
    """It is planted: as many anchors turn over as make up the shift, and one less."""
    runs = [asked(PAIRS, number, 0.0) for number in range(1, 9)]
    needed = compare(runs, PAIRS, SCALE, Promise()).needed
    count = round(needed["down"] * len(PAIRS))

    def fell(turned):
        moved = {case.id for case in PAIRS[:turned]}
        last = asked(PAIRS, 8, lambda case: float(case.id in moved))
        return next(s for s in compare([*runs[:-1], last], PAIRS, SCALE, Promise()).signs if s.test == "down")

    assert needed["up"] is None  # it is at its end already
    assert 0 < needed["down"] < 0.3
    assert fell(count).raised
    assert fell(count).shift == pytest.approx(needed["down"])
    assert not fell(count - 1).raised


def test_the_shift_that_is_told_does_not_depend_on_what_today_gave():
    """A judge that moved is told the same figure as one that did not: it is about the reference."""
    runs = [asked(PAIRS, number, 0.1) for number in range(1, 9)]
    still, moved = ([*runs, asked(PAIRS, 9, errs)] for errs in (0.0, 0.6))

    assert compare(still, PAIRS, SCALE, Promise()).needed == compare(moved, PAIRS, SCALE, Promise()).needed


def test_bounds_of_a_shift_stay_within_what_a_shift_can_be():
    """Two anchors, one of which turned over."""
    cases = PAIRS[:2]
    found = compare(
        [asked(cases, 1, 0.0), asked(cases, 2, lambda case: float(case is cases[0]))], cases, SCALE, Promise()
    )
    figures = found.figures

    for one in (figures.beyond, figures.favour):
        assert -1 <= one.low <= one.value <= one.high <= 1


# ---------------------------------------------------------------------------------------------------------------- words


def test_earlier_alarms_are_told_from_the_first_to_the_last():
    """The first one is when the drift began."""
    runs = [
        replace(asked(PAIRS, number, 0.05 if number < 6 else 0.9), alarm=5 < number < 10) for number in range(1, 12)
    ]

    assert "earlier alarms: 4, in runs 6 to 9; " in in_words(compare(runs[:10], PAIRS, SCALE, Promise()), REFERENCE)
    one = [replace(run, alarm=run.number == 6) for run in runs]
    assert "earlier alarms: 1, in run 6; " in in_words(compare(one, PAIRS, SCALE, Promise()), REFERENCE)
    many = [replace(run, alarm=run.number % 2 == 0) for run in runs]
    assert "earlier alarms: 5, in runs 2, ..., 6, 8, 10; " in in_words(
        compare(many, PAIRS, SCALE, Promise()), REFERENCE
    )


def test_a_score_has_one_name_and_points():
    """In what raised the alarm and in the figures; and agreement with gold says what it is."""
    cases = list(generate("score", 60, 1))
    rows = [tuple((said(Score(value)),) * 2 for _ in cases) for value in (7.0, 7.0, 7.0, 7.0, 5.5)]
    runs = [Run(number, "", anchors_of(cases), row) for number, row in enumerate(rows, start=1)]
    reference = replace(REFERENCE, task="score")
    told = in_words(compare(runs, cases, SCALE, Promise()), reference)

    assert "today, the score fell by 0.17 (1.5 points of 1 to 10): by chance" in told
    assert "score, as a share of the scale: moved by -0.17 [" in told
    assert "(-1.5 points of 1 to 10)" in told
    assert "agreement with gold (1 less the distance from gold, as a share of the scale): " in told
    assert "favour" not in told


def test_anchors_that_changed_are_named_and_those_left_out_are_explained():
    """One is named; of many, the first three."""
    runs = [asked(PAIRS, number, 0.0) for number in (1, 2)]

    def told(changed, more=()):
        cases = [
            replace(one, question=f"{one.question} Please.") if i < changed else one for i, one in enumerate(PAIRS)
        ]
        every = [*runs, asked(cases, 3, 0.0), *more]
        return in_words(compare(every, cases, SCALE, Promise()), REFERENCE)

    first = PAIRS[0].id
    assert f"anchors: 0 added, 0 removed, 1 changed ({first}) since the run before" in told(1)
    assert "compared today: 59 of 60 anchors; left out: 1 new or changed, compared from run 4 on" in told(1)
    assert "5 changed (" in told(5)
    assert " and 2 more) since" in told(5)

    silent = replace(runs[1], verdicts=((), *runs[1].verdicts[1:]))
    assert "compared today: 59 of 60 anchors; left out: 1 without a reply today" in in_words(
        compare([runs[0], silent], PAIRS, SCALE, Promise()), REFERENCE
    )


# ---------------------------------------------------------------------------------------------------------------- cases


def test_the_mean_differs_by_the_judge_and_by_the_cases_and_by_nothing_else():
    """The two parts make up the whole; without drift, what easier anchors change is charged to them."""
    hard = {case.id for case in PAIRS[:30]}

    def errs(case):
        return 0.5 if case.id in hard else 0.0

    before = [asked(PAIRS[:45], number, errs) for number in range(1, 21)]
    found = compare([*before, asked(PAIRS[25:], 21, errs)], PAIRS, SCALE, Promise())
    mix = found.mix

    assert (found.added, found.removed, found.changed, found.shared) == (15, 25, (), 20)
    assert fsum((mix.judge, mix.cases)) == pytest.approx(mix.total, abs=1e-15)
    assert mix.cases > 0.15
    assert abs(mix.judge) < 0.06


def test_a_case_with_another_text_is_another_case():
    """Not one with other gold: the judge is asked the same."""
    runs = [asked(PAIRS, number, 0.0) for number in (1, 2)]
    reworded = [replace(PAIRS[0], question=f"{PAIRS[0].question} Please."), *PAIRS[1:]]
    relabelled = [replace(PAIRS[0], better=other(PAIRS[0])), *PAIRS[1:]]

    assert compare([*runs, asked(reworded, 3, 0.0)], reworded, SCALE, Promise()).changed == (PAIRS[0].id,)
    assert compare([*runs, asked(relabelled, 3, 0.0)], relabelled, SCALE, Promise()).changed == ()


def test_anchors_without_a_reply_today_are_left_out():
    """A run may lose some."""
    runs = [asked(PAIRS, number, 0.0) for number in (1, 2)]
    gone = replace(runs[1], verdicts=((), *runs[1].verdicts[1:]))

    assert compare([runs[0], gone], PAIRS, SCALE, Promise()).shared == 59


@pytest.mark.parametrize(
    ("task", "right", "wrong"),
    [
        ("score", lambda c: Score(c.scores[c.answers[0].id]), lambda c: Unreadable("")),
        ("rubric", lambda c: Criteria(c.met[c.answers[0].id]), lambda c: Refused("")),
        ("points", lambda c: Score(points(c)), lambda c: Unreadable("")),
        ("pairwise", lambda c: Preferred(c.better), lambda c: Preferred(other(c))),
    ],
)
def test_agreement_with_gold_is_one_for_gold(task, right, wrong):
    """And nothing for the opposite, or for a verdict that says nothing."""
    scale = Scale(0.0, 1.0) if task == "points" else SCALE
    for case in generate(task, 20, 3):
        assert agreement(right(case), case, scale) == pytest.approx(1)
        assert agreement(wrong(case), case, scale) == 0


def points(case):
    """Return the share of its points that an answer earns by gold."""
    met = case.met[case.answers[0].id]
    weights = [(abs(c.points), met[c.id] == (c.points > 0)) for c in case.criteria]
    return sum(w for w, earned in weights if earned) / sum(w for w, _ in weights)


# -------------------------------------------------------------------------------------------------------------- history

VERDICTS = [
    Preferred("good"),
    Preferred("good", {"good": 0.75, "bad": 0.25}),
    Tie(),
    Score(7.5),
    Criteria({"c1": True, "c2": None}),
    Ranking((("a", "b"), ("c",))),
    Unreadable(""),
]


@pytest.mark.parametrize("verdict", VERDICTS, ids=lambda verdict: type(verdict).__name__)
def test_a_verdict_is_kept_as_it_is(verdict):
    """With its probabilities, to two decimals."""
    assert verdict_in(said(verdict)) == verdict


def kept(path, count=4):
    """Write a history of some runs and return it; after two runs other cases are asked."""
    history = History()
    for number in range(1, count + 1):
        run = asked(PAIRS[:5] if number < 3 else PAIRS[1:7], number, 0.3)
        history = with_run(path, history, REFERENCE, replace(run, alarm=number == 2, served={"m": f"m-{number}"}))
    return history


def test_a_history_reads_as_it_was_written(tmp_path):
    """All runs, with their anchors, and the points where these changed."""
    path = tmp_path / "watch.jsonl"
    history = kept(path)

    assert read_history(path) == history
    assert [run.alarm for run in history.runs] == [False, True, False, False]
    assert path.read_text("utf-8").count('"anchors"') == 2


def test_a_new_reference_leaves_the_old_runs_in_the_file(tmp_path):
    """They are not compared any more, and their numbers are not used again."""
    path = tmp_path / "watch.jsonl"
    history = with_run(path, kept(path), replace(REFERENCE, fingerprint="f-2"), asked(PAIRS, 5, 0.0))

    assert read_history(path) == history
    assert (len(history.runs), history.count) == (1, 5)
    assert path.read_text("utf-8").count('{"run":') == 5


def test_every_change_of_a_history_is_noticed(tmp_path):
    """A line that is cut, changed, moved or gone (but for the last ones), and an end without a line break."""
    path = tmp_path / "watch.jsonl"
    kept(path)
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    rng = Random(1)
    wrong = [whole[:cut] for cut in rng.sample(range(1, len(whole)), 40) if not whole[:cut].endswith(b"\n")]
    wrong += [b"".join(lines[:i] + lines[i + 1 :]) for i in range(len(lines) - 1)]
    wrong += [b"".join([*lines[:-2], lines[-1], lines[-2]]), whole + b"\n", b"\n" + whole, whole + lines[-1], b"\x00"]
    for place in rng.sample(range(len(whole)), 60):
        wrong.append(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    for text in wrong:
        path.write_bytes(text)

        with pytest.raises(ConfigError, match=r"watch\.jsonl: line \d+: expected a line as `calm watch` wrote it"):
            read_history(path)
        assert path.read_bytes() == text


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        (0, {"rate": "0.01"}),
        (0, {"horizon": 0}),
        (0, {"asks": None}),
        (0, {"task": "poetry"}),
        (0, {"judge": {"name": 3, "fingerprint": None, "about": {}}}),
        (0, {"schema": "calm-watch-history/9"}),
        (1, {"anchors": [["a", "b", 3, {}]] * 5}),
        (1, {"anchors": [["a", "b"]] * 5}),
        (2, {"said": [{}]}),
        (2, {"said": [{"code": None}] * 2}),
        (2, {"said": [{"code": "good", "p": {"good": "much"}}] * 2}),
        (2, {"verdicts": [[9]] * 5}),
        (2, {"verdicts": [[0]] * 4}),
        (2, {"run": 0}),
        (2, {"at": 7}),
        (2, {"alarm": "no"}),
        (2, {"served": {"m": 1}}),
    ],
)
def test_a_forged_line_with_the_right_checksum_is_refused_too(tmp_path, line, changed):
    """Whoever can write the file can compute the checksum; what makes no sense is refused all the same."""
    path = tmp_path / "watch.jsonl"
    kept(path, 1)
    before, texts = "", []
    for number, text in enumerate(path.read_text("utf-8").splitlines()):
        body = {name: value for name, value in json.loads(text).items() if name != "sum"}
        forged = json.dumps(body | (changed if number == line else {}), separators=(",", ":"))[:-1]
        before = sha256(f"{before}{forged}".encode()).hexdigest()[:16]
        texts.append(f'{forged},"sum":"{before}"}}\n')
    path.write_text("".join(texts), "utf-8")

    with pytest.raises(ConfigError, match=rf"watch\.jsonl: line {line + 1}: expected a line as"):
        read_history(path)


def test_the_whole_lines_of_a_damaged_history_are_a_history(tmp_path):
    """What the message advises works."""
    path = tmp_path / "watch.jsonl"
    history = kept(path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))

    assert read_history(path).runs == history.runs[:-1]


def test_two_processes_cannot_use_one_history(tmp_path):
    """The second is told so at once; when the first is done, it gets what the first left."""
    path = tmp_path / "watch.jsonl"
    with held(path):
        with pytest.raises(ConfigError, match="another `calm watch` is using this history now"), held(path):
            pass
        kept(path)
    with held(path):
        assert read_history(path).count == 4


def test_a_link_to_a_history_is_locked_as_the_history(tmp_path):
    """Else two runs would ask at once, and the second would write over what the first found."""
    path, link = tmp_path / "watch.jsonl", tmp_path / "elsewhere" / "link.jsonl"
    link.parent.mkdir()
    link.symlink_to(path)
    with held(path), pytest.raises(ConfigError), held(link):
        pass
    with held(link), pytest.raises(ConfigError), held(path):
        pass


def test_a_history_grows_by_what_was_said(tmp_path):
    """Counted: a verdict takes at most four bytes where few differ, and a run some hundred more."""
    path = tmp_path / "watch.jsonl"
    cases = list(generate("pairwise", 200, 0))
    history = with_run(path, History(), REFERENCE, asked(cases, 1, 0.1))
    before = path.stat().st_size
    with_run(path, history, REFERENCE, asked(cases, 2, 0.1))

    assert path.stat().st_size - before <= 200 * (2 * 2 + 2) + 200
    assert json.loads(path.read_text("utf-8").splitlines()[-1])["run"] == 2
