"""`calm plan JUDGE`: what a run will ask and cost, before any call is made."""

import re

import pytest

from calm.commands.cli import main
from calm.gate.rehearsal import STEP
from tests.inside import calm_inside, offered
from tests.lanes import slow
from tests.servers import wire_server
from tests.suites.gate import run_gate

JUDGE = """
[judge]
name = "planned"
task = "{task}"
{judge}
[model]
provider = "openai"
model = "judge-1"
base_url = "{url}"
max_tokens = 64
price_usd_per_mtok = {{ input = 0.50, output = 2.00 }}
{model}
[verdict]
{verdict}
"""
DEAD = "http://127.0.0.1:9/v1"
VERDICTS = {"pairwise": "[[A]]", "score": "[[7]]", "rubric": "[[yes]]"}


def calm(folder, *arguments):
    """Return the run of `calm plan` in a folder."""
    return calm_inside(folder, "plan", *arguments, env={"COLUMNS": "200"})


def judge_file(folder, url=DEAD, *, task="pairwise", judge="", model="", verdict=""):
    """Write a judge.toml and return its name."""
    (folder / "judge.toml").write_text(JUDGE.format(task=task, url=url, judge=judge, model=model, verdict=verdict))
    return "judge.toml"


def row(told, name):
    """Return the cells of a row of a plan; a number stands for what is exact, a text "up to N" for what is not."""
    line = next(line for line in told.splitlines() if re.match(rf"{re.escape(name)}  ", line))
    cells = re.split(r" {2,}", line.strip().replace(",", ""))[1:]
    return [int(c) if c.isdigit() else c for c in cells]


def calls(told, name="total"):
    """Return the number of calls in a row, and whether it is exact; rows of arms and probes begin with their cases."""
    cells = row(told, name)
    found = cells[0] if name in ("total", "least", "expected", "first live call") else cells[1]
    return int(str(found).removeprefix("up to ")), isinstance(found, int)


PART = ("-k", "authority or position or consistency")
SPECS = [("planted:", PART), *(slow(spec, ()) for spec in ("planted:", "planted:task=score", "planted:task=rubric"))]


@pytest.mark.parametrize(("spec", "own"), SPECS)
def test_the_least_is_the_calls_of_a_run_whose_judge_never_moves(tmp_path, spec, own):
    """On a judge without noise or bias: of a part of the gate, and of all of it for each kind of verdict."""
    told = calm(tmp_path, spec, "--sample=48", "--", *own).stdout

    run = run_gate(spec, tmp_path, "--calm-sample=48", *own)

    made = run.results["run"]["calls"]["made"]
    assert calls(told, "least") == (made, True)
    assert max(made, calls(told, "expected")[0]) <= calls(told)[0]


@pytest.mark.parametrize("options", [(), slow(("--calm-every-variant",)), slow(("--calm-stopping=fixed",))], ids=str)
def test_planned_calls_are_a_bound_where_more_may_be_asked(tmp_path, options):
    """A biased and noisy judge takes no more than the total."""
    own = ("-k", "authority or consistency or defect", *options)
    told = calm(tmp_path, "planted:authority=0.1,noise=0.1", "--sample=80", "--", *own).stdout

    run = run_gate("planted:authority=0.1,noise=0.1", tmp_path, "--calm-sample=80", *own)

    most, exact = calls(told)
    assert not exact
    assert run.results["run"]["calls"]["made"] <= most


@pytest.mark.parametrize(
    ("task", "judge", "own"),
    [
        ("pairwise", "", PART),
        *[("pairwise", 'mitigations = ["swap"]', PART) for _ in offered("mitigate")],
        ("rubric", "", PART),
        *(slow(task, "", ()) for task in ("pairwise", "score", "rubric")),
    ],
)
def test_planned_calls_are_the_requests_that_a_server_gets(tmp_path, task, judge, own):
    """A first live call, and one an ask; one a criterion of a rubric, two with the swap; none by the plan."""
    with wire_server(lambda messages, body: VERDICTS[task]) as server:
        path = judge_file(tmp_path, server.url, task=task, judge=judge)
        told = calm(tmp_path, path, "--sample=6", "--repeats=2+2", "--", *own).stdout
        before = len(server.seen)
        run = run_gate(path, tmp_path, "--calm-sample=6", "--calm-repeats=2+2", *own)
        after = len(server.seen)

    assert before == 0
    assert after <= calls(told)[0]
    assert run.results["run"]["calls"]["made"] == after


