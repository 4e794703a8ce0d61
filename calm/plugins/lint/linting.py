"""The rules of the linter, the comments that allow what they find, and all of them on one prompt."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

from calm.errors import nearest
from calm.plugins.lint import answer_rules as on_answers
from calm.plugins.lint import verdict_rules as on_verdicts
from calm.plugins.lint.answer_rules import is_english
from calm.plugins.lint.page import Page, Place, Sources
from calm.plugins.lint.subject import CasesOf, Found, Subject, data, subjects_of

Severity: TypeAlias = Literal["error", "warning", "note"]
SEVERITIES: Final[tuple[Severity, ...]] = ("error", "warning", "note")
"""From the gravest: an error says that verdicts will be lost or wrong, a warning that a bias is likely."""
Basis: TypeAlias = Literal["measured", "published"]


@dataclass(frozen=True, slots=True)
class Rule:
    """
    A rule of the linter.

    `says` is the finding in words, with a place for each of its details. `basis` is "measured" where the finding itself
    is a measurement (calm rendered the prompt, or read a reply, and saw it), "published" where `evidence` names who
    showed that it matters. `stops` marks what makes an audit pointless.
    """

    id: str
    severity: Severity
    says: str
    why: str
    basis: Basis
    evidence: str
    fix: str
    stops: bool = False


RULES: Final[Mapping[str, Rule]] = {name: Rule(name, **given) for name, given in data("rules.toml").items()}
"""All rules by their id, in the order in which findings are listed within a line."""


_JINJA: Final = re.compile(
    r"\{#-?\s*(?:#\s*)?calm:\s*allow\b(.*?)-?#\}|\{\{!(?:--)?\s*(?:#\s*)?calm:\s*allow\b(.*?)(?:--)?\}\}", re.DOTALL
)
_TOML: Final = re.compile(r"^\s*#\s*calm:\s*allow\b(.*)$", re.MULTILINE)
_SENT: Final = re.compile(r"calm:\s*allow\b[ \t]*([\w-]*)")
OPTION: Final = "--allow"
"""Where an allow of the command line stands."""


@dataclass(frozen=True, slots=True)
class Allow:
    """A rule that is allowed, why, and where the allow is written."""

    rule: str
    reason: str
    place: Place


def allows_of(sources: Sources, page: Page, options: Sequence[str] = ()) -> list[Allow]:
    """Return the allows of some files and of the command line, without those that are sent to the model."""
    found = [_allow(words, Place(OPTION, 1)) for words in options]
    for source in sources.files:
        toml = source.file.endswith(".toml")
        for comment in (*_JINJA.finditer(source.text), *(_TOML.finditer(source.text) if toml else ())):
            said = next(group for group in comment.groups() if group is not None)
            line = source.text.count("\n", 0, source.text.index("calm:", comment.start())) + 1
            if comment[0].strip() not in page.text:
                found.append(_allow(said, Place(source.file, line)))
    return list(dict.fromkeys(found))


def _allow(words: str, place: Place) -> Allow:
    rule, _, reason = words.strip().partition(" ")
    return Allow(rule, reason.strip(" \t\r\n:-—"), place)


def sent(subject: Subject) -> Iterator[Found]:
    """Find allows that reach the model."""
    for found in _SENT.finditer(subject.page.text):
        yield Found("allow-sent", subject.at(found.start()), (found[1] or "nothing",))


def sorted_out(found: Sequence[Found], allows: Sequence[Allow]) -> tuple[list[Found], list[tuple[Found, Allow]]]:
    """Return what was found and is not allowed, with what is wrong with the allows, and what is allowed."""
    good = [one for one in allows if one.reason and one.rule in RULES]
    by_rule = {one.rule: one for one in reversed(good)}
    allowed = [(one, by_rule[one.rule]) for one in found if one.rule in by_rule]
    left = [one for one in found if one.rule not in by_rule]
    used = {one.rule for one, _ in allowed}
    for allow in allows:
        if allow.rule not in RULES:
            name = repr(allow.rule) if allow.rule else "nothing"
            left.append(Found("allow-unknown", allow.place, (name, nearest(allow.rule, RULES) if allow.rule else "")))
        elif not allow.reason:
            left.append(Found("allow-without-reason", allow.place, (allow.rule,)))
        elif allow.rule not in used:
            left.append(Found("allow-unused", allow.place, (allow.rule,)))
    return left, allowed


Check: TypeAlias = Callable[[Subject], Iterator[Found]]

_STRUCTURE: Final[tuple[Check, ...]] = (*on_answers.STRUCTURE, *on_verdicts.STRUCTURE)
_WORDING: Final[tuple[Check, ...]] = (*on_answers.WORDING, *on_verdicts.WORDING)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that will go wrong: the rule, the place, and the details for the rule's words."""

    rule: Rule
    place: Place
    details: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What was found, in a sentence."""
        return self.rule.says.format(*self.details)

    @property
    def evidence(self) -> str:
        """What shows that it matters."""
        return self.rule.evidence.format(*self.details)

    @property
    def fix(self) -> str:
        """What to do."""
        return self.rule.fix.format(*self.details)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A finding that a comment allows, and why."""

    finding: Finding
    reason: str


@dataclass(frozen=True, slots=True)
class Linted:
    """What the rules found in a file, gravest first; `english` is False where rules of wording were left out."""

    findings: tuple[Finding, ...]
    accepted: tuple[Accepted, ...] = ()
    english: bool = True

    @property
    def worst(self) -> Severity | None:
        """The gravest severity of the findings; None without any."""
        return self.findings[0].rule.severity if self.findings else None

    def at_least(self, severity: Severity) -> bool:
        """Return whether a finding is as grave as that, or graver."""
        return self.worst is not None and SEVERITIES.index(self.worst) <= SEVERITIES.index(severity)


def lint(subjects: Sequence[Subject], options: Sequence[str] = ()) -> Linted:
    """Return what the rules find in the prompts of one file; `options` are the allows of the command line."""
    findings: dict[Finding, None] = {}
    accepted: dict[Accepted, None] = {}
    english = True
    for subject in subjects:
        speaks = is_english(subject.page.prose)
        english &= speaks
        found = [one for check in (*_STRUCTURE, *(_WORDING if speaks else ())) for one in check(subject)]
        found += sent(subject)
        left, allowed = sorted_out(found, allows_of(subject.sources, subject.page, options))
        findings |= dict.fromkeys(map(_finding, left))
        accepted |= dict.fromkeys(Accepted(_finding(one), why.reason) for one, why in allowed)
    return Linted(tuple(sorted(findings, key=_rank)), tuple(accepted), english)


def _finding(found: Found) -> Finding:
    return Finding(RULES[found.rule], found.place, found.details)


def _rank(one: Finding) -> tuple[int, str, int, int]:
    return SEVERITIES.index(one.rule.severity), one.place.file, one.place.line, list(RULES).index(one.rule.id)


def of_file(path: Path, cases_of: CasesOf | None = None) -> Linted:
    """Return what the rules find in a judge.toml. Raises `ConfigError` as `subjects_of` does."""
    return lint(subjects_of(path, cases_of))
