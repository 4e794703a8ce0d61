"""The rows of the page: each a condition, what must hold, and what the first design did."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from benchmarks.calibration.conditions import AtLimit, Condition, Whole, gate_of
from benchmarks.calibration.coverage import KINDS, SHOWN, SIZES, Covered
from benchmarks.calibration.harness import TASKS, Gate, Task
from benchmarks.calibration.laws import FROZEN, HARD, SOUND, SURE, TIES, Bias, Course, Ties
from calm.core.claims import Claim
from calm.core.verdict import Scale
from calm.gate.resolution import foreseen, outlook

NET: Final = Claim("net_robustness", ">=", 0.85)
GAIN: Final = Claim("gain", "<=", 0.25)
PULL: Final = Claim("pull", "<=", 0.25)
WORST: Final = Claim("worst_gain", "<=", 0.30)
WORST_PULL: Final = Claim("worst_pull", "<=", 0.50)
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
        *_ties(),
        *_equal_alone(),
        *_own(),
        *_still(),
        *_faint(),
        *_single(),
        *_variants(),
        *_limits(),
        *_few(),
        *_others(),
        *_covered(),
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
    tied = Whole(judge="noise .05", tied=True)
    yield Row("sound", "pairs, noise .05, 40 % honestly tied", tied, green, fail, first=0)


def _ties() -> Iterator[Row]:
    for ties in TIES:
        for name in ("noise 0", "noise .05", "noise .10"):
            condition = Whole(judge=name, ties=ties)
            yield Row("equal answers", f"{SAYS[ties]}, {name}", condition, {"green": 0.95}, {"fail": 0.02})


SAYS: Final[Mapping[Ties, str]] = {
    "tie": "says tie", "first": "takes the first", "coin": "tosses a coin", "text": "likes one of the texts",
}  # fmt: skip


def _equal_alone() -> Iterator[Row]:
    for probe in pulled():
        for dose in (1.0, 0.6):
            condition = Whole(bias=Bias(equal=Bias(probes={probe: dose})), named=probe.partition("/")[0])
            label = f"{probe}, {dose:.0%} of the equal pairs"
            yield Row("equal answers alone", label, condition, {"named": 0.99}, {"green": 0.02, "others": 0.02})


def pulled() -> tuple[str, ...]:
    """Return the names of the probes that ask whether a cue decides between equal answers."""
    orders = gate_of("pairwise").orders
    return tuple(name for name, order in orders.items() if any(c.measure == PULL.measure for c in order.claims))


def _own() -> Iterator[Row]:
    own = Whole(own=True, cases=60, limits="attainable")
    for ties in TIES:
        for name in ("noise 0", "noise .05"):
            condition = replace(own, judge=name, ties=ties)
            yield Row("own answers", f"{SAYS[ties]}, {name}", condition, {"green": 0.95}, {"fail": 0.02})
    for dose, least in ((1.0, {"named": 0.99}), (0.6, {})):  # so few pairs may leave the second one undecided
        condition = replace(own, bias=Bias(equal=Bias(probes={PROBE: dose})), named=PROBE)
        label = f"{PROBE}, {dose:.0%} of the equal pairs"
        yield Row("own answers", label, condition, least, {"green": 0.02, "others": 0.02})


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
            # of a pair that a cue lifts no more than any words do, `run/gain` holds both: at its limit it stays open
            least = {} if task == "pairwise" and turns == 0.10 else {"green": 0.80}
            yield Row("temperature 0", label, condition, least, most, before, first)

    for name, moved in zip(FROZEN, (0.05, 0.10), strict=True):
        label = f"pairs, {name}: inert words move {moved:.0%}"
        yield Row("temperature 0", label, Whole(judge=name, frozen=True), {"green": 0.80}, {"fail": 0.02}, first=0)


def _faint() -> Iterator[Row]:
    for task in TASKS:
        for name in ("noise 0", "noise .05", "beta") if task == "pairwise" else ("noise .05",):
            before = {"green": ".00 to .05"} if task == "pairwise" else {}
            condition = Whole(task, name, Bias(everywhere=0.02))
            yield Row("2 % everywhere", f"{_named(task)}, {name}", condition, {"green": 0.90}, {}, before)


def _single() -> Iterator[Row]:
    for name in ("noise 0", "noise .05", "30 % close calls"):
        some = Whole(judge=name, bias=Bias(probes={PROBE: 0.40}), named=PROBE)
        yield Row("one probe", f"{name}, .40 of its cases", some, {}, {"green": 0.02})
        many = Whole(judge=name, bias=Bias(probes={PROBE: 0.60}), named=PROBE)
        yield Row("one probe", f"{name}, .60 of its cases", many, {"named": 0.99}, {"green": 0.02})


def _variants() -> Iterator[Row]:
    before = {"FAIL": "gain PASS .82, green .23 (one of 11, half its cases)"}
    for name in ("noise 0", "noise .05"):
        for dose, least in ((1.0, 0.99), (0.8, 0.90)):
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
        return AtLimit(WORST_PULL, ROTATION, self.judge, variant, share=self.share).measure(seed)


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
            condition = OneVariant(AtLimit(WORST, ROTATION, name, cluster=cluster))
            yield Row("at a limit", label, condition, {}, most)
    yield from _pulls()
    for claim, doses in OF_RUN.items():
        for name, dose in doses.items():
            for same in (False, True):
                for cluster in (1, 10) if same else (1,):
                    shape = "the same cases everywhere" if same else "other cases in each probe"
                    label = f"run/{claim}, {name}, {shape}, {cluster} cases a question"
                    whole = Whole(judge=name, bias=Bias(everywhere=dose, same_cases=same), cluster=cluster)
                    yield Row("at a limit", label, whole, {}, {f"PASS run/{claim.measure}": 0.05})
    silent = Whole(judge="noise 0", bias=Bias(silences=0.10))
    label = "run/unreadable_gain <= 0.10, noise 0, other cases in each probe"
    yield Row("at a limit", label, silent, {}, {"PASS run/unreadable_gain": 0.05})


OF_RUN: Final[Mapping[Claim, Mapping[str, float]]] = {
    Claim("pull", "<=", 0.15): {"noise 0": 0.15, "noise .05": 0.15 / (2 * SURE - 1)},
    Claim("gain", "<=", 0.10): {"noise 0": 0.10, "noise .05": 0.10 / (SURE - 0.05)},
}
"""Claims about a run, with the dose of every probe that puts a judge at the limit."""


def _pulls() -> Iterator[Row]:
    """Yield judges at the limits of what a cue does between two equal answers."""
    most = {"PASS": 0.05}
    for claim, probe in ((PULL, PROBE), (WORST_PULL, ROTATION)):
        one_variant = claim is WORST_PULL
        for ties in TIES:
            for name in ("noise 0", "noise .05"):
                condition = AtLimit(claim, probe, name, ties=ties)
                yield _at(condition, f"{name}, {SAYS[ties]}", most, one_variant=one_variant)
        for ties in ("coin", "text"):
            for cluster in (2, 5, 10):
                condition = AtLimit(claim, probe, cluster=cluster, ties=ties)
                label = f"noise .05, {SAYS[ties]}, {cluster} pairs a question"
                yield _at(condition, label, most, one_variant=one_variant)
            still = AtLimit(claim, probe, "noise 0", ties=ties, turns=0.05, frozen=True)
            label = f"temperature 0, {SAYS[ties]}, inert words move 5%"
            yield _at(still, label, most, one_variant=one_variant)
            silent = AtLimit(claim, probe, ties=ties, unread=0.05)
            label = f"noise .05, {SAYS[ties]}, 5 % of the replies unreadable"
            yield _at(silent, label, most, one_variant=one_variant)


def _at(condition: AtLimit, label: str, most: Mapping[str, float], *, one_variant: bool) -> Row:
    whose = OneVariant(condition) if one_variant else condition
    said = f"{condition.claim}, {'one variant of 20, ' if one_variant else ''}{label}"
    return Row("at a limit", said, whose, {}, most)


@dataclass(frozen=True, slots=True)
class OneVariant:
    """The probe with the most variants, one of which, another for each seed, is exactly at the limit of a variant."""

    limit: AtLimit
    runs: int = 1000

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the probe once."""
        variants = variants_of(ROTATION)
        return replace(self.limit, variant=variants[seed % len(variants)]).measure(seed)


