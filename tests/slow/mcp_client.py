"""
A client of `calm mcp` by the official SDK: `python -m tests.slow.mcp_client` reads calls, and prints what came back.

It runs in an environment with that SDK. Its input is a JSON object: `cwd`, `env`, `legacy` (the older handshake) and
`calls`, each with `tool`, `arguments` and, if it is to be broken off, `cancel` or `leave`: a file, which is there when
it is time. Its output is a JSON list of answers, with the tools first.
"""

import json
import sys
from pathlib import Path

import anyio
from mcp import Client, StdioServerParameters


def due(one):
    """Return whether it is time to break a call off."""
    sign = one.get("cancel") or one.get("leave")
    return bool(sign) and Path(sign).exists()


async def called(client, one):
    """Return the answer to a call, or that it was broken off."""
    seen = []
    with anyio.CancelScope() as scope:

        async def progress(*said):
            seen.append(said)
            if due(one):
                scope.cancel()

        found = await client.call_tool(one["tool"], one["arguments"], progress_callback=progress)
        text = "\n".join(part.text for part in found.content)
        return {"error": found.is_error, "text": text, "data": found.structured_content, "progress": seen}
    return {"broken_off": True, "progress": seen}


async def main():
    """Answer the input."""
    wanted = json.load(sys.stdin)
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "calm", "mcp"], cwd=wanted["cwd"], env=wanted["env"]
    )
    async with Client(server, mode="legacy" if wanted.get("legacy") else "auto") as client:
        tools = (await client.list_tools()).tools
        answers = [{tool.name: tool.input_schema["properties"] for tool in tools}]
        for one in wanted["calls"]:
            answers.append(await called(client, one))
            if "leave" in one:
                break
    print(json.dumps(answers))


if __name__ == "__main__":
    anyio.run(main)
