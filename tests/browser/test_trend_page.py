"""The trend over runs, and the search of a comparison, in a real browser."""

from dataclasses import replace

import pytest
from axe_playwright_python.sync_playwright import Axe

from calm.results.audit import write
from calm.results.compare import compare
from calm.results.history import history
from calm.results.reports import comparison
from tests.browser.test_report_page import CHECKS, SCREENS
from tests.reports.planted_audit import sample
from tests.reports.test_comparison import flipped


@pytest.fixture(scope="module")
def page_of_runs(tmp_path_factory):
    """Write the trend over four runs, before one of which all kinds of things changed."""
    folder = tmp_path_factory.mktemp("trend")
    plain = sample()
    judge = replace(plain.judge, prompt_sha256="ab" * 32, served="judge-prod-2026-05-01", fingerprint="other")
    changes = {1: {}, 2: {}, 3: {"judge": judge, "calm": "0.2.0", "seed": 2, "cases": {"n": 9}}, 4: {}}
    for day, change in changes.items():
        run = replace(plain.run, started=f"2026-05-0{day}T09:12:45+00:00")
        kept = plain.findings[: 4 if day == 4 else None]
        write(replace(plain, run=run, findings=kept, **change), folder / "past" / f"{day}.json")
    (folder / "past" / "broken.json").write_text("{")
    comparison.write_trend(history(folder / "past"), folder / "trend.html")
    return folder / "trend.html"


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """Write a comparison in which 62 verdicts flipped, 24 of them with their texts."""
    path = tmp_path_factory.mktemp("compared") / "comparison.html"
    old, new = flipped()
    comparison.write(compare(old, new), old, new, path)
    return path


@pytest.mark.parametrize("screen", SCREENS)
def test_no_barrier_in_the_trend(visit, page_of_runs, screen):
    """The checks of axe find nothing, in light, dark and on a phone, with all numbers open."""
    page = visit(page_of_runs, **SCREENS[screen])
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")

    assert Axe().run(page, options=CHECKS[screen]).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_no_barrier_in_the_texts_of_a_comparison(visit, compared):
    """The same holds for flips that are open."""
    page = visit(compared, **SCREENS["phone"])
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")

    assert Axe().run(page).response["violations"] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= page.viewport_size["width"]


def test_flips_can_be_searched(visit, compared):
    """By case, claim, verdict and text; the number left is said, and an empty search shows all."""
    page = visit(compared)

    page.get_by_role("searchbox").fill("fact-003 gain")
    one = page.locator(".flip:visible, .bare:visible").count(), page.locator("#shown").inner_text()
    page.get_by_role("searchbox").fill("harlow")
    texts = page.locator("#shown").inner_text()
    page.get_by_role("searchbox").fill("")

    assert one == (1, "1 of 62")
    assert texts == "24 of 62"
    assert page.locator("#shown").inner_text() == "62 of 62"


def test_without_scripts_there_is_no_search(visit, compared):
    """What would do nothing is not shown, and flips open all the same."""
    page = visit(compared, java_script_enabled=False)

    page.locator(".flip summary").first.click()

    assert page.get_by_role("searchbox").count() == 0
    assert page.locator(".flip ins").first.is_visible()


def test_flips_are_printed_by_their_heads(visit, compared):
    """On paper each flip has its line; one that was opened shows its texts."""
    page = visit(compared)
    page.locator(".flip summary").nth(1).click()

    page.emulate_media(media="print")

    assert page.locator(".flip pre:visible").count() == page.locator(".flip[open] pre").count() > 0
