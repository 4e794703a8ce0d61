"""A prompt that is longer than the context of its model: an error that names the case, and never a silent cut."""

import asyncio
import json
from dataclasses import replace

import pytest

from calm.core.case import Answer as Text
from calm.core.case import Case, Passage
from calm.core.memo import Memo
from calm.core.reasons import Kind, because, reason_of
from calm.core.verdict import Preferred, Scale
from calm.engine.engine import Engine
from calm.engine.store import Mode, Store
from calm.errors import ConfigError, JudgeError
from calm.experiment.pairs import pair_up
from calm.experiment.run import refuse_unshowable
from calm.experiment.setup import Setup
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.models.server import Server
from calm.perturbations.passage_noise import add_many_passages
from tests.servers import Answer, wire_server
from tests.suites.gate import run_gate

SHORT = Case("short", "Which?", (Text("a", "text of a"), Text("b", "text of b")), context=(Passage("p1", "A text."),))
LONG = replace(SHORT, id="long-7", context=(Passage("p1", "word " * 3000),))


def judge_at(url, **settings):
    server = Server("openai", "local", base_url=url, retries=0, **settings)
    prompt = bundled("pairwise", "brackets")
    return PromptedJudge("j", "pairwise", scale=Scale(), prompt=prompt, form=Format("brackets"), server=server)


class Direct:
    ask = 1

    async def __call__(self, request):
        return await request.endpoint.call(request.body)


def asked(respond, case, **settings):
    """Return the reason why a judge behind a server has no verdict on a case; its verdict if it has one."""
    with wire_server(respond) as wire:
        try:
            return asyncio.run(judge_at(wire.url, **settings).judge(case, Direct())), wire.seen
        except JudgeError as error:
            return reason_of(error), wire.seen


def cutting(window):
    """Return what a server answers that reads only the first words of a prompt, and counts what it read."""

    def respond(messages, body):
        words = " ".join(text for _, text in messages).split()
        return Answer("[[A]]", usage=(min(len(words), window), 3))

    return respond


def test_a_case_that_cannot_fit_is_refused_before_any_call():
    """The message names the case, both numbers, and what to do."""
    judge = judge_at("http://127.0.0.1:9/v1", context_window=2048)

    with pytest.raises(ConfigError) as caught:
        refuse_unshowable(judge, [SHORT, LONG])

    (said,) = caught.value.problems
    for part in ("case long-7", "at least 3,", "2,048", "context_window", "it is not sent"):
        assert part in said
    assert "short" not in said.replace("shorten", "")


def test_an_edit_that_makes_a_case_too_long_is_refused_where_the_judge_is_to_see_it():
    """A case that fits may not fit with what an edit adds to it."""
    judge = judge_at("http://127.0.0.1:9/v1", context_window=2048)
    refuse_unshowable(judge, [SHORT])

    with pytest.raises(ConfigError, match="case short: its prompt has at least"):
        judge.sees(replace(SHORT, context=(*SHORT.context, Passage("p2", "stray " * 2500))))


def test_an_edit_that_makes_some_cases_too_long_leaves_them_out_and_names_them():
    """The other cases are asked; one reason stands for all that are left out, whatever their lengths."""
    fits, *longer = (
        replace(SHORT, id=case, question=f"Which one of {case}?", context=(Passage("p1", "word " * words),), better="a")
        for case, words in (("fits", 100), ("full-1", 900), ("full-2", 901))
    )
    judge = judge_at("http://127.0.0.1:9/v1", context_window=2500)
    setup = Setup(judge, (fits, *longer), Engine(Store(None, Mode.OFF)), memo=Memo())
    refuse_unshowable(judge, setup.cases)

    found = pair_up(setup, add_many_passages(2000), None)

    assert [pair.source.id for pair in found.pairs] == ["fits"]
    assert found.excluded == {because(Kind.EDIT_TOO_LONG, "local", 2500, "full-1", "full-2"): 2}
    assert str(next(iter(found.excluded))).endswith("than the context of 'local' has tokens (2,500): full-1, full-2")


