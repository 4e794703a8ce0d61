"""What a test holds: questions, proofs, their truth and their words."""

import warnings
from dataclasses import replace

import pytest

from calm.core.claims import Outcome
from calm.core.edits import Expects, perturbation, rotate
from calm.core.measures import (
    accuracy,
    consistency_rate,
    gain,
    mean_shift,
    net_robustness,
    robustness_rate,
    unreadable_gain,
    worst_gain,
)
from calm.core.verdict import Preferred, Score
from calm.errors import ClaimError, ConfigError, EditError
from calm.experiment.stopping import Design
from calm.gate.probe import Probe
from calm.gate.question import MAX_REPR, CalmUndecidedWarning, Context, Node
from tests.planted import Planted, chance, constant_score, fair, no_reply, pair, pairs, setup, singles

NODE = Node("suites/test_authority.py::test_x", "authority")


def appended(word, name=None, **options):
    """Return a perturbation that appends a word to the treated answer."""

    def append(case, rng):
        return case.edit(case.target, lambda text: f"{text} {word}")

    append.__name__ = name or word
    return perturbation(**{"bias": "authority", "expects": Expects.NOT_BETTER} | options)(append)


cite = appended("CITED", "cite")
plain = appended("PLAIN", "plain")
taken = Planted(lambda case, ask: Preferred("bad" if "CITED" in case["bad"].text else "good"), fingerprint="taken")


def noisy(case, ask):
    """Err with probability .25, on any text and ask."""
    return Preferred("bad" if chance(case.id, [a.text for a in case.shown], ask).random() < 0.25 else "good")


@pytest.fixture
def probing():
    """Return a function that makes a probe for a judge and cases."""
    opened = []

    def make(judge=None, cases=None, *, design=Design(), **options):
        ready = setup(judge or Planted(fair), pairs(80) if cases is None else cases, design=design)
        opened.append(ready)
        return Probe(Context(ready.__enter__(), NODE, **options))

    yield make
    for ready in opened:
        ready.__exit__(None, None, None)


def test_nothing_is_asked_before_a_claim_is(probing):
    """A question and its representation cost no call."""
    judge = Planted(fair)
    probe = probing(judge)

    question = probe(cite)

    assert (repr(question), repr(probe()), repr(probe)) == ("probe(cite)", "probe()", "probe")
    assert judge.asked == []


def test_a_proof_of_all_claims_is_true(probing):
    """And has been looked at only after its truth was asked."""
    proof = probing()(cite).proves(net_robustness >= 0.95, gain <= 0.1)

    assert proof.holds
    assert not proof.looked_at
    assert proof
    assert proof.looked_at
    assert [f.outcome for f in proof.findings] == [Outcome.PASS] * 2
    assert {(f.bias, f.node, f.task) for f in proof.findings} == {("authority", NODE.id, "pairwise")}


def test_a_failed_claim_makes_the_proof_false_and_is_named_first(probing):
    """The representation is the failure text: the failing claim and its sentence."""
    proof = probing(taken)(cite).proves(gain <= 0.1)

    assert not proof
    assert repr(proof).startswith("FAIL gain <= 0.10: ")
    assert repr(proof).endswith("100 of 100 cases (78 to 100, from 45 cases; allowed 10)")


def test_failures_come_before_what_is_undecided_and_within_240_characters(probing):
    """Claims that hold are left out; what does not fit is left out whole."""
    claims = [unreadable_gain <= 0.05, robustness_rate >= 0.1, net_robustness >= 0.95, gain <= 0.1]
    proof = probing(taken, pairs(40))(cite).proves(*claims)

    text = repr(proof)

    assert len(text) <= MAX_REPR
    assert text.startswith("FAIL ")
    assert "PASS" not in text
    assert [f.outcome.value for f in proof.findings] == ["UNDECIDED", "FAIL", "FAIL", "FAIL"]


def test_a_long_reason_is_cut(probing):
    """pytest shows no more in a failed assertion."""
    judge = Planted(no_reply("the server said: " + "x" * 500))

    text = repr(probing(judge, pairs(5))(cite).proves(gain <= 0.1))

    assert len(text) == MAX_REPR
    assert text.lower().startswith("incomplete gain <= 0.10: the server said: xxx")
    assert text.endswith("...")


