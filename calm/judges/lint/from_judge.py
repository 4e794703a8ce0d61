"""
The prompt of a judge.toml as it is sent: rendered by the judge itself, with its mitigations, about a case of marks.

Nothing is called. The judge is given a `send` that notes the request and answers nothing.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias

from calm.core.case import Answer, Case, Criterion
from calm.core.files import read_text, read_toml
from calm.core.templates import Messages
from calm.core.verdict import Task
from calm.errors import ConfigError, JudgeError
from calm.judges import reading
from calm.judges.judgefile import read_judge
from calm.judges.lint.page import Page, Role, Slot, page_of, sign, without_signs
from calm.judges.lint.placeholders import leftovers
from calm.judges.lint.places import Source, Sources
from calm.judges.lint.subject import Reading, Room, Subject
from calm.judges.panel import Panel
from calm.judges.prompted import PromptedJudge, prompted
from calm.judges.unseen import unseen
from calm.models.server import Server
from calm.models.wire import Judge, Reply, Request

CasesOf: TypeAlias = Callable[[Judge], Sequence[Case]]

ANSWERS: Final[Mapping[Task, int]] = {"pairwise": 2, "listwise": 3}
"""How many answers the case of marks has; one for any other task."""
_MARK: Final = re.compile(r"calm(question|answer|reference|context|criteria)slot(\d+)mark", re.IGNORECASE)
LIKELY: Final = 5
"""So many of the longest cases are rendered, to find the one whose prompt is the longest."""
_FIELD: Final = re.compile(r"""\bfields(?:\.(\w+)|\[["']([^"'\]\n]{1,100})["']\])""")
_DRAFT: Final = re.compile(r"\bhistory\[(\d)\]")
"""An earlier reply that a template names by its place."""
_WHAT: Final = "a judge.toml"
_FILES: Final = ("system_file", "user_file", "messages_file")
"""What the standard framing is written in. The negative one asks the other way round, and is shown only by a suite."""


def subjects_of(path: Path, cases_of: CasesOf | None = None, window: int | None = None) -> list[Subject]:
    """
    Return what to lint of a judge.toml: one prompt, or one for each member of a panel.

    `cases_of` returns the cases of a judge that must fit into `window` tokens (None: what is known of its model).

    Raises:
        ConfigError: the file cannot be read, or describes a judge without a prompt.
    """
    judge = read_judge(path, {}, keyless=True)
    if isinstance(judge, Panel):
        return [
            one
            for member in _table(path, "panel")["members"]
            for one in subjects_of(path.parent / member, cases_of, window)
        ]
    inside = prompted(judge)
    if inside is None:
        raise ConfigError(f"{path}: this judge has no prompt to lint; expected a judge.toml with a [model] table")
    return [_subject(path, judge, inside, cases_of(judge) if cases_of else (), window)]


def judges_of(path: Path) -> list[Path]:
    """Return the files of judges that name a template, beside it or a folder above; the path itself if none does."""
    if path.suffix == ".toml":
        return [path]
    folders = dict.fromkeys((path.parent, *([path.parent.parent] if path.parent.name else [])))
    whole = path.resolve()
    found = [
        file
        for folder in folders
        for file in sorted(folder.glob("*.toml"))
        if any((file.parent / name).resolve() == whole for name in _named(file))
    ]
    return found or [path]


def _named(path: Path) -> list[str]:
    """Return the files that the prompt of a judge.toml names; none for any other file."""
    try:
        table = read_toml(path, _WHAT).get("prompt")
    except ConfigError:
        return []
    return [str(value) for key, value in table.items() if key.endswith("_file")] if isinstance(table, dict) else []


def _subject(path: Path, judge: Judge, inside: PromptedJudge, cases: Sequence[Case], window: int | None) -> Subject:
    marked = _marked(judge.task, *_named_in(inside))
    page = _page(_sent(judge, inside, marked))
    scale = inside.asked or inside.scale
    criterion = marked.criteria[0] if judge.task == "rubric" else None
    view = reading.view(_plain(judge.task), judge.task, scale, criterion)
    known = next((e for e in judge.endpoints if isinstance(e, Server)), None)
    return Subject(
        task=judge.task,
        several=len(marked.answers),
        page=page,
        sources=_sources(path),
        arrives=partial(_arrives, judge, inside, marked),
        reading=Reading(inside.form, view, _keys(inside.schema), _says_best(path)),
        scale=scale if judge.task == "score" else None,
        leftovers=leftovers(page),
        rooms=_rooms(judge, inside, cases, known, window),
        unseen=unseen(judge, cases),
    )


def _marked(task: Task, fields: Sequence[str] = (), drafts: int = 0) -> Case:
    """Return a case whose texts are marks that no filter of a template changes but in their case."""
    earlier = tuple(f"calmcontextslot{len(fields) + n}mark" for n in range(drafts))
    answers = tuple(Answer(f"a{n}", f"calmanswerslot{n}mark", history=earlier) for n in range(ANSWERS.get(task, 1)))
    criteria = (Criterion("c1", "calmcriteriaslot0mark"),)
    return Case(
        "marks",
        "calmquestionslot0mark",
        answers,
        reference="calmreferenceslot0mark",
        criteria=criteria,
        fields={name: f"calmcontextslot{n}mark" for n, name in enumerate(fields)},
    )


def _named_in(judge: PromptedJudge) -> tuple[list[str], int]:
    """Return the fields of a case that the templates name, and how many earlier replies of an answer."""
    text = "\n".join(message.text for message in judge.prompt.messages)
    fields = list(dict.fromkeys(found[1] or found[2] for found in _FIELD.finditer(text)))
    return fields, max((int(found[1]) + 1 for found in _DRAFT.finditer(text)), default=0)


def _plain(task: Task) -> Case:
    """Return the case that a reply is read against: none of its texts can be quoted by accident."""
    return replace(_marked(task), question="", reference=None)


def _sent(judge: Judge, inside: PromptedJudge, case: Case) -> Messages:
    """Return the first messages with all answers that a judge sends about a case."""
    asked = _asked(judge, case)
    whole = [one for one in asked if all(a.text in "".join(m.text for m in one).lower() for a in case.answers)]
    if whole:
        return whole[0]
    return inside.sent(case)[0][0]


def _asked(judge: Judge, case: Case) -> list[Messages]:
    log = _Log()
    with suppress(JudgeError):
        asyncio.run(judge.judge(case, log))
    return log.sent


class _Log:
    """A `send` that notes what is sent, and gets nothing for it."""

    ask = 1

    def __init__(self) -> None:
        self.sent: list[Messages] = []

    async def __call__(self, request: Request) -> Reply:
        self.sent.append(request.prompt)
        return Reply("")


def _page(messages: Messages) -> Page:
    """Return a page in which each mark is a slot."""
    slots: list[tuple[Role, int, str]] = []

    def noted(found: re.Match[str]) -> str:
        role = next(r for r in _ROLES if r == found[1].lower())
        slots.append((role, int(found[2]), role))
        return sign(len(slots) - 1)

    turns = [(message.role, _MARK.sub(noted, without_signs(message.text))) for message in messages]
    return page_of(turns, slots)


_ROLES: Final[tuple[Role, ...]] = ("question", "answer", "reference", "context", "criteria")


def _arrives(judge: Judge, inside: PromptedJudge, marked: Case, slot: Slot, delimiter: str) -> bool:
    """Return whether a delimiter in the text of an answer is sent as it is, and still ends the answer."""
    answer = marked.answers[slot.number]
    hostile = marked.edit(answer.id, lambda text: f"{text}{delimiter}{text}")
    page = _page(_sent(judge, inside, hostile))
    shown = page.answers[slot.number] if slot.number < len(page.answers) else ()
    return len(shown) > 1 and page.after(shown[0]) == delimiter and page.after(shown[1]).startswith(delimiter)


def _sources(path: Path) -> Sources:
    """Return the templates of a judge.toml as files, and the file itself."""
    table = _table(path, "prompt")
    named = [str(table[key]) for key in _FILES if key in table]
    files = [Source(str(path.parent / name), read_text(path.parent / name, "a prompt")) for name in named]
    return Sources((*files, Source(str(path), read_text(path, _WHAT))))


def _table(path: Path, *keys: str) -> Mapping[str, Any]:
    """Return a table of a judge.toml that was read as one before; an empty one where there is none."""
    found: Mapping[str, Any] = read_toml(path, _WHAT)
    for key in keys:
        found = found.get(key, {})
    return found


def _says_best(path: Path) -> bool:
    """Return whether a judge.toml says which end of its scale is good."""
    return "best" in _table(path, "verdict", "scale")


def _keys(schema: Mapping[str, object] | None) -> tuple[str, ...]:
    """Return the keys that a schema asks for, in its order."""
    properties = (schema or {}).get("properties")
    return tuple(map(str, properties)) if isinstance(properties, dict) else ()


def _rooms(
    judge: Judge, inside: PromptedJudge, cases: Sequence[Case], server: Server | None, window: int | None
) -> list[Room]:
    """Return what the longest of the cases needs, where it is known what the model takes."""
    if server is None or not cases:
        return []
    takes = window or server.window
    if takes is None:
        return []
    likely = sorted(cases, key=_written, reverse=True)[:LIKELY]
    lengths: list[tuple[int, str]] = []
    for case in likely:
        with suppress(ConfigError):  # it lacks what the prompt shows: the run that is to show it says so
            lengths.append((sum(len(m.text) for m in _sent(judge, inside, case)), case.id))
    if not lengths:
        alone = _sent(judge, inside, _marked(judge.task, *_named_in(inside)))
        lengths.append((sum(len(message.text) for message in alone), ""))
    return [Room(name, longest, server.max_tokens, takes) for longest, name in sorted(lengths)[-1:]]


def _written(case: Case) -> int:
    """Return how many characters a case itself has."""
    answers = sum(len(text) for one in case.answers for text in (one.text, *one.history))
    around = sum(map(len, (*case.fields.values(), *case.surroundings())))
    return len(case.question) + answers + len(case.reference or "") + around
