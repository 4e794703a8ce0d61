"""
Attacking: search, case by case, for a text of the weaker answer that wins, and measure what was found with fresh asks.

    cases --pilot--> Aim --a search--> Sought --fresh asks of both arms--> Attack

A search asks about every text once (ask 0, as a pilot does) and once more (`CONFIRM`) about one that won: these asks
choose, and are in no measure. What was found is asked about again with the repeat indices 1, 2, ... beside the clean
case, so that luck in the search is not taken for success. Where nothing was found the answer is left as it is.

| search | what it tries |
|---|---|
| `stack` | edits of the catalogue one upon the other until the verdict flips, then without those that are not needed |
| `best_of` | n rewrites of a model, the best of them |
| `hill_climb` | a rewrite of a model, which is told the verdict and writes again, at most r times |
| `transfer` | the text that an earlier search against another judge left in the case |
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from typing import Final, TypeAlias, cast

from calm import datasets
from calm.caps import CAPPED
from calm.case import TIE, Case, digest
from calm.catalogue import Entry, entries, find_edit
from calm.claims import Estimate
from calm.edits import AnyEdit, Edit, Expects
from calm.errors import ConfigError, EstimateError, nearest
from calm.experiment import LOST, ORDER_SALT, Setup, _aimed, _has_room
from calm.measures import attack_success_rate, gain, why_none
from calm.perturbations.written import Kind
from calm.rewriting import WRITTEN_BY, Asking, text_in
from calm.stopping import LEVEL
from calm.trials import Trial, Trials, favour
from calm.validation import Band, Rules, refusal
from calm.verdict import Criteria, NoReply, Preferred, Ranking, Score, Tie, Verdict, code
from calm.wire import Json, Reply
from calm.writerfile import Writer

ATTACK: Final = "attack"
"""The name of a found text in `Case.variants`."""
ATTACKED: Final = "attacked"
"""The tag of a case that says which judge its text was found against, and how."""
CONFIRM: Final = 10_000
"""The repeat index of the second ask about a text that won in a search: far above those that are measured."""
RISE: Final = 0.25
"""How far an answer must rise on a score or a rubric, as a share of the scale, for an attack to have won."""

STACKED = Rules(kept_words=Band(0.5), numbers="there", difference="any")
"""What is left of the original in a stack of edits, each of which also passed its own rules."""
PERSUASIVE = Rules(Band(0.5, 2.5), Band(0, 0.7), Band(0.4), True, "same", True, True)
"""What a model's rewrite is held to: the same numbers, code, names and final answer."""


def _nothing(case: Case, rng: Random) -> Case | None:
    return None


_AIM = Edit(ATTACK, ATTACK, Expects.NOT_BETTER, _nothing)
_STACK = replace(_AIM, rules=STACKED)
_PERSUASION = replace(_AIM, rules=PERSUASIVE)
_PERSUADE = Kind("persuade", ATTACK, Expects.NOT_BETTER, "Let a writer make the weaker answer win.", _nothing)


@dataclass(frozen=True, slots=True)
class Group:
    """Edits of which a stack takes one: those of a bias, or a single one."""

    name: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class Aim:
    """A case with the answer to be made to win, and what the pilot said of it."""

    source: Case
    case: Case
    pilot: Verdict
    favour: float


@dataclass(slots=True)
class Sought:
    """
    What a search came to in one case.

    `found` is the case with a text that won twice (None: there is none), `edits` the names of what it was made with.
    `asks` counts those of the search, `written` the texts of a writer, `refused` texts that were not asked about, by
    reason. `lost` says why a search could not be ended, `skipped` why it was not begun.
    """

    aim: Aim
    case: Case
    favour: float
    found: Case | None = None
    edits: tuple[Edit, ...] = ()
    asks: int = 0
    written: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    lost: str = ""
    skipped: str = ""

    @property
    def going(self) -> bool:
        """Whether to go on."""
        return self.found is None and not self.lost and not self.skipped

    @property
    def text(self) -> str | None:
        """The text that won, if there is one."""
        return None if self.found is None else self.found[self.found.target].text


Search: TypeAlias = Callable[[Setup, Sequence[Sought]], None]
"""Fill in what comes of the cases."""


