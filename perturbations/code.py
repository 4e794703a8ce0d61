"""Code inside answers (Python, Java, C++, JavaScript, Go), changed so that it still computes the same."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pygments.lexer import Lexer
from pygments.lexers import CppLexer, GoLexer, JavaLexer, JavascriptLexer
from pygments.token import Comment, Error, Keyword, Name, String, Text, Whitespace, _TokenType

from calm import Treated
from calm.core.markup import in_case

_OPENING = re.compile(r"```(?P<marked>[^\s`]+)[ \t]*$")
_PYTHON = frozenset({"python", "python3", "py"})
LARGEST = 6_000
"""Characters of a block that is looked at: parsing and tokenising a longer one would take many milliseconds."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of Python: where its source stands in a text, and what it parses to."""

    start: int
    end: int
    source: str
    tree: ast.Module


def python_block(text: str) -> Block | None:
    """Return the first fenced block that is marked as Python, is closed, and parses to at least one statement."""
    for marked, start, end in fences(text):
        if marked.lower() not in _PYTHON:
            continue
        source = text[start:end]
        tree = _parsed(source) if end - start <= LARGEST else None
        if tree is not None and tree.body:
            return Block(start, end, source, tree)
    return None


def rewritten_python(case: Treated, change: Callable[[Block, str], str | None]) -> Treated | None:
    """Return the case with the treated answer's first Python block changed; None if there is none, or no change."""
    text = case[case.target].text
    block = python_block(text)
    source = None if block is None else change(block, text)
    if block is None or source is None or source == block.source:
        return None
    return case.edit(case.target, lambda _: text[: block.start] + source + text[block.end :])


def insert_python_comment(case: Treated, words: str) -> Treated | None:
    """Return the case with a comment as the first line of the treated answer's first Python block."""
    return rewritten_python(case, lambda block, text: f"# {in_case(text, words)}\n{block.source}")


def append_python_comment(case: Treated, *lines: str) -> Treated | None:
    """Return the case with comments as the last lines of the treated answer's first Python block."""

    def change(block: Block, text: str) -> str:
        return block.source + "".join(f"# {in_case(text, line)}\n" for line in lines)

    return rewritten_python(case, change)


def insert_docstring(case: Treated, words: str) -> Treated | None:
    """Return the case with a docstring for the first function that has none, in the first Python block."""

    def change(block: Block, text: str) -> str | None:
        lines = block.source.split("\n")
        for function in ast.walk(block.tree):
            if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) or ast.get_docstring(function, False):
                continue
            first = first_line(function.body[0])
            indent = lines[first - 1][: len(lines[first - 1]) - len(lines[first - 1].lstrip())]
            # a body that begins on the line of its `def` has no line of its own to stand before
            if first > function.lineno and _begins_at(lines[first - 1], function.body[0].col_offset):
                plain = in_case(text, words).replace("\\", "/").replace('"', "'")
                return "\n".join([*lines[: first - 1], f'{indent}"""{plain}"""', *lines[first - 1 :]])
        return None

    return rewritten_python(case, change)


def first_line(statement: ast.stmt) -> int:
    """Return the line, counted from 1, on which a statement begins, with its decorators."""
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return min([statement.lineno, *(decorator.lineno for decorator in statement.decorator_list)])
    return statement.lineno


def _begins_at(line: str, offset: int) -> bool:
    return not line.encode("utf-8", "surrogatepass")[:offset].strip()


