"""A copy of calm in which every message is nonsense, to show that no sentence decides anything."""

import ast
import re
import shutil
from hashlib import sha256
from importlib import import_module
from pathlib import Path

import calm
from calm.commands.init_ci import PACKAGES

ROOT = Path(calm.__file__).parent
CONTENT = (
    *("perturbations", "suites", "cases", "judges/prompts", "core/families.py"),
    "plugins/logs",
    *(f"plugins/mitigate/{name}" for name in ("asks", "autocalibrate", "filters", "mitigation", "panels", "prompts")),
)
"""Where sentences are what a judge is shown, or what calm works on: they are content, not messages."""
MARKUP = re.compile(r"[<>]|^\s*(?:select|insert|update|delete|create|pragma|begin|attach|with)\b|\bon conflict\b", re.I)
SENTENCE = re.compile(r"[A-Za-z]{2,}[,;:']? [a-z]|^ ?[a-z]{3,} $|^[;:,] [a-z]|[a-z] [a-z(]")
PLACE = re.compile(r"\{\{|\}\}|\{[^{}]*\}|%\(\w+\)s|%[sd]")
UNTOUCHED = {"compile", "fullmatch", "match", "search", "sub", "split", "findall", "execute", "executemany", "strftime"}
"""What takes patterns, statements and formats, not words."""


def released(folder):
    """Write calm into a folder as a release holds it: what stands beside it in a checkout is inside."""
    for module in PACKAGES:
        place = folder.joinpath(*module.split("."))
        shutil.copytree(import_module(module).__path__[0], place, ignore=shutil.ignore_patterns("__pycache__"))


def copy(target):
    """Write calm to `target`, with nonsense for messages; return how many texts were changed."""
    released(target.parent)
    count = 0
    for path in sorted(target.rglob("*.py")):
        name = path.relative_to(target).as_posix()
        if not name.startswith(CONTENT):
            changer = Changer(name)
            tree = changer.visit(ast.parse(path.read_text("utf-8")))
            path.write_text(ast.unparse(ast.fix_missing_locations(tree)), "utf-8")
            count += changer.count
    return count


class Changer(ast.NodeTransformer):
    """
    Puts nonsense of another length in the place of each sentence of a module.

    The same sentence becomes the same nonsense within a module, and other nonsense in another one. So a sentence that
    is repeated elsewhere, to be compared with, is found out.
    """

    def __init__(self, module):
        self.module, self.count = module, 0

    def visit_Constant(self, node):
        """Change a text."""
        if not isinstance(node.value, str) or not SENTENCE.search(node.value) or MARKUP.search(node.value):
            return node
        self.count += 1
        return ast.copy_location(ast.Constant(self.nonsense(node.value)), node)

    def visit_Call(self, node):
        """Leave patterns, statements and formats alone."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return node if name in UNTOUCHED else self.generic_visit(node)

    def visit_Expr(self, node):
        """Leave docstrings alone."""
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)

    def visit_Assign(self, node):
        """Leave the salt of a draw alone, and the texts of the cases from which the catalogue makes an edit."""
        return node if ast.unparse(node.targets[0]).endswith(("SALT", "_CASES")) else self.generic_visit(node)

    def visit_JoinedStr(self, node):
        """Leave a statement or markup with places alone as a whole."""
        text = "".join(part.value for part in node.values if isinstance(part, ast.Constant))
        return node if MARKUP.search(text) else self.generic_visit(node)

    def visit_FormattedValue(self, node):
        """Change what stands in a place, and leave its format alone."""
        node.value = self.visit(node.value)
        return node

    def nonsense(self, text):
        """Return nonsense with the places of the text in it."""
        digest = sha256(f"{self.module}{text}".encode("utf-8", "backslashreplace")).hexdigest()
        word = digest[: 5 + int(digest[-1], 16) % 4].translate(str.maketrans("0123456789", "ghijklmnop"))
        return f"zz{word}".join(["", *PLACE.findall(text), ""]) or f"zz{word}"
