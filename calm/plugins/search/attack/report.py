"""The result of an attack: as cases with its texts, as a record, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from typing import Final, cast

from calm.core.case import Case
from calm.core.claims import Estimate
from calm.core.reasons import Reason, counted, in_words
from calm.core.verdict import Verdict, as_written, code
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.plugins.search.attack.attack import ATTACK, Attack
from calm.plugins.search.hunt.proposers import BestOf
from calm.plugins.search.writing.rewriting import WRITTEN_BY

ATTACKED: Final = "attacked"
"""The tag of a case that says against which judge its text was found, and how."""


def with_texts(cases: Iterable[Case], found: Attack, judge: str, method: str, writer: str = "") -> list[Case]:
    """Return cases with the texts that won as ready-made ones, and a tag that says against whom."""
    texts = {one.subject.id: (one.subject.case.target or "", one.text or "") for one in found.found}
    made: list[Case] = []
    for case in cases:
        if case.id not in texts:
            made.append(case)
            continue
        answer, text = texts[case.id]
        tags = {**case.tags, ATTACKED: f"{judge}: {method}"}
        if writer:
            tags[WRITTEN_BY] = ", ".join(sorted({*filter(None, case.tags.get(WRITTEN_BY, "").split(", ")), writer}))
        variants = {**case.variants, ATTACK: {**case.variants.get(ATTACK, {}), answer: text}}
        made.append(replace(case, variants=variants, tags=tags))
    return made


def to_json(found: Attack, setup: Setup, method: str, writer: BestOf | None = None) -> dict[str, Json]:
    """Return a record of an attack; nothing in it depends on what was cached."""
    rows: list[Json] = []
    for one in sorted(found.attacked, key=lambda one: one.subject.id):
        subject = one.subject
        written = writer.of.get(subject) if writer else None
        rows.append(
            {
                "case": subject.id,
                "target": subject.case.target,
                "pilot": _code(subject.pilot, setup),
                "edits": list(one.edits),
                "asks": one.asks,
                "written": written.written if written else 0,
                "refused": dict(sorted(written.refused.items())) if written else {},
                "lost": str(one.lost),
                "skipped": str(one.skipped),
                "original": None if one.text is None else subject.original,
                "text": one.text,
                "clean": [_code(said.verdict, setup) for said in one.clean],
                "attacked": [_code(said.verdict, setup) for said in one.fresh],
            }
        )
    return {
        "schema": "calm-attack/1",
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "method": method,
        "seed": setup.seed,
        "repeats": str(setup.design),
        "incomplete": str(found.incomplete),
        "estimates": {name: _estimate(e) for name, e in found.estimates.items()},
        "found": len(found.found),
        "excluded": {**in_words(found.trials.excluded)},
        "lost": {**in_words(found.trials.lost)},
        "edits": {name: list(counts) for name, counts in edits_in(found).items()},
        "cases": rows,
    }


def _code(verdict: Verdict, setup: Setup) -> Json:
    return cast(Json, as_written(code(verdict), setup.judge.scale))


def _estimate(found: Estimate | Reason) -> Json:
    if isinstance(found, Reason):
        return {"reason": str(found)}
    ends = {"value": found.value, "low": found.low, "high": found.high, "level": found.level}
    return {**{name: round(number, 6) for name, number in ends.items()}, "n": found.n}


def edits_in(found: Attack) -> dict[str, tuple[int, int]]:
    """Return for each edit how many stacks with it won in the search, and in at least half of the fresh asks."""
    stacks = Counter(edit for one in found.found for edit in one.edits)
    held = Counter(edit for one in found.found if (one.wins or 0.0) >= 0.5 for edit in one.edits)
    return {edit: (stacks[edit], held[edit]) for edit in sorted(stacks, key=lambda e: (-held[e], -stacks[e], e))}


def summary(found: Attack, judge: str, method: str, writer: BestOf | None = None) -> str:
    """Return the result of an attack, for a terminal."""
    attacked = [one for one in found.attacked if not one.skipped and not one.lost]
    asks = sum(s.asks for s in attacked) / len(attacked) if attacked else 0.0
    lines = [f"attack on {judge} by {method}: {len(attacked)} cases attacked, {asks:.1f} asks a case to search"]
    if found.incomplete:
        lines.append(f"INCOMPLETE: {found.incomplete}")
    for name, one in found.estimates.items():
        if isinstance(one, Reason):
            lines.append(f"{name}: not known: {one}")
        else:
            lines.append(f"{name} {one.value:.2f} [{one.low:.2f}, {one.high:.2f}], n={one.n}, fresh asks alone")
    held = sum((one.wins or 0.0) >= 0.5 for one in found.found)
    word = "texts of an earlier attack" if method == "transfer" else "found by the search"
    lines.append(f"{word}: {len(found.found)}, of which {held} won at least half of their fresh asks")
    for title, counts in (("not attacked", found.trials.excluded), ("lost", found.trials.lost)):
        if counts:
            lines.append(f"{title}: {counted(counts)}")
    if writer:
        lines.append(str(writer))
    edits = edits_in(found)
    if edits:
        width = max(map(len, edits))
        lines += ["", f"{'edit'.ljust(width)}  stacks  held"]
        lines += [f"{name.ljust(width)}  {stacks:6}  {kept:4}" for name, (stacks, kept) in edits.items()]
    return "\n".join(lines)
