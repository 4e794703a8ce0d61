"""What a record of `calm self-preference` says on one screen, and first on its page."""

import re

from calm.plugins.self_preference.screen import beside, headline, limits, page, summary

FEW = "preference cannot be told from skill: 3 questions"


def judge(name, pull=None, excess=None, unread=0.0, **published):
    """Return the row of a judge: its pull and its excess with bounds, each on 40 questions."""
    given = {"own_pull": pull, "score_excess": excess}
    corrected = {
        key: {"value": f[0], "low": f[1], "high": f[2], "n": 40, "level": 0.05, "excluded": {}}
        for key, f in given.items()
        if f is not None
    }
    reasons = {} if pull else {"own_pull": FEW}
    published = {"own": 3.5, "received": 3.0, "given": 2.5, "unread": unread, **published}
    return {"judge": name, "family": name[0], "corrected": corrected, "published": published, "reasons": reasons}


def record(*judges, **more):
    """Return a record of judges of scores from 1 to 5."""
    scale = {"low": 1, "high": 5}
    body = {"schema": "calm-self-preference/1", "kind": "score", "items": 40, "scale": scale, "judges": list(judges)}
    return {**body, "seed": 0, "families": {}, "matrices": [], "parts": [], "panel": {}, **more}


def test_each_judge_is_in_the_sentence_that_its_bounds_allow():
    """Proven on either side of 0, not proven, or not known; a bound that is near 0 is not shown as 0."""
    fond, less = judge("fond", (0.4, 0.2, 0.6)), judge("less", (0.1, 0.001, 0.2))
    averse, open_, none = judge("averse", (-0.3, -0.4, -0.1)), judge("open", (0.1, -0.1, 0.2)), judge("none")

    first, likewise, other, unproven, unknown = headline(record(averse, less, open_, fond, none)).splitlines()

    assert first.startswith("Of two equally good answers fond prefers its own in 40 more of 100 cases")
    assert first.endswith("(20 to 60, from 40 questions).")
    assert ("less" in likewise, "0.1 to 20" in likewise) == (True, True)
    assert "averse: -30 (-40 to -10)" in other
    assert "open" in unproven
    assert unknown == f"none: {FEW}."


def test_what_other_families_prefer_as_well_stands_beside_the_pull():
    """A judge is not accused of what all judges like."""
    row = {"judge": "fond", "of": "labelled ties", "outsiders": 0.89}
    fond = record(judge("fond", (1.0, 0.04, 1.0)), parts=[{"name": "equal_answers", "rows": [row]}])

    assert "from 40 questions; other families prefer the same in 89 more)" in headline(fond)


def test_the_first_author_is_named_once():
    """What is first without a judge is told only where it differs from the whole ranking."""
    ranked = [{"author": name, "rank_mean": place, "rank_mean_with_own": place} for place, name in ((1, "a"), (2, "b"))]
    left = [{"judge": "x", "best": "b"}, {"judge": "y", "best": "a"}]
    told = dict(beside(record(judge("x"), parts=[{"name": "ranking", "rows": ranked}], panel={"leave_one_out": left})))

    assert told["Best authors"] == "a, b; own verdicts change no place; b is first without x"


def test_two_framings_are_told_whatever_the_other_one_is():
    """The twin of the prompt, or its scale turned over."""
    for other in ("negative", "inverted"):
        rows = [
            {"judge": "x", "figure": "own minus received", "framing": framing, "difference": {"value": value}}
            for framing, value in (("standard", 0.1), (other, 0.7))
        ]
        told = dict(beside(record(judge("x"), parts=[{"name": "self_evaluation_tests", "rows": rows}])))

        assert "0.10 to 0.70 points of 1 to 5" in told["Asked the other way round"]


def test_without_equal_answers_the_excess_is_told_in_points_and_what_it_may_be():
    """0.8 points of a scale of four; where scales differ it is a share, which is said."""
    judges = judge("a", None, (0.8, 0.4, 1.2)), judge("b", None, (0.0, -0.1, 0.1))
    shares = judge("a", None, (0.2, 0.1, 0.3)), judge("b", None, (0.0, -0.1, 0.1))

    points, share = record(*judges), record(*shares, scale=None)

    assert "0.80 points more than judges of other families do (0.40 to 1.20," in headline(points)
    assert headline(points).splitlines()[-1] == f"All judges: {FEW}."
    assert "20 % of the scale more" in headline(share)
    assert (limits(points, {}), len(limits(share, {}))) == ([], 1)
    assert "points of 1 to 5" in summary(points, 80)
    assert "points" not in summary(share, 80)


def test_twelve_judges_with_long_names_fit_one_screen():
    """80 columns, a row for each; what does not fit is left to the page, unread replies are not."""
    names = [f"a-model-of-a-long-name-{n:02}" for n in range(12)]
    body = record(*(judge(name, (0.1, 0.0, 0.2), (0.1, 0.0, 0.2), unread=0.004) for name in names))

    told = summary(body, 80, page="page.html").splitlines()

    assert all(sum(line.startswith(name) for line in told) == 1 for name in names)
    assert max(map(len, told)) <= 80
    assert len(told) <= 12 + 19
    assert re.search(r"  unread\b", "\n".join(told))
    assert any("page.html" in line for line in told)


def test_a_page_opens_with_the_sentences_and_the_table_and_escapes_names():
    """Both stand before the heat map; a name is no markup, nor a group of a pattern."""
    name = r"<b>x\1{n}"
    matrix = {"unit": "mean score", "judges": [name], "generators": [name], "values": [[3.5]], "marks": [["self"]]}
    text = page(record(judge(name, (0.4, 0.2, 0.6)), matrices=[matrix]))

    shown = r"&lt;b&gt;x\1{n}"
    first = text.index(f"Of two equally good answers {shown} prefers its own")
    assert "<b>x" not in text
    assert first < text.index("<h2>Each judge</h2>") < text.index('class="heat"')


def test_a_record_of_an_older_version_or_of_another_kind_has_its_page(subtests):
    """Without a scale nothing is said of it; of a kind that is not known all figures are in the folded tables."""
    older = {key: value for key, value in record(judge("a", None, (0.2, 0.1, 0.3))).items() if key != "scale"}
    for body in (older, {**older, "kind": "listwise"}, {**older, "judges": []}):
        with subtests.test(kind=body["kind"], judges=len(body["judges"])):
            assert "scales differ" not in summary(body, 80)
            assert "<h1>" in page(body)


def test_where_few_families_are_left_to_compare_with_the_reader_is_told_what_to_add(subtests):
    """A family that is related to neither author of a pair counts; with one or none a judge of another is missing."""
    for authors, others, told in (("ab", "b", 1), ("abh", "b", 1), ("abh", "bc", 0), ("abc", "bc", 0), ("hi", "b", 0)):
        judges = [judge(name, (0.1, -0.1, 0.2)) for name in ("a", *others)]
        families = dict(zip("abchi", "abchi", strict=True))
        body = record(*judges, families=families, matrices=[{"generators": list(authors)}])
        with subtests.test(authors=authors, judges=len(judges)):
            named = [note for note in limits(body, {}) if note.startswith("All judges") and "add a judge" in note]
            assert (len(named), len(limits(body, {}))) == (told, told)
            assert not named or ("alone" in named[0]) == (authors == "abh")
            assert all(note in page(body) for note in named)
