"""`--calm-texts none`: keep texts of cases, prompts and replies out of what pytest itself shows of a test."""

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
    """Take all quotations out of the findings of a probe, and so out of what an assertion shows of them."""
    from calm.results.redaction import finding_without_texts

    made.context.findings = [finding_without_texts(f) for f in made.context.findings]
    for proof in made.context.proofs:
        proof.findings = tuple(finding_without_texts(f) for f in proof.findings)


def veil_report(
    item: pytest.Item, raised: pytest.ExceptionInfo[BaseException] | None, report: Any, made: Probe | None
) -> None:
    """
    Take the printed output out of a report, and everything but place and kind out of a failure.

    The message of an exception, the values that pytest shows of an assertion, and the lines of a traceback may all
    hold a text. A wrong setting and the reason of a skip are still shown.
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
    report.place = f"{place}: {raised.typename}"
    report.longrepr = f"{report.place}; its message is left out with the texts"


def veil_assertion(report: Any, words: str) -> None:
    """Show the numbers of a failed claim."""
    report.longrepr = f"{getattr(report, 'place', report.longrepr)}: {words}"
