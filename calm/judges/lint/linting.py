"""All rules on one prompt."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from calm.judges.lint import allows
from calm.judges.lint.catalogue import RULES, SEVERITIES, Rule, Severity
from calm.judges.lint.language import is_english
from calm.judges.lint.places import Place
from calm.judges.lint.rules import labels, references, scales, shown, slots, verdicts
from calm.judges.lint.subject import Found, Subject

Check: TypeAlias = Callable[[Subject], Iterator[Found]]

_STRUCTURE: Final[tuple[Check, ...]] = (
    *(shown.answers, shown.leftovers, shown.unknown, shown.question, shown.parts, shown.room, shown.late),
    *(labels.order, labels.author, slots.delimited, slots.closable),
    *(verdicts.asked, verdicts.read, verdicts.ends, verdicts.twice),
)
"""Rules that look at what stands where, in any language."""
_WORDING: Final[tuple[Check, ...]] = (
    *(shown.reference, labels.rank, labels.tie, slots.orders, slots.last_words, references.rule_of_use),
    *(scales.stated, scales.ordered, scales.directed, verdicts.order, verdicts.form),
)
"""Rules that look for English words."""


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
        found += allows.sent(subject)
        left, allowed = allows.sorted_out(found, allows.allows_of(subject.sources, subject.page, options))
        findings |= dict.fromkeys(map(_finding, left))
        accepted |= dict.fromkeys(Accepted(_finding(one), why.reason) for one, why in allowed)
    return Linted(tuple(sorted(findings, key=_rank)), tuple(accepted), english)


def _finding(found: Found) -> Finding:
    return Finding(RULES[found.rule], found.place, found.details)


def _rank(one: Finding) -> tuple[int, str, int, int]:
    return SEVERITIES.index(one.rule.severity), one.place.file, one.place.line, list(RULES).index(one.rule.id)
