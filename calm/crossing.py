"""
Self-preference of a user's judges: who is asked about whose answers, and the figures that come of it.

    members of judges --arrange--> Crossing --ask--> Crossed --Tables--> estimates, report

The judge in question and its peers are asked once about the same answers, each by an author that no prompt shows. A
judge is the author whose model it is. Recorded judges bring their table with them and are not asked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import isnan, log
from random import Random
from typing import Final, Protocol, runtime_checkable

import numpy as np

from calm.caps import CAPPED
from calm.case import Answer, Case, Criterion, digest
from calm.checks import verify
from calm.claims import Claim, Decision, Estimate, Outcome, cases_to_decide, decide
from calm.engine import Engine
from calm.errors import ConfigError, EstimateError
from calm.experiment import LOST
from calm.measures import why_none
from calm.selfpreference import framing_scores, panels, report, rubric
from calm.selfpreference.contrasts import DRAWS
from calm.selfpreference.families import Leak, families_of, leaks, plain
from calm.selfpreference.framing_scores import ScoreTable
from calm.selfpreference.perplexity import Curves
from calm.selfpreference.report import SelfPreference
from calm.selfpreference.rubric import RubricTable
from calm.selfpreference.verdicts import Judged, item_of, pair_excess, rubric_table_of, score_table_of
from calm.statistics.intervals import smallest_n
from calm.stopping import LEVEL
from calm.templates import Message
from calm.trials import Trial, Trials
from calm.verdict import FAMILY, Code, Family, NoReply, Scale, Score, Task, Verdict, code, decode, readable
from calm.wire import Json, Judge

FAMILIES_TAG: Final = "families"
"""The tag of a case that holds the family of each of its authors, as a JSON object."""
MAKERS: Final = {"written_by": "perturbations", "labelled_by": "gold labels", "asked_by": "questions"}
"""Tags of a case that name the models behind it, and what these made."""
UNIT: Final = Scale(0.0, 1.0)


@runtime_checkable
class Tabled(Protocol):
    """A judge that brings the verdicts of itself and others with it."""

    @property
    def model(self) -> str:
        """Its name in the table."""
        ...

    def table(self) -> RubricTable | ScoreTable:
        """Return the verdicts of all judges of its record."""
        ...


@dataclass(frozen=True, slots=True)
class Member:
    """A judge of the table: its model and family, and itself, or its verdicts by case where these are recorded."""

    model: str
    task: Task
    scale: Scale
    family: str | None = None
    fingerprint: str | None = None
    judge: Judge | None = None
    recalled: Mapping[str, Code] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a run has for `probe.cross()`: all its cases, the other judges, and the most questions to ask about."""

    cases: tuple[Case, ...] = ()
    peers: tuple[Member, ...] = ()
    sample: int | None = None


@dataclass(frozen=True, slots=True)
class Crossing:
    """Who is asked about which cases; the first member is the judge in question, if one is."""

    members: tuple[Member, ...]
    cases: tuple[Case, ...]
    families: Mapping[str, str]
    leaks: tuple[Leak, ...] = ()

    @property
    def family(self) -> Family:
        """What is judged."""
        return FAMILY[self.members[0].task]


@dataclass(frozen=True, slots=True)
class Crossed:
    """What the members said, and of how many asks there was no reply, by reason."""

    crossing: Crossing
    judged: tuple[Judged, ...]
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def missing(self) -> str:
        """Why the verdicts are incomplete, or nothing."""
        lost = sum(self.lost.values())
        capped = any(reason.startswith(CAPPED) for reason in self.lost)
        return why_none(self.lost) if capped or lost > LOST * (lost + len(self.judged)) else ""


# ---------------------------------------------------------------------------------------------------- who is asked what


def model_of(judge: Judge) -> str:
    """Return the name under which a judge is an author: its model, or its own name if it says none."""
    return str(judge.about.get("model") or judge.name)


def member_of(judge: Judge) -> Member:
    """Return a judge as a member that is to be asked."""
    family = judge.about.get("family")
    stated = family if isinstance(family, str) else None
    return Member(model_of(judge), judge.task, judge.scale, stated, judge.fingerprint, judge)


