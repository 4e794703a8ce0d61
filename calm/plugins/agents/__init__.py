"""Tools for agents that audit a judge: `calm mcp` and `calm skill`."""

COMMANDS = {
    "mcp": ("serve agents with tools to audit a judge", "calm.commands.agents:register"),
    "skill": ("write a skill for coding agents", "calm.commands.agents:register"),
}
