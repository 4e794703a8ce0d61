"""The tests of the gate: one file for each bias; each gives a probe an edit and claims what must hold."""
