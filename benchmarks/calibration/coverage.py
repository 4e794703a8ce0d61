"""Coverage: how often the bounds of a measure hold its true value, on rows that are drawn and not asked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Literal, cast, get_args

from benchmarks.calibration.chance import mix
from benchmarks.calibration.harness import Arm, Law, Prompt
from benchmarks.calibration.laws import Bias, Manner, PairJudge, ScoreJudge, Ties, pairs_of, scores_of
from benchmarks.calibration.remembered import remembering_values
from calm.core.case import Answer, Case
from calm.core.edits import Expects
from calm.core.measures import MEASURES
from calm.core.trials import CUED, PLAIN, Trial, Trials
from calm.core.verdict import Scale, Verdict
from calm.errors import EstimateError
from calm.experiment.edited import has_room

LEVEL: Final = 0.05
DOSE: Final = 0.10
MANY: Final = 60_000
"""Rows from which a true value is taken: its error is far below that of 400 rows."""

ASKS: Final[tuple[Arm, ...]] = ("clean", "clean", "pilot", "inert", "edited")
"""The asks of a case before any top-up."""

Kind = Literal[
    "pairs, noise .05", "pairs, beta", "scores, ceiling", "scores, lumpy", "scores, wide",
    "twins, tie", "twins, coin", "twins, text",
]  # fmt: skip
KINDS: Final[tuple[Kind, ...]] = get_args(Kind)
SIZES: Final = (30, 100, 400)
SHOWN: Final[Mapping[str, tuple[str, ...]]] = {
    "pairs": ("net_robustness", "gain"),
    "scores": ("net_robustness", "gain", "mean_shift"),
    "twins": ("pull",),
}


@dataclass(frozen=True, slots=True)
class Covered:
    """So many cases of a kind, of which an edit decides a tenth; `cluster` of them at a time are about one question."""

    kind: Kind
    n: int
    cluster: int = 1
    runs: int = 1000

    def measure(self, seed: int) -> Mapping[str, float]:
        """Return for each measure and bound whether it held; without an estimate nothing is claimed, and it holds."""
        trials = drawn(self.kind, self.n, seed, self.cluster)
        found: dict[str, float] = {}
        for name in SHOWN[self.kind.partition(",")[0]]:
            measure = MEASURES[name]
            cells = [remembering_values(measure, row, trials.scale) for row in trials.rows]
            truth = true_value(self.kind, name)
            try:
                estimate = measure.estimate(trials, LEVEL, cells)
            except EstimateError:
                found |= {f"{name} low": 1.0, f"{name} high": 1.0}
                continue
            found[f"{name} low"] = float(estimate.low <= truth + 1e-9)
            found[f"{name} high"] = float(estimate.high >= truth - 1e-9)
        return found


@cache
def true_value(kind: Kind, name: str) -> float:
    """Return the true value of a measure: its mean over very many rows."""
    return _true_values(kind)[name]


@cache
def _true_values(kind: Kind) -> Mapping[str, float]:
    trials = drawn(kind, MANY, -1, 1)
    return {name: MEASURES[name].estimate(trials, LEVEL).value for name in SHOWN[kind.partition(",")[0]]}


def drawn(kind: Kind, n: int, seed: int, cluster: int) -> Trials:
    """Return the rows of a first stage, 2 clean, 1 inert and 1 edited ask, of n cases."""
    if kind.startswith("twins"):
        return _twins(cast("Ties", kind.partition(", ")[2]), n, seed, cluster)
    pairwise = kind.startswith("pairs")
    scale = Scale(1, 5) if kind.endswith("lumpy") else Scale()
    places = [place // cluster for place in range(n)]
    manner = Manner(Bias(everywhere=DOSE), clusters=places)
    cases = _cases(n, pairwise=pairwise)
    name = kind.partition(", ")[2]
    law: Law
    if pairwise:
        law = PairJudge(cases, pairs_of(name, cases, seed), seed, manner)
    else:
        law = ScoreJudge(scale, scores_of(name, seed, cases, scale), seed, manner)
    target = "bad" if pairwise else "only"
    rows = []
    for place, case in enumerate(cases):
        first, second, pilot, inert, edited = (_ask(law, case, place, number, seed) for number in range(len(ASKS)))
        treated = case.treat(target)
        room = has_room(treated, Expects.NOT_BETTER, pilot, "pairwise" if pairwise else "score", scale)
        rows.append(
            Trial(
                case.id,
                target=target,
                better=case.better,
                room=room,
                clean=(first, second),
                inert=(inert,),
                perturbed=(edited,),
                cluster=str(places[place]),
            )
        )
    return Trials(tuple(rows), "pairwise" if pairwise else "score", scale)


def _twins(ties: Ties, n: int, seed: int, cluster: int) -> Trials:
    """Return the rows of n equal pairs, asked with the cue on either side by a judge of noise .05."""
    places = [place // cluster for place in range(n)]
    drawn = pairs_of("noise .05", (), seed, equals=n)
    law = PairJudge((), drawn, seed, Manner(Bias(everywhere=DOSE), equals=places, ties=ties))
    rows = []
    for place, case in enumerate(_cases(n, pairwise=True)):
        said = []
        for number, ids in enumerate(((CUED, PLAIN), (CUED, PLAIN), (PLAIN, CUED))):
            word = mix(mix(seed + (1 << 41)) ^ mix(place * 3 + number))
            prompt = Prompt(-1, "equal", word, case, "edit", ids=ids, equal=place, cued=number > 0)
            said.append(law.verdict(prompt, mix(word), 0.0))
        row = Trial(case.id, target=CUED, better="tie", cluster=str(places[place]), pilot=said[0])
        rows.append(replace(row, slots=((CUED, PLAIN), (PLAIN, CUED)), perturbed=(said[1], said[2])))
    return Trials(tuple(rows), "pairwise", Scale())


def _ask(law: Law, case: Case, place: int, number: int, seed: int) -> Verdict:
    arm = ASKS[number]
    word = mix(mix(seed + (1 << 40)) ^ mix(place * len(ASKS) + number))
    probe, expects = ("edit", Expects.NOT_BETTER.value) if arm == "edited" else ("", "")
    return law.verdict(Prompt(place, arm, word, case, probe, "", expects, ids=("good", "bad")), mix(word), 0.0)


@cache
def _cases(n: int, *, pairwise: bool) -> tuple[Case, ...]:
    if not pairwise:
        return tuple(Case(f"c{place}", "A question?", (Answer("only", "An answer."),)) for place in range(n))
    answers = Answer("good", "An answer."), Answer("bad", "Another answer.")
    return tuple(Case(f"c{place}", "A question?", answers, better="good") for place in range(n))
