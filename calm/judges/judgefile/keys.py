"""The tables and keys of judge.toml: the one place that lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

TABLES: Final = ("judge", "model", "prompt", "verdict")
"""The tables of a judge that is no panel."""
KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "judge": ("name", "task", "cases", "family", "mitigations"),
    "model": (
        "provider",
        "model",
        "served_as",
        "base_url",
        "api_key_env",
        "headers",
        "headers_env",
        "query",
        "query_env",
        "extra_body",
        "max_tokens",
        "context_window",
        "temperature",
        "timeout_s",
        "greeting",
        "transport",
        "concurrency",
        "rpm",
        "tpm",
        "price_usd_per_mtok",
    ),
    "model.price_usd_per_mtok": ("input", "output", "batch", "cache_read", "cache_write"),
    "prompt": (
        "system",
        "system_file",
        "user",
        "user_file",
        "messages_file",
        "negative_system",
        "negative_system_file",
        "negative_user",
        "negative_user_file",
        "order",
        "notes",
    ),
    "verdict": ("format", "field", "tag", "pattern", "schema_file", "values", "scale", "formula", "parts"),
    "verdict.parts.NAME": ("field", "tag", "pattern", "label", "low", "high", "step"),
    "verdict.scale": ("low", "high", "step", "best"),
    "labels": ("classes", "ordered", "harm", "damaged", "meanings"),
    "panel": ("members", "weights", "rule"),
    "recorded": ("file", "columns", "model"),
    "recorded.columns": ("case", "order", "framing", "repeat", "criterion", "verdict", "reply"),
}
"""The keys of each table. Tables whose keys are the user's own (headers, query, extra_body, values) are not listed."""
