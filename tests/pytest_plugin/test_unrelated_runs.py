"""A run without probes owes calm nothing: no section, no file, no import."""

PLAIN = "def test_sum():\n    assert 1 + 1 == 2\n"
HEAVY = (
    "numpy",
    "scipy",
    "openai",
    "anthropic",
    "pandas",
    "jinja2",
    "sqlite3",
    "calm.engine.engine",
    "calm.gate.probe",
    "calm.gate.verdict_of",
    "calm.strategies",
    "hypothesis.strategies",
)


def files(pytester):
    of_pytest = ("__pycache__", ".pytest_cache", "stdout", "stderr")
    names = (p.name for p in pytester.path.iterdir())
    return sorted(name for name in names if name not in of_pytest and not name.startswith("runpytest-"))


def test_nothing_is_said_and_nothing_is_made(pytester, always_workers):
    """An ordinary run shows no section of calm and leaves no file."""
    pytester.makepyfile(test_plain=PLAIN)

    result = pytester.runpytest_subprocess(*always_workers)

    assert result.ret == 0
    assert "= calm =" not in str(result.stdout)
    assert files(pytester) == ["test_plain.py"]


def test_nothing_is_imported(pytester):
    """No library but pytest is loaded for a run without probes."""
    pytester.makepyfile(
        test_plain=f"import sys\n\n\ndef test_modules():\n    assert not [m for m in {HEAVY!r} if m in sys.modules]\n"
    )

    assert pytester.runpytest_subprocess().ret == 0


def test_no_more_of_calm_is_imported_than_what_pytest_loads(pytester, subtests):
    """The module of the plugin and its options; also where a test fails, and where workers run them."""
    fails = "def test_other():\n    assert 1 + 1 == 3\n"
    said = (
        "import json, sys\n\n\ndef pytest_unconfigure(config):\n"
        "    found = sorted(name for name in sys.modules if name.split('.')[0] == 'calm')\n"
        "    whose = getattr(config, 'workerinput', {}).get('workerid', 'main')\n"
        "    open(f'modules-{whose}', 'w').write(json.dumps(found))\n"
    )
    pytester.makeconftest(said)
    pytester.makepyfile(test_plain=PLAIN, test_fails=fails)

    for options, processes in (((), ["main"]), (("-n2",), ["gw0", "gw1", "main"])):
        with subtests.test(options=options):
            pytester.runpytest_subprocess(*options)

            for one in processes:
                found = (pytester.path / f"modules-{one}").read_text()
                assert found == '["calm", "calm.pytest_plugin", "calm.pytest_plugin.options"]'


def test_a_credential_is_hidden_in_every_part_of_a_report(pytester):
    """In reasons of xfail, too, which pytest adds to a report; also in a run without a probe."""
    pytester.makepyfile(
        "import pytest\nfrom calm.models.secrets import keep\n\nKEY = 'sk-' + 'very' * 4\nkeep([KEY])\n\n\n"
        "def test_reason():\n    pytest.xfail(f'server said {KEY}')\n\n\n"
        "@pytest.mark.xfail(reason=f'known: {KEY}', strict=True)\ndef test_strict():\n    pass\n\n\n"
        "def test_wrong():\n    assert KEY == 'x'\n"
    )

    result = pytester.runpytest_subprocess("-rA")

    assert "sk-veryvery" not in f"{result.stdout}{result.stderr}"
    assert "[secret]" in str(result.stdout)


def test_settings_of_the_gate_do_not_disturb_other_tests(pytester, subtests):
    """A judge in the ini file that cannot be had here (no key, no server) matters to probes only."""
    for judge in ["judge.toml", "nowhere:judge"]:
        with subtests.test(repr(judge)):
            pytester.makepyfile(test_plain=PLAIN)
            pytester.makeini(f"[pytest]\ncalm_judge = {judge}\n")

            result = pytester.runpytest_inprocess()

            assert result.ret == 0
            assert files(pytester) == ["test_plain.py", "tox.ini"]


def test_options_of_the_same_names_without_the_prefix_are_free(pytester):
    """A project with options --judge, --cases, --seed and --report of its own still starts."""
    pytester.makeconftest(
        "def pytest_addoption(parser):\n"
        "    for name in ('--judge', '--cases', '--seed', '--report', '--sample', '--cache'):\n"
        "        parser.addoption(name, default='x')\n"
        "        parser.addini(name.strip('-'), 'mine')\n"
    )
    pytester.makepyfile(test_plain="def test_mine(request):\n    assert request.config.getoption('judge') == 'me'\n")

    assert pytester.runpytest_inprocess("--judge=me", "--cases=2").ret == 0


def test_fixtures_of_the_same_names_are_free(pytester):
    """A project's own fixtures named judge and cases are its own."""
    pytester.makepyfile(
        "import pytest\n\n\n@pytest.fixture\ndef judge():\n    return 'Dredd'\n\n\n"
        "@pytest.fixture\ndef cases():\n    return 3\n\n\n"
        "def test_mine(judge, cases):\n    assert (judge, cases) == ('Dredd', 3)\n"
    )

    assert pytester.runpytest_inprocess().ret == 0


def test_help_names_every_option(pytester):
    """`pytest --help` lists the options of calm in a group of their own."""
    result = pytester.runpytest_inprocess("--help")

    assert result.ret == 0
    result.stdout.fnmatch_lines(["calm: audit of LLM judges:", "*--calm-judge=SPEC*", "*--calm-every-variant*"])


def test_help_works_with_a_wrong_ini_file(pytester):
    """Who set something up wrongly can still read the help."""
    pytester.makeini("[pytest]\ncalm_repeats = many\n")

    assert pytester.runpytest_inprocess("--help").ret == 0


def test_the_plugin_can_be_left_out(pytester):
    """`-p no:calm` removes it under the name of its entry point."""
    pytester.makepyfile(test_plain=PLAIN)

    assert pytester.runpytest_subprocess("-p", "no:calm").ret == 0
    assert pytester.runpytest_subprocess("-p", "no:calm", "--calm-judge=lexical").ret == 4
