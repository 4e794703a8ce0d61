"""
Diagnosis: which cases a judge is unsure about, which criteria are vague, and whether the judge or the wording is why.

A judge is asked about each case in several wordings: its own prompt, the same prompt in other words, the same criteria
in other words; and several times in each. Two asks of the same wording differ by noise alone. What two asks of
different wordings differ by beyond that is due to the wording.

| module | what it holds |
|---|---|
| `wordings` | the wordings: of the judge's prompt, and of the criteria |
| `asking` | the asks: a few of every case, and more of the cases whose first replies differ |
| `units` | the verdicts on a case, or on one criterion of a case, and their distances |
| `split` | noise, prompt and criterion over all cases, each with bounds |
| `naming` | the cases and criteria that are named, with the share of wrong names bounded |
| `recorded` | what a record of a run says, without a call |
| `shown` | the diagnosis as JSON, and for a terminal |
"""

from calm.studies.diagnose.asking import Asked, Design, ask
from calm.studies.diagnose.naming import Limits, Named
from calm.studies.diagnose.recorded import recorded
from calm.studies.diagnose.shown import About, Diagnosis, diagnosis, in_words, to_json
from calm.studies.diagnose.split import Part
from calm.studies.diagnose.units import Unit
from calm.studies.diagnose.wordings import Paraphrases, Wording, read_paraphrases, wordings_of

__all__ = [
    "About",
    "Asked",
    "Design",
    "Diagnosis",
    "Limits",
    "Named",
    "Paraphrases",
    "Part",
    "Unit",
    "Wording",
    "ask",
    "diagnosis",
    "in_words",
    "read_paraphrases",
    "recorded",
    "to_json",
    "wordings_of",
]