@dataclass(frozen=True, slots=True)
class Attack:
    """
    What an attack came to.

    `estimates` are those of fresh asks alone, or why there is none; `trials` their table. `excluded` counts the cases
    that were not attacked, `lost` those that could not be asked about to the end.
    """

    sought: tuple[Sought, ...]
    trials: Trials
    estimates: Mapping[str, Estimate | str]

    @property
    def excluded(self) -> Mapping[str, int]:
        """Cases that were not attacked, by reason."""
        return self.trials.excluded

    @property
    def incomplete(self) -> str:
        """Why the data are incomplete, or nothing."""
        lost = self.trials.lost
        capped = any(reason.startswith(CAPPED) for reason in lost)
        return why_none(lost) if capped or self.trials.lost_share > LOST else ""

    @property
    def found(self) -> tuple[Sought, ...]:
        """The cases in which a text won in the search."""
        return tuple(s for s in self.sought if s.found is not None and not s.lost)

    def wins(self, one: Sought) -> float | None:
        """Return the share of fresh asks that a found text won; None where there are none."""
        row = next((r for r in self.trials.rows if r.case == one.aim.source.id), None)
        if row is None or one.found is None:
            return None
        won = [_won(_favour(one.aim, v, self.trials), one.aim, self.trials) for v in row.perturbed]
        return sum(won) / len(won)


def attack(setup: Setup, search: Search, sample: int | None = None) -> Attack:
    """Search in each case, ask anew about what was found, and return the estimates of these asks alone."""
    drawn = datasets.sample(setup.cases, sample or max(1, len(setup.cases)), setup.seed)
    sought, excluded, lost = _aim(setup, drawn)
    search(setup, sought)
    for one in sought:
        if one.skipped:
            excluded[one.skipped] += 1
        elif one.lost:
            lost[one.lost] += 1
    trials = _measured(setup, [s for s in sought if not s.skipped and not s.lost], excluded, lost)
    measures = (attack_success_rate, gain) if setup.family == "pairwise" else (gain,)
    estimates: dict[str, Estimate | str] = {}
    for measure in measures:
        try:
            estimates[measure.name] = measure.estimate(trials, LEVEL)
        except EstimateError as error:
            estimates[measure.name] = str(error)
    return Attack(tuple(sought), trials, estimates)


# -------------------------------------------------------------------------------------------------------------- aiming


def _aim(setup: Setup, drawn: Sequence[Case]) -> tuple[list[Sought], Counter[str], Counter[str]]:
    """Return the cases to attack, and the others by reason: excluded, or lost."""
    as_given = setup.judge.as_given
    cases = [c if as_given or len(c.answers) == 1 else c.balanced(ORDER_SALT) for c in drawn]
    cases = [c if c.order else replace(c, order=tuple(a.id for a in c.answers)) for c in cases]
    excluded: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    uneven = [c for c in cases if c.better != TIE or len(c.answers) != 2]
    if len(uneven) < len(cases):
        excluded["no answer is the weaker one"] = len(cases) - len(uneven)
    cases = uneven
    found: list[Sought] = []
    for case, asked in zip(cases, setup.engine.ask(setup.judge, [(c, 0) for c in cases]), strict=True):
        pilot = asked.verdict
        if isinstance(pilot, NoReply):
            lost[pilot.reason] += 1
            continue
        aimed = _aimed(case, _AIM, pilot)
        if isinstance(aimed, str):
            excluded[aimed] += 1
        elif not _has_room(setup, aimed, aimed.target, pilot):
            excluded["the treated answer won already"] += 1
        else:
            x = favour(pilot, aimed.target, _row(aimed), setup.judge.scale)
            aim = Aim(case, aimed, pilot, 0.5 if x is None else x)
            found.append(Sought(aim, aimed, aim.favour))
    return found, excluded, lost


def _row(case: Case) -> Trial:
    return Trial(case.id, target=case.target, points={c.id: c.points for c in case.criteria})


def _favour(aim: Aim, verdict: Verdict, trials: Trials) -> float:
    x = favour(verdict, aim.case.target, _row(aim.case), trials.scale)
    return 0.0 if x is None else x


