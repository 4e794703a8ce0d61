"""
Self-preference of a user's judges: who is asked about whose answers, and the resulting figures.

    members of judges --arrange--> CrossDesign --ask--> CrossResult --tables_of--> Tables --> estimates, report, record

The judge in question and its peers are asked once about the same answers. No prompt shows their authors. A judge is the
author with the same model. Recorded judges bring their table with them and are not asked.

| module | what it holds |
|---|---|
| `design` | the nouns; which judge is asked about which answers, and what it says |
| `tables` | the verdicts as tables, and the decisions of claims about them |
| `record` | figures and verdicts as `calm-self-preference/1`, and back |
"""
