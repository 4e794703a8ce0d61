"""The page that shows two runs side by side."""

import re
from dataclasses import replace

from calm.commands.cli import main
from calm.core.claims import Outcome
from calm.core.texts import Exchange
from calm.results.audit import Limit, write
from calm.results.compare import compare, render_text
from calm.results.reports.comparison import render
from tests.reports import planted_audit
from tests.reports.planted_audit import finding, trial
from tests.reports.tags import Tags

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m'


def sample():
    """Return the planted audit, of a judge with a scale."""
    audit = planted_audit.sample()
    return replace(audit, judge=replace(audit.judge, scale={"low": 1, "high": 10, "step": None}))


def changed(audit):
    """Return an audit in which the first finding got worse, and one is gone."""
    first, *rest = audit.findings
    return replace(audit, findings=(replace(first, outcome=Outcome.FAIL, value=0.5), *rest[:-1]))


def test_what_changed_is_named():
    """The claims that moved, the keys of one run alone, and both fingerprints."""
    old = sample()
    new = replace(changed(old), judge=replace(old.judge, fingerprint="another"))

    page = render(compare(old, new), old, new)

    assert old.findings[0].key in page
    assert old.findings[-1].key in page
    assert "another" in page
    assert "Only in the old run" in page


def test_what_got_worse_and_better_is_told_apart():
    """A claim whose outcome fell is worse, one whose outcome rose is better, and the head counts both."""
    old = sample()
    fallen, risen = old.findings[2], old.findings[0]
    new = replace(
        old,
        findings=(replace(risen, outcome=Outcome.PASS), old.findings[1], replace(fallen, outcome=Outcome.FAIL)),
    )

    page = render(compare(old, new), old, new)

    assert "1 claim got worse, 1 got better" in page
    worse, better = page.index('id="worse"'), page.index('id="better"')
    assert worse < page.index(fallen.key) < better < page.index(risen.key)


def flipped():
    """Return two runs in which the judge no longer falls for a source, and both kept texts."""
    new = sample()
    cited, *rest = new.findings
    calmer = tuple(replace(t, perturbed=("good", "good")) for t in cited.trials)
    old = replace(new, findings=(replace(cited, trials=calmer, value=0.0), *rest), texts=())
    return old, new


def test_page_and_terminal_count_alike():
    """Both show one classification: of claims, of what is the same, and of verdicts and their cases."""
    old, new = flipped()
    found = compare(old, new)

    page, text = render(found, old, new), render_text(found, None)

    assert found.headline in page
    assert text.startswith(f"{found.headline}\n")
    assert "62 verdicts of 62 cases flipped" in found.headline
    for count in (f"{found.same} claims are the same in both runs", f"{found.unmeasured} claims were measured in"):
        assert count in page
        assert count in text
    kinds = len(found.worse), len(found.better), len(found.unclear), found.same, found.unmeasured
    assert sum(kinds) == len(found.moved)


def test_a_flip_shows_its_question_its_edit_and_what_was_said():
    """Where a run kept the texts of its case; the other flips show their verdicts."""
    old, new = flipped()

    page = render(compare(old, new), old, new)

    assert page.count("At which temperature does water boil") == page.count('class="flip"') == 24
    assert page.count('class="bare"') == 62 - 24
    assert "<ins>" in page
    assert "A Handbook of Everyday Physics" in page
    assert "It gives a source. [[B]]" in page
    assert page.count("Its reply was not kept.") == 24


def test_a_flip_of_which_little_was_kept_shows_the_words_of_its_edit():
    """Beyond the first cases of a probe a run keeps the question's beginning, and what came and went."""
    old, new = flipped()
    few = {"prompts": {}, "answers": {}, "clean": (), "perturbed": ()}
    kept = replace(new.texts[0], **few, came="(Citation: a book)", went="no source")
    new = replace(new, texts=(kept,))

    page = render(compare(old, new), old, new)

    assert page.count('class="flip"') == 1
    assert "Citation: " in page
    assert page.count("Its reply was not kept.") == 2


def test_texts_can_be_left_out(tmp_path, capsys):
    """`--texts none`: the page has the verdicts, and no text of a case."""
    for name, audit in zip(("old", "new"), flipped(), strict=True):
        write(audit, tmp_path / f"{name}.json")
    files = [str(tmp_path / f"{name}.json") for name in ("old", "new")]

    status = main(["compare", *files, "-o", str(tmp_path / "c.html"), "--texts", "none"])

    page = (tmp_path / "c.html").read_text("utf-8")
    assert status == 0
    assert "62 verdicts of 62 cases flipped" in page
    assert not [word for word in ("temperature", "Handbook", "[[B]]") if word in page]


def test_a_page_of_many_long_texts_stays_small():
    """Flips beyond the budget show their verdicts, and all are listed."""
    old, new = flipped()
    long = tuple(
        replace(t, perturbed=((Exchange("k2", "x" * 9_000),),), question="q " * 9_000, answers=answers(t.case))
        for t in (replace(new.texts[0], case=f"fact-{i:03}", hash=f"h{i}") for i in range(62))
    )
    new = replace(new, texts=long)

    page = render(compare(old, new), old, new)

    assert len(page) < 2_500_000
    assert page.count('class="flip"') + page.count('class="bare"') == 62
    assert page.count('class="bare"') > 0


def answers(case):
    """Return answers that were rewritten at length."""
    return {arm: dict.fromkeys(("good", "bad"), f"{case}{sign} " * 5000) for arm, sign in ARMS.items()}


