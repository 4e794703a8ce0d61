"""Import published pairs: MT-bench style (two conversations and a vote) and LLMBar style (an input and two outputs)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from calm.cases.foreign.naming import case_id, named
from calm.cases.foreign.records import Faults, Row, Table, shown
from calm.cases.foreign.result import ImportResult, listed
from calm.cases.foreign.votes import NONE, polls
from calm.core.case import TIE, Case

_WINNERS: Final[Mapping[str, str | None]] = {
    "model_a": "a",
    "model_b": "b",
    "tie": TIE,
    "tie (bothbad)": TIE,
    "tie (inconsistent)": None,
}
"""Who won; None for a verdict that followed the order, which says nothing about the answers."""
_TAGS: Final = ("question_id", "category", "language", "turn")


def import_llmbar(table: Table) -> ImportResult:
    """
    Return a pair for each record of `input`, `output_1`, `output_2` and `label` (1 or 2).

    Raises:
        ConfigError: a record that is none of these; all of them, by file, record and field.
    """
    faults = Faults(table.name)
    cases: list[Case] = []
    for record, row in enumerate(table.rows, 1):
        label = row.get("label")
        if isinstance(label, bool) or label not in (1, 2, "1", "2"):
            faults.add(record, "label", f"expected 1 or 2, got {shown(label)}; name the better output")
        outputs = [{"id": key, "text": faults.text(row, key, record) or ""} for key in ("output_1", "output_2")]
        draft: dict[str, object] = {
            "question": faults.question(row, "input", record),
            "answers": outputs,
            "better": f"output_{2 if label in (2, '2') else 1}",
        }
        whole = faults.whole(draft, record)
        case = faults.case({"id": case_id(table.name, record, draft), **draft}, record) if whole else None
        cases += [case] if case else []
    return faults.result(named(cases), len(table.rows))


def import_mtbench(table: Table, id_column: str = "") -> ImportResult:
    """
    Return a pair for each two conversations, with the majority of the votes on them as gold.

    The records hold `conversation_a`, `conversation_b` (lists of messages with `role` and `content`), `model_a`,
    `model_b` and `winner`; an integer `turn` says how many turns were judged (all, where there is none). Votes on
    the same pair, in whichever order, become one case: they are not independent. Without a majority there is no gold.
    The question is what the user said, an answer what the model said; with several turns, each under its own number.

    `id_column` names the column with the id of the case; a pair with several votes has that of its first record.

    Raises:
        ConfigError: a record that is none of these, or an id of two pairs; all of them, by file, record
            and field.
    """
    faults = Faults(table.name)
    cases: dict[int, Case] = {}
    for record, row in enumerate(table.rows, 1):
        vote = _vote(row, record, faults)
        if vote is None or not faults.whole(vote, record):
            continue
        name = _named_by(row, id_column, record, faults) if id_column else case_id(table.name, record, vote)
        case = faults.case({"id": name, **vote}, record)
        cases |= {} if case is None else {record: case}
    faults.settle()
    found = polls(list(zip(cases, named([*cases.values()]), strict=True)), blank=NONE)
    first: dict[str, int] = {}
    for poll in found:
        if (before := first.setdefault(poll.case.id, poll.record)) != poll.record:
            again = f"expected an id of one pair, got {shown(poll.case.id)} of another one, too (record {before})"
            faults.add(poll.record, id_column, f"{again}; map another column to id, or none")
    faults.settle()
    notes = []
    if len(found) < len(cases):
        notes.append(f"{len(cases)} votes are on {len(found)} pairs: the votes on a pair became one case")
    if undecided := [poll.record for poll in found if poll.majority is None]:
        notes.append(f"{len(undecided)} pairs have no majority, so no gold: {listed(undecided)}")
    settled = [replace(poll.settled, tags={**poll.case.tags, "votes": str(poll)}) for poll in found]
    return faults.result(settled, len(table.rows), notes)


def _vote(row: Row, record: int, faults: Faults) -> dict[str, object] | None:
    """Return a record as a row of calm's own format, without its id; None, and its faults, if it is wrong."""
    before = faults.count
    turn = row.get("turn")
    if turn is not None and (isinstance(turn, bool) or not isinstance(turn, int) or turn < 1):
        faults.add(record, "turn", f"expected a whole number of at least 1, got {shown(turn)}; or leave it out")
        turn = None
    talks = [_turns(row, f"conversation_{side}", turn, record, faults) for side in "ab"]
    authors = [faults.text(row, f"model_{side}", record) or "" for side in "ab"]
    winner = row.get("winner")
    if not isinstance(winner, str) or winner not in _WINNERS:
        faults.add(record, "winner", f"expected one of {', '.join(_WINNERS)}, got {shown(winner)}")
    if faults.count == before and [said for said, _ in talks[0]] != [said for said, _ in talks[1]]:
        faults.add(record, "conversation_b", "expected the user's messages of conversation_a, got others; pair them up")
    if faults.count > before:
        return None
    texts = [_joined([reply for _, reply in talk]) for talk in talks]
    return {
        "question": _joined([said for said, _ in talks[0]]),
        "answers": [{"id": i, "text": t, "author": a} for i, t, a in zip("ab", texts, authors, strict=True)],
        "better": _WINNERS[str(winner)],
        "tags": {key: str(row[key]) for key in _TAGS if isinstance(row.get(key), str | int)},
    }


def _named_by(row: Row, column: str, record: int, faults: Faults) -> str:
    """Return the text or whole number in the column of the id."""
    value = row.get(column)
    if isinstance(value, bool) or not isinstance(value, str | int) or not str(value).strip():
        faults.add(record, column, f"expected an id, got {shown(value)}; map another column to id, or none")
        return f"{record}"
    return str(value).strip()


def _turns(row: Row, key: str, most: int | None, record: int, faults: Faults) -> list[tuple[str, str]]:
    """Return what the user and the model said, turn by turn."""
    talk = row.get(key)
    if not isinstance(talk, list) or not talk:
        faults.add(record, key, f"expected a list of messages, got {shown(talk)}; write [{{role, content}}, ...]")
        return []
    said: list[str] = []
    for at, message in enumerate(talk):
        known = message if isinstance(message, dict) else {}
        role, content = known.get("role"), known.get("content")
        wanted = "assistant" if at % 2 else "user"
        if role != wanted or not isinstance(content, str):
            got = f"role={shown(role)}, content={shown(content)}"
            faults.add(record, f"{key}[{at}]", f"expected a text of the {wanted}, got {got}; the two take turns")
            return []
        said.append(content)
    turns = list(zip(said[::2], said[1::2], strict=False))
    if len(said) % 2 or (most and len(turns) < most):
        wanted = f"{most} turns" if most else "a reply to each message"
        faults.add(record, key, f"expected {wanted}, got {len(said)} messages; complete the conversation")
        return []
    return turns[:most]


def _joined(texts: list[str]) -> str:
    return texts[0] if len(texts) == 1 else "\n\n".join(f"Turn {n}:\n{text}" for n, text in enumerate(texts, 1))
