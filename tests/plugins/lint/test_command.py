"""`calm lint` as a person and a program use it, its exit statuses, and what it says before an audit."""

import json
import shlex
from pathlib import Path

import jsonschema
import pytest

from calm.commands.cli import main
from calm.plugins.lint.linting import RULES
from tests.plugins.lint.examples import EXAMPLES, JUDGE, pair, write
from tests.reports.test_sarif import SCHEMA, broken_rules

WARNS, BREAKS = "delimiter-closable", "answer-not-shown"


def ran(capsys, *arguments):
    """Return the exit status and what a command prints."""
    status = main(list(arguments))
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.fixture
def judge(tmp_path):
    """Return a function that writes the judge of a rule's example, and returns its path."""

    def made(rule, name="j", **options):
        folder = tmp_path / name
        folder.mkdir()
        return write(folder, EXAMPLES[rule], **options)[0]

    return made


def test_a_finding_has_a_place_a_rule_why_evidence_and_a_fix(judge, capsys):
    path = judge(WARNS)
    status, out, _ = ran(capsys, "lint", path)
    first, why, evidence, fix, count = out.splitlines()
    assert first.startswith(f"{path.replace('judge.toml', 'user.jinja')}:8: warning: delimiter-closable: ")
    assert [line.split()[0] for line in (why, evidence, fix)] == ["why:", "evidence", "fix:"]
    assert count == f"{path}: 1 warning"
    assert status == 0


@pytest.mark.parametrize(
    ("rule", "fail_on", "status"),
    [(WARNS, "error", 0), (WARNS, "warning", 1), (BREAKS, "error", 1), ("tie-forbidden", "warning", 0)],
)
def test_the_status_goes_by_severity(rule, fail_on, status, judge, capsys):
    assert ran(capsys, "lint", judge(rule), "--fail-on", fail_on)[0] == status


def test_several_files_are_linted_and_counted_together(judge, tmp_path, capsys):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text(EXAMPLES["author-named"].fault, "utf-8")
    paths = [judge(WARNS, "a"), judge(BREAKS, "b"), str(prompt), str(prompt)]
    status, out, _ = ran(capsys, "lint", *paths)
    assert out.splitlines()[-1].startswith("3 files: 1 error, ")
    assert status == 1


def test_a_file_with_faults_of_its_own_is_named_and_the_others_are_linted(judge, tmp_path, capsys):
    empty, other = tmp_path / "empty.txt", tmp_path / "readme.md"
    empty.write_text(" \n", "utf-8")
    other.write_text("No placeholder.", "utf-8")
    status, out, err = ran(capsys, "lint", judge(WARNS), str(empty), str(other), str(tmp_path / "no.toml"))
    assert status == 4
    assert "delimiter-closable" in out
    assert [one for one in ("empty file", "found none", "no.toml") if one not in err] == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["lint"], "expected a judge.toml"),
        (["lint", "p.txt", "--slot", "output=answr"], "did you mean 'answer'"),
        (["lint", "p.txt", "--slot", "output"], "expected NAME=ROLE"),
        (["lint", "j.toml", "--task", "score"], "for prompt files"),
        (["lint", "p.txt", "--out", "lint.txt"], ".sarif or .json"),
        (["lint", "p.txt", "--context", "9", "--cases", "c.jsonl"], "for a judge.toml"),
        (["lint", "j.toml", "--context", "0"], "above 0"),
    ],
)
def test_a_wrong_option_is_one_clear_paragraph(arguments, words, capsys):
    status, out, err = ran(capsys, *arguments)
    assert (status, out) == (4, "")
    assert words in err


def test_json_holds_what_the_text_does(judge, capsys):
    path = judge(WARNS)
    found = json.loads(ran(capsys, "lint", path, "--format", "json")[1])
    (file,) = found["files"]
    (one,) = file["findings"]
    assert (file["file"], file["tasks"], found["counts"]) == (path, ["pairwise"], {"error": 0, "warning": 1, "note": 0})
    assert (one["rule"], one["line"], one["basis"]) == (WARNS, 8, "measured")


def test_sarif_is_valid_and_marks_what_is_allowed(judge, capsys):
    said = ["--allow", "delimiter-closable answers come from us"]
    path = judge(WARNS)
    for arguments, accepted in ((said, 1), ([], 0)):
        log = json.loads(ran(capsys, "lint", path, "--format", "sarif", *arguments)[1])
        jsonschema.Draft7Validator(SCHEMA).validate(log)
        (run,) = log["runs"]
        assert broken_rules(run) == []
        assert [len(one["suppressions"]) for one in run["results"]] == [accepted]


