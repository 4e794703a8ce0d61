"""From recorded verdicts to comparisons: what is compared, in which order, and what is refused."""

import json
from dataclasses import replace

import pytest

from calm import Preferred, Score, Tie
from calm.cases import read_cases
from calm.core.verdict import Criteria, Scale, Unreadable
from calm.errors import ConfigError
from calm.experiment.crossing import CrossResult, Judgment, Member, arrange
from calm.plugins.self_preference import record as recording
from calm.plugins.self_preference.tables import tables_of
from calm.plugins.uda import reading
from calm.plugins.uda.comparisons import HashedWords
from calm.plugins.uda.reading import read
from calm.results.audit import read as audit_read
from calm.results.audit import write as audit_write
from tests.reports.planted_audit import sample

AUTHORS = ("x-1", "y-1", "z-1")
EMBED = HashedWords(8)


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Two questions, answered by three models, as `calm answer` writes them."""
    path = tmp_path_factory.mktemp("bridge") / "answers.jsonl"
    return write(path)


def write(path, **more):
    """Write two questions with three answers each."""
    rows = [
        {
            "id": f"q{q}",
            "question": f"question {q}",
            "answers": [{"id": f"a{i}", "text": f"{who} on {q}", "author": who} for i, who in enumerate(AUTHORS)],
            **more,
        }
        for q in range(2)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


def record(folder, answers, task, said, **more):
    """Write a record of `calm self-preference` of judges x-1 and critic; `said(judge, case)` is a verdict."""
    members = [Member(name, task, Scale(0, 1), "f") for name in ("x-1", "critic")]
    families = {name: name for name in (*AUTHORS, "critic")}
    asked = arrange([replace(m, family=m.model) for m in members], read_cases(answers, task=task), families=families)
    judged = tuple(Judgment(m.model, case, said(m.model, case)) for case in asked.cases for m in members)
    crossed = CrossResult(asked, judged)
    tables = tables_of(crossed)
    body = recording.record(tables.report(0), tables, crossed, 0) | more
    path = folder / "own.json"
    path.write_text(json.dumps(body))
    return path


def rows(data):
    """Return the comparisons as tuples of names and shares."""
    columns = zip(data.judge, data.first, data.second, data.share.tolist(), strict=True)
    return [(data.judges[j], data.models[a], data.models[b], share) for j, a, b, share in columns]


def by_name(judge, case):
    """Prefer the author first in the alphabet; the critic calls a tie between y-1 and z-1."""
    first = min(case.shown, key=lambda answer: answer.author)
    return Tie() if judge == "critic" and first.author == "y-1" else Preferred(first.id)


def test_pairs_give_a_comparison_for_each_order(tmp_path, answers):
    """Both orders, winners and ties, in the order of the cases; own answers and questions are known by their texts."""
    data, unread = read([record(tmp_path, answers, "pairwise", by_name)], answers, EMBED, extra=("instruction",))

    told = rows(data)
    assert unread == 0
    assert len(told) == 2 * 2 * 6
    assert told[:4] == [
        ("x-1", "x-1", "y-1", 1),
        ("x-1", "y-1", "x-1", 0),
        ("x-1", "x-1", "z-1", 1),
        ("x-1", "z-1", "x-1", 0),
    ]
    assert [share for judge, a, b, share in told if judge == "critic" and {a, b} == {"y-1", "z-1"}] == [0.5] * 4
    assert [data.own[i] >= 0 for i in range(24)] == [judge == "x-1" for judge, *_ in told]
    first = EMBED(["x-1 on 0", "y-1 on 0", "question 0"]).tolist()
    assert [data.embeddings[data.one[0]].tolist(), data.embeddings[data.two[0]].tolist()] == first[:2]
    assert data.embeddings[data.asked[0]].tolist() == first[2]


def test_scores_give_the_higher_one_the_comparison(tmp_path, answers):
    """One comparison for each two answers to a question; equal scores tie; what cannot be read is counted."""
    scores = {"x-1": 0.2, "y-1": 0.9, "z-1": 0.9}

    def said(judge, case):
        author = case.answers[0].author
        return Unreadable("?") if (judge, author) == ("critic", "z-1") else Score(scores[author])

    data, unread = read([record(tmp_path, answers, "score", said)], answers, EMBED)

    once = [("x-1", "y-1", 0.0), ("x-1", "z-1", 0.0), ("y-1", "z-1", 0.5)]
    assert rows(data) == [*(("x-1", *one) for one in once * 2), *[("critic", "x-1", "y-1", 0.0)] * 2]
    assert unread == 2


def test_log_perplexities_of_the_record_are_read(tmp_path, answers):
    """By judge, item and author: those of both answers and of the judge's own; NaN where there is none."""
    known = {"x-1": {"q0": {"x-1": 1.0, "y-1": 2.5, "z-1": 3.0}}}
    path = record(tmp_path, answers, "pairwise", by_name, log_perplexities=known)

    data, _ = read([path], answers, EMBED)

    assert data.surprise[0].tolist() == [1.0, 2.5, 1.0]
    assert data.surprise[1].tolist() == [2.5, 1.0, 1.0]
    assert str(data.surprise[-1].tolist()) == "[nan, nan, nan]"


def gate(folder, judge, codes):
    """Write the results of a gate run that asked about the pairs of q0 in the order a1, a0 and so on."""
    audit = sample()
    trial = next(row for finding in audit.findings for row in finding.trials)
    trials = tuple(
        replace(trial, case=f"q0~{n}", clean=tuple(said), order=tuple(reversed(order)))
        for n, (said, order) in enumerate(zip(codes, (("a0", "a1"), ("a0", "a2"), ("a1", "a2")), strict=True), start=1)
    )
    findings = (replace(audit.findings[0], trials=trials),)
    path = folder / f"{judge}.json"
    named = replace(audit.judge, name=judge, model=None, task="pairwise")
    audit_write(replace(audit, judge=named, findings=findings, texts=()), path)
    return path


