"""The results of a run as data frames: `calm.load("results.json")`."""

from __future__ import annotations

import os
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from calm.core.files import record_at
from calm.results.audit import Audit
from calm.results.tabular import CASES, FINDINGS, FLIPS, Cell, Table, whole
from calm.results.wording import printable

if TYPE_CHECKING:
    import pandas as pd

    from calm.results.reports.plots import Plots

DTYPES: Final = {"string": "string", "bool": "boolean", "int32": "Int32", "int64": "Int64", "double": "float64"}
"""The dtype of each kind of column; an outcome is an ordered category, from the worst to the best."""


class Results:
    """
    The results of a run as pandas data frames. Each frame is made when it is first asked for; they are plain copies.

    A missing text or count is `pandas.NA`, a missing number is NaN. Texts of cases, prompts and replies are there if
    the run kept them in the file beside the results.
    """

    def __init__(self, audit: Audit, source: str = "") -> None:
        self._audit, self._source = audit, source

    @cached_property
    def findings(self) -> pd.DataFrame:
        """A row for each finding: key, claim, outcome, value with its bounds, flips, and what inert words did."""
        return _frame(FINDINGS, self._audit)

    @cached_property
    def trials(self) -> pd.DataFrame:
        """A row for each ask: the case, the edit, the arm, and the verdict. Claims about the same rows share them."""
        from calm.results.reports.tables import TRIALS

        return _frame(TRIALS, self._audit)

    @cached_property
    def cases(self) -> pd.DataFrame:
        """A row for each case: its gold label, its usual verdict, under how many edits it was shown, and its flips."""
        return _frame(CASES, self._audit)

    @cached_property
    def flips(self) -> pd.DataFrame:
        """A row for each case whose verdict an edit moved: from what to what, and the texts, if they were kept."""
        return _frame(FLIPS, self._audit)

    @property
    def outcome(self) -> str:
        """The outcome of the whole run: PASS, FAIL, UNDECIDED or INCOMPLETE."""
        return self._audit.outcome.value

    @property
    def plot(self) -> Plots:
        """The plots: `results.plot.intervals()` and `results.plot.flips()`. They need matplotlib."""
        from calm.results.reports.plots import Plots

        return Plots(self._audit)

    def __repr__(self) -> str:
        from calm.results.compare import RANK

        judge, counts = self._audit.judge, [(o, len(self._audit.of(o))) for o in RANK]
        told = ", ".join(f"{count} {outcome.value}" for outcome, count in counts if count)
        return printable(f"<calm results of {judge.name} ({judge.task}): {self.outcome}; findings: {told or 'none'}>")

    def _repr_html_(self) -> str:
        from calm.results.reports import markdown

        return markdown.card(self._audit, self._source)

    def _repr_markdown_(self) -> str:
        from calm.results.reports import markdown

        return markdown.card_markdown(self._audit, self._source)


def load(path: str | os.PathLike[str]) -> Results:
    """
    Return the results in a file, as data frames.

    Args:
        path: a file that `--calm-results` or `calm audit` wrote, a baseline or a calibration, of this or an older
            version; or the folder of `calm audit`. Texts are read from the file beside it, if there is one.

    Raises:
        ConfigError: no such file, no record of calm, or not as calm wrote it.

    Example:
        >>> results = load("calm-audit")  # doctest: +SKIP
        >>> results.findings.query("outcome == 'FAIL'")[["key", "value", "low", "high"]]  # doctest: +SKIP
    """
    from calm.results.baseline import read_record

    source = record_at(Path(path))
    return Results(read_record(source), str(source))


def _frame(table: Table, audit: Audit) -> pd.DataFrame:
    import pandas as pd

    from calm.results.compare import RANK

    columns: dict[str, list[Cell]] = {name: [] for name in table.columns}
    for row in table.rows(audit):
        for name, values in columns.items():
            values.append(whole(row[name]))
    outcomes = pd.CategoricalDtype([outcome.value for outcome in RANK], ordered=True)
    return pd.DataFrame(
        {
            name: pd.Series(values, dtype=outcomes if table.columns[name] == "outcome" else DTYPES[table.columns[name]])
            for name, values in columns.items()
        }
    )
