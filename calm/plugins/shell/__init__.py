"""For editors and shells: `calm completion` and `calm schema`."""

COMMANDS = {
    "completion": ("print the completion script of a shell", "calm.plugins.shell.completion:register"),
    "schema": ("print the JSON Schema of a file, for an editor", "calm.plugins.shell.schema:register"),
}
