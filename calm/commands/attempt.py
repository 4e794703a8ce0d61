"""`calm try`: ask a judge about one case, and show prompt, reply and verdict."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command
from calm.commands.spending import add_limits, caps_of, closing, refuse_impossible
from calm.core.case import COPY, TIE, Case
from calm.core.edits import Expects
from calm.core.plugins import hook
from calm.core.reasons import MENDS, Kind, reason_of
from calm.core.verdict import (
    FAMILY,
    Criteria,
    Label,
    NoReply,
    Preferred,
    Ranking,
    Refused,
    Score,
    Tie,
    Unreadable,
    Verdict,
    code,
    readable,
)
from calm.errors import FEW, ConfigError, nearest
from calm.gate.catalogue import find_edit
from calm.results.sentences import capital
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.engine.engine import Engine
    from calm.models.wire import Judge, Reply


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `try`."""
    attempt = add_command(
        commands,
        "try",
        "Ask a judge about one case. The command shows the prompt, the reply and the verdict. With --edit, it shows "
        "them before and after the edit.",
        "calm try judge.toml --edit authority.cite_book",
    )
    attempt.add_argument("judge", metavar="JUDGE", help=JUDGES)
    attempt.add_argument("--cases", action="append", default=[], metavar="FILE", help=CASES)
    attempt.add_argument("--case", metavar="ID", help="which case (default: the first)")
    attempt.add_argument("--edit", metavar="NAME", help="a perturbation: authority.cite_book, or package.module:name")
    attempt.add_argument(
        "--against",
        metavar="NAME",
        help="with --edit: the perturbation that it is compared with, not the case as it is",
    )
    attempt.add_argument(
        "--target",
        metavar="ANSWER",
        help="with --edit: the id of the answer that it treats (default: as an audit does)",
    )
    attempt.add_argument("--seed", type=int, default=0, metavar="I", help="seed of the edit (default 0)")
    add_limits(attempt)
    attempt.add_argument(
        "--server", action="store_true", help="instead, check what its server supports; at most eight calls"
    )
    attempt.set_defaults(run=_try)


def _try(options: argparse.Namespace) -> int:
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.experiment.pairs import as_pair, pair_up
    from calm.experiment.run import refuse_unshowable
    from calm.experiment.setup import Setup
    from calm.gate.from_spec import cases_from, judge_from

    refuse_impossible(options)
    judge = judge_from(options.judge)
    if options.server:
        return _inspect(judge)
    cases = cases_from(options.cases, judge)
    case = as_pair(_chosen(cases, options.case), FAMILY[judge.task])
    model = str(judge.about.get("model") or judge.name)
    edit, against = (find_edit(name, model, cases) if name else None for name in (options.edit, options.against))
    _refuse_idle(options, case)
    refuse_unshowable(judge, (case,))
    engine = Engine(Store(None, Mode.OFF), caps=caps_of(options))
    with closing(engine):
        engine.admit(judge)
        setup = Setup(judge, (case,), engine, options.seed)
        pairing = pair_up(setup, edit, against, options.target, ties=True)
        if not pairing.pairs:
            unfit = next(iter([*pairing.excluded, *pairing.lost]))
            raise ConfigError(f"case {case.id!r}: {edit!r}: {unfit}; name another case with --case, or another edit")
        print(f"case {printable(case.id)}: {_shown(case.question)}")
        one = pairing.pairs[0]
        title = f"after {options.against}" if against else "as it is"
        verdicts = [_show(engine, one.control or judge, one.base, title)]
        if one.shown is not None:
            shown = one.shown()
            edited = f"after {one.variant}"
            verdicts.append(_show(engine, one.judge or judge, shown, edited))
            after = _verdict(shown, verdicts[1], judge)
            moved = "stayed" if code(verdicts[0]) == code(verdicts[1]) else "changed"
            said = f"{title}, {_verdict(one.base, verdicts[0], judge)}; {edited}{_on(shown, one.treatment.target)}"
            unseen = (
                edit is not None and edit.expects is Expects.WORSE and _unseen(verdicts, one.treatment.target or "")
            )
            found = "the judge did not notice the damage, and that is the finding" if unseen else f"the verdict {moved}"
            print(f"\n{_shown(capital(said))}, {_shown(after)}: {found}.")
    for warning in _wrong_scale(options.judge):
        print(f"\ncalm: {_shown(warning)}", file=sys.stderr)
    if all(map(readable, verdicts)):
        return DONE
    before, *_ = verdicts
    for why in dict.fromkeys(_unread(verdict, before, judge) for verdict in verdicts if not readable(verdict)):
        print(f"calm: {_shown(why)}", file=sys.stderr)
    return REFUSED


