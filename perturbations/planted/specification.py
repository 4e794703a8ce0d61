"""The specification of a planted judge, such as `planted:position=0.2,verbosity=0.8,noise=0.05,seed=1,task=score`."""

from __future__ import annotations

import re
from typing import cast

from calm.core.case import TIE
from calm.core.verdict import FAMILY, Scale, Task
from calm.errors import ConfigError, nearest
from calm.perturbations.planted.judge import Planted
from calm.perturbations.planted.mind import KINDS, LENGTH, TIES, Mind
from calm.perturbations.triggers import plants

OTHERS = (LENGTH, "noise", "frozen", "drift", "since", "seed", "task", "classes", "equal", "ties")
"""What a specification says beside the doses of biases."""


def biases() -> tuple[str, ...]:
    """Return the biases that can be planted, in the order in which they decide."""
    return tuple(plant.bias for plant in plants())


def planted(spec: str) -> Planted:
    """
    Return the judge of a specification such as `planted:position=0.2,noise=0.05,seed=1,task=score`.

    Raises:
        ConfigError: all that is wrong with it.
    """
    keys = (*biases(), *OTHERS)
    problems: list[str] = []
    given: dict[str, str] = {}
    name, _, settings = spec.partition(":")
    if name.strip() != "planted":
        problems.append(f"expected a specification planted:KEY=VALUE,..., got {spec!r}")
    for part in filter(None, (p.strip() for p in settings.split(","))):
        key, equals, value = (p.strip() for p in part.partition("="))
        if not equals:
            problems.append(f"planted: expected KEY=VALUE, got {part!r}; write as in position=0.2")
        elif key not in keys:
            problems.append(f"planted: unknown key {key!r}{nearest(key, keys)}")
        elif key in given:
            problems.append(f"planted: expected each key once, got {key!r} twice; keep one of them")
        else:
            given[key] = value
    task = given.get("task", "pairwise")
    if task not in FAMILY:
        problems.append(f"planted: expected a task, got task={task!r}{nearest(task, FAMILY)}")
    shares = {
        key: _fraction(key, given[key], problems) for key in (*biases(), LENGTH, "noise", "drift") if key in given
    }
    seed, since = (_whole(key, given.get(key, usual), problems) for key, usual in (("seed", "0"), ("since", "1")))
    frozen, equal = (given.get(key, "0") for key in ("frozen", "equal"))
    for key, value in (("frozen", frozen), ("equal", equal)):
        if value not in ("0", "1"):
            problems.append(f"planted: expected {key} to be 0 or 1, got {key}={value!r}; write as in {key}=1")
    ties = given.get("ties", TIE)
    if ties not in TIES:
        problems.append(f"planted: expected ties to be {', '.join(TIES)}, got ties={ties!r}{nearest(ties, TIES)}")
    if task != "pairwise" and ("ties" in given or "equal" in given):
        problems.append(f"planted: expected task=pairwise with equal and ties, got task={task}; take them out")
    if since < 1 and not problems:
        problems.append(f"planted: expected since to be the number of a run, from 1 on, got since={since}")
    if "since" in given and "drift" not in given:
        problems.append("planted: expected drift with since, got since alone; write as in drift=0.4,since=8")
    kind = given.get("classes", "ordered")
    if kind not in KINDS:
        problems.append(f"planted: expected a kind of classes, got classes={kind!r}{nearest(kind, KINDS)}")
    if "classes" in given and task != "label":
        problems.append(f"planted: expected task=label with classes, got task={task}; take classes out")
    if problems:
        raise ConfigError(problems)
    scale = Scale(0.0, 1.0) if task == "points" else Scale(classes=KINDS[kind] if task == "label" else None)
    noise, drift = shares.pop("noise", 0.0), shares.pop("drift", 0.0)
    doses = tuple(sorted(shares.items()))
    return Planted(Mind(cast(Task, task), seed, noise, doses, scale, frozen == "1", drift, since, equal == "1", ties))


def _fraction(key: str, text: str, problems: list[str]) -> float:
    number = float(text) if re.fullmatch(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", text, re.ASCII) else None
    if number is None or not 0 <= number <= 1:
        problems.append(f"planted: expected {key} to be a number from 0 to 1, got {key}={text!r}; it is a share")
        return 0.0
    return number


def _whole(key: str, text: str, problems: list[str]) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        problems.append(f"planted: expected {key} to be a whole number, got {key}={text!r}; write as in {key}=1")
        return 0
    return int(text)
