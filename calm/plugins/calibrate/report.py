"""A calibration as JSON, and in words for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor
from textwrap import wrap
from typing import Final

from calm.core.agreement import step_of
from calm.core.claims import FORESEEN, Estimate, Outcome
from calm.core.measures import MEASURES, accuracy
from calm.core.people import CONSTANT as A_CONSTANT
from calm.core.people import PERSON
from calm.core.reasons import counted
from calm.core.verdict import Family
from calm.errors import few_of
from calm.models.wire import Json
from calm.plugins.calibrate.figures import CONSTANT, FEW, RAW, Candidate, Fit, Partly
from calm.plugins.calibrate.items import FIRST, MET, NOT_MET, PROBABILITIES, SECOND, Confusion, Row, Rule, Slices
from calm.plugins.calibrate.study import SHOWN, Calibration
from calm.results.audit import Finding
from calm.results.codes import to_code
from calm.results.parts import aligned
from calm.results.study_provenance import plain_fields
from calm.results.wording import clipped
from calm.statistics.calibration import Interval, Step

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
            return f"{fitted['slope']:.4g} x {_signed(fitted['intercept'])}"
        case "threshold":
            sign = "<=" if rule.scale.best == "low" else ">="
            return f"{upper} if x {sign} {fitted['at']:.4g}, else {lower}"
        case "tie_band":
            return f"{upper} if x >= {fitted['high']:.4g}, {lower} if x < {fitted['low']:.4g}, else tie"
        case "isotonic":
            return f"by {len(knots_of(one))} knots"
        case "constant" if classes:
            value = fitted["value"]
            return f"always {upper if value > 0 else lower if value < 0 else 'tie'}"
        case "constant":
            return f"always {fitted['value']:.4g}"
    return ""


def knots_of(one: Candidate) -> list[tuple[str, str]]:
    """Return the table of a step function: scores of the judge, and what each becomes; empty for other mappings."""
    knots, gold = (one.fitted.get(name) for name in ("knots", "gold"))
    if not isinstance(knots, list) or not isinstance(gold, list):
        return []
    return [(f"{knot:.4g}", f"{value:.4g}") for knot, value in zip(knots, gold, strict=True)]


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


def _signed(value: float) -> str:
    return f"{'-' if value < 0 else '+'} {abs(value):.4g}"


LONGEST: Final = 40
"""How many characters of a name a terminal shows."""
WIDTH: Final = 110
"""How long a line of knots is."""
_SOURCES = {PROBABILITIES: "its probabilities", "repeats": "how many of its asks agree"}


def to_json(found: Calibration) -> dict[str, Json]:
    """Return all figures as data; `remarks` are reasons, in words and as codes."""
    body = plain_fields(found, "remarks", "findings", "lost", "incomplete")
    if found.entity is not None:
        body["entity"] = {"name": found.entity.name, "kind": found.entity.kind}
    body["remarks"] = [{**to_code(one), "words": str(one)} for one in found.remarks]
    return body


def summary(found: Calibration) -> str:
    """Return a calibration for a terminal: what to know first, then the figures."""
    parts: list[list[str]] = []
    if found.remarks:
        parts.append(["know first:", *(f"- {one}" for one in found.remarks)])
    if found.incomplete or found.lost:
        parts.append([f"from a part of the data: {counted(found.lost)}"])
    if found.divided:
        cases = "case" if found.divided == 1 else "cases"
        parts.append([f"{found.divided} {cases} on which people are divided are left out of all figures"])
    rows = [[_name(row.name), _estimate(row), f"n={row.n}"] for row in found.classes]
    by_class = ["right, by what people say (these intervals hold together in 95 of 100 samples):", *_table(rows)]
    parts += [
        [_agreement(found)],
        [*_measures(found.findings), *_two_shares(found)],
        _confused(found.confusion),
        by_class if found.classes else [],
        _sliced(found.slices),
        _mapped(found),
        _budget(found),
    ]
    if not found.incomplete:  # nothing is claimed of a part
        parts += [_corrected(found), _alone(found), _reliable(found), _next(found)]
    return "\n\n".join("\n".join(part) for part in parts if part)


def _agreement(found: Calibration) -> str:
    rule = found.rule
    what = "right verdicts"
    if rule.passing is not None:
        what = f"verdicts on the same side of {rule.passing:g} as the label"
    elif found.family == "score":
        what = f"scores within {rule.within:g} of the label"
    if found.agreement is None:
        return f"share of {what}: not known, since an interval needs two labelled questions"
    return f"share of {what}: {_estimate(found.agreement)}, n={found.agreement.n}"


def _measures(findings: Sequence[Finding]) -> list[str]:
    rows, left = [["agreement", "", "a constant", "a person", ""]], []
    for one in findings:
        if one.value is None or one.low is None or one.high is None:
            left.append(f"  {one.measure}: {one.outcome.value}: {one.reason}")
            continue
        others = [f"{one.references[who]:z.2f}" if who in one.references else "-" for who in (A_CONSTANT, PERSON)]
        claim = f"{one.outcome.value} {one.claim.op} {one.claim.limit:g}" if one.claim is not None else ""
        low, high = MEASURES[one.measure].range  # a bound may lie outside: what lies there says nothing
        bounds = f"[{max(low, one.low):z.2f}, {min(high, one.high):z.2f}]"
        rows.append([one.measure, f"{one.value:z.2f} {bounds}", *others, claim])
    return [*(_table(rows) if len(rows) > 1 else []), *left]


def _two_shares(found: Calibration) -> list[str]:
    step, rule = step_of(found.rule.scale), found.rule
    told = any(one.measure == accuracy.name and one.value is not None for one in found.findings)
    if found.family != "score" or step is None or not told or (rule.passing is None and rule.within == step / 2):
        return []
    other = f"within {rule.within:g} of it" if rule.passing is None else f"on the same side of {rule.passing:g}"
    return [f"  accuracy counts scores within {step / 2:g} of the label, the share above scores {other}"]


def _estimate(one: Estimate | Interval | Row) -> str:
    value = one.right if isinstance(one, Row) else one.value
    return f"{value:.2f} [{one.low:.2f}, {one.high:.2f}]"


def _name(text: str) -> str:
    return clipped(text, LONGEST).replace("\n", "\\n")


def _table(rows: Sequence[Sequence[str]]) -> list[str]:
    return [f"  {one}" for one in aligned(rows, right=True)]


def _confused(table: Confusion) -> list[str]:
    if not table.gold:
        return []
    rows = [["", *table.said]]
    rows += [
        [name, *(f"{v:.1f}".removesuffix(".0") for v in row)]
        for name, row in zip(table.gold, table.counts, strict=True)
    ]
    return ["people (rows) and the judge (columns), in cases:", *_table(rows)]


def _sliced(found: Slices) -> list[str]:
    lines = []
    for row in found.rows:
        rest = "" if row.rest is None else f"others {row.rest:.2f}"
        name = f"{_name(row.tag)} = {_name(row.name)}"
        lines.append([name, _estimate(row), f"n={row.n}", rest, "differs" if row.differs else ""])
    left = []
    if found.small:
        left.append(f"  {found.small} slices of fewer than 10 questions are not shown")
    if found.more:
        left.append(f"  {found.more} further slices are not shown")
    if not lines:
        return []
    title = f"right, by slice (adjusted for {len(lines)} slices; only those marked differ from the others):"
    return [title, *_table(lines), *left]


def _mapped(found: Calibration) -> list[str]:
    fit = found.fit
    if fit is None:
        return []
    unit = "share right" if fit.measure == "accuracy" else "mean absolute error"
    rows = []
    for one in fit.candidates:
        gain = "" if one.better is None else f"better by {_estimate(one.better)}"
        rows.append([_title(one.name), _estimate(one.value), gain, rule_of(one, found.family, found.rule)])
    best = "use the judge as it is: the data show no better mapping"
    if fit.best != RAW:
        best = f"take: {_title(fit.best)}"
    if fit.best == CONSTANT:
        best = "a constant answer is better than the judge: use no mapping"
    if found.incomplete:
        best = f"{Outcome.INCOMPLETE.value}: data are missing, so use none"
    head = f"mappings, on cases that did not fit them (10 folds by question, n={fit.n}; {unit}):"
    return [head, *_table(rows), f"  {meaning(found.family, found.rule)}", *_knots(fit), f"  {best}"]


def _knots(fit: Fit) -> list[str]:
    lines = []
    for one in fit.candidates:
        knots = knots_of(one)
        shown = knots if one.name == fit.best else knots[:KNOTS]
        pairs = [f"{knot}\xa0->\xa0{gold}" for knot, gold in shown]  # a line does not end inside of one
        left = f" and {len(knots) - len(shown)} more in the record" if len(shown) < len(knots) else ""
        text = f"{_title(one.name)}, straight between its knots: {', '.join(pairs)}{left}"
        lines += [f"  {line}".replace("\xa0", " ") for line in wrap(text, WIDTH)] if pairs else []
    return lines


def _title(name: str) -> str:
    return {RAW: "the judge (most of its asks)", "tie_band": "band of ties"}.get(name, name)


def _budget(found: Calibration) -> list[str]:
    if not found.budgets:
        return []
    lines = ["how many labels decide a claim:"]
    for one in found.budgets:
        if one.outcome is Outcome.INCOMPLETE:
            more = "data are missing"
        elif one.outcome is not Outcome.UNDECIDED:
            more = "decided by these labels"
        elif one.cases is None:
            more = f"the share is so near the limit that {FORESEEN} times as many labels would not decide it"
        else:
            more = f"a fresh set of about {one.cases} labelled cases decides it in four of five runs"
        lines.append(f"  share right >= {one.limit:.2f}: {one.outcome.value}: {more}")
    return lines


def _corrected(found: Calibration) -> list[str]:
    if found.partly is not None and not found.partly.kept and found.unlabelled:
        return [f"{_mean_of(found)} over the cases without labels: {_incomparable(found.partly)}"]
    if found.corrected is None:
        return []
    one = found.corrected.found
    ratio = one.labelled.width / one.corrected.width if one.corrected.width else 1.0
    rows = [
        ["corrected by the labels", _estimate(one.corrected), f"weight of the judge {one.power:.2f}"],
        ["labels alone", _estimate(one.labelled), f"{ratio:.2f} times as wide"],
        ["judge alone", _estimate(one.predicted), f"on labelled cases {one.bias:+.2f} off"],
    ]
    title = f"{_mean_of(found)} over the {found.corrected.unlabelled} cases without labels (95 %):"
    draw = found.corrected.draw
    test = f"the judge's mean is {draw.labelled:.2f} on them and {draw.unlabelled:.2f} on the others, p={draw.p:.2g}"
    doubt = f": they are not ({test})" if draw.differs else f" ({test})"
    note = f"  holds if the labelled cases are drawn like the others{doubt}"
    return [title, *_table(rows), note, *_about(found.partly)]


def _about(partly: Partly | None) -> list[str]:
    if partly is None:
        return []
    return [
        f"  about {_names(partly.kept)} only, not about {_names(partly.left)}: a criterion counts if all labelled "
        f"cases that have it label it, and {FEW} or more do; so label every criterion of a labelled case"
    ]


def _incomparable(partly: Partly) -> str:
    return (
        f"not known, since labelled cases have criteria without a label (such as {_names(partly.left)}), and none is "
        f"labelled in all of {FEW} or more labelled cases that have it; label every criterion of a labelled case"
    )


def _names(names: Sequence[str]) -> str:
    return few_of([_name(name) for name in names], SHOWN)


def _mean_of(found: Calibration) -> str:
    if (entity := found.entity) is not None and entity.kind == "first":
        return "win rate of the answer that the file lists first"
    if entity is not None:
        return f"win rate of {'answer' if entity.kind == 'answer' else 'the answers by'} {_name(entity.name)!r}"
    return "mean score" if found.family == "score" else "share met"


def _alone(found: Calibration) -> list[str]:
    if found.partly is not None and not found.partly.kept:
        return [f"what the judge may decide alone: {_incomparable(found.partly)}"]
    if found.alone is None:
        return ["what the judge may decide alone: not known without a confidence; ask with --repeats 3"]
    one = found.alone
    chosen = one.found.chosen
    source = _SOURCES[one.source]
    if chosen is None or one.share is None:
        last, few = one.found.steps[-1] if one.found.steps else None, one.found.passed
        lines = [f"the judge may decide no share of the cases alone (by {source}):"]
        if few is not None:
            much = ", and"
            if few.clusters < few.n:
                much = f"; they tell as much as {floor(few.effective)} questions of one case each, and"
            lines.append(f"  {_wrong(few)}{much} {one.found.least} without an error would prove {one.risk:.0%}")
        if last is not None:
            most = f"at most {last.bound:.0%} by the bound, and {one.risk:.0%} is the limit"
            lines.append(f"  {_wrong(last)}: {most}")
        return [*lines, *_about(found.partly)]
    return [
        f"the judge may decide {one.share:.0%} of the cases alone: those with a confidence of {chosen.threshold:.3g} "
        f"or more (by {source})",
        f"  wrong in at most {one.risk:.0%} of them, at 95 %: {_wrong(chosen)}, bound {chosen.bound:.1%}",
        *_about(found.partly),
    ]


def _wrong(step: Step) -> str:
    questions = f" (of {step.clusters} questions)" if step.clusters < step.n else ""
    return f"of the {step.n} surest labelled cases{questions} {step.errors:g} are wrong"


def _reliable(found: Calibration) -> list[str]:
    one = found.reliability
    if one is None or found.source is None:
        return []
    rows = [
        [f"{bin_.low:.2f} to {bin_.high:.2f}", f"says {bin_.confidence:.2f}", f"right {bin_.right:.2f}", f"n={bin_.n}"]
        for bin_ in one.bins
    ]
    title = (
        f"expected calibration error {one.value:.2f} (by {_SOURCES[found.source]}; chance alone makes "
        f"{one.chance:.2f}, p={one.p:.3f}; root of the squared gaps, debiased, {one.debiased:.2f}), "
        "bins of about equally many:"
    )
    return [title, *_table(rows)]


def _next(found: Calibration) -> list[str]:
    if not found.next:
        return []
    if found.source is None:
        return [
            "label next (nothing tells which are unclear: drawn at random):",
            *(f"  {_name(one.case)}" for one in found.next),
        ]
    rows = [
        [_name(n.case), f"asks differ {n.spread:.2f}", "" if n.confidence is None else f"confidence {n.confidence:.2f}"]
        for n in found.next
    ]
    return ["label next (and give these the tag drawn = chosen: they are no random sample):", *_table(rows)]
