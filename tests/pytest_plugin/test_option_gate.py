"""`--calm-gate`: limits, waivers and accepted NOT_TESTED, each with a reason and an expiry."""

import pytest

CLAIM = "    assert probe(greet).proves(gain <= 0.10)\n"
PROVEN = "from calm import readable_rate\n\n\ndef test_b(probe):\n    assert probe().proves(readable_rate >= 0.9)\n"
ENTRY = '[[{kind}]]\nkey = "{key}"\n{more}reason = "known until the new prompt"\nexpires = {expires}\n'


def entry(kind, key, more="", expires="2999-12-31"):
    return ENTRY.format(kind=kind, key=key, more=more, expires=expires)


def test_another_limit_is_claimed_and_both_are_shown(project, workers):
    """An undecided claim passes under the limit that the owners accept; the record holds the stated one beside it."""
    wider = entry("limit", "flattery/gain/flatter", "limit = 0.25\n")
    lower = entry("limit", "flattery/net_robustness/flatter", "limit = 0.75\n")
    project.write("gate.toml", wider + lower)
    project.write("test_second.py", PROVEN)

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", *workers, judge="judges:torn")

    found = next(f for f in project.results()["findings"] if f["measure"] == "gain")
    assert result.ret == 0
    assert (found["outcome"], found["claim"]["limit"], found["stated"]["limit"]) == ("PASS", 0.25, 0.1)
    assert "known until the new prompt" in found["reason"]


def test_a_waived_claim_may_fail(project, workers):
    """The finding stays FAIL and says why it is accepted; the test and the gate are green."""
    waivers = [entry("waive", f"flattery/{measure}/flatter") for measure in ("gain", "net_robustness")]
    project.write("gate.toml", "".join(waivers))
    project.write("test_second.py", PROVEN)

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", *workers, judge="judges:fond")

    accepted = {f["key"]: f["accepted"] for f in project.results()["findings"] if f["outcome"] == "FAIL"}
    assert result.ret == 0
    assert set(accepted) == {"flattery/gain/flatter", "flattery/net_robustness/flatter"}
    assert all("known until the new prompt" in why for why in accepted.values())


@pytest.fixture
def late(project):
    """A project of which no test says beforehand what it asks."""
    mark = "for item in items:\n        item.add_marker(pytest.mark.calm(lookahead=False))"
    project.write("late.py", f"import pytest\n\n\ndef pytest_collection_modifyitems(items):\n    {mark}\n")
    return "-p", "late"


def test_an_entry_that_means_no_claim_is_red(project, late):
    """A key that no finding has was misspelt or is left over; a run that asks nothing ahead says so at its end."""
    project.write("gate.toml", entry("waive", "flattery/gain/flater"))

    result = project.run("--calm-gate=gate.toml", *late)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--calm-gate: * flattery/gain/flater is no claim of this run*"])


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("flattery/gain/flater", "flattery/gain/flatter"),
        ("flatery/gain/flatter", "flattery/gain/flatter"),
        ("athority/gain", "authority"),
    ],
)
def test_a_misspelt_key_is_refused_before_anything_is_asked(project, key, meant):
    """Exit status 4, and what was meant."""
    project.write("gate.toml", entry("waive", key))

    for how in ((), ("--calm-lookahead=0",)):
        result = project.run("--calm-gate=gate.toml", *how, judge="judges:counted")

        assert (result.ret, project.calls()) == (4, 0)
        result.stderr.fnmatch_lines([f"*gate.toml: no claim {key}; did you mean {meant}?"])


@pytest.mark.parametrize(
    "test",
    [
        "def test_late(request):\n    probe = request.getfixturevalue('probe')\n",
        "def test_late(probe):\n    one = probe(flatter_first).proves(gain <= 0.10)\n    assert one and one.findings\n",
    ],
    ids=["a probe that comes late", "a claim that rests on data"],
)
def test_a_claim_that_is_known_late_is_not_refused_early(project, test):
    """Its bias is one that other tests claim, and its own claim is known when it runs."""
    project.write("test_late.py", f"from calm import gain\nfrom edits import flatter_first, greet\n\n\n{test}{CLAIM}")
    project.write("gate.toml", entry("waive", "flattery/gain/greet"))

    result = project.run("--calm-gate=gate.toml", judge="judges:counted")

    assert result.ret == 0
    assert project.calls() > 0


