"""What your own gate says: how often noise alone turns it red, and its mark for another judge."""

COMMANDS = {
    "gate-risk": (
        "say how often your own gate goes red by noise alone",
        "calm.plugins.gates.command:register_gate_risk",
    ),
    "migrate": ("give the mark of your gate for another judge", "calm.plugins.gates.command:register_migrate"),
}
