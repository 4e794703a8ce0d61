"""A case that a prompt cannot show is said before the first call; a run without a verdict takes nobody's place."""

import json

import pytest

from calm.commands.cli import main
from tests.inside import offered
from tests.pytest_plugin.conftest import Project
from tests.servers import Answer, wire_server

PROMPT = """\
Q: {{ question }}
{% for a in answers %}{{ a.label }}: {{ a.text }}
{% endfor %}Context: {{ fields.context }}
"""
LACKS = "template 1 (user, standard framing), line 3: expected fields.context, got none"
FIX = "add 'context' to the fields of the case, or write {% if fields.context is defined %} around what shows it"
OUTPUTS = ("report.html", "results.json", "summary.md", "results.sarif")
WRITES = [
    f"--calm-{name}={file}" for name, file in zip(("report", "results", "summary", "sarif"), OUTPUTS, strict=True)
]
SECOND = """
from calm import net_robustness
from edits import greet


def test_a_greeting_changes_nothing(probe):
    assert probe(greet).proves(net_robustness >= 0.90)
"""


def judge_toml(url, *, prompt=PROMPT, mitigations=(), name="j"):
    """Return a judge.toml with a prompt that shows a field."""
    return (
        f"[judge]\nname = {name!r}\nfamily = {name!r}\ntask = 'pairwise'\n"
        f"mitigations = {json.dumps(list(mitigations))}\n"
        f"[model]\nprovider = 'openai'\nmodel = 'm-{name}'\nbase_url = '{url}'\n"
        f"[prompt]\nuser = '''\n{prompt}'''\n"
    )


def with_context(lines, without=()):
    """Return cases with a field, but for some of them."""
    rows = [json.loads(line) for line in lines.splitlines()]
    for row in rows:
        if row["id"] not in without:
            row["fields"] = {"context": f"about {row['id']}"}
    return "".join(f"{json.dumps(row)}\n" for row in rows)


@pytest.fixture
def shown(project):
    """A project with a second test and a server on loopback, of whose hundred cases two lack the field."""
    with wire_server(lambda *_: "[[A]]") as server:
        project.server = server
        project.write("judge.toml", judge_toml(server.url))
        project.write("test_greeting.py", SECOND)
        project.write("cases.jsonl", with_context(Project.cases(100), without=("c007", "c042")))
        yield project


def said(result):
    """Return all that a run wrote."""
    return f"{result.stdout}{result.stderr}"


def test_one_case_that_cannot_be_shown_is_named_and_nothing_is_paid(shown, workers):
    """Both cases are named once, with variable, line and fix; not one call is made; the audit of before stays."""
    earlier = {
        "report.html": '<!DOCTYPE html><html><head><meta name="generator" content="calm"></head></html>',
        "results.json": '{"schema": "calm-results/2"}',
        "summary.md": "# calm: PASS\n\n**The gate is green.**",
        "results.sarif": '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "calm"}}, "results": []}]}',
    }
    for name, text in earlier.items():
        shown.write(name, text)

    result = shown.run(*workers, *WRITES, judge="judge.toml")

    text = said(result)
    assert result.ret == 4
    assert text.count(f"case c007: {LACKS}; {FIX}") == text.count(f"case c042: {LACKS}") == 1
    assert "Traceback" not in text
    assert shown.server.seen == []
    assert {name: (shown.path / name).read_text() for name in OUTPUTS} == earlier


def test_forgotten_cases_are_said_even_where_no_traceback_is_shown(shown):
    """Without `--calm-cases` the bundled cases are the wrong ones: no call, five are named, and the option is."""
    result = shown.run("--tb=no", "-q", *WRITES, judge="judge.toml", cases=None)

    text = said(result)
    assert result.ret == 4
    assert text.count(LACKS) == 5
    assert "none of the 200 cases can be shown" in text
    assert "--calm-cases=FILE" in text
    assert shown.server.seen == []
    assert not any((shown.path / name).exists() for name in OUTPUTS)


def test_a_judge_inside_a_mitigation_or_a_panel_is_checked_too(shown, subtests):
    """Whoever is asked in the end has to be shown the case."""
    plain = PROMPT.replace("Context: {{ fields.context }}", "")
    url = shown.server.url
    shown.write("plain.toml", judge_toml(url, prompt=plain, name="plain"))
    shown.write("swapped.toml", judge_toml(url, mitigations=["swap"]))
    shown.write("beside.toml", judge_toml(url, prompt=plain, mitigations=["panel:judge.toml"], name="beside"))
    for spec in (*(["swapped.toml", "beside.toml"] if offered("mitigate") else []), "panel:plain.toml+judge.toml"):
        with subtests.test(judge=spec):
            result = shown.run(judge=spec)

            assert result.ret == 4
            assert LACKS in said(result)
            assert shown.server.seen == []


