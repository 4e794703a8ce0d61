"""
Answering: let models answer the questions of some cases, once, so that judges can be put to answers of known authors.

Every reply is kept in the cache as soon as it is there, so a run that was killed goes on where it stopped; the answers
are written at the end, whole. Ids of answers tell nobody who wrote which: their order is drawn for each case. Who wrote
what stays in `author`, which no prompt shows.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from calm.cases.writing import line
from calm.core.case import Answer, Case, digest
from calm.core.verdict import NoReply, Refused, Scale
from calm.engine.engine import Engine
from calm.errors import ConfigError
from calm.judges import reading
from calm.judges.reading import Format, View
from calm.models.wire import Reply
from calm.results.audit import write_whole
from calm.selfpreference.crossing import FAMILIES_TAG, messages_for, with_truth
from calm.selfpreference.families import family_of, plain
from calm.studies.writing.writerfile import ASK, Writer

_SCALE = Scale()
_VIEW = View("score", ("A",), ("one",), _SCALE)
ITEM = "item"
"""The tag that all answers to one question share."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A question that a model did not answer: the case, the model, why, and what it said in place of an answer."""

    case: str
    model: str
    reason: str
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    """
    The cases with their new answers, what is no answer, and how many questions got no reply, by reason.

    `written` counts the answers of each model.
    """

    cases: tuple[Case, ...]
    failed: tuple[Failed, ...] = ()
    missing: Mapping[str, int] = field(default_factory=dict)
    written: Mapping[str, int] = field(default_factory=dict)


def families_of_writers(writers: Sequence[Writer]) -> dict[str, str]:
    """
    Return the family of each model.

    Raises:
        ConfigError: fewer than two models, one model twice, or one whose family is not known.
    """
    problems: list[str] = []
    if len(writers) < 2:
        problems.append(f"--with: expected at least 2 models, to compare their answers, got {len(writers)}")
    names = Counter(plain(writer.server.model) for writer in writers)
    problems += [f"--with: expected different models, got {name!r} {n} times" for name, n in names.items() if n > 1]
    found: dict[str, str] = {}
    for writer in writers:
        model = writer.server.model
        family = writer.family or family_of(model)
        if family is None:
            problems.append(
                f"the family of {model!r} is not known; name it with family = '...' in the [writer] table of its file"
            )
        else:
            found[model] = family
    if problems:
        raise ConfigError(problems)
    return found


def answer(cases: Sequence[Case], writers: Sequence[Writer], engine: Engine) -> Answered:
    """
    Let each model answer each question, and return the cases with the answers in place of those without an author.

    Criteria stay, and the truth of those that a program can check is computed for each answer.

    Raises:
        ConfigError: the models do not fit together, or a server does not answer.
    """
    families = families_of_writers(writers)
    engine.greet(*(writer.server for writer in writers))
    questions = [messages_for(_question(case)) for case in cases]
    responses = iter(engine.generate([(w.request(question), ASK) for question in questions for w in writers]))
    done: list[Case] = []
    failed: list[Failed] = []
    missing: Counter[str] = Counter()
    written: Counter[str] = Counter()
    for case in cases:
        texts: dict[str, str] = {}
        for writer in writers:
            reply, model = next(responses).reply, writer.server.model
            if isinstance(reply, NoReply):
                missing[str(reply.reason)] += 1
            elif reason := _fault(reply):
                failed.append(Failed(case.id, model, reason, reply.text or reply.refusal or ""))
            else:
                texts[model] = reply.text
        written.update(texts.keys())
        if made := _with_answers(case, texts, families):
            done.append(made)
    return Answered(tuple(done), tuple(failed), missing, written)


def _question(case: Case) -> Case:
    """Return what a model is shown of a case."""
    return Case(case.id, case.question, (Answer("question", ""),), fields=case.fields)


def _fault(reply: Reply) -> str:
    """Return why a reply is no answer, or nothing."""
    if reply.refusal or reply.stop == "refusal":
        return "declined"
    if reply.stop == "length":
        return "cut off: expected a whole answer, got one that reached max_tokens; raise it in the model's file"
    if not reply.text.strip():
        return "empty: expected an answer, got a reply without text"
    found = reading.read(reply, Format("tag", tag="verdict"), _VIEW)
    return f"declined: {found.reason}" if isinstance(found, Refused) else ""


def _with_answers(case: Case, texts: Mapping[str, str], families: Mapping[str, str]) -> Case | None:
    """Return the case with answers of known authors alone, under ids that tell no author; None without any."""
    written = {plain(model) for model in texts}
    kept = [a for a in case.answers if a.author is not None and plain(a.author) not in written]
    new = [Answer("", text, author=model) for model, text in texts.items()]
    drawn = sorted([*kept, *new], key=lambda a: digest("answer order", case.id, a.author or "", a.text))
    if not new:
        return None
    ids = [f"a{place}" for place in range(1, len(drawn) + 1)]
    before = {name: a.id for name, a in zip(ids, drawn, strict=True) if a.id}
    authors = {a.author: families.get(a.author) or family_of(a.author) for a in drawn if a.author is not None}
    stated = {name: family for name, family in sorted(authors.items()) if family is not None}
    return with_truth(
        replace(
            case,
            answers=tuple(replace(a, id=name, history=()) for name, a in zip(ids, drawn, strict=True)),
            better=None,
            met={name: case.met[old] for name, old in before.items() if old in case.met},
            scores={name: case.scores[old] for name, old in before.items() if old in case.scores},
            variants={},
            tags={**case.tags, ITEM: case.tags.get(ITEM, case.id), FAMILIES_TAG: json.dumps(stated)},
        )
    )


def refuse_output(out: Path, cases: Path) -> None:
    """
    Refuse to write over the file of cases that the answers are for.

    Raises:
        ConfigError: it is the same file.
    """
    if out.exists() and cases.exists() and out.samefile(cases):
        raise ConfigError(
            f"{out}: expected another file than that of the cases: questions that nobody answered, and answers that "
            "name no author, are not in what is written; name another file with -o"
        )


def write_answers(out: Path, found: Answered) -> None:
    """
    Write the cases with their answers, and what is no answer into a file beside them, each whole.

    Raises:
        ConfigError: a file cannot be written, or there is no answer to write.
    """
    if not found.cases:
        raise ConfigError(f"{out}: expected at least one answer to write, got none")
    write_whole(out, (line(case) for case in found.cases))
    beside = failures_of(out)
    if found.failed or beside.exists():
        write_whole(beside, (f"{json.dumps(asdict(one), ensure_ascii=False)}\n" for one in found.failed))


def failures_of(out: Path) -> Path:
    """Return where the replies that are no answers are recorded."""
    return out.with_name(f"{out.stem}.refused.jsonl")


def summary(found: Answered, writers: Sequence[Writer]) -> str:
    """Return a table for a terminal: for each model how many questions it answered, and why not the others."""
    families = families_of_writers(writers)
    rows = [("model", "family", "answers", "none", "why")]
    for writer in writers:
        model = writer.server.model
        why = Counter(f.reason.partition(":")[0] for f in found.failed if f.model == model)
        said = ", ".join(f"{reason} {count}" for reason, count in why.most_common())
        rows.append((model, families[model], str(found.written.get(model, 0)), str(sum(why.values())), said))
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    lines = ["  ".join([*(c.ljust(w) for c, w in zip(row, widths, strict=False)), row[4]]).rstrip() for row in rows]
    return "\n".join([*lines, *(f"not answered: {count} ({reason})" for reason, count in found.missing.items())])
