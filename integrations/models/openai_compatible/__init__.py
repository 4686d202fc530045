"""Models behind any server that speaks OpenAI's Chat Completions: our own small streaming client on aiohttp.

The format itself is in `hub.models.chat_request` and `hub.models.chat_answer`, which litellm shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.models.provider_config import ProviderConfig
from hub.models.registry import ModelRegistry
from hub.models.vendors import OPENAI_API
from integrations.models.openai_compatible.model import OpenAIProvider


async def setup(hub: Any, config: Mapping[str, Any]) -> None:
    """Offer the API `openai` to the registry of models."""
    models: ModelRegistry = hub.models

    def make(name: str, provider: ProviderConfig) -> OpenAIProvider:
        return OpenAIProvider(name, provider, hub.clock)

    models.register_api(OPENAI_API, make)


async def unload(hub: Any) -> None:
    """Take it back; providers are closed when their calls have ended."""
    models: ModelRegistry = hub.models
    models.unregister_api(OPENAI_API)
