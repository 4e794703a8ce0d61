"""The HTML report: what it says, that nothing in it can act, and that it stays small."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from html.parser import HTMLParser
from random import Random

import pytest

from calm.core.claims import Outcome
from calm.core.reasons import Kind, because, counted, reason_of
from calm.core.texts import CaseTexts, Exchange
from calm.core.verdict import Scale
from calm.errors import ConfigError
from calm.results.audit import Control, Limit
from calm.results.reports.charts import histogram_of, radar_of
from calm.results.reports.extras import mitigations_of
from calm.results.reports.heading import biases_of, rows_of
from calm.results.reports.html import render, visible, write
from calm.results.reports.texts import compare
from calm.results.sentences import sentence
from calm.results.steps import troubles, verdict_of
from calm.results.wording import bill
from calm.results.wording import tested as asked_of
from tests.reports.planted_audit import empty, finding, judge, prompt, sample, texts, trial

HOSTILE = [
    "<script>alert(1)</script>",
    "</script><script>alert(1)</script>",
    "</style></title></textarea></pre><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)" x=\'',
    "' autofocus onfocus='alert(1)",
    "<svg onload=alert(1)><use href=https://example.org/x#y></svg>",
    "<a href=javascript:alert(1)>here</a> javascript:alert(1)",
    "<!-- --><![CDATA[x]]><?php ?>",
    "{{ 7 * 7 }}{% include '/etc/passwd' %}{# x #}",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe><base href=//example.org><meta http-equiv=refresh content=0>",
    "\u202egnp.exe\u2066\u2069\u200f",
    "a\x00b\x1b[31mred\x1b]8;;https://example.org\x07\x9b\x7f\r",
    "\ud800 lone, \ufeff\u200b hidden, \U000e0041 tag, \u2028 line",
    "&lt;script&gt; &amp; &#0; &#x3c;b>",
]
WHOLE = '<table class="said">'
"""What a case has whose prompts and replies are shown."""
KEPT = {"role", "text", "toward", "away", "other", "made", "cached"}


class Page(HTMLParser):
    """What a browser would find in a document."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.attributes, self.parts, self.within = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, frozenset(name for name, _ in attrs)))
        self.attributes += [(tag, name, value) for name, value in attrs]
        self.within.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_endtag(self, tag):
        while tag in self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data):
        self.parts.append(data)

    @property
    def text(self):
        return "".join(self.parts)

    def values(self, name):
        return [value for _, found, value in self.attributes if found == name]


