"""
The result of watching in words: for a terminal, and as Markdown.

`to_json` is the same as a record.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from typing import cast

from calm.core.verdict import FAMILY, Family, Scale, Task, as_written
from calm.errors import few_of
from calm.models.wire import Json
from calm.plugins.watch.alarm import Reach, Sign
from calm.plugins.watch.comparison import Comparison, Figures, Interval
from calm.plugins.watch.history import Reference, Run
from calm.plugins.watch.since import MOST_MOVED, Since
from calm.results.reports.pages import Page

SHOWN = 3
"""How many of the anchors that moved most are named in one line."""
ROWS = 20
"""How many of them the page shows."""
_SHOWN_FROM = 0.0005
"""The least step that a figure of three decimals shows."""
_FAVOUR: Mapping[Family, str] = {
    "pairwise": "favour of the better answer",
    "listwise": "place of the best answer",
    "score": "score",
    "rubric": "share of points earned",
    "label": "favour of the class",
}
"""What moves up or down, by the one name that it has in all lines."""
_MEANT: Mapping[Family, str] = {
    "pairwise": " (without gold: of the first)",
    "listwise": " (1: first, 0: last)",
    "score": ", as a share of the scale",
    "rubric": "",
    "label": " (1: no move from it does harm, 0: none leads to it)",
}
_AGREES: Mapping[Family, str] = {
    "pairwise": "share of verdicts for the better answer, half for a tie",
    "listwise": "place of the best answer",
    "score": "1 less the distance from gold, as a share of the scale",
    "rubric": "share of criteria judged as gold does",
    "label": "1 less the distance of the class from gold",
}
"""What agreement with gold is, as `anchors.agreement` measures it."""


def in_words(found: Comparison, reference: Reference) -> str:
    """Return the result for a terminal: the verdict first, and what it rests on."""
    asks = f"{reference.asks} ask{'s' if reference.asks > 1 else ''} each"
    lines = [f"run {found.run}: {reference.judge} on {found.anchors} anchors, {asks}", _verdict(found)]
    lines += [f"  {line}" for line in _details(found, reference)]
    lines.append(_promise(found, reference))
    return "\n".join(lines)


def markdown(found: Comparison, reference: Reference, run: Run) -> str:
    """Return the result as a page of Markdown."""
    word = "ALARM" if found.alarm else "no alarm" if found.runs_before else "first run"
    lines = [f"# calm watch: {word}", "", f"**{_plain(_verdict(found))}**", ""]
    lines.append(f"Run {found.run} of {_plain(reference.judge)}, {run.at}, on {found.anchors} anchors.")
    lines += ["", *(f"- {_plain(line)}" for line in _details(found, reference))]
    if found.figures is not None and found.figures.moved:
        lines += ["", "| anchor | before | today | beyond noise |", "|---|---|---|---|"]
        for one in found.figures.moved[:ROWS]:
            cells = (one.id, *(_counts(said, found.scale) for said in (one.before, one.today)), f"{one.beyond:.2f}")
            lines.append(f"| {' | '.join(_plain(cell) for cell in cells)} |")
    return "\n".join([*lines, "", _plain(_promise(found, reference)), ""])


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
    if not found.reach.possible:
        return "no alarm, and none was possible: too few anchors for so few runs"
    return "no alarm: what moved is not enough to raise it"


def _details(found: Comparison, reference: Reference) -> list[str]:
    few = too_few(found.reach, found.run)
    return [*_reasons(found, reference), *([few] if few else []), *_figures(found, reference), *_changes(found)]


def too_few(reach: Reach, run: int) -> str:
    """Return that nothing could raise an alarm in a run, or in the next one, and what it takes; else no text."""
    if reach.possible:
        return ""
    later = "" if reach.first is None else f"; with these, one can in run {reach.first} at the soonest"
    when = f"in run {reach.run}" if reach.run > run else "today"
    return (
        f"too few anchors: with {_anchors(reach.anchors)}, no drift of any size can raise an alarm {when}; "
        f"that takes {reach.least} anchors or more, and 60 to see a large drift at once{later}"
    )


def _anchors(count: int) -> str:
    return f"{count} anchor{'' if count == 1 else 's'}"


def _reasons(found: Comparison, reference: Reference) -> list[str]:
    raised = [sign for sign in found.signs if sign.raised]
    lines = []
    for test in dict.fromkeys(sign.test for sign in raised):
        sign = min((sign for sign in raised if sign.test == test), key=lambda sign: sign.log_bound)
        window = "today" if sign.look.window == 1 else f"in the last {sign.look.window} runs"
        what = {
            "moved": "more verdicts are unusual than before",
            "up": f"the {_favour(reference)} rose by {_shift(sign.shift, found.scale, reference)}",
            "down": f"the {_favour(reference)} fell by {_shift(sign.shift, found.scale, reference)}",
        }[test]
        lines.append(f"{window}, {what}: by chance with probability at most {sign.bound:.1g}")
    return lines


def _figures(found: Comparison, reference: Reference) -> list[str]:
    figures = found.figures
    if figures is None:
        return []
    lines = _measured(figures, found.scale, reference)
    if found.needed and found.reach.possible:
        lines.append(f"today alone, {_needed(found, reference)}")
    if figures.moved and (found.alarm or figures.aside):
        lines.append(_most(figures, found.scale))
    return lines


def _measured(figures: Figures, scale: Scale, reference: Reference) -> list[str]:
    apart = f"verdicts are {figures.distance:.2f} apart from the reference"
    if figures.beyond is None:
        lines = [f"{apart} (one ask a run shows no noise)"]
    else:
        noise = f"the judge's own noise is {figures.noise_before or 0:.2f}, today {figures.noise or 0:.2f}"
        lines = [f"{apart}; {noise}; beyond noise {_said(figures.beyond)}"]
    if figures.favour is not None:
        lines.append(
            f"{_favour(reference)}{_MEANT[_family(reference)]}: moved by {_said(figures.favour, signed=True)}"
            f"{_in_points(figures.favour.value, scale, reference)}"
        )
    if figures.gold is not None:
        old, new, n = figures.gold
        what = _AGREES[_family(reference)]
        lines.append(f"agreement with gold ({what}): {old:.2f} -> {new:.2f} ({new - old:+.2f}), n={n}")
    return lines


def _most(figures: Figures, scale: Scale) -> str:
    moved = [f"{one.id} ({_counts(one.before, scale)} -> {_counts(one.today, scale)})" for one in figures.moved]
    return f"moved most: {few_of(moved, SHOWN)}"


def since_in_words(found: Since, reference: Reference, source: str) -> list[str]:
    """Return what a comparison with a saved run says, the verdict first."""
    asks = " to ".join(map(str, dict.fromkeys(found.asks_before)))
    sizes = f"{found.anchors} cases, {asks} asks of each then, {reference.asks} now"
    lines = [
        f"{reference.judge} today beside {source}: {sizes}",
        {
            "moved": "MOVED: the judge does not answer these cases as in the saved run",
            "not moved": f"NOT MOVED: at most {MOST_MOVED:.0%} of its verdicts are others than in the saved run",
            "not decided": "NOT DECIDED: the replies fit a judge that moved a little, and one that did not",
        }[found.outcome],
    ]
    words = {"moved": "verdicts moved beyond noise", "up": "the {} rose", "down": "the {} fell"}
    lines += [
        f"  {words[test].format(_favour(reference))}: by chance with probability {found.chances[test]:.1g}"
        for test in found.raised
    ]
    if found.raised and found.outcome != "moved":
        lines.append(f"  that is more than chance, but less than the {found.least_moved:.2f} that count as a move")
    told = [*_measured(found.figures, found.scale, reference), *_readable(*found.readable)]
    if found.turned != (0, 0):
        fell, rose = found.turned
        told.append(f"cases whose {_favour(reference)} fell by half or more: {fell}; rose: {rose}")
    if found.first is not None:
        then, now = found.first
        told.append(f"won by the answer shown first: {then:.0%} of the verdicts then, {now:.0%} now")
    lines += [f"  {line}" for line in told]
    if found.figures.moved and found.outcome != "not moved":
        lines.append(f"  {_most(found.figures, found.scale)}")
    rate = reference.promise.rate
    return [*lines, f"a judge that did not move is called moved in at most {rate:.1%} of such comparisons"]


def since_markdown(found: Since, reference: Reference, source: str) -> str:
    """Return the same as a page of Markdown."""
    first, verdict, *rest = since_in_words(found, reference, source)
    lines = [f"# calm watch: {found.outcome}", "", f"**{_plain(verdict)}**", "", _plain(first), ""]
    return "\n".join([*lines, *(f"- {_plain(line)}" for line in rest), ""])


def since_to_json(found: Since, reference: Reference, at: str, served: Mapping[str, str], run: str) -> dict[str, Json]:
    """Return the same as a record; `run` says when the saved run began."""
    first = None if found.first is None else _pair(*found.first)
    return {
        **_head(reference, at, served),
        "since": {"run": run, "outcome": found.outcome, "asks_before": list(found.asks_before), "first": first},
        "asks": reference.asks,
        "alarm": found.outcome == "moved",
        "false_alarm_rate": reference.promise.rate,
        "anchors": {"n": found.anchors},
        "figures": _of_figures(found.figures),
        "tests": [
            {"test": test, "p": _rounded(p), "level": _rounded(found.levels[test])} for test, p in found.chances.items()
        ],
    }


def _readable(before: float, today: float) -> list[str]:
    shown = abs(today - before) >= _SHOWN_FROM or today < 0.95
    return [f"replies that could be read: {before:.0%} -> {today:.0%}"] if shown else []


def _changes(found: Comparison) -> list[str]:
    lines = []
    if found.readable is not None and found.readable_before is not None:
        lines += _readable(found.readable_before, found.readable)
    elif found.readable is not None and found.readable < 0.95:
        lines.append(f"replies that could be read: {found.readable:.0%}; see one with `calm try`")
    if found.added or found.removed or found.changed:
        which = f" ({few_of(found.changed, SHOWN)})" if found.changed else ""
        counts = f"{found.added} added, {found.removed} removed, {len(found.changed)} changed{which}"
        lines.append(f"anchors: {counts} since the run before")
    lines += _left_out(found)
    mix = found.mix
    if mix is not None and (found.added or found.removed or found.changed or abs(mix.cases) >= _SHOWN_FROM):
        parts = f"{_step(mix.judge)} by the judge, noise included, {_step(mix.cases)} by other anchors"
        lines.append(f"mean favour of the run: {mix.before:.3f} -> {mix.today:.3f} ({_step(mix.total)}): {parts}")
    for name, (old, new) in found.served.items():
        lines.append(f"the model behind {name} now says that it is {new}; it was {old}")
    if found.earlier_alarms:
        count = len(found.earlier_alarms)
        lines.append(
            f"earlier alarms: {count}, in run{'s' if count > 1 else ''} {_ranges(found.earlier_alarms)}; "
            "nothing is compared with these runs; --new-reference accepts the judge as it is now"
        )
    return lines


def _left_out(found: Comparison) -> list[str]:
    rest = found.anchors - found.shared - found.silent
    if not found.runs_before or not found.anchors - found.shared:
        return []
    why = []
    if rest > 0:
        since = "from the run after the next one without an alarm on" if found.alarm else f"from run {found.run + 1} on"
        why.append(f"{rest} new or changed, compared {since}")
    if found.silent:
        why.append(f"{found.silent} without a reply today")
    return [f"compared today: {found.shared} of {_anchors(found.anchors)}; left out: {'; '.join(why)}"]


def _needed(found: Comparison, reference: Reference) -> str:
    words = {"down": "fall", "up": "rise"}
    needed = found.needed.items()
    enough = [f"a {words[test]} by {_shift(by, found.scale, reference)}" for test, by in needed if by is not None]
    never = [words[test] for test, by in needed if by is None]
    what = f"of the {_favour(reference)}"
    if not enough:
        return f"no {' and no '.join(never)} {what} could have raised the alarm, however large"
    also = f", and no {never[0]} could have" if never else ""
    first, *rest = enough
    return f"{' or '.join([first.replace(' by ', f' {what} by ', 1), *rest])} would have raised the alarm{also}"


def _ranges(numbers: Sequence[int]) -> str:
    """
    Return numbers in order, those that follow each other together; of many parts the first and the last ones.

    >>> _ranges([6, 7, 8, 9]), _ranges([3, 6, 7]), _ranges([1, 3, 5, 7, 9, 11])
    ('6 to 9', '3, 6, 7', '1, ..., 7, 9, 11')
    """
    parts: list[list[int]] = []
    for number in numbers:
        if parts and number == parts[-1][-1] + 1:
            parts[-1].append(number)
        else:
            parts.append([number])
    said = [f"{one[0]} to {one[-1]}" if len(one) > 2 else ", ".join(map(str, one)) for one in parts]
    return ", ".join(said if len(said) <= SHOWN + 1 else [said[0], "...", *said[-SHOWN:]])


def _family(reference: Reference) -> Family:
    return FAMILY[cast(Task, reference.task)]


def _favour(reference: Reference) -> str:
    return _FAVOUR[_family(reference)]


def _shift(by: float, scale: Scale, reference: Reference) -> str:
    return f"{by:.2f}{_in_points(by, scale, reference)}"


def _in_points(by: float, scale: Scale, reference: Reference) -> str:
    length = scale.high - scale.low
    if _family(reference) != "score" or length == 1:
        return ""
    return f" ({by * length:.1f} points of {scale.low:g} to {scale.high:g})"


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


def _counts(counts: Mapping[str, int], scale: Scale) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{_code(said, scale)} x{n}" for said, n in ordered[:3])


def _code(said: str, scale: Scale) -> str:
    code = as_written(json.loads(said)["code"], scale)
    if isinstance(code, dict):
        return f"{sum(met is True for met in code.values())} of {len(code)} met"
    return (
        " > ".join("=".join(group) for group in code)
        if isinstance(code, list)
        else f"{code:g}"
        if isinstance(code, float)
        else code.removeprefix("!")  # no verdict, such as a reply that cannot be read
    )


def _plain(text: str) -> str:
    flat = " ".join(text.split())
    return "".join(f"\\{sign}" if sign in "\\`*_{}[]<>#|!" else sign for sign in flat)


def _head(reference: Reference, at: str, served: Mapping[str, str]) -> dict[str, Json]:
    judge: Json = {"name": reference.judge, "fingerprint": reference.fingerprint, "about": dict(reference.about)}
    return {"schema": "calm-watch/1", "judge": judge, "task": reference.task, "at": at, "served": dict(served)}


def to_json(found: Comparison, reference: Reference, run: Run, replayed: int = 0) -> dict[str, Json]:
    """Return the result as a record; `replayed` counts the replies that come from a stopped run."""
    return {
        **_head(reference, run.at, run.served),
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
        "mix": None if found.mix is None else asdict(found.mix),
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
                "before": [{**json.loads(said), "n": n} for said, n in one.before.items()],
                "today": [{**json.loads(said), "n": n} for said, n in one.today.items()],
                "beyond_noise": _rounded(one.beyond),
            }
            for one in found.moved
        ],
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else round(value, 6)


def _pair(before: float | None, today: float | None) -> dict[str, Json]:
    return {"before": _rounded(before), "today": _rounded(today)}


def _interval(found: Interval | None) -> Json:
    if found is None:
        return None
    return {**{key: _rounded(value) for key, value in asdict(found).items() if key != "n"}, "n": found.n}


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


def _alarm(body: Mapping[str, Json]) -> str:
    if isinstance(compared := body.get("since"), dict):
        return f"Compared with a saved run: {compared.get('outcome')}"
    return "Alarm: the judge does not answer as before" if body.get("alarm") is True else "No alarm"


page = Page("calm \N{MIDDLE DOT} a judge watched over time", _alarm)
