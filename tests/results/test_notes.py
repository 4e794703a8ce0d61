"""Notes that the rows of a run tell of the judge and the cases."""

from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because
from calm.results.audit import Control, Limit, TrialRecord
from calm.results.notes import notes_of
from tests.reports.planted_audit import finding


def row(number, *, clean=("good", "bad"), room=True, cluster=""):
    """Return the record of one row whose repeats differ, unless told otherwise."""
    return TrialRecord(f"c{number}", "", "", None, clean, ("good",), (), room=room, cluster=cluster)


def probe(count, task="pairwise", **changes):
    """Return a finding about so many cases."""
    return finding(trials=tuple(row(i, **changes) for i in range(count)), task=task)


def test_a_judge_that_repeats_itself_is_told_so():
    """From twenty cases on, over all probes; one that differs once is another judge."""
    frozen = probe(20, clean=("good", "good"))
    differs = replace(frozen, trials=(*frozen.trials, row(99)))

    assert notes_of([frozen]) == [because(Kind.REPEATS_ITSELF, 20)]
    assert "20 cases" in str(notes_of([frozen])[0])
    assert notes_of([differs]) == []
    assert notes_of([probe(19, clean=("good", "good"))]) == []
    assert notes_of([probe(30, clean=("good",))]) == []


def test_a_judge_that_turns_on_rewording_is_told_so(subtests):
    """From one in twenty verdicts on, proven or not; two cases of which none moved say nothing of the kind."""
    claim = {"bias": "rewording", "measure": "rewording_rate", "claim": Limit("<=", 0.15)}
    for value, outcome, told in [
        (0.05, Outcome.PASS, []),
        (0.051, Outcome.PASS, [because(Kind.TURNS_ON_REWORDING, 0.051)]),
        (0.04, Outcome.UNDECIDED, []),
        (0.2, Outcome.UNDECIDED, [because(Kind.TURNS_ON_REWORDING, 0.2)]),
        (0.31, Outcome.FAIL, [because(Kind.TURNS_ON_REWORDING, 0.31)]),
    ]:
        with subtests.test(value, outcome=outcome):
            assert notes_of([finding(**claim, value=value, outcome=outcome, n=60)]) == told
    assert "31% of the verdicts" in str(notes_of([finding(**claim, value=0.31, outcome=Outcome.FAIL, n=60)])[0])


def test_inert_arms_speak_with_the_probe_of_rewording(subtests):
    """By their rows, each probe once; words as long as a sentence are another matter, and so is a run without it."""
    mine = finding(bias="rewording", measure="rewording_rate", claim=Limit("<=", 0.15), value=0.04, n=50)

    def beside(floor, moved, n, **more):
        return finding(control=Control(floor, moved, 0.0, n), **more)

    much = beside("text-5", 0.10, 150)
    for name, found, told in [
        ("more", [mine, much, replace(much, measure="gain")], [because(Kind.TURNS_ON_REWORDING, 0.085)]),
        ("less", [replace(mine, value=0.10), beside("each-text-5, note", 0.02, 150)], []),
        ("long", [mine, beside("text-15, text-5", 0.40, 150)], []),
        ("one variant", [mine, replace(much, reason=because(Kind.VARIANT))], []),
        ("no such probe", [much], []),
    ]:
        with subtests.test(name):
            assert notes_of(found) == told


def test_a_judge_that_turns_on_length_is_told_in_how_many_probes():
    """A probe with several claims counts once."""
    length = because(Kind.SAME_LENGTH, 0.4)
    found = [
        finding(reason=length),
        finding(reason=because(Kind.LISTED, because(Kind.WORST, 3, "book"), length), measure="worst_gain"),
        finding(bias="sentiment", reason=length),
        finding(bias="framing", reason=because(Kind.SAME_PLACE, 0.4)),
    ]

    assert notes_of(found) == [because(Kind.TURNS_ON_LENGTH, 2)]


def observed(pulled, tied, **changes):
    """Return what a run observed of pairs without a cue, in both orders."""
    same = {"bias": "position", "outcome": Outcome.OBSERVED, "claim": None, "perturbation": None, **changes}
    return [finding(measure="slot_pull", value=pulled, **same), finding(measure="tie_rate", value=tied, **same)]


def test_what_a_judge_does_with_equal_answers_is_told(subtests):
    """One thing in 75 of 100 asks at least; else how often it takes either of them."""
    for name, pulled, tied, kind, *shares in [
        ("tie", 0.0, 1.0, Kind.SAYS_TIE, 100),
        ("mostly a tie", 0.1, 0.8, Kind.SAYS_TIE, 80),
        ("first", 1.0, 0.0, Kind.TAKES_FIRST, 100),
        ("first at the edge", 0.5, 0.0, Kind.TAKES_FIRST, 75),
        ("last", -0.8, 0.1, Kind.TAKES_LAST, 85),
        ("a coin", 0.0, 0.0, Kind.TAKES_EITHER, 50, 50),
        ("a coin that leans", 0.48, 0.0, Kind.TAKES_EITHER, 74, 26),
        ("ties and a coin", 0.0, 0.5, Kind.TAKES_EITHER, 25, 25),
    ]:
        with subtests.test(name):
            assert notes_of(observed(pulled, tied)) == [because(kind, *shares)]


