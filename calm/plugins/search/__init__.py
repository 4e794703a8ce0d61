"""Texts that win a judge over, by search or by a model that writes: `calm attack`, `hunt`, `rewrite` and `answer`."""

COMMANDS = {
    "answer": ("let models answer the questions of cases", "calm.commands.answer:register"),
    "attack": ("search for texts that make the weaker answer win", "calm.commands.attack:register"),
    "hunt": ("search for the smallest text that flips the judge", "calm.commands.hunt:register"),
    "rewrite": ("let a model write the texts of edits that need a writer", "calm.commands.rewrite:register"),
}

PAGES = {"calm-attack": "calm.plugins.search.page:of_attack", "calm-hunt": "calm.results.reports.hunt_page:render"}

HOOKS = {
    "drawing": "calm.strategies.cases:during",
    "report.hunts": "calm.results.hunts:with_hunts",
    "page.hunts": "calm.results.reports.hunt:hunts_of",
}
