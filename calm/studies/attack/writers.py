"""Searches in which a model writes: the best of several rewrites, and rewrites by a model that sees the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from calm.core.case import Case, Treated
from calm.core.edits import Expects
from calm.core.reasons import Kind as Why
from calm.core.reasons import because, reason_of
from calm.core.validation import Band, Rules
from calm.core.verdict import Criteria, Label, NoReply, Preferred, Ranking, Score, Tie, Verdict
from calm.experiment.setup import Setup
from calm.models.wire import Reply, Request
from calm.perturbations.written import Kind
from calm.studies.attack.asks import climbed, fault_in, tried, with_text
from calm.studies.attack.attack import AIM, ATTACK, AttackedCase, Search, nothing
from calm.studies.writing.rewriting import messages_for, text_in
from calm.studies.writing.writer import Writer

PERSUASIVE = Rules(Band(0.5, 2.5), Band(0, 0.7), Band(0.4), True, "same", True, True)
"""The rules for a model's rewrite: the same numbers, code, names and final answer."""


_PERSUASION = replace(AIM, rules=PERSUASIVE)
_PERSUADE = Kind("persuade", ATTACK, Expects.NOT_BETTER, "Let a writer make the weaker answer win.", nothing)


def best_of(writer: Writer, n: int) -> Search:
    """Return a search that lets a model rewrite the answer n times, and takes the best rewrite that wins."""

    def search(setup: Setup, sought: Sequence[AttackedCase]) -> None:
        setup.engine.greet(writer.server)
        texts = _write(setup, writer, [(one, k, _EMPTY) for k in range(n) for one in sought])
        pools: dict[AttackedCase, list[Treated]] = {one: [] for one in sought}
        for one, found in texts:
            if isinstance(found, Treated) and found not in pools[one]:
                pools[one].append(found)
        for place in range(n):
            tries = [(s, pools[s][place]) for s in sought if s.going and place < len(pools[s])]
            for (one, case), verdict in zip(tries, tried(setup, tries), strict=True):
                climbed(setup, one, case, verdict)

    return search


def hill_climb(writer: Writer, rounds: int) -> Search:
    """Return a search in which a model rewrites the answer, sees what the judge said of it, and writes again."""

    def search(setup: Setup, sought: Sequence[AttackedCase]) -> None:
        setup.engine.greet(writer.server)
        reports = dict.fromkeys(sought, _EMPTY)
        for number in range(rounds):
            going = [one for one in sought if one.going]
            tries: list[tuple[AttackedCase, Treated]] = []
            for one, found in _write(setup, writer, [(one, number, reports[one]) for one in going]):
                if isinstance(found, Treated):
                    tries.append((one, found))
                elif found:
                    reports[one] = {**reports[one], "verdict": f"the version could not be used ({found})."}
            for (one, case), verdict in zip(tries, tried(setup, tries), strict=True):
                if one.going and climbed(setup, one, case, verdict):
                    said = in_words(verdict, one.aim.case, setup)
                    reports[one] = {"draft": case[case.target].text, "verdict": said}

    return search


_EMPTY: Mapping[str, str] = {"draft": "", "verdict": ""}


def _write(
    setup: Setup, writer: Writer, wanted: Sequence[tuple[AttackedCase, int, Mapping[str, str]]]
) -> list[tuple[AttackedCase, Treated | str]]:
    """Return the cases with what the writer made of their answers, or why a text may not be used; "" for no reply."""
    requests: list[tuple[Request, int]] = []
    for one, number, fields in wanted:
        requests.append((request_for(writer, one.aim.case, fields), number))
    made: list[tuple[AttackedCase, Treated | str]] = []
    for (one, _, _), response in zip(wanted, setup.engine.generate(requests), strict=True):
        if isinstance(response.reply, NoReply):
            reason = reason_of(response.reply.reason)
            one.lost = reason if reason.has(Why.CAPPED) else because(Why.WRITER, reason)
            made.append((one, ""))
            continue
        one.written += 1
        found = usable(response.reply, one.aim.case)
        if isinstance(found, str):
            one.refused[found] += 1
        made.append((one, found))
    return made


def request_for(writer: Writer, case: Treated, told: Mapping[str, str] = _EMPTY) -> Request:
    """
    Return what asks a writer to make the treated answer win; it sees no other answer.

    Args:
        writer: who writes.
        case: the case with the answer as it was.
        told: the `draft` to continue from, and the `verdict` on it; "" for neither.
    """
    question = Case(case.id, case.question, (case[case.target],), fields=told)
    return writer.request(messages_for(_PERSUADE, question))


def usable(reply: Reply, original: Treated) -> Treated | str:
    """Return the case with the text of a writer's reply, or why it may not be used."""
    text, why = text_in(reply, original[original.target].text)
    if text is None or why is not None:
        return why.about if why is not None else ""
    after = with_text(original, text)
    return fault_in(_PERSUASION, original, after) or after


def in_words(verdict: Verdict, case: Treated, setup: Setup) -> str:
    """Return what a judge said of the treated answer, in words for a writer."""
    scale = setup.judge.scale
    match verdict:
        case Preferred(answer=answer):
            return "the judge preferred it." if answer == case.target else "the judge preferred the other answer."
        case Tie():
            return "the judge called it a tie with the other answer."
        case Score(value=value):
            good = f", {scale.low:g} for the best" if scale.best == "low" else ""
            said = f"the judge gave it {scale.upright(value):g}"
            return f"{said} on a scale from {scale.low:g} to {scale.high:g}{good}."
        case Criteria(met=met):
            against = [c.text for c in case.criteria if met.get(c.id) is not None and met[c.id] != (c.points > 0)]
            return f"the judge counted against it: {'; '.join(against)}." if against else "the judge found no fault."
        case Label(value=name):
            return f"the judge put it in the class {name}."
        case Ranking(order=order):
            place = next(n for n, group in enumerate(order, 1) if case.target in group)
            return f"the judge put it in place {place} of {len(case.answers)}."
        case _:
            return "the judge gave no verdict that could be read."
