"""
Self-preference of a user's judges: who is asked about whose answers, and the resulting figures.

    members of judges --arrange--> CrossDesign --ask--> CrossResult --tables_of--> Tables --> estimates, report, record

The judge in question and its peers are asked once about the same answers. No prompt shows their authors. A judge is the
author with the same model. Recorded judges bring their table with them and are not asked.

| module | what it holds |
|---|---|
| `design` | the nouns; which judge is asked about which answers |
| `asks` | the verdicts, from an engine or a record |
| `stakes` | the test of one judge, and whether the truth allows one |
| `tables` | the verdicts as tables, and every figure of them |
| `record` | figures and verdicts as `calm-self-preference/1`, and back |
"""

from calm.selfpreference.crossing.asks import ask as ask
from calm.selfpreference.crossing.design import FAMILIES_TAG as FAMILIES_TAG
from calm.selfpreference.crossing.design import CrossDesign as CrossDesign
from calm.selfpreference.crossing.design import CrossInputs as CrossInputs
from calm.selfpreference.crossing.design import CrossResult as CrossResult
from calm.selfpreference.crossing.design import Member as Member
from calm.selfpreference.crossing.design import arrange as arrange
from calm.selfpreference.crossing.design import identity as identity
from calm.selfpreference.crossing.design import member_of as member_of
from calm.selfpreference.crossing.design import messages_for as messages_for
from calm.selfpreference.crossing.design import model_of as model_of
from calm.selfpreference.crossing.design import with_truth as with_truth
from calm.selfpreference.crossing.record import crossed_from as crossed_from
from calm.selfpreference.crossing.record import curves_from as curves_from
from calm.selfpreference.crossing.record import likely_from as likely_from
from calm.selfpreference.crossing.record import members_from as members_from
from calm.selfpreference.crossing.record import record as record
from calm.selfpreference.crossing.record import record_again as record_again
from calm.selfpreference.crossing.stakes import arranged_for as arranged_for
from calm.selfpreference.crossing.tables import TableJudge as TableJudge
from calm.selfpreference.crossing.tables import Tables as Tables
from calm.selfpreference.crossing.tables import decide_excess as decide_excess
from calm.selfpreference.crossing.tables import decide_on as decide_on
from calm.selfpreference.crossing.tables import recorded_tables as recorded_tables
from calm.selfpreference.crossing.tables import tables_of as tables_of
from calm.selfpreference.crossing.tables import trials_of as trials_of
from calm.selfpreference.crossing.tables import why_none as why_none
