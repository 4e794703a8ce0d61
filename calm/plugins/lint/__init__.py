"""What will go wrong with the prompt of a judge, before it is asked: `calm lint`."""

COMMANDS = {"lint": ("read the prompt of a judge, and say what will go wrong", "calm.commands.lint:register")}

HOOKS = {
    "lint": "calm.judges.lint:of_file",
    "audit": "calm.commands.lint:before_audit",
    "init": "calm.commands.lint_shown:after_init",
}
