"""A mapping in words, so that a person can apply it to what a judge said."""

from __future__ import annotations

from typing import Final

from calm.core.verdict import Family
from calm.models.wire import Json
from calm.studies.calibrate.fitting import Candidate
from calm.studies.calibrate.items import FIRST, MET, NOT_MET, SECOND, Rule

KNOTS: Final = 40
"""So many knots of a step function are shown; the record holds all."""


def classes_of(family: Family, *, passing: bool) -> tuple[str, str]:
    """Return the class at the upper and at the lower end of the line on which a threshold lies."""
    if passing:
        return "pass", "fail"
    return (MET, NOT_MET) if family == "rubric" else (FIRST, SECOND)


def rule_of(one: Candidate, family: Family, rule: Rule) -> str:
    """Return what a mapping makes of `x`, which is a score or a place on the line of classes; empty for the judge."""
    fitted = {name: value for name, value in one.fitted.items() if isinstance(value, int | float)}
    upper, lower = classes_of(family, passing=rule.passing is not None)
    classes = family != "score" or rule.passing is not None
    match one.name:
        case "shift":
            return f"x {_signed(fitted['add'])}"
        case "linear":
            return f"{_number(fitted['slope'])} x {_signed(fitted['intercept'])}"
        case "threshold":
            sign = "<=" if rule.scale.best == "low" else ">="
            return f"{upper} if x {sign} {_number(fitted['at'])}, else {lower}"
        case "tie_band":
            low, high = _number(fitted["low"]), _number(fitted["high"])
            return f"{upper} if x >= {high}, {lower} if x < {low}, else tie"
        case "isotonic":
            return f"by {len(_numbers(one.fitted['knots']))} knots"
        case "constant" if classes:
            value = fitted["value"]
            return f"always {upper if value > 0 else lower if value < 0 else 'tie'}"
        case "constant":
            return f"always {_number(fitted['value'])}"
    return ""


def knots_of(one: Candidate) -> list[tuple[str, str]]:
    """Return the table of a step function: scores of the judge, and what each becomes; empty for other mappings."""
    if one.name != "isotonic":
        return []
    pairs = zip(_numbers(one.fitted["knots"]), _numbers(one.fitted["gold"]), strict=True)
    return [(_number(knot), _number(gold)) for knot, gold in pairs]


def meaning(family: Family, rule: Rule) -> str:
    """Return what `x` is, and within what ends the result of a mapping stays."""
    if family == "score":
        ends = (
            "" if rule.passing is not None else f"; keep the result within {rule.scale.low:g} and {rule.scale.high:g}"
        )
        return f"x is the judge's score of a case: the median of its asks{ends}"
    upper, lower = classes_of(family, passing=False)
    return (
        f"x is the place of a case between -1 ({lower}) and 1 ({upper}): the mean of its asks or of its probabilities"
    )


def _numbers(value: Json) -> list[float]:
    assert isinstance(value, list)
    return [float(one) for one in value if isinstance(one, int | float)]


def _number(value: float) -> str:
    return f"{value:.4g}"


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"
