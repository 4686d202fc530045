"""Models of every vendor that litellm knows; the library is loaded in a thread of its own and works there.

OpenAI-compatible servers do not come this way: `openai_compatible` speaks to them for a hundredth of the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hub.models.provider_config import ProviderConfig
from hub.models.registry import ModelRegistry
from hub.models.vendors import LITELLM_API
from integrations.models.litellm.library import Library
from integrations.models.litellm.model import LitellmProvider


async def setup(hub: Any, config: Mapping[str, Any]) -> None:
    """Offer the API `litellm` to the registry of models; nothing is loaded yet."""
    models: ModelRegistry = hub.models
    library = Library(on_loaded=models.refresh)

    def make(name: str, provider: ProviderConfig) -> LitellmProvider:
        return LitellmProvider(name, provider, library, hub.clock)

    models.register_api(LITELLM_API, make)


async def unload(hub: Any) -> None:
    """Take it back; the thread ends with the last provider."""
    models: ModelRegistry = hub.models
    models.unregister_api(LITELLM_API)
