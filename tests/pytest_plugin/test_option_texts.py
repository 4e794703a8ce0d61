"""`--calm-texts none`: no question, answer, prompt or reply in any output, for suites that are confidential."""

import json

import pytest

from tests.servers import wire_server

CANARY = "zebra4711"

SUITE = """
import warnings
from dataclasses import replace

import pytest

from calm import Expects, gain, net_robustness, perturbation
from edits import flatter, remind


@perturbation(bias="flattery", expects=Expects.SAME)
def note(case, rng):
    \"\"\"Add a note to the task.\"\"\"
    return case.present(notes=(chr(122) + "ebra4711",))


def test_thanks_do_not_win(probe, cases):
    shown = cases[0].question
    print(shown, cases[0].answers[0].text)
    assert probe(flatter).proves(net_robustness >= 0.90, gain <= 0.10), shown


def test_a_note_does_nothing(probe):
    assert probe(note).proves(net_robustness >= 0.90)


def test_a_failure_of_its_own(probe, cases):
    assert probe(remind).proves(net_robustness >= 0.10)
    raise ValueError(cases[0].reference)


@pytest.mark.xfail(reason="known")
def test_accepted(probe, cases):
    shown = cases[0].question
    assert probe(replace(flatter, name="thanks_again")).allows(gain <= 0.10)
    assert shown == ""


def test_not_looked_at(probe):
    probe(replace(remind, name="remind_again")).proves(net_robustness >= 0.20)


@pytest.fixture
def setting(cases):
    raise RuntimeError(cases[0].question)


def test_a_fixture_fails(probe, setting):
    pass
"""

QUOTING = """
def quoting(case):
    \"\"\"Raise what quotes the case, for a few of them; else let thanks win.\"\"\"
    if int(case.id[1:]) % {every} == 0:
        raise ValueError(f"cannot read the reply {{case.answers[0].text}} to {{case.question}}")
    return next((a.id for a in case.answers if "Thank you" in a.text), case.better)

quoting.reads, quoting.fingerprint = ("question", "answers", "better", "notes", "reference"), "quoting"
"""

OUTPUTS = (
    "--calm-results=out/results.json",
    "--calm-report=out/report.html",
    "--calm-summary=out/summary.md",
    "--calm-sarif=out/results.sarif",
    "--junit-xml=out/junit.xml",
)
LOUD = ("-rA", "-l", "-vv", "--tb=long", "-o", "junit_logging=all")

JUDGE = f"""
[judge]
name = "confidential"
task = "pairwise"
[model]
provider = "openai"
model = "tiny"
base_url = "URL"
api_key_env = "CANARY_KEY"
[prompt]
system = "You know the {CANARY}."
user_file = "prompts/judge.jinja"
[verdict]
format = "brackets"
"""
PROMPT = f"{CANARY}\n{{{{ question }}}}\n{{% for a in answers %}}[{{{{ a.label }}}}] {{{{ a.text }}}}\n{{% endfor %}}"


