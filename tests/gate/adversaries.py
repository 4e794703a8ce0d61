"""
Judges that a hostile or lazy engineer would write, and one honest judge for each task. They are no tests.

A test copies this file into an empty folder, and the gate imports it from there, as it would a user's own.
"""

import hashlib
import itertools
import re
import time

from calm.cases import bundled, equal_cases

PAIRS = {case.question: case for case in (*equal_cases("pairwise", bundled("pairwise")), *bundled("pairwise"))}
GRADED = {case.question: case for case in bundled("score")}
CHECKS = {(case.question, c.text): c.check for case in bundled("rubric") for c in case.criteria}
MET = {
    (case.question, c.text): case.met[answer.id][c.id]
    for case in bundled("rubric")
    for c in case.criteria
    for answer in case.answers
}
KNOWN = {answer.text for task in ("pairwise", "score", "rubric") for case in bundled(task) for answer in case.answers}
TABLE = re.compile(r"^\s*\|.*\|\s*$", re.MULTILINE)
LINK = re.compile(r"https?://|www\.")
TO_THE_JUDGE = re.compile(r"evaluator|judge|grader|verdict", re.IGNORECASE)
ARGUES = re.compile(r"\b(true|proven|proves|caused|follows|therefore|hence)\b")
CALLS = itertools.count()
ASKED = {}


def judge(task, *reads):
    """Say what the function is, and keep it where it stands."""

    def mark(function):
        function.task, function.quick = task, True
        if reads:
            function.reads = reads
        return function

    return mark


# What an honest judge knows


def words(text):
    """The words of a text, in lower case."""
    return re.findall(r"\w+", text.lower())


def sentences(text):
    """The words of each sentence or line."""
    return [words(part) for part in re.split(r"(?<=[.!?:;])\s+|\n+", text) if words(part)]


def harm(original, text):
    """The share of the original's sentences that are gone, changed, or argued for badly by a new sentence."""
    told, shown = sentences(original), sentences(text)
    flat = f" {' '.join(words(text))} "
    gone = sum(f" {' '.join(sentence)} " not in flat for sentence in told)
    kept = [at for at, sentence in enumerate(shown) if sentence in told]
    between = shown[kept[0] : kept[-1]] if kept else []
    bad = sum(sentence not in told and ARGUES.search(" ".join(sentence)) is not None for sentence in between)
    return min(1.0, (gone + bad) / len(told))


def worth(case, answer):
    """How good one of two answers is: 1 if good, 0 if bad, and less for any harm."""
    known = PAIRS[case.question]
    done, nearest = min(((harm(a.text, answer.text), a.id) for a in known.answers), key=lambda pair: pair[0])
    gold = 0.5 if known.better == "tie" else float(nearest == known.better)
    return gold - 2 * done - (1.25 if done else 0)


def better(case, key):
    """The answer with the larger key, or a tie."""
    one, two = case.answers
    if key(one) == key(two):
        return "tie"
    return one.id if key(one) > key(two) else two.id


def best(case):
    """The better answer by what it says."""
    return better(case, lambda answer: worth(case, answer))


def grade(case):
    """The gold score of the answer, less for any harm."""
    known = GRADED[case.question]
    done = harm(known.answers[0].text, shown(case))
    return clip(next(iter(known.scores.values())) - (1.5 + 9 * done if done else 0))


def truth(case):
    """Which criteria the text meets."""
    return {c.id: holds(CHECKS[case.question, c.text], shown(case)) for c in case.criteria}


def holds(check, text):
    """Whether a text meets a criterion that can be computed."""
    kind, value = check["kind"], check.get("value")
    lines, low = text.splitlines(), text.lower()
    prose = re.sub(r"^\s*(#+|[-*+]|\d+[.)])\s+", "", text, flags=re.MULTILINE)
    stops = len(re.findall(r"[.!?]+(?:\s|$)", prose))
    numbers = [int(found[1]) for line in lines if (found := re.match(r"\s*(\d+)[.)]\s+\S", line))]

    def times(phrase):
        return len(re.findall(rf"(?<!\w){re.escape(phrase.lower())}(?!\w)", low))

    rules = {
        "contains": lambda: times(value) > 0,
        "contains_all": lambda: all(times(phrase) for phrase in value),
        "mentions_at_least": lambda: times(value) >= check["times"],
        "avoids": lambda: not times(value),
        "starts_with": lambda: low.strip().startswith(value.lower()),
        "ends_with": lambda: low.strip().endswith(value.lower()),
        "max_words": lambda: len(text.split()) <= value,
        "min_words": lambda: len(text.split()) >= value,
        "max_sentences": lambda: stops <= value,
        "exact_sentences": lambda: stops == value,
        "exact_paragraphs": lambda: sum(bool(part.strip()) for part in re.split(r"\n\s*\n", text)) == value,
        "exact_bullets": lambda: sum(bool(re.match(r"\s*[-*+]\s+\S", line)) for line in lines) == value,
        "numbered_list": lambda: numbers == list(range(1, value + 1)),
        "has_heading": lambda: any(re.match(r"\s*#{1,6}\s+\S", line) for line in lines),
        "bold_title": lambda: any(re.fullmatch(r"\s*(\*\*|__).+\1\s*", line) for line in lines),
        "has_code_block": lambda: re.search(r"```[^\n]*\n[^`]+```", text) is not None,
        "has_quotation": lambda: re.search(r'["“][^"\n“”]*\w[^"\n“”]*["”]', text) is not None,
        "has_digits": lambda: re.search(r"\d", prose) is not None,
        "no_digits": lambda: re.search(r"\d", prose) is None,
        "no_commas": lambda: "," not in text,
        "no_exclamation": lambda: "!" not in text,
        "all_lowercase": lambda: text == low,
    }
    return rules[kind]()


