"""
Records without texts, for artefacts of confidential suites: numbers, codes and digests stay, what quotes a text goes.

Nothing here looks for texts in a sentence. What is known to hold none is kept, and everything else is left out: the
error of a judge or a server may quote the whole reply.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256

from calm.core.claims import Outcome
from calm.models.wire import Json
from calm.results.audit import Audit, Finding
from calm.results.gatefile import WORSENING
from calm.selfpreference.symbols import TABLE_MEASURES

NOTE = "texts were left out of this record: no question, answer, prompt or reply is in it"
WHY = "why is left out with the texts"
OTHER = "lost, or for a reason left out with the texts"
ANOTHER = "a note of the run is left out with the texts"
ABOUT = ("served_as", "provider", "base_url", "family", "callable", "reads", "mitigations", "files")
"""What a judge says of itself that holds no text of a prompt."""
EXTRAS = ("self_preference", "mitigations")
"""Analyses that hold names, numbers and codes; of what is in them and looks like more, a digest is kept."""

_UNITS = (
    "mean score",
    "share of pairs won",
    "score minus true score, centred by row",
    "attack success rate, net of a clean re-ask",
    "gain of the attacked answer",
)
"""What the values of a heat map are."""
_NAME = re.compile(r"[\w./:@+~!-]{0,80}(?: [\w./:@+~!-]{1,20}){0,3}")
_DIGEST = re.compile(r"[0-9a-f]{16}")
_WORD = r"[\w.@+=()-]{1,60}"
_EDIT = rf"(?:rotate\({_WORD}(?:, {_WORD}){{0,60}}(?:, name='{_WORD}')?\)|{_WORD})"
_SENTENCES = (
    r"a cap was reached: --calm-max-(?:calls|tokens|usd|minutes) [\d.e+]+",
    r"the run was stopped",
    r"does not apply",
    r"would change the truth of a criterion",
    r"refused: (?:blank|unchanged|length|names|gold|numbers|new words|kept words|code|final answer|[\w-]{1,20})",
    r"the judge is shown no [a-z _-]{1,80}",
    r"the judge has no prompt that can be rewritten",
    r"the prompt is the judge's own, and the edit knows the wording of the bundled prompts alone",
    r"no gold label(?:, and the pilot verdict could not be read)?",
    r"no (?:treated answer|readable verdict in an arm|room to gain|value in both runs)",
    r"no reply of the (?:clean|perturbed) arm holds a verdict",
    r"nothing was damaged",
    r"the treated answer won already",
    r"(?:not in this run|another edit or content|another treated answer)",
    r"(?:the rendered prompts are equal|there are no cases|one variant of a rotation|other reasons)",
    r"its verdicts were given once, beforehand: it serves [a-z -]{1,200} alone",
    rf"{_WORD} needs \d+\+\d+ asks a case, --calm-repeats gives \d+\+\d+",
    r"needs more asks a case than \d+\+\d+",
    r"\d+ cases?: an estimate needs two",
    rf"{_EDIT} serves [a-z, ]{{1,60}}; the judge's task is [a-z-]{{1,20}}",
    r"[a-z-]{1,20} verdicts have none",
    r"no reply holds a verdict",
    r"--calm-cache=replay: this call is not in the cache, and no call may be made",
    r"\w{1,40} holds one verdict a question; run it with --calm-repeats 1\+1",
)
_SENTENCE = rf"(?:one variant of a rotation: )?(?:the control: )?(?:{'|'.join(_SENTENCES)})"
_KNOWN = re.compile(_SENTENCE)
_COUNTED = rf"{_SENTENCE}(?: \(\d+ cases?\))?"
_PLAIN = re.compile(rf"{_COUNTED}(?:; {_COUNTED})*")
"""All that calm itself says of why a case is left out, or a claim is open; an error of a judge is none of it."""
_MODEL = r"'[^'\n]{1,100}'"
_CHANGED = re.compile(r"(since the baseline )(?!something changed).*", re.DOTALL)  # it may show parameters: a schema
_NOTES = re.compile(
    rf"{_MODEL} is served by {_MODEL} now and was by {_MODEL}: earlier replies are not reused"
    rf"|(?:the server of|calls to) {_MODEL} (?:reports no usage|that failed may be billed): "
    r"its cost is an upper estimate"
    rf"|{_MODEL} did not keep to the schema of its replies at the first call: they are read as they stand; "
    r"`calm try --server` tells what the server keeps to"
    r"|\d+ tests had other cases or another judge; the record names the first's"
    r"|stopping early: \d+ asks were needed, [\d.%]+ (?:fewer|more) than the \d+ of all cases before any top-up"
    r"|two findings with one key: [^\n]*"
    r"|the run was interrupted: the record holds only what was decided before"
    r"|\d+ of \d+ tests did not run: [^\n]*"
    r"|--calm-gate: [^\n]*"
    r"|panel [^\n:]{1,400}: [^\n:]{1,100} gave no verdict in \d+ of \d+ asks; the panel went without it"
    r"|panel [^\n:]{1,400}: its members agree: [a-zA-Z\d.,' -]{1,100}"
)


def without_texts(audit: Audit) -> Audit:
    """Return an audit with the same numbers and codes, and without anything that may hold a text."""
    quoted = {f.reason for f in audit.findings if f.measure != WORSENING and _reason(f, set()) != f.reason}
    judge = audit.judge
    notes = [note if _NOTES.fullmatch(note) else ANOTHER for note in audit.run.notes if note != NOTE]
    return replace(
        audit,
        judge=replace(
            judge,
            about={name: value if name in ABOUT else digested(value) for name, value in judge.about.items()},
            parameters={name: digested(value) for name, value in judge.parameters.items()},
        ),
        findings=tuple(_bare(f, quoted) for f in audit.findings),
        run=replace(audit.run, notes=tuple(dict.fromkeys([*notes, NOTE]))),
        texts=(),
        extras={name: _named(body) if name in EXTRAS else digested(body) for name, body in audit.extras.items()},
    )


def finding_without_texts(finding: Finding) -> Finding:
    """Return a finding whose reasons quote nobody."""
    return _bare(finding, set())


def _bare(finding: Finding, quoted: set[str]) -> Finding:
    return replace(finding, reason=_reason(finding, quoted), excluded=_excluded(finding))


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
    """Return data with names, numbers and codes as they are, and the digest of any longer text."""
    if isinstance(value, dict):
        return {name: _named(inner) for name, inner in value.items() if _NAME.fullmatch(name)}
    if isinstance(value, list):
        return [_named(inner) for inner in value]
    plain = not isinstance(value, str) or value in _UNITS or _NAME.fullmatch(value)
    return value if plain else digested(value)


def _reason(finding: Finding, quoted: set[str]) -> str:
    if finding.measure == WORSENING:
        return _compared(finding.reason, quoted)
    said, gate, accepted = finding.reason.partition("gate.toml, until ")  # a person wrote what follows
    said = said.removesuffix("; ")
    safe = not said or _of_table(finding) or _PLAIN.fullmatch(said)
    return finding.reason if safe else "; ".join([WHY, *([f"{gate}{accepted}"] if gate else [])])


def _of_table(finding: Finding) -> bool:
    """Return whether the reason is that a figure cannot be had: what has it reads names and numbers, and no text."""
    return finding.measure in TABLE_MEASURES and finding.outcome is Outcome.NOT_TESTED


def _compared(reason: str, quoted: set[str]) -> str:
    for other in sorted(quoted, key=len, reverse=True):  # it repeats why a claim of this run is open
        reason = reason.replace(other, WHY)
    return _CHANGED.sub(r"\1something changed, and what is left out with the texts", reason)


def _excluded(finding: Finding) -> dict[str, int]:
    """Return how many cases were left out, by reason; lost replies have the words of an error as theirs."""
    counts: Counter[str] = Counter()
    for reason, count in finding.excluded.items():
        counts[reason if _KNOWN.fullmatch(reason) else OTHER] += count
    return dict(sorted(counts.items()))
