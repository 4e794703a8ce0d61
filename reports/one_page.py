"""
One page for managers and papers: the minimum validation of a judge (arXiv 2606.19544), from the record of a run.

| part | what it shows |
|---|---|
| agreement | Cohen's kappa beside exact match, both of one ask a case |
| noise beside position | the verdict when the judge is asked again, and when the order of the answers is swapped |
| protocol | which of its five items the run meets |
| biases | the claim of each bias that says most, the worst first |
| not measured | what is missing, with the reason |

`sheet_of` computes it, `write` makes an HTML page that prints on one A4 sheet, or Markdown. Intervals are at 95 %.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from pathlib import Path
from typing import Final, Literal

from calm import __version__
from calm.core import measures
from calm.core.agreement import by_numbers, step_of
from calm.core.case import TIE
from calm.core.claims import Claim, Estimate, Outcome, decide
from calm.core.reasons import NONE, Kind, Reason, because, reason_of
from calm.core.trials import Trial, Trials
from calm.core.verdict import FAMILY, Criteria, Family, Label, Preferred, Scale, Score, Tie, code, decode
from calm.errors import EstimateError
from calm.results import outputs
from calm.results.audit import AGREEMENT, BASELINE, Audit, Finding
from calm.results.records import family_of, scale_of, trial_of, untouched
from calm.results.reports.heading import moment
from calm.results.reports.html import environment, safety
from calm.results.reports.markdown import plain
from calm.results.sentences import capital, name_of, sentence
from calm.results.steps import proven, troubles, verdict_of
from calm.results.tabular import as_read
from calm.results.wording import cases_asked, clipped, untested_by_reason
from calm.statistics import association

LEVEL: Final = 0.025
"""The error of each end of an interval: both ends together are at 95 %."""
STABLE, MOST_PULL, LEAST_ASKS, LEAST_SETS = 0.95, 0.10, 3, 2
"""The protocol: test-retest above which position is audited, the most position bias, asks of a case, sets of cases."""
LINES, WIDE, SENTENCE, NAMES, GAPS, LINE = 33, 105, 260, 420, 5, 190
"""Lines of findings, characters of each, those of a finding and of the names of all others, lines of what is missing
and characters of each: so much fits on one sheet."""
SOURCE: Final = "Norman, Rivera & Hughes 2026, arXiv:2606.19544"
WITHOUT_TIES: Final = "Exact match, without gold ties"
BIBTEX: Final = """@misc{norman2026reliability,
  title = {Reliability without Validity: A Systematic, Large-Scale Evaluation of LLM-as-a-Judge Models Across Agreement, Consistency, and Bias},
  author = {Norman, Justin D. and Rivera, Michael U. and Hughes, D. Alex},
  year = {2026}, eprint = {2606.19544}, archivePrefix = {arXiv}, primaryClass = {cs.CL}
}"""  # noqa: E501 - a title is one line
State = Literal["met", "in part", "failed", "not decided", "not measured", "does not apply"]
_VERDICTS: Final[Mapping[Outcome, str]] = {
    Outcome.PASS: "within the limit",
    Outcome.FAIL: "beyond the limit",
    Outcome.UNDECIDED: "not decided",
    Outcome.INCOMPLETE: "not finished",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure with its interval, or the reason why there is none. `signed`: it is a difference."""

    name: str
    estimate: Estimate | None
    reason: Reason = NONE
    signed: bool = False

    @property
    def shown(self) -> str:
        """The value with its interval, such as "0.75 [0.58, 0.88]"."""
        if self.estimate is None:
            return "not measured"
        sign = "+" if self.signed else ""
        value, low, high = (round(one, 2) + 0.0 for one in (self.estimate.value, self.estimate.low, self.estimate.high))
        return f"{value:{sign}.2f} [{low:{sign}.2f}, {high:{sign}.2f}]"

    @property
    def n(self) -> str:
        """The number of cases."""
        return str(self.estimate.n) if self.estimate else "0"


@dataclass(frozen=True, slots=True)
class Item:
    """An item of the protocol, and how the run meets it; `reason` says why not."""

    name: str
    state: State
    said: str = ""
    reason: Reason = NONE


