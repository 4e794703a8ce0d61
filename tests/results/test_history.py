"""Runs over time: in the order of their starts, without what cannot be read, with what changed between them."""

import json
from dataclasses import replace

import pytest

from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.errors import ConfigError
from calm.results.audit import Limit, write
from calm.results.history import history, render_text
from calm.results.reports.comparison import render_trend
from tests.reports.planted_audit import empty, finding, sample
from tests.reports.tags import Tags

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m\u202e'


def run(day, value=0.02, **changes):
    """Return a run of one claim on a day of May."""
    outcome = Outcome.FAIL if value > 0.15 else Outcome.PASS
    gain = finding(
        key="authority/gain", measure="gain", claim=Limit("<=", 0.15), value=value, low=value - 0.02, high=value + 0.03
    )
    plain = empty(findings=(replace(gain, outcome=outcome),))
    return replace(plain, run=replace(plain.run, started=f"2026-05-{day:02}T09:12:45+00:00"), **changes)


@pytest.fixture
def folder(tmp_path):
    """Return a folder with three runs, written in another order than they were started."""
    judge = run(1).judge
    runs = {
        "b": run(2, judge=replace(judge, prompt_sha256="ab" * 32, fingerprint="other")),
        "c": run(3, 0.31, judge=replace(judge, prompt_sha256="ab" * 32, fingerprint="other"), calm="0.2.0"),
        "a": run(1),
    }
    for name, audit in runs.items():
        write(audit, tmp_path / "past" / name / "results.json")
    return tmp_path / "past"


def test_runs_come_in_the_order_of_their_starts(folder):
    """And each claim with one finding a run."""
    found = history(folder)

    assert [past.name for past in found.runs] == ["a/results.json", "b/results.json", "c/results.json"]
    assert [(line.key, [one.value for one in line.findings]) for line in found.lines] == [
        ("authority/gain", [0.02, 0.02, 0.31])
    ]


def test_what_changed_before_a_run_is_known(folder):
    """A fingerprint that changed with the prompt is no other judge."""
    assert [past.kinds for past in history(folder).runs] == [(), ("prompt",), ("calm",)]


@pytest.mark.parametrize(
    ("change", "kinds"),
    [
        ({"seed": 2}, ("design",)),
        ({"cases": {"n": 9, "sha256": "0" * 64}}, ("cases",)),
        ({"judge": replace(run(1).judge, served="judge-prod-2026-05-01", fingerprint="x")}, ("judge",)),
        ({"judge": replace(run(1).judge, fingerprint="x")}, ("judge",)),
        ({"judge": replace(run(1).judge, parameters={"temperature": 1.0})}, ("judge",)),
    ],
    ids=["seed", "cases", "served", "fingerprint", "parameters"],
)
def test_each_change_has_its_kind(tmp_path, change, kinds):
    """What asks, who judges, by which words, and about what."""
    for day, changes in ((1, {}), (2, change)):
        write(run(day, **changes), tmp_path / f"{day}.json")

    assert history(tmp_path).runs[1].kinds == kinds


def test_what_cannot_be_shown_is_said_and_not_fatal(folder):
    """Broken and empty files, other JSON, an edited record, a run without a time, a copy, and another task."""
    text = (folder / "a" / "results.json").read_text("utf-8")
    (folder / "broken.json").write_text(text[:300])
    (folder / "empty.json").write_text("")
    (folder / "other.json").write_text("{}")
    (folder / "edited.json").write_text(text.replace("0.02", "0.03"))
    (folder / "zz-copy.json").write_text(text)
    (folder / "folder.json").mkdir()
    write(replace(run(4), run=replace(run(4).run, started="")), folder / "timeless.json")
    write(run(5, judge=replace(run(1).judge, task="score")), folder / "score.json")
    (folder / "b" / "results.texts.jsonl").write_text("{broken")

    found = history(folder)

    assert len(found.runs) == 3
    why = dict(found.left_out)
    assert why.keys() == {
        "broken.json",
        "empty.json",
        "other.json",
        "edited.json",
        "zz-copy.json",
        "timeless.json",
        "score.json",
    }
    assert why["zz-copy.json"] == "the same run as a/results.json"
    assert why["score.json"] == "another task: score, not pairwise"
    assert "started=''" in why["timeless.json"]
    assert all(name in render_text(found) for name in why)


def test_the_newest_run_need_not_lie_in_the_folder(folder, tmp_path):
    """It is shown once, and its task is the one that counts."""
    write(run(9, 0.01), tmp_path / "results.json")

    outside = history(folder, tmp_path / "results.json")
    inside = history(folder, folder / "c" / "results.json")

    assert [past.started.day for past in outside.runs] == [1, 2, 3, 9]
    assert (len(inside.runs), inside.left_out) == (3, ())


@pytest.mark.parametrize("make", [lambda path: path.mkdir(), lambda path: path.write_text("x"), lambda path: None])
def test_a_folder_without_results_is_refused(tmp_path, make):
    """An empty folder, a file, and nothing at all."""
    make(tmp_path / "past")

    with pytest.raises(ConfigError, match="--history: expected a folder with results"):
        history(tmp_path / "past")


def test_claims_that_are_not_proven_come_first(tmp_path):
    """The whole of a run with every outcome, and of one in which most claims are gone."""
    whole = replace(sample(), run=replace(run(1).run))
    write(whole, tmp_path / "1.json")
    write(replace(whole, findings=whole.findings[:3], run=run(2).run), tmp_path / "2.json")

    found = history(tmp_path)

    assert [line.last.outcome for line in found.lines][:3] == [Outcome.FAIL, Outcome.FAIL, Outcome.PASS]
    assert {line.now is None for line in found.lines[3:]} == {True}
    assert len(found.lines) == len([f for f in whole.findings if f.claim and f.value is not None])


