"""Language: letters and articles change, and code, numbers and the last sentence do not."""

from calm import Answer, Case
from calm.perturbations.language import drop_articles, romanise, strip_diacritics
from tests.each import each


def spoken(edit, text):
    edited = edit.apply(Case("c", "What?", (Answer("a", text),)).treat("a"), 0)
    return None if edited is None else edited["a"].text


@each(
    ("edit", "before", "after"),
    [
        (strip_diacritics, "Crème brûlée på Ærø. Ça va.", "Creme brulee pa Ærø. Ça va."),
        (romanise, "Москва и Αθήνα. Это всё.", "Moskva i Athina. Это всё."),
        (drop_articles, "The cat saw a dog in the yard. That is the end.", "Cat saw dog in yard. That is the end."),
        (drop_articles, "It had a few of a number, vitamin A is in it. End.", None),
        (drop_articles, "Run `the test` now. End.", None),
        (strip_diacritics, "Plain words. Nothing else.", None),
        (romanise, "Plain words. Nothing else.", None),
    ],
)
def test_an_answer_is_said_in_another_way(edit, before, after):
    """What is not of the kind that an edit changes stays, and without any of it the edit does not apply."""
    assert spoken(edit, before) == after