@pytest.mark.parametrize("name", ["lint.sarif", "lint.json"])
def test_findings_can_be_written_beside_what_is_printed(name, judge, tmp_path, capsys):
    """A file of somebody else's stays as it is; an older one of ours is replaced."""
    path, out = judge(WARNS), tmp_path / name
    for _ in range(2):
        status, printed, _ = ran(capsys, "lint", path, "--out", str(out))
        assert (status, printed.splitlines()[-1]) == (0, f"{path}: 1 warning")
        assert WARNS in out.read_text("utf-8")
    out.write_text("{}", "utf-8")
    assert ran(capsys, "lint", path, "--out", str(out))[0] == 4
    assert out.read_text("utf-8") == "{}"


def test_a_broken_file_is_no_finding_of_sarif_and_makes_the_run_unsuccessful(tmp_path, capsys):
    status, out, _ = ran(capsys, "lint", str(tmp_path / "none.toml"), "--format", "sarif")
    (run,) = json.loads(out)["runs"]
    assert (status, run["results"], run["invocations"][0]["executionSuccessful"]) == (4, [], False)


@pytest.mark.parametrize("where", ["template", "toml", "option", "mustache"])
def test_an_allow_with_a_reason_accepts_a_finding_and_is_not_sent(where, tmp_path, capsys):
    words = "delimiter-closable answers come from us"
    text = EXAMPLES[WARNS].fault
    prompt, toml = tmp_path / "user.jinja", tmp_path / "judge.toml"
    toml.write_text(JUDGE.format(task="pairwise", verdict="", model=""), "utf-8")
    prompt.write_text(f"{{#- calm: allow {words} -#}}\n{text}" if where == "template" else text, "utf-8")
    arguments = [str(toml)]
    if where == "toml":
        toml.write_text(f"# calm: allow {words}\n{toml.read_text('utf-8')}", "utf-8")
    if where == "option":
        arguments += ["--allow", words]
    if where == "mustache":
        bare = tmp_path / "bare.txt"
        tagged = "<q>\n{{question}}\n</q>\n<a>\n{{output}}\n</a>\nUntrusted data. Is it good? Say YES or NO."
        bare.write_text(f"{{{{! calm: allow {words} }}}}\n{tagged}", "utf-8")
        arguments = [str(bare)]
    status, out, _ = ran(capsys, "lint", *arguments, "--fail-on", "note")
    assert "allowed: delimiter-closable: answers come from us" in out
    assert out.splitlines()[-1].endswith("nothing found (1 allowed)")
    assert status == 0


def test_the_rules_can_be_listed(capsys):
    status, out, _ = ran(capsys, "lint", "--rules")
    assert [line.split()[0] for line in out.splitlines()] == list(RULES)
    assert status == 0


def test_the_members_of_a_panel_are_linted(judge, tmp_path, capsys):
    judge(WARNS, "a"), judge(BREAKS, "b")
    panel = tmp_path / "panel.toml"
    panel.write_text('[judge]\nname = "p"\n[panel]\nmembers = ["a/judge.toml", "b/judge.toml"]\n', "utf-8")
    _, out, _ = ran(capsys, "lint", str(panel))
    assert WARNS in out
    assert BREAKS in out


def test_a_template_with_fields_that_the_bundled_cases_lack_is_linted(judge, capsys):
    path = judge(WARNS)
    template = path.replace("judge.toml", "user.jinja")
    with Path(template).open("a", encoding="utf-8") as file:
        file.write("See also {{ fields.docs }}, which is untrusted too.")
    assert "1 warning" in ran(capsys, "lint", path)[1].splitlines()[-1]


def test_a_prompt_that_shows_no_bundled_case_is_measured_alone(judge, capsys):
    path = judge(WARNS)
    template = path.replace("judge.toml", "user.jinja")
    with Path(template).open("a", encoding="utf-8") as file:
        file.write("{{ fields.docs }}" + "Mind this. " * 2_000)
    out = ran(capsys, "lint", path, "--context", "4000")[1]
    assert "error: too-long: the prompt alone needs about" in out


def test_a_prompt_file_in_jinja_with_a_loop_shows_all_answers(tmp_path, capsys):
    path = tmp_path / "loop.jinja"
    path.write_text(
        "{{ question }}\n{% for answer in answers %}\n<answer>\n{{ answer.text }}\n</answer>\n{% endfor %}\nSay [[A]].",
        "utf-8",
    )
    out = ran(capsys, "lint", str(path), "--task", "pairwise")[1]
    assert "answer-not-shown" not in out