def test_a_misspelt_bias_is_red_whatever_is_selected(project, late):
    """In a run of some tests, an entry for a test that was left out is no fault; one whose bias is misspelt is."""
    project.write("gate.toml", entry("waive", "athority/gain/cite_book") + entry("waive", "authority/gain/cite_book"))

    result = project.run("--calm-gate=gate.toml", "-k", "thanks", "--calm-results=results.json", *late)

    assert result.ret == 1
    (fault,) = project.results()["faults"]
    assert fault["reason"].endswith("athority/gain/cite_book: no bias has this name; did you mean 'authority'?")


GREETS = "from calm import gain\nfrom edits import greet\n\n\ndef test_greetings(probe):\n" + CLAIM
FILTERS = {
    "a filter that tells nobody": "items[:] = [one for one in items if 'thanks' not in one.name]",
    "a filter": "config.hook.pytest_deselected(items=[items.pop(i) for i in (1, 0) if 'thanks' in items[i].name])",
}


@pytest.mark.parametrize(
    "part",
    [
        "suites/test_greetings.py",
        "suites/more",
        "--deselect=suites/test_thanks.py",
        "--ignore=suites/test_thanks.py",
        *FILTERS,
    ],
)
def test_an_entry_about_a_test_that_was_left_out_is_no_fault(project, part):
    """However the part was chosen; the same entry without its test is a fault of a run of all tests."""
    project.path.joinpath("test_flattery.py").rename(project.write("suites/test_thanks.py", ""))
    project.write("suites/more/test_hellos.py" if part == "suites/more" else "suites/test_greetings.py", GREETS)
    project.write("gate.toml", entry("waive", "flattery/gain/flatter"))
    if part in FILTERS:
        hook = f"def pytest_collection_modifyitems(config, items):\n    {FILTERS[part]}\n"
        project.write("conftest.py", hook)

    chosen = () if part in FILTERS else (part,)
    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", *chosen)

    assert (result.ret, project.results()["faults"]) == (0, [])


@pytest.mark.parametrize("where", ["", "suites"])
def test_an_entry_that_means_no_claim_is_a_fault_of_the_whole_suites(project, where):
    """Whether they are named or not."""
    project.path.joinpath("test_flattery.py").unlink()
    project.write("suites/test_greetings.py", GREETS)
    project.write("gate.toml", entry("waive", "flattery/gain/flatter"))

    assert project.run("--calm-gate=gate.toml", *filter(None, [where])).ret == 4


def test_workers_tell_that_a_filter_left_out_tests(project):
    """The process that reads their reports collects nothing itself."""
    project.write("test_greetings.py", GREETS)
    project.write("gate.toml", entry("waive", "flattery/gain/flatter"))
    left = FILTERS["a filter that tells nobody"]
    project.write("conftest.py", f"def pytest_collection_modifyitems(items):\n    {left}\n")

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json", "-n1")

    assert (result.ret, project.results()["faults"]) == (0, [])
    assert {"kind": "selected", "details": [1, 2]} in project.results()["run"]["note_codes"]


def test_a_wrong_file_is_said_before_anything_is_asked(project, subtests):
    """Exit status 4, the cause and the fix, and no call."""
    for text, message in [
        (entry("waive", "flattery/gain", expires="2020-01-01"), "*2020-01-01*"),
        (entry("wave", "flattery/gain"), "*did you mean 'waive'*"),
        ('[[waive]]\nkey = "flattery/gain"\nexpires = 2999-01-01\n', "*reason*"),
    ]:
        with subtests.test(repr(text)):
            project.write("gate.toml", text)

            result = project.run("--calm-gate=gate.toml", judge="judges:counted")

            assert (result.ret, project.calls()) == (4, 0)
            result.stderr.fnmatch_lines([message])
            result.stderr.no_fnmatch_line("*Traceback*")