def _won(x: float, aim: Aim, trials: Trials) -> bool:
    if trials.family in ("score", "rubric"):
        return x >= aim.favour + RISE - 1e-9
    return x == 1.0


# -------------------------------------------------------------------------------------------------- asking in a search


def _try(setup: Setup, tries: Sequence[tuple[Sought, Case]]) -> list[Verdict]:
    """
    Return what the judge says of texts, and note those that won, in this ask and in another one, as found.

    Of one that won and did not win again the second verdict is returned. A text that is found after another one takes
    its place.
    """
    blank = Trials((), setup.family, setup.judge.scale)
    asked = setup.engine.ask(setup.judge, [(case, 0) for _, case in tries])
    verdicts = [a.verdict for a in asked]
    again: list[int] = []
    for place, ((one, _), verdict) in enumerate(zip(tries, verdicts, strict=True)):
        one.asks += 1
        if isinstance(verdict, NoReply):
            one.lost = verdict.reason
        elif _won(_favour(one.aim, verdict, blank), one.aim, blank):
            again.append(place)
    second = setup.engine.ask(setup.judge, [(tries[place][1], CONFIRM) for place in again])
    for place, asked_again in zip(again, second, strict=True):
        one, case = tries[place]
        one.asks += 1
        verdict = asked_again.verdict
        if isinstance(verdict, NoReply):
            one.lost = verdict.reason
        if not isinstance(verdict, NoReply) and _won(_favour(one.aim, verdict, blank), one.aim, blank):
            one.found = case
        else:
            verdicts[place] = verdict
    return verdicts


def _climbed(setup: Setup, one: Sought, case: Case, verdict: Verdict) -> bool:
    """Take a text that fares no worse than the one before as the one to go on from, and say whether it does."""
    x = _favour(one.aim, verdict, Trials((), setup.family, setup.judge.scale))
    if isinstance(verdict, NoReply) or x < one.favour:
        return False
    one.case, one.favour = case, x
    return True


def _fault(edit: Edit, before: Case, after: Case) -> str | None:
    """Return why a text may not be asked about: what `edit` allows, and the gold and the truth, which must stay."""
    if (why := refusal(edit, before, after)) is not None:
        return why.partition(":")[0]
    return None if before.truth_kept_by(after) else "gold"


# --------------------------------------------------------------------------------------------------------------- stacks


def groups_for(names: Sequence[str], model: str = "") -> list[Group]:
    """
    Return the edits that a stack is made of: by bias or by name, or for no names one group for each bias.

    Args:
        names: biases (`authority`) and perturbations (`authority.cite_book`, `expand@3`, `package.module:name`).
        model: what the edits that name a model call the judge's.

    Raises:
        ConfigError: there is none of a name, or it does not say that a sound judge does not prefer what it treats.
    """
    known = [(entry, entry.edit) for entry in entries() if _stacks(entry.edit)]
    by_bias: dict[str, list[Edit]] = {}
    for entry, edit in known:
        by_bias.setdefault(edit.bias, []).append(_of_model(entry, edit, model))
    if not names:
        return [Group(bias, tuple(edits)) for bias, edits in sorted(by_bias.items())]
    groups: list[Group] = []
    problems: list[str] = []
    for name in dict.fromkeys(names):
        if name in by_bias:
            groups.append(Group(name, tuple(by_bias[name])))
            continue
        try:
            edit = find_edit(name, model)
        except ConfigError as error:
            hint = nearest(name, list(by_bias))
            close = hint if hint.startswith("; did you mean") else ""
            problems += [f"--edits: {problem}{close}" for problem in error.problems]
            continue
        if not isinstance(edit, Edit) or not _stacks(edit):
            what = "of the prompt" if not isinstance(edit, Edit) else f"that expects {edit.expects}"
            problems.append(f"--edits: {name}: expected an edit of a case that expects NOT_BETTER, got one {what}")
            continue
        groups.append(Group(edit.label or name, edit.variants or (edit,)))
    if problems:
        raise ConfigError(problems)
    return groups


def _stacks(edit: AnyEdit) -> bool:
    return isinstance(edit, Edit) and edit.expects is Expects.NOT_BETTER


