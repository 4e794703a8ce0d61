"""Sentences after a verdict that take it back without a new one, in English: by what they speak of, not by a phrase."""

from __future__ import annotations

import re
from typing import Final

_VERDICT: Final = r"(?:scores?|verdicts?|ratings?|grades?|ranks?|rankings?|evaluations?|assessments?|judge?ments?)"
_OWN: Final = (
    rf"(?:(?:this|that|the|my|these|those|both|first|second|above|previous) (?:\w+ )?{_VERDICT}(?! of (?:the|a|an)\b)"
    rf"|(?:this|that|these|those|the|my|above) (?:numbers?|letters?|lists?|entry|entries|lines?|choice|pick)"
    r"(?= (?:is|are|was|were|i|above|came|went|belongs?|should|must|need)\b)|what i (?:said|wrote|gave)|\babove\b|^ranks|(?:the|this|that|my) \d{1,3}(?:\.\d+)?(?! \w+s\b))"
)
"""The verdict, as the judge speaks of it."""
_IT: Final = rf"(?:{_OWN}|this(?: one)?|that(?: one)?|it|these|those|them)"
_VOID: Final = (
    r"(?:void|withdrawn|retracted|cancelled|moot|obsolete|superseded|invalid|not valid|provisional|tentative|premature"
    r"|(?:a |just a |only a )?(?:placeholder|dummy|guess|example|sample|draft|test)|arbitrary|random|made up|wrong"
    r"|not right|incorrect|mistaken|in error|backwards|upside down|(?:the wrong|the other) way (?:a)?round|reversed|swapped"
    r"|unusable|worthless|meaningless|unreliable|not (?:final|mine|fair|correct|usable)|too \w+|far too \w+|off)"
)
_MISTAKE: Final = (
    r"(?:gave|give|scored?|graded?|rated?|ranked?|wrote|entered|typed|picked|chose|applied|used|pasted|put|filled"
    r"|swapped|switched|mixed|confused|misread|misapplied|misjudged|miscounted|misunderstood|mistook|overlooked|missed"
    r"|forgot|forgotten|looked at|looking at|had in mind|made|based|judged|compared|read|took)"
)
_AMISS: Final = (
    r"(?:wrong|instead|before reading|before i|before seeing|earlier|by mistake|mistakenly|at random|a guess|up\b"
    r"|the format|other (?:answer|response|one|item|rubric|conversation)|another|different|the reference|the prompt"
    r"|draft|swapped|backwards|too \w+|not (?:yet )?(?:read|seen|looked)|n't (?:yet )?(?:read|seen|looked))"
)
_PATTERNS: Final = (
    # this is void; I consider it withdrawn; null and void
    rf"^(?:\W*(?:so|but|and|no|sorry|oops|actually|hmm|well|please|i) )?(?:consider|treat|regard|count|take) {_IT} (?:as )?"
    rf"(?:an? |not |un)?\w+",
    rf"{_OWN}(?: \w+){{0,4}} (?:is|are|was|were|were all|must be|should be|has been|have been|looks?|seems?|turns? out to be)"
    rf" (?:\w+ )?{_VOID}",
    rf"^\W*(?:that|this|these|those) (?:is|was|were|are|seems?|looks?) (?:\w+ )?{_VOID}(?! (?:of|in|for|to|than|on)\b)",
    r"\bnull and void\b",
    # that came from another answer; the score was for the earlier draft
    rf"(?:{_OWN}|^\W*(?:that|this|these|it|sorry))[^.]{{0,40}}? (?:came from|went to|belongs? to|(?:was|were|is|are) (?:meant )?for"
    r"|(?:was|were|is) (?:based|about) on|refers? to|relates? to) (?:the|an?) ?(?:\w+ )?"
    r"(?:wrong|other|earlier|previous|another|different|response|draft|one in|summary|conversation|window|query)\b",
    r"^\W*(?:oops|sorry|no|hmm|apologies)?\W*wrong (?:answer|item|window|criteri\w+|rubric|scale|conversation|response|file"
    r"|one|reply|box|field|candidate|prompt|rating|score|order|column|way)\b",
    # do not count this one; strike the rating from the log; leave this unscored
    rf"^\W*(?:(?:so|but|and|no|sorry|oops|actually|hence|therefore|please|kindly|pending \w+|let us|better)\W+){{0,3}}"
    rf"(?:do not|don't|never|ignore|disregard|scratch|strike|discard|drop|delete|remove|cancel|forget|skip|void|withhold"
    rf"|undo|revert|reject|mark|leave|hold|retract|withdraw) (?:\w+ )?(?:{_IT}\b|(?:the|this) (?:item|field|log|record|case))",
    rf"\b(?:should|must|can|could|may|do|does|did|ought)(?: not|n't)(?: to)?(?: be)? (?:use|used|count|counted|trust|trusted|rely"
    rf"|relied|record|recorded|stand|keep|kept|taken seriously|stand behind)\b[^.]{{0,30}}(?:{_OWN}|{_IT})",
    rf"(?:{_OWN}|^\W*(?:that|this|it))[^.]{{0,30}}? (?:should|must|can|could|may|do|does)(?:not| not|n't)(?: be)? (?:used?|count(?:ed)?"
    r"|trust(?:ed)?|relied|recorded|stand|hold|kept|apply|be right|be correct)\b",
    rf"(?:none|nothing) of (?:what|the above|this|that|it)\b[^.]{{0,40}} (?:appl|count|hold|stand|valid)",
    rf"(?:no longer|not|n't) (?:reflects?|express(?:es)?|represents?) my\b|{_OWN} no longer\b",
    # I gave the wrong one; I made that number up; I had the answers swapped
    rf"\bi(?:'ve|'d| have| had| was| must have| may have)?(?: \w+){{0,2}} {_MISTAKE}\b[^.]{{0,60}}\b{_AMISS}",
    rf"\bi(?:'ve| have| had)? (?:mis\w+|swapped|mixed up|mixed|confused|overlooked) (?:the|both|two|up|which|what|that|this|it|my)\b",
    r"\bi had the (?:two|answers|labels|scores|numbers|ranks)[^.]{0,40}(?:wrong|reversed|swapped|around)",
    # undecided
    r"\bi(?:'m| am| was| do| can| could| have|'ve)?(?: not|n't| cannot|not| no longer)(?: \w+){0,4} (?:decide|decided|grade it|grade this"
    r"|score this|score it|rate this|rate it|judge this|judge it|sure (?:about|of) (?:this|that|it|the \w+|my \w+)|agree with myself)",
    r"\bnot (?:so )?sure (?:about|of) (?:this|that|it|the (?:score|verdict|rating|grade))\b|\bnot sure any ?more\b",
    rf"\bno (?:score|verdict|rating|grade|decision)(?: \w+)? (?:can|could|should|may) be (?:given|made|assigned|reached)",
    r"\b(?:i(?: must| have to| will| would)? abstain|abstain(?:ing)?\b|undecided|unscored|ungraded|unrated|i have no opinion)\b",
    rf"\bdoubts? about (?:{_OWN}|this|that|my)\b|\bi(?:'ve| have)? (?:now )?(?:doubt|question|regret) {_OWN}",
    # again
    r"^\W*(?:let me|i will|i'll|i must|i have to|i need to|i should|i would have to|i'd like to|allow me to)(?: \w+){0,3} (?:re-?(?:do|grade"
    r"|score|rate|evaluate|judge|think|start|consider|write|vise|view this)|start over|try again|begin again|step back|come back"
    r"|take (?:that|this|it) back|correct (?:that|this|myself|the score))",
    r"^\W*(?:this|that|it) needs? (?:a|another) (?:second |closer )?(?:look|review|pass)",
    # hindsight
    rf"\b(?:in hindsight|in retrospect|on reflection|on second thought|after all|now that i|it turns out|come to think)\b[^.]{{0,80}}"
    rf"\b(?:i|{_OWN}|that|this|no)\b[^.]{{0,40}}\b(?:too \w+|wrong|lower|higher|less|more|not|no|can't|cannot|wasn't|isn't|n't)",
    rf"(?:^\W*(?:it|this|that|the answer|the response)|\b{_OWN}) (?:really |actually )?(?:deserves?|merits?|should (?:have )?(?:been|be|get|got))"
    r" (?:an? )?(?:much |far |somewhat |slightly )?(?:less|more|lower|higher|better|worse)\b(?: (?:than|score|grade|rating|one)\b|\.?\s*$)",
    r"\bi (?:should|ought to) have (?:given|scored|rated|graded)\b(?: \w+){0,3} (?:less|more|lower|higher)",
    rf"\b(?:would|could|can)(?: not|n't) (?:give|assign|defend|repeat|stand (?:by|behind)) {_OWN}",
    r"\bmy (?:opinion|view|mind|verdict|score|assessment) (?:has|had|is) (?:since )?(?:changed|different)|\bchanged (?:it|my)\b",
    r"\b(?:just|only|merely) (?:\w+ )?(?:to show|to illustrate|an example of|a sample of|a demonstration of) (?:the|your) format",
    r"\bforced me to (?:write|give|pick|choose)\b",
    r"^\W*actually,? the opposite\b|\bthe verdict (?:is|should be|must be) the (?:opposite|reverse|other)",
    r"\b(?:correct|right) (?:entry|score|verdict|answer here) (?:would|should|must|is|was)(?: be)? (?:none|no|null|empty|different)",
)
_RETRACTS: Final = re.compile("|".join(f"(?:{one})" for one in _PATTERNS))


def retracts(sentence: str) -> bool:
    """
    Return whether a sentence after a verdict takes it back.

    >>> retracts("That number came from the wrong answer."), retracts("The answer has the wrong year.")
    (True, False)
    """
    return _RETRACTS.search(sentence.lower().replace("’", "'")) is not None
