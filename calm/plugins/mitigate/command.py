"""`calm mitigate`: which mitigations make a judge pass its gate, and what they cost."""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from calm.commands import CASES, DONE, JUDGES, REFUSED, REPEATS, add_cache, add_command, cache_files, cache_of
from calm.commands.plan import traced
from calm.commands.spending import add_limits, bill, caps_of, closing, impossible
from calm.commands.terminal import end_of_progress, progress_line
from calm.core.files import join
from calm.errors import ConfigError, JudgeError
from calm.models.pricing import SET_PRICE, dollars
from calm.results.wording import fitted, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from calm.core.case import Case
    from calm.gate.prices import Figure
    from calm.models.pricing import Cost
    from calm.models.wire import Judge
    from calm.plugins.mitigate.study import Cell, MitigationSet, Study
    from calm.pytest_plugin.trace import Planner
    from calm.results.outputs import Output

_COMMA = re.compile(r",(?![a-z-]+=)")
"""A comma between sets; a comma between the settings of a planted judge does not count."""

_OWN = tuple(
    f"--calm-{name}"
    for name in ("judge", "gate", "baseline", "every-variant", "max-", "cache", "report", "results", "summary", "sarif")
)
"""Options of pytest that would have no effect here."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `mitigate`."""
    mitigate = add_command(
        commands,
        "mitigate",
        "Audit a judge alone and with each mitigation, and compare. The command says which mitigations pass the gate, "
        "and what they cost. Caps are for all sets together. Options of pytest, such as paths and -k, may follow after "
        "--.",
        "calm mitigate judge.toml --try swap,evidence:3 --max-usd 5",
    )
    option = mitigate.add_argument
    option("judge", metavar="JUDGE", help=JUDGES)
    option(
        "--try",
        dest="sets",
        action="append",
        default=[],
        metavar="NAME,...",
        help="mitigations to try one by one, such as swap,evidence:3,panel:b.toml+c.toml (repeatable)",
    )
    option(
        "--together",
        action="append",
        default=[],
        metavar="NAME,...",
        help="mitigations to try as one set, innermost first (repeatable)",
    )
    option("--cases", action="append", default=[], metavar="FILE", help=CASES)
    option(
        "--out",
        type=Path,
        default=Path("calm-mitigate"),
        metavar="DIR",
        help="the folder to write to (default calm-mitigate)",
    )
    option("--sample", metavar="N", help="at most N cases (default 200)")
    option("--repeats", metavar="K+M", help=REPEATS)
    option("--grid", action="store_true", help="also try each injection attack on each set")
    option("--attacks", metavar="WORD,...", help="with --grid: only attacks with a WORD in their name")
    option("--plan", action="store_true", help="show what the command will ask and cost; make no call")
    add_limits(mitigate)  # for all sets together
    modes = ("on", "replay", "refresh", "off")
    option("--cache", choices=modes, default="on", metavar="MODE", help=f"{', '.join(modes)} (default on)")
    add_cache(mitigate)
    mitigate.set_defaults(run=_mitigate, fit=False)


def _mitigate(options: argparse.Namespace) -> int:
    from calm.cases import sample
    from calm.core.files import inputs
    from calm.gate.from_spec import cases_from, judge_from
    from calm.plugins.mitigate.report import render
    from calm.plugins.mitigate.study import cheapest, shown, tried
    from calm.results.outputs import refuse

    keyless = options.cache == "replay"
    judge = judge_from(options.judge, keyless=keyless)
    _check(options)
    alone = [[name.strip()] for given in options.sets for name in _COMMA.split(given) if name.strip()]
    together = [[name.strip() for name in _COMMA.split(given) if name.strip()] for given in options.together]
    sets = tried(judge, [*alone, *together], _Reader(options))
    cases = cases_from(options.cases, judge)
    planner = traced(judge, options)
    cases = list(planner.record.cases or cases)  # a conftest.py may have others
    if planner.troubles:
        raise ConfigError([f"{node}: {why}" for node, why in planner.troubles])
    sets = shown(sets, sample(cases, planner.settings.sample, planner.settings.seed))
    refuse(_outputs(options), inputs=inputs(), caches=cache_files(options))
    if options.plan:
        print(fitted(printable(_plan(sets, planner, cases), "\n"), sys.stdout))
        return DONE
    study = _study(judge, sets, planner, cases, options)
    print(printable(render(study), "\n"))
    for line in _written(study, options):
        print(printable(line))
    return DONE if cheapest(study) is not None else REFUSED


