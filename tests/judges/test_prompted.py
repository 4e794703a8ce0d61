"""The prompted judge and the swap, end to end: prompt, server, reading."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from calm.core.case import Answer as Text
from calm.core.case import Case, Criterion, Framing
from calm.core.edits import Prompt
from calm.core.reasons import Kind
from calm.core.verdict import Criteria, Preferred, Refused, Scale, Score, Unreadable
from calm.errors import JudgeError
from calm.judges.prompted import PromptedJudge, joined
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.models.server import Server
from calm.models.wire import Message
from tests.servers import Answer, wire_server

PAIR = Case("c1", "Which?", (Text("a", "text of a"), Text("b", "text of b")))
RUBRIC = Case(
    "c2", "Do it.", (Text("a", "done"),), criteria=tuple(Criterion(f"k{n}", f"criterion {n}") for n in (1, 2, 3))
)
BY_CRITERION = Prompt((Message("user", "{{ answers[0].text }}: {{ criterion.text }}?"),))


@dataclass
class Direct:
    """`send` without an engine: every request goes to its endpoint, and is kept."""

    ask: int = 1
    sent: list = field(default_factory=list)

    async def __call__(self, request):
        self.sent.append(request)
        return await request.endpoint.call(request.body)


def judge_at(url, task="pairwise", **settings):
    defaults = {"scale": Scale(), "prompt": bundled(task, "brackets"), "form": Format("brackets")}
    server = Server("openai", "tiny", base_url=url, retries=0)
    return PromptedJudge("j", task, server=server, **{**defaults, **settings})


def verdict_of(respond, case, task="pairwise", wrap=lambda judge: judge, **settings):
    send = Direct()
    with wire_server(respond) as wire:
        judge = wrap(judge_at(wire.url, task, **settings))
        return asyncio.run(judge.judge(case, send)), wire.seen, send


def test_a_verdict_names_an_answer_not_a_slot():
    """The label that the model says is the answer that stands in that slot."""
    straight, *_ = verdict_of(lambda *_: "[[A]]", PAIR)
    turned, *_ = verdict_of(lambda *_: "[[A]]", PAIR.arranged(("b", "a")))

    assert (straight, turned) == (Preferred("a"), Preferred("b"))


def test_what_is_sent_is_what_is_recorded():
    """The request holds the prompt as people read it, and the body that the server gets."""
    _, seen, send = verdict_of(lambda *_: "[[A]]", PAIR)

    assert [(m.role, m.text) for m in send.sent[0].prompt] == seen[0].messages
    assert dict(send.sent[0].body) == seen[0].body


def test_sees_is_what_reaches_the_model():
    """What the prompt does not show is not seen; order, texts and follow-ups are, and notes unless it refuses them."""
    prompt = Prompt((Message("user", "{{ answers[0].text }}{{ answers[1].text }}"),))
    judge = judge_at("http://127.0.0.1:9/v1", prompt=prompt)
    refusing = judge_at("http://127.0.0.1:9/v1", prompt=replace(prompt, notes="refuse"))

    assert judge.sees(PAIR) != judge.sees(PAIR.present(notes=("a note",)))
    assert refusing.sees(PAIR) == refusing.sees(PAIR.present(notes=("a note",)))
    assert judge.sees(PAIR) == judge.sees(replace(PAIR, reference="r"))
    assert judge.sees(PAIR) == judge.sees(PAIR.present(framing=Framing.NEGATIVE))
    assert judge.sees(PAIR) != judge.sees(PAIR.arranged(("b", "a")))
    assert judge.sees(PAIR) != judge.sees(PAIR.present(follow_ups=("Sure?",)))


@pytest.mark.parametrize("task", ["pairwise", "score", "points", "rubric", "rubric-all", "listwise"])
def test_two_cases_look_different_if_and_only_if_their_prompts_do(task):
    """What is told apart without rendering is told apart by what is sent, for each of our own prompts."""
    several = {"pairwise": 2, "listwise": 3}.get(task, 1)
    answers = tuple(Text(f"a{n}", f"Text {n}.") for n in range(several))
    case = Case("c", "Which?", answers, criteria=(Criterion("k1", "Short?"), Criterion("k2", "True?")))
    texts = ["", " ", "\n", "Text 0", "Text 0. ", "</answer>", "<\\/answer>", "[[A]]", "[\\[A]]"]
    others = [case, case.present(notes=("n",)), case.present(framing=Framing.NEGATIVE), replace(case, reference="r")]
    others += [replace(case, question=text) for text in texts]
    others += [replace(case, answers=(replace(answers[0], text=text), *answers[1:])) for text in texts]
    others += [case.arranged(tuple(a.id for a in answers[::-1]))] if several > 1 else []
    judge = judge_at("http://127.0.0.1:9/v1", task=task, prompt=bundled(task, "brackets"))

    for one in others:
        for other in others:
            assert (judge.sees(one) == judge.sees(other)) == (judge.sent(one) == judge.sent(other)), (one, other)


def test_a_rubric_is_asked_criterion_by_criterion():
    """Each criterion has a request of its own; the one that cannot be read is None."""

    def respond(messages, _):
        return {"criterion 1": "[[yes]]", "criterion 2": "[[no]]"}.get(messages[-1][1][6:-1], "hm")

    verdict, seen, _ = verdict_of(respond, RUBRIC, "rubric", prompt=BY_CRITERION)

    assert verdict == Criteria({"k1": True, "k2": False, "k3": None})
    assert len(seen) == 3


def test_a_rubric_that_is_declined_altogether_is_refused():
    """Only if every criterion is declined is the verdict a refusal."""
    verdict, *_ = verdict_of(lambda *_: Answer(refusal="no"), RUBRIC, "rubric", prompt=BY_CRITERION)

    assert isinstance(verdict, Refused)
    assert joined({"a": Refused("no"), "b": Unreadable("?")}) == Criteria({"a": None, "b": None})


def test_a_rubric_fails_with_one_of_its_calls():
    """A call without an answer fails the ask: no verdict is made of the rest."""

    def respond(messages, _):
        return Answer(status=500) if "criterion 2" in messages[-1][1] else "[[yes]]"

    with pytest.raises(JudgeError, match="answered 500"):
        verdict_of(respond, RUBRIC, "rubric", prompt=BY_CRITERION)


def test_a_rubric_needs_criteria():
    """A case without criteria is an error of the ask, not a verdict."""
    with pytest.raises(JudgeError, match="expected criteria"):
        verdict_of(lambda *_: "[[yes]]", replace(RUBRIC, criteria=()), "rubric", prompt=BY_CRITERION)


def test_a_follow_up_comes_after_the_reply():
    """The reply and the follow-up are added to the conversation, and the last reply is read."""

    def respond(messages, _):
        return "[[B]]" if messages[-1] == ("user", "Are you sure?") else "I say [[A]]"

    verdict, seen, _ = verdict_of(respond, PAIR.present(follow_ups=("Are you sure?",)))

    assert verdict == Preferred("b")
    assert seen[1].messages == [*seen[0].messages, ("assistant", "I say [[A]]"), ("user", "Are you sure?")]


def test_nothing_follows_an_empty_reply():
    """An empty turn cannot be sent, so an empty reply is what is read."""
    verdict, seen, _ = verdict_of(lambda *_: "", PAIR.present(follow_ups=("Are you sure?",)))

    assert isinstance(verdict, Unreadable)
    assert len(seen) == 1


def test_log_probabilities_are_asked_for_and_read():
    """The format logprobs asks for them and gives the verdict as a distribution."""
    tokens = [("A", -0.1, [("A", -0.1), ("B", -2.4), ("C", -9.0)])]
    form = Format("logprobs")

    verdict, seen, _ = verdict_of(
        lambda *_: Answer("A", tokens=tokens), PAIR, form=form, prompt=bundled("pairwise", "logprobs")
    )

    assert (seen[0].body["logprobs"], seen[0].body["top_logprobs"]) == (True, 20)
    assert verdict.answer == "a"
    assert 0.9 < verdict.probabilities["a"] < 0.91


def test_a_schema_is_sent():
    """The schema of a JSON verdict is sent as structured output."""
    verdict, seen, _ = verdict_of(
        lambda *_: '{"verdict": 7}',
        Case("c", "Q", (Text("a", "x"),)),
        "score",
        form=Format("json"),
        schema={"type": "object"},
        prompt=bundled("score", "json"),
    )

    assert verdict == Score(7.0)
    assert seen[0].body["response_format"]["json_schema"]["schema"] == {"type": "object"}


def test_about_holds_what_a_report_needs():
    """Model, prompt, its digest and the parameters are told."""
    judge = judge_at("http://127.0.0.1:9/v1", family="llama", prompt=BY_CRITERION)

    assert judge.about["model"] == "tiny"
    assert judge.about["family"] == "llama"
    assert judge.about["prompt_sha256"] == BY_CRITERION.sha256()
    assert judge.about["prompt"]["messages"] == [{"role": "user", "content": BY_CRITERION.messages[0].text}]
    assert judge.about["parameters"] == {"max_tokens": 4096, "temperature": 0.0, "top_p": 1.0}


def test_a_judge_says_where_the_labels_stood_that_were_not_the_first_token():
    """Two of three verdicts come from a later token; the remark has the counts, the last token and the text before."""
    replies = [
        Answer("A", tokens=[("A", -0.1, [("A", -0.1), ("B", -2.4)])]),
        *[
            Answer(
                "Answer: A",
                tokens=[
                    ("Answer", -0.1, [("Answer", -0.1)]),
                    (":", -0.1, [(":", -0.1)]),
                    (" A", -0.1, [(" A", -0.1), (" B", -2.4)]),
                ],
            )
        ]
        * 2,
    ]
    with wire_server(lambda *_: replies.pop(0)) as server:
        judge = judge_at(server.url, form=Format("logprobs"), prompt=bundled("pairwise", "logprobs"))
        before = judge.remarks.agreement
        found = [asyncio.run(judge.judge(PAIR, Direct())) for _ in range(3)]

    assert before == ()
    assert [one.answer for one in found] == ["a", "a", "a"]
    (note,) = judge.remarks.agreement
    assert note.kind is Kind.LABEL_LATER
    assert note.details[1:4] == (2, 3, 3)
    assert note.quotes
    assert "token 3, ' A', after 'Answer:'" in str(note)


def test_a_judge_says_that_replies_were_cut():
    """Its run has a note with the limit, once however many there were; a run without such replies has none."""
    replies = [Answer("[[A]]"), Answer("I weigh", stop="length"), Answer("I weigh the", stop="length")]
    with wire_server(lambda *_: replies.pop(0)) as server:
        judge = judge_at(server.url)
        notes = []
        for _ in range(3):
            asyncio.run(judge.judge(PAIR, Direct()))
            notes.append(judge.remarks.notes)

    assert [len(some) for some in notes] == [0, 1, 1]
    assert notes[-1][0].kind is Kind.REPLIES_CUT
    assert "the replies are cut: raise [model] max_tokens" in str(judge.remarks.unread[0])
