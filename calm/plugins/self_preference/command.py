"""`calm self-preference`: let judges judge answers of known authors, and find who prefers their own."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, add_command, add_votes
from calm.commands.spending import CONTINUE, add_caps, bill, opened_engine, refuse_impossible
from calm.errors import ConfigError, EstimateError, nearest
from calm.results.wording import printable

if TYPE_CHECKING:
    from calm.core.case import Case
    from calm.core.edits import Message, Prompt
    from calm.experiment.crossing import CrossDesign, Member
    from calm.models.wire import Json, Judge
    from calm.plugins.self_preference.harmful import Asked
    from calm.plugins.self_preference.report import SelfPreference
    from calm.results.outputs import Output

FORM = "NAME=PROMPT[,NEGATIVE_PROMPT]"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `self-preference`."""
    own = add_command(
        commands,
        "self-preference",
        "Test whether judges prefer their own answers. Each judge judges the answers of every author once. "
        "Each judge is then compared with the judges of other families.",
        "calm self-preference a.toml b.toml c.toml --cases answers.jsonl",
    )
    own.add_argument(
        "judges", nargs="+", metavar="JUDGE", help=f"{JUDGES}; all with one kind of verdict, or one record"
    )
    own.add_argument("--cases", action="append", default=[], metavar="FILE", help=f"{CASES}, from `calm answer`")
    own.add_argument("-o", "--out", metavar="FILE.json", help="also write the figures and all verdicts")
    own.add_argument("--report", metavar="FILE.html", help="also write the figures as a page, with charts")
    own.add_argument("--sample", type=int, metavar="N", help="at most N questions (default: all)")
    own.add_argument(
        "--seed", type=int, default=0, metavar="I", help="seed of the sample and the intervals (default 0)"
    )
    own.add_argument(
        "--family",
        action="append",
        default=[],
        metavar="NAME=FAMILY",
        help="the family of an author, such as human=human; human=unknown leaves its answers out, '*=unknown' those of "
        "all whose family nothing says; may be repeated",
    )
    own.add_argument(
        "--families",
        action="append",
        default=[],
        metavar="FILE",
        help="the same for many, as .toml or .csv (name,family)",
    )
    add_votes(own)
    own.add_argument(
        "--framings",
        metavar="WHICH",
        choices=("standard", "both"),
        default="standard",
        help="scores: 'both' also asks each judge's inverted twin, and shows what that changes (twice the calls)",
    )
    own.add_argument(
        "--dimension",
        action="append",
        default=[],
        metavar=FORM,
        help="scores: ask about this dimension, with a file as user message (and its inverted twin, for --framings "
        "both); may be repeated",
    )
    own.add_argument("--plan", action="store_true", help="show what the command would ask and cost; make no call")
    own.add_argument("--perplexity", action="store_true", help="also fetch how likely each judge finds each answer")
    own.add_argument("--outsider", metavar="MODEL", help="scores: also compare with this neutral judge alone")
    own.add_argument(
        "--committee",
        action="append",
        default=[],
        metavar="MODELS",
        help="also hold each judge against these judges together, itself left out: models with commas, or all; may be "
        "repeated",
    )
    own.add_argument(
        "--self-in-committee", action="store_true", help="with --committee: a judge is not left out, as published"
    )
    own.add_argument(
        "--agreement",
        metavar="SHARES",
        help="criteria: keep those on which this share of judges' pairs agrees, such as 0.5,0.8 (default: six shares)",
    )
    own.add_argument("--slices", metavar="WAYS", help="criteria: figures by sign, length and axis, such as length,axis")
    add_caps(own)
    own.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from calm.core.families import stated
    from calm.core.files import inputs
    from calm.experiment.crossing import TableJudge, arrange
    from calm.experiment.run import refuse_unshowable
    from calm.gate.from_spec import cases_from, judge_from, recall
    from calm.plugins.self_preference import harmful
    from calm.plugins.self_preference.record import NO_LABELS, record
    from calm.plugins.self_preference.tables import recorded_tables
    from calm.results.outputs import refuse

    refuse_impossible(options)
    asked = harmful.asked_of(options.committee, options.agreement, options.slices, with_self=options.self_in_committee)
    if (known := _record(options)) is not None:
        return _again(known, asked, options)
    typed, families = stated(options.family, "--family"), stated(options.families, "--families")
    dimensions = dimensions_of(options)
    judges = [judge_from(spec) for spec in options.judges]
    worded = [one for judge in judges for one in about_each(judge, dimensions)]
    if len(judges) == 1 and isinstance(judges[0], TableJudge):
        _refuse_asking(options.judges[0], options)
        if options.votes:
            raise ConfigError(NO_LABELS)
        tables = recorded_tables(judges[0])
        options.outsider = _check_outsider(options.outsider, tables.family, tables.judges)
        harmful.check(asked, tables.family, tables.judges)
        refuse(_written(options), inputs=inputs())
        figures = tables.report(options.seed, outsider=options.outsider, asked=asked)
        return _report(figures, record(figures, tables, None, options.seed), options)
    if not options.cases:
        raise ConfigError("--cases: expected a file of answers, which `calm answer` writes, got none")
    cases = cases_from(options.cases, judges[0])
    if options.votes and (judges[0].task != "pairwise" or not any(case.annotations for case in cases)):
        raise ConfigError(NO_LABELS)
    for judge in judges:
        recall(judge, cases)
    members = [member for dimension, judge in worded for member in framed(judge, dimension, options)]
    _check_names(typed, cases, [member.model for member in members])
    try:
        arranged = arrange(
            members,
            cases,
            sample=options.sample,
            seed=options.seed,
            families=families | typed,
            votes=options.votes,
        )
    except EstimateError as error:
        raise ConfigError(str(error)) from error
    names = [member.model for member in arranged.members]
    options.outsider = _check_outsider(options.outsider, arranged.family, names)
    harmful.check(asked, arranged.family, names)
    for member in arranged.members:
        if member.judge is not None:
            refuse_unshowable(member.judge, arranged.cases)
    if options.plan:
        return _plan(arranged, options)
    return _ask(arranged, asked, options)