@pytest.mark.parametrize(
    "text",
    [
        *("{" * 5_000 + "answer" + "}" * 5_000 + "{answer}", "{answer}" * 7_000, "\0{answer}\x1b[2J"),
        *("\ue000\ue005 {question} \uf770 {answer} \uf8ff", "\ue000{answer}\ue001"),
    ],
)
def test_hostile_files_end_with_findings_or_a_refusal(text, tmp_path, capsys):
    path = tmp_path / "p.txt"
    path.write_text(text, "utf-8")
    status, out, err = ran(capsys, "lint", str(path))
    assert status in (0, 1, 4)
    assert "\x1b" not in out + err


# ---------------------------------------------------------------------------------------------- before an audit


def test_an_audit_of_a_judge_that_cannot_work_ends_before_any_call(judge, tmp_path, monkeypatch, capsys):
    path = judge("verdict-unreadable")
    monkeypatch.chdir(tmp_path)
    status, out, _ = ran(capsys, "audit", path)
    assert status == 4
    assert "nothing was asked" in out
    assert not (tmp_path / "calm-audit").exists()


def test_an_audit_whose_prompt_shows_no_turns_ends_before_any_call_and_says_how_to_go_on(
    judge, tmp_path, monkeypatch, capsys
):
    """The fault is in the cases and the prompt together: so the command that shows all findings has the cases."""
    path = judge("part-not-shown")
    cases = str(Path(path).with_name("my cases.jsonl"))
    Path(cases).write_text(EXAMPLES["part-not-shown"].cases, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    status, out, _ = ran(capsys, "audit", path, "--cases", cases)

    assert status == 4
    assert "error: part-not-shown: the prompt does not show the turns that 1 of 1 cases" in out
    assert not (tmp_path / "calm-audit").exists()
    command = out.rpartition("all findings: calm ")[2]
    assert ran(capsys, *shlex.split(command))[0] == 1

    with Path(path).open("a", encoding="utf-8") as file:
        file.write("\n# calm: allow part-not-shown we ask about single replies alone\n")

    status, out, err = ran(capsys, "audit", path, "--cases", cases, "--", "-k", "nothing_has_this_name")
    assert "nothing was asked" not in out
    assert "OPENAI_API_KEY" in out + err


def test_an_audit_that_goes_on_names_each_error(judge, tmp_path, monkeypatch, capsys):
    """Not only how many there are."""
    path = judge("verdict-not-asked")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    _, out, _ = ran(capsys, "audit", path, "--", "-k", "nothing_has_this_name")

    assert sum(": error: verdict-not-asked: " in line for line in out.splitlines()) == 1
    assert f"calm lint {path}" in out


def test_a_run_says_nothing_of_what_the_linter_only_warns_of(judge, tmp_path, monkeypatch, capsys):
    """The key of the judge is not set, so the audit itself ends at once."""
    path = judge(WARNS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    _, out, _ = ran(capsys, "audit", path, "--", "-k", "nothing_has_this_name")
    assert "calm lint" not in out


def test_an_audit_says_nothing_of_a_sound_prompt(judge, tmp_path, monkeypatch, capsys):
    path = judge(WARNS, sound=True)
    monkeypatch.chdir(tmp_path)
    _, out, _ = ran(capsys, "audit", path, "--", "-k", "nothing_has_this_name")
    assert "lint:" not in out


def test_a_template_that_is_crlf_has_the_same_lines(tmp_path, capsys):
    (tmp_path / "user.jinja").write_bytes(pair(swap=[]).replace("\n", "\r\n").encode())
    (tmp_path / "judge.toml").write_text(JUDGE.format(task="pairwise", verdict="", model=""), "utf-8")
    assert ran(capsys, "lint", str(tmp_path / "judge.toml"))[1].splitlines()[-1].endswith("nothing found")


def test_what_several_judges_share_is_said_once(tmp_path, capsys):
    """Two judges send one prompt: its line comes once, and once in SARIF; JSON has it for each file."""
    first = Path(write(tmp_path, EXAMPLES[WARNS])[0])
    other = first.with_name("other.toml")
    other.write_text(first.read_text("utf-8"), "utf-8")
    _, out, _ = ran(capsys, "lint", str(first), str(other))
    _, sarif, _ = ran(capsys, "lint", str(first), str(other), "--format", "sarif")
    _, whole, _ = ran(capsys, "lint", str(first), str(other), "--format", "json")

    assert out.count(f": {WARNS}: ") == 1
    assert "1 warning" in out.splitlines()[-1]
    assert [one["ruleId"] for one in json.loads(sarif)["runs"][0]["results"]].count(WARNS) == 1
    assert [len(one["findings"]) for one in json.loads(whole)["files"]] == [1, 1]
