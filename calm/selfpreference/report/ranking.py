"""Authors ranked in several ways, and circles among them, as tables."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np

from calm.errors import EstimateError
from calm.models.wire import Json
from calm.selfpreference.contrasts import Floats
from calm.selfpreference.evidence import Evidence
from calm.selfpreference.report.rows import Part
from calm.selfpreference.tournament import (
    Peers,
    Placed,
    Tournament,
    circular,
    peer_ranks,
    ranks,
    strengths,
    tournament,
    transitive,
)


def ranking(evidence: Evidence, foreign: Floats, every: Floats, *, level: float = 0.05) -> tuple[Part, ...]:
    """
    Return the tables `ranking`, a row for each author, and `transitivity`, a row for each judge.

    Args:
        evidence: what the judges said, as signs of comparisons.
        foreign: mean score, or share of pairs won, [judges, generators] without a judge's verdicts on its own answers.
        every: the same of all verdicts.
        level: of each one-sided bound of a strength.
    """
    found = tournament(evidence.said.signs, evidence.grid)
    circles = _circles(evidence, found)
    return (_ranked(evidence, found, foreign, every, level), *([Part("transitivity", circles)] if circles else []))


def _ranked(evidence: Evidence, found: Tournament, foreign: Floats, every: Floats, level: float) -> Part:
    names = evidence.grid.generators
    missing: list[str] = []
    placed: dict[str, Placed] = {}
    try:
        placed = strengths(found, evidence.said.signs, level=level)
    except EstimateError as error:
        missing.append(f"strength: {error}")
    peers: dict[bool, Peers] = {}
    for own, way in ((False, "weight"), (True, "weight with own")):
        try:
            peers[own] = peer_ranks(found, own=own)
        except EstimateError as error:
            missing.append(f"{way}: {error}")
            continue
        if not peers[own].weights.converged:
            missing.append(f"{way}: no fixed point in {peers[own].weights.rounds} rounds, so all weigh the same")
    values = {
        "mean": _means(foreign),
        "mean_with_own": _means(every),
        "strength": [placed[name].value if name in placed else None for name in names],
        "peer_rate": [peers[False].rates[name] if False in peers else None for name in names],
    }
    places = {name: ranks(of) for name, of in values.items()}
    rows: list[dict[str, Json]] = []
    for at, name in enumerate(names):
        row: dict[str, Json] = {"author": name}
        row |= {way: values[way][at] for way in ("mean", "mean_with_own")}
        row["strength"] = asdict(placed[name]) if name in placed else None
        row |= {"peer_rate": values["peer_rate"][at], "weight": _weight(peers.get(False), name)}
        row["weight_with_own"] = _weight(peers.get(True), name)
        rows.append(row | {f"rank_{way}": place[at] for way, place in places.items()})
    return Part("ranking", tuple(rows), "; ".join(missing))


def _means(values: Floats) -> list[float | None]:
    """Return the mean over judges of values [judges, generators], NaN left out; None where there is none."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return [float(total / count) if count else None for total, count in zip(sums, counts, strict=True)]


def _weight(peers: Peers | None, name: str) -> float | None:
    if peers is None or name not in peers.members:
        return None
    return peers.weights.values[peers.members.index(name)]


def _circles(evidence: Evidence, found: Tournament) -> tuple[dict[str, Json], ...]:
    """
    Return the circles of each judge that compared three authors or more.

    A score ranks the answers of one question, so only judges of pairs can go in a circle there.
    """
    rows: list[dict[str, Json]] = []
    for row, judge in enumerate(evidence.grid.judges):
        authors = int(found.met[row].any(axis=1).sum())
        if authors < 3:
            continue
        some, strict, zeta = transitive(found, judge)
        about: dict[str, Json] = {"judge": judge, "authors": authors}
        if evidence.said.scores is None:
            within, n = circular(evidence.said.signs[row])
            about |= {"circular_in_items": within / n if n else None, "n_in_items": n}
        rows.append(
            about | {"circular_of_authors": some / strict if strict else None, "n_of_authors": strict, "zeta": zeta}
        )
    return tuple(rows)
