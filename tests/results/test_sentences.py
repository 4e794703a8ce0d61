"""A finding as one sentence: of every shipped edit, of every measure, and of whatever a user may write."""

import re
from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules

import pytest

from calm import Expects, perturbation, rotate, suites
from calm.core.claims import Claim, Estimate, Outcome, decide
from calm.core.edits import Edit, PromptEdit
from calm.core.measures import MEASURES, TABLE_MEASURES
from calm.core.reasons import NONE, Kind, because
from calm.core.verdict import FAMILIES
from calm.gate.catalogue import entries
from calm.results.audit import Limit
from calm.results.findings import _what
from calm.results.sentences import allows, base, doing, sentence
from tests.reports.planted_audit import finding, trial

TEN = {"low": 1.0, "high": 10.0}
ALL = {**MEASURES, **TABLE_MEASURES}
OF_JUDGE = {"slot_pull", "rewording_rate"}
"""Measures that are asked after an edit and say what the judge does whatever the edit."""
EDITS = [one for one in entries() if not one.edit.variants]
PLACES = [import_module(f"calm.suites.{one.name}") for one in iter_modules(suites.__path__) if "test_" in one.name]
ROTATIONS = {
    f"{place.__name__.rpartition('.')[2]}.{name}": value
    for place in PLACES
    for name, value in vars(place).items()
    if isinstance(value, Edit | PromptEdit) and value.variants
}
OF_NO_MODULE = {"test_paraphrase.OTHER_WORDS"}
"""Rotations whose bias has no module of its own: they are called by their names."""

MAIN = re.compile(
    r" (?:(?:makes|changes|moves|leaves|is noticed in|is named in .*? in|leads to a (?:tie|fail|pass) in) "
    r"(?:\S+ ){0,8}?-?[\d.]+|"
    r"helps the answer in [\d.]+|"
    r"(?:raises|lowers) (?:its|the answer's|one answer's) score by [\d.]+)"
)
"""The verb of a sentence with the figure that it leads to."""
TAIL = re.compile(
    r" \((-?[\d.]+) to (-?[\d.]+), from ([\d, of]+) cases?"
    r"(?:; (?:allowed|at least) (-?[\d.]+)(?: must go the other way)?)?\)"
)


def built(measure, family, *, value=0.53, low=0.37, high=0.70, op="", limit=0.3, **changes):
    """Return a finding of a measure about a judge of a family."""
    points = {"scale": TEN} if family in ("score", "rubric") else {}
    claim = Limit(op, limit) if op else None
    known = {"perturbation": "edit_name", "summary": "", "n": 35, "flips": {}, "outcome": Outcome.FAIL}
    figures = {"measure": measure, "task": family, "value": value, "low": low, "high": high, "claim": claim}
    return finding(**{**known, **points, **figures, **changes})


def operators(name):
    """Return how a measure can be claimed, and that it is not."""
    measure = ALL[name]
    signed = getattr(measure, "low", -1) < 0 and not getattr(measure, "flipped", False)
    signed = signed and not getattr(measure, "log", False)
    return [getattr(measure, "op", "<="), "", *(["abs<="] if signed else [])]


def measures_of(edit):
    """Return each measure and family that an edit serves, as a test may claim it."""
    return [
        (name, family)
        for name, measure in MEASURES.items()
        for family in edit.tasks
        if edit.expects in measure.serves and family in measure.families and name not in OF_JUDGE
    ]


def faults(told):
    """Return which rules are broken by a sentence about an edit."""
    clause = TAIL.sub("", told)
    plain = re.sub(r'"[^"]*"|\'[^\' ]*\'', "", clause)
    rules = {
        "begins with a capital": told[:1].isupper(),
        "begins with a gerund": re.match(r"(first )?[a-z]+ing\b", told, re.IGNORECASE),
        "has no name of an edit": "edit_name" not in told and "he edit " not in told,
        "ranks answers as better or worse": not re.search(r"weaker|better or only", plain),
        "is one clause": not re.search(r"[:;]", plain),
        "has no doubled signs": not re.search(r"  |,,|, ,|(?<!\.)\.\.(?!\.)| ,|\.,", told.replace("..., ", "")),
        "has no braces": not re.search(r"[{}]", told),
        "has one main verb": len(MAIN.findall(plain)) == 1,
        "has all verbs alike": not re.search(r", (and|or|then) (add|put|change|use|show|say|ask|pad|call)\b", plain),
        "closes its quotes": told.count('"') % 2 == 0,
        "ends with its figures": TAIL.search(told) and told.endswith(")"),
    }
    return [rule for rule, kept in rules.items() if not kept]


def bounds(told):
    """Return the bounds that a sentence shows."""
    found = TAIL.search(told)
    return float(found[1]), float(found[2])