# Small tools


def shown(case):
    """The text of the only answer."""
    return case.answers[0].text


def clip(score):
    """A score on the scale from 1 to 10."""
    return min(10.0, max(1.0, score))


def every(case, met):
    """One verdict for all criteria."""
    return {c.id: met for c in case.criteria}


def draw(*parts):
    """A number from 0 to 1 that the parts fix."""
    return int(hashlib.sha256("|".join(parts).encode()).hexdigest()[:8], 16) / 16**8


def unlucky(case, share):
    """In this share of all asks, by what is shown."""
    return draw(case.question, *(answer.text for answer in case.answers)) < share


def other_answer(case, verdict):
    """The answer that did not win."""
    return next(answer.id for answer in case.answers if answer.id != verdict)


def known(case):
    """Whether all of the answers are as they stand in the file."""
    return all(answer.text in KNOWN for answer in case.answers)


# Pairs


@judge("pairwise")
def pair_honest(case):
    """Be right, but for 3 % of the asks."""
    verdict = best(case)
    return other_answer(case, verdict) if unlucky(case, 0.03) and verdict != "tie" else verdict


@judge("pairwise")
def pair_first_id(case):
    """Sort by id."""
    return min(answer.id for answer in case.answers)


@judge("pairwise")
def pair_shortest_id(case):
    """Take the shortest id."""
    return min(case.answers, key=lambda answer: len(answer.id)).id


@judge("pairwise")
def pair_good_id(case):
    """Look for an id that says "good"."""
    return next((answer.id for answer in case.answers if "good" in answer.id), "tie")


@judge("pairwise")
def pair_case_id(case):
    """Read the answer off the case's id."""
    return case.answers[draw(case.id) < 0.5].id


@judge("pairwise")
def pair_repr(case):
    """Draw lots from all that Python prints of the case."""
    return case.answers[draw(repr(case)) < 0.5].id


@judge("pairwise")
def pair_by_turns(case):
    """Take the first answer, then the second."""
    return case.answers[next(CALLS) % 2].id


@judge("pairwise")
def pair_bored(case):
    """Be right until a question comes for the fifth time, and then take the first answer."""
    ASKED[case.question] = ASKED.get(case.question, 0) + 1
    return best(case) if ASKED[case.question] < 5 else case.answers[0].id


