"""
Write what the documents take from the code: tables, and the output of real runs, each between its two markers.

    python docs/generate.py                  # write all of it (some runs of the gate on simulated judges: seconds each)
    python docs/generate.py --only tables    # the tables alone
    python docs/generate.py --check          # write nothing; exit 1 and name the blocks that are out of date

A block stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`. The table of planted biases has a command of
its own: `python -m benchmarks.planted_biases`.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib
import inspect
import json
import os
import pkgutil
import re
import shlex
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from calm import perturbations, plugins, pytest_plugin, suites
from calm.commands import cli
from calm.commands.cli import helps_of
from calm.core.checks import KINDS
from calm.core.edits import Edit
from calm.core.measures import MEASURES
from calm.core.verdict import FAMILIES, FAMILY
from calm.gate.catalogue import entries
from calm.judges.python import PythonJudge
from calm.perturbations.triggers import plants
from calm.plugins.lint.linting import RULES, Rule
from calm.plugins.lint.shown import in_general
from calm.plugins.mitigate.mitigations import DEFENCES, MITIGATIONS
from calm.results.audit import AGREEMENT, CONTROLS, RUN, finding_from_json
from calm.results.pairing import limits_of
from calm.results.sentences import sentence
from calm.results.wording import figures
from calm.results.wording import lines as broken
from calm.suites import limits

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

BLOCK = re.compile(r"<!-- generated: ([a-z-]+) -->\n(.*?)<!-- end: \1 -->", re.DOTALL)
COMMENT = re.compile(r"\{#.*?#\}")
"""A comment of a template, which a site of docs takes for an attribute."""
FILE = re.compile(r"`([\w./-]+\.\w+)`:\n\n(`{3,})(\w+)\n(.*?)^\2$", re.DOTALL | re.MULTILINE)
WIDTH = 170
"""Lines of output are cut here, with three dots."""
COLUMNS = 100
"""Lines of a run are broken here, as a terminal of this width breaks them, but for those with a command."""
COMMAND = "  calm "
ENDS = re.compile(r"report: |wrote: |=|\d+ (?:failed|passed)")
"""How a line begins that is no more of what calm says: files, and the last line of pytest."""
EXTRA = "pytest.mark.calm_every_variant"
ELSEWHERE = {
    "calibrate",
    "hunts",
    "mappings",
    "calm-protocol",
    "inert",
    "papers",
    "perturbation-speed",
    "planted-biases",
    "reader",
    "reader-styles",
    *(f"real-judges-{name}" for name in ("position", "scores", "gold", "gate", "misses", "each", "sizes", "prompts")),
    "self-preference",
    "self-preference-limits",
}
"""Blocks that another command writes."""


# ------------------------------------------------------------------------------------------------------------- tables


def row(*cells: object) -> str:
    """
    Return a line of a Markdown table.

    >>> row("a|b", 1)
    '| a\\\\|b | 1 |'
    """
    return f"| {' | '.join(str(c).replace('|', chr(92) + '|') for c in cells)} |"


def markdown(head: Sequence[str], rows: Iterator[Sequence[object]] | Sequence[Sequence[object]]) -> str:
    """Return a Markdown table."""
    return "\n".join([row(*head), f"|{'---|' * len(head)}", *(row(*cells) for cells in rows)])


def first_line(text: str | None) -> str:
    """Return the first line of a docstring."""
    return inspect.cleandoc(text or "").partition("\n")[0]


def after_colon(text: str | None) -> str:
    """Return what a first line says after its colon, without its full stop."""
    return first_line(text).partition(": ")[2].rstrip(".")


def suite_names() -> list[str]:
    """Return the modules of the suites: biases, controls, agreement."""
    names = [m.name for m in pkgutil.iter_modules(suites.__path__) if m.name.startswith("test_")]
    return sorted(names, key=lambda name: (bias_of(name) == AGREEMENT, bias_of(name) in CONTROLS, name))


def bias_of(module: str) -> str:
    """Return the name of a suite as findings show it."""
    return module.removeprefix("test_").replace("_", "-")


def claims_of(source: str, kind: str) -> list[str]:
    """
    Return the claims of a suite for one kind of verdict, as written; a keyword replaces the positional ones.

    Tests of a suite that run only with `--calm-every-variant` are left out.
    """
    found: dict[str, None] = {}
    for test in ast.parse(source).body:
        marks = [ast.unparse(mark) for mark in test.decorator_list] if isinstance(test, ast.FunctionDef) else []
        if any(EXTRA in mark for mark in marks):
            continue
        for node in ast.walk(test):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "proves":
                found |= dict.fromkeys(_claims_in(node, source, kind))
    return list(found)


def _claims_in(node: ast.Call, source: str, kind: str) -> list[str]:
    """Return the claims of one call of `proves`; limits that suites share stand by their name, after stars."""
    shared = [k.value.id for k in node.keywords if k.arg is None and isinstance(k.value, ast.Name)]
    found = [str(claim) for name in shared for claim in getattr(limits, name)[kind]]
    own = {k.arg: k.value.elts for k in node.keywords if isinstance(k.value, ast.List)}
    for claim in own.get(kind, node.args):
        if isinstance(claim, ast.Starred) and isinstance(claim.value, ast.Name):
            found += [str(one) for one in getattr(limits, claim.value.id)]
        else:
            found.append(ast.get_source_segment(source, claim) or "")
    return found


def source_of(name: str) -> str:
    """Return the text of a suite."""
    return Path(suites.__path__[0], f"{name}.py").read_text("utf-8")


def is_extra(source: str) -> bool:
    """Return whether all tests of a suite are beyond the default gate."""
    return f"pytestmark = {EXTRA}" in source


def biases() -> str:
    """Return the suites of the default gate: what must hold, what is done to ask about it, and what is claimed."""
    names = [name for name in suite_names() if not is_extra(source_of(name))]
    controls = sum(bias_of(name) in CONTROLS for name in names)
    extra = len(suite_names()) - len(names)
    edits = len(names) - controls - 1  # agreement is neither a bias nor a control
    without = [
        bias_of(name) for name in names if not any(claims_of(source_of(name), kind) for kind in ("pairwise", "score"))
    ]
    also = f" and {', '.join(without)} (which is only observed)" if without else ""
    count = (
        f"{edits - len(without)} biases, {controls} controls and {AGREEMENT}; `--calm-every-variant` adds {extra} "
        f"suites{also}:"
    )
    return f"{count}\n\n{suites_table(names)}\n\n{of_all_probes()}"


def of_all_probes() -> str:
    """Return what is claimed of all probes of a run together."""
    told = (
        f"on {kind} {', '.join(f'`{RUN}/{claim}`' for claim in limits_of(family))}"
        for kind, family in (("pairs", FAMILY["pairwise"]), ("scores", FAMILY["score"]))
    )
    return f"All probes of a run together: {'; '.join(told)}."


NO_EDIT = {
    "agreement": "hold verdicts on the cases as they are against their gold labels, and against what each person said",
    "consistency": "ask the same prompt again",
    "paraphrase": "say an answer in other words: near synonyms, or what a writer made of it",
    "self-preference": "ask judges of other families about the same answers",
}
"""What suites do that have no module of edits."""


def extra_suites() -> str:
    """Return the suites beyond the default gate."""
    return suites_table([name for name in suite_names() if is_extra(source_of(name))])


def suites_table(names: Sequence[str]) -> str:
    """Return suites as a table."""
    modules = {m.name for m in pkgutil.iter_modules(perturbations.__path__)}
    rows = []
    for name in names:
        source, bias, module = source_of(name), bias_of(name), name.removeprefix("test_")
        known = module in modules
        done = after_colon(importlib.import_module(f"calm.perturbations.{module}").__doc__) if known else ""
        pairs, scores = (", ".join(f"`{c}`" for c in claims_of(source, kind)) for kind in ("pairwise", "score"))
        if known and not any("score" in entry.edit.tasks for entry in entries() if entry.module == module):
            scores = "one answer has no order"
        shown = f"{bias} (control)" if bias in CONTROLS else bias
        rows.append(
            (
                shown,
                after_colon(ast.get_docstring(ast.parse(source))),
                done or NO_EDIT[bias],
                pairs,
                scores,
            )
        )
    return markdown(("suite", "what must hold", "what is done", "claims on pairs", "on scores"), rows)


@dataclass
class Recorder:
    """Takes what the plugin adds, as pytest's parser does."""

    options: list[tuple[str, dict[str, object]]] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)

    def getgroup(self, name: str, description: str) -> Recorder:
        """Return the group of options, which is the recorder itself."""
        return self

    def addoption(self, name: str, **how: object) -> None:
        """Note an option, unless it is hidden."""
        if how["help"] != argparse.SUPPRESS:
            self.options.append((name, how))

    def addini(self, name: str, text: str, **how: object) -> None:
        """Note an ini setting."""
        self.settings[name] = text


