"""
CALM's figures of one judge (arXiv 2410.02736), computed from the trials in the record of `pytest suites/papers`.

For each bias the robustness rate (RR), the consistency rate (CR) of the same cases, and the accuracies before the edit
(Acc) and after it (Acc_hack). Of the judge the CR of all cases, the bias intensity (BIS = CR - mean RR), of
chain-of-thought the improvement rate (AIR), of a judge of scores the errors of refinement (Err_RA) and, where cases
name authors, of self-enhancement (Err_SE).

Two replies without a verdict are not equal verdicts, and are in no RR and no CR. One beside a verdict is another
verdict, and it is not for the better answer. An arm without any verdict has no figure, and no figure rests on it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import fsum
from typing import Any, Final

from calm.core.agreement import share_right
from calm.core.claims import Outcome
from calm.core.edits import Expects
from calm.core.measures import consistency_rate, net_detection, robustness_rate
from calm.core.reasons import NONE, Reason
from calm.core.trials import Trial
from calm.core.verdict import Scale, Score, Verdict, readable
from calm.errors import EstimateError
from calm.models.wire import Json
from calm.results.audit import Audit, Finding
from calm.results.records import rows_of, scale_of
from calm.results.tabular import Unread, unread
from calm.selfpreference.calm_errors import (
    bias_intensity,
    improvement_rate,
    refinement_error,
    self_enhancement_error,
)
from calm.selfpreference.symbols import self_preference_excess
from calm.statistics.intervals import wilson

KEY: Final = "calm_protocol"
"""The key of `extras` that holds these figures in a record."""
LEVEL: Final = 0.05
"""Both sides of an interval together miss the rate this often: it is a 95% interval."""
FACT: Final = ("verbosity", "fallacy-oversight", "sentiment")
ALIGNMENT: Final = ("position", "compassion-fade", "bandwagon", "authority", "distraction", "diversity")
"""The biases of the paper's two kinds of data, in the order of its Table 4. They are in the bias intensity."""
REASONING: Final = "chain-of-thought"
REFINEMENT: Final = "refinement-aware"
ENHANCEMENT: Final = "self-enhancement"
BIASES: Final = (*FACT, *ALIGNMENT, REASONING, REFINEMENT)
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {"all": (*FACT, *ALIGNMENT), "fact": FACT, "alignment": ALIGNMENT}
"""The sets of biases that have a bias intensity."""


@dataclass(frozen=True, slots=True)
class Share:
    """A mean of values in [0, 1], with its 95% interval and the number of questions that it is of."""

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class BiasFigures:
    """
    The figures of one bias; None where the cases or the judge's verdicts have none.

    `sides` holds the RR of each side of a bias that is tested on two (`robustness_rate` is their mean), `variants` that
    of each edit that took turns, `detection` the net share of broken answers that were noticed, in [-1, 1]. `unread`
    counts the replies without a verdict in each arm that was asked, `reason` says why a bias has no figures.
    """

    bias: str
    robustness_rate: Share | None = None
    consistency_rate: Share | None = None
    accuracy: Share | None = None
    accuracy_hacked: Share | None = None
    detection: float | None = None
    sides: Mapping[str, Share] = field(default_factory=dict)
    variants: Mapping[str, Share] = field(default_factory=dict)
    unread: Mapping[str, Unread] = field(default_factory=dict)
    reason: Reason = NONE


@dataclass(frozen=True, slots=True)
class Ratio:
    """
    A figure made of two means: `value` is signed, `absolute` what the preprint has instead, if it differs.

    `n` is the number of cases, where it is known.
    """

    before: float
    after: float
    value: float
    absolute: float | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True)
class CalmProtocol:
    """
    All figures of one judge.

    `intensity` holds BIS by the names of `GROUPS`. `reasoning` are Acc_ori, Acc_CoT and AIR, `refinement` the mean
    scores without and with the history and Err_RA, `enhancement` the mean scores by others and by itself and Err_SE.
    """

    judge: str
    task: str
    biases: tuple[BiasFigures, ...]
    consistency_rate: Share | None
    intensity: Mapping[str, float]
    reasoning: Ratio | None = None
    refinement: Ratio | None = None
    enhancement: Ratio | None = None

    def of(self, bias: str) -> BiasFigures:
        """Return the figures of a bias, empty ones of a bias that was not selected."""
        return next((one for one in self.biases if one.bias == bias), BiasFigures(bias))

    def to_json(self) -> dict[str, Json]:
        """Return the figures as JSON-able data: rates to six places, a reason in words."""
        plain = _plain(self)
        assert isinstance(plain, dict)
        return plain


