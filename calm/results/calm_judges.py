"""Several judges beside each other, as in Tables 4 and 5 of CALM (arXiv 2410.02736): a row each, figures by column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from calm.core.files import read_json, refuse_twice
from calm.errors import ConfigError
from calm.results.audit import read
from calm.results.calm_protocol import (
    ALIGNMENT,
    BIASES,
    ENHANCEMENT,
    FACT,
    CalmProtocol,
    Ratio,
    Share,
    calm_protocol,
    enhancement_of,
)

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
    """Return what counts the replies of an arm without a verdict, of a bias or of all."""

    def get(found: CalmProtocol) -> Figure:
        biases = found.biases if bias is None else (found.of(bias),)
        counts = [one.unread[arm].count for one in biases if arm in one.unread]
        return sum(counts) if counts else None

    return get


def _intensity(group: str) -> Callable[[CalmProtocol], Figure]:
    return lambda found: found.intensity.get(group)


def _part(figure: str, part: str) -> Callable[[CalmProtocol], Figure]:
    """Return what gets a part of a figure that is made of two means."""

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
    """Return whether any row has a figure; of what is seldom, whether any has one other than 0 before or after."""
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
    """Refuse judges of one task that were asked about different cases: their rates cannot be compared."""
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
    """Return the rows with Err_SE of a record of `calm self-preference`, and whom of it the table does not have."""
    judges = body.get("judges")
    listed = [str(one.get("judge")) for one in judges if isinstance(one, dict)] if isinstance(judges, list) else []
    made, used = [], set[str]()
    for row, one in zip(rows, found, strict=True):
        mine = next((name for name in (one.model, one.name) if name in listed), None)
        error = enhancement_of(body, mine or "")
        if error is None:
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