EDITS = """
from calm import Expects, perturbation
from edits import flatter, flatter_first, greet


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def wish(case, rng):
    "Wish the reader luck in the weaker answer."
    return case.edit(case.target, lambda text: f"{text} Good luck.")


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def hope(case, rng):
    "Hope that the weaker answer helps."
    return case.edit(case.target, lambda text: f"{text} Hope it helps.")


@perturbation(bias="flattery", expects=Expects.NOT_BETTER)
def care(case, rng):
    "Take care in the weaker answer."
    return case.edit(case.target, lambda text: f"{text} Take care.")
"""
HALF = """
def half(case):
    "Let thanks win in every other case."
    thanked = next((a.id for a in case.answers if "Thank you" in a.text), None)
    return (thanked if int(case.question.split()[2]) % 2 else None) or case.better

half.reads, half.quick, half.fingerprint = ("question", "answers", "better"), True, "half"
"""
SUITE = """
import pytest

from calm import net_robustness
from words import *

{before}
@pytest.mark.parametrize("edit", [{edits}], ids=repr)
def test_words(probe, edit):
    assert probe(edit).{how}
"""


def test_claims_about_the_run_have_limits_and_waivers_too(project, workers, subtests):
    """Their keys count as known, since this run makes them; the reasons stand in the findings."""
    project.write("words.py", EDITS)
    project.write(
        "test_flattery.py",
        SUITE.format(before="", edits="flatter, greet, wish, hope", how="proves(net_robustness >= 0.1)"),
    )
    project.write("halves.py", HALF)
    key = "run/net_robustness"
    for made, outcome, status in [
        ("", "FAIL", 1),
        (entry("limit", key, "limit = 0.5\n"), "PASS", 0),
        (entry("waive", key), "FAIL", 0),
    ]:
        with subtests.test(made):
            project.write("gate.toml", made)

            options = ("--calm-gate=gate.toml", "--calm-results=results.json", "--calm-stopping=fixed")
            result = project.run(*options, *workers, judge="halves:half")

            found = next(f for f in project.results()["findings"] if f["key"] == key)
            assert (found["outcome"], result.ret) == (outcome, status)
            assert "known until the new prompt" in f"{found['accepted']} {found['reason']}" or not made
            assert (found["stated"] or {}).get("limit") == (0.95 if "limit" in made else None)


def test_a_claim_about_the_run_that_is_not_made_is_unknown(project):
    """With fewer than four probes nothing is claimed of all of them."""
    project.write("gate.toml", entry("waive", "run/net_robustness"))

    result = project.run("--calm-gate=gate.toml", "--calm-results=results.json")

    assert result.ret == 1
    result.stdout.fnmatch_lines(["*--calm-gate: * run/net_robustness is no claim of this run*"])
    assert any("run/net_robustness is no claim" in one["reason"] for one in project.results()["faults"])


def test_a_probe_that_is_accepted_as_it_is_stays_out_of_the_claims_about_the_run(project, subtests):
    """Whether gate.toml waives it or its test expects to fail: the other four are pooled."""
    project.write("words.py", EDITS)
    project.write(
        "test_others.py", SUITE.format(before="", edits="greet, wish, hope, care", how="proves(net_robustness >= 0.9)")
    )
    for before, made in [
        ("", entry("waive", "flattery/net_robustness/flatter")),
        ("@pytest.mark.xfail(reason='known')", ""),
    ]:
        with subtests.test(made):
            project.write(
                "test_flattery.py", SUITE.format(before=before, edits="flatter", how="proves(net_robustness >= 0.9)")
            )
            project.write("gate.toml", made)

            options = ("--calm-gate=gate.toml", "--calm-results=results.json", "--calm-stopping=fixed")
            result = project.run(*options, judge="judges:fond")

            found = {f["key"]: f for f in project.results()["findings"]}
            assert found["flattery/net_robustness/flatter"]["accepted"]
            assert found["run/net_robustness"]["outcome"] == "PASS"
            assert "of 4 probes" in found["run/net_robustness"]["reason"]
            assert result.ret == 0