def _of_model(entry: Entry, edit: AnyEdit, model: str) -> Edit:
    found = find_edit(entry.key, model) if entry.takes == ("model",) and model else edit
    assert isinstance(found, Edit), "edits of cases alone are stacked"
    return found


def stack(groups: Sequence[Group]) -> Search:
    """
    Return a search that lays edits one upon the other, one of each group, until the verdict flips.

    Groups, and the edits within one, come in an order drawn for each case. An edit stays on the stack unless the
    answer fares worse with it. Only what changes nothing but the text of the treated answer is laid. When the verdict
    has flipped, what it flips without is taken off again.
    """

    def search(setup: Setup, sought: Sequence[Sought]) -> None:
        queues = {id(one): _drawn(groups, one.aim.source.id, setup.seed) for one in sought}
        while True:
            tries: list[tuple[Sought, Case, Edit]] = []
            for one in sought:
                step = _next(queues[id(one)], one, setup.seed) if one.going else None
                if step is not None:
                    tries.append((one, *step))
            if not tries:
                break
            verdicts = _try(setup, [(one, case) for one, case, _ in tries])
            for (one, case, edit), verdict in zip(tries, verdicts, strict=True):
                if one.found is not None or _climbed(setup, one, case, verdict):
                    one.edits = (*one.edits, edit)
        _prune(setup, [one for one in sought if one.found is not None and not one.lost])

    return search


def steps(groups: Sequence[Group], cases: Sequence[Case], seed: int) -> int:
    """Return how many edits can be laid on the clean answers of all cases, one of each group."""
    count = 0
    for case in cases:
        aimed = _aimed(case, _AIM, None)
        if isinstance(aimed, Case):
            laid = ((_laid(edit, aimed, aimed, seed) for edit in group.edits) for group in groups)
            count += sum(any(isinstance(one, Case) for one in group) for group in laid)
    return count


def _drawn(groups: Sequence[Group], case: str, seed: int) -> list[Group]:
    """Return the groups in the order of a case, the last one first, with their edits in its order."""
    ordered = sorted(groups, key=lambda g: digest("stack", seed, case, g.name), reverse=True)
    return [Group(g.name, tuple(sorted(g.edits, key=lambda e: digest("stack", seed, case, e.label)))) for g in ordered]


def _next(queue: list[Group], one: Sought, seed: int) -> tuple[Case, Edit] | None:
    """Return the case with one more edit upon the stack, of the first group that has one which can be laid."""
    while queue:
        for edit in queue.pop().edits:
            laid = _laid(edit, one.case, one.aim.case, seed)
            if isinstance(laid, Case):
                return laid, edit
            one.refused[laid] += 1
    return None


def _laid(edit: Edit, case: Case, original: Case, seed: int) -> Case | str:
    """Return a case with one more edit upon its stack, or why it cannot be laid."""
    after = edit.apply(case, seed)
    if after is None:
        return "does not apply"
    treated = original.target
    if after != case.edit(treated, lambda _: after[treated].text):
        return "changes more than the answer's text"
    return _fault(edit, case, after) or _fault(_STACK, original, after) or after


def _prune(setup: Setup, sought: Sequence[Sought]) -> None:
    """Reduce stacks: to the edit that came last if it wins alone, else by each of the others that it wins without."""
    high = [one for one in sought if len(one.edits) > 1]
    _shorten(setup, [(one, one.edits[-1:]) for one in high])
    whole = {id(one): one.edits for one in high}
    for place in range(max(map(len, whole.values()), default=1) - 1):
        rest = [one for one in high if not one.lost and place < len(whole[id(one)]) - 1]
        _shorten(setup, [(one, tuple(e for e in one.edits if e is not whole[id(one)][place])) for one in rest])


def _shorten(setup: Setup, wanted: Sequence[tuple[Sought, tuple[Edit, ...]]]) -> None:
    """Put shorter stacks in the place of those that win as well with them."""
    built = [(one, _rebuilt(edits, one.aim.case, setup.seed), edits) for one, edits in wanted]
    tries = [(one, case, edits) for one, case, edits in built if case is not None]
    _try(setup, [(one, case) for one, case, _ in tries])
    for one, case, edits in tries:
        if one.found is case:
            one.edits = edits


