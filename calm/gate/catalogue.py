"""Perturbations by name: those that ship, those of installed packages, and your own; which cases hold their texts."""

from __future__ import annotations

import importlib
import inspect
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType

from calm import perturbations
from calm.core.case import Answer, Case, Treated
from calm.core.edits import AnyEdit, Edit, PromptEdit
from calm.core.reasons import NONE, Kind, Reason, because
from calm.core.trials import Trials
from calm.core.verdict import Family
from calm.errors import ConfigError, closest
from calm.experiment.lookahead import Order
from calm.experiment.pairs import aim, aims_by_pilot, barred
from calm.models.wire import Judge
from calm.results.audit import AGREEMENT, BASELINE, CONTROLS, RUN

GROUP = "calm.perturbations"
"""Entry points of this group name modules of perturbations that other packages ship."""

SELF_PREFERENCE = "self-preference"
"""A bias that needs answers of several authors, and no edit."""

_INSTALLED = tuple(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
_MADE = ("Edit", "PromptEdit", "AnyEdit", Edit, PromptEdit, AnyEdit)
_CASES = tuple(Case(f"c{i}", f"Question {i}?", (Answer("a", f"A text that answers it, {i}."),)) for i in range(2))
STANDS_FOR: dict[str, object] = {
    "str": "judge-model",
    "int": 3,
    "percent": 60,
    "tokens": 500,
    "share": 0.1,
    "float": 2.0,
    "Sequence[Case]": _CASES,
    "Form": "json",
    "Mapping[str, str]": {"say which one is better": "say which of the two is better"},
}
"""Sample arguments for factories of perturbations, by the name of the parameter or else by its type."""


@dataclass(frozen=True, slots=True)
class Entry:
    """
    A perturbation of the catalogue: its module, its name in that module, and the edit itself.

    For a factory, `edit` is one that it made from sample arguments, and `takes` are the names of its parameters.
    """

    module: str
    name: str
    edit: AnyEdit
    takes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Its full name: `authority.cite_book`."""
        return f"{self.module}.{self.name}"

    @property
    def call(self) -> str:
        """The full name with its parameters, as a test writes it: `verbosity.expand(dose)`."""
        return f"{self.key}({', '.join(self.takes)})" if self.takes else self.key


@contextmanager
def importable(folder: Path) -> Iterator[None]:
    """Make the modules of a folder importable, as `python -m` does for the current one."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


def entries() -> Iterator[Entry]:
    """Yield all perturbations that calm ships, by module, and then those of installed packages."""
    yield from _entries(tuple(sys.path))


@lru_cache(maxsize=1)
def _entries(path: tuple[str, ...]) -> tuple[Entry, ...]:
    """Return the entries of all modules, made once on each `sys.path`."""
    found = []
    for module, place in _modules_on(path):
        for name, value in vars(place).items():
            if isinstance(value, Edit | PromptEdit):
                found.append(Entry(module, name, value))
            elif _is_factory(value, place) and (made := _shown(value)) is not None:
                found.append(Entry(module, name, made, tuple(inspect.signature(value).parameters)))
    return tuple(found)


def known_biases() -> frozenset[str]:
    """Return what keys of findings begin with: biases that have an edit, controls, the names of whole runs."""
    edited = (entry.edit.bias for entry in entries())
    return frozenset((AGREEMENT, BASELINE, RUN, *CONTROLS, SELF_PREFERENCE, *edited))


def factory_of(entry: Entry) -> Callable[..., AnyEdit]:
    """Return the function that makes the edits of an entry which takes arguments."""
    found: Callable[..., AnyEdit] = getattr(dict(_modules())[entry.module], entry.name)
    return found


def _modules() -> tuple[tuple[str, ModuleType], ...]:
    """Return the modules of perturbations with their names: those that ship, and those of installed packages."""
    return _modules_on(tuple(sys.path))


@lru_cache(maxsize=1)
def _modules_on(path: tuple[str, ...]) -> tuple[tuple[str, ModuleType], ...]:
    """Return the modules, looked for once on each `sys.path`: a run asks for them a hundred times."""
    own = [(module.__name__.rpartition(".")[2], module) for module in perturbations.modules()]
    return (*own, *_installed_on(path))


@lru_cache(maxsize=1)
def _installed_on(_path: tuple[str, ...]) -> tuple[tuple[str, ModuleType], ...]:
    points = sorted(entry_points(group=GROUP), key=lambda point: point.name)
    loaded = [(point.name, point.load()) for point in points]
    return tuple((name, found) for name, found in loaded if isinstance(found, ModuleType))


def _is_factory(value: object, place: ModuleType) -> bool:
    """Return whether a value is a public function of a module whose return type is an edit."""
    if not inspect.isfunction(value) or value.__module__ != place.__name__ or value.__name__.startswith("_"):
        return False
    return inspect.signature(value).return_annotation in _MADE


def _shown(factory: Callable[..., AnyEdit]) -> AnyEdit | None:
    """Return an edit that a factory makes from sample arguments; None if there is no sample for one of them."""
    given: dict[str, object] = {}
    for parameter in inspect.signature(factory).parameters.values():
        if parameter.default is not parameter.empty:
            continue
        kind = str(parameter.annotation)
        stand_in = STANDS_FOR.get(parameter.name, STANDS_FOR.get(kind))
        if stand_in is None:
            return None
        given[parameter.name] = stand_in
    return factory(**given)


def find_edit(name: str, model: str = "", cases: Sequence[Case] = ()) -> AnyEdit:
    """
    Return a perturbation by name: `cite_book`, `authority.cite_book`, or `package.module:name` for one of your own.

    An argument follows an @, as in `expand@3`. `model` is the argument of edits that need the name of a model, `cases`
    that of edits that take texts from other cases (none: the bundled ones).

    Raises:
        ConfigError: nothing has this name, it is not a perturbation, or its argument is missing or wrong.
    """
    plain, _, argument = name.partition("@")
    if ":" in plain:
        module, _, attribute = plain.partition(":")
        try:
            with importable(Path.cwd()):
                found = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ConfigError(f"{name}: {error}") from error
    else:
        known = list(entries())
        matches = [e for e in known if plain in (e.key, e.name)]
        if not matches:
            names = [e.key if "." in plain else e.name for e in known]
            raise ConfigError(f"{name}: there is no such perturbation{_near(plain, names, known)}")
        if len(matches) > 1:
            several = ", ".join(e.key for e in matches)
            raise ConfigError(f"{name}: expected the name of one perturbation, got that of {len(matches)}: {several}")
        one = matches[0]
        found = factory_of(one) if one.takes else one.edit
    if not isinstance(found, Edit | PromptEdit) and callable(found):
        found = _made(name, found, argument, model, cases)
    if not isinstance(found, Edit | PromptEdit):
        raise ConfigError(f"{name}: expected a perturbation, got {type(found).__name__}")
    return found


def name_of(edit: AnyEdit, judge: Judge | None = None) -> str:
    """
    Return the name by which `find_edit` finds an edit again, from this folder; nothing where none does.

    `judge`: the one whose model some edits name.
    """
    home = edit.rewrite.__module__
    ours = home.partition(".")[0] == perturbations.__name__.partition(".")[0]
    at_home = getattr(sys.modules.get(home), edit.name, None) is edit
    if at_home and home.startswith(f"{perturbations.__name__}."):
        return f"{home.rpartition('.')[2]}.{edit.name}"
    places = _modules() if ours else _installed_on(tuple(sys.path))  # what others wrote stands in no module of ours
    for module, place in places:
        value = vars(place).get(edit.name)
        if value is edit:
            return f"{module}.{edit.name}"
        if other := next((name for name, one in vars(place).items() if _does_the_same(one, edit)), ""):
            return f"{module}.{other}"
        if not _is_factory(value, place):
            continue
        name = f"{module}.{edit.name}" if edit.dose is None else f"{module}.{edit.name}@{edit.dose:g}"
        model = "" if judge is None else str(judge.about.get("model") or judge.name)
        with suppress(ConfigError):
            if (found := find_edit(name, model)).label == edit.label and found.bias == edit.bias:
                return name
    if not at_home:
        return ""
    spec = PathFinder.find_spec(home.partition(".")[0], [str(Path.cwd()), *_INSTALLED])
    return f"{home}:{edit.name}" if spec is not None else ""


def _does_the_same(value: object, edit: AnyEdit) -> bool:
    """Return whether a value is the edit by another name, or the edit but for whose texts it shows."""
    if not isinstance(value, Edit) or not isinstance(edit, Edit):
        return value is edit
    return (value.label, value.bias, value.rewrite) == (edit.label, edit.bias, edit.rewrite) and not value.variants


def _near(plain: str, names: Sequence[str], known: Sequence[Entry]) -> str:
    bias = next((e.edit.bias for e in known if plain in (e.module, e.edit.bias)), None)
    if bias is not None:
        return f"; it is the name of a bias: `calm perturb --list --bias {bias}` shows what it holds"
    close = closest(plain, {*names, *(entry.edit.bias for entry in known)})
    return f"; did you mean {close!r}?" if close else "; `calm perturb --list` shows all"


def _made(name: str, factory: Callable[..., object], argument: str, model: str, cases: Sequence[Case]) -> object:
    """Return what a factory of perturbations makes from an argument given as text."""
    parameters = list(inspect.signature(factory).parameters.values())
    if len(parameters) != 1:
        raise ConfigError(f"{name}: it takes {len(parameters)} arguments; give one of your own in package.module:name")
    one = parameters[0]
    if not argument and one.name == "model":
        return factory(model)
    if not argument and one.default is not inspect.Parameter.empty:
        return factory()
    kind = str(one.annotation)
    if kind == "Sequence[Case]":
        from calm.cases import bundled

        return factory(cases or bundled("pairwise"))
    if kind == "Mapping[str, str]":
        return factory(STANDS_FOR[kind])
    convert = {"int": int, "float": float}.get(str(getattr(one.annotation, "__name__", one.annotation)), str)
    try:
        return factory(convert(argument))
    except ConfigError:
        raise
    except ValueError as error:
        wanted = f"{name.partition('@')[0]}@{one.name.upper()}"
        raise ConfigError(f"{name}: expected {wanted} with a fitting {one.name}, got {argument!r}") from error


def named(order: Order, trials: Trials | None) -> dict[str, str]:
    """
    Return by its label how `calm try` names each edit of the rows, and the one that they are compared with.

    The label of a row without an edit is empty, and so is its name. An edit that no command line can name is left out.
    So is everything where the test brought its cases: no file holds them.
    """
    if trials is None or order.own_cases:
        return {}
    labels = {row.edit for row in trials.rows}
    found = {"": ""} if "" in labels else {}
    for one in (one for edit in (order.edit, order.against) if edit is not None for one in edit.variants or (edit,)):
        wanted = one.label in labels or one is order.against
        if wanted and one.label not in found and (name := name_of(one, order.setup.judge)):
            found[one.label] = name
    return found


@dataclass(frozen=True, slots=True)
class TextsOutlook:
    """
    What edits will show: of `cases` that hold a text for them, in how many one is `shown`.

    `open` counts further ones where that hangs on the answer that the judge's pilot finds weaker. `unused` counts texts
    that are shown in no case, by reason; of several that are usable a case is shown one or more, as often as it is
    asked.
    """

    cases: int = 0
    shown: int = 0
    open: int = 0
    unused: Mapping[Reason, int] = field(default_factory=dict)

    def __add__(self, other: TextsOutlook) -> TextsOutlook:
        """Return both together."""
        unused = Counter(self.unused) + Counter(other.unused)
        return TextsOutlook(self.cases + other.cases, self.shown + other.shown, self.open + other.open, unused)


def texts_outlook(edits: Sequence[Edit], cases: Sequence[Case], family: Family) -> TextsOutlook:
    """Return what will be shown of the texts that cases hold for edits, which take turns or are asked by themselves."""
    names = {name for edit in edits for variant in edit.variants or (edit,) for name in variant.takes}
    holding = [case for case in cases if names & case.variants.keys()]
    serving = [edit for edit in edits if family in edit.tasks]
    shown = unsure = 0
    unused: Counter[Reason] = Counter()
    for case in holding:
        why: dict[tuple[str, str], Reason] = {}
        bars = {edit: barred(case, family, edit) for edit in serving}
        sure = [_in_each(edit, case, why) for edit, bar in bars.items() if not bar]
        shown += any(all(each) for each in sure)
        unsure += any(any(each) for each in sure) and not any(all(each) for each in sure)
        unused.update(reason for reason in why.values() if reason)
        if not serving:
            serves = because(Kind.OWN_TASKS, ", ".join(edits[0].tasks), family)
            unused[serves] += _count(case, names)
        elif not sure:
            unused[next(iter(bars.values()))] += _count(case, names)
    return TextsOutlook(len(holding), shown, unsure, unused)


def _count(case: Case, names: Set[str]) -> int:
    """Return how many texts with one of some names a case holds."""
    return sum(len(texts) for name, texts in case.variants.items() if name in names)


def _in_each(edit: Edit, case: Case, why: dict[tuple[str, str], Reason]) -> list[bool]:
    """
    Return for each answer that an edit may treat whether a text is shown there.

    `why` gets the reason why a text is shown nowhere, by its name and answer; `NONE` where it is shown.
    """
    shown: list[bool] = []
    for treated in _targets(edit, case):
        held = edit.held(treated)
        shown.append(any(one.usable for one in held))
        for one in held:
            key = one.name, one.answer
            why[key] = one.why if why.get(key, one.why) else NONE
    return shown


def _targets(edit: Edit, case: Case) -> list[Treated]:
    """Return the case as an edit may get it: with the answer that it treats, or with each that a pilot could choose."""
    if aims_by_pilot(case, edit.expects):
        return [case.treat(answer.id) for answer in case.answers]
    found = aim(case, edit.expects)
    return [found] if isinstance(found, Treated) else []
