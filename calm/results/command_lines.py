"""The commands that a report gives to its reader, ready for a shell: each names judge, cases, and all that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.case import COPY
from calm.core.shell import join
from calm.core.trials import CUED
from calm.results.audit import Audit, Finding, TrialRecord
from calm.results.records import family_of
from calm.results.remedies import remedies
from calm.results.smallest import command, spec

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
    """Return how a command names an edit; a record of an earlier version holds no names, and the label may do."""
    known = finding.commands.get(label)
    return label if known is None and not audit.run.judge and not finding.commands else known


def _treated(finding: Finding, row: TrialRecord) -> str:
    """Return the id of the answer that was treated, of several; a copy that was harmed goes by that of its original."""
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
    """Return whether a test is one of the shipped suites, which `calm mitigate` runs without a path."""
    folder = node.partition("::")[0].replace("\\", "/").rpartition("/")[0]
    return folder in ("", "suites") or f"/{SUITES.replace('.', '/')}/" in f"/{folder}/"