def test_every_command_that_asks_a_judge_checks_its_cases(shown, monkeypatch, capsys, subtests):
    """Status 4, the case, what it lacks; no call."""
    monkeypatch.chdir(shown.path)
    shown.write("other.toml", judge_toml(shown.server.url, name="other"))
    cases = ["--cases", "cases.jsonl"]
    commands = {
        "audit": ["audit", "judge.toml", *cases],
        "plan": ["plan", "judge.toml", *cases],
        "try": ["try", "judge.toml", *cases, "--case", "c007"],
        "attack": ["attack", "judge.toml", *cases],
        "mitigate": ["mitigate", "judge.toml", "--try", "swap", *cases],
        "cross-check": ["cross-check", "judge.toml", *cases],
        "self-preference": ["self-preference", "judge.toml", "other.toml", "--cases", "answers.jsonl"],
    }
    rows = [json.loads(line) for line in (shown.path / "cases.jsonl").read_text().splitlines()]
    for row in rows:
        for answer, author in zip(row["answers"], ("m-j", "m-other"), strict=True):
            answer["author"] = author
    shown.write("answers.jsonl", "".join(f"{json.dumps(row)}\n" for row in rows))
    for name in offered(*commands):
        with subtests.test(command=name):
            status = main(commands[name])

            captured = capsys.readouterr()
            text = captured.out + captured.err
            assert status == 4
            assert "case c007" in text
            assert "expected fields.context, got none" in text
            assert shown.server.seen == []


def test_a_plan_of_pytest_refuses_cases_that_cannot_be_shown(shown):
    """`--calm-plan` would promise a run that cannot be made."""
    result = shown.run("--calm-plan", judge="judge.toml")

    assert result.ret == 4
    assert f"case c007: {LACKS}" in said(result)
    assert shown.server.seen == []


def test_a_run_without_a_verdict_leaves_an_earlier_audit_as_it_is(shown):
    """After the greeting the key is refused: all is INCOMPLETE, and the files of the earlier run lie beside."""
    shown.write("cases.jsonl", with_context(Project.cases(100)))
    before = shown.run(*WRITES, judge="judge.toml")
    kept = [(shown.path / name).read_bytes() for name in OUTPUTS]
    shown.server.next(Answer("ready"))
    shown.server.respond = lambda *_: Answer(status=401)

    result = shown.run(*WRITES, "--calm-cache=off", judge="judge.toml")

    assert before.ret in (0, 1)
    assert result.ret == 1
    assert [(shown.path / f"{name}.before").read_bytes() for name in OUTPUTS] == kept
    assert all(f"{name}.before" in said(result) for name in OUTPUTS)
    assert json.loads((shown.path / "results.json").read_text("utf-8"))["outcome"] == "INCOMPLETE"


def test_a_run_on_kept_replies_writes_its_audit(shown):
    """A replay asks nothing anew, but it has verdicts."""
    shown.write("cases.jsonl", with_context(Project.cases(100)))
    shown.run(*WRITES, judge="judge.toml")
    for name in OUTPUTS:
        (shown.path / name).unlink()
    calls = len(shown.server.seen)

    shown.run(*WRITES, "--calm-cache=replay", judge="judge.toml")

    assert len(shown.server.seen) == calls
    assert all((shown.path / name).exists() for name in OUTPUTS)


def test_an_edited_case_that_cannot_be_shown_is_said_without_a_traceback_too(shown):
    """A prompt that fails on an edit alone is found when that is asked; the message is shown, and others go on."""
    prompt = PROMPT.replace(
        "Context: {{ fields.context }}", "{% if 'Read' in notes | join %}{{ fields.other }}{% endif %}"
    )
    shown.write("judge.toml", judge_toml(shown.server.url, prompt=prompt))
    shown.write("test_greeting.py", SECOND.replace("greet)", "remind)").replace("import greet", "import remind"))

    result = shown.run("--tb=no", "-q", *WRITES, judge="judge.toml")

    assert "expected fields.other, got none (it has context)" in said(result)
    assert result.ret == 1
    assert (shown.path / "results.json").exists()


def test_a_field_that_only_a_note_makes_the_template_show_is_missed_before_the_first_call(shown):
    """The clean prompt of each case can be rendered, and that of an edit cannot: this is found as early."""
    under_notes = PROMPT.replace("Context: {{ fields.context }}", "{% if notes %}{{ fields.context }}{% endif %}")
    shown.write("judge.toml", judge_toml(shown.server.url, prompt=under_notes))

    result = shown.run(judge="judge.toml")

    assert result.ret == 4
    assert "case c007: template 1 (user, standard framing), line 3: expected fields.context, got none" in said(result)
    assert shown.server.seen == []
