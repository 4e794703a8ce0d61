"""Names: of models, authors and families, and what other tools call the parts of a case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, TypeAlias, TypeVar

T = TypeVar("T")

_DATE: Final = re.compile(r"(?:[-@](?:\d{8}|\d{4}-\d{2}-\d{2}|\d{2}-\d{2})|[-@:]latest)$")


def spelling(name: str) -> str:
    """
    Return a name without capitals and stray white space: so names of families are compared.

    >>> spelling(" Meta  Llama ")
    'meta llama'
    """
    return " ".join(name.split()).casefold()


def bare(model: str) -> str:
    """
    Return the name of a model without its maker, capitals and stray white space; the date stays.

    >>> bare("openai/GPT-4o-2024-08-06 ")
    'gpt-4o-2024-08-06'
    """
    whole = spelling(model)
    return whole.rpartition("/")[2].strip() or whole


def plain(model: str) -> str:
    """
    Return the same without the date.

    >>> plain("openai/GPT-4o-2024-08-06"), plain("claude-3-7-sonnet-20250219"), plain("llama3:latest")
    ('gpt-4o', 'claude-3-7-sonnet', 'llama3')
    """
    return _DATE.sub("", bare(model))


def same_model(one: str, other: str) -> bool:
    """
    Return whether two names mean one model.

    >>> same_model("openai/gpt-4o", "GPT-4o-2024-08-06"), same_model("gpt-4o-2024-05-13", "gpt-4o-2024-08-06")
    (True, False)
    """
    names, without = {bare(one), bare(other)}, {plain(one), plain(other)}
    return len(names) == 1 or (len(without) == 1 and not without.isdisjoint(names))


def repeated(models: Iterable[str]) -> list[str]:
    """
    Return the names that mean the same model as one before them.

    >>> repeated(["gpt-4o", "o3", "openai/GPT-4o"])
    ['openai/GPT-4o']
    """
    seen: list[str] = []
    found = []
    for model in models:
        if any(same_model(model, other) for other in seen):
            found.append(model)
        seen.append(model)
    return found


def one_name(names: Iterable[str], known: Iterable[str] = ()) -> dict[str, str]:
    """
    Return under which name each of some authors goes: that of the `known` model that it means, else its first spelling.

    A name that means several known models, and is spelt like none of them, means none.

    >>> one_name(["GPT-4o", "Human", "human"], known=["openai/gpt-4o"])
    {'GPT-4o': 'openai/gpt-4o', 'Human': 'Human', 'human': 'Human'}
    """
    models = list(dict.fromkeys(known))
    first: dict[str, str] = {}
    found = {}
    for name in dict.fromkeys(names):
        near = [one for one in models if same_model(one, name)]
        alike = [one for one in near if bare(one) == bare(name)] or near
        spelt = [one for one in alike if spelling(one) == spelling(name)] or alike
        found[name] = spelt[0] if len(spelt) == 1 else first.setdefault(spelling(name), name)
    return found


def value_for(model: str, stated: Mapping[str, T]) -> T | None:
    """
    Return what is stated of a model: of its name as it is, without its maker, or without its date; None: nothing.

    Of two names that differ in case or white space alone, the last one counts.

    >>> value_for("vendor/House-1-20250101", {"HOUSE-1": "qwen"})
    'qwen'
    """
    folded = {spelling(name): value for name, value in stated.items()}
    folded |= {bare(name): value for name, value in stated.items() if bare(name) not in folded}
    return next((folded[name] for name in (spelling(model), bare(model), plain(model)) if name in folded), None)


Role: TypeAlias = Literal["question", "answer", "first", "second", "reference", "context", "rubric"]
"""What a placeholder stands for: the one answer, the first or the second of two, and so on."""

_NAMES: Final[Mapping[Role, frozenset[str]]] = {
    "question": frozenset(
        {
            "question",
            "input",
            "inputs",
            "query",
            "user_query",
            "user_input",
            "user_question",
            "prompt",
            "user_prompt",
            "instruction",
            "task",
            "problem",
            "query_str",
            "request",
            "user_message",
            "conversation",
        }
    ),
    "answer": frozenset(
        {
            "answer",
            "output",
            "outputs",
            "response",
            "responses",
            "completion",
            "generation",
            "submission",
            "prediction",
            "actual_output",
            "model_output",
            "candidate",
            "candidate_answer",
            "result",
            "llm_answer",
            "generated_answer",
            "predicted_answer",
            "student_answer",
            "assistant_answer",
            "model_answer",
            "model_response",
            "assistant_response",
            "summary",
            "translation",
            "answer_text",
            "response_text",
            "llm_output",
            "agent_response",
        }
    ),
    "reference": frozenset(
        {
            "reference",
            "reference_answer",
            "ref_answer",
            "expected",
            "expected_output",
            "expected_answer",
            "expected_response",
            "ideal",
            "ideal_answer",
            "ground_truth",
            "gold",
            "gold_answer",
            "gold_ans",
            "target",
            "correct_answer",
            "reference_outputs",
            "reference_output",
            "reference_response",
            "expert",
            "expert_answer",
            "solution",
            "ref_answer_1",
        }
    ),
    "context": frozenset(
        {
            "context",
            "contexts",
            "documents",
            "retrieved_context",
            "retrieved_contexts",
            "retrieval_context",
            "passages",
            "passage",
            "source",
            "sources",
            "document",
            "knowledge",
            "retrieved_documents",
        }
    ),
    "rubric": frozenset({"criteria", "criterion", "rubric", "rubrics", "evaluation_criteria", "grading_criteria"}),
}
_ANSWERS: Final = (
    "answer|response|output|assistant|completion|generation|candidate|prediction|submission|model|resp|result|text"
)
_FIRST: Final = re.compile(
    rf"(?:{_ANSWERS})_?(?:a|1|one|first|left)(?:_(?:answer|response|output))?|first_(?:{_ANSWERS})"
)
_SECOND: Final = re.compile(
    rf"(?:{_ANSWERS})_?(?:b|2|two|second|right)(?:_(?:answer|response|output))?|second_(?:{_ANSWERS})"
)


SIDES: Final = (("a", "b"), ("1", "2"), ("first", "second"), ("left", "right"), ("one", "two"), ("old", "new"))
"""How names tell a first from a second thing."""


OF_ANSWER: Final = frozenset(
    (
        *("answer", "response", "output", "reply", "completion", "generation", "generated", "summary", "draft"),
        *("candidate", "bot", "assistant", "model", "agent", "review", "comment"),
    )
)
"""Parts of a name that is likely that of an answer."""
OF_QUESTION: Final = frozenset(
    (
        *("question", "query", "prompt", "message", "ticket", "request", "issue", "input", "instruction", "task"),
        *("customer", "user", "diff", "code", "email", "problem", "complaint", "inquiry", "conversation", "chat"),
    )
)
"""Parts of a name that is likely that of a question."""


def parts(name: str) -> tuple[str, ...]:
    """
    Return the words and numbers of a name, in lower case.

    >>> parts("KB article (policy)"), parts("Bot v2 reply"), parts("replyB")
    (('kb', 'article', 'policy'), ('bot', 'v', '2', 'reply'), ('reply', 'b'))
    """
    spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return tuple(re.findall(r"[^\W\d_]+|\d+", spaced.lower()))


def apart(one: str, other: str) -> tuple[str, str] | None:
    """
    Return the only parts in which two names differ; None if they differ in more, or in none.

    >>> apart("reply_a", "reply_b"), apart("Bot v1 reply", "Bot v2 reply"), apart("reply", "reply_b")
    (('a', 'b'), ('1', '2'), None)
    """
    first, second = parts(one), parts(other)
    differ = [pair for pair in zip(first, second, strict=False) if pair[0] != pair[1]]
    return differ[0] if len(first) == len(second) and len(differ) == 1 else None


def of_pair(name: str) -> str | None:
    """
    Return the name of the other one of two answers, by the side at the head or the end of a name; None without a side.

    >>> of_pair("reply_a"), of_pair("second_answer"), of_pair("responseB"), of_pair("gpt_4_reply")
    ('reply_b', 'first_answer', 'responseA', None)
    """
    known = {side: other for pair in SIDES[:-1] for side, other in (pair, pair[::-1])}
    for place in (r"(?<![^\W_])({})\Z", r"(?<=[a-z])(A|B|1|2)\Z", r"\A({})(?=_)"):
        match = re.search(place.format("|".join(known)), name, re.IGNORECASE if "{}" in place else 0)
        if match is not None and parts(name) != (match[1].lower(),):
            other = known[match[1].lower()]
            other = other.upper() if match[1].isupper() else other
            return f"{name[: match.start(1)]}{other}{name[match.end(1) :]}"
    return None


def plain_name(name: str) -> str:
    """
    Return a name as it is looked up: in lower case, with `_` between words.

    >>> plain("Reference Answer"), plain("input.text"), plain("assistantB")
    ('reference_answer', 'input', 'assistant_b')
    """
    first = name.strip().partition(".")[0]
    return re.sub(r"[\s-]+", "_", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", first)).lower()


def meaning_of(name: str) -> Role | None:
    """
    Return what a foreign name means; None for a name that is not known.

    >>> meaning_of("input"), meaning_of("response_a"), meaning_of("assistant2"), meaning_of("ideal"), meaning_of("n")
    ('question', 'first', 'second', 'reference', None)
    """
    word = plain_name(name)
    if _FIRST.fullmatch(word):
        return "first"
    if _SECOND.fullmatch(word):
        return "second"
    return next((role for role, names in _NAMES.items() if word in names), None)
