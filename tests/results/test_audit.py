"""The record of a run: round trip, atomic writing, damaged files, what makes it green."""

import json
from dataclasses import replace

import pytest

from calm.core.claims import Claim, Decision, Estimate, Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import MEASURES, pull, worst_pull
from calm.core.reasons import NONE, Kind, because, counted, reason_of
from calm.core.texts import Exchange
from calm.core.trials import CUED, Trial, Trials
from calm.core.verdict import Criteria, Preferred, Ranking, Refused, Scale, Score, Tie, Unreadable
from calm.errors import ConfigError
from calm.experiment.run import run
from calm.results.audit import (
    AGREEMENT,
    CONTROLS,
    Audit,
    CaseTexts,
    Finding,
    JudgeRecord,
    Limit,
    Run,
    TrialRecord,
    finding_from_json,
    finding_to_json,
    read,
    texts_path,
    write,
)
from calm.results.findings import finding
from calm.results.records import trials_of
from calm.results.steps import verdict_of
from tests.planted import Planted, pairs, setup

JUDGE = JudgeRecord(
    name="j",
    task="pairwise",
    fingerprint="f" * 64,
    model="m",
    served="m-1",
    prompt_sha256=None,
    scale={"low": 1.0, "high": 10.0, "step": None, "best": "high"},
    parameters={"temperature": 0.0, "nested": {"list": [1, "a", None, True]}},
    about={"reads": ["question"]},
)
TRIALS = (
    TrialRecord("c1", "book", "ab", "good", ("good", "tie"), ("!unreadable", "bad"), ()),
    TrialRecord("c2", "url", "cd", None, (7.0, 6.5), (3.0, 3.0), (2.0,)),
    TrialRecord(
        "c3",
        "",
        "",
        None,
        ({"a": True, "b": None},),
        ([["a", "b"], ["c"]],),
        (),
        inert=("!refused",),
        floor="text-10",
        cluster="q",
        target="a",
        damaged="b",
        hit="c",
        room=False,
    ),
)
ONE = Finding(
    key="authority/gain",
    node="suites/test_authority.py::test_x",
    bias="authority",
    perturbation="book@0.5",
    expects="NOT_BETTER",
    dose=0.5,
    summary="Append an invented book.",
    task="pairwise",
    measure="gain",
    claim=Limit("<=", 0.1),
    outcome=Outcome.PASS,
    reason=NONE,
    value=0.01,
    low=-0.02,
    high=0.05,
    level=0.03,
    n=200,
    excluded={because(Kind.APPLIES_NOT): 3},
    robustness_rate=0.98,
    consistency_rate=None,
    flips={"toward": 1, "away": 0, "other": 2},
    cases_to_decide=None,
    channel="answer",
    asserted=True,
    accepted=None,
    asks="4+2",
    against="neutral",
    baseline={"value": 0.0, "low": -0.1, "high": 0.1, "outcome": "PASS"},
    trials=TRIALS,
)
BARE = replace(
    ONE,
    claim=None,
    outcome=Outcome.NOT_TESTED,
    reason=because(Kind.NOT_SHOWN, "notes"),
    value=None,
    low=None,
    high=None,
    level=None,
    n=0,
    against=None,
    baseline=None,
    trials=(),
)
TEXTS = CaseTexts(
    case="c1",
    hash="ab",
    question="Why?\u2028Say \x85 \x0b \x1e why. \udc80",
    reference=None,
    better="good",
    prompts={"p1": ({"role": "user", "text": "Which?\nA\r\nB"},)},
    answers={"clean": {"good": "So.", "bad": "No."}, "perturbed": {"good": "So.", "bad": "No. (Book)"}},
    clean=((Exchange("p1", "[[A]]"), Exchange("p1", "[[B]]")), ()),
    perturbed=((Exchange("p1", ""),),),
)
AUDIT = Audit(
    calm="0.1.0",
    judge=JUDGE,
    cases={"n": 200, "sha256": "c" * 64, "names": ["pairwise-1"]},
    seed=7,
    repeats="4+2",
    findings=(ONE, BARE),
    run=Run(
        "2026-01-01",
        1.5,
        {"made": 3},
        {"input": 10},
        None,
        {"authority/gain": {"seconds": 0.5}},
        (reason_of("a note"),),
    ),
    texts=(TEXTS,),
)