@judge("pairwise")
def pair_clock(case):
    """Ask the clock."""
    return case.answers[time.perf_counter_ns() // 100 % 2].id


@judge("pairwise")
def pair_tie(case):
    """Call everything a tie."""
    return "tie"


@judge("pairwise")
def pair_longer(case):
    """Take the longer answer."""
    return better(case, lambda answer: len(answer.text))


@judge("pairwise")
def pair_much_longer(case):
    """Be right, unless an answer is longer by a third."""
    short, long = sorted(case.answers, key=lambda answer: len(answer.text))
    return long.id if len(long.text) > 1.3 * len(short.text) else best(case)


@judge("pairwise")
def pair_shorter(case):
    """Take the shorter answer."""
    return better(case, lambda answer: -len(answer.text))


@judge("pairwise")
def pair_link(case):
    """Take the answer with a link; without one be right."""
    verdict = better(case, lambda answer: LINK.search(answer.text) is not None)
    return best(case) if verdict == "tie" else verdict


@judge("pairwise")
def pair_table(case):
    """Take the answer with a table; without one be right."""
    verdict = better(case, lambda answer: TABLE.search(answer.text) is not None)
    return best(case) if verdict == "tie" else verdict


@judge("pairwise")
def pair_obeys(case):
    """Take the answer that talks to the judge; without one be right."""
    verdict = better(case, lambda answer: TO_THE_JUDGE.search(answer.text) is not None)
    return best(case) if verdict == "tie" else verdict


@judge("pairwise")
def pair_upside_down(case):
    """Take the worse answer."""
    verdict = best(case)
    return verdict if verdict == "tie" else other_answer(case, verdict)


@judge("pairwise")
def pair_by_heart(case):
    """Know which of the two texts is the good one, whatever has become of it."""
    file = PAIRS[case.question]
    good = {word for answer in file.answers if answer.id == file.better for word in words(answer.text)}
    bad = {word for answer in file.answers if answer.id != file.better for word in words(answer.text)}

    def sign(answer):
        here = set(words(answer.text))
        return len(here & (good - bad)) - len(here & (bad - good))

    return better(case, sign)


@judge("pairwise")
def pair_digits(case):
    """Take the answer with more digits."""
    return better(case, lambda answer: sum(letter.isdigit() for letter in answer.text))


@judge("pairwise")
def pair_capitals(case):
    """Take the answer with more capital letters."""
    return better(case, lambda answer: sum(letter.isupper() for letter in answer.text))


@judge("pairwise")
def pair_only_known(case):
    """Be right about the texts of the file, and be unreadable on all others."""
    return best(case) if known(case) else None


@judge("pairwise")
def pair_no_links(case):
    """Be unreadable where an answer has a link."""
    return None if any(LINK.search(answer.text) for answer in case.answers) else best(case)


@judge("pairwise")
def pair_mumbles(case):
    """Be unreadable in 30 % of the asks."""
    return None if unlucky(case, 0.3) else best(case)


# Scores


@judge("score")
def score_honest(case):
    """Be right, but for 3 % of the asks."""
    return 11 - grade(case) if unlucky(case, 0.03) else grade(case)


@judge("score")
def score_constant(case):
    """Give everybody a five."""
    return 5


@judge("score")
def score_case_id(case):
    """Read the score off the case's id."""
    return 1 + int(9 * draw(case.id))


@judge("score")
def score_repr(case):
    """Draw a score from all that Python prints of the case."""
    return 1 + int(9 * draw(repr(case)))


@judge("score")
def score_calls(case):
    """Count to ten."""
    return 1 + next(CALLS) % 10


@judge("score")
def score_longer(case):
    """Give more for length."""
    return clip(1 + len(shown(case)) / 100)


@judge("score")
def score_shorter(case):
    """Give more for brevity."""
    return clip(10 - len(shown(case)) / 100)


@judge("score")
def score_link(case):
    """Add five for a link."""
    return clip(grade(case) + 5 * (LINK.search(shown(case)) is not None))


@judge("score")
def score_table(case):
    """Add five for a table."""
    return clip(grade(case) + 5 * (TABLE.search(shown(case)) is not None))


@judge("score")
def score_first_verdict(case):
    """Say again what it said when the question first came."""
    return ASKED.setdefault(case.question, grade(case))


@judge("score")
def score_only_known(case):
    """Be right about the texts of the file, and be unreadable on all others."""
    return grade(case) if known(case) else None


@judge("score")
def score_mumbles(case):
    """Be unreadable in 30 % of the asks."""
    return None if unlucky(case, 0.3) else grade(case)


# Rubrics


@judge("rubric")
def rubric_honest(case):
    """Be right, but for 3 % of the asks."""
    flip = unlucky(case, 0.03)
    return {name: met is not flip for name, met in truth(case).items()}


@judge("rubric")
def rubric_all_met(case):
    """Call all criteria met."""
    return every(case, True)


@judge("rubric")
def rubric_criterion_id(case):
    """Call the odd criteria met."""
    return {c.id: c.id in {"c1", "c3", "c5"} for c in case.criteria}


@judge("rubric")
def rubric_criterion_text(case):
    """Guess from the criterion alone."""
    return {c.id: draw(c.text) < 0.5 for c in case.criteria}


@judge("rubric")
def rubric_longer(case):
    """Call all criteria met if the text is long."""
    return every(case, len(words(shown(case))) > 45)


@judge("rubric")
def rubric_shorter(case):
    """Call all criteria met if the text is short."""
    return every(case, len(words(shown(case))) < 45)


@judge("rubric")
def rubric_link(case):
    """Call all criteria met if there is a link."""
    return every(case, True) if LINK.search(shown(case)) else truth(case)


@judge("rubric")
def rubric_table(case):
    """Call all criteria met if there is a table."""
    return every(case, True) if TABLE.search(shown(case)) else truth(case)


@judge("rubric")
def rubric_by_heart(case):
    """Know the gold of the file, whatever has become of the text."""
    return {c.id: MET[case.question, c.text] for c in case.criteria}


@judge("rubric")
def rubric_only_known(case):
    """Be right about the texts of the file, and be unreadable on all others."""
    return truth(case) if known(case) else None
