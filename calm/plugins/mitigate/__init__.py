"""Mitigations of biases, in judge.toml and by `calm mitigate`."""

COMMANDS = {
    "mitigate": ("audit a judge alone and with each mitigation, and compare", "calm.commands.mitigate:register")
}

HOOKS = {"mitigations": "calm.judges.mitigations"}

PAGES = {"calm-mitigations": "calm.plugins.mitigate.page:page"}
