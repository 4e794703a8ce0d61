"""Judges: a model behind a prompt, a callable, the embedded one, and what wraps them."""