def plugin_options() -> Recorder:
    """Return the options and ini settings that the plugin adds to pytest."""
    recorder = Recorder()
    pytest_plugin.pytest_addoption(recorder)  # type: ignore[arg-type]  # it needs no more of a parser than this
    return recorder


def options() -> str:
    """Return the options of pytest that the plugin adds."""
    found = plugin_options()
    defaults = {f"--calm-{name}": default for name, default, *_ in pytest_plugin.options.OPTIONS}
    rows = []
    for name, how in found.options:
        takes = f" {how['metavar']}" if how.get("metavar") else ""
        ini = name.removeprefix("--").replace("-", "_")
        assert ini in found.settings, f"{name} has no ini setting"
        rows.append((f"`{name}{takes}`", f"`{ini}`", f"`{defaults[name]}`" if defaults.get(name) else "", how["help"]))
    return markdown(("option", "ini setting", "default", "meaning"), rows)


def subcommands() -> dict[str, tuple[argparse.ArgumentParser, str]]:
    """Return the parser and the help of each `calm` command, those of two words included."""
    return dict(_commands_of(cli._parser(), ""))


def _commands_of(
    parser: argparse.ArgumentParser, before: str
) -> Iterator[tuple[str, tuple[argparse.ArgumentParser, str]]]:
    for action in parser._actions:
        if not isinstance(action, argparse._SubParsersAction):
            continue
        helps = helps_of(action)
        for name, found in action.choices.items():
            nested = list(_commands_of(found, f"{before}{name} "))
            yield from nested or [(f"{before}{name}", (found, helps[name]))]


