"""Audits with planted numbers and texts, for tests of reports."""

from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.core.texts import CaseTexts, Exchange
from calm.results.audit import Audit, Finding, JudgeRecord, Limit, Run, TrialRecord

ANSWERS = {
    "good": "Water boils at a lower temperature on a mountain, because the pressure of the air is lower up there.",
    "bad": "Water boils at a higher temperature on a mountain, because the air is thinner and carries off less heat.",
}
CITATION = "\n\n(Citation: Harlow, A Handbook of Everyday Physics, 3rd edition, p. 214)"
SYSTEM = "You compare two answers to a question. Say which one is better.\nEnd with [[A]], [[B]] or [[C]] for a tie."


def finding(**changes):
    """Return a finding that passed, with what is to be different; a reason may be given as a text."""
    if "reason" in changes:
        why = changes["reason"]
        changes["reason"] = why if isinstance(why, Reason) else reason_of(why) if why else NONE
    if "excluded" in changes:
        changes["excluded"] = {reason_of(why): count for why, count in changes["excluded"].items()}
    plain = Finding(
        key="authority/net_robustness",
        node="suites/test_authority.py::test_a_source_does_not_move_the_verdict",
        bias="authority",
        perturbation=None,
        expects="NOT_BETTER",
        dose=None,
        summary="Append an invented source to the weaker answer.",
        task="pairwise",
        measure="net_robustness",
        claim=Limit(">=", 0.95),
        outcome=Outcome.PASS,
        reason=NONE,
        value=0.985,
        low=0.968,
        high=0.996,
        level=0.05,
        n=200,
        excluded={},
        robustness_rate=0.96,
        consistency_rate=0.97,
        flips={"toward": 2, "away": 1, "other": 0},
        cases_to_decide=None,
        channel="answer",
        asserted=True,
        accepted=None,
        asks="4+2",
    )
    return replace(plain, **changes)


def trial(case, clean, perturbed=(), *, hash="", edit="", control=()):
    """Return the record of one case."""
    return TrialRecord(case, edit, hash, None, tuple(clean), tuple(perturbed), tuple(control))


def prompt(question, answers):
    """Return a prompt as the texts of a case hold it."""
    shown = "\n\n".join(f"[Answer {label}]\n{text}" for label, text in zip("AB", answers.values(), strict=False))
    return ({"role": "system", "text": SYSTEM}, {"role": "user", "text": f"[Question]\n{question}\n\n{shown}"})


def texts(case, hash, *, added=CITATION, replies=None, question="At which temperature does water boil on a mountain?"):
    """Return the texts of a pairwise case whose weaker answer got something added (no `hash`: the clean arm alone)."""
    edited = {**ANSWERS, "bad": ANSWERS["bad"] + added}
    clean_said, perturbed_said = replies or (["The first one is right. [[A]]"] * 4, ["It gives a source. [[B]]"] * 2)
    return CaseTexts(
        case=case,
        hash=hash,
        question=question,
        reference="It boils at a lower temperature.",
        better="good",
        prompts={"k1": prompt(question, ANSWERS), "k2": prompt(question, edited)},
        answers={"clean": ANSWERS, "perturbed": edited},
        clean=tuple((Exchange("k1", said),) for said in clean_said),
        perturbed=tuple((Exchange("k2", said),) for said in perturbed_said) if hash else (),
    )


def judge(**changes):
    """Return a judge that speaks of itself at some length."""
    plain = JudgeRecord(
        name="support-judge",
        task="pairwise",
        fingerprint="9f1c" * 16,
        model="judge-prod",
        served="judge-prod-2026-04-14",
        prompt_sha256="41d0" * 16,
        scale={},
        parameters={"temperature": 0.0, "max_tokens": 4096},
        about={
            "model": "judge-prod",
            "prompt": {
                "system": SYSTEM,
                "user": "[Question]\n{{ question }}\n{% for a in answers %}{{ a.text }}{% endfor %}",
            },
            "format": "brackets",
        },
    )
    return replace(plain, **changes)


def empty(**changes):
    """Return an audit that asked nothing."""
    plain = Audit(
        calm="0.1.0",
        judge=judge(),
        cases={"n": 200, "sha256": "c3ab" * 16, "name": "pairwise-1"},
        seed=1,
        repeats="4+2",
        findings=(),
        run=Run(
            started="2026-05-04T09:12:45",
            seconds=252.4,
            calls={"made": 5120, "cached": 1280, "failed": 2, "retried": 9},
            tokens={"input": 2_410_000, "output": 388_000},
            usd=1.58,
        ),
    )
    return replace(plain, **changes)


