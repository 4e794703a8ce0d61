"""The gate's own proof: which suites fail for which planted bias."""

from itertools import cycle

import pytest

from benchmarks.planted_biases import CODE, INNOCENT_TEST, beyond, code_cases, served, suite_of
from benchmarks.planted_biases import SUITES as FILES
from calm.cases import lines
from calm.perturbations.planted import biases
from tests.lanes import one_in, slow
from tests.suites.gate import run_gate

SUITES = tuple(bias for bias in biases() if not beyond(suite_of(bias).read_text("utf-8")))
"""The biases of the default gate that can be planted."""
TASKS = ("pairwise", "score", "rubric")
WHERE = cycle(("pairwise", "score", "pairwise", "rubric"))
"""In which task the next bias is planted."""
DIAGONAL = [("pairwise", "position", 0.2)]
DIAGONAL += [(task, bias, 0.8) for bias, task in zip(sorted({*SUITES} - {"position"}), WHERE, strict=False)]
"""Every bias in one task; all of them in all: tests/power/test_diagonal.py."""
PARTS = {"pairwise": 2, "score": 1, "rubric": 1}
"""Into how many judges the biases of a task are put."""
TOGETHER = [
    (task, [bias for where, bias, _ in DIAGONAL[1:] if where == task][part::parts])
    for task, parts in PARTS.items()
    for part in range(parts)
]


@pytest.mark.parametrize(("task", "planted"), TOGETHER)
def test_planted_biases_fail_their_own_suites_and_no_other(tmp_path, task, planted):
    """A judge with several biases fails the suite of each, and nothing else."""
    judge = f"planted:{','.join(f'{bias}=0.8' for bias in planted)},task={task}"

    gate = run_gate(judge, tmp_path, f"--calm-sample={60 if task == 'rubric' else 100}")

    assert gate.failed == {*planted}, gate.output
    assert gate.status == 1


@pytest.mark.parametrize(("task", "bias", "dose"), [DIAGONAL[0], *(slow(*row) for row in DIAGONAL[1:])])
def test_a_planted_bias_fails_its_own_suite_and_no_other(tmp_path, task, bias, dose):
    """A judge with one bias fails the suite of this bias, and nothing else."""
    fewer = ["--calm-sample=60"] if task == "rubric" else []  # a rubric costs four calls an ask

    gate = run_gate(f"planted:{bias}={dose},task={task}", tmp_path, *fewer)

    assert gate.failed == {bias}, gate.output
    assert gate.status == 1


NAMES = tuple(bias.replace("-", "_") for bias in CODE)
FURTHER = [bias for bias in biases() if bias not in SUITES]
BY_TURNS = [
    (bias, next(t for t in (*TASKS[turn % 3 :], *TASKS) if served(bias, t))) for turn, bias in enumerate(FURTHER)
]
"""Each bias beyond the default gate in one task, by turns."""


@pytest.mark.parametrize(("bias", "task"), one_in(16, BY_TURNS))
def test_a_planted_bias_fails_its_own_suite_beyond_the_default_gate_and_no_control(tmp_path, bias, task):
    """Its own suite, asked because its file is named, fails; the controls, asked the same way, do not."""
    names = (bias.replace("-", "_"), "consistency", "sensitivity", "neutral")
    files = [*(f"{FILES}/test_{name}.py" for name in names), f"{FILES}/{INNOCENT_TEST}"]
    options = ["--calm-sample=100"]
    if bias in CODE and task == "rubric":  # no bundled case of a rubric holds code
        cases = tmp_path / "code.jsonl"
        cases.write_text("".join(f"{lines.line(case)}\n" for case in code_cases(task, 100)), "utf-8")
        options.append(f"--calm-cases={cases}")

    gate = run_gate(f"planted:{bias}=0.8,task={task}", tmp_path, *options, what=tuple(files))

    assert gate.failed == {bias}, gate.output


SIZES = [("pairwise", 200), ("score", 100), ("rubric", 50), slow("score", 200), slow("rubric", 200)]


