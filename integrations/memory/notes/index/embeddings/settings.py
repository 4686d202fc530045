"""What is configured about making vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """`memory.embeddings`, secrets in clear; it never leaves the worker.

    Attributes:
        provider: `auto`, `openai`, `gemini`, `voyage`, `local`, `none`, or an integration.
        base_url, model, api_key, dimensions: As configured; None without.
        timeout_s: The timeout of a request.
        parallel: Concurrent requests.
        cache: Vectors kept; 0 keeps none.
        keys: Keys found elsewhere, by provider.
        urls: The addresses that those keys are for, where it is not the provider's usual one.
        engines: See `IndexSettings.engines`.
    """

    provider: str = AUTO
    base_url: str | None = None
    model: str | None = None
    api_key: str | None = field(default=None, repr=False)
    dimensions: int | None = None
    timeout_s: float = 30.0
    parallel: int = 4
    cache: int = 50_000
    keys: Mapping[str, str] = field(default_factory=dict, repr=False)
    urls: Mapping[str, str] = field(default_factory=dict)
    engines: Mapping[str, Any] = field(default_factory=dict, repr=False)
