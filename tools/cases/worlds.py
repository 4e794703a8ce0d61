"""
Small worlds with tools: an order store, a tree of files, a calendar and a ledger.

A tool is a method that reads or changes the state of its world, and returns an object. A call that cannot be done
changes nothing, and returns `{"error": ...}`. Nothing is drawn and nothing is read from outside: the same calls on the
same state give the same results.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any, ClassVar, Final

__all__ = ["WORLDS", "Calendar", "Files", "Ledger", "Orders", "Refused", "World"]

State = dict[str, Any]
FIRST_HOUR: Final = 9
LAST_HOUR: Final = 17


class Refused(Exception):
    """A call that cannot be done; the message says why."""


class World:
    """A state, and the tools that read and change it."""

    TOOLS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, state: State) -> None:
        self.state: State = deepcopy(state)

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """Return what a tool gives for these arguments; an object with `error` if the call cannot be done."""
        if tool not in self.TOOLS:
            return {"error": f"there is no tool {tool}"}
        method: Callable[..., dict[str, object]] = getattr(self, tool)
        try:
            inspect.signature(method).bind(**arguments)
        except TypeError:
            return {"error": f"{tool} takes other arguments"}
        before = deepcopy(self.state)
        try:
            return method(**arguments)
        except Refused as refused:
            self.state = before
            return {"error": str(refused)}


class Orders(World):
    """`orders` by number, with customer, item, quantity, price of one, status, address, refund; and `stock` by item."""

    TOOLS = ("find_orders", "read_order", "read_stock", "cancel_order", "change_address", "change_quantity", "refund")

    def find_orders(self, customer: str) -> dict[str, object]:
        """List the orders of a customer."""
        found = [(number, order) for number, order in self.state["orders"].items() if order["customer"] == customer]
        return {"orders": [{"order": n, "item": o["item"], "status": o["status"]} for n, o in found]}

    def read_order(self, order: str) -> dict[str, object]:
        """Show all of an order."""
        return dict(self._order(order))

    def read_stock(self, item: str) -> dict[str, object]:
        """Say how many of an item are left."""
        if item not in self.state["stock"]:
            raise Refused(f"{item} is not sold here")
        return {"item": item, "left": self.state["stock"][item]}

    def cancel_order(self, order: str) -> dict[str, object]:
        """Cancel an order that is not shipped, and put its items back into stock."""
        one = self._open(order)
        one["status"] = "cancelled"
        self.state["stock"][one["item"]] += one["quantity"]
        return {"order": order, "status": "cancelled"}

    def change_address(self, order: str, address: str) -> dict[str, object]:
        """Send an order that is not shipped to another address."""
        self._open(order)["address"] = address
        return {"order": order, "address": address}

    def change_quantity(self, order: str, quantity: int) -> dict[str, object]:
        """Change how many are ordered, as far as the stock lasts."""
        one = self._open(order)
        left = self.state["stock"][one["item"]]
        if quantity - one["quantity"] > left:
            raise Refused(f"only {left} more are in stock")
        self.state["stock"][one["item"]] -= quantity - one["quantity"]
        one["quantity"] = quantity
        return {"order": order, "quantity": quantity}

    def refund(self, order: str, amount: int) -> dict[str, object]:
        """Pay back an amount, at most what the order cost."""
        one = self._order(order)
        paid = one["price"] * one["quantity"]
        if one["refund"] + amount > paid:
            raise Refused(f"{amount} is more than the {paid - one['refund']} that can be paid back")
        one["refund"] += amount
        return {"order": order, "paid_back": one["refund"]}

    def _order(self, order: str) -> State:
        if order not in self.state["orders"]:
            raise Refused(f"there is no order {order}")
        found: State = self.state["orders"][order]
        return found

    def _open(self, order: str) -> State:
        one = self._order(order)
        if one["status"] != "open":
            raise Refused(f"order {order} is {one['status']}")
        return one


class Files(World):
    """`files`: the text of each by its path; `locked`: the paths that nobody may change."""

    TOOLS = ("list_folder", "read_file", "write_file", "move_file", "delete_file", "unlock_file")

    def list_folder(self, folder: str) -> dict[str, object]:
        """List the files of a folder."""
        names = [path.rpartition("/")[2] for path in self.state["files"] if path.rpartition("/")[0] == folder]
        if not names:
            raise Refused(f"there is no folder {folder}")
        return {"folder": folder, "files": sorted(names)}

    def read_file(self, path: str) -> dict[str, object]:
        """Show the text of a file."""
        return {"path": path, "text": self._text(path)}

    def write_file(self, path: str, text: str) -> dict[str, object]:
        """Write a file into a folder that there is, in place of what was in it."""
        if not any(one.rpartition("/")[0] == path.rpartition("/")[0] for one in self.state["files"]):
            raise Refused(f"there is no folder {path.rpartition('/')[0]}")
        self._free(path)
        self.state["files"][path] = text
        return {"path": path, "characters": len(text)}

    def move_file(self, source: str, target: str) -> dict[str, object]:
        """Give a file another path, at which there is none."""
        text = self._text(source)
        self._free(source)
        if target in self.state["files"]:
            raise Refused(f"{target} is there already")
        del self.state["files"][source]
        self.state["files"][target] = text
        return {"path": target}

    def delete_file(self, path: str) -> dict[str, object]:
        """Delete a file."""
        self._text(path)
        self._free(path)
        del self.state["files"][path]
        return {"deleted": path}

    def unlock_file(self, path: str) -> dict[str, object]:
        """Let a locked file be changed again."""
        if path not in self.state["locked"]:
            raise Refused(f"{path} is not locked")
        self.state["locked"].remove(path)
        return {"unlocked": path}

    def _text(self, path: str) -> str:
        if path not in self.state["files"]:
            raise Refused(f"there is no file {path}")
        return str(self.state["files"][path])

    def _free(self, path: str) -> None:
        if path in self.state["locked"]:
            raise Refused(f"{path} is locked")


class Calendar(World):
    """`events` by id, with title, day, first and last hour, and room; `rooms`: their names."""

    TOOLS = ("list_events", "free_rooms", "create_event", "move_event", "delete_event")

    def list_events(self, day: str) -> dict[str, object]:
        """List the events of a day by their hours."""
        found = [{"event": key, **event} for key, event in self.state["events"].items() if event["day"] == day]
        return {"events": sorted(found, key=lambda event: (event["start"], event["room"]))}

    def free_rooms(self, day: str, start: int, end: int) -> dict[str, object]:
        """List the rooms in which nothing is on."""
        return {"rooms": [room for room in self.state["rooms"] if self._clash(day, start, end, room) is None]}

    def create_event(self, title: str, day: str, start: int, end: int, room: str) -> dict[str, object]:
        """Add an event in a room that is free."""
        self._fit(day, start, end, room)
        key = f"e{len(self.state['events']) + 1}"
        self.state["events"][key] = {"title": title, "day": day, "start": start, "end": end, "room": room}
        return {"event": key, "start": start, "room": room}

    def move_event(self, event: str, day: str, start: int, room: str) -> dict[str, object]:
        """Move an event to another day, hour or room that is free."""
        one = dict(self._event(event))
        del self.state["events"][event]
        end = start + one["end"] - one["start"]
        self._fit(day, start, end, room)
        self.state["events"][event] = {**one, "day": day, "start": start, "end": end, "room": room}
        return {"event": event, "day": day, "start": start, "room": room}

    def delete_event(self, event: str) -> dict[str, object]:
        """Take an event out of the calendar."""
        self._event(event)
        del self.state["events"][event]
        return {"deleted": event}

    def _event(self, event: str) -> State:
        if event not in self.state["events"]:
            raise Refused(f"there is no event {event}")
        found: State = self.state["events"][event]
        return found

    def _fit(self, day: str, start: int, end: int, room: str) -> None:
        if room not in self.state["rooms"]:
            raise Refused(f"there is no room {room}")
        if not FIRST_HOUR <= start < end <= LAST_HOUR:
            raise Refused(f"the rooms are open from {FIRST_HOUR} to {LAST_HOUR}")
        taken = self._clash(day, start, end, room)
        if taken is not None:
            raise Refused(f"{room} is taken then by {taken}")

    def _clash(self, day: str, start: int, end: int, room: str) -> str | None:
        for event in self.state["events"].values():
            if (event["day"], event["room"]) == (day, room) and event["start"] < end and start < event["end"]:
                return str(event["title"])
        return None


class Ledger(World):
    """`accounts`: the balance of each; `entries` by id, with source, target, amount, note; `closed` accounts."""

    TOOLS = ("read_balance", "list_entries", "transfer", "reverse_entry", "close_account")

    def read_balance(self, account: str) -> dict[str, object]:
        """Say what is on an account."""
        return {"account": account, "balance": self._balance(account)}

    def list_entries(self, account: str) -> dict[str, object]:
        """List what was moved from or to an account."""
        self._balance(account)
        found = [{"entry": k, **e} for k, e in self.state["entries"].items() if account in (e["source"], e["target"])]
        return {"entries": found}

    def transfer(self, source: str, target: str, amount: int, note: str) -> dict[str, object]:
        """Move an amount from one account to another."""
        self._move(source, target, amount)
        key = f"t{len(self.state['entries']) + 1}"
        self.state["entries"][key] = {"source": source, "target": target, "amount": amount, "note": note}
        return {"entry": key, "balance": self._balance(source)}

    def reverse_entry(self, entry: str) -> dict[str, object]:
        """Take an entry back, and strike it out."""
        if entry not in self.state["entries"]:
            raise Refused(f"there is no entry {entry}")
        one = self.state["entries"].pop(entry)
        self._move(one["target"], one["source"], one["amount"])
        return {"reversed": entry, "amount": one["amount"]}

    def close_account(self, account: str) -> dict[str, object]:
        """Close an account that holds nothing."""
        if self._balance(account):
            raise Refused(f"{account} still holds {self._balance(account)}")
        self.state["closed"].append(account)
        return {"closed": account}

    def _balance(self, account: str) -> int:
        if account not in self.state["accounts"] or account in self.state["closed"]:
            raise Refused(f"there is no open account {account}")
        return int(self.state["accounts"][account])

    def _move(self, source: str, target: str, amount: int) -> None:
        held = self._balance(source)
        self._balance(target)
        if amount > held:
            raise Refused(f"{source} holds only {held}")
        self.state["accounts"][source] -= amount
        self.state["accounts"][target] += amount


WORLDS: Final[Mapping[str, type[World]]] = {"orders": Orders, "files": Files, "calendar": Calendar, "ledger": Ledger}
"""The worlds by name."""