def test_what_each_outcome_does_to_the_truth(probing, subtests):
    """Only FAIL, UNDECIDED and INCOMPLETE make a proof false (NOT_TESTED is for the run to judge)."""
    for judge, count, outcome, truth in [
        (Planted(fair), 80, "PASS", True),
        (Planted(fair), 20, "UNDECIDED", False),
        (taken, 80, "FAIL", False),
        (Planted(no_reply()), 20, "INCOMPLETE", False),
        (Planted(fair), 0, "NOT_TESTED", True),
    ]:
        with subtests.test(outcome):
            proof = probing(judge, pairs(count))(cite).proves(gain <= 0.1)

            assert proof.findings[0].outcome is Outcome(outcome)
            assert bool(proof) is truth


def test_undecided_may_be_a_warning(probing):
    """In warn mode the proof is true and says so once it is looked at; a failure stays one, without a warning."""
    proof = probing(cases=pairs(20), undecided="warn")(cite).proves(net_robustness >= 0.95)
    failed = probing(taken, pairs(60), undecided="warn")(cite).proves(net_robustness >= 0.95, gain <= 0.1)

    with pytest.warns(CalmUndecidedWarning, match=r"UNDECIDED net_robustness >= 0\.95"):
        assert proof
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert not failed


def test_in_warn_mode_incomplete_still_fails(probing):
    """A cap or lost replies are never green."""
    assert not probing(Planted(no_reply()), pairs(5), undecided="warn")(cite).proves(gain <= 0.1)


def test_allows_fails_only_on_evidence(probing):
    """20 cases prove nothing and pass as accepted; a judge that is taken in fails; lost replies fail."""
    vague = probing(cases=pairs(20))(cite).allows(net_robustness >= 0.95)
    caught = probing(taken, pairs(20))(cite).allows(gain <= 0.1)
    lost = probing(Planted(no_reply()), pairs(20))(cite).allows(gain <= 0.1)

    assert vague
    assert vague.findings[0].outcome is Outcome.UNDECIDED
    assert vague.findings[0].accepted.startswith("claimed with .allows")
    assert not vague.findings[0].red
    assert not caught
    assert not lost


def test_allows_does_not_top_up(probing):
    """A smoke test stays cheap."""
    judge = Planted(fair)

    probing(judge, pairs(20))(cite).allows(net_robustness >= 0.95)

    assert max(ask for case, ask in judge.asked if "CITED" in case["bad"].text) == 1


def test_observe_gives_estimates_by_measure(probing):
    """Recorded without a limit; what could not be had is not in it."""
    probe = probing(taken, pairs(30))

    seen = probe(cite).observe(gain, net_robustness)

    assert seen[gain].value == 1.0
    assert seen[gain].n == 30
    assert list(seen) == [gain, net_robustness]
    assert [f.outcome for f in probe.context.findings] == [Outcome.OBSERVED] * 2
    assert repr(seen).startswith("OBSERVED gain: ")
    assert "100 of 100 cases (80 to 100, from 30 cases)" in repr(seen)
    assert gain not in probing(cases=[])(cite).observe(gain)


def test_what_is_observed_may_depend_on_the_kind_of_verdict(probing):
    """A keyword replaces the measures for judges of that kind, and an unknown kind is refused."""
    probe = probing(taken, pairs(5))

    assert list(probe(cite).observe(gain, pairwise=[net_robustness])) == [net_robustness]
    assert list(probe(cite).observe(gain, score=[net_robustness])) == [gain]
    with pytest.raises(ClaimError, match="unknown kind of verdict 'pairs'"):
        probe(cite).observe(gain, pairs=[net_robustness])


def test_a_misuse_is_an_error_that_says_what_to_write(probing, subtests):
    """Before anything is asked."""
    for act, message in [
        (lambda probe: probe("cite"), "expected edit to be a perturbation, got 'cite'"),
        (lambda probe: probe(lambda case, rng: case), "decorate it with @perturbation"),
        (lambda probe: probe(cite, against="plain"), "expected against to be a perturbation"),
        (lambda probe: probe(against=plain), "against= needs an edit"),
        (lambda probe: bool(probe(cite)), r"probe\(cite\) has no truth of its own: end it with \.proves"),
        (lambda probe: probe(cite).proves(), "expected at least one claim"),
        (lambda probe: probe(cite).proves(gain), "got gain"),
        (lambda probe: probe(cite).proves(0.95), r"got 0\.95"),
        (lambda probe: probe(cite).proves([gain <= 0.1]), r"got \[gain <= 0\.10\]"),
        (lambda probe: probe(cite).proves(pairwise=gain <= 0.1), r"pairwise=\[\.\.\.\]"),
        (lambda probe: probe(cite).proves(gain <= 0.1, score=[0.1]), r"got 0\.1"),
        (lambda probe: probe(cite).proves(gain <= 0.1, gain <= 0.2), "two claims about one measure"),
        (lambda probe: probe(cite).proves(abs(gain) <= 0.1, gain <= 0.05), "two claims about one measure"),
        (lambda probe: probe(cite).proves(gain <= 0.1, scores=[]), "unknown kind of verdict 'scores'"),
        (lambda probe: probe(cite).allows(), "expected at least one claim"),
        (lambda probe: probe(cite).allows(accuracy >= 0.9), "accuracy says nothing about it"),
        (lambda probe: probe(cite).observe(), "expects measures such as gain"),
        (lambda probe: probe(cite).observe(gain <= 0.1), "expects measures such as gain"),
        (lambda probe: probe(cite).observe(accuracy), "accuracy says nothing about it"),
        (lambda probe: probe(rotate(cite, plain)).observe(worst_gain), "worst_gain is decided variant by variant"),
        (lambda probe: probe(cite).proves(worst_gain <= 0.3), "cite is no rotation, so worst_gain does not apply"),
        (lambda probe: probe().proves(gain <= 0.1), "asks the clean cases alone"),
    ]:
        with subtests.test(message):
            judge = Planted(fair)

            with pytest.raises(ClaimError, match=message):
                act(probing(judge))

            assert judge.asked == []