def test_what_a_judge_does_with_equal_answers_is_told_in_words():
    """A judge that goes by the slot is told to be asked in both orders."""
    said = [str(notes_of(observed(pulled, tied))[0]) for pulled, tied in ((0, 0.9), (0.9, 0), (-0.9, 0), (0, 0))]

    assert said == [
        "between two equal answers the judge says tie in 90 of 100 asks",
        "between two equal answers the judge takes the first in 95 of 100 asks: ask in both orders",
        "between two equal answers the judge takes the last in 95 of 100 asks: ask in both orders",
        "between two equal answers the judge takes the first in 50 of 100 asks, the last in 50",
    ]


def test_nothing_is_said_of_equal_answers_that_were_not_asked_about():
    """One of the two figures alone, a claim, an edit, or no value."""
    pulled, tied = observed(1.0, 0.0)

    assert notes_of([pulled]) == notes_of([tied]) == []
    assert notes_of([replace(pulled, value=None), tied]) == []
    assert notes_of(observed(1.0, 0.0, outcome=Outcome.PASS)) == []
    assert notes_of(observed(1.0, 0.0, perturbation="same_text")) == []


def test_texts_that_no_probe_showed_are_named():
    """A row that shows one names it; a record of no texts has none to name."""
    some = probe(3)
    shows = replace(some, trials=(*some.trials[:2], replace(some.trials[2], own="sad")))

    assert notes_of([shows], {"texts": {"sad": 4, "polish": 2}}) == [because(Kind.TEXTS_UNASKED, "polish", 2)]
    assert notes_of([some], {"texts": {"sad": 4}}) == [because(Kind.TEXTS_UNASKED, "sad", 4)]
    assert notes_of([shows], {"texts": {"sad": 4}}) == notes_of([some]) == []


def test_a_saving_is_said_only_where_there_is_one():
    """Close claims are asked again, and may take more asks than all cases once."""
    for share, told in [
        (0.25, "early stopping saved 25% of the calls"),
        (-1.4, "close results were asked about again; this took 140% more calls"),
        (0.001, "close results were asked about again; this took no more calls"),
    ]:
        assert str(because(Kind.STOPPED_EARLY, 30, share, 40)) == told


def test_room_is_told_of_judges_that_give_scores():
    """A case counts if an answer can gain in any of its rows."""
    scored = probe(10, task="score", room=False)
    some = replace(scored, trials=(*scored.trials, row(3), row(4), row(5), row(77)))

    assert notes_of([some]) == [because(Kind.ROOM, 4, 11)]
    assert "4 of 11 cases" in str(notes_of([some])[0])
    assert str(notes_of([probe(10, task="points")])[0]).startswith("in all 10 cases")
    assert notes_of([probe(10, room=False)]) == []


def test_cases_about_few_questions_are_counted_by_question(subtests):
    """Sixty cases of seven questions; from thirty questions on, or where each case is its own, nothing is said."""
    for cases, questions, told in [
        (60, 7, [because(Kind.FEW_CLUSTERS, 60, 7)]),
        (60, 29, [because(Kind.FEW_CLUSTERS, 60, 29)]),
        (60, 30, []),
        (10, 10, []),
    ]:
        with subtests.test(cases=cases, questions=questions):
            rows = tuple(row(i, cluster=f"q{i % questions}") for i in range(cases))

            assert notes_of([finding(trials=rows)]) == told
    assert str(because(Kind.FEW_CLUSTERS, 60, 7)) == (
        "60 cases are about 7 questions: every interval rests on 7, not on 60"
    )


def test_the_languages_of_the_cases_are_named():
    """The most frequent first, with the command that lists what was asked, and what has no words of its own."""
    said = str(notes_of([], {"n": 9, "languages": {"nl": 1, "de": 5}})[0])

    assert said.startswith("of 9 cases 5 are in German, 1 is in Dutch: ")
    assert "`calm perturb --list --language de`" in said
    assert said.endswith("neutral words are English, as there are none in Dutch")
    assert notes_of([], {"n": 9}) == []


def test_a_judge_that_uses_a_small_part_of_its_scale_is_told_which(subtests):
    """From twenty scores on that differ, by a fifth of the scale at most; as the judge writes them, and as no fault."""
    wide = {"low": 0.0, "high": 100.0, "step": 1.0}

    def scores(values, scale=wide, **changes):
        rows = tuple(row(i, clean=(value,), room=True) for i, value in enumerate(values))
        return finding(trials=rows, task="score", scale=scale, expects="SAME", **changes)

    used = because(Kind.SCORES_NARROW, 20, 2.0, 9.0, 0.0, 100.0, 0.07)
    for name, found, told in [
        ("a tenth", scores([2.0, 9.0] * 10), [used]),
        ("few", scores([2.0, 9.0] * 9), []),
        ("constant", scores([9.0] * 20), []),
        ("wide", scores([2.0, 23.0] * 10), []),
        ("unread", scores([2.0, 9.0, "!unreadable"] * 10), [used]),
        ("steps of a fifth and more", scores([4.0, 5.0] * 10, {"low": 1.0, "high": 5.0, "step": 1.0}), []),
        ("all good", scores([9.0, 10.0] * 10, {"low": 1.0, "high": 10.0}), None),
    ]:
        with subtests.test(name):
            notes = notes_of([found])
            assert notes == told if told is not None else "between 9 and 10, and the scale is 1 to 10" in str(notes[0])
    words = str(used)
    assert words == (
        "the judge used a part of its scale: all 20 scores of the cases as they are lie between 2 and 9, and the scale "
        "is 0 to 100. Limits are shares of the whole scale, and all of this range is 7% of it"
    )
