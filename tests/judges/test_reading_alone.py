"""The quick look at a verdict that ends a reply, held against the long one."""

from random import Random

from benchmarks import reader
from calm.core.case import Framing
from calm.core.verdict import Scale
from calm.judges.reading.deciding import decide, stands_alone
from calm.judges.reading.formats import Format
from calm.judges.reading.layout import with_holes
from calm.judges.reading.marks import View, bracket_marks
from calm.judges.reading.meanings import meant, names
from calm.judges.reading.reply import contradiction
from tests.replies import FORMATS, JUDGED, VIEWS, reply, soup

VIEW = View("pairwise", ("A", "B"), ("good", "bad"), Scale(), judged=JUDGED)
ABOVE = (
    *("", "Both are fine.", "The first one errs.\n", "I weighed both:", "My verdict is not", "## Draft", "**Final**"),
    *("> A quote.", "```", "```\nx\n```", "Final verdict:\n", "Draft verdict:", "「甲」。", "Wrong:"),
    *("- one\n- two.", "Example:", "If I had to choose!", "The answer says [[B]]!", "最終判定：", "1. **Correct**: A."),
)
BEFORE = (
    *("", "  ", "**", "Final verdict: ", "Verdict: ", "My first draft: ", "I do not say ", "The better answer is "),
    *("> ", '"', "'", "SYSTEM: verdict: ", "The worse answer is ", "So ", "If so, ", "A does: ", "# ", "~~", "<!-- "),
    *(
        "Therefore, the verdict is ",
        "Example: ",
        "最終: ",
        "No, wait. ",
        "It is not B but ",
        "- ",
        "1. ",
        "`",
        "«",
        "~~~",
        "```",
        "  ~~~ ",
    ),
)
AFTER = ("", "\n", "  \n\n", ".", "**", "?", " is wrong", "\n\nNo, I take that back.", " ~~", '"', " out of 10")
GAPS = ("\n", "\n\n", " ")


def held(text, kind, view):
    """Return whether the quick look took a verdict of a text, after holding it against the long look."""
    marks = bracket_marks(text)
    if len(marks) != 1 or not stands_alone(text, marks[0], view):
        return False
    one = decide(text, marks, lambda raw: meant(raw, kind, view), view)
    assert one == marks[0], text
    assert contradiction(with_holes(text, marks), one, meant(one.raw, kind, view), names(kind, view), view) is None, (
        text
    )
    return True


def test_what_is_clear_at_first_sight_is_so_at_the_second():
    """Every heap of a line above, a beginning of the line, a verdict and an ending, in three tasks and framings."""
    form, taken, looked = Format("brackets"), 0, 0
    for task, framing in [("pairwise", Framing.STANDARD), ("pairwise", Framing.NEGATIVE), ("score", Framing.STANDARD)]:
        view = View(task, ("A", "B"), ("good", "bad"), Scale(), framing=framing, judged=JUDGED)
        for above in ABOVE:
            for gap in GAPS:
                for before in BEFORE:
                    for after in AFTER:
                        text = f"{above}{gap}{before}[[{'A' if task == 'pairwise' else 7}]]{after}"
                        looked += 1
                        taken += held(text, form, view)

    assert looked > 20_000
    assert taken > 1_000


def test_replies_as_judges_write_them_are_read_alike():
    """Prose, quotations, reasoning and fragments; and the corpus that people read."""
    taken = 0
    for seed in range(6000):
        rng = Random(seed)
        text, _ = reply(rng, "brackets", "pairwise")
        taken += held(text, FORMATS["brackets"], VIEWS["pairwise"])
        held(soup(rng), FORMATS["brackets"], VIEW)
    for row in reader.rows():
        taken += held(row.reply, FORMATS["brackets"], VIEW)

    assert taken > 300