@pytest.mark.parametrize("entry", EDITS, ids=lambda one: one.key)
def test_the_summary_of_each_edit_makes_a_correct_sentence(entry):
    """With every measure and kind of verdict that it serves, claimed in each way, above and below 0."""
    wrong = {}
    asked = measures_of(entry.edit)
    for name, family in asked:
        for op in operators(name):
            for value, low, high in ((0.53, 0.37, 0.7), (-0.53, -0.7, -0.37), (0.0, -0.1, 0.1)):
                about = {"bias": entry.edit.bias, "expects": entry.edit.expects.name, "what": entry.edit.summary}
                told = sentence(built(name, family, value=value, low=low, high=high, op=op, **about))
                wrong |= dict.fromkeys(faults(told), (name, family, op, told))

    assert asked
    assert wrong == {}


def test_the_rules_find_what_is_wrong(subtests):
    """Each rule can be broken."""
    end = " makes it win in 5 of 100 cases (1 to 9, from 4 cases)"
    for broken, told in [
        ("begins with a capital", f"adding a book{end}"),
        ("begins with a gerund", f"A book{end}"),
        ("has no name of an edit", f"The edit cite{end}"),
        ("ranks answers as better or worse", f"Adding a book to the weaker answer{end}"),
        ("is one clause", f"Adding this: a book{end}"),
        ("has no doubled signs", f"Adding a book,,{end}"),
        ("has no braces", f"Adding {{it}}{end}"),
        ("has one main verb", f"Adding a book makes it win in 4{end}"),
        ("has one main verb", "Adding a book (1 to 9, from 4 cases)"),
        ("has all verbs alike", f"Adding a book, or change one,{end}"),
        ("closes its quotes", f'Adding "a book{end}'),
        ("ends with its figures", "Adding a book makes it win in 5 of 100 cases"),
    ]:
        with subtests.test(broken, told=told):
            assert broken in faults(told)
    assert faults(f"Adding a book{end}") == []


@pytest.mark.parametrize("name", sorted(ROTATIONS.keys() - OF_NO_MODULE))
def test_a_shipped_rotation_is_told_by_its_module(name):
    """The first line of the module of its bias is a clause like that of an edit."""
    edit = ROTATIONS[name]
    what = _what(edit, NONE)

    wrong = {}
    for measure, family in measures_of(edit):
        told = sentence(built(measure, family, bias=edit.bias, what=what, op=MEASURES[measure].op))
        wrong |= dict.fromkeys(faults(told), told)

    assert what
    assert wrong == {}


@pytest.mark.parametrize("name", sorted(ROTATIONS))
def test_the_worst_variant_of_a_rotation_is_told_by_its_own_clause(name):
    """Where the reason names one, its label is the name, and its summary what was done."""
    for one in ROTATIONS[name].variants:
        worst = because(Kind.WORST, 3, one.label)

        assert worst.worst == one.label
        if not one.variants:
            assert _what(ROTATIONS[name], worst) == one.summary


def test_a_rotation_of_ones_own_is_told_by_its_name_and_by_its_worst_variant():
    """No module of calm speaks for edits of others, even of the same bias."""

    @perturbation(bias="authority", expects=Expects.NOT_BETTER)
    def stamped(case, rng):
        """Stamp the weaker answer."""

    @perturbation(bias="authority", expects=Expects.NOT_BETTER)
    def quoted(case, rng):
        """Quote a book in the weaker answer."""

    both = rotate(stamped, quoted)
    worst = because(Kind.WORST, 2, "quoted")

    assert _what(both, NONE) == ""
    assert doing(built("gain", "pairwise", what="", perturbation="rotation")) == "the edit rotation"
    assert _what(both, worst) == "Quote a book in the weaker answer."
    told = sentence(built("worst_gain", "pairwise", what=_what(both, worst), reason=worst))
    assert told.startswith("Quoting a book in the worse answer makes it win in 53 of 100 cases")
    unclear = sentence(built("worst_gain", "pairwise", what="A book.", reason=worst, perturbation="rotation"))
    assert unclear.startswith("The edit quoted makes the worse answer win in 53")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        ".",
        "A book.",
        "Appends a book.",
        "Appending a book",
        "append a book, {it} and {n:>9} of {0} {{x}} %s %d 100 %",
        "Add {",
        "Add }",
        "Add \\1 \\g<0> $1",
        "Add " + "words " * 1000,
        "Add \x1b[31mred\x00\u202e\n\nnew",
        "add; and more",
        "; ",
        "Add the answer, the weaker answer, the better or only answer",
        "\u6dfb\u52a0\u4e00\u672c\u4e66",
        "ADD A BOOK",
        "Additional words",
    ],
)
def test_no_text_of_a_user_breaks_a_sentence(text, subtests):
    """It is told as it is, or the edit by its name; nothing of it is read as a place for a figure."""
    known = text[:4].lower() in ("add ", "appe", "add;") and not text.lower().startswith(("appends", "appending"))
    for name in ("gain", "pull", "net_robustness", "net_detection"):
        for family in MEASURES[name].families:
            with subtests.test(name, family=family):
                told = sentence(built(name, family, what=text, op=MEASURES[name].op))

                assert TAIL.search(told)
                assert ("he edit edit_name " in told) is not known
                for part in ("{it}", "{n:>9}", "{0}", "{{x}}", "%s", "\\1", "$1"):
                    assert told.count(part) == (text.count(part) if known else 0)


