"""The accepted run, its file, and what got worse since: case by case, from the codes of two records."""

import json
from dataclasses import replace
from functools import cache

import pytest

from calm.core.claims import Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import (
    MEASURES,
    accuracy,
    consistency_rate,
    gain,
    kappa,
    mean_shift,
    net_detection,
    net_robustness,
    pull,
    slot_pull,
    tie_rate,
    unreadable_gain,
    worst_gain,
    worst_robustness,
)
from calm.core.order import place_of, start_of
from calm.core.reasons import Kind, because, counted, in_words, reason_of
from calm.core.verdict import Criteria, Preferred, Scale, Score, Tie, Unreadable
from calm.errors import ConfigError
from calm.experiment import run as experiment
from calm.experiment.stopping import LEVEL, Design, Stopping
from calm.results.audit import Audit, JudgeRecord, Limit, Run
from calm.results.baseline import accept, read_baseline, recalled, undecided, write_baseline
from calm.results.codes import Ending, State
from calm.results.findings import finding
from calm.results.gatefile import POOLED
from calm.results.pairing import Both, Growth, Paired, worse_way
from calm.results.records import scale_of, trials_of
from calm.results.worsening import EVIDENCE, GONE, LEFT_OUT, against, margin_of, since_baseline
from calm.statistics.intervals import clopper_pearson, clustered_t
from calm.statistics.paired import exchangeable_shift
from tests.planted import Planted, chance, pairs, rubric_case, setup, singles

JUDGE = JudgeRecord(
    name="planted",
    task="pairwise",
    fingerprint="f" * 64,
    model="m",
    served="m-1",
    prompt_sha256="a" * 64,
    scale={"low": 1.0, "high": 10.0, "step": None},
    parameters={"temperature": 0.0},
    about={"templates": ["You are a judge"]},
)
PLEA, BOOK, SPOILT = "sentiment/net_robustness/plead", "authority/gain/cite", "sensitivity/net_detection/spoil"
TOGETHER, ACCURATE = f"{POOLED}/net_robustness", f"{POOLED}/accuracy"
ROBUST, NO_GAIN = net_robustness >= 0.90, gain <= 0.15
FOUND, AGREES, RIGHT = net_detection >= 0.60, consistency_rate >= 0.80, accuracy >= 0.70


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite(case, rng):
    """Append a book."""
    return case.edit(case.target, lambda text: f"{text} (Book)")


@perturbation(bias="authority", expects=Expects.NOT_BETTER)
def cite_some(case, rng):
    """Append a book, with another title for a few cases."""
    title = "Tome" if case.id < "c010" else "Book"
    return case.edit(case.target, lambda text: f"{text} ({title})")


@perturbation(bias="sentiment", expects=Expects.SAME)
def plead(case, rng):
    """Add a plea as a note."""
    return case.present(notes=("Please.",))


@perturbation(bias="stakes", expects=Expects.SAME)
def urge(case, rng):
    """Add a warning as a note."""
    return case.present(notes=("Much depends on it.",))


@perturbation(bias="frames", expects=Expects.SAME)
def frame(case, rng):
    """Add a remark as a note."""
    return case.present(notes=("Two answers follow.",))


@perturbation(bias="labels", expects=Expects.SAME)
def remark(case, rng):
    """Add another remark as a note."""
    return case.present(notes=("A remark follows.",))


@perturbation(bias="sensitivity", expects=Expects.WORSE)
def spoil(case, rng):
    """Deny everything."""
    return case.damage(case.target, lambda text: f"{text} not short")


@perturbation(bias="position", expects=Expects.TIE)
def twins(case, rng):
    """Make the answers equal."""
    return replace(case, answers=tuple(replace(a, text="The same.") for a in case.answers))


def leaning(dose, *, noise=0.05, salt=0, trigger="(Book)"):
    """Return a pairwise rule: right but for noise, and swayed by a trigger on a share of the cases."""

    def rule(case, ask):
        swayed = [a.id for a in case.answers if trigger in a.text]
        if swayed and chance("dose", case.id).random() < dose:
            return Preferred(swayed[0])
        ids = [a.id for a in case.answers]
        best = "good" if "good" in ids and "good~damaged" not in ids else ids[0]
        wrong = chance(salt, case.question, case.shown[0].text, case.notes, ask).random() < noise
        return Preferred(next(i for i in ids if i != best) if wrong else best)

    return rule


def first(case, ask):
    """Tie now and then, and take the first slot more often than the last."""
    drawn = chance("slot", case.id, ask).random()
    return Tie() if drawn < 0.2 else Preferred(case.shown[0 if drawn < 0.7 else -1].id)


def scoring(case, ask):
    """Score at random, a little higher with a book; sometimes say nothing."""
    drawn = chance("score", case.id, case.answers[0].text, case.notes, ask)
    if drawn.random() < 0.03:
        return Unreadable("empty reply")
    return Score(drawn.choice([6.0, 6.5, 7.0]) + ("Book" in case.answers[0].text))


def ticking(case, ask):
    """Meet criteria at random, fewer where the answer denies them."""
    drawn = chance("tick", case.id, case.answers[0].text, case.notes, ask)
    denied = "not short" in case.answers[0].text
    return Criteria({c.id: drawn.random() < (0.1 if denied else 0.9) for c in case.criteria})


def audited(rule, cases, *probes, task="pairwise", stopping=Stopping.FIXED, **changes):
    """Ask a planted judge, and return the record of its run."""
    found = []
    with setup(Planted(rule, task=task), cases, design=Design()) as ready:
        for edit, *claims in probes:
            result = experiment.run(replace(ready, stopping=stopping), edit, claims)
            for one in result.rulings:
                bias = edit.bias if edit else "consistency"
                found.append(
                    finding(
                        bias=bias,
                        node=f"suites/test_{bias}.py::test_it",
                        task=task,
                        edit=edit,
                        against=None,
                        decision=one.decision,
                        trials=one.trials,
                    )
                )
    held = {
        "calm": "0.1.0",
        "judge": replace(JUDGE, task=task),
        "cases": {"n": len(cases), "sha256": "c" * 64},
        "seed": 0,
        "repeats": "2+1",
        "stopping": str(stopping),
        "findings": tuple(sorted(found, key=lambda f: f.key)),
        "run": Run("2026-01-01", 1.5, {"made": 3}),
    }
    return Audit(**held | changes)


CASES = pairs(200)
NOTED = ((plead, ROBUST), (urge, ROBUST), (frame, ROBUST))
PROBES = ((cite, ROBUST, NO_GAIN), *NOTED, (spoil, FOUND), (None, AGREES, RIGHT))
SINGLES, RUBRICS = singles(60), tuple(rubric_case(f"c{i:03}") for i in range(60))
ON_SCORES = ((cite, NO_GAIN), (plead, ROBUST, abs(mean_shift) <= 0.05))
GROUPED = tuple(replace(c, tags={"cluster": f"q{i // 3}"}) for i, c in enumerate(pairs(180)))
TURNS = rotate(cite, replace(cite_some, name="cite_some"), name="books")


@cache
def sound():
    """Return a run without bias."""
    return audited(leaning(0.0), CASES, *PROBES)


@cache
def redrawn():
    """Return the same, with other errors."""
    return audited(leaning(0.0, salt=1), CASES, *PROBES)


@cache
def biased():
    """Return a run that is swayed by books."""
    return audited(leaning(0.3, salt=1), CASES, *PROBES)


@cache
def scored():
    """Return a run of scores."""
    return audited(scoring, SINGLES, *ON_SCORES, task="score")


@cache
def on_twins():
    """Return a run of equal answers, of which the first is taken."""
    return audited(first, CASES, (twins, abs(slot_pull) <= 0.2, tie_rate >= 0.1))


@cache
def ticked():
    """Return a run of rubrics."""
    return audited(ticking, RUBRICS, *ON_SCORES, (spoil, FOUND), (None, RIGHT), task="rubric")


@cache
def topped():
    """Return a run of clusters and a rotation."""
    return audited(leaning(0.1), GROUPED, (TURNS, NO_GAIN))


@cache
def turned():
    """Return a run that decided on the worst variant of a rotation."""
    claims = ROBUST, NO_GAIN, unreadable_gain <= 0.10, worst_gain <= 0.30, worst_robustness >= 0.70
    return audited(leaning(0.0, noise=0.01), GROUPED, (TURNS, *claims), stopping=Stopping.SEQUENTIAL)


def by_key(findings):
    return {f.key: f for f in findings}


def change(audit, key, **changes):
    """Return a run in which one finding differs."""
    return replace(audit, findings=tuple(replace(f, **changes) if f.key == key else f for f in audit.findings))


def without(audit, *keys):
    return replace(audit, findings=tuple(f for f in audit.findings if f.key not in keys))


