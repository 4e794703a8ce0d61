"""Five hundred hostile texts in a real browser: nothing of them runs, asks or breaks the page."""

from dataclasses import replace
from itertools import product
from random import Random

import pytest

from calm.core.reasons import reason_of
from calm.core.texts import CaseTexts, Exchange
from calm.results.audit import Control
from calm.results.compare import compare
from calm.results.reports import comparison, html
from calm.results.reports.html import visible
from tests.reports.planted_audit import empty, finding, judge, trial

ACTIONS = (
    "window.hurt=1",
    "alert(1)",
    "fetch('https://example.org/?a')",
    "new Image().src='https://example.org/b.png'",
    "document.body.innerHTML=''",
    "location='https://example.org/c'",
)
SHELLS = (
    "<script>{}</script>",
    "</script><script>{}</script>",
    "</style></title></textarea></noscript><script>{}</script>",
    '"><img src=x onerror="{}">',
    "' autofocus tabindex=1 onfocus='{}' x='",
    "<svg onload={}>",
    "<svg><animate onbegin={} attributeName=x dur=1s /><set onend={} /></svg>",
    '<iframe srcdoc="<script>parent.{}</script>"></iframe>',
    '<a href="javascript:{}" id=x>here</a>',
    "<a href='data:text/html,<script>{}</script>'>here</a>",
    "javascript:{}",
    "</style><style>@import 'https://example.org/d.css'; * {{ display: none }} p {{ background: url(//x.example/{}) }}"
    "</style>",
    "<link rel=stylesheet href=https://example.org/e.css><link rel=prefetch href=https://example.org/{}>",
    "<meta http-equiv=refresh content='0;url=https://example.org/{}'><base href=https://example.org/>",
    "<form action=https://example.org/><button autofocus formaction='javascript:{}'>go</button></form>",
    "<object data=https://example.org/f></object><embed src='javascript:{}'>",
    "<math><mtext></form><form><mglyph><svg><mtext><style><path id='</style><img onerror={} src=x>'>",
    "<details open ontoggle={}><summary>x</summary></details>",
    "<template><script>{}</script></template><video><source onerror={}></video>",
    "</pre></bdi></details></section></main></body></html><script>{}</script>",
    "{{{{ {} }}}}{{% include '/etc/passwd' %}}{{# x #}}${{{}}}<%= {} %>",
    "<!--<script>{}</script>--><![CDATA[<script>{}</script>]]>",
    "&lt;script&gt;{}&lt;/script&gt;&#x3c;script&#x3e;{}",
    "\u202e{}\u2066\u200b\ufeff\u2028",
    "\x00{}\x1b]8;;https://example.org\x07\x9b2J\r\n",
    "\ud800{}\U000e0041",
    "../../../etc/passwd?{}",
    "<x style='position:fixed;inset:0;z-index:9' onclick={}>",
)
CHANGES = (
    lambda text: text,
    str.swapcase,
    lambda text: text.replace("<", "<\x00"),
    lambda text: text.replace(" ", "/").replace("=", "\n="),
    lambda text: text * 2,
)
HARM = """() => [
    window.hurt === undefined, document.querySelectorAll("script").length === 1,
    document.querySelectorAll("iframe, img, link, base, object, embed, form, video, math, x, template").length === 0,
    [...document.querySelectorAll("*")].every(e => e.getAttributeNames().every(n => !/^on|^style$|^srcdoc$/.test(n))),
    [...document.querySelectorAll("a")].every(a => a.getAttribute("href").startsWith("#")),
    document.body.lastElementChild.tagName === "SCRIPT", document.querySelector("footer").checkVisibility(),
].every(Boolean)"""


def hostile_texts(count):
    """Return so many different texts, the same in every run."""
    every = [change(shell.format(*[action] * 3)) for shell, action, change in product(SHELLS, ACTIONS, CHANGES)]
    return Random(11).sample(sorted(set(every)), count)


TEXTS = hostile_texts(500)


