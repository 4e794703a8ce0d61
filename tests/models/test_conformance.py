"""Servers that answer 200 OK and do not do what they were asked are found out."""

import json
from types import SimpleNamespace

import pytest

from calm.commands.cli import main
from calm.core.reasons import Kind
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.judges.judgefile import read_judge
from calm.models.apis import BadReply
from calm.models.faults import parsed, token_fault
from calm.models.secrets import Secrets
from calm.models.transport import Response
from calm.models.wire import Reply, Token
from tests.servers import Answer, wire_server

SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
MANY = " ".join(["word"] * 100)


def judge_file(folder, server, *, form="brackets", more=""):
    """Write a judge.toml and return its path."""
    (folder / "schema.json").write_text(json.dumps(SCHEMA))
    verdict = f'format = "{form}"\n' + ('field = "verdict"\nschema_file = "schema.json"\n' if form == "json" else "")
    path = folder / "judge.toml"
    path.write_text(
        f'[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "tiny"\n'
        f'base_url = "{server.url}"\n{more}\n[verdict]\n{verdict}'
    )
    return path


def honest(messages, body):
    """Do what is asked, and refuse what is not known."""
    if "calm_unknown_parameter" in body:
        return Answer(status=400, message="unknown parameter")
    if "hundred" in messages[-1][1]:
        words = MANY.split()[: body["max_tokens"]]
        return Answer(" ".join(words), stop="length", usage=(20, len(words)))
    if "response_format" in body:
        return '{"verdict": "A"}'
    return "ready"


def deaf_to_length(messages, body):
    return Answer(MANY, usage=(20, 100)) if "hundred" in messages[-1][1] else honest(messages, body)


def deaf_to_schema(messages, body):
    return "ready" if "response_format" in body else honest(messages, body)


def half_a_schema(messages, body):
    return '{"other": 1}' if "response_format" in body else honest(messages, body)


def deaf_to_all(messages, body):
    return honest(messages, {k: v for k, v in body.items() if not k.startswith("calm")})


def shifted(messages, body):
    tokens = [("set", -0.1, [("set", -0.1)]), ("go", -0.2, [("go", -0.2)])] if body.get("logprobs") else None
    return Answer("ready", tokens=tokens) if tokens else honest(messages, body)


def impossible(messages, body):
    alternatives = [("ready", -0.1), ("steady", -0.1)]
    tokens = [("ready", -0.1, alternatives)] if body.get("logprobs") else None
    return Answer("ready", tokens=tokens) if tokens else honest(messages, body)


def test_the_table_says_what_a_server_keeps_to(tmp_path, capsys, subtests):
    """A failed check leaves with status 1; what cannot be known is said to be so."""
    for respond, form, status, line in [
        (honest, "brackets", 0, "unknown parameters  ok"),
        (honest, "json", 0, "schema              ok"),
        (honest, "logprobs", 0, "log-probabilities   ok"),
        (deaf_to_length, "brackets", 1, "max_tokens          FAILS   ignored"),
        (deaf_to_schema, "json", 1, "schema              FAILS   not obeyed: expected JSON, got 'ready'"),
        (half_a_schema, "json", 1, "schema              FAILS   not obeyed: expected 'verdict'"),
        (deaf_to_all, "brackets", 0, "unknown parameters  unsure  ignored"),
        (shifted, "logprobs", 1, "log-probabilities   FAILS   they belong to another text: 'setgo'"),
        (impossible, "logprobs", 1, "log-probabilities   FAILS   the probabilities of the alternatives to 'ready' add"),
    ]:
        with subtests.test(respond=respond, form=form, status=status, line=line):
            with wire_server(respond, greetings=False) as server:
                done = main(["try", str(judge_file(tmp_path, server, form=form)), "--server"])
                calls = len(server.seen)

            shown = capsys.readouterr().out
            assert line in shown
            assert done == status
            assert calls <= 8