def test_a_record_gives_its_own_numbers_again(subtests):
    """Value, both bounds, n and the excluded cases of every finding, from the record alone as it stands in a file."""
    for written, measures in [
        (biased(), {"net_robustness", "gain", "net_detection", "consistency_rate", "accuracy"}),
        (scored(), {"net_robustness", "gain", "mean_shift"}),
        (ticked(), {"net_robustness", "mean_shift", "net_detection", "accuracy"}),
        (on_twins(), {"slot_pull", "tie_rate"}),
        (turned(), {"net_robustness", "gain", "unreadable_gain", "worst_gain", "worst_robustness"}),
    ]:
        with subtests.test(measures=measures):
            audit = Audit.from_json(json.loads(json.dumps(written.to_json())))

            measured = [f for f in audit.findings if f.value is not None]
            again = [MEASURES[f.measure].estimate(trials_of(f, scale_of(audit.judge)), f.level) for f in measured]

            assert {f.measure for f in measured} == measures
            for estimate, recorded in zip(again, measured, strict=True):
                assert estimate.value == pytest.approx(recorded.value, abs=1e-6)
                assert (estimate.n, estimate.excluded) == (recorded.n, recorded.excluded)
                if recorded.level != LEVEL:  # bounds of several looks at once are not those of one level
                    assert (estimate.low, estimate.high) == pytest.approx((recorded.low, recorded.high), abs=1e-6)


def test_a_question_is_a_cluster():
    """Three cases are about one question: the bounds of a finding rest on 60 questions, not on 180 cases."""
    one = by_key(topped().findings)["authority/gain/books"]
    alone = replace(one, trials=tuple(replace(r, cluster="") for r in one.trials))
    level = 0.05

    grouped, single = (gain.estimate(trials_of(f, Scale()), level) for f in (one, alone))

    assert {r.cluster for r in one.trials} <= {f"q{i}" for i in range(60)}
    assert grouped.value == pytest.approx(single.value)
    assert grouped.clusters == len({r.cluster for r in one.trials if r.room}) < single.clusters


def test_a_control_arm_is_the_arm_that_is_compared_with():
    """Where a probe was held against another edit, its record has no clean asks."""
    one = by_key(sound().findings)[PLEA]
    turned = replace(one, trials=tuple(replace(r, clean=(), control=r.clean) for r in one.trials))

    assert trials_of(turned, Scale()).rows == trials_of(one, Scale()).rows


def test_what_is_no_code_is_refused(subtests):
    """A damaged record is named with its key and case."""
    for bad in [None, True, float("nan"), {"a": 1}, ["a"]]:
        with subtests.test(bad=bad):
            one = by_key(sound().findings)[PLEA]
            damaged = replace(one, trials=(replace(one.trials[0], perturbed=(bad,)), *one.trials[1:]))

            with pytest.raises(ConfigError, match=rf"{PLEA}: case c000: expected the code of a verdict"):
                trials_of(damaged, Scale())


def test_what_no_measure_can_read_is_refused(subtests):
    """Weights, gold labels and slots that somebody spoiled, named with key and case."""
    for changes, words in [
        ({"points": {"short": "much"}}, "expected numbers as the points"),
        ({"points": {"short": float("inf")}}, "expected numbers as the points"),
        ({"met": {"short": 1}}, "expected the truth of criteria"),
        ({"slots": (("good", "bad"),)}, "expected slots for 2 perturbed asks, got them for 1"),
        ({"slots": ((), ("good", "bad"))}, "expected the ids of the answers"),
        ({"slots": (("good", 1), ("good", "bad"))}, "expected the ids of the answers"),
        ({"slots": ()}, "expected the slots of each perturbed ask, got none"),
    ]:
        with subtests.test(changes=changes, words=words):
            one = by_key(on_twins().findings)["position/slot_pull/twins"]
            twice = {"perturbed": one.trials[0].perturbed[:1] * 2, "slots": one.trials[0].slots[:1] * 2}
            damaged = replace(one, trials=(replace(one.trials[0], **twice | changes), *one.trials[1:]))

            with pytest.raises(ConfigError, match=f"position/slot_pull/twins: case c000: {words}"):
                trials_of(damaged, Scale())


def test_too_few_asks_are_refused():
    """A finding cannot have been computed from less than its measure needs."""
    one = by_key(sound().findings)[PLEA]
    damaged = replace(one, trials=(replace(one.trials[0], clean=()), *one.trials[1:]))

    with pytest.raises(ConfigError, match=r"case c000: expected at least 1\+1 verdicts"):
        trials_of(damaged, Scale())


def test_a_baseline_holds_codes_and_nothing_that_changes_by_itself():
    """No texts, no prompt, no figures, no node ids; the hash of the prompt and all codes stay."""
    kept = accept(sound())

    assert kept.run == Run()
    assert (kept.texts, kept.judge.about, kept.judge.prompt_sha256) == ((), {}, "a" * 64)
    assert {f.node for f in kept.findings} == {""}
    assert [f.trials for f in kept.findings] == [f.trials for f in sound().findings]


def test_a_baseline_file_is_read_back_and_its_bytes_are_stable(tmp_path):
    """Whatever the order of findings and cases, and wherever the tests were run from."""
    shuffled = replace(
        sound(),
        findings=tuple(
            replace(f, node="elsewhere", trials=tuple(reversed(f.trials))) for f in reversed(sound().findings)
        ),
        run=Run("2027-01-01", 9.0),
    )
    one, two = tmp_path / "deep" / "baseline.json", tmp_path / "two.json"

    write_baseline(sound(), one)
    write_baseline(shuffled, two)

    assert one.read_bytes() == two.read_bytes()
    assert json.loads(one.read_text())["schema"] == "calm-baseline/2"
    assert read_baseline(one) == accept(sound())
    write_baseline(replace(sound(), limits="attainable"), two)
    assert read_baseline(two).limits == "attainable"
    write_baseline(read_baseline(one), two)
    assert one.read_bytes() == two.read_bytes()


def test_a_fail_is_accepted_as_a_record_of_today():
    """So is anything that xfail or gate.toml accepted."""
    failed = change(sound(), BOOK, outcome=Outcome.FAIL)
    waived = change(sound(), BOOK, outcome=Outcome.UNDECIDED, accepted="until spring")

    assert by_key(accept(failed).findings)[BOOK].outcome is Outcome.FAIL
    assert by_key(accept(waived).findings)[BOOK].outcome is Outcome.UNDECIDED


def test_an_undecided_run_is_refused_with_all_keys():
    """Once, for both kinds."""
    audit = change(sound(), BOOK, outcome=Outcome.UNDECIDED)
    audit = change(audit, SPOILT, outcome=Outcome.INCOMPLETE)

    with pytest.raises(ConfigError) as caught:
        accept(audit)

    assert "INCOMPLETE: sensitivity/net_detection/spoil" in caught.value.problems[0]
    assert "UNDECIDED: authority/gain/cite" in caught.value.problems[1]


def test_an_undecided_claim_comes_with_the_nearest_limit_that_its_data_decide(subtests):
    """Rounded to the side on which it passes; none where the measure goes no further."""
    for measure, op, low, high, limit in [
        ("gain", "<=", 0.01, 0.1834, 0.19),
        ("net_robustness", ">=", 0.8571, 0.99, 0.85),
        ("gain", "abs<=", -0.301, 0.2, 0.31),
        ("gain", "<=", 0.4, 1.0, None),
        ("net_robustness", ">=", -0.2, 0.9, None),
        ("gain", "<=", None, None, None),
    ]:
        with subtests.test(measure=measure, op=op, limit=limit):
            about = {"measure": measure, "claim": Limit(op, 0.1), "low": low, "high": high, "cases_to_decide": 120}
            audit = change(sound(), BOOK, outcome=Outcome.UNDECIDED, **about)

            (one,) = undecided(audit)

            assert (one.key, one.limit, one.cases) == (BOOK, limit, 120)
    assert undecided(change(sound(), BOOK, outcome=Outcome.UNDECIDED, accepted="until spring")) == ()
    assert undecided(sound()) == ()


def test_a_run_that_says_too_little_is_refused(subtests):
    """Nothing found, nothing decided, found twice, or cut short."""
    for audit, words in [
        (replace(sound(), findings=()), "got none"),
        (replace(sound(), findings=tuple(replace(f, outcome=Outcome.NOT_TESTED) for f in sound().findings)), "decided"),
        (replace(sound(), findings=sound().findings * 2), "one finding for each key"),
        (replace(sound(), faults=(because(Kind.INTERRUPTED),)), "the run was interrupted"),
        (replace(sound(), tests=(Ending("a", State.CRASHED),)), "1 of 1 tests crashed and decided nothing: a"),
        (replace(sound(), tests=(Ending("a", State.NOT_RUN),)), "1 of 1 tests did not run: a"),
    ]:
        with subtests.test(audit=audit, words=words), pytest.raises(ConfigError, match=words):
            accept(audit)


def test_a_run_that_stopped_at_looks_is_accepted_and_one_that_stopped_anytime_is_not():
    """Looks are few and known beforehand; a run that stops at its best moment would be too good to follow."""
    assert accept(replace(sound(), stopping="sequential")).stopping == "sequential"
    with pytest.raises(ConfigError, match="accept a run with --calm-stopping fixed"):
        accept(replace(sound(), stopping="anytime"))


def test_a_baseline_of_an_older_version_is_refused_with_the_way_to_renew_it(tmp_path):
    """In one paragraph; nothing in it compares with a run of today."""
    path = tmp_path / "ours.json"
    path.write_text('{"schema": "calm-baseline/1", "findings": []}')

    with pytest.raises(ConfigError) as caught:
        read_baseline(path)

    (words,) = caught.value.problems
    assert "--calm-stopping=fixed" in words
    assert words.endswith("`calm accept results.json -o ours.json`")