def test_an_audit_survives_its_json():
    """Every field, verdict codes of every kind, and optional parts that are not there."""
    body = json.loads(json.dumps(AUDIT.to_json()))

    again = Audit.from_json(body)

    assert again == replace(AUDIT, texts=())
    assert again.to_json() == AUDIT.to_json()


def test_the_json_begins_with_schema_and_names_the_outcome():
    """The keys stand in the order of the schema."""
    body = AUDIT.to_json()

    told = ["schema", "calm", "judge", "cases", "seed", "repeats", "stopping", "limits", "outcome", "tests"]
    assert list(body) == [*told, "faults", "findings", "run"]
    assert (body["schema"], body["outcome"]) == ("calm-results/2", "PASS")


def test_an_audit_survives_its_files(tmp_path):
    """With its texts beside it, whatever line separators and surrogates they hold."""
    path = tmp_path / "deep" / "results.json"

    write(AUDIT, path)

    assert read(path) == AUDIT
    assert texts_path(path) == tmp_path / "deep" / "results.texts.jsonl"
    assert len(texts_path(path).read_bytes().strip().split(b"\n")) == 1


def test_an_audit_without_its_texts_can_be_read(tmp_path):
    """The texts file may have been left behind."""
    path = tmp_path / "results.json"
    write(AUDIT, path)
    texts_path(path).unlink()

    assert read(path) == replace(AUDIT, texts=())


def test_a_finding_survives_its_json():
    """As it travels from a worker."""
    assert finding_from_json(json.loads(json.dumps(finding_to_json(ONE)))) == ONE
    assert finding_from_json(json.loads(json.dumps(finding_to_json(BARE)))) == BARE


def damaged(change):
    body = json.loads(json.dumps(AUDIT.to_json()))
    change(body)
    return json.dumps(body)


def first(body):
    return body["findings"][0]


def test_damaged_results_are_refused(tmp_path, subtests):
    """No traceback: an error of configuration that names what is wrong."""
    for text, named in [
        ("", "results.json"),
        ("{", "results.json"),
        ("[]", "names no schema"),
        ("\x00", "results.json"),
        ("[" * 100_000, "results.json"),
        ('{"schema": "calm-results/3"}', "calm-results/3"),
        ('{"schema": "calm-results/2"}', "calm"),
        ("{}", "names no schema"),
        (damaged(lambda b: b.pop("seed")), "seed"),
        (damaged(lambda b: b.update(seed="x")), "x"),
        (damaged(lambda b: b.update(findings={})), "list"),
        (damaged(lambda b: b.update(findings=[3])), "object"),
        (damaged(lambda b: b.update(judge=None)), "object"),
        (damaged(lambda b: b["judge"].pop("name")), "name"),
        (damaged(lambda b: b["judge"].update(extra=1)), "extra"),
        (damaged(lambda b: b["run"].update(extra=1)), "extra"),
        (damaged(lambda b: first(b).pop("n")), "n"),
        (damaged(lambda b: first(b).update(outcome="GREEN")), "GREEN"),
        (damaged(lambda b: first(b).update(claim=3)), "object"),
        (damaged(lambda b: first(b).update(claim={"op": "<="})), "limit"),
        (damaged(lambda b: first(b).update(trials=3)), "list"),
        (damaged(lambda b: first(b)["trials"][0].pop("clean")), "clean"),
        (damaged(lambda b: first(b).update(n="many")), "n="),
        (damaged(lambda b: first(b).update(value="0.1")), "value="),
        (damaged(lambda b: first(b).update(excluded=[])), "excluded="),
        (damaged(lambda b: first(b).update(key=None)), "key="),
        (damaged(lambda b: first(b)["claim"].update(op="==")), "op="),
        (damaged(lambda b: first(b)["claim"].update(limit="0.1")), "limit="),
    ]:
        with subtests.test(text=text, named=named):
            path = tmp_path / "results.json"
            path.write_text(text)

            with pytest.raises(ConfigError) as caught:
                read(path)

            assert named in str(caught.value)