def _check(options: argparse.Namespace) -> None:
    problems = impossible(argparse.Namespace(**{**vars(options), "sample": None}))
    if options.attacks and not options.grid:
        problems.append("--attacks: expected --grid with it")
    if not options.sets and not options.together:
        problems.append("--try: expected at least one mitigation, such as --try swap")
    for given in options.pytest:
        if given.startswith(_OWN):
            name = given.partition("=")[0]
            problems.append(f"{name}: has no effect on this command; give the command's own options before --")
    if options.out.exists() and not options.out.is_dir():
        problems.append(f"--out: expected a folder, got the file {str(options.out)!r}")
    if problems:
        raise ConfigError(problems)


def _outputs(options: argparse.Namespace) -> list[Output]:
    from calm.results import outputs

    forms = {"mitigations.json": outputs.MITIGATIONS, "report.html": outputs.REPORT}
    if options.judge.endswith(".toml"):
        forms["judge.toml"] = outputs.MITIGATED
    return [outputs.Output("--out", options.out / name, form) for name, form in forms.items()]


class _Reader:
    """Makes the other judges that mitigations name, each once; a path is relative to the judge's own file."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.folder = Path(options.judge).parent if options.judge.endswith(".toml") else Path()
        self._keyless = options.cache == "replay"
        self._known: dict[str, Judge] = {}

    def __call__(self, spec: str) -> Judge:
        from calm.gate.from_spec import judge_from

        if spec not in self._known:
            path = self.folder / spec
            self._known[spec] = judge_from(str(path) if path.is_file() else spec, keyless=self._keyless)
        return self._known[spec]


def _plan(sets: Sequence[MitigationSet], planner: Planner, cases: Sequence[Case]) -> str:
    from calm.gate.rehearsal import duration
    from calm.gate.resolution import NOISE
    from calm.plugins.mitigate.gate import plan_all

    planned = [one for one in sets if one.judge is not None]

    def begun(one: MitigationSet) -> None:
        at = planned.index(one) + 1
        progress_line(f"counting the calls of {printable(one.label)} ({at} of {len(planned)})", worth=True)

    try:
        alone, together, about = plan_all(sets, planner.record.entries, cases, planner.settings, begun)
    finally:
        end_of_progress()
    lines = ["No call was made. Each set alone takes at most:"]
    for one, most, likely in alone:
        lines.append(f"  {one.label}: {_calls(most, likely)}, {_price(most.cost)}, {duration(most.seconds)}")
    lines += [f"  {one.label}: left out: {one.reason}" for one in sets if one.judge is None]
    total = f"{_calls(together, about)}, {_price(together.cost)}"
    lines.append(f"All sets together, with shared calls counted once, take at most: {total}")
    if about < together.calls:
        lines.append(
            f"Expected: a sound judge that errs in {NOISE:.0%} of its asks. Close results are asked again, so a judge "
            f"near the limits takes more."
        )
    unpriced = dict.fromkeys(model for _, most, _ in alone for model in most.cost.unpriced)
    if unpriced:
        lines.append(f"No price is known of {', '.join(unpriced)}: {SET_PRICE}")
    lines += [f"at least: {node} {why}; what it asks after that is not counted" for node, why in planner.floors]
    return "\n".join(lines)


def _calls(most: Figure, about: int) -> str:
    """Return how many calls there are at most, and about how many, in two digits that count."""
    rounded = round(about, 2 - len(str(about)))
    return f"{most.calls:,} calls" + (f" (expected: about {rounded:,})" if rounded < most.calls else "")


def _price(cost: Cost) -> str:
    return str(cost) if not cost.unpriced else f">= {dollars(cost.usd)} USD" if cost.usd else "price not known"


def _study(
    judge: Judge, sets: Sequence[MitigationSet], planner: Planner, cases: Sequence[Case], options: argparse.Namespace
) -> Study:
    from calm.cases import sample
    from calm.core.verdict import FAMILY
    from calm.engine.engine import Engine
    from calm.engine.store import Mode, Store
    from calm.experiment.setup import Setup
    from calm.plugins.mitigate.gate import assess, attack_grid, attacks
    from calm.plugins.mitigate.study import Study, differences, served, some_left, without

    reader = _Reader(options)
    engine = Engine(Store(cache_of(options), Mode(options.cache)), caps=caps_of(options))
    settings = planner.settings
    with closing(engine):
        figures = []
        drawn = tuple(sample(cases, settings.sample, settings.seed))
        asked = served(sets, Setup(judge, drawn, engine, settings.seed, settings.design))
        for place, one in enumerate(asked):
            if one.judge is None:
                continue
            if sys.stderr.isatty():
                print(f"asking: {printable(one.label)}", file=sys.stderr)
            try:
                found = assess(one, planner.record.entries, cases, settings, engine=engine, reader=reader)
            except JudgeError as error:  # it cannot be read
                if not one.names:
                    raise
                asked[place] = without(one, error)
                continue
            lost = engine.lost(one.judge) if one.names else None
            if lost is None:
                figures.append(found)
            else:
                asked[place] = without(one, lost)
        some_left(asked)
        grid: tuple[Cell, ...] = ()
        if options.grid:
            words = [word.strip() for word in (options.attacks or "").split(",") if word.strip()] or [""]
            every = attacks(FAMILY[judge.task])
            chosen = [(name, edit) for name, edit in every if any(word in name for word in words)]
            if not chosen:
                raise ConfigError(f"--attacks: expected words from the names of attacks, got {options.attacks!r}")
            grid = attack_grid(asked, cases, settings, engine, chosen)
        tokens = engine.ledger.tokens
        spent = f"{bill(engine)}; {tokens['input']:,} tokens in, {tokens['output']:,} out"
    left_out = tuple(one for one in asked if one.judge is None)
    crossed = (entry.order.suite for entry in planner.record.entries if entry.wanted is not None)
    floors = (*planner.floors, *((suite, "compares several judges and authors") for suite in dict.fromkeys(crossed)))
    return Study(judge.name, tuple(figures), left_out, differences(figures), grid, floors, spent)


def _written(study: Study, options: argparse.Namespace) -> list[str]:
    from calm.core.files import read_bytes
    from calm.gate.from_spec import judge_from
    from calm.judges.judgefile import remembered
    from calm.plugins.mitigate.report import body, with_mitigations
    from calm.plugins.mitigate.study import cheapest
    from calm.results import outputs
    from calm.results.reports import pages

    folder: Path = options.out
    record = folder / "mitigations.json"
    answered = any(values for one in study.figures for values in one.values.values())
    if said := outputs.stays(record, answered=answered):
        return [f"{said}; so does what lies beside it"]
    found = body(study)
    text = json.dumps(found, ensure_ascii=False, indent=1, allow_nan=False)
    outputs.write_whole(record, [text, "\n"], outputs.MITIGATIONS)
    report = folder / "report.html"
    pages.write(found, report)
    lines = [f"wrote {record} and {report}"]
    best = cheapest(study)
    if best is None or not best.tried.names:
        return lines
    source = Path(options.judge)
    if not options.judge.endswith(".toml"):
        return [*lines, f"in judge.toml, write: [judge] mitigations = {json.dumps(list(best.tried.names))}"]
    path = folder / "judge.toml"
    text = read_bytes(source).decode("utf-8-sig")
    made = with_mitigations(text, best.tried.names, source, folder)
    outputs.write_whole(path, [f"# written by calm mitigate from {source.name!r}\n", made], outputs.MITIGATED)
    again = judge_from(str(path), keyless=options.cache == "replay")
    if again.fingerprint != best.audit.judge.fingerprint:
        raise ConfigError(
            f"{path}: it differs from the judge that was measured; add the mitigations to {source} by hand"
        )
    known = remembered(str(path)) and options.cases == remembered(str(source))
    files = [] if known else [word for name in options.cases for word in ("--cases", name)]
    return [
        *lines,
        f"wrote {path}, the judge with these mitigations; next: {join(['calm', 'audit', str(path), *files])}",
    ]
