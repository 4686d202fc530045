"""The registry of models: resolves references, and lists the models to try in turn."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from hub.core.clock import Clock
from hub.core.errors import HubError, Unavailable
from hub.core.events import EventBus
from hub.core.repairs import Repairs
from hub.core.secret import Secret
from hub.core.tasks import TaskOwner
from hub.models.candidates import ModelCandidate, in_order
from hub.models.contract import AUTO, AuthError, CanPrepare, ModelInfo
from hub.models.cooldowns import Cooldowns
from hub.models.credential_file import ModelCredentials
from hub.models.failover import RetryPolicy
from hub.models.infos import ModelInfos
from hub.models.managed import ManagedProvider
from hub.models.oauth_endpoints import PRESETS as OAUTH_PRESETS, OAuthEndpoint
from hub.models.ollama import OllamaProbe
from hub.models.provider_config import KeyOrigin, ProviderConfig, read_providers, with_stored_credentials
from hub.models.provider_pool import Factory, ProviderPool
from hub.models.resolved import Resolved
from hub.models.schema import MODELS_SCHEMA
from hub.models.selection import Choice, Option, choose_auto, choose_named
from hub.models.speech import SpeechModel
from hub.models.vendors import OLLAMA

EVENT_MODELS_CHANGED = "models_changed"
"""Fired with `{"reason": configuration | api | ollama | provider}` when other models may be meant than before."""

WARM_UP = "warm_up"
READY_KEPT = 64

_log = logging.getLogger(__name__)
Infos = list[ModelInfo]


class ModelRegistry:
    """Keeps providers and picks models.

    Args:
        config: The validated `models:` section; None is an empty one.
        bus: Receives an event when the choice of models may have changed.
        repairs: A refused key opens a repair.
        environment: The environment variables to search for keys; the process's own by default.
        speakers: The integration of each API, to name it when it is not set up.
        cooldowns: The credentials to avoid now; by default they are known to this process only.
        tokens: The credentials that were added while the hub ran.
    """

    def __init__(
        self,
        config: Mapping[str, Any] | None,
        bus: EventBus,
        clock: Clock,
        repairs: Repairs,
        *,
        environment: Mapping[str, str] | None = None,
        speakers: Mapping[str, str] | None = None,
        cooldowns: Cooldowns | None = None,
        tokens: ModelCredentials | None = None,
    ) -> None:
        self._bus = bus
        self._clock = clock
        self._environment = os.environ if environment is None else environment
        self._tasks = TaskOwner("models")
        self._resolved: dict[str, Resolved] = {}
        self._probe: OllamaProbe | None = None
        self._section: Mapping[str, Any] = MODELS_SCHEMA(dict(config or {}))
        self._cooldowns = cooldowns or Cooldowns(clock)
        self.retry_policy = self._retry_policy()
        """The policy for repeating failed calls, for `stream_with_failover`."""
        self._changes = 0
        self._ready: dict[str | None, _ReadyModels] = {}
        self._tokens = tokens
        self._of_apis: set[str] = set()
        self._speech_api: str | None = None
        self._speech_apis: set[str] = set()
        self._providers = self._read()
        self.infos = ModelInfos(clock)
        """The known properties of models."""
        self.pool = ProviderPool(
            clock,
            repairs,
            cooldowns=self._cooldowns,
            infos=self.infos,
            speakers=dict(speakers or {}),
            tasks=self._tasks,
            tokens=tokens,
        )

    # -- life ---------------------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start probing for an Ollama, and load the default model's provider; call it after integrations are set up."""
        self._start_probe()
        self._tasks.spawn(self._warm_up(), name="load the default model's provider")

    async def close(self) -> None:
        """Stop looking, and give up all connections."""
        await self._tasks.cancel_all()
        await self.pool.close()

    def configure(self, config: Mapping[str, Any] | None) -> None:
        """Replace the `models:` section: changed providers are replaced, calls in progress continue."""
        self._section = MODELS_SCHEMA(dict(config or {}))
        self.retry_policy = self._retry_policy()
        self.reread()

    def reread(self) -> None:
        """Reload providers and credentials, since others may be configured or added."""
        old, self._providers = self._providers, self._read()
        for name, before in old.items():
            if self._providers.get(name) != before:
                self.pool.drop(name)
        self._start_probe()
        self._changed("configuration")

    def register_api(
        self,
        api: str,
        factory: Factory,
        *,
        provides: bool = False,
        speaks: bool = False,
        lists_speech: bool = False,
    ) -> Callable[[], None]:
        """Register an API of providers.

        Args:
            api: `openai`, `litellm`, `offline`, or a new name for `api:` in the configuration.
            factory: Makes a provider from its name and configuration; must not block.
            provides: Whether it brings a provider of its own name, which is never chosen for `auto`.
            speaks: Whether that provider hears and speaks wherever no model is named for it.
            lists_speech: Whether its providers say by what they hear and speak (`CanListSpeech`).

        Returns:
            A function that removes it again, and releases its providers when they are idle.
        """
        self.pool.factories[api] = factory
        if provides:
            self._of_apis.add(api)
            self._providers = self._read()
        if speaks:
            self._speech_api = api
        if lists_speech:
            self._speech_apis.add(api)
        self.pool.drop_api(api, self._providers.values())
        self._changed("api")

        def remove() -> None:
            if self.pool.factories.get(api) is factory:
                self.unregister_api(api)

        return remove

    def unregister_api(self, api: str) -> None:
        """Unregister an API, whoever added it; its providers close when they are idle."""
        if self._speech_api == api:
            self._speech_api = None
        self._speech_apis.discard(api)
        if self.pool.factories.pop(api, None) is not None:
            self.pool.drop_api(api, self._providers.values())
            self._changed("api")

    def refresh(self) -> None:
        """Refresh what is known of models, because a provider knows more now."""
        self.infos.forget_all()
        self._changed("provider")

    # -- picking ------------------------------------------------------------------------------------------------

    @property
    def aliases(self) -> Mapping[str, str]:
        """Other names for models."""
        return dict(self._section["aliases"])

    @property
    def speech_ref(self) -> str | None:
        """The model that hears and speaks where none is named for it; None without one."""
        return f"{self._speech_api}/{AUTO}" if self._speech_api is not None else None

    def speech_providers(self) -> Sequence[str]:
        """Return the names of the providers that say by what they hear and speak."""
        return [name for name, config in self._providers.items() if config.api in self._speech_apis]

    async def speech_models(self, name: str) -> Sequence[SpeechModel]:
        """Return by what a provider hears and speaks.

        Raises:
            HubError: It cannot say.
        """
        return await self.pool.provider(self._providers[name]).speech_models()

    def address_of(self, name: str) -> str:
        """Return the address of a provider; empty if it has none, or is part of the hub."""
        config = self._providers.get(name)
        return (config.base_url or "") if config is not None else ""

    def secrets(self) -> tuple[Secret, ...]:
        """Return the keys and header values in use, so that they can be kept out of logs and transcripts."""
        return tuple(
            secret
            for config in self._providers.values()
            for secret in (config.api_key, *(each.api_key for each in config.credentials), *config.headers.values())
            if secret is not None
        )

    async def resolve(self, ref: str | None = None) -> Resolved:
        """Return the model that `ref` means: `auto`, an alias, `provider/id`, a provider; None is the default.

        Raises:
            NotFound: Nothing has that name.
            Unavailable: Its integration is not set up, or its default model is unknown.
            AuthError: It has no key.
        """
        key = ref or "default"
        if found := self._resolved.get(key):
            return found
        choice = self._named(ref)
        if choice is None:
            if self._probe is not None:
                await self._probe.first_answer()
            choice = self._auto()
        config = self._providers[choice.provider]
        config = config.with_credential(choice.credential or config.credential_ids[0])
        provider = self.pool.provider(config)
        model_id = choice.model_id or await self._default_model(config, provider)
        resolved = self._made(config, provider, model_id, choice.reason, pinned=choice.credential is not None)
        self._resolved[key] = resolved
        return resolved

    async def prepare(self, ref: str | None, language: str | None = None, *, voice: str | None = None) -> None:
        """Have a model ready for its next request, if its provider can; see `CanPrepare.prepare`."""
        try:
            resolved = await self.resolve(ref)
            managed = self.pool.find(self._providers[resolved.info.provider].with_credential(resolved.credential))
            if managed is not None and isinstance(managed.inner, CanPrepare):
                await managed.inner.prepare(resolved.info.id, language, voice)
        except HubError as error:
            _log.info("%s is not prepared: %s", ref or "the default model", error.message)

    async def candidates(
        self,
        ref: str | None = None,
        *,
        session_key: str | None = None,
        credentials: Mapping[str, Sequence[str]] | None = None,
    ) -> list[Resolved]:
        """Return the models to try, see `in_order`: the intended one and `fallbacks`, once for each credential.

        Args:
            ref: The intended model; None is the default.
            session_key: The conversation, which keeps its credential where a provider rotates them.
            credentials: Those of each provider that may be used, in order; all of a provider that is not in it.

        Raises:
            AuthError: No credential of the model may be used.
            HubError: What `resolve` raises, when no other model can be tried either.
        """
        stamp = (self._changes, self._cooldowns.begun)
        if (ready := self._ready.get(ref)) is not None and ready.stamp == stamp and ready.credentials is credentials:
            return list(ready.models)
        found: dict[tuple[str, str], ModelCandidate] = {}
        first_error, missing = None, None
        rotates = False
        for position, each in enumerate([ref, *self._section["fallbacks"]]):
            try:
                resolved = await self.resolve(each)
                if position and resolved.info.program:
                    continue  # it is asked by its name only, never in the place of another
                config = self._providers[resolved.info.provider]
                rotates = rotates or config.rotate
                of_model = self.pool.with_credentials(
                    resolved, config, session_key, (credentials or {}).get(config.name)
                )
            except HubError as error:
                if position == 0 and each is not None and not isinstance(error, (Unavailable, AuthError)):
                    raise
                first_error = first_error or error
                if position == 0:
                    missing = {"kind": "unusable", "model": each or self._section["default"], "reason": error.message}
                _log.warning("model %s cannot be tried: %s", each or "default", error.message)
                continue
            for one in of_model:
                rest = self.pool.rest(config, one.info.id, one.credential)
                found.setdefault((one.ref, one.credential), ModelCandidate(one, position == 0, rest))
        if not found and first_error is not None:
            raise first_error
        models = in_order(found.values(), ref, missing)
        if first_error is None and not rotates and not any(each.rest for each in found.values()):
            self._ready[ref] = _ReadyModels(stamp, credentials, tuple(models))
            if len(self._ready) > READY_KEPT:
                del self._ready[next(iter(self._ready))]
        return models

    @property
    def provider_names(self) -> tuple[str, ...]:
        """The names of all providers."""
        return tuple(self._providers)

    def oauth(self, provider: str) -> OAuthEndpoint | None:
        """Return the sign-in endpoint of a provider, if it has one."""
        config = self._providers.get(provider)
        return config.oauth if config is not None and config.oauth is not None else OAUTH_PRESETS.get(provider)

    def problems(self) -> dict[str, str]:
        """Return why providers listed no models at the last request."""
        return {name: why for name in self._providers if (why := self.infos.problem(name)) is not None}

    async def list(self) -> Infos:
        """Return all known models: of the configuration, the catalog and the providers' own lists."""
        usable = [config for config in self._providers.values() if self._obstacle(config) is None]
        lists = await asyncio.gather(*(self._models_of(config) for config in usable))
        return [info for infos in lists for info in infos]

    def known(self, name: str) -> Sequence[str]:
        """Return the models of a provider that configuration or catalog name, and its default, without a request."""
        config = self._providers[name]
        ids = (*(each.id for each in config.models), *(info.id for info in self.infos.catalog_models(config)))
        return [*ids, *filter(None, [self._known_default(config)])]

    async def listed(self, name: str) -> Sequence[str]:
        """Return the provider's own list of models; empty if it does not answer."""
        return await self.pool.list_models(self._providers[name])

    def describe(self, ref: str | None = None) -> dict[str, Any]:
        """Return the model of `ref` as plain data, without a request; `context_window` once it was used."""
        try:
            choice = self._named(ref) or self._auto()
        except HubError as error:
            instead = self.describe(self._section["fallbacks"][0]) if ref is None and self._section["fallbacks"] else {}
            return {"ref": None, **instead, "reason": error.message}
        config = self._providers[choice.provider]
        info = resolved.info if (resolved := self._resolved.get(ref or "default")) is not None else None
        model_id = choice.model_id or self._known_default(config) or (info.id if info is not None else None)
        ref = f"{choice.provider}/{model_id}" if model_id else choice.provider
        window = {"context_window": info.context_window} if info is not None else {}
        return {"ref": ref, "reason": choice.reason, **window}

    def status(self) -> dict[str, Any]:
        """Return the state of models as plain data, without a request."""
        return {
            "default": self._section["default"],
            "resolved": self.describe(),
            "aliases": self.aliases,
            "fallbacks": list(self._section["fallbacks"]),
            "providers": [self._shown(config) for config in self._providers.values()],
        }

    # -- inside -------------------------------------------------------------------------------------------------

    def _retry_policy(self) -> RetryPolicy:
        retry = self._section["retry"]
        return RetryPolicy(int(retry["attempts"]), float(retry["max_wait_s"]))

    def _read(self) -> dict[str, ProviderConfig]:
        providers = read_providers(self._section, self._environment, self._of_apis)
        return with_stored_credentials(providers, self._tokens.all() if self._tokens else (), self._environment)

    def _named(self, ref: str | None) -> Choice | None:
        default: str = self._section["default"]
        return choose_named(ref or default, self._providers, self._section["aliases"], default)

    def _auto(self) -> Choice:
        return choose_auto([Option(config, self._auto_obstacle(config)) for config in self._providers.values()])

    def _auto_obstacle(self, config: ProviderConfig) -> str | None:
        # A provider that a person configured is never skipped because its packages are missing: an error says so.
        if config.origin is KeyOrigin.CONFIGURATION:
            return "it has no key" if config.lacks_key else None
        return "it is chosen by name only" if config.origin is KeyOrigin.API else self._obstacle(config)

    def _obstacle(self, config: ProviderConfig) -> str | None:
        if config.lacks_key:
            return "it has no key"
        if self.pool.factory(config) is None:
            return f"the integration {self.pool.speaker(config)} is not set up"
        if config.origin is KeyOrigin.LOCAL and not self._ollama_has_models():
            return f"no Ollama with a model answers at {config.base_url}"
        return None

    def _ollama_has_models(self) -> bool:
        return self._probe is not None and bool(self._probe.state.models)

    async def _default_model(self, config: ProviderConfig, provider: ManagedProvider) -> str:
        known = self._known_default(config)
        if known is not None:
            return known
        listed = await self.infos.listed_models(config, provider)
        if listed:
            return listed[0].id
        problem = self.infos.problem(config.name)
        raise Unavailable(
            f"It is unclear which model of {config.name} to use: it lists none{f' ({problem})' if problem else ''}. "
            f"Name one as {config.name}/MODEL, or under models.providers.{config.name}.models.",
            details={"provider": config.name},
        )

    def _known_default(self, config: ProviderConfig) -> str | None:
        if config.models:
            return config.models[0].id
        if config.vendor is not None and config.vendor.default_model is not None:
            return config.vendor.default_model
        if config.origin is KeyOrigin.LOCAL and self._probe is not None and self._probe.state.models:
            return self._probe.state.models[0]
        return None

    def _made(
        self, config: ProviderConfig, provider: ManagedProvider, model_id: str, reason: str, *, pinned: bool
    ) -> Resolved:
        settings = config.settings(model_id)
        params = {**config.params, **(settings.params if settings else {})}
        info = provider.info(model_id)
        return Resolved(provider, info, info.ref, reason, config.timeout_s, params, config.credential, pinned)

    async def _models_of(self, config: ProviderConfig) -> Infos:
        if config.models:
            return [self.infos.info(config, model.id) for model in config.models]
        ids = dict.fromkeys(
            [*(info.id for info in self.infos.catalog_models(config)), *await self.pool.list_models(config)]
        )
        if not ids and (default := self._known_default(config)):
            ids[default] = None
        return [self.infos.info(config, id) for id in ids]

    def _shown(self, config: ProviderConfig) -> dict[str, Any]:
        return {
            "name": config.name,
            "api": config.api,
            "base_url": config.base_url,
            "origin": config.origin.value,
            "key": config.key_source,
            "obstacle": self._obstacle(config),
            **self.pool.status(config),
        }

    # -- change -------------------------------------------------------------------------------------------------

    def _changed(self, reason: str) -> None:
        self._resolved.clear()
        self._ready.clear()
        self._changes += 1
        self._bus.fire(EVENT_MODELS_CHANGED, {"reason": reason})

    def _start_probe(self) -> None:
        config = self._providers[OLLAMA]
        if self._probe is not None or config.origin is not KeyOrigin.LOCAL:
            return
        self._probe = OllamaProbe(config.base_url or "", self._clock, self._ollama_changed)
        self._tasks.spawn(self._probe.run(), name="look for a local Ollama")

    def _ollama_changed(self) -> None:
        self.infos.forget(OLLAMA)
        self._changed("ollama")

    async def _warm_up(self) -> None:
        try:
            resolved = await self.resolve(None)
            _log.info("default model %s (%s)", resolved.ref, resolved.reason)
            managed = self.pool.find(self._providers[resolved.info.provider].with_credential(resolved.credential))
            warm_up = getattr(managed.inner, WARM_UP, None) if managed is not None else None
            if warm_up is not None:
                await warm_up()
        except HubError as error:
            _log.warning("the default model is not ready: %s", error.message)


class _ReadyModels(Struct, frozen=True):
    """The models to try, as long as none of them rests; the same for every conversation."""

    stamp: tuple[int, int]
    credentials: Mapping[str, Sequence[str]] | None
    models: tuple[Resolved, ...]


__all__ = ["AUTO", "EVENT_MODELS_CHANGED", "Factory", "ModelRegistry"]