def test_damaged_texts_are_refused(tmp_path, subtests):
    """The file beside the results is read with the same care."""
    for text in ["{", "3\n", "{}\n", '{"case": "c1"}\n', "\udc80"]:
        with subtests.test(text=text):
            path = tmp_path / "results.json"
            texts_path(path).unlink(missing_ok=True)
            write(AUDIT, path)
            texts_path(path).write_bytes(text.encode("utf-8", "surrogateescape"))

            with pytest.raises(ConfigError):
                read(path)


def test_a_missing_file_is_named(tmp_path):
    """Or a folder in its place."""
    with pytest.raises(ConfigError, match=r"nowhere\.json: there is no such file \(expected a results file"):
        read(tmp_path / "nowhere.json")
    with pytest.raises(ConfigError, match="expected a results file"):
        read(tmp_path)


def test_the_worst_finding_decides_and_nothing_proven_is_never_green(subtests):
    """FAIL before INCOMPLETE before UNDECIDED; without one PASS the audit is incomplete."""
    for outcomes, whole in [
        ((), "INCOMPLETE"),
        (("NOT_TESTED", "OBSERVED"), "INCOMPLETE"),
        (("PASS", "NOT_TESTED"), "PASS"),
        (("PASS", "UNDECIDED"), "UNDECIDED"),
        (("PASS", "UNDECIDED", "INCOMPLETE"), "INCOMPLETE"),
        (("UNDECIDED", "FAIL", "INCOMPLETE"), "FAIL"),
    ]:
        with subtests.test(outcomes=outcomes, whole=whole):
            found = tuple(replace(ONE, outcome=Outcome(o)) for o in outcomes)

            assert replace(AUDIT, findings=found).outcome is Outcome(whole)


def test_an_accepted_finding_is_not_red():
    """But it proves nothing either."""
    waived = replace(ONE, outcome=Outcome.FAIL, accepted="known, until May")

    assert not waived.red
    assert replace(AUDIT, findings=(waived,)).outcome is Outcome.INCOMPLETE
    assert replace(AUDIT, findings=(waived, ONE)).outcome is Outcome.PASS


def test_the_controls_are_no_biases():
    """Consistency and sensitivity are counted apart; a bias with nothing but NOT_TESTED was not tested."""
    found = (replace(ONE, bias="consistency"), replace(ONE, bias="sensitivity"), BARE, replace(ONE, bias="framing"))
    audit = replace(AUDIT, findings=found)

    assert audit.biases == ("authority", "framing")
    assert (audit.tested("authority"), audit.tested("framing")) == (False, True)
    for n, tested in ((0, False), (1, True)):  # a judge that answered nothing was not tested
        capped = replace(ONE, bias="framing", outcome=Outcome.INCOMPLETE, n=n)
        assert replace(AUDIT, findings=(capped,)).tested("framing") is tested
    assert audit.of(Outcome.NOT_TESTED) == (BARE,)


def test_a_variant_by_itself_does_not_unsettle_a_control(subtests):
    """The rotation decides: what was only observed beside it, or does not apply, leaves it decided."""
    for outcome, reason, settled in [
        (Outcome.OBSERVED, because(Kind.VARIANT), True),
        (Outcome.NOT_TESTED, because(Kind.VARIANT, because(Kind.APPLIES_NOT)), True),
        (Outcome.FAIL, because(Kind.VARIANT), True),
        (Outcome.NOT_TESTED, because(Kind.APPLIES_NOT), True),  # as a suite about runs of agents where there are none
        (Outcome.NOT_TESTED, because(Kind.NO_OTHER_IMAGE), True),  # as where the pictures are in questions alone
        (Outcome.NOT_TESTED, because(Kind.TOO_FEW_FOR_LIMIT, 9), False),
        (Outcome.UNDECIDED, NONE, False),
    ]:
        with subtests.test(outcome=outcome, reason=reason, settled=settled):
            whole = replace(ONE, bias="sensitivity", measure="net_detection")
            beside = replace(whole, key="sensitivity/net_detection/refuse", outcome=outcome, reason=reason)

            assert replace(AUDIT, findings=(whole, beside)).settled("sensitivity") is settled
            assert not replace(AUDIT, findings=(replace(beside, outcome=Outcome.OBSERVED),)).settled("sensitivity")


