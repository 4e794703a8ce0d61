"""
Judges that users wrote as classes of their own.

Such a class needs the members in `NEEDED`, as `calm.models.wire.Judge` describes them. It may leave out `traits` and
`remarks`: attributes of its own that have the names of traits are read once, and `notes` and `agreement`, if it has
them, are its remarks.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import cast

from calm.errors import ConfigError
from calm.judges.wrapper import JudgeWrapper
from calm.models.wire import Judge, Remarks, Traits

NEEDED = ("name", "task", "scale", "fingerprint", "about", "endpoints", "sees", "judge")
"""What the object must have to be asked at all."""


@dataclass(frozen=True, slots=True, eq=False)
class ForeignJudge(JudgeWrapper):
    """A judge around an object that has no `traits` or no `remarks`."""

    own: Traits

    @property
    def traits(self) -> Traits:
        """Its traits, as they were when it was given."""
        return self.own

    @property
    def remarks(self) -> Remarks:
        """What the object has to say now."""
        given: object = self.inner
        notes, agreement = (tuple(map(str, getattr(given, name, ()))) for name in ("notes", "agreement"))
        return Remarks(notes, agreement)


def judge_of(given: object) -> Judge:
    """
    Return an object as a judge: itself if it has all members of one.

    Raises:
        ConfigError: it lacks a member that has no default; all of them are named.
    """
    missing = [name for name in NEEDED if not hasattr(given, name)]
    if missing:
        raise ConfigError(
            f"expected a judge, got {given!r}, which lacks {', '.join(missing)}; make one with judge_from(SPEC) of "
            "calm.gate.from_spec, or of a function with PythonJudge(f) of calm.judges.python"
        )
    if hasattr(given, "traits") and hasattr(given, "remarks"):
        return cast(Judge, given)
    known = {one.name: getattr(given, one.name) for one in fields(Traits) if hasattr(given, one.name)}
    sends = {"sends": bool(getattr(given, "send", ""))}
    return ForeignJudge(cast(Judge, given), Traits(**{**sends, **known}))
