"""The cases in several languages: what ships is what its program makes, and each keeps to the rules of its language."""

import json
from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from itertools import islice

import pytest

from calm.cases import bundled, language_cases
from calm.cases.generate import generate_in
from calm.cases.generate.languages import drawn, languages, texts_of, wording
from calm.cases.reading import read
from calm.core.languages import SERVED, language_of, language_of_case
from calm.core.order import ITEM, LANGUAGE
from calm.errors import ConfigError
from tests.each import each
from tools.cases.__main__ import FOLDER
from tools.cases.languages import ITEMS, SEED, faults, language_pairs, written


def read_rows(rows):
    """Return rows as cases."""
    return read(BytesIO("".join(f"{json.dumps(row)}\n" for row in rows).encode()), "rows", task=None)


SHIPPED = read_rows(map(json.loads, (FOLDER / "languages-1.jsonl").read_text("utf-8").splitlines()))


def test_what_ships_is_what_the_program_makes():
    """`python -m tools.cases --write` makes the file again."""
    assert read_rows(language_pairs(ITEMS, SEED)) == SHIPPED


def test_each_item_is_there_in_each_language():
    """Thirteen languages, sixty items: the same ids of answers, the same better one, the same grades."""
    items = {}
    for case in SHIPPED:
        items.setdefault(case.tags[ITEM], []).append(case)

    assert set(languages()) == set(SERVED)
    assert len(items) == ITEMS
    for cases in items.values():
        assert sorted(case.tags[LANGUAGE] for case in cases) == sorted(SERVED)
        assert len({(case.better, tuple(sorted(case.scores.items())), case.tags["margin"]) for case in cases}) == 1
        assert len({tuple(answer.id for answer in case.answers) for case in cases}) == 1


def test_no_case_breaks_a_rule_of_its_language():
    """The right answer is right, the wrong one wrong, numbers are as CLDR has them, and nothing is left in English."""
    assert [(case.id, fault) for case in SHIPPED for fault in faults(case)] == []


def test_no_case_of_a_fresh_seed_breaks_a_rule():
    """The templates keep to the rules whatever is drawn, and not in the shipped draw alone."""
    cases = read_rows(language_pairs(20, 99))

    assert [(case.id, fault) for case in cases for fault in faults(case)] == []


@each(
    ("code", "old", "new"),
    [
        ("de", "87,75", "87.75"),
        ("de", "Wechselgeld", "change"),
        ("ru", "Старше", "Oldest"),
        ("zh", "应找回", "返す"),
        ("ar", "87.75", "87,75"),
    ],
)
def test_the_check_finds_what_is_wrong(code, old, new):
    """A number of another language, a word of English, letters of another script, and swapped gold are faults."""
    case = next(c for c in SHIPPED if c.id == f"{code}-001")
    broken = replace(case, answers=tuple(replace(a, text=a.text.replace(old, new)) for a in case.answers))

    try:
        found = list(faults(broken))
    except ValueError as error:
        found = [str(error)]

    assert found
    assert list(faults(replace(case, better="bad")))


@each(
    ("code", "value", "kind", "said"),
    [
        ("hi", Decimal("120500"), "number", "1,20,500"),
        ("fr", Decimal("12500"), "number", "12\u202f500"),
        ("de", Decimal("0.5"), "number", "0,5"),
        ("tr", Decimal("15"), "share", "%15"),
        ("pt", Decimal("12.5"), "money", "€\u00a012,50"),
    ],
)
def test_numbers_are_written_as_in_the_language(code, value, kind, said):
    """CLDR says the same as the table of the language."""
    words = wording(code)
    mine = words.number(value, places=2 if kind == "money" else None)
    mine = {"money": words.money, "share": words.percent}.get(kind, "{}").format(mine)

    assert mine == said == written(value, kind, code)


@each("task", ["pairwise", "score"])
def test_the_cases_take_the_place_of_bundled_ones_alone(task):
    """A user's own cases are never replaced, and a task without such cases has none."""
    found = language_cases(task, bundled(task))

    assert len(found) == len(SHIPPED)
    assert len({len(case.answers) for case in found}) == 1
    assert all(case.scores or task == "pairwise" for case in found)
    assert language_cases(task, bundled(task)[:3]) == found
    assert language_cases(task, [replace(bundled(task)[0], id="mine")]) is None
    assert language_cases("rubric", bundled("rubric")) is None


def test_the_same_seed_asks_the_same_in_each_language():
    """A smaller count is the beginning of a larger one, and no shipped item is among what is drawn."""
    few, many = (list(generate_in(("de", "zh"), "score", n, 5)) for n in (4, 9))

    assert few == many[: len(few)]
    assert [case.tags[LANGUAGE] for case in few] == ["de", "zh"] * 4
    assert {case.question for case in few}.isdisjoint(case.question for case in SHIPPED)
    assert len({case.tags[ITEM] for case in many}) == 9


@each(
    ("codes", "task", "count", "said"),
    [
        (("dee",), "score", 1, "did you mean 'de'"),
        (("de",), "rubric", 1, "pairwise and score"),
        (("de",), "score", 0, "from 1 to"),
    ],
)
def test_a_wrong_wish_is_refused(codes, task, count, said):
    """The message names what is expected."""
    with pytest.raises(ConfigError, match=said):
        generate_in(codes, task, count, 1)


def test_a_language_of_short_texts_is_known():
    """Of 2,340 texts of the shipped cases each is taken for its own language, also without the tag."""
    for case in SHIPPED:
        bare = replace(case, tags={})
        assert language_of_case(bare) == case.tags[LANGUAGE]
        assert {language_of(text) for text in (case.question, *(a.text for a in case.answers))} == {case.tags[LANGUAGE]}


def test_a_wrong_result_is_never_the_right_one():
    """In no language are the two results of a problem written alike."""
    for item in islice(drawn(3), 200):
        for code in languages():
            right, bad = texts_of(item, code, frozenset())[1], texts_of(item, code, item.wrong)[1]
            assert right != bad
