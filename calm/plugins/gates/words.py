"""What is known of a gate, in lines of at most 80 columns."""

from __future__ import annotations

from collections.abc import Iterable
from textwrap import fill
from typing import Final

from calm.errors import FEW, few_of
from calm.plugins.gates.linking import LEAST_ALIKE, Migration
from calm.plugins.gates.risk import Bounded
from calm.plugins.gates.study import CAUGHT, GateRisk, Rule
from calm.plugins.gates.verdicts import Verdicts
from calm.results.parts import aligned
from calm.results.wording import clipped

WIDTH: Final = 80
OUTCOMES: Final = {
    "PASS": ("GREEN (exit 0)", "The risk is at most {} of 100."),
    "FAIL": ("RED (exit 1)", "The risk is more than {} of 100."),
    "UNDECIDED": ("NOT DECIDED (exit 4)", "The record cannot tell whether the risk is at most {} of 100."),
}
RIGHT: Final = {
    "pairwise": "A verdict passes if it picks the better answer, by the gold label.",
    "label": "A verdict passes if it is the class of the gold label.",
}
SOON: Final = {"given": "yours", "likely": "best guess", "sure": "sure"}
READINGS: Final = ("the cases stay the same", "each run takes other cases of the same kind")
"""What a risk is about, by whether the cases are fresh."""
_LONG: Final = 24


def of_hundred(share: float) -> str:
    """
    Return a share as a number of 100.

    >>> of_hundred(0.184), of_hundred(0.003), of_hundred(0.0), of_hundred(0.999)
    ('18', 'under 1', '0', 'over 99')
    """
    if 1e-6 < share < 0.005:
        return "under 1"
    return "over 99" if 0.995 < share < 1 - 1e-6 else f"{100 * share:.0f}"


def within(one: Bounded, noun: str = "") -> str:
    """
    Return a probability as a number of 100, with its bounds.

    >>> within(Bounded(0.18, 0.09, 0.31), " of 100 runs")
    '18 of 100 runs (9 to 31)'
    """
    return f"{of_hundred(one.value)}{noun} ({of_hundred(one.low)} to {of_hundred(one.high)})"


def number(value: float) -> str:
    """
    Return a figure with at most three decimals.

    >>> number(3.8), number(0.016666)
    ('3.8', '0.017')
    """
    return f"{value:.3f}".rstrip("0").rstrip(".")


def filled(*sentences: str) -> str:
    """Return sentences in lines of at most `WIDTH` columns."""
    return fill(" ".join(filter(None, sentences)), WIDTH, break_long_words=False, break_on_hyphens=False)


def read_in_words(verdicts: Verdicts) -> list[str]:
    """Return what was read."""
    asked = verdicts.asked
    fewest, most = int(asked.repeats.min()), int(asked.repeats.max())
    each = f"{most} verdict{'s' * (most > 1)}" if fewest == most else f"{fewest} to {most} verdicts"
    good = ", where low is good" if verdicts.scale.best == "low" else ""
    told = f"{verdicts.name}: {len(verdicts.cases):,} cases with {each} each"
    right = RIGHT.get(verdicts.kind or "")
    lines = [filled(f"{told}{f'. {right}' if right else f', on a scale from {asked.low:g} to {asked.high:g}{good}.'}")]
    if verdicts.unread:
        many, worst = verdicts.unread > 1, verdicts.scale.upright(asked.low)
        told = f"{verdicts.unread:,} ask{'s' * many} without a verdict {'are' if many else 'is'} left out."
        fix = f"If your gate counts an empty cell as failed: --value ={worst:g}; a word: --value WORD={worst:g}."
        lines.append(filled(told, fix))
    if 1 < verdicts.groups < len(verdicts.cases):
        told = f"These cases are about {verdicts.groups:,} questions, or groups, and count as independent:"
        lines.append(filled(told, "bounds over other cases may be too narrow."))
    if verdicts.silent:
        named = few_of([clipped(one, _LONG) for one in verdicts.silent], FEW)
        lines.append(filled(f"{len(verdicts.silent):,} cases have no verdict at all and are left out: {named}."))
    return lines


