"""Which cases say most about a judge: a word and a weight for each, from the codes of its verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from calm.core.case import COPY
from calm.core.measures import MEASURES, flip
from calm.core.texts import CaseTexts
from calm.core.trials import CUED, PLAIN, Trials
from calm.core.verdict import CLASS, Code, Label, Scale, as_written, decode
from calm.errors import ConfigError
from calm.results.audit import Finding, JudgeRecord, TrialRecord
from calm.results.changes import Place
from calm.results.records import family_of, scale_of, trial_of
from calm.results.reports.texts import CaseView

_PULLED = {"toward": "the cue won", "away": "the cue lost"}
_SIDES = {CUED: "the edited one of two equal answers", PLAIN: "the other one of two equal answers"}
FAR = 0.25
"""Share of the scale from which a score is against the gold label."""


@dataclass(frozen=True, slots=True)
class Highlight:
    """
    One case of a probe in a word, with the verdicts of its arms.

    `tells` says whether it speaks against the judge, `weight` how loudly, in [0, 1]. `gold` is the label that its
    verdicts are compared with, if they are. `anchor` is its place in the page, `again` the command that asks about it
    again. `question`, `came` and `went` begin what was asked, and the words that the edit put in and took out; `places`
    say in which turns, passages and steps, if it touched some.
    """

    case: str
    edit: str
    word: str
    tells: bool
    weight: float
    arms: tuple[tuple[str, tuple[str, ...]], ...]
    texts: CaseTexts | None
    gold: str = ""
    shown: CaseView | None = None
    anchor: str = ""
    again: str = ""
    question: str = ""
    came: str = ""
    went: str = ""
    places: tuple[Place, ...] = ()

    @property
    def before(self) -> tuple[str, ...]:
        """The verdicts before the edit, or all of them where nothing was edited."""
        return next((codes for name, codes in self.arms if name != "perturbed"), ())

    @property
    def after(self) -> tuple[str, ...]:
        """The verdicts after the edit."""
        return next((codes for name, codes in self.arms if name == "perturbed"), ())


def highlight(
    trial: TrialRecord, one: Finding, measures: frozenset[str], texts: CaseTexts | None, scale: Scale | None
) -> Highlight:
    """Return what a case says, given what its finding expects, the measures claimed and the judge's scale."""
    span = 1.0 if scale is None else scale.high - scale.low
    compared = trial.control or trial.clean
    before, after = compared or trial.inert, trial.perturbed
    agrees = any(measure in MEASURES and MEASURES[measure].agrees for measure in measures)
    gold = (texts.better if texts.gold is None else texts.gold) if texts and agrees else None
    alone = one.expects is None or not after
    if alone:
        word, tells, weight = _alone(before, gold, span)
    elif trial.target == CUED:
        way = _way(trial, one, scale)
        word, tells, weight = _PULLED.get(way or "", "kept"), way == "toward", after.count(CUED) / len(after)
    elif one.expects == "WORSE":
        weight = _missed(before, after) if scale is None or scale.classes is None else _unmoved(before, after, scale)
        tells = weight >= 0.5
        word = "missed" if tells else "noticed"
    elif one.expects == "TIE":
        weight = sum(c != "tie" for c in after) / len(after)
        tells = weight > 0
        word = "took a side" if tells else "tied"
    else:
        # nearly all cases have one of a few patterns of verdicts
        plain = all(isinstance(c, str | float | int) for c in (*before, *after))
        word, tells, weight = (_compared if plain else _before_and_after)(before, after, span)
        if compared and (way := _way(trial, one, scale)) is not None:
            word, tells = way or "kept", bool(way)
    arms = [("control" if trial.control else "clean", compared), ("inert", trial.inert), ("perturbed", after)]
    written = partial(as_written, scale=scale or Scale())
    named = ((name, tuple(_named(written(c), trial.damaged, trial.better) for c in codes)) for name, codes in arms)
    shown = tuple((name, codes) for name, codes in named if codes)
    held = in_words(written(gold)) if alone and gold is not None else ""
    if texts is not None and texts.gold is not None:
        texts = replace(texts, gold=written(texts.gold))
    return Highlight(trial.case, trial.edit, word, tells, round(weight, 6), shown, texts, held)


def _way(trial: TrialRecord, one: Finding, scale: Scale | None) -> str | None:
    """Return which way a row flipped, as its finding counts flips; empty if it did not, None of a damaged record."""
    family = family_of(one.task)
    if family is None or scale is None:
        return None
    try:
        row = trial_of(one.key, trial)
        return flip(row, Trials((row,), family, scale, {})) or ""
    except (ConfigError, KeyError, TypeError, ValueError, ZeroDivisionError):
        return None


def _alone(codes: Sequence[Code], gold: Code | None, span: float) -> tuple[str, bool, float]:
    """Return what a case without a second arm says: how far its asks differ from each other and from a gold label."""
    if not codes:
        return "not asked", False, 0.0
    shares = {
        "against the gold label": 0.0 if gold is None else _mean([_against(c, gold, span) for c in codes]),
        "not the same": 1 - _most_frequent(codes)[1] / len(codes),
        "unread": sum(isinstance(c, str) and c.startswith("!") for c in codes) / len(codes),
    }
    word = next((word for word, share in shares.items() if share), "kept")
    return word, word != "kept", max(shares.values())


def _against(said: Code, gold: Code, span: float) -> float:
    """Return how far a verdict is from the gold label, in [0, 1]; a score nearer than `FAR` is not against it."""
    if isinstance(said, int | float) and isinstance(gold, int | float):
        apart = abs(said - gold) / span
        return apart if apart >= FAR else 0.0
    if isinstance(said, dict) and isinstance(gold, dict):
        return _mean([float(said.get(criterion) != true) for criterion, true in gold.items()])
    return float(said != gold)


