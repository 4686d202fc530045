"""Chooses the embedding provider: the first usable one of the chain, with a reason for each skipped one.

A server of your own (`base_url`) without `model` is asked for its models: its only one, or the first whose name says
that it is for embeddings; the choice is stored, so that a server that is down does not change it. With
`auto`, `model` and `api_key` belong to the server at `base_url`; without one, to whomever their form names.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sqlite3
from pathlib import Path

from hub.core.phrases import phrase
from hub.core.secret import Secret
from hub.memory.engine_contract import EngineMissing
from hub.models.vendors import LITELLM_API
from integrations.memory.notes.index.contract import Embedder
from integrations.memory.notes.index.embeddings import openai_api
from integrations.memory.notes.index.embeddings.address import Endpoint
from integrations.memory.notes.index.embeddings.cache import Cache
from integrations.memory.notes.index.embeddings.client import Client
from integrations.memory.notes.index.embeddings.declared import Declared
from integrations.memory.notes.index.embeddings.embedder import CachingEmbedder
from integrations.memory.notes.index.embeddings.local import (
    DIMENSIONS,
    INSTALL,
    MODEL as LOCAL_MODEL,
    Local,
    ModelDamaged,
    missing_packages,
)
from integrations.memory.notes.index.embeddings.openai_api import OPENAI_URL, OpenAI, bearer, find_model
from integrations.memory.notes.index.embeddings.provider import EmbeddingRole, Provider, ProviderFailed
from integrations.memory.notes.index.embeddings.sender import RetryPolicy
from integrations.memory.notes.index.embeddings.settings import AUTO, EmbeddingSettings
from integrations.memory.notes.index.embeddings.store import Store
from integrations.memory.notes.index.embeddings.vectors import normalise
from integrations.memory.notes.index.embeddings.vendors import VENDORS, open_vendor

ASK_TIMEOUT_S = 5.0
LOCAL = "local"
SERVER = "server"
"""The step of the chain that is any server at `base_url`."""
KEYED = ("openai", *VENDORS)
CHAIN = (LOCAL, *KEYED, SERVER)
_NAMES = {"openai": "OpenAI", LOCAL: "The local model", SERVER: "A server", **{k: v.name for k, v in VENDORS.items()}}
_OWNERS = {"text-embedding-": "openai", "gemini-": "gemini", "models/gemini-": "gemini", "voyage-": "voyage"}
_KEY_OWNERS = {"AIza": "gemini", "AQ.": "gemini", "pa-": "voyage", "al-": "voyage"}

_log = logging.getLogger(__name__)


async def choose(
    settings: EmbeddingSettings, cache_path: Path, *, retries: RetryPolicy | None = None
) -> tuple[Embedder | None, list[str]]:
    """Return the embedder, and why earlier ones were skipped; None for words alone.

    Args:
        settings: The owner's settings.
        cache_path: Database of cache and costs; made when it is missing.
        retries: After temporary failures.

    Cancelling leaves nothing open.
    """
    if settings.provider == "none":
        return None, [phrase("Vectors are switched off (memory.embeddings.provider: none); search goes by words.")]
    store = Store(cache_path)
    choice = _Choice(settings, store, retries)
    try:
        embedder = await choice.make()
    except BaseException:
        await asyncio.shield(store.close())
        raise
    if embedder is None:
        await store.close()
        choice.notes.append("Search goes by words alone.")
    return embedder, choice.notes


class _Choice:
    """One walk along the chain."""

    def __init__(self, settings: EmbeddingSettings, store: Store, retries: RetryPolicy | None) -> None:
        self.notes: list[str] = []
        self._settings = settings
        self._store = store
        self._retries = retries

    async def make(self) -> CachingEmbedder | None:
        for step in CHAIN if self._settings.provider == AUTO else (self._settings.provider,):
            if (provider := await self._step(step)) is not None:
                return await self._wrapped(provider)
        return None

    async def _step(self, step: str) -> Provider | None:
        """Return the provider of a step, or None with a note."""
        if step == LOCAL:
            return await self._local()
        if step == SERVER or (step == "openai" and self._settings.base_url and self._settings.provider == "openai"):
            return await self._server()
        if step in KEYED:
            return await self._keyed(step)
        return await (self._any_vendor() if step == LITELLM_API else self._declared(step))

    async def _declared(self, name: str) -> Provider | None:
        """Return the model of an integration."""
        try:
            return await asyncio.to_thread(Declared.load, name, self._settings.engines)
        except EngineMissing as error:
            self._pass(name, error.text)
            return None

    async def _local(self) -> Provider | None:
        missing = missing_packages()
        if missing:
            self._pass(LOCAL, f"{', '.join(missing)} is not installed; run: {INSTALL}")
            return None
        if (reason := self._unfit_for_local()) is not None:
            self._pass(LOCAL, reason)
            return None
        try:
            return await asyncio.to_thread(Local.load)
        except (ModelDamaged, ImportError, OSError) as error:
            self._pass(LOCAL, f"it cannot be loaded ({error}); install it again: {INSTALL}")
            return None

    def _unfit_for_local(self) -> str | None:
        settings = self._settings
        if settings.dimensions not in {None, DIMENSIONS}:
            return (
                f"its vectors have {DIMENSIONS} numbers, and memory.embeddings.dimensions says {settings.dimensions}."
            )
        if settings.model is None or settings.model.lower().endswith(LOCAL_MODEL.lower()):
            return None
        if settings.provider == AUTO and _owner_of(settings.model) is None and settings.base_url:
            return None  # the name is the server's
        return f"it is {LOCAL_MODEL}, and memory.embeddings.model says {settings.model}."

    async def _keyed(self, step: str) -> Provider | None:
        settings = self._settings
        key = self._key_of(step)
        if key is None:
            self._pass(
                step,
                f"there is no key; set memory.embeddings.api_key, models.providers.{step}.api_key "
                f"or {step.upper()}_API_KEY.",
            )
            return None
        explicit = settings.provider == step
        usual = settings.urls.get(step) if key == settings.keys.get(step) else None
        base_url = settings.base_url if explicit and settings.base_url else usual
        owner = step if explicit else _owner_of(settings.model)
        if settings.model and not settings.base_url and owner not in {step, None}:
            self._pass(step, f"memory.embeddings.model names a model of another: {settings.model}.")
            return None
        usual_model = VENDORS[step].model if step in VENDORS else openai_api.DEFAULT_MODEL
        model = settings.model if settings.model and owner == step else usual_model
        if step in VENDORS:
            return await self._vendor(step, model, key, base_url)
        where = Endpoint(base_url or OPENAI_URL)
        return OpenAI("OpenAI", where, model, Secret(key), settings.dimensions, timeout_s=settings.timeout_s)

    async def _any_vendor(self) -> Provider | None:
        """Return the model of any vendor that litellm knows, named as `vendor/model`."""
        settings = self._settings
        vendor, _, model = (settings.model or "").partition("/")
        if not model:
            self._pass(LITELLM_API, "set memory.embeddings.model to a vendor and its model, such as cohere/embed-v4.0.")
            return None
        return await self._vendor(vendor, model, settings.api_key or settings.keys.get(vendor), settings.base_url)

    async def _vendor(self, vendor: str, model: str, key: str | None, base_url: str | None) -> Provider | None:
        try:
            return await asyncio.to_thread(open_vendor, vendor, model, key, base_url, self._settings)
        except EngineMissing as error:
            self._pass(vendor, error.text)
            return None

    async def _server(self) -> Provider | None:
        settings = self._settings
        if not settings.base_url:
            self._pass(SERVER, "memory.embeddings.base_url is not set.")
            return None
        where = Endpoint(settings.base_url)
        at_openai = where.host == openai_api.OPENAI_HOST
        # A key found for OpenAI is for OpenAI: another server gets only the one that was configured for it.
        key = settings.api_key or (self._key_of("openai") if at_openai else None)
        secret = Secret(key) if key else None
        model = settings.model or (openai_api.DEFAULT_MODEL if at_openai else await self._model_at(where, secret))
        if model is None:
            return None
        name = "OpenAI" if at_openai else "The embedding server"
        return OpenAI(name, where, model, secret, settings.dimensions, timeout_s=settings.timeout_s)

    async def _model_at(self, where: Endpoint, key: Secret | None) -> str | None:
        """Return the model of a server, or its last known one."""
        kept = await self._kept(where.shown)
        client = Client("The embedding server", "", where, bearer(key), (key,) if key else (), timeout_s=ASK_TIMEOUT_S)
        try:
            model, names = await find_model(client)
        except ProviderFailed as error:
            if kept is not None:
                return kept
            self._pass(SERVER, f"{error.text}. Without an answer its model is not known; set memory.embeddings.model.")
            return None
        finally:
            await client.close()
        if kept is not None and (kept in names or not names):
            return kept
        if model is None:
            listed = f"lists {', '.join(names[:5])}" if names else "lists no models"
            self._pass(
                SERVER,
                f"{where.shown} {listed}, none of which is known to be for embeddings; set memory.embeddings.model.",
            )
            return None
        await self._keep(where.shown, model)
        return model

    async def _wrapped(self, provider: Provider) -> CachingEmbedder:
        settings = self._settings
        name = _cache_name(provider, settings)
        cache = Cache(self._store, name, settings.cache)
        await self._settle_length(provider, cache)
        return CachingEmbedder(
            provider,
            self._store,
            cache,
            parallel=settings.parallel,
            retries=self._retries,
            notes=self.notes,
        )

    async def _settle_length(self, provider: Provider, cache: Cache) -> None:
        """Determine the length of an unknown model's vectors; an unreachable one is measured at its first answer."""
        if provider.id.dimensions is not None:
            return
        length = await cache.dimensions()
        if length is None:
            try:
                async with asyncio.timeout(ASK_TIMEOUT_S):
                    made = await provider.embed(["ping"], EmbeddingRole.QUERY)
                vector = normalise(made.rows)[0]
            except (ProviderFailed, TimeoutError) as error:
                _log.info("the length of its vectors is not known yet: %s", error)
                return
            if vector is None:
                return
            length = len(vector)
            await cache.settle(length)
        provider.id = dataclasses.replace(provider.id, dimensions=length)

    def _key_of(self, step: str) -> str | None:
        settings = self._settings
        if settings.api_key and (
            settings.provider == step or (self._is_for_any and _owner_of_key(settings.api_key) == step)
        ):
            return settings.api_key
        return settings.keys.get(step) or None

    @property
    def _is_for_any(self) -> bool:
        """Whether the configured key is of no particular provider; with a `base_url` it is the server's."""
        return self._settings.provider == AUTO and not self._settings.base_url

    def _pass(self, step: str, reason: str) -> None:
        self.notes.append(f"{_NAMES.get(step, step)} is not used: {reason}")

    async def _kept(self, endpoint: str) -> str | None:
        try:
            rows = await self._store.run(
                lambda database: database.execute("SELECT model FROM chosen WHERE endpoint=?", (endpoint,)).fetchall()
            )
        except (sqlite3.Error, OSError) as error:
            _log.warning("the model chosen before cannot be read: %s", error)
            return None
        return str(rows[0][0]) if rows else None

    async def _keep(self, endpoint: str, model: str) -> None:
        try:
            await self._store.run(
                lambda database: database.execute("INSERT OR REPLACE INTO chosen VALUES (?, ?)", (endpoint, model))
            )
        except (sqlite3.Error, OSError) as error:
            _log.warning("the model chosen cannot be kept: %s", error)


def _owner_of(model: str | None) -> str | None:
    """Return the provider of a model's name; None if it is ambiguous."""
    name = (model or "").lower()
    return next((owner for start, owner in _OWNERS.items() if name.startswith(start)), None)


def _owner_of_key(key: str) -> str:
    """Return the provider whose keys have this form; OpenAI when the form is unknown."""
    return next((owner for start, owner in _KEY_OWNERS.items() if key.startswith(start)), "openai")


def _cache_name(provider: Provider, settings: EmbeddingSettings) -> str:
    """Return the cache name of a model, made of what is known before the first request."""
    id = provider.id
    return f"{id.provider}|{id.model}|{id.endpoint}|{settings.dimensions or ''}"
