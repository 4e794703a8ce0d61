"""The verdicts of a judge on some cases, each asked once or more: from tables, and from the results of runs of calm."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Final, Literal, TypeAlias

import numpy as np

from calm.cases.foreign.columns import NOTHING, is_number, unknown_columns
from calm.cases.foreign.records import Row, Table, load, names_of, written
from calm.cases.logs.judgments import Judgment, scaled, usual_scale
from calm.core.agreement import on_scale
from calm.core.files import record_at
from calm.core.trials import Trial
from calm.core.verdict import Criteria, Scale, Score, Verdict, code, readable
from calm.errors import FEW, ConfigError, closest, few_of, series
from calm.plugins.gates.risk import Asked
from calm.results.wording import clipped

Said: TypeAlias = tuple[str, str, Hashable]
"""A case, what it is about (such as its question), and what the judge said of it in one ask (None: no verdict)."""

Kind: TypeAlias = Literal["score", "pairwise", "label"]
"""What a run says of an answer: its score, or whether its preference or class is right by the gold label."""

KINDS: Final[Mapping[Kind, str]] = {"score": "scores of an answer", "pairwise": "verdicts on pairs", "label": "classes"}
NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "case": ("case", "case_id", "id", "test", "test_id", "item", "item_id", "question_id", "name", "question", "input"),
    "score": ("score", "verdict", "pass", "passed", "success", "rating", "result", "value"),
    "repeat": ("repeat", "ask", "run", "attempt", "trial"),
    "group": (
        "group",
        "group_id",
        "cluster",
        "question_id",
        "question",
        "item_id",
        "item",
        "prompt_id",
        "prompt",
        "input",
    ),
}
"""What a column can hold, and the columns that are taken for it without a word of the user, the first that is there."""
METRICS: Final = frozenset({"metric", "metric_name", "evaluator", "evaluator_name", "scorer", "judge", "criterion"})
"""The columns whose words tell verdicts apart that are no repeats of each other."""
SILENT: Final = frozenset({"nan", "null", "none", "na", "n/a", "!unreadable", "!refused", "!no-reply"})
"""What stands for no verdict, in lower case."""
_RECORD: Final = re.compile(rb'"schema":\s*"calm-(?:results|baseline|calibration)/')
"""How a record of calm begins."""
_SIGHT: Final = 400
_LONG: Final = 24
WIDEST: Final = 1e9
"""The widest scale."""
FAR: Final = 10.0
"""Beside shares of 1, scores that all lie beyond this one are on another scale."""
WIDER: Final = 5.0
"""One score that makes the usual scale of all others more than so many times as wide is likely a slip."""
LEAST_VALUES, ENOUGH = 3, 10
"""Of fewer different scores, or fewer scores, none is likely a slip."""


@dataclass(frozen=True, slots=True)
class Verdicts:
    """
    What a judge said: the cases by name, and their asks as numbers, with the high end of the scale good.

    `scale.upright` turns a number of the judge so, and back. `unread` asks hold no verdict, `silent` cases none in any
    ask: both are left out. `groups` counts what the cases are about, such as their questions. `kind` is None for a
    table, and where the user said what a verdict is worth.
    """

    name: str
    cases: tuple[str, ...]
    asked: Asked
    scale: Scale
    unread: int
    silent: tuple[str, ...]
    groups: int
    kind: Kind | None

    @property
    def plain(self) -> bool:
        """Whether the verdicts are the ends of a scale from 0 to 1."""
        return (self.asked.low, self.asked.high) == (0, 1) and bool(np.isin(self.asked.values, (0.0, 1.0)).all())

    def of(self, names: Sequence[str]) -> Verdicts:
        """Return the verdicts on some of the cases, in their order."""
        place = {name: number for number, name in enumerate(names)}
        numbers = np.array([place.get(name, -1) for name in self.cases])[self.asked.of]
        held = numbers >= 0
        kept = replace(self.asked, of=numbers[held], values=self.asked.values[held])
        return replace(self, cases=tuple(names), asked=kept)

    def passing(self, mark: float | None) -> Verdicts:
        """
        Return which asks pass, as 0 and 1: those whose score is the mark or better.

        Raises:
            ConfigError: no mark, and verdicts that are not pass or fail.
        """
        values = self.asked.values
        if mark is None and not self.plain:
            low, high = sorted(self.scale.upright(float(end)) for end in (values.min(), values.max()))
            raise ConfigError(
                f"{self.name}: expected verdicts that pass or fail, got scores from {low:g} to {high:g} on a scale "
                f"from {self.scale.low:g} to {self.scale.high:g}; say the worst score that passes: --pass-mark X"
            )
        limit = 1.0 if mark is None else self.scale.upright(mark)
        asked = Asked(self.asked.of, (values >= limit - 1e-9).astype(float), 0.0, 1.0)
        return replace(self, asked=asked, scale=Scale(0.0, 1.0))


def read_verdicts(
    paths: Sequence[Path],
    maps: Sequence[str],
    words: Sequence[str],
    scale: Scale | None = None,
    *,
    low_is_good: bool = False,
) -> Verdicts:
    """
    Return the verdicts of some files about the same system: the asks of each case in all of them.

    Args:
        paths: tables, results of runs, or folders that `calm audit` wrote.
        maps: `FIELD=COLUMN` for a table, of `NAMES`; `score` may be said several times, for a column of each ask.
        words: `WORD=NUMBER`, with no word for asks without a verdict, or `WORD=none` for what is no verdict.
        scale: the scale of scores; None: that of the run, or the usual one that holds them all.
        low_is_good: whether low scores are good; those of a run say it themselves.

    Raises:
        ConfigError: a file that cannot be read, a column that is not there, or verdicts without a meaning.
    """
    columns, meant = _columns(maps), _words(words)
    nothing = meant.pop("", None)
    name = few_of([str(path) for path in paths], FEW)
    sources: dict[str, list[Said]] = {}
    kinds: dict[str, Kind | None] = {}
    for path in paths:
        if _is_record(path):
            sources[str(path)], own, kinds[str(path)] = _recorded(path, meant)
            scale = scale or own
        else:
            sources |= _tabled(load(path, what="verdicts in a table, or results of a run"), columns, meant)
    refuse_kinds(kinds)
    said = [ask for asks in sources.values() for ask in asks]
    distinct = [value for value in dict.fromkeys(value for _, _, value in said) if value is not None]
    if scale is None:
        _refuse_slip(name, said)
        _refuse_scales({source: {value for _, _, value in asks} for source, asks in sources.items()})
    try:
        placed = scaled([Judgment(name, "", "", (), value) for value in distinct], meant, scale)
    except ConfigError as error:
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from error
    scale = replace(placed.scale, best="low") if low_is_good else placed.scale
    if scale.high - scale.low > WIDEST:
        raise ConfigError(
            f"{name}: expected a scale at most {WIDEST:g} wide, got {scale.low:g}..{scale.high:g}; rescale the scores"
        )
    number = dict(zip(distinct, placed.values, strict=True)) | {None: nothing}
    read = [(case, group, value) for case, group, one in said if (value := number[one]) is not None]
    if not read:
        raise ConfigError(
            f"{name}: expected verdicts, got none in {len(said)} asks; name their column: --map score=COLUMN, or say "
            "what such an ask is worth: --value WORD=NUMBER"
        )
    place = {case: number for number, case in enumerate(dict.fromkeys(case for case, _, _ in read))}
    of = np.array([place[case] for case, _, _ in read])
    asked = Asked(of, np.array([scale.upright(value) for _, _, value in read]), scale.low, scale.high)
    silent = tuple(dict.fromkeys(case for case, _, _ in said if case not in place))
    groups = len({group for _, group, _ in read})
    kind = next((one for one in kinds.values() if one), None)
    return Verdicts(name, tuple(place), asked, scale, len(said) - len(read), silent, groups, kind)


def refuse_kinds(kinds: Mapping[str, Kind | None]) -> None:
    """
    Refuse the verdicts of judges with different tasks.

    Raises:
        ConfigError: a record of one kind, and a record of another.
    """
    known = {name: kind for name, kind in kinds.items() if kind}
    first = next(iter(known), "")
    for name, kind in known.items():
        if kind != known[first]:
            raise ConfigError(
                f"{name}: expected {KINDS[known[first]]}, as in {first}, got {KINDS[kind]}: these judges have "
                "different tasks, so a mark of the one means nothing for the other; give judges of one task"
            )


def _columns(maps: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in maps:
        name, equals, column = text.partition("=")
        if name not in NAMES or not equals or not column:
            close = closest(name, NAMES)
            hint = f"; did you mean {close}={column or 'COLUMN'}?" if close and close != name else ""
            known = series([f"{one}=COLUMN" for one in NAMES], "or")
            raise ConfigError(f"--map: expected {known}, got {text!r}{hint}")
        if name != "score" and name in found:
            raise ConfigError(f"--map: expected {name} once, got {found[name][0]!r} and {column!r}; keep one")
        found.setdefault(name, []).append(column)
    return found


def _words(texts: Sequence[str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for text in texts:
        word, equals, value = text.rpartition("=")
        if not equals or not (is_number(value) or value == NOTHING):
            raise ConfigError(
                f"--value: expected WORD=NUMBER, =NUMBER for an empty cell, or WORD=none for no verdict, got {text!r}"
            )
        found[word] = None if value == NOTHING else float(value)
    return found


def _is_record(path: Path) -> bool:
    if record_at(path) != path:
        return True
    with suppress(OSError, ValueError), path.open("rb") as file:
        return _RECORD.search(file.read(_SIGHT)) is not None
    return False


def _tabled(
    table: Table, named: Mapping[str, Sequence[str]], words: Mapping[str, float | None]
) -> dict[str, list[Said]]:
    """Return the asks of a table, by the column where it has several of them."""
    flat = {f"{field}.{n}" if n else field: one for field in named for n, one in enumerate(named[field])}
    if unknown := unknown_columns(flat, table):
        raise ConfigError(unknown)
    scores = list(named.get("score", ())) or _scores(table)
    _refuse_metrics(table)
    case, repeat, group = (_one(table, field, named) for field in ("case", "repeat", "group"))
    if case is None and len(scores) == 1:
        raise ConfigError(
            f"{table.name}: expected a column that names the cases, got {names_of(table.columns)}; name it: "
            "--map case=COLUMN"
        )
    names = [f"{table.name}: {column}" if len(scores) > 1 else table.name for column in scores]
    found: dict[str, list[Said]] = {one: [] for one in names}
    seen: dict[tuple[str, str], int] = {}
    for record, row in enumerate(table.rows, 1):
        name = str(record) if case is None else _name(row, case)
        if not name:
            raise ConfigError(f"{table.name}: record {record}: {case}: expected the name of a case, got none; add it")
        if repeat is not None and (first := seen.setdefault((name, _name(row, repeat)), record)) != record:
            raise ConfigError(
                f"{table.name}: record {record}: expected one verdict on case {name!r} in {repeat} "
                f"{_name(row, repeat)!r}, got another one in record {first}; keep one, or number the asks"
            )
        about = name if group is None else _name(row, group) or name
        for source, column in zip(names, scores, strict=True):
            found[source].append((name, about, _value(row.get(column), words)))
    return found


def _refuse_metrics(table: Table) -> None:
    """Refuse rows of several metrics: each would be taken for one more ask of its case."""
    for column in (one for one in table.columns if one.strip().lower() in METRICS):
        if len(found := list(dict.fromkeys(_name(row, column) for row in table.rows))) > 1:
            raise ConfigError(
                f"{table.name}: expected the verdicts of one judge, got {len(found)} in {column!r} "
                f"({few_of([clipped(one, _LONG) for one in found], FEW)}); keep the rows of one, as others are no "
                f"repeats, or take the column {column!r} out if they are"
            )


def _one(table: Table, field: str, named: Mapping[str, Sequence[str]]) -> str | None:
    lower = {column.strip().lower(): column for column in reversed(table.columns)}
    return named[field][0] if field in named else next((lower[one] for one in NAMES[field] if one in lower), None)


def _scores(table: Table) -> list[str]:
    """Return the column of the verdicts, or those of each ask, by their names."""
    plain = [one for one in table.columns if one.strip().lower() in NAMES["score"]]
    numbered = re.compile(rf"(?:{'|'.join(NAMES['score'])}|run|repeat|ask)[ _.-]?\d+", re.IGNORECASE)
    each = [one for one in table.columns if numbered.fullmatch(one.strip())]
    if len(plain) == 1 or (each and not plain):
        return plain or each
    got = f"several ({', '.join(plain)})" if plain else "none"
    raise ConfigError(
        f"{table.name}: expected one column of what the judge said, got {got}; name it: --map score=COLUMN (its "
        f"columns: {names_of(table.columns)})"
    )


def _name(row: Row, column: str) -> str:
    return written(row.get(column)).strip()


def _value(value: object, words: Mapping[str, float | None]) -> str | None:
    """Return a cell as it is written; None for no verdict."""
    word = (written(value) or str(value)).strip()
    return None if not word or (word.lower() in SILENT and word not in words) else word


def _refuse_slip(name: str, said: Sequence[Said]) -> None:
    """Refuse one score that is far outside of all others."""
    counts = Counter(float(str(one)) for _, _, one in said if is_number(str(one)))
    ordered = sorted(counts)
    if len(ordered) < LEAST_VALUES or counts.total() < ENOUGH:
        return
    for slip, others in ((ordered[-1], ordered[:-1]), (ordered[0], ordered[1:])):
        near = min(abs(slip - one) for one in others) <= max(b - a for a, b in pairwise(others))
        if counts[slip] == 1 and not near and _wide(ordered) > WIDER * _wide(others):
            case = next(one for one, _, value in said if is_number(str(value)) and float(str(value)) == slip)
            raise ConfigError(
                f"{name}: case {clipped(case, _LONG)!r}: expected a score like all others, {others[0]:g} to "
                f"{others[-1]:g}, got {slip:g}; correct it, or say the scale if it is right: --scale LOW..HIGH"
            )


def _wide(scores: Sequence[float]) -> float:
    """Return how wide the usual scale of some scores is."""
    try:
        scale = usual_scale(scores)
    except ConfigError:
        return inf
    return scale.high - scale.low


def _refuse_scales(said: Mapping[str, Iterable[Hashable]]) -> None:
    """Refuse shares of 1 beside larger scores: in another file or column, or in the same one where it looks so."""
    numbers = {source: [float(str(one)) for one in values if is_number(str(one))] for source, values in said.items()}
    shares = [source for source, found in numbers.items() if _holds_shares(found)]
    large = [source for source, found in numbers.items() if found and max(found) > 1]
    if shares and large:
        raise ConfigError(
            f"{shares[0]}: expected scores on one scale, got shares of 1 here and scores up to "
            f"{max(numbers[large[0]]):g} {'here, too' if large[0] == shares[0] else f'in {large[0]}'}; rescale one of "
            "them, or say the scale of both with --scale LOW..HIGH"
        )


def _holds_shares(found: Sequence[float]) -> bool:
    """Return whether scores are shares of 1, maybe beside others: nothing is near 1, or only shares have fractions."""
    small, large = [one for one in found if 0 < one < 1], [one for one in found if one > 1]
    apart = all(one > FAR for one in large)
    whole = not any(one % 1 for one in large)
    far = apart and (whole or len(small) > 1)  # one alone may be a low score of the large scale
    return bool(small) and (far or (whole and any(one % 0.5 for one in small)))


def _recorded(path: Path, words: Mapping[str, float | None]) -> tuple[list[Said], Scale | None, Kind | None]:
    """
    Return the clean asks of a run of calm, the scale of its judge, and what the verdicts are.

    A rubric is the share of its points; a preference or a class is right or wrong by the gold label, unless `words`
    say what it is worth.
    """
    from calm.results.baseline import read_record
    from calm.results.records import family_of, scale_of, untouched

    place = record_at(path)
    audit = read_record(place)
    scale, rows = scale_of(audit.judge), untouched(audit)
    found = [(row.case, row.cluster, _worth(verdict, row, scale, words)) for row in rows for verdict in row.clean]
    if not found:
        raise ConfigError(
            f"{place}: expected verdicts on cases as they are, got none; run suites/test_consistency.py, too"
        )
    if audit.judge.task == "listwise":
        raise ConfigError(
            f"{place}: expected verdicts that pass or have a score, got rankings: no gate is made of these"
        )
    if all(value is None for _, _, value in found):
        kinds = list(dict.fromkeys(str(code(v)) for row in rows for v in row.clean if readable(v)))
        values = " ".join(f"--value {one}=1" for one in kinds[:2]) or "--value WORD=1"
        raise ConfigError(f"{place}: no verdict has a gold label; say what each verdict is worth, such as {values}")
    family = family_of(audit.judge.task)
    kind: Kind | None = "score" if family in ("score", "rubric") else None
    if family in ("pairwise", "label") and not words:
        kind = "pairwise" if family == "pairwise" else "label"
    return found, scale if family == "score" else Scale(0.0, 1.0), kind


def _worth(verdict: Verdict, row: Trial, scale: Scale, words: Mapping[str, float | None]) -> Hashable:
    if isinstance(verdict, Score):
        return scale.upright(verdict.value)
    if not readable(verdict):
        return None
    if isinstance(verdict, Criteria):
        known = {name: met for name, met in verdict.met.items() if met is not None}
        return on_scale(known, row.points or dict.fromkeys(verdict.met, 1.0), Scale(0.0, 1.0))
    said = code(verdict)
    if words:
        return str(said).removeprefix("~")
    return None if row.better is None or isinstance(said, list) else float(said == row.better)
