"""The card of a run in a notebook: whether the gate is green, what is wrong, and what to do next."""

from __future__ import annotations

from typing import Final

from calm.results.audit import Audit
from calm.results.reports.exports import text
from calm.results.reports.html import environment
from calm.results.reports.markdown import code, plain
from calm.results.sentences import capital, name_of, sentence
from calm.results.steps import next_step
from calm.results.tabular import as_read
from calm.results.troubles import troubles, verdict_of
from calm.results.wording import bill

MOST: Final = 6
"""So many biases are on a card; the others are counted."""
LINE: Final = 500
"""Characters of a text on a card; the rest is cut."""
COLORS: Final = {"GREEN": "#1a7f45", "RED": "#c0261c"}
"""The colours of the first word, which read on light and dark pages; any other word has `OPEN`."""
OPEN: Final = "#a86400"


def html(audit: Audit, results: str = "") -> str:
    """
    Return the card as HTML, without scripts, links or anything that is loaded; all texts are escaped.

    Args:
        audit: the run.
        results: its file, for the command that keeps a green run as the baseline; empty: none is named.
    """
    word, why, lines, more, step, command = _parts(audit, results)
    return (
        environment()
        .get_template("card.html.jinja")
        .render(
            color=COLORS.get(word, OPEN),
            word=word,
            why=why,
            lines=lines,
            more=more,
            next=step,
            command=command,
            bill=text(bill(audit)),
        )
    )


def markdown(audit: Audit, results: str = "") -> str:
    """Return the same as Markdown; see `html`."""
    word, why, lines, more, step, command = _parts(audit, results)
    listed = [f"- **{outcome}** {plain(name, LINE)}: {plain(said, LINE)}" for name, outcome, said in lines]
    listed += [f"- and {more} more"] if more else []
    following = [f"Next: {plain(step, LINE)}", *([code(command)] if command else [])] if step else []
    parts = [f"**{word}**: {plain(why, LINE)}", "\n".join(listed), *following, plain(bill(audit), LINE)]
    return "\n\n".join(filter(None, parts)) + "\n"


def _parts(audit: Audit, results: str) -> tuple[str, str, list[tuple[str, str, str]], int, str, str]:
    """Return the parts of a card: verdict and reason, the worst claim of each bias, how many more, what is next."""
    audit, green = as_read(audit), audit.green()
    (word, why), wrong = verdict_of(audit, green=green), troubles(audit)
    lines = [(text(name_of(one.bias)), one.outcome.value, text(sentence(one.lead))) for one in wrong[:MOST]]
    step = next_step(audit, results, green=green)
    what, command = (text(capital(step.what)), text(step.command)) if step else ("", "")
    return word, text(why), lines, max(0, len(wrong) - MOST), what, command