def arrange(
    members: Sequence[Member],
    cases: Sequence[Case],
    *,
    about: str | None = None,
    sample: int | None = None,
    seed: int = 0,
    families: Mapping[str, str] | None = None,
) -> Crossing:
    """
    Return who is asked about which cases.

    Args:
        members: the judges, all of one kind of verdict.
        cases: one answer by an author each, or pairs of them; answers to one question share the tag `item`.
        about: the model of the judge in question; then only what bears on it is asked.
        sample: at most so many questions, the same for a seed whatever the order of the cases.
        seed: of the sample.
        families: the family of a model, by name, where its name does not tell and nobody else says it.

    Raises:
        EstimateError: the data do not allow it: no authors, no own answers, no other judge, a family not known.
        ConfigError: members of several kinds of verdict, or two of one model.
    """
    kinds = {FAMILY[m.task] for m in members}
    if len(kinds) > 1:
        raise ConfigError(f"expected judges of one kind of verdict, got {', '.join(sorted(kinds))}; compare like ones")
    twice = [name for name, count in Counter(m.model for m in members).items() if count > 1]
    if twice:
        raise ConfigError(f"expected judges of different models, got {twice[0]!r} twice")
    family = kinds.pop()
    if family == "listwise":
        raise EstimateError("rankings are no verdicts on one answer or pair; test a pairwise, score or rubric judge")
    answered = [case for case in cases if len(case.answers) == (2 if family == "pairwise" else 1)]
    answered = [case for case in answered if all(answer.author is not None for answer in case.answers)]
    if not answered:
        raise EstimateError(
            "the cases name no authors; let models answer with `calm answer` and give its file with --calm-cases"
        )
    renamed, known = _named_as_judges(answered, members)
    if about is not None:
        _check_own(about, members, known)
    stated = {**_stated(answered), **{m.model: m.family for m in members if m.family}, **(families or {})}
    found = families_of([*(m.model for m in members), *known], stated)
    chosen = _sampled(renamed, sample, seed)
    if family == "pairwise":
        chosen = [one for case in chosen for one in _both_orders(case, about)]
    if family == "rubric":
        chosen = [with_truth(case) for case in chosen]
    leaking = () if about is None else leaks(about, _makers(answered), {**stated, **_writers(answered)})
    return Crossing(tuple(members), tuple(chosen), found, leaking)


def arranged_for(judge: Judge, wanted: Wanted, seed: int) -> Crossing:
    """
    Return who is asked about which cases to test one judge; a peer that is the same model is left out.

    Raises `EstimateError` and `ConfigError` as `arrange` does.
    """
    first = member_of(judge)
    peers = [peer for peer in wanted.peers if plain(peer.model) != plain(first.model)]
    return arrange([first, *peers], wanted.cases, about=first.model, sample=wanted.sample, seed=seed)


def _check_own(about: str, members: Sequence[Member], authors: Sequence[str]) -> None:
    if about not in authors:
        raise EstimateError(
            f"the judge's model {about!r} wrote none of the answers (authors: {', '.join(sorted(authors))}); "
            "let it answer, too, with `calm answer`"
        )
    if len(members) < 2:
        raise EstimateError(
            "there is no other judge to compare with; name some of other families with --calm-peers a.toml,b.toml"
        )


def _named_as_judges(cases: Sequence[Case], members: Sequence[Member]) -> tuple[list[Case], list[str]]:
    """Return the cases with each author under the name that its judge has, and the names of all authors."""
    by_plain = {plain(m.model): m.model for m in members}
    names = {a.author: by_plain.get(plain(a.author), a.author) for c in cases for a in c.answers if a.author}

    def renamed(answer: Answer) -> Answer:
        return replace(answer, author=names.get(answer.author or ""))

    changed = [replace(case, answers=tuple(renamed(a) for a in case.answers)) for case in cases]
    return changed, sorted(set(names.values()))


