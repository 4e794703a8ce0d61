"""Judges of other tools: such as `deepeval:package.module:metric`."""

JUDGES = dict.fromkeys(
    ("autoevals", "deepeval", "inspect", "langchain", "openevals", "promptfoo", "ragas"),
    "calm.plugins.adapters.judge:adapted",
)