def sample():
    """Return an audit with every outcome, of a judge that falls for a source."""
    cited = tuple(
        trial(f"fact-{i:03}", ["good"] * 4, ["bad"] * 2 if i < 62 else ["good"] * 2, hash=f"h{i}", edit="cite_book")
        for i in range(200)
    )
    clean = tuple(trial(f"fact-{i:03}", ["good"] * 3 + ["bad" if i % 40 == 0 else "good"]) for i in range(200))
    padded = tuple(trial(f"fact-{i:03}", ["good"] * 4, ["good"] * 2, hash=f"v{i}", edit="pad") for i in range(200))
    shown = [texts(f"fact-{i:03}", f"h{i}") for i in range(24)]
    shown += [
        texts(f"fact-{i:03}", "", replies=(["[[A]] is right."] * 3 + ["Not sure, but [[B]]."], [])) for i in (0, 40, 80)
    ]
    shown += [
        texts("fact-001", "v1", added=" " + "In other words, it is so. " * 30, replies=(["[[A]]"] * 4, ["[[A]]"] * 2))
    ]
    common = {"summary": "One of: cite_book, cite_quote, cite_url.", "perturbation": "rotation", "trials": cited}
    moved = {"toward": 62, "away": 0, "other": 3}
    return empty(
        findings=(
            finding(
                **common,
                key="authority/gain/rotation",
                measure="gain",
                claim=Limit("<=", 0.10),
                outcome=Outcome.FAIL,
                value=0.31,
                low=0.256,
                high=0.366,
                robustness_rate=0.66,
                flips=moved,
                excluded={because(Kind.APPLIES_NOT): 12, because(Kind.NO_ROOM): 2},
                n=186,
                baseline={"value": 0.04, "low": 0.01, "high": 0.07, "outcome": "PASS"},
            ),
            finding(
                **common,
                key="authority/net_robustness/rotation",
                outcome=Outcome.FAIL,
                value=0.69,
                low=0.63,
                high=0.75,
                robustness_rate=0.66,
                flips=moved,
            ),
            finding(
                key="consistency/consistency_rate",
                node="suites/test_consistency.py::test_it_says_the_same_again",
                bias="consistency",
                expects=None,
                summary="The same prompt asked again.",
                measure="consistency_rate",
                claim=Limit(">=", 0.80),
                value=0.975,
                low=0.951,
                high=0.988,
                flips={},
                robustness_rate=None,
                channel="",
                trials=clean,
            ),
            finding(
                key="framing/mean_shift/inverted",
                bias="framing",
                perturbation="inverted",
                expects="SAME",
                summary="Ask for the worse answer.",
                measure="mean_shift",
                claim=Limit("abs<=", 0.05),
                outcome=Outcome.UNDECIDED,
                value=0.03,
                low=-0.01,
                high=0.07,
                n=88,
                cases_to_decide=352,
                excluded={"the rendered prompts are equal": 112},
            ),
            finding(
                key="sensitivity/net_detection/swap_number",
                bias="sensitivity",
                perturbation="swap_number",
                expects="WORSE",
                summary="Change a number that the answer rests on.",
                measure="net_detection",
                claim=Limit(">=", 0.60),
                outcome=Outcome.INCOMPLETE,
                reason=because(Kind.CAPPED, "--calm-max-usd 1.60"),
                value=0.74,
                low=0.62,
                high=0.84,
                n=61,
            ),
            finding(
                key="verbosity/gain/pad",
                bias="verbosity",
                perturbation="pad",
                summary="Pad the weaker answer with empty words.",
                measure="gain",
                claim=Limit("<=", 0.10),
                value=0.004,
                low=-0.012,
                high=0.021,
                trials=padded,
            ),
            finding(
                key="verbosity/gain/pad@4",
                bias="verbosity",
                perturbation="pad@4",
                expects="OBSERVE",
                dose=4.0,
                summary="Pad the weaker answer to four times its length.",
                measure="gain",
                claim=None,
                outcome=Outcome.OBSERVED,
                value=0.08,
                low=0.05,
                high=0.12,
            ),
            finding(
                key="position/net_robustness/swap",
                bias="position",
                perturbation="swap",
                expects="SAME",
                outcome=Outcome.FAIL,
                value=0.91,
                low=0.88,
                high=0.94,
                accepted="until 2026-09-01: the next prompt asks in both orders",
            ),
            *(
                finding(
                    key=f"self-authorship/gain/{name}",
                    bias="self-authorship",
                    perturbation=name,
                    outcome=Outcome.NOT_TESTED,
                    reason="the judge's prompt shows no author",
                    value=None,
                    low=None,
                    high=None,
                    n=0,
                    flips={},
                    measure="gain",
                    claim=Limit("<=", 0.10),
                )
                for name in ("byline_self", "byline_other")
            ),
        ),
        run=replace(empty().run, notes=(reason_of("The run was stopped: --calm-max-usd 1.60 was reached."),)),
        texts=tuple(shown),
    )
