"""The fixtures `judge`, `cases` and `probe`, overridden in plain pytest fashion."""

JUDGE = """
import pytest

import judges
from calm.judges.python import PythonJudge


@pytest.fixture(scope="session")
def judge():
    return PythonJudge(judges.{name})
"""

OWN = """
import pytest

from calm import Preferred, Scale


class Own:
    name, task, scale, fingerprint, about, endpoints = "own", "pairwise", Scale(), None, {}, ()
    quick, notes = True, ("it is mine",)
    reads = ("question", "answers", "better")

    def sees(self, case):
        return case.question, case.shown

    async def judge(self, case, send):
        with open("calls.txt", "a") as file:
            file.write(f"{case.id} {send.ask}\\n")
        return Preferred(case.better)


@pytest.fixture(scope="session")
def judge():
    return Own()
"""

CASES = """
import pytest

from calm.cases import read_cases


@pytest.fixture(scope="{scope}")
def cases():
    return read_cases("cases.jsonl", task="pairwise")[:90]
"""


def test_a_conftest_overrides_the_judge(project, always_workers):
    """The fixture of the user's conftest.py is the judge under audit."""
    project.write("conftest.py", JUDGE.format(name="fond"))

    result = project.run("--calm-results=results.json", *always_workers, judge=None)

    assert result.ret == 1
    assert project.results()["judge"]["name"] == "judges:fond"


def own_notes(project):
    """Return the notes of a run but for those of any sound judge without noise: it repeats itself, and is cheap."""
    kinds = [note["kind"] for note in project.results()["run"]["note_codes"]]
    notes = zip(kinds, project.results()["run"]["notes"], strict=True)
    return [note for kind, note in notes if kind not in ("repeats-itself", "stopped-early", "reads-gold")]


def test_an_object_of_a_class_of_ones_own_is_a_judge(project):
    """It may leave out what has a default, and is one judge in all tests: they share the clean arm."""
    project.write("conftest.py", OWN)
    second = "from edits import greet\n\n\ndef test_again(probe):\n    assert probe(greet).proves(gain <= 0.10)\n"
    project.write("test_second.py", f"from calm import gain\n{second}")

    result = project.run("--calm-results=results.json", judge=None)

    assert result.ret == 0
    assert project.results()["judge"]["name"] == "own"
    assert own_notes(project) == ["it is mine"]
    asked = (project.path / "calls.txt").read_text().splitlines()
    # the pilot, once in the clean arm, and once with each edit
    assert max(asked.count(one) for one in asked) == 4


def test_a_conftest_overrides_the_cases(project, workers):
    """The fixture of the user's conftest.py gives the cases."""
    project.write("conftest.py", CASES.format(scope="session"))

    result = project.run("--calm-results=results.json", *workers, cases=None)

    assert result.ret == 0
    assert project.results()["cases"]["n"] == 90


def test_a_fixture_may_have_a_narrower_scope(project):
    """Cases that are read anew for each test are the same cases."""
    project.write("conftest.py", CASES.format(scope="function"))
    project.write(
        "test_second.py",
        "from calm import gain\nfrom edits import greet\n\n\n"
        "def test_greetings(probe):\n    assert probe(greet).proves(gain <= 0.10)\n",
    )

    result = project.run("--calm-results=results.json", cases=None)

    assert result.ret == 0
    assert own_notes(project) == []


def test_a_listwise_judge_takes_the_cases_of_the_conftest(project, workers):
    """The bundled cases of a task are only those of a run whose conftest.py has no fixture of its own."""
    project.write(
        "ranks.py",
        "def by_id(case):\n    return sorted(a.id for a in case.answers)\n\n\n"
        "by_id.task, by_id.quick = 'listwise', True\n",
    )
    project.write("conftest.py", CASES.format(scope="session").replace('task="pairwise"', "").replace("[:90]", ""))
    three = project.cases(90).replace('], "better": "good"', ', {"id": "odd", "text": "No idea."}]')
    project.write("cases.jsonl", three)
    project.write(
        "test_flattery.py",
        "from calm import readable_rate\n\n\ndef test_read(probe):\n    assert probe().proves(readable_rate >= 0.90)\n",
    )

    result = project.run(*workers, judge="ranks:by_id", cases=None)

    assert result.ret == 0


def test_a_fixture_that_returns_something_else_is_a_configuration_error(project, workers, subtests):
    """The message says what a fixture should return; exit status 4, no traceback."""
    for body, said in [
        ("def judge():\n    return lambda case: 'good'\n", "the fixture `judge`: expected a judge"),
        ("def judge():\n    return 'judge.toml'\n", "the fixture `judge`: expected a judge"),
        ("def cases():\n    return 'cases.jsonl'\n", "the fixture `cases`: expected a list of cases, got str"),
        ("def cases():\n    return [{'id': 'c1'}]\n", "the fixture `cases`: expected a list of cases, got list"),
        ("def cases():\n    return (c for c in [])\n", "the fixture `cases`: expected a list of cases, got generator"),
    ]:
        with subtests.test(repr(body)):
            project.write("conftest.py", f"import pytest\n\n\n@pytest.fixture(scope='session')\n{body}")

            result = project.run(*workers)

            assert result.ret == 4
            assert said in str(result.stdout)
            assert "Traceback" not in str(result.stdout)
            assert "conftest.py:" not in str(result.stdout)


def test_no_cases_at_all_is_not_green(project):
    """An empty set of cases proves nothing."""
    project.write("conftest.py", "import pytest\n\n\n@pytest.fixture(scope='session')\ndef cases():\n    return []\n")

    result = project.run(cases=None)

    assert result.ret == 1
    result.stdout.fnmatch_lines(["NOT GREEN (exit 1): *", "*not tested: flattery*"])


def test_a_probe_of_ones_own_is_left_alone(project):
    """A project may have a fixture `probe` that has nothing to do with calm."""
    project.write("conftest.py", "import pytest\n\n\n@pytest.fixture\ndef probe():\n    return 3\n")
    project.write("test_flattery.py", "def test_mine(probe):\n    assert probe == 3\n")

    result = project.run(judge=None, cases=None)

    assert result.ret == 0
    assert "= calm =" not in str(result.stdout)


def test_a_conftest_may_give_a_probe_to_a_test(project):
    """By the names of its fixtures, after it was collected: a test that crashes without a word is said all the same."""
    project.write("tox.ini", "[pytest]\ncalm_judge = judges:gold\ncalm_cases = cases.jsonl\n")
    project.write(
        "conftest.py",
        "def pytest_collection_modifyitems(items):\n"
        "    for item in items:\n        item.fixturenames.insert(0, 'probe')\n",
    )
    project.write(
        "test_given.py",
        "from calm import net_robustness\nfrom calm.perturbations.authority import cite_book\n\n\n"
        "def test_a(request):\n"
        "    assert request.getfixturevalue('probe')(cite_book).proves(net_robustness >= 0.5)\n\n\n"
        "def test_e():\n    assert 0\n",
    )

    result = project.run_apart("test_given.py", judge=None, cases=None)

    assert result.ret == 1
    assert "test_given.py::test_e" in str(result.stdout).split("= calm =")[1].split("short test summary")[0]
