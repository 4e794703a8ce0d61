"""The judgments through openevals: PROMPTS.jsonl COUNT IN_FLIGHT URL."""

import asyncio
import os
import sys

from material import prompts

os.environ |= {"LANGSMITH_TRACING": "false", "LANGCHAIN_TRACING_V2": "false"}

from openai import AsyncOpenAI
from openevals.llm import create_async_llm_as_judge
from openevals.prompts import CONCISENESS_PROMPT

PATH, COUNT, IN_FLIGHT, URL = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


async def main() -> int:
    """Judge all, so many at a time."""
    client = AsyncOpenAI(base_url=URL, api_key="none")
    judge = create_async_llm_as_judge(prompt=CONCISENESS_PROMPT, judge=client, model="stub-judge", continuous=True)
    free = asyncio.Semaphore(IN_FLIGHT)

    async def one(question: str, answer: str) -> object:
        async with free:
            return await judge(inputs=question, outputs=answer)

    return len(await asyncio.gather(*(one(q, a) for q, a in prompts(PATH, COUNT))))


print("judged", asyncio.run(main()))
