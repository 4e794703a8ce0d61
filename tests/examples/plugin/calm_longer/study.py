"""The study: how often the longer of two answers wins."""

from collections import Counter

from calm import Preferred
from calm.core.reasons import in_words
from calm.core.verdict import NoReply
from calm.errors import ConfigError


def longer(judge, cases, engine):
    """Ask about each case once; return a record, also of the cases that got no reply."""
    if judge.task != "pairwise":
        raise ConfigError(f"{judge.name}: expected a judge of task pairwise, got task={judge.task!r}")
    engine.admit(judge)  # a server that cannot be reached ends the run here
    if not judge.traits.as_given:
        cases = [case.balanced("longer") for case in cases]  # which answer stands first is drawn, as in the gate
    given = [one.verdict for one in engine.ask(judge, [(case, 1) for case in cases])]
    taken = [
        max(case.answers, key=lambda answer: len(answer.text)).id == verdict.answer
        for case, verdict in zip(cases, given, strict=True)
        if isinstance(verdict, Preferred)
    ]
    lost = Counter(verdict.reason for verdict in given if isinstance(verdict, NoReply))
    return {
        "schema": "longer/1",
        "judge": judge.name,
        "longer": sum(taken),
        "decided": len(taken),
        "undecided": len(given) - len(taken) - sum(lost.values()),
        "lost": in_words(lost),
    }