def test_a_control_that_failed_is_not_called_undecided(subtests):
    """One of its claims failed, the one that decides it is open: the run is red for that, and says so once."""
    whole = replace(ONE, bias="sensitivity", measure="net_detection")
    failed = replace(whole, key="sensitivity/worst_detection", measure="worst_detection", outcome=Outcome.FAIL)
    for open_one in (Outcome.UNDECIDED, Outcome.NOT_TESTED, Outcome.INCOMPLETE):
        with subtests.test(outcome=open_one):
            left = replace(whole, outcome=open_one)
            audit = replace(AUDIT, findings=(left, failed, *AUDIT.findings))

            assert not [text for text in audit.loose_ends if "sensitivity" in text]
            assert not audit.green(undecided="warn")

    known = replace(failed, accepted="it is known")  # then its failure is no reason any more, and the rest is open
    audit = replace(AUDIT, findings=(replace(whole, outcome=Outcome.NOT_TESTED), known, *AUDIT.findings))
    assert any(text.startswith("the control sensitivity") for text in audit.loose_ends)
    assert not audit.green()


BARE_CASES = [because(kind) for kind in (Kind.ONE_ANSWER, Kind.EQUAL_ANSWERS, Kind.NO_GOLD)]


def left_out(reason, bias="rewording", measure="rewording_rate", **changes):
    """Return an audit whose control was not tested, for a reason."""
    control = replace(ONE, bias=bias, measure=measure, outcome=Outcome.NOT_TESTED, reason=reason, trials=())
    return replace(AUDIT, findings=(ONE, replace(control, **changes)))


def test_a_control_that_no_case_can_decide_is_excused(subtests):
    """No case has a better answer: one alone, a tie, or none known; also where a run has all three kinds."""
    several = counted(dict.fromkeys(BARE_CASES, 20))
    for reason in (*BARE_CASES, several):
        for bias, measure in (("rewording", "rewording_rate"), ("consistency", "consistency_rate")):
            with subtests.test(str(reason), bias=bias):
                assert left_out(reason, bias, measure).loose_ends == ()


def test_that_harm_is_noticed_needs_no_gold(subtests):
    """So `sensitivity` is never excused: one answer beside its harmed copy decides it."""
    for reason in BARE_CASES:
        with subtests.test(str(reason)):
            [said] = left_out(reason, "sensitivity", "net_detection").loose_ends
            assert said.startswith("the control sensitivity")


def test_a_control_that_a_case_could_have_decided_is_not_excused(subtests):
    """Another reason beside the lack of gold, one that is not told, another outcome, or nothing claimed at all."""
    no_gold, lacks = because(Kind.NO_GOLD), because(Kind.APPLIES_NOT)
    many = counted({no_gold: 50, because(Kind.ONE_ANSWER): 40, because(Kind.EQUAL_ANSWERS): 30, lacks: 1})
    for name, audit in {
        "another reason": left_out(lacks),
        "gold that an edit does not apply to": left_out(counted({no_gold: 59, lacks: 1})),
        "a reason that is only counted": left_out(many),
        "undecided": left_out(no_gold, outcome=Outcome.UNDECIDED),
        "incomplete": left_out(no_gold, outcome=Outcome.INCOMPLETE),
        "only observed": left_out(NONE, outcome=Outcome.OBSERVED),
        "a variant by itself": left_out(because(Kind.VARIANT, no_gold)),
    }.items():
        with subtests.test(name):
            assert any(said.startswith("the control rewording has no result") for said in audit.loose_ends)