def confidential(project, every=7):
    """Plant the canary in every text of the cases, and a suite that shows it wherever it can."""
    lines = [json.loads(line) for line in project.cases(60).splitlines()]
    for line in lines:
        line["question"] = f"{CANARY}: {line['question']}"
        line["reference"] = f"the {CANARY}"
        line["fields"] = {"context": CANARY}
        for answer in line["answers"]:
            answer["text"] += f" {CANARY}."
    project.write("cases.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))
    project.write("test_flattery.py", SUITE)
    project.write("quoting.py", QUOTING.format(every=every))


def outputs(project):
    """Return what every file in the folder of outputs holds."""
    return {path.name: path.read_text("utf-8") for path in (project.path / "out").iterdir()}


@pytest.mark.parametrize("every", [7, 100], ids=["incomplete", "decided"])
def test_no_text_of_a_case_is_in_any_output(project, workers, every):
    """Whatever a judge, a test or a fixture shows of a case reaches no file, and no terminal."""
    confidential(project, every)

    result = project.run_apart("--calm-texts=none", *OUTPUTS, *LOUD, *workers, judge="quoting:quoting")

    assert result.ret == 1
    told = outputs(project)
    assert set(told) == {"results.json", "report.html", "summary.md", "results.sarif", "junit.xml"}
    assert not [name for name, text in told.items() if CANARY in text]
    assert CANARY not in f"{result.stdout}{result.stderr}"
    assert "texts were left out of this record" in told["summary.md"]
    assert "flattery/gain/flatter" in told["results.json"]


def test_the_canary_is_there_to_be_found(project):
    """The same run with texts shows it in the page, on the terminal, in JUnit and beside the results."""
    confidential(project)

    result = project.run(*OUTPUTS, *LOUD, judge="quoting:quoting")

    told = outputs(project)
    assert CANARY in f"{result.stdout}"
    for name in ("report.html", "results.texts.jsonl", "junit.xml"):
        assert CANARY in told[name], name


def test_no_word_of_a_prompt_or_reply_is_in_any_output(project, monkeypatch):
    """A judge behind a wire: its templates, what it says, and what its server says when it fails."""
    confidential(project)
    monkeypatch.setenv("CANARY_KEY", "k")
    replies = iter(range(10_000))

    def respond(messages, body):
        return f"{CANARY} [[A]]" if next(replies) % 3 else f"I cannot tell: {CANARY}"

    project.write("prompts/judge.jinja", PROMPT)
    with wire_server(respond, model="tiny") as server:
        project.write("judge.toml", JUDGE.replace("URL", server.url))
        result = project.run("--calm-texts=none", "--calm-sample=30", *OUTPUTS, *LOUD, judge="judge.toml")

    told = outputs(project)
    assert result.ret == 1
    assert not [name for name, text in told.items() if CANARY in text]
    assert CANARY not in f"{result.stdout}{result.stderr}"
    judge = json.loads(told["results.json"])["judge"]
    assert len(judge["prompt_sha256"]) == 64
    assert judge["about"]["files"] == ["prompts/judge.jinja", "judge.toml"]


def test_the_numbers_are_the_same(project):
    """Leaving the texts out changes no outcome and no value."""
    project.run("--calm-results=full.json", judge="judges:fond")
    project.run("--calm-results=none.json", "--calm-texts=none", judge="judges:fond")

    full, bare = (project.results(name)["findings"] for name in ("full.json", "none.json"))
    assert full == bare
    assert not (project.path / "none.texts.jsonl").exists()


def test_the_texts_of_an_earlier_run_do_not_stay(project):
    """A file of texts that belongs to no record is removed."""
    project.run("--calm-results=results.json", judge="judges:fond")
    project.run("--calm-results=results.json", "--calm-texts=none", judge="judges:fond")

    assert not (project.path / "results.texts.jsonl").exists()


def test_a_failed_claim_still_says_its_numbers(project):
    """What failed, where, and by how much is no text."""
    result = project.run("--calm-texts=none", judge="judges:fond")

    result.stdout.fnmatch_lines(
        ["test_flattery.py:7: AssertionError: FAIL net_robustness >= 0.90: * (* to 100, from 45 cases; allowed 10)*"]
    )


def test_a_cap_is_still_named(project):
    """A reason of calm's own stays."""
    result = project.run("--calm-texts=none", "--calm-max-calls=50", judge="judges:gold")

    result.stdout.fnmatch_lines(["INCOMPLETE flattery *cap was reached: --calm-max-calls 50*"])


def test_another_word_is_refused(project):
    """The message names what it takes."""
    result = project.run("--calm-texts=some")

    assert result.ret == 4
    result.stderr.fnmatch_lines(["*--calm-texts: expected full or none, got 'some'"])


def test_the_ini_setting_does_the_same(project):
    """`calm_texts` in the ini file leaves them out."""
    project.ini(texts="none", results="results.json")

    project.run(judge="judges:fond")

    assert not (project.path / "results.texts.jsonl").exists()
