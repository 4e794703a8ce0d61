"""Searches of a hunt in which a model writes: what they propose, what they cost, and how they end."""

from collections import Counter
from pathlib import Path

import pytest

from calm.cases import bundled
from calm.core.case import digest
from calm.engine.engine import Engine
from calm.engine.money import Caps
from calm.engine.store import Mode, Store
from calm.errors import ConfigError
from calm.experiment.setup import Setup
from calm.judges.python import PythonJudge
from calm.studies.hunt import PLACES, WRITING, Bounds, Writings, hunt, proposer_for, to_json, writers_for
from calm.studies.hunt.writers import BRANCHES, DEPTH, UNUSABLE, WIDTH
from calm.studies.writing.writerfile import read_writer
from tests.commands.test_attack import answer_in
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
    """
    A server that opens a draft, or else the answer, with a phrase; it notes what it was told.

    Each prompt has a first phrase of its own; where it comes again, the phrases follow one another.
    """

    def __init__(self, phrases=PHRASES):
        self.phrases, self.given, self.told = phrases, Counter(), []

    def __call__(self, messages, body):
        """Return a rewrite."""
        answer, draft, said = answer_in(messages)
        self.told.append((answer, draft, said))
        key = digest(*answer_in(messages))
        number, self.given[key] = self.given[key], self.given[key] + 1
        phrase = self.phrases[(int(key[:8], 16) + number) % len(self.phrases)]
        return f"<rewrite>{phrase}{draft or answer}</rewrite>"


def writer_of(folder, server):
    """Return the writer on a server."""
    path = Path(folder) / "writer.toml"
    path.write_text(
        f'[writer]\nname = "scribe"\n[model]\nprovider = "openai"\nmodel = "scribe-1"\nbase_url = "{server.url}"\n'
        "price_usd_per_mtok = { input = 1.0, output = 2.0 }\n",
        "utf-8",
    )
    return read_writer(path, {})


def hunted(folder, server, search, word, asks=100, caps=None, cache=False):
    """Return the result of a hunt, its record, what was written, and the ledger's count of calls."""
    store = Store(Path(folder) / "cache.sqlite", Mode.ON) if cache else Store(None, Mode.OFF)
    engine = Engine(store, caps=caps or Caps(), first_wait_s=0.001)
    try:
        setup, writings = Setup(PythonJudge(Liking(word)), CASES, engine, 3), Writings()
        writers = writers_for(writer_of(folder, server), setup, writings)
        proposer = proposer_for(search, (), PLACES["answer"], setup, writers)
        bounds = Bounds(asks=asks, findings=1)
        found = hunt(setup, PLACES["answer"], proposer, (), bounds)
        return found, to_json({"answer": found}, setup, bounds, search), writings, dict(engine.ledger.calls)
    finally:
        engine.close()


@pytest.mark.parametrize("search", WRITING)
def test_the_word_of_a_writer_that_flips_the_judge_is_found_and_shrunk(tmp_path, search):
    """Of a rewrite the one word stays that the judge likes, confirmed by fresh asks; the writer's calls are no asks."""
    with wire_server(Scribe()) as server:
        found, record, writings, _ = hunted(tmp_path, server, search, "Certainly", asks=300)

    assert [one.words for one in found.confirmed] == [("Certainly",)]
    assert record["findings"][0]["found_by"] == search
    assert found.asks <= 300
    assert writings.written == len(server.judged)


@pytest.mark.parametrize("search", WRITING)
def test_the_same_seed_gives_the_same_record_and_writes_nothing_again(tmp_path, search):
    """A hunt that is repeated finds all in the cache, the writer's texts as well."""
    with wire_server(Scribe()) as server:
        _, first, written, _ = hunted(tmp_path, server, search, "Certainly", cache=True)
        before = len(server.judged)
        _, again, rewritten, calls = hunted(tmp_path, server, search, "Certainly", cache=True)

        assert len(server.judged) == before > 0
    assert again == first
    assert rewritten == written
    assert calls["made"] == 1  # the greeting


def test_a_best_of_shows_the_writer_no_draft(tmp_path):
    """Each of its texts begins with the answer itself."""
    scribe = Scribe()
    with wire_server(scribe) as server:
        hunted(tmp_path, server, "best-of", "no such word")

    assert {(draft, said) for _, draft, said in scribe.told} == {("", "")}


