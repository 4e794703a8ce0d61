"""`--calm-cases FILE`: which cases the judge is asked about."""


def test_a_file_of_cases_is_used(project, workers):
    """The record counts the cases of the file and names their hash."""
    result = project.run("--calm-results=results.json", *workers)

    assert result.ret == 0
    assert project.results()["cases"]["n"] == 100


def test_the_option_is_repeatable(project, workers):
    """Two files are one set of cases."""
    project.write("more.jsonl", project.cases(30, prefix="m"))

    project.run("--calm-cases=more.jsonl", "--calm-results=results.json", *workers)

    assert project.results()["cases"]["n"] == 130


def test_the_order_of_two_files_does_not_matter(project):
    """Cases of two files give the same record in either order."""
    project.write("more.jsonl", project.cases(30, prefix="m"))

    project.run("--calm-cases=more.jsonl", "--calm-results=one.json", judge="judges:noisy")
    project.run("--calm-cases=cases.jsonl", "--calm-results=two.json", judge="judges:noisy", cases="more.jsonl")

    assert project.decided("one.json") == project.decided("two.json")


def test_one_id_in_two_files_is_an_error(project):
    """Cases with one id in two files end the run before a call, and name both."""
    project.write("more.jsonl", project.cases(3))

    result = project.run("--calm-cases=more.jsonl")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["ERROR: calm: more.jsonl: id: *got 'c000' of cases.jsonl again*"])


def test_the_ini_setting_lists_files_beside_the_ini_file(project, monkeypatch):
    """`calm_cases` takes several paths, relative to the ini file."""
    project.write("data/more.jsonl", project.cases(30, prefix="m"))
    project.ini(judge="judges:gold", cases="cases.jsonl data/more.jsonl")
    monkeypatch.chdir(project.path / "data")

    result = project.run("..", "--calm-results=results.json", judge=None, cases=None)

    assert result.ret == 0
    assert project.results("data/results.json")["cases"]["n"] == 130


def test_too_few_cases_are_undecided_and_say_how_many_are_needed(project):
    """A set that can never prove the claim is asked, stays undecided, and says what it would take."""
    project.write("few.jsonl", project.cases(12))

    result = project.run("-v", "--calm-results=results.json", cases="few.jsonl")

    found = {f["key"]: f for f in project.results()["findings"]}["flattery/gain/flatter"]
    assert result.ret == 1
    assert (found["outcome"], found["claim"]["limit"], found["n"]) == ("UNDECIDED", 0.10, 12)
    assert found["cases_to_decide"] > 12
    assert f"about {found['cases_to_decide']} cases" in str(result.stdout)


def test_the_bundled_cases_follow_each_judge_of_a_run(project, workers):
    """Two judges of different tasks in one run each get the cases of their task."""
    for name, judge in (("one", "gold"), ("two", "marked")):
        project.write(f"{name}/__init__.py", "")
        project.write(
            f"{name}/conftest.py",
            "import pytest, judges\nfrom calm.judges.python import PythonJudge\n\n\n"
            f"@pytest.fixture(scope='session')\ndef judge():\n    return PythonJudge(judges.{judge})\n",
        )
        project.write(
            f"{name}/test_read_{name}.py",
            "from calm import readable_rate\n\n\n"
            "def test_read(probe):\n    assert probe().proves(readable_rate >= 0.90)\n",
        )

    result = project.run("one", "two", "--calm-results=results.json", *workers, judge=None, cases=None)

    asked = [f["trials"][0]["case"] for f in project.results()["findings"]]
    assert result.ret == 0
    assert asked[0] != asked[1]


REFERRED = """
from calm import pull
from edits import flatter


def test_thanks_do_not_win(probe):
    assert probe(flatter).proves(pull <= 0.25)
"""


def test_code_that_goes_by_a_reference_is_not_asked_about_pairs_without_one(project):
    """The equal pairs that ship have none: such a judge gets pairs made of the bundled cases, which have one."""
    project.write("test_flattery.py", REFERRED)
    project.write(
        "referred.py",
        "def judge(case):\n"
        "    said = [len(set(a.text.split()) & set(case.reference.split())) for a in case.answers]\n"
        "    return 'tie' if said[0] == said[1] else case.answers[said.index(max(said))].id\n\n"
        "judge.reads, judge.quick = ('answers', 'reference'), True\n",
    )

    result = project.run("--calm-results=results.json", judge="referred:judge", cases=None)
    other = project.run("--calm-results=other.json", judge="planted", cases=None)

    referred, shipped = (
        {row["case"] for f in project.results(name)["findings"] for row in f["trials"]}
        for name in ("results.json", "other.json")
    )
    assert (result.ret, other.ret) == (0, 0)
    assert all(case.startswith("tie-") for case in shipped)
    assert not any(case.startswith("tie-") for case in referred)