def _before_and_after(before: Sequence[Code], after: Sequence[Code], span: float) -> tuple[str, bool, float]:
    """Return whether the verdict moved: the most frequent one, or by half (scores and rubrics: by a quarter)."""
    if not before:
        return "nothing to compare with", False, 0.0
    moved = _moved(before, after, span)
    least = 0.25 if all(isinstance(c, int | float | dict) for c in (*before, *after)) else 0.5
    tells = _most_frequent(before)[0] != _most_frequent(after)[0] or moved >= least
    return "moved" if tells else "kept", tells, moved


_compared = lru_cache(maxsize=4_096)(_before_and_after)


def _moved(before: Sequence[Code], after: Sequence[Code], span: float) -> float:
    """Return how far the verdicts of two arms differ, in [0, 1]: of scores the means, of all else the shares."""
    left, right = ([float(c) for c in codes if isinstance(c, int | float)] for codes in (before, after))
    if left and right:
        unread = abs(len(left) / len(before) - len(right) / len(after))
        return max(unread, abs(_mean(left) - _mean(right)) / span)
    old, new = ([c for c in codes if isinstance(c, dict)] for codes in (before, after))
    if old and new:
        names = sorted({name for c in (*old, *new) for name in c})
        return _mean(
            [abs(_mean([c.get(n) is True for c in old]) - _mean([c.get(n) is True for c in new])) for n in names]
        )
    counts = Counter(map(in_words, before)), Counter(map(in_words, after))
    return sum(abs(counts[0][c] / len(before) - counts[1][c] / len(after)) for c in {*counts[0], *counts[1]}) / 2


def _missed(before: Sequence[Code], after: Sequence[Code]) -> float:
    """Return the share of asks that did not notice the harm."""
    heights = [h for h in map(_height, before) if h is not None]
    return _mean([_unnoticed(code, _mean(heights) if heights else None) for code in after])


def _unmoved(before: Sequence[Code], after: Sequence[Code], scale: Scale) -> float:
    """Return the share of pairs of asks in which the class of damaged answers came no nearer."""
    classes = scale.classes
    pairs = [(decode(one), decode(other)) for one in before for other in after]
    return _mean(
        [
            float(
                not (
                    classes is not None
                    and isinstance(one, Label)
                    and isinstance(other, Label)
                    and classes.noticed(one.value, other.value) > 0
                )
            )
            for one, other in pairs
        ]
    )


def _unnoticed(code: Code, before: float | None) -> bool:
    """Return whether a verdict is no lower than before, or, in a pair or list, puts no answer above the harmed copy."""
    height = _height(code)
    if height is not None or before is not None:
        return height is None or before is None or height >= before
    first = code[0] if isinstance(code, list) and code else [code]
    return any(c == "tie" or str(c).startswith("!") or str(c).endswith(COPY) for c in first)


def _height(code: Code) -> float | None:
    if isinstance(code, dict):
        return _mean([met is True for met in code.values()])
    return float(code) if isinstance(code, int | float) else None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def _most_frequent(codes: Sequence[Code]) -> tuple[str, int]:
    return Counter(map(in_words, codes)).most_common(1)[0]


def in_words(code: Code) -> str:
    """
    Return a verdict's code as people read it.

    >>> in_words(7.0), in_words({"c1": True, "c2": False}), in_words([["a"], ["b", "c"]]), in_words("!unreadable")
    ('7', 'met c1; not c2', 'a > b = c', 'unreadable')
    >>> in_words("~grounded")
    'grounded'
    """
    if isinstance(code, str):
        return code.removeprefix(CLASS).removeprefix("!")
    if isinstance(code, dict):
        kinds = (("met", True), ("not", False), ("unread", None))
        named = [(word, ", ".join(c for c, met in code.items() if met is kind)) for word, kind in kinds]
        return "; ".join(f"{word} {names}" for word, names in named if names)
    if isinstance(code, list):
        return " > ".join(" = ".join(group) for group in code)
    return f"{code:g}"


def _named(code: Code, damaged: str | None, better: str | None) -> str:
    """
    Return a verdict's code as people read it; answers of a pair, and a damaged copy, are called by what they are.

    >>> _named("b~damaged", "b~damaged", "b"), _named("b", "b~damaged", "b"), _named("tie", None, "b")
    ('the damaged copy wins', 'the undamaged answer wins', 'tie')
    >>> _named("b", None, "b"), _named("a", None, "b"), _named("a", None, None)
    ('the better answer wins (b)', 'the worse answer wins (a)', 'a')
    """
    if isinstance(code, str) and code in _SIDES:
        return f"{_SIDES[code]} wins"
    names = {}
    if damaged is not None and damaged.endswith(COPY):
        names = {damaged: "the damaged copy", damaged.removesuffix(COPY): "the undamaged answer"}
    if names and isinstance(code, list):
        return in_words([[names.get(answer, answer) for answer in group] for group in code])
    if isinstance(code, str) and code in names:
        return f"{names[code]} wins"
    if better is None or not isinstance(code, str) or code == "tie" or code.startswith(("!", CLASS)):
        return in_words(code)
    return f"the {'better' if code == better else 'worse'} answer wins ({code})"


def shown_scale(judge: JudgeRecord) -> Scale | None:
    """Return the judge's scale, of one without a scale that of shares; None of a damaged one."""
    if not judge.scale:
        return Scale(0.0, 1.0)
    try:
        return scale_of(judge)
    except ConfigError:  # a damaged scale costs a chart, not the report
        return None
