"""
Rewriting: a model writes texts once, and every later run finds them in its cases and needs no writer.

Each reply goes to the cache at once, so a run that was killed continues where it stopped. The cases are written to a
file at the end, all together. Refused replies are recorded beside them and never used.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from calm.cases.lines import line
from calm.core.case import TIE, Answer, Case
from calm.core.edits import Expects, Message, Prompt
from calm.core.ready_made import rules_for, unusable
from calm.core.validation import Fault, problems
from calm.core.verdict import NoReply
from calm.engine.engine import Engine
from calm.judges.prompts import neutral, render
from calm.models.wire import Reply
from calm.perturbations.written import Kind, kind_of, task_of, written
from calm.plugins.search import writer as replies
from calm.plugins.search.writer import ASK, Writer
from calm.results.outputs import REWRITTEN, write_whole
from calm.results.parts import aligned

RULE_MADE = "rules"
"""The name of the writer where rules wrote the texts."""
WRITTEN_BY = "written_by"
"""The tag of a case that names the writers of its ready-made texts."""


@dataclass(frozen=True, slots=True)
class Job:
    """One text to write: an answer of a case, and the kind of rewriting."""

    case: Case
    answer: str
    kind: Kind

    @property
    def text(self) -> str:
        """The original."""
        return self.case[self.answer].text


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The result of a job: `text` if it may be used, else its `faults` and the refused reply."""

    case: str
    kind: str
    answer: str
    text: str | None = None
    faults: tuple[Fault, ...] = ()
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Rewrites:
    """
    The results of all jobs.

    `kept` counts the texts that were there before by kind, and `missing` the jobs without a reply by reason.
    """

    all: tuple[Rewrite, ...]
    kept: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def written(self) -> tuple[Rewrite, ...]:
        """The texts that may be used."""
        return tuple(d for d in self.all if d.text is not None)

    @property
    def refused(self) -> tuple[Rewrite, ...]:
        """The replies that may not, and why."""
        return tuple(d for d in self.all if d.text is None)


def jobs_for(cases: Iterable[Case], names: Sequence[str]) -> tuple[list[Job], Counter[str]]:
    """Return the texts to write, and how many of each kind are there already: what is usable is not written again."""
    jobs: list[Job] = []
    kept: Counter[str] = Counter()
    for case in cases:
        for kind in map(kind_of, names):
            for answer in _treated(case, kind):
                job = Job(case, answer, kind)
                text = case.variants.get(kind.name, {}).get(answer)
                if text is not None and _unusable(job, text) is None:
                    kept[kind.name] += 1
                elif job.text.strip():
                    jobs.append(job)
    return jobs, kept


def _treated(case: Case, kind: Kind) -> list[str]:
    ids = [answer.id for answer in case.answers]
    if case.better in (None, TIE) or len(ids) == 1:
        return ids
    if kind.expects is Expects.WORSE:
        return [i for i in ids if i == case.better]
    return [i for i in ids if i != case.better] if len(ids) == 2 else ids


def faults(job: Job, text: str) -> list[Fault]:
    """Return why a writer's text may not be used: broken rules of its kind, or a criterion of another truth."""
    broken = problems(job.text, text, rules_for(job.kind.name))
    fault = None if broken else _unusable(job, text)
    return broken if fault is None else [fault]


def _unusable(job: Job, text: str) -> Fault | None:
    return unusable(job.case, job.answer, text, keeps_truth=job.kind.expects is not Expects.WORSE)


# ------------------------------------------------------------------------------------------------------ by a writer


def rewrite(cases: Sequence[Case], names: Sequence[str], writer: Writer, engine: Engine) -> Rewrites:
    """
    Let a writer write the texts of some kinds that the cases lack.

    Raises:
        ConfigError: the writer's server does not answer, or a cap in dollars for a model without a price.
    """
    jobs, kept = jobs_for(cases, names)
    if not jobs:
        return Rewrites((), kept)
    engine.greet(writer.server)
    shown = (Case(j.case.id, j.case.question, (Answer(j.answer, j.text),), fields=j.kind.shown) for j in jobs)
    requests = [writer.request(messages_for(job.kind, case)) for job, case in zip(jobs, shown, strict=True)]
    results: list[Rewrite] = []
    missing: Counter[str] = Counter()
    for job, response in zip(jobs, engine.generate([(request, ASK) for request in requests]), strict=True):
        if isinstance(response.reply, NoReply):
            missing[str(response.reply.reason)] += 1
        else:
            results.append(_judged(job, response.reply))
    return Rewrites(tuple(results), kept, missing)