def test_a_server_that_is_down_does_not_matter(tmp_path):
    """A judge.toml on a dead port is planned, and nothing is written."""
    done = calm(tmp_path, judge_file(tmp_path), "--sample=5", "--", "-k", "authority")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "planned (pairwise): 5 of 240 cases, 2+1 asks, undecided claims topped up, stopping early, seed 0."
    )
    assert [p.name for p in tmp_path.iterdir()] == ["judge.toml"]


def test_the_judge_of_an_ini_file_is_not_called(tmp_path):
    """Not even where the options bring in an ini file that names one."""
    with wire_server(lambda messages, body: "[[A]]") as server:
        path = judge_file(tmp_path, server.url)
        (tmp_path / "pytest.ini").write_text(f"[pytest]\ncalm_judge = {path}\n")
        done = calm(tmp_path, path, "--sample=5", "--", "-c", "pytest.ini", "-k", "authority")

    assert done.returncode == 0, done.stderr
    assert server.seen == []


def test_a_plan_needs_no_key_and_says_that_a_run_does(tmp_path):
    """Nobody is asked. What is wrong with the judge otherwise comes out as in a run."""
    file = judge_file(tmp_path, model='api_key_env = "NO_SUCH_KEY_1"')
    done = calm(tmp_path, file, "--sample", "20", "--", "-k", "authority")
    other = calm(tmp_path, judge_file(tmp_path, model='api_key_env = "NO_SUCH_KEY_1"\ncolour = 1'))

    assert done.returncode == 0, done.stderr
    assert calls(done.stdout)
    assert "planned without it, but a run needs it" in done.stderr
    assert "NO_SUCH_KEY_1" in done.stderr
    assert other.returncode == 4
    assert "colour" in other.stderr


def test_the_price_of_judge_toml_is_what_it_costs(tmp_path):
    """Dollars are tokens times the price, and the assumptions are stated."""
    told = calm(tmp_path, judge_file(tmp_path), "--sample=20", "--repeats=2+2", "--", "-k", "authority").stdout

    _, read, written, usd, batch, _ = row(told, "least")

    assert float(usd) == pytest.approx((read * 0.5 + written * 2.0) / 1e6, abs=6e-5)
    assert float(batch) == pytest.approx(float(usd) / 2, abs=1e-4)
    assert written == calls(told, "least")[0] * 64
    assert "judge-1: 0.5 USD a million tokens in, 2 out (judge.toml)" in told
    assert "assumes 4 characters a token, 64 tokens a reply, 2 s a call, 32 at a time" in told


def test_a_model_without_a_price_is_said(tmp_path):
    """Unknown is not free."""
    path = judge_file(tmp_path)
    text = (tmp_path / path).read_text()
    (tmp_path / path).write_text("\n".join(line for line in text.splitlines() if "price" not in line))

    done = calm(tmp_path, path, "--sample=5", "--", "-k", "authority")

    assert len(row(done.stdout, "total")) == 4  # calls, tokens and time alone
    assert "judge-1: unknown price: give price_usd_per_mtok" in done.stdout


def test_limits_of_the_endpoint_make_it_slower(tmp_path):
    """Requests a minute bound the time."""
    path = judge_file(tmp_path, model="rpm = 60")

    told = calm(tmp_path, path, "--sample=20", "--repeats=2+2", "--", "-k", "authority").stdout

    made, _ = calls(told, "least")
    assert "60 requests a minute" in told
    assert row(told, "least")[-1] == f"{(made + 1) / 60:.1f} min"  # the first live call takes its two seconds


