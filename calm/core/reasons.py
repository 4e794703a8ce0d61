"""
Why a claim has no answer, why a case was left out, and what a reader of a run should know: as data.

Code asks a `Reason` for its kind and its details, and never for its words. `Kind` is the only place where the words of
a reason are written; `str(reason)` reads them there, and only what a person reads calls it. What a judge, a server or a
person said stands in a detail of the type `Said`, so a record without texts can tell which reasons quote somebody.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, TypeAlias

from calm.errors import few_of


@dataclass(frozen=True, slots=True)
class Said:
    """A text that a judge, a server, a file or a person wrote: it may quote a case, a prompt or a reply."""

    text: str

    def __str__(self) -> str:
        return self.text


MOST_NAMED: Final = 5
"""How many cases a reason names before the rest is only counted."""


def _cases(count: object) -> str:
    return f"{count} case{'s' * (count != 1)}"


def _asks(count: object) -> str:
    return f"{count} ask{'s' * (count != 1)}"


def _raised(asks: object) -> str:
    return f"its code raised an exception in {_asks(asks)}"


def _counted(rest: Detail, *parts: Detail) -> str:
    words = [f"{reason} ({_cases(count)})" for reason, count in zip(parts[::2], parts[1::2], strict=True)]
    return "; ".join([*words, f"other reasons ({_cases(rest)})"] if rest else words)


def _in_languages(total: Detail, *parts: Detail) -> str:
    rows = [parts[at : at + 4] for at in range(0, len(parts), 4)]
    counts = ", ".join(f"{count} {'is' if count == 1 else 'are'} in {language}" for language, count, _, _ in rows)
    bare = [str(language) for language, _, _, served in rows if not served]
    codes = " ".join(f"--language {code}" for _, _, code, _ in rows[:1])
    return (
        f"of {total} cases {counts}: edits that would add English words to them were not asked about; "
        f"`calm perturb --list {codes}` lists those that were"
        + (f"; neutral words are English, as there are none in {' and '.join(bare)}" if bare else "")
    )


def _cases_gone(gone: int, total: int, names: Detail) -> str:
    verb, them = ("is", "it") if gone == 1 else ("are", "them")
    return (
        f"{gone} of the {_cases(total)} of the baseline {verb} not in this run ({names}), so only the others are "
        f"compared; add {them} again, or make a new baseline of the cases as they are now with `calm accept`"
    )


def _cases_lost(lost: int, total: int, names: Detail, *why: Detail) -> str:
    causes = f": {', '.join(sorted(map(str, why)))}" if why else ""
    verb = "has" if lost == 1 else "have"
    return f"{lost} of {_cases(total)} of the baseline {verb} no result for this claim now ({names}){causes}"


_PILLOW: Final = "Pillow is missing (pip install 'pillow>=11')"
_UNDRAWN: Final[Mapping[str, str]] = {
    "no-image": "it has no image",
    "no-pillow": _PILLOW,
    "no-picture": "its image is broken, or has more than 25 million pixels",
    "": f"{_PILLOW}, or the case has no whole image of at most 25 million pixels",
}
"""What keeps words out of a picture; an older record does not know which it is."""
_ALONE: Final[Mapping[str, str]] = {
    **dict.fromkeys(("false_fail_rate", "false_pass_rate", "false_fail_gain"), "they pass or fail no answer by itself"),
    "slot_pull": "one answer has no order",
}
"""Why a measure says nothing of other verdicts than its own."""


def _nothing_claimed(family: Detail, *measures: Detail) -> str:
    why = next((_ALONE[name] for name in map(str, measures) if name in _ALONE), "")
    return f"nothing is claimed for {family} verdicts{f': {why}' if why else ''}"


def _unread_by(share: float, why: Detail) -> str:
    """Return the commonest reason why replies hold no verdict, with its share and an example."""
    replies = f"{100 * share:.{int(share < 0.0095)}f} of 100 replies"
    if isinstance(why, Reason) and why.kind is Kind.HIDDEN_WHY:
        return f"{replies} hold no verdict; {why}"
    if not isinstance(why, Reason) or why.kind is not Kind.OFF_SCALE:
        return f"{replies} hold no verdict, such as: {why}"
    number, low, high, steps = map(str, why.details)
    steps = steps if float(low) <= float(number) <= float(high) else ""
    return f"{replies} name a number that is not on the scale {low} to {high}{steps}, such as {number}"


def _asked(_asked: int, share: float, _planned: int) -> str:
    """Return what stopping early saved; where close results were asked again, and nothing was saved, what that took."""
    if round(share, 2) > 0:
        return f"early stopping saved {share:.0%} of the calls"
    more = f"this took {-share:.0%} more calls" if round(share, 2) else "this took no more calls"
    return f"close results were asked about again; {more}"


_SERVER_LOST: Final = (
    "the server of {!r} stopped answering: {} attempts in a row failed, the last one with: {}; "
    "no more calls are made to it: fix it and run again"
)
_STILL_FAILS: Final = "A claim that surely misses {} still fails, except one about the worst variant (worst_)"
_TOLD: Final = {
    "pull": "an edit may decide {} of 100 pairs of equal answers",
    "lift": "an edit may raise a score by {} % of the scale",
    "gain": "an edit may make the worse answer win in {} of 100 cases",
    "net_robustness": "an edit must leave {} of 100 verdicts as they are",
    "net_detection": "the judge must notice {} of 100 damaged answers",
    "consistency_rate": "the judge must say the same in {} of 100 cases when asked twice",
    "accuracy": "the judge must be right in {} of 100 cases",
    "balanced_accuracy": "the judge must be right in {} of 100 cases of each label",
}
"""What a limit demands, where it gave way to few cases."""


def _shown_by(measure: str, limit: float, family: str) -> str:
    measure = "lift" if measure == "gain" and family in ("score", "rubric") else measure
    return _TOLD.get(measure, f"the limit of {str(measure).replace('_', ' ')} is {{}} of 100").format(_part(limit))


def _part(limit: float) -> str:
    return f"{100 * limit:.3g}"


_TO_SHOW: Final = {
    "inverted framing": (
        "the prompt has no version that asks for the worse answer: write one, and name it in judge.toml as "
        "negative_user_file"
    ),
}
"""What is missing, and how to add it, where that is not plain from the name of the part."""
_ARMS: Final = {"clean": "the cases as they are", "inert": "neutral words", "perturbed": "the edit"}
_NO_ROOM: Final = {
    "pairwise": "the judge already prefers the worse answer",
    "listwise": "the judge already ranks the worst answer near the top",
    "score": "the judge already gives full marks",
    "rubric": "the judge already finds all criteria met",
    "label": "no move between the classes does harm",
}
"""Why a case leaves no room to gain, by what kind of verdict a judge gives."""
_FOR_ROOM: Final = {
    "pairwise": "add other cases, or check the gold of these",
    "listwise": "add other cases, or check the gold of these",
    "score": "add harder cases",
    "rubric": "add harder cases",
    "label": (
        "add cases of classes from which a move does harm: of those that `harm` names first, or, in an order, of those "
        "a quarter of it or more below the best"
    ),
}
"""What makes room, by what kind of verdict a judge gives."""


class Kind(StrEnum):
    """The kinds of reasons: each has its code in a results file, and its words, with a place for each detail."""

    words: str | Callable[..., str]

    def __new__(cls, code: str, words: str | Callable[..., str] = "") -> Kind:
        """Return a kind, whose value is its code."""
        one = str.__new__(cls, code)
        one._value_ = code
        one.words = words
        return one

    NONE = ("none", "")
    SAID = ("said", "{}")
    OLDER = ("older", "{}")
    LISTED = ("listed", lambda *parts: "; ".join(map(str, parts)))
    GATE_FILE = ("gate-file", "gate.toml, until {}: {}")
    CAPPED = ("capped", "a cap was reached: {}")
    CAPPED_UNPRICED = (
        "capped-unpriced",
        lambda model, option="--calm-max-": (
            f"no price is known for the model {model}: {option}usd cannot hold, so no call is made to it; set "
            "price_usd_per_mtok in the [model] table of judge.toml"
        ),
    )
    CAP_TOO_LOW = (
        "cap-too-low",
        "{} is not spent in full: one more call to {} could cost up to {} USD, and less was left; a lower max_tokens "
        "in judge.toml or a higher cap lets it fit",
    )
    CAP_SEES_NO_CODE = (
        "cap-sees-no-code",
        lambda judge, option="--calm-max-": (
            f"{option}usd does not count what {judge} spends by itself, as it is Python code; {option}calls stops it"
        ),
    )
    IN_BATCH = (
        "in-batch",
        "{} calls wait in batches: run the same command again to go on; `calm batch status` shows how far they are",
    )
    HELD = (
        "held",
        "{} calls are held for a file: `calm batch write -o FILE` writes them, `calm batch read FILE` takes the "
        "replies",
    )
    BATCHES_OUT = (
        "batches-out",
        "{} calls wait in batches, and a live run pays for them again: run with --calm-batch, or first `calm batch "
        "collect`",
    )
    BY_BATCH = ("by-batch", "calls went by batch, at {} of the live price")
    BATCH_EXPIRED = ("batch-expired", "the provider did not answer it before its batch expired")
    BATCH_CANCELLED = (
        "batch-cancelled",
        "its batch was cancelled before the provider answered it; run again to ask it",
    )
    BATCH_LACKS = ("batch-lacks", "the results of its batch lack it")
    BATCH_FAULT = ("batch-fault", "the provider did not take the batch: {}")
    BATCH_TOO_LARGE = ("batch-too-large", "the request is larger than a batch may be")
    BATCH_BROKE = (
        "batch-broke",
        "the batch could not be checked: {}; it may go on at the provider: run the same command again",
    )
    STOPPED = ("stopped", "the run was stopped")
    CACHE_FAILED = ("cache-failed", "the cache failed, so nothing more is asked: {}")
    NOT_KEPT = ("not-kept", "the cache failed: what cannot be kept is not asked")
    REPLIES_SPILLED = (
        "replies-spilled",
        "the cache did not take all replies: the rest is in {}, and the next run takes it from there",
    )
    REPLIES_LOST = ("replies-lost", "{} replies are lost, and may have been paid for: the cache did not take them: {}")
    FROM_CACHE = (
        "from-cache",
        lambda count: f"{int(count):,} replies were reused from the cache; --calm-cache=refresh asks again",
    )
    ROWS_DAMAGED = ("rows-damaged", "some replies in the cache are damaged: they were asked for again")
    CALL_DAMAGED = ("call-damaged", "--calm-cache=replay: the reply in the cache is damaged, and no call may be made")
    TRIED = ("tried", "{} (tried {} times)")
    CALL_NOT_CACHED = ("call-not-cached", "--calm-cache=replay: this call is not in the cache, and no call may be made")
    VERDICT_NOT_CACHED = (
        "verdict-not-cached",
        "--calm-cache=replay: the cache lacks a verdict of {!r}; no call is made",
    )
    OTHER_MODEL = (
        "other-model",
        "the model {!r} was served by {!r} when the run began and answers as {!r} now: verdicts of two models cannot "
        "be compared; run again",
    )
    NOT_SERVED_AS = (
        "not-served-as",
        "the model {!r} is served by {!r}, but judge.toml says served_as = {!r}; correct it, or find out who changed "
        "the model",
    )
    NOT_GREETED = (
        "not-greeted",
        "judge.toml says greeting = false: it was not checked which model serves {!r}; replies in the cache may be of "
        "an earlier one",
    )
    NOT_SENT = ("not-sent", "{} of judge.toml is not sent: the model {!r} does not take it with these settings")
    REPLIES_CUT = (
        "replies-cut",
        "replies of {!r} were cut before their verdict, at max_tokens = {}, and count as unread: raise it in "
        "judge.toml",
    )
    PROMPT_TOO_LONG = (
        "prompt-too-long",
        "case {}: its prompt has at least {:,} tokens (one for each word), and the context of {!r} has {:,}: it is not "
        "sent; shorten the case, leave it out, or correct context_window in the [model] table of judge.toml",
    )
    EDIT_TOO_LONG = (
        "edit-too-long",
        lambda model, window, *cases: (
            f"with the edit the prompt has more words than the context of {model!r} has tokens ({window:,}): "
            + few_of([str(case) for case in cases], MOST_NAMED)
        ),
    )
    PROMPT_REFUSED = ("prompt-refused", "case {}: {}")
    PROMPT_CUT = (
        "prompt-cut",
        "case {}: the server read {:,} tokens of a prompt that has at least {:,} (one for each word): it cut the rest, "
        "so the verdict is not used; give the server a longer context (num_ctx of Ollama, -c of llama.cpp), or shorten "
        "the case",
    )
    JUDGE_UNREAD = (
        "judge-unread",
        lambda whose, unread, asked, *why: "\n".join(
            [
                f"judge {whose}: {unread} of its first {asked} replies hold no verdict, so it is asked no more",
                *map(str, why),
            ]
        ),
    )
    REPLIES_UNREAD = (
        "replies-unread",
        lambda whose, how, why, holds, fix, *examples: "\n".join(
            [
                f"{whose}: expected a verdict by {how}, got none ({why}); the replies hold {holds}; {fix}",
                *(f"a reply of {whose}: {example}" for example in examples),
            ]
        ),
    )
    VALUES_UNREAD = (
        "values-unread",
        lambda whose, expected, *values: (
            f"{whose}: expected {expected}, got {' and '.join(map(str, values))} from the callable; return a verdict"
        ),
    )
    JUDGE_FAILS = (
        "judge-fails",
        lambda whose, failed, asked, *why: "\n".join(
            [f"judge {whose}: {failed} of its first {asked} asks gave no verdict, so no more are made", *map(str, why)]
        ),
    )
    CODE_RAISED = ("code-raised", "judge {}: its code raised {} in {}")
    CODE_RAISED_FIRST = (
        "code-raised-first",
        lambda whose, where, message, case, asks: (
            f"{whose}: {_raised(asks)} in {where}, first about case {case}: {message}; fix the code, or return "
            "None where "
            "there is no verdict"
        ),
    )
    VALUE_WRONG = ("value-wrong", "judge {}: its code returned no verdict: {}")
    VALUE_WRONG_FIRST = (
        "value-wrong-first",
        lambda whose, message, case, asks: (
            f"{whose}: its code returned no verdict in {_asks(asks)}, first about case {case}: {message}"
        ),
    )
    TOOL_UNREAD = (
        "tool-unread",
        lambda whose, *values: (
            f"{whose}: its tool made no verdict of what its model replied: {'; '.join(map(str, values))}"
        ),
    )
    TOOL_DIFFERS = ("tool-differs", "{}: {}")
    CALLS_ELSEWHERE = (
        "calls-elsewhere",
        "{}: its calls to {} do not go through calm: they are not cached, counted or priced, and no cap stops them",
    )
    VERDICTS_DIFFER = (
        "verdicts-differ",
        "two verdicts: {} in line {}, {}, and {} in line {}, {}; nothing says which one is final",
    )
    KEY_TWICE = ("key-twice", "two verdicts: the JSON of the reply has {} twice, with different values")
    NO_TOKENS = ("no-tokens", "the server sent no {}; take a server that gives them, or another format")
    UNANSWERED = ("unanswered", "the server left the question {} unanswered")
    ANSWER_TYPE = ("answer-type", "no verdict: the answer to the question {} is not of the type {}: {}")
    ANSWER_OPTIONS = (
        "answer-options",
        "no verdict: the answer to the question {} does not give a probability for each option and for no other: {}",
    )
    ANSWER_CHANCES = (
        "answer-chances",
        "no verdict: the probabilities in the answer to the question {} are not numbers from 0 to 1 that add up to 1: "
        "{}",
    )
    ANSWER_CONTRADICTED = (
        "answer-contradicted",
        "no verdict: the answer to the question {} says something else than its probabilities: {}",
    )
    ANSWER_NONE = (
        "answer-none",
        "no verdict: the likeliest answer to the question {} is no verdict, as [verdict.values] says",
    )
    VERDICT_DRAFT = ("verdict-draft", "no verdict: {} in line {}, {}, is called a draft, and no final one follows")
    VERDICT_TAKEN_BACK = (
        "verdict-taken-back",
        "no verdict: {} in line {}, {}, is taken back after it, and no other one follows",
    )
    VERDICT_MENTIONED = (
        "verdict-mentioned",
        "no verdict: {} in line {} is only mentioned: denied, supposed, quoted, listed or asked for by somebody else",
    )
    VERDICT_CONTRADICTED = ("verdict-contradicted", "no verdict: {} in line {} is contradicted by what line {} says")
    VERDICT_PARTS = (
        "verdict-parts",
        "no verdict: {} in line {} and {} in line {} are each on a part of the answer, and none is on the whole; ask "
        "for one verdict, or name the part in [verdict.parts]",
    )
    VERDICT_PART = ("verdict-part", "part {}: {}")
    SERVER_LOST = ("server-lost", _SERVER_LOST)
    SERVER_LOST_KEPT = ("server-lost-kept", f"{_SERVER_LOST}; what was answered is kept, and the new run goes on there")
    APPLIES_NOT = ("applies-not", "does not apply")
    NO_TWIN = (
        "no-twin",
        "no other case shows a picture of which the worse answer is right: name one in the tag `twin`",
    )
    NO_OTHER_IMAGE = (
        "no-other-image",
        "no two cases with different questions have such images: of the question, or of the answer that is edited",
    )
    NOT_DRAWN = ("not-drawn", lambda why="": f"nothing can be drawn into the case: {_UNDRAWN[str(why)]}")
    CHANGES_TRUTH = ("changes-truth", "would change the truth of a criterion")
    REFUSED = ("refused", "refused: {}")
    ENGLISH_ALONE = (
        "english-alone",
        "it adds English words, and the case is in {}: an edit in that language is needed",
    )
    OTHER_LANGUAGES = ("other-languages", "it works on {} alone, and the case is in {}")
    NO_TRANSLATION = (
        "no-translation",
        "no other case asks the same in another language: give both the tag `item` with one value, and the tag "
        "`language` with the code of each",
    )
    IN_LANGUAGES = ("in-languages", _in_languages)
    FOR_OTHER_ANSWER = ("for-other-answer", "it is for another answer than the treated one")
    OTHER_TEXT_SHOWN = ("other-text-shown", "another text of the case was shown")
    OWN_TEXTS = (
        "own-texts",
        lambda *parts: (
            "texts that the cases hold: "
            + "; ".join(
                f"{bias} shows them in {shown} of {_cases(cases)}{f' ({left} not shown)' if left else ''}"
                for bias, shown, cases, left in zip(parts[::4], parts[1::4], parts[2::4], parts[3::4], strict=True)
            )
        ),
    )
    TEXTS_UNASKED = (
        "texts-unasked",
        lambda *parts: (
            "no probe of this run shows the texts "
            + ", ".join(f"{text} ({_cases(count)})" for text, count in zip(parts[::2], parts[1::2], strict=True))
        ),
    )
    NOT_SHOWN = ("not-shown", lambda what: _TO_SHOW.get(str(what), f"the judge is not shown the {what}"))
    NOT_READ = (
        "not-read",
        lambda what, fields: (
            f"the judge is not shown the {what}: add {fields} to the `reads` of its code"
            + (", and return the better answer also where the worse is asked for" if "'framing'" in str(fields) else "")
        ),
    )
    NO_SIDE = ("no-side", "the edit says nothing of one answer that it could say of an equal one")
    MEAN_FAILS = ("mean-fails", "all variants together already fail, so calm did not search for the worst one")
    ONE_ANSWER = ("one-answer", "there is one answer: only a cue between two equal answers is tested on it")
    EQUAL_ANSWERS = ("equal-answers", "no answer is the better one: only a cue between two of them is tested on it")
    PART_UNSEEN = ("part-unseen", "the judge is shown no {}: {} of {} cases have some (see calm lint: part-not-shown)")
    MUTE = ("mute", "the judge is a decision model, which writes no text: it cannot think aloud or answer a later turn")
    NO_PROMPT = ("no-prompt", "the judge has no prompt that can be rewritten")
    OWN_PROMPT = (
        "own-prompt",
        "the prompt is the judge's own, and the edit knows the wording of the bundled prompts alone",
    )
    NO_GOLD = ("no-gold", "no gold label")
    OTHER_TRUTH = ("other-truth", "the answer is not known to be {}")
    PILOT_UNREAD = ("pilot-unread", "no gold label, and the pilot verdict could not be read")
    CONTROL = ("control", "the control: {}")
    OTHER_TASK = ("other-task", "{} serves {}; the judge's task is {}")
    FEW_VERDICTS_BY = ("few-verdicts-by", "{} is not compared with: it gave too few verdicts for an interval")
    FEW_DECIDED_BY = (
        "few-decided-by",
        "{} is not compared with: of the pairs that people gave to the own answer, or of those that they gave to the "
        "other one, too few were decided by it and by the judge for an interval",
    )
    FEW_VERDICTS_ON = (
        "few-verdicts-on",
        "the answers of {} are not compared with: they got too few verdicts for an interval",
    )
    UNSERVED = ("unserved", "its verdicts were given once, beforehand: it serves {} alone")
    NOT_RECORDED = ("not-recorded", "no verdict on the case as it is shown is on record")
    IDLE_COLUMNS = ("idle-columns", "{}: nothing was taken from the columns {}")
    NUMERIC_PREFERENCE = (
        "numeric-preference",
        "{}: its verdicts are numbers from 1 to 2: below 1.5 the first answer of a case is "
        "better, above 1.5 the second one, and 1.5 is a tie",
    )
    REPEATS_AS_FLOOR = (
        "repeats-as-floor",
        "{} replays verdicts: an order or a framing is compared with its own repeats, not with neutral words",
    )
    ASKED_ONCE = ("asked-once", "it was asked once")
    ONE_SHOWN = ("one-shown", "the judge is shown one answer at a time, so there is no order to swap")
    ONE_WORD = ("one-word", "the judge says the same of every case, so there is no agreement beyond chance")
    ONE_SET = ("one-set", "a run has one set of cases; {} are wanted, with preferences and with right answers")
    REPLAYED = ("replayed", "its verdicts were given beforehand, on the cases as they are")
    NEEDS_ASKS = ("needs-asks", "{} needs {}+{} asks a case, --calm-repeats gives {}")
    TOO_FEW_ASKS = ("too-few-asks", "needs more asks a case than {}")
    NO_CASES = ("no-cases", "there are no cases")
    NO_TARGET = ("no-target", "no treated answer")
    UNREAD_ARM = ("unread-arm", "no readable verdict in an arm")
    OFF_SCALE = ("off-scale", "{} is not on the scale from {} to {}{}")
    OUT_OF = ("out-of", "{} is out of {}; expected a score up to {}")
    REPLY_CUT = ("reply-cut", "cut by max_tokens before the reply was complete; raise max_tokens")
    UNREAD_BY = ("unread-by", _unread_by)
    UNREAD_ASK = ("unread-ask", "a verdict that cannot be read")
    UNREAD_CLEAN = (
        "unread-clean",
        "{:.0%} of the cases got a reply that cannot be read: how far the judge agrees on them is not known",
    )
    ONE_GOLD = (
        "one-gold",
        "every gold label is the same ({}): add cases with another one, or nothing tells a judge from a constant",
    )
    GOLD_OFF_SCALE = (
        "gold-off-scale",
        "{} of {} gold scores are not on the judge's scale, {:g} to {:g}: bring gold and verdicts to one scale",
    )
    NO_STEP = ("no-step", "the scale has no step, so no verdict equals a gold score: claim mean_absolute_error")
    GOLD_NARROW = (
        "gold-narrow",
        "all gold scores lie between {:g} and {:g}, the judge's scale is {:g} to {:g}: is the gold on another scale?",
    )
    SCALE_DIFFERS = (
        "scale-differs",
        "judge {0}: the prompt names the scale {1} to {2}, and judge.toml says {3} to {4}. Limits are shares of the "
        "scale in judge.toml, so they are wrong: write low = {1} and high = {2} under [verdict.scale] in judge.toml, "
        "or correct the prompt",
    )
    SCORES_NARROW = (
        "scores-narrow",
        "the judge used a part of its scale: all {} scores of the cases as they are lie between {:g} and {:g}, and the "
        "scale is {:g} to {:g}. Limits are shares of the whole scale, and all of this range is {:.0%} of it",
    )
    SCALE_BACKWARDS = (
        "scale-backwards",
        '{} is {:.2f}: the scale may be the wrong way round. If its {} end is the good one, write best = "{}" under '
        "[verdict.scale] in judge.toml",
    )
    GOLD_BACKWARDS = (
        "gold-backwards",
        "{} is {:.2f}: gold and verdicts run against each other. Gold is on the scale that the prompt names: check "
        "which end of the gold is good, and [verdict.values] in judge.toml",
    )
    PEOPLE_DIVIDED = (
        "people-divided",
        "the people agree too little to be a measure of a judge (Krippendorff's alpha {}, at least {:g} is needed)",
    )
    FEW_PEOPLE = ("few-people", "fewer than two people labelled the case")
    PEOPLE_AGREE = ("people-agree", "{} people labelled {} cases: their agreement (Krippendorff's alpha) is {:.2f}{}")
    MAY_REPLACE = (
        "may-replace",
        "alternative-annotator test: the judge may take the place of {} of {} people (its advantage probability is "
        "{:.2f}, epsilon {:g}): it may replace a person",
    )
    MAY_NOT_REPLACE = (
        "may-not-replace",
        "alternative-annotator test: the judge may take the place of {} of {} people (its advantage probability is "
        "{:.2f}, epsilon {:g}): it may not replace a person",
    )
    NOT_ANYTIME = (
        "not-anytime",
        "{} is no mean over cases and has no anytime test: run it with --calm-stopping sequential",
    )
    NO_ROOM = ("no-room", "the verdict cannot get better for the edited answer")
    NO_FLOOR = (
        "no-floor",
        "neutral words were not asked about, so the edit cannot be distinguished from any rewording",
    )
    AT_BOTTOM = ("at-bottom", "the answer is near the bottom already and cannot fall")
    NEEDS_ROOM = (
        "needs-room",
        lambda room, of, least, family="score": (
            f"too few cases: in {of - room} of {of} {_NO_ROOM.get(family, _NO_ROOM['score'])}, so {room} are left, and "
            f"{least} are needed; {_FOR_ROOM.get(family, _FOR_ROOM['score'])}"
        ),
    )
    TOO_FEW_FOR_LIMIT = (
        "too-few-for-limit",
        lambda room, of: (
            f"too few cases: only in {room} of {of} can the verdict change, and so few cannot prove any limit"
            if room < of
            else f"too few cases: {of} cannot prove any limit"
        ),
    )
    FEW_TOGETHER = (
        "few-together",
        "too few cases: all probes together count as {} cases, and {} are needed; give more cases or run more probes",
    )
    NEEDS_HEIGHT = (
        "needs-height",
        lambda height, of, least, family="score": (
            f"too few cases: only in {height} of {of} can the verdict get worse, and {least} are needed; add "
            "cases with "
            "answers that the judge "
            + ("puts into another class than that of damaged answers" if family == "label" else "rates higher")
        ),
    )
    WORST = ("worst", "the worst of {} variants is {}")
    FEW_OF_EACH = (
        "few-of-each",
        "too few cases: each variant needs {} in which the verdict can change; give more cases",
    )
    UNREAD_REPLIES = (
        "unread-replies",
        lambda arm, share: (
            f"{share:.0%} of the replies to {_ARMS.get(arm, arm)} hold no verdict: too many to say what the edit does"
        ),
    )
    NOT_DAMAGED = ("not-damaged", "nothing was damaged")
    NO_DIRECTION = (
        "no-direction",
        "its classes have no order, and no move between them counts as harm: set `harm` or `ordered` in [labels]",
    )
    NO_CLASS_ORDER = (
        "no-class-order",
        "its classes have no order, so none is nearer to the gold than another: set `ordered` in [labels]",
    )
    NO_DAMAGED_CLASS = (
        "no-damaged-class",
        "no class is for a damaged answer, so damage need not change the verdict; if it must, set `damaged` in "
        "[labels]",
    )
    WON_ALREADY = ("won-already", "the treated answer won already")
    TOO_FEW_CASES = ("too-few-cases", lambda n: f"{_cases(n)}: an estimate needs two")
    COUNTED = ("counted", _counted)
    FEW_ROUNDS = ("few-rounds", "fewer than two rounds could be read")
    NO_FLIP = ("no-flip", "the verdict did not move")
    NO_REASON_GIVEN = ("no-reason-given", "the judge gave no reason")
    CUE_NOT_KNOWN = ("cue-not-known", "no rule is known for how a reason names the cue of this bias")
    PEOPLE_UNDECIDED = ("people-undecided", "people did not decide")
    JUDGE_UNDECIDED = ("judge-undecided", "the judge did not decide")
    NOT_IN_RUN = ("not-in-run", "not in this run")
    NOT_ASKED = ("not-asked", "not asked: this run stopped before")
    OTHER_FLOOR = (
        "other-floor",
        "{} was compared with neutral words in one of the two runs: only its outcome can be compared",
    )
    OTHER_EDIT = ("other-edit", "another edit or content")
    OTHER_TARGET = ("other-target", "another treated answer")
    NO_PAIR = ("no-pair", "no value in both runs")
    NOTHING_CLAIMED = ("nothing-claimed", _nothing_claimed)
    OWN_TASKS = ("own-tasks", "it serves {}; the judge's task is {}")
    FEW_ANSWERS = ("few-answers", "fewer than {} answers")
    NOT_WEAKER = ("not-weaker", "no answer is the weaker one")
    NO_SUCH_PLACE = ("no-such-place", "the case has no {} to edit")
    WRITER = ("writer", "the writer: {}")
    NO_TEXT = ("no-text", "there was no text that may be tried")
    NO_EARLIER_TEXT = ("no-earlier-text", "no text of an earlier attack")
    FIGURE = ("figure", "{}")
    VARIANT = ("variant", lambda *inner: ": ".join(["one variant of a rotation", *map(str, inner)]))
    NO_FIGURE = ("no-figure", "{} verdicts have none")
    NO_PLUGIN = ("no-plug-in", "it needs the plug-in {}, which is not installed")
    NO_TRUTH = (
        "no-truth",
        "only observed: these cases do not say which answers are better or equally good, so quality and preference "
        "look the same; with gold labels it is claimed where enough of them are ties",
    )
    ONE_SIDED = (
        "one-sided",
        "the truth is for the judge's own answer in {} questions and against it in {}: at least {} of each are needed",
    )
    TRULY_EQUAL = ("truly-equal", "both answers are equally good")
    ONE_OUTSIDER = (
        "one-outsider",
        "the only judge to compare with is {}: what it dislikes would look like preference; "
        "add a peer of one more family with --calm-peers",
    )
    UNSKILLED_OUTSIDERS = (
        "unskilled-outsiders",
        "the judges to compare with are right in {:.0%} of the verdicts, no better than a coin: what a fair judge says "
        "is not known; add peers that can tell which answer is better",
    )
    NEVER_DECIDES = ("never-decides", "{} says the same of its own answers and of all others")
    SKILL_OR_PREFERENCE = (
        "skill-or-preference",
        "only observed: the judge is right in {:.0%} of the verdicts, the judges to compare with in {:.0%}; the excess "
        "is {:.2f} if skill does not matter and {:.2f} at equal skill; a true quality that they miss, or a taste that "
        "they share, gives a fair judge such an excess, too; pairs of equally good answers can tell",
    )
    FEW_EQUAL = (
        "few-equal",
        "preference cannot be told from skill: {} questions have an own and another answer that are known to be "
        "equally good, and {} are needed; label ties, or make twins with `calm answer --twins`",
    )
    FEW_TWINS = (
        "few-twins",
        "preference cannot be told from skill: {} questions have its own words beside another author's in twins, and "
        "about {} are needed; make more with `calm answer --twins`",
    )
    SHARED_PULL = (
        "shared-pull",
        "its own pull on equally good answers is {:.2f}, but the judges to compare with take the same answers as well "
        "({:.2f}): they may be better than the labels say, or of a style that all judges like",
    )
    TWINS = ("twins", "the answers are twins: each says the same in the words of another author")
    TWINS_ALONE = (
        "twins-alone",
        "a paraphrase may be worse than the original, and too few twins were judged by a judge that is related to "
        "neither author: add a peer of one more family with --calm-peers",
    )
    OWN_WRONG = ("own-wrong", "its own answers truly lost in all of these pairs")
    SERVES = ("serves", "serves {}; the judge's task is {}")
    CLAIMS_LEFT_OUT = (
        "claims-left-out",
        "{} of {} claims of the baseline were not asked in this run: {}; to compare a part on purpose, run that part, "
        "make a baseline of it with `calm accept`, and compare with that",
    )
    ONLY_OBSERVED = ("only-observed", "{} was claimed in the baseline and is only observed now")
    NO_LONGER_TESTED = ("no-longer-tested", "{} was {} in the baseline and is not tested now: {}")
    NOW_OPEN = ("now-open", "{} is {} now: {}")
    CHANGED_BY_HAND = (
        "changed-by-hand",
        "the record of {} gives {} where it says {}: the file was changed by hand; use one that calm wrote",
    )
    CASES_GONE = ("cases-gone", _cases_gone)
    CASES_LOST = ("cases-lost", _cases_lost)
    OTHER_BASELINE = (
        "other-baseline",
        lambda changed, total, names: (
            f"{changed} of {_cases(total)} ha{'s' if changed == 1 else 've'} another edit or content than in the "
            f"baseline ({names}), so they cannot be compared; make a new baseline with `calm accept`"
        ),
    )
    OTHER_JUDGE = ("other-judge", lambda *what: f"the baseline is of another judge: {', '.join(map(str, what))}")
    THEN_AND_NOW = ("then-and-now", "{} was {:.2f} and is {:.2f}")
    WORSE = ("worse", "{} is worse than in the baseline")
    TOO_FEW_PAIRS = ("too-few-pairs", "fewer than two cases compare with the baseline")
    ASIDE = ("aside", lambda reason, count: f"{reason}: {_cases(count)}")
    CHANGES = ("changes", "since the baseline {}")
    NO_POOL = ("no-pool", "no measure is claimed by {} probes or more in both runs: each probe is compared by itself")
    SAME_VERDICTS = ("same-verdicts", "the same judge gave the same verdicts as in the baseline, ask by ask")
    SAME_LENGTH = (
        "same-length",
        lambda gained: (
            f"neutral words of the same length alone {'harm' if gained < 0 else 'help'} the answer by "
            f"{abs(gained):.0%}, so the cause is its length: see verbosity"
        ),
    )
    SAME_GAIN = (
        "same-gain",
        lambda gained: (
            f"neutral words in the same place alone {'harm' if gained < 0 else 'help'} the answer by "
            f"{abs(gained):.0%}, so "
            "the cause is the place and not what the edit says"
        ),
    )
    SAME_PLACE = (
        "same-place",
        "neutral words in the same place alone move {:.0%} of the verdicts, so the judge may follow any new words: "
        "see rewording",
    )
    OVER_ROWS = ("over-rows", lambda rows, probes: f"over all {rows:,} rows of {probes} probes")
    ROWS_LOST = ("rows-lost", lambda count: f"{_cases(count)} of these probes {'was' if count == 1 else 'were'} lost")
    POOLED = ("pooled", lambda count: f"pooled over {count} probe{'s' * (count != 1)}")
    POOLED_UNDECIDED = (
        "pooled-undecided",
        lambda count: (
            f"pooled over {count} probe{'s' * (count != 1)}: the fewer they are, the wider the interval; "
            "more probes or more cases can decide it"
        ),
    )
    OTHER_EDITS = (
        "other-edits",
        lambda count, names: f"{_cases(count)} left out, with another edit or content than before ({names})",
    )
    SERVED_NOW = ("served-now", "{!r} is served by {!r} now and was by {!r}: earlier replies are not reused")
    SCHEMA_BROKEN = (
        "schema-broken",
        "the first reply of {!r} did not keep to its schema: replies are read as they are; `calm try --server` shows "
        "what the server obeys",
    )
    MAY_BE_BILLED = ("may-be-billed", "calls to {!r} that failed may be billed: its cost is an upper estimate")
    NO_USAGE = ("no-usage", "the server of {!r} reports no usage: its cost is an upper estimate")
    INTERRUPTED = ("interrupted", "the run was interrupted: the record holds only what was decided before")
    DID_NOT_RUN = ("did-not-run", "{} of {} tests did not run: {}")
    CRASHED = ("crashed", "{} of {} tests crashed and decided nothing: {}")
    FAILED_IN = ("failed-in", "it failed in its {}: {}")
    PROCESS_DIED = (
        "process-died",
        "the process that ran it ended suddenly; run it with -n0, or see whether memory ran out",
    )
    REPORT_BARE = (
        "report-bare",
        "its report came without what calm added to it: a plugin ran it in another process, or made the "
        "report itself; run it without that plugin",
    )
    REPORT_KEPT = (
        "report-kept",
        "the report of its body never came, so nobody knows what it found: a plugin or a conftest.py "
        "kept it back; run it without that plugin",
    )
    NOT_BEGUN = ("not-begun", "the run ended before its turn came")
    CUT_SHORT = ("cut-short", "the run ended while it ran")
    SKIPPED = ("skipped", "skipped: {}")
    EXPECTED = ("expected", "xfail: {}")
    NOT_COLLECTED = (
        "not-collected",
        "tests are missing, since pytest could not collect {}; fix the error that it shows",
    )
    ENDED_EARLY = (
        "ended-early",
        "pytest ended with status {} before it was done: the record holds only what was decided before",
    )
    HOOK_FAILED = ("hook-failed", "another plugin or a conftest.py failed at the end of the run: {}")
    FILE_LOST = ("file-lost", "--calm-{}: {}")
    NOT_POOLED = (
        "not-pooled",
        "what all probes show together, or against the baseline, could not be computed: {}; it is a fault of calm: "
        "please report it",
    )
    BILL_OF_DEAD = (
        "bill-of-dead",
        lambda count: (
            f"{count} worker{'s' * (count != 1)} of pytest-xdist ended suddenly: the bill counts what they had "
            "used when "
            "they last kept a reply; calls that were under way then may be billed, too"
        ),
    )
    TWICE = (
        "twice",
        "two tests make the same finding: {}, by {} and by {}; take it out of one of them, or give the edit of one "
        "another name: dataclasses.replace(edit, name=...)",
    )
    TWICE_IN_TEST = (
        "twice-in-test",
        "a test makes the same finding twice: {}, by {}; take one of them out, or give one edit another name: "
        "dataclasses.replace(edit, name=...)",
    )
    NAME_TAKEN = (
        "name-taken",
        "expected a bias with a name of its own, got {}, which names findings about all tests together; "
        "rename the bias of the edit, or the file of the test",
    )
    OTHER_SUBJECTS = (
        "other-subjects",
        "{} tests have other cases or another judge: the record names those of the first test",
    )
    STOPPED_EARLY = ("stopped-early", _asked)
    SELECTED = (
        "selected",
        lambda some, of=0: (
            f"only {some}{f' of {of}' if of else ''} test{'s' * ((of or some) != 1)} of the gate were selected "
            "(-k, -m, --lf or the like): the others are not tested"
        ),
    )
    REPEATS_ITSELF = (
        "repeats-itself",
        "asked twice about {} cases, the judge always said the same, so calm measures its noise with neutral words",
    )
    SAYS_TIE = ("says-tie", "between two equal answers the judge says tie in {} of 100 asks")
    TAKES_FIRST = (
        "takes-first",
        "between two equal answers the judge takes the first in {} of 100 asks: ask in both orders",
    )
    TAKES_LAST = (
        "takes-last",
        "between two equal answers the judge takes the last in {} of 100 asks: ask in both orders",
    )
    TAKES_EITHER = (
        "takes-either",
        "between two equal answers the judge takes the first in {} of 100 asks, the last in {}",
    )
    TURNS_ON_REWORDING = (
        "turns-on-rewording",
        "neutral words alone change {:.0%} of the verdicts: see the control 'rewording'",
    )
    TURNS_ON_LENGTH = (
        "turns-on-length",
        lambda probes: (
            f"length alone changes verdicts: in {probes} probe{'s' * (probes != 1)} neutral words as long as the "
            "edit did; "
            "see verbosity"
        ),
    )
    ROOM = (
        "room",
        lambda cases, total: (
            f"in {cases} of {_cases(total)} the score can rise; in the others it is near the top already"
            if cases < total
            else f"in all {_cases(total)} the score can rise"
        ),
    )
    FEW_CLUSTERS = ("few-clusters", "{0} cases are about {1} questions: every interval rests on {1}, not on {0}")
    TOPIC = (
        "topic",
        "questions with the same `{0}` move together: {2} are in {1} groups, so intervals are too narrow; that of {3} "
        "would be {4:.1f} times as wide; give the cases of one group the same tag `cluster`",
    )
    AT_RESOLUTION = (
        "at-resolution",
        lambda cases, measure, limit, stated, family="pairwise": (
            f"{_cases(cases)} prove{'s' * (cases == 1)} less than 200, so claims pass at wider limits: "
            f"{_shown_by(measure, limit, family)} (with 200 cases: {_part(stated)}). "
            f"{_STILL_FAILS.format('the limit for 200 cases')}"
            if cases < 200
            else f"{cases} cases are too few for some limits, so claims pass at wider ones: "
            f"{_shown_by(measure, limit, family)} (the suite states {_part(stated)}). "
            f"{_STILL_FAILS.format('the stated limit')}"
        ),
    )
    GATE_UNUSED = ("gate-unused", "--calm-gate: {} is no claim of this run; correct or remove it")
    GATE_MISSPELT = ("gate-misspelt", "--calm-gate: {}: no bias has this name; did you mean {!r}?")
    TEXTS_NOT_FOUND = ("texts-not-found", "the texts of this run were not found: {} does not lie beside {}")
    READS_GOLD = (
        "reads-gold",
        "judge {} reads the gold labels ({}): a copy of them passes all tests that use them, so this run proves "
        "nothing about a judge that does not",
    )
    LABEL_LATER = (
        "label-later",
        "{}: in {} of the {} replies with a verdict the label was not the first token: the last of these has it as "
        "token {}, {}, after {}; its probabilities are those after that text",
    )
    MEMBER = ("member", "{}: {}")
    PANEL_SILENT = ("panel-silent", "panel {}: {} gave no verdict in {} of {} asks; the panel went without it")
    PANEL_AGREES = ("panel-agrees", "panel {}: its members agree: {}")
    PANEL_WEIGHTS = ("panel-weights", "panel {}: the mean weights of its members: {}")
    PANEL_UNABLE = (
        "panel-unable",
        "panel {}: no member's server gives log-probabilities of a prompt's tokens (`prompt_logprobs`), as vLLM does; "
        "take panel-mean, or a member on such a server",
    )
    PANEL_MEAN_WEIGHT = (
        "panel-mean-weight",
        "panel {}: {} has the mean weight of the others in {} of {} asks: its server did not say how likely an answer "
        "is (`prompt_logprobs`)",
    )
    PANEL_UNWEIGHED = (
        "panel-unweighed",
        "panel {}: in {} of {} asks no server said how likely an answer is, so all members weigh the same there",
    )
    DISCUSSION_ENDED = (
        "discussion-ended",
        "discussion of {}: of {} asks the two agreed at once in {}, after an exchange in {}, and never in {}",
    )
    CALIBRATED_ON = (
        "calibrated-on",
        "judge {}: {} of the cases are among those of {}, from which its criteria come: what it says of them is no "
        "evidence; leave them out",
    )
    TEXTS_LEFT_OUT = (
        "texts-left-out",
        "texts were left out of this record: no question, answer, prompt or reply is in it",
    )
    FEW_LABELS = (
        "few-labels",
        "{} labelled questions: with fewer than {} no mapping is fitted, and intervals are wide",
    )
    SAME_WORD = (
        "same-word",
        "the judge says {!r} in {:.0%} of its verdicts, and people in {:.0%} of theirs: it hardly looks at the case",
    )
    AS_A_CONSTANT = (
        "as-a-constant",
        "the judge is right in {:.0%} of the cases, and one that always says {!r} in {:.0%}: "
        "nothing shows that it does better than that",
    )
    OFF_AS_A_CONSTANT = (
        "off-as-a-constant",
        "the judge is off by {:.2f} on average, and one that gives every case {:g} by {:.2f}: "
        "nothing shows that it does better than that",
    )
    ONE_CLASS = (
        "one-class",
        "the judge is right in {:.0%} of the cases of which people say {!r}, and in {:.0%} of those of which they say "
        "{!r}: its agreement comes from the easy kind, and falls where the other one is more frequent",
    )
    WEAK_SLICE = (
        "weak-slice",
        "the judge is right in {:.0%} of the cases with {} = {}, and in {:.0%} of the others: "
        "the share over all cases hides it",
    )
    SAME_ASKS = (
        "same-asks",
        "all asks of a case say the same, in every case: repeats tell nothing about how sure the judge is",
    )
    UNREAD_SHARE = ("unread-share", "{:.0%} of the replies hold no verdict; each counts as wrong")
    LABELS_NOT_DRAWN = (
        "labels-not-drawn",
        "the labelled cases are not drawn like the others: the judge's mean is {:.2f} on them and {:.2f} on the others "
        "(p={:.2g}), so the labels tell no mean of these; label a random sample of all cases",
    )
    OTHER_CALIBRATION = (
        "other-calibration",
        "the calibration is of another judge, prompt or model than this run: its thresholds, its corrected rates and "
        "its share of cases to decide alone say nothing of this one; run `calm calibrate` again",
    )
    HIDDEN_WHY = ("hidden-why", "why is left out with the texts")
    HIDDEN_LOSS = ("hidden-loss", "lost, or for a reason left out with the texts")
    HIDDEN_NOTE = ("hidden-note", "a note of the run is left out with the texts")
    HIDDEN_CHANGES = ("hidden-changes", "since the baseline something changed, and what is left out with the texts")


Detail: TypeAlias = "str | int | float | Said | Reason"
"""A name, number or code of ours; a text that somebody else said; or a reason that this one repeats."""


@dataclass(frozen=True, slots=True)
class Reason:
    """A kind and its details, in the order in which the words of the kind name them."""

    kind: Kind
    details: tuple[Detail, ...] = ()

    def __bool__(self) -> bool:
        return self.kind is not Kind.NONE

    def __str__(self) -> str:
        words = self.kind.words
        return words.format(*self.details) if isinstance(words, str) else words(*self.details)

    @property
    def quotes(self) -> bool:
        """Whether a detail, or one of a repeated reason, is a text that somebody said."""
        return any(isinstance(d, Said) or (isinstance(d, Reason) and d.quotes) for d in self.details)

    @property
    def worst(self) -> str:
        """The label of the variant that it names as the worst; empty where it names none."""
        found = self.of(Kind.WORST)
        return "" if found is None else getattr(found.details[1], "text", str(found.details[1]))

    @property
    def unfinished(self) -> bool:
        """Whether the run itself left something unasked, so that nobody knows what would have been answered."""
        return any(map(self.has, (Kind.CAPPED, Kind.IN_BATCH, Kind.HELD)))

    @property
    def unmade(self) -> bool:
        """Whether a call was not made, since the run ended before, a cap was reached or the cache failed."""
        return self.unfinished or any(map(self.has, (Kind.STOPPED, Kind.NOT_KEPT, Kind.CAPPED_UNPRICED)))

    def has(self, kind: Kind) -> bool:
        """Return whether this reason, or one that it repeats, is of a kind."""
        return self.of(kind) is not None

    def of(self, kind: Kind) -> Reason | None:
        """Return the reason of a kind: this one, or the first that it repeats; None without one."""
        inner = (d.of(kind) for d in self.details if isinstance(d, Reason))
        return self if self.kind is kind else next((one for one in inner if one is not None), None)


NONE: Final = Reason(Kind.NONE)
"""No reason: it is false, and has no words."""
_ASK_PLAINLY: Final = "ask more plainly in [prompt] system, or take another model"
_TRUE_SERVER: Final = "take another server, or tell its maker that these are not the answers that its API promises"
UNFIT: Final = (Kind.APPLIES_NOT, Kind.NO_TWIN, Kind.NO_OTHER_IMAGE)
"""Why an edit fits none of a run's cases."""
MENDS: Final = {
    Kind.OFF_SCALE: "let [verdict.scale] in judge.toml and the prompt name the same scale",
    Kind.OUT_OF: "let [verdict.scale] in judge.toml and the prompt name the same scale",
    Kind.REPLY_CUT: "raise max_tokens under [model] in judge.toml",
    Kind.UNANSWERED: _ASK_PLAINLY,
    Kind.ANSWER_NONE: _ASK_PLAINLY,
    Kind.ANSWER_TYPE: _TRUE_SERVER,
    Kind.ANSWER_OPTIONS: _TRUE_SERVER,
    Kind.ANSWER_CHANCES: _TRUE_SERVER,
    Kind.ANSWER_CONTRADICTED: _TRUE_SERVER,
}
"""What makes replies readable, by the reason why they are not."""
_OF_ONE: Final = (Kind.WORST, Kind.ROWS_LOST, Kind.UNREAD_BY)
"""What one finding says of itself, and no other with the same reason."""
LONGEST_NAME: Final = 100
"""How many characters the name of a model, a judge or an edit may have."""
MOST_REASONS: Final = 3
"""How many reasons are named before the rest is only counted."""


