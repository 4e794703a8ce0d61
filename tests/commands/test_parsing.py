"""Command lines: options of a run under their short names, and what is said of a command or an option that is none."""

import json

import pytest

from calm.commands import cli
from calm.commands.spending import caps_of
from calm.engine.money import Caps
from calm.pytest_plugin.options import FLAGS, OPTIONS
from tests.inside import offered

JUDGE = "planted:verbosity=0.9,noise=0"


def refused(capsys, *words):
    """Return the last line that a wrong command line prints; the usage before it is short, too."""
    with pytest.raises(SystemExit) as left:
        cli.main(words)
    printed = capsys.readouterr().err.splitlines()
    assert left.value.code == 2
    assert len(printed) < 20
    return printed[-1]


def read(*words):
    """Return what a command line says, and what it hands to pytest."""
    options = cli._parser_for(words).parse_args(words)
    return options, cli.given_to_pytest(options)


def test_an_audit_takes_each_option_of_a_run_under_its_short_name():
    """Every option of the plugin is one of `calm audit`, with and without `calm-`, and reaches pytest so."""
    for name, *_ in OPTIONS:
        if name not in ("judge", "cases"):
            for given in (f"--{name}=5", f"--calm-{name}=5"):
                assert read("audit", "j.toml", given)[1] == [f"--calm-{name}=5"]
    for name, _ in FLAGS:
        if name != "batch":  # an option of its own
            assert read("audit", "j.toml", f"--{name}")[1] == [f"--calm-{name}"]
    assert read("audit", "j.toml")[1] == []


def test_other_commands_that_run_tests_take_what_means_something_to_them():
    """A plan and a mitigation take a seed and a rule of stopping; what they declare themselves stays theirs."""
    for command in offered("plan", "mitigate"):
        options, handed = read(command, "j.toml", "--seed=3", "--stopping=fixed", "--sample=7")
        assert (options.sample, handed) == ("7", ["--calm-seed=3", "--calm-stopping=fixed"])
    if offered("batch"):
        assert read("batch", "write", "j.toml", "-o", "x.jsonl", "--sample=7")[1] == ["--calm-sample=7"]


def test_every_command_that_calls_models_takes_all_caps():
    """Calls, tokens, dollars and minutes cap a try, a hunt and a mitigation."""
    caps = ("--max-calls=1", "--max-tokens=2", "--max-usd=3", "--max-minutes=4")
    for command in offered("try", "hunt", "mitigate", "watch"):
        assert caps_of(read(command, "j.toml", *caps)[0]) == Caps(1, 2, 3.0, 4.0)


def test_an_audit_obeys_a_sample_and_a_seed(tmp_path, monkeypatch):
    """The record says how many cases were asked; an option of pytest still follows after --."""
    monkeypatch.chdir(tmp_path)

    cli.main(["audit", JUDGE, "--sample", "41", "--seed=3", "--cache=off", "--out=out", "--", "-k", "position"])

    record = json.loads((tmp_path / "out" / "results.json").read_text("utf-8"))
    assert record["cases"]["n"] == 41
    assert {finding["bias"] for finding in record["findings"] if finding["bias"] != "run"} == {"position"}


def test_a_cap_of_nothing_is_refused_before_a_judge_is_asked(capsys, tmp_path, monkeypatch):
    """An impossible cap of a try is wrong configuration."""
    monkeypatch.chdir(tmp_path)

    assert cli.main(["try", JUDGE, "--max-minutes=0"]) == 4
    assert "--max-minutes: expected an amount above 0, got 0.0" in capsys.readouterr().err


def test_a_wrong_command_is_answered_with_the_one_that_was_meant(capsys, subtests):
    """Commands of one word and of two, a judge without a command, and what is near to nothing."""
    for words, said in [
        (["audti", "j.toml"], "calm: error: there is no command audti; did you mean `calm audit`?"),
        (["cases", "improt"], "calm cases: error: there is no command cases improt; did you mean `calm cases import`?"),
        (["j.toml"], "calm: error: there is no command j.toml; to audit a judge: `calm audit j.toml`"),
        (["my.judges:sound"], "there is no command my.judges:sound; to audit a judge: `calm audit my.judges:sound`"),
        (["cache", "zzz"], "calm cache: error: there is no command cache zzz; known: show, prune, export, copy"),
    ]:
        with subtests.test(words=words):
            assert refused(capsys, *words).endswith(said)


def test_a_wrong_option_is_answered_with_the_one_that_was_meant(capsys, subtests):
    """The nearest option; of a command that runs tests, how an option of pytest is given; else where all are listed."""
    for words, said in [
        (["audit", "j.toml", "--smaple", "60"], "there is no option --smaple; did you mean --sample?"),
        (["try", "j.toml", "--max-udd=5"], "there is no option --max-udd; did you mean --max-usd?"),
        (["audit", "j.toml", "-k", "x"], "an option of pytest follows after --: calm audit JUDGE -- -k"),
        (["try", "j.toml", "--frobnicate"], "there is no option --frobnicate; `calm try --help` lists them"),
        (["audit", "j.toml", "more"], "unexpected: more; `calm audit --help` shows what it takes"),
        (["audit", "j.toml", "--\x1b[31m"], "\\x1b[31m"),
    ]:
        with subtests.test(words=words):
            assert said in refused(capsys, *words)


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("cases import votes.jsonl -o o.jsonl --votes majorty", "'majority'"),
        ("cases import votes.jsonl -o o.jsonl --format mt-bench", "'mtbench'"),
        ("compare a.json b.json --as cal", "'calm'"),
        ("audit planted --calm-peer a.toml", "--peers"),
    ],
)
def test_a_misspelt_value_or_option_is_answered_with_the_one_that_was_meant(line, meant, capsys):
    """The parser says it for all choices; the names for pytest are known by what follows `--calm-`."""
    assert f"did you mean {meant}?" in refused(capsys, *line.split())


def test_no_option_is_proposed_that_is_like_the_misspelt_one_in_its_dashes_alone(capsys):
    """`--as` is of another command, and no `--name`."""
    assert "did you mean" not in refused(capsys, "report", "x.json", "--as", "calm")
