"""Models of every vendor that litellm knows; the library is loaded in its own thread and works there.

OpenAI-compatible servers do not use it: `openai_compatible` speaks to them for a hundredth of the cost.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hub.host import IntegrationHost
    from hub.models.contract import ModelProvider
    from hub.models.provider_config import ProviderConfig


async def setup(host: IntegrationHost, config: Mapping[str, Any] | None) -> None:
    """Register the API `litellm`; the library is loaded by the first call."""
    from hub.models.vendors import LITELLM_API
    from integrations.models.litellm.library import LitellmLibrary
    from integrations.models.litellm.model import LitellmProvider

    library = LitellmLibrary(on_loaded=host.models.registry.refresh)

    def make(name: str, provider: ProviderConfig) -> ModelProvider:
        return LitellmProvider(name, provider, library, host.clock)

    host.models.add(LITELLM_API, make)