def fences(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield what each closed fence is marked with (empty: nothing), and the offsets of what stands in it."""
    offset, start, marked = 0, 0, None
    for line in text.split("\n"):
        if marked is None and line.startswith("```"):
            opened = _OPENING.match(line)
            marked = opened["marked"] if opened else ""
            start = offset + len(line) + 1
        elif marked is not None and line.rstrip() == "```":
            yield marked, start, offset
            marked = None
        offset += len(line) + 1


def _parsed(source: str) -> ast.Module | None:
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


LEXERS: Mapping[str, type[Lexer]] = {
    "java": JavaLexer,
    "c++": CppLexer,
    "javascript": JavascriptLexer,
    "go": GoLexer,
}
NAMES: Mapping[str, str] = {
    "java": "java",
    "cpp": "c++",
    "c++": "c++",
    "cc": "c++",
    "cxx": "c++",
    "javascript": "javascript",
    "js": "javascript",
    "go": "go",
    "golang": "go",
}
"""What a fence may be marked with, and the language that it means."""
DECLARING: Mapping[str, frozenset[str]] = {
    "java": frozenset({"var", "int", "long", "double", "float", "boolean", "char", "byte", "short", "String"}),
    "c++": frozenset({"auto", "int", "long", "double", "float", "bool", "char", "short", "unsigned", "string"}),
    "javascript": frozenset({"let", "const", "var"}),
    "go": frozenset({"var"}),
}
"""Words behind which a variable is declared."""
_WORD = re.compile(r"[^\W\d]\w*")
_BEHIND_DECLARED = frozenset({"=", ";", ":="})
_DIRECTIVE = re.compile(r"//(?:go:|export\b|line\b|\s*\+build\b|#)")
"""Comments that tell a compiler something."""
_REFLECTIVE = frozenset({"eval", "with", "reflect", "getDeclaredField", "Function", "globalThis"})
"""Where one of these is used, a name may be looked up as text."""
_DEFINES = re.compile(r"#\s*define\b")
"""A macro can make a text of a name."""
_OTHER_LANGUAGE = re.compile(r"^\s*import\s+(?:\(\s*)?\"C\"", re.MULTILINE)
"""What imports C into Go: the comment before it is a program."""
_OUTWARD = frozenset({"export", "public", "protected", "extern", "friend"})
"""Words before a declaration that others may use."""
_TYPES = frozenset({"class", "struct", "union", "interface", "enum", "record", "namespace"})
"""Words before a body whose variables are members, or are seen from other files."""
_WHOLE_FILE = re.compile(r"^\s*#\s*include\b|\bmain\s*\(|^\s*package\s+(?!main\b)\w", re.MULTILINE)
"""A block that is a file, so that other files may know the names outside of its functions."""
_ASSERTING = re.compile(r"[A-Z][A-Z0-9_]+|assert\w*")
"""What is called like this may be a macro, which can show the words that it gets."""


@dataclass(frozen=True, slots=True)
class Token:
    """A piece of source: what kind it is, its text, and where it begins."""

    kind: _TokenType
    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Code:
    """A block of code: where its source stands in a text, the language, and its tokens."""

    start: int
    end: int
    source: str
    language: str
    tokens: tuple[Token, ...]

    @property
    def words(self) -> list[Token]:
        """The tokens without white space and comments."""
        return [t for t in self.tokens if not _is(t, Text, Whitespace) and not _is_comment(t)]


def code_block(text: str) -> Code | None:
    """Return the first closed block of one of the languages that can be read without an error and holds any code."""
    for marked, start, end in fences(text):
        language = NAMES.get(marked.lower())
        if language is None or end - start > LARGEST:
            continue
        source = text[start:end]
        block = Code(start, end, source, language, _read(source, language))
        if block.words and not any(_is(token, Error) for token in block.tokens):
            return block
    return None


def rewritten(case: Treated, change: Callable[[Code, str], str | None]) -> Treated | None:
    """Return the case with the treated answer's first such block changed; None if there is none, or no change."""
    text = case[case.target].text
    block = code_block(text)
    source = None if block is None else change(block, text)
    if block is None or source is None or source == block.source:
        return None
    return case.edit(case.target, lambda _: text[: block.start] + source + text[block.end :])


def insert_comment(case: Treated, words: str) -> Treated | None:
    """Return the case with a comment as the first line of the block; None if that line has to stay the first."""

    def change(block: Code, text: str) -> str | None:
        return None if block.source.startswith("#!") else f"// {in_case(text, words)}\n{block.source}"

    return rewritten(case, change)


def append_comment(case: Treated, *lines: str) -> Treated | None:
    """Return the case with comments as the last lines of the block."""

    def change(block: Code, text: str) -> str:
        return block.source + "".join(f"// {in_case(text, line)}\n" for line in lines)

    return rewritten(case, change)


def append_functions(case: Treated, names: Sequence[str]) -> Treated | None:
    """Return the case with an unused function for each name, behind a block that ends between definitions."""

    def change(block: Code, text: str) -> str | None:
        if any(name in text for name in names) or not _ends_at_top(block):
            return None
        made = [_FUNCTIONS[_form(block)].replace("NAME", name) for name in names]
        return "\n".join([block.source.rstrip("\n"), "", *made]) + "\n"

    return rewritten(case, change)


_FUNCTIONS = {
    "java": (
        "class Holder_NAME {\n    static int NAME(int state) {\n        int staged = state;\n        return staged;\n"
        "    }\n}"
    ),
    "java method": "static int NAME(int state) {\n    int staged = state;\n    return staged;\n}",
    "c++": "static inline int NAME(int state) {\n    int staged = state;\n    return staged;\n}",
    "javascript": "function NAME(state) {\n    const staged = state;\n    return staged;\n}",
    "go": "func NAME(state int) int {\n\tstaged := state\n\treturn staged\n}",
}


def _form(block: Code) -> str:
    """Return which form of function fits: in Java it stands in a class, unless the block is of bare methods."""
    bare = block.language == "java" and not any(t.text in ("class", "record", "interface") for t in block.words)
    return "java method" if bare else block.language


def _ends_at_top(block: Code) -> bool:
    """Return whether a block ends behind a definition, outside of all brackets; in JavaScript behind any statement."""
    words = [token.text for token in block.words if not _is(token, String)]
    marks = Counter("".join(words))
    closed = all(marks[a] == marks[b] for a, b in ("()", "[]", "{}"))
    if block.language == "javascript":
        return closed and words[-1:] in (["}"], [";"])
    return closed and block.source.rstrip().endswith(("}", "};")) and words[0] not in _STATEMENTS


_STATEMENTS = frozenset({"for", "while", "if", "switch", "do", "try"})
"""What a block begins with that holds no definitions: it stands in a function that is not shown."""


def stripped(case: Treated) -> Treated | None:
    """Return the case without the comments of the block; what tells a compiler something stays."""
    return rewritten(case, lambda block, _: _without_comments(block))


def _without_comments(block: Code) -> str | None:
    if block.language == "go" and _OTHER_LANGUAGE.search(block.source):
        return None
    parts, emptied = [], set()
    for token in block.tokens:
        gone = _is_comment(token) and not _DIRECTIVE.match(token.text)
        if not gone:
            parts.append(token.text)
            continue
        line = "".join(parts).count("\n")
        emptied.add(line)
        breaks = token.text.count("\n")
        parts.append("\n" if breaks else " " if token.text.startswith("/*") else "")
        emptied |= {line + 1} if breaks and not token.text.endswith("\n") else set()
    lines = "".join(parts).split("\n")
    kept = [line.rstrip() if number in emptied else line for number, line in enumerate(lines)]
    return "\n".join(line for number, line in enumerate(kept) if line or number not in emptied)


def renamed(case: Treated, new: Callable[[list[str]], list[str]], most: int) -> Treated | None:
    """Return the case with other names for at most so many variables; None if there are none, or names would clash."""

    def change(block: Code, text: str) -> str | None:
        outside = set(_WORD.findall(text[: block.start])) | set(_WORD.findall(text[block.end :]))
        places = _variables(block)
        names = [name for name in places if name not in outside][:most]
        others = new(names)
        taken = outside | set(_WORD.findall(block.source))
        if not names or len(set(others)) < len(names) or taken & set(others):
            return None
        by_start = {t.start: other for name, other in zip(names, others, strict=True) for t in places[name]}
        return "".join(by_start.get(token.start, token.text) for token in block.tokens)

    return rewritten(case, change)


def _variables(block: Code) -> dict[str, list[Token]]:
    """
    Return the variables that can be renamed, each with all places where it stands.

    A name counts if the block declares it with a value or a type, nobody outside of the block can know it, and every
    word like it is a name that is no member, no call, no key, no label, no shorthand for one and no part of a text.
    """
    words = block.words
    if _REFLECTIVE & {token.text for token in words} or (block.language == "c++" and _DEFINES.search(block.source)):
        return {}
    places: dict[str, list[Token]] = defaultdict(list)
    declared, kept = set(), set()
    inside = list(_brackets(words))
    for number, (token, around) in enumerate(zip(words, inside, strict=True)):
        if not _is(token, Name, Keyword.Type, Keyword.Declaration):
            continue
        before = words[number - 1].text if number else ""
        after = words[number + 1].text if number + 1 < len(words) else ""
        places[token.text].append(token)
        is_new = after == ":=" or (before in DECLARING[block.language] and after in _BEHIND_DECLARED)
        declared |= {token.text} if is_new and before != "," else set()
        is_key = after == ":" and before != "?"
        is_shorthand = around in ("{", "class") and before in ("{", ",") and after in ("}", ",")
        is_shown = around in ("${", "macro") or (is_new and _is_known(block, words, number, around))
        if before.endswith((".", "->", "::")) or after in ("(", "::") or is_key or is_shorthand or is_shown:
            kept.add(token.text)
    count = Counter(_WORD.findall(block.source))
    free = (n for n in places if n in declared - kept and n.isascii() and _WORD.fullmatch(n) and not n.startswith("_"))
    return {name: places[name] for name in free if count[name] == len(places[name]) and name not in KEPT}


def _is_known(block: Code, words: Sequence[Token], number: int, around: str) -> bool:
    """Return whether others can know a name that is declared here: a member, what is exported, or a global one."""
    name, before = words[number].text, _statement(words, number)
    if around == "class" or _OUTWARD & set(before) or (block.language == "go" and name[:1].isupper()):
        return True
    if block.language == "javascript":
        return around != "{" and "var" in before
    return not around and block.language != "java" and _WHOLE_FILE.search(block.source) is not None


def _statement(words: Sequence[Token], number: int) -> list[str]:
    before: list[str] = []
    for token in reversed(words[max(0, number - _LONGEST) : number]):
        if not _is(token, String) and set(";{}") & set(token.text):
            break
        before.insert(0, token.text)
    return before


_LONGEST = 60
"""Words of a statement that are looked at."""


KEPT = frozenset({"main", "this", "self", "super", "arguments", "module", "exports", "window", "document"})


def _brackets(words: Sequence[Token]) -> Iterator[str]:
    """
    Yield for each word the bracket that it stands in, an empty text outside of all.

    It is "class" for the body of a type or of a namespace, "${" for a piece of a text, in whatever brackets, and
    "macro" for what is handed to a name such as SHOW.
    """
    stack: list[str] = []
    for number, token in enumerate(words):
        if token.text == "${":
            stack.append("${")
        elif _is(token, String.Interpol) and token.text == "}" and stack:
            stack.pop()
        else:
            for mark in "" if _is(token, String) else token.text:
                if mark in "([{":
                    stack.append(_opened(words, number, mark))
                elif mark in ")]}" and stack:
                    stack.pop()
        inner = next((one for one in ("${", "macro") if one in stack), "")
        yield inner or (stack[-1] if stack else "")


def _opened(words: Sequence[Token], number: int, mark: str) -> str:
    if mark == "(":
        return "macro" if number and _ASSERTING.fullmatch(words[number - 1].text) else mark
    before = _statement(words, number) if mark == "{" else []
    last = max((place for place, word in enumerate(before) if word in _TYPES), default=-1)
    return "class" if last >= 0 and ("(" not in before[last:] or before[last] == "record") else mark


@lru_cache(maxsize=64)
def _read(source: str, language: str) -> tuple[Token, ...]:
    lexer = LEXERS[language](stripnl=False, stripall=False, ensurenl=False)
    found = [(kind, text) for kind, text in lexer.get_tokens(source) if text]
    starts = [0]
    for _, text in found:
        starts.append(starts[-1] + len(text))
    if "".join(text for _, text in found) != source:  # it changes the ends of lines of another system
        return (Token(Error, source, 0),)
    return tuple(Token(kind, text, start) for (kind, text), start in zip(found, starts, strict=False))


def _is(token: Token, *kinds: _TokenType) -> bool:
    return any(tuple(token.kind[: len(kind)]) == tuple(kind) for kind in kinds)


def _is_comment(token: Token) -> bool:
    return _is(token, Comment) and not _is(token, Comment.Preproc, Comment.PreprocFile, Comment.Hashbang)


def comment_above(case: Treated, words: str) -> Treated | None:
    """Return the case with a comment as the first line of the treated answer's code; None if it holds none."""
    return insert_python_comment(case, words) or insert_comment(case, words)


def comment_below(case: Treated, *lines: str) -> Treated | None:
    """Return the case with comments as the last lines of the treated answer's code; None if it holds none."""
    return append_python_comment(case, *lines) or append_comment(case, *lines)
