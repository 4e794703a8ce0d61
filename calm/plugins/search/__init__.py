"""Searches for what wins a judge over: `calm attack`, `calm hunt` and the strategies of Hypothesis."""

COMMANDS = {
    "attack": ("search for texts that make the weaker answer win", "calm.commands.attack:register"),
    "hunt": ("search for the smallest text that flips the judge", "calm.commands.hunt:register"),
}

PAGES = {"calm-attack": "calm.plugins.search.page:of_attack", "calm-hunt": "calm.results.reports.hunt_page:render"}
