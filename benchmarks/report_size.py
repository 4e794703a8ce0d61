"""
Size, time and memory of the HTML report: a full audit, and one of 100,000 trials.

    python benchmarks/report_size.py [--json FILE]

Each report is made in a process of its own, so that its peak memory is its own (the audit that it holds included).
Chromium then opens it from disk. Both are done several times, and the best is taken: it is the least disturbed by
whatever else the machine does. Exits 1 if a limit is not kept.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from calm.core.claims import Outcome
from calm.core.reasons import NONE, Kind, Reason
from calm.core.texts import CaseTexts, Exchange
from calm.results.audit import Audit, Finding, JudgeRecord, Limit, Run, TrialRecord
from calm.results.reports import html

SIZES = {"40 probes, 20 examples each": (40, 200, 20), "100,000 trials": (100, 1000, 20)}
"""Probes, cases of each, and cases of each whose texts were kept."""
LIMITS = {"bytes": 1_500_000, "render_s": 10.0, "memory_mb": 500.0, "open_s": 2.0}
OPENINGS, MAKINGS = 5, 2


def planted(probes: int, cases: int, told: int) -> Audit:
    """Return an audit of so many probes, whose texts are of ordinary length and differ from case to case."""
    rng = Random(3)
    words = ["".join(rng.choices("abcdefghilmnoprstuvw", k=rng.randint(2, 9))) for _ in range(2000)]

    def said(size: int) -> str:
        return " ".join(rng.choices(words, k=size // 6))

    findings: list[Finding] = []
    texts: list[CaseTexts] = []
    for probe in range(probes):
        bias = f"bias-{probe:03}"
        trials = tuple(_trial(rng, probe, case) for case in range(cases))
        moved = [t for t in trials if t.perturbed[0] != t.clean[0]]
        for one in moved[:told]:
            answers = [said(800), said(800)]
            prompts = {
                "a": ({"role": "user", "text": "\n\n".join(answers)},),
                "b": ({"role": "user", "text": "\n\n".join([answers[0], f"{answers[1]} (Source: {said(60)})"])},),
            }
            replies = tuple((Exchange(key, said(300)),) for key in "aaaabb")
            texts.append(CaseTexts(one.case, one.hash, said(150), None, "good", prompts, {}, replies[:4], replies[4:]))
        findings += [_finding(bias, measure, trials) for measure in ("gain", "net_robustness", "unreadable_gain")]
    judge = JudgeRecord("judge", "pairwise", "f", "model", None, "0" * 64, {}, {"temperature": 0.0})
    run = Run("2026-05-04T09:12:45+00:00", 60.0, {"made": probes * cases * 2, "cached": 0, "failed": 0, "retried": 0})
    return Audit("0", judge, {"n": cases, "sha256": "0" * 64}, 0, "4+2", tuple(findings), run=run, texts=tuple(texts))


def _trial(rng: Random, probe: int, case: int) -> TrialRecord:
    after = ("bad", "bad") if rng.random() < 0.2 else ("good", rng.choice(("good", "bad")))
    return TrialRecord(
        case=f"case-{case:04}",
        edit="cite",
        hash=f"{probe:x}-{case:x}",
        pilot="good",
        clean=("good",) * 4,
        perturbed=after,
        control=(),
        target="bad",
        better="good",
    )


def _finding(bias: str, measure: str, trials: tuple[TrialRecord, ...]) -> Finding:
    return Finding(
        key=f"{bias}/{measure}",
        node=f"suites/test_{bias}.py::test_it",
        bias=bias,
        perturbation=None,
        expects="NOT_BETTER",
        dose=None,
        summary="Append an invented source to the weaker answer.",
        task="pairwise",
        measure=measure,
        claim=Limit(">=", 0.95) if measure == "net_robustness" else Limit("<=", 0.1),
        outcome=Outcome.FAIL,
        reason=NONE,
        value=0.4,
        low=0.3,
        high=0.5,
        level=0.05,
        n=len(trials),
        excluded={Reason(Kind.NO_ROOM): 6},
        robustness_rate=0.6,
        consistency_rate=1.0,
        flips={"toward": 20, "away": 1, "other": 0},
        cases_to_decide=None,
        channel="answer",
        asserted=True,
        accepted=None,
        asks="4+2",
        trials=trials,
    )


def _make(name: str, path: Path) -> dict[str, float]:
    """Make a report in this process, and return what it took beyond holding the audit."""
    audit = planted(*SIZES[name])
    took = []
    for _ in range(MAKINGS):
        start = time.perf_counter()
        html.write(audit, path)
        took.append(time.perf_counter() - start)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kilobytes on Linux
    return {"bytes": float(path.stat().st_size), "render_s": min(took), "memory_mb": peak}


def _open(path: Path) -> float:
    """Return the time from navigation to the load event."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("expected Chromium: apt-get install --no-install-recommends chromium")
    times = []
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        for _ in range(OPENINGS):
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(path.as_uri())
            times.append(page.evaluate("performance.getEntriesByType('navigation')[0].loadEventEnd / 1000"))
            page.close()
        browser.close()
    return float(min(times))


def main() -> int:
    """Measure, print, and say whether the limits are kept."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures")
    parser.add_argument("--make", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.make:
        print(json.dumps(_make(options.make[0], Path(options.make[1]))))
        return 0
    figures = {}
    print(f"{'report':<30}{'bytes':>12}{'made in, s':>12}{'memory, MB':>12}{'opens in, s':>12}")
    with TemporaryDirectory() as folder:
        for name in SIZES:
            path = Path(folder) / "report.html"
            made = subprocess.run(
                [sys.executable, __file__, "--make", name, str(path)], check=True, capture_output=True, text=True
            )
            found = {**json.loads(made.stdout), "open_s": _open(path)}
            figures[name] = found
            size, took, memory, opened = (found[f] for f in LIMITS)
            print(f"{name:<30}{size:>12,.0f}{took:>12.2f}{memory:>12.0f}{opened:>12.2f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    over = [f"{name}: {f}" for name, found in figures.items() for f, limit in LIMITS.items() if found[f] > limit]
    print(f"over the limit: {', '.join(over)}" if over else f"all within {LIMITS}")
    return 1 if over else 0


if __name__ == "__main__":
    raise SystemExit(main())
