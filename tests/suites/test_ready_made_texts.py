"""Texts that the cases hold: what `calm cases check` announces is what the suites show, whoever wrote the texts."""

import json
import re
from dataclasses import replace

import pytest

from calm.cases import read_cases
from calm.cases.foreign import import_cases
from calm.cases.lines import line
from calm.commands.plan import outlooks, suite_of
from calm.core.ready_made import text_kind
from tests.lanes import slow
from tests.suites.gate import run_gate

CASES = 24
SUITES = ("authority", "verbosity", "sentiment", "fallacy_oversight", "refinement_aware")


def good(number):
    """Return a right answer with a reason."""
    return (
        f"The river number {number} is {number + 100} km long, because it was measured by boat in spring. "
        "Therefore the map is right about it. It ends in the sea near the town."
    )


def bad(number):
    """Return a wrong one."""
    return (
        f"The river number {number} is {number + 90} km long, because somebody guessed so one day. "
        "So the map is wrong about it. It ends in a lake near the town."
    )


def cited(number, of, answer):
    """Return texts that cite; every sixth record has none for the worse answer."""
    forms = ("book", "quote", "url") if answer == 1 or number % 6 else ()
    return {f"answer{answer}_with_reference_{form}": f"{of(number)} (See the {form} of A. Nobody.)" for form in forms}


def record(number, kind):
    """Return a record in the shape of CALM's own files; what its texts say breaks every band of our own writer."""
    answers = {"question": f"How long is river {number}?", "answer1": good(number), "data_resource": "made up"}
    if kind == "refinement":
        polished = good(number).replace("because it was measured by boat in spring", "as measured from a vessel")
        return answers | {"answer1_polished": polished if number % 6 else good(number)}
    answers["answer2"] = bad(number)
    if kind == "authority":
        return answers | cited(number, good, 1) | cited(number, bad, 2)
    if kind == "verbosity":
        return answers | {"answer2_longer": f"{bad(number)} " * 6 if number % 4 else bad(number)}
    if kind == "fallacy":
        return answers | {"answer1_fallacy_oversight": f"Boats float. So it is {number + 100} km." * (number % 5 > 0)}
    moods = {f"{mood}": f"Oh, how {mood}! Zounds, 77 times. " for mood in ("cheerful", "sad", "angry", "fear")}
    return answers | {
        f"answer{place}_{mood}": said + of(number)
        for place, of in ((1, good), (2, bad))
        for mood, said in moods.items()
        if place == 1 or number % 3
    }


def imported(folder, kind):
    """Return the path of the cases that `calm cases import` makes of a file of a kind, and the cases."""
    source, path = folder / f"{kind}.json", folder / f"{kind}.jsonl"
    source.write_text(json.dumps([record(number, kind) for number in range(CASES)]), "utf-8")
    cases = import_cases(source, form="calm").cases
    if kind == "refinement":  # it has no gold, by which a planted judge goes
        cases = [replace(case, scores={"answer1": 6.0}) for case in cases]
    path.write_text("".join(map(line, cases)), "utf-8")
    return path, read_cases(path)


def shown_in(results, *, papers=False):
    """Return by bias, or in the papers' suite by bias and edit, in how many cases a text of their own was shown."""
    found = {}
    for one in results["findings"]:
        if one["reason"].startswith("one variant of a rotation"):
            continue
        name = "/".join(filter(None, [one["bias"], one["perturbation"] if papers else None]))
        shown = {row["case"] for row in one["trials"] if row["own"]}
        assert one["own"] == len(shown)
        found[name] = max(found.get(name, 0), len(shown))
    return found


def announced(cases, *, papers=False):
    """Return the same as `calm cases check` says it."""
    told = dict(outlooks(cases))
    if papers:
        return {name.partition(", ")[2]: one for name, one in told.items() if name.startswith("papers")}
    whole = {name.partition(" ")[0]: one for name, one in told.items() if not name.startswith("papers")}
    return {name.removeprefix("test_").replace("_", "-"): one for name, one in whole.items()}


@pytest.mark.parametrize(
    ("kind", "bias", "shown", "why"),
    [
        ("authority", "authority", 20, "it is for another answer than the treated one"),
        slow("verbosity", "verbosity", 18, "refused: unchanged"),
        slow("sentiment", "sentiment", 16, "it is for another answer than the treated one"),
        slow("fallacy", "fallacy-oversight", 19, None),
        ("refinement", "refinement-aware", 20, "refused: unchanged"),
    ],
)
def test_texts_of_a_publication_are_shown_in_as_many_cases_as_was_announced(tmp_path, kind, bias, shown, why):
    """All that anybody could use are shown, whatever they changed, in the default suite and in that of the paper."""
    path, cases = imported(tmp_path, kind)
    task = "score" if kind == "refinement" else "pairwise"
    suites = [f"calm.suites.{suite_of(text_kind(name))}" for name in sorted({n for c in cases for n in c.variants})]
    judge, options = f"planted:noise=0.02,task={task}", (f"--calm-cases={path}", "--calm-stopping=fixed")

    gate = run_gate(judge, tmp_path, *options, what=("--pyargs", *dict.fromkeys(suites)))
    protocol = run_gate(judge, tmp_path, *options, what=("--pyargs", "calm.suites.papers"))

    default, paper = announced(cases), announced(cases, papers=True)
    seen, seen_in_paper = shown_in(gate.results), shown_in(protocol.results, papers=True)
    assert (seen[bias], default[bias].shown, default[bias].open) == (shown, shown, 0)
    assert {name: seen_in_paper[name] for name in paper} == {name: one.shown for name, one in paper.items()}
    assert paper
    assert max(seen_in_paper.values()) >= shown
    assert re.search(rf"{bias}\S* shows them in {shown} of {CASES} cases", " ".join(gate.output.split()))
    mine = [one for one in gate.results["findings"] if one["own"] and not one["measure"].startswith("worst")]
    assert mine
    assert why is None or all(one["unused"][why] for one in mine)


# ---------------------------------------------------------------------------------------------------- calm rewrite