def commands() -> str:
    """Return the `calm` commands and what they take."""
    rows = []
    for name, (parser, text) in subcommands().items():
        rows.append((f"`calm {name}`", "", text))
        for action in parser._actions:
            if isinstance(action, argparse._HelpAction):
                continue
            takes = f" {action.metavar}" if action.metavar and action.option_strings else ""
            shown = f"{action.option_strings[-1]}{takes}" if action.option_strings else str(action.metavar)
            rows.append(("", f"`{shown}`", action.help))
    return markdown(("command", "takes", "meaning"), rows)


def measures() -> str:
    """Return the measures: direction, range, what they serve, and how many asks they need."""
    rows = []
    for name, m in MEASURES.items():
        ends = (1 - m.high, 1 - m.low) if m.flipped else (m.low, m.high)
        serves = ", ".join(str(e) for e in sorted(e for e in m.serves if e is not None)) or "the clean arm alone"
        tasks = "all" if m.families == FAMILIES else ", ".join(m.families)
        two = f"`{m.op}`, `abs() <=`" if m.low < 0 and not m.flipped and m.op == "<=" else f"`{m.op}`"
        rows.append((f"`{name}`", two, f"{ends[0]:g} to {ends[1]:g}", serves, tasks, f"{m.asks[0]}+{m.asks[1]}"))
    return markdown(("measure", "claimed with", "range of a case", "serves edits that expect", "tasks", "asks"), rows)


