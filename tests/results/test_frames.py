"""The results of a run as data frames: what each holds, in which kinds, and what a run that hides its texts hides."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy
import pandas as pd
import pyarrow.parquet
import pytest

import calm
from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.core.releases import install
from calm.results.audit import write
from calm.results.baseline import write_baseline
from calm.results.frames import Results
from calm.results.redaction import without_texts
from calm.results.reports.tables import COLUMNS, TABLES, rows
from calm.results.sentences import name_of
from calm.results.steps import troubles, verdict_of
from calm.results.tabular import CASES, FINDINGS, FLIPS
from tests.docs.pages import DOCS, blocks, section
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, sample, trial
from tests.results.test_baseline import biased, sound, ticked

NOTEBOOK = DOCS / "how-to" / "read-results-in-a-notebook.md"
DTYPES = {"string": "string", "bool": "boolean", "int32": "Int32", "int64": "Int64", "double": "float64"}
FRAMES = {table.name: table for table in TABLES}


def scaled(audit):
    """Return an audit of a judge with a scale, as every run writes it."""
    return replace(audit, judge=replace(audit.judge, scale={"low": 1.0, "high": 10.0, "step": None, "best": "high"}))


def loaded(audit, folder, *, texts=True):
    """Return the results of a run that was written and read again."""
    write(scaled(audit), folder / "results.json", texts=texts)
    return calm.load(folder / "results.json")


@pytest.mark.parametrize("name", FRAMES)
@pytest.mark.parametrize("audit", [sample(), biased(), ticked(), empty()], ids=["sample", "biased", "rubric", "empty"])
def test_each_frame_has_its_columns_in_their_kinds(tmp_path, name, audit):
    """Also where there are no rows: whoever filters need not look first."""
    frame = getattr(loaded(audit, tmp_path), name)

    wanted = {column: DTYPES.get(kind, "category") for column, kind in FRAMES[name].columns.items()}
    assert {column: str(dtype) for column, dtype in frame.dtypes.items()} == wanted


def test_the_slot_of_the_winner_is_where_the_judge_saw_it(tmp_path, monkeypatch):
    """A judge that takes the first slot whatever stands there wins nowhere else, under no edit and in no arm."""
    (tmp_path / "firsts.py").write_text(
        "def judge(case):\n    return case.slots[0]\n\njudge.quick, judge.fingerprint = True, 'first-1'\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "firsts", raising=False)
    chosen = "consistency or position or authority or sensitivity or bandwagon"
    assert main(["audit", "firsts:judge", "--sample", "20", "--", "-k", chosen]) == 1

    trials = calm.load("calm-audit").trials
    won = trials[trials["kind"] == "preferred"]
    known = won[won["slot"].notna()]

    assert set(known["slot"]) == {1}
    assert {"clean", "inert", "perturbed", "pilot"} <= set(known["arm"])
    assert {"authority", "position", "consistency"} <= set(known["bias"])
    assert set(won[won["slot"].isna()]["arm"]) <= {"perturbed", "pilot"}  # harmed answers, and pilots of equal ones


def test_the_findings_are_those_of_the_record(tmp_path):
    """A row for each, with its claim and its figures; what was not measured is missing."""
    frame = loaded(sample(), tmp_path).findings.set_index("key")

    gain = frame.loc["authority/gain/rotation"]
    assert (gain["op"], gain["limit"], gain["value"], gain["low"], gain["high"], gain["n"]) == (
        "<=",
        0.10,
        0.31,
        0.256,
        0.366,
        186,
    )
    assert (gain["excluded"], gain["baseline_value"], gain["baseline_outcome"]) == (14, 0.04, "PASS")
    untested = frame.loc["self-authorship/gain/byline_self"]
    assert numpy.isnan(untested["value"])
    assert untested["toward"] is pd.NA
    assert list(frame.index) == [f.key for f in sample().findings]


def test_outcomes_are_in_order_from_the_worst(tmp_path):
    """So they sort and compare as they are read."""
    frame = loaded(sample(), tmp_path).findings

    assert frame["outcome"].min() == "FAIL"
    assert frame["outcome"].max() == "PASS"
    broken = [*sample().of(Outcome.FAIL), *sample().of(Outcome.INCOMPLETE)]
    assert (frame["outcome"] < "UNDECIDED").sum() == len(broken)


def test_the_flips_of_a_claim_are_as_many_as_its_finding_says(tmp_path):
    """Of every claim of runs of real judges, in each direction."""
    for audit in (sound(), biased()):
        results = loaded(audit, tmp_path)
        counted = 0
        for _, one in results.findings.dropna(subset=["toward"]).iterrows():
            mine = results.flips[[one["key"] in keys.split() for keys in results.flips["keys"]]]
            ways = mine["way"].value_counts()
            assert {w: ways.get(w, 0) for w in ("toward", "away", "other")} == {
                w: one[w] for w in ("toward", "away", "other")
            }
            counted += len(mine)
        assert counted > 10


def test_a_flip_has_its_verdicts_and_its_texts(tmp_path):
    """The question, the treated answer before and after, and a reply of each arm, where they were kept."""
    cited = sample().findings[0]
    rows = tuple(replace(t, target="bad") for t in cited.trials)
    results = loaded(replace(sample(), findings=(replace(cited, trials=rows),)), tmp_path)

    first = results.flips.iloc[0]

    assert len(results.flips) == 62
    assert list(first[["case", "edit", "way"]]) == ["fact-000", "cite_book", "toward"]
    assert list(first[["before", "after"]]) == ["good", "bad"]
    assert first["question"] == "At which temperature does water boil on a mountain?"
    assert first["answer_after"].removeprefix(first["answer_before"]).startswith("\n\n(Citation: Harlow")
    assert first["reply_before"] == "The first one is right. [[A]]"
    assert first["reply_after"] == "It gives a source. [[B]]"
    assert results.flips["question"].isna().sum() == 62 - 24


def test_a_case_has_its_label_its_usual_verdict_and_its_flips(tmp_path):
    """One row each; flips under several edits add up."""
    results = loaded(biased(), tmp_path)

    cases = results.cases
    assert cases["case"].is_unique
    assert len(cases) == 200
    assert set(cases["better"]) == {"good"}
    assert cases["flips"].sum() == len(results.flips)
    assert (cases["flips"] == cases["toward"] + cases["away"] + cases["other"]).all()
    assert ((cases["flips"] <= cases["rows"]) & (cases["rows"] > 0)).all()


def test_the_trials_are_those_of_the_other_forms(tmp_path):
    """The same rows as in CSV and Parquet."""
    frame = loaded(biased(), tmp_path).trials

    assert list(frame.columns) == list(COLUMNS)
    told = frame.astype(object).where(frame.notna(), None).to_dict("records")
    assert told == list(rows(biased()))


def test_parquet_holds_the_same_tables(tmp_path, monkeypatch, capsys):
    """`calm report -o results.parquet` writes a file for each frame, and says so."""
    results = loaded(sample(), tmp_path)
    monkeypatch.chdir(tmp_path)

    status = main(["report", "results.json", "-o", "out/results.parquet"])

    assert status == 0
    files = {"trials": "results", **{name: f"results.{name}" for name in ("findings", "cases", "flips")}}
    assert sorted(path.name for path in Path("out").iterdir()) == sorted(f"{stem}.parquet" for stem in files.values())
    for name, stem in files.items():
        table = pyarrow.parquet.read_table(f"out/{stem}.parquet")
        frame = getattr(results, name)
        assert table.schema.metadata[b"form"] == f"calm-{name}/1".encode()
        assert table.to_pylist() == frame.astype(object).where(frame.notna(), None).to_dict("records")
        assert f"wrote out/{stem}.parquet" in capsys.readouterr().out or name != "trials"


def test_no_other_file_makes_way_for_a_table(tmp_path, monkeypatch, capsys):
    """A file of another's beside the trials stays, and then nothing is written."""
    loaded(sample(), tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("t.flips.parquet").write_text("mine")

    assert main(["report", "results.json", "-o", "t.parquet"]) == 4

    assert "t.flips.parquet" in capsys.readouterr().err
    assert Path("t.flips.parquet").read_text() == "mine"
    assert not Path("t.parquet").exists()


def test_a_run_that_hides_its_texts_hides_them_here(tmp_path):
    """No question, answer or reply, whatever lies beside; codes and numbers stay."""
    whole = loaded(sample(), tmp_path)
    write(without_texts(scaled(sample())), tmp_path / "hidden.json", texts=False)

    hidden = calm.load(tmp_path / "hidden.json")

    for name in FRAMES:
        told = getattr(hidden, name).to_csv()
        assert not [word for word in ("temperature", "Handbook", "[[B]]") if word in told]
    assert hidden.flips.drop(columns=list(whole.flips.filter(regex="question|came|went|answer|reply"))).equals(
        whole.flips.drop(columns=list(whole.flips.filter(regex="question|came|went|answer|reply")))
    )


def test_older_records_and_baselines_load_too(tmp_path):
    """A record without inert words, and a run that was accepted."""
    body = json.loads(json.dumps(sound().to_json()))
    body["schema"] = "calm-results/1"
    for row in (row for one in body["findings"] for row in one["trials"]):
        for name in ("inert", "floor", "cluster", "places"):
            del row[name]
    (tmp_path / "older.json").write_text(json.dumps(body))
    write_baseline(sound(), tmp_path / "baseline.json")

    older, accepted = calm.load(tmp_path / "older.json"), calm.load(str(tmp_path / "baseline.json"))

    assert len(older.findings) == len(accepted.findings) == len(sound().findings)
    assert set(older.trials["arm"]) == {"pilot", "clean", "perturbed"} or "inert" not in set(older.trials["arm"])
    assert len(older.flips) == len(accepted.flips) > 0


def test_the_folder_of_an_audit_is_enough(tmp_path):
    """Its results.json is read."""
    loaded(sample(), tmp_path)

    results = calm.load(tmp_path)

    assert results.outcome == "FAIL"
    assert repr(results).startswith("<calm results of support-judge (pairwise): FAIL; findings: 3 FAIL, 1 INCOMPLETE")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (None, "no such file"),
        ("", "an empty file"),
        ('{"schema": "calm-results/2", "fin', "breaks off"),
        ("[]", "names no schema"),
        ('{"schema": "calm-hunt/1"}', "another kind (calm-hunt/1)"),
        ("\x00\xff", "not in UTF-8"),
    ],
    ids=["none", "empty", "cut", "list", "hunt", "bytes"],
)
def test_what_is_no_record_is_refused(tmp_path, text, told):
    """By the message of all commands, which names the file."""
    if text is not None:
        (tmp_path / "r.json").write_text(text, "latin-1")

    with pytest.raises(calm.ConfigError, match=r"r\.json") as refused:
        calm.load(tmp_path / "r.json")

    assert told in str(refused.value)