def rule_in_words(rule: Rule, cases: int, *, low_is_good: bool) -> str:
    """
    Return a gate in words.

    >>> rule_in_words(Rule("share", 1.0), 60, low_is_good=False)
    'every one of 60 cases passes'
    >>> rule_in_words(Rule("mean", 3.8, asks=3), 60, low_is_good=False)
    'mean >= 3.8 over 60 cases, each asked 3 times'
    """
    mark = "?" if rule.mark is None else f"{rule.mark:g}"
    if rule.kind == "mean":
        each = f", each asked {rule.asks} times" if rule.asks > 1 else ""
        return f"mean {'<=' if low_is_good else '>='} {mark} over {cases:,} cases{each}"
    each = f", at {rule.least} of {rule.asks} asks" if rule.asks > 1 else ""
    every = rule.mark == 1
    what = "passes" if every else "pass"
    if rule.pass_mark is not None:
        what = f"score{'s' * every} {rule.pass_mark:g} or {'less' if low_is_good else 'more'}"
    share = "?" if rule.mark is None else f"{100 * rule.mark:g}"
    return f"{'every one' if every else f'at least {share} %'} of {cases:,} cases {what}{each}"


def in_words(found: GateRisk) -> list[str]:
    """Return what is known of a gate."""
    rule, allowed, asked = found.rule, of_hundred(found.wishes.risk), found.chance.asked
    name = rule_in_words(rule, found.chance.gate.cases, low_is_good=found.verdicts.scale.best == "low")
    reading = READINGS[rule.fresh].capitalize() + ("." if rule.fresh else ", and only the judge's noise differs.")
    if found.outcome is None:
        told = f"Gate: {name}, without a mark yet. By the record its {rule.kind} is {number(found.centre)}."
        lines = [filled(told, reading)]
    else:
        red = within(found.marks[0].red, " of 100 runs").removesuffix(")")
        head, why = OUTCOMES[found.outcome]
        told = f"{head}: your gate '{name}' goes red in {red}; allowed {allowed}) although nothing changed."
        lines = [filled(told, why.format(allowed), reading)]
    lines += ["", *_marks(found)]
    if found.other is not None:
        red = within(found.other, " of 100 runs")
        lines += ["", filled(f"If {READINGS[not rule.fresh]}, it goes red in {red}.")]
    if not asked.noisy and asked.repeated:
        told = f"No case got two different verdicts in {len(asked.of):,} asks."
        lines += ["", filled(told, "The bounds allow for noise that so few asks may not have shown.")]
    if found.asks_to_decide is not None:
        lines += ["", filled(f"About {found.asks_to_decide} verdicts on each case would decide.")]
    lines += _needed(found)
    on = "" if asked.grid is None else f", on a grid of {asked.grid:,} steps"
    how = f"exactly from the verdicts of the record{on}"
    if found.chance.roughness:
        how = f"by the normal curve, which is off by at most {100 * found.chance.roughness:.1f} of 100 runs"
    bounds = "In brackets: a lower and an upper bound; each is right for 95 of 100 records."
    more = ""
    if asked.noisy and asked.shared and not (rule.fresh and rule.asks == 1):
        more = f"Few asks show too little noise, so {of_hundred(asked.shared)} % of each case's verdicts are taken"
        more += " from those of all cases."
    return [*lines, "", filled(f"Computed {how}.", more, bounds)]


def _marks(found: GateRisk) -> Iterable[str]:
    drop, allowed = found.wishes.drop, of_hundred(found.wishes.risk)
    missed = [] if drop is None else [f"green, worse by {drop:g}"]
    change = "rise" if found.rule.kind == "mean" and found.verdicts.scale.best == "low" else "drop"
    table = [["mark", "", "red, unchanged", *missed, f"sees a {change} of"]]
    caught: dict[str, str] = {}
    for one in found.marks:
        green = [] if one.missed is None else [within(one.missed)]
        caught[one.why] = "none" if one.catches is None else number(one.catches) if one.red.value < CAUGHT else "any"
        table.append([f"{one.mark:g}", SOON[one.why], within(one.red), *green, caught[one.why]])
    head = f"How many of 100 runs (in the last column: the smallest {change} that turns {100 * CAUGHT:.0f} red):"
    marks = {one.why: f"{one.mark:g}" for one in found.marks}
    if "sure" not in marks:
        advice = f"No mark has a risk that is surely at most {allowed} of 100: ask about more cases, or more often."
    elif found.outcome == "PASS":
        advice = f"Your mark will do. The strictest with a risk that is surely at most {allowed} of 100 is "
        advice += f"{marks['sure']}: it sees a {change} of {caught['sure']}, yours one of {caught['given']}."
        if caught["sure"] == caught["given"]:
            advice = f"Your mark is the strictest with a risk that is surely at most {allowed} of 100."
    else:
        advice = f"Take {marks['sure']}: by the upper bound its risk is at most {allowed} of 100."
        advice += f" The best guess alone says {marks['likely']}."
    return [filled(head), *aligned(table), "", filled(advice)]


