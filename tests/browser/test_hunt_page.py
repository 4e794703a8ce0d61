"""The page of a hunt in a real browser: beside and below each other, in the dark, on paper and without scripts."""

import pytest

from calm.plugins.search import pages
from tests.browser.test_report_page import CHECKS, SCREENS, barriers
from tests.plugins.search.test_hunt_report import ORIGINAL, found, record


@pytest.fixture(scope="module")
def hunted(tmp_path_factory):
    """Write the page of a hunt with a finding of either kind, and with a word as long as a line."""
    path = tmp_path_factory.mktemp("hunt") / "hunt.html"
    long = "x" * 300
    pages.write(record(found(), found(text=f"{ORIGINAL} {long}", added=[long], confirmed=False)), path)
    return path


@pytest.mark.parametrize(("width", "beside"), [(1200, True), (420, False)])
def test_the_two_texts_fit_the_screen(visit, hunted, width, beside):
    """They stand side by side where there is room, else one below the other, and nothing scrolls sideways."""
    page = visit(hunted, viewport={"width": width, "height": 900})
    page.locator(".unproven > summary").click()

    left, right = page.locator(".pair > div").evaluate_all(
        "all => all.slice(0, 2).map(one => one.getBoundingClientRect())"
    )

    assert (left["right"] <= right["left"]) is beside
    assert (left["bottom"] <= right["top"]) is not beside
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("screen", SCREENS)
def test_no_serious_barrier(visit, hunted, screen):
    """The checks of axe find nothing serious, contrast in light and dark included."""
    page = visit(hunted, **SCREENS[screen])
    page.locator(".unproven > summary").click()

    assert barriers(page, CHECKS[screen]) == []


def test_without_scripts_all_of_it_can_be_read(visit, hunted):
    """What was not confirmed opens without any script, and the marked words can be seen."""
    page = visit(hunted, java_script_enabled=False)

    before = page.locator("ins:visible").count()
    page.locator(".unproven > summary").click()

    assert before == 1
    assert page.locator("ins:visible").count() == 2


def test_paper_shows_what_is_folded(visit, hunted):
    """In print both findings are there, but not the long texts that the search began with."""
    page = visit(hunted)
    page.emulate_media(media="print")

    seen = "all => all.filter(one => one.checkVisibility({contentVisibilityAuto: true})).length"

    assert page.locator(".witness").evaluate_all(seen) == 2
    assert page.locator(".pair ins").evaluate_all(seen) == 2
    assert page.locator(".first-text").evaluate_all(seen) == 0