def edits() -> str:
    """Return all perturbations that ship."""
    numbers = defaultdict(list)
    for entry in catalogue_rows():
        for served in entry["served_by"].split():
            numbers[served].append(entry["id"])
    rows = []
    for entry in entries():
        edit = entry.edit
        tasks = "all" if edit.tasks == FAMILIES else ", ".join(edit.tasks)
        dose = "" if edit.dose is None else "its argument" if entry.takes else f"{edit.dose:g}"
        changes = "case" if isinstance(edit, Edit) else "bundled prompts" if edit.bundled else "any prompt"
        where = ", ".join(numbers[entry.key])
        told = (edit.bias, where, changes, str(edit.expects), tasks, dose, edit.source, edit.summary)
        rows.append((f"`{entry.call}`", *told))
    head = ("perturbation", "bias", "entry", "edits", "expects", "tasks", "dose", "source", "what it does")
    count = f"{len(rows)} perturbations of {len({row[1] for row in rows})} biases."
    return f"{count}\n\n{markdown(head, rows)}"


def catalogue_rows() -> list[dict[str, str]]:
    """Return the entries of the catalogue: what of it is served by what, and what was left out."""
    with (ROOT / "docs" / "reference" / "catalogue.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def catalogue() -> str:
    """Return the catalogue of ideas: what serves each, with what it expects, or why it was left out."""
    known = {entry.key: entry.edit for entry in entries()}
    rows, served, left = [], 0, 0
    for entry in catalogue_rows():
        names = entry["served_by"].split()
        found = [known[name] for name in names if name in known]
        if found:
            by = ", ".join(f"`{name}`" for name in names)
            expects = ", ".join(sorted({str(edit.expects) for edit in found}))
            tasks = [task for task in FAMILIES if any(task in edit.tasks for edit in found)]
            shown = "all" if len(tasks) == len(FAMILIES) else ", ".join(tasks)
        else:
            by, expects, shown = entry["served_by"], "", ""
        served += bool(by)
        left += not by
        note = f"left out: {entry['reason']}" if entry["reason"] else entry["note"]
        rows.append((entry["id"], entry["name"], by, expects, shown, note))
    table = markdown(("entry", "idea", "served by", "expects", "tasks", "note"), rows)
    return f"{len(rows)} entries: {served} served, {left} left out with the reason.\n\n{table}"


def mitigations() -> str:
    """Return the mitigations: what each does, for which verdicts, at what price, and where it is from."""
    rows = []
    for name, one in MITIGATIONS.items():
        tasks = "all" if one.families == FAMILIES else ", ".join(one.families)
        called = f"`{name}:{one.takes}`" if one.takes else f"`{name}`"
        rows.append((called, one.does, tasks, one.calls, one.source, "yes" if name in DEFENCES else ""))
    return markdown(("name", "what it does", "tasks", "calls a verdict", "source", "against injection"), rows)


def checks() -> str:
    """Return the kinds of check that a program can verify."""
    rows = []
    for name, kind in KINDS.items():
        takes = ", ".join(f"`{key}` ({value.__name__})" for key, value in kind.parameters.items())
        rows.append((f"`{name}`", takes, kind.description))
    return markdown(("kind", "takes", "holds if"), rows)


def layers() -> list[list[str]]:
    """Return the layers of the contract, highest first: the rooms of `calm/` that stand on each."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    contract = next(found for found in contracts if found["type"] == "layers")
    return [re.split(r" [|:] ", layer) for layer in contract["layers"]]


def rooms() -> str:
    """Return the rooms of `calm/`, highest layer first, and what each is."""
    rows = []
    for number, names in zip(range(len(layers()), 0, -1), layers(), strict=True):
        for name in names:
            folder = ROOT / name if (ROOT / name).is_dir() else ROOT / "calm" / name
            file = folder / "__init__.py" if folder.is_dir() else folder.with_suffix(".py")
            does = first_line(ast.get_docstring(ast.parse(file.read_text("utf-8"))))
            rows.append((number, f"`{name}/`" if folder.is_dir() else f"`{file.name}`", does))
    return markdown(("layer", "room", "what it is"), rows)


SHOWN_AS = {
    "COMMANDS": ("", "`calm {}`"),
    "JUDGES": ("judges ", "`{}:`"),
    "RECORDED": ("judges ", "`recorded:{}/`"),
    "CASES": ("cases ", "`{}`"),
    "MITIGATIONS": ("mitigations ", "`{}`"),
    "EXPORTS": ("targets ", "`{}`"),
    "PAGES": ("pages ", "`{}`"),
    "HOOKS": ("to the core ", "`{}`"),
}
"""What a plug-in gives: its kind in words, and how a name of it is written."""


def own_plugins() -> str:
    """Return calm's own plug-ins: what each is, and what it gives."""
    rows = []
    for name in (module.name for module in pkgutil.iter_modules(plugins.__path__)):
        module = importlib.import_module(f"calm.plugins.{name}")
        told = [
            kind + ", ".join(how.format(one) for one in sorted(names))
            for constant, (kind, how) in SHOWN_AS.items()
            if (names := getattr(module, constant, ()))
        ]
        does = re.sub(r":[^:]*`.*", "", first_line(module.__doc__)).rstrip(".")
        rows.append((f"`{name}/`", does, "; ".join(told)))
    return markdown(("plug-in", "what it is", "what it gives"), rows)


def table_in(docstring: str | None) -> str:
    """Return the first table of a docstring."""
    lines = inspect.cleandoc(docstring or "").splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))


