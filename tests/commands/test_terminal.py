"""Nothing that a user's files, a server or a command line says acts on a terminal or on a CI service."""

import io
import json
import re
import sys

import pytest

from calm.commands.cli import main
from calm.commands.terminal import Terminal
from tests.servers import Answer, wire_server

TITLE, LINK, BELL = (
    "\x1b]0;owned\x07",
    "\x1b]8;;https://evil.example\x1b\\click\x1b]8;;\x1b\\",
    "\x07\x08\x7f\x9b2J\x85",
)
TURNED, COLOUR, RETURN = "\u202egnp.exe\u2066\u2069\u200e", "\x1b[31mred\x1b[2J\x1b[H", "safe\rowned"
ORDERS = "\n::set-output name=a::b\n::error::owned\n  ::add-mask::x\n##[error]owned ##vso[task.complete]x"
HOSTILE = f"{TITLE}{LINK}{BELL}{TURNED}{COLOUR}{RETURN}{ORDERS}"
ACTS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]|^\s*::\w|##(?:vso)?\[",
    re.MULTILINE,
)


def row(number):
    """Return a case that is hostile wherever a case may be."""
    return {
        "id": f"{HOSTILE}{number}",
        "question": f"{HOSTILE} What is {number}?",
        "answers": [
            {"id": f"a{HOSTILE}", "text": f"{HOSTILE} It is {number}.", "author": f"m{HOSTILE}"},
            {"id": "b", "text": f"It is {number + 1}, surely. {HOSTILE}", "author": "n"},
        ],
        "better": f"a{HOSTILE}",
        "tags": {HOSTILE: HOSTILE},
    }


def judge(url, **more):
    """Return a judge.toml; values are quoted as TOML wants them."""
    model = {"provider": "openai", "model": "m", "base_url": url, **more.pop("model", {})}
    tables = {"judge": {"name": "j", "task": "pairwise", **more}, "model": model}
    return "".join(
        f"[{name}]\n" + "".join(f"{json.dumps(key)} = {json.dumps(value)}\n" for key, value in table.items())
        for name, table in tables.items()
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with hostile cases."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row(number))}\n" for number in range(12)))
    return tmp_path


def printed(capsys, *arguments):
    """Return the status of a command and all that it prints."""
    try:
        status = main(list(arguments))
    except SystemExit as ended:
        status = ended.code
    text = "".join(capsys.readouterr())
    assert not ACTS.search(text), ACTS.search(text)
    return status, text


def test_what_a_case_and_a_server_say_is_shown_and_not_obeyed(folder, capsys):
    """Prompt, reply, verdict, ids, the name of the model that answers, and the server's own words in an error."""
    with wire_server(lambda *_: f"{HOSTILE} [[A]]") as server:
        (folder / "judge.toml").write_text(judge(server.url))
        assert printed(capsys, "try", "judge.toml", "--cases=cases.jsonl")[0] == 0
        server.respond = lambda *_: Answer(status=400, message=HOSTILE)
        assert "\\x1b]0;owned" in printed(capsys, "try", "judge.toml", "--cases=cases.jsonl")[1]
        server.respond = lambda *_: Answer(f"{HOSTILE} [[A]]", model=f"m{HOSTILE}")
        printed(capsys, "try", "judge.toml", "--cases=cases.jsonl")
        printed(capsys, "try", "judge.toml", "--server")
        printed(capsys, "attack", "judge.toml", "--cases=cases.jsonl", "--sample=2", "--max-calls=9")
        printed(capsys, "cache", "show")
        printed(capsys, "cache", "prune", f"--model={HOSTILE}")


