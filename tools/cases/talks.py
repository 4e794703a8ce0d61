"""
Make conversations whose gold a program knows: a good reply uses what the user said in earlier turns.

A scenario has three facts. In the conversation the user says each of them, in some cases one of them wrongly at first,
with a correction later. The good reply uses all three, the near one leaves one out, and the far one takes another value
for two of them or asks for what was said. Each criterion of a case is one fact, which a check finds in a reply.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Final

from calm.cases.generate.scores import gold
from calm.core.checks import verify
from tools.cases.scenarios import SCENARIOS, Fact, Scenario

__all__ = ["talk_cases"]

ACKNOWLEDGED: Final = ("Noted.", "All right.", "I have that.", "Good to know.", "I see.", "That helps.")
CLOSED: Final = ("I have all I need.", "That is all I wanted to know.", "Then we have it together.", "That will do.")
CORRECTED: Final = (
    "I have to correct the {name}: {value} is right, and {other} was a slip of mine.",
    "I looked it up now, and the {name} is {value} rather than {other}.",
    "About the {name}: forget {other}, I meant {value}.",
)
CHANGED: Final = ("I have changed it.", "It is changed.", "Then I take that.")
WAYS: Final = ("good", "near", "far")
KEPT: Final = ("This message is kept for you.", "This message is kept under {number} in case you need it.")
NUMBERED: Final = {"good": 0.2, "near": 0.6, "far": 0.6}
"""
How many of the replies end with a number that says nothing: the good ones have more numbers of facts, and a judge that
goes by numbers alone must not be right.
"""

Turns = list[dict[str, str]]


def talk_cases(count: int, seed: int) -> list[dict[str, object]]:
    """
    Make conversations of 4 to 10 turns with three replies each; the same seed makes the same ones.

    Raises:
        ValueError: more of them than the scenarios have different questions for.
    """
    rng = random.Random(seed)
    seen: set[str] = set()
    return [_new(number, SCENARIOS[number % len(SCENARIOS)], rng, seen) for number in range(count)]


def _new(number: int, scenario: Scenario, rng: random.Random, seen: set[str]) -> dict[str, object]:
    """Draw a conversation until its last question is new."""
    for _ in range(1000):
        item = _one(scenario.items, rng)
        question = _one(scenario.asked, rng, item=item)
        if question not in seen:
            seen.add(question)
            return _case(number, scenario, item, question, rng)
    raise ValueError(f"expected fewer conversations, got more than {scenario.name} has questions for")


def _case(number: int, scenario: Scenario, item: str, question: str, rng: random.Random) -> dict[str, object]:
    drawn = [rng.sample(fact.values.split("|"), 2) for fact in scenario.facts]
    known = {fact.name: (value, other) for fact, (value, other) in zip(scenario.facts, drawn, strict=True)}
    corrected = rng.choice(scenario.facts) if rng.random() < 0.4 else None
    turns = _turns(scenario, item, known, corrected, rng)
    texts = _replies(scenario, known, rng)
    criteria: list[dict[str, object]] = [
        {
            "id": f"c{place}",
            "text": f"The reply keeps to the {fact.name} that the user gave.",
            "check": {"kind": "contains", "value": known[fact.name][0]},
        }
        for place, fact in enumerate(scenario.facts, 1)
    ]
    met = {way: {str(c["id"]): verify(_check(c), text) for c in criteria} for way, text in texts.items()}
    order = rng.sample(WAYS, len(WAYS))
    return {
        "id": f"talk-{number + 1:03d}",
        "question": question,
        "answers": [{"id": way, "text": texts[way]} for way in order],
        "better": "good",
        "criteria": criteria,
        "met": met,
        "scores": {way: gold(sum(truth.values()), len(truth)) for way, truth in met.items()},
        "tags": {"category": scenario.name, "corrected": corrected.name if corrected else "nothing"},
        "turns": turns,
    }


def _check(criterion: Mapping[str, object]) -> Mapping[str, object]:
    check = criterion["check"]
    return check if isinstance(check, dict) else {}


def _turns(
    scenario: Scenario,
    item: str,
    known: Mapping[str, tuple[str, str]],
    corrected: Fact | None,
    rng: random.Random,
) -> Turns:
    """Return a conversation: the first words hold none of the facts, or one or two; the others are asked for."""
    facts = rng.sample(scenario.facts, 3)
    said = {fact.name: _one(fact.said, rng, value=known[fact.name][1 if fact is corrected else 0]) for fact in facts}
    at_once = rng.choice((0, 1, 2))
    turns = [_user(" ".join([_one(scenario.opens, rng, item=item), *(said[fact.name] for fact in facts[:at_once])]))]
    for place, fact in enumerate(facts[at_once:]):
        begun = "" if place == 0 and at_once == 0 else f"{rng.choice(ACKNOWLEDGED)} "
        turns += [_assistant(f"{begun}{_one(fact.asks, rng)}"), _user(said[fact.name])]
    turns.append(_assistant(f"{rng.choice(ACKNOWLEDGED)} {rng.choice(CLOSED)}"))
    if rng.random() < 0.4 and len(turns) + 2 * (corrected is not None) <= 8:
        asked, replied = scenario.aside.split("|")
        turns += [_user(asked), _assistant(replied)]
    if corrected is not None:
        value, other = known[corrected.name]
        form = rng.choice(CORRECTED)
        turns.append(_user(form.format(name=corrected.name, value=value, other=other)))
        turns.append(_assistant(f"{rng.choice(ACKNOWLEDGED)} {rng.choice(CHANGED)}"))
    return turns


def _replies(scenario: Scenario, known: Mapping[str, tuple[str, str]], rng: random.Random) -> dict[str, str]:
    """Return the three replies; they begin and end alike, and differ in what they do with the facts."""
    left = rng.choice(scenario.facts)
    spared = rng.choice(scenario.facts)
    near = {fact.name: "vague" if fact is left else "used" for fact in scenario.facts}
    far = {fact.name: rng.choice(("wrong", "again")) for fact in scenario.facts}
    far[spared.name] = rng.choice(("used", "vague"))
    begins, ends = _one(scenario.begins, rng), _one(scenario.ends, rng)
    chosen = {fact.name: rng.randrange(2) for fact in scenario.facts}

    def reply(way: str, ways: Mapping[str, str]) -> str:
        said = []
        for fact in scenario.facts:
            value, other = known[fact.name]
            forms: Sequence[str] = getattr(fact, ways[fact.name]).split("|")
            said.append(forms[chosen[fact.name]].format(value=value, other=other))
        told = sorted(zip(said, scenario.facts, strict=True), key=lambda one: ways[one[1].name] == "again")
        number = f"{rng.randrange(10_000):04d}-{rng.randrange(100):02d}"
        kept = KEPT[rng.random() < NUMBERED[way]].format(number=number)
        return " ".join([begins, *(text for text, _ in told), ends, kept])

    good = dict.fromkeys(near, "used")
    return {"good": reply("good", good), "near": reply("near", near), "far": reply("far", far)}


def _one(forms: str, rng: random.Random, **filled: str) -> str:
    return rng.choice(forms.split("|")).format(**filled)


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "text": text}


def _assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "text": text}