def planted_triggers() -> str:
    """Return the biases that can be planted, in the order in which they decide, and what stirs each."""
    return markdown(("bias", "trigger"), [(plant.bias, plant.trigger.words) for plant in plants()])


def lint_rules() -> str:
    """Return the table of the linter's rules."""
    head = ("rule", "severity", "finding", "why", "evidence", "fix")
    return markdown(head, [_of_rule(rule) for rule in RULES.values()])


def _of_rule(rule: Rule) -> list[str]:
    told = map(in_general, (rule.says, rule.why, f"{rule.basis}: {rule.evidence}", rule.fix))
    return [f"`{rule.id}`", rule.severity, *(COMMENT.sub(r"`\g<0>`", text) for text in told)]


TABLES: dict[str, Callable[[], str]] = {
    "biases": biases,
    "options": options,
    "commands": commands,
    "mitigations": mitigations,
    "measures": measures,
    "perturbations": edits,
    "catalogue": catalogue,
    "extra-suites": extra_suites,
    "checks": checks,
    "lint-rules": lint_rules,
    "rooms": rooms,
    "plugins": own_plugins,
    "python-judge": lambda: table_in(PythonJudge.__doc__),
    "planted-triggers": planted_triggers,
}


# --------------------------------------------------------------------------------------------------------------- runs


def files_in(page: Path) -> dict[str, str]:
    """Return the files that a page has its reader write: a line that names one in backticks, then its text."""
    return {name: body for name, _, _, body in FILE.findall(page.read_text("utf-8"))}


PROGRESS = "hunt: ["
"""How a line begins that says how far a command is."""


ON_SERVERS = (
    *("CI", "BUILD_NUMBER", "__TOX_ENVIRONMENT_VARIABLE_ORIGINAL_CI", "TF_BUILD", "BUILDKITE", "CIRCLECI"),
    *("CIRRUS_CI", "CODEBUILD_BUILD_ID", "GITHUB_ACTIONS", "GITLAB_CI", "HEROKU_TEST_RUN_ID", "TEAMCITY_VERSION"),
)
"""Under these variables pytest shortens no line, and Hypothesis draws other examples than at a desk."""


