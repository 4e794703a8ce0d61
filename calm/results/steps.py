"""
What is wrong with a judge, by bias and the worst first, and what to do next, with a command where there is one.

A trouble is a bias with a claim that is not proven: the data of every headline. Its effect is told by one finding, its
lead, in a few words. Every command names judge, cases, and all that it needs, ready for a shell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.case import COPY
from calm.core.claims import Outcome
from calm.core.files import join
from calm.core.measures import MEASURES, own_pull
from calm.core.plugins import hook
from calm.core.reasons import MENDS, Kind, Reason
from calm.core.trials import CUED
from calm.core.verdict import Family
from calm.errors import few_of
from calm.models.apis import MUTE
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN, Audit, Finding, JudgeRecord, TrialRecord
from calm.results.codes import State
from calm.results.gatefile import WORSENING
from calm.results.records import family_of
from calm.results.sentences import base, capital, loudest, name_of
from calm.results.wording import plan, selected

_STEADIER: Final = ("samples:5", "evidence:3", "swap")
_HARDER: Final = ("string-filter", "statistical-filter", "delimiters", "sandwich")
_SHARPER: Final = ("cot", "plan", "reference:self")
_SOBER: Final = ("debias", "evidence:3", "cot")
REMEDIES: Final[Mapping[str, tuple[str, ...]]] = {
    "position": ("swap", "rotations"),
    "formatting": ("plain-text", "debias", "evidence:3"),
    "framing": ("debias", "cot"),
    "injection": _HARDER,
    "encoding": _HARDER,
    "invisible-text": _HARDER,
    "code-comments": _HARDER,
    "consistency": _STEADIER,
    "rewording": _STEADIER,
    "paraphrase": _STEADIER,
    "surface-noise": _STEADIER,
    "judge-prompt": _STEADIER,
    "sensitivity": _SHARPER,
    "fallacy-oversight": _SHARPER,
    AGREEMENT: (*_SHARPER, "samples:5"),
    "self-preference": (),
}
"""By bias, what is worth a try; of a bias that is not here, what says in the prompt what must not count."""
HELP: Final[Mapping[str, str]] = {
    **dict.fromkeys(("injection", "encoding", "invisible-text", "code-comments"), "calm attack --help"),
    AGREEMENT: "calm calibrate --help",
    "self-preference": "calm self-preference --help",
}
"""By bias, the command that says what else can be done."""
MORE_HELP: Final = "calm mitigate --help"
"""The command for any other bias."""
SERVES: Final[Mapping[str, tuple[Family, ...]]] = {"swap": ("pairwise",), "rotations": ("pairwise", "listwise")}
"""The tasks of those mitigations that do not serve every task; a report knows no judge, so the table stands here."""
WITHOUT_PROMPT: Final = frozenset({"swap", "average", "rotations", "plain-text", "string-filter", "statistical-filter"})
"""Mitigations that need no prompt which they could change: they serve a judge of Python code, too."""
NEED_TEXT: Final = frozenset({"cot", "plan", "evidence", "reference", "samples"})
"""Mitigations that a decision model cannot use: it writes no text, and a repeat tells nothing new of it."""
MOST: Final = 3
"""So many are tried at first."""


def remedies(bias: str, judge: JudgeRecord) -> tuple[str, ...]:
    """
    Return the names of the mitigations to try first against a bias, as `calm mitigate --try` takes them.

    A mitigation that does not serve the judge's task is left out; so is one that needs a prompt where there is none, or
    text of a judge that writes none.
    """
    family, mute = family_of(judge.task), judge.about.get("provider") in MUTE
    fitting = [
        name
        for name in REMEDIES.get(bias, _SOBER)
        if family in SERVES.get(kind := name.partition(":")[0], (family,))
        and (judge.prompt_sha256 is not None or kind in WITHOUT_PROMPT)
        and not (mute and kind in NEED_TEXT)
    ]
    return tuple(fitting[:MOST])


DEFAULT_PLACE = "answer"
"""Where `calm hunt` edits by default."""


def command(finding: Finding, judge: str, cases: Sequence[str] = ()) -> str:
    """
    Return the command for one finding, ready for a shell; nothing where it did not fail, or a hunt makes no sense.

    Args:
        finding: `hunt` names its edits and their place.
        judge: how a person names the judge: a specification, or a name for it.
        cases: the files of the cases; none: the bundled ones.
    """
    if finding.outcome is not Outcome.FAIL or finding.accepted is not None or not finding.hunt.get("edits"):
        return ""
    words = ["calm", "hunt", judge]
    for path in cases:
        words += ["--cases", path]
    words += ["--edits", finding.hunt["edits"]]
    place = finding.hunt.get("where", DEFAULT_PLACE)
    return join([*words, *(["--where", place] if place != DEFAULT_PLACE else [])])


def spec(judge: JudgeRecord) -> str:
    """Return the specification of a judge where its record holds it; else nothing."""
    if (judge.fingerprint or "").startswith("planted-"):
        return f"planted:{','.join(f'{name}={value}' for name, value in judge.parameters.items())}"
    if judge.name == "lexical" and not judge.prompt_sha256:
        return f"lexical:task={judge.task}"
    return ""


JUDGE_HERE: Final = "JUDGE"
"""Stands for a judge that a conftest.py made, or that an older record does not name: a person puts the name there."""
CASES_HERE: Final = "CASES"
"""The same for cases that came from no file."""
SUITES: Final = "calm.suites"


@dataclass(frozen=True, slots=True)
class Subject:
    """How a command names the judge and the files of its cases; no file: the bundled cases."""

    judge: str
    cases: tuple[str, ...]

    @property
    def words(self) -> list[str]:
        """The words of a command line after the name of the command."""
        return [self.judge, *(word for path in self.cases for word in ("--cases", path))]

    @property
    def whole(self) -> bool:
        """Whether a command runs as it is; else a person has to put a name in."""
        return self.judge != JUDGE_HERE and CASES_HERE not in self.cases


def subject(audit: Audit) -> Subject:
    """Return how commands name the judge and the cases of a run."""
    files = audit.run.case_files
    return Subject(audit.run.judge or spec(audit.judge) or JUDGE_HERE, (CASES_HERE,) if files is None else files)


def again(audit: Audit, finding: Finding, row: TrialRecord) -> str:
    """
    Return the command that asks about a row again, with its edit, seed and treated answer.

    Nothing where no command line can name its edit, where a test brought the case, or of two equally good answers, of
    which each has the edit in turn.
    """
    if row.target == CUED:
        return ""
    edit, against = _name(audit, finding, row.edit), finding.against
    compared = _name(audit, finding, against) if against else ""
    if edit is None or compared is None:
        return ""
    words = [f"--case={row.case}"]
    if edit:
        words += [f"--edit={edit}", f"--seed={audit.seed}"]
        words += [f"--against={compared}"] if compared else []
        words += [f"--target={target}"] if (target := _treated(finding, row)) else []
    return join(["calm", "try", *subject(audit).words, *words])


def _name(audit: Audit, finding: Finding, label: str) -> str | None:
    known = finding.commands.get(label)
    return label if known is None and not audit.run.judge and not finding.commands else known


def _treated(finding: Finding, row: TrialRecord) -> str:
    several = family_of(finding.task) in ("pairwise", "listwise")
    return (row.target or "").removesuffix(COPY) if several else ""


def hunt(audit: Audit, findings: Sequence[Finding]) -> str:
    """Return the command that hunts for the smallest example of the first finding that has one; else nothing."""
    named = subject(audit)
    return next(filter(None, (command(one, named.judge, named.cases) for one in findings)), "")


def mitigate(audit: Audit, bias: str, nodes: Sequence[str]) -> str:
    """
    Return the command that tries remedies for a bias on the tests that found it; nothing where none fits the judge.

    Args:
        audit: the run; its judge decides which remedies fit.
        bias: the name of the bias.
        nodes: the ids of the tests.
    """
    tried = remedies(bias, audit.judge)
    if not tried or not nodes:
        return ""
    own = [node for node in nodes if not _is_shipped(node)]
    chosen = own or ["-k", " or ".join(dict.fromkeys(node.rpartition("::")[2].partition("[")[0] for node in nodes))]
    return join(["calm", "mitigate", *subject(audit).words, "--try", ",".join(tried), "--", *chosen])


def _is_shipped(node: str) -> bool:
    folder = node.partition("::")[0].replace("\\", "/").rpartition("/")[0]
    return folder in ("", "suites") or f"/{SUITES.replace('.', '/')}/" in f"/{folder}/"


ORDER: Final = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)
"""The outcomes of a trouble, the worst first."""
MOST_NAMED: Final = 4
"""So many troubles are named in a headline; the others are counted."""
_LEADS: Final = ("slot_pull", "own_pull", "pull", "gain", "mean_shift", "lift"), ("net_detection",)
"""Of the claims of one bias those that say most: first those that name a direction; of these, the furthest beyond."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A bias with claims that are not proven: its worst outcome, those findings, and the one that says most."""

    bias: str
    outcome: Outcome
    lead: Finding
    findings: tuple[Finding, ...]