def _wrong_scale(spec: str) -> list[str]:
    path = Path(spec)
    if path.suffix != ".toml" or not path.is_file() or (lint := hook("lint")) is None:
        return []
    try:
        found = lint(path).findings
    except ConfigError:  # the judge has no prompt
        return []
    return [f"{one.words}. {capital(one.fix)}" for one in found if one.rule.id in ("scale-direction", "scale-differs")]


def _unread(verdict: Verdict, before: Verdict, judge: Judge) -> str:
    from calm.experiment.stopping import UNREAD
    from calm.judges.prompted import PromptedJudge
    from calm.judges.reading import way

    form = judge.form if isinstance(judge, PromptedJudge) else None
    if readable(before) and not isinstance(verdict, NoReply):
        what = "the judge declines" if isinstance(verdict, Refused) else "the reply holds no verdict"
        if judge.endpoints:
            mend = "let the prompt ask for a verdict whatever stands in the answer. If the reply is cut short, raise "
            mend += "max_tokens in [model]"
        else:
            mend = "let its code return one whatever stands in the answer"
        return (
            f"as it is, the case gets a verdict{f' ({way(form)})' if form else ''}; only after the edit {what}. "
            f"An audit cannot say what an edit does if more than {UNREAD:.0%} of the replies to it are so: {mend}"
        )
    if isinstance(verdict, NoReply):
        return f"the judge gave no reply, so an audit would not work: {verdict.reason}"
    if isinstance(verdict, Refused):
        return (
            "the judge declined to judge this case, and an audit counts such cases as lost. Try another case (--case "
            "ID); if it declines again, change the prompt or take another model"
        )
    if judge.traits.mute and isinstance(verdict, Unreadable) and verdict.why.kind in MENDS:
        return f"calm found no verdict in the answers, so an audit would not work: {MENDS[verdict.why.kind]}"
    if not judge.endpoints:
        return "the judge returned no verdict, so an audit would not work: let its code return one"
    written = f"such as: End with one line, {_WRITTEN.get(FAMILY[judge.task], '[[VERDICT]]')}"
    if form is not None and form.kind != "brackets":
        written = f"so that {way(form)} reads it"
    return (
        "calm found no verdict in the reply, so an audit would not work. If the reply above does hold one, change "
        "[verdict] in judge.toml so that it is read; if not, let the prompt say how the verdict is written, "
        f"{written}. If the reply is cut short, raise max_tokens in [model]"
    )


def _refuse_idle(options: argparse.Namespace, case: Case) -> None:
    """
    Refuse what has no effect without an edit, and an answer that the case does not have.

    Raises:
        ConfigError: all of it.
    """
    problems = [
        f"{option}: has no effect without --edit; add one, such as --edit authority.cite_book"
        for option, given in (("--against", options.against), ("--target", options.target))
        if given and not options.edit
    ]
    ids = [answer.id for answer in case.answers]
    if options.target is not None and options.target not in ids:
        hint = nearest(options.target, ids)
        problems.append(f"--target: case {case.id!r} has no answer {options.target!r}; it has {', '.join(ids)}{hint}")
    if problems:
        raise ConfigError(problems)


def _inspect(judge: Judge) -> int:
    import asyncio

    from calm.models.faults import State, inspect
    from calm.models.server import GREETING, Server

    servers = [e for e in judge.endpoints if isinstance(e, Server)]
    if not servers:
        raise ConfigError(f"calm try --server: the judge {judge.name!r} has no server; give the path to a judge.toml")
    kept = True
    for server in servers:
        print(f"{_shown(server.model)} at {_shown(server.url)}")
        checks = asyncio.run(inspect(server, GREETING))
        width = max(len(check.name) for check in checks)
        for check in checks:
            print(f"  {printable(check.name):<{width}}  {check.state:<6}  {_shown(check.words)}")
        kept &= all(check.state is not State.FAILS for check in checks)
    return DONE if kept else REFUSED


