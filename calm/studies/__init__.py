"""Studies beyond the gate: attacks, mitigations, joint ratings, and texts that a model writes."""
