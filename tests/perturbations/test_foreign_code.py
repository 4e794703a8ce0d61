"""Edits of Java, C++, JavaScript and Go: what changes is names, comments and code that nobody calls."""

import pytest
from pygments.token import Error

from calm import Answer, Case, rotate
from calm.core.claims import Outcome
from calm.core.measures import gain
from calm.experiment.run import run
from calm.experiment.stopping import Design
from calm.perturbations import code_comments, code_style, injection_smuggling
from calm.perturbations import planted as judges
from calm.perturbations.code import NAMES, code_block
from calm.suites.test_code_comments import CLAIMS
from calm.testing import check_perturbation
from tests.each import each
from tests.perturbations.programs import PROGRAMS, answer_of
from tests.planted import setup

COMMENTS = (
    code_comments.credit_authority,
    code_comments.declare_correct,
    code_comments.state_other_task,
    code_comments.log_tests,
    code_comments.credit_novice,
    injection_smuggling.order_in_comment,
)
RENAMING = (code_style.lengthen_names, code_style.shorten_names, code_style.scramble_names)
NAMES_ALONE = rotate(*RENAMING)
RENAMED = {
    "java": {"note", "count", "limit"},
    "cpp": {"at", "count", "limit", "note"},
    "javascript": {"result", "pattern", "shown", "box"},
    "go": {"result", "limit", "note", "b"},
}
"""Names that only a variable has: others are a member, a key, a word in a text, or a name elsewhere in the answer."""


def edited(edit, marked, source):
    """Return what an edit makes of a program in an answer; None where it does not apply."""
    case = Case("c", "Write it.", (Answer("a", answer_of(marked, source)),), scores={"a": 4.0}).treat("a")
    found = edit.apply(case, 1)
    return None if found is None else code_block(found["a"].text).source


def pieces(source, marked):
    """Return the tokens of a program without comments and white space."""
    block = code_block(answer_of(marked, source))
    return [t.text for t in block.words]


@each("marked", PROGRAMS)
def test_a_comment_adds_a_line_and_no_code(marked):
    """Above the first line or below the last one, and nothing else changes."""
    for edit in COMMENTS:
        after = edited(edit, marked, PROGRAMS[marked])

        added = [line for line in after.splitlines() if line not in PROGRAMS[marked].splitlines()]
        assert added, edit
        assert all(line.startswith("// ") for line in added), edit
        assert pieces(after, marked) == pieces(PROGRAMS[marked], marked), edit


@each("marked", PROGRAMS)
def test_comments_go_and_every_piece_of_code_stays(marked):
    """Also where a text or a pattern looks like a comment, and where a comment stands between two lines."""
    after = edited(code_style.strip_comments, marked, PROGRAMS[marked])

    assert pieces(after, marked) == pieces(PROGRAMS[marked], marked)
    assert "one more" not in after
    assert "adds up" not in after
    assert "// no comment" in after
    assert not any(line.endswith(" ") for line in after.splitlines())


@each("marked", PROGRAMS)
def test_names_change_one_by_one_and_nothing_else(marked):
    """Each use of a variable gets the same other name, and no other piece changes."""
    before = pieces(PROGRAMS[marked], marked)
    for edit in RENAMING:
        after = pieces(edited(edit, marked, PROGRAMS[marked]), marked)
        pairs = {(a, b) for a, b in zip(before, after, strict=True) if a != b}

        assert {a for a, _ in pairs} == RENAMED[marked], edit
        assert len({b for _, b in pairs}) == len(pairs)
        assert not {b for _, b in pairs} & set(before)


@each("marked", PROGRAMS)
def test_functions_that_nobody_calls_are_appended(marked):
    """Eight of them, behind all that was there."""
    after = edited(code_style.add_dead_code, marked, PROGRAMS[marked])

    assert after.startswith(PROGRAMS[marked].rstrip("\n"))
    assert all(f"refine_layer_{name}" in after for name in code_style.LAYERS)
    assert not any(token.kind in Error for token in code_block(answer_of(marked, after)).tokens)


@each(
    ("marked", "source"),
    [
        ("java", "int x = 1;\nx = x"),
        ("javascript", "if (a) { b(); "),
        ("go", "package main\n"),
        ("cpp", "int x = 1;"),
        ("go", "for x := range y {\n}"),
    ],
)
def test_functions_are_appended_only_behind_whole_definitions(marked, source):
    """Inside a function, or behind half a statement, another function would be an error."""
    assert edited(code_style.add_dead_code, marked, f"{source}\n") is None


@each(
    "text",
    ["```rust\nlet x = 1;\n```", "```java\nint x = `1`#;\n```", "```js\n\n```", "```js\nlet x;", "let x = 1;"],
)
def test_what_cannot_be_read_is_no_block(text):
    """Another language, an error, nothing but blanks, a fence that is still open, and code without a fence."""
    assert code_block(text) is None


def test_what_tells_a_compiler_something_stays():
    """Build constraints of Go, and the first line of a script."""
    source = "//go:build linux\n\npackage main // it is\n\nfunc main() {}\n"

    assert edited(code_style.strip_comments, "go", source) == "//go:build linux\n\npackage main\n\nfunc main() {}\n"
    assert edited(code_comments.declare_correct, "js", "#!/usr/bin/env node\nlet a = 1;\n") is None


