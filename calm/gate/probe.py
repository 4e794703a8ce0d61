"""What a test holds: `probe(edit).proves(claim, ...)` asks, decides and records; nothing is asked before a claim is."""

from __future__ import annotations

from collections.abc import Sequence

from calm.core.case import Case
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.errors import ClaimError
from calm.experiment.setup import Setup
from calm.gate.context import Context
from calm.gate.cross import Cross
from calm.gate.question import Question


class Probe:
    """
    The `probe` fixture: call it with an edit to get a `Question`.

    In a trace it decides nothing: it hands what the test would ask to the sink of its context, and the test goes on.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.questions: list[Question | Cross] = []

    def __repr__(self) -> str:
        return "probe"

    @property
    def setup(self) -> Setup:
        """What the run asks: the judge, its cases, and the asks a case."""
        return self.context.setup

    @property
    def tracing(self) -> bool:
        """Whether the test only runs for what it would ask."""
        return self.context.sink is not None

    def __call__(
        self, edit: AnyEdit | None = None, *, against: AnyEdit | None = None, cases: Sequence[Case] | None = None
    ) -> Question:
        """
        Return a question about an edit, or about the clean cases alone; nothing is asked yet.

        Args:
            edit: a perturbation, or several in `rotate(...)`.
            against: the edit to compare with, where the clean case is not the right control.
            cases: other cases than the run's.

        Raises:
            ClaimError: something else was given as an edit.
        """
        for name, value in (("edit", edit), ("against", against)):
            if value is not None and not isinstance(value, Edit | PromptEdit):
                wanted = f"probe(): expected {name} to be a perturbation"
                raise ClaimError(f"{wanted}, got {value!r}; decorate it with @perturbation or @prompt_edit")
        if against is not None and edit is None:
            raise ClaimError("probe(): against= needs an edit to compare with")
        question = Question(self.context, edit, against, cases)
        self.questions.append(question)
        return question

    def cross(self) -> Cross:
        """Return a question about answers whose authors are known, put to the judge and its peers; nothing is asked."""
        question = Cross(self.context)
        self.questions.append(question)
        return question

    def complaint(self) -> str | None:
        """Return what a test that passed did wrong with its probe, if anything."""
        if not self.questions:
            return "the test takes `probe` and never uses it: it proves nothing"
        for question in self.questions:
            if not question.ended:
                return f"{question!r} was never decided: end it with .proves(...), .allows(...) or .observe(...)"
            if question.open:
                return f"{question!r} ended in an error, and the test went on: let the error end the test"
        for proof in self.context.proofs:
            if not proof.holds:
                return (
                    f"the test passed although a claim of it did not: {proof!r}. "
                    "To accept a known failure use @pytest.mark.xfail(reason=...)"
                )
            if not proof.looked_at:
                return f"a claim was decided and never asserted: write `assert {proof.question}.proves(...)`"
        return None