def _record(options: argparse.Namespace) -> dict[str, Json] | None:
    from calm.core.files import read_json
    from calm.plugins.self_preference.report import SCHEMA

    named = [name for name in options.judges if name.endswith(".json")]
    if not named:
        return None
    body = read_json(Path(named[0]), "a record of `calm self-preference`")
    if len(options.judges) > 1:
        raise ConfigError(f"{named[0]}: a record holds all of its judges, so it stands alone; name it without others")
    _refuse_asking(named[0], options)
    if not isinstance(body, dict) or body.get("schema") != SCHEMA:
        raise ConfigError(f"{named[0]}: expected a record that `calm self-preference -o` wrote, got another file")
    if "judged" not in body:
        raise ConfigError(f"{named[0]}: its verdicts ship with calm and are not in it; name the recorded judge again")
    return body


def _refuse_asking(name: str, options: argparse.Namespace) -> None:
    asking = {
        "--cases": options.cases,
        "--sample": options.sample is not None,
        "--family": options.family,
        "--families": options.families,
        "--framings": options.framings != "standard",
        "--dimension": options.dimension,
        "--plan": options.plan,
        "--perplexity": options.perplexity,
    }
    if useless := [option for option, given in asking.items() if given]:
        anew = ", or name the judges again: their replies come from the cache" if name.endswith(".json") else ""
        given = ", ".join(useless)
        raise ConfigError(f"{given}: has no effect on {name}, which holds its verdicts; leave it out{anew}")


def _again(known: dict[str, Json], asked: Asked, options: argparse.Namespace) -> int:
    from calm.core.annotations import VOTES
    from calm.core.files import inputs
    from calm.plugins.self_preference import harmful
    from calm.plugins.self_preference.record import (
        crossed_from,
        curves_from,
        likely_from,
        record_again,
        recounted,
    )
    from calm.plugins.self_preference.tables import tables_of
    from calm.results.outputs import refuse

    crossed = crossed_from(known)
    votes = options.votes or known.get("votes")
    if votes not in (None, *VOTES):
        raise ConfigError(f"{options.judges[0]}: votes: expected {', '.join(VOTES)}, got {votes!r}; leave it out")
    if votes:
        known = recounted(known, votes)
        crossed = crossed_from(known)
    tables = tables_of(crossed, votes)
    options.outsider = _check_outsider(options.outsider, tables.family, tables.judges)
    harmful.check(asked, tables.family, tables.judges)
    refuse(_written(options), inputs=inputs())
    figures = tables.report(
        options.seed,
        curves=curves_from(known),
        likely=likely_from(known),
        leaking=crossed.crossing.leaks,
        outsider=options.outsider,
        asked=asked,
    )
    status = _report(figures, record_again(figures, tables, known, options.seed), options)
    lost = known.get("lost")
    if isinstance(lost, dict) and lost.get("missing"):
        print(printable(f"incomplete: {lost['missing']}; repeat the command that wrote the record"))
        return REFUSED
    return status


