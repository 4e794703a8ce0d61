"""Hypothesis strategies for your own tests of a judge: cases, edits, stacks of edits, and remarks."""

from calm.strategies.cases import cases
from calm.strategies.edits import Change, edits, notes, stacks
from calm.strategies.shrinking import insertions

__all__ = ["Change", "cases", "edits", "insertions", "notes", "stacks"]
