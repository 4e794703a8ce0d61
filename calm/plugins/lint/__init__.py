"""What will go wrong with the prompt of a judge, before it is asked: `calm lint`."""

COMMANDS = {"lint": ("read the prompt of a judge, and say what will go wrong", "calm.plugins.lint.command:register")}

HOOKS = {
    "lint": "calm.plugins.lint.linting:of_file",
    "audit": "calm.plugins.lint.command:before_audit",
    "init": "calm.plugins.lint.shown:after_init",
}
