"""Stands in for a package that llama.cpp's server needs."""
