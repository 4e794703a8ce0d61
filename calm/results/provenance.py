"""What a record says of the judge that was asked, and of the cases that it was asked about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from calm.cases import sha256, texts_brought
from calm.core.case import Case
from calm.core.languages import ENGLISH, language_of_case
from calm.experiment.setup import clusters_of
from calm.models.wire import Judge
from calm.results.records import scale_record


def judge_record(judge: Judge, served: Mapping[str, str]) -> dict[str, Any]:
    """Return the fields of a `JudgeRecord`; `served` is the model that serves each endpoint, by its identity."""
    about = dict(judge.about)
    return {
        "name": judge.name,
        "task": judge.task,
        "fingerprint": judge.fingerprint,
        "model": about.pop("model", None),
        "served": ", ".join(served[e.identity] for e in judge.endpoints if e.identity in served) or None,
        "prompt_sha256": about.pop("prompt_sha256", None),
        "scale": scale_record(judge.scale),
        "parameters": about.pop("parameters", {}),
        "about": about,
    }


def cases_record(cases: Sequence[Case], of: int) -> dict[str, Any]:
    """Return how many cases there are, of how many they are a sample, and what they hold."""
    texts = texts_brought(cases)
    spoken = Counter(language_of_case(case) for case in cases)
    del spoken[ENGLISH]
    return {
        "n": len(cases),
        "of": of,
        "questions": len(set(clusters_of(cases).values())),
        "sha256": sha256(cases),
        "gold": sum(bool(case.better or case.scores or case.met or case.label) for case in cases),
        "people": len({person for case in cases for person in case.annotations}),
        **({"texts": texts} if texts else {}),
        **({"languages": dict(sorted(spoken.items()))} if spoken else {}),
    }