def test_a_hill_climb_goes_on_from_its_draft_and_hands_the_verdict_back(tmp_path):
    """Each later prompt holds an earlier rewrite of the same answer, and what the judge said of it."""
    scribe = Scribe()
    with wire_server(scribe) as server:
        hunted(tmp_path, server, "hill-climb", "no such word", asks=40)

    later = [one for one in scribe.told if one[1]]
    assert len(later) > 10
    assert all(draft.endswith(answer) and draft != answer for answer, draft, _ in later)
    assert {said for *_, said in later} == {"the judge preferred the other answer."}
    assert max(sum(draft.count(phrase) for phrase in PHRASES) for _, draft, _ in later) > 2


def test_a_tree_branches_from_each_draft_that_it_keeps_and_keeps_the_best_alone(tmp_path):
    """Its first round has b rewrites of the answer; each later one b rewrites of each of at most w drafts."""
    scribe = Scribe([f"({letter}) " for letter in "abcdefgh"])
    with wire_server(scribe) as server:
        found, *_ = hunted(tmp_path, server, "tree", "no such word", asks=400)

    one = next(answer for answer, *_ in scribe.told)
    told = Counter(draft for answer, draft, _ in scribe.told if answer == one)
    depths = Counter(draft.count("(") - one.count("(") for draft in told if draft)
    assert told.pop("") == BRANCHES
    assert set(told.values()) == {BRANCHES}
    assert depths[1] == BRANCHES
    assert all(count <= WIDTH for count in depths.values())
    assert max(depths) < DEPTH
    assert not found.findings


def test_texts_that_may_not_be_used_cost_no_ask_and_end_the_writing(tmp_path):
    """A writer that changes each number is asked so often for each case, and no more; the judge sees none of it."""
    with wire_server(lambda messages, body: f"<rewrite>{answer_in(messages)[0]} 77 88 99</rewrite>") as server:
        found, _, writings, _ = hunted(tmp_path, server, "best-of", "no such word")

        assert len(server.judged) == UNUSABLE * len(found.quarries)
    assert writings.refused.total() == writings.written == UNUSABLE * len(found.quarries)
    assert sum(quarry.asks for quarry in found.quarries) == 0


def test_equal_texts_are_asked_about_once(tmp_path):
    """A writer that has one text alone costs one ask for each case, and is given up."""
    with wire_server(Scribe(PHRASES[:1])) as server:
        found, _, writings, _ = hunted(tmp_path, server, "best-of", "no such word")

    assert [quarry.asks for quarry in found.quarries] == [1] * len(found.quarries)
    assert set(writings.refused) == {"written before"}


def test_a_writer_that_fails_is_told_and_costs_no_ask(tmp_path):
    """The greeting is answered, no text is: the hunt ends with nothing, and says for how many cases."""
    with wire_server(lambda messages, body: Answer(status=400, message="no such thing")) as server:
        found, _, writings, _ = hunted(tmp_path, server, "hill-climb", "no such word")

    assert not found.findings
    assert sum(quarry.asks for quarry in found.quarries) == 0
    assert writings.written == 0
    assert writings.failed.total() == len(found.quarries) > 0
    assert "failed" in str(writings)


def test_a_cap_counts_the_writers_calls_and_ends_the_hunt(tmp_path):
    """The hunt is incomplete, and says why."""
    with wire_server(Scribe()) as server:
        found, _, writings, calls = hunted(tmp_path, server, "tree", "no such word", asks=400, caps=Caps(calls=30))

    assert calls["made"] == 30
    assert 0 < writings.written < 30
    assert "a cap was reached" in str(found.incomplete)


def test_a_search_by_a_writer_needs_one(tmp_path):
    """The message says which option brings it."""
    engine = Engine(Store(None, Mode.OFF))
    try:
        with pytest.raises(ConfigError, match=r"expected --with WRITER\.toml, got none"):
            proposer_for("tree", (), PLACES["answer"], Setup(PythonJudge(Liking("x")), CASES, engine))
    finally:
        engine.close()


def test_a_writer_is_part_of_the_bandit(tmp_path):
    """Where no edit is allowed to try anything, its texts are what the bandit finds with."""
    with wire_server(Scribe()) as server:
        found, record, _, _ = hunted(tmp_path, server, "bandit", "Certainly", asks=300)

    assert [one.words for one in found.confirmed] == [("Certainly",)]
    assert record["findings"][0]["found_by"] in WRITING