def test_the_terminal_shows_runs_changes_and_values(folder):
    """The last value with its interval, earlier ones alone."""
    text = render_text(history(folder)).split("\n")

    assert text[0] == "3 runs of support-judge (pairwise), 2026-05-01 09:12 to 2026-05-03 09:12 UTC"
    assert [line.split()[3] for line in text[2:5]] == ["PASS", "PASS", "FAIL"]
    assert "changed: prompt" in text[3]
    assert " ".join(text[6].split()) == "authority/gain <= 0.15 0.02 0.02 0.31 [0.29, 0.34] PASS x2, FAIL"


def test_the_page_has_a_chart_for_each_claim(folder):
    """With a dot and an interval a run, the limit of each run, and a mark where something changed."""
    page = render_trend(history(folder))

    tags = Tags()
    tags.feed(page)
    charts = page.partition('class="chart trend"')[2]
    assert page.count('class="chart trend"') == 1
    assert charts.count("<circle") == 3
    assert charts.count('class="limit"') == 3
    assert [sign for sign in ("P", "V") if 'class="sign" x=' in charts and f">{sign}</text>" in charts] == ["P", "V"]
    assert "run 1 0.02 [0.00, 0.05], passed; run 2" in charts
    assert "0.31 [0.29, 0.34]" in charts


def test_a_run_that_did_not_measure_leaves_a_gap(tmp_path):
    """The line ends before it and begins after it."""
    for day in range(1, 6):
        audit = run(day)
        write(
            replace(audit, findings=audit.findings if day != 3 else (sample().findings[0],)), tmp_path / f"{day}.json"
        )

    page = render_trend(history(tmp_path))

    chart = page[page.index('id="t-authority-gain"') :]
    assert chart.partition("</figure>")[0].count("<polyline") == 2


def test_nothing_that_a_user_wrote_becomes_markup_or_moves_the_terminal(tmp_path):
    """Names of judges, files, keys and parameters are texts."""
    judge = replace(run(1).judge, name=HOSTILE, parameters={"stop": HOSTILE})
    hostile = run(2, judge=judge)
    hostile = replace(hostile, findings=(replace(hostile.findings[0], key=f"a/{HOSTILE}"),))
    write(run(1), tmp_path / "1.json")
    write(hostile, tmp_path / "2.json")
    (tmp_path / "<img src=x>.json").write_text("[]")

    found = history(tmp_path)
    page, text = render_trend(found), render_text(found)

    tags = Tags()
    tags.feed(page)
    assert [tag for tag, _ in tags.found].count("script") == 1
    assert "img" not in {tag for tag, _ in tags.found}
    assert all(c.isprintable() or c == "\n" for c in text)
    assert "\x1b" not in page


def test_the_command_prints_and_writes_the_page(folder, tmp_path, capsys, monkeypatch):
    """`calm report --history FOLDER`: trend.html unless -o names another page."""
    monkeypatch.chdir(tmp_path)

    status = main(["report", "--history", "past"])

    told = capsys.readouterr().out
    assert status == 0
    assert "authority/gain" in told
    assert told.endswith("wrote trend.html\n")
    assert "calm trend" in (tmp_path / "trend.html").read_text("utf-8")


def test_texts_can_be_left_out_of_a_trend(tmp_path, capsys):
    """A parameter of the judge that changed is then a digest."""
    for day, word in ((1, "first secret"), (2, "second secret")):
        judge = replace(run(1).judge, parameters={"stop": word})
        write(run(day, judge=judge), tmp_path / "past" / f"{day}.json")
    shown, hidden = tmp_path / "shown.html", tmp_path / "hidden.html"

    main(["report", "--history", str(tmp_path / "past"), "-o", str(shown)])
    main(["report", "--history", str(tmp_path / "past"), "-o", str(hidden), "--texts", "none"])

    assert "second secret" in shown.read_text("utf-8")
    assert "secret" not in hidden.read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (["--history", "past", "-o", "t.csv"], 4, "-o t.csv: a trend is written as a page"),
        (["--history", "past", "--format", "json"], 4, "--format json: a trend is written as a page"),
        (["--history", "past", "--limit", "9"], 4, "--limit: a trend has none"),
        (["--history", "past", "--hunt", "x.json"], 4, "--hunt: a trend has none"),
        (["--history", "nowhere"], 4, "got nothing at 'nowhere'"),
        (["lost.json", "--history", "past"], 4, "lost.json"),
        (["--history", "past", "-o", "past/a/results.json", "--format", "html"], 4, "other than the inputs"),
    ],
)
def test_what_a_trend_cannot_do_is_refused(folder, tmp_path, capsys, monkeypatch, options, status, told):
    """Each with its reason; nothing is written."""
    monkeypatch.chdir(tmp_path)
    before = json.loads((folder / "a" / "results.json").read_text("utf-8"))

    assert main(["report", *options]) == status

    assert told in capsys.readouterr().err
    assert json.loads((folder / "a" / "results.json").read_text("utf-8")) == before
    assert [path.name for path in tmp_path.iterdir()] == ["past"]


def test_a_report_of_nothing_is_a_wrong_usage(capsys):
    """Neither results nor a folder."""
    with pytest.raises(SystemExit, match="2"):
        main(["report"])

    assert "expected RESULTS" in capsys.readouterr().err