FEW_SIZES: Final = (60, 120, 200)
GREEN_OF: Final[Mapping[int, float]] = {60: 0.85, 120: 0.90, 200: 0.95}
"""How often a sound judge must be green on so many cases."""
MOST_CALLS_OF_60: Final[Mapping[str, int]] = {"noise 0": 1_100, "noise .05": 1_700, "noise .10": 2_700}


def _few() -> Iterator[Row]:
    for n in FEW_SIZES:
        for name in (*SOUND, *HARD):
            most = {"fail": 0.02}
            if n == FEW_SIZES[0] and name in MOST_CALLS_OF_60:
                most["calls"] = MOST_CALLS_OF_60[name]
            condition = Whole(judge=name, cases=n, limits="attainable", ties="tie", runs=40)
            whose = Promised(condition) if name == "noise .10" else condition  # the judge of the run's first line
            yield Row("few cases", f"{name}, {n} cases", whose, {"green": GREEN_OF[n]}, most)
    for n in FEW_SIZES:
        for name in FROZEN:
            condition = Whole(judge=name, cases=n, limits="attainable", ties="tie", frozen=True, runs=40)
            yield Row("few cases", f"{name}, {n} cases", condition, {"green": GREEN_OF[n]}, {"fail": 0.02})
        condition = Whole(cases=n, stubborn=0.176, limits="attainable", ties="tie", runs=40)
        yield Row(
            "few cases", f"right in 80 %, wrong for good, {n} cases", condition, {"green": GREEN_OF[n]}, {"fail": 0.02}
        )
        for times in (1, 2, 3):
            least = {"named": 0.90} if times == 2 else {}
            label = f"{PROBE} at {times} times its limit of pull, {n} cases"
            yield Row("few cases", label, Beyond(n, times), least, {"green": 0.05})
        for measure in ("pull", "gain"):
            label = f"exactly at the attainable limit of {measure}, noise .05, {n} cases"
            yield Row("few cases", label, Attainable(measure, n), {}, {"PASS": 0.05})
    for n in (60, 100, 200):
        for share in (0.33, 0.41, 0.55):
            limit = AtLimit(WORST, ROTATION, cases=n, share=share, runs=200)
            label = f"one variant of 20 wins {share:.0%} against {WORST.limit:.2f}, {n} cases"
            yield Row("few cases", label, OneVariant(limit, 200), {}, {"green": 0.05})