def test_what_fits_fits_and_a_run_of_it_is_offered(tmp_path):
    """The sample found is expected to cost no more than the budget, more would; the command line names both."""
    path = judge_file(tmp_path)
    own = ("--", "-k", "authority or verbosity")
    done = calm(tmp_path, path, "--fit", "--max-usd=0.15", "--max-minutes=30", "--noise=0.02", *own)
    command = done.stdout.splitlines()[-1]
    n, repeats = re.search(r"--calm-sample=(\d+) --calm-repeats=(\S+)", command).groups()

    sizes = (int(n), int(n) + int(n) // STEP + 1)
    fits, larger = (calm(tmp_path, path, f"--sample={k}", f"--repeats={repeats}", *own).stdout for k in sizes)

    assert done.returncode == 0, done.stdout
    assert command.startswith("pytest --pyargs calm.suites -k 'authority or verbosity' --calm-judge=judge.toml")
    assert command.endswith("--calm-max-usd=0.15")
    assert usd(fits) <= 0.15 < usd(larger)


def test_a_budget_of_calls_needs_no_price(tmp_path):
    """A model whose price nobody knows is fitted by its calls, and the run of the command is capped at them."""
    path = judge_file(tmp_path)
    file = tmp_path / path
    file.write_text(re.sub(r"price_usd_per_mtok.*", "", file.read_text()))
    own = ("--noise=0.02", "--", "-k", "authority or consistency")

    priced, done = (calm(tmp_path, path, "--fit", budget, *own) for budget in ("--max-usd=5", "--max-calls=6000"))

    assert (priced.returncode, done.returncode) == (4, 0), done.stdout + done.stderr
    assert "--max-calls" in priced.stderr
    assert done.stdout.splitlines()[-1].endswith("--calm-max-calls=6000")
    assert calls(done.stdout, "expected")[0] <= 6000


def usd(told):
    """Return the dollars that a plan expects."""
    return float(row(told, "expected")[-3])


@pytest.mark.parametrize(
    ("budget", "sample", "limit"),
    [
        ("--max-usd=0.01", "240", "money"),
        slow("--max-minutes=0.1", "240", "time"),
        ("--max-usd=50", "40", "number of cases"),
    ],
)
def test_a_budget_that_is_not_enough_is_refused(tmp_path, budget, sample, limit):
    """Exit status 1, no command line, and what limits it."""
    done = calm(
        tmp_path, judge_file(tmp_path), f"--sample={sample}", "--fit", budget, "--", "-k", "authority or consistency"
    )

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1] == f"nothing with a probability of 0.80 or more fits; what limits it: {limit}"
    assert "pytest --pyargs" not in done.stdout


def test_a_wrong_option_is_named(capsys, subtests):
    """Exit status 4, and no plan."""
    for options, said in [
        (("--fit",), "--fit: expected a budget"),
        (("--max-usd=5",), "--max-usd: expected --fit with it"),
        (("--fit", "--max-usd=0"), "--max-usd: expected an amount above 0, got 0.0"),
        (("--fit", "--max-calls=0"), "--max-calls: expected an amount above 0, got 0"),
        (("--fit", "--max-minutes=nan"), "--max-minutes: expected an amount above 0"),
        (("--noise=0.7",), "--noise: expected a share"),
        (("--output-tokens=0",), "--output-tokens: expected"),
        (("--call-seconds=-1",), "--call-seconds: expected"),
        (("--cases=none.jsonl",), "none.jsonl: there is no such file (expected a file of cases"),
    ]:
        with subtests.test(repr(options)):
            status = main(["plan", "lexical", *options])

            told = capsys.readouterr()
            assert status == 4
            assert said in told.err
            assert told.out == ""


def test_what_pytest_refuses_is_said(tmp_path, subtests):
    """What the hidden run complains of is shown; exit status 4, and no plan."""
    for options, said in [
        (("--sample=0",), "--calm-sample: expected a whole number of at least 1, got '0'"),
        (("--repeats=many",), "--calm-repeats: expected clean+perturbed asks"),
        (("--", "-k", "nothing_of_this_name"), "nothing could be planned"),
        (("--", "nowhere/"), "file or directory not found: nowhere/"),
    ]:
        with subtests.test(repr(options)):
            done = calm(tmp_path, "lexical", *options)

            assert done.returncode == 4
            assert said in done.stderr
            assert "Traceback" not in done.stderr
            assert done.stdout == ""


