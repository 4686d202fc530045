"""Models of every vendor that litellm knows; the library is loaded in a thread of its own and works there.

OpenAI-compatible servers do not come this way: `openai_compatible` speaks to them for a hundredth of the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.hub import Hub
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig

DOMAIN = "litellm"


async def setup(hub: Hub, config: Mapping[str, Any] | None) -> None:
    """Offer the API `litellm` to the registry of models; nothing is loaded yet."""
    from hub.models.vendors import LITELLM_API
    from integrations.models.litellm.library import LitellmLibrary
    from integrations.models.litellm.model import LitellmProvider

    library = LitellmLibrary(on_loaded=hub.models.refresh)

    def make(name: str, provider: ProviderConfig) -> ModelProvider:
        return LitellmProvider(name, provider, library, hub.clock)

    hub.integrations.owns(DOMAIN, hub.models.register_api(LITELLM_API, make))


async def unload(hub: Hub) -> None:
    """What it registered is taken back by its owner; the library's thread ends with its last provider."""
