"""What to try against a bias: the mitigations that fit a judge, in the order in which to try them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from calm.core.verdict import Family
from calm.results.audit import AGREEMENT, JudgeRecord
from calm.results.records import family_of

_STEADIER: Final = ("samples:5", "evidence:3", "swap")
_HARDER: Final = ("string-filter", "statistical-filter", "delimiters", "sandwich")
_SHARPER: Final = ("cot", "plan", "reference:self")
_SOBER: Final = ("debias", "evidence:3", "cot")
REMEDIES: Final[Mapping[str, tuple[str, ...]]] = {
    "position": ("swap", "rotations"),
    "formatting": ("plain-text", "debias", "evidence:3"),
    "framing": ("debias", "cot"),
    "injection": _HARDER,
    "encoding": _HARDER,
    "invisible-text": _HARDER,
    "code-comments": _HARDER,
    "consistency": _STEADIER,
    "rewording": _STEADIER,
    "paraphrase": _STEADIER,
    "surface-noise": _STEADIER,
    "judge-prompt": _STEADIER,
    "sensitivity": _SHARPER,
    "fallacy-oversight": _SHARPER,
    AGREEMENT: (*_SHARPER, "samples:5"),
    "self-preference": (),
}
"""By bias, what is worth a try; of a bias that is not here, what says in the prompt what must not count."""
HELP: Final[Mapping[str, str]] = {
    **dict.fromkeys(("injection", "encoding", "invisible-text", "code-comments"), "calm attack --help"),
    AGREEMENT: "calm calibrate --help",
    "self-preference": "calm self-preference --help",
}
"""By bias, the command that says what else can be done."""
MORE: Final = "calm mitigate --help"
"""The command for any other bias."""
SERVES: Final[Mapping[str, tuple[Family, ...]]] = {"swap": ("pairwise",), "rotations": ("pairwise", "listwise")}
"""The tasks of those mitigations that do not serve every task; a report knows no judge, so the table stands here."""
WITHOUT_PROMPT: Final = frozenset({"swap", "average", "rotations", "plain-text", "string-filter", "statistical-filter"})
"""Mitigations that need no prompt which they could change: they serve a judge of Python code, too."""
MOST: Final = 3
"""So many are tried at first."""


def remedies(bias: str, judge: JudgeRecord) -> tuple[str, ...]:
    """
    Return the names of the mitigations to try first against a bias, as `calm mitigate --try` takes them.

    A mitigation that does not serve the judge's task is left out; so is one that needs a prompt where there is none.
    """
    family = family_of(judge.task)
    fitting = [
        name
        for name in REMEDIES.get(bias, _SOBER)
        if family in SERVES.get(kind := name.partition(":")[0], (family,))
        and (judge.prompt_sha256 is not None or kind in WITHOUT_PROMPT)
    ]
    return tuple(fitting[:MOST])
