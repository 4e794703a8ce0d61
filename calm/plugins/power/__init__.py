"""How many cases a claim needs: `calm power`."""

COMMANDS = {"power": ("show how many cases a claim needs, and what it says", "calm.plugins.power.command:register")}
