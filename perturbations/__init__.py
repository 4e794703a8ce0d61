"""Perturbations: one module for each bias, with pure functions from a case to an edited case."""
