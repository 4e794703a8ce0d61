"""The report in a real browser: what a reader can do with it, with the mouse, with keys, on paper and by ear."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from calm.core.claims import Outcome
from calm.core.reasons import reason_of
from calm.core.texts import Exchange
from calm.results.audit import Control, Limit
from calm.results.compare import compare
from calm.results.reports import comparison, html
from tests.plugins.search.test_hunt_report import found, record
from tests.reports.planted_audit import finding, sample, trial
from tests.reports.test_html import MITIGATIONS, PREFERENCE

LONG = "It gives a source, and so it must be right. " * 60 + "[[B]]"


def audit():
    """Return an audit with every part that a report can have."""
    plain = sample()
    first, *others = plain.texts
    told = replace(first, perturbed=((Exchange("k2", LONG),),) * 2)
    rows = [
        replace(trial(f"s{i}", [4.0, 4.0], [4.0 + i % 3, 4.0 + i % 3], hash=f"s{i}"), target="only") for i in range(30)
    ]
    score = {"task": "score", "bias": "anchoring", "measure": "mean_shift", "trials": tuple(rows), "channel": "note"}
    doses = [
        finding(
            **score,
            key=f"anchoring/mean_shift/crowd@{dose}",
            perturbation=f"crowd@{dose}",
            dose=float(dose),
            claim=Limit("abs<=", 0.05),
            outcome=Outcome.FAIL if dose > 50 else Outcome.UNDECIDED,
            value=dose / 400,
            low=dose / 500,
            high=dose / 300,
        )
        for dose in (20, 60, 90)
    ]
    scale = {"low": 1.0, "high": 10.0, "step": None, "best": "high"}
    return replace(
        plain,
        judge=replace(plain.judge, scale=scale),
        findings=(*(taking_turns(f) if f.key == "verbosity/gain/pad" else f for f in plain.findings), *doses),
        texts=(told, *others),
        extras={
            "self_preference": {**PREFERENCE, "panel": PANEL},
            "mitigations": {**MITIGATIONS, **STUDY},
            "hunt": [HUNT],
        },
    )


PANEL = {"agreement": {"raw": 0.83, "alpha": 0.61}, "leave_one_out": [{"judge": "a-1", "tau": 0.333, "best": "b-1"}]}
HUNT = record(found(), found(case="c-2", confirmed=False))
STUDY = {
    "said": "The cheapest set that passes the gate is swap.",
    "differences": [{"set": "swap", "measure": "robustness", "value": 0.2, "low": 0.1, "high": 0.3, "n": 60}],
    "not_applicable": [{"set": "geval", "reason": "it needs scores"}],
}


def taking_turns(one):
    """Return a finding with a control of its own, whose cases got one of two edits."""
    trials = tuple(replace(t, edit="pad" if i % 2 else "stuff") for i, t in enumerate(one.trials))
    inert = Control("text-20", 0.284, -0.012, 197)
    return replace(one, summary="One of:\npad: Pad it.\nstuff: Stuff it.", trials=trials, control=inert)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """Write a report with everything in it."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    html.write(audit(), path)
    return path


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Write a comparison in which claims got worse and better."""
    path = tmp_path_factory.mktemp("report") / "comparison.html"
    old = audit()
    cited, *rest = old.findings
    calmer = tuple(replace(t, perturbed=("good", "good")) for t in cited.trials)
    better = replace(cited, outcome=Outcome.PASS, value=0.0, low=-0.01, high=0.02, trials=calmer)
    worse = replace(rest[1], outcome=Outcome.FAIL, value=0.5, low=0.4, high=0.6)
    new = replace(old, findings=(better, rest[0], worse, *rest[2:]))
    comparison.write(compare(old, new), old, new, path)
    return path


def columns(page, place, table=-1):
    """Return what stands in a column of a table, the last one or all, in the order shown."""
    page.locator("#settled").evaluate("one => (one.open = true)")
    tables = page.locator(".findings") if table is None else page.locator(".findings").nth(table)
    return tables.locator(f"tbody tr:not(.off) > :nth-child({place})").all_inner_texts()


def number(text):
    """Return the number that a cell begins with; None for none."""
    first = text.strip().split(" ")[0].replace("−", "-")
    return None if first == "–" else float(first)


def test_the_headings_sort_the_table(visit, report):
    """A click sorts by number, a second one the other way, and the heading says so to all."""
    page = visit(report)
    page.locator("#settled > summary").click()
    heading = page.locator(".findings").last.get_by_role("button", name="Measured")
    column = page.locator(".findings").last.get_by_role("columnheader", name="Measured")

    heading.click()
    up = [number(text) for text in columns(page, 4)]
    said = [column.get_attribute("aria-sort")]
    heading.click()
    down = [number(text) for text in columns(page, 4)]
    said += [column.get_attribute("aria-sort")]

    assert up == sorted(up)
    assert down == up[::-1] or down == sorted(up, reverse=True)
    assert said == ["ascending", "descending"]


def test_unknown_numbers_are_sorted_last(visit, report):
    """A rate that is not there stands last in both directions."""
    page = visit(report)
    page.locator("#settled > summary").click()
    heading = page.get_by_role("button", name="RR", exact=True).last

    heading.click()
    up = columns(page, 7)
    heading.click()

    assert up[-1].strip() == columns(page, 7)[-1].strip() == "–"


def test_filters_leave_what_fits(visit, report):
    """Outcome, bias and task filter tables and probes alike, and the number left is said."""
    page = visit(report)

    page.get_by_role("combobox", name="Outcome").select_option("FAIL")
    failed = columns(page, 1, None)
    page.get_by_role("combobox", name="Task").select_option("score")
    scores = columns(page, 2, None)
    page.get_by_role("combobox", name="Outcome").select_option("UNDECIDED")

    assert len(failed) == 5
    assert all(text.startswith("Failed") for text in failed)
    assert [text.split()[0] for text in scores] == ["anchoring", "anchoring"]
    assert page.locator("#shown").inner_text() == "1 of 11 claims"
    assert page.locator(".probe:visible h3").all_text_contents() == ["anchoring · crowd@20"]


def test_the_bias_filter_names_each_bias(visit, report):
    """A bias that is chosen is alone in the table."""
    page = visit(report)

    page.get_by_role("combobox", name="Bias").first.select_option(label="verbosity")

    assert {text.split()[0] for text in columns(page, 2, None)} == {"verbosity"}


def test_keys_lead_from_case_to_case(visit, report):
    """j and → open the next case, k and ← the one before; each has its place in the address."""
    page = visit(report)
    ids = page.locator("details.case").evaluate_all("all => all.map(one => one.id)")
    places = []

    for key in ("j", "ArrowRight", "j", "k", "ArrowLeft"):
        page.keyboard.press(key)
        places.append(page.evaluate("location.hash.slice(1)"))

    assert places == [ids[0], ids[1], ids[2], ids[1], ids[0]]
    assert page.locator("details.case[open]").evaluate_all("all => all.map(one => one.id)") == [ids[0]]
    assert page.evaluate("document.activeElement.parentElement.id") == ids[0]
    assert page.locator("#place").text_content() == f"Case 1 of {len(ids)}"


def test_keys_can_be_switched_off(visit, report):
    """Without its tick a single key does nothing: speech input would press it by chance."""
    page = visit(report)

    page.get_by_label("keys").uncheck()
    page.keyboard.press("j")

    assert page.locator("details.case[open]").count() == 0


def test_an_anchor_opens_its_case(visit, report):
    """A link to a case shows it open."""
    page = visit(report, anchor="#c-authority-rotation-fact-003")

    assert page.locator("#c-authority-rotation-fact-003[open]").count() == 1
    assert page.locator("#c-authority-rotation-fact-003 summary").is_visible()


def test_the_edit_is_marked_by_words(visit, report):
    """In an open case both prompts stand side by side, and what was added is marked."""
    page = visit(report, anchor="#c-authority-rotation-fact-003")
    case = page.locator("#c-authority-rotation-fact-003")

    added = case.locator("ins").all_text_contents()

    assert [text.strip() for text in added] == [
        "(Citation: Harlow, A Handbook of Everyday Physics, 3rd edition, p. 214)"
    ]
    left, right = case.locator(".pair > div").evaluate_all(
        "all => all.slice(1).map(one => one.getBoundingClientRect())"
    )
    assert left["right"] <= right["left"]
    assert left["top"] == right["top"]


def test_a_link_opens_the_variants_of_a_rotation(visit, report):
    """The table of what took turns is folded, and a probe's introduction leads to it."""
    page = visit(report)
    table = page.locator("#p-verbosity-pad-variants table")

    expect(table).to_be_hidden()
    page.locator("#p-verbosity-pad > summary").click()
    expect(table).to_be_hidden()
    page.get_by_role("link", name="the table below").click()

    expect(table).to_be_visible()  # the page hears of the new address some time after the click
    assert table.locator("tbody th").all_inner_texts() == ["pad\nPad it.", "stuff\nStuff it."]