def test_findings_about_an_older_baseline_are_left_out():
    """They would keep a new baseline from being accepted where the old one is out of date."""
    stale = replace(sound().findings[0], key=POOLED, measure="worsening", outcome=Outcome.INCOMPLETE)

    assert accept(replace(sound(), findings=(*sound().findings, stale))) == accept(sound())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "expected a baseline, which `calm accept` writes, got an empty file"),
        ("[]", "names no schema"),
        ('{"schema": "calm-baseline/9"}', "another release of calm"),
        ('{"schema": "calm-baseline/2", "seed"', "breaks off"),
        ('{"schema": "calm-results/2"}', "make a baseline of it with `calm accept"),
        ('{"schema": "calm-baseline/2"}', "damaged"),
        ('{"schema": "calm-baseline/2", "seed": NaN}', "finite numbers, got NaN"),
    ],
)
def test_another_file_is_no_baseline(tmp_path, text, words):
    """The message names the file and what to do."""
    path = tmp_path / "baseline.json"
    path.write_text(text)

    with pytest.raises(ConfigError, match=words) as caught:
        read_baseline(path)

    assert "baseline.json" in str(caught.value)


def test_a_missing_baseline_is_an_error(tmp_path):
    """As is one that cannot be read."""
    with pytest.raises(ConfigError, match="no such file"):
        read_baseline(tmp_path / "none.json")


def test_unchanged_inputs_are_never_red(subtests):
    """The same verdicts give differences of exactly zero, however few the cases and whatever the judge."""
    for judged in [biased(), audited(leaning(0.1, noise=0.2), pairs(20), *PROBES)]:
        with subtests.test(judged=judged):
            found = by_key(against(judged, judged))

            assert found[TOGETHER].outcome is Outcome.PASS
            assert found[TOGETHER].reason.has(Kind.SAME_VERDICTS)
            assert (found[TOGETHER].low, found[TOGETHER].high) == (0.0, 0.0)
            assert {f.value for f in found.values()} == {0.0}
            assert not any(f.red for f in found.values())
            assert set(found) == {
                TOGETHER,
                ACCURATE,
                "authority/worsening/cite",
                "consistency/worsening/accuracy",
                "consistency/worsening/consistency_rate",
                "sensitivity/worsening/spoil",
                "sentiment/worsening/plead",
                "stakes/worsening/urge",
                "frames/worsening/frame",
            }


def test_the_same_verdicts_of_another_judge_are_data_of_their_own(subtests):
    """Where the judge or the model behind it is another or not known, equal verdicts leave an interval around zero."""
    for before, after in [
        (JUDGE, replace(JUDGE, served="m-2")),
        (JUDGE, replace(JUDGE, fingerprint="e" * 64)),
        (replace(JUDGE, fingerprint=None), replace(JUDGE, fingerprint=None)),
    ]:
        with subtests.test(fingerprint=after.fingerprint, served=after.served):
            found = against(replace(sound(), judge=before), replace(sound(), judge=after))[0]

            assert found.low < found.value == 0.0 < found.high
            assert not found.reason.has(Kind.SAME_VERDICTS)


def test_another_draw_of_the_same_judge_is_not_worse():
    """The claim about all probes is proven, and no probe gives evidence."""
    found = by_key(against(accept(sound()), redrawn()))

    assert found[TOGETHER].outcome is Outcome.PASS
    assert found[TOGETHER].stated is None
    assert found[TOGETHER].high <= 0.10
    assert all(f.asserted and f.value == round(f.value, 6) for f in found.values())
    assert found["authority/worsening/cite"].node == "suites/test_authority.py::test_it"
    assert {f.outcome for f in found.values()} == {Outcome.PASS, Outcome.OBSERVED}


def test_a_judge_that_got_worse_fails_where_it_did():
    """The probe that moved; not the probes that did not."""
    found = by_key(against(accept(sound()), biased()))

    assert {key for key, f in found.items() if f.outcome is Outcome.FAIL} == {"authority/worsening/cite"}
    worse = found["authority/worsening/cite"]
    assert worse.low > 0
    assert (worse.level, worse.claim.limit, worse.n) == (EVIDENCE / 2 / 8, 0.0, 183)
    assert str(worse.reason) == "net_robustness is worse than in the baseline; gain is worse than in the baseline"
    assert worse.baseline["outcome"] == "PASS"
    no_gold = by_key(against(without(sound(), "consistency/accuracy"), biased()))["authority/worsening/cite"]
    assert no_gold.level == EVIDENCE / 7


def test_the_pooled_claim_is_the_padded_t_of_the_rows_of_all_probes():
    """Computed once more from the definition: sums by question, and a pad at the ends that a mean over 4 can reach."""
    growth = {}
    for key in (f.key for f in sound().findings if f.measure == "net_robustness"):
        runs = [{r.case: r for r in trials_of(by_key(run.findings)[key], Scale()).rows} for run in (sound(), redrawn())]
        for case in runs[0].keys() & runs[1].keys():
            rows = [run[case] for run in runs]
            asks = [min(len(getattr(row, arm)) for row in rows) for arm in ("clean", "inert", "perturbed")]
            short = [
                replace(row, clean=row.clean[: asks[0]], inert=row.inert[: asks[1]], perturbed=row.perturbed[: asks[2]])
                for row in rows
            ]
            values = [net_robustness.per_case(row, Scale()) for row in short]
            if all(isinstance(value, float) for value in values):
                growth.setdefault(case, []).append(values[1] - values[0])

    pooled = by_key(against(accept(sound()), redrawn()))[TOGETHER]

    expected = clustered_t([sum(g) for g in growth.values()], [len(g) for g in growth.values()], -1, 1, 0.05)
    assert (pooled.low, pooled.high) == pytest.approx(expected, abs=1e-6)
    assert pooled.value == pytest.approx(sum(map(sum, growth.values())) / sum(map(len, growth.values())), abs=1e-6)


def test_what_changed_is_named_beside_the_claim():
    """Prompt, model, served model, parameters, cases and seed: none of them is red by itself."""
    judge = replace(
        JUDGE, model="n", served="n-1", prompt_sha256="b" * 64, parameters={"temperature": 0.7}, fingerprint="e" * 64
    )

    other = replace(
        sound(), judge=judge, seed=3, cases={"n": 200, "sha256": "d" * 64}, limits="attainable", repeats="3+1"
    )
    pooled = against(sound(), other)[0]

    assert (pooled.outcome, pooled.asks) == (Outcome.PASS, "3+1")
    for words in (
        "judge prompt sha256: aaaaaaaaaaaa -> bbbbbbbbbbbb",
        "model: m -> n",
        "served model: m-1 -> n-1",
        "parameters.temperature: 0.0 -> 0.7",
        "cases sha256: cccccccccccc -> dddddddddddd",
        "seed: 0 -> 3",
        "limits: suites -> attainable",
    ):
        assert words in str(pooled.reason)


def test_a_calibration_of_another_judge_is_named(subtests):
    """Another fingerprint, or another model behind the same one; the name tells only where there is no fingerprint."""
    unknown = replace(JUDGE, fingerprint=None)
    for before, after, other in [
        (JUDGE, JUDGE, False),
        (JUDGE, replace(JUDGE, name="renamed"), False),
        (JUDGE, replace(JUDGE, fingerprint="e" * 64), True),
        (JUDGE, replace(JUDGE, served="m-2"), True),
        (unknown, unknown, False),
        (unknown, replace(unknown, name="renamed"), True),
    ]:
        with subtests.test(name=after.name, fingerprint=after.fingerprint, served=after.served):
            calibrated = replace(sound(), judge=before, extras={"calibration": {}})

            found = against(calibrated, replace(sound(), judge=after))[0]

            assert found.reason.has(Kind.OTHER_CALIBRATION) is other


def test_claims_that_were_not_made_are_named_and_keep_the_run_from_being_green(subtests):
    """A probe, or one claim of it, whatever left it out: how many they are, and the first five of them."""
    some = ("authority/gain/cite", "authority/net_robustness/cite", PLEA)
    keys = sorted(f.key for f in sound().findings)
    for left, named in [((PLEA,), [PLEA]), (some, [*some]), (keys[1:], keys[1:6])]:
        with subtests.test(left=left):
            now = without(sound(), *left)

            found = by_key(against(sound(), now))

            lost = found[LEFT_OUT]
            assert (lost.outcome, lost.red, lost.n) == (Outcome.INCOMPLETE, True, 0)
            assert lost.reason.kind is Kind.CLAIMS_LEFT_OUT
            assert lost.reason.details[:2] == (len(left), len(keys))
            assert lost.reason.details[2].partition(" and ")[0].split(", ") == named
            assert not any(f.red for key, f in found.items() if key != LEFT_OUT)
            assert LEFT_OUT not in by_key(against(now, now))


def test_a_probe_that_is_new_changes_nothing():
    """The baseline cannot say anything about it."""
    assert not any(f.red for f in against(without(sound(), PLEA), sound()))


