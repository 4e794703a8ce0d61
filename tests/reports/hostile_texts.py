"""Texts that want to act wherever they are shown, and an audit that holds one in every place."""

from dataclasses import replace

from calm.core.claims import Outcome
from calm.core.reasons import reason_of
from calm.results.audit import Control, Limit, Run
from tests.reports.planted_audit import empty, finding, judge, texts, trial

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)><svg onload=alert(1)>",
    "| a | b |\n|---|---|\n| c | d |",
    "\n\n# Heading\n\n- item\n\n```\ncode",
    "`` ` code ` `` ~~~",
    "![beacon](https://example.org/x.png) [link](javascript:alert(1))",
    "<https://example.org> https://example.org www.example.org me@example.org",
    "@everybody @org/team #123 owner/repo#7 GH-1",
    "</details></table></td><!-- -->",
    "&lt;b&gt; &#60;i&#62; &amp;",
    "\x1b[31mred\x1b]8;;https://example.org\x07link\x9b2J\x00\x08\r",
    "\u202egnp.exe\u2066\u2069\u200b\ufeff\u2028next",
    "\ud83d half",
    '=HYPERLINK("https://example.org")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1+1)",
    "\t=1+1",
    "\uff1d1+1",
    "{0} {{1}} [text](1) %SRCROOT%",
    "*bold* _it_ ~~no~~ $x$ :tada: \\",
    "x" * 1_000_000,
    "../../../etc/passwd",
    "C:\\Windows\\x",
]


def hostile_audit(text):
    """Return an audit that holds a text wherever one can stand."""
    record = trial(text or "x", ["good", text, "!unreadable"], [text, "good"], hash=text, edit=text)
    record = replace(record, target=text, damaged=text, hit=text, better=text, slots=((text, "a"), ("a", text)))
    shared = {"trials": (record,), "summary": text, "reason": text, "channel": text, "against": text, "dose": 1.0}
    keyed = {"bias": text, "perturbation": text, "node": f"{text}::{text}", "excluded": {text: 3}}
    found = tuple(
        finding(
            **shared,
            **keyed,
            key=f"{text}/gain/{number}",
            measure="gain",
            claim=Limit("<=", 0.1),
            outcome=outcome,
            accepted=text if number % 2 else None,
            control=Control(text, 0.1, 0.02, 7),
            baseline={"value": 0.5, "low": 0.4, "high": 0.6, "outcome": text},
        )
        for number, outcome in enumerate((*Outcome, *Outcome))
    )
    told = judge(name=text, model=text, served=text, prompt_sha256=text, about={"files": [text], "prompt": text})
    run = Run(started=text, calls=dict(empty().run.calls), notes=(reason_of(text),))
    return empty(judge=told, findings=found, run=run, texts=(texts(text or "x", text),))