def _check_names(typed: Mapping[str, str], cases: Sequence[Case], judges: Sequence[str]) -> None:
    from calm.core.families import ALL_OTHERS
    from calm.core.names import plain

    known = dict.fromkeys([*judges, *(a.author for case in cases for a in case.answers if a.author is not None)])
    names = {plain(name) for name in known}
    if strange := [name for name in typed if name != ALL_OTHERS and plain(name) not in names]:
        raise ConfigError(
            f"--family: expected the name of an author or a judge, got {strange[0]!r}{nearest(strange[0], known)}"
        )


def _check_outsider(outsider: str | None, family: str, judges: Sequence[str]) -> str | None:
    from calm.core.names import one_name

    if outsider is None:
        return None
    if family != "score":
        raise ConfigError(f"--outsider: expected judges with task = 'score', got judges of {family} verdicts")
    name = one_name([outsider], judges)[outsider]
    if name not in judges:
        raise ConfigError(
            f"--outsider: expected the model of one of the judges, got {outsider!r}{nearest(outsider, judges)}"
        )
    return name


def _plan(arranged: CrossDesign, options: argparse.Namespace) -> int:
    from calm.gate.plan import survey_cross
    from calm.gate.prices import plan_of
    from calm.gate.rehearsal import render
    from calm.plugins.self_preference.likelihood import server_of
    from calm.plugins.self_preference.screen import left_out

    found = survey_cross(arranged)
    print(printable(render(found, plan_of(found, len(found.cases), found.settings.design)), "\n"))
    print(printable("\n".join(left_out(arranged.left_out)), "\n"), end="\n" if arranged.left_out else "")
    if options.perplexity:
        answers = {(a.author, a.text, case.question) for case in arranged.cases for a in case.answers}
        servers = list(dict.fromkeys(m.model for m in arranged.members if server_of(m) is not None))
        calls = f"one call per answer to each server with log-probabilities of prompts, at most {len(answers)} each"
        print(printable(f"--perplexity: not in these figures; {calls} ({', '.join(servers) or 'none can'})"))
    return DONE


def _ask(arranged: CrossDesign, asked: Asked, options: argparse.Namespace) -> int:
    from calm.experiment.crossing import ask
    from calm.plugins.self_preference.likelihood import Likelihood, likelihood_of
    from calm.plugins.self_preference.record import record
    from calm.plugins.self_preference.tables import tables_of

    with opened_engine(options, *_written(options)) as engine:
        crossed = ask(arranged, engine)
        likely = likelihood_of(crossed, engine) if options.perplexity else Likelihood()
        spent = bill(engine)
    try:
        tables = tables_of(crossed, options.votes)
        leaking = crossed.crossing.leaks
        figures = tables.report(
            options.seed,
            curves=likely.curves,
            likely=likely.log_perplexities,
            leaking=leaking,
            outsider=options.outsider,
            asked=asked,
        )
    except EstimateError as error:
        why = "; ".join(filter(None, (str(error), str(crossed.missing), spent)))
        print(printable(f"no figures of self-preference: {why}"))
        return REFUSED
    status = _report(figures, record(figures, tables, crossed, options.seed), options)
    for model, reason in likely.without.items():
        print(printable(f"no perplexity of {model}: {reason}"))
    print(printable(spent))
    if crossed.missing:
        print(printable(f"incomplete: {crossed.missing}; {CONTINUE}"))
        return REFUSED
    return status


def _written(options: argparse.Namespace) -> list[Output]:
    from calm.results.outputs import OWN_ANSWERS, REPORT, Output

    forms = {"-o": (options.out, OWN_ANSWERS), "--report": (options.report, REPORT)}
    return [Output(option, Path(name), form) for option, (name, form) in forms.items() if name]


def _report(figures: SelfPreference, body: dict[str, Json], options: argparse.Namespace) -> int:
    from calm.plugins.self_preference.screen import summary
    from calm.results.outputs import OWN_ANSWERS, write_whole
    from calm.results.reports import pages

    said = summary(body, get_terminal_size().columns, page=options.report, record=options.out)
    print(printable(said, "\n"))
    if options.out:
        text = json.dumps(body, ensure_ascii=False, indent=1, allow_nan=False)
        write_whole(Path(options.out), [text, "\n"], OWN_ANSWERS)
        print(printable(f"wrote {options.out}"))
    if options.report:
        pages.write(body, Path(options.report))
        print(printable(f"wrote {options.report}"))
    return DONE if any(row.corrected for row in figures.rows) else REFUSED


@dataclass(frozen=True, slots=True)
class Dimension:
    """What answers are judged for: the templates of the user message, and where each was read."""

    name: str
    user: str
    negative: str | None
    places: dict[str, str]