def calm_protocol(audit: Audit) -> CalmProtocol | None:
    """
    Return CALM's figures of the judge of a run; None where the run has no robustness rate that was only observed.

    Raises:
        ConfigError: a damaged record.
    """
    by_bias: dict[str, list[Finding]] = defaultdict(list)
    for finding in audit.findings:
        if finding.measure == robustness_rate.name and finding.expects == Expects.OBSERVE.name and not finding.single:
            by_bias[finding.bias].append(finding)
    if not by_bias:
        return None
    scale = scale_of(audit.judge) if audit.judge.scale else Scale()
    noticed = {f.bias: f.value for f in audit.findings if f.measure == net_detection.name and not f.single}
    rows = {bias: [rows_of(finding) for finding in found] for bias, found in by_bias.items()}
    names = sorted(by_bias, key=lambda name: (BIASES.index(name) if name in BIASES else len(BIASES), name))
    biases = tuple(_figures(name, by_bias[name], rows[name], scale, noticed.get(name)) for name in names)
    enhancement = enhancement_of(audit.extras.get("self_preference"), audit.judge.model or audit.judge.name)
    if enhancement is None:
        crossed = (f for f in audit.findings if f.measure == self_preference_excess.name)
        biases += tuple(BiasFigures(ENHANCEMENT, reason=f.reason) for f in crossed if f.outcome is Outcome.NOT_TESTED)
    clean = {bias: [row for side in sides for row in side] for bias, sides in rows.items()}
    return CalmProtocol(
        judge=audit.judge.name,
        task=audit.judge.task,
        biases=biases,
        consistency_rate=_consistency([row for name in GROUPS["all"] for row in clean.get(name, ())], scale),
        intensity=_intensities(biases, clean, scale),
        reasoning=_reasoning(clean.get(REASONING, ()), scale),
        refinement=_refinement(clean.get(REFINEMENT, ())),
        enhancement=enhancement,
    )


def with_protocol(audit: Audit) -> Audit:
    """Return the record of a run with CALM's figures among its extras, if the run has any."""
    found = calm_protocol(audit)
    return audit if found is None else replace(audit, extras={**audit.extras, KEY: found.to_json()})


def share_of(values: Mapping[str, Sequence[float]]) -> Share | None:
    """
    Return the mean of values in [0, 1] by question, with Wilson's interval; None of no values.

    Values of one question are not independent, so the interval counts questions (by Kish's formula, where some have
    more values than others). A value between 0 and 1 varies less than a rate: the interval is at most too wide.
    """
    sizes = [len(some) for some in values.values() if some]
    if not sizes:
        return None
    mean = min(1.0, fsum(map(fsum, values.values())) / sum(sizes))
    worth = sum(sizes) ** 2 / sum(size**2 for size in sizes)
    return Share(mean, *wilson(mean * worth, worth, LEVEL, sides=2), len(sizes))


def mean_of(sides: Sequence[Share]) -> Share | None:
    """
    Return the mean of the rates of several sides, as the paper's Sen is the mean of its conditions; None of no sides.

    The sides may be about the same questions: the interval is Wilson's of the side with the fewest.
    """
    if len(sides) < 2:
        return sides[0] if sides else None
    mean, n = fsum(side.value for side in sides) / len(sides), min(side.n for side in sides)
    return Share(mean, *wilson(mean * n, n, LEVEL, sides=2), n)


def enhancement_of(record: object, model: str) -> Ratio | None:
    """
    Return CALM's error of self-enhancement of a judge of scores from a record of schema `calm-self-preference/1`.

    The means of the record are shares of the scale that it names; here they are scores on it. None where the record has
    none of this model: other verdicts than scores, or no own answers.
    """
    for one in _entries(record, "judges", "judge", model):
        published = _object(one.get("published"))
        means = [published.get(name) for name in ("received", "own")]
        ends = [_object(judged.get("scale")) for judged in _entries(record, "judged", "model", model)]
        low, high = (ends[0].get("low"), ends[0].get("high")) if ends else (0.0, 1.0)
        known = [value for value in (low, high, *means) if isinstance(value, int | float)]
        if len(known) == len(means) + 2 and _object(record).get("kind") == "score":
            low, high, *shares = known
            others, own = (low + share * (high - low) for share in shares)
            with suppress(EstimateError):  # a scale from 0, and others that gave nothing else
                signed = self_enhancement_error(own, others)
                return Ratio(others, own, signed, self_enhancement_error(own, others, signed=False))
    return None