@pytest.mark.parametrize("name", sorted(ALL))
def test_each_measure_has_words_of_its_own(name, subtests):
    """For each kind of verdict that it serves, whatever its sign, with a limit and without one."""
    for family in ALL[name].families:
        for op in operators(name):
            for value, low, high in ((0.53, 0.37, 0.7), (-0.53, -0.7, -0.37), (0.0, -0.1, 0.1)):
                with subtests.test(name, family=family, op=op, value=value):
                    one = built(name, family, value=value, low=low, high=high, op=op, what="Add a book to the answer.")

                    told = sentence(one)

                    assert not re.match(rf"{base(name).replace('_', ' ')} is ", told, re.IGNORECASE)
                    assert not told[:1].islower()
                    assert not re.search(r"[{}]|  ", told)
                    assert bounds(told)[0] <= bounds(told)[1]
                    assert ("allowed" in told or "at least" in told) is bool(op)


@pytest.mark.parametrize("name", sorted(MEASURES))
def test_a_claim_has_the_words_of_its_findings(name, subtests):
    """What a limit allows is said with its number for each kind of verdict."""
    measure = MEASURES[name]
    for family in measure.families:
        for op in operators(name):
            if not op:
                continue
            with subtests.test(name, family=family, op=op):
                told = allows(Claim(name, op, 0.2), family)

                assert re.search(r"at (most|least) (?:20|80|0\.20|0\.80)\b", told), told
                assert not re.search(r"[{}]", told)
    assert allows(Claim("own_pull", "<=", 0.2), "pairwise") == ""


def shares():
    """Return the measures whose figures are shares of a hundred, for a judge of two answers."""
    return [name for name in MEASURES if "of 100" in sentence(built(name, "pairwise"))]


@pytest.mark.parametrize("name", shares())
def test_the_numbers_are_those_of_the_finding(name, subtests):
    """Of a flipped measure 1 minus them, with the bounds in order."""
    for value, low, high in ((0.53, 0.37, 0.7), (0.9, 0.81, 0.96), (0.0, 0.0, 0.02), (1.0, 0.94, 1.0)):
        with subtests.test(name, value=value):
            told = sentence(built(name, "pairwise", value=value, low=low, high=high, n=41))

            turn = MEASURES[name].flipped
            at, ends = (1 - value, (1 - high, 1 - low)) if turn else (value, (low, high))
            assert bounds(told) == pytest.approx([round(100 * end, 1) for end in ends])
            assert re.search(rf"\b{round(100 * at)}\b(?:\.0)?", TAIL.sub("", told)), told
            assert TAIL.search(told)[3] == "41"


def test_points_are_those_of_the_scale(subtests):
    """A share of a scale is so many of its points; of one that is 1 long, or not known, percent."""
    for scale, told in [
        (TEN, "4.8 points (3.3 to 6.3, "),
        ({"low": 1.0, "high": 5.0}, "2.12 points (1.48 to 2.80, "),
        ({"low": 0.0, "high": 1.0}, "53 % of the scale (37 to 70, "),
        ({}, "53 % of the scale (37 to 70, "),
    ]:
        with subtests.test(told):
            assert f"raises its score by {told}" in sentence(
                built("gain", "score", scale=scale, what="Add a book to the answer.")
            )


def misses(number, op, limit):
    """Return whether a bound alone disproves a claim."""
    return decide(Estimate(number, number, number, 1, 0.0), Claim("gain", op, limit)) is Outcome.FAIL