def run(folder: Path, *command: str) -> str:
    """Return what a Python command prints, in a folder, with this repository in reach and colours off."""
    path = os.pathsep.join(p for p in (str(ROOT), os.environ.get("PYTHONPATH", "")) if p)
    env = {
        **os.environ,
        "PYTHONPATH": path,
        "NO_COLOR": "1",
        "COLUMNS": str(COLUMNS),
        "LINES": "24",
        "PYTHONWARNINGS": "",
    }
    for name in ("PYTEST_ADDOPTS", *ON_SERVERS):
        env.pop(name, None)
    done = subprocess.run(  # noqa: S603 - commands of our own
        [sys.executable, "-m", *command], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    told = [line for line in done.stderr.splitlines() if line.strip() and not line.startswith(PROGRESS)]
    if told:
        raise RuntimeError(f"{' '.join(command)}: expected nothing on stderr, got:\n{done.stderr}")
    return done.stdout


def summary(output: str) -> list[str]:
    """Return the section that calm prints, without the paths of files."""
    lines = output.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip("= ") == "calm")
    end = next(i for i, line in enumerate(lines) if i > start and ENDS.match(line))
    kept = (line for line in lines[start:end] if line)
    return [part for line in kept for part in ([line] if line.startswith(COMMAND) else broken(line, COLUMNS))]


def fenced(lines: Sequence[str]) -> str:
    """Return lines of output as a block, each cut at its end if it is too long."""
    cut = [line if len(line) <= WIDTH else f"{line[: WIDTH - 3]}..." for line in lines]
    return "\n".join(["```text", *cut, "```"])


QUIET = ("-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider")
FAILING = "planted:authority=0.5,noise=0.03"


@cache
def readme_probe() -> str:
    """Return the failing output of the README's probe."""
    with TemporaryDirectory() as folder:
        for name, body in files_in(ROOT / "README.md").items():
            (Path(folder) / name).write_text(body, "utf-8")
        told = run(Path(folder), "pytest", "test_books.py", f"--calm-judge={FAILING}", *QUIET)
    lines = told.splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith("    def test_"))
    last = next(i for i, line in enumerate(lines) if i > first and not line.startswith(("    ", ">", "E")))
    shown = [line for line in lines[first:last] if line.startswith(("    ", ">", "E       assert"))]
    return fenced([*shown, *summary(told)])


@cache
def demo() -> tuple[str, dict[str, object]]:
    """Return what `calm demo` prints, and its results."""
    with TemporaryDirectory() as folder:
        told = run(Path(folder), "calm", "demo", "--out", folder)
        results = json.loads((Path(folder) / "results.json").read_text("utf-8"))
    return told, results


def demo_finding(key: str) -> dict[str, object]:
    """Return a finding of the demo."""
    found = demo()[1]["findings"]
    assert isinstance(found, list)
    return next(f for f in found if f["key"] == key)


SHOWN = "authority/gain"


def finding_line() -> str:
    """Return the lines that `-v` shows for one finding of the demo."""
    found = finding_from_json(demo_finding(SHOWN))
    told = (f"{found.outcome.value} {SHOWN}: {sentence(found)}", f"  {figures(found)}")
    return "\n".join(["```text", *(part for one in told for part in broken(one, COLUMNS)), "```"])


def finding_parts() -> str:
    """Return the parts of a finding of the demo, with the numbers that it has."""
    f = demo_finding(SHOWN)
    level, flips, claim, control = float(str(f["level"])), f["flips"], f["claim"], f["control"]
    assert isinstance(flips, dict)
    assert isinstance(control, dict)
    assert isinstance(claim, dict)
    excluded = "; ".join(f"{count} {reason}" for reason, count in f["excluded"].items())  # type: ignore[attr-defined]
    limit = f"{claim['op']} {claim['limit']:.2f}"
    rows = [
        (f"`{f['key']}`", "the key: bias, measure and, if it has a name, the perturbation"),
        (f"`{f['outcome']}`", "the outcome of the claim"),
        (f"`{f['measure']} {limit}`", "the claim: a measure and its limit"),
        (f"`{f['value']:.2f}`", "the measured value: the mean over cases"),
        (
            f"`[{f['low']:.2f}, {f['high']:.2f}]`",
            f"two one-sided bounds; each misses the true value with a probability of at most {level:g}",
        ),
        (f"`n={f['n']}`", f"cases in the mean; left out: {excluded or 'none'}"),
        (f"`{flips['toward']} in favour of the edited answer`", "verdicts that moved so, by half a win or more"),
        (f"`{flips['away']} against it`", "verdicts that moved the other way"),
        (
            f"`RR {f['robustness_rate']:.2f}`",
            "how often a clean (unedited) and a perturbed (edited) ask agree",
        ),
        (
            f"`CR {f['consistency_rate']:.2f}`",
            "how often two clean asks agree; the rest is the judge's own noise",
        ),
        (
            f"`neutral words moved {max(0.0, control['moved']):.2f}`",
            "share of verdicts that neutral words moved in the place of the edit, beyond what asking again moves",
        ),
        (f"`gained {control['gain']:z.2f}`", "what these words gave the treated answer"),
    ]
    return markdown(("part", "what it is"), rows)