def _sampled(cases: Sequence[Case], sample: int | None, seed: int) -> list[Case]:
    items = sorted({item_of(case) for case in cases}, key=lambda item: digest("sample", seed, item))
    kept = set(items if sample is None else items[:sample])
    return sorted((case for case in cases if item_of(case) in kept), key=lambda case: case.id)


def _both_orders(case: Case, about: str | None) -> list[Case]:
    """Return a pair in both of its orders; nothing if it is not about the author in question."""
    first, second = case.answers
    if first.author == second.author or about not in (None, first.author, second.author):
        return []
    return [
        replace(case, id=f"{case.id}{letter}", order=tuple(a.id for a in order))
        for letter, order in (("a", (first, second)), ("b", (second, first)))
    ]


def messages_for(case: Case) -> tuple[Message, ...]:
    """Return what a model is sent: the question as a person would put it, after what it is about."""
    about = [f"{name}:\n{text}" for name, text in case.fields.items() if text.strip()]
    return (Message("user", "\n\n".join([*about, case.question])),)


def with_truth(case: Case) -> Case:
    """Return a rubric case with the truth of each criterion that a program can verify, for each of its answers."""
    checked = [c for c in case.criteria if c.check is not None]
    if not checked:
        return case
    met = {a.id: dict(case.met.get(a.id, {})) | _truth(checked, a.text) for a in case.answers}
    return replace(case, met=met)


def _truth(criteria: Sequence[Criterion], text: str) -> dict[str, bool]:
    return {c.id: verify(c.check, text) for c in criteria if c.check is not None}


def _stated(cases: Iterable[Case]) -> dict[str, str]:
    """Return the families that cases state for their authors."""
    found: dict[str, str] = {}
    for case in cases:
        if FAMILIES_TAG in case.tags:
            try:
                said = json.loads(case.tags[FAMILIES_TAG])
            except ValueError:
                said = None
            if not isinstance(said, dict) or not all(isinstance(v, str) for v in said.values()):
                raise ConfigError(
                    f"case {case.id}: tags.{FAMILIES_TAG}: expected a JSON object of models and families, got "
                    f"{case.tags[FAMILIES_TAG]!r}"
                )
            found |= said
    return found