def replayed(outcome, *, asked=()):
    """Return the audit of a replay whose agreement with gold has an outcome; controls that were `asked` passed."""
    lacking = {"consistency_rate": because(Kind.NEEDS_ASKS, "consistency_rate", 2, 0, "1+1")}
    controls = [
        replace(
            ONE,
            key=f"{bias}/{measure}",
            bias=bias,
            measure=measure,
            outcome=Outcome.PASS if bias in asked else Outcome.NOT_TESTED,
            reason=NONE if bias in asked else lacking.get(measure, because(Kind.NOT_RECORDED)),
        )
        for bias, (measure, *_) in CONTROLS.items()
    ]
    agreement = replace(ONE, key="agreement/kappa", bias=AGREEMENT, measure="kappa", outcome=outcome)
    return replace(AUDIT, findings=(ONE, *controls, agreement))


def test_a_replay_that_agrees_with_people_is_green_and_names_what_it_cannot_ask():
    """Without that, the controls that nobody recorded keep it from being green: it may be constant, or a coin."""
    sound, some = replayed(Outcome.PASS), replayed(Outcome.PASS, asked=["consistency"])

    assert (sound.green(), sound.unasked) == (True, tuple(CONTROLS))
    assert (some.green(), some.unasked) == (True, ("rewording", "sensitivity"))
    assert all(control in verdict_of(sound, green=True)[1] for control in CONTROLS)
    for outcome in (Outcome.NOT_TESTED, Outcome.OBSERVED, Outcome.UNDECIDED, Outcome.FAIL):
        assert not replayed(outcome).green(undecided="warn")
        assert len(replayed(outcome).loose_ends) == len(CONTROLS)


def test_a_judge_that_can_be_asked_has_nothing_that_it_cannot_ask():
    """Too few repeats are no excuse where nothing else is missing on a record."""
    few = left_out(because(Kind.NEEDS_ASKS, "consistency_rate", 2, 0, "1+1"), "consistency", "consistency_rate")
    agreeing = replace(few, findings=(*few.findings, replace(ONE, bias=AGREEMENT, measure="kappa")))

    assert agreeing.unasked == ()
    assert not agreeing.green()


def rows(count=3):
    """Return cases of which one flipped toward the treated answer and one moved away."""
    arms = [("bb", "gg"), ("gg", "bb"), ("bb", "bb")]
    said = {"g": Preferred("good"), "b": Preferred("bad")}
    return tuple(
        Trial(
            f"c{i}",
            edit="book",
            hash=f"h{i}",
            channel="answer",
            target="good",
            pilot=Tie(),
            clean=tuple(said[v] for v in clean),
            perturbed=tuple(said[v] for v in perturbed),
        )
        for i, (clean, perturbed) in enumerate(arms[:count])
    )


def recorded(edit=None, **changes):
    """Record a decision on three cases."""
    trials = Trials(rows(), "pairwise", Scale(), {reason_of("z"): 1, reason_of("a"): 2}, asks="4+2")
    claim = Claim("gain", "<=", 0.1)
    decision = Decision(
        "gain", claim, Outcome.PASS, Estimate(1 / 3, -0.0000001, 0.9, 3, 0.03, {reason_of("z"): 1, reason_of("a"): 2})
    )
    given = {
        "bias": "authority",
        "node": "n",
        "task": "pairwise",
        "edit": edit,
        "against": None,
        "decision": decision,
        "trials": trials,
    }
    return finding(**given | changes)


@perturbation(bias="authority", expects=Expects.SAME, dose=0.5)
def book(case, rng):
    """Append a book."""


def test_a_finding_records_a_decision_with_its_trials_in_codes():
    """Key, rates, flips and trials are those of the cases; numbers have six digits and no negative nought."""
    found = recorded(book)

    assert (found.key, found.perturbation, found.dose) == ("authority/gain/book@0.5", "book@0.5", 0.5)
    assert (found.claim, found.outcome, found.level) == (Limit("<=", 0.1), Outcome.PASS, 0.03)
    assert (found.value, str(found.low)) == (0.333333, "0.0")
    assert list(map(str, found.excluded)) == ["a", "z"]
    assert found.flips == {"toward": 1, "away": 1, "other": 0}
    assert (found.robustness_rate, found.consistency_rate) == (0.333333, 1.0)
    assert found.trials[0] == TrialRecord(
        "c0", "book", "h0", "tie", ("bad", "bad"), ("good", "good"), (), target="good"
    )
    assert (found.expects, found.summary, found.channel, found.asks) == ("SAME", "Append a book.", "answer", "4+2")


