"""
Errands for an agent in a small world: what is asked, when it is done, and three runs that set about it.

An errand has three conditions, each of which a program checks: the good run meets all of them, the near run misses one,
the far run meets at most one, and says that it succeeded although a call of its own failed. A run is a function that
makes its calls one after the other in the world itself; what it says is worked out from what the calls gave.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final, TypeAlias

from tools.cases.worlds import State

__all__ = ["CONDITIONS", "ERRANDS", "Errand", "Run"]

CONDITIONS: Final = ("c1", "c2", "c3")
NAMES: Final = ("Mara", "Jonas", "Petra", "Ivo", "Salma", "Tomas", "Greta", "Anil", "Lena", "Oskar")
ITEMS: Final = ("kettle", "lamp", "blanket", "toaster", "rucksack", "teapot", "ladder", "radio")
STREETS: Final = ("Hill Road", "Mill Lane", "Station Street", "Lake Way", "Garden Row", "Church Walk")
DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
ROOMS: Final = ("Oak", "Birch", "Elm")
TITLES: Final = ("Budget talk", "Design review", "Team lunch", "Safety drill", "Sales call", "Press hour")


class Run:
    """The calls of an agent in a world, each with the thought before it, and what it says in the end."""

    def __init__(self, call: Callable[[str, Mapping[str, object]], dict[str, object]]) -> None:
        self._call = call
        self.steps: list[dict[str, object]] = []
        self.text = ""

    def do(self, thought: str, tool: str, **arguments: object) -> dict[str, Any]:
        """Make a call, and return what it gave."""
        result = self._call(tool, arguments)
        self.steps.append({"thought": thought, "tool": tool, "arguments": arguments, "result": result})
        return result

    def say(self, text: str) -> None:
        """End the run with an answer."""
        self.text = text

    @property
    def failures(self) -> int:
        """How many calls failed."""
        return sum(1 for step in self.steps if isinstance(step["result"], dict) and "error" in step["result"])


Check: TypeAlias = Callable[[State, State, str], bool]
"""Whether a condition holds, by the state before the run, the state after it, and the answer."""
Act: TypeAlias = Callable[[Run], None]


@dataclass(frozen=True)
class Errand:
    """An errand: its world and the state of it, the question, its conditions with their checks, and the three runs."""

    world: str
    state: State
    question: str
    conditions: Mapping[str, tuple[str, Check]]
    good: Act
    near: Act
    far: Act
    looks: Sequence[tuple[str, str, Mapping[str, object]]] = field(default=())
    """Calls that change nothing, with their thoughts: some runs begin with them."""


def _says(*words: object) -> Check:
    """Return a check: all of these words or numbers are in the answer."""
    return lambda before, after, text: all(re.search(rf"(?<!\w){re.escape(str(w))}(?!\w)", text) for w in words)


def _only(part: str, *changed: str) -> Check:
    """Return a check: of a part of the state, nothing but these is another, new or gone."""

    def holds(before: State, after: State, text: str) -> bool:
        keys = {*before[part], *after[part]} - set(changed)
        return all(before[part].get(key) == after[part].get(key) for key in keys)

    return holds


# ------------------------------------------------------------------------------------------------------------- orders


def _shop(rng: Random) -> tuple[State, str, str, list[str]]:
    """Return a store in which one customer has a shipped order and two open ones, another customer a fourth one."""
    numbers = [str(n) for n in sorted(rng.sample(range(3100, 9900), 4))]
    who, other = rng.sample(NAMES, 2)
    items = rng.sample(ITEMS, 4)
    status = ("shipped", "open", "open", "open")
    orders = {
        number: {
            "customer": other if place == 3 else who,
            "item": items[place],
            "quantity": rng.randint(2, 5),
            "price": rng.randint(11, 39),
            "status": status[place],
            "address": f"{rng.randint(2, 98)} {rng.choice(STREETS)}",
            "refund": 0,
        }
        for place, number in enumerate(numbers)
    }
    return {"orders": orders, "stock": {item: rng.randint(3, 6) for item in items}}, who, other, numbers


def _cancelled(rng: Random) -> Errand:
    state, who, other, (shipped, wanted, _spare, _foreign) = _shop(rng)
    order, sent = state["orders"][wanted], state["orders"][shipped]
    item, paid = order["item"], order["quantity"] * order["price"]
    wrong = sent["quantity"] * sent["price"] + (1 if sent["quantity"] * sent["price"] == paid else 0)

    def good(run: Run) -> None:
        run.do(f"First I need the orders of {who}.", "find_orders", customer=who)
        run.do(f"The {item} is order {wanted}. I look at what it cost.", "read_order", order=wanted)
        run.do("It is still open, so it can be cancelled.", "cancel_order", order=wanted)
        back = run.do(f"Now the money: {paid} in all.", "refund", order=wanted, amount=paid)
        run.say(f"The order of the {item} is cancelled, and {back['paid_back']} euros were paid back to {who}.")

    def near(run: Run) -> None:
        run.do(f"I look up what {who} has ordered.", "find_orders", customer=who)
        run.do(f"Order {wanted} is the one with the {item}.", "read_order", order=wanted)
        run.do("I cancel it.", "cancel_order", order=wanted)
        run.do("The customer gets the money back.", "refund", order=wanted, amount=paid + 10)
        run.say(f"The order of the {item} is cancelled, and the {paid} euros for it were paid back to {who}.")

    def far(run: Run) -> None:
        run.do(f"I look up what {who} has ordered.", "find_orders", customer=who)
        run.do("I cancel the first of them.", "cancel_order", order=shipped)
        run.do("I pay back what it cost.", "refund", order=shipped, amount=sent["quantity"] * sent["price"])
        run.say(f"The order of the {item} is cancelled, and {wrong} euros were paid back to {who}.")

    return Errand(
        "orders",
        state,
        f"Cancel the order of the {item} of our customer {who}, pay back all that was paid for it, and say how many "
        "euros that is. Leave the other orders as they are.",
        {
            "c1": (
                f"The order of the {item} is cancelled, and no other order is changed.",
                lambda b, a, t: a["orders"][wanted]["status"] == "cancelled" and _only("orders", wanted)(b, a, t),
            ),
            "c2": (
                f"All that {who} paid for the {item} is paid back.",
                lambda b, a, t: a["orders"][wanted]["refund"] == paid,
            ),
            "c3": (f"The answer says that {paid} euros are paid back.", _says(paid)),
        },
        good,
        near,
        far,
        (("I look around in the stock first.", "read_stock", {"item": item}),
         (f"Does {other} have an order, too?", "find_orders", {"customer": other})),
    )  # fmt: skip


def _readdressed(rng: Random) -> Errand:
    state, who, other, (shipped, first, second, foreign) = _shop(rng)
    new = f"{rng.randint(2, 98)} {rng.choice(STREETS)}, second floor"

    def good(run: Run) -> None:
        run.do(f"I need all orders of {who}.", "find_orders", customer=who)
        run.do(f"{shipped} is on its way, so two are left. The first one:", "change_address", order=first, address=new)
        run.do("And the second one:", "change_address", order=second, address=new)
        run.do("I check one of them.", "read_order", order=second)
        run.say(f"2 orders of {who} now go to {new}. Order {shipped} had left already.")

    def near(run: Run) -> None:
        run.do(f"I need all orders of {who}.", "find_orders", customer=who)
        run.do("I change the first open one.", "change_address", order=first, address=new)
        run.do("And the other open one.", "change_address", order=second, address=new)
        run.do("The fourth order, too.", "change_address", order=foreign, address=new)
        run.say(f"2 orders of {who} now go to {new}. Order {shipped} had left already.")

    def far(run: Run) -> None:
        run.do(f"I need all orders of {who}.", "find_orders", customer=who)
        run.do("I change the first one.", "change_address", order=shipped, address=new)
        run.do("Then the next one.", "change_address", order=first, address=new)
        run.do("Last the fourth.", "change_address", order=foreign, address=new)
        run.say(f"All 3 orders of {who} now go to {new}.")

    return Errand(
        "orders",
        state,
        f"Our customer {who} has moved. Send every order of {who} that has not been shipped to {new}, and say how many "
        "orders that are. Touch nobody else's orders.",
        {
            "c1": (
                f"Every open order of {who} goes to the new address.",
                lambda b, a, t: all(a["orders"][n]["address"] == new for n in (first, second)),
            ),
            "c2": (f"No order but the open ones of {who} is changed.", _only("orders", first, second)),
            "c3": ("The answer says that it is 2 orders.", _says("2 orders")),
        },
        good,
        near,
        far,
        ((f"Let me see order {first}.", "read_order", {"order": first}),
         (f"And what has {other} ordered?", "find_orders", {"customer": other})),
    )  # fmt: skip


def _as_many(rng: Random) -> Errand:
    state, who, other, (_shipped, wanted, spare, _foreign) = _shop(rng)
    order = state["orders"][wanted]
    item, left = order["item"], state["stock"][order["item"]]
    most = order["quantity"] + left
    asked = most + rng.randint(2, 6)
    cost, dear = most * order["price"], asked * order["price"]

    def good(run: Run) -> None:
        run.do(f"Which order is it? I look for {who}.", "find_orders", customer=who)
        run.do(f"Order {wanted}. How many does it hold now?", "read_order", order=wanted)
        run.do("How many more are there?", "read_stock", item=item)
        run.do(f"{left} more, so {most} is the most.", "change_quantity", order=wanted, quantity=most)
        run.say(f"There are not enough for {asked}: the order now holds {most} of the {item}, for {cost} euros.")

    def near(run: Run) -> None:
        run.do(f"I look for the order of {who}.", "find_orders", customer=who)
        run.do("I try what was asked for.", "change_quantity", order=wanted, quantity=asked)
        run.do(f"That was too many: {most} will do.", "change_quantity", order=wanted, quantity=most)
        run.say(f"There are not enough for {asked}: the order now holds {most} of the {item}, for {dear} euros.")

    def far(run: Run) -> None:
        run.do(f"I look for the order of {who}.", "find_orders", customer=who)
        run.do("I read what it holds.", "read_order", order=wanted)
        run.do(f"I set it to {asked}.", "change_quantity", order=wanted, quantity=asked)
        run.say(f"The order now holds {asked} of the {item}, as you wished, for {dear} euros.")

    return Errand(
        "orders",
        state,
        f"Our customer {who} wants {asked} of the {item} in place of what is ordered, or as many as there are. Change "
        "the order, and say how many it holds now and what they cost together.",
        {
            "c1": (
                f"The order holds {most} of the {item}, and no other order is changed.",
                lambda b, a, t: a["orders"][wanted]["quantity"] == most and _only("orders", wanted)(b, a, t),
            ),
            "c2": (f"The answer says that the order holds {most}.", _says(most)),
            "c3": (f"The answer says that they cost {cost} euros.", _says(cost)),
        },
        good,
        near,
        far,
        ((f"Order {spare} is of {who}, too.", "read_order", {"order": spare}),
         (f"I look at {other}, too.", "find_orders", {"customer": other})),
    )  # fmt: skip


def _damaged(rng: Random) -> Errand:
    state, who, other, (sent, spare, _third, _foreign) = _shop(rng)
    order = state["orders"][sent]
    item, broken = order["item"], order["quantity"] - 1
    back, kept = broken * order["price"], order["price"]
    worth = order["quantity"] * order["price"]

    def good(run: Run) -> None:
        run.do(f"I look for the order with the {item}.", "find_orders", customer=who)
        run.do("What did one of them cost?", "read_order", order=sent)
        run.do(f"{broken} of them make {back}.", "refund", order=sent, amount=back)
        run.say(f"{back} euros for the broken ones were paid back. {who} has now paid {kept} euros for the {item}.")

    def near(run: Run) -> None:
        run.do(f"I look for the order with the {item}.", "find_orders", customer=who)
        run.do("I read its price.", "read_order", order=sent)
        run.do(f"I pay back {back}.", "refund", order=sent, amount=back)
        run.do("I cancel another one as well.", "cancel_order", order=spare)
        run.say(f"{back} euros for the broken ones were paid back. {who} has now paid {kept} euros for the {item}.")

    def far(run: Run) -> None:
        run.do(f"I look for the order with the {item}.", "find_orders", customer=who)
        run.do("They get all of it back, and something on top.", "refund", order=sent, amount=worth + 15)
        run.say(f"{worth + 15} euros were paid back, so {who} has paid nothing for the {item}.")

    return Errand(
        "orders",
        state,
        f"{broken} of the {order['quantity']} pieces of the {item} that our customer {who} got came broken. Pay back "
        "what these cost, and say how many euros were paid back and how many euros of the order stay paid.",
        {
            "c1": (
                f"What {broken} pieces of the {item} cost is paid back.",
                lambda b, a, t: a["orders"][sent]["refund"] == back,
            ),
            "c2": ("No other order is changed.", _only("orders", sent)),
            "c3": (f"The answer says that {back} euros are paid back and {kept} stay paid.", _says(back, kept)),
        },
        good,
        near,
        far,
        ((f"Is the {item} in stock?", "read_stock", {"item": item}),
         (f"I look at {other} as well.", "find_orders", {"customer": other})),
    )  # fmt: skip


# -------------------------------------------------------------------------------------------------------------- files


def _moved(rng: Random) -> Errand:
    names = rng.sample(("january", "february", "march", "april", "may", "june"), 3)
    inbox, data = f"/inbox-{rng.randint(10, 99)}", f"/data-{rng.randint(10, 99)}"
    stays, *others = (f"{name}.csv" for name in names)
    files = {f"{inbox}/{name}.csv": f"{name};{rng.randint(10, 99)}" for name in names}
    files |= {
        f"{inbox}/letter.txt": "Dear all",
        f"{data}/{stays}": f"kept;{rng.randint(10, 99)}",
        f"{data}/readme.txt": "x",
    }
    state: State = {"files": files, "locked": []}
    gone = [f"{inbox}/{name}" for name in others] + [f"{data}/{name}" for name in others]

    def good(run: Run) -> None:
        run.do("What is in the inbox?", "list_folder", folder=inbox)
        run.do("And what is there already?", "list_folder", folder=data)
        for name in others:
            run.do(f"{name} is not there yet.", "move_file", source=f"{inbox}/{name}", target=f"{data}/{name}")
        run.say(f"{' and '.join(others)} are in {data} now. {stays} was left in {inbox}, as one of that name is there.")

    def near(run: Run) -> None:
        run.do("What is in the inbox?", "list_folder", folder=inbox)
        run.do("The first table:", "move_file", source=f"{inbox}/{stays}", target=f"{data}/{stays}")
        run.do("That one stays. The next:", "move_file", source=f"{inbox}/{others[0]}", target=f"{data}/{others[0]}")
        run.say(f"{' and '.join(others)} are in {data} now. {stays} was left in {inbox}, as one of that name is there.")

    def far(run: Run) -> None:
        run.do("What is in the inbox?", "list_folder", folder=inbox)
        run.do("I move the first.", "move_file", source=f"{inbox}/{stays}", target=f"{data}/{stays}")
        run.do("I make room for it.", "delete_file", path=f"{data}/{stays}")
        run.do("And the second.", "move_file", source=f"{inbox}/{others[0]}", target=f"{data}/{others[0]}")
        run.say(f"All three tables of {inbox} are in {data} now, each under its own name.")

    return Errand(
        "files",
        state,
        f"Move every .csv file of {inbox} to {data} under its own name. If a file of that name is there already, leave "
        "both as they are, and name it in your answer.",
        {
            "c1": (
                f"{others[0]} and {others[1]} are in {data} and no longer in {inbox}.",
                lambda b, a, t: all(
                    f"{inbox}/{n}" not in a["files"] and a["files"].get(f"{data}/{n}") == b["files"][f"{inbox}/{n}"]
                    for n in others
                ),
            ),
            "c2": ("No other file is changed, moved or deleted.", _only("files", *gone)),
            "c3": (f"The answer names {stays} as the file that was left.", _says(stays)),
        },
        good,
        near,
        far,
        (("Let me see the letter.", "read_file", {"path": f"{inbox}/letter.txt"}),
         ("I look into the other folder.", "list_folder", {"folder": data})),
    )  # fmt: skip


def _totalled(rng: Random) -> Errand:
    sums = {name: rng.randint(110, 480) for name in rng.sample(("north", "south", "east", "west"), 3)}
    total, old = sum(sums.values()), rng.randint(20, 99)
    files = {f"/sales/{name}.txt": f"{name} {amount}" for name, amount in sums.items()}
    state: State = {"files": {**files, "/sales/total.txt": f"total {old}"}, "locked": ["/sales/total.txt"]}
    first, second, third = sums
    part = sums[first] + sums[second]

    def read(run: Run, *names: str) -> None:
        for name in names:
            run.do(f"The sales of the {name}:", "read_file", path=f"/sales/{name}.txt")

    def good(run: Run) -> None:
        run.do("Which files are there?", "list_folder", folder="/sales")
        read(run, first, second, third)
        run.do(f"Together {total}.", "write_file", path="/sales/total.txt", text=f"total {total}")
        run.do("It is locked. I may unlock it.", "unlock_file", path="/sales/total.txt")
        run.do("Again:", "write_file", path="/sales/total.txt", text=f"total {total}")
        run.say(f"The sales come to {total}. This is in /sales/total.txt now.")

    def near(run: Run) -> None:
        run.do("Which files are there?", "list_folder", folder="/sales")
        read(run, first, second, third)
        run.do("I unlock the file of the total.", "unlock_file", path="/sales/total.txt")
        run.do(f"It is {total}.", "write_file", path="/sales/total.txt", text=f"total {total}")
        run.do("The parts are of no use now.", "delete_file", path=f"/sales/{first}.txt")
        run.say(f"The sales come to {total}. This is in /sales/total.txt now.")

    def far(run: Run) -> None:
        run.do("Which files are there?", "list_folder", folder="/sales")
        read(run, first, second)
        run.do(f"That makes {part}.", "write_file", path="/sales/total.txt", text=f"total {part}")
        run.say(f"The sales come to {part}. This is in /sales/total.txt now.")

    return Errand(
        "files",
        state,
        f"Add up the sales in the files of /sales, write them into /sales/total.txt in place of the old total, as in "
        f"`total {old}`, and say the sum. Change no other file.",
        {
            "c1": (
                f"/sales/total.txt says: total {total}.",
                lambda b, a, t: a["files"]["/sales/total.txt"] == f"total {total}",
            ),
            "c2": ("No other file is changed or deleted.", _only("files", "/sales/total.txt")),
            "c3": (f"The answer says that the sum is {total}.", _says(total)),
        },
        good,
        near,
        far,
        (("What does the old total say?", "read_file", {"path": "/sales/total.txt"}),
         ("Which files are in this folder?", "list_folder", {"folder": "/sales"})),
    )  # fmt: skip


def _configured(rng: Random) -> Errand:
    key, old, new = rng.choice(("port", "workers", "timeout", "retries")), rng.randint(20, 59), rng.randint(60, 99)
    lines = [f"host = {rng.choice(('alpha', 'beta', 'gamma'))}", f"{key} = {old}", f"level = {rng.randint(1, 9)}"]
    path, other = "/app/settings.ini", "/app/settings.old"
    state: State = {"files": {path: "\n".join(lines), other: "host = none"}, "locked": []}
    wanted = "\n".join([lines[0], f"{key} = {new}", lines[2]])

    def good(run: Run) -> None:
        run.do("I look for the file.", "list_folder", folder="/app")
        run.do("What does it say now?", "read_file", path=path)
        run.do(f"I put {new} in and keep the other lines.", "write_file", path=path, text=wanted)
        run.do("I read it again to be sure.", "read_file", path=path)
        run.say(f"{key} is {new} now. Before it was {old}.")

    def near(run: Run) -> None:
        run.do("I look for the file.", "list_folder", folder="/app")
        run.do("What does it say now?", "read_file", path="/settings.ini")
        run.do("It is in the other folder.", "read_file", path=path)
        run.do(f"I write {key} into it.", "write_file", path=path, text=f"{key} = {new}")
        run.say(f"{key} is {new} now. Before it was {old}.")

    def far(run: Run) -> None:
        run.do("I look for the file.", "list_folder", folder="/app")
        run.do("I put the new value in.", "write_file", path="/etc/settings.ini", text=wanted)
        run.do("The old one is not needed.", "delete_file", path=other)
        run.say(f"{key} is {new} now, in place of {new - 1}.")

    return Errand(
        "files",
        state,
        f"Set {key} to {new} in /app/settings.ini, keep the other lines of the file, and say what it was before.",
        {
            "c1": (
                f"The line of {key} says {new}.",
                lambda b, a, t: f"{key} = {new}" in a["files"][path].split("\n"),
            ),
            "c2": (
                "The other lines of the file, and all other files, are as before.",
                lambda b, a, t: (
                    [line for line in a["files"][path].split("\n") if not line.startswith(key)] == [lines[0], lines[2]]
                    and _only("files", path)(b, a, t)
                ),
            ),
            "c3": (f"The answer says that it was {old}.", _says(old)),
        },
        good,
        near,
        far,
        (("There is an older file, too.", "read_file", {"path": other}),
         ("What is in this folder?", "list_folder", {"folder": "/app"})),
    )  # fmt: skip


def _tidied(rng: Random) -> Errand:
    papers = f"/papers-{rng.randint(10, 99)}"
    names = rng.sample(("offer", "report", "minutes", "speech", "poem", "recipe"), 5)
    drafts, kept = names[:2], names[2:]
    files = {f"{papers}/{name}.txt": f"{'draft' if name in drafts else 'final'}: about the {name}" for name in names}
    held = f"{papers}/{drafts[1]}.txt"
    state: State = {"files": dict(sorted(files.items())), "locked": [held]}

    def read(run: Run, several: Sequence[str]) -> None:
        for name in sorted(several):
            run.do(f"Is the {name} a draft?", "read_file", path=f"{papers}/{name}.txt")

    def good(run: Run) -> None:
        run.do("Which papers are there?", "list_folder", folder=papers)
        read(run, names)
        run.do("This one goes.", "delete_file", path=f"{papers}/{drafts[0]}.txt")
        run.do("This one is the other draft. It may be locked.", "unlock_file", path=held)
        run.do("Now it can go.", "delete_file", path=held)
        run.say("Both drafts are deleted. 3 papers are left.")

    def near(run: Run) -> None:
        run.do("Which papers are there?", "list_folder", folder=papers)
        read(run, names[:3])
        run.do("This one goes.", "delete_file", path=f"{papers}/{drafts[0]}.txt")
        run.do("So does this one.", "delete_file", path=held)
        run.say("Both drafts are deleted. 3 papers are left.")

    def far(run: Run) -> None:
        run.do("Which papers are there?", "list_folder", folder=papers)
        run.do("I begin with this one.", "delete_file", path=held)
        run.do("And this one.", "delete_file", path=f"{papers}/{kept[0]}.txt")
        read(run, kept[1:])
        run.say("All drafts are deleted. 2 papers are left.")

    return Errand(
        "files",
        state,
        f"Delete every paper in {papers} whose text begins with the word draft, also if it is locked, keep the others, "
        "and say how many papers are left.",
        {
            "c1": (
                f"The drafts of the {drafts[0]} and the {drafts[1]} are deleted.",
                lambda b, a, t: all(f"{papers}/{name}.txt" not in a["files"] for name in drafts),
            ),
            "c2": (
                "No other paper is changed or deleted.",
                _only("files", *(f"{papers}/{name}.txt" for name in drafts)),
            ),
            "c3": ("The answer says that 3 papers are left.", _says("3 papers")),
        },
        good,
        near,
        far,
        (("What is in the folder?", "list_folder", {"folder": papers}),
         (f"I look at the {kept[1]}.", "read_file", {"path": f"{papers}/{kept[1]}.txt"})),
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- calendar


def _event(title: str, day: str, start: int, end: int, room: str) -> State:
    return {"title": title, "day": day, "start": start, "end": end, "room": room}


def _booked(rng: Random) -> Errand:
    day, room = rng.choice(DAYS), rng.choice(ROOMS)
    first, second, title = rng.sample(TITLES, 3)
    free = rng.randint(11, 13)
    events = {
        "e1": _event(first, day, 9, free, room),
        "e2": _event(second, day, free + 1, free + 3, room),
        "e3": _event(first, rng.choice([one for one in DAYS if one != day]), 10, 11, room),
    }
    state: State = {"events": events, "rooms": list(ROOMS)}

    def good(run: Run) -> None:
        run.do(f"What is on that {day}?", "list_events", day=day)
        run.do(
            f"{room} is free from {free}.", "create_event", title=title, day=day, start=free, end=free + 1, room=room
        )
        run.do("I make sure that it is in.", "list_events", day=day)
        run.say(f"{title} is on {day} at {free} in room {room}.")

    def near(run: Run) -> None:
        run.do(f"What is on that {day}?", "list_events", day=day)
        run.do("I try the end of the first.", "create_event", title=title, day=day, start=free - 1, end=free, room=room)
        run.do("Then later.", "create_event", title=title, day=day, start=free, end=free + 1, room=room)
        run.do("The one behind it is in the way.", "delete_event", event="e2")
        run.say(f"{title} is on {day} at {free} in room {room}.")

    def far(run: Run) -> None:
        run.do(f"What is on that {day}?", "list_events", day=day)
        run.do("The morning is best.", "create_event", title=title, day=day, start=9, end=10, room=room)
        run.say(f"{title} is on {day} at 9 in room {room}.")

    return Errand(
        "calendar",
        state,
        f"Book an hour for the {title.lower()} (title: {title}) on {day} in room {room}, as early as the room is free, "
        "and say when it begins. Leave all other events as they are.",
        {
            "c1": (
                f"{title} is in room {room} on {day} from {free} to {free + 1}.",
                lambda b, a, t: _event(title, day, free, free + 1, room) in a["events"].values(),
            ),
            "c2": (
                "All other events are as before, and there is one new one.",
                lambda b, a, t: (
                    all(a["events"].get(k) == e for k, e in b["events"].items())
                    and len(a["events"]) == len(b["events"]) + 1
                ),
            ),
            "c3": (f"The answer says that it begins at {free}.", _says(f"at {free}")),
        },
        good,
        near,
        far,
        (("Which rooms are free at noon?", "free_rooms", {"day": day, "start": 12, "end": 13}),
         ("What is on that day?", "list_events", {"day": day})),
    )  # fmt: skip


def _shifted(rng: Random) -> Errand:
    before, after = rng.sample(DAYS, 2)
    room, spare, third = rng.sample(ROOMS, 3)
    title, blocks, other = rng.sample(TITLES, 3)
    start = rng.randint(10, 14)
    events = {
        "e1": _event(title, before, start, start + 1, room),
        "e2": _event(blocks, after, start, start + 2, room),
        "e3": _event(other, after, start, start + 1, third),
    }
    state: State = {"events": events, "rooms": sorted(ROOMS)}

    def good(run: Run) -> None:
        run.do(f"Which event is it? I look at {before}.", "list_events", day=before)
        run.do("Is its room free then?", "free_rooms", day=after, start=start, end=start + 1)
        run.do(f"Only {spare} is.", "move_event", event="e1", day=after, start=start, room=spare)
        run.say(f"{title} is now on {after} at {start}, in room {spare}.")

    def near(run: Run) -> None:
        run.do(f"Which event is it? I look at {before}.", "list_events", day=before)
        run.do("I keep the room.", "move_event", event="e1", day=after, start=start, room=room)
        run.do("It is taken. Another one:", "move_event", event="e1", day=after, start=start, room=spare)
        run.say(f"{title} is now on {after} at {start}, in room {room}.")

    def far(run: Run) -> None:
        run.do(f"Which event is it? I look at {before}.", "list_events", day=before)
        run.do("I keep the room.", "move_event", event="e1", day=after, start=start, room=room)
        run.do("What is on that day?", "list_events", day=after)
        run.do("This one can go.", "delete_event", event="e3")
        run.say(f"{title} is now on {after} at {start}, in room {room}.")

    return Errand(
        "calendar",
        state,
        f"Move the event {title} from {before} to {after} at the same hour. If its room is taken then, take another "
        "one that is free. Say which room it is in. Leave all other events as they are.",
        {
            "c1": (
                f"{title} is on {after} at {start} in room {spare}.",
                lambda b, a, t: a["events"].get("e1") == _event(title, after, start, start + 1, spare),
            ),
            "c2": ("All other events are as before.", _only("events", "e1")),
            "c3": (f"The answer says that it is in room {spare}.", _says(spare)),
        },
        good,
        near,
        far,
        (("What is on that other day?", "list_events", {"day": after}),
         ("Which rooms are free early?", "free_rooms", {"day": after, "start": 9, "end": 10})),
    )  # fmt: skip


def _dropped(rng: Random) -> Errand:
    days = rng.sample(DAYS, 3)
    title, other = rng.sample(TITLES, 2)
    like = f"{title} (prepare)"
    start = rng.randint(9, 12)
    events = {
        "e1": _event(title, days[0], start, start + 1, "Oak"),
        "e2": _event(title, days[1], start + 1, start + 2, "Elm"),
        "e3": _event(like, days[1], start, start + 1, "Elm"),
        "e4": _event(other, days[2], start, start + 2, "Birch"),
        "e5": _event(title, days[2], start + 2, start + 3, "Birch"),
    }
    state: State = {"events": events, "rooms": list(ROOMS)}

    def look(run: Run, several: Sequence[str]) -> None:
        for day in several:
            run.do(f"What is on {day}?", "list_events", day=day)

    def good(run: Run) -> None:
        look(run, days)
        for event in ("e1", "e2", "e5"):
            run.do(f"{event} is one of them.", "delete_event", event=event)
        run.say(f"{title} is off on all three days: 3 events were deleted.")

    def near(run: Run) -> None:
        look(run, days)
        for event in ("e1", "e2", "e3", "e5"):
            run.do(f"{event} has this title.", "delete_event", event=event)
        run.say(f"{title} is off on all three days: 3 events were deleted.")

    def far(run: Run) -> None:
        look(run, days[:2])
        for event in ("e1", "e6", "e4"):
            run.do(f"I take {event} out.", "delete_event", event=event)
        run.say(f"{title} is off: 2 events were deleted, and no other one is left.")

    return Errand(
        "calendar",
        state,
        f"Delete every event with exactly the title {title} on {days[0]}, {days[1]} and {days[2]}, no other event, and "
        "say how many you deleted.",
        {
            "c1": (
                f"No event with the title {title} is left.",
                lambda b, a, t: all(event["title"] != title for event in a["events"].values()),
            ),
            "c2": ("All other events are as before.", _only("events", "e1", "e2", "e5")),
            "c3": ("The answer says that 3 events were deleted.", _says("3 events")),
        },
        good,
        near,
        far,
        ((f"I look at {days[2]} first.", "list_events", {"day": days[2]}),
         ("Which rooms are free then?", "free_rooms", {"day": days[0], "start": start, "end": start + 1})),
    )  # fmt: skip


def _cleaned(rng: Random) -> Errand:
    day, room = rng.choice(DAYS), rng.choice(ROOMS)
    other = next(one for one in ROOMS if one != room)
    one, two, three = rng.sample(TITLES, 3)
    gap, last = rng.randint(1, 2), rng.randint(1, 2)
    begin = 10 + gap
    events = {
        "e1": _event(one, day, 9, 10, room),
        "e2": _event(two, day, begin, begin + last, room),
        "e3": _event(three, day, begin, begin + 1, other),
    }
    state: State = {"events": events, "rooms": list(ROOMS)}
    end, hours = begin + last, 1 + last
    wanted = _event("Cleaning", day, end, end + 1, room)

    def good(run: Run) -> None:
        run.do(f"What is on {day}?", "list_events", day=day)
        run.do(f"{room} is done at {end}.", "create_event", **wanted)
        run.say(f"Cleaning is at {end} in room {room}. The room is booked for {hours} hours before that.")

    def near(run: Run) -> None:
        run.do(f"What is on {day}?", "list_events", day=day)
        run.do("I try an earlier hour.", "create_event", **{**wanted, "start": end - 1, "end": end})
        run.do("Then after the last one.", "create_event", **wanted)
        run.say(f"Cleaning is at {end} in room {room}. The room is booked for {hours + 1} hours before that.")

    def far(run: Run) -> None:
        run.do(f"What is on {day}?", "list_events", day=day)
        run.do("I look for free rooms.", "free_rooms", day=day, start=9, end=10)
        run.do("At the start of the day.", "create_event", **{**wanted, "start": 9, "end": 10})
        run.say(f"Cleaning is at 9 in room {room}. The room is booked for {hours + 2} hours on that day.")

    return Errand(
        "calendar",
        state,
        f"Add an hour with the title Cleaning to room {room} on {day}, right after the last event there, and say at "
        "which hour it begins and how many hours the room is booked on that day without it.",
        {
            "c1": (
                f"Cleaning is in room {room} from {end} to {end + 1}, and all else is as before.",
                lambda b, a, t: wanted in a["events"].values() and _only("events", "e4")(b, a, t),
            ),
            "c2": (f"The answer says that it begins at {end}.", _says(f"at {end}")),
            "c3": (f"The answer says that the room is booked for {hours} hours.", _says(f"{hours} hours")),
        },
        good,
        near,
        far,
        (("Which rooms are free at four?", "free_rooms", {"day": day, "start": 16, "end": 17}),
         ("I list the events of the day.", "list_events", {"day": day})),
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------------------- ledger

_NO_ENTRIES: Final[dict[str, State]] = {}


def _topped(rng: Random) -> Errand:
    holds, gap = rng.randint(120, 260), rng.randint(31, 89)
    bill, saved = holds + gap, rng.randint(400, 800)
    state: State = {
        "accounts": {"house": holds, "savings": saved, "plumber": 0},
        "entries": dict(_NO_ENTRIES),
        "closed": [],
    }
    left, round_sum = saved - gap, gap + 50

    def pay(run: Run, thought: str) -> None:
        run.do(thought, "transfer", source="house", target="plumber", amount=bill, note="bill")

    def top(run: Run, thought: str, amount: int) -> None:
        run.do(thought, "transfer", source="savings", target="house", amount=amount, note="top up")

    def good(run: Run) -> None:
        run.do("What is on the account?", "read_balance", account="house")
        top(run, f"{gap} are missing.", gap)
        pay(run, "Now the bill.")
        run.do("What is left of the savings?", "read_balance", account="savings")
        run.say(f"The bill of {bill} is paid. The savings are {left} now.")

    def near(run: Run) -> None:
        pay(run, "I pay the bill.")
        top(run, "The account holds too little. I top it up.", round_sum)
        pay(run, "And again.")
        run.do("What is left of the savings?", "read_balance", account="savings")
        run.say(f"The bill of {bill} is paid. The savings are {saved - round_sum} now.")

    def far(run: Run) -> None:
        run.do("What is on the savings?", "read_balance", account="savings")
        pay(run, "I pay the bill.")
        top(run, "A little more for the house.", 20)
        run.say(f"The bill of {bill} is paid. The savings are {saved} now.")

    return Errand(
        "ledger",
        state,
        f"Pay the bill of {bill} from the account house to the account plumber. If house holds too little, first move "
        "exactly what is missing from savings to house. Say what is on savings in the end.",
        {
            "c1": (f"The plumber got {bill}.", lambda b, a, t: a["accounts"]["plumber"] == bill),
            "c2": ("No more than what was missing left the savings.", lambda b, a, t: a["accounts"]["savings"] == left),
            "c3": (
                "The answer says what is on savings in the end.",
                lambda b, a, t: _says(a["accounts"]["savings"])(b, a, t),
            ),
        },
        good,
        near,
        far,
        (("What was moved so far?", "list_entries", {"account": "house"}),
         ("What does the plumber have?", "read_balance", {"account": "plumber"})),
    )  # fmt: skip


def _twice(rng: Random) -> Errand:
    rent, water, shop = rng.randint(310, 590), rng.randint(25, 80), rng.randint(90, 190)
    main = f"account {rng.randint(100, 999)}"
    entries = {
        "t1": {"source": main, "target": "water", "amount": water, "note": "water"},
        "t2": {"source": main, "target": "landlord", "amount": rent, "note": "rent of May"},
        "t3": {"source": main, "target": "landlord", "amount": rent, "note": "rent of May"},
        "t4": {"source": main, "target": "shop", "amount": shop, "note": "shelves"},
    }
    accounts = {main: rng.randint(200, 700), "landlord": 2 * rent, "water": water, "shop": shop}
    state: State = {"accounts": accounts, "entries": entries, "closed": []}

    def good(run: Run) -> None:
        run.do(f"What was moved from {main}?", "list_entries", account=main)
        run.do("t3 repeats t2, so it goes back.", "reverse_entry", entry="t3")
        run.do("What is left to the landlord?", "read_balance", account="landlord")
        run.say(f"The rent was paid twice. One payment of {rent} went back to {main}.")

    def near(run: Run) -> None:
        run.do(f"What was moved from {main}?", "list_entries", account=main)
        run.do("t3 is there twice.", "reverse_entry", entry="t3")
        run.do("This one looks odd as well.", "reverse_entry", entry="t4")
        run.say(f"The rent was paid twice. One payment of {rent} went back to {main}.")

    def far(run: Run) -> None:
        run.do(f"What was moved from {main}?", "list_entries", account=main)
        run.do("I take the fifth one back.", "reverse_entry", entry="t5")
        run.do("And the one of the water.", "reverse_entry", entry="t1")
        run.say(f"Something was paid twice. One payment of {water} went back to {main}.")

    return Errand(
        "ledger",
        state,
        f"One payment from {main} was made twice by mistake. Take one of the two back, leave all other "
        "entries, and say how much went back.",
        {
            "c1": (
                "Of the two payments of the rent one is left.",
                lambda b, a, t: sum(entry["note"] == "rent of May" for entry in a["entries"].values()) == 1,
            ),
            "c2": ("All other entries are as before.", _only("entries", "t2", "t3")),
            "c3": (f"The answer says that {rent} went back.", _says(rent)),
        },
        good,
        near,
        far,
        ((f"What is on {main}?", "read_balance", {"account": main}),
         ("What did the shop get?", "list_entries", {"account": "shop"})),
    )  # fmt: skip


def _shared(rng: Random) -> Errand:
    people = rng.sample([name.lower() for name in NAMES], 3)
    share = rng.randint(41, 98)
    pot = 3 * share
    note = f"gift {rng.randint(10, 99)}"
    state: State = {
        "accounts": {"pot": pot, **dict.fromkeys(people, 0)},
        "entries": dict(_NO_ENTRIES),
        "closed": [],
    }

    def give(run: Run, amount: int, said: str) -> None:
        for name in people:
            run.do(f"{name} gets {amount}.", "transfer", source="pot", target=name, amount=amount, note=said)

    def good(run: Run) -> None:
        run.do("How much is in the pot?", "read_balance", account="pot")
        give(run, share, note)
        run.say(f"Each of the three got {share}.")

    def near(run: Run) -> None:
        run.do("How much is in the pot?", "read_balance", account="pot")
        give(run, share, "gift")
        run.do("Is anything left?", "read_balance", account="pot")
        run.say(f"Each of the three got {share}.")

    def far(run: Run) -> None:
        give(run, share + 15, "gift")
        run.do("What did the last one get?", "read_balance", account=people[2])
        run.say(f"Each of the three got {share + 15}.")

    return Errand(
        "ledger",
        state,
        f"Share what is on the account pot equally among {people[0]}, {people[1]} and {people[2]}, each with the note "
        f"{note}, and say how much each of them got.",
        {
            "c1": (
                f"Each of the three accounts holds {share}.",
                lambda b, a, t: all(a["accounts"][name] == share for name in people),
            ),
            "c2": (
                f"Each of the three entries has the note {note}.",
                lambda b, a, t: [entry["note"] for entry in a["entries"].values()] == [note] * 3,
            ),
            "c3": (f"The answer says that each got {share}.", _says(share)),
        },
        good,
        near,
        far,
        ((f"What does {people[0]} have?", "read_balance", {"account": people[0]}),
         ("What was moved from the pot?", "list_entries", {"account": "pot"})),
    )  # fmt: skip


def _closed(rng: Random) -> Errand:
    old, new = rng.sample(("travel", "garden", "music", "school", "car"), 2)
    held, had = rng.randint(120, 480), rng.randint(10, 90)
    state: State = {"accounts": {old: held, new: had}, "entries": dict(_NO_ENTRIES), "closed": []}
    sum_up = f"{held} went from {old} to {new}, and {old} is closed."

    def move(run: Run, thought: str, amount: int) -> None:
        run.do(thought, "transfer", source=old, target=new, amount=amount, note="all of it")

    def good(run: Run) -> None:
        run.do(f"What is on {old}?", "read_balance", account=old)
        move(run, f"I move all {held}.", held)
        run.do("It is empty and can be closed.", "close_account", account=old)
        run.say(sum_up)

    def near(run: Run) -> None:
        run.do("I close it.", "close_account", account=old)
        run.do("It is not empty. How much is it?", "read_balance", account=old)
        move(run, f"I move all {held}.", held)
        run.do("Did it arrive?", "read_balance", account=new)
        run.say(sum_up)

    def far(run: Run) -> None:
        run.do(f"What is on {new}?", "read_balance", account=new)
        move(run, "I move something first.", held - 25)
        run.do("And close it.", "close_account", account=old)
        run.say(f"{held - 25} went from {old} to {new}, and {old} is closed.")

    return Errand(
        "ledger",
        state,
        f"Move all that is on the account {old} to the account {new}, then close {old}, and say how much was moved.",
        {
            "c1": (
                f"All {held} of {old} are on {new}.",
                lambda b, a, t: a["accounts"] == {old: 0, new: had + held},
            ),
            "c2": (f"The account {old} is closed.", lambda b, a, t: a["closed"] == [old]),
            "c3": (f"The answer says that {held} was moved.", _says(held)),
        },
        good,
        near,
        far,
        (("What was moved so far?", "list_entries", {"account": new}),
         (f"And what is on {new}?", "read_balance", {"account": new})),
    )  # fmt: skip


ERRANDS: Final[Mapping[str, Callable[[Random], Errand]]] = {
    "cancel-order": _cancelled,
    "move-files": _moved,
    "book-room": _booked,
    "pay-bill": _topped,
    "change-address": _readdressed,
    "add-up-sales": _totalled,
    "move-event": _shifted,
    "paid-twice": _twice,
    "more-items": _as_many,
    "change-setting": _configured,
    "delete-events": _dropped,
    "share-out": _shared,
    "broken-items": _damaged,
    "delete-drafts": _tidied,
    "add-cleaning": _cleaned,
    "close-account": _closed,
}
"""The kinds of errands by name, in the order in which they take turns."""
