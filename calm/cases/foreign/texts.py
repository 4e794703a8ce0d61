"""Put a user's texts into cases that ship without them; the messages of a chat become turns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from calm.cases.foreign.records import ImportResult, listed, shown
from calm.cases.rows import dig, lacks_parts, turns_of_messages, unpacked
from calm.core.case import ASSISTANT, USER, Answer, Case, Turn
from calm.errors import ConfigError

NUMBER = "number"
"""The tag that holds what the source calls an item: a number, which several subsets may share."""
NAMED = 3
"""How many cases a message names."""


def with_texts(
    bare: Sequence[Case], found: ImportResult, *, by_place: bool = False, subset: str | None = None
) -> ImportResult:
    """
    Return the cases of which a file holds the texts, each with its own id, gold and tags; the others are left out.

    A record is known by its id, which is that of a case or the tag `item` or `number` of one or several; or,
    `by_place`, by its place in the file, from 0. Answers are taken by author where the record names them, else in their
    order; of a case with one answer the tag `answer` says which of the record's, from 0. The texts and the reference
    are the user's; gold is that of the cases.

    Args:
        bare: the cases without texts.
        found: the user's records, read as cases.
        by_place: whether the records have no id of their own.
        subset: take only cases with this tag `subset` or `benchmark`, where an item alone names several.

    Raises:
        ConfigError: no such subset, no record of any case, an item that several subsets hold, fewer answers than a case
            has, or another better answer than the verdicts have.
    """
    parts = sorted({part for case in bare if (part := _part(case))})
    if subset is not None and subset not in parts:
        raise ConfigError(f"--subset: expected one of {', '.join(parts) or 'none, as there is one'}, got {subset!r}")
    wanted = [case for case in bare if subset in (None, _part(case))]
    by_name: dict[str, list[Case]] = {}
    for case in wanted:
        by_name.setdefault(case.id, []).append(case)
        for name in {case.tags["item"], case.tags[NUMBER]} - {case.id}:
            by_name.setdefault(name, []).append(case)
    faults: list[str] = []
    made: list[Case] = []
    unknown: list[int] = []
    records = [record for record in range(1, found.records + 1) if record not in found.left]
    for record, given in zip(records, found.cases, strict=False):
        name = str(record - 1) if by_place else given.id
        cases = by_name.get(name, [])
        if not cases:
            unknown.append(record)
        elif several := sorted({_part(case) for case in cases} - {""})[1:]:
            faults.append(
                f"record {record}: item {shown(name)} is in several subsets ({_part(cases[0])}, {', '.join(several)}); "
                "say which with --subset"
            )
        elif len(cases) > 1 and len(cases[0].answers) > 1 and not any(_by_author(case, given) for case in cases):
            ids = ", ".join(case.id for case in cases[:NAMED])
            faults.append(
                f"record {record}: item {shown(name)} is in {len(cases)} pairs ({ids}, ...); give the id of one, or "
                "map author_a and author_b"
            )
        else:
            if len(cases) > 1 and len(cases[0].answers) > 1:
                cases = [case for case in cases if _by_author(case, given)]
            made += [one for case in cases if (one := _filled(case, given, record, faults)) is not None]
    twice = [name for name, count in Counter(case.id for case in made).items() if count > 1]
    faults += [f"id: expected one record about case {name}, got several; leave out the others" for name in twice]
    if not made and not faults:
        example = f"{wanted[0].id} or {wanted[0].tags[NUMBER]}"
        raise ConfigError(
            f"expected records with the id of a case or an item, such as {example}, got none of them in "
            f"{len(found.cases)} records; name the column with --map id=COLUMN"
        )
    if faults:
        more = [f"and {len(faults) - NAMED} more"] if len(faults) > NAMED else []
        raise ConfigError([*faults[:NAMED], *more])
    notes = []
    if unknown:
        notes.append(
            f"{len(unknown)} of {len(found.cases)} records are about no case of the verdicts: {listed(unknown)}"
        )
    if len(made) < len(bare):
        notes.append(f"{len(bare) - len(made)} of {len(bare)} cases got no texts and are left out")
    return ImportResult(tuple(made), found.records, tuple(notes))


def _part(case: Case) -> str:
    return case.tags.get("subset") or case.tags.get("benchmark") or ""


def _filled(case: Case, given: Case, record: int, faults: list[str]) -> Case | None:
    """Return a case with the texts of a record; None, and a fault, if these are not its texts."""
    about = f"record {record}: case {case.id}"
    texts = _texts(case, given)
    if len(texts) < len(case.answers):
        faults.append(f"{about}: expected {_wanted(case)}, got {len(given.answers)}; map answer_a, answer_b and so on")
        return None
    places = {text.id: answer.id for answer, text in zip(case.answers, texts, strict=True)}
    better = places.get(given.better or "", given.better)
    if len(case.answers) > 1 and case.better is not None and better not in (None, case.better):
        faults.append(f"{about}: expected {case.better} as the better one, got {better}; is it the right file?")
        return None
    filled = tuple(replace(answer, text=text.text) for answer, text in zip(case.answers, texts, strict=True))
    return replace(case, question=given.question, reference=given.reference, answers=filled, fields=given.fields)


def _texts(case: Case, given: Case) -> Sequence[Answer]:
    """Return the answers of a record as a case has them: by author where both name them, else in their order."""
    if len(case.answers) == 1:
        first = int(case.tags.get("answer", "0"))
        return given.answers[first : first + 1]
    if _by_author(case, given):
        authors = {answer.author: answer for answer in given.answers}
        return [authors[answer.author] for answer in case.answers]
    return given.answers if len(given.answers) == len(case.answers) else ()


def _by_author(case: Case, given: Case) -> bool:
    named = {answer.author for answer in case.answers}
    return None not in named and named == {answer.author for answer in given.answers}


def _wanted(case: Case) -> str:
    count = int(case.tags.get("answer", "0")) + 1 if len(case.answers) == 1 else len(case.answers)
    return f"{count} answer{'s' if count > 1 else ''}"


TALKS: Final = (
    *("messages", "conversations", "conversation", "turns", "dialogue", "dialog"),
    *("history", "chat_history", "conversation_history", "previous_messages"),
)
"""How columns are called that hold a conversation."""
PREFERRED: Final = ("chosen", "rejected")
"""The columns of a pair in which each holds the better, or the worse, reply of a conversation, or all of it."""
PROMPT: Final = "prompt"
"""The column beside them that may hold the conversation so far."""
TOOL: Final = "tool"
_PAIR: Final = 2


@dataclass(frozen=True, slots=True)
class Talk:
    """
    A conversation with its last question and what was replied to it, as far as it holds them.

    `tools` were left out; `parts` are no text, so that what they are stands in their place; and `closing` is so where
    the user spoke last, which is left out.
    """

    turns: tuple[Turn, ...]
    question: str = ""
    answer: str = ""
    tools: bool = False
    parts: bool = False
    closing: bool = False


def messages_of(value: object) -> tuple[Turn, ...]:
    """
    Return the messages of a conversation; none of what is no conversation.

    >>> messages_of([{"from": "human", "value": "Hi"}])
    (Turn(role='user', text='Hi'),)
    >>> messages_of([["Hi", "Hello"], ["And?", None]])[-1]
    Turn(role='user', text='And?')
    """
    held = unpacked(value)
    if isinstance(held, list) and held and all(_is_pair(one) for one in held):
        said = [(role, text) for pair in held for role, text in zip((USER, ASSISTANT), pair, strict=True)]
        return tuple(Turn(role, text) for role, text in said if text)
    return turns_of_messages(held) if isinstance(held, list | dict) else ()


def _is_pair(value: object) -> bool:
    texts = isinstance(value, list) and len(value) == _PAIR
    return texts and isinstance(value, list) and all(one is None or isinstance(one, str) for one in value)


def columns_of(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> dict[str, str]:
    """
    Return which column holds the turns of a case and which its replies, by the names and the values of columns.

    >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    >>> columns_of([{"chosen": talk, "rejected": talk}], ["chosen", "rejected"])
    {'answer_a': 'chosen', 'answer_b': 'rejected'}
    """
    held = {name: next((row[name] for row in rows if row.get(name)), None) for name in columns}
    talks = [name for name in columns if name.lower() in TALKS and messages_of(held[name])]
    found = {"turns": talks[0]} if talks else {}
    if set(PREFERRED) <= set(columns):
        if not found and messages_of(held.get(PROMPT)):
            found = {"turns": PROMPT}
        if found or messages_of(held[PREFERRED[0]]):
            found |= {"answer_a": PREFERRED[0], "answer_b": PREFERRED[1]}
    return found


def lacking(value: object) -> bool:
    """Return whether a message of a conversation holds an image, or another part that is no text."""
    held = unpacked(value)
    found = held if isinstance(held, list) else dig(held, "messages")
    return isinstance(found, list) and any(lacks_parts(one) for one in found)


def replied(messages: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return a conversation up to its last reply, without what the user said behind it; whole if there is no reply."""
    last = max(
        (place for place, turn in enumerate(messages) if turn.role == ASSISTANT and turn.text.strip()), default=None
    )
    return tuple(messages if last is None else messages[: last + 1])


def talk_of(messages: Sequence[Turn]) -> Talk:
    """
    Return a conversation taken apart: the last message of the user is the question, and what comes behind the answer.

    What a tool was asked and replied is left out: it is no turn of the two who speak.
    """
    spoken = [turn for turn in messages if turn.role != TOOL and turn.text.strip()]
    tools = any(turn.role == TOOL for turn in messages)
    asked = max((place for place, turn in enumerate(spoken) if turn.role == USER), default=None)
    if asked is None:
        return Talk(tuple(spoken), tools=tools)
    answer = "\n\n".join(turn.text for turn in spoken[asked + 1 :])
    return Talk(tuple(spoken[:asked]), spoken[asked].text, answer, tools)
