"""The page that shows two runs side by side."""

from dataclasses import replace
from html.parser import HTMLParser

import pytest

from calm.audit import write
from calm.claims import Outcome
from calm.cli import main
from calm.compare import compare
from calm.reports.comparison import render
from tests.reports import planted_audit

HOSTILE = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\x1b[31m'


def sample():
    """Return the planted audit, of a judge with a scale."""
    audit = planted_audit.sample()
    return replace(audit, judge=replace(audit.judge, scale={"low": 1, "high": 10, "step": None}))


class Tags(HTMLParser):
    """All elements of a page."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


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


@pytest.mark.parametrize("name", ["old", "new"])
def test_a_file_that_is_no_record_is_refused(tmp_path, capsys, name):
    """Exit status 4, and the file is named."""
    for each in ("old", "new"):
        write(sample(), tmp_path / f"{each}.json")
    (tmp_path / f"{name}.json").write_text("[]")

    assert main(["compare", str(tmp_path / "old.json"), str(tmp_path / "new.json")]) == 4
    assert f"{name}.json" in capsys.readouterr().err