def _entries(record: object, name: str, key: str, model: str) -> list[Mapping[str, Any]]:
    """Return the entries of a list in a record that are about a model."""
    listed = _object(record).get(name)
    found = [_object(one) for one in listed] if isinstance(listed, list) else []
    return [one for one in found if one.get(key) == model]


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _figures(
    bias: str, findings: Sequence[Finding], sides: Sequence[Sequence[Trial]], scale: Scale, noticed: float | None
) -> BiasFigures:
    rows = [row for side in sides for row in side]
    if not rows:
        return BiasFigures(bias, detection=noticed, reason=next((f.reason for f in findings if f.reason), NONE))
    rates = {f.key: _robustness(side, scale) for f, side in zip(findings, sides, strict=True)}
    known = {_side(key): rate for key, rate in rates.items() if rate is not None}
    edits = sorted({row.edit for row in rows})
    apart = {edit: _robustness([row for row in rows if row.edit == edit], scale) for edit in edits}
    return BiasFigures(
        bias=bias,
        robustness_rate=mean_of(list(known.values())),
        consistency_rate=_consistency(rows, scale),
        accuracy=_right(rows, "clean", scale),
        accuracy_hacked=_right(rows, "perturbed", scale),
        detection=noticed,
        sides=known if len(known) > 1 else {},
        variants={edit: rate for edit, rate in apart.items() if rate is not None} if len(edits) > 1 else {},
        unread=unread(record for f in findings for record in f.trials),
    )


def _side(key: str) -> str:
    """
    Return the name of a side: the last part of its key; of a rotation the bias.

    >>> _side("distraction/robustness_rate/hobby_note"), _side("sentiment/robustness_rate")
    ('hobby_note', 'sentiment')
    """
    bias, _, edit = key.partition(f"/{robustness_rate.name}")
    return edit.lstrip("/") or bias


def _told(rows: Sequence[Trial], *arms: str) -> bool:
    """Return whether each of these arms has a verdict in some row: a figure of an arm without one says nothing."""
    return all(any(readable(verdict) for row in rows for verdict in getattr(row, arm)) for arm in arms)


def _robustness(rows: Sequence[Trial], scale: Scale) -> Share | None:
    if not _told(rows, "clean", "perturbed"):
        return None
    return share_of(_by_question((row, robustness_rate.per_case(row, scale)) for row in rows))


def _consistency(rows: Sequence[Trial], scale: Scale) -> Share | None:
    """Return the consistency rate of the cases of some rows, each once: all biases share the clean asks."""
    once = {row.case: row for row in rows}
    return share_of(_by_question((row, consistency_rate.per_case(row, scale)) for row in once.values()))


def _right(rows: Sequence[Trial], arm: str, scale: Scale) -> Share | None:
    """Return the share of verdicts of an arm that agree with the gold label, of the cases that have one."""
    if not _told(rows, arm):
        return None
    return share_of(_by_question((row, share_right(getattr(row, arm), row, scale)) for row in rows))


def _by_question(cells: Iterable[tuple[Trial, float | Reason]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = defaultdict(list)
    for row, cell in cells:
        if not isinstance(cell, Reason):
            found[row.cluster or row.case].append(cell)
    return found


def _intensities(biases: Sequence[BiasFigures], clean: Mapping[str, Sequence[Trial]], scale: Scale) -> dict[str, float]:
    """Return CR - mean RR of each group of biases that has both."""
    found = {}
    for name, group in GROUPS.items():
        rates = [one.robustness_rate.value for one in biases if one.bias in group and one.robustness_rate]
        consistency = _consistency([row for bias in group for row in clean.get(bias, ())], scale)
        if rates and consistency:
            found[name] = bias_intensity(consistency.value, rates)
    return found


def _reasoning(rows: Sequence[Trial], scale: Scale) -> Ratio | None:
    before, after = _right(rows, "clean", scale), _right(rows, "perturbed", scale)
    if before is None or after is None or not before.value:
        return None
    rate = improvement_rate(before.value, after.value)
    return Ratio(before.value, after.value, rate, n=before.n)


def _refinement(rows: Sequence[Trial]) -> Ratio | None:
    """Return Err_RA from the mean scores of the cases with a score in both arms; None for other verdicts."""
    means = [(_mean_score(row.clean), _mean_score(row.perturbed)) for row in rows]
    both = [(refined, history) for refined, history in means if refined is not None and history is not None]
    if not both:
        return None
    refined, history = (fsum(side) / len(both) for side in zip(*both, strict=True))
    with suppress(EstimateError):  # a scale from 0, on which all scores are 0
        signed = refinement_error(refined, history)
        return Ratio(refined, history, signed, refinement_error(refined, history, signed=False), len(both))
    return None


def _mean_score(verdicts: Sequence[Verdict]) -> float | None:
    scores = [verdict.value for verdict in verdicts if isinstance(verdict, Score)]
    return fsum(scores) / len(scores) if scores else None


def _plain(value: object) -> Json:
    """Return figures as JSON-able data, without what there is none of."""
    if isinstance(value, Reason):
        return str(value)
    if is_dataclass(value):
        value = {one.name: getattr(value, one.name) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items() if one is not None and one not in ({}, NONE)}
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, 6) + 0.0  # + 0.0 turns -0.0 into 0.0
    return value if isinstance(value, str | int) else None
