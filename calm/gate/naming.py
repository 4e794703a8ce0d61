"""How a command line names the edits of a probe, so that a person can ask about a single row again."""

from __future__ import annotations

from calm.core.edits import AnyEdit
from calm.core.trials import Trials
from calm.experiment.lookahead import Order
from calm.gate.catalogue import name_of


def named(order: Order, trials: Trials | None) -> dict[str, str]:
    """
    Return by its label how `calm try` names each edit of the rows, and the one that they are compared with.

    The label of a row without an edit is empty, and so is its name. An edit that no command line can name is left out.
    So is everything where the test brought its cases: no file holds them.
    """
    if trials is None or order.own_cases:
        return {}
    labels = {row.edit for row in trials.rows}
    model = str(order.setup.judge.about.get("model") or order.setup.judge.name)
    found = {"": ""} if "" in labels else {}
    for one in _single(order.edit) + _single(order.against):
        wanted = one.label in labels or one is order.against
        if wanted and one.label not in found and (name := name_of(one, model)):
            found[one.label] = name
    return found


def _single(edit: AnyEdit | None) -> tuple[AnyEdit, ...]:
    """Return the edits that take turns, or the one edit; none where there is none."""
    return () if edit is None else edit.variants or (edit,)