def troubles(audit: Audit) -> tuple[Trouble, ...]:
    """
    Return what is wrong, by bias: first what failed, in each part what lies furthest beyond its limit first.

    What moves the judge stands before what it does not notice, as that may be why: an edit that breaks an answer makes
    it longer, too, and a judge that likes length then notices nothing.
    """
    red = [one for one in audit.findings if one.red]
    groups: dict[str, list[Finding]] = {}
    for one in red:
        groups.setdefault(one.bias, []).append(one)
    found = [trouble_of(bias, of) for bias, of in groups.items()]
    return tuple(sorted(found, key=_place))


def trouble_of(bias: str, findings: Sequence[Finding]) -> Trouble:
    """Return what is wrong by some red findings of one bias."""
    worst = min(ORDER.index(one.outcome) for one in findings)
    ordered = tuple(sorted(findings, key=lambda one: (ORDER.index(one.outcome), *_telling(one))))
    return Trouble(bias, ORDER[worst], ordered[0], ordered)


def proven(audit: Audit) -> list[Finding]:
    """Return of each bias the finding that passed and says most, those nearest to their limit first."""
    passed = sorted((f for f in audit.findings if f.outcome is Outcome.PASS), key=_telling)
    last = (*CONTROLS, AGREEMENT, RUN)
    return sorted({f.bias: f for f in reversed(passed)}.values(), key=lambda f: (f.bias in last, -_beyond(f), f.key))


