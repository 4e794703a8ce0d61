"""Whether judges prefer their own answers: `calm self-preference`."""

COMMANDS = {
    "self-preference": ("test whether judges prefer their own answers", "calm.commands.self_preference:register")
}

PAGES = {"calm-self-preference": "calm.plugins.self_preference.page:page"}
