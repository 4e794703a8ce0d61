"""A model that writes in a search: what it proposes, what that costs, and how it ends."""

from collections import Counter
from pathlib import Path

from calm.cases import bundled
from calm.core.case import digest
from calm.engine.engine import Engine
from calm.engine.money import Caps
from calm.engine.store import Mode, Store
from calm.experiment.setup import Setup
from calm.judges.python import PythonJudge
from calm.plugins.search.findings import to_json
from calm.plugins.search.hunt import hunt
from calm.plugins.search.proposers import AHEAD, UNUSABLE, BestOf, bandit_for
from calm.plugins.search.subjects import PLACES, Bounds
from calm.plugins.search.writer import read_writer
from tests.plugins.search.test_attack import answer_in, writer_file
from tests.servers import Answer, wire_server

CASES = tuple(bundled("pairwise")[:40])
PHRASES = (
    "Put clearly: ",
    "In plain words: ",
    "To be of help: ",
    "Certainly, as follows: ",
    "In short: ",
    "Here it is: ",
)


class Liking:
    """A judge that prefers the one answer with some word in it, and else the better one."""

    task, quick, reads = "pairwise", True, ("question", "answers", "better")

    def __init__(self, word):
        self.word, self.fingerprint, self.name = word, f"liking-{word}", "liking"

    def __call__(self, case):
        """Return the id of the answer that it prefers."""
        liked = [answer.id for answer in case.answers if self.word in answer.text]
        return liked[0] if len(liked) == 1 else case.better


class Scribe:
    """A server that opens the answer with a phrase; each answer has a first one, and then the others in turn."""

    def __init__(self, phrases=PHRASES):
        self.phrases, self.given = phrases, Counter()

    def __call__(self, messages, body):
        """Return a rewrite."""
        answer = answer_in(messages)
        number, self.given[answer] = self.given[answer], self.given[answer] + 1
        phrase = self.phrases[(int(digest(answer)[:8], 16) + number) % len(self.phrases)]
        return f"<rewrite>{phrase}{answer}</rewrite>"


def hunted(folder, server, word, asks=100, caps=None, cache=False):
    """Return the result of a hunt without edits, its record, the writer, and the ledger's count of calls."""
    store = Store(Path(folder) / "cache.sqlite", Mode.ON) if cache else Store(None, Mode.OFF)
    engine = Engine(store, caps=caps or Caps(), first_wait_s=0.001)
    try:
        setup, bounds = Setup(PythonJudge(Liking(word)), CASES, engine, 3), Bounds(asks=asks, findings=1)
        writer = BestOf(read_writer(writer_file(Path(folder), server), {}), setup)
        found = hunt(setup, PLACES["answer"], bandit_for((), PLACES["answer"], setup, writer), bounds)
        return found, to_json({"answer": found}, setup, bounds), writer, dict(engine.ledger.calls)
    finally:
        engine.close()


def test_the_word_of_a_writer_that_flips_the_judge_is_found_and_shrunk(tmp_path):
    """Of a rewrite the one word stays that the judge likes, confirmed by fresh asks; the writer's calls are no asks."""
    with wire_server(Scribe()) as server:
        found, record, writer, _ = hunted(tmp_path, server, "Certainly", asks=300)

    assert [one.words for one in found.confirmed] == [("Certainly",)]
    assert record["findings"][0]["found_by"] == "best-of"
    assert found.asks <= 300
    assert writer.written == len(server.judged)


def test_the_same_seed_gives_the_same_record_and_writes_nothing_again(tmp_path):
    """A hunt that is repeated finds all in the cache, the writer's texts as well."""
    with wire_server(Scribe()) as server:
        _, first, writer, _ = hunted(tmp_path, server, "Certainly", cache=True)
        before = len(server.judged)
        _, again, other, calls = hunted(tmp_path, server, "Certainly", cache=True)

        assert len(server.judged) == before > 0
    assert again == first
    assert other.to_json() == writer.to_json()
    assert calls["made"] == 1  # the greeting


def test_texts_that_may_not_be_used_cost_no_ask_and_end_the_writing(tmp_path):
    """A writer that changes each number is asked so often for each case, and no more; the judge sees none of it."""
    with wire_server(lambda messages, body: f"<rewrite>{answer_in(messages)} 77 88 99</rewrite>") as server:
        found, _, writer, _ = hunted(tmp_path, server, "no such word")

        assert len(server.judged) == UNUSABLE * len(found.subjects)
    assert writer.refused.total() == writer.written == UNUSABLE * len(found.subjects)
    assert sum(subject.asks for subject in found.subjects) == 0


def test_equal_texts_are_asked_about_once(tmp_path):
    """A writer that has one text alone costs one ask for each case, and is given up."""
    with wire_server(Scribe(PHRASES[:1])) as server:
        found, _, writer, _ = hunted(tmp_path, server, "no such word")

    assert [subject.asks for subject in found.subjects] == [1] * len(found.subjects)
    assert set(writer.refused) == {"written before"}


def test_a_writer_that_fails_is_told_and_costs_no_ask(tmp_path):
    """The greeting is answered, no text is: the hunt ends with nothing, and says for how many cases."""
    with wire_server(lambda messages, body: Answer(status=400, message="no such thing")) as server:
        found, _, writer, _ = hunted(tmp_path, server, "no such word")

    assert not found.findings
    assert sum(subject.asks for subject in found.subjects) == 0
    assert writer.written == 0
    assert writer.failed.total() == AHEAD * len(found.subjects) > 0
    assert "failed" in str(writer)


def test_a_cap_counts_the_writers_calls_and_ends_the_hunt(tmp_path):
    """The hunt is incomplete, and says why."""
    with wire_server(Scribe()) as server:
        found, _, writer, calls = hunted(tmp_path, server, "no such word", asks=400, caps=Caps(calls=30))

    assert calls["made"] == 30
    assert 0 < writer.written < 30
    assert "a cap was reached" in str(found.incomplete)