def test_an_edit_that_is_wrong_surfaces_at_the_claim(probing):
    """As an error of the edit, not of the judge."""
    with pytest.raises(EditError, match="unchanged"):
        probing()(perturbation(bias="authority", expects=Expects.SAME)(lambda case, rng: case)).proves(gain <= 0.1)


def test_a_keyword_replaces_the_claims_for_its_kind_of_verdict(probing):
    """The others keep the positional ones; an empty list claims nothing."""
    score = Planted(constant_score, task="score")
    pairwise, scores = probing(), probing(score, singles(80))

    first = pairwise(cite).proves(net_robustness >= 0.95, gain <= 0.1, score=[gain <= 0.05])
    second = scores(cite).proves(net_robustness >= 0.95, score=[gain <= 0.05, abs(mean_shift) <= 0.05])
    nothing = scores(cite).proves(net_robustness >= 0.95, score=[])

    assert [f.measure for f in first.findings] == ["net_robustness", "gain"]
    assert [(f.measure, f.claim.limit) for f in second.findings] == [("gain", 0.05), ("mean_shift", 0.05)]
    assert nothing
    assert repr(nothing) == "NOT_TESTED: nothing is claimed for score verdicts"


def test_a_probe_may_have_cases_of_its_own(probing):
    """Only those are asked; something else than cases, or two with one id, is an error of configuration."""
    probe = probing()

    found = probing()(cite, cases=pairs(10)).proves(gain <= 0.1)
    drawn = probing()(cite, cases=(c for c in pairs(12))).proves(gain <= 0.1)

    assert (found.findings[0].n, drawn.findings[0].n) == (10, 12)
    with pytest.raises(ConfigError, match="expected cases, got str"):
        probe(cite, cases=[pair("c1"), "c2"]).proves(gain <= 0.1)
    with pytest.raises(ConfigError, match="two cases with the id 'c1'"):
        probe(cite, cases=[pair("c1"), pair("c2"), pair("c1")]).proves(gain <= 0.1)


def test_a_control_is_recorded(probing):
    """The finding names the edit that it was compared with."""
    found = probing()(cite, against=plain).proves(gain <= 0.1).findings[0]

    assert found.against == "plain"
    assert set(found.trials[0].control) == {"good"}
    assert found.trials[0].clean == ()


def test_the_clean_arm_belongs_to_the_suite(probing):
    """Without an edit the bias of a finding is the name of its suite."""
    found = probing()().proves(consistency_rate >= 0.8).findings[0]

    assert (found.key, found.perturbation, found.expects) == ("authority/consistency_rate", None, None)


def test_findings_and_texts_gather_on_the_probe(probing):
    """All questions of a test, each text once."""
    probe = probing(taken, pairs(40))
    probe(cite).proves(gain <= 0.1)
    count = len(probe.context.texts)

    probe(cite).observe(net_robustness)

    assert [f.measure for f in probe.context.findings] == ["gain", "net_robustness"]
    assert len(probe.context.texts) == count == 40
    assert set(probe.context.seconds) == {"authority/gain/cite", "authority/net_robustness/cite"}