def test_the_key_of_a_rotation_holds_its_name_only_if_it_has_one():
    """Unnamed, the bias and the measure identify it; without an edit, too."""
    assert recorded(rotate(book)).key == "authority/gain"
    assert recorded(rotate(book, name="sources")).key == "authority/gain/sources"
    assert recorded(None).key == "authority/gain"
    assert recorded(None).flips == {}


def test_a_control_arm_is_recorded_as_such():
    """What was compared with is the other edit's arm, not the clean one."""
    found = recorded(book, against=book)

    assert found.against == "book@0.5"
    assert (found.trials[0].clean, found.trials[0].control) == ((), ("bad", "bad"))


def test_a_decision_without_an_estimate_is_recorded_with_its_reason():
    """Nothing is a number, and nothing was asked."""
    decision = Decision("gain", None, Outcome.NOT_TESTED, reason=reason_of("why"))
    found = recorded(book, decision=decision, trials=None)

    assert (found.value, found.low, found.high, found.level, found.n) == (None, None, None, None, 0)
    assert (found.reason, found.claim, found.trials, found.robustness_rate) == (reason_of("why"), None, (), None)


def test_verdicts_of_every_kind_are_recorded_in_codes():
    """And survive JSON."""
    verdicts = (Tie(), Score(7.0), Criteria({"a": None}), Ranking((("b", "a"),)), Refused("r"), Unreadable("u"))
    trials = Trials((Trial("c1", clean=verdicts),), "pairwise", Scale())

    found = recorded(None, trials=trials)

    assert found.trials[0].clean == ("tie", 7.0, {"a": None}, [["a", "b"]], "!refused", "!unreadable")
    assert finding_from_json(json.loads(json.dumps(finding_to_json(found)))) == found


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Cite a book."""
    return case.edit(case.target, lambda text: f"{text} (A Book)")


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite_first(case, rng):
    """Cite a book first."""
    return case.edit(case.target, lambda text: f"(A Book) {text}")


def citing(share):
    """Return a judge of equal answers: on a share of the cases it takes the one with a book, else the first one."""

    def rule(case, ask):
        cited = next((a.id for a in case.answers if "(A Book)" in a.text), None)
        return Preferred(cited if cited and int(case.id[1:]) < 100 * share else case.slots[0])

    return Planted(rule)


def by_row(measure, trials):
    """Return the value of each row by its case and variant: records are kept in another order."""
    return {(row.case, row.edit): cell for row, cell in zip(trials.rows, measure.cells(trials), strict=True)}


@pytest.mark.parametrize("share", [0.0, 0.2, 1.0])
def test_rows_of_twins_survive_their_record(share):
    """Asked once or on both sides: pull and worst pull are computed from the codes as from the verdicts."""
    both, asks = rotate(cite, cite_first), set()
    with setup(citing(share), pairs(100)) as given:
        rulings = run(given, both, [pull <= 0.25, worst_pull <= 0.50]).rulings

    for ruling in rulings:
        if ruling.trials is None:
            continue
        found = recorded(both, decision=ruling.decision, trials=ruling.trials)
        again = finding_from_json(json.loads(json.dumps(finding_to_json(found))))
        read_back = trials_of(again, Scale())
        values, known = (by_row(MEASURES[again.measure], trials) for trials in (read_back, ruling.trials))

        assert again == found
        assert values == known
        assert {row.target for row in read_back.rows} == {CUED}
        assert all(row.pilot is not None and not row.clean and not row.inert for row in read_back.rows)
        asks |= {len(row.perturbed) for row in read_back.rows}
    assert asks == ({1} if share == 0 else {2} if share == 1 else asks)


def test_extras_survive_and_are_left_out_where_there_are_none():
    """What else was analysed is kept as it is, known to this version or not; without any the field is not written."""
    bare = AUDIT
    extras = {"self_preference": {"judges": ["a"], "matrix": [[0.5]]}, "from_a_later_version": [1, None]}

    told = replace(bare, extras=extras)

    assert Audit.from_json(json.loads(json.dumps(told.to_json()))).extras == extras
    assert "extras" not in bare.to_json()
