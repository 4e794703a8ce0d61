"""Aim: which answer of a case an edit treats, whether a pilot has to choose it, and whether it can gain."""

from __future__ import annotations

from calm.core.case import TIE, Case, Treated, digest
from calm.core.edits import Expects
from calm.core.reasons import Kind, Reason, because
from calm.core.trials import Trial, favour
from calm.core.verdict import Criteria, Family, Label, Preferred, Ranking, Scale, Verdict, readable

NO_ROOM = 0.75
"""Favour above which an answer has no room to gain: less than a quarter of the scale. A score has as much to fall."""


def wants_pilot(case: Case, expects: Expects) -> bool:
    """Return whether the judge is asked once beforehand: to choose the treated answer, or for its room to move."""
    if expects is Expects.NOT_BETTER or (expects is Expects.WORSE and len(case.answers) == 1):
        return True
    unknown = case.better is None or case.better == TIE or len(case.answers) > 2
    return len(case.answers) > 1 and unknown and expects is not Expects.TIE


def open_to_pilot(case: Case) -> bool:
    """Return whether the answer that an edit treats can depend on the pilot's verdict."""
    scored = len(case.scores) == len(case.answers) and len(set(case.scores.values())) > 1
    return len(case.answers) > 1 and not scored and (case.better is None or len(case.answers) > 2)


def aim(case: Case, expects: Expects, pilot: Verdict | None = None) -> Treated | Reason:
    """
    Return the case with the answer that an edit treats, or the reason why there is none.

    It is the best answer where the edit expects WORSE, else the worst one: by the gold label, else by gold scores, else
    by the pilot's verdict. Where none of these tells, it is drawn from the case's id.
    """
    ids = sorted((a.id for a in case.answers), key=lambda i: digest("target", case.id, i))
    if len(ids) == 1:
        return case.treat(ids[0])
    if len(ids) == 2 and case.better not in (None, TIE) and expects not in (Expects.TIE, Expects.WORSE):
        return case.treat(next(i for i in ids if i != case.better))
    if expects is Expects.TIE or (case.better == TIE and not isinstance(pilot, Ranking)):
        return case.treat(ids[0])
    best, worst = _ends(case, pilot)
    good = best if case.better in (None, TIE) else case.better
    chosen = good if expects is Expects.WORSE else worst
    if chosen is None and pilot is not None and not readable(pilot):
        return because(Kind.PILOT_UNREAD)
    return case.treat(chosen or ids[0])


def _ends(case: Case, pilot: Verdict | None) -> tuple[str | None, str | None]:
    """Return the best and the worst answer by gold scores, else by the pilot; None where neither tells."""
    known = [a.id for a in case.answers if a.id in case.scores]
    if len(known) == len(case.answers) and len(set(case.scores.values())) > 1:
        return max(known, key=case.scores.__getitem__), min(known, key=case.scores.__getitem__)
    if isinstance(pilot, Preferred):
        others = [a.id for a in case.answers if a.id != pilot.answer]
        return pilot.answer, others[0] if len(others) == 1 else None
    if isinstance(pilot, Ranking) and len(pilot.order) > 1:
        return min(pilot.order[0]), max(pilot.order[-1])
    return None, None


def aims_by_pilot(case: Case, expects: Expects) -> bool:
    """Return whether the pilot has to choose the treated answer; else it only says what room there is."""
    return wants_pilot(case, expects) and open_to_pilot(case)


def has_room(case: Treated, expects: Expects, pilot: Verdict | None, family: Family, scale: Scale) -> bool:
    """
    Return whether the treated answer can still move as the edit would move it, by the verdict of the pilot.

    It can gain if it has not won, or lacks a quarter of the scale at least. A score can fall if it is that far above
    the bottom: an answer that is called wrong already may well stay there with one error more, and what denies it may
    be true. On a rubric an answer can fall if the criterion that was hit was met; a copy that was harmed and is shown
    beside its original always can. Of classes, it can gain if a bad move begins at its class (in an order one of a
    quarter of it at least), and fall if its class is not that of damaged answers. True without a pilot.
    """
    together = family in ("pairwise", "listwise")
    if pilot is None or expects not in (Expects.NOT_BETTER, Expects.WORSE) or (expects is Expects.WORSE and together):
        return True
    if expects is Expects.WORSE and family == "rubric" and case.hit is not None:
        met = pilot.met.get(case.hit) if isinstance(pilot, Criteria) else None
        return met is None or met == (case.points[case.hit] > 0)
    if isinstance(pilot, Label):
        return _class_has_room(pilot.value, expects, scale)
    x = favour(pilot, case.target, Trial(case.id, points=case.points), scale)
    if x is None:
        return True
    if expects is Expects.WORSE:
        return x >= 1 - NO_ROOM if family == "score" else x > 0
    return x <= (0.5 if family == "pairwise" else NO_ROOM)


def _class_has_room(name: str, expects: Expects, scale: Scale) -> bool:
    classes = scale.classes
    if classes is None or (expects is Expects.NOT_BETTER and not classes.directed):
        return True
    if expects is Expects.WORSE:
        return name != classes.damaged
    return classes.worst_move(name) > 0 if classes.harm else classes.worst_move(name) >= 1 - NO_ROOM
