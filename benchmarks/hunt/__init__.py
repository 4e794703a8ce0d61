"""Planted rules that a search must find, and a writer to hold it against: neither was made from the search."""