def because(kind: Kind, *details: Detail) -> Reason:
    """
    Return a reason of a kind with its details.

    >>> str(because(Kind.CAPPED, "--calm-max-calls 5"))
    'a cap was reached: --calm-max-calls 5'
    """
    return Reason(kind, details)


def reason_of(found: Reason | str | BaseException) -> Reason:
    """
    Return the reason that an exception or a verdict without a reply carries; a plain text was said by somebody.

    >>> reason_of(ValueError(because(Kind.STOPPED))).kind, reason_of("the server is down").quotes
    (<Kind.STOPPED: 'stopped'>, True)
    """
    if isinstance(found, BaseException):
        first = found.args[0] if found.args else None
        return first if isinstance(first, Reason) else because(Kind.SAID, Said(str(found)))
    return found if isinstance(found, Reason) else because(Kind.SAID, Said(found))


def counted(reasons: Mapping[Reason, int]) -> Reason:
    """
    Return the reasons for leaving cases out as one, the most frequent first; `NONE` if there are none.

    >>> str(counted({because(Kind.APPLIES_NOT): 3, because(Kind.STOPPED): 9}))
    'the run was stopped (9 cases); does not apply (3 cases)'
    """
    if not reasons:
        return NONE
    ordered = sorted(reasons.items(), key=lambda item: (-item[1], _rank(item[0])))
    rest = sum(count for _, count in ordered[MOST_REASONS:])
    return because(Kind.COUNTED, rest, *(part for pair in ordered[:MOST_REASONS] for part in pair))


