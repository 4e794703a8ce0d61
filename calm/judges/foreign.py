"""
Judges that users wrote as classes of their own.

Such a class needs the members in `NEEDED`, as `calm.models.wire.Judge` describes them. It may leave out `traits` and
`remarks`: attributes of its own that have the names of traits are read once, and `notes` and `agreement`, if it has
them, are its remarks. With `reads` it declares what it is handed of a case, as a callable does; without, that is all
but the gold labels.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import cast

from calm.core.case import Case
from calm.core.verdict import Verdict
from calm.errors import ConfigError
from calm.judges.attributes import reads_of
from calm.judges.blind import GOLD, READABLE, Blinded, blinded
from calm.judges.code import Watch, in_task
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Judge, Remarks, Send, Traits

NEEDED = ("name", "task", "scale", "fingerprint", "about", "endpoints", "sees", "judge")
"""What the object must have to be asked at all."""
VISIBLE = tuple(name for name in READABLE if name not in GOLD)


@dataclass(frozen=True, slots=True, eq=False)
class ForeignJudge(JudgeWrapper):
    """A judge around an object of a user's class: it is handed a case as any code is, and may lack traits."""

    own: Traits
    reads: tuple[str, ...] = VISIBLE
    _watch: Watch = field(default_factory=Watch, init=False, repr=False)

    @property
    def traits(self) -> Traits:
        """Its traits, as they were when it was given."""
        return self.own

    @property
    def remarks(self) -> Remarks:
        """What the object has to say now, and what it returned or raised that is no verdict."""
        given: object = self.inner
        if hasattr(given, "remarks"):
            return self._watch.remarks(self, self.inner.remarks)
        notes, agreement = (tuple(map(str, getattr(given, name, ()))) for name in ("notes", "agreement"))
        return self._watch.remarks(self, Remarks(notes, agreement))

    def sees(self, case: Case) -> object:
        """Return what the object says that it sees of the case that it is handed."""
        return self.inner.sees(blinded(case, self.reads).case)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """
        Return the object's verdict on the case that it is handed, by the ids of the case itself.

        What it returns may be all that a callable may return (`calm.judges.python`). A verdict may also name an answer
        by the id that it has in the file, as that of a class which looks verdicts up by the id of the case.

        Raises:
            JudgeError: it raised an exception, or returned what is no verdict on this case.
        """
        hidden = blinded(case, self.reads)
        known = hidden if "criteria" in self.reads else blinded(case, (*self.reads, "criteria"))
        letters = {one: letter for letter, one in hidden.ids.items() if one not in hidden.ids}

        def run() -> object:
            return self.inner.judge(hidden.case, send)

        async def called() -> object:
            said = await in_task(run)
            return Blinded(hidden.case, letters).named(cast(Verdict, said))

        return await self._watch.verdict(self, known, called)


def judge_of(given: object) -> Judge:
    """
    Return an object as a judge: one of ours as it is, one of a user's class as a `ForeignJudge`.

    Raises:
        ConfigError: it lacks a member that has no default (all of them are named), or its `reads` are wrong.
    """
    missing = [name for name in NEEDED if not hasattr(given, name)]
    if missing:
        raise ConfigError(
            f"expected a judge, got {given!r}, which lacks {', '.join(missing)}; make one with judge_from(SPEC) of "
            "calm.gate.from_spec, or of a function with PythonJudge(f) of calm.judges.python"
        )
    judge = cast(Judge, given)
    if type(given).__module__.partition(".")[0] == "calm":
        return judge
    problems: list[str] = []
    reads = reads_of(given, judge.task, problems.append) if getattr(given, "reads", None) else VISIBLE
    if problems:
        raise ConfigError(problems)
    if hasattr(given, "traits"):
        return ForeignJudge(judge, judge.traits, reads)
    known = {one.name: getattr(given, one.name) for one in fields(Traits) if hasattr(given, one.name)}
    sends = {"sends": bool(getattr(given, "send", ""))}
    return ForeignJudge(judge, Traits(**{**sends, **known}), reads)