def test_what_was_decided_and_is_not_tested_now_is_incomplete():
    """Unless gate.toml accepts it."""
    untested = {"outcome": Outcome.NOT_TESTED, "reason": "the judge is shown no note", "value": None, "trials": ()}

    found = by_key(against(sound(), change(sound(), PLEA, **untested)))["sentiment/worsening/plead"]
    waived = by_key(against(sound(), change(sound(), PLEA, accepted="soon", **untested)))["sentiment/worsening/plead"]

    assert (found.outcome, found.reason.kind) == (Outcome.INCOMPLETE, Kind.NO_LONGER_TESTED)
    assert (waived.outcome, waived.red, waived.accepted) == (Outcome.INCOMPLETE, False, "soon")


def test_what_was_accepted_covers_nothing_else_of_its_probe(subtests):
    """Another claim that is gone, incomplete or worse, or a case that vanished: the comparison is red all the same."""
    untested = {"outcome": Outcome.NOT_TESTED, "reason": reason_of("no note"), "value": None, "trials": ()}
    robust = "authority/net_robustness/cite"
    waived = change(sound(), BOOK, accepted="soon", **untested)
    cut = {"outcome": Outcome.INCOMPLETE, "reason": reason_of("the cap"), "value": None, "trials": ()}
    for what, other, accepted in [
        ("nothing else", waived, "soon"),
        ("incomplete", change(waived, robust, **cut), None),
        ("not tested", change(waived, robust, **untested), None),
        ("not tested, and accepted", change(waived, robust, accepted="later", **untested), "soon"),
        ("gone", without(waived, robust), "soon"),
        ("not tested, and the first gone", without(change(waived, robust, **untested), BOOK), None),
        ("cases gone", fewer(waived, robust, 5), None),
        ("worse", change(biased(), BOOK, accepted="soon", **untested), None),
    ]:
        with subtests.test(what=what):
            found = by_key(against(sound(), other))["authority/worsening/cite"]

            assert found.outcome is (Outcome.FAIL if what == "worse" else Outcome.INCOMPLETE)
            assert (found.accepted, found.red) == (accepted, accepted is None)


def test_a_probe_of_which_nothing_is_tested_shows_its_first_claim():
    """Its test, and what the baseline found."""
    now = change(sound(), BOOK, node="first", **UNTESTED, reason=reason_of("no note"))
    now = change(now, "authority/net_robustness/cite", **UNTESTED, reason=reason_of("no note"))

    found = by_key(against(sound(), now))["authority/worsening/cite"]

    assert (found.outcome, found.node) == (Outcome.INCOMPLETE, "first")
    assert found.baseline["value"] == by_key(sound().findings)[BOOK].value


def test_what_claims_nothing_is_not_missed():
    """An observation that had no rows is no claim, and a variant by itself is observed."""
    for changes in ({"claim": None, **UNTESTED}, {"outcome": Outcome.OBSERVED}):
        seen = change(sound(), PLEA, **changes)

        assert LEFT_OUT not in by_key(against(seen, without(seen, PLEA)))


def test_what_was_not_tested_in_the_baseline_is_not_missed():
    """It may be tested now, or again not; it has only to be there."""
    untested = change(sound(), PLEA, outcome=Outcome.NOT_TESTED, value=None, trials=())

    assert not any(f.red for f in against(untested, sound()))
    assert not any(f.red for f in against(untested, untested))
    assert any(f.red for f in against(untested, without(sound(), PLEA)))


def test_what_was_claimed_and_is_only_observed_now_is_incomplete():
    """A claim that lost its limit gates nothing."""
    seen = change(sound(), PLEA, outcome=Outcome.OBSERVED, claim=None)

    assert by_key(against(sound(), seen))["sentiment/worsening/plead"].outcome is Outcome.INCOMPLETE


def test_what_is_incomplete_now_is_an_incomplete_comparison():
    """Nothing is known of it."""
    cut = change(sound(), PLEA, outcome=Outcome.INCOMPLETE, reason=reason_of("the cap"), value=None, trials=())

    found = by_key(against(sound(), cut))["sentiment/worsening/plead"]

    assert (found.outcome, str(found.reason)) == (Outcome.INCOMPLETE, f"{PLEA} is INCOMPLETE now: the cap")


def fewer(audit, key, count):
    """Return a run in which a probe has lost its first cases."""
    one = by_key(audit.findings)[key]
    rows = one.trials[count:]
    estimate = net_robustness.estimate(trials_of(replace(one, trials=rows), Scale()), one.level)
    return change(audit, key, trials=rows, n=len(rows), value=estimate.value)


def test_the_worst_variant_is_not_compared():
    """It is another one in each run, and its cases were chosen by what it did: the mean over all variants tells."""
    key = "authority/worst_gain/books"
    worst = by_key(turned().findings)[key]
    rows = tuple(replace(r, perturbed=(r.target,) * len(r.perturbed)) for r in worst.trials)
    swayed = worst_gain.estimate(trials_of(replace(worst, trials=rows), Scale()), LEVEL).value
    alone = replace(turned(), findings=(worst,))

    found = by_key(against(turned(), change(turned(), key, trials=rows, value=swayed)))

    assert swayed > worst.value + 0.5
    assert found["authority/worsening/books"].outcome is Outcome.OBSERVED
    assert [f.key for f in against(alone, alone)] == [POOLED]


UNTESTED = {"outcome": Outcome.NOT_TESTED, "value": None, "trials": ()}


@pytest.mark.parametrize(
    ("measure", "changes", "outcome"),
    [
        ("worst_gain", UNTESTED | {"reason": because(Kind.FEW_OF_EACH, 20)}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": because(Kind.MEAN_FAILS)}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": because(Kind.NEEDS_ROOM, 5, 9, 30)}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": because(Kind.NEEDS_HEIGHT, 5, 9, 30)}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": because(Kind.TOO_FEW_CASES, 1)}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": counted({because(Kind.NO_ROOM): 9})}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": counted({because(Kind.UNREAD_ARM): 9})}, Outcome.OBSERVED),
        ("worst_gain", UNTESTED | {"reason": because(Kind.TOO_FEW_ASKS, "1+1")}, Outcome.INCOMPLETE),
        ("worst_gain", {"outcome": Outcome.UNDECIDED, "value": None, "trials": ()}, Outcome.OBSERVED),
        ("worst_gain", {"outcome": Outcome.OBSERVED, "claim": None}, Outcome.INCOMPLETE),
        ("gain", UNTESTED | {"reason": because(Kind.FEW_OF_EACH, 20)}, Outcome.INCOMPLETE),
        ("gain", {"outcome": Outcome.NOT_TESTED, "reason": because(Kind.TOO_FEW_FOR_LIMIT, 5, 9)}, Outcome.OBSERVED),
        ("gain", {"outcome": Outcome.NOT_TESTED, "reason": because(Kind.TOO_FEW_ASKS, "1+1")}, Outcome.INCOMPLETE),
        ("gain", {"outcome": Outcome.UNDECIDED, "value": None, "trials": ()}, Outcome.INCOMPLETE),
    ],
)
def test_what_chance_left_undecided_is_not_worse(measure, changes, outcome):
    """A worst variant on too few cases, or a claim whose rows are there; not a claim whose test is another one now."""
    key = f"authority/{measure}/books"

    found = by_key(against(turned(), change(turned(), key, **changes)))

    assert found["authority/worsening/books"].outcome is outcome
    assert {k for k, f in found.items() if f.red} == {"authority/worsening/books"} - (
        {"authority/worsening/books"} if outcome is Outcome.OBSERVED else set()
    )


def test_pairs_of_equal_answers_that_were_not_asked_after_an_early_stop_have_not_vanished():
    """Also where a run has another number of them than of cases: by that nobody knows where a probe began."""
    old, new = (
        audited(leaning(0.0, salt=salt), CASES, (cite, pull <= 0.3), stopping=rule)
        for salt, rule in ((0, Stopping.FIXED), (1, Stopping.SEQUENTIAL))
    )
    asked = {r.case for r in new.findings[0].trials}

    (one,) = (f for f in against(old, replace(new, cases={"n": 40, "sha256": "d" * 64})) if f.bias == "authority")

    assert (one.outcome, one.n) == (Outcome.OBSERVED, len(asked))
    assert one.excluded == {because(Kind.NOT_ASKED): 200 - len(asked)}
    assert 0 < len(asked) < 200


