"""
Import CALM's own files: a JSON list of questions with their answers and ready-made perturbed answers.

The keys are `question`, `answer1` (the better one), `answer2`, `data_resource`, and for each perturbed answer its key
with a suffix, such as `answer2_longer` or `answer1_with_reference_book`: each becomes a variant, under the name of the
edit that does the same. A file of refinements has no `answer2`: its cases have one answer, for scoring.
"""

from __future__ import annotations

import re
from typing import Final

from calm.cases.foreign.naming import case_id, named
from calm.cases.foreign.records import Faults, Row, Table
from calm.cases.foreign.result import ImportResult, listed
from calm.core.case import Case
from calm.core.ready_made import KINDS

NAMES: Final = {kind.suffix: name for name, kind in KINDS.items() if kind.suffix}
"""The names of texts by suffix; any other suffix is a name already."""
_VARIANT: Final = re.compile(r"(answer[12])_(\w+)")


def import_calm(table: Table) -> ImportResult:
    """
    Return a case for every record, its perturbed answers as variants, its answers in the file's order.

    A perturbed answer that other records have and this one lacks is missing: it is noted, and the tag
    `missing_variants` names it.

    Raises:
        ConfigError: a record that is not one of CALM's; the message names all, by file, record and field.
    """
    faults = Faults(table.name)
    pairs = any(row.get("answer2") is not None for row in table.rows)
    keys = {key: (found[1], found[2]) for key in table.columns if (found := _VARIANT.fullmatch(key))}
    other = [key for key in table.columns if key not in ("question", "answer1", "answer2", *keys)]
    missing: dict[str, list[int]] = {}
    cases: list[Case] = []
    for record, row in enumerate(table.rows, 1):
        answers = ["answer1", "answer2"] if pairs else ["answer1"]
        variants, lacking = _variants(row, record, {k: v for k, v in keys.items() if v[0] in answers}, faults)
        for key in lacking:
            missing.setdefault(key, []).append(record)
        tags = {key: text for key in other if (text := faults.optional(row, key, record)) is not None}
        draft: dict[str, object] = {
            "question": faults.optional(row, "question", record) or "",
            "answers": [{"id": key, "text": faults.optional(row, key, record) or ""} for key in answers],
            "better": "answer1" if pairs else None,
            "variants": variants,
            "tags": tags | ({"missing_variants": ", ".join(lacking)} if lacking else {}),
        }
        whole = faults.whole(draft, record)
        case = faults.case({"id": case_id(table.name, record, draft), **draft}, record) if whole else None
        cases += [case] if case else []
    notes = [f"{key}: no text in {len(at)} of {len(cases)}: {listed(at)}" for key, at in missing.items()]
    return faults.result(named(cases), len(table.rows), notes)


def _variants(
    row: Row, record: int, keys: dict[str, tuple[str, str]], faults: Faults
) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return the ready-made texts by variant and answer, and the keys of those that are missing."""
    variants: dict[str, dict[str, str]] = {}
    lacking = []
    for key, (answer, name) in keys.items():
        text = faults.optional(row, key, record)
        if text is None or not text.strip():
            lacking.append(key)
        else:
            variants.setdefault(NAMES.get(name, name), {})[answer] = text
    return variants, lacking
