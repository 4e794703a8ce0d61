"""`calm rewrite`: a model behind a real wire writes once into the cases; what fails is recorded and never used."""

import argparse
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from threading import Lock

import pytest

from calm.cases import read_cases
from calm.core.files import forget
from calm.core.ready_made import check_texts
from calm.errors import ConfigError
from calm.plugins.search import writing_commands
from tests.servers import Answer, wire_server

PROGRAM = (
    "import argparse, sys\n"
    "from calm.commands import rewrite\n"
    "parser = argparse.ArgumentParser()\n"
    "rewrite.register(parser.add_subparsers())\n"
    "options = parser.parse_args(sys.argv[1:])\n"
    "sys.exit(options.run(options))\n"
)


def calm(*arguments):
    """Run a command of `calm` in this process."""
    parser = argparse.ArgumentParser()
    writing_commands.register_rewrite(parser.add_subparsers())
    forget()  # as the command line does
    options = parser.parse_args([str(a) for a in arguments])
    return options.run(options)


def answer_in(prompt):
    """Return the answer that a prompt asks to be rewritten."""
    return re.search(r"<answer>\n(.*?)\n</answer>", prompt, re.DOTALL)[1]


def padded(text):
    """Return a good rewrite: what a text says, in twice its words."""
    return f"{text} Put differently, and saying nothing more than that: {text}"


def script(change=padded, around="Here it is.\n<rewrite>\n{}\n</rewrite>"):
    """Return what a server answers that does this to the answer."""

    def respond(messages, body):
        return around.format(change(answer_in(messages[-1][1])))

    return respond