@dataclass(frozen=True, slots=True)
class Bias:
    """The claim of a bias that says most: its sentence and its verdict in words."""

    name: str
    said: str
    verdict: str
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Sheet:
    """All that the page shows."""

    facts: tuple[tuple[str, str], ...]
    headline: str
    agreement: tuple[Figure, ...]
    stability: tuple[Figure, ...]
    replies: tuple[Figure, ...]
    items: tuple[Item, ...]
    biases: tuple[Bias, ...]
    others: str
    missing: tuple[str, ...]
    cite: str


def sheet_of(audit: Audit) -> Sheet:
    """
    Return the page of a run.

    Raises:
        ConfigError: a damaged record.
    """
    audit = as_read(audit)
    family = family_of(audit.judge.task) or FAMILY["pairwise"]
    scale = scale_of(audit.judge) if audit.judge.scale else Scale()
    rows = untouched(audit)
    asks = [len(row.clean) for row in rows]

    def measured(name: str, measure: measures.Measure, of: Sequence[Trial], lacking: Kind = Kind.NOT_IN_RUN) -> Figure:
        if family not in measure.families:
            return Figure(name, None, because(Kind.NO_FIGURE, audit.judge.task))
        if not of:
            return Figure(name, None, because(lacking))
        try:
            return Figure(name, measure.estimate(Trials(tuple(of), family, scale), LEVEL))
        except EstimateError as error:
            return Figure(name, None, reason_of(error))

    ordered = scale.classes is not None and scale.classes.ordered
    once = [replace(row, clean=row.clean[:1]) for row in rows]
    decided = [row for row in once if row.better != TIE]
    once_only = Kind.ASKED_ONCE if rows else Kind.NOT_IN_RUN
    again = [row for row in rows if len(row.clean) > 1]
    swapped, no_order = _swapped(audit, family)
    agreement = [
        measured("Cohen's kappa", _kappa(family, scale), once),
        *([measured("Kappa, weighted", measures.weighted_kappa, once)] if family == "score" or ordered else []),
        *([measured("Kendall's tau-b", measures.rank_agreement, once)] if family == "listwise" else []),
        *([measured(WITHOUT_TIES, measures.accuracy, decided)] if len(decided) < len(once) else []),
        measured("Exact match", measures.accuracy, once),
    ]
    stability = [
        measured("Asked again: same verdict", measures.consistency_rate, again, once_only),
        measured("Asked again: kappa", _kappa(family, scale), _beside(again, family, repeats=True), once_only),
        measured("Order swapped: same verdict", measures.robustness_rate, swapped),
        measured("Order swapped: kappa", _kappa(family, scale), _beside(swapped, family)),
        measured("Changed by the order beyond noise", BEYOND, [row for row in swapped if len(row.clean) > 1]),
        _half(measured("Share won by the first place, less 1/2", measures.slot_pull, swapped)),
    ]
    alike = because(Kind.ONE_WORD)
    stability = [replace(one, reason=alike) if one.reason.has(Kind.ONE_GOLD) else one for one in stability]
    if no_order:
        stability[2:] = [replace(one, estimate=None, reason=no_order) for one in stability[2:]]
    replies = [measured("Readable replies", measures.readable_rate, rows)]
    if family == "pairwise":
        said = [replace(row, perturbed=row.clean, clean=()) for row in rows]
        gold = [replace(row, perturbed=(decode(row.better),), clean=()) for row in rows if row.better is not None]
        replies.append(measured("Ties", measures.tie_rate, said))
        replies.append(measured("Ties in the gold", measures.tie_rate, gold, Kind.NO_GOLD))
    biases = _biases(audit)
    fit = sum(lines <= LINES for lines in accumulate(ceil(len(one.said) / WIDE) for one in biases))
    others = _together((one.verdict, one.name.lower()) for one in biases[fit:])
    return Sheet(
        facts=_facts(audit, asks),
        headline=": ".join(verdict_of(audit, green=audit.green())),
        agreement=tuple(agreement),
        stability=tuple(stability),
        replies=tuple(replies),
        items=_items(audit, agreement, stability, asks),
        biases=biases[:fit],
        others=clipped("; ".join(f"{verdict}: {names}" for verdict, names in others), NAMES),
        missing=_missing(audit, (*agreement, *stability, *replies)),
        cite=_cite(audit),
    )


