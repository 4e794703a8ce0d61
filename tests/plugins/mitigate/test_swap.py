"""The swap, end to end: prompt, server, reading."""

import pytest

from calm.core.verdict import Preferred, Refused, Tie, Unreadable
from calm.errors import ConfigError
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.plugins.mitigate.asks import swap
from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.test_blind import HARMED, ask, looking
from tests.judges.test_prompted import PAIR, judge_at, verdict_of
from tests.servers import Answer


@pytest.mark.parametrize(
    ("replies", "verdict"),
    [
        (("[[A]]", "[[B]]"), Preferred("a")),
        (("[[B]]", "[[A]]"), Preferred("b")),
        (("[[A]]", "[[A]]"), Tie()),
        (("[[C]]", "[[C]]"), Tie()),
        (("[[A]]", "[[C]]"), Tie()),
    ],
)
def test_a_swapped_judge_prefers_what_both_orders_prefer(replies, verdict):
    """The two orders must agree on the answer, else it is a tie."""

    def respond(messages, _):
        text = messages[-1][1]
        return replies[text.index("text of a") > text.index("text of b")]

    found, seen, _ = verdict_of(respond, PAIR, wrap=swap)

    assert found == verdict
    assert len(seen) == 2


@pytest.mark.parametrize(("reply", "kind"), [("hm", Unreadable), (Answer(refusal="no"), Refused)])
def test_a_swapped_judge_needs_both_verdicts(reply, kind):
    """If one order gives no verdict, there is none."""

    def respond(messages, _):
        text = messages[-1][1]
        return reply if text.index("text of a") > text.index("text of b") else "[[A]]"

    found, *_ = verdict_of(respond, PAIR, wrap=swap)

    assert isinstance(found, kind)


def test_a_swapped_judge_gives_the_mean_probabilities():
    """Probabilities of the two orders are averaged."""

    def respond(*_):
        return Answer("A", tokens=[("A", -0.1, [("A", -0.1), ("B", -2.4)])])

    found, *_ = verdict_of(respond, PAIR, wrap=swap, form=Format("logprobs"), prompt=bundled("pairwise", "logprobs"))

    assert isinstance(found, Tie)
    assert found.probabilities == pytest.approx({"a": 0.5, "b": 0.5, "tie": 0.0})


def test_a_swapped_judge_is_a_judge_of_its_own():
    """Name, task, scale and models are those of the judge inside; the fingerprint is not."""
    inner = judge_at("http://127.0.0.1:9/v1")
    outer = mitigated(inner, ("swap",))

    assert (outer.name, outer.task, outer.scale, outer.endpoints) == (
        inner.name,
        inner.task,
        inner.scale,
        inner.endpoints,
    )
    assert outer.fingerprint not in {None, inner.fingerprint}
    assert outer.about["mitigations"] == ["swap"]
    assert outer.sees(PAIR) == (inner.sees(PAIR), inner.sees(PAIR.arranged(("b", "a"))))


def test_unknown_mitigations_and_other_tasks_are_errors():
    """The error names what is known, and what the mitigation is for."""
    with pytest.raises(ConfigError, match="did you mean 'swap'"):
        mitigated(judge_at("http://127.0.0.1:9/v1"), ("swpa",))
    with pytest.raises(ConfigError, match="task = 'pairwise'"):
        swap(judge_at("http://127.0.0.1:9/v1", "score"))


def test_a_harmed_copy_is_called_like_any_answer():
    """The `~` of its id reaches no judge behind mitigations."""
    one, other, seen = looking()

    for judge in (one, other):
        ask(mitigated(judge, ["swap"]), HARMED)

    assert set(map(tuple, seen)) == {("A", "B")}
    assert len(seen) == 4
