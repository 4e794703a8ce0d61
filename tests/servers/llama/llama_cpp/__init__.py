"""Stands in for llama-cpp-python: its server answers as a model that likes the first slot."""