@pytest.mark.parametrize(
    ("name", "family", "op", "limit"),
    [
        ("gain", "pairwise", "<=", 0.3),
        ("gain", "score", "<=", 0.08),
        ("pull", "pairwise", "abs<=", 0.25),
        ("net_detection", "pairwise", ">=", 0.6),
        ("net_robustness", "pairwise", ">=", 0.9),
        ("net_robustness", "score", ">=", 0.92),
        ("readable_rate", "label", ">=", 0.95),
        ("kappa", "pairwise", ">=", 0.4),
    ],
)
def test_a_bound_that_misses_the_limit_never_looks_like_it(name, family, op, limit):
    """However near it lies; one that keeps to the limit has no more digits than usual."""
    off = [step / 10**power for power in range(2, 6) for step in (1, -1, 4, -4)]
    for near in (limit + step for step in off):
        low, high = sorted((near, limit))
        told = sentence(built(name, family, value=limit, low=low, high=high, op=op, limit=limit))
        shown, edge = bounds(told), float(TAIL.search(told)[4])
        upper = (near > limit) is not MEASURES[name].flipped
        if misses(near, op, limit) and abs(near - limit) >= 1e-3:
            assert shown[1] > edge if upper else shown[0] < edge, told
        if not misses(near, op, limit):
            assert all(len(str(one).partition(".")[2]) <= 2 for one in shown), told


def test_a_failed_claim_shows_a_figure_beyond_its_limit(subtests):
    """And one that passed none, whatever the sign of the measure."""
    for name in MEASURES:
        for family in MEASURES[name].families:
            for op in filter(None, operators(name)):
                if op == "abs<=" and name in ("attack_success_rate", "unreadable_gain", "rewording_rate"):
                    continue  # these have no words for what is below 0, and nobody claims that it is little
                for value in (0.9, 0.01, -0.9):
                    if value < MEASURES[name].low:
                        continue
                    with subtests.test(name, family=family, op=op, value=value):
                        one = built(name, family, value=value, low=value, high=value, op=op, limit=0.3)
                        told = sentence(one)
                        shown, edge = bounds(told)[0], float(TAIL.search(told)[4])
                        least = " at least " in TAIL.search(told)[0]
                        other = " the other way" in told

                        beyond = shown < edge or other if least else (abs(shown) if op == "abs<=" else shown) > edge
                        lowered = op == "<=" and value < 0 and not MEASURES[name].flipped
                        assert (beyond and not lowered) is misses(value, op, 0.3)


def test_lost_cases_and_one_case_are_counted():
    """The figures are those of a part."""
    assert "from 35 of 40 cases" in sentence(built("gain", "pairwise", lost=5))
    assert "from 1 case)" in sentence(built("gain", "pairwise", n=1))


def test_without_figures_it_says_why():
    """A reason, or that nothing was measured."""
    none = {"value": None, "low": None, "high": None}

    assert sentence(built("gain", "pairwise", **none, reason="no notes")) == "No notes"
    assert sentence(built("gain", "pairwise", **none)) == "Nothing was measured"
    assert sentence(built("gain", "pairwise", bias="baseline", reason="it got worse")) == "It got worse"


def test_the_variant_that_moved_most_is_named_of_a_failed_rotation():
    """Where its reason names none; a variant of one row is left out."""
    rows = [
        replace(trial(f"c{i}", ["good"] * 2, [after] * 2, edit=edit), target="bad")
        for i, (edit, after) in enumerate([("loud", "bad")] * 3 + [("calm", "good")] * 3 + [("rare", "bad")])
    ]
    one = built("gain", "pairwise", trials=tuple(rows))

    assert sentence(one).endswith("loud")
    assert not sentence(replace(one, outcome=Outcome.PASS)).endswith("loud")
    assert not sentence(replace(one, reason=because(Kind.WORST, 3, "loud"))).endswith("loud")
    assert not sentence(replace(one, trials=tuple(rows[:3]))).endswith("loud")


@pytest.mark.parametrize(("measure", "family"), [("consistency_rate", "pairwise"), ("repeat_distance", "score")])
def test_one_ask_with_probabilities_is_not_said_to_be_two(measure, family):
    """How often two draws agree follows from it; nothing was asked again."""
    rows = [trial("once", ["good"]), trial("again", ["good"] * 2)]
    told = [sentence(built(measure, family, trials=trials)) for trials in (tuple(rows), tuple(rows[:1]))]

    assert [one.startswith("Asked twice") for one in told] == [True, False]
    assert "probabilities" in told[1]


def test_the_slot_that_gains_is_named():
    """Of a judge that goes by the order."""
    one = built("net_robustness", "pairwise", bias="position", flips={"toward": 9, "away": 2, "other": 0})

    assert sentence(one).endswith("; 9 of 11 changes go to the answer shown first")
    away = {"flips": {"toward": 1, "away": 4, "other": 0}}
    assert sentence(replace(one, **away)).endswith("; 4 of 5 changes go to the answer shown second")
    assert sentence(replace(one, **away, task="listwise")).endswith("; 4 of 5 changes go to the answer shown last")


def test_every_kind_of_verdict_is_covered():
    """So that no new one has no test here."""
    assert {family for entry in EDITS for _, family in measures_of(entry.edit)} == set(FAMILIES)
