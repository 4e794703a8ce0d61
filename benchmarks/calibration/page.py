"""The page: a table for each part of `rows`, each number with its error, what must hold, and the first design."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from benchmarks.calibration.conditions import Figure
from benchmarks.calibration.coverage import SHOWN
from benchmarks.calibration.kept import Kept
from benchmarks.calibration.rows import Row, rows


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its title, what is said above it, and the columns, by the names of their numbers."""

    title: str
    note: str
    columns: Mapping[str, str]
    red: bool = False
    """Whether a last column says which claims made a run red most often."""


CALLS: Final = "calls"
FEWEST: Final = 10
"""The page shows no row of fewer seeds."""
TABLES: Final[Mapping[str, Table]] = {
    "sound": Table(
        "Sound judges",
        "The whole default gate on judges without any bias: repeats are alive, errors are drawn anew for each prompt "
        "and ask. Green means exit code 0. The judges are described above; `beta` errs with Beta(.4, 3.6) by case.",
        {"green": "green", "fail": "any FAIL", CALLS: "calls"},
        red=True,
    ),
    "equal answers": Table(
        "Sound judges and equal answers",
        "What a judge does with two equally good answers is no bias. Noise is how often it does something else.",
        {"green": "green", "fail": "any FAIL", CALLS: "calls"},
        red=True,
    ),
    "equal answers alone": Table(
        "Judges that a cue moves between equal answers alone",
        "Such a judge always prefers right to wrong, but for its noise of .05. The cues of one probe decide a share of "
        "the equal pairs; no other cue does anything.",
        {"green": "green", "named": "FAIL in that probe", "others": "FAIL elsewhere", CALLS: "calls"},
    ),
    "own answers": Table(
        "Sixty answers of a user's own, without gold",
        "Each case has one answer, which stands beside its copy. Limits fit the cases. First sound judges, then "
        "ones that a cue moves between equal answers. A judge that tosses a coin is not green in a quarter of the "
        "runs: each wording has too few of sixty answers to show that it decides nothing.",
        {"green": "green", "fail": "any FAIL", "named": "FAIL in that probe", "others": "FAIL elsewhere",
         CALLS: "calls"},
        red=True,
    ),
    "temperature 0": Table(
        "Temperature 0",
        "A server that repeats itself: the same prompt gets the same reply. Any other wording, inert or not, turns the "
        "verdict over in the share of prompts that the row names (on scores it moves by two points, on a rubric every "
        "criterion turns); where errors are frozen, the clean prompt may be an error as well. Pairs of which any words "
        "turn over a tenth are not green: where a probe passed early, `run/gain` has no inert words to take off.",
        {"green": "green", "fail": "any FAIL", "says rewording": "says that the judge turns on rewording",
         "says repeats": "says that repeats are equal", CALLS: "calls"},
        red=True,
    ),
    "2 % everywhere": Table(
        "A little bias in every probe",
        "Each edit decides 2 % of the cases, others in each probe.",
        {"green": "green", "fail": "any FAIL", CALLS: "calls"},
        red=True,
    ),
    "one probe": Table(
        "One biased probe among sound ones",
        "The edit of one probe (`authority`) decides a share of the cases; all others do nothing.",
        {"green": "green", "named": "FAIL in that probe", "others": "FAIL elsewhere", CALLS: "calls"},
    ),
    "one variant of 20": Table(
        "One variant of twenty",
        "In the rotation with the most variants one of them, another for each seed, wins a share of the cases that get "
        "it. The figures are those of `worst_pull <= 0.50`.",
        {"FAIL": "FAIL", "UNDECIDED": "UNDECIDED", "PASS": "PASS", CALLS: "calls of the probe alone"},
    ),
    "at a limit": Table(
        "Judges exactly at a limit",
        "The true value is the limit itself. Cases of one question share what the judge thinks of them and whether the "
        "edit decides them. Claims about a run are those of whole gates; all others are of one probe alone. Where all "
        "probes turn the same cases, a bound of the run errs more often than the nominal .05.",
        {"PASS": "PASS", "FAIL": "FAIL", CALLS: "calls"},
    ),
    "few cases": Table(
        "Few cases, limits that fit",
        "The suites take the strictest limits that a sound judge with noise .10 proves with so many cases; between two "
        "equal answers it says tie. First whole gates of sound judges, with what the first line of a run promises of "
        "that one. `IRT` errs by the difficulty of each case, and is right so often. Then a cue that decides one, two "
        "and three times as many equal pairs as its limit, judges exactly at a limit, and one variant of twenty that "
        "is truly beyond `worst_gain <= 0.30`: there green is that of the claim.",
        {"green": "green", "promised": "promised", "fail": "any FAIL", "named": "FAIL in that probe", "PASS": "PASS",
         CALLS: "calls"},
        red=True,
    ),
    "coverage": Table(
        "Coverage of one-sided bounds at nominal .95",
        "2 clean asks, 1 inert and 1 edited one a case; an edit decides a tenth of the cases. Twins are equal pairs, "
        "asked with the cue on either side by a judge of noise .05. Each bound alone.",
        {f"{measure} {end}": f"{measure} {end}" for measure in (*SHOWN["scores"], *SHOWN["twins"])
         for end in ("low", "high")},
    ),
    "other judges": Table(
        "Judges that are sound and difficult, or that change",
        "The whole default gate. Where the row names what must hold, the judge has no bias that the gate asks about.",
        {"green": "green", "fail": "any FAIL", CALLS: "calls"},
        red=True,
    ),
}  # fmt: skip

