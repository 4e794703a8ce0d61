"""Texts that a model writes once: answers to questions, and edits that need a writer."""
