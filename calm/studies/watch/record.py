"""The result of watching as a record in JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from math import isfinite

from calm.models.wire import Json
from calm.studies.watch.alarm import Sign
from calm.studies.watch.comparison import Comparison, Mix
from calm.studies.watch.figures import Figures, Interval
from calm.studies.watch.history import Reference, Run


def to_json(found: Comparison, reference: Reference, run: Run, replayed: int = 0) -> dict[str, Json]:
    """Return the result as a record; `replayed` counts the replies that come from a stopped run."""
    return {
        "schema": "calm-watch/1",
        "judge": {"name": reference.judge, "fingerprint": reference.fingerprint, "about": dict(reference.about)},
        "task": reference.task,
        "at": run.at,
        "served": dict(run.served),
        "asks": reference.asks,
        "alarm": found.alarm,
        "false_alarm_rate": reference.promise.rate,
        "horizon": reference.promise.horizon,
        "run": found.run,
        "runs_before": found.runs_before,
        "anchors": {
            "n": found.anchors,
            "shared": found.shared,
            "added": found.added,
            "removed": found.removed,
            "changed": list(found.changed),
            "silent": found.silent,
        },
        "readable": _pair(found.readable_before, found.readable),
        "figures": None if found.figures is None else _of_figures(found.figures),
        "mix": None if found.mix is None else _mix(found.mix),
        "shift_needed": {test: _rounded(shift) for test, shift in found.needed.items()},
        "reach": dict(asdict(found.reach)),
        "replayed": replayed,
        "tests": [_sign(sign) for sign in found.signs],
        "model_changed": {name: {"before": old, "today": new} for name, (old, new) in found.served.items()},
        "earlier_alarms": list(found.earlier_alarms),
    }


def _of_figures(found: Figures) -> dict[str, Json]:
    return {
        "noise": _pair(found.noise_before, found.noise),
        "distance": _rounded(found.distance),
        "beyond_noise": _interval(found.beyond),
        "favour_shift": _interval(found.favour),
        "gold_agreement": None if found.gold is None else {**_pair(*found.gold[:2]), "n": found.gold[2]},
        "moved": [
            {
                "id": one.id,
                "before": [_count(said, n) for said, n in one.before.items()],
                "today": [_count(said, n) for said, n in one.today.items()],
                "beyond_noise": _rounded(one.beyond),
            }
            for one in found.moved
        ],
    }


def _count(said: str, n: int) -> Json:
    body: dict[str, Json] = json.loads(said)
    return {**body, "n": n}


def _rounded(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(value, 6)


def _pair(before: float | None, today: float | None) -> dict[str, Json]:
    return {"before": _rounded(before), "today": _rounded(today)}


def _interval(found: Interval | None) -> Json:
    if found is None:
        return None
    return {**{key: _rounded(value) for key, value in asdict(found).items() if key != "n"}, "n": found.n}


def _mix(mix: Mix) -> dict[str, Json]:
    return {"before": mix.before, "today": mix.today, "judge": mix.judge, "cases": mix.cases}


def _sign(sign: Sign) -> Json:
    return {
        "test": sign.test,
        "window": sign.look.window,
        "reference": sign.look.reference,
        "log_bound": _rounded(sign.log_bound),
        "log_level": _rounded(sign.log_level),
        "shift": _rounded(sign.shift),
        "raised": sign.raised,
    }