def test_clean_asks_of_gate_runs_are_compared(tmp_path, answers):
    """The mean of a case's clean asks, in the order that they showed; one judge for each file."""
    one = gate(tmp_path, "x-1", [["a0", "a0"], ["a0", "a2"], ["!unreadable", "!unreadable"]])
    two = gate(tmp_path, "critic", [["tie", "a1"], ["a2", "a2"], ["a1", "!refused"]])

    data, unread = read([one, two], answers, EMBED)

    assert unread == 1
    assert rows(data) == [
        ("x-1", "y-1", "x-1", 0.0),
        ("x-1", "z-1", "x-1", 0.5),
        ("critic", "y-1", "x-1", 0.75),
        ("critic", "z-1", "x-1", 1.0),
        ("critic", "z-1", "y-1", 0.0),
    ]


def test_what_a_gate_run_asked_for_self_preference_is_left_out(tmp_path, answers):
    """Its rows are about pairs in both orders, which calm arranged; the other rows are compared as before."""
    path = gate(tmp_path, "x-1", [["a0", "a0"], ["a0", "a2"], ["a1", "a1"]])
    without, _ = read([path], answers, EMBED)
    found = audit_read(path)
    rows_of_pairs = tuple(replace(row, case=f"{row.case}a") for row in found.findings[0].trials)
    crossed = replace(found.findings[0], measure="self_preference_excess", trials=rows_of_pairs)
    audit_write(replace(found, findings=(crossed, *found.findings)), path)

    data, _ = read([path], answers, EMBED)

    assert rows(data) == rows(without)


def test_what_does_not_fit_is_told_with_its_fix(tmp_path, answers):
    """No cases, cases without authors, other cases, the same judge twice, and another record."""
    own = record(tmp_path, answers, "pairwise", by_name)
    bare = tmp_path / "bare.jsonl"
    bare.write_text(answers.read_text().replace('"author"', '"note"').replace('"note"', '"author_x"'))
    bare.write_text(
        json.dumps({"id": "q0", "question": "?", "answers": [{"id": "a", "text": "1"}, {"id": "b", "text": "2"}]})
    )
    other = tmp_path / "other.jsonl"
    other.write_text(answers.read_text().replace(" on 0", " about 0"))
    watch = tmp_path / "watch.json"
    watch.write_text('{"schema": "calm-watch/1"}')

    for files, given, told in (
        ([own], None, "--answers: expected the cases that the judges were asked about"),
        ([own], bare, "without authors there is no model to rate; let models answer with `calm answer`"),
        ([own], other, "got no case with the texts of 6 of 12; give the file that the judges were asked about"),
        ([own, gate(tmp_path, "x-1", [["tie"]] * 3)], answers, "expected judges that differ, got 'x-1' again"),
        ([watch], answers, "expected comparisons, a record of `calm self-preference` or the results of a run"),
    ):
        with pytest.raises(ConfigError, match=told.replace("(", r"\(")):
            read(files, given, EMBED)


def test_criteria_count_by_their_points(tmp_path):
    """An answer with more of the points that are met wins; a verdict with an unread criterion is left out."""
    criteria = [{"id": "c1", "text": "short", "points": 1}, {"id": "c2", "text": "right", "points": 3}]
    path = write(tmp_path / "rubric.jsonl", criteria=criteria)
    met = {"x-1": {"c1": True, "c2": False}, "y-1": {"c1": False, "c2": True}, "z-1": {"c1": True, "c2": None}}

    data, unread = read(
        [record(tmp_path, path, "rubric-all", lambda judge, case: Criteria(met[case.answers[0].author]))], path, EMBED
    )

    assert rows(data) == [("x-1", "x-1", "y-1", 0.0)] * 2 + [("critic", "x-1", "y-1", 0.0)] * 2
    assert unread == 4


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("r.json", '{"schema": "calm-self-preference/1", "judged": [', "got damaged JSON"),
        ("r.json", '{\n "schema": "calm-results/1",\n "fin', "got damaged JSON"),
        ("r.txt", '{\n "schema": "calm-results/1",\n "fin', "got damaged JSON"),
        ("r.json", " ", "got an empty file"),
        ("r.txt", '{\n "schema": "calm-hunt/1"\n}', "got schema='calm-hunt/1'"),
        ("r.json", '{\n "a": 1\n}', "got schema=None"),
    ],
)
def test_a_damaged_file_is_named_once_whatever_its_name(tmp_path, name, text, told):
    """One message, about the file and not about the answers."""
    path, cases = tmp_path / name, tmp_path / "pairs.jsonl"
    path.write_text(text)
    cases.write_text('{"id": "x"}\n' * 3)

    with pytest.raises(ConfigError, match=told) as raised:
        reading.read([path], cases, None)

    assert len(raised.value.problems) == 1
    assert raised.value.problems[0].startswith(str(path))


def test_a_record_is_told_by_what_it_holds(tmp_path):
    """A record named .txt is one; comparisons named .json are none; one file under two names is refused."""
    record, lines = tmp_path / "r.txt", tmp_path / "lines.json"
    record.write_text('{"schema": "calm-results/1"}')
    lines.write_text('{"prompt": "p"}\n{"prompt": "q"}\n')

    assert reading.record_in(record) == {"schema": "calm-results/1"}
    assert reading.record_in(lines) is None
    twice = [record, tmp_path / "x" / ".." / "r.txt"]
    with pytest.raises(ConfigError, match="expected files that differ, got"):
        reading.read(twice, None, None)
