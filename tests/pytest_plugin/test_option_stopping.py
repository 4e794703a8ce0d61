"""`--calm-stopping sequential|fixed|anytime`: stop each claim as soon as the evidence decides it, or ask all cases."""

import pytest

RULES = pytest.mark.parametrize("rule", ["--calm-stopping=sequential", "--calm-stopping=anytime"])
FIXED = "--calm-stopping=fixed"
SECOND = """
from calm import gain, net_robustness, readable_rate, rotate
from edits import flatter_first, greet


def test_courtesy_does_not_win(probe):
    assert probe(rotate(flatter_first, greet, name="courtesy")).proves(net_robustness >= 0.80, gain <= 0.10)


def test_replies_can_be_read(probe):
    assert probe().proves(readable_rate >= 0.90)
"""


@pytest.fixture
def two_suites(project):
    project.write("cases.jsonl", project.cases(200))
    project.write("test_second.py", SECOND)
    return project


def saved(record):
    """Return what a record says of calls that were saved: the share, and the note."""
    run = record["run"]
    notes = zip(run["note_codes"], run["notes"], strict=True)
    return [(code["details"][1], note) for code, note in notes if code["kind"] == "stopped-early"]


@RULES
def test_a_clear_case_needs_fewer_asks(two_suites, rule):
    """A judge that always falls for thanks is found out on a part of the cases; the saving is said."""
    result = two_suites.run(rule, "-v", "--calm-results=results.json", judge="judges:fond")

    findings = {f["key"]: f for f in two_suites.results()["findings"]}
    assert findings["flattery/gain/flatter"]["outcome"] == "FAIL"
    assert findings["flattery/gain/flatter"]["n"] <= 45
    [(share, said)] = saved(two_suites.results())
    assert share > 0
    assert said in str(result.stdout)


@RULES
def test_outcomes_are_those_of_the_whole_data(two_suites, rule):
    """Where the whole data decide a claim clearly, stopping early decides the same."""
    two_suites.run(FIXED, "--calm-results=fixed.json", judge="judges:fond")
    two_suites.run(rule, "--calm-results=early.json", judge="judges:fond")

    assert two_suites.outcomes("early.json") == two_suites.outcomes("fixed.json")


@RULES
def test_findings_depend_on_nothing_but_the_data(two_suites, rule):
    """Workers, the order of the cases, the cache and `-k` change no finding."""
    lines = (two_suites.path / "cases.jsonl").read_text().splitlines(keepends=True)
    two_suites.write("backwards.jsonl", "".join(reversed(lines)))
    two_suites.run(rule, "--calm-results=first.json", judge="judges:noisy")
    first = {f["key"]: f for f in two_suites.results("first.json")["findings"]}

    two_suites.run(rule, "-n2", "--calm-results=workers.json", judge="judges:noisy")
    two_suites.run(rule, "--calm-cache=off", "--calm-results=back.json", judge="judges:noisy", cases="backwards.jsonl")
    two_suites.run(rule, "-k", "courtesy", "--calm-results=part.json", judge="judges:noisy")

    assert two_suites.decided("workers.json") == two_suites.decided("first.json")
    assert two_suites.decided("back.json") == two_suites.decided("first.json")
    part = {f["key"]: f for f in two_suites.results("part.json")["findings"]}
    assert part
    assert part == {key: first[key] for key in part}


def test_the_default_is_sequential_and_the_record_names_the_rule(two_suites):
    """Fixed asks all 200 cases, whatever they say, and says nothing of a saving; the ini file sets the rule, too."""
    two_suites.run("--calm-results=default.json")
    two_suites.run(FIXED, "--calm-results=fixed.json")
    two_suites.ini(stopping="anytime")
    two_suites.run("--calm-results=anytime.json")

    found = {name: two_suites.results(f"{name}.json") for name in ("default", "fixed", "anytime")}
    asked = {name: next(f["n"] for f in body["findings"] if f["measure"] == "gain") for name, body in found.items()}
    assert {name: body["stopping"] for name, body in found.items()} == {
        "default": "sequential",
        "fixed": "fixed",
        "anytime": "anytime",
    }
    assert asked == {"default": 45, "fixed": 200, "anytime": 33}
    assert not saved(found["fixed"])


def test_another_rule_is_refused(project):
    """With the names that there are."""
    result = project.run("--calm-stopping=early")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--calm-stopping: expected fixed, sequential or anytime, got 'early'*"])
