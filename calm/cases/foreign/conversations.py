"""
Conversations in a record: the messages of a chat become the turns of a case, its question, and its answer.

They are read in the form of OpenAI (`role`, `content`, which may be a list of parts), of ShareGPT (`from`, `value`), of
calm itself (`role`, `text`), or as pairs of texts, where the user and the assistant take turns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.cases.messages import dig, lacks_parts, turns_of, unpacked
from calm.core.material import ASSISTANT, USER, Turn

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
    return turns_of(held) if isinstance(held, list | dict) else ()


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