def test_an_edited_record_is_refused(tmp_path):
    """The digest does not fit."""
    loaded(sample(), tmp_path)
    path = tmp_path / "results.json"
    path.write_text(path.read_text("utf-8").replace("0.31,", "0.01,"), "utf-8")

    with pytest.raises(calm.ConfigError, match=r"results\.json"):
        calm.load(path)


def test_any_text_is_taken(tmp_path, subtests):
    """Half a character becomes an escape; nothing is a formula or a number here."""
    for text in ("\ud83d half", "=1+1", "a\x00b\u202e", "007"):
        with subtests.test(text=text):
            frame = loaded(hostile_audit(text), tmp_path).trials

            assert frame["edit"][0] == text.encode("utf-8", "backslashreplace").decode()


def test_a_judge_of_an_unknown_task_has_no_flips(tmp_path):
    """What calm cannot measure it does not guess; the rest is shown."""
    one = finding(task="telepathy", trials=(trial("c1", ["good"] * 2, ["bad"], hash="h"),))

    results = loaded(empty(findings=(one,)), tmp_path)

    assert (len(results.findings), len(results.trials), len(results.flips)) == (1, 3, 0)


def test_plots_show_each_claim_and_each_bias(tmp_path):
    """A row for each claim with an interval, the worst on top, in axes of one's own or new ones."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    results = loaded(sample(), tmp_path)

    axes = results.plot.intervals()
    names = [label.get_text() for label in axes.get_yticklabels()]
    _, mine = pyplot.subplots()
    alone = results.plot.intervals(bias="verbosity", ax=mine)
    bars = results.plot.flips()

    with_interval = [f.key for f in sample().findings if f.claim and f.value is not None]
    assert sorted(names) == sorted(with_interval)
    assert names[-1].startswith(("authority", "position"))
    assert alone is mine
    assert [label.get_text() for label in alone.get_yticklabels()] == ["verbosity/gain/pad"]
    assert [label.get_text() for label in bars.get_yticklabels()] == ["authority"]
    assert sum(bar.get_width() for bar in bars.patches) == len(results.flips)
    for one in (axes, mine, bars):
        one.figure.canvas.draw()
    pyplot.close("all")


def test_a_plot_of_nothing_says_what_there_is(tmp_path):
    """A bias that was not measured, and a run that measured nothing."""
    with pytest.raises(calm.ConfigError, match=r"measured \(authority, .*\), got bias='autority'"):
        loaded(sample(), tmp_path).plot.intervals(bias="autority")
    with pytest.raises(calm.ConfigError, match=r"measured \(none\), got bias=None"):
        loaded(empty(), tmp_path).plot.intervals()


def test_a_plot_takes_no_name_for_a_formula(tmp_path):
    """Dollars and control characters are texts; a long name is cut."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    named = replace(sample().findings[0], key=f"a$\\frac{{$/\x1b[31m{'x' * 99}")
    axes = loaded(replace(sample(), findings=(named,)), tmp_path).plot.intervals()

    axes.figure.canvas.draw()

    assert len(axes.get_yticklabels()[0].get_text()) <= 60
    pyplot.close("all")


def test_without_matplotlib_the_extra_is_named(tmp_path, monkeypatch):
    """The error says what to install; frames need none."""
    results = loaded(sample(), tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(calm.ConfigError, match=re.escape(install("plots"))):
        results.plot.flips()


def test_loading_costs_nothing_before_a_frame_is_asked_for(tmp_path):
    """Neither the import nor the reading loads pandas, and no frame loads matplotlib."""
    loaded(sample(), tmp_path)
    script = (
        "import sys, calm; results = calm.load('results.json'); before = 'pandas' in sys.modules; results.findings; "
        "print(before, 'pandas' in sys.modules, 'matplotlib' in sys.modules)"
    )

    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)

    assert run.stdout.split() == ["False", "True", "False"]


# the card of a notebook


def test_the_card_has_the_verdict_what_is_wrong_and_what_is_next(tmp_path):
    """Each bias that is not proven has a line, as HTML and as Markdown."""
    results = loaded(sample(), tmp_path)
    word = verdict_of(sample(), green=False)[0]

    for shown in (results._repr_html_(), results._repr_markdown_()):
        assert word in shown
        assert [shown.count(name_of(one.bias)) > 0 for one in troubles(sample())] == [True] * len(troubles(sample()))
        assert "Next: " in shown


def test_a_green_card_offers_the_baseline(tmp_path):
    """Its command names the file that was loaded."""
    results = loaded(empty(findings=(finding(),)), tmp_path)

    assert f"calm accept {tmp_path / 'results.json'}" in results._repr_html_()


def test_hostile_texts_do_nothing_on_a_card(subtests):
    """No tag but the card's own, no link, no request, and a bounded size."""
    own = {"div", "p", "b", "bdi", "ul", "li", "br", "code"}
    for text in HOSTILE:
        with subtests.test(repr(text[:20])):
            results = Results(hostile_audit(text))

            tags = re.findall(r"<[/!]?(\w*)", html := results._repr_html_())
            assert set(tags) <= own
            assert max(map(len, (html, results._repr_markdown_()))) < 60_000
            assert not re.search(r"<(?!/?code>)|\]\(|https?://|@", results._repr_markdown_())


# the page


@pytest.mark.parametrize("table", [FINDINGS, CASES, FLIPS], ids=lambda table: table.name)
def test_the_page_names_exactly_the_columns_and_their_dtypes(table):
    """Each column is explained, in its order, with the dtype that it has."""
    text = section(NOTEBOOK, f"## `{table.name}`")

    lines = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    named = [(name, line[2].strip(" `")) for line in lines for name in re.findall(r"`(\w+)`", line[1])]

    assert named == [(column, DTYPES.get(kind, "category")) for column, kind in table.columns.items()]


def test_the_blocks_of_the_page_run(tmp_path, monkeypatch):
    """One after the other, as the cells of a notebook, on the results of a run."""
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    (tmp_path / "calm-audit").mkdir()
    write(biased(), tmp_path / "calm-audit" / "results.json")
    monkeypatch.chdir(tmp_path)
    cells, scope = blocks(NOTEBOOK, "python"), {}
    for cell in cells:
        exec(compile(cell, str(NOTEBOOK), "exec"), scope)

    assert len(cells) >= 5
    assert {path.name for path in tmp_path.iterdir()} >= {"intervals.svg"}
    pyplot.close("all")