def poisoned(value, hostile):
    """Return a record in which every text, and every key that a user or model may choose, ends in something hostile."""
    if type(value) is str:
        return value + hostile
    if isinstance(value, Limit):
        return value
    if is_dataclass(value):
        return replace(value, **{f.name: poisoned(getattr(value, f.name), hostile) for f in fields(value)})
    if isinstance(value, Mapping):
        return {k if k in KEPT else poisoned(k, hostile): poisoned(v, hostile) for k, v in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(poisoned(v, hostile) for v in value)
    return value


def scored():
    """Return an audit of a rubric judge with unread criteria, and one finding of rankings."""
    met = [{"c1": True, "c2": False}, {"c1": True, "c2": None}]
    return empty(
        judge=judge(task="rubric", scale={"low": 0.0, "high": 1.0, "step": None, "best": "high"}),
        findings=(
            finding(trials=(trial("r1", met, [{"c1": False, "c2": False}] * 2, hash="h"),)),
            finding(
                key="position/gain/shuffle",
                bias="position",
                perturbation="shuffle",
                trials=(trial("l1", [[["a"], ["b", "c"]]] * 2, [[["b"], ["a"], ["c"]]] * 2, hash="h"),),
            ),
            finding(
                key="sensitivity/net_detection/cut",
                bias="sensitivity",
                expects="WORSE",
                trials=(trial("s1", [7.0, 8.0], [9.0, "!unreadable"], hash="h"),),
            ),
        ),
    )


def large(*, added=60, probes=40, cases=20, reply=300):
    """Return an audit whose prompts hold about 2 kB each, no two alike, with so much added to one of them."""
    rng = Random(5)
    words = [f"{''.join(rng.choices('abcdefghijklmnoprstuvwy', k=rng.randint(2, 9)))}" for _ in range(2000)]

    def said(size):
        return " ".join(rng.choices(words, k=size // 6))

    findings, kept = [], []
    for p in range(probes):
        trials = []
        for c in range(cases):
            case = f"case-{p}-{c}"
            answers = {"good": said(800), "bad": said(800)}
            edited = {**answers, "bad": f"{answers['bad']}\n\n(Source: {said(added)})"}
            question = said(150)
            trials.append(trial(case, ["good"] * 4, ["bad"] * 2, hash="h"))
            kept.append(
                CaseTexts(
                    case=case,
                    hash="h",
                    question=question,
                    reference=None,
                    better="good",
                    prompts={"a": prompt(question, answers), "b": prompt(question, edited)},
                    answers={"clean": answers, "perturbed": edited},
                    clean=((Exchange("a", said(reply)),),) * 4,
                    perturbed=((Exchange("b", said(reply)),),) * 2,
                )
            )
        common = {"bias": f"b{p}", "perturbation": "x", "trials": tuple(trials)}
        findings += [finding(key=f"b{p}/{m}/x", measure=m, **common) for m in ("net_robustness", "gain")]
    return empty(findings=tuple(findings), texts=tuple(kept))


def test_it_opens_with_the_outcome_in_words():
    """The first lines say the outcome as a word and why, the worst finding in a sentence, and how much was tested."""
    page = render(sample())

    text = Page(page).text

    word, why = verdict_of(sample(), green=False)
    said = sentence(troubles(sample())[0].lead)
    body = text[text.index("calm · audit of an LLM judge") :]
    assert word == "RED"
    assert (
        body.index(f"{word}: {why}") < body.index(said) < body.index(asked_of(sample())[1:]) < body.index("to do next")
    )
    assert page.index("<title>RED: ") < page.index("<body")


def test_it_tells_what_was_run_and_found(subtests):
    """Provenance, figures, decisions, reasons, replies and what is left out are all there to read."""
    text = Page(render(sample())).text
    for told in [
        "support-judge",
        "judge-prod-2026-04-14",
        "41d0" * 16,
        "c3ab" * 16,
        "4 clean, 2 perturbed",
        "5,120 made, 1,280 cached, 2 failed, 9 retried (20% replayed)",
        "2,410,000 input, 388,000 output",
        "1.5800 USD",
        "4 min 12 s",
        "4 May 2026, 09:12 UTC",
        "The run was stopped: --calm-max-usd 1.60 was reached.",
        "prompt.system",
        "gain ≤ 0.10",
        "0.31 [0.26, 0.37]",
        "62 / 0 / 3",
        "12 does not apply",
        "the treated answer must not gain",
        "this is disproven",
        "352 cases",
        "a cap was reached: --calm-max-usd 1.60",
        "until 2026-09-01: the next prompt asks in both orders",
        "the judge's prompt shows no author",
        "What a green run does not prove",
        "It gives a source. [[B]]",
        "At which temperature does water boil on a mountain?",
        "See all 62 that speak against the judge",
        "NAME.texts.jsonl",
    ]:
        with subtests.test(told=told):
            assert told in text


def test_the_difference_between_the_prompts_is_marked():
    """What the edit added is marked as inserted, word by word, in the perturbed prompt alone."""
    page = render(sample())

    inserted = set(re.findall(r"<ins>(.*?)</ins>", page, re.DOTALL))

    assert "\n\n(Citation: Harlow, A Handbook of Everyday Physics, 3rd edition, p. 214)" in inserted
    assert page.count("<del>") == 1  # in the words that explain it


def test_texts_are_shown_once_for_all_claims_of_a_probe():
    """Two claims that rest on the same trials share one list of cases."""
    page = render(sample())

    assert page.count("<b>fact-005</b>") == 1


def test_every_chart_has_its_text_alternative():
    """Each drawing is an image with a name that holds its numbers, or is hidden from those who cannot see it."""
    page = Page(render(sample()))

    told = [value for tag, name, value in page.attributes if (tag, name) == ("svg", "aria-label")]

    assert "Failed: measured 0.31 [0.26, 0.37], claim gain ≤ 0.10" in told
    assert "Disagreement: noise 0.03, after the edit 0.34" in told
    assert "Histogram of 186 cases: mean shift 0.31" not in told  # these records name no treated answer
    drawings = [names for tag, names in page.elements if tag == "svg"]
    assert all(names & {"aria-label", "aria-labelledby", "aria-hidden"} for names in drawings)


def test_no_outcome_is_told_by_colour_alone():
    """Every outcome has a word and a shape of its own."""
    page = render(sample())

    shapes = re.findall(r'<symbol id="i-(\w+)"[^>]*>(.*?)</symbol>', page)

    assert {name for name, _ in shapes} == {outcome.value.lower() for outcome in Outcome}
    assert len({shape for _, shape in shapes}) == len(Outcome)


def test_nothing_that_was_written_by_others_becomes_markup(subtests):
    """With something hostile in every text, the page has the elements and attributes of the templates and no others."""
    known = {element for audit in (sample(), scored()) for element in Page(render(audit)).elements}
    known |= {("p", frozenset({"id", "class", "data-w"}))}  # a flip whose edit no command can name
    for hostile in HOSTILE:
        with subtests.test(hostile=hostile):
            pages = [Page(render(poisoned(audit, hostile))) for audit in (sample(), scored())]

            for page in pages:
                assert set(page.elements) <= known
                assert [tag for tag, _ in page.elements].count("script") == 1
                assert visible(hostile) in page.text
                assert all(value.startswith("#") for value in page.values("href"))
                assert all(re.fullmatch(r"[a-z][a-z0-9_-]*", value) for value in page.values("id"))


def test_no_control_or_hidden_character_reaches_the_page(subtests):
    """Control, bidirectional and invisible characters stand there as symbols."""
    for hostile in HOSTILE:
        with subtests.test(hostile=hostile):
            page = render(poisoned(sample(), hostile))

            assert not re.search(
                "[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", page
            )
            page.encode("utf-8")


def test_the_policy_allows_this_script_and_nothing_else():
    """The page's policy names the hash of its one script, and no source of anything from elsewhere."""
    text = render(sample())

    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    policy = next(v for v in Page(text).values("content") if "default-src" in v)

    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert f"style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_it_asks_nothing_of_anyone():
    """No element names a place outside the page."""
    page = Page(render(sample()))

    assert not [a for a in page.attributes if a[1] in ("src", "srcset", "action", "data", "poster", "style", "srcdoc")]
    assert {tag for tag, name, _ in page.attributes if name == "href"} == {"a", "use"}
    assert "url(" not in render(sample())
    assert "@import" not in render(sample())


def test_anchors_are_unique_and_links_lead_somewhere():
    """Keys that differ in signs alone get different anchors, and every link has its target."""
    twins = tuple(finding(key=key, bias=key) for key in ("a/gain/b", "a-gain-b", "A gain b", "\u00e4\u00e4", ""))
    page = Page(render(replace(sample(), findings=(*sample().findings, *twins))))

    ids = page.values("id")

    assert len(set(ids)) == len(ids)
    assert {value[1:] for value in page.values("href")} <= set(ids)
    assert "f-authority-gain-rotation" in ids


def test_an_audit_that_asked_nothing_is_not_green():
    """Without findings the report says that nothing is proven."""
    page = Page(render(empty()))

    assert "Nothing was asked, so that nothing is proven." in page.text
    assert "NOT GREEN: no claim passed" in page.text
    assert asked_of(empty())[1:] in page.text


def test_findings_without_texts_show_their_verdicts():
    """Without texts the telling cases are listed with the codes of their verdicts."""
    page = Page(render(replace(sample(), texts=())))

    flips = [value for _, name, value in page.attributes if name == "id" and value.startswith("c-authority")]
    assert len(flips) == 62
    assert "fact-061" in page.text
    assert "said" not in page.values("class")


def test_an_interrupted_run_shows_its_notes():
    """What happened to a run that has no figures yet stands at the top."""
    run = replace(empty().run, notes=(reason_of("interrupted by the user"),), usd=None, calls={}, started="", tokens={})

    page = Page(render(empty(run=run)))

    assert "interrupted by the user" in page.text
    assert "price not known" in page.text


def test_it_says_first_what_an_unfinished_run_is_missing():
    """The head names the claims without all their data, by the reason."""
    page = Page(render(sample()))

    told = page.text.index("This run is not complete. 1 claim is without all the data:")

    assert told < page.text.index("What is wrong, and what to do next", told)
    assert "sensitivity/net_detection/swap_number" in page.text[told : told + 300]


def test_what_a_cap_stopped_is_one_line_with_a_count():
    """Many claims, each with a count of cases of its own; and 2 of 60 cases are said to be too few."""
    capped = because(Kind.CAPPED, "--calm-max-calls 200")
    nothing = {"measure": "gain", "outcome": Outcome.INCOMPLETE, "value": 0.0, "low": -1.0, "high": 1.0, "n": 2}
    lost = [replace(finding(**nothing, key=f"b{i}/gain", bias=f"b{i}"), reason=counted({capped: i})) for i in range(9)]
    calls = {"made": 200, "cached": 0, "failed": 1, "unmade": 13_740, "retried": 0, "recorded": 0}

    text = Page(render(empty(findings=tuple(lost), run=replace(empty().run, calls=calls)))).text

    assert f"{capped} (9 claims)" in text
    assert "200 made, 0 cached, 1 failed, 0 retried" in text
    assert "Replies are missing, so nothing is decided." in text
    assert "0.00 [" not in text


def test_what_changed_since_the_baseline_comes_first():
    """Claims that got worse are listed with their outcome and value before and now."""
    text = Page(render(sample())).text

    assert "Outcomes: 1 worse, 0 better, 0 as before." in text
    assert "authority/gain/rotation: passed → failed, 0.04 → 0.31" in text


def test_without_a_baseline_nothing_is_said_of_one():
    """A run without a baseline has no such section."""
    first, *rest = sample().findings

    assert "Since the baseline" not in render(replace(sample(), findings=(replace(first, baseline=None), *rest)))


def test_every_case_ends_in_the_command_that_asks_again():
    """The command names judge, case, edit and seed, quoted for a shell."""
    row = trial("it's; rm -rf /", ["good"] * 4, ["bad"] * 2, hash="h", edit="cite_book")
    planted = judge(name="planted", fingerprint="planted-2:x", parameters={"noise": 0.03, "seed": 7})
    audit = empty(judge=planted, findings=(finding(trials=(row,)),), texts=(texts("it's; rm -rf /", "h"),))

    text = Page(render(audit)).text

    assert "calm try planted:noise=0.03,seed=7 '--case=it'\"'\"'s; rm -rf /' --edit=cite_book --seed=1" in text


def test_a_histogram_counts_cases_by_their_shift():
    """Cases that went all the way, half of it and nowhere stand at 1, 0.5 and 0."""
    arms = [["bad", "bad"], ["bad", "good"], ["good", "good"], ["good", "good"]]
    rows = [replace(trial(f"c{i}", ["good"] * 4, arm, hash=str(i)), target="bad") for i, arm in enumerate(arms)]

    found = histogram_of(rows, "pairwise", Scale(0, 1))

    assert [(round(bar.low + 0.05, 2), bar.count) for bar in found.bars] == [(0.0, 2), (0.5, 1), (1.0, 1)]
    assert found.mean == 0.375


def test_findings_that_differ_in_dose_make_one_curve():
    """The curve stands once, at the first of its probes, with a table of its numbers."""
    common = {"bias": "verbosity", "expects": "NOT_BETTER", "measure": "gain", "claim": Limit("<=", 0.1)}
    doses = [
        finding(key=f"v/gain/pad@{d}", perturbation=f"pad@{d}", dose=d, value=d / 100, **common) for d in (2, 4, 8)
    ]

    page = Page(render(empty(findings=tuple(doses))))

    told = [value for value in page.values("aria-label") if value.startswith("Dose and response")]
    assert told == ["Dose and response: dose 2 0.02, dose 4 0.04, dose 8 0.08"]


def test_an_unknown_price_is_not_shown_as_nothing(subtests):
    """A price that is not known, one that is known in part, a run without cost and a small cost are four things."""
    for usd, unpriced, told in [
        (None, (), "price not known"),
        (None, ("tiny",), "price not known"),
        (0.0, ("tiny",), "price not known"),
        (0.0123, ("tiny",), ">= 0.0123 USD"),
        (0.0, (), "no price needed"),
        (0.0004, (), "0.0004 USD"),
    ]:
        with subtests.test(usd=usd, told=told):
            run = replace(empty().run, usd=usd, unpriced=unpriced)
            assert told in Page(render(empty(run=run))).text
            assert told in bill(empty(run=run))
            assert "0.0000" not in bill(empty(run=run))


def test_criteria_and_rankings_are_shown_in_words():
    """Rubric verdicts name what is met, not met and unread; rankings stand in their order."""
    page = Page(render(scored()))

    assert "met c1; not c2" in page.text
    assert "met c1; unread c2" in page.text
    assert "a > b = c" in page.text
    assert "missed" in page.text


def test_very_long_texts_are_cut_with_a_statement():
    """A reply of a megabyte keeps its beginning and end, and the report says how much is left out."""
    long = "x" * 1_000_000
    kept = texts("c", "h", added=long, replies=([f"{long} [[A]]"] * 4, [f"{long} [[B]]"] * 2))
    audit = empty(findings=(finding(trials=(trial("c", ["good"] * 4, ["bad"] * 2, hash="h"),)),), texts=(kept,))

    page = Page(render(audit))

    assert "998,806 characters left out" in page.text
    assert "[[B]]" in page.text
    assert "too long to compare by words" in page.text
    assert len(page.text) < 75_000


def test_a_large_audit_makes_a_small_file():
    """Forty probes with twenty cases each of ordinary length stay below two megabytes, with all their texts."""
    page = render(large())

    assert len(page.encode()) < 2_000_000
    assert page.count(WHOLE) == 800


def test_texts_beyond_the_budget_are_left_out_with_a_statement():
    """With long edits the first cases of every probe keep their texts; of the others there is a line."""
    page = render(large(added=2_000))

    shown = [group.count(WHOLE) for group in page.split('<details class="group"')[1:]]

    assert len(page.encode()) < 2_000_000
    assert page.count('<details class="case"') == 800
    assert 40 <= sum(shown) < 800
    assert max(shown) - min(shown) <= 1


def test_a_prompt_that_did_not_change_is_shown_once():
    """Where both arms saw the same prompt, it is shown once and said to be the same."""
    kept = replace(texts("c", "h"), perturbed=((Exchange("k1", "[[B]]"),),) * 2)
    audit = empty(findings=(finding(trials=(trial("c", ["good"] * 4, ["bad"] * 2, hash="h"),)),), texts=(kept,))

    assert "Prompt the same in both arms" in Page(render(audit)).text


def test_a_control_arm_is_named_as_such():
    """Where another edit is the arm to compare with, its verdicts are not called clean."""
    row = trial("c", [], ["bad"] * 2, hash="h", control=["good"] * 4)
    page = Page(render(empty(findings=(finding(against="neutral", trials=(row,)),), texts=(texts("c", "h"),))))

    assert "Compared with the case after neutral, not with the clean one." in page.text
    assert "control 1, 2, 3, 4" in page.text
    assert "user, control" in page.text


def test_a_prompt_that_was_not_kept_is_said_to_be_missing():
    """An exchange whose prompt is in no record leads to a statement, not to an error."""
    kept = replace(texts("c", "h"), prompts={})
    audit = empty(findings=(finding(trials=(trial("c", ["good"] * 4, ["bad"] * 2, hash="h"),)),), texts=(kept,))

    assert "This prompt was not kept." in Page(render(audit)).text


def test_it_is_written_whole(tmp_path):
    """The file holds the report, and a place that cannot be written is a configuration error."""
    path = tmp_path / "new" / "report.html"
    (tmp_path / "file").write_text("")

    write(sample(), path)

    assert path.read_text("utf-8") == render(sample())
    with pytest.raises(ConfigError, match="cannot be written"):
        write(sample(), tmp_path / "file" / "report.html")


def test_a_comparison_holds_both_texts(subtests):
    """The pieces of each side make up its text, and what is alike is alike on both."""
    for old, new in [
        ("the sky is blue", "the sea is blue"),
        ("", "all new"),
        ("all gone", ""),
        ("the sky", "the skyline"),
        ("one two three", "three two one"),
        ("a b", "a b a b"),
    ]:
        with subtests.test(old=old, new=new):
            found = compare(old, new)

            assert "".join(p.text for p in found.old) == old
            assert "".join(p.text for p in found.new) == new
            alike = [[p.text for p in side if p.kind == "same"] for side in (found.old, found.new)]
            assert alike[0] == alike[1]


def test_a_comparison_does_not_split_words():
    """A word that grew is shown as another word."""
    found = compare("the sky is blue", "the skyline is blue")

    assert [p.text for p in found.new if p.kind == "new"] == ["skyline"]


def test_a_comparison_of_long_texts_shows_what_differs_and_counts_the_rest():
    """Of a megabyte that differs in a word, that word and its surroundings are shown, and all else is counted."""
    common = "word " * 200_000

    found = compare(f"{common}old {common}", f"{common}new {common}")

    assert [p.text for p in found.old if p.kind == "gone"] == ["old"]
    assert sum(len(p.text) + p.size for p in found.old) == len(common) * 2 + 4
    assert sum(len(p.text) for p in found.old) < 500


PREFERENCE = {
    "judges": ["a-1", "b-1"],
    "generators": ["a-1", "a-2", "b-1"],
    "families": {"a-1": "a", "a-2": "a", "b-1": "b"},
    "unit": "mean score",
    "matrix": [[0.9, 0.7, 0.5], [0.4, None, 0.8]],
    "rows": [{"judge": "a-1", "excess": 0.21}, {"judge": "b-1", "excess": None}],
    "perplexity": [{"judge": "a-1", "series": {"own": [[-1, 0.4], [1, 0.8]], "others": [[-1, 0.5], [1, 0.5]]}}],
}
MITIGATIONS = {
    "rows": [
        {"set": "none", "outcome": "FAIL", "robustness": 0.7, "accuracy": 0.9, "calls_per_verdict": 1, "usd": 0.5},
        {"set": "swap", "outcome": "PASS", "robustness": 0.9, "accuracy": 0.9, "calls_per_verdict": 2, "usd": 1.0},
        {"set": "vote", "outcome": "FAIL", "robustness": 0.7, "accuracy": 0.9, "calls_per_verdict": 3, "usd": 1.5},
    ],
    "attack_grid": {"rows": ["plea"], "columns": ["none", "swap"], "matrix": [[0.3, 0.1]], "unit": "success rate"},
}


def test_self_preference_marks_self_and_family():
    """The heat map is a table whose own and family cells say so in words."""
    page = render(empty(extras={"self_preference": PREFERENCE}))

    cells = re.findall(r'<td class="h\d+ ?(\w*)">([^<]*)<', page)

    assert cells == [("self", "0.90"), ("family", "0.70"), ("", "0.50"), ("", "0.40"), ("", "–"), ("self", "0.80")]
    assert "own" in Page(page).text


def test_self_preference_is_read_as_its_analysis_writes_it():
    """The analysis's own form is shown: estimates with their bounds, and the reasons of what is missing."""
    estimate = {"value": 0.2, "low": 0.1, "high": 0.3, "n": 50, "level": 0.05, "excluded": {}}
    rows = [{"judge": "a", "family": "f", "published": {"own": 0.7}, "corrected": {"self_preference_excess": estimate}}]
    matrix = {"unit": "mean score", "judges": ["a"], "generators": ["a"], "values": [[1.0]], "marks": [["self"]]}

    text = Page(render(empty(extras={"self_preference": {"judges": rows, "matrices": [matrix]}}))).text

    assert "0.20 [0.10, 0.30]" in text
    assert "mean score, from 1.00 (pale) to 1.00 (strong)" in text


def test_win_rates_by_perplexity_have_their_intervals():
    """Each point of a curve has a bar between the ends of its interval, also in the numbers of the chart."""
    bins = [
        {"difference": x, "rate": 0.5, "rate_low": 0.0, "rate_high": 1.0 if x else 0.75, "n": 8, "low": x, "high": x}
        for x in (-1.0, 0.0)
    ]
    page = render(empty(extras={"self_preference": {"curves": {"a-1": {"judge": bins, "human": [{"n": 0}]}}}}))

    bars = re.findall(r'class="bar l0" x1="([^"]*)" x2="[^"]*" y1="([^"]*)" y2="([^"]*)"', page)

    assert bars == [("15.0", "15.0", "165.0"), ("405.0", "52.5", "165.0")]
    assert "0.50 [0.00, 0.75]" in Page(page).text


def test_mitigations_show_their_frontier():
    """Sets that no other is both cheaper and more robust than are marked, and numbered as in the table."""
    found = mitigations_of({"mitigations": MITIGATIONS})

    assert [(p.number, p.name, p.best) for p in found.frontier.points] == [
        (1, "none", True),
        (2, "swap", True),
        (3, "vote", False),
    ]
    assert "success rate" in render(empty(extras={"mitigations": MITIGATIONS}))


def test_extras_of_the_wrong_kind_are_left_out(subtests):
    """A part that cannot be read costs its section, not the report."""
    for broken in [7, [], {}, {"matrix": 3}, {"rows": "x", "judges": {}, "matrix": [[10**400]]}]:
        with subtests.test(broken=broken):
            page = render(empty(extras={"self_preference": broken, "mitigations": broken, "other": broken}))

            assert '<section id="self-preference">' not in page


def test_what_inert_words_did_stands_beside_a_finding():
    """In the table, and with its place and its rows in the finding's own part; nowhere if they were not asked about."""
    one, *rest = sample().findings
    asked = replace(one, control=Control("text-10, text-20", 0.284, -0.012, 197))

    page = Page(render(replace(sample(), findings=(asked, *rest)))).text

    assert "neutral words moved 0.28, gained −0.01 (in the answer, about 10 or 20 words), on 197 rows." in page
    assert page.count("neutral words moved 0.28, gained") == 3
    assert "neutral words moved" not in Page(render(sample())).text


RUN = finding(
    key="run/gain",
    bias="run",
    node="",
    expects=None,
    task="score",
    summary="All probes of the run together.",
    measure="gain",
    claim=Limit("<=", 0.05),
    reason=because(Kind.OVER_ROWS, 3412, 9),
    value=0.07,
    scale={"low": 1.0, "high": 10.0},
    robustness_rate=None,
    flips={},
)


def test_claims_about_all_probes_stand_first():
    """First in the table, with their points and their sentence, passed or not; and no sentence about one probe."""
    worst = finding(key="authority/worst_gain", measure="worst_gain", claim=Limit("<=", 0.30))
    audit = replace(sample(), findings=(worst, *sample().findings, RUN))

    text = " ".join(Page(render(audit)).text.split())

    table = text[text.index("Claims about all cases, and those that need attention.") :]
    assert table.index("run gain ≤ 0.05") < table.index("0.07 [0.97, 1.00]+0.6 of 9") < table.index("authority gain")
    assert sentence(RUN) in text
    rows = biases_of(rows_of(audit))
    assert rows[0].name == "run"
    authority = next(bias for bias in rows if bias.name == "authority")
    assert [row.finding.measure for row in authority.rows] == ["gain", "net_robustness", "worst_gain"]
    details = text[text.index("All probes of the run together.") :][:200]
    assert "Expected" not in details


def rotated(summary):
    """Return an audit of one probe whose cases got one of two variants."""
    rows = [
        trial(f"c{i}", ["good"] * 4, ["bad" if i < 3 else "good"] * 2, hash=f"h{i}", edit="book" if i % 2 else "link")
        for i in range(10)
    ]
    return empty(findings=(finding(summary=summary, trials=tuple(rows)),))


def test_a_rotation_tells_what_its_variants_do(subtests):
    """In place of a list of names: each variant with its meaning where it is known, its cases, and how many tell."""
    for summary, told in [
        ("One of: book, link.", ["link 5 2 40 %", "book 5 1 20 %"]),
        ("One of:\nbook: Add a book.\nlink: Add a link.", ["linkAdd a link. 5 2 40 %", "bookAdd a book. 5 1 20 %"]),
    ]:
        with subtests.test(summary=summary, told=told):
            page = render(rotated(summary))

            table = page[page.index('class="variants"') :]
            rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table[: table.index("</details>")])
            assert [
                " ".join(
                    re.sub(r"<[^>]+>", "", r.replace("</th><td", "</th> <td").replace("</td><td", "</td> <td")).split()
                )
                for r in rows
            ] == told
            assert "Each case got one of 2 variants" in page
            assert "One of:" not in Page(page).text


def test_a_variant_is_explained_by_a_finding_about_it_alone():
    """With `--calm-every-variant` the record says what each does."""
    audit = rotated("One of: book, link.")
    alone = finding(key="authority/gain/book", measure="gain", perturbation="book", summary="Add an old book.")

    table = Page(render(replace(audit, findings=(*audit.findings, alone)))).text.partition("variants that took turns")[
        2
    ]

    assert "Add an old book." in table[:400]


def test_a_rotation_cannot_inject_meanings():
    """A summary is text, whatever it looks like."""
    page = render(rotated("One of:\nbook: <script>alert(1)</script>\nlink: x"))

    assert page.count("<script>") == 1


def test_a_panel_shows_how_far_its_judges_agree():
    """The coefficients by name, and what leaving out each judge does to the ranking."""
    agreement = {"raw": 0.83, "kappa": None, "alpha": 0.61, "ac1": 0.7}
    panel = {"agreement": agreement, "leave_one_out": [{"judge": "a-1", "tau": 0.333, "best": "b-1"}]}

    text = Page(render(empty(extras={"self_preference": {**PREFERENCE, "panel": panel}}))).text

    part = text[text.index("How far the judges agree") :]
    assert re.search(r"Pairs of judges that say the same\s*0\.83", part)
    assert re.search(r"Krippendorff's alpha\s*0\.61", part)
    assert re.search(r"Fleiss' kappa\s*–", part)
    assert "0.33" in part[: part.index("Judge, data and run")]
    assert "How far the judges agree" not in Page(render(empty(extras={"self_preference": PREFERENCE}))).text


def test_mitigations_open_with_their_conclusion():
    """What the study says, what each set changes with its interval, and what does not apply."""
    change = {
        "set": "swap",
        "measure": "robustness",
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
        "n": 60,
        "p": 0.001,
        "p_adjusted": 0.004,
    }
    more = {
        "said": "The cheapest set is swap.",
        "differences": [change],
        "not_applicable": [{"set": "geval", "reason": "no scores"}],
    }

    text = Page(render(empty(extras={"mitigations": {**MITIGATIONS, **more}}))).text

    part = text[text.index("The same judge with sets of mitigations") :]
    assert part.index("The cheapest set is swap.") < part.index("Calls a verdict") < part.index("0.20 [0.10, 0.30]")
    assert "geval (no scores)" in part
    assert "0.0040" in part


def test_without_texts_no_digest_is_shown_for_a_word():
    """A unit that was left out with the texts is no data to show."""
    grid = {**MITIGATIONS["attack_grid"], "unit": {"sha256": "0" * 16}}

    assert "sha256&#39;" not in render(empty(extras={"mitigations": {**MITIGATIONS, "attack_grid": grid}}))


def test_labels_of_the_radar_do_not_meet(subtests):
    """Few stand level; many are turned like their spokes, and none is drawn twice at one place."""
    for count in [5, 40]:
        with subtests.test(count=count):
            found = radar_of(finding(key=f"b{i}/gain", bias=f"bias-{i:02}") for i in range(count))

            assert len({spoke.label for spoke in found.spokes}) == count
            assert any(spoke.turned for spoke in found.spokes) == (count == 40)
            assert all(-90 <= spoke.turned <= 90 for spoke in found.spokes)  # no label stands on its head


def test_a_ratio_is_on_no_axis_of_shares():
    """Its value is shown as it is, and no mark is drawn where it does not belong."""
    ratio = {"measure": "self_preference_ratio", "claim": Limit("<=", 1.25), "value": 1.6, "low": 1.4, "high": 1.9}
    page = render(empty(findings=(finding(key="self-preference/self_preference_ratio", **ratio),)))

    assert "1.60 [1.40, 1.90]" in page
    assert "measured 1.60" not in page  # the name of a drawing


def test_flips_can_be_read_however_many_findings_there_are():
    """Where findings take nearly all the room, texts of the probes that decide are there all the same."""
    audit = large(probes=60, cases=3)
    alone = tuple(
        replace(f, key=f"{f.key}-{i}", perturbation=f"v{i}", reason=because(Kind.VARIANT), outcome=Outcome.OBSERVED)
        for f in audit.findings
        for i in range(12)
    )

    page = render(replace(audit, findings=(*audit.findings, *alone)))

    assert len(page.encode()) > 1_500_000
    assert page.count(WHOLE) > 60


def test_a_page_a_little_too_large_keeps_its_texts(monkeypatch, subtests):
    """What is too much by a few bytes is made up for by a text or two, not by all."""
    for seed in range(2):
        with subtests.test(seed=seed):
            monkeypatch.setattr("calm.results.reports.html.LARGEST", 800_000 + 1_237 * seed)

            page = render(large(probes=20))

            assert len(page.encode()) <= 800_000 + 1_237 * seed
            assert page.count(WHOLE) > 100


def test_the_worst_variant_has_a_part_of_its_own():
    """It rests on rows of its own: they are not counted among those of the rotation, and no flips are drawn of them."""
    fresh = tuple(
        replace(trial(f"w{i}", [], ["bad"], hash=f"w{i}", edit="cite_url"), inert=("good",), target="bad")
        for i in range(7)
    )
    worst = finding(
        key="authority/worst_gain/rotation",
        perturbation="rotation",
        measure="worst_gain",
        claim=Limit("<=", 0.30),
        outcome=Outcome.FAIL,
        flips={},
        trials=fresh,
        asks="0+1",
    )
    text = " ".join(Page(render(replace(sample(), findings=(*sample().findings, worst)))).text.split())

    assert "authority · rotation · worst variant" in text
    part = text[text.index("authority · rotation · worst variant") :]
    assert "Asks a case: 0 clean, 1 perturbed, 1 with neutral words" in part
    assert "7 cases: 7 moved" in part
    assert "200 cases: " in text


def test_a_claim_that_was_not_tested_beside_others_of_its_bias_is_on_the_page():
    """It is named by its measure; what was only observed is named, too, and its row stands elsewhere."""
    nothing = {"claim": None, "value": None, "low": None, "high": None, "n": 0}
    worst = finding(
        key="authority/worst_gain", measure="worst_gain", outcome=Outcome.NOT_TESTED, reason="too few fresh", **nothing
    )
    seen = finding(key="tone/gain", bias="tone", outcome=Outcome.OBSERVED, reason=because(Kind.NO_TRUTH))

    page = render(replace(sample(), findings=(finding(), worst, seen)))

    assert "<bdi>authority/worst_gain</bdi></h3>" in page
    assert "<bdi>tone</bdi></h3>" in page
