"""What all mitigations share: the entry that describes one, the judge that it makes, and how its argument is read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from calm.core.case import Case, digest
from calm.core.reasons import Reason
from calm.core.verdict import FAMILIES, FAMILY, Family, Verdict
from calm.errors import ConfigError
from calm.judges.panel import Panel
from calm.judges.wrapper import JudgeWrapper, joint_endpoints, joint_remarks, joint_traits
from calm.models.wire import Endpoint, Json, Judge, Remarks, Send, Traits

Ask: TypeAlias = Callable[[Judge, Case, Send], Awaitable[Verdict]]
"""Gets a verdict from the judge inside."""
Shown: TypeAlias = Callable[[Judge, Case], object]
"""Returns what of a case can reach the verdict."""
Reader: TypeAlias = Callable[[str], Judge]
"""Makes a judge from a specification, such as the path of another judge.toml."""

Notes: TypeAlias = Callable[[], Iterable[Reason]]
"""Returns what a mitigation itself has to say of a run."""

EVERY: tuple[Family, ...] = FAMILIES
MOST = 16
"""How many verdicts one mitigation may ask for, at most."""


@runtime_checkable
class InFolder(Protocol):
    """What a reader is besides, if paths are relative to a folder other than the present one."""

    @property
    def folder(self) -> Path:
        """The folder."""
        ...


class NotApplicable(ConfigError):
    """A mitigation that can do nothing for this judge; the message says why."""


@dataclass(frozen=True, slots=True)
class Mitigation:
    """
    An entry of the table of mitigations.

    `make` gets the judge, the argument after the colon, and a reader for other judges. `takes` shows what the argument
    looks like; empty: it takes none. `calls` says in words how many calls a verdict costs.
    """

    name: str
    does: str
    families: tuple[Family, ...]
    calls: str
    source: str
    make: Callable[[Judge, str, Reader], Judge]
    takes: str = ""


def _same_view(judge: Judge, case: Case) -> object:
    return judge.sees(case)


@dataclass(frozen=True, slots=True, eq=False)
class MitigatedJudge(JudgeWrapper):
    """
    A judge with a mitigation around it.

    `label` is the name with its argument, as a report shows it; `key` is what of it decides verdicts. `others` are
    other judges that it asks, and `panel` is the panel that they form with the judge inside, if they do. `may_end` is
    true if it may stop before it has made all of its calls. `said` adds to the notes of a run.
    """

    label: str
    key: str
    ask: Ask
    shown: Shown = _same_view
    others: tuple[Judge, ...] = ()
    panel: Panel | None = None
    may_end: bool = False
    said: Notes | None = None

    @property
    def traits(self) -> Traits:
        """What all judges inside can do."""
        inside = joint_traits((self.inner, *self.others)) if self.others else self.inner.traits
        return replace(inside, at_most=True) if self.may_end else inside

    @property
    def remarks(self) -> Remarks:
        """What the judges inside have to say, and the panel that they form."""
        inside = joint_remarks((self.inner, *self.others)) if self.panel is None else self.panel.remarks
        return inside if self.said is None else replace(inside, notes=(*inside.notes, *self.said()))

    @property
    def fingerprint(self) -> str | None:
        """Identify the judges inside and the mitigation; None if one of them is unknown."""
        prints = [judge.fingerprint for judge in (self.inner, *self.others)]
        return None if None in prints else digest(self.key, *prints)

    @property
    def about(self) -> Mapping[str, Json]:
        """What a report says of the judge inside, and the mitigation."""
        inner = dict(self.inner.about)
        before = inner.get("mitigations")
        found: dict[str, Json] = {**inner, "mitigations": [*(before if isinstance(before, list) else []), self.label]}
        if self.others:
            found["asked_besides"] = [{"name": o.name, "model": o.about.get("model")} for o in self.others]
        return found

    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The models of all judges inside, each once."""
        return joint_endpoints((self.inner, *self.others))

    def whose(self, endpoint: Endpoint) -> str:
        """Return which members of the panel, or judges inside it, ask an endpoint."""
        return JudgeWrapper.whose(self, endpoint) if self.panel is None else self.panel.whose(endpoint)

    def sees(self, case: Case) -> object:
        """Return what can reach the verdict."""
        return self.shown(self.inner, case)

    async def judge(self, case: Case, send: Send) -> Verdict:
        """Return the verdict that the mitigation gets from the judge inside."""
        return await self.ask(self.inner, case, send)


# ------------------------------------------------------------------------------------------- the argument of one


def number_argument(name: str, argument: str, default: int, *, least: int = 1, most: int = MOST) -> int:
    """
    Return the number after the colon.

    Raises:
        ConfigError: it is no whole number from `least` to `most`.
    """
    if not argument:
        return default
    if not (argument.isascii() and argument.isdecimal() and least <= int(argument) <= most):
        raise ConfigError(
            f"mitigations: expected a whole number from {least} to {most} after '{name}:', got {argument!r}"
        )
    return int(argument)


def judges_argument(name: str, argument: str, judge: Judge, reader: Reader) -> tuple[Judge, ...]:
    """
    Return the judges that are named after the colon, with `+` between them.

    Raises:
        ConfigError: none is named, or one has another kind of task.
    """
    specs = [spec.strip() for spec in argument.split("+") if spec.strip()]
    if not specs:
        raise ConfigError(f"mitigations: expected other judges after '{name}:', such as '{name}:b.toml+c.toml'")
    others = tuple(reader(spec) for spec in specs)
    for spec, other in zip(specs, others, strict=True):
        if FAMILY[other.task] != FAMILY[judge.task]:
            raise ConfigError(
                f"mitigations: '{name}' expects judges with task = {judge.task!r}, and {spec} has task={other.task!r}"
            )
    return others


def path_argument(name: str, argument: str, reader: Reader) -> Path:
    """
    Return the path of a file that is named after the colon.

    Raises:
        ConfigError: none is named.
    """
    if not argument:
        raise ConfigError(f"mitigations: expected a file after '{name}:'")
    return (reader.folder if isinstance(reader, InFolder) else Path()) / argument
