"""The server of the stand-in."""
