"""
CALM's figures of one judge (arXiv 2410.02736), computed from the trials in the record of `pytest suites/papers`.

For each bias the robustness rate (RR), the consistency rate (CR) of the same cases, and the accuracies before the edit
(Acc) and after it (Acc_hack). Of the judge the CR of all cases, the bias intensity (BIS = CR - mean RR), of
chain-of-thought the improvement rate (AIR), of a judge of scores the errors of refinement (Err_RA) and, where cases
name authors, of self-enhancement (Err_SE).

Two replies without a verdict are not equal verdicts, and are in no RR and no CR. One beside a verdict is another
verdict, and it is not for the better answer. Where more than `MOST_UNREAD` of the replies of an arm hold no verdict, no
figure rests on it.

`judge_table` puts several judges beside each other, as in Tables 4 and 5: a row each, figures by column.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, is_dataclass, replace
from math import fsum
from pathlib import Path
from typing import Any, Final, TypeAlias

from calm.core.agreement import share_right
from calm.core.claims import Outcome
from calm.core.edits import Expects
from calm.core.files import read_json, record_at, refuse_twice
from calm.core.measures import consistency_rate, net_detection, robustness_rate, self_preference_excess
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.trials import Trial
from calm.core.verdict import Ranking, Scale, Score, Verdict, readable
from calm.errors import ConfigError, EstimateError
from calm.models.wire import Json
from calm.results.audit import Audit, Finding, read
from calm.results.records import rows_of, scale_of
from calm.results.tabular import Unread, unread
from calm.statistics.calm_errors import (
    MOST_UNREAD,
    bias_intensity,
    improvement_rate,
    refinement_error,
    self_enhancement_error,
)
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
class Chosen:
    """The shares of equal choices of an answer, in another order (RR) and asked again (CR); of a list its head."""

    robustness_rate: Share | None
    consistency_rate: Share | None


@dataclass(frozen=True, slots=True)
class BiasFigures:
    """
    The figures of one bias; None where the cases or the judge's verdicts have none.

    `sides` holds the RR of each side of a bias that is tested on two (`robustness_rate` is their mean), `variants` that
    of each edit that took turns, such as each group of people or each name, `answers` the rates by the number of
    answers where the edit moved these, `detection` the net share of broken answers that were noticed, in [-1, 1].
    `unread` counts the replies without a verdict in each arm that was asked, `reason` says why a bias has no RR.
    """

    bias: str
    robustness_rate: Share | None = None
    consistency_rate: Share | None = None
    accuracy: Share | None = None
    accuracy_hacked: Share | None = None
    detection: float | None = None
    sides: Mapping[str, Share] = field(default_factory=dict)
    variants: Mapping[str, Share | None] = field(default_factory=dict)
    answers: Mapping[str, Chosen] = field(default_factory=dict)
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
    detections = (f for f in audit.findings if f.measure == net_detection.name and not f.single)
    noticed = {f.bias: f.value for f in detections if not any(map(_many, unread(f.trials).values()))}
    rows = {bias: [rows_of(finding) for finding in found] for bias, found in by_bias.items()}
    names = sorted(by_bias, key=lambda name: (BIASES.index(name) if name in BIASES else len(BIASES), name))
    biases = tuple(_figures(name, by_bias[name], rows[name], scale, noticed.get(name)) for name in names)
    enhancement = enhancement_of(audit.extras.get("self_preference"), audit.judge.model or audit.judge.name)
    if enhancement is None:
        crossed = (f for f in audit.findings if f.measure == self_preference_excess.name)
        biases += tuple(BiasFigures(ENHANCEMENT, reason=_no_error(f, audit)) for f in crossed)
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

    Where the record has no `scale` its means are shares of the judge's; here they are scores on it. None where the
    record has none of this model: other verdicts than scores, no own answers, or too many replies without a verdict.
    """
    for one in _entries(record, "judges", "judge", model):
        published = _object(one.get("published"))
        if published.get("self_enhancement_error", 0) is None:
            return None
        means = [published.get(name) for name in ("received", "own")]
        judged = [] if _object(record).get("scale") else _entries(record, "judged", "model", model)
        ends = [_object(one.get("scale")) for one in judged]
        low, high = (ends[0].get("low"), ends[0].get("high")) if ends else (0.0, 1.0)
        known = [value for value in (low, high, *means) if isinstance(value, int | float)]
        if len(known) == len(means) + 2 and _object(record).get("kind") == "score":
            low, high, *shares = known
            others, own = (low + share * (high - low) for share in shares)
            with suppress(EstimateError):  # a scale from 0, and others that gave nothing else
                signed = self_enhancement_error(own, others)
                return Ratio(others, own, signed, self_enhancement_error(own, others, signed=False))
    return None