def _makers(cases: Iterable[Case]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for case in cases:
        for tag, role in MAKERS.items():
            for name in filter(None, (part.strip() for part in case.tags.get(tag, "").split(","))):
                found.setdefault(role, set()).add(name.partition(" (")[0])
    return {role: models - {"rules"} for role, models in found.items()}


def _writers(cases: Iterable[Case]) -> dict[str, str]:
    """Return the families that tags such as `scribe (gpt)` give."""
    parts = {part.strip() for case in cases for tag in MAKERS for part in case.tags.get(tag, "").split(",")}
    return {part.partition(" (")[0]: part.partition(" (")[2].rstrip(")") for part in parts if part.endswith(")")}


# ----------------------------------------------------------------------------------------------------------- the asking


def ask(crossing: Crossing, engine: Engine) -> Crossed:
    """
    Return what each member says of each case, asked once and all at the same time.

    Raises:
        ConfigError: the server of a member does not answer, or a cap in dollars for a model without a price.
    """
    asking = [m for m in crossing.members if m.judge is not None]
    for member in asking:
        if member.judge is not None:
            engine.greet(member.judge)
    questions = [(m.judge, case, 1) for m in asking if m.judge is not None for case in crossing.cases]
    answers = iter(engine.ask_each(questions))
    judged: list[Judged] = []
    lost: Counter[str] = Counter()
    for member in crossing.members:
        for case in crossing.cases:
            verdict = next(answers).verdict if member.judge is not None else _recalled(member, case)
            if verdict is None:
                continue
            if isinstance(verdict, NoReply):
                lost[verdict.reason] += 1
            else:
                judged.append(Judged(member.model, case, _on_unit(verdict, member.scale)))
    return Crossed(crossing, tuple(judged), lost)


def _recalled(member: Member, case: Case) -> Verdict | None:
    found = member.recalled.get(identity(case))
    return None if found is None else decode(found)


def identity(case: Case) -> str:
    """Return what tells one case as it is asked from another: all that a judge may see of it."""
    bare = replace(case.blind(), better=None, met={}, scores={}, tags={}, id="")
    return digest(replace(bare, answers=tuple(replace(a, author=None) for a in bare.shown), order=()).content())


def _on_unit(verdict: Verdict, scale: Scale) -> Verdict:
    """Return a score as its place between the ends of its judge's scale, so that all judges have one."""
    if not isinstance(verdict, Score):
        return verdict
    return Score((verdict.value - scale.low) / (scale.high - scale.low))


# ---------------------------------------------------------------------------------------------------------- the figures


@dataclass(frozen=True)
class Tables:
    """The verdicts of all judges as tables, from which every figure is computed."""

    family: Family
    families: Mapping[str, str]
    rubrics: RubricTable | None = None
    scores: ScoreTable | None = None
    pairs: tuple[Judged, ...] = ()

    @cached_property
    def points(self) -> ScoreTable:
        """The scores, or what criteria that are met add up to, as a share of the points."""
        if self.scores is not None:
            return self.scores
        assert self.rubrics is not None
        values = rubric.scored(self.rubrics, self.rubrics.verdicts).values()
        return ScoreTable(self.rubrics.grid, self.rubrics.instances, values, 0.0, 1.0)

    def estimate(self, measure: str, model: str, seed: int) -> Estimate:
        """
        Return a figure of a judge, with two one-sided bounds at `LEVEL`.

        Raises `EstimateError` where the table does not allow it, or the figure is no figure of such verdicts.
        """
        rng = Random(digest("self-preference", seed))
        if measure == "self_preference_excess" and self.family == "pairwise":
            return pair_excess(self.pairs, model, self.families, level=LEVEL)
        if measure == "self_preference_excess":
            return framing_scores.score_excess(self.points, model, rng, level=LEVEL, of_scale=True)
        if measure == "self_preference_ratio" and self.rubrics is not None:
            if not (self.rubrics.truth != rubric.MISSING).any():
                raise EstimateError("of no criterion is it known whether these answers meet it: add `met` or a `check`")
            over = rubric.resample(rubric.overestimated_rubrics(self.rubrics), rng, DRAWS)
            return rubric.double_ratio(over, self.rubrics.grid, model, level=LEVEL)
        raise EstimateError(f"{measure} is no figure of {self.family} verdicts")

    def ratings(self) -> list[list[Hashable | None]]:
        """Return what each judge said of each answer, pair or criterion; None where it said nothing."""
        if self.rubrics is not None:
            marks = self.rubrics.verdicts.reshape(len(self.rubrics.grid.judges), -1).T
            return [[None if mark == rubric.MISSING else mark for mark in row] for row in marks.tolist()]
        if self.scores is not None:
            values = self.scores.scores.reshape(len(self.scores.grid.judges), -1).T
            return [[None if isnan(value) else value for value in row] for row in values.tolist()]
        judges = list(dict.fromkeys(one.judge for one in self.pairs))
        rows: dict[str, list[Hashable | None]] = {}
        for one in self.pairs:
            row = rows.setdefault(one.case.id, [None] * len(judges))
            row[judges.index(one.judge)] = str(code(one.verdict)) if readable(one.verdict) else None
        return list(rows.values())

    def panel(self) -> dict[str, Json]:
        """Return how far the judges agree, and whether the ranking of the authors rests on one of them."""
        if self.family == "pairwise":
            matrix = report.of_pairs(self.pairs, self.families).matrices[0]
            grid, means = (matrix.judges, matrix.generators), np.array(matrix.values, dtype=np.float64)
        else:
            points = self.points
            known = ~np.isnan(points.scores)
            with np.errstate(invalid="ignore"):
                means = np.where(known, points.scores, 0.0).sum(axis=2) / known.sum(axis=2)
            grid = points.grid.judges, points.grid.generators
        left = panels.stability(means, *grid)
        agreed = panels.agreements(self.ratings(), numeric=self.family == "score") if len(grid[0]) > 1 else {}
        return {
            "agreement": dict(agreed),
            "leave_one_out": [{"judge": one.judge, "tau": one.tau, "best": one.best} for one in left],
        }

    def report(
        self, seed: int, *, curves: Mapping[str, Curves] | None = None, leaking: Sequence[Leak] = ()
    ) -> SelfPreference:
        """Return all figures of all judges."""
        rng = Random(digest("self-preference", seed))
        if self.rubrics is not None:
            return report.of_rubrics(self.rubrics, rng, level=LEVEL, curves=curves, leaks=leaking)
        if self.scores is not None:
            return report.of_scores(self.scores, rng, level=LEVEL, curves=curves, leaks=leaking)
        return report.of_pairs(self.pairs, self.families, level=LEVEL, curves=curves, leaks=leaking)


def tables_of(crossed: Crossed) -> Tables:
    """
    Return the tables of what was said.

    Raises `EstimateError` where nothing was said that could be read.
    """
    families, judged, family = crossed.crossing.families, crossed.judged, crossed.crossing.family
    if not any(readable(one.verdict) for one in judged):
        raise EstimateError("no reply holds a verdict")
    if family == "rubric":
        return Tables(family, families, rubrics=rubric_table_of(judged, families))
    if family == "score":
        return Tables(family, families, scores=score_table_of(judged, families, UNIT))
    return Tables(family, families, pairs=tuple(judged))


def recorded_tables(judge: Tabled) -> Tables:
    """Return the tables that a recorded judge brings with it."""
    table = judge.table()
    if isinstance(table, RubricTable):
        return Tables("rubric", table.grid.families, rubrics=table)
    return Tables("score", table.grid.families, scores=table)


def decide_on(tables: Tables, model: str, claim: Claim, seed: int, *, log_scale: bool) -> Decision:
    """Return the decision of a claim about a judge of the tables: NOT_TESTED, with the reason, where they lack data."""
    try:
        found = tables.estimate(claim.measure, model, seed)
    except EstimateError as error:
        return Decision(claim.measure, claim, Outcome.NOT_TESTED, reason=str(error))
    outcome = decide(found, claim)
    needed = _needed(found, claim, log_scale=log_scale) if outcome is Outcome.UNDECIDED else None
    return Decision(claim.measure, claim, outcome, found, cases_to_decide=needed)


def _needed(found: Estimate, claim: Claim, *, log_scale: bool) -> int | None:
    if not log_scale:
        return cases_to_decide(found, claim, smallest_n(min(0.5, claim.limit), LEVEL))
    low, value, high, limit = (log(x) for x in (found.low, found.value, found.high, claim.limit))
    return cases_to_decide(replace(found, low=low, value=value, high=high), replace(claim, limit=limit), 2)


def trials_of(crossed: Crossed) -> Trials:
    """Return the verdicts of the judge in question as trials of one ask a case."""
    first = crossed.crossing.members[0]
    rows = tuple(_row(one) for one in crossed.judged if one.judge == first.model)
    scale = UNIT if crossed.crossing.family == "score" else first.scale
    return Trials(rows, crossed.crossing.family, scale, {}, crossed.lost, "1+0")


def _row(one: Judged) -> Trial:
    case = one.case
    return Trial(
        case=case.id,
        hash=identity(case)[:16],
        better=case.better,
        met=case.met.get(case.answers[0].id, {}) if len(case.answers) == 1 else {},
        points={c.id: c.points for c in case.criteria},
        clean=(one.verdict,),
    )


# ----------------------------------------------------------------------------------------------------------- the record


def record(figures: SelfPreference, tables: Tables, crossed: Crossed | None, seed: int) -> dict[str, Json]:
    """
    Return the figures as `calm-self-preference/1`, with every verdict that they rest on.

    `panel` says how far the judges agree and whether the ranking of the authors rests on one of them.

    `judged` holds, by judge and identity of a case, the code of its verdict; `cases` what the experiment knows of each.
    A recorded judge's verdicts ship with calm and are not repeated.
    """
    body: dict[str, Json] = json.loads(json.dumps(figures.to_json(), allow_nan=False))
    body |= {"seed": seed, "panel": tables.panel()}
    if crossed is None:
        return body
    said: dict[str, dict[str, Json]] = {m.model: {} for m in crossed.crossing.members}
    for one in crossed.judged:
        said[one.judge][identity(one.case)] = json.loads(json.dumps(code(one.verdict)))
    body["judged"] = [
        {
            "model": m.model,
            "task": m.task,
            "family": crossed.crossing.families[m.model],
            "fingerprint": m.fingerprint,
            "verdicts": said[m.model],
        }
        for m in crossed.crossing.members
    ]
    body["cases"] = {identity(case): _known(case) for case in crossed.crossing.cases}
    return body


def _known(case: Case) -> dict[str, Json]:
    shown = case.shown
    return {
        "id": case.id,
        "item": item_of(case),
        "answers": [a.id for a in shown],
        "authors": [a.author for a in shown],
        "better": case.better,
        "met": {answer: dict(truth.items()) for answer, truth in case.met.items()},
        "points": {c.id: c.points for c in case.criteria},
    }


def tables_from(body: Mapping[str, Json]) -> Tables:
    """
    Return the tables that a record of `record` was computed from: every figure can be computed again.

    Raises:
        ConfigError: it is no such record, or it holds no verdicts.
    """
    try:
        return _tables_from(body)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"expected a record of schema {report.SCHEMA!r} with its verdicts, got one that is damaged: "
            f"{type(error).__name__} {error}"
        ) from error


