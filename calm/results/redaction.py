"""
Records without texts, for artefacts of confidential suites: numbers, codes and digests stay, what quotes a text goes.

Nothing here looks for texts in a sentence. A detail of the type `Said` is what somebody else said. It is left out,
since the error of a judge or a server may quote the whole reply. All other details are names, numbers and codes, and
stay.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from calm.core.measures import Unit
from calm.core.plugins import hook
from calm.core.reasons import Kind, Reason, Said, because, ordered
from calm.models.wire import Json
from calm.results.audit import Audit, Finding

NOTE = because(Kind.TEXTS_LEFT_OUT)
WHY = because(Kind.HIDDEN_WHY)
OTHER = because(Kind.HIDDEN_LOSS)
ANOTHER = because(Kind.HIDDEN_NOTE)
ABOUT = ("served_as", "provider", "base_url", "family", "callable", "reads", "mitigations", "files")
"""The keys of what a judge says of itself that hold no text of a prompt."""
EXTRAS = ("self_preference", "mitigations")
"""Analyses of names, numbers and codes; a digest replaces any longer text in them."""
PROTOCOL = "calm_protocol"
"""An analysis that is made of the findings."""

_NAME = re.compile(r"[\w./:@+~!-]{0,80}(?: [\w./:@+~!-]{1,20}){0,3}")
_DIGEST = re.compile(r"[0-9a-f]{16}")


def without_texts(audit: Audit) -> Audit:
    """Return an audit with the same numbers and codes, and without anything that may hold a text."""
    judge = audit.judge
    notes = [bare(note, ANOTHER) for note in audit.run.notes if note != NOTE]
    bared = replace(
        audit,
        judge=replace(
            judge,
            about={name: value if name in ABOUT else digested(value) for name, value in judge.about.items()},
            parameters={name: digested(value) for name, value in judge.parameters.items()},
        ),
        findings=tuple(finding_without_texts(f) for f in audit.findings),
        tests=tuple(replace(one, reason=bare(one.reason, WHY)) for one in audit.tests),
        faults=tuple(dict.fromkeys(bare(fault, ANOTHER) for fault in audit.faults)),
        run=replace(audit.run, notes=tuple(dict.fromkeys([*notes, NOTE]))),
        texts=(),
        extras={name: _named(body) if name in EXTRAS else digested(body) for name, body in audit.extras.items()},
    )
    if PROTOCOL in audit.extras and (figures := hook("record")) is not None:
        made: Audit = figures(bared)  # computed anew from what is left
        return made
    return bared


def finding_without_texts(finding: Finding) -> Finding:
    """Return a finding whose reasons hold no quotes."""
    excluded: Counter[Reason] = Counter()
    for reason, count in finding.excluded.items():
        excluded[bare(reason, OTHER)] += count
    unused: Counter[Reason] = Counter()
    for reason, count in finding.unused.items():
        unused[bare(reason, OTHER)] += count
    return replace(finding, reason=bare(finding.reason, WHY), excluded=ordered(excluded), unused=ordered(unused))


def bare(reason: Reason, instead: Reason) -> Reason:
    """
    Return a reason without quotes; `instead` replaces each part that does.

    >>> from calm.core.reasons import reason_of
    >>> str(bare(because(Kind.CONTROL, reason_of("the reply was: ...")), WHY))
    'the control: why is left out with the texts'
    """
    if reason.kind is Kind.CHANGES and reason.quotes:
        return because(Kind.HIDDEN_CHANGES)
    if any(isinstance(detail, Said) for detail in reason.details):
        return instead
    return Reason(reason.kind, tuple(bare(d, WHY) if isinstance(d, Reason) else d for d in reason.details))


def digested(value: Json) -> Json:
    """
    Return a number or a truth value as it is, and the digest of anything that can hold a text.

    >>> digested(0.5), digested("think of a number")
    (0.5, {'sha256': '0833a16361e998c3'})
    """
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, Mapping) and set(value) == {"sha256"} and _DIGEST.fullmatch(str(value["sha256"])):
        return value
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return {"sha256": sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]}


def _named(value: Json) -> Json:
    if isinstance(value, dict):
        return {name: _named(inner) for name, inner in value.items() if _NAME.fullmatch(name)}
    if isinstance(value, list):
        return [_named(inner) for inner in value]
    plain = not isinstance(value, str) or value in set(Unit) or _NAME.fullmatch(value)
    return value if plain else digested(value)