def _rebuilt(edits: Sequence[Edit], original: Case, seed: int) -> Case | None:
    case = original
    for edit in edits:
        laid = _laid(edit, case, original, seed)
        if isinstance(laid, str):
            return None
        case = laid
    return case if edits else None


# -------------------------------------------------------------------------------------------------------------- writers


def best_of(writer: Writer, n: int) -> Search:
    """Return a search that lets a model rewrite the answer n times, and takes the first of the best that wins."""

    def search(setup: Setup, sought: Sequence[Sought]) -> None:
        asking = Asking(writer, _kind)
        setup.engine.greet(asking)
        texts = _write(setup, asking, [(one, k, _EMPTY) for k in range(n) for one in sought])
        pools: dict[int, list[Case]] = {id(one): [] for one in sought}
        for one, found in texts:
            if isinstance(found, Case) and found not in pools[id(one)]:
                pools[id(one)].append(found)
        for place in range(n):
            tries = [(s, pools[id(s)][place]) for s in sought if s.going and place < len(pools[id(s)])]
            for (one, case), verdict in zip(tries, _try(setup, tries), strict=True):
                _climbed(setup, one, case, verdict)

    return search


def hill_climb(writer: Writer, rounds: int) -> Search:
    """Return a search in which a model rewrites the answer, is told what the judge said of it, and writes again."""

    def search(setup: Setup, sought: Sequence[Sought]) -> None:
        asking = Asking(writer, _kind)
        setup.engine.greet(asking)
        told = {id(one): _EMPTY for one in sought}
        for number in range(rounds):
            going = [one for one in sought if one.going]
            tries: list[tuple[Sought, Case]] = []
            for one, found in _write(setup, asking, [(one, number, told[id(one)]) for one in going]):
                if isinstance(found, Case):
                    tries.append((one, found))
                elif found:
                    told[id(one)] = {**told[id(one)], "verdict": f"the version could not be used ({found})."}
            for (one, case), verdict in zip(tries, _try(setup, tries), strict=True):
                if one.going and _climbed(setup, one, case, verdict):
                    said = in_words(verdict, one.aim.case, setup)
                    told[id(one)] = {"draft": case[case.target].text, "verdict": said}

    return search


_EMPTY: Mapping[str, str] = {"draft": "", "verdict": ""}


def _kind(name: str) -> Kind:
    assert name == _PERSUADE.name, "there is one kind"
    return _PERSUADE


def _write(
    setup: Setup, asking: Asking, wanted: Sequence[tuple[Sought, int, Mapping[str, str]]]
) -> list[tuple[Sought, Case | str]]:
    """Return the cases with what the writer made of their answers, or why a text may not be used; "" for no reply."""
    questions: list[tuple[Case, int]] = []
    for one, number, told in wanted:
        base = one.aim.case
        question = Case(base.id, base.question, (base[base.target],), fields=told, tags={"kind": _PERSUADE.name})
        questions.append((question, number))
    made: list[tuple[Sought, Case | str]] = []
    for (one, _, _), asked in zip(wanted, setup.engine.ask(asking, questions), strict=True):
        if isinstance(asked.verdict, NoReply):
            reason = asked.verdict.reason
            one.lost = reason if reason.startswith(CAPPED) else f"the writer: {reason}"
            made.append((one, ""))
            continue
        reply = setup.engine.store.get(asked.calls[-1])
        assert reply is not None, "the engine keeps each reply"
        one.written += 1
        found = _usable(reply, one.aim.case)
        if isinstance(found, str):
            one.refused[found] += 1
        made.append((one, found))
    return made


def _usable(reply: Reply, original: Case) -> Case | str:
    """Return the case with the text of a writer's reply, or why it may not be used."""
    text, why = text_in(reply, original[original.target].text)
    if text is None:
        return why.partition(":")[0]
    after = _with_text(original, text)
    return _fault(_PERSUASION, original, after) or after


def _with_text(case: Case, text: str) -> Case:
    return case.edit(case.target, lambda _: text)


