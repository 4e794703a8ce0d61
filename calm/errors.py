"""
What can go wrong, and whose turn it is to fix it.

    CalmError
    ├── ConfigError    the wiring is wrong: an option, judge.toml, a case file (exit status 4)
    │   ├── StorageError   a file of calm's own, the cache, cannot be read or written
    │   └── TooLongError   a prompt cannot fit into the context of its model
    ├── ClaimError     a test claims what cannot be claimed
    ├── EditError      a perturbation is wrong: it changed nothing, or touched what it must not
    ├── JudgeError     a judge or its server failed, or answered as another model
    └── EstimateError  there is nothing to estimate from

A biased judge is none of these: it is a result. Neither is an unreadable reply: it is data.
"""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches


class CalmError(Exception):
    """Root of all errors that calm raises on purpose."""


class ConfigError(CalmError, ValueError):
    """One or more faults of configuration; `problems` holds a line for each."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems = (problems,) if isinstance(problems, str) else tuple(problems)
        super().__init__("\n".join(self.problems))


class StorageError(ConfigError):
    """The cache cannot be read or written; `busy` if another process holds it, so that it may work a moment later."""

    def __init__(self, problem: str, *, busy: bool = False) -> None:
        self.busy = busy
        super().__init__(problem)


class TooLongError(ConfigError):
    """A prompt that has `least` tokens or more, of which the context of a `model` takes `window`."""

    def __init__(self, problem: str, *, least: int, model: str, window: int) -> None:
        self.least, self.model, self.window = least, model, window
        super().__init__(problem)


class ClaimError(CalmError, TypeError):
    """A claim that does not fit its measure, edit or task."""


class EditError(CalmError, ValueError):
    """A perturbation that is wrong for the case that it was given."""


class JudgeError(CalmError, RuntimeError):
    """
    A judge that could not answer, as opposed to one that answered badly.

    The message is a text, or a `calm.core.reasons.Reason` where code has to know why. `fatal` if no later call can be
    answered; `unproven` if this is so only for a server that has never answered (one that has refuses this call alone);
    `again` if the same call may be answered, after `after_s` seconds if the server says so; `limited` if the server
    only asks for fewer calls; `billed` if the model may have worked, so that the call may have cost money; `refused` if
    the server said that it did not take the call; `unknown` if it does not know what it is asked about; `pending` if
    the reply comes later, in a batch, and is counted then; `too_large` if parts of what was sent may be taken;
    `too_long` if the prompt is longer than the context of the model; `silent` if no response came; `denied` if the
    server wants a key, or another one.
    """

    def __init__(
        self,
        message: object = "",
        *,
        fatal: bool = False,
        unproven: bool = False,
        again: bool = False,
        after_s: float | None = None,
        limited: bool = False,
        billed: bool = False,
        refused: bool = False,
        unknown: bool = False,
        pending: bool = False,
        too_large: bool = False,
        too_long: bool = False,
        silent: bool = False,
        denied: bool = False,
    ) -> None:
        self.fatal, self.unproven = fatal, unproven
        self.again, self.after_s = again, after_s
        self.limited, self.billed = limited, billed
        self.refused, self.unknown, self.pending = refused, unknown, pending
        self.too_large, self.too_long, self.silent, self.denied = too_large, too_long, silent, denied
        super().__init__(message)


class EstimateError(CalmError, ValueError):
    """There are no data to estimate from; the message is a text, or a `calm.core.reasons.Reason`."""


class Interruption(KeyboardInterrupt):
    """A command that a person or a signal ended; the message says in one line what it made and what is kept."""


FEW = 3
"""So many of many names, such as ids of cases, a message lists."""


def nearest(name: str, known: Iterable[str], most: int | None = None) -> str:
    """
    Return `; did you mean 'X'?` for a name close to a known one, else the list of what is known, or its first names.

    >>> nearest("postion", ["position", "verbosity"])
    "; did you mean 'position'?"
    >>> nearest("zzz", ["position", "verbosity"])
    '; known: position, verbosity'
    """
    names = sorted(known)
    close = closest(name, names)
    return f"; did you mean {close!r}?" if close else f"; known: {few_of(names, len(names) if most is None else most)}"


def series(names: Sequence[str], last: str = "and") -> str:
    """
    Return names with commas, and a word before the last one.

    >>> series(["a", "b", "c"]), series(["a", "b"], "or"), series(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    return f" {last} ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def none_of(known: Iterable[str], got: object) -> str:
    """
    Return that a value is none of some words, and the word that was likely meant.

    >>> none_of(["majority", "plurality", "each"], "majorty")
    "expected majority, plurality or each, got 'majorty'; did you mean 'majority'?"
    >>> none_of(["full", "none"], 3)
    'expected full or none, got 3'
    """
    names = [*known]
    close = closest(str(got), names)
    return f"expected {series(names, 'or')}, got {got!r}" + (f"; did you mean {close!r}?" if close else "")


def closest(name: str, known: Iterable[str], alike: float = 0.6) -> str:
    """
    Return the known name that is closest to a name and at least so much `alike`, in [0, 1]; "" if there is none.

    Of names that are as close, one with the same letters comes first: two of them change places in most slips.

    >>> closest("bullet_and_bold", ["bullets_and_bold", "headings"]), closest("zzz", ["headings"])
    ('bullets_and_bold', '')
    >>> closest("nwe", ["new", "one"])
    'new'
    """
    close = get_close_matches(name, sorted(known), cutoff=alike)
    return max(close, key=lambda one: sorted(one) == sorted(name), default="")


def few_of(names: Sequence[str], most: int) -> str:
    """
    Return the first names, and how many more there are.

    >>> few_of(["a", "b", "c", "d"], 3), few_of(["a", "b"], 3), few_of([], 3)
    ('a, b, c and 1 more', 'a, b', '')
    """
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
