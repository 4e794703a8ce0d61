"""Parts of cases for which a judge's prompt has no place: found by rendering, for each part by itself."""

from calm import Answer, Case
from calm.core.case import Passage, Step, Turn
from calm.judges.judgefile import read_judge
from calm.judges.lexical import LexicalJudge
from calm.judges.wrapper import Unseen, unseen
from calm.perturbations.planted import planted

ANSWERS = (Answer("a", "one", steps=(Step("I think."),)), Answer("b", "two"))
WHOLE = Case("c", "Which?", ANSWERS, turns=(Turn("user", "Hi."),), context=(Passage("p1", "A text."),))
BARE = Case("d", "Which then?", (Answer("a", "one"), Answer("b", "two")))
ALL = (Unseen("turns", 1, 2), Unseen("context", 1, 2), Unseen("steps", 1, 2))


def judge(folder, prompt):
    """Return a judge with a prompt of its own; nobody is asked."""
    (folder / "own.jinja").write_text(prompt, "utf-8")
    (folder / "judge.toml").write_text(
        '[judge]\nname = "j"\ntask = "pairwise"\n[model]\nprovider = "openai"\nmodel = "gpt-4.1-mini"\n'
        '[prompt]\nuser_file = "own.jinja"\n',
        "utf-8",
    )
    return read_judge(folder / "judge.toml", {}, keyless=True)


PLAIN = "{{ question }}{% for a in answers %}{{ a.text }}{% endfor %} [[A]] or [[B]]"


def test_a_prompt_without_places_shows_none_of_the_parts(tmp_path):
    assert unseen(judge(tmp_path, PLAIN), [WHOLE, BARE]) == ALL
    assert unseen(judge(tmp_path, PLAIN), [BARE]) == ()


def test_a_prompt_with_a_place_shows_that_part(tmp_path):
    turns = "{% for turn in turns %}{{ turn.role }}: {{ turn.text }}{% endfor %}"

    assert unseen(judge(tmp_path, f"{turns}{PLAIN}"), [WHOLE, BARE]) == ALL[1:]


def test_a_case_that_cannot_be_shown_says_nothing_of_its_parts(tmp_path):
    assert unseen(judge(tmp_path, f"{{{{ fields.kind }}}}{PLAIN}"), [WHOLE]) == ()


def test_judges_without_a_prompt_are_looked_at_as_well():
    assert unseen(planted("planted:noise=0"), [WHOLE]) == ()
    assert {one.part for one in unseen(LexicalJudge(), [WHOLE])} <= {"turns", "context", "steps"}