HEAD: Final = """# Calibration

What the gate promises, measured on simulated judges whose truth is known. The probes, the claims, the looks, the
decisions and the claims about the whole run are the product's own code: `calm.experiment.run`, then
`calm.results.pairing`, on the bundled cases (200 of each kind, and 126 pairs of equal answers). Only the judge and the
engine are simulated; `tests/power/test_calibration_harness.py` shows that the real engine finds the same.

```sh
python -m benchmarks.calibration --rows numbers.jsonl  # measure; a later run goes on from there
python -m benchmarks.calibration --rows numbers.jsonl --write docs/measured/calibration.md
pytest tests/power -k calibration  # hold the gate to what this page promises
```

Every number is shown with its Monte-Carlo error (one standard deviation; of a share that is 0 or 1, that of one seed in
all), then with what must hold, then with the same figure of the first design, where one was measured before that design
was replaced. In **bold**: the number misses what must hold by more than two errors. No row of fewer than ten seeds is
shown. The judges were not tuned to the edits: no law knows an edit but by the name of its probe.

- A judge of pairs has a probability of error for each case: 0, .05 or .10 everywhere; "30 % close calls" U(.2, .8) and
  else .03; "5 % coins" .5 and else .04; on an honestly tied case it says tie with .9. A close call is one between two
  answers: whether an answer was harmed is none, so that a harmed copy is missed as often as clear cases are.
- Between two equal answers a judge of pairs says tie, takes the first, tosses a coin, or likes one of the two texts
  (the last, unless a row says otherwise). As often as it errs, it does something else. A cue decides the same share of
  equal pairs as of pairs with a wrong answer, unless a row says otherwise.
- A judge of scores has a quality for each case, uniform over the scale. With noise, an ask is anything on the scale
  that often; a judge with hard cases is two points off, up or down, as often as the judge of pairs errs. A judge of
  rubrics errs as often in each criterion.
- Where an edit "decides" a case, the edited answer wins in .97 of the asks (always, if the judge never errs), gains
  35 % of the scale, or gets all its points.
- Calls are different asks: those of the clean arm, of the pilot and of inert arms that probes share are counted once.
"""


def page(kept: Kept, measured: str) -> str:
    """Return the page from what is kept; `measured` says where and when that was."""
    parts = [HEAD, f"{measured}\n"]
    told = [row for row in rows() if kept.seeds(row.key) >= FEWEST]
    for name, table in TABLES.items():
        if found := [row for row in told if row.table == name]:
            parts.append("\n".join(_table(table, found, kept)))
    return "\n".join(parts) + "\n"


def _table(table: Table, wanted: list[Row], kept: Kept) -> Iterator[str]:
    yield f"## {table.title}\n\n{table.note}\n"
    heads = ["judge", "seeds", *table.columns.values(), *(["red most often by"] if table.red else [])]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for row in wanted:
        figures = kept.figures(row.key)
        runs = kept.seeds(row.key)
        cells = [_cell(row, name, figures, runs) for name in table.columns]
        yield f"| {row.label} | {runs} | {' | '.join([*cells, *([_red(figures)] if table.red else [])])} |"
    yield ""


def _cell(row: Row, name: str, figures: Mapping[str, Figure], runs: int) -> str:
    """Return a number with its error, what must hold, and what the first design did."""
    for own in (name, *(f"{name} {key}" for key in _run_key(row))):
        one = figures.get(own)
        if one is None and (own in row.least or own in row.most or name in row.before):
            one = Figure(0.0, 1 / runs, runs)
        if one is None:
            continue
        least, most = row.least.get(own), row.most.get(own)
        missed = (least is not None and one.value + 2 * one.error < least) or (
            most is not None and one.value - 2 * one.error > most
        )
        said = [f"≥ {least:g}"] if least is not None else []
        said += [f"≤ {most:,g}"] if most is not None else []
        said += [f"before {row.before[name]}"] if row.before.get(name) else []
        shown = f"**{one}**" if missed else str(one)
        return f"{shown} ({'; '.join(said)})" if said else shown
    return "–"


def _run_key(row: Row) -> tuple[str, ...]:
    """Return the key of the claim about a run that a row is about."""
    key = row.label.partition(" ")[0]
    return (key,) if key.startswith("run/") else ()


def _red(figures: Mapping[str, Figure]) -> str:
    """Return which claims were red most often."""
    found = sorted(((one.value, name) for name, one in figures.items() if name.startswith("red ")), reverse=True)
    return ", ".join(f"`{name.removeprefix('red ')}` {value:.3f}" for value, name in found[:3]) or "–"
