"""Planted judges that are unsure about known cases, and vague about a known criterion. They are no tests."""

from collections import Counter
from random import Random

from calm.cases import bundled
from calm.core.case import digest
from calm.core.verdict import Scale
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.judges.python import PythonJudge
from calm.plugins.diagnose.asking import Design, Paraphrases, ask, wordings_of
from calm.plugins.diagnose.naming import Limits
from calm.plugins.diagnose.report import About, diagnosis

PAIRS, RUBRICS, SCORES = ([c for c in bundled("pairwise") if c.better != "tie"], bundled("rubric"), bundled("score"))
VAGUE = "The answer has exactly three bullet points."


class Lots:
    """A source of errors that depends on the seed and on how often the same was asked, and on nothing else."""

    def __init__(self, seed):
        self.seed, self.asked = seed, Counter()

    def errs(self, rate, *what):
        """Whether this ask about something errs."""
        self.asked[what] += 1
        return Random(digest("errs", self.seed, *what, self.asked[what])).random() < rate


def of_pairs(hard=(), *, noise=0.05, seed=0):
    """A judge of pairs that errs in half of its asks about the hard cases, and in a few of those about the others."""
    lots, unsure = Lots(seed), {case.question for case in hard}
    good = {case.question: case[case.better].text for case in PAIRS}

    def judge(case):
        wrong = lots.errs(0.5 if case.question in unsure else noise, case.question)
        return next(a.id for a in case.shown if (a.text == good[case.question]) != wrong)

    judge.task, judge.quick = "pairwise", True
    return PythonJudge(judge, "tests:pairs")


def of_rubrics(hard=(), *, vague=(), worded=(), noise=0.05, seed=0):
    """The same of criteria; some are vague in all cases, and some are judged wrongly if they are put in other words."""
    lots, unsure = Lots(seed), {case.question for case in hard}
    met = {(case.question, c.text): case.met[case.answers[0].id][c.id] for case in RUBRICS for c in case.criteria}
    texts = {case.question: [c.text for c in case.criteria] for case in RUBRICS}

    def judge(case):
        said = {}
        for one in case.criteria:
            text = next(text for text in texts[case.question] if one.text.endswith(text))
            rate = 0.5 if case.question in unsure or text in vague else noise
            wrong = (text in worded and one.text != text) != lots.errs(rate, case.question, one.text)
            said[one.id] = met[case.question, text] != wrong
        return said

    judge.task, judge.quick = "rubric", True
    return PythonJudge(judge, "tests:rubrics")


def of_scores(hard=(), *, noise=0.05, seed=0):
    """The same of scores: an error is a score at the other end of the scale."""
    lots, unsure = Lots(seed), {case.question for case in hard}
    gold = {case.question: next(iter(case.scores.values())) for case in SCORES}

    def judge(case):
        wrong = lots.errs(0.5 if case.question in unsure else noise, case.question)
        right = gold[case.question]
        return right if not wrong else 10 if right < 5.5 else 1

    judge.task, judge.quick = "score", True
    return PythonJudge(judge, "tests:scores")


def diagnosed(judge, cases, *, asks=32, limits=None, own=None, prompts=3, criteria=2, seed=0):
    """The diagnosis of a judge on some cases."""
    limits = limits or Limits()
    wordings = wordings_of(judge, cases, own or Paraphrases(), prompts=prompts, criteria=criteria, seed=seed)
    engine = Engine(Store(None, Mode.OFF))
    try:
        engine.admit(judge)
        design = Design.over(len(wordings), asks)
        asked = ask(engine, wordings, cases, design, tolerance=limits.tolerance)
    finally:
        engine.close()
    scale = judge.scale if isinstance(judge.scale, Scale) else Scale()
    about = About(judge.name, judge.task, scale, len(cases), {case.id: case for case in cases})
    return diagnosis(about, asked, limits, seed)


def names(one, what):
    """The names of one kind that a diagnosis holds."""
    return {named.name for named in one.found.named if named.what == what}
