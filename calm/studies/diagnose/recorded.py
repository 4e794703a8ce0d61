"""A record of a run: what it says about the judge's own noise and the wording of its prompt, without a call."""

from __future__ import annotations

from collections.abc import Mapping

from calm.core.case import Case
from calm.core.verdict import Criteria, Verdict
from calm.errors import ConfigError
from calm.perturbations.judge_prompt import BIAS
from calm.results.audit import Audit, Finding
from calm.results.records import family_of, rows_of
from calm.studies.diagnose.asking import Asked, repeats_itself
from calm.studies.diagnose.units import Cell, Unit, units_of
from calm.studies.diagnose.wordings import PROMPTS

BASE = "as it is"


def recorded(audit: Audit, cases: Mapping[str, Case]) -> Asked:
    """
    Return what a run asked of each case as it is, and with its judge's prompt in other words.

    The clean asks of the probes without an edit are repeats. The suite `judge-prompt` asks about other wordings, if it
    was run. `cases` gives the criteria their texts; a criterion of a case that is not among them has a name of its own.

    Raises:
        ConfigError: the record is damaged, or no case was asked twice.
    """
    if family_of(audit.judge.task) is None:
        raise ConfigError(f"the record: expected a task that calm knows, got task={audit.judge.task!r}")
    cells: dict[str, dict[str, tuple[Verdict, ...]]] = {}
    clusters: dict[str, str] = {}
    labels = {edit.label for edit in PROMPTS}
    for finding in audit.findings:
        if not _plain(finding) and finding.bias != BIAS:
            continue
        for row in rows_of(finding):
            of_case = cells.setdefault(row.case, {})
            clusters[row.case] = row.cluster
            if _plain(finding) and len(row.clean) > len(of_case.get(BASE, ())):
                of_case[BASE] = row.clean
            elif row.edit in labels:
                of_case.setdefault(row.edit, row.perturbed)
    units: list[Unit] = []
    for name, said in sorted(cells.items()):
        found = [Cell(BASE, "base", said[BASE], len(said[BASE]))] if said.get(BASE) else []
        found += [Cell(label, "prompt", told, len(told)) for label, told in sorted(said.items()) if label != BASE]
        if found and found[0].kind == "base":
            units += units_of(name, clusters[name], found, _criteria(name, said[BASE], cases.get(name)))
    if not any(len(unit.verdicts) > 1 for unit in units):
        raise ConfigError(
            "the record holds no case that was asked twice; run the gate with --calm-repeats=20+1 and "
            "suites/test_consistency.py, or diagnose the judge itself"
        )
    asked = sum(len(told) for said in cells.values() for told in said.values())
    return Asked(tuple(units), tuple(units), repeats_itself(units), asked)


def _plain(finding: Finding) -> bool:
    """Return whether a finding is about the cases as they are, in one order."""
    return finding.perturbation is None and not finding.expects and finding.against is None


def _criteria(name: str, said: tuple[Verdict, ...], case: Case | None) -> dict[str, str]:
    """Return the criteria that the verdicts on a case are about, by id, with their texts."""
    texts = {} if case is None else {one.id: one.text for one in case.criteria}
    ids = dict.fromkeys(one for verdict in said if isinstance(verdict, Criteria) for one in verdict.met)
    return {one: texts.get(one, f"{one} of case {name}") for one in ids}