def _named(case: Case, answer_id: str, judge: Judge) -> str:
    ids = [answer.id for answer in case.shown]
    if answer_id not in ids:
        return f"reply {answer_id}"
    worth = case.worth(answer_id)
    if worth is not None and answer_id in case.scores:
        worth = judge.scale.upright(worth)
    known = case.better is not None and len(ids) == 2
    worths = {TIE: "equally good", answer_id: "the better one"}
    about = [
        f"id {answer_id}",
        case[answer_id].author,
        worths.get(case.better or "", "the worse one") if known else worth is not None and f"gold score {worth:g}",
    ]
    slot = f"reply {case.slot_labels[ids.index(answer_id)]}" if len(ids) > 1 else "the reply"
    return f"{slot} ({', '.join(part for part in about if part)})"


def _on(case: Case, target: str | None) -> str:
    ids = [answer.id for answer in case.shown]
    return f" on reply {case.slot_labels[ids.index(target)]}" if target in ids and len(ids) > 1 else ""


def _verdict(case: Case, verdict: Verdict, judge: Judge) -> str:
    match verdict:
        case Preferred(answer=answer):
            return f"{_named(case, answer, judge)} wins"
        case Tie():
            return "it is a tie"
        case Score(value=value):
            return (
                f"{_named(case, case.shown[0].id, judge)} gets {judge.scale.upright(value):g} of {judge.scale.high:g}"
            )
        case Ranking(order=order):
            return " before ".join(" with ".join(_named(case, one, judge) for one in group) for group in order)
        case Label(value=value):
            return value
        case Criteria(met=met):
            return f"{sum(map(bool, met.values()))} of {len(met)} criteria are met"
        case _:
            return "there is no verdict"


def _unseen(verdicts: Sequence[Verdict], target: str) -> bool:
    before, after = verdicts
    if isinstance(before, NoReply) or isinstance(after, NoReply):
        return False
    if target.endswith(COPY):  # it is compared with its original
        return not (isinstance(after, Preferred) and after.answer != target)
    lost = isinstance(before, Preferred) and before.answer != target  # it cannot lose more
    return not lost and code(before) == code(after)


def _show(engine: Engine, judge: Judge, case: Case, title: str) -> Verdict:
    from calm.judges.prompted import prompted

    asked = engine.ask(judge, [(case, 1)])[0]
    inside = prompted(judge)
    print(f"\n== {printable(title)}")
    for key in asked.calls:
        for message in engine.store.prompt(key):
            print(f"-- {printable(message.role)}\n{indent(_shown(message.text), '   ')}")
        reply = engine.store.get(key)
        print(f"-- reply\n{indent(_shown(_said(reply)), '   ')}")
        parts = {} if inside is None or reply is None else inside.parts(case, reply)
        if parts:
            print(f"-- parts: {_shown(', '.join(f'{part} = {value}' for part, value in parts.items()))}")
    said = str(getattr(asked.verdict, "reason", ""))
    reason = f" ({_shown(said)})" if said else ""
    print(f"-- verdict: {_shown(_verdict(case, asked.verdict, judge))}{reason}")
    remarks = judge.remarks
    for note in (*remarks.notes, *remarks.agreement):
        if reason_of(note).kind not in _OF_ONE_ASK:
            continue
        print(f"-- note: {_shown(str(note))}")
    return asked.verdict


_WRITTEN = {"pairwise": "[[A]] or [[B]]", "score": "[[N]]", "rubric": "[[yes]] or [[no]]"}
"""How a verdict can be written, by the kind of judge."""
_OF_ONE_ASK = (Kind.NOT_SENT, Kind.CODE_RAISED_FIRST, Kind.LABEL_LATER)
"""What a judge says of itself that one ask shows; the rest is about a run."""


def _said(reply: Reply | None) -> str:
    if reply is None:
        return ""
    return "\n".join([*([reply.text] if reply.text else []), *(f"{name}({given})" for name, given in reply.calls)])


def _shown(text: str) -> str:
    return printable(text, keep="\n\t")


def _chosen(cases: Sequence[Case], wanted: str | None) -> Case:
    if wanted is None:
        return cases[0]
    by_id = {c.id: c for c in cases}
    if wanted not in by_id:
        raise ConfigError(f"--case: there is no case {wanted!r} among {len(cases)}{nearest(wanted, by_id, FEW)}")
    return by_id[wanted]
