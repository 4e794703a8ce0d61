"""Keep out of what pytest itself shows of a test: credentials, and texts with `--calm-texts none`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from calm.pytest_plugin.options import option
from calm.pytest_plugin.session import SESSION

if TYPE_CHECKING:
    from calm.gate.probe import Probe


def private(config: pytest.Config) -> bool:
    """Return whether every text is to be left out."""
    return option(config, "texts") == "none"


def shown_safely(report: Any) -> None:
    """Let nothing that pytest shows of a test with a probe act on a terminal: errors quote cases, servers and files."""
    from calm.results.wording import printable

    _clean(report, partial(printable, keep="\n\t"), set())


def without_credentials(report: Any) -> None:
    """
    Take all known credentials out of what pytest shows: messages, source lines, locals (`-l`), captured output, logs.

    A run in which calm knows of no credential is left alone, and imports nothing.
    """
    vault = sys.modules.get("calm.models.secrets")
    if vault is not None and vault.knows_any():
        _clean(report, vault.hidden_where_cut, set())


def clean_streams(config: pytest.Config) -> None:
    """
    Take all known credentials out of what comes past pytest's capture, until the run ends.

    That is what is printed with `-s`, or between two tests: the threads of a judge write when they like.
    """
    from calm.models.secrets import cleaned

    capture = config.pluginmanager.get_plugin("capturemanager")
    with capture.global_and_fixture_disabled() if capture is not None else nullcontext():
        config.stash[SESSION].rare.enter_context(cleaned())


def _clean(found: Any, clean: Callable[[str], str], seen: set[int]) -> Any:
    """Return what was found with its texts cleaned; objects of pytest are changed in place."""
    if isinstance(found, str):
        return clean(found)
    if found is None or isinstance(found, int | float | bytes | type | Path) or id(found) in seen:
        return found
    seen.add(id(found))
    if isinstance(found, list):
        found[:] = [_clean(one, clean, seen) for one in found]
    elif type(found) is tuple:
        return tuple(_clean(one, clean, seen) for one in found)
    elif isinstance(found, Warning):
        found.args = _clean(found.args, clean, seen)
    elif type(found).__module__.startswith(("_pytest.", "warnings")) and hasattr(found, "__dict__"):
        for name, value in vars(found).items():
            if (now := _clean(value, clean, seen)) is not value:
                object.__setattr__(found, name, now)
    return found


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
        from calm.results.wording import printable

        report.longrepr = printable(str(raised.value), "\n")
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