def hostile(texts):
    """Return an audit with each of the texts as a case, its question, answers, prompt and replies, and all else."""
    findings, kept = [], []
    for number in range(0, len(texts), 10):
        some = texts[number : number + 10]
        trials = []
        for text in some:
            trials.append(trial(text, ["good"] * 2, [text, "!unreadable"], hash="h", edit=text))
            prompts = {"a": ({"role": text, "text": text},), "b": ({"role": "user", "text": f"{text} more"},)}
            said = ((Exchange("a", text),), (Exchange("b", text),))
            kept.append(CaseTexts(text, "h", text, text, text, prompts, {"clean": {text: text}}, said[:1], said[1:]))
        one = some[0]
        findings.append(
            finding(
                key=f"{one}/gain/{number}",
                bias=f"{number} {one}",
                node=f"{one}.py::{one}",
                perturbation=one,
                against=one,
                summary=f"One of:\n{one}: {one}",
                task=one,
                reason=one,
                accepted=one,
                channel=one,
                excluded={one: 3},
                baseline={"outcome": one, one: one},
                control=Control(one, 0.1, 0.02, 7),
                trials=tuple(trials),
            )
        )
    first = texts[0]
    named = judge(name=first, model=first, served=first, parameters={first: first}, about={first: {first: first}})
    run = replace(
        empty().run, started=first, notes=(reason_of(first),), per_finding={f.key: {first: 1.0} for f in findings}
    )
    table = {"judges": [first], "generators": [first], "matrix": [[1]], "rows": [{first: first}], "unit": first}
    panel = {"agreement": {"raw": 0.5, first: 1}, "leave_one_out": [{"judge": first, "tau": 0.1, "best": first}]}
    study = {"rows": [{"set": first, first: first}], "said": first, "not_applicable": [{"set": first, "reason": first}]}
    study |= {"differences": [{"set": first, "measure": first, "value": 0.1, "low": 0.0, "high": 0.2}]}
    extras = {"self_preference": {**table, "panel": panel}, "mitigations": study}
    return empty(judge=named, run=run, findings=tuple(findings), texts=tuple(kept), extras=extras)


def test_nothing_of_five_hundred_hostile_texts_acts(visit, tmp_path):
    """All of them stand in one page, as text, in every place that a text can have; the file's name is hostile, too."""
    path = tmp_path / "'\"><img src=x onerror=alert(1)>.html"
    html.write(hostile(TEXTS), path)

    page = visit(path)
    page.evaluate("document.querySelectorAll('details').forEach(one => (one.open = true))")
    page.keyboard.press("j")
    page.wait_for_timeout(200)  # what would run, runs

    assert len(TEXTS) == 500
    assert page.evaluate(HARM)
    assert page.locator(".probe").count() == 50
    assert page.locator(".case").count() == 500
    shown = page.evaluate("document.body.textContent")
    assert [text for text in TEXTS if visible(text) not in shown] == []


def test_a_hostile_comparison_does_nothing(visit, tmp_path):
    """Two runs with hostile names, keys, cases and verdicts, side by side."""
    scale = {"low": 1.0, "high": 10.0, "step": None}
    old = hostile(TEXTS[:100])
    found = tuple(replace(f, task="pairwise") for f in old.findings)  # of an unknown task nothing compares
    old = replace(old, judge=replace(old.judge, scale=scale), findings=found)
    trials = [tuple(replace(t, perturbed=("good", "good")) for t in f.trials) for f in old.findings]
    found = tuple(replace(f, task="pairwise", value=0.1, trials=t) for f, t in zip(old.findings, trials, strict=True))
    new = replace(old, judge=replace(old.judge, name=TEXTS[-1]), findings=found[1:])
    path = tmp_path / "comparison.html"
    comparison.write(compare(old, new), old, new, path)

    page = visit(path)
    page.wait_for_timeout(200)

    assert page.evaluate(HARM)
    assert page.locator("h2").count() == 5


@pytest.mark.parametrize("unit", ["<b onclick=alert(1)>", "word ", "\u202e\x00"])
def test_a_line_of_a_megabyte_does_no_harm(visit, tmp_path, unit):
    """A question, prompt and reply of a megabyte each are cut, and the page stays small and whole."""
    long = unit * (1_000_000 // len(unit))
    path = tmp_path / "report.html"
    html.write(hostile([long]), path)

    page = visit(path)

    assert path.stat().st_size < 1_500_000
    assert page.evaluate(HARM)
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280
