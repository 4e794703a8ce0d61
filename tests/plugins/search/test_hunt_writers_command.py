"""`calm hunt --with`: a model writes, beside the edits."""

import json
from functools import partial

import pytest

from calm.errors import ConfigError
from calm.plugins.search import hunt_command
from tests.plugins.search import test_attack
from tests.plugins.search.test_attack import SMOOTH, added, answer_in, cases_file, judge_file, writer_file
from tests.servers import Answer, wire_server

calm = partial(test_attack.calm, command="hunt", module=hunt_command)


def test_what_a_writer_wrote_is_found_and_shrunk(tmp_path, monkeypatch, capsys):
    """The record and the terminal say how much was written."""
    judge = judge_file(tmp_path, monkeypatch, "clear and thorough")
    with wire_server(lambda m, b: f"<rewrite>{SMOOTH}{answer_in(m)}</rewrite>") as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path)}")
        status = calm(tmp_path, judge, "--findings=1", "--edits=diversity", *options)

    body = json.loads((tmp_path / "hunt.json").read_text("utf-8"))
    one = next(one for one in body["findings"] if one["confirmed"])
    assert status == 0
    assert one["added"] == ["clear", " and", " thorough"] or set(added(one)) == {"clear", "and", "thorough"}
    assert body["writer"]["name"] == "scribe"
    assert body["writer"]["written"] > 0
    assert f"scribe wrote {body['writer']['written']} text" in capsys.readouterr().out


def test_a_writer_that_fails_makes_a_hunt_incomplete(tmp_path, monkeypatch, capsys):
    """The status says so, and the terminal why."""
    judge = judge_file(tmp_path, monkeypatch, "clear and thorough")
    with wire_server(lambda m, b: Answer(status=400, message="no such thing")) as server:
        options = (f"--with={writer_file(tmp_path, server)}", f"--cases={cases_file(tmp_path)}")
        status = calm(tmp_path, judge, "--asks=60", *options)

    assert status == 1
    assert "scribe wrote 0 texts; failed: " in capsys.readouterr().out


def test_a_writer_that_is_of_no_use_is_told_before_a_call(tmp_path):
    """It would be paid for, and end in nothing."""
    with pytest.raises(ConfigError, match="--with: expected --where answer, which a writer rewrites, got notes"):
        calm(tmp_path, "planted:", "--with=w.toml", "--where=notes")

    assert not (tmp_path / "hunt.json").exists()