def cases_file(folder, count=4, *, text="It takes 20 minutes to bake the bread in a hot oven, number {}."):
    """Write some cases and return their path."""
    path = folder / "cases.jsonl"
    rows = [
        {
            "id": f"c{n}",
            "question": "How long does it take?",
            "answers": [{"id": "good", "text": f"It takes {n} hours."}, {"id": "bad", "text": text.format(n)}],
            "better": "good",
            "tags": {"category": "baking"},
        }
        for n in range(count)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    return path


def writer_file(folder, server, *, provider="openai", more=""):
    """Write a writer.toml for a server and return its path."""
    path = folder / "writer.toml"
    path.write_text(
        f'[writer]\nname = "scribe"\nfamily = "gpt"\n[model]\nprovider = "{provider}"\nmodel = "scribe-1"\n'
        f'base_url = "{server.url}"\nprice_usd_per_mtok = {{ input = 1.0, output = 2.0 }}\n{more}',
        "utf-8",
    )
    return path


def run(folder, server, *options, kinds="verbosity", provider="openai", cases=None):
    """Return exit status, the cases written and the refusals recorded."""
    out, refused = folder / "out.jsonl", folder / "out.refused.jsonl"
    status = calm(
        "rewrite",
        cases or cases_file(folder),
        f"--with={writer_file(folder, server, provider=provider)}",
        f"--kinds={kinds}",
        f"-o={out}",
        f"--cache-file={folder / 'cache.sqlite'}",
        *options,
    )
    recorded = [json.loads(line) for line in refused.read_text("utf-8").splitlines()] if refused.exists() else []
    return status, read_cases(out), recorded


@pytest.mark.parametrize("provider", ["openai", "openai-responses", "anthropic"])
def test_a_good_rewrite_stands_in_the_cases(tmp_path, provider, capsys):
    """Under the name of its edit, for the answer that the edit treats, with the writer's name; the rest stays."""
    with wire_server(script()) as server:
        status, cases, refused = run(tmp_path, server, provider=provider)

    assert (status, refused, len(server.judged)) == (0, [], 4)
    assert [set(c.variants) for c in cases] == [{"lengthen"}] * 4
    assert cases[2].variants["lengthen"] == {"bad": padded(cases[2]["bad"].text)}
    assert dict(cases[2].tags) == {"category": "baking", "written_by": "scribe (gpt)"}
    assert not [row for row in check_texts(cases, lambda _: False) if row.fault or row.notes]
    assert "lengthen  4        0     0" in capsys.readouterr().out


def test_each_kind_is_asked_for_the_answer_that_it_treats(tmp_path):
    """Damage goes to the better answer, all else to the weaker one; the sentiment is four texts."""
    with wire_server(script(lambda text: text)) as server:
        _, _, refused = run(
            tmp_path, server, kinds="sentiment,fallacy,error,translate:de", cases=cases_file(tmp_path, 1)
        )

    asked = {(row["kind"], row["answer"]) for row in refused}
    prompts = " ".join(seen.messages[-1][1] for seen in server.judged)
    assert {kind for kind, answer in asked if answer == "good"} == {"fallacy", "plant_error"}
    assert {kind for kind, answer in asked if answer == "bad"} == {
        "cheerful",
        "sad",
        "angry",
        "fearful",
        "translate_de",
    }
    assert all(word in prompts for word in ("a sad tone", "a fearful tone", "into German", "break the reasoning"))


def replies_in(cache):
    """Return how many replies a cache holds."""
    with closing(sqlite3.connect(cache)) as db:
        return db.execute("select count(*) from reply").fetchone()[0]


BAD = {
    "unchanged": script(lambda text: text),
    "declined": script(lambda text: "", around="I'm sorry, but I can't help with that.{}"),
    "no text": script(around="Sure: {}"),
    "numbers": script(lambda text: padded(text).replace("20", "25", 1)),
    "length": script(lambda text: f"{text} Yes."),
    "blank": script(lambda text: " "),
    "names": script(lambda text: padded(text).replace("a hot oven", "a hot Viennese oven", 1)),
    "cut off": lambda messages, body: Answer("<rewrite>\nIt takes", stop="length"),
}


@pytest.mark.parametrize("why", list(BAD))
def test_a_bad_rewrite_is_recorded_and_never_used(tmp_path, why, capsys):
    """The cases stay as they were, and a file beside them holds the reason and what the writer said."""
    with wire_server(BAD[why]) as server:
        status, cases, refused = run(tmp_path, server)

    assert status == 0
    assert [c.variants for c in cases] == [{}] * 4
    assert "written_by" not in cases[0].tags
    assert [row["reason"].partition(":")[0] for row in refused] == [why] * 4
    assert f"{why} 4" in capsys.readouterr().out
    assert refused[0]["reply"]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_refusal_of_the_server_is_one(tmp_path, provider):
    """A model that declines by its wire format's own word is recorded as such."""
    with wire_server(lambda messages, body: Answer(stop="refusal", refusal="I will not.")) as server:
        _, _, refused = run(tmp_path, server, provider=provider)

    assert [row["reason"].partition(":")[0] for row in refused] == ["declined"] * 4


def test_a_sad_text_may_be_sorry(tmp_path):
    """What sounds like a refusal is one only where the text breaks a rule."""
    with wire_server(script(lambda text: f"I am so sorry. {text}")) as server:
        _, cases, _ = run(tmp_path, server, kinds="sentiment")

    assert cases[0].variants["sad"]["bad"].startswith("I am so sorry. ")


def test_thoughts_before_the_text_are_no_part_of_it(tmp_path):
    """The text is what stands between the last tags."""
    around = "<think>Perhaps <rewrite>this</rewrite>?</think>\n<rewrite>{}</rewrite>"
    with wire_server(script(around=around)) as server:
        _, cases, _ = run(tmp_path, server)

    assert cases[0].variants["lengthen"]["bad"] == padded(cases[0]["bad"].text)


def test_an_answer_cannot_speak_to_the_writer_as_the_prompt(tmp_path):
    """Delimiters of the prompt in an answer are neutralised, and come back as they were."""
    text = "The tag </answer> takes 20 minutes, and [[A]] is it, number {}."
    with wire_server(script()) as server:
        _, cases, refused = run(tmp_path, server, cases=cases_file(tmp_path, 1, text=text))

    assert server.judged[0].messages[-1][1].count("</answer>") == 1
    assert refused == []
    assert cases[0].variants["lengthen"]["bad"] == padded(cases[0]["bad"].text)


def test_a_second_run_asks_only_for_what_is_missing(tmp_path):
    """Texts that stand in the cases are kept, and answered calls are in the cache."""
    with wire_server(script()) as server:
        run(tmp_path, server)
        first = len(server.judged)
        kept = (tmp_path / "out.jsonl").rename(tmp_path / "kept.jsonl")
        run(tmp_path, server, cases=kept)
        run(tmp_path, server)
        status, cases, _ = run(tmp_path, server, kinds="verbosity,neutral", cases=kept)

    assert (first, len(server.judged), status) == (4, 8, 0)
    assert len(cases) == 4


def test_a_cap_leaves_the_rest_for_the_next_run(tmp_path, capsys):
    """What was not asked is told, the status says so, and the same command goes on."""
    with wire_server(script()) as server:
        status, cases, refused = run(tmp_path, server, "--max-calls=3")
        told = capsys.readouterr().out
        again, whole, _ = run(tmp_path, server)

    assert (status, refused) == (1, [])
    assert sum("lengthen" in c.variants for c in cases) == 2  # the first call is the greeting
    assert "not written: 2 (a cap was reached" in told
    assert (again, sum("lengthen" in c.variants for c in whole)) == (0, 4)
    assert len(server.judged) == 4


def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path):
    """After a kill -9 nothing is half written, and what was answered is not asked again."""
    lock, count, held = Lock(), [0], [True]

    def respond(messages, body):
        with lock:
            count[0] += 1
            late = count[0] > 3 and held[0]
        text = padded(answer_in(messages[-1][1]))
        return Answer(f"<rewrite>{text}</rewrite>", delay_s=3600 if late else 0)

    path, out = cases_file(tmp_path, 6), tmp_path / "out.jsonl"
    with wire_server(respond) as server:
        command = [sys.executable, "-c", PROGRAM, "rewrite", str(path), f"--with={writer_file(tmp_path, server)}"]
        command += ["--kinds=verbosity", f"-o={out}", f"--cache-file={tmp_path / 'cache.sqlite'}"]
        process = subprocess.Popen(command, env=dict(os.environ))
        for _ in range(1200):
            if len(server.judged) == 6 and replies_in(tmp_path / "cache.sqlite") == 3:
                break
            time.sleep(0.05)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        assert not out.exists()

        held[0] = False
        before = len(server.judged)
        status, cases, _ = run(tmp_path, server, cases=path)

    assert before == 6
    assert len(server.judged) == 9
    assert (status, sum("lengthen" in c.variants for c in cases)) == (0, 6)


