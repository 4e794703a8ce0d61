"""
All figures of a table of judges and generators, as data that a report can show and JSON can hold.

A row is a judge, with its published figures beside the corrected ones. A figure that cannot be computed is None, and
`reasons` says why. The matrix is a heat map with its self and family cells marked. A part is a table beside the rows.
"""

from calm.selfpreference.report.beside import Asked as Asked
from calm.selfpreference.report.beside import asked_of as asked_of
from calm.selfpreference.report.beside import beside as beside
from calm.selfpreference.report.beside import check as check
from calm.selfpreference.report.judge_pairs import judge_pairs as judge_pairs
from calm.selfpreference.report.of_pairs import of_pairs as of_pairs
from calm.selfpreference.report.of_perplexity import perplexity_parts as perplexity_parts
from calm.selfpreference.report.of_rubrics import of_rubrics as of_rubrics
from calm.selfpreference.report.of_scores import of_scores as of_scores
from calm.selfpreference.report.ranking import ranking as ranking
from calm.selfpreference.report.rows import EXCESS as EXCESS
from calm.selfpreference.report.rows import SCHEMA as SCHEMA
from calm.selfpreference.report.rows import JudgeRow as JudgeRow
from calm.selfpreference.report.rows import Matrix as Matrix
from calm.selfpreference.report.rows import Part as Part
from calm.selfpreference.report.rows import SelfPreference as SelfPreference