@pytest.mark.parametrize(
    ("claims", "moved", "back", "key", "outcome"),
    [
        ((RIGHT,), 6, 0, "accuracy", Outcome.PASS),
        ((RIGHT,), 7, 0, "accuracy", Outcome.FAIL),
        ((RIGHT,), 10, 1, "accuracy", Outcome.FAIL),
        ((RIGHT,), 9, 1, "accuracy", Outcome.PASS),
        ((RIGHT,), 8, 1, "accuracy", Outcome.PASS),
        ((kappa >= 0.4,), 7, 0, "accuracy", Outcome.PASS),
        ((kappa >= 0.4,), 8, 0, "accuracy", Outcome.FAIL),
        ((kappa >= 0.4,), 12, 0, "kappa", Outcome.FAIL),
        ((kappa >= 0.4,), 5, 0, "kappa", Outcome.PASS),
        ((kappa >= 0.4,), 40, 0, "kappa", Outcome.FAIL),
    ],
)
def test_agreement_with_gold_must_not_fall(claims, moved, back, key, outcome):
    """Accuracy by the exact test of signs at .01, or at half of it beside kappa, from whose rows it is taken."""
    cases = tuple(replace(c, better=("good", "bad")[i % 2]) for i, c in enumerate(CASES))
    ids = [c.id for c in cases]

    def judged(*wrong):
        return lambda case, ask: Preferred(
            case.better if case.id not in wrong else next(a.id for a in case.answers if a.id != case.better)
        )

    old = audited(judged(*ids[:back]), cases, (None, *claims))
    new = audited(judged(*ids[back : back + moved]), cases, (None, *claims))

    found = by_key(against(old, new))

    one = found[f"{POOLED}/{key}"]
    assert (one.outcome, one.n) == (outcome, 200)
    assert {k for k in found if k.startswith(POOLED)} == {POOLED, *(f"{POOLED}/{n}" for n in names_of(claims))}
    assert next(iter(found)) == POOLED
    assert one.claim.limit == (0 if outcome is Outcome.FAIL else margin_of(key, "pairwise", 200))
    gold = [f for name, f in found.items() if name.startswith(f"{POOLED}/")]
    last = len(gold) - sum(f.outcome is Outcome.FAIL for f in gold) + 1
    assert one.level == (EVIDENCE / 2 / last if outcome is Outcome.FAIL else LEVEL)
    assert (one.reason.has(Kind.WORSE), one.reason.has(Kind.POOLED)) == (outcome is Outcome.FAIL, False)
    if key == "accuracy":
        assert one.value == pytest.approx((moved - back) / 200, abs=1e-6)
    if key == "accuracy" and outcome is Outcome.PASS:
        each = [1.0] * moved + [-1.0] * back + [0.0] * (200 - moved - back)
        assert (one.low, one.high) == pytest.approx(clustered_t(each, [1] * 200, -1, 1, LEVEL), abs=1e-6)


def test_a_pool_of_other_cases_is_incomplete_and_says_nothing_of_the_evidence():
    """Whatever the cases that compare show: its limit is the margin; with a limit of its own, that one."""
    old, new = (audited(leaning(0.0, noise=noise), CASES, (None, RIGHT)) for noise in (0.0, 0.4))
    other = rehashed(new, "consistency/accuracy", 30)

    worse, cut = (by_key(against(old, run, {ACCURATE: 0.5}))[ACCURATE] for run in (new, other))
    strict = by_key(against(old, old, {ACCURATE: -0.05}))[ACCURATE]
    beyond = by_key(against(old, replace(old, judge=replace(JUDGE, fingerprint="e")), {ACCURATE: -0.5}))[ACCURATE]

    assert (worse.outcome, worse.claim.limit, worse.stated) == (Outcome.FAIL, 0.0, None)
    assert (cut.outcome, cut.claim.limit) == (Outcome.INCOMPLETE, 0.5)
    assert not cut.reason.has(Kind.WORSE)
    assert strict.outcome is Outcome.PASS
    assert (beyond.outcome, beyond.claim.limit, beyond.reason.has(Kind.WORSE)) == (Outcome.FAIL, -0.5, False)


def cloned(audit, key, count=4, **changes):
    """Return a run of so many probes with one name each and the rows of one finding."""
    one = by_key(audit.findings)[key]
    names = [f"{one.perturbation}{i}" for i in range(count)]
    return replace(
        audit,
        findings=tuple(
            replace(one, key=f"{one.bias}/{one.measure}/{name}", perturbation=name, **changes) for name in names
        ),
    )


def test_replies_that_can_be_read_no_longer_fail_together():
    """By the rows of four claims about gain; or of four that claim it themselves."""
    claims = NO_GAIN, unreadable_gain <= 0.1

    def silent(case, ask):
        mute = "(Book)" in case.shown[0].text + case.shown[1].text and chance("mute", case.id).random() < 0.2
        return Unreadable("no words") if mute else leaning(0.0)(case, ask)

    old, new = (audited(rule, CASES, (cite, *claims)) for rule in (leaning(0.0), silent))
    for key in (BOOK, "authority/unreadable_gain/cite"):
        before, after = cloned(old, key), cloned(new, key)

        found = by_key(against(before, after))

        assert found[f"{POOLED}/unreadable_gain"].outcome is Outcome.FAIL
        assert f"{POOLED}/unreadable_gain" not in by_key(against(cloned(old, key, 3), cloned(new, key, 3)))
        assert by_key(against(before, before))[f"{POOLED}/unreadable_gain"].outcome is Outcome.PASS


def test_clean_claims_are_no_probes_of_a_pool():
    """Four of them with one measure, which no edit was asked of."""
    run = cloned(sound(), "consistency/consistency_rate")

    assert f"{POOLED}/consistency_rate" not in by_key(against(run, run))


def test_probes_that_differ_in_one_thing_are_compared_each_by_itself(subtests):
    """In what was edited, what it expects, what it says or what it is held against."""
    one = replace(by_key(sound().findings)[PLEA], against="nothing")
    for changes in (
        {"perturbation": "beg"},
        {"expects": "not-better"},
        {"summary": "Beg."},
        {"against": "blank"},
        {"bias": "mood"},
    ):
        with subtests.test(changes=changes):
            run = replace(sound(), findings=(one, replace(one, key="another", **changes)))

            assert len([f for f in against(run, run) if f.bias != "baseline"]) == 2


def test_probes_of_which_no_case_compares_are_not_tested():
    """Nor is one of which one case compares: two have bounds."""
    for left, outcome in ((0, Outcome.NOT_TESTED), (1, Outcome.NOT_TESTED), (2, Outcome.OBSERVED)):
        rows = by_key(sound().findings)[PLEA].trials
        other = tuple(replace(r, target="good", hash="0" * 16) for r in rows[left:])

        found = by_key(against(cloned(sound(), PLEA), cloned(sound(), PLEA, trials=(*rows[:left], *other))))

        one, together = found["sentiment/worsening/plead0"], found[TOGETHER]
        assert (one.outcome, one.reason.has(Kind.TOO_FEW_PAIRS)) == (outcome, left < 2)
        assert (together.outcome is Outcome.INCOMPLETE, together.reason.has(Kind.TOO_FEW_PAIRS)) == (left < 2,) * 2


def names_of(claims):
    """Return the measures of agreement that are compared where these are claimed."""
    return {c.measure for c in claims} | {"accuracy"}


def test_the_bounds_of_the_evidence_are_those_of_the_exact_test_of_signs():
    """All that moved moved equally far: the share of it that got worse, by Clopper and Pearson, on the scale of all."""
    found = Growth([1.0] * 7 + [-1.0] + [0.0] * 192, [1] * 200, 1.0).shift(0.01)
    thirds = Growth([1 / 3, 1 / 3, -1 / 3, 0.0], [1] * 4, 1.0).shift(0.05)
    apart = Growth([0.5, 1.0, 1.0, 0.0] * 20, [1] * 80, 1.0).shift(0.05)
    grouped = Growth([1.0, 1.0, 1.0, 0.0] * 20, [2] * 80, 1.0).shift(0.05)

    assert found == pytest.approx([8 / 200 * (2 * share - 1) for share in clopper_pearson(7, 8, 0.01)])
    assert thirds == pytest.approx([1 / 4 * (2 * share - 1) for share in clopper_pearson(2, 3, 0.05)])
    assert apart == pytest.approx(exchangeable_shift([0.5, 1.0, 1.0, 0.0] * 20, [1] * 80, 0.05))
    assert grouped == pytest.approx(exchangeable_shift([1.0, 1.0, 1.0, 0.0] * 20, [2] * 80, 0.05))
    assert Growth([0.0] * 9, [1] * 9, 1.0).shift(0.05) == (0, 0)


def test_the_bounds_of_the_margin_are_padded_less_the_more_probes_there_are():
    """By as much as the mean over all probes of a case can move: one probe over its whole range, four over half."""
    each = [0.1, 0.2, -0.1] * 20
    one, four = Growth(each, [1] * 60, 1.0), Growth(each, [1] * 60, 1.0, 4)

    assert one.bounds(LEVEL) == clustered_t(each, [1] * 60, -1, 1, LEVEL)
    assert four.bounds(LEVEL) == clustered_t(each, [1] * 60, -0.5, 0.5, LEVEL)


def test_a_shift_is_turned_by_the_side_of_its_mean_however_small():
    """A mean of exactly zero is above it."""

    def worse(*rows):
        paired = Paired(MEASURES["mean_shift"], tuple(Both(str(i), str(i), *row) for i, row in enumerate(rows)))
        return list(map(worse_way(paired, two_sided=True), paired.rows))

    assert worse((0.2, -0.3)) == pytest.approx([0.1])
    assert worse((-0.2, 0.3)) == pytest.approx([0.1])
    assert worse((0.1, 0.2), (-0.1, 0.2)) == pytest.approx([0.1, 0.3])
    assert worse((0.2, 0.1), (0.2, -0.1)) == pytest.approx([-0.1, -0.3])


def test_agreement_is_that_of_the_claim_with_the_most_rows():
    """The same replies in two claims are not counted twice; a claim that was accepted as it is counts for none."""
    both = audited(leaning(0.0), CASES, (None, RIGHT, kappa >= -0.9))
    few = by_key(both.findings)["consistency/accuracy"]
    rows = few.trials[:50]
    value = accuracy.estimate(trials_of(replace(few, trials=rows), Scale()), LEVEL).value
    part = change(both, "consistency/accuracy", trials=rows, value=value)

    whole, waived = by_key(against(part, both)), by_key(against(change(part, "consistency/kappa", accepted="x"), both))

    assert whole[ACCURATE].n == 200
    assert waived[ACCURATE].n == 50
    assert f"{POOLED}/kappa" not in waived


