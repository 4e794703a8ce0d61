"""What is set up wrongly is said at once: what is wrong and how to fix it, exit status 4, no traceback, no call."""

import pytest

WRONG = {
    "unknown judge": (["--calm-judge=lexcal"], "did you mean 'lexical'?"),
    "missing module": (["--calm-judge=nowhere:judge"], "there is no module 'nowhere'"),
    "missing module inside": (["--calm-judge=needy:judge"], "there is no module 'not_installed_here'"),
    "missing attribute": (["--calm-judge=judges:goldd"], "'judges' has no attribute 'goldd'; did you mean 'gold'?"),
    "no callable": (["--calm-judge=judges:KNOWN"], "expected a callable f(case), got tuple"),
    "no attribute named": (["--calm-judge=judges:"], "--calm-judge judges:"),
    "import error": (["--calm-judge=faulty:judge"], "importing it failed: ZeroDivisionError: division by zero"),
    "syntax error": (["--calm-judge=garbled:judge"], "importing it failed: SyntaxError"),
    "exits on import": (["--calm-judge=leaving:judge"], "importing it failed: SystemExit"),
    "wrong signature": (["--calm-judge=judges:thrice"], "expected a callable f(case) or f(case, send)"),
    "no such judge.toml": (["--calm-judge=none.toml"], "none.toml: there is no such file"),
    "unknown key in judge.toml": (
        ["--calm-judge=judge.toml"],
        "[model] temprature: unknown key; did you mean 'temperature'?",
    ),
    "planted, unknown bias": (["--calm-judge=planted:postion=0.2"], "did you mean 'position'?"),
    "no such case file": (["--calm-cases=none.jsonl"], "none.jsonl: "),
    "a fault in a case": (["--calm-cases=faulty.jsonl"], "faulty.jsonl:2: anwsers"),
    "no cases in the file": (["--calm-cases=empty.jsonl"], "empty.jsonl"),
    "repeats without a plus": (
        ["--calm-repeats=4"],
        "--calm-repeats: expected clean+perturbed asks such as 2+1, each at most 100, got '4'",
    ),
    "repeats of nothing": (["--calm-repeats=0+2"], "--calm-repeats: expected"),
    "repeats in words": (["--calm-repeats=four+two"], "--calm-repeats: expected"),
    "repeats in strange digits": (["--calm-repeats=²+2"], "--calm-repeats: expected"),
    "sample of nothing": (["--calm-sample=0"], "--calm-sample: expected a whole number of at least 1, got '0'"),
    "sample in words": (["--calm-sample=all"], "--calm-sample: expected a whole number of at least 1, got 'all'"),
    "negative seed": (["--calm-seed=-1"], "--calm-seed: expected a whole number of at least 0, got '-1'"),
    "unknown cache mode": (
        ["--calm-cache=replya"],
        "--calm-cache: expected on or replay or refresh or off, got 'replya'",
    ),
    "unknown undecided": (["--calm-undecided=ignore"], "--calm-undecided: expected fail or warn, got 'ignore'"),
    "no calls allowed": (["--calm-max-calls=0"], "--calm-max-calls: expected a whole number of at least 1"),
    "no money": (["--calm-max-usd=free"], "--calm-max-usd: expected an amount above 0, got 'free'"),
    "money that is no number": (["--calm-max-usd=nan"], "--calm-max-usd: expected an amount above 0, got 'nan'"),
    "cache file is a folder": (["--calm-cache-file=."], "--calm-cache-file: expected a file, got the folder '.'"),
}
SETTINGS = {
    "repeats": ("many", "--calm-repeats: expected"),
    "sample": ("-3", "--calm-sample: expected"),
    "cache": ("maybe", "--calm-cache: expected"),
    "judge": ("nowhere:judge", "there is no module 'nowhere'"),
}


