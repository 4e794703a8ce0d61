"""A judge that cannot be read ends the run after its first replies: what they hold, the line to change, status 4."""

import json

import pytest

from calm.commands.cli import main
from tests.inside import offered
from tests.pytest_plugin.conftest import Project
from tests.servers import wire_server

PROMPT = """\
Q: {{ question }}
{% for a in answers %}{{ a.label }}: {{ a.text }}
{% endfor %}Reply with JSON: winner.
"""
SECOND = """
from calm import net_robustness
from edits import remind, greet


def test_a_greeting_changes_nothing(probe):
    assert probe(greet).proves(net_robustness >= 0.90)
"""
WIDTH = 8
MOST = 12 + 2 * WIDTH
"""Replies of the first look and calls in flight; twice as many places as `concurrency` may hold work that waits."""


def judge_toml(url, *, name="j", field="", extra=""):
    """Return a judge.toml with a prompt that asks for a key, and a table that reads another one."""
    return (
        f"[judge]\nname = {name!r}\nfamily = {name!r}\ntask = 'pairwise'\n{extra}"
        f"[model]\nprovider = 'openai'\nmodel = 'm-{name}'\nbase_url = '{url}'\nconcurrency = {WIDTH}\n"
        f"[prompt]\nuser = '''\n{PROMPT}'''\n[verdict]\nformat = 'json'\n{field}"
    )


def winner(messages, body):
    """Name a winner, in JSON, with something that would move a cursor."""
    return '{"winner": "A", "why": "\x1b[2J secret of the case"}'


@pytest.fixture
def unread(project):
    """A project with two tests and a judge whose replies hold another key than the one that is read."""
    with wire_server(winner) as server:
        project.server = server
        project.write("judge.toml", judge_toml(server.url))
        project.write("test_greeting.py", SECOND)
        project.write("results.json", '{"schema": "calm-results/2"}')
        yield project


def said(result):
    """Return all that a run wrote."""
    return f"{result.stdout}{result.stderr}"


@pytest.mark.parametrize("options", [(), ("--calm-lookahead=0",), ("--tb=no", "-q"), ("--calm-cache=off",)])
def test_an_unreadable_judge_ends_the_run_after_its_first_replies(unread, options):
    """Two replies, escaped; their keys; the line that reads them; and the earlier audit is set aside."""
    result = unread.run("--calm-results=results.json", *options, judge="judge.toml")

    text = said(result)
    assert result.ret == 4
    assert "judge j: 12 of its first 12 replies hold no verdict" in text
    assert "the replies hold the JSON keys winner, why" in text
    assert "in judge.toml, write [verdict] format = 'json', field = 'winner', which reads these" in text
    assert text.count("a reply of j: ") == 2
    assert "\x1b[2J" not in text
    assert len(unread.server.judged) <= MOST
    assert (unread.path / "results.json.before").read_text() == '{"schema": "calm-results/2"}'
    assert not (unread.path / "results.json").exists()
    assert "Traceback" not in text


def test_two_workers_stop_as_one_process_does(unread):
    """Each worker reads its own first replies, which they share."""
    result = unread.run("-n2", judge="judge.toml")

    assert result.ret == 4
    assert "replies hold no verdict" in said(result)
    assert len(unread.server.judged) <= 2 * MOST


def test_the_line_that_is_named_reads_the_replies_that_are_kept(unread):
    """After the change nothing is paid twice: the replies of the first run are those of the second."""
    unread.run(judge="judge.toml")
    first = {json.dumps(one.messages) for one in unread.server.judged}
    unread.write("judge.toml", judge_toml(unread.server.url, field="field = 'winner'\n"))

    result = unread.run("--calm-results=results.json", judge="judge.toml")

    assert result.ret == 0
    assert "hold no verdict" not in said(result)
    later = [json.dumps(one.messages) for one in unread.server.judged]
    assert len([one for one in later if one in first]) == len(first)


def test_without_texts_no_reply_is_shown(unread):
    """`--calm-texts=none`: the count, and no word of a reply."""
    result = unread.run("--calm-texts=none", judge="judge.toml")

    text = said(result)
    assert result.ret == 4
    assert "judge j: 12 of its first 12 replies hold no verdict" in text
    assert "secret" not in text
    assert "winner" not in text


def test_every_command_stops_at_a_judge_that_cannot_be_read(unread, monkeypatch, capsys, subtests):
    """Status 4, the line to change, and few calls."""
    monkeypatch.chdir(unread.path)
    url = unread.server.url
    unread.write("other.toml", judge_toml(url, name="other"))
    unread.write("swapped.toml", judge_toml(url, extra="mitigations = ['swap']\n"))
    rows = [json.loads(line) for line in Project.cases(100).splitlines()]
    for row in rows:
        for answer, author in zip(row["answers"], ("m-j", "m-other"), strict=True):
            answer["author"] = author
    unread.write("answers.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    three = [{**row, "answers": [*row["answers"], {"id": "third", "text": "It is 0."}]} for row in rows]
    unread.write("three.jsonl", "".join(f"{json.dumps(row)}\n" for row in three))
    suite = ["--", "--pyargs", "calm.suites.test_authority"]
    cases, cache, few = ["--cases", "answers.jsonl"], "--cache-file", ["--", "--calm-cache=off", "-k", "authority"]
    commands = {
        "audit": ["audit", "judge.toml", *cases, *few],
        "audit, panel": ["audit", "panel:judge.toml+other.toml", *cases, *few],
        "attack": ["attack", "judge.toml", *cases, cache, "1.sqlite"],
        "hunt": ["hunt", "judge.toml", *cases, cache, "5.sqlite"],
        "mitigate": ["mitigate", "judge.toml", "--try", "swap", *cases, cache, "2.sqlite", *suite],
        "cross-check": ["cross-check", "judge.toml", "--cases", "three.jsonl", cache, "3.sqlite"],
        "self-preference": ["self-preference", "judge.toml", "other.toml", *cases, cache, "4.sqlite"],
    }
    if offered("mitigate"):
        commands["audit, mitigated"] = ["audit", "swapped.toml", *cases, *few]
    for name, arguments in commands.items():
        if not offered(arguments[0]):
            continue
        with subtests.test(command=name):
            before = len(unread.server.judged)

            status = main(arguments)

            captured = capsys.readouterr()
            text = captured.out + captured.err
            assert status == 4
            assert "field = 'winner', which reads these" in text
            assert len(unread.server.judged) - before <= 4 * MOST


def test_a_judge_that_is_unread_after_an_edit_is_audited(unread):
    """Clean replies can be read; those to the edit cannot, which is a finding and no reason to stop."""
    unread.write("judge.toml", judge_toml(unread.server.url, field="field = 'winner'\n"))

    def respond(messages, body):
        return (
            "I cannot tell."
            if "Thank you" in messages[-1][1] or "Hello." in messages[-1][1]
            else winner(messages, body)
        )

    unread.server.respond = respond
    result = unread.run("--calm-results=results.json", judge="judge.toml")

    assert result.ret == 1
    assert "hold no verdict, so no more" not in said(result)
    assert unread.results()["findings"]
