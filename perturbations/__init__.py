"""Perturbations: one module per bias, pure functions on cases."""
