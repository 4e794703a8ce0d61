"""`--calm-texts none`: what pytest itself says of a test with a probe holds no text of a case, a prompt or a reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.options import option

if TYPE_CHECKING:
    from calm.gate.probe import Probe


def private(config: pytest.Config) -> bool:
    """Return whether every text is to be left out."""
    return option(config, "texts") == "none"


def veil_findings(made: Probe) -> None:
    """Let the findings of a probe, and so what an assertion shows of them, quote nobody."""
    from calm.results.redaction import finding_without_texts

    made.context.findings = [finding_without_texts(f) for f in made.context.findings]
    for proof in made.context.proofs:
        proof.findings = tuple(finding_without_texts(f) for f in proof.findings)


def veil_report(
    item: pytest.Item, raised: pytest.ExceptionInfo[BaseException] | None, report: Any, made: Probe | None
) -> None:
    """
    Take out of a report what was printed, and of a failure everything but its place and its kind.

    The message of an exception, the values that pytest shows of an assertion, and a traceback's own lines may all hold
    a text; a setting that is wrong must be said, and a skip says its reason.
    """
    from calm.errors import ConfigError

    report.sections = []
    if raised is None or raised.errisinstance(pytest.skip.Exception):
        return
    if raised.errisinstance(ConfigError):
        report.longrepr = str(raised.value)
        return
    if made is not None and report.when == "teardown" and str(raised.value) == made.complaint():
        return
    entry = next((e for e in reversed(raised.traceback) if str(e.path) == str(item.path)), None)
    path, number, _ = item.location
    place = f"{path}:{(number if entry is None else entry.lineno) + 1}" if number is not None else path
    report.longrepr = f"{place}: {raised.typename}; its message is left out with the texts"


def veil_assertion(report: Any, words: str) -> None:
    """Let a failed claim say its numbers."""
    place = str(report.longrepr).partition("; its message")[0]
    report.longrepr = f"{place}: {words}"
