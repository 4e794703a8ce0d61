"""The rows of the page: each a condition, what must hold, and what the first design did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from benchmarks.calibration.conditions import AtLimit, Condition, Whole, gate_of
from benchmarks.calibration.coverage import KINDS, SHOWN, SIZES, Covered
from benchmarks.calibration.harness import TASKS, Task
from benchmarks.calibration.laws import FROZEN, SOUND, Bias, Course
from calm.core.claims import Claim
from calm.core.verdict import Scale
from calm.gate.outlook import foreseen

NET: Final = Claim("net_robustness", ">=", 0.90)
GAIN: Final = Claim("gain", "<=", 0.15)
WORST: Final = Claim("worst_gain", "<=", 0.30)
ROTATION: Final = "injection"
"""The probe with the most variants: one of its twenty is planted."""
PROBE: Final = "authority"


@dataclass(frozen=True, slots=True)
class Row:
    """
    A row of a table: its label, the condition, and by the name of a number what must hold and what held before.

    `least` and `most` are what the page promises, `before` the figures of the first design, in words.
    """

    table: str
    label: str
    condition: Condition
    least: Mapping[str, float] = field(default_factory=dict)
    most: Mapping[str, float] = field(default_factory=dict)
    before: Mapping[str, str] = field(default_factory=dict)
    first: int = 1
    """Rows with a lower number are measured earlier."""

    @property
    def key(self) -> str:
        """The name under which its numbers are kept."""
        return f"{self.table}: {self.label}"


@cache
def rows() -> tuple[Row, ...]:
    """Return all rows."""
    made = (
        *_sound(),
        *_still(),
        *_faint(),
        *_single(),
        *_variants(),
        *_limits(),
        *_few(),
        *_others(),
        *_covered(),
        *_claims(),
    )
    assert len({row.key for row in made}) == len(made), "each row has a name of its own"
    return made


def _named(task: Task) -> str:
    return {"pairwise": "pairs", "score": "scores", "rubric": "rubrics"}[task]


BEFORE_GREEN: Final = {
    "noise 0": "1.00", "noise .10": ".20", "30 % close calls": ".28", "beta": ".89",
}  # fmt: skip

MOST_CALLS: Final = 4_500
"""Calls of the default gate on 200 pairs, of a judge that errs in 5 % of its asks; one that never does takes half."""


def _sound() -> Iterator[Row]:
    green, fail = {"green": 0.95}, {"fail": 0.02}
    for task in TASKS:
        for name in SOUND:
            before = {"green": BEFORE_GREEN[name]} if task == "pairwise" and name in BEFORE_GREEN else {}
            most = dict(fail)
            if task == "pairwise" and name == "noise .05":
                most["calls"], before["calls"] = MOST_CALLS, "7,386, with fewer biases"
            first = 0 if task == "pairwise" else 1
            yield Row("sound", f"{_named(task)}, {name}", Whole(task, name), green, most, before, first)
    ties = Whole(judge="noise .05", ties=True)
    yield Row("sound", "pairs, noise .05, 40 % honestly tied", ties, green, fail, first=0)


def _still() -> Iterator[Row]:
    for task in TASKS:
        for turns in (0.0, 0.05, 0.10):
            condition = Whole(task, "noise 0", course=Course(turns=turns), frozen=True)
            before = {"green": ".00", "fail": "1.00"} if task == "pairwise" and turns == 0.10 else {}
            most = {"fail": 0.02}
            if task == "pairwise" and not turns:
                most["calls"], before["calls"] = MOST_CALLS / 2, "7,386, with fewer biases"
            label = f"{_named(task)}, inert words move {turns:.0%}"
            first = 0 if task == "pairwise" else 1
            yield Row("temperature 0", label, condition, {"green": 0.80}, most, before, first)

    for name, moved in zip(FROZEN, (0.05, 0.10), strict=True):
        label = f"pairs, {name}: inert words move {moved:.0%}"
        yield Row("temperature 0", label, Whole(judge=name, frozen=True), {"green": 0.80}, {"fail": 0.02}, first=0)


def _faint() -> Iterator[Row]:
    for task, names in (
        ("pairwise", ("noise 0", "noise .05", "beta")),
        ("score", ("noise .05",)),
        ("rubric", ("noise .05",)),
    ):
        for name in names:
            before = {"green": ".00 to .05"} if task == "pairwise" else {}
            condition = Whole(task, name, Bias(everywhere=0.02))
            yield Row("2 % everywhere", f"{_named(task)}, {name}", condition, {"green": 0.90}, {}, before)


def _single() -> Iterator[Row]:
    for name in ("noise 0", "noise .05", "30 % close calls"):
        at15 = Whole(judge=name, bias=Bias(probes={PROBE: 0.15}), named=PROBE)
        yield Row("one probe", f"{name}, .15 of its cases", at15, {}, {"green": 0.02})
        at30 = Whole(judge=name, bias=Bias(probes={PROBE: 0.30}), named=PROBE)
        yield Row("one probe", f"{name}, .30 of its cases", at30, {"named": 0.99}, {"green": 0.02})


def _variants() -> Iterator[Row]:
    before = {"FAIL": "gain PASS .82, green .23 (one of 11, half its cases)"}
    for name in ("noise 0", "noise .05"):
        for dose, least in ((1.0, 0.99), (0.5, 0.90)):
            condition = Planted(name, dose)
            yield Row(
                "one variant of 20", f"{name}, wins {dose:.0%} of its cases", condition, {"FAIL": least}, {}, before
            )


@dataclass(frozen=True, slots=True)
class Planted:
    """The probe with the most variants, one of which, another for each seed, wins a share of the cases."""

    judge: str
    share: float
    runs: int = 300

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the probe once."""
        variants = variants_of(ROTATION)
        variant = variants[seed % len(variants)]
        return AtLimit(WORST, ROTATION, self.judge, variant, share=self.share).measure(seed)


