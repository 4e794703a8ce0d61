"""The study: how often the longer of two answers wins."""

from calm import Preferred


def longer(judge, cases, engine):
    """Ask about each case once; return a record."""
    asked = engine.ask(judge, [(case, 1) for case in cases])
    taken = [
        max(case.answers, key=lambda answer: len(answer.text)).id == one.verdict.answer
        for case, one in zip(cases, asked, strict=True)
        if isinstance(one.verdict, Preferred)
    ]
    return {"schema": "longer/1", "judge": judge.name, "asked": len(taken), "longer": sum(taken)}
