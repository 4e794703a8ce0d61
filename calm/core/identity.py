"""An object as a key of a mapping, by what it is and not by what it equals."""

from __future__ import annotations


class Identity:
    """
    A key that is equal to another one of the same object, and to no other.

    It holds the object, so no later object can be taken for it. The object itself may be unhashable.

    >>> one, other = [1], [1]
    >>> Identity(one) == Identity(one), Identity(one) == Identity(other)
    (True, False)
    """

    __slots__ = ("of",)

    def __init__(self, of: object) -> None:
        self.of = of

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and self.of is other.of

    def __hash__(self) -> int:
        return id(self.of)