def dimensions_of(options: argparse.Namespace) -> list[Dimension]:
    """
    Return the dimensions that the user names, with the templates of their files.

    Raises:
        ConfigError: a fault of form, a name twice, a file that cannot be read, or a twin that is missing or not asked.
    """
    found = [_dimension(given, both=options.framings == "both") for given in options.dimension]
    names = [one.name for one in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"--dimension: {twice[0]!r} is named twice; give each dimension a name of its own")
    return found


def _dimension(given: str, *, both: bool) -> Dimension:
    from calm.plugins.self_preference.parts import MEAN

    name, sign, paths = (part.strip() for part in given.partition("="))
    files = [path.strip() for path in paths.split(",")]
    if not name or not sign or not all(files) or len(files) > 2:
        raise ConfigError(f"--dimension: expected {FORM}, got {given!r}")
    if name == MEAN:
        raise ConfigError(f"--dimension: {MEAN!r} stands for the mean over all dimensions; give it another name")
    if both and len(files) == 1:
        raise ConfigError(f"--framings both: dimension {name!r} has no inverted twin; expected {FORM}, got {given!r}")
    if not both and len(files) == 2:
        raise ConfigError(f"--dimension {name}: only --framings both asks {files[1]}; add it, or leave the file out")
    texts = [_template(name, path) for path in files]
    return Dimension(name, texts[0], texts[1] if both else None, dict(zip(texts, files, strict=True)))


def _template(name: str, path: str) -> str:
    from calm.core.files import MOST_SETTINGS, read_bytes

    try:
        text = read_bytes(Path(path), MOST_SETTINGS).decode("utf-8")
    except OSError as error:
        why = error.strerror or error
        raise ConfigError(f"--dimension {name}: {path}: cannot be read: {why}; expected a prompt") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"--dimension {name}: {path}: expected UTF-8: {error.reason}") from error
    if not text.strip():
        raise ConfigError(f"--dimension {name}: {path}: expected a prompt, got an empty file")
    return text


def about_each(judge: Judge, dimensions: Sequence[Dimension]) -> list[tuple[str, Judge]]:
    """
    Return a judge with the prompt of each dimension, by name; as it is, under "", without dimensions.

    Raises:
        ConfigError: it gives no scores, has no prompt to change, or a template shows no answers.
    """
    if dimensions and judge.task != "score":
        raise ConfigError(f"--dimension: expected judges with task = 'score', got {judge.name} ({judge.task})")
    return [(one.name, _about(judge, one)) for one in dimensions] or [("", judge)]


def framed(judge: Judge, dimension: str, options: argparse.Namespace) -> list[Member]:
    """
    Return a judge as it is to be asked: once, or in each framing.

    Raises:
        ConfigError: both framings are wanted, and the judge gives no scores or has no inverted twin.
    """
    from calm.core.case import Framing
    from calm.experiment.arms import twin_of
    from calm.experiment.crossing import member_of

    if options.framings == "standard":
        return [member_of(judge, dimension=dimension)]
    if judge.task != "score":
        raise ConfigError(f"--framings both: expected judges with task = 'score', got {judge.name} ({judge.task})")
    if (twin := twin_of(judge)) is None:
        raise ConfigError(
            f"--framings both: {judge.name} has no inverted twin; give it negative_user or negative_user_file in "
            "[prompt], or use the bundled prompt"
        )
    return [member_of(judge, dimension=dimension, framing=framing) for framing in (Framing.STANDARD, twin)]


def _about(judge: Judge, dimension: Dimension) -> Judge:
    from calm.judges.judgefile import prompt_faults
    from calm.models.wire import Rewordable

    prompt = judge.asks if isinstance(judge, Rewordable) else None
    if prompt is None or not isinstance(judge, Rewordable):
        raise ConfigError(
            f"--dimension: {judge.name} has no prompt to change, as it is recorded or code; expected a judge.toml with "
            "a model"
        )
    worded = _reworded(prompt, dimension)
    if faults := prompt_faults(worded, judge.task, judge.scale, dimension.places):
        raise ConfigError("\n".join(f"--dimension {dimension.name}: {fault}" for fault in faults))
    return judge.with_prompt(worded)


def _reworded(prompt: Prompt, dimension: Dimension) -> Prompt:
    from calm.core.edits import Message

    def ending(before: Sequence[Message], text: str) -> tuple[Message, ...]:
        kept = () if prompt.bundled else tuple(before[:-1])
        return (*kept, Message("user", text))

    negative = None
    if dimension.negative is not None:
        negative = ending(prompt.negative or prompt.messages, dimension.negative)
    messages = ending(prompt.messages, dimension.user)
    return replace(prompt, messages=messages, negative=negative, inverted=None, bundled=False)
