"""An edit of a conversation, of passages or of a run: each report says where it was, and opens there."""

from calm.core.claims import Outcome
from calm.core.texts import CaseTexts, Change, Exchange
from calm.results.reports.html import render
from calm.results.reports.markdown import render_comment as comment
from calm.results.reports.texts import Room, compare, shown_texts
from tests.reports.planted_audit import empty, finding, trial

HOSTILE = "<script>alert(1)</script>"
CHANGES = (
    Change("turn", names=("1",), of="user", came="92", went="99"),
    Change("turn", "added", ("4", "5"), came=f"I was wrong {HOSTILE}"),
    Change("result", names=("2",), of=HOSTILE, came="failed"),
)


def audited():
    """Return an audit with one flip, of which only the places of its edit are known."""
    row = trial("case-1", ["good"] * 2, ["bad"], hash="h", edit="follow")
    kept = CaseTexts("case-1", "h", "How?", None, "good", {}, {}, (), (), came="92", went="99", changes=CHANGES)
    return empty(findings=(finding(trials=(row,), outcome=Outcome.FAIL),), texts=(kept,))


def test_the_list_and_the_card_say_where_an_edit_was():
    """And what is named in it, such as a tool, makes no markup."""
    page = render(audited())

    assert page.count("<bdi>in turn 1, of the user</bdi>: <ins>92</ins> <del>99</del>") == 2
    assert page.count("<bdi>turns 4 and 5 were added</bdi>: <ins>I was wrong &lt;script&gt;") == 2
    assert "in the result of step 2 (&lt;script&gt;alert(1)&lt;/script&gt;)" in page
    assert HOSTILE not in page


def test_the_comment_says_where_an_edit_was():
    """In the same words as the page."""
    said = comment(audited())

    assert "the edit: in turn 1, of the user" in said
    assert "turns 4 and 5 were added" in said
    assert HOSTILE not in said


def test_a_long_prompt_opens_at_the_first_difference():
    """Whatever stands before it: a few lines of it are shown, and how much is left out."""
    turns = "\n".join(f"Turn {number}" for number in range(400))

    found = compare(f"{turns}\nOrder 7\nEnd", f"{turns}\nOrder 8\nEnd", context=160, lines=6)

    assert [piece.kind for piece in found.new] == ["gap", "same", "new", "same"]
    assert found.new[1].text.count("\n") == 5
    assert found.new[0].size + len(found.new[1].text) == len(f"{turns}\nOrder ")


def test_a_prompt_without_another_beside_it_opens_at_the_words_of_the_edit():
    """As that of an answer against its own damaged copy, which has no clean prompt."""
    told = "[Turn of user]\nHello\n\n" * 50 + "[Turn of user]\nThere was one thing wrong: it is 9.\n\n[Answer A]\n9"
    change = Change("turn", "added", ("51", "52"), came="There was one thing wrong: it is 9. … Noted")
    asked = ((Exchange("p", "[[B]]"),),)
    prompts = {"p": ({"role": "user", "text": told},)}
    kept = CaseTexts("case-1", "h", "How?", None, "good", prompts, {}, (), asked, changes=(change,))

    (shown,) = shown_texts(kept, (("perturbed", ("bad",)),), Room(160, 100)).prompts

    assert [piece.kind for piece in shown.turns[0].marked] == ["cut", "same", "new", "same"]
    assert shown.turns[0].marked[2].text == "There was one thing wrong: it is 9."
    assert not shown.whole
