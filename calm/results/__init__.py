"""The record of a run: written, read again, compared, and put into words."""