def finding_trials() -> str:
    """Return a flipped and a kept case of that finding, as the results hold them."""
    trials = demo_finding(SHOWN)["trials"]
    assert isinstance(trials, list)
    flipped = next(t for t in trials if set(t["clean"]) == {"good"} and set(t["perturbed"]) == {"bad"})
    kept = next(t for t in trials if set(t["clean"]) == {"good"} == set(t["perturbed"]))
    return "\n".join(["```json", json.dumps(flipped), json.dumps(kept), "```"])


def audit(judge: str) -> Callable[[], str]:
    """Return a function that runs the tutorial's command on one of its own judges and returns what is printed."""

    @cache
    def told() -> str:
        page = ROOT / "docs" / "tutorial.md"
        command = next(line for line in page.read_text("utf-8").splitlines() if line.startswith(f"calm audit {judge}"))
        with TemporaryDirectory() as folder:
            for name, body in files_in(page).items():
                (Path(folder) / name).write_text(body, "utf-8")
            return fenced(summary(run(Path(folder), *shlex.split(command))))

    return told


ATTACKS = (
    "ignore_previous",
    "role_tokens",
    "foreign_order",
    "smuggle_quotation",
    "in_base64",
    "in_reverse",
    "smuggle_in_tags",
    "imitate_letters",
)
"""The rows of the attack grid that a page shows."""


def attack_grid() -> str:
    """Return a part of the attacks by defences of a planted judge."""
    command = [
        *("calm", "mitigate", "planted:injection=0.5,encoding=0.5,invisible-text=0.5"),
        *("--try", "string-filter,statistical-filter", "--together", "string-filter,statistical-filter"),
        *("--grid", "--attacks", ",".join(ATTACKS), "--sample", "60", "--repeats", "2+1", "--cache", "off"),
        *("--", "--pyargs", "calm.suites.test_injection", "-k", "order_to_the_evaluator"),
    ]
    with TemporaryDirectory() as folder:
        lines = run(Path(folder), *command).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("Attacks (rows)"))
    return fenced(lines[start + 1 : lines.index("", start)])


def calibrated() -> str:
    """Return what the guide's calibration of a recorded judge prints."""
    page = ROOT / "docs" / "how-to" / "calibrate-a-judge.md"
    command = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("calm calibrate recorded"))
    with TemporaryDirectory() as folder:
        return fenced(run(Path(folder), *shlex.split(command)).splitlines())


def property_run(file: str, judge: str) -> str:
    """Return the example that a property of the page about them ends with, on a simulated judge."""
    page = ROOT / "docs" / "how-to" / "write-a-property.md"
    with TemporaryDirectory() as folder:
        (Path(folder) / file).write_text(files_in(page)[file], "utf-8")
        options = (f"--calm-judge={judge}", "--hypothesis-seed=0", "--calm-cache=off", "--tb=short")
        told = run(Path(folder), "pytest", file, *options, *QUIET)
    lines = [line.removeprefix("E   ") for line in told.splitlines()]
    first = next(i for i, line in enumerate(lines) if line.startswith("Failing test case"))
    last = next(i for i, line in enumerate(lines) if line.startswith("judge planted"))
    return fenced(lines[first : last + 1])


