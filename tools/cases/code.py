"""
Make cases about Python code whose gold is the share of tests that an answer's code passes.

Every problem has an oracle that is worked out another way than the code of any answer, and arguments to try: the code
of the right answer passes all tests, that of the near one fails some, that of the far one most. What a text says that
its code prints is what it printed. The functions are pure: the same count gives the same cases.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby, pairwise
from math import gcd
from statistics import median
from string import ascii_lowercase
from typing import Any, Final

from calm.cases.generate.scores import gold

__all__ = ["MOST", "PROBLEMS", "Problem", "Way", "code_cases", "passed", "source"]

WAYS: Final = ("good", "near", "far")
REMARKS: Final = (
    "No import is needed for this.",
    "It runs in any recent version of Python.",
    "The call below the function shows how to use it.",
)
"""What is true of every answer: it keeps the right ones from being the longer ones."""
_RAISED: Final = object()


@dataclass(frozen=True)
class Way:
    """One way to solve a problem: how it goes in words, and the body of its function."""

    how: str
    body: str


@dataclass(frozen=True)
class Problem:
    """
    A task for a function of some `names`, its parameters, what it has to do, and three ways to go about it.

    `right` is the oracle, `tries` are the arguments that it is tried with: the first one that fits is shown as a call.
    """

    names: tuple[str, str]
    parameters: str
    task: str
    right: Callable[..., object]
    tries: tuple[tuple[Any, ...], ...]
    good: Way
    near: Way
    far: Way


def code_cases(count: int) -> list[dict[str, object]]:
    """
    Make cases with three answers each, graded from 1 to 10 by the tests that their code passes.

    Raises:
        ValueError: a count above `MOST`, or a problem whose answers do not come in their order: right, near, far.
    """
    if not 1 <= count <= MOST:
        raise ValueError(f"expected a count from 1 to {MOST}, got count={count}")
    return [_case(number, PROBLEMS[number % len(PROBLEMS)], number // len(PROBLEMS)) for number in range(count)]


def source(problem: Problem, way: Way, name: str) -> str:
    """Return the source of a way to solve a problem, as a function of a name."""
    body = "\n".join(f"    {line}" if line else "" for line in way.body.strip("\n").split("\n"))
    return f"def {name}({problem.parameters}):\n{body}".replace("FN", name)


def passed(problem: Problem, way: Way) -> list[bool]:
    """Run the tests of a problem on a way to solve it, and return which it passes: the same value of the same type."""
    results = [_run(problem, way, arguments) for arguments in problem.tries]
    wanted = [problem.right(*_copied(arguments)) for arguments in problem.tries]
    return [type(a) is type(b) and a == b for a, b in zip(results, wanted, strict=True)]


def _run(problem: Problem, way: Way, arguments: tuple[Any, ...]) -> object:
    scope: dict[str, Any] = {}
    exec(source(problem, way, "tried"), scope)
    try:
        return scope["tried"](*_copied(arguments))
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return _RAISED


def _copied(arguments: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(list(one) if isinstance(one, list) else one for one in arguments)


def _case(number: int, problem: Problem, turn: int) -> dict[str, object]:
    case_id = f"code-{number + 1:03}"
    name = problem.names[turn]
    ways = {"good": problem.good, "near": problem.near, "far": problem.far}
    results = {key: passed(problem, way) for key, way in ways.items()}
    shares = [sum(results[key]) for key in WAYS]
    if not len(problem.tries) == shares[0] > shares[1] > shares[2]:
        raise ValueError(f"{name}: expected a right, a near and a far answer, got {shares} of {len(problem.tries)}")
    shown = [a for a in problem.tries if all(_run(problem, way, a) is not _RAISED for way in ways.values())]
    example = shown[turn % len(shown)]
    remarked = ("good",) if _drawn(case_id, "longer") % 4 == 0 else ("near", "far")  # right code is the longer one
    answers = [
        {
            "id": key,
            "text": _text(problem, way, name, example, REMARKS[number % len(REMARKS)] if key in remarked else ""),
        }
        for key, way in ways.items()
    ]
    answers.sort(key=lambda answer: _drawn(case_id, answer["id"]))
    told = [a for a in problem.tries if a != example][:4]
    reference = [f"{_call(name, a)} gives {problem.right(*_copied(a))!r}" for a in told]
    return {
        "id": case_id,
        "question": f"Write a Python function {name}({problem.parameters}) that {problem.task}.",
        "answers": answers,
        "better": "good",
        "scores": {key: gold(sum(results[key]), len(problem.tries)) for key in WAYS},
        "reference": f"Right results: {'; '.join(reference)}.",
        "tags": {"category": "code"},
    }


def _text(problem: Problem, way: Way, name: str, example: tuple[Any, ...], remark: str) -> str:
    printed = _run(problem, way, example)
    first, *others = map(repr, example)
    call = f"{name}({', '.join(['sample', *others])})"
    code = f"{source(problem, way, name)}\n\n\nsample = {first}\nprint({call})"
    closing = f"It prints {printed!s}." if str(printed).strip() else "It prints an empty line."
    return f"{way.how}\n\n```python\n{code}\n```\n\n{closing}{' ' if remark else ''}{remark}"


def _call(name: str, arguments: tuple[Any, ...]) -> str:
    return f"{name}({', '.join(map(repr, arguments))})"


def _drawn(*parts: str) -> int:
    return int(hashlib.sha256(":".join(parts).encode()).hexdigest(), 16)


def _distinct(items: list[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def _flat(items: Sequence[Any]) -> list[Any]:
    return [one for item in items for one in (_flat(item) if isinstance(item, tuple) else [item])]


def _root(number: int) -> int:
    return number if number < 10 else 1 + (number - 1) % 9


def _roman(number: int) -> str:
    tens, ones = divmod(number, 10)
    return "X" * tens + ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")[ones]


def _closed(text: str) -> bool:
    while "()" in text or "[]" in text:
        text = text.replace("()", "").replace("[]", "")
    return not text


_LISTS: Final = (
    ([3, 8, 5],), ([7, 7, 2],), ([4, -6, 9, 1],), ([10, 2],), ([5],), ([-3, -8],), ([2, 4, 6, 8],), ([9, 1, 9, 3],),
)  # fmt: skip

PROBLEMS: Final = (
    Problem(
        ("above", "larger_than"),
        "numbers, limit",
        "returns the numbers that are greater than a limit, in their order",
        lambda numbers, limit: list(filter(limit.__lt__, numbers)),
        (([3, 8, 5], 4), ([9, 2, 7], 6), ([1, 2], 5), ([4, 4, 6], 4), ([], 3), ([8, 3, 8], 3), ([5], 5), ([0, -2], -1)),
        Way(
            "Go through the numbers and keep each one that exceeds the limit.",
            """
kept = []
for number in numbers:
    if number > limit:  # equal is not enough
        kept.append(number)
return kept
""",
        ),
        Way(
            "Go through the numbers and keep each one that reaches the limit.",
            """
kept = []
for number in numbers:
    if number >= limit:  # the limit counts
        kept.append(number)
return kept
""",
        ),
        Way(
            "Sort the numbers, then cut off all that come after the limit.",
            """
