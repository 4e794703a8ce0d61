"""Judges: each turns a case into a verdict, by a model and a prompt, by a function, or around a judge."""