def _swapped(audit: Audit, family: Family) -> tuple[list[Trial], Reason]:
    """Return the rows that were also asked in another order, and why there can be none."""
    if family not in ("pairwise", "listwise"):
        return [], because(Kind.ONE_SHOWN)
    found = [finding for finding in audit.findings if finding.bias == "position"]
    for finding in found:
        rows = [] if finding.single else [one for one in finding.trials if one.order and one.clean and one.perturbed]
        if rows:  # the first ask is the case in the other order; further ones are reworded, too
            trials = [trial_of(finding.key, one) for one in rows]
            return [replace(row, perturbed=row.perturbed[:1], slots=row.slots[:1]) for row in trials], NONE
    return [], next((finding.reason for finding in found if finding.reason), NONE)


def _beside(rows: Iterable[Trial], family: Family, *, repeats: bool = False) -> list[Trial]:
    """Return rows whose gold is what the judge said first; what it said again, or of the other order, is beside it."""
    found = []
    for row in rows:
        rest = row.clean[1:] if repeats else row.perturbed
        match row.clean[0]:
            case Preferred(answer=answer):
                found.append(replace(row, better=answer, clean=rest))
            case Tie():
                found.append(replace(row, better=TIE, clean=rest))
            case Score(value=value) if family == "score":
                found.append(replace(row, worth={row.order[0]: value}, clean=rest))
            case Criteria(met=met):
                known = {name: one for name, one in met.items() if one is not None}
                found.append(replace(row, met=known, clean=rest))
            case Label() as label:
                found.append(replace(row, better=str(code(label)), clean=rest))
    return found


def _kappa(family: Family, scale: Scale) -> measures.Measure:
    """Return Cohen's kappa; of scores that of the steps of the scale, each a category."""
    if family != "score":
        return measures.kappa
    step = step_of(scale)
    size = (scale.high - scale.low) / step if step else 0

    def found(true: Sequence[float], said: Sequence[float], _: Sequence[str]) -> association.Statistic:
        if not size:
            raise EstimateError(because(Kind.NO_STEP))
        one, other = ([round(place * size) for place in side] for side in (true, said))
        return association.kappa(one, other, sorted({*one, *other}))

    return replace(measures.weighted_kappa, whole=by_numbers(found, on_scale=True))


def _beyond(row: Trial, scale: Scale) -> float | Reason:
    """Return how many more verdicts are the same when the judge is asked again than when the order is swapped."""
    again, swapped = measures.consistency_rate.per_case(row, scale), measures.robustness_rate.per_case(row, scale)
    return again if isinstance(again, Reason) else swapped if isinstance(swapped, Reason) else again - swapped


BEYOND: Final = replace(measures.robustness_rate, name="beyond_noise", per_case=_beyond, low=-1.0)


def _half(one: Figure) -> Figure:
    """Return half of a figure: the first place wins by P - (1 - P), which is twice P less a half."""
    e = one.estimate
    half = None if e is None else replace(e, value=e.value / 2, low=e.low / 2, high=e.high / 2)
    return replace(one, estimate=half, signed=True)