def _no_error(found: Finding, audit: Audit) -> Reason:
    """Return why a judge has no error of self-enhancement."""
    for part in _entries(audit.extras.get("self_preference"), "parts", "name", ENHANCEMENT.replace("-", "_")):
        for row in _entries(part, "rows", "judge", audit.judge.model or audit.judge.name):
            gone = row.get("unread")
            if isinstance(gone, float) and gone > MOST_UNREAD:
                return because(Kind.FIGURE, f"{gone:.0%} of the scores behind Err_SE hold no verdict")
    return found.reason if found.outcome is Outcome.NOT_TESTED else because(Kind.NO_FIGURE, audit.judge.task)


def _entries(record: object, name: str, key: str, model: str) -> list[Mapping[str, Any]]:
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
    rates = {f.key: _robustness(side, scale) for f, side in zip(findings, sides, strict=True) if side}
    known = {_side(key): rate for key, rate in rates.items() if rate is not None}
    whole = len(known) == len(rates)  # a bias of two sides is not told by one of them
    edits = sorted({row.edit for row in rows})
    apart = {edit: _robustness([row for row in rows if row.edit == edit], scale) for edit in edits}
    gone = next((why for side in sides for arm in ("clean", "perturbed") if (why := _unread_in(side, arm))), NONE)
    return BiasFigures(
        bias=bias,
        robustness_rate=mean_of(list(known.values())) if whole else None,
        consistency_rate=_consistency(rows, scale),
        accuracy=_right(rows, "clean", scale),
        accuracy_hacked=_right(rows, "perturbed", scale),
        detection=noticed,
        sides=known if len(known) > 1 else {},
        variants=apart if len(edits) > 1 else {},
        answers=_by_answers(rows, scale),
        unread=unread(record for f in findings for record in f.trials),
        reason=NONE if whole and known else gone,
    )


def _by_answers(rows: Sequence[Trial], scale: Scale) -> dict[str, Chosen]:
    """Return the shares of equal choices by the number of answers, which is known where an edit moved them."""
    counts = sorted({len(row.order) for row in rows} - {0})
    chosen = {n: [_chosen(row) for row in rows if len(row.order) == n] for n in counts}
    return {str(n): Chosen(_robustness(some, scale), _consistency(some, scale)) for n, some in chosen.items()}


def _chosen(row: Trial) -> Trial:
    """Return a row whose rankings hold their first place alone."""
    clean, perturbed = (
        tuple(Ranking(one.order[:1]) if isinstance(one, Ranking) else one for one in arm)
        for arm in (row.clean, row.perturbed)
    )
    return replace(row, clean=clean, perturbed=perturbed)


def _side(key: str) -> str:
    """
    Return the name of a side: the last part of its key; of a rotation the bias.

    >>> _side("distraction/robustness_rate/hobby_note"), _side("sentiment/robustness_rate")
    ('hobby_note', 'sentiment')
    """
    bias, _, edit = key.partition(f"/{robustness_rate.name}")
    return edit.lstrip("/") or bias


