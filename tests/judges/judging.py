"""Cases of each task, and prompted judges that are asked without an engine."""

import asyncio
from dataclasses import dataclass, field

from calm.core.case import Answer as Text
from calm.core.case import Case, Criterion
from calm.core.verdict import Scale
from calm.judges.prompted import PromptedJudge
from calm.judges.prompts import bundled
from calm.judges.reading import Format
from calm.models.server import Server

DEAD = "http://127.0.0.1:9/v1"
PAIR = Case("c1", "Which is right?", (Text("a", "The sky is blue."), Text("b", "The sky is green.")), better="a")
SINGLE = Case("c2", "Tell me.", (Text("a", "One is here. Two is there. Three is far. Four is near."),))
TRIPLE = Case("c3", "Rank them.", (Text("a", "alpha"), Text("b", "beta"), Text("c", "gamma")), better="a")
RUBRIC = Case("c4", "Do it.", (Text("a", "done"),), criteria=tuple(Criterion(f"k{n}", f"rule {n}") for n in (1, 2)))


@dataclass
class Direct:
    """`send` without an engine, which keeps what was sent."""

    ask: int = 1
    sent: list = field(default_factory=list)

    async def __call__(self, request):
        """Send a request to its endpoint."""
        self.sent.append(request)
        return await request.endpoint.call(request.body)


def judge_at(url=DEAD, task="pairwise", *, name="j", model="tiny", form="brackets", family=None, **settings):
    """Return a prompted judge before a server."""
    defaults = {"scale": Scale(), "prompt": bundled(task, form), "form": Format(form)}
    server = Server("openai", model, base_url=url, retries=0)
    return PromptedJudge(name, task, server=server, family=family, **{**defaults, **settings})


def verdict(judge, case, ask=1):
    """Return the verdict of a judge that sends nothing."""
    return asyncio.run(judge.judge(case, Direct(ask)))


def system(messages):
    """Return the system message of a prompt."""
    return next((text for role, text in messages if role == "system"), "")


def user(messages):
    """Return the last message of a user."""
    return next(text for role, text in reversed(messages) if role == "user")