kept = []
for number in sorted(numbers):
    if number < limit:  # still below it
        kept.append(number)
return kept
""",
        ),
    ),
    Problem(
        ("mean", "average_of"),
        "numbers",
        "returns the mean of a list of numbers as a float, and 0.0 for an empty list",
        lambda numbers: float(sum(numbers)) / len(numbers) if numbers else 0.0,
        (([2, 4, 9],), ([1, 2],), ([],), ([10, 20, 60],), ([5, 6, 6, 6],), ([7],), ([3, 5, 10],), ([8, 8, 2],)),
        Way(
            "Add up the values and divide by how many there are.",
            """
if not numbers:  # nothing to divide by
    return 0.0
total = sum(numbers)
return total / len(numbers)
""",
        ),
        Way(
            "Add up the values and divide by how many there are.",
            """
if not numbers:  # nothing to divide by
    return 0.0
total = sum(numbers)
return float(total // len(numbers))
""",
        ),
        Way(
            "The mean lies halfway between the smallest and the largest value.",
            """
if not numbers:  # no extremes to take
    return 0.0
ends = min(numbers) + max(numbers)
return ends / 2
""",
        ),
    ),
    Problem(
        ("second_largest", "runner_up"),
        "numbers",
        "returns the second largest of the different numbers in a list",
        lambda numbers: sorted(set(numbers))[-2],
        (([3, 8, 5],), ([7, 7, 2],), ([4, -6, 9, 1],), ([10, 2],), ([6, 6, 6, 1],), ([2, 4, 6, 8],), ([9, 1, 9, 3],)),
        Way(
            "Drop the largest value wherever it stands and take the maximum of the rest.",
            """
top = max(numbers)
rest = [number for number in numbers if number != top]  # without any copy of it
return max(rest)
""",
        ),
        Way(
            "Sort the list and take the value before the last one.",
            """
ranked = sorted(numbers)
# the largest is at the end
return ranked[-2]
""",
        ),
        Way(
            "Sort the different values and take the one at index 1.",
            """
ranked = sorted(set(numbers))
# index 0 is the first place
return ranked[1]
""",
        ),
    ),
    Problem(
        ("count_vowels", "vowels_in"),
        "text",
        "counts the vowels a, e, i, o and u in a text, in capitals as well",
        lambda text: sum(map(text.casefold().count, "aeiou")),
        (("banana",), ("Otto",), ("rhythm",), ("AEIOU",), ("Tree house",), ("",), ("Anna eats",), ("moon",)),
        Way(
            "Turn all letters into small ones and count those that are vowels.",
            """
found = 0
for letter in text.lower():  # capitals count, too
    if letter in "aeiou":
        found += 1
return found
""",
        ),
        Way(
            "Look at each letter and count those that are vowels.",
            """
found = 0
for letter in text:  # one by one
    if letter in "aeiou":
        found += 1
return found
""",
        ),
        Way(
            "Put the letters into a set and count which vowels are in it.",
            """
letters = set(text)
# a set makes the search fast
found = [vowel for vowel in "aeiou" if vowel in letters]
return len(found)
""",
        ),
    ),
    Problem(
        ("is_palindrome", "reads_both_ways"),
        "text",
        "tells whether a text reads the same from both ends, whatever its spaces and capitals",
        lambda text: (kept := "".join(text.split()).casefold()) == "".join(reversed(kept)),
        (("level",), ("Anna",), ("never odd or even",), ("tent",), ("",), ("area",), ("abca",), ("Otto",)),
        Way(
            "Take out the spaces, use small letters, and compare with the reverse.",
            """
letters = text.replace(" ", "").lower()
# a slice with step -1 turns it round
return letters == letters[::-1]
""",
        ),
        Way(
            "Use small letters and compare the text with its reverse.",
            """
letters = text.lower()
# a slice with step -1 turns it round
return letters == letters[::-1]
""",
        ),
        Way(
            "A text reads the same from both ends if these have the same letter.",
            """
letters = text.lower()
# the first one and the last one
return letters[:1] == letters[-1:]
""",
        ),
    ),
    Problem(
        ("fizz_buzz", "fizz_word"),
        "number",
        "returns 'Fizz' for a multiple of 3, 'Buzz' for one of 5, 'FizzBuzz' for one of both, else the number as text",
        lambda number: "Fizz" * (not number % 3) + "Buzz" * (not number % 5) or str(number),
        ((3,), (5,), (7,), (15,), (30,), (9,), (20,), (1,)),
        Way(
            "Put the two words together, each only where its number divides.",
            """
word = ""
if number % 3 == 0:
    word += "Fizz"
if number % 5 == 0:  # no else: both may hold
    word += "Buzz"
return word or str(number)
""",
        ),
        Way(
            "Ask for 3 first, then for 5, and return the word that fits.",
            """
word = str(number)
if number % 3 == 0:
    word = "Fizz"
elif number % 5 == 0:  # only if 3 does not fit
    word = "Buzz"
return word
""",
        ),
        Way(
            "Ask whether 3 or 5 divides the number and return both words then.",
            """
word = str(number)
if number % 3 == 0 or number % 5 == 0:  # either will do
    word = "FizzBuzz"
return word
""",
        ),
    ),
    Problem(
        ("factorial", "product_up_to"),
        "n",
        "returns the product of all whole numbers from 1 to n, which is 1 for n = 0",
        lambda n: n * [0, 1, 1, 2, 6, 24, 120, 720][n] if n else 1,
        ((4,), (3,), (0,), (1,), (2,), (5,), (6,), (7,)),
        Way(
            "Start with 1 and multiply by each number up to n.",
            """
result = 1
for factor in range(2, n + 1):  # n is included
    result *= factor
return result
""",
        ),
        Way(
            "Start with n and multiply by each smaller number.",
            """
result = n
for factor in range(1, n):  # all below n
    result *= factor
return result
""",
        ),
        Way(
            "Start with 1 and multiply by each number in the range of n.",
            """
result = 1
for factor in range(1, n):  # from 1 to n
    result *= factor
return result
""",
        ),
    ),
    Problem(
        ("digit_sum", "sum_of_digits"),
        "number",
        "adds up the digits of a whole number, which may be negative",
        lambda number: sum(ord(mark) - 48 for mark in str(abs(number))),
        ((507,), (38,), (-12,), (0,), (9,), (1000,), (-45,), (77,)),
        Way(
            "Drop the sign and take off the last digit until nothing is left.",
            """
total, rest = 0, abs(number)
while rest:
    total += rest % 10  # the last digit
    rest //= 10
return total
""",
        ),
        Way(
            "Take off the last digit until nothing is left.",
            """
total, rest = 0, number
while rest > 0:
    total += rest % 10  # the last digit
    rest //= 10
return total
""",
        ),
        Way(
            "Turn the number into text and look how long that is.",
            """
digits = str(number)
# one mark for each digit
return len(digits)
""",
        ),
    ),
    Problem(
        ("shared", "in_both"),
        "first, second",
        "returns the items of one list that are in another one as well, each once and in the order of the first list",
        lambda first, second: [item for item in _distinct(first) if item in second],
        (
            ([1, 2, 3], [3, 2]),
            ([4, 4, 5], [4]),
            ([], [1]),
            ([9, 8], [7]),
            ([2, 5, 2], [2, 5]),
            ([6], [6, 6]),
            ([3, 1, 3], [1]),
            ([1, 1, 2], [2, 1]),
        ),
        Way(
            "Go through the first list and keep what is in the second and not kept yet.",
            """
kept = []
for item in first:
    if item in second and item not in kept:  # each only once
        kept.append(item)
return kept
""",
        ),
        Way(
            "Go through the first list and keep what is in the second.",
            """
kept = []
for item in first:
    if item in second:  # it is in both
        kept.append(item)
return kept
""",
        ),
        Way(
            "Put both lists together and keep each item of them once.",
            """
kept = []
for item in first + second:  # both of them
    if item not in kept:
        kept.append(item)
return kept
""",
        ),
    ),
    Problem(
        ("unique", "without_repeats"),
        "items",
        "returns the items of a list without repeats, in the order of their first places",
        _distinct,
        (([3, 1, 3, 2],), ([5, 5],), ([],), ([1, 2, 3],), ([9, 4, 9],), ([2, 1],), ([7, 8, 8, 9],), ([4],)),
        Way(
            "Remember what has been seen and keep each item that is new.",
            """
seen = []
for item in items:
    if item not in seen:  # new so far
        seen.append(item)
return seen
""",
        ),
        Way(
            "A set holds each item once, and sorting brings it back in order.",
            """
single = set(items)
# a set has no order of its own
return sorted(single)
""",
        ),
        Way(
            "Keep the items that occur only once in the list.",
            """
single = []
for item in items:
    if items.count(item) == 1:  # no repeats
        single.append(item)
return single
""",
        ),
    ),
    Problem(
        ("rotate_left", "turn_left"),
        "items, steps",
        "moves each item of a list to the left by some steps; what falls off comes back at the end",
        lambda items, steps: [items[(i + steps) % len(items)] for i in range(len(items))],
        (
            ([1, 2, 3, 4], 1),
            ([5, 6, 7], 2),
            ([8, 9], 0),
            ([1, 2, 3], 4),
            ([], 2),
            ([4, 5, 6, 7], 3),
            ([3, 2, 1], 7),
            ([9, 8, 7, 6, 5], 2),
        ),
        Way(
            "Cut the list where the steps end, counting round and round, and swap both parts.",
            """
if not items:  # nothing to move
    return []
cut = steps % len(items)
return items[cut:] + items[:cut]
""",
        ),
        Way(
            "Cut the list where the steps end and swap both parts.",
            """
cut = steps
# the front part goes to the end
return items[cut:] + items[:cut]
""",
        ),
        Way(
            "Cut the list at its end and put the last part in front.",
            """
cut = len(items) - steps
# the end comes to the front
return items[cut:] + items[:cut]
""",
        ),
    ),
    Problem(
        ("chunks", "in_parts"),
        "text, size",
        "returns the parts of a given size that a text splits into, the last of which may be shorter",
        lambda text, size: [
            "".join(x for _, x in part) for _, part in groupby(enumerate(text), lambda e: e[0] // size)
        ],
        (
            ("tree", 2),
            ("sky", 2),
            ("a", 3),
            ("", 2),
            ("planet", 3),
            ("river", 4),
            ("oo", 1),
            ("ice", 3),
        ),
        Way(
            "Go through the text in steps of that size and slice off each part.",
            """
parts = []
for start in range(0, len(text), size):
    parts.append(text[start : start + size])  # a slice may be short
return parts
""",
        ),
        Way(
            "Work out how many parts there are and slice off each one.",
            """
parts = []
for place in range(len(text) // size):
    parts.append(text[place * size : (place + 1) * size])  # one full part
return parts
""",
        ),
        Way(
            "Divide the text into as many parts as the size says.",
            """
parts = []
for start in range(size):
    parts.append(text[start::size])  # every letter in turn
return parts
""",
        ),
    ),
    Problem(
        ("flatten", "all_items"),
        "items",
        "returns the items of a list that holds tuples in any depth as one flat list",
        _flat,
        (
            ([1, (2, 3)],),
            ([(4,), (5,)],),
            ([],),
            ([1, (2, (3,))],),
            ([((6,),)],),
            ([7, 8],),
            ([(1, 5), 2],),
            ([(2, 3), ((4,),)],),
        ),
        Way(
            "Call the function again for each item that is a tuple.",
            """
flat = []
for item in items:
    if isinstance(item, tuple):
        flat.extend(FN(item))  # one level down
    else:
        flat.append(item)
return flat
""",
        ),
        Way(
            "Open each item that is a tuple and take the rest as it is.",
            """
flat = []
for item in items:
    if isinstance(item, tuple):
        flat.extend(item)  # its own items
    else:
        flat.append(item)
return flat
""",
        ),
        Way(
            "Take the first item wherever there is a tuple.",
            """
flat = []
for item in items:
    while isinstance(item, tuple):
        item = item[0]  # go down
    flat.append(item)
return flat
""",
        ),
    ),
    Problem(
        ("is_prime", "prime"),
        "n",
        "tells whether a whole number from 1 on is a prime number",
        lambda n: n in {2, 3, 5, 7, 11, 13, 17, 19, 23, 29},
        ((7,), (9,), (1,), (2,), (15,), (25,), (13,), (4,)),
        Way(
            "From 2 on a number is prime if no smaller one from 2 on divides it.",
            """
if n < 2:  # 1 is none
    return False
divisors = [d for d in range(2, n) if n % d == 0]
return not divisors
""",
        ),
        Way(
            "A number is prime if no smaller one from 2 on divides it.",
            """
divisors = []
for d in range(2, n):  # all candidates
    if n % d == 0:
        divisors.append(d)
return not divisors
""",
        ),
        Way(
            "Even numbers are not prime, so look at the last bit.",
            """
last = n % 2
# odd numbers have no factor 2
return last == 1
""",
        ),
    ),
    Problem(
        ("common_divisor", "greatest_divisor"),
        "a, b",
        "returns the greatest whole number that divides two positive ones",
        gcd,
        ((12, 18), (7, 5), (6, 3), (10, 4), (9, 27), (8, 8), (14, 21), (1, 9)),
        Way(
            "Replace the pair by the smaller number and the remainder until that is 0.",
            """
large, small = a, b
while small:
    large, small = small, large % small  # the remainder shrinks
return large
""",
        ),
        Way(
            "Try all numbers below the smaller one and keep the largest that divides both.",
            """
best = 1
for d in range(1, min(a, b)):  # up to the smaller one
    if a % d == 0 and b % d == 0:
        best = d
return best
""",
        ),
        Way(
            "The greatest common divisor is the difference of both numbers.",
            """
large, small = max(a, b), min(a, b)
# what they do not share
return large - small
""",
        ),
    ),
    Problem(
        ("to_binary", "binary_text"),
        "number",
        "writes a whole number from 0 on in the binary system, as text",
        lambda number: f"{number:b}",
        ((6,), (5,), (0,), (1,), (8,), (12,), (19,), (2,)),
        Way(
            "Collect the remainders of halving in front of each other, at least one digit.",
            """
digits = str(number % 2)
rest = number // 2
while rest:
    digits = str(rest % 2) + digits  # new digits go in front
    rest //= 2
return digits
""",
        ),
        Way(
            "Collect the remainders of halving in front of each other.",
            """
digits = ""
rest = number
while rest:
    digits = str(rest % 2) + digits  # new digits go in front
    rest //= 2
return digits
""",
        ),
        Way(
            "Collect the remainders of halving one after the other.",
            """
digits = ""
rest = number
while rest:
    digits = digits + str(rest % 2)  # the next digit
    rest //= 2
return digits
""",
        ),
    ),
    Problem(
        ("how_often", "word_counts"),
        "text",
        "returns a dict that says how often each word of a text occurs, in small letters",
        lambda text: dict(Counter(text.casefold().split())),
        (
            ("a rose is a rose",),
            ("Hello hello",),
            ("",),
            ("one two",),
            ("The the THE",),
            ("Go on and on",),
            ("sea",),
            ("up Up",),
        ),
        Way(
            "Split the text in small letters and count each word.",
            """
counts = {}
for word in text.lower().split():
    counts[word] = counts.get(word, 0) + 1  # 0 if it is new
return counts
""",
        ),
        Way(
            "Split the text at its spaces and count each word.",
            """
counts = {}
for word in text.split():
    counts[word] = counts.get(word, 0) + 1  # 0 if it is new
return counts
""",
        ),
        Way(
            "Count each sign of the text in a dict.",
            """
counts = {}
for sign in text.lower():
    counts[sign] = counts.get(sign, 0) + 1  # 0 if it is new
return counts
""",
        ),
    ),
    Problem(
        ("longest_word", "widest_word"),
        "text",
        "returns the longest word of a text, the first one if several are as long",
        lambda text: max(text.split(), key=len),
        (
            ("the small boat",),
            ("red cat",),
            ("one three seven",),
            ("sun",),
            ("a bb cc",),
            ("green apples fall",),
            ("in the end",),
            ("deep wide river",),
        ),
        Way(
            "Keep a word whenever it is longer than the best so far.",
            """
best = ""
for word in text.split():
    if len(word) > len(best):  # a tie changes nothing
        best = word
return best
""",
        ),
        Way(
            "Keep a word whenever it is at least as long as the best so far.",
            """
best = ""
for word in text.split():
    if len(word) >= len(best):  # as long is good enough
        best = word
return best
""",
        ),
        Way(
            "Sort the words by their length and take the first one.",
            """
words = sorted(text.split(), key=len)
# it comes first
return words[0]
""",
        ),
    ),
    Problem(
        ("capital_words", "with_capitals"),
        "text",
        "begins each word of a text with a capital letter and leaves its other letters as they are",
        lambda text: " ".join(word[:1].upper() + word[1:] for word in text.split(" ")),
        (("green tea",), ("the USB port",), ("old mcDonald",), ("one",), ("a PC",), ("red Fox",), ("sea view",), ("",)),
        Way(
            "Turn the first letter of each word into a capital and add the rest of it.",
            """
words = []
for word in text.split(" "):
    words.append(word[:1].upper() + word[1:])  # the rest stays
return " ".join(words)
""",
        ),
        Way(
            "Use capitalize on each word and join them again.",
            """
words = []
for word in text.split(" "):
    words.append(word.capitalize())  # built in
return " ".join(words)
""",
        ),
        Way(
            "Turn the first letter of the text into a capital.",
            """
first = text[:1].upper()
# then comes the rest
return first + text[1:]
""",
        ),
    ),
    Problem(
        ("clamp", "keep_within"),
        "number, low, high",
        "returns a number, but not less than low and not more than high",
        lambda number, low, high: sorted((low, number, high))[1],
        ((5, 1, 9), (12, 1, 9), (0, 1, 9), (-4, -2, 3), (4, 3, 8), (6, 3, 8), (7, 2, 4), (1, 0, 6)),
        Way(
            "Raise the number to the lower limit, then cut it at the upper one.",
            """
raised = max(number, low)
# now it can only be too large
return min(raised, high)
""",
        ),
        Way(
            "Cut the number at the upper limit.",
            """
cut = min(number, high)
# it cannot be too large now
return cut
""",
        ),
        Way(
            "Return the limit on the side where the number lies.",
            """
middle = (low + high) / 2
# above the middle the upper limit counts
return high if number > middle else low
""",
        ),
    ),
    Problem(
        ("middle_value", "median_of"),
        "numbers",
        "returns the median of a list as a float: the middle value, or the mean of the two in the middle",
        lambda numbers: float(median(numbers)),
        (([3, 1, 2],), ([5, 9, 7],), ([4, 1],), ([8],), ([6, 2, 9, 1],), ([1, 2, 3, 10],), ([9, 1, 5],), ([3, 3, 8],)),
        Way(
            "Sort the values and take the middle one, or the mean of the two beside it.",
            """
ranked = sorted(numbers)
half = len(ranked) // 2
if len(ranked) % 2 == 0:  # two in the middle
    return (ranked[half - 1] + ranked[half]) / 2
return float(ranked[half])
""",
        ),
        Way(
            "Sort the values and take the one in the middle.",
            """
ranked = sorted(numbers)
half = len(ranked) // 2
# the middle of the sorted list
return float(ranked[half])
""",
        ),
        Way(
            "Take the value that stands in the middle of the list.",
            """
half = len(numbers) // 2
# the place counts
return float(numbers[half])
""",
        ),
    ),
    Problem(
        ("most_common", "mode_of"),
        "items",
        "returns the number that occurs most often in a list, the smallest one of several",
        lambda items: min(set(items), key=lambda item: (-items.count(item), item)),
        (
            ([2, 3, 3],),
            ([5, 5, 1],),
            ([4, 2],),
            ([7],),
            ([9, 9, 8, 8],),
            ([1, 6, 6, 1, 6],),
            ([3, 1, 2],),
            ([8, 4, 4],),
        ),
        Way(
            "Count each different number, the small ones first, and keep the best.",
            """
best = min(items)
for item in sorted(set(items)):
    if items.count(item) > items.count(best):  # a tie keeps the smaller
        best = item
return best
""",
        ),
        Way(
            "Count each number in turn and keep the best.",
            """
best = items[0]
for item in items:
    if items.count(item) > items.count(best):  # better than before
        best = item
return best
""",
        ),
        Way(
            "The number that counts most is the largest one.",
            """
ranked = sorted(items)
# the last one is the top
return ranked[-1]
""",
        ),
    ),
    Problem(
        ("running_total", "sums_so_far"),
        "numbers",
        "returns for each number of a list the sum of all numbers up to it",
        lambda numbers: list(accumulate(numbers)),
        (([1, 2, 3],), ([5, 5],), ([4, -1, 2],), ([],), ([7],), ([-2, 6],), ([3, 0, 1],), ([10, 20],)),
        Way(
            "Keep a total, add each number to it, and note it down.",
            """
totals, total = [], 0
for number in numbers:
    total += number  # a loss counts as well
    totals.append(total)
return totals
""",
        ),
        Way(
            "Keep a total, add each gain to it, and note it down.",
            """
totals, total = [], 0
for number in numbers:
    total += max(number, 0)  # gains only
    totals.append(total)
return totals
""",
        ),
        Way(
            "Add each number to the one that follows it.",
            """
totals = []
for place in range(len(numbers) - 1):
    totals.append(numbers[place] + numbers[place + 1])  # two neighbours
return totals
""",
        ),
    ),
    Problem(
        ("days_in_month", "month_length"),
        "month, leap",
        "returns how many days a month from 1 to 12 has; leap tells of a leap year",
        lambda month, leap: (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1],
        ((4, False), (1, False), (2, True), (2, False), (11, False), (8, True), (9, True), (12, False)),
        Way(
            "Ask for February first, then for the four months with 30 days.",
            """
if month == 2:
    return 29 if leap else 28
short = (4, 6, 9, 11)  # these have 30
return 30 if month in short else 31
""",
        ),
        Way(
            "Ask for February first, then for the four months with 30 days.",
            """
if month == 2:
    return 28
short = (4, 6, 9, 11)  # these have 30
return 30 if month in short else 31
""",
        ),
        Way(
            "Odd months have 30 days and even ones have 31.",
            """
odd = month % 2 == 1
# they take turns
return 30 if odd else 31
""",
        ),
    ),
    Problem(
        ("shift_letters", "caesar"),
        "text, steps",
        "moves each small letter of a text on in the alphabet, from z back to a",
        lambda text, n: text.translate(str.maketrans(ascii_lowercase, (ascii_lowercase * 2)[n : n + 26])),
        (("abc", 1), ("dog", 3), ("xyz", 2), ("a b", 1), ("zoo", 1), ("hi", 4), ("lazy", 5), ("", 3)),
        Way(
            "Count the letters from a, add the steps, and go round after 26.",
            """
moved = []
for letter in text:
    if "a" <= letter <= "z":
        letter = chr((ord(letter) - 97 + steps) % 26 + 97)  # round and round
    moved.append(letter)
return "".join(moved)
""",
        ),
        Way(
            "Add the steps to the code of each letter.",
            """
moved = []
for letter in text:
    if "a" <= letter <= "z":
        letter = chr(ord(letter) + steps)  # further on
    moved.append(letter)
return "".join(moved)
""",
        ),
        Way(
            "Move the text itself on by the steps.",
            """
cut = steps % len(text) if text else 0
# the end comes to the front
return text[-cut:] + text[:-cut]
""",
        ),
    ),
    Problem(
        ("transpose", "turn_table"),
        "rows",
        "turns the rows of a table, a list of tuples of the same length, into columns",
        lambda rows: list(zip(*rows, strict=True)),
        (
            ([(1, 2), (3, 4)],),
            ([(5, 6)],),
            ([(7,), (8,)],),
            ([(1, 2, 3), (4, 5, 6)],),
            ([(9,)],),
            ([(2, 2), (1, 1)],),
            ([(1, 0), (0, 2)],),
            ([(3, 1), (1, 3)],),
        ),
        Way(
            "For each column collect its value of every row.",
            """
columns = []
for place in range(len(rows[0])):  # as many as a row is wide
    columns.append(tuple(row[place] for row in rows))
return columns
""",
        ),
        Way(
            "For each row collect the values that stand at its place.",
            """
columns = []
for place in range(len(rows)):  # one for each row
    columns.append(tuple(row[place] for row in rows))
return columns
""",
        ),
        Way(
            "Put the last row first and the first row last.",
            """
columns = []
for row in rows:
    columns.insert(0, row)  # in front of the others
return columns
""",
        ),
    ),
    Problem(
        ("is_anagram", "same_letters"),
        "first, second",
        "tells whether two words have the same letters as often, whatever their capitals",
        lambda first, second: Counter(first.casefold()) == Counter(second.casefold()),
        (
            ("listen", "silent"),
            ("Tea", "eat"),
            ("look", "loko"),
            ("aab", "abb"),
            ("sun", "sum"),
            ("No", "on"),
            ("apple", "papel"),
            ("abc", "ab"),
        ),
        Way(
            "Sort the small letters of both words and compare them.",
            """
ours = sorted(first.lower())
theirs = sorted(second.lower())
# equal letters now stand side by side
return ours == theirs
""",
        ),
        Way(
            "Sort the letters of both words and compare them.",
            """
ours = sorted(first)
theirs = sorted(second)
# equal letters now stand side by side
return ours == theirs
""",
        ),
        Way(
            "Two words have the same letters if they begin with the same one.",
            """
ours, theirs = first[0], second[0]
# the first letter tells
return ours == theirs
""",
        ),
    ),
    Problem(
        ("merge", "merge_sorted"),
        "first, second",
        "merges two sorted lists into one sorted list",
        lambda first, second: sorted(first + second),
        (
            ([1, 4], [2, 3]),
            ([1, 5], [2, 6]),
            ([], [7]),
            ([3], []),
            ([3, 9], [1, 2]),
            ([4, 7], [4]),
            ([2, 9], [5]),
            ([6], [1, 8]),
        ),
        Way(
            "Take the smaller front item each time, then whatever is left of either list.",
            """
merged, i, j = [], 0, 0
while i < len(first) and j < len(second):
    if first[i] <= second[j]:
        merged.append(first[i])
        i += 1
    else:
        merged.append(second[j])
        j += 1
return merged + first[i:] + second[j:]  # one of them is empty
""",
        ),
        Way(
            "Take the smaller front item each time, then whatever is left of the first list.",
            """
merged, i, j = [], 0, 0
while i < len(first) and j < len(second):
    if first[i] <= second[j]:
        merged.append(first[i])
        i += 1
    else:
        merged.append(second[j])
        j += 1
return merged + first[i:]  # the rest
""",
        ),
        Way(
            "Put the items of the second list behind those of the first one.",
            """
merged = list(first)
for item in second:
    merged.append(item)  # at the end
return merged
""",
        ),
    ),
    Problem(
        ("index_of_largest", "top_index"),
        "numbers",
        "returns the index of the largest number, the first one if there are several",
        lambda numbers: numbers.index(max(numbers)),
        _LISTS,
        Way(
            "Remember the index of the best number so far.",
            """
best = 0
for i in range(len(numbers)):
    if numbers[i] > numbers[best]:  # a tie changes nothing
        best = i
return best
""",
        ),
        Way(
            "Remember the index of the best number so far.",
            """
best = 0
for i in range(len(numbers)):
    if numbers[i] >= numbers[best]:  # as good or better
        best = i
return best
""",
        ),
        Way(
            "Remember the best number so far.",
            """
best = numbers[0]
for number in numbers:
    if number > best:  # a larger one
        best = number
return best
""",
        ),
    ),
    Problem(
        ("count_pairs", "pairs_with_sum"),
        "numbers, total",
        "counts the pairs of two different places in a list whose numbers have a given sum",
        lambda numbers, total: (
            (sum(a + b == total for a in numbers for b in numbers) - sum(2 * a == total for a in numbers)) // 2
        ),
        (
            ([1, 2, 3], 4),
            ([2, 2], 4),
            ([5, 1], 7),
            ([3, 3, 3], 6),
            ([], 2),
            ([4, 0], 4),
            ([1, 5, 2, 4], 6),
            ([7, 3], 10),
        ),
        Way(
            "For each number look only at those behind it.",
            """
found = 0
for i in range(len(numbers)):
    for j in range(i + 1, len(numbers)):  # behind the first one
        found += numbers[i] + numbers[j] == total
return found
""",
        ),
        Way(
            "For each number look at it and at those behind it.",
            """
found = 0
for i in range(len(numbers)):
    for j in range(i, len(numbers)):  # from the first one on
        found += numbers[i] + numbers[j] == total
return found
""",
        ),
        Way(
            "Count how often the sum itself is in the list.",
            """
found = 0
for number in numbers:
    found += number == total  # this is the one
return found
""",
        ),
    ),
    Problem(
        ("power_of_two", "is_doubling"),
        "n",
        "tells whether a whole number from 0 on is a power of 2, such as 1, 2, 4 or 8",
        lambda n: n in {1, 2, 4, 8, 16, 32, 64},
        ((8,), (6,), (0,), (1,), (12,), (16,), (7,), (10,)),
        Way(
            "Halve the number as long as it is even: 1 has to be left.",
            """
rest = n
while rest and rest % 2 == 0:
    rest //= 2  # nothing is lost
return rest == 1
""",
        ),
        Way(
            "A power of 2 and the number before it share no binary digit.",
            """
before = n - 1
# all digits of one, none of the other
return n & before == 0
""",
        ),
        Way(
            "A power of 2 can be divided by 2.",
            """
rest = n % 2
# nothing is left over
return rest == 0
""",
        ),
    ),
    Problem(
        ("grade", "mark_for"),
        "points",
        "returns 'A' from 90 points on, 'B' from 80 on, 'C' from 70 on, and else 'D'",
        lambda points: "DDDDDDDCBAA"[points // 10],
        ((95,), (72,), (90,), (80,), (64,), (70,), (85,), (100,)),
        Way(
            "Ask for the highest limit first; the limit itself is enough.",
            """
limits = {90: "A", 80: "B", 70: "C"}
for limit, mark in limits.items():
    if points >= limit:  # from the top down
        return mark
return "D"
""",
        ),
        Way(
            "Ask for the highest limit first; the points have to lie above it.",
            """
limits = {90: "A", 80: "B", 70: "C"}
for limit, mark in limits.items():
    if points > limit:  # from the top down
        return mark
return "D"
""",
        ),
        Way(
            "Ask for the lowest limit first and go up.",
            """
limits = {70: "C", 80: "B", 90: "A"}
for limit, mark in limits.items():
    if points >= limit:  # from the bottom up
        return mark
return "D"
""",
        ),
    ),
    Problem(
        ("clock_time", "as_clock"),
        "minutes",
        "writes minutes since midnight as a time such as 9:05, with two digits for the minutes",
        lambda minutes: f"{minutes // 60}:{minutes % 60:02}",
        ((545,), (750,), (60,), (61,), (5,), (1439,), (135,), (600,)),
        Way(
            "Divide by 60 and fill up the minutes with a zero.",
            """
hours, rest = divmod(minutes, 60)
# zfill puts the zero in front
return f"{hours}:{str(rest).zfill(2)}"
""",
        ),
        Way(
            "Divide by 60 and put both parts together.",
            """
hours, rest = divmod(minutes, 60)
# a colon stands between them
return f"{hours}:{rest}"
""",
        ),
        Way(
            "Divide by 100 and put both parts together.",
            """
hours, rest = divmod(minutes, 100)
# the last two digits are the minutes
return f"{hours}:{rest}"
""",
        ),
    ),
    Problem(
        ("roman", "roman_text"),
        "number",
        "writes a whole number from 1 to 39 in Roman numerals, with IV for 4 and IX for 9",
        _roman,
        ((7,), (12,), (4,), (9,), (1,), (23,), (36,), (30,)),
        Way(
            "Take the largest sign that still fits, with IX and IV among the signs.",
            """
signs = {10: "X", 9: "IX", 5: "V", 4: "IV", 1: "I"}
text, rest = "", number
for value, sign in signs.items():
    while rest >= value:  # as often as it fits
        text += sign
        rest -= value
return text
""",
        ),
        Way(
            "Take the largest sign that still fits.",
            """
signs = {10: "X", 5: "V", 1: "I"}
text, rest = "", number
for value, sign in signs.items():
    while rest >= value:  # as often as it fits
        text += sign
        rest -= value
return text
""",
        ),
        Way(
            "Write a sign for each one that the number holds.",
            """
text = ""
for _ in range(number):
    text += "I"  # one more
return text
""",
        ),
    ),
    Problem(
        ("is_rising", "goes_up"),
        "numbers",
        "tells whether each number of a list is larger than the one before it",
        lambda numbers: all(a < b for a, b in pairwise(numbers)),
        (([1, 3, 4],), ([2, 2],), ([5, 1],), ([],), ([1, 9, 3, 10],), ([4, 4, 6],), ([8],), ([0, 5, 2, 7],)),
        Way(
            "Compare each number with the next one; equal is not larger.",
            """
for place in range(len(numbers) - 1):
    step = numbers[place + 1] - numbers[place]
    if step <= 0:  # no rise
        return False
return True
""",
        ),
        Way(
            "Compare each number with the next one and look for a fall.",
            """
for place in range(len(numbers) - 1):
    step = numbers[place + 1] - numbers[place]
    if step < 0:  # it falls
        return False
return True
""",
        ),
        Way(
            "Compare the first number with the last one.",
            """
ends = numbers[:1] + numbers[-1:]
# the last one has to be larger
return not ends or ends[0] < ends[-1]
""",
        ),
    ),
    Problem(
        ("missing_number", "left_out"),
        "numbers",
        "returns which number from 0 to n is missing in a list of n different ones",
        lambda numbers: next(iter({*range(len(numbers) + 1)} - {*numbers})),
        (([0, 2, 3],), ([1, 0],), ([1],), ([0],), ([3, 0, 1],), ([2, 1, 3],), ([0, 1, 2],), ([4, 2, 0, 1],)),
        Way(
            "Take the sum of all numbers from 0 to n and subtract those that are there.",
            """
size = len(numbers)
full = size * (size + 1) // 2  # 0 to n
return full - sum(numbers)
""",
        ),
        Way(
            "Go through the places of the list and return the number that is not in it.",
            """
for wanted in range(len(numbers)):
    if wanted not in numbers:  # not found
        return wanted
return 0
""",
        ),
        Way(
            "The number after the largest one is missing.",
            """
top = max(numbers)
# the next one
return top + 1
""",
        ),
    ),
    Problem(
        ("reverse_words", "words_backwards"),
        "text",
        "returns the words of a text in reverse order with one space between them",
        lambda text: " ".join(text.split()[::-1]),
        (
            ("one two three",),
            ("red  fox",),
            ("sun",),
            ("",),
            ("a b",),
            ("go  far  now",),
            ("open the door",),
            ("x y z",),
        ),
        Way(
            "Split the text at white space, turn the list round and join it.",
            """
words = text.split()
words.reverse()  # in place
return " ".join(words)
""",
        ),
        Way(
            "Split the text at each space, turn the list round and join it.",
            """
words = text.split(" ")
words.reverse()  # in place
return " ".join(words)
""",
        ),
        Way(
            "Turn the text round with a slice.",
            """
turned = text[::-1]
# a step of -1
return turned
""",
        ),
    ),
    Problem(
        ("interleave", "take_turns"),
        "first, second",
        "takes items from two lists in turn, and what is left of the longer one at the end",
        lambda a, b: [x for i in range(max(len(a), len(b))) for x in (*a[i : i + 1], *b[i : i + 1])],
        (
            ([1, 2], [3, 4]),
            ([5], [6]),
            ([1, 2, 3], [9]),
            ([], [4]),
            ([7, 8], [0]),
            ([6, 1], [3, 8]),
            ([1], [2, 3, 4]),
            ([9, 9], [8, 7]),
        ),
        Way(
            "Go up to the length of the longer list and take what is there.",
            """
mixed = []
for place in range(max(len(first), len(second))):
    mixed += first[place : place + 1]  # empty beyond the end
    mixed += second[place : place + 1]
return mixed
""",
        ),
        Way(
            "Go through both lists with zip and take one item of each.",
            """
mixed = []
for ours, theirs in zip(first, second):
    mixed += [ours]  # then the other one
    mixed += [theirs]
return mixed
""",
        ),
        Way(
            "Put the second list behind the first one.",
            """
mixed = list(first)
for item in second:
    mixed.append(item)  # at the end
return mixed
""",
        ),
    ),
    Problem(
        ("spread", "range_of"),
        "numbers",
        "returns the difference between the largest and the smallest number of a list",
        lambda numbers: sorted(numbers)[-1] - sorted(numbers)[0],
        (*_LISTS, ([6, 1, 8],)),
        Way(
            "Find both ends of the values and subtract them.",
            """
low, high = min(numbers), max(numbers)
# never negative
return high - low
""",
        ),
        Way(
            "Find the largest step from one number to the next.",
            """
largest = 0
for place in range(len(numbers) - 1):
    step = abs(numbers[place + 1] - numbers[place])  # up or down
    largest = max(largest, step)
return largest
""",
        ),
        Way(
            "Subtract the first number from the last one.",
            """
first, last = numbers[0], numbers[-1]
# how far it went
return last - first
""",
        ),
    ),
    Problem(
        ("runs", "run_lengths"),
        "text",
        "returns a list of pairs for a text: each run of one letter with its length",
        lambda text: [(letter, len(list(run))) for letter, run in groupby(text)],
        (("aab",), ("abb",), ("",), ("ccc",), ("abab",), ("xxyyx",), ("q",), ("noon",)),
        Way(
            "Add to the last pair if the letter is the same, else begin a new one.",
            """
pairs = []
for letter in text:
    count = 1
    if pairs and pairs[-1][0] == letter:  # the run goes on
        count = pairs.pop()[1] + 1
    pairs.append((letter, count))
return pairs
""",
        ),
        Way(
            "Count each letter in the order in which they come up.",
            """
pairs = []
for letter in text:
    if letter not in [known for known, _ in pairs]:  # a new one
        count = text.count(letter)
        pairs.append((letter, count))
return pairs
""",
        ),
        Way(
            "Make a pair of each letter and its place.",
            """
pairs = []
for place, letter in enumerate(text):
    pairs.append((letter, place))  # counted from 0
return pairs
""",
        ),
    ),
    Problem(
        ("brackets_match", "well_closed"),
        "text",
        "tells whether the brackets of a text of ( ) [ ] are closed in the right order",
        _closed,
        (("([])",), ("(]",), ("",), ("([)]",), ("()[]",), (")(",), ("((",), ("[()()]",)),
        Way(
            "Keep the open brackets on a stack and take off the last one at each closing one.",
            """
partner, stack = {")": "(", "]": "["}, []
for mark in text:
    if mark not in partner:
        stack.append(mark)  # it is open now
    elif not stack or stack.pop() != partner[mark]:
        return False
return not stack
""",
        ),
        Way(
            "Count the open and the closing brackets of both kinds.",
            """
rounds = text.count("(") - text.count(")")
squares = text.count("[") - text.count("]")
# all are closed if nothing is left
return rounds == 0 and squares == 0
""",
        ),
        Way(
            "Brackets come in pairs, so look whether their number is even.",
            """
size = len(text)
# two for each pair
return size % 2 == 0
""",
        ),
    ),
    Problem(
        ("read_pairs", "to_settings"),
        "text",
        "turns a text such as 'a=1;b=2' into a dict of texts; a value may hold more signs =",
        lambda text: dict(part.split("=", 1) for part in text.split(";") if part),
        (("a=1;b=2",), ("x=5",), ("k=a=b",), ("",), ("n=7;m=8;",), ("url=p?q=1",), ("one=two",), ("s=1;t=u=v",)),
        Way(
            "Split at each semicolon, and each part at its first sign =.",
            """
pairs = {}
for part in text.split(";"):
    key, sign, value = part.partition("=")  # at the first one
    if sign:
        pairs[key] = value
return pairs
""",
        ),
        Way(
            "Split at each semicolon, and each part at the sign =.",
            """
pairs = {}
for part in text.split(";"):
    pieces = part.split("=")  # key and value
    if len(pieces) > 1:
        pairs[pieces[0]] = pieces[1]
return pairs
""",
        ),
        Way(
            "Split at each semicolon, and note the value before its key.",
            """
pairs = {}
for part in text.split(";"):
    value, sign, key = part.partition("=")  # two sides
    if sign:
        pairs[key] = value
return pairs
""",
        ),
    ),
    Problem(
        ("initials", "first_letters"),
        "name",
        "returns the first letters of the words of a name in capitals, a full stop behind each",
        lambda name: "".join(word[0].upper() + "." for word in name.split()),
        (
            ("Nora Falk",),
            ("ben lund",),
            ("Ida",),
            ("",),
            ("jo Ann Mays",),
            ("Tim de Roo",),
            ("Kai Berg",),
            ("Una Vik",),
        ),
        Way(
            "Take the first letter of each word as a capital and add a full stop.",
            """
letters = []
for word in name.split():
    letters.append(word[0].upper() + ".")  # always large
return "".join(letters)
""",
        ),
        Way(
            "Take the first letter of each word and add a full stop.",
            """
letters = []
for word in name.split():
    letters.append(word[0] + ".")  # as it is written
return "".join(letters)
""",
        ),
        Way(
            "Take all capital letters of the name.",
            """
letters = []
for letter in name:
    if letter.isupper():  # these stand at the front
        letters.append(letter)
return "".join(letters)
""",
        ),
    ),
    Problem(
        ("sum_of_even", "even_total"),
        "numbers",
        "adds up the even numbers of a list, negative ones as well",
        lambda numbers: sum(number * (number % 2 == 0) for number in numbers),
        (([1, 2, 4],), ([3, 6],), ([-2, 4],), ([],), ([7, 9],), ([8, -8, 2],), ([5, 10, 1],), ([0, 3, 12],)),
        Way(
            "Add each number that leaves nothing when it is halved.",
            """
total = 0
for number in numbers:
    if number % 2 == 0:  # it is even
        total += number
return total
""",
        ),
        Way(
            "Add each positive number that leaves nothing when it is halved.",
            """
total = 0
for number in numbers:
    if number > 0 and number % 2 == 0:  # even and there
        total += number
return total
""",
        ),
        Way(
            "Add the numbers that stand at even places.",
            """
total = 0
for place in range(0, len(numbers), 2):  # 0, 2 and so on
    total += numbers[place]
return total
""",
        ),
    ),
    Problem(
        ("to_pay", "final_price"),
        "prices",
        "adds up prices in whole euros and takes 10 off if they come to 100 or more",
        lambda prices: sum(prices) - 10 * int(sum(prices) > 99),
        (([60, 50],), ([30, 20],), ([40, 60],), ([],), ([100],), ([99],), ([25, 25],), ([80, 45],)),
        Way(
            "Add up the prices; from 100 on the rebate comes off.",
            """
total = sum(prices)
if total >= 100:  # 100 is enough
    total -= 10
return total
""",
        ),
        Way(
            "Add up the prices; above 100 the rebate comes off.",
            """
total = sum(prices)
if total > 100:  # more than that
    total -= 10
return total
""",
        ),
        Way(
            "Take the rebate off each price and add up the rest.",
            """
total = 0
for price in prices:
    total += price - 10  # the rebate
return total
""",
        ),
    ),
    Problem(
        ("overlap", "share_a_point"),
        "first, second",
        "tells whether two pairs (start, end) share a point; their ends belong to them",
        lambda first, second: bool({*range(first[0], first[1] + 1)} & {*range(second[0], second[1] + 1)}),
        (
            ((1, 4), (3, 6)),
            ((1, 2), (5, 6)),
            ((1, 3), (3, 5)),
            ((2, 8), (4, 5)),
            ((6, 7), (1, 6)),
            ((0, 1), (2, 3)),
            ((4, 9), (1, 5)),
            ((1, 5), (4, 9)),
        ),
        Way(
            "The later start must not lie behind the earlier end.",
            """
start = max(first[0], second[0])
end = min(first[1], second[1])
# a common end is a point as well
return start <= end
""",
        ),
        Way(
            "The later start has to lie before the earlier end.",
            """
start = max(first[0], second[0])
end = min(first[1], second[1])
# there is room between them
return start < end
""",
        ),
        Way(
            "One pair has to lie inside the other one.",
            """
inside = first[0] <= second[0] and second[1] <= first[1]
# nothing sticks out
return inside
""",
        ),
    ),
    Problem(
        ("by_length", "group_words"),
        "words",
        "returns a dict that names for each length the words of that length, as they are written",
        lambda words: {len(w): [x for x in words if len(x) == len(w)] for w in words},
        (
            (["sun", "sea", "moon"],),
            (["a", "bb"],),
            (["Ox", "ox"],),
            ([],),
            (["Red", "fox"],),
            (["one", "two", "six"],),
            (["up", "Mill"],),
            (["day"],),
        ),
        Way(
            "Begin a list for each length that is new and add the word to it.",
            """
groups = {}
for word in words:
    size = len(word)
    groups.setdefault(size, []).append(word)  # a list if it is new
return groups
""",
        ),
        Way(
            "Begin a list for each length that is new and add the word to it.",
            """
groups = {}
for word in words:
    size = len(word)
    groups.setdefault(size, []).append(word.lower())  # a list if it is new
return groups
""",
        ),
        Way(
            "Note each word under its length.",
            """
groups = {}
for word in words:
    size = len(word)
    groups[size] = word  # this is its place
return groups
""",
        ),
    ),
    Problem(
        ("places_of", "all_places"),
        "text, letter",
        "returns the indices, counted from 0, at which a letter stands in a text",
        lambda text, letter: [place for place, found in enumerate(text) if found == letter],
        (
            ("banana", "a"),
            ("level", "l"),
            ("moon", "o"),
            ("sky", "x"),
            ("aha", "a"),
            ("", "e"),
            ("tree", "e"),
            ("otto", "o"),
        ),
        Way(
            "Look at every index of the text and note where the letter stands.",
            """
places = []
for place in range(len(text)):
    if text[place] == letter:  # found one
        places.append(place)
return places
""",
        ),
        Way(
            "Look at every index from 1 on and note where the letter stands.",
            """
places = []
for place in range(1, len(text)):
    if text[place] == letter:  # found one
        places.append(place)
return places
""",
        ),
        Way(
            "Use find, which returns where the letter stands.",
            """
place = text.find(letter)
# -1 if there is none
return [place]
""",
        ),
    ),
    Problem(
        ("common_prefix", "shared_start"),
        "words",
        "returns the longest beginning that all words of a list share",
        lambda words: max(
            (words[0][:n] for n in range(len(words[0]) + 1) if all(w[:n] == words[0][:n] for w in words)), key=len
        ),
        (
            (["card", "cart"],),
            (["sun", "moon"],),
            (["plan", "plane", "play"],),
            (["go"],),
            (["tea", "team", "ten"],),
            (["a", "ab"],),
            (["dry", "drum", "dot"],),
            (["red", "reed"],),
        ),
        Way(
            "Shorten the first word until every word begins with it.",
            """
prefix = words[0]
while not all(word.startswith(prefix) for word in words):
    prefix = prefix[:-1]  # one letter less
return prefix
""",
        ),
        Way(
            "Shorten the first word until its neighbour begins with it.",
            """
prefix = words[0]
while not all(word.startswith(prefix) for word in words[:2]):
    prefix = prefix[:-1]  # one letter less
return prefix
""",
        ),
        Way(
            "The shortest word is what they share.",
            """
prefix = min(words, key=len)
# no word is shorter
return prefix
""",
        ),
    ),
    Problem(
        ("digital_root", "single_digit"),
        "number",
        "adds up the digits of a whole number from 0 on, again and again, until one digit is left",
        _root,
        ((38,), (12,), (99,), (0,), (7,), (493,), (21,), (100,)),
        Way(
            "Add up the digits as long as there is more than one.",
            """
rest = number
while rest > 9:
    rest = sum(int(digit) for digit in str(rest))  # smaller each time
return rest
""",
        ),
        Way(
            "Add up the digits, which leaves a smaller number.",
            """
rest = number
if rest > 9:
    rest = sum(int(digit) for digit in str(rest))  # smaller now
return rest
""",
        ),
        Way(
            "Take the last digit, as that is the one which is left.",
            """
rest = number % 10
# one digit
return rest
""",
        ),
    ),
    Problem(
        ("count_words", "word_total"),
        "text",
        "counts the words of a text, between which there may be several spaces",
        lambda text: len([word for word in text.split(" ") if word]),
        (("one two three",), ("red  fox",), ("sun",), ("",), (" to be",), ("a b c d",), ("go on",), ("far   away",)),
        Way(
            "Split the text at white space and count the parts.",
            """
words = text.split()
# several spaces count as one
return len(words)
""",
        ),
        Way(
            "Count the spaces and add one for the last word.",
            """
spaces = text.count(" ")
# there is a word before each
return spaces + 1
""",
        ),
        Way(
            "Count the signs of the text that are letters.",
            """
letters = [sign for sign in text if sign.isalpha()]
# all that is no space
return len(letters)
""",
        ),
    ),
)
"""Problems of our own, each with a right answer, one with a subtle fault, and one that goes about it wrongly."""
MOST: Final = 2 * len(PROBLEMS)
"""There are two names for each function."""
