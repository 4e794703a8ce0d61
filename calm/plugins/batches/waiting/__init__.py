"""Calls by the batch API of their provider: gathered in waves, handed in, waited for, and collected once."""