def ordered(reasons: Mapping[Reason, int]) -> dict[Reason, int]:
    """Return counts in an order that depends on the reasons alone, and not on their words."""
    return dict(sorted(reasons.items(), key=lambda item: _rank(item[0])))


def listed(reasons: Sequence[Reason]) -> Reason:
    """Return several reasons as one."""
    return reasons[0] if len(reasons) == 1 else Reason(Kind.LISTED, tuple(reasons)) if reasons else NONE


def shared(reason: Reason) -> Reason:
    """
    Return a reason as several findings share it: without counts of cases, and without the variant that is the worst.

    >>> worst, lost = because(Kind.WORST, 3, "a"), counted({because(Kind.STOPPED): 9, because(Kind.APPLIES_NOT): 2})
    >>> str(shared(listed([worst, lost]))), str(shared(worst))
    ('the run was stopped; does not apply', 'the worst of 3 variants is a')
    """
    if reason.kind not in (Kind.LISTED, Kind.COUNTED):
        return reason
    parts = [one for one in reason.details if isinstance(one, Reason) and one.kind not in _OF_ONE]
    return listed(list(dict.fromkeys(map(shared, parts)))) or reason


def name(text: str) -> str | Said:
    """
    Return a name as a detail: as it is if it is short and in one line, else as a text that somebody said.

    >>> name("vendor/model-1"), name("a\\nb")
    ('vendor/model-1', Said(text='a\\nb'))
    """
    return text if len(text) <= LONGEST_NAME and text.isprintable() else Said(text)


def in_words(reasons: Mapping[Reason, int]) -> dict[str, int]:
    """Return counts by the words of their reasons, in the order of the words."""
    found: Counter[str] = Counter()
    for reason, count in reasons.items():
        found[str(reason)] += count
    return dict(sorted(found.items()))


def _rank(reason: Reason) -> tuple[object, ...]:
    """Order reasons by what they are, not by their words."""
    parts = [_rank(d) if isinstance(d, Reason) else (str(d),) for d in reason.details]
    return (reason.kind.value, *(str(part) for part in parts))