def _items(
    audit: Audit, agreement: Sequence[Figure], stability: Sequence[Figure], asks: Sequence[int]
) -> tuple[Item, ...]:
    """Return the five items of the protocol, and how the run meets them."""
    headline = next((one for one in agreement[:-1] if one.estimate), agreement[0])
    match_, same, pull = agreement[-1], stability[0], stability[-1]
    corrected = Item("Correct for chance", "not measured", reason=headline.reason)
    if headline.estimate:
        gap = 100 * (match_.estimate.value - headline.estimate.value) if match_.estimate else None
        said = "there is no exact match" if gap is None else f"exact match says {gap:.0f} points more"
        corrected = Item(corrected.name, "met", f"{headline.name} is the headline; {said}")
    one_shown = pull.reason.has(Kind.ONE_SHOWN)
    swap = Item("Swap positions", "does not apply" if one_shown else "not measured", reason=pull.reason)
    if pull.reason.has(Kind.NO_FIGURE) and (order := stability[2].estimate):
        swap = Item(swap.name, "in part", f"{order.value:.2f} are the same; position bias is a figure of pairs")
    if pull.estimate:
        swap = Item(swap.name, "met", f"{_pulled(pull.estimate)}; a tie is half a win of each place")
    repeat = Item("Ask again", "not measured", reason=same.reason)
    if same.estimate:
        counts, heat = [count for count in asks if count > 1], audit.judge.parameters.get("temperature")
        whole = min(counts) >= LEAST_ASKS and heat == 0
        warm = "not stated" if heat is None else f"{heat:g}" if isinstance(heat, float) else heat
        said = f"{_ends(counts)} asks a case (wanted: {LEAST_ASKS}), each a call of its own; temperature {warm}"
        repeat = Item(repeat.name, "met" if whole else "in part", f"{said} (wanted: 0)")
    sets = Item("Two kinds of cases", "not measured", reason=because(Kind.ONE_SET, LEAST_SETS))
    return corrected, swap, repeat, sets, _audited(same, pull)


def _pulled(pull: Estimate) -> str:
    return f"position bias {abs(pull.value):.2f}"


def _audited(same: Figure, pull: Figure) -> Item:
    """Return whether a judge that repeats itself is fair to both places: stable and biased is no strength."""
    name = "Stable is not fair"
    if pull.reason.has(Kind.NO_FIGURE) or pull.reason.has(Kind.ONE_SHOWN):
        return Item(name, "does not apply", "position bias is a figure of pairs, and this judge is shown none")
    if same.estimate is None or pull.estimate is None:
        return Item(name, "not measured", reason=same.reason if same.estimate is None else pull.reason)
    stays = f"{same.estimate.value:.2f} are the same"
    if same.estimate.value <= STABLE:
        return Item(name, "does not apply", f"asked again, {stays}, not above {STABLE}")
    outcome = decide(pull.estimate, Claim(measures.slot_pull.name, "abs<=", MOST_PULL))
    state: dict[Outcome, State] = {Outcome.PASS: "met", Outcome.FAIL: "failed"}
    return Item(name, state.get(outcome, "not decided"), f"{stays}; {_pulled(pull.estimate)}, at most {MOST_PULL:.2f}")


def _biases(audit: Audit) -> tuple[Bias, ...]:
    """Return what is wrong first, then what was accepted, then what passed."""
    accepted = {f.bias: f for f in audit.findings if f.accepted is not None and f.outcome is not Outcome.PASS}
    leads: dict[str, Finding] = {one.bias: one.lead for one in troubles(audit)}
    for bias, one in (*accepted.items(), *((one.bias, one) for one in proven(audit))):
        leads.setdefault(bias, one)
    return tuple(
        Bias(
            capital(name_of(bias)),
            clipped(sentence(lead), SENTENCE),
            "beyond, accepted" if lead.accepted is not None else _VERDICTS.get(lead.outcome, ""),
            lead.outcome,
        )
        for bias, lead in leads.items()
        if bias not in (AGREEMENT, BASELINE)
    )


