"""The result of an attack: as cases with its texts, as a record, and in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import cast

from calm.core.case import Case
from calm.core.claims import Estimate
from calm.core.reasons import Reason, counted, in_words
from calm.core.verdict import Verdict, as_written, code
from calm.experiment.setup import Setup
from calm.models.wire import Json
from calm.studies.attack.attack import ATTACK, ATTACKED, Attack
from calm.studies.writing.rewriting import WRITTEN_BY


def with_texts(cases: Iterable[Case], found: Attack, judge: str, method: str, writer: str = "") -> list[Case]:
    """Return cases with the texts that won as ready-made ones, and a tag that says against whom."""
    texts = {one.aim.source.id: (one.aim.case.target or "", one.text or "") for one in found.found}
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


def to_json(found: Attack, setup: Setup, method: str) -> dict[str, Json]:
    """Return a record of an attack; nothing in it depends on what was cached."""
    rows: list[Json] = []
    trials = {row.case: row for row in found.trials.rows}
    for one in sorted(found.sought, key=lambda s: s.aim.source.id):
        row = trials.get(one.aim.source.id)
        rows.append(
            {
                "case": one.aim.source.id,
                "target": one.aim.case.target,
                "pilot": _code(one.aim.pilot, setup),
                "edits": [e.label for e in one.edits] if one.found is not None else [],
                "asks": one.asks,
                "written": one.written,
                "refused": dict(sorted(one.refused.items())),
                "lost": str(one.lost),
                "skipped": str(one.skipped),
                "original": None if one.found is None else one.aim.case[one.aim.case.target].text,
                "text": one.text,
                "clean": [_code(v, setup) for v in row.clean] if row else [],
                "attacked": [_code(v, setup) for v in row.perturbed] if row and one.found is not None else [],
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
    counts: dict[str, list[int]] = {}
    for one in found.found:
        wins = found.wins(one)
        for edit in one.edits:
            pair = counts.setdefault(edit.label, [0, 0])
            pair[0] += 1
            pair[1] += wins is not None and wins >= 0.5
    ordered = sorted(counts.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
    return {name: (pair[0], pair[1]) for name, pair in ordered}


def summary(found: Attack, judge: str, method: str) -> str:
    """Return the result of an attack, for a terminal."""
    attacked = [s for s in found.sought if not s.skipped and not s.lost]
    asks = sum(s.asks for s in attacked) / len(attacked) if attacked else 0.0
    lines = [f"attack on {judge} by {method}: {len(attacked)} cases attacked, {asks:.1f} asks a case to search"]
    if found.incomplete:
        lines.append(f"INCOMPLETE: {found.incomplete}")
    for name, one in found.estimates.items():
        if isinstance(one, Reason):
            lines.append(f"{name}: not known: {one}")
        else:
            lines.append(f"{name} {one.value:.2f} [{one.low:.2f}, {one.high:.2f}], n={one.n}, fresh asks alone")
    held = sum((found.wins(s) or 0) >= 0.5 for s in found.found)
    word = "texts of an earlier attack" if method == "transfer" else "found by the search"
    lines.append(f"{word}: {len(found.found)}, of which {held} won at least half of their fresh asks")
    refused: Counter[str] = sum((s.refused for s in attacked if s.written), Counter())
    for title, counts in (("not attacked", found.trials.excluded), ("lost", found.trials.lost)):
        if counts:
            lines.append(f"{title}: {counted(counts)}")
    if refused:
        lines.append(f"refused: {_counted(refused)}")
    edits = edits_in(found)
    if edits:
        width = max(map(len, edits))
        lines += ["", f"{'edit'.ljust(width)}  stacks  held"]
        lines += [f"{name.ljust(width)}  {stacks:6}  {kept:4}" for name, (stacks, kept) in edits.items()]
    return "\n".join(lines)


def _counted(refused: Mapping[str, int]) -> str:
    ordered = sorted(refused.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)
