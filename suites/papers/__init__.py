"""Protocols of papers, as the papers state them: observed, not claimed, and asked only if they are named."""