def test_a_control_is_read_beside_its_claim(visit, report):
    """What inert words did stands in the table and in the finding's own part, and they agree."""
    page = visit(report)

    page.locator("#settled > summary").click()
    row = page.locator(".findings tbody tr", has_text="neutral words").inner_text()
    beside = page.locator(".finding p", has_text="Beside it").text_content()

    assert "neutral words moved 0.28, gained −0.01" in row
    assert "neutral words moved 0.28, gained −0.01 (in the answer, about 20 words), on 197 rows." in beside


def test_long_texts_fold(visit, report):
    """A long reply is cut to a few lines until it is asked for, and a short one is not."""
    page = visit(report, anchor="#c-authority-rotation-fact-000")
    reply = page.locator("#c-authority-rotation-fact-000 pre.long").last
    more = page.locator("#c-authority-rotation-fact-000 button.more").last

    more.wait_for()  # a case that is opened folds its texts some time after
    heights = [reply.evaluate("one => one.offsetHeight")]
    more.click()
    heights.append(reply.evaluate("one => one.offsetHeight"))

    assert more.get_attribute("aria-expanded") == "true"
    assert heights[1] > heights[0] + 20
    assert page.locator("#c-authority-rotation-fact-000 button.more").count() == 1


def test_a_case_can_be_copied_as_a_command(visit, report):
    """The button puts the command into the clipboard."""
    page = visit(report, anchor="#c-authority-rotation-fact-003")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])

    page.locator("#c-authority-rotation-fact-003").get_by_role("button", name="Copy as command").click()
    page.get_by_role("button", name="Copied").wait_for()

    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == "calm try JUDGE --case=fact-003 --edit=cite_book --seed=1"