def _tables_from(body: Mapping[str, Json]) -> Tables:
    cases = {key: _case_from(known) for key, known in _object(body["cases"]).items()}
    judged: list[Judged] = []
    members: list[Member] = []
    for one in _array(body["judged"]):
        member = _member_from(_object(one))
        members.append(member)
        judged += [Judged(member.model, cases[key], decode(said)) for key, said in member.recalled.items()]
    families = {name: str(family) for name, family in _object(body["families"]).items()}
    crossing = Crossing(tuple(members), tuple(cases.values()), families)
    return tables_of(Crossed(crossing, tuple(judged)))


def members_from(body: Mapping[str, Json]) -> list[Member]:
    """
    Return the judges of a record, with their verdicts, as members that need not be asked.

    Raises:
        ConfigError: it is no such record, or it holds no verdicts.
    """
    try:
        if body.get("schema") != report.SCHEMA:
            raise TypeError(f"schema={body.get('schema')!r}")
        return [_member_from(_object(one)) for one in _array(body["judged"])]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"expected a record of `calm self-preference` with its verdicts, got {type(error).__name__} {error}"
        ) from error


def _member_from(one: Mapping[str, Json]) -> Member:
    tasks = [task for task in FAMILY if task == one["task"]]
    if not tasks:
        raise ValueError(f"task={one['task']!r}")
    verdicts: dict[str, Code] = {}
    for key, said in _object(one["verdicts"]).items():
        if isinstance(said, bool) or said is None:
            raise TypeError(f"the verdict {said!r}")
        verdicts[key] = said  # type: ignore[assignment]  # what `code` wrote; `decode` takes any other for a score
    fingerprint = one["fingerprint"]
    return Member(
        str(one["model"]),
        tasks[0],
        UNIT,  # scores were recorded by their place on the scale
        str(one["family"]),
        None if fingerprint is None else str(fingerprint),
        None,
        verdicts,
    )


def _case_from(known: Json) -> Case:
    body = _object(known)
    ids = [str(i) for i in _array(body["answers"])]
    authors = [None if a is None else str(a) for a in _array(body["authors"])]
    better = body["better"]
    points = {name: float(str(value)) for name, value in _object(body["points"]).items()}
    met = {a: {c: t is True for c, t in _object(truth).items()} for a, truth in _object(body["met"]).items()}
    return Case(
        id=str(body["id"]),
        question=str(body["item"]),
        answers=tuple(Answer(i, "", author) for i, author in zip(ids, authors, strict=True)),
        better=None if better is None else str(better),
        criteria=tuple(Criterion(name, "", value) for name, value in points.items()),
        met=met,
        tags={"item": str(body["item"])},
    )


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    return value


def _array(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    return value
