"""
Peer rank: a member's weight is how well its own answers do in the eyes of the others (arXiv:2307.02762).

Each member answers the case's question, and all members compare the answers. A member's weight is its win rate, in
which each reviewer counts with its own weight; this is repeated up to a fixed point. The paper ranks once. Here each
question has its own ranking, which needs only the question. So an audit pays for it once for each question and repeat.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import fsum

from calm.core.case import Answer, Case, digest
from calm.core.verdict import Preferred, Tie
from calm.judges.mitigations.inner_model import ask_model, need_model
from calm.judges.mitigations.mitigation import Mitigation, Reader, judges_argument
from calm.judges.mitigations.panels import weighted_panel
from calm.judges.panel import Panel
from calm.judges.prompted import together
from calm.models.wire import Judge, Send
from calm.statistics.peers import Weights, peer_rank


async def peer_weights(whole: Panel, case: Case, send: Send) -> Weights:
    """Let the members of a panel answer a question and compare the answers; return their weights."""
    members = whole.members
    system = "Answer the question as well as you can, correctly and completely. Write the answer alone."
    asked = f"<question>\n{case.question}\n</question>"
    models = [need_model("peer-rank", member) for member in members]
    replies = await together(*(whole.by(i, ask_model(one, system, asked, send)) for i, one in enumerate(models)))
    answers = [Answer(f"peer-{i}", reply.text.strip() or "(no answer)") for i, reply in enumerate(replies)]
    turns = [(i, pair) for i in range(len(members)) for pair in combinations(range(len(members)), 2)]
    contests = [(i, _contest(case, answers, pair)) for i, pair in turns]
    verdicts = await together(*(whole.by(i, members[i].judge(contest, send)) for i, contest in contests))
    shares: dict[int, dict[int, list[float]]] = {}
    for (reviewer, pair), verdict in zip(turns, verdicts, strict=True):
        if not isinstance(verdict, Preferred | Tie):
            continue
        for i in pair:
            won = 0.5 if isinstance(verdict, Tie) else float(verdict.answer == answers[i].id)
            shares.setdefault(reviewer, {}).setdefault(i, []).append(won)
    wins = {r: {i: fsum(given) / len(given) for i, given in rates.items()} for r, rates in shares.items()}
    return peer_rank(wins, len(members))


def _contest(case: Case, answers: Sequence[Answer], pair: tuple[int, int]) -> Case:
    """Return the question with two members' answers, in a balanced order."""
    one = Case(
        f"peers {digest(case.question)[:12]} {pair[0]} {pair[1]}", case.question, tuple(answers[i] for i in pair)
    )
    return one.balanced("peers")


def _peer_rank(judge: Judge, argument: str, reader: Reader) -> Judge:
    others = judges_argument("peer-rank", argument, judge, reader)
    for member in (judge, *others):
        need_model("peer-rank", member)

    async def weigh(whole: Panel, case: Case, send: Send) -> tuple[float, ...]:
        return (await peer_weights(whole, case, send)).values

    return weighted_panel(judge, f"peer-rank:{argument}", others, "peer-rank", weigh)


MITIGATIONS = (
    Mitigation(
        "peer-rank",
        "several judges; a judge weighs more if the others prefer its own answer to the question",
        ("pairwise",),
        "with m members m, and once a question m + m*m(m-1)/2",
        "arXiv:2307.02762",
        _peer_rank,
        "b.toml+c.toml",
    ),
)
