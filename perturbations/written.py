"""
Written: edits that a writer, any model, makes beforehand; each has a rule in its place where there is no writer.

`written("polish")` shows the text that a case holds (`calm rewrite` puts it there, or you), and else the edit by rule:
the gate itself needs no writer. `polish(writer)` asks a function of yours instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, partial
from importlib.resources import files
from random import Random
from typing import TypeAlias

from calm import Case, Expects, Treated
from calm.core import edits
from calm.core.languages import NAMES
from calm.core.markup import without_code
from calm.core.ready_made import KINDS as TEXTS
from calm.core.ready_made import Own, rules_for
from calm.core.validation import problems
from calm.core.verdict import FAMILIES, Family
from calm.errors import ConfigError, nearest
from calm.perturbations import fallacy_oversight, sensitivity, sentiment, verbosity
from calm.perturbations.prose import append, lexicon, prepend

Writer: TypeAlias = Callable[[str, str], str]
"""A function of an instruction and a text that returns the text rewritten."""

Lexicon: TypeAlias = tuple[re.Pattern[str], Callable[[re.Match[str]], str]]

CALM = "arXiv:2410.02736"
_FORMULAS = ("$", "\\[", "\\(", "\\begin")
"""Where one of these is in a text, no rule puts other words in it."""

FRAMES: Mapping[str, tuple[str, str]] = {
    "de": ("Hier ist die Antwort:", "Das ist die ganze Antwort."),
    "es": ("Aquí está la respuesta:", "Esta es toda la respuesta."),
    "fr": ("Voici la réponse :", "Voilà toute la réponse."),
    "it": ("Ecco la risposta:", "Questa è tutta la risposta."),
    "nl": ("Hier is het antwoord:", "Dit is het hele antwoord."),
    "pt": ("Aqui está a resposta:", "Esta é toda a resposta."),
}
"""No rule translates: without a writer an answer is only put between two sentences in the language."""

_BOTH_WAYS = {
    "however,": "nevertheless,",
    "for example": "for instance",
    "usually": "normally",
    "often": "frequently",
    "big": "large",
    "bigger": "larger",
    "biggest": "largest",
    "quickly": "rapidly",
    "almost": "nearly",
    "perhaps": "maybe",
    "mainly": "mostly",
    "do not": "don't",
    "does not": "doesn't",
    "did not": "didn't",
    "is not": "isn't",
    "are not": "aren't",
    "was not": "wasn't",
    "cannot": "can't",
    "will not": "won't",
    "should not": "shouldn't",
}
_ROUGHLY = {
    f"{word} about": f"{word} roughly" for word in ("of", "in", "at", "for", "takes", "costs", "after", "lasts")
}
_ONE_WAY = {
    **_ROUGHLY,
    ", but": ", yet",
    ", so": ", and so",
    ", so that": ", in order that",
    "so that": "in order that",
    "so the": "thus the",
    "so it": "thus it",
    "because": "since",
    "because of": "owing to",
    "begin": "start",
    "begins": "starts",
    "an entire": "a whole",
    "until": "till",
    "at least": "no less than",
    "at most": "no more than",
    "such as": "like",
    "right away": "at once",
    "in total": "altogether",
    "next to": "beside",
    "although": "even though",
    "choose": "select",
    "buy": "purchase",
    "a lot of": "lots of",
    "a small": "a little",
    "at night": "by night",
    "therefore": "for this reason",
    "you can": "it is possible for you to",
    "a good": "a fine",
    "is called": "is named",
    "is made of": "consists of",
    "most of": "the greater part of",
    "the middle of": "the centre of",
    "the same": "the very same",
    "every day": "each day",
    "every week": "each week",
    "every year": "each year",
    "each day": "every day",
    "each week": "every week",
    "each year": "every year",
    "should": "ought to",
    "has to": "must",
    "stays": "remains",
    "shows": "displays",
    "need to": "have to",
    "needs to": "has to",
    "needs a": "requires a",
    "that is why": "for this reason",
}
_POLISHED = {
    **{f"{word} about": f"{word} approximately" for word in ("of", "in", "at", "for", "takes", "costs", "lasts")},
    "don't": "do not",
    "doesn't": "does not",
    "didn't": "did not",
    "isn't": "is not",
    "aren't": "are not",
    "wasn't": "was not",
    "can't": "cannot",
    "won't": "will not",
    "shouldn't": "should not",
    ", but": "; however,",
    ", so": "; therefore,",
    ", so that": ", so that",
    "so the": "therefore the",
    "so it": "therefore it",
    "a lot of": "a great deal of",
    "get rid of": "remove",
    "has to": "must",
    "need to": "have to",
    "needs to": "must",
    "needs a": "requires a",
    "shows": "demonstrates",
    "begins": "commences",
    "big": "large",
    "bigger": "larger",
    "biggest": "largest",
    "kids": "children",
    "buy": "purchase",
    "maybe": "perhaps",
    "mostly": "for the most part",
    "usually": "as a rule",
    "right away": "at once",
    "that is why": "for this reason",
    "is made of": "consists of",
    "choose": "select",
}
_OTHER_WORDS = lexicon({**_BOTH_WAYS, **{new: old for old, new in _BOTH_WAYS.items()}, **_ONE_WAY})
_BETTER_WORDS = lexicon(_POLISHED)


@dataclass(frozen=True, slots=True)
class Kind:
    """
    A kind of rewriting: what its edit is, and what stands in for a text that no writer wrote.

    `name` is that of the edit and of the ready-made texts, `prompt` the file of the task, `shown` what its writer is
    shown, and `rule` returns the case edited by rule, or None.
    """

    name: str
    bias: str
    expects: Expects
    summary: str
    rule: edits.Rewrite
    tasks: tuple[Family, ...] = FAMILIES
    source: str = CALM
    prompt: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)


def _by_words(name: str, words: Lexicon) -> edits.Rewrite:
    """Return a rule that puts other words in the place of those of a list, where the rules of a kind allow it."""
    pattern, change = words

    def reword(case: Treated, rng: Random) -> Treated | None:
        text = case[case.target].text
        if any(mark in text for mark in _FORMULAS):
            return None
        free, parts, at = without_code(text), [], 0
        for found in pattern.finditer(free):
            parts += [text[at : found.start()], change(found)]
            at = found.end()
        new = "".join([*parts, text[at:]])
        return None if problems(text, new, rules_for(name)) else case.edit(case.target, lambda _: new)

    return reword


def _framed(language: str) -> edits.Rewrite:
    """Return a rule that puts the treated answer between two sentences in a language."""

    def frame(case: Treated, rng: Random) -> Treated | None:
        opened = prepend(case, FRAMES[language][0]) if language in FRAMES else None
        return opened and append(opened, FRAMES[language][1])

    return frame


def _err(case: Treated, rng: Random) -> Treated | None:
    return sensitivity.change_number(case, rng) or sensitivity.negate(case, rng)


def _mood(edit: edits.Edit) -> Kind:
    summary = f"Let a writer give the weaker answer a {edit.name} tone."
    shown = {"tone": edit.name}
    return Kind(edit.name, edit.bias, edit.expects, summary, edit, prompt="tone", shown=shown)


MOODS = tuple(_mood(e) for e in (sentiment.cheerful, sentiment.sad, sentiment.angry, sentiment.fearful))
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "lengthen",
            "verbosity",
            Expects.NOT_BETTER,
            "Let a writer make the weaker answer about twice as long, adding no content.",
            verbosity.expand(2.0),
        ),
        *MOODS,
        Kind(
            "fallacy",
            "fallacy-oversight",
            Expects.WORSE,
            "Let a writer break the reasoning of the better answer and keep its result.",
            fallacy_oversight.fallacy,
            fallacy_oversight.fallacy.tasks,
        ),
        Kind(
            "polish",
            "refinement-aware",
            Expects.OBSERVE,
            "Let a writer improve the wording of the weaker answer.",
            _by_words("polish", _BETTER_WORDS),
        ),
        Kind(
            "paraphrase",
            "paraphrase",
            Expects.SAME,
            "Let a writer paraphrase the weaker answer.",
            _by_words("paraphrase", _OTHER_WORDS),
            source="garak",
        ),
        Kind(
            "plant_error",
            "sensitivity",
            Expects.WORSE,
            "Let a writer plant one error in the better answer.",
            _err,
            source="CheckList",
        ),
        Kind(
            "neutral",
            "paraphrase",
            Expects.SAME,
            "Let a writer reword the weaker answer, no better and no worse; this is the control for other rewrites.",
            _by_words("neutral", _OTHER_WORDS),
            source="arXiv:2410.02736",
        ),
    )
}
"""All kinds but `translate_LANGUAGE`, of which there is one for each language."""

ASKED_AS: Mapping[str, tuple[str, ...]] = {
    word: tuple(kind.name for kind in TEXTS.values() if kind.word == word)
    for word in dict.fromkeys(kind.word for kind in TEXTS.values() if kind.word)
}
"""What `calm rewrite --kinds` calls the kinds, besides `translate:LANGUAGE`."""


def kind_of(name: str) -> Kind:
    """
    Return a kind of rewriting by the name of its edit: `polish`, `translate_de`.

    Raises:
        ConfigError: there is none of this name.
    """
    base, _, code = name.partition("_")
    if base == "translate":
        if code not in NAMES:
            raise ConfigError(f"{name}: unknown language {code!r}{nearest(code, NAMES)}")
        language = NAMES[code]
        summary = f"Let a writer translate the weaker answer into {language}."
        told = {"language": language}
        return Kind(
            name, "language", Expects.SAME, summary, _framed(code), source="CALM-Bench", prompt=base, shown=told
        )
    if name not in KINDS:
        raise ConfigError(f"unknown kind of rewriting {name!r}{nearest(name, [*KINDS, 'translate_de'])}")
    return KINDS[name]


def names_of(asked: str) -> tuple[str, ...]:
    """
    Return the names of the edits that `--kinds` asks for by one word: `sentiment`, `translate:de`.

    Raises:
        ConfigError: there is no such kind.
    """
    base, _, code = asked.partition(":")
    if base == "translate":
        return (kind_of(f"translate_{code}").name,)
    if asked not in ASKED_AS:
        raise ConfigError(f"--kinds: unknown kind {asked!r}{nearest(asked, [*ASKED_AS, 'translate:de'])}")
    return ASKED_AS[asked]


def written(name: str, *, rule: bool = True) -> edits.Edit:
    """
    Return the edit of a kind: the text that a case holds if it is usable, else the edit by rule.

    Without `rule` it applies to no other case than one with such a text.
    """
    kind = kind_of(name)
    return _edit(kind, kind.rule, only=not rule)


def _put(kind: Kind, case: Treated, text: str) -> Treated | None:
    if kind.expects is not Expects.WORSE:
        return case.edit(case.target, lambda _: text)
    if len(case.answers) == 1 and any(criterion.check is None for criterion in case.criteria):
        return None  # which criterion it breaks nobody knows
    return case.damage(case.target, lambda _: text)


def _edit(kind: Kind, rewrite: edits.Rewrite, *, only: bool = False) -> edits.Edit:
    made = kind.expects, rewrite, kind.source, kind.tasks, None, kind.summary
    return edits.Edit(kind.name, kind.bias, *made, own=Own(put=partial(_put, kind), only=only))


lengthened = written("lengthen")
polished = written("polish")
paraphrased = written("paraphrase")
error_planted = written("plant_error")
worded_anew = written("neutral")


def _polished(case: Treated, text: str) -> Treated:
    return case.edit(case.target, lambda _: text)


def _from_draft(case: Treated, text: str) -> Treated:
    return _polished(case, text).drafted(case.target, case[case.target].text)


@edits.perturbation(
    bias="refinement-aware",
    expects=Expects.SAME,
    source=CALM,
    own=Own(names=("polish",), put=_from_draft, base=_polished),
)
def polished_from_draft(case: Treated, rng: Random) -> Treated | None:
    """Show the weaker answer polished, with the original as its earlier draft; `polished` is what to compare with."""
    after = polished(case, rng)
    return None if after is None else _from_draft(case, after[case.target].text)


def own_alone(edit: edits.Edit) -> edits.Edit:
    """Return an edit that only shows texts that the cases hold: a rotation without any leaves it out."""
    return replace(edit, own=replace(edit.own, only=True))


# ------------------------------------------------------------------------------------------- a writer of the user's
#
# The annotation is `edits.Edit` and not `Edit` so that the catalogue, which makes what it lists, leaves these out.


def lengthen(writer: Writer) -> edits.Edit:
    """Return an edit that lets a writer make the weaker answer longer, adding no content."""
    return _asking("lengthen", writer)


def restyle(writer: Writer, tone: str) -> edits.Edit:
    """
    Return an edit that lets a writer give the weaker answer a tone: cheerful, sad, angry or fearful.

    Raises:
        ConfigError: another tone.
    """
    if tone not in ASKED_AS["sentiment"]:
        raise ConfigError(f"restyle(): unknown tone {tone!r}{nearest(tone, ASKED_AS['sentiment'])}")
    return _asking(tone, writer)


def break_reasoning(writer: Writer) -> edits.Edit:
    """Return an edit that lets a writer break the reasoning of the better answer and keep its result."""
    return _asking("fallacy", writer)


def polish(writer: Writer) -> edits.Edit:
    """Return an edit that lets a writer polish the weaker answer."""
    return _asking("polish", writer)


def paraphrase(writer: Writer) -> edits.Edit:
    """Return an edit that lets a writer say the weaker answer in other words."""
    return _asking("paraphrase", writer)


def translate(writer: Writer, language: str) -> edits.Edit:
    """
    Return an edit that lets a writer translate the weaker answer into a language, given by its code such as `de`.

    Raises:
        ConfigError: a language that is not known.
    """
    return _asking(f"translate_{language}", writer)


def plant_error(writer: Writer) -> edits.Edit:
    """Return an edit that lets a writer plant one error in the better answer."""
    return _asking("plant_error", writer)


def neutral_rewrite(writer: Writer) -> edits.Edit:
    """Return the control of the other rewrites: a writer words the weaker answer anew, no better and no worse."""
    return _asking("neutral", writer)


def _asking(name: str, writer: Writer) -> edits.Edit:
    """Return an edit that asks a writer once for each text; a text that breaks the rules of the kind is left out."""
    kind = kind_of(name)
    rules = rules_for(name)
    told = instruction(kind)

    @cache  # an edit is a pure function, which a model is not: what it wrote first stands
    def asked(text: str) -> str:
        return writer(told, text)

    def rewrite(case: Treated, rng: Random) -> Treated | None:
        text = case[case.target].text
        if not text.strip():
            return None
        new = asked(text)
        return None if problems(text, new, rules) else _put(kind, case, new)

    return _edit(kind, rewrite)


def instruction(kind: Kind) -> str:
    """Return the instruction to a writer for a text, for one that is given the text beside it."""
    from calm.core.edits import Message, Prompt
    from calm.core.verdict import Scale
    from calm.judges.prompts import render  # Jinja2, which a gate without a writer need not load

    prompt = Prompt((Message("user", task_of(kind)),), bundled=True)
    return render(prompt, Case("instruction", "", (), fields=kind.shown), "score", Scale())[0].text + ONLY


ONLY = " Reply with the new text of the answer, and with nothing else."


def task_of(kind: Kind) -> str:
    """Return the template of the task that a writer is set."""
    name = f"rewrite.{kind.prompt or kind.name}.jinja"
    return files("calm").joinpath("judges", "data", name).read_text("utf-8").removesuffix("\n")