def test_agreement_on_other_cases_is_incomplete():
    """Nothing of it compares, so nothing is proven."""
    other = audited(leaning(0.0), [replace(c, question="What is it?") for c in CASES], (None, RIGHT))

    found = by_key(against(audited(leaning(0.0), CASES, (None, RIGHT)), other))[ACCURATE]

    assert (found.outcome, found.n, found.value) == (Outcome.INCOMPLETE, 0, None)


@pytest.mark.parametrize(
    ("measure", "family", "cases", "margin"),
    [
        ("gain", "pairwise", 200, 0.20),
        ("gain", "pairwise", 50, 0.40),
        ("gain", "pairwise", 800, 0.20),
        ("pull", "pairwise", 200, 0.25),
        ("pull", "listwise", 100, 0.3536),
        ("gain", "listwise", 200, 0.20),
        ("gain", "label", 200, 0.10),
        ("gain", "score", 200, 0.05),
        ("net_robustness", "rubric", 100, 0.0707),
        ("accuracy", "score", 200, 0.16),
        ("kappa", "label", 200, 0.32),
        ("mean_absolute_error", "score", 200, 0.16),
        ("accuracy", "pairwise", 12, 0.5),
        ("kappa", "pairwise", 12, 1.0),
        ("accuracy", "pairwise", 0, 0.5),
        ("gain", "score", 1, 0.7071),
    ],
)
def test_a_margin_is_wider_for_fewer_cases(measure, family, cases, margin):
    """By the root of their number, and never by more than half of what the measure can be."""
    assert margin_of(measure, family, cases) == margin


def test_a_margin_goes_by_the_cases_of_the_smaller_run():
    """A run that does not say how many it had counts as a usual one; of agreement those count that compare."""
    for old, new, margin in [
        (200, 200, 0.2),
        (50, 200, 0.4),
        (200, 50, 0.4),
        (None, 50, 0.4),
        (0, None, 0.2),
        (1, None, 1.0),
    ]:
        before, after = (replace(run, cases={"n": n}) for run, n in ((sound(), old), (redrawn(), new)))
        found = by_key(against(before, after))
        assert found[TOGETHER].claim.limit == margin
        assert found[ACCURATE].claim.limit == 0.16


def without_cases(audit, *cases):
    """Return a run that does not have some cases: no claim has a row of them."""
    kept = [replace(f, trials=tuple(r for r in f.trials if r.case not in cases)) for f in audit.findings]
    kept = [
        replace(f, value=MEASURES[f.measure].estimate(trials_of(f, Scale()), LEVEL).value, n=len(f.trials))
        for f in kept
    ]
    return replace(audit, findings=tuple(kept), cases={"n": 200 - len(cases), "sha256": "d" * 64})


@pytest.mark.parametrize("gone", [("c000",), ("c000", "c007"), tuple(f"c{n:03}" for n in range(40))])
def test_cases_that_are_gone_are_named_once_and_nothing_is_worse_by_it(gone):
    """The others are compared; a gate does not become green by leaving out its hard cases."""
    found = by_key(against(sound(), without_cases(sound(), *gone)))

    lost = found[GONE]
    assert (lost.outcome, lost.red, lost.reason.kind) == (Outcome.INCOMPLETE, True, Kind.CASES_GONE)
    assert lost.reason.details[:2] == (len(gone), 200)
    assert str(lost.reason.details[2]).startswith("c000")
    assert {key for key, f in found.items() if f.red} == {GONE}
    assert found["sentiment/worsening/plead"].n == 200 - len(gone)
    assert not any(f.outcome is Outcome.FAIL for f in found.values())


def test_a_judge_that_got_worse_on_the_cases_that_are_left_fails():
    """Whatever is missing."""
    found = by_key(against(sound(), without_cases(biased(), "c000")))

    assert found["authority/worsening/cite"].outcome is Outcome.FAIL
    assert found[GONE].outcome is Outcome.INCOMPLETE


def test_a_case_that_one_claim_lacks_is_not_gone():
    """Other claims have it: it is one of the few that any claim may lose."""
    other = replace(fewer(sound(), PLEA, 1), cases={"n": 199, "sha256": "d" * 64})

    assert not any(f.red for f in against(sound(), other))


def test_what_was_not_asked_after_an_early_stop_has_not_vanished():
    """A run that stops early is compared on what both asked, and says how many cases it did not ask."""
    early = audited(leaning(0.0, salt=1), CASES, *PROBES, stopping=Stopping.SEQUENTIAL)
    asked = {r.case for r in by_key(early.findings)[PLEA].trials}

    found = by_key(against(sound(), early))

    assert not any(f.red for f in found.values())
    one = found["sentiment/worsening/plead"]
    assert (one.outcome, one.n) == (Outcome.OBSERVED, len(asked))
    assert 40 < len(asked) < 200
    assert in_words(one.excluded) == {"not asked: this run stopped before": 200 - len(asked)}
    assert not any(f.red for f in against(early, redrawn()))


def test_a_case_that_is_gone_before_an_early_stop_is_named():
    """What stands before the last case that was asked would have been asked."""
    early = audited(leaning(0.0), CASES, (plead, ROBUST), stopping=Stopping.SEQUENTIAL)
    rows = sorted(by_key(early.findings)[PLEA].trials, key=lambda r: place_of(0, r.case, start_of(plead.bias, 200)))
    for left, named in ((rows[1:], rows[0].case), (rows[:-1], "others that no claim reached")):
        estimate = net_robustness.estimate(trials_of(replace(early.findings[0], trials=tuple(left)), Scale()), 0.05)
        other = change(early, PLEA, trials=tuple(left), value=estimate.value)

        found = by_key(against(sound(), replace(other, cases={"n": 199, "sha256": "d" * 64})))

        assert found["sentiment/worsening/plead"].outcome is Outcome.OBSERVED
        assert found[GONE].reason.details == (1, 200, named)


def bare(audit, key, measure):
    """Return a run of one claim without its inert asks."""
    one = by_key(audit.findings)[key]
    one = replace(one, trials=tuple(replace(r, inert=(), floor="") for r in one.trials))
    return replace(audit, findings=(replace(one, value=measure.estimate(trials_of(one, Scale()), LEVEL).value),))


def test_a_run_that_needed_no_inert_words_compares_by_the_arms_that_both_have(subtests):
    """As one has that passes on the edited asks alone: the gain since the clean asks then, in both runs."""
    runs = [bare(run, BOOK, gain) for run in (sound(), redrawn())]
    rows = [trials_of(run.findings[0], Scale()).rows for run in runs]
    each = [[gain.per_case(row, Scale()) for row in both] for both in zip(*rows, strict=True)]
    grown = [now - was for was, now in each if isinstance(was, float) and isinstance(now, float)]
    for new in (by_key(redrawn().findings)[BOOK], runs[1].findings[0]):
        with subtests.test(inert=bool(new.trials[0].inert)):
            now = replace(redrawn(), findings=(new,))

            for before, after, way in ((runs[0], now, 1), (now, runs[0], -1)):
                found = against(before, after)[1]
                assert (found.outcome, found.n) == (Outcome.OBSERVED, len(grown))
                assert found.value == pytest.approx(way * sum(grown) / len(grown), abs=1e-6)


def test_robustness_beside_inert_words_in_one_run_alone_is_not_compared():
    """One is how much more an edit moves than inert words do, the other how much it moves."""
    old, now = bare(sound(), PLEA, worst_robustness), redrawn()

    for before, after in ((old, now), (replace(now, findings=(by_key(now.findings)[PLEA],)), old)):
        found = by_key(against(before, after))["sentiment/worsening/plead"]

        assert (found.outcome, found.reason.kind, found.n) == (Outcome.INCOMPLETE, Kind.OTHER_FLOOR, 0)


def test_a_little_worse_everywhere_fails_together():
    """No probe shows it by itself, and the mean is within the margin: the evidence of all of them is enough."""
    cases = pairs(400)
    drift, reminders = ("Please.", "Much depends", "Two answers"), (plead, urge, frame, remark)

    def rule(dose, salt):
        def judged(case, ask):
            told = [d for d in (*drift, "A remark") if any(d in note for note in case.notes)]
            if told and chance("drift", case.id, told[0]).random() < dose:
                return Preferred("bad")
            return leaning(0.0, noise=0.0, salt=salt)(case, ask)

        return judged

    probes = [(edit, ROBUST) for edit in reminders]
    before, after = (audited(rule(dose, dose), cases, *probes) for dose in (0.0, 0.0125))

    found = by_key(against(before, after))

    assert {key for key, f in found.items() if f.outcome is Outcome.FAIL} == {TOGETHER}
    assert 0 < found[TOGETHER].low < found[TOGETHER].value < 0.03
    assert found[TOGETHER].reason.has(Kind.WORSE)


