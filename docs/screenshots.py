"""
Make the pictures of reports in `docs/images`, from planted judges: no model, no key, no cost.

    python docs/screenshots.py [--keep DIR]
    python docs/screenshots.py --local calm-demo    # only that of a report that `calm demo --real` wrote

It runs the shipped suites on a sound judge and on one that prefers padded answers and cited books, compares the two,
and takes pictures with Chromium (Debian: apt-get install chromium). They are written as small PNG files.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

IMAGES = Path(__file__).parent / "images"
JUDGES = {
    "passing": "planted:noise=0.02,seed=7",
    "failing": "planted:verbosity=0.5,authority=0.5,noise=0.02,seed=7",
}
WIDTH, HEIGHT = 1280, 900
MOMENT = "2026-05-04T09:12:45+00:00"
"""The time shown, so that a picture does not change with the day on which it is made."""


def main() -> int:
    """Make all pictures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="DIR", help="also keep the reports")
    parser.add_argument("--local", type=Path, metavar="DIR", help="only that of what `calm demo --real` wrote there")
    options = parser.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("expected Chromium: apt-get install --no-install-recommends chromium")
    IMAGES.mkdir(exist_ok=True)
    with TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        if options.local is None:
            _reports(folder)
        with sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            if options.local is not None:
                report = (options.local / "pairwise-text" / "report.html").absolute()
                _picture(browser, report, "report-local")
                browser.close()
                return 0
            _picture(browser, folder / "passing.html", "report-passing")
            _picture(browser, folder / "failing.html", "report-failing")
            _picture(browser, folder / "failing.html", "report-failing-dark", scheme="dark")
            _picture(browser, folder / "failing.html", "report-flip", part=".case[open]", key="j")
            _picture(browser, folder / "failing.html", "report-phone", width=390)
            _picture(browser, folder / "comparison.html", "report-comparing")
            browser.close()
    for path in sorted(IMAGES.glob("*.png")):
        print(f"{path.stat().st_size:>9,} {path.name}")
    return 0


def _reports(folder: Path) -> None:
    """Run the suites on both judges, and write their reports with one time for all."""
    from dataclasses import replace

    from calm.results.audit import read
    from calm.results.compare import compare
    from calm.results.reports import comparison, html

    audits = {}
    for name, judge in JUDGES.items():
        results = folder / f"{name}.json"
        _audit(judge, results)
        audit = read(results)
        audits[name] = replace(audit, run=replace(audit.run, started=MOMENT, seconds=12.0))
        html.write(audits[name], folder / f"{name}.html")
    old, new = audits["passing"], audits["failing"]
    comparison.write(compare(old, new), old, new, folder / "comparison.html")


def _audit(judge: str, results: Path) -> None:
    command = [sys.executable, "-m", "pytest", "--pyargs", "calm.suites", "-q", "-p", "no:cacheprovider", "--tb=no"]
    options = ["--calm-cache=off", f"--calm-judge={judge}", f"--calm-results={results}"]
    subprocess.run([*command, *options], check=False, stdout=subprocess.DEVNULL)  # noqa: S603  # our own words; red is shown
    if not results.exists():
        raise SystemExit(f"expected the suites to write {results} for {judge}")


def _picture(
    browser: Browser,
    report: Path,
    name: str,
    *,
    scheme: str = "light",
    width: int = WIDTH,
    part: str = "",
    key: str = "",
) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": HEIGHT},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="Europe/Berlin",
        locale="en-GB",
    )
    page.goto(report.as_uri())
    if key:
        page.keyboard.press(key)
    path = IMAGES / f"{name}.png"
    if part:
        page.locator(part).first.screenshot(path=path)
    else:
        page.screenshot(path=path)
    page.close()


if __name__ == "__main__":
    raise SystemExit(main())
