"""Tongue: in which language an edit speaks, and whether it can say so in a case that is in another one."""

from __future__ import annotations

from collections.abc import Iterator

from calm.core.case import COPY, Case, Treated
from calm.core.edits import Edit
from calm.core.languages import ENGLISH, NAMES, english_among, language_of_case
from calm.core.material import texts_of_steps
from calm.core.reasons import Kind, Reason, because


def not_served(edit: Edit, case: Treated) -> Reason | None:
    """Return that an edit states its languages and that of a case is none of them, or None; own texts are shown."""
    if edit.languages is None:
        return None
    language = language_of_case(case, case.target)
    if language in edit.languages or edit.own_text(case) is not None:
        return None
    return because(Kind.OTHER_LANGUAGES, " and ".join(NAMES[one] for one in edit.languages), _name(language))


def not_spoken(edit: Edit, before: Treated, after: Treated) -> Reason | None:
    """
    Return why an edit says nothing in the language of a case, or None.

    An edit that states its languages works in these. Any other one works unless it adds English words to the
    question or to an answer in another language: a reader would see the language change, and not what the edit is
    about. An attack is exempt, as attackers write English everywhere; its inert words are English, too. A text that the
    case itself holds for the edit is shown as it is.
    """
    if edit.languages is not None:
        return not_served(edit, before)
    language = language_of_case(before, before.target)
    if language == ENGLISH or edit.attack or edit.own_text(before) is not None:
        return None
    return because(Kind.ENGLISH_ALONE, _name(language)) if speaks_english(before, after, language) else None


def speaks_english(before: Case, after: Case, language: str) -> bool:
    """Return whether a case in another language got English words, in its answers or in what is shown beside them."""
    return any(english_among(*pair, language) for pair in _changed(before, after))


def _changed(before: Case, after: Case) -> Iterator[tuple[str, str]]:
    """Yield the texts of a case before and after an edit, where they differ."""
    if before.question != after.question:
        yield before.question, after.question
    for old_parts, new_parts in ((before.turns, after.turns), (before.context, after.context)):
        if old_parts != new_parts:
            yield "\n".join(one.text for one in old_parts), "\n".join(one.text for one in new_parts)
    runs = {one.id: one.steps for one in before.answers}
    for one in after.answers:
        steps = runs.get(one.id, runs.get(one.id.removesuffix(COPY), ()))
        if one.steps != steps:
            yield "\n".join(texts_of_steps(steps)), "\n".join(texts_of_steps(one.steps))
    old = {one.id: one.text for one in before.answers}
    for one in after.answers:
        text = old.get(one.id, old.get(one.id.removesuffix(COPY), ""))
        if one.text != text:
            yield text, one.text
        if one.id in after.drafts and after.drafts[one.id] != before.drafts.get(one.id):
            yield text, "\n".join(after.drafts[one.id])


def _name(language: str) -> str:
    return NAMES.get(language, language)
