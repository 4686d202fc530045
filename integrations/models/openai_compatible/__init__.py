"""Models behind any server that speaks OpenAI's Chat Completions: our own small streaming client on aiohttp.

The format itself is in `hub.models.chat_request` and `hub.models.chat_answer`, which litellm shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.hub import Hub
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig

DOMAIN = "openai_compatible"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Offer the API `openai` to the registry of models."""
    from hub.models.vendors import OPENAI_API
    from integrations.models.openai_compatible.model import OpenAIProvider

    def make(name: str, provider: ProviderConfig) -> ModelProvider:
        return OpenAIProvider(name, provider, hub.clock)

    hub.integrations.owns(DOMAIN, hub.models.register_api(OPENAI_API, make))


async def unload(hub: Hub) -> None:
    """What it registered is taken back by its owner; providers are closed when their calls have ended."""
