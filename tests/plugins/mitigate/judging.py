"""Judges with mitigations around them, before a real server."""

import asyncio

from calm.plugins.mitigate.mitigations import mitigated
from tests.judges.judging import Direct, judge_at
from tests.servers import wire_server


def asked(respond, case, *names, task="pairwise", others=None, **settings):
    """Return the verdict of a mitigated judge on a case, and the prompts that the server got."""
    send = Direct()
    with wire_server(respond) as wire:
        judge = judge_at(wire.url, task, **settings)

        def reader(spec):
            return (others or {})[spec](wire.url)

        verdict = asyncio.run(mitigated(judge, names, reader).judge(case, send))
        return verdict, [one.messages for one in wire.seen]
