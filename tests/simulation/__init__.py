"""The engine in a world of its own: virtual time, processes that crash and stand still, a disk that fails."""