@pytest.fixture
def faulty(project):
    project.write("needy.py", "import not_installed_here\n")
    project.write("faulty.py", "judge = 1 / 0\n")
    project.write("garbled.py", "def judge(:\n")
    project.write("leaving.py", "import sys\nsys.exit('no')\n")
    project.write("faulty.jsonl", project.cases(1) + project.cases(2).splitlines()[1].replace("answers", "anwsers"))
    project.write("empty.jsonl", "\n")
    project.write(
        "judge.toml",
        '[judge]\nname = "j"\ntask = "pairwise"\n\n[model]\nprovider = "openai"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:1/v1"\ntemprature = 0.0\n',
    )
    with (project.path / "judges.py").open("a") as file:
        file.write("\n\ndef thrice(case, one, two, three):\n    return 'tie'\n")
    return project


def wiring(options):
    given = options[0].partition("=")[0]
    return {"judge": None} if given == "--calm-judge" else {"cases": None} if given == "--calm-cases" else {}


@pytest.mark.parametrize("first", ["judge", "cases", ""])
def test_a_wrong_option_is_said_before_any_test_runs(faulty, subtests, first):
    """The message names the option, what it takes and what it got."""
    begins = tuple(f"--calm-{name}" for name in ("judge", "cases"))
    for name, (options, said) in WRONG.items():
        if options[0].startswith(f"--calm-{first}=") if first else not options[0].startswith(begins):
            with subtests.test(name):
                result = faulty.run(*options, **wiring(options))

                text = f"{result.stdout}{result.stderr}"
                assert result.ret == 4
                assert said in text
                assert "Traceback" not in text
                assert "collected" not in text


def test_two_workers_say_it_once(faulty, subtests):
    """With `-n 2` the error is the same, said once by the process that the user sees."""
    for name in ("missing module", "a fault in a case", "repeats in words", "cache file is a folder"):
        with subtests.test(name):
            options, said = WRONG[name]

            result = faulty.run(*options, "-n2", **wiring(options))

            text = f"{result.stdout}{result.stderr}"
            assert result.ret == 4
            assert text.count(said) == 1
            assert "Traceback" not in text


def test_a_wrong_setting_of_the_ini_file_is_the_same_error(project, workers, subtests):
    """An ini setting is checked like its option."""
    for name, (value, said) in SETTINGS.items():
        with subtests.test(name):
            project.ini(**{"judge": "judges:gold", name: value})

            result = project.run(*workers, judge=None)

            text = f"{result.stdout}{result.stderr}"
            assert result.ret == 4
            assert said in text
            assert "Traceback" not in text


def test_all_wrong_options_are_said_at_once(project):
    """All faults are named, so that one run shows what to fix."""
    result = project.run("--calm-repeats=4", "--calm-sample=x", "--calm-cache=y", "--calm-undecided=z")

    text = str(result.stderr)
    assert result.ret == 4
    assert all(f"--calm-{name}: expected" in text for name in ("repeats", "sample", "cache", "undecided"))


def test_a_model_that_does_not_answer_is_said_before_the_tests(project, workers):
    """A server that is not there ends the run with its address, not with one failure a test."""
    project.write(
        "judge.toml",
        '[judge]\nname = "j"\ntask = "pairwise"\n\n[model]\nprovider = "openai"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\ntimeout_s = 2\n',
    )

    result = project.run(*workers, judge="judge.toml")

    text = f"{result.stdout}{result.stderr}"
    assert result.ret == 4
    assert "127.0.0.1:9" in text
    assert "Traceback" not in text


def test_a_key_that_is_not_set_is_named(project, monkeypatch):
    """The message names the variable."""
    monkeypatch.delenv("NO_SUCH_KEY", raising=False)
    project.write(
        "judge.toml",
        '[judge]\nname = "j"\ntask = "pairwise"\n\n[model]\nprovider = "openai"\nmodel = "m"\n'
        'base_url = "http://127.0.0.1:9/v1"\napi_key_env = "NO_SUCH_KEY"\n',
    )

    result = project.run(judge="judge.toml")

    assert result.ret == 4
    assert "NO_SUCH_KEY" in f"{result.stdout}{result.stderr}"