def test_times_are_in_the_readers_zone(visit, report):
    """The time of the run is local, with UTC on hover."""
    page = visit(report, timezone_id="Asia/Tokyo", locale="en-GB")

    time = page.locator("time").first

    assert "18:12" in time.inner_text()
    assert time.get_attribute("title") == "4 May 2026, 09:12 UTC"


@pytest.mark.parametrize("width", [320, 768, 1920])
def test_it_fits_any_screen(visit, report, width):
    """Nothing but a heat map's own frame scrolls sideways, from a small phone to a wide screen."""
    page = visit(report, anchor="#c-authority-rotation-fact-003", viewport={"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_paper_takes_few_pages_and_the_flips_on_demand(visit, report):
    """What is wrong and the claims are on three pages; with its tick, all flips follow, those of folded parts too."""
    page = visit(report)

    short = page.pdf()
    page.get_by_label("print the flips and all other parts, too").check()
    long = page.pdf()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    hidden = "all => all.filter(one => !one.checkVisibility()).length"

    assert pages_of(short) == 3
    assert pages_of(long) > 3
    assert page.locator("#flips .case > summary, #flips p.case").evaluate_all(hidden) == 0


PAPER = {"viewport": {"width": 703, "height": 1032}}
"""An A4 page between its margins of 12 mm."""
SMALL = """() => [...document.querySelectorAll("body *")].filter(one => one.checkVisibility()
    && [...one.childNodes].some(child => child.nodeType === 3 && child.data.trim())
    && parseFloat(getComputedStyle(one).fontSize) < 12).map(one => one.outerHTML.slice(0, 200))"""
"""What has text below 9 pt."""
WIDTHS = "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"


@pytest.fixture(scope="module")
def restated(tmp_path_factory):
    """Write a report in which each claim has another limit than its suite states, and some are accepted."""
    path = tmp_path_factory.mktemp("restated") / "report.html"
    whole = audit()
    stated = [replace(one, stated=one.claim, accepted="known") for one in whole.findings]
    note = reason_of("compare with that of `calm accept`, <b>soon</b>")
    html.write(replace(whole, findings=tuple(stated), run=replace(whole.run, notes=(note,))), path)
    return path


@pytest.mark.parametrize("appendix", [False, True])
@pytest.mark.parametrize("of", ["report", "restated", "compared"])
def test_paper_is_no_narrower_than_what_is_on_it(of, appendix, visit, request):
    """So no browser shrinks it; its smallest text has 9 pt."""
    page = visit(request.getfixturevalue(of), **PAPER)
    if appendix and of != "compared":
        page.locator("#appendix").evaluate("one => (one.checked = true)")
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")

    wide, room = page.evaluate(WIDTHS)

    assert wide == room
    assert page.evaluate(SMALL) == []


def test_paper_shows_no_part_that_opens_and_names_of_commands_as_such(visit, restated):
    """A part that is left out leaves no triangle; the tick that prints all opens it."""
    page = visit(restated, **PAPER)
    page.emulate_media(media="print")
    one_by_one = page.get_by_text("Its claims, one by one")

    assert not one_by_one.is_visible()
    assert "`" not in page.inner_text("main")
    assert page.locator("#notes code").all_inner_texts() == ["calm accept"]
    assert page.locator("summary").evaluate_all(MARKED) == []

    page.locator("#appendix").evaluate("one => (one.checked = true)")
    assert one_by_one.is_visible()
    assert page.locator("#untested .untested").first.is_visible()


MARKED = """all => all.filter(one => one.checkVisibility() && getComputedStyle(one).listStyleType !== "none")
    .map(one => one.outerHTML)"""


def pages_of(paper):
    """Return how many pages a PDF has."""
    return paper.count(b"/Type /Page\n")


def test_flips_are_found_by_words_and_kinds(visit, report):
    """A search looks into questions, edits and verdicts of all flips, folded ones too, and says how many it leaves."""
    page = visit(report)
    every = page.locator("#flips .case").count()

    page.get_by_label("Search").fill("fact-061")
    expect(page.locator("#flipped")).to_have_text(f"1 of {every} rows")
    found = page.locator("#flips .case:visible").all_inner_texts()
    page.get_by_label("Search").fill("")
    page.get_by_role("combobox", name="Bias").last.select_option(label="authority · rotation")

    assert len(found) == 1
    assert found[0].split()[0] == "fact-061"
    expect(page.locator("#flipped")).to_have_text(f"62 of {every} rows")


def test_main_parts_have_names_in_the_accessibility_tree(visit, report):
    """Headings, table, charts and controls can be found without seeing them."""
    page = visit(report)

    head = page.locator("header").first.aria_snapshot()
    table = page.locator(".findings").first.aria_snapshot()
    page.locator("#robustness > summary").click()

    assert '- heading "support-judge" [level=1]' in head
    assert page.get_by_role("navigation", name="Contents").count() == 1
    assert page.get_by_role("img", name="Failed: measured 0.31 [0.26, 0.37], claim gain ≤ 0.10").count() == 1
    assert '- columnheader "Measured [low, high]"' in table
    assert '- rowheader "authority gain ≤ 0.10 rotation"' in table
    assert '- cell "0.31 [0.26, 0.37]"' in table
    assert page.get_by_role("img", name="Robustness by bias").count() == 1


SCREENS = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}},
}


