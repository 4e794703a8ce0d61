"""Hypothesis strategies for your own tests of a judge: cases, edits, stacks of edits, and remarks."""

from calm.strategies.cases import cases
from calm.strategies.edits import Change, edits, stacks
from calm.strategies.insertions import insertions
from calm.strategies.notes import notes

__all__ = ["Change", "cases", "edits", "insertions", "notes", "stacks"]
