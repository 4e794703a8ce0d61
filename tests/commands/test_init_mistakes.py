"""A prompt or a table with a mistake is refused by `calm init`, and a trial that reads no verdict is no success."""

import pytest

from calm.commands import CONFIGURATION, REFUSED, cli
from calm.core.files import read_text, read_toml
from calm.errors import ConfigError
from tests.servers import wire_server

PROMPT = "{{ticket}}\nPolicy: {{policy}}\nA: {{reply_a}}\nB: {{reply_b}}\nEnd with [[A]], [[B]] or [[C]] for a tie."
HEAD = "ticket,KB article (policy),Bot v1,Bot v2,winner\n"
ROW = (
    "Where is parcel {0} of mine?,Parcel {0} takes five days.,It takes five days {0}.,Nobody has any idea {0}.,Bot v1\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text(HEAD + "".join(ROW.format(n) for n in range(20)), "utf-8")
    return tmp_path


def run(folder, prompt, *options):
    (folder / "p.txt").write_text(prompt, "utf-8")
    return cli.main(["init", "--prompt", "p.txt", "--cases", "t.csv", "--ci", "none", "--yes", *options])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("{{reply_b}}", "{{reply_b}"),
        ("{{ticket}}", "<<ticket>>"),
        ("{{policy}}", "[[policy]]"),
        ("{{policy}}", "%policy%"),
        ("{{policy}}", "{% policy %}"),
        ("B: {{reply_b}}", ""),
        ("A: {{reply_a}}\nB: {{reply_b}}", ""),
        ("{{", "<"),
    ],
)
def test_a_prompt_that_would_be_another_judge_is_refused(folder, old, new, capsys):
    """Nothing is written."""
    assert run(folder, PROMPT.replace(old, new)) == CONFIGURATION
    assert {one.name for one in folder.iterdir()} == {"p.txt", "t.csv"}


def test_what_only_looks_like_a_placeholder_can_be_said_to_be_text(folder, capsys):
    made = PROMPT.replace("{{policy}}", "{{policy}} as in <policy_text>") + " Use <customer>."

    assert run(folder, made, "--base-url", "http://127.0.0.1:9") == CONFIGURATION
    assert run(folder, made, "--placeholder", "customer=text", "--base-url", "http://127.0.0.1:9") == REFUSED
    assert "<customer>" in (folder / "judge.jinja").read_text("utf-8")


def test_a_prompt_without_the_question_needs_a_yes(folder, capsys):
    (folder / "p.txt").write_text(PROMPT.replace("{{ticket}}\n", ""), "utf-8")

    assert cli.main(["init", "--prompt", "p.txt", "--cases", "t.csv"]) == CONFIGURATION
    assert "--yes" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["", "I cannot help with that.", "Both have merit."])
def test_a_trial_that_reads_no_verdict_is_no_success(folder, text, capsys):
    with wire_server(lambda messages, body: text) as wire:
        status = run(folder, PROMPT, "--base-url", wire.url, "--model", "m")

    assert status == REFUSED
    assert "next: calm audit" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["audit"], 2),
        (["init", "--prompt", "none.txt"], CONFIGURATION),
        (["init", "--cases", "t.xlsx"], CONFIGURATION),
        (["try", "planted", "--cases", "t.xlsx"], CONFIGURATION),
        (["cases", "import", "t.csv", "-o", "o.jsonl"], CONFIGURATION),
        (["init", "--prompt", "p16.txt"], CONFIGURATION),
    ],
)
def test_a_mistake_names_no_advice_that_cannot_be_followed(folder, command, status, capsys):
    (folder / "t.xlsx").write_bytes(b"PK\3\4")
    (folder / "p16.txt").write_text(PROMPT, "utf-16")
    try:
        found = cli.main(command)
    except SystemExit as end:
        found = end.code
    said = capsys.readouterr().err

    assert found == status
    assert "--format" not in said
    assert all(
        word in said for word in {"audit": ["judge.toml", "init"], "cases": ["--map", "--value"]}.get(command[0], [])
    )


@pytest.mark.parametrize(
    ("line", "key"),
    [("name = “x”", "quotes"), ("name = x", "quotes"), ("name = 'x", "quote"), ("name = 'x'\nname = 'y'", "twice")],
)
def test_a_fault_of_toml_is_named_without_its_value(folder, line, key):
    (folder / "j.toml").write_text(f"[judge]\n{line.replace('x', 'secret-of-mine')}\n", "utf-8")

    with pytest.raises(ConfigError) as caught:
        read_toml(folder / "j.toml", "a judge.toml")

    assert key in str(caught.value)
    assert "secret-of-mine" not in str(caught.value)


def test_a_missing_file_names_the_one_that_was_meant(folder):
    with pytest.raises(ConfigError, match=r"t\.csv"):
        read_text(folder / "t.cvs", "a table")
