"""Texts that models write: `calm rewrite` and `calm answer`."""

COMMANDS = {
    "answer": ("let models answer the questions of cases", "calm.commands.answer:register"),
    "rewrite": ("let a model write the texts of edits that need a writer", "calm.commands.rewrite:register"),
}