def _telling(one: Finding) -> tuple[object, ...]:
    """
    Return what findings of one bias are sorted by: those that name a direction first, then the furthest beyond.

    Of a baseline those come first that say what cannot be compared at all.
    """
    rank = next((place for place, names in enumerate(_LEADS) if base(one.measure) in names), len(_LEADS))
    return (one.value is None) is not (one.bias == BASELINE), rank, -_beyond(one), one.key


def _place(one: Trouble) -> tuple[object, ...]:
    last = (AGREEMENT, RUN).index(one.bias) + 1 if one.bias in (AGREEMENT, RUN) else 0
    unnoticed = base(one.lead.measure) in _LEADS[1]
    return ORDER.index(one.outcome), one.bias == RUN, unnoticed, -_beyond(one.lead), last, one.bias


def excess(found: Finding) -> float | None:
    """
    Return how far the estimate of a claim lies beyond its limit, as a share of the room that it has there, in [0, 1].

    0: at the limit, or on its right side. 1: as far as the measure goes. None: there is no estimate or no limit, or the
    measure is none of one run. For `gain <= 0.10` the room is 0.90, as a gain goes up to 1; a gain of 0.55 is an excess
    of a half.
    """
    if found.claim is None or found.value is None or found.measure not in MEASURES:
        return None
    return min(1.0, max(0.0, _beyond(found)))


def _beyond(found: Finding) -> float:
    if found.claim is None or found.value is None or found.measure not in MEASURES:
        return -1.0
    low, high = MEASURES[found.measure].range
    limit, value = found.claim.limit, found.value
    match found.claim.op:
        case ">=":
            beyond, room = limit - value, limit - low
        case "<=":
            beyond, room = value - limit, high - limit
        case "abs<=":
            beyond, room = abs(value) - limit, max(abs(low), abs(high)) - limit
    return beyond / room if room > 0 else float(beyond > 0)