@dataclass(frozen=True, slots=True)
class Promised:
    """A whole gate, and how often its first line says that such a judge is green."""

    whole: Whole
    runs: int = 40

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the gate once."""
        gate = gate_of("pairwise", n=self.whole.cases, limits=self.whole.limits)
        return {**self.whole.measure(seed), "promised": promised(gate)}


@cache
def _promises() -> dict[int, float]:
    return {}


def promised(gate: Gate) -> float:
    """Return what the first line of a run says: how often a sound judge is green; 1 where the cases are enough."""
    known = _promises()
    if id(gate) not in known:
        said = outlook([replace(order, setup=gate.setup()) for order in gate.orders.values()])
        share = re.search(r"green in (?:over |under )?(\d+) %", said)
        known[id(gate)] = int(share[1]) / 100 if share else 1.0
    return known[id(gate)]


@dataclass(frozen=True, slots=True)
class Beyond:
    """A whole gate with few cases and one probe whose cue decides so many times as many equal pairs as its limit."""

    cases: int
    times: int
    runs: int = 40

    def measure(self, seed: int) -> Mapping[str, float]:
        """Run the gate once."""
        order = gate_of("pairwise", n=self.cases, limits="attainable").orders[PROBE]
        limit = next(c.limit for c in foreseen(order, self.cases) if c.measure == PULL.measure)
        dose = min(1.0, self.times * limit / (2 * SURE - 1))
        whole = Whole(
            bias=Bias(equal=Bias(probes={PROBE: dose})),
            named=PROBE, cases=self.cases, limits="attainable", ties="tie",
        )  # fmt: skip
        return whole.measure(seed)


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
    # truly far from gold scores that use the whole scale, so agreement rightly fails it
    yield Row("other judges", "scores, 80 % at 9 or 10", Whole("score", "ceiling"), {}, {}, ceiling)
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
