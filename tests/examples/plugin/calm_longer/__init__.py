"""Does a judge take the longer answer? A plug-in of calm: this module only says what is where."""

COMMANDS = {"longer": ("count how often a judge takes the longer answer", "calm_longer.command:register")}

PAGES = {"longer": "calm_longer.command:page"}

CASES = {"pairs": "calm_longer.cases:read"}