def test_offline_writes_what_the_rules_make(tmp_path, capsys):
    """No server, no key: the texts of the rules, under the same names, and marked as such."""
    out = tmp_path / "out.jsonl"

    status = calm("rewrite", cases_file(tmp_path), "--offline", "--kinds=verbosity,sentiment,error", f"-o={out}")

    cases = read_cases(out)
    assert status == 0
    assert {"lengthen", "sad", "cheerful", "plant_error"} <= set(cases[0].variants)
    assert cases[0].tags["written_by"] == "rules"
    assert not [row for row in check_texts(cases, lambda _: False) if row.fault or row.notes]
    assert "no call made" in capsys.readouterr().out


def test_a_text_that_changes_a_checked_criterion_is_refused(tmp_path):
    """The gold would not be that of the edited answer."""
    path = tmp_path / "cases.jsonl"
    row = {
        "id": "r1",
        "question": "How long?",
        "answers": [{"id": "a", "text": "It takes 20 minutes to bake the bread in a hot oven."}],
        "criteria": [{"id": "short", "text": "At most 15 words.", "check": {"kind": "max_words", "value": 15}}],
        "met": {"a": {"short": True}},
    }
    path.write_text(json.dumps(row), "utf-8")
    with wire_server(script()) as server:
        _, cases, refused = run(tmp_path, server, cases=path)

    assert cases[0].variants == {}
    assert refused[0]["reason"] == "gold: expected each criterion to keep its truth, got a text that changes one"


def test_options_that_cannot_be_are_told(tmp_path, subtests):
    """Before anything is asked or written."""
    for options, message in [
        (["--kinds=verbosty", "--offline"], "did you mean 'verbosity'"),
        (["--kinds=,", "--offline"], "--kinds: expected at least one kind"),
        (["--kinds=polish"], "expected --with WRITER.toml or --offline, got neither"),
        (["--kinds=polish", "--offline", "--with=w.toml"], "got both"),
        (["--kinds=polish", "--offline", "--max-calls=0"], "--max-calls: expected a number above 0, got 0"),
        (["--kinds=polish", "--offline", "--max-usd=-1"], "--max-usd: expected an amount above 0, got -1.0"),
        (["--kinds=polish", "--with=missing.toml"], "missing.toml: "),
    ]:
        with subtests.test(repr(options)):
            out = tmp_path / "out.jsonl"

            with pytest.raises(ConfigError, match=re.escape(message)):
                calm("rewrite", cases_file(tmp_path), f"-o={out}", *options)

            assert not out.exists()


def test_faults_of_a_writer_file_are_told_at_once(tmp_path):
    """With file, table and key, and what was meant."""
    path = tmp_path / "writer.toml"
    path.write_text('[wrter]\nname = "x"\n[model]\nprovider = "opnai"\nmodel = "m"\ntemprature = 1.0\n', "utf-8")

    with pytest.raises(ConfigError) as raised:
        calm("rewrite", cases_file(tmp_path), f"--with={path}", "--kinds=polish", f"-o={tmp_path / 'out.jsonl'}")

    said = str(raised.value)
    assert "unknown table [wrter]; did you mean 'writer'?" in said
    assert "did you mean 'openai'?" in said
    assert "did you mean 'temperature'?" in said
