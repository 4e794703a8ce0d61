"""The result of watching: in words for a terminal, as a record, and as Markdown."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import cast

from calm.core.verdict import FAMILY, Family, Task
from calm.models.wire import Json
from calm.studies.watch.alarm import Sign
from calm.studies.watch.comparison import Comparison, Mix
from calm.studies.watch.figures import Figures, Interval
from calm.studies.watch.history import Reference, Run

SHOWN = 3
"""How many of the anchors that moved most are named in one line."""
ROWS = 20
"""How many of them the page shows."""
_SHOWN_FROM = 0.0005
"""The least step that a figure of three decimals shows."""
_FAVOUR: Mapping[Family, str] = {
    "pairwise": "favour of the better answer (without gold: of the first)",
    "listwise": "place of the best answer (1: first, 0: last)",
    "score": "score, as a share of the scale",
    "rubric": "share of the points earned",
}


def in_words(found: Comparison, reference: Reference) -> str:
    """Return the result for a terminal: the verdict first, and what it rests on."""
    asks = f"{reference.asks} ask{'s' if reference.asks > 1 else ''} each"
    lines = [f"run {found.run}: {reference.judge} on {found.anchors} anchors, {asks}", _verdict(found)]
    lines += [f"  {line}" for line in (*_reasons(found), *_figures(found, reference), *_changes(found))]
    lines.append(_promise(found, reference))
    return "\n".join(lines)


def markdown(found: Comparison, reference: Reference, run: Run) -> str:
    """Return the result as a page of Markdown."""
    word = "ALARM" if found.alarm else "no alarm" if found.runs_before else "first run"
    lines = [f"# calm watch: {word}", "", f"**{_plain(_verdict(found))}**", ""]
    lines.append(f"Run {found.run} of {_plain(reference.judge)}, {run.at}, on {found.anchors} anchors.")
    lines += ["", *(f"- {_plain(line)}" for line in (*_reasons(found), *_figures(found, reference), *_changes(found)))]
    if found.figures is not None and found.figures.moved:
        lines += ["", "| anchor | before | today | beyond noise |", "|---|---|---|---|"]
        for one in found.figures.moved[:ROWS]:
            cells = (one.id, _counts(one.before), _counts(one.today), f"{one.beyond:.2f}")
            lines.append(f"| {' | '.join(_plain(cell) for cell in cells)} |")
    return "\n".join([*lines, "", _plain(_promise(found, reference)), ""])


def to_json(found: Comparison, reference: Reference, run: Run) -> dict[str, Json]:
    """Return the result as a record."""
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
            "changed": found.changed,
        },
        "readable": _pair(found.readable_before, found.readable),
        "figures": None if found.figures is None else _of_figures(found.figures),
        "mix": None if found.mix is None else _mix(found.mix),
        "shift_needed": _rounded(found.needed),
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


def _verdict(found: Comparison) -> str:
    if not found.runs_before:
        return "first run: nothing to compare it with yet; the next runs will be compared with it"
    if found.alarm:
        return "ALARM: the judge does not answer these anchors as before"
    figures = found.figures
    if figures is None:
        return "no alarm: no anchor of today was asked before, so nothing could be compared"
    if figures.aside:
        return "no alarm yet: more moved today than noise usually gives; the next runs will tell whether it stays so"
    return "no alarm: nothing that the judge's own noise could not give"


def _reasons(found: Comparison) -> list[str]:
    """Return which tests raise the alarm: of each, the window that is surest."""
    best: dict[str, Sign] = {}
    for sign in found.signs:
        known = best.get(sign.test)
        if sign.raised and (known is None or sign.log_bound < known.log_bound):
            best[sign.test] = sign
    lines = []
    for sign in best.values():
        window = "today" if sign.look.window == 1 else f"in the last {sign.look.window} runs"
        what = {
            "moved": "more verdicts are unusual than before",
            "up": f"the favour rose by {sign.shift:.2f}",
            "down": f"the favour fell by {sign.shift:.2f}",
        }[sign.test]
        lines.append(f"{window}, {what}: by chance with probability at most {sign.bound:.1g}")
    return lines


def _figures(found: Comparison, reference: Reference) -> list[str]:
    figures = found.figures
    if figures is None:
        return []
    apart = f"verdicts are {figures.distance:.2f} apart from the reference"
    if figures.beyond is None:
        lines = [f"{apart} (one ask a run shows no noise)"]
    else:
        noise = f"the judge's own noise is {figures.noise_before or 0:.2f}, today {figures.noise or 0:.2f}"
        lines = [f"{apart}; {noise}; beyond noise {_said(figures.beyond)}"]
    if figures.favour is not None:
        what = _FAVOUR[FAMILY[cast(Task, reference.task)]]
        lines.append(f"{what}: moved by {_said(figures.favour, signed=True)}")
    if figures.gold is not None:
        old, new, n = figures.gold
        lines.append(f"agreement with gold: {old:.2f} -> {new:.2f} ({new - old:+.2f}), n={n}")
    if found.needed is not None:
        lines.append(f"today alone, a shift of {found.needed:.2f} would have raised the alarm")
    if figures.moved and (found.alarm or figures.aside):
        some = figures.moved[:SHOWN]
        named = ", ".join(f"{one.id} ({_counts(one.before)} -> {_counts(one.today)})" for one in some)
        more = f" and {len(figures.moved) - SHOWN} more" if len(figures.moved) > SHOWN else ""
        lines.append(f"moved most: {named}{more}")
    return lines


def _changes(found: Comparison) -> list[str]:
    lines = []
    if found.readable is not None and found.readable_before is not None:
        if abs(found.readable - found.readable_before) >= _SHOWN_FROM or found.readable < 0.95:
            lines.append(f"replies that could be read: {found.readable_before:.0%} -> {found.readable:.0%}")
    elif found.readable is not None and found.readable < 0.95:
        lines.append(f"replies that could be read: {found.readable:.0%}; see one with `calm try`")
    if found.added or found.removed or found.changed:
        counts = f"{found.added} added, {found.removed} removed, {found.changed} changed since the run before"
        lines.append(f"anchors: {counts}; {found.shared} of {found.anchors} can be compared")
    mix = found.mix
    if mix is not None and (found.added or found.removed or found.changed or abs(mix.cases) >= _SHOWN_FROM):
        parts = f"{_step(mix.judge)} by the judge, noise included, {_step(mix.cases)} by other anchors"
        lines.append(f"mean favour of the run: {mix.before:.3f} -> {mix.today:.3f} ({_step(mix.total)}): {parts}")
    for name, (old, new) in found.served.items():
        lines.append(f"the model behind {name} now says that it is {new}; it was {old}")
    if found.earlier_alarms:
        numbers = ", ".join(map(str, found.earlier_alarms[-SHOWN:]))
        lines.append(
            f"earlier alarms: {len(found.earlier_alarms)}, in runs {numbers}; these runs are in no reference; "
            "--new-reference accepts the judge as it is now"
        )
    return lines


def _promise(found: Comparison, reference: Reference) -> str:
    rate = reference.promise.rate
    odds = f"1 in {round(1 / rate)}" if abs(1 / rate - round(1 / rate)) < 1e-6 else f"{rate:g}"
    about = "; an alarm is about judge, prompt and server together" if found.alarm else ""
    return f"false alarms: at most {odds} for all runs to come together, if the judge never moves{about}"


def _step(value: float) -> str:
    return f"{value if abs(value) >= _SHOWN_FROM else 0.0:+.3f}"


def _said(found: Interval, *, signed: bool = False) -> str:
    ends = "" if found.low is None or found.high is None else f" [{found.low:.2f}, {found.high:.2f}]"
    return f"{found.value:{'+' if signed else ''}.2f}{ends}, n={found.n}"


def _counts(counts: Mapping[str, int]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{_code(said)} x{n}" for said, n in ordered[:3])


def _code(said: str) -> str:
    code = json.loads(said)["code"]
    if isinstance(code, dict):
        return f"{sum(met is True for met in code.values())} of {len(code)} met"
    return (
        " > ".join("=".join(group) for group in code)
        if isinstance(code, list)
        else f"{code:g}"
        if isinstance(code, float)
        else code
    )


def _count(said: str, n: int) -> Json:
    body: dict[str, Json] = json.loads(said)
    return {**body, "n": n}


def _plain(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line."""
    flat = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|!" else sign for sign in flat)


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