def test_a_few_cases_without_a_reply_have_not_vanished():
    """Of the same set two in a hundred may be lost, as for any claim; with more the comparison is incomplete."""
    few = by_key(against(sound(), fewer(sound(), PLEA, 4)))["sentiment/worsening/plead"]
    many = by_key(against(sound(), fewer(sound(), PLEA, 5)))["sentiment/worsening/plead"]

    assert (few.outcome, few.reason.kind) == (Outcome.OBSERVED, Kind.ASIDE)
    assert (many.outcome, many.reason.kind) == (Outcome.INCOMPLETE, Kind.CASES_LOST)
    assert many.reason.details[:2] == (5, 200)


def test_cases_that_an_incomplete_claim_did_not_reach_have_not_vanished():
    """What it asked is compared, and the comparison is incomplete."""
    for lost, outcome, kind in ((5, Outcome.INCOMPLETE, Kind.CASES_LOST), (0, Outcome.OBSERVED, Kind.NONE)):
        cut = change(fewer(sound(), PLEA, lost), PLEA, outcome=Outcome.INCOMPLETE, reason=reason_of("the cap"))

        found = by_key(against(sound(), cut))["sentiment/worsening/plead"]

        assert (found.outcome, found.reason.kind, found.n) == (outcome, kind, 200 - lost)


def test_cases_that_vanished_are_those_of_the_claim_with_the_most_rows():
    """Another claim of the probe had asked of half of them."""
    rows = by_key(sound().findings)[BOOK].trials[100:]
    value = gain.estimate(trials_of(replace(by_key(sound().findings)[BOOK], trials=rows), Scale()), LEVEL).value
    before = change(sound(), BOOK, trials=rows, value=value)

    found = by_key(against(before, fewer(sound(), "authority/net_robustness/cite", 5)))["authority/worsening/cite"]

    assert found.outcome is Outcome.INCOMPLETE
    assert found.reason.has(Kind.CASES_LOST)


def test_why_a_claim_lost_cases_is_in_its_reason():
    """By the reasons of today's claim."""
    silent = change(fewer(sound(), PLEA, 5), PLEA, excluded={because(Kind.UNREAD_ARM): 5})

    lost = by_key(against(sound(), silent))["sentiment/worsening/plead"].reason

    assert (lost.kind, lost.has(Kind.UNREAD_ARM)) == (Kind.CASES_LOST, True)


def test_a_few_cases_with_another_edit_are_left_out_and_named():
    """They are not compared, whatever became of them."""
    found = by_key(against(sound(), rehashed(sound(), PLEA, 6)))

    pooled, probe = found[TOGETHER], found["sentiment/worsening/plead"]
    assert (pooled.outcome, probe.outcome, probe.n) == (Outcome.PASS, Outcome.OBSERVED, 194)
    assert "6 cases left out, with another edit or content than before (sentiment/plead c000, " in str(pooled.reason)
    assert "c004 and 1 more)" in str(pooled.reason)
    assert in_words(probe.excluded) == in_words(pooled.excluded) == {"another edit or content": 6}


def test_a_baseline_of_other_edits_is_incomplete():
    """More than a tenth changed: of one probe, or of all together."""
    one = by_key(against(sound(), rehashed(sound(), PLEA, 21)))
    all_of_it = by_key(against(sound(), rehashed(sound(), PLEA, 90)))
    names = "c000, c001, c002, c003, c004 and 16 more"

    assert (one[TOGETHER].outcome, one["sentiment/worsening/plead"].outcome) == (Outcome.PASS, Outcome.INCOMPLETE)
    assert one["sentiment/worsening/plead"].reason == because(Kind.OTHER_BASELINE, 21, 200, names)
    assert all_of_it[TOGETHER].outcome is Outcome.INCOMPLETE
    changed = all_of_it[TOGETHER].reason.of(Kind.OTHER_BASELINE)
    assert changed.details[:2] == (90, 800)
    assert str(changed.details[2]).startswith("sentiment/plead c000, sentiment/plead c001, ")


def test_a_tenth_of_other_edits_is_no_other_baseline():
    """20 of 200 cases of one probe, 80 of 800 of all together: these are left out, and the others compare."""
    one, all_of_it = (by_key(against(sound(), rehashed(sound(), PLEA, count))) for count in (20, 80))

    assert (one["sentiment/worsening/plead"].outcome, one["sentiment/worsening/plead"].n) == (Outcome.OBSERVED, 180)
    assert all_of_it[TOGETHER].outcome is Outcome.PASS


def rehashed(audit, key, count):
    """Return a run in which the first cases of a probe had another edit."""
    rows = by_key(audit.findings)[key].trials
    other = tuple(replace(r, hash="0" * 16) for r in rows[:count])
    return change(audit, key, trials=(*other, *rows[count:]))


def test_a_hash_comes_from_what_the_edit_wrote():
    """An edit that writes something else for ten cases is not compared on them."""
    other = audited(leaning(0.0), CASES, (replace(cite_some, name="cite"), ROBUST, NO_GAIN))

    found = by_key(against(sound(), other))["authority/worsening/cite"]

    assert (found.outcome, found.n, found.excluded) == (Outcome.OBSERVED, 178, {because(Kind.OTHER_EDIT): 10})


def test_another_treated_answer_is_no_other_edit():
    """Where the pilot chose the other answer the case is left out, and the baseline is not out of date for it."""
    rows = by_key(sound().findings)[PLEA].trials
    other = tuple(replace(r, target="good", hash="0" * 16) for r in rows[:50])

    found = by_key(against(sound(), change(sound(), PLEA, trials=(*other, *rows[50:]))))

    assert found["sentiment/worsening/plead"].outcome is Outcome.OBSERVED
    assert in_words(found["sentiment/worsening/plead"].excluded) == {"another treated answer": 50}


def test_clean_cases_compare_where_their_content_is_the_same():
    """Whatever the set that they come from; a case with another question or gold label is another one."""
    clean = (None, AGREES, RIGHT)
    old = audited(leaning(0.0), CASES, clean)
    larger = replace(audited(leaning(0.0), pairs(220), clean), cases={"n": 220, "sha256": "d" * 64})
    reworded = tuple(replace(c, question=f"{c.question} Now.") for c in CASES[:10])
    relabelled = tuple(replace(c, better="bad") for c in CASES[10:15])
    other = audited(leaning(0.0), (*reworded, *relabelled, *CASES[15:]), clean)

    same, fewer = by_key(against(old, larger)), by_key(against(old, other))

    for key in ("consistency/worsening/consistency_rate", "consistency/worsening/accuracy"):
        assert (same[key].outcome, same[key].n, same[key].value) == (Outcome.OBSERVED, 200, 0.0)
        assert (fewer[key].outcome, fewer[key].n, fewer[key].value) == (Outcome.OBSERVED, 185, 0.0)
        assert in_words(fewer[key].excluded) == {"another edit or content": 15}


def test_clean_cases_with_another_content_are_another_baseline():
    """Where more than a tenth of them changed nothing is known."""
    other = audited(leaning(0.0), [replace(c, question="What is it?") for c in CASES], (None, AGREES))

    found = by_key(against(without(sound(), "consistency/accuracy"), other))["consistency/worsening/consistency_rate"]

    assert (found.outcome, found.n) == (Outcome.INCOMPLETE, 0)
    assert "200 of 200 cases have another edit or content than in the baseline" in str(found.reason)


def test_a_record_that_does_not_give_its_own_value_compares_with_nothing():
    """Somebody changed the file by hand."""
    forged = change(sound(), PLEA, value=0.5)

    found = by_key(against(forged, sound()))

    assert (found[TOGETHER].outcome, found["sentiment/worsening/plead"].outcome) == (Outcome.INCOMPLETE,) * 2
    assert "the file was changed by hand" in str(found[TOGETHER].reason)


def test_accuracy_that_fell_is_worse():
    """The gold labels are in the records."""
    wrong = audited(leaning(0.0, noise=0.5, salt=1), CASES, (None, AGREES, RIGHT))

    found = by_key(against(sound(), wrong))["consistency/worsening/accuracy"]

    assert (found.outcome, found.n) == (Outcome.FAIL, 200)
    assert found.value == pytest.approx(
        by_key(sound().findings)["consistency/accuracy"].value - by_key(wrong.findings)["consistency/accuracy"].value,
        abs=2e-6,
    )


def test_a_pull_of_a_slot_that_grew_is_worse():
    """The order in which the answers stood is in the record; only the asks that both runs made are compared."""
    pulled = audited(lambda case, ask: Preferred(case.shown[0].id), CASES, (twins, abs(slot_pull) <= 0.2))

    same = by_key(against(on_twins(), on_twins()))["position/worsening/twins"]
    grown = by_key(against(without(on_twins(), "position/tie_rate/twins"), pulled))["position/worsening/twins"]

    assert (same.outcome, same.value) == (Outcome.OBSERVED, 0.0)
    assert (grown.outcome, grown.n) == (Outcome.FAIL, 200)
    before = by_key(on_twins().findings)["position/slot_pull/twins"]
    asked = [replace(r, perturbed=r.perturbed[:1], slots=r.slots[:1]) for r in trials_of(before, Scale()).rows]
    assert grown.value == pytest.approx(1 - sum(slot_pull.per_case(r, Scale()) for r in asked) / 200, abs=2e-6)