def test_a_model_whose_window_nobody_knows_is_asked():
    """Then it is the server that has to say so."""
    refuse_unshowable(judge_at("http://127.0.0.1:9/v1"), [LONG])
    found, seen = asked(cutting(10**6), LONG)

    assert len(seen) == 1
    assert found == Preferred("a")


def test_a_known_model_needs_no_key_for_its_window():
    """The table of prices has it."""
    judge = judge_at("http://127.0.0.1:9/v1", served_as="gpt-4o-mini")

    with pytest.raises(ConfigError, match="128,000"):
        refuse_unshowable(judge, [replace(LONG, context=(Passage("p1", "word " * 130_000),))])


def test_nothing_is_sent_of_a_prompt_that_cannot_fit():
    """Also where nobody looked at the case before."""
    found, seen = asked(cutting(2048), LONG, context_window=2048)

    assert found.kind is Kind.PROMPT_TOO_LONG
    assert seen == []


def test_a_silent_cut_is_found_by_what_the_server_counted():
    """A verdict on a part of a prompt is not taken, and the reason names the case and the remedy."""
    found, _ = asked(cutting(2048), LONG)

    assert found.kind is Kind.PROMPT_CUT
    assert "case long-7: the server read 2,048 tokens of a prompt that has at least 3," in str(found)
    assert "num_ctx" in str(found)


def test_a_prompt_that_was_read_as_a_whole_has_its_verdict():
    """The same server, with a prompt that it holds."""
    found, _ = asked(cutting(2048), SHORT)

    assert found == Preferred("a")


def test_what_the_server_refuses_names_the_case():
    """The code of OpenAI; the server's own words stand in the reason."""
    refusal = Answer(status=400, code="context_length_exceeded", message="It has 3100 tokens, and the most is 2048.")

    found, _ = asked(lambda *_: refusal, LONG)

    assert found.kind is Kind.PROMPT_REFUSED
    for part in ("case long-7", "It has 3100 tokens", "nothing of it was cut"):
        assert part in str(found)


def test_a_run_on_a_case_that_cannot_fit_ends_before_the_first_call(tmp_path):
    """Exit status 4, the case by its name, no call."""
    rows = [
        {
            "id": case.id,
            "question": case.question,
            "better": "a",
            "answers": [{"id": a.id, "text": a.text} for a in case.answers],
            "context": [p.content() for p in case.context],
        }
        for case in (SHORT, LONG)
    ]
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with wire_server(cutting(2048)) as wire:
        (tmp_path / "judge.toml").write_text(
            '[judge]\nname = "local"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "local"\n'
            f'base_url = "{wire.url}"\ncontext_window = 2048\n'
        )
        gate = run_gate("judge.toml", tmp_path, "--calm-cases=cases.jsonl")

    assert gate.status == 4, gate.output
    assert "case long-7: its prompt has at least 3," in gate.output
    assert wire.seen == []


def test_a_run_leaves_out_a_case_that_an_edit_makes_too_long(tmp_path):
    """No test crashes, what fits is asked, and the reason of the one left out names its case."""
    words = {"fits": 100, "full-1": 900}
    rows = [
        {
            "id": case,
            "question": f"Which one of {case}?",
            "better": "a",
            "answers": [{"id": a.id, "text": a.text} for a in SHORT.answers],
            "context": ["word " * count],
        }
        for case, count in words.items()
    ]
    (tmp_path / "cases.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    with wire_server(lambda *_: Answer("[[A]]")) as wire:
        (tmp_path / "judge.toml").write_text(
            '[judge]\nname = "local"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "local"\n'
            f'base_url = "{wire.url}"\ncontext_window = 2500\n'
        )
        gate = run_gate("judge.toml", tmp_path, "--calm-cases=cases.jsonl", "-k", "add_many_passages")
        longest = max(sum(len(text.split()) for _, text in one.messages) for one in wire.seen)

    assert "crashed" not in gate.output, gate.output
    assert "full-1" in gate.output + json.dumps(gate.results), gate.output
    assert 1500 < longest < 2600