@pytest.mark.parametrize(("task", "size"), SIZES)
@pytest.mark.parametrize("seed", [1])
def test_a_sound_judge_with_a_little_noise_passes(tmp_path, task, size, seed):
    """
    The unbiased judge at noise .05 is green on all cases, and fails nothing on few, which leave a claim undecided.

    All twenty seeds: tests/power/test_sound_judge.py.
    """
    gate = run_gate(f"planted:noise=0.05,seed={seed},task={task}", tmp_path, f"--calm-sample={size}")

    assert not gate.failed, gate.output
    assert gate.results["findings"], gate.output
    assert gate.status == 0 or size < 200, gate.output


LISTS = [("noise=0.05,seed=1", set()), ("position=0.3,verbosity=0.8", {"position", "verbosity"})]
LISTS += [slow("noise=0.05,seed=2", set()), slow("position=0.3", {"position"})]
LISTS += [slow(f"{bias}=0.8", {bias}) for bias in ("injection", "bandwagon", "diversity", "verbosity")]


@pytest.mark.parametrize(("bias", "failed"), LISTS)
def test_a_judge_of_lists_is_told_apart_on_the_cases_that_ship(tmp_path, bias, failed):
    """A listwise judge passes without a bias, and fails by its own alone with one."""
    gate = run_gate(f"planted:{bias},task=listwise", tmp_path)

    assert gate.failed == failed, gate.output
    assert gate.status == bool(failed)


CLASSES = [
    ("injection=0.8,classes=nominal", {"injection"}, 60),
    slow("noise=0.05,seed=1,classes=ordered", set(), 120),
    slow("noise=0.05,seed=1,classes=bare", set(), 120),
    slow("injection=0.8,classes=nominal", {"injection"}, 120),
    slow("bandwagon=0.8,classes=bare", {"bandwagon"}, 120),
]


@pytest.mark.parametrize(("planted", "failed", "size"), CLASSES)
def test_a_judge_of_classes_is_told_apart_whatever_is_known_of_its_classes(tmp_path, planted, failed, size):
    """By bad moves where there are such, else by verdicts that move; the controls settle in each case."""
    names = ("injection", "bandwagon", "consistency", "sensitivity")
    files = tuple(f"{FILES}/test_{name}.py" for name in names)

    gate = run_gate(f"planted:{planted},task=label", tmp_path, f"--calm-sample={size}", what=files)

    assert gate.failed == failed, gate.output
    assert gate.status == bool(failed), gate.output


ALL_CODE = ",".join(f"{bias}=0.8" for bias in CODE)


@pytest.mark.parametrize("task", ["pairwise", slow("score"), slow("listwise")])
def test_the_biases_about_code_are_found_on_the_cases_that_ship(tmp_path, task):
    """The suites of code have enough cases by default to find each of the biases that are planted together."""
    files = tuple(f"{FILES}/test_{name}.py" for name in NAMES)

    gate = run_gate(f"planted:{ALL_CODE},task={task}", tmp_path, what=files)

    assert gate.failed == {*CODE}, gate.output


CODE_TASKS = [(bias, task) for bias in CODE for task in ("pairwise", "score", "listwise")]


@pytest.mark.parametrize(("bias", "task"), one_in(len(CODE_TASKS), CODE_TASKS))
def test_a_bias_about_code_is_found_on_the_cases_that_ship(tmp_path, bias, task):
    """The suites of code have enough cases by default to find the bias that is planted, and to find no other."""
    gate = run_gate(
        f"planted:{bias}=0.8,task={task}", tmp_path, what=tuple(f"{FILES}/test_{name}.py" for name in NAMES)
    )

    assert gate.failed == {bias}, gate.output


@pytest.mark.parametrize(("bias", "failed"), [slow("noise=0.03", set()), ("injection=0.8", {"injection"})])
def test_a_judge_that_counts_points_is_told_apart_too(tmp_path, bias, failed):
    """A judge that says X of Y notices harm through its count, and fails only by its own bias."""
    gate = run_gate(f"planted:{bias},task=points", tmp_path, *(["--calm-sample=80"] if failed else []))

    assert gate.failed == failed, gate.output