ARMS = {"clean": "", "perturbed": "!"}


def test_the_axis_is_as_long_as_the_intervals():
    """Its ends are ticks around all bounds; zero is always on it."""
    pairs = moved_a_little(1)
    page = render(compare(*pairs), *pairs)

    labels = re.findall(r'<text x="[\d.]+%" y="14">([^<]+)</text>', page)

    assert labels[0] == "0"
    assert 0.05 < float(labels[-1]) < 0.2


def test_judges_with_other_tasks_are_refused_by_the_command(tmp_path, capsys):
    """Exit status 4, both files and both tasks; no page is written."""
    old = sample()
    write(old, tmp_path / "old.json")
    write(replace(old, judge=replace(old.judge, task="score")), tmp_path / "new.json")
    files = [str(tmp_path / f"{name}.json") for name in ("old", "new")]

    status = main(["compare", *files, "-o", str(tmp_path / "c.html")])

    told = capsys.readouterr().err
    assert status == 4
    assert all(word in told for word in (*files, "task='pairwise'", "task='score'"))
    assert not (tmp_path / "c.html").exists()


def test_intervals_are_kept_outside_a_terminal(tmp_path, capsys):
    """In a file or a pipe no line is cut."""
    pairs = moved_a_little(1)
    for name, audit in zip(("old", "new"), pairs, strict=True):
        write(audit, tmp_path / f"{name}.json")

    main(["compare", *(str(tmp_path / f"{name}.json") for name in ("old", "new"))])

    change = compare(*pairs).moved[0].difference
    assert f"{change.value:+.2f} [{change.low:+.2f}, {change.high:+.2f}], n=200" in capsys.readouterr().out


def test_nothing_that_a_user_wrote_becomes_markup():
    """A judge's name with tags and control characters is text."""
    old = sample()
    new = replace(old, judge=replace(old.judge, name=HOSTILE))

    page = render(compare(old, new), old, new)

    tags = Tags()
    tags.feed(page)
    assert [tag for tag, _ in tags.found].count("script") == 1
    assert "img" not in {tag for tag, _ in tags.found}
    assert not any(name.startswith("on") for _, attributes in tags.found for name in attributes)
    assert "\x1b" not in page


def test_the_command_writes_it(tmp_path, capsys):
    """`calm compare OLD NEW -o FILE.html` prints and writes."""
    for name, audit in (("old", sample()), ("new", changed(sample()))):
        write(audit, tmp_path / f"{name}.json")

    status = main(["compare", *(str(tmp_path / f"{n}.json") for n in ("old", "new")), "-o", str(tmp_path / "c.html")])

    assert status == 0
    assert "calm comparison" in (tmp_path / "c.html").read_text("utf-8")
    assert sample().findings[-1].key in capsys.readouterr().out


def test_a_file_that_is_no_record_is_refused(tmp_path, capsys, subtests):
    """Exit status 4, and the file is named."""
    for name in ["old", "new"]:
        with subtests.test(name=name):
            for each in ("old", "new"):
                (tmp_path / f"{each}.json").unlink(missing_ok=True)
                write(sample(), tmp_path / f"{each}.json")
            (tmp_path / f"{name}.json").write_text("[]")

            assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 4
            assert f"{name}.json" in capsys.readouterr().err


def test_a_figure_of_a_whole_table_is_not_dropped():
    """It has no cases to pair, and its outcome is compared all the same; a ratio above 1 keeps its value."""
    claim = {"measure": "self_preference_ratio", "claim": Limit("<=", 1.25), "trials": ()}
    was = finding(key="self-preference/self_preference_ratio", value=1.1, low=1.0, high=1.2, **claim)
    now = replace(was, outcome=Outcome.FAIL, value=1.6, low=1.4, high=1.9)
    old, new = (replace(sample(), findings=(one,)) for one in (was, now))

    found = compare(old, new)

    assert [(m.key, m.difference) for m in found.moved] == [(was.key, None)]
    assert "1 claim got worse, none got better" in render(found, old, new)
    assert "1.60 [1.40, 1.90]" in render(found, old, new)
    assert "1.10 -> 1.60" in render_text(found, 200)


def moved_a_little(count):
    """Return two runs with so many claims, each of which moved by a little more than its own interval."""
    arms = ["good"] * 190 + ["bad"] * 10
    pairs = []
    for perturbed in (["good"] * 200, arms):
        rows = [
            replace(trial(f"c{i:03}", ["good"] * 4, [arm] * 2, hash=f"h{i}"), target="bad")
            for i, arm in enumerate(perturbed)
        ]
        value = sum(arm == "bad" for arm in perturbed) / 200
        one = finding(measure="gain", claim=Limit("<=", 0.4), value=value, low=-0.02, high=0.1, trials=tuple(rows))
        named = tuple(replace(one, key=f"bias-{i}/gain", bias=f"bias-{i}") for i in range(count))
        pairs.append(replace(sample(), findings=named))
    return pairs


def test_among_many_claims_more_is_asked_of_each():
    """What is worse by its own interval alone is not called so among a hundred: chance moves some of them as far."""
    alone, many = (compare(*moved_a_little(count)) for count in (1, 100))

    assert alone.moved[0].difference.sure
    assert {m.difference.low > 0 for m in many.moved} == {True}
    assert {m.difference.sure for m in many.moved} == {False}
    assert (len(alone.worse), len(many.worse)) == (1, 0)
