"""A real browser for each module of these tests, and pages that may ask nothing of anyone and complain of nothing."""

import shutil
from contextlib import contextmanager

import pytest

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--no-first-run"]


@pytest.fixture(scope="module")
def chromium():
    """Start Chromium once a module: its event loop must not outlive these tests."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.fail("these tests need Chromium: apt-get install --no-install-recommends chromium", pytrace=False)
    from playwright.sync_api import sync_playwright  # here, as an ordinary run starts no browser

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium):
    """Open a file as a reader would; whatever it did to anyone by the end of the test is an error."""
    with watched(chromium) as opened:
        yield opened


@contextmanager
def watched(browser):
    """Yield a function that opens files, and check in the end what their pages did."""
    contexts, complaints = [], []

    def visit(path, *, anchor="", **settings):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **settings})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        own = path.as_uri()
        page.on(
            "request", lambda r: complaints.append(f"request {r.url[:200]}") if r.url.partition("#")[0] != own else 0
        )
        page.on("console", lambda m: complaints.append(f"console {m.text[:300]}"))
        page.on("pageerror", lambda e: complaints.append(f"error {str(e)[:300]}"))
        page.on("dialog", lambda d: (complaints.append(f"dialog {d.message}"), d.dismiss()))
        page.on("popup", lambda p: complaints.append(f"popup {p.url[:200]}"))
        page.goto(f"{own}{anchor}")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert not complaints