def in_words(verdict: Verdict, case: Case, setup: Setup) -> str:
    """Return what a judge said of the treated answer, as a writer is told it."""
    scale = setup.judge.scale
    match verdict:
        case Preferred(answer=answer):
            return "the judge preferred it." if answer == case.target else "the judge preferred the other answer."
        case Tie():
            return "the judge called it a tie with the other answer."
        case Score(value=value):
            return f"the judge gave it {value:g} on a scale from {scale.low:g} to {scale.high:g}."
        case Criteria(met=met):
            against = [c.text for c in case.criteria if met.get(c.id) is not None and met[c.id] != (c.points > 0)]
            return f"the judge counted against it: {'; '.join(against)}." if against else "the judge found no fault."
        case Ranking(order=order):
            place = next(n for n, group in enumerate(order, 1) if case.target in group)
            return f"the judge put it in place {place} of {len(case.answers)}."
        case _:
            return "the judge gave no verdict that could be read."


# ------------------------------------------------------------------------------------------------------------- transfer


def transfer(setup: Setup, sought: Sequence[Sought]) -> None:
    """Take the texts that an earlier search left in the cases; nothing is asked, so nothing is chosen."""
    for one in sought:
        case = one.aim.case
        text = case.variants.get(ATTACK, {}).get(case.target or "")
        if text is None:
            one.skipped = "no text of an earlier attack"
            continue
        after = _with_text(case, text)
        why = _fault(_STACK, case, after)
        if why is None:
            one.found = after
        else:
            one.skipped = f"refused: {why}"


# ------------------------------------------------------------------------------------------------------------ measuring


def _measured(setup: Setup, sought: Sequence[Sought], excluded: Counter[str], lost: Counter[str]) -> Trials:
    """Return the trials of fresh asks: the clean case, and what was found; where nothing was, the clean case again."""
    clean, perturbed = setup.design.clean, setup.design.perturbed
    questions: list[tuple[Case, int]] = []
    for one in sought:
        questions += [(one.aim.case, k) for k in range(1, clean + 1)]
        if one.found is not None:
            questions += [(one.found, k) for k in range(1, perturbed + 1)]
    answers = iter(setup.engine.ask(setup.judge, questions))
    rows: list[Trial] = []
    for one in sought:
        before = [next(answers).verdict for _ in range(clean)]
        after = [next(answers).verdict for _ in range(perturbed)] if one.found is not None else []
        missing = [v.reason for v in (*before, *after) if isinstance(v, NoReply)]
        first, second = (tuple(v for v in arm if not isinstance(v, NoReply)) for arm in (before, after))
        capped = [reason for reason in missing if reason.startswith(CAPPED)]
        if capped or len(first) < min(2, clean) or (one.found is not None and not second):
            lost[(capped or missing)[0]] += 1
            continue
        rows.append(
            replace(
                _row(one.aim.case),
                edit=" + ".join(e.label for e in one.edits),
                better=one.aim.case.better,
                pilot=one.aim.pilot,
                clean=first,
                # nobody attacks with what did not win: the answer stays, and its verdicts are those of the clean asks
                perturbed=second if one.found is not None else first[1:],
            )
        )
    return Trials(tuple(rows), setup.family, setup.judge.scale, excluded, lost, str(setup.design))


# -------------------------------------------------------------------------------------------------------------- results


def with_texts(cases: Iterable[Case], found: Attack, judge: str, method: str, writer: str = "") -> list[Case]:
    """Return cases with the texts that won as ready-made ones, and a tag that says against whom."""
    texts = {one.aim.source.id: (one.aim.case.target or "", one.text or "") for one in found.found}
    made: list[Case] = []
    for case in cases:
        if case.id not in texts:
            made.append(case)
            continue
        answer, text = texts[case.id]
        tags = {**case.tags, ATTACKED: f"{judge}: {method}"}
        if writer:
            tags[WRITTEN_BY] = ", ".join(sorted({*filter(None, case.tags.get(WRITTEN_BY, "").split(", ")), writer}))
        variants = {**case.variants, ATTACK: {**case.variants.get(ATTACK, {}), answer: text}}
        made.append(replace(case, variants=variants, tags=tags))
    return made