def _needed(found: GateRisk) -> list[str]:
    wishes = found.wishes
    if not found.needed or wishes.drop is None:
        return []
    alarms, missed = of_hundred(wishes.risk), of_hundred(wishes.missed)
    told = f"Cases that a gate needs, so that of 100 runs about {alarms} are red though nothing changed"
    table = [["asks of a case", "the same cases each time", "other cases each time"]]
    table += [[str(n.asks), "?" if n.same is None else f"{n.same:,}", f"{n.fresh:,}"] for n in found.needed]
    return [
        "",
        filled(f"{told}, and {missed} are green though the system is worse by {wishes.drop:g}:"),
        *aligned(table),
    ]


def migration_in_words(found: Migration, rule: Rule) -> list[str]:
    """Return what a gate becomes with another judge."""
    ranks = found.ranks
    told = f"The two judges rank the {found.cases:,} cases with a correlation of {ranks.value:.2f}"
    told += "" if ranks.most == 1 else f"; noise alone would lower 1 to about {ranks.most:.2f}"
    needed = f"at least {LEAST_ALIKE * ranks.most:.2f} is needed"
    if found.outcome == "FAIL":
        head = "NO MARK (exit 1): the judges do not rank the cases alike, so no mark passes the same systems."
        turned = "They rank in opposite ways: are low scores good on one scale alone?" if ranks.alike.high < 0 else ""
        return [filled(head, turned), "", filled(f"{told}, and {needed}.")]
    if found.mark is None:
        head = (
            f"NO MARK (exit 1): the {found.what} that stands for {found.old_mark:g} lies beyond the new judge's scale."
        )
        return [filled(head), "", filled(f"{told}.")]
    carried = _carried(found, found.mark)
    if found.outcome == "PASS":
        lines = [filled(f"MARK FOUND (exit 0): {carried}"), "", filled(f"{told}.")]
    else:
        seem = "seem" if ranks.alike.value >= LEAST_ALIKE else "do not seem"
        head = f"NOT DECIDED (exit 4): the judges {seem} to rank the cases alike, but "
        head += f"{found.cases:,} cases are too few to be sure."
        low, high = ranks.alike.low * ranks.most, max(ranks.value, ranks.alike.high * ranks.most)
        open_ = f"{told}. It may lie from {low:.2f} to {high:.2f}, and {needed}."
        lines = [filled(head), "", filled(open_), "", filled(f"If they do, {carried}")]
    if found.differ is not None:
        noise = [
            f" The {name} judge differs from itself in {of_hundred(one)}."
            for name, one in (("old", found.old_noise), ("new", found.noise))
            if one is not None
        ]
        differ = f"{of_hundred(found.differ)} of 100 verdicts differ between them at these marks."
        lines.append(filled(differ + "".join(noise)))
    for name, risk in (("old", found.old_risk), ("new", found.risk)):
        if rule.mark is not None:
            red = "has an unknown risk, as each case has one verdict."
            if risk is not None:
                red = f"goes red in {within(risk, ' of 100 runs')} although nothing changed."
            lines.append(filled(f"With the {name} judge your gate {red}"))
    return lines


def _carried(found: Migration, mark: float) -> str:
    what: str = found.what
    shown = number(mark)
    told = f"The {what} of these cases is {number(found.rate)}; with the old judge it was {number(found.old_rate)}."
    if found.what == "pass-mark":
        what, shown = "pass mark", f"{mark:.10g}"  # a score as it is: rounded up it would pass nothing
        told = f"It passes {of_hundred(found.rate)} of 100 verdicts; the old one passed {of_hundred(found.old_rate)}."
    between = f"{number(found.low)} to {number(found.high)}"
    return f"take a {what} of {shown} ({between}) with the new judge, in place of {found.old_mark:g}. {told}"
