"""For editors and shells: `calm completion` and `calm schema`."""

COMMANDS = {
    "completion": ("print the completion script of a shell", "calm.plugins.shell.command:register_completion"),
    "schema": ("print the JSON Schema of a file, for an editor", "calm.plugins.shell.command:register_schema"),
}
