"""What is linted: a prompt as it is sent, and what is known of how its verdict is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from calm.core.verdict import Scale, Task
from calm.judges.lint.page import Page, Role, Slot
from calm.judges.lint.places import Place, Sources
from calm.judges.reading import Format, View
from calm.judges.wrapper import Unseen


@dataclass(frozen=True, slots=True)
class Reading:
    """
    How the replies of a judge are read: the form, what a verdict is about, and the keys of a schema in order.

    `directed` is whether judge.toml says which end of the scale is good.
    """

    form: Format
    view: View
    schema: tuple[str, ...] = ()
    directed: bool = False


@dataclass(frozen=True, slots=True)
class Room:
    """
    What the longest case needs: its id, characters, and tokens of a reply; `window` is what the model takes.

    The id is empty where no case can be shown, and the prompt was measured alone.
    """

    case: str
    characters: int
    reply: int
    window: int


@dataclass(frozen=True, slots=True)
class Leftover:
    """A placeholder that nothing fills, and what to write in its place."""

    written: str
    fix: str
    at: int


@dataclass(frozen=True)
class Subject:
    """
    A prompt with all that the rules look at.

    `several` is how many answers it must show (0: at least one). `arrives` says whether a delimiter that stands in an
    answer, given its slot, reaches the judge as it is. `reading` is None for a prompt without a judge of its own.
    """

    task: Task
    several: int
    page: Page
    sources: Sources
    arrives: Callable[[Slot, str], bool]
    reading: Reading | None = None
    scale: Scale | None = None
    leftovers: Sequence[Leftover] = field(default_factory=tuple)
    rooms: Sequence[Room] = field(default_factory=tuple)
    unseen: Sequence[Unseen] = field(default_factory=tuple)

    def at(self, at: int) -> Place:
        """Return the place in the files of a place of the page."""
        turn = self.page.turn(at)
        if turn.line is not None:
            return Place(self.sources.files[0].file, turn.line + self.page.text.count("\n", turn.start, at))
        slot = next((slot for slot in self.page.slots if slot.at == at), None)
        words = () if slot is None else _VARIABLES.get(slot.role, ())
        words = tuple(word.replace("[0]", f"[{0 if slot is None else slot.number}]") for word in words)
        return self.sources.place(self.page.text[slice(*self.page.line(at))], words=words)


_VARIABLES: Mapping[Role, tuple[str, ...]] = {
    "question": ("question",),
    "answer": ("answers[0].text", "answer.text", ".text", "answers"),
    "reference": ("reference",),
    "context": ("fields",),
    "criteria": ("criterion", "criteria"),
}
"""How a template of calm writes what stands in a slot."""


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found: where, and the details that its words have a place for."""

    rule: str
    place: Place
    details: tuple[str, ...] = ()