def test_detection_that_fell_is_worse():
    """The measures of a probe that claims no robustness are turned so that more is worse."""

    def blind(case, ask):
        return Preferred(case.shown[0].id) if "good~damaged" in {a.id for a in case.answers} else Preferred("good")

    after = audited(blind, CASES, (spoil, FOUND))
    found = by_key(against(sound(), after))["sensitivity/worsening/spoil"]

    mean = {}
    for run in (sound(), after):
        rows = trials_of(by_key(run.findings)[SPOILT], Scale()).rows
        first_asks = [replace(row, perturbed=row.perturbed[:1]) for row in rows]
        mean[id(run)] = sum(net_detection.per_case(row, Scale()) for row in first_asks) / len(rows)
    assert found.outcome is Outcome.FAIL
    assert found.value == pytest.approx(mean[id(sound())] - mean[id(after)], abs=2e-6)
    assert str(found.reason).startswith("net_detection is worse")


def shifted(shift):
    """Return a rule that gives scores off by a shift where it reads the plea."""
    return lambda case, ask: Score(5 + shift * ("Please." in case.notes) + chance(case.id, ask).choice([-0.5, 0, 0.5]))


def test_a_claim_on_both_sides_is_worse_further_from_zero(subtests):
    """On either side, and not on the way to zero or as far beyond it."""
    for before, after, outcome in [
        (0.5, 1.5, Outcome.FAIL),
        (-0.5, -1.5, Outcome.FAIL),
        (1.5, 0.5, Outcome.OBSERVED),
        (0.3, -0.3, Outcome.OBSERVED),
    ]:
        with subtests.test(before=before, after=after, outcome=outcome):
            probe, cases = (plead, abs(mean_shift) <= 0.2), singles(100)
            old, new = (audited(shifted(s), cases, probe, task="score") for s in (before, after))

            found = by_key(against(old, new))

            assert found["sentiment/worsening/plead"].outcome is outcome
            assert found[POOLED].outcome is Outcome.NOT_TESTED


def test_a_limit_can_be_another():
    """As gate.toml may set it."""
    strict, loose = (by_key(against(sound(), redrawn(), {TOGETHER: x}))[TOGETHER] for x in (0.005, 0.12))

    assert (strict.outcome, loose.outcome) == (Outcome.UNDECIDED, Outcome.PASS)
    assert strict.cases_to_decide > 200
    assert (loose.claim.limit, loose.stated.limit) == (0.12, 0.20)


def test_the_pooled_reason_says_how_many_probes_there_are_and_the_means_then_and_now():
    """Where nothing is decided it says that more of them can help: few probes have a wide interval."""
    strict, loose = (against(sound(), redrawn(), {TOGETHER: x})[0].reason for x in (0.005, 0.12))

    assert (strict.of(Kind.POOLED_UNDECIDED).details, loose.of(Kind.POOLED).details) == ((4,), (4,))
    assert loose.of(Kind.THEN_AND_NOW).details[0] == "net_robustness"


def test_of_fewer_than_four_probes_nothing_is_claimed_together():
    """It could hardly be proven; each is compared by itself, and the finding says so and what else changed."""
    found = against(without(sound(), PLEA), replace(without(redrawn(), PLEA), seed=3))

    assert (found[0].key, found[0].outcome, found[0].red) == (POOLED, Outcome.NOT_TESTED, False)
    assert "no measure is claimed by 4 probes or more in both runs" in str(found[0].reason)
    assert "seed: 0 -> 3" in str(found[0].reason)
    assert [f.key for f in found if f.outcome is Outcome.PASS] == [ACCURATE]
    assert {f.outcome for f in found[1:] if f.key != ACCURATE} == {Outcome.OBSERVED}


def test_what_was_accepted_as_it_is_stays_out_of_the_pool():
    """By xfail or gate.toml, in either run; by itself it is compared all the same."""
    waived = change(sound(), PLEA, accepted="until spring")

    for old, new in ((waived, redrawn()), (sound(), change(redrawn(), PLEA, accepted="until spring"))):
        found = by_key(against(old, new))

        assert found[POOLED].outcome is Outcome.NOT_TESTED
        assert found["sentiment/worsening/plead"].outcome is Outcome.OBSERVED


def test_another_kind_of_verdict_cannot_be_a_baseline():
    """A pairwise run says nothing about scores."""
    with pytest.raises(ConfigError, match="expected a baseline of a judge with task='score', got task='pairwise'"):
        against(sound(), replace(sound(), judge=replace(JUDGE, task="score")))


def test_a_scale_without_ends_is_refused():
    """Scores could not be placed on it."""
    with pytest.raises(ConfigError, match="expected a scale from low to high"):
        against(sound(), replace(sound(), judge=replace(JUDGE, scale={"low": 1})))


def test_a_run_recalls_its_baseline():
    """Value, bounds and outcome of each key stand beside those of today; a new key has none."""
    run = recalled(without(sound(), BOOK), sound())

    found = by_key(run.findings)
    assert found[BOOK].baseline is None
    assert found[PLEA].baseline["value"] == by_key(sound().findings)[PLEA].value
    assert found[PLEA].baseline["outcome"] == "PASS"


def test_two_probes_with_one_name_keep_their_keys_apart():
    """Their findings would have one key; then the measure is part of it."""
    unnamed = [replace(f, perturbation=None) for f in sound().findings if f.bias == "authority"]
    two = [replace(f, summary=f.measure) for f in unnamed if f.measure != "unreadable_gain"]
    audit = replace(sound(), findings=tuple(two))

    third = replace(by_key(sound().findings)[PLEA], bias="authority", perturbation=None)
    three = replace(sound(), findings=(*(replace(f, summary="One.") for f in two), third))

    for run in (audit, three):
        assert [f.key for f in against(run, run)] == [
            POOLED,
            "authority/worsening/gain",
            "authority/worsening/net_robustness",
        ]


def test_the_findings_of_a_comparison_are_findings_like_others():
    """They survive the results file."""
    audit = replace(sound(), findings=(*sound().findings, *against(sound(), sound())))

    assert Audit.from_json(json.loads(json.dumps(audit.to_json()))) == audit
    assert against(sound(), audit) == against(audit, sound()) == against(sound(), sound())


def test_criteria_that_weigh_the_same_compare():
    """Each record holds what they weigh; a case whose criteria weigh something else is another one."""

    def later(case, ask):
        return ticking(case, ask + 10)

    def judged(cases):
        return audited(later, cases, *ON_SCORES, (spoil, FOUND), (None, RIGHT), task="rubric")

    heavier = [replace(c, criteria=tuple(replace(one, points=3.0) for one in c.criteria)) for c in RUBRICS[:5]]

    unchanged = against(ticked(), ticked())
    again = by_key(against(ticked(), judged(RUBRICS)))
    other = by_key(against(ticked(), judged((*heavier, *RUBRICS[5:]))))

    assert not any(f.red for f in unchanged)
    for key in ("sentiment/worsening/plead", "consistency/worsening/accuracy"):
        assert (again[key].outcome, again[key].n) == (Outcome.OBSERVED, 60)
        assert (other[key].outcome, other[key].n) == (Outcome.OBSERVED, 55)
        assert in_words(other[key].excluded) == {"another edit or content": 5}


def test_what_got_worse_since_a_baseline_is_one_sentence():
    """By the worst outcome of what was compared; nothing where no baseline was, and what was accepted is left out."""

    def said(outcome, **changes):
        one = replace(sound().findings[0], key=f"{POOLED}/gain", measure="worsening", outcome=outcome, **changes)
        return since_baseline(replace(sound(), findings=(*sound().findings, one)), "old.json")

    same = said(Outcome.PASS, value=0.0)
    others = [said(outcome) for outcome in (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)]
    moved = said(
        Outcome.PASS, value=0.05, claim=Limit("<=", 0.2), reason=because(Kind.THEN_AND_NOW, "gain", 0.01, 0.06)
    )

    assert since_baseline(sound(), "old.json") == ""
    assert "old.json" in same
    assert len({same, moved, *others}) == 5
    assert all("gain" in words for words in others)
    assert all(figure in moved for figure in ("old.json", "gain 0.01 -> 0.06", "0.20"))
    assert said(Outcome.FAIL, accepted="until spring", value=0.0) == same


def test_a_fall_within_the_margin_is_shown_and_another_judge_is_named():
    """An accuracy that fell a little is not proven worse, and is not "nothing"; the same run again is."""
    wrong = lambda case, ask: Preferred("bad") if case.id < "c004" else leaning(0.0, noise=0.0)(case, ask)  # noqa: E731
    before, after = (audited(rule, CASES, (None, RIGHT)) for rule in (leaning(0.0, noise=0.0), wrong))
    other = replace(after, judge=replace(after.judge, fingerprint="0" * 64, prompt_sha256="e" * 64))

    found = against(before, other)
    fell = by_key(found)[ACCURATE].reason
    again = against(before, before)

    assert by_key(found)[ACCURATE].outcome is Outcome.PASS
    assert fell.of(Kind.THEN_AND_NOW).details == ("accuracy", 1.0, 0.98)
    assert fell.of(Kind.OTHER_JUDGE).details == ("another prompt",)
    assert not any(f.reason.has(Kind.OTHER_JUDGE) for f in against(before, after))
    assert "1.00 -> 0.98" in since_baseline(replace(other, findings=(*other.findings, *found)), "old.json")
    assert since_baseline(replace(before, findings=(*before.findings, *again)), "x") == "Nothing got worse since x."
