"""Models behind any server of OpenAI's Chat Completions: our own small streaming client on aiohttp.

The format itself is in `hub.models.chat_request` and `hub.models.chat_answer`, which litellm shares.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the API `openai`."""
    from hub.models.vendors import OPENAI_API

    def make(name: str, provider: ProviderConfig) -> ModelProvider:
        from integrations.models.openai_compatible.model import OpenAIProvider  # not for homes without such a server

        return OpenAIProvider(name, provider, host.clock)

    host.models.add(OPENAI_API, make)
