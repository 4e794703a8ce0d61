"""What a terminal shows of a run: outcome and exit status first, a sentence a bias, no name cut, the report last."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, counted, listed
from calm.results.audit import Limit
from calm.results.codes import Ending, State
from calm.results.gatefile import WORSENING
from calm.results.reports.terminal import FEWEST, LOG, OTHERS, Ended, Screen, shown, whole
from calm.results.sentences import name_of
from calm.results.steps import next_step, troubles
from calm.results.wording import NO_RESULT, lines, printable
from tests.reports.hostile_texts import HOSTILE, hostile_audit
from tests.reports.planted_audit import empty, finding, sample, trial

WIDTHS, HEIGHTS = (60, 80, 100), (10, 24, 40)
WRITTEN = (Path("out/results.json"), Path("out/report.html"))
RED = Ended(green=False, status=1, written=WRITTEN)
GREEN = Ended(green=True, status=0, written=WRITTEN)
LONG = "a-very-long-name-of-an-edit-that-somebody-wrote-" * 3
"""A name that no line of a screen holds."""
ORDER = (Outcome.FAIL, Outcome.INCOMPLETE, Outcome.UNDECIDED)


def failed(bias, measure="gain", value=0.4, **changes):
    """Return a finding that failed."""
    known = {
        "what": "Append an invented source to the weaker answer.",
        "low": value and value - 0.05,
        "outcome": Outcome.FAIL,
    }
    known |= {"high": value and value + 0.05, "measure": measure, "claim": Limit("<=", 0.15), "value": value}
    return finding(key=f"{bias}/{measure}", bias=bias, **(known | changes))


def open_one(bias, **changes):
    return failed(bias, value=0.12, outcome=Outcome.UNDECIDED, cases_to_decide=77, **changes)


def lost(bias, **changes):
    given = {"outcome": Outcome.INCOMPLETE, "reason": because(Kind.CAPPED, "--calm-max-calls 200"), **changes}
    one = failed(bias, value=None, **{k: v for k, v in given.items() if k != "reason"})
    return replace(one, reason=given["reason"])


def of(*findings, **changes):
    return empty(findings=findings, run=replace(empty().run, judge="judge.toml"), **changes)


def broken(audit, screen=None, ended=RED, *, all_of_it=False):
    """Return the lines of a run as a screen breaks them, those of commands whole; and each line before that."""
    screen = screen or Screen()
    made = whole(audit, ended) if all_of_it else shown(audit, screen, ended)
    rows = [row for line in made for row in ([line.text] if line.whole else lines(line.text, screen.width))]
    return rows, made


def said(audit, screen=None, ended=RED, **options):
    return [line.text for line in broken(audit, screen, ended, **options)[1]]


def of_troubles(texts):
    """Return the lines about a bias."""
    return [text for text in texts if text.startswith(tuple(f"{one.value} " for one in ORDER))]


AUDITS = {
    "one": of(failed("authority", perturbation="cite_book")),
    "the sample": sample(),
    "three kinds": of(
        open_one("verbosity"), lost("bandwagon"), failed("authority"), failed("compassion-fade", value=0.9)
    ),
    "fifty": of(*(failed(f"bias-{i}", f"measure{j}", 0.9 - i / 100) for i in range(50) for j in range(3))),
    "long names": of(
        failed("authority", perturbation=LONG),
        failed(f"b-{LONG[:90]}", value=0.9, reason=because(Kind.WORST, 4, f"{LONG}@2")),
        open_one("verbosity", perturbation="rotation-" + LONG),
    ),
    "a worst variant": of(
        failed("authority", "worst_gain", 0.8, perturbation="rotation", reason=because(Kind.WORST, 9, "cite_book@4"))
    ),
    "notes and gaps": replace(
        of(
            *(failed(f"b{i}") for i in range(9)),
            *(lost(f"l{i}") for i in range(9)),
            tests=tuple(
                Ending(f"/x/site-packages/calm/suites/t{i}.py::t", State.CRASHED, because(Kind.CUT_SHORT))
                for i in range(9)
            ),
        ),
        run=replace(empty().run, notes=tuple(because(Kind.FEW_CLUSTERS, 60, i) for i in (7, 8))),
    ),
    "accepted": of(finding(), failed("authority", accepted="until 2026-09-01: soon", perturbation="cite_book")),
    "green": of(finding(), finding(key="run/gain", bias="run", measure="gain")),
    "nothing": of(),
}


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", AUDITS)
def test_lines_fit_and_break_between_words(name, width, height):
    """No line is wider than the screen, unless it is one word or a command; no word is cut, and none is left out."""
    audit, ended = AUDITS[name], GREEN if name in ("green", "accepted") else RED
    for all_of_it in (False, True):
        rows, made = broken(audit, Screen(width, height), ended, all_of_it=all_of_it)
        commands = {line.text for line in made if line.whole}

        assert not [row for row in rows if len(row) > width and len(row.split()) > 1 and row not in commands]
        assert " ".join(rows).split() == " ".join(line.text for line in made).split()
        assert not [line.text for line in made if "..." in line.text]


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", AUDITS)
def test_first_the_outcome_then_the_worst_then_the_report(name, width, height):
    """At least three biases have their sentence whatever the height, and what is left out is counted."""
    audit, ended = AUDITS[name], GREEN if name in ("green", "accepted") else RED

    texts = said(audit, Screen(width, height), ended)

    word = "GREEN" if ended.green else "RED" if audit.of(Outcome.FAIL) else "NOT GREEN"
    assert texts[0].startswith(f"{word} (exit {ended.status}): ")
    assert texts[-1].startswith("report: out/report.html")
    assert "results.json" in texts[-1]
    wrong, found = troubles(audit), of_troubles(texts)
    assert len(found) >= min(FEWEST, len(wrong))
    assert found == texts[1 : 1 + len(found)]
    outcomes = [ORDER.index(Outcome(text.partition(" ")[0])) for text in found]
    assert outcomes == sorted(outcomes)
    assert all(f" {name_of(one.bias)}" in text for one, text in zip(wrong, found, strict=False))
    more = [int(text.split()[1]) for text in texts if re.match(r"and \d+ more: -v", text)]
    every = said(audit, Screen(width, 10_000), ended)
    assert sum(more) == len(every) - len(texts) + bool(more)
    assert set(texts) - set(every) == {f"and {count} more: -v shows all" for count in more}


@pytest.mark.parametrize("height", HEIGHTS)
@pytest.mark.parametrize("width", WIDTHS)
def test_no_name_is_cut(width, height):
    """Those of a bias, an edit and its worst variant are there to be copied."""
    rows, _ = broken(AUDITS["long names"], Screen(width, height))
    words = " ".join(rows).split()

    assert any(f"({LONG}):" in word for word in words)
    assert any(f"({LONG}@2):" in word for word in words)
    assert any(f"(rotation-{LONG}):" in word for word in words)
    assert f"b {LONG[:90]}".replace("-", " ") in " ".join(words)


@pytest.mark.parametrize("height", [24, 40])
@pytest.mark.parametrize("width", [80, 100])
@pytest.mark.parametrize("name", ["fifty", "notes and gaps", "three kinds", "the sample", "green"])
def test_a_run_fits_the_screen_whatever_failed(name, width, height):
    """With what pytest and calm say around it."""
    screen = Screen(width, height)

    _, made = broken(AUDITS[name], screen, GREEN if name == "green" else RED)

    used = sum(map(screen.rows, made))
    assert used <= screen.room
    assert used + OTHERS + screen.above <= height


def test_a_bias_is_named_once_with_what_says_most():
    """Its other claims are counted, and so are the cases that decide an undecided one."""
    audit = of(
        failed("authority", "net_robustness", 0.9),
        failed("authority"),
        failed("authority", "worst_gain"),
        open_one("verbosity"),
    )

    authority, verbosity = of_troubles(said(audit))

    assert authority.startswith(
        "FAIL authority: Appending an invented source to the worse answer makes it win in 40 of 100 "
    )
    assert authority.endswith("; 2 more claims")
    assert verbosity.startswith("UNDECIDED verbosity: ")
    assert "77 cases" in verbosity
    assert "more claim" not in verbosity


def test_why_something_is_incomplete_is_said():
    """A cap stopped it; and an interval that is all that can be is not shown."""
    texts = said(of(lost("authority"), lost("verbosity")))

    [one] = of_troubles(texts)
    assert all(name in one for name in ("authority", "verbosity", "--calm-max-calls 200"))
    assert texts[0].startswith("NOT GREEN (exit 1): ")
    capped = counted({because(Kind.CAPPED, "--calm-max-calls 200"): 50})
    part = failed("a", value=1.0, low=-1.0, high=1.0, outcome=Outcome.INCOMPLETE, n=2, lost=58)
    [one] = of_troubles(said(of(replace(part, reason=listed([because(Kind.WORST, 3, "v1"), capped])))))
    assert "(v1)" in one
    assert "--calm-max-calls 200" in one


def test_what_crashed_is_named_without_the_folder_of_an_installation():
    """By its test, and why."""
    texts = said(AUDITS["notes and gaps"], Screen(100, 400))

    for number in range(9):
        assert any(text.startswith(f"calm/suites/t{number}.py::t crashed: ") for text in texts)
    assert "site-packages" not in " ".join(texts)


def test_notes_are_counted_and_shown_with_v():
    """What a reader should know fits no screen of a red run."""
    audit = AUDITS["notes and gaps"]
    notes = list(map(str, audit.run.notes))

    assert any(text.endswith("2 notes in the report") for text in said(audit))
    assert not [note for note in notes if note in " ".join(said(audit))]
    assert [f"note: {note}" for note in notes] == [
        text for text in said(audit, all_of_it=True) if text.startswith("note: ")
    ]


def test_why_replies_could_not_be_kept_is_said_once():
    """Each process of a run notes it in its own words; whoever reads the terminal needs the cause and what to do."""
    notes = tuple(because(Kind.CACHE_FAILED, f"no answer for {seconds} seconds") for seconds in (29, 30))
    audit = replace(sample(), run=replace(sample().run, notes=notes))

    text = " ".join(said(audit))

    assert str(notes[0]) in text
    assert str(notes[1]) not in text


def test_a_log_is_cut_nowhere():
    """What reads it breaks lines itself; each line is one there."""
    why = "too few for this one: " + ", ".join(f"reason {i}" for i in range(60))
    audit = of(lost("authority", reason=because(Kind.FIGURE, why)), failed("verbosity"))

    rows, made = broken(audit, Screen(LOG, 24))

    assert len(rows) == len(made) <= Screen(LOG, 24).room
    assert any(row.endswith(why[1:]) for row in rows)


def test_an_interrupted_run_says_so_first_and_claims_nothing():
    """The exit status is another one under a command, so it is left out."""
    ends = Ending("a", State.DECIDED), Ending("b", State.NOT_RUN, because(Kind.NOT_BEGUN))
    audit = of(finding(key="consistency/readable_rate", bias="consistency"), tests=ends)
    audit = replace(audit, faults=(because(Kind.INTERRUPTED),))

    texts = said(audit, ended=Ended(green=False, status=2))

    assert texts[0].startswith("NOT GREEN: ")
    assert "interrupted" in texts[0]
    assert "1 of 2 tests" in texts[0]
    assert not re.search(r"holds?\b", texts[0])
    assert f"controls: 1 {NO_RESULT}" in " ".join(texts)


def test_a_green_run_is_short_and_says_what_to_keep():
    """No bias is listed; a run with a baseline says that nothing got worse."""
    texts = said(AUDITS["green"], ended=GREEN)
    held = finding(key=f"baseline/{WORSENING}", bias="baseline", measure=WORSENING, outcome=Outcome.PASS)
    compared = replace(AUDITS["green"], findings=(*AUDITS["green"].findings, held))
    beside = said(compared, ended=replace(GREEN, baseline="baseline.json"))

    assert of_troubles(texts) == []
    assert texts[0] == "GREEN (exit 0): every claim holds"
    assert "  calm accept out/results.json" in texts
    assert beside[0].startswith(texts[0])
    assert "baseline.json" in beside[0]
    assert len(texts) <= 7


def test_what_was_accepted_is_shown_with_its_reason():
    """In a green run, too."""
    [accepted] = [text for text in said(AUDITS["accepted"], ended=GREEN) if text.startswith("accepted ")]

    assert "(until 2026-09-01: soon)" in accepted
    assert "authority/gain" in accepted


def test_the_next_command_stays_whole():
    """On a line of its own, however long it is, so that it can be copied."""
    row = replace(trial("case-" + "x" * 90, ["good"] * 2, ["bad"] * 2, edit="cite_book"), target="bad")
    audit = of(open_one("authority", trials=(row,), commands={"cite_book": "authority.cite_book"}))

    _, made = broken(audit, Screen(60, 24))

    step = next_step(audit, "", green=False)
    assert [line.text for line in made if line.whole] == [f"  {step.command}"]
    assert made[made.index(next(line for line in made if line.whole)) - 1].text.lower() == f"next: {step.what}".lower()


def test_all_of_a_run_names_each_claim_by_its_key_with_its_figures():
    """What -v shows: a sentence, then the figures behind it; what passed is left out but for the whole run."""
    together = finding(
        key="run/gain", bias="run", measure="gain", claim=Limit("<=", 0.1), value=0.01, low=0.0, high=0.02
    )
    texts = said(of(failed("authority"), finding(), open_one("verbosity"), together), all_of_it=True)

    at = next(i for i, text in enumerate(texts) if text.startswith("FAIL authority/gain: Appending "))
    assert texts[at + 1].startswith("  gain <= 0.15: measured 0.40 [0.35, 0.45], n=200")
    assert [text.split()[1] for text in texts if re.match(r"[A-Z]+ \S+/", text)] == [
        "authority/gain:",
        "verbosity/gain:",
        "run/gain:",
    ]


@pytest.mark.parametrize("text", HOSTILE[:12])
def test_no_text_of_a_run_acts_on_a_terminal(text):
    """All is escaped, and a hostile name takes no line of its own."""
    for all_of_it in (False, True):
        for one in broken(hostile_audit(text), Screen(100, 24), all_of_it=all_of_it)[1]:
            assert "\x1b" not in one.text
            assert "\n" not in one.text
            assert one.text == printable(one.text)