def variants_of(probe: str) -> tuple[str, ...]:
    """Return the names of the variants of a probe."""
    edit = gate_of("pairwise").orders[probe].edit
    return tuple(variant.label for variant in edit.variants) if edit else ()


def _limits() -> Iterator[Row]:
    most = {"PASS": 0.05}
    before = {1: ".024 to .035", 2: ".09", 5: ".20", 10: ".29"}
    for cluster in (1, 2, 5, 10):
        for name, judge in (("noise .05", "noise .05"), ("beta", "beta")):
            if cluster > 1 and name == "beta":
                continue
            label = f"{name}, {cluster} cases a question"
            was = {"PASS": before[cluster]}
            yield Row("at a limit", f"{NET}, {label}", AtLimit(NET, PROBE, judge, cluster=cluster), {}, most, was)
            yield Row("at a limit", f"{GAIN}, {label}", AtLimit(GAIN, PROBE, judge, cluster=cluster), {}, most, was)
    for claim in (NET, GAIN):
        still = AtLimit(claim, PROBE, "noise 0", turns=0.05, frozen=True)
        yield Row("at a limit", f"{claim}, temperature 0, inert words move 5%", still, {}, most)
    for name in ("noise 0", "noise .05"):
        for cluster in (1, 5):
            label = f"{WORST}, one variant of 20, {name}, {cluster} cases a question"
            yield Row("at a limit", label, OneVariant(name, cluster), {}, most)
    for name in ("noise 0", "noise .05"):
        for same in (False, True):
            for cluster in (1, 10) if same else (1,):
                bias = Bias(everywhere=0.05 if name == "noise 0" else EVERYWHERE_AT_LIMIT, same_cases=same)
                shape = "the same cases everywhere" if same else "other cases in each probe"
                label = f"run/net_robustness >= 0.95, {name}, {shape}, {cluster} cases a question"
                condition = Whole(judge=name, bias=bias, cluster=cluster)
                yield Row("at a limit", label, condition, {}, {"PASS run/net_robustness": 0.05})
    silent = Whole(judge="noise 0", bias=Bias(silences=0.05))
    label = "run/unreadable_gain <= 0.05, noise 0, other cases in each probe"
    yield Row("at a limit", label, silent, {}, {"PASS run/unreadable_gain": 0.05})


EVERYWHERE_AT_LIMIT: Final = 0.05 / (0.05 * (1 - 0.97) + 0.95 * 0.97 - 2 * 0.05 * 0.95)
"""The dose that moves a judge of noise .05 by .05 in each row."""