def _unread_in(rows: Sequence[Trial], arm: str) -> Reason:
    """Return that too many replies of an arm hold no verdict, or `NONE`."""
    said = [readable(verdict) for row in rows for verdict in getattr(row, arm)]
    gone = Unread(said.count(False), len(said))
    return because(Kind.UNREAD_REPLIES, arm, round(gone.count / gone.of, 6)) if _many(gone) else NONE


def _many(gone: Unread) -> bool:
    return gone.count > MOST_UNREAD * gone.of


def _told(rows: Sequence[Trial], *arms: str) -> bool:
    return not any(_unread_in(rows, arm) for arm in arms)


def _robustness(rows: Sequence[Trial], scale: Scale) -> Share | None:
    if not _told(rows, "clean", "perturbed"):
        return None
    return share_of(_by_question((row, robustness_rate.per_case(row, scale)) for row in rows))


def _consistency(rows: Sequence[Trial], scale: Scale) -> Share | None:
    once = {row.case: row for row in rows}
    if not _told(list(once.values()), "clean"):
        return None
    return share_of(_by_question((row, consistency_rate.per_case(row, scale)) for row in once.values()))


def _right(rows: Sequence[Trial], arm: str, scale: Scale) -> Share | None:
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
    means = [(_mean_score(row.clean), _mean_score(row.perturbed)) for row in rows]
    both = [(refined, history) for refined, history in means if refined is not None and history is not None]
    if not both or not _told(rows, "clean", "perturbed"):
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


OWN_ANSWERS: Final = "calm-self-preference/"
"""How the schema of a record of `calm self-preference` begins."""
FEWEST: Final = 2
_SHOWN_SHA: Final = 12

Figure: TypeAlias = Share | float | int | None
"""What stands in a cell: a rate with its interval, a number, a count, or nothing."""


@dataclass(frozen=True, slots=True)
class Column:
    """
    A figure of each judge. Columns of one group and one `head` are shown together, as before and after.

    `signed` says that it may be below 0 and is shown with its sign, `seldom` that it is shown if any judge has some.
    """

    name: str
    head: str
    group: str
    of: Callable[[CalmProtocol], Figure]
    signed: bool = False
    seldom: bool = False


@dataclass(frozen=True, slots=True)
class JudgeRow:
    """A judge: the name of its row, which no other one has, the file of its results, and its figures."""

    name: str
    source: str
    cases: int
    figures: CalmProtocol


@dataclass(frozen=True, slots=True)
class JudgeTable:
    """The table: its rows in the order of the files, the columns that any row has, and what a reader must know."""

    rows: tuple[JudgeRow, ...]
    columns: tuple[Column, ...]
    notes: tuple[str, ...] = ()


def _rate(bias: str) -> Callable[[CalmProtocol], Figure]:
    return lambda found: found.of(bias).robustness_rate


def _before(bias: str) -> Callable[[CalmProtocol], Figure]:
    return lambda found: found.of(bias).accuracy


def _after(bias: str) -> Callable[[CalmProtocol], Figure]:
    return lambda found: found.of(bias).accuracy_hacked


def _unread(arm: str, bias: str | None = None) -> Callable[[CalmProtocol], Figure]:
    def get(found: CalmProtocol) -> Figure:
        biases = found.biases if bias is None else (found.of(bias),)
        counts = [one.unread[arm].count for one in biases if arm in one.unread]
        return sum(counts) if counts else None

    return get


def _intensity(group: str) -> Callable[[CalmProtocol], Figure]:
    return lambda found: found.intensity.get(group)


def _part(figure: str, part: str) -> Callable[[CalmProtocol], Figure]:
    def get(found: CalmProtocol) -> Figure:
        made: Ratio | None = getattr(found, figure)
        value: float | None = None if made is None else getattr(made, part)
        return value

    return get


