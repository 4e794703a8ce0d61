"""Judges with mitigations around them, before a real server."""

import asyncio
import re

from calm.core.case import digest
from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.judging import Direct, judge_at
from tests.servers import Answer, wire_server


def asked(respond, case, *names, task="pairwise", others=None, **settings):
    """Return the verdict of a mitigated judge on a case, and the prompts that the server got."""
    send = Direct()
    with wire_server(respond) as wire:
        judge = judge_at(wire.url, task, **settings)

        def reader(spec):
            return (others or {})[spec](wire.url)

        verdict = asyncio.run(mitigated(judge, names, reader).judge(case, send))
        return verdict, [one.messages for one in wire.seen]


def share(*what):
    """Return a number in [0, 1) that follows from some things."""
    return int(digest(*map(str, what))[:8], 16) / 16**8


def member(name, likely=lambda text: -1.0, says=None):
    """
    Return what a server answers that is a member of a panel: verdicts, an answer of its own, and log-probabilities.

    A token is a word. `likely` returns the log-probability of each token of a text (None: it gives none), `says` the
    label that wins in a prompt. What it takes is counted as tokens: the words of the prompt, and those of the reply.
    """

    def respond(turns, body):
        words = [word for _, text in turns for word in re.findall(r"\s*\S+", text)]
        if "prompt_logprobs" in body:
            each = likely(turns[-1][1])
            told = None if each is None else [("<s>", -1.0), *((word, each) for word in words)]
            return Answer("So", prompt_logprobs=told, usage=(len(words), 1))
        if "Answer the question" in turns[0][1]:
            text = f"{name} says: {share(name, turns[-1][1]):.6f}"
        else:
            label = says(turns) if says else "A" if share(name, turns) < 0.5 else "B"
            text = f"As {name} sees it. [[{label}]]"
        return Answer(text, usage=(len(words), len(text.split())))

    return respond