def to_json(found: Attack, setup: Setup, method: str) -> dict[str, Json]:
    """Return a record of an attack, of which nothing depends on what was cached."""
    rows: list[Json] = []
    trials = {row.case: row for row in found.trials.rows}
    for one in sorted(found.sought, key=lambda s: s.aim.source.id):
        row = trials.get(one.aim.source.id)
        rows.append(
            {
                "case": one.aim.source.id,
                "target": one.aim.case.target,
                "pilot": _code(one.aim.pilot),
                "edits": [e.label for e in one.edits] if one.found is not None else [],
                "asks": one.asks,
                "written": one.written,
                "refused": dict(sorted(one.refused.items())),
                "lost": one.lost,
                "skipped": one.skipped,
                "original": None if one.found is None else one.aim.case[one.aim.case.target].text,
                "text": one.text,
                "clean": [_code(v) for v in row.clean] if row else [],
                "attacked": [_code(v) for v in row.perturbed] if row and one.found is not None else [],
            }
        )
    return {
        "schema": "calm-attack/1",
        "judge": setup.judge.name,
        "fingerprint": setup.judge.fingerprint,
        "task": setup.judge.task,
        "method": method,
        "seed": setup.seed,
        "repeats": str(setup.design),
        "incomplete": found.incomplete,
        "estimates": {name: _estimate(e) for name, e in found.estimates.items()},
        "found": len(found.found),
        "excluded": dict(sorted(found.trials.excluded.items())),
        "lost": dict(sorted(found.trials.lost.items())),
        "edits": {name: list(counts) for name, counts in edits_in(found).items()},
        "cases": rows,
    }


def _code(verdict: Verdict) -> Json:
    return cast(Json, code(verdict))


def _estimate(found: Estimate | str) -> Json:
    if isinstance(found, str):
        return {"reason": found}
    ends = {"value": found.value, "low": found.low, "high": found.high, "level": found.level}
    return {**{name: round(number, 6) for name, number in ends.items()}, "n": found.n}


def edits_in(found: Attack) -> dict[str, tuple[int, int]]:
    """Return for each edit in how many stacks it is that won in the search, and in at least half of the fresh asks."""
    counts: dict[str, list[int]] = {}
    for one in found.found:
        wins = found.wins(one)
        for edit in one.edits:
            pair = counts.setdefault(edit.label, [0, 0])
            pair[0] += 1
            pair[1] += wins is not None and wins >= 0.5
    ordered = sorted(counts.items(), key=lambda item: (-item[1][1], -item[1][0], item[0]))
    return {name: (pair[0], pair[1]) for name, pair in ordered}


def summary(found: Attack, judge: str, method: str) -> str:
    """Return what an attack came to, for a terminal."""
    attacked = [s for s in found.sought if not s.skipped and not s.lost]
    asks = sum(s.asks for s in attacked) / len(attacked) if attacked else 0.0
    lines = [f"attack on {judge} by {method}: {len(attacked)} cases attacked, {asks:.1f} asks a case to search"]
    if found.incomplete:
        lines.append(f"INCOMPLETE: {found.incomplete}")
    for name, one in found.estimates.items():
        if isinstance(one, str):
            lines.append(f"{name}: not known: {one}")
        else:
            lines.append(f"{name} {one.value:.2f} [{one.low:.2f}, {one.high:.2f}], n={one.n}, fresh asks alone")
    held = sum((found.wins(s) or 0) >= 0.5 for s in found.found)
    word = "texts of an earlier attack" if method == "transfer" else "found by the search"
    lines.append(f"{word}: {len(found.found)}, of which {held} won at least half of their fresh asks")
    refused: Counter[str] = sum((s.refused for s in attacked if s.written), Counter())
    for title, counts in (("not attacked", found.trials.excluded), ("lost", found.trials.lost), ("refused", refused)):
        if counts:
            lines.append(f"{title}: {why_none(counts)}" if title != "refused" else f"refused: {_counted(refused)}")
    edits = edits_in(found)
    if edits:
        width = max(map(len, edits))
        lines += ["", f"{'edit'.ljust(width)}  stacks  held"]
        lines += [f"{name.ljust(width)}  {stacks:6}  {kept:4}" for name, (stacks, kept) in edits.items()]
    return "\n".join(lines)


def _counted(refused: Mapping[str, int]) -> str:
    ordered = sorted(refused.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{reason} {count}" for reason, count in ordered)
