"""Tools for agents that audit a judge: `calm mcp` and `calm skill`."""

COMMANDS = {
    "mcp": ("serve agents with tools to audit a judge", "calm.plugins.agents.command:register"),
    "skill": ("write a skill for coding agents", "calm.plugins.agents.command:register"),
}