def messages_for(kind: Kind, case: Case) -> tuple[Message, ...]:
    """Return the messages to a writer about the only answer of a case; our delimiters in its texts are neutralised."""
    folder = files("calm").joinpath("judges", "data")
    system, user = (folder.joinpath(f"rewrite.{role}.jinja").read_text("utf-8") for role in ("system", "user"))
    messages = Message("system", system.removesuffix("\n")), Message("user", user + task_of(kind))
    prompt = Prompt(messages, bundled=True)
    return render(prompt, case, "score", replies.SCALE)


_OPEN, _CLOSE = "<rewrite>", "</rewrite>"


def _judged(job: Job, reply: Reply) -> Rewrite:
    case, kind, answer = job.case.id, job.kind.name, job.answer
    text, fault = text_in(reply, job.text)
    why = [fault] if fault is not None else []
    if text is not None:
        found = faults(job, text)
        if not found:
            return Rewrite(case, kind, answer, text)
        said = replies.declined(Reply(text))  # last: it may have to apologise
        why = [said] if said is not None else found
    return Rewrite(case, kind, answer, None, tuple(why), reply.text or reply.refusal or "")


def text_in(reply: Reply, original: str) -> tuple[str | None, Fault | None]:
    """Return the text that a reply gives for an original; without one, None and why."""
    end = reply.text.rfind(_CLOSE)
    start = reply.text.rfind(_OPEN, 0, max(0, end))  # the last tags: a model may think aloud before them
    if (fault := replies.fault_of(reply)) is not None:
        return None, fault
    if start < 0:
        missing = Fault("no text", "expected it between <rewrite> and </rewrite>, got a reply without them")
        return None, replies.declined(reply) or missing
    text = reply.text[start + len(_OPEN) : end].strip("\n")
    # the prompt had neutralised the delimiters of the original
    return text.replace("<\\", "<").replace("[\\[", "[[") if neutral(original) != original else text, None


# ---------------------------------------------------------------------------------------------------------- by rule


def rewrite_by_rule(cases: Sequence[Case], names: Sequence[str], seed: int = 0) -> Rewrites:
    """Let rules write the texts, without any model."""
    jobs, kept = jobs_for(cases, names)
    return Rewrites(tuple(_by_rule(job, seed) for job in jobs), kept)


def _by_rule(job: Job, seed: int) -> Rewrite:
    name = job.kind.name
    bare = replace(job.case, variants={}).treat(job.answer)
    edited = written(name).apply(bare, seed)
    if edited is None:
        fault = Fault("no rule", "expected a text that the rule applies to, got another")
        return Rewrite(job.case.id, name, job.answer, None, (fault,))
    text = edited[edited.target].text
    found = faults(job, text)
    if found:
        return Rewrite(job.case.id, name, job.answer, None, tuple(found), text)
    return Rewrite(job.case.id, name, job.answer, text)


# ------------------------------------------------------------------------------------------------------------ files


def write_cases(out: Path, cases: Iterable[Case], found: Rewrites, writer: str, *, force: bool = False) -> None:
    """
    Write the cases with the new texts in `variants`, and a file beside them with the refused replies.

    Raises:
        ConfigError: a file cannot be written.
    """
    new: dict[str, list[Rewrite]] = {}
    for one in found.written:
        new.setdefault(one.case, []).append(one)
    lines = (line(_with(case, new.get(case.id, ()), writer)) for case in cases)
    write_whole(out, lines, REWRITTEN, force=force)
    refused = [
        {"case": r.case, "kind": r.kind, "answer": r.answer, "reason": "; ".join(map(str, r.faults)), "reply": r.reply}
        for r in found.refused
    ]
    replies.record(out, refused)


def _with(case: Case, new: Sequence[Rewrite], writer: str) -> Case:
    if not new:
        return case
    variants = {name: dict(texts) for name, texts in case.variants.items()}
    for one in new:
        variants.setdefault(one.kind, {})[one.answer] = one.text or ""
    writers = {name for name in case.tags.get(WRITTEN_BY, "").split(", ") if name} | {writer}
    return replace(case, variants=variants, tags={**case.tags, WRITTEN_BY: ", ".join(sorted(writers))})


def summary(found: Rewrites) -> str:
    """Return a table for a terminal: what was written, kept and refused of each kind, and why it was refused."""
    rows = []
    for kind in sorted({*found.kept, *(one.kind for one in found.all)}):
        refused = [one for one in found.refused if one.kind == kind]
        count = sum(one.kind == kind for one in found.written)
        rows.append(
            (
                kind,
                str(count),
                str(found.kept.get(kind, 0)),
                str(len(refused)),
                replies.counted(one.faults[0] for one in refused),
            )
        )
    lines = aligned([("kind", "written", "kept", "refused", "why"), *rows])
    return "\n".join([*lines, *(f"not written: {number} ({reason})" for reason, number in found.missing.items())])