@dataclass(frozen=True, slots=True)
class OneVariant:
    """The probe with the most variants, one of which, another for each seed, is exactly at the limit of a variant."""

    judge: str
    cluster: int = 1
    runs: int = 1000

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the probe once."""
        variants = variants_of(ROTATION)
        variant = variants[seed % len(variants)]
        return AtLimit(WORST, ROTATION, self.judge, variant, cluster=self.cluster).measure(seed)


def _few() -> Iterator[Row]:
    for n in (60, 100):
        for name in ("noise 0", "noise .05"):
            condition = Whole(judge=name, cases=n, limits="attainable")
            yield Row("few cases", f"{name}, {n} cases", condition, {"green": 0.95}, {"fail": 0.02})
        for measure in ("net_robustness", "gain"):
            condition = Attainable(measure, n)
            label = f"exactly at the attainable limit of {measure}, noise .05, {n} cases"
            yield Row("few cases", label, condition, {}, {"PASS": 0.05})


@dataclass(frozen=True, slots=True)
class Attainable:
    """A probe with few cases, exactly at the limit that they let a sound judge attain."""

    measure_name: str
    cases: int
    runs: int = 1000

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the probe once."""
        order = gate_of("pairwise", n=self.cases, limits="attainable").orders[PROBE]
        claim = next(c for c in foreseen(order, self.cases) if c.measure == self.measure_name)
        return AtLimit(claim, PROBE, cases=self.cases).measure(seed)


def _others() -> Iterator[Row]:
    for accuracy, before in ((0.75, ".00 to .04"), (0.85, ""), (0.95, "")):
        condition = Whole(bias=Bias(rejects=True), stubborn=1 - accuracy)
        was = {"green": before, "fail": "9 claims (accuracy .80)"} if before else {}
        yield Row("other judges", f"rejects manipulation, accuracy {accuracy}", condition, {}, {"fail": 0.02}, was)
    for drift in (0.05, 0.10):
        condition = Whole(judge="noise .05", course=Course(drift=drift))
        was = {"green": ".06 to .95 with an inert arm (simulated)"}
        yield Row("other judges", f"error rate + {drift} by the end", condition, {"green": 0.90}, {"fail": 0.02}, was)
    for swapped in (0.05, 0.10):
        condition = Whole(judge="noise .05", course=Course(swapped=swapped))
        was = {"green": ".00 to .18", "fail": ".15"}
        yield Row(
            "other judges",
            f"a model swapped in the middle, {swapped:.0%} other",
            condition,
            {"green": 0.90},
            {"fail": 0.02},
            was,
        )
    wrong = Whole(judge="noise .05", wrong_gold=0.10)
    yield Row("other judges", "gold wrong in 10 %", wrong, {"green": 0.90}, {"fail": 0.02})
    ceiling = {"green": "gain never decided"}
    yield Row("other judges", "scores, 80 % at 9 or 10", Whole("score", "ceiling"), {}, {"fail": 0.02}, ceiling)
    yield Row("other judges", "scores, off by a point", Whole("score", "wide"), {"green": 0.90}, {"fail": 0.02})
    lumpy = Whole("score", "lumpy", scale=Scale(1, 5))
    yield Row("other judges", "scores, 1, 3 or 5 of 5, one in six two points off", lumpy, {}, {"fail": 0.02})
    length = Whole(judge="noise 0", bias=Bias(length=True), named="verbosity")
    yield Row("other judges", "sees nothing but length", length, {"named": 0.99})
    for cluster in (2, 5, 10):
        condition = Whole(judge="noise .05", cluster=cluster)
        yield Row("other judges", f"sound, {cluster} cases a question", condition, {}, {"fail": 0.02})


def _covered() -> Iterator[Row]:
    for kind in KINDS:
        for n in SIZES:
            names = [f"{name} {end}" for name in SHOWN[kind.partition(",")[0]] for end in ("low", "high")]
            yield Row("coverage", f"{kind}, {n} cases", Covered(kind, n), dict.fromkeys(names, 0.945), first=2)
    for cluster in (2, 5, 10):
        names = [f"{name} {end}" for name in SHOWN["pairs"] for end in ("low", "high")]
        condition = Covered("pairs, beta", 200, cluster)
        label = f"pairs, beta, 200 cases, {cluster} a question"
        yield Row("coverage", label, condition, dict.fromkeys(names, 0.945), first=2)


def _claims() -> Iterator[Row]:
    for claim in (NET, GAIN):
        limit = AtLimit(claim).room
        for name in ("noise 0", "noise .05", "beta"):
            for truth in (0.0, 0.02, 0.05, limit, 0.20, 0.30):
                condition = AtLimit(claim, PROBE, name, beyond=truth - limit, runs=300)
                yield Row("one claim", f"{claim}, {name}, true {truth:.2f}", condition, first=3)