CHECKS = {
    "light": {},
    "dark": {"runOnly": ["color-contrast"]},  # nothing else depends on it
    "phone": {"rules": {"color-contrast": {"enabled": False}}},  # the colours are those of the wide screen
}


@pytest.mark.parametrize("screen", SCREENS)
def test_no_serious_barrier_in_the_report(visit, report, screen):
    """The checks of axe find nothing serious, contrast in light and dark included."""
    page = visit(report, anchor="#c-authority-rotation-fact-000", **SCREENS[screen])

    assert barriers(page, CHECKS[screen]) == []


@pytest.mark.parametrize("screen", ["dark", "phone"])
def test_no_serious_barrier_in_the_comparison(visit, compared, screen):
    """The same holds for two runs side by side."""
    page = visit(compared, **SCREENS[screen])

    assert barriers(page, CHECKS[screen]) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def barriers(page, checks):
    """Return what axe finds that is serious, with the places; what is not on the screen yet is drawn for it, too."""
    page.evaluate(
        "document.querySelectorAll('.probe').forEach(one => (one.style.contentVisibility = 'visible', one.open = true))"
    )
    found = Axe().run(page, options={"resultTypes": ["violations"], **checks}).response["violations"]
    return [(v["id"], v["nodes"][0]["html"][:200]) for v in found if v["impact"] in ("serious", "critical")]


def test_dark_is_dark(visit, report):
    """A reader who wants a dark page gets one."""
    shades = [
        visit(report, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]

    assert shades == ["rgb(251, 251, 250)", "rgb(20, 23, 26)"]


def test_a_comparison_says_what_got_worse_and_better(visit, compared):
    """The worse claims come before the better ones, each with its change."""
    page = visit(compared)

    sections = page.locator("main section").all_text_contents()

    assert "1 claim got worse, 1 got better" in page.locator("header").inner_text()
    assert "consistency/consistency_rate" in sections[0]
    assert "authority/gain/rotation" in sections[1]
    assert "fact-000" in sections[3]


def test_without_scripts_everything_can_be_read(visit, report):
    """Where scripts are off, no control is shown that would do nothing, and cases open all the same."""
    page = visit(report, java_script_enabled=False)

    page.locator("#c-authority-rotation-fact-003 summary").click()

    assert page.locator("#c-authority-rotation-fact-003 ins").is_visible()
    assert page.locator(".tools:visible").count() == 0
    assert page.locator("button:visible").count() == 0