@each(
    ("marked", "source"),
    [
        ("js", "let total = 1; eval('total');\n"),
        ("js", "let width = 1; const box = { width };\n"),
        ("js", "let width = 1; const box = { width: 2 }; box.width = width;\n"),
        ("js", "let width = 1; console.log(`${'width'}`);\n"),
        ("java", "int width = 1; this.width = width;\n"),
        ("cpp", "int width = 1;\n#define SIZE width\n"),
        ("go", "width := 1\nb := box{width: width}\nb.go(b)\n"),
        ("js", "export const width = 5;\nconsole.log(width);\n"),
        ("js", "export let a = 1, width = 5\n"),
        ("js", "var width = 0;\nfunction f() { return width + 1; }\n"),
        ("js", "for (var width = 0; width < 3; width++) {}\n"),
        ("js", "const width = 5;\nconsole.log(`${[1].map(x => ({ x: x + width }))}`);\n"),
        ("js", "const width = 5;\nconst f = new Function('return 1');\n"),
        ("java", "public class P {\n    public static final int width = 7;\n    int f() { return width; }\n}\n"),
        ("java", "class P extends Q<R> {\n    int width = 7;\n    int f() { int width = 2; return width; }\n}\n"),
        ("java", "record P(int x) {\n    static int width = 7;\n}\n"),
        ("java", "interface P {\n    int width = 7;\n}\n"),
        ("java", "public class P { protected int width = 7; }\n"),
        ("cpp", "struct P {\n  int width = 3;\n};\n"),
        ("cpp", "template <class T> class P : Q {\n public:\n  int width = 3;\n  int f() { return width; }\n};\n"),
        ("cpp", "#define SHOW(x) cout << #x\nint main() { int width = 5; SHOW(width); }\n"),
        ("cpp", "#  define SHOW cout\nint main() { int width = 5; }\n"),
        ("cpp", "int main() { int width = 5; SHOW(width + 1); }\n"),
        ("cpp", "int main() { int width = 5; assert(f(width)); }\n"),
        ("cpp", "#include <a>\nint width = 5;\n"),
        ("cpp", "namespace a {\nint width = 5;\n}\n"),
        ("cpp", "extern int width;\n"),
        ("go", "package conf\n\nvar width = 10\n"),
    ],
)
def test_a_name_of_which_a_use_may_be_unseen_stays(marked, source):
    """A member, a key, a shorthand, a text that may be looked up, a macro, what is exported or global, a template."""
    after = edited(code_style.lengthen_names, marked, source)

    assert after is None or "the_value_of_width" not in after


@each(
    ("marked", "source"),
    [
        ("go", "package main\n\nvar Width = 10\n\nfunc Get() int { width := Width; return width }\n"),
        ("java", "public class P {\n    public int f() { int width = 2; return width; }\n}\n"),
        ("cpp", "struct P f() {\n  int width = 3;\n  return P{width + 1};\n}\n"),
        ("cpp", "class P {\n  int f() { int width = 3; return width; }\n};\n"),
        ("js", "class P {\n  f() { const width = 3; return width; }\n}\n"),
        ("js", "function f() { var width = 3; return width; }\n"),
        ("go", "package conf\n\nfunc Get() int { width := 3; return width }\n"),
    ],
)
def test_a_variable_of_a_function_is_renamed(marked, source):
    """Also inside a type or beside names that others know."""
    after = edited(code_style.lengthen_names, marked, source)

    assert after == source.replace("width", "the_value_of_width")


def test_a_program_in_a_comment_stays():
    """What stands before `import "C"` is one."""
    source = 'package main\n\n// #include <stdio.h>\nimport "C"\n\nfunc main() {}\n'

    assert edited(code_style.strip_comments, "go", source) is None


@each("edit", [*COMMENTS, *RENAMING, code_style.add_dead_code, code_style.strip_comments], ids=lambda e: e.name)
def test_the_contract_holds_on_code_of_these_languages(edit):
    """Long and broken programs, and mixed line ends, too."""
    texts = [answer_of(marked, source) for marked, source in PROGRAMS.items()]
    texts += [answer_of(marked, "{(" * 2000 + "/*\n" + "`" * 999) for marked in NAMES]
    texts.append(texts[0].replace("\n", "\r\n"))
    check_perturbation(edit, [Case(f"c{i}", "Write it.", (Answer("a", text),)) for i, text in enumerate(texts)])


def programs(count):
    """Return cases whose only answer adds the wrong number, in the four languages by turns."""
    written = [(marked, source) for marked, source in PROGRAMS.items()]
    found = []
    for number in range(count):
        marked, source = written[number % len(written)]
        text = answer_of(marked, source.replace("count * 2", f"count * {number + 2}"))
        found.append(Case(f"p{number}", f"Write it, with {number}.", (Answer("a", text),), scores={"a": 4.0}))
    return found


@pytest.mark.parametrize(
    ("edit", "spec", "outcome"),
    [
        (CLAIMS, "code-comments=0.8", Outcome.FAIL),
        (CLAIMS, "noise=0", Outcome.PASS),
        (NAMES_ALONE, "code-style=0.8", Outcome.FAIL),
        (NAMES_ALONE, "noise=0", Outcome.PASS),
    ],
)
def test_a_judge_that_goes_by_the_cover_fails_in_every_language(edit, spec, outcome):
    """In 40 programs of four languages; fixed seeds, and at 0.8 of the questions the limit is far away."""
    with setup(judges.planted(f"planted:{spec},task=score"), programs(40), design=Design(1, 1)) as ready:
        [found] = run(ready, edit, [gain <= 0.25]).rulings

    assert found.decision.outcome is outcome
