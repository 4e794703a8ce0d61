"""
Watching a judge: today's run on fixed anchor cases against the earlier ones.

    cases --ask--> Run --append--> History --compare--> Comparison --report--> words, JSON, Markdown

| module | what it holds |
|---|---|
| `anchors` | a case as an anchor: what it was shown as, which answer its favour is of, its gold |
| `history` | the file of runs: read, checked, locked, replaced as a whole |
| `begun` | a run that was begun and not recorded: it alone finds its replies again |
| `asking` | a run: each anchor asked anew, never answered by the replies of another run |
| `sheets` | the runs of a history as tables of numbers |
| `alarm` | the tests, and what each may spend, so that all runs together keep the promise |
| `reach` | what could raise the alarm at all: with so many anchors and runs, and with these verdicts |
| `comparison` | what moved because the judge moved, and what because the cases did |
| `record` | the result in JSON |
| `report` | the result in words, and as Markdown |
"""

from calm.studies.watch.alarm import Promise as Promise
from calm.studies.watch.alarm import Sign as Sign
from calm.studies.watch.anchors import Anchor as Anchor
from calm.studies.watch.anchors import anchors_of as anchors_of
from calm.studies.watch.asking import ask_anchors as ask_anchors
from calm.studies.watch.asking import asks_of as asks_of
from calm.studies.watch.begun import Begun as Begun
from calm.studies.watch.begun import begin as begin
from calm.studies.watch.begun import end as end
from calm.studies.watch.comparison import Comparison as Comparison
from calm.studies.watch.comparison import compare as compare
from calm.studies.watch.comparison import reach_of as reach_of
from calm.studies.watch.history import History as History
from calm.studies.watch.history import Reference as Reference
from calm.studies.watch.history import Run as Run
from calm.studies.watch.history import held as held
from calm.studies.watch.history import read_history as read_history
from calm.studies.watch.history import with_run as with_run
from calm.studies.watch.record import to_json as to_json
from calm.studies.watch.report import in_words as in_words
from calm.studies.watch.report import markdown as markdown
from calm.studies.watch.report import too_few as too_few
