"""Properties of models: from the configuration, the provider's own list, and the catalog, in this order of trust.

Of the context window the catalog is believed before the provider's list.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import fields, replace

from hub.core.clock import Clock
from hub.core.errors import HubError
from hub.models.catalog import known_model, known_models
from hub.models.contract import ModelInfo, ModelProvider
from hub.models.provider_config import LONG_CACHE_TTL_S, ProviderConfig
from hub.models.vendors import LITELLM_API, OFFLINE_API, OPENAI_API

if TYPE_CHECKING:
    from hub.models.model_list import ModelList

CLAUDE = "claude"
"""A part of the names of the models that are told how long to keep what they are sent."""
LONG_CACHE_PRICE = 1.6
"""The price of writing for an hour, in that of writing for five minutes: 2 and 1.25 times the input."""
LIST_TIMEOUT_S = 5.0
LIST_KEPT_S = 600.0
FAILED_LIST_KEPT_S = 15.0
INFOS_KEPT = 256
"""Models whose properties are known again until a list tells other ones: they are asked for before each call."""

_log = logging.getLogger(__name__)
_DEFAULTS = {field.name: field.default for field in fields(ModelInfo)}


class _Listing(Struct, frozen=True):
    infos: tuple[ModelInfo, ...]
    until: float
    problem: str | None = None


class ModelInfos:
    """Answers questions about models; caches providers' lists for ten minutes.

    Args:
        clock: The clock of the hub.

    Attributes:
        listed: The public list that was fetched last; what it says of a model is newer than the catalog.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.listed: ModelList | None = None
        self._listings: dict[str, _Listing] = {}
        self._infos: dict[tuple[str, str, bool], tuple[ProviderConfig, ModelInfo]] = {}
        self._asking: dict[str, asyncio.Lock] = {}

    def info(
        self, config: ProviderConfig, model_id: str, known: Callable[[str], ModelInfo | None] | None = None
    ) -> ModelInfo:
        """Return the known properties of a model without a request.

        Args:
            config: Its provider.
            model_id: The id as the provider knows it.
            known: What the provider itself knows, where the catalog knows nothing.
        """
        key = (config.name, model_id, known is None)
        if (found := self._infos.get(key)) is not None and found[0] is config:
            return found[1]
        vendor = _catalog_name(config)
        base = (self.listed.find(vendor, model_id) if self.listed is not None else None) or known_model(
            vendor, model_id
        )
        catalogued = base is not None
        if base is None and known is not None:
            base = known(model_id)
        if base is None:
            base = ModelInfo(model_id, config.name)
        listing = self._listings.get(config.name)
        told = next((info for info in listing.infos if info.id == model_id), None) if listing else None
        facts = _told_facts(told) if told is not None else {}
        facts["final_tags"] = config.final_tags
        if catalogued:
            facts.pop("context_window", None)  # what a vendor publishes is more than what a list says of it
        settings = config.settings(model_id)
        if settings is not None:
            facts |= settings.facts
        info = replace(base, **{**facts, "id": model_id, "provider": config.name})
        if CLAUDE in model_id and config.cache_ttl_s == LONG_CACHE_TTL_S:
            written = info.cache_write_usd
            if written is not None and (settings is None or "cache_write_usd" not in settings.facts):
                written *= LONG_CACHE_PRICE
            info = replace(info, cache_ttl_s=LONG_CACHE_TTL_S, cache_write_usd=written)
        self._infos[key] = (config, info)
        if len(self._infos) > INFOS_KEPT:
            del self._infos[next(iter(self._infos))]
        return info

    def catalog_models(self, config: ProviderConfig) -> list[ModelInfo]:
        """Return the catalog's models of a provider."""
        return known_models(_catalog_name(config))

    async def listed_models(self, config: ProviderConfig, provider: ModelProvider) -> tuple[ModelInfo, ...]:
        """Return the provider's own list, cached for ten minutes; empty if it does not answer in 5 s."""
        async with self._asking.setdefault(config.name, asyncio.Lock()):
            kept = self._listings.get(config.name)
            if kept is not None and self._clock.monotonic() < kept.until:
                return kept.infos
            listing = await self._ask(config, provider)
            self._listings[config.name] = listing
            self._infos.clear()
            return listing.infos

    def problem(self, name: str) -> str | None:
        """Return why a provider's list is missing, if it is."""
        listing = self._listings.get(name)
        return listing.problem if listing else None

    def forget_all(self) -> None:
        """Forget all cached lists."""
        self._listings.clear()
        self._infos.clear()
        self._asking.clear()

    def forget(self, name: str) -> None:
        """Forget the cached list of a provider."""
        self._listings.pop(name, None)
        self._infos.clear()
        self._asking.pop(name, None)

    async def _ask(self, config: ProviderConfig, provider: ModelProvider) -> _Listing:
        problem = None
        infos: list[ModelInfo] = []
        try:
            async with asyncio.timeout(LIST_TIMEOUT_S):
                infos = await provider.models()
        except HubError as error:
            problem = error.message
        except TimeoutError:
            problem = f"no answer within {LIST_TIMEOUT_S:g} s"
        if problem:
            _log.info("models of %s: %s", config.name, problem)
        kept_s = FAILED_LIST_KEPT_S if problem else LIST_KEPT_S
        return _Listing(tuple(infos), self._clock.monotonic() + kept_s, problem)


def _catalog_name(config: ProviderConfig) -> str:
    """Return the catalog's name for this provider's models: its vendor's, where that is certain."""
    if config.vendor is not None:
        return config.vendor.name
    if config.api in {OPENAI_API, OFFLINE_API}:
        return f"{config.name}@{config.base_url}"
    return config.name if config.api == LITELLM_API else config.api


def _told_facts(info: ModelInfo) -> dict[str, Any]:
    return {
        name: value
        for name, default in _DEFAULTS.items()
        if (value := getattr(info, name)) != default and name not in {"id", "provider"}
    }