def _together(pairs: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Return what is said of some names, each once, with the names of which it is said."""
    found: dict[str, list[str]] = {}
    for said, name in pairs:
        found.setdefault(said, []).append(name)
    return ((said, ", ".join(names)) for said, names in found.items())


def _missing(audit: Audit, figures: Iterable[Figure]) -> tuple[str, ...]:
    """Return what was not measured, those together that share a reason."""
    gaps = _together((str(one.reason) or "not in this run", one.name) for one in figures if one.estimate is None)
    found = [f"{names}: {why}" for why, names in gaps]
    found += [f"{names}: {why}" if why else names for names, why, _ in untested_by_reason(audit)]
    lines = [clipped(capital(line), LINE) for line in found]
    more = len(lines) - GAPS
    return (*lines[: GAPS if more <= 0 else GAPS - 1], *([f"and {more + 1} more; see the report"] if more > 0 else []))


def _facts(audit: Audit, asks: Sequence[int]) -> tuple[tuple[str, str], ...]:
    judge, when = audit.judge, moment(audit.run.started)
    most = f", each asked {_ends(asks)} times as it is" if asks else ""
    facts = (
        ("Judge", f"{judge.name} ({judge.task})"),
        ("Model", judge.served or judge.model or "not stated"),
        ("Prompt", f"SHA-256 {judge.prompt_sha256[:16]}" if judge.prompt_sha256 else "none"),
        ("Date", when.words if when else audit.run.started or "not recorded"),
        ("Cases", f"{cases_asked(audit)}{most}"),
        ("Cases SHA-256", str(audit.cases.get("sha256", "not stated"))[:16]),
    )
    return tuple((name, clipped(text, LINE // 2)) for name, text in facts)


def _ends(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least} to {most}" if least < most else f"{most}"


def _cite(audit: Audit) -> str:
    facts = dict(_facts(audit, ()))
    who = f"{facts['Judge']}, model {facts['Model']}"
    about = f"{facts['Cases']} (SHA-256 {facts['Cases SHA-256']}), seed {audit.seed}"
    return f"{who}: measured with calm {audit.calm} on {about}, {facts['Date']}. Protocol: {SOURCE}."


def write(audit: Audit, path: Path) -> None:
    """
    Write the page, as Markdown where the name ends so, else as HTML; it appears whole or not at all.

    Raises:
        ConfigError: a damaged record, or the file cannot be written.
    """
    sheet = sheet_of(audit)
    form = form_of(path)
    outputs.write_whole(path, [markdown(sheet) if form is outputs.ONE_PAGE else render(sheet)], form)


def form_of(path: Path) -> outputs.Form:
    """Return the form of the page that is written to this place."""
    return outputs.ONE_PAGE if path.suffix.lower() in (".md", ".markdown") else outputs.REPORT


def render(sheet: Sheet) -> str:
    """Return the page as HTML; all that a user or a model wrote is escaped."""
    pages = environment()
    page = pages.get_template("one_page.html.jinja")
    return page.render(sheet=sheet, source=SOURCE, calm=__version__, **safety(pages, style="one_page.css"))


def markdown(sheet: Sheet) -> str:
    """Return the page as Markdown: what a user or a model wrote is no markup."""
    lines = [f"{outputs.ONE_PAGE_BEGINS}{_plain(sheet.facts[0][1])}", "", f"**{_plain(sheet.headline)}**", ""]
    lines += _table(("", ""), ((name, _plain(fact)) for name, fact in sheet.facts[1:]))
    for title, figures in (
        ("Agreement with the gold labels", sheet.agreement),
        ("Noise beside position", sheet.stability),
        ("Replies", sheet.replies),
    ):
        cells = ((one.name, one.shown, one.n) for one in figures)
        lines += ["", f"## {title}", "", *_table(("figure", "value [95 %]", "cases"), cells)]
    items = ((one.name, one.state, _plain(one.said or str(one.reason))) for one in sheet.items)
    lines += ["", f"## The minimum protocol ({SOURCE})", "", *_table(("item", "state", "why"), items)]
    biases = ((_plain(one.name), _plain(one.said), one.verdict) for one in sheet.biases)
    lines += ["", "## Biases and controls", "", *_table(("bias", "finding", "verdict"), biases)]
    lines += ["", f"Also {_plain(sheet.others)}."] if sheet.others else []
    lines += ["", "## Not measured", "", *(f"- {_plain(one)}" for one in sheet.missing or ("nothing is missing",))]
    return "\n".join([*lines, "", "## How to cite", "", _plain(sheet.cite), "", "```bibtex", BIBTEX, "```", ""])


def _plain(text: str) -> str:
    return plain(text, LINE * 4)


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    return [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