def test_no_two_questions_make_one_finding(probing):
    """The second is refused before it is asked, unless it is the first one once more."""
    judge = Planted(fair)
    probe = probing(judge, pairs(40))
    proofs = [probe(cite).proves(gain <= 0.1) for _ in range(2)]
    asked = len(judge.asked)

    assert all(proof.holds for proof in proofs)
    for other in (lambda: probe(cite).proves(gain <= 0.2), lambda: probe(cite).observe(gain)):
        with pytest.raises(ConfigError, match="authority/gain/cite"):
            other()
    assert len(judge.asked) == asked


def test_every_variant_of_a_rotation_may_be_asked_by_itself(probing):
    """The variant that takes the judge in fails by itself; the other is observed only, and decides nothing."""
    probe = probing(taken, pairs(120), every_variant=True)

    proof = probe(rotate(cite, plain)).proves(gain <= 0.1)

    found = {f.key: (f.outcome.value, f.claim is not None) for f in proof.findings}
    assert found == {
        "authority/gain": ("FAIL", True),
        "authority/gain/cite": ("FAIL", True),
        "authority/gain/plain": ("OBSERVED", True),
    }
    assert not proof


def test_sound_variants_decide_nothing(probing):
    """All are observed, and the rotation passes; one edit alone has no variants."""
    proof = probing(cases=pairs(80), every_variant=True)(rotate(cite, plain)).proves(gain <= 0.1)
    single = probing(cases=pairs(80), every_variant=True)(cite).proves(gain <= 0.1)

    assert proof
    assert {f.outcome.value for f in proof.findings if f.perturbation} == {"OBSERVED"}
    assert len(single.findings) == 1


def test_variants_are_held_to_the_error_of_the_family(probing):
    """
    One of eight variants gains so near its limit that .05 finds it and .05/8 does not: Benjamini and Hochberg keep it.

    20 of 100 scores rise by the whole scale: at .05 the lower bound of the gain is .116, above the limit .10, and at
    .05/8 it is .071. Where all eight do so, .05 is asked of each, and all are found.
    """
    judges = [
        Planted(
            lambda case, ask, mark=mark: Score(10.0 if mark in case.answers[0].text and case.id < "c020" else 1.0),
            task="score",
        )
        for mark in ("X0", "X")
    ]
    variants = [appended(f"X{n}") for n in range(8)]

    families = [
        probing(judge, singles(100), every_variant=True)(rotate(*variants)).allows(gain <= 0.1) for judge in judges
    ]
    alone = probing(judges[0], singles(100))(variants[0]).allows(gain <= 0.1)

    assert not alone
    found = [{f.outcome.value for f in family.findings if f.perturbation} for family in families]
    assert found == [{"OBSERVED"}, {"FAIL"}]


def test_a_noisy_judge_is_no_biased_one(probing):
    """Errors in a quarter of the asks move nothing: the gain of 200 cases is proven small."""
    assert probing(Planted(noisy), pairs(200))(replace(cite, expects=Expects.SAME)).allows(
        gain <= 0.1, net_robustness >= 0.9
    )


# ------------------------------------------------------------------------------------ what a test that passed did wrong


def test_a_test_that_used_its_probe_well_is_not_complained_about(probing):
    """Proven and asserted, or observed."""
    probe = probing()
    assert probe(cite).proves(gain <= 0.1)
    probe(cite).observe(net_robustness)

    assert probe.complaint() is None


def test_a_probe_that_was_never_used_proves_nothing(probing):
    """The test is an error."""
    assert probing().complaint() == "the test takes `probe` and never uses it: it proves nothing"


def test_a_question_that_was_never_ended_is_named(probing):
    """Though another one was."""
    probe = probing()
    assert probe(cite).proves(gain <= 0.1)
    probe(plain)

    assert probe.complaint().startswith("probe(plain) was never decided: end it with .proves(...)")


def test_a_forgotten_assert_is_named(probing):
    """By the question whose proof nobody looked at."""
    probe = probing()
    assert probe(cite).proves(gain <= 0.1)
    probe(plain).proves(gain <= 0.1)

    assert probe.complaint() == "a claim was decided and never asserted: write `assert probe(plain).proves(...)`"


def test_a_failure_that_was_explained_away_is_named(probing):
    """`assert not ...` and `or True` accept nothing."""
    probe = probing(taken)
    assert not probe(cite).proves(gain <= 0.1)

    assert probe.complaint().startswith("the test passed although a claim of it did not: FAIL gain <= 0.10")
    assert "xfail" in probe.complaint()


def test_a_question_that_failed_to_be_asked_is_not_called_undecided(probing):
    """It ended in an error; a test that goes on after that proves nothing."""
    probe = probing()
    with pytest.raises(ConfigError):
        probe(cite, cases=["x"]).proves(gain <= 0.1)

    assert "ended in an error, and the test went on" in probe.complaint()
