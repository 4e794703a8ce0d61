"""
Ready-made texts: those that a case holds for edits in `Case.variants`, wherever they come from.

`KINDS` is the one table of their names: importing, `calm rewrite`, `calm cases check` and the suites read it. A case's
own text goes before what an edit's rule would make. A text that a user or a publication brings is shown unless it
cannot be used; the rules of its kind are for texts that our own writer makes, and notes for all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from calm.core.case import Case, Treated
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.validation import UNKNOWN, Band, Fault, Rules, problems

_TONED: Final = Rules(Band(0.6, 2.5), Band(0, 0.7), Band(0.5), True, "same", True, True)


@dataclass(frozen=True, slots=True)
class TextKind:
    """
    A kind of ready-made text: `name` in `Case.variants` and of the edit that shows it, and the suite that asks of it.

    `every`: that suite asks only with `--calm-every-variant`. `word` is what `calm rewrite --kinds` calls it, `suffix`
    how the keys end in CALM's own files, `rules` what a text may change that our writer makes.
    """

    name: str
    suite: str
    every: bool = False
    word: str = ""
    suffix: str = ""
    rules: Rules = UNKNOWN

    @property
    def rewrites(self) -> bool:
        """Whether a writer words the whole answer anew, so that a neutral rewrite is the fair thing beside it."""
        return bool(self.word)


NEUTRAL: Final = "neutral"
"""The kind that the other rewrites are compared with: the same answer, no better and no worse."""
TRANSLATED: Final = TextKind(
    "translate",
    "language",
    every=True,
    word="translate",
    rules=Rules(Band(0.25, 3.0), Band(0.3, 1.0), None, False, "digits", True, False),
)
"""The kind of `translate_de` and its like."""
KINDS: Final[Mapping[str, TextKind]] = {
    kind.name: kind
    for kind in (
        TextKind("cite_book", "authority", suffix="with_reference_book"),
        TextKind("cite_quote", "authority", suffix="with_reference_quote"),
        TextKind("cite_url", "authority", suffix="with_reference_url"),
        TextKind(
            "lengthen",
            "verbosity",
            word="verbosity",
            suffix="longer",
            rules=Rules(Band(1.25, 4.0), Band(0, 0.6), Band(0.7), True, "kept", True, True),
        ),
        TextKind("cheerful", "sentiment", word="sentiment", suffix="cheerful", rules=_TONED),
        TextKind("sad", "sentiment", word="sentiment", suffix="sad", rules=_TONED),
        TextKind("angry", "sentiment", word="sentiment", suffix="angry", rules=_TONED),
        TextKind("fearful", "sentiment", word="sentiment", suffix="fear", rules=_TONED),
        TextKind(
            "fallacy",
            "fallacy-oversight",
            word="fallacy",
            suffix="fallacy_oversight",
            rules=Rules(Band(0.4, 2.0), Band(0, 0.7), Band(0.3), False, "any", True, True),
        ),
        TextKind(
            "polish",
            "refinement-aware",
            word="polish",
            suffix="polished",
            rules=Rules(Band(0.75, 1.35), Band(0, 0.6), Band(0.5), True, "same", True, True),
        ),
        TextKind(
            "paraphrase",
            "paraphrase",
            every=True,
            word="paraphrase",
            rules=Rules(Band(0.6, 1.6), Band(0, 0.85), Band(0.15), True, "same", True, True),
        ),
        TextKind(
            "plant_error",
            "sensitivity",
            word="error",
            rules=Rules(Band(0.6, 1.5), Band(0, 0.4), Band(0.6), False, "any", False, False),
        ),
        TextKind(
            NEUTRAL,
            "paraphrase",
            every=True,
            word="neutral",
            rules=Rules(Band(0.75, 1.35), Band(0, 0.7), Band(0.4), True, "same", True, True),
        ),
    )
}
"""By name, all but the translations, of which there is one for each language."""


def text_kind(name: str) -> TextKind | None:
    """Return the kind of the texts of a name, or None if the table has none."""
    return KINDS.get(name) or (TRANSLATED if name.partition("_")[0] == TRANSLATED.name else None)


def rules_for(name: str) -> Rules:
    """Return the rules for texts of a name that our writer makes: of a name without any, that they differ visibly."""
    kind = text_kind(name)
    return UNKNOWN if kind is None else kind.rules


# ------------------------------------------------------------------------------------------------ what an edit shows


@dataclass(frozen=True)
class Own:
    """
    Which texts of a case an edit shows, and how; by default those of its own name, in the treated answer's place.

    `names` are those of the texts. `aim` returns the case with another treated answer, or None if it has none. `put`
    returns the case with the text shown, `base` the case that it is compared with, if that is not the case as it is.
    With `only` the edit applies to no case without such a text.
    """

    names: tuple[str, ...] = ()
    aim: Callable[[Treated], Treated | None] | None = None
    put: Callable[[Treated, str], Treated | None] | None = None
    base: Callable[[Treated, str], Treated] | None = None
    only: bool = False


BY_NAME: Final = Own()


@dataclass(frozen=True, slots=True)
class Held:
    """A text that a case holds for an edit: its name, the answer it is for, and why it cannot be shown, or `NONE`."""

    name: str
    answer: str
    text: str
    why: Reason = NONE

    @property
    def usable(self) -> bool:
        """Whether it can be shown."""
        return not self.why


def unusable(case: Case, answer: str, text: str, *, keeps_truth: bool = True) -> Fault | None:
    """
    Return why a text cannot be used in the place of an answer, or None.

    It is blank, shows no difference, or changes what a program says of a criterion (where that must stay).
    """
    found = problems(case[answer].text, text, UNKNOWN)
    if found:
        return found[0]
    if keeps_truth and not case.truth_kept_by(case.edit(answer, lambda _: text)):
        return Fault("gold", "expected each criterion to keep its truth, got a text that changes one")
    return None


def held_for(
    case: Treated, names: Iterable[str], put: Callable[[Treated, str], Treated | None], *, keeps_truth: bool
) -> tuple[Held, ...]:
    """Return the texts of some names that a case holds, each with why it cannot replace the treated answer."""
    found = []
    for name in names:
        for answer, text in case.variants.get(name, {}).items():
            why = NONE
            if answer != case.target:
                why = because(Kind.FOR_OTHER_ANSWER)
            elif (fault := unusable(case, answer, text, keeps_truth=keeps_truth)) is not None:
                why = because(Kind.REFUSED, fault.about)
            elif put(case, text) is None:
                why = because(Kind.APPLIES_NOT)
            found.append(Held(name, answer, text, why))
    return tuple(found)


def neutral_text(case: Treated) -> str | None:
    """Return the neutral rewrite that a case holds for its treated answer, or None if it has none that is usable."""
    text = case.variants.get(NEUTRAL, {}).get(case.target or "")
    return None if text is None or unusable(case, case[case.target].id, text) is not None else text


def unused(held: Iterable[Held], shown: Iterable[str]) -> Counter[Reason]:
    """Return how many of the texts of a case were not shown, by reason; `shown` are the names of those that were."""
    seen = set(shown)
    other = because(Kind.OTHER_TEXT_SHOWN)
    return Counter(one.why or other for one in held if one.why or one.name not in seen)


# ----------------------------------------------------------------------------------------------------------- a table


@dataclass(frozen=True, slots=True)
class Checked:
    """One ready-made text: why it cannot be used, if so, and in what it differs from what our writer may change."""

    case: str
    name: str
    answer: str
    fault: Fault | None = None
    notes: tuple[Fault, ...] = ()


def check_texts(cases: Iterable[Case], worsens: Callable[[str], bool]) -> list[Checked]:
    """Return a row for each ready-made text of the cases; `worsens` says whether the texts of a name are to harm."""
    rows: list[Checked] = []
    for case in cases:
        for name, texts in case.variants.items():
            for answer, text in texts.items():
                fault = unusable(case, answer, text, keeps_truth=not worsens(name))
                notes = () if fault is not None else tuple(problems(case[answer].text, text, rules_for(name)))
                rows.append(Checked(case.id, name, answer, fault, notes))
    return rows


def texts_table(rows: Sequence[Checked]) -> str:
    """Return a table for a terminal: for each name how many texts are usable, why others are not, and the notes."""
    lines = [("text", "texts", "usable", "refused", "why")]
    for name in sorted({row.name for row in rows}):
        mine = [row for row in rows if row.name == name]
        refused = Counter(row.fault.about for row in mine if row.fault is not None)
        noted = Counter(note.about for row in mine for note in row.notes[:1])
        said = [_counted(refused)] if refused else []
        if noted:
            said.append(f"unlike what our writer may write: {_counted(noted)}")
        if text_kind(name) is None:
            said.append("no kind of this name: an edit of yours that is called so shows it")
        usable = len(mine) - sum(refused.values())
        lines.append((name, str(len(mine)), str(usable), str(sum(refused.values())), "; ".join(said)))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    shown = ["  ".join([*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[4]]) for line in lines]
    return "\n".join(line.rstrip() for line in shown)


def _counted(count: Counter[str]) -> str:
    return ", ".join(f"{about} {number}" for about, number in count.most_common())
