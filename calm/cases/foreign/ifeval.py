"""Import prompts with verifiable instructions (IFEval style) and the responses of several models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.cases.foreign.naming import case_id, named
from calm.cases.foreign.records import Faults, Row, Table, shown
from calm.cases.foreign.result import ImportResult
from calm.core.case import Case

_PLAIN: Final[Mapping[str, str]] = {
    "punctuation:no_comma": "no_commas",
    "change_case:english_lowercase": "all_lowercase",
}
"""Instructions without parameters, and the check that decides them."""


def import_ifeval(table: Table) -> ImportResult:
    """
    Return a case for each record, with an answer for each model and a criterion for each instruction.

    The records hold `prompt`, `instruction_id_list`, `kwargs` (an object for each instruction, null for none) and
    `responses` (model to text). `followed` (model to a list of true or false, one for each instruction) is the truth,
    where it is there. Without it calm's own checks decide what they can: commas, lower case and numbers of words; all
    else has no truth. The id of a criterion is that of its instruction, so the part before the colon is its axis.

    Raises:
        ConfigError: a record that is none of these; all of them, by file, record and field.
    """
    faults = Faults(table.name)
    cases: list[Case] = []
    for record, row in enumerate(table.rows, 1):
        draft = _draft(row, record, faults)
        if draft is not None and faults.whole(draft, record):
            case = faults.case({"id": case_id(table.name, record, draft), **draft}, record)
            cases += [case] if case else []
    unknown = sum(
        c.check is None and not any(c.id in truth for truth in case.met.values())
        for case in cases
        for c in case.criteria
    )
    noun = "instruction has" if unknown == 1 else "instructions have"
    notes = [f"{unknown} {noun} no truth: no check and no `followed` decides"] if unknown else []
    return faults.result(named(cases), len(table.rows), notes)


def _draft(row: Row, record: int, faults: Faults) -> dict[str, object] | None:
    """
    Return a record as a row of calm's own format, without its id; None, and its faults, if it is wrong.

    A model without a response has no answer.
    """
    before = faults.count
    names, responses, followed = row.get("instruction_id_list"), row.get("responses"), row.get("followed")
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        faults.add(record, "instruction_id_list", f"expected a list of instructions, got {shown(names)}; add it")
        return None
    settings = row.get("kwargs") or [{}] * len(names)
    if not isinstance(settings, list) or len(settings) != len(names):
        faults.add(record, "kwargs", f"expected a list of {len(names)} objects, got {shown(settings)}")
        return None
    if not isinstance(responses, dict) or not responses:
        faults.add(record, "responses", f"expected an object of models and texts, got {shown(responses)}; add it")
        return None
    said = {model: text for model, text in responses.items() if text is not None and str(text).strip()}
    if len(said) < len(responses):
        faults.leave(record, "an empty response" if said else "no response")
    if not said:
        return None
    given = [{k: v for k, v in one.items() if v is not None} if isinstance(one, dict) else {} for one in settings]
    ids = [name if names.index(name) == at else f"{name} {at + 1}" for at, name in enumerate(names)]
    draft: dict[str, object] = {
        "question": faults.question(row, "prompt", record),
        "answers": [{"id": model, "text": text, "author": model} for model, text in said.items()],
        "criteria": [
            {"id": i, "text": _words(name, values)} | ({} if followed else _check(name, values))
            for i, name, values in zip(ids, names, given, strict=True)
        ],
    }
    if followed:
        met = _met(followed, ids, responses, record, faults)
        draft["met"] = {model: truth for model, truth in met.items() if model in said}
    return draft if faults.count == before else None


def _met(followed: object, ids: list[str], models: Row, record: int, faults: Faults) -> dict[str, dict[str, object]]:
    met: dict[str, dict[str, object]] = {}
    for model, truth in (followed if isinstance(followed, dict) else {"followed": followed}).items():
        if model not in models or not isinstance(truth, list) or len(truth) != len(ids):
            wanted = f"a model of `responses` with a list of {len(ids)}, each true or false"
            faults.add(record, "followed", f"expected {wanted}, got {model}: {shown(truth)}")
        else:
            met[model] = dict(zip(ids, truth, strict=True))
    return met


def _words(name: str, values: Row) -> str:
    """Return an instruction and its parameters as a criterion to read."""
    told = [name.replace(":", ": ").replace("_", " ")]
    told += [f"{key.replace('_', ' ')}: {_value(v)}" for key, v in values.items()]
    return "; ".join(told)


def _value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _check(name: str, values: Row) -> dict[str, object]:
    """Return the check of an instruction, where one of calm's own decides it."""
    if name in _PLAIN:
        return {"check": {"kind": _PLAIN[name]}}
    count, relation = values.get("num_words"), values.get("relation")
    if name == "length_constraints:number_words" and isinstance(count, int):
        if relation == "at least":
            return {"check": {"kind": "min_words", "value": count}}
        if relation == "less than" and count > 1:
            return {"check": {"kind": "max_words", "value": count - 1}}
    return {}