def test_the_suite_of_a_project_is_planned_and_its_judge_not_asked(project):
    """Paths after `--` are planned instead of the shipped suites; tests that are no probes do not run."""
    project.write("test_units.py", "def test_writes():\n    open('was_run', 'w').close()\n")
    options = ("--cases=cases.jsonl", "--sample=20", "--repeats=2+2", "--", ".")

    done = calm(project.path, "judges:counted", *options)

    asked, was_run = project.calls(), (project.path / "was_run").exists()
    project.run("--calm-sample=20", "--calm-repeats=2+2", "--calm-cache=off", judge="judges:counted")
    assert done.returncode == 0, done.stderr
    assert (asked, was_run) == (0, False)
    assert calls(done.stdout, "least") == (project.calls(), True)
    assert "judges:counted: Python code, tokens and cost are not known here" in done.stdout


def test_cases_without_gold_are_an_upper_bound(project):
    """Without a gold label a run asks no more than the plan says."""
    project.write("cases.jsonl", re.sub(r', "better": "good"', "", project.cases(20)))
    project.write("first.py", "def judge(case):\n    return case.answers[0].id\n\n\njudge.quick = True\n")

    done = calm(project.path, "first:judge", "--cases=cases.jsonl", "--repeats=2+2", "--", ".")

    project.run("--calm-repeats=2+2", "--calm-cache=off", "--calm-results=results.json", judge="first:judge")
    most, exact = calls(done.stdout)
    assert not exact
    assert project.results()["run"]["calls"]["made"] <= most


def test_a_judge_of_a_conftest_is_planned_too(project):
    """A project that overrides the fixtures is planned with its own judge and cases."""
    project.write(
        "conftest.py",
        "import pytest, judges\nfrom pathlib import Path\nfrom calm.cases import read_cases\n"
        "from calm.judges.python import PythonJudge\n\n\n"
        "@pytest.fixture(scope='session')\ndef judge():\n    return PythonJudge(judges.counted)\n\n\n"
        "@pytest.fixture(scope='session')\ndef cases():\n    return read_cases(Path('cases.jsonl'))\n",
    )

    done = calm(project.path, "lexical", "--sample=10", "--repeats=2+2", "--", ".")

    assert done.returncode == 0, done.stderr
    # pilots and three arms; so few cases are not topped up
    assert calls(done.stdout, "least") == (10 + 20 + 20 + 20, True)
    assert project.calls() == 0


def test_a_test_that_breaks_is_named(project):
    """What could not be planned is said, and the exit status is 1."""
    project.write("test_broken.py", "def test_broken(probe):\n    raise RuntimeError('no such luck')\n")

    done = calm(project.path, "judges:gold", "--cases=cases.jsonl", "--", ".")

    assert done.returncode == 1
    assert "calm: not planned: test_broken.py::test_broken: no such luck" in done.stderr
    assert "flattery/flatter" in done.stdout


def test_a_skipped_probe_is_named(project):
    """What is skipped is not asked, and said so; an expected failure is planned."""
    project.write(
        "test_more.py",
        "import pytest\nfrom calm import gain\nfrom edits import greet\n\n\n"
        "@pytest.mark.skip(reason='too dear')\ndef test_a(probe):\n    assert probe(greet).proves(gain <= 0.10)\n\n\n"
        "@pytest.mark.xfail(strict=True, reason='known')\n"
        "def test_b(probe):\n    assert probe(greet).proves(gain <= 0.10)\n",
    )

    done = calm(project.path, "judges:gold", "--cases=cases.jsonl", "--", ".", "-n2")

    assert done.returncode == 0, done.stderr
    assert "not asked: test_more.py::test_a (too dear)" in done.stdout
    assert "flattery/greet" in done.stdout
