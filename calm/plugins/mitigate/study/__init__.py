"""Mitigations, measured: what makes a judge pass its gate, and what it costs."""
