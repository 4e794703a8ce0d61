"""Figures and verdicts as a record, `calm-self-preference/1`; tables and judges from one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, TypeGuard

from calm.core.annotations import Annotation, Votes, choices_of, voted
from calm.core.case import TIE, Answer, Case, Criterion, Framing
from calm.core.families import Leak, Relation
from calm.core.order import ITEM, item_of
from calm.core.reasons import counted
from calm.core.verdict import FAMILY, Criteria, Family, Preferred, Scale, Score, Tie, Verdict, code, decode
from calm.errors import ConfigError
from calm.experiment.crossing import (
    AS_EVER,
    TWIN_OF,
    UNIT,
    CrossDesign,
    CrossResult,
    Judgment,
    Member,
    Wording,
    identity,
)
from calm.models.wire import Json
from calm.plugins.self_preference import report
from calm.plugins.self_preference.perplexity import Bin, Curves, LogPerplexities
from calm.plugins.self_preference.report import SelfPreference, Tables

NO_LABELS: Final = (
    "--votes: expected pairs with the labels of several people, got none; import the votes with `calm cases import "
    "--votes each`, or give the cases `labels`"
)


def record(figures: SelfPreference, tables: Tables, crossed: CrossResult | None, seed: int) -> dict[str, Json]:
    """
    Return the figures as `calm-self-preference/1`, with all verdicts behind them.

    `left_out` counts the cases that are left out for an author of unknown family, `questions` how many questions were
    asked about, and of how many these are a sample. `panel` says how far the judges agree and whether the ranking of
    the authors depends on one of them. `judged` holds, by judge and identity of a case, the code of its verdict, and
    its probabilities where it gave some, once for each wording in which it was asked; `cases` what the experiment knows
    of each. The verdicts of a recorded judge ship with calm and are not repeated.
    """
    body: dict[str, Json] = json.loads(json.dumps(figures.to_json(), allow_nan=False))
    body |= {"seed": seed, "panel": tables.panel(), **({"votes": tables.votes} if tables.votes else {})}
    if crossed is None:
        return body
    body["left_out"] = {**crossed.crossing.left_out}
    body["questions"] = {"n": crossed.crossing.items, "of": crossed.crossing.there}
    if crossed.lost:
        lost = sum(crossed.lost.values())
        whole = len(crossed.judged) + lost
        body["lost"] = {"n": lost, "of": whole, "why": str(counted(crossed.lost)), "missing": str(crossed.missing)}
    said: dict[tuple[str, Wording], dict[str, Json]] = {(m.model, m.wording): {} for m in crossed.crossing.members}
    shares: dict[tuple[str, Wording], dict[str, Json]] = {(m.model, m.wording): {} for m in crossed.crossing.members}
    for one in crossed.judged:
        key = identity(one.case)
        said[one.judge, one.wording][key] = json.loads(json.dumps(code(one.verdict)))
        if isinstance(one.verdict, Preferred | Tie) and one.verdict.probabilities is not None:
            shares[one.judge, one.wording][key] = {**one.verdict.probabilities}
    body["judged"] = [
        {
            "model": m.model,
            "task": m.task,
            "family": crossed.crossing.families[m.model],
            "fingerprint": m.fingerprint,
            "scale": {"low": (m.asked_scale or m.scale).low, "high": (m.asked_scale or m.scale).high},
            "dimension": m.wording.dimension,
            "framing": m.wording.framing.value,
            "verdicts": said[m.model, m.wording],
            "probabilities": shares[m.model, m.wording],
        }
        for m in crossed.crossing.members
    ]
    body["cases"] = {identity(case): _known(case) for case in crossed.crossing.cases}
    return body


def record_again(figures: SelfPreference, tables: Tables, known: Mapping[str, Json], seed: int) -> dict[str, Json]:
    """Return the figures that were computed from a record, with the verdicts and all else that it holds."""
    body = record(figures, tables, None, seed)
    return body | {name: value for name, value in known.items() if name not in body}


def recounted(known: Mapping[str, Json], votes: Votes) -> dict[str, Json]:
    """
    Return a record in which the gold of each pair is what the labels of several people make of it.

    Raises:
        ConfigError: it holds no such labels.
    """
    cases = {key: _object(case) for key, case in _object(known["cases"]).items()}
    labelled = {key: case for key, case in cases.items() if "labels" in case}
    if not labelled:
        raise ConfigError(NO_LABELS)
    for key, case in labelled.items():
        cases[key] = case | {"better": voted(map(str, _object(case["labels"]).values()), votes)}
    return {**known, "cases": {**cases}}


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
        "lengths": {c.id: len(c.text) for c in case.criteria},
        "scores": {**case.scores},
        **_labels(case),
        **({TWIN_OF: case.tags[TWIN_OF]} if TWIN_OF in case.tags else {}),
    }


def _labels(case: Case) -> dict[str, Json]:
    """Return which of two answers each of several people preferred."""
    ids = [answer.id for answer in case.answers]
    said = {who: choice for who, one in case.annotations.items() for choice in choices_of([one], ids)}
    return {"labels": {**said}} if said and len(ids) == 2 else {}


def crossed_from(body: Mapping[str, Json]) -> CrossResult:
    """
    Return the verdicts that a record of `record` was computed from: every figure can be computed again.

    Raises:
        ConfigError: it is no such record, or it holds no verdicts.
    """
    judged: list[Judgment] = []
    try:
        cases = {key: _case_from(known) for key, known in _object(body["cases"]).items()}
        members = [_member_from(_object(one)) for one in _array(body["judged"])]
        _check_verdicts(members, body)
        for one in members:
            judged += [Judgment(one.model, cases[key], said, one.wording) for key, said in one.recalled.items()]
        leaking = tuple(
            Leak(str(one["role"]), str(one["model"]), Relation(str(one["relation"])), str(one["judge"]))
            for one in map(_object, _array(body["leaks"]))
        )
        asked = _object(body["questions"])
        int(str(asked["n"]))  # a damaged count is no record
        crossing = CrossDesign(
            tuple(members),
            tuple(cases.values()),
            {name: str(family) for name, family in _object(body["families"]).items()},
            leaking,
            {name: int(str(count)) for name, count in _object(body["left_out"]).items()},
            int(str(asked["of"])),
        )
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(
            f"expected a record of schema {report.SCHEMA!r} with its verdicts, got one that is damaged: "
            f"{type(error).__name__} {error}; make it again with `calm self-preference -o`"
        ) from error
    return CrossResult(crossing, tuple(judged))


def curves_from(body: Mapping[str, Json]) -> dict[str, Curves]:
    """
    Return the perplexity curves of a record, by judge.

    Raises:
        ConfigError: they are not what `record` writes.
    """
    try:
        return {
            judge: Curves(
                **{
                    name: tuple(Bin(**_object(one)) for one in _array(bins))  # type: ignore[arg-type]  # numbers, as `Bin` has
                    for name, bins in _object(found).items()
                }
            )
            for judge, found in _object(body.get("curves", {})).items()
        }
    except TypeError as error:
        raise ConfigError(f"expected curves as `calm self-preference` writes them, got {error}") from error


def likely_from(body: Mapping[str, Json]) -> LogPerplexities:
    """
    Return the log-perplexities of a record: by judge, item and author, in nats a token.

    Raises:
        ConfigError: they are not what `record` writes.
    """
    try:
        return {
            judge: {
                item: {author: float(str(value)) for author, value in _object(by_author).items()}
                for item, by_author in _object(by_item).items()
            }
            for judge, by_item in _object(body.get("log_perplexities", {})).items()
        }
    except (TypeError, ValueError) as error:
        raise ConfigError(f"expected log-perplexities as `calm self-preference` writes them, got {error}") from error


def members_from(body: Mapping[str, Json]) -> list[Member]:
    """
    Return the judges of a record, with their verdicts in the usual wording, as members that are not asked.

    Raises:
        ConfigError: it is no such record, or it holds no verdicts.
    """
    try:
        if body.get("schema") != report.SCHEMA:
            raise TypeError(f"schema={body.get('schema')!r}")
        members = [_member_from(_object(one)) for one in _array(body["judged"])]
        _check_verdicts(members, body)
        return [one for one in members if one.wording == AS_EVER]
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigError(
            f"expected a record of `calm self-preference` with its verdicts, got {type(error).__name__} {error}"
        ) from error


def _member_from(one: Mapping[str, Json]) -> Member:
    tasks = [task for task in FAMILY if task == one["task"]]
    if not tasks:
        raise ValueError(f"task={one['task']!r}")
    model, family, fingerprint = (one[name] for name in ("model", "family", "fingerprint"))
    if not isinstance(model, str) or not isinstance(family, str) or not isinstance(fingerprint, str | None):
        raise TypeError(f"model={model!r}, family={family!r}, fingerprint={fingerprint!r}")
    shares = _object(one.get("probabilities", {}))
    verdicts = {
        key: _verdict_from(said, FAMILY[tasks[0]], shares.get(key)) for key, said in _object(one["verdicts"]).items()
    }
    # scores were recorded by their place on the scale
    wording = Wording(str(one.get("dimension", "")), Framing(str(one.get("framing", Framing.STANDARD.value))))
    scale = _scale_from(one.get("scale"))
    return Member(model, tasks[0], UNIT, family, fingerprint, None, verdicts, scale, wording)


def _scale_from(ends: Json) -> Scale | None:
    if ends is None:
        return None
    low, high = (_object(ends)[name] for name in ("low", "high"))
    if not _number(low) or not _number(high) or not low < high:
        raise ValueError(f"scale={ends!r}")
    return Scale(float(low), float(high))


def _verdict_from(said: Json, family: Family, shares: Json) -> Verdict:
    if isinstance(said, str) and said.startswith("!"):
        return decode(said)
    if family == "pairwise" and isinstance(said, str):
        verdict = decode(said)
        if shares is None or not isinstance(verdict, Preferred | Tie):
            return verdict
        known = _object(shares)
        if wrong := [value for value in known.values() if not _number(value) or not 0 <= value <= 1]:
            raise TypeError(f"the probability {wrong[0]!r}")
        return replace(verdict, probabilities={name: float(str(value)) for name, value in known.items()})
    if family == "score" and _number(said) and 0 <= said <= 1:
        return Score(float(said))
    if family == "rubric" and isinstance(said, dict):
        met = {name: value for name, value in said.items() if isinstance(value, bool | None)}
        if len(met) == len(said):
            return Criteria(met)
    raise TypeError(f"{said!r} as a {family} verdict")


def _case_from(known: Json) -> Case:
    body = _object(known)
    ids = [str(i) for i in _array(body["answers"])]
    authors = [None if a is None else str(a) for a in _array(body["authors"])]
    better, labels = body["better"], _object(body.get("labels", {}))
    for choice in (TIE if better is None else better, *labels.values()):
        _check_choice(choice, (*ids, TIE))
    points = {name: float(str(value)) for name, value in _object(body["points"]).items()}
    lengths = {name: int(str(value)) for name, value in _object(body.get("lengths", {})).items()}
    met = {a: {c: t is True for c, t in _object(truth).items()} for a, truth in _object(body["met"]).items()}
    return Case(
        id=str(body["id"]),
        question=str(body["item"]),
        answers=tuple(Answer(i, "", author) for i, author in zip(ids, authors, strict=True)),
        better=None if better is None else str(better),
        criteria=tuple(Criterion(name, "x" * lengths.get(name, 0), value) for name, value in points.items()),
        met=met,
        scores={a: float(str(value)) for a, value in _object(body.get("scores", {})).items()},
        annotations={who: Annotation(str(said)) for who, said in labels.items()},
        tags={ITEM: str(body["item"]), **({TWIN_OF: str(body[TWIN_OF])} if TWIN_OF in body else {})},
    )


def _check_verdicts(members: Sequence[Member], body: Mapping[str, Json]) -> None:
    cases = _object(body.get("cases", {}))
    for one in members:
        for key, said in one.recalled.items():
            if isinstance(said, Preferred) and key in cases:
                _check_choice(said.answer, [str(i) for i in _array(_object(cases[key])["answers"])])


def _check_choice(choice: Json, known: Sequence[str]) -> None:
    """A choice that names no answer was one of the other answer."""
    if choice not in known:
        raise ValueError(f"expected one of {', '.join(known)} as the better answer, got {choice!r}")


def _object(value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise TypeError(f"expected an object, got {type(value).__name__}")
    return value


def _array(value: Json) -> list[Json]:
    if not isinstance(value, list):
        raise TypeError(f"expected a list, got {type(value).__name__}")
    return value


def _number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