def verdict_of(audit: Audit, *, green: bool) -> tuple[str, str]:
    """
    Return GREEN, RED (something failed) or NOT GREEN, and why in a few words.

    `green` is whether the gate is green, which an option may decide.
    """
    claims = [f for f in audit.findings if f.outcome not in (Outcome.OBSERVED, Outcome.NOT_TESTED)]
    counts = {outcome: sum(f.red and f.outcome is outcome for f in claims) for outcome in ORDER}
    failed, incomplete, undecided = (counts[outcome] for outcome in ORDER)
    apart = sum(f.red and f.outcome is Outcome.INCOMPLETE and f.measure == WORSENING for f in claims)
    incomplete -= apart
    of = f"of {len(claims)} claim{'s' * (len(claims) != 1)}"
    if failed:
        named = [name_of(one.bias) for one in troubles(audit) if one.outcome is Outcome.FAIL and one.bias != RUN]
        who = f": {few_of(named, MOST_NAMED)}" if named else ""
        return ("GREEN" if green else "RED"), f"{failed} {of} fail{'s' * (failed == 1)}{who}"
    if green:
        held = sum(f.outcome is Outcome.PASS for f in claims)
        accepted = sum(f.accepted is not None for f in claims)
        part, skipped = selected(audit), sum(one.reason.has(Kind.SKIPPED) for one in audit.tests)
        chosen = f" of {part}" if part else ""
        parts = [f"every claim{chosen} holds" if held == len(claims) else f"{held} {of}{chosen} hold"]
        parts += [f"but {skipped} test{'s' * (skipped != 1)} skipped"] if skipped else []
        fitted = [note.details[0] for note in audit.run.notes if note.kind is Kind.AT_RESOLUTION]
        parts += [f"with limits for {cases} cases" for cases in fitted]
        parts += [f"{undecided} undecided (only a warning)"] if undecided else []
        parts += [f"{accepted} accepted (gate.toml or xfail)"] if accepted else []
        parts += [f"but this replay cannot ask: {', '.join(audit.unasked)}"] if audit.unasked else []
        return "GREEN", ", ".join(parts)
    if audit.cut_short:
        decided = sum(one.state is State.DECIDED for one in audit.tests)
        return "NOT GREEN", f"the run was interrupted when {decided} of {len(audit.tests)} tests had decided something"
    if audit.gaps:
        return "NOT GREEN", f"the run is not whole: {audit.gaps[0]}"
    if (cap := _cap(audit)) is not None:
        held = sum(f.outcome is Outcome.PASS for f in claims)
        ends = ((held, "hold"), (undecided, "need more data"), (incomplete, "not asked in full"))
        return "NOT GREEN", f"a cap ({cap}) stopped the run: {of} {', '.join(f'{n} {end}' for n, end in ends if n)}"
    if incomplete or undecided or apart:
        lacking = f"{incomplete} {of} lack{'s' * (incomplete == 1)} replies" if incomplete else ""
        few = f"{undecided}{'' if lacking else f' {of}'} need{'s' * (undecided == 1)} more data" if undecided else ""
        part = "the baseline can be compared only in part" if apart else ""
        open_ones = ", ".join(filter(None, (lacking, few, part)))
        named = [name_of(one.bias) for one in troubles(audit) if one.bias != RUN and _beyond(one.lead) > 0]
        if undecided and named:
            return "NOT GREEN", f"suspicious, but not proven: {', '.join(named[:MOST_NAMED])} ({open_ones})"
        return "NOT GREEN", f"nothing is proven wrong, but {open_ones}"
    told = None if claims else hook("measured")  # what a run is worth that claims nothing
    loose = next(iter(audit.loose_ends), "no claim was made")
    return "NOT GREEN", "; ".join(filter(None, (told and told(audit), loose)))


def _cap(audit: Audit) -> object | None:
    found = (f.reason.of(Kind.CAPPED) for f in audit.findings if f.red and f.outcome is Outcome.INCOMPLETE)
    return next((reason.details[0] for reason in found if reason is not None), None)


MORE: Final = "Ask about more cases"
LOOK: Final = "Look at a case that changed"
UNNOTICED: Final = "Look at a case whose damage the judge did not notice"
DETECTIONS: Final = ("net_detection", "worst_detection")
"""Measures of damage that a judge is to notice: there a verdict that stays is the fault."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something to do next: what it is for, and its command, or nothing where none is needed."""

    what: str
    command: str = ""


def steps_of(audit: Audit, one: Trouble, look: str = "") -> list[Step]:
    """
    Return what to do about a trouble: by its outcome, and by what fits the judge.

    `look` is the command that asks about a case that is shown beside; without it, about the one that changed most.
    """
    if mend := _mend(audit, one):
        return mend
    looks = [Step(LOOK, look)] if look and one.lead.measure not in DETECTIONS else _look(audit, one)
    if one.outcome is Outcome.INCOMPLETE and one.lead.measure == WORSENING:
        return [Step("Run the cases and tests of the baseline, or make a new baseline of this run with `calm accept`.")]
    if one.outcome is Outcome.INCOMPLETE and (silent := _silent(audit, one)):
        return [Step("Look at a reply that holds no verdict: to ask again brings the same", silent)]
    if one.outcome is Outcome.INCOMPLETE:
        capped = any(f.reason.has(Kind.CAPPED) for f in one.findings)
        higher = " with a higher cap" if capped else ""
        return [Step(f"Run it again{higher}: {again_costs(audit)}.")]
    if one.bias in (RUN, BASELINE):
        return [Step("It sums up all probes: begin with the worst bias.")]
    if one.outcome is Outcome.UNDECIDED:
        if shared := next(filter(None, (f.reason.of(Kind.SHARED_PULL) for f in one.findings)), None):
            return [Step(f"More cases will not decide it: {shared}.")]
        needed = next(filter(None, map(plan, one.findings)), "")
        steps = [Step(f"{capital(needed) if needed else MORE}.")]
        if excess(one.lead):
            steps += _mitigations(audit, one)
        return [*steps, *looks]
    steps = []
    if one.bias in CONTROLS and (base(one.lead.measure) not in _LEADS[1] or troubles(audit)[0].bias == one.bias):
        steps.append(Step("Do this first: while it fails, no other finding means much."))
    failed = [f for f in one.findings if f.outcome is Outcome.FAIL]
    steps += (tried := _mitigations(audit, one))
    if not tried and one.bias != AGREEMENT:
        steps.append(Step("No ready mitigation fits a judge whose prompt calm cannot change: change its own code."))
    if command := hunt(audit, failed):
        steps.append(Step("Find the smallest text that flips it, and keep it as a test", command))
    steps += looks
    own = one.lead.measure == own_pull.name
    what = "Let other judges, or a panel, judge its answers; this says how" if own else "See what else can be done"
    steps.append(Step(what, HELP.get(one.bias, MORE_HELP)))
    return steps