def test_a_run_that_cannot_decide_consistency_is_not_green(tmp_path):
    """One clean ask a case says nothing about the judge's own noise: the gate is red for it, and says so."""
    few = ("--calm-sample=60", "-k", "consistency or sensitivity or rewording or authority")
    gate = run_gate("planted:noise=0", tmp_path, "--calm-repeats=1+2", *few)

    assert gate.status == 1
    assert gate.outcomes()["consistency/consistency_rate"] == "NOT_TESTED"


HIDING = """
import hashlib

def share(*parts):
    return hashlib.sha256(repr(parts).encode()).digest()[0] / 256

def mute(case):
    text = case.shown[0].text
    return {c.id: None if share(c.text, text) < 0.14 else case.met[case.shown[0].id][c.id] for c in case.criteria}

def bought(case):
    from calm.perturbations import injection

    met = case.met[case.shown[0].id]
    if not injection.TRIGGER.search(case.shown[0].text):
        return dict(met)
    return {c.id: (None if i else True) if met[c.id] else True for i, c in enumerate(case.criteria)}

for judge in (mute, bought):
    judge.task, judge.quick, judge.reads = "rubric", True, ("question", "answers", "criteria", "met")
"""


@pytest.mark.parametrize(("judge", "suite"), [("mute", "consistency"), ("bought", "injection")])
def test_a_rubric_judge_does_not_hide_behind_unread_criteria(tmp_path, judge, suite):
    """A criterion without a verdict is a reply that cannot be read, by itself and under an edit."""
    (tmp_path / "hiding.py").write_text(HIDING)

    gate = run_gate(f"hiding:{judge}", tmp_path, "-k", f"test_{suite}")

    assert suite in gate.failed, gate.output


@pytest.mark.parametrize(("task", "noise"), [("pairwise", 0.25), slow("score", 0.40), slow("rubric", 0.25)])
def test_a_very_noisy_judge_fails_the_controls_and_no_bias(tmp_path, task, noise):
    """
    Much noise fails consistency for every task, sensitivity too on pairs, and is never taken for a bias.

    Fallacy-oversight asks whether a broken step is noticed: it is a test of sensitivity, though CALM counts it a bias.
    """
    gate = run_gate(f"planted:noise={noise},task={task}", tmp_path, "--calm-sample=120")

    assert gate.failed <= {"consistency", "sensitivity", "fallacy-oversight"}, gate.output
    assert "consistency" in gate.failed
    assert "sensitivity" in gate.failed or task != "pairwise"


RULERS = """
import hashlib

def constant(case):
    return case.shown[0].id

def coin(case):
    texts = "".join(a.text for a in case.shown)
    return case.shown[hashlib.sha256(texts.encode()).digest()[0] % 2].id

def longest(case):
    return max(case.shown, key=lambda a: len(a.text)).id

def middle(case):
    return 5

def always_met(case):
    return {c.id: True for c in case.criteria}

def always_right(case):
    return "right"

def always_mixed(case):
    return "mixed"

for ruler in (constant, coin, longest, middle, always_met, always_right, always_mixed):
    ruler.quick = True
for ruler in (always_right, always_mixed):
    ruler.task, ruler.classes = "label", ("wrong", "mixed", "right")
always_right.damaged = "wrong"
middle.task, always_met.task = "score", "rubric"
always_met.reads = ("question", "answers", "criteria")
"""


@pytest.mark.parametrize(
    "ruler",
    ["coin", "longest", "middle", "always_met", "always_mixed", slow("constant"), slow("always_right")],
)
def test_a_judge_that_does_not_read_fails(tmp_path, ruler):
    """A constant judge, a coin, a length ruler, and their like on other tasks fail the control of damage."""
    (tmp_path / "rulers.py").write_text(RULERS)

    gate = run_gate(f"rulers:{ruler}", tmp_path, what=(f"{FILES}/test_sensitivity.py",))

    assert gate.status == 1, gate.output
    assert "sensitivity" in gate.failed
