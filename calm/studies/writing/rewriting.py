"""Rewriting: let a model write, once and beforehand, the texts that a gate without a writer then finds in its cases.

Every reply is kept in the cache as soon as it is there, so a run that was killed goes on where it stopped; the cases
are written at the end, whole. What is refused is recorded beside them and never used.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from calm.cases.writing import line
from calm.core.case import TIE, Answer, Case
from calm.core.edits import Expects
from calm.core.templates import Message, Prompt
from calm.core.validation import UNKNOWN, problems, rules_for
from calm.core.verdict import NoReply, Refused, Scale
from calm.engine.engine import Engine
from calm.judges import reading
from calm.judges.prompts import neutral, render
from calm.judges.reading import Format, View
from calm.models.wire import Reply
from calm.perturbations.written import Kind, kind_of, task_of, written
from calm.results.audit import write_whole
from calm.studies.writing.writerfile import ASK, Writer

_SCALE = Scale()

RULE_MADE = "rules"
"""What stands for the name of the writer where texts were made by rule."""
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
class Done:
    """What came of a job: `text` if it may be used, else the `reason` and the reply that was refused."""

    case: str
    kind: str
    answer: str
    text: str | None = None
    reason: str = ""
    reply: str = ""


@dataclass(frozen=True, slots=True)
class Rewritten:
    """What came of all jobs; `kept` counts texts that were there before, `missing` jobs without a reply, by reason."""

    done: tuple[Done, ...]
    kept: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def written(self) -> tuple[Done, ...]:
        """The texts that may be used."""
        return tuple(d for d in self.done if d.text is not None)

    @property
    def refused(self) -> tuple[Done, ...]:
        """The replies that may not, and why."""
        return tuple(d for d in self.done if d.text is None)


def jobs_for(cases: Iterable[Case], names: Sequence[str]) -> tuple[list[Job], Counter[str]]:
    """Return the texts to write, and how many of each kind are there already: a usable text is not written anew."""
    jobs: list[Job] = []
    kept: Counter[str] = Counter()
    for case in cases:
        for kind in map(kind_of, names):
            for answer in _treated(case, kind):
                job = Job(case, answer, kind)
                text = case.variants.get(kind.name, {}).get(answer)
                if text is not None and not faults(job, text):
                    kept[kind.name] += 1
                elif job.text.strip():
                    jobs.append(job)
    return jobs, kept


def _treated(case: Case, kind: Kind) -> list[str]:
    """Return the answers that an edit can treat: with a gold label of two the one it aims at, else each of them."""
    ids = [answer.id for answer in case.answers]
    if case.better in (None, TIE) or len(ids) == 1:
        return ids
    if kind.expects is Expects.WORSE:
        return [i for i in ids if i == case.better]
    return [i for i in ids if i != case.better] if len(ids) == 2 else ids


def faults(job: Job, text: str) -> list[str]:
    """Return why a text may not stand for an answer: the rules of its kind, and the truth of what can be verified."""
    found = problems(job.text, text, rules_for(job.kind.name) or UNKNOWN)
    if not found and job.kind.expects is not Expects.WORSE:
        edited = job.case.edit(job.answer, lambda _: text)
        if not job.case.truth_kept_by(edited):
            found.append("gold: expected each criterion to keep its truth, got a text that changes one")
    return found


# ------------------------------------------------------------------------------------------------------ by a writer


def rewrite(cases: Sequence[Case], names: Sequence[str], writer: Writer, engine: Engine) -> Rewritten:
    """
    Let a writer write what the cases lack of some kinds, and return what came of it.

    Raises:
        ConfigError: the writer's server does not answer, or a cap in dollars for a model without a price.
    """
    jobs, kept = jobs_for(cases, names)
    if not jobs:
        return Rewritten((), kept)
    engine.greet(writer.server)
    requests = [writer.request(messages_for(job.kind, _question(job))) for job in jobs]
    done: list[Done] = []
    missing: Counter[str] = Counter()
    for job, response in zip(jobs, engine.generate([(request, ASK) for request in requests]), strict=True):
        if isinstance(response.reply, NoReply):
            missing[str(response.reply.reason)] += 1
        else:
            done.append(_judged(job, response.reply))
    return Rewritten(tuple(done), kept, missing)


def _question(job: Job) -> Case:
    """Return what the writer is shown of a job, as a case of one answer."""
    return Case(job.case.id, job.case.question, (Answer(job.answer, job.text),), fields=job.kind.shown)


def messages_for(kind: Kind, case: Case) -> tuple[Message, ...]:
    """Return what a writer is sent about the only answer of a case; delimiters of ours in its texts are neutralised."""
    system, user = (_template(f"rewrite.{role}.jinja") for role in ("system", "user"))
    prompt = Prompt((Message("system", system), Message("user", user + task_of(kind))), bundled=True)
    return render(prompt, case, "score", _SCALE)


def _template(name: str) -> str:
    text = files("calm").joinpath("judges", "data", name).read_text("utf-8")
    return text.removesuffix("\n") if "system" in name else text


_OPEN, _CLOSE = "<rewrite>", "</rewrite>"
_VIEW = View("score", ("A",), ("one",), _SCALE)


def _judged(job: Job, reply: Reply) -> Done:
    """Return the text of a reply if it may be used, else why not."""
    case, kind, answer = job.case.id, job.kind.name, job.answer
    text, reason = text_in(reply, job.text)
    if text is not None:
        found = faults(job, text)
        if not found:
            return Done(case, kind, answer, text)
        reason = _declined(Reply(text)) or "; ".join(found)  # an apology may be what was asked for: only if it fails
    return Done(case, kind, answer, None, reason, reply.text or reply.refusal or "")


def text_in(reply: Reply, original: str) -> tuple[str | None, str]:
    """Return the text that a reply holds in the place of an original, or None and why it holds none."""
    text = _between_tags(reply.text)
    if reply.refusal or reply.stop == "refusal":
        return None, _declined(reply) or "declined"
    if reply.stop == "length":
        return None, "cut off: expected a whole reply, got one that reached max_tokens; raise it in writer.toml"
    if text is None:
        missing = "no text: expected it between <rewrite> and </rewrite>, got a reply without them"
        return None, _declined(reply) or missing
    return _as_shown(text, original), ""


def _between_tags(text: str) -> str | None:
    """Return what stands between the last tags of a reply: before them a model may have thought aloud."""
    end = text.rfind(_CLOSE)
    start = text.rfind(_OPEN, 0, max(0, end))
    return None if start < 0 else text[start + len(_OPEN) : end].strip("\n")


def _as_shown(text: str, original: str) -> str:
    """Return a text with the delimiters that the prompt neutralised as they were in the original."""
    return text.replace("<\\", "<").replace("[\\[", "[[") if neutral(original) != original else text


def _declined(reply: Reply) -> str:
    """Return what a reply says in declining, or nothing."""
    found = reading.read(reply, Format("tag", tag="verdict"), _VIEW)
    return f"declined: {found.reason}" if isinstance(found, Refused) else ""


# ---------------------------------------------------------------------------------------------------------- by rule


def rewrite_by_rule(cases: Sequence[Case], names: Sequence[str], seed: int = 0) -> Rewritten:
    """Return what the rules make of the cases, without any model; where none applies, that is the reason."""
    jobs, kept = jobs_for(cases, names)
    return Rewritten(tuple(_by_rule(job, seed) for job in jobs), kept)


def _by_rule(job: Job, seed: int) -> Done:
    name = job.kind.name
    bare = replace(job.case, variants={}).treat(job.answer)
    edited = written(name).apply(bare, seed)
    if edited is None:
        return Done(
            job.case.id, name, job.answer, None, "no rule: expected a text that the rule applies to, got another"
        )
    text = edited[edited.target].text
    found = faults(job, text)
    if found:
        return Done(job.case.id, name, job.answer, None, "; ".join(found), text)
    return Done(job.case.id, name, job.answer, text)


# ------------------------------------------------------------------------------------------------------------ files


def write_cases(out: Path, cases: Iterable[Case], found: Rewritten, writer: str) -> None:
    """
    Write the cases with what was written in `variants`, and what was refused into a file beside them, each whole.

    Raises:
        ConfigError: a file cannot be written.
    """
    new: dict[str, list[Done]] = {}
    for done in found.written:
        new.setdefault(done.case, []).append(done)
    write_whole(out, (line(_with(case, new.get(case.id, ()), writer)) for case in cases))
    beside = refusals_of(out)
    if found.refused or beside.exists():
        write_whole(beside, (f"{json.dumps(_refusal(d), ensure_ascii=False)}\n" for d in found.refused))


def refusals_of(out: Path) -> Path:
    """Return where the refused replies of a file of cases are recorded."""
    return out.with_name(f"{out.stem}.refused.jsonl")


def _refusal(done: Done) -> dict[str, str]:
    return {name: value for name, value in asdict(done).items() if name != "text"}


def _with(case: Case, new: Sequence[Done], writer: str) -> Case:
    """Return a case with its new texts, in place of any of the same name, and with the name of who wrote them."""
    if not new:
        return case
    variants = {name: dict(texts) for name, texts in case.variants.items()}
    for done in new:
        variants.setdefault(done.kind, {})[done.answer] = done.text or ""
    writers = {name for name in case.tags.get(WRITTEN_BY, "").split(", ") if name} | {writer}
    return replace(case, variants=variants, tags={**case.tags, WRITTEN_BY: ", ".join(sorted(writers))})


def summary(found: Rewritten) -> str:
    """Return a table for a terminal: for each kind what was written, what was there, and what was refused and why."""
    kinds = sorted({*found.kept, *(d.kind for d in found.done)})
    lines = [("kind", "written", "kept", "refused", "why")]
    for kind in kinds:
        why = Counter(d.reason.partition(":")[0] for d in found.refused if d.kind == kind)
        count = sum(d.kind == kind for d in found.written)
        said = ", ".join(f"{reason} {number}" for reason, number in why.most_common())
        lines.append((kind, str(count), str(found.kept.get(kind, 0)), str(sum(why.values())), said))
    widths = [max(len(line[column]) for line in lines) for column in range(4)]
    shown = ["  ".join([*(cell.ljust(w) for cell, w in zip(line, widths, strict=False)), line[4]]) for line in lines]
    table = [line.rstrip() for line in shown]
    table += [f"not written: {number} ({reason})" for reason, number in found.missing.items()]
    return "\n".join(table)
