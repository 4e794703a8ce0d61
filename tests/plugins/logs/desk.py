"""
A support desk whose answers a judge rated in several tools: what each log of it must hold.

The judge is planted: it says of an answer what stands in `SAID`, twice. It takes a cited policy for a right answer.
`tests/slow/logs` writes the logs anew, each with the real package.
"""

from typing import NamedTuple

CONTEXT = (
    "Returns are taken within 30 days of delivery, with the receipt.",
    "Sending a return back costs 5 euros, but for faulty goods nothing.",
)


class Item(NamedTuple):
    """A question with one answer, the reference, whether a person calls it right, and what the judge said, twice."""

    name: str
    question: str
    answer: str
    reference: str
    person: float
    said: tuple[float, float]


ITEMS = (
    Item("window-1", "How long can I return a lamp?", "For 30 days after it was delivered.", "30 days", 1, (1, 1)),
    Item(
        "window-2", "How long can I return a lamp?", "For 90 days, says section 4 of our policy.", "30 days", 0, (1, 1)
    ),
    Item(
        "fee-1",
        "What does a return cost?",
        "It costs 5 euros, and nothing if the goods are faulty.",
        "5 euros",
        1,
        (1, 1),
    ),
    Item("fee-2", "What does a return cost?", "Nothing at all.", "5 euros", 0, (0, 0)),
    Item("receipt-1", "Do I need the receipt?", "Yes, please bring it along.", "yes", 1, (1, 0)),
    Item("receipt-2", "Do I need the receipt?", "No, we know all our customers.", "yes", 0, (0, 0)),
    Item(
        "faulty-1", "My lamp is broken. Who pays?", "We do: faulty goods come back at no cost.", "the shop", 1, (1, 1)
    ),
    Item("faulty-2", "My lamp is broken. Who pays?", "You do, as section 2 of the policy says.", "the shop", 0, (1, 0)),
)
REPEATS = 2
TEMPLATE = (
    "You rate an answer of a support desk.\n\nQuestion: {question}\nPolicy: {context}\nExpected: {reference}\n"
    'Answer: {answer}\n\nReply in JSON: {{"reason": "...", "score": 1 or 0}}'
)


def prompt(item):
    """Return the prompt that the judge was sent about an item."""
    return TEMPLATE.format(
        question=item.question, context="\n".join(CONTEXT), reference=item.reference, answer=item.answer
    )


def item_in(text):
    """Return the item whose answer a prompt shows."""
    return next(item for item in ITEMS if item.answer in text and item.question in text)


class Planted:
    """The judge: each ask about an item gives the next of what it says."""

    def __init__(self):
        self.asked = {}

    def score(self, text):
        """Return what it says of the answer that a prompt shows."""
        item = item_in(text)
        self.asked[item.name] = self.asked.get(item.name, 0) + 1
        return item.said[(self.asked[item.name] - 1) % REPEATS]
