"""The HTML report: what it says, that nothing in it can act, and that it stays small."""

import re
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from hashlib import sha256
from html.parser import HTMLParser
from random import Random

import pytest

from calm.audit import Limit
from calm.claims import Outcome
from calm.errors import ConfigError
from calm.reports.diff import compare
from calm.reports.html import render, visible, write
from calm.texts import CaseTexts, Exchange
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
        return {k if k in KEPT else k + hostile: poisoned(v, hostile) for k, v in value.items()}
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


def test_it_opens_with_headline_and_outcome_in_words():
    """The first lines say the outcome as a word, and how much was tested."""
    page = render(sample())

    text = Page(page).text

    assert "4 of 5 biases tested, 1 of 2 controls; 3 of 7 claims failed" in text
    assert '<p class="word">Failed</p>' in page
    assert text.index("biases tested") < text.index("Judge and data")


@pytest.mark.parametrize(
    "told",
    [
        "support-judge",
        "judge-prod-2026-04-14",
        "41d0" * 16,
        "c3ab" * 16,
        "4 clean, 2 perturbed",
        "5,120 made, 1,280 cached, 2 failed, 9 retried (20% replayed)",
        "2,410,000 input, 388,000 output",
        "US$ 1.58",
        "4 min 12 s",
        "2026-05-04T09:12:45 UTC",
        "The run was stopped: --calm-max-usd 1.60 was reached.",
        "prompt.system",
        "gain <= 0.10",
        "0.31 [0.26, 0.37]",
        "62 / 0 / 3",
        "12 does not apply",
        "the treated answer must not gain",
        "the whole interval lies beyond the limit 0.10",
        "about 352 cases would decide",
        "--calm-max-usd 1.60 was reached after 61 of 200 cases",
        "until 2026-09-01: the next prompt asks in both orders",
        "the judge's prompt shows no author",
        "What a green run does not prove",
        "It gives a source. [[B]]",
        "At which temperature does water boil on a mountain?",
        "42 more that speak against the judge are left out.",
        "NAME.texts.jsonl",
    ],
)
def test_it_tells_what_was_run_and_found(told):
    """Provenance, figures, decisions, reasons, replies and what is left out are all there to read."""
    assert told in Page(render(sample())).text


def test_the_difference_between_the_prompts_is_marked():
    """What the edit added is marked as inserted, word by word, in the perturbed prompt alone."""
    page = render(sample())

    inserted = set(re.findall(r"<ins>(.*?)</ins>", page, re.DOTALL))

    assert "\n\n(Citation: Harlow, A Handbook of Everyday Physics, 3rd edition, p. 214)" in inserted
    assert "<del>" not in page


def test_texts_are_shown_once_for_all_claims_of_a_probe():
    """Two claims that rest on the same trials share one list of cases."""
    page = render(sample())

    assert page.count("<b>fact-005</b>") == 1


def test_every_interval_has_its_text_alternative():
    """Each plot is an image with a title and a description."""
    page = Page(render(sample()))

    plots = [names for tag, names in page.elements if tag == "svg" and "role" in names]

    assert len(plots) == 8
    assert "Measured 0.31 [0.26, 0.37], limit <= 0.1, on an axis from -0.25 to 1.0." in page.text


def test_no_outcome_is_told_by_colour_alone():
    """Every outcome has a word and a shape of its own."""
    page = render(sample())

    shapes = re.findall(r'<symbol id="i-(\w+)"[^>]*>(.*?)</symbol>', page)

    assert {name for name, _ in shapes} == {outcome.value.lower() for outcome in Outcome}
    assert len({shape for _, shape in shapes}) == len(Outcome)


@pytest.mark.parametrize("hostile", HOSTILE)
def test_nothing_that_was_written_by_others_becomes_markup(hostile):
    """With something hostile in every text, the page has the elements and attributes of the templates and no others."""
    known = {element for audit in (sample(), scored()) for element in Page(render(audit)).elements}

    pages = [Page(render(poisoned(audit, hostile))) for audit in (sample(), scored())]

    for page in pages:
        assert set(page.elements) <= known
        assert [tag for tag, _ in page.elements].count("script") == 1
        assert visible(hostile) in page.text
        assert all(value.startswith("#") for value in page.values("href"))
        assert all(re.fullmatch(r"[a-z][a-z0-9_-]*", value) for value in page.values("id"))


@pytest.mark.parametrize("hostile", HOSTILE)
def test_no_control_or_hidden_character_reaches_the_page(hostile):
    """Control, bidirectional and invisible characters stand there as symbols."""
    page = render(poisoned(sample(), hostile))

    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]", page)
    page.encode("utf-8")


def test_the_policy_allows_this_script_and_nothing_else():
    """The page's policy names the hash of its one script, and no source of anything from elsewhere."""
    text = render(sample())

    script = re.search(r"<script>(.*?)</script>", text, re.DOTALL)[1]
    policy = next(v for v in Page(text).values("content") if "default-src" in v)

    assert f"script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" in policy
    assert policy.startswith("default-src 'none'; style-src 'unsafe-inline'; ")
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
    assert "0 of 0 biases tested" in page.text


def test_findings_without_texts_show_their_verdicts():
    """Without texts the telling cases are listed with the codes of their verdicts."""
    page = Page(render(replace(sample(), texts=())))

    assert "Listed: 20, 0 of them with their texts, the most telling first." in page.text
    assert "fact-019" in page.text
    assert not [names for tag, names in page.elements if tag == "details" and "class" in names]


def test_an_interrupted_run_shows_its_notes():
    """What happened to a run that has no figures yet stands at the top."""
    run = replace(empty().run, notes=("interrupted by the user",), usd=None, calls={}, started="", tokens={})

    page = Page(render(empty(run=run)))

    assert "interrupted by the user" in page.text
    assert "price unknown" in page.text


@pytest.mark.parametrize(("usd", "told"), [(None, "price unknown"), (0.0, "no cost"), (0.0004, "US$ 0.0004")])
def test_an_unknown_price_is_not_shown_as_nothing(usd, told):
    """A price that is not known, a run without cost and a small cost are three things."""
    assert told in Page(render(empty(run=replace(empty().run, usd=usd)))).text


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
    assert len(page.text) < 60_000


def test_a_large_audit_makes_a_small_file():
    """Forty probes with twenty cases each of ordinary length stay below a megabyte and a half, with all their texts."""
    page = render(large())

    assert len(page.encode()) < 1_500_000
    assert page.count('<details class="case">') == 800


def test_texts_beyond_the_budget_are_left_out_with_a_statement():
    """With long edits the first cases of every probe keep their texts, and the others say that they have none."""
    page = render(large(added=2_000))

    shown = page.count('<details class="case">')
    told = [int(n) for n in re.findall(r"Listed: 20, (\d+) of them with their texts", page)]

    assert len(page.encode()) < 1_500_000
    assert sum(told) == shown < 800
    assert max(told) - min(told) <= 1


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


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("the sky is blue", "the sea is blue"),
        ("", "all new"),
        ("all gone", ""),
        ("the sky", "the skyline"),
        ("one two three", "three two one"),
        ("a b", "a b a b"),
    ],
)
def test_a_comparison_holds_both_texts(old, new):
    """The pieces of each side make up its text, and what is alike is alike on both."""
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
