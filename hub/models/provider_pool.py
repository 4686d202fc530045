"""The providers in use: made on first call, one for each credential, and retired when their configuration changes."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.repairs import Repairs
from hub.core.tasks import TaskOwner
from hub.models.contract import AuthError, ModelInfo, ModelProvider
from hub.models.cooldowns import Cooldowns, Rest
from hub.models.credential_file import ModelCredentials, StoredCredential
from hub.models.health import Health
from hub.models.infos import ModelInfos
from hub.models.managed import ManagedProvider
from hub.models.provider_config import ProviderConfig
from hub.models.resolved import Resolved
from hub.models.vendors import BUILT_IN_APIS, LITELLM_API, OPENAI_API

_log = logging.getLogger(__name__)

KNOWN = "known"
LOCAL_LIMIT_S = 2.0

Factory = Callable[[str, ProviderConfig], ModelProvider]


class ProviderPool:
    """Makes, keeps and retires providers.

    Args:
        clock: The clock of the hub.
        repairs: A refused key opens a repair.
        cooldowns: Which credentials are not to be used now.
        infos: Tells the properties of models, and forgets those of a provider that goes.
        speakers: The integration of each API, to name it when it is not set up.
        tasks: Owns the closing of those that are retired.
        tokens: The credentials that were added, when there can be.
    """

    def __init__(
        self,
        clock: Clock,
        repairs: Repairs,
        *,
        cooldowns: Cooldowns,
        infos: ModelInfos,
        speakers: Mapping[str, str],
        tasks: TaskOwner,
        tokens: ModelCredentials | None = None,
    ) -> None:
        self._clock = clock
        self._repairs = repairs
        self._cooldowns = cooldowns
        self._infos = infos
        self._speakers = speakers
        self._tasks = tasks
        self._tokens = tokens
        self._managed: dict[tuple[str, str], ManagedProvider] = {}
        self.factories: dict[str, Factory] = {}

    async def close(self) -> None:
        """Give up all connections."""
        managed, self._managed = list(self._managed.values()), {}
        for provider in managed:
            await provider.close()

    def speaker(self, config: ProviderConfig) -> str:
        """Return the integration of a provider's API."""
        return self._speakers.get(config.api) or self._speakers.get(LITELLM_API) or config.api

    def factory(self, config: ProviderConfig) -> Factory | None:
        """Return the factory of a provider, if its integration is set up."""
        return self.factories.get(config.api) or self.factories.get(LITELLM_API)

    def find(self, config: ProviderConfig) -> ManagedProvider | None:
        """Return the provider of a configuration's credential, if it is in use."""
        return self._managed.get((config.name, config.credential))

    def provider(self, config: ProviderConfig) -> ManagedProvider:
        """Return the provider of a configuration's credential, made on first use.

        Raises:
            AuthError: It has no key.
            Unavailable: Its integration is not set up.
        """
        if (existing := self.find(config)) is not None:
            return existing
        if config.lacks_key:
            raise AuthError(
                f"{config.name} has no key: set models.providers.{config.name}.api_key, or one of the environment "
                f"variables {', '.join(config.vendor.key_variables if config.vendor else ())}.",
                details={"provider": config.name},
            )
        factory = self.factory(config)
        if factory is None or (config.api in self._speakers and config.api not in self.factories):
            raise _not_set_up(config, self.speaker(config))
        inner = factory(config.name, config)
        # A provider may know its models by itself, without being asked over the network.
        known: Callable[[str], ModelInfo | None] | None = getattr(inner, KNOWN, None)
        health = self._health(config)
        renewed = self._renewal(config, health, factory) if config.renews and self._tokens is not None else None
        info_of = partial(self._infos.info, config, known=known)
        managed = ManagedProvider(inner, info_of, health, self._close_later, renewed)
        self._managed[config.name, config.credential] = managed
        return managed

    def _renewal(
        self, config: ProviderConfig, health: Health, factory: Factory
    ) -> Callable[[], Awaitable[ModelProvider | None]]:
        """Return the function that remakes a provider after its sign-in was renewed."""

        async def refresh(stored: StoredCredential) -> StoredCredential:
            from hub.models.oauth import refresh_credential

            return await refresh_credential(config.oauth, stored, self._clock.time())

        async def renewed() -> ModelProvider | None:
            if self._tokens is None:
                return None
            current = await self._tokens.current(config.name, config.credential, refresh)
            if current.access == health.config.api_key:
                return None
            health.config = replace(config, api_key=current.access)
            return factory(config.name, health.config)

        return renewed

    def with_credentials(
        self, resolved: Resolved, config: ProviderConfig, session_key: str | None, allowed: Sequence[str] | None
    ) -> list[Resolved]:
        """Return a model once for each usable credential, in order; see `credential_order`.

        Raises:
            AuthError: None may be used, or not the named one.
        """
        ids = credential_order(config, session_key, allowed)
        if not resolved.pinned:
            return [replace(resolved, provider=self.provider(config.with_credential(id)), credential=id) for id in ids]
        if resolved.credential not in ids:
            raise AuthError(
                f"This agent may not use the credential {resolved.credential} of {config.name} (agents[].credentials)."
            )
        return [resolved]

    def rest(self, config: ProviderConfig, model: str, credential: str) -> Rest | None:
        """Return how long a model rests with a credential."""
        return self._health_of(config.with_credential(credential)).rest(model)

    async def list_models(self, config: ProviderConfig) -> list[str]:
        """Return the provider's own list of models; empty if it does not answer."""
        try:
            provider = self.provider(config.with_credential(config.credential_ids[0]))
            return [info.id for info in await self._infos.listed_models(config, provider)]
        except HubError as error:
            _log.debug("models of %s: %s", config.name, error.message)
            return []

    async def list_models_at(self, name: str, base_url: str) -> list[str] | None:
        """Return the models of an OpenAI-compatible server; None if there is none at this address."""
        factory = self.factories.get(OPENAI_API)
        if factory is None:
            return None
        provider = factory(name, ProviderConfig(name, OPENAI_API, base_url))
        try:
            async with asyncio.timeout(LOCAL_LIMIT_S):
                return [info.id for info in await provider.models()]
        except (HubError, TimeoutError):
            return None
        finally:
            await provider.close()

    def drop(self, name: str) -> None:
        """Retire a provider with all its credentials, once its calls have ended."""
        self._infos.forget(name)
        for key in [key for key in self._managed if key[0] == name]:
            managed = self._managed.pop(key)
            managed.health.forget()
            managed.retire()

    def drop_api(self, api: str, configs: Iterable[ProviderConfig]) -> None:
        """Retire the providers of an API."""
        for config in configs:
            if config.api == api or (api == LITELLM_API and config.api not in self.factories):
                self.drop(config.name)

    def status(self, config: ProviderConfig) -> dict[str, Any]:
        """Return the health of a provider and each of its credentials, as plain data."""
        each = [config.with_credential(id) for id in config.credential_ids]
        managed = [found for one in each if (found := self.find(one)) is not None]
        return {
            "active_calls": sum(one.active for one in managed),
            "health": managed[0].health.as_dict() if managed else None,
            "credentials": [self._shown(one) for one in each],
        }

    def _shown(self, config: ProviderConfig) -> dict[str, Any]:
        return {"id": config.credential, "key": config.key_source, **self._health_of(config).as_dict()}

    def _health_of(self, config: ProviderConfig) -> Health:
        """Return the health of a credential; before its first call, that of an earlier process."""
        managed = self.find(config)
        return managed.health if managed is not None else self._health(config)

    def _health(self, config: ProviderConfig) -> Health:
        return Health(self._clock, self._repairs, self._cooldowns, config)

    def _close_later(self, managed: ManagedProvider) -> None:
        self._tasks.spawn(managed.close(), name=f"close the model provider {managed.name}")


def credential_order(
    config: ProviderConfig, session_key: str | None, allowed: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the credentials of a provider in the order in which a conversation tries them.

    Args:
        config: The provider. Where it rotates them, each conversation has an order of its own, always the same.
        session_key: The conversation.
        allowed: Those that may be used, in order; None for all.

    Raises:
        AuthError: None of them exists.
    """
    ids = config.credential_ids
    if allowed is not None:
        ids = tuple(id for id in allowed if id in config.credential_ids)
    if not ids:
        raise AuthError(
            f"This agent may use only the credentials {', '.join(allowed or ())} of {config.name} "
            f"(agents[].credentials), but it has {', '.join(config.credential_ids)}.",
            details={"provider": config.name},
        )
    if config.rotate and session_key is not None:
        return tuple(sorted(ids, key=lambda id: hashlib.sha256(f"{session_key}\0{id}".encode()).digest()))
    return ids


def _not_set_up(config: ProviderConfig, name: str) -> Unavailable:
    why = "" if config.api in BUILT_IN_APIS else " `homarus status` says why; it may be being installed."
    return Unavailable(
        f"The provider {config.name} needs the integration {name}, which is not set up.{why}",
        details={"provider": config.name, "integration": name},
    )