def hunted(*, test: bool) -> str:
    """Return what the guide's hunt prints, or its written test."""
    page = ROOT / "docs" / "how-to" / "hunt-for-the-smallest-text.md"
    command = next(line for line in page.read_text("utf-8").splitlines() if line.startswith("calm hunt careless"))
    with TemporaryDirectory() as folder:
        (Path(folder) / "careless.py").write_text(files_in(page)["careless.py"], "utf-8")
        told = run(Path(folder), *shlex.split(command))
        if not test:
            return fenced(told.splitlines())
        told = run(Path(folder), "pytest", "tests/found", "--calm-judge=careless:judge", "--tb=line", *QUIET)
    return fenced([re.sub(r"^.*/(tests/)", r"\1", line) for line in told.splitlines() if "test_found" in line])


def own_answers() -> str:
    """Return the screen of the guide's first `calm self-preference`, without the files that it writes."""
    with TemporaryDirectory() as folder:
        return fenced(run(Path(folder), "calm", "self-preference", "recorded:ifeval/GPT-5").splitlines())


def linted() -> str:
    """Return what the guide's first `calm lint` prints."""
    page = ROOT / "docs" / "how-to" / "lint-a-prompt.md"
    with TemporaryDirectory() as folder:
        for name, text in files_in(page).items():
            (Path(folder) / name).write_text(text, "utf-8")
        return fenced(run(Path(folder), "calm", "lint", "judge.toml").splitlines())


RUNS: dict[str, Callable[[], str]] = {
    "hunt-run": lambda: hunted(test=False),
    "hunt-test": lambda: hunted(test=True),
    "attack-grid": attack_grid,
    "lint-run": linted,
    "calibrate-run": calibrated,
    "self-preference-run": own_answers,
    "readme-probe": readme_probe,
    "property-run": lambda: property_run("test_no_flip.py", "planted:refinement-aware=1"),
    "conversation-run": lambda: property_run("test_conversation.py", "planted:pushback=1"),
    "demo": lambda: fenced(summary(demo()[0])),
    "finding-line": finding_line,
    "finding-parts": finding_parts,
    "finding-trials": finding_trials,
    "audit-first": audit("first:judge"),
    "audit-second": audit("second:judge"),
    "audit-third": audit("third:judge"),
}


# ------------------------------------------------------------------------------------------------------------ the pages


def pages() -> list[Path]:
    """Return all documents that may hold generated blocks."""
    return [ROOT / "README.md", ROOT / "ARCHITECTURE.md", *sorted((ROOT / "docs").rglob("*.md"))]


def renewed(text: str, known: dict[str, Callable[[], str]], stale: list[str]) -> str:
    """Return a page with its known blocks made anew, and note those that were out of date."""

    def made(found: re.Match[str]) -> str:
        name = found[1]
        if name not in known:
            return found[0]
        body = f"{known[name]()}\n"
        if body != found[2]:
            stale.append(name)
        return f"<!-- generated: {name} -->\n{body}<!-- end: {name} -->"

    return BLOCK.sub(made, text)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the blocks; return 1 if a check finds one out of date."""
    parser = argparse.ArgumentParser(description="Write what the documents take from the code.")
    parser.add_argument("--check", action="store_true", help="write nothing, name what is out of date")
    parser.add_argument("--only", choices=("tables", "runs"), help="only the tables, or only the output of runs")
    chosen = parser.parse_args(arguments)
    known = {**({} if chosen.only == "runs" else TABLES), **({} if chosen.only == "tables" else RUNS)}
    status = 0
    for page in pages():
        before = page.read_text("utf-8")
        stale: list[str] = []
        after = renewed(before, known, stale)
        for name in stale:
            print(f"{page.relative_to(ROOT)}: {name} {'is out of date' if chosen.check else 'written'}")
        if stale and chosen.check:
            status = 1
        elif stale:
            page.write_text(after, "utf-8")
    return status


if __name__ == "__main__":
    sys.exit(main())
