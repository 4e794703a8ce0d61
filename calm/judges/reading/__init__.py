"""
A judge's reply to a verdict. A reply that does not say a verdict beyond doubt is `Unreadable`, never a number.

What all formats have in common: blocks of reasoning are taken out first; the last verdict wins; two different ones in
one line, or one that is not on the scale or no label, are unreadable; what stands in a quotation of a judged text is no
verdict. Only the first and the last `MAX_CHARS` characters of a reply are looked at.
"""

from calm.judges.reading.diagnosis import UnreadReply, example, fix, held, way
from calm.judges.reading.formats import SYMBOLS, Format, Kind, check
from calm.judges.reading.reply import MAX_CHARS, read
from calm.judges.reading.views import View, view

__all__ = [
    "MAX_CHARS",
    "SYMBOLS",
    "Format",
    "Kind",
    "UnreadReply",
    "View",
    "check",
    "example",
    "fix",
    "held",
    "read",
    "view",
    "way",
]
