"""The page of aligned ratings in a real browser: on a phone and on a desk, in light and dark."""

import pytest

from calm.results.reports import pages
from tests.browser.test_report_page import CHECKS, SCREENS, barriers
from tests.plugins.uda.test_uda_page import record


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    """Write the page of five judges and nine models."""
    path = tmp_path_factory.mktemp("uda") / "uda.html"
    pages.write(record(), path)
    return path


@pytest.mark.parametrize("width", [400, 1200])
def test_the_page_fits_the_screen(visit, aligned, width):
    """Tables scroll by themselves; the page does not."""
    page = visit(aligned, viewport={"width": width, "height": 900})

    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("screen", SCREENS)
def test_no_serious_barrier(visit, aligned, screen):
    """The checks of axe find nothing serious, contrast in light and dark included."""
    assert barriers(visit(aligned, **SCREENS[screen]), CHECKS[screen]) == []
