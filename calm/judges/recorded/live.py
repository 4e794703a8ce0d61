"""
What a log holds of the judge itself: the template of its prompt, and how its replies say a verdict.

Both are tested on all records: a template must show each prompt byte for byte, and a format must read each reply as
the verdict that the log gives it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from calm.cases.logs import Gathered
from calm.cases.logs.judgments import stretched
from calm.core.case import Case
from calm.core.verdict import Preferred, Score, Unreadable, Verdict
from calm.errors import CalmError
from calm.judges import reading
from calm.judges.prompts.turns import Recovered, Sent, recovered
from calm.judges.reading import Format
from calm.models.wire import Reply

_LETTERS: Final[Mapping[str, float]] = {"C": 1.0, "P": 0.5, "I": 0.0}
_JSON_FIELDS: Final = ("score", "verdict", "rating", "grade", "value", "result", "winner", "choice")
_WORDS_BEFORE: Final = ("GRADE", "Score", "Rating", "Verdict", "Grade")
_NUMBER: Final = r"(\d+(?:\.\d+)?)"


@dataclass(frozen=True, slots=True)
class Reads:
    """A format that reads replies, and how many of those in a log it reads as the log does."""

    form: Format
    right: int
    of: int


def prompt_in(found: Gathered) -> Recovered | None:
    """Return the template of the judge's prompt; None where the log holds no prompts, or none shows several."""
    cases = {case.id: case for case in found.cases}
    sent = [
        Sent(
            tuple(turn.role for turn in ask.judgment.prompt),
            tuple(turn.text for turn in ask.judgment.prompt),
            _values(cases[ask.case]),
        )
        for ask in found.asks
        if ask.judgment.prompt
    ]
    return recovered(sent) if sent else None


def _values(case: Case) -> dict[str, str]:
    """Return the texts of a case by the expressions that show them; what several cases lack is empty."""
    return {
        "question": case.question,
        **{f"answers[{place}].text": answer.text for place, answer in enumerate(case.answers)},
        "reference": case.reference or "",
        **{f"turns[{place}].text": turn.text for place, turn in enumerate(case.turns)},
        **{f"context[{place}].text": passage.text for place, passage in enumerate(case.context)},
        **{f"fields.{name}": text for name, text in sorted(case.fields.items()) if name.isidentifier()},
    }


def format_in(found: Gathered) -> Reads | None:
    """Return the format that reads the most replies as the log does; None where it holds no replies, or none fits."""
    cases = {case.id: case for case in found.cases}
    replied = [(ask.judgment.reply, ask.verdict, cases[ask.case]) for ask in found.asks if ask.judgment.reply]
    best: Reads | None = None
    for form in _forms(found) if replied else ():
        right = sum(_read(reply, form, case, found) == said for reply, said, case in replied)
        if right and (best is None or right > best.right):
            best = Reads(form, right, len(replied))
    return best


def _forms(found: Gathered) -> Iterator[Format]:
    if found.task == "score":
        placed = {letter: stretched(share, found.scale) for letter, share in _LETTERS.items()}
        letters = {letter: value for letter, value in placed.items() if found.scale.holds(value)}
        yield Format()
        for field in _JSON_FIELDS:
            yield Format(kind="json", field=field)
        yield Format(kind="json", field="pass", values={"true": found.scale.high, "false": found.scale.low})
        for word in _WORDS_BEFORE:
            yield Format(kind="regex", pattern=rf"(?i){word}\W*\s*{_NUMBER}")
            yield Format(kind="regex", pattern=rf"(?i){word}\s*:\s*([CPI])\b", values=letters)
        yield Format(kind="last-line")
        yield Format(kind="last-line", values={"Y": found.scale.high, "N": found.scale.low})
    else:
        yield Format()
        for field in _JSON_FIELDS:
            yield Format(kind="json", field=field)
        yield Format(kind="last-line")


def _read(reply: str, form: Format, case: Case, found: Gathered) -> float | str | None:
    """Return what a reply says by a format, as the log writes a verdict; None for nothing."""
    try:
        view = reading.view(case.with_order(), found.task, found.scale, None)
        verdict: Verdict = reading.read(Reply(reply), form, view)
    except (ValueError, CalmError):
        return None
    if isinstance(verdict, Score):
        return found.scale.upright(verdict.value)
    if isinstance(verdict, Preferred):
        return verdict.answer
    return None if isinstance(verdict, Unreadable) else str(verdict)