def test_a_server_that_is_not_there_is_one_failed_check(tmp_path, capsys):
    """The table then has one line, and says how to fix it."""
    with wire_server(honest) as server:
        path = judge_file(tmp_path, server)

    assert main(["try", str(path), "--server"]) == 1

    assert "answers  FAILS" in capsys.readouterr().out


def test_a_seed_that_is_sent_is_checked(tmp_path, capsys, subtests):
    """Two calls with one seed and a temperature of 1 are compared."""
    for kept, status in [(True, 0), (False, 1)]:
        with subtests.test(kept=kept, status=status):
            count = iter(range(100))

            def respond(messages, body, kept=kept, count=count):
                if "random" in messages[-1][1]:
                    assert body["temperature"] == 1.0
                    return f"word {body['seed'] if kept else next(count)}"
                return honest(messages, body)

            with wire_server(respond, greetings=False) as server:
                done = main(["try", str(judge_file(tmp_path, server, more="extra_body = { seed = 7 }")), "--server"])

            assert done == status
            assert ("seed                ok" if kept else "seed                FAILS") in capsys.readouterr().out


def test_a_judge_without_a_server_has_none_to_check(capsys):
    """The message says what is wanted."""
    assert main(["try", "lexical", "--server"]) == 4
    assert "has no server" in capsys.readouterr().err


def test_a_run_does_not_begin_with_log_probabilities_of_other_tokens(tmp_path, subtests):
    """Found in the first live call, which costs no call more."""
    for respond in [shifted, impossible]:
        with subtests.test(respond=respond):
            with wire_server(respond, greetings=False) as server:
                judge = read_judge(judge_file(tmp_path, server, form="logprobs"), {})
                engine = Engine(Store(None, Mode.OFF))
                with pytest.raises(ConfigError, match="expected log-probabilities of the reply's own tokens"):
                    engine.greet(*judge.endpoints)
                engine.close()

            assert len(server.seen) == 1


def test_log_probabilities_are_held_against_the_text(subtests):
    """The end of a turn, white space and a token that cannot be are no fault; what cannot be a probability is."""
    for tokens, fault in [
        ((Token("Yes", -0.1), Token("<|im_end|>", -0.01)), ""),
        ((Token(" Yes", -0.1), Token(".", -0.01)), ""),
        ((Token("Yes", float("-inf")),), ""),
        ((Token("Yes", 0.5),), "above 0"),
        ((Token("Yes", float("nan")),), "above 0"),
        ((Token("Yes", -0.1, (("Yes", -1.1),)),), "has two of them"),
        ((), "there are none"),
    ]:
        with subtests.test(tokens=tokens, fault=fault):
            found = token_fault(Reply("Yes", tokens=tokens))

            assert fault in found if fault else not found


def test_a_run_says_at_its_start_that_a_schema_is_not_kept_to(tmp_path, subtests):
    """The replies may be readable all the same: it is a note, also where texts are left out."""
    for respond, told in [(honest, False), (deaf_to_schema, True), (half_a_schema, True)]:
        with subtests.test(respond=respond, told=told):
            with wire_server(respond, greetings=False) as server:
                judge = read_judge(judge_file(tmp_path, server, form="json"), {})
                engine = Engine(Store(None, Mode.OFF))
                try:
                    engine.greet(*judge.endpoints)
                finally:
                    engine.close()

            assert any(note.kind is Kind.SCHEMA_BROKEN for note in engine.notes) is told
            assert not any(note.quotes for note in engine.notes)


def test_a_server_whose_own_reply_has_a_key_twice_gives_none():
    """Of two contents nobody knows which one the model meant; equal ones are one."""
    address = SimpleNamespace(secrets=Secrets())

    def of(text):
        return parsed(address, Response(200, {}, text.encode()))

    assert of('{"choices": [{"text": "A", "text": "A"}]}') == {"choices": [{"text": "A"}]}
    with pytest.raises(BadReply, match="'text' twice"):
        of('{"choices": [{"text": "A", "text": "B"}]}')