RATES: Final = "Robustness rate (RR) by bias"
JUDGE: Final = "Noise and bias intensity"
RIGHT: Final = "Accuracy before the edit (Acc) and after it (Acc_hack)"
REASONED: Final = "Chain-of-thought"
UNREAD: Final = "Replies without a verdict, before the edit and after it"
SCORED: Final = "Scores (Table 5 of the paper)"

COLUMNS: Final = (
    *(Column(f"RR {bias}", bias, RATES, _rate(bias)) for bias in BIASES),
    Column("CR", "CR", JUDGE, lambda found: found.consistency_rate),
    Column("BIS", "BIS", JUDGE, _intensity("all"), signed=True),
    Column("BIS fact", "BIS of fact data", JUDGE, _intensity("fact"), signed=True),
    Column("BIS alignment", "BIS of alignment data", JUDGE, _intensity("alignment"), signed=True),
    *(
        column
        for bias in (*FACT, *ALIGNMENT)
        for column in (
            Column(f"Acc {bias}", bias, RIGHT, _before(bias)),
            Column(f"Acc_hack {bias}", bias, RIGHT, _after(bias)),
        )
    ),
    Column("Acc_ori", "Acc_ori", REASONED, lambda found: found.of("chain-of-thought").accuracy),
    Column("Acc_CoT", "Acc_CoT", REASONED, lambda found: found.of("chain-of-thought").accuracy_hacked),
    Column("AIR", "AIR", REASONED, _part("reasoning", "value"), signed=True),
    Column("y_self", "y_self", SCORED, _part("enhancement", "after")),
    Column("y_other", "y_other", SCORED, _part("enhancement", "before")),
    Column("Err_SE", "Err_SE", SCORED, _part("enhancement", "value"), signed=True),
    Column("Err_SE preprint", "Err_SE of the preprint", SCORED, _part("enhancement", "absolute")),
    Column("y_ref", "y_ref", SCORED, _part("refinement", "before")),
    Column("y_ref history", "y_ref with history", SCORED, _part("refinement", "after")),
    Column("Err_RA", "Err_RA", SCORED, _part("refinement", "value"), signed=True),
    Column("Err_RA preprint", "Err_RA of the preprint", SCORED, _part("refinement", "absolute")),
    Column("unread clean", "all biases", UNREAD, _unread("clean")),
    Column("unread edited", "all biases", UNREAD, _unread("perturbed")),
    *(
        Column(f"unread {name} {bias}", bias, UNREAD, _unread(arm, bias), seldom=True)
        for bias in BIASES
        for name, arm in (("clean", "clean"), ("edited", "perturbed"))
    ),
)
"""All figures of the table, in its order."""


def judge_table(paths: Sequence[Path]) -> JudgeTable:
    """
    Return the table of some results files, in their order; records of `calm self-preference` give Err_SE.

    Raises:
        ConfigError: a file twice, fewer than two results, a record of another kind, one without the figures, judges of
            one task on different cases, or a record of `calm self-preference` about none of the judges.
    """
    paths = [*map(record_at, paths)]
    refuse_twice(paths)
    bodies: dict[Path, object] = {path: read_json(path, "a results file written by --calm-results") for path in paths}
    crossed = {
        path: body
        for path, body in bodies.items()
        if isinstance(body, Mapping) and _schema(body).startswith(OWN_ANSWERS)
    }
    results = [path for path in paths if path not in crossed]
    if len(results) < FEWEST:
        raise ConfigError(
            f"expected the results of at least {FEWEST} runs of `pytest suites/papers`, got {len(results)}; "
            "give each judge's --calm-results file"
        )
    found = [_Read.of(path, _schema(bodies[path])) for path in results]
    _refuse_other_cases(found)
    rows = [
        JudgeRow(name, str(one.path), one.cases, one.figures) for name, one in zip(_names(found), found, strict=True)
    ]
    notes: list[str] = []
    for path, body in crossed.items():
        rows, told = _with_own_answers(rows, found, path, body)
        notes += told
    shown = tuple(column for column in COLUMNS if _has(column, rows))
    return JudgeTable(tuple(rows), shown, tuple(notes))