@pytest.mark.parametrize(
    "arguments",
    [
        ["try", "lexical", "--cases=cases.jsonl", f"--case={HOSTILE}"],
        ["try", "lexical", "--cases=cases.jsonl", f"--edit={HOSTILE}"],
        ["try", HOSTILE],
        ["try", f"planted:{HOSTILE}"],
        ["try", f"{HOSTILE}.toml"],
        ["try", "lexical", f"--seed={HOSTILE}"],
        ["try", "lexical", f"--{HOSTILE}"],
        [HOSTILE],
        ["cases", HOSTILE],
        ["cases", "check", "cases.jsonl", "--strict"],
        ["cases", "check", HOSTILE],
        ["cases", "check", "cases.jsonl", f"--task={HOSTILE}"],
        ["cases", "import", "cases.jsonl", "-o", f"new{TITLE}.jsonl", "--map", f"{HOSTILE}=x"],
        ["cases", "import", "cases.jsonl", "-o", f"new{TITLE}\n::error::x.jsonl", "--format=jsonl"],
        ["cases", "generate", "--task=pairwise", "--count=2", "--seed=1", "-o", f"made{TITLE}\n::error::x"],
        ["perturb", HOSTILE],
        ["perturb", "--list", f"--bias={HOSTILE}"],
        ["perturb", "authority.cite_book", "--cases=cases.jsonl"],
        ["perturb", "authority.cite_book", "--cases=cases.jsonl", f"--case={HOSTILE}"],
        ["report", HOSTILE],
        ["report", "cases.jsonl", "-o", f"x{TITLE}"],
        ["accept", HOSTILE],
        ["accept", "cases.jsonl"],
        ["compare", HOSTILE, "cases.jsonl"],
        ["plan", "lexical", f"--cases={HOSTILE}"],
        ["power", f"--claim={HOSTILE}"],
        ["cache", "show", f"--cache-file={HOSTILE}"],
        ["cache", "export", f"{HOSTILE}"],
        ["rewrite", "cases.jsonl", "--offline", "--kinds=verbosity", "-o", f"out{TITLE}"],
        ["rewrite", "cases.jsonl", "--offline", f"--kinds={HOSTILE}", "-o", "out.jsonl"],
        ["answer", "cases.jsonl", f"--with={HOSTILE}"],
        ["attack", HOSTILE],
        ["attack", "planted:verbosity=0.9", "--cases=cases.jsonl", "--edits=verbosity"],
        ["attack", "planted:", f"--edits={HOSTILE}"],
        ["cross-check", HOSTILE, "--cases=cases.jsonl"],
        ["self-preference", "lexical", "--cases=cases.jsonl", f"--family={HOSTILE}=x"],
        ["mitigate", "lexical", f"--try={HOSTILE}"],
        ["uda", "train", HOSTILE],
        ["uda", "apply", HOSTILE, "cases.jsonl"],
    ],
    ids=lambda arguments: " ".join(arguments)[:24].encode("unicode_escape").decode(),
)
def test_no_command_prints_what_acts(arguments, folder, capsys):
    """Whatever is wrong with a name, a file or an option, and also where nothing is wrong."""
    printed(capsys, *(argument.replace("\0", "") for argument in arguments))


@pytest.mark.parametrize("where", ["name", "model", "key", "header", "extra_body", "file", "toml"])
def test_a_hostile_judge_toml_is_refused_or_shown(where, folder, capsys):
    """Its names, keys and values, and the file's own name."""
    path = folder / ("judge.toml" if where != "file" else f"j{TITLE}{TURNED}.toml")
    given = {
        "name": {"name": HOSTILE},
        "model": {"model": {"model": HOSTILE}},
        "key": {HOSTILE: "x"},
        "header": {"model": {HOSTILE: "x"}},
        "extra_body": {"model": {"extra_body": HOSTILE}},
    }.get(where, {})
    path.write_text(judge("http://127.0.0.1:9/v1", **given) + (TITLE if where == "toml" else ""))

    status, _ = printed(capsys, "try", str(path))

    assert status in (1, 4)


def test_a_hostile_record_is_shown_and_not_obeyed(folder, capsys):
    """A run on hostile cases, and what is made of its record."""
    assert printed(capsys, "audit", "planted:verbosity=0.9", "--cases=cases.jsonl", "--", "-k", "verbosity")[0] in (
        1,
        4,
    )
    if (folder / "calm-audit" / "results.json").exists():
        printed(capsys, "report", "calm-audit/results.json", "-o", f"again{TITLE}.html")
        printed(capsys, "compare", "calm-audit/results.json", "calm-audit/results.json")


def test_a_terminal_shows_colours_where_a_person_sees_them():
    """Our own colours pass there, and nothing else that begins with an escape; a log has none of either."""

    class Screen(io.StringIO):
        def isatty(self):
            return True

    seen, log = Screen(), io.StringIO()
    text = f"\x1b[31;9mgone\x1b[0m {TITLE} {LINK}"
    Terminal(seen).write(text)
    Terminal(log).write(text)

    assert seen.getvalue().startswith("\x1b[31;9mgone\x1b[0m \\x1b]0;owned")
    assert "\x1b]" not in seen.getvalue()
    assert "\x1b" not in log.getvalue()


def test_an_error_that_nobody_expected_is_safe_too(monkeypatch):
    """The last words of a process go the same way."""
    from calm.commands.terminal import print_unexpected

    error = io.StringIO()
    monkeypatch.setattr(sys, "stderr", error)
    print_unexpected(RuntimeError, RuntimeError(HOSTILE), None)

    assert "owned" in error.getvalue()
    assert not ACTS.search(error.getvalue())