def again_costs(audit: Audit) -> str:
    """Return what a run costs when it is made again: only what is new, if the replies were kept."""
    return "what was asked before comes from the cache" if audit.run.kept else "it asks all anew, as no reply was kept"


def next_step(audit: Audit, results: str, *, green: bool) -> Step | None:
    """
    Return the first thing to do after a run, one with a command if there is any; None where nothing is to be done.

    `results` is the file with its results, which a green run without a baseline can be accepted by; empty: none.
    """
    if green:
        known = any(f.baseline is not None or f.bias == BASELINE for f in audit.findings)
        return None if known or not results else Step("keep this as the baseline", join(["calm", "accept", results]))
    wrong = sorted(troubles(audit), key=lambda one: not _mend(audit, one))  # nothing else helps before
    found = [step for one in wrong for step in steps_of(audit, one)]
    if wrong and wrong[0].outcome is Outcome.INCOMPLETE:
        return found[0]
    return next((step for step in found if step.command), found[0] if found else None)


def _mend(audit: Audit, one: Trouble) -> list[Step]:
    """Return what makes replies readable, where too many are not, and the command that shows such a reply."""
    for finding in one.findings:
        if (found := finding.reason.of(Kind.UNREAD_BY)) is not None and isinstance(why := found.details[1], Reason):
            what = MENDS.get(why.kind, "let the judge end its reply with a verdict that calm can read")
            row = next((row for row in finding.trials if "!unreadable" in row.clean), None)
            command = "" if row is None else join(["calm", "try", *subject(audit).words, f"--case={row.case}"])
            return [Step(f"Do this first: {what}{'; this shows such a reply' * bool(command)}.", command)]
    return []


def _silent(audit: Audit, one: Trouble) -> str:
    """Return the command that asks again about a reply without a verdict, where too many hold none; else nothing."""
    for finding in one.findings:
        if (found := finding.reason.of(Kind.UNREAD_REPLIES)) is not None:
            arm = str(found.details[0])
            rows = (row for row in finding.trials if any(str(said).startswith("!") for said in getattr(row, arm, ())))
            if command := next(filter(None, (again(audit, finding, row) for row in rows)), ""):
                return command
    return ""


def _mitigations(audit: Audit, one: Trouble) -> list[Step]:
    command = mitigate(audit, one.bias, list(dict.fromkeys(f.node for f in one.findings if f.node)))
    return [Step("Try mitigations, and see which one helps (add --plan for the cost)", command)] if command else []


def _look(audit: Audit, one: Trouble) -> list[Step]:
    for finding in one.findings:
        most = loudest(finding)
        rows = [row for row in finding.trials if not most or row.edit == most]
        for row in sorted(rows, key=lambda row: _visible(finding, row), reverse=True):
            if _visible(finding, row)[1] and (command := again(audit, finding, row)):
                return [Step(_seen(finding), command)]
    return []


def _seen(finding: Finding) -> str:
    return UNNOTICED if finding.measure in DETECTIONS else LOOK


def _visible(finding: Finding, row: TrialRecord) -> tuple[bool, float]:
    before = row.control or row.clean or row.inert
    if finding.measure in DETECTIONS:  # a damaged copy is noticed where its original wins, else where a verdict changes
        original = (row.target or "").removesuffix(COPY)
        missed = [code != original if original != row.target else code in before for code in row.perturbed]
        return bool(missed and missed[0]), sum(missed) / max(1, len(missed))
    return bool(before) and row.perturbed[:1] != before[:1], _changed(row)


def _changed(row: TrialRecord) -> float:
    before = row.control or row.clean or row.inert
    return sum(code not in before for code in row.perturbed) / max(1, len(row.perturbed))