def _has(column: Column, rows: Sequence[JudgeRow]) -> bool:
    if not column.seldom:
        return any(column.of(row.figures) is not None for row in rows)
    return any(other.of(row.figures) for other in COLUMNS if other.head == column.head and other.seldom for row in rows)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a results file says."""

    path: Path
    name: str
    model: str
    task: str
    cases: int
    sha256: str
    figures: CalmProtocol

    @classmethod
    def of(cls, path: Path, schema: str) -> _Read:
        if not schema.startswith("calm-results/"):
            raise ConfigError(
                f"{path}: expected results of `pytest suites/papers` (schema calm-results) or a record of "
                f"`calm self-preference`, got schema={schema!r}"
            )
        audit = read(path)
        figures = calm_protocol(audit)
        if figures is None:
            raise ConfigError(
                f"{path}: expected a run of CALM's protocol, got one without its robustness rates; run "
                "`pytest suites/papers --calm-judge=... --calm-results=...` and give that file"
            )
        n, sha256 = audit.cases.get("n"), audit.cases.get("sha256")
        judge = audit.judge
        cases = n if isinstance(n, int) else 0
        return cls(path, judge.name, judge.model or judge.name, judge.task, cases, str(sha256), figures)


def _schema(body: object) -> str:
    return str(body.get("schema")) if isinstance(body, Mapping) else ""


def _refuse_other_cases(found: Sequence[_Read]) -> None:
    first: dict[str, _Read] = {}
    for one in found:
        other = first.setdefault(one.task, one)
        if one.sha256 != other.sha256:
            told = [f"{r.cases} cases of sha256 {r.sha256[:_SHOWN_SHA]} in {r.path}" for r in (other, one)]
            raise ConfigError(
                f"expected {one.task} judges that were asked about the same cases, got {told[0]} and {told[1]}; "
                "run each with the same --calm-cases, --calm-sample and --calm-seed"
            )


def _names(found: Sequence[_Read]) -> list[str]:
    """
    Return a name for each row that no other row has: the judge's, then its model, then the file's.

    Two files of one name in different folders get a number.
    """
    names = [one.name for one in found]
    for more in ([one.model for one in found], [one.task for one in found], [one.path.stem for one in found]):
        told = {name: {word for other, word in zip(names, more, strict=True) if other == name} for name in names}
        names = [f"{name} ({word})" if len(told[name]) > 1 else name for name, word in zip(names, more, strict=True)]
    taken: Counter[str] = Counter()
    for place, name in enumerate(names):
        taken[name] += 1
        if taken[name] > 1:
            names[place] = f"{name} #{taken[name]}"
    return names


def _with_own_answers(
    rows: Sequence[JudgeRow], found: Sequence[_Read], path: Path, body: Mapping[str, object]
) -> tuple[list[JudgeRow], list[str]]:
    judges = body.get("judges")
    listed = [str(one.get("judge")) for one in judges if isinstance(one, dict)] if isinstance(judges, list) else []
    made, used = [], set[str]()
    for row, one in zip(rows, found, strict=True):
        mine = next((name for name in (one.model, one.name) if name in listed), None)
        error = enhancement_of(body, mine or "")
        if error is None or row.figures.task != "score":
            made.append(row)
            continue
        used.add(mine or "")
        figures = replace(row.figures, enhancement=error)
        made.append(
            replace(row, figures=replace(figures, biases=tuple(f for f in figures.biases if f.bias != ENHANCEMENT)))
        )
    if not used:
        raise ConfigError(
            f"{path}: expected scores by the judges of the table ({', '.join(one.model for one in found)}), got "
            f"{body.get('kind')} verdicts by {', '.join(listed) or 'nobody'}; leave this file out"
        )
    others = [name for name in listed if name not in used]
    return made, [f"{path}: no row for {', '.join(others)}, of which there are no results"] if others else []
